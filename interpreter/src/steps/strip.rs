//! Chains of f32 that run as a straight line, strip by strip (`simd::strip`): which ones can, and with what.
//!
//! A [`Line`] is made once from the members of a chain: each operation takes what the last one left, or what is
//! somewhere: in a tensor, in a tile from outside, or saved because it is needed again. A sum or extreme of a row may
//! be the last thing that is done with a value. When the chain runs, places get addresses, and what is the same in all
//! lanes is told from tiles; where a mask is no interval or an access no row, the chain runs as it would without.

mod stretch;

use crate::frame::{Form, Slot, Taken, Tile};
use crate::kind::Kind;
use crate::lanes::Loop;
use crate::machine::Machine;
use crate::num::float::{Bf16, F16, StoredFloat};
use crate::simd::strip::{
    self, ARGUMENTS, Arith, Exponential, Fold, Held, MOST, OPERANDS, Op, Operand, Ops, PARTIALS, Run, SAVED,
    SHORT, Source, Window,
};
use crate::steps::chain::MAX_PLACED;
use crate::steps::fold;
use crate::steps::memory::row::{Placed, Row};
use crate::tape::Inst;
use std::collections::HashMap;
use std::ops::Range;

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

/// Most results, and most rows that become numbers.
const RESULTS: usize = 4;

/// Most of anything that a line names.
const MOST_ROOMS: usize = 8;
const _: () = assert!(MAX_PLACED <= MOST_ROOMS && OPERANDS <= MOST_ROOMS && RESULTS <= MOST_ROOMS);

/// The number of an operand in a list, which it joins if it must.
fn number(list: &mut Vec<usize>, operand: usize) -> usize {
    let known = list.iter().position(|&own| own == operand);
    known.unwrap_or_else(|| {
        list.push(operand);
        list.len() - 1
    })
}

/// A load or store.
#[derive(Debug, Clone)]
struct Access {
    /// The member of the chain.
    member: usize,
    held: Held,
    placed: Placed,
}

/// A chain as a straight line.
#[derive(Debug)]
pub struct Line {
    ops: Ops,
    accesses: Vec<Access>,
    /// Operands of the chain that are numbers or tiles.
    operands: Vec<usize>,
    /// Operands of the chain that are masks.
    masks: Vec<usize>,
    /// Results of the chain that are tiles.
    tiles: Vec<usize>,
    /// Results of the chain that are combined lanes, and how.
    folds: Vec<(usize, Fold)>,
    /// The same by [`Fold::quick`], where nothing is stored: what it leaves in doubt is done again.
    quick: Option<(Ops, Vec<(usize, Fold)>)>,
    /// Lines of memory to ask for beside a strip.
    lines: usize,
}

/// A value of a line in the making.
#[derive(Debug, Clone, Copy)]
struct Value {
    place: Option<Source>,
    /// It may hold any NaN.
    dirty: bool,
    /// Uses that are left.
    uses: usize,
}

/// A line in the making.
struct Maker<'a> {
    members: &'a [Inst],
    operands: &'a [Slot],
    results: &'a [Slot],
    ops: Vec<Op>,
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
            operands,
            results,
            ops: Vec::new(),
            line: Line {
                ops: Ops::default(),
                accesses: Vec::new(),
                operands: Vec::new(),
                masks: Vec::new(),
                tiles: Vec::new(),
                folds: Vec::new(),
                quick: None,
                lines: 0,
            },
            values: HashMap::new(),
            narrow: HashMap::new(),
            last: None,
            saved: 0,
        };
        for &slot in operands {
            // Numbered when one is read.
            let value = Value {
                place: Some(Source::Operand(usize::MAX)),
                dirty: false,
                uses: 0,
            };
            maker.values.insert(slot, value);
        }
        for i in 0..members.len() {
            maker.add(i)?;
        }
        let mut line = maker.line;
        let held: Vec<Held> = line.accesses.iter().map(|access| access.held).collect();
        let quick = |fold: Fold| fold.quick().unwrap_or(fold);
        let stores = line.accesses.iter().any(|access| access.placed.writes);
        if !stores && line.folds.iter().any(|(_, fold)| fold.quick().is_some()) {
            let ops = maker.ops.iter().map(|op| match *op {
                Op::Fold(i, fold) => Op::Fold(i, quick(fold)),
                op => op,
            });
            let folds = line.folds.iter().map(|&(result, fold)| (result, quick(fold)));
            let ops: Vec<Op> = ops.collect();
            line.quick = Some((Ops::new(&ops, held.clone())?, folds.collect()));
        }
        line.ops = Ops::new(&maker.ops, held)?;
        let fits = line.operands.len() <= OPERANDS
            && line.masks.len() <= OPERANDS
            && line.accesses.len() <= MAX_PLACED
            && line.tiles.len() <= RESULTS
            && line.folds.len() <= RESULTS
            && line.tiles.len() + line.folds.len() == results.len();
        fits.then_some(line)
    }
}

