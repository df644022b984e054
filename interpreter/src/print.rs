//! Tiles as text, for `tt.print`: every lane, nested brackets per dimension.

use crate::frame::{Frame, Slot};
use crate::kind::{Bool, Kind, Lane};
use crate::num::float::{Bf16, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16, StoredFloat};
use tilescope_diagnostics::Value;

/// One lane as a number.
pub fn lane(bits: u64, kind: Kind, signed: bool, hex: bool) -> String {
    if hex {
        return format!("0x{bits:0width$x}", width = 2 * kind.bytes());
    }
    let float = |x: f32| format!("{x}");
    match kind {
        Kind::Bool => (bits & 1).to_string(),
        Kind::I8 if signed => (bits as i8).to_string(),
        Kind::I16 if signed => (bits as i16).to_string(),
        Kind::I32 if signed => (bits as i32).to_string(),
        Kind::I64 if signed => (bits as i64).to_string(),
        Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 => bits.to_string(),
        Kind::F8E4M3 => float(F8E4M3::from_bits(bits).to_f32()),
        Kind::F8E5M2 => float(F8E5M2::from_bits(bits).to_f32()),
        Kind::F8E4M3B11Fnuz => float(F8E4M3B11Fnuz::from_bits(bits).to_f32()),
        Kind::F8E4M3Fnuz => float(F8E4M3Fnuz::from_bits(bits).to_f32()),
        Kind::F8E5M2Fnuz => float(F8E5M2Fnuz::from_bits(bits).to_f32()),
        Kind::F16 => float(F16::from_bits(bits).to_f32()),
        Kind::Bf16 => float(Bf16::from_bits(bits).to_f32()),
        Kind::F32 => float(f32::from_bits(bits as u32)),
        Kind::F64 => format!("{}", f64::from_bits(bits)),
        Kind::Ptr => format!("0x{bits:x}"),
    }
}

/// The number that bits of a kind stand for; integers are signed, addresses are not.
pub fn number(bits: u64, kind: Kind) -> Value {
    let float = |x: f32| Value::Float(f64::from(x));
    match kind {
        Kind::Bool => Value::Bool(bits & 1 != 0),
        Kind::I8 => Value::Int(i128::from(bits as u8 as i8)),
        Kind::I16 => Value::Int(i128::from(bits as u16 as i16)),
        Kind::I32 => Value::Int(i128::from(bits as u32 as i32)),
        Kind::I64 => Value::Int(i128::from(bits as i64)),
        Kind::Ptr => Value::Int(i128::from(bits)),
        Kind::F8E4M3 => float(F8E4M3::from_bits(bits).to_f32()),
        Kind::F8E5M2 => float(F8E5M2::from_bits(bits).to_f32()),
        Kind::F8E4M3B11Fnuz => float(F8E4M3B11Fnuz::from_bits(bits).to_f32()),
        Kind::F8E4M3Fnuz => float(F8E4M3Fnuz::from_bits(bits).to_f32()),
        Kind::F8E5M2Fnuz => float(F8E5M2Fnuz::from_bits(bits).to_f32()),
        Kind::F16 => float(F16::from_bits(bits).to_f32()),
        Kind::Bf16 => float(Bf16::from_bits(bits).to_f32()),
        Kind::F32 => float(f32::from_bits(bits as u32)),
        Kind::F64 => Value::Float(f64::from_bits(bits)),
    }
}

/// Bits of one lane of a slot.
pub fn bits(frame: &Frame, slot: Slot, kind: Kind, lanes: usize, lane: usize) -> u64 {
    match kind {
        Kind::Bool => frame.tile::<Bool>(slot, lanes).lane(lane).to_bits(),
        _ => crate::with_width!(kind, T => frame.tile::<T>(slot, lanes).lane(lane).to_bits()),
    }
}

/// All lanes of a slot.
pub fn tile(frame: &Frame, slot: Slot, kind: Kind, shape: &[usize], signed: bool, hex: bool) -> String {
    let lanes: usize = shape.iter().product();
    nested(shape, |i| {
        lane(bits(frame, slot, kind, lanes, i), kind, signed, hex)
    })
}

/// Lanes as text, in brackets per dimension.
pub fn nested(shape: &[usize], one: impl Fn(usize) -> String) -> String {
    let lanes: usize = shape.iter().product();
    let mut text = String::new();
    for i in 0..lanes {
        let mut opened = 0;
        let mut block = lanes;
        for dim in shape {
            if i % block == 0 {
                opened += 1;
            }
            block /= dim;
        }
        if i > 0 {
            text.push_str(", ");
        }
        (0..opened).for_each(|_| text.push('['));
        text.push_str(&one(i));
        let mut block = lanes;
        for dim in shape {
            if (i + 1) % block == 0 {
                text.push(']');
            }
            block /= dim;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_print_whole_and_nested() {
        let mut frame = Frame::new(1);
        frame.fill::<u32>(Slot(0), 4, |_, i| i as u32);
        assert_eq!(
            tile(&frame, Slot(0), Kind::I32, &[2, 2], true, false),
            "[[0, 1], [2, 3]]"
        );
        frame.set_uniform(Slot(0), u64::from(u32::MAX));
        assert_eq!(tile(&frame, Slot(0), Kind::I32, &[], true, false), "-1");
        assert_eq!(tile(&frame, Slot(0), Kind::I32, &[], false, false), "4294967295");
        assert_eq!(tile(&frame, Slot(0), Kind::I32, &[1], true, true), "[0xffffffff]");
    }
}
