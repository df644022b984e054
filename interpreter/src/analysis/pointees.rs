//! Which allocations each pointer of a kernel may point to.
//!
//! Pointers are followed from the kernel's parameters through address arithmetic, shape operations, loops,
//! branches and calls. One that comes out of memory, or is made of an integer, may point anywhere. The answer
//! is never too small: an access that turns out to go elsewhere is out of bounds, and reported as such.

use std::collections::HashMap;
use tilescope_ir::attrs::Scope;
use tilescope_ir::{
    Attrs, Effect, Elem, EntityId, FuncId, Function, Module, Op, OpCode, OpId, Type, ValueId,
};
use tilescope_launch::{Argument, Launch};

/// A set of allocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Storages(u64);

/// Allocations from this number on are told apart no more: they count as everything.
const MANY: usize = 63;

impl Storages {
    /// No allocation.
    pub const NONE: Storages = Storages(0);
    /// Every allocation.
    pub const ANY: Storages = Storages(u64::MAX);

    /// Only this one.
    pub fn only(allocation: usize) -> Storages {
        match allocation < MANY {
            true => Storages(1 << allocation),
            false => Storages::ANY,
        }
    }

    /// True if it is among them.
    pub fn contains(self, allocation: usize) -> bool {
        self == Storages::ANY || (allocation < MANY && self.0 >> allocation & 1 != 0)
    }

    /// Those of either.
    pub fn union(self, other: Storages) -> Storages {
        Storages(self.0 | other.0)
    }

    /// Those of both.
    pub fn both(self, other: Storages) -> Storages {
        Storages(self.0 & other.0)
    }

    /// True without any.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a kernel's accesses may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touched {
    /// By loads, plain or atomic.
    pub loaded: Storages,
    /// By plain stores.
    pub stored: Storages,
    /// By atomics that write.
    pub updated: Storages,
}

/// The allocations of every pointer of a kernel and of what it calls.
#[derive(Debug, Default)]
pub struct Pointees {
    sets: HashMap<FuncId, Vec<Storages>>,
}

/// A value of a function.
type Node = (FuncId, ValueId);

fn points(ty: Type) -> bool {
    match ty {
        Type::Descriptor { .. } | Type::BlockPtr(..) => true,
        ty => ty.elem().and_then(Elem::pointer).is_some(),
    }
}

impl Pointees {
    /// Follows the pointers of a kernel.
    pub fn of(module: &Module, kernel: FuncId, launch: &Launch) -> Pointees {
        let mut flow = Flows {
            module,
            copies: HashMap::new(),
            seeds: Vec::new(),
            functions: vec![kernel],
        };
        let function = &module.funcs[kernel];
        for (&param, argument) in function.params().iter().zip(&launch.arguments) {
            if let Argument::Tensor(tensor) | Argument::Descriptor { tensor, .. } = argument
                && let Some(tensor) = launch.tensors.get(tensor.0 as usize)
            {
                let storage = Storages::only(tensor.allocation.0 as usize);
                flow.seeds.push(((kernel, param), storage));
            }
        }
        let mut next = 0;
        while let Some(&func) = flow.functions.get(next) {
            flow.function(func);
            next += 1;
        }
        let mut sets: HashMap<FuncId, Vec<Storages>> = flow
            .functions
            .iter()
            .map(|&func| (func, vec![Storages::NONE; module.funcs[func].values.len()]))
            .collect();
        let mut waiting = flow.seeds;
        while let Some((node, more)) = waiting.pop() {
            let Some(set) = sets.get_mut(&node.0).and_then(|of| of.get_mut(node.1.index())) else {
                continue;
            };
            let union = set.union(more);
            if union != *set {
                *set = union;
                let copies = flow.copies.get(&node).into_iter().flatten();
                waiting.extend(copies.map(|&to| (to, union)));
            }
        }
        Pointees { sets }
    }

    /// The allocations that a pointer, descriptor or block pointer may point to.
    pub fn get(&self, func: FuncId, value: ValueId) -> Storages {
        match self.sets.get(&func).and_then(|of| of.get(value.index())) {
            // A null pointer, or one that this module does not understand.
            None | Some(&Storages::NONE) => Storages::ANY,
            Some(&set) => set,
        }
    }

    /// What the accesses of the kernel touch.
    pub fn touched(&self, module: &Module) -> Touched {
        let mut touched = Touched::default();
        for &func in self.sets.keys() {
            let function = &module.funcs[func];
            for (_, op) in function.ops.iter() {
                let Some(&pointer) = op.operands.first().filter(|&&v| points(function.ty(v))) else {
                    continue;
                };
                let set = self.get(func, pointer);
                match (op.code.info().effect, op.code) {
                    (Effect::Read, _) | (_, OpCode::AtomicLoad | OpCode::AtomicPoll) => {
                        touched.loaded = touched.loaded.union(set);
                    }
                    // Between programs such an atomic is a plain access: a load and a store.
                    (Effect::Sync, _) if is_of_one_block(op) => {
                        touched.loaded = touched.loaded.union(set);
                        touched.stored = touched.stored.union(set);
                    }
                    (Effect::Write, _) => touched.stored = touched.stored.union(set),
                    (Effect::Sync, _) => touched.updated = touched.updated.union(set),
                    _ => {}
                }
            }
        }
        touched
    }
}

