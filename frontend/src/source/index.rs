//! What a file binds at its top level, without evaluating anything.
//!
//! Statements under `if`, `try` and `with` are listed as if they stood at the top level, each with its [`Guard`];
//! loops stay whole.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::globals::Decision;
use crate::ast::{Alias, ClassDef, Expr, ExprKind, FunctionDef, Name, Span, Stmt, StmtKind};

/// The top level of a file.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Statements that bind something, in the order of execution.
    pub entries: Vec<Entry>,
    /// For each name the entries that bind or change it, rising.
    pub names: HashMap<Name, Vec<u32>>,
    /// Entries of `from module import *`.
    pub stars: Vec<u32>,
}

/// A statement at the top level.
#[derive(Debug)]
pub(crate) struct Entry {
    pub span: Span,
    /// Under which conditions it runs.
    pub guard: Option<Rc<Guard>>,
    pub kind: EntryKind,
}

/// What it does.
#[derive(Debug)]
pub(crate) enum EntryKind {
    Function(Rc<FunctionDef>),
    Class(Rc<ClassDef>),
    /// `import a.b`, `import a.b as c`.
    Import(Alias),
    /// `from module import a as b`; the name of `*` for all.
    From {
        module: Rc<str>,
        level: u32,
        alias: Alias,
    },
    /// An assignment, an expression that may change a list, a loop, …: run by the host evaluator.
    Run(Stmt),
}

/// A condition that a statement at the top level is under.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The condition that this one is under.
    pub outer: Option<Rc<Guard>>,
    pub kind: GuardKind,
}

#[derive(Debug)]
pub(crate) enum GuardKind {
    /// `if condition:` (true) or its `else` (false).
    If(Rc<Choice>, bool),
    /// The body of a `try` with handlers, or its `else`.
    Try(Rc<Attempt>),
    /// A handler of it.
    Handler(Rc<Attempt>),
}

/// An `if`.
#[derive(Debug)]
pub(crate) struct Choice {
    pub condition: Expr,
    /// The entries of both branches: the first, and one past the last.
    pub entries: Cell<(u32, u32)>,
    /// Which branch is taken, once it was asked for.
    pub decided: Cell<Decision>,
    /// Why it cannot be said, if it cannot.
    pub why: OnceCell<Rc<str>>,
}

/// A `try`.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// What its body imports: the body is taken to succeed if all of it is found.
    pub imports: Vec<(Rc<str>, u32, Option<Name>)>,
    /// The body raises, whatever else it does.
    pub raises: bool,
    /// Whether the body succeeds, once it was asked for.
    pub succeeds: Cell<Option<bool>>,
}

impl Index {
    pub(super) fn new(body: Vec<Stmt>) -> Index {
        let mut index = Index::default();
        index.body(body, None);
        index
    }

    fn body(&mut self, body: Vec<Stmt>, guard: Option<&Rc<Guard>>) {
        for stmt in body {
            self.stmt(stmt, guard);
        }
    }

    fn stmt(&mut self, stmt: Stmt, guard: Option<&Rc<Guard>>) {
        let span = stmt.span;
        match stmt.kind {
            StmtKind::Function(def) => {
                let name = def.ident.name.clone();
                self.add(span, guard, EntryKind::Function(def), [name]);
            }
            StmtKind::Class(class) => {
                let name = class.ident.name.clone();
                self.add(span, guard, EntryKind::Class(class), [name]);
            }
            StmtKind::Import(aliases) => {
                for alias in aliases {
                    let name = match &alias.asname {
                        Some(name) => name.name.clone(),
                        None => alias.name.name.split('.').next().unwrap_or_default().into(),
                    };
                    self.add(span, guard, EntryKind::Import(alias), [name]);
                }
            }
            StmtKind::ImportFrom { module, level, names } => {
                for alias in names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name).name.clone();
                    let star = &*name == "*";
                    let module = module.clone();
                    let entry = self.entries.len() as u32;
                    let names = if star { Vec::new() } else { vec![name] };
                    self.add(span, guard, EntryKind::From { module, level, alias }, names);
                    if star {
                        self.stars.push(entry);
                    }
                }
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => self.branches(condition, then, otherwise, guard),
            StmtKind::With { body, .. } => self.body(body, guard),
            StmtKind::Try {
                body,
                handlers,
                otherwise,
                finally,
            } => {
                let mut attempt = Attempt {
                    imports: Vec::new(),
                    raises: false,
                    succeeds: Cell::default(),
                };
                attempt.look(&body);
                let attempt = Rc::new(attempt);
                let under = |kind| {
                    Rc::new(Guard {
                        outer: guard.cloned(),
                        kind,
                    })
                };
                let success = under(GuardKind::Try(attempt.clone()));
                let failure = under(GuardKind::Handler(attempt));
                self.body(body, Some(&success));
                for handler in handlers {
                    self.body(handler, Some(&failure));
                }
                self.body(otherwise, Some(&success));
                self.body(finally, guard);
            }
            kind => {
                let stmt = Stmt { span, kind };
                let mut names = Vec::new();
                bound_by(&stmt, &mut names);
                if !names.is_empty() {
                    self.add(span, guard, EntryKind::Run(stmt), names);
                }
            }
        }
    }

    fn branches(
        &mut self,
        condition: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
        guard: Option<&Rc<Guard>>,
    ) {
        let choice = Rc::new(Choice {
            condition,
            entries: Cell::new((self.entries.len() as u32, u32::MAX)),
            decided: Cell::default(),
            why: OnceCell::new(),
        });
        for (body, taken) in [(then, true), (otherwise, false)] {
            let guard = Rc::new(Guard {
                outer: guard.cloned(),
                kind: GuardKind::If(choice.clone(), taken),
            });
            self.body(body, Some(&guard));
        }
        let (first, _) = choice.entries.get();
        choice.entries.set((first, self.entries.len() as u32));
    }

    fn add(
        &mut self,
        span: Span,
        guard: Option<&Rc<Guard>>,
        kind: EntryKind,
        names: impl IntoIterator<Item = Name>,
    ) {
        let entry = self.entries.len() as u32;
        for name in names {
            let entries = self.names.entry(name).or_default();
            if entries.last() != Some(&entry) {
                entries.push(entry);
            }
        }
        self.entries.push(Entry {
            span,
            guard: guard.cloned(),
            kind,
        });
    }
}

