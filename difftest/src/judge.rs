//! One case by every path, and by relations that need no second path.
//!
//! | path | what must hold |
//! |---|---|
//! | the interpreter with all checks | no finding of severity error |
//! | the interpreter, stepping and on one thread | the same bits |
//! | the float64 twin | each output within its bound |
//! | `[expect]` | each output within the twin's bound, or the file's tolerance where that is wider |
//! | another value of a tunable parameter | outputs within both bounds |
//!
//! Elements of which a bound says nothing are not judged by it, but counted.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{Error, Finding, Result, Severity};
use tilescope_interpreter::{Control, Lowering, Options, Prepared};
use tilescope_ir::{FuncId, VerifiedModule};
use tilescope_launch::{Bound, Files, LaunchFile, Memory, Oracle, Role, Tensor};
use tilescope_oracle::{Accumulation, Expectation, Numbers, References, Rule, expectations};

use crate::compare::{Difference, Tightness, compare};
use crate::failure::{Failure, Relation};
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

/// What judges cases.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// The files that the launch file may name.
    pub files: &'a dyn Files,
    /// Named references.
    pub references: References<'a>,
    /// The paths.
    pub paths: Paths,
    /// How the interpreter runs; checks and lowering are chosen here.
    pub options: Options,
    /// Bytes that a case may allocate.
    pub limit: u64,
    /// Set to stop.
    pub cancel: &'a AtomicBool,
}

/// Inputs up to this size must not overflow on the way to a result that is finite.
const MODERATE: f64 = 1024.0;

/// Of an expected value: what its own computation in float64 may have lost.
const ORACLE_ROUNDING: f64 = 1.0 / (1u64 << 40) as f64;

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
}

impl Judged {
    /// As the search has it.
    pub fn verdict(self) -> Verdict<Failure> {
        match self.failure {
            Some(failure) => Verdict::Fail(failure),
            None => Verdict::Agree(self.tightness),
        }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Keeps what a comparison gave; true if it found a difference.
    fn take(&mut self, relation: Relation, compared: (Option<Difference>, Tightness), kernel: &str) -> bool {
        self.tightness = self.tightness.and(compared.1);
        let Some(difference) = compared.0 else {
            return false;
        };
        self.failure = Some(Failure::of(relation, difference, kernel));
        true
    }
}

/// The memory that a path left, and what its twin says of it.
struct Ran {
    memory: Memory,
    bounded: Option<Vec<Bounded>>,
}

impl Bench<'_> {
    /// Runs a case on all paths; ends with the first that disagrees. `other` is the same case with another value of a
    /// tunable parameter, in words too.
    ///
    /// # Errors
    /// What cannot be allocated, read or run.
    pub fn judge(&self, subject: &Subject, other: Option<(&Subject, &str)>) -> Result<Judged> {
        let mut judged = Judged::default();
        let before = subject.bound.allocate(self.files, self.limit)?;
        let given = given(subject, &before);
        let expected = self.expectations(subject, &before)?;
        drop(before);
        let memory = match self.checked(subject, &mut judged)? {
            Some(memory) => memory,
            None => return Ok(judged),
        };
        if self.paths.interpreter {
            self.same_bits(subject, &memory)?;
        }
        let bounded = self.bounded(subject, &mut judged)?;
        let ran = Ran { memory, bounded };
        let kernel = &subject.bound.launches[0].kernel;
        for bounded in ran.bounded.iter().flatten() {
            let (difference, tightness) = compare(
                &bounded.tensor,
                ("interpreter", "float64 twin"),
                &bounded.got,
                &bounded.wide,
                |i| twin_bound(bounded, i, given),
            );
            if judged.take(Relation::Twin, (difference, tightness), kernel) {
                return Ok(judged);
            }
        }
        for expectation in &expected {
            if self.against_expected(subject, expectation, &ran, given, &mut judged)? {
                return Ok(judged);
            }
        }
        if let Some((other, words)) = other {
            self.against_other(subject, &ran, (other, words), &mut judged)?;
        }
        Ok(judged)
    }

    fn expectations(&self, subject: &Subject, before: &Memory) -> Result<Vec<Expectation>> {
        let mut bound = subject.bound.clone();
        bound.expect.retain(|expect| match expect.oracle {
            Oracle::File { .. } => self.paths.file,
            _ => self.paths.reference,
        });
        expectations(&subject.file, &bound, before, self.files, self.references)
    }

