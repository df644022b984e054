//! Where the error of an element grew: from its store back to the arguments, always to the operand that brought most of
//! the error, with each value beside its twin.
//!
//! How much an operation makes of its operands' errors is measured in relative errors, operands counted as at least
//! rounded; of a sum, the errors of all terms against the size of all terms. So a cancellation, an overflow and a sum
//! that swallows its terms stand out, and a last rounding does not. The rounds of a loop count together.

use std::collections::HashMap;

use tilescope_diagnostics::{Chain, Location, Value};
use tilescope_interpreter::explain::trace::{By, Inputs, Made, Point, Trace};
use tilescope_interpreter::names::Names;
use tilescope_ir::{Elem, FuncId, Function, Op, OpCode, Scalar, ValueId};

use crate::stages::Watched;
use crate::twin::{is_sum, unit};

/// Operations that are followed, at the most.
const MOST: usize = 1 << 16;

/// A value, the same in f64, and the bound on how far they may be apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Both {
    pub narrow: f64,
    pub wide: f64,
    pub bound: f64,
}

impl Both {
    /// How far they are apart: infinite where only one is a number.
    pub fn apart(self) -> f64 {
        if self.narrow == self.wide || (self.narrow.is_nan() && self.wide.is_nan()) {
            return 0.0;
        }
        let apart = (self.narrow - self.wide).abs();
        if apart.is_nan() { f64::INFINITY } else { apart }
    }

    /// The same relative to the right value.
    fn relative(self) -> f64 {
        match self.apart() {
            0.0 => 0.0,
            apart => apart / self.wide.abs(),
        }
    }

    /// True where it overflowed, or became NaN, and the right value is a number.
    pub fn is_lost(self) -> bool {
        !self.narrow.is_finite() && self.wide.is_finite()
    }
}

/// An operation on the way.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub location: Option<Location>,
    /// Its name in the op table.
    pub op: &'static str,
    /// What the author calls its value.
    pub name: Option<String>,
    /// Index of the lane in the tile.
    pub lane: Vec<u32>,
    pub number: Scalar,
    pub is: Both,
    /// Relative error of its operands.
    pub before: f64,
    /// Its operands, where they are few.
    pub operands: Vec<(String, Both)>,
    /// The value that it makes, the same in all rounds of a loop.
    value: (FuncId, ValueId),
    /// What a load read.
    pub from: Option<String>,
}

impl Step {
    /// Relative error of its result.
    pub fn after(&self) -> f64 {
        self.is.relative()
    }

    /// A relative error in units in the last place of its type.
    pub fn units(&self, relative: f64) -> f64 {
        relative / (2.0 * unit(self.number))
    }

    fn growth(&self) -> f64 {
        let unit = unit(self.number);
        let (before, after) = (self.before.max(unit), self.after().max(unit));
        match (before.is_finite(), after.is_finite()) {
            (true, true) => (after / before).ln(),
            (true, false) => f64::INFINITY,
            _ => 0.0,
        }
    }
}

/// The way of an element.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub program: [u32; 3],
    /// The operations, in the order of the program.
    pub steps: Vec<Step>,
    /// Some of it is forgotten.
    pub is_cut: bool,
}

impl Path {
    /// The way to the element that was stored last.
    pub fn of(watched: &Watched<'_>) -> Path {
        let walk = Walk::of(watched);
        let mut path = Path {
            program: watched.trace.program(),
            steps: Vec::new(),
            is_cut: false,
        };
        let mut next = watched.trace.stored().map(|(point, _)| point);
        let mut name = None;
        while let Some(point) = next {
            let Some(made) = walk.trace.at(point).filter(|_| path.steps.len() < MOST) else {
                path.is_cut = true;
                break;
            };
            name = walk.name(&made).or(name);
            next = match made.by {
                By::Given => None,
                By::Same(point) => Some(point),
                By::Op(function, op) => {
                    walk.step(&made, function, op, name.take())
                        .and_then(|(step, from)| {
                            path.steps.push(step);
                            from
                        })
                }
            };
        }
        path.steps.reverse();
        path
    }

