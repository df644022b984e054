//! Names at the top level of files, evaluated when they are first used.
//!
//! What a name stands for depends on where it is read: a function sees what the whole file leaves, a statement at
//! the top level what stands before it. Conditions are evaluated; of one that cannot be (it asks for the machine, an
//! installed package, the environment), the branch that binds the name is taken, the first one if both do. The
//! body of a `try` counts if all its imports are found, else its handlers do. A value that cannot be evaluated is
//! [`Value::Opaque`]: only a kernel that uses it is refused.

use std::collections::HashMap;
use std::rc::Rc;

use super::imports::{Found, usual};
use super::index::{Choice, Entry, EntryKind, Guard, GuardKind};
use super::{File, ModuleId, Path};
use crate::ast::{Expr, ExprKind, FunctionDef, Name};
use crate::cx::{Cx, Place, Result};
use crate::limits;
use crate::value::{ClassKind, Function, FunctionKind, Module, Value};

/// How the reason ends for what comes from a file that is not there.
pub(crate) const NOT_FOUND: &str = "which it comes from, is not found";

/// How the reason ends for a name of a library that is not known here.
pub(crate) const UNKNOWN_NAME: &str = "` is not known to this version of tilescope";

/// How the reason ends for what is being evaluated when it is asked for.
const BY_ITSELF: &str = "is defined by itself";

/// What a name at the top level of a file stands for.
#[derive(Debug, Clone)]
pub struct Global {
    /// Its value.
    pub value: Value,
    /// It was made by `tl.constexpr(…)`, or annotated so.
    pub constexpr: bool,
}

impl Global {
    /// Whether a kernel may read it as a global variable: Triton lets kernels see modules, functions with
    /// `@triton.jit` or `@triton.constexpr_function`, what `triton.language` offers, aggregates, named tuples, and
    /// constants made by `tl.constexpr`; no other.
    pub fn kernels_may_read(&self) -> bool {
        self.constexpr
            || match &self.value {
                Value::Module(_) | Value::Builtin(_) | Value::Type(_) => true,
                Value::Function(function) => function.kind != FunctionKind::Host,
                Value::Class(class) => class.kind != ClassKind::Plain,
                Value::Tuple(tuple) => tuple.class.is_some(),
                // Why it is not known is the better message.
                Value::Opaque(_) | Value::Error => true,
                _ => false,
            }
    }

    fn plain(value: Value) -> Global {
        Global {
            value,
            constexpr: false,
        }
    }

    fn opaque(why: String) -> Global {
        Global::plain(Value::Opaque(why.into()))
    }
}

/// What an entry of a file's index left in the names that it binds.
#[derive(Debug, Clone)]
pub(crate) enum Memo {
    /// It is being evaluated.
    Busy,
    Done(HashMap<Name, Global>),
}

/// The position after all entries of a file.
pub(crate) const EVERYTHING: u32 = u32::MAX;

