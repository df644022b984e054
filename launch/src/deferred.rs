//! Generated data of storage too large to fill: made chunk by chunk, when something touches them.
//!
//! The bytes of an allocation with a [`Deferred`] hold its data only in chunks that were prepared.
//! Whoever reads or writes them calls [`Deferred::prepare`] first (once prepared, a chunk costs one
//! atomic load); [`Memory::gather`](crate::Memory::gather) sees through it. What a chunk holds does not
//! depend on when or by which thread it was prepared.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::Tensor;
use crate::fill::{Fill, elements};
use crate::layout::Run;

const UNTOUCHED: u8 = 0;
const BUSY: u8 = 1;
const READY: u8 = 2;

/// Chunks that one allocation is divided into, at most.
const MAX_CHUNKS: usize = 1 << 22;

/// A generator of an allocation's data on demand.
pub struct Deferred {
    fill: Fill,
    seed: u64,
    tensor: Tensor,
    /// The first row of the view.
    row: Run,
    /// Elements from one row to the next; rows do not overlap.
    pitch: u64,
    rows: u64,
    len: usize,
    chunk: usize,
    states: Box<[AtomicU8]>,
}

impl fmt::Debug for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Deferred({} in {} chunks)",
            self.tensor.name,
            self.states.len()
        )
    }
}

impl Deferred {
    /// A generator for `len` bytes of storage; none where the view is not rows of neighbours at a
    /// constant, rising distance.
    pub(crate) fn new(fill: &Fill, seed: u64, tensor: &Tensor, len: usize) -> Option<Deferred> {
        let (row, pitch, rows) = rows(tensor)?;
        let chunk = (len / MAX_CHUNKS).next_power_of_two().max(1 << 14);
        let states = (0..len.div_ceil(chunk))
            .map(|_| AtomicU8::new(UNTOUCHED))
            .collect();
        Some(Deferred {
            fill: *fill,
            seed,
            tensor: tensor.clone(),
            row,
            pitch,
            rows,
            len,
            chunk,
            states,
        })
    }

    /// Whether the tensor's view is such that there is a generator for it.
    pub(crate) fn suits(tensor: &Tensor) -> bool {
        rows(tensor).is_some()
    }

    /// Makes sure that a range of bytes holds its data. `write` is given offsets and the bytes to put
    /// there; they do not reach past the allocation.
    ///
    /// Threads may call it at once: each chunk is written by one of them, and the others wait for it.
    pub fn prepare(&self, range: Range<usize>, mut write: impl FnMut(usize, &[u8])) {
        for chunk in self.chunks(&range) {
            let Some(state) = self.states.get(chunk) else {
                return;
            };
            if state.load(Ordering::Acquire) == READY {
                continue;
            }
            match state.compare_exchange(UNTOUCHED, BUSY, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => {
                    let start = chunk * self.chunk;
                    write(start, &self.generate(chunk));
                    state.store(READY, Ordering::Release);
                }
                Err(_) => {
                    while state.load(Ordering::Acquire) != READY {
                        std::thread::yield_now();
                    }
                }
            }
        }
    }

    fn chunks(&self, range: &Range<usize>) -> Range<usize> {
        if range.is_empty() {
            0..0
        } else {
            range.start / self.chunk..(range.end - 1) / self.chunk + 1
        }
    }

    /// Appends a range of the allocation's bytes as they are for whoever prepares them first. `cache` keeps
    /// the chunk made last.
    pub(crate) fn read(
        &self,
        bytes: &[u8],
        range: Range<usize>,
        cache: &mut Option<(usize, Vec<u8>)>,
        out: &mut Vec<u8>,
    ) {
        for chunk in self.chunks(&range) {
            let start = chunk * self.chunk;
            let (from, to) = (
                range.start.max(start),
                range.end.min(start + self.chunk).min(self.len),
            );
            let ready = self
                .states
                .get(chunk)
                .is_some_and(|s| s.load(Ordering::Acquire) == READY);
            if ready {
                out.extend_from_slice(bytes.get(from..to).unwrap_or_default());
                continue;
            }
            if cache.as_ref().is_none_or(|(held, _)| *held != chunk) {
                *cache = Some((chunk, self.generate(chunk)));
            }
            if let Some((_, made)) = cache {
                out.extend_from_slice(made.get(from - start..to - start).unwrap_or_default());
            }
        }
    }

