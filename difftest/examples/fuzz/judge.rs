//! What a path that rounds otherwise left: the interpreter's bits, or numbers within the bounds of the twin.

use tilescope_difftest::twin::Bounded;
use tilescope_launch::Dtype;

use crate::paths::Opened;

/// How paths agree that leave the same bits.
pub const SAME: &str = "the same bits";

/// What is said of paths that may round otherwise, where nothing says how far.
pub const UNJUDGED: &str = "not judged (no twin)";

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

/// What a path left, against the interpreter's memory and, where that differs, against the twin's bounds or why there are none.
/// Says how they agree.
///
/// # Errors
/// The element that is wrong, in words.
pub fn judge(
    opened: &Opened,
    expected: &[Vec<u8>],
    bounded: &Result<Vec<Bounded>, String>,
    found: &[Vec<u8>],
) -> Result<&'static str, String> {
    let Some(what) = difference(opened, expected, found, &[]) else {
        return Ok(SAME);
    };
    match bounded {
        Ok(bounded) => {
            // What no float decides has no bound.
            let exact = difference(opened, expected, found, bounded);
            let wrong = exact.or_else(|| out_of_bounds(bounded, found));
            wrong.map_or(Ok("within the bounds"), Err)
        }
        // Nothing says how far they may be apart.
        Err(_) if !crate::paths::is_exact(&opened.module) => Ok(UNJUDGED),
        Err(why) => Err(format!("{what} (no twin: {why})")),
    }
}

/// Where memory differs, NaN taken for NaN; tensors that have bounds are left out.
fn difference(
    opened: &Opened,
    expected: &[Vec<u8>],
    found: &[Vec<u8>],
    bounded: &[Bounded],
) -> Option<String> {
    let tensors = opened.bound.tensors().iter();
    for tensor in tensors.filter(|t| bounded.iter().all(|b| b.tensor.name != t.name)) {
        let index = tensor.allocation.0 as usize;
        let (a, b) = (expected.get(index)?, found.get(index)?);
        let (size, dtype) = (tensor.dtype.bytes(), tensor.dtype);
        let elements = a.len() / size;
        let is_nan = |bits: u64| dtype.is_float() && dtype.decode_float(bits).is_nan();
        let pairs = a.chunks(size).zip(b.chunks(size));
        let mut pairs = pairs.map(|(a, b)| (number(a), number(b))).enumerate();
        if let Some((at, (a, b))) = pairs.find(|&(_, (a, b))| a != b && !(is_nan(a) && is_nan(b))) {
            let (name, dtype) = (&tensor.name, dtype.name());
            let more = match pairs
                .filter(|&(_, (a, b))| a != b && !(is_nan(a) && is_nan(b)))
                .count()
            {
                0 => String::new(),
                more => format!(", and {more} more of {elements} differ"),
            };
            return Some(format!("{name}[{at}] ({dtype}) is {b:x} instead of {a:x}{more}"));
        }
    }
    None
}

/// An element that is out of its bound.
fn out_of_bounds(bounded: &[Bounded], found: &[Vec<u8>]) -> Option<String> {
    for output in bounded {
        let index = output.tensor.allocation.0 as usize;
        let (bytes, dtype) = (found.get(index)?, output.tensor.dtype);
        let decoded = bytes
            .chunks(dtype.bytes())
            .map(|element| decode(dtype, number(element)));
        // Generated tensors are one view of their storage.
        for (at, got) in decoded.enumerate() {
            let (Some(&wide), Some(&error)) = (output.wide.get(at), output.error.get(at)) else {
                continue;
            };
            let near = got == wide || got.is_nan() && wide.is_nan() || (got - wide).abs() <= error;
            if error.is_finite() && !near {
                let name = &output.tensor.name;
                return Some(format!(
                    "{name}[{at}] is {got:e}, its twin {wide:e} within {error:e}"
                ));
            }
        }
    }
    None
}

fn decode(dtype: Dtype, bits: u64) -> f64 {
    let integer = dtype.decode_int(bits);
    integer.map_or_else(|| dtype.decode_float(bits), |integer| integer as f64)
}
