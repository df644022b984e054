//! Which tensor a pointer derives from, where the code says so: every pointer of a tile has one origin, or one must be looked up by
//! address when it is used.

use std::collections::HashMap;

use tilescope_ir::{Elem, Function, Op, OpCode, RegionId, Type, ValueId};
use tilescope_launch::{Argument, Launch, TensorId};

/// What a pointer derives from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// Always this tensor, or no tensor: a null argument.
    One(Option<TensorId>),
    /// It depends: on data, or on the way that was taken.
    Any,
}

impl Provenance {
    fn join(self, other: Provenance) -> Provenance {
        match self == other {
            true => self,
            false => Provenance::Any,
        }
    }
}

/// Provenance of the pointers of a function.
pub type Origins = HashMap<ValueId, Provenance>;

/// The parameters of a kernel.
pub fn of_arguments(launch: &Launch) -> Vec<Provenance> {
    let of = |argument: &Argument| match argument {
        Argument::Tensor(id) | Argument::Descriptor { tensor: id, .. } => Provenance::One(Some(*id)),
        Argument::Null => Provenance::One(None),
        Argument::Scalar { .. } => Provenance::Any,
    };
    launch.arguments.iter().map(of).collect()
}

fn carries(ty: Type) -> bool {
    matches!(ty.elem(), Some(Elem::Ptr(_))) || matches!(ty, Type::Descriptor { .. } | Type::BlockPtr(..))
}

/// Follows the parameters' provenance through a function, until nothing changes: values only ever go from unknown to one tensor
/// to any.
pub fn follow(function: &Function, parameters: &[Provenance]) -> Origins {
    let mut origins: Origins = function
        .params()
        .iter()
        .copied()
        .zip(parameters.iter().copied())
        .collect();
    loop {
        let mut changed = false;
        for (_, op) in function.ops.iter() {
            for (from, to) in edges(function, op) {
                let found = match from {
                    Some(value) => origins.get(&value).copied(),
                    None => Some(Provenance::Any),
                };
                let (Some(found), true) = (found, carries(function.ty(to))) else {
                    continue;
                };
                let joined = origins.get(&to).map_or(found, |old| old.join(found));
                changed |= origins.insert(to, joined) != Some(joined);
            }
        }
        if !changed {
            return origins;
        }
    }
}

/// What of an operation flows where; from nowhere what only data decide.
fn edges(function: &Function, op: &Op) -> Vec<(Option<ValueId>, ValueId)> {
    let some = |value: &ValueId| Some(*value);
    let mut edges = Vec::new();
    for successor in op.successors.iter() {
        let args = &function.blocks[successor.block].args;
        edges.extend(successor.args.iter().map(some).zip(args.iter().copied()));
    }
    let args = |region: usize| -> &[ValueId] {
        let block = op
            .regions
            .get(region)
            .and_then(|&r| function.regions[r].blocks.first());
        block.map_or(&[], |&b| &function.blocks[b].args)
    };
    let ends = |region: RegionId| -> &[ValueId] {
        let last = function.regions[region]
            .blocks
            .first()
            .and_then(|&b| function.blocks[b].ops.last());
        last.map_or(&[], |&last| &function.ops[last].operands)
    };
    let pass = |edges: &mut Vec<(Option<ValueId>, ValueId)>, from: &[ValueId], to: &[ValueId]| {
        edges.extend(from.iter().map(some).zip(to.iter().copied()));
    };
    match op.code {
        OpCode::For => {
            let carried = args(0).get(1..).unwrap_or_default();
            pass(&mut edges, op.operands.get(3..).unwrap_or_default(), carried);
            pass(&mut edges, op.operands.get(3..).unwrap_or_default(), &op.results);
            for &region in op.regions.iter() {
                pass(&mut edges, ends(region), carried);
                pass(&mut edges, ends(region), &op.results);
            }
        }
        OpCode::If => op
            .regions
            .iter()
            .for_each(|&region| pass(&mut edges, ends(region), &op.results)),
        OpCode::While => {
            pass(&mut edges, &op.operands, args(0));
            if let [before, after] = op.regions[..] {
                let passed = ends(before).get(1..).unwrap_or_default();
                pass(&mut edges, passed, args(1));
                pass(&mut edges, passed, &op.results);
                pass(&mut edges, ends(after), args(0));
            }
        }
        OpCode::Select => {
            for &result in &op.results {
                edges.extend(op.operands.iter().skip(1).map(|v| (Some(*v), result)));
            }
        }
        OpCode::AddPtr
        | OpCode::Splat
        | OpCode::Unsplat
        | OpCode::Broadcast
        | OpCode::ExpandDims
        | OpCode::Reshape
        | OpCode::Trans
        | OpCode::Join
        | OpCode::Cat
        | OpCode::Split
        | OpCode::Gather
        | OpCode::Bitcast
        | OpCode::MakeTensorDescriptor
        | OpCode::MakeTensorPtr
        | OpCode::Advance => {
            for &result in &op.results {
                let from = op.operands.iter().filter(|v| carries(function.ty(**v)));
                edges.extend(from.map(|v| (Some(*v), result)));
            }
        }
        _ => edges.extend(op.results.iter().map(|&result| (None, result))),
    }
    edges
}
