//! Elementary functions with the element types that Triton admits.

use tilescope_ir::OpCode;

use super::descriptor::list;
use super::promote::Rules;
use crate::cx::{Cx, Result};
use crate::types::Dtype;
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// `tl.exp` and the like: an element-wise op of one float operand, which must be of one of `dtypes`; `name` is
    /// for messages.
    ///
    /// # Errors
    /// Another type.
    pub fn math1(&mut self, name: &str, code: OpCode, x: &Value, dtypes: &[Dtype]) -> Result<Tensor> {
        self.check_dtype(name, x, dtypes)?;
        let x = self.to_tensor(x)?;
        if self.number_type(&x)?.is_int() {
            return Err(self
                .error(format!(
                    "`{name}` of a constant of type {}: a float is needed",
                    x.ty
                ))
                .help("write it with a decimal point"));
        }
        Ok(self.elementwise(code, &[&x]))
    }

    /// Refuses tensors of other types; constants pass, as in Triton.
    pub fn check_dtype(&self, name: &str, x: &Value, dtypes: &[Dtype]) -> Result<()> {
        let Value::Tensor(tensor) = x else { return Ok(()) };
        if tensor.dtype().is_some_and(|d| dtypes.contains(&d)) {
            return Ok(());
        }
        let error = self.error(format!(
            "`{name}` of a value of type {}: it takes {}",
            tensor.ty,
            list(dtypes)
        ));
        Err(match dtypes.first() {
            Some(first) if tensor.dtype().is_some() => {
                error.help(format!("cast it: `x.to(tl.{})`", language_name(*first)))
            }
            _ => error,
        })
    }

    /// `tl.abs`.
    ///
    /// # Errors
    /// Pointers.
    pub fn abs(&mut self, x: &Value) -> Result<Tensor> {
        let x = self.to_tensor(x)?;
        let dtype = self.number_type(&x)?;
        Ok(match dtype {
            _ if dtype.is_float() => self.elementwise(OpCode::AbsF, &[&x]),
            _ if dtype.is_signed() => self.elementwise(OpCode::AbsI, &[&x]),
            _ => x,
        })
    }

    /// `tl.umulhi`: the upper half of the product.
    ///
    /// # Errors
    /// Types other than 32-bit and 64-bit integers.
    pub fn umulhi(&mut self, l: &Value, r: &Value) -> Result<Tensor> {
        let allowed = [Dtype::Int32, Dtype::Int64, Dtype::Uint32, Dtype::Uint64];
        self.check_dtype("umulhi", l, &allowed)?;
        self.check_dtype("umulhi", r, &allowed)?;
        let (a, b) = self.operands(l, r, Rules::default())?;
        if self.number_type(&a)?.is_float() {
            return Err(self.error(format!(
                "`umulhi` of operands of type {}: integers are needed",
                a.ty
            )));
        }
        Ok(self.elementwise(OpCode::MulHiUI, &[&a, &b]))
    }

    /// `tl.fma`.
    ///
    /// # Errors
    /// Operands that do not combine, integers.
    pub fn fma(&mut self, x: &Value, y: &Value, z: &Value) -> Result<Tensor> {
        let [a, b, c] = self.three_operands([x, y, z])?;
        if self.number_type(&a)?.is_int() {
            return Err(self
                .error(format!("`fma` of operands of type {}: floats are needed", a.ty))
                .help("integers do not round: write `x * y + z`"));
        }
        Ok(self.elementwise(OpCode::Fma, &[&a, &b, &c]))
    }
}

/// The type as `triton.language` names it (`float32` for fp32).
pub(super) fn language_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Fp8e4nv => "float8e4nv",
        Dtype::Fp8e5 => "float8e5",
        Dtype::Fp8e4b15 => "float8e4b15",
        Dtype::Fp8e4b8 => "float8e4b8",
        Dtype::Fp8e5b16 => "float8e5b16",
        Dtype::Fp16 => "float16",
        Dtype::Bf16 => "bfloat16",
        Dtype::Fp32 => "float32",
        Dtype::Fp64 => "float64",
        other => other.name(),
    }
}
