//! Every use is dominated by its definition.
//!
//! Inside one region: immediate dominators by the iterative algorithm of Cooper, Harvey and Kennedy
//! ("A simple, fast dominance algorithm", 2001), then one comparison of tree intervals per use. A use
//! in a nested region counts as a use by the operation that holds it. In blocks that cannot be
//! reached every use is fine, as in MLIR.

use super::structure::Placement;
use super::{Check, Problem};
use crate::entities::{BlockId, EntityId, OpId, RegionId, ValueId};
use crate::module::{Def, Function};

/// Interval of each block in its region's dominator tree; none when it cannot be reached.
struct Tree {
    interval: Vec<Option<(u32, u32)>>,
}

impl Tree {
    fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        match (self.interval[a.index()], self.interval[b.index()]) {
            (Some((start, end)), Some((inner, _))) => start <= inner && inner < end,
            (_, None) => true,
            (None, _) => false,
        }
    }
}

pub(super) fn check(f: &Function, placement: &Placement) -> Check {
    let mut tree = Tree {
        interval: vec![None; f.blocks.len()],
    };
    let mut scratch = vec![usize::MAX; f.blocks.len()];
    for (id, region) in f.regions.iter() {
        let placed = region
            .blocks
            .first()
            .is_some_and(|&b| placement.region(b) == Some(id));
        if placed {
            dominators(f, id, &mut tree, &mut scratch);
        }
    }
    for &id in &placement.order {
        let op = &f.ops[id];
        let targets = op.successors.iter().flat_map(|s| &s.args);
        for (i, &value) in op.operands.iter().chain(targets).enumerate() {
            if !visible(f, placement, &tree, value, id) {
                let name = f.values[value].name.as_deref().unwrap_or("");
                let name = if name.is_empty() {
                    String::new()
                } else {
                    format!(" (`%{name}`)")
                };
                let message = format!(
                    "operand {}{name} is used where its definition does not reach",
                    i + 1
                );
                return Err(Problem::at(id, message));
            }
        }
    }
    Ok(())
}

/// True when the definition of `value` dominates `user`.
fn visible(f: &Function, placement: &Placement, tree: &Tree, value: ValueId, user: OpId) -> bool {
    let (home, defined) = match f.values[value].def {
        Def::Arg(block, _) => (block, None),
        Def::Result(op, _) => match placement.ops[op.index()] {
            Some((block, position)) => (block, Some(position)),
            None => return false,
        },
    };
    let mut op = user;
    loop {
        let Some((block, position)) = placement.ops[op.index()] else {
            return false;
        };
        if placement.region(block) == placement.region(home) {
            return if block == home {
                defined.is_none_or(|d| d < position) || tree.interval[block.index()].is_none()
            } else {
                tree.dominates(home, block)
            };
        }
        match placement.parent(block) {
            Some(parent) => op = parent,
            None => return false,
        }
    }
}

/// Fills in the intervals of one region's dominator tree. `number` is `usize::MAX` for every block of
/// the function, before and after: regions are many, so nothing of the function's size is made here.
fn dominators(f: &Function, region: RegionId, tree: &mut Tree, number: &mut [usize]) {
    let blocks = &f.regions[region].blocks;
    let Some(&entry) = blocks.first() else { return };
    if blocks.len() == 1 {
        tree.interval[entry.index()] = Some((0, 1));
        return;
    }
    let order = reverse_postorder(f, entry, number);
    for (i, &block) in order.iter().enumerate() {
        number[block.index()] = i;
    }
    let mut predecessors = vec![Vec::new(); order.len()];
    for (i, &block) in order.iter().enumerate() {
        for target in successors(f, block) {
            predecessors[number[target.index()]].push(i);
        }
    }
    let mut idom = vec![usize::MAX; order.len()];
    idom[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for block in 1..order.len() {
            let known = predecessors[block]
                .iter()
                .copied()
                .filter(|&p| idom[p] != usize::MAX);
            let new = known.reduce(|a, b| intersect(&idom, a, b));
            if let Some(new) = new
                && idom[block] != new
            {
                idom[block] = new;
                changed = true;
            }
        }
    }
    // A block comes after its dominator in the order, so sizes add up from the back.
    let mut size = vec![1u32; order.len()];
    for block in (1..order.len()).rev() {
        size[idom[block]] += size[block];
    }
    let mut next: Vec<u32> = vec![1; order.len()];
    let mut start = vec![0u32; order.len()];
    for block in 1..order.len() {
        let parent = idom[block];
        start[block] = start[parent] + next[parent];
        next[parent] += size[block];
    }
    for (i, &block) in order.iter().enumerate() {
        tree.interval[block.index()] = Some((start[i], start[i] + size[i]));
        number[block.index()] = usize::MAX;
    }
}

fn intersect(idom: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = idom[a];
        }
        while b > a {
            b = idom[b];
        }
    }
    a
}

fn successors(f: &Function, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
    let last = f.blocks[block].ops.last().copied();
    last.into_iter()
        .flat_map(|op| f.ops[op].successors.iter().map(|s| s.block))
}

/// Blocks that can be reached, each before those it alone leads to; marks them in `seen`.
fn reverse_postorder(f: &Function, entry: BlockId, seen: &mut [usize]) -> Vec<BlockId> {
    seen[entry.index()] = 0;
    let mut stack = vec![(entry, successors(f, entry).collect::<Vec<_>>())];
    let mut order = Vec::new();
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) => {
                if std::mem::replace(&mut seen[next.index()], 0) == usize::MAX {
                    stack.push((next, successors(f, next).collect()));
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
