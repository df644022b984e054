//! Undefined lanes: where they were born, and whether they reach a use.
//!
//! Nothing is tracked until an operation gives birth to an undefined lane; from then on, to the end of
//! the program, every instruction also carries the births of its operands' lanes to its results. So the
//! cost is nil where no such lane exists. A lane that was reported is defined afterwards.
//!
//! A use is: stored by an active lane, part of an active lane's address, a mask lane that decides an
//! access, a branch or loop bound, an operand of an atomic, print or assert.

use crate::frame::{Slot, Tensor};
use crate::machine::Machine;
use crate::sink::{Detail, Key};
use crate::tape::{At, Inst};
use std::collections::{BTreeMap, HashMap};
use tilescope_diagnostics::Check;

/// A birth: index into the births of the program, plus one; 0 is a defined lane.
pub type Birth = u32;

/// Births of the lanes of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Births {
    /// The same for all lanes.
    Uniform(Birth),
    /// One per lane.
    Dense(Vec<Birth>),
}

impl Births {
    /// The birth of one lane.
    pub fn lane(&self, lane: usize) -> Birth {
        match self {
            Births::Uniform(birth) => *birth,
            Births::Dense(lanes) => lanes.get(lane).copied().unwrap_or(0),
        }
    }
}

/// What is known of a birth.
#[derive(Debug, Clone)]
struct Record {
    check: Check,
    at: At,
    detail: BirthDetail,
    /// Operations that the program had executed.
    steps: u64,
    reported: bool,
}

/// What is known of the operation that gave birth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BirthDetail {
    /// An integer division: lane, dividend, divisor.
    Division(u32, i64, i64),
    /// A shift: lane, value, amount, width.
    Shift(u32, i64, i64, u32),
    /// A conversion to an integer: lane, value.
    Conversion(u32, f64),
    /// A NaN or infinity: lane, value, operands and how many.
    Special(u32, f64, [f64; 3], u8),
    /// A load from this tensor under a mask, without a value for the other lanes; or none at all.
    Masked(Tensor),
    /// A load of so many bytes at an address of this tensor, which nothing wrote.
    Unwritten(Tensor, u64, u32),
}

/// How an undefined lane is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Stored by an active lane.
    Stored,
    /// Part of the address of an active lane.
    Address,
    /// Decides whether a lane is accessed.
    Mask,
    /// Decides where the program goes on.
    Condition,
    /// An operand of an atomic.
    Atomic,
    /// Asserted or assumed.
    Asserted,
    /// Printed.
    Printed,
}

/// Undefined lanes of the running program.
#[derive(Debug, Clone, Default)]
pub struct Taint {
    active: bool,
    slots: HashMap<Slot, Births>,
    records: Vec<Record>,
    /// So many records are looked through for those that are not held.
    many: usize,
    /// What was reported first under each key: operations executed when it was born.
    reported: BTreeMap<Key, u64>,
}

/// Records that are kept without looking whether a slot holds them.
const MANY: usize = 1 << 16;

impl Taint {
    /// True once an undefined lane was born in this program.
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// From now on lanes are tracked.
    pub fn activate(&mut self) {
        self.active = true;
    }

    /// Between instructions: where no slot holds an undefined lane any more, nothing is tracked.
    #[inline]
    pub fn rest(&mut self) {
        if self.active && self.slots.is_empty() {
            self.active = false;
        }
    }

    /// Forgets the births that no slot holds any more, if there are many. Only for between instructions: one
    /// may hold births itself.
    pub fn collect(&mut self) {
        if self.records.len() < self.many.max(MANY) {
            return;
        }
        let mut new: Vec<Birth> = vec![0; self.records.len() + 1];
        for births in self.slots.values() {
            match births {
                Births::Uniform(birth) => new[*birth as usize] = 1,
                Births::Dense(lanes) => lanes.iter().for_each(|&birth| new[birth as usize] = 1),
            }
        }
        new[0] = 0;
        let mut kept = 0;
        for birth in new.iter_mut().filter(|birth| **birth != 0) {
            kept += 1;
            *birth = kept;
        }
        let mut number = 0;
        self.records.retain(|_| {
            number += 1;
            new[number] != 0
        });
        for births in self.slots.values_mut() {
            match births {
                Births::Uniform(birth) => *birth = new[*birth as usize],
                Births::Dense(lanes) => lanes.iter_mut().for_each(|birth| *birth = new[*birth as usize]),
            }
        }
        self.many = 2 * self.records.len();
    }

