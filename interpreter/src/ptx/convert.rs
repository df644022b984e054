//! `cvt`.

use super::float::Changes;
use super::instruction::{Made, Mnemonic, Type};
use crate::num::dot::cut_tf32;
use crate::num::float::{F8E4M3, F8E5M2, RoundTowardZero};
use crate::num::int::{FromFloat, ToFloat};
use crate::num::math::Arithmetic;
use crate::num::{Bf16, CANONICAL_NAN, Canonical, F16, StoredFloat};

/// `cvt.MODIFIERS.TO.FROM`.
pub fn make(m: &mut Mnemonic<'_>, sources: usize) -> Result<Made, String> {
    let [to, from] = m.types[..] else {
        return Err(m.refused());
    };
    match (to, from) {
        (Type::F16x2 | Type::Bf16x2 | Type::E4m3x2 | Type::E5m2x2 | Type::E2m1x2, Type::F32)
            if sources == 2 =>
        {
            two_to_pair(m, to)
        }
        (
            Type::F16x2 | Type::Bf16x2 | Type::E4m3x2 | Type::E5m2x2 | Type::E2m1x2,
            Type::F16x2 | Type::Bf16x2 | Type::E4m3x2 | Type::E5m2x2 | Type::E2m1x2 | Type::Ue8m0x2,
        ) => pair_to_pair(m, to, from),
        (Type::Tf32, Type::F32) => to_tf32(m),
        (Type::Signed(_) | Type::Unsigned(_), Type::Signed(_) | Type::Unsigned(_)) => integers(m, to, from),
        (Type::Signed(_) | Type::Unsigned(_), _) => float_to_integer(m, to, from),
        (_, Type::Signed(_) | Type::Unsigned(_)) => integer_to_float(m, to, from),
        _ => floats(m, to, from),
    }
}

/// An integer's value.
fn integer(bits: u64, ty: Type) -> i128 {
    let bits = bits & ty.mask();
    match ty {
        Type::Signed(width) => i128::from((bits << (64 - width)) as i64 >> (64 - width)),
        _ => i128::from(bits),
    }
}

fn integers(m: &mut Mnemonic<'_>, to: Type, from: Type) -> Result<Made, String> {
    let (low, high) = match to {
        Type::Signed(width) => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
        _ => (0, i128::from(to.mask())),
    };
    let saturate = m.take("sat");
    Ok(Made::new(vec![from], move |[a, ..]| {
        let value = integer(a, from);
        let value = if saturate { value.clamp(low, high) } else { value };
        value as u64 & to.mask()
    }))
}

fn integer_to_float(m: &mut Mnemonic<'_>, to: Type, from: Type) -> Result<Made, String> {
    if !m.take("rn") {
        return Err(m.refused());
    }
    let signed = matches!(from, Type::Signed(_));
    let convert: fn(i128, bool) -> u64 = match to {
        Type::F16 => |x, signed| match signed {
            true => (x as i64).to_f16().0.into(),
            false => (x as u64).to_f16().0.into(),
        },
        Type::Bf16 => |x, signed| match signed {
            true => (x as i64).to_bf16().0.into(),
            false => (x as u64).to_bf16().0.into(),
        },
        Type::F32 => |x, signed| match signed {
            true => ToFloat::to_f32(x as i64).to_bits().into(),
            false => ToFloat::to_f32(x as u64).to_bits().into(),
        },
        Type::F64 => |x, signed| match signed {
            true => ToFloat::to_f64(x as i64).to_bits(),
            false => ToFloat::to_f64(x as u64).to_bits(),
        },
        _ => return Err(m.refused()),
    };
    Ok(Made::new(vec![from], move |[a, ..]| {
        convert(integer(a, from), signed)
    }))
}

/// The value of a float's bits; none for what is no single float.
fn reader(from: Type) -> Option<fn(u64) -> f64> {
    Some(match from {
        Type::F16 => |bits| F16(bits as u16).to_f32().into(),
        Type::Bf16 => |bits| Bf16(bits as u16).to_f32().into(),
        Type::F32 => |bits| f32::from_bits(bits as u32).into(),
        Type::F64 => f64::from_bits,
        _ => return None,
    })
}

fn flush(x: f64) -> f64 {
    if x.abs() < f64::from(f32::MIN_POSITIVE) {
        0f64.copysign(x)
    } else {
        x
    }
}

