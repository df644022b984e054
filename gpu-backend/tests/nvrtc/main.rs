//! Generated CUDA C++ through NVRTC, for two architectures: it compiles, and kernels of `kernels/` need no local memory.
//!
//! NVRTC is a library that needs no GPU: `pip install nvidia-cuda-nvrtc==13.0.88`, and `TILESCOPE_NVRTC` set to its folder of
//! libraries. Where it is not found, all tests are skipped, by name.
#![allow(clippy::print_stderr, reason = "says what is skipped")]

#[allow(dead_code, reason = "what compares results is not used here")]
#[path = "../cpu/case.rs"]
mod case;

use std::path::{Path, PathBuf};

use case::Case;
use libtest_mimic::{Arguments, Failed, Trial};
use tilescope_gpu_backend::nvrtc::{Form, Nvrtc};
use tilescope_gpu_backend::{Options, cache::Cache};

/// What is compiled for.
const ARCHITECTURES: [&str; 2] = ["sm_80", "sm_90a"];

fn main() {
    let arguments = Arguments::from_args();
    let folder = std::env::var_os("TILESCOPE_NVRTC").map(PathBuf::from);
    let nvrtc = Nvrtc::find(folder.as_deref()).ok();
    if nvrtc.is_none() {
        eprintln!("skipped: NVRTC is not found (set TILESCOPE_NVRTC); generated kernels are not compiled");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let mut trials = Vec::new();
    for folder in std::fs::read_dir(root).into_iter().flatten().flatten() {
        for entry in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.to_string_lossy().ends_with(".launch.toml") || !case::ttir_of(&path).exists() {
                continue;
            }
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .replace(".launch.toml", "");
            let trial = Trial::test(name, move || match &nvrtc {
                Some(nvrtc) => compiles(nvrtc, &path),
                None => Ok(()),
            });
            trials.push(trial.with_ignored_flag(nvrtc.is_none()));
        }
    }
    trials.push(Trial::test("cache", cache));
    libtest_mimic::run(&arguments, trials).exit();
}

fn compiles(nvrtc: &Nvrtc, path: &Path) -> Result<(), Failed> {
    let case = Case::open(path, &[])?;
    let generated = case.generate(Options::default())?;
    for architecture in ARCHITECTURES {
        let image = nvrtc
            .compile(&generated, architecture, Form::Cubin)
            .map_err(|e| format!("{architecture}: {} {:?}", e.message, e.notes))?;
        let used = image.resources;
        if used.stack != 0 || used.spill_stores != 0 {
            return Err(format!("{architecture}: local memory is used: {used:?}").into());
        }
    }
    Ok(())
}

/// A compiled kernel is found again as it was, by the same key only, and not when its file is damaged.
fn cache() -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/vector_add/vector_add.launch.toml");
    let generated = Case::open(&root, &[])?.generate(Options::default())?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    let _ = std::fs::remove_dir_all(&folder);
    let cache = Cache::new(&folder);
    let image = tilescope_gpu_backend::Image {
        code: vec![1, 2, 3],
        resources: Default::default(),
    };
    cache.store(&generated, "sm_90a", (13, 0), &image);
    let found = |architecture: &str| cache.find(&generated, architecture, (13, 0));
    if found("sm_90a") != Some(image) || found("sm_80").is_some() {
        return Err("what was stored is not what is found".into());
    }
    let file = std::fs::read_dir(&folder)?
        .flatten()
        .next()
        .ok_or("no file")?
        .path();
    let mut bytes = std::fs::read(&file)?;
    bytes.pop();
    std::fs::write(&file, bytes)?;
    if found("sm_90a").is_some() {
        return Err("a damaged file is taken".into());
    }
    match cache.clear() {
        Ok(1) => Ok(()),
        other => Err(format!("cleared {other:?}").into()),
    }
}
