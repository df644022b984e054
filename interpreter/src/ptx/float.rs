//! Float arithmetic and functions.

use super::instruction::{Compute, Made, Mnemonic, Type};
use crate::kind::Lane;
use crate::num::math::{Arithmetic, Elementary};
use crate::num::{Bf16, F16, StoredFloat};

/// What a float operation does to what it reads and writes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changes {
    /// Subnormal operands and results become zeros of their sign.
    pub flush: bool,
    /// Results are limited to 0 to 1; NaN gives 0.
    pub saturate: bool,
    /// Negative results become 0.
    pub relu: bool,
}

impl Changes {
    pub fn take(m: &mut Mnemonic<'_>) -> Changes {
        Changes {
            flush: m.take("ftz"),
            saturate: m.take("sat"),
            relu: m.take("relu"),
        }
    }
}

/// A float type of registers.
trait Float: Lane + Arithmetic + Elementary {
    const ZERO: u64 = 0;
    const ONE: u64;
    fn flushed(self) -> Self;
}

macro_rules! floats {
    ($($t:ty: $one:literal, $exponent:literal, $sign:literal;)*) => {$(
        impl Float for $t {
            const ONE: u64 = $one;
            #[inline]
            fn flushed(self) -> Self {
                let bits = self.to_bits_of();
                if bits & $exponent == 0 { <$t as Lane>::from_bits(bits & $sign) } else { self }
            }
        }
    )*};
}

/// [`Lane::to_bits`] under a name that floats do not have themselves.
trait ToBits: Lane {
    fn to_bits_of(self) -> u64 {
        Lane::to_bits(self)
    }
}

impl<T: Lane> ToBits for T {}

floats! {
    f32: 0x3f80_0000, 0x7f80_0000, 0x8000_0000;
    f64: 0x3ff0_0000_0000_0000, 0x7ff0_0000_0000_0000, 0x8000_0000_0000_0000;
    F16: 0x3c00, 0x7c00, 0x8000;
    Bf16: 0x3f80, 0x7f80, 0x8000;
}

fn compute<T: Float>(changes: Changes, f: impl Fn([T; 3]) -> T + Send + Sync + 'static) -> Compute {
    let lane = <T as Lane>::from_bits;
    Box::new(move |[a, b, c, _]| {
        let read = |bits: u64| {
            if changes.flush {
                lane(bits).flushed()
            } else {
                lane(bits)
            }
        };
        let mut out = f([read(a), read(b), read(c)]);
        if changes.flush {
            out = out.flushed();
        }
        if changes.saturate {
            // The lower bound first: it takes a NaN out.
            out = T::minnum(T::maxnum(out, lane(T::ZERO)), lane(T::ONE));
        }
        if changes.relu {
            out = T::maximum(out, lane(T::ZERO));
        }
        out.to_bits_of()
    })
}

/// The same on both halves of a register.
fn on_halves(f: Compute) -> Compute {
    Box::new(move |sources| {
        let low = f(sources.map(|s| s & 0xffff));
        let high = f(sources.map(|s| s >> 16 & 0xffff));
        (low & 0xffff) | high << 16
    })
}

/// An operation written once for every float type.
macro_rules! by_type {
    ($m:expr, $ty:expr, $changes:expr, |$args:pat_param| $e:expr) => {
        match $ty {
            Type::F32 => compute::<f32>($changes, |$args: [f32; 3]| -> f32 { $e }),
            Type::F64 => compute::<f64>($changes, |$args: [f64; 3]| -> f64 { $e }),
            Type::F16 => compute::<F16>($changes, |$args: [F16; 3]| -> F16 { $e }),
            Type::Bf16 => compute::<Bf16>($changes, |$args: [Bf16; 3]| -> Bf16 { $e }),
            Type::F16x2 => on_halves(compute::<F16>($changes, |$args: [F16; 3]| -> F16 { $e })),
            Type::Bf16x2 => on_halves(compute::<Bf16>($changes, |$args: [Bf16; 3]| -> Bf16 { $e })),
            _ => return Err($m.refused()),
        }
    };
}

