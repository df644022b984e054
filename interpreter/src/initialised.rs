//! Which bytes hold something: for storage that begins uninitialised and that the kernel may read.
//!
//! Only elements of uninitialised tensors begin unwritten; padding, slack and gaps count as written. A launch
//! that has such storage runs its programs one at a time ([`crate::tape::Order`]), so what is written when an
//! element is read depends on no thread.

use crate::analysis::pointees::Storages;
use crate::written::Written;
use std::sync::{Mutex, PoisonError};
use tilescope_launch::{Launch, Tensor};

/// What was written of each allocation that is watched.
#[derive(Debug, Default)]
pub struct Initialised {
    allocations: Vec<Option<Mutex<Written>>>,
}

/// The uninitialised allocations among some.
pub fn watched(launch: &Launch, read: Storages) -> Storages {
    launch
        .tensors
        .iter()
        .filter(|tensor| tensor.uninit && tensor.elements() > 0)
        .map(|tensor| tensor.allocation.0 as usize)
        .filter(|&allocation| read.contains(allocation))
        .fold(Storages::NONE, |all, allocation| {
            all.union(Storages::only(allocation))
        })
}

fn add_elements(log: &mut Written, tensor: &Tensor) {
    let bytes = tensor.dtype.bytes() as i64;
    for run in tensor.runs() {
        let (count, step) = match run.stride {
            1 => (1, run.count as i64),
            _ => (run.count as i64, 1),
        };
        for i in 0..count {
            let start = (run.position + i * run.stride) * bytes;
            if let (Ok(start), Ok(len)) = (u64::try_from(start), u64::try_from(step * bytes)) {
                log.add(start, start + len);
            }
        }
    }
}

impl Initialised {
    /// What holds something before the launch, of the allocations that are watched.
    ///
    /// `before` has, per allocation, what earlier launches on the same memory wrote.
    pub fn new(
        launch: &Launch,
        spans: &[(u64, u64)],
        before: &[Vec<(u64, u64)>],
        watched: Storages,
    ) -> Initialised {
        if watched.is_empty() {
            return Initialised::default();
        }
        let of = |allocation: usize, len: u64| {
            let tensors = || {
                launch
                    .tensors
                    .iter()
                    .filter(move |tensor| tensor.allocation.0 as usize == allocation)
            };
            let mut empty = Written::new(len);
            tensors()
                .filter(|t| t.uninit)
                .for_each(|t| add_elements(&mut empty, t));
            let mut log = Written::new(len);
            let mut done = 0;
            for &(start, end) in empty.ranges() {
                if start > done {
                    log.add(done, start);
                }
                done = end;
            }
            if done < len {
                log.add(done, len);
            }
            tensors()
                .filter(|t| !t.uninit)
                .for_each(|t| add_elements(&mut log, t));
            let before = before.get(allocation).into_iter().flatten();
            before.for_each(|&(start, end)| log.add(start, end));
            Mutex::new(log)
        };
        let allocations = spans.iter().enumerate();
        Initialised {
            allocations: allocations
                .map(|(i, &(_, len))| watched.contains(i).then(|| of(i, len)))
                .collect(),
        }
    }

    /// True if some allocation is watched.
    #[inline(always)]
    pub fn is_any(&self) -> bool {
        !self.allocations.is_empty()
    }

    /// Notes that bytes were written.
    #[inline]
    pub fn note(&self, allocation: usize, start: usize, end: usize) {
        if self.is_any()
            && let Some(Some(log)) = self.allocations.get(allocation)
        {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.add(start as u64, end as u64);
        }
    }

    /// True if bytes were all written.
    pub fn is_written(&self, allocation: usize, start: usize, end: usize) -> bool {
        let Some(Some(log)) = self.allocations.get(allocation) else {
            return true;
        };
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.covers(start as u64, end as u64)
    }
}
