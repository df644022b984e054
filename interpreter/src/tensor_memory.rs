//! The tensors' bytes, shared by all workers of a launch.
//!
//! The one module of the interpreter, besides `simd`, with `unsafe` code. Programs of a grid run in
//! parallel on one memory, and a faulty kernel may well write where another reads; Rust's exclusive
//! references cannot say that. Every access here is checked against the bounds of its allocation first.
//!
//! Plain accesses copy bytes. Where two programs race on them the bytes read are either program's, and
//! the races are a fault of the kernel; launches whose results depend on such order are run in
//! one deterministic interleaving on one worker (see [`crate::schedule`]), where nothing races.
//! Atomics are machine atomics, which need a naturally aligned address: allocations are aligned to
//! their synthetic addresses modulo 8 and misaligned accesses never get here.
#![allow(unsafe_code)]

use crate::kind::Lane;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};
use tilescope_launch::Deferred;

/// Bytes of one allocation.
#[derive(Debug, Clone, Copy)]
struct Bytes<'a> {
    start: *mut u8,
    len: usize,
    /// Makes the data of huge storage when they are touched.
    deferred: Option<&'a Deferred>,
}

/// Sees every access to the bytes before it happens: for the debugger, in launches run on one worker.
pub trait Observer: std::fmt::Debug + Sync {
    /// `bytes` bytes will be read.
    fn reads(&self, allocation: usize, offset: usize, bytes: usize);
    /// `bytes` bytes will be written (and read, by an atomic); `before` copies out up to so many bytes of the
    /// allocation from an offset on, as they are before that: fewer at its end.
    fn writes(
        &self,
        allocation: usize,
        offset: usize,
        bytes: usize,
        atomic: bool,
        before: &dyn Fn(usize, usize) -> Vec<u8>,
    );
}

/// Bytes inside an allocation, which other threads may write meanwhile. Only [`crate::simd`] reads and writes them.
#[derive(Debug, Clone, Copy)]
pub struct Span<'a> {
    start: *mut u8,
    bytes: usize,
    borrow: PhantomData<&'a Shared<'a>>,
}

impl Span<'_> {
    /// No bytes.
    pub const EMPTY: Span<'static> = Span {
        start: std::ptr::NonNull::<u8>::dangling().as_ptr(),
        bytes: 0,
        borrow: PhantomData,
    };

    /// The first byte: valid for reads and writes of [`bytes`](Span::bytes) bytes.
    #[inline(always)]
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// How many there are.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// All allocations of a launch, borrowed for its duration.
#[derive(Debug)]
pub struct Shared<'a> {
    allocations: Vec<Bytes<'a>>,
    observer: Option<&'a dyn Observer>,
    borrow: PhantomData<&'a mut [u8]>,
}

