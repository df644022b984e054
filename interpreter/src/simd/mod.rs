//! Running flat loops with the widest vector instructions of the CPU.
//!
//! A build for plain x86-64 has only 128-bit vectors and no fused multiply-add. [`Cpu`] is the proof that
//! wider ones are there: [`Cpu::run`] compiles a loop once per [`CpuLevel`] and runs the one that fits.
//! Results have the same bits on every level, because Rust neither contracts nor reorders float operations;
//! only speed differs. Hand-written instructions are in `dot` (matrix products) and `half` (f16).
//!
//! This folder is the only place of the interpreter with `unsafe`: calls of functions compiled for
//! instructions that the CPU must have, and the loads and stores of the micro-kernels.

#![allow(unsafe_code)]

use std::fmt;
use std::str::FromStr;

use crate::num::float::{F16, StoredFloat};

#[cfg(target_arch = "x86_64")]
pub(crate) mod dot;
#[cfg(target_arch = "x86_64")]
mod exp;
#[cfg(target_arch = "x86_64")]
pub(crate) mod half;
mod plan;
pub(crate) mod running;
mod sixteen;
mod step;
mod straight;
pub(crate) mod strip;
pub(crate) mod widen;

/// A set of vector instructions. They are ordered: a CPU with one has those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CpuLevel {
    /// What the build assumes: on x86-64, SSE2.
    Scalar,
    /// x86-64 with AVX2, FMA and F16C (x86-64-v3).
    Avx2,
    /// x86-64 with AVX-512 F, BW, CD, DQ and VL (x86-64-v4).
    Avx512,
}

impl CpuLevel {
    /// All levels, lowest first.
    pub const ALL: [CpuLevel; 3] = [CpuLevel::Scalar, CpuLevel::Avx2, CpuLevel::Avx512];

