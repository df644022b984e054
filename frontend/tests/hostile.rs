//! Inputs made to hurt: each is refused, or compiled, in bounded time and without a panic.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tilescope_diagnostics::{Error, Source};
use tilescope_frontend::request::{ArgSpec, Compiled, Request, Specialized, compile};
use tilescope_frontend::source::{Files, Program};
use tilescope_frontend::types::{Dtype, Elem, PtrTy};

#[path = "../examples/coverage/guess.rs"]
mod guess;

/// Far above what any of them takes, for a busy machine without optimisation.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct Texts(Vec<Arc<Source>>);

impl Files for Texts {
    fn read(&self, path: &str) -> Result<Option<Arc<Source>>, String> {
        Ok(self.0.iter().find(|s| s.name == path).cloned())
    }
}

fn compile_files(files: &[(&str, &str)], request: &Request) -> Result<Compiled, Vec<Box<Error>>> {
    let texts = Texts(
        files
            .iter()
            .map(|(name, text)| Source::new(*name, *text))
            .collect(),
    );
    let started = Instant::now();
    let program = Program::new(&texts, vec![String::new()]);
    let result = match program.load(files[0].0) {
        Ok(module) => compile(&program, module, request),
        Err(error) => Err(vec![error]),
    };
    assert!(started.elapsed() < PATIENCE, "took {:?}", started.elapsed());
    if let Err(errors) = &result {
        assert!(!errors.is_empty(), "refused without an error");
        for label in errors.iter().flat_map(|error| &error.labels) {
            assert!(label.range.start <= label.range.end && label.range.end <= label.source.text.len());
        }
    }
    result
}

/// `kernel(x_ptr, n)` of a file, for floats and an integer.
fn kernel_request() -> Request {
    let pointer = Elem::Ptr(PtrTy {
        to: Dtype::Fp32,
        levels: 1,
        is_const: false,
    });
    let scalar = |elem| ArgSpec::Scalar(elem, Specialized::default());
    Request {
        kernel: "kernel".into(),
        args: vec![
            ("x_ptr".into(), scalar(pointer)),
            ("n".into(), scalar(Elem::Num(Dtype::Int32))),
        ],
        host: Vec::new(),
        capability: 90,
        num_warps: None,
        num_stages: None,
    }
}

const HEAD: &str = "import triton\nimport triton.language as tl\n";

/// A file of a kernel with this body, after these lines.
fn file(globals: &str, body: &str) -> String {
    let body = body.replace('\n', "\n    ");
    format!("{HEAD}{globals}\n\n@triton.jit\ndef kernel(x_ptr, n):\n    {body}\n")
}

fn compile_body(globals: &str, body: &str) -> Result<Compiled, Vec<Box<Error>>> {
    compile_files(&[("kernel.py", &file(globals, body))], &kernel_request())
}

/// The message of the first error; an empty one if there is none.
fn message(result: Result<Compiled, Vec<Box<Error>>>) -> String {
    let errors = result.err().unwrap_or_default();
    errors
        .first()
        .map_or(String::new(), |error| error.message.clone())
}

#[test]
fn parentheses_nested_deep() {
    let deep = 100_000;
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("-", ""),
        ("not ", ""),
        ("tl.abs(", ")"),
        ("(lambda: ", ")"),
    ] {
        let body = format!("y = {}1{}", open.repeat(deep), close.repeat(deep));
        assert_ne!(message(compile_body("", &body)), "", "{open}");
    }
    let global = format!("G = {}1{}", "(".repeat(deep), ")".repeat(deep));
    assert_ne!(message(compile_body(&global, "tl.store(x_ptr, 1.0)")), "");
}

#[test]
fn chains_that_parse_to_deep_trees() {
    let long = 50_000;
    for piece in [" + n", ".T", "[None]", "()", " if n else 1", " and n", " < n"] {
        let body = format!("y = n{}", piece.repeat(long));
        let _ = compile_body("", &body);
        let _ = compile_body(&body.replace('n', "1"), "pass");
    }
}

#[test]
fn blocks_nested_deep() {
    for head in [
        "if n > 1:",
        "for i in range(n):",
        "while n > 1:",
        "with n:",
        "try:",
        "def f():",
        "class A:",
    ] {
        let lines = (0..10_000).map(|depth| format!("{}{head}\n", " ".repeat(depth % 3000)));
        let _ = compile_body("", &lines.collect::<String>());
        let nested: String = (0..150)
            .map(|depth| format!("{}{head}\n", " ".repeat(depth)))
            .collect();
        let _ = compile_body("", &format!("{nested}{}pass", " ".repeat(150)));
    }
    let elifs: String = (0..10_000)
        .map(|i| format!("elif n == {i}:\n    pass\n"))
        .collect();
    let _ = compile_body("", &format!("if n > 1:\n    pass\n{elifs}"));
}

