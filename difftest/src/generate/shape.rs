//! Shapes: ranges, splats, broadcasts, reshapes, transposes, joins, gathers.

use tilescope_ir::{Attrs, OpCode, Scalar, Shape, Type, ValueId};

use super::{Generator, is_any, is_int};

impl Generator {
    /// A tile of numbers, if tiles may stand here.
    pub(super) fn tile(&mut self, fits: fn(Scalar) -> bool) -> Option<(ValueId, Shape)> {
        if self.lanes_only {
            return None;
        }
        let ty = self.some_tile(fits);
        let value = self.want(ty);
        Some((value, ty.shape()?))
    }

    pub(super) fn make_range(&mut self, _: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let start = [0, 0, 1, -3, 1000][self.draw.below(5)];
        let value = self.b.make_range(start, start + (1 << self.draw.below(8)));
        self.keep(value);
        true
    }

    pub(super) fn splat(&mut self, _: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let Type::Tile(shape, elem) = self.some_tile(is_any) else {
            return false;
        };
        let number = self.want(Type::Scalar(elem));
        let value = self.b.splat(number, shape);
        self.keep(value);
        true
    }

    pub(super) fn unsplat(&mut self, code: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let scalar = self.some_scalar(is_any);
        let rank = 1 + self.draw.below(2);
        let shape = Shape::new(&[1, 1][..rank]).unwrap_or_default();
        let value = self.want(Type::tile(shape, scalar));
        self.kept(code, &[value], Attrs::None, Type::scalar(scalar));
        true
    }

    pub(super) fn broadcast(&mut self, _: OpCode) -> bool {
        let Some((value, shape)) = self.tile(is_any) else {
            return false;
        };
        let mut room = 9 - shape.log2_elements().min(9);
        let mut dims: Vec<u64> = shape.dims().map(|d| d as u64).collect();
        for dim in dims.iter_mut().filter(|d| **d == 1) {
            let more = self.draw.below(room as usize + 1) as u32;
            *dim <<= more;
            room -= more;
        }
        if let Some(to) = Shape::new(&dims) {
            let value = self.b.broadcast(value, to);
            self.keep(value);
        }
        true
    }

    pub(super) fn expand_dims(&mut self, _: OpCode) -> bool {
        let Some((value, shape)) = self.tile(is_any).filter(|(_, s)| s.rank() < 5) else {
            return false;
        };
        let axis = self.draw.below(shape.rank() + 1) as u32;
        let value = self.b.expand_dims(value, axis);
        self.keep(value);
        true
    }

    pub(super) fn reshape(&mut self, _: OpCode) -> bool {
        let Some((value, shape)) = self.tile(is_any) else {
            return false;
        };
        let rank = 1 + self.draw.below(4);
        let mut dims = vec![1u64; rank];
        for _ in 0..shape.log2_elements() {
            let at = self.draw.below(rank);
            dims[at] *= 2;
        }
        if let Some(to) = Shape::new(&dims) {
            let value = self.b.reshape(value, to);
            self.keep(value);
        }
        true
    }

    pub(super) fn trans(&mut self, _: OpCode) -> bool {
        let Some((value, shape)) = self.tile(is_any) else {
            return false;
        };
        let mut order: Vec<u32> = (0..shape.rank() as u32).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, self.draw.below(i + 1));
        }
        let value = self.b.trans(value, &order);
        self.keep(value);
        true
    }

    pub(super) fn join(&mut self, code: OpCode) -> bool {
        let Some((a, shape)) = self.tile(is_any).filter(|(_, s)| s.rank() < 5) else {
            return false;
        };
        if shape.log2_elements() > 8 {
            return false;
        }
        let ty = self.b.ty(a);
        let b = self.want(ty);
        let Ok(result) = tilescope_ir::infer::join(ty) else {
            return false;
        };
        self.kept(code, &[a, b], Attrs::None, result);
        true
    }

    pub(super) fn split(&mut self, code: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let Type::Tile(shape, elem) = self.some_tile(is_any) else {
            return false;
        };
        let Some(whole) = shape.with_inserted(shape.rank(), 2).filter(|_| shape.rank() < 4) else {
            return false;
        };
        let value = self.want(Type::Tile(whole, elem));
        let half = Type::Tile(shape, elem);
        let op = self.b.op(code, &[value], Attrs::None, &[half, half]);
        let halves = self.b.function().ops[op].results.to_vec();
        self.pool.extend(halves);
        true
    }

    pub(super) fn cat(&mut self, code: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let count = 1u64 << self.draw.below(7);
        let ty = Type::tile(Shape::new(&[count]).unwrap_or_default(), self.some_scalar(is_any));
        let (a, b) = (self.want(ty), self.want(ty));
        let Ok(result) = tilescope_ir::infer::cat(ty) else {
            return false;
        };
        self.kept(code, &[a, b], Attrs::None, result);
        true
    }

    pub(super) fn gather(&mut self, code: OpCode) -> bool {
        let Some((source, shape)) = self.tile(is_any) else {
            return false;
        };
        let axis = self.draw.below(shape.rank());
        // As long as the source along other dimensions, as Triton's layouts want it.
        let picked = 1u64 << self.draw.below(5);
        let Some(picked) = shape
            .without(axis)
            .and_then(|s| s.with_inserted(axis, picked))
            .filter(|s| s.log2_elements() < 10)
        else {
            return false;
        };
        let scalar = [Scalar::I32, Scalar::I32, Scalar::I64, Scalar::I16][self.draw.below(4)];
        debug_assert!(is_int(scalar));
        let index = self.want(Type::tile(picked, scalar));
        let index = self.below(index, shape.dim(axis) as i64 - 1);
        let attrs = Attrs::Gather {
            axis: axis as u32,
            efficient_layout: false,
        };
        let Some(elem) = self.b.ty(source).elem() else {
            return false;
        };
        self.kept(code, &[source, index], attrs, Type::Tile(picked, elem));
        true
    }
}
