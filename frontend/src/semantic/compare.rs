//! Comparisons, logic and selection.

use tilescope_ir::attrs::{FloatPredicate, IntPredicate};
use tilescope_ir::{Attrs, OpCode};

use super::promote::Rules;
use crate::ast::{BinaryOp, BoolOp, CompareOp};
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem};
use crate::value::{Tensor, Value};

/// Predicates for floats, signed and unsigned integers.
fn predicates(op: CompareOp) -> Option<(FloatPredicate, IntPredicate, IntPredicate)> {
    use FloatPredicate as F;
    use IntPredicate as I;
    Some(match op {
        CompareOp::Eq => (F::Oeq, I::Eq, I::Eq),
        CompareOp::Ne => (F::Une, I::Ne, I::Ne),
        CompareOp::Lt => (F::Olt, I::Slt, I::Ult),
        CompareOp::Le => (F::Ole, I::Sle, I::Ule),
        CompareOp::Gt => (F::Ogt, I::Sgt, I::Ugt),
        CompareOp::Ge => (F::Oge, I::Sge, I::Uge),
        CompareOp::Is | CompareOp::IsNot | CompareOp::In | CompareOp::NotIn => return None,
    })
}

/// The comparison that says the same of swapped operands.
fn reflected(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Le,
        other => other,
    }
}

impl Cx<'_> {
    /// A comparison where at least one side is a run-time tensor (not `is`, `in`).
    ///
    /// # Errors
    /// As for [`Cx::binary`].
    pub fn compare(&mut self, op: CompareOp, l: &Value, r: &Value) -> Result<Value> {
        let Some((float, signed, unsigned)) = predicates(op) else {
            let error = self.error(format!("`{}` of a run-time value", op.symbol()));
            return Err(error.help("run-time values have no identity; compare them with `==`"));
        };
        if let (Value::Int(_) | Value::Bool(_) | Value::Float(_), Value::Tensor(_)) = (l, r) {
            return self.compare(reflected(op), r, l); // the tensor's method is called, as in Python
        }
        let (a, b) = self.operands(l, r, Rules::default())?;
        let dtype = self.number_type(&a)?;
        let (code, attrs) = match dtype {
            _ if dtype.is_float() => (OpCode::CmpF, Attrs::CmpF(float)),
            _ if dtype.is_signed() => (OpCode::CmpI, Attrs::CmpI(signed)),
            _ => (OpCode::CmpI, Attrs::CmpI(unsigned)),
        };
        let ty = a.ty.with_elem(Elem::Num(Dtype::Int1));
        Ok(self.emit(code, &[&a, &b], attrs, ty).into())
    }

    /// `x != 0`.
    pub(super) fn is_nonzero(&mut self, x: &Tensor) -> Result<Tensor> {
        let zero = self.number_as(super::constant::Number::Int(0), self.number_type(x)?)?;
        match self.compare(CompareOp::Ne, &x.clone().into(), &zero.into())? {
            Value::Tensor(tensor) => Ok(tensor),
            _ => Err(self.error("a comparison gave no tensor")),
        }
    }

    /// `and`, `or` of run-time values (Triton: `logical_and`, `logical_or`).
    ///
    /// # Errors
    /// As for [`Cx::binary`].
    pub fn logic(&mut self, op: BoolOp, l: &Value, r: &Value) -> Result<Value> {
        let (word, op) = match op {
            BoolOp::And => ("and", BinaryOp::And),
            BoolOp::Or => ("or", BinaryOp::Or),
        };
        let (l, r) = (self.to_tensor(l)?, self.to_tensor(r)?);
        let (l, r) = (self.truth(&l, word)?, self.truth(&r, word)?);
        self.binary(op, &l.into(), &r.into())
    }

    /// An operand of `and`, `or`, `not`: truth values, which wider types are not taken for.
    pub(super) fn truth(&mut self, x: &Tensor, op: &str) -> Result<Tensor> {
        if x.dtype() == Some(Dtype::Int1) {
            return Ok(x.clone());
        }
        let error = self.error(format!("`{op}` of a value of type {}", x.ty));
        Err(error.help(
            "`and`, `or` and `not` take truth values (int1): compare with `!= 0`; for bits use `&`, `|`, `~`",
        ))
    }

    /// A condition as one `int1`.
    ///
    /// # Errors
    /// A block of several elements.
    pub fn to_condition(&mut self, value: &Tensor) -> Result<Tensor> {
        if value.shape().log2_elements() != 0 || value.ty.elem().is_none() {
            return Err(self
                .error(format!(
                    "a condition of type {}: one truth value is needed",
                    value.ty
                ))
                .help(
                    "reduce it (`tl.sum(x) > 0`, `tl.max(x, 0)`), or choose lane by lane with `tl.where`",
                ));
        }
        let one = self.unsplat(value)?;
        self.cast(&one, Elem::Num(Dtype::Int1), None)
    }

    /// `tl.where`.
    ///
    /// # Errors
    /// Operands that do not combine.
    pub fn where_(&mut self, condition: &Value, x: &Value, y: &Value) -> Result<Tensor> {
        let condition = self.to_tensor(condition)?;
        let mut condition = self.cast(&condition, Elem::Num(Dtype::Int1), None)?;
        let rules = Rules {
            left_pointer: true,
            right_pointer: true,
            division: false,
        };
        let (mut x, mut y) = self.operands(x, y, rules)?;
        if x.ty.elem() != y.ty.elem() {
            let error = self.error(format!("`where` chooses between {} and {}", x.ty, y.ty));
            return Err(error.help("both must be pointers of one type, or numbers"));
        }
        if condition.is_block() {
            (condition, x) = self.broadcast_pair(&condition, &x)?;
            (x, y) = self.broadcast_pair(&x, &y)?;
        } else {
            (condition, _) = self.broadcast_pair(&condition, &x)?;
        }
        let ty = x.ty.clone();
        Ok(self.emit(OpCode::Select, &[&condition, &x, &y], Attrs::None, ty))
    }
}
