//! The first divergence: after a difference, the program that wrote the worst element runs again, watched, and is followed
//! back from that element.
//!
//! | what differs | what is compared, operation by operation |
//! |---|---|
//! | the float64 twin | the interpreter and the twin |
//! | another value of a parameter, another launch file | both interpreters, beyond the bounds of both |
//! | other bytes in padding, other values in undefined lanes, another order | both interpreters |
//! | an engine that dumps values of a program | the engine and the interpreter, by the twin's bounds |
//! | `[expect]`, a data file, an engine that does not: only outputs are known | the interpreter and the twin |

use tilescope_diagnostics::{Finding, Result, Severity, Value};
use tilescope_interpreter::explain::Replay;
use tilescope_interpreter::{Options, Prepared};
use tilescope_launch::Memory;

use crate::against::Other;
use crate::failure::{Failure, On, Relation};
use crate::fork::{Fork, fork};
use crate::growth::{Both, Path};
use crate::judge::{Bench, Subject};
use crate::precision::told;
use crate::relations::{fill_padding, poison_of};
use crate::stages::{Stage, Stages, Watched};
use crate::traced::Beside;

/// Values that are told of a finding.
const STEPS: usize = 12;

/// Of two runs, which is the other one.
struct Sides<'a> {
    here: Stages<'a>,
    there: Stages<'a>,
    /// The other program runs before all others.
    first: bool,
    exact: bool,
}

impl Bench<'_> {
    /// Adds to the first error of a failure where its two sides part, as far as that is to be known.
    ///
    /// `other` is the other side of [`Relation::Choice`] and [`Relation::Against`]; `seed` the case's own.
    ///
    /// # Errors
    /// What cannot be allocated or run.
    pub fn bisect(
        &self,
        subject: &Subject,
        other: Option<Other<'_>>,
        seed: u64,
        failure: &mut Failure,
    ) -> Result<()> {
        let (relation, on) = (failure.relation, failure.on.clone());
        let Some(finding) = failure
            .findings
            .iter_mut()
            .find(|f| f.severity == Severity::Error)
        else {
            return Ok(());
        };
        match (relation, other) {
            (Relation::Checks, _) => return self.explain(subject, finding),
            (Relation::There | Relation::ChecksOfChoice, Some(other)) => {
                return other.bench.explain(other.subject, finding);
            }
            _ => {}
        }
        let Some((tensor, element)) = element_of(finding) else {
            return Ok(());
        };
        let said = match self.first(
            subject,
            other,
            (relation, on.as_ref(), seed),
            finding,
            (&tensor, &element),
        ) {
            Ok(said) => said,
            Err(why) => Some(format!("nothing is compared inside: {}", why.message)),
        };
        match said {
            Some(said) => finding.message.push_str(&format!("; {said}")),
            None => finding
                .message
                .push_str("; which program wrote the worst one is not known"),
        }
        Ok(())
    }

    /// What is to be said of the first divergence; none where nobody knows who wrote the element.
    fn first(
        &self,
        subject: &Subject,
        other: Option<Other<'_>>,
        (relation, on, seed): (Relation, Option<&On>, u64),
        finding: &mut Finding,
        (tensor, element): (&str, &[i64]),
    ) -> Result<Option<String>> {
        let fresh = || self.fresh(subject);
        let padded = || {
            let mut memory = fresh()?;
            for index in 0..memory.allocations.len() {
                fill_padding(subject, &mut memory, index, seed);
            }
            Ok(memory)
        };
        let control = self.control();
        let stage = |allocate| Stage {
            allocate,
            options: self.plain(),
            control: &control,
        };
        let here = Stages::run(subject, stage(&fresh))?;
        let of_other = other.map(|other| move || other.bench.fresh(other.subject));
        let there = match (relation, other, &of_other) {
            (Relation::Choice | Relation::Against, Some(other), Some(allocate)) => {
                Some((Stages::run(other.subject, stage(allocate))?, false))
            }
            (Relation::Padding, ..) => Some((Stages::run(subject, stage(&padded))?, true)),
            (Relation::Undefined, ..) => {
                let options = Options {
                    poison: poison_of(seed),
                    ..self.plain()
                };
                let stage = Stage {
                    options,
                    ..stage(&fresh)
                };
                Some((Stages::run(subject, stage)?, true))
            }
            (Relation::Order, ..) => Some((Stages::run(subject, stage(&fresh))?, false)),
            _ => None,
        };
        if let Some((there, exact)) = there {
            let first = relation == Relation::Order;
            let sides = Sides {
                here,
                there,
                first,
                exact,
            };
            if let Some(fork) = sides.fork(tensor, element)? {
                return Ok(Some(parted(&fork, finding)));
            }
            for (stages, where_) in [(&sides.here, "here"), (&sides.there, "there")] {
                if stages.is_unwritten(tensor, element) {
                    return Ok(Some(format!("no program writes this element {where_}")));
                }
            }
            let writer = sides
                .here
                .trace(tensor, element, false, &mut |watched| watched.trace.program())?;
            let Some(writer) = writer.filter(|_| first) else {
                return Ok(None);
            };
            finding.program = Some(writer);
            self.explain(subject, finding)?;
            return Ok(Some(String::from(
                "told is how it came to be in program order: look at what its value and its place are made of",
            )));
        }
        if here.is_unwritten(tensor, element) {
            return Ok(Some(String::from("no program writes this element")));
        }
        let mut unknown = None;
        if let Some(on) = on {
            match self.beside(subject, &here, on, (tensor, element))? {
                Some(Beside::Parted(fork)) => return Ok(Some(parted(&fork, finding))),
                Some(Beside::Nothing(why)) => unknown = Some(why),
                None => {}
            }
        }
        let path = here.trace(tensor, element, false, &mut |watched| Path::of(watched))?;
        let Some(path) = path else { return Ok(None) };
        if relation == Relation::Twin || self.twin_is_nearer(&path, finding) {
            finding.chain = path.chain(STEPS);
            let said = told(&path, finding);
            return Ok(Some(said.trim_start_matches("; ").to_string()));
        }
        self.explain(subject, finding)?;
        Ok(Some(match unknown {
            Some(why) => format!("{why}; no operation of the interpreter diverges from its float64 twin"),
            None => String::from(
                "no operation diverges from its float64 twin: the kernel computes another function than what is expected",
            ),
        }))
    }

    /// An engine's values of the program that wrote an element, beside the interpreter's; none where nobody knows who did.
    fn beside(
        &self,
        subject: &Subject,
        here: &Stages<'_>,
        on: &On,
        (tensor, element): (&str, &[i64]),
    ) -> Result<Option<Beside>> {
        let outputs = here.outputs.iter().flatten();
        let Some(bounded) = { outputs }.find(|bounded| bounded.tensor.name == tensor) else {
            return Ok(None);
        };
        let sizes = element.iter().zip(&bounded.tensor.shape);
        let index = sizes.fold(0, |index, (&i, &size)| index * size.max(1) + i);
        let element_of = (bounded, usize::try_from(index).unwrap_or(usize::MAX));
        let mut look = |watched: &Watched<'_>| self.beside_engine(subject, watched, on, element_of);
        here.trace(tensor, element, false, &mut look)?.transpose()
    }

    /// True if the kernel's rounding explains most of what an element is off.
    fn twin_is_nearer(&self, path: &Path, finding: &Finding) -> bool {
        let Some(stored) = path.steps.last() else {
            return false;
        };
        let mut floats = finding.operands.iter().filter_map(|(_, value)| match value {
            Value::Float(x) => Some(*x),
            Value::Int(_) | Value::Bool(_) => None,
        });
        let (Some(got), Some(wanted)) = (floats.next(), floats.next()) else {
            return false;
        };
        let off = Both {
            narrow: got,
            wide: wanted,
            bound: 0.0,
        };
        stored.is.apart() > off.apart() / 2.0 || (stored.is.is_lost() && wanted.is_finite())
    }

    /// Tells a finding the values that led to it: those of the check, or of the element.
    fn explain(&self, subject: &Subject, finding: &mut Finding) -> Result<()> {
        for (index, ((module, kernel), launch)) in
            subject.kernels.iter().zip(&subject.bound.launches).enumerate()
        {
            let before = || self.memory_before(subject, index);
            let mut memory = before()?;
            let prepared = Prepared::new(module, *kernel, launch, self.checking())?;
            let outcome = prepared.run(&mut memory, &self.control())?;
            if outcome.interrupted {
                return Ok(());
            }
            let same = |found: &Finding| {
                (found.check, &found.location, &found.program, &found.lane)
                    == (finding.check, &finding.location, &finding.program, &finding.lane)
            };
            let (mut found, causes) = match outcome.findings.iter().position(same) {
                Some(at) => (
                    outcome.findings[at].clone(),
                    outcome.causes.get(at).cloned().flatten(),
                ),
                None => {
                    let element = element_of(finding);
                    let cause = element
                        .and_then(|(tensor, element)| prepared.cause_of(&outcome.writers, &tensor, &element));
                    (finding.clone(), cause)
                }
            };
            let replay = Replay {
                left: &mut memory,
                before: &before,
                steps: STEPS,
            };
            prepared.explain(std::slice::from_mut(&mut found), &[causes], replay)?;
            if !found.chain.is_empty() {
                finding.chain = found.chain;
                return Ok(());
            }
        }
        Ok(())
    }

    fn memory_before(&self, subject: &Subject, launch: usize) -> Result<Memory> {
        let mut memory = subject.bound.allocate(self.files, self.limit)?;
        for ((module, kernel), before) in subject.kernels.iter().zip(&subject.bound.launches).take(launch) {
            Prepared::new(module, *kernel, before, self.plain())?.run(&mut memory, &self.control())?;
        }
        Ok(memory)
    }
}

