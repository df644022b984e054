//! Where the files of a launch come from: a folder on disk, or an example built into the binary.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tilescope_diagnostics::render::Sources;
use tilescope_diagnostics::{Error, Result, Source, closest};
use tilescope_kernels::{Example, KERNELS, example};

/// The largest text that is read: TTIR of a huge kernel is some ten megabytes.
const MAX_TEXT: u64 = 256 << 20;

/// The largest source that is read only to show a line of it.
const MAX_SHOWN: u64 = 16 << 20;

/// The files that a launch file may name, and itself.
#[derive(Debug, Clone)]
pub enum Files {
    /// Files relative to a folder.
    Folder(PathBuf),
    /// Files of a built-in example.
    Example(&'static Example),
}

/// Finds the launch that a command line names: a file, or else a built-in example.
///
/// # Errors
/// When it is neither, or cannot be read.
pub fn open(argument: &str) -> Result<(Arc<Source>, Files)> {
    let path = Path::new(argument);
    if !path.exists()
        && let Some(example) = example(argument)
    {
        return Ok((
            Source::new(argument, example.launch.text),
            Files::Example(example),
        ));
    }
    let text = read(path, MAX_TEXT).and_then(utf8).map_err(|why| {
        let error = Error::input(format!("cannot read `{argument}`: {why}"));
        if path.exists() {
            return error;
        }
        error.help(
            match closest(argument, KERNELS.iter().map(|example| example.name)) {
                Some(near) => format!("did you mean the example `{near}`?"),
                None => {
                    String::from("give a launch file, or one of the examples that `tilescope kernels` lists")
                }
            },
        )
    })?;
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    Ok((Source::new(argument, text), Files::Folder(folder)))
}

impl Files {
    /// The text of a file that the launch file names, under the name that a user would type.
    ///
    /// # Errors
    /// Says in words why it cannot be read.
    pub fn text(&self, name: &str) -> std::result::Result<Arc<Source>, String> {
        self.text_of_at_most(name, MAX_TEXT)
    }

    fn text_of_at_most(&self, name: &str, max: u64) -> std::result::Result<Arc<Source>, String> {
        let bytes = self.bytes(name, max)?;
        let shown = match self {
            Files::Folder(folder) => folder.join(name).to_string_lossy().into_owned(),
            Files::Example(_) => name.to_string(),
        };
        Ok(Source::new(shown, utf8(bytes)?))
    }

    fn bytes(&self, name: &str, max: u64) -> std::result::Result<Vec<u8>, String> {
        match self {
            Files::Folder(folder) => read(&folder.join(name), max),
            Files::Example(example) => match example.file(name) {
                Some(text) => Ok(text.as_bytes().to_vec()),
                None => Err(format!("the example {} has no such file", example.name)),
            },
        }
    }

    /// The same files seen from the folder of one of them.
    pub fn beside(&self, name: &str) -> Files {
        match (self, Path::new(name).parent()) {
            (Files::Folder(folder), Some(inner)) => Files::Folder(folder.join(inner)),
            _ => self.clone(),
        }
    }
}

impl tilescope_launch::Files for Files {
    fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>> {
        self.bytes(path, max_bytes)
            .map_err(|why| Error::input(format!("cannot read `{path}`: {why}")))
    }
}

/// The texts that the locations of one kernel point into.
#[derive(Debug)]
pub struct KernelTexts<'a> {
    /// The kernel's own text.
    pub ttir: &'a Arc<Source>,
    /// Files relative to the kernel's folder.
    pub files: Files,
}

impl Sources for KernelTexts<'_> {
    fn text(&self, file: &str) -> Option<Arc<Source>> {
        if file == self.ttir.name {
            return Some(self.ttir.clone());
        }
        self.files.text_of_at_most(file, MAX_SHOWN).ok()
    }
}

/// Reads a regular file of at most `max` bytes. A location may name anything, a device included.
fn read(path: &Path, max: u64) -> std::result::Result<Vec<u8>, String> {
    let words = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => String::from("there is no such file"),
        std::io::ErrorKind::PermissionDenied => String::from("permission denied"),
        _ => error.to_string(),
    };
    let meta = std::fs::metadata(path).map_err(words)?;
    if !meta.is_file() {
        return Err(String::from(if meta.is_dir() {
            "it is a folder"
        } else {
            "it is not a regular file"
        }));
    }
    if meta.len() > max {
        return Err(format!("it has {} bytes, more than {max}", meta.len()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(words)?;
    file.take(max).read_to_end(&mut bytes).map_err(words)?;
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>) -> std::result::Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "it is not UTF-8 text (at byte {})",
            error.utf8_error().valid_up_to()
        )
    })
}
