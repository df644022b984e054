//! What the tape's instructions are in the author's terms: lines, operations, variables.
//!
//! Made once per session. An instruction without a place of its own (a constant that Triton moved to the top, an
//! operation of unknown place) counts as part of what is executed before it, so that stepping by line never jumps
//! for its sake.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tilescope_diagnostics::{Frame, Location, Source};
use tilescope_interpreter::frame::Slot;
use tilescope_interpreter::kind::Kind;
use tilescope_interpreter::names::Names;
use tilescope_interpreter::report::{frames, is_own, place};
use tilescope_interpreter::stepping::{Placed, Stepping};
use tilescope_interpreter::tape::{At, Origin, What};
use tilescope_ir::{
    Family, FuncId, Function, LocId, Module, Op, OpCode, OpId, Type, ValueId, VerifiedModule,
};

use crate::values::ValueKey;

/// A line in a call: file and line of each frame, outermost first.
pub type Stack = Arc<[(u32, u32)]>;

/// What is passed to inlined helpers: by function and call, names of parameters and values.
pub(crate) type Passed = HashMap<(FuncId, LocId), Vec<(Arc<str>, ValueId)>>;

/// A value as its users see it.
#[derive(Debug, Clone)]
pub struct Named {
    /// The author's name, if any.
    pub name: Option<Arc<str>>,
    /// Where it is defined: the last entry is its own line, the rest the calls.
    pub stack: Stack,
    /// An intermediate result of the statement that assigns to `name`.
    pub is_part: bool,
}

/// The kernel as the author knows it.
#[derive(Debug)]
pub struct Code {
    /// The module.
    pub module: Arc<VerifiedModule>,
    /// The kernel.
    pub kernel: FuncId,
    /// The tape and where values are.
    pub stepping: Stepping,
    /// Files that locations name.
    pub files: Vec<Arc<str>>,
    /// Lines of instructions.
    stacks: Vec<Stack>,
    /// What values are called; parallel to the stepping's.
    named: Vec<Named>,
    /// Values by the author's name.
    by_name: HashMap<Arc<str>, Vec<u32>>,
    /// Values by their name in the text.
    by_text: HashMap<Arc<str>, Vec<u32>>,
    /// Lines with code and their first instructions, per file.
    lines: BTreeMap<(u32, u32), Vec<u32>>,
    /// The kernel's text.
    pub text: Arc<Source>,
    /// Where operations stand in it.
    op_lines: HashMap<(FuncId, OpId), u32>,
    /// Work of an instruction: lanes, about.
    pub costs: Vec<u32>,
    /// Values by function, id and call.
    index: HashMap<(FuncId, ValueId, usize), u32>,
    /// Operations in the region of a reduce, scan or map, and that one.
    folds: HashMap<(FuncId, OpId), OpId>,
    /// Slots that have their value from the start.
    presets: HashSet<Slot>,
    /// Of tiles that were loaded, the mask.
    masks: HashMap<ValueKey, ValueKey>,
    /// What is passed to helpers that are inlined: by function, call and name of the parameter.
    pub(crate) passed: Passed,
}

/// Which call a value belongs to; 0 for the kernel itself.
fn call_id(calls: &Arc<[LocId]>) -> usize {
    match calls.is_empty() {
        true => 0,
        false => calls.as_ptr() as usize,
    }
}

/// The operations in regions that run lane by lane, with the operation whose region it is.
fn folds(module: &Module) -> HashMap<(FuncId, OpId), OpId> {
    let mut folds = HashMap::new();
    for (func, function) in module.funcs.iter() {
        for (fold, data) in function.ops.iter() {
            if !matches!(data.code, OpCode::Reduce | OpCode::Scan | OpCode::MapElementwise) {
                continue;
            }
            let blocks = data
                .regions
                .iter()
                .flat_map(|&region| &function.regions[region].blocks);
            for &op in blocks.flat_map(|&block| &function.blocks[block].ops) {
                folds.insert((func, op), fold);
            }
        }
    }
    folds
}