impl Maker<'_> {
    fn add(&mut self, index: usize) -> Option<()> {
        let inst = &self.members[index];
        let link = inst.step.link()?;
        for &slot in read(&link, inst) {
            let rounded = self.narrow.contains_key(&slot);
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
            Link::Load(kind) => self.load(index, kind),
            Link::Store(kind) => self.store(index, kind),
            Link::Narrow(kind) => self.narrow(index, kind),
            Link::Fold(fold) => self.fold(index, fold),
            Link::Arith(arith) => self.arith(index, arith),
            Link::Each(each, keeps) => self.each(index, each, keeps),
            Link::Exponential(function, each) => {
                self.bring(inst.ins[0])?;
                self.ops.push(Op::Exponential(function, each));
                self.finish(index, inst.outs[0], true)
            }
            Link::Select => {
                let mask = self.operands.iter().position(|&slot| slot == inst.ins[0])?;
                let mask = number(&mut self.line.masks, mask);
                let (yes, no) = (self.place(inst.ins[1])?, self.place(inst.ins[2])?);
                let dirty = self.values.get(&inst.ins[1])?.dirty | self.values.get(&inst.ins[2])?.dirty;
                self.ops.push(Op::Choose(mask, yes, no));
                self.finish(index, inst.outs[0], dirty)
            }
        }
    }

    fn load(&mut self, index: usize, kind: Kind) -> Option<()> {
        let inst = &self.members[index];
        // What lanes outside a mask are must be known outside.
        let known = inst.ins.iter().all(|slot| self.operands.contains(slot));
        let place = Source::Memory(self.access(index, kind)?);
        let out = inst.outs[0];
        known.then_some(())?;
        self.define(index, out, Some(place), kind != Kind::F32);
        if self.results.contains(&out) {
            self.take(place);
            self.last = Some(out);
            self.finish(index, out, false)?;
        }
        Some(())
    }

    fn store(&mut self, index: usize, kind: Kind) -> Option<()> {
        let from = self.members[index].ins[0];
        let value = match self.narrow.get(&from) {
            Some(&(value, to)) if to == kind => value,
            None if kind == Kind::F32 => from,
            _ => return None,
        };
        self.bring(value)?;
        if kind == Kind::F32 {
            self.clean(value)?;
        }
        self.used(index);
        // A load that is still to be read might see what is stored.
        let pending = |value: &Value| matches!(value.place, Some(Source::Memory(_))) && value.uses > 0;
        if self.values.values().any(pending) {
            return None;
        }
        let access = self.access(index, kind)?;
        self.ops.push(Op::Store(access));
        Some(())
    }

    fn narrow(&mut self, index: usize, kind: Kind) -> Option<()> {
        let inst = &self.members[index];
        let (from, out) = (inst.ins[0], inst.outs[0]);
        if self.results.contains(&out) || self.place(from).is_none() {
            return None;
        }
        self.narrow.insert(out, (from, kind));
        // It is read when it is stored.
        let uses = self.uses_after(index, out);
        let value = self.values.get_mut(&from)?;
        value.uses = (value.uses + uses).checked_sub(1)?;
        Some(())
    }

    fn fold(&mut self, index: usize, fold: Fold) -> Option<()> {
        let inst = &self.members[index];
        self.bring(inst.ins[0])?;
        self.used(index);
        let result = self.results.iter().position(|&slot| slot == inst.outs[0])?;
        self.ops.push(Op::Fold(self.line.folds.len(), fold));
        self.line.folds.push((result, fold));
        Some(())
    }

    fn arith(&mut self, index: usize, arith: Arith) -> Option<()> {
        let inst = &self.members[index];
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
        self.ops.push(Op::Arith(arith, other));
        self.finish(index, inst.outs[0], true)
    }

    fn each(&mut self, index: usize, each: Loop<f32>, keeps: bool) -> Option<()> {
        let inst = &self.members[index];
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
            self.ops.push(Op::Argument(i, place));
        }
        self.ops.push(Op::Apply(each, count));
        self.finish(index, inst.outs[0], false)
    }

    fn access(&mut self, member: usize, kind: Kind) -> Option<usize> {
        let placed = self.members[member].step.placed()?;
        let held = held(kind).filter(|_| placed.kind == kind)?;
        self.line.accesses.push(Access { member, held, placed });
        Some(self.line.accesses.len() - 1)
    }

    /// Where a value is now.
    fn place(&mut self, slot: Slot) -> Option<Source> {
        if self.last == Some(slot) {
            return Some(Source::Last);
        }
        match self.values.get(&slot)?.place? {
            Source::Operand(_) => {
                let operand = self.operands.iter().position(|&own| own == slot)?;
                Some(Source::Operand(number(&mut self.line.operands, operand)))
            }
            place => Some(place),
        }
    }

    fn take(&mut self, place: Source) {
        if place != Source::Last {
            self.ops.push(Op::Take(place));
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
            self.ops.push(Op::Canonical);
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

    fn define(&mut self, index: usize, slot: Slot, place: Option<Source>, dirty: bool) {
        let uses = self.uses_after(index, slot);
        self.values.insert(slot, Value { place, dirty, uses });
    }

    /// A member has read what it reads.
    fn used(&mut self, index: usize) {
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
            self.used(index);
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
            self.ops.push(Op::Save(number));
            self.values.get_mut(&out)?.place = Some(Source::Saved(number));
        }
        if let Some(result) = result {
            self.ops.push(Op::Result(self.line.tiles.len()));
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

    /// True if nothing but what it stores is left of it, and no operand but of places is in one of these slots.
    pub fn is_same_but_for(&self, members: &[Inst], inst: &Inst, slots: &[Slot]) -> bool {
        let operands = self.operands.iter().chain(&self.masks).map(|&i| inst.ins[i]);
        let others = self.accesses.iter().filter(|access| access.placed.other);
        let others = others.map(|access| members[access.member].ins[0]);
        self.tiles.is_empty()
            && self.folds.is_empty()
            && !operands.chain(others).any(|slot| slots.contains(&slot))
    }

    /// Runs it, if places and masks allow it: what the chain would do otherwise, with the same bits.
    pub fn run(&self, members: &[Inst], inst: &Inst, machine: &mut Machine<'_>, lanes: usize) -> bool {
        let most = [self.accesses.len(), self.masks.len(), self.operands.len()];
        let rooms = most.into_iter().max().unwrap_or(0);
        match rooms.max(self.tiles.len()).max(self.folds.len()) {
            0..=2 => self.run_in::<2>(members, inst, machine, lanes),
            3..=4 => self.run_in::<4>(members, inst, machine, lanes),
            _ => self.run_in::<MOST_ROOMS>(members, inst, machine, lanes),
        }
    }

    /// Runs it with so many rooms for what it names: to make more of them costs short rows a tenth of their time.
    fn run_in<const ROOMS: usize>(
        &self,
        members: &[Inst],
        inst: &Inst,
        machine: &mut Machine<'_>,
        lanes: usize,
    ) -> bool {
        let mut rows = [Row::EMPTY; ROOMS];
        let rows = &mut rows[..self.accesses.len()];
        let mut windows = [Window::EMPTY; ROOMS];
        let windows = &mut windows[..self.accesses.len()];
        let mut ranges = [(0, 0); ROOMS];
        let ranges = &mut ranges[..self.masks.len()];
        if !self.windows(members, machine, rows, windows) || !self.ranges(inst, machine, lanes, ranges) {
            return false;
        }
        for (access, row) in self.accesses.iter().zip(&*rows) {
            access.placed.begin(&members[access.member], machine, row);
        }
        machine.steps += members.len() as u64 - 1;
        let (part, alike) = self.part(inst, machine, lanes, windows, ranges);
        if part.is_empty() && alike == part.end {
            return true;
        }
        let mut ahead = std::mem::take(&mut machine.frame.ahead);
        let mut scratch = machine.strip.take().unwrap_or_default();
        let mut buffers: [Option<Taken>; ROOMS] = [const { None }; ROOMS];
        for (buffer, &result) in buffers.iter_mut().zip(&self.tiles) {
            *buffer = Some(machine.frame.take::<f32>(inst.outs[result], lanes));
        }
        let mut operands = [Operand::Uniform(0.0, 0.0); ROOMS];
        let operands = &mut operands[..self.operands.len()];
        for (operand, &of) in operands.iter_mut().zip(&self.operands) {
            *operand = match machine.frame.tile::<f32>(inst.ins[of], lanes) {
                Tile::Uniform(x) => Operand::uniform(x),
                Tile::Dense(tile) => Operand::Tile(tile),
            };
        }
        let mut results = buffers.each_mut().map(|buffer| match buffer {
            Some(buffer) => buffer.lanes::<f32>(lanes),
            None => &mut [],
        });
        let mut folds = [[0.0; PARTIALS]; ROOMS];
        let mut numbers = [0.0; ROOMS];
        let mut special = false;
        let exactly = (&self.ops, &self.folds);
        let quickly = self.quick.as_ref().map(|(ops, kinds)| (ops, kinds));
        let mut run = Run {
            lanes: part.clone(),
            alike,
            operands,
            windows,
            ranges,
            results: &mut results[..self.tiles.len()],
            folds: &mut folds[..self.folds.len()],
            ahead: (&mut ahead, self.lines),
            specials: machine.context.memory.specials,
            scratch: &mut scratch,
        };
        for (ops, kinds) in quickly.into_iter().chain([exactly]) {
            for (partials, (_, fold)) in run.folds.iter_mut().zip(kinds) {
                *partials = fold.start();
            }
            special = strip::run(machine.context.cpu, ops, &mut run);
            let mut sure = true;
            for ((number, (_, fold)), partials) in numbers.iter_mut().zip(kinds).zip(&*run.folds) {
                *number = fold::of_partials(*fold, *partials);
                sure &= fold::is_sure(*fold, *number);
            }
            if sure {
                break;
            }
        }
        for (&result, buffer) in self.tiles.iter().zip(buffers) {
            if let Some(buffer) = buffer {
                machine.frame.put(inst.outs[result], buffer);
                machine.frame.set_alike_from(inst.outs[result], part.end);
            }
        }
        for (&(result, _), number) in self.folds.iter().zip(numbers) {
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

    /// Finds the lanes of all accesses in memory; false if one is in doubt or no row, or must wait until another has done
    /// all of its lanes.
    #[inline]
    fn windows<'r>(
        &self,
        members: &[Inst],
        machine: &Machine<'r>,
        rows: &mut [Row],
        windows: &mut [Window<'r>],
    ) -> bool {
        let shared = &machine.context.memory.shared;
        for (i, access) in self.accesses.iter().enumerate() {
            let (placed, member) = (&access.placed, &members[access.member]);
            let Some(row) = placed.row(member, machine) else {
                return false;
            };
            let mut earlier = self.accesses[..i].iter().zip(&*rows);
            if earlier.any(|(other, at)| (placed.writes || other.placed.writes) && !row.is_apart(at)) {
                return false;
            }
            rows[i] = row;
            let Some(span) = shared.span(row.allocation, row.offset, row.bytes()) else {
                return false;
            };
            let bits = match placed.other {
                true => machine.frame.uniform(member.ins[0]),
                false => Some(0),
            };
            let Some(bits) = bits else { return false };
            let other = match access.held {
                Held::F32 => f32::from_bits(bits as u32),
                Held::F16 => F16(bits as u16).to_f32(),
                Held::Bf16 => Bf16(bits as u16).to_f32(),
            };
            let streams = placed.writes && shared.streams(row.allocation, row.bytes());
            windows[i] = Window::new(span, access.held, row.first..row.last, other, streams);
        }
        true
    }

    /// Finds the true lanes of all masks; false if they are no neighbours.
    fn ranges(
        &self,
        inst: &Inst,
        machine: &Machine<'_>,
        lanes: usize,
        ranges: &mut [(usize, usize)],
    ) -> bool {
        for (range, &mask) in ranges.iter_mut().zip(&self.masks) {
            match interval(machine, inst.ins[mask], lanes) {
                Some(found) => *range = found,
                None => return false,
            }
        }
        true
    }

    /// The lanes that are done, and up to which all that follow are alike: of what is only stored, those that are; else
    /// up to the last one that differs from those behind it.
    #[inline]
    fn part(
        &self,
        inst: &Inst,
        machine: &Machine<'_>,
        lanes: usize,
        windows: &[Window<'_>],
        ranges: &[(usize, usize)],
    ) -> (Range<usize>, usize) {
        let accesses = || self.accesses.iter().zip(windows);
        if !self.tiles.is_empty() || !self.folds.is_empty() {
            let mut edge = accesses()
                .map(|(_, window)| window.lanes().end)
                .max()
                .unwrap_or(0);
            for &operand in &self.operands {
                edge = edge.max(machine.frame.alike_from(inst.ins[operand]));
            }
            edge = ranges.iter().map(|range| range.1).fold(edge, usize::max);
            return (0..edge.min(lanes).next_multiple_of(SHORT), lanes);
        }
        let (mut first, mut last) = (lanes, 0);
        for (access, window) in accesses() {
            if access.placed.writes && !window.lanes().is_empty() {
                first = first.min(window.lanes().start);
                last = last.max(window.lanes().end);
            }
        }
        let last = last.next_multiple_of(SHORT);
        match first < last {
            true => (first / MOST * MOST..last, last),
            false => (0..0, 0),
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
