//! The command line: every command and option, and nothing else.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use tilescope_interpreter::poison::Poison;
use tilescope_interpreter::target::{TARGETS, Target};

/// Operations after which a program is stopped, unless told.
pub const MAX_STEPS: u64 = 100_000_000;

const AFTER_HELP: &str = "\
A LAUNCH is a launch file (NAME.launch.toml) or the name of a built-in example (see `tilescope kernels`).

Exit status:
  0    nothing wrong; warnings and notes may have been printed
  1    an error was found in a kernel, or an output differs
  2    bad usage, input or output file
  3    something asked for is not supported
  70   a bug in tilescope
  130  interrupted
With several launches all are run, and the worst counts in the order 2, 3, 1, 0.

Environment:
  NO_COLOR       turns colours off
  TILESCOPE_CPU  scalar, avx2 or avx512: the vector instructions to use; results have the same bits with each
  TILESCOPE_NVRTC  the folder of libnvrtc.so, where the system does not find it
  TILESCOPE_CACHE  the folder of kernels compiled for GPUs
  TILESCOPE_PYTHON  the Python that has Triton, for --backend triton [default: python3]";

/// Checks, runs and explains Triton tile kernels on the CPU: no GPU, no Python, no Triton.
#[derive(Debug, Parser)]
#[command(name = "tilescope", version, after_help = AFTER_HELP, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
}

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Print findings only: no summary, no output of kernels, no progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// When to colour text
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    pub color: When,
}

/// Form of the report on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs: one JSON document
    Json,
    /// For code hosts and editors: SARIF 2.1.0
    Sarif,
    /// For test dashboards: JUnit's XML
    Junit,
    /// For workflows on GitHub: annotations
    Github,
}

/// Form of the debugger's replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReplyFormat {
    /// For people
    Text,
    /// For programs: one JSON object per command
    Json,
}

/// What `--deny` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// All warnings.
    Warnings,
    /// The findings of one check.
    Check(tilescope_diagnostics::Check),
}

impl Denied {
    /// As it is written.
    pub fn name(&self) -> &'static str {
        match self {
            Denied::Warnings => "warnings",
            Denied::Check(check) => check.id(),
        }
    }
}

fn denied(text: &str) -> Result<Denied, String> {
    use tilescope_diagnostics::{Check, closest};
    if text == "warnings" {
        return Ok(Denied::Warnings);
    }
    Check::from_id(text).map(Denied::Check).ok_or_else(|| {
        let ids = Check::ALL.iter().map(|check| check.id());
        match closest(text, ids) {
            Some(near) => format!("there is no check of this name: did you mean `{near}`?"),
            None => String::from("write `warnings` or the id of a check (`tilescope explain` lists them)"),
        }
    })
}

/// What `--checks` names: as it was written, and the checks that it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checks {
    /// As it was written.
    pub list: String,
    /// The checks that are on.
    pub set: tilescope_diagnostics::CheckSet,
}

fn checks(text: &str) -> Result<Checks, String> {
    let set = tilescope_diagnostics::CheckSet::parse(text)?;
    Ok(Checks {
        list: text.to_string(),
        set,
    })
}

/// Which checks are on.
#[derive(Debug, Clone, Args)]
pub struct CheckOptions {
    /// Only these checks: ids, the groups accesses, races, births, or `all`; after a `-`, what is off: races,oob-load or
    /// -races,-births
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = checks)]
    pub checks: Option<Checks>,
}

impl CheckOptions {
    /// The checks that are on.
    pub fn set(&self) -> tilescope_diagnostics::CheckSet {
        self.checks.as_ref().map(|checks| checks.set).unwrap_or_default()
    }
}

/// Which findings count, and as what.
#[derive(Debug, Clone, Args)]
pub struct JudgeOptions {
    /// Count warnings, or the findings of a check, as errors (may be given several times)
    #[arg(long, value_name = "warnings|ID", value_parser = denied)]
    pub deny: Vec<Denied>,
    /// Leave out the findings that this file says are known (may be given several times)
    #[arg(long, value_name = "FILE")]
    pub suppress: Vec<PathBuf>,
}

