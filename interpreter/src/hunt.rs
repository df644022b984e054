//! `nan-born`, `inf-born`: which operation made a NaN or an infinity that reached memory.
//!
//! While a launch runs, stores only note which programs stored one: the lowest few per store. Afterwards these programs
//! are run again, alone and without storing anything, with every value looked at: where an operation gives a NaN from
//! operands without NaN (an infinity from finite ones) its lane is born, and goes along like an undefined lane until it
//! is stored as what it was born as. What comes out of memory, constants, selections and shape operations never gives
//! birth.
//!
//! Left out: sums that an atomic makes in memory; stores of 8-bit floats; programs beyond the lowest few. How programs are
//! run again is in [`crate::births`].

use crate::access::Access;
use crate::frame::{Slot, Tile};
use crate::kind::Kind;
use crate::kind::Lane;
use crate::machine::Machine;
use crate::num::dot::DotShape;
use crate::num::float::{Bf16, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16, StoredFloat};
use crate::print;
use crate::simd::{Cpu, FlatLoop};
use crate::steps::dot::Batch;
use crate::steps::memory::is_active;
use crate::taint::{self, BirthDetail};
use crate::tape::{Inst, Tape, What};
use crate::with_width;
use std::collections::BTreeSet;
use std::ops::BitAnd;
use tilescope_diagnostics::Check;
use tilescope_ir::{Family, Function, Module, OpCode, OpId};

/// Programs that are looked at again, side by side: of a place that more of them share, the first are enough, and a place
/// that only few reach is seldom beyond them.
pub const MOST: usize = 64;

/// The lowest programs that stored a NaN or an infinity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspects(BTreeSet<u64>);

impl Suspects {
    /// Adds a program.
    pub fn add(&mut self, program: u64) {
        if self.0.len() < MOST || self.0.last().is_some_and(|&last| program < last) {
            self.0.insert(program);
            if self.0.len() > MOST {
                self.0.pop_last();
            }
        }
    }

    /// Drops programs after `last`.
    pub fn cut(&mut self, last: u64) {
        self.0.retain(|&program| program <= last);
    }

    /// Adds another worker's.
    pub fn merge(&mut self, other: Suspects) {
        other.0.into_iter().for_each(|program| self.add(program));
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The programs, rising.
    pub fn programs(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied()
    }
}

/// Whether something holds for any lane, without leaving early: whole vectors at a time.
struct Any<'a, T, F>(&'a [T], F);

impl<T: Copy, F: Fn(T) -> bool> FlatLoop for Any<'_, T, F> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.0.iter().fold(false, |any, &lane| any | (self.1)(lane))
    }
}

/// Bits that are all ones in a NaN or an infinity and in nothing else; none of kinds that are not looked at.
fn exponent(kind: Kind) -> Option<u64> {
    match kind {
        Kind::F16 => Some(0x7c00),
        Kind::Bf16 => Some(0x7f80),
        Kind::F32 => Some(0x7f80_0000),
        Kind::F64 => Some(0x7ff0_0000_0000_0000),
        _ => None,
    }
}

/// Compared as wide as they are: in 64 bits a vector would hold a half or a quarter of them.
fn any_special<T: Lane + BitAnd<Output = T>>(cpu: Cpu, lanes: &[T], ones: u64) -> bool {
    let ones = T::from_bits(ones);
    cpu.run(Any(lanes, |lane: T| lane & ones == ones))
}

/// True if a lane of a tile of floats is a NaN or an infinity.
pub fn has_special(machine: &Machine<'_>, slot: Slot, kind: Kind, lanes: usize) -> bool {
    let Some(ones) = exponent(kind) else { return false };
    with_width!(kind, T => match machine.frame.tile::<T>(slot, lanes) {
        Tile::Uniform(lane) => lane.to_bits() & ones == ones,
        Tile::Dense(lanes) => any_special(machine.context.cpu, lanes, ones),
    })
}

