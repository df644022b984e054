use std::collections::BTreeMap;

use super::*;
use crate::Options;
use crate::cx::Cx;
use crate::konst;
use crate::value::Value;

/// Files in memory.
#[derive(Debug, Default)]
struct Texts(BTreeMap<String, Arc<Source>>);

impl Files for Texts {
    fn read(&self, path: &str) -> Result<Option<Arc<Source>>, String> {
        Ok(self.0.get(path).cloned())
    }
}

fn texts(files: &[(&str, &str)]) -> Texts {
    Texts(
        files
            .iter()
            .map(|(path, text)| (path.to_string(), Source::new(*path, *text)))
            .collect(),
    )
}

const OPTIONS: Options = Options {
    capability: 90,
    num_warps: 4,
    num_stages: 3,
};

/// The value of `name` in the first file, as `repr` shows it; `!why` for what is opaque, `-` for what is not there.
fn shown(files: &[(&str, &str)], name: &str) -> String {
    let texts = texts(files);
    let program = Program::new(&texts, vec!["lib".to_string()]);
    let module = program.load(files[0].0).unwrap_or_else(|e| panic!("{e}"));
    let mut cx = Cx::new(&program, &OPTIONS, module);
    match cx.global(module, name) {
        Ok(Some(global)) => match &global.value {
            Value::Opaque(why) => format!("!{why}"),
            value => konst::repr(value),
        },
        Ok(None) => "-".to_string(),
        Err(error) => format!("error: {error}"),
    }
}

fn one(text: &str, name: &str) -> String {
    shown(&[("a.py", text)], name)
}

#[test]
fn assignments_see_what_stands_before_them() {
    let text = "x = 1\ny = x + 1\nx = 10\nz = x\na, (b, *c) = 1, (2, 3, 4)\nn: int = 5\nn += y\n";
    assert_eq!(one(text, "y"), "2");
    assert_eq!(one(text, "z"), "10");
    assert_eq!(one(text, "x"), "10");
    assert_eq!(
        (one(text, "a"), one(text, "b"), one(text, "c")),
        ("1".into(), "2".into(), "[3, 4]".into())
    );
    assert_eq!(one(text, "n"), "7");
    assert_eq!(one(text, "nothing"), "-");
    assert_eq!(one("x = x + 1\n", "x"), "!`x` is not defined");
}

#[test]
fn functions_see_the_whole_file() {
    let text = "def f():\n    return later * 2\nx = f()\nlater = 21\n";
    assert_eq!(one(text, "x"), "42");
}

#[test]
fn lists_and_dictionaries_change_in_place_and_once() {
    let text = "sizes = [1]\nsizes.append(2)\nsizes += [3]\ntable = {}\ntable['a'] = sizes[1]\nfor i in range(3):\n    sizes.append(i)\nlast = sizes[-1]\n";
    assert_eq!(one(text, "sizes"), "[1, 2, 3, 0, 1, 2]");
    assert_eq!(one(text, "table"), "{'a': 2}");
    assert_eq!(one(text, "i"), "2");
    assert_eq!(one(text, "last"), "2");
}

#[test]
fn conditions_are_evaluated_or_the_binding_branch_is_taken() {
    let text = "import os, sys, torch\n\
        A = 1 if os.environ.get('X', '0') == '1' else 2\n\
        if sys.version_info >= (3, 9):\n    B = 'new'\nelse:\n    B = 'old'\n\
        if torch.something_unknown():\n    C = 1\nelse:\n    D = 2\n\
        if torch.something_unknown():\n    E = 1\nelse:\n    E = 2\n\
        if False:\n    F = 1\n\
        if __name__ == '__main__':\n    A = 99\n";
    assert_eq!(one(text, "A"), "2");
    assert_eq!(one(text, "B"), "'new'");
    assert_eq!(
        (one(text, "C"), one(text, "D"), one(text, "E")),
        ("1".into(), "2".into(), "1".into())
    );
    assert_eq!(one(text, "F"), "-");
}

