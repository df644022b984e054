//! f16 slices by the conversion instructions of F16C.

use std::arch::x86_64::{
    __m128i, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128, _mm256_blendv_ps,
    _mm256_cmp_ps, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps,
};

use crate::num::float::{CANONICAL_NAN, F16, StoredFloat};

/// Elements of a vector.
const LANES: usize = 8;

/// `dst[i] = src[i]`, over the shorter length.
///
/// # Safety
/// The CPU must have AVX2 and F16C.
#[target_feature(enable = "avx2,f16c")]
pub(crate) unsafe fn widen(src: &[F16], dst: &mut [f32]) {
    let count = src.len().min(dst.len());
    let (sources, source_rest) = src[..count].as_chunks::<LANES>();
    let (targets, target_rest) = dst[..count].as_chunks_mut::<LANES>();
    let nan = _mm256_set1_ps(CANONICAL_NAN);
    for (source, target) in sources.iter().zip(targets) {
        // SAFETY: both chunks have eight elements, and F16 has the layout of u16.
        unsafe {
            let wide = _mm256_cvtph_ps(_mm_loadu_si128(source.as_ptr().cast::<__m128i>()));
            let canonical = _mm256_blendv_ps(wide, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(wide, wide));
            _mm256_storeu_ps(target.as_mut_ptr(), canonical);
        }
    }
    for (target, source) in target_rest.iter_mut().zip(source_rest) {
        *target = source.to_f32();
    }
}

/// `dst[i] = src[i]` rounded to nearest even, over the shorter length.
///
/// # Safety
/// The CPU must have AVX2 and F16C.
#[target_feature(enable = "avx2,f16c")]
pub(crate) unsafe fn narrow(src: &[f32], dst: &mut [F16]) {
    let count = src.len().min(dst.len());
    let (sources, source_rest) = src[..count].as_chunks::<LANES>();
    let (targets, target_rest) = dst[..count].as_chunks_mut::<LANES>();
    let nan = _mm256_set1_ps(CANONICAL_NAN);
    for (source, target) in sources.iter().zip(targets) {
        // SAFETY: as in `widen`.
        unsafe {
            let wide = _mm256_loadu_ps(source.as_ptr());
            // The instruction keeps the upper bits of a NaN: the canonical f32 NaN becomes the f16 one.
            let canonical = _mm256_blendv_ps(wide, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(wide, wide));
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(canonical);
            _mm_storeu_si128(target.as_mut_ptr().cast::<__m128i>(), halves);
        }
    }
    for (target, source) in target_rest.iter_mut().zip(source_rest) {
        *target = F16::from_f32(*source);
    }
}
