//! Which lanes of its operands a lane of an operation's result comes from.
//!
//! Of operations that take many lanes (a reduce, a dot) the one is followed that matters most for the result: one without meaning, else a
//! NaN, else what is infinite, else what is equal to the result, else the largest.

use tilescope_diagnostics::Value;
use tilescope_ir::{Attrs, Family, Function, Op, OpCode, ValueId};

/// Lanes that a lane comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Number of the operand, and its lane.
    pub lanes: Vec<(usize, usize)>,
    /// What is to be said of the choice, or of an operation that is not followed.
    pub note: Option<String>,
}

impl Sources {
    fn of(lanes: Vec<(usize, usize)>) -> Sources {
        Sources { lanes, note: None }
    }

    fn unknown(op: &Op) -> Sources {
        let note = (!op.operands.is_empty()).then(|| String::from("its operands are not followed"));
        Sources {
            lanes: Vec::new(),
            note,
        }
    }
}

/// What is to be known of the operands of an operation; they go by their number.
pub struct Operands<'a> {
    /// The number in a lane.
    pub read: &'a dyn Fn(usize, usize) -> Option<Value>,
    /// True for a lane without meaning.
    pub undefined: &'a dyn Fn(usize, usize) -> bool,
}

/// Where a lane of a result comes from, given with its number.
///
/// Loads are not followed into memory: only where their mask was off, to the mask and what stands for the lane.
pub fn sources(
    function: &Function,
    op: &Op,
    result: (ValueId, Value),
    lane: usize,
    operands: &Operands<'_>,
) -> Sources {
    let (result, is) = result;
    let shape = shape_of(function, result);
    let operand = |i: usize| op.operands.get(i).map(|&v| shape_of(function, v));
    let same = |i: usize| {
        (
            i,
            if lanes(function, op.operands[i]) == 1 {
                0
            } else {
                lane
            },
        )
    };
    let all = || (0..op.operands.len()).map(same).collect();
    match op.code {
        OpCode::Splat | OpCode::Unsplat => Sources::of(vec![(0, 0)]),
        OpCode::Broadcast => match operand(0) {
            Some(source) => Sources::of(vec![(0, ravel(&unravel(lane, &shape), &source))]),
            None => Sources::unknown(op),
        },
        OpCode::Trans => transposed(op, &shape, operand(0), lane),
        OpCode::Join => Sources::of(vec![(lane % 2, lane / 2)]),
        OpCode::Split => {
            let half = usize::from(op.results.get(1) == Some(&result));
            Sources::of(vec![(0, 2 * lane + half)])
        }
        OpCode::Cat => {
            let first = op.operands.first().map_or(1, |&v| lanes(function, v));
            Sources::of(vec![if lane < first {
                (0, lane)
            } else {
                (1, lane - first)
            }])
        }
        OpCode::Gather => gathered(op, &shape, operand(0), lane, operands),
        OpCode::Load => loaded(function, op, lane, operands),
        OpCode::Reduce => reduced(function, op, (result, is), lane, operands),
        OpCode::Dot => multiplied(op, &shape, operand(0), lane, operands),
        OpCode::Select => {
            let (index, at) = same(0);
            let chosen = match (operands.read)(index, at) {
                Some(Value::Bool(false)) => 2,
                _ => 1,
            };
            Sources::of(vec![(index, at), same(chosen)])
        }
        code if is_lanewise(code) => Sources::of(all()),
        _ => Sources::unknown(op),
    }
}

/// True for operations whose result lane comes from the same lane of each operand.
fn is_lanewise(code: OpCode) -> bool {
    use OpCode as C;
    let info = code.info();
    info.class.is_some()
        || matches!(info.family, Family::Cast | Family::Compare)
        || matches!(
            code,
            C::AddPtr | C::ExpandDims | C::Reshape | C::Scan | C::ExternElementwise | C::MapElementwise
        )
}

fn transposed(op: &Op, shape: &[usize], source: Option<Vec<usize>>, lane: usize) -> Sources {
    let (Attrs::Order(order), Some(source)) = (&op.attrs, source) else {
        return Sources::unknown(op);
    };
    let index = unravel(lane, shape);
    let mut from = vec![0; index.len()];
    for (to, &axis) in order.iter().enumerate() {
        if let (Some(cell), Some(&i)) = (from.get_mut(axis as usize), index.get(to)) {
            *cell = i;
        }
    }
    Sources::of(vec![(0, ravel(&from, &source))])
}

/// A gather: by its index, and the lane picked.
fn gathered(
    op: &Op,
    shape: &[usize],
    source: Option<Vec<usize>>,
    lane: usize,
    operands: &Operands<'_>,
) -> Sources {
    let (Attrs::Axis(axis), Some(source), Some(Value::Int(picked))) =
        (&op.attrs, source, (operands.read)(1, lane))
    else {
        return Sources::unknown(op);
    };
    let mut index = unravel(lane, shape);
    let axis = *axis as usize;
    match (index.get_mut(axis), source.get(axis), usize::try_from(picked)) {
        (Some(cell), Some(&size), Ok(picked)) if picked < size => *cell = picked,
        _ => return Sources::of(vec![(1, lane)]),
    }
    Sources::of(vec![(1, lane), (0, ravel(&index, &source))])
}

