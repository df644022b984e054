//! Generated kernels on a device: made, interpreted and compiled on all cores, while the device runs those that are ready.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use tilescope_difftest::generate;
use tilescope_difftest::twin::Bounded;
use tilescope_gpu_backend::nvrtc::{Form, Nvrtc};
use tilescope_gpu_backend::session::Ended;
use tilescope_gpu_backend::{Generated, Image, Options, generate as code_of};
use tilescope_interpreter::simd::Cpu;
use tilescope_ir::{Module, OpCode};

use crate::judge::{SAME, UNJUDGED, judge};
use crate::paths::{Opened, read_back, run_all};
use crate::triton::Triton;
use crate::{Arguments, Done, Gpu, text, twin};

/// Prepared kernels that may wait for the device.
const WAITING: usize = 32;

/// What Triton's own code is called.
const TRITON: &str = "Triton";

/// Numbers of warps, of which each kernel takes one.
const WARPS: [u32; 4] = [1, 2, 4, 8];

/// Which kernel.
enum Which {
    Seed {
        seed: u64,
        /// For Triton's compiler.
        compilable: bool,
    },
    Kept(PathBuf),
}

impl Which {
    fn name(&self) -> String {
        match self {
            Which::Seed {
                seed,
                compilable: false,
            } => format!("seed {seed}"),
            Which::Seed { seed, .. } => format!("compilable seed {seed}"),
            Which::Kept(path) => path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        }
    }
}

/// A kernel that is ready for the device.
struct Ready {
    opened: Opened,
    /// The memory as the interpreter leaves it.
    left: Vec<Vec<u8>>,
    /// The twin's outputs, or why there are none.
    bounded: Result<Vec<Bounded>, String>,
    builds: Vec<Build>,
    /// Why Triton has no code for it, if it was asked.
    without_triton: Option<String>,
}

/// Code for a kernel.
struct Build {
    /// Whose, in words.
    words: String,
    generated: Generated,
    image: Image,
}

/// Why a kernel is not run.
enum Trouble {
    /// By name.
    Refused(String),
    /// Something of ours is wrong.
    Wrong(String),
}

/// Numbers that look random, the same every time.
fn noise(seed: u64) -> u64 {
    let x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
}

fn generated(seed: u64, compilable: bool) -> Result<generate::Generated, String> {
    let made = match compilable {
        true => generate::compilable(seed),
        false => generate::kernel(seed),
    };
    made.map_err(text)
}

fn open(which: &Which) -> Result<Opened, Trouble> {
    match which {
        Which::Seed { seed, compilable } => {
            let generated = generated(*seed, *compilable).map_err(Trouble::Wrong)?;
            read_back(&generated).map_err(|d| Trouble::Wrong(format!("{}: {}", d.path, d.what)))
        }
        Which::Kept(path) => {
            let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| Trouble::Wrong(e.to_string()));
            let kernel = PathBuf::from(path.to_string_lossy().replace(".launch.toml", ".ttir"));
            crate::paths::open(&read(&kernel)?, &read(path)?).map_err(|e| Trouble::Wrong(text(e)))
        }
    }
}

/// Interprets a kernel and compiles its two builds, and Triton's.
fn prepare(
    nvrtc: Nvrtc,
    architecture: &str,
    triton: Option<&mut Triton>,
    which: &Which,
) -> Result<Ready, Trouble> {
    let opened = open(which)?;
    let options = tilescope_interpreter::Options {
        threads: Some(1),
        cpu: Cpu::detect(),
        max_steps: 2_000_000,
        ..tilescope_interpreter::Options::default()
    };
    let ran = run_all(&opened, &[(String::from("interpreter"), options)]);
    let ran = ran.map_err(|d| Trouble::Wrong(format!("{}: {}", d.path, d.what)))?;
    let left = ran.map_err(|why| Trouble::Refused(format!("interpreter: {why}")))?;
    let drawn = match which {
        Which::Seed { seed, .. } => noise(*seed),
        Which::Kept(_) => 0,
    };
    let mut builds = Vec::new();
    for warps in [None, Some(WARPS[drawn as usize % WARPS.len()])] {
        let options = Options {
            checked: warps.is_none(),
            warps,
            specialize: drawn & 4 == 0,
        };
        let launch = &opened.bound.launches[0];
        let generated = code_of(&opened.module, opened.function, launch, options, &|_, _| None);
        let generated = generated.map_err(|e| Trouble::Refused(e.message.clone()))?;
        let image = nvrtc.compile(&generated, architecture, Form::Cubin);
        builds.push(Build {
            words: warps.map_or(String::from("checked build"), |warps| format!("{warps} warps")),
            generated,
            image: image.map_err(|e| Trouble::Wrong(text(e)))?,
        });
    }
    let mut without_triton = None;
    match triton.map(|triton| triton.compile(&opened)) {
        Some(Ok((generated, image))) => builds.push(Build {
            words: String::from(TRITON),
            generated,
            image,
        }),
        Some(Err(why)) => without_triton = Some(why),
        None => {}
    }
    let bounded = match twin::outputs(&opened, &left) {
        Ok(outputs) => outputs.map_err(Trouble::Wrong).map(Ok)?,
        Err(error) => Err(error.message.clone()),
    };
    Ok(Ready {
        left: left.bytes,
        opened,
        bounded,
        builds,
        without_triton,
    })
}

