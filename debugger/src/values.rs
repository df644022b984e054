//! Values as users see them: lanes with their state, windows of tiles and tensors, summaries.

use tilescope_diagnostics::Value;
use tilescope_interpreter::kind::Kind;
pub(crate) use tilescope_interpreter::print::number;
use tilescope_launch::Dtype;

/// Names a value of the kernel in a session; valid as long as the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueKey(pub(crate) u32);

/// What is to be known of a lane beside its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LaneState {
    /// A number like any other.
    #[default]
    Fine,
    /// The load that made the tile did not read this lane: its mask was off.
    Masked,
    /// It holds no meaning, as the result of a division by zero.
    Undefined,
    /// The access of this lane is outside its tensor.
    OutOfBounds,
}

/// One lane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lane {
    /// Its number; an address for pointers.
    pub value: Value,
    /// Its state.
    pub state: LaneState,
}

/// Which part of a tile or tensor to look at: rows along one axis, columns along another.
///
/// All other dimensions are held at `at`. A tile of one dimension is one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Axis drawn downwards; none for a single row.
    pub row_axis: Option<usize>,
    /// Axis drawn to the right; none for a single column.
    pub column_axis: Option<usize>,
    /// Index along every axis; those of the two drawn axes are ignored.
    pub at: Vec<u64>,
    /// First row and number of rows.
    pub rows: (u64, u64),
    /// First column and number of columns.
    pub columns: (u64, u64),
}

impl Window {
    /// The last two axes of a shape, from their beginning, at most so large.
    pub fn last_axes(rank: usize, rows: u64, columns: u64) -> Window {
        Window {
            row_axis: rank.checked_sub(2),
            column_axis: rank.checked_sub(1),
            at: vec![0; rank],
            rows: (0, rows),
            columns: (0, columns),
        }
    }

    /// Rows and columns cut to a shape.
    pub(crate) fn cut(&self, shape: &[u64]) -> Window {
        let size = |axis: Option<usize>| axis.map_or(1, |a| shape.get(a).copied().unwrap_or(1));
        let cut = |(first, count): (u64, u64), size: u64| {
            let first = first.min(size);
            (first, count.min(size - first))
        };
        let mut at = self.at.clone();
        at.resize(shape.len(), 0);
        for (index, &size) in at.iter_mut().zip(shape) {
            *index = (*index).min(size.saturating_sub(1));
        }
        Window {
            row_axis: self.row_axis.filter(|&a| a < shape.len()),
            column_axis: self
                .column_axis
                .filter(|&a| a < shape.len() && self.row_axis != Some(a)),
            at,
            rows: cut(self.rows, size(self.row_axis)),
            columns: cut(self.columns, size(self.column_axis)),
        }
    }

    /// The index of a cell, given as numbers of a row and a column of the whole.
    pub fn index(&self, row: u64, column: u64) -> Vec<u64> {
        let mut index = self.at.clone();
        for (axis, number) in [(self.row_axis, row), (self.column_axis, column)] {
            if let Some(cell) = axis.and_then(|a| index.get_mut(a)) {
                *cell = number;
            }
        }
        index
    }
}

/// A part of a tile.
#[derive(Debug, Clone, PartialEq)]
pub struct TileWindow {
    /// Element type.
    pub dtype: String,
    /// Shape of the whole tile; empty for a scalar.
    pub shape: Vec<usize>,
    /// What part this is, cut to the shape.
    pub window: Window,
    /// The lanes, row by row.
    pub lanes: Vec<Lane>,
}

/// A part of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorWindow {
    /// The tensor.
    pub tensor: String,
    /// Element type.
    pub dtype: String,
    /// Shape of the whole tensor.
    pub shape: Vec<i64>,
    /// What part this is, cut to the shape.
    pub window: Window,
    /// The elements, row by row.
    pub values: Vec<Value>,
}

/// What is in a tile.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Lanes of the tile.
    pub lanes: u64,
    /// Least of the lanes that are numbers and neither masked off nor undefined.
    pub min: Option<Value>,
    /// Greatest of them.
    pub max: Option<Value>,
    /// Mean of them.
    pub mean: Option<f64>,
    /// Lanes that are NaN.
    pub nan: u64,
    /// Lanes that are infinite.
    pub inf: u64,
    /// Lanes that the load's mask switched off.
    pub masked: u64,
    /// Lanes without meaning.
    pub undefined: u64,
    /// True lanes, of truth values.
    pub true_lanes: Option<u64>,
}

