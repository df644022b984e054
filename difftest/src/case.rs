//! What is drawn: a launch's variables within their ranges, tunable parameters, data, types, slack around tensors.
//!
//! Bugs sit at boundaries, so variables are drawn near them more often than not: one, a block more or less one,
//! multiples of blocks more or less one, powers of two more or less one, primes, the largest.

use proptest::prelude::{Just, Rng, Strategy};
use proptest::prop_oneof;
use proptest::strategy::NewTree;
use proptest::test_runner::TestRunner;
use tilescope_diagnostics::{Error, Result};
use tilescope_launch::expr::{Scope, Value};
use tilescope_launch::{CaseFill, Constexpr, Dtype, LaunchFile, Overrides};

/// Everything that may vary in a launch.
#[derive(Debug, Clone)]
pub struct Space {
    vars: Vec<Variable>,
    choices: Vec<Choice>,
    /// Tensors whose data the file leaves open.
    fills: Vec<String>,
    /// Tensors of the file's first float type, which take the types that are asked for.
    retyped: Vec<String>,
    /// That first float type, where there is one.
    own: Option<Dtype>,
    /// The types that are drawn; where there are none, the file's own stays.
    dtypes: Vec<Dtype>,
    tensors: Vec<String>,
}

/// A variable with a range.
#[derive(Debug, Clone)]
struct Variable {
    name: String,
    low: i64,
    high: i64,
    /// Values near which things happen, rising, within the range.
    edges: Vec<i64>,
}

/// A tunable compile-time parameter.
#[derive(Debug, Clone)]
struct Choice {
    name: String,
    values: Vec<Value>,
}

/// One point of a [`Space`].
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Values of the variables, in the file's order.
    pub vars: Vec<i64>,
    /// Positions in the lists of choices.
    pub choices: Vec<usize>,
    /// What float tensors hold whose data are left open; none is `randn`.
    pub fill: Option<CaseFill>,
    /// The type of the tensors that have the file's first float type; none: that type.
    pub dtype: Option<Dtype>,
    /// Elements of storage before and behind every tensor.
    pub slack: (i64, i64),
    /// Seed of generated data.
    pub seed: u32,
}

/// Elements before or behind a tensor that a case may ask for.
const MOST_SLACK: i64 = 4096;

/// What a case says beside variables and parameters.
const OTHERS: [&str; 4] = ["dtype", "fill", "slack", "seed"];

/// How a case is written.
const HOW: &str = "write what a report of `tilescope diff` says: n=65,fill=ties,seed=3";

/// A change of a case.
pub(crate) type Change = Box<dyn Fn(&mut Case)>;

impl Space {
    /// What varies in a launch file, with these types for its tensors of the first float type (none: as it says).
    ///
    /// # Errors
    /// Choices that are no values, or that differ between launches for parameters of one name; types for a file without
    /// float tensors.
    pub fn of(file: &LaunchFile, dtypes: &[Dtype], blocks: &[i64]) -> Result<Space> {
        let choices = choices(file)?;
        let mut blocks = blocks.to_vec();
        blocks.extend(choices.iter().flat_map(|c| &c.values).filter_map(small));
        let vars = file.vars().iter().filter_map(|var| {
            let (low, high) = var.range?;
            Some(Variable {
                name: var.name.clone(),
                low,
                high,
                edges: edges(low, high, &blocks),
            })
        });
        let floats = file.float_tensors();
        let first = floats.first().map(|&(_, dtype)| dtype);
        if first.is_none() && !dtypes.is_empty() {
            let error = Error::input("--dtypes changes float tensors, and this launch has none");
            return Err(error.help("leave it out"));
        }
        let retyped = floats.iter().filter(|&&(_, dtype)| Some(dtype) == first);
        Ok(Space {
            vars: vars.collect(),
            choices,
            fills: file.open_fills().into_iter().map(String::from).collect(),
            retyped: retyped.map(|(name, _)| name.to_string()).collect(),
            own: first,
            dtypes: dtypes.to_vec(),
            tensors: floats.iter().map(|(name, _)| name.to_string()).collect(),
        })
    }

