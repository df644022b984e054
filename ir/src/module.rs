//! Modules, functions, regions, blocks, operations and values.
//!
//! SSA: each value is defined once, by an operation or as a block argument, and every use is
//! dominated by it. A function's entities live in its arenas; a removed operation is simply in no
//! block any more.

use crate::attrs::{AttrList, Attrs};
use crate::entities::{Arena, BlockId, FuncId, LocId, OpId, RegionId, ValueId};
use crate::loc::Locs;
use crate::ops::OpCode;
use crate::types::Type;
use smallvec::SmallVec;
use std::sync::Arc;
use thin_vec::ThinVec;
use tilescope_diagnostics::Source;

/// A set of functions with their locations: one TTIR text.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// Functions in the order of the text.
    pub funcs: Arena<FuncId, Function>,
    /// Locations of all functions.
    pub locs: Locs,
    /// Attributes of the module itself.
    pub attrs: AttrList,
    /// Location of the module.
    pub loc: Option<LocId>,
    /// The text this was read from, if any; operations' spans point into it.
    pub source: Option<Arc<Source>>,
}

impl Module {
    /// The function with this name.
    pub fn find(&self, name: &str) -> Option<FuncId> {
        self.funcs
            .iter()
            .find(|(_, f)| &*f.name == name)
            .map(|(id, _)| id)
    }

    /// Gives values without a name that of the author's variable, from their location: the printed text then reads like
    /// Triton's.
    pub fn name_values(&mut self) {
        for f in self.funcs.values_mut() {
            for id in f.values.ids() {
                if f.values[id].name.is_none() {
                    f.values[id].name = f.value_name(&self.locs, id).map(Into::into);
                }
            }
        }
    }

    /// Functions that a launch can start: public ones.
    pub fn kernels(&self) -> impl Iterator<Item = (FuncId, &Function)> {
        self.funcs.iter().filter(|(_, f)| f.public)
    }
}

/// A function: parameters are the arguments of the body's first block.
#[derive(Debug, Clone)]
pub struct Function {
    /// Symbol name without `@`.
    pub name: Arc<str>,
    /// Visible outside the module: a kernel.
    pub public: bool,
    /// Result types.
    pub results: Vec<Type>,
    /// Attributes of each parameter (`tt.divisibility = 16 : i32`).
    pub param_attrs: Vec<AttrList>,
    /// Attributes of each result.
    pub result_attrs: Vec<AttrList>,
    /// Function attributes (`noinline = false`).
    pub attrs: AttrList,
    /// The body.
    pub body: RegionId,
    /// Location of the function.
    pub loc: LocId,
    /// All operations.
    pub ops: Arena<OpId, Op>,
    /// All values.
    pub values: Arena<ValueId, Value>,
    /// All blocks.
    pub blocks: Arena<BlockId, Block>,
    /// All regions.
    pub regions: Arena<RegionId, Region>,
    /// What values are called inside of helpers that were evaluated where they are called. For debuggers: the text has
    /// no place for it.
    pub passed: Vec<Passed>,
}

/// A value that a helper, evaluated where it is called, knows by the name of its parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The parameter.
    pub name: Arc<str>,
    /// What is passed.
    pub value: ValueId,
    /// The call: what locations inside of the helper name as their caller.
    pub call: LocId,
}

/// A list of blocks; the first is the entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Region {
    /// Blocks in text order.
    pub blocks: Vec<BlockId>,
}

/// A basic block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Block arguments.
    pub args: Vec<ValueId>,
    /// Operations; the last is a terminator (the reader adds `scf.yield` where MLIR leaves it out).
    pub ops: Vec<OpId>,
}

/// A branch target with the values of its block arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// Target.
    pub block: BlockId,
    /// Values for the target's arguments.
    pub args: Vec<ValueId>,
}

/// Operands or results: a function has 10^5 operations, and few of them more than four.
pub type Values = SmallVec<[ValueId; 4]>;

