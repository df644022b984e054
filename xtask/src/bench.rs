//! `cargo xtask bench`: our interpreter beside Triton's own, on the same kernels and data in one run.
//!
//! For each launch file of `xtask/bench/kernels`, `triton_interpreter.py` makes the data, times Triton's interpreter
//! and leaves a launch with that data and Triton's outputs as `[expect]`; then `tilescope check` (release build, all
//! checks on) runs on it several times. What is timed is the execution of the launch on both sides: no start of a
//! process, no reading of data, no compilation. A disagreement between the outputs fails the run.
//!
//! Without a Python that has Triton and PyTorch, Triton's column is skipped, by name.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The page that `--write` keeps up to date.
const PAGE: &str = "docs/benchmarks.md";
const BEGIN: &str = "<!-- cargo xtask bench: begin -->\n";
const END: &str = "<!-- cargo xtask bench: end -->\n";

/// The least ratio that the project promises.
const GOAL: f64 = 20.0;

struct Options {
    python: Option<PathBuf>,
    repeats: usize,
    budget_s: f64,
    write: bool,
    names: Vec<String>,
}

/// One row of the table: median seconds.
struct Row {
    name: String,
    triton: Option<f64>,
    ours: f64,
    findings: Vec<String>,
}

/// Runs the benchmark with the command line after `bench`.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let options = parse(args)?;
    let python = options.python.as_deref().filter(|python| has_triton(python));
    if python.is_none() {
        println!(
            "skipped: Triton's interpreter (no Python with triton and torch; give one with --python PATH)"
        );
    }
    super::cargo(&["build", "--release", "--package", "tilescope-cli"], &[])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let binary = target.join("release/tilescope");
    let mut rows = Vec::new();
    for launch in launches(root, &options.names)? {
        let name = stem(&launch);
        let folder = target.join("bench").join(&name);
        let mut triton = None;
        let mut judged = launch.clone();
        if let Some(python) = python {
            triton = Some(run_triton(root, python, &launch, &folder, &options)?);
            judged = folder.join(launch.file_name().unwrap_or_default());
        }
        let (ours, findings) = run_ours(&binary, &judged, &options)?;
        let row = Row {
            name,
            triton,
            ours,
            findings,
        };
        println!("{}", line(&row));
        rows.push(row);
    }
    let table = table(&rows, &machine(), python.and_then(versions));
    println!("\n{table}");
    if options.write {
        write_page(root, &table)?;
    }
    let wrong: Vec<&str> = rows
        .iter()
        .filter(|r| !r.findings.is_empty())
        .map(|r| r.name.as_str())
        .collect();
    if !wrong.is_empty() {
        bail!("findings in {}", wrong.join(", "));
    }
    Ok(())
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options {
        python: None,
        repeats: 7,
        budget_s: 30.0,
        write: false,
        names: Vec::new(),
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--python" => options.python = Some(value()?.into()),
            "--repeats" => options.repeats = value()?.parse().context("--repeats needs a number")?,
            "--budget" => options.budget_s = value()?.parse().context("--budget needs seconds")?,
            "--write" => options.write = true,
            flag if flag.starts_with('-') => bail!(
                "unknown option {flag}\nusage: cargo xtask bench [--python PATH] [--repeats N] [--budget SECONDS] \
                 [--write] [NAME...]"
            ),
            name => options.names.push(name.to_string()),
        }
    }
    Ok(options)
}

fn has_triton(python: &Path) -> bool {
    let probe = Command::new(python)
        .args(["-c", "import triton, torch, numpy"])
        .output();
    probe.is_ok_and(|output| output.status.success())
}

