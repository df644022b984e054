//! How lanes are stored: one machine type per element type.

use crate::num::float::{Bf16, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16};
use bytemuck::{Pod, Zeroable};
use tilescope_ir::{Elem, Scalar};

/// Storage of one lane. Integers carry no sign; pointers are 64-bit addresses (their tensor is kept
/// beside the slot, see [`crate::frame::Provenance`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Truth value: a byte, 0 or 1.
    Bool,
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer, also `index`.
    I64,
    /// fp8 e4m3.
    F8E4M3,
    /// fp8 e5m2.
    F8E5M2,
    /// fp8 e4m3, bias 11.
    F8E4M3B11Fnuz,
    /// fp8 e4m3, no negative zero.
    F8E4M3Fnuz,
    /// fp8 e5m2, no negative zero.
    F8E5M2Fnuz,
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// binary32.
    F32,
    /// binary64.
    F64,
    /// Address.
    Ptr,
}

impl Kind {
    /// The storage of an element type; none for `i4` and `i128`, which are not run.
    pub fn of(elem: Elem) -> Option<Kind> {
        Some(match elem {
            Elem::Ptr(_) => Kind::Ptr,
            Elem::Scalar(s) => match s {
                Scalar::I1 => Kind::Bool,
                Scalar::I8 => Kind::I8,
                Scalar::I16 => Kind::I16,
                Scalar::I32 => Kind::I32,
                Scalar::I64 | Scalar::Index => Kind::I64,
                Scalar::F8E4M3FN => Kind::F8E4M3,
                Scalar::F8E5M2 => Kind::F8E5M2,
                Scalar::F8E4M3B11FNUZ => Kind::F8E4M3B11Fnuz,
                Scalar::F8E4M3FNUZ => Kind::F8E4M3Fnuz,
                Scalar::F8E5M2FNUZ => Kind::F8E5M2Fnuz,
                Scalar::F16 => Kind::F16,
                Scalar::BF16 => Kind::Bf16,
                Scalar::F32 => Kind::F32,
                Scalar::F64 => Kind::F64,
                Scalar::I4 | Scalar::I128 => return None,
            },
        })
    }

    /// Bytes of one lane, in a slot as in memory.
    pub fn bytes(self) -> usize {
        match self {
            Kind::Bool | Kind::I8 => 1,
            Kind::F8E4M3 | Kind::F8E5M2 | Kind::F8E4M3B11Fnuz | Kind::F8E4M3Fnuz | Kind::F8E5M2Fnuz => 1,
            Kind::I16 | Kind::F16 | Kind::Bf16 => 2,
            Kind::I32 | Kind::F32 => 4,
            Kind::I64 | Kind::F64 | Kind::Ptr => 8,
        }
    }

    /// True for floats.
    pub fn is_float(self) -> bool {
        !matches!(
            self,
            Kind::Bool | Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 | Kind::Ptr
        )
    }
}

/// Truth value as stored: a byte that is 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Bool(pub u8);

impl From<bool> for Bool {
    #[inline(always)]
    fn from(value: bool) -> Bool {
        Bool(u8::from(value))
    }
}

/// A machine type that lanes are stored as, with its bits zero-extended to 64.
pub trait Lane: Pod + Send + Sync + std::fmt::Debug + PartialEq {
    /// The lane with these bits; upper bits are dropped.
    fn from_bits(bits: u64) -> Self;
    /// The bits, zero-extended.
    fn to_bits(self) -> u64;
}

macro_rules! lanes {
    ($($t:ty: |$bits:ident| $from:expr, |$lane:ident| $to:expr;)*) => {$(
        impl Lane for $t {
            #[inline(always)]
            fn from_bits($bits: u64) -> Self { $from }
            #[inline(always)]
            fn to_bits(self) -> u64 { let $lane = self; $to }
        }
    )*};
}

lanes! {
    Bool: |b| Bool(b as u8 & 1), |x| u64::from(x.0);
    u8: |b| b as u8, |x| u64::from(x);
    u16: |b| b as u16, |x| u64::from(x);
    u32: |b| b as u32, |x| u64::from(x);
    u64: |b| b, |x| x;
    f32: |b| f32::from_bits(b as u32), |x| u64::from(x.to_bits());
    f64: |b| f64::from_bits(b), |x| x.to_bits();
    F16: |b| F16(b as u16), |x| u64::from(x.0);
    Bf16: |b| Bf16(b as u16), |x| u64::from(x.0);
    F8E4M3: |b| F8E4M3(b as u8), |x| u64::from(x.0);
    F8E5M2: |b| F8E5M2(b as u8), |x| u64::from(x.0);
    F8E4M3B11Fnuz: |b| F8E4M3B11Fnuz(b as u8), |x| u64::from(x.0);
    F8E4M3Fnuz: |b| F8E4M3Fnuz(b as u8), |x| u64::from(x.0);
    F8E5M2Fnuz: |b| F8E5M2Fnuz(b as u8), |x| u64::from(x.0);
}

/// Runs `$body` with `$T` bound to the unsigned type as wide as the kind: for moving lanes about.
#[macro_export]
macro_rules! with_width {
    ($kind:expr, $T:ident => $body:expr) => {
        match $kind.bytes() {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            _ => {
                type $T = u64;
                $body
            }
        }
    };
}
