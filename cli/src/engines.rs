//! GPUs as engines of `diff`: a device that is opened once, on which case after case runs, by our code or by Triton's.
//!
//! Our code runs in a checked build with the launch's own number of warps, and without checks with another. It is one code for all
//! values of integer arguments, so cases that differ in their sizes only share it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use tilescope_diagnostics::{Error, ErrorKind, Finding};
use tilescope_difftest::judge::Subject;
use tilescope_difftest::{Dump, Ended, Engine, Watch};
use tilescope_gpu_backend::device::Device;
use tilescope_gpu_backend::session::{self, Session, Wait};
use tilescope_gpu_backend::triton::kernel;
use tilescope_gpu_backend::{Generated, Image, Nvrtc, Options, dump, generate_dumping};
use tilescope_interpreter::Prepared;
use tilescope_launch::{Launch, Memory};

use crate::triton::Code;
use crate::{gpu, interrupt, triton};

type Result<T> = std::result::Result<T, Box<Error>>;

/// Numbers of warps that cases are run with.
const WARPS: [u32; 4] = [1, 2, 4, 8];

/// What a kernel of a case, which is small, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who compiles.
enum Compiler {
    Nvrtc(Nvrtc),
    /// With what it made, by text and number of warps.
    Triton(RefCell<HashMap<(String, u32), Code>>),
}

/// A kernel for one launch.
struct Made {
    generated: Generated,
    /// None: NVRTC is asked when it is needed.
    image: Option<Image>,
}

/// A GPU among the paths of `diff`.
pub struct OnGpu {
    name: &'static str,
    session: RefCell<Session>,
    compiler: Compiler,
    runs: Cell<u32>,
    refused: RefCell<Option<Box<Error>>>,
}

impl OnGpu {
    /// Opens a device for our code, or for Triton's.
    ///
    /// # Errors
    /// Unsupported: what is missing.
    pub fn open(device: u32, by_triton: bool) -> Result<OnGpu> {
        let compiler = match by_triton {
            true => {
                triton::find()?;
                Compiler::Triton(RefCell::default())
            }
            false => Compiler::Nvrtc(gpu::nvrtc()?),
        };
        let device = Device::open(device)?;
        if let Compiler::Nvrtc(nvrtc) = compiler {
            gpu::runs_on(nvrtc, &device)?;
        }
        Ok(OnGpu {
            name: if by_triton { "triton" } else { "gpu" },
            session: RefCell::new(Session::new(device)),
            compiler,
            runs: Cell::new(0),
            refused: RefCell::new(None),
        })
    }

    /// What a report says of it.
    pub fn note(&self) -> String {
        let session = self.session.borrow();
        format!(
            "{} on {}: {} runs of {} kernels",
            self.name,
            session.device().name(),
            self.runs.get(),
            session.compiled()
        )
    }

    /// Why it ran nothing, if it did not.
    pub fn ran_nothing(&self) -> Option<Box<Error>> {
        match self.runs.get() {
            0 => self.refused.borrow_mut().take(),
            _ => None,
        }
    }

    /// The kernel of one launch of a subject.
    fn make(&self, subject: &Subject, index: usize, warps: Option<u32>) -> Result<Made> {
        let (module, function) = &subject.kernels[index];
        let launch = &subject.bound.launches[index];
        match &self.compiler {
            Compiler::Nvrtc(_) => ours(subject, index, warps, None),
            Compiler::Triton(known) => {
                let warps = warps.unwrap_or(launch.options.num_warps);
                let key = (tilescope_ir::text::print(module), warps);
                let mut known = known.borrow_mut();
                let code = match known.entry(key) {
                    Entry::Occupied(code) => code.into_mut(),
                    Entry::Vacant(place) => {
                        let architecture = self.session.borrow().device().architecture();
                        let code = triton::machine_code(&place.key().0, launch, warps, &architecture)?;
                        place.insert(code)
                    }
                };
                Ok(Made {
                    generated: kernel(&module.funcs[*function], launch, &code.said)?,
                    image: Some(code.image.clone()),
                })
            }
        }
    }

    /// Runs one launch of a subject.
    fn launch(
        &self,
        subject: &Subject,
        index: usize,
        warps: Option<u32>,
        memory: &mut Memory,
    ) -> Result<Ended> {
        let launch = &subject.bound.launches[index];
        let made = self.make(subject, index, warps);
        let takes = |made: Made| {
            let session = self.session.borrow();
            session.takes(&made.generated, launch, memory).map(|()| made)
        };
        let made = match made.and_then(takes) {
            Ok(made) => made,
            Err(why) if why.kind == ErrorKind::Unsupported => {
                self.refused.borrow_mut().get_or_insert_with(|| why.clone());
                return Ok(Ended::Refused(why));
            }
            Err(why) => return Err(why),
        };
        let nvrtc = match &self.compiler {
            Compiler::Nvrtc(nvrtc) => Some(*nvrtc),
            Compiler::Triton(_) => None,
        };
        let ended = self.start(made, nvrtc, launch, memory)?;
        self.runs.set(self.runs.get() + 1);
        Ok(match ended {
            session::Ended::Finished { faults, .. } if faults.is_empty() => Ended::Ran(vec![Vec::new()]),
            session::Ended::Finished { faults, .. } => {
                let (module, function) = &subject.kernels[index];
                let options = tilescope_interpreter::Options::default();
                let prepared = Prepared::new(module, *function, launch, options)?;
                Ended::Ran(vec![prepared.findings_of(memory, &faults)])
            }
            session::Ended::Interrupted => Ended::Interrupted,
            session::Ended::Lost(why) => Ended::Lost(why),
        })
    }

