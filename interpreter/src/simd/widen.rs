//! Rows of 16-bit floats in a tensor, widened to f32 where they lie: nothing narrow is copied before. Rows may become
//! columns on the way.

#[cfg(target_arch = "x86_64")]
use super::sixteen::Pair;
use super::sixteen::Sixteen;
use super::strip::{Held, is_there};
use super::{Cpu, CpuLevel};
use crate::tensor_memory::Span;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, __m512, _mm256_loadu_si256, _mm256_permute2x128_si256, _mm256_setzero_si256,
    _mm256_storeu_si256, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

/// Numbers of 16 bits in a tensor, widened: `rows` rows of `columns`, one each `stride` bytes, to the rows of `width`
/// lanes of `out`. A NaN becomes the canonical one, or, with `any_nan`, any.
///
/// # Panics
/// If strips cannot run here, or the rows are not all there.
pub fn widen_rows(
    cpu: Cpu,
    (held, any_nan): (Held, bool),
    (span, stride): (Span<'_>, usize),
    [rows, columns]: [usize; 2],
    (width, out): (usize, &mut [f32]),
) {
    let Some(last) = rows.checked_sub(1).filter(|_| columns > 0) else {
        return;
    };
    let room = out.len() >= last * width + columns;
    assert!(
        room && are_there(cpu, held, span, stride, [rows, columns]),
        "rows that are not there"
    );
    let together = stride == 2 * columns && width == columns;
    let of = Rows {
        from: span.start(),
        stride,
        rows: if together { 1 } else { rows },
        columns: if together { rows * columns } else { columns },
        to: out.as_mut_ptr(),
        width,
        held,
        any_nan,
    };
    run(cpu, of, false);
}

/// As [`widen_rows`], but a row becomes a column: lane j of row i goes to `out[j * height + i]`.
///
/// # Panics
/// As [`widen_rows`].
pub fn widen_turned(
    cpu: Cpu,
    (held, any_nan): (Held, bool),
    (span, stride): (Span<'_>, usize),
    [rows, columns]: [usize; 2],
    (height, out): (usize, &mut [f32]),
) {
    let Some(last) = columns.checked_sub(1).filter(|_| rows > 0) else {
        return;
    };
    let room = out.len() >= last * height + rows;
    assert!(
        room && are_there(cpu, held, span, stride, [rows, columns]),
        "rows that are not there"
    );
    let of = Rows {
        from: span.start(),
        stride,
        rows,
        columns,
        to: out.as_mut_ptr(),
        width: height,
        held,
        any_nan,
    };
    run(cpu, of, true);
}

/// True if so many rows of 16-bit numbers lie in the bytes, and strips can run here.
fn are_there(cpu: Cpu, held: Held, span: Span<'_>, stride: usize, [rows, columns]: [usize; 2]) -> bool {
    let bytes = (rows - 1)
        .checked_mul(stride)
        .and_then(|start| start.checked_add(2 * columns));
    held != Held::F32 && is_there(cpu) && bytes.is_some_and(|bytes| bytes <= span.bytes())
}

/// Rows that were checked.
fn run(cpu: Cpu, of: Rows, turned: bool) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the rows were checked, and a Cpu of a level exists only where the CPU has its instructions.
    unsafe {
        match cpu.level {
            CpuLevel::Avx512 => widen_avx512(of, turned),
            _ => widen_avx2(of, turned),
        }
    }
}

/// What [`widen_rows`] reads and writes; and [`widen_turned`], with columns for the rows of what is written.
struct Rows {
    from: *const u8,
    stride: usize,
    rows: usize,
    columns: usize,
    to: *mut f32,
    width: usize,
    held: Held,
    any_nan: bool,
}

/// # Safety
/// As [`widen`], with AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
unsafe fn widen_avx512(of: Rows, turned: bool) {
    // SAFETY: the caller's.
    unsafe { widen_all::<__m512>(of, turned) }
}

/// # Safety
/// As [`widen`], with AVX2 and F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn widen_avx2(of: Rows, turned: bool) {
    // SAFETY: the caller's.
    unsafe { widen_all::<Pair>(of, turned) }
}

/// # Safety
/// As [`widen`].
#[inline(always)]
unsafe fn widen_all<V: Sixteen>(of: Rows, turned: bool) {
    // SAFETY: the caller's.
    unsafe {
        match (of.held, of.any_nan) {
            (Held::F16, false) => widen(of, turned, |from| V::load_f16(from).canonical()),
            (Held::F16, true) => widen(of, turned, |from| V::load_f16(from)),
            (_, false) => widen(of, turned, |from| V::load_bf16(from).canonical()),
            (_, true) => widen(of, turned, |from| V::load_bf16(from)),
        }
    }
}

