//! An operation while it is read.

use super::Parser;
use super::attrs::Dict;
use super::names::{Use, kept};
use crate::entities::{BlockId, EntityId, LocId, RegionId, ValueId};
use crate::module::{Def, Op, Successor, Value, Values};
use crate::op_table;
use crate::ops::OpCode;
use crate::types::Type;
use tilescope_diagnostics::{Error, Result};

/// What the text says about an operation, before its own attributes are told apart.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub code: OpCode,
    /// The mnemonic.
    pub at: usize,
    pub operands: Vec<ValueId>,
    pub results: Vec<Type>,
    pub dict: Dict<'a>,
    pub regions: Vec<RegionId>,
    pub successors: Vec<Successor>,
}

impl<'a> Draft<'a> {
    pub fn new(code: OpCode, at: usize) -> Self {
        Draft {
            code,
            at,
            operands: Vec::new(),
            results: Vec::new(),
            dict: Dict::default(),
            regions: Vec::new(),
            successors: Vec::new(),
        }
    }
}

/// `%a, %b:2 =` in front of an operation.
#[derive(Debug)]
struct ResultName<'a> {
    name: &'a str,
    count: u32,
    at: usize,
}

macro_rules! dispatch {
    (
        elementwise { $($ev:ident $em:literal $class:ident ($($arg:ident),*) $lane:expr, $cuda:literal, $edoc:literal;)* }
        structured { $($method:ident $family:ident $effect:ident: $($sv:ident $sm:literal $sdoc:literal),+;)* }
    ) => {
        impl<'a> Parser<'a> {
            /// Reads an operation in pretty form behind its mnemonic, by the method of its row.
            fn pretty(&mut self, draft: &mut Draft<'a>) -> Result<()> {
                match draft.code {
                    $(OpCode::$ev)|* => self.elementwise(draft),
                    $($(OpCode::$sv)|+ => self.$method(draft),)*
                }
            }
        }
    };
}

op_table!(dispatch);

/// Names that older versions gave to operations, and what they are now.
fn renamed(name: &str) -> Option<OpCode> {
    match name {
        "llvm.mlir.undef" | "llvm.mlir.poison" => Some(OpCode::Poison),
        "tt.experimental_descriptor_load" => Some(OpCode::DescriptorLoad),
        "tt.experimental_descriptor_store" => Some(OpCode::DescriptorStore),
        "tt.experimental_descriptor_gather" => Some(OpCode::DescriptorGather),
        "tt.experimental_descriptor_scatter" => Some(OpCode::DescriptorScatter),
        "tt.experimental_make_tensor_descriptor" => Some(OpCode::MakeTensorDescriptor),
        _ => None,
    }
}

impl<'a> Parser<'a> {
    /// One operation into a block.
    pub(super) fn op(&mut self, block: BlockId) -> Result<()> {
        let names = self.result_names()?;
        let at = self.c.at();
        let draft = if self.c.here() == b'"' {
            let name = self.string_literal()?;
            let code = self.op_code(&name, at)?;
            let mut draft = Draft::new(code, at);
            self.generic(&mut draft)?;
            draft
        } else {
            let Some(name) = self.c.word() else {
                return Err(self.expected(at, "this", "an operation or `}`"));
            };
            let code = self.op_code(name, at)?;
            let mut draft = Draft::new(code, at);
            self.pretty(&mut draft)?;
            draft
        };
        let loc = self.loc_or_unknown()?;
        self.place(block, draft, &names, loc)
    }

    fn op_code(&self, name: &str, at: usize) -> Result<OpCode> {
        OpCode::from_mnemonic(name)
            .or_else(|| renamed(name))
            .ok_or_else(|| self.unknown_op(at, name))
    }