    /// The bytes of a chunk; zero between the view's elements.
    fn generate(&self, chunk: usize) -> Vec<u8> {
        let start = chunk * self.chunk;
        let end = (start + self.chunk).min(self.len);
        let mut bytes = vec![0; end.saturating_sub(start)];
        let size = self.tensor.dtype.bytes();
        // Chunks begin and end on multiples of every element size.
        let (first, last) = ((start / size) as u64, (end / size) as u64);
        let origin = self.row.position as u64;
        let mut row = first.saturating_sub(origin) / self.pitch;
        while row < self.rows {
            let begin = origin + row * self.pitch;
            let (from, to) = (begin.max(first), (begin + self.row.count).min(last));
            if begin >= last {
                break;
            }
            if from < to {
                let element = row * self.row.count + (from - begin);
                let range = (from - first) as usize * size..(to - first) as usize * size;
                if let Some(packed) = bytes.get_mut(range) {
                    elements(&self.fill, self.seed, &self.tensor, element, packed);
                }
            }
            row += 1;
        }
        bytes
    }
}

/// The view as rows of neighbours: the first, their rising distance, their number.
fn rows(tensor: &Tensor) -> Option<(Run, u64, u64)> {
    let (row, pitch, rows) = tensor.runs().rows()?;
    let pitch = u64::try_from(pitch).ok().filter(|&pitch| pitch >= row.count)?;
    (row.stride == 1 && row.position >= 0).then_some((row, pitch, rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AllocationId, Dtype, Role};

    fn tensor(shape: &[i64], strides: &[i64]) -> Tensor {
        Tensor {
            name: "x".into(),
            dtype: Dtype::F16,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offset: 3,
            role: Role::InOut,
            allocation: AllocationId(0),
            uninit: false,
            pointers: Vec::new(),
        }
    }

    #[test]
    fn chunks_are_what_filling_at_once_gives() {
        for (shape, strides) in [
            (vec![30_000], vec![1]),
            (vec![3, 10_000], vec![10_007, 1]),
            (vec![2, 3, 50, 100], vec![16_800, 5600, 112, 1]),
            (vec![40_000, 1], vec![1, 1]),
            (vec![9000, 1], vec![4, 1]),
        ] {
            let tensor = tensor(&shape, &strides);
            let span = tensor
                .runs()
                .map(|r| r.position + r.count as i64 * r.stride.max(1))
                .max()
                .unwrap() as usize;
            let len = (span + 5) * 2;
            let mut whole = vec![0; len];
            crate::fill::fill(&Fill::Randn, 1, &tensor, &mut whole);
            let Some(deferred) = Deferred::new(&Fill::Randn, 1, &tensor, len) else {
                // A column of single elements is no row of neighbours.
                assert_eq!(strides, [4, 1]);
                continue;
            };
            let mut bytes = vec![0; len];
            deferred.prepare(40_000..40_001.min(len), |at, made| {
                bytes[at..at + made.len()].copy_from_slice(made)
            });
            assert_ne!(bytes, whole);
            let mut read = Vec::new();
            deferred.read(&bytes, 0..len, &mut None, &mut read);
            assert_eq!(read, whole, "{shape:?}");
            let mut calls = 0;
            deferred.prepare(0..len, |at, made| {
                calls += 1;
                bytes[at..at + made.len()].copy_from_slice(made);
            });
            assert_eq!((bytes, calls), (whole, len.div_ceil(1 << 14) - 1), "{shape:?}");
        }
    }

    #[test]
    fn other_layouts_are_not_deferred() {
        for (shape, strides) in [
            (vec![4, 4], vec![1, 4]),
            (vec![4, 4], vec![2, 1]),
            (vec![4, 4], vec![-4, 1]),
            (vec![2, 2, 4], vec![100, 7, 1]),
            (vec![0], vec![1]),
        ] {
            assert!(
                Deferred::new(&Fill::Randn, 1, &tensor(&shape, &strides), 4096).is_none(),
                "{shape:?} {strides:?}"
            );
        }
    }
}
