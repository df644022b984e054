//! Which bytes of a storage belong to a view (shape, strides, offset).
//!
//! Dimensions of size 1 and stride 0 say nothing and are dropped. Where the remaining strides nest
//! (each one steps over everything the smaller ones reach), a byte is found by greedy division; a view
//! that overlaps itself owns its whole span.

use crate::Tensor;

/// A dimension that an element's index is taken from.
#[derive(Debug, Clone, Copy)]
struct Axis {
    /// Signed stride in bytes.
    stride: i64,
    size: i64,
    /// Position in the shape.
    axis: usize,
}

/// A view, prepared for membership tests on byte offsets from the start of its storage.
#[derive(Debug, Clone)]
pub struct View {
    /// Lowest byte of the view.
    low: i64,
    /// One past the highest byte.
    high: i64,
    /// (stride in bytes, size) by falling stride; empty where the view overlaps itself.
    dims: Vec<(i64, i64)>,
    /// True when every byte of [low, high) belongs to the view.
    solid: bool,
    elem: i64,
    /// By falling |stride|, for element indices.
    axes: Vec<Axis>,
    rank: usize,
}

impl View {
    /// The view of a tensor whose elements have `elem` bytes.
    pub fn new(tensor: &Tensor, elem: usize) -> View {
        let elem = elem as i64;
        let origin = tensor.offset.saturating_mul(elem);
        let empty = tensor.shape.iter().any(|&n| n <= 0);
        // A dimension of size 1 takes no part in an index, whatever its stride, unless there is no other.
        let only_ones = tensor.shape.iter().all(|&n| n <= 1);
        let mut axes: Vec<Axis> = Vec::new();
        let (mut low, mut high) = (origin, origin);
        let mut dims = Vec::new();
        for (axis, (&n, &stride)) in tensor.shape.iter().zip(&tensor.strides).enumerate() {
            let stride = stride.saturating_mul(elem);
            if stride != 0 && (n > 1 || only_ones) {
                axes.push(Axis {
                    stride,
                    size: n,
                    axis,
                });
            }
            if empty || n <= 1 || stride == 0 {
                continue;
            }
            let reach = stride.saturating_mul(n - 1);
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
            dims.push((stride.saturating_abs(), n));
        }
        if !empty {
            high = high.saturating_add(elem);
        }
        dims.sort_by_key(|d| std::cmp::Reverse(d.0));
        axes.sort_by_key(|a| std::cmp::Reverse(a.stride.saturating_abs()));
        let mut inner = elem;
        let (mut nests, mut solid) = (true, true);
        for &(stride, n) in dims.iter().rev() {
            nests &= stride >= inner;
            solid &= stride == inner;
            inner = stride.saturating_mul(n - 1).saturating_add(inner);
        }
        if !nests {
            dims.clear();
        }
        View {
            low,
            high,
            solid: solid || !nests,
            dims,
            elem,
            axes,
            rank: tensor.shape.len(),
        }
    }

    /// True when all bytes of a storage of `len` bytes belong to the view.
    pub fn covers(&self, len: u64) -> bool {
        self.solid && self.low <= 0 && self.high >= 0 && self.high as u64 >= len
    }

    /// True when all `len` bytes from `offset` on belong to the view.
    pub fn contains(&self, offset: i64, len: i64) -> bool {
        if offset < self.low || offset > self.high - len {
            return false;
        }
        if self.solid {
            return true;
        }
        let mut rest = offset - self.low;
        let mut room = i64::MAX;
        for &(stride, n) in &self.dims {
            let index = (rest / stride).min(n - 1);
            rest -= index * stride;
            // Only the innermost dimension, if its elements touch, lets a run go on to the next index.
            room = if stride == self.elem {
                (n - index) * self.elem
            } else {
                self.elem
            };
        }
        if room == i64::MAX {
            room = self.elem;
        }
        if rest >= self.elem {
            return false;
        }
        if len <= room - rest {
            return true;
        }
        // A run across rows: all of it belongs to the view if its first row does and the rest does.
        let first = room - rest;
        first > 0 && self.contains_rows(offset + first, len - first)
    }

    fn contains_rows(&self, mut offset: i64, mut len: i64) -> bool {
        while len > 0 {
            let part = len.min(self.elem);
            if !self.contains(offset, part) {
                return false;
            }
            offset += part;
            len -= part;
        }
        true
    }

    /// Lowest byte of the view, and one past the highest.
    pub fn span(&self) -> (i64, i64) {
        (self.low, self.high)
    }

    /// True when every byte of the span belongs to the view.
    pub fn is_solid(&self) -> bool {
        self.solid
    }

    /// Stride in bytes and size of each dimension by falling stride: how [`View::contains`] finds an element.
    pub fn dims(&self) -> &[(i64, i64)] {
        &self.dims
    }

