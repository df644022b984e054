//! Elementary functions with the element types that Triton admits.

use tilescope_ir::OpCode;

use crate::cx::{Cx, Result};
use crate::types::Dtype;
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// `tl.exp` and the like: an element-wise op of one float operand, which must be of one of `dtypes`; `name` is
    /// for messages.
    ///
    /// # Errors
    /// Another type.
    pub fn math1(&mut self, name: &str, _code: OpCode, _x: &Value, _dtypes: &[Dtype]) -> Result<Tensor> {
        Err(self.unsupported(format!("`{name}`")))
    }

    /// `tl.abs`.
    ///
    /// # Errors
    /// Pointers.
    pub fn abs(&mut self, _x: &Value) -> Result<Tensor> {
        Err(self.unsupported("`abs`"))
    }

    /// `tl.umulhi`: the upper half of the product.
    ///
    /// # Errors
    /// Types other than 32-bit and 64-bit integers.
    pub fn umulhi(&mut self, _l: &Value, _r: &Value) -> Result<Tensor> {
        Err(self.unsupported("`umulhi`"))
    }

    /// `tl.fma`.
    ///
    /// # Errors
    /// Operands that do not combine, integers.
    pub fn fma(&mut self, _x: &Value, _y: &Value, _z: &Value) -> Result<Tensor> {
        Err(self.unsupported("`fma`"))
    }
}
