//! Where a view's elements lie in its storage.

use tilescope_diagnostics::Error;

/// What errors say of tensors and numbers beyond what can be.
pub(crate) const TOO_LARGE: &str = "too large";

/// True for an error about a tensor, or a number that makes one, that is too large: smaller sizes may do.
pub fn is_too_large(error: &Error) -> bool {
    error.message.contains(TOO_LARGE)
}

/// Shape, strides and offset of a view, checked against overflow. All numbers are elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
    /// From the start of the storage to element (0, ..., 0).
    pub offset: i64,
    /// One past the last element's position: the smallest storage that holds the view.
    pub end: i64,
    /// Number of elements of the view.
    pub elements: u64,
}

/// Why there is no such layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayoutFault {
    /// A position or the number of elements exceeds 2^62.
    TooLarge,
    /// An element lies at this negative position.
    BeforeStorage(i128),
}

const LIMIT: i128 = 1 << 62;

impl Layout {
    /// Strides default to row-major, the offset to the least that puts all elements inside. Lengths of
    /// shape and strides are equal, dimensions not negative.
    pub fn new(
        shape: Vec<i64>,
        strides: Option<Vec<i64>>,
        offset: Option<i64>,
    ) -> Result<Layout, LayoutFault> {
        let mut elements: i128 = 1;
        // A zero anywhere makes an empty tensor, whatever the other dimensions are.
        for &size in shape.iter().filter(|&&size| size != 0) {
            elements = elements
                .checked_mul(size.into())
                .filter(|&n| n <= LIMIT)
                .ok_or(LayoutFault::TooLarge)?;
        }
        let empty = shape.contains(&0);
        let strides = match strides {
            Some(strides) => strides,
            None => row_major(&shape),
        };
        let (mut least, mut most) = (0i128, 0i128);
        for (&size, &stride) in shape.iter().zip(&strides) {
            let reach = i128::from(stride) * i128::from((size - 1).max(0));
            if reach < 0 {
                least += reach;
            } else {
                most += reach;
            }
        }
        if least < -LIMIT || most > LIMIT {
            return Err(LayoutFault::TooLarge);
        }
        if empty {
            (least, most, elements) = (0, -1, 0);
        }
        let offset = offset.map_or(-least, i128::from);
        if offset + least < 0 {
            return Err(LayoutFault::BeforeStorage(offset + least));
        }
        let end = offset + most + 1;
        if end > LIMIT {
            return Err(LayoutFault::TooLarge);
        }
        Ok(Layout {
            shape,
            strides,
            offset: offset as i64,
            end: end as i64,
            elements: elements as u64,
        })
    }
}

/// Row-major strides; as in PyTorch, a dimension of size zero counts as one.
pub(crate) fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    let mut stride = 1i64;
    for (slot, &size) in strides.iter_mut().zip(shape).rev() {
        *slot = stride;
        stride = stride.saturating_mul(size.max(1));
    }
    strides
}

/// Neighbouring elements in row-major order at a constant distance. All numbers are elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Row-major number of its first element.
    pub first: u64,
    /// That element's position in the storage.
    pub position: i64,
    /// Number of elements; not zero.
    pub count: u64,
    /// From one element to the next.
    pub stride: i64,
}

/// The elements of a view in row-major order, in the fewest runs that its strides allow.
#[derive(Debug, Clone)]
pub struct Runs {
    /// Outer dimensions, outermost first: size, stride, current index.
    outer: Vec<(i64, i64, i64)>,
    run: Option<Run>,
}

impl Runs {
    /// Shape and strides have equal lengths; a dimension that is zero or less gives no runs.
    pub(crate) fn new(shape: &[i64], strides: &[i64], offset: i64) -> Runs {
        if shape.iter().any(|&size| size <= 0) {
            return Runs {
                outer: Vec::new(),
                run: None,
            };
        }
        let mut dims: Vec<(i64, i64)> = Vec::new();
        for (&size, &stride) in shape.iter().zip(strides).filter(|(size, _)| **size != 1) {
            match dims.last_mut() {
                // The outer dimension goes on where the inner one ends: one longer dimension.
                Some(outer) if stride.checked_mul(size) == Some(outer.1) => {
                    *outer = (outer.0.saturating_mul(size), stride)
                }
                _ => dims.push((size, stride)),
            }
        }
        let (count, stride) = dims.pop().unwrap_or((1, 1));
        let run = Run {
            first: 0,
            position: offset,
            count: count as u64,
            stride,
        };
        Runs {
            outer: dims.into_iter().map(|(size, stride)| (size, stride, 0)).collect(),
            run: Some(run),
        }
    }
}

