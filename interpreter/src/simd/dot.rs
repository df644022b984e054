//! Micro-kernels of the matrix product: `c[i][j] = fma(a[i][k], b[k][j], c[i][j])` in rising k; of floats, and of
//! pairs of 16-bit integers, whose two products are added to a 32-bit integer, wrapping.
//!
//! A tile of `ROWS` rows by `VECTORS` vectors of c stays in registers over the whole of k; every k costs
//! one broadcast per row and one load per vector. The fused multiply-adds of one output stay in order, so
//! the blocking does not change a bit.

use std::arch::x86_64::{
    __m256, __m256d, __m256i, __m512, __m512d, __m512i, _CMP_UNORD_Q, _mm256_add_epi32, _mm256_blendv_pd,
    _mm256_blendv_ps, _mm256_cmp_pd, _mm256_cmp_ps, _mm256_cmpgt_epi32, _mm256_cmpgt_epi64, _mm256_fmadd_pd,
    _mm256_fmadd_ps, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maskload_epi32, _mm256_maskload_pd, _mm256_maskload_ps, _mm256_maskstore_epi32,
    _mm256_maskstore_pd, _mm256_maskstore_ps, _mm256_movemask_pd, _mm256_movemask_ps, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_set1_pd, _mm256_set1_ps, _mm256_setr_epi32, _mm256_setr_epi64x,
    _mm256_storeu_pd, _mm256_storeu_ps, _mm256_storeu_si256, _mm512_add_epi32, _mm512_cmp_pd_mask,
    _mm512_cmp_ps_mask, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_loadu_pd, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_madd_epi16, _mm512_mask_mov_pd, _mm512_mask_mov_ps, _mm512_mask_storeu_epi32,
    _mm512_mask_storeu_pd, _mm512_mask_storeu_ps, _mm512_maskz_loadu_epi32, _mm512_maskz_loadu_pd,
    _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_set1_pd, _mm512_set1_ps, _mm512_storeu_pd,
    _mm512_storeu_ps, _mm512_storeu_si512,
};

use crate::num::float::{CANONICAL_NAN, CANONICAL_NAN_F64};

/// A vector register of floats.
///
/// # Safety
/// Every method needs a CPU with the instructions of the implementing type; `load` and `store` need
/// `LANES` elements at the pointer, `load_first` and `store_first` need `count ≤ LANES`.
trait Vector: Copy {
    type Element: Copy;
    const LANES: usize;

    unsafe fn splat(x: Self::Element) -> Self;
    unsafe fn load(from: *const Self::Element) -> Self;
    unsafe fn store(self, to: *mut Self::Element);
    unsafe fn load_first(count: usize, from: *const Self::Element) -> Self;
    unsafe fn store_first(self, count: usize, to: *mut Self::Element);
    /// `a * b + self`, rounded once.
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    /// NaN lanes replaced by the canonical NaN.
    unsafe fn canonical(self) -> Self;
    /// Not 0 if a lane of either is NaN.
    unsafe fn nan_or(self, other: Self) -> u32;
}

