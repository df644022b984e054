//! Generated CUDA C++ through NVRTC, for two architectures: it compiles, kernels of `kernels/` need no
//! local memory, and checked builds and those that dump compile too.
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut launches = Vec::new();
    for folder in ["../kernels", "../tests/pass", "tests/data"] {
        find(&root.join(folder), &mut launches);
    }
    launches.sort();
    let mut trials = Vec::new();
    for path in launches {
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
    trials.push(Trial::test("cache", cache));
    libtest_mimic::run(&arguments, trials).exit();
}

/// Launch files with a TTIR text beside them.
fn find(folder: &Path, launches: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, launches);
        } else if path.to_string_lossy().ends_with(".launch.toml") && case::ttir_of(&path).exists() {
            launches.push(path);
        }
    }
}

/// Each architecture compiles it; a checked build is compiled for one.
fn compiles(nvrtc: &Nvrtc, path: &Path) -> Result<(), Failed> {
    let case = Case::open(path, &[])?;
    let Ok(generated) = case.generate(Options::default()) else {
        // What is refused is the business of the test `cpu`.
        return Ok(());
    };
    let is_example = path.iter().any(|part| part == "kernels");
    for architecture in ARCHITECTURES {
        let image = nvrtc
            .compile(&generated, architecture, Form::Cubin)
            .map_err(|e| format!("{architecture}: {} {:?}", e.message, e.notes))?;
        let used = image.resources;
        if is_example && (used.stack != 0 || used.spill_stores != 0) {
            return Err(format!("{architecture}: local memory is used: {used:?}").into());
        }
    }
    let checked = case.generate(Options {
        checked: true,
        ..Options::default()
    })?;
    nvrtc
        .compile(&checked, ARCHITECTURES[1], Form::Cubin)
        .map_err(|e| format!("checked: {} {:?}", e.message, e.notes))?;
    let dumping = case.generate_dumping(Options {
        specialize: false,
        ..Options::default()
    })?;
    nvrtc
        .compile(&dumping, ARCHITECTURES[1], Form::Cubin)
        .map_err(|e| format!("dumping: {} {:?}", e.message, e.notes))?;
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
