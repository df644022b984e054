//! Every bit pattern of the 8-bit and 16-bit types, converted to every other type by every operation and rounding of the
//! IR, on the lowest and the highest level of the CPU, with checks and without, against exact integer arithmetic on the patterns.
//!
//! The oracle knows formats by their definition and shares no code with `num`. What a definition leaves open (overflow,
//! NaN, floats beyond an integer's range) is as measured on an H200; `num_golden` holds the tables of that run.

#![allow(clippy::disallowed_methods)] // powers of two, in the test of the oracle

mod harness;

use harness::Bench;
use tilescope_diagnostics::CheckSet;
use tilescope_interpreter::simd::Cpu;
use tilescope_interpreter::{Lowering, Options};
use tilescope_ir::Scalar;
use tilescope_launch::Dtype;

/// A number, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Nan,
    Infinite {
        negative: bool,
    },
    /// mantissa · 2^exponent.
    Finite {
        negative: bool,
        mantissa: u128,
        exponent: i32,
    },
}

/// What the largest exponent means.
#[derive(Clone, Copy, PartialEq)]
enum Top {
    /// Infinities and NaN.
    Ieee,
    /// Numbers, but for one pattern (and its negative), which is NaN.
    OneNan,
    /// Numbers; the pattern of -0 is NaN.
    NoNegativeZero,
}

/// A binary format: sign, exponent, fraction.
#[derive(Clone, Copy)]
struct Format {
    fraction: u32,
    exponent: u32,
    bias: i32,
    top: Top,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Rounding {
    NearestEven,
    TowardZero,
}

fn format(scalar: Scalar) -> Format {
    let (exponent, fraction, bias, top) = match scalar {
        Scalar::F8E4M3FN => (4, 3, 7, Top::OneNan),
        Scalar::F8E5M2 => (5, 2, 15, Top::Ieee),
        Scalar::F8E4M3B11FNUZ => (4, 3, 11, Top::NoNegativeZero),
        Scalar::F8E4M3FNUZ => (4, 3, 8, Top::NoNegativeZero),
        Scalar::F8E5M2FNUZ => (5, 2, 16, Top::NoNegativeZero),
        Scalar::F16 => (5, 10, 15, Top::Ieee),
        Scalar::BF16 => (8, 7, 127, Top::Ieee),
        Scalar::F32 => (8, 23, 127, Top::Ieee),
        _ => (11, 52, 1023, Top::Ieee),
    };
    Format {
        fraction,
        exponent,
        bias,
        top,
    }
}

impl Format {
    fn sign(self) -> u64 {
        1 << (self.fraction + self.exponent)
    }

    /// The pattern of the largest finite number.
    fn largest(self) -> u64 {
        match self.top {
            Top::Ieee => self.infinity() - 1,
            Top::OneNan => self.sign() - 2,
            Top::NoNegativeZero => self.sign() - 1,
        }
    }

    fn infinity(self) -> u64 {
        self.sign() - (1 << self.fraction)
    }

    fn nan(self) -> u64 {
        match self.top {
            Top::NoNegativeZero => self.sign(),
            _ => self.sign() - 1,
        }
    }

    fn decode(self, bits: u64) -> Number {
        let (negative, magnitude) = (bits & self.sign() != 0, bits & (self.sign() - 1));
        match self.top {
            Top::Ieee if magnitude == self.infinity() => return Number::Infinite { negative },
            Top::Ieee if magnitude > self.infinity() => return Number::Nan,
            Top::OneNan if magnitude == self.sign() - 1 => return Number::Nan,
            Top::NoNegativeZero if bits == self.sign() => return Number::Nan,
            _ => {}
        }
        let (exponent, fraction) = (
            (magnitude >> self.fraction) as i32,
            magnitude & ((1 << self.fraction) - 1),
        );
        let (mantissa, exponent) = match exponent {
            0 => (fraction, 1),
            _ => (fraction | 1 << self.fraction, exponent),
        };
        Number::Finite {
            negative,
            mantissa: mantissa.into(),
            exponent: exponent - self.bias - self.fraction as i32,
        }
    }

