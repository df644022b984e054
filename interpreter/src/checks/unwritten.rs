//! `unwritten-output`: elements of a role-`out` tensor that no program wrote, with the pattern of the hole.

mod pattern;

use std::ops::Range;

use self::pattern::Stripes;
use crate::report::Reporter;
use crate::written::Written;
use tilescope_diagnostics::{Check, Finding};
use tilescope_launch::Role;

/// The findings of all outputs that were not written whole.
pub fn findings(reporter: &Reporter<'_>, written: &mut [Option<Written>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, tensor) in reporter.launch.tensors.iter().enumerate() {
        let Some(Some(log)) = written.get_mut(tensor.allocation.0 as usize) else {
            continue;
        };
        if tensor.role != Role::Out || tensor.shape.iter().any(|&n| n <= 0) {
            continue;
        }
        let ranges = log.ranges();
        if is_whole(tensor, ranges) {
            continue;
        }
        let holes = Holes::of(tensor, ranges);
        if holes.count == 0 {
            continue;
        }
        let total: i64 = tensor.shape.iter().product();
        let message = format!(
            "{} of {total} elements of {} were written by no program: {}",
            holes.count,
            tensor.name,
            holes.pattern(&tensor.name, &tensor.shape)
        );
        let mut finding = Finding::new(Check::UnwrittenOutput, reporter.kernel(), message);
        finding.count = holes.count;
        finding.tensor = Some(reporter.tensor_ref(index as u32 + 1));
        finding.element = Some(unravel(holes.first, &tensor.shape));
        finding.help =
            Some("check the grid and the store's mask, or give the argument role \"inout\"".into());
        findings.push(finding);
    }
    findings
}

/// True if one of the ranges has all bytes from the tensor's first to its last one.
fn is_whole(tensor: &tilescope_launch::Tensor, ranges: &[(u64, u64)]) -> bool {
    let bytes = tensor.dtype.bytes() as i64;
    let reach = |low: bool| -> Option<i64> {
        tensor
            .shape
            .iter()
            .zip(&tensor.strides)
            .try_fold(tensor.offset, |sum, (n, stride)| {
                let reach = (n - 1).checked_mul(*stride)?;
                sum.checked_add(if low { reach.min(0) } else { reach.max(0) })
            })
    };
    let bounds = reach(true).zip(reach(false)).and_then(|(low, high)| {
        let end = high.checked_add(1)?.checked_mul(bytes)?;
        Some((
            u64::try_from(low.checked_mul(bytes)?).ok()?,
            u64::try_from(end).ok()?,
        ))
    });
    bounds.is_some_and(|(start, end)| ranges.iter().any(|range| range.0 <= start && end <= range.1))
}

/// Elements that were not written, by row-major number.
struct Holes {
    count: u64,
    first: i64,
    last: i64,
    /// Along each dimension but the last: which indices have holes.
    outer: Vec<Vec<bool>>,
    /// Rows (last dimension) with holes.
    rows: i64,
    /// The columns of the holes of the first such row, and of the row in work.
    columns: Stripes,
    row: Stripes,
    /// All rows with holes have them in these columns.
    alike: bool,
    /// First and one past the last column of the holes of the row in work, and how many.
    hull: (i64, i64, i64),
    /// Holes to the end of each row, and from its beginning.
    above: Edge,
    below: Edge,
}

/// Indices of a dimension that are marked for patterns; where there are more, none is told.
const MOST_MARKED: i64 = 1 << 24;

