//! Regions, terminators, loop-carried values and branches.

use super::structure::Placement;
use super::types::is_int;
use super::{Check, Checker, Problem};
use crate::attrs::Attrs;
use crate::entities::{BlockId, OpId, RegionId, ValueId};
use crate::infer;
use crate::module::Function;
use crate::ops::OpCode;
use crate::types::Type;

/// Which terminators may end the blocks of a region, by the operation that holds it.
fn terminators(parent: Option<OpCode>, region: usize) -> &'static [OpCode] {
    use OpCode::*;
    match (parent, region) {
        (None, _) => &[Return, Br, CondBr],
        (Some(Reduce), _) => &[ReduceReturn],
        (Some(Scan), _) => &[ScanReturn],
        (Some(MapElementwise), _) => &[MapReturn, Br, CondBr],
        (Some(While), 0) => &[Condition],
        _ => &[Yield],
    }
}

/// Every block ends in a terminator of its place and has none before its end.
pub(super) fn blocks(f: &Function, placement: &Placement) -> Check {
    for (id, block) in f.blocks.iter() {
        let Some(region) = placement.region(id) else {
            continue;
        };
        let parent = placement.parents[crate::EntityId::index(region)];
        let wanted = match parent {
            None => terminators(None, 0),
            Some(op) => {
                let index = f.ops[op].regions.iter().position(|&r| r == region).unwrap_or(0);
                terminators(Some(f.ops[op].code), index)
            }
        };
        let names = || {
            wanted
                .iter()
                .map(|c| format!("`{c}`"))
                .collect::<Vec<_>>()
                .join(" or ")
        };
        let Some((&last, rest)) = block.ops.split_last() else {
            let message = format!("an empty block, {} must end it", names());
            return Err(Problem {
                op: parent,
                ..Problem::function(message)
            });
        };
        if let Some(&early) = rest.iter().find(|&&op| f.ops[op].code.is_terminator()) {
            return Err(Problem::at(early, "it stands before the end of its block"));
        }
        if !wanted.contains(&f.ops[last].code) {
            let message = format!("it ends a block that {} must end", names());
            return Err(Problem::at(last, message));
        }
    }
    Ok(())
}

