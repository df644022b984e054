//! Chains of f32 that run as a straight line, strip by strip ([`crate::simd::strip`]): which ones can, and with what.
//!
//! A [`Line`] is made once from the members of a chain: each operation takes what the last one left, or what is
//! somewhere: in a tensor, in a tile from outside, or saved because it is needed again. A sum or extreme of a row may
//! be the last thing that is done with a value. When the chain runs, places get addresses, and what is the same in all
//! lanes is told from tiles; where a mask is no interval or an access no row, the chain runs as it would without.

use crate::frame::{Form, Slot, Tile};
use crate::kind::Kind;
use crate::lanes::Loop;
use crate::machine::Machine;
use crate::num::float::{Bf16, F16, StoredFloat};
use crate::simd::strip::{
    self, ARGUMENTS, Arith, Exponential, Fold, Held, MOST, Op, PARTIALS, Run, SAVED, Source, Window,
};
use crate::steps::chain::MAX_PLACED;
use crate::steps::fold;
use crate::steps::memory::placed::Reach;
use crate::tape::Inst;
use std::collections::HashMap;

/// What an instruction is in a line.
#[derive(Debug, Clone, Copy)]
pub enum Link {
    /// An operation with a vector instruction.
    Arith(Arith),
    /// A loop over all operands, and whether it keeps bits of a NaN: it then must get the canonical one.
    Each(Loop<f32>, bool),
    /// A function that may have instructions of its own, and the same as a loop.
    Exponential(Exponential, Loop<f32>),
    /// One of two values, as a condition says.
    Select,
    /// Rounded to fewer bits.
    Narrow(Kind),
    /// Read from a tensor, widened.
    Load(Kind),
    /// Written to a tensor.
    Store(Kind),
    /// Combined to one number.
    Fold(Fold),
}

/// Most operations.
const OPS: usize = 40;

/// Most results, and most rows that become numbers.
const RESULTS: usize = 4;

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Where the last operation left it.
    Last,
    /// Saved under a number.
    Saved(usize),
    /// An operand of the chain.
    Operand(usize),
    /// In a tensor: load or store number so much of the chain.
    Load(usize),
}

/// An operation with places.
#[derive(Debug, Clone, Copy)]
enum Step {
    Take(Place),
    Arith(Arith, Place),
    Exponential(Exponential, Loop<f32>),
    Choose(usize, Place, Place),
    Argument(usize, Place),
    Apply(Loop<f32>, usize),
    Canonical,
    Save(usize),
    Result(usize),
    Store(usize),
    Fold(usize, Fold),
}

/// A load or store.
#[derive(Debug, Clone, Copy)]
struct Access {
    /// The member of the chain.
    member: usize,
    kind: Kind,
    writes: bool,
}

/// A chain as a straight line.
#[derive(Debug)]
pub struct Line {
    steps: Vec<Step>,
    accesses: Vec<Access>,
    /// Results of the chain that are tiles.
    tiles: Vec<usize>,
    /// Results of the chain that are combined lanes, and how.
    folds: Vec<(usize, Fold)>,
    /// Lines of memory to ask for beside a strip.
    lines: usize,
}

/// A value of a line in the making.
#[derive(Debug, Clone, Copy)]
struct Value {
    place: Option<Place>,
    /// It may hold any NaN.
    dirty: bool,
    /// Uses that are left.
    uses: usize,
}

/// A line in the making.
struct Maker<'a> {
    members: &'a [Inst],
    results: &'a [Slot],
    line: Line,
    values: HashMap<Slot, Value>,
    /// Rounded values, and what they were.
    narrow: HashMap<Slot, (Slot, Kind)>,
    last: Option<Slot>,
    saved: usize,
}

/// Values that a member reads.
fn read<'a>(link: &Link, inst: &'a Inst) -> &'a [Slot] {
    match link {
        Link::Load(_) => &[],
        Link::Store(_) => &inst.ins[..1],
        Link::Select => &inst.ins[1..],
        _ => &inst.ins,
    }
}

