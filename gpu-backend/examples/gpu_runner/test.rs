//! Every launch on the device, at small sizes (recorded for the repository), at its own, and at others, against the interpreter.
//!
//! Cases are compiled and interpreted on all cores while the device runs those that are ready. All launches get their first sizes
//! before any gets its second, so a run that is out of time has seen every kernel.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use tilescope_diagnostics::{Check, Finding};
use tilescope_gpu_backend::Options;
use tilescope_gpu_backend::checked::CHECKS;
use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::nvrtc::Nvrtc;
use tilescope_launch::Memory;
use tilescope_launch::fault::Fault;

use crate::log::{Log, Outcome};
use crate::{Arguments, Built, Trouble, build, case, finish, name_of, record, text};

/// Prepared cases that may wait for the device.
const WAITING: usize = 8;

/// The process is to be started again: a kernel did not end.
const AGAIN: i32 = 99;

/// One launch at one size.
struct Job {
    path: PathBuf,
    vars: Vec<(String, i64)>,
    /// Its outputs are recorded.
    recorded: bool,
    /// In a checked build.
    checked: bool,
}

impl Job {
    fn name(&self) -> String {
        match self.checked {
            false => name_of(&self.path),
            true => {
                let parts: Vec<_> = self.path.iter().map(|part| part.to_string_lossy()).collect();
                let from = parts.len().saturating_sub(3);
                parts[from..].join("/").replace(".launch.toml", "")
            }
        }
    }

    fn sizes(&self) -> String {
        format!(
            "{}{}",
            case::sizes(&self.vars),
            if self.recorded { ", recorded" } else { "" }
        )
    }
}

/// A case that is ready for the device: with what must come out.
struct Ready {
    built: Built,
    memory: Memory,
    findings: Vec<Finding>,
    /// Some lanes have no value, so memory is not compared.
    undefined: bool,
}

/// Numbers that look random, the same every time.
fn noise(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// All launches at small sizes, at the sizes of their files, then at others within the ranges that the files give.
fn jobs(launches: &[PathBuf], shapes: usize) -> Vec<Job> {
    let is_fault = |path: &Path| path.iter().any(|part| part == "fail");
    let mut jobs = Vec::new();
    for path in launches.iter().filter(|path| !is_fault(path)) {
        jobs.push(Job {
            path: path.clone(),
            vars: case::tiny(path),
            recorded: true,
            checked: false,
        });
        jobs.push(Job {
            path: path.clone(),
            vars: case::tiny(path),
            recorded: false,
            checked: true,
        });
    }
    // What the other checks look at is left to the interpreter; some of those kernels never end.
    let is_checked = |path: &Path| {
        let ids = path
            .iter()
            .filter_map(|part| Check::from_id(&part.to_string_lossy()));
        ids.into_iter().any(|id| CHECKS.contains(&id))
    };
    for path in launches.iter().filter(|path| is_fault(path) && is_checked(path)) {
        jobs.push(Job {
            path: path.clone(),
            vars: Vec::new(),
            recorded: false,
            checked: true,
        });
    }
    for shape in 0..=shapes {
        for (index, path) in launches.iter().enumerate().filter(|(_, path)| !is_fault(path)) {
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
                vars: if shape == 0 { Vec::new() } else { vars.collect() },
                recorded: false,
                checked: false,
            });
        }
    }
    jobs
}

/// The allocations as the device leaves them, and the faults of a checked build.
fn on_device(device: &Device, built: &Built) -> Result<(Vec<Vec<u8>>, Vec<Fault>), Trouble> {
    let wrong = |e| Trouble::Wrong(text(e));
    let (tensors, launch, kernel) = (built.case.bound.tensors(), built.case.launch(), &built.generated);
    let memory = built.case.memory();
    let mut memory: Memory = memory.map_err(|e| Trouble::Wrong(e.message().unwrap_or("?").to_string()))?;
    let loaded = device.load(kernel, &built.image).map_err(wrong)?;
    // What is not copied to a GPU is told as what no code is generated for.
    let mut buffers = device.upload(&memory, tensors).map_err(|e| match e.kind {
        tilescope_diagnostics::ErrorKind::Unsupported => Trouble::Refused(text(e)),
        _ => Trouble::Wrong(text(e)),
    })?;
    device.scratch(&mut buffers, kernel, launch).map_err(wrong)?;
    if kernel.slots > 0 {
        device
            .watch(&mut buffers, kernel, launch, &memory)
            .map_err(wrong)?;
    }
    device.start(&loaded, kernel, launch, &buffers).map_err(wrong)?;
    if let Err(trouble) = finish(device) {
        // What does not end still uses them.
        std::mem::forget(buffers);
        std::mem::forget(loaded);
        return Err(trouble);
    }
    device.download(&buffers, &mut memory, tensors).map_err(wrong)?;
    let faults = device.faults(&buffers, kernel, launch, &memory).map_err(wrong)?;
    Ok((
        memory.allocations.iter().map(|a| a.bytes.to_vec()).collect(),
        faults,
    ))
}

/// Compiles a job and works out what it must give.
fn prepare(nvrtc: &Nvrtc, architecture: &str, job: &Job) -> Result<Ready, Trouble> {
    let options = Options {
        checked: job.checked,
        ..Options::default()
    };
    let built = build(nvrtc, architecture, &job.path, &job.vars, options)?;
    let expected = built.case.check();
    let (memory, mut findings) =
        expected.map_err(|e| Trouble::Wrong(e.message().unwrap_or("?").to_string()))?;
    let undefined = findings.iter().any(case::leaves_undefined);
    findings.retain(|finding| CHECKS.contains(&finding.check));
    Ok(Ready {
        built,
        memory,
        findings,
        undefined,
    })
}

