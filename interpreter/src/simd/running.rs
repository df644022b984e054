//! Running sums and products of rows of neighbours in memory.
//!
//! Each operation waits for the one before it, so rows of several programs go side by side, and nothing else is done for
//! an element than to read it, to combine it and to write it. The order in each row is that of [`crate::steps::fold`],
//! and so are the bits.

use super::{Cpu, FlatLoop};
use crate::kind::Lane;
use crate::tensor_memory::Span;
use std::marker::PhantomData;

/// Rows that go side by side: with so many the CPU adds as fast as it writes.
pub const ROWS: usize = 4;

/// Elements of a row that are written one after the other: one line of the cache takes two at a time.
const BLOCK: usize = 4;

/// Combines the elements of rows, each from its first span to its second one, which is apart from it or the same; gives
/// what came last. A NaN may be any until `finish` makes it canonical, and must stay one.
///
/// # Panics
/// If a span has fewer elements, or there are none.
pub fn rows<T: Lane, const N: usize>(
    cpu: Cpu,
    spans: [[Span<'_>; 2]; N],
    lanes: usize,
    step: impl Fn(T, T) -> T,
    finish: impl Fn(T) -> T,
) -> [T; N] {
    let fits = |span: &Span<'_>| span.bytes() / size_of::<T>() >= lanes;
    let all_fit = spans.as_flattened().iter().all(fits);
    assert!(lanes > 0 && all_fit, "elements that are not there");
    cpu.run(Rows {
        spans,
        lanes,
        step,
        finish,
        of: PhantomData,
    })
}

/// Rows of elements that are there.
struct Rows<'a, T, S, F, const N: usize> {
    spans: [[Span<'a>; 2]; N],
    lanes: usize,
    step: S,
    finish: F,
    of: PhantomData<T>,
}

impl<T, S, F, const N: usize> FlatLoop for Rows<'_, T, S, F, N>
where
    T: Lane,
    S: Fn(T, T) -> T,
    F: Fn(T) -> T,
{
    type Output = [T; N];

    #[inline(always)]
    fn run(self) -> [T; N] {
        let from = self.spans.map(|[from, _]| from.start().cast::<T>());
        let to = self.spans.map(|[_, to]| to.start().cast::<T>());
        // SAFETY: the caller checked that every span has so many elements, and a span is valid for reads and writes; any
        // bytes are a `T` (`Lane: Pod`).
        unsafe {
            let mut sums: [T; N] = std::array::from_fn(|row| from[row].read_unaligned());
            for row in 0..N {
                to[row].write_unaligned(sums[row]);
            }
            let mut first = 1;
            while first + BLOCK <= self.lanes {
                let mut blocks: [[T; BLOCK]; N] =
                    from.map(|from| from.add(first).cast::<[T; BLOCK]>().read_unaligned());
                for i in 0..BLOCK {
                    for (sum, block) in sums.iter_mut().zip(&mut blocks) {
                        *sum = (self.step)(*sum, block[i]);
                        block[i] = *sum;
                    }
                }
                for (to, block) in to.iter().zip(blocks) {
                    to.add(first).cast::<[T; BLOCK]>().write_unaligned(block);
                }
                first += BLOCK;
            }
            for i in first..self.lanes {
                for row in 0..N {
                    sums[row] = (self.step)(sums[row], from[row].add(i).read_unaligned());
                    to[row].add(i).write_unaligned(sums[row]);
                }
            }
            for row in 0..N {
                #[expect(clippy::eq_op, reason = "only a NaN is not itself")]
                let is_nan = sums[row] != sums[row];
                for i in 1..if is_nan { self.lanes } else { 1 } {
                    let at = to[row].add(i);
                    at.write_unaligned((self.finish)(at.read_unaligned()));
                }
            }
            sums
        }
    }
}
