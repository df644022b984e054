//! Every CPU level gives the same bits: matrix products, lane loops and conversions of slices.

#![allow(clippy::disallowed_methods)] // `mul_add` is the oracle

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};
use serde_json::Value;
use tilescope_interpreter::num::dot::{
    DotShape, cut_tf32, dot_f32, dot_f64, dot_i8, dot_i32, dot_narrow, pairs,
};
use tilescope_interpreter::num::int::Int;
use tilescope_interpreter::num::math::{Arithmetic, Elementary, erf_slice, exp_slice, exp2_slice};
use tilescope_interpreter::num::{Bf16, Canonical, F8E4M3, F8E5M2, F16, StoredFloat};
use tilescope_interpreter::simd::{Cpu, CpuLevel};

/// The levels that this CPU has.
fn levels() -> Vec<Cpu> {
    CpuLevel::ALL.into_iter().filter_map(Cpu::at).collect()
}

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/golden_numeric.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The generator of the golden file's inputs: 24 bits of a linear congruence, in [-1, 1).
fn lcg(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (f64::from(state >> 8) / 8388608.0 - 1.0) as f32
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn levels_have_names_and_an_order() {
    for level in CpuLevel::ALL {
        assert_eq!(level.name().parse(), Ok(level));
        assert_eq!(Cpu::at(level).map(Cpu::level).unwrap_or(level), level);
    }
    assert!("sse9".parse::<CpuLevel>().is_err());
    assert_eq!(levels().last().copied(), Some(Cpu::detect()));
}

#[test]
fn dot_has_the_bits_of_the_card() {
    let golden = golden();
    let mut rows = 0;
    for (key, want) in golden["kernel_outputs"].as_object().unwrap() {
        let k: usize = key["dot f32 ieee 64x64x".len()..]
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let (a, b) = (lcg(64 * k, 1), lcg(k * 64, 2));
        let want: Vec<u32> = want
            .as_str()
            .unwrap()
            .split(' ')
            .map(|w| u32::from_str_radix(w, 16).unwrap())
            .collect();
        for cpu in levels() {
            let mut c = vec![0f32; 64 * 64];
            dot_f32(cpu, &a, &b, &mut c, DotShape { m: 64, n: 64, k });
            let got = [&c[..32], &c[33 * 64..][..32]].concat();
            let got: Vec<u32> = got.iter().map(|x| x.to_bits()).collect();
            assert_eq!(got, want, "{key} on {:?}", cpu.level());
        }
        rows += 1;
    }
    assert_eq!(rows, 4);
}

/// Alone among numbers, wherever in a block of the product it is.
#[test]
fn a_single_nan_is_canonical() {
    let shape = DotShape { m: 11, n: 93, k: 1 };
    let (a, b) = (vec![1.0; shape.m], vec![2.0; shape.n]);
    let (wide_a, wide_b) = (vec![1.0; shape.m], vec![2.0; shape.n]);
    for (cpu, at) in levels()
        .into_iter()
        .flat_map(|cpu| (0..11 * 93).map(move |at| (cpu, at)))
    {
        let mut c = vec![1.0; shape.m * shape.n];
        let mut want = vec![3f32.to_bits(); c.len()];
        (c[at], want[at]) = (f32::from_bits(0xffa0_0001), f32::NAN.canonical().to_bits());
        dot_f32(cpu, &a, &b, &mut c, shape);
        let got: Vec<u32> = c.iter().map(|x| x.to_bits()).collect();
        assert_eq!(got, want, "{at} on {:?}", cpu.level());
        let mut c = vec![1.0; shape.m * shape.n];
        let mut want = vec![3f64.to_bits(); c.len()];
        (c[at], want[at]) = (-f64::NAN, f64::NAN.canonical().to_bits());
        dot_f64(cpu, &wide_a, &wide_b, &mut c, shape);
        let got: Vec<u64> = c.iter().map(|x| x.to_bits()).collect();
        assert_eq!(got, want, "{at} on {:?}, f64", cpu.level());
    }
}

#[test]
fn a_narrow_accumulator_is_rounded_at_the_end() {
    // 2048 + 1 + 1 in f16 would stay 2048 if each step were rounded.
    let shape = DotShape { m: 1, n: 1, k: 2 };
    for cpu in levels() {
        let (mut c, mut wide) = ([F16::from_f32(2048.0)], [0.0]);
        dot_narrow(cpu, &[1.0, 1.0], &[1.0, 1.0], &mut c, &mut wide, shape);
        assert_eq!(c[0].to_f32(), 2050.0);
    }
}

#[test]
fn tf32_operands_are_cut_as_on_the_card() {
    let table = &golden()["dot_rounding"];
    let row = |name: &str| -> Vec<u32> {
        let hex = |v: &Value| u32::from_str_radix(v.as_str().unwrap(), 16).unwrap();
        table[name].as_array().unwrap().iter().map(hex).collect()
    };
    let patterns = row("patterns");
    let shape = DotShape { m: 1, n: 1, k: 1 };
    for cpu in levels() {
        for (i, bits) in patterns.iter().enumerate() {
            let x = f32::from_bits(*bits);
            for (name, a) in [
                ("as A tf32", cut_tf32(x)),
                ("as A ieee", x),
                ("as B tf32", cut_tf32(x)),
            ] {
                let mut c = [0.0];
                dot_f32(cpu, &[a], &[1.0], &mut c, shape);
                assert_eq!(c[0].to_bits(), row(name)[i], "{name} {bits:08x}");
            }
        }
    }
}

/// Floats of all kinds, often special or of like size so that they cancel.
fn floats() -> impl Strategy<Value = f32> {
    (any::<u32>(), 0u8..8).prop_map(|(bits, kind)| match kind {
        0 => f32::from_bits(bits),
        1 => [
            0.0,
            -0.0,
            f32::INFINITY,
            f32::NAN,
            f32::MAX,
            f32::MIN_POSITIVE,
            -1.0,
            f32::from_bits(1),
        ][bits as usize % 8],
        _ => (bits as i32) as f32 / 2f32.powi(31),
    })
}

/// Shapes whose sides take every remainder of the blocking, with the operands of a product.
fn products() -> impl Strategy<Value = (DotShape, Vec<f32>, Vec<f32>, Vec<f32>)> {
    (0usize..20, 0usize..70, 0usize..9).prop_flat_map(|(m, n, k)| {
        let shape = DotShape { m, n, k };
        (vec(floats(), m * k), vec(floats(), k * n), vec(floats(), m * n))
            .prop_map(move |(a, b, c)| (shape, a, b, c))
    })
}

proptest! {
    #[test]
    fn dot_is_a_chain_of_fused_multiply_adds((shape, a, b, c) in products()) {
        let DotShape { m, n, k } = shape;
        let mut want = c.clone();
        for i in 0..m {
            for j in 0..n {
                for l in 0..k {
                    want[i * n + j] = a[i * k + l].mul_add(b[l * n + j], want[i * n + j]);
                }
                want[i * n + j] = want[i * n + j].canonical();
            }
        }
        let bits = |c: &[f32]| c.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for cpu in levels() {
            let mut got = c.clone();
            dot_f32(cpu, &a, &b, &mut got, shape);
            prop_assert_eq!(bits(&got), bits(&want), "{:?} {:?}", shape, cpu.level());
        }
        // The same in f64, scaled so that its products round too.
        let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x) / 3.0).collect::<Vec<_>>();
        let (a, b, c) = (wide(&a), wide(&b), wide(&c));
        let mut want = c.clone();
        for i in 0..m {
            for j in 0..n {
                for l in 0..k {
                    want[i * n + j] = a[i * k + l].mul_add(b[l * n + j], want[i * n + j]);
                }
                want[i * n + j] = want[i * n + j].canonical();
            }
        }
        let bits = |c: &[f64]| c.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for cpu in levels() {
            let mut got = c.clone();
            dot_f64(cpu, &a, &b, &mut got, shape);
            prop_assert_eq!(bits(&got), bits(&want), "f64 {:?} {:?}", shape, cpu.level());
        }
    }

    #[test]
    fn integer_dot_wraps(a in vec(any::<i8>(), 12), b in vec(any::<i8>(), 4 * 21), c in any::<i32>()) {
        let shape = DotShape { m: 3, n: 21, k: 4 };
        for cpu in levels() {
            let mut got = vec![c; 63];
            dot_i32(cpu, &a, &b, &mut got, shape);
            for (at, got) in got.into_iter().enumerate() {
                let (i, j) = (at / 21, at % 21);
                let sum: i32 = (0..4).map(|k| i32::from(a[i * 4 + k]) * i32::from(b[k * 21 + j])).sum();
                prop_assert_eq!(got, c.wrapping_add(sum));
            }
            let mut got = [i32::MAX];
            dot_i32(cpu, &[i32::MAX, 1], &[2, 1], &mut got, DotShape { m: 1, n: 1, k: 2 });
            prop_assert_eq!(got[0], i32::MAX.wrapping_add(i32::MAX.wrapping_mul(2)).wrapping_add(1));
        }
    }

    #[test]
    fn slices_convert_as_lanes_do(bits in vec(any::<u32>(), 0..70), shorter in 0usize..70) {
        let xs: Vec<f32> = bits.iter().map(|b| f32::from_bits(*b)).collect();
        check_conversions::<F16>(&xs, shorter.min(xs.len()));
        check_conversions::<Bf16>(&xs, shorter.min(xs.len()));
        check_conversions::<F8E4M3>(&xs, shorter.min(xs.len()));
        check_conversions::<F8E5M2>(&xs, shorter.min(xs.len()));
    }

    #[test]
    fn lane_loops_are_the_same_on_every_level(a in vec(floats(), 67), b in vec(floats(), 67), c in vec(floats(), 67)) {
        type Unary = (&'static str, fn(f32) -> f32, fn(Cpu, &[f32], &mut [f32]));
        macro_rules! unary {
            ($($of:ident::$name:ident)*) => {
                [$((
                    stringify!($name),
                    <f32 as $of>::$name,
                    |cpu, x, out| cpu.map(x, out, <f32 as $of>::$name),
                )),*]
            };
        }
        let functions: [Unary; 31] = unary!(
            Arithmetic::sqrt Arithmetic::neg Arithmetic::abs Arithmetic::floor Arithmetic::ceil
            Arithmetic::trunc Arithmetic::round Arithmetic::round_even
            Elementary::exp Elementary::exp2 Elementary::exp10 Elementary::expm1 Elementary::log
            Elementary::log2 Elementary::log10 Elementary::log1p Elementary::rsqrt Elementary::cbrt
            Elementary::sin Elementary::cos Elementary::tan Elementary::asin Elementary::acos
            Elementary::atan Elementary::sinh Elementary::cosh Elementary::tanh Elementary::asinh
            Elementary::acosh Elementary::erf Elementary::erfc
        );
        for cpu in levels() {
            for (name, lane, slice) in functions {
                let mut out = vec![0f32; a.len()];
                slice(cpu, &a, &mut out);
                for (x, got) in a.iter().zip(out) {
                    prop_assert_eq!(got.to_bits(), lane(*x).to_bits(), "{}({:e}) {:?}", name, x, cpu.level());
                }
            }
            macro_rules! binary {
                ($($name:ident)*) => {$(
                    let mut out = vec![0f32; a.len()];
                    cpu.zip(&a, &b, &mut out, <f32 as Arithmetic>::$name);
                    for ((x, y), got) in a.iter().zip(&b).zip(out) {
                        let want = <f32 as Arithmetic>::$name(*x, *y);
                        prop_assert_eq!(got.to_bits(), want.to_bits(), "{}({:e}, {:e})", stringify!($name), x, y);
                    }
                )*};
            }
            binary!(add sub mul div rem copysign maxnum minnum maximum minimum);
            let mut out = vec![0f32; a.len()];
            cpu.zip3(&a, &b, &c, &mut out, <f32 as Arithmetic>::fma);
            for (i, got) in out.iter().enumerate() {
                prop_assert_eq!(got.to_bits(), a[i].mul_add(b[i], c[i]).canonical().to_bits());
            }
            let mut updated = a.clone();
            cpu.update(&mut updated, <f32 as Arithmetic>::sqrt);
            cpu.update_with(&mut updated, &b, <f32 as Arithmetic>::mul);
            for (i, got) in updated.iter().enumerate() {
                prop_assert_eq!(got.to_bits(), f32::mul(<f32 as Arithmetic>::sqrt(a[i]), b[i]).to_bits());
            }
            let halves: Vec<F16> = a.iter().map(|x| F16::from_f32(*x)).cycle().take(1100).collect();
            let others: Vec<F16> = b.iter().map(|x| F16::from_f32(*x)).cycle().take(1100).collect();
            let mut out = vec![F16(0); 1100];
            cpu.zip_narrow(&halves, &others, &mut out, <f32 as Arithmetic>::mul);
            for (i, got) in out.iter().enumerate() {
                prop_assert_eq!(*got, F16::mul(halves[i], others[i]));
            }
            cpu.map_narrow(&halves, &mut out, <f32 as Elementary>::exp);
            for (i, got) in out.iter().enumerate() {
                prop_assert_eq!(*got, F16::exp(halves[i]));
            }
            let ints = |xs: &[f32]| xs.iter().map(|x| x.to_bits() as i32).collect::<Vec<_>>();
            let (p, q) = (ints(&a), ints(&b));
            let mut out = vec![0i32; p.len()];
            cpu.zip(&p, &q, &mut out, i32::shr);
            for (i, got) in out.iter().enumerate() {
                prop_assert_eq!(*got, p[i].shr(q[i]));
            }
        }
    }
}