fn is_of_one_block(op: &Op) -> bool {
    matches!(
        op.attrs,
        Attrs::Rmw(_, _, Scope::Cta) | Attrs::Atomic(_, Scope::Cta)
    )
}

/// Where values go.
struct Flows<'m> {
    module: &'m Module,
    copies: HashMap<Node, Vec<Node>>,
    seeds: Vec<(Node, Storages)>,
    /// Those that the kernel reaches.
    functions: Vec<FuncId>,
}

impl Flows<'_> {
    fn copy(&mut self, func: FuncId, from: &[ValueId], to: &[ValueId]) {
        let function = &self.module.funcs[func];
        for (&from, &to) in from.iter().zip(to) {
            if points(function.ty(from)) {
                self.copies.entry((func, from)).or_default().push((func, to));
            }
        }
    }

    fn function(&mut self, func: FuncId) {
        let function = &self.module.funcs[func];
        for (id, op) in function.ops.iter() {
            for successor in &op.successors {
                self.copy(func, &successor.args, &function.blocks[successor.block].args);
            }
            match op.code {
                OpCode::For => self.loop_(func, function, op),
                OpCode::If => {
                    for region in 0..op.regions.len() {
                        let yielded = last(function, op, region).map(|y| y.operands.to_vec());
                        self.copy(func, &yielded.unwrap_or_default(), &op.results);
                    }
                }
                OpCode::While => self.while_(func, function, op),
                OpCode::Call => self.call(func, op),
                _ => self.plain(func, function, id),
            }
        }
    }

    fn loop_(&mut self, func: FuncId, function: &Function, op: &Op) {
        let args = args(function, op, 0);
        let carried = args.get(1..).unwrap_or_default();
        let initial = op.operands.get(3..).unwrap_or_default();
        self.copy(func, initial, carried);
        self.copy(func, initial, &op.results);
        if let Some(yielded) = last(function, op, 0) {
            self.copy(func, &yielded.operands, carried);
            self.copy(func, &yielded.operands, &op.results);
        }
    }

    fn while_(&mut self, func: FuncId, function: &Function, op: &Op) {
        self.copy(func, &op.operands, args(function, op, 0));
        if let Some(condition) = last(function, op, 0) {
            let passed = condition.operands.get(1..).unwrap_or_default();
            self.copy(func, passed, args(function, op, 1));
            self.copy(func, passed, &op.results);
        }
        if let Some(yielded) = last(function, op, 1) {
            self.copy(func, &yielded.operands, args(function, op, 0));
        }
    }

    fn call(&mut self, func: FuncId, op: &Op) {
        let callee = match &op.attrs {
            Attrs::Callee(name) => self.module.find(name),
            _ => None,
        };
        let Some(callee) = callee else { return };
        if !self.functions.contains(&callee) {
            self.functions.push(callee);
        }
        let target = &self.module.funcs[callee];
        for (&from, &to) in op.operands.iter().zip(target.params()) {
            self.copies.entry((func, from)).or_default().push((callee, to));
        }
        for (_, last) in target.ops.iter().filter(|(_, op)| op.code == OpCode::Return) {
            for (&from, &to) in last.operands.iter().zip(&op.results) {
                self.copies.entry((callee, from)).or_default().push((func, to));
            }
        }
    }

    /// Results point where operands do; or anywhere, if no operand is a pointer.
    fn plain(&mut self, func: FuncId, function: &Function, id: OpId) {
        let op = &function.ops[id];
        for &result in op.results.iter().filter(|&&v| points(function.ty(v))) {
            let from: Vec<ValueId> = op
                .operands
                .iter()
                .copied()
                .filter(|&v| points(function.ty(v)))
                .collect();
            let from_memory = op.code.info().effect != Effect::Pure;
            let nowhere = matches!(op.code, OpCode::Poison | OpCode::Constant);
            if from_memory || (from.is_empty() && !nowhere) {
                self.seeds.push(((func, result), Storages::ANY));
            }
            for from in from {
                self.copy(func, &[from], &[result]);
            }
        }
        for &region in &op.regions {
            for &block in &function.regions[region].blocks {
                for &arg in function.blocks[block]
                    .args
                    .iter()
                    .filter(|&&v| points(function.ty(v)))
                {
                    self.seeds.push(((func, arg), Storages::ANY));
                }
            }
        }
    }
}

/// The arguments of a region's first block.
fn args<'f>(function: &'f Function, op: &Op, region: usize) -> &'f [ValueId] {
    let block = op
        .regions
        .get(region)
        .and_then(|&r| function.regions[r].blocks.first());
    block.map_or(&[], |&block| &function.blocks[block].args)
}

/// The terminator of a region's first block.
fn last<'f>(function: &'f Function, op: &Op, region: usize) -> Option<&'f Op> {
    let block = *function.regions[*op.regions.get(region)?].blocks.first()?;
    Some(&function.ops[*function.blocks[block].ops.last()?])
}
