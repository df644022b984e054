//! Element-wise operations, constants, comparisons, conversions.

use tilescope_ir::attrs::{FloatPredicate, IntPredicate, PropagateNan, Rounding};
use tilescope_ir::{Attrs, Elem, OpCode, Scalar, Type, ValueId};

use super::{Generator, is_any, is_any_float, is_float, is_int, is_int_or_truth, scalar_of};

impl Generator {
    pub(super) fn elementwise(&mut self, code: OpCode) -> bool {
        let Some(class) = code.info().class else {
            return false;
        };
        if self.exact && super::is_rounded_freely(code) {
            return false;
        }
        let ty = match class.is_float() {
            true if code == OpCode::ApproxDivF => self.some_type(|s| s == Scalar::F32),
            true if self.in_f32_only(code) => self.some_type(|s| s == Scalar::F32),
            true => self.some_type(is_float),
            false if code == OpCode::MulHiUI && self.compilable => {
                self.some_type(|s| matches!(s, Scalar::I32 | Scalar::I64))
            }
            false if works_on_truth_values(code) => self.some_type(is_int_or_truth),
            false => self.some_type(is_int),
        };
        let mut operands: Vec<ValueId> = (0..class.arity()).map(|_| self.want(ty)).collect();
        self.tame(code, &mut operands);
        let value = self.b.elementwise(code, &operands);
        self.keep(value);
        true
    }

    /// Makes operands such that the operation is defined.
    fn tame(&mut self, code: OpCode, operands: &mut [ValueId]) {
        let [first, second] = operands else {
            return;
        };
        let ty = self.b.ty(*second);
        let bits = i64::from(scalar_of(ty).map_or(1, Scalar::bits));
        match code {
            OpCode::ShlI | OpCode::ShrSI | OpCode::ShrUI => *second = self.below(*second, bits - 1),
            OpCode::DivUI | OpCode::RemUI | OpCode::CeilDivUI => {
                let one = self.int(ty, 1);
                *second = self.b.elementwise(OpCode::OrI, &[*second, one]);
            }
            OpCode::DivSI | OpCode::RemSI | OpCode::CeilDivSI | OpCode::FloorDivSI => {
                let one = self.int(ty, 1);
                *second = self.b.elementwise(OpCode::OrI, &[*second, one]);
                // The smallest integer must not meet -1.
                match self.draw.percent(50) {
                    true => {
                        let most = i64::MAX >> (64 - bits);
                        *second = self.below(*second, most);
                    }
                    false => *first = self.b.elementwise(OpCode::ShrSI, &[*first, one]),
                }
            }
            // The sign of a NaN is each engine's own.
            OpCode::CopySign if self.exact => *second = self.without_nan(*second),
            _ => {}
        }
    }

    /// A float, or one where it is NaN.
    fn without_nan(&mut self, value: ValueId) -> ValueId {
        let ty = self.b.ty(value);
        let one = self.b.float(ty, 1.0);
        let is_number = self.b.cmp_float(FloatPredicate::Ord, value, value);
        self.b.select(is_number, value, one)
    }

    pub(super) fn constant(&mut self, _: OpCode) -> bool {
        let ty = self.some_type(is_any);
        let value = self.constant_of(ty);
        self.keep(value);
        true
    }

    pub(super) fn cmp_int(&mut self, _: OpCode) -> bool {
        let ty = self.some_type(is_int_or_truth);
        let (a, b) = (self.want(ty), self.want(ty));
        let predicate = IntPredicate::ALL[self.draw.below(IntPredicate::ALL.len())];
        let value = self.b.cmp_int(predicate, a, b);
        self.keep(value);
        true
    }

    pub(super) fn cmp_float(&mut self, _: OpCode) -> bool {
        let ty = self.some_type(is_float);
        let (a, b) = (self.want(ty), self.want(ty));
        let predicate = FloatPredicate::ALL[self.draw.below(FloatPredicate::ALL.len())];
        let value = self.b.cmp_float(predicate, a, b);
        self.keep(value);
        true
    }

    pub(super) fn select(&mut self, _: OpCode) -> bool {
        let ty = self.some_type(is_any);
        let mask = match self.draw.percent(20) {
            true => Type::BOOL,
            false => ty.with_elem(Elem::Scalar(Scalar::I1)),
        };
        let condition = self.want(mask);
        let (a, b) = (self.want(ty), self.want(ty));
        let value = self.b.select(condition, a, b);
        self.keep(value);
        true
    }

