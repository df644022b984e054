//! Atomics whose results do not depend on the order of programs: on places of one program alone, or operations that
//! commute, whose old values nobody looks at.

use tilescope_ir::attrs::{RmwKind, Scope, Semantic};
use tilescope_ir::{Attrs, Elem, OpCode, Scalar, Type, ValueId};
use tilescope_launch::Role;

use super::Generator;

/// Updates of integers that commute.
const COMMUTING: &[RmwKind] = &[
    RmwKind::Add,
    RmwKind::Add,
    RmwKind::And,
    RmwKind::Or,
    RmwKind::Xor,
    RmwKind::Max,
    RmwKind::Min,
    RmwKind::Umax,
    RmwKind::Umin,
];

impl Generator {
    fn order(&mut self) -> Semantic {
        Semantic::ALL[self.draw.below(Semantic::ALL.len())]
    }

    /// A number or a tile of words.
    fn words(&mut self) -> Type {
        let scalar = Elem::Scalar([Scalar::I32, Scalar::I32, Scalar::I64][self.draw.below(3)]);
        match self.draw.percent(30) {
            true => Type::Scalar(scalar),
            false => self.some_tile(super::is_int).with_elem(scalar),
        }
    }

    /// Pointers to places of this program alone, in a tensor of this role.
    fn own_places(&mut self, ty: Type, role: Role) -> Option<ValueId> {
        let scalar = super::scalar_of(ty)?;
        let (offsets, count) = self.own_offsets(ty);
        let fill = self.some_fill(scalar);
        let tensor = self.tensor(scalar, count * self.programs(), Some(fill), role);
        Some(self.pointers(tensor, offsets))
    }

    /// A result of which lanes that are masked off are not looked at.
    fn seen(&mut self, value: ValueId, mask: Option<ValueId>) {
        let value = match mask {
            Some(mask) => {
                let other = self.constant_of(self.b.ty(value));
                self.b.select(mask, value, other)
            }
            None => value,
        };
        self.keep(value);
    }

    pub(super) fn atomic_rmw(&mut self, _: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let mut ty = self.words();
        let order = (self.order(), Scope::Gpu);
        if self.draw.percent(50) {
            // Places that all programs update in one way.
            let len = 1i64 << self.draw.below(6);
            let offsets = self.wild_offsets(ty, len);
            let value = self.want(ty);
            let mask = self.some_mask(ty);
            let Some(scalar) = super::scalar_of(ty) else {
                return false;
            };
            let fill = self.some_fill(scalar);
            let tensor = self.tensor(scalar, len, Some(fill), Role::InOut);
            let pointers = self.pointers(tensor, offsets);
            let kind = COMMUTING[self.draw.below(COMMUTING.len())];
            self.b.atomic_rmw(kind, order, pointers, value, mask);
            return true;
        }
        let mut kind = RmwKind::ALL[self.draw.below(RmwKind::ALL.len())];
        if kind == RmwKind::Fadd && (self.exact || self.nesting > 0) {
            // Subnormal sums are each engine's own, and the twin counts one sum for each program.
            kind = RmwKind::Add;
        }
        if kind == RmwKind::Fadd {
            let mut scalar = [Scalar::F32, Scalar::F32, Scalar::F64, Scalar::F16][self.draw.below(4)];
            if !self.takes_type(scalar) {
                scalar = Scalar::F32;
            }
            ty = ty.with_elem(Elem::Scalar(scalar));
        }
        let value = self.want(ty);
        let mask = self.some_mask(ty);
        let Some(pointers) = self.own_places(ty, Role::InOut) else {
            return false;
        };
        let old = self.b.atomic_rmw(kind, order, pointers, value, mask);
        self.seen(old, mask);
        true
    }

    pub(super) fn atomic_cas(&mut self, code: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let ty = self.words();
        let (expected, value) = (self.want(ty), self.want(ty));
        let attrs = Attrs::Atomic(self.order(), Scope::Gpu);
        let Some(pointers) = self.own_places(ty, Role::InOut) else {
            return false;
        };
        self.kept(code, &[pointers, expected, value], attrs, ty);
        true
    }

    pub(super) fn atomic_load(&mut self, code: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let ty = self.words();
        let mask = self.some_mask(ty);
        let order = [Semantic::Relaxed, Semantic::Acquire][self.draw.below(2)];
        let Some(pointers) = self.own_places(ty, Role::In) else {
            return false;
        };
        let operands: Vec<ValueId> = [Some(pointers), mask].into_iter().flatten().collect();
        let value = self
            .b
            .value(code, &operands, Attrs::Atomic(order, Scope::Gpu), ty);
        self.seen(value, mask);
        true
    }

    pub(super) fn atomic_store(&mut self, code: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let ty = self.words();
        let value = self.want(ty);
        let mask = self.some_mask(ty);
        let order = [Semantic::Relaxed, Semantic::Release][self.draw.below(2)];
        let Some(pointers) = self.own_places(ty, Role::InOut) else {
            return false;
        };
        let operands: Vec<ValueId> = [Some(pointers), Some(value), mask]
            .into_iter()
            .flatten()
            .collect();
        self.b.op(code, &operands, Attrs::Atomic(order, Scope::Gpu), &[]);
        true
    }

    /// Waits for a value that is there.
    pub(super) fn atomic_poll(&mut self, code: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let ty = Type::scalar(Scalar::I32);
        let expected = self.int(ty, 5);
        let tensor = self.tensor(Scalar::I32, self.programs(), Some("value(5)".into()), Role::In);
        let (offsets, _) = self.own_offsets(ty);
        let pointer = self.pointers(tensor, offsets);
        let order = [Semantic::Relaxed, Semantic::Acquire][self.draw.below(2)];
        let attrs = Attrs::Atomic(order, Scope::Gpu);
        self.kept(code, &[pointer, expected], attrs, Type::BOOL);
        true
    }
}