impl Line {
    /// The line of some instructions on tiles of so many lanes, if they make one; operands and results are the chain's.
    pub fn of(members: &[Inst], operands: &[Slot], results: &[Slot], lanes: usize) -> Option<Line> {
        if !lanes.is_multiple_of(MOST) || members.iter().any(|member| member.step.link().is_none()) {
            return None;
        }
        let mut maker = Maker {
            members,
            results,
            line: Line {
                steps: Vec::new(),
                accesses: Vec::new(),
                tiles: Vec::new(),
                folds: Vec::new(),
                lines: 0,
            },
            values: HashMap::new(),
            narrow: HashMap::new(),
            last: None,
            saved: 0,
        };
        for (i, &slot) in operands.iter().enumerate() {
            let value = Value {
                place: Some(Place::Operand(i)),
                dirty: false,
                uses: 0,
            };
            maker.values.insert(slot, value);
        }
        for i in 0..members.len() {
            maker.add(i, operands)?;
        }
        let line = maker.line;
        let fits = line.steps.len() <= OPS
            && line.accesses.len() <= MAX_PLACED
            && line.tiles.len() <= RESULTS
            && line.folds.len() <= RESULTS
            && line.tiles.len() + line.folds.len() == results.len();
        fits.then_some(line)
    }
}

