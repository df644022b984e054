//! Where an engine parts from the interpreter: the program that wrote an element, followed back from its store, with the
//! values that the engine dumped of the same program beside the interpreter's.
//!
//! A float of the engine's is judged as outputs are: by its distance to the float64 twin, and the twin's bound for that
//! value. All else must be equal. The way goes to the operand that is farthest beyond its bound, and ends where an
//! operation is beyond its bound and none of its operands is. Addresses are judged by what they are made
//! of, and by the element. Values that the engine does not have are looked through, to what they are made of; that is told
//! where it matters.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use tilescope_diagnostics::{Result, Value};
use tilescope_interpreter::explain::trace::{By, Inputs, Made, Point};
use tilescope_ir::{Def, Elem, FuncId, LocId, Module, OpCode, OpId, Scalar, ValueId};
use tilescope_launch::fault::Line;
use tilescope_launch::view::View;
use tilescope_launch::{Dtype, Launch, Memory};

use crate::bounds::widened;
use crate::engine::{Dump, Engine, Watch};
use crate::failure::On;
use crate::fork::{Fork, Here, Place, Why, at};
use crate::growth::{Both, Walk, number};
use crate::judge::{Bench, Subject};
use crate::relations::numbers;
use crate::stages::Watched;
use crate::twin::Bounded;

/// Lanes that are followed to say what is dumped, at the most.
const MOST_POINTS: usize = 1 << 15;

/// Lanes that are looked through from one operation, at the most.
const MOST_THROUGH: usize = 1 << 12;

/// Operations on the way, at the most.
const MOST_WAY: usize = 1 << 12;

/// Names of operands that are not known, at the most.
const MOST_NAMES: usize = 4;

/// What a trace of an engine gave.
pub(crate) enum Beside {
    /// Where it parts from the interpreter.
    Parted(Fork),
    /// Nothing to be told, and why.
    Nothing(String),
}

impl Bench<'_> {
    /// The engine of a failure on the program that is watched, which wrote an element of an output.
    ///
    /// # Errors
    /// What cannot be allocated; an engine that is broken.
    pub(crate) fn beside_engine(
        &self,
        subject: &Subject,
        watched: &Watched<'_>,
        on: &On,
        element: (&Bounded, usize),
    ) -> Result<Beside> {
        let Some(engine) = self.engines.iter().find(|e| e.name() == on.engine) else {
            return Ok(Beside::Nothing(format!("{} is not there any more", on.engine)));
        };
        let Some(launch) = subject.bound.launches.get(watched.index) else {
            return Ok(Beside::Nothing(String::from("the launch is not known")));
        };
        let walk = Walk::of(watched);
        let ops = chosen(&walk);
        let watch = Watch {
            launch: watched.index,
            program: watched.trace.linear(),
            ops: &ops,
        };
        let mut memory = self.fresh(subject)?;
        let dump = match engine.trace(subject, on.warps, &watch, &mut memory) {
            Ok(Some(dump)) => dump,
            Ok(None) => {
                return Ok(Beside::Nothing(format!(
                    "only the output of {} is known",
                    engine.name()
                )));
            }
            Err(why) => {
                return Ok(Beside::Nothing(format!(
                    "no values of {} are to be had: {}",
                    engine.name(),
                    why.message
                )));
            }
        };
        let (bounded, index) = element;
        let got = numbers(&bounded.tensor, &memory);
        if let Some(&got) = got.get(index)
            && !self.is_off(bounded, index, got)
        {
            return Ok(Beside::Nothing(right_now(*engine, &dump, got)));
        }
        let pairs = Pairs {
            dumped: Dumped::of(watched.module, (launch, &memory), &dump.lines),
            walk,
            side: format!("on {}", on.words()),
        };
        Ok(pairs.follow(&dump))
    }

    fn is_off(&self, bounded: &Bounded, index: usize, got: f64) -> bool {
        let (Some(&wide), Some(&error)) = (bounded.wide.get(index), bounded.error.get(index)) else {
            return true;
        };
        let bound = widened(error, self.asked(wide));
        let both = Both {
            narrow: got,
            wide,
            bound,
        };
        bound.is_finite() && both.apart() > bound
    }
}

