//! Integers that addresses are made of.
//!
//! From the offsets of a function's `tt.addptr`, block pointers and descriptors back through the operations whose exact result is followed
//! ([`crate::exact`]), loops and branches. What a call is given, and what a function gives back, counts as well.

use std::collections::HashSet;
use tilescope_ir::{Def, EntityId, Function, Op, OpCode, ValueId};

/// The values of a function that an address may be made of.
pub fn address_values(function: &Function) -> HashSet<ValueId> {
    let mut waiting: Vec<ValueId> = Vec::new();
    let mut jumps: Vec<Vec<ValueId>> = vec![Vec::new(); function.values.len()];
    for (_, op) in function.ops.iter() {
        match op.code {
            OpCode::AddPtr => waiting.extend(op.operands.get(1)),
            // Base, shape, strides and, of a block pointer, offsets.
            OpCode::MakeTensorPtr => waiting.extend(
                op.operands
                    .iter()
                    .skip(1 + op.operands.len().saturating_sub(1) / 3),
            ),
            OpCode::MakeTensorDescriptor => {
                waiting.extend(
                    op.operands
                        .iter()
                        .skip(1 + op.operands.len().saturating_sub(1) / 2),
                );
            }
            OpCode::Advance | OpCode::DescriptorLoad | OpCode::DescriptorGather => {
                waiting.extend(op.operands.iter().skip(1));
            }
            OpCode::DescriptorScatter => waiting.extend(op.operands.iter().skip(1).take(2)),
            OpCode::DescriptorStore | OpCode::DescriptorReduce => {
                waiting.extend(op.operands.iter().skip(2));
            }
            OpCode::Call | OpCode::Return => waiting.extend(&op.operands),
            _ => {}
        }
        for successor in &op.successors {
            for (&from, to) in successor.args.iter().zip(&function.blocks[successor.block].args) {
                jumps[to.index()].push(from);
            }
        }
        carry(function, op, &mut jumps);
    }
    let mut found = HashSet::new();
    while let Some(value) = waiting.pop() {
        if !found.insert(value) {
            continue;
        }
        waiting.extend(&jumps[value.index()]);
        if let Def::Result(id, _) = function.values[value].def {
            let op = &function.ops[id];
            if is_followed(op.code) {
                waiting.extend(&op.operands);
            }
        }
    }
    found
}

/// Where the values of loops and branches come from.
fn carry(function: &Function, op: &Op, from: &mut [Vec<ValueId>]) {
    let first = |region: usize| {
        let region = *op.regions.get(region)?;
        function.regions[region].blocks.first().copied()
    };
    let args = |region: usize| first(region).map_or(&[][..], |block| &function.blocks[block].args);
    let last = |region: usize| -> &[ValueId] {
        let last = first(region).and_then(|block| function.blocks[block].ops.last());
        last.map_or(&[], |&last| &function.ops[last].operands)
    };
    let mut copy = |values: &[ValueId], to: &[ValueId]| {
        for (&value, to) in values.iter().zip(to) {
            from[to.index()].push(value);
        }
    };
    match op.code {
        OpCode::For => {
            let carried = args(0).get(1..).unwrap_or_default();
            for values in [op.operands.get(3..).unwrap_or_default(), last(0)] {
                copy(values, carried);
                copy(values, &op.results);
            }
            copy(&op.operands[..1.min(op.operands.len())], args(0));
        }
        OpCode::If => (0..op.regions.len()).for_each(|region| copy(last(region), &op.results)),
        OpCode::While => {
            copy(&op.operands, args(0));
            copy(last(1), args(0));
            copy(last(0).get(1..).unwrap_or_default(), args(1));
            copy(last(0).get(1..).unwrap_or_default(), &op.results);
        }
        _ => {}
    }
}

fn is_followed(code: OpCode) -> bool {
    matches!(
        code,
        OpCode::AddI
            | OpCode::SubI
            | OpCode::MulI
            | OpCode::ShlI
            | OpCode::MinSI
            | OpCode::MaxSI
            | OpCode::Select
            | OpCode::ExtSI
            | OpCode::IndexCast
            | OpCode::Splat
            | OpCode::Unsplat
            | OpCode::Broadcast
            | OpCode::ExpandDims
            | OpCode::Reshape
            | OpCode::Trans
            | OpCode::Join
            | OpCode::Split
            | OpCode::Cat
    )
}
