//! Parameters, loads and stores.

use tilescope_ir::{Attrs, OpCode};
use tilescope_launch::{Dtype, Element};

use super::operand::{Number, Operand, OptionalOperand};
use super::types::{Lane, TileType};
use crate::Tile;
use crate::builder::{Builder, Core, Input, Made, Parameter, Value, wrong};

/// Most parameters of a kernel; CUDA passes some 4000 bytes of them.
const MAX_PARAMETERS: usize = 256;

impl Builder {
    /// The next parameter: a pointer to numbers of a Rust type, `k.ptr::<f32>("x_ptr")`.
    #[track_caller]
    pub fn ptr<T: Element>(&self, name: &str) -> Tile<'_> {
        self.ptr_to(name, T::DTYPE)
    }

    /// The next parameter: a pointer to numbers of a type.
    #[track_caller]
    pub fn ptr_to(&self, name: &str, dtype: Dtype) -> Tile<'_> {
        self.make(|core| core.parameter(name, Lane::Pointer(dtype)))
    }

    /// The next parameter: a number of a Rust type, `k.scalar::<i32>("n")`.
    #[track_caller]
    pub fn scalar<T: Element>(&self, name: &str) -> Tile<'_> {
        self.scalar_of(name, T::DTYPE)
    }

    /// The next parameter: a number of a type.
    #[track_caller]
    pub fn scalar_of(&self, name: &str, dtype: Dtype) -> Tile<'_> {
        self.make(|core| core.parameter(name, Lane::Number(dtype)))
    }

    /// One number with a type of its own: `k.constant(1i64)`.
    ///
    /// Numbers beside a tile need none: `x * 2.0` multiplies in the type of `x`.
    #[track_caller]
    pub fn constant<T: Element + Into<Number>>(&self, value: T) -> Tile<'_> {
        self.make(|core| core.number(value.into(), T::DTYPE))
    }

    /// What the pointers point to. Lanes where the mask is false are not read: they get `other`, or anything
    /// where that is `None`. Without a mask, `None`, all lanes are read.
    #[track_caller]
    pub fn load<'k>(
        &'k self,
        pointer: Tile<'k>,
        mask: impl OptionalOperand<'k>,
        other: impl OptionalOperand<'k>,
    ) -> Tile<'k> {
        self.make(|core| {
            let pointer = core.take_tile(pointer)?;
            let mask = core.take_optional(mask.given_or_not())?;
            let other = core.take_optional(other.given_or_not())?;
            let dtype = core.pointee(pointer, "`load`")?;
            let (pointer, stored) = core.stored_as(pointer, dtype);
            let shape = pointer.ty.shape;
            let mut operands = vec![pointer];
            match (mask, other) {
                (None, Some(_)) => {
                    let message = "`load` with a value for masked-off lanes, but without a mask";
                    return Err(wrong(message).into());
                }
                (None, None) => {}
                (Some(mask), other) => {
                    operands.push(core.mask(mask, pointer)?);
                    if let Some(other) = other {
                        let other = core.converted(other, stored)?;
                        operands.push(core.shape_to(other, shape)?);
                    }
                }
            }
            let ty = TileType::number(stored).shaped(shape);
            let loaded = core.emit(OpCode::Load, &operands, Attrs::Access(Box::default()), ty);
            core.cast(loaded, dtype)
        })
    }

    /// Writes a value through pointers, converted to what they point to. Lanes where the mask is false are not
    /// written; without a mask, `None`, all are.
    #[track_caller]
    pub fn store<'k>(&'k self, pointer: Tile<'k>, value: impl Operand<'k>, mask: impl OptionalOperand<'k>) {
        let at = std::panic::Location::caller();
        self.attempt_at(at, |core| {
            let pointer = core.take_tile(pointer)?;
            let value = core.take(value.given())?;
            let mask = core.take_optional(mask.given_or_not())?;
            let dtype = core.pointee(pointer, "`store`")?;
            let value = core.converted(value, dtype)?;
            let value = core.fitted(value, pointer, "a value")?;
            let (pointer, stored) = core.stored_as(pointer, dtype);
            let value = core.cast(value, stored)?;
            let mut operands = vec![pointer.id, value.id];
            if let Some(mask) = mask {
                operands.push(core.mask(mask, pointer)?.id);
            }
            core.b
                .op(OpCode::Store, &operands, Attrs::Access(Box::default()), &[]);
            Ok(())
        });
    }
}

impl Core {
    fn parameter(&mut self, name: &str, lane: Lane) -> Made {
        let mut letters = name.bytes();
        let first = letters
            .next()
            .is_some_and(|b| b == b'_' || b.is_ascii_alphabetic());
        if !first || !letters.all(|b| b == b'_' || b.is_ascii_alphanumeric()) {
            return Err(format!("`{name}` is no name for a parameter: letters, digits and `_` only").into());
        }
        if self.parameters.iter().any(|p| p.name == name) {
            return Err(format!("a second parameter called `{name}`").into());
        }
        if self.parameters.len() == MAX_PARAMETERS {
            return Err(format!("more than {MAX_PARAMETERS} parameters").into());
        }
        let ty = TileType { lane, shape: None };
        self.parameters.push(Parameter {
            name: name.to_string(),
            ty,
            place: self.place().clone(),
        });
        let id = self.b.param(name, ty.ir(), None);
        // A parameter is known everywhere, wherever it is asked for.
        Ok(self.outermost(id, ty))
    }

    /// What pointers point to.
    pub(crate) fn pointee(&self, pointer: Value, what: &str) -> Made<Dtype> {
        match pointer.ty.lane {
            Lane::Pointer(dtype) => Ok(dtype),
            Lane::Number(_) => Err(wrong(format!("{what} takes pointers, this is `{}`", pointer.ty))
                .also(pointer, "it was made here")
                .into()),
        }
    }

    /// Pointers to what is in memory: truth values are bytes there, as in Triton.
    fn stored_as(&mut self, pointer: Value, dtype: Dtype) -> (Value, Dtype) {
        if dtype != Dtype::I1 {
            return (pointer, dtype);
        }
        let ty = TileType {
            lane: Lane::Pointer(Dtype::U8),
            ..pointer.ty
        };
        (self.emit(OpCode::Bitcast, &[pointer], Attrs::None, ty), Dtype::U8)
    }

    /// A mask in the shape of the pointers.
    pub(crate) fn mask(&mut self, mask: Input, pointer: Value) -> Made {
        let mask = self.truth(mask)?;
        self.fitted(mask, pointer, "a mask")
    }

    /// A value in the shape of the pointers.
    pub(crate) fn fitted(&mut self, value: Value, pointer: Value, what: &str) -> Made {
        self.shape_to(value, pointer.ty.shape).map_err(|_| {
            let message = format!(
                "{what} of type `{}` for pointers of type `{}`",
                value.ty, pointer.ty
            );
            wrong(message)
                .also(value, "it was made here")
                .help("its shape broadcasts to that of the pointers")
                .into()
        })
    }

    /// An operand converted to a number type.
    pub(crate) fn converted(&mut self, input: Input, dtype: Dtype) -> Made {
        match input {
            Input::Value(value) => self.cast(value, dtype),
            Input::Number(number) => self.number(number, dtype),
        }
    }
}