/// Implements [`Vector`] for a type of `std::arch`.
macro_rules! vector {
    ($t:ty, $element:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $fma:ident,
     |$count:ident, $from:ident| $load_first:expr,
     |$value:ident, $count2:ident, $to:ident| $store_first:expr,
     |$x:ident| $canonical:expr,
     |$y:ident, $z:ident| $nan:expr) => {
        impl Vector for $t {
            type Element = $element;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(x: $element) -> $t {
                // SAFETY: the trait's.
                unsafe { $splat(x) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $element) -> $t {
                // SAFETY: the trait's.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: the trait's.
                unsafe { $store(to, self) }
            }

            #[inline(always)]
            unsafe fn load_first($count: usize, $from: *const $element) -> $t {
                // SAFETY: the trait's.
                unsafe { $load_first }
            }

            #[inline(always)]
            unsafe fn store_first(self, $count2: usize, $to: *mut $element) {
                let $value = self;
                // SAFETY: the trait's.
                unsafe { $store_first }
            }

            #[inline(always)]
            unsafe fn fma(self, a: $t, b: $t) -> $t {
                // SAFETY: the trait's.
                unsafe { $fma(a, b, self) }
            }

            #[inline(always)]
            #[allow(unused_unsafe, reason = "integers have no NaN to look for")]
            unsafe fn canonical(self) -> $t {
                let $x = self;
                // SAFETY: the trait's.
                unsafe { $canonical }
            }

            #[inline(always)]
            #[allow(unused_unsafe, reason = "integers have no NaN to look for")]
            unsafe fn nan_or(self, $z: $t) -> u32 {
                let $y = self;
                // SAFETY: the trait's.
                unsafe { $nan }
            }
        }
    };
}

/// All bits set in the first `count` of eight lanes.
///
/// # Safety
/// Needs AVX2.
#[inline(always)]
unsafe fn first_of_8(count: usize) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        _mm256_cmpgt_epi32(
            _mm256_set1_epi32(count as i32),
            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
        )
    }
}

/// All bits set in the first `count` of four lanes.
///
/// # Safety
/// Needs AVX2.
#[inline(always)]
unsafe fn first_of_4(count: usize) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_cmpgt_epi64(_mm256_set1_epi64x(count as i64), _mm256_setr_epi64x(0, 1, 2, 3)) }
}

vector!(
    __m256,
    f32,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    |count, from| _mm256_maskload_ps(from, first_of_8(count)),
    |value, count, to| _mm256_maskstore_ps(to, first_of_8(count), value),
    |x| _mm256_blendv_ps(
        x,
        _mm256_set1_ps(CANONICAL_NAN),
        _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x)
    ),
    |x, y| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(x, y)) as u32
);
vector!(
    __m256d,
    f64,
    4,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_fmadd_pd,
    |count, from| _mm256_maskload_pd(from, first_of_4(count)),
    |value, count, to| _mm256_maskstore_pd(to, first_of_4(count), value),
    |x| _mm256_blendv_pd(
        x,
        _mm256_set1_pd(CANONICAL_NAN_F64),
        _mm256_cmp_pd::<_CMP_UNORD_Q>(x, x)
    ),
    |x, y| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(x, y)) as u32
);
vector!(
    __m512,
    f32,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_fmadd_ps,
    |count, from| _mm512_maskz_loadu_ps(((1u32 << count) - 1) as u16, from),
    |value, count, to| _mm512_mask_storeu_ps(to, ((1u32 << count) - 1) as u16, value),
    |x| _mm512_mask_mov_ps(
        x,
        _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x),
        _mm512_set1_ps(CANONICAL_NAN)
    ),
    |x, y| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, y).into()
);
vector!(
    __m512d,
    f64,
    8,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_fmadd_pd,
    |count, from| _mm512_maskz_loadu_pd(((1u32 << count) - 1) as u8, from),
    |value, count, to| _mm512_mask_storeu_pd(to, ((1u32 << count) - 1) as u8, value),
    |x| _mm512_mask_mov_pd(
        x,
        _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(x, x),
        _mm512_set1_pd(CANONICAL_NAN_F64)
    ),
    |x, y| _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(x, y).into()
);

vector!(
    __m256i,
    u32,
    8,
    splat_8,
    load_8,
    store_8,
    add_products_8,
    |count, from| _mm256_maskload_epi32(from.cast::<i32>(), first_of_8(count)),
    |value, count, to| _mm256_maskstore_epi32(to.cast::<i32>(), first_of_8(count), value),
    |x| x,
    |_x, _y| 0
);
vector!(
    __m512i,
    u32,
    16,
    splat_16,
    load_16,
    store_16,
    add_products_16,
    |count, from| _mm512_maskz_loadu_epi32(((1u32 << count) - 1) as u16, from.cast::<i32>()),
    |value, count, to| _mm512_mask_storeu_epi32(to.cast::<i32>(), ((1u32 << count) - 1) as u16, value),
    |x| x,
    |_x, _y| 0
);