    /// True if there is nothing to draw but the seed.
    pub fn is_fixed(&self) -> bool {
        self.vars.is_empty() && self.choices.is_empty() && self.fills.is_empty() && self.dtypes.len() < 2
    }

    /// What a launch file is evaluated with for a case.
    pub fn overrides(&self, case: &Case) -> Overrides {
        let vars = self.vars.iter().zip(&case.vars);
        let choices = self.choices.iter().zip(&case.choices);
        let slack = match case.slack {
            (0, 0) => Vec::new(),
            (before, behind) => self.tensors.iter().map(|t| (t.clone(), before, behind)).collect(),
        };
        Overrides {
            vars: vars
                .map(|(var, &value)| (var.name.clone(), Value::Int(value.into())))
                .collect(),
            constexprs: choices
                .filter_map(|(choice, &at)| Some((choice.name.clone(), choice.values.get(at)?.clone())))
                .collect(),
            seed: Some(case.seed.into()),
            fills: case
                .fill
                .map(|fill| self.fills.iter().map(|name| (name.clone(), fill)).collect())
                .unwrap_or_default(),
            dtypes: case
                .dtype
                .map(|dtype| self.retyped.iter().map(|name| (name.clone(), dtype)).collect())
                .unwrap_or_default(),
            slack,
        }
    }

    /// Each value of each tunable parameter by itself: its name, the value, all values.
    pub fn single_choices(&self) -> impl Iterator<Item = (&str, &Value, &[Value])> {
        let choices = self.choices.iter();
        choices.flat_map(|choice| {
            let one = |value| (choice.name.as_str(), value, choice.values.as_slice());
            choice.values.iter().map(one)
        })
    }

    /// The same case with another value of a tunable parameter, where there is one.
    pub fn other_choice(&self, case: &Case) -> Option<(Case, String)> {
        let count = self.choices.len();
        let at = (case.seed as usize).checked_rem(count)?;
        let choice = &self.choices[at];
        let mut other = case.clone();
        let position = other.choices.get_mut(at)?;
        *position = (*position + 1) % choice.values.len();
        let name = |position: usize| {
            choice
                .values
                .get(position)
                .map_or(String::new(), Value::to_string)
        };
        let said = format!(
            "{} = {} instead of {}",
            choice.name,
            name(*position),
            name(case.choices[at])
        );
        (other != *case).then_some((other, said))
    }

    /// A case made smaller until `size` of it is at most `most`: of the variables that lie farthest above their least, the
    /// first is halved again and again, to an edge if it was one. A case whose size is not known stays as it is.
    pub fn fitted(&self, mut case: Case, most: u64, size: impl Fn(&Case) -> Option<u64>) -> Case {
        while size(&case).is_some_and(|size| size > most) {
            let above = |at: usize| case.vars[at].max(self.vars[at].low).abs_diff(self.vars[at].low);
            let vars = 0..case.vars.len().min(self.vars.len());
            let Some(at) = vars.max_by_key(|&at| (above(at), std::cmp::Reverse(at))) else {
                break;
            };
            if above(at) == 0 {
                break;
            }
            let var = &self.vars[at];
            let half = var.low.saturating_add_unsigned(above(at) / 2);
            let below = var.edges.iter().rfind(|&&edge| edge <= half).copied();
            case.vars[at] = match var.edges.contains(&case.vars[at]) {
                true => below.unwrap_or(half),
                false => half,
            };
        }
        case
    }

