//! What GPUs computed of drawn cases of the kernels (`tests/gpu/drawn/`), as an engine: it must lie within the bounds of the twin.
//! The three types, sizes near boundaries and extreme data are among the cases, and different numbers of warps.
//!
//! A file of JSON, one line each: first the device, then a case. `sh run.sh` of the folder of `cargo xtask gpu` records it. A case
//! whose kernel or launch file has changed since fails: record it again.

#[allow(dead_code, reason = "some of it is for recording")]
mod opened;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use libtest_mimic::{Arguments, Failed, Trial};
use opened::{Opened, launches};
use serde_json::Value;
use tilescope_diagnostics::{Error, Result};
use tilescope_difftest::judge::{Bench, Subject};
use tilescope_difftest::{Ended, Engine};
use tilescope_kernels::REFERENCES;
use tilescope_launch::Memory;

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut trials = vec![Trial::test("a_wrong_record_is_found", a_wrong_record_is_found)];
    for entry in std::fs::read_dir(root.join("tests/gpu/drawn"))
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
        for (name, launch) in launches(&root.join("kernels")) {
            let lines: Vec<Value> = text
                .lines()
                .skip(1)
                .filter_map(|line| serde_json::from_str(line).ok())
                .filter(|value: &Value| value["launch"].as_str() == Some(&name))
                .collect();
            // Texts that promise what few cases hold have none.
            if !lines.is_empty() {
                trials.push(Trial::test(format!("{device}/{name}"), move || {
                    lines.iter().try_for_each(|line| agrees(&launch, line))
                }));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A device's outputs of one case.
struct Recorded<'r> {
    name: String,
    outputs: &'r Value,
}

impl Engine for Recorded<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn warps(&self) -> &[u32] {
        &[]
    }

    fn run(&self, subject: &Subject, _: Option<u32>, memory: &mut Memory) -> Result<Ended> {
        let outputs = self.outputs.as_object().into_iter().flatten();
        for (name, hex) in outputs {
            let wrong = |why: &str| Error::input(format!("`{name}`: {why}"));
            let tensor = subject.bound.tensors().iter().find(|t| t.name == *name);
            let tensor = tensor.ok_or_else(|| wrong("the launch has no such output"))?;
            let bytes = bytes_of(hex.as_str().unwrap_or_default());
            let bytes = bytes.ok_or_else(|| wrong("no hexadecimal bytes"))?;
            let allocation = memory.allocations.get_mut(tensor.allocation.0 as usize);
            let allocation = allocation.filter(|a| a.bytes.len() == bytes.len());
            let allocation =
                allocation.ok_or_else(|| wrong("it has another size than it was recorded with"))?;
            allocation.bytes.copy_from_slice(&bytes);
        }
        Ok(Ended::Ran(Vec::new()))
    }
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

fn failed(error: Box<Error>) -> Failed {
    format!("{error} {}", error.notes.join(" ")).into()
}

/// The recorded outputs lie within the bounds.
fn agrees(launch: &Path, recorded: &Value) -> std::result::Result<(), Failed> {
    let words = recorded["case"].as_str().ok_or("no case")?;
    let opened = Opened::of(launch).map_err(failed)?;
    let case = opened.space.parse(words).map_err(failed)?;
    let subject = opened.subject(&case).map_err(failed)?;
    let warps = recorded["warps"].as_u64().unwrap_or_default();
    let engine = Recorded {
        name: format!("the recorded GPU, {warps} warps,"),
        outputs: &recorded["outputs"],
    };
    let engines: [&dyn Engine; 1] = [&engine];
    let cancel = AtomicBool::new(false);
    let bench = Bench::of_engines(&engines, REFERENCES, &cancel);
    let judged = bench.judge(&subject, None, 0).map_err(failed)?;
    match judged
        .failure
        .and_then(|failure| failure.findings.into_iter().next())
    {
        Some(finding) => Err(format!("{words}: {} {:?}", finding.message, finding.operands).into()),
        None => Ok(()),
    }
}

/// The test can fail: a record of x + y that is wrong in one element.
fn a_wrong_record_is_found() -> std::result::Result<(), Failed> {
    let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/vector_add/vector_add.launch.toml");
    let record = serde_json::json!({
        "case": "n_elements=2,seed=1", "warps": 4, "outputs": { "output_ptr": "0000803f00000040" },
    });
    match agrees(&launch, &record) {
        Err(why) if why.message().is_some_and(|m| m.contains("the recorded GPU")) => Ok(()),
        Err(why) => Err(why),
        Ok(()) => Err("a wrong sum is taken for right".into()),
    }
}
