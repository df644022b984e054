//! Arithmetic of the twin: f64 operations on shadows, and the bounds that go with them.
//!
//! A bound that is infinite or NaN says that nothing is known: infinite where a number is larger than its type holds, so
//! that the kernel's own is infinite; NaN where another path may decide otherwise, or the bound itself ends nowhere. Neither
//! is dropped on the way, and NaN wins.
//!
//! A number that is NaN or infinite for the twin and has a finite bound is so on every path: the operands give it, whatever
//! they round to.

use tilescope_ir::attrs::FloatPredicate;
use tilescope_ir::{Elem, FunctionBuilder, OpCode, Scalar, Type, ValueId};

use super::rounding;
use super::shadow::Shadow;

/// Appends f64 operations.
pub(super) struct Wide<'b>(pub &'b mut FunctionBuilder);

impl Wide<'_> {
    pub(super) fn op(&mut self, code: OpCode, operands: &[ValueId]) -> ValueId {
        self.0.elementwise(code, operands)
    }

    pub(super) fn constant(&mut self, like: ValueId, value: f64) -> ValueId {
        let ty = self.wide_type(like);
        self.0.float(ty, value)
    }

    /// f64 in the form of a value.
    pub(super) fn wide_type(&self, like: ValueId) -> Type {
        self.0.ty(like).with_elem(Elem::Scalar(Scalar::F64))
    }

    pub(super) fn add(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.op(OpCode::AddF, &[a, b])
    }

    pub(super) fn sub(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.op(OpCode::SubF, &[a, b])
    }

    pub(super) fn mul(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.op(OpCode::MulF, &[a, b])
    }

    pub(super) fn abs(&mut self, a: ValueId) -> ValueId {
        self.op(OpCode::AbsF, &[a])
    }

    /// NaN if one is.
    pub(super) fn max(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.op(OpCode::MaximumF, &[a, b])
    }

    pub(super) fn times(&mut self, a: ValueId, factor: f64) -> ValueId {
        let factor = self.constant(a, factor);
        self.mul(a, factor)
    }

    pub(super) fn compare(&mut self, predicate: FloatPredicate, a: ValueId, b: ValueId) -> ValueId {
        self.0.cmp_float(predicate, a, b)
    }

    /// True for NaN and the infinities.
    pub(super) fn is_special(&mut self, a: ValueId) -> ValueId {
        let size = self.abs(a);
        let infinity = self.constant(size, f64::INFINITY);
        self.compare(FloatPredicate::Uge, size, infinity)
    }

    pub(super) fn is_nan(&mut self, a: ValueId) -> ValueId {
        self.compare(FloatPredicate::Uno, a, a)
    }

    /// The magnitude of a number; zero for NaN and the infinities, of which no rounding makes another one.
    pub(super) fn finite_size(&mut self, a: ValueId) -> ValueId {
        let special = self.is_special(a);
        let size = self.abs(a);
        self.unless(special, 0.0, size)
    }

    pub(super) fn is_zero(&mut self, a: ValueId) -> ValueId {
        let zero = self.constant(a, 0.0);
        self.compare(FloatPredicate::Oeq, a, zero)
    }

    /// `value` where the condition is false, a constant where it is true.
    pub(super) fn unless(&mut self, condition: ValueId, constant: f64, value: ValueId) -> ValueId {
        let constant = self.constant(value, constant);
        self.0.select(condition, constant, value)
    }

    /// `error` where something is known of the operand, the operand's own where nothing is: a path may have NaN there, which
    /// even a function with bounded results keeps.
    pub(super) fn if_known(&mut self, operand: ValueId, error: ValueId) -> ValueId {
        let infinite = self.constant(error, f64::INFINITY);
        let known = self.compare(FloatPredicate::Olt, operand, infinite);
        self.0.select(known, error, operand)
    }

    /// `error`, NaN where the condition is true; infinite where it is and a number is `lost` in any case.
    fn unless_over(&mut self, over: ValueId, lost: ValueId, error: ValueId) -> ValueId {
        let infinite = self.constant(error, f64::INFINITY);
        let unknown = self.constant(error, f64::NAN);
        let either = self.0.select(lost, infinite, unknown);
        self.0.select(over, either, error)
    }

    /// True where a number of magnitude `size` does not fit in its type, or one on the way to it did not.
    fn lost(&mut self, size: ValueId, base: ValueId, number: Scalar) -> ValueId {
        let limit = self.constant(size, rounding::largest(number));
        let infinity = self.constant(size, f64::INFINITY);
        let large = self.compare(FloatPredicate::Ogt, size, limit);
        let before = self.compare(FloatPredicate::Oeq, base, infinity);
        self.op(OpCode::OrI, &[large, before])
    }

    /// What an error does to the product of `x` with what has it: nothing where x is NaN, as the product is then.
    pub(super) fn of_product(&mut self, x: ValueId, error: ValueId) -> ValueId {
        let nan = self.is_nan(x);
        let x = self.unless(nan, 0.0, x);
        self.scaled(x, error)
    }

    /// `|x| * error`, and zero without an error even where x is infinite.
    pub(super) fn scaled(&mut self, x: ValueId, error: ValueId) -> ValueId {
        let none = self.is_zero(error);
        let x = self.abs(x);
        let product = self.mul(x, error);
        self.unless(none, 0.0, product)
    }

    /// `|a - b|`, and zero where both are the same infinity.
    pub(super) fn distance(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let same = self.compare(FloatPredicate::Oeq, a, b);
        let difference = self.sub(a, b);
        let difference = self.abs(difference);
        self.unless(same, 0.0, difference)
    }

    /// The error of a result `wide` of the operands' errors (`base`) and its own rounding to `number`, which is at most
    /// `units` times the format's unit of rounding, plus `least` where it is not exactly zero.
    pub(super) fn rounded(
        &mut self,
        wide: ValueId,
        base: ValueId,
        number: Scalar,
        units: f64,
        least: f64,
    ) -> ValueId {
        let size = self.abs(wide);
        let infinity = self.constant(size, f64::INFINITY);
        let special = self.compare(FloatPredicate::Uge, size, infinity);
        let size = self.unless(special, 0.0, size);
        let reach = self.add(size, base);
        let known = self.compare(FloatPredicate::Olt, base, infinity);
        let settled = self.op(OpCode::AndI, &[special, known]);
        let zero = self.is_zero(reach);
        let exact = self.op(OpCode::OrI, &[zero, settled]);
        let own = self.times(reach, units * rounding::unit(number));
        let least = self.constant(own, least.max(rounding::smallest(number)));
        let own = self.add(own, least);
        let error = self.add(base, own);
        let error = self.unless(exact, 0.0, error);
        if number == Scalar::F64 {
            return error;
        }
        // One path may overflow where another does not.
        let limit = self.constant(reach, rounding::largest(number));
        let over = self.compare(FloatPredicate::Ogt, reach, limit);
        let lost = self.lost(size, base, number);
        self.unless_over(over, lost, error)
    }

    /// The error of a sum of terms whose magnitudes add up to `sizes`, all roundings counted in `base`. Terms may cancel in
    /// the end, and overflow on the way.
    pub(super) fn summed(&mut self, wide: ValueId, sizes: ValueId, base: ValueId, number: Scalar) -> ValueId {
        // The last rounding is one of those counted; what is left of the rule is overflow.
        let error = self.rounded(wide, base, number, 0.0, 0.0);
        if number == Scalar::F64 {
            return error;
        }
        let reach = self.add(sizes, base);
        let limit = self.constant(reach, rounding::largest(number));
        let over = self.compare(FloatPredicate::Ogt, reach, limit);
        let size = self.abs(wide);
        let lost = self.lost(size, base, number);
        self.unless_over(over, lost, error)
    }

    /// [`rounding::of_sums`] of values.
    pub(super) fn of_sums(
        &mut self,
        wide: ValueId,
        error: ValueId,
        (sizes, counts): (ValueId, ValueId),
        number: Scalar,
    ) -> ValueId {
        let size = self.finite_size(wide);
        let reach = self.add(size, sizes);
        let reach = self.add(reach, error);
        let units = self.times(counts, rounding::unit(number));
        let one = self.constant(units, 1.0);
        let again = self.add(units, one);
        let own = self.mul(units, again);
        let own = self.mul(own, reach);
        let lost = self.times(counts, rounding::lost_by_atomic(number));
        let own = self.add(own, lost);
        let limit = self.constant(reach, rounding::largest(number));
        let over = self.compare(FloatPredicate::Ogt, reach, limit);
        let own = self.unless(over, f64::NAN, own);
        let none = self.is_zero(counts);
        let own = self.unless(none, 0.0, own);
        self.add(error, own)
    }

    /// The bound of a function whose operand a card takes for zero where it is subnormal: then the square root is zero, floor and
    /// ceil of small numbers too, and of the root's reciprocal nothing is known.
    pub(super) fn of_zero_too(
        &mut self,
        code: OpCode,
        (x, error): (ValueId, ValueId),
        result: ValueId,
        bound: ValueId,
    ) -> ValueId {
        let (low, high) = (self.sub(x, error), self.add(x, error));
        let least = self.constant(x, rounding::FLUSHED);
        let most = self.constant(x, -rounding::FLUSHED);
        let below = self.compare(FloatPredicate::Olt, low, least);
        let above = self.compare(FloatPredicate::Ogt, high, most);
        let near = self.0.elementwise(OpCode::AndI, &[below, above]);
        let lost = match code {
            OpCode::Sqrt | OpCode::Floor | OpCode::Ceil => self.abs(result),
            _ => self.constant(result, f64::NAN),
        };
        let none = self.constant(result, 0.0);
        let lost = self.0.select(near, lost, none);
        // Zero itself is zero everywhere.
        let size = self.abs(x);
        let size = self.add(size, error);
        let zero = self.is_zero(size);
        let lost = self.unless(zero, 0.0, lost);
        self.add(bound, lost)
    }

    /// The error that a monotone function makes of its operand's.
    pub(super) fn monotone(&mut self, code: OpCode, operand: (ValueId, ValueId), result: ValueId) -> ValueId {
        let (x, error) = operand;
        let (mut low, high) = (self.sub(x, error), self.add(x, error));
        if code == OpCode::Sqrt {
            // Below zero by rounding alone.
            let zero = self.constant(x, 0.0);
            let positive = self.compare(FloatPredicate::Oge, x, zero);
            let cut = self.max(low, zero);
            low = self.0.select(positive, cut, low);
        }
        let (low, high) = (self.op(code, &[low]), self.op(code, &[high]));
        let (below, above) = (self.distance(result, low), self.distance(high, result));
        let spread = self.max(below, above);
        let none = self.is_zero(error);
        self.unless(none, 0.0, spread)
    }

    /// The error of a quotient before its own rounding.
    pub(super) fn quotient(
        &mut self,
        (a, a_error): (ValueId, ValueId),
        b: (ValueId, ValueId),
        q: ValueId,
    ) -> ValueId {
        let of_b = self.scaled(q, b.1);
        let numerator = self.add(a_error, of_b);
        let size = self.abs(b.0);
        let denominator = self.sub(size, b.1);
        let zero = self.constant(size, 0.0);
        let positive = self.compare(FloatPredicate::Ogt, denominator, zero);
        let error = self.op(OpCode::DivF, &[numerator, denominator]);
        // What may be divided by zero has no bound; of a divisor without one, its own is kept.
        let unknown = self.constant(error, f64::NAN);
        let infinity = self.constant(error, f64::INFINITY);
        let endless = self.compare(FloatPredicate::Oeq, b.1, infinity);
        let otherwise = self.0.select(endless, infinity, unknown);
        let error = self.0.select(positive, error, otherwise);
        // Zero through what may be zero is NaN on one path.
        let divisor_is_exact = self.is_zero(b.1);
        let divides = self.op(OpCode::OrI, &[positive, divisor_is_exact]);
        let exact = self.is_zero(numerator);
        let exact = self.op(OpCode::AndI, &[exact, divides]);
        // NaN through anything stays NaN.
        let nan = self.is_nan(a);
        let sure = self.is_zero(a_error);
        let nan = self.op(OpCode::AndI, &[nan, sure]);
        let exact = self.op(OpCode::OrI, &[exact, nan]);
        self.unless(exact, 0.0, error)
    }

    /// The error of a remainder before its own rounding.
    ///
    /// Triton's compiler has no exact one: it computes `a - trunc(a / b) * b`, the quotient rounded in f32 (f64 for f64), the
    /// rest rounded once, and takes the dividend where the divisor is infinite. The integer is another one where the
    /// quotient is large or within its rounding of an integer.
    pub(super) fn remainder(
        &mut self,
        (a, a_error): (ValueId, ValueId),
        (b, b_error): (ValueId, ValueId),
        wide: ValueId,
        number: Scalar,
    ) -> ValueId {
        let sum = self.add(a_error, b_error);
        let exact = self.is_zero(sum);
        let size = self.abs(b);
        let through = if number == Scalar::F64 {
            Scalar::F64
        } else {
            Scalar::F32
        };
        let quotient = self.op(OpCode::DivF, &[a, b]);
        let quotient = self.abs(quotient);
        let off = self.times(quotient, 2.0 * rounding::unit(through));
        let integer = self.op(OpCode::RoundEven, &[quotient]);
        let apart = self.distance(quotient, integer);
        let near = self.compare(FloatPredicate::Ole, apart, off);
        let one = self.constant(quotient, 1.0);
        let whole = self.compare(FloatPredicate::Oge, integer, one);
        let near = self.op(OpCode::AndI, &[near, whole]);
        let others = self.add(off, one);
        let others = self.scaled(size, others);
        let none = self.constant(size, 0.0);
        let of_integer = self.0.select(near, others, none);
        let limit = self.constant(quotient, rounding::largest(through));
        let over = self.compare(FloatPredicate::Oge, quotient, limit);
        let of_integer = self.unless(over, f64::NAN, of_integer);
        // NaN everywhere, but for infinity through infinity.
        let nan = self.is_nan(wide);
        let specials = [self.is_special(a), self.is_special(b)];
        let both = self.op(OpCode::AndI, &specials);
        let of_nan = self.unless(both, f64::NAN, none);
        let of_integer = self.0.select(nan, of_nan, of_integer);
        // Any remainder may become any other by errors, with the other sign where the dividend's may turn.
        let reach = self.add(size, b_error);
        let twice = self.times(reach, 2.0);
        let dividend = self.abs(a);
        let turns = self.compare(FloatPredicate::Ule, dividend, a_error);
        let all = self.0.select(turns, twice, reach);
        let all = self.add(all, others);
        // By zero it is NaN, and by what an error may make zero.
        let zero = self.compare(FloatPredicate::Ule, size, b_error);
        let unsure = self.op(OpCode::OrI, &[zero, nan]);
        let all = self.unless(unsure, f64::NAN, all);
        let base = self.0.select(exact, of_integer, all);
        self.if_known(sum, base)
    }

    /// Nothing is known of a function whose operand a card takes for zero where it is subnormal, and whose result is another one then.
    pub(super) fn unless_flushed(&mut self, operand: Shadow, number: Scalar, bound: ValueId) -> ValueId {
        if matches!(number, Scalar::F64 | Scalar::F16) {
            return bound;
        }
        let size = self.abs(operand.wide);
        let low = self.sub(size, operand.error);
        let least = self.constant(size, rounding::FLUSHED);
        let small = self.compare(FloatPredicate::Olt, low, least);
        let high = self.add(size, operand.error);
        let zero = self.constant(size, 0.0);
        let some = self.compare(FloatPredicate::Ogt, high, zero);
        let lost = self.op(OpCode::AndI, &[small, some]);
        self.unless(lost, f64::NAN, bound)
    }

    /// Nothing is known where a function is NaN of a subnormal operand: a card may take that for zero.
    pub(super) fn unless_nan_of_subnormal(
        &mut self,
        operand: ValueId,
        result: ValueId,
        error: ValueId,
    ) -> ValueId {
        let size = self.abs(operand);
        let least = self.constant(size, rounding::FLUSHED);
        let small = self.compare(FloatPredicate::Olt, size, least);
        let nan = self.is_nan(result);
        let lost = self.op(OpCode::AndI, &[small, nan]);
        self.unless(lost, f64::NAN, error)
    }
}
