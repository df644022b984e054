//! What is known of integers, addresses and masks before a launch runs.
//!
//! Arguments are numbers and the grid is given, so the addresses of most accesses are sums of a few scalars of the
//! program (its id, the counters of its loops), each times a number, and of the lane's place in the tile. A
//! [`Formula`] is such a sum with the range of its values, which is proven to lie within the type: nothing wraps. A
//! mask is some of them that must be below zero. What has no such form is not known here, and is computed while
//! the program runs.

use crate::forms::Sum;
use crate::frame::{Slot, Tensor, sign_extend};
use crate::kind::Kind;
use crate::lower::Lowered;
use crate::tape::Inst;
use tilescope_ir::OpCode;
use tilescope_ir::attrs::IntPredicate;

/// What an instruction gives, in terms of its operands.
#[derive(Debug, Clone)]
pub enum Rule<'a> {
    /// The program id along an axis.
    Program(usize),
    /// The number of programs along an axis.
    Programs(usize),
    /// The lane plus a number.
    Range(i64),
    /// Integer arithmetic.
    Integer(OpCode, Kind),
    /// An address and an offset, in elements of so many bytes.
    AddPtr(u64),
    /// A comparison of integers.
    Compare(IntPredicate, Kind),
    /// Both of two truth values.
    And,
    /// Its operand, repeated.
    Splat,
    /// Its operand with dimensions repeated, as in [`Sum::broadcast`].
    Broadcast(&'a [(u8, bool)]),
    /// An integer of another type, and whether it was signed.
    Convert(Kind, bool),
    /// Operand i is result i.
    Move,
    /// The end of a counted loop: counter, step, bound.
    Again,
}

/// Most scalars in a formula.
const MAX_TERMS: usize = 4;

/// Most comparisons in a mask.
const MAX_COMPARISONS: usize = 4;

/// What is left of base + Σ factor · scalar, which is 0 or more, divided by a number; so many times.
#[derive(Debug, Clone, PartialEq)]
pub struct Rest {
    /// Where all scalars are 0.
    pub base: i64,
    /// Scalars and their factors.
    pub terms: Vec<(Slot, i64)>,
    /// By what it is divided: 1 or more.
    pub divisor: i64,
    /// How often it is taken.
    pub times: i64,
}

/// base + Σ factor · scalar + what the lane gives, and the rest of a division, if there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    /// The value where all scalars and the lane are 0.
    pub base: i64,
    /// Scalars and their factors.
    pub terms: Vec<(Slot, i64)>,
    /// The rest of a division.
    pub rest: Option<Rest>,
    /// The share of the lane: base 0, without vector.
    pub lanes: Sum,
    /// Least and greatest value; of an address, of what is added to the tensor's.
    pub range: (i64, i64),
    /// The tensor that an address derives from, plus one.
    pub tensor: Tensor,
}

/// What is known of a slot.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// An integer or address.
    Integer(Formula),
    /// Truth values: lanes where all of these are below 0.
    Mask(Vec<Formula>),
}

impl Rest {
    fn times(self, factor: i64) -> Option<Rest> {
        Some(Rest {
            times: self.times.checked_mul(factor)?,
            ..self
        })
    }
}