    /// Changes that make a case plainer, one each; those that change nothing are left out.
    pub(crate) fn simpler(&self, case: &Case) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        if case.fill.is_some() {
            changes.push(Box::new(|case| case.fill = None));
        }
        if case.slack != (0, 0) {
            changes.push(Box::new(|case| case.slack = (0, 0)));
        }
        let first = self.dtypes.first().copied();
        if case.dtype != first {
            changes.push(Box::new(move |case| case.dtype = first));
        }
        for (at, _) in case
            .choices
            .iter()
            .enumerate()
            .filter(|&(_, &choice)| choice != 0)
        {
            changes.push(Box::new(move |case| {
                if let Some(choice) = case.choices.get_mut(at) {
                    *choice = 0;
                }
            }));
        }
        changes
    }

    /// Values of a variable at which kernels change what they do, rising from the least that it may have.
    pub(crate) fn small_values(&self, var: usize) -> &[i64] {
        self.vars.get(var).map_or(&[], |var| &var.edges)
    }

    /// A case in words, as reports and `--replay` have it.
    pub fn describe(&self, case: &Case) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (var, value) in self.vars.iter().zip(&case.vars) {
            parts.push(format!("{}={value}", var.name));
        }
        for (choice, &at) in self.choices.iter().zip(&case.choices) {
            if let Some(value) = choice.values.get(at) {
                parts.push(format!("{}={value}", choice.name));
            }
        }
        // Where types are drawn, the file's own is said too: without it `--replay` takes the first that is given.
        let own = self.own.filter(|_| !self.dtypes.is_empty());
        if let Some(dtype) = case.dtype.or(own) {
            parts.push(format!("dtype={}", dtype.name()));
        }
        if let Some(fill) = case.fill {
            parts.push(format!("fill={}", fill.name()));
        }
        if case.slack != (0, 0) {
            parts.push(format!("slack={}+{}", case.slack.0, case.slack.1));
        }
        parts.push(format!("seed={}", case.seed));
        parts.join(",")
    }

    /// The case that [`Space::describe`] describes. It may have another float type than those that are drawn: a case that
    /// once failed stays one. Where no type is said, it is the file's own.
    ///
    /// # Errors
    /// Names what there is not, and values that are not possible.
    pub fn parse(&self, text: &str) -> Result<Case> {
        let mut case = Case {
            vars: self.vars.iter().map(|var| var.low).collect(),
            choices: vec![0; self.choices.len()],
            fill: None,
            dtype: None,
            slack: (0, 0),
            seed: 0,
        };
        if text.trim().is_empty() {
            return Err(Error::input("--replay names no case").help(HOW));
        }
        let mut said: Vec<&str> = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = |why: &str| Error::input(format!("--replay: `{part}` {why}")).help(HOW);
            let (name, value) = part.split_once('=').ok_or_else(|| wrong("is no NAME=VALUE"))?;
            if said.contains(&name) {
                return Err(wrong(&format!("says `{name}` a second time")));
            }
            said.push(name);
            if let Some(at) = self.vars.iter().position(|var| var.name == name) {
                let number: i64 = value.parse().map_err(|_| wrong("is no integer"))?;
                let (low, high) = (self.vars[at].low, self.vars[at].high);
                if !(low..=high).contains(&number) {
                    return Err(wrong(&format!("is outside of its range, [{low}, {high}]")));
                }
                case.vars[at] = number;
            } else if let Some(at) = self.choices.iter().position(|choice| choice.name == name) {
                let values = &self.choices[at].values;
                let position = values.iter().position(|known| known.to_string() == value);
                case.choices[at] = position.ok_or_else(|| {
                    let known: Vec<String> = values.iter().map(Value::to_string).collect();
                    wrong(&format!("is none of the choices, {}", known.join(", ")))
                })?;
            } else {
                match name {
                    "fill" => {
                        let mut known = CaseFill::ALL.iter().copied();
                        let fill = known.find(|fill| fill.name() == value || fill.spelled() == value);
                        case.fill = Some(fill.ok_or_else(|| {
                            let names: Vec<&str> = CaseFill::ALL.iter().map(|fill| fill.name()).collect();
                            wrong(&format!("is no fill of cases: {}", names.join(", ")))
                        })?);
                    }
                    "seed" => case.seed = value.parse().map_err(|_| wrong("is no seed"))?,
                    "dtype" => {
                        let dtype = Dtype::from_name(value).filter(|dtype| dtype.is_float());
                        let dtype = dtype.ok_or_else(|| wrong("is no type of floats"))?;
                        if self.retyped.is_empty() {
                            return Err(wrong("changes float tensors, and this launch has none"));
                        }
                        case.dtype = Some(dtype);
                    }
                    "slack" => {
                        let sides = value.split_once('+');
                        let sides = sides.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                        let sides: (i64, i64) = sides.ok_or_else(|| wrong("is no BEFORE+BEHIND"))?;
                        if ![sides.0, sides.1]
                            .iter()
                            .all(|side| (0..=MOST_SLACK).contains(side))
                        {
                            return Err(wrong(&format!("is not within 0 and {MOST_SLACK} elements")));
                        }
                        case.slack = sides;
                    }
                    _ => {
                        let vars = self.vars.iter().map(|var| var.name.as_str());
                        let choices = self.choices.iter().map(|choice| choice.name.as_str());
                        let known: Vec<&str> = vars.chain(choices).chain(OTHERS).collect();
                        return Err(wrong(&format!(
                            "names no variable with a range and no parameter with choices: there are {}",
                            known.join(", ")
                        )));
                    }
                }
            }
        }
        Ok(case)
    }

    /// Draws cases.
    pub fn strategy(&self) -> impl Strategy<Value = Case> + use<> {
        let vars: Vec<Near> = self
            .vars
            .iter()
            .map(|var| Near {
                low: var.low,
                high: var.high,
                edges: var.edges.clone(),
            })
            .collect();
        let choices: Vec<std::ops::Range<usize>> = self.choices.iter().map(|c| 0..c.values.len()).collect();
        let fill = match self.fills.is_empty() {
            true => Just(None).boxed(),
            false => prop_oneof![
                3 => Just(None),
                2 => (0..CaseFill::ALL.len()).prop_map(|at| CaseFill::ALL.get(at).copied()),
            ]
            .boxed(),
        };
        let dtypes = self.dtypes.clone();
        let dtype = (0..dtypes.len().max(1)).prop_map(move |at| dtypes.get(at).copied());
        let slack = prop_oneof![3 => Just((0, 0)), 1 => (0i64..9, 0i64..9)];
        let seed = proptest::num::u32::ANY.no_shrink();
        (vars, choices, fill, dtype, slack, seed).prop_map(|(vars, choices, fill, dtype, slack, seed)| Case {
            vars,
            choices,
            fill,
            dtype,
            slack,
            seed,
        })
    }
}

