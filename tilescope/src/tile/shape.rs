//! Shapes: broadcasting, dimensions put in, permuted, merged.

use tilescope_ir::{Attrs, OpCode, Shape, infer};

use crate::Tile;
use crate::builder::{Core, Made, Stop, Value, wrong};

impl<'k> Tile<'k> {
    /// A dimension of one put in before dimension `axis`; negative axes count from the end of the result.
    #[track_caller]
    pub fn expand_dims(self, axis: i32) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let rank = value.ty.shape.map_or(0, |s| s.rank());
            let axis = axis_of(axis, rank + 1)?;
            core.expand(value, axis)
        })
    }

    /// A tile of one dimension as a column: `[n]` to `[n, 1]`.
    #[track_caller]
    pub fn col(self) -> Tile<'k> {
        self.expand_dims(1)
    }

    /// A tile of one dimension as a row: `[n]` to `[1, n]`.
    #[track_caller]
    pub fn row(self) -> Tile<'k> {
        self.expand_dims(0)
    }

    /// The tile, or the one number, repeated to a shape. Operators do so by themselves.
    #[track_caller]
    pub fn broadcast_to(self, shape: impl AsRef<[i32]>) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let shape = shape_of(shape.as_ref())?;
            core.shape_to(value, shape)
        })
    }

    /// The same elements, in row-major order, in another shape.
    #[track_caller]
    pub fn reshape(self, shape: impl AsRef<[i32]>) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let shape = shape_of(shape.as_ref())?;
            core.reshape(value, shape)
        })
    }

    /// All elements in one dimension, in row-major order.
    #[track_caller]
    pub fn flatten(self) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let flat = Shape::new(&[value.ty.ir().lanes() as u64]);
            core.reshape(value, flat)
        })
    }

    /// The last two dimensions exchanged.
    #[track_caller]
    pub fn trans(self) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let rank = value.ty.shape.map_or(0, |s| s.rank());
            if rank < 2 {
                return Err(format!("`trans` takes two dimensions or more, this is `{}`", value.ty).into());
            }
            let mut order: Vec<u32> = (0..rank as u32).collect();
            order.swap(rank - 2, rank - 1);
            core.permute(value, &order)
        })
    }

    /// Dimensions permuted: dimension i of the result is dimension `order[i]` of this tile.
    #[track_caller]
    pub fn permute(self, order: impl AsRef<[i32]>) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let rank = value.ty.shape.map_or(0, |s| s.rank());
            let order = order
                .as_ref()
                .iter()
                .map(|&axis| axis_of(axis, rank).map(|a| a as u32));
            let order: Vec<u32> = order.collect::<Made<_>>()?;
            core.permute(value, &order)
        })
    }

    /// This tile and another of its type along a new last dimension of two.
    #[track_caller]
    pub fn join(self, other: Tile<'k>) -> Tile<'k> {
        self.k.make(|core| {
            let (a, b) = (core.take_tile(self)?, core.take_tile(other)?);
            if a.ty != b.ty {
                return Err(format!(
                    "`join` takes two tiles of one type, these are `{}` and `{}`",
                    a.ty, b.ty
                )
                .into());
            }
            let shape = a.ty.shape.unwrap_or_default();
            let out = shape.with_inserted(shape.rank(), 2).ok_or_else(too_large)?;
            let out = small_enough(out)?;
            Ok(core.emit(OpCode::Join, &[a, b], Attrs::None, a.ty.shaped(Some(out))))
        })
    }

    /// The two halves of a last dimension of two.
    #[track_caller]
    pub fn split(self) -> (Tile<'k>, Tile<'k>) {
        let at = std::panic::Location::caller();
        let halves = self.k.attempt_at(at, |core| {
            let value = core.take_tile(self)?;
            let shape = value.ty.shape.unwrap_or_default();
            let last = shape.rank().checked_sub(1).filter(|&last| shape.dim(last) == 2);
            let Some(out) = last.and_then(|last| shape.without(last)) else {
                return Err(format!("`split` takes a last dimension of two, this is `{}`", value.ty).into());
            };
            let half = value.ty.shaped(Some(out).filter(|s| s.rank() > 0));
            let halves =
                core.emit_with_bodies(OpCode::Split, &[value], Attrs::None, &[half, half], Vec::new());
            Ok((halves.first().copied(), halves.get(1).copied()))
        });
        let (a, b) = halves.unwrap_or((None, None));
        (self.k.tile(a), self.k.tile(b))
    }

    /// Elements picked along a dimension: where `index` (of integers, with the result's shape) holds j, the j-th.
    #[track_caller]
    pub fn gather(self, index: Tile<'k>, axis: i32) -> Tile<'k> {
        self.k.make(|core| {
            let (value, index) = (core.take_tile(self)?, core.take_tile(index)?);
            let rank = value.ty.shape.map_or(0, |s| s.rank());
            let axis = axis_of(axis, rank)?;
            let fits =
                |i: usize| i == axis || value.ty.shape.map(|s| s.dim(i)) == index.ty.shape.map(|s| s.dim(i));
            let integers = index.ty.dtype().is_some_and(|d| !d.is_float());
            if index.ty.shape.map_or(0, |s| s.rank()) != rank || !(0..rank).all(fits) || !integers {
                let message = format!("`gather` from `{}` along {axis} by `{}`", value.ty, index.ty);
                let help = "the index holds integers and has the same dimensions but for that one";
                return Err(wrong(message).help(help).into());
            }
            let attrs = Attrs::Gather {
                axis: axis as u32,
                efficient_layout: false,
            };
            Ok(core.emit(
                OpCode::Gather,
                &[value, index],
                attrs,
                value.ty.shaped(index.ty.shape),
            ))
        })
    }
}

fn too_large() -> Stop {
    wrong("the result has too many dimensions").into()
}

/// A dimension of a tile of this rank, counted from the end where negative.
pub(crate) fn axis_of(axis: i32, rank: usize) -> Made<usize> {
    let from_end = i64::from(axis) + if axis < 0 { rank as i64 } else { 0 };
    match usize::try_from(from_end) {
        Ok(found) if found < rank => Ok(found),
        _ => Err(format!("axis {axis} does not fit {rank} dimensions").into()),
    }
}

/// A shape; none for no dimensions, which is one number.
pub(crate) fn shape_of(dims: &[i32]) -> Made<Option<Shape>> {
    if dims.is_empty() {
        return Ok(None);
    }
    let wide: Option<Vec<u64>> = dims.iter().map(|&d| u64::try_from(d).ok()).collect();
    let shape = wide.and_then(|dims| Shape::new(&dims));
    let shape = shape.ok_or_else(|| wrong(format!("{dims:?} is no shape: dimensions are powers of two")))?;
    small_enough(shape).map(Some)
}

/// A shape that a tile may have.
pub(crate) fn small_enough(shape: Shape) -> Made<Shape> {
    let (elements, most) = (shape.elements(), tilescope_ir::MAX_TILE_ELEMENTS);
    if elements as u64 <= most {
        return Ok(shape);
    }
    Err(format!("a tile of shape {shape:?} has {elements} elements, {most} are the most").into())
}

impl Core {
    /// A value repeated to a shape: one number to all lanes, dimensions of one to more, missing ones in front.
    pub(crate) fn shape_to(&mut self, value: Value, shape: Option<Shape>) -> Made {
        let (from, to) = match (value.ty.shape, shape) {
            (from, to) if from == to => return Ok(value),
            (None, to) => return Ok(self.emit(OpCode::Splat, &[value], Attrs::None, value.ty.shaped(to))),
            (Some(from), Some(to)) => (from, to),
            (Some(_), None) => return Err(format!("`{}` is not one number", value.ty).into()),
        };
        let mut value = value;
        for _ in from.rank()..to.rank() {
            value = self.expand(value, 0)?;
        }
        let fits = value.ty.shape.is_some_and(|from| infer::broadcasts(from, to));
        if !fits {
            return Err(format!("the shape {from:?} does not broadcast to {to:?}").into());
        }
        if value.ty.shape == Some(to) {
            return Ok(value);
        }
        Ok(self.emit(
            OpCode::Broadcast,
            &[value],
            Attrs::None,
            value.ty.shaped(Some(to)),
        ))
    }

    /// The shape that both values broadcast to.
    pub(crate) fn common_shape(&self, a: Value, b: Value, what: &str) -> Made<Option<Shape>> {
        let (x, y) = match (a.ty.shape, b.ty.shape) {
            (None, other) | (other, None) => return Ok(other),
            (Some(x), Some(y)) => (x, y),
        };
        let padded = |mut shape: Shape, rank| {
            while shape.rank() < rank {
                shape = shape.with_inserted(0, 1)?;
            }
            Some(shape)
        };
        let rank = x.rank().max(y.rank());
        let both = padded(x, rank).zip(padded(y, rank));
        match both.and_then(|(x, y)| infer::common_shape(x, y)) {
            Some(shape) => small_enough(shape).map(Some),
            None => Err(wrong(format!(
                "{what} of shapes {x:?} and {y:?}, which do not broadcast"
            ))
            .also(b, format!("this one is `{}`", b.ty))
            .into()),
        }
    }

    pub(crate) fn expand(&mut self, value: Value, axis: usize) -> Made {
        let Some(shape) = value.ty.shape else {
            return self.shape_to(value, Shape::new(&[1]));
        };
        let out = shape.with_inserted(axis, 1).ok_or_else(too_large)?;
        Ok(self.emit(
            OpCode::ExpandDims,
            &[value],
            Attrs::Axis(axis as u32),
            value.ty.shaped(Some(out)),
        ))
    }

    fn reshape(&mut self, value: Value, shape: Option<Shape>) -> Made {
        let to = match (value.ty.shape, shape) {
            (from, to) if from == to => return Ok(value),
            (None, Some(to)) if to.elements() == 1 => return self.shape_to(value, Some(to)),
            (Some(from), None) if from.elements() == 1 => {
                return Ok(self.emit(OpCode::Unsplat, &[value], Attrs::None, value.ty.shaped(None)));
            }
            (Some(from), Some(to)) if from.elements() == to.elements() => to,
            (_, to) => {
                let to = to.map_or_else(|| "one number".to_string(), |s| format!("{s:?}"));
                return Err(format!(
                    "`reshape` of `{}` to {to}, of another number of elements",
                    value.ty
                )
                .into());
            }
        };
        let attrs = Attrs::Reshape {
            allow_reorder: false,
            efficient_layout: false,
        };
        Ok(self.emit(OpCode::Reshape, &[value], attrs, value.ty.shaped(Some(to))))
    }

    fn permute(&mut self, value: Value, order: &[u32]) -> Made {
        let shape = value.ty.shape.unwrap_or_default();
        infer::permutation(order, shape.rank())?;
        let dims: Vec<u64> = order
            .iter()
            .map(|&axis| shape.dim(axis as usize) as u64)
            .collect();
        let out = Shape::new(&dims).ok_or_else(too_large)?;
        Ok(self.emit(
            OpCode::Trans,
            &[value],
            Attrs::Order(order.to_vec()),
            value.ty.shaped(Some(out)),
        ))
    }
}
