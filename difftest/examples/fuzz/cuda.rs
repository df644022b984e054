//! A generated kernel as CUDA C++, run on the CPU by the harness of the GPU backend's tests, judged by the interpreter and the twin.

use std::path::Path;

use tilescope_difftest::twin::Bounded;
use tilescope_gpu_backend::Options;

use crate::case::Case;
use crate::compile;
use crate::judge::judge;
use crate::paths::{Disagreement, Left, Opened};

/// Kinds of builds.
pub const BUILDS: u64 = 8;

/// A kind of build: with checks and the launch's number of warps, or without and with any; for the launch's integers, or for all.
fn build(kind: u64) -> Options {
    let warps = [None, Some(1), Some(2), Some(8)];
    Options {
        checked: kind & 4 != 0,
        warps: warps[if kind & 4 == 0 { kind as usize & 3 } else { 0 }],
        specialize: kind & 1 == 0,
    }
}

/// Runs a build of the kernel of a launch file, of which the interpreter left `left`; gives how they agree, or why it is refused.
///
/// # Errors
/// Where it does something else, and what.
pub fn check(
    launch: &Path,
    folder: &Path,
    kind: u64,
    (opened, left): (&Opened, &Left),
    bounded: &Result<Vec<Bounded>, String>,
) -> Result<Result<&'static str, String>, Disagreement> {
    let options = build(kind);
    let Options {
        checked,
        warps,
        specialize,
    } = options;
    let differ = |what: String| Disagreement {
        path: String::from("cuda"),
        what: format!("{what} (checked: {checked}, warps: {warps:?}, specialize: {specialize})"),
    };
    let wrong = |failed: libtest_mimic::Failed| differ(failed.message().unwrap_or("fails").to_string());
    let case = Case::open(launch, &[]).map_err(wrong)?;
    let generated = match case.generate(options) {
        Ok(generated) => generated,
        Err(refused) => return Ok(Err(refused)),
    };
    let program = compile::compile(folder, "fuzz", &case, &generated).map_err(wrong)?;
    let found = compile::execute(&program, &case, &generated).map_err(wrong)?;
    if let Some(fault) = found.faults.first() {
        return Err(differ(format!("a fault: {fault:?}")));
    }
    judge(opened, &left.bytes, bounded, &found.memory)
        .map(Ok)
        .map_err(differ)
}