/// To the integral value that the modifier says; none without one.
fn integral(m: &mut Mnemonic<'_>) -> Option<fn(f64) -> f64> {
    Some(match m.take_of(&["rni", "rzi", "rmi", "rpi"])? {
        "rni" => <f64 as Arithmetic>::round_even,
        "rzi" => <f64 as Arithmetic>::trunc,
        "rmi" => <f64 as Arithmetic>::floor,
        _ => <f64 as Arithmetic>::ceil,
    })
}

fn float_to_integer(m: &mut Mnemonic<'_>, to: Type, from: Type) -> Result<Made, String> {
    let (Some(read), Some(round)) = (reader(from), integral(m)) else {
        return Err(m.refused());
    };
    // Conversions to integers saturate anyway.
    m.take("sat");
    let flushes = m.take("ftz");
    // NaN from f64 differs from the others.
    let wide = from == Type::F64;
    macro_rules! to_integer {
        ($t:ty) => {
            |x: f64, wide: bool| match wide {
                true => <$t as FromFloat>::from_f64(x) as u64,
                false if x.is_nan() => <$t as FromFloat>::from_f32(f32::NAN) as u64,
                false => <$t as FromFloat>::from_f64(x) as u64,
            }
        };
    }
    let convert: fn(f64, bool) -> u64 = match to {
        Type::Signed(16) => to_integer!(i16),
        Type::Signed(32) => to_integer!(i32),
        Type::Signed(64) => to_integer!(i64),
        Type::Unsigned(16) => to_integer!(u16),
        Type::Unsigned(32) => to_integer!(u32),
        Type::Unsigned(64) => to_integer!(u64),
        _ => return Err(m.refused()),
    };
    Ok(Made::new(vec![from], move |[a, ..]| {
        let x = read(a);
        let x = if flushes { flush(x) } else { x };
        convert(round(x), wide) & to.mask()
    }))
}

/// Float to float: widening, narrowing, or to an integral value.
fn floats(m: &mut Mnemonic<'_>, to: Type, from: Type) -> Result<Made, String> {
    let Some(read) = reader(from) else {
        return Err(m.refused());
    };
    let round = integral(m);
    let cut = m.take("rz");
    m.take("rn");
    let changes = Changes::take(m);
    if cut && round.is_some() {
        return Err(m.refused());
    }
    let write: fn(f64) -> u64 = match (to, cut) {
        (Type::F16, false) => |x| F16::from_f64(x).0.into(),
        (Type::F16, true) => |x| F16::from_f64_rtz(x).0.into(),
        (Type::Bf16, false) => |x| Bf16::from_f64(x).0.into(),
        (Type::Bf16, true) => |x| Bf16::from_f64_rtz(x).0.into(),
        (Type::F32, false) => |x| (x as f32).canonical().to_bits().into(),
        (Type::F32, true) => |x| {
            <f32 as RoundTowardZero>::from_f64_rtz(x)
                .canonical()
                .to_bits()
                .into()
        },
        (Type::F64, false) => |x| x.canonical().to_bits(),
        _ => return Err(m.refused()),
    };
    Ok(Made::new(vec![from], move |[a, ..]| {
        let mut x = read(a);
        if changes.flush {
            x = flush(x);
        }
        if let Some(round) = round {
            x = round(x);
        }
        if changes.saturate {
            x = Arithmetic::minnum(Arithmetic::maxnum(x, 0.0), 1.0);
        }
        if changes.relu {
            x = Arithmetic::maximum(x, 0.0);
        }
        let bits = write(x);
        let subnormal = changes.flush && to == Type::F32 && bits & 0x7f80_0000 == 0;
        if subnormal { bits & 0x8000_0000 } else { bits }
    }))
}

/// f32 to TF32: `rna` to nearest with ties away from zero, `rn` with ties to even, `rz` cut.
fn to_tf32(m: &mut Mnemonic<'_>) -> Result<Made, String> {
    let rounding = m.take_of(&["rna", "rn", "rz"]).ok_or_else(|| m.refused())?;
    let relu = m.take("relu");
    let convert = move |bits: u64| {
        let x = f32::from_bits(bits as u32);
        if !x.is_finite() {
            return if x.is_nan() { CANONICAL_NAN } else { x };
        }
        let bits = x.to_bits();
        // Half a unit of the 10 bits kept; one less where a tie goes down to even.
        let add = match rounding {
            "rna" => 0x1000,
            "rn" => 0xfff + (bits >> 13 & 1),
            _ => 0,
        };
        cut_tf32(f32::from_bits(bits + add))
    };
    Ok(Made::new(vec![Type::F32], move |[a, ..]| {
        let x = convert(a);
        let x = if relu { not_negative(x) } else { x };
        x.to_bits().into()
    }))
}

