//! The second engine: a launch's kernel on a GPU, compiled by us through NVRTC (with a cache of compiled kernels) or by Triton.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tilescope_diagnostics::{Error, Finding, Launched};
use tilescope_gpu_backend::cache::Cache;
use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::nvrtc::Form;
use tilescope_gpu_backend::{Generated, Image, Nvrtc, Options, generate};
use tilescope_interpreter::Prepared;
use tilescope_launch::{Launch, Memory};

use crate::engine::{How, Kernel, Opened};
use crate::{interrupt, triton};

type Result<T> = std::result::Result<T, Box<Error>>;

/// When the process began.
static STARTED: OnceLock<Instant> = OnceLock::new();

/// Remembers when the process began: what a first result takes is counted from there.
pub fn begin() {
    STARTED.get_or_init(Instant::now);
}

/// Who compiles.
#[derive(Debug, Clone, Copy)]
enum Compiler {
    Nvrtc(Nvrtc),
    Triton,
}

/// How long something took, told once it is over.
#[derive(Debug, Default)]
struct Phases {
    driver: Duration,
    compile: Duration,
    cached: usize,
    kernels: usize,
    first: Option<Duration>,
}

/// A device, and the kernels of a launch file for it.
#[derive(Debug)]
pub struct Gpu {
    device: Device,
    kernels: Vec<(Generated, Image)>,
    compiler: String,
    checked: bool,
    phases: Phases,
}

/// The folder of compiled kernels: `$TILESCOPE_CACHE`, else `tilescope` in the user's folder for caches.
pub fn cache() -> Option<Cache> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folder = set("TILESCOPE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("tilescope")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/tilescope")))?;
    Some(Cache::new(folder))
}

/// NVRTC: from `$TILESCOPE_NVRTC`, else from where the system looks.
///
/// # Errors
/// Unsupported, when it is not there.
pub fn nvrtc() -> Result<Nvrtc> {
    let folder = std::env::var_os("TILESCOPE_NVRTC").filter(|value| !value.is_empty());
    Nvrtc::find(folder.map(PathBuf::from).as_deref())
}

/// Whether a device's driver is new enough for what NVRTC makes.
///
/// # Errors
/// Unsupported, if not.
pub fn runs_on(nvrtc: Nvrtc, device: &Device) -> Result<()> {
    let (major, minor) = nvrtc.version();
    if device.driver() / 1000 >= major {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "the GPU's driver is for CUDA {}.{}, and NVRTC is {major}.{minor}: a driver for CUDA {major}.0 or later is needed",
        device.driver() / 1000,
        device.driver() % 1000 / 10
    ))
    .help("update the driver, or install an older NVRTC"))
}

/// Generates the code of a launch, with the lines of the author's source as comments.
///
/// # Errors
/// What is not supported, by name and place.
pub fn generated(opened: &Opened, launch: usize, options: Options) -> Result<Generated> {
    let kernel: &Kernel = &opened.kernels[launch];
    let lines = |file: &str, line: u32| opened.source_line(launch, file, line);
    generate(
        &kernel.module,
        kernel.function,
        &opened.bound.launches[launch],
        options,
        &lines,
    )
}

/// A device that is being opened, and how long that takes.
type Opening = JoinHandle<(Result<Device>, Duration)>;

/// Opens the device in another thread: that takes as long as compiling does. Gives its architecture at once when it is known.
fn open_device(ordinal: u32) -> Result<(String, Opening)> {
    let (tell, told) = channel();
    let opening = std::thread::spawn(move || {
        let started = Instant::now();
        let device = Device::open_telling(ordinal, |architecture| {
            let _ = tell.send(architecture.to_string());
        });
        (device, started.elapsed())
    });
    match told.recv() {
        Ok(architecture) => Ok((architecture, opening)),
        // Nothing was told: the device is not there.
        Err(_) => match opening.join() {
            Ok((Err(error), _)) => Err(error),
            _ => Err(Error::unsupported("the GPU's driver does not answer")),
        },
    }
}

impl Gpu {
    /// Opens a device and compiles all launches of a file for it.
    ///
    /// # Errors
    /// What is missing; what is not supported, by name and place.
    pub fn open(opened: &Opened, how: &How<'_>, by_triton: bool) -> Result<Gpu> {
        let (architecture, opening) = open_device(how.options.device)?;
        let compiler = match by_triton {
            true => Compiler::Triton,
            false => Compiler::Nvrtc(nvrtc()?),
        };
        let started = Instant::now();
        let mut phases = Phases::default();
        let options = Options {
            checked: how.checks.any(tilescope_gpu_backend::checked::CHECKS) && !by_triton,
            specialize: !how.options.no_specialize,
            ..Options::default()
        };
        let (mut kernels, mut name) = (Vec::new(), String::from("NVRTC"));
        for index in 0..opened.kernels.len() {
            kernels.push(match compiler {
                Compiler::Nvrtc(nvrtc) => {
                    let kernel = generated(opened, index, options)?;
                    let (image, was_cached) = compile(nvrtc, &kernel, &architecture)?;
                    phases.cached += usize::from(was_cached);
                    (kernel, image)
                }
                Compiler::Triton => {
                    let launch = &opened.bound.launches[index];
                    let (kernel, image, version) =
                        triton::compile(&opened.kernels[index], launch, &architecture)?;
                    name = format!("Triton {version}");
                    (kernel, image)
                }
            });
        }
        phases.compile = started.elapsed();
        phases.kernels = kernels.len();
        let joined = opening.join();
        let (device, driver) = joined.map_err(|_| Error::unsupported("the GPU's driver does not answer"))?;
        let device = device?;
        if let Compiler::Nvrtc(nvrtc) = compiler {
            runs_on(nvrtc, &device)?;
        }
        device.enter()?;
        phases.driver = driver;
        Ok(Gpu {
            device,
            kernels,
            compiler: name,
            checked: options.checked,
            phases,
        })
    }