    pub(super) fn clamp(&mut self, code: OpCode) -> bool {
        let ty = match self.compilable {
            // Its front end promotes bf16.
            true => self.some_type(|s| matches!(s, Scalar::F32 | Scalar::F16)),
            false => self.some_type(is_float),
        };
        let value = self.want(ty);
        let pairs = if self.compilable { 3 } else { 4 };
        let (low, high) = [(-1.0, 1.0), (0.0, 6.0), (-2.0, -0.5), (0.0, 0.0)][self.draw.below(pairs)];
        let mut nan = [PropagateNan::None, PropagateNan::All][self.draw.below(2)];
        if self.compilable && low == -high {
            // Between such constants Triton writes `min.xorsign.abs`: a NaN that is dropped becomes one of them by its
            // sign (and between two zeros a negative number -0: not drawn).
            nan = PropagateNan::All;
        }
        let (low, high) = (self.b.float(ty, low), self.b.float(ty, high));
        self.kept(code, &[value, low, high], Attrs::ClampF(nan), ty);
        true
    }

    /// A conversion between two number types, one of which is drawn.
    pub(super) fn cast(&mut self, code: OpCode) -> bool {
        match code {
            OpCode::IndexCast | OpCode::IndexCastUi => return self.index_cast(code),
            // Made where pointers are: in loads.
            OpCode::IntToPtr | OpCode::PtrToInt => return false,
            _ => {}
        }
        let (from, to) = loop_until_some(&mut self.draw, |draw| {
            let (a, b) = (draw.pick_scalar(), draw.pick_scalar());
            converts(code, a, b).then_some((a, b))
        });
        let Some(to) = to else {
            return false;
        };
        let Some(from) = from.filter(|&from| self.takes_cast(code, from, to)) else {
            return false;
        };
        let form = self.some_type(is_any);
        let value = self.want(form.with_elem(Elem::Scalar(from)));
        let value = self.converted(code, value, to);
        self.keep(value);
        true
    }

    /// The conversion, with an operand for which it is defined.
    fn converted(&mut self, code: OpCode, mut value: ValueId, to: Scalar) -> ValueId {
        let ty = self.b.ty(value);
        let from = scalar_of(ty).unwrap_or(Scalar::I32);
        match code {
            OpCode::FpToSi | OpCode::FpToUi => value = self.in_range(value, to, code == OpCode::FpToSi),
            // The bits of a NaN are each engine's own.
            OpCode::ArithBitcast | OpCode::Bitcast if self.exact && is_float(from) => {
                value = self.without_nan(value);
            }
            _ => {}
        }
        let attrs = match code {
            OpCode::FpToFp if to.bits() < from.bits() => {
                let rtz = self.draw.percent(30) && !super::SMALL_FLOATS.contains(&to);
                Attrs::FpToFp(Some(if rtz { Rounding::Rtz } else { Rounding::Rtne }))
            }
            OpCode::FpToFp => Attrs::FpToFp(None),
            _ => Attrs::None,
        };
        self.b
            .value(code, &[value], attrs, ty.with_elem(Elem::Scalar(to)))
    }

    /// A float that the integer type holds; NaN becomes the largest.
    fn in_range(&mut self, value: ValueId, to: Scalar, signed: bool) -> ValueId {
        let ty = self.b.ty(value);
        let from = scalar_of(ty).unwrap_or(Scalar::F32);
        // The largest finite numbers of the narrow floats.
        let finite = match from {
            Scalar::F16 => 65504.0,
            _ => f64::INFINITY,
        };
        let most = 2f64.powi(to.bits() as i32 - 2).min(finite);
        let (low, high) = match signed {
            true => (-most, most),
            false => (0.0, most),
        };
        let (low, high) = (self.b.float(ty, low), self.b.float(ty, high));
        let value = self.b.elementwise(OpCode::MinNumF, &[value, high]);
        self.b.elementwise(OpCode::MaxNumF, &[value, low])
    }

    /// A value converted to another type by whatever leads there, in two steps at the most; a constant where nothing does.
    pub(super) fn convert(&mut self, value: ValueId, to: Scalar) -> ValueId {
        let ty = self.b.ty(value);
        let from = scalar_of(ty).unwrap_or(Scalar::I32);
        if from == to {
            return value;
        }
        if let Some(value) = self.converted_at_once(value, to) {
            return value;
        }
        let through = if is_any_float(from) {
            Scalar::F32
        } else {
            Scalar::I32
        };
        let there = self
            .converted_at_once(value, through)
            .and_then(|value| self.converted_at_once(value, to));
        there.unwrap_or_else(|| self.constant_of(ty.with_elem(Elem::Scalar(to))))
    }

