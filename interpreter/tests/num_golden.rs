//! Every discrete numeric rule of the card, held against tables measured on an H200
//! (`data/golden_numeric.json`; hex strings are bit patterns).

#![allow(clippy::disallowed_methods)] // powers of two and oracles

use std::sync::LazyLock;

use serde_json::Value;
use tilescope_interpreter::num::float::RoundTowardZero;
use tilescope_interpreter::num::int::{FromFloat, Int, ToFloat};
use tilescope_interpreter::num::{Bf16, F8E4M3, F8E5M2, F16, StoredFloat};

static GOLDEN: LazyLock<Value> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/golden_numeric.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
});

/// A row of bit patterns: a list of hex strings, or one string of them.
fn hex(value: &Value) -> Vec<u64> {
    let parse = |s: &str| u64::from_str_radix(s, 16).unwrap();
    match value {
        Value::String(row) => row.split_whitespace().map(parse).collect(),
        Value::Array(row) => row.iter().map(|v| parse(v.as_str().unwrap())).collect(),
        other => panic!("no hex row: {other}"),
    }
}

/// A row of integers up to 64 bits, signed or unsigned.
fn ints(value: &Value) -> Vec<i128> {
    let int = |v: &Value| v.as_i64().map(i128::from).or(v.as_u64().map(i128::from)).unwrap();
    value.as_array().unwrap().iter().map(int).collect()
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

#[test]
fn widening_of_fp8() {
    let tables = &GOLDEN["downcast_tables"];
    for code in 0..=255u8 {
        let at = usize::from(code);
        let e4m3 = F8E4M3(code).to_f32();
        let e5m2 = F8E5M2(code).to_f32();
        assert_eq!(
            u64::from(e4m3.to_bits()),
            hex(&tables["float8_e4m3fn->float32"])[at],
            "e4m3 {code:02x}"
        );
        assert_eq!(
            u64::from(e5m2.to_bits()),
            hex(&tables["float8_e5m2->float32"])[at],
            "e5m2 {code:02x}"
        );
        let e4m3 = F16::from_f32(e4m3).0;
        let e5m2 = F16::from_f32(e5m2).0;
        assert_eq!(
            u64::from(e4m3),
            hex(&tables["float8_e4m3fn->float16"])[at],
            "e4m3 {code:02x}"
        );
        assert_eq!(
            u64::from(e5m2),
            hex(&tables["float8_e5m2->float16"])[at],
            "e5m2 {code:02x}"
        );
    }
}

#[test]
fn narrowing_tables() {
    let tables = &GOLDEN["downcast_tables"];
    let xs = hex(&tables["x"]);
    let check = |row: &str, convert: &dyn Fn(f32) -> u64| {
        let want = hex(&tables[row]);
        assert_eq!(want.len(), xs.len(), "{row}");
        for (x, want) in xs.iter().zip(want) {
            let got = convert(f32_of(*x));
            assert_eq!(got, want, "{row} of {x:08x}: {got:x}, the card {want:x}");
        }
    };
    for mode in ["None", "rtne"] {
        check(&format!("float16 {mode}"), &|x| F16::from_f32(x).0.into());
        check(&format!("bfloat16 {mode}"), &|x| Bf16::from_f32(x).0.into());
        check(&format!("float8_e4m3fn {mode}"), &|x| {
            F8E4M3::from_f32(x).0.into()
        });
        check(&format!("float8_e5m2 {mode}"), &|x| F8E5M2::from_f32(x).0.into());
    }
    check("float16 rtz", &|x| F16::from_f32_rtz(x).0.into());
    check("bfloat16 rtz", &|x| Bf16::from_f32_rtz(x).0.into());
    check("float8_e5m2 rtz", &|x| F8E5M2::from_f32_rtz(x).0.into());
    check("float16->float8_e4m3fn", &|x| {
        F8E4M3::from_f32(F16::from_f32(x).to_f32()).0.into()
    });
    check("float16->float8_e5m2", &|x| {
        F8E5M2::from_f32(F16::from_f32(x).to_f32()).0.into()
    });
    check("bfloat16->float8_e4m3fn", &|x| {
        F8E4M3::from_f32(Bf16::from_f32(x).to_f32()).0.into()
    });
    check("bfloat16->float8_e5m2", &|x| {
        F8E5M2::from_f32(Bf16::from_f32(x).to_f32()).0.into()
    });
    // The same through f64, which holds each of these exactly.
    check("float16 None", &|x| F16::from_f64(x.into()).0.into());
    check("bfloat16 None", &|x| Bf16::from_f64(x.into()).0.into());
    check("float8_e4m3fn None", &|x| F8E4M3::from_f64(x.into()).0.into());
    check("float8_e5m2 None", &|x| F8E5M2::from_f64(x.into()).0.into());
    check("float16 rtz", &|x| F16::from_f64_rtz(x.into()).0.into());
    check("bfloat16 rtz", &|x| Bf16::from_f64_rtz(x.into()).0.into());
    check("float8_e5m2 rtz", &|x| F8E5M2::from_f64_rtz(x.into()).0.into());
}

/// Checks one integer type against its section of `int_binary`.
fn check_int_binary<T: Int + std::fmt::Debug>(
    section: &str,
    from: impl Fn(i128) -> T,
    mulhi_unsigned: impl Fn(T, T) -> T,
) {
    let table = &GOLDEN["int_binary"][section];
    let values: Vec<T> = ints(&table["values"]).into_iter().map(&from).collect();
    let one = from(1);
    type Op<'a, T> = (&'a str, &'a dyn Fn(T, T) -> T);
    let ops: [Op<T>; 8] = [
        ("+", &T::add),
        ("*", &T::mul),
        ("//", &T::div),
        ("%", &T::rem),
        // tl.cdiv, as Triton writes it.
        ("cdiv", &|a, b| a.add(b.sub(one)).div(b)),
        ("maximum", &|a, b| a.max(b)),
        ("minimum", &|a, b| a.min(b)),
        ("umulhi", &mulhi_unsigned),
    ];
    for (name, op) in ops {
        let Some(want) = table.get(name) else { continue };
        let want: Vec<T> = ints(want).into_iter().map(&from).collect();
        assert_eq!(want.len(), values.len() * values.len());
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                let want = want[i * values.len() + j];
                assert_eq!(op(*a, *b), want, "{section}: {a:?} {name} {b:?}");
            }
        }
    }
}

