//! The table of the benchmark, as Markdown.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::Row;
use super::goals::{self, CHECKS, Goal, OF_TRITON};

/// The page that `--write` keeps up to date.
const PAGE: &str = "docs/benchmarks.md";
const BEGIN: &str = "<!-- cargo xtask bench: begin -->\n";
const END: &str = "<!-- cargo xtask bench: end -->\n";

const HEAD: &str = "\
| kernel | Triton's interpreter | PyTorch eager | `tilescope check` | Triton ÷ ours | ours ÷ PyTorch | goal | | checks cost | memory, of arguments |
|---|---:|---:|---:|---:|---:|---|---|---:|---:|
";

/// One row.
pub fn line(row: &Row, threads: usize) -> String {
    let ours = row.ours.checked;
    let other = |time: Option<f64>| time.map_or(String::from("–"), seconds);
    let times = row
        .triton
        .map_or(String::from("–"), |triton| format!("{:.0}", triton / ours));
    let ratio = row
        .torch
        .map_or(String::from("–"), |torch| format!("{:.2}", ours / torch));
    let (goal, reached) = goal(row, threads);
    let reached = reached.map_or("", |reached| if reached { "✓" } else { "✗" });
    format!(
        "| {} | {} | {} | {} | {times} | {ratio} | {goal} | {reached} | {:+.0} % | {} |",
        row.name,
        other(row.triton),
        other(row.torch),
        seconds(ours),
        row.ours.cost * 100.0,
        memory(row),
    )
}

/// What a launch took and what its tensors take, in megabytes.
fn memory(row: &Row) -> String {
    let arguments = goals::of(&row.name).arguments;
    row.ours.peak.map_or(String::from("–"), |peak| {
        format!("{:.0} of {:.0} MB", peak / 1e6, arguments / 1e6)
    })
}

/// The goal of a row in words, and whether it is reached, as far as that was measured.
fn goal(row: &Row, threads: usize) -> (String, Option<bool>) {
    let ours = row.ours.checked;
    match goals::of(&row.name).goal {
        Goal::OfTorch(most) => (
            format!("at most {most:.1} × PyTorch"),
            row.torch.map(|torch| ours <= most * torch),
        ),
        Goal::Rate { flop, per_core } => {
            let rate = flop / ours / threads as f64;
            let words = format!("{:.0} of {:.0} GFLOP/s per core", rate / 1e9, per_core / 1e9);
            (words, Some(rate >= per_core))
        }
        Goal::Seconds(most) => (format!("at most {}", seconds(most)), Some(ours <= most)),
        Goal::None => (String::new(), None),
    }
}

/// The whole table, with what holds for all rows below it.
pub fn table(rows: &[Row], threads: usize, machine: &str, versions: Option<String>) -> String {
    let versions = versions.map(|v| format!("; {v}")).unwrap_or_default();
    let mut table = format!("{machine}, {threads} threads{versions}.\n\n{HEAD}");
    for row in rows {
        let _ = writeln!(table, "{}", line(row, threads));
    }
    table.push('\n');
    let ratios = rows.iter().filter_map(|r| Some((r.triton? / r.ours.checked, r)));
    if let Some((least, row)) = ratios.min_by(|a, b| a.0.total_cmp(&b.0)) {
        let _ = writeln!(
            table,
            "- Beside Triton's interpreter the least is {least:.0} times, `{}` (the goal is {OF_TRITON:.0} on each).",
            row.name
        );
    }
    let costs = rows.iter().map(|r| (r.ours.cost, r));
    if let Some((most, row)) = costs.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let _ = writeln!(
            table,
            "- The checks cost at most {:.0} % of the time without them, `{}` (the goal is under {:.0} % on each).",
            most * 100.0,
            row.name,
            CHECKS * 100.0
        );
    }
    let (times, more) = goals::MEMORY;
    let allowed = |r: &Row| times * goals::of(&r.name).arguments + more;
    let shares = rows.iter().filter_map(|r| Some((r.ours.peak? / allowed(r), r)));
    if let Some((most, row)) = shares.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let _ = writeln!(
            table,
            "- A process takes at most {:.0} % of the memory that it may, `{}` (the goal is {times:.0} times the \
             arguments and {:.0} MB).",
            most * 100.0,
            row.name,
            more / 1e6
        );
    }
    if let Some(row) = rows.iter().find(|r| r.name == "vadd-4194304")
        && let Some(torch) = row.torch
    {
        let beside = (row.ours.checked - torch) * threads as f64 / row.ours.programs as f64;
        let _ = writeln!(
            table,
            "- A program of `{}` takes {:.0} ns of its core beside the work that PyTorch does too (the goal is 80 ns).",
            row.name,
            beside * 1e9
        );
    }
    if let Some(row) = rows.iter().find(|r| r.name.starts_with("one_element")) {
        let each = row.ours.checked * threads as f64 / row.ours.programs as f64;
        let _ = writeln!(
            table,
            "- A program of one element takes {:.0} ns of its core.",
            each * 1e9
        );
    }
    table
}

/// A time for people.
pub fn seconds(value: f64) -> String {
    match value {
        v if v < 1e-3 => format!("{:.0} µs", v * 1e6),
        v if v < 1.0 => format!("{:.2} ms", v * 1e3),
        v => format!("{v:.2} s"),
    }
}

/// Puts a table into the page.
pub fn write_page(root: &Path, table: &str) -> Result<()> {
    write_between(root, BEGIN, END, table)
}

/// Puts a table between two marks of the page.
pub fn write_between(root: &Path, begin: &str, end: &str, table: &str) -> Result<()> {
    let path = root.join(PAGE);
    let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let (before, rest) = page
        .split_once(begin)
        .context("the page has lost its begin mark")?;
    let (_, after) = rest.split_once(end).context("the page has lost its end mark")?;
    std::fs::write(&path, format!("{before}{begin}\n{table}\n{end}{after}"))
        .with_context(|| format!("cannot write {PAGE}"))
}
