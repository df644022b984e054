//! `cargo xtask bench --checks`: what each check costs when it is the only one that is on.
//!
//! A round measures every launch without checks, with each group of checks alone, with all of them, and without checks
//! once more, in a process each, one after the other: what the machine does meanwhile falls on all alike. A process takes
//! the median of its launches; of the processes of all rounds the fastest counts, since where pages come to lie makes some
//! slower. On one thread, unless told otherwise: where two come to run makes launches of a millisecond slower by half, and
//! work is what is asked for. The row *none, again* is what two equal runs differ by.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use tilescope_diagnostics::{Check, CheckSet, GROUPS};

use super::sides::{Tilescope, seconds};
use super::{machine, stem, table};

const BEGIN: &str = "<!-- cargo xtask bench --checks: begin -->\n";
const END: &str = "<!-- cargo xtask bench --checks: end -->\n";

/// Launches that are measured unless others are named: each kind of work once, so that it takes a minute.
const LAUNCHES: &[&str] = &[
    "attention-1x2x512x64",
    "dropout-1048576",
    "gelu_tanh-2048x4096",
    "hist_atomic-1048576",
    "hist_block-1048576",
    "layernorm-1151x8192",
    "matmul-512",
    "one_element-1048576",
    "scan_cumsum-1024x1000",
    "softmax-1823x781",
    "vadd-4194304",
];

/// Rounds, of which the fastest process counts.
const ROUNDS: usize = 5;

/// What is measured: a name, and the list of checks that are on.
struct Row {
    name: String,
    list: String,
}

impl Row {
    fn new(name: &str, list: &str) -> Row {
        Row {
            name: name.to_string(),
            list: list.to_string(),
        }
    }
}

/// Every group of checks alone, between none and all.
fn rows() -> Vec<Row> {
    let mut rows = vec![Row::new("none", "none")];
    // The comparison with what is expected is no part of the time.
    let fixed = CheckSet::ALWAYS.union(CheckSet::BY_OPTION);
    let chosen = CheckSet::ALL.without(fixed.union(CheckSet::of(&[Check::OutputMismatch])));
    for check in chosen.iter() {
        let group = CheckSet::group_of(check);
        if group.iter().next() != Some(check) {
            continue;
        }
        let ids: Vec<String> = group.iter().map(|check| format!("`{check}`")).collect();
        let name = match GROUPS.iter().find(|known| known.checks == group) {
            Some(known) => format!("{} ({})", known.name, ids.join(", ")),
            None => ids.join(", "),
        };
        let list: Vec<&str> = group.iter().map(Check::id).collect();
        rows.push(Row::new(&name, &list.join(",")));
    }
    rows.push(Row::new("**all**", "all"));
    rows.push(Row::new("none, again", "none"));
    rows
}

/// Measures, prints the table, and writes it into the page if `write`.
pub fn run(root: &Path, launches: &[PathBuf], named: bool, tilescope: &Tilescope, write: bool) -> Result<()> {
    let launches: Vec<&PathBuf> = launches
        .iter()
        .filter(|launch| named || LAUNCHES.contains(&stem(launch).as_str()))
        .collect();
    let rows = rows();
    let mut times: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); rows.len()]; launches.len()];
    for _ in 0..ROUNDS {
        for (launch, of_launch) in launches.iter().zip(&mut times) {
            for (row, of_row) in rows.iter().zip(of_launch) {
                let list = format!("--checks={}", row.list);
                of_row.push(seconds(&tilescope.launched("run", &[&list], launch)?)?);
            }
        }
    }
    let fastest: Vec<Vec<f64>> = times
        .into_iter()
        .map(|rows| {
            rows.into_iter()
                .map(|times| times.into_iter().fold(f64::INFINITY, f64::min))
                .collect()
        })
        .collect();
    let names: Vec<String> = launches.iter().map(|launch| stem(launch)).collect();
    let table = told(&rows, &names, &fastest, tilescope);
    println!("{table}");
    if write {
        table::write_between(root, BEGIN, END, &table)?;
    }
    Ok(())
}

fn told(rows: &[Row], names: &[String], fastest: &[Vec<f64>], tilescope: &Tilescope) -> String {
    let threads = tilescope.threads.map_or(String::new(), |n| {
        format!(", {n} thread{}", if n == 1 { "" } else { "s" })
    });
    let mut table = format!("{}{threads}.\n\n| checks that are on |", machine());
    names.iter().for_each(|name| {
        let _ = write!(table, " {name} |");
    });
    let _ = writeln!(table, "\n|---|{}", "---:|".repeat(names.len()));
    for (i, row) in rows.iter().enumerate() {
        let _ = write!(table, "| {} |", row.name);
        for of_launch in fastest {
            let (base, time) = (of_launch[0], of_launch[i]);
            let _ = match i {
                0 => write!(table, " {} |", table::seconds(base)),
                _ => write!(table, " {:+.0} % |", (time / base - 1.0) * 100.0),
            };
        }
        table.push('\n');
    }
    table
}
