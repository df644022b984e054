//! Loops and branches with closures, and what a program does besides computing.
//!
//! A closure is run once, when the kernel is written: it adds the operations of its body. What it captures from
//! outside is known inside; what it makes is known outside only if it gives it back.

use std::panic::Location;
use std::sync::Arc;

use tilescope_ir::attrs::{Axis, Print};
use tilescope_ir::{Attrs, OpCode};
use tilescope_launch::Dtype;

use super::carried::{Carried, tiles_of};
use super::operand::{Given, Number, Operand};
use super::promote;
use super::types::{TileType, is_signed};
use crate::Tile;
use crate::builder::{Builder, Core, Input, Made, OpenBody, Stop, Value, wrong};

/// What keeps the types of what it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flow {
    Loop,
    Branches,
    Combination,
}

impl Flow {
    /// Says that number `which` (none if there is only one) is of two types.
    fn differs(self, which: Option<usize>, first: TileType, then: TileType) -> String {
        let which = which.map_or(String::new(), |n| format!(" (number {n})"));
        match self {
            Flow::Loop => format!("the loop starts with `{first}`{which} and goes on with `{then}`"),
            Flow::Branches => format!("one branch gives `{first}`{which}, the other `{then}`"),
            Flow::Combination => format!("a combination of two `{first}`{which} gives `{then}`"),
        }
    }
}

/// Known tiles of a structure, with their positions in it.
type Known = Vec<(usize, Value)>;