impl Maker<'_> {
    fn add(&mut self, index: usize, operands: &[Slot]) -> Option<()> {
        let inst = &self.members[index];
        let link = inst.step.link()?;
        for &slot in read(&link, inst) {
            let rounded = self.narrow.get(&slot).is_some();
            // Rounded values are only stored.
            if rounded && !matches!(link, Link::Store(_)) {
                return None;
            }
        }
        self.line.lines += match link {
            Link::Each(..) | Link::Exponential(..) | Link::Arith(Arith::Div | Arith::DivInto) => 8,
            _ => 2,
        };
        match link {
            Link::Load(kind) => {
                // What lanes outside a mask are must be known outside.
                let known = inst.ins.iter().all(|slot| operands.contains(slot));
                let place = Place::Load(self.access(index, kind, false));
                let out = inst.outs[0];
                known.then_some(())?;
                self.define(index, out, Some(place), kind != Kind::F32);
                if self.results.contains(&out) {
                    self.take(place);
                    self.last = Some(out);
                    self.finish(index, out, false)?;
                }
            }
            Link::Store(kind) => {
                let from = inst.ins[0];
                let value = match self.narrow.get(&from) {
                    Some(&(value, to)) if to == kind => value,
                    None if kind == Kind::F32 => from,
                    _ => return None,
                };
                self.bring(value)?;
                if kind == Kind::F32 {
                    self.clean(value)?;
                }
                // A load that is still to be read might see what is stored.
                let pending = |value: &Value| matches!(value.place, Some(Place::Load(_))) && value.uses > 0;
                self.used(index, from);
                if self.values.values().any(pending) {
                    return None;
                }
                let access = self.access(index, kind, true);
                self.line.steps.push(Step::Store(access));
            }
            Link::Narrow(kind) => {
                let (from, out) = (inst.ins[0], inst.outs[0]);
                if self.results.contains(&out) || self.place(from).is_none() {
                    return None;
                }
                self.narrow.insert(out, (from, kind));
                // It is read when it is stored.
                let uses = self.uses_after(index, out);
                let value = self.values.get_mut(&from)?;
                value.uses = (value.uses + uses).checked_sub(1)?;
            }
            Link::Fold(fold) => {
                let from = inst.ins[0];
                self.bring(from)?;
                self.used(index, from);
                let result = self.results.iter().position(|&slot| slot == inst.outs[0])?;
                self.line.steps.push(Step::Fold(self.line.folds.len(), fold));
                self.line.folds.push((result, fold));
            }
            Link::Arith(arith) => {
                let (a, b) = (inst.ins[0], inst.ins[1]);
                let swapped = self.last == Some(b) && self.last != Some(a);
                let arith = match (arith, swapped) {
                    (Arith::Sub, true) => Arith::SubFrom,
                    (Arith::Div, true) => Arith::DivInto,
                    (arith, _) => arith,
                };
                let (first, second) = if swapped { (b, a) } else { (a, b) };
                self.bring(first)?;
                let other = self.place(second)?;
                self.line.steps.push(Step::Arith(arith, other));
                self.finish(index, inst.outs[0], true)?;
            }
            Link::Each(each, keeps) => {
                let count = inst.ins.len();
                if count > ARGUMENTS {
                    return None;
                }
                for (i, &slot) in inst.ins.iter().enumerate() {
                    if keeps && self.values.get(&slot)?.dirty {
                        if self.last != Some(slot) {
                            return None;
                        }
                        self.clean(slot)?;
                    }
                    let place = self.place(slot)?;
                    self.line.steps.push(Step::Argument(i, place));
                }
                self.line.steps.push(Step::Apply(each, count));
                self.finish(index, inst.outs[0], false)?;
            }
            Link::Exponential(function, each) => {
                self.bring(inst.ins[0])?;
                self.line.steps.push(Step::Exponential(function, each));
                self.finish(index, inst.outs[0], false)?;
            }
            Link::Select => {
                let mask = operands.iter().position(|&slot| slot == inst.ins[0])?;
                let (yes, no) = (self.place(inst.ins[1])?, self.place(inst.ins[2])?);
                let dirty = self.values.get(&inst.ins[1])?.dirty | self.values.get(&inst.ins[2])?.dirty;
                self.line.steps.push(Step::Choose(mask, yes, no));
                self.finish(index, inst.outs[0], dirty)?;
            }
        }
        Some(())
    }

    fn access(&mut self, member: usize, kind: Kind, writes: bool) -> usize {
        self.line.accesses.push(Access { member, kind, writes });
        self.line.accesses.len() - 1
    }

    /// Where a value is now.
    fn place(&self, slot: Slot) -> Option<Place> {
        match self.last == Some(slot) {
            true => Some(Place::Last),
            false => self.values.get(&slot)?.place,
        }
    }

    fn take(&mut self, place: Place) {
        if place != Place::Last {
            self.line.steps.push(Step::Take(place));
        }
    }

    /// Makes a value the last one.
    fn bring(&mut self, slot: Slot) -> Option<()> {
        let place = self.place(slot)?;
        self.take(place);
        self.last = Some(slot);
        Some(())
    }

    /// Gives the last value the canonical NaN.
    fn clean(&mut self, slot: Slot) -> Option<()> {
        let value = self.values.get_mut(&slot)?;
        if value.dirty {
            // Where else it is, it stays as it was.
            if value.place.is_none() {
                value.dirty = false;
            }
            self.line.steps.push(Step::Canonical);
        }
        Some(())
    }

    /// How often members behind this one read a value.
    fn uses_after(&self, index: usize, slot: Slot) -> usize {
        let later = self.members[index + 1..].iter();
        let reads = later.filter_map(|member| Some((member.step.link()?, member)));
        reads
            .map(|(link, member)| read(&link, member).iter().filter(|&&s| s == slot).count())
            .sum()
    }

    fn define(&mut self, index: usize, slot: Slot, place: Option<Place>, dirty: bool) {
        let uses = self.uses_after(index, slot);
        self.values.insert(slot, Value { place, dirty, uses });
    }

    /// A member has read what it reads.
    fn used(&mut self, index: usize, _: Slot) {
        let inst = &self.members[index];
        let Some(link) = inst.step.link() else { return };
        for slot in read(&link, inst) {
            let slot = self.narrow.get(slot).map_or(slot, |(value, _)| value);
            if let Some(value) = self.values.get_mut(slot) {
                value.uses = value.uses.saturating_sub(1);
            }
        }
    }

    /// The last value is that of a new slot: saves it if it is read when another one is the last, and writes it if it is
    /// a result.
    fn finish(&mut self, index: usize, out: Slot, dirty: bool) -> Option<()> {
        let is_load = self.values.get(&out).is_some_and(|value| value.place.is_some());
        if !is_load {
            self.used(index, out);
            self.define(index, out, None, dirty);
        }
        self.last = Some(out);
        let result = self.results.iter().position(|&slot| slot == out);
        if result.is_some() {
            self.clean(out)?;
        }
        if !is_load && self.is_read_later(index, out) {
            let number = self.saved;
            self.saved += 1;
            (number < SAVED).then_some(())?;
            self.line.steps.push(Step::Save(number));
            self.values.get_mut(&out)?.place = Some(Place::Saved(number));
        }
        if let Some(result) = result {
            self.line.steps.push(Step::Result(self.line.tiles.len()));
            self.line.tiles.push(result);
        }
        Some(())
    }

    /// True if a value is read after another one has become the last.
    fn is_read_later(&self, index: usize, slot: Slot) -> bool {
        let mut names = vec![slot];
        for (i, member) in self.members.iter().enumerate().skip(index + 1) {
            let Some(link) = member.step.link() else {
                return true;
            };
            let reads = read(&link, member).iter().any(|read| names.contains(read));
            let stays = match link {
                Link::Load(_) => !self.results.contains(&member.outs[0]),
                Link::Narrow(_) if reads => {
                    names.push(member.outs[0]);
                    true
                }
                Link::Narrow(_) => true,
                Link::Store(_) | Link::Fold(_) => reads,
                _ => false,
            };
            if !stays {
                return names.iter().any(|&name| self.uses_after(i, name) > 0);
            }
        }
        false
    }
}