/// # Safety
/// The CPU must have the instructions of `V`; all rows must be there, and be neither read nor written by others.
#[inline(always)]
unsafe fn widen<V: Sixteen>(of: Rows, turned: bool, load: impl Fn(*const u16) -> V) {
    if turned {
        // SAFETY: the caller's.
        unsafe { turn(of, load) }
        return;
    }
    match of.columns {
        // SAFETY: the caller's; so many columns are two vectors.
        32 => return unsafe { widen_short::<V, 2>(of, load) },
        // SAFETY: the caller's; so many columns are four vectors.
        64 => return unsafe { widen_short::<V, 4>(of, load) },
        _ => {}
    }
    let whole = of.columns / 16 * 16;
    // SAFETY: the caller's; the last vector of a row goes by way of arrays of its size.
    unsafe {
        for row in 0..of.rows {
            let from = of.from.add(row * of.stride).cast::<u16>();
            let to = of.to.add(row * of.width);
            for column in (0..whole).step_by(16) {
                load(from.add(column)).store(to.add(column));
            }
            let rest = of.columns - whole;
            if rest > 0 {
                let (mut narrow, mut wide) = ([0u16; 16], [0f32; 16]);
                std::ptr::copy_nonoverlapping(from.add(whole), narrow.as_mut_ptr(), rest);
                load(narrow.as_ptr()).store(wide.as_mut_ptr());
                std::ptr::copy_nonoverlapping(wide.as_ptr(), to.add(whole), rest);
            }
        }
    }
}

/// Rows of `VECTORS` whole vectors, as the operands of products often have: without a loop for each.
///
/// # Safety
/// As [`widen`].
#[inline(always)]
unsafe fn widen_short<V: Sixteen, const VECTORS: usize>(of: Rows, load: impl Fn(*const u16) -> V) {
    for row in 0..of.rows {
        // SAFETY: the caller's.
        unsafe {
            let from = of.from.add(row * of.stride).cast::<u16>();
            let to = of.to.add(row * of.width);
            for vector in 0..VECTORS {
                load(from.add(16 * vector)).store(to.add(16 * vector));
            }
        }
    }
}

/// Rows and columns that are turned at once.
const SIDE: usize = 16;

/// # Safety
/// As [`widen`].
#[inline(always)]
unsafe fn turn<V: Sixteen>(of: Rows, load: impl Fn(*const u16) -> V) {
    for row in (0..of.rows).step_by(SIDE) {
        for column in (0..of.columns).step_by(SIDE) {
            let (high, wide) = (SIDE.min(of.rows - row), SIDE.min(of.columns - column));
            // SAFETY: the caller's; of a block that is not whole only what is there is read and written.
            unsafe {
                let from = of.from.add(row * of.stride + 2 * column);
                let to = of.to.add(column * of.width + row);
                let mut block = [[0u16; SIDE]; SIDE];
                if (high, wide) == (SIDE, SIDE) {
                    turn_block(from, of.stride, &mut block);
                    for (j, lanes) in block.iter().enumerate() {
                        load(lanes.as_ptr()).store(to.add(j * of.width));
                    }
                    continue;
                }
                let mut part = [[0u16; SIDE]; SIDE];
                for (i, lanes) in part.iter_mut().enumerate().take(high) {
                    let row = from.add(i * of.stride);
                    std::ptr::copy_nonoverlapping(row, lanes.as_mut_ptr().cast(), 2 * wide);
                }
                turn_block(part.as_ptr().cast(), 2 * SIDE, &mut block);
                for (j, lanes) in block.iter().enumerate().take(wide) {
                    let mut column = [0f32; SIDE];
                    load(lanes.as_ptr()).store(column.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(column.as_ptr(), to.add(j * of.width), high);
                }
            }
        }
    }
}

/// Lane j of row i becomes lane i of row j.
///
/// # Safety
/// The CPU must have AVX2, and sixteen rows of sixteen numbers be there.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn turn_block(from: *const u8, stride: usize, block: &mut [[u16; SIDE]; SIDE]) {
    // SAFETY: the caller's; the block has room for sixteen rows.
    unsafe {
        // Loops over arrays: what is inside closures of others is not compiled for this CPU.
        let mut rows = [_mm256_setzero_si256(); SIDE];
        for (i, row) in rows.iter_mut().enumerate() {
            *row = _mm256_loadu_si256(from.add(i * stride).cast());
        }
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = rows;
        let top = turn_eight([a, b, c, d, e, f, g, h]);
        let bottom = turn_eight([i, j, k, l, m, n, o, p]);
        for j in 0..8 {
            let (left, right) = (
                _mm256_permute2x128_si256::<0x20>(top[j], bottom[j]),
                _mm256_permute2x128_si256::<0x31>(top[j], bottom[j]),
            );
            _mm256_storeu_si256(block[j].as_mut_ptr().cast(), left);
            _mm256_storeu_si256(block[8 + j].as_mut_ptr().cast(), right);
        }
    }
}

