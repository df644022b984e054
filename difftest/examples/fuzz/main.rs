//! Random kernels by all paths, until a time is over: what `cargo xtask fuzz` runs.
//!
//! ```text
//! fuzz [--minutes M] [--seed S] [--shard I/N] [--out DIR] [--cuda K] [--python PATH]
//! fuzz --replay FILE.launch.toml      one kernel, from its files
//! fuzz --kernel SEED --out DIR        writes the files of a seed
//! fuzz --for triton …                 only kernels that Triton's compiler turns into code, mostly
//! fuzz --merge A.json B.json …        adds results up
//! ```
//!
//! Kernel number K of a run has the seed S + K; shard I of N takes each Nth number from I - 1 on. Each K-th kernel is
//! also generated as CUDA C++ and run by the harness of the GPU backend's tests, where there is a C++ compiler (20 unless
//! given, 0 for none): those that round nothing freely leave the interpreter's bits, the others stay within the twin's
//! bounds. With a Python that has Triton, that reads the text of each kernel. Ends with 1 if paths disagree, with 2 if the
//! command is wrong.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for people")]

#[path = "../../../gpu-backend/tests/cpu/case.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod case;
#[path = "../../../gpu-backend/tests/cpu/compile.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod compile;
mod cuda;
mod judge;
mod paths;
mod report;
mod triton;
mod twin;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use paths::{Disagreement, Opened};
use report::{Found, Results};
use tilescope_difftest::generate::{self, Generated};
use triton::Triton;

/// What the command line says.
struct Arguments {
    minutes: f64,
    seed: u64,
    shard: (u64, u64),
    out: PathBuf,
    kernel: Option<u64>,
    replay: Option<PathBuf>,
    merge: Vec<PathBuf>,
    /// Each so-many-th exact kernel goes to the C++ compiler.
    cuda: u64,
    python: Option<PathBuf>,
    /// Kernels for Triton's compiler.
    compilable: bool,
}

/// The kernel of a seed.
fn kernel(seed: u64, compilable: bool) -> Result<Generated, String> {
    let made = match compilable {
        true => generate::compilable(seed),
        false => generate::kernel(seed),
    };
    made.map_err(|e| e.to_string())
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
        cuda: 20,
        python: None,
        compilable: false,
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
            "--cuda" => parsed.cuda = value.parse().map_err(wrong)?,
            "--for" if value == "triton" => parsed.compilable = true,
            "--for" => return Err(format!("--for {value}: expected triton")),
            "--python" => parsed.python = Some(value.into()),
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
            return replay(path, &arguments);
        }
        if let Some(seed) = arguments.kernel {
            let generated = kernel(seed, arguments.compilable)?;
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
fn replay(launch: &Path, arguments: &Arguments) -> Result<bool, String> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let kernel = launch.to_string_lossy().replace(".launch.toml", ".ttir");
    let opened = paths::open(&read(Path::new(&kernel))?, &read(launch)?).map_err(|e| e.to_string())?;
    let mut runner = Runner::new(arguments)?;
    match runner.paths(&opened, launch, paths::is_exact(&opened.module), 0..cuda::BUILDS) {
        Ok(()) => runner.results.print(),
        Err(Disagreement { path, what }) => {
            println!("{path}: {what}");
            return Ok(false);
        }
    }
    Ok(true)
}

/// The kind of CUDA build that a seed has: any, the same every time.
fn kind(seed: u64) -> std::ops::Range<u64> {
    let kind = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % cuda::BUILDS;
    kind..kind + 1
}

/// Runs kernels by the paths that there are, and counts.
struct Runner {
    results: Results,
    out: PathBuf,
    cuda: u64,
    /// Kernels so far that can be judged as CUDA.
    judged: u64,
    triton: Option<Triton>,
    compilable: bool,
}

impl Runner {
    fn new(arguments: &Arguments) -> Result<Runner, String> {
        let mut cuda = arguments.cuda;
        if cuda > 0 && compile::compiler().is_none() {
            println!("no C++ compiler is found (set CXX): generated CUDA is not run");
            cuda = 0;
        }
        std::fs::create_dir_all(&arguments.out).map_err(|e| format!("{}: {e}", arguments.out.display()))?;
        Ok(Runner {
            results: Results::default(),
            out: arguments.out.clone(),
            cuda: if arguments.replay.is_some() {
                cuda.min(1)
            } else {
                cuda
            },
            judged: 0,
            triton: arguments.python.as_deref().map(Triton::start).transpose()?,
            compilable: arguments.compilable,
        })
    }