    fn result_names(&mut self) -> Result<Vec<ResultName<'a>>> {
        let mut names = Vec::new();
        if self.c.peek() != b'%' {
            return Ok(names);
        }
        loop {
            let at = self.c.at();
            let Some(name) = self.c.sigil_name(b'%') else {
                return Err(self.expected(at, "this", "a result's name, `%name`"));
            };
            let mut count = 1;
            if self.c.here() == b':' {
                self.c.seek(self.c.end() + 1);
                let at = self.c.at();
                count = match self.c.digits().and_then(|d| d.parse().ok()) {
                    Some(count) if count > 0 => count,
                    _ => return Err(self.expected(at, "this", "the number of results")),
                };
            }
            names.push(ResultName { name, count, at });
            if self.c.eat(b'=') {
                return Ok(names);
            }
            self.expect(b',', "`=` or `,` after a result's name")?;
        }
    }

    /// Adds the operation to the block and binds its results' names.
    fn place(
        &mut self,
        block: BlockId,
        mut draft: Draft<'a>,
        names: &[ResultName<'a>],
        loc: LocId,
    ) -> Result<()> {
        let named: u64 = names.iter().map(|n| u64::from(n.count)).sum();
        if !names.is_empty() && named != draft.results.len() as u64 {
            let code = draft.code;
            return Err(Error::input(format!(
                "`{code}` has {} results, {named} are named",
                draft.results.len()
            ))
            .at(&self.source, self.c.item(names[0].at), "these names"));
        }
        let attrs = self.inherent(&mut draft)?;
        self.only_discardable(&draft)?;
        self.locate_implicit(&draft, loc);
        let id = self.f.ops.push(Op {
            code: draft.code,
            operands: draft.operands.into(),
            results: Values::with_capacity(draft.results.len()),
            attrs,
            extra: draft.dict.into_list(),
            regions: draft.regions.into(),
            successors: draft.successors.into(),
            loc,
            offset: draft.at as u32,
        });
        self.f.blocks[block].ops.push(id);
        let mut types = draft.results.iter().enumerate();
        if names.is_empty() {
            for (index, &ty) in types {
                let data = Value {
                    ty,
                    def: Def::Result(id, index as u32),
                    name: None,
                    loc,
                };
                let value = self.define(None, data)?;
                self.f.ops[id].results.push(value);
            }
            return Ok(());
        }
        for group in names {
            let first = self.f.ops[id].results.len() as u32;
            for number in 0..group.count {
                let Some((index, &ty)) = types.next() else { break };
                let name = if number == 0 { kept(group.name) } else { None };
                let data = Value {
                    ty,
                    def: Def::Result(id, index as u32),
                    name,
                    loc,
                };
                let value = self.define(Some((group.name, number, group.at)), data)?;
                self.f.ops[id].results.push(value);
            }
            self.bind_results(group.name, id, first, group.count, group.at)?;
        }
        Ok(())
    }

    /// What is left in the dictionary must belong to some dialect.
    fn only_discardable(&self, draft: &Draft<'a>) -> Result<()> {
        let Some(item) = draft.dict.items.iter().find(|i| !i.name.contains('.')) else {
            return Ok(());
        };
        let error = Error::input(format!("`{}` has no attribute `{}`", draft.code, item.name)).at(
            &self.source,
            self.c.item(item.at),
            "unknown attribute",
        );
        Err(
            match super::similar(&item.name, super::inherent::known(draft.code).iter().copied()) {
                Some(guess) => error.help(format!("did you mean `{guess}`?")),
                None => error,
            },
        )
    }

    /// A terminator that the text leaves out is where its operation is.
    fn locate_implicit(&mut self, draft: &Draft<'a>, loc: LocId) {
        for &region in &draft.regions {
            for &block in &self.f.regions[region].blocks {
                let last = self.f.blocks[block].ops.last().copied();
                if let Some(op) = last.filter(|&op| self.f.ops[op].offset == draft.at as u32) {
                    self.f.ops[op].loc = loc;
                }
            }
        }
    }

    /// An operation that the text leaves out, such as the `scf.yield` of a loop without results.
    pub(super) fn implicit(&mut self, block: BlockId, code: OpCode, loc: LocId, at: usize) {
        let mut op = Op::new(code, Vec::new(), crate::attrs::Attrs::None, loc);
        op.offset = at as u32;
        let id = self.f.ops.push(op);
        self.f.blocks[block].ops.push(id);
    }

    /// Sets the operands from uses that all have one type.
    pub(super) fn same_type(&mut self, draft: &mut Draft<'a>, uses: &[Use<'a>], ty: Type) -> Result<()> {
        for &u in uses {
            let value = self.resolve(u, ty)?;
            draft.operands.push(value);
        }
        Ok(())
    }
}

/// The index of the unknown location while reading.
pub(super) fn unknown_loc() -> LocId {
    LocId::from_index(super::locs::UNKNOWN as usize)
}
