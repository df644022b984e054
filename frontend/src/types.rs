//! The types of Triton's language: number types with a sign, pointers, blocks.
//!
//! The IR's types have no sign; [`Ty::ir`] drops it. Named as Triton prints them in messages
//! (`int32`, `pointer<fp16>`, `<['128'], fp32>`): authors know these.

use std::fmt;
use std::rc::Rc;

use tilescope_ir::{Pointer, Scalar, Shape, Type};

/// A number type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are Triton's")]
pub enum Dtype {
    Int1,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Fp8e4nv,
    Fp8e5,
    Fp8e4b15,
    Fp8e4b8,
    Fp8e5b16,
    Fp16,
    Bf16,
    Fp32,
    Fp64,
}

/// What a pointer points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PtrTy {
    /// The number type at the end of the chain of pointers.
    pub to: Dtype,
    /// 1 for a pointer to numbers, 2 for a pointer to such pointers, …
    pub levels: u8,
    /// Declared `const`: not stored through.
    pub is_const: bool,
}

/// A number or a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Elem {
    Num(Dtype),
    Ptr(PtrTy),
}

/// The type of a run-time value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ty {
    /// One number or pointer.
    Scalar(Elem),
    /// A block of them.
    Block(Shape, Elem),
    /// A block pointer: what `tl.make_block_ptr` gives.
    BlockPtr(Shape, Elem),
    /// A tensor descriptor of blocks of this shape.
    Descriptor(Shape, Dtype),
    /// Several.
    Tuple(Rc<[Ty]>),
    /// `tl.constexpr`, as an annotation.
    Constexpr,
    /// `tl.void`.
    Void,
}

impl Dtype {
    /// All of them.
    pub const ALL: [Dtype; 18] = [
        Dtype::Int1,
        Dtype::Int8,
        Dtype::Int16,
        Dtype::Int32,
        Dtype::Int64,
        Dtype::Uint8,
        Dtype::Uint16,
        Dtype::Uint32,
        Dtype::Uint64,
        Dtype::Fp8e4nv,
        Dtype::Fp8e5,
        Dtype::Fp8e4b15,
        Dtype::Fp8e4b8,
        Dtype::Fp8e5b16,
        Dtype::Fp16,
        Dtype::Bf16,
        Dtype::Fp32,
        Dtype::Fp64,
    ];

    /// As Triton prints it and as launch signatures write it (`int32`, `fp16`).
    pub fn name(self) -> &'static str {
        match self {
            Dtype::Int1 => "int1",
            Dtype::Int8 => "int8",
            Dtype::Int16 => "int16",
            Dtype::Int32 => "int32",
            Dtype::Int64 => "int64",
            Dtype::Uint8 => "uint8",
            Dtype::Uint16 => "uint16",
            Dtype::Uint32 => "uint32",
            Dtype::Uint64 => "uint64",
            Dtype::Fp8e4nv => "fp8e4nv",
            Dtype::Fp8e5 => "fp8e5",
            Dtype::Fp8e4b15 => "fp8e4b15",
            Dtype::Fp8e4b8 => "fp8e4b8",
            Dtype::Fp8e5b16 => "fp8e5b16",
            Dtype::Fp16 => "fp16",
            Dtype::Bf16 => "bf16",
            Dtype::Fp32 => "fp32",
            Dtype::Fp64 => "fp64",
        }
    }

    /// The IR's type, which has no sign.
    pub fn scalar(self) -> Scalar {
        match self {
            Dtype::Int1 => Scalar::I1,
            Dtype::Int8 | Dtype::Uint8 => Scalar::I8,
            Dtype::Int16 | Dtype::Uint16 => Scalar::I16,
            Dtype::Int32 | Dtype::Uint32 => Scalar::I32,
            Dtype::Int64 | Dtype::Uint64 => Scalar::I64,
            Dtype::Fp8e4nv => Scalar::F8E4M3FN,
            Dtype::Fp8e5 => Scalar::F8E5M2,
            Dtype::Fp8e4b15 => Scalar::F8E4M3B11FNUZ,
            Dtype::Fp8e4b8 => Scalar::F8E4M3FNUZ,
            Dtype::Fp8e5b16 => Scalar::F8E5M2FNUZ,
            Dtype::Fp16 => Scalar::F16,
            Dtype::Bf16 => Scalar::BF16,
            Dtype::Fp32 => Scalar::F32,
            Dtype::Fp64 => Scalar::F64,
        }
    }

    /// Width in bits.
    pub fn bits(self) -> u32 {
        self.scalar().bits()
    }

    /// A floating-point type.
    pub fn is_float(self) -> bool {
        self.scalar().is_float()
    }

    /// An integer type, `int1` too.
    pub fn is_int(self) -> bool {
        !self.is_float()
    }

    /// A signed integer type; `int1` is an unsigned one, as in Triton.
    pub fn is_signed(self) -> bool {
        use Dtype::{Int8, Int16, Int32, Int64};
        matches!(self, Int8 | Int16 | Int32 | Int64)
    }

    /// One of the 8-bit float types.
    pub fn is_fp8(self) -> bool {
        self.is_float() && self.bits() == 8
    }

    /// The integer type of this width and sign; none for widths that have none.
    pub fn int(bits: u32, signed: bool) -> Option<Dtype> {
        use Dtype::*;
        Some(match (bits, signed) {
            (1, _) => Int1,
            (8, true) => Int8,
            (8, false) => Uint8,
            (16, true) => Int16,
            (16, false) => Uint16,
            (32, true) => Int32,
            (32, false) => Uint32,
            (64, true) => Int64,
            (64, false) => Uint64,
            _ => return None,
        })
    }

    /// The smallest and the largest value of an integer type.
    pub fn int_range(self) -> (i128, i128) {
        match (self.is_signed(), self.bits()) {
            (true, bits) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (false, bits) => (0, (1 << bits) - 1),
        }
    }
}

