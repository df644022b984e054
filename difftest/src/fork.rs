//! Where two runs part: the program that wrote an element on either side, followed back operation by operation, both at
//! once, always to the operands that differ most beyond their bounds.
//!
//! Operations are aligned by the way that leads to them from the element: the same operation with the same operands on
//! both sides. Lanes of tiles of other sizes are aligned by the elements that they were loaded from. Rounds of loops are
//! aligned by the loop's counter; where the last rounds do not correspond, the way ends at what the loop gives.

use std::collections::HashMap;

use tilescope_diagnostics::{Chain, Location, Value};
use tilescope_interpreter::explain::trace::{By, Inputs, Made, Point};
use tilescope_ir::OpCode;

use crate::growth::{Both, Walk, number};
use crate::stages::Watched;

/// Pairs of operations that are followed, at the most.
const MOST: usize = 1 << 14;

/// Operations between a lane and the load that it comes from, at the most.
const MOST_TO_LOAD: usize = 64;

/// A value on one side.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub location: Option<Location>,
    /// The operation's name in the op table; `argument` for what is given.
    pub op: &'static str,
    pub name: Option<String>,
    pub lane: Vec<u32>,
    pub is: Value,
    pub both: Option<Both>,
}

impl Place {
    /// What the author calls it, else what makes it.
    pub fn word(&self) -> &str {
        self.name.as_deref().unwrap_or(self.op)
    }
}

/// Why the way ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Why {
    /// All that goes in agrees.
    OperandsAgree,
    /// Loads of different elements.
    OtherElement(String, String),
    /// Loads of one element that holds different numbers.
    OtherNumber(String),
    /// Constants.
    Constant,
    /// Lanes that a load leaves without a value.
    MaskedOff,
    /// One side takes what the other does not.
    OtherChoice,
    /// Other operations.
    OtherOperation,
    /// A loop whose rounds do not correspond.
    Rounds,
    /// Lanes that have no partner on the other side, and are not zero: how many here and there, and the first of them.
    Alone(usize, usize, f64),
    /// An argument differs.
    Given,
    /// The value is beyond its bound and its operands are not, but for these, which are not known.
    BeyondBound(Vec<String>),
    /// What was before is forgotten, or too far away.
    Forgotten,
}

/// Where two runs part.
#[derive(Debug, Clone)]
pub(crate) struct Fork {
    pub programs: ([u32; 3], [u32; 3]),
    /// From where they part to the element, in the order of the programs.
    pub way: Vec<(Place, Place)>,
    /// The operands of the first of them, where they are few.
    pub operands: Vec<(Place, Place)>,
    pub why: Why,
    /// The other side in words.
    pub side: String,
}

/// A point with what was there.
pub(crate) struct Here<'m> {
    pub made: Made<'m>,
    pub place: Place,
}

/// What comes next.
enum Next {
    Pair(Point, Point),
    End(Why),
    /// This pair is the last.
    Last(Point, Point, Why),
}

/// Follows two programs from the element that each stored; `exact` takes every other number for a difference.
pub(crate) fn fork(here: &Watched<'_>, there: &Watched<'_>, exact: bool) -> Option<Fork> {
    let walks = Pair {
        a: Walk::of(here),
        b: Walk::of(there),
        exact,
    };
    let programs = (here.trace.program(), there.trace.program());
    let (mut a, mut b) = (here.trace.stored()?.0, there.trace.stored()?.0);
    let mut way = Vec::new();
    let mut last = None;
    let why = loop {
        let (Some(one), Some(other)) = (at(&walks.a, a), at(&walks.b, b)) else {
            break Why::Forgotten;
        };
        way.push((one.place.clone(), other.place.clone()));
        if let Some(why) = last.take() {
            break why;
        }
        if way.len() >= MOST {
            break Why::Forgotten;
        }
        match walks.next(&one, &other) {
            Next::Pair(p, q) => (a, b) = (p, q),
            Next::Last(p, q, why) => {
                (a, b) = (p, q);
                last = Some(why);
            }
            Next::End(why) => break why,
        }
    };
    way.reverse();
    Some(Fork {
        programs,
        way,
        operands: Vec::new(),
        why,
        side: String::from("there"),
    })
}

/// What a point is, behind its names and the loops that handed it on.
pub(crate) fn at<'m>(walk: &Walk<'m>, mut point: Point) -> Option<Here<'m>> {
    let mut name = None;
    for _ in 0..MOST {
        let made = walk.trace.at(point)?;
        name = name.or_else(|| walk.name(&made));
        let op = match made.by {
            By::Same(same) => {
                point = same;
                continue;
            }
            By::Given => "argument",
            By::Op(_, op) => op.code.info().mnemonic,
        };
        let place = Place {
            location: made.location.clone(),
            op,
            name,
            lane: made.lane.clone(),
            is: made.is,
            both: walk.both(&made),
        };
        return Some(Here { made, place });
    }
    None
}

struct Pair<'a> {
    a: Walk<'a>,
    b: Walk<'a>,
    exact: bool,
}

