//! The functions that formulas may call: one row each.

use super::value::{Fault, Limits, Outcome, Shared, Value, fault, share};
use super::{elementwise, matmul, reduce, shape};
use crate::rounding::{float_to_integer, round_float, wrap_integer};
use tilescope_launch::Dtype;

/// A function: its parameters, how many of them are required, and what it computes.
pub(super) struct Function {
    pub name: &'static str,
    pub parameters: &'static [&'static str],
    pub required: usize,
    pub call: fn(&Arguments, Limits) -> Outcome,
}

/// The arguments of a call, by parameter; the required ones are there.
pub(super) struct Arguments {
    pub values: Vec<Option<Value>>,
}

impl Arguments {
    /// A required argument.
    fn at(&self, position: usize) -> Outcome<&Value> {
        match self.optional(position) {
            Some(value) => Ok(value),
            None => fault("an argument is missing"),
        }
    }

    fn optional(&self, position: usize) -> Option<&Value> {
        self.values.get(position).and_then(Option::as_ref)
    }

    /// The axes of a reduction with the parameters (x, axis, keepdims).
    fn axes(&self) -> Outcome<reduce::Axes> {
        let Some(shape) = self.at(0)?.shape() else {
            return fault(format!("expected an array, this is {}", self.at(0)?.describe())).map_err(in_first);
        };
        let keep = match self.optional(2) {
            Some(keep) => keep.truth().map_err(|f| f.in_parameter(2))?,
            None => false,
        };
        reduce::Axes::new(self.optional(1), keep, shape.len()).map_err(|f| {
            f.in_parameter(1)
                .with_help("axes count from 0, or from -1 at the end; for two arrays use maximum, minimum")
        })
    }
}

fn in_first(f: Fault) -> Fault {
    f.in_parameter(0)
}

const X: &[&str] = &["x"];
const X1_X2: &[&str] = &["x1", "x2"];
const REDUCTION: &[&str] = &["x", "axis", "keepdims"];

macro_rules! row {
    ($name:literal, $parameters:expr, $required:literal, $call:expr) => {
        Function {
            name: $name,
            parameters: $parameters,
            required: $required,
            call: $call,
        }
    };
}