#[test]
fn a_try_counts_if_its_imports_are_found() {
    let text = "try:\n    import not_there\n    HAS = True\nexcept ImportError:\n    HAS = False\n\
        try:\n    import triton\n    T = 1\nexcept ImportError:\n    T = 2\n\
        try:\n    from triton.language.nowhere import thing\nexcept ImportError:\n    thing = 7\n";
    assert_eq!(one(text, "HAS"), "False");
    assert_eq!(one(text, "T"), "1");
    assert_eq!(one(text, "thing"), "7");
}

#[test]
fn imports_go_through_packages_paths_and_reexports() {
    let files = [
        (
            "pkg/ops/k.py",
            "from .helpers import one\nfrom ..consts import *\nfrom pkg import two\nimport pkg.consts as c\nimport other\nfrom other import deep\nfrom . import helpers\nfrom gone import x\nfrom gone.triton_utils import tl\nthree = c.THREE\nfour = other.FOUR\nfive = helpers.FIVE\nd = deep.D\n",
        ),
        ("pkg/ops/helpers.py", "one = 1\nFIVE = 5\n"),
        ("pkg/ops/__init__.py", ""),
        ("pkg/consts.py", "THREE = 3\n_hidden = 1\n"),
        (
            "pkg/__init__.py",
            "from .consts import THREE\nfrom .late import two\n",
        ),
        ("pkg/late.py", "from .consts import THREE\ntwo = THREE - 1\n"),
        ("lib/other/__init__.py", "FOUR = 4\n"),
        ("lib/other/deep.py", "D = 'd'\n"),
    ];
    for (name, value) in [
        ("one", "1"),
        ("THREE", "3"),
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("d", "'d'"),
    ] {
        assert_eq!(shown(&files, name), value, "{name}");
    }
    assert_eq!(
        shown(&files, "x"),
        "!the module `gone`, which it comes from, is not found"
    );
    assert_eq!(shown(&files, "tl"), "<module 'triton.language'>");
}

#[test]
fn circles_end() {
    let files = [
        ("a.py", "from b import y\nx = y\n"),
        ("b.py", "from a import x\ny = x\n"),
    ];
    assert!(shown(&files, "x").starts_with('!'), "{}", shown(&files, "x"));
    let files = [("a.py", "from b import *\n"), ("b.py", "from a import *\n")];
    assert_eq!(shown(&files, "x"), "-");
    assert!(
        one("def f():\n    return f()\nx = f()\n", "x").starts_with("!`f`")
            || one("def f():\n    return f()\nx = f()\n", "x").starts_with("!calls")
    );
}

#[test]
fn a_syntax_error_in_an_import_is_an_error() {
    let files = [("a.py", "from b import y\n"), ("b.py", "def (:\n")];
    assert!(
        shown(&files, "y").starts_with("error: b.py:1:5"),
        "{}",
        shown(&files, "y")
    );
}