/// The greatest number that divides both; `a` is 1 or more.
fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b.checked_abs().unwrap_or(1));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Formula {
    fn constant(value: i64) -> Formula {
        Formula {
            base: value,
            terms: Vec::new(),
            rest: None,
            lanes: Sum::uniform(0, 0),
            range: (value, value),
            tensor: 0,
        }
    }

    /// A scalar of which only the range is known.
    fn scalar(slot: Slot, range: (i64, i64)) -> Formula {
        if range.0 == range.1 {
            return Formula::constant(range.0);
        }
        Formula {
            base: 0,
            terms: vec![(slot, 1)],
            range,
            ..Formula::constant(0)
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<i64> {
        let is_one = self.terms.is_empty()
            && self.rest.is_none()
            && self.lanes.constant().is_some()
            && self.tensor == 0;
        is_one.then_some(self.base)
    }

    /// Over 2^`log2` lanes, if it is over one or so many.
    pub fn over(&self, log2: u8) -> Option<Formula> {
        match self.lanes.log2() {
            own if own == log2 => Some(self.clone()),
            0 => Some(Formula {
                lanes: Sum::uniform(0, log2),
                ..self.clone()
            }),
            _ => None,
        }
    }

    /// self + other · sign, of 1 or -1.
    fn plus(&self, other: &Formula, sign: i64) -> Option<Formula> {
        let log2 = self.lanes.log2().max(other.lanes.log2());
        let (a, b) = (self.over(log2)?, other.over(log2)?);
        let (lanes, _) = if sign < 0 {
            a.lanes.sub(&b.lanes)
        } else {
            a.lanes.add(&b.lanes)
        }?;
        let mut terms = a.terms;
        for &(slot, factor) in &b.terms {
            let factor = factor.checked_mul(sign)?;
            match terms.iter_mut().find(|term| term.0 == slot) {
                Some(term) => term.1 = term.1.checked_add(factor)?,
                None => terms.push((slot, factor)),
            }
        }
        terms.retain(|term| term.1 != 0);
        let rest = match (a.rest, b.rest) {
            (None, None) => None,
            (Some(rest), None) => Some(rest),
            (None, Some(rest)) => Some(rest.times(sign)?),
            (Some(_), Some(_)) => return None,
        };
        let (low, high) = if sign < 0 { (b.range.1, b.range.0) } else { b.range };
        let tensor = match (a.tensor, b.tensor) {
            (tensor, 0) => tensor,
            (0, tensor) if sign > 0 => tensor,
            _ => return None,
        };
        let sum = Formula {
            base: a.base.checked_add(b.base.checked_mul(sign)?)?,
            terms,
            rest,
            lanes,
            range: (
                a.range.0.checked_add(low.checked_mul(sign)?)?,
                a.range.1.checked_add(high.checked_mul(sign)?)?,
            ),
            tensor,
        };
        (sum.terms.len() <= MAX_TERMS).then_some(sum)
    }

    fn times(&self, factor: i64) -> Option<Formula> {
        if self.tensor != 0 {
            return None;
        }
        let (a, b) = (
            self.range.0.checked_mul(factor)?,
            self.range.1.checked_mul(factor)?,
        );
        let mut terms = self.terms.clone();
        for term in &mut terms {
            term.1 = term.1.checked_mul(factor)?;
        }
        terms.retain(|term| term.1 != 0);
        Some(Formula {
            base: self.base.checked_mul(factor)?,
            terms,
            rest: match &self.rest {
                Some(rest) if factor != 0 => Some(rest.clone().times(factor)?),
                _ => None,
            },
            lanes: self.lanes.scale(factor)?,
            range: (a.min(b), a.max(b)),
            tensor: 0,
        })
    }

    /// What is left of it, divided by a number, where the lanes of a tile never go past a multiple of that: where all else is a
    /// multiple of something that divides the number too, and is more than what any lane adds.
    fn rest(&self, divisor: i64) -> Option<Formula> {
        let (low, high) = self.lanes.bounds()?;
        let factors = self.terms.iter().map(|term| term.1);
        let step = factors.chain([self.base]).fold(divisor, greatest_common_divisor);
        let is_plain = self.rest.is_none() && self.tensor == 0 && self.range.0 >= 0;
        (is_plain && low == 0 && high < step).then(|| Formula {
            rest: Some(Rest {
                base: self.base,
                terms: self.terms.clone(),
                divisor,
                times: 1,
            }),
            lanes: self.lanes,
            range: (0, divisor - step + high),
            ..Formula::constant(0)
        })
    }

    fn fits(&self, kind: Kind) -> bool {
        let bits = 8 * kind.bytes() as u32;
        let max = i64::MAX >> (64 - bits);
        self.range.0 >= -max - 1 && self.range.1 <= max
    }

    fn broadcast(&self, keep: &[(u8, bool)]) -> Option<Formula> {
        Some(Formula {
            lanes: self.lanes.broadcast(keep)?,
            ..self.clone()
        })
    }
}

/// Where a slot is written.
#[derive(Debug, Clone, Default)]
struct Writes {
    /// How often.
    count: u32,
    /// By moves: position, and what is moved there.
    moves: Vec<(usize, Slot)>,
    /// As the counter of a loop: position.
    counts: Option<usize>,
}

/// What is known of all slots of a lowered kernel.
pub struct Formulas {
    known: Vec<Option<Known>>,
}

struct Finder<'a> {
    lowered: &'a Lowered,
    grid: [u64; 3],
    writes: Vec<Writes>,
    known: Vec<Option<Known>>,
}

impl Formulas {
    /// Looks at all instructions.
    pub fn of(lowered: &Lowered, grid: [u64; 3]) -> Formulas {
        let mut finder = Finder {
            lowered,
            grid,
            writes: writes(lowered),
            known: vec![None; lowered.slots.len()],
        };
        finder.presets();
        let code = &lowered.code.insts;
        // The prologue's are before all others.
        let insts = lowered.prologue.iter().map(|inst| (None, inst));
        for (position, inst) in insts.chain(code.iter().enumerate().map(|(i, inst)| (Some(i), inst))) {
            finder.look(position, inst);
        }
        Formulas { known: finder.known }
    }

    /// What is known of a slot.
    pub fn get(&self, slot: Slot) -> Option<&Known> {
        self.known.get(slot.0 as usize)?.as_ref()
    }
}

fn writes(lowered: &Lowered) -> Vec<Writes> {
    fn all(inst: &Inst, each: &mut dyn FnMut(Slot)) {
        inst.outs.iter().for_each(|&slot| each(slot));
        if let Some(code) = inst.step.nested() {
            code.args.iter().for_each(|&slot| each(slot));
            code.insts.iter().for_each(|inner| all(inner, each));
        }
    }
    let mut writes = vec![Writes::default(); lowered.slots.len()];
    for inst in lowered.prologue.iter().chain(&lowered.code.insts) {
        all(inst, &mut |slot| writes[slot.0 as usize].count += 1);
    }
    for (position, inst) in lowered.code.insts.iter().enumerate() {
        match inst.step.rule() {
            Some(Rule::Move) => {
                for (&from, &to) in inst.ins.iter().zip(&inst.outs) {
                    writes[to.0 as usize].moves.push((position, from));
                }
            }
            Some(Rule::Again) => writes[inst.outs[0].0 as usize].counts = Some(position),
            _ => {}
        }
    }
    writes
}

impl Finder<'_> {
    fn presets(&mut self) {
        for preset in &self.lowered.presets {
            let index = preset.slot.0 as usize;
            let kind = self.lowered.slots[index].0;
            if self.writes[index].count > 0 {
                continue;
            }
            let formula = match kind {
                Kind::Ptr if preset.tensor > 0 => Formula {
                    terms: vec![(preset.slot, 1)],
                    tensor: preset.tensor,
                    ..Formula::constant(0)
                },
                Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 => {
                    Formula::constant(sign_extend(preset.bits, kind.bytes()))
                }
                _ => continue,
            };
            self.known[index] = Some(Known::Integer(formula));
        }
    }

    fn look(&mut self, position: Option<usize>, inst: &Inst) {
        if let Some(Rule::Move) = inst.step.rule() {
            for (&from, &to) in inst.ins.iter().zip(&inst.outs) {
                let known = self.moved(position, from, to);
                self.set(to, known);
            }
            return;
        }
        let [out] = inst.outs[..] else { return };
        if self.writes[out.0 as usize].count != 1 {
            return;
        }
        let known = match (inst.step.known(), inst.step.rule()) {
            (Some(bits), _) => self.number(out, bits),
            (_, Some(rule)) => self.apply(&rule, inst, out),
            _ => None,
        };
        self.set(out, known);
    }

    fn set(&mut self, slot: Slot, known: Option<Known>) {
        if known.is_some() {
            self.known[slot.0 as usize] = known;
        }
    }

    fn number(&self, out: Slot, bits: u64) -> Option<Known> {
        match self.lowered.slots[out.0 as usize].0 {
            Kind::Bool if bits & 1 == 1 => Some(Known::Mask(Vec::new())),
            kind @ (Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64) => {
                Some(Known::Integer(Formula::constant(sign_extend(bits, kind.bytes()))))
            }
            _ => None,
        }
    }

    fn integer(&self, slot: Slot) -> Option<&Formula> {
        match self.known[slot.0 as usize].as_ref()? {
            Known::Integer(formula) => Some(formula),
            Known::Mask(_) => None,
        }
    }

    fn apply(&self, rule: &Rule<'_>, inst: &Inst, out: Slot) -> Option<Known> {
        let log2 = inst
            .lanes
            .is_power_of_two()
            .then(|| inst.lanes.trailing_zeros() as u8)?;
        let operand = |i: usize| self.integer(*inst.ins.get(i)?);
        let formula = match *rule {
            Rule::Program(axis) => {
                let last = i64::try_from(self.grid[axis]).ok()?.checked_sub(1)?;
                Formula::scalar(out, (0, last)).checked(Kind::I32)?
            }
            Rule::Programs(axis) => {
                Formula::constant(i64::try_from(self.grid[axis]).ok()?).checked(Kind::I32)?
            }
            Rule::Range(start) => {
                let lanes = Sum::range(0, log2)?;
                let last = start.checked_add((1 << log2) - 1)?;
                Formula {
                    base: start,
                    lanes,
                    range: (start, last),
                    ..Formula::constant(0)
                }
            }
            Rule::Integer(code, kind) => self
                .arithmetic(code, operand(0)?, operand(1)?, out)?
                .checked(kind)?,
            Rule::AddPtr(bytes) => operand(0)?.plus(&operand(1)?.times(i64::try_from(bytes).ok()?)?, 1)?,
            Rule::Compare(predicate, _) => {
                return compare(predicate, operand(0)?, operand(1)?).map(|below| Known::Mask(vec![below]));
            }
            Rule::And => {
                let mut all = Vec::new();
                for slot in &inst.ins {
                    match self.known[slot.0 as usize].as_ref()? {
                        Known::Mask(below) => all.extend(below.iter().cloned()),
                        Known::Integer(_) => return None,
                    }
                }
                return (all.len() <= MAX_COMPARISONS).then_some(Known::Mask(all));
            }
            Rule::Splat | Rule::Broadcast(_) => {
                let spread = |formula: &Formula| match rule {
                    Rule::Broadcast(keep) => formula.broadcast(keep),
                    _ => formula.over(log2),
                };
                match self.known[inst.ins.first()?.0 as usize].as_ref()? {
                    Known::Integer(formula) => spread(formula)?,
                    Known::Mask(all) => {
                        return all.iter().map(spread).collect::<Option<_>>().map(Known::Mask);
                    }
                }
            }
            Rule::Convert(to, signed) => {
                let from = operand(0)?;
                if !signed && from.range.0 < 0 {
                    return None;
                }
                from.clone().checked(to)?
            }
            Rule::Move | Rule::Again => return None,
        };
        Some(Known::Integer(formula))
    }

    fn arithmetic(&self, code: OpCode, x: &Formula, y: &Formula, out: Slot) -> Option<Formula> {
        if x.tensor != 0 || y.tensor != 0 {
            return None;
        }
        let ((a, b), (c, d)) = (x.range, y.range);
        let is_scalar = self.lowered.slots[out.0 as usize].1 == 1;
        let scalar = |range| is_scalar.then(|| Formula::scalar(out, range));
        match code {
            OpCode::AddI => x.plus(y, 1),
            OpCode::SubI => x.plus(y, -1),
            OpCode::MulI => match (x.number(), y.number()) {
                (_, Some(factor)) => x.times(factor)?.over(x.lanes.log2().max(y.lanes.log2())),
                (Some(factor), _) => y.times(factor)?.over(x.lanes.log2().max(y.lanes.log2())),
                _ => {
                    let products = [
                        a.checked_mul(c)?,
                        a.checked_mul(d)?,
                        b.checked_mul(c)?,
                        b.checked_mul(d)?,
                    ];
                    let (low, high) = (products.iter().min()?, products.iter().max()?);
                    scalar((*low, *high))
                }
            },
            OpCode::ShlI => x.times(1 << u32::try_from(y.number()?).ok().filter(|&n| n < 62)?),
            OpCode::MinSI | OpCode::MaxSI => {
                let min = code == OpCode::MinSI;
                match (b <= c, a >= d) {
                    (true, _) => Some(if min { x } else { y }.clone()),
                    (_, true) => Some(if min { y } else { x }.clone()),
                    _ if min => scalar((a.min(c), b.min(d))),
                    _ => scalar((a.max(c), b.max(d))),
                }
            }
            // Zero or more by one or more: no quotient is undefined.
            OpCode::DivSI | OpCode::DivUI if a >= 0 && c > 0 => match (a / d, b / c) {
                (low, high) if low == high => Formula::constant(low).over(x.lanes.log2()),
                range => scalar(range),
            },
            OpCode::RemSI | OpCode::RemUI if a >= 0 && c > 0 => match y.number() {
                Some(divisor) if a / divisor == b / divisor => {
                    x.plus(&Formula::constant((a / divisor).checked_mul(divisor)?), -1)
                }
                _ if b < c => Some(x.clone()),
                Some(divisor) if !is_scalar => x.rest(divisor),
                _ => scalar((0, b.min(d - 1))),
            },
            _ => None,
        }
    }

    /// What a slot holds that is moved to.
    fn moved(&self, position: Option<usize>, from: Slot, to: Slot) -> Option<Known> {
        let writes = &self.writes[to.0 as usize];
        let start = self.known[from.0 as usize].as_ref()?;
        match (writes.count, writes.counts, &writes.moves[..]) {
            (1, ..) => Some(start.clone()),
            (2, Some(again), _) => {
                let Known::Integer(start) = start else { return None };
                self.counter(start, again, to).map(Known::Integer)
            }
            (2, None, &[(first, _), (second, next)]) if Some(first) == position => {
                let Known::Integer(start) = start else { return None };
                self.carried(start, position, (second, next), to)
                    .map(Known::Integer)
            }
            _ => None,
        }
    }

    /// The counter of a loop, within it.
    fn counter(&self, start: &Formula, again: usize, counter: Slot) -> Option<Formula> {
        let inst = self.lowered.code.insts.get(again)?;
        let (step, bound) = (self.integer(inst.ins[1])?, self.integer(inst.ins[2])?);
        let kind = self.lowered.slots[counter.0 as usize].0;
        let mut last = bound.range.1.checked_sub(1)?.max(start.range.0);
        if let (Some(first), Some(step)) = (start.number(), step.number().filter(|&step| step > 0)) {
            last = first.checked_add(last.checked_sub(first)? / step * step)?;
        }
        let past = last.checked_add(step.range.1)?;
        let is_plain = step.range.0 > 0 && start.lanes.log2() == 0 && start.tensor == 0;
        // What comes after the last one must not wrap, or the loop would go on.
        let fits = Formula::scalar(counter, (start.range.0, past))
            .checked(kind)
            .is_some();
        (is_plain && fits).then(|| Formula {
            terms: vec![(counter, 1)],
            range: (start.range.0, last),
            ..Formula::constant(0)
        })
    }

    /// What a loop carries and adds the same to each time round.
    fn carried(
        &self,
        start: &Formula,
        position: Option<usize>,
        (second, next): (usize, Slot),
        carried: Slot,
    ) -> Option<Formula> {
        let lowered = self.lowered;
        let inside = |l: &&(u32, u32)| (l.0 as usize..=l.1 as usize).contains(&second);
        let &(first, last) = lowered.loops.iter().filter(inside).min_by_key(|l| l.1 - l.0)?;
        if position.is_none_or(|position| position >= first as usize) {
            return None;
        }
        let again = lowered.code.insts.get(last as usize)?;
        let Some(Rule::Again) = again.step.rule() else {
            return None;
        };
        let (counter, step) = (again.ins[0], self.integer(again.ins[1])?.number()?);
        let of_counter = self.integer(counter)?;
        let begin = of_counter.range.0;
        // Its first value, which must be a number.
        let starts = &self.writes[counter.0 as usize].moves;
        let [(_, from)] = starts[..] else { return None };
        if self.integer(from)?.number()? != begin {
            return None;
        }
        let body = lowered.code.insts.get(first as usize..second)?;
        let adds = body.iter().find(|inst| inst.outs[..] == [next])?;
        let increment = match adds.step.rule()? {
            Rule::AddPtr(bytes) if adds.ins[0] == carried => {
                self.integer(adds.ins[1])?.times(i64::try_from(bytes).ok()?)?
            }
            Rule::Integer(OpCode::AddI, _) if adds.ins[0] == carried => self.integer(adds.ins[1])?.clone(),
            Rule::Integer(OpCode::AddI, _) if adds.ins[1] == carried => self.integer(adds.ins[0])?.clone(),
            _ => return None,
        };
        let each = increment.number().filter(|each| each % step == 0)? / step;
        let mut rounds = of_counter.plus(&Formula::constant(begin), -1)?;
        // After the loop it has been added once more.
        rounds.range.1 = rounds.range.1.checked_add(step)?;
        let sum = start.plus(&rounds.times(each)?, 1)?;
        match sum.tensor {
            0 => sum.checked(lowered.slots[carried.0 as usize].0),
            _ => Some(sum),
        }
    }
}