    fn control(&self) -> Control<'_> {
        Control {
            cancel: self.cancel,
            progress: &|_| {},
        }
    }

    /// All launches of a subject with these options, on fresh memory.
    fn run(&self, subject: &Subject, options: Options) -> Result<(Memory, Vec<Finding>, bool)> {
        let mut memory = subject.bound.allocate(self.files, self.limit)?;
        let mut findings = Vec::new();
        for ((module, kernel), launch) in subject.kernels.iter().zip(&subject.bound.launches) {
            let outcome =
                Prepared::new(module, *kernel, launch, options)?.run(&mut memory, &self.control())?;
            findings.extend(outcome.findings);
            if outcome.interrupted {
                return Ok((memory, findings, true));
            }
        }
        Ok((memory, findings, false))
    }

    /// The interpreter with its checks; none where that ends the case.
    fn checked(&self, subject: &Subject, judged: &mut Judged) -> Result<Option<Memory>> {
        let options = Options {
            checks: true,
            ..self.options
        };
        let (memory, findings, interrupted) = self.run(subject, options)?;
        judged.interrupted = interrupted;
        let errors = findings.iter().any(|f| f.severity == Severity::Error);
        if errors {
            judged.failure = Some(Failure::of_findings(findings));
        }
        Ok((!errors && !interrupted).then_some(memory))
    }

    /// # Errors
    /// Two ways to run the same kernel that differ: a bug of ours, not the kernel's.
    fn same_bits(&self, subject: &Subject, memory: &Memory) -> Result<()> {
        let plain = Options {
            checks: false,
            ..self.options
        };
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
    fn bounded(&self, subject: &Subject, judged: &mut Judged) -> Result<Option<Vec<Bounded>>> {
        if !self.paths.twin {
            return Ok(None);
        }
        let options = Options {
            checks: false,
            ..self.options
        };
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
        Ok(after.map(|after| after.outputs()))
    }

    fn against_expected(
        &self,
        subject: &Subject,
        expectation: &Expectation,
        ran: &Ran,
        given: Given,
        judged: &mut Judged,
    ) -> Result<bool> {
        let tensor = &expectation.tensor;
        let kernel = &subject.bound.launches[0].kernel;
        let too_large = |why: String| Error::unsupported(format!("cannot compare the outputs: {why}"));
        let bounded = ran
            .bounded
            .iter()
            .flatten()
            .find(|b| b.tensor.name == tensor.name);
        let got = Numbers::of(tensor, &ran.memory, usize::MAX).map_err(too_large)?;
        let Some(bounded) = bounded else {
            let rule = Rule {
                dtype: tensor.dtype,
                accumulation: accumulation(subject),
                rtol: expectation.rtol,
                atol: expectation.atol,
            };
            let mismatch = tilescope_oracle::compare(&got, &expectation.values, rule).map_err(too_large)?;
            let Some(mismatch) = mismatch else {
                return Ok(false);
            };
            judged.failure = Some(Failure::of_mismatch(mismatch, kernel, tensor));
            return Ok(true);
        };
        let wanted: Vec<f64> = expectation.values.clone().into_f64().into_iter().collect();
        let wanted = match wanted.as_slice() {
            [one] if bounded.got.len() != 1 => vec![*one; bounded.got.len()],
            _ => wanted,
        };
        let (rtol, atol) = (expectation.rtol.unwrap_or(0.0), expectation.atol.unwrap_or(0.0));
        let compared = compare(tensor, ("interpreter", "expected"), &bounded.got, &wanted, |i| {
            let asked = atol + rtol * wanted[i].abs();
            expected_bound(bounded, i, wanted[i], given).max(asked)
        });
        Ok(judged.take(Relation::Expected, compared, kernel))
    }

    fn against_other(
        &self,
        subject: &Subject,
        ran: &Ran,
        (other, words): (&Subject, &str),
        judged: &mut Judged,
    ) -> Result<()> {
        let Some(bounded) = &ran.bounded else {
            return Ok(());
        };
        let (memory, findings, interrupted) = self.run(
            other,
            Options {
                checks: true,
                ..self.options
            },
        )?;
        if interrupted {
            judged.interrupted = true;
            return Ok(());
        }
        if findings.iter().any(|f| f.severity == Severity::Error) {
            judged.failure = Some(Failure::of_findings(findings));
            return Ok(());
        }
        let theirs = self.bounded(other, judged)?;
        let kernel = &subject.bound.launches[0].kernel;
        for tensor in outputs(other) {
            let bounds = |all: &[Bounded]| all.iter().position(|b| b.tensor.name == tensor.name);
            let (Some(mine), Some(their)) = (bounds(bounded), theirs.as_deref().and_then(bounds)) else {
                continue;
            };
            let (mine, their) = (&bounded[mine], &theirs.as_ref().map_or(bounded, |t| t)[their]);
            if mine.got.len() != their.got.len() {
                continue;
            }
            let compared = compare(tensor, ("as drawn", words), &mine.got, &their.got, |i| {
                mine.error[i] + their.error[i]
            });
            if judged.take(Relation::Choice, compared, kernel) {
                break;
            }
        }
        drop(memory);
        Ok(())
    }
}

