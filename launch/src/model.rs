//! A launch, resolved: what the other crates see of it.
//!
//! Everything here is evaluated (no expressions left) but holds no data; [`crate::Memory`] holds the bytes.

use crate::layout::Runs;

/// Element type as launch files spell it; unlike the IR's, it knows signedness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// Truth value, one byte each in memory.
    I1,
    /// Signed 8-bit integer.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// 8-bit float, 4 exponent bits, no infinity (`fp8e4nv`).
    F8E4M3,
    /// 8-bit float, 5 exponent bits (`fp8e5`).
    F8E5M2,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    BF16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

/// Index into [`Launch::tensors`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub u32);

/// Index into [`crate::Memory::allocations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocationId(pub u32);

/// What a kernel may do to a tensor argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Read only: a store to it is a finding.
    In,
    /// Written whole: elements left unwritten are a finding.
    Out,
    /// Anything.
    InOut,
}

/// A view of an allocation: one tensor argument, or one entry of `[tensors]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Argument or table name.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Elements per dimension.
    pub shape: Vec<i64>,
    /// Elements between neighbours per dimension; may be zero or negative.
    pub strides: Vec<i64>,
    /// Elements from the start of the allocation to element (0, ..., 0).
    pub offset: i64,
    /// What the kernel may do to it.
    pub role: Role,
    /// The bytes it lies in; shared with others under `view_of`.
    pub allocation: AllocationId,
    /// True when its elements hold nothing before the launch: what is read there was never written.
    pub uninit: bool,
    /// For an array of pointers: the tensor that each element points to, in row-major order; empty for
    /// any other tensor.
    pub pointers: Vec<TensorId>,
}

impl Tensor {
    /// Number of elements of the view; zero if a dimension is.
    pub fn elements(&self) -> u64 {
        if self.shape.contains(&0) {
            return 0;
        }
        self.shape
            .iter()
            .fold(1u64, |n, &size| n.saturating_mul(size.max(0) as u64))
    }

    /// The view's elements in row-major order, as runs of constant stride.
    pub fn runs(&self) -> Runs {
        Runs::new(&self.shape, &self.strides, self.offset)
    }
}

/// One run-time argument of the kernel.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A pointer to element (0, ..., 0) of the tensor.
    Tensor(TensorId),
    /// A number; `bits` are the parameter type's bits, zero-extended.
    Scalar {
        /// Bit pattern in the parameter's own type.
        bits: u64,
    },
    /// A null pointer (`"none"`).
    Null,
    /// A tensor descriptor made by the host.
    Descriptor {
        /// The tensor described.
        tensor: TensorId,
        /// Elements per dimension of one block.
        block_shape: Vec<i64>,
    },
}

/// Compile options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileOptions {
    /// Warps per program.
    pub num_warps: u32,
    /// Pipeline stages.
    pub num_stages: u32,
}

/// What `[options]` asks for; the rest is left to the kernel's own configurations, else to the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AskedOptions {
    /// Warps per program.
    pub num_warps: Option<u32>,
    /// Pipeline stages.
    pub num_stages: Option<u32>,
}

impl AskedOptions {
    /// With Triton's defaults for what is left open.
    pub fn or_default(self) -> CompileOptions {
        CompileOptions {
            num_warps: self.num_warps.unwrap_or(4),
            num_stages: self.num_stages.unwrap_or(3),
        }
    }
}

/// A launch bound to a kernel's parameters: everything needed to run it once.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The launch's name, as shown in reports.
    pub name: String,
    /// The kernel function's name.
    pub kernel: String,
    /// Programs in x, y, z.
    pub grid: [u64; 3],
    /// One per parameter of the kernel function, in its order.
    pub arguments: Vec<Argument>,
    /// All tensors: arguments and `[tensors]`.
    pub tensors: Vec<Tensor>,
    /// Compile options.
    pub options: CompileOptions,
}
