//! Engines beside the interpreter: a GPU, what a GPU once computed. Each runs a case twice, with the launch's own number of
//! warps and with another one, and must stay within the bound of the float64 twin; where nothing rounds, it must leave the
//! interpreter's numbers.

use std::collections::BTreeSet;

use tilescope_diagnostics::{Check, Error, Finding, Result, Severity};
use tilescope_ir::{FuncId, OpId};
use tilescope_launch::Memory;
use tilescope_launch::fault::Line;

use crate::bounds::{engine_bound, widened};
use crate::compare::{compare, compare_in};
use crate::failure::{Failure, On, Relation};
use crate::judge::{Bench, Judged, Ran, Subject};
use crate::relations::numbers;

/// Something that runs kernels. One case after the other; what it keeps between them is its own affair.
pub trait Engine {
    /// Its name, as `--paths` and reports have it.
    fn name(&self) -> &str;

    /// Numbers of warps of which each case takes one, beside the launch's own; none where there are no warps.
    fn warps(&self) -> &[u32];

    /// Runs all launches of a subject on its memory, with so many warps to a program instead of what the launches say.
    ///
    /// # Errors
    /// What ends the search: an engine that is broken, or not there.
    fn run(&self, subject: &Subject, warps: Option<u32>, memory: &mut Memory) -> Result<Ended>;

    /// The same, and what chosen operations of one program gave. None from an engine that cannot tell.
    ///
    /// # Errors
    /// Why there are no values.
    fn trace(
        &self,
        subject: &Subject,
        warps: Option<u32>,
        watch: &Watch<'_>,
        memory: &mut Memory,
    ) -> Result<Option<Dump>> {
        let _ = (subject, warps, watch, memory);
        Ok(None)
    }
}

/// What an engine is asked to tell of a run.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// The number of the launch.
    pub launch: usize,
    /// The number of the program, x fastest.
    pub program: u64,
    /// The operations.
    pub ops: &'a BTreeSet<(FuncId, OpId)>,
}

/// Values of one program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dump {
    /// The executions of watched operations, in the order of the program, with the lanes of each result; none of a result that
    /// cannot be told. The n-th line of one operation is its n-th execution. Addresses are those of the launch's memory; 0 outside.
    pub lines: Vec<Line>,
    /// Not all fit: the last ones are missing.
    pub is_cut: bool,
    /// In what they were computed, if not in the code that the engine runs.
    pub by: Option<String>,
}

/// How a run ended.
#[derive(Debug)]
pub enum Ended {
    /// To the end; with what the engine's own checks found, by launch.
    Ran(Vec<Vec<Finding>>),
    /// It does not run this kernel so, and why.
    Refused(Box<Error>),
    /// The user would not wait.
    Interrupted,
    /// The kernel did not end, or was stopped for what it did: in words. The engine runs nothing more.
    Lost(String),
}

/// Which run of an engine.
struct Run<'e> {
    engine: &'e dyn Engine,
    warps: Option<u32>,
}

impl Run<'_> {
    fn on(&self) -> On {
        On {
            engine: self.engine.name().to_string(),
            warps: self.warps,
        }
    }

    fn words(&self) -> String {
        self.on().words()
    }

    fn relation(&self) -> Relation {
        match self.warps {
            None => Relation::Engine,
            Some(_) => Relation::Warps,
        }
    }
}

/// True for findings of lanes to which no engine needs to give the same value.
fn leaves_undefined(finding: &Finding) -> bool {
    matches!(
        finding.check,
        Check::DivByZero | Check::FloatToIntRange | Check::UndefinedLane | Check::UninitLoad
    )
}

impl Bench<'_> {
    /// Every engine on the case; `findings` are the interpreter's.
    pub(crate) fn on_engines(
        &self,
        subject: &Subject,
        ran: &Ran,
        findings: &[Finding],
        seed: u64,
        judged: &mut Judged,
    ) -> Result<()> {
        if findings.iter().any(leaves_undefined) && !self.engines.is_empty() {
            judged.note(String::from(
                "lanes without a defined value (see `tilescope check`): not compared between engines",
            ));
            return Ok(());
        }
        for &engine in self.engines {
            // Not the launch's own number.
            let own = |warps: &u32| {
                subject
                    .bound
                    .launches
                    .iter()
                    .all(|l| l.options.num_warps == *warps)
            };
            let warps: Vec<u32> = engine.warps().iter().copied().filter(|w| !own(w)).collect();
            let drawn = (seed as usize)
                .checked_rem(warps.len())
                .and_then(|at| warps.get(at));
            for warps in [None].into_iter().chain(drawn.map(|&warps| Some(warps))) {
                if judged.ended() {
                    return Ok(());
                }
                let run = Run { engine, warps };
                self.on_engine(subject, ran, &run, judged)?;
                if let Some(failure) = &mut judged.failure {
                    failure.on = Some(run.on());
                }
            }
        }
        Ok(())
    }

    fn on_engine(&self, subject: &Subject, ran: &Ran, run: &Run<'_>, judged: &mut Judged) -> Result<()> {
        let mut memory = subject.bound.allocate(self.files, self.limit)?;
        match run.engine.run(subject, run.warps, &mut memory)? {
            Ended::Ran(mut found) => {
                for (launch, findings) in found.iter_mut().enumerate() {
                    (self.sift)(launch, findings);
                }
                let findings: Vec<Finding> = found.into_iter().flatten().collect();
                if findings.iter().any(|f| f.severity == Severity::Error) {
                    judged.failure = Some(Failure::of_engine(run.relation(), &run.words(), findings));
                    return Ok(());
                }
            }
            Ended::Refused(why) => {
                judged.note(format!("not run on {}: {}", run.words(), why.message));
                return Ok(());
            }
            Ended::Interrupted => {
                judged.interrupted = true;
                return Ok(());
            }
            Ended::Lost(why) => {
                judged.lost = true;
                judged.failure = Some(Failure::of_lost(&run.words(), &why, subject.kernel()));
                return Ok(());
            }
        }
        match &ran.bounded {
            Some(_) => self.within_bounds(subject, ran, run, &memory, judged),
            None => {
                return self.near(
                    ((subject, &ran.memory), (subject, &memory)),
                    (run.relation(), &format!("on {}", run.words())),
                    judged,
                );
            }
        }
        Ok(())
    }

    fn within_bounds(
        &self,
        subject: &Subject,
        ran: &Ran,
        run: &Run<'_>,
        memory: &Memory,
        judged: &mut Judged,
    ) {
        for bounded in ran.bounded.iter().flatten() {
            let tensor = &bounded.tensor;
            let paths = (&*run.words(), "float64 twin");
            let got = numbers(tensor, memory);
            let compared = match tensor.dtype.is_float() {
                true => compare(tensor, paths, &got, &bounded.wide, |i| {
                    let bound = engine_bound(bounded, got[i], i, ran.given);
                    widened(bound, self.asked(bounded.wide[i]))
                }),
                // Where no float decides them the twin has the interpreter's integers.
                false => compare_in(paths, (tensor, memory), (tensor, &ran.memory), |i| {
                    bounded.error[i]
                }),
            };
            if judged.take(run.relation(), compared, subject.kernel()) {
                return;
            }
        }
    }
}
