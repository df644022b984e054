//! The numbers of the interpreter: what each lane of an operation computes, on plain values.
//!
//! This is the profile `ieee`: every operation is correctly rounded in its own type, and the *discrete*
//! rules are those of an NVIDIA H200 (measured; see the tests against the golden tables): conversions,
//! saturation, NaN rules of min and max, integer division and shifts. Subnormals are kept everywhere.
//! What differs from the card is the last bits of its approximate functions, and contraction of `a*b + c`.
//!
//! Nothing here knows the IR. A module offers `#[inline(always)]` lane functions on plain types, free of
//! calls and mostly free of branches, so that a flat loop over slices vectorises, and bulk forms where a
//! loop alone is not enough.
//!
//! # NaN
//!
//! IEEE 754 leaves the payload of a NaN result open and CPUs differ (x86 returns the first operand's NaN
//! or a negative default one, Arm a positive one; compilers swap operands). Results must not depend on the
//! CPU, so there is one rule: **an operation that computes returns the canonical NaN of its type**, the
//! card's: [`CANONICAL_NAN`] (`0x7fffffff`) for f32, all ones but the sign for f16, bf16 and fp8;
//! for f64, where the card was not measured, `0x7fffffffffffffff`. It costs one compare and one select per
//! lane ([`Canonical::canonical`]). Operations that only move bits keep them: load, store, select, bitcast,
//! negation, absolute value, `copysign`, shape operations.

mod directed;
pub mod dot;
pub mod float;
pub mod int;
pub mod libdevice;
pub mod math;
pub(crate) mod single;
mod special;
mod vector;

pub use float::{
    Bf16, CANONICAL_NAN, Canonical, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16, StoredFloat,
};
