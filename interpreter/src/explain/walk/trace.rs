//! A program that ran to its end, watched: what a lane of a value was, and what it was computed from.
//!
//! For who follows values by rules of their own, as differential testing does. A lane is asked for at a [`Point`], a
//! moment of the program; where a loop went round too often for all of it to be kept, there are no answers for what is
//! forgotten.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{Location, Result, Value};
use tilescope_ir::{Attrs, Family, FuncId, Function, LocId, Op, OpCode, ValueId};
use tilescope_launch::{Launch, Memory};

use super::super::{Cause, Look, MOST_WORK, parts};
use super::{Code, Defined, Moment, Number, Operands, Recorder, Tick, place, print, shape_of, unravel};
use crate::frame::Tensor;
use crate::kind::Kind;
use crate::machine::{Context, Machine, Rest, Stop};
use crate::stepping::Stepping;
use crate::tape::Order;
use crate::{Prepared, access, races, schedule};

/// A lane of a value at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Point {
    value: Number,
    lane: usize,
    before: Tick,
}

/// What made a value.
#[derive(Debug, Clone)]
pub enum By<'m> {
    /// It is an argument, or a loop's counter.
    Given,
    /// It is another one under another name, or was handed on by a loop or a call.
    Same(Point),
    /// An operation of a function.
    Op(&'m Function, &'m Op),
}

/// What was at a point.
#[derive(Debug, Clone)]
pub struct Made<'m> {
    /// The function that the value is one of.
    pub func: FuncId,
    /// The value.
    pub value: ValueId,
    /// The number in the lane.
    pub is: Value,
    /// What made it.
    pub by: By<'m>,
    /// Where that is.
    pub location: Option<Location>,
    /// Index of the lane in the tile.
    pub lane: Vec<u32>,
    /// Locations of the calls that led to the function, innermost first.
    pub calls: Arc<[LocId]>,
    /// When it was written, in operations of the program.
    pub tick: Tick,
    /// How often what made it had been executed before.
    pub nth: u32,
    /// When it was written again.
    until: Tick,
    number: Number,
    linear: usize,
    position: u32,
}

/// The lanes that a lane was computed from.
#[derive(Debug, Clone)]
pub enum Inputs {
    /// One of each operand, those that the lane does not come from left out.
    Lanes(Vec<Point>),
    /// All that a reduce or a scan combined.
    Folded(Vec<Point>),
    /// Of a matrix product, the factors, and what their products are added to.
    Products(Vec<(Point, Point)>, Option<Point>),
}

/// A program that ran, and can be asked.
pub struct Trace<'a, 'm, 'r> {
    moment: Moment<'a, 'm, 'r>,
    stored: Stored,
}

/// The last store to the element that is asked for.
#[derive(Debug, Clone, Copy)]
struct Stored {
    position: u32,
    now: Tick,
    lane: usize,
}

impl Prepared<'_> {
    /// Runs the program of a cause once more, on the arguments as they were before the launch, and gives it to `look`; after
    /// all programs before it, or `first` of all.
    ///
    /// None for a cause that is no output's ([`Prepared::cause_of`]), for programs that wait for each other and shall run
    /// first, where there is too much to watch, and where the store is not found: one through a descriptor.
    ///
    /// # Errors
    /// What cannot be lowered.
    pub fn trace<T>(
        &self,
        cause: &Cause,
        before: &mut Memory,
        first: bool,
        look: impl FnOnce(&Trace<'_, '_, '_>) -> T,
    ) -> Result<Option<T>> {
        let Look::Stored(offset, elem) = cause.look else {
            return Ok(None);
        };
        let stepping = Stepping::new(self.module, self.kernel, self.launch, self.options)?;
        let waits = stepping.tape.order == Order::Cooperative;
        if waits && first {
            return Ok(None);
        }
        let code = Code::new(self.module, &stepping);
        let cancel = AtomicBool::new(false);
        let mut memory = access::Memory::new(self.launch, before, self.options.checks, &cancel);
        memory.poison = self.options.poison;
        let limits = schedule::Limits {
            suspended_bytes: self.options.suspended_bytes,
        };
        if !waits && !first && !self.is_repeatable() {
            let (max_steps, cpu) = (self.options.max_steps, self.options.cpu);
            let context = Context::new(&self.tape, self.launch.grid, memory, max_steps, cpu);
            let ran = schedule::run_some(&context, 0..cause.linear, limits, &|_| {});
            ran.map_err(tilescope_diagnostics::Error::unsupported)?;
            memory = context.memory;
        }
        memory.races = races::Watch::default();
        let context = self.stepping_context(&code, memory);
        let mut watched = Watched {
            recorder: Recorder::new(&code.stepping.tape),
            code: &code,
            launch: self.launch,
            wanted: (cause.key.tensor, (offset, elem)),
            stored: None,
        };
        let mut look = Some(look);
        let mut seen = None;
        let mut drive = |machine: &mut Machine<'_>, position: u32| {
            if machine.linear != cause.linear {
                return machine.resume(position);
            }
            let rest = watched.drive(machine, position)?;
            if let Some(rest @ Rest::Yielded(_)) = rest {
                return Ok(rest);
            }
            if let (Some(trace), Some(look)) = (watched.trace(machine), look.take()) {
                seen = Some(look(&trace));
            }
            // Nobody asks for the rest of the launch.
            Err(Stop::Interrupted)
        };
        if waits {
            let ran = schedule::run_watched(&context, 0..self.programs(), limits, &mut drive);
            ran.map_err(tilescope_diagnostics::Error::unsupported)?;
        } else {
            let mut machine = Machine::new(&context);
            machine.start(cause.linear);
            let _ = drive(&mut machine, 0);
        }
        Ok(seen)
    }
}

