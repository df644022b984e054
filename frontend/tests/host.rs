//! Python that runs while a kernel is compiled: heuristics, configurations, constexpr functions, classes.
#![allow(clippy::vec_box, reason = "errors travel boxed")]

use std::sync::Arc;

use tilescope_diagnostics::{Error, Source};
use tilescope_frontend::konst;
use tilescope_frontend::request::{ArgSpec, Compiled, Request, Specialized, compile};
use tilescope_frontend::source::{Files, Program};
use tilescope_frontend::types::{Dtype, Elem, PtrTy};
use tilescope_frontend::value::Value;

#[derive(Debug)]
struct Text(Arc<Source>);

impl Files for Text {
    fn read(&self, path: &str) -> Result<Option<Arc<Source>>, String> {
        Ok((path == "a.py").then(|| self.0.clone()))
    }
}

const HEAD: &str = "import triton\nimport triton.language as tl\n";

/// Compiles `k(x, n, …)` of a file for a pointer to floats and an integer, with these constants.
fn build(text: &str, constants: &[(&str, Value)]) -> Result<Compiled, Vec<Box<Error>>> {
    let files = Text(Source::new("a.py", format!("{HEAD}{text}")));
    let program = Program::new(&files, Vec::new());
    let module = program.load("a.py").map_err(|e| vec![e])?;
    let pointer = Elem::Ptr(PtrTy {
        to: Dtype::Fp32,
        levels: 1,
        is_const: false,
    });
    let scalar = |elem| ArgSpec::Scalar(elem, Specialized::default());
    let mut args = vec![
        ("x".to_string(), scalar(pointer)),
        ("n".to_string(), scalar(Elem::Num(Dtype::Int32))),
    ];
    for (name, value) in constants {
        args.push((name.to_string(), ArgSpec::Constant(value.clone())));
    }
    let request = Request {
        kernel: "k".into(),
        args,
        host: vec![
            ("n".into(), Value::int(100)),
            ("x".into(), Value::Opaque("a tensor".into())),
        ],
        capability: 90,
        num_warps: None,
        num_stages: None,
    };
    compile(&program, module, &request)
}

fn built(text: &str, constants: &[(&str, Value)]) -> Compiled {
    build(text, constants).unwrap_or_else(|errors| panic!("{}", errors[0]))
}

fn constants(compiled: &Compiled) -> String {
    let shown: Vec<String> = compiled
        .constants
        .iter()
        .map(|(name, value)| format!("{name}={}", konst::repr(value)))
        .collect();
    shown.join(" ")
}