/// The masks of loads.
fn masks(
    module: &Module,
    stepping: &Stepping,
    index: &HashMap<(FuncId, ValueId, usize), u32>,
) -> HashMap<ValueKey, ValueKey> {
    let mut masks: HashMap<ValueKey, ValueKey> = HashMap::new();
    for (number, placed) in stepping.values.iter().enumerate() {
        let function = &module.funcs[placed.func];
        let tilescope_ir::Def::Result(op, _) = function.values[placed.value].def else {
            continue;
        };
        let data = &function.ops[op];
        let key = |value: Option<&ValueId>| {
            let found = index.get(&(placed.func, *value?, call_id(&placed.calls)))?;
            Some(ValueKey(*found))
        };
        // A conversion of what was loaded has the lanes of the load.
        let mask = match (data.code, data.code.info().family) {
            (OpCode::Load, _) => key(data.operands.get(1)),
            (_, Family::Cast) => key(data.operands.first()).and_then(|operand| masks.get(&operand).copied()),
            _ => None,
        };
        if let Some(mask) = mask {
            masks.insert(ValueKey(number as u32), mask);
        }
    }
    masks
}

impl Code {
    pub fn new(module: Arc<VerifiedModule>, kernel: FuncId, stepping: Stepping) -> Code {
        let mut files = Vec::new();
        let stacks = stacks(&module, &stepping, &mut files);
        let mut lines: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (position, inst) in stepping.tape.code.insts.iter().enumerate() {
            let origin = stepping.tape.origins.get(inst.at.0 as usize);
            let own = origin.is_some_and(|origin| is_code(&module, origin));
            // A line that only calls a helper is reached where the helper is entered.
            let stack = stacks.get(position).filter(|_| own);
            for &line in stack.into_iter().flat_map(|stack| stack.iter()) {
                lines.entry(line).or_default().push(position as u32);
            }
        }
        let named = named(&module, &stepping, &mut files);
        let mut by_name: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
        let mut by_text: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
        for (index, (value, placed)) in named.iter().zip(&stepping.values).enumerate() {
            if let (Some(name), false) = (&value.name, value.is_part) {
                by_name.entry(name.clone()).or_default().push(index as u32);
            }
            if let Some(name) = &module.funcs[placed.func].values[placed.value].name {
                by_text.entry(name.clone()).or_default().push(index as u32);
            }
        }
        let values = stepping.values.iter().enumerate();
        let index = values
            .map(|(i, v)| ((v.func, v.value, call_id(&v.calls)), i as u32))
            .collect();
        let masks = masks(&module, &stepping, &index);
        let presets = stepping.tape.presets.iter().map(|preset| preset.slot).collect();
        let folds = folds(&module);
        let (text, op_lines) = text(&module);
        let mut passed = Passed::new();
        for (func, function) in module.funcs.iter() {
            for entry in &function.passed {
                let call = passed.entry((func, entry.call)).or_default();
                call.push((entry.name.clone(), entry.value));
            }
        }
        let costs = stepping.tape.code.insts.iter();
        let costs = costs
            .map(|inst| cost(&module, &stepping, inst.at, inst.lanes))
            .collect();
        Code {
            module,
            kernel,
            stepping,
            files,
            stacks,
            named,
            by_name,
            by_text,
            lines,
            text,
            op_lines,
            costs,
            index,
            folds,
            presets,
            masks,
            passed,
        }
    }

    /// The kernel's function.
    pub fn function(&self) -> &Function {
        &self.module.funcs[self.kernel]
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.stepping.tape.code.insts.len()
    }

    /// Where an instruction comes from.
    pub fn origin(&self, position: u32) -> Option<&Origin> {
        let inst = self.stepping.tape.code.insts.get(position as usize)?;
        self.stepping.tape.origins.get(inst.at.0 as usize)
    }

    /// Where the operation that an instruction counts as a part of comes from.
    pub fn placed_origin(&self, position: u32) -> Option<&Origin> {
        let mut before = (0..=position).rev().filter_map(|position| self.origin(position));
        before.find(|origin| is_code(&self.module, origin))
    }

    /// The attribution of an instruction.
    pub fn at(&self, position: u32) -> Option<At> {
        Some(self.stepping.tape.code.insts.get(position as usize)?.at)
    }

    /// The operation of an instruction.
    pub fn op(&self, position: u32) -> Option<(FuncId, OpId, &Op)> {
        let origin = self.origin(position)?;
        let What::Op(op) = origin.what else { return None };
        let op = self.folds.get(&(origin.func, op)).copied().unwrap_or(op);
        Some((origin.func, op, &self.module.funcs[origin.func].ops[op]))
    }