/// An operation. What most have none of takes one word.
#[derive(Debug, Clone)]
pub struct Op {
    /// Which operation.
    pub code: OpCode,
    /// Operands in the order of the op's definition; optional trailing ones may be missing.
    pub operands: Values,
    /// Results.
    pub results: Values,
    /// Its own attributes.
    pub attrs: Attrs,
    /// Attributes of dialects that hang on it (`tt.divisibility`, `tt.num_stages`).
    pub extra: AttrList,
    /// Nested regions.
    pub regions: ThinVec<RegionId>,
    /// Branch targets.
    pub successors: ThinVec<Successor>,
    /// Where it comes from.
    pub loc: LocId,
    /// Byte offset of its mnemonic in the module's source text; 0 when not read from text.
    pub offset: u32,
}

/// Where a value is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Def {
    /// Result of an operation, by position.
    Result(OpId, u32),
    /// Argument of a block, by position.
    Arg(BlockId, u32),
}

/// A value.
#[derive(Debug, Clone)]
pub struct Value {
    /// Its type.
    pub ty: Type,
    /// Its definition.
    pub def: Def,
    /// Name in the text (without `%`), unless it was a number there.
    pub name: Option<Arc<str>>,
    /// Location of a block argument; an operation's result has the operation's.
    pub loc: LocId,
}

impl Function {
    /// A function with an empty entry block and no parameters.
    pub fn new(name: impl Into<Arc<str>>, loc: LocId) -> Function {
        let mut blocks = Arena::new();
        let mut regions = Arena::new();
        let entry = blocks.push(Block::default());
        let body = regions.push(Region { blocks: vec![entry] });
        Function {
            name: name.into(),
            public: true,
            results: Vec::new(),
            param_attrs: Vec::new(),
            result_attrs: Vec::new(),
            attrs: AttrList::new(),
            body,
            loc,
            ops: Arena::new(),
            values: Arena::new(),
            blocks,
            regions,
            passed: Vec::new(),
        }
    }

    /// The entry block.
    pub fn entry(&self) -> BlockId {
        self.regions[self.body].blocks[0]
    }

    /// Parameters: the entry block's arguments.
    pub fn params(&self) -> &[ValueId] {
        &self.blocks[self.entry()].args
    }

    /// Type of a value.
    pub fn ty(&self, value: ValueId) -> Type {
        self.values[value].ty
    }

    /// The single result of an operation, or none.
    pub fn result(&self, op: OpId) -> Option<ValueId> {
        self.ops[op].results.first().copied()
    }

    /// Adds an argument to a block.
    pub fn add_arg(&mut self, block: BlockId, ty: Type, loc: LocId) -> ValueId {
        let index = self.blocks[block].args.len() as u32;
        let value = self.values.push(Value {
            ty,
            def: Def::Arg(block, index),
            name: None,
            loc,
        });
        self.blocks[block].args.push(value);
        value
    }

    /// Adds an operation at the end of a block, with results of the given types.
    pub fn append(&mut self, block: BlockId, mut op: Op, results: &[Type]) -> OpId {
        let loc = op.loc;
        op.results.clear();
        let id = self.ops.push(op);
        for (i, &ty) in results.iter().enumerate() {
            let value = self.values.push(Value {
                ty,
                def: Def::Result(id, i as u32),
                name: None,
                loc,
            });
            self.ops[id].results.push(value);
        }
        self.blocks[block].ops.push(id);
        id
    }

    /// Adds an empty region with one empty block.
    pub fn add_region(&mut self) -> (RegionId, BlockId) {
        let block = self.blocks.push(Block::default());
        (self.regions.push(Region { blocks: vec![block] }), block)
    }

    /// The variable name of a value: from its location, else from the text.
    pub fn value_name<'a>(&'a self, locs: &'a Locs, value: ValueId) -> Option<&'a str> {
        let data = &self.values[value];
        let loc = match data.def {
            Def::Result(op, _) => self.ops[op].loc,
            Def::Arg(..) => data.loc,
        };
        locs.name(loc).map(|n| &**n).or(data.name.as_deref())
    }
}

impl Op {
    /// An operation without regions, successors or extra attributes.
    pub fn new(code: OpCode, operands: impl Into<Values>, attrs: Attrs, loc: LocId) -> Op {
        Op {
            code,
            operands: operands.into(),
            results: Values::new(),
            attrs,
            extra: AttrList::new(),
            regions: ThinVec::new(),
            successors: ThinVec::new(),
            loc,
            offset: 0,
        }
    }
}
