//! A generated kernel as CUDA C++, run on the CPU by the harness of the GPU backend's tests, compared with the interpreter.

use std::path::Path;

use tilescope_gpu_backend::Options;

use crate::case::Case;
use crate::compile;
use crate::paths::Disagreement;

/// Runs the kernel of a launch file; gives why it is refused, if it is.
///
/// # Errors
/// Where it does something else than the interpreter, and what.
pub fn check(launch: &Path, folder: &Path) -> Result<Option<String>, Disagreement> {
    let differ = |what: String| Disagreement {
        path: String::from("cuda"),
        what,
    };
    let wrong = |failed: libtest_mimic::Failed| differ(failed.message().unwrap_or("fails").to_string());
    let case = Case::open(launch, &[]).map_err(wrong)?;
    let generated = match case.generate(Options::default()) {
        Ok(generated) => generated,
        Err(refused) => return Ok(Some(refused)),
    };
    let expected = case.interpret().map_err(wrong)?;
    let program = compile::compile(folder, "fuzz", &case, &generated).map_err(wrong)?;
    let left = compile::execute(&program, &case, &generated).map_err(wrong)?;
    for tensor in case.bound.tensors() {
        let index = tensor.allocation.0 as usize;
        let (Some(want), Some(got)) = (expected.allocations.get(index), left.memory.get(index)) else {
            continue;
        };
        let size = tensor.dtype.bytes();
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
        let is_nan = |bits: u64| tensor.dtype.is_float() && tensor.dtype.decode_float(bits).is_nan();
        let pairs = want.bytes.chunks(size).zip(got.chunks(size));
        let mut pairs = pairs.map(|(a, b)| (number(a), number(b))).enumerate();
        if let Some((at, (a, b))) = pairs.find(|&(_, (a, b))| a != b && !(is_nan(a) && is_nan(b))) {
            let (name, dtype) = (&tensor.name, tensor.dtype.name());
            return Err(differ(format!(
                "{name}[{at}] ({dtype}) is {b:x} instead of {a:x}"
            )));
        }
    }
    Ok(None)
}