// SAFETY: the pointers come from exclusive borrows that last as long as `'a`; workers access them only
// through the bounds-checked copies and atomics below.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    /// Borrows the allocations.
    pub fn new(allocations: impl Iterator<Item = (&'a mut [u8], Option<&'a Deferred>)>) -> Shared<'a> {
        let allocations = allocations
            .map(|(bytes, deferred)| Bytes {
                start: bytes.as_mut_ptr(),
                len: bytes.len(),
                deferred,
            })
            .collect();
        Shared {
            allocations,
            observer: None,
            borrow: PhantomData,
        }
    }

    /// From now on every access is shown to the observer first.
    pub fn observe(&mut self, observer: &'a dyn Observer) {
        self.observer = Some(observer);
    }

    #[cold]
    fn show_write(
        &self,
        observer: &dyn Observer,
        allocation: usize,
        offset: usize,
        len: usize,
        atomic: bool,
    ) {
        observer.writes(allocation, offset, len, atomic, &|from, count| {
            let room = self.len(allocation).saturating_sub(from);
            let mut out = vec![0; count.min(room)];
            let from = self.at(allocation, from.min(self.len(allocation)), out.len());
            // SAFETY: as for `read`.
            unsafe { std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) }
            out
        });
    }

    /// Length of an allocation in bytes.
    pub fn len(&self, allocation: usize) -> usize {
        self.allocations[allocation].len
    }

    fn at(&self, allocation: usize, offset: usize, len: usize) -> *mut u8 {
        let bytes = self.allocations[allocation];
        assert!(
            offset <= bytes.len && len <= bytes.len - offset,
            "checked access out of bounds"
        );
        if let Some(deferred) = bytes.deferred {
            Shared::prepare(bytes, deferred, offset..offset + len);
        }
        // SAFETY: inside the allocation by the assertion.
        unsafe { bytes.start.add(offset) }
    }

    #[cold]
    fn prepare(bytes: Bytes<'_>, deferred: &Deferred, range: Range<usize>) {
        deferred.prepare(range, |offset, made| {
            assert!(
                offset <= bytes.len && made.len() <= bytes.len - offset,
                "data made out of bounds"
            );
            // SAFETY: inside the allocation by the assertion; `Deferred` lets one thread write a chunk,
            // once, before any other gets past `prepare` for it.
            unsafe { std::ptr::copy_nonoverlapping(made.as_ptr(), bytes.start.add(offset), made.len()) }
        });
    }

    /// The address of a byte, to ask for it beforehand; none where every access is shown, or makes data.
    #[inline]
    pub fn address(&self, allocation: usize, offset: usize) -> Option<usize> {
        let bytes = self.allocations.get(allocation)?;
        let plain = self.observer.is_none() && bytes.deferred.is_none() && offset < bytes.len;
        plain.then(|| bytes.start.addr() + offset)
    }

    /// True if so many bytes are better written past the caches.
    #[inline]
    pub fn streams(&self, allocation: usize, bytes: usize) -> bool {
        self.allocations[allocation].len >= LARGE && bytes >= LONG
    }

    /// Bytes of an allocation, to be read and written in place; none where every access is shown, or makes data.
    ///
    /// # Panics
    /// If they are not inside.
    #[inline]
    pub fn span(&self, allocation: usize, offset: usize, bytes: usize) -> Option<Span<'_>> {
        let plain = self.observer.is_none() && self.allocations[allocation].deferred.is_none();
        plain.then(|| Span {
            start: self.at(allocation, offset, bytes),
            bytes,
            borrow: PhantomData,
        })
    }

    /// Everything this thread wrote can be seen by others.
    #[inline]
    pub fn settle(&self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has this instruction; it orders the streaming stores of `stream`.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }

    /// Copies lanes out of an allocation, from a byte offset on.
    #[inline]
    pub fn read<T: Lane>(&self, allocation: usize, offset: usize, out: &mut [T]) {
        if let Some(observer) = self.observer {
            observer.reads(allocation, offset, size_of_val(out));
        }
        let from = self.at(allocation, offset, size_of_val(out));
        // SAFETY: `at` checked the range; `out` is exclusive and cannot overlap an allocation, which
        // `Shared` borrows exclusively; any bytes are a valid `T` (`Lane: Pod`).
        unsafe { std::ptr::copy_nonoverlapping(from, out.as_mut_ptr().cast::<u8>(), size_of_val(out)) }
    }

    /// Copies lanes into an allocation, from a byte offset on.
    #[inline]
    pub fn write<T: Lane>(&self, allocation: usize, offset: usize, lanes: &[T]) {
        if let Some(observer) = self.observer {
            self.show_write(observer, allocation, offset, size_of_val(lanes), false);
        }
        let to = self.at(allocation, offset, size_of_val(lanes));
        // SAFETY: as for `read`, the other way round.
        unsafe { std::ptr::copy_nonoverlapping(lanes.as_ptr().cast::<u8>(), to, size_of_val(lanes)) }
    }

    /// Copies `rows` rows of `columns` lanes out of an allocation, the first from a byte offset on and one each `stride`
    /// bytes, to the rows of `width` lanes of `out`.
    #[inline]
    pub fn read_rows<T: Lane>(
        &self,
        allocation: usize,
        offset: usize,
        stride: usize,
        [rows, columns]: [usize; 2],
        (width, out): (usize, &mut [T]),
    ) {
        let bytes = columns * size_of::<T>();
        if self.observer.is_some() || self.allocations[allocation].deferred.is_some() {
            for i in 0..rows {
                self.read(
                    allocation,
                    offset + i * stride,
                    &mut out[i * width..i * width + columns],
                );
            }
            return;
        }
        let Some(from) = self.rows(allocation, offset, stride, [rows, bytes]) else {
            return;
        };
        let out = &mut out[..(rows - 1) * width + columns];
        if rows == 1 || (stride == bytes && width == columns) {
            // SAFETY: `rows` checked the range, and the slice has room for all rows; otherwise as for `read`.
            unsafe { std::ptr::copy_nonoverlapping(from, out.as_mut_ptr().cast::<u8>(), rows * bytes) }
            return;
        }
        let to = out.as_mut_ptr();
        for i in 0..rows {
            // SAFETY: as above, row by row.
            unsafe { copy_row(from.add(i * stride), to.add(i * width).cast::<u8>(), bytes) }
        }
    }

    /// As [`read_rows`](Shared::read_rows), by a function of neighbouring lanes, which it gets some hundred at a time.
    #[inline]
    pub fn read_rows_by<T: Lane, O>(
        &self,
        allocation: usize,
        offset: usize,
        stride: usize,
        [rows, columns]: [usize; 2],
        (width, out): (usize, &mut [O]),
        by: impl Fn(&[T], &mut [O]),
    ) {
        /// Lanes that stay in the first-level cache, beside those that become of them.
        const ROOM: usize = 1024;
        let mut room = [T::from_bits(0); ROOM];
        if width == columns && columns <= ROOM {
            let most = ROOM / columns;
            for row in (0..rows).step_by(most) {
                let count = most.min(rows - row);
                let lanes = &mut room[..count * columns];
                self.read_rows(
                    allocation,
                    offset + row * stride,
                    stride,
                    [count, columns],
                    (columns, &mut *lanes),
                );
                by(lanes, &mut out[row * width..][..count * columns]);
            }
            return;
        }
        for row in 0..rows {
            for first in (0..columns).step_by(ROOM) {
                let lanes = &mut room[..ROOM.min(columns - first)];
                self.read(allocation, offset + row * stride + first * size_of::<T>(), lanes);
                by(lanes, &mut out[row * width + first..][..lanes.len()]);
            }
        }
    }

    /// The same as for reading, the other way round.
    #[inline]
    pub fn write_rows<T: Lane>(
        &self,
        allocation: usize,
        offset: usize,
        stride: usize,
        [rows, columns]: [usize; 2],
        (width, lanes): (usize, &[T]),
    ) {
        let bytes = columns * size_of::<T>();
        if self.observer.is_some() || self.allocations[allocation].deferred.is_some() {
            for i in 0..rows {
                self.write(
                    allocation,
                    offset + i * stride,
                    &lanes[i * width..i * width + columns],
                );
            }
            return;
        }
        let Some(to) = self.rows(allocation, offset, stride, [rows, bytes]) else {
            return;
        };
        let lanes = &lanes[..(rows - 1) * width + columns];
        if rows == 1 || (stride == bytes && width == columns) {
            let from = lanes.as_ptr().cast::<u8>();
            let streams = self.streams(allocation, rows * bytes);
            // SAFETY: as for `read_rows`.
            unsafe {
                match streams {
                    true => stream(from, to, rows * bytes),
                    false => std::ptr::copy_nonoverlapping(from, to, rows * bytes),
                }
            }
            return;
        }
        let from = lanes.as_ptr();
        for i in 0..rows {
            // SAFETY: as above, row by row.
            unsafe { copy_row(from.add(i * width).cast::<u8>(), to.add(i * stride), bytes) }
        }
    }

    /// As [`read_rows`](Shared::read_rows), but a row becomes a column: lane j of row i goes to `out[j * height + i]`.
    #[inline]
    pub fn read_turned<T: Lane>(
        &self,
        allocation: usize,
        offset: usize,
        stride: usize,
        [rows, columns]: [usize; 2],
        (height, out): (usize, &mut [T]),
    ) {
        /// Rows and columns that are turned at once.
        const SIDE: usize = 16;
        let mut block = [[T::from_bits(0); SIDE]; SIDE];
        for row in (0..rows).step_by(SIDE) {
            for column in (0..columns).step_by(SIDE) {
                let (high, wide) = (SIDE.min(rows - row), SIDE.min(columns - column));
                let offset = offset + row * stride + column * size_of::<T>();
                let lanes: &mut [T] = block.as_flattened_mut();
                self.read_rows(allocation, offset, stride, [high, wide], (SIDE, lanes));
                let out = &mut out[column * height + row..];
                if (high, wide) == (SIDE, SIDE) {
                    for j in 0..SIDE {
                        let to: &mut [T] = &mut out[j * height..j * height + SIDE];
                        for (i, to) in to.iter_mut().enumerate() {
                            *to = block[i][j];
                        }
                    }
                    continue;
                }
                for j in 0..wide {
                    for i in 0..high {
                        out[j * height + i] = block[i][j];
                    }
                }
            }
        }
    }

    /// As [`read_turned`](Shared::read_turned), by a function of neighbouring lanes, which it gets some at a time.
    pub fn read_turned_by<T: Lane, O: Copy + Default>(
        &self,
        allocation: usize,
        offset: usize,
        stride: usize,
        [rows, columns]: [usize; 2],
        (height, out): (usize, &mut [O]),
        by: impl Fn(&[T], &mut [O]),
    ) {
        const ROOM: usize = 64;
        let (mut lanes, mut made) = ([T::from_bits(0); ROOM], [O::default(); ROOM]);
        for row in 0..rows {
            for first in (0..columns).step_by(ROOM) {
                let count = ROOM.min(columns - first);
                let offset = offset + row * stride + first * size_of::<T>();
                self.read(allocation, offset, &mut lanes[..count]);
                by(&lanes[..count], &mut made[..count]);
                for (column, made) in (first..).zip(&made[..count]) {
                    out[column * height + row] = *made;
                }
            }
        }
    }

    /// The first of some rows of bytes, all of which are inside; none if there is nothing in them.
    #[inline]
    fn rows(
        &self,
        allocation: usize,
        offset: usize,
        stride: usize,
        [rows, bytes]: [usize; 2],
    ) -> Option<*mut u8> {
        let last = rows.checked_sub(1).filter(|_| bytes > 0)?;
        let span = last
            .checked_mul(stride)
            .and_then(|start| start.checked_add(bytes));
        Some(self.at(allocation, offset, span.unwrap_or(usize::MAX)))
    }

    /// Replaces the `bytes` (1, 2, 4 or 8) bytes at an offset by `new(old)` in one step; gives the old
    /// ones, zero-extended. The offset must be a multiple of `bytes`.
    pub fn update(&self, allocation: usize, offset: usize, bytes: usize, new: impl Fn(u64) -> u64) -> u64 {
        if let Some(observer) = self.observer {
            self.show_write(observer, allocation, offset, bytes, true);
        }
        let at = self.at(allocation, offset, bytes);
        assert!(at.align_offset(bytes) == 0, "misaligned atomic");
        macro_rules! cell {
            ($atomic:ty, $t:ty) => {{
                // SAFETY: in bounds by `at`, aligned by the assertion, valid for `'a`.
                let cell = unsafe { <$atomic>::from_ptr(at.cast::<$t>()) };
                let step = cell.fetch_update(SeqCst, SeqCst, |old| Some(new(u64::from(old)) as $t));
                u64::from(step.unwrap_or_else(|old| old))
            }};
        }
        match bytes {
            1 => cell!(AtomicU8, u8),
            2 => cell!(AtomicU16, u16),
            4 => cell!(AtomicU32, u32),
            _ => cell!(AtomicU64, u64),
        }
    }
}

