//! Arithmetic and elementary functions: the card's tables where it is exact, elsewhere f64 as the oracle.

#![allow(clippy::disallowed_methods)] // powers of two and oracles

use std::sync::LazyLock;

use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use serde_json::Value;
use tilescope_interpreter::num::math::{Arithmetic, Elementary};
use tilescope_interpreter::num::{Bf16, F16, StoredFloat};

static GOLDEN: LazyLock<Value> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/golden_numeric.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
});

fn f32s(value: &Value) -> Vec<f32> {
    let parse = |s: &str| f32::from_bits(u32::from_str_radix(s, 16).unwrap());
    match value {
        Value::String(row) => row.split_whitespace().map(parse).collect(),
        Value::Array(row) => row.iter().map(|v| parse(v.as_str().unwrap())).collect(),
        other => panic!("no row of f32: {other}"),
    }
}

/// Binary operations whose result on the card is the correctly rounded one, NaN and zeros included.
#[test]
fn binary_operations_have_the_bits_of_the_card() {
    let table = &GOLDEN["binary_f32"];
    let values = f32s(&table["values"]);
    type Op<'a> = (&'a str, &'a dyn Fn(f32, f32) -> f32);
    let ops: [Op; 10] = [
        ("+", &f32::add),
        ("-", &f32::sub),
        ("*", &f32::mul),
        ("div_rn", &f32::div),
        ("maximum", &f32::maxnum),
        ("minimum", &f32::minnum),
        ("maximum_all", &<f32 as Arithmetic>::maximum),
        ("minimum_all", &<f32 as Arithmetic>::minimum),
        // The kernel computed a*b + a.
        ("fma", &|a, b| f32::fma(a, b, a)),
        ("fmuladd", &|a, b| f32::fma(a, b, a)),
    ];
    for (name, op) in ops {
        let want = f32s(&table[name]);
        assert_eq!(want.len(), values.len() * values.len());
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                let (got, want) = (op(*a, *b), want[i * values.len() + j]);
                assert_eq!(
                    got.to_bits(),
                    want.to_bits(),
                    "{a:e} {name} {b:e}: {got:e}, the card {want:e}"
                );
            }
        }
    }
}

#[test]
fn clamp_has_both_nan_modes() {
    let table = &GOLDEN["clamp"];
    let (low, high) = (-1.0f32, 2.0f32);
    assert_eq!(
        (table["lo"].as_f64(), table["hi"].as_f64()),
        (Some(-1.0), Some(2.0))
    );
    let xs = f32s(&table["x"]);
    for (mode, clamp) in [
        ("none", <f32 as Arithmetic>::clamp as fn(f32, f32, f32) -> f32),
        ("all", <f32 as Arithmetic>::clamp_propagating),
    ] {
        for (x, want) in xs.iter().zip(f32s(&table[mode])) {
            assert_eq!(clamp(*x, low, high).to_bits(), want.to_bits(), "{mode}: {x}");
        }
    }
}

