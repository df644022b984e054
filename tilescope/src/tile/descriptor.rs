//! Tensor descriptors: blocks of a tensor loaded and stored whole, lanes outside of it left out by themselves.

use std::fmt;
use std::panic::Location;

use tilescope_ir::attrs::Padding;
use tilescope_ir::{Attrs, OpCode, Type};
use tilescope_launch::Dtype;

use super::operand::{Given, Operand};
use super::shape::shape_of;
use super::types::{TileType, bits, is_signed, scalar};
use crate::Tile;
use crate::builder::{Builder, Core, Input, Made, wrong};

/// Most dimensions of a descriptor.
const MAX_DIMENSIONS: usize = 5;

/// A tensor in memory with the shape of the blocks that are moved: what Triton's `tl.make_tensor_descriptor` gives.
///
/// ```
/// use ndarray::Array2;
/// use tilescope::{Kernel, check, out};
///
/// let copy = Kernel::new("copy", |k| {
///     let (x_ptr, y_ptr) = (k.ptr::<f32>("x_ptr"), k.ptr::<f32>("y_ptr"));
///     let (rows, cols) = (k.scalar::<i32>("rows"), k.scalar::<i32>("cols"));
///     let x = k.descriptor(x_ptr, (rows, cols), (cols, 1), [16, 32]);
///     let y = k.descriptor(y_ptr, (rows, cols), (cols, 1), [16, 32]);
///     let at = (k.program_id(0) * 16, k.program_id(1) * 32);
///     y.store(at, x.load(at));
/// });
/// let x = Array2::from_shape_fn((20, 40), |(i, j)| (40 * i + j) as f32);
/// let mut y = Array2::<f32>::zeros((20, 40));
/// check(&copy, [2, 2], (&x, out(&mut y), 20, 40)).unwrap();
/// assert_eq!(x, y);
/// ```
#[derive(Clone, Copy)]
pub struct Descriptor<'k> {
    /// A value whose type stands for the block's.
    block: Tile<'k>,
}

/// Several operands: sizes, strides, offsets. A tuple, an array or a vector of tiles and numbers.
///
/// Not to be implemented elsewhere.
pub trait Operands<'k> {
    /// The operands in their order.
    #[doc(hidden)]
    fn all(self) -> Vec<Given<'k>>;
}

impl<'k, T: Operand<'k>, const N: usize> Operands<'k> for [T; N] {
    fn all(self) -> Vec<Given<'k>> {
        self.into_iter().map(T::given).collect()
    }
}

impl<'k, T: Operand<'k>> Operands<'k> for Vec<T> {
    fn all(self) -> Vec<Given<'k>> {
        self.into_iter().map(T::given).collect()
    }
}

macro_rules! tuples {
    ($($($name:ident $index:tt),+;)*) => {$(
        impl<'k, $($name: Operand<'k>),+> Operands<'k> for ($($name,)+) {
            fn all(self) -> Vec<Given<'k>> {
                vec![$(self.$index.given()),+]
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
}

impl Builder {
    /// A descriptor of the tensor at a pointer: its shape, its strides in elements (the last is 1, the others are
    /// multiples of 16 bytes), and the shape of the blocks. What is read outside of the tensor is zero.
    #[track_caller]
    pub fn descriptor<'k>(
        &'k self,
        pointer: Tile<'k>,
        shape: impl Operands<'k>,
        strides: impl Operands<'k>,
        block: impl AsRef<[i32]>,
    ) -> Descriptor<'k> {
        let block = self.make(|core| {
            let pointer = core.take_tile(pointer)?;
            let dtype = core.pointee(pointer, "`descriptor`")?;
            if pointer.ty.shape.is_some() {
                return Err(format!("`descriptor` of `{}`: it takes one pointer", pointer.ty).into());
            }
            let block = shape_of(block.as_ref())?.unwrap_or_default();
            let rank = block.rank();
            if !(1..=MAX_DIMENSIONS).contains(&rank) {
                return Err(
                    format!("a descriptor of {rank} dimensions: it has 1 to {MAX_DIMENSIONS}").into(),
                );
            }
            let row = block.dim(rank - 1) * dtype.bytes();
            if row < 16 {
                let message = format!("a descriptor whose blocks have rows of {row} bytes: 16 are the least");
                return Err(message.into());
            }
            let mut operands = vec![pointer.id];
            operands.extend(core.numbers(shape.all(), rank, Dtype::I32, "sizes")?);
            operands.extend(core.numbers(strides.all(), rank, Dtype::I64, "strides")?);
            let ty = Type::Descriptor {
                block,
                elem: scalar(dtype),
                signed: (!dtype.is_float() && bits(dtype) > 1).then(|| is_signed(dtype)),
            };
            let id = core.b.value(
                OpCode::MakeTensorDescriptor,
                &operands,
                Attrs::Padding(Padding::Zero),
                ty,
            );
            Ok(core.value(id, TileType::number(dtype).shaped(Some(block))))
        });
        Descriptor { block }
    }
}