/// The element is not wrong in the run that dumped.
fn right_now(engine: &dyn Engine, dump: &Dump, got: f64) -> String {
    let got = number(got);
    match &dump.by {
        Some(by) => format!(
            "{} dumps no values, and in {by} the element is {got}, within its bound",
            engine.name()
        ),
        None => format!(
            "with values dumped the element is {got} on {}, within its bound: the compiler makes other code of a kernel \
             that dumps, so none of its values tell anything",
            engine.name()
        ),
    }
}

/// The operations that an element is computed by, as far back as it is followed.
fn chosen(walk: &Walk<'_>) -> BTreeSet<(FuncId, OpId)> {
    let mut ops = BTreeSet::new();
    let mut todo = VecDeque::from(walk.trace.stored_by());
    let mut seen = HashSet::new();
    while let Some(point) = todo.pop_front() {
        let Some(here) = at(walk, point) else { continue };
        if seen.len() >= MOST_POINTS || !seen.insert(key(walk, &here.made)) {
            continue;
        }
        if let Some((func, value)) = walk.original(&here.made)
            && let Def::Result(op, _) = walk.module().funcs[func].values[value].def
        {
            ops.insert((func, op));
        }
        todo.extend(inputs(walk, &here.made));
    }
    ops
}

/// Stands for a lane at a moment.
fn key(walk: &Walk<'_>, made: &Made<'_>) -> (FuncId, ValueId, usize, u64) {
    (made.func, made.value, walk.trace.lane(made), made.tick)
}

/// All lanes that go into one: of a load, its address and mask too.
fn inputs(walk: &Walk<'_>, made: &Made<'_>) -> Vec<Point> {
    let By::Op(_, op) = made.by else { return Vec::new() };
    if matches!(op.code, OpCode::Load | OpCode::AtomicLoad) {
        return walk.trace.operands(made);
    }
    match walk.trace.inputs(made) {
        Inputs::Lanes(points) | Inputs::Folded(points) => points,
        Inputs::Products(pairs, added) => {
            let factors = pairs.into_iter().flat_map(|(a, b)| [a, b]);
            added.into_iter().chain(factors).collect()
        }
    }
}

/// An operation, as one way of calls led to it.
type Spot<'d> = (FuncId, OpId, &'d [LocId]);

/// What an engine dumped: the executions of each operation, in the order of the program.
struct Dumped<'d> {
    module: &'d Module,
    launch: &'d Launch,
    memory: &'d Memory,
    lines: HashMap<Spot<'d>, Vec<&'d Line>>,
    /// Where functions are called more than once: executions there are not told apart.
    many: HashSet<LocId>,
}

impl<'d> Dumped<'d> {
    fn of(module: &'d Module, (launch, memory): (&'d Launch, &'d Memory), dumped: &'d [Line]) -> Dumped<'d> {
        let mut lines: HashMap<Spot<'d>, Vec<&'d Line>> = HashMap::new();
        for line in dumped {
            let spot = (line.spot.function, line.spot.op, &line.spot.calls[..]);
            lines.entry(spot).or_default().push(line);
        }
        let functions = module.funcs.iter();
        let ops = functions.flat_map(|(_, function)| function.ops.iter());
        let mut called = HashSet::new();
        let many = ops
            .filter(|(_, op)| op.code == OpCode::Call && !called.insert(op.loc))
            .map(|(_, op)| op.loc)
            .collect();
        Dumped {
            module,
            launch,
            memory,
            lines,
            many,
        }
    }

    /// What the engine has in the place of a lane of the interpreter's.
    fn value(&self, walk: &Walk<'_>, made: &Made<'_>) -> Option<Value> {
        let (elem, bits) = self.lane(walk, made)?;
        decoded(elem.scalar()?, bits)
    }

    /// The elements that an address is the one of on both sides, in words, if they are not the same.
    fn address(&self, walk: &Walk<'_>, made: &Made<'_>) -> Option<(String, String)> {
        let (name, element) = walk.trace.points_at(made)?;
        let (_, address) = self.lane(walk, made)?;
        let tensor = self.launch.tensors.iter().find(|tensor| tensor.name == name)?;
        let allocation = self.memory.allocations.get(tensor.allocation.0 as usize)?;
        let offset = i128::from(address) - i128::from(allocation.base);
        let there = View::new(tensor, tensor.dtype.bytes()).element(offset);
        let there = there.filter(|_| (0..=allocation.bytes.len() as i128).contains(&offset));
        match there {
            Some(there) if there == element => None,
            Some(there) => Some((format!("{name}{element:?}"), format!("{name}{there:?}"))),
            None => Some((
                format!("{name}{element:?}"),
                format!("an address outside of `{name}`"),
            )),
        }
    }

    fn lane(&self, walk: &Walk<'_>, made: &Made<'_>) -> Option<(Elem, u64)> {
        let (func, value) = walk.original(made)?;
        if made.calls.iter().any(|loc| self.many.contains(loc)) {
            return None;
        }
        let function = &self.module.funcs[func];
        let Def::Result(op, result) = function.values[value].def else {
            return None;
        };
        let executions = self.lines.get(&(func, op, &made.calls[..]))?;
        let lanes = executions.get(made.nth as usize)?.operands.get(result as usize)?;
        let lane = if lanes.len() == 1 {
            0
        } else {
            walk.trace.lane(made)
        };
        Some((function.ty(value).elem()?, *lanes.get(lane)?))
    }
}

