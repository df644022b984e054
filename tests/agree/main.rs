//! Runs our IR of a kernel's source and the IR that the real Triton made of it, on the same inputs, and compares.
//!
//! `cargo run --release -p tilescope-cli --example agree -- LIST… [--package P] [--only TEXT] [--jobs N] [--show N]
//! [--variants N] [--passes]`
//!
//! The list is that of `frontend/examples/coverage`. Each kernel runs with made-up arguments: tensors of small random
//! numbers, integers by the role that their names tell. Outputs must have the same bits; what the checks find is
//! compared as well, and counted apart. By default against the IR that Triton's front end wrote; with `--passes` against
//! what its own passes made of that. A kernel that runs too long, or that stores nothing, shows nothing: counted apart.
#![allow(clippy::print_stdout, reason = "a tool for people")]

mod arguments;
#[path = "../../frontend/examples/coverage/list.rs"]
mod list;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use arguments::Arguments;
use list::Entry;
use tilescope_diagnostics::Source;
use tilescope_interpreter::{Control, Options as RunOptions, Outcome as Ran, Prepared};
use tilescope_ir::{FuncId, VerifiedModule};
use tilescope_launch::Memory;

/// How a kernel came out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The same bits were stored, and the same was found.
    Equal,
    /// The same bits were stored; the findings differ: how.
    OtherFindings(String),
    /// Neither stored anything.
    NothingStored,
    /// Where the outputs differ.
    Differs(String),
    /// Only Triton's passes make the difference: its front end's IR gives the same bits as ours.
    OtherByPasses(String),
    /// The functions have other parameters: which.
    OtherParameters(String),
    /// One ran and the other was refused, or both were: why.
    Refused(String),
    /// One or both were stopped.
    TooLong,
    /// Our front end does not compile it.
    NotCompiled,
    /// The real Triton's text does not read.
    NotRead(String),
    Panicked(String),
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Outcome::Equal => "equal",
            Outcome::OtherFindings(_) => "equal, other findings",
            Outcome::NothingStored => "nothing stored",
            Outcome::Differs(_) => "differs",
            Outcome::OtherByPasses(_) => "differs by Triton's own passes",
            Outcome::OtherParameters(_) => "other parameters",
            Outcome::Refused(_) => "run refused",
            Outcome::TooLong => "too long",
            Outcome::NotCompiled => "not compiled",
            Outcome::NotRead(_) => "TTIR not read",
            Outcome::Panicked(_) => "PANIC",
        }
    }

    fn detail(&self) -> &str {
        match self {
            Outcome::OtherFindings(text)
            | Outcome::Differs(text)
            | Outcome::OtherByPasses(text)
            | Outcome::OtherParameters(text)
            | Outcome::Refused(text)
            | Outcome::NotRead(text)
            | Outcome::Panicked(text) => text,
            _ => "",
        }
    }
}

/// How long a run may take, and how many operations a program.
const PATIENCE: Duration = Duration::from_secs(20);
const STEPS: u64 = 200_000;

#[derive(Default)]
struct Options {
    lists: Vec<String>,
    package: Option<String>,
    only: Option<String>,
    jobs: usize,
    show: usize,
    variants: u64,
    passes: bool,
}

impl Options {
    fn parse() -> Options {
        let mut options = Options {
            variants: 2,
            jobs: 1,
            show: usize::MAX,
            ..Options::default()
        };
        let mut words = std::env::args().skip(1);
        let number = |word: Option<String>| word.and_then(|n| n.parse().ok()).unwrap_or(1);
        while let Some(word) = words.next() {
            match &word[..] {
                "--package" => options.package = words.next(),
                "--only" => options.only = words.next(),
                "--jobs" => options.jobs = number(words.next()),
                "--show" => options.show = number(words.next()),
                "--variants" => options.variants = number(words.next()) as u64,
                "--passes" => options.passes = true,
                _ => options.lists.push(word),
            }
        }
        options
    }
}

