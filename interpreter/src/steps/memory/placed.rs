//! Loads and stores whose addresses and masks are formulas of a few scalars ([`crate::optimise::place`]).
//!
//! No tile of pointers is made: the scalars give the first address, one comparison or two say which rows and
//! columns are active, one exact bounds check covers all of them, and rows are copied. Where anything is in doubt
//! (a lane out of bounds, a view with gaps, a mask that is no rectangle, undefined lanes about, memory that nothing
//! wrote yet) the tiles are made after all and the plain instruction does its work: with the same findings and bytes.
//!
//! Such an access may also be a member of a chain, and then does a block of its lanes at a time. A chain asks
//! beforehand whether it is beyond doubt ([`Step::reach`]).

use crate::access::Piece;
use crate::forms::Sum;
use crate::frame::{Frame, Provenance, Slot, Tensor, Tile, sign_extend};
use crate::hunt;
use crate::kind::{Kind, Lane};
use crate::machine::{Flow, Machine, Stop};
use crate::print;
use crate::races::Touch;
use crate::steps::atomic;
use crate::steps::memory::row::Placed;
use crate::steps::strip::{self, Link};
use crate::tape::{Code, Effect, Inst, Step};
use crate::tensor_memory::Shared;
use crate::with_width;
use std::ops::Range;

/// What is left of a number, which is 0 or more, by a division.
#[derive(Debug, Clone)]
pub struct Remainder {
    /// The number.
    pub of: Value,
    /// By what it is divided: 1 or more.
    pub divisor: i64,
    /// How often the rest is taken.
    pub times: i64,
}

/// A number that depends on scalars: base + Σ factor · scalar, and the rest of a division, if there is one.
#[derive(Debug, Clone)]
pub struct Value {
    /// Without the scalars.
    pub base: i64,
    /// Operand of the instruction, its bytes, and the factor.
    pub terms: Vec<(usize, u8, i64)>,
    /// The rest of a division.
    pub rest: Option<Box<Remainder>>,
}

impl Value {
    /// How much it grows where a scalar does by one; none if that is not always the same.
    pub(super) fn factor(&self, inst: &Inst, scalar: Slot) -> Option<i64> {
        let is_it = |term: &&(usize, u8, i64)| inst.ins[term.0] == scalar;
        if let Some(rest) = &self.rest
            && rest.of.terms.iter().any(|term| is_it(&term))
        {
            return None;
        }
        let terms = self.terms.iter().filter(is_it);
        Some(terms.fold(0, |sum, term| sum.wrapping_add(term.2)))
    }

    #[inline]
    pub(super) fn now(&self, inst: &Inst, frame: &Frame) -> i64 {
        let mut sum = self.base;
        for &(operand, bytes, factor) in &self.terms {
            let slot = inst.ins[operand];
            let bits = frame.uniform(slot).unwrap_or_else(|| frame.scalar::<u64>(slot));
            sum = sum.wrapping_add(sign_extend(bits, bytes as usize).wrapping_mul(factor));
        }
        if let Some(rest) = &self.rest {
            let left = rest.of.now(inst, frame).wrapping_rem(rest.divisor);
            sum = sum.wrapping_add(left.wrapping_mul(rest.times));
        }
        sum
    }
}

/// Lanes whose value is below 0 are active.
#[derive(Debug, Clone)]
pub struct Below {
    /// The share of the scalars.
    pub value: Value,
    /// The share of the lane.
    pub lanes: Sum,
    /// The greatest share of a lane.
    pub reach: i64,
    /// The share of a lane as that of its row and column, where it is one.
    pub steps: Option<(i64, i64)>,
}

/// Where the lanes of an access are, as rows of neighbours.
#[derive(Debug, Clone)]
pub struct Place {
    /// The tensor, plus one.
    pub tensor: Tensor,
    /// Address of lane 0.
    pub value: Value,
    /// The share of the lane in the address.
    pub lanes: Sum,
    /// Rows, and lanes of each.
    pub rows: usize,
    /// Lanes of a row: neighbours in memory.
    pub columns: usize,
    /// Bytes from row to row: 0 or more.
    pub stride: usize,
    /// Rows in memory are columns of the tile.
    pub turned: bool,
    /// What makes a lane active.
    pub masks: Vec<Below>,
}

