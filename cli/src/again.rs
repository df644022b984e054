//! Launches that are run again: in other orders of their programs (`--schedules`), or on what they left (`--twice`);
//! and which programs are run at all (`--programs`).
//!
//! Outputs are compared bit by bit. Where a kernel adds floats by atomics, sums differ in their last bits with every
//! order; then a difference counts from the rounding of all programs' sums on, relative to the tensor's largest value.

use tilescope_diagnostics::{Check, Error, Finding, Launched, Result, TensorRef, Value};
use tilescope_interpreter::{Control, Prepared, Which};
use tilescope_launch::{Dtype, Memory, Tensor};

use crate::engine::How;
use crate::interrupt;

/// Programs that `--programs` may name.
const MOST: u64 = 1 << 20;

/// The linear numbers that a list names, rising.
///
/// # Errors
/// What is no number, range or `last`; programs that are not in the grid; too many.
pub fn chosen(list: &[String], count: u64) -> Result<Vec<u64>> {
    let wrong = |item: &str, why: String| Error::input(format!("--programs: `{item}` {why}"));
    let mut programs = Vec::new();
    for item in list {
        let number = |text: &str| match text.trim() {
            "last" => Ok(count.saturating_sub(1)),
            text => text.parse::<u64>().map_err(|_| {
                wrong(
                    item,
                    "is no program: give numbers, ranges like 8-15, or `last`".into(),
                )
            }),
        };
        let (first, last) = match item.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(item)?, number(item)?),
        };
        if first > last {
            return Err(wrong(item, "ends before it begins".into()).help(format!("write {last}-{first}")));
        }
        if last >= count {
            let error = wrong(item, format!("is outside the grid of {count} programs"));
            return Err(error.help("programs are numbered from 0; the last one is called `last`"));
        }
        if last - first >= MOST || programs.len() as u64 >= MOST {
            return Err(wrong(item, format!("names more than {MOST} programs")));
        }
        programs.extend(first..=last);
    }
    programs.sort_unstable();
    programs.dedup();
    Ok(programs)
}

/// Runs a launch again as the options ask, and adds what differs to its findings.
///
/// `left` is what the launch left; `before` makes memory as it was before the launch.
///
/// # Errors
/// What cannot be allocated.
pub fn compare(
    prepared: &Prepared<'_>,
    launched: &mut Launched,
    outputs: &[&Tensor],
    left: &Memory,
    before: &dyn Fn() -> Result<Memory>,
    how: &How<'_>,
) -> Result<()> {
    let control = Control {
        cancel: interrupt::flag(),
        progress: &|_| {},
    };
    // What nobody can say before it is fixed.
    let races = |finding: &Finding| {
        matches!(
            finding.check,
            Check::RaceReadWrite | Check::RaceWriteWrite | Check::Deadlock | Check::StepLimit
        )
    };
    let sums = prepared.adds_floats().then(|| prepared.programs());
    for seed in 1..=u64::from(how.schedules) {
        let mut memory = before()?;
        let which = Which {
            programs: None,
            seed: Some(seed),
        };
        let outcome = prepared.run_which(&mut memory, &control, which)?;
        if outcome.interrupted {
            launched.interrupted = true;
            return Ok(());
        }
        if let Some(difference) = first_difference(outputs, left, &memory, sums) {
            launched
                .findings
                .push(order_dependent(launched, &difference, seed));
            break;
        }
    }
    if how.twice && !launched.findings.iter().any(races) {
        let mut memory = before()?;
        let outcome = prepared.run(&mut memory, &control)?;
        let again = prepared.run(&mut memory, &control)?;
        if outcome.interrupted || again.interrupted {
            launched.interrupted = true;
        } else if let Some(difference) = first_difference(outputs, left, &memory, None) {
            launched.findings.push(not_idempotent(launched, &difference));
        }
    }
    Ok(())
}

/// Where an output differs.
struct Difference<'t> {
    tensor: &'t Tensor,
    /// Row-major number of the first element.
    first: u64,
    /// Elements that differ.
    count: u64,
    values: (Value, Value),
}

/// Elements that are compared at once.
const CHUNK: u64 = 1 << 16;

/// The first output that differs; `sums` is how many programs' floats may be added up in it.
fn first_difference<'t>(
    outputs: &[&'t Tensor],
    a: &Memory,
    b: &Memory,
    sums: Option<u64>,
) -> Option<Difference<'t>> {
    outputs.iter().find_map(|tensor| difference(tensor, a, b, sums))
}