    /// The name by which a user forces the level: `scalar`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self {
            CpuLevel::Scalar => "scalar",
            CpuLevel::Avx2 => "avx2",
            CpuLevel::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for CpuLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no [`CpuLevel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `scalar`, `avx2` or `avx512`")]
pub struct UnknownCpuLevel;

impl FromStr for CpuLevel {
    type Err = UnknownCpuLevel;

    fn from_str(name: &str) -> Result<CpuLevel, UnknownCpuLevel> {
        CpuLevel::ALL
            .into_iter()
            .find(|level| level.name() == name)
            .ok_or(UnknownCpuLevel)
    }
}

/// Lanes that are converted at a time: a few stay in the first-level cache.
const BLOCK: usize = 512;

/// The proof that this CPU has the instructions of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    level: CpuLevel,
}

impl Cpu {
    /// The level that needs no proof.
    pub const SCALAR: Cpu = Cpu {
        level: CpuLevel::Scalar,
    };

    /// The highest level of this CPU.
    pub fn detect() -> Cpu {
        let level = CpuLevel::ALL.into_iter().rev().find(|level| is_available(*level));
        Cpu {
            level: level.unwrap_or(CpuLevel::Scalar),
        }
    }

    /// The given level, if this CPU has it.
    pub fn at(level: CpuLevel) -> Option<Cpu> {
        is_available(level).then_some(Cpu { level })
    }

    /// The level.
    pub const fn level(self) -> CpuLevel {
        self.level
    }

    /// Runs a loop compiled for the level.
    #[inline]
    pub fn run<L: FlatLoop>(self, flat_loop: L) -> L::Output {
        #[cfg(target_arch = "x86_64")]
        match self.level {
            CpuLevel::Scalar => {}
            // SAFETY: a Cpu of a level exists only where the CPU has its instructions.
            CpuLevel::Avx2 => return unsafe { run_avx2(flat_loop) },
            // SAFETY: as above.
            CpuLevel::Avx512 => return unsafe { run_avx512(flat_loop) },
        }
        flat_loop.run()
    }

    /// `out[i] = f(a[i])`, over the shorter length.
    #[inline]
    pub fn map<A: Copy, O>(self, a: &[A], out: &mut [O], f: impl Fn(A) -> O) {
        self.run(Map { a, out, f });
    }

    /// `out[i] = f(a[i], b[i])`, over the shortest length.
    #[inline]
    pub fn zip<A: Copy, B: Copy, O>(self, a: &[A], b: &[B], out: &mut [O], f: impl Fn(A, B) -> O) {
        self.run(Zip { a, b, out, f });
    }

    /// `out[i] = f(a[i], b[i], c[i])`, over the shortest length.
    #[inline]
    pub fn zip3<A: Copy, B: Copy, C: Copy, O>(
        self,
        a: &[A],
        b: &[B],
        c: &[C],
        out: &mut [O],
        f: impl Fn(A, B, C) -> O,
    ) {
        self.run(Zip3 { a, b, c, out, f });
    }

    /// `out[i] = f(a[i])` in f32, rounded once, over the shorter length: as [`map`](Cpu::map) with
    /// conversions, and faster, because whole blocks are converted.
    pub fn map_narrow<T: StoredFloat>(self, a: &[T], out: &mut [T], f: impl Fn(f32) -> f32) {
        let mut x = [0f32; BLOCK];
        for (a, out) in a.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let x = &mut x[..a.len().min(out.len())];
            T::widen_slice(self, a, x);
            self.update(x, &f);
            T::narrow_slice(self, x, out);
        }
    }

    /// `out[i] = f(a[i], b[i])` in f32, rounded once, over the shortest length.
    pub fn zip_narrow<T: StoredFloat>(self, a: &[T], b: &[T], out: &mut [T], f: impl Fn(f32, f32) -> f32) {
        let (mut x, mut y) = ([0f32; BLOCK], [0f32; BLOCK]);
        for ((a, b), out) in a.chunks(BLOCK).zip(b.chunks(BLOCK)).zip(out.chunks_mut(BLOCK)) {
            let count = a.len().min(b.len()).min(out.len());
            let (x, y) = (&mut x[..count], &mut y[..count]);
            T::widen_slice(self, a, x);
            T::widen_slice(self, b, y);
            self.update_with(x, y, &f);
            T::narrow_slice(self, x, out);
        }
    }

    /// `x[i] = f(x[i])`.
    #[inline]
    pub fn update<A: Copy>(self, x: &mut [A], f: impl Fn(A) -> A) {
        self.run(Update { x, f });
    }

    /// `x[i] = f(x[i], b[i])`, over the shorter length.
    #[inline]
    pub fn update_with<A: Copy, B: Copy>(self, x: &mut [A], b: &[B], f: impl Fn(A, B) -> A) {
        self.run(UpdateWith { x, b, f });
    }
}

/// Asks for the line of an address, which need not be there, to be brought near.
#[inline]
pub(crate) fn prefetch(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which does nothing where there is no memory; part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(std::ptr::without_provenance(address));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Whether the CPU has the instructions of a level.
fn is_available(level: CpuLevel) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = || {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
        };
        let avx512 = || {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
        };
        match level {
            CpuLevel::Scalar => true,
            CpuLevel::Avx2 => avx2(),
            CpuLevel::Avx512 => avx2() && avx512(),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        level == CpuLevel::Scalar
    }
}

/// Widens f16 to f32, over the shorter length. A NaN becomes the canonical one, or, where `CANONICAL` is
/// false, any.
pub(crate) fn widen_f16<const CANONICAL: bool>(cpu: Cpu, src: &[F16], dst: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    match cpu.level {
        CpuLevel::Scalar => {}
        // SAFETY: a Cpu of this level exists only where the CPU has its instructions.
        CpuLevel::Avx2 => return unsafe { half::widen_avx2::<CANONICAL>(src, dst) },
        // SAFETY: as above.
        CpuLevel::Avx512 => return unsafe { half::widen_avx512::<CANONICAL>(src, dst) },
    }
    cpu.map(src, dst, F16::to_f32);
}

/// Rounds f32 to f16, to nearest even, over the shorter length.
pub(crate) fn narrow_f16(cpu: Cpu, src: &[f32], dst: &mut [F16]) {
    #[cfg(target_arch = "x86_64")]
    match cpu.level {
        CpuLevel::Scalar => {}
        // SAFETY: a Cpu of this level exists only where the CPU has its instructions.
        CpuLevel::Avx2 => return unsafe { half::narrow_avx2(src, dst) },
        // SAFETY: as above.
        CpuLevel::Avx512 => return unsafe { half::narrow_avx512(src, dst) },
    }
    cpu.map(src, dst, F16::from_f32);
}

/// A function over slices, over the shorter length, where the CPU has one: false means that nothing was done.
macro_rules! avx512_slices {
    ($($name:ident)*) => {$(
        pub(crate) fn $name(cpu: Cpu, x: &[f32], out: &mut [f32]) -> bool {
            #[cfg(target_arch = "x86_64")]
            if cpu.level == CpuLevel::Avx512 {
                // SAFETY: a Cpu of this level exists only where the CPU has its instructions.
                unsafe { exp::$name(x, out) }
                return true;
            }
            _ = (cpu, x, out);
            false
        }
    )*};
}

avx512_slices!(exp exp2 erf);

/// Adds the product of two row-major matrices to a third with the CPU's micro-kernel, if it has one:
/// false means that nothing was done. The slices must have `m·k`, `k·n` and `m·n` elements.
macro_rules! micro_kernel {
    ($name:ident, $t:ty, $avx2:ident, $avx512:ident) => {
        pub(crate) fn $name(cpu: Cpu, a: &[$t], b: &[$t], c: &mut [$t], [m, n, k]: [usize; 3]) -> bool {
            assert_eq!((a.len(), b.len(), c.len()), (m * k, k * n, m * n));
            #[cfg(target_arch = "x86_64")]
            if cpu.level >= CpuLevel::Avx2 && !c.is_empty() && k > 0 {
                let of = dot::Operands {
                    a: a.as_ptr(),
                    b: b.as_ptr(),
                    c: c.as_mut_ptr(),
                    m,
                    n,
                    k,
                };
                if cpu.level == CpuLevel::Avx512 {
                    // SAFETY: the lengths were checked, c is borrowed exclusively, and a Cpu of this level
                    // exists only where the CPU has its instructions.
                    unsafe { dot::$avx512(of) }
                } else {
                    // SAFETY: as above.
                    unsafe { dot::$avx2(of) }
                }
                return true;
            }
            _ = cpu;
            false
        }
    };
}

micro_kernel!(dot_f32, f32, f32_avx2, f32_avx512);
micro_kernel!(dot_f64, f64, f64_avx2, f64_avx512);
// Pairs of 16-bit numbers.
micro_kernel!(dot_pairs, u32, pairs_avx2, pairs_avx512);

/// A loop over slices, to be compiled once per level.
///
/// [`run`](FlatLoop::run) must be `#[inline(always)]`, and so must the lane functions in it: only code
/// inlined into the level's function is compiled with its instructions.
pub trait FlatLoop {
    /// What the loop returns.
    type Output;

    /// Runs the loop.
    fn run(self) -> Self::Output;
}

/// # Safety
/// The CPU must have the instructions named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run_avx2<L: FlatLoop>(flat_loop: L) -> L::Output {
    flat_loop.run()
}

/// # Safety
/// The CPU must have the instructions named.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
unsafe fn run_avx512<L: FlatLoop>(flat_loop: L) -> L::Output {
    flat_loop.run()
}

struct Map<'a, A, O, F> {
    a: &'a [A],
    out: &'a mut [O],
    f: F,
}