/// The same, without the instructions.
///
/// # Safety
/// Sixteen rows of sixteen numbers must be there.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn turn_block(from: *const u8, stride: usize, block: &mut [[u16; SIDE]; SIDE]) {
    for i in 0..SIDE {
        for (j, lanes) in block.iter_mut().enumerate() {
            // SAFETY: the caller's.
            lanes[i] = unsafe { from.add(i * stride + 2 * j).cast::<u16>().read_unaligned() };
        }
    }
}

/// In each half of the vectors, lane j of vector i becomes lane i of vector j.
///
/// # Safety
/// The CPU must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn turn_eight(rows: [__m256i; 8]) -> [__m256i; 8] {
    // SAFETY: the caller's.
    unsafe {
        let mut turned = rows;
        // Of each half of the columns: two rows, four rows, all eight.
        for half in 0..2 {
            let mut pairs = [rows[0]; 4];
            for (i, pair) in pairs.iter_mut().enumerate() {
                let (even, odd) = (rows[2 * i], rows[2 * i + 1]);
                *pair = match half {
                    0 => _mm256_unpacklo_epi16(even, odd),
                    _ => _mm256_unpackhi_epi16(even, odd),
                };
            }
            let [a, b, c, d] = pairs;
            let (left, right) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
            turned[4 * half] = _mm256_unpacklo_epi64(left, right);
            turned[4 * half + 1] = _mm256_unpackhi_epi64(left, right);
            let (left, right) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
            turned[4 * half + 2] = _mm256_unpacklo_epi64(left, right);
            turned[4 * half + 3] = _mm256_unpackhi_epi64(left, right);
        }
        turned
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::float::{Bf16, F16, StoredFloat};
    use crate::tensor_memory::Shared;

    /// Numbers of any bits, NaN among them, widened one by one.
    #[test]
    fn rows_and_columns_are_those_of_single_numbers() {
        let mut numbers: Vec<u16> = (0..4096u32).map(|i| (i * 40503) as u16).collect();
        let wide = |held, bits: u16| match held {
            Held::F16 => F16(bits).to_f32(),
            _ => Bf16(bits).to_f32(),
        };
        let copy = numbers.clone();
        let shared = Shared::new(std::iter::once((bytemuck::cast_slice_mut(&mut numbers), None)));
        for cpu in CpuLevel::ALL
            .into_iter()
            .filter_map(Cpu::at)
            .filter(|&cpu| is_there(cpu))
        {
            for (rows, columns, apart) in [
                (16, 16, 16),
                (1, 1, 3),
                (17, 5, 40),
                (40, 33, 33),
                (32, 64, 64),
                (17, 32, 40),
                (3, 64, 65),
                (3, 48, 50),
            ] {
                let bytes = 2 * ((rows - 1) * apart + columns);
                let span = shared.span(0, 2, bytes).expect("plain memory");
                for (held, any_nan) in [
                    (Held::F16, true),
                    (Held::F16, false),
                    (Held::Bf16, true),
                    (Held::Bf16, false),
                ] {
                    let (mut plain, mut turned) = (vec![0.5; rows * 70], vec![0.5; columns * 70]);
                    widen_rows(
                        cpu,
                        (held, any_nan),
                        (span, 2 * apart),
                        [rows, columns],
                        (70, &mut plain),
                    );
                    widen_turned(
                        cpu,
                        (held, any_nan),
                        (span, 2 * apart),
                        [rows, columns],
                        (70, &mut turned),
                    );
                    for (i, j) in (0..rows).flat_map(|i| (0..70).map(move |j| (i, j))) {
                        let want = if j < columns {
                            wide(held, copy[1 + i * apart + j])
                        } else {
                            0.5
                        };
                        let got = plain[i * 70 + j];
                        assert!(
                            is_same(got, want, any_nan),
                            "{i} {j} of {rows}x{columns}: {got} {want}"
                        );
                    }
                    for (j, i) in (0..columns).flat_map(|j| (0..70).map(move |i| (j, i))) {
                        let want = if i < rows {
                            wide(held, copy[1 + i * apart + j])
                        } else {
                            0.5
                        };
                        let got = turned[j * 70 + i];
                        assert!(
                            is_same(got, want, any_nan),
                            "{i} {j} of {rows}x{columns}, turned: {got} {want}"
                        );
                    }
                }
            }
        }
    }

    fn is_same(a: f32, b: f32, any_nan: bool) -> bool {
        a.to_bits() == b.to_bits() || any_nan && a.is_nan() && b.is_nan()
    }
}
