//! Sixteen lanes of f32, as one vector or two: what [`super::strip`] computes with.

#![allow(clippy::missing_safety_doc, reason = "the trait's")]

#[cfg(target_arch = "x86_64")]
use super::exp::{erf_16, exp_16, exp2_16};
use super::strip::{EXPONENTS, Fold};
use crate::num::float::CANONICAL_NAN;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m256i, __m512, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128,
    _mm256_add_ps, _mm256_and_si256, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_cmp_ps, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_cvtepu16_epi32, _mm256_cvtph_ps,
    _mm256_cvtps_ph, _mm256_div_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_maskload_ps, _mm256_maskstore_ps, _mm256_max_epi32, _mm256_max_epu32, _mm256_max_ps,
    _mm256_min_epi32, _mm256_min_ps, _mm256_movemask_epi8, _mm256_mul_ps, _mm256_or_si256, _mm256_set1_epi32,
    _mm256_set1_ps, _mm256_setr_epi32, _mm256_slli_epi32, _mm256_srai_epi32, _mm256_srli_epi32,
    _mm256_storeu_ps, _mm256_storeu_si256, _mm256_stream_ps, _mm256_sub_ps, _mm256_xor_si256, _mm512_add_ps,
    _mm512_and_si512, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_cmpeq_epi32_mask,
    _mm512_cmplt_epu32_mask, _mm512_cvtepu16_epi32, _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_div_ps,
    _mm512_fmadd_ps, _mm512_fnmadd_ps, _mm512_loadu_ps, _mm512_mask_loadu_ps, _mm512_mask_mov_ps,
    _mm512_mask_storeu_ps, _mm512_max_epi32, _mm512_max_epu32, _mm512_max_ps, _mm512_min_epi32,
    _mm512_min_ps, _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_ps, _mm512_slli_epi32, _mm512_srai_epi32,
    _mm512_srli_epi32, _mm512_storeu_ps, _mm512_stream_ps, _mm512_sub_epi32, _mm512_sub_ps, _mm512_xor_si512,
};

/// Sixteen lanes.
///
/// # Safety
/// Every method needs a CPU with the instructions of the implementing type; sixteen elements must be at a pointer, and
/// for `stream` it must be aligned to 64 bytes.
pub(super) trait Sixteen: Copy {
    /// There are instructions for [`super::strip::Transcendental`].
    const FUNCTIONS: bool;
    /// Of a NaN, a NaN.
    unsafe fn exp(self) -> Self;
    unsafe fn exp2(self) -> Self;
    unsafe fn erf(self) -> Self;
    /// Divided by a number in [`super::strip::divisors`], rounded once.
    ///
    /// The quotient by the inverse is off by two units of the last place at most; what it leaves, divided by the inverse,
    /// makes it one of the two next to the exact one, and then the right one (Markstein, *Computation of elementary
    /// functions on the IBM RISC System/6000 processor*, 1990, theorem 8.2: with an inverse that is rounded to nearest).
    unsafe fn divide_by(self, by: f32, inverse: f32) -> Self;
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn stream(self, to: *mut f32);
    /// Those lanes whose bit is set; nothing else is touched, the others are those of `other`.
    unsafe fn load_some(from: *const f32, lanes: u16, other: Self) -> Self;
    unsafe fn store_some(self, to: *mut f32, lanes: u16);
    /// Its lanes where a bit is set, those of `other` elsewhere.
    unsafe fn select(self, other: Self, lanes: u16) -> Self;
    /// Widened; any NaN may be any other.
    unsafe fn load_f16(from: *const u16) -> Self;
    unsafe fn load_bf16(from: *const u16) -> Self;
    /// Rounded to nearest even; NaN keeps its upper bits, so that the canonical one becomes the canonical one.
    unsafe fn store_f16(self, to: *mut u16);
    /// Rounded to nearest even; NaN becomes the canonical one.
    unsafe fn store_bf16(self, to: *mut u16);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    unsafe fn canonical(self) -> Self;
    /// Partial results, with one more lane each.
    unsafe fn fold(self, x: Self, fold: Fold) -> Self;
    /// The larger one of magnitudes that these bits hold and those of `x`.
    unsafe fn larger_magnitude(self, x: Self) -> Self;
    /// True if the bits of a lane, which is no less than zero, are at least these.
    unsafe fn reaches(self, bits: u32) -> bool;
    /// True if all bits are those of the other one.
    unsafe fn is_same(self, other: Self) -> bool;
}