/// What differs between the findings of the device and those of the interpreter.
fn compare_findings(ready: &Ready, faults: &[Fault]) -> Result<(), String> {
    let found = ready.built.case.findings_of(faults);
    let found = found.map_err(|e| e.message().unwrap_or("?").to_string())?;
    match found == ready.findings {
        true => Ok(()),
        false => Err(format!("found {found:?}, expected {:?}", ready.findings)),
    }
}

/// Runs all that the time allows; true when all agree.
pub fn run(arguments: &Arguments, nvrtc: &Nvrtc, launches: &[PathBuf]) -> Result<bool, String> {
    let started = Instant::now();
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("."));
    let text_of = |why: std::io::Error| why.to_string();
    std::fs::create_dir_all(&out).map_err(text_of)?;
    let mut log = Log::open(&out.join("cases.log")).map_err(text_of)?;
    let device = Device::open(0).map_err(text)?;
    let architecture = device.architecture();
    println!(
        "{}, driver {}, NVRTC {:?}, {architecture}",
        device.name(),
        device.driver(),
        nvrtc.version()
    );
    let mut jobs = jobs(launches, arguments.shapes);
    let all = jobs.len();
    jobs.retain(|job| !log.outcomes.contains_key(&(job.name(), job.sizes())));
    let recorded = out.join("recorded.jsonl");
    let is_new = !recorded.exists();
    let mut recorded = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(recorded)
        .map_err(text_of)?;
    if is_new {
        let _ = writeln!(recorded, "{}", record::head(&device, nvrtc));
    }
    let deadline = started + Duration::from_secs(arguments.limit);
    let next = AtomicUsize::new(0);
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
        for (job, ready) in receiver {
            let (name, sizes) = (job.name(), job.sizes());
            log.start(&name, &sizes);
            let outcome = match ready.and_then(|ready| one(&device, job, &ready, &mut recorded)) {
                Ok(outcome) => outcome,
                Err(Trouble::Refused(why)) => Outcome::Refused(why),
                Err(Trouble::Wrong(why)) => Outcome::Differs(why),
                Err(Trouble::Hung) => Outcome::Hung,
            };
            if let Outcome::Differs(why) = &outcome {
                println!(
                    "FAILED {name} at {sizes}: {}",
                    why.chars().take(1500).collect::<String>()
                );
            }
            let hung = matches!(outcome, Outcome::Hung);
            log.end(&name, &sizes, outcome);
            if hung {
                println!("HUNG {name} at {sizes}");
                std::process::exit(AGAIN);
            }
        }
    });
    println!("this process took {:.0} s", started.elapsed().as_secs_f64());
    Ok(summary(&log, all))
}

/// One prepared case on the device.
fn one(device: &Device, job: &Job, ready: &Ready, recorded: &mut std::fs::File) -> Result<Outcome, Trouble> {
    let built = &ready.built;
    let (actual, faults) = on_device(device, built)?;
    if job.checked {
        compare_findings(ready, &faults).map_err(Trouble::Wrong)?;
    }
    if !ready.undefined {
        let compared = built.case.compare(&ready.memory, &actual);
        compared.map_err(|e| Trouble::Wrong(e.message().unwrap_or("?").to_string()))?;
    }
    if job.recorded
        && let Some(line) = record::entry(&job.name(), &job.vars, &built.case, &actual)
    {
        let _ = writeln!(recorded, "{line}");
    }
    let resources = built.image.resources;
    Ok(Outcome::Agrees(
        resources.registers,
        resources.stack,
        built.seconds,
    ))
}

/// What came of the sizes of one launch.
#[derive(Default)]
struct Tally<'a> {
    agree: usize,
    differ: usize,
    hung: usize,
    refused: Option<&'a str>,
    registers: u32,
    stack: u32,
    compile_s: f64,
}

/// Prints the table; true when nothing differs.
fn summary(log: &Log, all: usize) -> bool {
    let mut tallies: BTreeMap<&str, Tally<'_>> = BTreeMap::new();
    for ((name, _), outcome) in &log.outcomes {
        let tally = tallies.entry(name).or_default();
        match outcome {
            Outcome::Agrees(registers, stack, seconds) => {
                tally.agree += 1;
                tally.registers = tally.registers.max(*registers);
                tally.stack = tally.stack.max(*stack);
                tally.compile_s = tally.compile_s.max(*seconds);
            }
            Outcome::Differs(_) => tally.differ += 1,
            Outcome::Hung => tally.hung += 1,
            Outcome::Refused(why) => tally.refused = Some(why),
        }
    }
    println!("kernel                                    sizes  differ  hung  registers  stack  compile s");
    for (name, tally) in &tallies {
        match &tally.refused {
            Some(why) => println!("{name:40}  refused: {why}"),
            None => println!(
                "{name:40}  {:5}  {:6}  {:4}  {:9}  {:5}  {:9.2}",
                tally.agree + tally.differ + tally.hung,
                tally.differ,
                tally.hung,
                tally.registers,
                tally.stack,
                tally.compile_s
            ),
        }
    }
    let sum = |count: fn(&Tally<'_>) -> usize| tallies.values().map(count).sum::<usize>();
    let (differ, hung) = (sum(|t| t.differ), sum(|t| t.hung));
    println!(
        "{} agree with the interpreter, {differ} do not, {hung} did not end, {} kernels are refused; {} of {all} cases",
        sum(|t| t.agree),
        tallies.values().filter(|t| t.refused.is_some()).count(),
        log.outcomes.len(),
    );
    differ + hung == 0
}