    /// A value converted by one operation, if one does that: any of those that do.
    fn converted_at_once(&mut self, value: ValueId, to: Scalar) -> Option<ValueId> {
        let ty = self.b.ty(value);
        let from = scalar_of(ty).unwrap_or(Scalar::I32);
        if from == to {
            return Some(value);
        }
        let codes = [
            OpCode::ExtSI,
            OpCode::ExtUI,
            OpCode::TruncI,
            OpCode::ExtF,
            OpCode::TruncF,
            OpCode::FpToFp,
            OpCode::SiToFp,
            OpCode::UiToFp,
            OpCode::FpToSi,
            OpCode::FpToUi,
        ];
        let fitting: Vec<OpCode> = codes
            .into_iter()
            .filter(|&code| converts(code, from, to) && self.takes_cast(code, from, to))
            .collect();
        match self.draw.one(&fitting) {
            Some(&code) => Some(self.converted(code, value, to)),
            None if to == Scalar::I1 && is_float(from) => {
                let zero = self.b.float(ty, 0.0);
                Some(self.b.cmp_float(FloatPredicate::Une, value, zero))
            }
            None => None,
        }
    }

    /// An integer to an index and back.
    fn index_cast(&mut self, code: OpCode) -> bool {
        let from = [Scalar::I32, Scalar::I64, Scalar::I8][self.draw.below(3)];
        let to = [Scalar::I32, Scalar::I64, Scalar::I16][self.draw.below(3)];
        let value = self.want(Type::scalar(from));
        let index = self.b.cast(code, value, Scalar::Index);
        let value = self.b.cast(code, index, to);
        self.keep(value);
        true
    }
}

/// A pair that fits, if a few tries find one.
fn loop_until_some(
    draw: &mut super::Draws,
    mut once: impl FnMut(&mut super::Draws) -> Option<(Scalar, Scalar)>,
) -> (Option<Scalar>, Option<Scalar>) {
    let found = (0..60).find_map(|_| once(draw));
    (found.map(|f| f.0), found.map(|f| f.1))
}

impl super::Draws {
    fn pick_scalar(&mut self) -> Scalar {
        let all = [super::INTS, super::FLOATS, super::SMALL_FLOATS, &[Scalar::I1]];
        let list = all[self.below(all.len())];
        list[self.below(list.len())]
    }
}

/// The conversions that Triton writes: fp8 only to and from f16, bf16 and f32, and by `tt.fp_to_fp`.
fn converts(code: OpCode, from: Scalar, to: Scalar) -> bool {
    let small = super::SMALL_FLOATS;
    let floats = is_float(from) && is_float(to);
    match code {
        OpCode::ExtSI | OpCode::ExtUI => is_int_or_truth(from) && is_int(to) && from.bits() < to.bits(),
        OpCode::TruncI => is_int(from) && is_int_or_truth(to) && from.bits() > to.bits(),
        OpCode::ExtF => floats && from.bits() < to.bits(),
        OpCode::TruncF => floats && from.bits() > to.bits(),
        OpCode::FpToFp => {
            floats && from.bits() != to.bits()
                || small.contains(&from) && is_float(to) && to != Scalar::F64
                || small.contains(&to) && is_float(from) && from != Scalar::F64
        }
        OpCode::SiToFp | OpCode::UiToFp => is_int_or_truth(from) && is_float(to),
        OpCode::FpToSi | OpCode::FpToUi => is_float(from) && is_int(to),
        OpCode::ArithBitcast | OpCode::Bitcast => from != to && from.bits() == to.bits() && from.bits() > 1,
        _ => false,
    }
}

/// Operations on truth values that mean something.
fn works_on_truth_values(code: OpCode) -> bool {
    use OpCode::{AddI, AndI, MaxSI, MaxUI, MinSI, MinUI, MulI, OrI, SubI, XorI};
    matches!(
        code,
        AddI | SubI | MulI | AndI | OrI | XorI | MinSI | MinUI | MaxSI | MaxUI
    )
}

/// Operations that engines may round in their own way, besides the elementary functions.
pub(super) fn rounds_freely(code: OpCode) -> bool {
    matches!(
        code,
        OpCode::ApproxDivF | OpCode::DivF | OpCode::RemF | OpCode::Sqrt
    )
}