impl PtrTy {
    /// A pointer to numbers.
    pub fn to(dtype: Dtype) -> PtrTy {
        PtrTy {
            to: dtype,
            levels: 1,
            is_const: false,
        }
    }

    /// What one step along the pointer gives.
    pub fn target(self) -> Elem {
        match self.levels {
            0 | 1 => Elem::Num(self.to),
            levels => Elem::Ptr(PtrTy {
                levels: levels - 1,
                ..self
            }),
        }
    }
}

impl Elem {
    /// The IR's element.
    pub fn ir(self) -> tilescope_ir::Elem {
        match self {
            Elem::Num(dtype) => tilescope_ir::Elem::Scalar(dtype.scalar()),
            // Triton 3.9 puts what is declared `const` into an address space of its own.
            Elem::Ptr(ptr) => tilescope_ir::Elem::Ptr(Pointer {
                levels: ptr.levels,
                space: if ptr.is_const && ptr.levels == 1 {
                    Pointer::CONSTANT
                } else {
                    1
                },
                ..Pointer::to(ptr.to.scalar())
            }),
        }
    }
}

impl Ty {
    /// A scalar of a number type.
    pub fn num(dtype: Dtype) -> Ty {
        Ty::Scalar(Elem::Num(dtype))
    }

    /// Its element, if it is a scalar or a block.
    pub fn elem(&self) -> Option<Elem> {
        match self {
            Ty::Scalar(elem) | Ty::Block(_, elem) => Some(*elem),
            _ => None,
        }
    }

    /// The number type of a scalar or block of numbers.
    pub fn dtype(&self) -> Option<Dtype> {
        match self.elem()? {
            Elem::Num(dtype) => Some(dtype),
            Elem::Ptr(_) => None,
        }
    }

    /// The shape of a block.
    pub fn shape(&self) -> Option<Shape> {
        match self {
            Ty::Block(shape, _) | Ty::BlockPtr(shape, _) => Some(*shape),
            _ => None,
        }
    }

    /// The same shape with another element.
    pub fn with_elem(&self, elem: Elem) -> Ty {
        match self {
            Ty::Block(shape, _) => Ty::Block(*shape, elem),
            Ty::BlockPtr(shape, _) => Ty::BlockPtr(*shape, elem),
            _ => Ty::Scalar(elem),
        }
    }

    /// The IR's type of a value of this type that is one IR value.
    pub fn ir(&self) -> Option<Type> {
        match self {
            Ty::Scalar(elem) => Some(Type::Scalar(elem.ir())),
            Ty::Block(shape, elem) => Some(Type::Tile(*shape, elem.ir())),
            Ty::BlockPtr(shape, elem) => Some(Type::BlockPtr(*shape, elem.ir())),
            Ty::Descriptor(block, dtype) => Some(Type::Descriptor {
                block: *block,
                elem: dtype.scalar(),
                signed: dtype.is_int().then_some(dtype.is_signed()),
            }),
            Ty::Tuple(_) | Ty::Constexpr | Ty::Void => None,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::Num(dtype) => dtype.fmt(f),
            Elem::Ptr(ptr) => {
                for _ in 0..ptr.levels {
                    f.write_str("pointer<")?;
                }
                let prefix = if ptr.is_const { "const " } else { "" };
                write!(f, "{prefix}{}", ptr.to)?;
                (0..ptr.levels).try_for_each(|_| f.write_str(">"))
            }
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Scalar(elem) => elem.fmt(f),
            Ty::Block(shape, elem) => write!(f, "<{:?}, {elem}>", shape.dims().collect::<Vec<_>>()),
            Ty::BlockPtr(shape, elem) => {
                write!(f, "pointer<<{:?}, {elem}>>", shape.dims().collect::<Vec<_>>())
            }
            Ty::Descriptor(shape, dtype) => {
                write!(
                    f,
                    "tensor_descriptor<{dtype}{:?}>",
                    shape.dims().collect::<Vec<_>>()
                )
            }
            Ty::Tuple(items) => {
                f.write_str("(")?;
                for (i, item) in items.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str(")")
            }
            Ty::Constexpr => f.write_str("constexpr"),
            Ty::Void => f.write_str("void"),
        }
    }
}
