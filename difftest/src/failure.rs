//! What is wrong with a case, in words: findings, as reports have them.

use tilescope_diagnostics::{Check, Finding, Severity, TensorRef, Value};
use tilescope_launch::Tensor;
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
}

/// A case that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What did not hold.
    pub relation: Relation,
    /// In words; the first is the one that the case is about.
    pub findings: Vec<Finding>,
    /// The output that differs, where one does.
    pub difference: Option<Difference>,
}

impl Failure {
    /// The checks found something; errors come first.
    pub fn of_findings(mut findings: Vec<Finding>) -> Failure {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Failure {
            relation: Relation::Checks,
            findings,
            difference: None,
        }
    }

    /// Two paths differ.
    pub fn of(relation: Relation, difference: Difference, kernel: &str) -> Failure {
        let check = match relation {
            Relation::Twin => Check::PrecisionLoss,
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
            _ => format!("`{name}` differs from the expected values {count}"),
        };
        let mut finding = Finding::new(check, kernel, message);
        finding.severity = Severity::Error;
        finding.count = difference.count as u64;
        finding.tensor = Some(tensor_ref(&difference.tensor));
        finding.element = Some(difference.index.clone());
        finding.operands = vec![
            (difference.paths.0.clone(), Value::Float(difference.values.0)),
            (difference.paths.1.clone(), Value::Float(difference.values.1)),
            (String::from("may be apart"), Value::Float(difference.bound)),
        ];
        Failure {
            relation,
            findings: vec![finding],
            difference: Some(difference),
        }
    }

    /// An output differs from what is expected by more than the file's tolerance.
    pub fn of_mismatch(mismatch: Mismatch, kernel: &str, tensor: &Tensor) -> Failure {
        Failure {
            relation: Relation::Expected,
            findings: vec![mismatch.into_finding(kernel, tensor_ref(tensor))],
            difference: None,
        }
    }

    /// True if another failure is of the same kind.
    pub fn is_like(&self, other: &Failure) -> bool {
        let check = |failure: &Failure| failure.findings.first().map(|f| f.check);
        self.relation == other.relation && check(self) == check(other)
    }
}

fn tensor_ref(tensor: &Tensor) -> TensorRef {
    TensorRef {
        name: tensor.name.clone(),
        dtype: tensor.dtype.name().to_string(),
        shape: tensor.shape.clone(),
        strides: tensor.strides.clone(),
    }
}
