//! What an imported name stands for: a file, something of a known library, or nothing that can be found.

use std::rc::Rc;

use tilescope_diagnostics::Error;

use super::files::{join, parent};
use super::index::{Attempt, Entry, EntryKind};
use super::{ModuleId, Program};
use crate::ast::{Expr, ExprKind, Name, StmtKind};

/// What a dotted name stands for, seen from its text and imports alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Path {
    /// Of a known library, by its dotted name: `triton.jit`, `triton.language`.
    Library(Rc<str>),
    /// A file.
    File(ModuleId),
    /// What a file binds.
    Item(ModuleId, Name),
}

/// Libraries that are not looked up as files. Of some we know functions (the tables in
/// [`language`](crate::language)), of the others only that they exist.
const LIBRARIES: [&str; 48] = [
    "__future__",
    "abc",
    "argparse",
    "ast",
    "builtins",
    "collections",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "gc",
    "glob",
    "hashlib",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "numbers",
    "numpy",
    "operator",
    "os",
    "packaging",
    "pathlib",
    "platform",
    "random",
    "re",
    "shutil",
    "string",
    "struct",
    "subprocess",
    "sys",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "torch",
    "traceback",
    "triton",
    "types",
    "typing",
    "typing_extensions",
    "warnings",
];

/// Longest chain of re-exports and aliases that is followed.
const MAX_HOPS: usize = 32;

/// Highest folder above a file in which its imports are looked up.
const MAX_PARENTS: usize = 12;

/// What an `import` finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A known library.
    Library(Rc<str>),
    File(ModuleId),
    /// Neither.
    Missing,
}

