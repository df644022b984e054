//! The way of a launch, from a name on the command line to a [`Launched`]: the one file that calls the other crates.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut};
use tilescope_debugger::{Opening, Session};
use tilescope_diagnostics::render::Sources;
use tilescope_diagnostics::{Check, CheckSet, Error, Finding, Launched, OutputSummary, Source};
use tilescope_frontend::source::Program;
use tilescope_interpreter::explain::{Cause, Replay};
use tilescope_interpreter::races::Noted;
use tilescope_interpreter::simd::{Cpu, CpuLevel};
use tilescope_interpreter::target::Target;
use tilescope_interpreter::{Control, Options, Prepared, Which};
use tilescope_ir::{FuncId, Loc, VerifiedModule};
use tilescope_kernels::REFERENCES;
use tilescope_launch::{
    Argument, Bound, Launch, LaunchFile, Memory, Overrides, Role, Signature, Tensor, TensorId,
};
use tilescope_oracle::{Accumulation, expectations, judge, summary};

use crate::args::{Backend, RunOptions, SourceOptions};
use crate::files::{self, Files, KernelTexts, PythonFiles, PythonText};
use crate::gpu::Gpu;
use crate::{again, interrupt, pipeline, precision, progress, python};

/// Why a launch is not run: one error, or several of one text.
#[derive(Debug)]
#[allow(clippy::vec_box, reason = "errors travel boxed everywhere else")]
pub struct Refused(pub Vec<Box<Error>>);

impl From<Box<Error>> for Refused {
    fn from(error: Box<Error>) -> Refused {
        Refused(vec![error])
    }
}

impl From<Vec<Box<Error>>> for Refused {
    fn from(errors: Vec<Box<Error>>) -> Refused {
        Refused(errors)
    }
}

type Result<T, E = Refused> = std::result::Result<T, E>;

/// A launch file with its kernels read and its arguments evaluated; nothing is allocated or run.
#[derive(Debug)]
pub struct Opened {
    /// The launch file.
    pub file: Arc<LaunchFile>,
    /// Its launches, bound.
    pub bound: Bound,
    /// The kernel of each launch.
    pub kernels: Vec<Kernel>,
    /// The GPU that they are meant for.
    pub target: Option<&'static Target>,
    /// The files that the launch file may name.
    pub files: Files,
    python: Vec<PythonText>,
}

/// A kernel of a launch.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Its module.
    pub module: Arc<VerifiedModule>,
    /// The function launched.
    pub function: FuncId,
    /// Its text, where it is TTIR.
    ttir: Option<Arc<Source>>,
    path: String,
}

/// How to run.
#[derive(Debug, Clone, Copy)]
pub struct How<'a> {
    /// Options of the command line.
    pub options: &'a RunOptions,
    /// The checks that are on.
    pub checks: CheckSet,
    /// Compare with `[expect]`.
    pub expect: bool,
    /// Summarise the outputs.
    pub summaries: bool,
    /// Draw progress on stderr.
    pub progress: bool,
    /// The vector instructions to use.
    pub cpu: Cpu,
    /// Other orders of the programs to compare with.
    pub schedules: u32,
    /// Run a second time on what the first run left.
    pub twice: bool,
    /// Compare with the same kernel in float64.
    pub twin: bool,
}

impl How<'_> {
    fn interpreter(&self) -> Options {
        Options {
            threads: self.options.threads.map(|n| n as usize),
            checks: self.checks,
            max_steps: self.options.max_steps,
            // All of them: an error beyond those that are shown counts for the exit status too.
            max_findings: usize::MAX,
            cpu: self.cpu,
            poison: self.options.poison.into(),
            ..Options::default()
        }
    }
}

/// What a command gets back.
#[derive(Debug)]
pub struct Done {
    /// One per launch of the file.
    pub launched: Vec<Launched>,
    /// The tensors as the last launch left them.
    pub memory: Memory,
}

/// Reads a launch and its kernels, compiles those of Python source for their arguments; their imports are looked up
/// in the folders that `sources` names too.
///
/// # Errors
/// Everything that can be wrong with them, before anything is allocated.
pub fn open(argument: &str, sources: &SourceOptions) -> Result<Opened> {
    read(argument, sources, |template| template.bind(&Overrides::default()))
}

