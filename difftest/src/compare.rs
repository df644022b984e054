//! Two paths' values of one output: how far apart they may be, and where they differ.

use std::collections::BTreeMap;

use tilescope_diagnostics::Value;
use tilescope_launch::{Memory, Tensor};
use tilescope_oracle::Numbers;

/// Elements in which two paths differ by more than they may.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The output.
    pub tensor: Tensor,
    /// The two paths, in words.
    pub paths: (String, String),
    /// Index of the worst element.
    pub index: Vec<i64>,
    /// Its value on each path.
    pub values: (Value, Value),
    /// How far they may be apart there.
    pub bound: f64,
    /// How many differ, of all.
    pub count: usize,
    /// All elements.
    pub total: usize,
    /// Where they are, in the tensor's coordinates.
    pub map: String,
}

/// How the bounds of an output fared where nothing differs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fit {
    /// Elements compared by a bound.
    pub judged: u64,
    /// Elements of which the bound says nothing.
    pub unknown: u64,
    /// The largest share of its bound that a difference took.
    pub largest: f64,
}

/// How the bounds fared, by output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tightness(pub BTreeMap<String, Fit>);

impl Tightness {
    /// Adds what another comparison gave.
    pub fn add(&mut self, other: Tightness) {
        for (output, fit) in other.0 {
            let sum = self.0.entry(output).or_default();
            sum.judged += fit.judged;
            sum.unknown += fit.unknown;
            sum.largest = sum.largest.max(fit.largest);
        }
    }
}

/// Compares `got` with `wanted`, element by element, with a bound for each; a bound that is not finite judges nothing.
/// NaN agrees with NaN, an infinity with itself.
pub fn compare(
    tensor: &Tensor,
    paths: (&str, &str),
    got: &[f64],
    wanted: &[f64],
    bounds: impl Fn(usize) -> f64,
) -> (Option<Difference>, Tightness) {
    let mut fit = Fit::default();
    let mut wrong: Vec<usize> = Vec::new();
    let mut worst: Option<(f64, usize)> = None;
    for (i, (&got, &wanted)) in got.iter().zip(wanted).enumerate() {
        let bound = bounds(i);
        if !bound.is_finite() {
            fit.unknown += 1;
            continue;
        }
        fit.judged += 1;
        if got == wanted || (got.is_nan() && wanted.is_nan()) {
            continue;
        }
        let distance = (got - wanted).abs();
        if distance <= bound {
            fit.largest = fit.largest.max(distance / bound);
            continue;
        }
        // NaN and infinities on one side only are worse than any number.
        let excess = if distance.is_finite() {
            distance / bound.max(1e-300)
        } else {
            f64::INFINITY
        };
        wrong.push(i);
        if worst.is_none_or(|(most, _)| excess > most) {
            worst = Some((excess, i));
        }
    }
    let difference = worst.map(|(_, i)| {
        let values = (Value::Float(got[i]), Value::Float(wanted[i]));
        differs(tensor, paths, (i, values, bounds(i)), (&wrong, got.len()))
    });
    (difference, Tightness([(tensor.name.clone(), fit)].into()))
}

fn differs(
    tensor: &Tensor,
    paths: (&str, &str),
    (i, values, bound): (usize, (Value, Value), f64),
    (wrong, total): (&[usize], usize),
) -> Difference {
    Difference {
        tensor: tensor.clone(),
        paths: (paths.0.to_string(), paths.1.to_string()),
        index: unravel(i, &tensor.shape),
        values,
        bound,
        count: wrong.len(),
        total,
        map: map(wrong, &tensor.shape),
    }
}

/// Compares an output in two memories, of the same shape in both: floats as [`compare`] does, integers of which the bound is 0 as
/// integers, whatever their size.
pub(crate) fn compare_in(
    paths: (&str, &str),
    (tensor, mine): (&Tensor, &Memory),
    (other, their): (&Tensor, &Memory),
    bounds: impl Fn(usize) -> f64,
) -> (Option<Difference>, Tightness) {
    let of = |tensor, memory| Numbers::of(tensor, memory, usize::MAX);
    let (Ok(mine), Ok(their)) = (of(tensor, mine), of(other, their)) else {
        return (None, Tightness::default());
    };
    if let (Numbers::Int(mine), Numbers::Int(their)) = (&mine, &their) {
        let pairs = mine.iter().zip(their).enumerate();
        let wrong = pairs.filter(|&(i, (a, b))| a != b && bounds(i) == 0.0);
        let wrong: Vec<(usize, (i128, i128))> = wrong.map(|(i, (&a, &b))| (i, (a, b))).collect();
        let worst = wrong
            .iter()
            .max_by_key(|&&(i, (a, b))| (a.abs_diff(b), std::cmp::Reverse(i)));
        if let Some(&(i, (a, b))) = worst {
            let places: Vec<usize> = wrong.iter().map(|&(i, _)| i).collect();
            let values = (Value::Int(a), Value::Int(b));
            let difference = differs(tensor, paths, (i, values, 0.0), (&places, mine.len()));
            return (Some(difference), Tightness::default());
        }
    }
    let floats = |numbers: Numbers| numbers.into_f64().into_iter().collect::<Vec<f64>>();
    compare(tensor, paths, &floats(mine), &floats(their), bounds)
}