/// Bytes of an allocation that no cache is meant to keep, and of a copy into one that is worth going past them.
const LARGE: usize = 8 << 20;
const LONG: usize = 1024;

/// Copies bytes past the caches: lines that are written whole need not be read before. Other threads see them after
/// [`Shared::settle`].
///
/// # Safety
/// Both places must have so many bytes, and not overlap.
unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    let head = to.align_offset(64).min(bytes);
    let lines = (bytes - head) / 64;
    // SAFETY: the caller's; head, lines and the rest are all bytes, once each, and lines are aligned.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        let (from, to) = (from.add(head), to.add(head));
        for i in 0..lines {
            stream_line(from.add(64 * i), to.add(64 * i));
        }
        let rest = bytes - head - 64 * lines;
        std::ptr::copy_nonoverlapping(from.add(64 * lines), to.add(64 * lines), rest);
    }
}

/// One line.
///
/// # Safety
/// Both places must have 64 bytes, and not overlap; the second must be aligned to 64.
#[inline(always)]
unsafe fn stream_line(from: *const u8, to: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's; every x86-64 has these instructions.
    unsafe {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
        let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
        let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
        _mm_stream_si128(to, a);
        _mm_stream_si128(to.add(1), b);
        _mm_stream_si128(to.add(2), c);
        _mm_stream_si128(to.add(3), d);
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, 64);
    }
}

