//! Outputs as files: each as `DIR/NAME.npy`, or all in one `.safetensors`.
//!
//! A file is written beside its place under a temporary name and then renamed: what stands under the right
//! name is whole, whatever happens on the way.

use std::fs;
use std::path::{Path, PathBuf};

use tilescope_diagnostics::{Error, Result};
use tilescope_launch::{DataArray, Memory, Tensor, write_npy, write_safetensors};

/// Where outputs go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A folder that exists and can be written.
    Folder(PathBuf),
    /// A file in a folder that exists and can be written.
    Safetensors(PathBuf),
}

impl Destination {
    /// Makes sure, before a run, that outputs can be written afterwards; makes the folder if need be.
    ///
    /// # Errors
    /// Names the folder and why it cannot be written.
    pub fn prepare(out: &Path) -> Result<Destination> {
        let is_file = out
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("safetensors"));
        let folder = match is_file {
            true => out
                .parent()
                .filter(|p| !p.as_os_str().is_empty())
                .unwrap_or(Path::new(".")),
            false => out,
        };
        let probe = folder.join(temporary("probe"));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&probe, b""))
            .and_then(|()| fs::remove_file(&probe))
            .map_err(|error| {
                Error::input(format!(
                    "cannot write to the folder {}: {error}",
                    folder.display()
                ))
                .help("give --out another folder")
            })?;
        match is_file {
            true if out.is_dir() => Err(Error::input(format!(
                "cannot write {}: it is a folder",
                out.display()
            ))),
            true => Ok(Destination::Safetensors(out.to_path_buf())),
            false => Ok(Destination::Folder(out.to_path_buf())),
        }
    }

    /// Writes the tensors' views.
    ///
    /// # Errors
    /// Names the file that cannot be written and why.
    pub fn write<'a>(&self, tensors: impl Iterator<Item = &'a Tensor>, memory: &Memory) -> Result<()> {
        match self {
            Destination::Folder(folder) => {
                for tensor in tensors {
                    let path = folder.join(format!("{}.npy", file_name(&tensor.name)));
                    whole(&path, &write_npy(&array(tensor, memory)))?;
                }
                Ok(())
            }
            Destination::Safetensors(path) => {
                let arrays: Vec<(String, DataArray)> = tensors
                    .map(|tensor| (tensor.name.clone(), array(tensor, memory)))
                    .collect();
                whole(path, &write_safetensors(&arrays)?)
            }
        }
    }
}

fn array(tensor: &Tensor, memory: &Memory) -> DataArray {
    DataArray {
        dtype: tensor.dtype,
        shape: tensor.shape.clone(),
        bytes: memory.gather(tensor, 0, tensor.elements()),
    }
}

/// Argument names are Python's, but a launch file may quote any key: no path may come out of one.
fn file_name(name: &str) -> String {
    let safe = |c: char| {
        if c.is_alphanumeric() || matches!(c, '_' | '-') {
            c
        } else {
            '_'
        }
    };
    name.chars().map(safe).collect()
}

fn temporary(name: &str) -> String {
    format!(".{name}.tilescope-{}", std::process::id())
}

fn whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let draft = path.with_file_name(temporary(&name));
    fs::write(&draft, bytes)
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|error| {
            // The draft is of no use to anyone; if it cannot be removed either, the first error says why.
            let _ = fs::remove_file(&draft);
            Error::input(format!("cannot write {}: {error}", path.display()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_the_folder() {
        assert_eq!(file_name("out_ptr"), "out_ptr");
        assert_eq!(file_name("../../etc/passwd"), "______etc_passwd");
        assert_eq!(file_name("größe"), "größe");
    }
}
