//! Arithmetic, comparison, choice: what two operands give, in the type in which they meet.

use std::panic::Location;

use tilescope_ir::attrs::{Attrs, FloatPredicate, IntPredicate};
use tilescope_ir::{OpCode, Shape};
use tilescope_launch::Dtype;

use super::operand::{Number, Operand};
use super::promote;
use super::types::{Lane, bits, is_signed};
use crate::Tile;
use crate::builder::{Builder, Core, Input, Made, Value, wrong};

/// An operation of two operands of one type; operators are named as in `std::ops`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Minimum,
    Maximum,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}

impl Binary {
    /// As it stands in the author's source.
    fn symbol(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
            Binary::BitAnd => "&",
            Binary::BitOr => "|",
            Binary::BitXor => "^",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
            Binary::Minimum => "minimum",
            Binary::Maximum => "maximum",
        }
    }

    /// The IR's operation on numbers of a type; none where there is none.
    fn code(self, dtype: Dtype) -> Option<OpCode> {
        if dtype.is_float() {
            return Some(match self {
                Binary::Add => OpCode::AddF,
                Binary::Sub => OpCode::SubF,
                Binary::Mul => OpCode::MulF,
                Binary::Div => OpCode::DivF,
                Binary::Rem => OpCode::RemF,
                Binary::Minimum => OpCode::MinNumF,
                Binary::Maximum => OpCode::MaxNumF,
                Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::Shl | Binary::Shr => return None,
            });
        }
        let by_sign = |signed, unsigned| if is_signed(dtype) { signed } else { unsigned };
        Some(match self {
            Binary::Add => OpCode::AddI,
            Binary::Sub => OpCode::SubI,
            Binary::Mul => OpCode::MulI,
            Binary::Div => by_sign(OpCode::DivSI, OpCode::DivUI),
            Binary::Rem => by_sign(OpCode::RemSI, OpCode::RemUI),
            Binary::BitAnd => OpCode::AndI,
            Binary::BitOr => OpCode::OrI,
            Binary::BitXor => OpCode::XorI,
            Binary::Shl => OpCode::ShlI,
            Binary::Shr => by_sign(OpCode::ShrSI, OpCode::ShrUI),
            Binary::Minimum => by_sign(OpCode::MinSI, OpCode::MinUI),
            Binary::Maximum => by_sign(OpCode::MaxSI, OpCode::MaxUI),
        })
    }
}

impl Compare {
    fn attrs(self, dtype: Dtype) -> Attrs {
        if dtype.is_float() {
            return Attrs::CmpF(match self {
                Compare::Lt => FloatPredicate::Olt,
                Compare::Le => FloatPredicate::Ole,
                Compare::Gt => FloatPredicate::Ogt,
                Compare::Ge => FloatPredicate::Oge,
                Compare::Eq => FloatPredicate::Oeq,
                Compare::Ne => FloatPredicate::Une,
            });
        }
        let by_sign = |signed, unsigned| if is_signed(dtype) { signed } else { unsigned };
        Attrs::CmpI(match self {
            Compare::Lt => by_sign(IntPredicate::Slt, IntPredicate::Ult),
            Compare::Le => by_sign(IntPredicate::Sle, IntPredicate::Ule),
            Compare::Gt => by_sign(IntPredicate::Sgt, IntPredicate::Ugt),
            Compare::Ge => by_sign(IntPredicate::Sge, IntPredicate::Uge),
            Compare::Eq => IntPredicate::Eq,
            Compare::Ne => IntPredicate::Ne,
        })
    }
}

impl<'k> Tile<'k> {
    #[track_caller]
    pub(crate) fn binary(self, op: Binary, other: impl Operand<'k>) -> Tile<'k> {
        self.k.binary(op, self, other)
    }

    /// The operation at a line that was kept.
    pub(crate) fn binary_at(self, at: &Location<'_>, op: Binary, other: Tile<'k>) -> Tile<'k> {
        self.k.make_at(at, |core| {
            let (a, b) = (core.take(self.given())?, core.take(other.given())?);
            core.binary(op, a, b)
        })
    }

