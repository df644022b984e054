//! Tensor descriptors.

use std::rc::Rc;

use num_traits::{One, ToPrimitive};
use tilescope_ir::attrs::{AccessAttrs, Padding, ReduceKind};
use tilescope_ir::{Attrs, OpCode, Shape, ValueId};

use crate::cx::{Cx, Result};
use crate::semantic::memory::Access;
use crate::types::{Dtype, Elem, Ty};
use crate::value::{Descriptor, Tensor, Value};

/// Alignment in bytes of the base and of all strides but the last, by the hardware that reads blocks.
const ALIGNMENT: u64 = 16;

impl Cx<'_> {
    /// `tl.make_tensor_descriptor`; shape and strides are constants or scalar integers, `padding` is `"zero"` or
    /// `"nan"`.
    ///
    /// # Errors
    /// A base that is no pointer, lists of different lengths, a last stride other than 1, strides and blocks that
    /// the hardware does not take.
    pub fn make_tensor_descriptor(
        &mut self,
        base: &Value,
        shape: &[Value],
        strides: &[Value],
        block: Shape,
        padding: &str,
    ) -> Result<Value> {
        let rank = shape.len();
        if !(1..=5).contains(&rank) {
            return Err(self.error(format!(
                "a tensor descriptor of {rank} dimensions: 1 to 5 are possible"
            )));
        }
        for (name, length) in [("strides", strides.len()), ("block_shape", block.rank())] {
            if length != rank {
                return Err(self.error(format!(
                    "`{name}` has {length} entries, `shape` has {rank}: they must be as many"
                )));
            }
        }
        let (base, pointer) = self.scalar_pointer(base, "the base of a tensor descriptor")?;
        let Elem::Num(elem) = pointer.target() else {
            return Err(self.error(format!("a tensor descriptor of {}: it holds numbers", base.ty)));
        };
        let size = u64::from(elem.bits() / 8);
        let last = block.dim(rank - 1) as u64;
        if last * size < ALIGNMENT {
            return Err(self.error(format!(
                "the last dimension of the block is {last} * {size} bytes, at least {ALIGNMENT} bytes are needed"
            )));
        }
        self.check_strides(strides, size)?;
        let padding = self
            .block_padding(padding, Elem::Num(elem))?
            .unwrap_or(Padding::Zero);
        let mut operands = vec![base.value];
        let (mut shapes, mut steps) = (Vec::with_capacity(rank), Vec::with_capacity(rank));
        for entry in shape {
            let tensor = self.integer_scalar(entry, Dtype::Int32, "an entry of `shape`")?;
            operands.push(tensor.value);
            shapes.push(tensor);
        }
        for entry in strides {
            let tensor = self.integer_scalar(entry, Dtype::Int64, "an entry of `strides`")?;
            operands.push(tensor.value);
            steps.push(tensor);
        }
        let ty = Ty::Descriptor(block, elem)
            .ir()
            .unwrap_or(tilescope_ir::Type::BOOL);
        let value = self.b.value(
            OpCode::MakeTensorDescriptor,
            &operands,
            Attrs::Padding(padding),
            ty,
        );
        Ok(Value::Descriptor(Rc::new(Descriptor {
            value,
            shape: shapes,
            strides: steps,
            block,
            elem,
        })))
    }

    /// The last stride is the constant 1; others that are constant are aligned.
    fn check_strides(&self, strides: &[Value], size: u64) -> Result<()> {
        let Some((last, others)) = strides.split_last() else {
            return Ok(());
        };
        let one = match last {
            Value::Int(i) => i.is_one(),
            Value::Bool(b) => *b,
            _ => false,
        };
        if !one {
            return Err(self
                .error(format!(
                    "the last stride of a tensor descriptor is {}",
                    last.describe()
                ))
                .help("it must be the compile-time constant 1: the last dimension is contiguous"));
        }
        for stride in others {
            let Value::Int(i) = stride else { continue };
            let bytes = i.to_i128().map_or(1, |i| i.wrapping_mul(i128::from(size)));
            if bytes % i128::from(ALIGNMENT) != 0 {
                return Err(self.error(format!(
                    "a stride of {i} elements is {bytes} bytes: strides of a descriptor are multiples of \
                     {ALIGNMENT} bytes"
                )));
            }
        }
        Ok(())
    }

    fn offsets(&mut self, d: &Descriptor, offsets: &[Value]) -> Result<Vec<ValueId>> {
        if offsets.len() != d.block.rank() {
            return Err(self.error(format!(
                "{} offsets for a descriptor of {} dimensions",
                offsets.len(),
                d.block.rank()
            )));
        }
        let mut values = Vec::with_capacity(offsets.len());
        for offset in offsets {
            values.push(self.index_operand(offset, "an offset", false)?.value);
        }
        Ok(values)
    }

    /// `desc.load(offsets)`.
    ///
    /// # Errors
    /// Another number of offsets, offsets that are no 32-bit integers.
    pub fn descriptor_load(&mut self, d: &Descriptor, offsets: &[Value], access: &Access) -> Result<Tensor> {
        let attrs = AccessAttrs {
            cache: self.cache_policy(access)?,
            ..AccessAttrs::default()
        };
        let mut operands = vec![d.value];
        operands.extend(self.offsets(d, offsets)?);
        let ty = Ty::Block(d.block, Elem::Num(d.elem));
        let ir = ty.ir().unwrap_or(tilescope_ir::Type::BOOL);
        let attrs = Attrs::Access(Box::new(attrs));
        let value = self.b.value(OpCode::DescriptorLoad, &operands, attrs, ir);
        Ok(Tensor { value, ty })
    }

    /// A value to be stored: a block of the descriptor's shape.
    fn stored_block(&mut self, d: &Descriptor, value: &Value) -> Result<Tensor> {
        let value = self.to_tensor(value)?;
        if !value.is_block() || value.shape() != d.block {
            return Err(self.error(format!(
                "the value is of type {}, the descriptor's block has the shape {:?}",
                value.ty, d.block
            )));
        }
        Ok(value)
    }

    /// `desc.store(offsets, value)`.
    ///
    /// # Errors
    /// As for a load; a value of another shape.
    pub fn descriptor_store(&mut self, d: &Descriptor, offsets: &[Value], value: &Value) -> Result<()> {
        let value = self.stored_block(d, value)?;
        let value = self.cast(&value, Elem::Num(d.elem), None)?;
        let mut operands = vec![d.value, value.value];
        operands.extend(self.offsets(d, offsets)?);
        self.b.op(OpCode::DescriptorStore, &operands, Attrs::None, &[]);
        Ok(())
    }

    /// `desc.atomic_add(offsets, value)` and the like.
    ///
    /// # Errors
    /// As for a store; element types that the operation does not take.
    pub fn descriptor_reduce(
        &mut self,
        kind: ReduceKind,
        d: &Descriptor,
        offsets: &[Value],
        value: &Value,
    ) -> Result<()> {
        use Dtype::{Bf16, Fp16, Fp32, Int32, Int64, Uint32, Uint64};
        let allowed: &[Dtype] = match kind {
            ReduceKind::Add => &[Uint32, Int32, Uint64, Fp32, Fp16, Bf16],
            ReduceKind::Min | ReduceKind::Max => &[Uint32, Int32, Uint64, Int64, Fp16, Bf16],
            _ => &[Uint32, Int32, Uint64, Int64],
        };
        if !allowed.contains(&d.elem) {
            return Err(self
                .error(format!(
                    "`atomic_{}` through a descriptor of {}",
                    kind.as_str(),
                    d.elem
                ))
                .help(format!("it takes {}", list(allowed))));
        }
        let value = self.stored_block(d, value)?;
        if value.ty.elem().map(Elem::ir) != Some(Elem::Num(d.elem).ir()) {
            return Err(self.error(format!(
                "the value is of type {}, the descriptor's is {}",
                value.ty, d.elem
            )));
        }
        let mut operands = vec![d.value, value.value];
        operands.extend(self.offsets(d, offsets)?);
        self.b.op(
            OpCode::DescriptorReduce,
            &operands,
            Attrs::DescriptorReduce(kind),
            &[],
        );
        Ok(())
    }

    /// Row numbers of a gather or scatter, and the type of the rows together.
    fn rows(&mut self, name: &str, d: &Descriptor, x_offsets: &Value) -> Result<(Tensor, Ty)> {
        if d.block.rank() != 2 || d.block.dim(0) != 1 {
            return Err(self
                .error(format!(
                    "`{name}` through a descriptor with blocks of shape {:?}",
                    d.block
                ))
                .help("its blocks are single rows: `block_shape=[1, N]`"));
        }
        let rows = self.tensor(x_offsets, "the row numbers")?.clone();
        let narrow = matches!(rows.dtype(), Some(Dtype::Int16 | Dtype::Int32));
        if !narrow || rows.shape().rank() != 1 || rows.shape().dim(0) < 8 {
            return Err(self.error(format!(
                "the row numbers of `{name}` are of type {}: a block of at least 8 int32 or int16 is needed",
                rows.ty
            )));
        }
        let least = (32 / d.elem.bits().max(1) * 8) as usize;
        if d.block.dim(1) < least {
            return Err(self.error(format!(
                "`{name}` of {} needs rows of at least {least} elements, these have {}",
                d.elem,
                d.block.dim(1)
            )));
        }
        let shape = self.checked_shape(&[rows.shape().dim(0) as u64, d.block.dim(1) as u64])?;
        Ok((rows, Ty::Block(shape, Elem::Num(d.elem))))
    }

    /// `desc.gather(x_offsets, y_offset)`: rows by index, columns from an offset.
    ///
    /// # Errors
    /// Blocks of more than one row, too few rows or columns, types of indices.
    pub fn descriptor_gather(
        &mut self,
        d: &Descriptor,
        x_offsets: &Value,
        y_offset: &Value,
    ) -> Result<Tensor> {
        let (rows, ty) = self.rows("gather", d, x_offsets)?;
        let column = self.index_operand(y_offset, "the first column", false)?;
        let ir = ty.ir().unwrap_or(tilescope_ir::Type::BOOL);
        let operands = [d.value, rows.value, column.value];
        let value = self.b.value(OpCode::DescriptorGather, &operands, Attrs::None, ir);
        Ok(Tensor { value, ty })
    }

    /// `desc.scatter(value, x_offsets, y_offset)`.
    ///
    /// # Errors
    /// As for a gather.
    pub fn descriptor_scatter(
        &mut self,
        d: &Descriptor,
        value: &Value,
        x_offsets: &Value,
        y_offset: &Value,
    ) -> Result<()> {
        let (rows, ty) = self.rows("scatter", d, x_offsets)?;
        let value = self.tensor(value, "the value")?.clone();
        if value.ty.ir() != ty.ir() {
            return Err(self.error(format!("the value is of type {}, {ty} is needed", value.ty)));
        }
        let column = self.index_operand(y_offset, "the first column", false)?;
        let operands = [d.value, rows.value, column.value, value.value];
        self.b.op(OpCode::DescriptorScatter, &operands, Attrs::None, &[]);
        Ok(())
    }
}

/// "fp16, bf16"
pub(super) fn list(dtypes: &[Dtype]) -> String {
    dtypes.iter().map(|d| d.name()).collect::<Vec<_>>().join(", ")
}