#[test]
fn long_lines_and_files() {
    let line = format!("y = {}n", "n + ".repeat(250_000));
    let _ = compile_body("", &line);
    let name = "a".repeat(1 << 20);
    assert_ne!(message(compile_body("", &format!("y = {name}"))), "");
    let many = "y = 1\n".repeat(100_000);
    let _ = compile_body("", &many);
    let _ = compile_body(&many, "tl.store(x_ptr, 1.0)");
    let text = format!("# {}", "x".repeat(17 << 20));
    assert_ne!(message(compile_body(&text, "pass")), "");
}

#[test]
fn giant_constants() {
    let expressions = [
        "2 ** 10 ** 9",
        "1 << 10 ** 12",
        "10 ** 10 ** 10",
        "(2 ** 10000) ** 10000",
        "'a' * 10 ** 9",
        "('a' * 1000000) * 1000000",
        "(1,) * 10 ** 9",
        "[0] * 10 ** 12",
        "((1,) * 1000) * 10 ** 9",
        "tuple(range(10 ** 12))",
        "list(range(10 ** 9))",
        "sum(range(10 ** 12))",
        "max([i for i in range(10 ** 12)])",
        "[[0] * 10000 for i in range(10000)]",
        "f\"{'a' * 10 ** 6:>{10 ** 9}}\"",
        "'{:>1000000000}'.format(1)",
        "'%1000000000d' % 1",
        "-2 ** 63 // -1",
        "float(10 ** 400)",
        "10.0 ** 400",
        "int(float('inf'))",
        "int(float('nan'))",
        "1 // 0",
        "1 % 0",
        "1.0 / 0",
        "1 << -1",
        "2 ** -1",
        "0 ** -1",
        "round(1e400)",
        "range(0, 10, 0)",
        "int('9' * 100000)",
        "str(2 ** 10000000)",
    ];
    for expression in expressions {
        let _ = compile_body("", &format!("y = {expression}\ntl.store(x_ptr + y, 1.0)"));
        let _ = compile_body(&format!("G = tl.constexpr({expression})"), "tl.store(x_ptr, G)");
        let _ = compile_body(&format!("G: tl.constexpr = {expression}"), "y = G");
    }
    let digits = "9".repeat(1_000_000);
    assert_ne!(
        message(compile_body("", &format!("tl.store(x_ptr + {digits}, 1.0)"))),
        ""
    );
    let items = "1, ".repeat(1_000_000);
    let _ = compile_body("", &format!("y = ({items})\ntl.store(x_ptr, y[3])"));
}

#[test]
fn loops_at_compile_time_that_do_not_end() {
    let bodies = [
        "for i in tl.static_range(10 ** 12):\n    pass",
        "for i in tl.static_range(10 ** 12):\n    tl.store(x_ptr + i, 1.0)",
        "while True:\n    pass",
        "while 1:\n    n += 1",
        "for i in tl.static_range(0, 10, 0):\n    pass",
        "for i in tl.static_range(1000):\n    for j in tl.static_range(1000):\n        for k in tl.static_range(1000):\n            pass",
    ];
    for body in bodies {
        let _ = compile_body("", body);
    }
    let host = "def endless(x):\n    while True:\n        x = x + 1\n    return x\n";
    let body = "y = endless(1)";
    assert_ne!(
        message(compile_body(&format!("@triton.constexpr_function\n{host}"), body)),
        ""
    );
    let _ = compile_body(&format!("{host}\nG = tl.constexpr(endless(1))"), "y = G");
    let doubling = "def f(x):\n    for i in range(100):\n        x = x + x\n    return x\n";
    let _ = compile_body(
        &format!("@triton.constexpr_function\n{doubling}"),
        "y = f((1, 2))",
    );
    let _ = compile_body(&format!("@triton.constexpr_function\n{doubling}"), "y = f('ab')");
}

