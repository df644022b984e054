//! Reductions and scans over axes: sum, mean, max, min, argmax, cumsum, softmax.

use ndarray::{Array, Axis, IxDyn};

use super::elementwise::pick;
use super::value::{Outcome, Shared, Value, fault, scalar, share};

/// Which axes a reduction removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Axes {
    /// Rising, each once.
    reduced: Vec<usize>,
    /// Reduced axes stay, with size 1.
    keep: bool,
}

impl Axes {
    /// From the arguments `axis` (none: all axes) and `keepdims`.
    pub fn new(axis: Option<&Value>, keep: bool, ndim: usize) -> Outcome<Axes> {
        let mut reduced = match axis {
            None | Some(Value::None) => (0..ndim).collect(),
            // As in NumPy, a scalar has the axes 0 and -1, too.
            Some(axis) if ndim == 0 && matches!(axis.single_int(), Ok(0 | -1)) => Vec::new(),
            Some(axis) => {
                let axes: Outcome<Vec<usize>> =
                    axis.int_list()?.iter().map(|&a| resolve_axis(a, ndim)).collect();
                axes?
            }
        };
        reduced.sort_unstable();
        if reduced.windows(2).any(|pair| pair.first() == pair.last()) {
            return fault("an axis is named twice");
        }
        Ok(Axes { reduced, keep })
    }

    /// Reduces every group of elements that differ in the reduced axes only.
    fn reduce<T: Clone, R: Clone>(
        &self,
        a: &Shared<T>,
        f: impl Fn(&[T]) -> Outcome<R>,
    ) -> Outcome<Shared<R>> {
        let kept: Vec<usize> = (0..a.ndim()).filter(|i| !self.reduced.contains(i)).collect();
        let size = |axes: &[usize]| -> usize { axes.iter().filter_map(|&i| a.shape().get(i)).product() };
        let (outer, inner) = (size(&kept), size(&self.reduced));
        let order: Vec<usize> = kept.iter().chain(&self.reduced).copied().collect();
        let moved = a.view().permuted_axes(order);
        let rows = moved.as_standard_layout();
        let elements = rows.as_slice().unwrap_or_default();
        let results: Outcome<Vec<R>> = (0..outer)
            .map(|row| f(elements.get(row * inner..(row + 1) * inner).unwrap_or_default()))
            .collect();
        let shape: Vec<usize> = (a.shape().iter().enumerate())
            .filter(|(i, _)| self.keep || !self.reduced.contains(i))
            .map(|(i, &size)| if self.reduced.contains(&i) { 1 } else { size })
            .collect();
        match Array::from_shape_vec(IxDyn(&shape), results?) {
            Ok(array) => Ok(share(array)),
            Err(_) => fault("a reduction gave another number of elements than its shape"),
        }
    }
}

/// An axis, counted from the end where negative.
pub(super) fn resolve_axis(axis: i128, ndim: usize) -> Outcome<usize> {
    let dims = ndim as i128;
    if axis >= -dims && axis < dims {
        return Ok((if axis < 0 { axis + dims } else { axis }) as usize);
    }
    fault(format!(
        "axis {axis} is out of range for an array of {ndim} dimensions"
    ))
}

pub(super) fn sum(a: &Value, axes: &Axes) -> Outcome {
    match a {
        Value::Float(a) => Ok(Value::Float(axes.reduce(a, |row| Ok(pairwise_sum(row)))?)),
        _ => Ok(Value::Int(axes.reduce(&a.as_int()?, |row| {
            match row.iter().try_fold(0i128, |sum, &v| sum.checked_add(v)) {
                Some(sum) => Ok(sum),
                None => fault("an integer sum is beyond 128 bits"),
            }
        })?)),
    }
}

pub(super) fn mean(a: &Value, axes: &Axes) -> Outcome {
    let mean = |row: &[f64]| Ok(pairwise_sum(row) / row.len() as f64);
    Ok(Value::Float(axes.reduce(&a.as_float()?, mean)?))
}

/// Halves until the rows are short: the error grows with the logarithm of the length.
fn pairwise_sum(row: &[f64]) -> f64 {
    if row.len() <= 64 {
        return row.iter().sum::<f64>() + 0.0;
    }
    let (left, right) = row.split_at(row.len() / 2);
    pairwise_sum(left) + pairwise_sum(right)
}

