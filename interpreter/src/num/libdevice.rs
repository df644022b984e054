//! libdevice, NVIDIA's mathematical library of device functions, by symbol name.
//!
//! Triton's `tl.extra.libdevice` becomes `tt.extern_elementwise` with a symbol such as `__nv_tanhf`.
//! [`lookup`] gives its signature and its lane function; a symbol that is not in the tables is not
//! supported, and is to be refused by name. AMD's spelling (`__ocml_tanh_f32`) finds the same functions.
//!
//! Functions are computed as exactly as the column `accuracy` says, which is usually more exact than the
//! device: the `fast` and `approx` forms are not imitated. Accuracies are in units of the last place
//! against the exact result; subnormals are kept, where the device's f32 forms mostly flush them (`floorf`
//! and `ceilf` flush them here too). NaN results are canonical.
//!
//! Absent: `__nv_rcp64h` (defined by an instruction's approximation), `__nv_jn`, `__nv_yn` (their cost
//! grows with n), the directed roundings of f64 arithmetic, and f64 `erfcx`.

use super::directed::{self, Toward};
use super::float::{Canonical, StoredFloat};
use super::int::{FromFloat, Int, ToFloat};
use super::math::{Arithmetic, Elementary, powi};
use super::special;
use crate::simd::Cpu;

/// The type of an argument or result. Signless: whether an integer is unsigned is the function's matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `i32`.
    I32,
    /// `i64`.
    I64,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

/// A function of one f32 over slices: `out[i] = f(x[i])`, over the shorter length.
pub type SliceFunction = fn(Cpu, &[f32], &mut [f32]);

/// A function of libdevice.
#[derive(Debug)]
pub struct LibFunction {
    /// The name, as CUDA spells it.
    pub symbol: &'static str,
    /// Types of the arguments.
    pub args: &'static [Kind],
    /// Type of the result.
    pub result: Kind,
    /// The lane function.
    pub eval: Eval,
    /// The same over slices, for the functions of one f32 (most of them vectorise).
    pub f32_slice: Option<SliceFunction>,
    /// How near the result is to the exact one.
    pub accuracy: &'static str,
}

/// Declares [`Eval`] with the signature of each variant.
macro_rules! signatures {
    ($($variant:ident($($arg:ident $t:ty),*) -> $result:ident $r:ty;)*) => {
        /// A lane function, by its signature.
        #[derive(Clone, Copy, Debug)]
        pub enum Eval {
            $(
                #[doc = concat!("`fn(", $(stringify!($t), ", ",)* ") -> ", stringify!($r), "`")]
                $variant(fn($($t),*) -> $r),
            )*
        }

        impl Eval {
            /// Types of the arguments.
            pub const fn args(&self) -> &'static [Kind] {
                match self {
                    $(Eval::$variant(_) => &[$(Kind::$arg),*],)*
                }
            }

            /// Type of the result.
            pub const fn result(&self) -> Kind {
                match self {
                    $(Eval::$variant(_) => Kind::$result,)*
                }
            }
        }
    };
}

signatures! {
    I32ToI32(I32 i32) -> I32 i32;
    I64ToI64(I64 i64) -> I64 i64;
    I64ToI32(I64 i64) -> I32 i32;
    I32I32ToI32(I32 i32, I32 i32) -> I32 i32;
    I64I64ToI64(I64 i64, I64 i64) -> I64 i64;
    I32I32I32ToI32(I32 i32, I32 i32, I32 i32) -> I32 i32;
    I32ToF32(I32 i32) -> F32 f32;
    I32ToF64(I32 i32) -> F64 f64;
    I64ToF32(I64 i64) -> F32 f32;
    I64ToF64(I64 i64) -> F64 f64;
    I32I32ToF64(I32 i32, I32 i32) -> F64 f64;
    F32ToI32(F32 f32) -> I32 i32;
    F32ToI64(F32 f32) -> I64 i64;
    F64ToI32(F64 f64) -> I32 i32;
    F64ToI64(F64 f64) -> I64 i64;
    F64ToF32(F64 f64) -> F32 f32;
    F32ToF32(F32 f32) -> F32 f32;
    F64ToF64(F64 f64) -> F64 f64;
    F32F32ToF32(F32 f32, F32 f32) -> F32 f32;
    F64F64ToF64(F64 f64, F64 f64) -> F64 f64;
    F32I32ToF32(F32 f32, I32 i32) -> F32 f32;
    F64I32ToF64(F64 f64, I32 i32) -> F64 f64;
    F32F32F32ToF32(F32 f32, F32 f32, F32 f32) -> F32 f32;
    F64F64F64ToF64(F64 f64, F64 f64, F64 f64) -> F64 f64;
    F32F32F32F32ToF32(F32 f32, F32 f32, F32 f32, F32 f32) -> F32 f32;
    F64F64F64F64ToF64(F64 f64, F64 f64, F64 f64, F64 f64) -> F64 f64;
}