/// When to colour text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run launches with all checks and compare their outputs with what the launch file expects
    Check(Check),
    /// Run a launch, show a summary of its outputs and write them to files
    Run(Run),
    /// Run a launch at many sizes and on many data, compare every way to run it, and make what differs small
    Diff(Diff),
    /// Step through a launch, forwards and backwards
    Debug(Debug),
    /// Print a kernel in another form
    Emit(Emit),
    /// List the kernels of a Python file, with their parameters
    List(List),
    /// Write a launch file for a kernel, to fill in: types, roles and sizes guessed from its text
    Init(Init),
    /// List the built-in examples
    Kernels,
    /// Explain a check: what it means, a kernel that shows it, the usual fix
    Explain(Explain),
    /// The kernels that were compiled for GPUs
    Cache(Cache),
}

/// What a lane holds that nothing gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PoisonValue {
    /// Zero
    #[value(name = "0")]
    Zero,
    /// NaN; integers have all bits set
    Nan,
    /// Floats of magnitude 1 to 2, integers of any bits; the same in every run
    Random,
}

impl From<PoisonValue> for Poison {
    fn from(value: PoisonValue) -> Poison {
        match value {
            PoisonValue::Zero => Poison::Zero,
            PoisonValue::Nan => Poison::Nan,
            PoisonValue::Random => Poison::Random,
        }
    }
}

/// Where a launch is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The interpreter, with all checks
    Cpu,
    /// A GPU, by CUDA C++ through NVRTC
    Gpu,
    /// A GPU, by what Triton's own compiler makes of the kernel, without checks
    Triton,
}

/// Options of a run.
#[derive(Debug, Clone, Args)]
pub struct RunOptions {
    /// Where to run
    #[arg(long, value_enum, default_value_t = Backend::Cpu)]
    pub backend: Backend,
    /// Which GPU
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: u32,
    /// On a GPU: one code for all values of integer arguments, instead of code for those of this launch
    #[arg(long)]
    pub no_specialize: bool,
    /// Form of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Threads to run programs on [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Stop a program that goes on after so many operations: asked where a loop begins again
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_steps: u64,
    /// Report at most this many findings per launch
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub max_findings: usize,
    /// Which checks are on.
    #[command(flatten)]
    pub checks: CheckOptions,
    /// What lanes hold that were masked off without another value, at fault, or never written
    #[arg(long, value_enum, value_name = "VALUE", default_value_t = PoisonValue::Zero)]
    pub poison: PoisonValue,
    /// Tell of each finding at most N values that led to it, nearest first; 0 for none
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub explain_depth: u32,
    /// Run only some programs: numbers in linear order x + gx (y + gy z), ranges like 8-15, `last`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub programs: Vec<String>,
    /// Add the SHA-256 of each output to the summary
    #[arg(long)]
    pub hash: bool,
    /// Run each launch once and then N times more on the same data; the time reported is the median of those N
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,
}

/// Where kernels of Python source are found.
#[derive(Debug, Clone, Args)]
pub struct SourceOptions {
    /// Look up what kernels import in this folder too (may be given several times)
    #[arg(long, value_name = "DIR")]
    pub python_path: Vec<PathBuf>,
    /// The GPU that the kernel is meant for: it is compiled for it, and what that GPU refuses is a finding [sm_80, sm_86,
    /// sm_89, sm_90, sm_100, sm_120]
    #[arg(long, value_name = "SM", value_parser = target)]
    pub target: Option<&'static Target>,
}

fn target(text: &str) -> Result<&'static Target, String> {
    Target::named(text).ok_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("the targets are {}", names.join(", "))
    })
}

/// `tilescope check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Launch files or names of built-in examples
    #[arg(required = true, value_name = "LAUNCH", action = ArgAction::Append)]
    pub launches: Vec<String>,
    /// Run each launch in N other orders of its programs too, and compare the outputs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub schedules: Option<u32>,
    /// Run each launch a second time on what the first left, and compare the outputs
    #[arg(long)]
    pub twice: bool,
    /// Run each kernel with every float widened to float64 too: where an output is farther from that than its tolerance,
    /// the operation is named in which the error grew most
    #[arg(long, conflicts_with = "programs")]
    pub twin: bool,
    /// Also write the report to this file: .json, .sarif, .xml (JUnit) or .txt (may be given several times)
    #[arg(long, value_name = "FILE")]
    pub report: Vec<PathBuf>,
    /// Which findings count.
    #[command(flatten)]
    pub judge: JudgeOptions,
    /// Where kernels are.
    #[command(flatten)]
    pub sources: SourceOptions,
    /// How to run.
    #[command(flatten)]
    pub run: RunOptions,
}

