//! Lowering: from the verified IR to a tape.
//!
//! A function is walked once; every value gets a virtual slot (a tensor descriptor or block pointer gets
//! several), every operation becomes instructions. Calls are inlined, so findings know their call
//! chain. What an operation becomes is decided in the file of its family under `steps/`; this file holds
//! what they share. Slots are planned afterwards ([`crate::plan`]).
//!
//! Operations that only rename lanes (`expand_dims`, `reshape`, same-width `bitcast`) give their result the
//! operand's slot and cost nothing.

mod calls;
mod postorder;
mod visit;

use self::postorder::reverse_postorder;
use crate::Options;
use crate::analysis::addresses::address_values;
use crate::analysis::pointees::{Pointees, Storages, Touched};
use crate::analysis::quiet::quiet_loads;
use crate::analysis::rereads::rereads;
use crate::checks::{hint, missing_barrier};
use crate::frame::Slot;
use crate::initialised;
use crate::kind::Kind;
use crate::simd::Cpu;
use crate::stepping::Placed;
use crate::steps::{self, region};
use crate::tape::{At, Code, Inst, Label, Order, Origin, Preset, Step, What};
use crate::target::Target;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tilescope_diagnostics::{Check, CheckSet, Error, Result};
use tilescope_ir::{BlockId, FuncId, Function, LocId, Module, Op, OpId, OpVisitor, Type, ValueId};
use tilescope_launch::{Argument, Launch};

/// Most instructions a kernel may be lowered to; calls are inlined, so small texts can ask for many.
const MAX_INSTRUCTIONS: usize = 4 << 20;

/// Most operations, those of called functions counted at every call: each keeps its place, even one that
/// becomes no instruction, and thirty functions that call each other four times would make 4^30.
const MAX_OPERATIONS: usize = 1 << 20;

/// Deepest nesting of calls and regions.
const MAX_DEPTH: usize = 200;

/// A lowered kernel with virtual slots.
pub struct Lowered {
    /// The instructions.
    pub code: Code,
    /// What is run once per frame, before any program ([`crate::optimise`]).
    pub prologue: Vec<Inst>,
    /// What only the first program does.
    pub first: Vec<Inst>,
    /// Slots that keep their value for all programs, besides those of parameters.
    pub kept: Vec<Slot>,
    /// Where they come from.
    pub origins: Vec<Origin>,
    /// Parameters.
    pub presets: Vec<Preset>,
    /// Kind and most lanes of each virtual slot.
    pub slots: Vec<(Kind, u32)>,
    /// Instruction ranges of loops: first to last, both inside.
    pub loops: Vec<(u32, u32)>,
    /// Order in which programs may run.
    pub order: Order,
    /// Uninitialised storage that the kernel may read.
    pub unwritten: Storages,
    /// Storage that a program may load after it stored there.
    pub rereads: Storages,
    /// What its accesses may touch; nothing where faults are not reported.
    pub touched: Touched,
    /// Where values are, for the debugger; empty unless asked for.
    pub values: Vec<Placed>,
}

impl Lowered {
    /// A new virtual slot.
    pub fn temp(&mut self, kind: Kind, lanes: u32) -> Slot {
        self.slots.push((kind, lanes));
        Slot(self.slots.len() as u32 - 1)
    }
}

/// A function being lowered (the kernel, or a callee).
struct Scope {
    func: FuncId,
    values: HashMap<ValueId, Vec<Slot>>,
    labels: HashMap<BlockId, Label>,
    calls: Arc<[LocId]>,
    /// Where `tt.return` goes and puts its values; none in the kernel itself.
    after: Option<(Label, Vec<Slot>)>,
}

/// The state of lowering one kernel.
pub struct Lower<'m> {
    module: &'m Module,
    launch: &'m Launch,
    code: Code,
    origins: Vec<Origin>,
    presets: Vec<Preset>,
    slots: Vec<(Kind, u32)>,
    loops: Vec<(u32, u32)>,
    order: Order,
    scopes: Vec<Scope>,
    at: At,
    depth: usize,
    /// Inside the region of a reduce or scan: the most lanes it runs on at once.
    batch: Option<u32>,
    checks: CheckSet,
    /// Loads of each function whose masked-off lanes never matter.
    quiet: HashMap<FuncId, HashSet<OpId>>,
    /// Integers of each function that addresses are made of.
    addresses: HashMap<FuncId, HashSet<ValueId>>,
    /// What is known of the kernel's atomics.
    pub atomics: steps::atomic::order::Seen,
    cpu: Cpu,
    target: Option<&'static Target>,
    /// Where pointers point, if faults are reported.
    pointees: Option<Pointees>,
    /// Storage that a program may load after it stored there.
    rereads: Storages,
    /// Shapes of accesses to it.
    shapes: Vec<Vec<usize>>,
    /// Where values are, if somebody asks.
    values: Option<Vec<Placed>>,
}

