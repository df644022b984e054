//! One case by every path, and by relations that need no second path.
//!
//! | path | what must hold |
//! |---|---|
//! | the interpreter with all checks | no finding of severity error |
//! | the interpreter, stepping and on one thread | the same bits |
//! | the float64 twin | each output within its bound |
//! | `[expect]` | each output within the twin's bound, or the file's tolerance where that is wider |
//! | another value of a tunable parameter; another order of the programs | outputs within both bounds |
//! | other bytes in padding; other values in lanes that nothing gave one | the same numbers |
//! | other engines, with the launch's number of warps and another | each output within the twin's bound |
//!
//! Elements of which a bound says nothing are not judged by it, but counted.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{CheckSet, Error, Finding, Result, Severity};
use tilescope_interpreter::{Control, Lowering, Options, Prepared};
use tilescope_ir::{FuncId, VerifiedModule};
use tilescope_launch::{Bound, Files, LaunchFile, Memory, NoFiles, Oracle, Role, Tensor};
use tilescope_oracle::{Accumulation, Expectation, Numbers, References, Rule, expectations};

use crate::bounds::{
    Given, adds_narrowly, as_wide_sums, expected_bound, given, largest, twin_bound, widened,
};
use crate::compare::{Difference, Tightness, compare};
use crate::engine::Engine;
use crate::failure::{Failure, Relation};
use crate::relations;
use crate::search::Verdict;
use crate::twin::{Bounded, Twin};

/// A launch with its kernels, compiled for one case.
#[derive(Debug)]
pub struct Subject {
    /// The launch file.
    pub file: Arc<LaunchFile>,
    /// Its launches, bound.
    pub bound: Bound,
    /// The kernel of each launch.
    pub kernels: Vec<(Arc<VerifiedModule>, FuncId)>,
}

/// The paths that a case is judged by, beside the interpreter with its checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paths {
    /// Stepping, and on one thread.
    pub interpreter: bool,
    /// The float64 twin.
    pub twin: bool,
    /// References and formulas of `[expect]`.
    pub reference: bool,
    /// Data files of `[expect]`.
    pub file: bool,
}

impl Paths {
    /// The interpreter and its checks alone.
    pub const NONE: Paths = Paths {
        interpreter: false,
        twin: false,
        reference: false,
        file: false,
    };
}

/// What judges cases.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// The files that the launch file may name.
    pub files: &'a dyn Files,
    /// Named references.
    pub references: References<'a>,
    /// The paths.
    pub paths: Paths,
    /// Engines beside the interpreter.
    pub engines: &'a [&'a dyn Engine],
    /// How the interpreter runs; checks and lowering are chosen here.
    pub options: Options,
    /// Differences allowed beside the bounds: relative to the right value, and absolute.
    pub rtol: f64,
    /// See `rtol`.
    pub atol: f64,
    /// Bytes that a case may allocate.
    pub limit: u64,
    /// Set to stop.
    pub cancel: &'a AtomicBool,
    /// What of a launch's findings (its position in the file) counts, and as what.
    pub sift: &'a dyn Fn(usize, &mut Vec<Finding>),
}

impl<'a> Bench<'a> {
    /// Engines beside the interpreter and its checks, by no other path; for launch files that name no other file.
    pub fn of_engines(
        engines: &'a [&'a dyn Engine],
        references: References<'a>,
        cancel: &'a AtomicBool,
    ) -> Bench<'a> {
        Bench {
            files: &NoFiles,
            references,
            paths: Paths::NONE,
            engines,
            options: Options::default(),
            rtol: 0.0,
            atol: 0.0,
            limit: 1 << 28,
            cancel,
            sift: &|_, _| (),
        }
    }
}

/// What is said of a kernel that adds up in 16 bits.
const NARROW: &str = "the kernel adds up in a type of 16 bits, and is judged as if it added in float32: keep the sum in float32, and round it once";

/// What a case gave.
#[derive(Debug, Default)]
pub struct Judged {
    /// How tight the bounds were.
    pub tightness: Tightness,
    /// What is wrong.
    pub failure: Option<Failure>,
    /// What could not be judged, and why.
    pub notes: Vec<String>,
    /// True if it was stopped.
    pub interrupted: bool,
    /// True if an engine was lost: no more cases can be judged.
    pub lost: bool,
}

