//! `cargo xtask gpu`: everything that is run on a machine with a GPU, as one folder that needs no cargo there.
//!
//! The folder holds the two runners and the command line, kernels with their launch files, and `run.sh`, which does it all. The
//! programs are for this machine's C library or later. The logs are what comes back, with `drawn.jsonl` and `recorded.jsonl`, which
//! belong to `tests/gpu/drawn/` and `tests/gpu/recorded/`.

use std::path::Path;

use anyhow::{Context, Result};

/// What `run.sh` is.
const SCRIPT: &str = include_str!("gpu.sh");

/// Builds the folder `target/gpu`.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let profile = if args.iter().any(|a| a == "--dev") {
        "dev"
    } else {
        "release"
    };
    for what in [
        &["--package", "tilescope-gpu-backend", "--example", "gpu-runner"][..],
        &["--package", "tilescope-difftest", "--example", "gpu-fuzz"],
        &["--package", "tilescope-cli"],
    ] {
        super::cargo(&[&["build", "--profile", profile], what].concat(), &[])?;
    }
    let target = super::target();
    let folder = target.join("gpu");
    let built = if profile == "dev" { "debug" } else { profile };
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for name in ["gpu-runner", "gpu-fuzz", "tilescope"] {
        let place = if name == "tilescope" { "" } else { "examples" };
        let program = target.join(built).join(place).join(name);
        std::fs::copy(&program, folder.join(name))
            .with_context(|| format!("cannot copy {}", program.display()))?;
    }
    for (from, to) in [
        ("kernels", "kernels"),
        ("tests/pass", "ops"),
        ("tests/fail", "fail"),
        ("tests/gpu/bench", "bench"),
        ("difftest/tests/generated/kept", "kept"),
    ] {
        copy(&root.join(from), &folder.join(to))?;
    }
    std::fs::write(folder.join("run.sh"), SCRIPT)?;
    println!(
        "{}: copy it to the machine with the GPU and run `sh run.sh` there",
        folder.display()
    );
    Ok(())
}

/// What launches consist of (launch files, TTIR, data) and scripts, in the same folders.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from).into_iter().flatten() {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        let kind = path
            .extension()
            .and_then(|kind| kind.to_str())
            .unwrap_or_default();
        if path.is_dir() {
            copy(&path, &target)?;
        } else if ["toml", "ttir", "py", "npy"].contains(&kind) {
            std::fs::create_dir_all(to)?;
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