impl Holes {
    fn of(tensor: &tilescope_launch::Tensor, ranges: &[(u64, u64)]) -> Holes {
        let bytes = tensor.dtype.bytes() as i64;
        let inner = tensor.shape.last().copied().unwrap_or(1);
        let step = tensor.strides.last().copied().unwrap_or(1).saturating_mul(bytes);
        let dims = tensor.shape.split_last().map_or(&[][..], |(_, outer)| outer);
        let outer: i64 = dims.iter().product();
        let marks = |&len: &i64| {
            vec![
                false;
                if len <= MOST_MARKED {
                    len.max(0) as usize
                } else {
                    0
                }
            ]
        };
        let mut holes = Holes {
            count: 0,
            first: 0,
            last: 0,
            outer: dims.iter().map(marks).collect(),
            rows: 0,
            columns: Stripes::NONE,
            row: Stripes::NONE,
            alike: true,
            hull: (0, 0, 0),
            above: Edge::default(),
            below: Edge::default(),
        };
        let mut index = vec![0i64; dims.len()];
        for row in 0..outer {
            let start: i64 =
                tensor.offset + index.iter().zip(&tensor.strides).map(|(i, s)| i * s).sum::<i64>();
            if step == bytes {
                // From written range to written range: a tensor of 2^33 elements is not walked.
                let mut column = 0;
                while let Some(hole) = next_hole(ranges, start * bytes, column, inner, bytes) {
                    holes.add(row * inner, hole.clone());
                    column = hole.end;
                }
            } else {
                for column in 0..inner {
                    if !covered(ranges, start * bytes + column * step, bytes) {
                        holes.add(row * inner, column..column + 1);
                    }
                }
            }
            holes.end_row(&index, inner);
            for axis in (0..index.len()).rev() {
                index[axis] += 1;
                if index[axis] < tensor.shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        holes
    }

    /// Adds columns of the row whose first element has the number `row`.
    fn add(&mut self, row: i64, columns: Range<i64>) {
        if self.count == 0 {
            self.first = row + columns.start;
        }
        self.last = row + columns.end - 1;
        self.count += (columns.end - columns.start) as u64;
        if self.hull.2 == 0 {
            self.hull.0 = columns.start;
        }
        self.hull = (
            self.hull.0,
            columns.end,
            self.hull.2 + columns.end - columns.start,
        );
        self.row.add(columns);
    }

    /// The row of this index, without the column, has no more holes.
    fn end_row(&mut self, index: &[i64], inner: i64) {
        let row = std::mem::replace(&mut self.row, Stripes::NONE);
        let (start, end, count) = std::mem::take(&mut self.hull);
        if row == Stripes::NONE {
            return;
        }
        if self.rows == 0 {
            self.columns = row;
        }
        self.alike &= row == self.columns;
        let (solid, number) = (end - start == count, index.last().copied().unwrap_or(0));
        self.above.add(number, start, solid && end == inner);
        self.below.add(number, end, solid && start == 0);
        self.rows += 1;
        for (marks, &i) in self.outer.iter_mut().zip(index) {
            if let Some(mark) = marks.get_mut(i as usize) {
                *mark = true;
            }
        }
    }

    /// The indices along each dimension, if the holes are all that have such indices.
    fn chosen(&self, shape: &[i64]) -> Option<Vec<Stripes>> {
        let mut chosen = Vec::with_capacity(shape.len());
        for marks in &self.outer {
            let mut stripes = Stripes::NONE;
            for i in marks
                .iter()
                .enumerate()
                .filter(|(_, mark)| **mark)
                .map(|(i, _)| i as i64)
            {
                stripes.add(i..i + 1);
            }
            chosen.push(stripes);
        }
        let size = |(stripes, &len): (&Stripes, &i64)| stripes.size(len);
        let rows: i64 = chosen.iter().zip(shape).map(size).product::<Option<i64>>()?;
        self.columns.size(*shape.last()?)?;
        chosen.push(self.columns);
        (self.alike && rows == self.rows).then_some(chosen)
    }

    /// A triangle, or stairs, of each matrix of the last two dimensions.
    fn triangle(&self) -> Option<String> {
        let named = match (self.above.diagonal(), self.below.diagonal()) {
            (Some(1), _) => "the elements above the diagonal",
            (Some(0), _) => "the diagonal and the elements above it",
            (_, Some(0)) => "the elements below the diagonal",
            (_, Some(1)) => "the diagonal and the elements below it",
            _ => "",
        };
        if !named.is_empty() {
            return Some(named.to_string());
        }
        if let Some([(row, column), (last_row, last_column)]) = self.above.stairs() {
            return Some(format!(
                "stairs above the diagonal: row {row} from column {column} on, to row {last_row} from column {last_column} on"
            ));
        }
        let [(row, column), (last_row, last_column)] = self.below.stairs()?;
        Some(format!(
            "stairs below the diagonal: row {row} up to column {}, to row {last_row} up to column {}",
            column - 1,
            last_column - 1
        ))
    }

    fn pattern(&self, name: &str, shape: &[i64]) -> String {
        let total: i64 = shape.iter().product();
        let solid = self.last - self.first + 1 == self.count as i64;
        let (first, last) = (unravel(self.first, shape), unravel(self.last, shape));
        if self.count as i64 == total {
            "nothing was written".into()
        } else if solid && self.last + 1 == total {
            format!("the tail from element {first:?} on")
        } else if let Some(chosen) = self.chosen(shape) {
            pattern::words(name, shape, &chosen)
        } else if let Some(words) = self.triangle() {
            words
        } else if solid {
            format!("elements {first:?} to {last:?}")
        } else {
            format!("the first is {first:?}, the last {last:?}")
        }
    }
}

/// Where the holes of rows begin, or end: a straight diagonal or stairs, if they move on from row to row.
#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    broken: bool,
    bent: bool,
    first: Option<(i64, i64)>,
    last: (i64, i64),
}

impl Edge {
    /// A row with its edge; `fits` if all on one side of it are holes.
    fn add(&mut self, row: i64, edge: i64, fits: bool) {
        let first = *self.first.get_or_insert((row, edge));
        // The first row of a matrix has none before it.
        self.broken |= !fits || (row > self.last.0 && edge < self.last.1);
        self.bent |= edge - row != first.1 - first.0;
        self.last = (row, edge);
    }