/// Active rows and columns of a place, in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rectangle {
    /// Where it lies.
    pub allocation: usize,
    /// Byte of the first active lane.
    pub offset: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

/// The bytes that an access touches, and which lanes are where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Where the lanes are.
    pub rectangle: Rectangle,
    stride: usize,
    shape: (usize, usize),
    elem: usize,
    turned: bool,
    /// One past the last byte.
    end: usize,
    /// It stores.
    pub writes: bool,
}

impl Reach {
    /// True if two accesses may go on block by block side by side: they have no byte in common, or the same lanes at
    /// the same places.
    pub fn is_apart(&self, other: &Reach) -> bool {
        let (a, b) = (&self.rectangle, &other.rectangle);
        let apart = a.allocation != b.allocation || self.end <= b.offset || other.end <= a.offset;
        apart
            || (a == b
                && (self.stride, self.shape, self.elem, self.turned)
                    == (other.stride, other.shape, other.elem, other.turned))
    }
}

/// The lanes 0..n with value + step · lane below 0.
fn below(value: i64, step: i64, n: usize) -> Range<usize> {
    let lanes = n as i128;
    let (value, step) = (i128::from(value), i128::from(step));
    let range = match step {
        0 if value < 0 => 0..lanes,
        0 => 0..0,
        1 => 0..(-value).clamp(0, lanes),
        2.. => 0..((step - 1 - value).div_euclid(step)).clamp(0, lanes),
        _ if value < 0 => 0..lanes,
        _ => (value.div_euclid(-step) + 1).min(lanes)..lanes,
    };
    range.start as usize..range.end as usize
}

fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

impl Place {
    /// The active rows and columns, if they are a rectangle.
    #[inline]
    fn active(&self, inst: &Inst, frame: &Frame) -> Option<(Range<usize>, Range<usize>)> {
        let (mut rows, mut columns) = (0..self.rows, 0..self.columns);
        for mask in &self.masks {
            let value = mask.value.now(inst, frame);
            if value.checked_add(mask.reach).is_some_and(|high| high < 0) {
                continue;
            }
            match mask.steps? {
                (0, step) => columns = common(&columns, &below(value, step, self.columns)),
                (step, 0) => rows = common(&rows, &below(value, step, self.rows)),
                _ => return None,
            }
        }
        Some((rows, columns))
    }

    /// Where the active lanes are, if all of them are beyond doubt.
    #[inline(always)]
    pub(super) fn rectangle(
        &self,
        inst: &Inst,
        machine: &Machine<'_>,
        elem: usize,
        writes: bool,
    ) -> Option<Rectangle> {
        let memory = &machine.context.memory;
        let (rows, columns) = self.active(inst, &machine.frame)?;
        let target = memory
            .target(self.tensor)
            .filter(|target| !memory.initialised.watches(target.allocation))?;
        let mut rectangle = Rectangle {
            allocation: target.allocation,
            offset: 0,
            rows,
            columns,
        };
        if rectangle.is_empty() {
            return Some(rectangle);
        }
        let first = rectangle.rows.start * self.stride + rectangle.columns.start * elem;
        let address = (self.value.now(inst, &machine.frame) as u64).wrapping_add(first as u64);
        let offset = address.wrapping_sub(target.base);
        let span = (rectangle.rows.len() - 1) * self.stride + rectangle.columns.len() * elem;
        let inside = offset <= target.len && span as u64 <= target.len - offset;
        let fine = inside && address & (elem as u64 - 1) == 0 && target.whole && (!writes || target.writable);
        rectangle.offset = offset as usize;
        fine.then_some(rectangle)
    }

    /// What an access of this rectangle touches.
    pub fn reach(&self, rectangle: Rectangle, elem: usize, writes: bool) -> Reach {
        let span = match rectangle.is_empty() {
            true => 0,
            false => (rectangle.rows.len() - 1) * self.stride + rectangle.columns.len() * elem,
        };
        Reach {
            stride: self.stride,
            shape: (self.rows, self.columns),
            elem,
            turned: self.turned,
            end: rectangle.offset + span,
            rectangle,
            writes,
        }
    }

