//! Atomic operations.

use tilescope_ir::attrs::{RmwKind, Scope, Semantic};
use tilescope_ir::{Attrs, OpCode};

use crate::ast::BinaryOp;
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, PtrTy, Ty};
use crate::value::{Tensor, Value};

/// What `tl.atomic_…` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum AtomicOp {
    Add,
    Max,
    Min,
    And,
    Or,
    Xor,
    Xchg,
}

impl AtomicOp {
    /// The name after `atomic_`.
    pub fn name(self) -> &'static str {
        match self {
            AtomicOp::Add => "add",
            AtomicOp::Max => "max",
            AtomicOp::Min => "min",
            AtomicOp::And => "and",
            AtomicOp::Or => "or",
            AtomicOp::Xor => "xor",
            AtomicOp::Xchg => "xchg",
        }
    }
}

/// `sem` and `scope` as the author writes them; none for the default (`acq_rel`, `gpu`; `acquire` for loads and
/// polls, `release` for stores).
#[derive(Debug, Clone, Default)]
pub struct Order {
    /// `"relaxed"`, `"acquire"`, `"release"`, `"acq_rel"`.
    pub sem: Option<String>,
    /// `"gpu"`, `"cta"`, `"sys"`.
    pub scope: Option<String>,
}

/// Operands of an atomic, in one shape.
struct Operands {
    pointer: Tensor,
    value: Option<Tensor>,
    mask: Tensor,
}

