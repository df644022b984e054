//! Kernels that are defined inside of functions: `def make(): … @triton.jit def kernel(…): …`.
//!
//! Such a kernel sees the variables of the functions around it. They are evaluated as far as they can be: the
//! arguments of these functions have their defaults or are opaque, statements that fail leave the names opaque that
//! they bind, and of an `if` around the kernel its branch is taken.

use std::rc::Rc;

use super::{EVERYTHING, EntryKind, ModuleId, Program, bound_by};
use crate::ast::{FunctionDef, Name, Param, Stmt, StmtKind};
use crate::cx::{Cx, Result};
use crate::value::{Function, FunctionKind, Value};

/// Deepest nesting of functions that is looked into.
const MAX_FUNCTIONS: usize = 4;

/// A function inside of others.
struct Nested {
    /// The functions around it, outermost first.
    outer: Vec<Rc<FunctionDef>>,
    def: Rc<FunctionDef>,
}

impl Program<'_> {
    /// Functions with `@triton.jit` that are defined inside of other functions, in order.
    pub(super) fn nested_kernels(&self, module: ModuleId) -> Vec<Rc<FunctionDef>> {
        let nested = self.nested(module).into_iter();
        nested
            .map(|n| n.def)
            .filter(|def| self.is_jit(module, def))
            .collect()
    }

    fn is_jit(&self, module: ModuleId, def: &FunctionDef) -> bool {
        matches!(self.function_kind(module, def), Ok(FunctionKind::Jit { .. }))
    }

    fn nested(&self, module: ModuleId) -> Vec<Nested> {
        let mut found = Vec::new();
        let Some(file) = self.file(module) else {
            return found;
        };
        for entry in &file.index.entries {
            match &entry.kind {
                EntryKind::Function(def) => inside(def, &mut Vec::new(), &mut found),
                EntryKind::Class(class) => {
                    for stmt in &class.body {
                        if let StmtKind::Function(def) = &stmt.kind {
                            inside(def, &mut Vec::new(), &mut found);
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }
}

fn inside(outer: &Rc<FunctionDef>, around: &mut Vec<Rc<FunctionDef>>, found: &mut Vec<Nested>) {
    if around.len() >= MAX_FUNCTIONS {
        return;
    }
    around.push(outer.clone());
    functions_in(&outer.body, &mut |def| {
        found.push(Nested {
            outer: around.clone(),
            def: def.clone(),
        });
        inside(def, around, found);
    });
    around.pop();
}

/// Functions defined by statements, under conditions too, but not in other functions.
fn functions_in(body: &[Stmt], see: &mut dyn FnMut(&Rc<FunctionDef>)) {
    for stmt in body {
        if let StmtKind::Function(def) = &stmt.kind {
            see(def);
        }
        for body in blocks(stmt) {
            functions_in(body, see);
        }
    }
}

/// The blocks of a compound statement.
fn blocks(stmt: &Stmt) -> Vec<&[Stmt]> {
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
        StmtKind::For { body, otherwise, .. } | StmtKind::While { body, otherwise, .. } => {
            vec![body, otherwise]
        }
        StmtKind::With { body, .. } => vec![body],
        StmtKind::Try {
            body,
            handlers,
            otherwise,
            finally,
        } => {
            let mut blocks: Vec<&[Stmt]> = vec![body];
            blocks.extend(handlers.iter().map(Vec::as_slice));
            blocks.extend([otherwise.as_slice(), finally.as_slice()]);
            blocks
        }
        _ => Vec::new(),
    }
}

fn contains(body: &[Stmt], def: &Rc<FunctionDef>) -> bool {
    let mut found = false;
    functions_in(body, &mut |other| found = found || Rc::ptr_eq(other, def));
    found
}

impl Cx<'_> {
    /// The kernel with this name inside of a function of the file; the first one of several.
    pub(crate) fn nested_kernel(&mut self, module: ModuleId, name: &str) -> Option<Rc<Function>> {
        let nested = self.program.nested(module).into_iter();
        let nested =
            { nested }.find(|n| &*n.def.ident.name == name && self.program.is_jit(module, &n.def))?;
        let mut captured: Vec<(Name, Value)> = Vec::new();
        for (at, outer) in nested.outer.iter().enumerate() {
            let inner = nested.outer.get(at + 1).unwrap_or(&nested.def);
            captured = self.variables_around(module, outer, inner, captured);
        }
        match self.program.function_kind(module, &nested.def) {
            Ok(kind) => Some(Rc::new(Function {
                def: nested.def,
                module,
                kind,
                class: None,
                captured,
            })),
            Err(_) => None,
        }
    }

    /// What `inner` sees of the variables of `outer`, which sees `captured`.
    fn variables_around(
        &mut self,
        module: ModuleId,
        outer: &Rc<FunctionDef>,
        inner: &Rc<FunctionDef>,
        captured: Vec<(Name, Value)>,
    ) -> Vec<(Name, Value)> {
        let errors = self.errors.len();
        let made = self.at_top_level(module, EVERYTHING, |cx| {
            cx.scope.captured = captured;
            let params = &outer.params;
            let rest = [&params.vararg, &params.kwarg].into_iter().flatten();
            let all: Vec<&Param> = params
                .positional
                .iter()
                .chain(&params.keyword_only)
                .chain(rest)
                .collect();
            for param in all {
                let default = param.default.as_ref().and_then(|default| cx.expr(default).ok());
                let value = default.unwrap_or_else(|| {
                    let (param, outer) = (&param.ident.name, &outer.ident.name);
                    Value::Opaque(format!("`{param}` is an argument of `{outer}`").into())
                });
                cx.scope.locals.set(&param.ident.name, value);
            }
            cx.run_around(&outer.body, inner);
            Ok(cx.visible_to(inner))
        });
        self.errors.truncate(errors);
        made.unwrap_or_default()
    }

    /// Runs statements as far as they can be run, into the blocks that `inner` stands in.
    fn run_around(&mut self, body: &[Stmt], inner: &Rc<FunctionDef>) {
        for stmt in body {
            let around = blocks(stmt).into_iter().find(|block| contains(block, inner));
            if let Some(block) = around {
                self.run_around(block, inner);
                continue;
            }
            let failed: Result<_> = self.host_block(std::slice::from_ref(stmt));
            if let Err(error) = failed {
                let mut names = Vec::new();
                bound_by(stmt, &mut names);
                for name in names {
                    let why = Value::Opaque(error.message.as_str().into());
                    self.scope.locals.set(&name, why);
                }
            }
        }
    }
}
