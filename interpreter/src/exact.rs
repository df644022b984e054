//! `address-overflow`: what integers would be without wrap-around, for the lanes where it differs.
//!
//! Nothing is kept until an operation that addresses are made of wraps around in some lane; from then on, to the end
//! of the program, the difference to the exact number goes along with the values: through addition, subtraction,
//! multiplication, shift left, minimum, maximum, selection, sign extension, shape operations and loops. Any other
//! operation starts again from the real value, so hashes that wrap on purpose are silent, and so is a sum that wraps
//! on the way and comes out right. An access whose address differs from the exact one is reported, and not as out of
//! bounds as well.
//!
//! Block pointers and descriptors compute in 64 bits from their offsets and strides on; what those are without
//! wrap-around goes into the addresses. Whether a lane is inside of the tensor is judged by the real offset, as there.

use crate::access::Access;
use crate::frame::Slot;
use crate::kind::{Bool, Kind};
use crate::machine::Machine;
use crate::print;
use crate::sink::{Detail, Key};
use crate::steps::memory::is_active;
use crate::tape::{At, Inst};
use std::collections::HashMap;
use tilescope_diagnostics::Check;
use tilescope_ir::OpCode;

/// Exact minus real number, per lane; one for all lanes where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deltas {
    lanes: Vec<i128>,
    /// The operation that wrapped first.
    born: At,
}

impl Deltas {
    fn lane(&self, lane: usize) -> i128 {
        match self.lanes[..] {
            [one] => one,
            _ => self.lanes.get(lane).copied().unwrap_or(0),
        }
    }
}

/// Differences of a running program.
#[derive(Debug, Clone, Default)]
pub struct Exact {
    active: bool,
    slots: HashMap<Slot, Deltas>,
    /// Those of values that are the same in all programs.
    always: HashMap<Slot, Deltas>,
}

impl Exact {
    /// True once something wrapped in this program.
    #[inline(always)]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// From now on differences are kept.
    pub fn activate(&mut self) {
        self.active = true;
    }

    /// A new program begins.
    #[inline]
    pub fn begin(&mut self) {
        if self.active {
            self.slots = self.always.clone();
            self.active = !self.slots.is_empty();
        }
    }

    /// What differs now differs in all programs.
    pub fn keep(&mut self) {
        self.always = self.slots.clone();
    }

    fn get(&self, slot: Slot) -> Option<&Deltas> {
        self.slots.get(&slot)
    }

    /// The difference of one lane.
    pub fn lane(&self, slot: Slot, lane: usize) -> i128 {
        self.get(slot).map_or(0, |deltas| deltas.lane(lane))
    }

    /// Gives a slot its differences; none where all lanes are what they would be.
    pub fn set(&mut self, slot: Slot, deltas: Option<Deltas>) {
        match deltas.filter(|deltas| deltas.lanes.iter().any(|&delta| delta != 0)) {
            Some(deltas) => self.slots.insert(slot, deltas),
            None => self.slots.remove(&slot),
        };
    }

    /// Exchanges two slots.
    pub fn swap(&mut self, a: Slot, b: Slot) {
        let (x, y) = (self.slots.remove(&a), self.slots.remove(&b));
        self.set(a, y);
        self.set(b, x);
    }
}

/// The results are exact: they start from the real operands.
pub fn forget(inst: &Inst, machine: &mut Machine<'_>) {
    for &out in &inst.outs {
        machine.exact.set(out, None);
    }
}

/// Result i is operand i.
pub fn copied(inst: &Inst, machine: &mut Machine<'_>, kills: impl Fn(usize) -> bool) {
    for (i, (&from, &to)) in inst.ins.iter().zip(&inst.outs).enumerate() {
        let deltas = machine.exact.get(from).cloned();
        machine.exact.set(to, deltas);
        if kills(i) {
            machine.exact.set(from, None);
        }
    }
}

/// The result differs where an operand does, rearranged: `fill` is given, per operand, numbers that stand for its
/// lanes (none if they are all exact), and gives those of the result.
pub fn moved(
    ins: &[Slot],
    out: Slot,
    machine: &mut Machine<'_>,
    fill: impl FnOnce(&[Option<Vec<u32>>]) -> Vec<u32>,
) {
    let mut values = vec![0i128];
    let mut born = None;
    let numbered: Vec<Option<Vec<u32>>> = ins
        .iter()
        .map(|&slot| {
            let deltas = machine.exact.get(slot)?;
            born = born.or(Some(deltas.born));
            let first = values.len() as u32;
            values.extend(&deltas.lanes);
            Some((first..values.len() as u32).collect())
        })
        .collect();
    let deltas = born.map(|born| Deltas {
        lanes: fill(&numbered).into_iter().map(|i| values[i as usize]).collect(),
        born,
    });
    machine.exact.set(out, deltas);
}

