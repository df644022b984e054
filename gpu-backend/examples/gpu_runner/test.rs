//! Every launch on the device, at its own sizes and at others, against the interpreter.

use std::path::PathBuf;

use tilescope_gpu_backend::Options;
use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::nvrtc::Nvrtc;
use tilescope_launch::Memory;

use crate::case;
use crate::{Arguments, Built, build, in_parallel, name_of, record};

/// One launch at one size.
struct Job {
    path: PathBuf,
    shape: usize,
    vars: Vec<(String, i64)>,
}

/// Numbers that look random, the same every time.
fn noise(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The sizes of a job: those of the file, the smallest, then any within the file's ranges.
fn jobs(launches: &[PathBuf], shapes: usize) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (index, path) in launches.iter().enumerate() {
        let ranges = case::ranges(path);
        for shape in 0..=shapes.min(if ranges.is_empty() { 0 } else { usize::MAX }) {
            let vars = ranges.iter().enumerate().map(|(i, (name, low, high))| {
                let random = noise((index * 1000 + shape * 10 + i) as u64);
                (
                    name.clone(),
                    low + (random % (high - low + 1).max(1) as u64) as i64,
                )
            });
            let vars = if shape == 0 { Vec::new() } else { vars.collect() };
            jobs.push(Job {
                path: path.clone(),
                shape,
                vars,
            });
        }
    }
    jobs
}

fn on_device(device: &Device, built: &Built) -> Result<Vec<Vec<u8>>, String> {
    let text = |e: Box<tilescope_diagnostics::Error>| e.message.clone();
    let tensors = built.case.bound.tensors();
    let mut memory: Memory = built
        .case
        .memory()
        .map_err(|e| e.message().unwrap_or("?").to_string())?;
    let loaded = device.load(&built.generated, &built.image).map_err(text)?;
    let buffers = device.upload(&memory, tensors).map_err(text)?;
    device
        .start(&loaded, &built.generated, built.case.launch(), &buffers)
        .map_err(text)?;
    device.finish().map_err(text)?;
    device.download(&buffers, &mut memory, tensors).map_err(text)?;
    Ok(memory.allocations.iter().map(|a| a.bytes.to_vec()).collect())
}

/// Runs all; true when all agree.
pub fn run(arguments: &Arguments, nvrtc: &Nvrtc, launches: &[PathBuf]) -> Result<bool, String> {
    let device = Device::open(0).map_err(|e| e.message.clone())?;
    let architecture = device.architecture();
    println!(
        "{}, driver {}, NVRTC {:?}, {architecture}",
        device.name(),
        device.driver(),
        nvrtc.version()
    );
    let jobs = jobs(launches, arguments.shapes);
    let prepared = in_parallel(&jobs, |job| {
        let built = build(nvrtc, &architecture, &job.path, &job.vars, Options::default())?;
        let expected = built
            .case
            .interpret()
            .map_err(|e| e.message().unwrap_or("?").to_string())?;
        Ok::<(Built, Memory), String>((built, expected))
    });
    let (mut passed, mut failed) = (0, 0);
    let mut last = String::new();
    for (job, prepared) in jobs.iter().zip(prepared) {
        let outcome = prepared.and_then(|(built, expected)| {
            let actual = on_device(&device, &built)?;
            let compared = built.case.compare(&expected, &actual);
            compared
                .map_err(|e| e.message().unwrap_or("?").to_string())
                .map(|()| built)
        });
        let name = name_of(&job.path);
        match outcome {
            Ok(built) => {
                passed += 1;
                if last != name {
                    let r = built.image.resources;
                    println!(
                        "ok     {name:30} {:3} registers, stack {}, compiled in {:.2} s",
                        r.registers, r.stack, built.seconds
                    );
                }
            }
            Err(why) => {
                failed += 1;
                println!(
                    "FAILED {name:30} shape {} {:?}: {}",
                    job.shape,
                    job.vars,
                    why.chars().take(600).collect::<String>()
                );
            }
        }
        last = name;
    }
    println!("{passed} agree with the interpreter, {failed} do not");
    if let Some(out) = &arguments.out {
        let recorded = launches.iter().filter_map(|path| {
            let vars = case::tiny(path);
            let built = build(nvrtc, &architecture, path, &vars, Options::default()).ok()?;
            let after = on_device(&device, &built).ok()?;
            Some(record::entry(&name_of(path), &vars, &built.case, &after))
        });
        let text = record::file(&device, nvrtc, recorded.collect());
        let _ = std::fs::create_dir_all(out);
        std::fs::write(out.join("recorded.json"), text).map_err(|e| e.to_string())?;
    }
    Ok(failed == 0)
}
