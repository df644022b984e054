//! The bytes behind a launch: allocations at synthetic addresses.
//!
//! The first allocation lies at [`FIRST_ADDRESS`], each further one on the next multiple of
//! [`ALIGNMENT`] after the one before it; an empty one takes [`ALIGNMENT`] bytes of addresses, so that
//! no two begin at the same place. Addresses depend on sizes and order alone.
//!
//! Storage under [`LAZY_BYTES`] whose view fills a fair part of it is ordinary memory, written once
//! before the run. Other storage is mapped and costs only the pages that something writes; generated
//! data for it are made when they are touched (see [`Deferred`]), where the view is rows of neighbours.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use memmap2::{MmapMut, MmapOptions};
use tilescope_diagnostics::{Error, Result, Source};

use crate::deferred::Deferred;
use crate::fill::{Contents, Fill};
use crate::layout::{Runs, TOO_LARGE};
use crate::{AllocationId, Tensor, TensorId};

/// Address of the first allocation: far from null, and not the same when cut to 32 bits.
pub const FIRST_ADDRESS: u64 = 0x7000_0000_0000;

/// Every allocation begins on a multiple of this many bytes.
pub const ALIGNMENT: u64 = 512;

/// Storage of this many bytes or more is mapped lazily.
pub const LAZY_BYTES: u64 = 1 << 30;

/// Views that take more pages than this are filled on demand, if they lie in lazy storage.
const DEFERRED_BYTES: u64 = 1 << 26;

/// Elements of a view that overlaps itself, at most, if it is to be filled.
const MAX_VISITS: u64 = 1 << 30;

/// A huge page. Ordinary memory of this many bytes or more asks for them: rows of matrices, some thousand bytes apart,
/// lie in more small pages than the CPU remembers.
const HUGE_PAGE: usize = 1 << 21;

/// The smallest page of any system.
const PAGE: usize = 4096;

/// Larger storage has no synthetic addresses.
const MAX_BYTES: i128 = 1 << 46;

/// One allocation: storage at a synthetic address.
#[derive(Debug)]
pub struct Allocation {
    /// Name of the tensor that owns it.
    pub name: String,
    /// Synthetic address of its first byte, a multiple of 512.
    pub base: u64,
    /// Its bytes, little-endian elements.
    pub bytes: Bytes,
    /// Makes the data of very large storage when they are touched; without it, `bytes` hold everything.
    pub deferred: Option<Deferred>,
    /// Byte ranges that launches have written so far, where somebody asked: sorted, disjoint.
    pub written: Vec<(u64, u64)>,
}

/// All allocations of a launch, by rising address.
#[derive(Debug, Default)]
pub struct Memory {
    /// Indexed by [`crate::AllocationId`].
    pub allocations: Vec<Allocation>,
}

impl Memory {
    /// The bytes of some of a tensor's elements, `first` and on in row-major order, packed.
    ///
    /// Fewer than `count` where the view ends; none for a tensor of another launch.
    pub fn gather(&self, tensor: &Tensor, first: u64, count: u64) -> Vec<u8> {
        let Some(allocation) = self.allocations.get(tensor.allocation.0 as usize) else {
            return Vec::new();
        };
        let size = tensor.dtype.bytes();
        let end = first.saturating_add(count).min(tensor.elements());
        let mut packed = Vec::with_capacity(end.saturating_sub(first) as usize * size);
        let mut cache = None;
        let mut copy = |range: Range<usize>, packed: &mut Vec<u8>| match &allocation.deferred {
            Some(deferred) => deferred.read(&allocation.bytes, range, &mut cache, packed),
            None => packed.extend_from_slice(allocation.bytes.get(range).unwrap_or_default()),
        };
        for run in tensor.runs().skip_to(first) {
            let (from, to) = (first.max(run.first), end.min(run.first + run.count));
            if run.first >= end {
                break;
            }
            if from >= to {
                continue;
            }
            let start = run.position + (from - run.first) as i64 * run.stride;
            if run.stride == 1 {
                copy(byte_range(start, to - from, size), &mut packed);
                continue;
            }
            for i in 0..(to - from) as i64 {
                copy(byte_range(start + i * run.stride, 1, size), &mut packed);
            }
        }
        packed
    }
}

