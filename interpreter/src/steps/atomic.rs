//! Family atomic.

use crate::lower::Lower;
use tilescope_diagnostics::Result;
use tilescope_ir::{Function, OpId};

/// `atomic_rmw`.
pub fn atomic_rmw(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `atomic_cas`.
pub fn atomic_cas(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `atomic_load`.
pub fn atomic_load(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `atomic_store`.
pub fn atomic_store(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}

/// `atomic_poll`.
pub fn atomic_poll(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(lower.unsupported(function, op, format!("{} is not run yet", function.ops[op].code)))
}