/// The operations of integer vectors by the names that the macro takes.
///
/// # Safety
/// As the methods of [`Vector`].
macro_rules! integers {
    ($($name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)?: $body:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $name($($arg: $t),*) $(-> $r)? {
            // SAFETY: the caller's.
            unsafe { $body }
        }
    )*};
}

integers! {
    splat_8(x: u32) -> __m256i: _mm256_set1_epi32(x as i32);
    load_8(from: *const u32) -> __m256i: _mm256_loadu_si256(from.cast());
    store_8(to: *mut u32, value: __m256i): _mm256_storeu_si256(to.cast(), value);
    add_products_8(a: __m256i, b: __m256i, c: __m256i) -> __m256i:
        _mm256_add_epi32(c, _mm256_madd_epi16(a, b));
    splat_16(x: u32) -> __m512i: _mm512_set1_epi32(x as i32);
    load_16(from: *const u32) -> __m512i: _mm512_loadu_si512(from.cast());
    store_16(to: *mut u32, value: __m512i): _mm512_storeu_si512(to.cast(), value);
    add_products_16(a: __m512i, b: __m512i, c: __m512i) -> __m512i:
        _mm512_add_epi32(c, _mm512_madd_epi16(a, b));
}

/// The operands of a product: row-major, a is m by k, b is k by n, c is m by n.
#[derive(Clone, Copy)]
pub(crate) struct Operands<T> {
    pub a: *const T,
    pub b: *const T,
    pub c: *mut T,
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl<T> Operands<T> {
    /// The product of the rows from `row` and the columns from `column`, still over the whole of k.
    ///
    /// # Safety
    /// Both must be within the operands.
    #[inline(always)]
    unsafe fn at(&self, row: usize, column: usize) -> (*const T, *const T, *mut T) {
        // SAFETY: within the operands by the caller's promise.
        unsafe {
            (
                self.a.add(row * self.k),
                self.b.add(column),
                self.c.add(row * self.n + column),
            )
        }
    }
}

/// One tile of `ROWS` rows by `VECTORS` vectors, at (row, column).
///
/// Indices instead of iterators: through these the sums lost their registers.
///
/// # Safety
/// The CPU has V's instructions, the tile is within the operands, and these are valid.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn tile<V: Vector, const ROWS: usize, const VECTORS: usize>(
    of: &Operands<V::Element>,
    row: usize,
    column: usize,
) {
    // SAFETY: every access is to row < ROWS, vector < VECTORS of the tile, and k < of.k.
    unsafe {
        let (a, b, c) = of.at(row, column);
        let mut sums = [[V::splat(*c); VECTORS]; ROWS];
        for (i, sums) in sums.iter_mut().enumerate() {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = V::load(c.add(i * of.n + j * V::LANES));
            }
        }
        for k in 0..of.k {
            let b = b.add(k * of.n);
            let mut columns = [V::splat(*b); VECTORS];
            for j in 0..VECTORS {
                columns[j] = V::load(b.add(j * V::LANES));
            }
            for i in 0..ROWS {
                let a = V::splat(*a.add(i * of.k + k));
                for j in 0..VECTORS {
                    sums[i][j] = sums[i][j].fma(a, columns[j]);
                }
            }
        }
        // Comparisons take the place of multiplications: one for two vectors, and only a NaN leads to more.
        let mut nan = 0;
        for sums in &sums {
            for j in (0..VECTORS).step_by(2) {
                nan |= sums[j].nan_or(sums[(j + 1).min(VECTORS - 1)]);
            }
        }
        if nan != 0 {
            for i in 0..ROWS {
                for j in 0..VECTORS {
                    sums[i][j] = sums[i][j].canonical();
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                sum.store(c.add(i * of.n + j * V::LANES));
            }
        }
    }
}

