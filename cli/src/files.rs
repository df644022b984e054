//! Where the files of a launch come from: a folder on disk, or an example built into the binary.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tilescope_diagnostics::render::Sources;
use tilescope_diagnostics::{Error, Result, Source, closest};
use tilescope_frontend::limits::MAX_FILE_BYTES;
use tilescope_kernels::{Example, KERNELS, example};

/// The largest text that is read: TTIR of a huge kernel is some ten megabytes.
const MAX_TEXT: u64 = 256 << 20;

/// The largest source that is read only to show a line of it.
const MAX_SHOWN: u64 = 16 << 20;

/// Files of a folder that are looked at for the one that may be meant.
const MAX_NEIGHBOURS: usize = 1000;

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
    let file = argument.split_once("::").map_or(argument, |(file, _)| file);
    if file.ends_with(".py") && Path::new(file).is_file() {
        return Err(
            Error::input(format!("`{file}` is a Python file, not a launch file")).help(format!(
                "`tilescope init {argument}` writes a launch file for its kernel"
            )),
        );
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

    /// The error that a file is not there: where it was looked for, and what may be meant.
    pub fn missing(&self, name: &str) -> Option<Box<Error>> {
        let Files::Folder(folder) = self else {
            return None;
        };
        let path = direct(&folder.join(name));
        if path.exists() {
            return None;
        }
        let error = no_file(&path);
        let is_here =
            !folder.as_os_str().is_empty() && Path::new(name).is_relative() && Path::new(name).exists();
        if !is_here {
            return Some(error);
        }
        let error = error.note("paths are relative to the launch file");
        Some(match up(folder) {
            Some(up) => error.help(format!("write \"{}\"", up.join(name).display())),
            None => error,
        })
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

/// The files that the front end reads, each once; it names them relative to the launch file.
#[derive(Debug)]
pub struct PythonFiles {
    files: Files,
    read: RefCell<Vec<PythonText>>,
}

/// A Python file that was read.
#[derive(Debug, Clone)]
pub struct PythonText {
    /// Its path as locations give it.
    path: String,
    text: Arc<Source>,
}

impl PythonFiles {
    /// Files as seen from a launch file; nothing is read yet.
    pub fn new(files: &Files) -> PythonFiles {
        PythonFiles {
            files: files.clone(),
            read: RefCell::default(),
        }
    }

    /// The files that were read so far.
    pub fn texts(&self) -> Vec<PythonText> {
        self.read.borrow().clone()
    }

    /// A folder of the Python path, given relative to the current one, as seen from the launch file.
    ///
    /// # Errors
    /// When it is no folder.
    pub fn entry(&self, folder: &Path) -> Result<String> {
        let shown = folder.display();
        if !folder.is_dir() {
            return Err(Error::input(format!("--python-path: `{shown}` is no folder")));
        }
        let absolute = || std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
        let folder = match &self.files {
            Files::Folder(base) if folder.is_relative() => match up(base) {
                Some(up) => up.join(folder),
                None => absolute(),
            },
            _ => absolute(),
        };
        match folder.to_str() {
            Some(folder) => Ok(folder.to_string()),
            None => Err(Error::unsupported(format!(
                "--python-path: `{shown}` is not UTF-8 text"
            ))),
        }
    }
}

/// The way from a relative folder to the current one.
fn up(folder: &Path) -> Option<PathBuf> {
    let mut up = PathBuf::new();
    for component in folder.components() {
        match component {
            Component::Normal(_) => up.push(".."),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(up)
}

impl tilescope_frontend::source::Files for PythonFiles {
    fn read(&self, path: &str) -> std::result::Result<Option<Arc<Source>>, String> {
        let text = match &self.files {
            Files::Folder(folder) => {
                let file = direct(&folder.join(path));
                if !file.is_file() {
                    return Ok(None);
                }
                Source::new(
                    file.to_string_lossy(),
                    python_text(read(&file, MAX_FILE_BYTES as u64)?)?,
                )
            }
            Files::Example(example) => match example.file(path) {
                Some(text) => Source::new(path, text),
                None => return Ok(None),
            },
        };
        self.read.borrow_mut().push(PythonText {
            path: path.to_string(),
            text: text.clone(),
        });
        Ok(Some(text))
    }
}

/// The files beside a Python file that a command line names, and its name among them.
///
/// # Errors
/// When there is no such file, or it is clearly none of Python.
pub fn open_python(path: &Path) -> Result<(PythonFiles, String)> {
    let shown = path.display();
    if path.is_dir() {
        return Err(Error::input(format!("`{shown}` is a folder")).help("give one of its .py files"));
    }
    if !path.exists() {
        return Err(no_file(path));
    }
    let kind = path.extension().unwrap_or_default().to_string_lossy();
    match &*kind {
        "toml" => {
            return Err(Error::input(format!("`{shown}` is a launch file"))
                .help("give the Python file, the one that its `kernel` names"));
        }
        "ttir" | "mlir" => {
            return Err(Error::input(format!("`{shown}` is TTIR")).help("give a Python file"));
        }
        _ => {}
    }
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok((PythonFiles::new(&Files::Folder(folder)), name.into_owned()))
}

/// That a file is not there, with the name of its neighbour that may be meant.
fn no_file(path: &Path) -> Box<Error> {
    let error = Error::input(format!("there is no file `{}`", path.display()));
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return error.note(format!("there is no folder `{}`", folder.display()));
    }
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .take(MAX_NEIGHBOURS);
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension() == path.extension())
        .collect();
    names.sort();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match closest(&name, names.iter().map(String::as_str)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// A path without `a/..`.
fn direct(path: &Path) -> PathBuf {
    let mut direct = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir if matches!(direct.components().next_back(), Some(Component::Normal(_))) => {
                direct.pop();
            }
            Component::CurDir => {}
            component => direct.push(component),
        }
    }
    direct
}

/// The texts that the locations of one kernel point into.
#[derive(Debug)]
pub struct KernelTexts<'a> {
    /// The kernel's own text, where it is TTIR.
    pub ttir: Option<&'a Arc<Source>>,
    /// Python files that it was compiled from.
    pub python: &'a [PythonText],
    /// Files relative to the kernel's folder.
    pub files: Files,
}

impl Sources for KernelTexts<'_> {
    fn text(&self, file: &str) -> Option<Arc<Source>> {
        if let Some(ttir) = self.ttir.filter(|ttir| ttir.name == file) {
            return Some(ttir.clone());
        }
        if let Some(python) = self.python.iter().find(|python| python.path == file) {
            return Some(python.text.clone());
        }
        self.files.text_of_at_most(file, MAX_SHOWN).ok()
    }
}

