//! The exponentials of [`crate::num`], and the error function, which has one in it, on slices, by two instructions that only
//! AVX-512 has: one rounds to an integer, one multiplies with a power of two and rounds once, below the smallest normal number
//! too.
//!
//! The other operations are those of the lane functions, in their order, so that the bits are the same. What is below the limits of
//! those vanishes here too, whatever it is on the way.

use std::arch::x86_64::{
    __m512, __mmask16, _CMP_LT_OQ, _CMP_NLE_UQ, _CMP_NLT_UQ, _CMP_UNORD_Q, _MM_FROUND_NO_EXC, _mm512_add_ps,
    _mm512_andnot_si512, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_fmadd_ps,
    _mm512_fnmadd_ps, _mm512_loadu_ps, _mm512_mask_mov_ps, _mm512_maskz_roundscale_ps,
    _mm512_maskz_scalef_ps, _mm512_min_ps, _mm512_mul_ps, _mm512_scalef_ps, _mm512_set1_epi32,
    _mm512_set1_ps, _mm512_storeu_ps, _mm512_sub_ps, _mm512_ternarylogic_epi32,
};

use crate::num::float::CANONICAL_NAN;
use crate::num::math::Elementary;
use crate::num::single::{
    ERF, ERF_TURNS, EXP, EXP_LIMITS, EXP_VANISHES, EXP2, EXP2_LIMITS, EXP2_VANISHES, LN_2_REST, LOG2_ERFC,
};

/// Elements of a vector.
const LANES: usize = 16;

#[inline]
#[target_feature(enable = "avx512f")]
fn polynomial<const N: usize>(x: __m512, c: [f32; N]) -> __m512 {
    let mut sum = _mm512_set1_ps(c[N - 1]);
    for n in (0..N - 1).rev() {
        sum = _mm512_fmadd_ps(sum, x, _mm512_set1_ps(c[n]));
    }
    sum
}

/// At most `high`; NaN stays, because it is the second operand.
#[inline]
#[target_feature(enable = "avx512f")]
fn at_most(x: __m512, high: f32) -> __m512 {
    _mm512_min_ps(_mm512_set1_ps(high), x)
}

/// The nearest integer; zero where it is not to be `kept`: results below the smallest number cost CPUs a hundred cycles.
#[inline]
#[target_feature(enable = "avx512f")]
fn nearest(x: __m512, kept: __mmask16) -> __m512 {
    _mm512_maskz_roundscale_ps::<{ _MM_FROUND_NO_EXC }>(kept, x)
}

/// e^x; where `x` is a NaN, a NaN.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn exp_16(x: __m512) -> __m512 {
    let kept = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, _mm512_set1_ps(EXP_VANISHES));
    let limited = at_most(x, EXP_LIMITS[1]);
    let n = nearest(
        _mm512_mul_ps(limited, _mm512_set1_ps(std::f32::consts::LOG2_E)),
        kept,
    );
    let high = _mm512_fnmadd_ps(n, _mm512_set1_ps(std::f32::consts::LN_2), limited);
    let low = _mm512_mul_ps(n, _mm512_set1_ps(-LN_2_REST));
    let r = _mm512_add_ps(high, low);
    let tail = _mm512_fmadd_ps(_mm512_mul_ps(r, r), polynomial(r, EXP), low);
    let sum = _mm512_add_ps(_mm512_set1_ps(1.0), _mm512_add_ps(high, tail));
    _mm512_maskz_scalef_ps(kept, sum, n)
}

/// 2^x; where `x` is a NaN, a NaN.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn exp2_16(x: __m512) -> __m512 {
    let kept = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(x, _mm512_set1_ps(EXP2_VANISHES));
    let limited = at_most(x, EXP2_LIMITS[1]);
    let n = nearest(limited, kept);
    let r = _mm512_sub_ps(limited, n);
    let slope = _mm512_fmadd_ps(r, polynomial(r, EXP2), _mm512_set1_ps(std::f32::consts::LN_2));
    _mm512_maskz_scalef_ps(kept, _mm512_fmadd_ps(r, slope, _mm512_set1_ps(1.0)), n)
}

/// erf(x); where `x` is a NaN, a NaN.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn erf_16(x: __m512) -> __m512 {
    let sign = _mm512_set1_epi32(i32::MIN);
    let size = _mm512_castsi512_ps(_mm512_andnot_si512(sign, _mm512_castps_si512(x)));
    let small = _mm512_fmadd_ps(size, polynomial(_mm512_mul_ps(size, size), ERF), size);
    let past = _mm512_sub_ps(at_most(size, 4.0), _mm512_set1_ps(1.0));
    let t = polynomial(past, LOG2_ERFC);
    let n = nearest(t, __mmask16::MAX);
    let r = _mm512_sub_ps(t, n);
    let power = _mm512_scalef_ps(_mm512_set1_ps(1.0), n);
    let slope = _mm512_fmadd_ps(r, polynomial(r, EXP2), _mm512_set1_ps(std::f32::consts::LN_2));
    let excess = _mm512_mul_ps(r, slope);
    let large = _mm512_fnmadd_ps(power, excess, _mm512_sub_ps(_mm512_set1_ps(1.0), power));
    let is_small = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(size, _mm512_set1_ps(ERF_TURNS));
    let value = _mm512_castps_si512(_mm512_mask_mov_ps(large, is_small, small));
    // The sign of `x`, all else of the value.
    _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<0xca>(
        sign,
        _mm512_castps_si512(x),
        value,
    ))
}

/// NaN becomes the canonical one.
#[inline]
#[target_feature(enable = "avx512f")]
fn canonical(x: __m512) -> __m512 {
    let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
    _mm512_mask_mov_ps(x, nan, _mm512_set1_ps(CANONICAL_NAN))
}

/// Declares a function over slices.
macro_rules! slices {
    ($($name:ident: $vector:ident, $lane:expr;)*) => {$(
        /// `out[i] = f(x[i])`, over the shorter length.
        ///
        /// # Safety
        /// The CPU must have AVX-512 F.
        #[target_feature(enable = "avx512f")]
        pub(crate) unsafe fn $name(x: &[f32], out: &mut [f32]) {
            let count = x.len().min(out.len());
            let (sources, source_rest) = x[..count].as_chunks::<LANES>();
            let (targets, target_rest) = out[..count].as_chunks_mut::<LANES>();
            for (source, target) in sources.iter().zip(targets) {
                // SAFETY: both chunks have a vector's elements.
                unsafe { _mm512_storeu_ps(target.as_mut_ptr(), canonical($vector(_mm512_loadu_ps(source.as_ptr())))) }
            }
            for (target, source) in target_rest.iter_mut().zip(source_rest) {
                *target = $lane(*source);
            }
        }
    )*};
}

slices! {
    exp: exp_16, <f32 as Elementary>::exp;
    exp2: exp2_16, <f32 as Elementary>::exp2;
    erf: erf_16, <f32 as Elementary>::erf;
}