/// A way to run a launch, or what its outputs are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Path {
    /// The interpreter with all checks; always run
    Interpreter,
    /// The interpreter again, operation by operation and on one thread: the same bits
    Stepping,
    /// The same kernel with every float widened to float64, with error bounds
    Twin,
    /// References and formulas of `[expect]`
    Reference,
    /// Data files of `[expect]`
    File,
    /// A GPU, by CUDA C++ through NVRTC: a checked build, and one with 1, 2, 4 or 8 warps
    Gpu,
    /// A GPU, by what Triton's own compiler makes of the kernel, also with 1, 2, 4 or 8 warps
    Triton,
}

fn float_type(text: &str) -> Result<tilescope_launch::Dtype, String> {
    let dtype = tilescope_launch::Dtype::from_name(text).filter(|dtype| dtype.is_float());
    dtype.ok_or_else(|| String::from("write types of floats: f32, f16, bf16, f64, f8e4m3, f8e5m2"))
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
    number.ok_or_else(|| String::from("write a finite number that is not negative"))
}

/// `tilescope diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// A launch file or the name of a built-in example
    #[arg(value_name = "LAUNCH")]
    pub launch: String,
    /// How many cases to draw from the ranges and choices of the launch file
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub cases: u32,
    /// Of the cases drawn: the same seed draws the same ones
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Run this one case, in the words of a report: n=65,fill=ties,seed=3
    #[arg(long, value_name = "CASE")]
    pub replay: Option<String>,
    /// Give the float tensors that have the type of the first one each of these types: f32,f16,bf16
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = float_type)]
    pub dtypes: Vec<tilescope_launch::Dtype>,
    /// Allow differences relative to the right value, beside the bounds
    #[arg(long, value_name = "R", default_value_t = 0.0, value_parser = tolerance)]
    pub rtol: f64,
    /// Allow absolute differences, beside the bounds
    #[arg(long, value_name = "A", default_value_t = 0.0, value_parser = tolerance)]
    pub atol: f64,
    /// Compare with another launch file instead, on the same cases and data: the version before a change, another block size
    #[arg(long, value_name = "LAUNCH", conflicts_with = "paths")]
    pub against: Option<String>,
    /// Where something differs, name the first operation that diverges, with the values on both sides
    #[arg(long)]
    pub bisect: bool,
    /// Folder for the launch file of the smallest case and the list of cases that differed [default: beside the launch file]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write neither, and run no case of the list
    #[arg(long, conflicts_with = "out")]
    pub no_write: bool,
    /// What is compared [default: all that need no GPU]
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',')]
    pub paths: Vec<Path>,
    /// Which GPU, for the paths `gpu` and `triton`
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: u32,
    /// Form of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Also write the report to this file: .json, .sarif, .xml (JUnit) or .txt (may be given several times)
    #[arg(long, value_name = "FILE")]
    pub report: Vec<PathBuf>,
    /// Threads to run programs on [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Stop a program that goes on after so many operations: asked where a loop begins again
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_steps: u64,
    /// Which findings count.
    #[command(flatten)]
    pub judge: JudgeOptions,
    /// Where kernels are.
    #[command(flatten)]
    pub sources: SourceOptions,
}

/// `tilescope run`.
#[derive(Debug, Args)]
pub struct Run {
    /// A launch file or the name of a built-in example
    #[arg(value_name = "LAUNCH")]
    pub launch: String,
    /// Write each output to DIR/NAME.npy, or all to one file where the name ends in .safetensors (.npy: the only output)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Report no faults; an access outside its tensor is still not carried out
    #[arg(long, conflicts_with = "checks")]
    pub no_checks: bool,
    /// Also write the report to this file: .json, .sarif, .xml (JUnit) or .txt (may be given several times)
    #[arg(long, value_name = "FILE")]
    pub report: Vec<PathBuf>,
    /// Which findings count.
    #[command(flatten)]
    pub judge: JudgeOptions,
    /// Where kernels are.
    #[command(flatten)]
    pub sources: SourceOptions,
    /// How to run.
    #[command(flatten)]
    pub run: RunOptions,
}