/// The function of a symbol, in CUDA's spelling or AMD's; none if it is not supported.
pub fn lookup(symbol: &str) -> Option<&'static LibFunction> {
    let find = |name: &str| functions().find(|function| function.symbol == name);
    if symbol.starts_with("__nv_") {
        find(symbol)
    } else {
        find(&cuda_spelling(symbol)?)
    }
}

/// Every supported function.
pub fn functions() -> impl Iterator<Item = &'static LibFunction> {
    [
        INTEGERS,
        BITS,
        CONVERSIONS,
        DIRECTED,
        ARITHMETIC,
        ELEMENTARY,
        ELEMENTARY_F64,
        SPECIAL,
        MIXED,
    ]
    .into_iter()
    .flatten()
}

/// `__nv_tanhf` for `__ocml_tanh_f32`, and so on.
fn cuda_spelling(symbol: &str) -> Option<String> {
    match symbol {
        "__ockl_clz_u32" => return Some("__nv_clz".to_owned()),
        "__ockl_clz_u64" => return Some("__nv_clzll".to_owned()),
        "__ockl_popcount_u32" => return Some("__nv_popc".to_owned()),
        "__ockl_popcount_u64" => return Some("__nv_popcll".to_owned()),
        _ => {}
    }
    let name = symbol.strip_prefix("__ocml_")?;
    let (name, single) = match name.strip_suffix("_f32") {
        Some(name) => (name, true),
        None => (name.strip_suffix("_f64")?, false),
    };
    let name = match (name, single) {
        ("i0", _) => "cyl_bessel_i0",
        ("i1", _) => "cyl_bessel_i1",
        ("pown", _) => "powi",
        // CUDA marks the f64 forms of these with a d.
        ("isnan" | "isinf" | "signbit", false) => return Some(format!("__nv_{name}d")),
        ("isfinite", true) => "finite",
        ("isfinite", false) => "isfinited",
        _ => name,
    };
    Some(format!("__nv_{name}{}", if single { "f" } else { "" }))
}

const EXACT: &str = "exact";
const CORRECTLY_ROUNDED: &str = "correctly rounded";
const BY_F64: &str = "0.501 ulp: computed in f64";
const BY_F32: &str = "1 ulp: computed in f32";

/// A row of a table.
const fn row(symbol: &'static str, eval: Eval, accuracy: &'static str) -> LibFunction {
    LibFunction {
        symbol,
        args: eval.args(),
        result: eval.result(),
        eval,
        f32_slice: None,
        accuracy,
    }
}

/// Rows of one accuracy: `name: Variant = lane function;`.
macro_rules! rows {
    ($accuracy:expr; $($name:literal: $variant:ident = $f:expr;)*) => {
        &[$(row(concat!("__nv_", $name), Eval::$variant($f), $accuracy)),*]
    };
}

