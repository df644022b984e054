//! Matrix products.

use tilescope_ir::{Attrs, OpCode, Shape};
use tilescope_launch::Dtype;

pub use tilescope_ir::attrs::InputPrecision;

use crate::Tile;
use crate::builder::{Builder, Value, wrong};

impl Builder {
    /// `a @ b + acc` for tiles `[m, k]`, `[k, n]` and `[m, n]` (or three dimensions, the first a batch), `f32` inputs
    /// in full precision. Triton's default on `f32` is TF32: see [`Builder::dot_with`].
    #[track_caller]
    pub fn dot<'k>(&'k self, a: Tile<'k>, b: Tile<'k>, acc: Tile<'k>) -> Tile<'k> {
        self.dot_with(a, b, acc, InputPrecision::Ieee)
    }

    /// `a @ b + acc` with a choice of how `f32` inputs are used; others are always used as they are.
    #[track_caller]
    pub fn dot_with<'k>(
        &'k self,
        a: Tile<'k>,
        b: Tile<'k>,
        acc: Tile<'k>,
        precision: InputPrecision,
    ) -> Tile<'k> {
        self.make(|core| {
            let (a, b, acc) = (core.take_tile(a)?, core.take_tile(b)?, core.take_tile(acc)?);
            let out = match product(a, b) {
                Some(shape) if acc.ty.shape == Some(shape) => shape,
                Some(shape) => {
                    let message = format!("`dot` of `{}` and `{}` into `{}`", a.ty, b.ty, acc.ty);
                    return Err(wrong(message)
                        .also(acc, "it was made here")
                        .help(format!("the accumulator of these has the shape {shape:?}"))
                        .into());
                }
                None => {
                    let message = format!("`dot` of `{}` and `{}`", a.ty, b.ty);
                    let help = "it multiplies `[m, k]` by `[k, n]` of one number type, or batches of them";
                    return Err(wrong(message).help(help).into());
                }
            };
            let wanted = accumulators(core.number_type(a, "`dot`")?);
            let given = core.number_type(acc, "`dot`")?;
            if !wanted.contains(&given) {
                let names: Vec<&str> = wanted.iter().map(|d| d.name()).collect();
                let names = names.join(" or ");
                let message = format!("`dot` of `{}` into `{}`: it accumulates in {names}", a.ty, acc.ty);
                return Err(wrong(message).also(acc, "it was made here").into());
            }
            let attrs = Attrs::Dot {
                precision,
                max_imprecise: 0,
            };
            Ok(core.emit(OpCode::Dot, &[a, b, acc], attrs, acc.ty.shaped(Some(out))))
        })
    }
}

/// The shape of a product; none if the operands do not fit.
fn product(a: Value, b: Value) -> Option<Shape> {
    let (x, y) = (a.ty.shape?, b.ty.shape?);
    let rank = x.rank();
    let fits = (rank == 2 || rank == 3)
        && y.rank() == rank
        && x.dim(rank - 1) == y.dim(rank - 2)
        && (rank == 2 || x.dim(0) == y.dim(0))
        && a.ty.lane == b.ty.lane;
    let mut dims: Vec<u64> = x.dims().map(|d| d as u64).collect();
    *dims.last_mut()? = y.dims().next_back()? as u64;
    Shape::new(&dims).filter(|_| fits)
}

/// The number types in which products of a type are summed.
fn accumulators(dtype: Dtype) -> &'static [Dtype] {
    match dtype {
        Dtype::F64 => &[Dtype::F64],
        Dtype::F16 | Dtype::F8E4M3 | Dtype::F8E5M2 => &[Dtype::F32, Dtype::F16],
        _ if dtype.is_float() => &[Dtype::F32],
        _ => &[Dtype::I32],
    }
}
