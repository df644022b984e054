//! Types of values: scalars, pointers, tiles, block pointers and tensor descriptors.
//!
//! All types are small `Copy` values compared by content. A tile's dimensions are powers of two, as
//! Triton's own verifier demands, so a shape is stored as exponents.

use std::fmt;

/// Longest shape that is read. A tile has at most 2^20 elements, so more dimensions are all ones.
pub const MAX_RANK: usize = 31;

/// Largest number of elements of a tile (Triton's own limit).
pub const MAX_TILE_ELEMENTS: u64 = 1 << 20;

/// Shape of a tile: power-of-two dimensions, row-major.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Shape {
    rank: u8,
    log2: [u8; MAX_RANK],
}

impl Shape {
    /// The shape with these dimensions; none if one is not a power of two (or zero), or there are
    /// more than [`MAX_RANK`].
    pub fn new(dims: &[u64]) -> Option<Shape> {
        if dims.len() > MAX_RANK || dims.iter().any(|d| !d.is_power_of_two()) {
            return None;
        }
        let mut log2 = [0; MAX_RANK];
        for (slot, d) in log2.iter_mut().zip(dims) {
            *slot = d.trailing_zeros() as u8;
        }
        Some(Shape {
            rank: dims.len() as u8,
            log2,
        })
    }

    /// Number of dimensions; zero is a tile of one element.
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Elements along a dimension; 1 past the rank.
    pub fn dim(&self, axis: usize) -> usize {
        self.log2
            .get(axis)
            .map_or(1, |&e| 1usize.checked_shl(u32::from(e)).unwrap_or(usize::MAX))
    }

    /// All dimensions.
    pub fn dims(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator + '_ {
        self.log2[..self.rank()]
            .iter()
            .map(|&e| 1usize.checked_shl(u32::from(e)).unwrap_or(usize::MAX))
    }

    /// Base-two logarithm of the number of elements.
    pub fn log2_elements(&self) -> u32 {
        self.log2[..self.rank()].iter().map(|&e| u32::from(e)).sum()
    }

    /// Number of elements; saturates far above [`MAX_TILE_ELEMENTS`], which the verifier refuses.
    pub fn elements(&self) -> usize {
        1usize.checked_shl(self.log2_elements()).unwrap_or(usize::MAX)
    }

    /// The shape with dimension `axis` left out; none if there is no such dimension.
    pub fn without(&self, axis: usize) -> Option<Shape> {
        if axis >= self.rank() {
            return None;
        }
        let mut out = *self;
        out.log2.copy_within(axis + 1.., axis);
        out.log2[MAX_RANK - 1] = 0;
        out.rank -= 1;
        Some(out)
    }

    /// The shape with a dimension (a power of two) put in at `axis`; none if it does not fit.
    pub fn with_inserted(&self, axis: usize, dim: u64) -> Option<Shape> {
        if axis > self.rank() || self.rank() == MAX_RANK || !dim.is_power_of_two() {
            return None;
        }
        let mut out = *self;
        out.log2.copy_within(axis..MAX_RANK - 1, axis + 1);
        out.log2[axis] = dim.trailing_zeros() as u8;
        out.rank += 1;
        Some(out)
    }

    /// Row-major strides, in elements.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1usize; self.rank()];
        for axis in (1..self.rank()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(self.dim(axis));
        }
        strides
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.dims()).finish()
    }
}

/// `64x32`, without the element type.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.dims().enumerate() {
            if i > 0 {
                f.write_str("x")?;
            }
            write!(f, "{d}")?;
        }
        Ok(())
    }
}

macro_rules! scalars {
    ($($variant:ident $name:literal $bits:literal $doc:literal;)*) => {
        /// A number type. Integers carry no sign; operations do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Scalar {
            $(#[doc = $doc] $variant,)*
        }

        impl Scalar {
            /// All of them.
            pub const ALL: &[Scalar] = &[$(Scalar::$variant,)*];

            /// As MLIR spells it.
            pub fn name(self) -> &'static str {
                match self { $(Scalar::$variant => $name,)* }
            }

            /// Width in bits.
            pub fn bits(self) -> u32 {
                match self { $(Scalar::$variant => $bits,)* }
            }
        }
    };
}