impl<A: Copy, O, F: Fn(A) -> O> FlatLoop for Map<'_, A, O, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, a) in self.out.iter_mut().zip(self.a) {
            *out = (self.f)(*a);
        }
    }
}

struct Zip<'a, A, B, O, F> {
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [O],
    f: F,
}

impl<A: Copy, B: Copy, O, F: Fn(A, B) -> O> FlatLoop for Zip<'_, A, B, O, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((out, a), b) in self.out.iter_mut().zip(self.a).zip(self.b) {
            *out = (self.f)(*a, *b);
        }
    }
}

struct Zip3<'a, A, B, C, O, F> {
    a: &'a [A],
    b: &'a [B],
    c: &'a [C],
    out: &'a mut [O],
    f: F,
}

impl<A: Copy, B: Copy, C: Copy, O, F: Fn(A, B, C) -> O> FlatLoop for Zip3<'_, A, B, C, O, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (((out, a), b), c) in self.out.iter_mut().zip(self.a).zip(self.b).zip(self.c) {
            *out = (self.f)(*a, *b, *c);
        }
    }
}

struct Update<'a, A, F> {
    x: &'a mut [A],
    f: F,
}

impl<A: Copy, F: Fn(A) -> A> FlatLoop for Update<'_, A, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for x in self.x {
            *x = (self.f)(*x);
        }
    }
}

struct UpdateWith<'a, A, B, F> {
    x: &'a mut [A],
    b: &'a [B],
    f: F,
}

impl<A: Copy, B: Copy, F: Fn(A, B) -> A> FlatLoop for UpdateWith<'_, A, B, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (x, b) in self.x.iter_mut().zip(self.b) {
            *x = (self.f)(*x, *b);
        }
    }
}
