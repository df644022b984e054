//! Family reduce.

use crate::lower::Lower;
use tilescope_diagnostics::Result;
use tilescope_ir::{Function, OpId};

/// `reduce`.
pub fn reduce(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `scan`.
pub fn scan(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `map_elementwise`.
pub fn map_elementwise(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `region_return`.
pub fn region_return(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `histogram`.
pub fn histogram(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}
