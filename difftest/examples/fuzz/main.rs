//! Random kernels by all paths, until a time is over: what `cargo xtask fuzz` runs.
//!
//! ```text
//! fuzz [--minutes M] [--seed S] [--shard I/N] [--out DIR]
//! fuzz --replay FILE.launch.toml      one kernel, from its files
//! fuzz --kernel SEED --out DIR        writes the files of a seed
//! fuzz --merge A.json B.json …        adds results up
//! ```
//!
//! Kernel number K of a run has the seed S + K; shard I of N takes each Nth number from I - 1 on. Ends with 1 if paths
//! disagree, with 2 if the command is wrong.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for people")]

mod paths;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use paths::{Disagreement, Verdict};
use report::{Found, Results};
use tilescope_difftest::generate::{self, Generated};

/// What the command line says.
struct Arguments {
    minutes: f64,
    seed: u64,
    shard: (u64, u64),
    out: PathBuf,
    kernel: Option<u64>,
    replay: Option<PathBuf>,
    merge: Vec<PathBuf>,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        minutes: 1.0,
        seed: 0,
        shard: (1, 1),
        out: PathBuf::from("fuzz-out"),
        kernel: None,
        replay: None,
        merge: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--merge" {
            parsed.merge = words.by_ref().map(PathBuf::from).collect();
            break;
        }
        let value = words.next().ok_or(format!("{word} needs a value"))?;
        let wrong = |_| format!("{word} {value}: not a number");
        match word.as_str() {
            "--minutes" => parsed.minutes = value.parse().map_err(|_| format!("--minutes {value}"))?,
            "--seed" => parsed.seed = value.parse().map_err(wrong)?,
            "--kernel" => parsed.kernel = Some(value.parse().map_err(wrong)?),
            "--out" => parsed.out = value.into(),
            "--replay" => parsed.replay = Some(value.into()),
            "--shard" => {
                let parts = value
                    .split_once('/')
                    .and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
                parsed.shard = parts
                    .filter(|&(i, n)| 1 <= i && i <= n)
                    .ok_or(format!("--shard {value}: expected I/N with 1 <= I <= N"))?;
            }
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(parsed)
}

fn main() -> ExitCode {
    let done = arguments().and_then(|arguments| {
        if !arguments.merge.is_empty() {
            let mut results = Results::default();
            arguments.merge.iter().try_for_each(|path| results.add(path))?;
            println!("{:#}", results.to_json());
            return Ok(results.disagreements.is_empty());
        }
        if let Some(path) = &arguments.replay {
            return replay(path);
        }
        if let Some(seed) = arguments.kernel {
            let generated = generate::kernel(seed).map_err(|e| e.to_string())?;
            let files = write(&arguments.out, &format!("kernel-{seed}"), &generated)?;
            println!("{files}.launch.toml");
            return Ok(true);
        }
        run(&arguments)
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Writes NAME.ttir and NAME.launch.toml; gives their path without ends.
fn write(folder: &Path, name: &str, generated: &Generated) -> Result<String, String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", folder.display());
    std::fs::create_dir_all(folder).map_err(wrong)?;
    let files = folder.join(name);
    let (kernel, _) = paths::texts(&generated.module, &generated.spec);
    std::fs::write(files.with_extension("ttir"), kernel).map_err(wrong)?;
    let launch = generated.spec.text(&format!("{name}.ttir"));
    std::fs::write(files.with_extension("launch.toml"), launch).map_err(wrong)?;
    Ok(files.display().to_string())
}

/// Runs the kernel of two files by all paths.
fn replay(launch: &Path) -> Result<bool, String> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let kernel = launch.to_string_lossy().replace(".launch.toml", ".ttir");
    let opened = paths::open(&read(Path::new(&kernel))?, &read(launch)?).map_err(|e| e.to_string())?;
    match paths::run_all(&opened) {
        Ok(Ok(_)) => println!("all paths agree"),
        Ok(Err(why)) => println!("not run: {why}"),
        Err(Disagreement { path, what }) => {
            println!("{path}: {what}");
            return Ok(false);
        }
    }
    Ok(true)
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let began = Instant::now();
    let limit =
        Duration::try_from_secs_f64(60.0 * arguments.minutes).map_err(|e| format!("--minutes: {e}"))?;
    let (shard, shards) = arguments.shard;
    let mut results = Results::default();
    let mut said = began;
    let file = arguments
        .out
        .join(format!("results-{}-{shard}of{shards}.json", arguments.seed));
    let seeds = (0u64..).map(|k| arguments.seed.wrapping_add(shard - 1 + k.wrapping_mul(shards)));
    // A panic is told as a disagreement.
    std::panic::set_hook(Box::new(|_| ()));
    for seed in seeds {
        if began.elapsed() >= limit {
            break;
        }
        if let Some(found) = one(seed, &mut results, &arguments.out)? {
            println!(
                "seed {seed}: {}: {}\n  {}.launch.toml",
                found.path, found.what, found.files
            );
            results.disagreements.push(found);
        }
        results.kernels += 1;
        results.seconds = began.elapsed().as_secs();
        if said.elapsed() >= Duration::from_secs(60) {
            said = Instant::now();
            println!(
                "{} s: {} kernels, {} disagreements",
                results.seconds,
                results.kernels,
                results.disagreements.len()
            );
            save(&file, &results)?;
        }
    }
    save(&file, &results)?;
    results.print();
    println!("results: {}", file.display());
    Ok(results.disagreements.is_empty())
}

fn save(file: &Path, results: &Results) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", file.display());
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(wrong)?;
    std::fs::write(file, format!("{:#}\n", results.to_json())).map_err(wrong)
}

/// Runs the kernel of a seed by all paths.
fn one(seed: u64, results: &mut Results, out: &Path) -> Result<Option<Found>, String> {
    let generated = match generate::kernel(seed) {
        Ok(generated) => generated,
        Err(error) => {
            return Ok(Some(Found {
                seed,
                path: String::from("generator"),
                what: error.to_string(),
                files: String::new(),
            }));
        }
    };
    for (code, count) in generated.operations() {
        *results.operations.entry(code.to_string()).or_insert(0) += count;
    }
    match paths::judge(&generated) {
        Verdict::Agree => results.count("interpreter"),
        Verdict::Refused(why) => results.count(format!("interpreter refuses: {why}")),
        Verdict::Differ(Disagreement { path, what }) => {
            let files = write(out, &format!("kernel-{seed}"), &generated)?;
            return Ok(Some(Found {
                seed,
                path,
                what,
                files,
            }));
        }
    }
    Ok(None)
}