/// The text of a file.
pub fn read_text(path: &Path) -> std::result::Result<String, String> {
    read(path, MAX_TEXT).and_then(utf8)
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

/// The text of a Python file: UTF-8, or Latin-1 where one of its first two lines says so (PEP 263).
fn python_text(bytes: Vec<u8>) -> std::result::Result<String, String> {
    let mut lines = bytes.split(|byte| *byte == b'\n').take(2);
    let named = lines.find_map(coding);
    match named.as_deref() {
        Some("latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "iso-latin-1" | "l1") => {
            Ok(bytes.into_iter().map(char::from).collect())
        }
        named => utf8(bytes).map_err(|why| match named {
            Some(named) if !matches!(named, "utf-8" | "utf8" | "ascii") => {
                format!("it says that its encoding is {named}, which is not read: convert it to UTF-8")
            }
            _ => why,
        }),
    }
}

/// The encoding that a comment line names: `# -*- coding: latin-1 -*-`.
fn coding(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line);
    let comment = line.trim_start().strip_prefix('#')?;
    let after = &comment[comment.find("coding")? + "coding".len()..];
    let name = after.strip_prefix([':', '='])?.trim_start();
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
    let name = &name[..end.unwrap_or(name.len())];
    Some(name.to_ascii_lowercase().replace('_', "-"))
}

fn utf8(bytes: Vec<u8>) -> std::result::Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "it is not UTF-8 text (at byte {})",
            error.utf8_error().valid_up_to()
        )
    })
}