    /// fp8 takes its largest number for what is beyond, as measured; others infinity, or by rounding toward zero their
    /// largest number.
    fn encode(self, number: Number, rounding: Rounding) -> u64 {
        let saturates = self.sign() == 0x80;
        let with_sign =
            |negative: bool, code: u64| match negative && (code != 0 || self.top != Top::NoNegativeZero) {
                true => code | self.sign(),
                false => code,
            };
        match number {
            Number::Nan => self.nan(),
            // Toward zero e5m2 is an f16 that is cut.
            Number::Infinite { negative } if saturates && rounding == Rounding::NearestEven => {
                with_sign(negative, self.largest())
            }
            Number::Infinite { negative } => with_sign(negative, self.infinity()),
            Number::Finite {
                negative,
                mantissa,
                exponent,
            } => {
                let code = self.magnitude(mantissa, exponent, rounding);
                let code = match code > self.largest() {
                    false => code,
                    true if saturates || rounding == Rounding::TowardZero => self.largest(),
                    true => self.infinity(),
                };
                with_sign(negative, code)
            }
        }
    }

    /// The pattern of mantissa · 2^exponent if exponents had no end.
    fn magnitude(self, mantissa: u128, exponent: i32, rounding: Rounding) -> u64 {
        if mantissa == 0 {
            return 0;
        }
        let fraction = self.fraction as i32;
        let leading = exponent + 127 - mantissa.leading_zeros() as i32;
        // The distance of neighbours is 2^last.
        let last = leading.max(1 - self.bias) - fraction;
        let steps = match exponent - last {
            up @ 0.. => mantissa << up,
            down => {
                let down = -down;
                let (whole, rest) = match down {
                    0..128 => (mantissa >> down, mantissa & ((1 << down) - 1)),
                    _ => (0, mantissa),
                };
                let half = 1u128.checked_shl(down as u32 - 1).unwrap_or(u128::MAX);
                let up = rounding == Rounding::NearestEven && (rest > half || rest == half && whole & 1 == 1);
                whole + u128::from(up)
            }
        };
        // A carry out of the fraction is one more in the exponent.
        let exponent = (last + fraction + self.bias - 1) as u64;
        (exponent << fraction) + steps as u64
    }
}

/// A float as an integer of so many bits, as the card gives it.
fn to_integer(number: Number, bits: u32, signed: bool) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    // Bytes are the low byte of a 16-bit result.
    let width = bits.max(16);
    let (least, most) = match signed {
        true => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
        false => (0, (1i128 << width) - 1),
    };
    let value = match number {
        Number::Nan if bits == 64 => return 1 << 63,
        Number::Nan => 0,
        Number::Infinite { negative: true } => least,
        Number::Infinite { negative: false } => most,
        Number::Finite {
            negative,
            mantissa,
            exponent,
        } => {
            let whole = match exponent {
                up @ 0.. if mantissa.leading_zeros() as i32 <= up + 1 && mantissa != 0 => i128::MAX,
                up @ 0.. => (mantissa << up) as i128,
                down => mantissa.checked_shr(-down as u32).unwrap_or(0) as i128,
            };
            if negative { -whole } else { whole }.clamp(least, most)
        }
    };
    value as u64 & mask
}

