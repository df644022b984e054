//! The checked build as the host sees it: the table of tensors that goes to the device, and the table of faults that comes back.
//!
//! Looked at are accesses (bounds, alignment, view, role), asserts and assumptions, and integer divisions. A pointer is judged by the
//! tensor that it derives from where the kernel's text says which; else by the tensor at its address, so that a pointer that was
//! loaded from memory and has left its tensor for another one is not noticed. Left to the interpreter: promises to the compiler
//! (hints), outputs that nothing wrote, undefined lanes beyond what `emit/undefined.rs` follows, and programs that do not end.
//!
//! Of every place and kind of fault the occurrence in the lowest program, at the earliest step, in the lowest lane comes back, with a
//! count of all, whatever order programs run in.

pub mod provenance;

use tilescope_diagnostics::Check;
use tilescope_launch::fault::{AccessKind, Fault, FaultDetail, Spot};
use tilescope_launch::view::View;
use tilescope_launch::{Launch, Memory, Role, Tensor, TensorId};

use provenance::Provenance;

/// Slots that a table of faults may have.
pub const MAX_SLOTS: u32 = 1 << 20;

/// What a checked build looks for.
pub const CHECKS: &[Check] = &[
    Check::OobLoad,
    Check::OobStore,
    Check::OobAtomic,
    Check::OutsideView,
    Check::WildPointer,
    Check::Misaligned,
    Check::StoreToInput,
    Check::AssertFailed,
    Check::AssumeViolated,
    Check::DivByZero,
];

/// Bytes of a tensor's row and of a slot: `ts::Tensor`, `ts::Fault`.
const TENSOR_BYTES: usize = 184;
const FAULT_BYTES: usize = 72;

/// Dimensions of a view that a row has place for.
const DIMS: usize = 8;

/// What is looked for in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// Faults of an access of so many bytes.
    Access {
        /// Load, store or atomic.
        kind: AccessKind,
        /// What its pointers derive from.
        provenance: Provenance,
        /// Bytes of an element.
        bytes: u32,
    },
    /// False lanes of an assert.
    Assert,
    /// False lanes of an assumption.
    Assume,
    /// Lanes without a quotient, if they are used.
    Division,
    /// Nothing: lanes that a division left undefined are used here.
    Use,
    /// Nothing: operands are printed here. Of kernels without checks too.
    Print,
    /// Nothing: results are dumped here, those whose bit is set. Of kernels without checks too.
    Dump {
        /// By the number of the result, from bit 0.
        held: u32,
    },
}

/// An operation of a checked kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where.
    pub spot: Spot,
    /// What is looked for.
    pub kind: PlaceKind,
    /// Its first slot in the table of faults.
    pub first: u32,
}

/// The table of tensors for a device where allocation `i` begins at `bases[i]`: `ts::Tensor`, one after the other.
pub fn tensor_table(launch: &Launch, memory: &Memory, bases: &[u64]) -> Vec<u8> {
    let mut table = Vec::new();
    for tensor in &launch.tensors {
        let allocation = tensor.allocation.0 as usize;
        let length = memory
            .allocations
            .get(allocation)
            .map_or(0, |a| a.bytes.len() as u64);
        let base = bases.get(allocation).copied().unwrap_or(0);
        row(&mut table, tensor, base, length);
    }
    // A table is never empty, so that it has an address.
    table.resize(table.len().max(TENSOR_BYTES), 0);
    table
}

fn row(table: &mut Vec<u8>, tensor: &Tensor, base: u64, length: u64) {
    let elem = tensor.dtype.bytes();
    let view = View::new(tensor, elem);
    let (low, high) = view.span();
    // A view of more dimensions than a row has place for counts as all of its span.
    let fits = view.dims().len() <= DIMS;
    let dims = if fits { view.dims() } else { &[] };
    let start = table.len();
    let mut wide = |value: u64| table.extend(value.to_le_bytes());
    wide(base);
    wide(length);
    wide(low as u64);
    wide(high as u64);
    wide(elem as u64);
    wide(u64::from(tensor.role != Role::In) | u64::from(view.covers(length)) << 32);
    wide(u64::from(view.is_solid() || !fits) | (dims.len() as u64) << 32);
    for &(stride, _) in dims {
        wide(stride as u64);
    }
    for _ in dims.len()..DIMS {
        wide(1);
    }
    for &(_, size) in dims {
        wide(size as u64);
    }
    table.resize(start + TENSOR_BYTES, 0);
}

