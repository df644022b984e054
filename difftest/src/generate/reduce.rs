//! Reductions, scans, maps, histograms.

use tilescope_ir::attrs::{FloatPredicate, IntPredicate};
use tilescope_ir::{Attrs, Elem, OpCode, Scalar, Shape, Type, ValueId};

use super::{Generator, is_float, is_int, is_int_or_truth, scalar_of};

/// Operations whose order does not matter.
const OF_INTS: &[OpCode] = &[
    OpCode::AddI,
    OpCode::AddI,
    OpCode::MulI,
    OpCode::AndI,
    OpCode::OrI,
    OpCode::XorI,
    OpCode::MinSI,
    OpCode::MaxSI,
    OpCode::MinUI,
    OpCode::MaxUI,
];

/// The same of floats: sums and products follow, where results need not be exact.
const OF_FLOATS: &[OpCode] = &[
    OpCode::MinimumF,
    OpCode::MaximumF,
    OpCode::MinNumF,
    OpCode::MaxNumF,
    OpCode::AddF,
    OpCode::AddF,
    OpCode::MulF,
];

impl Generator {
    pub(super) fn reduce(&mut self, code: OpCode) -> bool {
        self.combination(code, OpCode::ReduceReturn)
    }

    pub(super) fn scan(&mut self, code: OpCode) -> bool {
        self.combination(code, OpCode::ScanReturn)
    }

    fn combination(&mut self, code: OpCode, end: OpCode) -> bool {
        let Some((first, shape)) = self.tile(|s| is_float(s) || is_int_or_truth(s)) else {
            return false;
        };
        let axis = self.draw.below(shape.rank()) as u32;
        let indexed = self.draw.percent(20) && self.takes_index(self.b.ty(first));
        let mut inputs = vec![first];
        if indexed {
            let index = self.want(Type::tile(shape, Scalar::I32));
            inputs.push(index);
        }
        while !indexed && self.draw.percent(20) && inputs.len() < 3 {
            let scalar = self.some_scalar(|s| is_float(s) || is_int(s));
            let more = self.want(Type::tile(shape, scalar));
            inputs.push(more);
        }
        let elems: Vec<Type> = inputs
            .iter()
            .filter_map(|&v| self.b.ty(v).elem().map(Type::Scalar))
            .collect();
        let (open, args) = self.b.open_region(&elems.repeat(2));
        let (left, right) = args.split_at(elems.len());
        let values = match indexed {
            true => self.better(left, right),
            false => left
                .iter()
                .zip(right)
                .map(|(&a, &b)| self.combined(a, b))
                .collect(),
        };
        let region = self.b.close_region(open, end, values);
        let reverse = code == OpCode::Scan && self.draw.percent(30);
        let results = inputs.iter().map(|&v| match code {
            OpCode::Reduce => tilescope_ir::infer::reduce(self.b.ty(v), axis).unwrap_or(Type::BOOL),
            _ => self.b.ty(v),
        });
        let results: Vec<Type> = results.collect();
        let attrs = Attrs::Along { axis, reverse };
        let values = self
            .b
            .op_with_regions(code, &inputs, attrs, &results, vec![region]);
        self.pool.extend(values);
        true
    }

    /// Two numbers made one, in a way that does not depend on order where that is asked for.
    fn combined(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let scalar = scalar_of(self.b.ty(a)).unwrap_or(Scalar::I32);
        let list = match is_float(scalar) {
            true if self.exact => &OF_FLOATS[..4],
            true => OF_FLOATS,
            false => OF_INTS,
        };
        let code = self.draw.one(list).copied().unwrap_or(OpCode::AddI);
        self.b.elementwise(code, &[a, b])
    }

    /// The greater of two numbers with its index; of equal ones that with the smaller index. NaN is the greatest: were it none
    /// of both, the order would decide.
    fn better(&mut self, left: &[ValueId], right: &[ValueId]) -> Vec<ValueId> {
        let (&[a, i], &[b, j]) = (left, right) else {
            return left.to_vec();
        };
        let (greater, not_less) = match scalar_of(self.b.ty(a)).is_some_and(is_float) {
            true => {
                let above = self.b.cmp_float(FloatPredicate::Ugt, a, b);
                let is_number = self.b.cmp_float(FloatPredicate::Ord, b, b);
                let not_below = self.b.cmp_float(FloatPredicate::Oge, a, b);
                let is_nan = self.b.cmp_float(FloatPredicate::Uno, a, a);
                (
                    self.b.elementwise(OpCode::AndI, &[above, is_number]),
                    self.b.elementwise(OpCode::OrI, &[not_below, is_nan]),
                )
            }
            false => (
                self.b.cmp_int(IntPredicate::Sgt, a, b),
                self.b.cmp_int(IntPredicate::Sge, a, b),
            ),
        };
        let earlier = self.b.cmp_int(IntPredicate::Slt, i, j);
        let tie = self.b.elementwise(OpCode::AndI, &[not_less, earlier]);
        let first = self.b.elementwise(OpCode::OrI, &[greater, tie]);
        vec![self.b.select(first, a, b), self.b.select(first, i, j)]
    }

    pub(super) fn map_elementwise(&mut self, code: OpCode) -> bool {
        let Some((first, shape)) = self.tile(|s| is_float(s) || is_int(s)) else {
            return false;
        };
        let mut inputs = vec![first];
        if self.draw.percent(40) {
            let scalar = self.some_scalar(|s| is_float(s) || is_int(s));
            let more = self.want(Type::tile(shape, scalar));
            inputs.push(more);
        }
        let elems: Vec<Type> = inputs
            .iter()
            .filter_map(|&v| self.b.ty(v).elem().map(Type::Scalar))
            .collect();
        let (open, args) = self.b.open_region(&elems);
        let outer = std::mem::take(&mut self.pool);
        let was = (std::mem::replace(&mut self.lanes_only, true), self.nesting);
        self.nesting += 1;
        self.pool.extend(&args);
        let size = 1 + self.draw.below(5);
        self.fill(size);
        let mut values = Vec::new();
        while values.is_empty() || self.draw.percent(30) && values.len() < 2 {
            let scalar = self.some_scalar(|s| is_float(s) || is_int(s));
            let value = self.want(Type::scalar(scalar));
            values.push(value);
        }
        let types = values.iter().map(|&v| self.b.ty(v));
        let results: Vec<Type> = types
            .map(|ty| Type::Tile(shape, ty.elem().unwrap_or(Elem::Scalar(Scalar::I32))))
            .collect();
        let region = self.b.close_region(open, OpCode::MapReturn, values);
        (self.lanes_only, self.nesting) = was;
        self.pool = outer;
        let values = self
            .b
            .op_with_regions(code, &inputs, Attrs::Map(1), &results, vec![region]);
        self.pool.extend(values);
        true
    }

    pub(super) fn histogram(&mut self, code: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let shape = |log2: usize| Shape::new(&[1 << log2]).unwrap_or_default();
        let (count, bins) = (shape(self.draw.below(8)), shape(1 + self.draw.below(6)));
        let values = self.want(Type::tile(count, Scalar::I32));
        let values = self.below(values, bins.elements() as i64 - 1);
        let mut operands = vec![values];
        if self.draw.percent(40) {
            let mask = self.want(Type::tile(count, Scalar::I1));
            operands.push(mask);
        }
        self.kept(code, &operands, Attrs::None, Type::tile(bins, Scalar::I32));
        true
    }
}