impl Sides<'_> {
    fn fork(&self, tensor: &str, element: &[i64]) -> Result<Option<Fork>> {
        let mut failed = None;
        let mut look = |here: &Watched<'_>| {
            let mut both = |there: &Watched<'_>| fork(here, there, self.exact);
            match self.there.trace(tensor, element, self.first, &mut both) {
                Ok(fork) => fork.flatten(),
                Err(error) => {
                    failed = Some(error);
                    None
                }
            }
        };
        let found = self.here.trace(tensor, element, false, &mut look)?;
        match failed {
            Some(error) => Err(error),
            None => Ok(found.flatten()),
        }
    }
}

/// The element that a finding is about.
fn element_of(finding: &Finding) -> Option<(String, Vec<i64>)> {
    let tensor = finding.tensor.as_ref()?;
    Some((tensor.name.clone(), finding.element.clone()?))
}

/// Points a finding at where two runs part; gives its words.
fn parted(fork: &Fork, finding: &mut Finding) -> String {
    finding.program = Some(fork.programs.0);
    finding.chain = fork.chain(STEPS);
    if let Some((here, there)) = fork.way.first() {
        finding.location.clone_from(&here.location);
        finding.lane = Some(here.lane.clone());
        let word = here.word().to_string();
        finding.operands.push((word.clone(), here.is));
        finding.operands.push((format!("{word} {}", fork.side), there.is));
        for (here, there) in &fork.operands {
            let word = here.word();
            finding.operands.push((word.to_string(), here.is));
            finding.operands.push((format!("{word} {}", fork.side), there.is));
        }
    }
    fork.words()
}
