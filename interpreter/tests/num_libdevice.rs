//! libdevice: the signatures that Triton emits, and values of the functions from 60-digit arithmetic.

use std::collections::HashSet;

use proptest::prelude::{any, prop_assert, proptest};
use tilescope_interpreter::num::libdevice::{Eval, Kind, functions, lookup};
use tilescope_interpreter::simd::Cpu;

fn data(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split(' ').map(str::to_owned).collect())
        .collect()
}

fn kind(name: &str) -> Kind {
    match name {
        "i32" => Kind::I32,
        "i64" => Kind::I64,
        "f32" => Kind::F32,
        "f64" => Kind::F64,
        other => panic!("{other}"),
    }
}

/// What Triton can emit and this table does not have; to be refused by name.
const ABSENT: [&str; 26] = [
    "__nv_rcp64h",
    "__nv_jnf",
    "__nv_jn",
    "__nv_ynf",
    "__nv_yn",
    "__nv_erfcx",
    "__nv_dadd_rz",
    "__nv_dadd_rd",
    "__nv_dadd_ru",
    "__nv_dmul_rz",
    "__nv_dmul_rd",
    "__nv_ddiv_rz",
    "__nv_ddiv_rd",
    "__nv_ddiv_ru",
    "__nv_dsqrt_rz",
    "__nv_dsqrt_rd",
    "__nv_dsqrt_ru",
    "__nv_drcp_rz",
    "__nv_drcp_rd",
    "__nv_drcp_ru",
    "__nv_dsub_rz",
    "__nv_dsub_rd",
    "__nv_dsub_ru",
    "__nv_fma_rz",
    "__nv_fma_rd",
    "__nv_fma_ru",
];

#[test]
fn signatures_are_those_that_triton_emits() {
    let absent: HashSet<&str> = ABSENT.into_iter().collect();
    let mut known = 0;
    for row in data("libdevice_signatures.txt") {
        let [symbol, args, result] = &row[..] else {
            panic!("{row:?}")
        };
        let Some(function) = lookup(symbol) else {
            assert!(absent.contains(symbol.as_str()), "{symbol} is not in the table");
            continue;
        };
        assert!(!absent.contains(symbol.as_str()), "{symbol} is in the table");
        let args: Vec<Kind> = args.split(',').map(kind).collect();
        assert_eq!(
            (function.args, function.result),
            (&args[..], kind(result)),
            "{symbol}"
        );
        assert_eq!(function.symbol, symbol);
        known += 1;
    }
    assert_eq!(known, 311 - absent.len());
}

#[test]
fn symbols_are_unique_and_documented() {
    let mut seen = HashSet::new();
    for function in functions() {
        assert!(seen.insert(function.symbol), "{} twice", function.symbol);
        assert!(function.symbol.starts_with("__nv_") && !function.accuracy.is_empty());
    }
    assert!(lookup("__nv_nothing").is_none() && lookup("tanh").is_none() && lookup("").is_none());
}

#[test]
fn amd_spellings_find_the_same_functions() {
    for (amd, cuda) in [
        ("__ocml_tanh_f32", "__nv_tanhf"),
        ("__ocml_tanh_f64", "__nv_tanh"),
        ("__ocml_isnan_f32", "__nv_isnanf"),
        ("__ocml_isnan_f64", "__nv_isnand"),
        ("__ocml_isfinite_f32", "__nv_finitef"),
        ("__ocml_isfinite_f64", "__nv_isfinited"),
        ("__ocml_pown_f32", "__nv_powif"),
        ("__ocml_i0_f64", "__nv_cyl_bessel_i0"),
        ("__ocml_fma_f32", "__nv_fmaf"),
        ("__ockl_popcount_u64", "__nv_popcll"),
    ] {
        assert_eq!(lookup(amd).map(|f| f.symbol), Some(cuda), "{amd}");
    }
    assert!(lookup("__ocml_erfcx_f64").is_none() && lookup("__ocml_tanh_f16").is_none());
}

/// Distance in units of the last place of the wanted value.
fn ulps_f64(got: f64, want: f64) -> f64 {
    if got.to_bits() == want.to_bits() {
        0.0
    } else {
        (got - want).abs() / (want.abs().next_up() - want.abs())
    }
}

