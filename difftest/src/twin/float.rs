//! Element-wise float operations and library functions.

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::{Extern, FloatPredicate};
use tilescope_ir::{Attrs, Elem, Function, OpCode, OpId, Scalar, ValueId};

use super::rewrite::Rewriter;
use super::rounding::{self, EXP_SLOPE, EXP_ULPS};
use super::shadow::{Kind, Shadow};

/// Functions of the device library with a row of the op table: name without `__nv_` and the suffix of f32.
const LIBRARY: &[(&str, OpCode)] = &[
    ("exp", OpCode::Exp),
    ("exp2", OpCode::Exp2),
    ("expm1", OpCode::ExpM1),
    ("log", OpCode::Log),
    ("log2", OpCode::Log2),
    ("log10", OpCode::Log10),
    ("log1p", OpCode::Log1p),
    ("sqrt", OpCode::Sqrt),
    ("rsqrt", OpCode::Rsqrt),
    ("sin", OpCode::Sin),
    ("cos", OpCode::Cos),
    ("tan", OpCode::Tan),
    ("tanh", OpCode::Tanh),
    ("atan", OpCode::Atan),
    ("atan2", OpCode::Atan2),
    ("pow", OpCode::PowF),
    ("erf", OpCode::Erf),
    ("floor", OpCode::Floor),
    ("ceil", OpCode::Ceil),
    ("trunc", OpCode::Trunc),
    ("rint", OpCode::RoundEven),
    ("round", OpCode::Round),
    ("fabs", OpCode::AbsF),
    ("fmin", OpCode::MinNumF),
    ("fmax", OpCode::MaxNumF),
    ("copysign", OpCode::CopySign),
    ("fma", OpCode::Fma),
];

