//! NVRTC for the tests: a Python wheel (no GPU, no CUDA needed), in a private folder under the folder of builds.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The wheel.
const WHEEL: &str = "nvidia-cuda-nvrtc==13.0.88";

/// The folder of libraries to set `TILESCOPE_NVRTC` to: given by the environment, or installed here before or now. None where there is
/// no Python, no pip or no network, which is said; the tests that want NVRTC skip themselves by name then.
pub fn folder(target: &Path) -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("TILESCOPE_NVRTC").filter(|value| !value.is_empty()) {
        return Some(given.into());
    }
    let place = target.join("nvrtc");
    if let Some(found) = libraries(&place) {
        return Some(found);
    }
    println!("+ python3 -m pip install {WHEEL} (into {})", place.display());
    let installed = Command::new("python3")
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
        ])
        .args(["--root-user-action", "ignore", "--target"])
        .arg(&place)
        .arg(WHEEL)
        .status();
    let found = libraries(&place);
    if found.is_none() {
        let why = match installed {
            Ok(status) => format!("pip ended with {status}"),
            Err(why) => format!("python3 is not run: {why}"),
        };
        eprintln!("skipped: NVRTC is not installed ({why}); generated kernels are not compiled for GPUs");
    }
    found
}

/// The folder below `place` that holds libnvrtc.
fn libraries(place: &Path) -> Option<PathBuf> {
    let mut todo = vec![(place.to_path_buf(), 0)];
    while let Some((folder, depth)) = todo.pop() {
        for entry in std::fs::read_dir(&folder).ok().into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && depth < 4 {
                todo.push((path, depth + 1));
            } else if entry.file_name().to_string_lossy().starts_with("libnvrtc.so") {
                return Some(folder);
            }
        }
    }
    None
}