impl Runs {
    /// All runs at once, where they lie at a constant distance: the first, the distance, their number.
    /// Only before the first call of `next`.
    pub(crate) fn rows(&self) -> Option<(Run, i64, u64)> {
        let run = self.run?;
        match *self.outer.as_slice() {
            [] => Some((run, run.count as i64, 1)),
            [(size, stride, _)] => Some((run, stride, size as u64)),
            _ => None,
        }
    }
}

impl Runs {
    /// The rest, from the run that holds element number `element` on. Only before the first call of `next`.
    pub fn skip_to(mut self, element: u64) -> Runs {
        let Some(run) = &mut self.run else { return self };
        let mut rest = element / run.count;
        run.first = rest * run.count;
        for (size, stride, index) in self.outer.iter_mut().rev() {
            *index = (rest % *size as u64) as i64;
            run.position += *index * *stride;
            rest /= *size as u64;
        }
        if rest > 0 {
            self.run = None;
        }
        self
    }
}

impl Iterator for Runs {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let run = self.run?;
        let mut next = Run {
            first: run.first + run.count,
            ..run
        };
        self.run = None;
        for (size, stride, index) in self.outer.iter_mut().rev() {
            *index += 1;
            next.position += *stride;
            if *index < *size {
                self.run = Some(next);
                break;
            }
            next.position -= *stride * *size;
            *index = 0;
        }
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(
        shape: &[i64],
        strides: Option<&[i64]>,
        offset: Option<i64>,
    ) -> Result<(i64, i64, u64), LayoutFault> {
        let layout = Layout::new(shape.to_vec(), strides.map(<[_]>::to_vec), offset)?;
        Ok((layout.offset, layout.end, layout.elements))
    }

    #[test]
    fn spans_and_offsets() {
        assert_eq!(layout(&[2, 3], None, None), Ok((0, 6, 6)));
        assert_eq!(layout(&[2, 3], Some(&[5, 1]), None), Ok((0, 8, 6)));
        assert_eq!(layout(&[4], Some(&[-2]), None), Ok((6, 7, 4)));
        assert_eq!(layout(&[4], Some(&[0]), Some(3)), Ok((3, 4, 4)));
        assert_eq!(layout(&[], None, None), Ok((0, 1, 1)));
        assert_eq!(layout(&[0, 7], None, None), Ok((0, 0, 0)));
        assert_eq!(
            layout(&[4], Some(&[-2]), Some(5)),
            Err(LayoutFault::BeforeStorage(-1))
        );
        assert_eq!(
            layout(&[1 << 40, 1 << 40], None, None),
            Err(LayoutFault::TooLarge)
        );
        assert_eq!(layout(&[3], Some(&[i64::MAX]), None), Err(LayoutFault::TooLarge));
        assert_eq!(
            layout(&[i64::MAX, 0, i64::MAX], None, None),
            Err(LayoutFault::TooLarge)
        );
        assert_eq!(row_major(&[2, 3, 4]), [12, 4, 1]);
    }

    #[test]
    fn runs_walk_in_row_major_order() {
        for (shape, strides, expected_runs) in [
            (vec![2, 3, 4], vec![12, 4, 1], 1),
            (vec![2, 3, 4], vec![20, 4, 1], 2),
            (vec![3, 2], vec![1, 3], 3),
            (vec![3, 1, 2], vec![-2, 99, 0], 3),
            (vec![5], vec![-1], 1),
            (vec![], vec![], 1),
            (vec![2, 0], vec![1, 1], 0),
            (vec![4, 3], vec![0, 0], 1),
        ] {
            let mut expected = Vec::new();
            let total: i64 = shape.iter().product();
            for k in 0..total {
                let (mut rest, mut position) = (k, 100);
                for (&size, &stride) in shape.iter().zip(&strides).rev() {
                    position += rest % size * stride;
                    rest /= size;
                }
                expected.push(position);
            }
            let runs: Vec<Run> = Runs::new(&shape, &strides, 100).collect();
            assert_eq!(runs.len(), expected_runs, "{shape:?} {strides:?}");
            let mut walked = Vec::new();
            for run in runs {
                assert_eq!(run.first, walked.len() as u64);
                walked.extend((0..run.count as i64).map(|i| run.position + i * run.stride));
            }
            assert_eq!(walked, expected, "{shape:?} {strides:?}");
            for first in 0..=total {
                let runs = Runs::new(&shape, &strides, 100);
                let late = runs.clone().filter(|run| run.first + run.count > first as u64);
                assert_eq!(
                    late.collect::<Vec<_>>(),
                    runs.skip_to(first as u64).collect::<Vec<_>>()
                );
            }
        }
    }
}
