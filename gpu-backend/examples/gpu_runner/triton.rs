//! Kernels as Triton compiles them, for the same launches.

use std::path::Path;
use std::process::Command;

use tilescope_gpu_backend::Image;
use tilescope_gpu_backend::triton::{SCRIPT, capability, kernel};

use crate::case::Case;
use crate::{Built, text};

/// Compiles a launch's kernel by the Triton of a Python, for a number of warps.
pub fn build(python: &Path, architecture: &str, path: &Path, warps: u32) -> Result<Built, String> {
    let case = Case::open(path, &[]).map_err(|e| e.message().unwrap_or("?").to_string())?;
    let started = std::time::Instant::now();
    let name = crate::name_of(path);
    let folder = std::env::temp_dir().join(format!("gpu-runner-{}-{name}-w{warps}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
    let file = folder.join("kernel.ttir");
    let (function, ttir) = case.kernel();
    std::fs::write(&file, ttir).map_err(|why| why.to_string())?;
    let ran = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(&file)
        .arg(&folder)
        .arg(capability(architecture))
        .arg(warps.to_string())
        .arg(case.launch().options.num_stages.to_string())
        .output()
        .map_err(|why| why.to_string())?;
    let code = std::fs::read(folder.join("kernel.cubin"));
    let _ = std::fs::remove_dir_all(&folder);
    let Ok(code) = code else {
        let log = String::from_utf8_lossy(&ran.stderr).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        return Err(lines[lines.len().saturating_sub(3)..].join(" "));
    };
    let output = String::from_utf8_lossy(&ran.stdout);
    let generated = kernel(function, case.launch(), &output).map_err(text)?;
    Ok(Built {
        generated,
        image: Image {
            code,
            resources: Default::default(),
        },
        seconds: started.elapsed().as_secs_f64(),
        case,
    })
}