static INTEGERS: &[LibFunction] = rows! { EXACT;
    "clz": I32ToI32 = |x| x.leading_zeros() as i32;
    "clzll": I64ToI32 = |x| x.leading_zeros() as i32;
    "popc": I32ToI32 = |x| x.count_ones() as i32;
    "popcll": I64ToI32 = |x| x.count_ones() as i32;
    // The position of the lowest set bit, from 1; 0 if there is none.
    "ffs": I32ToI32 = |x| if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    "ffsll": I64ToI32 = |x| if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    "brev": I32ToI32 = |x| x.reverse_bits();
    "brevll": I64ToI64 = |x| x.reverse_bits();
    "byte_perm": I32I32I32ToI32 = byte_perm;
    "mulhi": I32I32ToI32 = |a, b| a.mulhi(b);
    "umulhi": I32I32ToI32 = |a, b| (a as u32).mulhi(b as u32) as i32;
    "mul64hi": I64I64ToI64 = |a, b| a.mulhi(b);
    "umul64hi": I64I64ToI64 = |a, b| (a as u64).mulhi(b as u64) as i64;
    // Products of the low 24 bits, signed and unsigned.
    "mul24": I32I32ToI32 = |a, b| ((a << 8) >> 8).wrapping_mul((b << 8) >> 8);
    "umul24": I32I32ToI32 = |a, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff);
    // |a - b| + c.
    "sad": I32I32I32ToI32 = |a, b, c| (a.abs_diff(b) as i32).wrapping_add(c);
    "usad": I32I32I32ToI32 = |a, b, c| ((a as u32).abs_diff(b as u32) as i32).wrapping_add(c);
    "abs": I32ToI32 = |x| x.wrapping_abs();
    "llabs": I64ToI64 = |x| x.wrapping_abs();
    // Averages rounded down, and with r rounded up.
    "hadd": I32I32ToI32 = |a, b| ((i64::from(a) + i64::from(b)) >> 1) as i32;
    "rhadd": I32I32ToI32 = |a, b| ((i64::from(a) + i64::from(b) + 1) >> 1) as i32;
    "uhadd": I32I32ToI32 = |a, b| ((u64::from(a as u32) + u64::from(b as u32)) >> 1) as i32;
    "urhadd": I32I32ToI32 = |a, b| ((u64::from(a as u32) + u64::from(b as u32) + 1) >> 1) as i32;
    "max": I32I32ToI32 = |a, b| a.max(b);
    "min": I32I32ToI32 = |a, b| a.min(b);
    "llmax": I64I64ToI64 = |a, b| a.max(b);
    "llmin": I64I64ToI64 = |a, b| a.min(b);
    "umax": I32I32ToI32 = |a, b| (a as u32).max(b as u32) as i32;
    "umin": I32I32ToI32 = |a, b| (a as u32).min(b as u32) as i32;
    "ullmax": I64I64ToI64 = |a, b| (a as u64).max(b as u64) as i64;
    "ullmin": I64I64ToI64 = |a, b| (a as u64).min(b as u64) as i64;
};

/// Four bytes picked from the eight of y:x, by the low three bits of each of the selector's four nibbles.
fn byte_perm(x: i32, y: i32, selector: i32) -> i32 {
    let bytes = (u64::from(y as u32) << 32) | u64::from(x as u32);
    let pick = |i: u32| ((bytes >> (8 * ((selector as u32 >> (4 * i)) & 7))) & 0xff) as u32;
    (pick(0) | pick(1) << 8 | pick(2) << 16 | pick(3) << 24) as i32
}

static BITS: &[LibFunction] = rows! { EXACT;
    "int_as_float": I32ToF32 = |x| f32::from_bits(x as u32);
    "uint_as_float": I32ToF32 = |x| f32::from_bits(x as u32);
    "float_as_int": F32ToI32 = |x| x.to_bits() as i32;
    "float_as_uint": F32ToI32 = |x| x.to_bits() as i32;
    "longlong_as_double": I64ToF64 = |x| f64::from_bits(x as u64);
    "double_as_longlong": F64ToI64 = |x| x.to_bits() as i64;
    "hiloint2double": I32I32ToF64 = |high, low| {
        f64::from_bits((u64::from(high as u32) << 32) | u64::from(low as u32))
    };
    "double2hiint": F64ToI32 = |x| (x.to_bits() >> 32) as i32;
    "double2loint": F64ToI32 = |x| x.to_bits() as i32;
    "isnanf": F32ToI32 = |x| i32::from(x.is_nan());
    "isnand": F64ToI32 = |x| i32::from(x.is_nan());
    "isinff": F32ToI32 = |x| i32::from(x.is_infinite());
    "isinfd": F64ToI32 = |x| i32::from(x.is_infinite());
    "finitef": F32ToI32 = |x| i32::from(x.is_finite());
    "isfinited": F64ToI32 = |x| i32::from(x.is_finite());
    "signbitf": F32ToI32 = |x| i32::from(x.is_sign_negative());
    "signbitd": F64ToI32 = |x| i32::from(x.is_sign_negative());
    "fabsf": F32ToF32 = <f32 as Arithmetic>::abs;
    "fabs": F64ToF64 = <f64 as Arithmetic>::abs;
    "copysignf": F32F32ToF32 = <f32 as Arithmetic>::copysign;
    "copysign": F64F64ToF64 = <f64 as Arithmetic>::copysign;
    "nextafterf": F32F32ToF32 = |x, to| libm::nextafterf(x, to).canonical();
    "nextafter": F64F64ToF64 = |x, to| libm::nextafter(x, to).canonical();
    "ilogbf": F32ToI32 = |x| libm::ilogb(x.into());
    "ilogb": F64ToI32 = libm::ilogb;
    "logbf": F32ToF32 = |x| f32::from_f64(special::logb(x.into()));
    "logb": F64ToF64 = |x| special::logb(x).canonical();
    "ldexpf": F32I32ToF32 = ldexpf;
    "scalbnf": F32I32ToF32 = ldexpf;
    "ldexp": F64I32ToF64 = |x, n| libm::ldexp(x, n).canonical();
    "scalbn": F64I32ToF64 = |x, n| libm::ldexp(x, n).canonical();
};

