//! `check --twin`: the float64 twin beside the interpreter.

use tilescope_diagnostics::{Check, Launched};
use tilescope_difftest::judge::Subject;
use tilescope_difftest::precision::losses;
use tilescope_difftest::stages::Stage;
use tilescope_interpreter::{Control, Options};

use crate::engine::{How, Opened, Refused, available_memory};
use crate::interrupt;

/// Adds what the twins of all launches of a file say to their findings.
///
/// # Errors
/// Kernels without a twin, by name and place; what cannot be allocated.
pub fn add(
    opened: &Opened,
    launched: &mut [Launched],
    how: &How<'_>,
    options: Options,
) -> Result<(), Refused> {
    let ends = |check: Check| matches!(check, Check::StepLimit | Check::Deadlock);
    let mut findings = launched.iter().flat_map(|one| &one.findings);
    if let Some(finding) = findings.find(|finding| ends(finding.check)) {
        let note = format!("not compared with its float64 twin: {}", finding.check.id());
        if let Some(last) = launched.last_mut() {
            last.notes.push(note);
        }
        return Ok(());
    }
    let control = Control {
        cancel: interrupt::flag(),
        progress: &|_| {},
    };
    let subject = Subject::from(opened);
    let stage = Stage {
        allocate: &|| opened.bound.allocate(&opened.files, available_memory()),
        options,
        control: &control,
    };
    let losses = losses(&subject, stage, how.options.explain_depth as usize)?;
    for (index, finding) in losses.findings {
        if let Some(launched) = launched.get_mut(index) {
            launched.findings.push(finding);
        }
    }
    if let Some(last) = launched.last_mut() {
        last.notes.extend(losses.notes);
        last.interrupted |= losses.interrupted;
    }
    Ok(())
}

impl From<&Opened> for Subject {
    fn from(opened: &Opened) -> Subject {
        let kernels = opened.kernels.iter();
        Subject {
            file: opened.file.clone(),
            bound: opened.bound.clone(),
            kernels: kernels.map(|k| (k.module.clone(), k.function)).collect(),
        }
    }
}