fn unravel(mut position: usize, shape: &[i64]) -> Vec<i64> {
    let mut index = vec![0; shape.len()];
    for (slot, &size) in index.iter_mut().zip(shape).rev() {
        let size = size.max(1) as usize;
        *slot = (position % size) as i64;
        position /= size;
    }
    index
}

/// The tensor as a picture of at most 16 rows of 64 cells, the last dimension across and all others down: `.` where
/// nothing differs, `+` where some does, `#` where all does.
fn map(wrong: &[usize], shape: &[i64]) -> String {
    const ROWS: usize = 16;
    const COLUMNS: usize = 64;
    let width = shape.last().map_or(1, |&n| n.max(1) as usize);
    let height = shape
        .iter()
        .rev()
        .skip(1)
        .fold(1, |n: usize, &d| n.saturating_mul(d.max(1) as usize));
    let (rows, columns) = (height.min(ROWS), width.min(COLUMNS));
    let mut counts = vec![0usize; rows * columns];
    for &position in wrong {
        let (row, column) = (position / width, position % width);
        counts[row * rows / height * columns + column * columns / width] += 1;
    }
    // The cell of an index is rounded down, so the first index of cell c is its quotient rounded up.
    let first = |cell: usize, cells: usize, size: usize| (cell * size).div_ceil(cells);
    let mut text = String::new();
    for row in 0..rows {
        let from = first(row, rows, height);
        let tall = first(row + 1, rows, height) - from;
        text.push_str(&format!("{from:>8} |"));
        for column in 0..columns {
            let wide = first(column + 1, columns, width) - first(column, columns, width);
            text.push(match counts[row * columns + column] {
                0 => '.',
                n if n == tall * wide => '#',
                _ => '+',
            });
        }
        text.push_str("|\n");
    }
    let last = format!("{}", width - 1);
    let gap = columns.saturating_sub(1 + last.len());
    text.push_str(&format!("{:>8}  0{}{last}\n", "", " ".repeat(gap)));
    text
}

#[cfg(test)]
mod tests {
    use tilescope_launch::{AllocationId, Dtype, Role};

    use super::*;

    fn tensor(shape: &[i64]) -> Tensor {
        Tensor {
            name: "y".into(),
            dtype: Dtype::F32,
            shape: shape.to_vec(),
            strides: vec![1; shape.len()],
            offset: 0,
            role: Role::Out,
            allocation: AllocationId(0),
            uninit: false,
            pointers: Vec::new(),
        }
    }

    #[test]
    fn the_worst_is_the_farthest_from_its_bound() {
        let got = [1.0, 2.0, f64::NAN, 4.0, 5.0];
        let wanted = [1.0, 2.5, f64::NAN, 4.2, 9.0];
        let bounds = [0.1, 0.1, 0.1, 0.5, f64::INFINITY];
        let (found, tightness) = compare(&tensor(&[5]), ("a", "b"), &got, &wanted, |i| bounds[i]);
        let found = found.unwrap();
        assert_eq!((found.index, found.count, found.total), (vec![1], 1, 5));
        let fit = tightness.0["y"];
        assert_eq!((fit.judged, fit.unknown), (4, 1));
        assert!((fit.largest - 0.4).abs() < 1e-9);
        let (found, _) = compare(&tensor(&[2]), ("a", "b"), &[1.0, f64::NAN], &[2.0, 1.0], |_| 0.1);
        assert_eq!(found.unwrap().index, [1], "a NaN on one side is worst");
    }

    #[test]
    fn the_map_shows_the_last_columns() {
        let (width, height) = (100, 3);
        let wrong: Vec<usize> = (0..height)
            .flat_map(|r| (96..width).map(move |c| r * width + c))
            .collect();
        let map = map(&wrong, &[height as i64, width as i64]);
        let rows: Vec<&str> = map.lines().collect();
        assert_eq!(rows.len(), 4);
        assert!(
            rows[0].starts_with("       0 |....") && rows[0].ends_with("##|"),
            "{map}"
        );
        assert!(rows[3].ends_with("99"), "{map}");
    }
}