/// x·2^n: f64 has the range for one rounding, to f32.
fn ldexpf(x: f32, n: i32) -> f32 {
    f32::from_f64(libm::ldexp(x.into(), n))
}

/// Rows of a conversion of floats to integers: rounded to an integral value in four ways, then converted as
/// [`FromFloat`] says (saturated; what a NaN becomes depends on both types).
macro_rules! to_integers {
    ($($name:literal: $variant:ident, $float:ident, $convert:ident, $int:ident as $result:ident;)*) => {
        &[$(
            row(
                concat!("__nv_", $name, "_rn"),
                Eval::$variant(|x| <$int as FromFloat>::$convert(<$float as Arithmetic>::round_even(x)) as $result),
                EXACT,
            ),
            row(
                concat!("__nv_", $name, "_rz"),
                Eval::$variant(|x| <$int as FromFloat>::$convert(x) as $result),
                EXACT,
            ),
            row(
                concat!("__nv_", $name, "_rd"),
                Eval::$variant(|x| <$int as FromFloat>::$convert(<$float as Arithmetic>::floor(x)) as $result),
                EXACT,
            ),
            row(
                concat!("__nv_", $name, "_ru"),
                Eval::$variant(|x| <$int as FromFloat>::$convert(<$float as Arithmetic>::ceil(x)) as $result),
                EXACT,
            ),
        )*]
    };
}

static CONVERSIONS: &[LibFunction] = to_integers! {
    "float2int": F32ToI32, f32, from_f32, i32 as i32;
    "float2uint": F32ToI32, f32, from_f32, u32 as i32;
    "float2ll": F32ToI64, f32, from_f32, i64 as i64;
    "float2ull": F32ToI64, f32, from_f32, u64 as i64;
    "double2int": F64ToI32, f64, from_f64, i32 as i32;
    "double2uint": F64ToI32, f64, from_f64, u32 as i32;
    "double2ll": F64ToI64, f64, from_f64, i64 as i64;
    "double2ull": F64ToI64, f64, from_f64, u64 as i64;
};