impl Builder {
    /// This program's index along an axis of the grid: 0, 1 or 2.
    #[track_caller]
    pub fn program_id(&self, axis: i32) -> Tile<'_> {
        self.grid(OpCode::GetProgramId, axis)
    }

    /// The number of programs along an axis of the grid: 0, 1 or 2.
    #[track_caller]
    pub fn num_programs(&self, axis: i32) -> Tile<'_> {
        self.grid(OpCode::GetNumPrograms, axis)
    }

    #[track_caller]
    fn grid(&self, code: OpCode, axis: i32) -> Tile<'_> {
        self.make(|core| {
            let axis = match axis {
                0 => Axis::X,
                1 => Axis::Y,
                2 => Axis::Z,
                _ => return Err(format!("axis {axis} of the grid: it has axes 0, 1 and 2").into()),
            };
            Ok(core.emit(code, &[], Attrs::Grid(axis), TileType::number(Dtype::I32)))
        })
    }

    /// For each i from `start` to `end` (not included) in steps of `step`, positive: the body gets i and what the
    /// loop carries, and gives what it carries on. Returns what it carried last.
    ///
    /// ```
    /// # use tilescope::{F32, Kernel};
    /// # Kernel::new("k", |k| {
    /// let n = k.scalar::<i32>("n");
    /// let sum = k.for_range(0, n, 1, k.constant(0f32), |i, sum| sum + i);
    /// # k.store(k.ptr::<f32>("out"), sum, None);
    /// # }).build().unwrap();
    /// ```
    #[track_caller]
    pub fn for_range<'k, C: Carried<'k>>(
        &'k self,
        start: impl Operand<'k>,
        end: impl Operand<'k>,
        step: impl Operand<'k>,
        carried: C,
        body: impl FnOnce(Tile<'k>, C) -> C,
    ) -> C {
        let at = Location::caller();
        let bounds = [start.given(), end.given(), step.given()];
        let initial = tiles_of(&carried);
        // Even with wrong bounds the body is run, so that its own mistakes are found.
        let bounds = self.attempt_at(at, |core| core.bounds(bounds));
        let known = self
            .attempt_at(at, |core| core.known(&initial))
            .unwrap_or_default();
        let index = bounds.map_or(TileType::number(Dtype::I32), |(first, ..)| first.ty);
        let Some((open, args)) = self.attempt_at(at, |core| {
            let types: Vec<TileType> = [index]
                .into_iter()
                .chain(known.iter().map(|(_, v)| v.ty))
                .collect();
            Ok(core.open_body(&types))
        }) else {
            return carried;
        };
        let index = self.tile(args.first().copied());
        let inside = self.in_places(&initial, &known, args.get(1..).unwrap_or_default());
        let next = tiles_of(&body(index, carried.with_tiles(&mut inside.into_iter())));
        let results = self.attempt_at(at, |core| {
            let next = core.same_types(Flow::Loop, &initial, &known, &next);
            let ends = next.as_ref().map_or(&[][..], |next| next);
            let region = core.close_body(open, OpCode::Yield, ends);
            next?;
            let (start, end, step) = bounds.ok_or(Stop::Broken)?;
            let mut operands = vec![start, end, step];
            operands.extend(known.iter().map(|(_, value)| *value));
            let types: Vec<TileType> = known.iter().map(|(_, v)| v.ty).collect();
            let unsigned = start.ty.dtype().is_some_and(|d| !is_signed(d));
            let attrs = if unsigned {
                Attrs::For { unsigned }
            } else {
                Attrs::None
            };
            Ok(core.emit_with_bodies(OpCode::For, &operands, attrs, &types, vec![region]))
        });
        let results = self.in_places(&initial, &known, &results.unwrap_or_default());
        carried.with_tiles(&mut results.into_iter())
    }

    /// What `then` gives if the condition (one truth value) holds, else what `otherwise` gives: tiles of the same
    /// types.
    #[track_caller]
    pub fn if_else<'k, C: Carried<'k>>(
        &'k self,
        condition: impl Operand<'k>,
        then: impl FnOnce() -> C,
        otherwise: impl FnOnce() -> C,
    ) -> C {
        let at = Location::caller();
        let condition = condition.given();
        let condition = self.attempt_at(at, |core| {
            let condition = core.take(condition)?;
            core.one_truth(condition)
        });
        let open = |core: &mut Core| Ok(core.open_body(&[]).0);
        let opened = self.attempt_at(at, open);
        let first = then();
        let given = tiles_of(&first);
        let closed = self.attempt_at(at, |core| {
            let known = core.known(&given);
            let ends: Vec<Value> = known
                .as_ref()
                .map_or(Vec::new(), |k| k.iter().map(|(_, v)| *v).collect());
            let region = opened.map(|open| core.close_body(open, OpCode::Yield, &ends));
            Ok((known?, region))
        });
        let opened = self.attempt_at(at, open);
        let second = tiles_of(&otherwise());
        let results = self.attempt_at(at, |core| {
            let (known, then) = closed.ok_or(Stop::Broken)?;
            let next = core.same_types(Flow::Branches, &given, &known, &second);
            let ends = next.as_ref().map_or(&[][..], |next| next);
            let otherwise = opened.map(|open| core.close_body(open, OpCode::Yield, ends));
            next?;
            let bodies = [then, otherwise].into_iter().flatten().collect();
            let types: Vec<TileType> = known.iter().map(|(_, v)| v.ty).collect();
            let condition = condition.ok_or(Stop::Broken)?;
            let results = core.emit_with_bodies(OpCode::If, &[condition], Attrs::None, &types, bodies);
            Ok((known, results))
        });
        let (known, results) = results.unwrap_or_default();
        let results = self.in_places(&given, &known, &results);
        first.with_tiles(&mut results.into_iter())
    }

    /// Does something, a store for example, if the condition (one truth value) holds.
    #[track_caller]
    pub fn if_<'k>(&'k self, condition: impl Operand<'k>, then: impl FnOnce()) {
        self.if_else(condition, then, || ());
    }

    /// As long as the condition holds: `condition` gets what the loop carries and gives one truth value, `body` gets
    /// it and gives what is carried on. Returns what it carried last.
    #[track_caller]
    pub fn while_<'k, C: Carried<'k>>(
        &'k self,
        carried: C,
        condition: impl FnOnce(C) -> Tile<'k>,
        body: impl FnOnce(C) -> C,
    ) -> C {
        let at = Location::caller();
        let initial = tiles_of(&carried);
        let known = self
            .attempt_at(at, |core| core.known(&initial))
            .unwrap_or_default();
        let types: Vec<TileType> = known.iter().map(|(_, v)| v.ty).collect();
        let open = |core: &mut Core| -> Made<(OpenBody, Vec<Value>)> { Ok(core.open_body(&types)) };
        let Some((opened, args)) = self.attempt_at(at, open) else {
            return carried;
        };
        let inside = self.in_places(&initial, &known, &args);
        let goes_on = condition(carried.with_tiles(&mut inside.into_iter()));
        let before = self.attempt_at(at, |core| {
            let goes_on = core
                .take(Given::Tile(goes_on))
                .and_then(|input| core.one_truth(input));
            let mut ends: Vec<Value> = goes_on.as_ref().ok().copied().into_iter().collect();
            ends.extend(&args);
            let region = core.close_body(opened, OpCode::Condition, &ends);
            goes_on.map(|_| region)
        });
        let Some((opened, args)) = self.attempt_at(at, open) else {
            return carried;
        };
        let inside = self.in_places(&initial, &known, &args);
        let next = tiles_of(&body(carried.with_tiles(&mut inside.into_iter())));
        let results = self.attempt_at(at, |core| {
            let next = core.same_types(Flow::Loop, &initial, &known, &next);
            let ends = next.as_ref().map_or(&[][..], |next| next);
            let after = core.close_body(opened, OpCode::Yield, ends);
            next?;
            let before = before.ok_or(Stop::Broken)?;
            let operands: Vec<Value> = known.iter().map(|(_, value)| *value).collect();
            Ok(core.emit_with_bodies(OpCode::While, &operands, Attrs::None, &types, vec![before, after]))
        });
        let results = self.in_places(&initial, &known, &results.unwrap_or_default());
        carried.with_tiles(&mut results.into_iter())
    }

    /// Tiles of a structure: `values` where it was known, broken ones elsewhere.
    pub(crate) fn in_places<'k>(
        &'k self,
        structure: &[Tile<'k>],
        known: &[(usize, Value)],
        values: &[Value],
    ) -> Vec<Tile<'k>> {
        let mut tiles = vec![self.tile(None); structure.len()];
        for ((place, _), value) in known.iter().zip(values) {
            if let Some(tile) = tiles.get_mut(*place) {
                tile.value = Some(*value);
            }
        }
        tiles
    }

    /// Fails the check, with this message, in lanes where the condition is false.
    #[track_caller]
    pub fn assert<'k>(&'k self, condition: impl Operand<'k>, message: &str) {
        self.effect(|core| {
            let condition = core.take(condition.given())?;
            let condition = core.truth(condition)?;
            core.b.op(
                OpCode::Assert,
                &[condition.id],
                Attrs::Message(message.into()),
                &[],
            );
            Ok(())
        });
    }

    /// Promises that the condition (one truth value) holds; the check finds out if it does not.
    #[track_caller]
    pub fn assume<'k>(&'k self, condition: impl Operand<'k>) {
        self.effect(|core| {
            let condition = core.take(condition.given())?;
            let condition = core.one_truth(condition)?;
            core.b.op(OpCode::Assume, &[condition.id], Attrs::None, &[]);
            Ok(())
        });
    }

    /// Prints tiles after a text; [`Report::prints`](crate::Report::prints) has what was printed.
    #[track_caller]
    pub fn print<'k>(&'k self, text: &str, tiles: &[Tile<'k>]) {
        self.effect(|core| {
            let values = tiles.iter().map(|&tile| core.take_tile(tile));
            let values: Vec<Value> = values.collect::<Made<_>>()?;
            let signed = values.iter().map(|v| v.ty.dtype().is_some_and(is_signed));
            let attrs = Attrs::Print(Box::new(Print {
                prefix: Arc::from(text),
                hex: false,
                signed: signed.collect(),
            }));
            let operands: Vec<_> = values.iter().map(|v| v.id).collect();
            core.b.op(OpCode::Print, &operands, attrs, &[]);
            Ok(())
        });
    }

    #[track_caller]
    fn effect(&self, f: impl FnOnce(&mut Core) -> Made<()>) {
        self.attempt_at(Location::caller(), f);
    }
}