/// Reads a launch file and gives it to `then`, as something that can be bound many times.
///
/// # Errors
/// What is wrong with the file; those of `then`.
pub fn read<T>(
    argument: &str,
    sources: &SourceOptions,
    then: impl FnOnce(&Template<'_>) -> Result<T>,
) -> Result<T> {
    let (source, files) = files::open(argument)?;
    let file = LaunchFile::parse(source).map_err(|error| match Path::new(argument).extension() {
        Some(kind) if kind != "toml" => error.help(
            "a launch is described by a TOML file, NAME.launch.toml, that names the kernel and its arguments",
        ),
        _ => error,
    })?;
    let python = PythonFiles::new(&files);
    let entries = sources.python_path.iter().map(|folder| python.entry(folder));
    let entries = entries.collect::<std::result::Result<_, _>>()?;
    then(&Template {
        file: Arc::new(file),
        files: &files,
        python: &python,
        program: Program::new(&python, entries),
        target: sources.target,
        ttir: RefCell::default(),
    })
}

/// A launch file that was read, and the sources of its kernels: each is read once, however often it is bound.
#[derive(Debug)]
pub struct Template<'p> {
    /// The launch file.
    pub file: Arc<LaunchFile>,
    files: &'p Files,
    python: &'p PythonFiles,
    program: Program<'p>,
    target: Option<&'static Target>,
    ttir: RefCell<Vec<Kernel>>,
}

impl Template<'_> {
    /// Evaluates the file with other values, and compiles its kernels for them.
    ///
    /// # Errors
    /// Everything that can be wrong with them, before anything is allocated.
    pub fn bind(&self, overrides: &Overrides) -> Result<Opened> {
        let file = &self.file;
        let evaluated = file.evaluate(overrides)?;
        let mut kernels: Vec<Kernel> = Vec::new();
        let mut signatures = Vec::new();
        let mut notes: Vec<String> = Vec::new();
        for (index, spec) in file.launches().iter().enumerate() {
            if spec.kernel.path.ends_with(".py") {
                let compiled =
                    python::compile(&self.program, file, &evaluated, index, self.files, self.target)?;
                let new = compiled.notes.into_iter().filter(|note| !notes.contains(note));
                let new: Vec<String> = new.collect();
                notes.extend(new);
                signatures.push(compiled.signature);
                kernels.push(Kernel {
                    module: compiled.module,
                    function: compiled.function,
                    ttir: None,
                    path: spec.kernel.path.clone(),
                });
            } else {
                let kernel = self.ttir(index)?;
                signatures.push(Signature::of(&kernel.module, kernel.function));
                kernels.push(kernel);
            }
        }
        let mut bound = evaluated.bind(&signatures)?;
        bound.notes.splice(0..0, notes);
        Ok(Opened {
            file: file.clone(),
            bound,
            kernels,
            target: self.target,
            files: self.files.clone(),
            python: self.python.texts(),
        })
    }

    /// The kernel of a launch that names a TTIR file.
    fn ttir(&self, index: usize) -> Result<Kernel> {
        let file = &self.file;
        let reference = &file.launches()[index].kernel;
        let path = &reference.path;
        if let Some(same) = self.ttir.borrow().iter().find(|k| k.path == *path) {
            let function = file.find_kernel(index, &same.module)?;
            return Ok(Kernel {
                function,
                ..same.clone()
            });
        }
        if let Some(missing) = self.files.missing(path) {
            return Err(missing
                .at(file.source(), reference.span.clone(), "the kernel")
                .into());
        }
        let ttir = self.files.text(path).map_err(|why| {
            file.error(
                &reference.span,
                format!("cannot read the kernel `{path}`: {why}"),
                "",
            )
        })?;
        let module = Arc::new(VerifiedModule::new(tilescope_ir::text::parse(&ttir)?)?);
        let function = file.find_kernel(index, &module)?;
        let kernel = Kernel {
            module,
            function,
            ttir: Some(ttir),
            path: path.clone(),
        };
        self.ttir.borrow_mut().push(kernel.clone());
        Ok(kernel)
    }
}

/// What runs launches.
enum Engine<'a> {
    Interpreter(Vec<Prepared<'a>>),
    Gpu(Gpu),
}

impl Opened {
    /// A line of a file that a location of the launch's kernel names.
    pub fn source_line(&self, launch: usize, file: &str, line: u32) -> Option<String> {
        let text = self.texts(launch).text(file)?;
        text.line(line as usize).map(Into::into)
    }

