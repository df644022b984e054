//! What is asked of a compilation, and what comes back.

use tilescope_diagnostics::Error;
use tilescope_ir::{Module, Shape};

use crate::Options;
use crate::source::{ModuleId, Program};
use crate::types::{Dtype, Elem};
use crate::value::Value;

/// What Triton's launcher knows of an argument's value, and compiles into the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Specialized {
    /// A multiple of 16: `tt.divisibility`.
    pub divisible_by_16: bool,
}

/// The type of an argument.
#[derive(Debug, Clone)]
pub enum ArgSpec {
    /// A compile-time value: a `tl.constexpr` parameter, `None`, an integer specialised because it is 1.
    Constant(Value),
    /// A number or a pointer.
    Scalar(Elem, Specialized),
    /// A tensor descriptor made by the host; its rank is the block's.
    Descriptor(Shape, Dtype),
    /// A tuple of arguments.
    Tuple(Vec<ArgSpec>),
}

/// What to compile.
#[derive(Debug, Clone)]
pub struct Request {
    /// The function's name, as it stands at module level.
    pub kernel: String,
    /// Parameters by name; those left out take their default, else what heuristics and the first configuration of
    /// `@triton.autotune` say.
    pub args: Vec<(String, ArgSpec)>,
    /// What to compile for.
    pub options: Options,
}

/// A compiled kernel.
#[derive(Debug)]
pub struct Compiled {
    /// One public function, the kernel; private ones where a helper could not be inlined. To be verified.
    pub module: Module,
    /// What the author should know: choices of autotune and heuristics, text of `static_print`, warnings.
    pub notes: Vec<String>,
    /// Constants of all `tl.constexpr` parameters, as they were compiled in.
    pub constants: Vec<(String, Value)>,
    /// Options as configurations and the request left them.
    pub options: Options,
}

/// Compiles a kernel of a file.
///
/// # Errors
/// Everything that is wrong with it, each error at its place.
pub fn compile(
    program: &Program<'_>,
    module: ModuleId,
    request: &Request,
) -> Result<Compiled, Vec<Box<Error>>> {
    crate::eval::compile(program, module, request)
}