impl Pair<'_> {
    fn next(&self, a: &Here<'_>, b: &Here<'_>) -> Next {
        let (one, other) = match (&a.made.by, &b.made.by) {
            (By::Given, By::Given) => return Next::End(Why::Given),
            (By::Op(_, one), By::Op(_, other)) if one.code == other.code => (one, other),
            _ => return Next::End(Why::OtherOperation),
        };
        if one.code == OpCode::Load {
            let from = |walk: &Walk<'_>, made| walk.trace.loaded_from(made);
            match (from(&self.a, &a.made), from(&self.b, &b.made)) {
                (Some(x), Some(y)) if x == y => return Next::End(Why::OtherNumber(x)),
                (None, None) if one.operands.len() < 3 => return Next::End(Why::MaskedOff),
                (None, None) => {}
                (x, y) => {
                    let word = |from: Option<String>| {
                        from.unwrap_or_else(|| String::from("nothing, being masked off"))
                    };
                    return Next::End(Why::OtherElement(word(x), word(y)));
                }
            }
        }
        if one.code == OpCode::Constant {
            return Next::End(Why::Constant);
        }
        if one.operands.len() != other.operands.len() {
            return Next::End(Why::OtherOperation);
        }
        match (self.a.trace.inputs(&a.made), self.b.trace.inputs(&b.made)) {
            (Inputs::Lanes(x), Inputs::Lanes(y)) => {
                let sides = |inputs: &[Point], walk: &Walk<'_>| -> Vec<bool> {
                    let float = |&point: &Point| at(walk, point).is_some_and(|h| h.place.both.is_some());
                    inputs.iter().map(float).collect()
                };
                if x.len() != y.len() || sides(&x, &self.a) != sides(&y, &self.b) {
                    return Next::End(Why::OtherChoice);
                }
                self.most(x.into_iter().zip(y))
                    .unwrap_or(Next::End(Why::OperandsAgree))
            }
            (Inputs::Folded(x), Inputs::Folded(y)) => self.folded(&x, &y),
            (Inputs::Products(x, c), Inputs::Products(y, d)) if x.len() == y.len() => {
                let factors = x.into_iter().zip(y).flat_map(|((a, b), (c, d))| [(a, c), (b, d)]);
                let all = factors.chain(c.zip(d));
                self.most(all).unwrap_or(Next::End(Why::OperandsAgree))
            }
            _ => Next::End(Why::Rounds),
        }
    }

    /// The pair that differs most: floats before all others.
    fn most(&self, pairs: impl Iterator<Item = (Point, Point)>) -> Option<Next> {
        let mut most: Option<((bool, f64), Next)> = None;
        for (p, q) in pairs {
            let (Some(a), Some(b)) = (at(&self.a, p), at(&self.b, q)) else {
                continue;
            };
            let Some(excess) = self.excess(&a.place, &b.place) else {
                continue;
            };
            let rank = (a.place.both.is_some(), excess);
            if most.as_ref().is_none_or(|(known, _)| rank > *known) {
                let next = match self.a.trace.rounds(&a.made) == self.b.trace.rounds(&b.made) {
                    true => Next::Pair(p, q),
                    false => Next::Last(p, q, Why::Rounds),
                };
                most = Some((rank, next));
            }
        }
        most.map(|(_, next)| next)
    }

    /// By how many of their bounds two values are apart, if they are farther than that.
    fn excess(&self, a: &Place, b: &Place) -> Option<f64> {
        let (Some(a), Some(b)) = (a.both, b.both) else {
            return (a.is != b.is).then_some(1.0);
        };
        if a.narrow == b.narrow || (a.narrow.is_nan() && b.narrow.is_nan()) {
            return None;
        }
        let apart = (a.narrow - b.narrow).abs();
        let bound = a.bound + b.bound;
        match apart.is_finite() {
            false => Some(f64::INFINITY),
            true if self.exact || !bound.is_finite() => Some(apart),
            true => (apart > bound).then(|| apart / bound.max(1e-300)),
        }
    }

    fn folded(&self, x: &[Point], y: &[Point]) -> Next {
        if x.len() == y.len() {
            let pairs = x.iter().copied().zip(y.iter().copied());
            return self.most(pairs).unwrap_or(Next::End(Why::OperandsAgree));
        }
        let of_there: Vec<Option<String>> = y.iter().map(|&q| loaded(&self.b, q)).collect();
        let there: HashMap<&String, Point> = of_there
            .iter()
            .zip(y)
            .filter_map(|(from, &q)| Some((from.as_ref()?, q)))
            .collect();
        let of_here: Vec<Option<String>> = x.iter().map(|&p| loaded(&self.a, p)).collect();
        let partner = |from: &Option<String>| from.as_ref().and_then(|from| there.get(from).copied());
        let pairs = x
            .iter()
            .zip(&of_here)
            .filter_map(|(&p, from)| Some((p, partner(from)?)));
        if let Some(next) = self.most(pairs) {
            return next;
        }
        let alone = |walk: &Walk<'_>,
                     points: &[Point],
                     from: &[Option<String>],
                     known: &dyn Fn(&Option<String>) -> bool| {
            let points = points.iter().zip(from).filter(|(_, from)| !known(from));
            let values = points.filter_map(|(&point, _)| Some(at(walk, point)?.place.both?.narrow));
            values.filter(|&x| x != 0.0).collect::<Vec<f64>>()
        };
        let here = alone(&self.a, x, &of_here, &|from| partner(from).is_some());
        let known: HashMap<&String, ()> = of_here.iter().flatten().map(|from| (from, ())).collect();
        let there = alone(&self.b, y, &of_there, &|from| {
            from.as_ref().is_some_and(|from| known.contains_key(from))
        });
        match here.first().or(there.first()) {
            Some(&first) => Next::End(Why::Alone(here.len(), there.len(), first)),
            None => Next::End(Why::OperandsAgree),
        }
    }
}

