//! The reader on hostile input: it may refuse, it must not panic, hang or overflow its stack.
//!
//! Texts of `data/text` are mutated (bytes changed, pieces cut, copied and swapped) and arbitrary
//! bytes are read. What still reads and verifies must print and read back to the same module.

use proptest::prelude::*;
use std::fmt::Write;
use std::path::Path;
use std::sync::OnceLock;
use tilescope_diagnostics::Source;
use tilescope_ir::text;
use tilescope_ir::verify;

fn texts() -> &'static [String] {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/text");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "ttir"));
        files.sort();
        files
            .iter()
            .filter_map(|f| std::fs::read_to_string(f).ok())
            .collect()
    })
}

/// Reads a text; what is good must survive printing.
fn read(input: String) {
    let source = Source::new("hostile", input);
    let Ok(module) = text::parse(&source) else { return };
    let printed = text::print(&module);
    if verify(&module).is_ok() {
        let again = match text::parse(&Source::new("printed", printed.clone())) {
            Ok(again) => again,
            Err(error) => panic!("{error}\n{}\n{printed}", source.text),
        };
        assert_eq!(text::same(&module, &again), Ok(()), "{}\n{printed}", source.text);
    }
}

/// One change: at a place (a share of the length), of a kind, with some bytes.
#[derive(Debug, Clone)]
struct Change {
    kind: u8,
    at: f64,
    to: f64,
    length: usize,
    bytes: Vec<u8>,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let snippet = prop_oneof![
        Just(b"%0".to_vec()),
        Just(b"{".to_vec()),
        Just(b"}".to_vec()),
        Just(b"loc(#loc9)".to_vec()),
        Just(b": tensor<8xi32>".to_vec()),
        Just(b"-1".to_vec()),
        Just(b"18446744073709551616".to_vec()),
        Just(b"dense<".to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    let change = (0u8..5, 0.0..1.0, 0.0..1.0, 0usize..40, snippet);
    let change = change.prop_map(|(kind, at, to, length, bytes)| Change {
        kind,
        at,
        to,
        length,
        bytes,
    });
    prop::collection::vec(change, 1..4)
}

fn mutate(text: &str, changes: &[Change]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for change in changes {
        let place = |share: f64, len: usize| ((len as f64 * share) as usize).min(len);
        let at = place(change.at, bytes.len());
        let end = (at + change.length).min(bytes.len());
        match change.kind {
            0 => {
                bytes.splice(at..end, change.bytes.iter().copied());
            }
            1 => {
                bytes.splice(at..at, change.bytes.iter().copied());
            }
            2 => {
                bytes.drain(at..end);
            }
            3 => {
                let piece: Vec<u8> = bytes[at..end].to_vec();
                let to = place(change.to, bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => {
                if let Some(b) = bytes.get_mut(at) {
                    *b = change.bytes.first().copied().unwrap_or(b' ');
                }
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// 2,000 cases, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        ProptestConfig::default().cases
    } else {
        2000
    };
    ProptestConfig {
        cases,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mutated_texts_do_not_panic(index in any::<prop::sample::Index>(), changes in changes()) {
        let texts = texts();
        read(mutate(&texts[index.index(texts.len())], &changes));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(String::from_utf8_lossy(&bytes).into_owned());
    }

    #[test]
    fn arbitrary_pieces_of_the_syntax_do_not_panic(pieces in prop::collection::vec("[%#@^!\"a-z0-9<>{}():,= \\[\\]-]{1,8}", 0..60)) {
        read(format!("tt.func @f() {{ {} }}", pieces.join(" ")));
    }
}

/// Input that is nested as deep as memory allows is refused, not followed.
#[test]
fn deep_nesting_is_refused() {
    let deep = 200_000;
    let mut regions = String::from("tt.func @f(%c: i1) {\n");
    for _ in 0..deep {
        regions.push_str("scf.if %c {\n");
    }
    let cases = [
        regions,
        format!("#loc = loc({}", "callsite(".repeat(deep)),
        format!("#loc = loc({}", "\"a\"(".repeat(deep)),
        format!("#a = {}", "[".repeat(deep)),
        format!("#a = {}", "{a = ".repeat(deep)),
        format!("#a = #b.c{}", "<".repeat(deep)),
        format!("tt.func @f(%x: {}", "!tt.ptr<".repeat(deep)),
        format!("tt.func @f(%x: {}", "tensor<2x".repeat(deep)),
        format!("tt.func @f() {{ %0 = arith.constant dense<{}", "[".repeat(deep)),
        format!("tt.func @f(%x: tensor<{}i32>) {{ tt.return }}", "1x".repeat(deep)),
    ];
    for case in cases {
        let start: String = case.chars().take(40).collect();
        assert!(text::parse(&Source::new("deep", case)).is_err(), "{start}");
    }
}

/// Chains of aliases and names that repeat take time in proportion to their length.
#[test]
fn long_chains_are_linear() {
    let count = 100_000;
    let mut text = String::from("tt.func @f(%x: i32) {\n");
    for i in 0..count {
        let _ = writeln!(text, "  %v{i} = arith.addi %x, %x : i32 loc(#loc{i})");
    }
    text.push_str("  tt.return\n}\n");
    for i in 0..count {
        let _ = writeln!(text, "#loc{i} = loc(\"n\"(#loc{}))", i + 1);
    }
    let _ = writeln!(text, "#loc{count} = loc(unknown)");
    let source = Source::new("long", text);
    let module = text::parse(&source).unwrap();
    verify(&module).unwrap();
    let again = text::parse(&Source::new("printed", text::print(&module))).unwrap();
    assert_eq!(text::same(&module, &again), Ok(()));
}