/// Rounds to bf16, lane by lane: no vector instruction that every CPU of a level has does.
///
/// # Safety
/// Sixteen numbers must fit at the pointer.
#[inline(always)]
unsafe fn bf16_of(lanes: [f32; 16], to: *mut u16) {
    use crate::num::float::{Bf16, StoredFloat};
    let mut narrow = [0u16; 16];
    for (narrow, lane) in narrow.iter_mut().zip(lanes) {
        *narrow = Bf16::from_f32(lane).0;
    }
    // SAFETY: the caller's.
    unsafe { std::ptr::copy_nonoverlapping(narrow.as_ptr(), to, 16) }
}

#[cfg(target_arch = "x86_64")]
impl Sixteen for __m512 {
    const FUNCTIONS: bool = true;

    #[inline(always)]
    unsafe fn exp(self) -> __m512 {
        // SAFETY: the trait's.
        unsafe { exp_16(self) }
    }
    #[inline(always)]
    unsafe fn exp2(self) -> __m512 {
        // SAFETY: the trait's.
        unsafe { exp2_16(self) }
    }
    #[inline(always)]
    unsafe fn erf(self) -> __m512 {
        // SAFETY: the trait's.
        unsafe { erf_16(self) }
    }
    #[inline(always)]
    unsafe fn divide_by(self, by: f32, inverse: f32) -> __m512 {
        // SAFETY: the trait's.
        unsafe {
            let (by, inverse) = (_mm512_set1_ps(by), _mm512_set1_ps(inverse));
            let (low, high) = (*EXPONENTS.start() << 23, *EXPONENTS.end() << 23);
            let magnitude = _mm512_and_si512(_mm512_castps_si512(self), _mm512_set1_epi32(i32::MAX));
            let above = _mm512_sub_epi32(magnitude, _mm512_set1_epi32(low as i32));
            let fine = _mm512_cmplt_epu32_mask(above, _mm512_set1_epi32((high - low) as i32));
            if fine != u16::MAX {
                return _mm512_div_ps(self, by);
            }
            let near = _mm512_mul_ps(self, inverse);
            let near = _mm512_fmadd_ps(_mm512_fnmadd_ps(near, by, self), inverse, near);
            _mm512_fmadd_ps(_mm512_fnmadd_ps(near, by, self), inverse, near)
        }
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> __m512 {
        // SAFETY: the trait's.
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        // SAFETY: the trait's.
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the trait's.
        unsafe { _mm512_storeu_ps(to, self) }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut f32) {
        // SAFETY: the trait's.
        unsafe { _mm512_stream_ps(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn load_some(from: *const f32, lanes: u16, other: __m512) -> __m512 {
        // SAFETY: the trait's.
        unsafe { _mm512_mask_loadu_ps(other, lanes, from) }
    }
    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, lanes: u16) {
        // SAFETY: the trait's.
        unsafe { _mm512_mask_storeu_ps(to, lanes, self) }
    }
    #[inline(always)]
    unsafe fn select(self, other: __m512, lanes: u16) -> __m512 {
        // SAFETY: the trait's.
        unsafe { _mm512_mask_mov_ps(other, lanes, self) }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> __m512 {
        // SAFETY: the trait's.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> __m512 {
        // SAFETY: the trait's.
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
    }
    #[inline(always)]
    unsafe fn store_f16(self, to: *mut u16) {
        // SAFETY: the trait's.
        unsafe {
            let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self);
            _mm256_storeu_si256(to.cast(), halves);
        }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        let mut lanes = [0f32; 16];
        // SAFETY: the trait's.
        unsafe {
            _mm512_storeu_ps(lanes.as_mut_ptr(), self);
            bf16_of(lanes, to);
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: __m512) -> __m512 {
        // SAFETY: the trait's.
        unsafe { _mm512_add_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: __m512) -> __m512 {
        // SAFETY: the trait's.
        unsafe { _mm512_sub_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: __m512) -> __m512 {
        // SAFETY: the trait's.
        unsafe { _mm512_mul_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn div(self, other: __m512) -> __m512 {
        // SAFETY: the trait's.
        unsafe { _mm512_div_ps(self, other) }
    }
    #[inline(always)]
    unsafe fn canonical(self) -> __m512 {
        // SAFETY: the trait's.
        unsafe {
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self, self);
            _mm512_mask_mov_ps(self, nan, _mm512_set1_ps(CANONICAL_NAN))
        }
    }
    #[inline(always)]
    unsafe fn fold(self, x: __m512, fold: Fold) -> __m512 {
        // SAFETY: the trait's.
        unsafe {
            let nan = match fold {
                Fold::Sum => return _mm512_add_ps(self, x),
                // Of two operands of which one is a NaN they give the second.
                Fold::Max => return _mm512_max_ps(x, self),
                Fold::Min => return _mm512_min_ps(x, self),
                Fold::Greatest { nan } | Fold::Least { nan } => nan,
            };
            let bits = _mm512_castps_si512(x);
            let flip = _mm512_srli_epi32::<1>(_mm512_srai_epi32::<31>(bits));
            let rank = _mm512_castsi512_ps(_mm512_xor_si512(bits, flip));
            let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
            let nan = _mm512_castsi512_ps(_mm512_set1_epi32(nan));
            let rank = _mm512_castps_si512(_mm512_mask_mov_ps(rank, is_nan, nan));
            let partial = _mm512_castps_si512(self);
            _mm512_castsi512_ps(match fold {
                Fold::Least { .. } => _mm512_min_epi32(partial, rank),
                _ => _mm512_max_epi32(partial, rank),
            })
        }
    }
    #[inline(always)]
    unsafe fn larger_magnitude(self, x: __m512) -> __m512 {
        // SAFETY: the trait's.
        unsafe {
            let magnitude = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(i32::MAX));
            _mm512_castsi512_ps(_mm512_max_epu32(_mm512_castps_si512(self), magnitude))
        }
    }
    #[inline(always)]
    unsafe fn reaches(self, bits: u32) -> bool {
        // SAFETY: the trait's.
        unsafe {
            let bits = _mm512_set1_epi32(bits as i32);
            _mm512_cmplt_epu32_mask(_mm512_castps_si512(self), bits) != u16::MAX
        }
    }
    #[inline(always)]
    unsafe fn is_same(self, other: __m512) -> bool {
        // SAFETY: the trait's.
        unsafe {
            let (a, b) = (_mm512_castps_si512(self), _mm512_castps_si512(other));
            _mm512_cmpeq_epi32_mask(a, b) == u16::MAX
        }
    }
}

/// Sixteen lanes as two vectors of eight.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Pair(__m256, __m256);

/// All bits of a lane, where its bit is set.
///
/// # Safety
/// The CPU must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn mask_of(lanes: u8) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(lanes.into()), bits), bits)
    }
}

#[cfg(target_arch = "x86_64")]
impl Pair {
    /// # Safety
    /// As [`Sixteen`].
    #[inline(always)]
    unsafe fn map(self, other: Pair, f: impl Fn(__m256, __m256) -> __m256) -> Pair {
        Pair(f(self.0, other.0), f(self.1, other.1))
    }
}

#[cfg(target_arch = "x86_64")]
impl Sixteen for Pair {
    const FUNCTIONS: bool = false;

    unsafe fn exp(self) -> Pair {
        self
    }
    unsafe fn exp2(self) -> Pair {
        self
    }
    unsafe fn erf(self) -> Pair {
        self
    }
    #[inline(always)]
    unsafe fn divide_by(self, by: f32, inverse: f32) -> Pair {
        // SAFETY: the trait's.
        unsafe {
            let (by, inverse) = (_mm256_set1_ps(by), _mm256_set1_ps(inverse));
            let low = _mm256_set1_epi32((*EXPONENTS.start() << 23) as i32 - 1);
            let high = _mm256_set1_epi32((*EXPONENTS.end() << 23) as i32);
            self.map(self, |x, _| {
                let magnitude = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(i32::MAX));
                let above = _mm256_cmpgt_epi32(magnitude, low);
                let fine = _mm256_and_si256(above, _mm256_cmpgt_epi32(high, magnitude));
                if _mm256_movemask_epi8(fine) != -1 {
                    return _mm256_div_ps(x, by);
                }
                let near = _mm256_mul_ps(x, inverse);
                let near = _mm256_fmadd_ps(_mm256_fnmadd_ps(near, by, x), inverse, near);
                _mm256_fmadd_ps(_mm256_fnmadd_ps(near, by, x), inverse, near)
            })
        }
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> Pair {
        // SAFETY: the trait's.
        unsafe { Pair(_mm256_set1_ps(x), _mm256_set1_ps(x)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Pair {
        // SAFETY: the trait's.
        unsafe { Pair(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the trait's.
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut f32) {
        // SAFETY: the trait's.
        unsafe {
            _mm256_stream_ps(to, self.0);
            _mm256_stream_ps(to.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn load_some(from: *const f32, lanes: u16, other: Pair) -> Pair {
        // SAFETY: the trait's.
        unsafe {
            let half = |i: usize, other: __m256| {
                let mask = mask_of((lanes >> (8 * i)) as u8);
                let some = _mm256_maskload_ps(from.wrapping_add(8 * i), mask);
                _mm256_blendv_ps(other, some, _mm256_castsi256_ps(mask))
            };
            Pair(half(0, other.0), half(1, other.1))
        }
    }
    #[inline(always)]
    unsafe fn store_some(self, to: *mut f32, lanes: u16) {
        // SAFETY: the trait's.
        unsafe {
            _mm256_maskstore_ps(to, mask_of(lanes as u8), self.0);
            _mm256_maskstore_ps(to.wrapping_add(8), mask_of((lanes >> 8) as u8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn select(self, other: Pair, lanes: u16) -> Pair {
        // SAFETY: the trait's.
        unsafe {
            let half = |x: __m256, other: __m256, lanes: u8| {
                _mm256_blendv_ps(other, x, _mm256_castsi256_ps(mask_of(lanes)))
            };
            Pair(
                half(self.0, other.0, lanes as u8),
                half(self.1, other.1, (lanes >> 8) as u8),
            )
        }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> Pair {
        // SAFETY: the trait's.
        unsafe {
            let half = |i: usize| _mm256_cvtph_ps(_mm_loadu_si128(from.add(8 * i).cast()));
            Pair(half(0), half(1))
        }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Pair {
        // SAFETY: the trait's.
        unsafe {
            let half = |i: usize| {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.add(8 * i).cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            };
            Pair(half(0), half(1))
        }
    }
    #[inline(always)]
    unsafe fn store_f16(self, to: *mut u16) {
        // SAFETY: the trait's.
        unsafe {
            let Pair(a, b) = self;
            _mm_storeu_si128(to.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(a));
            _mm_storeu_si128(to.add(8).cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(b));
        }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, to: *mut u16) {
        let mut lanes = [0f32; 16];
        // SAFETY: the trait's.
        unsafe {
            self.store(lanes.as_mut_ptr());
            bf16_of(lanes, to);
        }
    }
    #[inline(always)]
    unsafe fn add(self, other: Pair) -> Pair {
        // SAFETY: the trait's.
        unsafe { self.map(other, |a, b| _mm256_add_ps(a, b)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Pair) -> Pair {
        // SAFETY: the trait's.
        unsafe { self.map(other, |a, b| _mm256_sub_ps(a, b)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Pair) -> Pair {
        // SAFETY: the trait's.
        unsafe { self.map(other, |a, b| _mm256_mul_ps(a, b)) }
    }
    #[inline(always)]
    unsafe fn div(self, other: Pair) -> Pair {
        // SAFETY: the trait's.
        unsafe { self.map(other, |a, b| _mm256_div_ps(a, b)) }
    }
    #[inline(always)]
    unsafe fn canonical(self) -> Pair {
        // SAFETY: the trait's.
        unsafe {
            let nan = _mm256_set1_ps(CANONICAL_NAN);
            self.map(self, |x, _| {
                _mm256_blendv_ps(x, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x))
            })
        }
    }
    #[inline(always)]
    unsafe fn fold(self, x: Pair, fold: Fold) -> Pair {
        // SAFETY: the trait's.
        unsafe {
            let nan = match fold {
                Fold::Sum => return self.add(x),
                Fold::Max => return self.map(x, |partial, x| _mm256_max_ps(x, partial)),
                Fold::Min => return self.map(x, |partial, x| _mm256_min_ps(x, partial)),
                Fold::Greatest { nan } | Fold::Least { nan } => nan,
            };
            let nan = _mm256_castsi256_ps(_mm256_set1_epi32(nan));
            self.map(x, |partial, x| {
                let bits = _mm256_castps_si256(x);
                let flip = _mm256_srli_epi32::<1>(_mm256_srai_epi32::<31>(bits));
                let rank = _mm256_castsi256_ps(_mm256_xor_si256(bits, flip));
                let rank = _mm256_blendv_ps(rank, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x));
                let (partial, rank) = (_mm256_castps_si256(partial), _mm256_castps_si256(rank));
                _mm256_castsi256_ps(match fold {
                    Fold::Least { .. } => _mm256_min_epi32(partial, rank),
                    _ => _mm256_max_epi32(partial, rank),
                })
            })
        }
    }
    #[inline(always)]
    unsafe fn larger_magnitude(self, x: Pair) -> Pair {
        // SAFETY: the trait's.
        unsafe {
            self.map(x, |worst, x| {
                let magnitude = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(i32::MAX));
                _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(worst), magnitude))
            })
        }
    }
    #[inline(always)]
    unsafe fn reaches(self, bits: u32) -> bool {
        // SAFETY: the trait's.
        unsafe {
            let least = _mm256_set1_epi32(bits as i32 - 1);
            let above = |x: __m256| _mm256_cmpgt_epi32(_mm256_castps_si256(x), least);
            _mm256_movemask_epi8(_mm256_or_si256(above(self.0), above(self.1))) != 0
        }
    }
    #[inline(always)]
    unsafe fn is_same(self, other: Pair) -> bool {
        // SAFETY: the trait's.
        unsafe {
            let same =
                |a: __m256, b: __m256| _mm256_cmpeq_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b));
            let all = _mm256_and_si256(same(self.0, other.0), same(self.1, other.1));
            _mm256_movemask_epi8(all) == -1
        }
    }
}
