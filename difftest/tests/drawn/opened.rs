//! A launch file with its kernel's TTIR beside it, of which cases are drawn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source};
use tilescope_difftest::case::{Case, Space};
use tilescope_difftest::judge::Subject;
use tilescope_ir::{FuncId, VerifiedModule};
use tilescope_launch::{LaunchFile, Signature};

/// A launch file, read.
pub struct Opened {
    pub space: Space,
    file: Arc<LaunchFile>,
    module: Arc<VerifiedModule>,
    kernel: FuncId,
}

impl Opened {
    /// Reads both files.
    pub fn of(launch: &Path) -> Result<Opened> {
        let read = |path: &Path| {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|why| Error::input(format!("{}: {why}", path.display())))?;
            Ok::<_, Box<Error>>(Source::new(path.display().to_string(), text))
        };
        let ttir = PathBuf::from(launch.to_string_lossy().replace(".launch.toml", ".ttir"));
        let module = VerifiedModule::new(tilescope_ir::text::parse(&read(&ttir)?)?);
        let first = |errors: Vec<Box<Error>>| errors.into_iter().next();
        let module = module.map_err(|e| first(e).unwrap_or_else(|| Error::input("not well formed")))?;
        let kernel = module.kernels().next().map(|(kernel, _)| kernel);
        let file = LaunchFile::parse(read(launch)?)?;
        Ok(Opened {
            // Blocks of 16, 64 and 128: cases near them are drawn more often.
            space: Space::of(&file, &[], &[16, 64, 128])?,
            file: Arc::new(file),
            kernel: kernel.ok_or_else(|| Error::input("no kernel"))?,
            module: Arc::new(module),
        })
    }

    /// The launch of a case.
    pub fn subject(&self, case: &Case) -> Result<Subject> {
        let signature = Signature::of(&self.module, self.kernel);
        let bound = self.file.bind(&[signature], &self.space.overrides(case))?;
        Ok(Subject {
            file: self.file.clone(),
            bound,
            kernels: vec![(self.module.clone(), self.kernel)],
        })
    }

    /// A case, or a smaller one, of at most so many elements; without slack: the text promises aligned pointers.
    pub fn fitted(&self, case: Case, most: u64) -> Case {
        let case = Case {
            slack: (0, 0),
            ..case
        };
        let size = |case: &Case| {
            let evaluated = self.file.evaluate(&self.space.overrides(case));
            evaluated.ok().map(|e| e.elements())
        };
        self.space.fitted(case, most, size)
    }
}

/// Launch files below a folder that have TTIR beside them, by name.
pub fn launches(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let file = entry.file_name().to_string_lossy().into_owned();
        match file.strip_suffix(".launch.toml") {
            _ if path.is_dir() => found.extend(launches(&path)),
            Some(name) if path.with_file_name(format!("{name}.ttir")).exists() => {
                found.push((name.to_string(), path));
            }
            _ => {}
        }
    }
    found.sort();
    found
}
