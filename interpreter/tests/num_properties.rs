//! The conversions, against oracles that share no code with them: the `half` crate, exhaustive search for
//! the nearest value, and exact 128-bit arithmetic.

#![allow(clippy::disallowed_methods)] // powers of two and oracles

use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use tilescope_interpreter::num::float::RoundTowardZero;
use tilescope_interpreter::num::int::{Int, ToFloat};
use tilescope_interpreter::num::{
    Bf16, CANONICAL_NAN, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16, StoredFloat,
};

#[test]
fn every_f16_and_bf16_widens_as_in_half() {
    for bits in 0..=u16::MAX {
        let (got, want) = (F16(bits).to_f32(), half::f16::from_bits(bits).to_f32());
        let want = if want.is_nan() { CANONICAL_NAN } else { want };
        assert_eq!(got.to_bits(), want.to_bits(), "f16 {bits:04x}");
        let (got, want) = (Bf16(bits).to_f32(), half::bf16::from_bits(bits).to_f32());
        let want = if want.is_nan() { CANONICAL_NAN } else { want };
        assert_eq!(got.to_bits(), want.to_bits(), "bf16 {bits:04x}");
    }
}

/// All finite non-negative values of a format in rising order, with their codes, from its definition:
/// (−1)^s · 2^(e−bias) · 1.m, and 2^(1−bias) · 0.m for e = 0.
fn values(mantissa: u32, bias: i32, top: u32) -> Vec<(f64, u32)> {
    let value = |code: u32| {
        let (e, m) = (
            (code >> mantissa) as i32,
            f64::from(code % (1 << mantissa)) / f64::from(1 << mantissa),
        );
        if e == 0 {
            m * 2f64.powi(1 - bias)
        } else {
            (1.0 + m) * 2f64.powi(e - bias)
        }
    };
    (0..=top).map(|code| (value(code), code)).collect()
}

/// The code of the value nearest to `x ≥ 0`, ties to the even code, cut at the last.
fn nearest(table: &[(f64, u32)], x: f64) -> u32 {
    let above = table.partition_point(|(v, _)| *v < x);
    if above == table.len() {
        return table[above - 1].1;
    }
    if above == 0 {
        return table[0].1;
    }
    let ((low, low_code), (high, high_code)) = (table[above - 1], table[above]);
    // The distances are exact: both neighbours and x fit in 53 bits here.
    match (x - low).partial_cmp(&(high - x)).unwrap() {
        std::cmp::Ordering::Less => low_code,
        std::cmp::Ordering::Greater => high_code,
        std::cmp::Ordering::Equal => low_code + (low_code & 1),
    }
}

fn check_fp8<T: StoredFloat>(
    name: &str,
    (mantissa, bias, top): (u32, i32, u32),
    code: impl Fn(T) -> u8,
    from_code: impl Fn(u8) -> T,
    nan: u8,
) {
    let table = values(mantissa, bias, top);
    assert_eq!(f64::from(T::MAX), table.last().unwrap().0, "{name}");
    for (value, code) in &table {
        assert_eq!(
            f64::from(from_code(*code as u8).to_f32()),
            *value,
            "{name} {code:02x}"
        );
    }
    let has_negative_zero = nan != 0x80;
    let check = |x: f32| {
        let magnitude = nearest(&table, f64::from(x).abs()) as u8;
        let negative = x.is_sign_negative() && (magnitude != 0 || has_negative_zero);
        let want = if x.is_nan() {
            nan
        } else {
            magnitude | (u8::from(negative) << 7)
        };
        assert_eq!(
            code(T::from_f32(x)),
            want,
            "{name} of {x:e} ({:08x})",
            x.to_bits()
        );
        assert_eq!(code(T::from_f64(x.into())), want, "{name} of the f64 {x:e}");
    };
    for bits in 0..=u16::MAX {
        check(F16(bits).to_f32());
        check(Bf16(bits).to_f32());
        // Near the bf16 values: halfway, and one bit beside.
        for low in [0x7fff, 0x8000, 0x8001] {
            check(f32::from_bits(u32::from(bits) << 16 | low));
        }
    }
}

#[test]
fn every_f16_and_bf16_rounds_to_the_nearest_fp8() {
    check_fp8("e4m3", (3, 7, 0x7e), |v: F8E4M3| v.0, F8E4M3, 0x7f);
    check_fp8("e5m2", (2, 15, 0x7b), |v: F8E5M2| v.0, F8E5M2, 0x7f);
    check_fp8("e4m3fnuz", (3, 8, 0x7f), |v: F8E4M3Fnuz| v.0, F8E4M3Fnuz, 0x80);
    check_fp8("e5m2fnuz", (2, 16, 0x7f), |v: F8E5M2Fnuz| v.0, F8E5M2Fnuz, 0x80);
    check_fp8(
        "e4m3b11fnuz",
        (3, 11, 0x7f),
        |v: F8E4M3B11Fnuz| v.0,
        F8E4M3B11Fnuz,
        0x80,
    );
}