    /// Runs the kernel of a seed by all paths.
    fn seed(&mut self, seed: u64) -> Result<Option<Found>, String> {
        let found = |(path, what, files)| Found {
            seed,
            path,
            what,
            files,
        };
        let generated = match kernel(seed, self.compilable) {
            Ok(generated) => generated,
            Err(error) => {
                return Ok(Some(found(("generator".into(), error, String::new()))));
            }
        };
        for (code, count) in generated.operations() {
            *self.results.operations.entry(code.to_string()).or_insert(0) += count;
        }
        let judged = match paths::read_back(&generated) {
            Ok(opened) => {
                // The harness and Triton read files.
                let files = write(&self.out, "current", &generated)?;
                self.paths(
                    &opened,
                    Path::new(&format!("{files}.launch.toml")),
                    generated.exact,
                    kind(seed),
                )
            }
            Err(disagreement) => Err(disagreement),
        };
        match judged {
            Ok(()) => Ok(None),
            Err(first) => {
                let files = write(&self.out, &format!("kernel-{seed}"), &generated)?;
                let files = match self.smaller(&generated, seed, &first.path)? {
                    Some(small) => write(&self.out, &format!("kernel-{seed}-small"), &small)?,
                    None => files,
                };
                Ok(Some(found((first.path, first.what, files))))
            }
        }
    }

    /// The smallest kernel found on which the same path disagrees.
    fn smaller(&mut self, generated: &Generated, seed: u64, path: &str) -> Result<Option<Generated>, String> {
        if path == "text" || path == "triton" && self.triton.is_none() {
            return Ok(None);
        }
        let (judged, cuda) = (std::mem::take(&mut self.judged), self.cuda);
        self.cuda = u64::from(path == "cuda");
        let counted = std::mem::take(&mut self.results);
        let questions = if path == "cuda" { 250 } else { 2000 };
        let small = generate::shrink(generated, questions, &mut |candidate| {
            let Ok(opened) = paths::read_back(candidate) else {
                return false;
            };
            let Ok(files) = write(&self.out, "candidate", candidate) else {
                return false;
            };
            let outcome = self.paths(
                &opened,
                Path::new(&format!("{files}.launch.toml")),
                candidate.exact,
                kind(seed),
            );
            outcome.is_err_and(|disagreement| disagreement.path == path)
        });
        (self.judged, self.cuda, self.results) = (judged, cuda, counted);
        Ok(Some(small))
    }

    /// Runs an opened kernel, which lies in files too, by all paths, as CUDA in builds of these kinds.
    fn paths(
        &mut self,
        opened: &Opened,
        launch: &Path,
        exact: bool,
        kinds: std::ops::Range<u64>,
    ) -> Result<(), Disagreement> {
        let left = match paths::run_all(opened, &paths::ways())? {
            Ok(left) => left,
            Err(why) => {
                self.results.count(format!("interpreter refuses: {why}"));
                return Ok(());
            }
        };
        self.results.count("interpreter");
        let bounded = twin::check(opened, &left)?;
        match &bounded {
            Ok(_) => self.results.count("twin"),
            Err(why) => self.results.count(format!("twin refuses: {why}")),
        }
        if let Some(triton) = &mut self.triton {
            let kernel = launch.to_string_lossy().replace(".launch.toml", ".ttir");
            match triton.refuses(Path::new(&kernel)) {
                Ok(None) => self.results.count("triton"),
                Ok(Some(what)) | Err(what) => {
                    return Err(Disagreement {
                        path: String::from("triton"),
                        what,
                    });
                }
            }
        }
        // Without a twin nothing judges what is rounded freely.
        let judged = exact || bounded.is_ok();
        self.judged += u64::from(judged);
        if judged && self.cuda > 0 && self.judged.is_multiple_of(self.cuda) {
            for kind in kinds {
                match cuda::check(launch, &self.out.join("cuda"), kind, (opened, &left), &bounded)? {
                    Ok(how) => self.results.count(format!("cuda: {how}")),
                    Err(why) => self.results.count(format!("cuda refuses: {why}")),
                }
            }
        }
        Ok(())
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let began = Instant::now();
    let limit =
        Duration::try_from_secs_f64(60.0 * arguments.minutes).map_err(|e| format!("--minutes: {e}"))?;
    let (shard, shards) = arguments.shard;
    let mut runner = Runner::new(arguments)?;
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
        if let Some(found) = runner.seed(seed)? {
            println!(
                "seed {seed}: {}: {}\n  {}.launch.toml",
                found.path, found.what, found.files
            );
            runner.results.disagreements.push(found);
        }
        runner.results.kernels += 1;
        runner.results.seconds = began.elapsed().as_secs();
        if said.elapsed() >= Duration::from_secs(60) {
            said = Instant::now();
            let results = &runner.results;
            println!(
                "{} s: {} kernels, {} disagreements",
                results.seconds,
                results.kernels,
                results.disagreements.len()
            );
            save(&file, results)?;
        }
    }
    save(&file, &runner.results)?;
    runner.results.print();
    println!("results: {}", file.display());
    Ok(runner.results.disagreements.is_empty())
}

fn save(file: &Path, results: &Results) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", file.display());
    std::fs::write(file, format!("{:#}\n", results.to_json())).map_err(wrong)
}