    /// Makes the tile of pointers, and the mask if there is one, for the plain instruction.
    #[cold]
    fn spell_out(&self, inst: &Inst, plain: &Inst, machine: &mut Machine<'_>) {
        let mut sum = self.lanes;
        sum.base = self.value.now(inst, &machine.frame);
        let pointers = plain.ins[0];
        // Undefined lanes of whatever had these slots before are not theirs.
        let rooms = 1 + usize::from(!self.masks.is_empty());
        plain.ins[..rooms].iter().for_each(|&room| {
            machine.taint.set(room, None);
            machine.exact.set(room, None);
        });
        machine.frame.set_sum(pointers, sum, 8, |_, _| {});
        machine
            .frame
            .set_provenance(pointers, Provenance::Uniform(self.tensor));
        if self.masks.is_empty() {
            return;
        }
        let sums: Vec<Sum> = self
            .masks
            .iter()
            .map(|mask| {
                let mut sum = mask.lanes;
                sum.base = mask.value.now(inst, &machine.frame);
                sum
            })
            .collect();
        let mut masks = sums.iter().map(|sum| sum.below(0, &[]));
        let first = masks.next().flatten();
        let all = masks
            .try_fold(first, |all, mask| Some(all?.and(&mask?)))
            .flatten();
        match all {
            Some(mask) => machine.frame.set_mask(plain.ins[1], mask),
            None => {
                let active = |lane: usize| sums.iter().all(|sum| sum.at(lane, &[]) < 0);
                let lanes = self.rows * self.columns;
                machine
                    .frame
                    .fill::<u8>(plain.ins[1], lanes, |_, lane| u8::from(active(lane)));
            }
        }
    }
}

impl Rectangle {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.columns.is_empty()
    }

    /// The part within lanes `first..first + count` of a place that is not turned: whole rows, or some of one. Gives
    /// the byte, the rows, and the columns.
    fn part(&self, place: &Place, elem: usize, first: usize, count: usize) -> Rectangle {
        let (row, column) = (first / place.columns, first % place.columns);
        let rows = common(&self.rows, &(row..row + count.div_ceil(place.columns)));
        let columns = common(&self.columns, &(column..column + count.min(place.columns)));
        let skipped =
            (rows.start - self.rows.start) * place.stride + (columns.start - self.columns.start) * elem;
        Rectangle {
            allocation: self.allocation,
            offset: self.offset + skipped,
            rows,
            columns,
        }
    }
}

/// `tt.load` at a place: operands are the other value, if there is one, then scalars.
#[derive(Debug)]
pub struct PlacedLoad {
    /// Kind of the elements.
    pub kind: Kind,
    /// Where.
    pub place: Place,
    /// The first operand is the value of lanes that are not active.
    pub other: bool,
    /// Lanes that are not active have a value, or never matter.
    pub quiet: bool,
    /// The plain load.
    pub plain: Code,
}

/// Lanes `first..first + count` of the tile.
fn window(inst: &Inst, machine: &Machine<'_>, place: &Place) -> (usize, usize) {
    match inst.lanes {
        0 => (machine.first, machine.batch),
        _ => (0, place.rows * place.columns),
    }
}

impl PlacedLoad {
    /// What it accesses.
    pub fn placed(&self) -> Placed {
        Placed {
            place: self.place.clone(),
            kind: self.kind,
            writes: false,
            other: self.other,
            quiet: self.quiet,
        }
    }

    /// Where the active lanes are, if all of them are beyond doubt and no other is undefined.
    #[inline]
    pub fn rectangle(&self, inst: &Inst, machine: &Machine<'_>) -> Option<Rectangle> {
        let found = self.place.rectangle(inst, machine, self.kind.bytes(), false)?;
        let is_whole = || found.rows.len() * found.columns.len() == self.place.rows * self.place.columns;
        (self.quiet || is_whole()).then_some(found)
    }

    /// What is to be known of the whole access, whose lanes may be done in blocks.
    #[inline]
    pub fn begin(&self, inst: &Inst, machine: &mut Machine<'_>, all: &Rectangle) {
        atomic::flush_before_tensor(machine, self.place.tensor);
        let elem = self.kind.bytes();
        note_touch(machine, inst, &self.place, all, elem, Touch::Read);
        let (rows, bytes) = (all.rows.len(), all.columns.len() * elem);
        if rows == 1 || self.place.stride == bytes {
            machine.expect(inst.at, all.allocation, all.offset, rows * bytes);
        }
    }

