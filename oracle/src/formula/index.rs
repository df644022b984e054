//! Subscripts: positions, slices, new dimensions, `...`, and integer arrays side by side.
//!
//! Left out: truth-value arrays as an index, and integer arrays separated by slices.

use ndarray::{Array, Axis, IxDyn, Slice};

use super::elementwise::common_shape;
use super::shape::each_kind;
use super::value::{Fault, Limits, Outcome, Shared, Value, fault, scalar, share};

/// One entry of a subscript, evaluated.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    /// One position; the dimension goes away.
    At(i128),
    /// Positions picked by an array.
    Pick(Shared<i128>),
    /// `start:stop:step`.
    Slice {
        start: Option<i128>,
        stop: Option<i128>,
        step: i128,
    },
    /// `None`.
    NewAxis,
    /// `...`
    Ellipsis,
}

impl Entry {
    /// A value used as an index.
    pub fn from_value(value: &Value) -> Outcome<Entry> {
        match value {
            Value::None => Ok(Entry::NewAxis),
            Value::Int(a) => match (a.ndim(), a.first()) {
                (0, Some(&position)) => Ok(Entry::At(position)),
                _ => Ok(Entry::Pick(a.clone())),
            },
            Value::Bool(_) => fault("truth values as an index are not supported")
                .map_err(|f: Fault| f.with_help("use where(condition, x, other)")),
            other => fault(format!(
                "an index is an integer, a slice, None or `...`, this is {}",
                other.describe()
            ))
            .map_err(|f: Fault| f.with_help("floats become integers by cast(x, 'i64')")),
        }
    }
}

/// `a[entries]`.
pub(super) fn subscript(a: &Value, mut entries: Vec<Entry>, limits: Limits) -> Outcome {
    let Some(shape) = a.shape() else {
        return fault(format!("{} has no elements to index", a.describe()));
    };
    let used = entries
        .iter()
        .filter(|e| !matches!(e, Entry::NewAxis | Entry::Ellipsis))
        .count();
    let Some(left) = shape.len().checked_sub(used) else {
        return fault(format!(
            "{used} indices for an array of {} dimensions",
            shape.len()
        ));
    };
    let whole = || Entry::Slice {
        start: None,
        stop: None,
        step: 1,
    };
    match entries.iter().filter(|e| matches!(e, Entry::Ellipsis)).count() {
        0 => entries.extend((0..left).map(|_| whole())),
        1 => {
            let at = entries
                .iter()
                .position(|e| matches!(e, Entry::Ellipsis))
                .unwrap_or(0);
            entries.splice(at..=at, (0..left).map(|_| whole()));
        }
        _ => return fault("`...` may stand once in a subscript"),
    }
    if entries.iter().any(|e| matches!(e, Entry::Pick(_))) {
        // As in NumPy, single positions join the arrays.
        for entry in &mut entries {
            if let Entry::At(position) = *entry {
                *entry = Entry::Pick(scalar(position));
            }
        }
    }
    each_kind!(a, a => apply(a, &entries, limits)?)
}

fn apply<T: Clone>(a: &Shared<T>, entries: &[Entry], limits: Limits) -> Outcome<Shared<T>> {
    let mut result = a.clone();
    let mut axis = 0;
    let mut picked: Vec<&Shared<i128>> = Vec::new();
    let mut first_picked = 0;
    for entry in entries {
        let size = result.shape().get(axis).copied().unwrap_or(0);
        match entry {
            Entry::At(position) => {
                result = result.index_axis_move(Axis(axis), resolve(*position, size)?);
                continue;
            }
            Entry::Pick(positions) => {
                if picked.is_empty() {
                    first_picked = axis;
                } else if first_picked + picked.len() != axis {
                    return fault("integer arrays separated by slices are not supported as indices");
                }
                picked.push(positions);
            }
            Entry::Slice { start, stop, step } => {
                result.slice_axis_inplace(Axis(axis), python_slice(*start, *stop, *step, size)?);
            }
            Entry::NewAxis => result = result.insert_axis(Axis(axis)),
            Entry::Ellipsis => continue,
        }
        axis += 1;
    }
    if picked.is_empty() {
        return Ok(result);
    }
    pick(&result, first_picked, &picked, limits)
}

/// A position, counted from the end where negative.
fn resolve(position: i128, size: usize) -> Outcome<usize> {
    let wrapped = if position < 0 {
        position.saturating_add(size as i128)
    } else {
        position
    };
    match usize::try_from(wrapped) {
        Ok(at) if at < size => Ok(at),
        _ => fault(format!(
            "index {position} is out of range for a dimension of size {size}"
        )),
    }
}

/// A slice by Python's rules as ndarray has it, which reverses the range for a negative step.
fn python_slice(start: Option<i128>, stop: Option<i128>, step: i128, size: usize) -> Outcome<Slice> {
    if step == 0 {
        return fault("a slice has no step of 0");
    }
    let n = size as i128;
    let (least, most) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let bound = |at: Option<i128>, default: i128| match at {
        None => default,
        Some(at) if at < 0 => at.saturating_add(n).clamp(least, most),
        Some(at) => at.clamp(least, most),
    };
    let step_size = isize::try_from(step)
        .unwrap_or(if step > 0 { isize::MAX } else { -isize::MAX })
        .max(-isize::MAX);
    let (from, to) = if step > 0 {
        (bound(start, 0), bound(stop, n))
    } else {
        // Down from `start` to above `stop`: the range (stop, start] read backwards.
        let (first, last) = (bound(start, n - 1), bound(stop, -1));
        (last + 1, first + 1)
    };
    let from = from.clamp(0, n);
    let to = to.clamp(from, n);
    Ok(Slice::new(from as isize, Some(to as isize), step_size))
}

/// Replaces the dimensions from `axis` on, one per array, by the arrays' common shape.
fn pick<T: Clone>(
    a: &Shared<T>,
    axis: usize,
    arrays: &[&Shared<i128>],
    limits: Limits,
) -> Outcome<Shared<T>> {
    let mut common: Vec<usize> = Vec::new();
    for array in arrays {
        common = common_shape(&common, array.shape(), limits)?;
    }
    let sizes: Vec<usize> = a.shape().iter().skip(axis).take(arrays.len()).copied().collect();
    let count = common.iter().product();
    let mut flat = vec![0usize; count];
    for (positions, &size) in arrays.iter().zip(&sizes) {
        let Some(positions) = positions.broadcast(IxDyn(&common)) else {
            return fault("indices do not broadcast");
        };
        for (at, &position) in flat.iter_mut().zip(positions.iter()) {
            *at = *at * size + resolve(position, size)?;
        }
    }
    let before = a.shape().iter().take(axis).copied();
    let after = a.shape().iter().skip(axis + arrays.len()).copied();
    let shape: Vec<usize> = before.clone().chain(common).chain(after.clone()).collect();
    limits.check(&shape)?;
    let merged: Vec<usize> = before.chain([sizes.iter().product()]).chain(after).collect();
    let rows = a
        .as_standard_layout()
        .into_owned()
        .into_shape_with_order(IxDyn(&merged));
    let result: Option<Array<T, IxDyn>> = rows.ok().and_then(|rows| {
        let chosen = rows.select(Axis(axis), &flat);
        chosen
            .as_standard_layout()
            .into_owned()
            .into_shape_with_order(IxDyn(&shape))
            .ok()
    });
    match result {
        Some(array) => Ok(share(array)),
        None => fault("indices give another number of elements than their shape"),
    }
}