    /// The operation, all its rounds together, that made most of the error; the first, if several made all of it.
    pub fn worst(&self) -> Option<Worst<'_>> {
        let mut grown: HashMap<(FuncId, ValueId), f64> = HashMap::new();
        for step in &self.steps {
            *grown.entry(step.value).or_default() += step.growth();
        }
        let mut worst: Option<(&Step, f64)> = None;
        for step in &self.steps {
            let grown = grown.get(&step.value).copied().unwrap_or(0.0);
            if grown > worst.map_or(0.0, |(_, most)| most) {
                worst = Some((step, grown));
            }
        }
        let (first, _) = worst?;
        let rounds = || self.steps.iter().filter(|step| step.value == first.value);
        let mut most = first;
        for step in rounds() {
            if step.growth() > most.growth() {
                most = step;
            }
        }
        Some(Worst {
            first,
            most,
            last: rounds().next_back()?,
        })
    }

    /// The first operation that is about as far off as the element.
    pub fn coarsest(&self) -> Option<&Step> {
        let last = self.steps.last()?;
        let about = |step: &&Step| step.after() > 0.0 && step.after() >= last.after() / 2.0;
        self.steps.iter().find(about)
    }

    /// The values on the way that have a name, and what loads read: the last of each, `most` of them.
    pub fn chain(&self, most: usize) -> Vec<Chain> {
        let mut told: Vec<Chain> = Vec::new();
        let worst = self.worst().map(|worst| worst.last.value);
        for step in self.steps.iter().rev() {
            let named = step.name.is_some() || step.from.is_some() || Some(step.value) == worst;
            let again = |chain: &Chain| chain.name == step.name && chain.location == step.location;
            if !named || told.iter().any(again) || told.len() >= most {
                continue;
            }
            let from = step
                .from
                .as_ref()
                .map_or(String::new(), |from| format!("{from}, "));
            told.push(Chain {
                location: step.location.clone(),
                op: step.op.to_string(),
                value: Value::Float(step.is.narrow),
                name: step.name.clone(),
                note: Some(match step.is.is_lost() {
                    true => format!("{from}in float64 {}", number(step.is.wide)),
                    false => format!(
                        "{from}in float64 {}, {} apart",
                        number(step.is.wide),
                        in_units(step.units(step.after()))
                    ),
                }),
            });
        }
        told.reverse();
        told
    }
}

/// An operation that made an error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worst<'a> {
    /// Its first round.
    pub first: &'a Step,
    /// The round in which the error grew most.
    pub most: &'a Step,
    /// Its last round.
    pub last: &'a Step,
}

/// A number as reports have them, short.
pub(crate) fn number(x: f64) -> String {
    match x.abs() {
        0.0 => String::from("0.0"),
        size if !size.is_finite() => x.to_string().to_lowercase(),
        1e-4..1e7 => {
            let text = format!("{x:.9}");
            let text = text.trim_end_matches('0');
            if text.ends_with('.') {
                format!("{text}0")
            } else {
                text.to_string()
            }
        }
        _ => format!("{x:.8e}"),
    }
}

/// An error in units in the last place, in words.
pub(crate) fn in_units(units: f64) -> String {
    match units {
        0.0 => String::from("0 ulp"),
        units if !units.is_finite() => String::from("infinitely many ulp"),
        ..0.1 => String::from("under 0.1 ulp"),
        ..100.0 => format!("{units:.1} ulp"),
        ..1e7 => format!("{units:.0} ulp"),
        _ => format!("{units:.1e} ulp"),
    }
}

/// A program that is watched, and the author's names.
pub(crate) struct Walk<'a> {
    watched: &'a Watched<'a>,
    pub trace: &'a Trace<'a, 'a, 'a>,
    names: HashMap<FuncId, Names>,
}

impl<'a> Walk<'a> {
    pub fn of(watched: &'a Watched<'a>) -> Walk<'a> {
        let functions = watched.module.funcs.iter();
        Walk {
            watched,
            trace: watched.trace,
            names: functions
                .map(|(id, function)| (id, Names::of(watched.module, function)))
                .collect(),
        }
    }

    /// The kernel's module.
    pub fn module(&self) -> &'a tilescope_ir::Module {
        self.watched.module
    }

    /// The kernel's function and value that one of the twin's stands for.
    pub fn original(&self, made: &Made<'_>) -> Option<(FuncId, ValueId)> {
        Some(self.watched.twin.beside(made.func, made.value)?.of)
    }

    /// The author's name of a value, with its lane.
    pub fn name(&self, made: &Made<'_>) -> Option<String> {
        let (func, value) = self.original(made)?;
        let names = self.names.get(&func)?;
        let (name, _) = names.get(value).filter(|_| !names.is_part(value))?;
        Some(match made.lane.is_empty() {
            true => name.to_string(),
            false => format!("{name}{:?}", made.lane),
        })
    }

    /// A float's value on both sides.
    pub fn both(&self, made: &Made<'_>) -> Option<Both> {
        let (wide, error) = self.watched.twin.beside(made.func, made.value)?.wide?;
        let float = |value: Value| match value {
            Value::Float(x) => Some(x),
            Value::Int(_) | Value::Bool(_) => None,
        };
        Some(Both {
            narrow: float(made.is)?,
            wide: float(self.trace.beside(made, wide)?)?,
            bound: float(self.trace.beside(made, error)?)?,
        })
    }

    /// An operation of a float, and the operand that brought most of its error, if one did.
    fn step(
        &self,
        made: &Made<'_>,
        function: &Function,
        op: &Op,
        name: Option<String>,
    ) -> Option<(Step, Option<Point>)> {
        let is = self.both(made)?;
        let number = function.ty(made.value).elem().and_then(Elem::scalar)?;
        let float = |point: Point| {
            let made = self.trace.at(point)?;
            Some((point, self.both(&made)?, self.name(&made)))
        };
        let inputs = self.trace.inputs(made);
        let mut operands = Vec::new();
        let (before, next) = match &inputs {
            Inputs::Lanes(points) => {
                let floats: Vec<_> = points.iter().filter_map(|&point| float(point)).collect();
                operands = named(&floats);
                let terms: Vec<(Point, Both)> =
                    floats.iter().map(|&(point, both, _)| (point, both)).collect();
                match op.code {
                    OpCode::AddF | OpCode::SubF => of_sum(&terms),
                    _ => of_factors(&terms),
                }
            }
            Inputs::Folded(points) => {
                let floats = points.iter().filter_map(|&point| float(point));
                let terms: Vec<(Point, Both)> = floats.map(|(point, both, _)| (point, both)).collect();
                match is_sum(function, op) {
                    true => of_sum(&terms),
                    false => of_pick(&terms, is),
                }
            }
            Inputs::Products(pairs, added) => {
                let both = |point: Point| float(point).map(|(point, both, _)| (point, both));
                let pairs = pairs.iter().filter_map(|&(a, b)| Some((both(a)?, both(b)?)));
                of_products(&pairs.collect::<Vec<_>>(), added.and_then(both))
            }
        };
        let step = Step {
            location: made.location.clone(),
            op: op.code.info().mnemonic,
            name,
            lane: made.lane.clone(),
            number,
            is,
            before,
            operands,
            value: (made.func, made.value),
            from: self.trace.loaded_from(made),
        };
        Some((step, next))
    }
}

