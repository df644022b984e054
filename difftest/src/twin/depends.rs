//! Which discrete values depend on floats.
//!
//! An integer, truth value or address that comes from a float (a comparison, a conversion, the bits) may be another
//! one on a path that rounds otherwise. Such values get a mask of the lanes where that can be; all others do not,
//! which keeps the twin small: most kernels compute addresses and masks from integers alone.
//!
//! What is stored depends on floats too where they decide where it is stored, or whether. A function in which that can be
//! is told where to say so (`flagged`).

use std::collections::HashSet;

use tilescope_ir::attrs::RmwKind;
use tilescope_ir::{Attrs, Elem, FuncId, Function, Module, Op, OpCode, OpId, RegionId, Type, ValueId};

/// The result of the analysis.
#[derive(Debug, Default)]
pub(super) struct Depends {
    values: HashSet<(FuncId, ValueId)>,
    /// Integers in memory may depend on floats too.
    pub int_memory: bool,
    /// Functions that store, themselves or by a call; and those that store integers.
    writers: HashSet<FuncId>,
    int_writers: HashSet<FuncId>,
    /// Functions that may find that another path stores elsewhere.
    flagged: HashSet<FuncId>,
    /// Floats are added atomically.
    pub sums: bool,
    /// Functions that add so, or load what may have been added.
    measured: HashSet<FuncId>,
}

/// What a value holds, as far as the twin is concerned.
pub(super) fn is_float(ty: Type) -> bool {
    matches!(ty.elem(), Some(Elem::Scalar(s)) if s.is_float())
}

/// The number type that a pointer, block pointer or descriptor leads to.
pub(super) fn pointee(ty: Type) -> Option<Elem> {
    match ty {
        Type::Scalar(Elem::Ptr(p)) | Type::Tile(_, Elem::Ptr(p)) => Some(p.target()),
        Type::BlockPtr(_, elem) => Some(elem),
        Type::Descriptor { elem, .. } => Some(Elem::Scalar(elem)),
        _ => None,
    }
}

/// Operations that change memory.
pub(super) fn writes(code: OpCode) -> bool {
    matches!(
        code,
        OpCode::Store
            | OpCode::DescriptorStore
            | OpCode::DescriptorScatter
            | OpCode::DescriptorReduce
            | OpCode::AtomicRmw
            | OpCode::AtomicCas
            | OpCode::AtomicStore
    )
}

/// The function that a call calls.
fn callee(module: &Module, op: &Op) -> Option<FuncId> {
    match &op.attrs {
        Attrs::Callee(name) if op.code == OpCode::Call => module.find(name),
        _ => None,
    }
}

/// The operations of these regions and of all within.
fn nested<'f>(f: &'f Function, regions: &[RegionId]) -> Vec<&'f Op> {
    let mut todo = regions.to_vec();
    let mut found = Vec::new();
    while let Some(region) = todo.pop() {
        for &block in &f.regions[region].blocks {
            let ops = f.blocks[block].ops.iter().map(|&op| &f.ops[op]);
            found.extend(ops.clone());
            todo.extend(ops.flat_map(|op| op.regions.iter().copied()));
        }
    }
    found
}

fn writes_integers(f: &Function, op: &Op) -> bool {
    let place = op.operands.first();
    writes(op.code) && place.is_some_and(|&place| leads_to_integers(f.ty(place)))
}

fn leads_to_integers(ty: Type) -> bool {
    matches!(pointee(ty), Some(Elem::Scalar(s)) if s.is_int())
}

impl Depends {
    pub(super) fn of(module: &Module) -> Depends {
        let mut found = Depends::default();
        found.find_writers(module);
        loop {
            let before = (found.values.len(), found.int_memory);
            for (id, function) in module.funcs.iter() {
                for op in function.ops.ids() {
                    found.transfer(module, id, function, op);
                }
            }
            if before == (found.values.len(), found.int_memory) {
                break;
            }
        }
        found.find_flagged(module);
        found.find_sums(module);
        found
    }

