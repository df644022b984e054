//! How the operations of [`super::strip`] run. What each does was found when the line was made ([`super::plan`]); where its operand
//! is, is found when a turn begins ([`super::step`]). Strips that lie inside all windows and ranges then find nothing anew; in those that are
//! cut, lanes outside are left out of loads and stores by masks.

#![allow(clippy::needless_range_loop, reason = "lanes of several vectors, by number")]

use super::Cpu;
use super::plan::Code;
#[cfg(target_arch = "x86_64")]
use super::sixteen::Pair;
use super::sixteen::Sixteen;
use super::step::{Step, Steps, aim};
use super::strip::{ARGUMENTS, Arith, Fold, Held, MOST, Operand, Rooms, Run, SHORT, Window};
use crate::ahead::Ahead;
use crate::frame::Tile;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512;
use std::ops::Range;

/// Lines that are asked for at once, about: to ask costs as much as a step, and for more of them would have the CPU wait.
const ASKED: usize = 16;

/// What strips share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'s> {
    cpu: Cpu,
    steps: &'s [Step],
    scratch: *mut Rooms,
    /// Where partial results of [`Code::Sum`] are.
    sums: *mut f32,
}

/// Strips for the vectors of a level, as functions of their own: in one function with all that is around them compilers keep
/// the strip in memory instead of registers.
///
/// # Safety
/// As [`strips`], for a CPU of the level.
pub(super) trait Level {
    /// Vectors of a strip.
    const VECTORS: usize;
    /// So many strips inside all windows and ranges, from a lane on, and so many lines to ask for beside each.
    unsafe fn whole(shared: Shared<'_>, first: usize, count: usize, ahead: (&mut Ahead, usize)) -> bool;
    /// One strip that may be cut, of [`Level::VECTORS`].
    unsafe fn wide(shared: Shared<'_>, first: usize) -> bool;
    /// One of [`SHORT`] lanes, combined so many times.
    unsafe fn short(shared: Shared<'_>, first: usize, times: usize) -> bool;
    /// As [`strips`].
    unsafe fn turn(
        cpu: Cpu,
        run: (&Run<'_>, *mut Rooms, (&mut Steps, usize)),
        windows: &[Window<'_>],
        operands: &[Operand<'_>],
        ahead: &mut Ahead,
    ) -> bool;
}

macro_rules! level {
    ($name:ident: $vector:ty, $count:literal, $($features:literal),*) => {
        #[cfg(target_arch = "x86_64")]
        pub(super) struct $name;
        #[cfg(target_arch = "x86_64")]
        impl Level for $name {
            const VECTORS: usize = $count;
            $(#[target_feature(enable = $features)])*
            #[inline(never)]
            unsafe fn whole(shared: Shared<'_>, first: usize, count: usize, ahead: (&mut Ahead, usize)) -> bool {
                let mut special = false;
                // SAFETY: the caller's.
                unsafe {
                    let mut sums = <$vector>::load(shared.sums);
                    let every = (ASKED / ahead.1.max(1)).clamp(1, 4);
                    for i in 0..count {
                        let first = first + SHORT * $count * i;
                        special |= strip::<$vector, $count, false>(shared, first, 1, &mut sums);
                        if (i + 1).is_multiple_of(every) {
                            ahead.0.pull(ahead.1 * every);
                        }
                    }
                    ahead.0.pull(ahead.1 * (count % every));
                    sums.store(shared.sums);
                }
                special
            }
            $(#[target_feature(enable = $features)])*
            #[inline(never)]
            unsafe fn wide(shared: Shared<'_>, first: usize) -> bool {
                // SAFETY: the caller's.
                unsafe {
                    let mut sums = <$vector>::load(shared.sums);
                    let special = strip::<$vector, $count, true>(shared, first, 1, &mut sums);
                    sums.store(shared.sums);
                    special
                }
            }
            $(#[target_feature(enable = $features)])*
            #[inline(never)]
            unsafe fn short(shared: Shared<'_>, first: usize, times: usize) -> bool {
                // SAFETY: the caller's.
                unsafe {
                    let mut sums = <$vector>::load(shared.sums);
                    let special = strip::<$vector, 1, true>(shared, first, times, &mut sums);
                    sums.store(shared.sums);
                    special
                }
            }
            $(#[target_feature(enable = $features)])*
            unsafe fn turn(
                cpu: Cpu,
                run: (&Run<'_>, *mut Rooms, (&mut Steps, usize)),
                windows: &[Window<'_>],
                operands: &[Operand<'_>],
                ahead: &mut Ahead,
            ) -> bool {
                // SAFETY: the caller's.
                unsafe { strips::<Self, $vector, $count>(cpu, run, windows, operands, ahead) }
            }
        }
    };
}

level! { Avx512: __m512, 8, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt", "avx512f,avx512bw,avx512cd,avx512dq,avx512vl" }
level! { Avx2: Pair, 4, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt" }

/// The lanes that are inside all windows and ranges.
#[inline]
fn inside(windows: &[Window<'_>], ranges: &[(usize, usize)]) -> Range<usize> {
    let windows = windows.iter().map(|window| (window.first, window.last));
    let all = windows.chain(ranges.iter().copied());
    let (mut first, mut last) = (0, usize::MAX);
    for (from, to) in all {
        first = first.max(from);
        last = last.min(to);
    }
    first..last
}

/// All strips: wide ones as long as more than half of one is left, then those of [`SHORT`] lanes; whether a NaN or an
/// infinity was written to a tensor.
///
/// # Safety
/// The CPU must be of the level, and what the steps name must be there, for all lanes of the run; they were found for it.
#[inline(always)]
unsafe fn strips<L: Level, V: Sixteen, const N: usize>(
    cpu: Cpu,
    (run, scratch, steps): (&Run<'_>, *mut Rooms, (&mut Steps, usize)),
    windows: &[Window<'_>],
    operands: &[Operand<'_>],
    ahead: &mut Ahead,
) -> bool {
    let (width, inside) = (SHORT * L::VECTORS, inside(windows, run.ranges));
    let (mut first, end) = (run.lanes.start, run.lanes.end);
    let mut special = false;
    // SAFETY: the caller's. All pointers into the room come from one, which nobody else uses meanwhile. Results, and room
    // for them, are as long as the last strip; lanes outside windows are only touched where strips are not cut.
    unsafe {
        let steps = steps.0.all(steps.1);
        aim::<V, N>(steps, windows, operands, scratch);
        let sums = steps
            .iter()
            .find(|step| step.code == Code::Sum)
            .map(|step| step.at);
        let shared = Shared {
            cpu,
            steps,
            scratch,
            // Without a sum, something that nobody reads.
            sums: sums.unwrap_or((&raw mut (*scratch).unused).cast()).cast(),
        };
        let lines = run.lines;
        while first + width / 2 < end {
            if inside.start <= first && first + width <= inside.end {
                let count = (inside.end.min(end + width / 2 - 1) - first) / width;
                special |= L::whole(shared, first, count, (ahead, lines * L::VECTORS / 8));
                first += width * count;
            } else {
                special |= L::wide(shared, first);
                ahead.pull(lines * L::VECTORS / 8);
                first += width;
            }
        }
        while first < end {
            special |= L::short(shared, first, 1);
            ahead.pull(lines.div_ceil(8));
            first += SHORT;
        }
        if first < run.alike {
            // Nothing is written to a tensor.
            L::short(shared, first, (run.alike - first) / SHORT);
        }
    }
    special
}

/// A bit for each lane of the sixteen from `first` on that is in the range.
#[inline(always)]
fn some((from, to): (usize, usize), first: usize) -> u16 {
    let bit = |lane: usize| 1u32 << (lane.clamp(first, first + 16) - first);
    bit(to).wrapping_sub(bit(from.min(to))) as u16
}

/// Sixteen lanes of an operand, widened: the number `i` of a strip.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn lanes<V: Sixteen>(at: *const u8, held: Held, i: usize) -> V {
    // SAFETY: the caller's.
    unsafe {
        match held {
            Held::F32 => V::load(at.cast::<f32>().add(16 * i)),
            Held::F16 => V::load_f16(at.cast::<u16>().add(16 * i)),
            Held::Bf16 => V::load_bf16(at.cast::<u16>().add(16 * i)),
        }
    }
}

/// The same where some lanes may be missing: they are what the step says.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn some_lanes<V: Sixteen>(step: &Step, held: Held, first: usize, i: usize) -> V {
    // What every strip has the same differs within a strip.
    let at = step.at.wrapping_add(first * step.bytes + 16 * i * held.bytes());
    // SAFETY: the caller's; only lanes that are there are touched.
    unsafe {
        let (mask, other) = (some(step.lanes, first + 16 * i), V::splat(step.other));
        if held == Held::F32 {
            return V::load_some(at.cast(), mask, other);
        }
        let mut narrow = [0u16; 16];
        for (j, lane) in narrow.iter_mut().enumerate() {
            if mask >> j & 1 != 0 {
                *lane = at.cast::<u16>().add(j).read_unaligned();
            }
        }
        lanes::<V>(narrow.as_ptr().cast(), held, 0).select(other, mask)
    }
}

/// Writes those lanes of sixteen that are there.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn store_some<V: Sixteen>(step: &Step, held: Held, x: V, first: usize) {
    let at = step.at.wrapping_add(first * step.bytes);
    let mask = some(step.lanes, first);
    let mut narrow = [0u16; 16];
    // SAFETY: the caller's; only lanes that are there are touched.
    unsafe {
        match held {
            Held::F32 => return x.store_some(at.cast(), mask),
            Held::F16 => x.store_f16(narrow.as_mut_ptr()),
            Held::Bf16 => x.store_bf16(narrow.as_mut_ptr()),
        }
        for (i, lane) in narrow.into_iter().enumerate() {
            if mask >> i & 1 != 0 {
                at.cast::<u16>().add(i).write_unaligned(lane);
            }
        }
    }
}

/// The strip that begins at a lane; it is combined with partial results so many times. Where it is not `CUT`, it lies inside
/// all windows and ranges.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn strip<V: Sixteen, const N: usize, const CUT: bool>(
    shared: Shared<'_>,
    first: usize,
    times: usize,
    sums: &mut V,
) -> bool {
    let scratch = shared.scratch;
    let width = 16 * N;
    let mut special = false;
    // SAFETY: the caller's, for all that follows.
    unsafe {
        let mut last = [V::splat(0.0); N];
        let mut steps = shared.steps.iter();
        while let Some(step) = steps.next() {
            let at = step.at.wrapping_add(first * step.bytes);
            /// Every vector of the strip, from the one there is and that of an operand.
            macro_rules! each {
                ($held:expr, |$a:ident, $b:ident| $result:expr) => {
                    for i in 0..N {
                        let $b = part_of::<V, CUT>(step, at, $held, first, i);
                        let $a = last[i];
                        last[i] = $result;
                    }
                };
            }
            /// The same from those of two operands: the second is that of the next step.
            macro_rules! both {
                ($held:expr, |$a:ident, $b:ident| $result:expr) => {
                    if let Some(next) = steps.next() {
                        let other = next.at.wrapping_add(first * next.bytes);
                        for i in 0..N {
                            let $a = part_of::<V, CUT>(step, at, $held, first, i);
                            let $b = part_of::<V, CUT>(next, other, Held::F32, first, i);
                            last[i] = $result;
                        }
                    }
                };
            }
            /// Adds the strip to the sum; the step that is one is done.
            macro_rules! sum {
                (next) => {{
                    steps.next();
                    sum!()
                }};
                () => {{
                    for i in 0..N {
                        *sums = sums.add(last[i])
                    }
                    if CUT {
                        *sums = again(*sums, last[0], Fold::Sum, times);
                    }
                }};
            }
            /// Divides the strip by a number, of which a step has the inverse too.
            macro_rules! divide {
                ($step:expr) => {{
                    let by = $step.at.cast::<f32>();
                    for i in 0..N {
                        last[i] = last[i].divide_by(*by, *by.add(16))
                    }
                }};
            }
            /// Combines the strip with an extreme; the step that is one is `$step`.
            macro_rules! extreme {
                ($step:expr, $fold:expr) => {{
                    let partials = $step.at.cast::<f32>();
                    extreme(&last, V::load(partials), $fold).store(partials);
                }};
            }
            match step.code {
                Code::TakeF32 => each!(Held::F32, |_a, b| b),
                Code::TakeF16 => each!(Held::F16, |_a, b| b),
                Code::TakeBf16 => each!(Held::Bf16, |_a, b| b),
                Code::AddF32 => each!(Held::F32, |a, b| a.add(b)),
                Code::AddF16 => each!(Held::F16, |a, b| a.add(b)),
                Code::AddBf16 => each!(Held::Bf16, |a, b| a.add(b)),
                Code::SubF32 => each!(Held::F32, |a, b| a.sub(b)),
                Code::SubF16 => each!(Held::F16, |a, b| a.sub(b)),
                Code::SubBf16 => each!(Held::Bf16, |a, b| a.sub(b)),
                Code::MulF32 => each!(Held::F32, |a, b| a.mul(b)),
                Code::MulF16 => each!(Held::F16, |a, b| a.mul(b)),
                Code::MulBf16 => each!(Held::Bf16, |a, b| a.mul(b)),
                Code::DivF32 => each!(Held::F32, |a, b| a.div(b)),
                Code::Square => {
                    for i in 0..N {
                        last[i] = last[i].mul(last[i])
                    }
                }
                Code::Arith => {
                    for i in 0..N {
                        let (a, b) = (last[i], any_lanes::<V, CUT>(step, last[i], first, i));
                        last[i] = match step.arith {
                            Arith::Add => a.add(b),
                            Arith::Sub => a.sub(b),
                            Arith::SubFrom => b.sub(a),
                            Arith::Mul => a.mul(b),
                            Arith::Div => a.div(b),
                            Arith::DivInto => b.div(a),
                        }
                    }
                }
                Code::DivideBy => divide!(step),
                Code::F32Div => {
                    each!(Held::F32, |_a, b| b);
                    if let Some(next) = steps.next() {
                        match next.code {
                            Code::DivideBy => divide!(next),
                            _ => {
                                let other = next.at.wrapping_add(first * next.bytes);
                                for i in 0..N {
                                    let by = part_of::<V, CUT>(next, other, Held::F32, first, i);
                                    last[i] = last[i].div(by)
                                }
                            }
                        }
                    }
                }
                Code::Exp if V::FUNCTIONS => {
                    for i in 0..N {
                        last[i] = last[i].exp()
                    }
                }
                Code::Exp2 if V::FUNCTIONS => {
                    for i in 0..N {
                        last[i] = last[i].exp2()
                    }
                }
                Code::Erf if V::FUNCTIONS => {
                    for i in 0..N {
                        last[i] = last[i].erf()
                    }
                }
                Code::Choose => {
                    for i in 0..N {
                        let left = last[i];
                        last[i] = any_lanes::<V, CUT>(step, left, first, i);
                        if CUT && let Some(no) = steps.as_slice().first() {
                            let no = any_lanes::<V, CUT>(no, left, first, i);
                            last[i] = last[i].select(no, some(step.chosen, first + 16 * i));
                        }
                    }
                }
                Code::Else => {}
                Code::Argument => {
                    let room: *mut f32 = (&raw mut (*scratch).arguments[step.number]).cast();
                    for i in 0..N {
                        let argument = any_lanes::<V, CUT>(step, last[i], first, i);
                        argument.store(room.add(16 * i))
                    }
                }
                Code::Apply | Code::Exp | Code::Exp2 | Code::Erf => {
                    let Some(each) = step.each else { continue };
                    if step.code != Code::Apply {
                        put(&last, (&raw mut (*scratch).arguments[0]).cast());
                    }
                    let [a, b, c]: &[[f32; MOST]; ARGUMENTS] = &(*scratch).arguments;
                    let tiles = [
                        Tile::Dense(&a[..width]),
                        Tile::Dense(&b[..width]),
                        Tile::Dense(&c[..width]),
                    ];
                    let staged = &mut (*scratch).staged;
                    each(shared.cpu, &tiles[..step.number], &mut staged[..width]);
                    for i in 0..N {
                        last[i] = V::load(staged.as_ptr().add(16 * i))
                    }
                }
                Code::Canonical => {
                    for i in 0..N {
                        last[i] = last[i].canonical()
                    }
                }
                Code::Put => put(&last, at.cast()),
                Code::StoreF32 | Code::StoreF16 | Code::StoreBf16 | Code::Stream if CUT => {
                    let held = step.from.unwrap_or(Held::F32);
                    let mut inside = last;
                    for i in 0..N {
                        inside[i] = inside[i].select(V::splat(0.0), some(step.lanes, first + 16 * i))
                    }
                    special |= settle(&mut inside, held);
                    for i in 0..N {
                        last[i] = last[i].canonical();
                        store_some(step, held, last[i], first + 16 * i);
                    }
                }
                Code::StoreF32 => {
                    special |= settle(&mut last, Held::F32);
                    put(&last, at.cast())
                }
                Code::Stream => {
                    special |= settle(&mut last, Held::F32);
                    for i in 0..N {
                        last[i].stream(at.cast::<f32>().add(16 * i))
                    }
                }
                Code::StoreF16 => {
                    special |= settle(&mut last, Held::F16);
                    for i in 0..N {
                        last[i].store_f16(at.cast::<u16>().add(16 * i))
                    }
                }
                Code::StoreBf16 => {
                    special |= settle(&mut last, Held::Bf16);
                    for i in 0..N {
                        last[i].store_bf16(at.cast::<u16>().add(16 * i))
                    }
                }
                Code::Sum => sum!(),
                Code::F32Add => both!(Held::F32, |a, b| a.add(b)),
                Code::F16Add => both!(Held::F16, |a, b| a.add(b)),
                Code::Bf16Add => both!(Held::Bf16, |a, b| a.add(b)),
                Code::F32Sub => both!(Held::F32, |a, b| a.sub(b)),
                Code::F16Sub => both!(Held::F16, |a, b| a.sub(b)),
                Code::Bf16Sub => both!(Held::Bf16, |a, b| a.sub(b)),
                Code::F32Mul => both!(Held::F32, |a, b| a.mul(b)),
                Code::F16Mul => both!(Held::F16, |a, b| a.mul(b)),
                Code::Bf16Mul => both!(Held::Bf16, |a, b| a.mul(b)),
                Code::F32Sum => {
                    each!(Held::F32, |_a, b| b);
                    sum!(next)
                }
                Code::F16Sum => {
                    each!(Held::F16, |_a, b| b);
                    sum!(next)
                }
                Code::Bf16Sum => {
                    each!(Held::Bf16, |_a, b| b);
                    sum!(next)
                }
                Code::SquareSum => {
                    for i in 0..N {
                        last[i] = last[i].mul(last[i])
                    }
                    sum!(next)
                }
                Code::PutSum => {
                    put(&last, at.cast());
                    sum!(next)
                }
                Code::Max => extreme!(step, Fold::Max),
                Code::Min => extreme!(step, Fold::Min),
                Code::F32Max => {
                    each!(Held::F32, |_a, b| b);
                    if let Some(next) = steps.next() {
                        extreme!(next, Fold::Max)
                    }
                }
                Code::Fold => {
                    let mut partials = V::load(at.cast());
                    for i in 0..N {
                        partials = partials.fold(last[i], step.fold)
                    }
                    again(partials, last[0], step.fold, times).store(at.cast());
                }
            }
        }
    }
    special
}

/// Partial results that were combined with a vector once, and are to be so many times.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn again<V: Sixteen>(mut partials: V, x: V, fold: Fold, times: usize) -> V {
    for _ in 1..times {
        // SAFETY: the caller's.
        unsafe {
            let more = partials.fold(x, fold);
            // It stays as it is: a zero was added, or an extreme found.
            if more.is_same(partials) {
                break;
            }
            partials = more;
        }
    }
    partials
}

/// Sixteen lanes of a step's operand, which is at a place and held so.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn part_of<V: Sixteen, const CUT: bool>(
    step: &Step,
    at: *const u8,
    held: Held,
    first: usize,
    i: usize,
) -> V {
    // SAFETY: the caller's.
    unsafe {
        match CUT {
            true => some_lanes(step, held, first, i),
            false => lanes(at, held, i),
        }
    }
}

/// Sixteen lanes of whatever a step's operand is.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn any_lanes<V: Sixteen, const CUT: bool>(step: &Step, last: V, first: usize, i: usize) -> V {
    let Some(held) = step.from else { return last };
    // SAFETY: the caller's.
    unsafe { part_of::<V, CUT>(step, step.at.wrapping_add(first * step.bytes), held, first, i) }
}

/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn put<V: Sixteen, const N: usize>(strip: &[V; N], to: *mut f32) {
    for i in 0..N {
        // SAFETY: the caller's.
        unsafe { strip[i].store(to.add(16 * i)) }
    }
}

/// Looks for what is no finite number where it is written; NaN becomes the canonical one.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn settle<V: Sixteen, const N: usize>(last: &mut [V; N], held: Held) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let mut worst = V::splat(0.0);
        for i in 0..N {
            worst = worst.larger_magnitude(last[i])
        }
        let special = worst.reaches(held.least_special());
        if special {
            for i in 0..N {
                last[i] = last[i].canonical()
            }
        }
        special
    }
}

/// Combines a strip with partial results side by side: no vector waits for the one before.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
unsafe fn extreme<V: Sixteen, const N: usize>(last: &[V; N], partials: V, fold: Fold) -> V {
    // SAFETY: the caller's.
    unsafe {
        let mut side = [V::load(fold.start().as_ptr()); 4];
        for i in 0..N {
            side[i % 4] = side[i % 4].fold(last[i], fold)
        }
        let (a, b) = (side[0].fold(side[1], fold), side[2].fold(side[3], fold));
        partials.fold(a.fold(b, fold), fold)
    }
}
