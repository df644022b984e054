//! Many cases, and the smallest that fails.

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
    /// The launch cannot be made like that (a range that its expressions do not allow): why.
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
}

/// What a search gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<F> {
    /// Cases that were run, those of shrinking not counted.
    pub cases: u32,
    /// Of these, how many could not be launched, and why the first could not.
    pub invalid: (u32, Option<String>),
    /// How tight the bounds were.
    pub tightness: Tightness,
    /// The failure, where there is one; the search ends with it.
    pub found: Option<Found<F>>,
    /// True if the caller stopped it.
    pub stopped: bool,
}

/// Cases tried to make a failure smaller, at the most.
const MAX_SHRINKING: u32 = 300;

/// Runs `judge` on `cases` cases drawn from `space`, those of `first` before; ends at the first failure, made small.
/// The same seed draws the same cases. `same` says whether two failures are of one kind.
///
/// # Errors
/// Those of `judge`: what is wrong with the launch in any case.
pub fn search<F: Clone>(
    space: &Space,
    cases: u32,
    seed: u64,
    first: &[Case],
    mut judge: impl FnMut(&Case) -> Result<Verdict<F>>,
    same: impl Fn(&F, &F) -> bool,
    mut go_on: impl FnMut(u32) -> bool,
) -> Result<Outcome<F>> {
    let mut outcome = Outcome {
        cases: 0,
        invalid: (0, None),
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
        if !go_on(number) {
            outcome.stopped = true;
            return Ok(outcome);
        }
        outcome.cases += 1;
        let given = first.get(number as usize);
        let mut tree = None;
        let case = match given {
            Some(case) => case.clone(),
            None => {
                let new = strategy.new_tree(&mut runner);
                let new = new.map_err(|why| Error::input(format!("no case can be drawn: {why}")))?;
                tree.insert(new).current()
            }
        };
        match judge(&case)? {
            Verdict::Agree(tightness) => outcome.tightness = outcome.tightness.and(tightness),
            Verdict::Invalid(why) => {
                outcome.invalid.0 += 1;
                outcome.invalid.1.get_or_insert(why);
            }
            Verdict::Fail(failure) => {
                let mut found = Found {
                    first: case.clone(),
                    smallest: case,
                    failure,
                    shrinking: 0,
                };
                if let Some(tree) = &mut tree {
                    shrink(tree, &mut found, &mut judge, &same, &mut go_on)?;
                }
                outcome.found = Some(found);
                return Ok(outcome);
            }
        }
    }
    Ok(outcome)
}

fn shrink<F: Clone>(
    tree: &mut impl ValueTree<Value = Case>,
    found: &mut Found<F>,
    judge: &mut impl FnMut(&Case) -> Result<Verdict<F>>,
    same: &impl Fn(&F, &F) -> bool,
    go_on: &mut impl FnMut(u32) -> bool,
) -> Result<()> {
    let mut moved = tree.simplify();
    while moved && found.shrinking < MAX_SHRINKING && go_on(found.shrinking) {
        let case = tree.current();
        found.shrinking += 1;
        moved = match judge(&case)? {
            Verdict::Fail(failure) if same(&failure, &found.failure) => {
                (found.smallest, found.failure) = (case, failure);
                tree.simplify()
            }
            _ => tree.complicate(),
        };
    }
    Ok(())
}