fn versions(python: &Path) -> Option<String> {
    let code = "import triton, torch, numpy; print('Triton', triton.__version__ + ', PyTorch', torch.__version__ + ', \
                NumPy', numpy.__version__)";
    let output = Command::new(python).args(["-c", code]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
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

/// Median seconds of a launch on Triton's interpreter, after one to warm up.
fn run_triton(root: &Path, python: &Path, launch: &Path, out: &Path, options: &Options) -> Result<f64> {
    let output = Command::new(python)
        .arg(root.join("xtask/bench/triton_interpreter.py"))
        .args([launch, out])
        .args([options.repeats.to_string(), options.budget_s.to_string()])
        .output()
        .with_context(|| format!("cannot run {}", python.display()))?;
    if !output.status.success() {
        bail!(
            "{}: {}",
            launch.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let json: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("the driver printed no JSON")?;
    let times = json["times"].as_array().context("the driver gave no times")?;
    median(times.iter().filter_map(serde_json::Value::as_f64).collect()).context("the driver gave no times")
}

/// Median seconds of a launch under `tilescope check`, after one to warm up, and what the checks found.
fn run_ours(binary: &Path, launch: &Path, options: &Options) -> Result<(f64, Vec<String>)> {
    let mut times = Vec::new();
    let mut findings = Vec::new();
    for repeat in 0..=options.repeats {
        let output = Command::new(binary)
            .arg("check")
            .arg(launch)
            .args(["--format", "json"])
            .output()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!(
                "{}: {}",
                launch.display(),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        let json: serde_json::Value =
            serde_json::from_slice(&output.stdout).context("tilescope printed no JSON")?;
        let launched = &json["launches"][0];
        if repeat > 0 {
            times.push(
                launched["elapsed_s"]
                    .as_f64()
                    .context("the report has no elapsed_s")?,
            );
        }
        let messages = launched["findings"]
            .as_array()
            .context("the report has no findings")?;
        findings = messages
            .iter()
            .map(|f| format!("{}: {}", f["id"], f["message"]))
            .collect();
    }
    Ok((
        median(times).context("no launch was timed; --repeats needs at least 1")?,
        findings,
    ))
}

fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    let upper = *times.get(times.len() / 2)?;
    let lower = *times.get(times.len().checked_sub(1)? / 2)?;
    Some((lower + upper) / 2.0)
}

fn line(row: &Row) -> String {
    let mut line = format!("| {} | ", row.name);
    match row.triton {
        Some(triton) => {
            let _ = write!(
                line,
                "{} | {} | {:.0} |",
                seconds(triton),
                seconds(row.ours),
                triton / row.ours
            );
        }
        None => {
            let _ = write!(line, "skipped | {} | |", seconds(row.ours));
        }
    }
    for finding in &row.findings {
        let _ = write!(line, "\n  {finding}");
    }
    line
}

fn seconds(value: f64) -> String {
    match value {
        v if v < 1e-3 => format!("{:.0} µs", v * 1e6),
        v if v < 1.0 => format!("{:.3} ms", v * 1e3),
        v => format!("{v:.3} s"),
    }
}

fn table(rows: &[Row], machine: &str, versions: Option<String>) -> String {
    let mut table = format!(
        "{machine}{}.\n\n",
        versions.map(|v| format!("; {v}")).unwrap_or_default()
    );
    table += "| kernel | Triton's interpreter | `tilescope check` | times faster |\n|---|---:|---:|---:|\n";
    for row in rows {
        let _ = writeln!(table, "{}", line(row).lines().next().unwrap_or_default());
    }
    let ratios = rows
        .iter()
        .filter_map(|r| Some((r.triton? / r.ours, r.name.as_str())));
    if let Some((least, name)) = ratios.min_by(|a, b| a.0.total_cmp(&b.0)) {
        let _ = writeln!(
            table,
            "\nLeast: {least:.0} times, `{name}` (the goal is {GOAL:.0} on each)."
        );
    }
    table
}

/// Processor and number of threads, as far as the system says.
fn machine() -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find(|l| l.starts_with("model name"))
        .and_then(|l| l.split_once(':'));
    format!(
        "{}, {threads} threads",
        model.map_or("unknown processor", |(_, name)| name.trim())
    )
}

fn write_page(root: &Path, table: &str) -> Result<()> {
    let path = root.join(PAGE);
    let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let (before, rest) = page
        .split_once(BEGIN)
        .context("the page has lost its begin mark")?;
    let (_, after) = rest.split_once(END).context("the page has lost its end mark")?;
    std::fs::write(&path, format!("{before}{BEGIN}\n{table}\n{END}{after}"))
        .with_context(|| format!("cannot write {PAGE}"))
}