/// Slices convert as lanes do, on every level, and no further than the shorter slice.
fn check_conversions<T: StoredFloat + PartialEq + std::fmt::Debug>(xs: &[f32], shorter: usize) {
    for cpu in levels() {
        let untouched = T::from_f32(1.0);
        let mut narrow = vec![untouched; xs.len()];
        T::narrow_slice(cpu, &xs[..shorter], &mut narrow);
        for (i, got) in narrow.iter().enumerate() {
            let want = if i < shorter {
                T::from_f32(xs[i])
            } else {
                untouched
            };
            assert_eq!(*got, want, "{:08x} {:?}", xs[i].to_bits(), cpu.level());
        }
        T::narrow_slice(cpu, xs, &mut narrow[..shorter]);
        let mut wide = vec![0f32; xs.len()];
        T::widen_slice(cpu, &narrow, &mut wide);
        for (got, x) in wide.iter().zip(&narrow) {
            assert_eq!(got.to_bits(), x.to_f32().to_bits(), "{x:?} {:?}", cpu.level());
        }
        let mut wide = vec![5f32; xs.len()];
        T::widen_slice(cpu, &narrow[..shorter], &mut wide);
        assert!(wide[shorter..].iter().all(|x| *x == 5.0));
    }
}

/// f32 of every exponent and of both signs, with the ends of what the exponentials give.
#[test]
fn exponentials_of_slices_are_those_of_lanes_on_every_level() {
    let ends = [
        -104.0f32,
        -103.972084,
        -103.97208,
        -87.33655,
        88.72283,
        88.72284,
        89.0,
        -150.0,
        -149.99998,
        -126.0,
        128.0,
    ];
    let mut x: Vec<f32> = (0..=u32::MAX).step_by(65521).map(f32::from_bits).collect();
    x.extend((0..20000).map(|i| (i as f32 - 12000.0) * 0.0125));
    // Where erf turns to another formula and to 1, and what is no number; then where it is not yet 1, and beyond.
    let turns = [0.0f32, 0.86, 4.0, f32::INFINITY, f32::NAN].map(|x| [x.next_down(), x, x.next_up()]);
    x.extend(turns.into_iter().flatten().flat_map(|x| [x, -x]));
    x.extend((0..=8f32.to_bits()).step_by(9_973).map(f32::from_bits));
    x.extend(ends.into_iter().flat_map(|x| [x.next_down(), x, x.next_up()]));
    for cpu in levels() {
        let mut out = vec![0f32; x.len()];
        exp_slice(cpu, &x, &mut out);
        for (x, y) in x.iter().zip(&out) {
            assert_eq!(
                y.to_bits(),
                <f32 as Elementary>::exp(*x).to_bits(),
                "exp({x:e}) on {}",
                cpu.level()
            );
        }
        erf_slice(cpu, &x, &mut out);
        for (x, y) in x.iter().zip(&out) {
            assert_eq!(
                y.to_bits(),
                <f32 as Elementary>::erf(*x).to_bits(),
                "erf({x:e}) on {}",
                cpu.level()
            );
        }
        exp2_slice(cpu, &x, &mut out);
        for (x, y) in x.iter().zip(&out) {
            assert_eq!(
                y.to_bits(),
                <f32 as Elementary>::exp2(*x).to_bits(),
                "exp2({x:e}) on {}",
                cpu.level()
            );
        }
    }
}

