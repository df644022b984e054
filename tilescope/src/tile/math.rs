//! Functions of one lane.

use tilescope_ir::OpCode;
use tilescope_ir::attrs::{Attrs, Extern};
use tilescope_launch::Dtype;

use super::operand::{Number, Operand};
use super::types::is_signed;
use crate::Tile;
use crate::builder::{Builder, Core, Input, Made, Stop, Value, wrong};

/// Where a function comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// An operation of the IR.
    Op(OpCode),
    /// A function of NVIDIA's libdevice: `__nv_NAME` for `f64`, `__nv_NAMEf` for `f32`.
    Library(&'static str),
}

use Origin::{Library, Op};

macro_rules! functions {
    ($($(#[$doc:meta])* $method:ident $origin:expr;)*) => {
        impl<'k> Tile<'k> {$(
            $(#[$doc])*
            ///
            /// Takes `f32` and `f64`, as in Triton.
            #[track_caller]
            pub fn $method(self) -> Tile<'k> {
                self.k.make(|core| {
                    let value = core.take(Operand::given(self))?;
                    let value = core.wide_float(value, stringify!($method))?;
                    core.function($origin, &[value])
                })
            }
        )*}
    };
}

functions! {
    /// e to a power.
    exp Op(OpCode::Exp);
    /// Two to a power.
    exp2 Op(OpCode::Exp2);
    /// e to a power, minus one.
    exp_m1 Library("expm1");
    /// Natural logarithm.
    ln Op(OpCode::Log);
    /// Logarithm to base two.
    log2 Op(OpCode::Log2);
    /// Logarithm to base ten.
    log10 Library("log10");
    /// Natural logarithm of one plus the operand.
    ln_1p Library("log1p");
    /// Square root.
    sqrt Op(OpCode::Sqrt);
    /// One over the square root.
    rsqrt Op(OpCode::Rsqrt);
    /// Sine of radians.
    sin Op(OpCode::Sin);
    /// Cosine of radians.
    cos Op(OpCode::Cos);
    /// Tangent of radians.
    tan Library("tan");
    /// Hyperbolic tangent.
    tanh Library("tanh");
    /// Inverse tangent.
    atan Library("atan");
    /// Error function.
    erf Op(OpCode::Erf);
    /// Largest integer not above.
    floor Op(OpCode::Floor);
    /// Smallest integer not below.
    ceil Op(OpCode::Ceil);
    /// Integer part, toward zero.
    trunc Library("trunc");
    /// Nearest integer, halves to the even one.
    round_ties_even Library("rint");
}

impl<'k> Tile<'k> {
    /// Absolute value; the smallest integer stays as it is.
    #[track_caller]
    pub fn abs(self) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let dtype = core.number_type(value, "`abs`")?;
            if !dtype.is_float() && !is_signed(dtype) {
                return Ok(value);
            }
            let code = if dtype.is_float() {
                OpCode::AbsF
            } else {
                OpCode::AbsI
            };
            Ok(core.emit(code, &[value], Attrs::None, value.ty))
        })
    }

    /// `1 / (1 + exp(-x))`, of `f32` and `f64`.
    #[track_caller]
    pub fn sigmoid(self) -> Tile<'k> {
        1 / (1 + (-self).exp())
    }

    /// This to a power, of `f32` and `f64`.
    #[track_caller]
    pub fn pow(self, exponent: impl Operand<'k>) -> Tile<'k> {
        self.k.make(|core| {
            let (x, y) = (core.take(Operand::given(self))?, core.take(exponent.given())?);
            let (x, y) = core.meet(x, y, true, "`pow`")?;
            let (x, y) = core.same_shape(x, y, "`pow`")?;
            core.wide_float(Input::Value(x), "pow")?;
            core.function(Library("pow"), &[x, y])
        })
    }

    /// `self * factor + term`, rounded once; of floats.
    #[track_caller]
    pub fn mul_add(self, factor: impl Operand<'k>, term: impl Operand<'k>) -> Tile<'k> {
        self.k.make(|core| {
            let x = core.take(Operand::given(self))?;
            let (y, z) = (core.take(factor.given())?, core.take(term.given())?);
            let (x, y) = core.meet(x, y, false, "`mul_add`")?;
            let (x, z) = core.meet(Input::Value(x), z, false, "`mul_add`")?;
            let (y, z) = core.meet(Input::Value(y), Input::Value(z), false, "`mul_add`")?;
            if !core.number_type(x, "`mul_add`")?.is_float() {
                return Err(format!("`mul_add` takes floats, this is `{}`", x.ty).into());
            }
            let (x, y) = core.same_shape(x, y, "`mul_add`")?;
            let (x, z) = core.same_shape(x, z, "`mul_add`")?;
            let y = core.shape_to(y, x.ty.shape)?;
            Ok(core.emit(OpCode::Fma, &[x, y, z], Attrs::None, x.ty))
        })
    }
}

impl Builder {
    /// A tile with the same number in every lane; one number for the shape `[]`.
    #[track_caller]
    pub fn full(&self, shape: impl AsRef<[i32]>, value: impl Into<Number>, dtype: Dtype) -> Tile<'_> {
        self.make(|core| {
            let shape = super::shape::shape_of(shape.as_ref())?;
            let one = core.number(value.into(), dtype)?;
            core.shape_to(one, shape)
        })
    }

    /// A tile of zeros.
    #[track_caller]
    pub fn zeros(&self, shape: impl AsRef<[i32]>, dtype: Dtype) -> Tile<'_> {
        self.full(shape, 0, dtype)
    }

    /// `start, start + 1, …, end - 1` as `i32`; their number is a power of two.
    #[track_caller]
    pub fn arange(&self, start: i32, end: i32) -> Tile<'_> {
        self.make(|core| {
            let count = i64::from(end) - i64::from(start);
            let shape = u64::try_from(count).ok().and_then(|n| tilescope_ir::Shape::new(&[n]));
            let Some(shape) = shape else {
                return Err(wrong(format!("`arange` of {count} numbers"))
                    .help("the number of elements of a range is a power of two; mask the ones that are too many")
                    .into());
            };
            let shape = super::shape::small_enough(shape)?;
            let ty = super::types::TileType::number(Dtype::I32).shaped(Some(shape));
            Ok(core.emit(OpCode::MakeRange, &[], Attrs::Range { start, end }, ty))
        })
    }
}

impl Core {
    /// A function of values of one type, `f32` or `f64`.
    fn function(&mut self, origin: Origin, operands: &[Value]) -> Made {
        let ty = operands.first().ok_or(Stop::Broken)?.ty;
        let name = match origin {
            Op(code) => return Ok(self.emit(code, operands, Attrs::None, ty)),
            Library(name) => name,
        };
        let suffix = if ty.dtype() == Some(Dtype::F32) { "f" } else { "" };
        let attrs = Attrs::Extern(Box::new(Extern {
            libname: "".into(),
            libpath: "".into(),
            symbol: format!("__nv_{name}{suffix}").into(),
            pure: true,
        }));
        Ok(self.emit(OpCode::ExternElementwise, operands, attrs, ty))
    }

    /// A value of `f32` or `f64`, which the functions of the GPU take.
    fn wide_float(&mut self, value: Input, name: &str) -> Made {
        let value = self.own(value)?;
        match self.number_type(value, &format!("`{name}`"))? {
            Dtype::F32 | Dtype::F64 => Ok(value),
            _ => Err(
                wrong(format!("`{name}` takes `f32` or `f64`, this is `{}`", value.ty))
                    .also(value, "it was made here")
                    .help("convert it first: `.cast::<f32>()`")
                    .into(),
            ),
        }
    }
}