impl Summary {
    /// Takes one lane in; the mean is a sum until [`Summary::finish`].
    pub(crate) fn add(&mut self, lane: Lane) {
        self.lanes += 1;
        match lane.state {
            LaneState::Masked => self.masked += 1,
            LaneState::Undefined => self.undefined += 1,
            LaneState::Fine | LaneState::OutOfBounds => {}
        }
        if let Value::Float(f) = lane.value {
            self.nan += u64::from(f.is_nan());
            self.inf += u64::from(f.is_infinite());
        }
        if let Value::Bool(b) = lane.value {
            *self.true_lanes.get_or_insert(0) += u64::from(b);
            return;
        }
        let number = as_f64(lane.value);
        if matches!(lane.state, LaneState::Masked | LaneState::Undefined) || number.is_nan() {
            return;
        }
        if self.min.is_none_or(|min| less(lane.value, min)) {
            self.min = Some(lane.value);
        }
        if self.max.is_none_or(|max| less(max, lane.value)) {
            self.max = Some(lane.value);
        }
        *self.mean.get_or_insert(0.0) += number;
    }

    pub(crate) fn finish(mut self) -> Summary {
        let counted = self.lanes
            - self.masked
            - self.undefined
            - self.nan.min(self.lanes - self.masked - self.undefined);
        self.mean = self.mean.filter(|_| counted > 0).map(|sum| sum / counted as f64);
        self
    }
}

fn less(a: Value, b: Value) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a < b,
        _ => as_f64(a) < as_f64(b),
    }
}

/// A number as a double; truth values are 0 and 1.
pub(crate) fn as_f64(value: Value) -> f64 {
    match value {
        Value::Int(i) => i as f64,
        Value::Float(f) => f,
        Value::Bool(b) => f64::from(u8::from(b)),
    }
}

/// The number that the bytes of an element stand for.
pub(crate) fn element(bytes: &[u8], dtype: Dtype) -> Value {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    let bits = u64::from_le_bytes(word);
    let kind = match dtype {
        Dtype::I1 => return Value::Bool(bits & 0xff != 0),
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => return Value::Int(i128::from(bits)),
        Dtype::I8 => Kind::I8,
        Dtype::I16 => Kind::I16,
        Dtype::I32 => Kind::I32,
        Dtype::I64 => Kind::I64,
        Dtype::F8E4M3 => Kind::F8E4M3,
        Dtype::F8E5M2 => Kind::F8E5M2,
        Dtype::F16 => Kind::F16,
        Dtype::BF16 => Kind::Bf16,
        Dtype::F32 => Kind::F32,
        Dtype::F64 => Kind::F64,
    };
    number(bits, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_leaves_out_what_is_no_number() {
        let mut summary = Summary::default();
        let lane = |value, state| Lane {
            value: Value::Float(value),
            state,
        };
        for (value, state) in [
            (1.0, LaneState::Fine),
            (3.0, LaneState::Fine),
            (-9.0, LaneState::Masked),
            (f64::NAN, LaneState::Fine),
        ] {
            summary.add(lane(value, state));
        }
        let summary = summary.finish();
        assert_eq!((summary.lanes, summary.masked, summary.nan), (4, 1, 1));
        assert_eq!(
            (summary.min, summary.max),
            (Some(Value::Float(1.0)), Some(Value::Float(3.0)))
        );
        assert_eq!(summary.mean, Some(2.0));
    }

    #[test]
    fn windows_stay_inside() {
        let window = Window::last_axes(3, 100, 100).cut(&[2, 4, 8]);
        assert_eq!((window.rows, window.columns), ((0, 4), (0, 8)));
        assert_eq!(window.index(3, 5), [0, 3, 5]);
        let row = Window::last_axes(1, 9, 9).cut(&[4]);
        assert_eq!((row.rows, row.columns), ((0, 1), (0, 4)));
        let scalar = Window::last_axes(0, 9, 9).cut(&[]);
        assert_eq!((scalar.rows, scalar.columns), ((0, 1), (0, 1)));
    }
}