impl Judged {
    /// As the search has it.
    pub fn verdict(self) -> Verdict<Failure> {
        match self.failure {
            Some(failure) => Verdict::Fail(failure),
            None => Verdict::Agree(self.tightness),
        }
    }

    pub(crate) fn ended(&self) -> bool {
        self.interrupted || self.failure.is_some()
    }

    pub(crate) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The checks found errors.
    pub(crate) fn found(&mut self, findings: Vec<Finding>) {
        self.failure = Some(Failure::of_findings(findings));
    }

    /// Keeps what a comparison gave; true if it found a difference.
    pub(crate) fn take(
        &mut self,
        relation: Relation,
        compared: (Option<Difference>, Tightness),
        kernel: &str,
    ) -> bool {
        self.tightness.add(compared.1);
        let Some(difference) = compared.0 else {
            return false;
        };
        self.failure = Some(Failure::of(relation, difference, kernel));
        true
    }
}

/// The memory that a path left, and what its twin says of it.
pub(crate) struct Ran {
    pub memory: Memory,
    /// All outputs, where there is a twin.
    pub bounded: Option<Vec<Bounded>>,
    /// What it was given.
    pub given: Given,
}

impl Subject {
    /// The name of the first kernel, which stands for the launch in findings.
    pub(crate) fn kernel(&self) -> &str {
        self.bound.launches.first().map_or("", |launch| &launch.kernel)
    }
}

