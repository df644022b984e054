//! The Rust files that locations name, to show their lines.
//!
//! `rustc` names a file as it was told to: mostly relative to the root of a workspace, while tests run in the folder
//! of their package. So a relative name is looked for in the current folder, then in each folder above it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tilescope_diagnostics::Source;
use tilescope_diagnostics::render::Sources;

/// The largest file that is read.
const MAX_TEXT: u64 = 16 << 20;

/// Rust files, each read once.
#[derive(Debug, Default)]
pub(crate) struct RustFiles {
    read: Mutex<HashMap<String, Option<Arc<Source>>>>,
}

impl Sources for RustFiles {
    fn text(&self, file: &str) -> Option<Arc<Source>> {
        let mut read = self.read.lock().ok()?;
        if let Some(known) = read.get(file) {
            return known.clone();
        }
        let source = find(file)
            .and_then(|path| text_of(&path))
            .map(|text| Source::new(file, text));
        read.insert(file.to_string(), source.clone());
        source
    }
}

fn find(file: &str) -> Option<PathBuf> {
    let path = Path::new(file);
    if path.is_absolute() {
        return path.is_file().then(|| path.to_path_buf());
    }
    let here = std::env::current_dir().ok()?;
    let found = here.ancestors().map(|folder| folder.join(path));
    found.into_iter().find(|path| path.is_file())
}

fn text_of(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    if file.metadata().ok()?.len() > MAX_TEXT {
        return None;
    }
    file.take(MAX_TEXT).read_to_string(&mut text).ok()?;
    Some(text)
}
