//! What is wrong with a case, in words: findings, as reports have them.

use tilescope_diagnostics::{Check, Finding, Severity, TensorRef, Value};
use tilescope_launch::{Dtype, Tensor};
use tilescope_oracle::Mismatch;

use crate::compare::Difference;

/// What did not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The interpreter's checks.
    Checks,
    /// Nearness to the float64 twin.
    Twin,
    /// Nearness to what `[expect]` says.
    Expected,
    /// Independence of a tunable parameter.
    Choice,
    /// Independence of the order of programs.
    Order,
    /// Independence of what lies in padding.
    Padding,
    /// Another engine.
    Engine,
    /// Another engine with another number of warps, where the launch's own number gives no fault.
    Warps,
    /// Independence of what lanes hold that nothing gave a value.
    Undefined,
    /// Nearness to another launch file.
    Against,
    /// The interpreter's checks, of that other file.
    There,
    /// The interpreter's checks, where the tunable parameter has its other value.
    ChecksOfChoice,
}

/// A case that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What did not hold.
    pub relation: Relation,
    /// In words; the first error is what the case is about.
    pub findings: Vec<Finding>,
    /// The output that differs, where one does.
    pub difference: Option<Difference>,
    /// The run of another engine that it was seen in.
    pub on: Option<On>,
}

/// A run of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct On {
    /// The engine's name.
    pub engine: String,
    /// The number of warps, where it is not the launch's own.
    pub warps: Option<u32>,
}

impl On {
    /// The run in words.
    pub fn words(&self) -> String {
        let name = &self.engine;
        match self.warps {
            None => name.to_string(),
            Some(1) => format!("{name} with 1 warp"),
            Some(warps) => format!("{name} with {warps} warps"),
        }
    }
}

/// Tells a finding the worst element of a difference: its values on both paths, and how far they are apart and `may` be.
pub(crate) fn worst(finding: &mut Finding, difference: &Difference, may: &str) {
    finding.count = difference.count as u64;
    finding.tensor = Some(tensor_ref(&difference.tensor));
    finding.element = Some(difference.index.clone());
    finding.operands = vec![
        (difference.paths.0.clone(), difference.values.0),
        (difference.paths.1.clone(), difference.values.1),
        (String::from(may), Value::Float(difference.bound)),
    ];
    let ulps = match difference.values {
        (Value::Float(a), Value::Float(b)) => ulps(difference.tensor.dtype, (a, b)),
        _ => None,
    };
    finding
        .operands
        .extend(ulps.map(|ulps| (String::from("units in the last place apart"), Value::Int(ulps))));
}

impl Failure {
    /// The checks found something.
    pub fn of_findings(findings: Vec<Finding>) -> Failure {
        Failure {
            relation: Relation::Checks,
            findings,
            difference: None,
            on: None,
        }
    }

    /// Two paths differ.
    pub fn of(relation: Relation, difference: Difference, kernel: &str) -> Failure {
        let check = match relation {
            Relation::Twin => Check::PrecisionLoss,
            Relation::Order => Check::OrderDependent,
            _ => Check::OutputMismatch,
        };
        let name = &difference.tensor.name;
        let count = format!("in {} of {} elements", difference.count, difference.total);
        let message = match relation {
            Relation::Twin => {
                format!("`{name}` is farther from its float64 twin than rounding explains {count}")
            }
            Relation::Choice => {
                format!(
                    "`{name}` depends on a tunable parameter {count}: {}",
                    difference.paths.1
                )
            }
            Relation::Against => {
                format!("`{name}` differs from what {} gives {count}", difference.paths.1)
            }
            Relation::Order => format!("`{name}` depends on the order of the programs {count}"),
            Relation::Padding => {
                format!("`{name}` depends on bytes that are no element of any argument {count}")
            }
            Relation::Engine => format!(
                "`{name}` on {} is farther from the {} than rounding explains {count}",
                difference.paths.0, difference.paths.1
            ),
            Relation::Warps => {
                format!(
                    "`{name}` depends on the number of warps {count}: {}",
                    difference.paths.0
                )
            }
            Relation::Undefined => {
                format!("`{name}` depends on lanes that nothing gave a value {count}")
            }
            _ => format!("`{name}` differs from the expected values {count}"),
        };
        let mut finding = Finding::new(check, kernel, message);
        finding.severity = Severity::Error;
        worst(&mut finding, &difference, "may be apart");
        finding.help = Some(help(relation).to_string());
        Failure {
            relation,
            findings: vec![finding],
            difference: Some(difference),
            on: None,
        }
    }

