//! Python files: reading, imports, and what stands at their top level.
//!
//! A [`Program`] reads files when they are first needed. Nothing of a file runs when it is read: its top level is
//! indexed (`index`), and a name is evaluated when it is first used ([`Cx::global`](crate::cx::Cx::global)).
//! What depends on nothing but text is a method of [`Program`]; what evaluates is one of
//! [`Cx`](crate::cx::Cx).

mod classes;
mod files;
mod globals;
mod imports;
mod index;
mod kernels;
mod made;
mod nested;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tilescope_diagnostics::{Error, Source};

use crate::ast::{Expr, FunctionDef, Name};
use crate::parse;

pub use globals::Global;
pub use imports::Path;
pub use kernels::{KernelInfo, KernelParam};

pub(crate) use globals::{EVERYTHING, Memo, NOT_FOUND, UNKNOWN_NAME};
pub(crate) use imports::Found;
pub(crate) use index::{EntryKind, Index, bound_by};

/// A file of a [`Program`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleId(pub u32);

/// Reads files: the only way to the disk that this crate has.
pub trait Files: std::fmt::Debug {
    /// The text of a file, by a path relative to the launch file or an entry of the Python path.
    ///
    /// # Errors
    /// Why it cannot be read, in words; none when there is no such file.
    fn read(&self, path: &str) -> Result<Option<Arc<Source>>, String>;
}

/// All Python files that a kernel reaches, read when they are first needed.
#[derive(Debug)]
pub struct Program<'f> {
    files: &'f dyn Files,
    python_path: Vec<String>,
    modules: RefCell<Vec<Rc<File>>>,
    by_path: RefCell<HashMap<String, ModuleId>>,
    /// Texts read and not yet parsed, and paths where there is no file.
    texts: RefCell<HashMap<String, Option<Arc<Source>>>>,
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct File {
    /// As it was asked for, without `.` and with `..` only in front. A package without `__init__.py` has the path that
    /// this file would have.
    pub path: String,
    pub source: Arc<Source>,
    pub index: Index,
    /// Entries of the index evaluated so far.
    pub memo: RefCell<HashMap<u32, Memo>>,
}

impl<'f> Program<'f> {
    /// A program of the files that `files` reads; imports are looked up beside the importing file, in its package,
    /// in `python_path`, and in the folders above it, in this order.
    pub fn new(files: &'f dyn Files, python_path: Vec<String>) -> Program<'f> {
        Program {
            files,
            python_path: python_path.iter().map(|p| files::normal(p)).collect(),
            modules: RefCell::default(),
            by_path: RefCell::default(),
            texts: RefCell::default(),
        }
    }

    /// Reads a file, once.
    ///
    /// # Errors
    /// No such file; a file that cannot be read or is not Python.
    pub fn load(&self, path: &str) -> Result<ModuleId, Box<Error>> {
        match self.load_if_there(path)? {
            Some(id) => Ok(id),
            None => Err(Error::input(format!("there is no file `{path}`"))),
        }
    }

    /// The text of a file.
    pub fn source(&self, module: ModuleId) -> Arc<Source> {
        match self.file(module) {
            Some(file) => file.source.clone(),
            None => Source::new("", ""),
        }
    }

    /// The path by which a file was asked for, relative to the launch file: the name that locations of operations
    /// give it (messages show the name of [`Program::source`], the path as the user would type it).
    pub fn path(&self, module: ModuleId) -> String {
        self.file(module)
            .map_or_else(String::new, |file| file.path.clone())
    }

    /// All functions at the top level of a file, under any `if` too, in order, decorated or not.
    pub fn functions(&self, module: ModuleId) -> Vec<Rc<FunctionDef>> {
        let Some(file) = self.file(module) else {
            return Vec::new();
        };
        let functions = file.index.entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Function(def) => Some(def.clone()),
            _ => None,
        });
        functions.collect()
    }

    /// Where a function of a file, or the call around it that `expr` is in, stands in the index: what its decorators
    /// see when they are evaluated.
    pub(crate) fn position(&self, module: ModuleId, def: &Rc<FunctionDef>, expr: &Expr) -> u32 {
        let Some(file) = self.file(module) else {
            return EVERYTHING;
        };
        let entries = &file.index.entries;
        let call = entries.iter().position(|entry| {
            matches!(entry.kind, EntryKind::Run(_))
                && entry.span.start <= expr.span.start
                && expr.span.end <= entry.span.end
        });
        let position = call.or_else(|| {
            entries.iter().position(|entry| match &entry.kind {
                EntryKind::Function(other) => Rc::ptr_eq(other, def),
                _ => false,
            })
        });
        position.map_or(EVERYTHING, |at| at as u32)
    }

    /// The names that a file binds at its top level, in order, for suggestions.
    pub fn names(&self, module: ModuleId) -> Vec<Name> {
        let Some(file) = self.file(module) else {
            return Vec::new();
        };
        let mut names: Vec<(u32, Name)> = Vec::new();
        for (name, entries) in &file.index.names {
            names.push((entries.first().copied().unwrap_or(0), name.clone()));
        }
        names.sort();
        names.into_iter().map(|(_, name)| name).collect()
    }

    pub(crate) fn file(&self, module: ModuleId) -> Option<Rc<File>> {
        self.modules.borrow().get(module.0 as usize).cloned()
    }

    pub(crate) fn load_if_there(&self, path: &str) -> Result<Option<ModuleId>, Box<Error>> {
        let path = files::normal(path);
        if let Some(id) = self.by_path.borrow().get(&path) {
            return Ok(Some(*id));
        }
        let Some(source) = self.text(&path)? else {
            return Ok(None);
        };
        let index = Index::new(parse::parse(&source)?);
        Ok(Some(self.add(path, source, index)))
    }

    /// The module of a folder without `__init__.py`: nothing but its submodules.
    fn open_namespace(&self, folder: &str) -> ModuleId {
        let path = files::join(folder, "__init__.py");
        if let Some(id) = self.by_path.borrow().get(&path) {
            return *id;
        }
        self.add(path, Source::new(folder, ""), Index::default())
    }

    fn add(&self, path: String, source: Arc<Source>, index: Index) -> ModuleId {
        let mut modules = self.modules.borrow_mut();
        let id = ModuleId(modules.len() as u32);
        self.by_path.borrow_mut().insert(path.clone(), id);
        modules.push(Rc::new(File {
            path,
            source,
            index,
            memo: RefCell::default(),
        }));
        id
    }

    /// The text of a file, read once.
    fn text(&self, path: &str) -> Result<Option<Arc<Source>>, Box<Error>> {
        if let Some(text) = self.texts.borrow().get(path) {
            return Ok(text.clone());
        }
        let text = self
            .files
            .read(path)
            .map_err(|why| Error::input(format!("cannot read `{path}`: {why}")))?;
        self.texts.borrow_mut().insert(path.to_string(), text.clone());
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