impl Rewriter<'_> {
    /// A row of the table whose lanes are floats.
    pub(super) fn float(&mut self, f: &Function, op: OpId) -> Result<()> {
        let value = self.copy(f, op)?[0];
        let operands = self.operands(f, op)?;
        self.function(f, op, f.ops[op].code, &operands, value)
    }

    /// A function of the device library, as the row of the same name.
    pub(super) fn library(&mut self, f: &Function, op: OpId) -> Result<()> {
        let operands = self.operands(f, op)?;
        let result = f.result(op).map(|v| f.ty(v));
        let floats = operands.iter().all(|s| s.kind == Kind::Float);
        let number = result.and_then(|ty| ty.elem()).and_then(Elem::scalar);
        if operands.iter().all(|s| s.kind != Kind::Float) && number.is_some_and(Scalar::is_int) {
            return self.discrete(f, op);
        }
        let Attrs::Extern(call) = &f.ops[op].attrs else {
            return Err(self.refuse(f, op, "a call without a symbol"));
        };
        let Extern { symbol, .. } = &**call;
        let name = symbol.strip_prefix("__nv_").unwrap_or(symbol);
        let name = match number {
            Some(Scalar::F32) => name.strip_suffix('f').unwrap_or(name),
            _ => name,
        };
        // The other fast ones have no bound worth the name: the logarithm loses all digits near 1.
        let name = if name == "fast_exp" { "exp" } else { name };
        let row = LIBRARY.iter().find(|(known, _)| *known == name);
        let Some(&(_, code)) = row.filter(|_| floats) else {
            return Err(self.refuse(f, op, &format!("the function `{symbol}`")));
        };
        let value = self.copy(f, op)?[0];
        self.function(f, op, code, &operands, value)
    }

    fn function(
        &mut self,
        f: &Function,
        op: OpId,
        code: OpCode,
        operands: &[Shadow],
        value: ValueId,
    ) -> Result<()> {
        let number = self.b.ty(value).elem().and_then(Elem::scalar);
        let Some(number) = number else {
            return Err(self.refuse(f, op, "values without a number"));
        };
        let wides: Vec<ValueId> = operands.iter().map(|s| s.wide).collect();
        let wide = self.b.elementwise(code, &wides);
        let error = self.function_error(code, operands, wide, number);
        let Some(error) = error else {
            return Err(self.refuse(f, op, "its error is not known"));
        };
        self.set(f, op, 0, Shadow::float(value, wide, error));
        Ok(())
    }

    /// The bound of a row's result; none for rows that are not float functions.
    fn function_error(
        &mut self,
        code: OpCode,
        operands: &[Shadow],
        wide: ValueId,
        number: Scalar,
    ) -> Option<ValueId> {
        use OpCode::*;
        let at = |i: usize| operands.get(i).copied();
        let a = at(0)?;
        let mut w = self.wide();
        // f32 functions are approximations on a card; f16 and bf16 go through them and are rounded again.
        let approximate = 2.0 * rounding::ulps(code);
        let flushed = rounding::flushed(code, number);
        let (units, least) = match number {
            _ if approximate <= 1.0 => (1.0, 0.0),
            Scalar::F32 => (approximate, flushed),
            Scalar::F64 => (4.0, 0.0),
            _ => (1.5, flushed),
        };
        let base = match code {
            AddF | SubF => w.add(a.error, at(1)?.error),
            MulF => {
                let b = at(1)?;
                let (x, y, z) = (
                    w.of_product(a.wide, b.error),
                    w.of_product(b.wide, a.error),
                    w.scaled(a.error, b.error),
                );
                let sum = w.add(x, y);
                w.add(sum, z)
            }
            Fma => {
                let (b, c) = (at(1)?, at(2)?);
                let (x, y, z) = (
                    w.of_product(a.wide, b.error),
                    w.of_product(b.wide, a.error),
                    w.scaled(a.error, b.error),
                );
                let sum = w.add(x, y);
                let sum = w.add(sum, z);
                w.add(sum, c.error)
            }
            DivF | ApproxDivF | PreciseDivF => {
                let b = at(1)?;
                w.quotient((a.wide, a.error), (b.wide, b.error), wide)
            }
            NegF | AbsF => return Some(a.error),
            MinimumF | MaximumF | MinNumF | MaxNumF => return Some(w.max(a.error, at(1)?.error)),
            CopySign => {
                let b = at(1)?;
                let size = w.abs(b.wide);
                let inexact = {
                    let zero = w.constant(b.error, 0.0);
                    w.compare(FloatPredicate::Une, b.error, zero)
                };
                let near = w.compare(FloatPredicate::Ule, size, b.error);
                // Which sign a NaN has is every path's own affair.
                let nan = w.is_nan(b.wide);
                let size = w.abs(wide);
                let twice = w.times(size, 2.0);
                let other = w.add(a.error, twice);
                let unsure = self.b.elementwise(AndI, &[inexact, near]);
                let unsure = self.b.elementwise(OrI, &[unsure, nan]);
                return Some(self.b.select(unsure, other, a.error));
            }
            Exp => {
                let base = w.monotone(code, (a.wide, a.error), wide);
                if number != Scalar::F32 {
                    return Some(w.rounded(wide, base, number, 2.0 * units, least));
                }
                // 2^(x log2 e): the rounding of the product grows with x.
                let size = w.finite_size(a.wide);
                let slope = w.times(size, 2.0 * EXP_SLOPE * rounding::unit(number));
                let result = w.finite_size(wide);
                let more = w.mul(slope, result);
                let base = w.add(base, more);
                return Some(w.rounded(wide, base, number, 2.0 * EXP_ULPS, rounding::FLUSHED));
            }
            Exp2 | ExpM1 | Log | Log2 | Log10 | Log1p | Sqrt | PreciseSqrt | Rsqrt | Tanh | Atan | Erf => {
                let base = w.monotone(code, (a.wide, a.error), wide);
                let base = w.if_known(a.error, base);
                match (code, number) {
                    (_, Scalar::F64) => base,
                    (Sqrt | Rsqrt, _) => w.of_zero_too(code, (a.wide, a.error), wide, base),
                    (Log | Log2 | Log10, _) => w.unless_nan_of_subnormal(a.wide, wide, base),
                    _ => base,
                }
            }
            Floor | Ceil => {
                let base = w.monotone(code, (a.wide, a.error), wide);
                return Some(match number {
                    Scalar::F64 => base,
                    _ => w.of_zero_too(code, (a.wide, a.error), wide, base),
                });
            }
            Trunc | Round | RoundEven => {
                return Some(w.monotone(code, (a.wide, a.error), wide));
            }
            Sin | Cos => {
                let two = w.constant(a.error, 2.0);
                let base = w.op(MinimumF, &[a.error, two]);
                w.if_known(a.error, base)
            }
            RemF => {
                let b = at(1)?;
                let base = w.remainder((a.wide, a.error), (b.wide, b.error), wide, number);
                return Some(w.rounded(wide, base, number, 1.0, 0.0));
            }
            PowF => {
                let b = at(1)?;
                let (low, high) = (w.sub(a.wide, a.error), w.add(a.wide, a.error));
                let (less, more) = (w.sub(b.wide, b.error), w.add(b.wide, b.error));
                let mut spread = w.constant(wide, 0.0);
                for corner in [[low, less], [low, more], [high, less], [high, more]] {
                    let corner = w.op(PowF, &corner);
                    let apart = w.distance(corner, wide);
                    spread = w.max(spread, apart);
                }
                let sum = w.add(a.error, b.error);
                let exact = w.is_zero(sum);
                let zero = w.constant(low, 0.0);
                let positive = w.compare(FloatPredicate::Ogt, low, zero);
                let unknown = w.constant(spread, f64::NAN);
                let spread = w.0.select(positive, spread, unknown);
                let base = w.unless(exact, 0.0, spread);
                w.unless_flushed(a, number, base)
            }
            Tan | Atan2 => {
                let mut sum = a.error;
                if let Some(b) = at(1) {
                    sum = w.add(sum, b.error);
                }
                let exact = w.is_zero(sum);
                let unknown = w.constant(sum, f64::NAN);
                let base = w.unless(exact, 0.0, unknown);
                match at(1) {
                    None => base,
                    Some(b) => {
                        let base = w.unless_flushed(a, number, base);
                        w.unless_flushed(b, number, base)
                    }
                }
            }
            _ => return None,
        };
        Some(w.rounded(wide, base, number, units, least))
    }
}
