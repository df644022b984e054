//! Operations along a dimension: reductions, scans, gather, histogram; and functions mapped over lanes.

use tilescope_ir::{Attrs, OpCode, RegionId, Shape, Type, Values};

use crate::cx::{Cx, Result};
use crate::semantic::Combine;
use crate::types::{Dtype, Elem, Ty};
use crate::value::{Tensor, Value};

impl<'p> Cx<'p> {
    /// `tl.reduce`: `axis` of none combines all dimensions away.
    ///
    /// # Errors
    /// Inputs of different shapes, scalars, and what `combine` refuses.
    pub fn reduce(
        &mut self,
        inputs: &[Tensor],
        axis: Option<i64>,
        keep_dims: bool,
        combine: &mut Combine<'_, 'p>,
    ) -> Result<Vec<Tensor>> {
        let full = self.common_block("reduce", inputs)?;
        let (inputs, axis, shape) = match axis {
            Some(axis) => (inputs.to_vec(), self.axis(axis, full.rank())?, full),
            None => {
                let flat = self.checked_shape(&[full.elements() as u64])?;
                let mut flattened = Vec::with_capacity(inputs.len());
                for input in inputs {
                    flattened.push(self.reshape(input, flat, true)?);
                }
                (flattened, 0, flat)
            }
        };
        let Some(left) = shape.without(axis) else {
            return Err(self.error(format!("axis {axis} does not fit {} dimensions", shape.rank())));
        };
        let results = inputs.iter().filter_map(|t| t.ty.elem());
        let results = results
            .map(|elem| match left.rank() {
                0 => Ty::Scalar(elem),
                _ => Ty::Block(left, elem),
            })
            .collect();
        let region = self.combine_region("reduce", OpCode::ReduceReturn, &inputs, combine)?;
        let attrs = Attrs::Along {
            axis: axis as u32,
            reverse: false,
        };
        let mut reduced = self.with_region(OpCode::Reduce, &inputs, attrs, results, region);
        if keep_dims {
            // Without an axis all dimensions come back, as ones.
            let at = if full == shape { axis } else { 0 };
            let times = full.rank() - left.rank();
            for tensor in &mut reduced {
                for _ in 0..times {
                    *tensor = self.insert_axis(tensor, at)?;
                }
            }
        }
        Ok(reduced)
    }

    /// The shape that all inputs of a reduction or scan have.
    fn common_block(&self, name: &str, inputs: &[Tensor]) -> Result<Shape> {
        let Some(first) = inputs.first() else {
            return Err(self.error(format!("`{name}` of nothing")));
        };
        for input in inputs {
            if !input.is_block() {
                return Err(self
                    .error(format!(
                        "`{name}` of a value of type {}: a block is needed",
                        input.ty
                    ))
                    .help("a scalar has no dimension to go along"));
            }
            if input.shape() != first.shape() {
                return Err(self.error(format!(
                    "`{name}` of {} and {}: all inputs must have the same shape",
                    first.ty, input.ty
                )));
            }
        }
        Ok(first.shape())
    }

    /// The region of a reduction or scan: `combine` applied to two scalars per input.
    fn combine_region(
        &mut self,
        name: &str,
        end: OpCode,
        inputs: &[Tensor],
        combine: &mut Combine<'_, 'p>,
    ) -> Result<RegionId> {
        let elems: Vec<Elem> = inputs.iter().filter_map(|t| t.ty.elem()).collect();
        let args: Vec<Elem> = elems.iter().chain(&elems).copied().collect();
        let (region, results) = self.region_of(end, &args, combine)?;
        let fits = results.len() == elems.len()
            && results
                .iter()
                .zip(&elems)
                .all(|(t, &e)| t.ty.ir() == Ty::Scalar(e).ir());
        if !fits {
            let found: Vec<String> = results.iter().map(|t| t.ty.to_string()).collect();
            let wanted: Vec<String> = elems.iter().map(Elem::to_string).collect();
            return Err(self
                .error(format!(
                    "the combine function of `{name}` gives ({}), ({}) is needed",
                    found.join(", "),
                    wanted.join(", ")
                ))
                .help("it must give values of the types that it takes; cast the input before"));
        }
        Ok(region)
    }

