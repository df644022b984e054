use super::*;
use crate::ast::CompareOp;

fn int(text: &str) -> Value {
    functions::int(&Value::str(text), None).unwrap()
}

fn shown(op: BinaryOp, l: &Value, r: &Value) -> String {
    match binary(op, l, r) {
        Ok(value) => repr(&value),
        Err(why) => why,
    }
}

/// Expected values are what Python 3.11 prints.
#[test]
fn integers_divide_as_python_divides_them() {
    let div = |l: i64, r: i64| {
        let (l, r) = (Value::int(l), Value::int(r));
        (shown(BinaryOp::FloorDiv, &l, &r), shown(BinaryOp::Mod, &l, &r))
    };
    assert_eq!(div(7, 2), ("3".into(), "1".into()));
    assert_eq!(div(-7, 2), ("-4".into(), "1".into()));
    assert_eq!(div(7, -2), ("-4".into(), "-1".into()));
    assert_eq!(div(-7, -2), ("3".into(), "-1".into()));
    assert_eq!(
        shown(BinaryOp::Mod, &Value::int(1), &Value::int(0)),
        "division by zero"
    );
    assert_eq!(
        shown(BinaryOp::Div, &Value::int(1), &Value::int(3)),
        "0.3333333333333333"
    );
    let big = int("123456789012345678901234567890");
    assert_eq!(
        shown(BinaryOp::Div, &big, &int("9876543210987654321")),
        "12499999886.09375"
    );
    assert_eq!(
        shown(
            BinaryOp::Div,
            &Value::int(1),
            &binary(BinaryOp::Shl, &Value::int(1), &Value::int(1074)).unwrap()
        ),
        "5e-324"
    );
    assert_eq!(
        shown(
            BinaryOp::Div,
            &Value::int(3),
            &binary(BinaryOp::Shl, &Value::int(1), &Value::int(1075)).unwrap()
        ),
        "1e-323"
    );
}

#[test]
fn floats_divide_as_python_divides_them() {
    let div = |l: f64, r: f64| {
        let (l, r) = (Value::Float(l), Value::Float(r));
        (shown(BinaryOp::FloorDiv, &l, &r), shown(BinaryOp::Mod, &l, &r))
    };
    assert_eq!(div(7.5, 2.0), ("3.0".into(), "1.5".into()));
    assert_eq!(div(-7.5, 2.0), ("-4.0".into(), "0.5".into()));
    assert_eq!(div(1.0, 0.1), ("9.0".into(), "0.09999999999999995".into()));
    assert_eq!(div(-0.0, 2.0), ("-0.0".into(), "0.0".into()));
    assert_eq!(shown(BinaryOp::Mod, &Value::int(-1), &Value::Float(3.0)), "2.0");
}

#[test]
fn powers_and_shifts_are_bounded() {
    assert_eq!(shown(BinaryOp::Pow, &Value::int(2), &Value::int(10)), "1024");
    assert_eq!(shown(BinaryOp::Pow, &Value::int(2), &Value::int(-2)), "0.25");
    assert_eq!(
        shown(BinaryOp::Pow, &Value::int(-1), &int("99999999999999999999")),
        "-1"
    );
    assert_eq!(
        shown(BinaryOp::Pow, &Value::Float(2.0), &Value::Float(0.5)),
        "1.4142135623730951"
    );
    assert!(binary(BinaryOp::Pow, &Value::int(10), &Value::int(1_000_000)).is_err());
    assert!(binary(BinaryOp::Shl, &Value::int(1), &int("99999999999999999999")).is_err());
    assert_eq!(shown(BinaryOp::Shr, &Value::int(-5), &Value::int(1)), "-3");
    assert_eq!(
        shown(BinaryOp::Shr, &Value::int(-5), &int("99999999999999999999")),
        "-1"
    );
    let wide = binary(
        BinaryOp::Shl,
        &Value::int(1),
        &Value::int(limits::MAX_INT_BITS - 1),
    )
    .unwrap();
    assert!(binary(BinaryOp::Mul, &wide, &wide).is_err());
}

