//! Loads and stores, with addresses that are in bounds.

use tilescope_ir::attrs::IntPredicate;
use tilescope_ir::{Attrs, Elem, OpCode, Pointer, Scalar, Shape, Type, ValueId};
use tilescope_launch::{Dtype, Role};

use super::spec::TensorSpec;
use super::{Generator, is_any, is_any_float, scalar_of};

/// The type of offsets.
const OFFSET: Scalar = Scalar::I32;

impl Generator {
    /// A new tensor argument.
    pub(super) fn tensor(&mut self, scalar: Scalar, len: i64, fill: Option<String>, role: Role) -> ValueId {
        let divisibility = self.draw.percent(70).then_some(16);
        self.argument(scalar, len, fill, role, divisibility)
    }

    /// A new tensor argument, which the kernel is told is aligned.
    pub(super) fn tensor_aligned(
        &mut self,
        scalar: Scalar,
        len: i64,
        fill: Option<String>,
        role: Role,
    ) -> ValueId {
        self.argument(scalar, len, fill, role, Some(16))
    }

    fn argument(
        &mut self,
        scalar: Scalar,
        len: i64,
        fill: Option<String>,
        role: Role,
        divisibility: Option<u32>,
    ) -> ValueId {
        let name = format!("t{}", self.spec.tensors.len());
        let pointer = Type::Scalar(Elem::Ptr(Pointer::to(scalar)));
        let value = self.b.param(&name, pointer, divisibility);
        self.spec.tensors.push(TensorSpec {
            name,
            dtype: Dtype::of_scalar(scalar).unwrap_or(Dtype::I32),
            len,
            fill,
            role,
        });
        value
    }

    /// What inputs hold.
    pub(super) fn some_fill(&mut self, scalar: Scalar) -> String {
        let fill = match scalar {
            Scalar::I1 => "randint(0, 2)",
            _ if is_any_float(scalar) => match self.draw.below(8) {
                0 | 1 => "extreme",
                2 => "randint(-4, 5)",
                3 => "uniform(-100, 100)",
                4 => "arange",
                _ => "randn",
            },
            _ => match self.draw.below(6) {
                0 | 1 => "extreme",
                2 => "arange",
                3 => "randint(-128, 128)",
                _ => "randint(-5, 20)",
            },
        };
        fill.to_string()
    }

    /// Row-major numbers of the elements of a tile: from a range, or from one for each dimension.
    fn numbers(&mut self, shape: Shape) -> ValueId {
        if shape.rank() == 1 || self.draw.percent(40) {
            let range = self.b.make_range(0, shape.elements() as i32);
            return match shape.rank() {
                1 => range,
                _ => self.b.reshape(range, shape),
            };
        }
        let mut sum = None;
        for (axis, stride) in shape.strides().into_iter().enumerate() {
            let range = self.b.make_range(0, shape.dim(axis) as i32);
            let mut along = range;
            for other in (0..shape.rank()).filter(|&other| other != axis) {
                along = self.b.expand_dims(along, other as u32);
            }
            if stride != 1 {
                let stride = self.int(self.b.ty(along), stride as i64);
                along = self.b.elementwise(OpCode::MulI, &[along, stride]);
            }
            let along = self.b.broadcast(along, shape);
            sum = Some(match sum {
                None => along,
                Some(sum) => self.b.elementwise(OpCode::AddI, &[sum, along]),
            });
        }
        sum.unwrap_or_else(|| self.constant_of(Type::tile(shape, OFFSET)))
    }

    /// Offsets of this program's own elements, one for each lane, each of another place; `count` is how many each
    /// program has.
    pub(super) fn own_offsets(&mut self, ty: Type) -> (ValueId, i64) {
        let count = ty.lanes() as i64;
        let program = self.program.unwrap_or_else(|| self.pool[0]);
        let Some(shape) = ty.shape() else {
            return (program, count);
        };
        let size = self.int(Type::scalar(OFFSET), count);
        let first = self.b.elementwise(OpCode::MulI, &[program, size]);
        let mut numbers = self.numbers(shape);
        if self.draw.percent(25) {
            // Another order of the same places.
            let other = self.draw.below(count as usize) as i64;
            let other = self.int(self.b.ty(numbers), other);
            numbers = self.b.elementwise(OpCode::XorI, &[numbers, other]);
        }
        let first = self.b.splat(first, shape);
        (self.b.elementwise(OpCode::AddI, &[first, numbers]), count)
    }