impl Cx<'_> {
    /// `tl.atomic_add` and the like: gives the old values.
    ///
    /// # Errors
    /// What is no pointer, element types that the operation does not take.
    pub fn atomic_rmw(
        &mut self,
        op: AtomicOp,
        ptr: &Value,
        value: &Value,
        mask: &Value,
        order: &Order,
    ) -> Result<Tensor> {
        let name = format!("atomic_{}", op.name());
        let Operands { pointer, value, mask } = self.atomic_operands(&name, ptr, Some(value), mask)?;
        let Some(value) = value else {
            return Err(self.error(format!("`{name}` without a value")));
        };
        let Elem::Num(dtype) = self.target(&pointer)? else {
            return Err(self.error(format!("`{name}` of pointers, through {}", pointer.ty)));
        };
        let halves = matches!(dtype, Dtype::Fp16 | Dtype::Bf16);
        if dtype.bits() < 16 || dtype.bits() == 16 && (op != AtomicOp::Add || !halves) {
            return Err(self
                .error(format!("`{name}` does not take {dtype}"))
                .help("atomics work on 32 and 64 bits; `atomic_add` on fp16 and bf16 too"));
        }
        let order = self.order(order, Semantic::AcquireRelease)?;
        let kind = match op {
            AtomicOp::Add if dtype.is_float() => RmwKind::Fadd,
            AtomicOp::Add => RmwKind::Add,
            AtomicOp::Xchg => RmwKind::Xchg,
            AtomicOp::Max | AtomicOp::Min if dtype.is_float() => {
                return self.float_extremum(op, dtype, [&pointer, &value, &mask], order);
            }
            AtomicOp::Max if dtype.is_signed() => RmwKind::Max,
            AtomicOp::Max => RmwKind::Umax,
            AtomicOp::Min if dtype.is_signed() => RmwKind::Min,
            AtomicOp::Min => RmwKind::Umin,
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor if dtype.is_float() => {
                return Err(self
                    .error(format!("`{name}` does not take {dtype}"))
                    .help("bits are combined in integers: cast the pointer with `bitcast=True`"));
            }
            AtomicOp::And => RmwKind::And,
            AtomicOp::Or => RmwKind::Or,
            AtomicOp::Xor => RmwKind::Xor,
        };
        Ok(self.rmw(kind, [&pointer, &value, &mask], order))
    }

    fn rmw(&mut self, kind: RmwKind, operands: [&Tensor; 3], order: (Semantic, Scope)) -> Tensor {
        let ty = operands[1].ty.clone();
        self.emit(
            OpCode::AtomicRmw,
            &operands,
            Attrs::Rmw(kind, order.0, order.1),
            ty,
        )
    }

    /// Floats order as signed integers where positive, and backwards as unsigned ones where negative: two masked
    /// integer atomics.
    fn float_extremum(
        &mut self,
        op: AtomicOp,
        dtype: Dtype,
        [pointer, value, mask]: [&Tensor; 3],
        order: (Semantic, Scope),
    ) -> Result<Tensor> {
        let (signed, unsigned) = match dtype {
            Dtype::Fp32 => (Dtype::Int32, Dtype::Uint32),
            _ => (Dtype::Int64, Dtype::Uint64),
        };
        let bits = self.bitcast(value, Elem::Num(signed))?;
        let address = self.bitcast(pointer, Elem::Ptr(PtrTy::to(signed)))?;
        let unsigned_bits = self.bitcast(value, Elem::Num(unsigned))?;
        let unsigned_address = address.retyped(address.ty.with_elem(Elem::Ptr(PtrTy::to(unsigned))));
        let shift = Value::int(dtype.bits() - 1);
        let sign = self.binary(BinaryOp::Shr, &unsigned_bits.clone().into(), &shift)?;
        let sign = self.to_tensor(&sign)?;
        let negative = self.cast(&sign, Elem::Num(Dtype::Int1), None)?;
        let positive = self.invert(&negative)?;
        let (up, down) = match op {
            AtomicOp::Max => (RmwKind::Max, RmwKind::Umin),
            _ => (RmwKind::Min, RmwKind::Umax),
        };
        let masked = |cx: &mut Self, side: &Tensor| {
            let both = cx.binary(BinaryOp::And, &mask.clone().into(), &side.clone().into())?;
            cx.to_tensor(&both)
        };
        let positive_mask = masked(self, &positive)?;
        let above = self.rmw(up, [&address, &bits, &positive_mask], order);
        let negative_mask = masked(self, &negative)?;
        let below = self.rmw(down, [&unsigned_address, &unsigned_bits, &negative_mask], order);
        let old = self.where_(&positive.into(), &above.into(), &below.into())?;
        self.bitcast(&old, Elem::Num(dtype))
    }

    fn atomic_operands(
        &mut self,
        name: &str,
        ptr: &Value,
        value: Option<&Value>,
        mask: &Value,
    ) -> Result<Operands> {
        let mut pointer = self.plain_pointer(name, ptr)?;
        let mut value = match value {
            Some(value) => Some(self.to_tensor(value)?),
            None => None,
        };
        let mut mask = self.optional(mask)?;
        if value.is_some() {
            self.check_not_const(&pointer)?;
        }
        self.scalar_fits(&pointer, value.as_ref(), "the value")?;
        self.scalar_fits(&pointer, mask.as_ref(), "the mask")?;
        match value {
            Some(v) => {
                let (p, v, m) = self.stored_operands(pointer, v, mask)?;
                (pointer, value, mask) = (p, Some(v), m);
            }
            None => {
                if let Some(m) = mask {
                    let (p, m) = self.broadcast_pair(&pointer, &m)?;
                    (pointer, mask) = (p, Some(m));
                }
            }
        }
        let element = self.target(&pointer)?;
        if let Some(v) = value {
            value = Some(self.cast(&v, element, None)?);
        }
        let mask = match mask {
            Some(mask) => {
                self.check_mask(&mask, &pointer)?;
                mask
            }
            None => {
                let all = self.int_constant(1, Dtype::Int1);
                match pointer.is_block() {
                    true => self.splat(&all, pointer.shape())?,
                    false => all,
                }
            }
        };
        Ok(Operands { pointer, value, mask })
    }

    /// A pointer or a block of pointers, no block pointer.
    fn plain_pointer(&self, name: &str, ptr: &Value) -> Result<Tensor> {
        let pointer = self.pointer_operand(name, ptr)?;
        match pointer.ty {
            Ty::BlockPtr(..) => Err(self.error(format!(
                "`{name}` through a block pointer, of type {}",
                pointer.ty
            ))),
            _ => Ok(pointer),
        }
    }

    fn order(&self, order: &Order, default: Semantic) -> Result<(Semantic, Scope)> {
        let sem = match order.sem.as_deref() {
            None | Some("") => default,
            Some(word) => Semantic::from_word(word).ok_or_else(|| {
                self.error(format!("`{word}` is no memory order"))
                    .help("there are relaxed, acquire, release and acq_rel")
            })?,
        };
        let scope = match order.scope.as_deref() {
            None | Some("") => Scope::Gpu,
            Some(word) => Scope::from_word(word).ok_or_else(|| {
                self.error(format!("`{word}` is no memory scope"))
                    .help("there are gpu, cta and sys")
            })?,
        };
        Ok((sem, scope))
    }

    /// The order of an operation that takes only one direction, or none.
    fn one_way(&self, name: &str, order: &Order, default: Semantic) -> Result<(Semantic, Scope)> {
        let (sem, scope) = self.order(order, default)?;
        if sem != default && sem != Semantic::Relaxed {
            return Err(self.error(format!(
                "`{name}` with the order {}: it takes {} and relaxed",
                sem.as_str(),
                default.as_str()
            )));
        }
        Ok((sem, scope))
    }

    /// `tl.atomic_cas`.
    ///
    /// # Errors
    /// What is no pointer, elements of other widths than 16, 32, 64 bits.
    pub fn atomic_cas(
        &mut self,
        ptr: &Value,
        expected: &Value,
        value: &Value,
        order: &Order,
    ) -> Result<Tensor> {
        let pointer = self.plain_pointer("atomic_cas", ptr)?;
        let (expected, value) = (self.to_tensor(expected)?, self.to_tensor(value)?);
        let order = self.order(order, Semantic::AcquireRelease)?;
        let element = self.target(&pointer)?;
        let wide = match element {
            Elem::Num(dtype) => dtype.bits() >= 16,
            Elem::Ptr(_) => false,
        };
        if !wide {
            return Err(self
                .error(format!("`atomic_cas` does not take {element}"))
                .help("it works on 16, 32 and 64 bits"));
        }
        let wanted = pointer.ty.with_elem(element);
        for (what, tensor) in [("the expected value", &expected), ("the new value", &value)] {
            if tensor.ty.ir() != wanted.ir() {
                return Err(self
                    .error(format!(
                        "{what} of `atomic_cas` is of type {}, {wanted} is needed",
                        tensor.ty
                    ))
                    .help("`atomic_cas` converts and broadcasts nothing: cast it with `.to(…)`"));
            }
        }
        let ty = value.ty.clone();
        let attrs = Attrs::Atomic(order.0, order.1);
        Ok(self.emit(OpCode::AtomicCas, &[&pointer, &expected, &value], attrs, ty))
    }

    /// Memory of truth values is bytes.
    fn atomic_memory(&mut self, name: &str, operands: Operands) -> Result<(Operands, Dtype, bool)> {
        let (pointer, elem, is_bool) = self.memory_pointer(&operands.pointer)?;
        let Elem::Num(dtype) = elem else {
            return Err(self.error(format!("`{name}` of pointers, through {}", pointer.ty)));
        };
        let value = match operands.value {
            Some(value) => Some(self.cast(&value, elem, None)?),
            None => None,
        };
        let mask = operands.mask;
        Ok((Operands { pointer, value, mask }, dtype, is_bool))
    }

    /// `tl.atomic_load`.
    ///
    /// # Errors
    /// What is no pointer, an order other than acquire and relaxed.
    pub fn atomic_load(&mut self, ptr: &Value, mask: &Value, order: &Order) -> Result<Tensor> {
        let operands = self.atomic_operands("atomic_load", ptr, None, mask)?;
        let (operands, dtype, is_bool) = self.atomic_memory("atomic_load", operands)?;
        let order = self.one_way("atomic_load", order, Semantic::Acquire)?;
        let ty = operands.pointer.ty.with_elem(Elem::Num(dtype));
        let attrs = Attrs::Atomic(order.0, order.1);
        let loaded = self.emit(
            OpCode::AtomicLoad,
            &[&operands.pointer, &operands.mask],
            attrs,
            ty,
        );
        if is_bool {
            return self.cast(&loaded, Elem::Num(Dtype::Int1), None);
        }
        Ok(loaded)
    }

    /// `tl.atomic_store`.
    ///
    /// # Errors
    /// What is no pointer, an order other than release and relaxed.
    pub fn atomic_store(&mut self, ptr: &Value, value: &Value, mask: &Value, order: &Order) -> Result<()> {
        let operands = self.atomic_operands("atomic_store", ptr, Some(value), mask)?;
        let (operands, ..) = self.atomic_memory("atomic_store", operands)?;
        let order = self.one_way("atomic_store", order, Semantic::Release)?;
        let Some(value) = operands.value else {
            return Err(self.error("`atomic_store` without a value"));
        };
        let values = [operands.pointer.value, value.value, operands.mask.value];
        self.b
            .op(OpCode::AtomicStore, &values, Attrs::Atomic(order.0, order.1), &[]);
        Ok(())
    }

    /// `tl.atomic_poll`: waits until memory holds a value; `timeout_ns` of `None` is for ever.
    ///
    /// # Errors
    /// What is no pointer to integers of 16, 32 or 64 bits.
    pub fn atomic_poll(
        &mut self,
        ptr: &Value,
        expected: &Value,
        timeout_ns: &Value,
        order: &Order,
    ) -> Result<Tensor> {
        let pointer = self.plain_pointer("atomic_poll", ptr)?;
        let element = self.target(&pointer)?;
        match element {
            Elem::Num(dtype) if dtype.is_int() && dtype.bits() >= 16 => {}
            _ => {
                return Err(self
                    .error(format!("`atomic_poll` does not take {element}"))
                    .help("it works on integers of 16, 32 and 64 bits"));
            }
        }
        let expected = self.to_tensor(expected)?;
        let expected = self.cast(&expected, element, None)?;
        self.scalar_fits(&pointer, Some(&expected), "the expected value")?;
        let (pointer, expected, _) = self.stored_operands(pointer, expected, None)?;
        let order = self.one_way("atomic_poll", order, Semantic::Acquire)?;
        let ty = expected.ty.with_elem(Elem::Num(Dtype::Int1));
        let mut operands = vec![pointer, expected];
        if !matches!(timeout_ns, Value::None) {
            operands.push(self.integer_scalar(timeout_ns, Dtype::Uint64, "the time-out")?);
        }
        let operands: Vec<&Tensor> = operands.iter().collect();
        Ok(self.emit(OpCode::AtomicPoll, &operands, Attrs::Atomic(order.0, order.1), ty))
    }
}