    /// A set of functions, closed over calls: one that calls a member is a member.
    fn closed(module: &Module, member: impl Fn(FuncId, &Function) -> bool) -> HashSet<FuncId> {
        let members = module.funcs.iter().filter(|&(id, f)| member(id, f));
        let mut members: HashSet<FuncId> = members.map(|(id, _)| id).collect();
        loop {
            let calls = |f: &Function| {
                let mut callees = f.ops.iter().filter_map(|(_, op)| callee(module, op));
                callees.any(|id| members.contains(&id))
            };
            let more = module
                .funcs
                .iter()
                .filter(|(id, f)| !members.contains(id) && calls(f));
            let more: Vec<FuncId> = more.map(|(id, _)| id).collect();
            if more.is_empty() {
                return members;
            }
            members.extend(more);
        }
    }

    fn find_writers(&mut self, module: &Module) {
        self.writers = Depends::closed(module, |_, f| f.ops.iter().any(|(_, op)| writes(op.code)));
        self.int_writers = Depends::closed(module, |_, f| f.ops.iter().any(|(_, op)| writes_integers(f, op)));
    }

    fn find_flagged(&mut self, module: &Module) {
        self.flagged = Depends::closed(module, |id, f| {
            let decides = |(_, op): (OpId, &Op)| op.code == OpCode::CondBr;
            let any = self.values.iter().any(|&(function, _)| function == id);
            any && (self.writers.contains(&id) || f.ops.iter().any(decides))
        });
    }

    fn find_sums(&mut self, module: &Module) {
        let adds = |op: &Op| matches!(op.attrs, Attrs::Rmw(RmwKind::Fadd, ..));
        self.sums = module
            .funcs
            .iter()
            .any(|(_, f)| f.ops.iter().any(|(_, op)| adds(op)));
        if self.sums {
            self.measured = Depends::closed(module, |_, f| {
                f.ops.iter().any(|(_, op)| op.code == OpCode::Load || adds(op))
            });
        }
    }

    /// True for a function with a parameter more: how far beside its bound lies what was added to an element.
    pub(super) fn measured(&self, function: FuncId) -> bool {
        self.measured.contains(&function)
    }

    /// True for a function with a parameter more: the address of the flag that says that another path may store elsewhere.
    pub(super) fn flagged(&self, function: FuncId) -> bool {
        self.flagged.contains(&function)
    }

    /// True if something is stored in these regions, or by what they call.
    pub(super) fn writes_in(&self, module: &Module, f: &Function, regions: &[RegionId]) -> bool {
        let calls = |op: &Op| callee(module, op).is_some_and(|id| self.writers.contains(&id));
        nested(f, regions)
            .into_iter()
            .any(|op| writes(op.code) || calls(op))
    }

    fn writes_integers_in(&self, module: &Module, f: &Function, regions: &[RegionId]) -> bool {
        let calls = |op: &Op| callee(module, op).is_some_and(|id| self.int_writers.contains(&id));
        nested(f, regions)
            .into_iter()
            .any(|op| writes_integers(f, op) || calls(op))
    }

    pub(super) fn has(&self, function: FuncId, value: ValueId) -> bool {
        self.values.contains(&(function, value))
    }

    fn mark(&mut self, id: FuncId, function: &Function, value: ValueId) {
        if !is_float(function.ty(value)) {
            self.values.insert((id, value));
        }
    }

    fn flow(&mut self, id: FuncId, function: &Function, pairs: impl IntoIterator<Item = (ValueId, ValueId)>) {
        for (from, to) in pairs {
            if self.has(id, from) {
                self.mark(id, function, to);
            }
        }
    }

