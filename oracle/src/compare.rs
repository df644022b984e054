//! Comparing an output with what is expected.
//!
//! Integers are compared as integers, whatever their size. Floats agree within the tolerance of the
//! expected value or of that value rounded to the output's dtype: an oracle in float64 may name
//! values that the dtype cannot hold (f16 overflows, fp8 underflows). NaN agrees with NaN, an
//! infinity with itself.

use ndarray::ArrayD;
use tilescope_diagnostics::{Check, Finding, TensorRef, Value};
use tilescope_launch::Dtype;

use crate::rounding::round_float;
use crate::{Accumulation, Numbers, Tolerance};

/// The elements of one output that differ from what is expected, and the worst of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// Elements that differ by more than the tolerance.
    pub count: usize,
    /// Elements of the output.
    pub total: usize,
    /// The worst element: the one that exceeds its tolerance by the largest factor.
    pub worst: Difference,
    /// The first element that differs, in row-major order.
    pub first: Vec<usize>,
    /// Differing elements where the output is NaN and the expected value is not.
    pub unexpected_nans: usize,
    /// What was allowed.
    pub tolerance: Tolerance,
}

/// One element that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Index in the output.
    pub index: Vec<usize>,
    /// The kernel's value.
    pub got: Value,
    /// The expected value.
    pub expected: Value,
    /// `|got - expected|`; infinite when one of them is NaN or infinite.
    pub absolute: f64,
    /// `absolute / |expected|`; infinite where zero is expected.
    pub relative: f64,
}

/// What is known of an output when it is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The output's element type.
    pub dtype: Dtype,
    /// What the kernel does that accumulates rounding errors.
    pub accumulation: Accumulation,
    /// `rtol` of the launch file, if given.
    pub rtol: Option<f64>,
    /// `atol` of the launch file, if given.
    pub atol: Option<f64>,
}

/// Compares an output with what is expected; none means that they agree.
///
/// A single expected value (no dimensions) stands for every element.
///
/// # Errors
/// Says which shapes differ.
pub fn compare(got: &Numbers, expected: &Numbers, rule: Rule) -> Result<Option<Mismatch>, String> {
    let single = expected.shape().is_empty();
    if !single && got.shape() != expected.shape() {
        return Err(format!(
            "the expected values have shape {:?}, the output has shape {:?}",
            expected.shape(),
            got.shape()
        ));
    }
    let largest = largest_finite(expected);
    let tolerance = Tolerance::of(rule.dtype, rule.accumulation, largest, rule.rtol, rule.atol);
    let found = match (got, expected) {
        (Numbers::Int(got), Numbers::Int(expected)) => {
            differing(got, expected, |&g, &e| integer_excess(g, e, tolerance))
        }
        (Numbers::Int(got), Numbers::Float(expected)) => {
            differing(got, expected, |&g, &e| mixed_excess(g, e, tolerance))
        }
        (Numbers::Float(got), Numbers::Int(expected)) => differing(got, expected, |&g, &e| {
            float_excess(g, e as f64, rule.dtype, tolerance)
        }),
        (Numbers::Float(got), Numbers::Float(expected)) => {
            differing(got, expected, |&g, &e| float_excess(g, e, rule.dtype, tolerance))
        }
    };
    Ok(found.and_then(|found| found.describe(got, expected, tolerance)))
}

fn largest_finite(expected: &Numbers) -> f64 {
    let larger = |largest: f64, value: f64| {
        if value.is_finite() {
            largest.max(value.abs())
        } else {
            largest
        }
    };
    match expected {
        Numbers::Int(a) => a.iter().fold(0.0, |m, &v| larger(m, v as f64)),
        Numbers::Float(a) => a.iter().fold(0.0, |m, &v| larger(m, v)),
    }
}

