//! The sides of the comparison: Triton's interpreter, PyTorch eager, and ours.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Options, Triton, median, output_of};

/// Whether a Python has what the other sides need.
pub fn has_triton(python: &Path) -> bool {
    let probe = Command::new(python)
        .args(["-c", "import triton, torch, numpy"])
        .output();
    probe.is_ok_and(|output| output.status.success())
}

/// The versions of the other sides.
pub fn versions(python: &Path) -> Option<String> {
    let code = "import triton, torch, numpy; print('Triton', triton.__version__ + ', PyTorch', torch.__version__ + ', \
                NumPy', numpy.__version__)";
    let versions = output_of(Command::new(python).args(["-c", code]), "python").ok()?;
    Some(versions.trim().to_string())
}

/// Median seconds of a launch on Triton's interpreter, after one to warm up; its data and outputs are left in `folder`.
pub fn triton(
    root: &Path,
    python: &Path,
    launch: &Path,
    folder: &Path,
    options: &Options,
) -> Result<Option<f64>> {
    interpret(root, python, launch, folder, folder, options)
}

/// The same of a built-in example, of which no data are left.
pub fn triton_times(
    root: &Path,
    python: &Path,
    launch: &Path,
    folder: &Path,
    options: &Options,
) -> Result<Option<f64>> {
    interpret(root, python, launch, folder, Path::new("-"), options)
}

/// The times are kept in `folder`, for a later run.
fn interpret(
    root: &Path,
    python: &Path,
    launch: &Path,
    folder: &Path,
    data: &Path,
    options: &Options,
) -> Result<Option<f64>> {
    let kept = folder.join("triton.json");
    let text = match options.triton {
        Triton::Skip => return Ok(None),
        Triton::Reuse if kept.exists() => std::fs::read_to_string(&kept)?,
        Triton::Run | Triton::Reuse => {
            let mut driver = Command::new(python);
            driver
                .arg(root.join("xtask/bench/triton_interpreter.py"))
                .args([launch, data])
                .args([options.repeats.to_string(), options.budget_s.to_string()]);
            let text = output_of(&mut driver, "triton_interpreter.py")?;
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&kept, &text))
                .with_context(|| format!("cannot write {}", kept.display()))?;
            text
        }
    };
    let json: Value = serde_json::from_str(&text).context("triton_interpreter.py printed no JSON")?;
    Ok(Some(
        median_of(&json).context("triton_interpreter.py gave no times")?,
    ))
}

/// Median seconds of the work that PyTorch has a counterpart of, by name.
pub fn torch(root: &Path, python: &Path, names: &[String], options: &Options) -> Result<Vec<(String, f64)>> {
    let mut driver = Command::new(python);
    driver
        .arg(root.join("xtask/bench/pytorch_eager.py"))
        .args([options.threads().to_string(), options.repeats.to_string()])
        .args(names);
    let mut times = Vec::new();
    for line in output_of(&mut driver, "pytorch_eager.py")?.lines() {
        let json: Value = serde_json::from_str(line).context("pytorch_eager.py printed no JSON")?;
        let name = json["name"].as_str().context("pytorch_eager.py gave no name")?;
        times.push((
            name.to_string(),
            median_of(&json).context("pytorch_eager.py gave no times")?,
        ));
    }
    Ok(times)
}

fn median_of(json: &Value) -> Option<f64> {
    median(
        json["times"]
            .as_array()?
            .iter()
            .filter_map(Value::as_f64)
            .collect(),
    )
}

/// A build of tilescope, and how to time it.
pub struct Tilescope {
    /// The program.
    pub binary: PathBuf,
    /// Timed launches.
    pub repeats: usize,
    /// Its threads; none for the pool that it has anyway, one per core.
    pub threads: Option<usize>,
}

/// What a launch took on our interpreter: median seconds.
pub struct Ours {
    /// With all checks.
    pub checked: f64,
    /// What the checks cost, relative to the time without them: by the fastest process of each, as what else the machine does
    /// only ever adds to a time.
    pub cost: f64,
    /// Programs of the launch.
    pub programs: u64,
    /// What the checks found.
    pub findings: Vec<String>,
    /// Most memory that one launch in a process of its own took, in bytes, where the system tells.
    pub peak: Option<f64>,
}