    /// Lanes in memory, as they are.
    #[inline]
    fn copy<T: Lane>(&self, inst: &Inst, machine: &mut Machine<'_>, all: &Rectangle) {
        if self.place.rows * self.place.columns == 1 && !all.is_empty() {
            let mut value = T::from_bits(0);
            let shared = &machine.context.memory.shared;
            shared.read(all.allocation, all.offset, std::slice::from_mut(&mut value));
            machine.frame.set_uniform(inst.outs[0], value.to_bits());
            return;
        }
        let other = self.other.then(|| inst.ins[0]);
        let (stride, turned) = (self.place.stride, self.place.turned);
        self.fill::<T>(
            inst,
            machine,
            all,
            |frame, lanes| other.map(|other| frame.tile::<T>(other, lanes)),
            |shared, part, rows, out| match turned {
                true => shared.read_turned(part.allocation, part.offset, stride, rows, out),
                false => shared.read_rows(part.allocation, part.offset, stride, rows, out),
            },
        );
    }

    /// Fills the lanes of the result: with what `other` says where they are not active, else by `read`, which turns rows
    /// into columns if the place is turned.
    #[inline]
    pub fn fill<T: Lane>(
        &self,
        inst: &Inst,
        machine: &mut Machine<'_>,
        all: &Rectangle,
        other: impl Fn(&Frame, usize) -> Option<Tile<'_, T>>,
        read: impl Fn(&Shared<'_>, &Rectangle, [usize; 2], (usize, &mut [T])),
    ) {
        let place = &self.place;
        let (first, count) = window(inst, machine, place);
        let mut buffer = machine.frame.take::<T>(inst.outs[0], count);
        let lanes = buffer.lanes::<T>(count);
        let other = other(&machine.frame, count).unwrap_or(Tile::Uniform(T::from_bits(0)));
        let shared = &machine.context.memory.shared;
        if place.turned {
            if all.rows.len() * all.columns.len() < count {
                fill_other(other, 0..count, lanes);
            }
            if !all.is_empty() {
                let start = all.columns.start * place.rows + all.rows.start;
                let rows = [all.rows.len(), all.columns.len()];
                read(shared, all, rows, (place.rows, &mut lanes[start..]));
            }
        } else {
            let part = all.part(place, self.kind.bytes(), first, count);
            let width = place.columns.min(count);
            let row = first / place.columns;
            let column = first % place.columns;
            let rows = [part.rows.len(), part.columns.len()];
            if rows[0] * rows[1] < count {
                fill_around(other, &part, (row, column, width), lanes);
            }
            if !part.is_empty() {
                let start = (part.rows.start - row) * width + part.columns.start - column;
                read(shared, &part, rows, (width, &mut lanes[start..]));
            }
        }
        machine.frame.put(inst.outs[0], buffer);
        if place.rows * place.columns == 1 {
            let bits = machine.frame.scalar::<T>(inst.outs[0]).to_bits();
            machine.frame.set_uniform(inst.outs[0], bits);
        }
    }
}

/// Gives lanes what they have where they are not active.
fn fill_other<T: Lane>(other: Tile<'_, T>, range: Range<usize>, lanes: &mut [T]) {
    match other {
        Tile::Uniform(value) => lanes[range].fill(value),
        Tile::Dense(values) => lanes[range.clone()].copy_from_slice(&values[range]),
    }
}

/// The same around the active part of rows of `width` lanes from (row, column) on.
fn fill_around<T: Lane>(
    other: Tile<'_, T>,
    part: &Rectangle,
    (row, column, width): (usize, usize, usize),
    lanes: &mut [T],
) {
    if part.is_empty() {
        fill_other(other, 0..lanes.len(), lanes);
        return;
    }
    let (top, bottom) = ((part.rows.start - row) * width, (part.rows.end - row) * width);
    fill_other(other, 0..top, lanes);
    fill_other(other, bottom..lanes.len(), lanes);
    let (left, right) = (part.columns.start - column, part.columns.end - column);
    if right - left < width {
        for start in (top..bottom).step_by(width) {
            fill_other(other, start..start + left, lanes);
            fill_other(other, start + right..start + width, lanes);
        }
    }
}

impl Step for PlacedLoad {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if !is_followed(machine)
            && let Some(all) = self.rectangle(inst, machine)
        {
            self.begin(inst, machine, &all);
            with_width!(self.kind, T => self.copy::<T>(inst, machine, &all));
            return Ok(Flow::Next);
        }
        let plain = &self.plain.insts[0];
        self.place.spell_out(inst, plain, machine);
        plain.step.run(plain, machine)
    }