    /// The files and lines that a launch's kernel comes from, Triton's own library left out.
    pub fn lines(&self, launch: usize) -> BTreeMap<Arc<str>, BTreeSet<u32>> {
        let mut lines: BTreeMap<Arc<str>, BTreeSet<u32>> = BTreeMap::new();
        for (_, loc) in self.kernels[launch].module.locs.iter() {
            if let Loc::File { file, line, .. } = loc
                && !file.contains("triton/language/")
            {
                lines.entry(file.clone()).or_default().insert(*line);
            }
        }
        lines
    }

    /// The texts that findings of a launch point into.
    pub fn texts(&self, launch: usize) -> KernelTexts<'_> {
        let kernel = &self.kernels[launch];
        KernelTexts {
            ttir: kernel.ttir.as_ref(),
            python: &self.python,
            files: self.files.beside(&kernel.path),
        }
    }

    /// Lowers the kernel of a launch.
    ///
    /// # Errors
    /// Names what is not supported, with its place.
    pub fn prepare(&self, launch: usize, options: Options) -> Result<Prepared<'_>> {
        let kernel = &self.kernels[launch];
        Ok(Prepared::new(
            &kernel.module,
            kernel.function,
            &self.bound.launches[launch],
            options,
        )?)
    }

    /// Opens a launch of the file for debugging; those before it are run.
    ///
    /// # Errors
    /// No such launch; what is not supported; what cannot be allocated or read.
    pub fn session(
        self: Arc<Opened>,
        launch: usize,
        options: tilescope_debugger::Options,
    ) -> Result<Session> {
        let count = self.kernels.len();
        let Some(kernel) = self.kernels.get(launch).cloned() else {
            let error = Error::input(format!("there is no launch {}: the file has {count}", launch + 1));
            return Err(error.into());
        };
        let options = tilescope_debugger::Options {
            target: self.target,
            ..options
        };
        let memory = self.memory_before(launch, options)?;
        let opened = self.clone();
        Ok(Session::open(Opening {
            module: kernel.module,
            kernel: kernel.function,
            launch: self.bound.launches[launch].clone(),
            memory,
            remake: Arc::new(move || opened.memory_before(launch, options)),
            cancel: interrupt::flag(),
            options,
        })?)
    }

    /// What `check` finds in the programs of one launch of the file.
    ///
    /// # Errors
    /// What is not supported; what cannot be allocated or read.
    pub fn findings(&self, launch: usize, options: tilescope_debugger::Options) -> Result<Vec<Finding>> {
        let mut memory = self.memory_before(launch, options)?;
        let options = Options {
            max_steps: options.max_steps,
            max_findings: usize::MAX,
            cpu: options.cpu,
            target: self.target,
            poison: options.poison,
            checks: options.checks,
            ..Options::default()
        };
        let control = Control {
            cancel: interrupt::flag(),
            progress: &|_| {},
        };
        let prepared = self.prepare(launch, options)?;
        let mut outcome = prepared.run(&mut memory, &control)?;
        if outcome.asks_for_births() {
            prepared.births(
                &mut outcome,
                &mut self.memory_at(launch, options)?,
                &control,
                None,
            )?;
        }
        Ok(outcome.findings)
    }

    /// The tensors as they are before a launch of the file.
    fn memory_before(
        &self,
        launch: usize,
        options: tilescope_debugger::Options,
    ) -> std::result::Result<Memory, Box<Error>> {
        let options = Options {
            max_steps: options.max_steps,
            cpu: options.cpu,
            poison: options.poison,
            ..Options::default()
        };
        self.memory_at(launch, options)
    }

    fn memory_at(&self, launch: usize, options: Options) -> std::result::Result<Memory, Box<Error>> {
        let mut memory = self.bound.allocate(&self.files, available_memory())?;
        for (kernel, before) in self.kernels.iter().zip(&self.bound.launches).take(launch) {
            let control = Control {
                cancel: interrupt::flag(),
                progress: &|_| {},
            };
            Prepared::new(&kernel.module, kernel.function, before, options)?.run(&mut memory, &control)?;
        }
        Ok(memory)
    }

    /// Runs all launches of the file, in order, on one memory.
    ///
    /// # Errors
    /// What is not supported; what cannot be allocated or read; mistakes in `[expect]`. All before the
    /// first program runs.
    pub fn run(&self, how: &How<'_>) -> Result<Done> {
        let options = Options {
            target: self.target,
            ..how.interpreter()
        };
        let launches = 0..self.kernels.len();
        let mut engine = match how.options.backend {
            Backend::Cpu => Engine::Interpreter(
                launches
                    .clone()
                    .map(|i| self.prepare(i, options))
                    .collect::<Result<_>>()?,
            ),
            Backend::Gpu => Engine::Gpu(Gpu::open(self, how, false)?),
            Backend::Triton => Engine::Gpu(Gpu::open(self, how, true)?),
        };
        let mut memory = self.bound.allocate(&self.files, available_memory())?;
        let expected = match how.expect {
            true => expectations(&self.file, &self.bound, &memory, &self.files, REFERENCES)?,
            false => Vec::new(),
        };
        let mut launched = Vec::new();
        for (index, launch) in self.bound.launches.iter().enumerate() {
            let (mut causes, mut writers) = (Vec::new(), Noted::default());
            let mut one = match &mut engine {
                Engine::Interpreter(prepared) => {
                    let before = || self.memory_at(index, how.interpreter());
                    let ran = run_one(&prepared[index], launch, &mut memory, &before, how)?;
                    (causes, writers) = (ran.causes, ran.writers);
                    ran.launched
                }
                Engine::Gpu(gpu) => {
                    let mut ran = gpu.run(self, index, &mut memory)?;
                    ran.findings.retain(|finding| how.checks.contains(finding.check));
                    ran
                }
            };
            if let Engine::Interpreter(prepared) = &engine
                && !one.interrupted
                && how.options.programs.is_empty()
            {
                let outputs: Vec<&Tensor> = self.outputs_of(launch).collect();
                let before = || self.memory_at(index, how.interpreter());
                again::compare(&prepared[index], &mut one, &outputs, &memory, &before, how)?;
            }
            let last = index + 1 == self.kernels.len();
            if last && !one.interrupted {
                let accumulation = self.accumulation();
                match judge(&expected, launch, &memory, accumulation) {
                    Ok(mismatches) => one.findings.extend(mismatches),
                    Err(why) => return Err(Error::input(format!("cannot compare the outputs: {why}")).into()),
                }
            }
            if let Engine::Interpreter(prepared) = &engine
                && !one.interrupted
                && how.options.repeat.is_none()
            {
                let cause = |finding: &Finding| cause_of(&prepared[index], &writers, finding);
                let others = one.findings.iter().skip(causes.len());
                causes.extend(others.map(cause).collect::<Vec<_>>());
                self.explain(&prepared[index], index, &mut one, &causes, &mut memory, how)?;
            }
            // What some programs leave is no result.
            if how.summaries && how.options.programs.is_empty() {
                let outputs: Option<Vec<OutputSummary>> = self
                    .outputs_of(launch)
                    .map(|t| summary(t, &memory, how.options.hash, interrupt::flag()))
                    .collect();
                // Like the files of `--out`: half of it would look like a result.
                match outputs {
                    Some(outputs) => one.outputs = outputs,
                    None => one.interrupted = true,
                }
            }
            let stop = one.interrupted;
            launched.push(one);
            if stop {
                break;
            }
        }
        if how.twin && !launched.iter().any(|one| one.interrupted) {
            precision::add(self, &mut launched, how, options)?;
        }
        if launches.len() > 1 {
            pipeline::settle_unwritten(&mut launched, |index, name| self.is_given(index, name));
        }
        if let Some(first) = launched.first_mut() {
            first.notes.splice(0..0, self.bound.notes.iter().cloned());
            if let Engine::Gpu(gpu) = &engine {
                first.notes.extend(gpu.notes());
            }
            if how.options.backend != Backend::Triton {
                first.notes.extend(chosen_checks(how.checks));
            }
        }
        Ok(Done { launched, memory })
    }

    /// Gives the findings that will be shown the values that led to them, and races their lanes.
    fn explain(
        &self,
        prepared: &Prepared<'_>,
        index: usize,
        launched: &mut Launched,
        causes: &[Option<Cause>],
        memory: &mut Memory,
        how: &How<'_>,
    ) -> Result<()> {
        let shown = launched.findings.len().min(how.options.max_findings);
        let replay = Replay {
            left: memory,
            before: &|| self.memory_at(index, how.interpreter()),
            steps: how.options.explain_depth as usize,
        };
        Ok(prepared.explain(&mut launched.findings[..shown], causes, replay)?)
    }

    fn accumulation(&self) -> Accumulation {
        let of_each = self.kernels.iter().map(|k| Accumulation::of(&k.module));
        of_each.fold(Accumulation::None, |all, one| match (all, one) {
            (Accumulation::Tf32, _) | (_, Accumulation::Tf32) => Accumulation::Tf32,
            (Accumulation::Sums, _) | (_, Accumulation::Sums) => Accumulation::Sums,
            (Accumulation::None, Accumulation::None) => Accumulation::None,
        })
    }

    /// The outputs that one launch can reach; all of them, unless it is one of a pipeline.
    fn outputs_of(&self, launch: &Launch) -> impl Iterator<Item = &Tensor> {
        let alone = self.kernels.len() == 1;
        self.outputs()
            .filter(move |output| alone || self.reached(launch).any(|tensor| tensor.name == output.name))
    }

    /// The tensors that are arguments of a launch, or that pointers in these lead to.
    fn reached(&self, launch: &Launch) -> impl Iterator<Item = &Tensor> {
        let tensors = self.bound.tensors();
        let tensor = move |id: TensorId| tensors.get(id.0 as usize);
        let given = launch
            .arguments
            .iter()
            .filter_map(move |argument| match argument {
                Argument::Tensor(id) | Argument::Descriptor { tensor: id, .. } => tensor(*id),
                Argument::Scalar { .. } | Argument::Null => None,
            });
        given.flat_map(move |t| t.pointers.iter().filter_map(move |id| tensor(*id)).chain([t]))
    }

    /// Whether a launch reaches the storage of a tensor.
    fn is_given(&self, launch: usize, name: &str) -> bool {
        let Some(tensor) = self.bound.tensors().iter().find(|tensor| tensor.name == name) else {
            return false;
        };
        let launch = self.bound.launches.get(launch);
        launch.is_some_and(|launch| self.reached(launch).any(|t| t.allocation == tensor.allocation))
    }

    /// The tensors that a run may have changed: those not of role `in`.
    pub fn outputs(&self) -> impl Iterator<Item = &Tensor> {
        self.bound.tensors().iter().filter(|t| t.role != Role::In)
    }
}

