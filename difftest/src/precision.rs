//! `precision-loss`: outputs that are farther from their float64 twin than the tolerance of their type, and the operation
//! where the error grew most.

use tilescope_diagnostics::{Check, Finding, Result, Value};
use tilescope_launch::Dtype;
use tilescope_oracle::Tolerance;

use crate::compare::{Difference, compare};
use crate::failure::worst;
use crate::growth::{Both, Path, Worst, in_units};
use crate::judge::{Subject, accumulation};
use crate::stages::{Stage, Stages};
use crate::twin::Bounded;

/// What the twins of a file's launches say.
#[derive(Debug, Default)]
pub struct Losses {
    /// Findings, each with the number of its launch.
    pub findings: Vec<(usize, Finding)>,
    /// What was not judged, and why.
    pub notes: Vec<String>,
    /// The run was stopped: nothing is known.
    pub interrupted: bool,
}

/// Runs the float64 twin of every launch, and compares the outputs that the kernels stored with what it stored.
///
/// The tolerance is that of the output's type, or what `[expect]` says where that is more. `steps` values are told of each finding.
///
/// # Errors
/// Operations that have no twin, by name and place; what cannot be allocated or run.
pub fn losses(subject: &Subject, stage: Stage<'_>, steps: usize) -> Result<Losses> {
    let stages = Stages::run(subject, stage)?;
    let mut losses = Losses {
        interrupted: stages.outputs.is_none(),
        ..Losses::default()
    };
    losses
        .notes
        .extend(stages.notes().map(|note| format!("float64 twin: {note}")));
    for bounded in stages.outputs.iter().flatten() {
        if !bounded.tensor.dtype.is_float() {
            continue;
        }
        let Some(difference) = difference(subject, bounded) else {
            continue;
        };
        let path = stages.trace(&bounded.tensor.name, &difference.index, false, &mut |watched| {
            (watched.index, watched.name.to_string(), Path::of(watched))
        })?;
        let last = subject.kernels.len().saturating_sub(1);
        let index = path.as_ref().map_or(last, |(index, ..)| *index);
        losses.findings.push((
            index,
            finding(subject, &difference, path.as_ref().map(|p| &p.2), (index, steps)),
        ));
    }
    Ok(losses)
}

/// Where an output is farther from its twin than its tolerance.
fn difference(subject: &Subject, bounded: &Bounded) -> Option<Difference> {
    let dtype = bounded.tensor.dtype;
    let given = subject
        .bound
        .expect
        .iter()
        .find(|expect| expect.output == bounded.tensor.name);
    let finite = bounded.wide.iter().filter(|x| x.is_finite());
    let largest = finite.fold(0.0f64, |most, x| most.max(x.abs()));
    let (rtol, atol) = (given.and_then(|e| e.rtol), given.and_then(|e| e.atol));
    let usual = Tolerance::of(dtype, accumulation(subject), largest, None, None);
    // `[expect]` may want the exact bits of what rounds as the kernel does; float64 does not.
    let tolerance = Tolerance {
        rtol: rtol.map_or(usual.rtol, |rtol| rtol.max(usual.rtol)),
        atol: atol.map_or(usual.atol, |atol| atol.max(usual.atol)),
    };
    let wanted: Vec<f64> = bounded.wide.iter().map(|&wide| held(dtype, wide)).collect();
    let paths = ("interpreter", "float64 twin");
    let (difference, _) = compare(&bounded.tensor, paths, &bounded.got, &wanted, |i| {
        // What is too small for the type vanishes in it.
        if bounded.got[i] == dtype.decode_float(dtype.encode_float(wanted[i])) {
            return (bounded.got[i] - wanted[i]).abs();
        }
        match wanted[i].is_finite() {
            true => tolerance.atol + tolerance.rtol * wanted[i].abs(),
            false => 0.0,
        }
    });
    difference
}

/// A number that an output's type can hold stays as it is; what is larger than all becomes infinite, as it does there.
fn held(dtype: Dtype, wide: f64) -> f64 {
    let rounded = dtype.decode_float(dtype.encode_float(wide));
    if rounded.is_finite() { wide } else { rounded }
}

fn finding(
    subject: &Subject,
    difference: &Difference,
    path: Option<&Path>,
    (index, steps): (usize, usize),
) -> Finding {
    let kernel = subject
        .bound
        .launches
        .get(index)
        .map_or("", |launch| &launch.kernel);
    let name = &difference.tensor.name;
    let mut message = format!(
        "`{name}` is farther from its float64 twin than its tolerance in {} of {} elements",
        difference.count, difference.total
    );
    let mut finding = Finding::new(Check::PrecisionLoss, kernel, "");
    worst(&mut finding, difference, "tolerance");
    match path {
        Some(path) => {
            message.push_str(&told(path, &mut finding));
            finding.chain = path.chain(steps);
        }
        None => message.push_str("; which program wrote the worst one is not known"),
    }
    finding.message = message;
    finding
}

/// Points a finding at the operation that made most of the error; gives its words.
pub(crate) fn told(path: &Path, finding: &mut Finding) -> String {
    finding.program = Some(path.program);
    let Some(Worst { first, most, last }) = path.worst() else {
        if path.is_cut {
            return String::from("; where the error grew is not known: its loop is too long to be followed");
        }
        let Some(step) = path.coarsest() else {
            return String::from("; no operation on its way loses anything");
        };
        finding.location.clone_from(&step.location);
        finding.lane = Some(step.lane.clone());
        finding.help = Some(String::from(
            "this type is narrower than the output's: keep the number in a wider one",
        ));
        return format!(
            "; no operation does more than round, most of all this one ({})",
            step.op
        );
    };
    finding.location = last.location.clone();
    finding.lane = Some(last.lane.clone());
    let mut side = |name: &str, both: Both| {
        finding
            .operands
            .push((name.to_string(), Value::Float(both.narrow)));
        finding
            .operands
            .push((format!("{name} in float64"), Value::Float(both.wide)));
    };
    side(most.op, most.is);
    for (name, both) in &most.operands {
        side(name, *both);
    }
    finding
        .operands
        .push((String::from("error bound there"), Value::Float(most.is.bound)));
    if let Some(from) = &most.from {
        finding.help = Some(String::from(
            "the error was stored there by another program or an earlier launch: look at the finding there",
        ));
        return format!(
            "; it comes with what is loaded here {from}, {} off",
            in_units(last.units(last.after()))
        );
    }
    if most.is.is_lost() {
        finding.help = Some(String::from(
            "divide before you multiply, subtract the maximum, or compute this in a wider type",
        ));
        return format!("; here a number is lost that float64 holds ({})", last.op);
    }
    let sums = matches!(last.op, "tt.reduce" | "tt.scan" | "tt.dot") || !std::ptr::eq(first, last);
    finding.help = Some(String::from(match sums {
        true => "add up in a wider type: in this one every step rounds, and small terms are swallowed",
        false => {
            "two numbers that are nearly equal are subtracted, or a small error is magnified: use another formula, or a wider type"
        }
    }));
    format!(
        "; the error grew most here, from {} to {}",
        in_units(first.units(first.before)),
        in_units(last.units(last.after()))
    )
}