/// An integer in a range, more often near an edge than not.
#[derive(Debug, Clone)]
struct Near {
    low: i64,
    high: i64,
    edges: Vec<i64>,
}

impl Strategy for Near {
    type Tree = Just<i64>;
    type Value = i64;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let random = u64::from(runner.rng().next_u32());
        let more = u64::from(runner.rng().next_u32());
        let span = self.high.max(self.low).abs_diff(self.low);
        let value = match (random % 10, self.edges.is_empty()) {
            (0..6, false) => self.edges[(more % self.edges.len() as u64) as usize],
            // As many small as large ones: log-uniform.
            _ => {
                let bits = more % u64::from(span.max(1).ilog2() + 1);
                let below = 2u64.checked_shl(bits as u32).filter(|&below| below > 0);
                let below = below.unwrap_or(u64::MAX).min(span.saturating_add(1)).max(1);
                let random = match u32::try_from(below) {
                    Ok(_) => u64::from(runner.rng().next_u32()),
                    Err(_) => runner.rng().next_u64(),
                };
                self.low.saturating_add_unsigned(random % below)
            }
        };
        Just(value.clamp(self.low, self.high)).new_tree(runner)
    }
}

/// The tunable parameters of a file's launches. Values are given by name, so those of one name are one parameter: each
/// launch that has it must have the same choices.
fn choices(file: &LaunchFile) -> Result<Vec<Choice>> {
    let constexprs = || file.launches().iter().flat_map(|launch| launch.constexprs());
    let values = |constexpr: &Constexpr| {
        let values = constexpr.choices.iter().map(|e| Scope::new().evaluate(e));
        values.collect::<Result<Vec<Value>>>()
    };
    let mut choices: Vec<Choice> = Vec::new();
    for constexpr in constexprs().filter(|constexpr| !constexpr.choices.is_empty()) {
        let (name, mine) = (&constexpr.name, values(constexpr)?);
        if choices.iter().any(|known| known.name == *name) {
            continue;
        }
        for other in constexprs().filter(|other| other.name == *name) {
            let theirs = values(other)?;
            if theirs != mine {
                let here = match theirs.is_empty() {
                    true => "no choices here",
                    false => "other choices here",
                };
                let message = format!("`{name}` has other choices in another launch of this file");
                let error = Error::input(message).at(file.source(), other.span.clone(), here);
                let error = error.at(file.source(), constexpr.span.clone(), "its choices there");
                return Err(error.help(format!(
                    "parameters of one name are tuned together: give `{name}` the same choices in each launch, or none"
                )));
            }
        }
        choices.push(Choice {
            name: name.clone(),
            values: mine,
        });
    }
    Ok(choices)
}