scalars! {
    I1 "i1" 1 "Truth value; one byte each in memory.";
    I4 "i4" 4 "4-bit integer: seen in types only, refused when run.";
    I8 "i8" 8 "8-bit integer.";
    I16 "i16" 16 "16-bit integer.";
    I32 "i32" 32 "32-bit integer.";
    I64 "i64" 64 "64-bit integer.";
    I128 "i128" 128 "128-bit integer: seen in types only, refused when run.";
    Index "index" 64 "Loop index of `scf`, 64 bits here.";
    F8E4M3FN "f8E4M3FN" 8 "8-bit float without infinities (Triton's fp8e4nv).";
    F8E5M2 "f8E5M2" 8 "8-bit float with infinities (Triton's fp8e5).";
    F8E4M3B11FNUZ "f8E4M3B11FNUZ" 8 "8-bit float of bias 11 (Triton's fp8e4b15).";
    F8E4M3FNUZ "f8E4M3FNUZ" 8 "8-bit float without negative zero (Triton's fp8e4b8).";
    F8E5M2FNUZ "f8E5M2FNUZ" 8 "8-bit float without negative zero (Triton's fp8e5b16).";
    BF16 "bf16" 16 "bfloat16.";
    F16 "f16" 16 "IEEE binary16.";
    F32 "f32" 32 "IEEE binary32.";
    F64 "f64" 64 "IEEE binary64.";
}

impl Scalar {
    /// The scalar with this MLIR name.
    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::ALL.iter().copied().find(|s| s.name() == name)
    }

    /// Bytes of one element in memory: whole bytes, `i1` takes one.
    pub fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// True for floats of any width.
    pub fn is_float(self) -> bool {
        use Scalar::*;
        matches!(
            self,
            F8E4M3FN | F8E5M2 | F8E4M3B11FNUZ | F8E4M3FNUZ | F8E5M2FNUZ | BF16 | F16 | F32 | F64
        )
    }

    /// True for integers, truth values and indices.
    pub fn is_int(self) -> bool {
        !self.is_float()
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A pointer to numbers, or (with more levels) to pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// What the innermost pointer points to.
    pub pointee: Scalar,
    /// Levels of indirection: 1 for `!tt.ptr<f32>`, 2 for `!tt.ptr<!tt.ptr<f32>>`.
    pub levels: u8,
    /// Address space; 1 (global memory) is the default and not printed.
    pub space: u32,
}

impl Pointer {
    /// Address space of read-only parameters, which Triton 3.9 writes `"constant"`.
    pub const CONSTANT: u32 = 4;

    /// A pointer to a number in global memory.
    pub fn to(pointee: Scalar) -> Pointer {
        Pointer {
            pointee,
            levels: 1,
            space: 1,
        }
    }

    /// The type pointed to.
    pub fn target(self) -> Elem {
        if self.levels > 1 {
            Elem::Ptr(Pointer {
                levels: self.levels - 1,
                ..self
            })
        } else {
            Elem::Scalar(self.pointee)
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.target();
        match self.space {
            1 => write!(f, "!tt.ptr<{target}>"),
            Pointer::CONSTANT => write!(f, "!tt.ptr<{target}, \"constant\">"),
            space => write!(f, "!tt.ptr<{target}, {space}>"),
        }
    }
}

/// What one lane holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elem {
    /// A number.
    Scalar(Scalar),
    /// An address.
    Ptr(Pointer),
}

impl Elem {
    /// Bytes of one element in memory.
    pub fn bytes(self) -> usize {
        match self {
            Elem::Scalar(s) => s.bytes(),
            Elem::Ptr(_) => 8,
        }
    }

