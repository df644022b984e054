//! Matrix products: `c += a · b`, row-major, each output accumulated by fused multiply-adds in rising k.
//!
//! That order is the card's in `ieee` precision, bit for bit, and it is kept for every size and CPU level:
//! vectors run along the columns of c. Other precisions prepare the operands and use the same product:
//! [`cut_tf32`] for `tf32`; f16 and bf16 widened to f32, in which every product is exact. An f16
//! accumulator is f32 inside one product and rounded at its end. `tf32x3` and the `bf16x` forms, which
//! emulate f32, are computed as `ieee`.
//!
//! Not modelled: the tensor cores' cut of aligned products (a difference in the last bits).

use crate::num::float::{CANONICAL_NAN, Canonical, StoredFloat};
use crate::num::math::{Arithmetic, fused};
use crate::simd::{self, Cpu, CpuLevel, FlatLoop};

/// Sizes of a product: a is m by k, b is k by n, c is m by n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DotShape {
    /// Rows of a and c.
    pub m: usize,
    /// Columns of b and c.
    pub n: usize,
    /// Columns of a, rows of b.
    pub k: usize,
}

impl DotShape {
    /// # Panics
    /// If a length is not that of its operand: a mistake of the caller, never of the kernel's data.
    fn check(self, a: usize, b: usize, c: usize) {
        let lengths = (
            self.m.checked_mul(self.k),
            self.k.checked_mul(self.n),
            self.m.checked_mul(self.n),
        );
        assert_eq!(
            (Some(a), Some(b), Some(c)),
            lengths,
            "operands of a dot of {self:?}"
        );
    }
}

/// `c[i][j] = fma(a[i][k], b[k][j], c[i][j])` for k = 0, 1, …; NaN results are canonical.
///
/// # Panics
/// If the slices do not have the lengths of the shape.
pub fn dot_f32(cpu: Cpu, a: &[f32], b: &[f32], c: &mut [f32], shape: DotShape) {
    shape.check(a.len(), b.len(), c.len());
    if !simd::dot_f32(cpu, a, b, c, [shape.m, shape.n, shape.k]) {
        let n = shape.n;
        cpu.run(Product {
            a,
            b,
            c,
            n,
            k: shape.k,
            fma: fused,
            done: canonical,
        });
    }
}

/// [`dot_f32`] onto an accumulator of a narrower type: f32 inside the product, rounded once at its end.
/// `wide` is room for as many f32 as `c` has elements.
///
/// # Panics
/// If the slices do not have the lengths of the shape, or `wide` that of `c`.
pub fn dot_narrow<T: StoredFloat>(
    cpu: Cpu,
    a: &[f32],
    b: &[f32],
    c: &mut [T],
    wide: &mut [f32],
    shape: DotShape,
) {
    assert_eq!(wide.len(), c.len());
    T::widen_slice(cpu, c, wide);
    dot_f32(cpu, a, b, wide, shape);
    T::narrow_slice(cpu, wide, c);
}

/// As [`dot_f32`], in f64.
///
/// # Panics
/// If the slices do not have the lengths of the shape.
pub fn dot_f64(cpu: Cpu, a: &[f64], b: &[f64], c: &mut [f64], shape: DotShape) {
    shape.check(a.len(), b.len(), c.len());
    if !simd::dot_f64(cpu, a, b, c, [shape.m, shape.n, shape.k]) {
        let n = shape.n;
        cpu.run(Product {
            a,
            b,
            c,
            n,
            k: shape.k,
            fma: <f64 as Arithmetic>::fma,
            done: canonical,
        });
    }
}

/// `c += a · b` in wrapping 32-bit integers, of operands widened from `T`.
///
/// # Panics
/// If the slices do not have the lengths of the shape.
pub fn dot_i32<T: Copy + Into<i32>>(cpu: Cpu, a: &[T], b: &[T], c: &mut [i32], shape: DotShape) {
    shape.check(a.len(), b.len(), c.len());
    let fma = |a: T, b: T, c: i32| c.wrapping_add(a.into().wrapping_mul(b.into()));
    cpu.run(Product {
        a,
        b,
        c,
        n: shape.n,
        k: shape.k,
        fma,
        done: |c| c,
    });
}

/// Elements of the operands of [`dot_i8`] in pairs along k: of a, of b.
pub fn pairs(shape: DotShape) -> [usize; 2] {
    let half = shape.k.div_ceil(2);
    [shape.m * half, half * shape.n]
}

/// As [`dot_i32`], of signed bytes. `room` is for as many numbers as [`pairs`] says, of a and b.
///
/// # Panics
/// If the slices do not have the lengths of the shape.
pub fn dot_i8(cpu: Cpu, a: &[i8], b: &[i8], c: &mut [i32], room: &mut [&mut [u32]; 2], shape: DotShape) {
    shape.check(a.len(), b.len(), c.len());
    let DotShape { m, n, k } = shape;
    if cpu.level() == CpuLevel::Scalar || k == 0 {
        return dot_i32(cpu, a, b, c, shape);
    }
    let [a_pairs, b_pairs] = room;
    let half = k.div_ceil(2);
    // One instruction multiplies two neighbouring 16-bit numbers with two others and adds the products.
    let pair = |low: i8, high: i8| u32::from(low as i16 as u16) | u32::from(high as i16 as u16) << 16;
    for (row, pairs) in a.chunks_exact(k).zip(a_pairs.chunks_exact_mut(half)) {
        let (whole, rest) = row.as_chunks::<2>();
        cpu.map(whole, pairs, |[low, high]| pair(low, high));
        if let ([last], Some(pairs)) = (rest, pairs.last_mut()) {
            *pairs = pair(*last, 0);
        }
    }
    for (rows, pairs) in b.chunks(2 * n).zip(b_pairs.chunks_exact_mut(n)) {
        let (low, high) = rows.split_at(n);
        match high {
            [] => cpu.map(low, pairs, |low| pair(low, 0)),
            _ => cpu.zip(low, high, pairs, pair),
        }
    }
    let done = simd::dot_pairs(cpu, a_pairs, b_pairs, bytemuck::cast_slice_mut(c), [m, n, half]);
    debug_assert!(done || c.is_empty());
}

/// An operand as the tensor cores read it in `tf32`: the low 13 bits dropped, not rounded. NaN stays NaN.
#[inline(always)]
pub fn cut_tf32(x: f32) -> f32 {
    if x.is_nan() {
        CANONICAL_NAN
    } else {
        f32::from_bits(x.to_bits() & !0x1fff)
    }
}

#[inline(always)]
fn canonical<T: Canonical>(x: T) -> T {
    x.canonical()
}

/// The product as a flat loop: along the columns of one row of c and b at a time.
struct Product<'a, T, C, F, D> {
    a: &'a [T],
    b: &'a [T],
    c: &'a mut [C],
    n: usize,
    k: usize,
    fma: F,
    done: D,
}

impl<T: Copy, C: Copy, F: Fn(T, T, C) -> C, D: Fn(C) -> C> FlatLoop for Product<'_, T, C, F, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if self.n == 0 {
            return;
        }
        for (i, row) in self.c.chunks_exact_mut(self.n).enumerate() {
            let factors = &self.a[i * self.k..][..self.k];
            for (a, b) in factors.iter().zip(self.b.chunks_exact(self.n)) {
                for (c, b) in row.iter_mut().zip(b) {
                    *c = (self.fma)(*a, *b, *c);
                }
            }
            for c in row {
                *c = (self.done)(*c);
            }
        }
    }
}
