//! How a [`Line`] is made of the members of a chain.
//!
//! What one operation leaves, the next one takes; else it is saved for as long as the strip is at hand. A member that
//! reads what lanes of the whole row were combined to begins a new pass: what it and those behind it need of earlier
//! passes is a number, or a tile that they made; a tensor is read again.

use super::{Access, Line, Link, Made, Origin, PASSES, Pass, RESULTS, held};
use crate::frame::Slot;
use crate::kind::Kind;
use crate::lanes::Loop;
use crate::simd::strip::{ARGUMENTS, Arith, Fold, Held, MOST, OPERANDS, Op, Ops, SAVED, Source};
use crate::steps::chain::MAX_PLACED;
use crate::tape::Inst;
use std::collections::HashMap;
use std::ops::Range;

/// The number of something in a list, which it joins if it must.
fn number<T: PartialEq>(list: &mut Vec<T>, one: T) -> usize {
    let known = list.iter().position(|own| *own == one);
    known.unwrap_or_else(|| {
        list.push(one);
        list.len() - 1
    })
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

/// What a pass becomes when all windows are known.
struct Draft {
    ops: Vec<Op>,
    lines: usize,
    accesses: usize,
    tiles: usize,
    folds: usize,
}

/// A line in the making.
struct Maker<'a> {
    members: &'a [Inst],
    operands: &'a [Slot],
    results: &'a [Slot],
    /// The members that passes but the first begin with.
    begins: &'a [usize],
    line: Line,
    /// Passes that are made: their operations, and how many accesses, tiles and folds there are at their ends.
    done: Vec<Draft>,
    ops: Vec<Op>,
    lines: usize,
    values: HashMap<Slot, Value>,
    /// Rounded values, and what they were.
    narrow: HashMap<Slot, (Slot, Kind)>,
    /// What lanes were combined to.
    folded: Vec<Slot>,
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
    /// The line of some instructions on tiles of so many lanes, if they make one; operands and results are the chain's, and
    /// `begins` the members that a pass begins with, but the first.
    pub fn of(
        members: &[Inst],
        operands: &[Slot],
        results: &[Slot],
        begins: &[usize],
        lanes: usize,
    ) -> Option<Line> {
        if !lanes.is_multiple_of(MOST) || members.iter().any(|member| member.step.link().is_none()) {
            return None;
        }
        let mut maker = Maker {
            members,
            operands,
            results,
            begins,
            line: Line::default(),
            done: Vec::new(),
            ops: Vec::new(),
            lines: 0,
            values: HashMap::new(),
            narrow: HashMap::new(),
            folded: Vec::new(),
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
            if begins.contains(&i) {
                maker.turn(i)?;
            }
            maker.add(i)?;
        }
        maker.turn(members.len())?;
        maker.line()
    }
}

