//! Regions, blocks and branch targets.

use super::super::MAX_DEPTH;
use super::Parser;
use crate::entities::{BlockId, RegionId};
use crate::module::{Block, Def, Region, Successor, Value};
use crate::types::Type;
use std::collections::HashMap;
use tilescope_diagnostics::{Error, Result};

/// The block labels of one region.
#[derive(Debug, Default)]
pub(super) struct Labels<'a> {
    blocks: HashMap<&'a str, Label>,
}

#[derive(Debug)]
struct Label {
    block: BlockId,
    defined: bool,
    at: usize,
}

/// `%name: type` of a block argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arg<'a> {
    pub name: &'a str,
    pub ty: Type,
    pub at: usize,
}

impl<'a> Parser<'a> {
    /// `{ … }` whose entry block has these arguments, given in front of the region.
    pub(super) fn region(&mut self, args: &[Arg<'a>]) -> Result<RegionId> {
        self.expect(b'{', "`{` of the region")?;
        let at = self.c.at();
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        self.depth += 1;
        let mark = self.names.mark();
        let outer = std::mem::take(&mut self.labels);
        let region = self.f.regions.push(Region::default());
        let entry = self.f.blocks.push(Block::default());
        self.f.regions[region].blocks.push(entry);
        for &arg in args {
            let value = self.new_arg(entry, arg.name, arg.ty, arg.at)?;
            self.bind_arg(arg.name, value, arg.at)?;
        }
        self.region_body(region, entry, args.is_empty())?;
        self.check_labels()?;
        self.labels = outer;
        self.names.unwind(mark);
        self.depth -= 1;
        Ok(region)
    }

    fn region_body(&mut self, region: RegionId, entry: BlockId, may_label_entry: bool) -> Result<()> {
        let mut block = entry;
        let mut fresh = may_label_entry;
        loop {
            match self.c.peek() {
                b'}' => {
                    self.c.eat(b'}');
                    return Ok(());
                }
                b'^' => {
                    block = self.label(region, if fresh { Some(entry) } else { None })?;
                }
                _ => self.op(block)?,
            }
            fresh = false;
        }
    }

    /// `^bb1(%a: t loc(…)):`
    fn label(&mut self, region: RegionId, entry: Option<BlockId>) -> Result<BlockId> {
        let at = self.c.at();
        let Some(name) = self.c.sigil_name(b'^') else {
            return Err(self.expected(at, "this label", "a name after `^`"));
        };
        let block = match (entry, self.labels.blocks.get_mut(name)) {
            (_, Some(label)) if label.defined => {
                return Err(Error::input(format!("block `^{name}` is defined twice")).at(
                    &self.source,
                    self.c.item(at),
                    "the second definition",
                ));
            }
            (_, Some(label)) => {
                label.defined = true;
                label.block
            }
            (entry, None) => {
                let block = entry.unwrap_or_else(|| self.f.blocks.push(Block::default()));
                self.labels.blocks.insert(
                    name,
                    Label {
                        block,
                        defined: true,
                        at,
                    },
                );
                block
            }
        };
        if entry != Some(block) {
            self.f.regions[region].blocks.push(block);
        }
        if self.c.eat(b'(') && !self.c.eat(b')') {
            loop {
                self.block_arg(block)?;
                if self.c.eat(b')') {
                    break;
                }
                self.expect(b',', "`,` or `)` after a block argument")?;
            }
        }
        self.expect(b':', "`:` after the label")?;
        Ok(block)
    }

    fn block_arg(&mut self, block: BlockId) -> Result<()> {
        let at = self.c.at();
        let name = self.value_name()?;
        self.expect(b':', "`:` and the type of the argument")?;
        let ty = self.ty()?;
        let value = self.new_arg(block, name, ty, at)?;
        self.f.values[value].loc = self.loc_or_unknown()?;
        self.bind_arg(name, value, at)
    }

    /// `%name` of a definition.
    pub(super) fn value_name(&mut self) -> Result<&'a str> {
        let at = self.c.at();
        match self.c.sigil_name(b'%') {
            Some(name) => Ok(name),
            None => Err(self.expected(at, "this", "a value's name, `%name`")),
        }
    }

    pub(super) fn new_arg(
        &mut self,
        block: BlockId,
        name: &'a str,
        ty: Type,
        at: usize,
    ) -> Result<crate::ValueId> {
        let index = self.f.blocks[block].args.len() as u32;
        let data = Value {
            ty,
            def: Def::Arg(block, index),
            name: super::names::kept(name),
            loc: super::draft::unknown_loc(),
        };
        let value = self.define(Some((name, 0, at)), data)?;
        self.f.blocks[block].args.push(value);
        Ok(value)
    }

    /// The block of `^name`, made when it is used first.
    pub(super) fn block_ref(&mut self) -> Result<BlockId> {
        let at = self.c.at();
        let Some(name) = self.c.sigil_name(b'^') else {
            return Err(self.expected(at, "this", "a block, `^name`"));
        };
        if let Some(label) = self.labels.blocks.get(name) {
            return Ok(label.block);
        }
        let block = self.f.blocks.push(Block::default());
        self.labels.blocks.insert(
            name,
            Label {
                block,
                defined: false,
                at,
            },
        );
        Ok(block)
    }

    /// `^bb1` or `^bb1(%a, %b : t, u)`.
    pub(super) fn successor(&mut self) -> Result<Successor> {
        let block = self.block_ref()?;
        let mut args = Vec::new();
        if self.c.eat(b'(') && !self.c.eat(b')') {
            let uses = self.operands()?;
            self.expect(b':', "`:` and the types of the block's arguments")?;
            let types = self.types()?;
            args = self.resolve_all(&uses, &types)?;
            self.expect(b')', "`)` after the types")?;
        }
        Ok(Successor { block, args })
    }

    fn check_labels(&self) -> Result<()> {
        let missing = self
            .labels
            .blocks
            .iter()
            .filter(|(_, l)| !l.defined)
            .min_by_key(|(_, l)| l.at);
        let Some((name, label)) = missing else {
            return Ok(());
        };
        Err(
            Error::input(format!("block `^{name}` is not defined in this region")).at(
                &self.source,
                self.c.item(label.at),
                "used here",
            ),
        )
    }
}
