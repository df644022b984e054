//! Inline assembly and functions of device libraries.

use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem};
use crate::value::{Tensor, Value};

/// A function of a device library for one list of argument types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternSymbol {
    /// Types of the arguments.
    pub args: Vec<Dtype>,
    /// The symbol, for example `__nv_tanhf`.
    pub symbol: String,
    /// Type of the result.
    pub result: Dtype,
}

impl Cx<'_> {
    /// `tl.inline_asm_elementwise`: one tensor per element type in `dtypes`.
    ///
    /// # Errors
    /// Shapes that do not broadcast, no result.
    pub fn inline_asm(
        &mut self,
        _asm: &str,
        _constraints: &str,
        _args: &[Value],
        _dtypes: &[Elem],
        _is_pure: bool,
        _pack: u32,
    ) -> Result<Vec<Tensor>> {
        Err(self.unsupported("`inline_asm_elementwise`"))
    }

    /// `tl.extern_elementwise`, `libdevice.…`: the row of `table` whose types are the arguments'.
    ///
    /// # Errors
    /// Types that no row has; `name` is for the message.
    pub fn extern_elementwise(
        &mut self,
        name: &str,
        _library: (&str, &str),
        _args: &[Value],
        _table: &[ExternSymbol],
        _is_pure: bool,
    ) -> Result<Tensor> {
        Err(self.unsupported(format!("`{name}`")))
    }
}
