//! Family math.

use crate::lower::Lower;
use tilescope_diagnostics::Result;
use tilescope_ir::{Function, OpId};

/// `extern_elementwise`.
pub fn extern_elementwise(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `inline_asm`.
pub fn inline_asm(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}
