//! Functions that make arrays or rearrange them.

use ndarray::{Array, Axis, IxDyn, concatenate as join};

use super::reduce::resolve_axis;
use super::value::{Limits, Outcome, Pair, Shared, Value, fault, promote, share};

/// The same for each kind of array.
macro_rules! each_kind {
    ($value:expr, $array:ident => $body:expr) => {
        match $value {
            Value::Bool($array) => Ok(Value::Bool($body)),
            Value::Int($array) => Ok(Value::Int($body)),
            Value::Float($array) => Ok(Value::Float($body)),
            other => fault(format!("expected an array, this is {}", other.describe())),
        }
    };
}
pub(super) use each_kind;

/// Axes in another order (none: reversed).
pub(super) fn transpose(a: &Value, axes: Option<&Value>) -> Outcome {
    let Some(shape) = a.shape() else {
        return fault(format!("expected an array, this is {}", a.describe()));
    };
    let ndim = shape.len();
    let order = match axes {
        None | Some(Value::None) => (0..ndim).rev().collect(),
        Some(axes) => {
            let order: Outcome<Vec<usize>> = axes
                .int_list()?
                .iter()
                .map(|&axis| resolve_axis(axis, ndim))
                .collect();
            order?
        }
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..ndim).collect::<Vec<_>>() {
        return fault(format!(
            "the axes {order:?} do not name each of {ndim} dimensions once"
        ));
    }
    each_kind!(a, a => a.clone().permuted_axes(order))
}

/// Another shape for the same elements in row-major order; one size may be -1.
pub(super) fn reshape(a: &Value, shape: &Value) -> Outcome {
    let Some(old) = a.shape() else {
        return fault(format!("expected an array, this is {}", a.describe()));
    };
    let count: usize = old.iter().product();
    let wanted = shape.int_list().map_err(|f| f.in_parameter(1))?;
    let mismatch = || {
        fault(format!(
            "shape {old:?} has {count} elements, not as many as {wanted:?}"
        ))
    };
    let known = wanted
        .iter()
        .filter(|&&d| d != -1)
        .try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?));
    let unknown = wanted.iter().filter(|&&d| d == -1).count();
    let free = match (unknown, known) {
        (0, Some(known)) if known == count => 0,
        (1, Some(known)) if known != 0 && count.is_multiple_of(known) => count / known,
        _ => return mismatch(),
    };
    let new: Vec<usize> = wanted
        .iter()
        .map(|&d| usize::try_from(d).unwrap_or(free))
        .collect();
    let only_size = Limits {
        elements: usize::MAX,
        multiplications: 0,
    };
    if only_size.allow(&new).is_err() {
        return mismatch();
    }
    each_kind!(a, a => match a.to_shape((IxDyn(&new), ndarray::Order::RowMajor)) {
        Ok(view) => share(view.into_owned()),
        Err(_) => return mismatch(),
    })
}

/// A non-negative size, or several.
fn sizes(shape: &Value, limits: Limits) -> Outcome<Vec<usize>> {
    let sizes: Option<Vec<usize>> = shape
        .int_list()?
        .iter()
        .map(|&d| usize::try_from(d).ok())
        .collect();
    let Some(sizes) = sizes else {
        return fault("a shape has sizes of zero or more");
    };
    limits.check(&sizes)?;
    Ok(sizes)
}

pub(super) fn broadcast_to(a: &Value, shape: &Value, limits: Limits) -> Outcome {
    let new = sizes(shape, limits).map_err(|f| f.in_parameter(1))?;
    let describe = a.describe();
    each_kind!(a, a => match a.broadcast(IxDyn(&new)) {
        Some(view) => share(view.to_owned()),
        None => return fault(format!("{describe} does not broadcast to shape {new:?}")),
    })
}

/// `zeros` and `ones`.
pub(super) fn filled(shape: &Value, value: f64, limits: Limits) -> Outcome {
    let shape = sizes(shape, limits).map_err(|f| f.in_parameter(0))?;
    Ok(Value::Float(share(Array::from_elem(IxDyn(&shape), value))))
}