impl Cx<'_> {
    /// What a name at the top level of a file stands for, seen from where the evaluation is: from a function what the
    /// whole file leaves, at the top level what stands before; none if the file does not bind it.
    ///
    /// # Errors
    /// An imported file that is not Python or cannot be read.
    pub fn global(&mut self, module: ModuleId, name: &str) -> Result<Option<Global>> {
        let limit = if module == self.scope.module {
            self.scope.before
        } else {
            EVERYTHING
        };
        self.global_before(module, name, limit)
    }

    /// What `module.name` is.
    ///
    /// # Errors
    /// As [`Cx::global`].
    pub fn module_attribute(&mut self, module: &Module, name: &str) -> Result<Option<Global>> {
        match module {
            Module::Known(library) => Ok(crate::language::attribute(library, name).map(Global::plain)),
            Module::File(id) => {
                if let Some(global) = self.global(*id, name)? {
                    return Ok(Some(global));
                }
                let submodule = self.program.submodule(*id, name)?;
                Ok(submodule.map(|id| Global::plain(Value::Module(Module::File(id)))))
            }
        }
    }

    /// What a name stands for before the entry `limit` of the file's index.
    pub(crate) fn global_before(
        &mut self,
        module: ModuleId,
        name: &str,
        limit: u32,
    ) -> Result<Option<Global>> {
        let Some(file) = self.program.file(module) else {
            return Ok(None);
        };
        for entry in file.index.names.get(name).into_iter().flatten().rev() {
            let index = *entry;
            let Some(entry) = file.index.entries.get(index as usize) else {
                continue;
            };
            if index >= limit || !self.holds(module, &file, entry.guard.as_deref(), name)? {
                continue;
            }
            if let Some(global) = self.entry_value(module, &file, index, entry, name)? {
                return Ok(Some(global));
            }
        }
        match name {
            // No file is run as the main program.
            "__name__" => return Ok(Some(Global::plain(Value::str(module_name(&file.path))))),
            "__file__" => return Ok(Some(Global::plain(Value::str(&file.path)))),
            _ => {}
        }
        for star in file.index.stars.iter().rev() {
            let Some(entry) = file.index.entries.get(*star as usize) else {
                continue;
            };
            let EntryKind::From {
                module: from, level, ..
            } = &entry.kind
            else {
                continue;
            };
            if *star >= limit || !self.holds(module, &file, entry.guard.as_deref(), name)? {
                continue;
            }
            let from = match self.program.find_module(module, from, *level)? {
                Found::Library(library) => Module::Known(library),
                // A file that imports itself this way has nothing to give.
                Found::File(id) if id != module => Module::File(id),
                _ => continue,
            };
            if let Some(Some(global)) = self.deeper(|cx| cx.module_attribute(&from, name)).transpose()? {
                return Ok(Some(global));
            }
        }
        Ok(None)
    }

    /// The value that an entry leaves in `name`.
    fn entry_value(
        &mut self,
        module: ModuleId,
        file: &Rc<File>,
        index: u32,
        entry: &Entry,
        name: &str,
    ) -> Result<Option<Global>> {
        if let Some(memo) = file.memo.borrow().get(&index) {
            return Ok(match memo {
                Memo::Busy => Some(Global::opaque(format!("`{name}` {BY_ITSELF}"))),
                Memo::Done(values) => values.get(name).cloned(),
            });
        }
        file.memo.borrow_mut().insert(index, Memo::Busy);
        let place = std::mem::replace(
            &mut self.place,
            Place {
                module,
                span: entry.span,
            },
        );
        let values = self.evaluate_entry(module, index, entry, name);
        self.place = place;
        match values {
            Ok(values) => {
                let value = values.get(name).cloned();
                file.memo.borrow_mut().insert(index, Memo::Done(values));
                Ok(value)
            }
            Err(error) => {
                file.memo.borrow_mut().remove(&index);
                Err(error)
            }
        }
    }

    fn evaluate_entry(
        &mut self,
        module: ModuleId,
        index: u32,
        entry: &Entry,
        name: &str,
    ) -> Result<HashMap<Name, Global>> {
        let one = |global: Option<Global>| global.map(|g| (Name::from(name), g)).into_iter().collect();
        Ok(match &entry.kind {
            EntryKind::Function(def) => one(Some(Global::plain(self.function_value(module, def, None)))),
            EntryKind::Class(class) => one(Some(Global::plain(self.class_value(module, class, index)))),
            EntryKind::Import(alias) => {
                let dotted = match &alias.asname {
                    Some(_) => &*alias.name.name,
                    None => name,
                };
                one(Some(match self.program.find_module(module, dotted, 0)? {
                    Found::Library(library) => Global::plain(Value::Module(Module::Known(library))),
                    Found::File(id) => Global::plain(Value::Module(Module::File(id))),
                    Found::Missing => {
                        Global::opaque(format!("the module `{}` is not found", alias.name.name))
                    }
                }))
            }
            EntryKind::From {
                module: from,
                level,
                alias,
            } => one(Some(self.imported(module, from, *level, &alias.name.name)?)),
            EntryKind::Run(stmt) => self.run_entry(module, index, stmt)?,
        })
    }

    /// What `from dotted import name` gives.
    pub(crate) fn imported(
        &mut self,
        module: ModuleId,
        dotted: &str,
        level: u32,
        name: &str,
    ) -> Result<Global> {
        let from = match self.program.find_module(module, dotted, level)? {
            Found::Library(library) => Module::Known(library),
            Found::File(id) => Module::File(id),
            Found::Missing => {
                return Ok(match usual(name) {
                    Some(library) => Global::plain(Value::Module(Module::Known(library.into()))),
                    None => {
                        let dots = ".".repeat(level.min(16) as usize);
                        Global::opaque(format!("the module `{dots}{dotted}`, {NOT_FOUND}"))
                    }
                });
            }
        };
        match self.deeper(|cx| cx.module_attribute(&from, name)).transpose()? {
            Some(Some(global)) => {
                // A package that is still being imported has no such name yet: Python then takes the submodule.
                let submodule = match (&from, &global.value) {
                    (Module::File(id), Value::Opaque(why)) if why.ends_with(BY_ITSELF) => {
                        self.program.submodule(*id, name)?
                    }
                    _ => None,
                };
                return Ok(match submodule {
                    Some(id) => Global::plain(Value::Module(Module::File(id))),
                    None => global,
                });
            }
            Some(None) => {}
            None => {
                return Ok(Global::opaque(
                    "it is imported through too many files".to_string(),
                ));
            }
        }
        Ok(match from {
            Module::Known(library) => Global::opaque(format!("`{library}.{name}{UNKNOWN_NAME}")),
            Module::File(id) => {
                let file = self.program.source(id);
                Global::opaque(format!("{} has no `{name}`", file.name))
            }
        })
    }

    /// Runs something one level deeper; nothing at the limit.
    pub(crate) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.host_depth >= limits::MAX_CALLS {
            return None;
        }
        self.host_depth += 1;
        let made = inner(self);
        self.host_depth -= 1;
        Some(made)
    }

    /// A function as a value; what its decorators make of it may not be supported.
    pub(crate) fn function_value(
        &mut self,
        module: ModuleId,
        def: &Rc<FunctionDef>,
        class: Option<Name>,
    ) -> Value {
        match self.program.function_kind(module, def) {
            Ok(kind) => Value::Function(Rc::new(Function {
                def: def.clone(),
                module,
                kind,
                class,
                captured: Vec::new(),
            })),
            Err(decorator) => Value::Opaque(format!("`@{decorator}` is not supported").into()),
        }
    }

    /// Whether the statements under `guard` run, as far as `name` is concerned.
    fn holds(&mut self, module: ModuleId, file: &File, guard: Option<&Guard>, name: &str) -> Result<bool> {
        let mut guard = guard;
        while let Some(inner) = guard {
            let holds = match &inner.kind {
                GuardKind::Try(attempt) => self.program.succeeds(module, attempt),
                GuardKind::Handler(attempt) => !self.program.succeeds(module, attempt),
                GuardKind::If(choice, branch) => match self.decide(module, choice)? {
                    Some(taken) => taken == *branch,
                    None => {
                        let holds = *branch || !binds(file, choice, name);
                        if holds {
                            self.note_taken(file, choice, *branch, name);
                        }
                        holds
                    }
                },
            };
            if !holds {
                return Ok(false);
            }
            guard = inner.outer.as_deref();
        }
        Ok(true)
    }

    /// Which branch of an `if` at the top level is taken, if it can be said.
    fn decide(&mut self, module: ModuleId, choice: &Rc<Choice>) -> Result<Option<bool>> {
        match choice.decided.get() {
            Decision::Known(taken) => Ok(taken),
            // It depends on itself.
            Decision::Busy => Ok(None),
            Decision::New => {
                choice.decided.set(Decision::Busy);
                let (first, _) = choice.entries.get();
                let taken = match self.condition_at(module, first, &choice.condition) {
                    Ok(taken) => Some(taken),
                    Err(why) => {
                        choice.why.get_or_init(|| why);
                        None
                    }
                };
                choice.decided.set(Decision::Known(taken));
                Ok(taken)
            }
        }
    }

    /// Notes, once for each `if` and compilation, that a name comes from a branch of which nobody knows whether it is
    /// taken.
    fn note_taken(&mut self, file: &File, choice: &Choice, branch: bool, name: &str) {
        let Some(why) = choice.why.get() else {
            return;
        };
        let span = choice.condition.span;
        let line = file.source.line_column(span.start as usize).0;
        let text = file.source.text.get(span.range()).unwrap_or_default();
        let text = text.lines().next().unwrap_or_default();
        let known = format!("{}:{line}: whether `{text}` holds is not known", file.source.name);
        if self.notes.iter().any(|note| note.starts_with(&known)) {
            return;
        }
        let why = why.replace(&format!(", {NOT_FOUND}"), " is not found");
        let help = match why.ends_with(" is not found") {
            true => "; --python-path adds a folder to look in",
            false => "",
        };
        let which = if branch { "first branch" } else { "`else`" };
        self.notes.push(format!(
            "{known} ({why}): `{name}` is taken from the {which}{help}"
        ));
    }

    /// Whether an expression's value is made by `tl.constexpr`.
    pub(crate) fn makes_constexpr(&mut self, module: ModuleId, index: u32, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Call(call) => matches!(self.program.path_of(module, &call.function),
                Some(Path::Library(name)) if &*name == "triton.language.constexpr"),
            ExprKind::Name(name) => {
                matches!(self.global_before(module, name, index), Ok(Some(global)) if global.constexpr)
            }
            ExprKind::Unary(_, of) => self.makes_constexpr(module, index, of),
            ExprKind::Binary(_, l, r) => {
                self.makes_constexpr(module, index, l) || self.makes_constexpr(module, index, r)
            }
            ExprKind::IfElse { then, otherwise, .. } => {
                self.makes_constexpr(module, index, then) || self.makes_constexpr(module, index, otherwise)
            }
            _ => false,
        }
    }
}

/// A file's name without folders and ending.
fn module_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".py").unwrap_or(name)
}

/// What is known of the condition of an `if`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Decision {
    /// Nothing yet.
    #[default]
    New,
    /// It is being evaluated.
    Busy,
    /// The branch, if it can be said.
    Known(Option<bool>),
}

/// Whether the first branch of an `if` binds `name`.
fn binds(file: &File, choice: &Rc<Choice>, name: &str) -> bool {
    let (first, end) = choice.entries.get();
    let entries = file.index.names.get(name).into_iter().flatten();
    entries.filter(|e| (first..end).contains(*e)).any(|e| {
        let mut guard = file
            .index
            .entries
            .get(*e as usize)
            .and_then(|entry| entry.guard.as_deref());
        while let Some(inner) = guard {
            if let GuardKind::If(other, true) = &inner.kind
                && Rc::ptr_eq(other, choice)
            {
                return true;
            }
            guard = inner.outer.as_deref();
        }
        false
    })
}
