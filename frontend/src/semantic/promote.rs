//! Type promotion and implicit broadcasting of operands.

use tilescope_ir::{Attrs, OpCode, Shape};

use super::constant::Number;
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, Ty};
use crate::value::{Tensor, Value};

/// What a binary operation asks of its operands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    /// The left one may be a pointer.
    pub left_pointer: bool,
    /// The right one may be a pointer.
    pub right_pointer: bool,
    /// A division or remainder: floats narrower than fp32 are widened, signs must agree.
    pub division: bool,
}

/// An operand: a constant, weak in promotion, or a tensor.
#[derive(Debug, Clone)]
enum Operand {
    Number(Number),
    Tensor(Tensor),
}

impl Operand {
    fn elem(&self) -> Option<Elem> {
        match self {
            Operand::Number(number) => Some(Elem::Num(number.dtype())),
            Operand::Tensor(tensor) => tensor.ty.elem(),
        }
    }

    fn is_weak(&self) -> bool {
        matches!(self, Operand::Number(_))
    }
}

/// Bool below integers below floats: a constant of a kind not above the tensor's takes the tensor's type.
fn kind(dtype: Dtype) -> u8 {
    match dtype {
        Dtype::Int1 => 0,
        _ if dtype.is_int() => 1,
        _ => 2,
    }
}

/// Whether two blocks have a common shape, dimensions of one put in front of the one of lower rank.
fn broadcastable(a: Shape, b: Shape) -> bool {
    let ranks = a.rank().max(b.rank());
    let dim = |s: Shape, axis: usize| (axis + s.rank()).checked_sub(ranks).map_or(1, |i| s.dim(i));
    (0..ranks).all(|axis| {
        let (x, y) = (dim(a, axis), dim(b, axis));
        x == y || x == 1 || y == 1
    })
}

/// C's usual arithmetic conversions.
pub(super) fn integer_promote(a: Dtype, b: Dtype) -> Dtype {
    let wider = |x: Dtype, y: Dtype| if x.bits() > y.bits() { x } else { y };
    match (a.is_signed(), b.is_signed()) {
        (x, y) if x == y => wider(a, b),
        (false, _) if a.bits() >= b.bits() => a,
        (false, _) => b,
        (true, _) if b.bits() >= a.bits() => b,
        (true, _) => a,
    }
}

