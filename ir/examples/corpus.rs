//! Reads every `.ttir` below the given folders and counts what parses.
#![allow(clippy::print_stdout, reason = "a tool for people")]

use std::path::{Path, PathBuf};
use tilescope_diagnostics::Source;

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            .collect();
        entries.sort();
        entries.iter().for_each(|e| collect(e, files));
    } else if path.extension().is_some_and(|e| e == "ttir") {
        files.push(path.to_path_buf());
    }
}

fn main() {
    let mut files = Vec::new();
    for arg in std::env::args().skip(1) {
        collect(Path::new(&arg), &mut files);
    }
    let mut good = 0;
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        let source = Source::new(file.display().to_string(), text);
        match tilescope_ir::text::parse(&source) {
            Ok(_) => good += 1,
            Err(error) => println!("{error}"),
        }
    }
    println!("{good} of {} files parse", files.len());
}
