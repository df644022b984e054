use super::*;
use crate::ast::{BinaryOp, Expr, ExprKind, FormatPart, StmtKind};

fn source(text: &str) -> Arc<Source> {
    Source::new("a.py", text)
}

fn read(text: &str) -> Vec<Stmt> {
    parse(&source(text)).unwrap_or_else(|e| panic!("{e}"))
}

fn expression(text: &str) -> Expr {
    match read(text).remove(0).kind {
        StmtKind::Expr(expr) => expr,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nodes_have_their_places() {
    let text = "x = 1\ndef f(a, *, b: int = 2):\n    return a + b\n";
    let body = read(text);
    let StmtKind::Function(def) = &body[1].kind else {
        panic!("{body:?}")
    };
    assert_eq!(&text[def.ident.span.range()], "f");
    assert_eq!(&text[def.params.keyword_only[0].ident.span.range()], "b");
    let StmtKind::Return(Some(value)) = &def.body[0].kind else {
        panic!("{def:?}")
    };
    assert_eq!(&text[value.span.range()], "a + b");
    assert!(matches!(value.kind, ExprKind::Binary(BinaryOp::Add, ..)));
}

#[test]
fn big_integers_keep_every_digit_up_to_the_limit() {
    for (text, value) in [
        ("0xFFFF_FFFF_FFFF_FFFF_F", "295147905179352825855"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("0b1", "1"),
        ("0o7_7", "63"),
    ] {
        match expression(text).kind {
            ExprKind::Int(int) => assert_eq!(int.to_string(), value),
            other => panic!("{text}: {other:?}"),
        }
    }
    let giant = "9".repeat(100_000);
    assert!(matches!(expression(&giant).kind, ExprKind::Other(_)));
    let giant = format!("0x{}", "f".repeat(limits::MAX_INT_BITS as usize / 4));
    assert!(matches!(expression(&giant).kind, ExprKind::Int(_)));
    assert!(matches!(
        expression(&format!("{giant}f")).kind,
        ExprKind::Other(_)
    ));
}

#[test]
fn f_strings_are_pieces() {
    let ExprKind::Format(parts) = expression("f'a{x!r:>{w}} {y = }' 'z'").kind else {
        panic!()
    };
    let [
        FormatPart::Text(a),
        FormatPart::Value {
            conversion: Some('r'),
            spec,
            ..
        },
        FormatPart::Text(y),
        FormatPart::Value {
            conversion: Some('r'),
            ..
        },
        FormatPart::Text(z),
    ] = &parts[..]
    else {
        panic!("{parts:?}")
    };
    assert_eq!((&**a, &**z), ("a", "z"));
    assert_eq!(&**y, " y = ");
    assert_eq!(spec.len(), 2);
}

#[test]
fn elif_is_an_if_in_else() {
    let body = read("if a:\n    x\nelif b:\n    y\nelse:\n    z\n");
    let StmtKind::If { otherwise, .. } = &body[0].kind else {
        panic!()
    };
    assert!(matches!(&otherwise[0].kind, StmtKind::If { otherwise, .. } if otherwise.len() == 1));
}

#[test]
fn wrong_text_is_refused_at_its_place() {
    let error = parse(&source("x = 1\ny = (2\n")).unwrap_err();
    assert!(error.to_string().starts_with("a.py:"), "{error}");
    let error = parse(&source("def f(:\n    pass\n")).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("a.py:1:7: this is not valid Python: "),
        "{error}"
    );
}

#[test]
fn no_nesting_overflows_the_stack() {
    let n = 90_000;
    let texts = [
        format!("x = {}1{}", "(".repeat(n), ")".repeat(n)),
        format!("x = {}1{}", "[".repeat(n), "]".repeat(n)),
        format!("x = {}1", "-".repeat(n)),
        format!("x = {}1", "not ".repeat(n)),
        format!("x = {}1", "1+".repeat(n)),
        format!("x = {}1", "1**".repeat(n)),
        format!("x = {}1", "lambda a, b: ".repeat(n)),
        format!("x = {}1", "1 if 1 else ".repeat(n / 2)),
        format!("x = a{}", ".b".repeat(n)),
        format!("x = a{}", "()".repeat(n)),
        format!("x = a{}", "[0]".repeat(n)),
        "f(".repeat(n),
        "f'{".repeat(n),
        format!("x = {}", "{1:".repeat(n)),
        format!("{}x: int", "async ".repeat(n)),
        format!("if a: pass\n{}", "elif a: pass\n".repeat(n)),
        "(1, ".repeat(400_000),
        (0..3_000).map(|i| format!("{}if a:\n", " ".repeat(i))).collect(),
    ];
    for text in texts {
        // A stack much smaller than any that the product runs on.
        let small = std::thread::Builder::new().stack_size(1 << 20);
        let reading = small.spawn(move || drop(parse(&source(&text))));
        reading.unwrap().join().unwrap();
    }
}

#[test]
fn deep_expressions_become_other_and_the_rest_is_read() {
    let text = format!(
        "x = {}1{}\ndef f(): pass\n",
        "(-".repeat(3_000),
        ")".repeat(3_000)
    );
    let body = read(&text);
    assert!(matches!(&body[1].kind, StmtKind::Function(_)));
}

/// Every place lies inside of the text, and on the boundary of a character.
fn check_places(text: &str, body: &[Stmt]) {
    for stmt in body {
        assert!(text.get(stmt.span.range()).is_some(), "{stmt:?}");
        match &stmt.kind {
            StmtKind::Expr(e) | StmtKind::Assign { value: e, .. } => {
                assert!(text.get(e.span.range()).is_some(), "{e:?}");
            }
            StmtKind::Function(def) => check_places(text, &def.body),
            StmtKind::If { then, otherwise, .. } => {
                check_places(text, then);
                check_places(text, otherwise);
            }
            _ => {}
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 300, ..Default::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        if let Ok(body) = parse(&source(&text)) {
            check_places(&text, &body);
        }
    }

    #[test]
    fn any_row_of_tokens_is_read_or_refused(
        tokens in proptest::collection::vec(proptest::sample::select(vec![
            "def ", "f", "(", ")", "[", "]", "{", "}", ":", ",", ".", "=", "+", "-", "**", "not ", "lambda ", "if ",
            "else ", "for ", "in ", "\n", "\n    ", "\n  ", "\"", "'", "f'", "f\"\"\"", "\"\"\"", "!r", ":>{", "1", "0x",
            "1e5", "λ", "\u{feff}", "\\\n", "#", "@", "class ", "return ", "import ", "from ", "*", "match x", "async ",
            "await ", "yield ", "with ", "as ", "try", "except", ";", "->", ":=", "...", "None ", "\t", "\r", "\0", "\x0c",
        ]), 0..60)
    ) {
        let text: String = tokens.concat();
        if let Ok(body) = parse(&source(&text)) {
            check_places(&text, &body);
        }
    }
}