/// The element that a lane was loaded from, by the first float of each operation on the way.
fn loaded(walk: &Walk<'_>, mut point: Point) -> Option<String> {
    for _ in 0..MOST_TO_LOAD {
        let here = at(walk, point)?;
        if let Some(from) = walk.trace.loaded_from(&here.made) {
            return Some(from);
        }
        let Inputs::Lanes(inputs) = walk.trace.inputs(&here.made) else {
            return None;
        };
        let mut floats = inputs.into_iter();
        point = floats.find(|&p| {
            at(walk, p).is_some_and(|h| {
                h.place.both.is_some() && !matches!(h.made.by, By::Given) && h.place.op != "arith.constant"
            })
        })?;
    }
    None
}

/// A value as reports have it, short.
fn word(value: Value) -> String {
    match value {
        Value::Float(x) => number(x),
        Value::Int(x) => x.to_string(),
        Value::Bool(x) => x.to_string(),
    }
}

impl Fork {
    /// The named values from where they part on, and the last one; `most` of them.
    pub fn chain(&self, most: usize) -> Vec<Chain> {
        let mut told: Vec<Chain> = Vec::new();
        for (i, (here, there)) in self.way.iter().enumerate() {
            let ends = i == 0 || i + 1 == self.way.len();
            let again = told
                .iter()
                .any(|c| c.name == here.name && c.location == here.location);
            if told.len() >= most || again || !(ends || here.name.is_some()) {
                continue;
            }
            let (side, value) = (&self.side, word(there.is));
            let place = there
                .location
                .as_ref()
                .filter(|_| there.location != here.location);
            let place = place.map_or(String::new(), |l| {
                format!(" at {}:{}", l.frame.file, l.frame.line)
            });
            told.push(Chain {
                location: here.location.clone(),
                op: here.op.to_string(),
                value: here.is,
                name: here.name.clone(),
                note: Some(format!("{side} {value}{place}")),
            });
        }
        told
    }

    /// Why they part, in words that go on a sentence.
    pub fn words(&self) -> String {
        let Some((here, there)) = self.way.first() else {
            return String::from("where they part is not known");
        };
        let side = &self.side;
        match &self.why {
            Why::BeyondBound(unknown) => {
                let far = match there.both {
                    Some(both) => format!(
                        "{} in float64, at most {} apart",
                        number(both.wide),
                        number(both.bound)
                    ),
                    None => format!("{} here", word(here.is)),
                };
                let operands = match &unknown[..] {
                    [] => String::from("its operands agree"),
                    unknown => format!(
                        "its operands agree as far as they are known ({} is not)",
                        unknown.join(", ")
                    ),
                };
                format!(
                    "the first operation beyond its bound is made here ({}): {} {side}, {far}; {operands}",
                    here.op,
                    word(there.is)
                )
            }
            Why::OperandsAgree => format!(
                "the first value that differs is made here ({}), of operands that agree",
                here.op
            ),
            Why::OtherElement(a, b) => format!("they part here: the load reads {a}, {side} {b}"),
            Why::OtherNumber(from) => {
                format!("they part here: what is loaded {from} is another number {side}")
            }
            Why::Constant => format!("they part here: a constant has another value {side}"),
            Why::MaskedOff => {
                String::from("they part here: the lane is masked off, and nothing gives it a value")
            }
            Why::OtherChoice => format!("they part here: {} takes another operand there", here.op),
            Why::OtherOperation => format!("they part here: this is {}, there {}", here.op, there.op),
            Why::Rounds => format!(
                "the first value that differs is {}: the rounds of its loop do not correspond, and are not compared",
                here.word()
            ),
            Why::Alone(here, there, first) => format!(
                "they part here: lanes without a counterpart count too, {here} here and {there} there; the first holds {}",
                number(*first)
            ),
            Why::Given => format!("they part here: `{}` is given another value", here.word()),
            Why::Forgotten => format!(
                "{} differs; what it comes from is too long ago to be followed",
                here.word()
            ),
        }
    }
}
