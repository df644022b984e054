//! Launches of a kernel from Rust.

use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{CheckSet, Error, Launched, Severity};
use tilescope_interpreter::explain::Replay;
use tilescope_interpreter::{Control, Options, Prepared};
use tilescope_ir::{FuncId, Module};
use tilescope_launch::{
    Bound, Dtype, GivenData, Launch, LaunchBuilder, Memory, Overrides, Parameter, Signature,
};

use crate::args::{Arg, Args, Kind};
use crate::builder::Parameter as KernelParameter;
use crate::kernel::{Kernel, Refused};
use crate::report::{Failure, Report};
use crate::tile::types::is_fp8;
use crate::tile::{Lane, Number};

/// Programs in x, y and z: one number, or one to three in an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid(Vec<i64>);

macro_rules! grids {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Grid {
            fn from(programs: $ty) -> Grid {
                Grid::from([programs])
            }
        }
        grids!(@ $ty, 1);
        grids!(@ $ty, 2);
        grids!(@ $ty, 3);
    )*};
    (@ $ty:ty, $n:literal) => {
        impl From<[$ty; $n]> for Grid {
            fn from(programs: [$ty; $n]) -> Grid {
                Grid(programs.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect())
            }
        }
    };
}

grids!(i32 i64 u32 u64 usize);

/// How kernels are launched; [`check`] and [`run`] take the defaults.
///
/// ```
/// # use tilescope::{Kernel, Launcher};
/// # let kernel = Kernel::new("nothing", |_| ());
/// Launcher::new().threads(1).max_steps(10_000).check(&kernel, 4, ()).unwrap();
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Launcher {
    options: Options,
    max_findings: usize,
    denied: Severity,
}

impl Default for Launcher {
    fn default() -> Launcher {
        Launcher::new()
    }
}

impl Launcher {
    /// As many threads as cores, at most 100 findings shown, at most 100 million operations per program.
    pub fn new() -> Launcher {
        let options = Options {
            // All of them: an error beyond those that are shown is an error, too.
            max_findings: usize::MAX,
            ..Options::default()
        };
        Launcher {
            options,
            max_findings: 100,
            denied: Severity::Error,
        }
    }

    /// Worker threads. Results and findings are the same for any number.
    pub fn threads(mut self, threads: usize) -> Launcher {
        self.options.threads = Some(threads.max(1));
        self
    }

    /// Operations that one program may execute before it is taken for endless.
    pub fn max_steps(mut self, steps: u64) -> Launcher {
        self.options.max_steps = steps;
        self
    }

    /// Findings that a report holds.
    pub fn max_findings(mut self, findings: usize) -> Launcher {
        self.max_findings = findings;
        self
    }

    /// Takes warnings, an output left unwritten for example, as seriously as errors.
    pub fn deny_warnings(mut self) -> Launcher {
        self.denied = Severity::Warning;
        self
    }

    /// Runs the kernel with all checks; see [`check`].
    ///
    /// # Errors
    /// As for [`check`].
    pub fn check<'a>(
        &self,
        kernel: &Kernel,
        grid: impl Into<Grid>,
        args: impl Args<'a>,
    ) -> Result<Report, Failure> {
        self.launch(kernel, &grid.into(), args.args(), CheckSet::ALL)
    }

    /// Runs the kernel without checks; see [`run`].
    ///
    /// # Errors
    /// As for [`run`].
    pub fn run<'a>(
        &self,
        kernel: &Kernel,
        grid: impl Into<Grid>,
        args: impl Args<'a>,
    ) -> Result<Report, Failure> {
        self.launch(kernel, &grid.into(), args.args(), CheckSet::NONE)
    }

    fn launch(
        &self,
        kernel: &Kernel,
        grid: &Grid,
        mut args: Vec<Arg<'_>>,
        checks: CheckSet,
    ) -> Result<Report, Failure> {
        let module = kernel.build()?;
        let Some(function) = kernel.function() else {
            return Err(Refused::from(Error::input("the kernel was not built")).into());
        };
        fits(kernel, &args)?;
        let (bound, data) = bind(kernel, grid, &mut args)?;
        let Some(launch) = bound.launches.first() else {
            return Err(Refused::from(Error::input("there is nothing to launch")).into());
        };
        let mut memory = bound.allocate(&data, u64::MAX).map_err(Refused::from)?;
        let options = Options {
            checks,
            ..self.options
        };
        let before = || bound.allocate(&data, u64::MAX);
        let shown = self.max_findings;
        let mut launched = run_on(module, function, launch, (&mut memory, &before), (options, shown))?;
        write_back(args, launch, &memory);
        let fails = launched.findings.iter().any(|f| f.severity >= self.denied);
        launched.findings_cut |= launched.findings.len() > self.max_findings;
        launched.findings.truncate(self.max_findings);
        let report = Report::new(launched);
        match fails {
            true => Err(Failure::Found(Box::new(report))),
            false => Ok(report),
        }
    }
}

