//! Relations that need no second path: what an output must not depend on.
//!
//! - the value of a tunable parameter, and the order of the programs: within the bounds of both runs;
//! - what lies in padding, between the elements of a view and around it, and what lanes hold that nothing gave a value: the same
//!   numbers.

use tilescope_diagnostics::{CheckSet, Error, Result, Severity};
use tilescope_interpreter::poison::Poison;
use tilescope_interpreter::{Options, Prepared, Which};
use tilescope_launch::{Memory, Tensor};
use tilescope_oracle::{Numbers, Rule};

use crate::bounds::{between, widened};
use crate::compare::compare_in;
use crate::failure::{Failure, Relation};
use crate::judge::{Bench, Judged, Ran, Subject, accumulation, outputs};
use crate::twin::Bounded;

/// Bytes of storage whose padding is filled, at the most: rows may lie gigabytes apart, in memory that is never touched.
pub(crate) const MOST_PADDED: usize = 1 << 28;

impl Bench<'_> {
    /// The same case with another value of a tunable parameter.
    pub(crate) fn against_other(
        &self,
        subject: &Subject,
        ran: &Ran,
        (other, words): (&Subject, &str),
        judged: &mut Judged,
    ) -> Result<()> {
        let (memory, findings, interrupted) = self.run(other, self.checking())?;
        if interrupted {
            judged.interrupted = true;
            return Ok(());
        }
        if findings.iter().any(|f| f.severity == Severity::Error) {
            judged.found(findings);
            if let Some(failure) = &mut judged.failure {
                failure.relation = Relation::ChecksOfChoice;
            }
            return Ok(());
        }
        let Some(mine) = &ran.bounded else {
            let sides = ((subject, &ran.memory), (other, &memory));
            return self.near(sides, (Relation::Choice, &format!("with {words}")), judged);
        };
        let Some(their) = self.bounded(other, &memory, judged)? else {
            return Ok(());
        };
        for mine in mine {
            let their = their.iter().find(|their| their.tensor.name == mine.tensor.name);
            let Some(their) = their.filter(|their| their.tensor.shape == mine.tensor.shape) else {
                let name = &mine.tensor.name;
                judged.note(format!("`{name}` has another shape with {words}: not compared"));
                continue;
            };
            let compared = compare_in(
                ("as drawn", words),
                (&mine.tensor, &ran.memory),
                (&their.tensor, &memory),
                |i| widened(between(mine, their, i, ran.given), self.asked(their.got[i])),
            );
            if judged.take(Relation::Choice, compared, subject.kernel()) {
                break;
            }
        }
        Ok(())
    }

    /// The programs in an order drawn by the seed, one after the other.
    pub(crate) fn in_another_order(
        &self,
        subject: &Subject,
        ran: &Ran,
        seed: u64,
        judged: &mut Judged,
    ) -> Result<()> {
        let mut memory = subject.bound.allocate(self.files, self.limit)?;
        for ((module, kernel), launch) in subject.kernels.iter().zip(&subject.bound.launches) {
            let which = Which {
                programs: None,
                seed: Some(seed),
            };
            let outcome = Prepared::new(module, *kernel, launch, self.plain())?.run_which(
                &mut memory,
                &self.control(),
                which,
            )?;
            if outcome.interrupted {
                judged.interrupted = true;
                return Ok(());
            }
        }
        let paths = ("in program order", "in another order");
        let Some(mine) = &ran.bounded else {
            let sides = ((subject, &ran.memory), (subject, &memory));
            return self.near(sides, (Relation::Order, paths.1), judged);
        };
        for mine in mine {
            let (here, there) = ((&mine.tensor, &ran.memory), (&mine.tensor, &memory));
            let compared = compare_in(paths, here, there, |i| {
                widened(2.0 * mine.error[i], self.asked(mine.got[i]))
            });
            if judged.take(Relation::Order, compared, subject.kernel()) {
                break;
            }
        }
        Ok(())
    }

    /// Where there is no twin: the outputs of two runs within the tolerance of their types, integers as they are.
    pub(crate) fn near(
        &self,
        ((subject, mine), (other, their)): ((&Subject, &Memory), (&Subject, &Memory)),
        (relation, words): (Relation, &str),
        judged: &mut Judged,
    ) -> Result<()> {
        let too_large = |why: String| Error::unsupported(format!("cannot compare the outputs: {why}"));
        let others = outputs(other);
        for tensor in outputs(subject) {
            let their_tensor = others.iter().find(|other| other.name == tensor.name);
            let Some(their_tensor) = their_tensor.filter(|other| other.shape == tensor.shape) else {
                judged.note(format!(
                    "`{}` has another shape with {words}: not compared",
                    tensor.name
                ));
                continue;
            };
            let got = Numbers::of(their_tensor, their, usize::MAX).map_err(too_large)?;
            let wanted = Numbers::of(tensor, mine, usize::MAX).map_err(too_large)?;
            let rule = Rule {
                dtype: tensor.dtype,
                accumulation: accumulation(subject),
                rtol: (self.rtol > 0.0).then_some(self.rtol),
                atol: (self.atol > 0.0).then_some(self.atol),
            };
            let mismatch = tilescope_oracle::compare(&got, &wanted, rule).map_err(too_large)?;
            if let Some(mismatch) = mismatch {
                let mut failure = Failure::of_mismatch(mismatch, subject.kernel(), tensor);
                failure.relation = relation;
                judged.failure = Some(failure.said_of(words));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Other bytes in padding and around views: NaN, ones or random ones, by the seed.
    pub(crate) fn with_other_padding(
        &self,
        subject: &Subject,
        ran: &Ran,
        seed: u64,
        judged: &mut Judged,
    ) -> Result<()> {
        let mut memory = subject.bound.allocate(self.files, self.limit)?;
        let mut any = false;
        for index in 0..memory.allocations.len() {
            if memory.allocations[index].bytes.len() > MOST_PADDED {
                judged.note(format!(
                    "storage of more than {MOST_PADDED} bytes: what lies in its padding is not varied"
                ));
                continue;
            }
            any |= fill_padding(subject, &mut memory, index, seed);
        }
        if !any {
            return Ok(());
        }
        if self.run_on(subject, self.plain(), &mut memory)?.1 {
            judged.interrupted = true;
            return Ok(());
        }
        let paths = ("zeros there", "other bytes there");
        same_bits(subject, &ran.memory, &memory, (Relation::Padding, paths), judged);
        Ok(())
    }

    /// Other values in lanes that nothing gave one: those that a mask turns off in a load without `other`.
    pub(crate) fn with_other_undefined(
        &self,
        subject: &Subject,
        ran: &Ran,
        seed: u64,
        judged: &mut Judged,
    ) -> Result<()> {
        let options = Options {
            poison: poison_of(seed),
            ..self.plain()
        };
        let (memory, _, interrupted) = self.run(subject, options)?;
        if interrupted {
            judged.interrupted = true;
            return Ok(());
        }
        let paths = ("zeros there", "other values there");
        same_bits(
            subject,
            &ran.memory,
            &memory,
            (Relation::Undefined, paths),
            judged,
        );
        Ok(())
    }

    pub(crate) fn plain(&self) -> Options {
        Options {
            checks: CheckSet::NONE,
            ..self.options
        }
    }
}

/// What undefined lanes hold in the second run of a case.
pub(crate) fn poison_of(seed: u64) -> Poison {
    match seed % 2 {
        0 => Poison::Nan,
        _ => Poison::Random,
    }
}

/// Compares the outputs of two runs: the same numbers, NaN being NaN.
fn same_bits(
    subject: &Subject,
    mine: &Memory,
    their: &Memory,
    (relation, paths): (Relation, (&str, &str)),
    judged: &mut Judged,
) {
    for tensor in outputs(subject) {
        if mine.gather(tensor, 0, u64::MAX) == their.gather(tensor, 0, u64::MAX) {
            continue;
        }
        let compared = compare_in(paths, (tensor, mine), (tensor, their), |_| 0.0);
        if judged.take(relation, compared, subject.kernel()) {
            break;
        }
    }
}

/// A tensor's elements in row-major order.
pub(crate) fn numbers(tensor: &Tensor, memory: &Memory) -> Vec<f64> {
    let numbers = Numbers::of(tensor, memory, usize::MAX);
    numbers.map_or_else(|_| Vec::new(), |numbers| numbers.into_f64().into_iter().collect())
}

/// An output that no float decides: it is what it is.
pub(crate) fn exact(tensor: &Tensor, memory: &Memory) -> Bounded {
    let got = numbers(tensor, memory);
    Bounded {
        tensor: tensor.clone(),
        wide: got.clone(),
        error: vec![0.0; got.len()],
        got,
    }
}

/// Fills the bytes of an allocation that are no element of any view; true if there are some.
pub(crate) fn fill_padding(subject: &Subject, memory: &mut Memory, index: usize, seed: u64) -> bool {
    let views = || {
        let tensors = subject.bound.tensors().iter();
        tensors.filter(|tensor| tensor.allocation.0 as usize == index)
    };
    let (Some(allocation), Some(owner)) = (memory.allocations.get_mut(index), views().next()) else {
        return false;
    };
    if allocation.deferred.is_some() || allocation.bytes.len() > MOST_PADDED {
        return false;
    }
    let mut covered = vec![false; allocation.bytes.len()];
    for tensor in views() {
        let size = tensor.dtype.bytes();
        for run in tensor.runs() {
            for i in 0..run.count as i64 {
                let start = (run.position + i * run.stride).max(0) as usize * size;
                if let Some(bytes) = covered.get_mut(start..start + size) {
                    bytes.fill(true);
                }
            }
        }
    }
    let size = owner.dtype.bytes();
    let nan = match owner.dtype.is_float() {
        true => owner.dtype.encode_float(f64::NAN).to_le_bytes(),
        false => [0x7f; 8],
    };
    let mut random = seed | 1;
    let mut any = false;
    for (i, (byte, covered)) in allocation.bytes.iter_mut().zip(covered).enumerate() {
        if covered {
            continue;
        }
        any = true;
        random = random
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        *byte = match seed % 3 {
            0 => nan[i % size],
            1 => 0xff,
            _ => (random >> 56) as u8,
        };
    }
    any
}
