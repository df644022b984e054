//! The layouts that values are given: blocked ones for element-wise operations, and what is left of them after a reduction.

use super::map::dimension_base;
use super::{LANE_BITS, Layout};
use tilescope_ir::Shape;

/// What a blocked layout is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The dimension whose neighbours lie next to each other in memory.
    pub fast: usize,
    /// Neighbours along it that one thread holds, as a power of two: the width of a memory access.
    pub vector: u32,
    /// Warps, as a power of two.
    pub warps: u32,
}

/// Each thread holds `vector` neighbours along the fast dimension, lanes follow along it and then along the next ones, warps
/// along the slowest (so that a row is one warp's, where it can be); the rest is registers.
pub fn blocked(shape: Shape, form: &Blocked) -> Layout {
    let mut bits = Bits::new(shape, form.fast);
    let threads = LANE_BITS as u32 + form.warps;
    let spare = shape.log2_elements().saturating_sub(threads);
    let vector = form.vector.min(spare).min(bits.left_along_fastest());
    let mut regs: Vec<u32> = (0..vector).filter_map(|_| bits.fastest()).collect();
    let mut threads: Vec<u32> = (0..LANE_BITS).map(|_| bits.fastest().unwrap_or(0)).collect();
    threads.extend((0..form.warps).map(|_| bits.slowest().unwrap_or(0)));
    while let Some(basis) = bits.fastest() {
        regs.push(basis);
    }
    Layout { regs, threads }
}

/// Index bits that are not given out yet.
struct Bits {
    shape: Shape,
    /// Dimensions, fastest first.
    order: Vec<usize>,
    used: Vec<u32>,
}

impl Bits {
    fn new(shape: Shape, fast: usize) -> Bits {
        let mut order: Vec<usize> = (0..shape.rank()).rev().filter(|&axis| axis != fast).collect();
        if fast < shape.rank() {
            order.insert(0, fast);
        }
        Bits {
            shape,
            order,
            used: vec![0; shape.rank()],
        }
    }

    fn left(&self, axis: usize) -> u32 {
        self.shape.dim(axis).trailing_zeros() - self.used[axis]
    }

    fn left_along_fastest(&self) -> u32 {
        self.order.first().map_or(0, |&axis| self.left(axis))
    }

    /// The next bit of the fastest dimension that has one left.
    fn fastest(&mut self) -> Option<u32> {
        let axis = self.order.iter().copied().find(|&axis| self.left(axis) > 0)?;
        Some(self.take(axis))
    }

    /// The next bit of the slowest dimension that has one left.
    fn slowest(&mut self) -> Option<u32> {
        let axis = self
            .order
            .iter()
            .rev()
            .copied()
            .find(|&axis| self.left(axis) > 0)?;
        Some(self.take(axis))
    }

    fn take(&mut self, axis: usize) -> u32 {
        let bit = dimension_base(self.shape, axis) + self.used[axis];
        self.used[axis] += 1;
        1 << bit
    }
}

/// What is left of a layout when a dimension is reduced away: registers of that dimension are gone, threads of it hold the same.
pub fn slice(layout: &Layout, shape: Shape, axis: usize) -> Layout {
    let regs = layout
        .regs
        .iter()
        .map(|&basis| drop_dimension(basis, shape, axis));
    let threads = layout
        .threads
        .iter()
        .map(|&basis| drop_dimension(basis, shape, axis));
    Layout {
        regs: regs.filter(|&basis| basis != 0).collect(),
        threads: threads.collect(),
    }
}

/// An index without the bits of a dimension.
pub fn drop_dimension(index: u32, shape: Shape, axis: usize) -> u32 {
    let base = dimension_base(shape, axis);
    let bits = shape.dim(axis).trailing_zeros();
    let low = index & ((1u32 << base) - 1);
    let high = index.checked_shr(base + bits).unwrap_or(0);
    low | high.checked_shl(base).unwrap_or(0)
}

/// The coordinate of an index along a dimension.
pub fn coordinate(index: u32, shape: Shape, axis: usize) -> u32 {
    let base = dimension_base(shape, axis);
    index.checked_shr(base).unwrap_or(0) & (shape.dim(axis) as u32 - 1)
}
