//! The twins of all launches of a file, run one after the other; and any program of theirs once more, watched.

use tilescope_diagnostics::{CheckSet, Result};
use tilescope_interpreter::explain::trace::Trace;
use tilescope_interpreter::races::Noted;
use tilescope_interpreter::{Control, Options, Prepared};
use tilescope_launch::{Launch, Memory, Role};

use crate::judge::Subject;
use crate::twin::{self, Bounded, Twin};

/// How twins are run.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    /// Makes the launch's memory, as it is before the first kernel runs.
    pub allocate: &'a dyn Fn() -> Result<Memory>,
    /// How the interpreter runs.
    pub options: Options,
    /// What stops it.
    pub control: &'a Control<'a>,
}

/// Twins that ran.
pub(crate) struct Stages<'a> {
    subject: &'a Subject,
    stage: Stage<'a>,
    ran: Vec<Ran>,
    /// By allocation, the bytes that were written, where that was noted: of outputs.
    written: Vec<Vec<(u64, u64)>>,
    /// What the last of them left; none where the run was interrupted.
    pub outputs: Option<Vec<Bounded>>,
}

/// One twin that ran.
struct Ran {
    twin: Twin,
    launch: Launch,
    writers: Noted,
}

impl<'a> Stages<'a> {
    /// Runs the twins of all launches.
    ///
    /// # Errors
    /// Operations that have no twin, by name and place; what cannot be allocated or run.
    pub fn run(subject: &'a Subject, stage: Stage<'a>) -> Result<Stages<'a>> {
        let mut stages = Stages {
            subject,
            stage,
            ran: Vec::new(),
            written: Vec::new(),
            outputs: None,
        };
        let mut after = None;
        for index in 0..subject.kernels.len() {
            let (twin, mut prepared) = stages.prepared(index, after.take())?;
            // Who writes what is noted where races are looked for.
            let options = Options {
                checks: CheckSet::ALL,
                max_findings: 0,
                ..stage.options
            };
            let outcome = Prepared::new(twin.module(), twin.kernel(), &prepared.launch, options)?
                .run(&mut prepared.memory, stage.control)?;
            if outcome.interrupted {
                return Ok(stages);
            }
            stages.ran.push(Ran {
                twin,
                launch: prepared.launch.clone(),
                writers: outcome.writers,
            });
            after = Some(prepared);
        }
        if let Some(after) = &after {
            let allocations = after.memory.allocations.iter();
            stages.written = allocations.map(|a| a.written.clone()).collect();
        }
        stages.outputs = after.map(|after| after.outputs());
        Ok(stages)
    }

    /// What the bounds do not cover.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.ran.iter().flat_map(|ran| ran.twin.notes())
    }

    /// True for an element of an output that no program wrote.
    pub fn is_unwritten(&self, tensor: &str, element: &[i64]) -> bool {
        let mut tensors = self.subject.bound.tensors().iter();
        let Some(tensor) = tensors.find(|t| t.name == tensor && t.role == Role::Out) else {
            return false;
        };
        let steps = element.iter().zip(&tensor.strides).map(|(i, stride)| i * stride);
        let byte = (tensor.offset + steps.sum::<i64>()).unsigned_abs() * tensor.dtype.bytes() as u64;
        let written = self.written.get(tensor.allocation.0 as usize);
        written.is_some_and(|ranges| ranges.iter().all(|(start, end)| !(start..end).contains(&&byte)))
    }

    fn prepared(&self, index: usize, after: Option<twin::Prepared>) -> Result<(Twin, twin::Prepared)> {
        let (module, kernel) = &self.subject.kernels[index];
        let launch = &self.subject.bound.launches[index];
        let twin = Twin::of(module, *kernel)?;
        let prepared = match after {
            Some(before) => twin.prepare_after(launch, before)?,
            None => twin.prepare(launch, &(self.stage.allocate)()?)?,
        };
        Ok((twin, prepared))
    }

    /// What is before the twin of a launch runs.
    fn before(&self, index: usize) -> Result<twin::Prepared> {
        let mut after = None;
        for earlier in 0..index {
            let (twin, mut prepared) = self.prepared(earlier, after.take())?;
            let options = Options {
                checks: CheckSet::NONE,
                ..self.stage.options
            };
            Prepared::new(twin.module(), twin.kernel(), &prepared.launch, options)?
                .run(&mut prepared.memory, self.stage.control)?;
            after = Some(prepared);
        }
        Ok(self.prepared(index, after)?.1)
    }

    /// Runs the twin of the program once more that wrote an element last, watched, and gives it to `look` with the
    /// number of its launch; none where it is not known which program that was. It runs after all before it, as it did; or
    /// `first` of all.
    ///
    /// # Errors
    /// What cannot be allocated or run.
    pub fn trace<T>(
        &self,
        tensor: &str,
        element: &[i64],
        first: bool,
        look: &mut dyn FnMut(&Watched<'_>) -> T,
    ) -> Result<Option<T>> {
        for (index, ran) in self.ran.iter().enumerate().rev() {
            let prepared = Prepared::new(
                ran.twin.module(),
                ran.twin.kernel(),
                &ran.launch,
                self.stage.options,
            )?;
            let Some(cause) = prepared.cause_of(&ran.writers, tensor, element) else {
                continue;
            };
            let mut memory = self.before(index)?.memory;
            let (module, kernel) = &self.subject.kernels[index];
            let seen = prepared.trace(&cause, &mut memory, first, |trace| {
                look(&Watched {
                    index,
                    module,
                    name: &module.funcs[*kernel].name,
                    twin: &ran.twin,
                    trace,
                })
            })?;
            if seen.is_some() {
                return Ok(seen);
            }
        }
        Ok(None)
    }
}

/// A program that is watched.
pub(crate) struct Watched<'a> {
    /// The number of its launch.
    pub index: usize,
    /// The kernel's module.
    pub module: &'a tilescope_ir::VerifiedModule,
    /// The kernel's name.
    pub name: &'a str,
    pub twin: &'a Twin,
    pub trace: &'a Trace<'a, 'a, 'a>,
}