proptest! {
    #[test]
    fn byte_products_are_those_of_integers_on_every_level(m in 1usize..10, n in 1usize..70, k in 1usize..40, seed: u64) {
        let shape = DotShape { m, n, k };
        let mut state = seed | 1;
        let mut bytes = |count: usize| -> Vec<i8> {
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                // Often the extremes: two products of −128 and −128 are the largest sum of an instruction.
                [i8::MIN, i8::MAX, (state >> 40) as i8][(state >> 33) as usize % 3]
            };
            (0..count).map(|_| next()).collect()
        };
        let (a, b) = (bytes(m * k), bytes(k * n));
        let mut want = vec![i32::MAX; m * n];
        dot_i32(Cpu::SCALAR, &a, &b, &mut want, shape);
        let [a_pairs, b_pairs] = pairs(shape);
        for cpu in levels() {
            let (mut a_room, mut b_room) = (vec![7; a_pairs], vec![7; b_pairs]);
            let mut c = vec![i32::MAX; m * n];
            dot_i8(cpu, &a, &b, &mut c, &mut [&mut a_room[..], &mut b_room[..]], shape);
            prop_assert_eq!(&c, &want, "{}", cpu.level());
        }
    }
}

#[test]
fn every_f16_widens_and_narrows_on_every_level() {
    let all: Vec<F16> = (0..=u16::MAX).map(F16).collect();
    for cpu in levels() {
        let mut wide = vec![0f32; all.len()];
        F16::widen_slice(cpu, &all, &mut wide);
        let mut back = vec![F16(0); all.len()];
        F16::narrow_slice(cpu, &wide, &mut back);
        let mut operands = vec![0f32; all.len()];
        F16::widen_operands(cpu, &all, &mut operands);
        for (wide, operand) in wide.iter().zip(&operands) {
            assert!(wide.to_bits() == operand.to_bits() || (wide.is_nan() && operand.is_nan()));
        }
        for ((half, wide), back) in all.iter().zip(&wide).zip(back) {
            assert_eq!(wide.to_bits(), half.to_f32().to_bits(), "{half:?}");
            assert_eq!(back, if wide.is_nan() { F16(0x7fff) } else { *half });
        }
    }
}