/// Arithmetic and functions on floats.
pub fn make(m: &mut Mnemonic<'_>) -> Result<Made, String> {
    let ty = m.only_type()?;
    let name = m.name;
    m.take_of(&["rn", "approx", "full"]);
    let changes = Changes::take(m);
    let (count, compute) = match name {
        "add" => (2, by_type!(m, ty, changes, |[a, b, _]| Arithmetic::add(a, b))),
        "sub" => (2, by_type!(m, ty, changes, |[a, b, _]| Arithmetic::sub(a, b))),
        "mul" => (2, by_type!(m, ty, changes, |[a, b, _]| Arithmetic::mul(a, b))),
        "div" => (2, by_type!(m, ty, changes, |[a, b, _]| Arithmetic::div(a, b))),
        "fma" | "mad" => (3, by_type!(m, ty, changes, |[a, b, c]| Arithmetic::fma(a, b, c))),
        "neg" => (1, by_type!(m, ty, changes, |[a, _, _]| Arithmetic::neg(a))),
        "abs" => (1, by_type!(m, ty, changes, |[a, _, _]| Arithmetic::abs(a))),
        "min" | "max" => (2, extreme(m, ty, changes)?),
        "rcp" => (1, by_type!(m, ty, changes, |[a, _, _]| reciprocal(a))),
        "sqrt" => (1, by_type!(m, ty, changes, |[a, _, _]| Arithmetic::sqrt(a))),
        "rsqrt" => (1, by_type!(m, ty, changes, |[a, _, _]| Elementary::rsqrt(a))),
        "ex2" => (1, by_type!(m, ty, changes, |[a, _, _]| Elementary::exp2(a))),
        "lg2" => (1, by_type!(m, ty, changes, |[a, _, _]| Elementary::log2(a))),
        "sin" => (1, by_type!(m, ty, changes, |[a, _, _]| Elementary::sin(a))),
        "cos" => (1, by_type!(m, ty, changes, |[a, _, _]| Elementary::cos(a))),
        "tanh" => (1, by_type!(m, ty, changes, |[a, _, _]| Elementary::tanh(a))),
        _ => return Err(m.refused()),
    };
    Ok(Made {
        sources: vec![ty; count],
        compute,
    })
}

fn reciprocal<T: Float>(x: T) -> T {
    T::div(<T as Lane>::from_bits(T::ONE), x)
}

/// `min` and `max`: NaN is dropped unless `.NaN`; `.xorsign.abs` compares magnitudes and multiplies signs.
fn extreme(m: &mut Mnemonic<'_>, ty: Type, changes: Changes) -> Result<Compute, String> {
    let propagates = m.take("NaN");
    let magnitudes = m.take("xorsign");
    if magnitudes && !m.take("abs") {
        return Err(m.refused());
    }
    let plain = match (m.name, propagates) {
        ("min", false) => by_type!(m, ty, changes, |[a, b, _]| Arithmetic::minnum(a, b)),
        ("min", true) => by_type!(m, ty, changes, |[a, b, _]| Arithmetic::minimum(a, b)),
        (_, false) => by_type!(m, ty, changes, |[a, b, _]| Arithmetic::maxnum(a, b)),
        (_, true) => by_type!(m, ty, changes, |[a, b, _]| Arithmetic::maximum(a, b)),
    };
    if !magnitudes {
        return Ok(plain);
    }
    let signs = match ty {
        Type::F32 => 0x8000_0000,
        Type::F16 | Type::Bf16 => 0x8000,
        Type::F16x2 | Type::Bf16x2 => 0x8000_8000,
        _ => return Err(m.refused()),
    };
    Ok(Box::new(move |[a, b, ..]| {
        plain([a & !signs, b & !signs, 0, 0]) | ((a ^ b) & signs)
    }))
}

/// `setp` on floats.
pub fn make_setp(m: &mut Mnemonic<'_>) -> Result<Made, String> {
    let ty = m.only_type()?;
    let flush = m.take("ftz");
    let words = [
        "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
    ];
    let Some(word) = m.take_of(&words) else {
        return Err(m.refused());
    };
    let widen: fn(u64, bool) -> f64 = match ty {
        Type::F32 => |bits, flush| {
            let x = f32::from_bits(bits as u32);
            f64::from(if flush { x.flushed() } else { x })
        },
        Type::F64 => |bits, _| f64::from_bits(bits),
        Type::F16 => |bits, flush| {
            let x = F16(bits as u16);
            f64::from(if flush { x.flushed() } else { x }.to_f32())
        },
        Type::Bf16 => |bits, _| f64::from(Bf16(bits as u16).to_f32()),
        _ => return Err(m.refused()),
    };
    let holds: fn(f64, f64) -> bool = match word {
        "eq" => |a, b| a == b,
        "ne" => |a, b| a != b && !a.is_nan() && !b.is_nan(),
        "lt" => |a, b| a < b,
        "le" => |a, b| a <= b,
        "gt" => |a, b| a > b,
        "ge" => |a, b| a >= b,
        "equ" => |a, b| a == b || a.is_nan() || b.is_nan(),
        "neu" => |a, b| a != b,
        "ltu" => |a, b| a < b || a.is_nan() || b.is_nan(),
        "leu" => |a, b| a <= b || a.is_nan() || b.is_nan(),
        "gtu" => |a, b| a > b || a.is_nan() || b.is_nan(),
        "geu" => |a, b| a >= b || a.is_nan() || b.is_nan(),
        "num" => |a, b| !a.is_nan() && !b.is_nan(),
        _ => |a, b| a.is_nan() || b.is_nan(),
    };
    Ok(Made::new(vec![ty; 2], move |[a, b, ..]| {
        u64::from(holds(widen(a, flush), widen(b, flush)))
    }))
}
