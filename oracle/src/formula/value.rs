//! What the parts of a formula evaluate to, and what can go wrong.

use ndarray::{ArcArray, Array, IxDyn};

use crate::Numbers;

/// A shared array: names, slices and transposes cost no copy.
pub(super) type Shared<T> = ArcArray<T, IxDyn>;

/// A value; numbers without dimensions are scalars.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Bool(Shared<bool>),
    Int(Shared<i128>),
    Float(Shared<f64>),
    Tuple(Vec<Value>),
    Text(String),
    None,
}

/// Why a value could not be computed; the evaluator adds the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub message: String,
    pub help: Option<String>,
    /// The parameter of a function call that is at fault, where it is one.
    pub parameter: Option<usize>,
}

pub(super) type Outcome<T = Value> = Result<T, Fault>;

/// A fault with a message and nothing else.
pub(super) fn fault<T>(message: impl Into<String>) -> Outcome<T> {
    Err(Fault {
        message: message.into(),
        help: None,
        parameter: None,
    })
}

impl Fault {
    pub fn with_help(mut self, help: impl Into<String>) -> Fault {
        self.help = Some(help.into());
        self
    }

    pub fn in_parameter(mut self, position: usize) -> Fault {
        self.parameter = Some(position);
        self
    }
}

/// What one evaluation may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Elements of any one array, intermediate results included.
    pub elements: usize,
    /// Multiplications of any one matrix product.
    pub multiplications: u64,
}

impl Default for Limits {
    /// 2^27 elements (1 GiB of float64) and 2^43 multiplications.
    fn default() -> Limits {
        Limits {
            elements: 1 << 27,
            multiplications: 1 << 43,
        }
    }
}

impl Limits {
    /// The number of elements of a shape.
    pub fn allow(self, shape: &[usize]) -> Result<usize, String> {
        let count = shape
            .iter()
            .try_fold(1usize, |n, &d| n.checked_mul(d))
            .filter(|&n| n <= self.elements);
        // A zero among large sizes: no elements, but ndarray bounds the product of the others.
        let others = shape
            .iter()
            .filter(|&&d| d != 0)
            .try_fold(1usize, |n, &d| n.checked_mul(d));
        match (count, others) {
            (Some(count), Some(others)) if others <= isize::MAX as usize => Ok(count),
            _ => Err(format!(
                "an array of shape {shape:?} is too large for a formula; the limit is {} elements",
                self.elements
            )),
        }
    }

    pub(super) fn check(self, shape: &[usize]) -> Outcome<usize> {
        self.allow(shape).or_else(fault)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(scalar(value))
    }
}