fn difference<'t>(tensor: &'t Tensor, a: &Memory, b: &Memory, sums: Option<u64>) -> Option<Difference<'t>> {
    let bytes = tensor.dtype.bytes();
    let mut found: Option<Difference<'_>> = None;
    // The largest difference and value, for sums.
    let (mut apart, mut largest) = (0.0f64, 0.0f64);
    let mut first = 0;
    while first < tensor.elements() {
        let (x, y) = (a.gather(tensor, first, CHUNK), b.gather(tensor, first, CHUNK));
        if x.is_empty() {
            break;
        }
        let float = sums.is_some() && tensor.dtype.is_float();
        for (i, (x, y)) in x.chunks_exact(bytes).zip(y.chunks_exact(bytes)).enumerate() {
            if !float && x == y {
                continue;
            }
            let values = (value(tensor.dtype, x), value(tensor.dtype, y));
            if let (Value::Float(x), Value::Float(y)) = values {
                largest = largest.max(x.abs());
                if x != y && !(x.is_nan() && y.is_nan()) {
                    let far = (x - y).abs();
                    apart = if far.is_nan() {
                        f64::INFINITY
                    } else {
                        apart.max(far)
                    };
                }
            }
            if x != y {
                match &mut found {
                    Some(found) => found.count += 1,
                    None => {
                        found = Some(Difference {
                            tensor,
                            first: first + i as u64,
                            count: 1,
                            values,
                        });
                    }
                }
            }
        }
        first += CHUNK;
    }
    match sums {
        Some(programs) if tensor.dtype.is_float() => {
            let bound = programs as f64 * rounding(tensor.dtype) * largest;
            found.filter(|_| apart > bound)
        }
        _ => found,
    }
}

/// Largest relative error of one rounding.
fn rounding(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => f64::EPSILON / 2.0,
        Dtype::F32 => f64::from(f32::EPSILON) / 2.0,
        Dtype::F16 => 1.0 / 2048.0,
        Dtype::BF16 => 1.0 / 256.0,
        _ => 1.0 / 8.0,
    }
}

fn value(dtype: Dtype, bytes: &[u8]) -> Value {
    let mut wide = [0u8; 8];
    wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    let bits = u64::from_le_bytes(wide);
    match dtype.decode_int(bits) {
        Some(integer) => Value::Int(integer),
        None => Value::Float(dtype.decode_float(bits)),
    }
}

fn finding(check: Check, launched: &Launched, difference: &Difference<'_>, message: String) -> Finding {
    let tensor = difference.tensor;
    let mut finding = Finding::new(check, launched.kernel.clone(), message);
    finding.count = difference.count;
    finding.tensor = Some(TensorRef {
        name: tensor.name.clone(),
        dtype: tensor.dtype.name().into(),
        shape: tensor.shape.clone(),
        strides: tensor.strides.clone(),
    });
    finding.element = Some(index(difference.first, &tensor.shape));
    finding
}

fn index(mut number: u64, shape: &[i64]) -> Vec<i64> {
    let mut index = vec![0; shape.len()];
    for (slot, &n) in index.iter_mut().zip(shape).rev() {
        let n = n.max(1) as u64;
        *slot = (number % n) as i64;
        number /= n;
    }
    index
}

fn order_dependent(launched: &Launched, difference: &Difference<'_>, seed: u64) -> Finding {
    let name = &difference.tensor.name;
    let message = format!(
        "{} in another order of the programs (order {seed})",
        elements(difference.count, name)
    );
    let mut finding = finding(Check::OrderDependent, launched, difference, message);
    finding.operands = vec![
        ("in program order".into(), difference.values.0),
        ("in the other".into(), difference.values.1),
    ];
    finding.help = Some(
        "a result must not depend on which program runs first: look for stores to one element, or for what a program does with an atomic's old value"
            .into(),
    );
    finding
}

fn not_idempotent(launched: &Launched, difference: &Difference<'_>) -> Finding {
    let name = &difference.tensor.name;
    let message = format!(
        "{} after a second run on what the first left",
        elements(difference.count, name)
    );
    let mut finding = finding(Check::NotIdempotent, launched, difference, message);
    finding.operands = vec![
        ("after one run".into(), difference.values.0),
        ("after two".into(), difference.values.1),
    ];
    finding.help = Some(
        "an autotuner runs a kernel many times on the same arguments: name these tensors in reset_to_zero or restore_value"
            .into(),
    );
    finding
}

fn elements(count: u64, name: &str) -> String {
    match count {
        1 => format!("1 element of {name} differs"),
        _ => format!("{count} elements of {name} differ"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_numbers_ranges_and_the_last() {
        let list = |text: &str| text.split(',').map(String::from).collect::<Vec<_>>();
        assert_eq!(chosen(&list("0,17,last"), 100).unwrap(), [0, 17, 99]);
        assert_eq!(chosen(&list("5-7,6,98-last"), 100).unwrap(), [5, 6, 7, 98, 99]);
        for wrong in ["100", "7-5", "x", "", "-1", "0-200"] {
            assert!(chosen(&list(wrong), 100).is_err(), "{wrong}");
        }
        assert!(chosen(&list("last"), 0).is_err());
    }
}
