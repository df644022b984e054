//! Symbolic tiles: integers, addresses and masks held by formula, computed without touching lanes.
//!
//! Both forms are over the row-major lane number, so that reshapes and inserted dimensions change
//! nothing. Sizes are powers of two.
//!
//! - [`Sum`]: base + Σ over dimensions of the lane number, each stride · index or a vector's element.
//!   The invariant: the values are the exact integers, and all lie in the signed range of the lane type.
//!   So widening keeps the form, comparisons are exact, and wrap-around costs one range check: a result
//!   that would leave the range is computed lane by lane instead.
//! - [`Mask`]: rows of equal length, in each an interval of true lanes: the same one in a range of rows, or
//!   one per row. Length, box and causal masks are such.
//!
//! What has no form is `None` here, and the caller falls back to lanes.

/// Most dimensions of a sum; more fall back to lanes.
pub const MAX_DIMS: usize = 4;

/// One dimension of the lane number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim {
    /// Base-two logarithm of the size.
    pub log2: u8,
    /// Value per index; unused for a vector.
    pub stride: i64,
    /// Values come from the slot's vector.
    pub vector: bool,
}

/// base + Σ dims; outermost dimension first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sum {
    /// The value where all indices are 0 and the vector contributes 0.
    pub base: i64,
    dims: [Dim; MAX_DIMS],
    count: u8,
    /// Least and greatest element of the vector; 0 without one.
    vector: (i64, i64),
}

const NO_DIM: Dim = Dim {
    log2: 0,
    stride: 0,
    vector: false,
};

/// Whose vectors the result of an operation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vectors {
    /// No vector.
    None,
    /// The first operand's.
    First,
    /// The second operand's.
    Second,
    /// The lane-wise sum of both.
    Both,
}

impl Sum {
    /// One dimension, or none if it has one lane.
    fn single(base: i64, dim: Dim) -> Sum {
        let mut dims = [NO_DIM; MAX_DIMS];
        dims[0] = dim;
        Sum {
            base,
            dims,
            count: u8::from(dim.log2 > 0),
            vector: (0, 0),
        }
    }

    /// The same value in all of 2^`log2` lanes.
    #[inline]
    pub fn uniform(value: i64, log2: u8) -> Sum {
        Sum::single(value, Dim { log2, ..NO_DIM })
    }

    /// start, start + 1, … in 2^`log2` lanes.
    pub fn range(start: i64, log2: u8) -> Option<Sum> {
        let dim = Dim {
            log2,
            stride: 1,
            vector: false,
        };
        Some(Sum::single(start, dim))
    }

    /// base + Σ stride · index, over dimensions of 2^`log2` each, outermost first; none if there are too many
    /// or a value leaves 64 bits.
    pub fn affine(base: i64, dims: &[(u8, i64)]) -> Option<Sum> {
        let dims: Vec<Dim> = dims
            .iter()
            .map(|&(log2, stride)| Dim {
                log2,
                stride,
                vector: false,
            })
            .collect();
        Sum::new(base, &dims, (0, 0)).filter(|sum| sum.bounds().is_some())
    }

    /// A vector of 2^`log2` elements with this least and greatest one.
    pub fn of_vector(log2: u8, range: (i64, i64)) -> Option<Sum> {
        Sum::new(
            0,
            &[Dim {
                log2,
                stride: 0,
                vector: true,
            }],
            range,
        )
    }

    /// Merges neighbouring dimensions that go on evenly; none if too many remain.
    fn new(base: i64, dims: &[Dim], vector: (i64, i64)) -> Option<Sum> {
        let mut sum = Sum {
            base,
            dims: [NO_DIM; MAX_DIMS],
            count: 0,
            vector,
        };
        for &dim in dims.iter().filter(|d| d.log2 > 0) {
            if let Some(last) = sum.dims[..sum.count as usize].last_mut()
                && !last.vector
                && !dim.vector
                && dim
                    .stride
                    .checked_shl(u32::from(dim.log2))
                    .filter(|s| s >> dim.log2 == dim.stride)
                    == Some(last.stride)
            {
                *last = Dim {
                    log2: last.log2 + dim.log2,
                    ..dim
                };
                continue;
            }
            *sum.dims.get_mut(sum.count as usize)? = dim;
            sum.count += 1;
        }
        Some(sum)
    }

    /// Dimensions, outermost first.
    pub fn dims(&self) -> &[Dim] {
        &self.dims[..self.count as usize]
    }