fn byte_range(position: i64, elements: u64, size: usize) -> Range<usize> {
    let start = position.max(0) as usize * size;
    start..start + elements as usize * size
}

/// Writes packed elements, `first` and on in row-major order, to their places. Where elements of the
/// view share a place, the last in that order stays.
pub(crate) fn scatter(bytes: &mut [u8], runs: Runs, size: usize, first: u64, packed: &[u8]) {
    let end = first + (packed.len() / size) as u64;
    for run in runs.skip_to(first) {
        let (from, to) = (first.max(run.first), end.min(run.first + run.count));
        if run.first >= end {
            break;
        }
        if from >= to {
            continue;
        }
        let start = run.position + (from - run.first) as i64 * run.stride;
        let source = packed
            .get(byte_range((from - first) as i64, to - from, size))
            .unwrap_or_default();
        if run.stride == 1 {
            if let Some(target) = bytes.get_mut(byte_range(start, to - from, size)) {
                target.copy_from_slice(source);
            }
            continue;
        }
        for (i, element) in source.chunks_exact(size).enumerate() {
            if let Some(target) = bytes.get_mut(byte_range(start + i as i64 * run.stride, 1, size)) {
                target.copy_from_slice(element);
            }
        }
    }
}

/// Bytes of one allocation, aligned to 64, all zero at first; ordinary or lazily mapped memory.
pub struct Bytes {
    store: Store,
    start: usize,
    len: usize,
}

enum Store {
    Heap(Vec<u8>),
    Mapped(MmapMut),
}

impl Bytes {
    const ALIGN: usize = 64;

    /// Ordinary memory, every page of it written. None if there is not enough.
    pub fn zeroed(len: usize) -> Option<Bytes> {
        if len >= HUGE_PAGE {
            return Bytes::in_huge_pages(len);
        }
        let mut store = Vec::new();
        store.try_reserve_exact(len.checked_add(Bytes::ALIGN)?).ok()?;
        store.resize(len + Bytes::ALIGN, 0);
        // A fixed multiple of elements from an address that the vector keeps for its lifetime.
        let start = store.as_ptr().align_offset(Bytes::ALIGN).min(Bytes::ALIGN);
        Some(Bytes {
            store: Store::Heap(store),
            start,
            len,
        })
    }

    /// The same in huge pages, where the system has them: a tenth of the page faults and table walks.
    fn in_huge_pages(len: usize) -> Option<Bytes> {
        // Room to begin and end where huge pages do.
        let room = len.checked_next_multiple_of(HUGE_PAGE)?.checked_add(HUGE_PAGE)?;
        let mut map = MmapOptions::new().len(room).map_anon().ok()?;
        let start = map.as_ptr().align_offset(HUGE_PAGE).min(HUGE_PAGE);
        // Only a hint.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let pages = map[start..start + len].iter_mut().step_by(PAGE);
        pages.for_each(|byte| *byte = 0);
        Some(Bytes {
            store: Store::Mapped(map),
            start,
            len,
        })
    }

    /// Memory that costs only the pages that are written, never huge ones. None if it cannot be mapped.
    pub fn lazy(len: usize) -> Option<Bytes> {
        let map = MmapOptions::new()
            .len(len.max(1))
            .no_reserve_swap()
            .map_anon()
            .ok()?;
        // Only a hint: without it a sparse kernel costs more memory, and is as right.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::NoHugePage);
        Some(Bytes {
            store: Store::Mapped(map),
            start: 0,
            len,
        })
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.store {
            Store::Heap(store) => &store[self.start..self.start + self.len],
            Store::Mapped(map) => &map[self.start..self.start + self.len],
        }
    }
}

impl DerefMut for Bytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.store {
            Store::Heap(store) => &mut store[self.start..self.start + self.len],
            Store::Mapped(map) => &mut map[self.start..self.start + self.len],
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.store {
            Store::Heap(_) => "dense",
            Store::Mapped(_) => "lazy",
        };
        write!(f, "Bytes({} {kind})", self.len)
    }
}

/// What will be allocated, before anything is.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub source: Arc<Source>,
    pub seed: u64,
    /// Indexed by [`AllocationId`].
    pub owners: Vec<Owner>,
    next: u64,
}

