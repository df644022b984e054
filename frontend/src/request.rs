//! What is asked of a compilation, and what comes back.

use tilescope_diagnostics::Error;
use tilescope_ir::{Module, Shape};

use crate::Options;
use crate::ast::Name;
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
    /// A compile-time value: what this name is at the top level of the kernel's file (`fn:NAME` of a launch file).
    Global(Name),
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
    /// What host code (heuristics, the pruning of configurations) sees of the arguments' values, by name: see
    /// [`Given::host`](crate::specialize::Given::host). Empty where no values are known.
    pub host: Vec<(String, Value)>,
    /// Compute capability, see [`Options::capability`].
    pub capability: u32,
    /// Warps of a program, where the launch says so: else a configuration's, else 4.
    pub num_warps: Option<u32>,
    /// Stages of software pipelining, where the launch says so: else a configuration's, else 3.
    pub num_stages: Option<u32>,
}

/// A compiled kernel.
#[derive(Debug)]
pub struct Compiled {
    /// One public function, the kernel; private ones where a helper could not be inlined. To be verified.
    pub module: Module,
    /// What the author should know: choices of autotune and heuristics, text of `static_print`, warnings.
    pub notes: Vec<String>,
    /// All parameters that are constants, as they were compiled in: `tl.constexpr` ones and specialised ones.
    pub constants: Vec<(String, Value)>,
    /// Run-time parameters that the request left out, with their defaults: to be passed when it is launched.
    pub defaults: Vec<(String, Value)>,
    /// Options as the request and configurations left them.
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
