//! What a kernel can name: the tables of `triton.language` and of the few Python and library functions around it.
//!
//! One row per function: its name, its parameters as Python writes them, a line on what it does, and the
//! function that lowers it. Adding one is adding a row.

use crate::cx::{Args, Cx, Result};
use crate::value::Value;

/// A row of a table.
pub struct Builtin {
    /// Its name, without the module.
    pub name: &'static str,
    /// Its parameters as Python writes them: `"input, axis=None, keep_dims=False, *, dtype=None"`.
    pub params: &'static str,
    /// One line on what it does.
    pub doc: &'static str,
    /// Also a method of tensors, with `self` as its first argument.
    pub method: bool,
    /// Makes the value; the arguments are bound to `params` in order, defaults filled in.
    pub lower: fn(&mut Cx<'_>, &Bound) -> Result<Value>,
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<builtin {}>", self.name)
    }
}

/// Arguments bound to a builtin's parameters.
#[derive(Debug)]
pub struct Bound {
    /// One per parameter, in the order of [`Builtin::params`]; `*args` is a tuple.
    pub values: Vec<Value>,
}

/// What `module.name` is in a library that we know (`module` dotted: `triton.language.math`).
pub fn attribute(_module: &str, _name: &str) -> Option<Value> {
    None
}

/// The method of tensors with this name.
pub fn method(_name: &str) -> Option<&'static Builtin> {
    None
}

impl Cx<'_> {
    /// Calls a builtin.
    ///
    /// # Errors
    /// Arguments that do not bind, and what the builtin refuses.
    pub fn call_builtin(&mut self, builtin: &'static Builtin, _args: Args) -> Result<Value> {
        Err(self.unsupported(format!("`{}` is not supported by this version", builtin.name)))
    }
}
