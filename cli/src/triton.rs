//! Triton's own compiler, where a Python has it: a kernel's TTIR text becomes machine code.

use std::path::{Path, PathBuf};
use std::process::Command;

use tilescope_diagnostics::Error;
use tilescope_gpu_backend::triton::{SCRIPT, capability, kernel, version};
use tilescope_gpu_backend::{Generated, Image};
use tilescope_launch::Launch;

use crate::engine::Kernel;

type Result<T> = std::result::Result<T, Box<Error>>;

/// The Python that is asked: `$TILESCOPE_PYTHON`, else `python3`.
fn python() -> PathBuf {
    let given = std::env::var_os("TILESCOPE_PYTHON").filter(|value| !value.is_empty());
    given.map_or_else(|| PathBuf::from("python3"), PathBuf::from)
}

/// A folder of this process, removed when it is done with.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What Triton made of a kernel's text: machine code, and what it said of it.
#[derive(Debug, Clone)]
pub struct Code {
    /// The machine code.
    pub image: Image,
    /// What a launch must know, with the version, in Triton's words.
    pub said: String,
}

/// A kernel of a launch as Triton compiles it, and Triton's version.
///
/// # Errors
/// Unsupported, without a Python that has Triton; what Triton says of a kernel that it refuses.
pub fn compile(
    kernel_of: &Kernel,
    launch: &Launch,
    architecture: &str,
) -> Result<(Generated, Image, String)> {
    let text = tilescope_ir::text::print(&kernel_of.module);
    let code = machine_code(&text, launch, launch.options.num_warps, architecture)?;
    let function = &kernel_of.module.funcs[kernel_of.function];
    let generated = kernel(function, launch, &code.said)?;
    Ok((
        generated,
        code.image,
        version(&code.said).unwrap_or("?").to_string(),
    ))
}

const INSTALL: &str = "install Triton (pip install triton), and name its Python in TILESCOPE_PYTHON";

/// Asks whether there is a Triton.
///
/// # Errors
/// Unsupported, without a Python that has it.
pub fn find() -> Result<()> {
    let python = python();
    let ran = Command::new(&python).args(["-c", "import triton"]).output();
    let ran = ran.map_err(|why| not_run(&python, &why))?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(without_triton(&python)),
    }
}

fn not_run(python: &Path, why: &std::io::Error) -> Box<Error> {
    let python = python.display();
    Error::unsupported(format!("there is no Triton: {python} is not run: {why}")).help(INSTALL)
}

fn without_triton(python: &Path) -> Box<Error> {
    let python = python.display();
    Error::unsupported(format!("there is no Triton: {python} does not have it")).help(INSTALL)
}

/// The machine code of a kernel's text for so many warps.
///
/// # Errors
/// Unsupported, without a Python that has Triton; what Triton says of a kernel that it refuses.
pub fn machine_code(text: &str, launch: &Launch, warps: u32, architecture: &str) -> Result<Code> {
    let python = python();
    let folder = Folder(std::env::temp_dir().join(format!("tilescope-triton-{}", std::process::id())));
    let file = folder.0.join(format!("{}.ttir", launch.kernel));
    let written = std::fs::create_dir_all(&folder.0).and_then(|()| std::fs::write(&file, text));
    written.map_err(|why| Error::input(format!("cannot write {}: {why}", file.display())))?;
    let ran = Command::new(&python)
        .args(["-c", SCRIPT])
        .arg(&file)
        .arg(&folder.0)
        .arg(capability(architecture))
        .arg(warps.to_string())
        .arg(launch.options.num_stages.to_string())
        .output();
    let ran = ran.map_err(|why| not_run(&python, &why))?;
    if !ran.status.success() {
        let log = String::from_utf8_lossy(&ran.stderr).into_owned();
        if log.contains("No module named 'triton'") {
            return Err(without_triton(&python));
        }
        let lines: Vec<&str> = log.lines().collect();
        let last = lines.len().saturating_sub(12);
        return Err(
            Error::unsupported(format!("Triton does not compile `{}`", launch.kernel))
                .note(lines[last..].join("\n")),
        );
    }
    let code = folder.0.join("kernel.cubin");
    let code = std::fs::read(&code)
        .map_err(|why| Error::unsupported(format!("Triton left no {}: {why}", code.display())))?;
    Ok(Code {
        image: Image {
            code,
            resources: Default::default(),
        },
        said: String::from_utf8_lossy(&ran.stdout).into_owned(),
    })
}
