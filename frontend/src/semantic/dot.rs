//! Matrix products.

use tilescope_ir::attrs::{DotScaled, InputPrecision, ScaleElem};
use tilescope_ir::{Attrs, OpCode, Shape};

use super::math::language_name;
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, Ty};
use crate::value::{Tensor, Value};

/// The keyword arguments of `tl.dot`.
#[derive(Debug, Clone, Default)]
pub struct DotOptions {
    /// `input_precision` (`"tf32"`, `"ieee"`, …).
    pub input_precision: Option<String>,
    /// `allow_tf32`, the older way to say it.
    pub allow_tf32: Option<bool>,
    /// `max_num_imprecise_acc`.
    pub max_num_imprecise_acc: Option<i64>,
    /// `out_dtype`; none is fp32, or the accumulator's.
    pub out_dtype: Option<Dtype>,
}

/// An operand of `tl.dot_scaled`.
#[derive(Debug, Clone)]
pub struct Scaled<'a> {
    /// The elements.
    pub tile: &'a Tensor,
    /// Its scales; `None` for none.
    pub scale: &'a Value,
    /// `"e2m1"`, `"e4m3"`, `"e5m2"`, `"bf16"`, `"fp16"`.
    pub format: &'a str,
    /// Packed along the reduction dimension.
    pub k_pack: bool,
}