fn small(value: &Value) -> Option<i64> {
    let number = i64::try_from(value.as_int()?).ok()?;
    (2..=1 << 20).contains(&number).then_some(number)
}

/// The integers of compile-time parameters: block sizes are among them.
pub fn block_sizes<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<i64> {
    values.filter_map(small).collect()
}

/// Values within a range at which kernels change what they do.
fn edges(low: i64, high: i64, blocks: &[i64]) -> Vec<i64> {
    const PRIMES: [i64; 12] = [2, 3, 7, 13, 31, 61, 127, 251, 509, 1021, 4093, 65537];
    let mut found = vec![low, low.saturating_add(1), high.saturating_sub(1), high, 1];
    for &block in blocks {
        for multiple in [1, 2, 3, 5] {
            let multiple = block.saturating_mul(multiple);
            found.extend([multiple.saturating_sub(1), multiple, multiple.saturating_add(1)]);
        }
    }
    for bits in 1..40 {
        let power = 1i64 << bits;
        found.extend([power - 1, power, power + 1]);
    }
    found.extend(PRIMES);
    found.retain(|value| (low..=high).contains(value));
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use proptest::strategy::ValueTree;
    use tilescope_diagnostics::Source;

    use super::*;
    use crate::{Judge, Tightness, Verdict, search};

    const FILE: &str = r#"
kernel = "k.py::k"
grid = [1]
[vars]
n = { value = 100, range = [1, 1000] }
m = 7
[args]
x = { dtype = "f32", shape = ["n"], role = "in" }
y = { dtype = "f32", shape = ["n"], role = "out" }
n = "n"
[constexprs]
BLOCK = { value = 64, choices = [32, 64] }
"#;

    fn space() -> Space {
        let file = LaunchFile::parse(Source::new("a.launch.toml", FILE)).unwrap();
        Space::of(&file, &[Dtype::F32, Dtype::F16], &[64]).unwrap()
    }

    #[test]
    fn a_case_reads_back_as_it_is_described() {
        let space = space();
        let mut runner = TestRunner::deterministic();
        let mut edges = 0;
        for _ in 0..500 {
            let case = space.strategy().new_tree(&mut runner).unwrap().current();
            assert!((1..=1000).contains(&case.vars[0]), "{case:?}");
            edges += usize::from(space.vars[0].edges.contains(&case.vars[0]));
            assert_eq!(space.parse(&space.describe(&case)).unwrap(), case);
        }
        assert!(edges > 250, "{edges} of 500 cases lie at an edge");
    }

    #[test]
    fn a_replay_that_cannot_be_is_refused_in_words() {
        let space = space();
        for (text, why) in [
            ("k=3", "names no variable"),
            ("n=x", "is no integer"),
            ("n", "is no NAME=VALUE"),
            ("BLOCK=48", "is none of the choices"),
            ("fill=hot", "is no fill of cases: extreme, ties"),
            ("", "names no case"),
            ("n=3,n=4", "says `n` a second time"),
            ("j=3", "there are n, BLOCK, dtype, fill, slack, seed"),
            ("slack=999999999999+1", "is not within 0 and 4096 elements"),
            ("slack=1+-1", "is not within 0 and 4096 elements"),
            ("dtype=i32", "is no type of floats"),
            ("n=1001", "is outside of its range, [1, 1000]"),
            ("slack=1", "is no BEFORE+BEHIND"),
        ] {
            let error = space.parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        // As a launch file has it.
        assert_eq!(space.parse("fill=one_nan").unwrap().fill, Some(CaseFill::Nan));
    }

    /// Fails where `fails` says so.
    struct Sizes<F>(F);

    impl<F: Fn(i64) -> bool> Judge for Sizes<F> {
        type Failure = ();

        fn judge(&mut self, case: &Case) -> Result<Verdict<()>> {
            Ok(match self.0(case.vars[0]) {
                true => Verdict::Fail(()),
                false => Verdict::Agree(Tightness::default()),
            })
        }

        fn same(&self, (): &(), (): &()) -> bool {
            true
        }

        fn go_on(&mut self, _: u32) -> bool {
            true
        }
    }

    #[test]
    fn sizes_shrink_to_the_least_that_fails() {
        let space = space();
        let least = |fails: fn(i64) -> bool| {
            let mut runs = 0;
            for seed in 0..20 {
                let found = search(&space, 200, seed, &[], &mut Sizes(fails))
                    .unwrap()
                    .found
                    .unwrap();
                let smallest = &found.smallest;
                assert_eq!(
                    (smallest.fill, smallest.slack, smallest.dtype),
                    (None, (0, 0), Some(Dtype::F32))
                );
                assert!(fails(smallest.vars[0]) && found.shrinking <= 40, "{found:?}");
                let least = (1..).find(|&n| fails(n)).unwrap();
                assert_eq!(smallest.vars[0], least, "seed {seed}");
                runs = runs.max(found.shrinking);
            }
            runs
        };
        // A tail; more than a block; a tail of one element behind a block.
        assert!(least(|n| n % 64 != 0) <= 10);
        assert!(least(|n| n > 64) <= 30);
        assert!(least(|n| n > 64 && n % 64 == 1) <= 40);
    }

    fn ranged(low: i64, high: i64) -> Space {
        let text = FILE.replace("[1, 1000]", &format!("[{low}, {high}]"));
        let file = LaunchFile::parse(Source::new("a.launch.toml", text)).unwrap();
        Space::of(&file, &[], &[i64::MAX, i64::MIN, 64]).unwrap()
    }

    /// All of a range of 64 bits is drawn from, fitted and made small in without an overflow.
    #[test]
    fn ranges_of_all_integers_are_searched() {
        const ENDS: [i64; 6] = [i64::MIN, i64::MIN + 1, -1, 1, i64::MAX - 1, i64::MAX];
        for (at, &low) in ENDS.iter().enumerate() {
            for &high in &ENDS[at..] {
                let space = ranged(low, high);
                let mut runner = TestRunner::deterministic();
                let mut far = false;
                for _ in 0..200 {
                    let case = space.strategy().new_tree(&mut runner).unwrap().current();
                    assert!((low..=high).contains(&case.vars[0]), "{case:?}");
                    far |= case.vars[0].abs_diff(low) > 1 << 40;
                    let fitted = space.fitted(case.clone(), 0, |_| Some(1));
                    assert_eq!(fitted.vars[0], low, "{case:?}");
                    let distance = |case: &Case| Some(case.vars[0].abs_diff(low));
                    let fitted = space.fitted(case, 1 << 62, distance);
                    assert!(distance(&fitted).unwrap() <= 1 << 62, "{fitted:?}");
                }
                assert!(
                    far || high.abs_diff(low) <= 1 << 40,
                    "[{low}, {high}]: none is large"
                );
                let middle = low.midpoint(high);
                let outcome = search(&space, 2000, 1, &[], &mut Sizes(|n| n >= middle)).unwrap();
                let found = outcome.found.expect("one that fails");
                assert_eq!(found.smallest.vars[0], middle, "[{low}, {high}]");
            }
        }
        // A case that lies below the range, as only a program can make it.
        let below = Case {
            vars: vec![i64::MIN],
            ..ranged(1, 9).parse("n=1").unwrap()
        };
        assert_eq!(ranged(1, 9).fitted(below.clone(), 0, |_| Some(1)), below);
    }

    /// A case that failed stays one when other types, or none, are drawn.
    #[test]
    fn a_case_may_have_a_type_that_is_not_drawn() {
        let file = LaunchFile::parse(Source::new("a.launch.toml", FILE)).unwrap();
        let kept = "n=65,BLOCK=32,dtype=bf16,seed=3";
        for dtypes in [&[][..], &[Dtype::F16], &[Dtype::F32, Dtype::BF16]] {
            let space = Space::of(&file, dtypes, &[]).unwrap();
            let case = space.parse(kept).unwrap();
            assert_eq!(space.describe(&case), kept);
            let x = (String::from("x"), Dtype::BF16);
            assert!(space.overrides(&case).dtypes.contains(&x));
        }
        let space = Space::of(&file, &[Dtype::F16], &[]).unwrap();
        let own = space.parse("n=65,seed=3").unwrap();
        assert_eq!(own.dtype, None);
        assert_eq!(space.describe(&own), "n=65,BLOCK=32,dtype=f32,seed=3");
    }

    #[test]
    fn parameters_of_one_name_are_one() {
        let space = |first: &str, second: &str| {
            let text = format!(
                r#"
[vars]
n = {{ value = 50, range = [1, 64] }}
[tensors]
x = {{ dtype = "f32", shape = ["n"], role = "in" }}
y = {{ dtype = "f32", shape = ["n"], role = "out" }}
[[launch]]
kernel = "two.py::k"
grid = [1]
args = {{ x_ptr = "x", y_ptr = "y" }}
constexprs = {{ BLOCK = {first} }}
[[launch]]
kernel = "two.py::k"
grid = [1]
args = {{ x_ptr = "y", y_ptr = "x" }}
constexprs = {{ BLOCK = {second} }}
"#
            );
            let file = LaunchFile::parse(Source::new("a.pipeline.toml", text)).unwrap();
            Space::of(&file, &[], &[])
        };
        let two = "{ value = 32, choices = [32, 64] }";
        let one = space(two, two).unwrap();
        let words = "n=1,BLOCK=64,seed=0";
        assert_eq!(one.describe(&one.parse(words).unwrap()), words);
        for (other, why) in [
            ("{ value = 16, choices = [16, 128] }", "other choices here"),
            ("16", "no choices here"),
        ] {
            for (first, second) in [(two, other), (other, two)] {
                let error = space(first, second).unwrap_err();
                let said = error.to_string();
                assert!(
                    said.contains("`BLOCK` has other choices in another launch"),
                    "{said}"
                );
                assert_eq!(error.labels.len(), 2);
                assert!(first != two || error.labels[0].text == why, "{error:?}");
                assert!(error.help.is_some());
            }
        }
    }

    /// Fails at 65 elements and more; cannot be run at all below 4, nor judged where `n` is even.
    struct Breaks;

    impl Judge for Breaks {
        type Failure = ();

        fn judge(&mut self, case: &Case) -> Result<Verdict<()>> {
            match case.vars[0] {
                ..4 => Err(Error::input("too small to be run")),
                n if n < 900 && n % 2 == 0 => Err(Error::internal("an even one")),
                65.. => Ok(Verdict::Fail(())),
                _ => Ok(Verdict::Agree(Tightness::default())),
            }
        }

        fn same(&self, (): &(), (): &()) -> bool {
            true
        }

        fn go_on(&mut self, _: u32) -> bool {
            true
        }
    }

    /// An error in a smaller case takes nothing away from what was found.
    #[test]
    fn a_failure_outlives_an_error_in_a_smaller_case() {
        let space = space();
        let first = space.parse("n=1000,dtype=f32").unwrap();
        let found = search(&space, 1, 0, std::slice::from_ref(&first), &mut Breaks)
            .unwrap()
            .found;
        let found = found.expect("the failure stays");
        assert_eq!(found.first, first);
        assert!(found.smallest.vars[0] < 1000, "{found:?}");
        let (case, error) = found.error.expect("the error is told");
        assert_eq!((case.vars[0], error.message.as_str()), (1, "too small to be run"));
    }

    #[test]
    fn a_case_is_fitted_to_what_can_be_run() {
        let space = space();
        let case = space.parse("n=1000").unwrap();
        let size = |case: &Case| Some(case.vars[0] as u64);
        let fitted = |most| space.fitted(case.clone(), most, size).vars[0];
        assert_eq!(fitted(1000), 1000);
        assert_eq!(fitted(600), 321, "an edge, like the one it was");
        assert_eq!(fitted(0), 1, "never below the least");
    }
}