#[test]
fn values_of_functions_of_one_float() {
    for row in data("libdevice_values.txt") {
        let [name, x, y] = &row[..] else { panic!("{row:?}") };
        let float = |bits: &str| f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        let (x, y) = (float(x), float(y));
        if let Some(function) = lookup(&format!("__nv_{name}")) {
            let Eval::F64ToF64(f) = function.eval else {
                panic!("{name}")
            };
            let near_zero = function.accuracy.contains("near zeros") && (f(x) - y).abs() < 1e-15;
            let bound: f64 = function.accuracy.split(' ').next().unwrap().parse().unwrap();
            let off = ulps_f64(f(x), y);
            assert!(
                off <= bound || near_zero,
                "{name}({x:e}) = {:e}, not {y:e}: {off} ulp",
                f(x)
            );
        }
        // In f32 only where the argument is one, so that the wanted result is the same.
        let function = lookup(&format!("__nv_{name}f")).unwrap();
        let Eval::F32ToF32(f) = function.eval else {
            panic!("{name}f")
        };
        if f64::from(x as f32) == x {
            let (got, want) = (f(x as f32), y as f32);
            // What is computed in f64 is the nearest f32; what is computed in f32 may be the other neighbour.
            let neighbours = function.accuracy.starts_with("1 ulp")
                && (got == want.next_up() || got == want.next_down())
                && (f64::from(got) - y).abs() < f64::from(want.abs().next_up() - want.abs());
            assert!(
                got.to_bits() == want.to_bits() || neighbours,
                "{name}f({x:e}) = {got:e}, not {want:e}"
            );
        }
    }
}

#[test]
fn slice_forms_are_the_lane_forms() {
    let xs: Vec<f32> = (-40..40)
        .map(|i| i as f32 * 0.37)
        .chain([f32::NAN, f32::INFINITY, -0.0])
        .collect();
    let mut count = 0;
    for function in functions() {
        let (Some(slice), Eval::F32ToF32(lane)) = (function.f32_slice, function.eval) else {
            continue;
        };
        let mut out = vec![0f32; xs.len()];
        slice(Cpu::detect(), &xs, &mut out);
        for (x, got) in xs.iter().zip(out) {
            assert_eq!(got.to_bits(), lane(*x).to_bits(), "{}({x})", function.symbol);
        }
        count += 1;
    }
    assert!(count > 30);
}

proptest! {
    /// Whatever the arguments, a function returns, soon, and with a canonical NaN if with any.
    #[test]
    fn no_argument_is_too_much(i in any::<[i32; 3]>(), l in any::<[i64; 2]>(), small in -9i32..9) {
        let (x, y) = (i.map(|b| f32::from_bits(b as u32)), l.map(|b| f64::from_bits(b as u64)));
        for function in functions() {
            let moves_bits = ["as_float", "as_double", "hiloint", "fabs", "copysign"];
            let (mut single, mut double) = (0f32, 0f64);
            match function.eval {
                Eval::I32ToI32(f) => _ = f(i[0]),
                Eval::I64ToI64(f) => _ = f(l[0]),
                Eval::I64ToI32(f) => _ = f(l[0]),
                Eval::I32I32ToI32(f) => _ = f(i[0], i[1]),
                Eval::I64I64ToI64(f) => _ = f(l[0], l[1]),
                Eval::I32I32I32ToI32(f) => _ = f(i[0], i[1], i[2]),
                Eval::I32ToF32(f) => single = f(i[0]),
                Eval::I32ToF64(f) => double = f(i[0]),
                Eval::I64ToF32(f) => single = f(l[0]),
                Eval::I64ToF64(f) => double = f(l[0]),
                Eval::I32I32ToF64(f) => double = f(i[0], i[1]),
                Eval::F32ToI32(f) => _ = f(x[0]),
                Eval::F32ToI64(f) => _ = f(x[0]),
                Eval::F64ToI32(f) => _ = f(y[0]),
                Eval::F64ToI64(f) => _ = f(y[0]),
                Eval::F64ToF32(f) => single = f(y[0]),
                Eval::F32ToF32(f) => single = f(x[0]),
                Eval::F64ToF64(f) => double = f(y[0]),
                Eval::F32F32ToF32(f) => single = f(x[0], x[1]),
                Eval::F64F64ToF64(f) => double = f(y[0], y[1]),
                Eval::F32I32ToF32(f) => single = f(f(x[0], small), i[1]),
                Eval::F64I32ToF64(f) => double = f(f(y[0], small), i[1]),
                Eval::F32F32F32ToF32(f) => single = f(x[0], x[1], x[2]),
                Eval::F64F64F64ToF64(f) => double = f(y[0], y[1], y[0]),
                Eval::F32F32F32F32ToF32(f) => single = f(x[0], x[1], x[2], x[0]),
                Eval::F64F64F64F64ToF64(f) => double = f(y[0], y[1], y[0], y[1]),
            }
            if !moves_bits.iter().any(|name| function.symbol.contains(name)) {
                prop_assert!(!single.is_nan() || single.to_bits() == 0x7fff_ffff, "{}", function.symbol);
                prop_assert!(!double.is_nan() || double.to_bits() == u64::MAX >> 1, "{}", function.symbol);
            }
        }
    }
}