/// Runs a kernel on the CPU with all checks, for a test.
///
/// `args` are those of the kernel's parameters in their order. What the kernel wrote is in the arrays afterwards,
/// whatever was found. The report of a run without errors may hold warnings ([`Launcher::deny_warnings`]).
///
/// # Errors
/// [`Failure::Found`] with the report if a check found an error; [`Failure::Refused`] if the kernel has mistakes or the
/// arguments do not fit it, before anything is run. Both read, displayed or unwrapped, as the command line prints
/// them.
///
/// ```
/// use ndarray::Array1;
/// use tilescope::{Kernel, check, out};
///
/// let double = Kernel::new("double", |k| {
///     let (x_ptr, y_ptr) = (k.ptr::<f32>("x_ptr"), k.ptr::<f32>("y_ptr"));
///     let n = k.scalar::<i32>("n");
///     let at = k.program_id(0) * 64 + k.arange(0, 64);
///     let x = k.load(x_ptr + at, at.lt(n), None);
///     k.store(y_ptr + at, x + x, at.lt(n));
/// });
///
/// let x = Array1::from_iter((0..100).map(|i| i as f32));
/// let mut y = Array1::<f32>::zeros(100);
/// check(&double, 100_usize.div_ceil(64), (&x, out(&mut y), 100)).unwrap();
/// assert_eq!(y, &x + &x);
/// ```
pub fn check<'a>(kernel: &Kernel, grid: impl Into<Grid>, args: impl Args<'a>) -> Result<Report, Failure> {
    Launcher::new().check(kernel, grid, args)
}

/// Runs a kernel on the CPU without checks: for its outputs only. Accesses outside of arrays do nothing.
///
/// # Errors
/// [`Failure::Refused`] if the kernel has mistakes or the arguments do not fit it.
pub fn run<'a>(kernel: &Kernel, grid: impl Into<Grid>, args: impl Args<'a>) -> Result<Report, Failure> {
    Launcher::new().run(kernel, grid, args)
}

