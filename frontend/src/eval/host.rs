//! Python that runs at compile time: what stands at the top level of files, heuristics, configurations, functions
//! without `@triton.jit`.

use std::collections::HashMap;

use crate::ast::{Expr, Name, Stmt};
use crate::cx::{Cx, Result};
use crate::source::{Global, ModuleId};

impl Cx<'_> {
    /// Runs a statement at the top level of a file; gives the names that it binds.
    pub(crate) fn run_entry(
        &mut self,
        _module: ModuleId,
        _index: u32,
        _stmt: &Stmt,
    ) -> Result<HashMap<Name, Global>> {
        Ok(HashMap::new())
    }

    /// Whether a condition at the top level holds, if it can be said.
    pub(crate) fn condition_at(&mut self, _module: ModuleId, _index: u32, _condition: &Expr) -> Option<bool> {
        None
    }

    /// Calls a function that runs at compile time.
    ///
    /// # Errors
    /// Arguments that do not bind, and what is wrong inside.
    pub(crate) fn call_host(
        &mut self,
        function: &std::rc::Rc<crate::value::Function>,
        _args: crate::cx::Args,
    ) -> Result<crate::value::Value> {
        let name = &function.def.ident.name;
        Err(self.unsupported(format!(
            "`{name}`, a function without `@triton.jit`, is not supported"
        )))
    }
}
