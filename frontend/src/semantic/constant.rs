//! Constants as tensors, and the operations that make tensors of nothing.

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use tilescope_ir::attrs::Axis;
use tilescope_ir::{Attrs, Constant, MAX_RANK, MAX_TILE_ELEMENTS, OpCode, Shape};

use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, Ty};
use crate::value::{Tensor, Value};

/// A constant that tensors hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Bool(bool),
    /// An integer that fits 65 bits with sign.
    Int(i128),
    Float(f64),
}

impl Number {
    /// The number of a constant; none for what is no number, or an integer beyond 64 bits.
    pub(super) fn of(value: &Value) -> Option<Number> {
        match value {
            Value::Bool(b) => Some(Number::Bool(*b)),
            Value::Int(i) => small(i).map(Number::Int),
            Value::Float(x) => Some(Number::Float(*x)),
            _ => None,
        }
    }

    /// The type that Triton gives it.
    pub(super) fn dtype(self) -> Dtype {
        match self {
            Number::Bool(_) => Dtype::Int1,
            Number::Int(i) if i >= 1 << 63 => Dtype::Uint64,
            Number::Int(i) if (1 << 31..1 << 32).contains(&i) => Dtype::Uint32,
            Number::Int(i) if (-(1 << 31)..1 << 31).contains(&i) => Dtype::Int32,
            Number::Int(_) => Dtype::Int64,
            Number::Float(x) if fits_f32(x) => Dtype::Fp32,
            Number::Float(_) => Dtype::Fp64,
        }
    }

    pub(super) fn as_f64(self) -> f64 {
        match self {
            Number::Bool(b) => f64::from(u8::from(b)),
            Number::Int(i) => i as f64,
            Number::Float(x) => x,
        }
    }
}

/// Integers that some 64-bit type holds.
fn small(i: &BigInt) -> Option<i128> {
    let i = i.to_i128()?;
    (-(1 << 63)..1 << 64).contains(&i).then_some(i)
}

/// Zero, NaN, infinities, and what lies in binary32's normal range.
fn fits_f32(x: f64) -> bool {
    let magnitude = x.abs();
    magnitude == 0.0
        || !magnitude.is_finite()
        || (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX)).contains(&magnitude)
}