    /// The number type, unless a pointer.
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Elem::Scalar(s) => Some(s),
            Elem::Ptr(_) => None,
        }
    }

    /// The pointer type, unless a number.
    pub fn pointer(self) -> Option<Pointer> {
        match self {
            Elem::Ptr(p) => Some(p),
            Elem::Scalar(_) => None,
        }
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::Scalar(s) => s.fmt(f),
            Elem::Ptr(p) => p.fmt(f),
        }
    }
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// One number or pointer.
    Scalar(Elem),
    /// A tile of numbers or pointers.
    Tile(Shape, Elem),
    /// A pointer to a block of a tensor (`!tt.ptr<tensor<…>>`, Triton up to 3.6).
    BlockPtr(Shape, Elem),
    /// A tensor descriptor with the shape of its block.
    Descriptor {
        /// Block shape.
        block: Shape,
        /// Element type.
        elem: Scalar,
        /// `si8`/`ui8` spellings: sign of integer elements where the type says it.
        signed: Option<bool>,
    },
}

impl Type {
    /// A number.
    pub fn scalar(s: Scalar) -> Type {
        Type::Scalar(Elem::Scalar(s))
    }

    /// A tile of numbers.
    pub fn tile(shape: Shape, s: Scalar) -> Type {
        Type::Tile(shape, Elem::Scalar(s))
    }

    /// A truth value.
    pub const BOOL: Type = Type::Scalar(Elem::Scalar(Scalar::I1));

    /// Element type of a number, pointer or tile; none for block pointers and descriptors.
    pub fn elem(&self) -> Option<Elem> {
        match *self {
            Type::Scalar(e) | Type::Tile(_, e) => Some(e),
            Type::BlockPtr(..) | Type::Descriptor { .. } => None,
        }
    }

    /// Shape of a tile.
    pub fn shape(&self) -> Option<Shape> {
        match *self {
            Type::Tile(shape, _) => Some(shape),
            _ => None,
        }
    }

    /// Lanes of a value: 1 for anything but a tile.
    pub fn lanes(&self) -> usize {
        self.shape().map_or(1, |s| s.elements())
    }

    /// The same form (scalar or tile of the same shape) with another element type.
    pub fn with_elem(&self, elem: Elem) -> Type {
        match *self {
            Type::Tile(shape, _) => Type::Tile(shape, elem),
            _ => Type::Scalar(elem),
        }
    }
}

/// As Triton 3.9 writes it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = |shape: &Shape| if shape.rank() > 0 { "x" } else { "" };
        match self {
            Type::Scalar(e) => e.fmt(f),
            Type::Tile(shape, e) => write!(f, "tensor<{shape}{}{e}>", separator(shape)),
            Type::BlockPtr(shape, e) => write!(f, "!tt.ptr<tensor<{shape}{}{e}>>", separator(shape)),
            Type::Descriptor { block, elem, signed } => {
                let sign = match signed {
                    Some(true) => "s",
                    Some(false) => "u",
                    None => "",
                };
                write!(f, "!tt.tensordesc<{block}{}{sign}{elem}>", separator(block))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_hold_powers_of_two() {
        let s = Shape::new(&[64, 1, 32]).unwrap();
        assert_eq!((s.rank(), s.elements(), s.strides()), (3, 2048, vec![32, 32, 1]));
        assert_eq!(Shape::new(&[3]), None);
        assert_eq!(Shape::new(&[0]), None);
        assert_eq!(s.without(1), Shape::new(&[64, 32]));
        assert_eq!(s.without(3), None);
        assert_eq!(s.with_inserted(0, 2), Shape::new(&[2, 64, 1, 32]));
        assert_eq!(Shape::new(&[1 << 63, 1 << 63]).unwrap().elements(), usize::MAX);
    }

    #[test]
    fn types_print_as_triton_writes_them() {
        let s = Shape::new(&[16, 64]).unwrap();
        let p = Elem::Ptr(Pointer::to(Scalar::F16));
        assert_eq!(Type::Tile(s, p).to_string(), "tensor<16x64x!tt.ptr<f16>>");
        assert_eq!(Type::scalar(Scalar::I1).to_string(), "i1");
        let d = Type::Descriptor {
            block: s,
            elem: Scalar::F32,
            signed: None,
        };
        assert_eq!(d.to_string(), "!tt.tensordesc<16x64xf32>");
        let pp = Pointer {
            pointee: Scalar::I32,
            levels: 2,
            space: 1,
        };
        assert_eq!(Elem::Ptr(pp).to_string(), "!tt.ptr<!tt.ptr<i32>>");
    }
}