    /// Forgets everything: a new program begins.
    pub fn clear(&mut self) {
        if self.active || !self.records.is_empty() {
            *self = Taint::default();
        }
    }

    /// Births of a slot's lanes; none if all are defined.
    pub fn get(&self, slot: Slot) -> Option<&Births> {
        self.slots.get(&slot)
    }

    /// Sets the births of a slot's lanes.
    pub fn set(&mut self, slot: Slot, births: Option<Births>) {
        let any = |b: &Births| match b {
            Births::Uniform(birth) => *birth != 0,
            Births::Dense(lanes) => lanes.iter().any(|&b| b != 0),
        };
        match births.filter(any) {
            // A single lane counts for all where it meets a tile.
            Some(Births::Dense(lanes)) if lanes.len() == 1 => {
                self.slots.insert(slot, Births::Uniform(lanes[0]));
            }
            Some(births) => {
                self.slots.insert(slot, births);
            }
            None => {
                self.slots.remove(&slot);
            }
        }
    }

    /// Exchanges two slots.
    pub fn swap(&mut self, a: Slot, b: Slot) {
        let (x, y) = (self.slots.remove(&a), self.slots.remove(&b));
        self.set(a, y);
        self.set(b, x);
    }

    /// How many operations the program had executed when what was reported first under a key was born.
    pub fn born(&self, key: &Key) -> Option<u64> {
        self.reported.get(key).copied()
    }

    /// What a birth made, if it is a NaN or an infinity.
    pub fn special(&self, birth: Birth) -> Option<f64> {
        match self.records.get((birth as usize).checked_sub(1)?)?.detail {
            BirthDetail::Special(_, value, ..) => Some(value),
            _ => None,
        }
    }

    /// Records a birth.
    ///
    /// `steps` is how many operations the program has executed.
    pub fn bear(&mut self, check: Check, at: At, detail: BirthDetail, steps: u64) -> Birth {
        self.records.push(Record {
            check,
            at,
            detail,
            steps,
            reported: false,
        });
        self.records.len() as Birth
    }

    fn open(&mut self, birth: Birth) -> Option<&mut Record> {
        self.records
            .get_mut((birth as usize).checked_sub(1)?)
            .filter(|r| !r.reported)
    }
}

/// The result's lane is undefined where an operand's is.
pub fn lanewise(inst: &Inst, machine: &mut Machine<'_>) {
    let lanes = inst.lanes(machine);
    let births = combine(&inst.ins, machine, lanes);
    for &out in &inst.outs {
        machine.taint.set(out, births.clone());
    }
}

/// Births of several slots, lane by lane: the first operand that has one.
pub fn combine(slots: &[Slot], machine: &Machine<'_>, lanes: usize) -> Option<Births> {
    let mut operands = slots.iter().filter_map(|&s| machine.taint.get(s)).peekable();
    operands.peek()?;
    let operands: Vec<&Births> = operands.collect();
    if let [Births::Uniform(birth)] = operands[..] {
        return Some(Births::Uniform(*birth));
    }
    let lane = |i| operands.iter().map(|b| b.lane(i)).find(|&b| b != 0).unwrap_or(0);
    Some(Births::Dense((0..lanes).map(lane).collect()))
}