/// How a kind is held in a tensor.
pub fn held(kind: Kind) -> Option<Held> {
    match kind {
        Kind::F32 => Some(Held::F32),
        Kind::F16 => Some(Held::F16),
        Kind::Bf16 => Some(Held::Bf16),
        _ => None,
    }
}

/// True for kinds that lines read and write.
pub fn is_held(kind: Kind) -> bool {
    held(kind).is_some()
}

impl Line {
    /// True if it combines lanes of a row to a number.
    pub fn folds(&self) -> bool {
        !self.folds.is_empty()
    }

    /// Runs it, if places and masks allow it: what the chain would do otherwise, with the same bits.
    pub fn run(
        &self,
        members: &[Inst],
        inst: &Inst,
        machine: &mut Machine<'_>,
        lanes: usize,
        reaches: &[Option<Reach>],
    ) -> bool {
        let Some(windows) = self.windows(members, machine, reaches) else {
            return false;
        };
        if !self.steps.iter().all(|step| self.is_fine(step, inst, machine)) {
            return false;
        }
        for (access, reach) in self.accesses.iter().zip(reaches.iter().flatten()) {
            let member = &members[access.member];
            member.step.begin(member, machine, reach);
        }
        machine.steps += members.len() as u64 - 1;
        let part = self.part(lanes, &windows);
        if part.is_empty() {
            return true;
        }
        let mut ahead = std::mem::take(&mut machine.frame.ahead);
        let mut scratch = machine.strip.take().unwrap_or_default();
        let mut buffers: [Option<crate::frame::Taken>; RESULTS] = std::array::from_fn(|i| {
            let result = self.tiles.get(i)?;
            Some(machine.frame.take::<f32>(inst.outs[*result], lanes))
        });
        let mut folds = [[0.0; PARTIALS]; RESULTS];
        for (partials, (_, fold)) in folds.iter_mut().zip(&self.folds) {
            *partials = fold.start();
        }
        let mut ops = [Op::Canonical; OPS];
        for (op, step) in ops.iter_mut().zip(&self.steps) {
            *op = self.op(step, inst, machine, lanes, &windows);
        }
        let mut results = buffers.each_mut().map(|buffer| match buffer {
            Some(buffer) => buffer.lanes::<f32>(lanes),
            None => &mut [],
        });
        let special = strip::run(
            machine.context.cpu,
            &ops[..self.steps.len()],
            &mut Run {
                lanes: part,
                results: &mut results,
                folds: &mut folds,
                ahead: (&mut ahead, self.lines),
                specials: machine.context.memory.specials,
                scratch: &mut scratch,
            },
        );
        for (&result, buffer) in self.tiles.iter().zip(buffers) {
            if let Some(buffer) = buffer {
                machine.frame.put(inst.outs[result], buffer);
            }
        }
        for (&(result, fold), partials) in self.folds.iter().zip(folds) {
            let number = fold::of_partials(fold, partials);
            machine
                .frame
                .set_uniform(inst.outs[result], u64::from(number.to_bits()));
        }
        machine.frame.ahead = ahead;
        machine.strip = Some(scratch);
        if special {
            machine.sink.suspects.add(machine.linear);
        }
        true
    }