/// A lane of a slot of integers, as a signed number.
fn signed(machine: &Machine<'_>, slot: Slot, kind: Kind, lanes: usize, lane: usize) -> i128 {
    let bits = print::bits(&machine.frame, slot, kind, lanes, lane);
    i128::from(match kind {
        Kind::I8 => i64::from(bits as i8),
        Kind::I16 => i64::from(bits as i16),
        Kind::I32 => i64::from(bits as i32),
        _ => bits as i64,
    })
}

/// Integer arithmetic on two operands, without wrap-around.
pub fn arithmetic(code: OpCode, kind: Kind, inst: &Inst, machine: &mut Machine<'_>) {
    let [a, b, out] = [inst.ins[0], inst.ins[1], inst.outs[0]];
    let lanes = match [a, b, out].iter().all(|&slot| is_single(machine, slot)) {
        true => 1,
        false => inst.lanes(machine),
    };
    let mut born = None;
    let exact = (0..lanes)
        .map(|lane| {
            let x = signed(machine, a, kind, lanes, lane) + machine.exact.lane(a, lane);
            let y = signed(machine, b, kind, lanes, lane) + machine.exact.lane(b, lane);
            let exact = match code {
                OpCode::AddI => x.saturating_add(y),
                OpCode::SubI => x.saturating_sub(y),
                OpCode::MulI => x.saturating_mul(y),
                OpCode::ShlI => match u32::try_from(y) {
                    Ok(amount) if amount < 64 => x.saturating_mul(1 << amount),
                    // It has no meaning, and is reported as such.
                    _ => signed(machine, out, kind, lanes, lane),
                },
                OpCode::MinSI => x.min(y),
                _ => x.max(y),
            };
            exact.saturating_sub(signed(machine, out, kind, lanes, lane))
        })
        .collect();
    for slot in [a, b] {
        born = born.or(machine.exact.get(slot).map(|deltas| deltas.born));
    }
    let born = born.unwrap_or(machine.at);
    machine.exact.set(out, Some(Deltas { lanes: exact, born }));
}

fn is_single(machine: &Machine<'_>, slot: Slot) -> bool {
    let one = |deltas: &Deltas| deltas.lanes.len() == 1;
    machine.frame.uniform(slot).is_some() && machine.exact.get(slot).is_none_or(one)
}

/// True if a lane of an addition, subtraction, product or shift of narrow integers wrapped around.
pub fn wraps(code: OpCode, kind: Kind, inst: &Inst, machine: &Machine<'_>) -> bool {
    macro_rules! any {
        ($u:ty, $i:ty) => {{
            let lanes = inst.lanes(machine);
            let [a, b, out] = [inst.ins[0], inst.ins[1], inst.outs[0]].map(|slot| machine.frame.tile::<$u>(slot, lanes));
            let exact = |x: i64, y: i64| match code {
                OpCode::AddI => x + y,
                OpCode::SubI => x - y,
                OpCode::MulI => x * y,
                _ => x << (y & 31),
            };
            use crate::frame::Tile;
            let is_off = |x: $u, y: $u, r: $u| exact(i64::from(x as $i), i64::from(y as $i)) != i64::from(r as $i);
            match (a, b, out) {
                (_, _, Tile::Uniform(r)) => is_off(a.lane(0), b.lane(0), r),
                (Tile::Dense(x), Tile::Dense(y), Tile::Dense(r)) => {
                    x.iter().zip(y).zip(r).fold(false, |off, ((&x, &y), &r)| off | is_off(x, y, r))
                }
                (Tile::Dense(x), Tile::Uniform(y), Tile::Dense(r)) => {
                    x.iter().zip(r).fold(false, |off, (&x, &r)| off | is_off(x, y, r))
                }
                (Tile::Uniform(x), Tile::Dense(y), Tile::Dense(r)) => {
                    y.iter().zip(r).fold(false, |off, (&y, &r)| off | is_off(x, y, r))
                }
                _ => (0..lanes).any(|i| is_off(a.lane(i), b.lane(i), out.lane(i))),
            }
        }};
    }
    match kind {
        Kind::I8 => any!(u8, i8),
        Kind::I16 => any!(u16, i16),
        Kind::I32 => any!(u32, i32),
        _ => false,
    }
}

