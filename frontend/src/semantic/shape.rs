//! Shapes: subscripts, reshape, permutation, join and split.

use tilescope_ir::{Attrs, MAX_RANK, OpCode, Shape};

use crate::cx::{Cx, Result};
use crate::types::{Elem, Ty};
use crate::value::{Tensor, Value};

impl Cx<'_> {
    /// `x[index]`: `None`, `:`, and for tuples of these.
    ///
    /// # Errors
    /// Indices that blocks do not take.
    pub fn subscript(&mut self, x: &Tensor, index: &Value) -> Result<Value> {
        self.block_or_scalar(x, "a subscript")?;
        let one;
        let items: &[Value] = match index {
            Value::Tuple(tuple) => &tuple.items,
            other => {
                one = [other.clone()];
                &one
            }
        };
        let mut result = x.clone();
        for (dim, item) in items.iter().enumerate() {
            match item {
                // A scalar has one dimension then, wherever `None` stands: `scalar[:, None]` is a block of one.
                Value::None if !result.is_block() => result = self.insert_axis(&result, 0)?,
                Value::None => result = self.insert_axis(&result, dim)?,
                // Triton does not count them: `scalar[None, :]` is a block of one element.
                Value::Slice(parts) if parts.iter().all(|p| matches!(p, Value::None)) => {}
                other => {
                    return Err(self
                        .error(format!("a tensor is indexed with {}", other.describe()))
                        .help("only `None` (a new dimension) and `:` are allowed: elements are picked by `tl.gather`, or loaded one by one"));
                }
            }
        }
        Ok(result.into())
    }

    fn block_or_scalar(&self, x: &Tensor, what: &str) -> Result<Elem> {
        match x.ty {
            Ty::Scalar(elem) | Ty::Block(_, elem) => Ok(elem),
            _ => Err(self.error(format!("{what} of a value of type {}", x.ty))),
        }
    }

    /// A scalar in all lanes of a block; the scalar itself for an empty shape.
    ///
    /// # Errors
    /// A block.
    pub fn splat(&mut self, x: &Tensor, shape: Shape) -> Result<Tensor> {
        match x.ty {
            Ty::Scalar(_) if shape.rank() == 0 => Ok(x.clone()),
            Ty::Scalar(elem) => Ok(self.emit(OpCode::Splat, &[x], Attrs::None, Ty::Block(shape, elem))),
            _ => Err(self.error(format!("a value of type {} is no scalar", x.ty))),
        }
    }

    /// `x.item()`: the element of a block of one; a scalar as it is.
    ///
    /// # Errors
    /// A block of several elements.
    pub fn unsplat(&mut self, x: &Tensor) -> Result<Tensor> {
        match x.ty {
            Ty::Scalar(_) => Ok(x.clone()),
            Ty::Block(shape, elem) if shape.log2_elements() == 0 => {
                Ok(self.emit(OpCode::Unsplat, &[x], Attrs::None, Ty::Scalar(elem)))
            }
            _ => Err(self.error(format!("a value of type {} has not one element", x.ty))),
        }
    }

    /// A dimension of one put in at `axis` of the result.
    pub(super) fn insert_axis(&mut self, x: &Tensor, axis: usize) -> Result<Tensor> {
        let elem = self.block_or_scalar(x, "a new dimension")?;
        let from = x.shape();
        if axis > from.rank() {
            return Err(self.error(format!(
                "a new dimension at {axis} of a value of {} dimensions",
                from.rank()
            )));
        }
        let Some(shape) = from.with_inserted(axis, 1) else {
            return Err(self.unsupported(format!(
                "a block of more than {MAX_RANK} dimensions is not supported"
            )));
        };
        if !x.is_block() {
            return self.splat(x, shape);
        }
        let attrs = Attrs::Axis(axis as u32);
        Ok(self.emit(OpCode::ExpandDims, &[x], attrs, Ty::Block(shape, elem)))
    }

    /// `tl.expand_dims`: dimensions of one put in, axes counted in the result.
    ///
    /// # Errors
    /// Axes out of range or named twice.
    pub fn expand_dims(&mut self, x: &Tensor, axes: &[i64]) -> Result<Tensor> {
        let rank = x.shape().rank() + axes.len();
        let mut sorted = Vec::with_capacity(axes.len());
        for &axis in axes {
            sorted.push(self.axis(axis, rank)?);
        }
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(self.error(format!("`expand_dims` got an axis twice: {axes:?}")));
        }
        let mut result = x.clone();
        for axis in sorted {
            result = self.insert_axis(&result, axis)?;
        }
        Ok(result)
    }

    /// `tl.reshape`, `tl.view` (with `can_reorder`); a scalar for an empty shape.
    ///
    /// # Errors
    /// Another number of elements.
    pub fn reshape(&mut self, x: &Tensor, shape: Shape, can_reorder: bool) -> Result<Tensor> {
        let elem = self.block_or_scalar(x, "`reshape`")?;
        let from = x.shape();
        if from.log2_elements() != shape.log2_elements() {
            return Err(self.error(format!(
                "`reshape` of {from:?} ({} elements) to {shape:?} ({} elements): the numbers of elements differ",
                from.elements(),
                shape.elements()
            )));
        }
        if shape.rank() == 0 {
            return self.unsplat(x);
        }
        if !x.is_block() {
            return self.splat(x, shape);
        }
        // Triton keeps the operation where elements may come in any order.
        if from == shape && !can_reorder {
            return Ok(x.clone());
        }
        let attrs = Attrs::Reshape {
            allow_reorder: can_reorder,
            efficient_layout: false,
        };
        Ok(self.emit(OpCode::Reshape, &[x], attrs, Ty::Block(shape, elem)))
    }

    /// `tl.permute`, `tl.trans`: result dimension i is dimension `order[i]`; an empty order swaps the last two.
    ///
    /// # Errors
    /// An order that is no permutation.
    pub fn permute(&mut self, x: &Tensor, order: &[i64]) -> Result<Tensor> {
        let elem = self.block_or_scalar(x, "`permute`")?;
        let rank = x.shape().rank();
        let order = if order.is_empty() {
            if rank < 2 {
                return Err(self
                    .error(format!(
                        "`trans` of a value of {rank} dimensions: two or more are needed"
                    ))
                    .help(format!(
                        "its type is {}; a dimension is put in by `x[:, None]`",
                        x.ty
                    )));
            }
            let mut order: Vec<u32> = (0..rank as u32).collect();
            order.swap(rank - 2, rank - 1);
            order
        } else {
            let named = order
                .iter()
                .filter_map(|&d| u32::try_from(d).ok())
                .collect::<Vec<_>>();
            if named.len() != order.len() || tilescope_ir::infer::permutation(&named, rank).is_err() {
                return Err(self.error(format!(
                    "the order {order:?} is no permutation of the {rank} dimensions of {}",
                    x.ty
                )));
            }
            named
        };
        let dims: Vec<u64> = order.iter().map(|&d| x.shape().dim(d as usize) as u64).collect();
        let shape = self.checked_shape(&dims)?;
        Ok(self.emit(OpCode::Trans, &[x], Attrs::Order(order), Ty::Block(shape, elem)))
    }

    /// `tl.join`: along a new last dimension of two.
    ///
    /// # Errors
    /// Shapes that do not broadcast, types that differ.
    pub fn join(&mut self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let elem = self.same_elements("join", a, b)?;
        let (mut a, mut b) = self.broadcast_pair(a, b)?;
        let scalars = !a.is_block();
        if scalars {
            a = self.insert_axis(&a, 0)?;
            b = self.insert_axis(&b, 0)?;
        }
        let mut dims: Vec<u64> = a.shape().dims().map(|d| d as u64).collect();
        dims.push(2);
        let shape = self.checked_shape(&dims)?;
        let joined = self.emit(OpCode::Join, &[&a, &b], Attrs::None, Ty::Block(shape, elem));
        if scalars {
            let flat = self.checked_shape(&[2])?;
            return self.reshape(&joined, flat, false);
        }
        Ok(joined)
    }

    fn same_elements(&self, name: &str, a: &Tensor, b: &Tensor) -> Result<Elem> {
        let (x, y) = (
            self.block_or_scalar(a, "an operand")?,
            self.block_or_scalar(b, "an operand")?,
        );
        if x.ir() != y.ir() {
            let error = self.error(format!(
                "`{name}` of {} and {}: their elements differ",
                a.ty, b.ty
            ));
            return Err(error.help("cast one of them to the other's type"));
        }
        Ok(x)
    }

    /// `tl.split`: the halves of a last dimension of two.
    ///
    /// # Errors
    /// Another last dimension.
    pub fn split(&mut self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let elem = self.block_or_scalar(x, "`split`")?;
        let rank = x.shape().rank();
        if rank == 0 || x.shape().dim(rank - 1) != 2 {
            return Err(self
                .error(format!(
                    "`split` of a value of type {}: its last dimension is not 2",
                    x.ty
                ))
                .help("reshape it first: `x.reshape(…, 2)`"));
        }
        let flat = rank == 1;
        let x = if flat { self.insert_axis(x, 0)? } else { x.clone() };
        let Some(half) = x.shape().without(x.shape().rank() - 1) else {
            return Err(self.error("`split` of a scalar"));
        };
        let ty = Ty::Block(half, elem);
        let ir = ty.ir().unwrap_or(tilescope_ir::Type::BOOL);
        let op = self.b.op(OpCode::Split, &[x.value], Attrs::None, &[ir, ir]);
        let halves = self.b.function().ops[op].results.clone();
        let [left, right] = halves[..] else {
            return Err(self.error("`split` gave no two halves"));
        };
        let tensor = |value| Tensor {
            value,
            ty: ty.clone(),
        };
        let (left, right) = (tensor(left), tensor(right));
        if flat {
            return Ok((self.unsplat(&left)?, self.unsplat(&right)?));
        }
        Ok((left, right))
    }

    /// `tl.cat`: one after the other along `dim`.
    ///
    /// # Errors
    /// Shapes that differ.
    pub fn cat(&mut self, a: &Tensor, b: &Tensor, can_reorder: bool, dim: i64) -> Result<Tensor> {
        let elem = self.same_elements("cat", a, b)?;
        let (x, y) = (a.shape(), b.shape());
        if x != y || x.rank() == 0 {
            return Err(self.error(format!(
                "`cat` of {} and {}: two blocks of the same shape are needed",
                a.ty, b.ty
            )));
        }
        let dim = self.axis(dim, x.rank())?;
        let mut dims: Vec<u64> = x.dims().map(|d| d as u64).collect();
        dims[dim] *= 2;
        let shape = self.checked_shape(&dims)?;
        if can_reorder {
            if x.rank() != 1 {
                return Err(self
                    .error(format!(
                        "`cat` with `can_reorder=True` of {} dimensions: one is needed",
                        x.rank()
                    ))
                    .help("leave `can_reorder` out"));
            }
            return Ok(self.emit(OpCode::Cat, &[a, b], Attrs::None, Ty::Block(shape, elem)));
        }
        // The new last dimension of `join` goes before `dim`, and is merged with it.
        let joined = self.join(a, b)?;
        let mut order: Vec<i64> = (0..x.rank() as i64).collect();
        order.insert(dim, x.rank() as i64);
        let moved = self.permute(&joined, &order)?;
        self.reshape(&moved, shape, false)
    }
}