/// A launch that has run.
struct Ran {
    launched: Launched,
    /// Where its findings were made.
    causes: Vec<Option<Cause>>,
    writers: Noted,
}

/// What a report says of checks that are not all on.
fn chosen_checks(on: CheckSet) -> Option<String> {
    let ids = |set: CheckSet| set.iter().map(Check::id).collect::<Vec<_>>().join(", ");
    let (chosen, off) = (on.without(CheckSet::ALWAYS), CheckSet::ALL.without(on));
    match () {
        () if off.is_empty() => None,
        // What only other options ask for is no choice.
        () if chosen.without(CheckSet::BY_OPTION).is_empty() => Some(String::from("run without checks")),
        () => Some(match chosen.iter().count() < off.iter().count() {
            true => format!(
                "looked for nothing but {}",
                ids(chosen.without(CheckSet::BY_OPTION))
            ),
            false => format!("not looked for: {}", ids(off)),
        }),
    }
}

/// Why an output differs.
fn cause_of(prepared: &Prepared<'_>, writers: &Noted, finding: &Finding) -> Option<Cause> {
    let tensor = finding
        .tensor
        .as_ref()
        .filter(|_| finding.check == Check::OutputMismatch)?;
    prepared.cause_of(writers, &tensor.name, finding.element.as_deref()?)
}

