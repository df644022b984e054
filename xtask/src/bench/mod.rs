//! `cargo xtask bench`: our interpreter beside Triton's own and PyTorch eager, on the same work in one run.
//!
//! For each launch file of `xtask/bench/kernels`, `triton_interpreter.py` makes the data, times Triton's interpreter
//! and leaves a launch with that data and Triton's outputs as `[expect]`; then `tilescope check` (release build, all
//! checks on) runs on it several times, and `tilescope run --no-checks` for what the checks cost. `pytorch_eager.py`
//! times the same operation of PyTorch. What is timed is the execution on every side: no start of a process, no
//! reading of data, no compilation, no first touch of an output. A disagreement between the outputs fails the run.
//!
//! Without a Python that has Triton and PyTorch their columns are skipped, by name.

mod checks;
mod goals;
mod plot;
mod sides;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use sides::{Ours, Tilescope};

const USAGE: &str = "\
usage: cargo xtask bench [OPTION...] [NAME...]

  NAME             launches of xtask/bench/kernels whose names start so; all without one
  --python PATH    a Python with triton, torch and numpy, for their columns
  --skip-triton    without Triton's interpreter, which takes minutes
  --reuse-triton   with what an earlier run on this machine measured of Triton's interpreter
  --budget SECONDS of Triton's interpreter per launch (30)
  --repeats N      timed launches, of which the median counts (15)
  --threads N      of every side but Triton's interpreter (all cores)
  --binary PATH    this tilescope, instead of building one
  --write          put the table into docs/benchmarks.md
  --plot           time against size, as docs/benchmarks.svg: alone, or beside --write
  --checks         instead, what each check costs alone, on one thread; with --write, into docs/benchmarks.md
  --examples       the built-in examples instead, beside Triton's interpreter alone";

/// What the command line asks for.
pub struct Options {
    python: Option<PathBuf>,
    triton: Triton,
    repeats: usize,
    threads: Option<usize>,
    budget_s: f64,
    binary: Option<PathBuf>,
    write: bool,
    plot: bool,
    checks: bool,
    examples: bool,
    names: Vec<String>,
}

impl Options {
    fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(all)
    }
}

/// What becomes of the column of Triton's interpreter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Triton {
    Run,
    Reuse,
    Skip,
}

/// One row of the table: median seconds.
pub struct Row {
    name: String,
    triton: Option<f64>,
    torch: Option<f64>,
    ours: Ours,
}

/// Runs the benchmark with the command line after `bench`.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let options = parse(args)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => {
            super::cargo(&["build", "--release", "--package", "tilescope-cli"], &[])?;
            target.join("release/tilescope")
        }
    };
    let tilescope = Tilescope {
        binary,
        repeats: options.repeats,
        threads: options.threads,
    };
    if options.checks {
        let launches = launches(root, &options.names)?;
        let named = !options.names.is_empty();
        let tilescope = Tilescope {
            threads: options.threads.or(Some(1)),
            ..tilescope
        };
        return checks::run(root, &launches, named, &tilescope, options.write);
    }
    if options.plot {
        plot::run(root, &target.join("bench/plot"), &tilescope)?;
        if !options.write {
            return Ok(());
        }
    }
    let python = options
        .python
        .as_deref()
        .filter(|python| sides::has_triton(python));
    if python.is_none() {
        println!("skipped: Triton and PyTorch (no Python that has them; give one with --python PATH)");
    }
    if options.examples {
        return examples(root, &target.join("bench/examples"), &tilescope, python, &options);
    }
    let launches = launches(root, &options.names)?;
    let mut rows = Vec::new();
    for launch in &launches {
        let name = stem(launch);
        let folder = target.join("bench").join(&name);
        let triton = match python {
            Some(python) if goals::of(&name).triton => {
                sides::triton(root, python, launch, &folder, &options)?
            }
            _ => None,
        };
        // Side by side: what a machine that is shared gives changes within a minute.
        let torch = match python {
            Some(python) => sides::torch(root, python, std::slice::from_ref(&name), &options)?,
            None => Vec::new(),
        };
        let mut ours = tilescope.measure(launch)?;
        // On Triton's data, against Triton's outputs, where there are any: neither is part of the time or the memory.
        let judged = folder.join(launch.file_name().unwrap_or_default());
        if judged.exists() {
            ours.findings.extend(tilescope.findings(&judged)?);
        }
        let of_torch = torch.iter().find(|(of, _)| *of == name);
        let row = Row {
            torch: of_torch.map(|(_, seconds)| *seconds),
            name,
            triton,
            ours,
        };
        println!("{}", table::line(&row, options.threads()));
        row.ours
            .findings
            .iter()
            .for_each(|finding| println!("  {finding}"));
        rows.push(row);
    }
    let table = table::table(
        &rows,
        options.threads(),
        &machine(),
        python.and_then(sides::versions),
    );
    println!("\n{table}");
    if options.write {
        table::write_page(root, &table)?;
    }
    let wrong = rows.iter().filter(|row| !row.ours.findings.is_empty());
    let wrong: Vec<&str> = wrong.map(|row| row.name.as_str()).collect();
    if !wrong.is_empty() {
        bail!("findings in {}", wrong.join(", "));
    }
    Ok(())
}

