//! Which bytes hold something: for storage that begins uninitialised and that the kernel may read.
//!
//! Only elements of uninitialised tensors begin unwritten; padding, slack and gaps count as written.
//!
//! Where programs run in parallel, a program reads what nobody wrote unless it held something before the launch or the
//! program wrote it itself: what another one writes is a race, and told as that. So it depends on no thread. Where
//! programs run one at a time (they wait for each other, or update such storage by atomics) one log serves all.

use crate::analysis::pointees::Storages;
use crate::written::Written;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use tilescope_launch::{Launch, Tensor};

/// What was written of each allocation that is watched.
#[derive(Debug, Default)]
pub struct Initialised {
    allocations: Vec<Option<Log>>,
}

#[derive(Debug)]
enum Log {
    /// By all programs.
    Shared(Mutex<Written>),
    /// Before the launch.
    Before(Written),
}

/// What the running program wrote of storage that programs watch on their own.
#[derive(Debug, Default)]
pub struct Own(RefCell<Vec<(usize, Written)>>);

impl Own {
    /// A new program begins.
    #[inline]
    pub fn clear(&mut self) {
        if !self.0.get_mut().is_empty() {
            self.0.get_mut().clear();
        }
    }

    fn add(&self, allocation: usize, len: u64, start: u64, end: u64) {
        let mut logs = self.0.borrow_mut();
        match logs.iter_mut().find(|log| log.0 == allocation) {
            Some((_, log)) => log.add(start, end),
            None => {
                let mut log = Written::new(len);
                log.add(start, end);
                logs.push((allocation, log));
            }
        }
    }

    /// True if all of it was written by the program, or before.
    fn covers(&self, before: &Written, allocation: usize, start: u64, end: u64) -> bool {
        let mut logs = self.0.borrow_mut();
        let Some((_, log)) = logs.iter_mut().find(|log| log.0 == allocation) else {
            return false;
        };
        log.covers(start, end) || log.covers_with(before, start, end)
    }
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
    /// `before` has, per allocation, what earlier launches on the same memory wrote. Programs run in `parallel`, or one at a time.
    pub fn new(
        launch: &Launch,
        spans: &[(u64, u64)],
        before: &[Vec<(u64, u64)>],
        watched: Storages,
        parallel: bool,
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
            if parallel {
                log.ranges();
                return Log::Before(log);
            }
            Log::Shared(Mutex::new(log))
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

    /// True if an allocation is watched.
    #[inline(always)]
    pub fn watches(&self, allocation: usize) -> bool {
        matches!(self.allocations.get(allocation), Some(Some(_)))
    }

    /// Notes that the program wrote bytes.
    #[inline]
    pub fn note(&self, own: &Own, allocation: usize, start: usize, end: usize) {
        if !self.is_any() {
            return;
        }
        match self.allocations.get(allocation) {
            Some(Some(Log::Shared(log))) => {
                let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                log.add(start as u64, end as u64);
            }
            Some(Some(Log::Before(before))) => own.add(allocation, before.len(), start as u64, end as u64),
            _ => {}
        }
    }

    /// True if bytes were all written, as far as the program may count on it.
    pub fn is_written(&self, own: &Own, allocation: usize, start: usize, end: usize) -> bool {
        let (start, end) = (start as u64, end as u64);
        match self.allocations.get(allocation) {
            Some(Some(Log::Shared(log))) => {
                let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                log.covers(start, end)
            }
            Some(Some(Log::Before(before))) => {
                before.has(start, end) || own.covers(before, allocation, start, end)
            }
            _ => true,
        }
    }
}