/// Runs `cast` on every pattern of `from`, on both ends of the CPU's levels and lowerings; gives the results' patterns.
fn converted(cast: &str, from: Scalar, to: Scalar) -> Vec<u64> {
    let lanes = 1usize << from.bits().max(1);
    let word = |scalar: Scalar| format!("i{}", 8 * scalar.bytes());
    let (a, b) = (word(from), word(to));
    let tile = |ty: &str| format!("tensor<{lanes}x{ty}>");
    let pointers = |ty: &str| format!("tensor<{lanes}x!tt.ptr<{ty}>>");
    let bits = |value: &str, from: &str, to: &str, out: &str| match from == to {
        true => format!("%{out} = tt.reshape %{value} : {} -> {}", tile(from), tile(to)),
        false => format!("%{out} = tt.bitcast %{value} : {} -> {}", tile(from), tile(to)),
    };
    // A truth value is a byte.
    let stored = match to {
        Scalar::I1 => format!("%out = arith.extui %y : {} to {}", tile("i1"), tile("i8")),
        _ => bits("y", to.name(), &b, "out"),
    };
    let body = format!(
        "%r = tt.make_range {{end = {lanes} : i32, start = 0 : i32}} : {}
         %ps = tt.splat %p : !tt.ptr<{a}> -> {}
         %pr = tt.addptr %ps, %r : {}, {}
         %v = tt.load %pr : {}
         {}
         %y = {cast} {} {} {}
         {stored}
         %qs = tt.splat %q : !tt.ptr<{b}> -> {}
         %qr = tt.addptr %qs, %r : {}, {}
         tt.store %qr, %out : {}",
        tile("i32"),
        pointers(&a),
        pointers(&a),
        tile("i32"),
        pointers(&a),
        bits("v", &a, from.name(), "x"),
        tile(from.name()),
        if cast.starts_with("tt.") { "->" } else { "to" },
        tile(to.name()),
        pointers(&b),
        pointers(&b),
        tile("i32"),
        pointers(&b),
    );
    let dtype = |bytes: usize| match bytes {
        1 => Dtype::U8,
        2 => Dtype::U16,
        4 => Dtype::U32,
        _ => Dtype::U64,
    };
    let patterns: Vec<u8> = (0..lanes as u64)
        .flat_map(|i| i.to_le_bytes()[..from.bytes()].to_vec())
        .collect();
    let mut found: Option<Vec<u8>> = None;
    for (cpu, lowering, checks) in [
        (Cpu::SCALAR, Lowering::Stepping, CheckSet::NONE),
        (Cpu::SCALAR, Lowering::Fast, CheckSet::NONE),
        (Cpu::detect(), Lowering::Fast, CheckSet::NONE),
        (Cpu::detect(), Lowering::Fast, CheckSet::ALL),
    ] {
        let parameters = format!("%p: !tt.ptr<{a}>, %q: !tt.ptr<{b}>");
        let mut bench = Bench::new(&parameters, &body, 1)
            .tensor("p", dtype(from.bytes()), &patterns)
            .tensor("q", dtype(to.bytes()), &vec![0u8; lanes * to.bytes()]);
        // `tensor` counts elements as bytes.
        for tensor in &mut bench.launch().tensors {
            tensor.shape = vec![lanes as i64];
        }
        bench.options = Options {
            cpu,
            lowering,
            checks,
            threads: Some(1),
            ..Options::default()
        };
        let bytes = bench.run().memory.allocations[1].bytes.to_vec();
        match &found {
            None => found = Some(bytes),
            Some(first) => assert!(
                *first == bytes,
                "{cast} of {from} to {to}: another result with {cpu:?}, {lowering:?}, checks: {checks:?}"
            ),
        }
    }
    let element = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
    found
        .unwrap_or_default()
        .chunks(to.bytes())
        .map(element)
        .collect()
}

/// Holds the results of a conversion against what is expected of each pattern.
fn check(cast: &str, from: Scalar, to: Scalar, expected: impl Fn(u64) -> u64) {
    let is_nan = |bits: u64| to == Scalar::F64 && format(to).decode(bits) == Number::Nan;
    for (bits, found) in converted(cast, from, to).into_iter().enumerate() {
        let want = expected(bits as u64);
        // Which NaN an f64 is was not measured.
        assert!(
            found == want || is_nan(found) && is_nan(want),
            "{cast} of {from} {bits:x} to {to}: {found:x} instead of {want:x}"
        );
    }
}

const NARROW: [Scalar; 7] = [
    Scalar::F16,
    Scalar::BF16,
    Scalar::F8E4M3FN,
    Scalar::F8E5M2,
    Scalar::F8E4M3B11FNUZ,
    Scalar::F8E4M3FNUZ,
    Scalar::F8E5M2FNUZ,
];