static DIRECTED: &[LibFunction] = rows! { CORRECTLY_ROUNDED;
    "llrintf": F32ToI64 = |x| i64::from_f32(<f32 as Arithmetic>::round_even(x));
    "llrint": F64ToI64 = |x| i64::from_f64(<f64 as Arithmetic>::round_even(x));
    "llroundf": F32ToI64 = |x| i64::from_f32(<f32 as Arithmetic>::round(x));
    "llround": F64ToI64 = |x| i64::from_f64(<f64 as Arithmetic>::round(x));
    "double2float_rn": F64ToF32 = f32::from_f64;
    "double2float_rz": F64ToF32 = |x| directed::round(x, Toward::Zero);
    "double2float_rd": F64ToF32 = |x| directed::round(x, Toward::Down);
    "double2float_ru": F64ToF32 = |x| directed::round(x, Toward::Up);
    "int2double_rn": I32ToF64 = |x| x as f64;
    "uint2double_rn": I32ToF64 = |x| x as u32 as f64;
    "int2float_rn": I32ToF32 = |x| x as f32;
    "int2float_rz": I32ToF32 = |x| directed::int_to_f32(x, Toward::Zero);
    "int2float_rd": I32ToF32 = |x| directed::int_to_f32(x, Toward::Down);
    "int2float_ru": I32ToF32 = |x| directed::int_to_f32(x, Toward::Up);
    "uint2float_rn": I32ToF32 = |x| x as u32 as f32;
    "uint2float_rz": I32ToF32 = |x| directed::int_to_f32(x as u32, Toward::Zero);
    "uint2float_rd": I32ToF32 = |x| directed::int_to_f32(x as u32, Toward::Down);
    "uint2float_ru": I32ToF32 = |x| directed::int_to_f32(x as u32, Toward::Up);
    "ll2float_rn": I64ToF32 = ToFloat::to_f32;
    "ll2float_rz": I64ToF32 = |x| directed::int_to_f32(x, Toward::Zero);
    "ll2float_rd": I64ToF32 = |x| directed::int_to_f32(x, Toward::Down);
    "ll2float_ru": I64ToF32 = |x| directed::int_to_f32(x, Toward::Up);
    "ull2float_rn": I64ToF32 = |x| ToFloat::to_f32(x as u64);
    "ull2float_rz": I64ToF32 = |x| directed::int_to_f32(x as u64, Toward::Zero);
    "ull2float_rd": I64ToF32 = |x| directed::int_to_f32(x as u64, Toward::Down);
    "ull2float_ru": I64ToF32 = |x| directed::int_to_f32(x as u64, Toward::Up);
    "ll2double_rn": I64ToF64 = |x| x as f64;
    "ll2double_rz": I64ToF64 = |x| directed::int_to_f64(x.into(), Toward::Zero);
    "ll2double_rd": I64ToF64 = |x| directed::int_to_f64(x.into(), Toward::Down);
    "ll2double_ru": I64ToF64 = |x| directed::int_to_f64(x.into(), Toward::Up);
    "ull2double_rn": I64ToF64 = |x| x as u64 as f64;
    "ull2double_rz": I64ToF64 = |x| directed::int_to_f64((x as u64).into(), Toward::Zero);
    "ull2double_rd": I64ToF64 = |x| directed::int_to_f64((x as u64).into(), Toward::Down);
    "ull2double_ru": I64ToF64 = |x| directed::int_to_f64((x as u64).into(), Toward::Up);
    "fadd_rz": F32F32ToF32 = |a, b| directed::add(a, b, Toward::Zero);
    "fadd_rd": F32F32ToF32 = |a, b| directed::add(a, b, Toward::Down);
    "fadd_ru": F32F32ToF32 = |a, b| directed::add(a, b, Toward::Up);
    "fsub_rz": F32F32ToF32 = |a, b| directed::add(a, -b, Toward::Zero);
    "fsub_rd": F32F32ToF32 = |a, b| directed::add(a, -b, Toward::Down);
    "fsub_ru": F32F32ToF32 = |a, b| directed::add(a, -b, Toward::Up);
    "fmul_rz": F32F32ToF32 = |a, b| directed::mul(a, b, Toward::Zero);
    "fmul_rd": F32F32ToF32 = |a, b| directed::mul(a, b, Toward::Down);
    "fmul_ru": F32F32ToF32 = |a, b| directed::mul(a, b, Toward::Up);
    "fdiv_rz": F32F32ToF32 = |a, b| directed::div(a, b, Toward::Zero);
    "fdiv_rd": F32F32ToF32 = |a, b| directed::div(a, b, Toward::Down);
    "fdiv_ru": F32F32ToF32 = |a, b| directed::div(a, b, Toward::Up);
    "frcp_rz": F32ToF32 = |x| directed::div(1.0, x, Toward::Zero);
    "frcp_rd": F32ToF32 = |x| directed::div(1.0, x, Toward::Down);
    "frcp_ru": F32ToF32 = |x| directed::div(1.0, x, Toward::Up);
    "fsqrt_rz": F32ToF32 = |x| directed::sqrt(x, Toward::Zero);
    "fsqrt_rd": F32ToF32 = |x| directed::sqrt(x, Toward::Down);
    "fsqrt_ru": F32ToF32 = |x| directed::sqrt(x, Toward::Up);
    "fmaf_rz": F32F32F32ToF32 = |a, b, c| directed::fma(a, b, c, Toward::Zero);
    "fmaf_rd": F32F32F32ToF32 = |a, b, c| directed::fma(a, b, c, Toward::Down);
    "fmaf_ru": F32F32F32ToF32 = |a, b, c| directed::fma(a, b, c, Toward::Up);
};

