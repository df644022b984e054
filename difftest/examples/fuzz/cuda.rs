//! A generated kernel as CUDA C++, run on the CPU by the harness of the GPU backend's tests, judged by the interpreter and the twin.

use std::path::Path;

use tilescope_difftest::twin::Bounded;
use tilescope_gpu_backend::Options;

use crate::case::Case;
use crate::compile;
use crate::judge::judge;
use crate::paths::{Disagreement, Left, Opened};

/// Runs the kernel of a launch file, of which the interpreter left `left`; gives how they agree, or why it is refused.
///
/// # Errors
/// Where it does something else, and what.
pub fn check(
    launch: &Path,
    folder: &Path,
    (opened, left): (&Opened, &Left),
    bounded: &Result<Vec<Bounded>, String>,
) -> Result<Result<&'static str, String>, Disagreement> {
    let differ = |what: String| Disagreement {
        path: String::from("cuda"),
        what,
    };
    let wrong = |failed: libtest_mimic::Failed| differ(failed.message().unwrap_or("fails").to_string());
    let case = Case::open(launch, &[]).map_err(wrong)?;
    let generated = match case.generate(Options::default()) {
        Ok(generated) => generated,
        Err(refused) => return Ok(Err(refused)),
    };
    let program = compile::compile(folder, "fuzz", &case, &generated).map_err(wrong)?;
    let found = compile::execute(&program, &case, &generated).map_err(wrong)?;
    judge(opened, &left.bytes, bounded, &found.memory)
        .map(Ok)
        .map_err(differ)
}