/// What came of a kernel on the device.
enum Outcome {
    /// To the bit, or within the bounds: how often which.
    Agrees(&'static str),
    Differs(String),
    Lost(String),
}

/// True where Triton's code may make one instruction of a product and a sum, rounded once: only a twin says how far that goes.
fn may_fuse(module: &Module) -> bool {
    let has = |codes: &[OpCode]| {
        let mut ops = module.funcs.iter().flat_map(|(_, f)| f.ops.iter());
        ops.any(|(_, op)| codes.contains(&op.code))
    };
    has(&[OpCode::MulF]) && has(&[OpCode::AddF, OpCode::SubF])
}

fn on_device(gpu: &mut Gpu, ready: Ready) -> Outcome {
    let launch = &ready.opened.bound.launches[0];
    let mut how = SAME;
    for Build {
        words,
        generated,
        image,
    } in ready.builds
    {
        let mut memory = match ready.opened.memory() {
            Ok(memory) => memory,
            Err(error) => return Outcome::Differs(text(error)),
        };
        match gpu.run(&generated, Some(image), launch, &mut memory) {
            Ok(Ended::Finished { faults, .. }) if faults.is_empty() => {}
            Ok(Ended::Finished { faults, .. }) => {
                return Outcome::Differs(format!("{words}: a fault: {:?}", faults.first()));
            }
            Ok(Ended::Interrupted) => return Outcome::Lost(format!("{words}: interrupted")),
            Ok(Ended::Lost(why)) => return Outcome::Lost(format!("{words}: {why}")),
            Err(error) => return Outcome::Differs(format!("{words}: {}", text(error))),
        }
        let found: Vec<Vec<u8>> = memory.allocations.iter().map(|a| a.bytes.to_vec()).collect();
        match judge(&ready.opened, &ready.left, &ready.bounded, &found) {
            Ok(SAME) => {}
            Ok(otherwise) => how = otherwise,
            Err(_) if words == TRITON && ready.bounded.is_err() && may_fuse(&ready.opened.module) => {
                how = UNJUDGED;
            }
            Err(what) => return Outcome::Differs(format!("{words}: {what}")),
        }
    }
    Outcome::Agrees(how)
}

/// The log: a line when a kernel starts on the device, and one for what came of it.
struct Log {
    file: std::fs::File,
    /// The seed behind the last one that was started.
    next: u64,
    kept_done: bool,
}

impl Log {
    fn open(path: &Path, seed: u64) -> std::io::Result<Log> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let started = text
            .lines()
            .filter_map(|line| line.strip_prefix("starts\t")?.rsplit_once("seed "));
        let last = started.filter_map(|(_, seed)| seed.parse::<u64>().ok()).max();
        Ok(Log {
            file: std::fs::OpenOptions::new().create(true).append(true).open(path)?,
            next: last.map_or(seed, |last| last + 1),
            kept_done: !text.is_empty(),
        })
    }

    fn line(&mut self, line: &str) {
        // A log that cannot be written is seen by its absence.
        let _ = writeln!(self.file, "{line}").and_then(|()| self.file.flush());
    }
}