    /// Runs a kernel for one launch; code that is not there yet is made by NVRTC.
    fn start(
        &self,
        made: Made,
        nvrtc: Option<Nvrtc>,
        launch: &Launch,
        memory: &mut Memory,
    ) -> Result<session::Ended> {
        let Made { generated, image } = made;
        let mut compile = |architecture: &str| match nvrtc {
            Some(nvrtc) => gpu::compile(nvrtc, &generated, architecture).map(|made| made.0),
            None => Err(Error::unsupported("Triton's code is missing")),
        };
        let code = match &image {
            Some(image) => session::Code::Compiled(image),
            None => session::Code::Source(&mut compile),
        };
        let mut session = self.session.borrow_mut();
        session.run(&generated, code, launch, memory, &mut patience())
    }
}

/// Plants an error in generated code, to test what `--bisect` says of one: `RIGHT=>WRONG`, a text that is replaced everywhere.
fn plant(generated: &mut Generated) {
    let planted = std::env::var("TILESCOPE_PLANT").unwrap_or_default();
    if let Some((right, wrong)) = planted.split_once("=>").filter(|(right, _)| !right.is_empty()) {
        generated.source = generated.source.replace(right, wrong);
    }
}

/// Our code for one launch of a subject, checked where it is run with the launch's own number of warps.
fn ours(subject: &Subject, index: usize, warps: Option<u32>, dump: Option<&dump::Dump>) -> Result<Made> {
    let (module, function) = &subject.kernels[index];
    let launch = &subject.bound.launches[index];
    let with = |checked| {
        let options = Options {
            specialize: false,
            warps,
            checked,
        };
        generate_dumping(module, *function, launch, options, dump, &|_, _| None)
    };
    let mut generated = match warps {
        // Some kernels are too large for a checked build.
        None => with(true).or_else(|_| with(false)),
        Some(_) => with(false),
    }?;
    plant(&mut generated);
    Ok(Made {
        generated,
        image: None,
    })
}

impl Engine for OnGpu {
    fn name(&self) -> &str {
        self.name
    }

    fn warps(&self) -> &[u32] {
        &WARPS
    }

    fn run(&self, subject: &Subject, warps: Option<u32>, memory: &mut Memory) -> Result<Ended> {
        let mut found: Vec<Vec<Finding>> = Vec::new();
        for index in 0..subject.kernels.len().min(subject.bound.launches.len()) {
            match self.launch(subject, index, warps, memory)? {
                Ended::Ran(findings) => found.extend(findings),
                other => return Ok(other),
            }
        }
        Ok(Ended::Ran(found))
    }

    /// By our code: Triton's tells nothing of what it computes.
    fn trace(
        &self,
        subject: &Subject,
        warps: Option<u32>,
        watch: &Watch<'_>,
        memory: &mut Memory,
    ) -> Result<Option<Dump>> {
        let (nvrtc, by) = match &self.compiler {
            Compiler::Nvrtc(nvrtc) => (*nvrtc, None),
            Compiler::Triton(_) => {
                let nvrtc = gpu::nvrtc()?;
                gpu::runs_on(nvrtc, self.session.borrow().device())?;
                (nvrtc, Some(String::from("our own code for the GPU")))
            }
        };
        let wanted = dump::Dump {
            program: watch.program,
            ops: watch.ops.clone(),
        };
        let mut told = Dump::default();
        for index in 0..subject.kernels.len().min(subject.bound.launches.len()) {
            let is_watched = index == watch.launch;
            let made = ours(subject, index, warps, is_watched.then_some(&wanted))?;
            let generated = made.generated.clone();
            match self.start(made, Some(nvrtc), &subject.bound.launches[index], memory)? {
                session::Ended::Finished {
                    dump: buffer, bases, ..
                } if is_watched => {
                    let address = |address| dump::synthetic(address, memory, &bases);
                    let module = &subject.kernels[index].0;
                    let (lines, is_cut) = dump::lines(&buffer, module, &generated, &address);
                    told = Dump {
                        lines,
                        is_cut,
                        by: by.clone(),
                    };
                }
                session::Ended::Finished { .. } => {}
                session::Ended::Interrupted => return Ok(None),
                session::Ended::Lost(why) => return Err(Error::unsupported(why)),
            }
        }
        Ok(Some(told))
    }
}

/// Waits for one kernel, from the first time that it is asked.
fn patience() -> impl FnMut() -> Wait {
    let mut began = None;
    move || {
        let waited = began.get_or_insert_with(Instant::now).elapsed();
        if interrupt::requested() {
            return Wait::Interrupted;
        }
        if waited > PATIENCE {
            return Wait::TooLong;
        }
        // Short kernels are waited for without sleeping.
        if waited > Duration::from_millis(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Wait::On
    }
}
