//! Every launch on the device, at its own sizes and at others, against the interpreter.
//!
//! Cases are compiled and interpreted on all cores while the device runs those that are ready. All launches get their first sizes
//! before any gets its second, so a run that is out of time has seen every kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use tilescope_gpu_backend::Options;
use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::nvrtc::Nvrtc;
use tilescope_launch::Memory;

use crate::case;
use crate::{Arguments, Built, Trouble, build, name_of, record, text};

/// Prepared cases that may wait for the device.
const WAITING: usize = 8;

/// One launch at one size.
struct Job {
    path: PathBuf,
    shape: usize,
    vars: Vec<(String, i64)>,
}

/// What came of the sizes of one launch.
#[derive(Default)]
struct Tally {
    agree: usize,
    differ: usize,
    refused: Option<String>,
    registers: u32,
    stack: u32,
    compile_s: f64,
}

/// Numbers that look random, the same every time.
fn noise(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// All launches at the sizes of their files, then at others within the ranges that the files give.
fn jobs(launches: &[PathBuf], shapes: usize) -> Vec<Job> {
    let mut jobs = Vec::new();
    for shape in 0..=shapes {
        for (index, path) in launches.iter().enumerate() {
            let ranges = case::ranges(path);
            if shape > 0 && ranges.is_empty() {
                continue;
            }
            let vars = ranges.iter().enumerate().map(|(i, (name, low, high))| {
                let random = noise((index * 100_000 + shape * 10 + i) as u64);
                let span = high.saturating_sub(*low).saturating_add(1).max(1) as u64;
                (name.clone(), low + (random % span) as i64)
            });
            jobs.push(Job {
                path: path.clone(),
                shape,
                vars: if shape == 0 { Vec::new() } else { vars.collect() },
            });
        }
    }
    jobs
}

/// The allocations as the device leaves them.
fn on_device(device: &Device, built: &Built) -> Result<Vec<Vec<u8>>, String> {
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

/// Compiles a job and works out what it must give.
fn prepare(nvrtc: &Nvrtc, architecture: &str, job: &Job) -> Result<(Built, Memory), Trouble> {
    let built = build(nvrtc, architecture, &job.path, &job.vars, Options::default())?;
    let expected = built.case.interpret();
    let expected = expected.map_err(|e| Trouble::Wrong(e.message().unwrap_or("?").to_string()))?;
    Ok((built, expected))
}

/// Runs all that the time allows; true when all agree.
pub fn run(arguments: &Arguments, nvrtc: &Nvrtc, launches: &[PathBuf]) -> Result<bool, String> {
    let started = Instant::now();
    let device = Device::open(0).map_err(text)?;
    let architecture = device.architecture();
    println!(
        "{}, driver {}, NVRTC {:?}, {architecture}",
        device.name(),
        device.driver(),
        nvrtc.version()
    );
    if let Some(out) = &arguments.out {
        record_all(&device, nvrtc, launches, out)?;
    }
    let jobs = jobs(launches, arguments.shapes);
    let deadline = started + Duration::from_secs(arguments.limit);
    let next = AtomicUsize::new(0);
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut done = 0;
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING);
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            let (sender, next, jobs, architecture) = (sender.clone(), &next, &jobs, &architecture);
            scope.spawn(move || {
                while Instant::now() < deadline
                    && let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed))
                    && sender.send((job, prepare(nvrtc, architecture, job))).is_ok()
                {}
            });
        }
        drop(sender);
        for (job, prepared) in receiver {
            done += 1;
            one(&device, job, prepared, tallies.entry(name_of(&job.path)).or_default());
        }
    });
    Ok(summary(&tallies, done, jobs.len(), started))
}

/// One prepared case on the device.
fn one(device: &Device, job: &Job, prepared: Result<(Built, Memory), Trouble>, tally: &mut Tally) {
    let outcome = prepared.and_then(|(built, expected)| {
        let actual = on_device(device, &built).map_err(Trouble::Wrong)?;
        let compared = built.case.compare(&expected, &actual);
        compared.map_err(|e| Trouble::Wrong(e.message().unwrap_or("?").to_string()))?;
        Ok(built)
    });
    match outcome {
        Ok(built) => {
            tally.agree += 1;
            tally.registers = tally.registers.max(built.image.resources.registers);
            tally.stack = tally.stack.max(built.image.resources.stack);
            tally.compile_s = tally.compile_s.max(built.seconds);
        }
        Err(Trouble::Refused(why)) => tally.refused = Some(why),
        Err(Trouble::Wrong(why)) => {
            tally.differ += 1;
            let why: String = why.chars().take(600).collect();
            println!(
                "FAILED {} at {}: {why}",
                name_of(&job.path),
                case::sizes(&job.vars)
            );
        }
    }
}

/// Prints the table; true when nothing differs.
fn summary(tallies: &BTreeMap<String, Tally>, done: usize, all: usize, started: Instant) -> bool {
    println!("kernel                          sizes  differ  registers  stack  compile s");
    for (name, tally) in tallies {
        match &tally.refused {
            Some(why) => println!("{name:30}  refused: {why}"),
            None => println!(
                "{name:30}  {:5}  {:6}  {:9}  {:5}  {:9.2}",
                tally.agree + tally.differ,
                tally.differ,
                tally.registers,
                tally.stack,
                tally.compile_s
            ),
        }
    }
    let sum = |count: fn(&Tally) -> usize| tallies.values().map(count).sum::<usize>();
    let differ = sum(|t| t.differ);
    println!(
        "{} agree with the interpreter, {differ} do not, {} kernels are refused; {done} of {all} cases in {:.0} s",
        sum(|t| t.agree),
        tallies.values().filter(|t| t.refused.is_some()).count(),
        started.elapsed().as_secs_f64()
    );
    differ == 0
}

/// Outputs at small sizes, for the repository.
fn record_all(device: &Device, nvrtc: &Nvrtc, launches: &[PathBuf], out: &Path) -> Result<(), String> {
    let architecture = device.architecture();
    let recorded = launches.iter().filter_map(|path| {
        let vars = case::tiny(path);
        let built = build(nvrtc, &architecture, path, &vars, Options::default()).ok()?;
        let after = on_device(device, &built).ok()?;
        Some(record::entry(&name_of(path), &vars, &built.case, &after))
    });
    let text = record::file(device, nvrtc, recorded.collect());
    std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(out.join("recorded.json"), text))
        .map_err(|why| why.to_string())
}
