//! Pointers that lie in memory: the tensor that each derives from.
//!
//! Bytes carry no provenance, so a table beside the memory holds it: for the elements of an array of
//! pointers (from the launch), and for what pointer stores wrote. A loaded address takes the tensor noted
//! for its place if the address is still the one noted; any other takes the tensor that contains it. What a
//! table entry would say no differently is not noted, so the table stays small, and empty for most kernels.

use crate::access::{Access, Target};
use crate::frame::{Provenance, Slot, Tensor};
use crate::machine::Machine;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use tilescope_launch::Launch;

/// An allocation and a byte offset in it.
type Place = (usize, usize);

/// Per place, the address that was put there and its tensor.
#[derive(Debug, Default)]
pub struct StoredPointers {
    known: RwLock<HashMap<Place, (u64, Tensor)>>,
    /// False while the table is empty: then nobody takes the lock.
    any: AtomicBool,
}

impl Clone for StoredPointers {
    fn clone(&self) -> StoredPointers {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        StoredPointers {
            any: AtomicBool::new(!known.is_empty()),
            known: RwLock::new(known),
        }
    }
}

impl StoredPointers {
    /// The arrays of pointers of a launch.
    pub fn new(launch: &Launch, targets: &[Target]) -> StoredPointers {
        let mut known = HashMap::new();
        for tensor in launch.tensors.iter().filter(|t| !t.pointers.is_empty()) {
            let bytes = tensor.dtype.bytes();
            let positions = tensor
                .runs()
                .flat_map(|run| (0..run.count as i64).map(move |i| run.position + i * run.stride));
            for (position, pointee) in positions.zip(&tensor.pointers) {
                if let (Ok(position), Some(target)) =
                    (usize::try_from(position), targets.get(pointee.0 as usize))
                {
                    let place = (tensor.allocation.0 as usize, position * bytes);
                    known.insert(place, (target.origin, pointee.0 + 1));
                }
            }
        }
        StoredPointers {
            any: AtomicBool::new(!known.is_empty()),
            known: RwLock::new(known),
        }
    }

    fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }
}

/// Notes the pointers of `value` that a store wrote.
pub fn note(machine: &Machine<'_>, access: Access, value: Slot) {
    let stored = &machine.context.memory.stored;
    let addresses = machine.frame.tile::<u64>(value, access.lanes);
    let provenance = machine.frame.provenance(value);
    let mut plain = Vec::new();
    let mut special = Vec::new();
    // The store has reported the faults.
    let _ = access.checked(machine, |memory, piece| {
        for i in 0..piece.count {
            let (lane, place) = (piece.lane + i, (piece.allocation, piece.offset + i * access.elem));
            let (address, tensor) = (addresses.lane(lane), provenance.lane(lane));
            match memory.owner(address) == tensor {
                true => plain.push(place),
                false => special.push((place, (address, tensor))),
            }
        }
    });
    if special.is_empty() && stored.is_empty() {
        return;
    }
    let mut known = stored.known.write().unwrap_or_else(PoisonError::into_inner);
    for place in plain {
        known.remove(&place);
    }
    known.extend(special);
    stored.any.store(!known.is_empty(), Ordering::Release);
}

/// The tensors of the pointers that a load put into `out`; masked-off lanes have those of `other`.
pub fn loaded(machine: &Machine<'_>, access: Access, other: Option<Slot>, out: Slot) -> Provenance {
    let memory = &machine.context.memory;
    let addresses = machine.frame.tile::<u64>(out, access.lanes);
    let known = match memory.stored.is_empty() {
        true => None,
        false => Some(memory.stored.known.read().unwrap_or_else(PoisonError::into_inner)),
    };
    let other = other.map_or(&Provenance::NONE, |other| machine.frame.provenance(other));
    let mut tensors: Vec<Tensor> = (0..access.lanes).map(|lane| other.lane(lane)).collect();
    // The load has reported the faults.
    let _ = access.checked(machine, |memory, piece| {
        for i in 0..piece.count {
            let address = addresses.lane(piece.lane + i);
            let place = (piece.allocation, piece.offset + i * access.elem);
            let noted = known.as_ref().and_then(|known| known.get(&place));
            tensors[piece.lane + i] = match noted {
                Some(&(noted, tensor)) if noted == address => tensor,
                _ => memory.owner(address),
            };
        }
    });
    match tensors.first() {
        Some(&first) if tensors.iter().all(|&tensor| tensor == first) => Provenance::Uniform(first),
        _ => Provenance::Dense(tensors),
    }
}
