//! How numbers, index lists and counts are written for people.

use crate::Value;

/// A value in the shortest form that reads back as the same number in its own width.
///
/// Floats that are exactly an f32 are written with f32's digits, so that an f32 `0.1` does not show as
/// `0.10000000149011612`. NaN and infinities are `nan`, `inf`, `-inf`.
pub fn exact(value: Value) -> String {
    match value {
        Value::Int(i) => i.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Float(f) => match special(f) {
            Some(word) => word.to_string(),
            None if f64::from(f as f32) == f => plain_or_scientific(&format!("{:e}", f as f32), f),
            None => plain_or_scientific(&format!("{f:e}"), f),
        },
    }
}

/// A value in at most six significant digits, for tables.
pub fn short(value: Value) -> String {
    match value {
        Value::Float(f) => match special(f) {
            Some(word) => word.to_string(),
            None => plain_or_scientific(&format!("{f:.5e}"), f),
        },
        other => exact(other),
    }
}

/// `nan`, `inf` or `-inf`; none for a finite number. The words of every format.
pub fn special(f: f64) -> Option<&'static str> {
    if f.is_nan() {
        Some("nan")
    } else if f == f64::INFINITY {
        Some("inf")
    } else if f == f64::NEG_INFINITY {
        Some("-inf")
    } else {
        None
    }
}

/// Lays out `scientific` (`d.ddde-7`, digits chosen by the caller) without an exponent where that is shorter.
fn plain_or_scientific(scientific: &str, f: f64) -> String {
    if f == 0.0 {
        return if f.is_sign_negative() { "-0.0" } else { "0.0" }.to_string();
    }
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific.to_string();
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|&c| c != '.').collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    if !(-5..=15).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}e{exponent}");
    }
    if exponent < 0 {
        let zeros = "0".repeat((-exponent - 1) as usize);
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{sign}{digits}{}.0", "0".repeat(whole - digits.len()));
    }
    let (int, fraction) = digits.split_at(whole);
    format!("{sign}{int}.{fraction}")
}

/// `[1, 2, 3]`.
pub fn list<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    format!("[{}]", items.join(", "))
}

/// `(1, 2, 3)`.
pub fn triple<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    format!("({})", items.join(", "))
}

/// `1 error`, `2 errors`.
pub fn counted(count: u64, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

/// A time in the unit that leaves one to three digits before the point.
pub fn seconds(s: f64) -> String {
    if s >= 100.0 {
        format!("{s:.0} s")
    } else if s >= 1.0 {
        format!("{s:.2} s")
    } else if s >= 1e-3 {
        format!("{:.1} ms", s * 1e3)
    } else {
        format!("{:.0} µs", s * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_back_as_the_same_number() {
        for (f, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (f64::from(0.1_f32), "0.1"),
            (0.1, "0.1"),
            (f64::from(1.0e-7_f32), "1e-7"),
            (123456.0, "123456.0"),
            (1e20, "1e20"),
            (f64::from(3.4028235e38_f32), "3.4028235e38"),
            (0.00012, "0.00012"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(exact(Value::Float(f)), text, "{f:?}");
        }
    }

    #[test]
    fn table_numbers_have_six_digits() {
        assert_eq!(short(Value::Float(1.0 / 3.0)), "0.333333");
        assert_eq!(short(Value::Float(2.0)), "2.0");
        assert_eq!(short(Value::Float(-1234567.0)), "-1234570.0");
        assert_eq!(short(Value::Float(9.9999999)), "10.0");
        assert_eq!(short(Value::Int(-3)), "-3");
    }
}