    /// Offsets below `len`, a power of two, from whatever numbers there are.
    pub(super) fn wild_offsets(&mut self, ty: Type, len: i64) -> ValueId {
        let scalar = [OFFSET, OFFSET, Scalar::I64][self.draw.below(3)];
        let numbers = self.want(ty.with_elem(Elem::Scalar(scalar)));
        self.below(numbers, len - 1)
    }

    /// Pointers to the elements of a tensor.
    pub(super) fn pointers(&mut self, tensor: ValueId, offsets: ValueId) -> ValueId {
        let base = match self.b.ty(offsets).shape() {
            Some(shape) => self.b.splat(tensor, shape),
            None => tensor,
        };
        let pointers = self.b.add_ptr(base, offsets);
        match self.draw.percent(1) {
            true => {
                let ty = self.b.ty(pointers);
                let int = ty.with_elem(Elem::Scalar(Scalar::I64));
                let int = self.b.value(OpCode::PtrToInt, &[pointers], Attrs::None, int);
                self.b.value(OpCode::IntToPtr, &[int], Attrs::None, ty)
            }
            false => pointers,
        }
    }

    /// True for lanes that are not masked off; none to leave all.
    pub(super) fn some_mask(&mut self, ty: Type) -> Option<ValueId> {
        let mask = ty.with_elem(Elem::Scalar(Scalar::I1));
        self.draw.percent(35).then(|| self.want(mask))
    }

    /// Loads a value of a type from a new tensor.
    pub(super) fn load_of(&mut self, ty: Type) -> ValueId {
        let Some(scalar) = scalar_of(ty).filter(|&s| Dtype::of_scalar(s).is_some()) else {
            return self.constant_of(ty);
        };
        if scalar == Scalar::I1 && self.compilable {
            // The front end keeps truth values in bytes.
            let bytes = ty.with_elem(Elem::Scalar(Scalar::I8));
            let value = self.load_of(bytes);
            let zero = self.int(bytes, 0);
            let truth = self.b.cmp_int(IntPredicate::Ne, value, zero);
            return self.keep(truth);
        }
        let fill = self.some_fill(scalar);
        let lanes = ty.lanes() as i64;
        let mut mask = self.some_mask(ty);
        let pointers = match self.draw.below(10) {
            // Anywhere in a tensor.
            0..=2 => {
                let len = 1i64 << self.draw.below(9);
                let offsets = self.wild_offsets(ty, len);
                let tensor = self.tensor(scalar, len, Some(fill), Role::In);
                self.pointers(tensor, offsets)
            }
            // A tensor that ends before the last programs do.
            3 | 4 => {
                let (offsets, _) = self.own_offsets(ty);
                let len = 1 + self.draw.below((lanes * self.programs()) as usize) as i64;
                let limit = self.limit(len, ty);
                let inside = self.b.cmp_int(IntPredicate::Slt, offsets, limit);
                mask = Some(match mask {
                    Some(mask) => self.b.elementwise(OpCode::AndI, &[mask, inside]),
                    None => inside,
                });
                let tensor = self.tensor(scalar, len, Some(fill), Role::In);
                self.pointers(tensor, offsets)
            }
            // The same elements in all programs.
            5 if ty.shape().is_some() => {
                let offsets = self.numbers(ty.shape().unwrap_or_default());
                let tensor = self.tensor(scalar, lanes, Some(fill), Role::In);
                self.pointers(tensor, offsets)
            }
            _ => {
                let (offsets, _) = self.own_offsets(ty);
                let tensor = self.tensor(scalar, lanes * self.programs(), Some(fill), Role::In);
                self.pointers(tensor, offsets)
            }
        };
        self.loaded(pointers, mask, ty)
    }