impl Attempt {
    /// Notes what statements import, and whether they raise at once.
    fn look(&mut self, body: &[Stmt]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Import(aliases) => {
                    for alias in aliases {
                        self.imports.push((alias.name.name.clone(), 0, None));
                    }
                }
                StmtKind::ImportFrom { module, level, names } => {
                    for alias in names {
                        let name = Some(alias.name.name.clone()).filter(|n| &**n != "*");
                        self.imports.push((module.clone(), *level, name));
                    }
                }
                StmtKind::Raise(_) => self.raises = true,
                _ => {}
            }
        }
    }
}

/// The names that a statement binds or changes: targets, and lists on which a method is called (`configs.append(…)`).
pub(crate) fn bound_by(stmt: &Stmt, names: &mut Vec<Name>) {
    match &stmt.kind {
        StmtKind::Expr(expr) => {
            if let ExprKind::Call(call) = &expr.kind
                && let ExprKind::Attribute(of, _) = &call.function.kind
                && let ExprKind::Name(name) = &of.kind
            {
                names.push(name.clone());
            }
        }
        StmtKind::Assign { targets, .. } => targets.iter().for_each(|t| targets_of(t, names)),
        StmtKind::AugAssign { target, .. } => targets_of(target, names),
        StmtKind::AnnAssign {
            target,
            value: Some(_),
            ..
        } => targets_of(target, names),
        StmtKind::For {
            target,
            body,
            otherwise,
            ..
        } => {
            targets_of(target, names);
            body.iter().chain(otherwise).for_each(|s| bound_by(s, names));
        }
        StmtKind::While { body, otherwise, .. } => {
            body.iter().chain(otherwise).for_each(|s| bound_by(s, names));
        }
        StmtKind::If { then, otherwise, .. } => {
            then.iter().chain(otherwise).for_each(|s| bound_by(s, names));
        }
        StmtKind::With { body, .. } => body.iter().for_each(|s| bound_by(s, names)),
        StmtKind::Try {
            body,
            handlers,
            otherwise,
            finally,
        } => {
            let all = body
                .iter()
                .chain(handlers.iter().flatten())
                .chain(otherwise)
                .chain(finally);
            all.for_each(|s| bound_by(s, names));
        }
        StmtKind::Function(def) => names.push(def.ident.name.clone()),
        StmtKind::Class(class) => names.push(class.ident.name.clone()),
        StmtKind::Import(aliases) | StmtKind::ImportFrom { names: aliases, .. } => {
            for alias in aliases {
                names.push(alias.asname.as_ref().unwrap_or(&alias.name).name.clone());
            }
        }
        _ => {}
    }
}

/// The names that an assignment to `target` binds or changes.
fn targets_of(target: &Expr, names: &mut Vec<Name>) {
    match &target.kind {
        ExprKind::Name(name) => names.push(name.clone()),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|t| targets_of(t, names)),
        ExprKind::Starred(inner) => targets_of(inner, names),
        // `table[key] = value`, `config.x = value` change what the name stands for.
        ExprKind::Subscript(of, _) | ExprKind::Attribute(of, _) => targets_of(of, names),
        _ => {}
    }
}