    /// The place of an instruction, of those around it if it has none.
    pub fn location(&self, position: u32) -> Option<Location> {
        let origin = self.origin(position)?;
        let own = place(&self.module, origin)?;
        // A place in the text is only good where all are.
        let (file, line) = self.line(position)?;
        if is_code(&self.module, origin)
            && own.frame.line == line
            && *own.frame.file == *self.files[file as usize]
        {
            return Some(own);
        }
        Some(Location {
            frame: Frame {
                file: self.files[file as usize].to_string(),
                line,
                column: 0,
                function: None,
            },
            inlined_at: Vec::new(),
        })
    }

    /// The place of an attribution.
    pub fn location_at(&self, at: At) -> Option<Location> {
        place(&self.module, self.stepping.tape.origins.get(at.0 as usize)?)
    }

    /// File and line of an instruction.
    pub fn line(&self, position: u32) -> Option<(u32, u32)> {
        self.stack(position)?.last().copied()
    }

    /// Lines of an instruction and of the calls that led to it, outermost first.
    pub fn stack(&self, position: u32) -> Option<&Stack> {
        self.stacks.get(position as usize)
    }

    /// Helpers that an instruction is in.
    pub fn depth(&self, position: u32) -> u32 {
        self.stack(position)
            .map_or(0, |stack| stack.len().saturating_sub(1) as u32)
    }

    /// True if `line`, which `position` is executed for, begins there.
    pub fn enters_line(&self, line: (u32, u32), last: Option<u32>, back: bool, position: u32) -> bool {
        let Some(stack) = self.stack(position) else {
            return false;
        };
        let Some(level) = stack.iter().position(|&other| other == line) else {
            return false;
        };
        // What is done for a parameter stands on no line yet.
        let before = last.filter(|&last| self.op(last).is_some());
        let Some(before) = before.and_then(|last| self.stack(last)) else {
            return true;
        };
        let goes_round = back && level + 1 == stack.len();
        goes_round || !before.starts_with(&stack[..=level])
    }

    /// True if a new operation begins at `position`.
    pub fn starts_op(&self, last: Option<u32>, back: bool, position: u32) -> bool {
        // What is done for a parameter is no operation.
        self.op(position).is_some() && last.is_none_or(|last| back || self.at(last) != self.at(position))
    }

    /// The file with this name, or whose path ends in it.
    pub fn file(&self, name: &str) -> Option<u32> {
        let exact = self.files.iter().position(|file| **file == *name);
        let ends = |file: &Arc<str>| file.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'));
        exact
            .or_else(|| self.files.iter().position(ends))
            .map(|i| i as u32)
    }

    /// The file of the kernel itself.
    pub fn main_file(&self) -> Option<u32> {
        (0..self.len() as u32).find_map(|position| Some(self.stack(position)?.first()?.0))
    }

    /// The first line with code from `line` on, with its instructions.
    pub fn code_from(&self, file: u32, line: u32) -> Option<(u32, &[u32])> {
        let mut range = self.lines.range((file, line)..=(file, u32::MAX));
        range.next().map(|(&(_, line), positions)| (line, &positions[..]))
    }

