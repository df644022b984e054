//! Conversions between number types.

use tilescope_ir::OpCode;
use tilescope_ir::attrs::{Attrs, FloatPredicate, IntPredicate, Rounding};
use tilescope_launch::{Dtype, Element};

use super::operand::Number;
use super::types::{bits, is_fp8, is_signed};
use crate::Tile;
use crate::builder::{Core, Made, Value};

impl<'k> Tile<'k> {
    /// The same numbers as another type: floats rounded to nearest even, floats to integers cut toward zero,
    /// integers wrapped to the width, anything but zero to `true`.
    #[track_caller]
    pub fn to(self, dtype: Dtype) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            core.number_type(value, "a conversion")?;
            core.cast(value, dtype)
        })
    }

    /// The same numbers as another type, named in Rust: `x.cast::<f16>()`. See [`Tile::to`].
    #[track_caller]
    pub fn cast<T: Element>(self) -> Tile<'k> {
        self.to(T::DTYPE)
    }

    /// The same bits as another type of the same width.
    #[track_caller]
    pub fn bitcast(self, dtype: Dtype) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let from = core.number_type(value, "`bitcast`")?;
            if bits(from) != bits(dtype) {
                let message = format!(
                    "`bitcast` of `{}` to `{}`, of another width",
                    value.ty,
                    dtype.name()
                );
                return Err(message.into());
            }
            Ok(match super::types::scalar(from) == super::types::scalar(dtype) {
                true => core.value(value.id, value.ty.of(dtype)),
                false => core.emit(OpCode::Bitcast, &[value], Attrs::None, value.ty.of(dtype)),
            })
        })
    }
}

impl Core {
    /// A value of numbers in another number type.
    pub(crate) fn cast(&mut self, value: Value, to: Dtype) -> Made {
        let from = self.number_type(value, "a conversion")?;
        if from == to {
            return Ok(value);
        }
        if to == Dtype::I1 {
            return self.is_not_zero(value, from);
        }
        match (from.is_float(), to.is_float()) {
            (true, true) => Ok(self.float_to_float(value, from, to)),
            // fp8 has no direct conversion to and from integers.
            (true, false) if is_fp8(from) => {
                let wide = self.float_to_float(value, from, Dtype::F32);
                self.cast(wide, to)
            }
            (false, true) if is_fp8(to) => {
                let wide = self.cast(value, Dtype::F32)?;
                self.cast(wide, to)
            }
            (true, false) => Ok(self.convert(
                if is_signed(to) {
                    OpCode::FpToSi
                } else {
                    OpCode::FpToUi
                },
                value,
                to,
            )),
            (false, true) => {
                let signed = is_signed(from);
                Ok(self.convert(if signed { OpCode::SiToFp } else { OpCode::UiToFp }, value, to))
            }
            (false, false) => Ok(self.integer_to_integer(value, from, to)),
        }
    }

    fn convert(&mut self, code: OpCode, value: Value, to: Dtype) -> Value {
        self.emit(code, &[value], Attrs::None, value.ty.of(to))
    }

    fn integer_to_integer(&mut self, value: Value, from: Dtype, to: Dtype) -> Value {
        use std::cmp::Ordering;
        match bits(from).cmp(&bits(to)) {
            // Only the sign changes, which the IR does not know.
            Ordering::Equal => self.value(value.id, value.ty.of(to)),
            Ordering::Greater => self.convert(OpCode::TruncI, value, to),
            Ordering::Less if is_signed(from) => self.convert(OpCode::ExtSI, value, to),
            Ordering::Less => self.convert(OpCode::ExtUI, value, to),
        }
    }

    fn float_to_float(&mut self, value: Value, from: Dtype, to: Dtype) -> Value {
        let halves = [Dtype::F16, Dtype::BF16];
        if is_fp8(from) || is_fp8(to) || (halves.contains(&from) && halves.contains(&to)) {
            let narrower = bits(to) <= bits(from);
            let rounding = narrower.then_some(Rounding::Rtne);
            return self.emit(OpCode::FpToFp, &[value], Attrs::FpToFp(rounding), value.ty.of(to));
        }
        let code = if bits(to) < bits(from) {
            OpCode::TruncF
        } else {
            OpCode::ExtF
        };
        self.convert(code, value, to)
    }

    fn is_not_zero(&mut self, value: Value, from: Dtype) -> Made {
        let zero = self.number(Number::Int(0), from)?;
        let zero = self.shape_to(zero, value.ty.shape)?;
        let ty = value.ty.of(Dtype::I1);
        Ok(match from.is_float() {
            true => self.emit(OpCode::CmpF, &[value, zero], Attrs::CmpF(FloatPredicate::Une), ty),
            false => self.emit(OpCode::CmpI, &[value, zero], Attrs::CmpI(IntPredicate::Ne), ty),
        })
    }
}
