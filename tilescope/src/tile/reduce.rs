//! Dimensions combined away, and running combinations.
//!
//! The types of sums and extremes are Triton's: integers of less than 32 bits are summed as 32-bit ones, and
//! extremes of less than 32 bits are taken in `f32` or `i32`.

use std::panic::Location;

use tilescope_ir::{Attrs, OpCode};
use tilescope_launch::Dtype;

use super::arith::{Binary, Compare};
use super::carried::{Carried, tiles_of};
use super::control::Flow;
use super::shape::axis_of;
use super::types::{TileType, bits, is_signed};
use crate::Tile;
use crate::builder::{Builder, Core, Input, Made, Stop, Value, wrong};

impl<'k> Tile<'k> {
    /// The sum along a dimension, which goes away. `x.flatten().sum(0)` is the sum of all.
    #[track_caller]
    pub fn sum(self, axis: i32) -> Tile<'k> {
        let at = Location::caller();
        self.k
            .reduce(self.summed(), axis, |a, b| a.binary_at(at, Binary::Add, b))
    }

    /// The largest number along a dimension, which goes away; NaN is passed over.
    #[track_caller]
    pub fn max(self, axis: i32) -> Tile<'k> {
        let at = Location::caller();
        self.k.reduce(self.at_least_32(), axis, |a, b| {
            a.binary_at(at, Binary::Maximum, b)
        })
    }

    /// The smallest number along a dimension, which goes away; NaN is passed over.
    #[track_caller]
    pub fn min(self, axis: i32) -> Tile<'k> {
        let at = Location::caller();
        self.k.reduce(self.at_least_32(), axis, |a, b| {
            a.binary_at(at, Binary::Minimum, b)
        })
    }

    /// Where along a dimension the largest number stands, the first of several, as `i32`.
    #[track_caller]
    pub fn argmax(self, axis: i32) -> Tile<'k> {
        self.first_of(axis, Compare::Gt)
    }

    /// Where along a dimension the smallest number stands, the first of several, as `i32`.
    #[track_caller]
    pub fn argmin(self, axis: i32) -> Tile<'k> {
        self.first_of(axis, Compare::Lt)
    }

    /// Sums of the numbers so far along a dimension.
    #[track_caller]
    pub fn cumsum(self, axis: i32) -> Tile<'k> {
        let at = Location::caller();
        self.k
            .scan(self.summed(), axis, |a, b| a.binary_at(at, Binary::Add, b))
    }

    /// Products of the numbers so far along a dimension.
    #[track_caller]
    pub fn cumprod(self, axis: i32) -> Tile<'k> {
        let at = Location::caller();
        self.k
            .scan(self.summed(), axis, |a, b| a.binary_at(at, Binary::Mul, b))
    }

    #[track_caller]
    fn first_of(self, axis: i32, wins: Compare) -> Tile<'k> {
        let at = Location::caller();
        let value = self.at_least_32();
        let indices = self.k.make_at(at, |core| {
            let value = core.take_tile(value)?;
            core.indices(value, axis)
        });
        let (_, index) = self.k.reduce((value, indices), axis, |(a, i), (b, j)| {
            // Closures do not pass the author's line on by themselves.
            let first = self.k.make_at(at, |core| {
                let [a, i, b, j] = [a, i, b, j].map(|tile| core.take_tile(tile).map(Input::Value));
                let (a, i, b, j) = (a?, i?, b?, j?);
                let (wins, ties) = (core.compare(wins, a, b)?, core.compare(Compare::Eq, a, b)?);
                let earlier = core.compare(Compare::Lt, i, j)?;
                let earlier = core.binary(Binary::BitAnd, Input::Value(ties), Input::Value(earlier))?;
                core.binary(Binary::BitOr, Input::Value(wins), Input::Value(earlier))
            });
            let choose = |a: Tile<'k>, b: Tile<'k>| {
                self.k.make_at(at, |core| {
                    let (first, a, b) = (core.take_tile(first)?, core.take_tile(a)?, core.take_tile(b)?);
                    Ok(core.emit(OpCode::Select, &[first, a, b], Attrs::None, a.ty))
                })
            };
            (choose(a, b), choose(i, j))
        });
        index
    }

    #[track_caller]
    fn summed(self) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let dtype = core.number_type(value, "a reduction")?;
            match dtype.is_float() || bits(dtype) >= 32 {
                true => Ok(value),
                false => core.cast(value, if is_signed(dtype) { Dtype::I32 } else { Dtype::U32 }),
            }
        })
    }

    #[track_caller]
    fn at_least_32(self) -> Tile<'k> {
        self.k.make(|core| {
            let value = core.take_tile(self)?;
            let dtype = core.number_type(value, "a reduction")?;
            match bits(dtype) >= 32 {
                true => Ok(value),
                false => core.cast(value, if dtype.is_float() { Dtype::F32 } else { Dtype::I32 }),
            }
        })
    }
}