/// The same of `count` neighbours in memory, from a byte of an allocation on.
pub fn is_special_in_memory(
    machine: &Machine<'_>,
    allocation: usize,
    offset: usize,
    kind: Kind,
    count: usize,
) -> bool {
    const ROOM: usize = 256;
    let Some(ones) = exponent(kind) else { return false };
    with_width!(kind, T => (0..count).step_by(ROOM).any(|first| {
        let mut room = [T::from_bits(0); ROOM];
        let lanes = &mut room[..ROOM.min(count - first)];
        let shared = &machine.context.memory.shared;
        shared.read(allocation, offset + first * size_of::<T>(), lanes);
        any_special(machine.context.cpu, lanes, ones)
    }))
}

/// Notes the program if an active lane that goes to memory is a NaN or an infinity.
#[inline]
pub fn suspect(machine: &mut Machine<'_>, access: Access, value: Slot, kind: Kind) {
    if machine.context.memory.specials && kind.is_float() && has_special(machine, value, kind, access.lanes) {
        note(machine, access, value, kind);
    }
}

#[cold]
fn note(machine: &mut Machine<'_>, access: Access, value: Slot, kind: Kind) {
    let lanes = access.lanes;
    if let Some(mask) = access.mask {
        machine.frame.flatten(mask);
    }
    let special = |lane: usize| {
        is_active(machine, access.mask, lanes, lane)
            && !float(print::bits(&machine.frame, value, kind, lanes, lane), kind).is_finite()
    };
    if (0..lanes).any(special) {
        machine.sink.suspects.add(machine.linear);
    }
}

/// True unless a lane was born as a NaN or an infinity and is none any more.
pub fn is_still(machine: &Machine<'_>, value: Slot, kind: Kind, lanes: usize, lane: usize) -> bool {
    let birth = machine.taint.get(value).map_or(0, |births| births.lane(lane));
    machine.taint.special(birth).is_none_or(|born| {
        let now = float(print::bits(&machine.frame, value, kind, lanes, lane), kind);
        now.is_nan() == born.is_nan() && !now.is_finite()
    })
}

/// A float of any kind.
pub fn float(bits: u64, kind: Kind) -> f64 {
    f64::from(match kind {
        Kind::F64 => return f64::from_bits(bits),
        Kind::F32 => f32::from_bits(bits as u32),
        Kind::F16 => F16::from_bits(bits).to_f32(),
        Kind::Bf16 => Bf16::from_bits(bits).to_f32(),
        Kind::F8E4M3 => F8E4M3::from_bits(bits).to_f32(),
        Kind::F8E5M2 => F8E5M2::from_bits(bits).to_f32(),
        Kind::F8E4M3B11Fnuz => F8E4M3B11Fnuz::from_bits(bits).to_f32(),
        Kind::F8E4M3Fnuz => F8E4M3Fnuz::from_bits(bits).to_f32(),
        Kind::F8E5M2Fnuz => F8E5M2Fnuz::from_bits(bits).to_f32(),
        _ => 0.0,
    })
}

/// Which instructions can give birth, and what each slot holds.
#[derive(Debug)]
pub struct Hunt {
    places: Vec<Place>,
    kinds: Vec<(Kind, u32)>,
}

/// What an instruction can give birth to.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// So many results, that come first among what the instruction writes; behind them is room that it works in.
    results: usize,
    /// Its products, where it is a dot.
    dot: Option<Batch>,
}

impl Hunt {
    /// For a tape on which every value has a slot of its own.
    pub fn new(module: &Module, tape: &Tape) -> Hunt {
        let places = tape.origins.iter().map(|origin| match origin.what {
            What::Param(_) => Place::default(),
            What::Op(op) => place(&module.funcs[origin.func], op),
        });
        Hunt {
            places: places.collect(),
            kinds: tape.shapes.clone(),
        }
    }

