//! Faults as an engine sees them, before they are told to anybody: what, where, in which program and lane.
//!
//! The interpreter makes findings of its own; a GPU's checked build gives these, and the interpreter words them
//! (`Prepared::findings_of`), so both say the same of the same fault.

use tilescope_diagnostics::Check;
use tilescope_ir::{FuncId, LocId, OpId};

use crate::TensorId;

/// What kind of access a memory fault is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic that may write.
    Atomic,
    /// An atomic load.
    AtomicLoad,
}

impl AccessKind {
    /// True for accesses that may write.
    pub fn writes(self) -> bool {
        matches!(self, AccessKind::Store | AccessKind::Atomic)
    }
}

/// An operation, as one of the calls of its function led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Its function.
    pub function: FuncId,
    /// The operation.
    pub op: OpId,
    /// Locations of the calls that led there, innermost first.
    pub calls: Vec<LocId>,
}

/// What was seen beside place and check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultDetail {
    /// An access of `bytes` bytes at a synthetic address.
    Access {
        /// Load, store or atomic.
        kind: AccessKind,
        /// The address.
        address: u64,
        /// Bytes of an element.
        bytes: u32,
    },
    /// A false condition.
    Condition,
    /// A division without a result.
    Division {
        /// The dividend.
        dividend: i64,
        /// The divisor.
        divisor: i64,
        /// Where the result was used.
        used: Spot,
    },
}

/// The first fault of one kind at one place and of one tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub check: Check,
    /// Where.
    pub spot: Spot,
    /// The tensor that the pointer derives from, if there is one.
    pub tensor: Option<TensorId>,
    /// Number of the first program, x fastest.
    pub program: u64,
    /// Row-major number of the first lane.
    pub lane: u32,
    /// Lanes over all programs.
    pub count: u64,
    /// The first program in which it is worse than the check's mildest.
    pub severe: Option<u64>,
    /// The rest.
    pub detail: FaultDetail,
}

/// What one program printed at one `tt.print`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which print.
    pub spot: Spot,
    /// Number of the program, x fastest.
    pub program: u64,
    /// The lanes of each operand, row-major: bits, zero-extended.
    pub operands: Vec<Vec<u64>>,
}
