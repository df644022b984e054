//! Drawn cases of launch files on a device, judged as `tilescope diff --paths gpu` does, and what the device computed in them: lines of
//! JSON, first the device, then a case per line, with the bytes of its outputs' allocations in hexadecimal.

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tilescope_diagnostics::{Error, Result};
use tilescope_difftest::case::Case;
use tilescope_difftest::judge::{Bench, Subject};
use tilescope_difftest::{Ended, Engine, Failure, Judge, Relation, Verdict, search};
use tilescope_gpu_backend::session;
use tilescope_gpu_backend::{Options, generate};
use tilescope_kernels::REFERENCES;
use tilescope_launch::{Memory, Role};

use crate::opened::{Opened, launches};
use crate::{Arguments, Done, Gpu, text};

/// Elements of all tensors of a case together, at the most.
const MOST_ELEMENTS: u64 = 900;

/// Cases with more bytes of outputs are not kept.
const MOST_BYTES: usize = 1536;

/// Bytes of all lines: what a repository bears.
const MOST_RECORDED: usize = 900 << 10;

/// The device as an engine that keeps what it computed last, with the drawn number of warps.
struct Recorder {
    gpu: RefCell<Gpu>,
    last: RefCell<Option<String>>,
}

impl Engine for Recorder {
    fn name(&self) -> &str {
        "gpu"
    }

    fn warps(&self) -> &[u32] {
        &[1, 2, 4, 8]
    }

    fn run(&self, subject: &Subject, warps: Option<u32>, memory: &mut Memory) -> Result<Ended> {
        for ((module, kernel), launch) in subject.kernels.iter().zip(&subject.bound.launches) {
            let options = Options {
                specialize: false,
                warps,
                checked: warps.is_none(),
            };
            let generated = match generate(module, *kernel, launch, options, &|_, _| None) {
                Ok(generated) => generated,
                Err(why) => return Ok(Ended::Refused(why)),
            };
            match self.gpu.borrow_mut().run(&generated, None, launch, memory)? {
                session::Ended::Finished { faults, .. } if faults.is_empty() => {}
                session::Ended::Finished { faults, .. } => {
                    return Err(Error::input(format!("a fault: {:?}", faults.first())));
                }
                session::Ended::Interrupted => return Ok(Ended::Interrupted),
                session::Ended::Lost(why) => return Ok(Ended::Lost(why)),
            }
        }
        if let Some(warps) = warps {
            *self.last.borrow_mut() = outputs(subject, memory, warps);
        }
        Ok(Ended::Ran(Vec::new()))
    }
}

/// The outputs of a case, where they are small.
fn outputs(subject: &Subject, memory: &Memory, warps: u32) -> Option<String> {
    let tensors = subject.bound.tensors().iter();
    let outputs = tensors.filter(|t| t.role != Role::In && t.pointers.is_empty());
    let outputs = outputs.filter_map(|t| Some((t, memory.allocations.get(t.allocation.0 as usize)?)));
    let outputs: Vec<_> = outputs.collect();
    if outputs.iter().map(|(_, a)| a.bytes.len()).sum::<usize>() > MOST_BYTES {
        return None;
    }
    let outputs = outputs.iter().map(|(tensor, allocation)| {
        let hex: String = allocation
            .bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("\"{}\": \"{hex}\"", tensor.name)
    });
    let outputs: Vec<String> = outputs.collect();
    Some(format!(
        "\"warps\": {warps}, \"outputs\": {{{}}}",
        outputs.join(", ")
    ))
}

/// Judges the cases of one launch file.
struct Judging<'a> {
    opened: &'a Opened,
    recorder: &'a Recorder,
    lines: Vec<String>,
    wanted: usize,
    name: &'a str,
    until: Instant,
    refused: Option<String>,
    lost: bool,
}