/// Calls a function of the table by its signature.
macro_rules! call {
    ($symbol:literal, $variant:ident($($arg:expr),*)) => {{
        let Eval::$variant(f) = lookup($symbol).unwrap().eval else { panic!($symbol) };
        f($($arg),*)
    }};
}

#[test]
fn integer_functions() {
    assert_eq!(call!("__nv_clz", I32ToI32(0)), 32);
    assert_eq!(call!("__nv_clzll", I64ToI32(1)), 63);
    assert_eq!(call!("__nv_popc", I32ToI32(-1)), 32);
    assert_eq!(call!("__nv_ffs", I32ToI32(0)), 0);
    assert_eq!(call!("__nv_ffs", I32ToI32(8)), 4);
    assert_eq!(call!("__nv_ffsll", I64ToI32(1 << 40)), 41);
    assert_eq!(call!("__nv_brev", I32ToI32(1)), i32::MIN);
    assert_eq!(
        call!("__nv_byte_perm", I32I32I32ToI32(0x33221100, 0x77665544, 0x0123)),
        0x00112233
    );
    assert_eq!(
        call!("__nv_byte_perm", I32I32I32ToI32(0x33221100, 0x77665544, 0xcd64)),
        0x44556644
    );
    assert_eq!(call!("__nv_mulhi", I32I32ToI32(-1, 1)), -1);
    assert_eq!(call!("__nv_umulhi", I32I32ToI32(-1, 2)), 1);
    assert_eq!(call!("__nv_umul64hi", I64I64ToI64(-1, -1)), -2);
    assert_eq!(call!("__nv_mul24", I32I32ToI32(0x01ff_ffff, 3)), -3);
    assert_eq!(call!("__nv_umul24", I32I32ToI32(0x7fff_ffff, 2)), 0x01ff_fffe);
    assert_eq!(call!("__nv_sad", I32I32I32ToI32(-5, 7, 100)), 112);
    assert_eq!(call!("__nv_usad", I32I32I32ToI32(-1, 0, 1)), 0);
    assert_eq!(call!("__nv_abs", I32ToI32(i32::MIN)), i32::MIN);
    assert_eq!(call!("__nv_hadd", I32I32ToI32(-3, 0)), -2);
    assert_eq!(call!("__nv_rhadd", I32I32ToI32(-3, 0)), -1);
    assert_eq!(call!("__nv_uhadd", I32I32ToI32(-1, -1)), -1);
    assert_eq!(call!("__nv_urhadd", I32I32ToI32(-1, 0)), i32::MIN);
}

#[test]
fn bits_and_conversions() {
    assert_eq!(call!("__nv_float_as_int", F32ToI32(-0.0)), i32::MIN);
    assert_eq!(call!("__nv_hiloint2double", I32I32ToF64(0x3ff0_0000, 0)), 1.0);
    assert_eq!(call!("__nv_double2hiint", F64ToI32(1.0)), 0x3ff0_0000);
    assert_eq!(
        call!("__nv_double2loint", F64ToI32(f64::from_bits(0x1_ffff_fffe))),
        -2
    );
    assert_eq!(call!("__nv_isinff", F32ToI32(f32::NEG_INFINITY)), 1);
    assert_eq!(call!("__nv_signbitd", F64ToI32(-0.0)), 1);
    assert_eq!(call!("__nv_ilogbf", F32ToI32(f32::from_bits(1))), -149);
    assert_eq!(call!("__nv_ilogb", F64ToI32(0.0)), i32::MIN);
    assert_eq!(call!("__nv_ilogb", F64ToI32(f64::INFINITY)), i32::MAX);
    assert_eq!(call!("__nv_logbf", F32ToF32(0.3)), -2.0);
    assert_eq!(call!("__nv_logb", F64ToF64(0.0)), f64::NEG_INFINITY);
    assert_eq!(call!("__nv_ldexpf", F32I32ToF32(1.5, -149)).to_bits(), 2);
    assert_eq!(call!("__nv_ldexpf", F32I32ToF32(1.0, i32::MAX)), f32::INFINITY);
    assert_eq!(
        call!("__nv_nextafterf", F32F32ToF32(0.0, -1.0)).to_bits(),
        0x8000_0001
    );
    let all = |x: f32| {
        [
            call!("__nv_float2int_rn", F32ToI32(x)),
            call!("__nv_float2int_rz", F32ToI32(x)),
            call!("__nv_float2int_rd", F32ToI32(x)),
            call!("__nv_float2int_ru", F32ToI32(x)),
        ]
    };
    assert_eq!(all(2.5), [2, 2, 2, 3]);
    assert_eq!(all(-2.5), [-2, -2, -3, -2]);
    assert_eq!(all(3e9), [i32::MAX; 4]);
    assert_eq!(all(f32::NAN), [0; 4]);
    assert_eq!(call!("__nv_double2int_rz", F64ToI32(f64::NAN)), i32::MIN);
    assert_eq!(call!("__nv_float2uint_rn", F32ToI32(3e9)) as u32, 3_000_000_000);
    assert_eq!(
        call!("__nv_float2ull_rz", F32ToI64(1.8e19)) as u64,
        18_000_000_404_716_257_280
    );
    assert_eq!(call!("__nv_double2ll_rd", F64ToI64(-0.5)), -1);
    assert_eq!(call!("__nv_llroundf", F32ToI64(-2.5)), -3);
    assert_eq!(call!("__nv_llrint", F64ToI64(2.5)), 2);
    assert_eq!(call!("__nv_int2float_rz", I32ToF32(16_777_219)), 16_777_218.0);
    assert_eq!(call!("__nv_int2float_ru", I32ToF32(16_777_217)), 16_777_218.0);
    assert_eq!(call!("__nv_uint2float_rd", I32ToF32(-1)), 4_294_967_040.0);
    assert_eq!(
        call!("__nv_ull2double_rn", I64ToF64(-1)),
        18_446_744_073_709_551_616.0
    );
}

