//! Two launch files on the same case: the version before a change, another block size, another kernel for the same work.
//!
//! Tensors are matched by name; data are the same because they are a function of the seed, the name and the position. What
//! does not match is refused by name.

use tilescope_diagnostics::{Error, Result, Severity};
use tilescope_launch::{Memory, Role, Tensor};

use crate::bounds::{between, given, widened};
use crate::compare::compare_in;
use crate::failure::Relation;
use crate::judge::{Bench, Judged, Subject, outputs};
use crate::relations::exact;
use crate::stages::{Stage, Stages};
use crate::twin::Bounded;

/// The other side of a comparison.
#[derive(Clone, Copy)]
pub struct Other<'a> {
    /// What runs it.
    pub bench: &'a Bench<'a>,
    /// The same case there.
    pub subject: &'a Subject,
    /// What reports call it.
    pub words: &'a str,
}

impl Bench<'_> {
    /// Runs a case of two launch files, each with all checks, and compares their outputs within the bounds of both.
    ///
    /// # Errors
    /// Tensors that do not match, by name; kernels without a float64 twin; what cannot be allocated or run.
    pub fn judge_against(&self, subject: &Subject, other: Other<'_>) -> Result<Judged> {
        let mut judged = Judged::default();
        let before = self.fresh(subject)?;
        alike(
            subject,
            &before,
            other.subject,
            &other.bench.fresh(other.subject)?,
            other.words,
        )?;
        let given = given(subject, &before);
        drop(before);
        let Some((memory, mine)) = self.side(subject, "", &mut judged)? else {
            return Ok(judged);
        };
        let Some((other_memory, their)) = other.bench.side(other.subject, other.words, &mut judged)? else {
            return Ok(judged);
        };
        for mine in &mine {
            let Some(their) = their.iter().find(|their| their.tensor.name == mine.tensor.name) else {
                continue;
            };
            let paths = ("here", other.words);
            let bound = |i: usize| widened(between(mine, their, i, given), self.asked(their.got[i]));
            let (here, there) = ((&mine.tensor, &memory), (&their.tensor, &other_memory));
            let compared = compare_in(paths, here, there, bound);
            if judged.take(Relation::Against, compared, subject.kernel()) {
                break;
            }
        }
        Ok(judged)
    }

    /// What one file's kernels store, with their bounds; none where the checks find errors.
    fn side(
        &self,
        subject: &Subject,
        words: &str,
        judged: &mut Judged,
    ) -> Result<Option<(Memory, Vec<Bounded>)>> {
        let (memory, mut findings, interrupted) = self.run(subject, self.checking())?;
        judged.interrupted |= interrupted;
        if findings.iter().any(|f| f.severity == Severity::Error) {
            for finding in findings.iter_mut().filter(|_| !words.is_empty()) {
                finding.message = format!("in {words}: {}", finding.message);
            }
            judged.found(findings);
            if let Some(failure) = judged.failure.as_mut().filter(|_| !words.is_empty()) {
                failure.relation = Relation::There;
            }
        }
        if judged.ended() {
            return Ok(None);
        }
        let control = self.control();
        let stage = Stage {
            allocate: &|| self.fresh(subject),
            options: self.plain(),
            control: &control,
        };
        let stages = Stages::run(subject, stage)?;
        stages.notes().for_each(|note| judged.note(note.clone()));
        let Some(mut bounded) = stages.outputs else {
            judged.interrupted = true;
            return Ok(None);
        };
        let missing = outputs(subject).into_iter();
        let missing = missing.filter(|tensor| bounded.iter().all(|b| b.tensor.name != tensor.name));
        let missing: Vec<Bounded> = missing.map(|tensor| exact(tensor, &memory)).collect();
        bounded.extend(missing);
        Ok(Some((memory, bounded)))
    }

    pub(crate) fn fresh(&self, subject: &Subject) -> Result<Memory> {
        subject.bound.allocate(self.files, self.limit)
    }
}

/// # Errors
/// Tensors that the two do not have alike.
fn alike(a: &Subject, before_a: &Memory, b: &Subject, before_b: &Memory, words: &str) -> Result<()> {
    let find = |subject: &'_ Subject, name: &str| -> Option<Tensor> {
        subject.bound.tensors().iter().find(|t| t.name == name).cloned()
    };
    for tensor in b.bound.tensors() {
        if find(a, &tensor.name).is_none() {
            return Err(unlike(words, &tensor.name, "is in that file only"));
        }
    }
    for tensor in a.bound.tensors() {
        let Some(other) = find(b, &tensor.name) else {
            return Err(unlike(words, &tensor.name, "is not in that file"));
        };
        if (tensor.dtype, &tensor.shape) != (other.dtype, &other.shape) {
            let form = |t: &Tensor| format!("{}{:?}", t.dtype.name(), t.shape);
            let why = format!("is {} here and {} there", form(tensor), form(&other));
            return Err(unlike(words, &tensor.name, &why));
        }
        if tensor.role != other.role {
            return Err(unlike(words, &tensor.name, "has another role there"));
        }
        let given = tensor.role != Role::Out && tensor.pointers.is_empty();
        if given && before_a.gather(tensor, 0, u64::MAX) != before_b.gather(&other, 0, u64::MAX) {
            let error = unlike(words, &tensor.name, "holds other data there");
            return Err(error.help("give it the same `fill` or `file` in both"));
        }
    }
    Ok(())
}

fn unlike(words: &str, tensor: &str, why: &str) -> Box<Error> {
    let error = Error::input(format!("--against {words}: the tensor `{tensor}` {why}"));
    error.help("both files need the same tensors: the same names, types, shapes and roles")
}
