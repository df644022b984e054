//! Python files: reading, imports, and what stands at their top level.

use std::sync::Arc;

use tilescope_diagnostics::{Error, Source};

use crate::cx::Result;

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
    #[allow(dead_code)]
    python_path: Vec<String>,
    sources: std::cell::RefCell<Vec<Arc<Source>>>,
}

impl<'f> Program<'f> {
    /// No files yet. Absolute imports are searched below each entry of the Python path, in order.
    pub fn new(files: &'f dyn Files, python_path: Vec<String>) -> Program<'f> {
        Program {
            files,
            python_path,
            sources: std::cell::RefCell::default(),
        }
    }

    /// Reads a file: that of a kernel, as the launch file names it.
    ///
    /// # Errors
    /// A file that cannot be read, or is not Python.
    pub fn load(&self, path: &str) -> Result<ModuleId> {
        let source = match self.files.read(path) {
            Ok(Some(source)) => source,
            Ok(None) => return Err(Error::input(format!("there is no file `{path}`"))),
            Err(why) => return Err(Error::input(format!("cannot read `{path}`: {why}"))),
        };
        let mut sources = self.sources.borrow_mut();
        sources.push(source);
        Ok(ModuleId(sources.len() as u32 - 1))
    }

    /// The text of a file.
    pub fn source(&self, module: ModuleId) -> Arc<Source> {
        self.sources.borrow()[module.0 as usize].clone()
    }
}
