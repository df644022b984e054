//! The state behind a kernel while its author's closure runs.
//!
//! A [`Builder`] is shared by all the tiles of one kernel, which add operations to it as they are combined. It is
//! never borrowed while the author's code runs, so closures may nest as they like. A mistake does not stop the
//! author: it is kept with the Rust line where it was made, what comes out of it is a *broken* tile, and what is
//! made of broken tiles is broken without another word. [`Kernel::build`](crate::Kernel::build) gives all mistakes.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tilescope_ir::{Attrs, FunctionBuilder, Loc, LocId, Locs, OpCode, RegionId, ValueId};
use tilescope_launch::Dtype;

use crate::Tile;
use crate::tile::operand::{Given, Number};
use crate::tile::types::{Lane, TileType};

/// Mistakes kept; more are not read by anyone.
const MAX_MISTAKES: usize = 20;

/// A kernel that is being written: what the closure of [`Kernel::new`](crate::Kernel::new) gets.
///
/// Its methods give the first tiles (parameters, program ids, ranges, constants), and everything that is no
/// method of one tile: memory, loops, branches, reductions.
pub struct Builder {
    /// Tells the tiles of this kernel from those of another.
    id: u64,
    core: RefCell<Core>,
}

/// A parameter of the kernel.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub name: String,
    pub ty: TileType,
    pub place: Place,
}

/// A place in a Rust file: where an operation was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// As `rustc` was given it.
    pub file: Arc<str>,
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
}

impl From<&Location<'_>> for Place {
    fn from(at: &Location<'_>) -> Place {
        Place {
            file: at.file().into(),
            line: at.line(),
            column: at.column(),
        }
    }
}

/// A mistake of the author's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub message: String,
    pub place: Place,
    /// Another place that has to do with it, and what is there.
    pub also: Option<(Place, String)>,
    pub help: Option<String>,
}

/// What is wrong with an operation that is asked for.
#[derive(Debug)]
pub(crate) struct Wrong {
    message: String,
    also: Option<(ValueId, String)>,
    help: Option<String>,
}

impl Wrong {
    pub fn help(mut self, help: impl Into<String>) -> Wrong {
        self.help = Some(help.into());
        self
    }

    pub fn also(mut self, value: Value, label: impl Into<String>) -> Wrong {
        self.also = Some((value.id, label.into()));
        self
    }
}

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Stop {
    /// An operand comes from a mistake that is kept already.
    Broken,
    /// A mistake.
    Mistake(Box<Wrong>),
}

impl From<Wrong> for Stop {
    fn from(wrong: Wrong) -> Stop {
        Stop::Mistake(Box::new(wrong))
    }
}

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        wrong(message).into()
    }
}

/// A mistake in these words.
pub(crate) fn wrong(message: impl Into<String>) -> Wrong {
    Wrong {
        message: message.into(),
        also: None,
        help: None,
    }
}

pub(crate) type Made<T = Value> = Result<T, Stop>;

/// A value of the function, with its type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    pub id: ValueId,
    pub ty: TileType,
    /// The body of the loop, branch or combination that it was made in.
    scope: u32,
}

/// An operand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Input {
    Value(Value),
    Number(Number),
}

impl Input {
    /// The type of a value, or the number, in words.
    pub fn describe(self) -> String {
        match self {
            Input::Value(value) => format!("`{}`", value.ty),
            Input::Number(Number::Bool(value)) => format!("`{value}`"),
            Input::Number(Number::Int(value)) => format!("`{value}`"),
            Input::Number(Number::Float(value)) => format!("`{value:?}`"),
        }
    }
}

/// The function so far.
pub(crate) struct Core {
    id: u64,
    pub b: FunctionBuilder,
    pub locs: Locs,
    pub parameters: Vec<Parameter>,
    pub mistakes: Vec<Mistake>,
    place: Place,
    /// The bodies that we are inside of, the kernel's own first.
    open: Vec<u32>,
    scopes: u32,
}

/// A body that was opened, to be closed at the same nesting.
#[derive(Debug)]
pub(crate) struct OpenBody {
    region: tilescope_ir::build::OpenRegion,
}