#[test]
fn functions_that_call_themselves() {
    let recursive = [
        "f = lambda x: f(x)",
        "f = lambda x: f(x + 1) + f(x + 1)",
        "@triton.jit\ndef f(x):\n    return f(x)",
        "@triton.constexpr_function\ndef f(x):\n    return f(x) + f(x)",
        "@triton.jit\ndef g(x):\n    return f(x)\n\n\n@triton.jit\ndef f(x):\n    return g(x)",
        "@triton.jit(noinline=True)\ndef f(x):\n    return f(x)",
        "f = lambda g: g(g)",
    ];
    for definition in recursive {
        assert_ne!(message(compile_body(definition, "y = f(1)")), "", "{definition}");
        assert_ne!(
            message(compile_body(definition, "y = f(f)\ntl.store(x_ptr, y)")),
            "",
            "{definition}"
        );
        let _ = compile_body(&format!("{definition}\nG = tl.constexpr(f(1))"), "y = G");
    }
    // Each level calls the next one twice: 2^60 calls.
    let mut bomb = String::from("@triton.jit\ndef f0(x):\n    return x + 1\n\n\n");
    for level in 1..60 {
        let below = level - 1;
        bomb += &format!("@triton.jit\ndef f{level}(x):\n    return f{below}(x) + f{below}(x)\n\n\n");
    }
    assert_ne!(message(compile_body(&bomb, "tl.store(x_ptr, f59(n))")), "");
}

#[test]
fn imports_that_go_round() {
    let files = [
        (
            "a.py",
            "from b import f\nfrom a import *\nimport a, b\nfrom . import a\nfrom .. import x\nimport triton\n@triton.jit\ndef kernel(x_ptr, n):\n    f(x_ptr)\n",
        ),
        ("b.py", "from a import kernel\nfrom c import f\nfrom b import *\n"),
        ("c.py", "from b import f\nfrom c import f\n"),
        ("p/__init__.py", "from p import *\nfrom .p import q\n"),
        ("p/p.py", "from . import q\nfrom p.p import q\n"),
    ];
    assert_ne!(message(compile_files(&files, &kernel_request())), "");
    let globals = "from kernel import *\nfrom kernel import kernel as again\nA = A\nB = C\nC = B";
    let _ = compile_body(globals, "tl.store(x_ptr + A, B)");
    let _ = compile_body(globals, "again(x_ptr, n)");
}

#[test]
fn odd_bytes() {
    let plain = file("", "tl.store(x_ptr, 1.0)");
    let texts = [
        format!("\u{feff}{plain}"),
        plain.replace('\n', "\r\n"),
        plain.replace('\n', "\r"),
        plain.replace("    ", "\t"),
        plain.replace("n):", "n):  # \u{1f600} λ\u{0}"),
        plain.replace("1.0", "'\u{1f600}'"),
        format!("{plain}\u{0}"),
        format!("# -*- coding: latin-1 -*-\n{plain}"),
        plain.trim_end().to_string(),
        plain.replace("x_ptr", "ｘ_ptr"),
        plain.replace("tl.store(", "tl.store(\\\n"),
        format!("{plain}\u{c}\n"),
    ];
    for (index, text) in texts.iter().enumerate() {
        let result = compile_files(&[("kernel.py", text)], &kernel_request());
        // Byte order mark, line ends of Windows, tabs, a declared encoding, no last line end, a continued line,
        // a form feed.
        if matches!(index, 0 | 1 | 3 | 7 | 8 | 10 | 11) {
            assert_eq!(message(result), "", "{text:?}");
        }
    }
    for text in [
        "",
        "\n",
        "\u{feff}",
        "\u{0}",
        "@",
        "def",
        "def kernel",
        "@triton.jit\ndef kernel(",
        "'''",
    ] {
        assert_ne!(
            message(compile_files(&[("kernel.py", text)], &kernel_request())),
            "",
            "{text:?}"
        );
    }
}