    /// Lines with code of a file.
    pub fn code_lines(&self, file: u32) -> impl Iterator<Item = u32> + '_ {
        self.lines
            .range((file, 0)..=(file, u32::MAX))
            .map(|(&(_, line), _)| line)
    }

    /// A value's place on the tape.
    pub fn placed(&self, key: ValueKey) -> Option<&Placed> {
        self.stepping.values.get(key.0 as usize)
    }

    /// A value's type.
    pub fn ty(&self, key: ValueKey) -> Option<Type> {
        let placed = self.placed(key)?;
        Some(self.module.funcs[placed.func].ty(placed.value))
    }

    /// A value's slot, kind and lanes, if it is a number, pointer or tile.
    pub fn slot(&self, key: ValueKey) -> Option<(Slot, Kind, usize)> {
        let placed = self.placed(key)?;
        let ty = self.ty(key)?;
        let &[slot] = &placed.slots[..] else { return None };
        Some((slot, Kind::of(ty.elem()?)?, ty.lanes()))
    }

    /// What a value is called.
    pub fn named(&self, key: ValueKey) -> Option<&Named> {
        self.named.get(key.0 as usize)
    }

    /// All author's names; some may come twice.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let parameters = self.passed.values().flatten().map(|(name, _)| name);
        self.by_name.keys().chain(parameters)
    }

    /// True if a name means something somewhere in the kernel.
    pub fn knows(&self, name: &str) -> bool {
        self.values_named(name).next().is_some() || self.is_parameter_of_helper(name)
    }

    /// True for the name of a parameter of an inlined helper.
    pub fn is_parameter_of_helper(&self, name: &str) -> bool {
        let mut parameters = self.passed.values().flatten();
        parameters.any(|(parameter, _)| **parameter == *name)
    }

    /// The values with this name: the author's, else the text's.
    pub fn values_named(&self, name: &str) -> impl Iterator<Item = ValueKey> + '_ {
        let found = self.by_name.get(name).or_else(|| self.by_text.get(name));
        found.into_iter().flatten().map(|&index| ValueKey(index))
    }

    /// The value that an operand or result is, in the call that an instruction is in.
    pub fn key_of(&self, origin: &Origin, value: ValueId) -> Option<ValueKey> {
        let found = self.index.get(&(origin.func, value, call_id(&origin.calls)));
        found.map(|&index| ValueKey(index))
    }

    /// True for a slot that has its value from the start: of a parameter.
    pub fn is_preset(&self, slot: Slot) -> bool {
        self.presets.contains(&slot)
    }

    /// The mask of the load that made a tile.
    pub fn mask_of(&self, key: ValueKey) -> Option<ValueKey> {
        self.masks.get(&key).copied()
    }

    /// The line of an operation in the kernel's text.
    pub fn op_line(&self, func: FuncId, op: OpId) -> Option<u32> {
        self.op_lines.get(&(func, op)).copied()
    }
}

/// True for an operation that a line is executed for.
fn is_code(module: &Module, origin: &Origin) -> bool {
    match origin.what {
        What::Op(op) => {
            let code = module.funcs[origin.func].ops[op].code;
            // A return stands at the line of its function.
            !matches!(code, OpCode::Constant | OpCode::Poison | OpCode::Return)
        }
        What::Param(_) => false,
    }
}

fn intern(files: &mut Vec<Arc<str>>, file: &str) -> u32 {
    match files.iter().position(|known| **known == *file) {
        Some(index) => index as u32,
        None => {
            files.push(file.into());
            files.len() as u32 - 1
        }
    }
}

/// The lines of an origin, outermost first; empty where unknown.
fn stack(module: &Module, origin: &Origin, files: &mut Vec<Arc<str>>) -> Stack {
    let chain = frames(module, origin);
    let own = chain.iter().rev().filter(|frame| is_own(frame));
    own.map(|frame| (intern(files, &frame.file), frame.line))
        .collect()
}

fn stacks(module: &Module, stepping: &Stepping, files: &mut Vec<Arc<str>>) -> Vec<Stack> {
    let mut known: HashMap<At, Stack> = HashMap::new();
    let mut stacks: Vec<Stack> = Vec::with_capacity(stepping.tape.code.insts.len());
    for inst in &stepping.tape.code.insts {
        let stack = known.entry(inst.at).or_insert_with(|| {
            let origin = stepping.tape.origins.get(inst.at.0 as usize);
            match origin.filter(|origin| is_code(module, origin)) {
                Some(origin) => stack(module, origin, files),
                None => [].into(),
            }
        });
        stacks.push(stack.clone());
    }
    if stacks.iter().all(|stack| stack.is_empty()) {
        return text_stacks(module, stepping, files);
    }
    // The first instructions belong to what follows, others without a place to what is before.
    let first = stacks.iter().find(|stack| !stack.is_empty()).cloned();
    let mut before = first.unwrap_or_else(|| [].into());
    for stack in &mut stacks {
        match stack.is_empty() {
            true => *stack = before.clone(),
            false => before = stack.clone(),
        }
    }
    stacks
}

/// Where no operation has a place, lines are those of the text.
fn text_stacks(module: &Module, stepping: &Stepping, files: &mut Vec<Arc<str>>) -> Vec<Stack> {
    let mut known: HashMap<At, Stack> = HashMap::new();
    let insts = stepping.tape.code.insts.iter();
    let stack = |inst: &tilescope_interpreter::tape::Inst| {
        let stack = known.entry(inst.at).or_insert_with(|| {
            let origin = stepping.tape.origins.get(inst.at.0 as usize);
            let location = origin.and_then(|origin| place(module, origin));
            let line = |l: Location| (intern(files, &l.frame.file), l.frame.line);
            location.map(line).into_iter().collect()
        });
        stack.clone()
    };
    insts.map(stack).collect()
}

