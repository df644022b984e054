//! Conversions between types.

use tilescope_ir::attrs::Rounding;
use tilescope_ir::{Attrs, OpCode};

use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem};
use crate::value::Tensor;

impl Cx<'_> {
    /// `x.to(dtype)`: a conversion of each element; `rounding` only where a float gets narrower.
    ///
    /// # Errors
    /// Conversions that there are not: pointer to float, a rounding mode for a wider type.
    pub fn cast(&mut self, x: &Tensor, to: Elem, rounding: Option<Rounding>) -> Result<Tensor> {
        let Some(from) = x.ty.elem() else {
            return Err(self.error(format!("a value of type {} has no conversion", x.ty)));
        };
        if from == to {
            return Ok(x.clone());
        }
        if let Elem::Num(to) = to {
            self.check_fp8(to)?;
        }
        let narrows = match (from, to) {
            (Elem::Num(a), Elem::Num(b)) => a.is_float() && b.is_float() && b.bits() < a.bits(),
            _ => false,
        };
        if rounding.is_some() && !narrows {
            return Err(self
                .error(format!("a rounding mode for the conversion of {from} to {to}"))
                .help("`fp_downcast_rounding` is for conversions of floats to narrower floats"));
        }
        match (from, to) {
            (Elem::Num(a), Elem::Num(b)) if a.is_float() && b.is_float() => {
                self.cast_float(x, a, b, rounding)
            }
            (Elem::Num(a), Elem::Num(b)) if a.is_int() && b.is_int() => self.cast_int(x, a, b),
            (Elem::Num(a), Elem::Num(b)) if a.is_float() => self.float_to_int(x, a, b),
            (Elem::Num(a), Elem::Num(b)) => {
                if b.is_fp8() {
                    return Err(self.no_conversion(from, to));
                }
                let code = if a.is_signed() {
                    OpCode::SiToFp
                } else {
                    OpCode::UiToFp
                };
                Ok(self.converted(code, x, to))
            }
            (Elem::Ptr(_), Elem::Num(b)) => match b {
                Dtype::Int64 | Dtype::Uint64 => Ok(self.converted(OpCode::PtrToInt, x, to)),
                Dtype::Int1 => {
                    let address = self.converted(OpCode::PtrToInt, x, Elem::Num(Dtype::Int64));
                    self.is_nonzero(&address)
                }
                _ => Err(self.no_conversion(from, to)),
            },
            (Elem::Num(a), Elem::Ptr(_)) => {
                if a.is_float() || a.bits() != 64 {
                    return Err(self.no_conversion(from, to));
                }
                Ok(self.converted(OpCode::IntToPtr, x, to))
            }
            (Elem::Ptr(_), Elem::Ptr(_)) => Ok(self.same_bits(x, to)),
        }
    }

    fn converted(&mut self, code: OpCode, x: &Tensor, to: Elem) -> Tensor {
        self.emit(code, &[x], Attrs::None, x.ty.with_elem(to))
    }

    fn no_conversion(&self, from: Elem, to: Elem) -> Box<tilescope_diagnostics::Error> {
        let error = self.error(format!("there is no conversion of {from} to {to}"));
        match (from, to) {
            (Elem::Ptr(_), _) => {
                error.help("an address is an int64; for the value it points to use `tl.load`")
            }
            (_, Elem::Ptr(_)) => error.help("an address is an int64: cast to it first"),
            _ => error.help("go through fp32: `x.to(tl.float32)`"),
        }
    }

    /// The same bits as another type: an operation only where the IR's types differ.
    fn same_bits(&mut self, x: &Tensor, to: Elem) -> Tensor {
        let ty = x.ty.with_elem(to);
        if ty.ir() == x.ty.ir() {
            return x.retyped(ty);
        }
        self.emit(OpCode::Bitcast, &[x], Attrs::None, ty)
    }

    fn cast_float(&mut self, x: &Tensor, a: Dtype, b: Dtype, rounding: Option<Rounding>) -> Result<Tensor> {
        use Dtype::{Bf16, Fp8e4b15, Fp16, Fp32};
        if a == Fp8e4b15 || b == Fp8e4b15 {
            return Err(self
                .unsupported(format!("conversion of {a} to {b} is not supported"))
                .help("fp8e4b15 is converted by PTX code in Triton; use fp8e5 or fp8e4nv"));
        }
        let ty = x.ty.with_elem(Elem::Num(b));
        let narrows = b.bits() < a.bits();
        let halves = matches!((a, b), (Bf16, Fp16) | (Fp16, Bf16));
        if halves || a.is_fp8() || b.is_fp8() || rounding == Some(Rounding::Rtz) {
            let rounding = (halves || narrows).then_some(rounding.unwrap_or(Rounding::Rtne));
            return Ok(self.emit(OpCode::FpToFp, &[x], Attrs::FpToFp(rounding), ty));
        }
        if matches!(a, Fp16 | Bf16) && b != Fp32 {
            let single = self.cast(x, Elem::Num(Fp32), None)?;
            return self.cast(&single, Elem::Num(b), None);
        }
        let code = if narrows { OpCode::TruncF } else { OpCode::ExtF };
        Ok(self.emit(code, &[x], Attrs::None, ty))
    }

    fn cast_int(&mut self, x: &Tensor, a: Dtype, b: Dtype) -> Result<Tensor> {
        if b == Dtype::Int1 {
            return self.is_nonzero(x);
        }
        let code = match a.bits().cmp(&b.bits()) {
            std::cmp::Ordering::Equal => return Ok(x.retyped(x.ty.with_elem(Elem::Num(b)))),
            std::cmp::Ordering::Greater => OpCode::TruncI,
            std::cmp::Ordering::Less if a.is_signed() => OpCode::ExtSI,
            std::cmp::Ordering::Less => OpCode::ExtUI,
        };
        Ok(self.converted(code, x, Elem::Num(b)))
    }

    fn float_to_int(&mut self, x: &Tensor, a: Dtype, b: Dtype) -> Result<Tensor> {
        if a.is_fp8() {
            return Err(self.no_conversion(Elem::Num(a), Elem::Num(b)));
        }
        if matches!(a, Dtype::Fp16 | Dtype::Bf16) {
            let single = self.cast(x, Elem::Num(Dtype::Fp32), None)?;
            return self.cast(&single, Elem::Num(b), None);
        }
        match b {
            Dtype::Int1 => self.is_nonzero(x),
            _ if b.is_signed() => Ok(self.converted(OpCode::FpToSi, x, Elem::Num(b))),
            _ => Ok(self.converted(OpCode::FpToUi, x, Elem::Num(b))),
        }
    }

    /// `x.to(dtype, bitcast=True)`: the same bits.
    ///
    /// # Errors
    /// Types of different width.
    pub fn bitcast(&mut self, x: &Tensor, to: Elem) -> Result<Tensor> {
        let Some(from) = x.ty.elem() else {
            return Err(self.error(format!("a value of type {} has no conversion", x.ty)));
        };
        match (from, to) {
            (Elem::Num(a), Elem::Num(b)) => {
                if a.bits() != b.bits() {
                    return Err(self
                        .error(format!(
                            "a bitcast of {a} ({} bits) to {b} ({} bits): the widths differ",
                            a.bits(),
                            b.bits()
                        ))
                        .help("to convert values leave `bitcast=True` out"));
                }
                Ok(self.same_bits(x, to))
            }
            _ => self.cast(x, to, None),
        }
    }

    /// The rounding mode with this name (`"rtne"`, `"rtz"`).
    ///
    /// # Errors
    /// Another name.
    pub fn rounding_mode(&self, name: &str) -> Result<Rounding> {
        Rounding::from_word(name)
            .ok_or_else(|| self.error(format!("`{name}` is no rounding mode: use \"rtne\" or \"rtz\"")))
    }
}