/// The largest element, or the smallest; NaN wins.
pub(super) fn extremum(a: &Value, axes: &Axes, larger: bool) -> Outcome {
    fn by<T: Copy>(a: &Shared<T>, axes: &Axes, f: impl Fn(T, T) -> T) -> Outcome<Shared<T>> {
        axes.reduce(a, |row| match row.iter().copied().reduce(&f) {
            Some(value) => Ok(value),
            None => fault("an empty array has no largest or smallest element"),
        })
    }
    Ok(match a {
        Value::Bool(a) => Value::Bool(by(a, axes, |x, y| if larger { x | y } else { x & y })?),
        Value::Int(a) => Value::Int(by(a, axes, |x, y| if larger { x.max(y) } else { x.min(y) })?),
        _ => Value::Float(by(&a.as_float()?, axes, |x, y| pick(x, y, larger))?),
    })
}

/// Position of the first largest element along the axes; the first NaN counts as the largest.
pub(super) fn argmax(a: &Value, axes: &Axes) -> Outcome {
    fn by<T: Clone>(a: &Shared<T>, axes: &Axes, above: impl Fn(&T, &T) -> bool) -> Outcome<Shared<i128>> {
        axes.reduce(a, |row| {
            let mut elements = row.iter().enumerate();
            let Some((_, first)) = elements.next() else {
                return fault("an empty array has no largest element");
            };
            let best = elements.fold(
                (0, first),
                |best, (i, v)| if above(v, best.1) { (i, v) } else { best },
            );
            Ok(best.0 as i128)
        })
    }
    Ok(Value::Int(match a {
        Value::Float(a) => by(a, axes, |x, best| x > best || (x.is_nan() && !best.is_nan()))?,
        _ => by(&a.as_int()?, axes, |x, best| x > best)?,
    }))
}

/// Running sums along an axis (none: over the elements in row-major order).
pub(super) fn cumsum(a: &Value, axis: Option<&Value>) -> Outcome {
    fn along<T: Copy>(
        a: &Shared<T>,
        axis: Option<&Value>,
        add: impl Fn(T, T) -> Option<T>,
    ) -> Outcome<Shared<T>> {
        let (mut sums, axis) = match axis {
            None | Some(Value::None) => (Array::from_iter(a.iter().copied()).into_dyn(), 0),
            Some(axis) => (a.to_owned(), resolve_axis(axis.single_int()?, a.ndim())?),
        };
        for mut lane in sums.lanes_mut(Axis(axis)) {
            let mut last = None;
            for value in &mut lane {
                match last.map_or(Some(*value), |last| add(last, *value)) {
                    Some(sum) => *value = sum,
                    None => return fault("an integer sum is beyond 128 bits"),
                }
                last = Some(*value);
            }
        }
        Ok(share(sums))
    }
    match a {
        Value::Float(a) => Ok(Value::Float(along(a, axis, |x, y| Some(x + y))?)),
        _ => Ok(Value::Int(along(&a.as_int()?, axis, i128::checked_add)?)),
    }
}

/// `exp(x - max(x)) / sum(exp(x - max(x)))` along one axis.
pub(super) fn softmax(a: &Value, axis: Option<&Value>) -> Outcome {
    let a = a.as_float()?;
    if a.ndim() == 0 && matches!(axis, None | Some(Value::None)) {
        return Ok(Value::Float(scalar(if a.iter().all(|v| v.is_finite()) {
            1.0
        } else {
            f64::NAN
        })));
    }
    let axis = match axis {
        None | Some(Value::None) => a.ndim() - 1,
        Some(axis) => resolve_axis(axis.single_int()?, a.ndim())?,
    };
    let mut result = a.to_owned();
    for mut lane in result.lanes_mut(Axis(axis)) {
        let largest = lane
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, |x, y| pick(x, y, true));
        lane.mapv_inplace(|v| libm::exp(v - largest));
        let sum = pairwise_sum(&lane.to_vec());
        lane.mapv_inplace(|v| v / sum);
    }
    Ok(Value::Float(share(result)))
}
