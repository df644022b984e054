//! Rust's operators on tiles.
//!
//! On the right stands anything that is an [`Operand`]; on the left a tile, an `i32` or an `f64` (the types of
//! Rust's plain literals: more would leave the type of `2.0 * x` open).

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul,
    MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use super::arith::Binary;
use super::operand::Operand;
use crate::Tile;

macro_rules! operators {
    ($($op:ident $method:ident $assign:ident $assign_method:ident;)*) => {$(
        impl<'k, T: Operand<'k>> $op<T> for Tile<'k> {
            type Output = Tile<'k>;

            #[track_caller]
            fn $method(self, other: T) -> Tile<'k> {
                self.binary(Binary::$op, other)
            }
        }

        impl<'k, T: Operand<'k>> $op<T> for &Tile<'k> {
            type Output = Tile<'k>;

            #[track_caller]
            fn $method(self, other: T) -> Tile<'k> {
                self.binary(Binary::$op, other)
            }
        }

        impl<'k, T: Operand<'k>> $assign<T> for Tile<'k> {
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                *self = self.binary(Binary::$op, other);
            }
        }

        numbers_on_the_left!($op $method i32);
        numbers_on_the_left!($op $method f64);
    )*};
}

macro_rules! numbers_on_the_left {
    ($op:ident $method:ident $number:ty) => {
        impl<'k> $op<Tile<'k>> for $number {
            type Output = Tile<'k>;

            #[track_caller]
            fn $method(self, other: Tile<'k>) -> Tile<'k> {
                other.k.binary(Binary::$op, self, other)
            }
        }
    };
}

operators! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
    Rem rem RemAssign rem_assign;
    BitAnd bitand BitAndAssign bitand_assign;
    BitOr bitor BitOrAssign bitor_assign;
    BitXor bitxor BitXorAssign bitxor_assign;
    Shl shl ShlAssign shl_assign;
    Shr shr ShrAssign shr_assign;
}

impl<'k> Neg for Tile<'k> {
    type Output = Tile<'k>;

    #[track_caller]
    fn neg(self) -> Tile<'k> {
        self.negated()
    }
}

impl<'k> Not for Tile<'k> {
    type Output = Tile<'k>;

    #[track_caller]
    fn not(self) -> Tile<'k> {
        self.inverted()
    }
}
