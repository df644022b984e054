//! Block pointers (`tl.make_block_ptr`, removed from Triton 3.9, alive in authors' code).

use num_traits::ToPrimitive;
use tilescope_ir::{Attrs, OpCode, Shape};

use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, PtrTy, Ty};
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// `tl.make_block_ptr`; shape, strides and offsets are constants or scalar integers.
    ///
    /// # Errors
    /// A base that is no pointer, lists of different lengths.
    pub fn make_block_ptr(
        &mut self,
        base: &Value,
        shape: &[Value],
        strides: &[Value],
        offsets: &[Value],
        block: Shape,
        order: &[i64],
    ) -> Result<Tensor> {
        let base = self.tensor(base, "the base of a block pointer")?.clone();
        if base.is_block() || base.pointer().is_none() {
            return Err(self.error(format!(
                "the base of a block pointer is of type {}, a pointer is needed",
                base.ty
            )));
        }
        let (base, elem, _) = self.memory_pointer(&base)?;
        let rank = block.rank();
        for (name, length) in [
            ("shape", shape.len()),
            ("strides", strides.len()),
            ("offsets", offsets.len()),
            ("order", order.len()),
        ] {
            if length != rank {
                return Err(self.error(format!(
                    "`{name}` has {length} entries, `block_shape` has {rank}: they must be as many"
                )));
            }
        }
        let named: Vec<u32> = order.iter().filter_map(|&d| u32::try_from(d).ok()).collect();
        if tilescope_ir::infer::permutation(&named, rank).is_err() {
            return Err(self.error(format!(
                "the order {order:?} is no permutation of {rank} dimensions"
            )));
        }
        let mut operands = vec![base];
        for (list, what, wide) in [
            (shape, "an entry of `shape`", true),
            (strides, "an entry of `strides`", true),
            (offsets, "an offset", false),
        ] {
            for entry in list {
                operands.push(self.index_operand(entry, what, wide)?);
            }
        }
        let operands: Vec<&Tensor> = operands.iter().collect();
        Ok(self.emit(
            OpCode::MakeTensorPtr,
            &operands,
            Attrs::Order(named),
            Ty::BlockPtr(block, elem),
        ))
    }

    /// `tl.advance`.
    ///
    /// # Errors
    /// What is no block pointer, another number of offsets.
    pub fn advance(&mut self, base: &Value, offsets: &[Value]) -> Result<Tensor> {
        let base = self.tensor(base, "what `advance` moves")?.clone();
        let Ty::BlockPtr(block, _) = base.ty else {
            return Err(self
                .error(format!(
                    "`advance` of a value of type {}: a block pointer is needed",
                    base.ty
                ))
                .help("plain pointers are moved by `+`"));
        };
        if offsets.len() != block.rank() {
            return Err(self.error(format!(
                "`advance` with {} offsets of a block of {} dimensions",
                offsets.len(),
                block.rank()
            )));
        }
        let mut operands = vec![base.clone()];
        for offset in offsets {
            operands.push(self.index_operand(offset, "an offset", false)?);
        }
        let operands: Vec<&Tensor> = operands.iter().collect();
        Ok(self.emit(OpCode::Advance, &operands, Attrs::None, base.ty.clone()))
    }

    /// A scalar integer as `int64` (if `wide`) or `int32`; 64-bit values are not cut.
    pub(super) fn index_operand(&mut self, value: &Value, what: &str, wide: bool) -> Result<Tensor> {
        let dtype = if wide { Dtype::Int64 } else { Dtype::Int32 };
        let constant = match value {
            Value::Bool(b) => Some(i64::from(*b)),
            Value::Int(i) => Some(
                i.to_i64()
                    .filter(|i| wide || i32::try_from(*i).is_ok())
                    .ok_or_else(|| {
                        self.error(format!("{what} is {}: it does not fit {dtype}", value.describe()))
                    })?,
            ),
            _ => None,
        };
        if let Some(constant) = constant {
            return Ok(self.int_constant(constant, dtype));
        }
        let tensor = self.tensor(value, what)?.clone();
        let from = tensor.dtype().filter(|d| d.is_int());
        let (Some(from), 0) = (from, tensor.shape().log2_elements()) else {
            return Err(self.error(format!(
                "{what} is of type {}, a scalar integer is needed",
                tensor.ty
            )));
        };
        let tensor = self.unsplat(&tensor)?;
        if !wide && from.bits() > 32 {
            return Err(self
                .error(format!("{what} is of type {from}, int32 is needed"))
                .help("offsets of block pointers and descriptors are 32 bits wide: `.to(tl.int32)`"));
        }
        self.cast(&tensor, Elem::Num(dtype), None)
    }

    /// A scalar integer made `int64` or `int32`, cut if need be: shapes and strides of descriptors.
    pub(super) fn integer_scalar(&mut self, value: &Value, dtype: Dtype, what: &str) -> Result<Tensor> {
        let Value::Tensor(tensor) = value else {
            return self.scalar_constant(value, dtype);
        };
        if tensor.shape().log2_elements() != 0 || tensor.dtype().is_none_or(Dtype::is_float) {
            return Err(self.error(format!(
                "{what} is of type {}, a scalar integer is needed",
                tensor.ty
            )));
        }
        let tensor = self.unsplat(tensor)?;
        self.cast(&tensor, Elem::Num(dtype), None)
    }

    /// A scalar pointer to numbers.
    pub(super) fn scalar_pointer(&self, value: &Value, what: &str) -> Result<(Tensor, PtrTy)> {
        let tensor = self.tensor(value, what)?;
        match tensor.pointer() {
            Some(pointer) if !tensor.is_block() => Ok((tensor.clone(), pointer)),
            _ => Err(self.error(format!("{what} is of type {}, a pointer is needed", tensor.ty))),
        }
    }
}