/// Operands with what they are called.
fn named(floats: &[(Point, Both, Option<String>)]) -> Vec<(String, Both)> {
    let name = |i: usize| match (floats.len(), i) {
        (1, _) => String::from("operand"),
        (2, 0) => String::from("left"),
        (2, _) => String::from("right"),
        _ => format!("operand {}", i + 1),
    };
    let floats = floats.iter().enumerate();
    floats
        .map(|(i, (_, both, own))| (own.clone().unwrap_or_else(|| name(i)), *both))
        .collect()
}

/// The one with the largest measure, if that is not zero; the first of equals.
fn most<T: Copy>(of: impl Iterator<Item = (T, f64)>) -> Option<T> {
    let mut most: Option<(T, f64)> = None;
    for (item, measure) in of {
        if measure > most.map_or(0.0, |(_, most)| most) {
            most = Some((item, measure));
        }
    }
    most.map(|(item, _)| item)
}

/// `a / b`, and zero for nothing of nothing.
fn share(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

fn of_sum(terms: &[(Point, Both)]) -> (f64, Option<Point>) {
    let errors: f64 = terms.iter().map(|(_, both)| both.apart()).sum();
    let sizes: f64 = terms.iter().map(|(_, both)| both.wide.abs()).sum();
    let next = most(terms.iter().map(|&(point, both)| (point, both.apart())));
    (share(errors, sizes), next)
}

fn of_factors(terms: &[(Point, Both)]) -> (f64, Option<Point>) {
    let largest = terms.iter().map(|(_, both)| both.relative()).fold(0.0, f64::max);
    let next = most(terms.iter().map(|&(point, both)| (point, both.relative())));
    (largest, next)
}

/// Of a maximum and the like: the lane that was picked.
fn of_pick(terms: &[(Point, Both)], is: Both) -> (f64, Option<Point>) {
    let picked = terms.iter().find(|(_, both)| both.narrow == is.narrow);
    match picked {
        Some(&(point, both)) => (both.relative(), (both.apart() > 0.0).then_some(point)),
        None => of_factors(terms),
    }
}

type Factor = (Point, Both);

fn of_products(pairs: &[(Factor, Factor)], added: Option<Factor>) -> (f64, Option<Point>) {
    let error = |a: Both, b: Both| {
        let (x, y) = (
            share(a.apart(), 1.0) * b.wide.abs(),
            a.wide.abs() * share(b.apart(), 1.0),
        );
        if (x + y).is_nan() { f64::INFINITY } else { x + y }
    };
    let own = added.map_or((0.0, 0.0), |(_, both)| (both.apart(), both.wide.abs()));
    let (errors, sizes) = pairs.iter().fold(own, |(errors, sizes), ((_, a), (_, b))| {
        (errors + error(*a, *b), sizes + (a.wide * b.wide).abs())
    });
    let of_pair = |&((p, a), (q, b)): &(Factor, Factor)| {
        let larger = if b.relative() > a.relative() { q } else { p };
        (larger, error(a, b))
    };
    let added = added.map(|(point, both)| (point, both.apart()));
    (share(errors, sizes), most(pairs.iter().map(of_pair).chain(added)))
}
