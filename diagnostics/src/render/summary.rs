//! The short parts of a report: the table of outputs and the closing line of a launch.

use super::number;
use crate::{Launched, OutputSummary, Severity};

/// A table of outputs with aligned columns, ending in a line break; empty for no outputs.
pub fn outputs(outputs: &[OutputSummary]) -> String {
    if outputs.is_empty() {
        return String::new();
    }
    let mut rows = vec![["output", "dtype", "shape", "min", "max", "nan", "inf"].map(String::from)];
    rows.extend(outputs.iter().map(|o| {
        let bound = |v: Option<crate::Value>| v.map_or_else(|| String::from("-"), number::short);
        [
            o.name.clone(),
            o.dtype.clone(),
            number::list(&o.shape),
            bound(o.min),
            bound(o.max),
            o.nan.to_string(),
            o.inf.to_string(),
        ]
    }));
    let hashes: Vec<Option<&str>> =
        std::iter::once(outputs.iter().any(|o| o.sha256.is_some()).then_some("sha256"))
            .chain(outputs.iter().map(|o| o.sha256.as_deref()))
            .collect();
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let mut text = String::new();
    for (row, hash) in rows.iter().zip(hashes) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Words to the left, numbers to the right.
            let pad = " ".repeat(width - cell.chars().count());
            let cell = if column < 3 {
                format!("{cell}{pad}")
            } else {
                format!("{pad}{cell}")
            };
            line.push_str(&cell);
            line.push_str("  ");
        }
        line.push_str(hash.unwrap_or(""));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The closing line of a launch: what was run and how it went, ending in a line break. The time is left out where
/// it was not taken (0).
pub fn verdict(launched: &Launched) -> String {
    let count = |severity| {
        let found = launched.findings.iter().filter(|f| f.severity == severity);
        found.count() as u64
    };
    let counts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (count(severity), severity))
        .filter(|(n, _)| *n > 0)
        .map(|(n, severity)| number::counted(n, severity.as_str()))
        .collect();
    let mut word = match (counts.is_empty(), launched.findings_cut) {
        (true, false) => String::from("ok"),
        (true, true) => String::from("findings, none shown (see --max-findings)"),
        (false, false) => counts.join(", "),
        (false, true) => format!("{} and more (see --max-findings)", counts.join(", ")),
    };
    if !launched.suppressed.is_empty() {
        word = format!("{word}, {} suppressed", launched.suppressed.len());
    }
    if launched.interrupted {
        word = format!("interrupted; so far {word}");
    }
    let time = match launched.elapsed_s {
        0.0 => String::new(),
        elapsed => format!(", {}", number::seconds(elapsed)),
    };
    format!(
        "{}: {word} ({} of {}, grid {}{time})\n",
        launched.launch,
        number::counted(launched.programs, "program"),
        launched.kernel,
        number::list(&launched.grid),
    )
}

/// A table of several launches, and how many were in order; ends in a line break.
pub fn launches(launches: &[Launched]) -> String {
    let mut rows = vec![["launch", "errors", "warnings", "notes", "suppressed"].map(String::from)];
    rows.extend(launches.iter().map(|launched| {
        let count = |severity| {
            let found = launched.findings.iter().filter(|f| f.severity == severity);
            found.count().to_string()
        };
        let name = match launched.interrupted {
            true => format!("{} (interrupted)", launched.launch),
            false => launched.launch.clone(),
        };
        [
            name,
            count(Severity::Error),
            count(Severity::Warning),
            count(Severity::Note),
            launched.suppressed.len().to_string(),
        ]
    }));
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::from("\n");
    for row in &rows {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            let pad = " ".repeat(width - cell.chars().count());
            match column {
                0 => format!("{cell}{pad}"),
                _ => format!("{pad}{cell}"),
            }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    let fine = |launched: &&Launched| {
        !launched.interrupted && launched.findings.iter().all(|f| f.severity != Severity::Error)
    };
    let good = launches.iter().filter(fine).count();
    text.push_str(&format!("{good} of {} launches without errors\n", launches.len()));
    text
}