/// The tensors as they were before a launch.
type Before<'a> = dyn Fn() -> std::result::Result<Memory, Box<Error>> + 'a;

fn run_one(
    prepared: &Prepared<'_>,
    launch: &Launch,
    memory: &mut Memory,
    before_launch: &Before<'_>,
    how: &How<'_>,
) -> Result<Ran> {
    let Some(repeats) = how.options.repeat else {
        return run_once(prepared, launch, memory, Some(before_launch), how);
    };
    let before = Snapshot::of(memory, prepared)?;
    let mut ran = run_once(prepared, launch, memory, None, how)?;
    let mut times = Vec::new();
    while times.len() < repeats as usize && !ran.launched.interrupted {
        before.restore(memory);
        ran = run_once(prepared, launch, memory, None, how)?;
        times.push(ran.launched.elapsed_s);
    }
    times.sort_by(f64::total_cmp);
    let launched = &mut ran.launched;
    launched.elapsed_s = times.get(times.len() / 2).copied().unwrap_or(launched.elapsed_s);
    Ok(ran)
}

/// Bytes that a thread puts back at a time.
const RESTORED: usize = 1 << 20;

/// What a launch reads and changes, for launches that are run again on the same data. To put back what is only written would
/// change nothing but what the caches hold.
struct Snapshot {
    bytes: Vec<Option<Vec<u8>>>,
    written: Vec<Vec<(u64, u64)>>,
}