static ARITHMETIC: &[LibFunction] = rows! { CORRECTLY_ROUNDED;
    "fadd_rn": F32F32ToF32 = <f32 as Arithmetic>::add;
    "dadd_rn": F64F64ToF64 = <f64 as Arithmetic>::add;
    "fsub_rn": F32F32ToF32 = <f32 as Arithmetic>::sub;
    "dsub_rn": F64F64ToF64 = <f64 as Arithmetic>::sub;
    "fmul_rn": F32F32ToF32 = <f32 as Arithmetic>::mul;
    "dmul_rn": F64F64ToF64 = <f64 as Arithmetic>::mul;
    "fdiv_rn": F32F32ToF32 = <f32 as Arithmetic>::div;
    "ddiv_rn": F64F64ToF64 = <f64 as Arithmetic>::div;
    "fast_fdividef": F32F32ToF32 = <f32 as Arithmetic>::div;
    "frcp_rn": F32ToF32 = |x| <f32 as Arithmetic>::div(1.0, x);
    "drcp_rn": F64ToF64 = |x| <f64 as Arithmetic>::div(1.0, x);
    "dsqrt_rn": F64ToF64 = <f64 as Arithmetic>::sqrt;
    "sqrt": F64ToF64 = <f64 as Arithmetic>::sqrt;
    "fmaf_rn": F32F32F32ToF32 = <f32 as Arithmetic>::fma;
    "fma_rn": F64F64F64ToF64 = <f64 as Arithmetic>::fma;
    "fmaf": F32F32F32ToF32 = <f32 as Arithmetic>::fma;
    "fma": F64F64F64ToF64 = <f64 as Arithmetic>::fma;
    "fmodf": F32F32ToF32 = <f32 as Arithmetic>::rem;
    "fmod": F64F64ToF64 = <f64 as Arithmetic>::rem;
    "remainderf": F32F32ToF32 = |a, b| libm::remainderf(a, b).canonical();
    "remainder": F64F64ToF64 = |a, b| libm::remainder(a, b).canonical();
    "fdimf": F32F32ToF32 = |a, b| libm::fdimf(a, b).canonical();
    "fdim": F64F64ToF64 = |a, b| libm::fdim(a, b).canonical();
    "fmaxf": F32F32ToF32 = <f32 as Arithmetic>::maxnum;
    "fmax": F64F64ToF64 = <f64 as Arithmetic>::maxnum;
    "fminf": F32F32ToF32 = <f32 as Arithmetic>::minnum;
    "fmin": F64F64ToF64 = <f64 as Arithmetic>::minnum;
    // Into [0, 1]; NaN becomes 0.
    "saturatef": F32ToF32 = |x| if x > 0.0 { if x < 1.0 { x } else { 1.0 } } else { 0.0 };
    "floor": F64ToF64 = <f64 as Arithmetic>::floor;
    "ceil": F64ToF64 = <f64 as Arithmetic>::ceil;
    "trunc": F64ToF64 = <f64 as Arithmetic>::trunc;
    "round": F64ToF64 = <f64 as Arithmetic>::round;
    "rint": F64ToF64 = <f64 as Arithmetic>::round_even;
    "nearbyint": F64ToF64 = <f64 as Arithmetic>::round_even;
};

/// Rows of functions of one f32 with their slice forms.
macro_rules! vectorised {
    ($($name:literal: $of:ident::$f:ident, $accuracy:expr;)*) => {
        [$(LibFunction {
            f32_slice: Some(|cpu, x, out| cpu.map(x, out, <f32 as $of>::$f)),
            ..row(concat!("__nv_", $name), Eval::F32ToF32(<f32 as $of>::$f), $accuracy)
        }),*]
    };
}

