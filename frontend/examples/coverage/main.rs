//! Compiles every kernel of a list and says how many compile, what stopped the others, and how long it takes.
//!
//! `cargo run --release -p tilescope-frontend --example coverage -- LIST… [--package P] [--only TEXT] [--show N]
//! [--jobs N] [--slow N] [--failures FILE] [--emit FOLDER]`
//!
//! A kernel counts as compiled when its IR passes the verifier. Panics are caught and counted: each is a bug.
//! `--show N` prints N examples of each cause, in full; `--failures` writes one line per kernel that failed,
//! `--emit` the IR of each that compiled.
#![allow(clippy::vec_box, reason = "errors travel boxed")]
#![allow(clippy::print_stdout, reason = "a tool for people")]

mod list;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use list::Entry;

/// How a kernel came out.
enum Outcome {
    Compiled(Duration),
    /// The cause, and the whole message.
    Failed(String, String),
    Panicked(String),
}

#[derive(Default)]
struct Options {
    lists: Vec<String>,
    package: Option<String>,
    only: Option<String>,
    failures: Option<String>,
    emit: Option<String>,
    show: usize,
    slow: usize,
    jobs: usize,
}

impl Options {
    fn parse() -> Options {
        let mut options = Options::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match &word[..] {
                "--package" => options.package = words.next(),
                "--only" => options.only = words.next(),
                "--failures" => options.failures = words.next(),
                "--show" => options.show = words.next().and_then(|n| n.parse().ok()).unwrap_or(1),
                "--emit" => options.emit = words.next(),
                "--slow" => options.slow = words.next().and_then(|n| n.parse().ok()).unwrap_or(1),
                "--jobs" => options.jobs = words.next().and_then(|n| n.parse().ok()).unwrap_or(1),
                _ => options.lists.push(word),
            }
        }
        options
    }
}

fn one(entry: &Entry, emit: Option<&str>) -> Outcome {
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let (result, elapsed) = entry.compile();
        let compiled = match result {
            Ok(compiled) => compiled,
            Err(errors) => {
                let first = errors.first();
                let cause = first.map_or(String::from("no error given"), |e| e.message.clone());
                let whole: Vec<String> = errors.iter().map(|e| full(e)).collect();
                return Outcome::Failed(cause, whole.join("\n"));
            }
        };
        if let Some(folder) = emit {
            let stem = entry.ttir[0]
                .as_ref()
                .and_then(|p| p.file_stem())
                .unwrap_or_default();
            let path = format!("{folder}/{}.{}.ttir", entry.package, stem.to_string_lossy());
            let _ = std::fs::write(path, tilescope_ir::text::print(&compiled.module));
        }
        match tilescope_ir::verify(&compiled.module) {
            Ok(_) => Outcome::Compiled(elapsed),
            Err(errors) => {
                let first = errors.first();
                let cause = first.map_or(String::new(), |e| e.message.clone());
                let whole: Vec<String> = errors.iter().map(|e| full(e)).collect();
                Outcome::Failed(format!("VERIFIER: {cause}"), whole.join("\n"))
            }
        }
    }));
    attempt.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
        Outcome::Panicked(text.unwrap_or_default())
    })
}

fn full(error: &tilescope_diagnostics::Error) -> String {
    let mut text = error.to_string();
    if let Some(label) = error.labels.first() {
        let (line, _) = label.source.line_column(label.range.start);
        let _ = write!(
            text,
            "\n      | {}",
            label.source.line(line).unwrap_or_default().trim()
        );
    }
    for label in error.labels.iter().skip(1) {
        let (line, _) = label.source.line_column(label.range.start);
        let _ = write!(text, "\n      {}:{line}: {}", label.source.name, label.text);
    }
    text
}

/// A message with its numbers and quoted names left out, so that one cause is one row.
fn normalised(message: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in message.chars() {
        match c {
            '`' if quoted => {
                quoted = false;
                out.push_str("…`");
            }
            '`' => {
                quoted = true;
                out.push('`');
            }
            _ if quoted => {}
            '0'..='9' if out.ends_with('N') => {}
            '0'..='9' => out.push('N'),
            _ => out.push(c),
        }
    }
    out
}