const UNPLACED: u32 = u32::MAX;

/// Lowers a kernel for a launch.
pub fn lower(module: &Module, kernel: FuncId, launch: &Launch, options: Options) -> Result<Lowered> {
    lower_noting(module, kernel, launch, options, false)
}

/// As [`lower`], but notes where values are if `values`.
pub fn lower_noting(
    module: &Module,
    kernel: FuncId,
    launch: &Launch,
    options: Options,
    values: bool,
) -> Result<Lowered> {
    let Options { checks, cpu, .. } = options;
    let scope = Scope {
        func: kernel,
        values: HashMap::new(),
        labels: HashMap::new(),
        calls: [].into(),
        after: None,
    };
    let mut lower = Lower {
        module,
        launch,
        code: Code::default(),
        origins: Vec::new(),
        presets: Vec::new(),
        slots: Vec::new(),
        loops: Vec::new(),
        order: Order::Parallel,
        scopes: vec![scope],
        at: At(0),
        depth: 0,
        batch: None,
        checks,
        quiet: HashMap::new(),
        addresses: HashMap::new(),
        atomics: steps::atomic::order::Seen::default(),
        cpu,
        target: options.target.filter(|_| checks.contains(Check::TargetLimit)),
        pointees: None,
        rereads: Storages::NONE,
        shapes: Vec::new(),
        values: values.then(Vec::new),
    };
    let mut unwritten = Storages::NONE;
    let mut touched = Touched::default();
    if !checks.without(CheckSet::ALWAYS).is_empty() {
        let pointees = Pointees::of(module, kernel, launch);
        touched = pointees.touched(module);
        if checks.contains(Check::MissingBarrier) && !touched.stored.both(touched.loaded).is_empty() {
            lower.rereads = rereads(module, kernel, &pointees);
        }
        lower.pointees = Some(pointees);
        if checks.contains(Check::UninitLoad) {
            unwritten = initialised::watched(launch, touched.loaded.union(touched.updated));
        }
    }
    let function = &module.funcs[kernel];
    lower.parameters(function)?;
    if checks.contains(Check::HintViolated) {
        hint::parameters(&mut lower, function);
    }
    lower.body(function)?;
    let Lower {
        code,
        origins,
        presets,
        slots,
        loops,
        order,
        values,
        atomics,
        rereads,
        ..
    } = lower;
    let order = match order {
        Order::Sequential if atomics.can_be_logged() => Order::Logged,
        order => order,
    };
    // What an atomic finds unwritten must not depend on threads.
    let order = match unwritten.both(touched.updated).is_empty() {
        true => order,
        false => order.max(Order::Sequential),
    };
    Ok(Lowered {
        code,
        prologue: Vec::new(),
        first: Vec::new(),
        kept: Vec::new(),
        origins,
        presets,
        slots,
        loops,
        order,
        unwritten,
        rereads,
        touched,
        values: values.unwrap_or_default(),
    })
}

impl<'m> Lower<'m> {
    fn parameters(&mut self, function: &Function) -> Result<()> {
        for (&param, argument) in function.params().iter().zip(&self.launch.arguments) {
            let slots = self.define(function, param)?;
            let values: Vec<(u64, u32)> = match argument {
                Argument::Tensor(id) => vec![(self.address(id.0 as usize), id.0 + 1)],
                Argument::Scalar { bits } => vec![(*bits, 0)],
                Argument::Null => vec![(0, 0)],
                Argument::Descriptor { tensor, .. } => {
                    let index = tensor.0 as usize;
                    let data = &self.launch.tensors[index];
                    let mut values = vec![(self.address(index), tensor.0 + 1)];
                    values.extend(data.shape.iter().chain(&data.strides).map(|&n| (n as u64, 0)));
                    // Lanes outside read zero.
                    values.push((0, 0));
                    values
                }
            };
            if values.len() != slots.len() {
                return Err(Error::input(format!(
                    "argument of {} does not fit its parameter: a descriptor of rank {} is needed",
                    function.name,
                    (slots.len().saturating_sub(2)) / 2
                )));
            }
            for (slot, (bits, tensor)) in slots.into_iter().zip(values) {
                self.presets.push(Preset { slot, bits, tensor });
            }
        }
        Ok(())
    }