impl Cx<'_> {
    /// A constant as a scalar of the type that Triton gives it (`int32`, else `uint32`, `int64`, `uint64`; `fp32`,
    /// else `fp64`; `int1`); a tensor as it is.
    ///
    /// # Errors
    /// Values that no tensor holds: strings, functions.
    pub fn to_tensor(&mut self, value: &Value) -> Result<Tensor> {
        if let Value::Tensor(tensor) = value {
            return Ok(tensor.clone());
        }
        let number = self.number(value)?;
        self.number_as(number, number.dtype())
    }

    /// The number type that [`Cx::to_tensor`] gives a constant.
    ///
    /// # Errors
    /// Values that no tensor holds.
    pub fn constant_dtype(&self, value: &Value) -> Result<Dtype> {
        Ok(self.number(value)?.dtype())
    }

    pub(super) fn number(&self, value: &Value) -> Result<Number> {
        Number::of(value).ok_or_else(|| match value {
            Value::Int(_) => self.error("an integer beyond 64 bits does not fit a tensor"),
            other => self
                .error(format!("{} cannot be made a tensor", other.describe()))
                .help("tensors hold numbers and truth values"),
        })
    }

    /// A number in a scalar of this type, cut or rounded to it.
    ///
    /// # Errors
    /// Values that are no numbers; floats in integer types.
    pub fn scalar_constant(&mut self, value: &Value, dtype: Dtype) -> Result<Tensor> {
        let number = self.number(value)?;
        self.number_as(number, dtype)
    }

    /// The conversions are those of Triton's builder: integers wrap, `int1` is truth, half types are rounded twice
    /// (through `fp32`), fp8 is rounded at run time.
    pub(super) fn number_as(&mut self, number: Number, dtype: Dtype) -> Result<Tensor> {
        if dtype.is_int() {
            let bits = match number {
                _ if dtype == Dtype::Int1 => i128::from(number.as_f64() != 0.0),
                Number::Bool(b) => i128::from(b),
                Number::Int(i) => i,
                Number::Float(0.0) => 0,
                Number::Float(x) => {
                    return Err(self
                        .error(format!("the float {x:?} is no value of type {dtype}"))
                        .help("write an integer, or choose a float type"));
                }
            };
            if bits < 0 && !dtype.is_signed() || bits >= 1 << 63 && dtype.is_signed() {
                return Err(self.error(format!("the integer {bits} is out of range for type {dtype}")));
            }
            return Ok(self.bits(bits as u64, dtype));
        }
        let value = number.as_f64();
        let single = f64::from(value as f32);
        match dtype {
            Dtype::Fp64 => Ok(self.float(value, dtype)),
            _ if dtype.is_fp8() => {
                self.check_fp8(dtype)?;
                let single = self.float(single, Dtype::Fp32);
                if dtype == Dtype::Fp8e4b15 {
                    return self.cast(&single, Elem::Num(dtype), None);
                }
                Ok(self.emit(OpCode::TruncF, &[&single], Attrs::None, Ty::num(dtype)))
            }
            _ => Ok(self.float(single, dtype)),
        }
    }

    /// An integer constant by its low bits.
    fn bits(&mut self, bits: u64, dtype: Dtype) -> Tensor {
        let bits = bits & (u64::MAX >> (64 - dtype.bits()));
        let attrs = Attrs::Constant(Constant::Splat(bits));
        self.emit(OpCode::Constant, &[], attrs, Ty::num(dtype))
    }

    fn float(&mut self, value: f64, dtype: Dtype) -> Tensor {
        let ty = Ty::num(dtype);
        let value = self.b.float(tilescope_ir::Type::scalar(dtype.scalar()), value);
        Tensor { value, ty }
    }

    /// An integer constant of a given type, by our own hand.
    pub(super) fn int_constant(&mut self, value: i64, dtype: Dtype) -> Tensor {
        self.bits(value as u64, dtype)
    }

    /// Refuses the fp8 types that no GPU of NVIDIA has. That some lack fp8e4nv is a finding of the interpreter.
    pub(super) fn check_fp8(&self, dtype: Dtype) -> Result<()> {
        if !matches!(dtype, Dtype::Fp8e4b8 | Dtype::Fp8e5b16) {
            return Ok(());
        }
        let error = self.error(format!("no GPU of NVIDIA has the type {dtype}"));
        Err(error.help("use fp8e5 or fp8e4nv"))
    }

    /// `tl.full`: a constant or a scalar tensor, cast to `elem`, in all lanes; a scalar for an empty shape.
    ///
    /// # Errors
    /// Values that are no numbers, tensors of several elements.
    pub fn full(&mut self, shape: Shape, value: &Value, elem: Elem) -> Result<Tensor> {
        let scalar = match value {
            Value::Tensor(tensor) => {
                if tensor.shape().log2_elements() != 0 || matches!(tensor.ty, Ty::BlockPtr(..)) {
                    return Err(self.error(format!(
                        "a block is filled with one number, this is a value of type {}",
                        tensor.ty
                    )));
                }
                let one = self.unsplat(tensor)?;
                self.cast(&one, elem, None)?
            }
            constant => match elem {
                Elem::Num(dtype) => self.scalar_constant(constant, dtype)?,
                Elem::Ptr(_) => {
                    return Err(self
                        .error(format!("a constant is no value of type {elem}"))
                        .help("make an integer of type int64 and cast it to the pointer type"));
                }
            },
        };
        self.splat(&scalar, shape)
    }

    /// `tl.arange`: `start..end` as `int32`.
    ///
    /// # Errors
    /// Bounds that are not constant, an extent that is not a power of two.
    pub fn arange(&mut self, start: &Value, end: &Value) -> Result<Tensor> {
        let (from, to) = (self.arange_bound(start)?, self.arange_bound(end)?);
        let extent = i64::from(to) - i64::from(from);
        if extent <= 0 {
            return Err(self.error(format!(
                "`arange({from}, {to})` is empty: the end must be greater than the start"
            )));
        }
        let shape = u64::try_from(extent).ok().filter(|n| n.is_power_of_two());
        let Some(extent) = shape else {
            return Err(self
                .error(format!(
                    "`arange({from}, {to})` has {extent} elements, not a power of two"
                ))
                .help("use the next power of two and mask what lies outside"));
        };
        let shape = self.checked_shape(&[extent])?;
        let attrs = Attrs::Range { start: from, end: to };
        Ok(self.emit(
            OpCode::MakeRange,
            &[],
            attrs,
            Ty::Block(shape, Elem::Num(Dtype::Int32)),
        ))
    }

    fn arange_bound(&self, value: &Value) -> Result<i32> {
        let wanted = match value {
            Value::Int(i) => match i.to_i32() {
                Some(i) => return Ok(i),
                None => format!("{} does not fit int32", value.describe()),
            },
            Value::Bool(b) => return Ok(i32::from(*b)),
            Value::Tensor(t) => format!("a value of type {} is known only at run time", t.ty),
            other => format!("{} is no integer", other.describe()),
        };
        let help = "the bounds of `arange` are compile-time integers: `tl.constexpr` parameters or literals";
        Err(self.error(format!("a bound of `arange`: {wanted}")).help(help))
    }

    /// `tl.program_id`.
    ///
    /// # Errors
    /// An axis other than 0, 1, 2.
    pub fn program_id(&mut self, axis: &Value) -> Result<Tensor> {
        let axis = self.grid_axis("program_id", axis)?;
        Ok(self.emit(
            OpCode::GetProgramId,
            &[],
            Attrs::Grid(axis),
            Ty::num(Dtype::Int32),
        ))
    }

    /// `tl.num_programs`.
    ///
    /// # Errors
    /// An axis other than 0, 1, 2.
    pub fn num_programs(&mut self, axis: &Value) -> Result<Tensor> {
        let axis = self.grid_axis("num_programs", axis)?;
        Ok(self.emit(
            OpCode::GetNumPrograms,
            &[],
            Attrs::Grid(axis),
            Ty::num(Dtype::Int32),
        ))
    }

    fn grid_axis(&self, name: &str, axis: &Value) -> Result<Axis> {
        match Number::of(axis) {
            Some(Number::Int(0)) | Some(Number::Bool(false)) => Ok(Axis::X),
            Some(Number::Int(1)) | Some(Number::Bool(true)) => Ok(Axis::Y),
            Some(Number::Int(2)) => Ok(Axis::Z),
            _ => Err(self
                .error(format!("the axis of `{name}` is {}", axis.describe()))
                .help("a grid has the axes 0, 1 and 2; the axis is a compile-time integer")),
        }
    }

    /// A block shape of a tuple of constants (or of one constant): powers of two, at most 2^20 elements.
    ///
    /// # Errors
    /// Anything else, saying which dimension.
    pub fn shape_of(&self, value: &Value) -> Result<Shape> {
        let items: Vec<Value> = match value {
            Value::Tuple(tuple) => tuple.items.to_vec(),
            Value::List(list) => list.borrow().clone(),
            one => vec![one.clone()],
        };
        let mut dims = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let dim = match item {
                Value::Int(d) => d.to_u64(),
                Value::Bool(true) => Some(1),
                Value::Tensor(t) => {
                    return Err(self
                        .error(format!(
                            "dimension {i} of the shape is a run-time value of type {}",
                            t.ty
                        ))
                        .help("shapes are known at compile time: make it a `tl.constexpr` parameter"));
                }
                other => {
                    return Err(self.error(format!(
                        "dimension {i} of the shape is {}, an integer is needed",
                        other.describe()
                    )));
                }
            };
            match dim.filter(|d| d.is_power_of_two()) {
                Some(dim) => dims.push(dim),
                None => {
                    return Err(self
                        .error(format!(
                            "dimension {i} of the shape is {}, not a power of two",
                            item.describe()
                        ))
                        .help("use the next power of two and mask what lies outside"));
                }
            }
        }
        self.checked_shape(&dims)
    }

    /// The shape of these powers of two, if a block may have it.
    pub(super) fn checked_shape(&self, dims: &[u64]) -> Result<Shape> {
        let elements = dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        if elements.is_none_or(|n| n > MAX_TILE_ELEMENTS) {
            return Err(self.error(format!(
                "a block of shape {dims:?} has more than {MAX_TILE_ELEMENTS} elements, the most that Triton allows"
            )));
        }
        Shape::new(dims).ok_or_else(|| {
            self.unsupported(format!(
                "a block of more than {MAX_RANK} dimensions is not supported"
            ))
        })
    }

    /// A constant axis of `rank` dimensions; negative ones count from the end.
    ///
    /// # Errors
    /// Run-time values, axes out of range.
    pub fn axis_of(&self, value: &Value, rank: usize) -> Result<usize> {
        match Number::of(value) {
            Some(Number::Int(i)) => self.axis(i as i64, rank),
            Some(Number::Bool(b)) => self.axis(i64::from(b), rank),
            _ => Err(self.error(format!(
                "an axis is {}, a compile-time integer is needed",
                value.describe()
            ))),
        }
    }

    /// An axis of `rank` dimensions; negative ones count from the end.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let from_end = if axis < 0 { rank as i64 } else { 0 };
        let wrapped = axis.checked_add(from_end).and_then(|a| usize::try_from(a).ok());
        wrapped.filter(|&a| a < rank).ok_or_else(|| {
            let error = self.error(format!("axis {axis} does not fit {rank} dimensions"));
            match rank {
                0 => error.help("a scalar has no axes"),
                _ => error.help(format!("axes go from {} to {}", -(rank as i64), rank - 1)),
            }
        })
    }
}