#[test]
fn host_functions_run_as_python() {
    let text = "import math, triton\nfrom itertools import product\nfrom functools import lru_cache\n\
def first_big(limit):\n    \"\"\"Doc.\"\"\"\n    n = 1\n    while True:\n        n *= 2\n        if n > limit:\n            return n\n\
def classify(n, *rest, scale=2, **more):\n    for i in range(n):\n        if i == 3:\n            break\n    else:\n        return 'all', rest, more\n    try:\n        raise ValueError('no')\n    except ValueError:\n        pass\n    return 'cut', scale\n\
def outer(k):\n    def inner(x):\n        return x * k\n    return [inner(i) for i in range(3) if i != 1]\n\
@lru_cache(maxsize=None)\ndef fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\n\
a = first_big(100)\nb = classify(2, 7, x=1)\nc = classify(5)\nd = outer(10)\ne = fact(10)\n\
f = sorted([3, 1, 2], key=lambda v: -v)\ng = {k: v for k, v in zip('ab', (1, 2))}\nh = list(product([1, 2], 'x'))\n\
i = max(3, 7.5, key=lambda v: -v)\nj = f'{math.pi:.3f} {a!r:>5} {d[0] = }'\nk = triton.cdiv(7, 2) + triton.next_power_of_2(5)\n\
l = [*range(2), *(5, 6)]\nm = [i for row in [[1, 2], [3]] for i in row]\nn = (lambda x, y=2: x ** y)(5)\n\
o = ', '.join(sorted({'b', 'a'}))\np = isinstance(True, int) and not isinstance('s', (int, float))\nq = getattr('x', 'nope', 3)\n";
    for (name, value) in [
        ("a", "128"),
        ("b", "('all', (7,), {'x': 1})"),
        ("c", "('cut', 2)"),
        ("d", "[0, 20]"),
        ("e", "3628800"),
        ("f", "[3, 2, 1]"),
        ("g", "{'a': 1, 'b': 2}"),
        ("h", "[(1, 'x'), (2, 'x')]"),
        ("i", "3"),
        ("j", "'3.142   128 d[0] = 0'"),
        ("k", "12"),
        ("l", "[0, 1, 5, 6]"),
        ("m", "[1, 2, 3]"),
        ("n", "25"),
        ("o", "'a, b'"),
        ("p", "True"),
        ("q", "3"),
    ] {
        assert_eq!(one(text, name), value, "{name}");
    }
}

#[test]
fn endless_host_code_ends() {
    assert!(one("def f():\n    while True:\n        pass\nx = f()\n", "x").starts_with('!'));
    assert!(one("x = 10 ** 10 ** 10\n", "x").starts_with('!'));
    assert!(one("x = 'a' * 10 ** 9\n", "x").starts_with('!'));
    assert!(one("x = [0] * 10 ** 9\n", "x").starts_with('!'));
    assert!(one("x = list(range(10 ** 12))\n", "x").starts_with('!'));
    // Values nested so deeply that freeing them would not fit the stack.
    let nested = "x = ()\nfor i in range(1000):\n    x = (x,)\n";
    assert!(one(nested, "x").len() < 300);
    let nested = "a = []\nb = a\nwhile True:\n    c = []\n    b.append(c)\n    b = c\n";
    assert!(one(nested, "b").starts_with('!'));
    let nested = "f = 1\ndef make(g):\n    return lambda: g\nfor i in range(1000):\n    f = make(f)\n";
    assert!(one(nested, "f").len() < 300);
    assert!(one("x = []\nwhile True:\n    x.append(x)\n", "x").len() < 100_000_000);
}

#[test]
fn classes_are_read() {
    let text = "from enum import Enum, IntEnum, auto\nfrom typing import NamedTuple\nfrom collections import namedtuple\nfrom dataclasses import dataclass\n\
class Color(Enum):\n    RED = 1\n    BLUE = auto()\n\
class Mode(IntEnum):\n    A = 4\n    B = A + 1\n\
class P(NamedTuple):\n    x: int\n    y: int = 2\n\
Q = namedtuple('Q', 'u v')\n\
@dataclass\nclass D:\n    m: int\n    n: int = 5\n    def total(self):\n        return self.m + self.n\n    @property\n    def twice(self):\n        return 2 * self.m\n    @staticmethod\n    def three():\n        return 3\n\
class C:\n    WIDTH = 64\n    HALF = WIDTH // 2\n    def __init__(self, k):\n        self.k = k\n        self.k2 = k * self.WIDTH\n\
red = Color.RED.value\nblue = Color.BLUE.name\nsame = Color.RED is Color.RED and Color(1) == Color.RED\nmode = Mode.B | 2\np = P(1)\npy = p.y + p[0]\nq = Q(1, v=2).v\nd = D(1).total() + D(m=2, n=3).twice + D.three()\nhalf = C.HALF\nk2 = C(2).k2\n";
    for (name, value) in [
        ("red", "1"),
        ("blue", "'BLUE'"),
        ("same", "True"),
        ("mode", "7"),
        ("p", "P(x=1, y=2)"),
        ("py", "3"),
        ("q", "2"),
        ("d", "13"),
        ("half", "32"),
        ("k2", "128"),
    ] {
        assert_eq!(one(text, name), value, "{name}");
    }
}