/// Arrays one after another along an axis (None: all flattened).
pub(super) fn concatenate(arrays: &Value, axis: Option<&Value>, limits: Limits) -> Outcome {
    let Value::Tuple(arrays) = arrays else {
        return fault(format!(
            "expected a tuple of arrays, this is {}",
            arrays.describe()
        ));
    };
    let flat: Outcome<Vec<Value>> = match axis {
        Some(Value::None) => arrays.iter().map(|a| reshape(a, &Value::from(-1))).collect(),
        _ => Ok(arrays.clone()),
    };
    let arrays = flat?;
    let Some(first) = arrays.first() else {
        return fault("nothing to concatenate");
    };
    let Some(ndim) = first.shape().map(<[usize]>::len) else {
        return fault(format!("expected arrays, this is {}", first.describe()));
    };
    let axis = match axis {
        None | Some(Value::None) => resolve_axis(0, ndim)?,
        Some(axis) => resolve_axis(axis.single_int()?, ndim)?,
    };
    let mut total: usize = 0;
    let mut kind = first.clone();
    for array in &arrays {
        let Some(shape) = array.shape() else {
            return fault(format!("expected arrays, this is {}", array.describe()));
        };
        total = total.saturating_add(shape.iter().product());
        // Only the kinds matter here: promote empty ends of both.
        kind = match promote(&sample(&kind), &sample(array))? {
            Pair::Bool(a, _) => Value::Bool(a),
            Pair::Int(a, _) => Value::Int(a),
            Pair::Float(a, _) => Value::Float(a),
        };
    }
    limits.check(&[total])?;
    let shapes: Vec<String> = arrays
        .iter()
        .filter_map(Value::shape)
        .map(|s| format!("{s:?}"))
        .collect();
    let mismatch = || format!("shapes {} do not fit along axis {axis}", shapes.join(", "));
    match kind {
        Value::Bool(_) => Ok(Value::Bool(joined(&arrays, axis, Value::as_bool, mismatch)?)),
        Value::Int(_) => Ok(Value::Int(joined(&arrays, axis, Value::as_int, mismatch)?)),
        _ => Ok(Value::Float(joined(&arrays, axis, Value::as_float, mismatch)?)),
    }
}

/// A scalar of the same kind.
fn sample(value: &Value) -> Value {
    match value {
        Value::Bool(_) => Value::from(false),
        Value::Int(_) => Value::from(0),
        _ => Value::from(0.0),
    }
}

fn joined<T: Clone>(
    arrays: &[Value],
    axis: usize,
    convert: fn(&Value) -> Outcome<Shared<T>>,
    mismatch: impl Fn() -> String,
) -> Outcome<Shared<T>> {
    let arrays: Vec<Shared<T>> = arrays.iter().map(convert).collect::<Outcome<_>>()?;
    let views: Vec<_> = arrays.iter().map(|a| a.view()).collect();
    match join(Axis(axis), &views) {
        Ok(array) => Ok(share(array)),
        Err(_) => fault(mismatch()),
    }
}

/// `start, start + step, ...` below `stop`; integers where all three are.
pub(super) fn arange(start: &Value, stop: Option<&Value>, step: Option<&Value>, limits: Limits) -> Outcome {
    let zero = Value::from(0);
    let one = Value::from(1);
    let (start, stop) = match stop {
        None | Some(Value::None) => (&zero, start),
        Some(stop) => (start, stop),
    };
    let step = match step {
        None | Some(Value::None) => &one,
        Some(step) => step,
    };
    let all = [start, stop, step];
    if all.iter().any(|v| v.shape().is_none_or(|s| !s.is_empty())) {
        return fault("arange takes single numbers");
    }
    if all.iter().any(|v| matches!(v, Value::Float(_))) {
        let [start, stop, step] = [float(start)?, float(stop)?, float(step)?];
        let count = ((stop - start) / step).ceil();
        if step == 0.0 || !count.is_finite() {
            return fault("arange needs finite bounds and a step that is not zero");
        }
        let count = limits.check(&[count.max(0.0) as usize])?;
        return Ok(Value::Float(share(
            Array::from_iter((0..count).map(|i| start + i as f64 * step)).into_dyn(),
        )));
    }
    let [start, stop, step] = [start.single_int()?, stop.single_int()?, step.single_int()?];
    let span = if step < 0 {
        start.checked_sub(stop)
    } else {
        stop.checked_sub(start)
    };
    let count = match (span, step) {
        (_, 0) | (None, _) => {
            return fault("arange needs a range within 128 bits and a step that is not zero");
        }
        (Some(span), step) => span.max(0).unsigned_abs().div_ceil(step.unsigned_abs()),
    };
    let count = limits.check(&[usize::try_from(count).unwrap_or(usize::MAX)])?;
    // Every element lies between start and stop, so nothing overflows.
    Ok(Value::Int(share(
        Array::from_iter((0..count).map(|i| start + i as i128 * step)).into_dyn(),
    )))
}

fn float(value: &Value) -> Outcome<f64> {
    match value.as_float()?.first() {
        Some(&value) => Ok(value),
        None => fault("expected one number"),
    }
}