/// A kernel that can run.
struct Kernel {
    module: VerifiedModule,
    function: FuncId,
}

impl Kernel {
    fn new(module: tilescope_ir::Module) -> Result<Kernel, String> {
        let module = VerifiedModule::new(module)
            .map_err(|errors| errors.first().map_or(String::new(), ToString::to_string))?;
        let function = module.kernels().next().map(|(id, _)| id);
        let function = function.ok_or("no kernel")?;
        Ok(Kernel { module, function })
    }

    fn read(path: &std::path::Path) -> Result<Kernel, String> {
        let content = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let source = Source::new(path.display().to_string(), content);
        Kernel::new(tilescope_ir::text::parse(&source).map_err(|error| error.to_string())?)
    }

    fn parameters(&self) -> Vec<String> {
        let function = &self.module.funcs[self.function];
        let types = function.params().iter().map(|&p| function.ty(p).to_string());
        types.collect()
    }

    fn run(&self, arguments: &Arguments) -> Result<(Ran, Memory), String> {
        let (launch, mut memory) = arguments.fresh().ok_or("no memory")?;
        let options = RunOptions {
            threads: Some(1),
            max_steps: STEPS,
            ..RunOptions::default()
        };
        let prepared = Prepared::new(&self.module, self.function, &launch, options)
            .map_err(|error| error.message.clone())?;
        let cancel = AtomicBool::new(false);
        let control = Control {
            cancel: &cancel,
            progress: &|_| (),
        };
        let (done, over) = mpsc::channel::<()>();
        let ran = std::thread::scope(|scope| {
            let cancel = &cancel;
            scope.spawn(move || {
                if over.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                    cancel.store(true, Ordering::Relaxed);
                }
            });
            let ran = prepared.run(&mut memory, &control);
            drop(done);
            ran
        });
        Ok((ran.map_err(|error| error.message.clone())?, memory))
    }
}

fn stopped(ran: &Ran) -> bool {
    ran.interrupted || ran.findings.iter().any(|f| f.check.id() == "step-limit")
}

/// What was found, without what our IR and Triton's need not share: one line for each finding.
fn findings(ran: &Ran) -> Vec<String> {
    let line = |f: &tilescope_diagnostics::Finding| {
        let place = f
            .location
            .as_ref()
            .map(|l| (l.frame.line, l.frame.function.clone()));
        format!(
            "{} {place:?} {:?} count {}",
            f.check.id(),
            f.tensor.as_ref().map(|t| &t.name),
            f.count
        )
    };
    let mut lines: Vec<String> = ran.findings.iter().map(line).collect();
    lines.sort();
    lines
}

fn compare(ours: &Kernel, theirs: &Kernel, variant: u64, name: &str) -> Outcome {
    let arguments = match Arguments::new(&ours.module, ours.function, variant, name) {
        Ok(arguments) => arguments,
        Err(why) => return Outcome::Refused(why),
    };
    let (a, b) = match (ours.run(&arguments), theirs.run(&arguments)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(a), Err(b)) if a == b => return Outcome::Refused(format!("both: {a}")),
        (Err(a), Err(b)) => return Outcome::Refused(format!("ours: {a}; theirs: {b}")),
        (Err(a), Ok(_)) => return Outcome::Refused(format!("ours only: {a}")),
        (Ok(_), Err(b)) => return Outcome::Refused(format!("theirs only: {b}")),
    };
    if stopped(&a.0) || stopped(&b.0) {
        return Outcome::TooLong;
    }
    if let Some(difference) = arguments.difference(&a.1, &b.1) {
        return Outcome::Differs(format!("variant {variant}, {difference}"));
    }
    let texts = |ran: &Ran| ran.prints.iter().map(|p| p.text.clone()).collect::<Vec<_>>();
    if texts(&a.0) != texts(&b.0) {
        return Outcome::Differs(format!("variant {variant}, what is printed"));
    }
    if !arguments.stored(&a.1) {
        return Outcome::NothingStored;
    }
    let (found, expected) = (findings(&a.0), findings(&b.0));
    if found != expected {
        let ours = found.iter().find(|line| !expected.contains(line));
        let theirs = expected.iter().find(|line| !found.contains(line));
        return Outcome::OtherFindings(format!("ours {ours:?}, theirs {theirs:?}"));
    }
    Outcome::Equal
}

