//! The short parts of a report: the table of outputs and the closing line of a launch.

use super::number;
use super::text::visible;
use crate::{FailedCase, Launched, OutputSummary, Searched, Severity};

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

/// The case that failed, a fact a line: where it differs, what it is, how to run it again.
pub fn case(case: &FailedCase) -> String {
    let mut out = String::new();
    if let Some(map) = &case.map {
        out.push_str(
            "where it differs (the last dimension across, all others down; `#` all, `+` some, `.` none):\n",
        );
        out.push_str(map);
    }
    let mut line = |text: String| {
        out.push_str(&visible(&text));
        out.push('\n');
    };
    match &case.words {
        Some((smallest, first)) => {
            line(format!("smallest case: {smallest}"));
            line(format!(
                "first seen in: {first} (made small in {} runs)",
                case.shrinking
            ));
        }
        None => line(String::from(
            "the launch as the file says it differs: no case was drawn",
        )),
    }
    if let Some(path) = &case.launch_file {
        line(format!("its launch file: {path}"));
    }
    let why = match case.bisected {
        true => "",
        false => ", for where it begins",
    };
    line(format!("run it again{why}: {}", case.replay));
    out
}

/// What a search ran and how its bounds fared, and its verdict on the last line.
pub fn searched(launched: &Launched, search: &Searched) -> String {
    let mut out = format!("{}: {} cases run", launched.launch, search.cases);
    if search.fixed {
        out.push_str(" (nothing varies but the data: give `[vars]` ranges)");
    }
    out.push_str(&format!(", seed {}\n", search.seed));
    if search.fitted > 0 {
        out.push_str(&format!(
            "{} were drawn larger and made to fit {} elements\n",
            search.fitted, search.most_elements
        ));
    }
    if let (count @ 1.., Some(why)) = &search.not_launched {
        out.push_str(&format!("{count} could not be launched: {why}\n"));
    }
    for bounds in &search.bounds {
        out.push_str(&format!(
            "`{}`: {} elements compared",
            bounds.output, bounds.judged
        ));
        if bounds.judged > 0 {
            let share = 100.0 * bounds.largest;
            out.push_str(&format!("; differences took at most {share:.1} % of their bound"));
        }
        if bounds.unknown > 0 {
            out.push_str(&format!("; {} have no bound and were not judged", bounds.unknown));
        }
        out.push('\n');
    }
    let judged: u64 = search.bounds.iter().map(|bounds| bounds.judged).sum();
    if search.case.is_none() && judged == 0 {
        out.push_str("no element was compared by a bound\n");
    }
    out.push_str(match (&search.case, launched.interrupted) {
        (Some(_), _) => "verdict: a case differs\n",
        (None, true) => "verdict: none differs so far\n",
        (None, false) => "verdict: no case differs\n",
    });
    out
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