impl Judge for Judging<'_> {
    type Failure = Failure;

    fn fit(&self, case: Case) -> Case {
        self.opened.fitted(case, MOST_ELEMENTS)
    }

    fn judge(&mut self, case: &Case) -> Result<Verdict<Failure>> {
        let subject = self.opened.subject(case)?;
        let engines: [&dyn Engine; 1] = [self.recorder];
        let cancel = AtomicBool::new(false);
        let bench = Bench::of_engines(&engines, REFERENCES, &cancel);
        *self.recorder.last.borrow_mut() = None;
        let judged = bench.judge(&subject, None, case.seed.into())?;
        self.lost |= judged.lost;
        if let Some(note) = judged.notes.iter().find(|note| note.starts_with("not run on")) {
            self.refused.get_or_insert_with(|| note.clone());
        }
        let last = self.recorder.last.borrow_mut().take();
        if let (None, Some(last)) = (&judged.failure, last) {
            let words = self.opened.space.describe(case);
            self.lines.push(format!(
                "{{\"launch\": \"{}\", \"case\": \"{words}\", {last}}}",
                self.name
            ));
        }
        if let Some(failure) = judged.failure.as_ref().filter(|f| f.relation == Relation::Checks) {
            // The text promises what this case does not hold.
            let why = failure.findings.first().map(|finding| finding.message.clone());
            return Ok(Verdict::Invalid(why.unwrap_or_default()));
        }
        Ok(judged.verdict())
    }

    fn same(&self, a: &Failure, b: &Failure) -> bool {
        a.is_like(b)
    }

    fn go_on(&mut self, _: u32) -> bool {
        !self.lost && self.lines.len() < self.wanted && Instant::now() < self.until
    }
}

/// Runs and records; ends with what differs.
pub fn run(arguments: &Arguments, gpu: Gpu) -> std::result::Result<Done, String> {
    let until = Instant::now() + Duration::from_secs(arguments.limit);
    let wrong = |e: std::io::Error| format!("{}: {e}", arguments.out.display());
    std::fs::create_dir_all(&arguments.out).map_err(wrong)?;
    let mut file = std::fs::File::create(arguments.out.join("drawn.jsonl")).map_err(wrong)?;
    let (major, minor) = gpu.nvrtc.version();
    let (name, driver) = (
        gpu.session.device().name().to_string(),
        gpu.session.device().driver(),
    );
    let version = env!("CARGO_PKG_VERSION");
    writeln!(
        file,
        "{{\"device\": \"{name}\", \"driver\": {driver}, \"nvrtc\": \"{major}.{minor}\", \"version\": \"{version}\"}}"
    )
    .map_err(wrong)?;
    let recorder = Recorder {
        gpu: RefCell::new(gpu),
        last: RefCell::new(None),
    };
    let found: Vec<_> = arguments.folders.iter().flat_map(|f| launches(f)).collect();
    let (mut all, mut bytes) = (true, 0);
    for (name, path) in &found {
        if Instant::now() >= until {
            println!("out of time before {name}");
            break;
        }
        match one(name, path, arguments, &recorder, until) {
            Ok((lines, said, agrees, lost)) => {
                all &= agrees;
                println!("{name:32} {said}");
                for line in lines {
                    bytes += line.len() + 1;
                    if bytes < MOST_RECORDED {
                        writeln!(file, "{line}").map_err(wrong)?;
                    }
                }
                if lost {
                    println!("HUNG {name}");
                    return Ok(Done::Lost);
                }
            }
            Err(error) => {
                all = false;
                println!("{name:32} FAILED: {}", text(error));
            }
        }
    }
    println!("{bytes} bytes recorded");
    Ok(if all { Done::Agrees } else { Done::Disagrees })
}

/// One launch file: its lines, a summary, whether all agree, whether the device is lost.
fn one(
    name: &str,
    path: &Path,
    arguments: &Arguments,
    recorder: &Recorder,
    until: Instant,
) -> Result<(Vec<String>, String, bool, bool)> {
    let opened = Opened::of(path)?;
    let mut judging = Judging {
        opened: &opened,
        recorder,
        lines: Vec::new(),
        wanted: arguments.cases as usize,
        name,
        until,
        refused: None,
        lost: false,
    };
    // The same cases every time, and others for each launch.
    let seed = name
        .bytes()
        .fold(arguments.seed, |n, b| n.wrapping_mul(31).wrapping_add(b.into()));
    // A text may promise what few cases hold: a stride that 16 divides.
    let most = arguments.cases.saturating_mul(24);
    let outcome = search(&opened.space, most, seed, &[], &mut judging)?;
    let mut said = format!("{} cases, {} recorded", outcome.cases, judging.lines.len());
    if let Some(why) = &judging.refused {
        said.push_str(&format!("; {why}"));
    }
    if let Some(found) = &outcome.found {
        let message = found.failure.findings.first().map_or("", |f| &f.message);
        let case = opened.space.describe(&found.smallest);
        said.push_str(&format!("; FAILED {case}: {message}"));
    }
    Ok((judging.lines, said, outcome.found.is_none(), judging.lost))
}
