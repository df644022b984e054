//! What a kernel can name: the tables of `triton.language` and of the few library functions around it.
//!
//! One row per function: its name, its parameters as Python writes them, a line on what it does, and the
//! function that lowers it, a plain Rust function with one typed argument per parameter ([`args`]). Adding a
//! function is adding a row; a row whose function takes another number of arguments than it has parameters does
//! not compile.
//!
//! The names are those that Triton 3.2 to 3.9 gave to the public, and those private ones that kernels use. What
//! is left out is refused by name: extensions of other vendors' forks, `gluon`.

use crate::cx::{Args, Cx, Result};
use crate::value::Value;

pub mod args;
mod attributes;
mod bind;
mod core;
mod describe;
mod dot;
mod hints;
mod iterate;
mod libdevice;
mod libdevice_table;
mod library;
mod math;
mod memory;
mod modules;
mod operate;
pub mod python;
mod ragged;
mod random;
mod reduce;
pub(crate) mod slips;
mod sort;
mod target;
#[cfg(test)]
mod tests;
mod triton;
mod types;

pub use bind::Bound;
pub(crate) use bind::Signature;
pub use modules::{attribute, exists, is_module, method, names, rows};

/// A row of a table.
pub struct Builtin {
    /// The module that it is documented in: `triton.language.math`.
    pub module: &'static str,
    /// Its name, without the module.
    pub name: &'static str,
    /// Its parameters as Python writes them: `"input, axis=None, keep_dims=False, *, dtype=None"`.
    pub params: &'static str,
    /// One line on what it does.
    pub doc: &'static str,
    /// What kind of thing it is.
    pub kind: Kind,
    /// Makes the value; the arguments are bound to `params` in order, defaults filled in.
    pub lower: fn(&mut Cx<'_>, &Bound) -> Result<Value>,
}

/// What kind of thing a row names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A function.
    Function,
    /// A function that is also a method of tensors, with `self` as its first argument.
    Method,
    /// A method of tensor descriptors.
    DescriptorMethod,
    /// A method of types.
    TypeMethod,
    /// A class: callable, an annotation, a second argument of `isinstance`.
    Class,
    /// A decorator or another function of host code; source and eval know it by its name.
    Host,
    /// A member of an enumeration.
    Member,
}

impl Builtin {
    /// Its name as kernels write it: `tl.math.exp`, `triton.cdiv`.
    pub fn path(&self) -> String {
        if matches!(self.module, "builtins" | "host") {
            return self.name.to_string();
        }
        match self.module.strip_prefix("triton.language") {
            Some("") if self.kind == Kind::DescriptorMethod => format!("descriptor.{}", self.name),
            Some(rest) => format!("tl{rest}.{}", self.name),
            None => format!("{}.{}", self.module, self.name),
        }
    }

    /// Whether it is the row of this module and name.
    pub fn is(&self, module: &str, name: &str) -> bool {
        // Names differ more often than modules.
        self.name == name && self.module == module
    }
}

/// Rows are equal when they are the same row.
impl PartialEq for Builtin {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.module, other.name) && self.kind == other.kind
    }
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<builtin {}>", self.path())
    }
}

/// Declares the table of a module:
/// `Method "sum" "input, axis=None" => sum, "The sum along an axis.";`
macro_rules! builtins {
    ($table:ident in $module:literal; $($kind:ident $name:literal $params:literal => $f:expr, $doc:literal;)*) => {
        pub(super) static $table: &[$crate::language::Builtin] = &[$($crate::language::Builtin {
            module: $module,
            name: $name,
            params: $params,
            doc: $doc,
            kind: $crate::language::Kind::$kind,
            lower: {
                const {
                    let parameters = $crate::language::args::parameters($params);
                    assert!(parameters == $crate::language::args::arity(&$f), $name);
                }
                |cx, args| args.call(cx, $f)
            },
        },)*];
    };
}
use builtins;

/// Declares rows of one module that share a function, which tells them apart by [`Bound::builtin`].
macro_rules! raw_builtins {
    ($table:ident in $module:literal, $kind:ident, $lower:expr; $($name:literal $params:literal, $doc:literal;)*) => {
        pub(super) static $table: &[$crate::language::Builtin] = &[$($crate::language::Builtin {
            module: $module,
            name: $name,
            params: $params,
            doc: $doc,
            kind: $crate::language::Kind::$kind,
            lower: $lower,
        },)*];
    };
}
use raw_builtins;

impl Cx<'_> {
    /// Calls a builtin.
    ///
    /// # Errors
    /// Arguments that do not bind, and what the builtin refuses.
    pub fn call_builtin(&mut self, builtin: &'static Builtin, args: Args) -> Result<Value> {
        let bound = self.bind(builtin, args)?;
        (builtin.lower)(self, &bound)
    }
}