    /// Base-two logarithm of the number of lanes.
    pub fn log2(&self) -> u8 {
        self.dims().iter().map(|d| d.log2).sum()
    }

    /// Size of the vector, if there is one.
    pub fn vector_len(&self) -> Option<usize> {
        self.dims().iter().find(|d| d.vector).map(|d| 1 << d.log2)
    }

    /// Least and greatest value; none if they leave 64 bits.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        let (mut low, mut high) = (
            self.base.checked_add(self.vector.0)?,
            self.base.checked_add(self.vector.1)?,
        );
        for dim in self.dims().iter().filter(|d| !d.vector) {
            let reach = dim.stride.checked_mul((1i64 << dim.log2) - 1)?;
            low = low.checked_add(reach.min(0))?;
            high = high.checked_add(reach.max(0))?;
        }
        Some((low, high))
    }

    /// True when all values are in the signed range of `bits` bits.
    pub fn fits(&self, bits: u32) -> bool {
        let max = i64::MAX >> (64 - bits);
        self.bounds()
            .is_some_and(|(low, high)| low >= -max - 1 && high <= max)
    }

    /// The value of one lane.
    #[inline]
    pub fn at(&self, lane: usize, vector: &[i64]) -> i64 {
        let (mut value, mut rest) = (self.base, lane);
        for dim in self.dims().iter().rev() {
            let index = rest & ((1 << dim.log2) - 1);
            rest >>= dim.log2;
            value = value.wrapping_add(if dim.vector {
                vector[index]
            } else {
                dim.stride.wrapping_mul(index as i64)
            });
        }
        value
    }

    /// The single value, if all lanes have the same.
    pub fn constant(&self) -> Option<i64> {
        self.dims()
            .iter()
            .all(|d| !d.vector && d.stride == 0)
            .then_some(self.base)
    }

    /// Both sums over common dimensions: (first's part, second's part), innermost first, and how many.
    fn align(&self, other: &Sum) -> Option<([(Dim, Dim); 2 * MAX_DIMS], usize)> {
        let (mut a, mut b) = (Rest::of(self), Rest::of(other));
        let mut pairs = [(NO_DIM, NO_DIM); 2 * MAX_DIMS];
        let mut count = 0;
        while let (Some(x), Some(y)) = (a.last, b.last) {
            let log2 = x.log2.min(y.log2);
            *pairs.get_mut(count)? = (a.cut(log2)?, b.cut(log2)?);
            count += 1;
        }
        (a.last.is_none() && b.last.is_none()).then_some((pairs, count))
    }

    /// self + other·sign, where sign is 1 or -1 (a vector is never subtracted).
    #[inline]
    fn combine(&self, other: &Sum, sign: i64) -> Option<(Sum, Vectors)> {
        // Most offsets: one even dimension on both sides.
        if let ([x], [y]) = (self.dims(), other.dims())
            && x.log2 == y.log2
            && !x.vector
            && !y.vector
        {
            let dim = Dim {
                stride: x.stride.checked_add(y.stride.checked_mul(sign)?)?,
                ..*x
            };
            let base = self.base.checked_add(other.base.checked_mul(sign)?)?;
            return Some((Sum::single(base, dim), Vectors::None));
        }
        self.combine_any(other, sign)
    }

    fn combine_any(&self, other: &Sum, sign: i64) -> Option<(Sum, Vectors)> {
        let mut vectors = Vectors::None;
        let (pairs, count) = self.align(other)?;
        let mut dims = [NO_DIM; 2 * MAX_DIMS];
        for (out, &(x, y)) in dims[..count].iter_mut().rev().zip(&pairs) {
            let zero = |d: &Dim| d.stride == 0 && !d.vector;
            let dim = match (x.vector, y.vector) {
                (false, false) => Dim {
                    stride: x.stride.checked_add(y.stride.checked_mul(sign)?)?,
                    ..x
                },
                (true, true) if vectors == Vectors::None && sign == 1 => {
                    vectors = Vectors::Both;
                    x
                }
                (true, false) if vectors == Vectors::None && zero(&y) => {
                    vectors = Vectors::First;
                    x
                }
                (false, true) if vectors == Vectors::None && zero(&x) && sign == 1 => {
                    vectors = Vectors::Second;
                    y
                }
                _ => return None,
            };
            *out = dim;
        }
        let vector = match vectors {
            Vectors::None => (0, 0),
            Vectors::First => self.vector,
            Vectors::Second => other.vector,
            Vectors::Both => (
                self.vector.0.checked_add(other.vector.0)?,
                self.vector.1.checked_add(other.vector.1)?,
            ),
        };
        let base = self.base.checked_add(other.base.checked_mul(sign)?)?;
        Some((Sum::new(base, &dims[..count], vector)?, vectors))
    }

    /// self + other.
    pub fn add(&self, other: &Sum) -> Option<(Sum, Vectors)> {
        self.combine(other, 1)
    }

    /// self - other; `other` must have no vector.
    pub fn sub(&self, other: &Sum) -> Option<(Sum, Vectors)> {
        self.combine(other, -1)
    }

    /// self · factor; the vector's elements are to be multiplied too.
    #[inline]
    pub fn scale(&self, factor: i64) -> Option<Sum> {
        if factor == 0 {
            return Some(Sum::uniform(0, self.log2()));
        }
        let mut sum = *self;
        sum.base = self.base.checked_mul(factor)?;
        for dim in &mut sum.dims[..self.count as usize] {
            dim.stride = dim.stride.checked_mul(factor)?;
        }
        let (low, high) = (
            self.vector.0.checked_mul(factor)?,
            self.vector.1.checked_mul(factor)?,
        );
        sum.vector = (low.min(high), low.max(high));
        Some(sum)
    }

    /// self · factor + term, of a sum without a vector; none if a value leaves 64 bits.
    #[inline]
    pub fn scale_and_add(&self, factor: i64, term: i64) -> Option<Sum> {
        let mut sum = *self;
        sum.base = self.base.checked_mul(factor)?.checked_add(term)?;
        for dim in &mut sum.dims[..self.count as usize] {
            if dim.vector {
                return None;
            }
            dim.stride = dim.stride.checked_mul(factor)?;
        }
        sum.bounds().map(|_| sum)
    }

    /// The lanes repeated by new dimensions: `keep` gives, outermost first, the logarithms of sizes, true
    /// for those that are there already.
    pub fn broadcast(&self, keep: &[(u8, bool)]) -> Option<Sum> {
        let mut own = Rest::of(self);
        let mut dims = [NO_DIM; 4 * MAX_DIMS];
        let mut count = 0;
        let mut push = |dim: Dim| -> Option<()> {
            *dims.get_mut(count)? = dim;
            count += 1;
            Some(())
        };
        for &(mut log2, kept) in keep.iter().rev() {
            if !kept {
                push(Dim { log2, ..NO_DIM })?;
            }
            while kept && log2 > 0 {
                let part = own.last?.log2.min(log2);
                push(own.cut(part)?)?;
                log2 -= part;
            }
        }
        dims[..count].reverse();
        own.last
            .is_none()
            .then(|| Sum::new(self.base, &dims[..count], self.vector))
            .flatten()
    }

    /// Lanes in one stretch of the innermost dimension, and its stride.
    pub fn innermost(&self) -> (usize, i64) {
        match self.dims().last() {
            Some(dim) if !dim.vector => (1 << dim.log2, dim.stride),
            _ => (1, 0),
        }
    }

    /// The lanes with value < bound.
    #[inline]
    pub fn below(&self, bound: i64, vector: &[i64]) -> Option<Mask> {
        // Most masks: one even dimension, and all lanes.
        if let [dim] = self.dims()
            && !dim.vector
            && dim.stride >= 0
            && let Some(reach) = dim.stride.checked_mul((1 << dim.log2) - 1)
            && self.base.checked_add(reach).is_some_and(|high| high < bound)
        {
            return Some(Mask::all(1 << dim.log2));
        }
        self.below_any(bound, vector)
    }

    fn below_any(&self, bound: i64, vector: &[i64]) -> Option<Mask> {
        let (low, high) = self.bounds()?;
        let lanes = 1u32 << self.log2();
        if high < bound {
            return Some(Mask::all(lanes));
        }
        if low >= bound {
            return Some(Mask::none(lanes));
        }
        let (inner, outer) = self.dims().split_last()?;
        if inner.vector {
            return None;
        }
        let varies = |d: &Dim| d.vector || d.stride != 0;
        // One dimension that matters: an interval of its indices, the same around every outer index.
        if self.dims().iter().filter(|d| varies(d)).count() == 1 {
            let at = self.dims().iter().position(varies)?;
            let dim = self.dims()[at];
            if !dim.vector {
                let repeat: u8 = self.dims()[at + 1..].iter().map(|d| d.log2).sum();
                let (lo, hi) = solve(self.base, dim.stride, 1 << dim.log2, bound);
                let len = 1u32 << (dim.log2 + repeat);
                return Some(Mask::Box(Box {
                    len,
                    rows: lanes / len,
                    first: 0,
                    last: lanes / len,
                    lo: lo << repeat,
                    hi: hi << repeat,
                }));
            }
        }
        let len = 1u32 << inner.log2;
        let rows: u8 = outer.iter().map(|d| d.log2).sum();
        let intervals = (0..1usize << rows)
            .map(|row| solve(self.at(row << inner.log2, vector), inner.stride, len, bound))
            .collect();
        Some(Mask::Ragged { len, intervals })
    }
}