impl Core {
    /// Start, end and step of a loop in one integer type.
    fn bounds(&mut self, given: [Given<'_>; 3]) -> Made<(Value, Value, Value)> {
        let [start, end, step] = given.map(|given| self.take(given));
        let inputs = [start?, end?, step?];
        if let Input::Number(Number::Int(step)) = inputs[2]
            && step <= 0
        {
            return Err(format!("a loop in steps of {step}: the step is positive").into());
        }
        let mut operands = Vec::new();
        for input in inputs {
            let operand = match input {
                Input::Number(number) => promote::Operand {
                    dtype: promote::of_number(number)?,
                    weak: true,
                },
                Input::Value(value) => promote::Operand {
                    dtype: self.number_type(value, "a loop's bound")?,
                    weak: false,
                },
            };
            if operand.dtype.is_float() || matches!(input, Input::Value(v) if v.ty.shape.is_some()) {
                let message = format!(
                    "{} as a loop's start, end or step: it takes one integer",
                    input.describe()
                );
                return Err(message.into());
            }
            operands.push(operand);
        }
        let both = |a: promote::Operand, b: promote::Operand| -> Made<promote::Operand> {
            Ok(promote::Operand {
                dtype: promote::common(a, b, false)?,
                weak: a.weak && b.weak,
            })
        };
        let dtype = both(both(operands[0], operands[1])?, operands[2])?.dtype;
        let [start, end, step] = inputs.map(|input| self.converted(input, dtype));
        Ok((start?, end?, step?))
    }

    /// The values of tiles that are not broken, with their positions.
    ///
    /// Fails for a tile that cannot be used here.
    pub(crate) fn known(&self, tiles: &[Tile<'_>]) -> Made<Known> {
        let mut known = Vec::new();
        for (place, &tile) in tiles.iter().enumerate() {
            match self.take_tile(tile) {
                Ok(value) => known.push((place, value)),
                Err(Stop::Broken) => {}
                Err(mistake) => return Err(mistake),
            }
        }
        Ok(known)
    }

    /// The next values of what a body carries, which have the types of the first.
    pub(crate) fn same_types(
        &self,
        flow: Flow,
        first: &[Tile<'_>],
        known: &[(usize, Value)],
        next: &[Tile<'_>],
    ) -> Made<Vec<Value>> {
        if first.len() != next.len() {
            let message = format!("{} tiles at first and {} then", first.len(), next.len());
            return Err(message.into());
        }
        let mut values = Vec::new();
        for (place, was) in known {
            let Some(&tile) = next.get(*place) else { continue };
            let value = self.take_tile(tile)?;
            if value.ty != was.ty {
                let which = (first.len() > 1).then_some(place + 1);
                return Err(wrong(flow.differs(which, was.ty, value.ty))
                    .also(value, format!("`{}` is made here", value.ty))
                    .help("the type stays the same: convert or broadcast one of them")
                    .into());
            }
            values.push(value);
        }
        Ok(values)
    }
}