impl Maker<'_> {
    /// Ends a pass; the next one begins with a member.
    fn turn(&mut self, next: usize) -> Option<()> {
        let (tiles, folds) = self.done.last().map_or((0, 0), |last| (last.tiles, last.folds));
        for value in self.values.values_mut() {
            if matches!(value.place, Some(Source::Saved(_))) {
                value.place = None;
            }
        }
        for i in tiles..self.line.tiles.len() {
            let slot = self.members[self.line.tiles[i].member].outs[0];
            let is_load = matches!(self.values.get(&slot)?.place, Some(Source::Memory(_)));
            if !is_load && self.is_read(slot, next..self.members.len()) {
                let operand = number(&mut self.line.operands, Origin::Tile(i));
                self.values.get_mut(&slot)?.place = Some(Source::Operand(operand));
            }
        }
        for i in folds..self.line.folds.len() {
            let slot = self.folded[i];
            if self.is_read(slot, next..self.members.len()) {
                let operand = number(&mut self.line.operands, Origin::Fold(i));
                self.define(next - 1, slot, Some(Source::Operand(operand)), false);
            }
        }
        self.done.push(Draft {
            ops: std::mem::take(&mut self.ops),
            lines: std::mem::take(&mut self.lines),
            accesses: self.line.accesses.len(),
            tiles: self.line.tiles.len(),
            folds: self.line.folds.len(),
        });
        (self.last, self.saved) = (None, 0);
        Some(())
    }

    /// The line of all passes.
    fn line(self) -> Option<Line> {
        let mut line = self.line;
        let held: Vec<Held> = line.accesses.iter().map(|access| access.held).collect();
        let (mut accesses, mut tiles, mut folds) = (0, 0, 0);
        let begin = |from: &mut usize, to: usize| std::mem::replace(from, to)..to;
        for draft in self.done {
            let mut pass = Pass {
                ops: Ops::new(&draft.ops, held.clone())?,
                quick: None,
                accesses: begin(&mut accesses, draft.accesses),
                tiles: begin(&mut tiles, draft.tiles),
                folds: begin(&mut folds, draft.folds),
                lines: draft.lines,
            };
            let mut own = line.accesses[pass.accesses.clone()].iter();
            let stores = own.any(|access| access.placed.writes);
            let mut own = line.folds[pass.folds.clone()].iter();
            if !stores && own.any(|(_, fold)| fold.quick().is_some()) {
                let ops = draft.ops.iter().map(|op| match *op {
                    Op::Fold(i, fold) => Op::Fold(i, fold.quick().unwrap_or(fold)),
                    op => op,
                });
                let ops: Vec<Op> = ops.collect();
                pass.quick = Some(Ops::new(&ops, held.clone())?);
            }
            line.passes.push(pass);
        }
        let fits = line.passes.len() <= PASSES
            && line.operands.len() <= OPERANDS
            && line.masks.len() <= OPERANDS
            && line.accesses.len() <= MAX_PLACED
            && line.tiles.len() <= RESULTS
            && line.folds.len() <= RESULTS;
        let given = line.tiles.iter().filter_map(|made| made.result);
        let given = given
            .chain(line.folds.iter().filter_map(|(result, _)| *result))
            .count();
        (fits && given == self.results.len()).then_some(line)
    }

    /// True if some members read a value, or what it was rounded to.
    fn is_read(&self, slot: Slot, members: Range<usize>) -> bool {
        let narrow = |member: &&Inst| matches!(member.step.link(), Some(Link::Narrow(_)));
        let rounded = self.members.iter().filter(narrow);
        let rounded = rounded
            .filter(|member| member.ins[0] == slot)
            .map(|member| member.outs[0]);
        let names: Vec<Slot> = rounded.chain([slot]).collect();
        self.members[members].iter().any(|member| {
            let Some(link) = member.step.link() else {
                return true;
            };
            read(&link, member).iter().any(|read| names.contains(read))
        })
    }

    /// Where the pass ends.
    fn end(&self) -> usize {
        self.begins
            .get(self.done.len())
            .copied()
            .unwrap_or(self.members.len())
    }

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
        self.lines += match link {
            Link::Each(..) | Link::Transcendental(..) | Link::Arith(Arith::Div | Arith::DivInto) => 8,
            _ => 2,
        };
        match link {
            Link::Load(kind) => self.load(index, kind),
            Link::Store(kind) => self.store(index, kind),
            Link::Narrow(kind) => self.narrow(index, kind),
            Link::Fold(fold) => self.fold(index, fold),
            Link::Arith(arith) => self.arith(index, arith),
            Link::Each(each, keeps) => self.each(index, each, keeps),
            Link::Transcendental(function, each) => {
                self.bring(inst.ins[0])?;
                self.ops.push(Op::Transcendental(function, each));
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
        let out = inst.outs[0];
        let result = self.results.iter().position(|&slot| slot == out);
        let first = self.done.last().map_or(0, |last| last.folds);
        self.ops.push(Op::Fold(self.line.folds.len() - first, fold));
        self.line.folds.push((result, fold));
        self.folded.push(out);
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
            Source::Operand(usize::MAX) => {
                let operand = self.operands.iter().position(|&own| own == slot)?;
                let origin = Origin::Outside(operand);
                Some(Source::Operand(number(&mut self.line.operands, origin)))
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
        self.uses(index + 1..self.members.len(), slot)
    }

    /// How often some members read a value.
    fn uses(&self, members: Range<usize>, slot: Slot) -> usize {
        let later = self.members[members].iter();
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
        let is_needed = !is_load && self.is_read(out, self.end()..self.members.len());
        if result.is_some() || is_needed {
            let first = self.done.last().map_or(0, |last| last.tiles);
            self.ops.push(Op::Result(self.line.tiles.len() - first));
            self.line.tiles.push(Made {
                member: index,
                result,
            });
        }
        Some(())
    }

    /// True if a value is read in this pass after another one has become the last.
    fn is_read_later(&self, index: usize, slot: Slot) -> bool {
        let mut names = vec![slot];
        let end = self.end();
        for (i, member) in self.members.iter().enumerate().take(end).skip(index + 1) {
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
                return names.iter().any(|&name| self.uses(i + 1..end, name) > 0);
            }
        }
        false
    }
}