/// The dimensions of a sum that are not consumed yet, from the innermost on.
struct Rest<'a> {
    outer: &'a [Dim],
    /// The innermost one left, maybe a part of it.
    last: Option<Dim>,
}

impl Rest<'_> {
    fn of(sum: &Sum) -> Rest<'_> {
        let mut rest = Rest {
            outer: sum.dims(),
            last: None,
        };
        rest.advance();
        rest
    }

    fn advance(&mut self) {
        self.last = self.outer.split_last().map(|(&last, outer)| {
            self.outer = outer;
            last
        });
    }

    /// The innermost 2^`log2` indices; none where that would cut a vector.
    fn cut(&mut self, log2: u8) -> Option<Dim> {
        let dim = self.last?;
        if dim.log2 == log2 {
            self.advance();
        } else {
            if dim.vector {
                return None;
            }
            self.last = Some(Dim {
                log2: dim.log2 - log2,
                stride: dim.stride.checked_mul(1 << log2)?,
                vector: false,
            });
        }
        Some(Dim { log2, ..dim })
    }
}

/// The indices 0..n with start + stride · i < bound.
fn solve(start: i64, stride: i64, n: u32, bound: i64) -> (u32, u32) {
    let (start, stride, bound) = (i128::from(start), i128::from(stride), i128::from(bound));
    let clamp = |x: i128| x.clamp(0, i128::from(n)) as u32;
    match stride {
        0 if start < bound => (0, n),
        0 => (0, 0),
        1.. => (0, clamp((bound - start + stride - 1).div_euclid(stride))),
        _ => (clamp((start - bound).div_euclid(-stride) + 1), n),
    }
}