/// A pointer plus an offset times `bytes`.
pub fn add_ptr(bytes: u64, inst: &Inst, machine: &mut Machine<'_>) {
    let [pointer, offset, out] = [inst.ins[0], inst.ins[1], inst.outs[0]];
    let (p, o) = (machine.exact.get(pointer), machine.exact.get(offset));
    let Some(born) = o.or(p).map(|deltas| deltas.born) else {
        machine.exact.set(out, None);
        return;
    };
    let length = |deltas: Option<&Deltas>| deltas.map_or(1, |deltas| deltas.lanes.len());
    let count = length(p).max(length(o));
    let lane = |lane| {
        let (p, o) = (p.map_or(0, |d| d.lane(lane)), o.map_or(0, |d| d.lane(lane)));
        p.saturating_add(o.saturating_mul(i128::from(bytes)))
    };
    let lanes = (0..count).map(lane).collect();
    machine.exact.set(out, Some(Deltas { lanes, born }));
}

/// An integer, and how much greater it is without wrap-around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integer {
    real: i128,
    delta: i128,
}

impl Integer {
    /// How much greater `(self + more) * other` is without wrap-around.
    pub fn times(&self, more: i128, other: &Integer) -> i128 {
        let real = self.real + more;
        let exact = (real + self.delta).saturating_mul(other.real + other.delta);
        exact.saturating_sub(real.saturating_mul(other.real))
    }
}

/// Scalars of 64 bits.
pub fn integers(machine: &Machine<'_>, slots: &[Slot]) -> Vec<Integer> {
    slots
        .iter()
        .map(|&slot| Integer {
            real: signed(machine, slot, Kind::I64, 1, 0),
            delta: machine.exact.lane(slot, 0),
        })
        .collect()
}

/// The lanes of a tile.
pub fn lanes(machine: &Machine<'_>, slot: Slot, kind: Kind, lanes: usize) -> Vec<Integer> {
    (0..lanes)
        .map(|lane| Integer {
            real: signed(machine, slot, kind, lanes, lane),
            delta: machine.exact.lane(slot, lane),
        })
        .collect()
}

/// The addresses of a block, the first result: `part` says how much greater a lane's offset from the base, the first
/// operand, is in bytes.
pub fn block(inst: &Inst, machine: &mut Machine<'_>, lanes: usize, mut part: impl FnMut(usize) -> i128) {
    let born = inst
        .ins
        .iter()
        .find_map(|&slot| machine.exact.get(slot).map(|deltas| deltas.born));
    let base = inst.ins.first().map_or(0, |&slot| machine.exact.lane(slot, 0));
    let deltas = born.map(|born| Deltas {
        lanes: (0..lanes).map(|lane| base.saturating_add(part(lane))).collect(),
        born,
    });
    for (i, &out) in inst.outs.iter().enumerate() {
        machine.exact.set(out, deltas.clone().filter(|_| i == 0));
    }
}

/// The chosen side's: operands are the condition and both sides.
pub fn select(inst: &Inst, machine: &mut Machine<'_>) {
    let [condition, a, b] = [inst.ins[0], inst.ins[1], inst.ins[2]];
    let (x, y) = (machine.exact.get(a), machine.exact.get(b));
    let Some(born) = x.or(y).map(|deltas| deltas.born) else {
        machine.exact.set(inst.outs[0], None);
        return;
    };
    let lanes = inst.lanes(machine);
    let condition = machine.frame.tile::<Bool>(condition, lanes);
    let lane = |lane| {
        let chosen = if condition.lane(lane).0 != 0 { x } else { y };
        chosen.map_or(0, |deltas| deltas.lane(lane))
    };
    let lanes = (0..lanes).map(lane).collect();
    machine.exact.set(inst.outs[0], Some(Deltas { lanes, born }));
}

/// Reports active lanes whose address differs from the exact one.
#[inline]
pub fn look(machine: &mut Machine<'_>, access: Access) {
    if machine.exact.is_active() {
        report(machine, access);
    }
}

#[cold]
fn report(machine: &mut Machine<'_>, access: Access) {
    let Some(deltas) = machine.exact.get(access.pointers).cloned() else {
        return;
    };
    if let Some(mask) = access.mask {
        machine.frame.flatten(mask);
    }
    machine.frame.flatten(access.pointers);
    for lane in 0..access.lanes {
        let delta = deltas.lane(lane);
        if delta == 0 || !is_active(machine, access.mask, access.lanes, lane) {
            continue;
        }
        let address = machine
            .frame
            .tile::<u64>(access.pointers, access.lanes)
            .lane(lane);
        let key = Key {
            check: Check::AddressOverflow,
            at: machine.at,
            tensor: machine.frame.provenance(access.pointers).lane(lane),
        };
        let born = deltas.born;
        machine.sink.report(key, 1, || Detail::Overflow {
            lane: lane as u32,
            kind: access.kind,
            address,
            delta,
            bytes: access.elem as u32,
            born,
        });
    }
}