/// By how many tolerances an element is off; none where it agrees.
///
/// A tolerance of zero counts as a very small one, so that the worst is the farthest off.
fn excess(absolute: f64, expected: f64, tolerance: Tolerance) -> Option<f64> {
    let allowed = tolerance.atol + tolerance.rtol * expected.abs();
    (absolute > allowed).then(|| absolute / allowed.max(1e-100))
}

fn integer_excess(got: i128, expected: i128, tolerance: Tolerance) -> Option<f64> {
    if got == expected {
        return None;
    }
    excess(got.abs_diff(expected) as f64, expected as f64, tolerance)
}

fn mixed_excess(got: i128, expected: f64, tolerance: Tolerance) -> Option<f64> {
    if expected.is_finite() && expected == expected.trunc() && expected.abs() < 2f64.powi(126) {
        return integer_excess(got, expected as i128, tolerance);
    }
    let absolute = (got as f64 - expected).abs();
    if absolute.is_nan() {
        Some(f64::INFINITY)
    } else {
        excess(absolute, expected, tolerance)
    }
}

fn float_excess(got: f64, expected: f64, dtype: Dtype, tolerance: Tolerance) -> Option<f64> {
    let exact = plain_excess(got, expected, tolerance)?;
    let rounded = plain_excess(got, round_float(expected, dtype), tolerance)?;
    Some(exact.min(rounded))
}

fn plain_excess(got: f64, expected: f64, tolerance: Tolerance) -> Option<f64> {
    if got == expected || (got.is_nan() && expected.is_nan()) {
        return None;
    }
    if got.is_finite() && expected.is_finite() {
        return excess((got - expected).abs(), expected, tolerance);
    }
    Some(f64::INFINITY)
}

/// Positions, row-major, of what differs.
struct Differing {
    count: usize,
    first: usize,
    worst: usize,
    factor: f64,
}

fn differing<G, E>(
    got: &ArrayD<G>,
    expected: &ArrayD<E>,
    excess: impl Fn(&G, &E) -> Option<f64>,
) -> Option<Differing> {
    let expected = expected.broadcast(got.raw_dim())?;
    let mut found: Option<Differing> = None;
    for (position, (g, e)) in got.iter().zip(expected.iter()).enumerate() {
        let Some(factor) = excess(g, e) else { continue };
        let found = found.get_or_insert(Differing {
            count: 0,
            first: position,
            worst: position,
            factor,
        });
        found.count += 1;
        if factor > found.factor {
            (found.worst, found.factor) = (position, factor);
        }
    }
    found
}

impl Differing {
    fn describe(self, got: &Numbers, expected: &Numbers, tolerance: Tolerance) -> Option<Mismatch> {
        let index = unravel(self.worst, got.shape());
        let at = if expected.shape().is_empty() {
            &[][..]
        } else {
            &index[..]
        };
        let (g, e) = (got.element(&index)?, expected.element(at)?);
        let absolute = match (g, e) {
            (Value::Int(g), Value::Int(e)) => g.abs_diff(e) as f64,
            _ => (as_f64(g) - as_f64(e)).abs(),
        };
        let absolute = if absolute.is_nan() {
            f64::INFINITY
        } else {
            absolute
        };
        let magnitude = as_f64(e).abs();
        let relative = if magnitude.is_finite() && magnitude > 0.0 {
            absolute / magnitude
        } else {
            f64::INFINITY
        };
        Some(Mismatch {
            count: self.count,
            total: got.shape().iter().product(),
            worst: Difference {
                index,
                got: g,
                expected: e,
                absolute,
                relative,
            },
            first: unravel(self.first, got.shape()),
            unexpected_nans: unexpected_nans(got, expected),
            tolerance,
        })
    }
}

fn as_f64(value: Value) -> f64 {
    match value {
        Value::Int(v) => v as f64,
        Value::Float(v) => v,
        Value::Bool(v) => f64::from(u8::from(v)),
    }
}