/// In rows `first..last` of `rows`, lanes `lo..hi` of `len` are true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Box {
    /// Lanes of a row.
    pub len: u32,
    /// Rows.
    pub rows: u32,
    /// First row with true lanes.
    pub first: u32,
    /// One past the last such row.
    pub last: u32,
    /// First true lane of a row.
    pub lo: u32,
    /// One past the last true lane.
    pub hi: u32,
}

/// True lanes as intervals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mask {
    /// The same interval in a range of rows.
    Box(Box),
    /// An interval per row.
    Ragged {
        /// Lanes of a row.
        len: u32,
        /// Per row: first true lane and one past the last.
        intervals: Vec<(u32, u32)>,
    },
}

impl Mask {
    /// All lanes.
    pub fn all(lanes: u32) -> Mask {
        Mask::Box(Box {
            len: lanes,
            rows: 1,
            first: 0,
            last: 1,
            lo: 0,
            hi: lanes,
        })
    }

    /// No lane.
    pub fn none(lanes: u32) -> Mask {
        Mask::Box(Box {
            len: lanes,
            rows: 1,
            first: 0,
            last: 0,
            lo: 0,
            hi: 0,
        })
    }
}

impl Mask {
    /// The lanes of both; none where their rows do not fit.
    pub fn and(&self, other: &Mask) -> Option<Mask> {
        if let (Mask::Box(a), Mask::Box(b)) = (self, other)
            && let Some(both) = a.and(b)
        {
            return Some(Mask::Box(both));
        }
        let len = |mask: &Mask| match mask {
            Mask::Box(own) => own.len,
            Mask::Ragged { len, .. } => *len,
        };
        let len = len(self).min(len(other));
        let rows = |mask: &Mask| match mask {
            Mask::Box(own) => own.ragged(len),
            Mask::Ragged { len: own, intervals } => (*own == len).then(|| intervals.clone()),
        };
        let both = rows(self)?
            .into_iter()
            .zip(rows(other)?)
            .map(|(a, b)| (a.0.max(b.0), a.1.min(b.1).max(a.0.max(b.0))));
        Some(Mask::Ragged {
            len,
            intervals: both.collect(),
        })
    }
}