/// One tile of `ROWS` rows by the first `count` lanes of one vector, at (row, column).
///
/// # Safety
/// As [`tile`], with `0 < count < V::LANES` columns.
#[inline(always)]
unsafe fn narrow_tile<V: Vector, const ROWS: usize>(
    of: &Operands<V::Element>,
    row: usize,
    column: usize,
    count: usize,
) {
    // SAFETY: every access is to row < ROWS, lane < count of the tile, and k < of.k.
    unsafe {
        let (a, b, c) = of.at(row, column);
        let mut sums = [V::splat(*c); ROWS];
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = V::load_first(count, c.add(i * of.n));
        }
        for k in 0..of.k {
            let columns = V::load_first(count, b.add(k * of.n));
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = sum.fma(V::splat(*a.add(i * of.k + k)), columns);
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            sum.canonical().store_first(count, c.add(i * of.n));
        }
    }
}

/// `ROWS` rows from `row`, all columns.
///
/// # Safety
/// The CPU has V's instructions, the rows are within the operands, and these are valid.
#[inline(always)]
unsafe fn rows<V: Vector, const ROWS: usize, const VECTORS: usize>(of: &Operands<V::Element>, row: usize) {
    let mut column = 0;
    // SAFETY: each tile ends at or before column n.
    unsafe {
        while column + VECTORS * V::LANES <= of.n {
            tile::<V, ROWS, VECTORS>(of, row, column);
            column += VECTORS * V::LANES;
        }
        while column + 2 * V::LANES <= of.n {
            tile::<V, ROWS, 2>(of, row, column);
            column += 2 * V::LANES;
        }
        while column + V::LANES <= of.n {
            tile::<V, ROWS, 1>(of, row, column);
            column += V::LANES;
        }
        if column < of.n {
            narrow_tile::<V, ROWS>(of, row, column, of.n - column);
        }
    }
}

/// The whole product, in blocks of `ROWS`, then 4, then 1 rows.
///
/// # Safety
/// The CPU has V's instructions and the operands are valid.
#[inline(always)]
unsafe fn product<V: Vector, const ROWS: usize, const VECTORS: usize>(of: Operands<V::Element>) {
    let mut row = 0;
    // SAFETY: each block ends at or before row m.
    unsafe {
        while row + ROWS <= of.m {
            rows::<V, ROWS, VECTORS>(&of, row);
            row += ROWS;
        }
        while row + 4 <= of.m {
            rows::<V, 4, VECTORS>(&of, row);
            row += 4;
        }
        while row < of.m {
            rows::<V, 1, VECTORS>(&of, row);
            row += 1;
        }
    }
}

/// # Safety
/// AVX2 and FMA, and pointers valid for the sizes given, c not overlapping a or b.
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn f32_avx2(of: Operands<f32>) {
    // SAFETY: the caller's.
    unsafe { product::<__m256, 6, 2>(of) }
}

/// # Safety
/// As [`f32_avx2`].
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn f64_avx2(of: Operands<f64>) {
    // SAFETY: the caller's.
    unsafe { product::<__m256d, 6, 2>(of) }
}

/// # Safety
/// As [`f32_avx2`], with AVX-512 F.
#[target_feature(enable = "avx2,fma,avx512f")]
pub(crate) unsafe fn f32_avx512(of: Operands<f32>) {
    // SAFETY: the caller's.
    unsafe { product::<__m512, 6, 4>(of) }
}

/// # Safety
/// As [`f32_avx512`].
#[target_feature(enable = "avx2,fma,avx512f")]
pub(crate) unsafe fn f64_avx512(of: Operands<f64>) {
    // SAFETY: the caller's.
    unsafe { product::<__m512d, 8, 2>(of) }
}

/// # Safety
/// As [`f32_avx2`].
#[target_feature(enable = "avx2,fma")]
pub(crate) unsafe fn pairs_avx2(of: Operands<u32>) {
    // SAFETY: the caller's.
    unsafe { product::<__m256i, 6, 2>(of) }
}

/// # Safety
/// As [`f32_avx512`], with AVX-512 BW.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw")]
pub(crate) unsafe fn pairs_avx512(of: Operands<u32>) {
    // SAFETY: the caller's.
    unsafe { product::<__m512i, 8, 2>(of) }
}
