//! Accesses: every tensor of floats has a twin of f64 and one of bounds, element by element.

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::{Axis, RmwKind};
use tilescope_ir::{Attrs, Elem, Function, OpCode, OpId, Scalar, ValueId};

use super::depends::is_float;
use super::rewrite::Rewriter;
use super::rounding;
use super::shadow::{Kind, Shadow, mask_of};

impl Rewriter<'_> {
    /// Loads of all kinds: the place first, then what is the same for its twins, but for the value of masked-off lanes.
    pub(super) fn read(&mut self, f: &Function, op: OpId) -> Result<()> {
        let operands = self.operands(f, op)?;
        let data = &f.ops[op];
        let value = self.copy(f, op)?[0];
        let ty = self.b.ty(value);
        let Some((&place, rest)) = operands.split_first() else {
            return Ok(());
        };
        let mut unsure = place.unsure.map(|mask| self.fitted(mask, ty));
        let masked = data.code == OpCode::Load;
        for (i, operand) in rest.iter().enumerate() {
            if !(masked && i == 1) {
                let mask = operand.unsure.map(|mask| self.fitted(mask, ty));
                unsure = self.either(unsure, mask);
            }
        }
        let twin = |this: &mut Self, place: ValueId, number: Scalar, other: &dyn Fn(&Shadow) -> ValueId| {
            let mut values = vec![place];
            values.extend(rest.iter().enumerate().map(|(i, s)| match masked && i == 1 {
                true => other(s),
                false => s.value,
            }));
            this.again_one(data, &values, ty.with_elem(Elem::Scalar(number)))
        };
        let shadow = match place.kind {
            Kind::FloatPlace => {
                let wide = twin(self, place.wide, Scalar::F64, &|s| s.wide);
                let error = twin(self, place.error, Scalar::F64, &|s| s.error);
                let unsure = unsure.map(|mask| self.fitted(mask, ty));
                self.doubted(Shadow::float(value, wide, error), unsure)
            }
            Kind::IntPlace => {
                let no = self.truth(ty, false);
                let flags = twin(self, place.wide, Scalar::I1, &|s| s.unsure.unwrap_or(no));
                Shadow::plain(value, self.either(Some(flags), unsure))
            }
            _ if is_float(ty) => return Err(self.refuse(f, op, "floats behind pointers from memory")),
            _ => Shadow::plain(value, unsure),
        };
        self.set(f, op, 0, shadow);
        Ok(())
    }

    /// Stores of all kinds; `stored` is the position of the value.
    pub(super) fn write(&mut self, f: &Function, op: OpId, stored: usize) -> Result<()> {
        let operands = self.operands(f, op)?;
        let data = &f.ops[op];
        self.copy(f, op)?;
        let (Some(&place), Some(&value)) = (operands.first(), operands.get(stored)) else {
            return Ok(());
        };
        let ty = self.b.ty(value.value);
        let mut unsure = place.unsure.map(|mask| self.fitted(mask, ty));
        for (i, operand) in operands.iter().enumerate().skip(1) {
            if i != stored {
                let mask = operand.unsure.map(|mask| self.fitted(mask, ty));
                unsure = self.either(unsure, mask);
            }
        }
        let twin = |this: &mut Self, place: ValueId, twin: ValueId| {
            let mut values: Vec<ValueId> = operands.iter().map(|s| s.value).collect();
            values[0] = place;
            values[stored] = twin;
            this.again(data, &values, &[]);
        };
        match (place.kind, value.kind) {
            (Kind::FloatPlace, Kind::Float) => {
                let value = self.doubted(value, unsure);
                twin(self, place.wide, value.wide);
                twin(self, place.error, value.error);
            }
            (Kind::IntPlace, Kind::Plain) => {
                let flags = self.either(value.unsure, unsure);
                let flags = match flags {
                    Some(flags) => flags,
                    None => self.truth(ty, false),
                };
                twin(self, place.wide, flags);
            }
            (Kind::Plain, Kind::Plain) => {}
            _ => return Err(self.refuse(f, op, "this value at this address")),
        }
        if unsure.is_some() {
            self.note("where something is stored depends on floats; elements that another path stores to are not judged");
        }
        Ok(())
    }

    /// Read-modify-writes: sums of floats, and whatever is done to integers.
    pub(super) fn atomic(&mut self, f: &Function, op: OpId) -> Result<()> {
        let (place, value) = (self.operand(f, op, 0)?, self.operand(f, op, 1)?);
        if place.kind != Kind::FloatPlace {
            return self.atomic_integers(f, op);
        }
        let Attrs::Rmw(kind, ..) = f.ops[op].attrs else {
            return Err(self.refuse(f, op, "an atomic without a kind"));
        };
        if !matches!(kind, RmwKind::Fadd | RmwKind::Xchg) {
            return Err(self.refuse(f, op, "this atomic on floats"));
        }
        let old = self.copy(f, op)?[0];
        let mut error = value.error;
        if kind == RmwKind::Fadd
            && let Some(number) = self.b.ty(value.value).elem().and_then(Elem::scalar)
        {
            error = self.any_order(value, old, number);
        }
        let data = &f.ops[op];
        let rest: Vec<ValueId> = self.operands(f, op)?.iter().skip(2).map(|s| s.value).collect();
        for (place, value) in [(place.wide, value.wide), (place.error, error)] {
            let mut values = vec![place, value];
            values.extend(&rest);
            let ty = self.b.ty(value);
            self.again_one(data, &values, ty);
        }
        // What was there before depends on who came first.
        let used = f
            .result(op)
            .is_some_and(|v| f.ops.iter().any(|(_, op)| op.operands.contains(&v)));
        let shadow = if used {
            self.unknown(old)
        } else {
            Shadow::float(old, old, old)
        };
        self.set(f, op, 0, shadow);
        Ok(())
    }

    /// The error that a summand brings to a sum over programs in any order: each of them adds at most once to a place.
    /// Sums are as large as what was there and all summands together; `old` is that in one order.
    fn any_order(&mut self, value: Shadow, old: ValueId, number: Scalar) -> ValueId {
        let mut count = self.b.num_programs(Axis::X);
        for axis in [Axis::Y, Axis::Z] {
            let more = self.b.num_programs(axis);
            count = self.b.elementwise(OpCode::MulI, &[count, more]);
        }
        let count = self.b.cast(OpCode::SiToFp, count, Scalar::F64);
        let count = self.fitted(count, self.b.ty(value.wide));
        let old = match number {
            Scalar::F64 => old,
            _ => self.b.cast(OpCode::ExtF, old, Scalar::F64),
        };
        let mut w = self.wide();
        let size = w.abs(value.wide);
        let size = w.add(size, value.error);
        let units = w.times(count, 2.0 * rounding::unit(number));
        let rounding = w.mul(size, units);
        let old = w.abs(old);
        let own = w.times(old, rounding::unit(number));
        let rounding = w.add(rounding, own);
        let error = w.add(value.error, rounding);
        match number {
            // Atomic sums of f32 in global memory take subnormal operands and results for zero.
            Scalar::F32 => {
                let flushed = w.constant(error, 3.0 * rounding::FLUSHED);
                w.add(error, flushed)
            }
            _ => error,
        }
    }

    /// Atomics on integers: what they give depends on the order of programs.
    pub(super) fn atomic_integers(&mut self, f: &Function, op: OpId) -> Result<()> {
        let operands = self.operands(f, op)?;
        if operands
            .iter()
            .any(|s| matches!(s.kind, Kind::Float | Kind::FloatPlace))
        {
            return Err(self.refuse(f, op, "this atomic on floats"));
        }
        for (i, value) in self.copy(f, op)?.into_iter().enumerate() {
            let depends = f.ops[op]
                .results
                .get(i)
                .is_some_and(|&v| self.depends.has(self.id, v));
            let mask = depends.then(|| {
                let ty = mask_of(self.b.ty(value));
                self.b.int(ty, 1)
            });
            self.set(f, op, i, Shadow::plain(value, mask));
        }
        if self.depends.int_memory {
            self.note("atomics on integers are taken to be the same on all paths");
        }
        Ok(())
    }
}