impl Box {
    /// Number of lanes.
    pub fn lanes(&self) -> usize {
        self.len as usize * self.rows as usize
    }

    /// True if no lane is, and if all are.
    pub fn constant(&self) -> Option<bool> {
        if self.first >= self.last || self.lo >= self.hi {
            return Some(false);
        }
        (self.first == 0 && self.last == self.rows && self.lo == 0 && self.hi == self.len).then_some(true)
    }

    /// The true lanes of row `row` of rows of `len` lanes, `len` dividing the box's.
    fn interval(&self, row: u32, len: u32) -> (u32, u32) {
        let start = u64::from(row) * u64::from(len);
        let own = (start / u64::from(self.len)) as u32;
        if own < self.first || own >= self.last {
            return (0, 0);
        }
        let within = (start % u64::from(self.len)) as u32;
        let cut = |x: u32| x.saturating_sub(within).min(len);
        (cut(self.lo), cut(self.hi))
    }

    /// The same lanes over rows of `len` lanes, where that is a box.
    fn with_len(&self, len: u32) -> Option<Box> {
        if len == self.len {
            return Some(*self);
        }
        let splits = self.rows == 1
            && self.len.is_multiple_of(len)
            && self.lo.is_multiple_of(len)
            && self.hi.is_multiple_of(len);
        if !splits || self.constant() == Some(false) {
            return None;
        }
        Some(Box {
            len,
            rows: self.len / len,
            first: self.lo / len,
            last: self.hi / len,
            lo: 0,
            hi: len,
        })
    }

    /// The lanes of both, where that is a box.
    pub fn and(&self, other: &Box) -> Option<Box> {
        let len = self.len.min(other.len);
        let (a, b) = (self.with_len(len)?, other.with_len(len)?);
        Some(Box {
            first: a.first.max(b.first),
            last: a.last.min(b.last),
            lo: a.lo.max(b.lo),
            hi: a.hi.min(b.hi),
            ..a
        })
    }

    /// An interval per row of `len` lanes; none if `len` does not divide the box's.
    pub fn ragged(&self, len: u32) -> Option<Vec<(u32, u32)>> {
        if !self.len.is_multiple_of(len) {
            return None;
        }
        Some(
            (0..(self.lanes() as u64 / u64::from(len)) as u32)
                .map(|row| self.interval(row, len))
                .collect(),
        )
    }