    /// A region with scalar arguments that ends with what `function` gives.
    fn region_of(
        &mut self,
        end: OpCode,
        args: &[Elem],
        function: &mut Combine<'_, 'p>,
    ) -> Result<(RegionId, Vec<Tensor>)> {
        let types: Vec<Type> = args.iter().map(|e| Type::Scalar(e.ir())).collect();
        let (open, values) = self.b.open_region(&types);
        let values = values.iter().zip(args).map(|(&value, &elem)| {
            Value::Tensor(Tensor {
                value,
                ty: Ty::Scalar(elem),
            })
        });
        let results = function(self, values.collect()).and_then(|values| self.scalars(&values));
        let ends = results.iter().flatten().map(|t| t.value).collect();
        let region = self.b.close_region(open, end, ends);
        Ok((region, results?))
    }

    fn scalars(&mut self, values: &[Value]) -> Result<Vec<Tensor>> {
        let mut tensors = Vec::with_capacity(values.len());
        for value in values {
            let tensor = self.to_tensor(value)?;
            if !matches!(tensor.ty, Ty::Scalar(_)) {
                return Err(self.error(format!(
                    "a function applied to scalars gives a value of type {}, a scalar is needed",
                    tensor.ty
                )));
            }
            tensors.push(tensor);
        }
        Ok(tensors)
    }

    fn with_region(
        &mut self,
        code: OpCode,
        inputs: &[Tensor],
        attrs: Attrs,
        results: Vec<Ty>,
        region: RegionId,
    ) -> Vec<Tensor> {
        let operands: Values = inputs.iter().map(|t| t.value).collect();
        let types: Vec<Type> = results.iter().filter_map(Ty::ir).collect();
        let values = self
            .b
            .op_with_regions(code, &operands, attrs, &types, vec![region]);
        let tensors = values.into_iter().zip(results);
        tensors.map(|(value, ty)| Tensor { value, ty }).collect()
    }

    /// `tl.associative_scan`.
    ///
    /// # Errors
    /// As for [`Cx::reduce`].
    pub fn associative_scan(
        &mut self,
        inputs: &[Tensor],
        axis: i64,
        reverse: bool,
        combine: &mut Combine<'_, 'p>,
    ) -> Result<Vec<Tensor>> {
        let shape = self.common_block("associative_scan", inputs)?;
        let axis = self.axis(axis, shape.rank())? as u32;
        let region = self.combine_region("associative_scan", OpCode::ScanReturn, inputs, combine)?;
        let results = inputs.iter().map(|t| t.ty.clone()).collect();
        let attrs = Attrs::Along { axis, reverse };
        Ok(self.with_region(OpCode::Scan, inputs, attrs, results, region))
    }

    /// `tl.map_elementwise`: `function` gets `pack` scalars per input.
    ///
    /// # Errors
    /// Shapes that do not broadcast, and what `function` refuses.
    pub fn map_elementwise(
        &mut self,
        inputs: &[Tensor],
        pack: u32,
        function: &mut Combine<'_, 'p>,
    ) -> Result<Vec<Tensor>> {
        let inputs = self.broadcast_all(inputs)?;
        let shape = self.common_block("map_elementwise", &inputs)?;
        let per_input = pack as usize;
        if per_input == 0 || per_input > shape.elements() {
            return Err(self.error(format!(
                "`map_elementwise` with pack={pack} of blocks of {} elements",
                shape.elements()
            )));
        }
        let elems = inputs.iter().filter_map(|t| t.ty.elem());
        let args: Vec<Elem> = elems.flat_map(|e| std::iter::repeat_n(e, per_input)).collect();
        let (region, values) = self.region_of(OpCode::MapReturn, &args, function)?;
        let types: Vec<Elem> = values.iter().filter_map(|t| t.ty.elem()).collect();
        let groups = types.chunks(per_input);
        let uniform = groups
            .clone()
            .all(|g| g.len() == per_input && g.iter().all(|e| *e == g[0]));
        if types.is_empty() || !uniform {
            return Err(self.error(format!(
                "the function of `map_elementwise` gives {} values: {pack} of the same type per result are needed",
                values.len()
            )));
        }
        let results = groups
            .filter_map(|g| g.first())
            .map(|&e| Ty::Block(shape, e))
            .collect();
        Ok(self.with_region(OpCode::MapElementwise, &inputs, Attrs::Map(pack), results, region))
    }