/// Processes of each kind that a launch is measured in.
const PROCESSES: usize = 3;

/// What the timed launches of a process take at least, in seconds, and how many they are at most: threads that begin on one core
/// part after some hundredths of a second only. PyTorch's timed calls take as long.
const LEAST_S: f64 = 0.3;
const MOST_REPEATS: usize = 1000;

/// The findings of a report.
fn said(launched: &Value) -> Result<Vec<String>> {
    let findings = launched["findings"].as_array();
    let findings = findings.context("the report has no findings")?.iter();
    Ok(findings
        .map(|f| format!("{}: {}", f["id"], f["message"]))
        .collect())
}

impl Tilescope {
    /// Times a launch with and without checks, in three processes each, in turn; the middle one counts. (Where threads come
    /// to run makes all launches of a process slower, those of a millisecond by half.)
    pub fn measure(&self, launch: &Path) -> Result<Ours> {
        let once = seconds(&self.launched("check", &[], launch)?)?;
        let enough = (LEAST_S / once).ceil() as usize;
        let repeats = enough.min(MOST_REPEATS).max(self.repeats);
        self.repeating(repeats).measured(launch)
    }

    /// The same, with so many timed launches.
    fn repeating(&self, repeats: usize) -> Tilescope {
        Tilescope {
            binary: self.binary.clone(),
            repeats,
            threads: self.threads,
        }
    }

    fn measured(&self, launch: &Path) -> Result<Ours> {
        let checked = self.launched("check", &[], launch)?;
        let mut with = vec![seconds(&checked)?];
        let mut without = Vec::new();
        for _ in 0..PROCESSES {
            without.push(seconds(&self.launched("run", &["--no-checks"], launch)?)?);
            if with.len() < PROCESSES {
                with.push(self.check(launch)?);
            }
        }
        let fastest = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Ours {
            peak: self.peak(launch)?,
            cost: fastest(&with) / fastest(&without) - 1.0,
            checked: median(with).context("no times")?,
            programs: checked["programs"]
                .as_u64()
                .context("the report has no programs")?,
            findings: said(&checked)?,
        })
    }

    /// What the checks find in a launch.
    pub fn findings(&self, launch: &Path) -> Result<Vec<String>> {
        said(&self.launched("check", &[], launch)?)
    }

    /// Median seconds of a launch with all checks.
    pub fn check(&self, launch: &Path) -> Result<f64> {
        seconds(&self.launched("check", &[], launch)?)
    }

    /// Most memory of a process that checks a launch once: what Linux says of it last.
    fn peak(&self, launch: &Path) -> Result<Option<f64>> {
        let mut process = Command::new(&self.binary)
            .args(["check", "--format", "json"])
            .arg(launch)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot run {}", self.binary.display()))?;
        let status = format!("/proc/{}/status", process.id());
        let mut most = None;
        while process.try_wait()?.is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
            most = kib.map(|kib| kib * 1024.0).or(most);
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(most)
    }

    /// The report of a launch, run once to warm up and then as often as is asked for.
    pub fn launched(&self, command: &str, options: &[&str], launch: &Path) -> Result<Value> {
        let threads = self.threads.map(|threads| format!("--threads={threads}"));
        let output = Command::new(&self.binary)
            .arg(command)
            .arg(launch)
            .args(options)
            .args(["--format", "json", "--repeat", &self.repeats.to_string()])
            .args(threads)
            .output()
            .with_context(|| format!("cannot run {}", self.binary.display()))?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!(
                "{}: {}",
                launch.display(),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        let mut json: Value = serde_json::from_slice(&output.stdout).context("tilescope printed no JSON")?;
        Ok(json["launches"][0].take())
    }
}

/// What a launch took.
pub fn seconds(launched: &Value) -> Result<f64> {
    launched["elapsed_s"]
        .as_f64()
        .context("the report has no elapsed_s")
}