/// The program that is asked for, while it runs.
struct Watched<'a, 'm> {
    recorder: Recorder<'m>,
    code: &'a Code<'m>,
    launch: &'a Launch,
    /// The byte of a tensor that it stores to.
    wanted: (Tensor, (u64, u32)),
    stored: Option<Stored>,
}

impl<'m> Watched<'_, 'm> {
    fn drive(&mut self, machine: &mut Machine<'_>, position: u32) -> std::result::Result<Option<Rest>, Stop> {
        let (code, launch, (tensor, byte)) = (self.code, self.launch, self.wanted);
        let stored = &mut self.stored;
        let mut look = |recorder: &Recorder<'_>, machine: &mut Machine<'_>, position: u32, now: Tick| {
            let moment = Moment {
                code,
                recorder,
                machine,
                launch,
            };
            if let Some(lane) = moment.stores_to(position, now, tensor, byte) {
                *stored = Some(Stored { position, now, lane });
            }
            recorder.work < MOST_WORK
        };
        self.recorder.drive(machine, position, &mut look)
    }

    fn trace<'t, 'r>(&'t self, machine: &'t Machine<'r>) -> Option<Trace<'t, 'm, 'r>> {
        let stored = self.stored.filter(|_| self.recorder.work < MOST_WORK)?;
        let moment = Moment {
            code: self.code,
            recorder: &self.recorder,
            machine,
            launch: self.launch,
        };
        Some(Trace { moment, stored })
    }
}

impl Moment<'_, '_, '_> {
    /// The lane of a store that touches a byte of a tensor, if the instruction is one.
    fn stores_to(&self, position: u32, now: Tick, tensor: Tensor, byte: (u64, u32)) -> Option<usize> {
        let (_, op, _) = self.code.op(position)?;
        if op.code != OpCode::Store && op.code.info().family != Family::Atomic {
            return None;
        }
        let (pointers, mask, _) = parts(op);
        self.touching(position, now, tensor, byte, (&pointers, mask))
    }
}

impl<'m> Trace<'_, 'm, '_> {
    /// The program's number, x fastest.
    pub fn linear(&self) -> u64 {
        self.moment.machine.linear
    }

    /// The row-major number of a lane in its tile.
    pub fn lane(&self, made: &Made<'_>) -> usize {
        made.linear
    }

    /// The program's id.
    pub fn program(&self) -> [u32; 3] {
        self.moment.machine.program
    }

    /// All operands of the store to the element, as they were: address, value, mask.
    pub fn stored_by(&self) -> Vec<Point> {
        let Stored { position, now, lane } = self.stored;
        let Some((_, op, origin)) = self.moment.code.op(position) else {
            return Vec::new();
        };
        let operands = op.operands.iter();
        let value = |&value: &ValueId| self.moment.code.number(origin, value);
        let points = operands.filter_map(value).map(|value| Point {
            value,
            lane,
            before: now,
        });
        points.collect()
    }