/// The tensors that a run may have changed, with numbers in them.
fn outputs(subject: &Subject) -> Vec<&Tensor> {
    let tensors = subject.bound.tensors().iter();
    tensors
        .filter(|t| t.role != Role::In && t.pointers.is_empty())
        .collect()
}

fn accumulation(subject: &Subject) -> Accumulation {
    let of_each = subject.kernels.iter().map(|(module, _)| Accumulation::of(module));
    of_each.fold(Accumulation::None, |all, one| match (all, one) {
        (Accumulation::Tf32, _) | (_, Accumulation::Tf32) => Accumulation::Tf32,
        (Accumulation::Sums, _) | (_, Accumulation::Sums) => Accumulation::Sums,
        (Accumulation::None, Accumulation::None) => Accumulation::None,
    })
}

/// What the floats are like that a kernel is given.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Given {
    /// At most [`MODERATE`].
    Moderate,
    Finite,
    /// Some are NaN or infinite.
    Special,
}

fn given(subject: &Subject, memory: &Memory) -> Given {
    let tensors = subject.bound.tensors().iter();
    let floats = tensors.filter(|t| t.dtype.is_float() && !t.uninit);
    let mut largest = 0.0f64;
    for tensor in floats {
        let numbers = Numbers::of(tensor, memory, usize::MAX).map(Numbers::into_f64);
        for number in numbers.iter().flatten() {
            largest = if number.is_nan() {
                f64::INFINITY
            } else {
                largest.max(number.abs())
            };
        }
    }
    match largest {
        ..=MODERATE => Given::Moderate,
        f64::INFINITY => Given::Special,
        _ => Given::Finite,
    }
}

/// How far an output may be from its twin. Where a kernel's numbers overflow on the way, nothing is known of what
/// follows; but moderate inputs have no reason to.
fn twin_bound(bounded: &Bounded, i: usize, given: Given) -> f64 {
    match overflows(bounded, i, bounded.wide[i], given) {
        true => 0.0,
        false => bounded.error[i],
    }
}

/// The same from what is expected. What a kernel makes of NaN and infinities in its data is its own affair: there only
/// elements are judged that are numbers both for the twin and for what is expected.
fn expected_bound(bounded: &Bounded, i: usize, wanted: f64, given: Given) -> f64 {
    if overflows(bounded, i, wanted, given) {
        return 0.0;
    }
    match given == Given::Special && (bounded.wide[i].is_finite() != wanted.is_finite()) {
        true => f64::INFINITY,
        false => bounded.error[i] + wanted.abs() * ORACLE_ROUNDING,
    }
}

fn overflows(bounded: &Bounded, i: usize, right: f64, given: Given) -> bool {
    let overflows = given == Given::Moderate && !bounded.got[i].is_finite() && right.is_finite();
    overflows && representable(bounded, right)
}

/// True for a number well within the output's type.
fn representable(bounded: &Bounded, number: f64) -> bool {
    let dtype = bounded.tensor.dtype;
    dtype.is_float() && dtype.decode_float(dtype.encode_float(2.0 * number)).is_finite()
}