/// Copies a row of bytes; the usual short ones without a call.
///
/// # Safety
/// Both places must have so many bytes, and not overlap.
#[inline(always)]
unsafe fn copy_row(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's.
    unsafe {
        match bytes {
            32 => std::ptr::copy_nonoverlapping(from, to, 32),
            64 => std::ptr::copy_nonoverlapping(from, to, 64),
            128 => std::ptr::copy_nonoverlapping(from, to, 128),
            _ => std::ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_writes_and_updates() {
        let mut a = vec![0u64; 2];
        let mut shared = Shared::new(std::iter::once((bytemuck::cast_slice_mut(&mut a), None)));
        shared.write::<u32>(0, 4, &[7, 8]);
        let mut out = [0u32; 2];
        shared.read(0, 4, &mut out);
        assert_eq!(out, [7, 8]);
        assert_eq!(shared.update(0, 8, 4, |old| old + 1), 8);
        shared = Shared::new(std::iter::empty());
        assert!(shared.allocations.is_empty());
        assert_eq!(a, [7 << 32, 9]);
    }

    #[test]
    fn long_rows_of_large_allocations_arrive_whole() {
        let mut a = vec![0u8; LARGE];
        let mut shared = Shared::new(std::iter::once((&mut a[..], None)));
        let lanes: Vec<u8> = (0..5000u32).map(|i| (i % 251) as u8 + 1).collect();
        for offset in [0, 64, 100_001, LARGE - 5000] {
            shared.write_rows::<u8>(0, offset, 0, [1, 5000], (5000, &lanes));
            shared.settle();
            let mut out = vec![0u8; 5000];
            shared.read::<u8>(0, offset, &mut out);
            assert_eq!(out, lanes, "{offset}");
        }
        shared = Shared::new(std::iter::empty());
        assert!(shared.allocations.is_empty());
        assert_eq!((a[100_000], a[105_001], a[5064]), (0, 0, 0));
    }

    /// 12 rows of 10 numbers each.
    fn matrix(a: &mut [u32; 120]) -> Shared<'_> {
        (0..).zip(&mut *a).for_each(|(i, x)| *x = i);
        Shared::new(std::iter::once((bytemuck::cast_slice_mut(a), None)))
    }

    #[test]
    fn rows_become_columns() {
        let mut a = [0; 120];
        let shared = matrix(&mut a);
        for (rows, columns) in [(1, 1), (2, 3), (12, 10), (5, 10), (12, 9)] {
            let mut out = vec![u32::MAX; 10 * 16];
            shared.read_turned::<u32>(0, 0, 40, [rows, columns], (16, &mut out));
            for (at, &lane) in out.iter().enumerate() {
                let (column, row) = (at / 16, at % 16);
                let inside = row < rows && column < columns;
                let want = if inside {
                    (10 * row + column) as u32
                } else {
                    u32::MAX
                };
                assert_eq!(lane, want, "{rows} by {columns}, row {row} column {column}");
            }
        }
    }

    #[test]
    fn large_blocks_become_columns() {
        let mut a: Vec<u16> = (0..40 * 50).collect();
        let shared = Shared::new(std::iter::once((bytemuck::cast_slice_mut(&mut a), None)));
        let mut out = vec![0u16; 50 * 40];
        shared.read_turned::<u16>(0, 0, 100, [40, 50], (40, &mut out));
        assert!((0..50 * 40).all(|at| out[at] == (at % 40 * 50 + at / 40) as u16));
    }

    #[test]
    fn rows_are_read_by_a_function() {
        let mut a = [0; 120];
        let shared = matrix(&mut a);
        for (rows, columns, width) in [(12, 10, 10), (3, 4, 4), (12, 7, 9), (1, 10, 10)] {
            let mut out = vec![-1i64; 120];
            shared.read_rows_by::<u32, i64>(0, 0, 40, [rows, columns], (width, &mut out), |from, to| {
                to.iter_mut()
                    .zip(from)
                    .for_each(|(to, from)| *to = i64::from(*from));
            });
            for row in 0..rows {
                let want: Vec<i64> = (0..columns).map(|column| (10 * row + column) as i64).collect();
                assert_eq!(out[row * width..][..columns], want, "{rows} by {columns}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn never_leaves_an_allocation() {
        let mut a = [0u8; 8];
        Shared::new(std::iter::once((&mut a[..], None))).read::<u32>(0, 5, &mut [0]);
    }
}