/// The number that bits of a type stand for, as the interpreter tells it.
fn decoded(scalar: Scalar, bits: u64) -> Option<Value> {
    if scalar == Scalar::I1 {
        return Some(Value::Bool(bits & 1 == 1));
    }
    if scalar == Scalar::Index {
        return Some(Value::Int(i128::from(bits as i64)));
    }
    let dtype = Dtype::of_scalar(scalar)?;
    match dtype.is_float() {
        true => Some(Value::Float(dtype.decode_float(bits))),
        false => dtype.decode_int(bits).map(Value::Int),
    }
}

/// How an engine's value fares beside the interpreter's.
enum Judged {
    /// Floats before all others, and by how many of its bounds.
    Off((bool, f64)),
    Agrees,
    /// The bound says nothing.
    Unknown,
}

fn judged(place: &Place, there: Value) -> Judged {
    let (Some(both), Value::Float(x)) = (place.both, there) else {
        return match place.is == there {
            true => Judged::Agrees,
            false => Judged::Off((false, 1.0)),
        };
    };
    let there = Both { narrow: x, ..both };
    let apart = there.apart();
    if apart == 0.0 {
        return Judged::Agrees;
    }
    if !both.bound.is_finite() {
        return Judged::Unknown;
    }
    match apart > both.bound {
        false => Judged::Agrees,
        true => Judged::Off((true, apart / both.bound.max(1e-300))),
    }
}

/// The interpreter's program and the engine's.
struct Pairs<'a, 'd> {
    walk: Walk<'a>,
    dumped: Dumped<'d>,
    side: String,
}

/// What goes into a value.
#[derive(Default)]
struct Into {
    /// The lane that is farthest beyond its bound.
    off: Option<((bool, f64), Point)>,
    /// An address that is another one there: the elements here and there.
    address: Option<(String, String)>,
    /// What is not known.
    unknown: Vec<String>,
}

impl Pairs<'_, '_> {
    fn follow(&self, dump: &Dump) -> Beside {
        let roots = self.walk.trace.stored_by();
        let first = self.farthest(roots.into());
        let Some((_, mut point)) = first.off else {
            return Beside::Nothing(self.nothing(first, dump));
        };
        let mut way = Vec::new();
        let mut why = Why::Forgotten;
        let mut operands = Vec::new();
        while let Some(here) = at(&self.walk, point).filter(|_| way.len() < MOST_WAY) {
            let Some(there) = self.dumped.value(&self.walk, &here.made) else {
                break;
            };
            way.push((here.place.clone(), beside(&here.place, there)));
            let into = self.farthest(inputs(&self.walk, &here.made).into());
            if let Some((_, next)) = into.off {
                point = next;
                continue;
            }
            operands = self.operands(&here);
            why = self.why(&here, into);
            break;
        }
        way.reverse();
        let program = self.walk.trace.program();
        Beside::Parted(Fork {
            programs: (program, program),
            way,
            operands,
            why,
            side: match &dump.by {
                Some(by) => format!("{} (traced in {by})", self.side),
                None => self.side.clone(),
            },
        })
    }

