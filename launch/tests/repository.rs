//! Every launch file of the repository binds to its kernel and gets its memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source};
use tilescope_launch::{Argument, Bound, Files, LaunchFile, Overrides, Signature, Tensor};

/// Files next to a launch file.
struct Folder(PathBuf);

impl Files for Folder {
    fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>> {
        let path = self.0.join(path);
        let error = |why: String| Error::input(format!("`{}`: {why}", path.display()));
        let length = std::fs::metadata(&path).map_err(|e| error(e.to_string()))?.len();
        if length > max_bytes {
            return Err(error(format!("{length} bytes")));
        }
        std::fs::read(&path).map_err(|e| error(e.to_string()))
    }
}

fn launch_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            launch_files(&path, found);
        } else if path.to_string_lossy().ends_with(".launch.toml")
            || path.to_string_lossy().ends_with(".pipeline.toml")
        {
            found.push(path);
        }
    }
}

/// The TTIR of a launch's kernel: what it names, or what Triton made of the Python source that it names.
fn ttir(file: &LaunchFile, index: usize, path: &Path, folder: &Folder) -> Result<Arc<Source>> {
    if !file.launches()[index].kernel.path.ends_with(".py") {
        return file.read_kernel(index, folder);
    }
    let path = path.to_string_lossy().replace(".launch.toml", ".ttir");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::input(format!("`{path}`: {e}")))?;
    Ok(Source::new(path, text))
}

fn bind(path: &Path) -> Result<(Bound, Folder)> {
    let folder = Folder(path.parent().map(Path::to_path_buf).unwrap_or_default());
    let text = std::fs::read_to_string(path).map_err(|e| Error::input(e.to_string()))?;
    let file = LaunchFile::parse(Source::new(path.display().to_string(), text))?;
    let mut signatures = Vec::new();
    for index in 0..file.launches().len() {
        let module = tilescope_ir::text::parse(&ttir(&file, index, path, &folder)?)?;
        signatures.push(Signature::of(&module, file.find_kernel(index, &module)?));
    }
    Ok((file.bind(&signatures, &Overrides::default())?, folder))
}

#[test]
fn every_launch_file_binds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["kernels", "tests/pass", "tests/fail"] {
        launch_files(&root.join(folder), &mut files);
    }
    files.sort();
    assert!(files.len() > 100, "{}", files.len());
    let mut wrong = Vec::new();
    for path in &files {
        let checked = bind(path).and_then(|(bound, folder)| {
            for launch in &bound.launches {
                assert!(!launch.arguments.is_empty());
                for argument in &launch.arguments {
                    if let Argument::Tensor(id) = argument {
                        assert!((id.0 as usize) < launch.tensors.len());
                    }
                }
            }
            // Only small data here: an unoptimised build makes them slowly.
            if bound.tensors().iter().map(Tensor::elements).sum::<u64>() < 100_000 {
                let memory = bound.allocate(&folder, 1 << 30)?;
                for tensor in bound.tensors() {
                    let bytes = tensor.elements() * tensor.dtype.bytes() as u64;
                    assert_eq!(memory.gather(tensor, 0, u64::MAX).len() as u64, bytes);
                }
            }
            Ok(bound)
        });
        if let Err(error) = checked {
            wrong.push(error.to_string());
        }
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), files.len());
}
