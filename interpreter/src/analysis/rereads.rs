//! Storage that a program may load after it stored there, with no barrier between.
//!
//! Operations are taken in the order of the text, a loop twice, so a store counts for the loads behind it and for
//! those before it in a loop around both. What a call does counts where it stands. Functions of several blocks
//! count as loops.

use crate::analysis::pointees::{Pointees, Storages};
use tilescope_ir::attrs::Semantic;
use tilescope_ir::{Attrs, BlockId, FuncId, Function, Module, OpCode, OpId};

/// Deepest nesting of regions and calls that is followed; below it everything is in doubt.
const MAX_DEPTH: u32 = 100;

/// Operations that are looked at, those of loops and calls as often as they are met.
const MAX_OPERATIONS: u32 = 1 << 16;

/// True for an operation that orders what a program did before it with what follows, lanes among each other.
pub fn is_barrier(function: &Function, op: OpId) -> bool {
    let data = &function.ops[op];
    let releases = |semantic: Semantic| matches!(semantic, Semantic::Release | Semantic::AcquireRelease);
    match (&data.attrs, data.code) {
        (_, OpCode::Barrier) => true,
        (Attrs::Rmw(_, semantic, _) | Attrs::Atomic(semantic, _), _) => releases(*semantic),
        // Whoever writes assembly with effects may have put one there.
        (Attrs::InlineAsm(asm), _) => !asm.pure,
        _ => false,
    }
}

/// The storages that a load may meet an earlier store in.
pub fn rereads(module: &Module, kernel: FuncId, pointees: &Pointees) -> Storages {
    let mut walk = Walk {
        module,
        pointees,
        stored: Storages::NONE,
        found: Storages::NONE,
        left: MAX_OPERATIONS,
    };
    walk.function(kernel, MAX_DEPTH);
    walk.found
}

struct Walk<'m> {
    module: &'m Module,
    pointees: &'m Pointees,
    /// Stored to since the last barrier.
    stored: Storages,
    found: Storages,
    left: u32,
}

impl Walk<'_> {
    fn function(&mut self, func: FuncId, depth: u32) {
        let function = &self.module.funcs[func];
        let blocks = &function.regions[function.body].blocks;
        let times = if blocks.len() > 1 { 2 } else { 1 };
        for _ in 0..times {
            blocks.iter().for_each(|&block| self.block(func, block, depth));
        }
    }

    fn block(&mut self, func: FuncId, block: BlockId, depth: u32) {
        if depth == 0 {
            self.found = Storages::ANY;
            return;
        }
        let function = &self.module.funcs[func];
        for &op in &function.blocks[block].ops {
            if self.left == 0 {
                self.found = Storages::ANY;
                return;
            }
            self.left -= 1;
            self.operation(func, function, op, depth);
        }
    }

    fn operation(&mut self, func: FuncId, function: &Function, op: OpId, depth: u32) {
        let data = &function.ops[op];
        let target = || {
            data.operands
                .first()
                .map_or(Storages::NONE, |&pointer| self.pointees.get(func, pointer))
        };
        match data.code {
            OpCode::Load | OpCode::DescriptorLoad | OpCode::DescriptorGather => {
                self.found = self.found.union(self.stored.both(target()));
            }
            OpCode::Store | OpCode::DescriptorStore | OpCode::DescriptorScatter => {
                self.stored = self.stored.union(target());
            }
            OpCode::Call => {
                if let Attrs::Callee(name) = &data.attrs
                    && let Some(callee) = self.module.find(name)
                {
                    self.function(callee, depth.saturating_sub(1));
                }
            }
            OpCode::If => self.branches(func, function, op, depth),
            _ if is_barrier(function, op) => self.stored = Storages::NONE,
            _ => {
                let times = if matches!(data.code, OpCode::For | OpCode::While) {
                    2
                } else {
                    1
                };
                let before = self.stored;
                for _ in 0..times {
                    for &region in &data.regions {
                        for &block in &function.regions[region].blocks {
                            self.block(func, block, depth - 1);
                        }
                    }
                }
                // A loop may not run at all.
                if !data.regions.is_empty() {
                    self.stored = self.stored.union(before);
                }
            }
        }
    }

    fn branches(&mut self, func: FuncId, function: &Function, op: OpId, depth: u32) {
        let data = &function.ops[op];
        let before = self.stored;
        // Without an else, nothing may be run.
        let mut after = if data.regions.len() < 2 {
            before
        } else {
            Storages::NONE
        };
        for &region in &data.regions {
            self.stored = before;
            for &block in &function.regions[region].blocks {
                self.block(func, block, depth - 1);
            }
            after = after.union(self.stored);
        }
        self.stored = after;
    }
}