/// An empty table of faults.
pub fn fault_table(slots: u32) -> Vec<u8> {
    let mut slot = [0u8; FAULT_BYTES];
    // No program yet, and none that is severe.
    slot[8..16].fill(0xff);
    slot[32..40].fill(0xff);
    slot.repeat(slots.max(1) as usize)
}

/// The faults in a table that came back, by program, then by step.
pub fn faults(table: &[u8], places: &[Place], launch: &Launch, memory: &Memory, bases: &[u64]) -> Vec<Fault> {
    let mut found = Vec::new();
    for place in places {
        let reader = Reader {
            table,
            places,
            place,
            launch,
            memory,
            bases,
        };
        match place.kind {
            PlaceKind::Access { .. } => reader.access(&mut found),
            PlaceKind::Assert => reader.single(&mut found, Check::AssertFailed),
            PlaceKind::Assume => reader.single(&mut found, Check::AssumeViolated),
            PlaceKind::Division => reader.single(&mut found, Check::DivByZero),
            PlaceKind::Use | PlaceKind::Print | PlaceKind::Dump { .. } => {}
        }
    }
    found.sort_by_key(|(sequence, fault)| (fault.program, *sequence));
    found.into_iter().map(|(_, fault)| fault).collect()
}

/// Reads the slots of one place.
struct Reader<'a> {
    table: &'a [u8],
    places: &'a [Place],
    place: &'a Place,
    launch: &'a Launch,
    memory: &'a Memory,
    bases: &'a [u64],
}

impl Reader<'_> {
    /// A slot that holds something: at which step, what, and the address.
    fn slot(&self, index: u32, check: Check, tensor: Option<TensorId>) -> Option<(u64, Fault, u64)> {
        let at = (self.place.first + index) as usize * FAULT_BYTES;
        let bytes = self.table.get(at..at + FAULT_BYTES)?;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let wide = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let fault = Fault {
            check,
            spot: self.place.spot.clone(),
            tensor,
            lane: word(4),
            program: wide(8),
            count: wide(24),
            severe: Some(wide(32)).filter(|&program| program != u64::MAX),
            detail: match check {
                Check::DivByZero => FaultDetail::Division {
                    dividend: wide(48) as i64,
                    divisor: wide(56) as i64,
                    used: self
                        .places
                        .get(word(64) as usize)
                        .unwrap_or(self.place)
                        .spot
                        .clone(),
                },
                _ => FaultDetail::Condition,
            },
        };
        (fault.count > 0).then_some((wide(16), fault, wide(40)))
    }

    fn single(&self, found: &mut Vec<(u64, Fault)>, check: Check) {
        found.extend(
            self.slot(0, check, None)
                .map(|(sequence, fault, _)| (sequence, fault)),
        );
    }

    fn access(&self, found: &mut Vec<(u64, Fault)>) {
        let PlaceKind::Access {
            kind,
            provenance,
            bytes,
        } = self.place.kind
        else {
            return;
        };
        let all = self.launch.tensors.len() as u32;
        let (step, tensors): (u32, Vec<(u32, Option<TensorId>)>) = match provenance {
            Provenance::One(tensor) => (1, vec![(0, tensor)]),
            Provenance::Any => {
                let each = (0..=all).map(|i| (i, i.checked_sub(1).map(TensorId)));
                (all + 1, each.collect())
            }
        };
        for (fault_kind, &check) in crate::emit::checks::ACCESS_FAULTS.iter().enumerate() {
            let check = check.unwrap_or(match kind {
                AccessKind::Load => Check::OobLoad,
                AccessKind::Store => Check::OobStore,
                AccessKind::Atomic | AccessKind::AtomicLoad => Check::OobAtomic,
            });
            for &(index, tensor) in &tensors {
                let Some((sequence, mut fault, address)) =
                    self.slot(fault_kind as u32 * step + index, check, tensor)
                else {
                    continue;
                };
                fault.detail = FaultDetail::Access {
                    kind,
                    address: self.synthetic(address, tensor),
                    bytes,
                };
                found.push((sequence, fault));
            }
        }
    }

    /// A device's address as the launch's memory has it: at the same distance from the tensor's storage.
    fn synthetic(&self, address: u64, tensor: Option<TensorId>) -> u64 {
        let allocation = tensor
            .and_then(|id| self.launch.tensors.get(id.0 as usize))
            .map(|t| t.allocation.0 as usize);
        let pair = allocation.and_then(|i| Some((self.bases.get(i)?, self.memory.allocations.get(i)?.base)));
        match pair {
            Some((&real, base)) => address.wrapping_sub(real).wrapping_add(base),
            None => address,
        }
    }
}
