//! Family dot.

use crate::lower::Lower;
use tilescope_diagnostics::Result;
use tilescope_ir::{Function, OpId};

/// `dot`.
pub fn dot(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `dot_scaled`.
pub fn dot_scaled(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}
