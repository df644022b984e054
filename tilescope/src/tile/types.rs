//! The types of tiles: what a lane holds, with a sign, and the shape. The IR's types have no sign.

use std::fmt;

use tilescope_ir::{Pointer, Scalar, Shape, Type};
use tilescope_launch::Dtype;

/// What one lane of a [`Tile`](crate::Tile) holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// A number.
    Number(Dtype),
    /// The address of a number.
    Pointer(Dtype),
}

impl Lane {
    /// The IR's element type.
    pub(crate) fn ir(self) -> tilescope_ir::Elem {
        match self {
            Lane::Number(dtype) => tilescope_ir::Elem::Scalar(scalar(dtype)),
            Lane::Pointer(dtype) => tilescope_ir::Elem::Ptr(Pointer::to(scalar(dtype))),
        }
    }
}

/// The type of a [`Tile`](crate::Tile).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TileType {
    /// What each lane holds.
    pub lane: Lane,
    /// The shape; none for one number or one pointer.
    pub shape: Option<Shape>,
}

impl TileType {
    /// One number.
    pub(crate) fn number(dtype: Dtype) -> TileType {
        TileType {
            lane: Lane::Number(dtype),
            shape: None,
        }
    }

    /// The same shape with another number in each lane.
    pub(crate) fn of(self, dtype: Dtype) -> TileType {
        TileType {
            lane: Lane::Number(dtype),
            ..self
        }
    }

    /// The same lane in another shape.
    pub(crate) fn shaped(self, shape: Option<Shape>) -> TileType {
        TileType { shape, ..self }
    }

    /// The number type, unless it holds pointers.
    pub fn dtype(self) -> Option<Dtype> {
        match self.lane {
            Lane::Number(dtype) => Some(dtype),
            Lane::Pointer(_) => None,
        }
    }

    /// The IR's type.
    pub(crate) fn ir(self) -> Type {
        match self.shape {
            Some(shape) => Type::Tile(shape, self.lane.ir()),
            None => Type::Scalar(self.lane.ir()),
        }
    }
}

/// `f32`, `ptr<f32>`.
impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lane::Number(dtype) => f.write_str(dtype.name()),
            Lane::Pointer(dtype) => write!(f, "ptr<{}>", dtype.name()),
        }
    }
}

/// `f32`, `f32[64, 32]`, `ptr<f16>[128]`.
impl fmt::Display for TileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lane.fmt(f)?;
        match self.shape {
            Some(shape) => write!(f, "{shape:?}"),
            None => Ok(()),
        }
    }
}

/// The IR's type of a number.
pub(crate) fn scalar(dtype: Dtype) -> Scalar {
    match dtype {
        Dtype::I1 => Scalar::I1,
        Dtype::I8 | Dtype::U8 => Scalar::I8,
        Dtype::I16 | Dtype::U16 => Scalar::I16,
        Dtype::I32 | Dtype::U32 => Scalar::I32,
        Dtype::I64 | Dtype::U64 => Scalar::I64,
        Dtype::F8E4M3 => Scalar::F8E4M3FN,
        Dtype::F8E5M2 => Scalar::F8E5M2,
        Dtype::F16 => Scalar::F16,
        Dtype::BF16 => Scalar::BF16,
        Dtype::F32 => Scalar::F32,
        Dtype::F64 => Scalar::F64,
    }
}

/// Width of a number in bits; 1 for `i1`.
pub(crate) fn bits(dtype: Dtype) -> u32 {
    scalar(dtype).bits()
}

/// A signed integer; `i1` is an unsigned one, as it is for Triton.
pub(crate) fn is_signed(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64)
}

/// An 8-bit float.
pub(crate) fn is_fp8(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F8E4M3 | Dtype::F8E5M2)
}