impl Cx<'_> {
    /// The type in which two number types are computed; `weak` ones are of constants.
    ///
    /// # Errors
    /// Types that do not combine: signed with unsigned in a division.
    pub fn computation_type(&self, a: (Dtype, bool), b: (Dtype, bool), division: bool) -> Result<Dtype> {
        use Dtype::{Bf16, Fp16, Fp32, Fp64};
        let ((mut x, a_weak), (mut y, b_weak)) = (a, b);
        if a_weak != b_weak {
            let (weak, strong) = if a_weak { (x, y) } else { (y, x) };
            if kind(weak) <= kind(strong) {
                (x, y) = (strong, strong);
            }
        }
        let either = |t: Dtype| x == t || y == t;
        Ok(match () {
            () if either(Fp64) => Fp64,
            () if division && (x.is_float() || y.is_float()) => Fp32,
            () if either(Fp32) => Fp32,
            () if either(Fp16) => Fp16,
            () if x == Bf16 && y == Bf16 => Bf16,
            () if either(Bf16) => Fp32,
            () if x.is_fp8() && y.is_fp8() => {
                if x == y {
                    x
                } else {
                    Fp16
                }
            }
            () if x.is_float() || y.is_float() => {
                let error = self.error(format!("{x} and {y} do not combine in arithmetic"));
                return Err(error.help("cast one of them: `x.to(tl.float32)`"));
            }
            () if division && x.is_signed() != y.is_signed() => {
                let error = self.error(format!(
                    "`/`, `//` and `%` do not combine {x} and {y}: one is signed, the other is not"
                ));
                return Err(error.help("cast them to the same signedness"));
            }
            () => integer_promote(x, y),
        })
    }

    fn operand(&self, value: &Value) -> Result<Operand> {
        match value {
            Value::Tensor(tensor) => match tensor.ty {
                Ty::Scalar(_) | Ty::Block(..) => Ok(Operand::Tensor(tensor.clone())),
                _ => Err(self
                    .error(format!(
                        "a value of type {} takes no part in arithmetic",
                        tensor.ty
                    ))
                    .help("block pointers are moved by `tl.advance`")),
            },
            Value::Int(_) | Value::Bool(_) | Value::Float(_) => self.number(value).map(Operand::Number),
            other => {
                let error = self.error(format!(
                    "an operand is {}, a number or a tensor is needed",
                    other.describe()
                ));
                Err(match other {
                    Value::None => error.help(
                        "is it an argument that this launch leaves out? guard its use: `if x is not None:`",
                    ),
                    _ => error,
                })
            }
        }
    }

    /// Both operands of a binary operation in their common type and shape.
    pub(super) fn operands(&mut self, l: &Value, r: &Value, rules: Rules) -> Result<(Tensor, Tensor)> {
        let (l, r) = (self.operand(l)?, self.operand(r)?);
        let (a, b) = match (l.elem(), r.elem()) {
            (Some(a), Some(b)) => (a, b),
            _ => return Err(self.error("an operand is no number")),
        };
        let fits = |p: Elem, other: Elem, allowed: bool| match (p, other) {
            (Elem::Num(_), _) => true,
            (Elem::Ptr(_), Elem::Ptr(_)) => allowed && p == other,
            (Elem::Ptr(_), Elem::Num(n)) => allowed && n.is_int(),
        };
        if !fits(a, b, rules.left_pointer) || !fits(b, a, rules.right_pointer) {
            return Err(self.invalid_operands(a, b));
        }
        let (l, r) = match (a, b) {
            (Elem::Num(x), Elem::Num(y)) => {
                let ty = self.computation_type((x, l.is_weak()), (y, r.is_weak()), rules.division)?;
                (self.computed_in(l, ty)?, self.computed_in(r, ty)?)
            }
            _ => (self.strong(l)?, self.strong(r)?),
        };
        self.broadcast_pair(&l, &r)
    }

    pub(super) fn invalid_operands(&self, a: Elem, b: Elem) -> Box<tilescope_diagnostics::Error> {
        let error = self.error(format!("invalid operands of types {a} and {b}"));
        match (a, b) {
            (Elem::Ptr(_), Elem::Ptr(_)) => error.help("pointers do not combine with each other here"),
            (Elem::Ptr(_), Elem::Num(n)) | (Elem::Num(n), Elem::Ptr(_)) if n.is_float() => {
                error.help("offsets of pointers are integers, counted in elements")
            }
            (Elem::Ptr(_), _) | (_, Elem::Ptr(_)) => error
                .help("was `tl.load(pointer)` meant? To compute with an address cast it: `p.to(tl.int64)`"),
            _ => error.help("this operator takes integers; cast with `.to(tl.int32)`"),
        }
    }

    fn strong(&mut self, operand: Operand) -> Result<Tensor> {
        match operand {
            Operand::Tensor(tensor) => Ok(tensor),
            Operand::Number(number) => self.number_as(number, number.dtype()),
        }
    }

    fn computed_in(&mut self, operand: Operand, dtype: Dtype) -> Result<Tensor> {
        let number = match operand {
            Operand::Tensor(tensor) => return self.cast(&tensor, Elem::Num(dtype), None),
            Operand::Number(number) => number,
        };
        let whole = match number {
            Number::Bool(b) => i128::from(b),
            Number::Int(i) => i,
            Number::Float(_) => 0,
        };
        if dtype.is_int() {
            let (low, high) = dtype.int_range();
            if whole < 0 && low == 0 {
                let error = self.error(format!(
                    "the constant {whole} is negative, the other operand is {dtype}"
                ));
                return Err(error.help("cast one of them: an unsigned value is never negative"));
            }
            if !(low..=high).contains(&whole) {
                let error = self.error(format!("the constant {whole} is out of range for type {dtype}"));
                let wider = [32, 64]
                    .into_iter()
                    .filter_map(|bits| Dtype::int(bits, dtype.is_signed()));
                let holds = |d: &Dtype| (d.int_range().0..=d.int_range().1).contains(&whole);
                let wider = wider.into_iter().find(holds).unwrap_or(Dtype::Uint64);
                return Err(error.help(format!(
                    "cast the other operand to a type that holds it: `x.to(tl.{wider})`"
                )));
            }
        }
        self.number_as(number, dtype)
    }

    /// Both operands of an arithmetic operation in their common type and shape (Triton:
    /// `binary_op_type_legalization`).
    ///
    /// # Errors
    /// Pointers, types and shapes that do not combine.
    pub fn arithmetic_operands(&mut self, l: &Value, r: &Value) -> Result<(Tensor, Tensor)> {
        self.operands(l, r, Rules::default())
    }

    /// Three operands in their common type and shape: constants are combined with each other first, then with the
    /// tensors, so that the order does not matter.
    pub(super) fn three_operands(&mut self, values: [&Value; 3]) -> Result<[Tensor; 3]> {
        let mut operands = Vec::with_capacity(3);
        let (mut strong, mut weak) = (None, None);
        for value in values {
            let operand = self.operand(value)?;
            let Some(Elem::Num(dtype)) = operand.elem() else {
                return Err(self.error(format!("{} is no number", value.describe())));
            };
            let slot = if operand.is_weak() { &mut weak } else { &mut strong };
            *slot = Some(match *slot {
                None => dtype,
                Some(so_far) => {
                    self.computation_type((so_far, operand.is_weak()), (dtype, operand.is_weak()), false)?
                }
            });
            operands.push(operand);
        }
        let dtype = match (strong, weak) {
            (Some(strong), Some(weak)) => self.computation_type((strong, false), (weak, true), false)?,
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Dtype::Int32,
        };
        let mut tensors = Vec::with_capacity(3);
        for operand in operands {
            tensors.push(self.computed_in(operand, dtype)?);
        }
        let all = self.broadcast_all(&tensors)?;
        <[Tensor; 3]>::try_from(all).map_err(|_| self.error("three operands are needed"))
    }

    /// Two tensors in their common shape; types are left alone. `tl.broadcast`.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub fn broadcast_pair(&mut self, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
        let (mut a, mut b) = (a.clone(), b.clone());
        match (a.is_block(), b.is_block()) {
            (true, false) => b = self.splat(&b, a.shape())?,
            (false, true) => a = self.splat(&a, b.shape())?,
            (false, false) => {}
            (true, true) => {
                let shapes = (a.shape(), b.shape());
                while a.shape().rank() < b.shape().rank() {
                    a = self.insert_axis(&a, 0)?;
                }
                while b.shape().rank() < a.shape().rank() {
                    b = self.insert_axis(&b, 0)?;
                }
                let Some(shape) = tilescope_ir::infer::common_shape(a.shape(), b.shape()) else {
                    return Err(self.shapes_differ(shapes.0, shapes.1, a.shape(), b.shape()));
                };
                a = self.broadcast(&a, shape);
                b = self.broadcast(&b, shape);
            }
        }
        Ok((a, b))
    }

    fn shapes_differ(&self, a: Shape, b: Shape, x: Shape, y: Shape) -> Box<tilescope_diagnostics::Error> {
        let at = x
            .dims()
            .zip(y.dims())
            .position(|(p, q)| p != q && p != 1 && q != 1)
            .unwrap_or(0);
        let error = self.error(format!(
            "the shapes {a:?} and {b:?} do not broadcast: dimension {at} is {} and {}",
            x.dim(at),
            y.dim(at)
        ));
        let swapped = x.rank() == 2 && x.dim(0) == y.dim(1) && x.dim(1) == y.dim(0);
        match (a.rank(), b.rank()) {
            (1, 2) | (2, 1) => {
                error.help("a dimension is put in by `x[:, None]` (a column) or `x[None, :]` (a row)")
            }
            _ if swapped => error.help("is one of them to be transposed: `tl.trans(x)`, `x[None, :]`?"),
            _ => error.help("dimensions must be equal, or one of them 1"),
        }
    }

    /// Refuses operands of an access to memory that do not go together with its pointers, by their names.
    pub(super) fn check_shapes(&self, pointer: &Tensor, others: &[(&str, Option<&Tensor>)]) -> Result<()> {
        let shape = pointer.shape();
        for (name, tensor) in others {
            let Some(other) = tensor.map(Tensor::shape) else {
                continue;
            };
            if !broadcastable(shape, other) {
                return Err(self
                    .error(format!(
                        "the pointers have the shape {shape:?}, {name} has {other:?}: they do not broadcast"
                    ))
                    .help("dimensions must be equal, or one of them 1"));
            }
        }
        Ok(())
    }

    /// Dimensions of one repeated; nothing where the shape is that already.
    fn broadcast(&mut self, x: &Tensor, shape: Shape) -> Tensor {
        match x.ty {
            Ty::Block(from, elem) if from != shape => {
                self.emit(OpCode::Broadcast, &[x], Attrs::None, Ty::Block(shape, elem))
            }
            _ => x.clone(),
        }
    }

    /// Several tensors in their common shape.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub fn broadcast_all(&mut self, tensors: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut all = tensors.to_vec();
        for _ in 0..2 {
            for i in 1..all.len() {
                let (head, tail) = self.broadcast_pair(&all[0], &all[i])?;
                all[0] = head;
                all[i] = tail;
            }
        }
        Ok(all)
    }

    /// `tl.broadcast_to`: a tensor in this shape, of the same rank unless a scalar.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub fn broadcast_to(&mut self, x: &Tensor, shape: Shape) -> Result<Tensor> {
        if !x.is_block() {
            return self.splat(x, shape);
        }
        let from = x.shape();
        if from.rank() != shape.rank() {
            return Err(self
                .error(format!(
                    "{from:?} does not broadcast to {shape:?}: their ranks differ"
                ))
                .help("put dimensions in first: `x[:, None]`"));
        }
        if !tilescope_ir::infer::broadcasts(from, shape) {
            return Err(self.shapes_differ(from, shape, from, shape));
        }
        Ok(self.broadcast(x, shape))
    }
}