#[test]
fn floats_to_floats() {
    let mut count = 0;
    for from in NARROW {
        let wide = [Scalar::F32, Scalar::F64];
        for to in NARROW.into_iter().chain(wide).filter(|&to| to != from) {
            let near = |bits| format(to).encode(format(from).decode(bits), Rounding::NearestEven);
            let mut casts = vec!["tt.fp_to_fp %x :", "tt.fp_to_fp %x, rounding = rtne :"];
            if from.bits() < to.bits() {
                casts.push("arith.extf %x :");
            }
            if from.bits() > to.bits() {
                casts.push("arith.truncf %x :");
            }
            for cast in casts {
                check(cast, from, to, near);
                count += 1;
            }
            if matches!(to, Scalar::F16 | Scalar::BF16 | Scalar::F8E5M2 | Scalar::F32) {
                let cut = |bits| format(to).encode(format(from).decode(bits), Rounding::TowardZero);
                check("tt.fp_to_fp %x, rounding = rtz :", from, to, cut);
                count += 1;
            }
        }
    }
    assert_eq!(count, 7 * 8 * 2 + 2 * 2 + 5 * 4 + 2 * 5 + 7 * 4 - 3);
}

#[test]
fn floats_to_integers() {
    for from in NARROW {
        for to in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
            for (cast, signed) in [("arith.fptosi %x :", true), ("arith.fptoui %x :", false)] {
                check(cast, from, to, |bits| {
                    to_integer(format(from).decode(bits), to.bits(), signed)
                });
            }
        }
        // Not zero; NaN is not.
        let is_zero = |bits| matches!(format(from).decode(bits), Number::Finite { mantissa: 0, .. });
        check("arith.fptoui %x :", from, Scalar::I1, |bits| {
            u64::from(!is_zero(bits))
        });
    }
}

#[test]
fn integers_to_floats() {
    for from in [Scalar::I8, Scalar::I16] {
        for to in [Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64] {
            for (cast, signed) in [("arith.sitofp %x :", true), ("arith.uitofp %x :", false)] {
                check(cast, from, to, |bits| {
                    let negative = signed && bits >> (from.bits() - 1) == 1;
                    let mantissa = if negative { (1 << from.bits()) - bits } else { bits };
                    let number = Number::Finite {
                        negative,
                        mantissa: mantissa.into(),
                        exponent: 0,
                    };
                    format(to).encode(number, Rounding::NearestEven)
                });
            }
        }
    }
}

#[test]
fn integers_to_integers() {
    for from in [Scalar::I8, Scalar::I16] {
        for to in [Scalar::I1, Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
            let mask = u64::MAX >> (64 - to.bits());
            if from.bits() < to.bits() {
                check("arith.extui %x :", from, to, |bits| bits);
                let shift = 64 - from.bits();
                check("arith.extsi %x :", from, to, |bits| {
                    (((bits << shift) as i64) >> shift) as u64 & mask
                });
            } else if from.bits() > to.bits() {
                check("arith.trunci %x :", from, to, |bits| bits & mask);
            }
        }
    }
}

/// The oracle itself, on facts that were measured or that the standards state.
#[test]
fn the_oracle_knows_the_formats() {
    let one = |scalar, bits| format(scalar).decode(bits);
    let is =
        |number, value: f64| format(Scalar::F64).encode(number, Rounding::NearestEven) == value.to_bits();
    assert!(is(one(Scalar::F16, 0x7bff), 65504.0) && is(one(Scalar::F16, 0x8001), -(2f64.powi(-24))));
    assert!(is(one(Scalar::F8E4M3FN, 0x7e), 448.0) && one(Scalar::F8E4M3FN, 0xff) == Number::Nan);
    assert!(is(one(Scalar::F8E5M2, 0x7b), 57344.0) && is(one(Scalar::F8E4M3FNUZ, 0x7f), 240.0));
    let to =
        |scalar, value: f64| format(scalar).encode(one(Scalar::F64, value.to_bits()), Rounding::NearestEven);
    assert_eq!(to(Scalar::F16, 65519.0), 0x7bff);
    assert_eq!(to(Scalar::F16, 65520.0), 0x7c00);
    assert_eq!(to(Scalar::F8E4M3FN, f64::INFINITY), 0x7e);
    for value in [0.1, -3.7e-39, 1e300, 1.0 + 2f64.powi(-24), 1e-46] {
        assert_eq!(
            to(Scalar::F32, value),
            u64::from((value as f32).to_bits()),
            "{value:e}"
        );
    }
}