impl Builder {
    /// A dimension of tiles (of one shape) combined away: `combine` gets two numbers of each and gives one of each.
    /// It must be associative; in which order it is applied is not said.
    ///
    /// ```
    /// # use tilescope::Kernel;
    /// # Kernel::new("k", |k| {
    /// let x = k.load(k.ptr::<f32>("x") + k.arange(0, 64), None, None);
    /// let largest = k.reduce(x.abs(), 0, |a, b| a.maximum(b));
    /// # k.store(k.ptr::<f32>("out"), largest, None);
    /// # }).build().unwrap();
    /// ```
    #[track_caller]
    pub fn reduce<'k, C: Carried<'k>>(&'k self, tiles: C, axis: i32, combine: impl FnOnce(C, C) -> C) -> C {
        self.combine(OpCode::Reduce, tiles, axis, combine)
    }

    /// Running combination along a dimension, from the first element to the last: `combine` gets what came before
    /// and the next number of each tile, and gives one of each.
    #[track_caller]
    pub fn scan<'k, C: Carried<'k>>(&'k self, tiles: C, axis: i32, combine: impl FnOnce(C, C) -> C) -> C {
        self.combine(OpCode::Scan, tiles, axis, combine)
    }

    #[track_caller]
    fn combine<'k, C: Carried<'k>>(
        &'k self,
        code: OpCode,
        tiles: C,
        axis: i32,
        combine: impl FnOnce(C, C) -> C,
    ) -> C {
        let at = Location::caller();
        let given = tiles_of(&tiles);
        let broken = |tiles: &C| tiles.with_tiles(&mut given.iter().map(|_| self.tile(None)));
        let opened = self.attempt_at(at, |core| {
            let values = given.iter().map(|&tile| core.take_tile(tile));
            let values: Vec<Value> = values.collect::<Made<_>>()?;
            let axis = core.reduced_axis(&values, axis)?;
            let lanes: Vec<TileType> = values.iter().map(|v| v.ty.shaped(None)).collect();
            let (open, args) = core.open_body(&[lanes.clone(), lanes].concat());
            Ok((values, axis, open, args))
        });
        let Some((values, axis, open, args)) = opened else {
            return broken(&tiles);
        };
        let (left, right) = args.split_at(values.len().min(args.len()));
        let side = |values: &[Value]| tiles.with_tiles(&mut values.iter().map(|&v| self.tile(Some(v))));
        let combined = tiles_of(&combine(side(left), side(right)));
        let results = self.attempt_at(at, |core| {
            let known: Vec<(usize, Value)> = left.iter().copied().enumerate().collect();
            let next = core.same_types(Flow::Combination, &given, &known, &combined);
            let ends = next.as_ref().map_or(&[][..], |next| next);
            let (end, types) = match code {
                OpCode::Reduce => (OpCode::ReduceReturn, without(&values, axis)),
                _ => (OpCode::ScanReturn, values.iter().map(|v| v.ty).collect()),
            };
            let region = core.close_body(open, end, ends);
            next?;
            let attrs = Attrs::Along {
                axis: axis as u32,
                reverse: false,
            };
            Ok(core.emit_with_bodies(code, &values, attrs, &types, vec![region]))
        });
        match results {
            Some(results) => tiles.with_tiles(&mut results.into_iter().map(|v| self.tile(Some(v)))),
            None => broken(&tiles),
        }
    }
}

/// The types of values without a dimension.
fn without(values: &[Value], axis: usize) -> Vec<TileType> {
    let of = |value: &Value| {
        let shape = value.ty.shape.and_then(|s| s.without(axis));
        value.ty.shaped(shape.filter(|s| s.rank() > 0))
    };
    values.iter().map(of).collect()
}

impl Core {
    fn reduced_axis(&self, values: &[Value], axis: i32) -> Made<usize> {
        let Some(first) = values.first() else {
            return Err(wrong("a combination of no tiles").into());
        };
        if let Some(other) = values.iter().find(|v| v.ty.shape != first.ty.shape) {
            let message = format!(
                "a combination of `{}` and `{}`, of different shapes",
                first.ty, other.ty
            );
            return Err(wrong(message).also(*other, "this is the other one").into());
        }
        for value in values {
            self.number_type(*value, "a reduction")?;
        }
        let rank = first.ty.shape.map_or(0, |s| s.rank());
        if rank == 0 {
            return Err(format!("a reduction of one `{}`: it takes a tile", first.ty).into());
        }
        axis_of(axis, rank)
    }

    /// 0, 1, … along a dimension of a value's shape, the same along all others.
    fn indices(&mut self, value: Value, axis: i32) -> Made {
        let shape = value.ty.shape.ok_or(Stop::Broken)?;
        let axis = axis_of(axis, shape.rank())?;
        let end = shape.dim(axis) as i32;
        let line = tilescope_ir::Shape::new(&[end as u64]);
        let ty = TileType::number(Dtype::I32).shaped(line);
        let mut line = self.emit(OpCode::MakeRange, &[], Attrs::Range { start: 0, end }, ty);
        for _ in axis + 1..shape.rank() {
            let after = line.ty.shape.map_or(0, |s| s.rank());
            line = self.expand(line, after)?;
        }
        self.shape_to(line, Some(shape))
    }
}
