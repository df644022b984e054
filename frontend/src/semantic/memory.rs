//! Loads and stores through pointers and block pointers.

use crate::cx::{Cx, Result};
use crate::value::{Tensor, Value};

/// The keyword arguments of `tl.load` and `tl.store` beside the mask.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// `cache_modifier` as the author writes it (`".cg"`); empty for none.
    pub cache_modifier: String,
    /// `eviction_policy` as the author writes it (`"evict_first"`); empty for none.
    pub eviction_policy: String,
    /// `volatile`.
    pub volatile: bool,
    /// `boundary_check`: dimensions of a block pointer.
    pub boundary_check: Vec<i64>,
    /// `padding_option` (`"zero"`, `"nan"`); empty for none.
    pub padding_option: String,
}

impl Cx<'_> {
    /// `tl.load`; a mask of `None` is none.
    ///
    /// # Errors
    /// What is no pointer, masks that do not fit, unknown words in `access`.
    pub fn load(&mut self, _ptr: &Value, _mask: &Value, _other: &Value, _access: &Access) -> Result<Tensor> {
        Err(self.unsupported("`load`"))
    }

    /// `tl.store`; a mask of `None` is none.
    ///
    /// # Errors
    /// What is no pointer, a `const` pointer, values and masks that do not fit.
    pub fn store(&mut self, _ptr: &Value, _value: &Value, _mask: &Value, _access: &Access) -> Result<()> {
        Err(self.unsupported("`store`"))
    }
}
