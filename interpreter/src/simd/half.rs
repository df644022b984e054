//! f16 slices by the conversion instructions of F16C and AVX-512.

use std::arch::x86_64::{
    __m128i, __m256i, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128,
    _mm256_blendv_ps, _mm256_cmp_ps, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_set1_ps, _mm256_storeu_ps, _mm256_storeu_si256, _mm512_cmp_ps_mask, _mm512_cvtph_ps,
    _mm512_cvtps_ph, _mm512_loadu_ps, _mm512_mask_mov_ps, _mm512_set1_ps, _mm512_storeu_ps,
};

use crate::num::float::{CANONICAL_NAN, F16, StoredFloat};

/// Declares a pair of conversions for one width of vectors: over the shorter length; the rest that fills no
/// vector is converted lane by lane.
macro_rules! conversions {
    (
        $features:literal, $lanes:literal, $widen:ident, $narrow:ident,
        |$from:ident, $to:ident| $canonical:ident => $widened:expr, |$source:ident, $target:ident| $narrowed:expr
    ) => {
        /// `dst[i] = src[i]`. A NaN becomes the canonical one, or, where `CANONICAL` is false, any.
        ///
        /// # Safety
        /// The CPU must have the instructions.
        #[target_feature(enable = $features)]
        pub(crate) unsafe fn $widen<const CANONICAL: bool>(src: &[F16], dst: &mut [f32]) {
            let count = src.len().min(dst.len());
            let (sources, source_rest) = src[..count].as_chunks::<$lanes>();
            let (targets, target_rest) = dst[..count].as_chunks_mut::<$lanes>();
            let $canonical = CANONICAL;
            for ($from, $to) in sources.iter().zip(targets) {
                // SAFETY: both chunks have a vector's elements, and F16 has the layout of u16.
                unsafe { $widened }
            }
            for (target, source) in target_rest.iter_mut().zip(source_rest) {
                *target = source.to_f32();
            }
        }

        /// `dst[i] = src[i]` rounded to nearest even.
        ///
        /// # Safety
        /// The CPU must have the instructions.
        #[target_feature(enable = $features)]
        pub(crate) unsafe fn $narrow(src: &[f32], dst: &mut [F16]) {
            let count = src.len().min(dst.len());
            let (sources, source_rest) = src[..count].as_chunks::<$lanes>();
            let (targets, target_rest) = dst[..count].as_chunks_mut::<$lanes>();
            for ($source, $target) in sources.iter().zip(targets) {
                // SAFETY: as above.
                unsafe { $narrowed }
            }
            for (target, source) in target_rest.iter_mut().zip(source_rest) {
                *target = F16::from_f32(*source);
            }
        }
    };
}

conversions!(
    "avx2,f16c",
    8,
    widen_avx2,
    narrow_avx2,
    |source, target| canonical => {
        let wide = _mm256_cvtph_ps(_mm_loadu_si128(source.as_ptr().cast::<__m128i>()));
        let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(wide, wide);
        let wide = if canonical {
            _mm256_blendv_ps(wide, _mm256_set1_ps(CANONICAL_NAN), nan)
        } else {
            wide
        };
        _mm256_storeu_ps(target.as_mut_ptr(), wide);
    },
    |source, target| {
        let wide = _mm256_loadu_ps(source.as_ptr());
        // The instruction keeps the upper bits of a NaN: the canonical f32 NaN becomes the f16 one.
        let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(wide, wide);
        let wide = _mm256_blendv_ps(wide, _mm256_set1_ps(CANONICAL_NAN), nan);
        let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
        _mm_storeu_si128(target.as_mut_ptr().cast::<__m128i>(), halves);
    }
);

conversions!(
    "avx512f",
    16,
    widen_avx512,
    narrow_avx512,
    |source, target| canonical => {
        let wide = _mm512_cvtph_ps(_mm256_loadu_si256(source.as_ptr().cast::<__m256i>()));
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(wide, wide);
        let wide = if canonical {
            _mm512_mask_mov_ps(wide, nan, _mm512_set1_ps(CANONICAL_NAN))
        } else {
            wide
        };
        _mm512_storeu_ps(target.as_mut_ptr(), wide);
    },
    |source, target| {
        let wide = _mm512_loadu_ps(source.as_ptr());
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(wide, wide);
        let wide = _mm512_mask_mov_ps(wide, nan, _mm512_set1_ps(CANONICAL_NAN));
        let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
        _mm256_storeu_si256(target.as_mut_ptr().cast::<__m256i>(), halves);
    }
);