    /// Runs one launch on its memory: copied there, run, copied back.
    ///
    /// # Errors
    /// What is not supported; what the driver says.
    pub fn run(&mut self, opened: &Opened, index: usize, memory: &mut Memory) -> Result<Launched> {
        let launch: &Launch = &opened.bound.launches[index];
        let (kernel, image) = &self.kernels[index];
        let device = &self.device;
        let loaded = device.load(kernel, image)?;
        let mut buffers = device.upload(memory, &launch.tensors)?;
        if self.checked {
            device.watch(&mut buffers, kernel, launch, memory)?;
        }
        device.scratch(&mut buffers, kernel, launch)?;
        let started = Instant::now();
        device.start(&loaded, kernel, launch, &buffers)?;
        let ended = wait(device, started)?;
        let elapsed = started.elapsed();
        let (mut findings, mut prints, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        if ended {
            device.download(&buffers, memory, &launch.tensors)?;
            let faults = device.faults(&buffers, kernel, launch, memory)?;
            if !faults.is_empty() {
                findings = told(opened, index, memory, &faults)?;
            }
            let (lines, lost) = device.printed(&buffers, kernel, &opened.kernels[index].module)?;
            if !lines.is_empty() {
                prints = worded(opened, index)?.printed_of(memory, &lines);
            }
            if lost {
                notes.push(String::from(
                    "more was printed than there is room for on the GPU: some lines are lost",
                ));
            }
        } else {
            // What still runs still uses them; the driver stops it when the process ends.
            std::mem::forget(buffers);
            std::mem::forget(loaded);
        }
        if self.phases.first.is_none() {
            self.phases.first = STARTED.get().map(Instant::elapsed);
        }
        Ok(Launched {
            launch: launch.name.clone(),
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            programs: launch.grid.iter().fold(1, |n: u64, &g| n.saturating_mul(g)),
            elapsed_s: elapsed.as_secs_f64(),
            outputs: Vec::new(),
            prints,
            findings,
            suppressed: Vec::new(),
            findings_cut: false,
            interrupted: !ended,
            notes,
            search: None,
        })
    }

    /// What a report says about where a launch ran, and how long the way to its first result was.
    pub fn notes(&self) -> Vec<String> {
        let checks = match self.checked {
            true => "checked",
            false => "without checks",
        };
        let mut notes = vec![format!("run on {}, {checks}", self.device.name())];
        let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
        let Phases {
            driver,
            compile,
            cached,
            kernels,
            first,
        } = &self.phases;
        let from = match cached == kernels {
            true => String::from("code from the cache"),
            false => format!("code by {}", self.compiler),
        };
        if let Some(first) = first {
            notes.push(format!(
                "first result after {}: driver and context {}, at the same time {from} {}",
                ms(*first),
                ms(*driver),
                ms(*compile)
            ));
        }
        notes
    }
}

/// Compiles, or finds in the cache what was compiled before; true if it was found.
///
/// # Errors
/// The compiler's own messages: a bug of this backend.
pub fn compile(nvrtc: Nvrtc, kernel: &Generated, architecture: &str) -> Result<(Image, bool)> {
    let (cache, version) = (cache(), nvrtc.version());
    if let Some(image) = cache.as_ref().and_then(|c| c.find(kernel, architecture, version)) {
        return Ok((image, true));
    }
    let image = nvrtc.compile(kernel, architecture, Form::Cubin)?;
    if let Some(cache) = &cache {
        cache.store(kernel, architecture, version, &image);
    }
    Ok((image, false))
}

/// Waits for the kernel; false if the user would not.
fn wait(device: &Device, started: Instant) -> Result<bool> {
    while !device.is_finished()? {
        if interrupt::requested() {
            return Ok(false);
        }
        // Short kernels are waited for without sleeping.
        if started.elapsed() > Duration::from_millis(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(true)
}

/// Findings in the words of the interpreter.
fn told(
    opened: &Opened,
    index: usize,
    memory: &mut Memory,
    faults: &[tilescope_launch::fault::Fault],
) -> Result<Vec<Finding>> {
    Ok(worded(opened, index)?.findings_of(memory, faults))
}

/// The interpreter's view of a kernel, which has the words for what it does.
fn worded(opened: &Opened, index: usize) -> Result<Prepared<'_>> {
    let options = tilescope_interpreter::Options::default();
    opened.prepare(index, options).map_err(|refused| {
        let first = refused.0.into_iter().next();
        first.unwrap_or_else(|| Error::unsupported("the kernel is not run by the interpreter"))
    })
}