impl Formula {
    /// Itself, if all its values are within the type.
    fn checked(self, kind: Kind) -> Option<Formula> {
        self.fits(kind).then_some(self)
    }
}

/// What is below 0 where the comparison is true.
fn compare(predicate: IntPredicate, x: &Formula, y: &Formula) -> Option<Formula> {
    use IntPredicate::{Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    let is_unsigned = matches!(predicate, Ult | Ule | Ugt | Uge);
    if x.tensor != 0 || y.tensor != 0 || (is_unsigned && (x.range.0 < 0 || y.range.0 < 0)) {
        return None;
    }
    match predicate {
        Slt | Ult => x.plus(y, -1),
        Sle | Ule => x.plus(y, -1)?.plus(&Formula::constant(1), -1),
        Sgt | Ugt => y.plus(x, -1),
        Sge | Uge => y.plus(x, -1)?.plus(&Formula::constant(1), -1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value for some scalars, by slot, and a lane.
    fn at(formula: &Formula, scalars: &[i64], lane: usize) -> i64 {
        let terms = formula
            .terms
            .iter()
            .map(|&(slot, factor)| factor * scalars[slot.0 as usize]);
        let rest = formula.rest.as_ref().map_or(0, |rest| {
            let terms = rest
                .terms
                .iter()
                .map(|&(slot, factor)| factor * scalars[slot.0 as usize]);
            (rest.base + terms.sum::<i64>()) % rest.divisor * rest.times
        });
        formula.base + terms.sum::<i64>() + rest + formula.lanes.at(lane, &[])
    }

    /// 2 to 9.
    fn lanes() -> Formula {
        Formula {
            base: 2,
            lanes: Sum::range(0, 3).unwrap(),
            range: (2, 9),
            ..Formula::constant(0)
        }
    }

    /// Calls with all values of two scalars, from 0 to 9 and from -3 to 5, and all of eight lanes.
    fn all(mut each: impl FnMut(&[i64; 2], usize)) {
        for a in 0..10 {
            for b in -3..6 {
                (0..8).for_each(|lane| each(&[a, b], lane));
            }
        }
    }

    fn scalars() -> [Formula; 2] {
        [
            Formula::scalar(Slot(0), (0, 9)),
            Formula::scalar(Slot(1), (-3, 5)),
        ]
    }

    #[test]
    fn sums_and_products_are_those_of_values() {
        let [a, b] = scalars();
        let sum = a.times(8).unwrap().plus(&lanes(), 1).unwrap();
        let sum = sum.plus(&b.times(-2).unwrap(), -1).unwrap();
        let mut seen = (i64::MAX, i64::MIN);
        all(|&[x, y], lane| {
            let want = 8 * x + 2 + lane as i64 + 2 * y;
            assert_eq!(at(&sum, &[x, y], lane), want);
            seen = (seen.0.min(want), seen.1.max(want));
        });
        assert_eq!(sum.range, seen);
        let nothing = sum.plus(&sum, -1).unwrap();
        assert!(nothing.terms.is_empty() && nothing.lanes.constant() == Some(0));
    }

    #[test]
    fn comparisons_are_below_zero_where_they_hold() {
        use IntPredicate::{Eq, Sge, Sgt, Sle, Slt, Ult};
        let [a, b] = scalars();
        let x = a.plus(&lanes(), 1).unwrap();
        let y = b.times(4).unwrap();
        for (predicate, holds) in [
            (Slt, i64::lt as fn(&i64, &i64) -> bool),
            (Sle, i64::le),
            (Sgt, i64::gt),
            (Sge, i64::ge),
        ] {
            let mask = compare(predicate, &x, &y).unwrap();
            all(|scalars, lane| {
                let values = (at(&x, scalars, lane), at(&y, scalars, lane));
                assert_eq!(at(&mask, scalars, lane) < 0, holds(&values.0, &values.1));
            });
        }
        // -12 is large without a sign.
        assert_eq!(compare(Ult, &x, &y), None);
        assert!(compare(Ult, &x, &a).is_some());
        assert_eq!(compare(Eq, &x, &y), None);
    }

    #[test]
    fn rests_of_blocks_are_those_of_values() {
        let [a, b] = scalars();
        let eight = Formula {
            lanes: Sum::range(0, 3).unwrap(),
            range: (0, 7),
            ..Formula::constant(0)
        };
        // 8a + lane, and 16a + 8 + lane: blocks of eight.
        let blocks = a.times(8).unwrap().plus(&eight, 1).unwrap();
        let apart = a.times(16).unwrap().plus(&eight, 1).unwrap();
        let apart = apart.plus(&Formula::constant(8), 1).unwrap();
        for (x, divisors) in [(&blocks, [8, 16, 24, 40]), (&apart, [8, 16, 48, 80])] {
            for divisor in divisors {
                let rest = x.rest(divisor).unwrap();
                let sum = rest.times(-4).unwrap().plus(&b.times(100).unwrap(), 1).unwrap();
                let other = b.times(100).unwrap().plus(&rest.times(4).unwrap(), -1).unwrap();
                all(|scalars, lane| {
                    let want = at(x, scalars, lane) % divisor;
                    assert_eq!(at(&rest, scalars, lane), want);
                    assert!(rest.range.0 <= want && want <= rest.range.1);
                    for sum in [&sum, &other] {
                        assert_eq!(at(sum, scalars, lane), 100 * scalars[1] - 4 * want);
                    }
                });
                assert_eq!(rest.plus(&rest, 1), None);
                assert_eq!(rest.number(), None);
            }
            // A block goes past a multiple of these.
            for divisor in [1, 4, 12, 20, 28] {
                assert_eq!(x.rest(divisor), None, "{divisor}");
            }
        }
        // Below 0, or from some lane on.
        assert_eq!(b.times(8).unwrap().plus(&eight, 1).unwrap().rest(16), None);
        let shifted = a.times(8).unwrap().plus(&lanes(), 1).unwrap();
        assert_eq!(shifted.rest(16), None);
    }

    #[test]
    fn what_may_wrap_around_is_not_known() {
        let [a, _] = scalars();
        assert!(a.times(1 << 27).unwrap().checked(Kind::I32).is_some());
        assert_eq!(a.times(1 << 28).unwrap().checked(Kind::I32), None);
        assert_eq!(a.times(i64::MAX / 4), None);
        let wide = Formula::scalar(Slot(0), (0, i64::MAX));
        assert_eq!(wide.plus(&a, 1), None);
        // More scalars than a formula has room for.
        let sum = (1..=MAX_TERMS as u32).try_fold(a, |sum, i| sum.plus(&Formula::scalar(Slot(i), (0, 1)), 1));
        assert_eq!(sum, None);
    }
}
