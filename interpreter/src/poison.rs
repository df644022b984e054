//! `--poison`: what a lane holds that nothing gave a value: of a load, where its mask is off and there is no other value, where
//! the access is at fault, or where nothing was written; and of `ub.poison`.
//!
//! Zero hides mistakes that a GPU shows, as garbage times zero is mostly zero. NaN makes them plain in the outputs, random
//! numbers too, and in integers. Both are the same in every run: they depend on the program, the operation and the lane alone.
//! Null stays null. Out-of-box lanes of descriptors are defined, and are not touched.

use crate::access::Access;
use crate::frame::Slot;
use crate::kind::{Bool, Kind, Lane};
use crate::machine::Machine;
use crate::print;
use crate::tape::At;
use crate::with_width;

/// What lanes without a value hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Poison {
    /// Zero.
    #[default]
    Zero,
    /// NaN; all bits set, of integers and truth values.
    Nan,
    /// Floats of magnitude 1 to 2, integers and truth values of any bits.
    Random,
}

impl Poison {
    /// The bits of a lane.
    pub fn bits(self, kind: Kind, program: u64, at: At, lane: usize) -> u64 {
        let ones = match kind.bytes() {
            8 => u64::MAX,
            bytes => (1 << (8 * bytes)) - 1,
        };
        match (self, kind) {
            (Poison::Zero, _) | (_, Kind::Ptr) => 0,
            (Poison::Nan, Kind::Bool) => 1,
            (Poison::Nan, kind) => float(kind).map_or(ones, |float| float.nan),
            (Poison::Random, kind) => {
                let random = mix(program ^ mix(u64::from(at.0) << 32 ^ lane as u64));
                match (kind, float(kind)) {
                    (Kind::Bool, _) => random & 1,
                    (_, None) => random & ones,
                    (_, Some(float)) => float.one | random & ((ones / 2 + 1) | float.mantissa),
                }
            }
        }
    }
}

/// Bits of a format.
struct Float {
    nan: u64,
    one: u64,
    mantissa: u64,
}

fn float(kind: Kind) -> Option<Float> {
    let (nan, one, mantissa) = match kind {
        Kind::F16 => (0x7e00, 0x3c00, 0x03ff),
        Kind::Bf16 => (0x7fc0, 0x3f80, 0x007f),
        Kind::F32 => (0x7fc0_0000, 0x3f80_0000, 0x007f_ffff),
        Kind::F64 => (0x7ff8 << 48, 0x3ff0 << 48, (1 << 52) - 1),
        Kind::F8E4M3 => (0x7f, 0x38, 0x07),
        Kind::F8E5M2 => (0x7e, 0x3c, 0x03),
        Kind::F8E4M3B11Fnuz => (0x80, 0x58, 0x07),
        Kind::F8E4M3Fnuz => (0x80, 0x40, 0x07),
        Kind::F8E5M2Fnuz => (0x80, 0x40, 0x03),
        _ => return None,
    };
    Some(Float { nan, one, mantissa })
}

/// A number drawn by another (SplitMix64, Steele, Lea and Flood 2014).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Gives the lanes of a load that have no value the one that was asked for; `other` if masked-off lanes have one.
pub fn fill(machine: &mut Machine<'_>, access: Access, other: bool, kind: Kind, out: Slot) {
    let poison = machine.context.memory.poison;
    if let Some(mask) = access.mask {
        machine.frame.flatten(mask);
    }
    let lanes = access.lanes;
    let active = |lane: usize| crate::steps::memory::is_active(machine, access.mask, lanes, lane);
    let mut has: Vec<bool> = (0..lanes).map(|lane| other && !active(lane)).collect();
    // Faults are reported by the access itself.
    let _ = access.checked(machine, |memory, piece| {
        for i in 0..piece.count {
            let start = piece.offset + i * access.elem;
            let end = start + access.elem;
            has[piece.lane + i] = memory
                .initialised
                .is_written(&machine.own, piece.allocation, start, end);
        }
    });
    if has.iter().all(|&has| has) {
        return;
    }
    let (linear, at) = (machine.linear, machine.at);
    let bits: Vec<u64> = (0..lanes)
        .map(|lane| match has[lane] {
            true => print::bits(&machine.frame, out, kind, lanes, lane),
            false => poison.bits(kind, linear, at, lane),
        })
        .collect();
    if let [bits] = bits[..] {
        machine.frame.set_uniform(out, bits);
        return;
    }
    match kind {
        Kind::Bool => machine
            .frame
            .fill::<Bool>(out, lanes, |_, lane| Bool::from_bits(bits[lane])),
        _ => with_width!(kind, T => machine.frame.fill::<T>(out, lanes, |_, lane| T::from_bits(bits[lane]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hunt;

    #[test]
    fn floats_are_nan_or_of_magnitude_one_to_two() {
        let kinds = [
            Kind::F16,
            Kind::Bf16,
            Kind::F32,
            Kind::F64,
            Kind::F8E4M3,
            Kind::F8E5M2,
            Kind::F8E4M3B11Fnuz,
            Kind::F8E4M3Fnuz,
            Kind::F8E5M2Fnuz,
        ];
        for kind in kinds {
            let nan = hunt::float(Poison::Nan.bits(kind, 3, At(5), 7), kind);
            assert!(nan.is_nan(), "{kind:?}");
            for lane in 0..100 {
                let value = hunt::float(Poison::Random.bits(kind, 3, At(5), lane), kind);
                assert!((1.0..2.0).contains(&value.abs()), "{kind:?} {value}");
            }
        }
        let different = |lane| Poison::Random.bits(Kind::I32, 0, At(0), lane);
        assert_ne!(different(0), different(1));
        assert_eq!(Poison::Nan.bits(Kind::I16, 0, At(0), 0), 0xffff);
        assert_eq!(Poison::Nan.bits(Kind::Ptr, 0, At(0), 0), 0);
    }
}