/// Where an f32 function must be: value from f64, and how the card's result may differ from ours.
type Function = (&'static str, fn(f32) -> f32, fn(f64) -> f64);

const FUNCTIONS: [Function; 21] = [
    ("exp", <f32 as Elementary>::exp, libm::exp),
    ("exp2", <f32 as Elementary>::exp2, libm::exp2),
    ("exp10", <f32 as Elementary>::exp10, libm::exp10),
    ("expm1", <f32 as Elementary>::expm1, libm::expm1),
    ("log", <f32 as Elementary>::log, libm::log),
    ("log2", <f32 as Elementary>::log2, libm::log2),
    ("log10", <f32 as Elementary>::log10, libm::log10),
    ("log1p", <f32 as Elementary>::log1p, libm::log1p),
    ("rsqrt", <f32 as Elementary>::rsqrt, |x| 1.0 / libm::sqrt(x)),
    ("sin", <f32 as Elementary>::sin, libm::sin),
    ("cos", <f32 as Elementary>::cos, libm::cos),
    ("tan", <f32 as Elementary>::tan, libm::tan),
    ("asin", <f32 as Elementary>::asin, libm::asin),
    ("acos", <f32 as Elementary>::acos, libm::acos),
    ("atan", <f32 as Elementary>::atan, libm::atan),
    ("sinh", <f32 as Elementary>::sinh, libm::sinh),
    ("cosh", <f32 as Elementary>::cosh, libm::cosh),
    ("tanh", <f32 as Elementary>::tanh, libm::tanh),
    ("erf", <f32 as Elementary>::erf, libm::erf),
    ("erfc", <f32 as Elementary>::erfc, libm::erfc),
    ("cbrt", <f32 as Elementary>::cbrt, libm::cbrt),
];

/// Distance of `got` from the exact `want`, in units of the last place of f32 there. Infinite if one is
/// NaN and the other is not, or if a zero has the wrong sign.
fn ulps(got: f32, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        let canonical = got.to_bits() == 0x7fff_ffff;
        return if want.is_nan() && canonical {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let rounded = want as f32;
    if got == rounded {
        let sign_lost = got == 0.0 && got.is_sign_negative() != rounded.is_sign_negative();
        return if sign_lost { f64::INFINITY } else { 0.0 };
    }
    let magnitude = (want.abs() as f32).clamp(f32::MIN_POSITIVE, f32::MAX);
    let unit = f64::from(magnitude.next_up().min(f32::MAX)) - f64::from(magnitude);
    let unit = if unit == 0.0 { 2f64.powi(104) } else { unit };
    (f64::from(got) - want).abs() / unit
}

const SPECIALS: [f32; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    f32::from_bits(1),
    f32::from_bits(0x8000_0001),
];

#[test]
fn elementary_functions_at_special_values() {
    for (name, function, oracle) in FUNCTIONS {
        for x in SPECIALS {
            let (got, want) = (function(x), oracle(x.into()));
            let off = ulps(got, want);
            assert!(off <= 1.0, "{name}({x:e}) = {got:e}, f64 {want:e}, {off} ulp");
        }
    }
}

/// The card's own errors are known (at most 64 ulp for exp, 2.1 for the others); a gross error of ours in
/// any of its 300 points would show.
#[test]
fn elementary_functions_are_near_the_card() {
    for section in ["unary_specials", "unary_points"] {
        let table = &GOLDEN[section];
        let xs = f32s(&table["x"]);
        let check = |row: &str, bound: f64, function: &dyn Fn(f32) -> f32| {
            for (x, want) in xs.iter().zip(f32s(&table[row])) {
                // Where the card flushes subnormals we do not follow it.
                if x.is_subnormal() || function(*x).is_subnormal() {
                    continue;
                }
                let got = function(*x);
                let off = ulps(got, want.into());
                assert!(
                    off <= bound,
                    "{row}({x:e}) = {got:e}, the card {want:e}, {off} ulp"
                );
            }
        };
        check("exp", 65.0, &<f32 as Elementary>::exp);
        check("exp2", 3.0, &<f32 as Elementary>::exp2);
        check("log", 2.0, &<f32 as Elementary>::log);
        check("log2", 2.0, &<f32 as Elementary>::log2);
        check("sqrt_rn", 0.0, &<f32 as Arithmetic>::sqrt);
        check("rsqrt", 3.0, &<f32 as Elementary>::rsqrt);
        check("sin", 3.0, &<f32 as Elementary>::sin);
        check("cos", 3.0, &<f32 as Elementary>::cos);
        check("erf", 3.0, &<f32 as Elementary>::erf);
        check("rcp div_rn", 0.0, &|x| f32::div(1.0, x));
        check("ld_tanh", 3.0, &<f32 as Elementary>::tanh);
        check("ld_expm1", 3.0, &<f32 as Elementary>::expm1);
        check("ld_log1p", 3.0, &<f32 as Elementary>::log1p);
    }
}

/// Subnormal numbers too, which the card takes for zero.
#[test]
fn floor_and_ceil_are_the_card_s() {
    for section in ["unary_specials", "unary_points"] {
        let table = &GOLDEN[section];
        let xs = f32s(&table["x"]);
        let check = |row: &str, function: fn(f32) -> f32| {
            for (x, want) in xs.iter().zip(f32s(&table[row])) {
                assert_eq!(function(*x).to_bits(), want.to_bits(), "{row}({x:e})");
            }
        };
        check("floor", Arithmetic::floor);
        check("ceil", Arithmetic::ceil);
    }
    assert_eq!(<Bf16 as Arithmetic>::floor(Bf16(0x8001)).0, 0x8000);
    assert_eq!(<Bf16 as Arithmetic>::ceil(Bf16(0x0001)).0, 0);
}

proptest! {
    #[test]
    fn elementary_functions_are_within_one_ulp(bits in any::<u32>(), small in -20f32..20.0) {
        for x in [f32::from_bits(bits), small] {
            for (name, function, oracle) in FUNCTIONS {
                let (got, want) = (function(x), oracle(x.into()));
                let off = ulps(got, want);
                prop_assert!(off <= bound(name), "{}({:e}) = {:e}, f64 {:e}, {} ulp", name, x, got, want, off);
            }
        }
    }

    #[test]
    fn roundings_agree_with_the_standard_library(bits in any::<u32>(), small in -9e6f32..9e6) {
        for x in [f32::from_bits(bits), small, small.round() + 0.5, small.fract()] {
            if x.is_nan() {
                prop_assert_eq!(<f32 as Arithmetic>::floor(x).to_bits(), 0x7fff_ffff);
                continue;
            }
            // These two take subnormal numbers for zero.
            let kept = if x.is_subnormal() { x * 0.0 } else { x };
            prop_assert_eq!(<f32 as Arithmetic>::floor(x).to_bits(), kept.floor().to_bits());
            prop_assert_eq!(<f32 as Arithmetic>::ceil(x).to_bits(), kept.ceil().to_bits());
            prop_assert_eq!(<f32 as Arithmetic>::trunc(x).to_bits(), x.trunc().to_bits());
            prop_assert_eq!(<f32 as Arithmetic>::round(x).to_bits(), x.round().to_bits());
            prop_assert_eq!(<f32 as Arithmetic>::round_even(x).to_bits(), x.round_ties_even().to_bits());
        }
    }

    #[test]
    fn fused_multiply_add_rounds_once(a in any::<u32>(), b in any::<u32>(), c in any::<u32>(), near in any::<bool>()) {
        let (a, b) = (f32::from_bits(a), f32::from_bits(b));
        // A summand near the product makes it cancel.
        let c = if near { -(a * b) * (1.0 + f32::EPSILON * (c % 5) as f32) } else { f32::from_bits(c) };
        let want = a.mul_add(b, c);
        let got = f32::fma(a, b, c);
        prop_assert!(got.to_bits() == want.to_bits() || (want.is_nan() && got.to_bits() == 0x7fff_ffff));
        let (a, b, c) = (f64::from(a), f64::from(b), f64::from(c));
        let (want, got) = (a.mul_add(b, c), f64::fma(a, b, c));
        prop_assert!(got.to_bits() == want.to_bits() || want.is_nan());
    }

    /// f16 and bf16 values are integers times a power of two, so exact results fit 128 bits.
    #[test]
    fn half_operations_round_once(a in any::<u16>(), b in any::<u16>(), c in any::<u16>()) {
        let (fa, fb, fc) = (F16(a).to_f32(), F16(b).to_f32(), F16(c).to_f32());
        if fa.is_finite() && fb.is_finite() && fc.is_finite() {
            let units = |x: f32| (f64::from(x) * 2f64.powi(24)) as i128;
            let exact = units(fa) * units(fb) + (units(fc) << 24);
            let got = F16::fma(F16(a), F16(b), F16(c)).to_f32();
            check_nearest_f16(got, exact)?;
            let got = F16::mul(F16(a), F16(b)).to_f32();
            check_nearest_f16(got, units(fa) * units(fb))?;
            let got = F16::add(F16(a), F16(b)).to_f32();
            check_nearest_f16(got, (units(fa) + units(fb)) << 24)?;
        }
    }

    /// Against f64, whose product of two bf16 is exact.
    #[test]
    fn bf16_operations_round_once(a in any::<u16>(), b in any::<u16>(), fa in 0x0080u16..0x2000, fb in 0x0080u16..0x3000) {
        for (a, b) in [(a, b), (fa, fb)] {
            let (x, y) = (f64::from(Bf16(a).to_f32()), f64::from(Bf16(b).to_f32()));
            prop_assert_eq!(Bf16::mul(Bf16(a), Bf16(b)), Bf16::from_f64(x * y));
            prop_assert_eq!(Bf16::div(Bf16(a), Bf16(b)), Bf16::from_f64(x / y));
            prop_assert_eq!(Bf16::add(Bf16(a), Bf16(b)), Bf16::from_f64(x + y));
        }
    }
}

/// Whether `got` is the f16 nearest to `exact`·2^-48, ties to even: no neighbour is nearer.
fn check_nearest_f16(got: f32, exact: i128) -> Result<(), proptest::test_runner::TestCaseError> {
    let limit = 65520i128 << 48;
    if got.is_infinite() {
        prop_assert!(exact.abs() >= limit && (got > 0.0) == (exact > 0));
        return Ok(());
    }
    prop_assert!(exact.abs() < limit);
    let scaled = |x: f32| ((f64::from(x) * 2f64.powi(24)) as i128) << 24;
    let distance = (scaled(got) - exact).abs();
    let code = F16::from_f32(got).0;
    for neighbour in [F16(code.wrapping_add(1)), F16(code.wrapping_sub(1))] {
        let other = neighbour.to_f32();
        if other.is_finite() {
            let farther = (scaled(other) - exact).abs();
            prop_assert!(distance < farther || (distance == farther && code & 1 == 0));
        }
    }
    Ok(())
}

#[test]
fn bf16_fma_is_not_fooled_by_a_tiny_summand() {
    // 7·37 = 259 lies halfway between the bf16 258 and 260; c decides, however small.
    let bf16 = Bf16::from_f32;
    let fma = |c: f32| Bf16::fma(bf16(7.0), bf16(37.0), bf16(c)).to_f32();
    assert_eq!((fma(1e-30), fma(-1e-30), fma(0.0)), (260.0, 258.0, 260.0));
}

#[test]
fn bf16_product_is_rounded_once_below_f32() {
    // The product 2^-134 + 2^-150 is just above half the smallest bf16, 2^-133. As an f32 it would be
    // that half (its unit is 2^-149), and the tie would go to zero.
    let a = Bf16::from_f64(2f64.powi(-70) * (1.0 + 2f64.powi(-7)));
    let b = Bf16::from_f64(2f64.powi(-64));
    let c = Bf16::from_f64(2f64.powi(-80) * (1.0 + 2f64.powi(-7)));
    let d = Bf16::from_f64(2f64.powi(-54) * (1.0 - 2f64.powi(-8)));
    assert_eq!(Bf16::mul(a, b).0, 1);
    let exact = f64::from(c.to_f32()) * f64::from(d.to_f32());
    assert!(exact > 2f64.powi(-134) && exact < 2f64.powi(-134) + 2f64.powi(-140));
    assert_eq!(Bf16::mul(c, d).0, 1);
    assert_eq!(Bf16::from_f32(c.to_f32() * d.to_f32()).0, 1);
}

#[test]
fn float_remainder_is_exact() {
    for (a, b, want) in [
        (7.5f32, 2.0, 1.5),
        (-7.5, 2.0, -1.5),
        (7.5, -2.0, 1.5),
        (1e9, 3.0, 1.0),
        (5.0, f32::INFINITY, 5.0),
    ] {
        assert_eq!(f32::rem(a, b), want, "{a} % {b}");
    }
    assert_eq!(f32::rem(-6.0, 3.0).to_bits(), 0x8000_0000);
    assert_eq!(f32::rem(1.0, 0.0).to_bits(), 0x7fff_ffff);
    assert_eq!(f32::rem(f32::INFINITY, 3.0).to_bits(), 0x7fff_ffff);
}

#[test]
fn sign_operations_keep_the_payload_of_a_nan() {
    let nan = f32::from_bits(0x7fa1_2345);
    assert_eq!(f32::neg(nan).to_bits(), 0xffa1_2345);
    assert_eq!(<f32 as Arithmetic>::abs(f32::neg(nan)).to_bits(), 0x7fa1_2345);
    assert_eq!(<f32 as Arithmetic>::copysign(nan, -1.0).to_bits(), 0xffa1_2345);
    assert_eq!(f32::add(nan, 1.0).to_bits(), 0x7fff_ffff);
    assert_eq!(F16::add(F16(0xfc01), F16(0)).0, 0x7fff);
    assert_eq!(F16::neg(F16(0xfc01)).0, 0x7c01);
    assert_eq!(f64::add(f64::NAN, 1.0).to_bits(), 0x7fff_ffff_ffff_ffff);
    let negative = std::hint::black_box(-2.0f64);
    assert_eq!(
        <f64 as Arithmetic>::sqrt(negative).to_bits(),
        0x7fff_ffff_ffff_ffff
    );
    assert_eq!(<f32 as Arithmetic>::sqrt(negative as f32).to_bits(), 0x7fff_ffff);
    assert_eq!(<f64 as Arithmetic>::sqrt(-0.0).to_bits(), 1 << 63);
}

/// How far from the exact result a function may be, in ulp: one that is computed in f64 is rounded once.
fn bound(name: &str) -> f64 {
    match name {
        "exp" => 0.90,
        "exp2" => 0.99,
        "log" => 0.82,
        "log2" => 0.81,
        "tanh" => 0.90,
        "erf" => 0.98,
        _ => 0.501,
    }
}

/// Every seventh of the 2^32 values, or every one that STEP says: minutes.
/// `STEP=1 cargo test --release -p tilescope-interpreter -- --ignored exhaustive --nocapture`
#[test]
#[ignore = "minutes in release mode"]
#[allow(clippy::print_stdout)]
fn exhaustive_error_of_the_functions() {
    let step: usize = std::env::var("STEP").map_or(7, |step| step.parse().unwrap());
    for name in [
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "sin", "cos", "tan", "erf",
    ] {
        let (_, function, oracle) = FUNCTIONS.into_iter().find(|f| f.0 == name).unwrap();
        let mut worst = (0.0, 0f32);
        let (mut wrong, mut all) = (0u64, 0u64);
        for bits in (0..=u32::MAX).step_by(step) {
            let x = f32::from_bits(bits);
            let off = ulps(function(x), oracle(x.into()));
            all += 1;
            wrong += u64::from(off > 0.5);
            if off > worst.0 {
                worst = (off, x);
            }
        }
        let share = wrong as f64 / all as f64 * 100.0;
        println!(
            "{name}: {:.3} ulp at {:e}, {share:.2} % not the nearest",
            worst.0, worst.1
        );
        assert!(worst.0 <= bound(name), "{name}: {} ulp at {:e}", worst.0, worst.1);
    }
}