    fn taint(&self, _: &Inst, machine: &mut Machine<'_>) {
        let plain = &self.plain.insts[0];
        plain.ins.iter().for_each(|&slot| machine.frame.flatten(slot));
        plain.step.taint(plain, machine);
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    fn reach(&self, inst: &Inst, machine: &Machine<'_>) -> Option<Reach> {
        let rectangle = self.rectangle(inst, machine)?;
        Some(self.place.reach(rectangle, self.kind.bytes(), false))
    }

    fn begin(&self, inst: &Inst, machine: &mut Machine<'_>, reach: &Reach) {
        PlacedLoad::begin(self, inst, machine, &reach.rectangle);
    }

    fn run_part(&self, inst: &Inst, machine: &mut Machine<'_>, reach: &Reach) {
        with_width!(self.kind, T => self.copy::<T>(inst, machine, &reach.rectangle));
    }

    fn placed_load(&self) -> Option<&PlacedLoad> {
        Some(self)
    }

    fn placed(&self) -> Option<Placed> {
        Some(PlacedLoad::placed(self))
    }

    fn link(&self) -> Option<Link> {
        (self.kind == Kind::F32 && !self.place.turned).then_some(Link::Load(self.kind))
    }

    fn is_access(&self) -> bool {
        true
    }

    fn is_placed(&self) -> bool {
        !self.place.turned
    }

    fn nested(&self) -> Option<&Code> {
        Some(&self.plain)
    }

    fn nested_mut(&mut self) -> Option<&mut Code> {
        Some(&mut self.plain)
    }
}

/// `tt.store` at a place: operands are the value, then scalars.
#[derive(Debug)]
pub struct PlacedStore {
    /// Kind of the elements.
    pub kind: Kind,
    /// Where.
    pub place: Place,
    /// The plain store.
    pub plain: Code,
}

impl PlacedStore {
    /// Where the active lanes are, if all of them are beyond doubt and no two at one place.
    #[inline]
    fn rectangle(&self, inst: &Inst, machine: &Machine<'_>) -> Option<Rectangle> {
        let found = self.place.rectangle(inst, machine, self.kind.bytes(), true)?;
        let apart = found.rows.len() <= 1 || self.place.stride >= found.columns.len() * self.kind.bytes();
        apart.then_some(found)
    }

    /// What is to be known of the whole access, whose lanes may be done in blocks.
    #[inline]
    fn begin(&self, inst: &Inst, machine: &mut Machine<'_>, all: &Rectangle) {
        let elem = self.kind.bytes();
        atomic::flush_before_tensor(machine, self.place.tensor);
        machine.wrote = true;
        note(machine, all, self.place.stride, all.columns.len() * elem);
        note_touch(machine, inst, &self.place, all, elem, Touch::Write);
    }