impl Checker<'_> {
    /// The arguments of a region of one block.
    fn single_block(&self, id: OpId, region: RegionId) -> Result<BlockId, Problem> {
        match self.f.regions[region].blocks.as_slice() {
            &[block] => Ok(block),
            blocks => Err(Problem::at(
                id,
                format!("its region has {} blocks, one is needed", blocks.len()),
            )),
        }
    }

    fn types_of(&self, values: &[ValueId]) -> Vec<Type> {
        values.iter().map(|&v| self.ty(v)).collect()
    }

    /// A block's arguments have these types.
    fn args_are(&self, id: OpId, block: BlockId, wanted: &[Type]) -> Check {
        let found = self.types_of(&self.f.blocks[block].args);
        self.same_types(id, "the region's arguments", &found, wanted)
    }

    fn same_types(&self, id: OpId, what: &str, found: &[Type], wanted: &[Type]) -> Check {
        if found.len() != wanted.len() {
            return Err(Problem::at(
                id,
                format!("{what}: {} given, {} needed", found.len(), wanted.len()),
            ));
        }
        match found.iter().zip(wanted).position(|(a, b)| a != b) {
            Some(i) => Err(Problem::at(
                id,
                format!(
                    "{what}: number {} is `{}`, expected `{}`",
                    i + 1,
                    found[i],
                    wanted[i]
                ),
            )),
            None => Ok(()),
        }
    }

    fn regions(&self, id: OpId, count: std::ops::RangeInclusive<usize>) -> Check {
        let found = self.op(id).regions.len();
        if count.contains(&found) {
            return Ok(());
        }
        let wanted = count.end();
        Err(Problem::at(
            id,
            format!("it has {found} of the {wanted} regions that it needs"),
        ))
    }

    /// Element types of tile operands, which have one shape.
    fn tile_elems(&self, id: OpId) -> Result<Vec<Type>, Problem> {
        let op = self.op(id);
        if op.operands.is_empty() {
            return Err(Problem::at(id, "it has no operands"));
        }
        let first = self.operand_type(id, 0);
        let mut elems = Vec::with_capacity(op.operands.len());
        for i in 0..op.operands.len() {
            match self.operand_type(id, i) {
                Type::Tile(shape, elem) if Some(shape) == first.shape() => elems.push(Type::Scalar(elem)),
                _ => return Err(self.operand_wrong(id, i, "a tile of the first operand's shape")),
            }
        }
        Ok(elems)
    }

    /// The region that combines two lanes: twice the element types.
    fn combine_region(&self, id: OpId, elems: &[Type]) -> Check {
        self.regions(id, 1..=1)?;
        let block = self.single_block(id, self.op(id).regions[0])?;
        self.args_are(id, block, &elems.repeat(2))
    }

    pub(super) fn check_reduce(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 1..=op.operands.len().max(1), op.operands.len())?;
        let Attrs::Along { axis, .. } = op.attrs else {
            return Err(self.attrs_wrong(id));
        };
        let elems = self.tile_elems(id)?;
        self.combine_region(id, &elems)?;
        for (&operand, &result) in op.operands.iter().zip(&op.results) {
            let wanted = infer::reduce(self.ty(operand), axis).map_err(|why| Problem::at(id, why))?;
            if self.ty(result) != wanted {
                return Err(Problem::at(
                    id,
                    format!("the result is `{}`, expected `{wanted}`", self.ty(result)),
                ));
            }
        }
        Ok(())
    }

    pub(super) fn check_scan(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 1..=op.operands.len().max(1), op.operands.len())?;
        let Attrs::Along { axis, .. } = op.attrs else {
            return Err(self.attrs_wrong(id));
        };
        let elems = self.tile_elems(id)?;
        self.combine_region(id, &elems)?;
        infer::reduce(self.operand_type(id, 0), axis).map_err(|why| Problem::at(id, why))?;
        self.same_types(
            id,
            "the results",
            &self.types_of(&op.results),
            &self.types_of(&op.operands),
        )
    }

    pub(super) fn check_map(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 1..=op.operands.len().max(1), op.results.len())?;
        let Attrs::Map(pack @ 1..) = op.attrs else {
            return Err(self.attrs_wrong(id));
        };
        let elems = self.tile_elems(id)?;
        self.regions(id, 1..=1)?;
        let entry = self.f.regions[op.regions[0]].blocks[0];
        let found = self.types_of(&self.f.blocks[entry].args);
        self.packed(id, "the region's arguments", &found, &elems, pack)?;
        let shape = self.operand_type(id, 0).shape();
        match op.results.iter().find(|&&r| self.ty(r).shape() != shape) {
            Some(&r) => Err(Problem::at(
                id,
                format!(
                    "the result is `{}`, expected a tile of the operands' shape",
                    self.ty(r)
                ),
            )),
            None => Ok(()),
        }
    }

    fn parent(&self, id: OpId) -> Option<OpId> {
        let (block, _) = self.placement.ops[crate::EntityId::index(id)]?;
        self.placement.parent(block)
    }

    /// `tt.reduce.return` and its kin: the results' elements.
    pub(super) fn check_region_return(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 0..=op.operands.len(), 0)?;
        let Some(parent) = self.parent(id).map(|p| self.op(p)) else {
            return Err(Problem::at(id, "it ends a function"));
        };
        let pack = match parent.attrs {
            Attrs::Map(pack) => pack,
            _ => 1,
        };
        let elems = parent
            .results
            .iter()
            .filter_map(|&r| self.ty(r).elem().map(Type::Scalar));
        let elems: Vec<Type> = elems.collect();
        self.packed(id, "the values", &self.types_of(&op.operands), &elems, pack)
    }

    /// Each element type `pack` times in a row.
    fn packed(&self, id: OpId, what: &str, found: &[Type], elems: &[Type], pack: u32) -> Check {
        let pack = pack as usize;
        let wanted = elems.len().saturating_mul(pack);
        if found.len() != wanted {
            let message = format!("{what}: {} given, {wanted} needed", found.len());
            return Err(Problem::at(id, message));
        }
        let wanted = elems.iter().flat_map(|&e| std::iter::repeat_n(e, pack));
        self.same_types(id, what, found, &wanted.collect::<Vec<_>>())
    }

    pub(super) fn check_return(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 0..=op.operands.len(), 0)?;
        if self.parent(id).is_some() {
            return Err(Problem::at(id, "it stands inside another operation"));
        }
        self.same_types(
            id,
            "the values returned",
            &self.types_of(&op.operands),
            &self.f.results,
        )
    }

    pub(super) fn check_for(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 3..=op.operands.len().max(3), op.results.len())?;
        self.regions(id, 1..=1)?;
        let index = self.operand_type(id, 0);
        self.require(id, 0, is_int(index) && index.shape().is_none(), "an integer")?;
        self.operand_is(id, 1, index)?;
        self.operand_is(id, 2, index)?;
        let results = self.types_of(&op.results);
        self.same_types(
            id,
            "the initial values",
            &self.types_of(&op.operands[3..]),
            &results,
        )?;
        let block = self.single_block(id, op.regions[0])?;
        let mut wanted = vec![index];
        wanted.extend(results);
        self.args_are(id, block, &wanted)
    }

    pub(super) fn check_if(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 1..=1, op.results.len())?;
        self.operand_is(id, 0, Type::BOOL)?;
        self.regions(id, if op.results.is_empty() { 1..=2 } else { 2..=2 })?;
        for &region in &op.regions {
            let block = self.single_block(id, region)?;
            self.args_are(id, block, &[])?;
        }
        Ok(())
    }

    pub(super) fn check_while(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 0..=op.operands.len(), op.results.len())?;
        self.regions(id, 2..=2)?;
        let before = self.single_block(id, op.regions[0])?;
        self.args_are(id, before, &self.types_of(&op.operands))?;
        let after = self.single_block(id, op.regions[1])?;
        self.args_are(id, after, &self.types_of(&op.results))
    }

    pub(super) fn check_yield(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 0..=op.operands.len(), 0)?;
        let Some(parent) = self.parent(id).map(|p| self.op(p)) else {
            return Err(Problem::at(id, "it ends a function"));
        };
        // a while loop's second region yields what the first one takes
        let wanted = if parent.code == OpCode::While {
            &parent.operands
        } else {
            &parent.results
        };
        self.same_types(
            id,
            "the values",
            &self.types_of(&op.operands),
            &self.types_of(wanted),
        )
    }

    pub(super) fn check_condition(&self, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 1..=op.operands.len().max(1), 0)?;
        self.operand_is(id, 0, Type::BOOL)?;
        match self.parent(id).map(|p| self.op(p)) {
            Some(parent) if parent.code == OpCode::While => self.same_types(
                id,
                "the values",
                &self.types_of(&op.operands[1..]),
                &self.types_of(&parent.results),
            ),
            _ => Err(Problem::at(id, "it stands outside of `scf.while`")),
        }
    }

    /// A branch's targets take the values they are given.
    pub(super) fn check_targets(&self, id: OpId, count: usize) -> Check {
        let op = self.op(id);
        if op.successors.len() != count {
            return Err(Problem::at(
                id,
                format!("{} targets, {count} are needed", op.successors.len()),
            ));
        }
        for target in &op.successors {
            let found = self.types_of(&target.args);
            let wanted = self.types_of(&self.f.blocks[target.block].args);
            self.same_types(id, "the target's arguments", &found, &wanted)?;
        }
        Ok(())
    }
}