#[test]
fn integer_arithmetic() {
    check_int_binary("int8", |v| v as i8, |a, b| (a as u8).mulhi(b as u8) as i8);
    check_int_binary("int16", |v| v as i16, |a, b| (a as u16).mulhi(b as u16) as i16);
    check_int_binary("int32", |v| v as i32, |a, b| (a as u32).mulhi(b as u32) as i32);
    check_int_binary("int64", |v| v as i64, |a, b| (a as u64).mulhi(b as u64) as i64);
    check_int_binary("uint8", |v| v as u8, u8::mulhi);
    check_int_binary("uint32", |v| v as u32, u32::mulhi);
}

fn check_shifts<T: Int + std::fmt::Debug>(section: &str, from: impl Fn(i128) -> T, bits: impl Fn(T) -> u64) {
    let table = &GOLDEN["shifts"][section];
    let values = ints(&table["values"]);
    let amounts = ints(&table["shift"]);
    let (left, right) = (hex(&table["<<"]), hex(&table[">>"]));
    assert_eq!(left.len(), values.len() * amounts.len());
    for (i, v) in values.iter().enumerate() {
        for (j, n) in amounts.iter().enumerate() {
            let at = i * amounts.len() + j;
            let (x, amount) = (from(*v), from(*n));
            assert_eq!(bits(x.shl(amount)), left[at], "{section}: {v} << {n}");
            assert_eq!(bits(x.shr(amount)), right[at], "{section}: {v} >> {n}");
            assert_eq!(
                amount.is_shift_in_range(),
                (0..i128::from(T::BITS)).contains(n),
                "{section}: {n}"
            );
        }
    }
}

#[test]
fn shifts() {
    check_shifts("int8", |v| v as i8, |v| v as u8 as u64);
    check_shifts("int16", |v| v as i16, |v| v as u16 as u64);
    check_shifts("int32", |v| v as i32, |v| v as u32 as u64);
    check_shifts("int64", |v| v as i64, |v| v as u64);
    check_shifts("uint8", |v| v as u8, |v| v as u64);
    check_shifts("uint32", |v| v as u32, |v| v as u64);
}

