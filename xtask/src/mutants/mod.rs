//! `cargo xtask mutants`: plants faults in the kernels of `kernels/`, one at a time, and counts which of them
//! `tilescope check` and `tilescope diff` find.
//!
//! `check` runs the launch as its file says; `diff` draws cases from the file's ranges. Found means an error or a
//! warning; a note is not enough. Each mutant is a copy of the example's files under `target/mutants`, left there to be
//! looked at.

mod list;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use list::MUTANTS;

/// The page that `--write` keeps up to date.
const PAGE: &str = "docs/mutation-score.md";
const BEGIN: &str = "<!-- cargo xtask mutants: begin -->\n";
const END: &str = "<!-- cargo xtask mutants: end -->\n";

/// A fault to plant.
#[derive(Clone, Copy)]
struct Mutant {
    /// The example, as its launch file is called.
    launch: &'static str,
    /// The kind of mistake.
    kind: &'static str,
    place: Place,
    /// Which occurrence of the text, from 1.
    nth: usize,
    find: &'static str,
    put: &'static str,
}

/// Where the fault is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// The kernel's source.
    Kernel,
    /// The launch file.
    Launch,
}

struct Options {
    binary: PathBuf,
    cases: String,
    seed: String,
    names: Vec<String>,
    write: bool,
}

/// What came of a mutant.
struct Score {
    /// Ids of what `check` found.
    check: Vec<String>,
    /// Ids of what `diff` found.
    diff: Vec<String>,
    /// Cases until then, and more cases until it was small.
    cases: u64,
    shrinking: u64,
    /// The smallest case.
    smallest: String,
    /// Seconds that `diff` took.
    seconds: f64,
}

/// Runs all mutants, or those of the examples named.
pub fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let options = Options::parse(root, arguments)?;
    let mut rows = Vec::new();
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let example = mutant.launch.split('-').next().unwrap_or_default();
        if !options.names.is_empty() && !options.names.iter().any(|n| n == example || n == mutant.launch) {
            continue;
        }
        let launch = mutant.plant(root, number)?;
        let score = options.score(&launch)?;
        let row = row(number, mutant, &score);
        eprintln!("{row}");
        rows.push((mutant, score, row));
    }
    ensure!(!rows.is_empty(), "no mutant is of that name");
    let table = table(&rows, &options);
    match options.write {
        true => write(root, &table),
        false => {
            println!("{table}");
            Ok(())
        }
    }
}

impl Options {
    fn parse(root: &Path, arguments: &[String]) -> Result<Options> {
        let mut options = Options {
            binary: root.join("target/release/tilescope"),
            cases: String::from("200"),
            seed: String::from("1"),
            names: Vec::new(),
            write: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .with_context(|| format!("{argument} needs a value"))
            };
            match argument.as_str() {
                "--binary" => options.binary = PathBuf::from(value()?),
                "--cases" => options.cases = value()?.clone(),
                "--seed" => options.seed = value()?.clone(),
                "--write" => options.write = true,
                other if other.starts_with('-') => bail!("there is no option {other}"),
                name => options.names.push(name.to_string()),
            }
        }
        ensure!(
            options.binary.exists(),
            "there is no {}: cargo build --release, or name one with --binary",
            options.binary.display()
        );
        Ok(options)
    }

    fn score(&self, launch: &Path) -> Result<Score> {
        let check = self.report("check", &["--deny", "warnings"], launch)?;
        let options = ["--no-write", "--cases", &self.cases, "--seed", &self.seed];
        let started = Instant::now();
        let diff = self.report("diff", &options, launch)?;
        let seconds = started.elapsed().as_secs_f64();
        let (search, case) = (&diff["launches"][0]["search"], &diff["launches"][0]["case"]);
        Ok(Score {
            check: serious(&check),
            diff: serious(&diff),
            cases: search["cases"].as_u64().context("the report counts no cases")?,
            shrinking: case["shrinking"].as_u64().unwrap_or_default(),
            smallest: case["smallest"].as_str().unwrap_or_default().to_string(),
            seconds,
        })
    }

    /// What a command says of a launch; a kernel that does not compile is a mistake in our list.
    fn report(&self, command: &str, options: &[&str], launch: &Path) -> Result<Value> {
        let output = Command::new(&self.binary)
            .arg(command)
            .arg(launch)
            .args(options)
            .args(["--format", "json"])
            .output()
            .with_context(|| format!("cannot run {}", self.binary.display()))?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            let why = String::from_utf8_lossy(&output.stderr);
            bail!("{command} {}: {}", launch.display(), why.trim());
        }
        serde_json::from_slice(&output.stdout).with_context(|| format!("{command} printed no JSON"))
    }
}

/// Ids of the errors and warnings of a report, each once.
fn serious(report: &Value) -> Vec<String> {
    let launches = report["launches"].as_array().into_iter().flatten();
    let findings = launches.flat_map(|launch| launch["findings"].as_array().into_iter().flatten());
    let serious = findings.filter(|finding| finding["severity"] != "note");
    let mut ids: Vec<String> = serious
        .filter_map(|finding| finding["id"].as_str().map(String::from))
        .collect();
    ids.sort();
    ids.dedup();
    ids
}

