//! Random kernels of fixed seeds by every path of the interpreter: the share of `cargo xtask fuzz` that every test run has.

#[path = "../../examples/fuzz/paths.rs"]
mod paths;

use std::collections::BTreeMap;

use paths::Verdict;
use tilescope_difftest::generate::{NOT_GENERATED, kernel};
use tilescope_ir::{OpCode, text};

/// Kernels that are run.
const KERNELS: u64 = 200;

#[test]
fn all_paths_agree() {
    let mut wrong = Vec::new();
    for seed in 0..KERNELS {
        let verdict = paths::judge(&kernel(seed).unwrap());
        if verdict != Verdict::Agree {
            wrong.push(format!("seed {seed}: {verdict:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
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