    /// Values and their positions along an axis, reduced together (`tl.argmax`, `tl.max(return_indices=True)`).
    ///
    /// # Errors
    /// As for [`Cx::reduce`].
    pub fn reduce_with_indices(
        &mut self,
        x: &Tensor,
        axis: Option<i64>,
        keep_dims: bool,
        combine: &mut Combine<'_, 'p>,
    ) -> Result<(Tensor, Tensor)> {
        let shape = self.common_block("reduce", std::slice::from_ref(x))?;
        let Some(axis) = axis else {
            let error = self.error("positions of a reduction over all dimensions");
            return Err(error.help("name an axis, or reshape the block to one dimension first"));
        };
        let axis = self.axis(axis, shape.rank())?;
        let end = i32::try_from(shape.dim(axis)).unwrap_or(i32::MAX);
        let mut index = self.arange(&Value::int(0), &Value::int(end))?;
        if shape.rank() > 1 {
            let others: Vec<i64> = (0..shape.rank())
                .filter(|&d| d != axis)
                .map(|d| d as i64)
                .collect();
            index = self.expand_dims(&index, &others)?;
            index = self.broadcast_to(&index, shape)?;
        }
        let reduced = self.reduce(&[x.clone(), index], Some(axis as i64), keep_dims, combine)?;
        match <[Tensor; 2]>::try_from(reduced) {
            Ok([value, index]) => Ok((value, index)),
            Err(_) => Err(self.error("a reduction with positions gives two values")),
        }
    }

    /// `tl.gather`.
    ///
    /// # Errors
    /// Shapes that differ outside of the axis, indices that are no integers.
    pub fn gather(&mut self, x: &Tensor, index: &Tensor, axis: i64) -> Result<Tensor> {
        if index.dtype().is_none_or(Dtype::is_float) {
            return Err(self.error(format!(
                "`gather` with indices of type {}: integers are needed",
                index.ty
            )));
        }
        let (Ty::Block(from, elem), Ty::Block(to, _)) = (&x.ty, &index.ty) else {
            return Err(self.error(format!(
                "`gather` of {} with indices of type {}: blocks are needed",
                x.ty, index.ty
            )));
        };
        let axis = self.axis(axis, from.rank())?;
        let fits =
            from.rank() == to.rank() && (0..from.rank()).all(|d| d == axis || from.dim(d) == to.dim(d));
        if !fits {
            return Err(self.error(format!(
                "`gather` of {} with indices of type {}: the shapes may differ only along axis {axis}",
                x.ty, index.ty
            )));
        }
        let attrs = Attrs::Gather {
            axis: axis as u32,
            efficient_layout: false,
        };
        Ok(self.emit(OpCode::Gather, &[x, index], attrs, Ty::Block(*to, *elem)))
    }

    /// `tl.histogram`; a mask of `None` is none.
    ///
    /// # Errors
    /// What is not one dimension of 32-bit integers.
    pub fn histogram(&mut self, x: &Tensor, bins: u64, mask: &Value) -> Result<Tensor> {
        let narrow = matches!(x.dtype(), Some(Dtype::Int32 | Dtype::Uint32));
        if !narrow || x.shape().rank() != 1 {
            return Err(self.error(format!(
                "`histogram` of a value of type {}: a block of one dimension of 32-bit integers is needed",
                x.ty
            )));
        }
        let out = if bins.is_power_of_two() {
            self.checked_shape(&[bins])?
        } else {
            return Err(self.error(format!("`histogram` with {bins} bins, not a power of two")));
        };
        let mut operands = vec![x.clone()];
        if let Some(mask) = self.optional(mask)? {
            let mask = self.broadcast_to(&mask, x.shape())?;
            self.check_mask(&mask, x)?;
            operands.push(mask);
        }
        let operands: Vec<&Tensor> = operands.iter().collect();
        let ty = Ty::Block(out, Elem::Num(Dtype::Int32));
        Ok(self.emit(OpCode::Histogram, &operands, Attrs::None, ty))
    }
}
