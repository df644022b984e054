//! What a run found, as JSON that can be added up.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// Version of the results' form.
const VERSION: u64 = 1;

/// Results of one run, or of several added up.
#[derive(Default)]
pub struct Results {
    /// Kernels that were made.
    pub kernels: u64,
    /// How often each path ran, refused or was left out, by name: `cuda`, `cuda refused: …`.
    pub paths: BTreeMap<String, u64>,
    /// How often each operation was generated.
    pub operations: BTreeMap<String, u64>,
    /// Kernels on which paths disagree.
    pub disagreements: Vec<Found>,
    /// Seconds that it took, of all runs together.
    pub seconds: u64,
}

/// A kernel on which paths disagree.
#[derive(Clone)]
pub struct Found {
    /// What [`tilescope_difftest::generate::kernel`] made it from.
    pub seed: u64,
    /// The path.
    pub path: String,
    /// What it did.
    pub what: String,
    /// The files that show it.
    pub files: String,
}

impl Results {
    /// One more of a path.
    pub fn count(&mut self, path: impl Into<String>) {
        *self.paths.entry(path.into()).or_insert(0) += 1;
    }

    pub fn to_json(&self) -> Value {
        let found = self.disagreements.iter().map(|f| {
            json!({ "seed": f.seed, "path": f.path, "what": f.what, "files": f.files,
                    "replay": format!("cargo xtask fuzz --replay {}.launch.toml", f.files) })
        });
        json!({
            "version": VERSION,
            "kernels": self.kernels,
            "seconds": self.seconds,
            "paths": self.paths,
            "operations": self.operations,
            "disagreements": found.collect::<Vec<Value>>(),
        })
    }

    /// Adds the results of a file.
    pub fn add(&mut self, path: &Path) -> Result<(), String> {
        let wrong = |why: String| format!("{}: {why}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let value: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        if value["version"].as_u64() != Some(VERSION) {
            return Err(wrong(format!("not results of this tool's version {VERSION}")));
        }
        self.kernels += value["kernels"].as_u64().unwrap_or(0);
        self.seconds += value["seconds"].as_u64().unwrap_or(0);
        for (key, sums) in [("paths", &mut self.paths), ("operations", &mut self.operations)] {
            for (name, count) in value[key].as_object().into_iter().flatten() {
                *sums.entry(name.clone()).or_insert(0) += count.as_u64().unwrap_or(0);
            }
        }
        for found in value["disagreements"].as_array().into_iter().flatten() {
            let text = |key: &str| found[key].as_str().unwrap_or_default().to_string();
            self.disagreements.push(Found {
                seed: found["seed"].as_u64().unwrap_or(0),
                path: text("path"),
                what: text("what"),
                files: text("files"),
            });
        }
        Ok(())
    }

    /// A summary for people.
    pub fn print(&self) {
        println!(
            "{} kernels in {} s, {} operations, {} disagreements",
            self.kernels,
            self.seconds,
            self.operations.values().sum::<u64>(),
            self.disagreements.len()
        );
        for (path, count) in &self.paths {
            println!("{count:9} {path}");
        }
        for found in &self.disagreements {
            println!(
                "seed {}: {}: {} ({})",
                found.seed, found.path, found.what, found.files
            );
        }
    }
}