/// Whether the arguments are of the parameters' kinds and types.
fn fits(kernel: &Kernel, args: &[Arg<'_>]) -> Result<(), Refused> {
    let parameters = &kernel.parameters;
    if parameters.len() != args.len() {
        let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
        let message = format!(
            "`{}` has {} parameters, {} arguments are given",
            kernel.name(),
            parameters.len(),
            args.len()
        );
        let error = Error::input(message).note(format!("its parameters: {}", names.join(", ")));
        return Err(Refused::at(error, &kernel.place, "the kernel"));
    }
    for (parameter, arg) in parameters.iter().zip(args) {
        let given = match (parameter.ty.lane, &arg.0) {
            (Lane::Pointer(dtype), Kind::Tensor(tensor)) if tensor.dtype == dtype => continue,
            // Rust has no 8-bit floats: their bytes are given.
            (Lane::Pointer(dtype), Kind::Tensor(tensor)) if is_fp8(dtype) && tensor.dtype == Dtype::U8 => {
                continue;
            }
            (Lane::Pointer(_), Kind::Null) => continue,
            (Lane::Number(dtype), Kind::Number(number)) if holds(dtype, *number) => continue,
            (_, Kind::Tensor(tensor)) => format!("an array of {}", tensor.dtype.name()),
            (_, Kind::Number(Number::Int(value))) => value.to_string(),
            (_, Kind::Number(Number::Float(value))) => format!("{value:?}"),
            (_, Kind::Number(Number::Bool(value))) => value.to_string(),
            (_, Kind::Null) => String::from("a null pointer"),
        };
        let message = format!(
            "parameter `{}` of `{}` is `{}`, the argument is {given}",
            parameter.name,
            kernel.name(),
            parameter.ty
        );
        return Err(Refused::at(
            Error::input(message),
            &parameter.place,
            "the parameter",
        ));
    }
    Ok(())
}

/// Whether a number can be passed as a type.
fn holds(dtype: Dtype, number: Number) -> bool {
    match (dtype.integer_range(), number) {
        (None, _) => true,
        (Some(_), Number::Bool(_)) => dtype == Dtype::I1,
        (Some((least, most)), Number::Int(value)) => (least..=most).contains(&value),
        (Some(_), Number::Float(_)) => false,
    }
}

fn bind(kernel: &Kernel, grid: &Grid, args: &mut [Arg<'_>]) -> Result<(Bound, GivenData), Refused> {
    let mut builder = LaunchBuilder::new("kernel.ttir")
        .name(kernel.name())
        .grid(&grid.0);
    for (parameter, arg) in kernel.parameters.iter().zip(args) {
        let name = &parameter.name;
        let (Lane::Number(dtype) | Lane::Pointer(dtype)) = parameter.ty.lane;
        builder = match &mut arg.0 {
            Kind::Tensor(tensor) => builder.tensor(name, tensor.init(dtype)),
            Kind::Null => builder.none(name),
            Kind::Number(Number::Bool(value)) => builder.scalar(name, *value),
            Kind::Number(Number::Int(value)) => {
                builder.scalar(name, tilescope_launch::expr::Value::Int(*value))
            }
            Kind::Number(Number::Float(value)) => builder.scalar(name, *value),
        };
    }
    let (file, data) = builder.build()?;
    let parameter = |p: &KernelParameter| Parameter {
        name: Some(p.name.clone()),
        ty: p.ty.ir(),
    };
    let signature = Signature {
        name: kernel.name().to_string(),
        parameters: kernel.parameters.iter().map(parameter).collect(),
        ..Signature::default()
    };
    Ok((file.bind(&[signature], &Overrides::default())?, data))
}

/// An operation as a kernel in Rust calls it.
fn in_rust(op: &str) -> &str {
    match op {
        "tt.get_program_id" => "k.program_id",
        "tt.get_num_programs" => "k.num_programs",
        "tt.load" => "k.load",
        op => op,
    }
}

/// Values that are told of what led to a finding, as `tilescope check` tells.
const STEPS: usize = 8;

/// `before` makes the arrays as they were.
fn run_on(
    module: &Module,
    function: FuncId,
    launch: &Launch,
    (memory, before): (&mut Memory, &dyn Fn() -> tilescope_diagnostics::Result<Memory>),
    (options, shown): (Options, usize),
) -> Result<Launched, Refused> {
    let prepared = Prepared::new(module, function, launch, options)?;
    let cancel = AtomicBool::new(false);
    let control = Control {
        cancel: &cancel,
        progress: &|_| (),
    };
    let mut outcome = prepared.run(memory, &control)?;
    if outcome.asks_for_births() {
        prepared.births(&mut outcome, &mut before()?, &control, None)?;
    }
    let shown = outcome.findings.len().min(shown);
    let replay = Replay {
        left: memory,
        before,
        steps: STEPS,
    };
    prepared.explain(&mut outcome.findings[..shown], &outcome.causes, replay)?;
    let steps = outcome.findings.iter_mut().flat_map(|finding| &mut finding.chain);
    for step in steps.filter(|step| step.name.is_none()) {
        step.name = Some(in_rust(&step.op).to_string());
    }
    Ok(Launched {
        launch: launch.name.clone(),
        kernel: launch.kernel.clone(),
        grid: launch.grid,
        programs: outcome.programs,
        // Libraries read no clock.
        elapsed_s: 0.0,
        outputs: Vec::new(),
        prints: outcome.prints,
        findings: outcome.findings,
        suppressed: Vec::new(),
        findings_cut: outcome.findings_cut,
        interrupted: outcome.interrupted,
        notes: Vec::new(),
        search: None,
    })
}

/// What the kernel left in memory, to the arrays that it came from.
fn write_back(args: Vec<Arg<'_>>, launch: &Launch, memory: &Memory) {
    let tensors = launch.arguments.iter().map(|argument| match argument {
        tilescope_launch::Argument::Tensor(id) => launch.tensors.get(id.0 as usize),
        _ => None,
    });
    for (arg, tensor) in args.into_iter().zip(tensors) {
        if let (Kind::Tensor(given), Some(tensor)) = (arg.0, tensor)
            && let Some(back) = given.back
        {
            back(&memory.gather(tensor, 0, tensor.elements()));
        }
    }
}
