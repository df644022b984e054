//! Random kernels of fixed seeds by every path of the interpreter: the share of `cargo xtask fuzz` that every test run has.
//! And kernels on which paths once disagreed (`kept/`), by these, by the float64 twin, and as CUDA C++ where there is a C++
//! compiler.
#![allow(clippy::print_stderr, reason = "says what is skipped")]

#[path = "../../../gpu-backend/tests/cpu/case.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod case;
#[path = "../../../gpu-backend/tests/cpu/compile.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod compile;
#[path = "../../examples/fuzz/cuda.rs"]
mod cuda;
#[path = "../../examples/fuzz/judge.rs"]
mod judge;
#[path = "../../examples/fuzz/paths.rs"]
mod paths;
#[path = "../../examples/fuzz/twin.rs"]
mod twin;

use std::collections::BTreeMap;
use std::path::Path;

use tilescope_difftest::generate::{NOT_GENERATED, kernel, shrink};
use tilescope_ir::{OpCode, text};

/// Kernels that are run.
const KERNELS: u64 = 200;

#[test]
fn all_paths_agree() {
    let mut wrong = Vec::new();
    for seed in 0..KERNELS {
        let opened = paths::read_back(&kernel(seed).unwrap());
        match opened.and_then(|opened| paths::run_all(&opened, &paths::few_ways())) {
            Ok(Ok(_)) => {}
            Ok(Err(refused)) => wrong.push(format!("seed {seed}: refused: {refused}")),
            Err(disagreement) => wrong.push(format!("seed {seed}: {disagreement:?}")),
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn kept_kernels_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated/kept");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "ttir"));
    files.sort();
    assert!(!files.is_empty());
    let compiles = compile::compiler().is_some();
    if !compiles {
        eprintln!("no C++ compiler is found (set CXX): generated CUDA is not run");
    }
    for file in files {
        let launch = file.with_extension("launch.toml");
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let opened = paths::open(&read(&file), &read(&launch)).unwrap();
        let left = paths::run_all(&opened, &paths::ways());
        let left = left.unwrap_or_else(|d| panic!("{}: {d:?}", file.display()));
        let left = left.unwrap_or_else(|why| panic!("{}: {why}", file.display()));
        let beside = twin::check(&opened, &left);
        let bounded = beside.unwrap_or_else(|d| panic!("{}: {d:?}", file.display()));
        if compiles {
            let name = file.file_stem().unwrap().to_string_lossy();
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kept").join(&*name);
            // As the launch says, and with checks for all integers.
            for kind in [0, cuda::BUILDS - 1] {
                let cuda = cuda::check(&launch, &folder, kind, (&opened, &left), &bounded);
                assert!(matches!(cuda, Ok(Ok(_))), "{}: {cuda:?}", file.display());
            }
        }
    }
}

#[test]
fn every_operation_is_generated_or_said_not_to_be() {
    let mut counts: BTreeMap<OpCode, u64> = BTreeMap::new();
    for seed in 0..3000 {
        for (code, count) in kernel(seed).unwrap().operations() {
            *counts.entry(code).or_insert(0) += count;
        }
    }
    for &code in OpCode::ALL {
        let listed = NOT_GENERATED.iter().any(|&(other, _)| other == code);
        let made = counts.get(&code).copied().unwrap_or(0);
        assert_eq!(
            made == 0,
            listed,
            "{code}: generated {made} times, listed as not generated: {listed}"
        );
    }
}

#[test]
fn a_seed_makes_the_same_kernel() {
    let texts = |seed| {
        let generated = kernel(seed).unwrap();
        (text::print(&generated.module), generated.spec.text("k.ttir"))
    };
    for seed in 0..20 {
        assert_eq!(texts(seed), texts(seed));
    }
    assert_ne!(texts(1), texts(2));
}

/// What must stay here: a store, and a division whose result something uses.
#[test]
fn a_kernel_shrinks_to_what_shows_it() {
    let shows = |generated: &tilescope_difftest::generate::Generated| {
        let counts = generated.operations();
        counts.contains_key(&OpCode::Store) && counts.contains_key(&OpCode::DivSI)
    };
    let start = (0..)
        .map(|seed| kernel(seed).unwrap())
        .find(|k| shows(k))
        .unwrap();
    let before = start.operations().values().sum::<u64>();
    let small = shrink(&start, 2000, &mut |candidate| shows(candidate));
    let after = small.operations().values().sum::<u64>();
    assert!(shows(&small));
    assert!(
        before > 60 && after <= 10,
        "{before} to {after}:\n{}",
        text::print(&small.module)
    );
}