impl Bench<'_> {
    /// Runs a case on all paths; ends with the first that disagrees. `other` is the same case with another value of a
    /// tunable parameter, in words too; `seed` is the case's own.
    ///
    /// # Errors
    /// What cannot be allocated, read or run.
    pub fn judge(&self, subject: &Subject, other: Option<(&Subject, &str)>, seed: u64) -> Result<Judged> {
        let mut judged = Judged::default();
        let before = subject.bound.allocate(self.files, self.limit)?;
        let given = given(subject, &before);
        let expected = self.expectations(subject, &before)?;
        drop(before);
        let (memory, findings, interrupted) = self.run(subject, self.checking())?;
        judged.interrupted = interrupted;
        if findings.iter().any(|f| f.severity == Severity::Error) {
            judged.found(findings);
            return Ok(judged);
        }
        if interrupted {
            return Ok(judged);
        }
        if self.paths.interpreter {
            self.same_bits(subject, &memory)?;
        }
        let bounded = self.bounded(subject, &memory, &mut judged)?;
        let ran = Ran {
            memory,
            bounded,
            given,
        };
        if self.paths.twin {
            self.against_twin(subject, &ran, &mut judged);
        }
        for expectation in &expected {
            if !judged.ended() {
                self.against_expected(subject, expectation, &ran, &mut judged)?;
            }
        }
        if !judged.ended() {
            self.with_other_padding(subject, &ran, seed, &mut judged)?;
        }
        if !judged.ended() {
            self.with_other_undefined(subject, &ran, seed, &mut judged)?;
        }
        if !judged.ended() {
            self.in_another_order(subject, &ran, seed, &mut judged)?;
        }
        if let Some((other, words)) = other
            && !judged.ended()
        {
            self.against_other(subject, &ran, (other, words), &mut judged)?;
        }
        if !judged.ended() {
            self.on_engines(subject, &ran, &findings, seed, &mut judged)?;
        }
        Ok(judged)
    }

    /// Every output near its twin. A kernel that adds up in a type of 16 bits is judged as one that does in f32.
    fn against_twin(&self, subject: &Subject, ran: &Ran, judged: &mut Judged) {
        let given = ran.given;
        let narrow = adds_narrowly(subject.kernels.iter().map(|(module, _)| &**module));
        let narrow = narrow.filter(|_| given == Given::Moderate);
        for bounded in ran.bounded.iter().flatten() {
            let largest = largest(bounded);
            let compared = compare(
                &bounded.tensor,
                ("interpreter", "float64 twin"),
                &bounded.got,
                &bounded.wide,
                |i| {
                    let asked = self.asked(bounded.wide[i]);
                    let bound = twin_bound(bounded, i, given, largest);
                    match narrow.filter(|_| bounded.tensor.dtype.is_float() && bound.is_finite()) {
                        Some(roundings) => {
                            let wide = as_wide_sums(bounded, i, largest, roundings);
                            bound.min(wide).max(asked)
                        }
                        None => widened(bound, asked),
                    }
                },
            );
            if judged.take(Relation::Twin, compared, subject.kernel()) {
                let finding = judged.failure.as_mut().and_then(|f| f.findings.first_mut());
                if let Some(finding) = finding.filter(|_| narrow.is_some()) {
                    finding.help = Some(String::from(NARROW));
                }
                return;
            }
        }
    }

    /// What the command line allows beside the bound.
    pub(crate) fn asked(&self, right: f64) -> f64 {
        self.atol + self.rtol * right.abs()
    }

    pub(crate) fn checking(&self) -> Options {
        Options {
            checks: CheckSet::ALL,
            ..self.options
        }
    }

    fn expectations(&self, subject: &Subject, before: &Memory) -> Result<Vec<Expectation>> {
        let mut bound = subject.bound.clone();
        bound.expect.retain(|expect| match expect.oracle {
            Oracle::File { .. } => self.paths.file,
            _ => self.paths.reference,
        });
        expectations(&subject.file, &bound, before, self.files, self.references)
    }

    pub(crate) fn control(&self) -> Control<'_> {
        Control {
            cancel: self.cancel,
            progress: &|_| {},
        }
    }

    /// All launches of a subject with these options, on fresh memory; what was found, and whether it was interrupted.
    pub(crate) fn run(&self, subject: &Subject, options: Options) -> Result<(Memory, Vec<Finding>, bool)> {
        let mut memory = subject.bound.allocate(self.files, self.limit)?;
        let (findings, interrupted) = self.run_on(subject, options, &mut memory)?;
        Ok((memory, findings, interrupted))
    }

    pub(crate) fn run_on(
        &self,
        subject: &Subject,
        options: Options,
        memory: &mut Memory,
    ) -> Result<(Vec<Finding>, bool)> {
        let mut findings = Vec::new();
        let launches = subject.kernels.iter().zip(&subject.bound.launches);
        for (index, ((module, kernel), launch)) in launches.enumerate() {
            let outcome = Prepared::new(module, *kernel, launch, options)?.run(memory, &self.control())?;
            let mut found = outcome.findings;
            (self.sift)(index, &mut found);
            findings.extend(found);
            if outcome.interrupted {
                return Ok((findings, true));
            }
        }
        Ok((findings, false))
    }

    /// # Errors
    /// Two ways to run the same kernel that differ: a bug of ours, not the kernel's.
    fn same_bits(&self, subject: &Subject, memory: &Memory) -> Result<()> {
        let plain = self.plain();
        for (options, what) in [
            (
                Options {
                    threads: Some(1),
                    ..plain
                },
                "on one thread",
            ),
            (
                Options {
                    lowering: Lowering::Stepping,
                    ..plain
                },
                "step by step",
            ),
        ] {
            let (other, _, interrupted) = self.run(subject, options)?;
            let tensors = outputs(subject);
            let differs = |t: &&Tensor| memory.gather(t, 0, u64::MAX) != other.gather(t, 0, u64::MAX);
            if let Some(tensor) = tensors.into_iter().find(differs).filter(|_| !interrupted) {
                return Err(Error::internal(format!(
                    "`{}` has other bits where the kernel is run {what}",
                    tensor.name
                )));
            }
        }
        Ok(())
    }

    /// The outputs with their bounds; none where there is no twin.
    pub(crate) fn bounded(
        &self,
        subject: &Subject,
        memory: &Memory,
        judged: &mut Judged,
    ) -> Result<Option<Vec<Bounded>>> {
        // Other engines have its bound.
        if !self.paths.twin && self.engines.is_empty() {
            return Ok(None);
        }
        let options = self.plain();
        let mut after = None;
        for ((module, kernel), launch) in subject.kernels.iter().zip(&subject.bound.launches) {
            let prepared = Twin::of(module, *kernel).and_then(|twin| {
                let prepared = match after.take() {
                    Some(before) => twin.prepare_after(launch, before),
                    None => twin.prepare(launch, &subject.bound.allocate(self.files, self.limit)?),
                };
                Ok((twin, prepared?))
            });
            let (twin, mut prepared) = match prepared {
                Ok(prepared) => prepared,
                Err(why) => {
                    judged.note(format!("no float64 twin: {}", why.message));
                    return Ok(None);
                }
            };
            for note in twin.notes() {
                judged.note(note.clone());
            }
            let outcome = Prepared::new(twin.module(), twin.kernel(), &prepared.launch, options)?
                .run(&mut prepared.memory, &self.control())?;
            if outcome.interrupted {
                judged.interrupted = true;
                return Ok(None);
            }
            after = Some(prepared);
        }
        let mut bounded = after.map(|after| after.outputs());
        if let Some(bounded) = &mut bounded {
            let exact = outputs(subject).into_iter().filter(|tensor| {
                !tensor.dtype.is_float() && bounded.iter().all(|b| b.tensor.name != tensor.name)
            });
            let exact: Vec<Bounded> = exact.map(|tensor| relations::exact(tensor, memory)).collect();
            bounded.extend(exact);
        }
        Ok(bounded)
    }

    fn against_expected(
        &self,
        subject: &Subject,
        expectation: &Expectation,
        ran: &Ran,
        judged: &mut Judged,
    ) -> Result<()> {
        let tensor = &expectation.tensor;
        let kernel = subject.kernel();
        // What a kernel makes of NaN and infinities in its data is its own affair: an index of the largest, say.
        if ran.given == Given::Special && !tensor.dtype.is_float() {
            return Ok(());
        }
        let too_large = |why: String| Error::unsupported(format!("cannot compare the outputs: {why}"));
        // Integers are compared as integers, unless floats decide some of them.
        let mut bounded = ran.bounded.iter().flatten();
        let bounded = bounded.find(|b| b.tensor.name == tensor.name);
        let bounded =
            bounded.filter(|b| tensor.dtype.is_float() || b.error.iter().any(|&error| error != 0.0));
        let got = Numbers::of(tensor, &ran.memory, usize::MAX).map_err(too_large)?;
        let Some(bounded) = bounded else {
            let rule = Rule {
                dtype: tensor.dtype,
                accumulation: accumulation(subject),
                rtol: expectation.rtol,
                atol: expectation.atol,
            };
            let mismatch = tilescope_oracle::compare(&got, &expectation.values, rule).map_err(too_large)?;
            if let Some(mismatch) = mismatch {
                judged.failure = Some(Failure::of_mismatch(mismatch, kernel, tensor));
            }
            return Ok(());
        };
        let wanted: Vec<f64> = expectation.values.clone().into_f64().into_iter().collect();
        let wanted = match wanted.as_slice() {
            [one] if bounded.got.len() != 1 => vec![*one; bounded.got.len()],
            _ => wanted,
        };
        let (rtol, atol) = (expectation.rtol.unwrap_or(0.0), expectation.atol.unwrap_or(0.0));
        let compared = compare(tensor, ("interpreter", "expected"), &bounded.got, &wanted, |i| {
            let asked = self.asked(wanted[i]).max(atol + rtol * wanted[i].abs());
            widened(expected_bound(bounded, i, wanted[i], ran.given), asked)
        });
        judged.take(Relation::Expected, compared, kernel);
        Ok(())
    }
}

/// The tensors that a run may have changed, with numbers in them.
pub(crate) fn outputs(subject: &Subject) -> Vec<&Tensor> {
    let tensors = subject.bound.tensors().iter();
    tensors
        .filter(|t| t.role != Role::In && t.pointers.is_empty())
        .collect()
}

pub(crate) fn accumulation(subject: &Subject) -> Accumulation {
    let of_each = subject.kernels.iter().map(|(module, _)| Accumulation::of(module));
    of_each.fold(Accumulation::None, |all, one| match (all, one) {
        (Accumulation::Tf32, _) | (_, Accumulation::Tf32) => Accumulation::Tf32,
        (Accumulation::Sums, _) | (_, Accumulation::Sums) => Accumulation::Sums,
        (Accumulation::None, Accumulation::None) => Accumulation::None,
    })
}