static ELEMENTARY: &[LibFunction] = &vectorised! {
    "sqrtf": Arithmetic::sqrt, CORRECTLY_ROUNDED;
    "fsqrt_rn": Arithmetic::sqrt, CORRECTLY_ROUNDED;
    "floorf": Arithmetic::floor, EXACT;
    "ceilf": Arithmetic::ceil, EXACT;
    "truncf": Arithmetic::trunc, EXACT;
    "roundf": Arithmetic::round, EXACT;
    "rintf": Arithmetic::round_even, EXACT;
    "nearbyintf": Arithmetic::round_even, EXACT;
    "rsqrtf": Elementary::rsqrt, BY_F64;
    "frsqrt_rn": Elementary::rsqrt, BY_F64;
    "expf": Elementary::exp, BY_F32;
    "exp2f": Elementary::exp2, BY_F32;
    "exp10f": Elementary::exp10, BY_F64;
    "expm1f": Elementary::expm1, BY_F64;
    "logf": Elementary::log, BY_F32;
    "log2f": Elementary::log2, BY_F32;
    "log10f": Elementary::log10, BY_F64;
    "log1pf": Elementary::log1p, BY_F64;
    "tanhf": Elementary::tanh, BY_F32;
    "sinf": Elementary::sin, BY_F64;
    "cosf": Elementary::cos, BY_F64;
    "tanf": Elementary::tan, BY_F64;
    "erff": Elementary::erf, BY_F32;
    "erfcf": Elementary::erfc, BY_F64;
    "asinf": Elementary::asin, BY_F64;
    "acosf": Elementary::acos, BY_F64;
    "atanf": Elementary::atan, BY_F64;
    "sinhf": Elementary::sinh, BY_F64;
    "coshf": Elementary::cosh, BY_F64;
    "asinhf": Elementary::asinh, BY_F64;
    "acoshf": Elementary::acosh, BY_F64;
    "atanhf": Elementary::atanh, BY_F64;
    "cbrtf": Elementary::cbrt, BY_F64;
    "fast_expf": Elementary::exp, BY_F32;
    "fast_exp10f": Elementary::exp10, BY_F64;
    "fast_logf": Elementary::log, BY_F32;
    "fast_log2f": Elementary::log2, BY_F32;
    "fast_log10f": Elementary::log10, BY_F64;
    "fast_sinf": Elementary::sin, BY_F64;
    "fast_cosf": Elementary::cos, BY_F64;
    "fast_tanf": Elementary::tan, BY_F64;
};

/// Two rows for each special function: f32, computed in f64, and f64.
macro_rules! special {
    ($($name:literal: $single:ident $double:ident ($($arg:ident),+) = $f:expr, $accuracy:expr;)*) => {
        &[$(
            row(
                concat!("__nv_", $name, "f"),
                Eval::$single(|$($arg),+| f32::from_f64($f($(f64::from($arg)),+))),
                BY_F64,
            ),
            row(concat!("__nv_", $name), Eval::$double(|$($arg),+| $f($($arg),+).canonical()), $accuracy),
        )*]
    };
}

const LIBM: &str = "2 ulp: the crate libm";
const LIBM_ABSOLUTE: &str = "2 ulp except near zeros, there 1e-16 absolutely: the crate libm";
const FEW: &str = "4 ulp";
const MORE: &str = "16 ulp";