#[test]
fn odd_values_at_every_place_of_a_call() {
    let odd = [
        "None",
        "True",
        "-1",
        "10 ** 30",
        "1e400",
        "float('nan')",
        "'a'",
        "()",
        "(1, 2)",
        "...",
        "tl",
        "tl.float32",
        "kernel",
        "x_ptr",
        "n",
        "tl.arange(0, 16)",
        "tl.load",
        "lambda a: a",
        "[1, [2]]",
        "n.dtype",
        "x_ptr[None]",
        "-2 ** 63",
        "2 ** 64",
    ];
    let calls = [
        "tl.arange(0, $)",
        "tl.zeros($, tl.float32)",
        "tl.zeros((16,), $)",
        "tl.full((16,), $, tl.int8)",
        "tl.load($)",
        "tl.load(x_ptr, $)",
        "tl.load(x_ptr, cache_modifier=$)",
        "tl.store(x_ptr, $)",
        "tl.store(x_ptr, 1.0, $)",
        "n + $",
        "$ + $",
        "$ / n",
        "$ // n",
        "$ % 0",
        "n << $",
        "-$",
        "not $",
        "~$",
        "$ < n",
        "$ is None",
        "$ if n else 1",
        "1 if $ else n",
        "x_ptr + $",
        "$[0]",
        "n[$]",
        "(1, 2)[$]",
        "tl.sum(tl.arange(0, 16), $)",
        "tl.reshape(tl.arange(0, 16), $)",
        "tl.trans($)",
        "tl.broadcast_to(n, $)",
        "tl.where($, 1, 2)",
        "tl.where(n > 1, $, 2)",
        "tl.dot($, $)",
        "tl.cast(n, $)",
        "n.to($)",
        "tl.atomic_add(x_ptr, $)",
        "tl.atomic_cas(x_ptr, $, $)",
        "tl.program_id($)",
        "tl.static_assert($)",
        "tl.static_print($)",
        "tl.device_assert($)",
        "tl.device_print('a', $)",
        "tl.multiple_of(n, $)",
        "tl.expand_dims(tl.arange(0, 16), $)",
        "tl.associative_scan(tl.arange(0, 16), 0, $)",
        "tl.reduce(tl.arange(0, 16), 0, $)",
        "tl.make_block_ptr($, $, $, $, $, $)",
        "tl.make_block_ptr(x_ptr, (n,), (1,), (0,), $, (0,))",
        "tl.make_tensor_descriptor(x_ptr, [n], [1], $)",
        "tl.rand($, $)",
        "tl.inline_asm_elementwise($, '=r,r', [n], tl.int32, True, 1)",
        "tl.join($, $)",
        "tl.split($)",
        "tl.cat($, $)",
        "tl.gather($, $, 0)",
        "tl.histogram($, 16)",
        "tl.sort($)",
        "tl.flip($)",
        "tl.cumsum($)",
        "tl.argmax($, 0)",
        "tl.max($)",
        "tl.minimum($, n)",
        "tl.clamp($, 0, 1)",
        "tl.exp($)",
        "tl.math.pow($, $)",
        "tl.abs($)",
        "tl.cdiv($, n)",
        "tl.swizzle2d($, $, $, $, $)",
        "tl.interleave($, $)",
        "tl.range($)",
        "tl.constexpr($)",
        "int($)",
        "float($)",
        "len($)",
        "min($, n)",
        "max($, 1)",
        "range($)",
        "isinstance($, tl.constexpr)",
        "$()",
        "$.x",
        "$.dtype",
        "$.shape",
    ];
    for call in calls {
        for value in odd {
            let _ = compile_body("", &format!("y = {}", call.replace('$', value)));
        }
    }
}

/// Kernels to spoil.
const SEEDS: [&str; 6] = [
    include_str!("../../kernels/softmax/softmax.py"),
    include_str!("../../kernels/flash_attention/flash_attention.py"),
    include_str!("../../kernels/layer_norm/layer_norm.py"),
    include_str!("../../kernels/matmul/matmul.py"),
    include_str!("../../kernels/dropout/dropout.py"),
    include_str!("../../tests/pass/lookback_scan/lookback_scan.py"),
];

/// The words, signs and spaces that a text is made of.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let kind = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            0
        } else if c == ' ' {
            1
        } else {
            2
        }
    };
    let mut last = None;
    for (at, c) in text.char_indices() {
        if at > start && (last != Some(kind(c)) || kind(c) == 2) {
            tokens.push(&text[start..at]);
            start = at;
        }
        last = Some(kind(c));
    }
    tokens.push(&text[start..]);
    tokens
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn spoilt_kernels(seed in 0..SEEDS.len(), edits in prop::collection::vec((0..4u8, any::<u16>(), any::<u16>()), 1..6)) {
        let mut words = tokens(SEEDS[seed]);
        for (edit, a, b) in edits {
            let (a, b) = (a as usize % words.len(), b as usize % words.len());
            match edit {
                0 => drop(words.remove(a)),
                1 => words.swap(a, b),
                2 => words[a] = words[b],
                _ => words.insert(a, words[b]),
            }
        }
        let text: String = words.concat();
        for (index, function) in guess::functions(&text).iter().enumerate() {
            let result = compile_files(&[("kernel.py", &text)], &function.request(index));
            if let Ok(compiled) = result {
                let verified = tilescope_ir::verify(&compiled.module);
                prop_assert!(verified.is_ok(), "{:?}\n{text}", verified.err());
            }
        }
    }
}
