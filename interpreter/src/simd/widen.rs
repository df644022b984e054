//! Rows of 16-bit floats in a tensor, widened to f32 where they lie: nothing narrow is copied before.

#[cfg(target_arch = "x86_64")]
use super::sixteen::Pair;
use super::sixteen::Sixteen;
use super::strip::{Held, is_there};
use super::{Cpu, CpuLevel};
use crate::tensor_memory::Span;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512;

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
    let bytes = last
        .checked_mul(stride)
        .and_then(|start| start.checked_add(2 * columns));
    let there = bytes.is_some_and(|bytes| bytes <= span.bytes()) && out.len() >= last * width + columns;
    assert!(
        held != Held::F32 && is_there(cpu) && there,
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
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the rows were checked above, and a Cpu of a level exists only where the CPU has its instructions.
    unsafe {
        match cpu.level {
            CpuLevel::Avx512 => widen_avx512(of),
            _ => widen_avx2(of),
        }
    }
}

/// What [`widen_rows`] reads and writes.
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
unsafe fn widen_avx512(of: Rows) {
    // SAFETY: the caller's.
    unsafe { widen_all::<__m512>(of) }
}

/// # Safety
/// As [`widen`], with AVX2 and F16C.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn widen_avx2(of: Rows) {
    // SAFETY: the caller's.
    unsafe { widen_all::<Pair>(of) }
}

/// # Safety
/// As [`widen`].
#[inline(always)]
unsafe fn widen_all<V: Sixteen>(of: Rows) {
    // SAFETY: the caller's.
    unsafe {
        match (of.held, of.any_nan) {
            (Held::F16, false) => widen(of, |from| V::load_f16(from).canonical()),
            (Held::F16, true) => widen(of, |from| V::load_f16(from)),
            (_, false) => widen(of, |from| V::load_bf16(from).canonical()),
            (_, true) => widen(of, |from| V::load_bf16(from)),
        }
    }
}

/// # Safety
/// The CPU must have the instructions of `V`; all rows must be there, and be neither read nor written by others.
#[inline(always)]
unsafe fn widen<V: Sixteen>(of: Rows, load: impl Fn(*const u16) -> V) {
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