    /// Copies lanes to memory.
    #[inline]
    fn copy<T: Lane>(&self, inst: &Inst, machine: &mut Machine<'_>, all: &Rectangle) {
        let place = &self.place;
        let elem = size_of::<T>();
        let (first, count) = window(inst, machine, place);
        let part = all.part(place, elem, first, count);
        if part.is_empty() {
            return;
        }
        let memory = &machine.context.memory;
        let (columns, rows) = (part.columns.len(), part.rows.len());
        let width = place.columns.min(count);
        let start =
            (part.rows.start - first / place.columns) * width + part.columns.start - first % place.columns;
        let (value, kind) = (inst.ins[0], self.kind);
        if memory.specials && kind.is_float() && hunt::has_special(machine, value, kind, count) {
            let bits = |lane: usize| print::bits(&machine.frame, value, kind, count, lane);
            let mut lanes =
                (0..rows).flat_map(|row| (0..columns).map(move |column| start + row * width + column));
            if lanes.any(|lane| !hunt::float(bits(lane), kind).is_finite()) {
                machine.sink.suspects.add(machine.linear);
            }
        }
        match machine.frame.tile::<T>(inst.ins[0], count) {
            Tile::Uniform(value) => {
                let row = [value; 64];
                for i in 0..rows {
                    for done in (0..columns).step_by(row.len()) {
                        let lanes = &row[..row.len().min(columns - done)];
                        let offset = part.offset + i * place.stride + done * elem;
                        memory.shared.write(part.allocation, offset, lanes);
                    }
                }
            }
            Tile::Dense(lanes) => {
                memory.shared.write_rows(
                    part.allocation,
                    part.offset,
                    place.stride,
                    [rows, columns],
                    (width, &lanes[start..]),
                );
            }
        }
    }
}

/// True if something goes along with the lanes, or more is to be known of accesses than where they are.
#[inline]
pub fn is_followed(machine: &Machine<'_>) -> bool {
    machine.taint.is_active()
        || machine.exact.is_active()
        || machine.ordered.is_some()
        || machine.context.memory.compare.is_some()
}

/// Notes rows as touched, to find races.
#[inline]
fn note_touch(
    machine: &mut Machine<'_>,
    inst: &Inst,
    place: &Place,
    part: &Rectangle,
    elem: usize,
    touch: Touch,
) {
    let context = machine.context;
    let memory = &context.memory;
    if part.is_empty() || !memory.races.watched.contains(part.allocation) {
        return;
    }
    let together = place.stride == part.columns.len() * elem || part.rows.len() == 1;
    let (rows, count) = match together {
        true => (1, part.rows.len() * part.columns.len()),
        false => (part.rows.len(), part.columns.len()),
    };
    let piece = Piece {
        lane: 0,
        count,
        allocation: part.allocation,
        tensor: place.tensor,
        offset: part.offset,
    };
    let (races, program) = (&memory.races, machine.linear);
    let noted = &mut machine.sink.noted;
    if together {
        races.note(memory, noted, elem, piece, inst.at, touch, program);
    } else {
        let rows = [rows, place.stride];
        races.note_rows(memory, noted, elem, piece, rows, inst.at, touch, program);
    }
}

/// Notes rows as written.
#[inline]
fn note(machine: &mut Machine<'_>, part: &Rectangle, stride: usize, bytes: usize) {
    if let Some(log) = &mut machine.sink.written[part.allocation]
        && !part.is_empty()
    {
        let [start, bytes, stride, rows] = [part.offset, bytes, stride, part.rows.len()].map(|n| n as u64);
        log.add_rows(start, bytes, stride, rows);
    }
}

impl Step for PlacedStore {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if !is_followed(machine)
            && let Some(all) = self.rectangle(inst, machine)
        {
            self.begin(inst, machine, &all);
            with_width!(self.kind, T => self.copy::<T>(inst, machine, &all));
            return Ok(Flow::Next);
        }
        let plain = &self.plain.insts[0];
        self.place.spell_out(inst, plain, machine);
        plain.step.run(plain, machine)
    }

    fn taint(&self, _: &Inst, machine: &mut Machine<'_>) {
        let plain = &self.plain.insts[0];
        plain.ins.iter().for_each(|&slot| machine.frame.flatten(slot));
        plain.step.taint(plain, machine);
    }

    fn reach(&self, inst: &Inst, machine: &Machine<'_>) -> Option<Reach> {
        let rectangle = self.rectangle(inst, machine)?;
        Some(self.place.reach(rectangle, self.kind.bytes(), true))
    }

    fn begin(&self, inst: &Inst, machine: &mut Machine<'_>, reach: &Reach) {
        PlacedStore::begin(self, inst, machine, &reach.rectangle);
    }

    fn run_part(&self, inst: &Inst, machine: &mut Machine<'_>, reach: &Reach) {
        with_width!(self.kind, T => self.copy::<T>(inst, machine, &reach.rectangle));
    }

    fn placed(&self) -> Option<Placed> {
        Some(Placed {
            place: self.place.clone(),
            kind: self.kind,
            writes: true,
            other: false,
            quiet: true,
        })
    }

    fn link(&self) -> Option<Link> {
        strip::is_held(self.kind).then_some(Link::Store(self.kind))
    }

    fn is_access(&self) -> bool {
        true
    }

    fn is_placed(&self) -> bool {
        true
    }

    fn nested(&self) -> Option<&Code> {
        Some(&self.plain)
    }

    fn nested_mut(&mut self) -> Option<&mut Code> {
        Some(&mut self.plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_below_zero() {
        for value in -9..9 {
            for step in -3..4 {
                let want: Vec<usize> = (0..5).filter(|&i| value + step * (i as i64) < 0).collect();
                assert_eq!(below(value, step, 5).collect::<Vec<_>>(), want, "{value} {step}");
            }
        }
    }
}