    /// Of some lanes, and what is behind those that the engine has no value of, the one farthest beyond its bound.
    fn farthest(&self, mut todo: VecDeque<Point>) -> Into {
        let mut into = Into::default();
        let mut seen = HashSet::new();
        while let Some(point) = todo.pop_front() {
            let Some(here) = at(&self.walk, point) else {
                continue;
            };
            if seen.len() >= MOST_THROUGH || !seen.insert(key(&self.walk, &here.made)) {
                continue;
            }
            if is_address(&here.made) {
                // What an address is made of says more than that it is another one.
                let other = || self.dumped.address(&self.walk, &here.made);
                into.address = into.address.take().or_else(other);
                todo.extend(inputs(&self.walk, &here.made));
                continue;
            }
            let there = self.dumped.value(&self.walk, &here.made);
            match there.map_or(Judged::Unknown, |there| judged(&here.place, there)) {
                Judged::Agrees => {}
                Judged::Off(rank) => {
                    if into.off.as_ref().is_none_or(|(most, _)| rank > *most) {
                        into.off = Some((rank, point));
                    }
                }
                Judged::Unknown => {
                    self.unknown(&here, &mut into.unknown);
                    todo.extend(inputs(&self.walk, &here.made));
                }
            }
        }
        into
    }

    /// Names what is not known, but for what both sides are given.
    fn unknown(&self, here: &Here<'_>, names: &mut Vec<String>) {
        let By::Op(_, op) = here.made.by else { return };
        let name = match &here.place.name {
            Some(name) => format!("`{name}`"),
            None => here.place.op.to_string(),
        };
        if op.code != OpCode::Constant && names.len() < MOST_NAMES && !names.contains(&name) {
            names.push(name);
        }
    }

    /// The operands of an operation, where they are few and known.
    fn operands(&self, here: &Here<'_>) -> Vec<(Place, Place)> {
        let points = inputs(&self.walk, &here.made);
        if points.len() > MOST_NAMES {
            return Vec::new();
        }
        let known = points.into_iter().filter_map(|point| {
            let here = at(&self.walk, point)?;
            let there = self.dumped.value(&self.walk, &here.made)?;
            let there = beside(&here.place, there);
            Some((here.place, there))
        });
        known.collect()
    }

    fn why(&self, here: &Here<'_>, into: Into) -> Why {
        let By::Op(_, op) = here.made.by else {
            return Why::Given;
        };
        match (op.code, self.walk.trace.loaded_from(&here.made), into.address) {
            (OpCode::Constant, ..) => Why::Constant,
            (_, Some(_), Some((a, b))) => Why::OtherElement(a, b),
            (_, Some(from), None) => Why::OtherNumber(from),
            _ => Why::BeyondBound(into.unknown),
        }
    }

    /// Nothing that the element is made of is beyond its bound.
    fn nothing(&self, first: Into, dump: &Dump) -> String {
        if let Some((a, b)) = first.address {
            return format!("the store to {a} goes to {b} {}", self.side);
        }
        let (mut known, mut unknown) = (0, 0);
        let mut seen = HashSet::new();
        let mut todo = VecDeque::from(self.walk.trace.stored_by());
        while let Some(point) = todo.pop_front() {
            let Some(here) = at(&self.walk, point) else {
                continue;
            };
            if seen.len() >= MOST_POINTS || !seen.insert(key(&self.walk, &here.made)) {
                continue;
            }
            todo.extend(inputs(&self.walk, &here.made));
            if matches!(here.made.by, By::Given) || is_address(&here.made) {
                continue;
            }
            match self
                .dumped
                .value(&self.walk, &here.made)
                .map(|there| judged(&here.place, there))
            {
                Some(Judged::Agrees) => known += 1,
                Some(Judged::Off(_)) => {
                    return format!(
                        "{} {} differs, but not what it goes into",
                        self.side,
                        here.place.word()
                    );
                }
                Some(Judged::Unknown) | None => unknown += 1,
            }
        }
        let cut = match dump.is_cut {
            true => ", for not all fit",
            false => "",
        };
        format!(
            "{} all {known} lanes that the element is computed from agree with the interpreter's, {unknown} are not known{cut}: \
             another program, or another store of this one, leaves another number there",
            self.side
        )
    }
}

fn is_address(made: &Made<'_>) -> bool {
    let By::Op(function, _) = made.by else {
        return false;
    };
    matches!(function.ty(made.value).elem(), Some(Elem::Ptr(_)))
}

/// The engine's value in a place.
fn beside(place: &Place, there: Value) -> Place {
    let both = match there {
        Value::Float(x) => place.both.map(|both| Both { narrow: x, ..both }),
        _ => None,
    };
    Place {
        is: there,
        both,
        ..place.clone()
    }
}