impl Builder {
    pub(crate) fn new(name: &str, at: &Location<'_>) -> Builder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut core = Core {
            id,
            b: FunctionBuilder::new(name),
            locs: Locs::default(),
            parameters: Vec::new(),
            mistakes: Vec::new(),
            place: at.into(),
            open: vec![0],
            scopes: 0,
        };
        core.stand_at(at);
        Builder {
            id,
            core: RefCell::new(core),
        }
    }

    pub(crate) fn into_core(self) -> Core {
        self.core.into_inner()
    }

    /// An operation with one result, at the author's line.
    #[track_caller]
    pub(crate) fn make(&self, f: impl FnOnce(&mut Core) -> Made) -> Tile<'_> {
        self.make_at(Location::caller(), f)
    }

    /// An operation with one result, at a line that was kept.
    pub(crate) fn make_at(&self, at: &Location<'_>, f: impl FnOnce(&mut Core) -> Made) -> Tile<'_> {
        self.tile(self.attempt_at(at, f))
    }

    /// Names the value of a tile.
    pub(crate) fn name(&self, tile: Tile<'_>, name: &str) {
        if let Some(value) = tile.value.filter(|_| tile.k.id == self.id) {
            self.core.borrow_mut().b.name(value.id, name);
        }
    }

    /// A value as a tile of this kernel; a broken one if there is none.
    pub(crate) fn tile(&self, value: Option<Value>) -> Tile<'_> {
        Tile { k: self, value }
    }

    /// Does something at a line; none, and the mistake kept, if it is one.
    pub(crate) fn attempt_at<T>(&self, at: &Location<'_>, f: impl FnOnce(&mut Core) -> Made<T>) -> Option<T> {
        let mut core = self.core.borrow_mut();
        core.stand_at(at);
        match f(&mut core) {
            Ok(made) => Some(made),
            Err(Stop::Broken) => None,
            Err(Stop::Mistake(wrong)) => {
                core.keep(*wrong);
                None
            }
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Core {
    fn stand_at(&mut self, at: &Location<'_>) {
        if self.place.line != at.line() || self.place.column != at.column() || *self.place.file != *at.file()
        {
            self.place = at.into();
        }
        let loc = self.loc();
        self.b.at(loc);
    }

    /// Ends the kernel.
    pub fn end(&mut self, at: &Location<'_>) {
        self.stand_at(at);
        self.b.return_(&[]);
    }

    /// The location of the line that we stand at.
    fn loc(&mut self) -> LocId {
        self.locs.intern(Loc::File {
            file: self.place.file.clone(),
            line: self.place.line,
            column: self.place.column,
            end: None,
        })
    }

    /// The line that we stand at.
    pub fn place(&self) -> &Place {
        &self.place
    }

    fn keep(&mut self, wrong: Wrong) {
        let also = wrong
            .also
            .and_then(|(value, label)| Some((self.place_of(value)?, label)));
        let mistake = Mistake {
            message: wrong.message,
            place: self.place.clone(),
            also: also.filter(|(place, _)| *place != self.place),
            help: wrong.help,
        };
        // A Rust loop around a mistake makes it many times.
        if self.mistakes.len() < MAX_MISTAKES && !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    /// Where a value was made.
    fn place_of(&self, value: ValueId) -> Option<Place> {
        let function = self.b.function();
        let data = function.values.get(value)?;
        let loc = match data.def {
            tilescope_ir::Def::Result(op, _) => function.ops.get(op)?.loc,
            tilescope_ir::Def::Arg(..) => data.loc,
        };
        match self.locs.get(loc) {
            Loc::File {
                file, line, column, ..
            } => Some(Place {
                file: file.clone(),
                line: *line,
                column: *column,
            }),
            _ => None,
        }
    }

    /// An operand, if it can be used here.
    pub fn take(&self, given: Given<'_>) -> Made<Input> {
        let tile = match given {
            Given::Number(number) => return Ok(Input::Number(number)),
            Given::Tile(tile) => tile,
        };
        if tile.k.id != self.id {
            return Err(wrong("this tile belongs to another kernel").into());
        }
        let value = tile.value.ok_or(Stop::Broken)?;
        if self.open.contains(&value.scope) {
            return Ok(Input::Value(value));
        }
        Err(wrong(format!(
            "this `{}` was made inside a loop, branch or combination that has ended",
            value.ty
        ))
        .also(value, "it was made here")
        .help("give it back from the closure: what the loop or branch returns can be used after it")
        .into())
    }

    /// A tile, if it can be used here.
    pub fn take_tile(&self, tile: Tile<'_>) -> Made {
        match self.take(Given::Tile(tile))? {
            Input::Value(value) => Ok(value),
            Input::Number(_) => Err(Stop::Broken),
        }
    }

    /// An operand that may be left out.
    pub fn take_optional(&self, given: Option<Given<'_>>) -> Made<Option<Input>> {
        given.map(|given| self.take(given)).transpose()
    }

    /// A value of the function as one of ours.
    pub fn value(&self, id: ValueId, ty: TileType) -> Value {
        Value {
            id,
            ty,
            scope: self.open.last().copied().unwrap_or(0),
        }
    }

    /// A value that can be used everywhere in the kernel.
    pub fn outermost(&self, id: ValueId, ty: TileType) -> Value {
        Value { id, ty, scope: 0 }
    }

    /// An operation with one result.
    pub fn emit(&mut self, code: OpCode, operands: &[Value], attrs: Attrs, ty: TileType) -> Value {
        let operands: Vec<_> = operands.iter().map(|v| v.id).collect();
        let id = self.b.value(code, &operands, attrs, ty.ir());
        self.value(id, ty)
    }

    /// Opens a body with arguments of these types.
    pub fn open_body(&mut self, args: &[TileType]) -> (OpenBody, Vec<Value>) {
        let types: Vec<_> = args.iter().map(|ty| ty.ir()).collect();
        let (region, ids) = self.b.open_region(&types);
        self.scopes += 1;
        self.open.push(self.scopes);
        let values = ids.into_iter().zip(args).map(|(id, &ty)| self.value(id, ty));
        (OpenBody { region }, values.collect())
    }

    /// Closes the innermost body.
    pub fn close_body(&mut self, body: OpenBody, end: OpCode, values: &[Value]) -> RegionId {
        let values = values.iter().map(|v| v.id).collect();
        self.open.pop();
        self.b.close_region(body.region, end, values)
    }

    /// An operation with bodies.
    pub fn emit_with_bodies(
        &mut self,
        code: OpCode,
        operands: &[Value],
        attrs: Attrs,
        results: &[TileType],
        bodies: Vec<RegionId>,
    ) -> Vec<Value> {
        let operands: Vec<_> = operands.iter().map(|v| v.id).collect();
        let types: Vec<_> = results.iter().map(|ty| ty.ir()).collect();
        let ids = self.b.op_with_regions(code, &operands, attrs, &types, bodies);
        let values = ids.into_iter().zip(results).map(|(id, &ty)| self.value(id, ty));
        values.collect()
    }

    /// A number as one value of a type.
    pub fn number(&mut self, number: Number, dtype: Dtype) -> Made {
        let ty = TileType::number(dtype);
        let misfit = || {
            wrong(format!(
                "{} is no {}",
                Input::Number(number).describe(),
                dtype.name()
            ))
        };
        let id = if dtype.is_float() {
            let value = match number {
                Number::Bool(value) => f64::from(u8::from(value)),
                Number::Int(value) => value as f64,
                Number::Float(value) => value,
            };
            self.b.float(ty.ir(), value)
        } else {
            let value = match number {
                Number::Bool(value) => i128::from(value),
                Number::Int(value) => value,
                Number::Float(value) if value.trunc() == value => value as i128,
                Number::Float(_) => return Err(misfit().into()),
            };
            let (least, most) = dtype.integer_range().unwrap_or((0, 0));
            if value < least || value > most {
                return Err(misfit()
                    .help(format!("{} holds {least} to {most}", dtype.name()))
                    .into());
            }
            self.b.int(ty.ir(), value as i64)
        };
        Ok(self.value(id, ty))
    }

    /// The operand as a value: a number of its own type (`i32`, `f32`, or the wider one that it needs).
    pub fn own(&mut self, input: Input) -> Made {
        match input {
            Input::Value(value) => Ok(value),
            Input::Number(number) => self.number(number, crate::tile::promote::of_number(number)?),
        }
    }

    /// The number type of a value that must not hold pointers.
    pub fn number_type(&self, value: Value, what: &str) -> Made<Dtype> {
        match value.ty.lane {
            Lane::Number(dtype) => Ok(dtype),
            Lane::Pointer(_) => Err(format!("{what} takes numbers, this is `{}`", value.ty).into()),
        }
    }
}