/// Where a lane of `slot` is undefined and `active`, reports it as used by the current instruction.
pub fn use_lanes(
    machine: &mut Machine<'_>,
    slot: Slot,
    lanes: usize,
    how: Use,
    active: impl Fn(&Machine<'_>, usize) -> bool,
) {
    let Some(births) = machine.taint.get(slot).cloned() else {
        return;
    };
    // Lanes of one birth together: once it is reported, all its lanes count as defined.
    let mut used: Vec<(Birth, u32, u64)> = Vec::new();
    for lane in 0..lanes {
        let birth = births.lane(lane);
        if birth == 0 || !active(machine, lane) {
            continue;
        }
        match used.last_mut() {
            Some(last) if last.0 == birth => last.2 += 1,
            _ => match used.iter_mut().rev().take(8).find(|u| u.0 == birth) {
                Some(known) => known.2 += 1,
                None => used.push((birth, lane as u32, 1)),
            },
        }
    }
    for (birth, lane, count) in used {
        report(machine, birth, lane, count, how);
    }
}

/// Reports a birth as used by `count` lanes of the current instruction, unless it was reported before.
fn report(machine: &mut Machine<'_>, birth: Birth, lane: u32, count: u64, how: Use) {
    let used = machine.at;
    let Some(record) = machine.taint.open(birth) else {
        return;
    };
    // What is special is reported where it reaches memory.
    if matches!(record.detail, BirthDetail::Special(..)) && !matches!(how, Use::Stored | Use::Atomic) {
        return;
    }
    record.reported = true;
    let (check, born, detail, steps) = (record.check, record.at, record.detail, record.steps);
    let (at, tensor) = match detail {
        BirthDetail::Masked(tensor) | BirthDetail::Unwritten(tensor, ..) => (used, tensor),
        _ => (born, 0),
    };
    let key = Key { check, at, tensor };
    machine.taint.reported.entry(key).or_insert(steps);
    if let BirthDetail::Unwritten(tensor, address, bytes) = detail {
        // Defined from now on, in memory too.
        machine
            .context
            .memory
            .write_first(&machine.own, tensor, address, bytes);
    }
    machine.sink.report(key, count, || match detail {
        BirthDetail::Division(lane, dividend, divisor) => Detail::Division {
            lane,
            dividend,
            divisor,
            used,
        },
        BirthDetail::Shift(lane, value, amount, width) => Detail::Shift {
            lane,
            value,
            amount,
            width,
            used,
        },
        BirthDetail::Conversion(lane, value) => Detail::Conversion { lane, value, used },
        BirthDetail::Special(lane, value, operands, count) => Detail::Special {
            lane,
            value,
            operands,
            count,
            used,
        },
        BirthDetail::Masked(_) => Detail::Undefined {
            lane,
            born,
            how,
            from: None,
        },
        BirthDetail::Unwritten(_, address, bytes) => Detail::Undefined {
            lane,
            born,
            how,
            from: Some((address, bytes)),
        },
    });
}

/// Gives birth in some lanes of the current instruction's result; the others keep what they have.
pub fn bear_lanes(
    machine: &mut Machine<'_>,
    out: Slot,
    lanes: usize,
    check: Check,
    born: impl IntoIterator<Item = (u32, BirthDetail)>,
) {
    let before = machine.taint.get(out).cloned();
    let mut births: Vec<Birth> = (0..lanes)
        .map(|lane| before.as_ref().map_or(0, |b| b.lane(lane)))
        .collect();
    let at = machine.at;
    let mut last: Option<(BirthDetail, Birth)> = None;
    for (lane, detail) in born {
        let birth = match last {
            Some((same, birth)) if same == detail => birth,
            _ => machine.taint.bear(check, at, detail, machine.steps),
        };
        last = Some((detail, birth));
        if let Some(slot) = births.get_mut(lane as usize) {
            *slot = birth;
        }
    }
    machine.taint.set(out, Some(Births::Dense(births)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn births_that_no_slot_holds_are_forgotten() {
        let mut taint = Taint::default();
        let bear =
            |taint: &mut Taint, n| taint.bear(Check::DivByZero, At(n), BirthDetail::Division(n, 0, 0), 0);
        let first = bear(&mut taint, 0);
        taint.set(Slot(0), Some(Births::Uniform(first)));
        for n in 1..MANY as u32 {
            let birth = bear(&mut taint, n);
            taint.set(Slot(1), Some(Births::Dense(vec![0, birth])));
            taint.collect();
        }
        assert_eq!(taint.records.len(), 2);
        let at = |taint: &Taint, slot, lane| {
            let birth = taint.get(slot).map_or(0, |births| births.lane(lane));
            taint.records[birth as usize - 1].at
        };
        assert_eq!(at(&taint, Slot(0), 5), At(0));
        assert_eq!(at(&taint, Slot(1), 1), At(MANY as u32 - 1));
        assert_eq!(taint.get(Slot(1)).map(|births| births.lane(0)), Some(0));
    }
}
