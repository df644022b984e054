//! The interpreter against what GPUs computed: outputs of small cases, recorded on devices by the runner of `cargo xtask gpu`
//! (`tests/gpu/recorded/`, lines of JSON: first the device, then a case per line).
//!
//! A case whose kernel or launch file has changed since fails as well: record it again.

#[allow(dead_code, reason = "what generates code is not used here")]
#[path = "../cpu/case.rs"]
mod case;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use case::Case;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut launches = HashMap::new();
    for folder in ["kernels", "tests/pass", "gpu-backend/tests/data"] {
        find(&root.join(folder), &mut launches);
    }
    let mut trials = Vec::new();
    for entry in std::fs::read_dir(root.join("tests/gpu/recorded"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = entry.path();
        if path.extension().is_none_or(|kind| kind != "jsonl") {
            continue;
        }
        let device = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for line in text.lines().skip(1) {
            let parsed: Result<Value, _> = serde_json::from_str(line);
            let Ok(value) = parsed else {
                trials.push(Trial::test(format!("{device}/unreadable"), || {
                    Err("no JSON".into())
                }));
                continue;
            };
            let name = value["case"].as_str().unwrap_or_default().to_string();
            let launch = launches.get(&name).cloned();
            trials.push(Trial::test(format!("{device}/{name}"), move || {
                agrees(&launch.ok_or("there is no such launch file any more")?, &value)
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Launch files by name.
fn find(folder: &Path, launches: &mut HashMap<String, PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        match name.strip_suffix(".launch.toml") {
            _ if path.is_dir() => find(&path, launches),
            Some(name) => {
                launches.insert(name.into(), path);
            }
            None => {}
        }
    }
}

/// The interpreter's outputs are those of the device, up to the tolerance of their types.
fn agrees(launch: &Path, recorded: &Value) -> Result<(), Failed> {
    let vars: Vec<(String, i64)> = recorded["vars"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_i64().unwrap_or(0)))
        .collect();
    let case = Case::open(launch, &vars)?;
    let (memory, _) = case.check()?;
    let mut device: Vec<Vec<u8>> = memory.allocations.iter().map(|a| a.bytes.to_vec()).collect();
    let outputs = recorded["outputs"].as_object().ok_or("no outputs")?;
    for (name, hex) in outputs {
        let tensor = case.bound.tensors().iter().find(|t| t.name == *name);
        let allocation = tensor
            .ok_or("an output that the launch does not have")?
            .allocation
            .0 as usize;
        let bytes = bytes_of(hex.as_str().unwrap_or_default()).ok_or("no hexadecimal bytes")?;
        if device
            .get(allocation)
            .is_none_or(|before| before.len() != bytes.len())
        {
            return Err(format!("`{name}` has another size than it was recorded with").into());
        }
        device[allocation] = bytes;
    }
    case.compare(&memory, &device)
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}
