//! What can be said of a kernel from its text alone, before it has arguments: what its parameters are for.
//!
//! Nothing is evaluated. What comes out is a guess, made for a person to correct.

mod flow;
mod guess;
mod walk;

pub use guess::{Guess, GuessedValue, LaunchGuess, guess};

use std::collections::BTreeSet;

use crate::ast::{ExprKind, FunctionDef, Name, Stmt, StmtKind};
use crate::source::{ModuleId, Program};

/// The kernels of a file that only others call: those that another one mentions, and those that give a value.
pub fn helpers(program: &Program<'_>, module: ModuleId) -> BTreeSet<Name> {
    let kernels = program.kernels(module);
    let mut helpers = BTreeSet::new();
    for kernel in &kernels {
        if gives_a_value(&kernel.def.body) {
            helpers.insert(kernel.name.clone());
        }
        helpers.extend(
            mentioned(&kernel.def)
                .filter(|name| *name != kernel.name && kernels.iter().any(|other| other.name == *name)),
        );
    }
    helpers
}

/// Names that the body of a function reads.
fn mentioned(def: &FunctionDef) -> impl Iterator<Item = Name> {
    let mut names = BTreeSet::new();
    walk::statements(&def.body, &mut |expr| {
        if let ExprKind::Name(name) = &expr.kind {
            names.insert(name.clone());
        }
    });
    names.into_iter()
}

fn gives_a_value(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| {
        let value = match &stmt.kind {
            StmtKind::Return(Some(value)) => !matches!(value.kind, ExprKind::None),
            _ => false,
        };
        value || walk::blocks(stmt).into_iter().any(gives_a_value)
    })
}