#[test]
fn f64_to_f16_does_not_round_twice() {
    // Just above a tie of f16 by less than f32 holds: through f32 it would be a tie, and go to even.
    let tie = 1.0 + 2f64.powi(-11);
    assert_eq!(F16::from_f64(tie).0, 0x3c00);
    assert_eq!(F16::from_f64(tie.next_up()).0, 0x3c01);
    assert_eq!(F16::from_f64(-tie.next_up()).0, 0xbc01);
    // The same for a subnormal result, and at the overflow threshold.
    assert_eq!(F16::from_f64((0.5 * 2f64.powi(-24)).next_up()).0, 1);
    assert_eq!(F16::from_f64(65520f64.next_down()).0, 0x7bff);
    assert_eq!(F16::from_f64(65520.0).0, 0x7c00);
    let tie = 1.0 + 2f64.powi(-8);
    assert_eq!(
        (Bf16::from_f64(tie).0, Bf16::from_f64(tie.next_up()).0),
        (0x3f80, 0x3f81)
    );
}

#[test]
fn large_integers_round_once() {
    // 2^62 + 2^54 is a tie of bf16; one more unit is lost in f64 but decides.
    let tie = (1i64 << 62) + (1 << 54);
    assert_eq!(
        (tie.to_bf16().0, (tie + 1).to_bf16().0, (-tie - 1).to_bf16().0),
        (0x5e80, 0x5e81, 0xde81)
    );
    assert_eq!(((tie as u64) << 1 | 1).to_bf16().0, 0x5f01);
    assert_eq!(i64::MIN.to_bf16().0, 0xdf00);
}

proptest! {
    #[test]
    fn narrowing_agrees_with_half(bits in any::<u32>()) {
        let x = f32::from_bits(bits);
        let (f16, bf16) = (half::f16::from_f32(x), half::bf16::from_f32(x));
        let want = if x.is_nan() { (0x7fff, 0x7fff) } else { (f16.to_bits(), bf16.to_bits()) };
        prop_assert_eq!((F16::from_f32(x).0, Bf16::from_f32(x).0), want);
        // Toward zero: never beyond x, and the next value away from zero is.
        if x.is_finite() {
            let cut = F16::from_f32_rtz(x);
            prop_assert!(cut.to_f32().abs() <= x.abs() && cut.to_f32().is_finite());
            prop_assert!(F16(cut.0 + 1).to_f32().abs() > x.abs());
            prop_assert_eq!(cut, F16::from_f64_rtz(x.into()));
            prop_assert_eq!(Bf16::from_f32_rtz(x), Bf16::from_f64_rtz(x.into()));
        }
    }

    #[test]
    fn f64_narrows_to_the_nearest(bits in any::<u64>(), exponent in -30i32..20) {
        // An exponent within f16's range, any mantissa.
        let x = f64::from_bits(bits & !(0x7ffu64 << 52) | (((exponent + 1023) as u64) << 52));
        // `half` rounds to f32 first, or looks at the upper half of the bits: it is no oracle here.
        let got = F16::from_f64(x).0;
        prop_assert_eq!(got >> 15 == 1, x.is_sign_negative());
        let magnitude = got & 0x7fff;
        // What lies behind the largest number stands for infinity.
        let wide = |bits: u16| match bits {
            0x7c00 => 65536.0,
            bits => f64::from(F16(bits).to_f32()),
        };
        let off = |bits: u16| (wide(bits) - x.abs()).abs();
        prop_assert!(magnitude <= 0x7c00);
        let is_even = magnitude & 1 == 0;
        if x.abs() < 65536.0 {
            let nearest = |other: u16| off(magnitude) < off(other) || is_even && off(magnitude) == off(other);
            prop_assert!(magnitude == 0 || nearest(magnitude - 1), "{x:e} became {got:#x}");
            prop_assert!(magnitude == 0x7c00 || nearest(magnitude + 1), "{x:e} became {got:#x}");
        } else {
            prop_assert_eq!(magnitude, 0x7c00);
        }
        let (near, cut) = (x as f32, f32::from_f64_rtz(x));
        prop_assert!(f64::from(cut).abs() <= x.abs());
        prop_assert!(cut == near || cut.abs().next_up() == near.abs());
    }

    #[test]
    fn integer_divisions_are_euclid(a in any::<i64>(), b in any::<i64>(), shift in 0u32..64) {
        let b = b >> shift;
        if !a.is_faulty_div(b) {
            let (q, r) = (Int::div(a, b), Int::rem(a, b));
            prop_assert_eq!(i128::from(q) * i128::from(b) + i128::from(r), i128::from(a));
            prop_assert!(r.unsigned_abs() < b.unsigned_abs() && (r == 0 || (r < 0) == (a < 0)));
            let (floor, ceil) = (a.floor_div(b), a.ceil_div(b));
            let exact = r == 0;
            prop_assert_eq!(i128::from(ceil) - i128::from(floor), i128::from(!exact));
            let (n, d) = if b < 0 { (-i128::from(a), -i128::from(b)) } else { (a.into(), b.into()) };
            prop_assert_eq!(i128::from(floor), n.div_euclid(d));
        }
        let (ua, ub) = (a as u64, (b as u64) | 1);
        prop_assert_eq!(u128::from(ua.ceil_div(ub)), u128::from(ua).div_ceil(u128::from(ub)));
        prop_assert_eq!(a.mulhi(b), ((i128::from(a) * i128::from(b)) >> 64) as i64);
        prop_assert_eq!(i128::from(a.mulhi(b)) << 64 | i128::from(a.mul(b) as u64), i128::from(a) * i128::from(b));
    }
}