/// One allocation to make.
#[derive(Debug, Clone)]
pub(crate) struct Owner {
    pub name: String,
    pub tensor: TensorId,
    /// Place of the entry in the file.
    pub span: Range<usize>,
    pub base: u64,
    pub bytes: u64,
    pub lazy: bool,
    pub contents: Contents,
}

impl Owner {
    /// The fill, where it is to be made on demand.
    fn deferred(&self, tensor: &Tensor) -> Option<&Fill> {
        match &self.contents {
            Contents::Fill(fill) if self.bytes >= LAZY_BYTES && touched(tensor) > DEFERRED_BYTES => {
                Deferred::suits(tensor).then_some(fill)
            }
            _ => None,
        }
    }
}

impl Plan {
    pub fn new(source: Arc<Source>, seed: u64) -> Plan {
        Plan {
            source,
            seed,
            owners: Vec::new(),
            next: FIRST_ADDRESS,
        }
    }

    pub fn error(
        &self,
        span: &Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Box<Error> {
        Error::input(message).at(&self.source, span.clone(), label)
    }

    /// Gives the storage of `tensor` (of `storage` elements) the next address.
    pub fn add(
        &mut self,
        id: TensorId,
        span: Range<usize>,
        storage: i64,
        tensor: &Tensor,
        contents: Contents,
    ) -> Result<AllocationId> {
        let size = tensor.dtype.bytes();
        let bytes = i128::from(storage) * size as i128;
        if bytes > MAX_BYTES || self.owners.len() > 1 << 20 {
            let message = format!(
                "`{}` is {TOO_LARGE}: it wants {}",
                tensor.name,
                human_bytes(bytes as u128)
            );
            let label = format!("the largest storage is {}", human_bytes(MAX_BYTES as u128));
            return Err(self.error(&span, message, label));
        }
        let bytes = bytes as u64;
        // Sixteen times the view's own bytes is no longer dense, once it is more than a few pages.
        let sparse = bytes > 1 << 22 && bytes / 16 > tensor.elements().saturating_mul(size as u64);
        let owner = Owner {
            name: tensor.name.clone(),
            tensor: id,
            span,
            base: self.next,
            bytes,
            lazy: bytes >= LAZY_BYTES || sparse,
            contents,
        };
        self.next = (self.next + bytes.max(1)).next_multiple_of(ALIGNMENT);
        self.owners.push(owner);
        Ok(AllocationId(self.owners.len() as u32 - 1))
    }

    /// Refuses what would not fit in `limit` bytes, before anything is allocated, and views that would take
    /// for ever to fill as they overlap themselves.
    fn check_limit(&self, tensors: &[Tensor], limit: u64) -> Result<()> {
        for owner in &self.owners {
            let Some(tensor) = tensors.get(owner.tensor.0 as usize) else {
                continue;
            };
            let places = owner.bytes / tensor.dtype.bytes() as u64;
            let moving = tensor
                .shape
                .iter()
                .zip(&tensor.strides)
                .filter(|(_, stride)| **stride != 0);
            let visits = moving.fold(1u64, |n, (&size, _)| n.saturating_mul(size.max(0) as u64));
            if matches!(owner.contents, Contents::Fill(_)) && visits > places && visits > MAX_VISITS {
                let message = format!("`{}` overlaps itself too much to be filled", owner.name);
                let label = format!("{visits} elements in {places} places");
                return Err(self.error(&owner.span, message, label));
            }
        }
        let wanted = |owner: &Owner| match (&owner.contents, tensors.get(owner.tensor.0 as usize)) {
            (Contents::Uninit | Contents::Zeros, _) if owner.lazy => 0,
            (_, Some(tensor)) if owner.deferred(tensor).is_some() => 0,
            (_, Some(tensor)) if owner.lazy => owner.bytes.min(touched(tensor)),
            _ => owner.bytes,
        };
        let total = self
            .owners
            .iter()
            .fold(0u64, |sum, owner| sum.saturating_add(wanted(owner)));
        let Some(largest) = self
            .owners
            .iter()
            .max_by_key(|owner| wanted(owner))
            .filter(|_| total > limit)
        else {
            return Ok(());
        };
        let message = format!(
            "not enough memory: `{}` wants {}",
            largest.name,
            human_bytes(wanted(largest).into())
        );
        let label = format!(
            "all tensors want {}, {} may be used",
            human_bytes(total.into()),
            human_bytes(limit.into())
        );
        let error = self.error(&largest.span, message, label);
        Err(if largest.lazy {
            error.help("large storage costs only the pages that the kernel touches when it is generated row by row, \"uninit\" or \"zeros\"")
        } else {
            error.help("make the tensor smaller")
        })
    }

    /// Allocates and fills everything, or nothing.
    pub fn allocate(&self, tensors: &[Tensor], files: &dyn crate::Files, limit: u64) -> Result<Memory> {
        self.check_limit(tensors, limit)?;
        let mut memory = Memory::default();
        for owner in &self.owners {
            let len = usize::try_from(owner.bytes).ok();
            let bytes = len.and_then(|len| {
                if owner.lazy {
                    Bytes::lazy(len)
                } else {
                    Bytes::zeroed(len)
                }
            });
            let Some(mut bytes) = bytes else {
                let message = format!(
                    "not enough memory: `{}` wants {}",
                    owner.name,
                    human_bytes(owner.bytes.into())
                );
                return Err(self.error(&owner.span, message, "the system refuses"));
            };
            let tensor = tensors.get(owner.tensor.0 as usize);
            let deferred = tensor.and_then(|tensor| {
                let fill = owner.deferred(tensor)?;
                Deferred::new(fill, self.seed, tensor, bytes.len())
            });
            if let (Some(tensor), None) = (tensor, &deferred) {
                self.fill(owner, tensor, files, &mut bytes)?;
            }
            memory.allocations.push(Allocation {
                name: owner.name.clone(),
                base: owner.base,
                bytes,
                deferred,
                written: Vec::new(),
            });
        }
        Ok(memory)
    }

    fn fill(&self, owner: &Owner, tensor: &Tensor, files: &dyn crate::Files, bytes: &mut [u8]) -> Result<()> {
        match &owner.contents {
            Contents::Uninit | Contents::Zeros => {}
            Contents::Fill(fill) => crate::fill::fill(fill, self.seed, tensor, bytes),
            Contents::Addresses(addresses) => {
                let packed: Vec<u8> = addresses
                    .iter()
                    .flat_map(|address| address.to_le_bytes())
                    .collect();
                scatter(bytes, tensor.runs(), 8, 0, &packed);
            }
            Contents::File { path, key } => {
                let packed = crate::data_file::read(files, path, key.as_ref(), tensor, &self.source)?;
                scatter(bytes, tensor.runs(), tensor.dtype.bytes(), 0, &packed);
            }
        }
        Ok(())
    }
}

/// Bytes of the pages in which the view's elements lie, about: every run touches one page more than it fills.
fn touched(tensor: &Tensor) -> u64 {
    const PAGE: u64 = 4096;
    let size = tensor.dtype.bytes() as u64;
    let run = match tensor.runs().next() {
        Some(run) if run.stride == 1 => run.count,
        _ => 1,
    };
    let runs = tensor.elements() / run;
    runs.saturating_mul(run.saturating_mul(size).saturating_add(PAGE))
}

/// `1.5 GB` and the like, in powers of 1000.
pub(crate) fn human_bytes(bytes: u128) -> String {
    const UNITS: [(u128, &str); 5] = [
        (1_000_000_000_000_000, "PB"),
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
        (1000, "kB"),
    ];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_aligned_and_zero() {
        for len in [0, 1, 63, 64, 4097] {
            for mut bytes in [Bytes::zeroed(len).unwrap(), Bytes::lazy(len).unwrap()] {
                assert_eq!(bytes.len(), len);
                assert_eq!(bytes.as_ptr().align_offset(64), 0);
                assert!(bytes.iter().all(|&b| b == 0));
                bytes.fill(7);
                assert!(bytes.iter().all(|&b| b == 7));
            }
        }
        assert!(Bytes::zeroed(usize::MAX).is_none());
    }

    #[test]
    fn a_lazy_tebibyte_costs_nothing() {
        let mut bytes = Bytes::lazy(1 << 40).unwrap();
        bytes[1 << 39] = 1;
        assert_eq!(bytes[(1 << 39) - 1..(1 << 39) + 2], [0, 1, 0]);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(human_bytes(17), "17 bytes");
        assert_eq!(human_bytes(1 << 33), "8.6 GB");
    }
}