fn run(entries: &[Entry], options: &Options) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(entries.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        let work = || {
            while let Some(entry) = {
                let i = next.fetch_add(1, Ordering::Relaxed);
                entries.get(i).map(|entry| (i, entry))
            } {
                let outcome = one(entry.1, options.emit.as_deref());
                if let Ok(mut outcomes) = outcomes.lock() {
                    outcomes[entry.0] = Some(outcome);
                }
            }
        };
        for _ in 0..options.jobs.max(1) {
            // As deep as a main thread's usual stack.
            let thread = std::thread::Builder::new().stack_size(8 << 20);
            let _ = thread.spawn_scoped(scope, work);
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_default();
    outcomes
        .into_iter()
        .map(|o| o.unwrap_or(Outcome::Panicked(String::from("not run"))))
        .collect()
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
    let outcomes = run(&entries, &options);
    report(&entries, &outcomes, &options)
}

/// A cause with the kernels that it stopped.
#[derive(Default)]
struct Cause {
    kernels: usize,
    messages: BTreeMap<String, usize>,
    examples: Vec<String>,
}

fn report(entries: &[Entry], outcomes: &[Outcome], options: &Options) -> Result<(), String> {
    let mut times = Vec::new();
    let mut panics = 0;
    let mut causes: BTreeMap<String, Cause> = BTreeMap::new();
    let mut packages: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut failures = String::new();
    for (entry, outcome) in entries.iter().zip(outcomes) {
        let package = packages.entry(&entry.package).or_default();
        package.1 += 1;
        let (message, whole) = match outcome {
            Outcome::Compiled(elapsed) => {
                package.0 += 1;
                times.push((*elapsed, entry.name()));
                continue;
            }
            Outcome::Failed(message, whole) => (message.clone(), whole.clone()),
            Outcome::Panicked(what) => {
                panics += 1;
                (format!("PANIC: {what}"), String::new())
            }
        };
        let _ = writeln!(failures, "{}\t{}\t{message}", entry.name(), entry.file);
        let cause = causes.entry(normalised(&message)).or_default();
        cause.kernels += 1;
        *cause.messages.entry(message).or_default() += 1;
        if cause.examples.len() < options.show {
            cause
                .examples
                .push(format!("{} ({})\n    {whole}", entry.name(), entry.file));
        }
    }
    for (package, (good, all)) in &packages {
        println!("{good:5} of {all:5}  {package}");
    }
    println!();
    let mut causes: Vec<(String, Cause)> = causes.into_iter().collect();
    causes.sort_by_key(|(_, cause)| std::cmp::Reverse(cause.kernels));
    for (text, cause) in &causes {
        println!("{:5}  {text}", cause.kernels);
        let mut messages: Vec<_> = cause.messages.iter().collect();
        messages.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (message, count) in messages.iter().take(8).filter(|(m, _)| *m != text) {
            println!("         {count:4}  {message}");
        }
        for example in &cause.examples {
            println!("    e.g. {example}");
        }
    }
    let share = 100.0 * times.len() as f64 / entries.len().max(1) as f64;
    println!(
        "\n{} of {} kernels compile ({share:.2} %), {panics} panics",
        times.len(),
        entries.len()
    );
    times.sort();
    let at = |share: f64| times.get(((times.len() as f64 - 1.0) * share).round().max(0.0) as usize);
    for (word, share) in [("median", 0.5), ("95th percentile", 0.95), ("slowest", 1.0)] {
        if let Some((elapsed, name)) = at(share) {
            println!("{word}: {:.2} ms ({name})", elapsed.as_secs_f64() * 1e3);
        }
    }
    for (elapsed, name) in times.iter().rev().take(options.slow) {
        println!("{:9.2} ms  {name}", elapsed.as_secs_f64() * 1e3);
    }
    match &options.failures {
        Some(path) => std::fs::write(path, failures).map_err(|error| format!("{path}: {error}")),
        None => Ok(()),
    }
}