const TUNED: &str = "
def configs():
    made = []
    for block in [64, 128, 256]:
        for warps in (2, 8):
            if block * warps > 100:
                made.append(triton.Config({'B': block}, num_warps=warps, num_stages=block // 64))
    return made

def even(args):
    return args['n'] % args['B'] == 0

@triton.autotune(configs=configs(), key=['n'])
@triton.heuristics({'EVEN': even, 'BIG': lambda args: args['n'] > 64 and args['x'] is not None})
@triton.jit
def k(x, n, B: tl.constexpr, EVEN: tl.constexpr, BIG: tl.constexpr):
    tl.store(x, B)
";

#[test]
fn the_first_configuration_then_heuristics() {
    let compiled = built(TUNED, &[]);
    assert_eq!(constants(&compiled), "B=64 EVEN=False BIG=True");
    assert_eq!((compiled.options.num_warps, compiled.options.num_stages), (2, 1));
    let notes = compiled.notes.join("\n");
    assert!(
        notes.contains("`k` takes the first of its 6 configurations: B=64, num_warps=2, num_stages=1"),
        "{notes}"
    );
    assert!(notes.contains("`EVEN` is False, by its heuristic"), "{notes}");
}

#[test]
fn heuristics_and_configurations_put_on_after_the_definition() {
    let text = "
def k(x, n, B: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x, B)

WIDTH = 32
k = triton.jit(k)
k = triton.heuristics({'EVEN': lambda args: args['B'] == WIDTH})(k)
k = triton.autotune(configs=[triton.Config({'B': WIDTH})], key=['n'])(k)
";
    assert_eq!(constants(&built(text, &[])), "B=32 EVEN=True");
}

#[test]
fn a_branch_taken_without_knowing_is_noted_once() {
    let text = "
from gone import version_at_least
if not version_at_least('3.0'):
    N = tl.constexpr(1)
    M = tl.constexpr(5)
else:
    N = tl.constexpr(2)
if version_at_least('4.0'):
    unused = 1
else:
    P = tl.constexpr(7)
@triton.jit
def k(x, n):
    tl.store(x, N + N + M)
";
    let note = |name: &str, line: u32, condition: &str, branch: &str| {
        format!(
            "a.py:{line}: whether `{condition}` holds is not known (the module `gone` is not found): `{name}` is \
             taken from {branch}; --python-path adds a folder to look in"
        )
    };
    let first = note("N", 5, "not version_at_least('3.0')", "the first branch");
    assert_eq!(built(text, &[]).notes, std::slice::from_ref(&first));
    let second = note("P", 10, "version_at_least('4.0')", "the `else`");
    let used = text.replace("N + N + M", "N + P");
    assert_eq!(built(&used, &[]).notes, [first, second]);
    let unused = text.replace("N + N + M", "1");
    assert!(built(&unused, &[]).notes.is_empty());
}

#[test]
fn what_is_given_wins_and_picks_the_configuration_that_agrees() {
    let compiled = built(TUNED, &[("B", Value::int(256)), ("EVEN", Value::Bool(true))]);
    assert_eq!(constants(&compiled), "B=256 EVEN=True BIG=True");
    assert_eq!(compiled.options.num_stages, 4);
}

#[test]
fn constexpr_functions_run_loops_and_branches() {
    let text = "
@triton.constexpr_function
def bits(n):
    count = 0
    while n > 1:
        n //= 2
        count += 1
    if count > 100:
        raise ValueError(f'too many: {count}')
    return count

@triton.jit
def k(x, n):
    tl.static_assert(bits(1024) == 10)
    B: tl.constexpr = 2 ** bits(64)
    tl.store(x + tl.arange(0, B), n)
";
    built(text, &[]);
    let failing = text.replace("bits(64)", "bits(2 ** 200)");
    let errors = build(&failing, &[]).unwrap_err();
    assert!(
        errors[0].message.contains("ValueError: too many: 200"),
        "{}",
        errors[0]
    );
    // The place of `raise`, then the call in the kernel.
    assert_eq!(errors[0].labels.len(), 2, "{:?}", errors[0].labels);
}

#[test]
fn aggregates_hold_run_time_values_and_constants() {
    let text = "
@tl.core._aggregate
class Pair:
    ptr: tl.tensor
    scale: tl.constexpr

    @triton.constexpr_function
    def __init__(self, ptr, scale):
        if scale < 0:
            scale = -scale
        self.ptr = ptr
        self.scale = tl.constexpr(scale * 2)

    @triton.jit
    def put(self, value):
        tl.store(self.ptr, value * self.scale)

@triton.jit
def k(x, n):
    p = Pair(x, -3)
    tl.static_assert(p.scale == 6)
    p.put(n)
";
    built(text, &[]);
}

#[test]
fn globals_that_are_no_constants_are_refused_with_the_remedy() {
    let text = "B = 4\n@triton.jit\ndef k(x, n):\n    tl.store(x, B)\n";
    let errors = build(text, &[]).unwrap_err();
    assert!(errors[0].message.contains("global variable `B`"), "{}", errors[0]);
    assert!(
        errors[0]
            .help
            .as_ref()
            .is_some_and(|h| h.contains("tl.constexpr")),
        "{}",
        errors[0]
    );
    built(&text.replace("B = 4", "B = tl.constexpr(4)"), &[]);
    built(&text.replace("B = 4", "B: tl.constexpr = 4"), &[]);
}

#[test]
fn what_is_not_known_is_refused_only_where_it_is_used() {
    let text = "import gone\nV = gone.value()\n@triton.jit\ndef k(x, n):\n    tl.store(x, n)\n";
    built(text, &[]);
    let errors = build(
        &text.replace("(x, n)\n", "(x, V)\n").replace("k(x, V)", "k(x, n)"),
        &[],
    )
    .unwrap_err();
    assert_eq!(errors[0].kind.exit_status(), 3, "{}", errors[0]);
    assert_eq!(errors[0].message, "`V` is not known at compile time");
    assert_eq!(errors[0].notes, ["the module `gone` is not found"]);
}