/// The larger of a number and 0; NaN stays NaN.
fn not_negative(x: f32) -> f32 {
    <f32 as Arithmetic>::maximum(x, 0.0)
}

/// Values of e2m1 without sign.
const E2M1: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// To e2m1: nearest, ties to even, limited to 6; NaN becomes 6.
fn to_e2m1(x: f32) -> u64 {
    let magnitude = x.abs();
    // Halfway to each next value; where it is hit, the even code is taken.
    let halves = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0];
    let code = halves
        .iter()
        .zip(0..)
        .filter(|&(&half, i)| magnitude > half || (magnitude == half && i % 2 == 1));
    match x.is_nan() {
        true => 7,
        false => code.count() as u64 | u64::from(x.is_sign_negative()) << 3,
    }
}

fn from_e2m1(code: u64) -> f32 {
    let magnitude = E2M1[code as usize & 7];
    if code & 8 == 0 { magnitude } else { -magnitude }
}

type Write = fn(f32) -> u64;
type Read = fn(u64) -> f32;

/// Bits of one of a pair, and how it is written and read.
struct Half {
    bits: u32,
    write: Write,
    read: Read,
}

fn half(ty: Type) -> Option<Half> {
    let (bits, write, read): (u32, Write, Read) = match ty {
        Type::F16x2 => (16, |x| F16::from_f32(x).0.into(), |b| F16(b as u16).to_f32()),
        Type::Bf16x2 => (16, |x| Bf16::from_f32(x).0.into(), |b| Bf16(b as u16).to_f32()),
        Type::E4m3x2 => (8, |x| F8E4M3::from_f32(x).0.into(), |b| F8E4M3(b as u8).to_f32()),
        Type::E5m2x2 => (8, |x| F8E5M2::from_f32(x).0.into(), |b| F8E5M2(b as u8).to_f32()),
        Type::E2m1x2 => (4, to_e2m1, from_e2m1),
        Type::Ue8m0x2 => (
            8,
            |_| 0,
            |b| match b & 0xff {
                255 => CANONICAL_NAN,
                0 => f32::from_bits(1 << 22),
                b => f32::from_bits((b as u32) << 23),
            },
        ),
        _ => return None,
    };
    Some(Half { bits, write, read })
}

/// Takes `satfinite`, which is what the formats of 8 and 4 bits do here and must say; in f16 and bf16 it
/// would be another operation.
fn saturation_fits(m: &mut Mnemonic<'_>, to: Type) -> bool {
    m.take("satfinite") != matches!(to, Type::F16x2 | Type::Bf16x2)
}

/// Two f32 to a pair; the first source is the upper half.
fn two_to_pair(m: &mut Mnemonic<'_>, to: Type) -> Result<Made, String> {
    let cut = m.take("rz");
    let named = m.take("rn") || cut;
    let relu = m.take("relu");
    let (Some(Half { bits, write, .. }), true) = (half(to), named && saturation_fits(m, to)) else {
        return Err(m.refused());
    };
    let write = match (to, cut) {
        (Type::F16x2, true) => |x| F16::from_f32_rtz(x).0.into(),
        (Type::Bf16x2, true) => |x| Bf16::from_f32_rtz(x).0.into(),
        (_, true) => return Err(m.refused()),
        _ => write,
    };
    Ok(Made::new(vec![Type::F32; 2], move |[high, low, ..]| {
        let lane = |bits: u64| {
            let x = f32::from_bits(bits as u32);
            write(if relu { not_negative(x) } else { x })
        };
        lane(low) | lane(high) << bits
    }))
}

/// A pair to a pair of another format.
fn pair_to_pair(m: &mut Mnemonic<'_>, to: Type, from: Type) -> Result<Made, String> {
    let fits = matches!(
        (to, from),
        (Type::F16x2, Type::E4m3x2 | Type::E5m2x2 | Type::E2m1x2)
            | (
                Type::E4m3x2 | Type::E5m2x2 | Type::E2m1x2,
                Type::F16x2 | Type::Bf16x2
            )
            | (Type::Bf16x2, Type::Ue8m0x2)
    );
    let (Some(target), Some(source), true) = (half(to), half(from), fits && m.take("rn")) else {
        return Err(m.refused());
    };
    let relu = m.take("relu");
    if !saturation_fits(m, to) {
        return Err(m.refused());
    }
    Ok(Made::new(vec![from], move |[a, ..]| {
        let lane = |bits: u64| {
            let x = (source.read)(bits & (u64::MAX >> (64 - source.bits)));
            (target.write)(if relu { not_negative(x) } else { x })
        };
        lane(a) | lane(a >> source.bits) << target.bits
    }))
}