    /// True when a byte offset lies before the view.
    pub fn is_before(&self, offset: i128) -> bool {
        offset < i128::from(self.low)
    }

    /// Bytes from the access to the nearest byte of the view; 0 if it touches the span.
    pub fn distance(&self, offset: i128, len: i128) -> i128 {
        let (low, high) = (i128::from(self.low), i128::from(self.high));
        if offset >= high {
            offset - high + 1
        } else if offset + len <= low {
            low - (offset + len) + 1
        } else {
            0
        }
    }

    /// The element index that a byte offset stands for; the outermost dimension takes what is beyond
    /// the shape. None for views without strides.
    pub fn element(&self, offset: i128) -> Option<Vec<i64>> {
        if self.axes.is_empty() && self.rank > 0 {
            return None;
        }
        let mut index = vec![0i64; self.rank];
        // From the lowest byte on all dimensions rise; those that fall are then counted from their end.
        let mut rest = offset - i128::from(self.low);
        for (i, axis) in self.axes.iter().enumerate() {
            let step = i128::from(axis.stride).abs();
            let at = if i == 0 {
                rest.div_euclid(step)
            } else {
                rest / step
            };
            rest -= at * step;
            let from_end = axis.stride < 0;
            let at = if from_end {
                i128::from(axis.size) - 1 - at
            } else {
                at
            };
            index[axis.axis] = i64::try_from(at).ok()?;
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AllocationId, Dtype, Role};

    fn tensor(shape: &[i64], strides: &[i64], offset: i64) -> Tensor {
        Tensor {
            shape: shape.into(),
            strides: strides.into(),
            offset,
            name: "x".into(),
            dtype: Dtype::F32,
            role: Role::InOut,
            allocation: AllocationId(0),
            uninit: false,
            pointers: Vec::new(),
        }
    }

    fn owned(t: &Tensor, bytes: i64) -> Vec<bool> {
        let mut owned = vec![false; bytes as usize];
        let mut index = vec![0i64; t.shape.len()];
        loop {
            let at: i64 = t.offset + index.iter().zip(&t.strides).map(|(i, s)| i * s).sum::<i64>();
            for b in at * 4..at * 4 + 4 {
                owned[b as usize] = true;
            }
            let Some(axis) = (0..index.len()).rev().find(|&a| index[a] + 1 < t.shape[a]) else {
                return owned;
            };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
    }

    #[test]
    fn membership_agrees_with_a_walk_over_all_elements() {
        for t in [
            tensor(&[3, 5], &[5, 1], 0),
            tensor(&[3, 5], &[8, 1], 2),
            tensor(&[5, 3], &[1, 5], 0),
            tensor(&[4], &[2], 1),
            tensor(&[4], &[-2], 7),
            tensor(&[2, 1, 3], &[10, 77, 2], 0),
            tensor(&[2, 3], &[0, 1], 4),
        ] {
            let view = View::new(&t, 4);
            let owned = owned(&t, 160);
            for offset in 0..150i64 {
                for len in [1, 4, 8, 10] {
                    let want = owned[offset as usize..(offset + len) as usize].iter().all(|&b| b);
                    assert_eq!(view.contains(offset, len), want, "{t:?} {offset} {len}");
                }
            }
        }
    }

    #[test]
    fn elements_outside_the_shape_have_an_index_too() {
        let view = View::new(&tensor(&[3, 5], &[8, 1], 0), 4);
        assert_eq!(view.element(4 * (8 * 2 + 3)), Some(vec![2, 3]));
        assert_eq!(view.element(4 * (8 * 3)), Some(vec![3, 0]));
        assert_eq!(view.element(-4), Some(vec![-1, 7]));
        assert_eq!(view.distance(4 * 21, 4), 1);
        let turned = View::new(&tensor(&[4, 8], &[8, -1], 7), 4);
        assert_eq!(turned.element(4 * 13), Some(vec![1, 2]));
        let upside_down = View::new(&tensor(&[4, 8], &[-8, 1], 24), 4);
        assert_eq!(upside_down.element(4 * 13), Some(vec![2, 5]));
        for stride in [1, 4, 64] {
            let row = View::new(&tensor(&[1, 64], &[stride, 1], 0), 4);
            assert_eq!(row.element(4 * 5), Some(vec![0, 5]));
        }
    }

    #[test]
    fn a_view_without_elements_owns_nothing() {
        let view = View::new(&tensor(&[0, 5], &[5, 1], 0), 4);
        assert!(!view.contains(8, 4));
        assert!(!view.covers(64));
        assert!(view.covers(0));
    }

    #[test]
    fn the_whole_storage_or_less() {
        assert!(View::new(&tensor(&[4], &[1], 0), 4).covers(16));
        assert!(!View::new(&tensor(&[4], &[1], 0), 4).covers(20));
    }
}