/// Seconds of the fastest of many runs: others use the machine too.
fn fastest(f: &mut dyn FnMut()) -> f64 {
    let time = |f: &mut dyn FnMut()| {
        let start = std::time::Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..100).map(|_| time(f)).fold(f64::INFINITY, f64::min)
}

/// Billions of operations per second of one core on a tile, at each level: additions and multiplications.
#[allow(clippy::print_stdout)]
fn dot_speed(name: &str, shape: DotShape, dot: &mut dyn FnMut(Cpu)) {
    let DotShape { m, n, k } = shape;
    for cpu in levels() {
        let runs = 20 * 64 * 64 * 32 / (m * n * k);
        let seconds = fastest(&mut || (0..runs).for_each(|_| dot(cpu)));
        let operations = 2.0 * (m * n * k) as f64 * runs as f64;
        println!(
            "dot {name} {m}x{n}x{k} {}: {:.1} G/s",
            cpu.level(),
            operations / seconds / 1e9
        );
    }
}

/// Dots and the conversions of their operands, as a step does them.
fn dot_speeds() {
    for (m, n, k) in [
        (64, 64, 32),
        (64, 64, 64),
        (128, 128, 32),
        (128, 256, 64),
        (32, 32, 32),
        (16, 16, 16),
    ] {
        let shape = DotShape { m, n, k };
        let (a, b) = (lcg(m * k, 1), lcg(k * n, 2));
        let mut c = vec![0f32; m * n];
        dot_speed("f32", shape, &mut |cpu| {
            dot_f32(cpu, &a, &b, std::hint::black_box(&mut c), shape)
        });
        let mut wide = [vec![0f32; m * k], vec![0f32; k * n]];
        macro_rules! narrow {
            ($name:literal, $t:ty) => {
                let [x, y] = [&a, &b].map(|x| x.iter().map(|&x| <$t>::from_f32(x)).collect::<Vec<_>>());
                dot_speed($name, shape, &mut |cpu| {
                    <$t>::widen_operands(cpu, &x, &mut wide[0]);
                    <$t>::widen_operands(cpu, &y, &mut wide[1]);
                    dot_f32(cpu, &wide[0], &wide[1], std::hint::black_box(&mut c), shape);
                });
            };
        }
        narrow!("f16", F16);
        narrow!("bf16", Bf16);
        narrow!("f8e4m3", F8E4M3);
        dot_speed("tf32", shape, &mut |cpu| {
            cpu.map(&a, &mut wide[0], cut_tf32);
            cpu.map(&b, &mut wide[1], cut_tf32);
            dot_f32(cpu, &wide[0], &wide[1], std::hint::black_box(&mut c), shape);
        });
        let [x, y] = [&a, &b].map(|x| x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
        let mut c = vec![0f64; m * n];
        dot_speed("f64", shape, &mut |cpu| {
            dot_f64(cpu, &x, &y, std::hint::black_box(&mut c), shape)
        });
        let [x, y] = [&a, &b].map(|x| x.iter().map(|&x| (x * 100.0) as i8).collect::<Vec<_>>());
        let (mut c, mut room) = (vec![0i32; m * n], pairs(shape).map(|count| vec![0; count]));
        dot_speed("i8", shape, &mut |cpu| {
            let [a, b] = &mut room;
            dot_i8(
                cpu,
                &x,
                &y,
                std::hint::black_box(&mut c),
                &mut [&mut a[..], &mut b[..]],
                shape,
            );
        });
    }
}

/// The speed of products, and of lane loops.
/// `cargo test --release -p tilescope-interpreter --test num_simd -- --ignored --nocapture speed`
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout)]
fn speed() {
    dot_speeds();
    let x: Vec<f32> = lcg(4096, 1).iter().map(|x| x * 5.0 + 5.0).collect();
    let mut out = vec![0f32; x.len()];
    let halves: Vec<F16> = x.iter().map(|x| F16::from_f32(*x)).collect();
    let mut half_out = vec![F16(0); x.len()];
    let bf16: Vec<Bf16> = x.iter().map(|x| Bf16::from_f32(*x)).collect();
    let mut bf16_out = vec![Bf16(0); x.len()];
    let ints: Vec<i32> = x.iter().map(|x| x.to_bits() as i32).collect();
    let divisors: Vec<i32> = x.iter().map(|x| *x as i32 + 1).collect();
    let mut int_out = vec![0i32; x.len()];
    for cpu in levels() {
        let time = |name: &str, f: &mut dyn FnMut()| {
            let seconds = fastest(f);
            println!(
                "{name} {}: {:.2} ns/lane",
                cpu.level(),
                seconds * 1e9 / x.len() as f64
            );
        };
        macro_rules! unary {
            ($($of:ident::$name:ident)*) => {$(
                time(stringify!($name), &mut || cpu.map(&x, &mut out, <f32 as $of>::$name));
            )*};
        }
        unary!(Arithmetic::sqrt Arithmetic::floor Arithmetic::round
            Elementary::exp Elementary::exp2 Elementary::expm1 Elementary::log Elementary::log2
            Elementary::log1p Elementary::tanh Elementary::rsqrt Elementary::sin Elementary::cos Elementary::tan
            Elementary::erf);
        time("exp_slice", &mut || exp_slice(cpu, &x, &mut out));
        time("erf_slice", &mut || erf_slice(cpu, &x, &mut out));
        time("exp2_slice", &mut || exp2_slice(cpu, &x, &mut out));
        time("div", &mut || cpu.zip(&x, &x, &mut out, <f32 as Arithmetic>::div));
        time("add", &mut || cpu.zip(&x, &x, &mut out, <f32 as Arithmetic>::add));
        time("maxnum", &mut || {
            cpu.zip(&x, &x, &mut out, <f32 as Arithmetic>::maxnum)
        });
        time("fma", &mut || {
            cpu.zip3(&x, &x, &x, &mut out, <f32 as Arithmetic>::fma)
        });
        time("f16 widen", &mut || F16::widen_slice(cpu, &halves, &mut out));
        time("f16 narrow", &mut || F16::narrow_slice(cpu, &x, &mut half_out));
        time("f16 add", &mut || {
            cpu.zip(&halves, &halves, &mut half_out, F16::add)
        });
        time("f16 zip_narrow", &mut || {
            cpu.zip_narrow(&halves, &halves, &mut half_out, <f32 as Arithmetic>::add)
        });
        time("bf16 widen", &mut || Bf16::widen_slice(cpu, &bf16, &mut out));
        time("bf16 narrow", &mut || Bf16::narrow_slice(cpu, &x, &mut bf16_out));
        time("bf16 mul", &mut || {
            cpu.zip(&bf16, &bf16, &mut bf16_out, Bf16::mul)
        });
        time("i32 div", &mut || {
            cpu.zip(&ints, &divisors, &mut int_out, i32::div)
        });
        time("i32 shl", &mut || {
            cpu.zip(&ints, &divisors, &mut int_out, i32::shl)
        });
    }
}