    #[track_caller]
    fn compare(self, op: Compare, other: impl Operand<'k>) -> Tile<'k> {
        self.k.make(|core| {
            let (a, b) = (core.take(self.given())?, core.take(other.given())?);
            core.compare(op, a, b)
        })
    }

    /// Where this is less.
    #[track_caller]
    pub fn lt(self, other: impl Operand<'k>) -> Tile<'k> {
        self.compare(Compare::Lt, other)
    }

    /// Where this is less or equal.
    #[track_caller]
    pub fn le(self, other: impl Operand<'k>) -> Tile<'k> {
        self.compare(Compare::Le, other)
    }

    /// Where this is greater.
    #[track_caller]
    pub fn gt(self, other: impl Operand<'k>) -> Tile<'k> {
        self.compare(Compare::Gt, other)
    }

    /// Where this is greater or equal.
    #[track_caller]
    pub fn ge(self, other: impl Operand<'k>) -> Tile<'k> {
        self.compare(Compare::Ge, other)
    }

    /// Where both are equal; NaN equals nothing.
    #[track_caller]
    pub fn eq(self, other: impl Operand<'k>) -> Tile<'k> {
        self.compare(Compare::Eq, other)
    }

    /// Where they differ; NaN differs from all.
    #[track_caller]
    pub fn ne(self, other: impl Operand<'k>) -> Tile<'k> {
        self.compare(Compare::Ne, other)
    }

    /// The smaller of two, lane by lane; where one is NaN, the other. (Along a dimension: [`Tile::min`].)
    #[track_caller]
    pub fn minimum(self, other: impl Operand<'k>) -> Tile<'k> {
        self.binary(Binary::Minimum, other)
    }

    /// The larger of two, lane by lane; where one is NaN, the other. (Along a dimension: [`Tile::max`].)
    #[track_caller]
    pub fn maximum(self, other: impl Operand<'k>) -> Tile<'k> {
        self.binary(Binary::Maximum, other)
    }

    /// This, but not below `low` nor above `high`.
    #[track_caller]
    pub fn clamp(self, low: impl Operand<'k>, high: impl Operand<'k>) -> Tile<'k> {
        self.maximum(low).minimum(high)
    }

    /// How many blocks of `size` this many elements need: `(self + size - 1) / size`, for positive integers.
    #[track_caller]
    pub fn cdiv(self, size: impl Operand<'k>) -> Tile<'k> {
        self.k.make(|core| {
            let (count, size) = (core.take(self.given())?, core.take(size.given())?);
            let one = Input::Number(Number::Int(1));
            let less_one = match size {
                Input::Number(Number::Int(size)) => Input::Number(Number::Int(size.saturating_sub(1))),
                size => Input::Value(core.binary(Binary::Sub, size, one)?),
            };
            let sum = core.binary(Binary::Add, count, less_one)?;
            core.binary(Binary::Div, Input::Value(sum), size)
        })
    }

    #[track_caller]
    pub(crate) fn negated(self) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let dtype = core.number_type(value, "`-`")?;
            if dtype.is_float() {
                return Ok(core.emit(OpCode::NegF, &[value], Attrs::None, value.ty));
            }
            let zero = core.number(Number::Int(0), dtype)?;
            core.binary(Binary::Sub, Input::Value(zero), Input::Value(value))
        })
    }

    #[track_caller]
    pub(crate) fn inverted(self) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let dtype = core.number_type(value, "`!`")?;
            if dtype.is_float() {
                return Err(format!("`!` takes truth values or integers, this is `{}`", value.ty).into());
            }
            let ones = core.all_ones(dtype);
            core.binary(Binary::BitXor, Input::Value(value), Input::Value(ones))
        })
    }
}

impl Builder {
    #[track_caller]
    pub(crate) fn binary<'k>(&'k self, op: Binary, a: impl Operand<'k>, b: impl Operand<'k>) -> Tile<'k> {
        self.make(|core| {
            let (a, b) = (core.take(a.given())?, core.take(b.given())?);
            core.binary(op, a, b)
        })
    }

    /// Lane by lane `a` where the condition holds, else `b`.
    #[track_caller]
    pub fn where_<'k>(
        &'k self,
        condition: impl Operand<'k>,
        a: impl Operand<'k>,
        b: impl Operand<'k>,
    ) -> Tile<'k> {
        self.make(|core| {
            let condition = core.take(condition.given())?;
            let (a, b) = (core.take(a.given())?, core.take(b.given())?);
            let condition = core.truth(condition)?;
            let (a, b) = match (a, b) {
                (Input::Value(a), Input::Value(b)) if a.ty.lane == b.ty.lane => (a, b),
                _ => core.meet(a, b, false, "`where_`")?,
            };
            let (a, b) = core.same_shape(a, b, "`where_`")?;
            let (condition, a) = core.same_shape(condition, a, "`where_`")?;
            let b = core.shape_to(b, a.ty.shape)?;
            Ok(core.emit(OpCode::Select, &[condition, a, b], Attrs::None, a.ty))
        })
    }
}

impl Core {
    /// Both operands as values of the type in which they meet, shapes as they were.
    pub(crate) fn meet(&mut self, a: Input, b: Input, division: bool, what: &str) -> Made<(Value, Value)> {
        let operand = |core: &Core, input: Input| -> Made<promote::Operand> {
            Ok(match input {
                Input::Value(value) => promote::Operand {
                    dtype: core.number_type(value, what)?,
                    weak: false,
                },
                Input::Number(number) => promote::Operand {
                    dtype: promote::of_number(number)?,
                    weak: true,
                },
            })
        };
        let (x, y) = (operand(self, a)?, operand(self, b)?);
        let dtype = promote::common(x, y, division)?;
        let mut to = |input| match input {
            Input::Value(value) => self.cast(value, dtype),
            Input::Number(number) => self.number(number, dtype),
        };
        Ok((to(a)?, to(b)?))
    }

