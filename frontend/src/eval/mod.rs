//! Statements and expressions.

mod host;

use std::rc::Rc;

use tilescope_diagnostics::Error;

use crate::ast::Expr;
use crate::cx::{Args, Cx, Result};
use crate::request::{Compiled as CompiledKernel, Request};
use crate::source::{ModuleId, Program};
use crate::value::Value;

/// A helper that was compiled to a function of its own.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    /// Its name in the module.
    pub symbol: Rc<str>,
    /// Its result, made of values of its own body.
    pub result: Value,
}

/// Where the lines of a file start.
#[derive(Debug, Clone)]
pub(crate) struct LineIndex {
    /// The path as locations write it.
    pub file: std::sync::Arc<str>,
    /// First byte of each line.
    pub starts: Rc<[u32]>,
}

pub(crate) fn compile(
    _program: &Program<'_>,
    _module: ModuleId,
    request: &Request,
) -> Result<CompiledKernel, Vec<Box<Error>>> {
    Err(vec![Error::unsupported(format!(
        "cannot compile `{}`",
        request.kernel
    ))])
}

impl Cx<'_> {
    /// Evaluates an expression in the current scope.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn expr(&mut self, _expr: &Expr) -> Result<Value> {
        Err(self.unsupported("expressions"))
    }

    /// Calls a function, a method, a builtin, a class with values.
    ///
    /// # Errors
    /// Arguments that do not bind, and what is wrong inside.
    pub fn call(&mut self, _function: &Value, _args: Args) -> Result<Value> {
        Err(self.unsupported("calls"))
    }
}