impl Cx<'_> {
    /// `tl.dot`; an accumulator of `None` is zero.
    ///
    /// # Errors
    /// Shapes and types that do not multiply.
    pub fn dot(&mut self, a: &Tensor, b: &Tensor, acc: &Value, options: &DotOptions) -> Result<Tensor> {
        let out = self.product_shape(a, b)?;
        let acc = match acc {
            Value::None => None,
            acc => Some(self.tensor(acc, "the accumulator of `dot`")?.clone()),
        };
        if let Some(acc) = &acc
            && (!acc.is_block() || acc.shape() != out)
        {
            return Err(self.error(format!(
                "the accumulator is of type {}, the product {} * {} has the shape {out:?}",
                acc.ty, a.ty, b.ty
            )));
        }
        if out.rank() <= 3 {
            return self.matrix_product(a, b, acc.as_ref(), options);
        }
        let (a, b) = (self.one_batch(a)?, self.one_batch(b)?);
        let acc = match acc {
            Some(acc) => Some(self.one_batch(&acc)?),
            None => None,
        };
        let product = self.matrix_product(&a, &b, acc.as_ref(), options)?;
        self.reshape(&product, out, false)
    }

    /// The shape of a product of matrices, or of batches of them.
    fn product_shape(&self, a: &Tensor, b: &Tensor) -> Result<Shape> {
        let (x, y) = (a.shape(), b.shape());
        let rank = x.rank();
        if !a.is_block() || !b.is_block() || rank < 2 || rank != y.rank() {
            return Err(self
                .error(format!("`dot` of {} and {}: two matrices are needed", a.ty, b.ty))
                .help("both operands are blocks of the same rank, 2 or more"));
        }
        if (0..rank - 2).any(|d| x.dim(d) != y.dim(d)) {
            return Err(self.error(format!("`dot` of {} and {}: their batches differ", a.ty, b.ty)));
        }
        if x.dim(rank - 1) != y.dim(rank - 2) {
            let error = self.error(format!(
                "`dot` of {} and {}: {} columns do not fit {} rows",
                a.ty,
                b.ty,
                x.dim(rank - 1),
                y.dim(rank - 2)
            ));
            let transposed = x.dim(rank - 1) == y.dim(rank - 1);
            return Err(if transposed {
                error.help("is the right operand to be transposed: `tl.dot(a, tl.trans(b))`?")
            } else {
                error
            });
        }
        let mut dims: Vec<u64> = x.dims().map(|d| d as u64).collect();
        dims[rank - 1] = y.dim(rank - 1) as u64;
        self.checked_shape(&dims)
    }

    /// All dimensions before the last two made one.
    fn one_batch(&mut self, x: &Tensor) -> Result<Tensor> {
        let shape = x.shape();
        let rank = shape.rank();
        let batch: usize = (0..rank.saturating_sub(2)).map(|d| shape.dim(d)).product();
        let dims = [batch, shape.dim(rank - 2), shape.dim(rank - 1)].map(|d| d as u64);
        let flat = self.checked_shape(&dims)?;
        self.reshape(x, flat, false)
    }

    fn matrix_product(
        &mut self,
        a: &Tensor,
        b: &Tensor,
        acc: Option<&Tensor>,
        options: &DotOptions,
    ) -> Result<Tensor> {
        let (a, b) = self.dot_inputs(a, b)?;
        let input = self.number_type(&a)?;
        let both_fp8 = input.is_fp8();
        let precision = self.input_precision(options)?;
        let acc_dtype = acc.and_then(Tensor::dtype);
        let out = options.out_dtype.or(acc_dtype).unwrap_or(Dtype::Fp32);
        let result = self.product_dtype(input, out)?;
        let shape = self.product_shape(&a, &b)?;
        self.check_dot_size(input, &a, &b)?;
        let ty = Ty::Block(shape, Elem::Num(result));
        let acc = match acc {
            None => {
                let zero = self.number_as(super::constant::Number::Int(0), result)?;
                self.splat(&zero, shape)?
            }
            Some(acc) => {
                if acc_dtype != Some(out) || out != result {
                    return Err(self
                        .error(format!(
                            "the accumulator is of type {}, the product of {result}",
                            acc.ty
                        ))
                        .help(format!(
                            "make it {}, and cast after the product",
                            language_name(result)
                        )));
                }
                acc.clone()
            }
        };
        let depth = a.shape().dim(a.shape().rank() - 1) as i64;
        let max_imprecise = match options.max_num_imprecise_acc {
            Some(n) if both_fp8 && n > depth => {
                return Err(self.error(format!(
                    "`max_num_imprecise_acc` is {n}, more than the {depth} products of each sum"
                )));
            }
            Some(n) => u32::try_from(n)
                .map_err(|_| self.error(format!("`max_num_imprecise_acc` is {n}, it is not negative")))?,
            None if both_fp8 && self.options.capability == 90 => 1 << 30,
            None => 0,
        };
        let attrs = Attrs::Dot {
            precision,
            max_imprecise,
        };
        Ok(self.emit(OpCode::Dot, &[&a, &b, &acc], attrs, ty))
    }

    /// Operands of one type that can be multiplied.
    fn dot_inputs(&mut self, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
        use Dtype::{Bf16, Fp8e4b15, Fp16, Fp32, Fp64, Int8};
        let (x, y) = (self.number_type(a)?, self.number_type(b)?);
        if x.is_fp8() && y.is_fp8() {
            self.check_fp8(x)?;
            self.check_fp8(y)?;
            if x == Fp8e4b15 || y == Fp8e4b15 {
                let half = Elem::Num(Fp16);
                return Ok((self.cast(a, half, None)?, self.cast(b, half, None)?));
            }
            return Ok((a.clone(), b.clone()));
        }
        for (side, dtype) in [("left", x), ("right", y)] {
            if !matches!(dtype, Int8 | Fp16 | Bf16 | Fp32 | Fp64) && !dtype.is_fp8() {
                return Err(self
                    .error(format!("`dot` with a {side} operand of type {dtype}"))
                    .help("it takes int8, fp8, fp16, bf16, fp32 and fp64: cast it"));
            }
        }
        if x != y {
            return Err(self
                .error(format!(
                    "`dot` of operands of types {x} and {y}: they must be the same"
                ))
                .help(format!("cast one of them: `.to(tl.{})`", language_name(x))));
        }
        Ok((a.clone(), b.clone()))
    }

    fn product_dtype(&self, input: Dtype, out: Dtype) -> Result<Dtype> {
        Ok(match input {
            _ if input.is_int() => Dtype::Int32,
            _ if out == Dtype::Bf16 => {
                return Err(self
                    .error("`dot` does not accumulate in bf16")
                    .help("use out_dtype=tl.float32 and cast the result: `.to(tl.bfloat16)`"));
            }
            Dtype::Fp32 | Dtype::Bf16 => Dtype::Fp32,
            Dtype::Fp64 => Dtype::Fp64,
            _ if matches!(out, Dtype::Fp16 | Dtype::Fp32) => out,
            _ => {
                return Err(self
                    .error(format!("`dot` of {input} does not accumulate in {out}"))
                    .help("it accumulates in fp32 or fp16"));
            }
        })
    }

    /// Triton refuses products with a shorter reduction dimension than the tensor cores'.
    fn check_dot_size(&self, input: Dtype, a: &Tensor, b: &Tensor) -> Result<()> {
        let least = match input.bits() {
            8 => 32,
            64 => 4,
            32 => 8,
            _ => 16,
        };
        let depth = a.shape().dim(a.shape().rank() - 1);
        if depth >= least {
            return Ok(());
        }
        Err(self
            .error(format!(
                "`dot` of {} and {}: K is {depth}, it must be at least {least} for {input}",
                a.ty, b.ty
            ))
            .help("make the blocks larger and mask what lies outside with zeros"))
    }

    fn input_precision(&self, options: &DotOptions) -> Result<InputPrecision> {
        match (&options.input_precision, options.allow_tf32) {
            (Some(_), Some(_)) => Err(self
                .error("`dot` with both `input_precision` and `allow_tf32`")
                .help("`allow_tf32` is the older way to say the same: keep `input_precision`")),
            (Some(word), None) => InputPrecision::from_word(&word.to_lowercase()).ok_or_else(|| {
                self.error(format!("`{word}` is no input precision"))
                    .help("there are tf32, tf32x3, ieee, bf16x3 and bf16x6")
            }),
            (None, Some(false)) => Ok(InputPrecision::Ieee),
            (None, _) => Ok(InputPrecision::Tf32),
        }
    }

    /// `tl.dot_scaled`; an accumulator of `None` is zero.
    ///
    /// # Errors
    /// Shapes, formats and scales that do not fit.
    pub fn dot_scaled(
        &mut self,
        a: &Scaled<'_>,
        b: &Scaled<'_>,
        acc: &Value,
        fast_math: bool,
        out_dtype: Dtype,
    ) -> Result<Tensor> {
        if out_dtype != Dtype::Fp32 {
            return Err(self.error(format!("`dot_scaled` gives fp32, not {out_dtype}")));
        }
        let (x, y) = (a.tile.shape(), b.tile.shape());
        let rank = x.rank();
        if rank != y.rank() || !(2..=3).contains(&rank) || !a.tile.is_block() || !b.tile.is_block() {
            return Err(self.error(format!(
                "`dot_scaled` of {} and {}: two matrices, or batches of matrices, are needed",
                a.tile.ty, b.tile.ty
            )));
        }
        let (a_kind, a_tile) = self.scaled_tile("left", a)?;
        let (b_kind, b_tile) = self.scaled_tile("right", b)?;
        let packed = |kind: ScaleElem, along: bool| if kind == ScaleElem::E2M1 && along { 2 } else { 1 };
        let rows = x.dim(rank - 2) * packed(a_kind, !a.k_pack);
        let depth = x.dim(rank - 1) * packed(a_kind, a.k_pack);
        let columns = y.dim(rank - 1) * packed(b_kind, !b.k_pack);
        let right_depth = y.dim(rank - 2) * packed(b_kind, b.k_pack);
        if depth != right_depth || rank == 3 && x.dim(0) != y.dim(0) {
            return Err(self.error(format!(
                "`dot_scaled` of {} and {}: they hold {depth} and {right_depth} elements along K",
                a.tile.ty, b.tile.ty
            )));
        }
        let mut dims: Vec<u64> = x.dims().map(|d| d as u64).collect();
        dims[rank - 2] = rows as u64;
        dims[rank - 1] = columns as u64;
        let shape = self.checked_shape(&dims)?;
        let ty = Ty::Block(shape, Elem::Num(out_dtype));
        let acc = match acc {
            Value::None => {
                let zero = self.number_as(super::constant::Number::Int(0), out_dtype)?;
                self.splat(&zero, shape)?
            }
            acc => self.tensor(acc, "the accumulator of `dot_scaled`")?.clone(),
        };
        if acc.ty != ty {
            return Err(self.error(format!(
                "the accumulator is of type {}, the product of {ty}",
                acc.ty
            )));
        }
        let a_scale = self.scale("left", a.scale, rows, depth)?;
        let b_scale = self.scale("right", b.scale, columns, depth)?;
        if let (Some(p), Some(q)) = (&a_scale, &b_scale)
            && p.shape().dim(p.shape().rank() - 1) != q.shape().dim(q.shape().rank() - 1)
        {
            return Err(self.error(format!(
                "the scales are of types {} and {}: they must cover groups of the same length",
                p.ty, q.ty
            )));
        }
        let attrs = Attrs::DotScaled(DotScaled {
            a: a_kind,
            b: b_kind,
            a_scale: a_scale.is_some(),
            b_scale: b_scale.is_some(),
            fast_math,
            lhs_k_pack: a.k_pack,
            rhs_k_pack: b.k_pack,
        });
        let mut operands = vec![&a_tile, &b_tile, &acc];
        operands.extend(a_scale.as_ref());
        operands.extend(b_scale.as_ref());
        Ok(self.emit(OpCode::DotScaled, &operands, attrs, ty))
    }

    /// The operand in its format: bytes are taken as the numbers that they hold.
    fn scaled_tile(&mut self, side: &str, operand: &Scaled<'_>) -> Result<(ScaleElem, Tensor)> {
        let tile = operand.tile;
        let (kind, number, bits) = match operand.format.to_lowercase().as_str() {
            "e2m1" => (ScaleElem::E2M1, None, Dtype::Uint8),
            "e4m3" => (ScaleElem::E4M3, Some(Dtype::Fp8e4nv), Dtype::Uint8),
            "e5m2" => (ScaleElem::E5M2, Some(Dtype::Fp8e5), Dtype::Uint8),
            "bf16" => (ScaleElem::Bf16, Some(Dtype::Bf16), Dtype::Uint16),
            "fp16" => (ScaleElem::Fp16, Some(Dtype::Fp16), Dtype::Uint16),
            other => {
                return Err(self
                    .error(format!("`{other}` is no format of the {side} operand"))
                    .help("there are e2m1, e4m3, e5m2, bf16 and fp16"));
            }
        };
        if !operand.k_pack && kind != ScaleElem::E2M1 {
            return Err(self.error(format!(
                "the {side} operand of format {} is not packed: only e2m1 is packed along another dimension than K",
                operand.format
            )));
        }
        let found = self.number_type(tile)?;
        match number {
            _ if Some(found) == number => Ok((kind, tile.clone())),
            None if found == bits => Ok((kind, tile.clone())),
            Some(number) if found == bits => Ok((kind, self.bitcast(tile, Elem::Num(number))?)),
            _ => Err(self.error(format!(
                "the {side} operand of format {} is of type {}: its elements are {bits}{}",
                operand.format,
                tile.ty,
                number.map_or(String::new(), |n| format!(" or {n}"))
            ))),
        }
    }

    /// Scales: one byte per row and group of 16 or 32 along K.
    fn scale(&self, side: &str, scale: &Value, rows: usize, depth: usize) -> Result<Option<Tensor>> {
        if matches!(scale, Value::None) {
            return Ok(None);
        }
        let scale = self.tensor(scale, "the scale")?;
        let shape = scale.shape();
        let rank = shape.rank();
        let fits = rank >= 2
            && shape.dim(rank - 2) == rows
            && [16, 32].contains(&(depth / shape.dim(rank - 1).max(1)))
            && scale.is_block();
        if fits {
            return Ok(Some(scale.clone()));
        }
        Err(self.error(format!(
            "the scale of the {side} operand is of type {}: {rows} rows of {} are needed, one per 32 elements",
            scale.ty,
            depth / 32
        )))
    }
}