impl Snapshot {
    /// # Errors
    /// Storage too large to be held twice.
    fn of(memory: &Memory, prepared: &Prepared<'_>) -> Result<Snapshot> {
        let carried = prepared.carried(memory.allocations.len());
        let allocations = || memory.allocations.iter().zip(&carried);
        let kept = allocations().filter(|(_, carried)| **carried);
        let bytes: u64 = kept.map(|(a, _)| a.bytes.len() as u64).sum();
        if bytes > available_memory() || memory.allocations.iter().any(|a| a.deferred.is_some()) {
            return Err(Error::unsupported(
                "--repeat holds what a launch reads and changes twice, and that is too large",
            )
            .into());
        }
        Ok(Snapshot {
            bytes: allocations()
                .map(|(a, &carried)| carried.then(|| a.bytes.to_vec()))
                .collect(),
            written: memory.allocations.iter().map(|a| a.written.clone()).collect(),
        })
    }

    /// Puts back what has changed; the other pages stay as they are.
    fn restore(&self, memory: &mut Memory) {
        for (allocation, written) in memory.allocations.iter_mut().zip(&self.written) {
            allocation.written.clone_from(written);
        }
        for (allocation, before) in memory.allocations.iter_mut().zip(&self.bytes) {
            let Some(before) = before else { continue };
            let parts = allocation
                .bytes
                .par_chunks_mut(RESTORED)
                .zip(before.par_chunks(RESTORED));
            parts.for_each(|(bytes, before)| {
                if bytes != before {
                    bytes.copy_from_slice(before);
                }
            });
        }
    }
}

/// Runs a launch; births that only a run from the beginning can tell are looked for if it can be had.
fn run_once(
    prepared: &Prepared<'_>,
    launch: &Launch,
    memory: &mut Memory,
    before: Option<&Before<'_>>,
    how: &How<'_>,
) -> Result<Ran> {
    let chosen = match how.options.programs.is_empty() {
        true => None,
        false => Some(again::chosen(&how.options.programs, prepared.programs())?),
    };
    let done = AtomicU64::new(0);
    let count = |programs| {
        done.fetch_add(programs, Ordering::Relaxed);
    };
    let control = Control {
        cancel: interrupt::flag(),
        progress: &count,
    };
    let (outcome, elapsed) = progress::with_bar(how.progress, prepared.programs(), &done, || {
        let started = Instant::now();
        let which = Which {
            programs: chosen.as_deref(),
            seed: None,
        };
        let outcome = prepared.run_which(memory, &control, which);
        (outcome, started.elapsed())
    });
    let mut outcome = outcome?;
    if let Some(before) = before.filter(|_| outcome.asks_for_births()) {
        prepared.births(&mut outcome, &mut before()?, &control, chosen.as_deref())?;
    }
    let mut notes = Vec::new();
    if let Some(chosen) = &chosen {
        notes.push(format!(
            "{} of {} programs were run: races, unwritten outputs and the like are not judged",
            chosen.len(),
            prepared.programs()
        ));
    }
    let launched = Launched {
        launch: launch.name.clone(),
        kernel: launch.kernel.clone(),
        grid: launch.grid,
        programs: outcome.programs,
        elapsed_s: elapsed.as_secs_f64(),
        outputs: Vec::new(),
        prints: outcome.prints,
        findings: outcome.findings,
        suppressed: Vec::new(),
        findings_cut: outcome.findings_cut,
        interrupted: outcome.interrupted,
        notes,
        search: None,
    };
    Ok(Ran {
        launched,
        causes: outcome.causes,
        writers: outcome.writers,
    })
}

/// The vector instructions that TILESCOPE_CPU asks for; unless it does, the best that this CPU has.
///
/// # Errors
/// A name that is none, or instructions that this CPU lacks.
pub fn cpu() -> std::result::Result<Cpu, Box<Error>> {
    let Some(name) = std::env::var_os("TILESCOPE_CPU").filter(|name| !name.is_empty()) else {
        return Ok(Cpu::detect());
    };
    let name = name.to_string_lossy();
    let level: CpuLevel = name
        .parse()
        .map_err(|why| Error::input(format!("TILESCOPE_CPU is `{name}`: {why}")))?;
    Cpu::at(level).ok_or_else(|| {
        Error::input(format!(
            "TILESCOPE_CPU is `{name}`: this CPU lacks these instructions"
        ))
    })
}

/// Bytes of memory that the machine can spare; where that is not to be known, no limit.
pub fn available_memory() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map_or(u64::MAX, |kb| kb.saturating_mul(1024))
}