fn unexpected_nans(got: &Numbers, expected: &Numbers) -> usize {
    let Numbers::Float(got) = got else { return 0 };
    match expected {
        Numbers::Int(_) => got.iter().filter(|v| v.is_nan()).count(),
        Numbers::Float(expected) => match expected.broadcast(got.raw_dim()) {
            Some(expected) => got
                .iter()
                .zip(expected.iter())
                .filter(|(g, e)| g.is_nan() && !e.is_nan())
                .count(),
            None => 0,
        },
    }
}

fn unravel(position: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = position;
    let mut index = vec![0; shape.len()];
    for (i, &size) in index.iter_mut().zip(shape).rev() {
        *i = rest % size.max(1);
        rest /= size.max(1);
    }
    index
}

impl Mismatch {
    /// The finding that reports it.
    pub fn into_finding(self, kernel: &str, tensor: TensorRef) -> Finding {
        let worst = &self.worst;
        let message = format!(
            "`{}` differs from the expected values in {} of {} elements; the worst is {}{}: \
             got {}, expected {} ({}; {})",
            tensor.name,
            self.count,
            self.total,
            tensor.name,
            bracketed(&worst.index),
            shown(worst.got),
            shown(worst.expected),
            self.how_far(),
            self.allowed(),
        );
        let help = self.usual_fix();
        let mut finding = Finding::new(Check::OutputMismatch, kernel, message);
        finding.count = self.count as u64;
        finding.element = Some(worst.index.iter().map(|&i| i as i64).collect());
        finding.operands = vec![
            ("got".to_string(), worst.got),
            ("expected".to_string(), worst.expected),
        ];
        finding.tensor = Some(tensor);
        finding.help = Some(help);
        finding
    }

    fn allowed(&self) -> String {
        match (self.tolerance.rtol, self.tolerance.atol) {
            (0.0, 0.0) => String::from("they must be equal"),
            (rtol, atol) => format!("allowed: rtol {rtol:e}, atol {atol:e}"),
        }
    }

    fn how_far(&self) -> String {
        let worst = &self.worst;
        if !worst.absolute.is_finite() {
            return "not comparable".to_string();
        }
        match (worst.got, worst.expected) {
            (Value::Int(g), Value::Int(e)) => format!("off by {}", g.abs_diff(e)),
            _ if worst.relative.is_finite() => {
                format!(
                    "off by {}, relative {}",
                    rough(worst.absolute),
                    rough(worst.relative)
                )
            }
            _ => format!("off by {}", rough(worst.absolute)),
        }
    }

    fn usual_fix(&self) -> String {
        let first = bracketed(&self.first);
        if self.unexpected_nans > 0 {
            return format!(
                "{} of the differing elements are NaN; look for a division by zero, or for -inf minus -inf \
                 where a whole row is masked; the first element that differs is {first}",
                self.unexpected_nans
            );
        }
        if self.count == self.total {
            return "every element differs: check the formula, the order of the arguments and the strides"
                .to_string();
        }
        format!(
            "the first element that differs is {first}; where the values are right and only their rounding \
             is not, give `rtol` and `atol` in [expect]"
        )
    }
}

fn bracketed(index: &[usize]) -> String {
    let index: Vec<String> = index.iter().map(usize::to_string).collect();
    format!("[{}]", index.join(", "))
}

