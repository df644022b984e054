//! Atomic operations.

use crate::cx::{Cx, Result};
use crate::value::{Tensor, Value};

/// What `tl.atomic_…` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum AtomicOp {
    Add,
    Max,
    Min,
    And,
    Or,
    Xor,
    Xchg,
}

/// `sem` and `scope` as the author writes them; none for the default (`acq_rel`, `gpu`; `acquire` for loads and
/// polls, `release` for stores).
#[derive(Debug, Clone, Default)]
pub struct Order {
    /// `"relaxed"`, `"acquire"`, `"release"`, `"acq_rel"`.
    pub sem: Option<String>,
    /// `"gpu"`, `"cta"`, `"sys"`.
    pub scope: Option<String>,
}

impl Cx<'_> {
    /// `tl.atomic_add` and the like: gives the old values.
    ///
    /// # Errors
    /// What is no pointer, element types that the operation does not take.
    pub fn atomic_rmw(
        &mut self,
        _op: AtomicOp,
        _ptr: &Value,
        _value: &Value,
        _mask: &Value,
        _order: &Order,
    ) -> Result<Tensor> {
        Err(self.unsupported("atomics"))
    }

    /// `tl.atomic_cas`.
    ///
    /// # Errors
    /// What is no pointer, elements of other widths than 16, 32, 64 bits.
    pub fn atomic_cas(
        &mut self,
        _ptr: &Value,
        _expected: &Value,
        _value: &Value,
        _order: &Order,
    ) -> Result<Tensor> {
        Err(self.unsupported("atomics"))
    }

    /// `tl.atomic_load`.
    ///
    /// # Errors
    /// What is no pointer, an order other than acquire and relaxed.
    pub fn atomic_load(&mut self, _ptr: &Value, _mask: &Value, _order: &Order) -> Result<Tensor> {
        Err(self.unsupported("atomics"))
    }

    /// `tl.atomic_store`.
    ///
    /// # Errors
    /// What is no pointer, an order other than release and relaxed.
    pub fn atomic_store(
        &mut self,
        _ptr: &Value,
        _value: &Value,
        _mask: &Value,
        _order: &Order,
    ) -> Result<()> {
        Err(self.unsupported("atomics"))
    }

    /// `tl.atomic_poll`: waits until memory holds a value; `timeout_ns` of `None` is for ever.
    ///
    /// # Errors
    /// What is no pointer to integers of 16, 32 or 64 bits.
    pub fn atomic_poll(
        &mut self,
        _ptr: &Value,
        _expected: &Value,
        _timeout_ns: &Value,
        _order: &Order,
    ) -> Result<Tensor> {
        Err(self.unsupported("atomics"))
    }
}