    fn kind(&self, slot: Slot) -> Option<Kind> {
        let kind = self.kinds.get(slot.0 as usize)?.0;
        kind.is_float().then_some(kind)
    }

    fn whole(&self, slot: Slot) -> usize {
        self.kinds[slot.0 as usize].1.max(1) as usize
    }
}

fn place(function: &Function, op: OpId) -> Place {
    let data = &function.ops[op];
    let quiet = matches!(
        data.code,
        OpCode::Constant
            | OpCode::Poison
            | OpCode::Select
            | OpCode::ArithBitcast
            | OpCode::Bitcast
            | OpCode::IntToPtr
            | OpCode::PtrToInt
    );
    let family = matches!(
        data.code.info().family,
        Family::Arith | Family::Cast | Family::Compare | Family::Math | Family::Reduce | Family::Dot
    );
    if !family || quiet {
        return Place::default();
    }
    let dot = match data.operands[..] {
        [a, b, c] if data.code == OpCode::Dot => {
            let [a, b, c] = [a, b, c].map(|v| function.ty(v).shape().unwrap_or_default());
            Batch::of(a, b, c)
        }
        _ => None,
    };
    Place {
        results: data.results.len(),
        dot,
    }
}

/// What a lane, or several together, hold.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    nan: bool,
    infinity: bool,
}

impl Marks {
    fn of(value: f64) -> Marks {
        Marks {
            nan: value.is_nan(),
            infinity: value.is_infinite(),
        }
    }

    fn and(self, other: Marks) -> Marks {
        Marks {
            nan: self.nan | other.nan,
            infinity: self.infinity | other.infinity,
        }
    }

    /// True if what a result is does not come from here.
    fn cannot_explain(self, result: f64) -> bool {
        !self.nan && (result.is_nan() || !self.infinity)
    }
}

/// Which lanes of an operand a lane of the result is made of.
enum Reach {
    /// Its own.
    Own(Slot, Kind),
    /// Any of them.
    Any(Marks),
    /// Of a dot: its row of a, or its column of b.
    Rows(Vec<Marks>, usize),
    Columns(Vec<Marks>, Batch),
}

impl Reach {
    fn of(machine: &Machine<'_>, hunt: &Hunt, inst: &Inst, at: usize, place: Place) -> Option<Reach> {
        let slot = *inst.ins.get(at)?;
        let kind = hunt.kind(slot)?;
        let (lanes, whole) = (inst.lanes(machine), hunt.whole(slot));
        let marks = |lane| Marks::of(float(print::bits(&machine.frame, slot, kind, whole, lane), kind));
        if let (Some(batch), 0 | 1) = (place.dot, at) {
            let shape = batch.shape;
            let (of, groups) = match at {
                0 => (shape.m * shape.k, shape.m),
                _ => (shape.k * shape.n, shape.n),
            };
            let mut of_group = vec![Marks::default(); groups * batch.count];
            for lane in 0..whole {
                let group = lane / of * groups
                    + match at {
                        0 => lane % of / shape.k,
                        _ => lane % shape.n,
                    };
                of_group[group] = of_group[group].and(marks(lane));
            }
            return Some(match at {
                0 => Reach::Rows(of_group, shape.n),
                _ => Reach::Columns(of_group, batch),
            });
        }
        if machine.frame.uniform(slot).is_some() || lanes == whole || inst.lanes == 0 {
            return Some(Reach::Own(slot, kind));
        }
        Some(Reach::Any(
            (0..whole).map(marks).fold(Marks::default(), Marks::and),
        ))
    }

    fn marks(&self, machine: &Machine<'_>, lanes: usize, lane: usize) -> Marks {
        match self {
            &Reach::Own(slot, kind) => {
                Marks::of(float(print::bits(&machine.frame, slot, kind, lanes, lane), kind))
            }
            Reach::Any(marks) => *marks,
            Reach::Rows(rows, n) => rows[lane / n],
            Reach::Columns(columns, batch) => {
                let n = batch.shape.n;
                columns[lane / (batch.shape.m * n) * n + lane % n]
            }
        }
    }
}

