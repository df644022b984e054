use super::*;

fn scope() -> Scope {
    let mut scope = Scope::new();
    scope.insert("n_cols", Value::Int(781));
    scope.insert("n_rows", Value::Int(1823));
    scope.insert("eps", Value::Float(1e-5));
    scope.insert("name", Value::Str("gelu".into()));
    scope
}

fn eval(text: &str) -> String {
    match Expression::parse_text("x", text).and_then(|e| scope().evaluate(&e)) {
        Ok(value) => value.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Every value here was computed by Python 3, but for the functions, which are the launch file's.
#[test]
fn values_are_pythons() {
    for (text, value) in [
        ("1 + 2 * 3", "7"),
        ("-2 ** 2", "-4"),
        ("2 ** -1", "0.5"),
        ("2 ** 3 ** 2", "512"),
        ("2 ** 3 * 4", "32"),
        ("-7 // 2", "-4"),
        ("7 // -2", "-4"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("-7.5 // 2", "-4.0"),
        ("-7.5 % 2", "0.5"),
        ("7 / 2", "3.5"),
        ("6 / 2", "3.0"),
        ("1_000", "1000"),
        ("0xff + 0b11 + 0o7", "265"),
        ("1e3", "1000.0"),
        (".5 + 5.", "5.5"),
        ("1 < 2 < 3", "true"),
        ("1 < 3 < 2", "false"),
        ("(3 > 2) == 1", "true"),
        ("3 > 2 == 1", "false"),
        ("not 1 == 2", "true"),
        ("not 0 and 0", "0"),
        ("0 or 5", "5"),
        ("2 and 3", "3"),
        ("1 if 0 else 2 if 0 else 3", "3"),
        ("1 + 1 if False else 10", "10"),
        ("1 | 2 ^ 3 & 2", "1"),
        ("1 << 3 + 1", "16"),
        ("~5", "-6"),
        ("-1 >> 3", "-1"),
        ("True + True", "2"),
        ("n_cols + 3", "784"),
        ("(n_cols, 1,)", "(781, 1)"),
        ("1, 2", "(1, 2)"),
        ("()", "()"),
        ("(1,)", "(1,)"),
        ("'a\\'b'", "'a\\'b'"),
        ("name == 'gelu'", "true"),
        ("name == 1", "false"),
        ("None == none", "true"),
        ("nan == nan", "false"),
        ("nan != nan", "true"),
        ("-inf < 0", "true"),
        ("min(3, 1.5, 2)", "1.5"),
        ("max((1, 5, 2))", "5"),
        ("max([1, 5, 2])", "5"),
        ("abs(-3) + abs(-1.5)", "4.5"),
        ("cdiv(n_rows, 128)", "15"),
        ("cdiv(-7, 2)", "-3"),
        ("next_power_of_2(n_cols)", "1024"),
        ("next_power_of_2(1024)", "1024"),
        ("next_power_of_2(0)", "0"),
        ("prev_power_of_2(n_cols)", "512"),
        ("align(n_cols, 64)", "832"),
        ("0 ** 0", "1"),
        ("(-1) ** 10000000000000", "1"),
    ] {
        assert_eq!(eval(text), value, "{text}");
    }
}

#[test]
fn errors_point_and_advise() {
    let mut wrong = Vec::new();
    for (text, message) in [
        ("", "x:1:1: empty expression: expected a value"),
        ("1 +", "x:1:4: the expression ends too early: expected a value"),
        ("1 + * 2", "x:1:5: unexpected `*`: expected a value"),
        (
            "(1, 2",
            "x:1:6: the expression ends too early: expected an operator, `,` or `)`",
        ),
        ("1 2", "x:1:3: unexpected `2`: expected an operator or the end"),
        (
            "a = 2",
            "x:1:3: unexpected `=`: expected an operator (help: write `==` to compare)",
        ),
        (
            "1 == not 2",
            "x:1:6: unexpected `not`: expected a value; put `not …` in parentheses",
        ),
        (
            "[1, 2",
            "x:1:6: the expression ends too early: expected an operator, `,` or `]`",
        ),
        (
            "1 if 2",
            "x:1:7: the expression ends too early: expected an operator or `else`",
        ),
        (
            "f(a=1, a=2)",
            "x:1:8: keyword argument `a` given twice: again here",
        ),
        (
            "f(a=1, 2)",
            "x:1:8: a positional argument follows a keyword argument: move it to the front",
        ),
        ("x[]", "x:1:3: unexpected `]`: expected an index"),
        ("x.1", "x:1:2: unexpected `.1`: expected an operator or the end"),
        ("012", "x:1:1: a number has no leading zeros: write 0o… for octal"),
        ("1__0", "x:1:1: not a number: a number ends before a letter"),
        ("2x", "x:1:1: not a number: a number ends before a letter"),
        ("1e", "x:1:1: not a number: an exponent has digits"),
        ("0xg", "x:1:1: not a number: wrong digits, or too large"),
        ("'abc", "x:1:1: string without an end: expected a closing '"),
        (
            "'\\q'",
            r#"x:1:2: unknown escape in a string: known are \n \t \r \0 \\ \' \""#,
        ),
        (
            "f'a'",
            "x:1:1: string prefixes are not known here: not a plain string",
        ),
        ("a && b", "x:1:4: unexpected `&`: expected a value"),
        (
            "!a",
            "x:1:1: unexpected character `!`: here (help: write `not` for negation, `!=` for unequal)",
        ),
        (
            "n_col + 1",
            "x:1:1: unknown name `n_col`: not defined before this place (help: did you mean `n_cols`?)",
        ),
        (
            "1 + cdvi(1, 2)",
            "x:1:5: unknown function `cdvi` (help: did you mean `cdiv`?)",
        ),
        ("cdiv(1)", "x:1:1: `cdiv` takes 2 arguments: 1 given"),
        ("cdiv(7, 0)", "x:1:1: cdiv: the divisor must be positive"),
        (
            "cdiv(7.0, 2)",
            "x:1:6: `cdiv` needs integers: a float (help: `//` divides integers)",
        ),
        (
            "abs(x=1)",
            "x:1:5: `abs` has no keyword arguments: pass it by position",
        ),
        ("2 * (1 // 0)", "x:1:6: division by zero: 1 // 0"),
        ("1 % 0", "x:1:1: division by zero: 1 % 0"),
        ("1.0 / 0", "x:1:1: division by zero: 1.0 / 0"),
        ("0 ** -1", "x:1:1: division by zero: 0 ** -1"),
        (
            "(-8) ** 0.5",
            "x:1:1: a negative number to a fractional power is complex: -8 ** 0.5",
        ),
        ("2 ** 127", "x:1:1: integer overflow: 2 ** 127"),
        (
            "1 + 170141183460469231731687303715884105727",
            "x:1:1: integer overflow: 1 + 170141183460469231731687303715884105727",
        ),
        (
            "170141183460469231731687303715884105728",
            "x:1:1: integer too large: more than 128 bits",
        ),
        ("name + 1", "x:1:1: expected a number: this is a string"),
        ("1 < name", "x:1:5: expected a number: this is a string"),
        ("eps & 1", "x:1:1: bitwise operators need integers: 1e-5 & 1"),
        (
            "n_cols.T",
            "x:1:1: attributes are not known here: expected a scalar expression",
        ),
        (
            "n_cols[0]",
            "x:1:1: subscripts are not known here: expected a scalar expression",
        ),
    ] {
        let found = eval(text);
        if found != message {
            wrong.push((text, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn triton_names_are_symbols_only_where_asked() {
    let e = Expression::parse_text("x", "tl.float16").unwrap();
    assert!(scope().evaluate(&e).is_err());
    assert_eq!(
        scope().with_symbols().evaluate(&e),
        Ok(Value::Symbol("tl.float16".into()))
    );
    let e = Expression::parse_text("x", "os.system").unwrap();
    assert!(scope().with_symbols().evaluate(&e).is_err());
}

#[test]
fn trees_of_formulas() {
    let e = Expression::parse_text("f", "sum(x[:, None, 1:n:2, ...] @ -y.T, 1, keepdims=True)").unwrap();
    assert_eq!(e.names(), ["x", "n", "y"]);
    let NodeKind::Call { args, keywords, .. } = &e.root.kind else {
        panic!("{e:?}")
    };
    assert_eq!((args.len(), keywords[0].name.as_str()), (2, "keepdims"));
    let NodeKind::Binary(BinaryOp::MatMul, x, y) = &args[0].kind else {
        panic!("{e:?}")
    };
    let NodeKind::Subscript(_, indices) = &x.kind else {
        panic!("{e:?}")
    };
    assert!(matches!(
        &indices[0],
        Index::Slice {
            start: None,
            stop: None,
            step: None,
            ..
        }
    ));
    assert!(matches!(
        &indices[1],
        Index::Item(Node {
            kind: NodeKind::None,
            ..
        })
    ));
    assert!(matches!(
        &indices[2],
        Index::Slice {
            start: Some(_),
            stop: Some(_),
            step: Some(_),
            ..
        }
    ));
    assert!(matches!(&indices[3], Index::Ellipsis(_)));
    assert!(matches!(&y.kind, NodeKind::Unary(UnaryOp::Neg, t) if matches!(t.kind, NodeKind::Attribute(..))));
    assert_eq!(&e.source.text[y.span.clone()], "-y.T");
}

#[test]
fn spans_point_into_the_text_around() {
    let source = Source::new("a.toml", "grid = [\"n_row\"]\n");
    let e = Expression::parse(&source, 9..14).unwrap();
    assert_eq!(e.text(), "n_row");
    let error = scope().evaluate(&e).unwrap_err();
    assert_eq!(error.labels[0].range, 9..14);
    assert!(Expression::parse(&source, 9..99).is_err());
}

#[test]
fn depth_and_length_are_bounded() {
    let error = |text: &str| Expression::parse_text("x", text).unwrap_err().message;
    for text in [
        "(".repeat(50_000),
        "-".repeat(50_000),
        "a[".repeat(20_000),
        "1+".repeat(30_000) + "1",
        "a.b".repeat(20_000),
    ] {
        let message = error(&text);
        assert!(message == "expression nested too deeply", "{message}");
    }
    assert_eq!(error(&" ".repeat(MAX_LENGTH + 1)), "expression too long");
    assert_eq!(eval(&format!("{}1{}", "(".repeat(90), ")".repeat(90))), "1");
    assert_eq!(eval(&("1+".repeat(90) + "1")), "91");
}

proptest::proptest! {
    #[test]
    fn values_are_read_back_as_printed(text in "\\PC{0,20}", number in proptest::num::f64::ANY, int: i128) {
        let ints = Value::Int(int.max(-i128::MAX));
        for value in [Value::Str(text.clone() + "\n\t'\\"), Value::Float(number), ints, Value::Tuple(vec![Value::Bool(true), Value::None])] {
            let printed = value.to_string();
            let read = Expression::parse_text("x", &printed).and_then(|e| Scope::new().evaluate(&e)).unwrap();
            assert_eq!(read.to_string(), printed);
            assert!(read == value || number.is_nan());
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        let _ = eval(&text);
    }

    #[test]
    fn no_sequence_of_tokens_panics(words in proptest::collection::vec(proptest::sample::select(&[
        "1", "0", "-", "n_cols", "**", "//", "%", "(", ")", "[", "]", ",", ":", "if", "else", "not", "<", "==", "and",
        "max", "cdiv", "1e308", "170141183460469231731687303715884105727", "=", "<<", "*", "'a'", ".T", "...", "eps",
    ][..]), 0..24)) {
        let _ = eval(&words.join(" "));
    }
}