fn same_bits(ours: &Kernel, theirs: &Kernel, variant: u64, name: &str) -> bool {
    let outcome = compare(ours, theirs, variant, name);
    matches!(outcome, Outcome::Equal | Outcome::OtherFindings(_))
}

fn one(entry: &Entry, options: &Options) -> Outcome {
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let Some(path) = &entry.ttir[usize::from(!options.passes)] else {
            return Outcome::NotRead(String::from("no file"));
        };
        let theirs = match Kernel::read(path) {
            Ok(kernel) => kernel,
            Err(why) => return Outcome::NotRead(why),
        };
        let Ok(compiled) = entry.compile().0 else {
            return Outcome::NotCompiled;
        };
        let ours = match Kernel::new(compiled.module) {
            Ok(kernel) => kernel,
            Err(_) => return Outcome::NotCompiled,
        };
        let (a, b) = (ours.parameters(), theirs.parameters());
        if a != b {
            return Outcome::OtherParameters(format!("ours {a:?}, theirs {b:?}"));
        }
        let before = || Kernel::read(entry.ttir[1].as_ref()?).ok();
        let outcomes = (0..options.variants).map(|v| {
            let outcome = compare(&ours, &theirs, v, &entry.name());
            match outcome {
                Outcome::Differs(how) if options.passes => match before() {
                    Some(before) if same_bits(&ours, &before, v, &entry.name()) => {
                        Outcome::OtherByPasses(how)
                    }
                    _ => Outcome::Differs(how),
                },
                outcome => outcome,
            }
        });
        worst(outcomes.collect())
    }));
    attempt.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
        Outcome::Panicked(text.unwrap_or_default())
    })
}

/// A difference if there is one; else what shows most.
fn worst(outcomes: Vec<Outcome>) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Panicked(_) => 0,
        Outcome::Differs(_) => 1,
        Outcome::OtherByPasses(_) | Outcome::OtherFindings(_) => 2,
        Outcome::Equal => 3,
        Outcome::Refused(_) => 4,
        Outcome::NothingStored => 5,
        _ => 6,
    };
    let first = outcomes.into_iter().min_by_key(rank);
    first.unwrap_or(Outcome::NothingStored)
}

fn main() -> Result<(), String> {
    let options = Options::parse();
    let mut entries = Vec::new();
    for list in &options.lists {
        entries.extend(Entry::read_all(list)?);
    }
    let matches = |text: &str, part: &Option<String>| part.as_ref().is_none_or(|part| text.contains(part));
    entries.retain(|e| matches(&e.package, &options.package) && matches(&e.name(), &options.only));
    std::panic::set_hook(Box::new(|_| ()));
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<(usize, Outcome)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some((i, entry)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    entries.get(i).map(|entry| (i, entry))
                } {
                    let outcome = one(entry, &options);
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes.push((i, outcome));
                    }
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_default();
    outcomes.sort();
    let mut by_word: BTreeMap<&str, Vec<(&Entry, &Outcome)>> = BTreeMap::new();
    for (i, outcome) in &outcomes {
        by_word
            .entry(outcome.word())
            .or_default()
            .push((&entries[*i], outcome));
    }
    for (word, kernels) in &by_word {
        let named = |word: &str| !matches!(word, "equal" | "not compiled");
        for (entry, outcome) in kernels.iter().filter(|_| named(word)).take(options.show) {
            println!(
                "{word}: {} ({})\n    {}",
                entry.name(),
                entry.file,
                outcome.detail()
            );
        }
    }
    println!("\n{} kernels", entries.len());
    for (word, kernels) in &by_word {
        println!("{:5}  {word}", kernels.len());
    }
    Ok(())
}
