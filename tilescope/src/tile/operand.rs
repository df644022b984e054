//! What operators and methods of tiles take: tiles and Rust numbers.

use crate::Tile;

/// A Rust number in a kernel. It has no type of its own until it meets a tile: then it takes that tile's type,
/// unless it is of a higher kind (truth value, integer, float), as in Triton.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
}

/// A tile or a Rust number: what a method of a tile takes on its other side.
///
/// Implemented for [`Tile`], references to it, and Rust's numbers. Not to be implemented elsewhere.
pub trait Operand<'k>: Copy {
    /// The operand as one of the two things that it can be.
    #[doc(hidden)]
    fn given(self) -> Given<'k>;
}

/// An operand that may be left out: a tile, a number, or `None`.
///
/// Masks, and the values of masked-off lanes. Not to be implemented elsewhere.
pub trait OptionalOperand<'k> {
    /// The operand, if there is one.
    #[doc(hidden)]
    fn given_or_not(self) -> Option<Given<'k>>;
}

/// A tile or a number.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub enum Given<'k> {
    /// A tile of some kernel.
    Tile(Tile<'k>),
    /// A number.
    Number(Number),
}

impl<'k> Operand<'k> for Tile<'k> {
    fn given(self) -> Given<'k> {
        Given::Tile(self)
    }
}

impl<'k> Operand<'k> for &Tile<'k> {
    fn given(self) -> Given<'k> {
        Given::Tile(*self)
    }
}

impl<'k> Operand<'k> for Number {
    fn given(self) -> Given<'k> {
        Given::Number(self)
    }
}

impl<'k, T: Operand<'k>> OptionalOperand<'k> for T {
    fn given_or_not(self) -> Option<Given<'k>> {
        Some(self.given())
    }
}

impl<'k> OptionalOperand<'k> for Option<Tile<'k>> {
    fn given_or_not(self) -> Option<Given<'k>> {
        self.map(Given::Tile)
    }
}

macro_rules! numbers {
    ($($ty:ty, $variant:ident, $convert:expr;)*) => {$(
        impl From<$ty> for Number {
            fn from(value: $ty) -> Number {
                Number::$variant($convert(value))
            }
        }

        impl<'k> Operand<'k> for $ty {
            fn given(self) -> Given<'k> {
                Given::Number(self.into())
            }
        }
    )*};
}

numbers! {
    bool, Bool, |value| value;
    i8, Int, i128::from;
    i16, Int, i128::from;
    i32, Int, i128::from;
    i64, Int, i128::from;
    u8, Int, i128::from;
    u16, Int, i128::from;
    u32, Int, i128::from;
    u64, Int, i128::from;
    usize, Int, |value| value as i128;
    f32, Float, f64::from;
    f64, Float, |value| value;
    half::f16, Float, f64::from;
    half::bf16, Float, f64::from;
}