fn named(module: &Module, stepping: &Stepping, files: &mut Vec<Arc<str>>) -> Vec<Named> {
    let mut names: HashMap<FuncId, Names> = HashMap::new();
    let mut result = Vec::with_capacity(stepping.values.len());
    for placed in &stepping.values {
        let function = &module.funcs[placed.func];
        let names = names
            .entry(placed.func)
            .or_insert_with(|| Names::of(module, function));
        let found = names.get(placed.value);
        let own = match function.values[placed.value].def {
            tilescope_ir::Def::Result(op, _) => function.ops[op].loc,
            tilescope_ir::Def::Arg(..) => function.values[placed.value].loc,
        };
        // What a call is assigned to belongs where the call is.
        let mut chain = module.locs.frames(found.and_then(|(_, loc)| *loc).unwrap_or(own));
        for &call in &*placed.calls {
            chain.extend(module.locs.frames(call));
        }
        let stack = chain
            .iter()
            .rev()
            .filter(|(file, ..)| !file.contains("triton/language/"));
        result.push(Named {
            name: found.map(|(name, _)| name.clone()),
            stack: stack
                .map(|(file, line, _)| (intern(files, file), *line))
                .collect(),
            is_part: names.is_part(placed.value),
        });
    }
    result
}

/// The kernel's text and the lines of its operations: as it was read, else as it is printed.
fn text(module: &VerifiedModule) -> (Arc<Source>, HashMap<(FuncId, OpId), u32>) {
    if let Some(source) = &module.source {
        let lines = lines_of_ops(module, module, source);
        return (source.clone(), lines);
    }
    let source = Source::new("kernel.ttir", tilescope_ir::text::print(module));
    let lines = match tilescope_ir::text::parse(&source) {
        Ok(read) => lines_of_ops(module, &read, &source),
        Err(_) => HashMap::new(),
    };
    (source, lines)
}

/// Lines of the operations of `module`, by walking it beside the same one as it was read from the text.
fn lines_of_ops(module: &Module, read: &Module, source: &Source) -> HashMap<(FuncId, OpId), u32> {
    let starts: Vec<usize> = source.text.match_indices('\n').map(|(i, _)| i).collect();
    let mut lines = HashMap::new();
    for (func, function) in module.funcs.iter() {
        let Some(other) = read.funcs.get(func) else {
            continue;
        };
        let mut todo = vec![(function.body, other.body)];
        while let Some((ours, theirs)) = todo.pop() {
            let blocks = function.regions[ours]
                .blocks
                .iter()
                .zip(&other.regions[theirs].blocks);
            for (&a, &b) in blocks {
                for (&x, &y) in function.blocks[a].ops.iter().zip(&other.blocks[b].ops) {
                    let offset = other.ops[y].offset as usize;
                    let line = starts.partition_point(|&start| start < offset) as u32 + 1;
                    lines.insert((func, x), line);
                    todo.extend(
                        function.ops[x]
                            .regions
                            .iter()
                            .copied()
                            .zip(other.ops[y].regions.iter().copied()),
                    );
                }
            }
        }
    }
    lines
}

/// About how many lanes an instruction works on.
fn cost(module: &Module, stepping: &Stepping, at: At, lanes: u32) -> u32 {
    const OVERHEAD: u64 = 64;
    let lanes = u64::from(lanes.max(1));
    let origin = stepping.tape.origins.get(at.0 as usize);
    let work = match origin.map(|origin| (origin, origin.what)) {
        Some((origin, What::Op(op))) => {
            let function = &module.funcs[origin.func];
            let data = &function.ops[op];
            let widest = data
                .operands
                .iter()
                .map(|&v| function.ty(v).lanes() as u64)
                .max()
                .unwrap_or(1);
            match data.code {
                OpCode::Dot => {
                    let inner = data.operands.first().and_then(|&a| function.ty(a).shape());
                    let inner = inner.and_then(|shape| shape.dims().next_back()).unwrap_or(1) as u64;
                    lanes.saturating_mul(inner) / 4
                }
                _ => lanes.max(widest),
            }
        }
        _ => lanes,
    };
    u32::try_from(work.saturating_add(OVERHEAD)).unwrap_or(u32::MAX)
}