#[test]
fn comparison_of_integers_and_floats_is_exact() {
    let big = int("9007199254740993");
    assert!(!equal(&big, &Value::Float(9007199254740992.0)));
    assert!(compare(CompareOp::Gt, &big, &Value::Float(9007199254740992.0)).unwrap());
    assert!(equal(&Value::Bool(true), &Value::Float(1.0)));
    assert!(!compare(CompareOp::Lt, &Value::int(1), &Value::Float(f64::NAN)).unwrap());
    assert!(
        compare(
            CompareOp::Lt,
            &int("10000000000000000000000"),
            &Value::Float(f64::INFINITY)
        )
        .unwrap()
    );
    assert!(compare(CompareOp::Lt, &Value::int(1), &Value::str("a")).is_err());
    let tuple = |items: [i64; 2]| Value::tuple(items.into_iter().map(Value::int).collect());
    assert!(compare(CompareOp::Lt, &tuple([1, 2]), &tuple([1, 3])).unwrap());
    assert!(compare(CompareOp::In, &Value::Float(3.0), &tuple([1, 3])).unwrap());
}

#[test]
fn floats_are_written_as_python_writes_them() {
    for (float, text) in [
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e16, "1e+16"),
        (1e15, "1000000000000000.0"),
        (123456789.125, "123456789.125"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
        (1.5e-7, "1.5e-07"),
        (-0.0, "-0.0"),
        (1e100, "1e+100"),
        (f64::INFINITY, "inf"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ] {
        assert_eq!(text::float_repr(float), text);
    }
}

#[test]
fn formats_are_python_s() {
    let f = |value: Value, spec: &str| format::format(&value, spec).unwrap_or_else(|e| e);
    assert_eq!(f(Value::int(5), "03d"), "005");
    assert_eq!(f(Value::int(-5), "05"), "-0005");
    assert_eq!(f(Value::int(255), "#x"), "0xff");
    assert_eq!(f(Value::int(255), "#010b"), "0b11111111");
    assert_eq!(f(Value::int(1234567), ","), "1,234,567");
    assert_eq!(f(Value::int(0xdead_beefi64), "_x"), "dead_beef");
    assert_eq!(f(Value::int(3), ".2f"), "3.00");
    assert_eq!(f(Value::Float(2.5), ".0f"), "2");
    assert_eq!(f(Value::Float(1234.5678), ",.2f"), "1,234.57");
    assert_eq!(f(Value::Float(0.00001234), "g"), "1.234e-05");
    assert_eq!(f(Value::Float(123456.0), "g"), "123456");
    assert_eq!(f(Value::Float(1234567.0), "g"), "1.23457e+06");
    assert_eq!(f(Value::Float(1.0), ".3"), "1.0");
    assert_eq!(f(Value::Float(123.0), ".3"), "1.23e+02");
    assert_eq!(f(Value::Float(0.125), ".1%"), "12.5%");
    assert_eq!(f(Value::Float(1500.0), ".2e"), "1.50e+03");
    assert_eq!(f(Value::Float(f64::NAN), "6.2f"), "   nan");
    assert_eq!(f(Value::str("ab"), "*^6"), "**ab**");
    assert_eq!(f(Value::str("abcdef"), ".3"), "abc");
    assert_eq!(f(Value::Bool(true), ""), "True");
    assert_eq!(f(Value::Bool(true), "d"), "1");
    assert_eq!(f(Value::Float(3.0), "+"), "+3.0");
    assert_eq!(f(Value::Float(-10.0), "^+08.1f"), "0-10.000");
    assert_eq!(f(Value::int(729), "08_"), "0_000_729");
    assert_eq!(f(Value::Float(59049.0), "=-#014,.1f"), "0,000,059,049.0");
    assert_eq!(f(Value::Float(-6.0), "*<-#14.1G"), "-6.***********");
    assert_eq!(f(Value::Bool(true), "*< "), " 1");
    assert!(format::format(&Value::int(8), ",b").is_err());
    let minus_zero = binary(BinaryOp::Div, &Value::int(0), &int("-99999999999999999999")).unwrap();
    assert_eq!(repr(&minus_zero), "-0.0");
    assert_eq!(repr(&Value::str("\u{89}é")), "'\\x89é'");
    assert!(format::format(&Value::int(1), "99999999999").is_err());
    assert!(format::format(&Value::str("a"), "d").is_err());
    let args = [Value::int(1), Value::str("b")];
    assert_eq!(
        format::str_format("{}-{!r:>4}{{{0}}}", &args, &[]).unwrap(),
        "1- 'b'{1}"
    );
    assert_eq!(
        repr(
            &format::percent(
                "%d%% %5.1f|%-4s|",
                &Value::tuple(vec![Value::int(3), Value::Float(2.25), Value::str("x")])
            )
            .unwrap()
        ),
        "'3%   2.2|x   |'"
    );
}

#[test]
fn slices_and_indices() {
    let text = Value::str("abcdef");
    let slice = |parts: [Option<i64>; 3]| {
        let parts = parts.map(|p| p.map_or(Value::None, Value::int));
        str(&index::subscript(&text, &Value::Slice(parts.into())).unwrap())
    };
    assert_eq!(slice([Some(1), Some(3), None]), "bc");
    assert_eq!(slice([None, None, Some(-1)]), "fedcba");
    assert_eq!(slice([Some(-2), None, None]), "ef");
    assert_eq!(slice([Some(10), Some(-10), Some(-2)]), "fdb");
    assert_eq!(slice([None, Some(99), Some(i64::MAX)]), "a");
    assert_eq!(str(&index::subscript(&text, &Value::int(-1)).unwrap()), "f");
    assert!(index::subscript(&text, &Value::int(6)).is_err());
    assert!(index::subscript(&text, &Value::int(-7)).is_err());
}

#[test]
fn rounding_goes_to_even() {
    let round = |x: f64, n: Option<i64>| {
        repr(&functions::round(&Value::Float(x), n.map(Value::int).as_ref()).unwrap())
    };
    assert_eq!(round(2.5, None), "2");
    assert_eq!(round(-3.5, None), "-4");
    assert_eq!(round(2.675, Some(2)), "2.67");
    assert_eq!(round(0.5, Some(0)), "0.0");
    assert_eq!(
        repr(&functions::round(&Value::int(25), Some(&Value::int(-1))).unwrap()),
        "20"
    );
}

#[test]
fn functions_of_triton_and_math() {
    let power = |n: i64| repr(&functions::next_power_of_2(&Value::int(n)).unwrap());
    assert_eq!(
        (power(1), power(5), power(64), power(0)),
        ("1".into(), "8".into(), "64".into(), "0".into())
    );
    assert_eq!(
        repr(&functions::cdiv(&Value::int(-7), &Value::int(2)).unwrap()),
        "-3"
    );
    let math = |name: &str, args: &[Value]| math::call(name, args).map_or_else(|e| e, |v| repr(&v));
    assert_eq!(math("log2", &[Value::int(8)]), "3.0");
    assert_eq!(math("log", &[Value::int(8), Value::int(2)]), "3.0");
    assert_eq!(math("sqrt", &[Value::int(2)]), "1.4142135623730951");
    assert_eq!(math("floor", &[Value::Float(-1.5)]), "-2");
    assert_eq!(
        math("ceil", &[int("123456789012345678901")]),
        "123456789012345678901"
    );
    assert_eq!(math("gcd", &[Value::int(-12), Value::int(18)]), "6");
    assert!(math::call("sqrt", &[Value::int(-1)]).is_err());
    assert!(math::call("exp", &[Value::int(1000)]).is_err());
    assert_eq!(math("factorial", &[Value::int(20)]), "2432902008176640000");
}

#[test]
fn methods_of_strings_lists_and_dictionaries() {
    let call = |value: &Value, name: &str, args: &[Value]| {
        methods::call(value, name, &methods::Given { args, keywords: &[] }).map_or_else(|e| e, |v| repr(&v))
    };
    assert_eq!(
        call(&Value::str("a,b"), "split", &[Value::str(",")]),
        "['a', 'b']"
    );
    assert_eq!(
        call(
            &Value::str("-"),
            "join",
            &[Value::tuple(vec![Value::str("a"), Value::str("b")])]
        ),
        "'a-b'"
    );
    assert_eq!(call(&Value::str("-5"), "zfill", &[Value::int(4)]), "'-005'");
    let items = list(vec![Value::int(3), Value::int(1)]);
    assert_eq!(call(&items, "extend", std::slice::from_ref(&items)), "None");
    assert_eq!(call(&items, "sort", &[]), "None");
    assert_eq!(repr(&items), "[1, 1, 3, 3]");
    let table = dict(vec![(Value::str("a"), Value::int(1))]);
    assert_eq!(call(&table, "get", &[Value::str("b"), Value::int(7)]), "7");
    assert_eq!(call(&table, "items", &[]), "[('a', 1)]");
    assert!(methods::has(&table, "items") && !methods::has(&table, "append"));
    assert!(call(&table, "nothing", &[]).contains("has no method `nothing`"));
}
