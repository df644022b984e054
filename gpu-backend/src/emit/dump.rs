//! Dumps: what chosen operations of one program gave, each time that they were executed ([`crate::dump`]).
//!
//! This is the one place where a value is dumped: right behind its operation, from wherever it is held. The numbers stay those of a build
//! without dumps as far as the compiler lets them: a product that is dumped may not be fused with the sum that it goes into.
//! Left out, and marked so: descriptors; what is inside of a reduce, a scan or a map.

use tilescope_diagnostics::Result;
use tilescope_ir::{Def, Function, OpId, ValueId};

use super::tile::Bound;
use super::{Emitter, print};
use crate::checked::PlaceKind;
use crate::prints::operand_bytes;

impl Emitter<'_> {
    /// True if an operation's results are asked for.
    fn is_dumped(&self, op: OpId) -> bool {
        let scope = &self.scopes[self.scopes.len() - 1];
        self.dump.is_some_and(|dump| dump.ops.contains(&(scope.id, op)))
    }

    /// True for values that are dumped, which must be held until then.
    pub(super) fn is_kept(&self, value: ValueId) -> bool {
        let scope = &self.scopes[self.scopes.len() - 1];
        match self.module.funcs[scope.id].values[value].def {
            Def::Result(op, _) => self.is_dumped(op),
            Def::Arg(..) => false,
        }
    }
}

/// After an operation: its results as a line of the dump, if they are asked for.
pub fn dump(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    if e.in_lambda || !e.is_dumped(op) {
        return Ok(());
    }
    let results = &function.ops[op].results;
    let is_held = |e: &Emitter<'_>, value: ValueId| {
        let scope = &e.scopes[e.scopes.len() - 1];
        let bound = scope.values.get(&value);
        function.ty(value).elem().is_some() && matches!(bound, Some(Bound::Scalar(_) | Bound::Tile(_)))
    };
    let mut kept = Vec::new();
    let (mut held, mut bytes) = (0u32, 0);
    for (i, &value) in results.iter().enumerate().take(32) {
        if is_held(e, value) {
            held |= 1 << i;
            kept.push((value, bytes));
            bytes += operand_bytes(function, value).0;
        }
    }
    if kept.is_empty() {
        return Ok(());
    }
    let Some((place, _)) = e.place(op, PlaceKind::Dump { held }, 0) else {
        return Ok(());
    };
    e.flush();
    e.open("if (dump.on) {");
    e.line(format!(
        "unsigned char* const line = ts::dump_line(dump, {place}u, {bytes}u);"
    ));
    for (value, offset) in kept {
        print::lanes(e, function, value, offset)?;
    }
    e.close("}");
    Ok(())
}
