//! Consistency of a function's arenas, and where everything stands.

use super::{Check, Problem};
use crate::entities::{Arena, BlockId, EntityId, OpId, RegionId, ValueId};
use crate::module::{Def, Function};
use crate::text::MAX_DEPTH;

/// Where the operations, blocks and regions of a function stand.
#[derive(Debug)]
pub(super) struct Placement {
    /// All placed operations in the order of the text.
    pub order: Vec<OpId>,
    /// Block and position of each operation; none when it was removed.
    pub ops: Vec<Option<(BlockId, usize)>>,
    /// Region of each block.
    pub blocks: Vec<Option<RegionId>>,
    /// The operation that holds each region; none for the body.
    pub parents: Vec<Option<OpId>>,
}

impl Placement {
    pub fn region(&self, block: BlockId) -> Option<RegionId> {
        self.blocks[block.index()]
    }

    pub fn parent(&self, block: BlockId) -> Option<OpId> {
        self.region(block).and_then(|r| self.parents[r.index()])
    }
}

/// Walks the function; ids that are out of range, shared or inconsistent end the walk.
pub(super) fn check(f: &Function) -> Result<Placement, Problem> {
    let mut walk = Walk {
        f,
        placement: Placement {
            order: Vec::with_capacity(f.ops.len()),
            ops: vec![None; f.ops.len()],
            blocks: vec![None; f.blocks.len()],
            parents: vec![None; f.regions.len()],
        },
        seen: vec![false; f.regions.len()],
    };
    walk.region(f.body, None, 0)?;
    walk.uses()?;
    Ok(walk.placement)
}

struct Walk<'f> {
    f: &'f Function,
    placement: Placement,
    seen: Vec<bool>,
}

fn known<K: EntityId, T>(arena: &Arena<K, T>, id: K) -> bool {
    arena.get(id).is_some()
}

impl Walk<'_> {
    fn region(&mut self, region: RegionId, parent: Option<OpId>, depth: usize) -> Check {
        let wrong = |message: &str| Problem {
            op: parent,
            ..Problem::function(message)
        };
        if !known(&self.f.regions, region) {
            return Err(wrong("a region that does not exist"));
        }
        if std::mem::replace(&mut self.seen[region.index()], true) {
            return Err(wrong("a region that stands in two places"));
        }
        if depth > MAX_DEPTH {
            return Err(wrong("regions are nested too deeply"));
        }
        self.placement.parents[region.index()] = parent;
        let blocks = &self.f.regions[region].blocks;
        if blocks.is_empty() {
            return Err(wrong("a region without a block"));
        }
        for &block in blocks {
            match self.placement.blocks.get_mut(block.index()) {
                Some(slot @ None) => *slot = Some(region),
                Some(Some(_)) => return Err(wrong("a block that stands in two places")),
                None => return Err(wrong("a block that does not exist")),
            }
        }
        for &block in blocks {
            self.block(block, parent, depth)?;
        }
        Ok(())
    }

    fn block(&mut self, block: BlockId, parent: Option<OpId>, depth: usize) -> Check {
        let f = self.f;
        let wrong = |op: Option<OpId>, message: &str| Problem {
            op,
            ..Problem::function(message)
        };
        for (i, &arg) in f.blocks[block].args.iter().enumerate() {
            if f.values.get(arg).map(|v| v.def) != Some(Def::Arg(block, i as u32)) {
                return Err(wrong(parent, "a block argument whose definition is elsewhere"));
            }
        }
        for (position, &id) in f.blocks[block].ops.iter().enumerate() {
            match self.placement.ops.get_mut(id.index()) {
                Some(slot @ None) => *slot = Some((block, position)),
                Some(Some(_)) => return Err(Problem::at(id, "it stands in two places")),
                None => return Err(wrong(parent, "an operation that does not exist")),
            }
            self.placement.order.push(id);
            let op = &f.ops[id];
            for (i, &result) in op.results.iter().enumerate() {
                if f.values.get(result).map(|v| v.def) != Some(Def::Result(id, i as u32)) {
                    return Err(Problem::at(id, "a result whose definition is elsewhere"));
                }
            }
            for &nested in &op.regions {
                self.region(nested, Some(id), depth + 1)?;
            }
        }
        Ok(())
    }

    /// Operands and targets exist and are placed.
    fn uses(&self) -> Check {
        let f = self.f;
        let placed = |value: ValueId| match f.values.get(value).map(|v| v.def) {
            Some(Def::Result(op, i)) => {
                self.placement.ops.get(op.index()).is_some_and(Option::is_some)
                    && f.ops[op].results.get(i as usize) == Some(&value)
            }
            Some(Def::Arg(block, i)) => {
                self.placement
                    .blocks
                    .get(block.index())
                    .is_some_and(Option::is_some)
                    && f.blocks[block].args.get(i as usize) == Some(&value)
            }
            None => false,
        };
        for &id in &self.placement.order {
            let op = &f.ops[id];
            let targets = op.successors.iter().flat_map(|s| &s.args);
            if let Some(position) = op.operands.iter().chain(targets).position(|&v| !placed(v)) {
                return Err(Problem::at(
                    id,
                    format!("operand {} is defined nowhere", position + 1),
                ));
            }
            let here = self.placement.ops[id.index()].and_then(|(block, _)| self.placement.region(block));
            for target in &op.successors {
                let region = self.placement.blocks.get(target.block.index()).copied().flatten();
                if region.is_none() || region != here {
                    return Err(Problem::at(id, "its target is not a block of the same region"));
                }
                let entry = region.and_then(|r| f.regions[r].blocks.first());
                if entry == Some(&target.block) {
                    return Err(Problem::at(id, "its target is the entry block"));
                }
            }
        }
        Ok(())
    }
}