impl From<i128> for Value {
    fn from(value: i128) -> Value {
        Value::Int(scalar(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(scalar(value))
    }
}

impl From<Numbers> for Value {
    fn from(numbers: Numbers) -> Value {
        match numbers {
            Numbers::Int(a) => Value::Int(a.into_shared()),
            Numbers::Float(a) => Value::Float(a.into_shared()),
        }
    }
}

pub(super) fn scalar<T: Clone>(value: T) -> Shared<T> {
    ndarray::arr0(value).into_dyn().into_shared()
}

impl Value {
    /// As the oracle's result; none for what is no array.
    pub fn into_numbers(self) -> Option<Numbers> {
        Some(match self {
            Value::Bool(a) => Numbers::Int(a.mapv(i128::from)),
            Value::Int(a) => Numbers::Int(a.into_owned()),
            Value::Float(a) => Numbers::Float(a.into_owned()),
            Value::Tuple(_) | Value::Text(_) | Value::None => return None,
        })
    }

    /// Elements per dimension; none for what is no array.
    pub fn shape(&self) -> Option<&[usize]> {
        match self {
            Value::Bool(a) => Some(a.shape()),
            Value::Int(a) => Some(a.shape()),
            Value::Float(a) => Some(a.shape()),
            Value::Tuple(_) | Value::Text(_) | Value::None => None,
        }
    }

    /// What it is, in words: "a float array of shape [3, 4]".
    pub fn describe(&self) -> String {
        let (scalar, array) = match self {
            Value::Bool(_) => ("a truth value", "a truth-value array"),
            Value::Int(_) => ("an integer", "an integer array"),
            Value::Float(_) => ("a float", "a float array"),
            Value::Tuple(_) => return "a tuple".to_string(),
            Value::Text(_) => return "a string".to_string(),
            Value::None => return "None".to_string(),
        };
        match self.shape() {
            Some(shape) if !shape.is_empty() => format!("{array} of shape {shape:?}"),
            _ => scalar.to_string(),
        }
    }

    pub fn as_float(&self) -> Outcome<Shared<f64>> {
        match self {
            Value::Float(a) => Ok(a.clone()),
            Value::Int(a) => Ok(a.mapv(|v| v as f64).into_shared()),
            Value::Bool(a) => Ok(a.mapv(|v| f64::from(u8::from(v))).into_shared()),
            _ => fault(format!("expected numbers, this is {}", self.describe())),
        }
    }

    pub fn as_int(&self) -> Outcome<Shared<i128>> {
        match self {
            Value::Int(a) => Ok(a.clone()),
            Value::Bool(a) => Ok(a.mapv(i128::from).into_shared()),
            _ => fault(format!("expected integers, this is {}", self.describe())),
        }
    }

    /// Whether each number is not zero (NaN counts as true, as in NumPy).
    pub fn as_bool(&self) -> Outcome<Shared<bool>> {
        match self {
            Value::Bool(a) => Ok(a.clone()),
            Value::Int(a) => Ok(a.mapv(|v| v != 0).into_shared()),
            Value::Float(a) => Ok(a.mapv(|v| v != 0.0).into_shared()),
            _ => fault(format!("expected truth values, this is {}", self.describe())),
        }
    }

    /// The truth of a single number.
    pub fn truth(&self) -> Outcome<bool> {
        let all = self.as_bool()?;
        match (all.len(), all.first()) {
            (1, Some(&truth)) => Ok(truth),
            _ => Err(Fault {
                message: format!("the truth of {} is ambiguous", self.describe()),
                help: None,
                parameter: None,
            }
            .with_help("use `&`, `|`, `~` or `where(condition, a, b)` for arrays")),
        }
    }

    /// A single integer.
    pub fn single_int(&self) -> Outcome<i128> {
        let wanted = || fault(format!("expected one integer, this is {}", self.describe()));
        match self {
            Value::Int(_) | Value::Bool(_) => {
                let a = self.as_int()?;
                match (a.len(), a.first()) {
                    (1, Some(&value)) => Ok(value),
                    _ => wanted(),
                }
            }
            _ => wanted(),
        }
    }

    /// The integers of a tuple, or one integer.
    pub fn int_list(&self) -> Outcome<Vec<i128>> {
        match self {
            Value::Tuple(items) => items.iter().map(Value::single_int).collect(),
            _ => Ok(vec![self.single_int()?]),
        }
    }
}

/// Two arrays of one kind.
pub(super) enum Pair {
    Bool(Shared<bool>, Shared<bool>),
    Int(Shared<i128>, Shared<i128>),
    Float(Shared<f64>, Shared<f64>),
}

/// Both in the narrowest kind that holds both: truth values, integers, floats.
pub(super) fn promote(a: &Value, b: &Value) -> Outcome<Pair> {
    Ok(match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Pair::Bool(a.clone(), b.clone()),
        (Value::Bool(_) | Value::Int(_), Value::Bool(_) | Value::Int(_)) => {
            Pair::Int(a.as_int()?, b.as_int()?)
        }
        _ => Pair::Float(a.as_float()?, b.as_float()?),
    })
}

/// An owned array as a shared one.
pub(super) fn share<T: Clone>(array: Array<T, IxDyn>) -> Shared<T> {
    array.into_shared()
}