/// `tilescope debug`.
#[derive(Debug, Args)]
pub struct Debug {
    /// A launch file or the name of a built-in example
    #[arg(value_name = "LAUNCH")]
    pub launch_file: String,
    /// Read commands from this file, one a line, instead of the terminal; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub script: Option<String>,
    /// Go to where this finding is made, by its number in the report of `check`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub finding: Option<u64>,
    /// Which checks are on.
    #[command(flatten)]
    pub checks: CheckOptions,
    /// Of a pipeline, the launch to debug; those before it are run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub launch: Option<u32>,
    /// Form of the replies
    #[arg(long, value_enum, default_value_t = ReplyFormat::Text)]
    pub format: ReplyFormat,
    /// Press these keys on a screen without a terminal, and print it: 's 3*n : "print x" enter click:4,9'
    #[arg(long, value_name = "KEYS", conflicts_with = "script")]
    pub keys: Option<String>,
    /// Size of that screen
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "80x24", value_parser = screen_size)]
    pub size: (u16, u16),
    /// Print that screen as SVG
    #[arg(long, requires = "keys")]
    pub svg: bool,
    /// Say how long the keys took
    #[arg(long, requires = "keys", hide = true)]
    pub times: bool,
    /// What lanes hold that were masked off without another value, at fault, or never written
    #[arg(long, value_enum, value_name = "VALUE", default_value_t = PoisonValue::Zero)]
    pub poison: PoisonValue,
    /// Colours for a light background
    #[arg(long)]
    pub light: bool,
    /// Megabytes for snapshots, from which going back begins
    #[arg(long, value_name = "MB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub history: u64,
    /// Stop a program that goes on after so many operations: asked where a loop begins again
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_steps: u64,
    /// Where kernels are.
    #[command(flatten)]
    pub sources: SourceOptions,
}

/// The longest side of a screen.
const MAX_SIDE: u16 = 1000;

fn screen_size(text: &str) -> Result<(u16, u16), String> {
    let side = |text: &str| text.parse().ok().filter(|n| (1..=MAX_SIDE).contains(n));
    let sides = text
        .split_once('x')
        .and_then(|(columns, rows)| Some((side(columns)?, side(rows)?)));
    sides.ok_or_else(|| format!("write columns and rows, each of 1 to {MAX_SIDE}: 80x24"))
}

/// `tilescope emit`.
#[derive(Debug, Args)]
pub struct Emit {
    /// A launch file or the name of a built-in example
    #[arg(value_name = "LAUNCH")]
    pub launch: String,
    /// Where kernels are.
    #[command(flatten)]
    pub sources: SourceOptions,
    /// The GPU that PTX and resources are for
    #[arg(long, value_name = "SM", default_value = "sm_90a")]
    pub arch: String,
    /// Code for a GPU with the checks of `check --backend gpu`
    #[arg(long)]
    pub checked: bool,
    /// One code for all values of integer arguments, instead of code for those of this launch
    #[arg(long)]
    pub no_specialize: bool,
    /// Which form.
    #[command(flatten)]
    pub form: EmitForm,
}

/// The forms a kernel can be printed in.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct EmitForm {
    /// TTIR text, which Triton reads too
    #[arg(long)]
    pub ttir: bool,
    /// The interpreter's tape for this launch
    #[arg(long)]
    pub tape: bool,
    /// CUDA C++ for this launch
    #[arg(long)]
    pub cuda: bool,
    /// PTX for this launch (needs NVRTC, no GPU)
    #[arg(long)]
    pub ptx: bool,
    /// Which thread of a program holds which element of its tiles on a GPU, as pictures
    #[arg(long)]
    pub layout: bool,
    /// Registers, spills, shared memory and threads of the launch's kernel on a GPU (needs NVRTC, no GPU)
    #[arg(long)]
    pub resources: bool,
}

/// `tilescope cache`.
#[derive(Debug, Args)]
pub struct Cache {
    /// What to do with them.
    #[command(subcommand)]
    pub action: CacheAction,
}

/// What can be done with the cache.
#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// Remove them all
    Clear,
}

/// `tilescope list`.
#[derive(Debug, Args)]
pub struct List {
    /// A Python file
    #[arg(value_name = "FILE.py")]
    pub file: PathBuf,
    /// One JSON document, for programs
    #[arg(long)]
    pub json: bool,
}

/// `tilescope init`.
#[derive(Debug, Args)]
pub struct Init {
    /// A Python file and, where it has several, the kernel
    #[arg(value_name = "FILE.py[::KERNEL]")]
    pub kernel: String,
    /// Write this file instead of KERNEL.launch.toml beside FILE.py; `-` for stdout
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `tilescope explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The check's id, as reports show it in brackets; without one, all checks are listed
    #[arg(value_name = "ID")]
    pub id: Option<String>,
}
