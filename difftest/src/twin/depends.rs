//! Which discrete values depend on floats.
//!
//! An integer, truth value or address that comes from a float (a comparison, a conversion, the bits) may be another
//! one on a path that rounds otherwise. Such values get a mask of the lanes where that can be; all others do not,
//! which keeps the twin small: most kernels compute addresses and masks from integers alone.

use std::collections::HashSet;

use tilescope_ir::{Elem, FuncId, Function, Module, Op, OpCode, OpId, RegionId, Type, ValueId};

/// The result of the analysis.
#[derive(Debug, Default)]
pub(super) struct Depends {
    values: HashSet<(FuncId, ValueId)>,
    /// Integers in memory may depend on floats too.
    pub int_memory: bool,
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

fn leads_to_integers(ty: Type) -> bool {
    matches!(pointee(ty), Some(Elem::Scalar(s)) if s.is_int())
}

impl Depends {
    pub(super) fn of(module: &Module) -> Depends {
        let mut found = Depends::default();
        loop {
            let before = (found.values.len(), found.int_memory);
            for (id, function) in module.funcs.iter() {
                for op in function.ops.ids() {
                    found.transfer(module, id, function, op);
                }
            }
            if before == (found.values.len(), found.int_memory) {
                return found;
            }
        }
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
                }
            }
            OpCode::While => self.while_(id, f, op),
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
                let writes = matches!(
                    op.code,
                    OpCode::Store
                        | OpCode::DescriptorStore
                        | OpCode::DescriptorScatter
                        | OpCode::AtomicRmw
                        | OpCode::AtomicCas
                        | OpCode::AtomicStore
                );
                if any && writes && op.operands.first().is_some_and(|&p| leads_to_integers(f.ty(p))) {
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

    fn while_(&mut self, id: FuncId, f: &Function, op: &Op) {
        let (Some((before, condition)), Some((after, end))) =
            (ends(f, op.regions.first()), ends(f, op.regions.get(1)))
        else {
            return;
        };
        self.flow(id, f, zip(&op.operands, before));
        self.flow(id, f, zip(end, before));
        let Some((&condition, given)) = condition.split_first() else {
            return;
        };
        self.flow(id, f, zip(given, after));
        self.flow(id, f, zip(given, &op.results));
        if self.has(id, condition) {
            self.all(id, f, &op.results);
            self.all(id, f, after);
        }
    }

    fn call(&mut self, module: &Module, id: FuncId, f: &Function, op: &Op) {
        let tilescope_ir::Attrs::Callee(name) = &op.attrs else {
            return;
        };
        let Some(callee) = module.find(name) else { return };
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
