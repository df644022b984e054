//! The order in which the blocks of a function are lowered.

use tilescope_ir::{BlockId, Function};

/// The blocks that can be reached from the first, each before those it leads to but for jumps back.
pub(super) fn reverse_postorder(function: &Function, entry: BlockId) -> Vec<BlockId> {
    let mut order = Vec::new();
    let mut seen = std::collections::HashSet::from([entry]);
    let mut stack = vec![(entry, 0)];
    while let Some((block, next)) = stack.last_mut() {
        let successors = function.blocks[*block]
            .ops
            .last()
            .map_or(&[][..], |&op| &function.ops[op].successors);
        // Later successors first, so that they end up later in the reversed order.
        match successors
            .len()
            .checked_sub(*next + 1)
            .map(|i| successors[i].block)
        {
            Some(target) => {
                *next += 1;
                if seen.insert(target) {
                    stack.push((target, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