/// Times the f32 launch of every built-in example.
fn examples(
    root: &Path,
    folder: &Path,
    tilescope: &Tilescope,
    python: Option<&Path>,
    options: &Options,
) -> Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("kernels"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let wanted = options.names.is_empty() || options.names.contains(&name);
        if wanted
            && root
                .join("kernels")
                .join(&name)
                .join(format!("{name}.launch.toml"))
                .exists()
        {
            names.push(name);
        }
    }
    names.sort();
    println!("| example | Triton's interpreter | `tilescope check` | times faster |\n|---|---:|---:|---:|");
    for name in names {
        let launch = root
            .join("kernels")
            .join(&name)
            .join(format!("{name}.launch.toml"));
        let ours = tilescope.check(&launch)?;
        let triton = match python {
            Some(python) => sides::triton_times(root, python, &launch, &folder.join(&name), options)?,
            None => None,
        };
        let (triton, times) = match triton {
            Some(triton) => (table::seconds(triton), format!("{:.0}", triton / ours)),
            None => (String::from("–"), String::from("–")),
        };
        println!("| {name} | {triton} | {} | {times} |", table::seconds(ours));
    }
    Ok(())
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options {
        python: None,
        triton: Triton::Run,
        repeats: 15,
        threads: None,
        budget_s: 30.0,
        binary: None,
        write: false,
        plot: false,
        checks: false,
        examples: false,
        names: Vec::new(),
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--python" => options.python = Some(value()?.into()),
            "--skip-triton" => options.triton = Triton::Skip,
            "--reuse-triton" => options.triton = Triton::Reuse,
            "--repeats" => options.repeats = value()?.parse().context("--repeats needs a number")?,
            "--threads" => options.threads = Some(value()?.parse().context("--threads needs a number")?),
            "--budget" => options.budget_s = value()?.parse().context("--budget needs seconds")?,
            "--binary" => options.binary = Some(value()?.into()),
            "--write" => options.write = true,
            "--checks" => options.checks = true,
            "--plot" => options.plot = true,
            "--examples" => options.examples = true,
            "--help" => bail!("{USAGE}"),
            flag if flag.starts_with('-') => bail!("unknown option {flag}\n{USAGE}"),
            name => options.names.push(name.to_string()),
        }
    }
    Ok(options)
}

/// The launch files whose names start with one of `names`; all of them for none.
fn launches(root: &Path, names: &[String]) -> Result<Vec<PathBuf>> {
    let folder = root.join("xtask/bench/kernels");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let wanted = names.is_empty() || names.iter().any(|n| stem(&path).starts_with(n.as_str()));
        if path.to_string_lossy().ends_with(".launch.toml") && wanted {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        bail!("no launch file in {} has such a name", folder.display());
    }
    Ok(found)
}

fn stem(launch: &Path) -> String {
    let name = launch.file_name().unwrap_or_default().to_string_lossy();
    name.trim_end_matches(".launch.toml").to_string()
}

/// The middle of some times.
fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let upper = *times.get(times.len() / 2)?;
    let lower = *times.get(times.len().checked_sub(1)? / 2)?;
    Some((lower + upper) / 2.0)
}

/// Name of the processor, as far as the system says.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find(|l| l.starts_with("model name"))
        .and_then(|l| l.split_once(':'));
    model
        .map_or("unknown processor", |(_, name)| name.trim())
        .to_string()
}

/// Output of a command that must succeed.
fn output_of(command: &mut Command, what: &str) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {what}"))?;
    if !output.status.success() {
        bail!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
