//! Arithmetic: operators, minimum and maximum, divisions.

use tilescope_ir::attrs::PropagateNan;
use tilescope_ir::{Attrs, OpCode};

use super::promote::Rules;
use crate::ast::{BinaryOp, UnaryOp};
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem};
use crate::value::{Tensor, Value};

/// Which float division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// As the hardware does it by default.
    Plain,
    /// Rounded to nearest (`ieee_rounding=True`, `div_rn`).
    Ieee,
    /// Approximate, of fp32 only.
    Approx,
}

/// Which of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Extremum {
    Minimum,
    Maximum,
}

const DIVISION: Rules = Rules {
    left_pointer: false,
    right_pointer: false,
    division: true,
};

/// The opcode for floats, signed and unsigned integers.
fn by_kind(dtype: Dtype, float: OpCode, signed: OpCode, unsigned: OpCode) -> OpCode {
    match dtype {
        _ if dtype.is_float() => float,
        _ if dtype.is_signed() => signed,
        _ => unsigned,
    }
}

impl Cx<'_> {
    /// `l op r` where at least one side is a run-time tensor.
    ///
    /// # Errors
    /// Types that do not fit the operator, shapes that do not broadcast.
    pub fn binary(&mut self, op: BinaryOp, l: &Value, r: &Value) -> Result<Value> {
        let result = match op {
            BinaryOp::Add => self.add(l, r)?,
            BinaryOp::Sub => self.sub(l, r)?,
            BinaryOp::Mul => self.arithmetic(l, r, Rules::default(), OpCode::MulF, OpCode::MulI)?,
            BinaryOp::Div => self.true_divide(l, r)?,
            BinaryOp::FloorDiv => self.floor_divide(l, r)?,
            BinaryOp::Mod => {
                let (a, b) = self.operands(l, r, DIVISION)?;
                let code = by_kind(self.number_type(&a)?, OpCode::RemF, OpCode::RemSI, OpCode::RemUI);
                self.elementwise(code, &[&a, &b])
            }
            BinaryOp::And => self.bitwise(l, r, OpCode::AndI)?,
            BinaryOp::Or => self.bitwise(l, r, OpCode::OrI)?,
            BinaryOp::Xor => self.bitwise(l, r, OpCode::XorI)?,
            BinaryOp::Shl => self.bitwise(l, r, OpCode::ShlI)?,
            BinaryOp::Shr => {
                // The tensor whose method Python calls decides: the left one if it is a tensor.
                let signed = |v: &Value| match v {
                    Value::Tensor(t) => t.dtype().map(Dtype::is_signed),
                    _ => None,
                };
                let signed = signed(l).or_else(|| signed(r)).unwrap_or(true);
                self.bitwise(l, r, if signed { OpCode::ShrSI } else { OpCode::ShrUI })?
            }
            BinaryOp::Pow => {
                return Err(self
                    .error("`**` is not defined for run-time values")
                    .help("multiply (`x * x`), or use `libdevice.pow(x, y)` or `tl.exp2(y * tl.log2(x))`"));
            }
            BinaryOp::MatMul => {
                return Err(self
                    .error("`@` is not defined for run-time values")
                    .help("use `tl.dot(a, b)`"));
            }
        };
        Ok(result.into())
    }

    pub(super) fn number_type(&self, x: &Tensor) -> Result<Dtype> {
        x.dtype()
            .ok_or_else(|| self.error(format!("a value of type {} is no number", x.ty)))
    }

    fn arithmetic(
        &mut self,
        l: &Value,
        r: &Value,
        rules: Rules,
        float: OpCode,
        int: OpCode,
    ) -> Result<Tensor> {
        let (a, b) = self.operands(l, r, rules)?;
        let code = by_kind(self.number_type(&a)?, float, int, int);
        Ok(self.elementwise(code, &[&a, &b]))
    }

    fn add(&mut self, l: &Value, r: &Value) -> Result<Tensor> {
        let rules = Rules {
            left_pointer: true,
            right_pointer: true,
            division: false,
        };
        let (a, b) = self.operands(l, r, rules)?;
        match (a.ty.elem(), b.ty.elem()) {
            (Some(x @ Elem::Ptr(_)), Some(y @ Elem::Ptr(_))) => {
                Err(self.error(format!("{x} and {y} cannot be added: both are pointers")))
            }
            (Some(Elem::Ptr(_)), _) => self.add_ptr(&a, &b),
            (_, Some(Elem::Ptr(_))) => self.add_ptr(&b, &a),
            _ => {
                let code = by_kind(self.number_type(&a)?, OpCode::AddF, OpCode::AddI, OpCode::AddI);
                Ok(self.elementwise(code, &[&a, &b]))
            }
        }
    }

    /// A pointer moved; offsets are taken as signed, so unsigned ones are widened first.
    fn add_ptr(&mut self, pointer: &Tensor, offset: &Tensor) -> Result<Tensor> {
        let dtype = self.number_type(offset)?;
        let offset = if !dtype.is_signed() && dtype.bits() < 64 {
            let wide = Elem::Num(Dtype::Int64);
            self.emit(OpCode::ExtUI, &[offset], Attrs::None, offset.ty.with_elem(wide))
        } else {
            offset.clone()
        };
        Ok(self.elementwise(OpCode::AddPtr, &[pointer, &offset]))
    }

    fn sub(&mut self, l: &Value, r: &Value) -> Result<Tensor> {
        let rules = Rules {
            left_pointer: true,
            ..Rules::default()
        };
        let (a, b) = self.operands(l, r, rules)?;
        if a.pointer().is_some() {
            let b = self.negate(&b)?;
            return self.add_ptr(&a, &b);
        }
        let code = by_kind(self.number_type(&a)?, OpCode::SubF, OpCode::SubI, OpCode::SubI);
        Ok(self.elementwise(code, &[&a, &b]))
    }

    fn true_divide(&mut self, l: &Value, r: &Value) -> Result<Tensor> {
        let (mut a, mut b) = self.operands(l, r, DIVISION)?;
        if self.number_type(&a)?.is_int() {
            a = self.cast(&a, Elem::Num(Dtype::Fp32), None)?;
            b = self.cast(&b, Elem::Num(Dtype::Fp32), None)?;
        }
        Ok(self.elementwise(OpCode::DivF, &[&a, &b]))
    }

    fn floor_divide(&mut self, l: &Value, r: &Value) -> Result<Tensor> {
        let (a, b) = self.operands(l, r, DIVISION)?;
        let dtype = self.number_type(&a)?;
        if dtype.is_float() {
            return Err(self
                .error(format!(
                    "`//` divides integers, these operands are computed as {dtype}"
                ))
                .help("use `tl.floor(x / y)`"));
        }
        let code = if dtype.is_signed() {
            OpCode::DivSI
        } else {
            OpCode::DivUI
        };
        Ok(self.elementwise(code, &[&a, &b]))
    }

    fn bitwise(&mut self, l: &Value, r: &Value, code: OpCode) -> Result<Tensor> {
        let (a, b) = self.operands(l, r, Rules::default())?;
        if self.number_type(&a)?.is_float() {
            let elem = |v: &Value, t: &Tensor| {
                match v {
                    Value::Tensor(v) => v.ty.elem(),
                    v => self.constant_dtype(v).ok().map(Elem::Num),
                }
                .or(t.ty.elem())
            };
            let (Some(x), Some(y)) = (elem(l, &a), elem(r, &b)) else {
                return Err(self.error("invalid operands"));
            };
            return Err(self.invalid_operands(x, y));
        }
        Ok(self.elementwise(code, &[&a, &b]))
    }

    /// A unary operator of a run-time tensor; `not` is that of truth values.
    ///
    /// # Errors
    /// A type that does not fit.
    pub fn unary(&mut self, op: UnaryOp, x: &Tensor) -> Result<Value> {
        let result = match op {
            UnaryOp::Pos => x.clone(),
            UnaryOp::Neg => self.negate(x)?,
            UnaryOp::Invert => self.invert(x)?,
            UnaryOp::Not => {
                let truth = self.truth(x, "not")?;
                self.invert(&truth)?
            }
        };
        Ok(result.into())
    }

    fn negate(&mut self, x: &Tensor) -> Result<Tensor> {
        let dtype = self.signed_operand(x, "-")?;
        if dtype.is_float() {
            return Ok(self.elementwise(OpCode::NegF, &[x]));
        }
        let zero = self.int_constant(0, dtype);
        let (zero, x) = self.broadcast_pair(&zero, x)?;
        Ok(self.elementwise(OpCode::SubI, &[&zero, &x]))
    }

    fn signed_operand(&self, x: &Tensor, op: &str) -> Result<Dtype> {
        x.dtype()
            .ok_or_else(|| self.error(format!("unary `{op}` of a value of type {}", x.ty)))
    }

    pub(super) fn invert(&mut self, x: &Tensor) -> Result<Tensor> {
        let dtype = self.signed_operand(x, "~")?;
        if dtype.is_float() {
            return Err(self
                .error(format!("unary `~` of a value of type {}", x.ty))
                .help("`~` flips the bits of integers and truth values"));
        }
        let ones = self.int_constant(-1, dtype);
        let (x, ones) = self.broadcast_pair(x, &ones)?;
        Ok(self.elementwise(OpCode::XorI, &[&x, &ones]))
    }

    /// `tl.math.fdiv`, `tl.div_rn`: a float division.
    ///
    /// # Errors
    /// Integers; types other than fp32 where approximate.
    pub fn divide(&mut self, l: &Value, r: &Value, kind: Division) -> Result<Tensor> {
        let (a, b) = self.operands(l, r, DIVISION)?;
        let dtype = self.number_type(&a)?;
        if dtype.is_int() {
            return Err(self
                .error(format!("a float division of operands of type {dtype}"))
                .help("cast them: `x.to(tl.float32)`"));
        }
        let code = match kind {
            Division::Plain => OpCode::DivF,
            Division::Ieee => OpCode::PreciseDivF,
            Division::Approx if dtype == Dtype::Fp32 => OpCode::ApproxDivF,
            Division::Approx => {
                return Err(self.error(format!(
                    "approximate division is of fp32, these operands are {dtype}"
                )));
            }
        };
        Ok(self.elementwise(code, &[&a, &b]))
    }

    /// `tl.minimum`, `tl.maximum`.
    ///
    /// # Errors
    /// Operands that do not combine.
    pub fn extremum(&mut self, kind: Extremum, l: &Value, r: &Value, nan: PropagateNan) -> Result<Tensor> {
        let (a, b) = self.operands(l, r, Rules::default())?;
        let dtype = self.number_type(&a)?;
        let code = match (kind, nan) {
            (Extremum::Minimum, PropagateNan::None) => {
                by_kind(dtype, OpCode::MinNumF, OpCode::MinSI, OpCode::MinUI)
            }
            (Extremum::Minimum, PropagateNan::All) => {
                by_kind(dtype, OpCode::MinimumF, OpCode::MinSI, OpCode::MinUI)
            }
            (Extremum::Maximum, PropagateNan::None) => {
                by_kind(dtype, OpCode::MaxNumF, OpCode::MaxSI, OpCode::MaxUI)
            }
            (Extremum::Maximum, PropagateNan::All) => {
                by_kind(dtype, OpCode::MaximumF, OpCode::MaxSI, OpCode::MaxUI)
            }
        };
        Ok(self.elementwise(code, &[&a, &b]))
    }

    /// `tl.clamp`.
    ///
    /// # Errors
    /// Operands that do not combine.
    pub fn clamp(&mut self, x: &Value, low: &Value, high: &Value, nan: PropagateNan) -> Result<Tensor> {
        let [x, low, high] = self.three_operands([x, low, high])?;
        if self.number_type(&x)?.is_float() {
            let ty = x.ty.clone();
            return Ok(self.emit(OpCode::ClampF, &[&x, &low, &high], Attrs::ClampF(nan), ty));
        }
        let above = self.extremum(Extremum::Maximum, &x.into(), &low.into(), nan)?;
        self.extremum(Extremum::Minimum, &above.into(), &high.into(), nan)
    }
}
