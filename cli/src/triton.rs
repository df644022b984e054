//! Triton's own compiler, where a Python has it: a kernel's TTIR text becomes machine code.

use std::path::PathBuf;
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

/// A kernel of a launch as Triton compiles it, and Triton's version.
///
/// # Errors
/// Unsupported, without a Python that has Triton; what Triton says of a kernel that it refuses.
pub fn compile(
    kernel_of: &Kernel,
    launch: &Launch,
    architecture: &str,
) -> Result<(Generated, Image, String)> {
    let python = python();
    let folder = Folder(std::env::temp_dir().join(format!("tilescope-triton-{}", std::process::id())));
    let text = folder.0.join(format!("{}.ttir", launch.kernel));
    let written = std::fs::create_dir_all(&folder.0)
        .and_then(|()| std::fs::write(&text, tilescope_ir::text::print(&kernel_of.module)));
    written.map_err(|why| Error::input(format!("cannot write {}: {why}", text.display())))?;
    let ran = Command::new(&python)
        .args(["-c", SCRIPT])
        .arg(&text)
        .arg(&folder.0)
        .arg(capability(architecture))
        .arg(launch.options.num_warps.to_string())
        .arg(launch.options.num_stages.to_string())
        .output();
    let install = "install Triton (pip install triton), and name its Python in TILESCOPE_PYTHON";
    let ran = ran.map_err(|why| {
        Error::unsupported(format!(
            "there is no Triton: {} is not run: {why}",
            python.display()
        ))
        .help(install)
    })?;
    if !ran.status.success() {
        let log = String::from_utf8_lossy(&ran.stderr).into_owned();
        if log.contains("No module named 'triton'") {
            return Err(Error::unsupported(format!(
                "there is no Triton: {} does not have it",
                python.display()
            ))
            .help(install));
        }
        let lines: Vec<&str> = log.lines().collect();
        let last = lines.len().saturating_sub(12);
        return Err(
            Error::unsupported(format!("Triton does not compile `{}`", launch.kernel))
                .note(lines[last..].join("\n")),
        );
    }
    let output = String::from_utf8_lossy(&ran.stdout);
    let code = folder.0.join("kernel.cubin");
    let code = std::fs::read(&code)
        .map_err(|why| Error::unsupported(format!("Triton left no {}: {why}", code.display())))?;
    let function = &kernel_of.module.funcs[kernel_of.function];
    let generated = kernel(function, launch, &output)?;
    let image = Image {
        code,
        resources: Default::default(),
    };
    Ok((generated, image, version(&output).unwrap_or("?").to_string()))
}