#[test]
fn kernels_may_read_constants_only() {
    let text = "import triton\nimport triton.language as tl\nimport torch\nfrom triton.language import constexpr as ce\n\
A = tl.constexpr(3)\nB = 3\nC: tl.constexpr = 4\nD = A\nE = ce(1) if True else ce(2)\nF = tl.float32\nG = lambda x: x\n\
def h():\n    pass\n@triton.jit\ndef j():\n    pass\n@triton.constexpr_function\ndef k():\n    pass\nL = A * 2\n";
    let texts = texts(&[("a.py", text)]);
    let program = Program::new(&texts, Vec::new());
    let module = program.load("a.py").unwrap();
    let mut cx = Cx::new(&program, &OPTIONS, module);
    let mut may = |name: &str| cx.global(module, name).unwrap().unwrap().kernels_may_read();
    for name in ["A", "C", "D", "E", "F", "j", "k", "L", "tl"] {
        assert!(may(name), "{name}");
    }
    for name in ["B", "G", "h"] {
        assert!(!may(name), "{name}");
    }
}

#[test]
fn kernels_are_found_in_all_spellings() {
    let text = "import triton, functools\nfrom triton import jit as tjit\nfrom triton.runtime.jit import jit\nimport triton.language as tl\n\
from .gone import libentry\nfast = triton.jit\n\
@triton.jit\ndef a(x, N: tl.constexpr = 4): pass\n\
@tjit\ndef b(x): pass\n\
@jit(do_not_specialize=['n', 2])\ndef c(x, n, m, B: 'tl.constexpr'): pass\n\
@libentry()\n@triton.autotune(configs=[], key=['n'])\n@triton.heuristics({'E': lambda a: 1})\n@triton.jit(noinline=True)\ndef d(x): pass\n\
@fast\ndef e(x): pass\n\
def f(x): pass\n\
@functools.partial(triton.jit, noinline=True)\ndef g(x): pass\n";
    let texts = texts(&[("a.py", text)]);
    let program = Program::new(&texts, Vec::new());
    let module = program.load("a.py").unwrap();
    let kernels = program.kernels(module);
    let names: Vec<&str> = kernels.iter().map(|k| &*k.def.ident.name).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "g"]);
    assert!(kernels[0].params[1].constexpr && kernels[0].params[1].default.is_some());
    let flags: Vec<bool> = kernels[2].params.iter().map(|p| p.do_not_specialize).collect();
    assert_eq!(flags, [false, true, true, false]);
    assert!(kernels[2].params[3].constexpr);
    assert!(
        kernels[3].configs.is_some() && kernels[3].heuristics.len() == 1 && kernels[3].wrappers.len() == 1
    );
    assert_eq!(program.functions(module).len(), 7);
}

#[test]
fn calls_at_the_top_level_make_kernels() {
    let text = "import triton\nimport triton.language as tl\ndef plain(x): pass\ndef k(x, B: tl.constexpr): pass\n\
k = triton.jit(k, do_not_specialize=['x'])\nk = triton.heuristics({'B': lambda a: 4})(k)\n\
k = triton.heuristics({'C': lambda a: 4})(k)\n@triton.jit\ndef d(x): pass\n\
tuned = triton.autotune(configs=[], key=['n'])(d)\nalias = k\nj = triton.jit(plain)\nother = print(plain)\n\
def loops(): pass\nloops = triton.jit(loops2)\nloops2 = loops\n";
    let texts = texts(&[("a.py", text)]);
    let program = Program::new(&texts, Vec::new());
    let module = program.load("a.py").unwrap();
    let kernels = program.kernels(module);
    let names: Vec<String> = kernels
        .iter()
        .map(|k| format!("{} of {}", k.name, k.def.ident.name))
        .collect();
    assert_eq!(names, ["j of plain", "k of k", "d of d", "tuned of d"]);
    let k = program.kernel(module, "alias").unwrap();
    assert!(k.params[0].do_not_specialize && k.params[1].constexpr && k.heuristics.len() == 2);
    let source = program.source(module);
    assert!(
        source.text[k.heuristics[0].span.range()].contains("'C'"),
        "outermost first"
    );
    assert!(program.kernel(module, "tuned").unwrap().configs.is_some());
    assert!(program.kernel(module, "d").unwrap().configs.is_none());
    for name in ["other", "plain", "loops", "loops2", "tl"] {
        assert!(program.kernel(module, name).is_none(), "{name}");
    }
}