    /// The first and last step, where rows differ.
    fn stairs(&self) -> Option<[(i64, i64); 2]> {
        let first = self.first.filter(|first| !self.broken && self.last.1 > first.1)?;
        Some([first, self.last])
    }

    /// How far right of the diagonal the edge is in each row.
    fn diagonal(&self) -> Option<i64> {
        let [(row, edge), _] = self.stairs().filter(|_| !self.bent)?;
        Some(edge - row)
    }
}

/// The next columns, of a row of `inner` elements of `bytes` bytes from `start` on, that are not written whole.
fn next_hole(ranges: &[(u64, u64)], start: i64, from: i64, inner: i64, bytes: i64) -> Option<Range<i64>> {
    let mut first = from;
    while first < inner {
        let at = (start + first * bytes) as u64;
        match ranges.get(ranges.partition_point(|r| r.1 <= at)) {
            Some(&(low, high)) if low <= at => {
                let whole = (high as i64 - start) / bytes;
                if whole == first {
                    return Some(first..first + 1);
                }
                first = whole;
            }
            // An element that a range begins in the middle of is not whole.
            Some(&(low, _)) => {
                let end = (low as i64 - start + bytes - 1) / bytes;
                return Some(first..end.min(inner));
            }
            None => return Some(first..inner),
        }
    }
    None
}

fn covered(ranges: &[(u64, u64)], start: i64, len: i64) -> bool {
    let (Ok(start), Ok(len)) = (u64::try_from(start), u64::try_from(len)) else {
        return false;
    };
    let next = ranges.partition_point(|r| r.1 <= start);
    ranges
        .get(next)
        .is_some_and(|r| r.0 <= start && start + len <= r.1)
}

fn unravel(mut number: i64, shape: &[i64]) -> Vec<i64> {
    let mut index = vec![0; shape.len()];
    for (slot, &n) in index.iter_mut().zip(shape).rev() {
        *slot = number % n.max(1);
        number /= n.max(1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every log of whole, cut and missing elements of a short row, by the walk and byte by byte.
    #[test]
    fn holes_are_the_elements_that_are_not_covered() {
        let (start, inner, bytes) = (8, 4, 2);
        for written in 0u32..1 << 12 {
            let is_written = |byte: u32| (written >> byte) & 1 == 1;
            let mut ranges: Vec<(u64, u64)> = Vec::new();
            for byte in (0..12).filter(|&byte| is_written(byte)) {
                let at = 6 + u64::from(byte);
                match ranges.last_mut() {
                    Some(last) if last.1 == at => last.1 = at + 1,
                    _ => ranges.push((at, at + 1)),
                }
            }
            let mut holes = Vec::new();
            let mut from = 0;
            while let Some(hole) = next_hole(&ranges, start, from, inner, bytes) {
                from = hole.end;
                holes.extend(hole);
            }
            let expected: Vec<i64> = (0..inner)
                .filter(|&column| !covered(&ranges, start + column * bytes, bytes))
                .collect();
            assert_eq!(holes, expected, "{ranges:?}");
        }
    }
}
