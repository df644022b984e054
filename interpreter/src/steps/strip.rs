//! Chains of f32 that run as a straight line, strip by strip (`simd::strip`): which ones can, and with what.
//!
//! A [`Line`] is made once from the members of a chain: each operation takes what the last one left, or what is
//! somewhere: in a tensor, in a tile from outside, or saved because it is needed again. A sum or extreme of a row may
//! be the last thing that is done with a value; what needs it goes over the row again, in a pass of its own
//! (`making.rs`). When the chain runs, places get addresses, and what is the same in all
//! lanes is told from tiles; where a mask is no interval or an access no row, the chain runs as it would without.

mod making;
mod turns;

pub use turns::{Of, Round, Turns};

use crate::frame::{Form, Slot};
use crate::kind::Kind;
use crate::lanes::Loop;
use crate::machine::Machine;
use crate::num::float::{Bf16, F16, StoredFloat};
use crate::simd::strip::{Arith, Fold, Held, MOST, OPERANDS, Ops, SHORT, Transcendental, Window};
use crate::steps::chain::MAX_PLACED;
use crate::steps::memory::row::{Placed, Row};
use crate::tape::Inst;
use std::ops::Range;

/// What an instruction is in a line.
#[derive(Debug, Clone, Copy)]
pub enum Link {
    /// An operation with a vector instruction.
    Arith(Arith),
    /// A loop over all operands, and whether it keeps bits of a NaN: it then must get the canonical one.
    Each(Loop<f32>, bool),
    /// A function that may have instructions of its own, and the same as a loop.
    Transcendental(Transcendental, Loop<f32>),
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

/// Most passes.
const PASSES: usize = 4;

/// Most of anything that a line names.
const MOST_ROOMS: usize = 8;
const _: () = assert!(MAX_PLACED <= MOST_ROOMS && OPERANDS <= MOST_ROOMS && RESULTS <= MOST_ROOMS);

/// A load or store.
#[derive(Debug, Clone)]
struct Access {
    /// The member of the chain.
    member: usize,
    held: Held,
    placed: Placed,
}

/// Where an operand of a line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// An operand of the chain, by number.
    Outside(usize),
    /// A number that lanes were combined to in an earlier pass: a fold, by number.
    Fold(usize),
    /// A tile that an earlier pass made, by number.
    Tile(usize),
}

/// A tile that a line makes.
#[derive(Debug, Clone, Copy)]
struct Made {
    /// The member whose value it is, and which result of the chain, if it is one.
    member: usize,
    result: Option<usize>,
}

impl Made {
    /// The slot it is in.
    fn slot(self, members: &[Inst], inst: &Inst) -> Slot {
        match self.result {
            Some(result) => inst.outs[result],
            None => members[self.member].outs[0],
        }
    }
}

/// What is done with all lanes before what comes next, which needs what they are combined to.
#[derive(Debug)]
struct Pass {
    ops: Ops,
    /// The same by [`Fold::quick`], where nothing is stored: what it leaves in doubt is done again.
    quick: Option<Ops>,
    accesses: Range<usize>,
    tiles: Range<usize>,
    folds: Range<usize>,
    /// Lines of memory to ask for beside a strip.
    lines: usize,
}

/// A chain as a straight line.
#[derive(Debug, Default)]
pub struct Line {
    passes: Vec<Pass>,
    accesses: Vec<Access>,
    /// What is a number or a tile.
    operands: Vec<Origin>,
    /// Operands of the chain that are masks.
    masks: Vec<usize>,
    tiles: Vec<Made>,
    /// How lanes are combined, and which result of the chain they are then, if they are one.
    folds: Vec<(Option<usize>, Fold)>,
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

    /// True if instructions take about as long as what they read and write does to come and go.
    pub fn is_light(members: &[Inst]) -> bool {
        members.iter().all(|member| match member.step.link() {
            Some(Link::Arith(arith)) => !matches!(arith, Arith::Div | Arith::DivInto),
            Some(Link::Load(_) | Link::Store(_) | Link::Select | Link::Narrow(_)) => true,
            _ => false,
        })
    }

    /// How often it goes over the lanes.
    pub fn passes(&self) -> usize {
        self.passes.len()
    }

    /// True if nothing but what it stores is left of it, and no operand but of places is in one of these slots.
    pub fn is_same_but_for(&self, members: &[Inst], inst: &Inst, slots: &[Slot]) -> bool {
        let outside = self.operands.iter().filter_map(|&origin| match origin {
            Origin::Outside(i) => Some(i),
            Origin::Fold(_) | Origin::Tile(_) => None,
        });
        let operands = outside.chain(self.masks.iter().copied()).map(|i| inst.ins[i]);
        let others = self.accesses.iter().filter(|access| access.placed.other);
        let others = others.map(|access| members[access.member].ins[0]);
        self.tiles.iter().all(|made| made.result.is_none())
            && self.folds.iter().all(|fold| fold.0.is_none())
            && !operands.chain(others).any(|slot| slots.contains(&slot))
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
            // What an earlier pass does, it has done.
            let pass = self.passes.iter().map(|pass| pass.accesses.start);
            let first = pass.take_while(|&first| first <= i).last().unwrap_or(0);
            let mut earlier = self.accesses[first..i].iter().zip(&rows[first..i]);
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

    /// The lanes that a pass does, and up to which all that follow are alike: of what is only stored, those that are; else
    /// up to the last one that differs from those behind it.
    #[inline]
    fn part(
        &self,
        inst: &Inst,
        machine: &Machine<'_>,
        lanes: usize,
        (pass, windows, ranges): (&Pass, &[Window<'_>], &[(usize, usize)]),
    ) -> (Range<usize>, usize) {
        if !pass.tiles.is_empty() || !pass.folds.is_empty() {
            let (edge, lanes) = self.edges(inst, machine, lanes, (windows, ranges));
            return (0..edge, lanes);
        }
        let (mut first, mut last) = (lanes, 0);
        for (access, window) in self.accesses.iter().zip(windows) {
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

    /// The lane from which on all are alike in what is read, up to a multiple of a strip, and how many lanes there are.
    #[inline]
    fn edges(
        &self,
        inst: &Inst,
        machine: &Machine<'_>,
        lanes: usize,
        (windows, ranges): (&[Window<'_>], &[(usize, usize)]),
    ) -> (usize, usize) {
        let ends = windows.iter().map(|window| window.lanes().end);
        let mut edge = ends.max().unwrap_or(0);
        for &operand in &self.operands {
            if let Origin::Outside(operand) = operand {
                edge = edge.max(machine.frame.alike_from(inst.ins[operand]));
            }
        }
        edge = ranges.iter().map(|range| range.1).fold(edge, usize::max);
        (edge.min(lanes).next_multiple_of(SHORT), lanes)
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