#[test]
fn a_package_imports_its_own_submodules() {
    let files = [
        ("pk/k.py", "from pk import rt, other\nB = rt.C\nD = other\n"),
        ("pk/__init__.py", "from pk import rt\nfrom pk.b import other\n"),
        ("pk/rt.py", "C = 64\n"),
        ("pk/b.py", "from pk import other\n"),
    ];
    assert_eq!(shown(&files, "B"), "64");
    assert_eq!(shown(&files, "D"), "!`other` is defined by itself");
}

#[test]
fn kernels_inside_of_functions_see_their_variables() {
    let text = "import torch\ndef make(n, width=4):\n    if not torch.unknown():\n        return None\n    import triton\n    import triton.language as tl\n    W = tl.constexpr(width * 2)\n    x = n + 1\n    @triton.jit\n    def helper(v):\n        return v\n    if n > 3:\n        @triton.jit\n        def inner(p):\n            tl.store(p, helper(W + x))\n    return inner\n";
    let texts = texts(&[("a.py", text)]);
    let program = Program::new(&texts, Vec::new());
    let module = program.load("a.py").unwrap();
    let names: Vec<String> = program
        .kernels(module)
        .iter()
        .map(|k| k.def.ident.name.to_string())
        .collect();
    assert_eq!(names, ["helper", "inner"]);
    let mut cx = Cx::new(&program, &OPTIONS, module);
    let kernel = cx.nested_kernel(module, "inner").unwrap();
    let captured = |name: &str| {
        kernel
            .captured
            .iter()
            .find(|(n, _)| &**n == name)
            .map(|(_, v)| konst::repr(v))
    };
    assert_eq!(captured("W").as_deref(), Some("8"));
    assert_eq!(captured("tl").as_deref(), Some("<module 'triton.language'>"));
    assert_eq!(captured("helper").as_deref(), Some("<function helper>"));
    assert_eq!(captured("x").as_deref(), Some("<unknown>"));
    assert_eq!(captured("width"), None);
}

#[test]
fn sets_are_sets() {
    let text = "a = {1, 2} | {3, 2}\nb = {1, 2} == {2, 1}\nc = {1, 2, 3} - {2} ^ {3, 4}\nd = set([1, True, 2])\n\
                e = {1}.union([2], (3,)) & {3, 1}\nf = {x % 2 for x in range(9)}\ng = set()\n\
                h = isinstance({1}, set), isinstance([1], set), 2 in {2}, bool(set()), len({1, 1})\n";
    assert_eq!(one(text, "a"), "{1, 2, 3}");
    assert_eq!(one(text, "b"), "True");
    assert_eq!(one(text, "c"), "{1, 4}");
    assert_eq!(one(text, "d"), "{1, 2}");
    assert_eq!(one(text, "e"), "{1, 3}");
    assert_eq!(one(text, "f"), "{0, 1}");
    assert_eq!(one(text, "g"), "set()");
    assert_eq!(one(text, "h"), "(True, False, True, False, 1)");
    assert_eq!(
        one("x = [1] | [2]\n", "x"),
        "!`|` does not take values of the types list and list"
    );
    let many = one("x = set(range(5000))\n", "x");
    assert!(many.contains("more than 4096"), "{many}");
}