/// After an instruction: births among the lanes of its results.
pub fn look(machine: &mut Machine<'_>, inst: &Inst) {
    let Some(hunt) = machine.hunt.clone() else {
        return;
    };
    let place = hunt.places.get(inst.at.0 as usize).copied().unwrap_or_default();
    let lanes = inst.lanes(machine);
    for &out in inst.outs.iter().take(place.results) {
        let Some(kind) = hunt.kind(out) else { continue };
        if !may_be_special(machine, out, kind, lanes) {
            continue;
        }
        let reaches = (0..inst.ins.len()).filter_map(|at| Reach::of(machine, &hunt, inst, at, place));
        let reaches: Vec<Reach> = reaches.collect();
        let mut born: [Vec<(u32, BirthDetail)>; 2] = Default::default();
        for lane in 0..lanes {
            let value = float(print::bits(&machine.frame, out, kind, lanes, lane), kind);
            if value.is_finite() {
                continue;
            }
            let explained = |reach: &Reach| !reach.marks(machine, lanes, lane).cannot_explain(value);
            if !reaches.iter().any(explained) {
                let (operands, count) = match place.dot {
                    Some(batch) => factors(machine, &hunt, inst, batch, lane),
                    None => own(machine, &reaches, lanes, lane),
                };
                let detail = BirthDetail::Special(lane as u32, value, operands, count);
                born[usize::from(!value.is_nan())].push((lane as u32, detail));
            }
        }
        for (check, born) in [Check::NanBorn, Check::InfBorn].into_iter().zip(born) {
            if !born.is_empty() {
                machine.taint.activate();
                taint::bear_lanes(machine, out, lanes, check, born);
            }
        }
    }
}

/// The operands of a lane, of those that go lane for lane.
fn own(machine: &Machine<'_>, reaches: &[Reach], lanes: usize, lane: usize) -> ([f64; 3], u8) {
    let mut operands = [0.0; 3];
    let own = reaches.iter().filter_map(|reach| match *reach {
        Reach::Own(slot, kind) => Some(float(print::bits(&machine.frame, slot, kind, lanes, lane), kind)),
        _ => None,
    });
    let count = operands
        .iter_mut()
        .zip(own)
        .map(|(operand, value)| *operand = value)
        .count();
    (operands, count as u8)
}

/// The first two factors whose product is special, and what is added; only that where all products are finite.
fn factors(machine: &Machine<'_>, hunt: &Hunt, inst: &Inst, batch: Batch, lane: usize) -> ([f64; 3], u8) {
    let DotShape { m, n, k } = batch.shape;
    let (product, row, column) = (lane / (m * n), lane % (m * n) / n, lane % n);
    let value = |at: usize, lane: usize| {
        let slot = *inst.ins.get(at)?;
        let kind = hunt.kind(slot)?;
        Some(float(
            print::bits(&machine.frame, slot, kind, hunt.whole(slot), lane),
            kind,
        ))
    };
    let added = value(2, lane).unwrap_or_default();
    let pairs = (0..k).filter_map(|i| {
        Some((
            value(0, product * m * k + row * k + i)?,
            value(1, product * k * n + i * n + column)?,
        ))
    });
    match pairs.into_iter().find(|(a, b)| !(a * b).is_finite()) {
        Some((a, b)) => ([a, b, added], 3),
        None => ([added, 0.0, 0.0], 1),
    }
}

fn may_be_special(machine: &mut Machine<'_>, slot: Slot, kind: Kind, lanes: usize) -> bool {
    machine.frame.flatten(slot);
    match kind {
        Kind::F16 | Kind::Bf16 | Kind::F32 | Kind::F64 => has_special(machine, slot, kind, lanes),
        _ => true,
    }
}