impl Mutant {
    /// Writes the files of the example with the fault in them; gives the launch file.
    fn plant(&self, root: &Path, number: usize) -> Result<PathBuf> {
        let example = self.launch.split('-').next().unwrap_or_default();
        let from = root.join("kernels").join(example);
        let folder = root.join(format!("target/mutants/{:02}-{}", number + 1, self.launch));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let launch = format!("{}.launch.toml", self.launch);
        for (name, place) in [
            (format!("{example}.py"), Place::Kernel),
            (launch.clone(), Place::Launch),
        ] {
            let path = from.join(&name);
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let text = match place == self.place {
                true => self.planted(&text)?,
                false => text,
            };
            std::fs::write(folder.join(&name), text)?;
        }
        Ok(folder.join(launch))
    }

    fn planted(&self, text: &str) -> Result<String> {
        let mut at = text.match_indices(self.find).map(|(at, _)| at);
        let found = at.nth(self.nth - 1).with_context(|| {
            format!(
                "{}: `{}` does not occur {} times",
                self.launch, self.find, self.nth
            )
        })?;
        ensure!(
            self.nth > 1 || at.next().is_none() || self.kind == "last block of a loop missing",
            "{}: `{}` occurs more than once",
            self.launch,
            self.find
        );
        let (before, behind) = text.split_at(found);
        Ok([before, self.put, &behind[self.find.len()..]].concat())
    }

    /// The change on one line, as a table can hold it.
    fn change(&self) -> String {
        let line = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            words.join(" ").replace('|', "\\|")
        };
        let short = |text: String| match text.char_indices().nth(60) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        };
        match line(self.put).as_str() {
            "" => format!("`{}` left out", short(line(self.find))),
            put => format!("`{}` → `{}`", short(line(self.find)), short(put.to_string())),
        }
    }
}

fn row(number: usize, mutant: &Mutant, score: &Score) -> String {
    let ids = |ids: &[String]| match ids {
        [] => String::from("–"),
        ids => ids.join(", "),
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} + {} | {} | {:.1} |",
        number + 1,
        mutant.launch,
        mutant.kind,
        mutant.change(),
        ids(&score.check),
        ids(&score.diff),
        score.cases,
        score.shrinking,
        score.smallest,
        score.seconds
    )
}

/// The score, by kind and mutant by mutant.
fn table(rows: &[(&Mutant, Score, String)], options: &Options) -> String {
    let count = |found: &dyn Fn(&Score) -> bool| rows.iter().filter(|(_, score, _)| found(score)).count();
    let by_check = |score: &Score| !score.check.is_empty();
    let by_diff = |score: &Score| !score.diff.is_empty();
    let either = |score: &Score| by_check(score) || by_diff(score);
    let found = count(&either);
    let mut text = format!(
        "{found} of {} mutants found ({:.1} %): {} by `check`, {} by `diff --cases {} --seed {}`.\n\n",
        rows.len(),
        100.0 * found as f64 / rows.len() as f64,
        count(&by_check),
        count(&by_diff),
        options.cases,
        options.seed,
    );
    let mut shrinking: Vec<u64> = rows
        .iter()
        .filter(|(_, score, _)| by_diff(score))
        .map(|(_, score, _)| score.shrinking)
        .collect();
    shrinking.sort_unstable();
    let longest = rows.iter().map(|(_, score, _)| score.seconds).fold(0.0, f64::max);
    if let Some(median) = shrinking.get(shrinking.len() / 2) {
        let _ = writeln!(
            text,
            "Cases run to make a failure small: median {median}, most {}. Longest `diff`: {longest:.1} s.\n",
            shrinking.last().copied().unwrap_or_default()
        );
    }
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (mutant, score, _) in rows {
        let (of, all) = kinds.entry(mutant.kind).or_default();
        *of += usize::from(either(score));
        *all += 1;
    }
    text.push_str("| kind | found | of |\n|---|---:|---:|\n");
    for (kind, (found, all)) in kinds {
        let _ = writeln!(text, "| {kind} | {found} | {all} |");
    }
    text.push_str(
        "\n| | launch | kind | change | `check` | `diff` | cases + shrinking | smallest case | s |\n\
         |---:|---|---|---|---|---|---|---|---:|\n",
    );
    for (_, _, row) in rows {
        let _ = writeln!(text, "{row}");
    }
    text
}

fn write(root: &Path, table: &str) -> Result<()> {
    let path = root.join(PAGE);
    let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let parts = page
        .split_once(BEGIN)
        .and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) = parts.with_context(|| format!("{PAGE} has lost the marks of its table"))?;
    std::fs::write(&path, [head, BEGIN, table, END, tail].concat())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise an edit of a kernel silently takes mutants away.
    #[test]
    fn every_mutant_still_applies() {
        let root = crate::root();
        for mutant in MUTANTS {
            let example = mutant.launch.split('-').next().unwrap_or_default();
            let name = match mutant.place {
                Place::Kernel => format!("{example}.py"),
                Place::Launch => format!("{}.launch.toml", mutant.launch),
            };
            let text = std::fs::read_to_string(root.join("kernels").join(example).join(name)).unwrap();
            let planted = mutant.planted(&text).unwrap();
            assert_ne!(planted, text, "{}: {}", mutant.launch, mutant.kind);
        }
        assert!(MUTANTS.len() >= 60);
    }
}
