//! The float64 twin of a generated kernel: what the kernel computed must lie within the twin's bounds.

use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{CheckSet, Error, ErrorKind};
use tilescope_difftest::twin::{Bounded, Twin};
use tilescope_interpreter::{Control, Options, Prepared};

use crate::paths::{Disagreement, Left, Opened};

/// Runs the twin; gives its outputs, or why there is none.
///
/// # Errors
/// Where the kernel beside its twin computes something else than alone, and where it is out of bounds.
pub fn check(opened: &Opened, left: &Left) -> Result<Result<Vec<Bounded>, String>, Disagreement> {
    let differ = |what: String| Disagreement {
        path: String::from("twin"),
        what,
    };
    let outputs = match outputs(opened, left) {
        Ok(outputs) => outputs.map_err(differ)?,
        Err(error) if error.message.ends_with("does not verify") => {
            return Err(differ(format!("{error}: {:?}", error.notes)));
        }
        Err(error) if error.kind == ErrorKind::Unsupported => return Ok(Err(error.message.clone())),
        Err(error) => return Err(differ(format!("an error: {error}"))),
    };
    for output in &outputs {
        let values = output.got.iter().zip(&output.wide).zip(&output.error).enumerate();
        for (at, ((&got, &wide), &error)) in values {
            let near = got == wide || got.is_nan() && wide.is_nan() || (got - wide).abs() <= error;
            if error.is_finite() && !near {
                let name = &output.tensor.name;
                return Err(differ(format!(
                    "{name}[{at}] is {got:e}, its twin {wide:e} within {error:e}"
                )));
            }
        }
    }
    Ok(Ok(outputs))
}

/// What the twin left; or where the kernel's own outputs are others.
#[allow(clippy::type_complexity, reason = "an error of the tool, or a difference")]
pub fn outputs(opened: &Opened, left: &Left) -> Result<Result<Vec<Bounded>, String>, Box<Error>> {
    let twin = Twin::of(&opened.module, opened.function)?;
    let launch = &opened.bound.launches[0];
    let mut prepared = twin.prepare(launch, &opened.memory()?)?;
    let control = Control {
        cancel: &AtomicBool::new(false),
        progress: &|_| (),
    };
    let options = Options {
        checks: CheckSet::NONE,
        threads: Some(1),
        ..Options::default()
    };
    Prepared::new(twin.module(), twin.kernel(), &prepared.launch, options)?
        .run(&mut prepared.memory, &control)?;
    let own: Vec<Vec<u8>> = prepared
        .memory
        .allocations
        .iter()
        .map(|a| a.bytes.to_vec())
        .collect();
    let difference = opened.difference(&left.bytes, &own);
    Ok(match difference {
        Some(what) => Err(format!("the kernel itself, beside its twin: {what}")),
        None => Ok(prepared.outputs()),
    })
}
