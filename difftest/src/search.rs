//! Many cases, and the smallest that fails.

use std::collections::HashSet;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tilescope_diagnostics::{Error, Result};

use crate::case::{Case, Space};
use crate::compare::Tightness;

/// What one case gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict<F> {
    /// All paths agree.
    Agree(Tightness),
    /// The launch cannot be made like that (a kernel that refuses a combination of parameters): why.
    Invalid(String),
    /// They do not.
    Fail(F),
}

/// A case that fails, made small.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<F> {
    /// The first one that failed.
    pub first: Case,
    /// The smallest that still does, in the same way.
    pub smallest: Case,
    /// What is wrong there.
    pub failure: F,
    /// Cases run to make it small.
    pub shrinking: u32,
    /// The first of these that could not be judged, and why: a smaller case may fail yet.
    pub error: Option<(Case, Box<Error>)>,
}

/// What a search gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<F> {
    /// Cases that were run, those of shrinking not counted.
    pub cases: u32,
    /// Of these, how many could not be launched, and why the first could not.
    pub invalid: (u32, Option<String>),
    /// How many were drawn larger and made to fit.
    pub fitted: u32,
    /// How tight the bounds were.
    pub tightness: Tightness,
    /// The failure, where there is one; the search ends with it.
    pub found: Option<Found<F>>,
    /// True if the caller stopped it.
    pub stopped: bool,
}

/// Cases tried to make a failure smaller, at the most.
const MAX_SHRINKING: u32 = 300;

/// What a search runs, and how.
pub trait Judge {
    /// What a failure is.
    type Failure;

    /// The case itself, or a smaller one if it is too large to be run many times.
    fn fit(&self, case: Case) -> Case {
        case
    }

    /// Runs a case.
    ///
    /// # Errors
    /// What is wrong with the launch in any case: ends the search.
    fn judge(&mut self, case: &Case) -> Result<Verdict<Self::Failure>>;

    /// Whether two failures are of one kind: a case is made smaller only within one.
    fn same(&self, a: &Self::Failure, b: &Self::Failure) -> bool;

    /// Asked before each case, with their number so far; false ends the search.
    fn go_on(&mut self, done: u32) -> bool;
}

/// Judges the cases of `first`, then others drawn from `space` until there are `cases`; ends at the first failure, made
/// small. The same seed draws the same cases.
///
/// # Errors
/// Those of the judge, until a case fails; those of smaller cases are told with it ([`Found::error`]).
pub fn search<J: Judge>(
    space: &Space,
    cases: u32,
    seed: u64,
    first: &[Case],
    judge: &mut J,
) -> Result<Outcome<J::Failure>> {
    let mut outcome = Outcome {
        cases: 0,
        invalid: (0, None),
        fitted: 0,
        tightness: Tightness::default(),
        found: None,
        stopped: false,
    };
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &key);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = space.strategy();
    for number in 0..cases {
        if !judge.go_on(number) {
            outcome.stopped = true;
            break;
        }
        let case = match first.get(number as usize) {
            Some(case) => case.clone(),
            None => {
                let drawn = strategy.new_tree(&mut runner);
                let drawn = drawn.map_err(|why| Error::input(format!("no case can be drawn: {why}")))?;
                let drawn = drawn.current();
                let case = judge.fit(drawn.clone());
                outcome.fitted += u32::from(case != drawn);
                case
            }
        };
        outcome.cases += 1;
        match judge.judge(&case)? {
            Verdict::Agree(tightness) => outcome.tightness.add(tightness),
            Verdict::Invalid(why) => {
                outcome.invalid.0 += 1;
                outcome.invalid.1.get_or_insert(why);
            }
            Verdict::Fail(failure) => {
                let found = Found {
                    first: case.clone(),
                    smallest: case,
                    failure,
                    shrinking: 0,
                    error: None,
                };
                outcome.found = Some(shrink(space, found, judge));
                break;
            }
        }
    }
    Ok(outcome)
}

/// Makes a failing case smaller: plain data, first choices and small sizes, as long as it fails in the same way.
fn shrink<J: Judge>(space: &Space, found: Found<J::Failure>, judge: &mut J) -> Found<J::Failure> {
    let mut shrinker = Shrinker {
        tried: HashSet::from([space.describe(&found.smallest)]),
        space,
        found,
        judge,
        stopped: false,
    };
    loop {
        let before = shrinker.found.smallest.clone();
        for simpler in space.simpler(&before) {
            shrinker.fails(|case| simpler(case));
        }
        for var in 0..before.vars.len() {
            shrinker.shrink_var(var);
        }
        if shrinker.stopped || shrinker.found.smallest == before {
            return shrinker.found;
        }
    }
}

struct Shrinker<'s, J: Judge> {
    space: &'s Space,
    found: Found<J::Failure>,
    judge: &'s mut J,
    tried: HashSet<String>,
    stopped: bool,
}

impl<J: Judge> Shrinker<'_, J> {
    /// Tries the smallest case so far with a change; keeps it if it fails. One that cannot be judged does not.
    fn fails(&mut self, change: impl Fn(&mut Case)) -> bool {
        let mut case = self.found.smallest.clone();
        change(&mut case);
        if self.stopped || !self.tried.insert(self.space.describe(&case)) {
            return false;
        }
        if self.found.shrinking >= MAX_SHRINKING || !self.judge.go_on(self.found.shrinking) {
            self.stopped = true;
            return false;
        }
        self.found.shrinking += 1;
        match self.judge.judge(&case) {
            Ok(Verdict::Fail(failure)) if self.judge.same(&failure, &self.found.failure) => {
                (self.found.smallest, self.found.failure) = (case, failure);
                true
            }
            Ok(_) => false,
            Err(error) => {
                self.found.error.get_or_insert((case, error));
                false
            }
        }
    }

    /// The least value of a variable; else, halving, one below which all pass; else the edges below that one: sizes that
    /// fail are often no interval.
    fn shrink_var(&mut self, var: usize) {
        let edges = self.space.small_values(var);
        let value = |this: &Self| this.found.smallest.vars.get(var).copied().unwrap_or_default();
        let try_value = |this: &mut Self, to: i64| {
            this.fails(|case| {
                if let Some(slot) = case.vars.get_mut(var) {
                    *slot = to;
                }
            })
        };
        let Some(&least) = edges.first() else {
            return;
        };
        if value(self) <= least || try_value(self, least) {
            return;
        }
        let mut passes = least;
        while value(self).abs_diff(passes) > 1 {
            let middle = passes.midpoint(value(self));
            if !try_value(self, middle) {
                passes = middle;
            }
            if self.stopped {
                return;
            }
        }
        let smallest = value(self);
        for &edge in edges.iter().take_while(|&&edge| edge < smallest) {
            if try_value(self, edge) {
                break;
            }
        }
    }
}