/// Checks the conversions of one target type from every float type.
fn check_float_to_int<T: FromFloat + std::fmt::Debug>(target: &str, from: impl Fn(i128) -> T) {
    let table = &GOLDEN["float_to_int"];
    let xs: Vec<f64> = table["x"]
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_str().unwrap().parse().unwrap())
        .collect();
    type Convert<'a, T> = (&'a str, &'a dyn Fn(f64) -> T);
    let sources: [Convert<T>; 4] = [
        ("float64", &T::from_f64),
        ("float32", &|x| T::from_f32(x as f32)),
        ("float16", &|x| T::from_f32(F16::from_f64(x).to_f32())),
        ("bfloat16", &|x| T::from_f32(Bf16::from_f64(x).to_f32())),
    ];
    for (source, convert) in sources {
        let want: Vec<T> = ints(&table[format!("{source}->{target}")])
            .into_iter()
            .map(&from)
            .collect();
        assert_eq!(want.len(), xs.len());
        for (x, want) in xs.iter().zip(want) {
            assert_eq!(convert(*x), want, "{source}->{target} of {x}");
        }
    }
}

#[test]
fn float_to_int() {
    check_float_to_int("int8", |v| v as i8);
    check_float_to_int("uint8", |v| v as u8);
    check_float_to_int("int16", |v| v as i16);
    check_float_to_int("int32", |v| v as i32);
    check_float_to_int("uint32", |v| v as u32);
    check_float_to_int("int64", |v| v as i64);
    check_float_to_int("uint64", |v| v as u64);
}

#[test]
fn float_to_int_range() {
    // A value is in range exactly when truncation gives it back.
    for x in ints_and_halves() {
        let t = x.trunc();
        assert_eq!(i8::in_range(x), t == f64::from(t as i8), "i8 {x}");
        assert_eq!(u8::in_range(x), t == f64::from(t as u8), "u8 {x}");
        assert_eq!(i16::in_range(x), t == f64::from(t as i16), "i16 {x}");
        assert_eq!(u16::in_range(x), t == f64::from(t as u16), "u16 {x}");
        assert_eq!(i32::in_range(x), t == f64::from(t as i32), "i32 {x}");
        assert_eq!(u32::in_range(x), t == f64::from(t as u32), "u32 {x}");
    }
    let two63 = 9223372036854775808.0f64;
    assert!(i64::in_range(-two63) && !i64::in_range((-two63).next_down()));
    assert!(!i64::in_range(two63) && i64::in_range(two63.next_down()));
    assert!(!u64::in_range(2.0 * two63) && u64::in_range((2.0 * two63).next_down()));
    assert!(u64::in_range(-0.99) && !u64::in_range(-1.0));
    assert!(!i32::in_range(f64::NAN) && !u64::in_range(f64::INFINITY));
}

/// Values around the bounds of every type of at most 32 bits.
fn ints_and_halves() -> Vec<f64> {
    let mut xs = vec![0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1e300];
    for bits in [7, 8, 15, 16, 31, 32] {
        let edge = 2f64.powi(bits);
        for offset in [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5] {
            xs.extend([edge + offset, -edge + offset]);
        }
        xs.extend([
            edge.next_down(),
            edge.next_up(),
            (-edge - 1.0).next_up(),
            (-edge - 1.0).next_down(),
        ]);
    }
    xs
}

#[test]
fn int_to_float() {
    let table = &GOLDEN["int_to_float"];
    let xs = ints(&table["x"]);
    let check = |row: &str, convert: &dyn Fn(i128) -> u64| {
        let want = hex(&table[row]);
        assert_eq!(want.len(), xs.len());
        for (x, want) in xs.iter().zip(want) {
            assert_eq!(convert(*x), want, "{row} of {x}");
        }
    };
    check("int32->float16", &|x| (x as i32).to_f16().0.into());
    check("int32->bfloat16", &|x| (x as i32).to_bf16().0.into());
    check("int32->float32", &|x| ToFloat::to_f32(x as i32).to_bits().into());
    check("int32->float64", &|x| ToFloat::to_f64(x as i32).to_bits());
    let wide = |x: i128| (x * (1 << 31) + 1) as i64;
    check("int64(x*2^31+1)->float16", &|x| wide(x).to_f16().0.into());
    check("int64(x*2^31+1)->bfloat16", &|x| wide(x).to_bf16().0.into());
    check("int64(x*2^31+1)->float32", &|x| {
        ToFloat::to_f32(wide(x)).to_bits().into()
    });
    check("int64(x*2^31+1)->float64", &|x| {
        ToFloat::to_f64(wide(x)).to_bits()
    });
}