impl<'k> Descriptor<'k> {
    /// The block whose first element is at these offsets. Lanes outside of the tensor are zero.
    #[track_caller]
    pub fn load(self, offsets: impl Operands<'k>) -> Tile<'k> {
        self.block.k.make(|core| {
            let block = core.take_tile(self.block)?;
            let rank = block.ty.shape.map_or(0, |s| s.rank());
            let mut operands = vec![block.id];
            operands.extend(core.numbers(offsets.all(), rank, Dtype::I32, "offsets")?);
            let attrs = Attrs::Access(Box::default());
            let id = core
                .b
                .value(OpCode::DescriptorLoad, &operands, attrs, block.ty.ir());
            Ok(core.value(id, block.ty))
        })
    }

    /// Writes a block (or one number to all of it) whose first element is at these offsets. Lanes outside of the
    /// tensor are not written.
    #[track_caller]
    pub fn store(self, offsets: impl Operands<'k>, value: impl Operand<'k>) {
        self.block.k.attempt_at(Location::caller(), |core| {
            let block = core.take_tile(self.block)?;
            let rank = block.ty.shape.map_or(0, |s| s.rank());
            let value = core.take(value.given())?;
            let value = core.converted(value, core.number_type(block, "`store`")?)?;
            let value = core.shape_to(value, block.ty.shape).map_err(|_| {
                wrong(format!(
                    "a value of type `{}` for blocks of type `{}`",
                    value.ty, block.ty
                ))
                .also(value, "it was made here")
            })?;
            let mut operands = vec![block.id, value.id];
            operands.extend(core.numbers(offsets.all(), rank, Dtype::I32, "offsets")?);
            core.b.op(OpCode::DescriptorStore, &operands, Attrs::None, &[]);
            Ok(())
        });
    }
}

impl Core {
    /// So many operands, each one integer, as a type.
    fn numbers(
        &mut self,
        given: Vec<Given<'_>>,
        count: usize,
        dtype: Dtype,
        what: &str,
    ) -> Made<Vec<tilescope_ir::ValueId>> {
        if given.len() != count {
            return Err(format!("{} {what} for a descriptor of {count} dimensions", given.len()).into());
        }
        let mut ids = Vec::new();
        for given in given {
            let input = self.take(given)?;
            let value = self.own(input)?;
            if value.ty.shape.is_some() || self.number_type(value, what)?.is_float() {
                return Err(format!(
                    "{} among the {what} of a descriptor: they are integers",
                    input.describe()
                )
                .into());
            }
            let value = match input {
                Input::Number(number) => self.number(number, dtype)?,
                Input::Value(value) => self.cast(value, dtype)?,
            };
            ids.push(value.id);
        }
        Ok(ids)
    }
}

/// The type of its blocks.
impl fmt::Debug for Descriptor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block.ty() {
            Some(ty) => write!(f, "Descriptor({ty})"),
            None => f.write_str("Descriptor(broken)"),
        }
    }
}
