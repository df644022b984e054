//! Accesses: every tensor of floats has a twin of f64 and one of bounds, element by element.

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::RmwKind;
use tilescope_ir::{Attrs, Elem, Function, OpCode, OpId, Scalar, Type, ValueId};

use super::depends::{is_float, writes};
use super::rewrite::Rewriter;
use super::shadow::{Kind, Shadow};

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
                let mut error = twin(self, place.error, Scalar::F64, &|s| s.error);
                let beside = (
                    self.beside_bound(place.error, 1),
                    self.beside_bound(place.error, 2),
                );
                if let ((Some(sizes), Some(counts)), Some(number)) =
                    (beside, ty.elem().and_then(Elem::scalar))
                {
                    let zero = self.wide().constant(error, 0.0);
                    let sizes = twin(self, sizes, Scalar::F64, &|_| zero);
                    let counts = twin(self, counts, Scalar::F64, &|_| zero);
                    error = self.wide().of_sums(wide, error, (sizes, counts), number);
                }
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
        let unsure = self.unsure_place(data.code, &operands, stored);
        self.elsewhere(f, op, unsure)?;
        let twin = |this: &mut Self, place: ValueId, twin: ValueId| {
            let mut values: Vec<ValueId> = operands.iter().map(|s| s.value).collect();
            values[0] = place;
            values[stored] = twin;
            this.again(data, &values, &[]);
        };
        match (place.kind, value.kind) {
            (Kind::FloatPlace, Kind::Float) => {
                twin(self, place.wide, value.wide);
                twin(self, place.error, value.error);
            }
            (Kind::IntPlace, Kind::Plain) => {
                let flags = match value.unsure {
                    Some(flags) => flags,
                    None => self.truth(self.b.ty(value.value), false),
                };
                twin(self, place.wide, flags);
            }
            (Kind::Plain, Kind::Plain) => {}
            _ => return Err(self.refuse(f, op, "this value at this address")),
        }
        Ok(())
    }

    /// Lanes that another path may store elsewhere, or not at all, or may store though this one does not.
    fn unsure_place(&mut self, code: OpCode, operands: &[Shadow], stored: usize) -> Option<ValueId> {
        let (place, value) = (operands.first()?, operands.get(stored)?);
        let ty = self.b.ty(value.value);
        let mut unsure = place.unsure.map(|mask| self.fitted(mask, ty));
        let mut masks = None;
        for (i, operand) in operands.iter().enumerate().skip(1) {
            if i == stored {
                continue;
            }
            let mask = operand.unsure.map(|mask| self.fitted(mask, ty));
            if i == 2 && matches!(code, OpCode::Store | OpCode::AtomicRmw) {
                // Where a lane that is masked off for sure would store does not matter.
                let on = self.fitted(operand.value, ty);
                unsure = unsure.map(|unsure| self.b.elementwise(OpCode::AndI, &[unsure, on]));
                masks = mask;
            } else {
                unsure = self.either(unsure, mask);
            }
        }
        self.either(unsure, masks)
    }

    /// Where lanes may be stored elsewhere on another path, nothing that the launch leaves is judged.
    pub(super) fn elsewhere(&mut self, f: &Function, op: OpId, unsure: Option<ValueId>) -> Result<()> {
        let Some(unsure) = unsure else { return Ok(()) };
        let place = f.ops[op].operands.first();
        let place = place.and_then(|&place| self.named_place(f, place));
        let place = place.map(|name| format!(" in `{name}`")).unwrap_or_default();
        self.note(&format!(
            "where something is stored{place} depends on floats; no output is judged where another path may store elsewhere"
        ));
        self.raise(unsure)
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
        let operands = self.operands(f, op)?;
        let unsure = self.unsure_place(OpCode::AtomicRmw, &operands, 1);
        self.elsewhere(f, op, unsure)?;
        let old = self.copy(f, op)?[0];
        let mut updates = vec![(place.wide, value.wide), (place.error, value.error)];
        if kind == RmwKind::Fadd {
            // Any path adds in an order of its own: how large its roundings are is known when all is added.
            let mut w = self.wide();
            let size = w.finite_size(value.wide);
            let size = w.add(size, value.error);
            let one = w.constant(size, 1.0);
            let sizes = self.beside_bound(place.error, 1);
            let counts = self.beside_bound(place.error, 2);
            updates.extend(sizes.map(|place| (place, size)));
            updates.extend(counts.map(|place| (place, one)));
        }
        let data = &f.ops[op];
        let rest: Vec<ValueId> = self.operands(f, op)?.iter().skip(2).map(|s| s.value).collect();
        for (place, value) in updates {
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

    /// The address of what was added to the element of a bound: its size (1), how often (2).
    fn beside_bound(&mut self, bound: ValueId, times: i64) -> Option<ValueId> {
        let distance = self.distance?;
        let ty = self.b.ty(distance);
        let times = self.b.int(ty, times);
        let mut offset = self.b.elementwise(OpCode::MulI, &[distance, times]);
        let ty = self.b.ty(bound);
        if !matches!(ty, Type::Scalar(Elem::Ptr(_)) | Type::Tile(_, Elem::Ptr(_))) {
            return None;
        }
        if let Some(shape) = ty.shape() {
            offset = self.b.splat(offset, shape);
        }
        Some(self.b.add_ptr(bound, offset))
    }

    /// The doubt of integers that a read-modify-write finds; none where it is not known.
    fn flags_at(&mut self, f: &Function, op: OpId, operands: &[Shadow]) -> Option<ValueId> {
        let (place, mask) = (operands.first()?, operands.get(2));
        if place.kind != Kind::IntPlace || f.ops[op].code != OpCode::AtomicRmw {
            return None;
        }
        let mask = mask.map(|mask| mask.value);
        let other = mask.map(|mask| self.b.int(self.b.ty(mask), 0));
        Some(self.b.load(place.wide, mask, other))
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
        // Memory keeps no doubt of what is added to it: a doubtful value is as bad as a doubtful place.
        let mut unsure = None;
        if writes(f.ops[op].code)
            && let Some(value) = operands.get(1)
        {
            let ty = self.b.ty(value.value);
            unsure = self.unsure_place(f.ops[op].code, &operands, 1);
            let of_value = value.unsure.map(|mask| self.fitted(mask, ty));
            unsure = self.either(unsure, of_value);
        }
        self.elsewhere(f, op, unsure)?;
        let mut results = f.ops[op].results.iter();
        let flags = match results.any(|&v| self.depends.has(self.id, v)) {
            true => self.flags_at(f, op, &operands),
            false => None,
        };
        for (i, value) in self.copy(f, op)?.into_iter().enumerate() {
            let depends = f.ops[op]
                .results
                .get(i)
                .is_some_and(|&v| self.depends.has(self.id, v));
            let mask = depends.then(|| match flags {
                Some(flags) => self.either(Some(flags), unsure),
                None => Some(self.truth(self.b.ty(value), true)),
            });
            self.set(f, op, i, Shadow::plain(value, mask.flatten()));
        }
        if self.depends.int_memory {
            self.note("atomics on integers are taken to be the same on all paths");
        }
        Ok(())
    }
}
