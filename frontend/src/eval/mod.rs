//! Statements and expressions.

mod host;

use tilescope_diagnostics::Error;

use crate::request::{Compiled, Request};
use crate::source::{ModuleId, Program};

pub(crate) fn compile(
    _program: &Program<'_>,
    _module: ModuleId,
    request: &Request,
) -> Result<Compiled, Vec<Box<Error>>> {
    Err(vec![Error::unsupported(format!(
        "cannot compile `{}`",
        request.kernel
    ))])
}