    /// Both values in the shape that they broadcast to.
    pub(crate) fn same_shape(&mut self, a: Value, b: Value, what: &str) -> Made<(Value, Value)> {
        let shape = self.common_shape(a, b, what)?;
        Ok((self.shape_to(a, shape)?, self.shape_to(b, shape)?))
    }

    /// `a op b`.
    pub(crate) fn binary(&mut self, op: Binary, a: Input, b: Input) -> Made {
        let what = format!("`{}`", op.symbol());
        if let Some(pointer) = self.pointer_arithmetic(op, a, b)? {
            return Ok(pointer);
        }
        let division = matches!(op, Binary::Div | Binary::Rem);
        let (x, y) = self.meet(a, b, division, &what)?;
        let dtype = self.number_type(x, &what)?;
        let Some(code) = op.code(dtype) else {
            return Err(wrong(format!(
                "{what} of {} and {}: it takes integers",
                a.describe(),
                b.describe()
            ))
            .into());
        };
        let (x, y) = self.same_shape(x, y, &what)?;
        Ok(self.emit(code, &[x, y], Attrs::None, x.ty))
    }

    /// A pointer plus or minus an integer; none if there is no pointer.
    fn pointer_arithmetic(&mut self, op: Binary, a: Input, b: Input) -> Made<Option<Value>> {
        let is_pointer = |input| matches!(input, Input::Value(v) if matches!(v.ty.lane, Lane::Pointer(_)));
        let (pointer, offset) = match (op, a, b) {
            _ if !is_pointer(a) && !is_pointer(b) => return Ok(None),
            (Binary::Add | Binary::Sub, Input::Value(p), offset) if !is_pointer(offset) => (p, offset),
            (Binary::Add, offset, Input::Value(p)) if !is_pointer(offset) => (p, offset),
            _ => {
                let message = format!("`{}` of {} and {}", op.symbol(), a.describe(), b.describe());
                let help = "pointers take `+` and `-` with an integer: the number of elements to move by";
                return Err(wrong(message).help(help).into());
            }
        };
        let mut offset = self.own(offset)?;
        let dtype = self.number_type(offset, "a pointer's offset")?;
        if dtype.is_float() {
            let message = format!("a pointer moved by `{}`: offsets are integers", offset.ty);
            return Err(wrong(message).into());
        }
        if !is_signed(dtype) && bits(dtype) < 64 {
            // `tt.addptr` takes its offset as signed.
            offset = self.cast(offset, Dtype::I64)?;
        }
        if op == Binary::Sub {
            let zero = self.number(Number::Int(0), self.number_type(offset, "a pointer's offset")?)?;
            offset = self.binary(Binary::Sub, Input::Value(zero), Input::Value(offset))?;
        }
        let (pointer, offset) = self.same_shape(pointer, offset, "a pointer and an offset")?;
        Ok(Some(self.emit(
            OpCode::AddPtr,
            &[pointer, offset],
            Attrs::None,
            pointer.ty,
        )))
    }

    /// `a op b`, truth values.
    pub(crate) fn compare(&mut self, op: Compare, a: Input, b: Input) -> Made {
        let (a, b) = self.meet(a, b, false, "a comparison")?;
        let (a, b) = self.same_shape(a, b, "a comparison")?;
        let dtype = self.number_type(a, "a comparison")?;
        let code = if dtype.is_float() {
            OpCode::CmpF
        } else {
            OpCode::CmpI
        };
        Ok(self.emit(code, &[a, b], op.attrs(dtype), a.ty.of(Dtype::I1)))
    }

    /// An operand as truth values, which it must be.
    pub(crate) fn truth(&mut self, input: Input) -> Made {
        match input {
            Input::Value(value) if value.ty.dtype() == Some(Dtype::I1) => Ok(value),
            Input::Number(Number::Bool(_)) => self.own(input),
            _ => Err(wrong(format!("a condition or mask of type {}", input.describe()))
                .help("compare it, for example with `.ne(0)`: conditions and masks are truth values (`i1`)")
                .into()),
        }
    }

    /// An operand as one truth value.
    pub(crate) fn one_truth(&mut self, input: Input) -> Made {
        let value = self.truth(input)?;
        match value.ty.shape {
            None => Ok(value),
            Some(shape) if shape == Shape::default() => Ok(value),
            Some(_) => Err(wrong(format!(
                "a condition of type `{}`: a branch or loop takes one truth value",
                value.ty
            ))
            .help("choose lane by lane with `where_`, or reduce the tile to one number first")
            .into()),
        }
    }

    fn all_ones(&mut self, dtype: Dtype) -> Value {
        let ty = super::types::TileType::number(dtype);
        let id = self.b.int(ty.ir(), -1);
        self.value(id, ty)
    }
}
