//! Python files: reading, imports, and what stands at their top level.

use std::sync::Arc;

use tilescope_diagnostics::Source;

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
    #[allow(dead_code)]
    files: &'f dyn Files,
    sources: std::cell::RefCell<Vec<Arc<Source>>>,
}

impl Program<'_> {
    /// The text of a file.
    pub fn source(&self, module: ModuleId) -> Arc<Source> {
        self.sources.borrow()[module.0 as usize].clone()
    }
}