    /// A length as a constant or as an argument, in every lane.
    fn limit(&mut self, len: i64, ty: Type) -> ValueId {
        let number = Type::scalar(OFFSET);
        let limit = match self.draw.percent(50) {
            true => self.int(number, len),
            false => {
                let name = format!("s{}", self.spec.scalars.len());
                let limit = self.b.param(&name, number, None);
                self.spec.scalars.push((name, super::ScalarSpec::Int(len)));
                limit
            }
        };
        match ty.shape() {
            Some(shape) => self.b.splat(limit, shape),
            None => limit,
        }
    }

    /// The load, with a value for lanes that are masked off.
    fn loaded(&mut self, pointers: ValueId, mask: Option<ValueId>, ty: Type) -> ValueId {
        let Some(mask) = mask else {
            let value = self.b.load(pointers, None, None);
            return self.keep(value);
        };
        let other = match self.draw.percent(50) {
            true => self.want(ty),
            false => self.constant_of(ty),
        };
        let other = self.packed_other(other);
        let value = match self.draw.percent(20) {
            // What a load leaves out is never used.
            true => {
                let value = self.b.load(pointers, Some(mask), None);
                self.b.select(mask, value, other)
            }
            false => self.b.load(pointers, Some(mask), Some(other)),
        };
        self.keep(value)
    }

    pub(super) fn load(&mut self, _: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let ty = match self.draw.percent(15) {
            true => Type::scalar(self.some_scalar(is_any)),
            false => self.some_tile(is_any),
        };
        self.load_of(ty);
        true
    }

    pub(super) fn store(&mut self, _: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let Some(value) = self.find(|ty| scalar_of(ty).is_some_and(is_any)) else {
            return false;
        };
        self.store_of(value);
        true
    }

    /// Stores a value to a tensor of its own; what was there may be read before.
    pub(super) fn store_of(&mut self, value: ValueId) {
        let ty = self.b.ty(value);
        let Some(scalar) = scalar_of(ty).filter(|&s| Dtype::of_scalar(s).is_some()) else {
            return;
        };
        if scalar == Scalar::I1 && self.compilable {
            let bytes = self.b.cast(OpCode::ExtUI, value, Scalar::I8);
            return self.store_of(bytes);
        }
        let (offsets, count) = self.own_offsets(ty);
        let mask = self.some_mask(ty);
        let whole = mask.is_none() && self.always && self.draw.percent(70);
        let (fill, role) = match whole {
            true => (None, Role::Out),
            false => (Some(self.some_fill(scalar)), Role::InOut),
        };
        let tensor = self.tensor(scalar, count * self.programs(), fill, role);
        let pointers = self.pointers(tensor, offsets);
        // More than one thread may load an element, and another one store it: barriers stand between.
        if role == Role::InOut && self.draw.percent(40) {
            self.barrier(OpCode::GpuBarrier);
            self.loaded(pointers, mask, ty);
            self.barrier(OpCode::GpuBarrier);
        }
        self.b.store(pointers, value, mask);
        if mask.is_none() && self.draw.percent(25) {
            self.barrier(OpCode::GpuBarrier);
            self.loaded(pointers, None, ty);
            self.barrier(OpCode::GpuBarrier);
        }
    }

    /// Stores what was computed, so that it matters: some of the last values.
    pub(super) fn store_results(&mut self) {
        let numbers: Vec<ValueId> = self
            .pool
            .iter()
            .copied()
            .filter(|&v| scalar_of(self.b.ty(v)).is_some_and(is_any))
            .collect();
        let used = self.uses();
        let unused = numbers.iter().copied().filter(|v| !used.contains(v));
        let last: Vec<ValueId> = unused.rev().take(12).collect();
        for value in last {
            self.store_of(value);
        }
    }

    /// Values that operations use.
    fn uses(&self) -> std::collections::HashSet<ValueId> {
        let f = self.b.function();
        f.ops.iter().flat_map(|(_, op)| op.operands.to_vec()).collect()
    }

    pub(super) fn add_ptr(&mut self, _: OpCode) -> bool {
        self.load(OpCode::Load)
    }
}