/// Runs kernels until the time is over.
pub fn run(arguments: &Arguments, mut gpu: Gpu) -> Result<Done, String> {
    let began = Instant::now();
    let wrong = |e: std::io::Error| format!("{}: {e}", arguments.out.display());
    std::fs::create_dir_all(&arguments.out).map_err(wrong)?;
    let mut log = Log::open(&arguments.out.join("fuzz.log"), arguments.seed).map_err(wrong)?;
    let kept = match (&arguments.kept, log.kept_done) {
        (Some(folder), false) => crate::opened::launches(folder),
        _ => Vec::new(),
    };
    let deadline = began + Duration::from_secs(arguments.limit);
    let (nvrtc, architecture) = (gpu.nvrtc, gpu.session.device().architecture());
    let next = AtomicU64::new(0);
    let first = log.next;
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut by_triton: BTreeMap<String, u64> = BTreeMap::new();
    let (mut differ, mut lost) = (0, false);
    // A panic is told as a disagreement.
    std::panic::set_hook(Box::new(|_| ()));
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING);
        for thread in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            let (sender, next, kept, architecture) = (sender.clone(), &next, &kept, &architecture);
            let folder = arguments.out.join(format!("triton-{thread}"));
            let python = arguments.triton.as_ref();
            scope.spawn(move || {
                let triton = python.map(|python| Triton::new(python, folder, architecture));
                let mut triton = triton.and_then(Result::ok);
                while Instant::now() < deadline {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let which = match kept.get(number as usize) {
                        Some((_, path)) => Which::Kept(path.clone()),
                        None => Which::Seed {
                            seed: first.wrapping_add(number - kept.len() as u64),
                            compilable: python.is_some(),
                        },
                    };
                    let work = std::panic::AssertUnwindSafe(|| {
                        prepare(nvrtc, architecture, triton.as_mut(), &which)
                    });
                    let ready = std::panic::catch_unwind(work);
                    let ready = ready.unwrap_or_else(|_| Err(Trouble::Wrong(String::from("panics"))));
                    if sender.send((which, ready)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (which, ready) in receiver {
            let name = which.name();
            log.line(&format!("starts\t{name}"));
            let outcome = match ready {
                Ok(ready) => {
                    if arguments.triton.is_some() {
                        let why = ready.without_triton.as_ref();
                        let how = why.map_or("compiles".into(), |why| format!("refuses: {why}"));
                        *by_triton.entry(how).or_default() += 1;
                    }
                    on_device(&mut gpu, ready)
                }
                Err(Trouble::Refused(why)) => {
                    *counts.entry(format!("refused: {why}")).or_default() += 1;
                    continue;
                }
                Err(Trouble::Wrong(why)) => Outcome::Differs(why),
            };
            match outcome {
                Outcome::Agrees(how) => *counts.entry(how.to_string()).or_default() += 1,
                Outcome::Differs(what) => {
                    differ += 1;
                    log.line(&format!("differs\t{name}\t{what}"));
                    println!("DIFFERS {name}: {what}");
                    keep(&arguments.out, &which);
                }
                Outcome::Lost(why) => {
                    lost = true;
                    log.line(&format!("lost\t{name}\t{why}"));
                    println!("HUNG {name}: {why}");
                    keep(&arguments.out, &which);
                    break;
                }
            }
        }
        if lost {
            // The process may hang in its own end.
            std::process::exit(crate::AGAIN.into());
        }
    });
    let ran: u64 = counts.values().sum();
    println!(
        "{} kernels from seed {first} on in {:.0} s, {differ} disagree",
        ran + differ,
        began.elapsed().as_secs_f64()
    );
    for (how, count) in &counts {
        println!("{count:9} {how}");
    }
    for (how, count) in &by_triton {
        println!("{count:9} Triton {how}");
    }
    Ok(if differ > 0 { Done::Disagrees } else { Done::Agrees })
}

/// Writes the files of a kernel.
fn keep(out: &Path, which: &Which) {
    let Which::Seed { seed, compilable } = which else {
        return;
    };
    let Ok(generated) = generated(*seed, *compilable) else {
        return;
    };
    let (kernel, _) = crate::paths::texts(&generated.module, &generated.spec);
    let name = which.name().replace(' ', "-");
    // What cannot be written is made again from its seed.
    let _ = std::fs::write(out.join(format!("{name}.ttir")), kernel);
    let launch = generated.spec.text(&format!("{name}.ttir"));
    let _ = std::fs::write(out.join(format!("{name}.launch.toml")), launch);
}