    fn transfer(&mut self, module: &Module, id: FuncId, f: &Function, op_id: OpId) {
        let op = &f.ops[op_id];
        let any = op.operands.iter().any(|&v| self.has(id, v));
        match op.code {
            OpCode::For => {
                let init = op.operands.get(3..).unwrap_or_default();
                let bounds = op.operands.iter().take(3).any(|&v| self.has(id, v));
                if let Some((args, end)) = ends(f, op.regions.first()) {
                    let carried = args.get(1..).unwrap_or_default();
                    self.flow(id, f, zip(init, carried));
                    self.flow(id, f, zip(end, carried));
                    self.flow(id, f, zip(end, &op.results));
                }
                self.flow(id, f, zip(init, &op.results));
                if bounds {
                    self.all(id, f, &op.results);
                    self.int_memory |= self.writes_integers_in(module, f, &op.regions);
                }
            }
            OpCode::If => {
                for region in &op.regions {
                    if let Some((_, end)) = ends(f, Some(region)) {
                        self.flow(id, f, zip(end, &op.results));
                    }
                }
                if any {
                    self.all(id, f, &op.results);
                    self.int_memory |= self.writes_integers_in(module, f, &op.regions);
                }
            }
            OpCode::While => {
                if self.while_(id, f, op) {
                    self.int_memory |= self.writes_integers_in(module, f, &op.regions);
                }
            }
            OpCode::Reduce | OpCode::Scan => {
                if let Some((args, end)) = ends(f, op.regions.first()) {
                    let (left, right) = args.split_at(args.len() / 2);
                    for args in [left, right] {
                        self.flow(id, f, zip(&op.operands, args));
                        self.flow(id, f, zip(end, args));
                    }
                    self.flow(id, f, zip(end, &op.results));
                    self.flow(id, f, zip(&op.operands, &op.results));
                }
            }
            OpCode::MapElementwise => {
                if let Some((args, end)) = ends(f, op.regions.first()) {
                    self.flow(id, f, zip(&op.operands, args));
                    self.flow(id, f, zip(end, &op.results));
                }
            }
            OpCode::Br | OpCode::CondBr => {
                for target in &op.successors {
                    let args = &f.blocks[target.block].args;
                    self.flow(id, f, zip(&target.args, args));
                    if any {
                        self.all(id, f, args);
                    }
                }
                if any && op.code == OpCode::CondBr {
                    self.int_memory |= self.int_writers.contains(&id);
                }
            }
            OpCode::Call => self.call(module, id, f, op),
            _ => {
                let source = match op.code {
                    OpCode::CmpF | OpCode::FpToSi | OpCode::FpToUi => true,
                    OpCode::ArithBitcast
                    | OpCode::Bitcast
                    | OpCode::ExternElementwise
                    | OpCode::InlineAsm => op.operands.iter().any(|&v| is_float(f.ty(v))),
                    OpCode::Load
                    | OpCode::DescriptorLoad
                    | OpCode::DescriptorGather
                    | OpCode::AtomicRmw
                    | OpCode::AtomicCas
                    | OpCode::AtomicLoad => self.int_memory,
                    _ => false,
                };
                if any || source {
                    self.all(id, f, &op.results);
                }
                if any && writes_integers(f, op) {
                    self.int_memory = true;
                }
            }
        }
    }

    fn all(&mut self, id: FuncId, f: &Function, values: &[ValueId]) {
        for &value in values {
            self.mark(id, f, value);
        }
    }

    /// Gives whether floats decide how often the loop runs.
    fn while_(&mut self, id: FuncId, f: &Function, op: &Op) -> bool {
        let (Some((before, condition)), Some((after, end))) =
            (ends(f, op.regions.first()), ends(f, op.regions.get(1)))
        else {
            return false;
        };
        self.flow(id, f, zip(&op.operands, before));
        self.flow(id, f, zip(end, before));
        let Some((&condition, given)) = condition.split_first() else {
            return false;
        };
        self.flow(id, f, zip(given, after));
        self.flow(id, f, zip(given, &op.results));
        let decided = self.has(id, condition);
        if decided {
            self.all(id, f, &op.results);
            self.all(id, f, after);
        }
        decided
    }

    fn call(&mut self, module: &Module, id: FuncId, f: &Function, op: &Op) {
        let Some(callee) = callee(module, op) else { return };
        let function = &module.funcs[callee];
        for (&from, &to) in op.operands.iter().zip(function.params()) {
            if self.has(id, from) {
                self.mark(callee, function, to);
            }
        }
        for (_, end) in function.ops.iter().filter(|(_, end)| end.code == OpCode::Return) {
            for (&from, &to) in end.operands.iter().zip(&op.results) {
                if self.has(callee, from) {
                    self.mark(id, f, to);
                }
            }
        }
    }
}

fn zip<'a>(from: &'a [ValueId], to: &'a [ValueId]) -> impl Iterator<Item = (ValueId, ValueId)> + 'a {
    from.iter().copied().zip(to.iter().copied())
}

/// The arguments of a region's block and the operands of its terminator.
pub(super) fn ends<'f>(f: &'f Function, region: Option<&RegionId>) -> Option<(&'f [ValueId], &'f [ValueId])> {
    let block = &f.blocks[*f.regions[*region?].blocks.first()?];
    let end = &f.ops[*block.ops.last()?];
    Some((&block.args, &end.operands))
}