    /// The lanes repeated by new dimensions, as [`Sum::broadcast`]; none where that is no box.
    pub fn broadcast(&self, keep: &[(u8, bool)]) -> Option<Box> {
        // Only the two common shapes: rows repeated as a whole, and each lane repeated in place.
        let total: u32 = keep.iter().map(|k| u32::from(k.0)).sum();
        let kept: u32 = keep.iter().filter(|k| k.1).map(|k| u32::from(k.0)).sum();
        let repeat = 1u32 << (total - kept);
        let merged = keep
            .iter()
            .filter(|k| k.0 > 0)
            .fold(Vec::<(u8, bool)>::new(), |mut list, &k| {
                match list.last_mut() {
                    Some(last) if last.1 == k.1 => last.0 += k.0,
                    _ => list.push(k),
                }
                list
            });
        match merged[..] {
            [(_, true)] => Some(*self),
            [(_, false), (_, true)] if self.rows == 1 => Some(Box {
                rows: repeat,
                first: 0,
                last: if self.last > 0 { repeat } else { 0 },
                ..*self
            }),
            [(_, true), (_, false)] if self.rows == 1 => Some(Box {
                len: self.len * repeat,
                lo: self.lo * repeat,
                hi: self.hi * repeat,
                ..*self
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dim(log2: u8, stride: i64) -> Dim {
        Dim {
            log2,
            stride,
            vector: false,
        }
    }

    fn sums(log2: u8) -> impl Strategy<Value = Sum> {
        (0..=log2, -5i64..40, -3i64..4, -9i64..9)
            .prop_filter_map("too many dimensions", move |(split, base, a, b)| {
                Sum::new(base, &[dim(log2 - split, b), dim(split, a)], (0, 0))
            })
    }

    fn lanes(sum: &Sum) -> Vec<i64> {
        (0..1 << sum.log2()).map(|i| sum.at(i, &[])).collect()
    }

    fn bits(mask: &Mask) -> Vec<bool> {
        match mask {
            Mask::Box(b) => {
                let row = |r: u32, c: u32| r >= b.first && r < b.last && c >= b.lo && c < b.hi;
                (0..b.rows)
                    .flat_map(|r| (0..b.len).map(move |c| row(r, c)))
                    .collect()
            }
            Mask::Ragged { len, intervals } => intervals
                .iter()
                .flat_map(|&(lo, hi)| (0..*len).map(move |c| c >= lo && c < hi))
                .collect(),
        }
    }

    proptest! {
        #[test]
        fn arithmetic_agrees_with_lanes(a in sums(5), b in sums(5), k in -4i64..5) {
            let (x, y) = (lanes(&a), lanes(&b));
            if let Some((sum, _)) = a.add(&b) {
                prop_assert_eq!(lanes(&sum), x.iter().zip(&y).map(|(x, y)| x + y).collect::<Vec<_>>());
            }
            if let Some((sum, _)) = a.sub(&b) {
                prop_assert_eq!(lanes(&sum), x.iter().zip(&y).map(|(x, y)| x - y).collect::<Vec<_>>());
            }
            prop_assert_eq!(lanes(&a.scale(k).unwrap()), x.iter().map(|x| x * k).collect::<Vec<_>>());
            let bounds = (*x.iter().min().unwrap(), *x.iter().max().unwrap());
            prop_assert_eq!(a.bounds(), Some(bounds));
        }

        #[test]
        fn comparison_agrees_with_lanes(a in sums(5), bound in -60i64..60) {
            let mask = a.below(bound, &[]).unwrap();
            prop_assert_eq!(bits(&mask), lanes(&a).iter().map(|&x| x < bound).collect::<Vec<_>>());
        }

        #[test]
        fn boxes_agree_with_lanes(a in sums(5), b in sums(5), x in -20i64..40, y in -20i64..40) {
            let (Some(Mask::Box(p)), Some(Mask::Box(q))) = (a.below(x, &[]), b.below(y, &[])) else { return Ok(()) };
            let want: Vec<bool> = bits(&Mask::Box(p)).iter().zip(bits(&Mask::Box(q))).map(|(a, b)| *a && b).collect();
            if let Some(both) = p.and(&q) {
                prop_assert_eq!(bits(&Mask::Box(both)), want);
            }
            let len = p.len.min(4);
            prop_assert_eq!(bits(&Mask::Ragged { len, intervals: p.ragged(len).unwrap() }), bits(&Mask::Box(p)));
        }

        #[test]
        fn broadcasts_agree_with_lanes(a in sums(4), outer in 0u8..3, inner in 0u8..3, bound in -20i64..40) {
            for keep in [vec![(outer, false), (4, true)], vec![(4, true), (inner, false)], vec![(2, true), (inner, false), (2, true)]] {
                let source: Vec<usize> = {
                    let mut lanes = vec![0usize];
                    for &(log2, kept) in &keep {
                        lanes = lanes.iter().flat_map(|&l| (0..1usize << log2).map(move |i| if kept { (l << log2) + i } else { l })).collect();
                    }
                    lanes
                };
                let x = lanes(&a);
                if let Some(wide) = a.broadcast(&keep) {
                    prop_assert_eq!(lanes(&wide), source.iter().map(|&i| x[i]).collect::<Vec<_>>());
                }
                if let Some(Mask::Box(b)) = a.below(bound, &[])
                    && let Some(wide) = b.broadcast(&keep) {
                    let narrow = bits(&Mask::Box(b));
                    prop_assert_eq!(bits(&Mask::Box(wide)), source.iter().map(|&i| narrow[i]).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn vectors_take_part() {
        let rows = Sum::of_vector(2, (3, 9))
            .unwrap()
            .broadcast(&[(2, true), (3, false)])
            .unwrap();
        let columns = Sum::range(0, 3)
            .unwrap()
            .broadcast(&[(2, false), (3, true)])
            .unwrap();
        let (sum, vectors) = rows.add(&columns).unwrap();
        assert_eq!(
            (sum.vector_len(), vectors, sum.bounds()),
            (Some(4), Vectors::First, Some((3, 16)))
        );
        assert_eq!(sum.at(8 + 2, &[3, 9, 4, 5]), 11);
        let doubled = sum.scale(2).unwrap();
        assert_eq!(doubled.at(8 + 2, &[6, 18, 8, 10]), 22);
        assert!(sum.below(5, &[3, 9, 4, 5]).is_some());
        assert!(!Sum::range(i64::from(i32::MAX) - 3, 3).unwrap().fits(32));
    }
}