    /// Address of a tensor's element (0, ..., 0). Allocation bases are filled in when the launch runs,
    /// so this is the offset only; see [`crate::Prepared::run`].
    fn address(&self, tensor: usize) -> u64 {
        let tensor = &self.launch.tensors[tensor];
        tensor.offset.wrapping_mul(tensor.dtype.bytes() as i64) as u64
    }

    /// The launch.
    pub fn launch(&self) -> &'m Launch {
        self.launch
    }

    fn scope(&mut self) -> &mut Scope {
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// The slots of a value.
    pub fn slots(&self, value: ValueId) -> &[Slot] {
        let scope = &self.scopes[self.scopes.len() - 1];
        scope.values.get(&value).map_or(&[], |s| &s[..])
    }

    /// The slot of a value that has exactly one: a number, pointer or tile.
    pub fn slot(&self, value: ValueId) -> Slot {
        self.slots(value).first().copied().unwrap_or(Slot(0))
    }

    /// Slots of the operands from position `first` on, all of one slot each.
    pub fn operands(&self, op: &Op) -> Vec<Slot> {
        op.operands.iter().map(|&v| self.slot(v)).collect()
    }

    /// New slots for a value.
    pub fn define(&mut self, function: &Function, value: ValueId) -> Result<Vec<Slot>> {
        let slots = self.fresh(function.ty(value))?;
        self.alias(value, slots.clone());
        Ok(slots)
    }

    /// The new slot of an operation's only result.
    pub fn result(&mut self, function: &Function, op: OpId) -> Result<Slot> {
        let Some(value) = function.result(op) else {
            return Err(self.unsupported(function, op, "no result"));
        };
        Ok(self.define(function, value)?[0])
    }

    /// New slots for a value of a type.
    pub fn fresh(&mut self, ty: Type) -> Result<Vec<Slot>> {
        Ok(match ty {
            Type::Scalar(elem) | Type::Tile(_, elem) => {
                let Some(kind) = Kind::of(elem) else {
                    return Err(Error::unsupported(format!("values of type {ty} are not run"))
                        .help("use i8 to i64 instead"));
                };
                let lanes = match (self.batch, ty) {
                    (Some(batch), Type::Scalar(_)) => batch,
                    _ => ty.lanes() as u32,
                };
                vec![self.temp(kind, lanes)]
            }
            Type::Descriptor { block, .. } => self.aggregate(2 * block.rank() + 1),
            Type::BlockPtr(block, _) => self.aggregate(3 * block.rank()),
        })
    }

    /// A pointer and some 64-bit integers.
    fn aggregate(&mut self, integers: usize) -> Vec<Slot> {
        let mut slots = vec![self.temp(Kind::Ptr, 1)];
        slots.extend((0..integers).map(|_| self.temp(Kind::I64, 1)));
        slots
    }

    /// A new virtual slot.
    pub fn temp(&mut self, kind: Kind, lanes: u32) -> Slot {
        self.slots.push((kind, lanes));
        Slot(self.slots.len() as u32 - 1)
    }

    /// Kind of the lanes of a slot.
    pub fn slot_kind(&self, slot: Slot) -> Kind {
        self.slots.get(slot.0 as usize).map_or(Kind::Ptr, |s| s.0)
    }

    /// True if a check is on.
    pub fn checks(&self, check: Check) -> bool {
        self.checks.contains(check)
    }

    /// The GPU that the launch is meant for, if faults are reported.
    pub fn target(&self) -> Option<&'static Target> {
        self.target
    }

    /// Storage that a program may load after it stored there.
    pub fn rereads(&self) -> Storages {
        self.rereads
    }

    /// True if a pointer may point there.
    pub fn is_reread(&mut self, pointer: ValueId) -> bool {
        let func = self.scope().func;
        let target = self.pointees.as_ref().map(|pointees| pointees.get(func, pointer));
        target.is_some_and(|target| !target.both(self.rereads).is_empty())
    }

    /// The number of a shape.
    pub fn shape_id(&mut self, shape: &[usize]) -> u32 {
        let known = self.shapes.iter().position(|known| known == shape);
        if known.is_none() {
            self.shapes.push(shape.to_vec());
        }
        known.unwrap_or(self.shapes.len() - 1) as u32
    }

    /// The last instruction.
    pub fn last(&self) -> Option<&Inst> {
        self.code.insts.last()
    }

    /// True if no lane that a load leaves undefined is to be followed.
    pub fn is_quiet(&mut self, function: &Function, load: OpId) -> bool {
        if !self.checks(Check::UndefinedLane) {
            return true;
        }
        // The debugger shows undefined lanes that never matter, too.
        if self.values.is_some() {
            return false;
        }
        let func = self.func();
        let quiet = self.quiet.entry(func);
        quiet.or_insert_with(|| quiet_loads(function)).contains(&load)
    }

    /// True if an address may be made of an integer, and wrap-around is looked for.
    pub fn is_address(&mut self, function: &Function, value: ValueId) -> bool {
        if !self.checks(Check::AddressOverflow) || self.in_region() {
            return false;
        }
        let func = self.func();
        let addresses = self.addresses.entry(func);
        addresses
            .or_insert_with(|| address_values(function))
            .contains(&value)
    }

    /// The vector instructions that flat loops may use.
    pub fn cpu(&self) -> Cpu {
        self.cpu
    }

    /// Lets a value live in slots that exist.
    pub fn alias(&mut self, value: ValueId, slots: Vec<Slot>) {
        self.note(value, &slots);
        self.scope().values.insert(value, slots);
    }

    /// Notes where a value is; those of the region of a reduce are gone when it has run.
    fn note(&mut self, value: ValueId, slots: &[Slot]) {
        if self.values.is_none() || self.batch.is_some() {
            return;
        }
        let position = self.code.insts.len() as u32;
        let scope = self.scope();
        let placed = Placed {
            func: scope.func,
            value,
            calls: scope.calls.clone(),
            slots: slots.to_vec(),
            position,
        };
        self.values
            .iter_mut()
            .for_each(|values| values.push(placed.clone()));
    }

    /// Kind of a value's lanes.
    pub fn kind(&self, function: &Function, value: ValueId) -> Kind {
        function.ty(value).elem().and_then(Kind::of).unwrap_or(Kind::Ptr)
    }

    /// Lanes of a value as instructions hold them: 0 for a scalar in the region of a reduce.
    pub fn lanes(&self, function: &Function, value: ValueId) -> u32 {
        match (self.batch, function.ty(value)) {
            (Some(_), Type::Scalar(_)) => 0,
            (_, ty) => ty.lanes() as u32,
        }
    }

    /// True inside the region of a reduce, scan or map.
    pub fn in_region(&self) -> bool {
        self.batch.is_some()
    }

    /// The function being lowered.
    pub fn func(&self) -> FuncId {
        self.scopes[self.scopes.len() - 1].func
    }

    /// True inside a call.
    pub fn is_inlined(&self) -> bool {
        self.scopes.len() > 1
    }

    /// Adds an instruction.
    pub fn emit(&mut self, step: impl Step + 'static, ins: Vec<Slot>, outs: Vec<Slot>, lanes: u32) {
        self.code.insts.push(Inst::new(step, ins, outs, lanes, self.at));
    }

    /// A label to be placed.
    pub fn label(&mut self) -> Label {
        self.code.labels.push(UNPLACED);
        Label(self.code.labels.len() as u32 - 1)
    }

    /// Places a label here.
    pub fn place(&mut self, label: Label) {
        self.code.labels[label.0 as usize] = self.code.insts.len() as u32;
    }

    /// Notes that the last instruction may jump to `label`: a loop, if the label is behind.
    pub fn jumps_to(&mut self, label: Label) {
        let target = self.code.labels[label.0 as usize];
        let here = self.code.insts.len() as u32 - 1;
        if self.batch.is_some() {
            self.code.branches = true;
        } else if target <= here {
            self.loops.push((target, here));
        }
    }

    /// Raises the order in which programs may run.
    pub fn need(&mut self, order: Order) {
        self.order = self.order.max(order);
    }

    /// An error at an operation: something that is not supported, by name.
    pub fn unsupported(&self, function: &Function, op: OpId, what: impl Into<String>) -> Box<Error> {
        self.place_error(Error::unsupported(what), function, op)
    }

    /// An error at an operation: the input is wrong.
    pub fn wrong(&self, function: &Function, op: OpId, what: impl Into<String>) -> Box<Error> {
        self.place_error(Error::input(what), function, op)
    }

    fn place_error(&self, error: Box<Error>, function: &Function, op: OpId) -> Box<Error> {
        let data = &function.ops[op];
        let error = match &self.module.source {
            Some(source) => {
                let start = data.offset as usize;
                error.at(source, start..start + data.code.info().mnemonic.len(), "")
            }
            None => error.note(format!("in {} of {}", data.code, function.name)),
        };
        match self.module.locs.frames(data.loc).first() {
            Some((file, line, column)) => error.note(format!("the kernel's source: {file}:{line}:{column}")),
            None => error,
        }
    }

    fn enter(&mut self, function: &Function, op: Option<OpId>) -> Result<()> {
        self.depth += 1;
        let is_long = self.code.insts.len() > MAX_INSTRUCTIONS || self.origins.len() > MAX_OPERATIONS;
        if self.depth > MAX_DEPTH || is_long {
            let what = "the kernel is too large: too many nested or inlined operations";
            return Err(match op {
                Some(op) => self.unsupported(function, op, what),
                None => Error::unsupported(what),
            });
        }
        Ok(())
    }

    /// Lowers a function body: one block, or a control-flow graph in reverse postorder.
    fn body(&mut self, function: &Function) -> Result<()> {
        self.enter(function, None)?;
        let blocks = reverse_postorder(function, function.entry());
        for &block in &blocks {
            let label = self.label();
            self.scope().labels.insert(block, label);
            if block != function.entry() {
                for &arg in &function.blocks[block].args {
                    self.define(function, arg)?;
                }
            }
        }
        for &block in &blocks {
            let label = self.block_label(block);
            self.place(label);
            self.block(function, block)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// The label of a block of the function's graph.
    pub fn block_label(&mut self, block: BlockId) -> Label {
        match self.scope().labels.get(&block) {
            Some(&label) => label,
            None => self.label(),
        }
    }

    /// Lowers the operations of a block.
    pub fn block(&mut self, function: &Function, block: BlockId) -> Result<()> {
        for &op in &function.blocks[block].ops {
            self.operation(function, op)?;
        }
        Ok(())
    }

    fn operation(&mut self, function: &Function, op: OpId) -> Result<()> {
        self.enter(function, Some(op))?;
        let (func, calls) = {
            let scope = self.scope();
            (scope.func, scope.calls.clone())
        };
        let before = self.at;
        self.at = At(self.origins.len() as u32);
        self.origins.push(Origin {
            func,
            what: What::Op(op),
            calls,
        });
        steps::atomic::order::touch(self, function, op);
        self.visit(function, op)?;
        missing_barrier::operation(self, function, op);
        if self.checks(Check::HintViolated) {
            hint::operation(self, function, op);
        }
        // A loop's own closing instructions belong to the loop, not to its last operation.
        if !function.ops[op].regions.is_empty() {
            self.at = before;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Attributes the next instructions to a parameter of the kernel.
    pub fn attribute_to_parameter(&mut self, index: u32) {
        let func = self.scope().func;
        self.at = At(self.origins.len() as u32);
        self.origins.push(Origin {
            func,
            what: What::Param(index),
            calls: [].into(),
        });
    }

    /// The place that instructions are attributed to.
    pub fn place_of(&self) -> At {
        self.at
    }

    /// Attributes the next instructions to a place.
    pub fn attribute(&mut self, at: At) {
        self.at = at;
    }

    /// The operations of a region's only block without its terminator, and the terminator.
    pub fn region<'f>(
        &self,
        function: &'f Function,
        op: OpId,
        index: usize,
    ) -> Option<(BlockId, &'f [OpId], OpId)> {
        let region = *function.ops[op].regions.get(index)?;
        let block = *function.regions[region].blocks.first()?;
        let (last, rest) = function.blocks[block].ops.split_last()?;
        Some((block, rest, *last))
    }

    /// Lowers operations one after the other.
    pub fn operations(&mut self, function: &Function, ops: &[OpId]) -> Result<()> {
        ops.iter().try_for_each(|&op| self.operation(function, op))
    }

    /// Lowers the region of a reduce, scan or map as nested code that runs on up to `batch` lanes.
    pub fn nested(&mut self, function: &Function, op: OpId, batch: u32) -> Result<Code> {
        let Some((block, ops, last)) = self.region(function, op, 0) else {
            return Err(self.unsupported(function, op, "an operation without its region"));
        };
        if function.regions[function.ops[op].regions[0]].blocks.len() > 1 {
            return self.nested_graph(function, op, batch);
        }
        let outer = std::mem::take(&mut self.code);
        let outer_batch = self.batch.replace(batch);
        let lowered = (|| {
            for &arg in &function.blocks[block].args {
                let slot = self.define(function, arg)?[0];
                self.code.args.push(slot);
            }
            self.operations(function, &region::live(function, ops, last))
        })();
        self.code.results = self.operands(&function.ops[last]);
        self.batch = outer_batch;
        let code = std::mem::replace(&mut self.code, outer);
        lowered?;
        Ok(code)
    }

    /// A region with early exits in it (`cf` in `tt.map_elementwise`): every return moves its values to the
    /// results and goes to the end.
    fn nested_graph(&mut self, function: &Function, op: OpId, batch: u32) -> Result<Code> {
        let entry = function.regions[function.ops[op].regions[0]].blocks[0];
        let outer = std::mem::take(&mut self.code);
        let outer_batch = self.batch.replace(batch);
        let lowered = self.graph(function, entry);
        self.batch = outer_batch;
        let mut code = std::mem::replace(&mut self.code, outer);
        code.branches = true;
        lowered?;
        Ok(code)
    }

    fn graph(&mut self, function: &Function, entry: BlockId) -> Result<()> {
        let blocks = reverse_postorder(function, entry);
        for &block in &blocks {
            let label = self.label();
            self.scope().labels.insert(block, label);
            for &arg in &function.blocks[block].args {
                let slot = self.define(function, arg)?[0];
                if block == entry {
                    self.code.args.push(slot);
                }
            }
        }
        let end = self.label();
        for &block in &blocks {
            let label = self.block_label(block);
            self.place(label);
            let Some((&last, ops)) = function.blocks[block].ops.split_last() else {
                continue;
            };
            self.operations(function, ops)?;
            if !function.ops[last].successors.is_empty() {
                self.operation(function, last)?;
                continue;
            }
            let values = self.operands(&function.ops[last]);
            if self.code.results.is_empty() {
                for &value in &function.ops[last].operands {
                    let slot = self.fresh(function.ty(value))?[0];
                    self.code.results.push(slot);
                }
            }
            let results = self.code.results.clone();
            self.moves(&values, &results);
            steps::control::jump(self, end);
        }
        self.place(end);
        Ok(())
    }

    /// Moves values to slots as if all at once: a destination may be another's source.
    pub fn moves(&mut self, from: &[Slot], to: &[Slot]) {
        let pairs: Vec<(Slot, Slot)> = from
            .iter()
            .copied()
            .zip(to.iter().copied())
            .filter(|(f, t)| f != t)
            .collect();
        let clash = |slot: Slot| pairs.iter().any(|&(_, t)| t == slot);
        let mut sources: Vec<Slot> = Vec::with_capacity(pairs.len());
        let mut staged: (Vec<Slot>, Vec<Slot>) = Default::default();
        for &(from, _) in &pairs {
            if clash(from) {
                let (kind, lanes) = self.slots[from.0 as usize];
                let temp = self.temp(kind, lanes);
                staged.0.push(from);
                staged.1.push(temp);
                sources.push(temp);
            } else {
                sources.push(from);
            }
        }
        self.emit_moves(staged.0, staged.1);
        self.emit_moves(sources, pairs.iter().map(|p| p.1).collect());
    }

    fn emit_moves(&mut self, from: Vec<Slot>, to: Vec<Slot>) {
        if from.is_empty() {
            return;
        }
        // In a region all values are scalars, of which as many lanes are there as the region runs on.
        let in_region = self.in_region();
        let bytes = from.iter().map(|s| {
            let (kind, lanes) = self.slots[s.0 as usize];
            kind.bytes() as u32 * if in_region { 1 } else { lanes }
        });
        let step = steps::control::Move {
            bytes: bytes.collect(),
        };
        self.emit(step, from, to, if in_region { 0 } else { 1 });
    }
}
