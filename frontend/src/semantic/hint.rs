//! Hints to the compiler, barriers, prints and asserts.

use crate::cx::{Cx, Result};
use crate::value::Value;

/// What `tl.multiple_of` and the like say of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// `tl.multiple_of`.
    Divisibility,
    /// `tl.max_contiguous`.
    Contiguity,
    /// `tl.max_constancy`.
    Constancy,
}

impl Cx<'_> {
    /// `tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`: an attribute of the op that made the value.
    ///
    /// # Errors
    /// Another number of values than dimensions.
    pub fn hint(&mut self, _hint: Hint, _x: &Value, _values: &[i64]) -> Result<Value> {
        Err(self.unsupported("hints"))
    }

    /// `tl.assume`.
    ///
    /// # Errors
    /// What is not one truth value.
    pub fn assume(&mut self, _condition: &Value) -> Result<()> {
        Err(self.unsupported("`assume`"))
    }

    /// `tl.device_assert`, `assert`: kept whatever `TRITON_DEBUG` is; a mask of `None` is none.
    ///
    /// # Errors
    /// A condition that is no number.
    pub fn device_assert(&mut self, _condition: &Value, _message: &str, _mask: &Value) -> Result<()> {
        Err(self.unsupported("`device_assert`"))
    }

    /// `tl.device_print`, `print`.
    ///
    /// # Errors
    /// Arguments that no tensor holds, a prefix that is not ASCII.
    pub fn device_print(&mut self, _prefix: &str, _args: &[Value], _hex: bool) -> Result<()> {
        Err(self.unsupported("`device_print`"))
    }

    /// `tl.debug_barrier`.
    pub fn debug_barrier(&mut self) {}

    /// `tl.extra.cuda.gdc_wait`.
    pub fn gdc_wait(&mut self) {}

    /// `tl.extra.cuda.gdc_launch_dependents`.
    pub fn gdc_launch_dependents(&mut self) {}
}