#[test]
fn arithmetic_and_functions_of_several_arguments() {
    assert_eq!(call!("__nv_fmul_rn", F32F32ToF32(3.0, 0.5)), 1.5);
    assert_eq!(call!("__nv_fast_fdividef", F32F32ToF32(1.0, 3.0)), 1.0 / 3.0);
    assert_eq!(
        call!("__nv_fsub_rd", F32F32ToF32(1.0, 1.0)).to_bits(),
        0x8000_0000
    );
    assert_eq!(call!("__nv_remainderf", F32F32ToF32(5.0, 3.0)), -1.0);
    assert_eq!(call!("__nv_fmod", F64F64ToF64(-5.0, 3.0)), -2.0);
    assert_eq!(call!("__nv_fdim", F64F64ToF64(1.0, 3.0)), 0.0);
    assert_eq!(call!("__nv_saturatef", F32ToF32(f32::NAN)).to_bits(), 0);
    assert_eq!(call!("__nv_saturatef", F32ToF32(7.0)), 1.0);
    assert_eq!(call!("__nv_hypotf", F32F32ToF32(3e30, 4e30)), 5e30);
    assert_eq!(call!("__nv_hypot", F64F64ToF64(3e300, 4e300)), 5e300);
    assert_eq!(
        call!("__nv_hypot", F64F64ToF64(f64::NAN, f64::INFINITY)),
        f64::INFINITY
    );
    assert!(
        ulps_f64(
            call!("__nv_rhypot", F64F64ToF64(1.5e308, 1.5e308)),
            0.25 / (1.5e308 * 0.25 * std::f64::consts::SQRT_2)
        ) <= 1.0
    );
    assert_eq!(call!("__nv_norm3df", F32F32F32ToF32(2.0, 3.0, 6.0)), 7.0);
    assert_eq!(call!("__nv_norm4d", F64F64F64F64ToF64(2.0, 4.0, 5.0, 6.0)), 9.0);
    assert_eq!(
        call!("__nv_rnorm4df", F32F32F32F32ToF32(2.0, 4.0, 5.0, 6.0)),
        1.0 / 9.0
    );
    assert_eq!(call!("__nv_powif", F32I32ToF32(3.0, -2)), 1.0 / 9.0);
    assert_eq!(
        call!("__nv_fast_powf", F32F32ToF32(2.0, 0.5)),
        std::f32::consts::SQRT_2
    );
    assert_eq!(
        call!("__nv_atan2f", F32F32ToF32(-0.0, -1.0)),
        -std::f32::consts::PI
    );
    assert_eq!(
        call!("__nv_fmaf_ru", F32F32F32ToF32(1.0, 1.0, 1e-30)),
        1.0 + f32::EPSILON
    );
    assert_eq!(call!("__nv_sinpif", F32ToF32(-3.0)).to_bits(), 0x8000_0000);
    assert_eq!(call!("__nv_cospif", F32ToF32(0.5)).to_bits(), 0);
    assert_eq!(
        call!("__nv_sinpif", F32ToF32(f32::INFINITY)).to_bits(),
        0x7fff_ffff
    );
    assert_eq!(call!("__nv_erfinvf", F32ToF32(-1.0)), f32::NEG_INFINITY);
    assert_eq!(call!("__nv_erfinvf", F32ToF32(1.5)).to_bits(), 0x7fff_ffff);
    assert_eq!(call!("__nv_erfcinvf", F32ToF32(2.0)), f32::NEG_INFINITY);
    assert_eq!(call!("__nv_normcdfinvf", F32ToF32(0.0)), f32::NEG_INFINITY);
    assert_eq!(call!("__nv_normcdf", F64ToF64(f64::INFINITY)), 1.0);
}