    /// The lanes of all accesses in memory, if each is a row.
    fn windows<'r>(
        &self,
        members: &[Inst],
        machine: &Machine<'r>,
        reaches: &[Option<Reach>],
    ) -> Option<[Option<Window<'r>>; MAX_PLACED]> {
        let memory = &machine.context.memory;
        let mut windows = [None; MAX_PLACED];
        for ((window, access), reach) in windows
            .iter_mut()
            .zip(&self.accesses)
            .zip(reaches.iter().flatten())
        {
            let held = held(access.kind)?;
            let lanes = reach.row()?;
            let bytes = lanes.len() * access.kind.bytes();
            let rectangle = &reach.rectangle;
            let span = memory
                .shared
                .span(rectangle.allocation, rectangle.offset, bytes)?;
            let other = match access.writes {
                true => 0.0,
                false => {
                    let member = &members[access.member];
                    let bits = match member.step.has_other() {
                        true => machine.frame.uniform(member.ins[0])?,
                        false => 0,
                    };
                    match held {
                        Held::F32 => f32::from_bits(bits as u32),
                        Held::F16 => F16(bits as u16).to_f32(),
                        Held::Bf16 => Bf16(bits as u16).to_f32(),
                    }
                }
            };
            let found = Window::new(span, held, lanes, other);
            let streams = access.writes && memory.shared.streams(rectangle.allocation, bytes);
            *window = Some(if streams { found.streaming() } else { found });
        }
        Some(windows)
    }

    /// True if a step can be done with what its operands are now.
    fn is_fine(&self, step: &Step, inst: &Inst, machine: &Machine<'_>) -> bool {
        match *step {
            Step::Choose(mask, ..) => interval(machine, inst.ins[mask], usize::MAX).is_some(),
            _ => true,
        }
    }

    /// The lanes that are done: all, unless only those that are stored matter.
    fn part(&self, lanes: usize, windows: &[Option<Window<'_>>]) -> std::ops::Range<usize> {
        if !self.tiles.is_empty() || !self.folds.is_empty() {
            return 0..lanes;
        }
        let stores = self.accesses.iter().zip(windows.iter().flatten());
        let stored = stores.filter(|(access, window)| access.writes && !window.lanes().is_empty());
        let (mut first, mut last) = (lanes, 0);
        for (_, window) in stored {
            first = first.min(window.lanes().start);
            last = last.max(window.lanes().end);
        }
        match first < last {
            true => first / MOST * MOST..last.next_multiple_of(MOST),
            false => 0..0,
        }
    }

    fn op<'f>(
        &self,
        step: &Step,
        inst: &Inst,
        machine: &'f Machine<'_>,
        lanes: usize,
        windows: &[Option<Window<'f>>],
    ) -> Op<'f> {
        let source = |place: Place| match place {
            Place::Last => Source::Last,
            Place::Saved(number) => Source::Saved(number),
            Place::Operand(operand) => match machine.frame.tile::<f32>(inst.ins[operand], lanes) {
                Tile::Uniform(x) => Source::Uniform(x),
                Tile::Dense(tile) => Source::Tile(tile),
            },
            Place::Load(access) => match windows[access] {
                Some(window) if window.lanes().is_empty() => Source::Uniform(window.other()),
                Some(window) => Source::Memory(window),
                None => Source::Uniform(0.0),
            },
        };
        match *step {
            Step::Take(place) => Op::Take(source(place)),
            Step::Arith(arith, place) => match (arith, source(place)) {
                (Arith::Div, Source::Uniform(by)) if strip::divisors(by) => Op::DivideBy(by, 1.0 / by),
                (arith, source) => Op::Arith(arith, source),
            },
            Step::Exponential(function, each) => Op::Exponential(function, each),
            Step::Choose(mask, yes, no) => {
                let (from, to) = interval(machine, inst.ins[mask], lanes).unwrap_or((0, 0));
                match (from, to) {
                    (0, to) if to >= lanes => Op::Take(source(yes)),
                    (from, to) if from >= to => Op::Take(source(no)),
                    _ => Op::Choose(from, to, source(yes), source(no)),
                }
            }
            Step::Argument(number, place) => Op::Argument(number, source(place)),
            Step::Apply(each, count) => Op::Apply(each, count),
            Step::Canonical => Op::Canonical,
            Step::Save(number) => Op::Save(number),
            Step::Result(number) => Op::Result(number),
            Step::Store(access) => windows[access].map_or(Op::Canonical, Op::Store),
            Step::Fold(number, fold) => Op::Fold(number, fold),
        }
    }
}

/// The true lanes of a mask of so many, if they are neighbours.
fn interval(machine: &Machine<'_>, mask: Slot, lanes: usize) -> Option<(usize, usize)> {
    match machine.frame.form(mask) {
        Form::Uniform(0) => Some((0, 0)),
        Form::Uniform(_) => Some((0, lanes)),
        Form::Box(mask) if mask.rows == 1 && mask.first < mask.last => {
            Some((mask.lo as usize, mask.hi as usize))
        }
        _ => None,
    }
}