/// A value in the fewest digits that tell it from its neighbours: those of f32 where it is one.
fn shown(value: Value) -> String {
    match value {
        Value::Int(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::Float(v) if v.is_nan() => "nan".to_string(),
        Value::Float(v) if v == 0.0 || v.is_infinite() => v.to_string(),
        Value::Float(v) => {
            let narrow = v as f32;
            let exact = f64::from(narrow) == v;
            match ((1e-4..1e16).contains(&v.abs()), exact) {
                (true, true) => narrow.to_string(),
                (true, false) => v.to_string(),
                (false, true) => format!("{narrow:e}"),
                (false, false) => format!("{v:e}"),
            }
        }
    }
}

/// An error in three digits or so.
fn rough(v: f64) -> String {
    match v {
        v if !(1e-3..1e5).contains(&v) => format!("{v:.2e}"),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr1;

    use super::*;

    fn rule(dtype: Dtype) -> Rule {
        Rule {
            dtype,
            accumulation: Accumulation::None,
            rtol: None,
            atol: None,
        }
    }

    fn floats(values: &[f64]) -> Numbers {
        Numbers::Float(arr1(values).into_dyn())
    }

    fn integers(values: &[i128]) -> Numbers {
        Numbers::Int(arr1(values).into_dyn())
    }

    fn single(value: f64) -> Numbers {
        Numbers::Float(ndarray::arr0(value).into_dyn())
    }

    #[test]
    fn values_within_the_tolerance_agree() {
        let expected = floats(&[1.0, 100.0, 0.0]);
        let near = floats(&[1.0 + 1.1e-5, 100.0 + 1.3e-4, 9e-6]);
        assert_eq!(compare(&near, &expected, rule(Dtype::F32)), Ok(None));
        let far = floats(&[1.0 + 1.2e-5, 100.0 - 2e-4, 9e-6]);
        let mismatch = compare(&far, &expected, rule(Dtype::F32)).unwrap().unwrap();
        assert_eq!((mismatch.count, mismatch.total), (2, 3));
        assert_eq!(mismatch.worst.index, [1]);
        assert_eq!(mismatch.first, [0]);
        assert!((mismatch.worst.relative - 2e-6).abs() < 1e-9);
    }

    #[test]
    fn nan_and_infinities_equal_themselves_only() {
        let nan = f64::NAN;
        let inf = f64::INFINITY;
        let same = floats(&[nan, inf, -inf]);
        assert_eq!(compare(&same, &same, rule(Dtype::F32)), Ok(None));
        let other = floats(&[0.0, inf, -inf]);
        assert_eq!(
            compare(&same, &other, rule(Dtype::F32))
                .unwrap()
                .unwrap()
                .unexpected_nans,
            1
        );
        let lost = compare(&floats(&[1.0, 2.0]), &floats(&[nan, 2.0]), rule(Dtype::F32))
            .unwrap()
            .unwrap();
        assert_eq!((lost.count, lost.unexpected_nans), (1, 0));
        let sign = compare(&floats(&[inf]), &floats(&[-inf]), rule(Dtype::F32))
            .unwrap()
            .unwrap();
        assert_eq!(sign.worst.absolute, inf);
        assert!(
            compare(&floats(&[1e30]), &floats(&[inf]), rule(Dtype::F32))
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn a_nan_is_worse_than_any_number() {
        let got = floats(&[1e30, f64::NAN, 5.0]);
        let mismatch = compare(&got, &floats(&[0.0, 0.0, 0.0]), rule(Dtype::F32))
            .unwrap()
            .unwrap();
        assert_eq!(mismatch.worst.index, [1]);
    }

    #[test]
    fn what_the_dtype_cannot_hold_agrees_with_its_rounding() {
        assert_eq!(
            compare(&floats(&[f64::INFINITY]), &floats(&[70000.0]), rule(Dtype::F16)),
            Ok(None)
        );
        assert_eq!(
            compare(&floats(&[0.0]), &floats(&[2f64.powi(-11)]), rule(Dtype::F8E4M3)),
            Ok(None)
        );
        assert_eq!(
            compare(&floats(&[448.0]), &floats(&[1000.0]), rule(Dtype::F8E4M3)),
            Ok(None)
        );
        assert!(
            compare(&floats(&[f64::INFINITY]), &floats(&[65504.0]), rule(Dtype::F16))
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn integers_are_exact_beyond_two_to_the_53() {
        let big = i128::from(u64::MAX);
        assert_eq!(
            compare(&integers(&[big]), &integers(&[big]), rule(Dtype::U64)),
            Ok(None)
        );
        let off = compare(&integers(&[big - 1]), &integers(&[big]), rule(Dtype::U64))
            .unwrap()
            .unwrap();
        assert_eq!(off.worst.absolute, 1.0);
        let above = (1i128 << 53) + 1;
        let against_float = compare(&integers(&[above]), &floats(&[2f64.powi(53)]), rule(Dtype::I64));
        assert!(against_float.unwrap().is_some());
        assert_eq!(
            compare(&integers(&[3]), &floats(&[3.0]), rule(Dtype::I32)),
            Ok(None)
        );
        assert!(
            compare(&integers(&[3]), &floats(&[3.5]), rule(Dtype::I32))
                .unwrap()
                .is_some()
        );
        assert!(
            compare(&integers(&[3]), &floats(&[f64::NAN]), rule(Dtype::I32))
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn a_given_tolerance_holds_for_integers_too() {
        let rule = Rule {
            atol: Some(1.0),
            ..rule(Dtype::I32)
        };
        assert_eq!(compare(&integers(&[4, 6]), &integers(&[5, 5]), rule), Ok(None));
        assert!(compare(&integers(&[7]), &integers(&[5]), rule).unwrap().is_some());
    }

    #[test]
    fn a_single_value_stands_for_all_and_other_shapes_are_refused() {
        assert_eq!(
            compare(&floats(&[2.0, 2.0]), &single(2.0), rule(Dtype::F32)),
            Ok(None)
        );
        assert!(
            compare(&floats(&[2.0, 3.0]), &single(2.0), rule(Dtype::F32))
                .unwrap()
                .is_some()
        );
        let refused = compare(&floats(&[2.0, 2.0]), &floats(&[2.0]), rule(Dtype::F32)).unwrap_err();
        assert_eq!(
            refused,
            "the expected values have shape [1], the output has shape [2]"
        );
        assert_eq!(compare(&floats(&[]), &floats(&[]), rule(Dtype::F32)), Ok(None));
    }

    #[test]
    fn values_are_shown_in_as_many_digits_as_they_have() {
        assert_eq!(shown(Value::Float(f64::from(0.1f32))), "0.1");
        assert_eq!(shown(Value::Float(0.1)), "0.1");
        assert_eq!(shown(Value::Float(1.0 / 3.0)), "0.3333333333333333");
        assert_eq!(shown(Value::Float(f64::from(1e-7f32))), "1e-7");
        assert_eq!(shown(Value::Float(-0.0)), "-0");
        assert_eq!(shown(Value::Float(f64::NEG_INFINITY)), "-inf");
        assert_eq!(shown(Value::Int(u64::MAX.into())), "18446744073709551615");
        let errors = [0.25, 2.7251, 1234.5, 1e7, 2.5e-6];
        assert_eq!(errors.map(rough), ["0.2500", "2.73", "1234", "1.00e7", "2.50e-6"]);
    }

    #[test]
    fn the_finding_names_the_worst_element() {
        let got = Numbers::Float(ndarray::arr2(&[[1.0, 2.0], [3.5, 4.0]]).into_dyn());
        let expected = Numbers::Float(ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]).into_dyn());
        let mismatch = compare(&got, &expected, rule(Dtype::F32)).unwrap().unwrap();
        let tensor = TensorRef {
            name: "out".into(),
            dtype: "f32".into(),
            shape: vec![2, 2],
            strides: vec![2, 1],
        };
        let finding = mismatch.into_finding("k", tensor);
        assert_eq!(
            finding.message,
            "`out` differs from the expected values in 1 of 4 elements; the worst is out[1, 0]: got 3.5, \
             expected 3 (off by 0.5000, relative 0.1667; allowed: rtol 1.3e-6, atol 1e-5)"
        );
        assert_eq!(finding.element, Some(vec![1, 0]));
        assert_eq!(finding.count, 1);
        assert_eq!(finding.location, None);
    }
}