    /// The lane that was stored to the element last, and where.
    pub fn stored(&self) -> Option<(Point, Option<Location>)> {
        let Stored { position, now, lane } = self.stored;
        let (_, op, origin) = self.moment.code.op(position)?;
        let (.., value) = parts(op);
        let value = self.moment.code.number(origin, *op.operands.get(value?)?)?;
        let point = Point {
            value,
            lane,
            before: now,
        };
        Some((point, place(self.moment.code.module, origin)))
    }

    /// What was at a point; none where that is forgotten, and for descriptors.
    pub fn at(&self, point: Point) -> Option<Made<'m>> {
        let Moment {
            code,
            recorder,
            machine,
            ..
        } = self.moment;
        let (function, placed) = code.placed(point.value)?;
        let (slot, kind, lanes) = code.slot(point.value)?;
        let lane = if lanes == 1 { 0 } else { point.lane };
        let was = recorder.lane(&machine.frame, slot, lane, point.before)?;
        let defined = Defined { function, placed };
        let same = defined.renamed().and_then(|v| code.number_in(placed, v));
        let same = same.filter(|&same| code.slot(same).is_some_and(|(other, ..)| other == slot));
        let mut location = None;
        let by = if let Some(value) = same {
            By::Same(Point { value, lane, ..point })
        } else if was.by.tick == 0 || defined.counts().is_some() {
            By::Given
        } else {
            let (writer, op, origin) = code.op(was.by.position)?;
            location = place(code.module, origin);
            match self.moment.source_of_move(op, was.by, slot) {
                Some(value) => By::Same(Point {
                    value,
                    lane,
                    before: was.by.tick,
                }),
                None => By::Op(writer, op),
            }
        };
        let shape = shape_of(function, placed.value);
        let index = unravel(lane, &shape);
        Some(Made {
            func: placed.func,
            value: placed.value,
            is: print::number(was.bits, kind),
            by,
            location,
            lane: index.into_iter().map(|i| i as u32).collect(),
            calls: placed.calls.clone(),
            tick: was.by.tick,
            nth: was.by.nth,
            until: was.until,
            number: point.value,
            linear: lane,
            position: was.by.position,
        })
    }

    /// Another value of the same function, and of the same call of it, in the same lane and at the same moment: what was
    /// written last before the first was written again.
    pub fn beside(&self, made: &Made<'_>, value: ValueId) -> Option<Value> {
        let Moment {
            code,
            recorder,
            machine,
            ..
        } = self.moment;
        let (_, placed) = code.placed(made.number)?;
        let (slot, kind, lanes) = code.slot(code.number_in(placed, value)?)?;
        let lane = if lanes == 1 { 0 } else { made.linear };
        let was = recorder.lane(&machine.frame, slot, lane, made.until)?;
        Some(print::number(was.bits, kind))
    }

    /// The lanes that what an operation made was computed from.
    pub fn inputs(&self, made: &Made<'_>) -> Inputs {
        let none = Inputs::Lanes(Vec::new());
        let Some((function, op, _)) = self.moment.code.op(made.position) else {
            return none;
        };
        let By::Op(..) = made.by else { return none };
        let shape = |operand: usize| op.operands.get(operand).map(|&v| shape_of(function, v));
        match (op.code, &op.attrs) {
            (OpCode::Reduce | OpCode::Scan, &Attrs::Along { axis, reverse }) => {
                let which = op.results.iter().position(|&v| self.is(made, v)).unwrap_or(0);
                let lanes =
                    shape(which).map(|shape| folded(op.code, (axis as usize, reverse), &shape, made.linear));
                let points = lanes.unwrap_or_default().into_iter();
                Inputs::Folded(
                    points
                        .filter_map(|lane| self.operand(made, which, lane))
                        .collect(),
                )
            }
            (OpCode::Dot, _) => {
                let own = shape_of(function, made.value);
                let depth = shape(0).and_then(|left| left.last().copied()).unwrap_or(1);
                let columns = own.last().copied().unwrap_or(1);
                let rows = own.iter().rev().nth(1).copied().unwrap_or(1);
                let (row, column) = (made.linear / columns, made.linear % columns);
                let batch = row / rows.max(1);
                let pair = |k: usize| {
                    let left = self.operand(made, 0, row * depth + k)?;
                    Some((
                        left,
                        self.operand(made, 1, (batch * depth + k) * columns + column)?,
                    ))
                };
                let added = self.operand(made, 2, made.linear);
                Inputs::Products((0..depth).filter_map(pair).collect(), added)
            }
            _ => {
                let read =
                    |operand: usize, lane: usize| Some(self.at(self.operand(made, operand, lane)?)?.is);
                let operands = Operands {
                    read: &read,
                    undefined: &|_, _| false,
                };
                let found = super::sources(function, op, (made.value, made.is), made.linear, &operands);
                let lanes = found.lanes.into_iter();
                Inputs::Lanes(
                    lanes
                        .filter_map(|(i, lane)| self.operand(made, i, lane))
                        .collect(),
                )
            }
        }
    }

    /// The same lane of each operand of what made a value, whether its result comes from there or not; the only lane of scalars.
    pub fn operands(&self, made: &Made<'_>) -> Vec<Point> {
        let By::Op(_, op) = made.by else { return Vec::new() };
        let operands = 0..op.operands.len();
        operands
            .filter_map(|operand| self.operand(made, operand, made.linear))
            .collect()
    }

    /// The counters of the loops around what made a value, at that moment.
    pub fn rounds(&self, made: &Made<'_>) -> Vec<Value> {
        let Some((_, _, origin)) = self.moment.code.op(made.position) else {
            return Vec::new();
        };
        let counters = self.moment.counters(made.position, origin, made.tick).into_iter();
        let point = |asked: super::Asked| Point {
            value: asked.value,
            lane: asked.lane,
            before: asked.before,
        };
        counters
            .filter_map(|asked| Some(self.at(point(asked))?.is))
            .collect()
    }

    /// The element that a load read, in words.
    pub fn loaded_from(&self, made: &Made<'_>) -> Option<String> {
        let By::Op(_, op) = made.by else { return None };
        let by = super::Writer {
            tick: made.tick,
            position: made.position,
            nth: made.nth,
        };
        self.moment.loaded_from(op, by, made.linear)
    }

    /// The tensor that an address derives from, by its name, and the element of it; none for all other numbers.
    pub fn points_at(&self, made: &Made<'_>) -> Option<(String, Vec<i64>)> {
        let Moment {
            code,
            recorder,
            machine,
            launch,
        } = self.moment;
        let (slot, kind, _) = code.slot(made.number)?;
        if kind != Kind::Ptr {
            return None;
        }
        let was = recorder.lane(&machine.frame, slot, made.linear, made.until)?;
        let target = machine.context.memory.target(was.tensor)?;
        let offset = i128::from(was.bits) - i128::from(target.base);
        let tensor = launch.tensors.get((was.tensor as usize).checked_sub(1)?)?;
        Some((tensor.name.clone(), target.view.element(offset)?))
    }

    /// True if a point's value is this one of the writer's results.
    fn is(&self, made: &Made<'_>, result: ValueId) -> bool {
        let code = self.moment.code;
        let own = code.slot(made.number).map(|(slot, ..)| slot);
        let number = code
            .op(made.position)
            .and_then(|(.., origin)| code.number(origin, result));
        own.is_some() && own == number.and_then(|number| code.slot(number)).map(|(slot, ..)| slot)
    }

    fn operand(&self, made: &Made<'_>, operand: usize, lane: usize) -> Option<Point> {
        let (_, op, origin) = self.moment.code.op(made.position)?;
        Some(Point {
            value: self.moment.code.number(origin, *op.operands.get(operand)?)?,
            lane,
            before: made.tick,
        })
    }
}

/// The lanes along an axis that a reduce combines for a lane of its result, or a scan up to its lane.
fn folded(code: OpCode, (axis, reverse): (usize, bool), shape: &[usize], lane: usize) -> Vec<usize> {
    let Some(&size) = shape.get(axis) else {
        return Vec::new();
    };
    let inner: usize = shape[axis + 1..].iter().product::<usize>().max(1);
    if code == OpCode::Reduce {
        return (0..size)
            .map(|k| (lane / inner * size + k) * inner + lane % inner)
            .collect();
    }
    let own = lane / inner % size.max(1);
    let range = if reverse { own..size } else { 0..own + 1 };
    range.map(|k| lane - own * inner + k * inner).collect()
}
