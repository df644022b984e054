//! Atomic operations: read, combine, write in one step.
//!
//! All of them order memory both ways (acquire and release) among the programs of one launch, which is Triton's
//! default. Maximum and minimum of floats, which Triton builds from integer ones, are left out.

use tilescope_ir::attrs::{RmwKind, Scope, Semantic};
use tilescope_ir::{Attrs, OpCode};
use tilescope_launch::Dtype;

use super::operand::{Operand, OptionalOperand};
use super::types::{TileType, bits, is_signed};
use crate::Tile;
use crate::builder::{Builder, wrong};

/// What an atomic does to numbers of a type; none where there is no such operation.
type Kind = fn(Dtype) -> Option<RmwKind>;

macro_rules! atomics {
    ($($(#[$doc:meta])* $method:ident $kind:expr;)*) => {
        impl Builder {$(
            $(#[$doc])*
            ///
            /// Gives the values that were there before. Lanes where the mask is false do nothing.
            #[track_caller]
            pub fn $method<'k>(
                &'k self,
                pointer: Tile<'k>,
                value: impl Operand<'k>,
                mask: impl OptionalOperand<'k>,
            ) -> Tile<'k> {
                self.atomic(stringify!($method), $kind, pointer, value, mask)
            }
        )*}
    };
}

fn integer(kind: RmwKind, dtype: Dtype) -> Option<RmwKind> {
    (!dtype.is_float() && bits(dtype) >= 32).then_some(kind)
}

atomics! {
    /// Adds to what the pointers point to: integers of 32 or 64 bits, floats of 16 or more.
    atomic_add |dtype| match dtype.is_float() && bits(dtype) >= 16 {
        true => Some(RmwKind::Fadd),
        false => integer(RmwKind::Add, dtype),
    };
    /// Keeps the larger of two integers, of 32 or 64 bits.
    atomic_max |dtype| integer(if is_signed(dtype) { RmwKind::Max } else { RmwKind::Umax }, dtype);
    /// Keeps the smaller of two integers, of 32 or 64 bits.
    atomic_min |dtype| integer(if is_signed(dtype) { RmwKind::Min } else { RmwKind::Umin }, dtype);
    /// Bitwise and of integers, of 32 or 64 bits.
    atomic_and |dtype| integer(RmwKind::And, dtype);
    /// Bitwise or of integers, of 32 or 64 bits.
    atomic_or |dtype| integer(RmwKind::Or, dtype);
    /// Bitwise exclusive or of integers, of 32 or 64 bits.
    atomic_xor |dtype| integer(RmwKind::Xor, dtype);
    /// Puts a value in place of what is there, of 32 or 64 bits.
    atomic_xchg |dtype| (bits(dtype) >= 32).then_some(RmwKind::Xchg);
}

impl Builder {
    #[track_caller]
    fn atomic<'k>(
        &'k self,
        name: &str,
        kind: Kind,
        pointer: Tile<'k>,
        value: impl Operand<'k>,
        mask: impl OptionalOperand<'k>,
    ) -> Tile<'k> {
        self.make(|core| {
            let pointer = core.take_tile(pointer)?;
            let value = core.take(value.given())?;
            let mask = core.take_optional(mask.given_or_not())?;
            let dtype = core.pointee(pointer, &format!("`{name}`"))?;
            let Some(kind) = kind(dtype) else {
                return Err(wrong(format!(
                    "`{name}` of `{}`, which has no such operation",
                    dtype.name()
                ))
                .into());
            };
            let value = core.converted(value, dtype)?;
            let value = core.fitted(value, pointer, "a value")?;
            let mut operands = vec![pointer, value];
            if let Some(mask) = mask {
                operands.push(core.mask(mask, pointer)?);
            }
            let attrs = Attrs::Rmw(kind, Semantic::AcquireRelease, Scope::Gpu);
            Ok(core.emit(OpCode::AtomicRmw, &operands, attrs, value.ty))
        })
    }

    /// Where memory holds `expected`, puts `value` in its place; numbers of 16 to 64 bits. Gives the values that were there before.
    #[track_caller]
    pub fn atomic_cas<'k>(
        &'k self,
        pointer: Tile<'k>,
        expected: impl Operand<'k>,
        value: impl Operand<'k>,
    ) -> Tile<'k> {
        self.make(|core| {
            let pointer = core.take_tile(pointer)?;
            let (expected, value) = (core.take(expected.given())?, core.take(value.given())?);
            let dtype = core.pointee(pointer, "`atomic_cas`")?;
            if bits(dtype) < 16 {
                return Err(format!("`atomic_cas` of `{}`: it takes 16 to 64 bits", dtype.name()).into());
            }
            let expected = core.converted(expected, dtype)?;
            let expected = core.fitted(expected, pointer, "a value")?;
            let value = core.converted(value, dtype)?;
            let value = core.fitted(value, pointer, "a value")?;
            let attrs = Attrs::Atomic(Semantic::AcquireRelease, Scope::Gpu);
            let ty = TileType::number(dtype).shaped(pointer.ty.shape);
            Ok(core.emit(OpCode::AtomicCas, &[pointer, expected, value], attrs, ty))
        })
    }
}