/// Sorted as in the documentation of launch files.
pub(super) const FUNCTIONS: &[Function] = &[
    row!("where", &["condition", "x", "y"], 3, |a, limits| {
        elementwise::choose(a.at(0)?, a.at(1)?, a.at(2)?, limits)
    }),
    row!("exp", X, 1, |a, _| elementwise::map_float(a.at(0)?, libm::exp)),
    row!("log", X, 1, |a, _| elementwise::map_float(a.at(0)?, libm::log)),
    row!("log2", X, 1, |a, _| elementwise::map_float(a.at(0)?, libm::log2)),
    row!("sqrt", X, 1, |a, _| elementwise::map_float(a.at(0)?, f64::sqrt)),
    row!("rsqrt", X, 1, |a, _| elementwise::map_float(a.at(0)?, |v| 1.0
        / v.sqrt())),
    row!("tanh", X, 1, |a, _| elementwise::map_float(a.at(0)?, libm::tanh)),
    row!("erf", X, 1, |a, _| elementwise::map_float(a.at(0)?, libm::erf)),
    row!("sigmoid", X, 1, |a, _| elementwise::map_float(a.at(0)?, sigmoid)),
    row!("sin", X, 1, |a, _| elementwise::map_float(a.at(0)?, libm::sin)),
    row!("cos", X, 1, |a, _| elementwise::map_float(a.at(0)?, libm::cos)),
    row!("abs", X, 1, |a, _| elementwise::absolute(a.at(0)?)),
    row!("floor", X, 1, |a, _| elementwise::integral(a.at(0)?, f64::floor)),
    row!("round", X, 1, |a, _| elementwise::integral(
        a.at(0)?,
        f64::round_ties_even
    )),
    row!("maximum", X1_X2, 2, |a, limits| elementwise::extremum(
        a.at(0)?,
        a.at(1)?,
        true,
        limits
    )),
    row!("minimum", X1_X2, 2, |a, limits| elementwise::extremum(
        a.at(0)?,
        a.at(1)?,
        false,
        limits
    )),
    row!("clip", &["x", "min", "max"], 3, clip),
    row!("sum", REDUCTION, 1, |a, _| reduce::sum(a.at(0)?, &a.axes()?)),
    row!("mean", REDUCTION, 1, |a, _| reduce::mean(a.at(0)?, &a.axes()?)),
    row!("max", REDUCTION, 1, |a, _| reduce::extremum(
        a.at(0)?,
        &a.axes()?,
        true
    )),
    row!("min", REDUCTION, 1, |a, _| reduce::extremum(
        a.at(0)?,
        &a.axes()?,
        false
    )),
    row!("argmax", REDUCTION, 1, |a, _| {
        if let Some(axis @ Value::Tuple(_)) = a.optional(1) {
            return fault(format!("argmax takes one axis, this is {}", axis.describe()))
                .map_err(|f: Fault| f.in_parameter(1));
        }
        reduce::argmax(a.at(0)?, &a.axes()?)
    }),
    row!("cumsum", &["x", "axis"], 1, |a, _| reduce::cumsum(
        a.at(0)?,
        a.optional(1)
    )),
    row!("softmax", &["x", "axis"], 1, |a, _| reduce::softmax(
        a.at(0)?,
        a.optional(1)
    )),
    row!("matmul", X1_X2, 2, |a, limits| matmul::matmul(
        a.at(0)?,
        a.at(1)?,
        limits
    )),
    row!("transpose", &["x", "axes"], 1, |a, _| shape::transpose(
        a.at(0)?,
        a.optional(1)
    )),
    row!("reshape", &["x", "shape"], 2, |a, _| shape::reshape(
        a.at(0)?,
        a.at(1)?
    )),
    row!("broadcast_to", &["x", "shape"], 2, |a, limits| {
        shape::broadcast_to(a.at(0)?, a.at(1)?, limits)
    }),
    row!("concatenate", &["arrays", "axis"], 1, |a, limits| {
        shape::concatenate(a.at(0)?, a.optional(1), limits)
    }),
    row!("arange", &["start", "stop", "step"], 1, |a, limits| {
        shape::arange(a.at(0)?, a.optional(1), a.optional(2), limits)
    }),
    row!("zeros", &["shape"], 1, |a, limits| shape::filled(
        a.at(0)?,
        0.0,
        limits
    )),
    row!("ones", &["shape"], 1, |a, limits| shape::filled(
        a.at(0)?,
        1.0,
        limits
    )),
    row!("cast", &["x", "dtype"], 2, |a, _| cast(a.at(0)?, a.at(1)?)),
];

/// `1 / (1 + exp(-x))`, without overflow on either side.
fn sigmoid(x: f64) -> f64 {
    let small = libm::exp(-x.abs());
    if x >= 0.0 {
        1.0 / (1.0 + small)
    } else {
        small / (1.0 + small)
    }
}

fn clip(a: &Arguments, limits: Limits) -> Outcome {
    let mut result = a.at(0)?.clone();
    for (position, larger) in [(1, true), (2, false)] {
        match a.at(position)? {
            Value::None => {}
            bound => result = elementwise::extremum(&result, bound, larger, limits)?,
        }
    }
    Ok(result)
}

/// The values as a dtype holds them.
fn cast(x: &Value, dtype: &Value) -> Outcome {
    let Value::Text(name) = dtype else {
        return fault(format!(
            "the dtype is a string such as 'f16', this is {}",
            dtype.describe()
        ))
        .map_err(|f: Fault| f.in_parameter(1));
    };
    let Some(dtype) = Dtype::from_name(name) else {
        return fault(format!("no dtype is called '{name}'")).map_err(|f: Fault| f.in_parameter(1));
    };
    if dtype == Dtype::I1 {
        return Ok(Value::Bool(x.as_bool().map_err(in_first)?));
    }
    if dtype.is_float() {
        let values: Shared<f64> = x.as_float().map_err(in_first)?;
        return Ok(Value::Float(share(values.mapv(|v| round_float(v, dtype)))));
    }
    Ok(Value::Int(match x {
        Value::Float(x) => share(x.mapv(|v| float_to_integer(v, dtype))),
        _ => share(x.as_int().map_err(in_first)?.mapv(|v| wrap_integer(v, dtype))),
    }))
}
