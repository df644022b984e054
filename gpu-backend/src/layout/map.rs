//! Shape operations as maps on the bits of row-major indices: from an element of the result to the element of the operand.

use tilescope_ir::Shape;

/// A linear map on index bits with an offset: `sources[i]` is what bit i of the result's index adds to the operand's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndexMap {
    sources: Vec<u32>,
    offset: u32,
}

impl IndexMap {
    /// The operand's index for a result's index; leaves the offset out.
    pub fn apply(&self, index: u32) -> u32 {
        let set = self
            .sources
            .iter()
            .enumerate()
            .filter(|(bit, _)| index >> bit & 1 == 1);
        set.fold(0, |sum, (_, source)| sum ^ source)
    }

    /// The coordinate along a dimension, as an index of a tile of that dimension alone.
    pub fn dimension(shape: Shape, axis: usize) -> IndexMap {
        IndexMap::by_dimension(shape, |d, bit| (d == axis).then_some(bit))
    }

    /// An index of the result that reads this index of the operand, for a single bit; none if there is none.
    pub fn preimage(&self, bit: u32) -> Option<u32> {
        if bit == 0 {
            return Some(0);
        }
        self.sources
            .iter()
            .position(|&source| source == bit)
            .map(|at| 1 << at)
    }

    /// `gather`: an index of the result without its coordinate along the axis, as an index of the operand.
    pub fn across(from: Shape, to: Shape, axis: usize) -> IndexMap {
        IndexMap::by_dimension(to, |d, bit| (d != axis).then(|| dimension_base(from, d) + bit))
    }

    /// Combined into every index by exclusive or.
    pub fn offset(&self) -> u32 {
        self.offset
    }

    /// `reshape`, `expand_dims`: the same elements in the same order.
    pub fn same(shape: Shape) -> IndexMap {
        IndexMap {
            sources: (0..shape.log2_elements()).map(|bit| 1 << bit).collect(),
            offset: 0,
        }
    }

    /// `broadcast`: dimensions of size one repeated.
    pub fn broadcast(from: Shape, to: Shape) -> IndexMap {
        IndexMap::by_dimension(to, |axis, bit| match from.dim(axis) {
            1 => None,
            _ => Some(dimension_base(from, axis) + bit),
        })
    }

    /// `trans`: result dimension i is operand dimension `order[i]`.
    pub fn permuted(from: Shape, to: Shape, order: &[u32]) -> IndexMap {
        IndexMap::by_dimension(to, |axis, bit| {
            let source = order.get(axis).map_or(axis, |&source| source as usize);
            Some(dimension_base(from, source) + bit)
        })
    }

    /// `split`: the operand has one more dimension, last, of two; `half` is the index in it.
    pub fn half(result: Shape, half: u32) -> IndexMap {
        IndexMap {
            sources: (0..result.log2_elements()).map(|bit| 2 << bit).collect(),
            offset: half,
        }
    }

    /// `join`: the result has one more dimension, last, of two.
    pub fn without_last_bit(result: Shape) -> IndexMap {
        IndexMap {
            sources: (0..result.log2_elements())
                .map(|bit| (1u32 << bit) >> 1)
                .collect(),
            offset: 0,
        }
    }

    /// `cat`: the result's upper half is another operand; the bit that says which is dropped.
    pub fn without_top_bit(result: Shape) -> IndexMap {
        let bits = result.log2_elements();
        IndexMap {
            sources: (0..bits)
                .map(|bit| if bit + 1 == bits { 0 } else { 1 << bit })
                .collect(),
            offset: 0,
        }
    }

    fn by_dimension(result: Shape, source: impl Fn(usize, u32) -> Option<u32>) -> IndexMap {
        let mut sources = vec![0; result.log2_elements() as usize];
        for axis in 0..result.rank() {
            let base = dimension_base(result, axis);
            for bit in 0..result.dim(axis).trailing_zeros() {
                if let (Some(slot), Some(from)) = (sources.get_mut((base + bit) as usize), source(axis, bit))
                {
                    *slot = 1 << from;
                }
            }
        }
        IndexMap { sources, offset: 0 }
    }
}

/// The lowest index bit of a dimension.
pub fn dimension_base(shape: Shape, axis: usize) -> u32 {
    (axis + 1..shape.rank())
        .map(|d| shape.dim(d).trailing_zeros())
        .sum()
}