impl Program<'_> {
    /// What the module `dotted` is, imported by `from` with `level` leading dots.
    ///
    /// # Errors
    /// A file that is there and cannot be read.
    pub(crate) fn find_module(&self, from: ModuleId, dotted: &str, level: u32) -> Result<Found, Box<Error>> {
        let Some(file) = self.file(from) else {
            return Ok(Found::Missing);
        };
        let Some(own) = parent(&file.path) else {
            return Ok(Found::Missing);
        };
        if level > 0 {
            let mut folder = own;
            for _ in 1..level.min(MAX_PARENTS as u32) {
                match parent(&folder) {
                    Some(above) => folder = above,
                    None => return Ok(Found::Missing),
                }
            }
            return Ok(self.find_in(&folder, dotted)?.map_or(Found::Missing, Found::File));
        }
        if LIBRARIES.contains(&dotted.split('.').next().unwrap_or_default()) {
            return Ok(Found::Library(dotted.into()));
        }
        let mut folders = vec![own.clone(), self.above_package(&own)?];
        folders.extend(self.python_path.iter().cloned());
        let mut folder = own;
        for _ in 0..MAX_PARENTS {
            match parent(&folder) {
                // Folders that have no name cannot be packages.
                Some(above) if !above.ends_with("..") => folder = above,
                _ => break,
            }
            folders.push(folder.clone());
        }
        for (i, folder) in folders.iter().enumerate() {
            if folders[..i].contains(folder) {
                continue;
            }
            if let Some(id) = self.find_in(folder, dotted)? {
                return Ok(Found::File(id));
            }
        }
        Ok(Found::Missing)
    }

    /// The folder that the outermost package around `folder` is in.
    fn above_package(&self, folder: &str) -> Result<String, Box<Error>> {
        let mut folder = folder.to_string();
        for _ in 0..MAX_PARENTS {
            if self.text(&join(&folder, "__init__.py"))?.is_none() {
                break;
            }
            match parent(&folder) {
                Some(above) => folder = above,
                None => break,
            }
        }
        Ok(folder)
    }

    /// The module `dotted` below `folder`: a file, a package, or a folder that has one of these in it.
    fn find_in(&self, folder: &str, dotted: &str) -> Result<Option<ModuleId>, Box<Error>> {
        if dotted.is_empty() {
            let init = self.load_if_there(&join(folder, "__init__.py"))?;
            return Ok(Some(init.unwrap_or_else(|| self.open_namespace(folder))));
        }
        let base = join(folder, &dotted.replace('.', "/"));
        match self.load_if_there(&join(&base, "__init__.py"))? {
            Some(id) => Ok(Some(id)),
            None => self.load_if_there(&format!("{base}.py")),
        }
    }

    /// A module inside of the package `package`.
    pub(crate) fn submodule(&self, package: ModuleId, name: &str) -> Result<Option<ModuleId>, Box<Error>> {
        let Some(file) = self.file(package) else {
            return Ok(None);
        };
        match parent(&file.path) {
            Some(folder) if is_package(&file.path) => self.find_in(&folder, name),
            _ => Ok(None),
        }
    }

    /// The first `from module import *` of a file whose module is not found: its line, and the module as it is written.
    pub(crate) fn missing_star(&self, module: ModuleId) -> Option<(usize, String)> {
        let file = self.file(module)?;
        file.index.stars.iter().find_map(|star| {
            let entry = file.index.entries.get(*star as usize)?;
            let EntryKind::From {
                module: from, level, ..
            } = &entry.kind
            else {
                return None;
            };
            let found = self.find_module(module, from, *level).ok()?;
            let line = file.source.line_column(entry.span.start as usize).0;
            let dots = ".".repeat((*level).min(16) as usize);
            (found == Found::Missing).then(|| (line, format!("{dots}{from}")))
        })
    }

    /// What a name or a chain of attributes stands for, if imports alone say it; conditions are not evaluated, and
    /// of several bindings the last one that leads somewhere counts.
    pub fn path_of(&self, module: ModuleId, expr: &Expr) -> Option<Path> {
        self.path_of_expr(module, expr, MAX_HOPS)
    }

    fn path_of_expr(&self, module: ModuleId, expr: &Expr, hops: usize) -> Option<Path> {
        let hops = hops.checked_sub(1)?;
        match &expr.kind {
            ExprKind::Name(name) => self.path_of_name(module, name, hops),
            ExprKind::Attribute(of, name) => match self.path_of_expr(module, of, hops)? {
                Path::Library(library) => Some(Path::Library(canonical(&format!("{library}.{}", name.name)))),
                Path::File(id) => self.path_in_file(id, &name.name, hops),
                Path::Item(..) => None,
            },
            _ => None,
        }
    }

    fn path_of_name(&self, module: ModuleId, name: &str, hops: usize) -> Option<Path> {
        let hops = hops.checked_sub(1)?;
        let file = self.file(module)?;
        let mut last = None;
        for entry in file.index.names.get(name).into_iter().flatten().rev() {
            let path = self.path_of_entry(module, name, file.index.entries.get(*entry as usize)?, hops);
            match path {
                Some(Path::Item(..)) | None => last = last.or(path),
                found => return found,
            }
        }
        if last.is_some() {
            return last;
        }
        for star in &file.index.stars {
            let EntryKind::From {
                module: from, level, ..
            } = &file.index.entries.get(*star as usize)?.kind
            else {
                continue;
            };
            match self.find_module(module, from, *level) {
                Ok(Found::File(id)) => {
                    if let Some(path) = self.path_of_name(id, name, hops) {
                        return Some(path);
                    }
                }
                Ok(Found::Library(library)) if crate::language::exists(&library, name) => {
                    return Some(Path::Library(canonical(&format!("{library}.{name}"))));
                }
                _ => {}
            }
        }
        None
    }

    fn path_of_entry(&self, module: ModuleId, name: &str, entry: &Entry, hops: usize) -> Option<Path> {
        match &entry.kind {
            EntryKind::Function(_) | EntryKind::Class(_) => Some(Path::Item(module, name.into())),
            EntryKind::Import(alias) => {
                let dotted = match &alias.asname {
                    Some(_) => &*alias.name.name,
                    None => name,
                };
                match self.find_module(module, dotted, 0).ok()? {
                    Found::Library(library) => Some(Path::Library(canonical(&library))),
                    Found::File(id) => Some(Path::File(id)),
                    Found::Missing => None,
                }
            }
            EntryKind::From {
                module: from,
                level,
                alias,
            } => match self.find_module(module, from, *level).ok()? {
                Found::Library(library) => Some(Path::Library(canonical(&format!(
                    "{library}.{}",
                    alias.name.name
                )))),
                Found::File(id) => self.path_in_file(id, &alias.name.name, hops),
                Found::Missing => usual(&alias.name.name).map(|library| Path::Library(library.into())),
            },
            EntryKind::Run(stmt) => match &stmt.kind {
                StmtKind::Assign { value, .. } => match self.path_of_expr(module, value, hops) {
                    Some(path) => Some(path),
                    None => Some(Path::Item(module, name.into())),
                },
                _ => Some(Path::Item(module, name.into())),
            },
        }
    }

    fn path_in_file(&self, id: ModuleId, name: &str, hops: usize) -> Option<Path> {
        match self.path_of_name(id, name, hops) {
            Some(path) => Some(path),
            None => self.submodule(id, name).ok()?.map(Path::File),
        }
    }

    /// Whether the body of a `try` succeeds, as far as its imports say it.
    pub(crate) fn succeeds(&self, module: ModuleId, attempt: &Attempt) -> bool {
        if let Some(known) = attempt.succeeds.get() {
            return known;
        }
        let succeeds = !attempt.raises
            && attempt.imports.iter().all(|(dotted, level, name)| {
                match (self.find_module(module, dotted, *level), name) {
                    (Ok(Found::Library(library)), Some(name)) if library.starts_with("triton.language") => {
                        crate::language::exists(&library, name)
                    }
                    (Ok(Found::Library(library)), None) if library.starts_with("triton.language") => {
                        crate::language::is_module(&library)
                    }
                    (Ok(Found::Library(_)), _) | (Ok(Found::File(_)), None) => true,
                    (Ok(Found::File(id)), Some(name)) => self.path_in_file(id, name, MAX_HOPS).is_some(),
                    _ => false,
                }
            });
        attempt.succeeds.set(Some(succeeds));
        succeeds
    }
}

/// Whether the file is a package's `__init__.py`.
fn is_package(path: &str) -> bool {
    path == "__init__.py" || path.ends_with("/__init__.py")
}

/// What a name means when it is imported from a module that is not there: packages like to wrap Triton's modules in
/// their own.
pub(crate) fn usual(name: &str) -> Option<&'static str> {
    match name {
        "triton" => Some("triton"),
        "tl" => Some("triton.language"),
        "libdevice" => Some("triton.language.extra.libdevice"),
        "torch" => Some("torch"),
        _ => None,
    }
}

/// The one dotted name of what Triton offers under several.
pub(crate) fn canonical(dotted: &str) -> Rc<str> {
    for (long, short) in [
        ("triton.language.core.", "triton.language."),
        ("triton.language.standard.", "triton.language."),
        ("triton.runtime.jit.", "triton."),
        ("triton.runtime.autotuner.", "triton."),
        ("triton.runtime.", "triton."),
    ] {
        if let Some(rest) = dotted.strip_prefix(long)
            && (long != "triton.runtime." || matches!(rest, "jit" | "autotune" | "heuristics" | "Config"))
        {
            return format!("{short}{rest}").into();
        }
    }
    dotted.into()
}