    /// An output differs from what is expected by more than the file's tolerance.
    pub fn of_mismatch(mismatch: Mismatch, kernel: &str, tensor: &Tensor) -> Failure {
        Failure {
            relation: Relation::Expected,
            findings: vec![mismatch.into_finding(kernel, tensor_ref(tensor))],
            difference: None,
            on: None,
        }
    }

    /// An engine's own checks found errors where the interpreter's found none.
    pub(crate) fn of_engine(relation: Relation, engine: &str, findings: Vec<Finding>) -> Failure {
        let failure = Failure {
            relation,
            findings,
            difference: None,
            on: None,
        };
        failure.said_of(&format!("on {engine}"))
    }

    /// A kernel was stopped by an engine, or did not end there.
    pub(crate) fn of_lost(engine: &str, why: &str, kernel: &str) -> Failure {
        let mut finding = Finding::new(Check::OutputMismatch, kernel, format!("on {engine} {why}"));
        finding.severity = Severity::Error;
        finding.help = Some(String::from(
            "the interpreter's checks find no fault in it: please report this case as a bug",
        ));
        Failure {
            relation: Relation::Engine,
            findings: vec![finding],
            difference: None,
            on: None,
        }
    }

    /// The same, with these words before what was found.
    pub(crate) fn said_of(mut self, words: &str) -> Failure {
        for finding in &mut self.findings {
            finding.message = format!("{words}: {}", finding.message);
        }
        self
    }

    /// True if another failure is of the same kind.
    pub fn is_like(&self, other: &Failure) -> bool {
        let check = |failure: &Failure| {
            let mut errors = failure.findings.iter().filter(|f| f.severity == Severity::Error);
            errors.next().map(|f| f.check)
        };
        self.relation == other.relation && check(self) == check(other)
    }
}

fn help(relation: Relation) -> &'static str {
    match relation {
        Relation::Twin => {
            "the kernel's own formula in float64 gives another result: look for overflow on the way, for sums in a narrow type, for a cancellation"
        }
        Relation::Choice => {
            "results must not depend on a block size: look for masks, and for what is divided by it"
        }
        Relation::Order => {
            "a result must not depend on which program runs first: look for stores to one element, or for what a program does with an atomic's old value"
        }
        Relation::Engine | Relation::Warps => {
            "the interpreter agrees with the twin here: either what was compiled is wrong, or the kernel relies on what no GPU promises (an order of threads, memory that others write)"
        }
        Relation::Padding => "mask the lanes that lie between rows or past the end",
        Relation::Undefined => {
            "a load whose mask is off leaves its lanes undefined: give it `other=`, or leave those lanes out of what follows"
        }
        Relation::Against => "one of the two is wrong, or both are: `[expect]` says which",
        Relation::Checks | Relation::There | Relation::ChecksOfChoice | Relation::Expected => {
            "the places tell: one block points to its mask, all elements to the formula or a stride"
        }
    }
}

/// How many numbers of a type lie between two, and one more; none where one is NaN, or the type is no float.
fn ulps(dtype: Dtype, (a, b): (f64, f64)) -> Option<i128> {
    if !dtype.is_float() || a.is_nan() || b.is_nan() {
        return None;
    }
    let sign = 1u64 << (8 * dtype.bytes() - 1);
    let place = |x: f64| {
        let bits = dtype.encode_float(x);
        let size = i128::from(bits & (sign - 1));
        if bits & sign == 0 { size } else { -size }
    };
    Some((place(a) - place(b)).abs())
}

fn tensor_ref(tensor: &Tensor) -> TensorRef {
    TensorRef {
        name: tensor.name.clone(),
        dtype: tensor.dtype.name().to_string(),
        shape: tensor.shape.clone(),
        strides: tensor.strides.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_unit_apart() {
        assert_eq!(ulps(Dtype::F32, (1.0, 1.0 + f64::from(f32::EPSILON))), Some(1));
        assert_eq!(ulps(Dtype::F16, (-0.0, 2f64.powi(-24))), Some(1));
        assert_eq!(ulps(Dtype::BF16, (-1.0, 1.0)), Some(2 * 0x3f80));
        assert_eq!(ulps(Dtype::F32, (f64::NAN, 1.0)), None);
    }
}