static ELEMENTARY_F64: &[LibFunction] = rows! { LIBM;
    "rsqrt": F64ToF64 = <f64 as Elementary>::rsqrt;
    "exp": F64ToF64 = <f64 as Elementary>::exp;
    "exp2": F64ToF64 = <f64 as Elementary>::exp2;
    "exp10": F64ToF64 = <f64 as Elementary>::exp10;
    "expm1": F64ToF64 = <f64 as Elementary>::expm1;
    "log": F64ToF64 = <f64 as Elementary>::log;
    "log2": F64ToF64 = <f64 as Elementary>::log2;
    "log10": F64ToF64 = <f64 as Elementary>::log10;
    "log1p": F64ToF64 = <f64 as Elementary>::log1p;
    "tanh": F64ToF64 = <f64 as Elementary>::tanh;
    "sin": F64ToF64 = <f64 as Elementary>::sin;
    "cos": F64ToF64 = <f64 as Elementary>::cos;
    "tan": F64ToF64 = <f64 as Elementary>::tan;
    "erf": F64ToF64 = <f64 as Elementary>::erf;
    "erfc": F64ToF64 = <f64 as Elementary>::erfc;
    "asin": F64ToF64 = <f64 as Elementary>::asin;
    "acos": F64ToF64 = <f64 as Elementary>::acos;
    "atan": F64ToF64 = <f64 as Elementary>::atan;
    "sinh": F64ToF64 = <f64 as Elementary>::sinh;
    "cosh": F64ToF64 = <f64 as Elementary>::cosh;
    "asinh": F64ToF64 = <f64 as Elementary>::asinh;
    "acosh": F64ToF64 = <f64 as Elementary>::acosh;
    "atanh": F64ToF64 = <f64 as Elementary>::atanh;
    "cbrt": F64ToF64 = <f64 as Elementary>::cbrt;
};

static SPECIAL: &[LibFunction] = special! {
    "pow": F32F32ToF32 F64F64ToF64 (a, b) = libm::pow, LIBM;
    "atan2": F32F32ToF32 F64F64ToF64 (a, b) = libm::atan2, LIBM;
    "hypot": F32F32ToF32 F64F64ToF64 (a, b) = |a, b| special::norm([a, b]), FEW;
    "rhypot": F32F32ToF32 F64F64ToF64 (a, b) = |a, b| special::rnorm([a, b]), FEW;
    "norm3d": F32F32F32ToF32 F64F64F64ToF64 (a, b, c) = |a, b, c| special::norm([a, b, c]), FEW;
    "rnorm3d": F32F32F32ToF32 F64F64F64ToF64 (a, b, c) = |a, b, c| special::rnorm([a, b, c]), FEW;
    "norm4d": F32F32F32F32ToF32 F64F64F64F64ToF64 (a, b, c, d) = |a, b, c, d| special::norm([a, b, c, d]), FEW;
    "rnorm4d": F32F32F32F32ToF32 F64F64F64F64ToF64 (a, b, c, d) = |a, b, c, d| special::rnorm([a, b, c, d]), FEW;
    "rcbrt": F32ToF32 F64ToF64 (x) = |x| 1.0 / libm::cbrt(x), FEW;
    "sinpi": F32ToF32 F64ToF64 (x) = special::sinpi, FEW;
    "cospi": F32ToF32 F64ToF64 (x) = special::cospi, FEW;
    "lgamma": F32ToF32 F64ToF64 (x) = libm::lgamma, LIBM_ABSOLUTE;
    "tgamma": F32ToF32 F64ToF64 (x) = libm::tgamma, FEW;
    "j0": F32ToF32 F64ToF64 (x) = libm::j0, LIBM_ABSOLUTE;
    "j1": F32ToF32 F64ToF64 (x) = libm::j1, LIBM_ABSOLUTE;
    "y0": F32ToF32 F64ToF64 (x) = libm::y0, LIBM_ABSOLUTE;
    "y1": F32ToF32 F64ToF64 (x) = libm::y1, LIBM_ABSOLUTE;
    "cyl_bessel_i0": F32ToF32 F64ToF64 (x) = special::bessel_i0, MORE;
    "cyl_bessel_i1": F32ToF32 F64ToF64 (x) = special::bessel_i1, MORE;
    "normcdf": F32ToF32 F64ToF64 (x) = special::normcdf, MORE;
    "erfinv": F32ToF32 F64ToF64 (x) = special::erfinv, MORE;
    "erfcinv": F32ToF32 F64ToF64 (x) = special::erfcinv, MORE;
    "normcdfinv": F32ToF32 F64ToF64 (x) = special::normcdfinv, MORE;
};

static MIXED: &[LibFunction] = rows! { BY_F64;
    "powif": F32I32ToF32 = |x, n| f32::from_f64(powi(x.into(), n));
    "powi": F64I32ToF64 = powi;
    "fast_powf": F32F32ToF32 = <f32 as Elementary>::pow;
    "erfcxf": F32ToF32 = |x| f32::from_f64(special::erfcx(x.into()));
};
