//! Outputs as files: each as `DIR/NAME.npy`, all in one `.safetensors`, or the only one as a `.npy`.
//!
//! A file is written beside its place under a temporary name and then renamed: what stands under the right
//! name is whole, whatever happens on the way.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tilescope_diagnostics::{Error, Result};
use tilescope_launch::{DataArray, Memory, Tensor, npy_header, write_safetensors};

use crate::engine::available_memory;

/// Elements that are written in one go: a tensor may be larger than the memory there is.
const CHUNK: u64 = 1 << 20;

/// Where outputs go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A folder that exists and can be written.
    Folder(PathBuf),
    /// A file in a folder that exists and can be written.
    Safetensors(PathBuf),
    /// The same, for the only output.
    Npy(PathBuf),
}

impl Destination {
    /// Makes sure, before a run, that its outputs can be written afterwards; makes the folder if need be.
    ///
    /// # Errors
    /// Names the folder and why it cannot be written; outputs that are too large for one `.safetensors`.
    pub fn prepare<'a>(out: &Path, outputs: impl Iterator<Item = &'a Tensor>) -> Result<Destination> {
        let is_kind = |kind: &str| out.extension().is_some_and(|e| e.eq_ignore_ascii_case(kind));
        let outputs: Vec<&Tensor> = outputs.collect();
        let is_npy = is_kind("npy") && !out.is_dir();
        if (is_npy && outputs.len() != 1) || (is_kind("npz") && !out.is_dir()) {
            return Err(Error::input(format!(
                "cannot write {} outputs to {}",
                outputs.len(),
                out.display()
            ))
            .help(
                "give --out a folder, a name that ends in .safetensors, or, for a single output, in .npy",
            ));
        }
        let is_file = is_kind("safetensors");
        let folder = match is_file || is_npy {
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
                let why = match folder.is_file() {
                    true => String::from("it is a file"),
                    false => error.to_string(),
                };
                Error::input(format!("cannot write to the folder {}: {why}", folder.display()))
                    .help("give --out another folder")
            })?;
        // Its arrays and its text are in memory at once.
        let bytes = outputs
            .iter()
            .fold(0, |sum: u64, t| sum.saturating_add(bytes_of(t)));
        if is_file && bytes.saturating_mul(2) > available_memory() {
            return Err(Error::input(format!(
                "the outputs have {bytes} bytes, too many for one .safetensors file"
            ))
            .help("give --out a folder: a .npy file may have any size"));
        }
        match is_file {
            true if out.is_dir() => Err(Error::input(format!(
                "cannot write {}: it is a folder",
                out.display()
            ))),
            true => Ok(Destination::Safetensors(out.to_path_buf())),
            false if is_npy => Ok(Destination::Npy(out.to_path_buf())),
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
                    whole(&path, |file| npy(file, tensor, memory))?;
                }
                Ok(())
            }
            Destination::Npy(path) => {
                for tensor in tensors {
                    whole(path, |file| npy(file, tensor, memory))?;
                }
                Ok(())
            }
            Destination::Safetensors(path) => {
                let arrays: Vec<(String, DataArray)> = tensors
                    .map(|tensor| (tensor.name.clone(), array(tensor, memory)))
                    .collect();
                let bytes = write_safetensors(&arrays)?;
                whole(path, |file| file.write_all(&bytes))
            }
        }
    }
}

fn npy(file: &mut File, tensor: &Tensor, memory: &Memory) -> io::Result<()> {
    file.write_all(&npy_header(tensor.dtype, &tensor.shape))?;
    for first in (0..tensor.elements()).step_by(CHUNK as usize) {
        file.write_all(&memory.gather(tensor, first, CHUNK))?;
    }
    Ok(())
}

fn bytes_of(tensor: &Tensor) -> u64 {
    tensor.elements().saturating_mul(tensor.dtype.bytes() as u64)
}

fn array(tensor: &Tensor, memory: &Memory) -> DataArray {
    DataArray {
        dtype: tensor.dtype,
        shape: tensor.shape.clone(),
        bytes: memory.gather(tensor, 0, tensor.elements()),
    }
}

/// Argument names are Python's, `pair.1` for an element of a tuple, but a launch file may quote any key: no
/// path may come out of one.
fn file_name(name: &str) -> String {
    let safe = |c: char| {
        if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') {
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

fn whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let draft = path.with_file_name(temporary(&name));
    File::create(&draft)
        .and_then(|mut file| write(&mut file))
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
        assert_eq!(file_name("../../etc/passwd"), ".._.._etc_passwd");
        assert_eq!(file_name("pair.1"), "pair.1");
        assert_eq!(file_name("größe"), "größe");
    }
}
