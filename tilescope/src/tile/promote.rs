//! In which type two operands meet: the rules of Triton's `language/semantic.py` (3.9), so that a kernel means
//! the same in both languages.

use tilescope_launch::Dtype;

use super::types::{bits, is_fp8, is_signed};
use crate::Number;

/// A number type as an operand brings it; `weak` for a Rust number, which follows the tile where it can.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand {
    pub dtype: Dtype,
    pub weak: bool,
}

/// The type of a Rust number where no tile gives it one.
pub(crate) fn of_number(number: Number) -> Result<Dtype, String> {
    let smallest = f64::from(f32::MIN_POSITIVE);
    Ok(match number {
        Number::Bool(_) => Dtype::I1,
        Number::Int(value) if i32::try_from(value).is_ok() => Dtype::I32,
        Number::Int(value) if u32::try_from(value).is_ok() => Dtype::U32,
        Number::Int(value) if i64::try_from(value).is_ok() => Dtype::I64,
        Number::Int(value) if u64::try_from(value).is_ok() => Dtype::U64,
        Number::Int(value) => return Err(format!("{value} fits no integer type")),
        Number::Float(value) if value == 0.0 || !value.is_finite() => Dtype::F32,
        Number::Float(value) if (smallest..=f64::from(f32::MAX)).contains(&value.abs()) => Dtype::F32,
        Number::Float(_) => Dtype::F64,
    })
}

/// Truth values, then integers, then floats.
fn kind(dtype: Dtype) -> u8 {
    match dtype {
        Dtype::I1 => 0,
        _ if dtype.is_float() => 2,
        _ => 1,
    }
}

/// The type in which `a op b` is computed; `division` for division and remainder.
pub(crate) fn common(a: Operand, b: Operand, division: bool) -> Result<Dtype, String> {
    let (mut x, mut y) = (a.dtype, b.dtype);
    if a.weak != b.weak {
        let (number, tile) = if a.weak { (x, y) } else { (y, x) };
        if kind(number) <= kind(tile) {
            (x, y) = (tile, tile);
        }
    }
    let either = |dtype| x == dtype || y == dtype;
    let float = x.is_float() || y.is_float();
    Ok(if either(Dtype::F64) {
        Dtype::F64
    } else if either(Dtype::F32) || (division && float) {
        Dtype::F32
    } else if either(Dtype::F16) {
        Dtype::F16
    } else if either(Dtype::BF16) {
        if x == y { Dtype::BF16 } else { Dtype::F32 }
    } else if is_fp8(x) && is_fp8(y) {
        if x == y { x } else { Dtype::F16 }
    } else if float {
        return Err(format!("`{}` and `{}` have no common type", x.name(), y.name()));
    } else if division && is_signed(x) != is_signed(y) {
        return Err(format!(
            "`{}` and `{}` differ in sign, which division and remainder do not take",
            x.name(),
            y.name()
        ));
    } else {
        common_integer(x, y)
    })
}

/// C's usual arithmetic conversions, without the promotion to `int`.
fn common_integer(x: Dtype, y: Dtype) -> Dtype {
    match (is_signed(x), is_signed(y)) {
        (true, true) | (false, false) if bits(x) > bits(y) => x,
        (true, true) | (false, false) => y,
        (false, true) if bits(x) >= bits(y) => x,
        (false, true) => y,
        (true, false) if bits(y) >= bits(x) => y,
        (true, false) => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(dtype: Dtype) -> Operand {
        Operand { dtype, weak: false }
    }

    fn number(dtype: Dtype) -> Operand {
        Operand { dtype, weak: true }
    }

    #[test]
    fn numbers_follow_tiles_of_their_kind() {
        assert_eq!(
            common(tile(Dtype::F16), number(Dtype::F32), false),
            Ok(Dtype::F16)
        );
        assert_eq!(common(tile(Dtype::F16), number(Dtype::F32), true), Ok(Dtype::F32));
        assert_eq!(common(number(Dtype::I32), tile(Dtype::I8), false), Ok(Dtype::I8));
        assert_eq!(common(number(Dtype::F32), tile(Dtype::I8), false), Ok(Dtype::F32));
        assert_eq!(common(number(Dtype::I32), tile(Dtype::I1), false), Ok(Dtype::I32));
    }

    #[test]
    fn tiles_meet_in_the_wider_type() {
        let table = [
            (Dtype::F16, Dtype::F32, Dtype::F32),
            (Dtype::F16, Dtype::BF16, Dtype::F16),
            (Dtype::BF16, Dtype::I64, Dtype::F32),
            (Dtype::I32, Dtype::I64, Dtype::I64),
            (Dtype::I32, Dtype::U32, Dtype::U32),
            (Dtype::I64, Dtype::U32, Dtype::I64),
            (Dtype::I1, Dtype::I1, Dtype::I1),
            (Dtype::F8E4M3, Dtype::F8E5M2, Dtype::F16),
        ];
        for (a, b, both) in table {
            assert_eq!(common(tile(a), tile(b), false), Ok(both), "{a:?} {b:?}");
            assert_eq!(common(tile(b), tile(a), false), Ok(both), "{b:?} {a:?}");
        }
        assert!(common(tile(Dtype::I32), tile(Dtype::U32), true).is_err());
        // Truth values are unsigned for Triton.
        assert!(common(tile(Dtype::I32), tile(Dtype::I1), true).is_err());
        assert!(common(tile(Dtype::F8E4M3), tile(Dtype::I32), false).is_err());
    }

    #[test]
    fn all_pairs_are_as_in_triton() {
        let rows = include_str!("promote.txt")
            .lines()
            .filter(|line| !line.starts_with('#'));
        let mut pairs = 0;
        for row in rows {
            let types: Vec<Option<Dtype>> = row.split(' ').map(Dtype::from_name).collect();
            let (a, b) = (types[0].unwrap(), types[1].unwrap());
            let pairs_of = [(tile(a), tile(b)), (number(a), tile(b)), (tile(a), number(b))];
            for (i, (a, b)) in pairs_of.into_iter().enumerate() {
                assert_eq!(common(a, b, false).ok(), types[2 + i], "{row}: {a:?} {b:?}");
                assert_eq!(common(a, b, true).ok(), types[5 + i], "{row}: {a:?} / {b:?}");
            }
            pairs += 1;
        }
        assert_eq!(pairs, 15 * 15);
    }
}