fn loaded(function: &Function, op: &Op, lane: usize, operands: &Operands<'_>) -> Sources {
    let one = |i: usize| {
        (
            i,
            if lanes(function, op.operands[i]) == 1 {
                0
            } else {
                lane
            },
        )
    };
    let off = op.operands.len() > 1 && (operands.read)(1, one(1).1) == Some(Value::Bool(false));
    match (off, op.operands.len() > 2) {
        (false, _) => Sources::default(),
        (true, other) => Sources {
            lanes: (1..op.operands.len()).map(one).collect(),
            note: Some(String::from(match other {
                true => "masked off: the other value",
                false => "masked off",
            })),
        },
    }
}

/// A reduce: the lane that matters most, of each operand.
fn reduced(
    function: &Function,
    op: &Op,
    (result, is): (ValueId, Value),
    lane: usize,
    operands: &Operands<'_>,
) -> Sources {
    let which = op.results.iter().position(|&v| v == result).unwrap_or(0);
    let (Some(&source), Attrs::Along { axis, .. }) = (op.operands.get(which), &op.attrs) else {
        return Sources::unknown(op);
    };
    let shape = shape_of(function, source);
    let axis = *axis as usize;
    let Some(&size) = shape.get(axis) else {
        return Sources::unknown(op);
    };
    let inner: usize = shape[axis + 1..].iter().product();
    let at = |k: usize| (lane / inner * size + k) * inner + lane % inner;
    let values: Vec<f64> = (0..size)
        .map(|k| (operands.read)(which, at(k)).map_or(0.0, as_f64))
        .collect();
    let undefined = (0..size).find(|&k| (operands.undefined)(which, at(k)));
    let (k, why) = match undefined {
        Some(k) => (k, "the first undefined"),
        None => pick(&values, as_f64(is)),
    };
    Sources {
        lanes: vec![(which, at(k))],
        note: Some(format!("of {size} lanes; {why} is followed")),
    }
}

/// A dot: the product that matters most, and the accumulator.
fn multiplied(
    op: &Op,
    shape: &[usize],
    left_shape: Option<Vec<usize>>,
    lane: usize,
    operands: &Operands<'_>,
) -> Sources {
    let (Some(left_shape), Some(&columns)) = (left_shape, shape.last()) else {
        return Sources::unknown(op);
    };
    let depth = left_shape.last().copied().unwrap_or(1);
    let rows = shape.iter().rev().nth(1).copied().unwrap_or(1);
    let (batch, row, column) = (lane / (rows * columns), lane / columns % rows, lane % columns);
    let left = |k: usize| (batch * rows + row) * depth + k;
    let right = |k: usize| (batch * depth + k) * columns + column;
    let number = |i, lane| (operands.read)(i, lane).map_or(0.0, as_f64);
    let products: Vec<f64> = (0..depth)
        .map(|k| number(0, left(k)) * number(1, right(k)))
        .collect();
    let undefined = |&k: &usize| (operands.undefined)(0, left(k)) || (operands.undefined)(1, right(k));
    let (k, why) = match (0..depth).find(undefined) {
        Some(k) => (k, "the first undefined"),
        None => pick(&products, f64::INFINITY),
    };
    let mut lanes = vec![(0, left(k)), (1, right(k))];
    lanes.extend((op.operands.len() > 2).then_some((2, lane)));
    Sources {
        lanes,
        note: Some(format!("of {depth} products; {why} is followed")),
    }
}

/// Which of some numbers matters most for a result, in words.
fn pick(values: &[f64], result: f64) -> (usize, &'static str) {
    if let Some(nan) = values.iter().position(|v| v.is_nan()) {
        return (nan, "the first NaN");
    }
    if let Some(infinite) = values
        .iter()
        .position(|v| v.is_infinite())
        .filter(|_| !result.is_finite())
    {
        return (infinite, "the first that is infinite");
    }
    if let Some(equal) = values.iter().position(|&v| v == result) {
        return (equal, "the one equal to the result");
    }
    let largest =
        (0..values.len()).max_by(|&i, &j| values[i].abs().total_cmp(&values[j].abs()).then(j.cmp(&i)));
    (largest.unwrap_or(0), "the largest")
}

/// A number as a double; truth values are 0 and 1.
pub fn as_f64(value: Value) -> f64 {
    match value {
        Value::Int(i) => i as f64,
        Value::Float(f) => f,
        Value::Bool(b) => f64::from(u8::from(b)),
    }
}

/// Sizes of a value; none for a scalar.
pub fn shape_of(function: &Function, value: ValueId) -> Vec<usize> {
    let shape = function.ty(value).shape();
    shape.map_or(Vec::new(), |shape| shape.dims().collect())
}

fn lanes(function: &Function, value: ValueId) -> usize {
    function.ty(value).lanes()
}

/// The index of a row-major lane.
pub fn unravel(lane: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = lane;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let i = rest % size.max(1);
            rest /= size.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

/// The lane of an index, where dimensions of size 1 take any.
fn ravel(index: &[usize], shape: &[usize]) -> usize {
    let pairs = index.iter().zip(shape);
    pairs.fold(0, |lane, (&i, &size)| lane * size + if size == 1 { 0 } else { i })
}
