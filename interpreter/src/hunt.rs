//! `nan-born`, `inf-born`: which operation made a NaN or an infinity that reached memory.
//!
//! While a launch runs, stores only note which programs stored one: the lowest few per store. Afterwards these programs
//! are run again, alone and without storing anything, with every value looked at: where an operation gives a NaN from
//! operands without NaN (an infinity from finite ones) its lane is born, and goes along like an undefined lane until it
//! is stored as what it was born as. What comes out of memory, constants, selections and shape operations never gives
//! birth.
//!
//! Left out: kernels that read what they store, or use atomics, whose programs cannot be run again on what the
//! launch left; stores of 8-bit floats; programs beyond the lowest few.

use crate::frame::Tile;
use crate::kind::Kind;
use crate::kind::Lane;
use crate::machine::Machine;
use crate::num::float::{Bf16, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16, StoredFloat};
use crate::print;
use crate::taint::{self, BirthDetail};
use crate::tape::{Inst, Tape, What};
use std::collections::BTreeSet;
use tilescope_diagnostics::Check;
use tilescope_ir::{Family, Module, OpCode};

/// Programs that are looked at again.
pub const MOST: usize = 8;

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

/// True if a lane of a tile of floats is a NaN or an infinity.
pub fn has_special(machine: &Machine<'_>, slot: crate::frame::Slot, kind: Kind, lanes: usize) -> bool {
    macro_rules! scan {
        ($t:ty, $ones:expr) => {{
            let special = |bits: $t| bits & $ones == $ones;
            match machine.frame.tile::<$t>(slot, lanes) {
                Tile::Uniform(bits) => special(bits),
                Tile::Dense(lanes) => lanes.iter().fold(false, |any, &bits| any | special(bits)),
            }
        }};
    }
    match kind {
        Kind::F16 => scan!(u16, 0x7c00),
        Kind::Bf16 => scan!(u16, 0x7f80),
        Kind::F32 => scan!(u32, 0x7f80_0000),
        Kind::F64 => scan!(u64, 0x7ff0_0000_0000_0000),
        _ => false,
    }
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

/// Which instructions can give birth: per place, and what each slot holds.
#[derive(Debug)]
pub struct Hunt {
    births: Vec<bool>,
    kinds: Vec<(Kind, u32)>,
}

impl Hunt {
    /// For a tape on which every value has a slot of its own.
    pub fn new(module: &Module, tape: &Tape) -> Hunt {
        let births = tape.origins.iter().map(|origin| match origin.what {
            What::Param(_) => false,
            What::Op(op) => {
                let code = module.funcs[origin.func].ops[op].code;
                let quiet = matches!(
                    code,
                    OpCode::Constant
                        | OpCode::Poison
                        | OpCode::Select
                        | OpCode::ArithBitcast
                        | OpCode::Bitcast
                        | OpCode::IntToPtr
                        | OpCode::PtrToInt
                );
                let family = matches!(
                    code.info().family,
                    Family::Arith
                        | Family::Cast
                        | Family::Compare
                        | Family::Math
                        | Family::Reduce
                        | Family::Dot
                );
                family && !quiet
            }
        });
        Hunt {
            births: births.collect(),
            kinds: tape.shapes.clone(),
        }
    }

    fn kind(&self, slot: crate::frame::Slot) -> Option<Kind> {
        let kind = self.kinds.get(slot.0 as usize)?.0;
        kind.is_float().then_some(kind)
    }
}

/// After an instruction: births among the lanes of its results.
pub fn look(machine: &mut Machine<'_>, inst: &Inst) {
    let Some(hunt) = machine.hunt.clone() else {
        return;
    };
    if !hunt.births.get(inst.at.0 as usize).copied().unwrap_or(false) {
        return;
    }
    let lanes = inst.lanes(machine);
    for &out in &inst.outs {
        let Some(kind) = hunt.kind(out) else { continue };
        if !may_be_special(machine, out, kind, lanes) {
            continue;
        }
        let mut born: Vec<(Check, u32, BirthDetail)> = Vec::new();
        for lane in 0..lanes {
            let value = float(print::bits(&machine.frame, out, kind, lanes, lane), kind);
            if value.is_finite() {
                continue;
            }
            let mut operands = [0.0; 3];
            let mut count = 0;
            let mut clean = true;
            for &slot in &inst.ins {
                let Some(kind) = hunt.kind(slot) else { continue };
                let whole = hunt.kinds[slot.0 as usize].1.max(1);
                // Lane for lane, or any lane of a tile that is combined.
                let own = machine.frame.uniform(slot).is_some() || lanes as u32 == whole || inst.lanes == 0;
                let is_clean = |x: f64| {
                    if value.is_nan() {
                        !x.is_nan()
                    } else {
                        x.is_finite()
                    }
                };
                if own {
                    let x = float(print::bits(&machine.frame, slot, kind, lanes, lane), kind);
                    clean &= is_clean(x);
                    if let Some(operand) = operands.get_mut(count) {
                        *operand = x;
                        count += 1;
                    }
                } else {
                    let whole = whole as usize;
                    clean &= (0..whole)
                        .all(|i| is_clean(float(print::bits(&machine.frame, slot, kind, whole, i), kind)));
                }
            }
            if clean {
                let check = if value.is_nan() {
                    Check::NanBorn
                } else {
                    Check::InfBorn
                };
                let detail = BirthDetail::Special(lane as u32, value, operands, count as u8);
                born.push((check, lane as u32, detail));
            }
        }
        for check in [Check::NanBorn, Check::InfBorn] {
            let of_check: Vec<(u32, BirthDetail)> = born
                .iter()
                .filter(|birth| birth.0 == check)
                .map(|birth| (birth.1, birth.2))
                .collect();
            if !of_check.is_empty() {
                machine.taint.activate();
                taint::bear_lanes(machine, out, lanes, check, of_check);
            }
        }
    }
}

fn may_be_special(machine: &mut Machine<'_>, slot: crate::frame::Slot, kind: Kind, lanes: usize) -> bool {
    machine.frame.flatten(slot);
    match kind {
        Kind::F16 | Kind::Bf16 | Kind::F32 | Kind::F64 => has_special(machine, slot, kind, lanes),
        _ => true,
    }
}
