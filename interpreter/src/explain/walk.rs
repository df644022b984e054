//! From a lane back to the arguments: the values that it was computed from, in the author's names.
//!
//! Goes breadth first, so that what is nearest to the fault is kept where not all can be. A step is told if its value has
//! a name in the source, or comes from outside (a load, the program's id). What loops carry is followed through their
//! rounds; of a variable's lane only the last value is told.

pub mod trace;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use tilescope_diagnostics::{Chain, Value};
use tilescope_ir::{Def, Family, FuncId, Function, LocId, Module, Op, OpCode, OpId, ValueId};

use tilescope_launch::Launch;

use super::record::{Recorder, Tick, Was, Writer};
use super::sources::{Operands, shape_of, sources, unravel};
use crate::frame::{Slot, Tensor};
use crate::kind::Kind;
use crate::machine::Machine;
use crate::names::Names;
use crate::print;
use crate::report::place;
use crate::stepping::{Placed, Stepping};
use crate::tape::{At, Origin, What};

/// Lanes that are looked at for one explanation.
const MOST_LANES: usize = 4096;

/// A value of the stepping tape, by its number there.
type Number = u32;

/// The kernel as it was lowered for stepping, with what its values are called.
#[derive(Debug)]
pub struct Code<'m> {
    /// The module.
    pub module: &'m Module,
    /// The tape, and where values are.
    pub stepping: &'m Stepping,
    index: HashMap<(FuncId, ValueId, usize), Number>,
    names: HashMap<FuncId, Names>,
    /// The counted loops around each operation, outermost first.
    loops: HashMap<(FuncId, OpId), Vec<OpId>>,
    /// The reduce, scan or map that an operation is in the region of.
    folds: HashMap<(FuncId, OpId), OpId>,
}

/// Which call a value belongs to; 0 for the kernel itself.
fn call_id(calls: &Arc<[LocId]>) -> usize {
    match calls.is_empty() {
        true => 0,
        false => calls.as_ptr() as usize,
    }
}

/// A lane to be told of.
#[derive(Debug, Clone)]
struct Asked {
    value: Number,
    lane: usize,
    before: Tick,
    /// What it is called where it goes, if it has no name itself.
    name: Option<Arc<str>>,
    /// The finding says what it is.
    known: bool,
}

impl Asked {
    fn new(value: Number, lane: usize, before: Tick) -> Asked {
        Asked {
            value,
            lane,
            before,
            name: None,
            known: false,
        }
    }
}

impl<'m> Code<'m> {
    /// Looks names up.
    pub fn new(module: &'m Module, stepping: &'m Stepping) -> Code<'m> {
        let values = stepping.values.iter().enumerate();
        let index = values
            .map(|(i, v)| ((v.func, v.value, call_id(&v.calls)), i as Number))
            .collect();
        let mut names = HashMap::new();
        let (mut loops, mut folds) = (HashMap::new(), HashMap::new());
        for (func, function) in module.funcs.iter() {
            names.insert(func, Names::of(module, function));
            let region = &function.regions[function.body];
            loops_around(func, function, &region.blocks, &[], 0, &mut loops);
            for (fold, data) in function.ops.iter().filter(|(_, data)| is_fold(data.code)) {
                let regions = data.regions.iter();
                let blocks = regions.flat_map(|&region| &function.regions[region].blocks);
                let inner = blocks.flat_map(|&block| &function.blocks[block].ops);
                folds.extend(inner.map(|&op| ((func, op), fold)));
            }
        }
        Code {
            module,
            stepping,
            index,
            names,
            loops,
            folds,
        }
    }

    /// The operation that an instruction is for.
    pub fn op(&self, position: u32) -> Option<(&'m Function, &'m Op, &'m Origin)> {
        let inst = self.stepping.tape.code.insts.get(position as usize)?;
        let origin = self.stepping.tape.origins.get(inst.at.0 as usize)?;
        let What::Op(op) = origin.what else { return None };
        let op = self.folds.get(&(origin.func, op)).copied().unwrap_or(op);
        let function = &self.module.funcs[origin.func];
        Some((function, &function.ops[op], origin))
    }

    pub(super) fn number(&self, origin: &Origin, value: ValueId) -> Option<Number> {
        let key = (origin.func, value, call_id(&origin.calls));
        self.index.get(&key).copied()
    }

    /// A value of the call that another is in.
    fn number_in(&self, placed: &Placed, value: ValueId) -> Option<Number> {
        let key = (placed.func, value, call_id(&placed.calls));
        self.index.get(&key).copied()
    }

    fn placed(&self, value: Number) -> Option<(&'m Function, &'m Placed)> {
        let placed = self.stepping.values.get(value as usize)?;
        Some((&self.module.funcs[placed.func], placed))
    }

    /// A value's slot, kind and lanes, if it is a number, a pointer or a tile.
    pub(super) fn slot(&self, value: Number) -> Option<(Slot, Kind, usize)> {
        let (function, placed) = self.placed(value)?;
        let ty = function.ty(placed.value);
        let &[slot] = &placed.slots[..] else { return None };
        Some((slot, Kind::of(ty.elem()?)?, ty.lanes()))
    }

    /// The author's name of a value; none for a step on the way to it.
    pub(super) fn name(&self, value: Number) -> Option<Arc<str>> {
        let (_, placed) = self.placed(value)?;
        let names = self.names.get(&placed.func)?;
        let (name, _) = names.get(placed.value).filter(|_| !names.is_part(placed.value))?;
        Some(name.clone())
    }

    /// The slot, kind and lanes of an operand of an instruction.
    pub fn operand(&self, position: u32, operand: usize) -> Option<(Slot, Kind, usize)> {
        let (_, op, origin) = self.op(position)?;
        self.slot(self.number(origin, *op.operands.get(operand)?)?)
    }
}

fn is_fold(code: OpCode) -> bool {
    matches!(code, OpCode::Reduce | OpCode::Scan | OpCode::MapElementwise)
}

/// Deepest nesting that is looked into.
const MOST_DEPTH: u32 = 256;

fn loops_around(
    func: FuncId,
    function: &Function,
    blocks: &[tilescope_ir::BlockId],
    around: &[OpId],
    depth: u32,
    loops: &mut HashMap<(FuncId, OpId), Vec<OpId>>,
) {
    if depth > MOST_DEPTH {
        return;
    }
    for &op in blocks.iter().flat_map(|&block| &function.blocks[block].ops) {
        if !around.is_empty() {
            loops.insert((func, op), around.to_vec());
        }
        let data = &function.ops[op];
        let mut inner = around.to_vec();
        inner.extend((data.code == OpCode::For).then_some(op));
        for &region in &data.regions {
            let blocks = &function.regions[region].blocks;
            loops_around(func, function, blocks, &inner, depth + 1, loops);
        }
    }
}

/// One program at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a, 'm, 'r> {
    /// The kernel.
    pub code: &'a Code<'m>,
    /// What its slots held.
    pub recorder: &'a Recorder<'m>,
    /// Its machine.
    pub machine: &'a Machine<'r>,
    /// The launch.
    pub launch: &'a Launch,
}

impl Moment<'_, '_, '_> {
    /// A lane of an operand of an instruction before it was executed.
    pub fn operand(&self, position: u32, now: Tick, operand: usize, lane: usize) -> Option<Was> {
        let (slot, _, lanes) = self.code.operand(position, operand)?;
        let lane = if lanes == 1 { 0 } else { lane };
        self.recorder.lane(&self.machine.frame, slot, lane, now)
    }

    /// The number in a lane of an operand of an instruction before it was executed.
    pub fn operand_value(&self, position: u32, now: Tick, operand: usize, lane: usize) -> Option<Value> {
        let (_, kind, _) = self.code.operand(position, operand)?;
        let was = self.operand(position, now, operand, lane)?;
        Some(print::number(was.bits, kind))
    }

    /// The steps that led to lanes of operands of an instruction that was executed at a moment, `most` of them.
    pub fn chain(&self, position: u32, now: Tick, operands: &[(usize, usize)], most: usize) -> Vec<Chain> {
        let Some((_, op, origin)) = self.code.op(position) else {
            return Vec::new();
        };
        let number = |operand: usize| self.code.number(origin, *op.operands.get(operand)?);
        let ask = |&(operand, lane): &(usize, usize)| Some(Asked::new(number(operand)?, lane, now));
        let mut asked: Vec<Asked> = operands.iter().filter_map(ask).collect();
        asked.extend(self.counters(position, origin, now));
        self.follow(asked, most)
    }

    /// The steps that led to a lane of the result of an operation that was executed before a moment, that one the last.
    pub fn chain_of_result(&self, at: At, before: Tick, lane: usize, most: usize) -> Vec<Chain> {
        let insts = &self.code.stepping.tape.code.insts;
        let Some(position) = insts.iter().rposition(|inst| inst.at == at) else {
            return Vec::new();
        };
        let position = position as u32;
        let Some((_, op, origin)) = self.code.op(position) else {
            return Vec::new();
        };
        let value = op.results.first().and_then(|&v| self.code.number(origin, v));
        let mut asked = Vec::new();
        asked.extend(value.map(|value| Asked {
            known: true,
            ..Asked::new(value, lane, before)
        }));
        asked.extend(self.counters(position, origin, before));
        self.follow(asked, most)
    }

    fn follow(&self, asked: Vec<Asked>, most: usize) -> Vec<Chain> {
        let mut waiting = VecDeque::from(asked);
        let mut told = Told {
            seen: HashSet::new(),
            names: HashSet::new(),
            steps: BTreeSet::new(),
            chains: Vec::new(),
        };
        for _ in 0..MOST_LANES {
            if told.chains.len() >= most {
                break;
            }
            let Some(asked) = waiting.pop_front() else { break };
            waiting.extend(self.step(asked, &mut told));
        }
        let order: Vec<usize> = told.steps.into_iter().map(|(_, index)| index).collect();
        let mut chains: Vec<Option<Chain>> = told.chains.into_iter().map(Some).collect();
        order
            .into_iter()
            .filter_map(|index| chains.get_mut(index)?.take())
            .collect()
    }

    /// The counters of the loops around an instruction.
    fn counters(&self, position: u32, origin: &Origin, now: Tick) -> Vec<Asked> {
        let Some((function, ..)) = self.code.op(position) else {
            return Vec::new();
        };
        let What::Op(op) = origin.what else {
            return Vec::new();
        };
        let loops = self.code.loops.get(&(origin.func, op)).into_iter().flatten();
        let counter = |&around: &OpId| {
            let region = *function.ops[around].regions.first()?;
            let block = *function.regions[region].blocks.first()?;
            let counter = *function.blocks[block].args.first()?;
            Some(Asked::new(self.code.number(origin, counter)?, 0, now))
        };
        loops.filter_map(counter).collect()
    }

    /// Tells of one lane, if there is something to tell; gives the lanes that it comes from.
    fn step(&self, asked: Asked, told: &mut Told) -> Vec<Asked> {
        let code = self.code;
        let Some((function, placed)) = code.placed(asked.value) else {
            return Vec::new();
        };
        let name = code.name(asked.value).or(asked.name);
        let known = asked.known;
        let Some((slot, kind, lanes)) = code.slot(asked.value) else {
            // A descriptor or block pointer: what it was made of.
            return self.parts(function, placed, asked.before);
        };
        let lane = if lanes == 1 { 0 } else { asked.lane };
        let was = self.recorder.lane(&self.machine.frame, slot, lane, asked.before);
        let Some(was) = was.filter(|was| told.seen.insert((asked.value, lane, was.by.tick))) else {
            return Vec::new();
        };
        let value = print::number(was.bits, kind);
        let defined = Defined { function, placed };
        if let Some(same) = defined.renamed().and_then(|v| code.number_in(placed, v))
            && code.slot(same).is_some_and(|(other, ..)| other == slot)
        {
            return vec![Asked {
                value: same,
                lane,
                before: asked.before,
                name,
                known,
            }];
        }
        if was.by.tick == 0 || defined.counts().is_some() {
            let op = match defined.counts() {
                Some(_) => "scf.for",
                None => "argument",
            };
            self.tell(told, was, (op, value, None), (&name, &defined, lane), None);
            return Vec::new();
        }
        let Some((writer, op, origin)) = code.op(was.by.position) else {
            return Vec::new();
        };
        if let Some(from) = self.source_of_move(op, was.by, slot) {
            return vec![Asked {
                value: from,
                lane,
                before: was.by.tick,
                name,
                known,
            }];
        }
        let number = |operand: usize| code.number(origin, *op.operands.get(operand)?);
        let read = |operand: usize, lane: usize| {
            let (slot, kind, lanes) = code.slot(number(operand)?)?;
            let lane = if lanes == 1 { 0 } else { lane };
            let was = self.recorder.lane(&self.machine.frame, slot, lane, was.by.tick)?;
            Some(print::number(was.bits, kind))
        };
        let result = self.result_in(op, origin, slot);
        let undefined = |operand: usize, lane: usize| {
            let births = number(operand).and_then(|number| {
                let (slot, ..) = code.slot(number)?;
                self.machine.taint.get(slot)
            });
            births.is_some_and(|births| births.lane(lane) != 0)
        };
        let operands = Operands {
            read: &read,
            undefined: &undefined,
        };
        let found = sources(
            writer,
            op,
            (result.unwrap_or(placed.value), value),
            lane,
            &operands,
        );
        let note = self.loaded_from(op, was.by, lane).or(found.note);
        let mnemonic = op.code.info().mnemonic;
        // A lane's number in its tile says nothing, and what is constant stands in the source.
        let counts =
            op.code == OpCode::MakeRange && value == Value::Int(lane as i128) || op.code == OpCode::Constant;
        if !known && !counts {
            let by = Some((op, origin));
            self.tell(told, was, (mnemonic, value, note), (&name, &defined, lane), by);
        }
        let lanes = found.lanes.into_iter();
        lanes
            .filter_map(|(operand, lane)| Some(Asked::new(number(operand)?, lane, was.by.tick)))
            .collect()
    }

    /// The result of an operation that lives in a slot.
    fn result_in(&self, op: &Op, origin: &Origin, slot: Slot) -> Option<ValueId> {
        let lives = |&&value: &&ValueId| {
            let number = self.code.number(origin, value);
            let found = number.and_then(|number| self.code.slot(number));
            found.is_some_and(|(own, ..)| own == slot)
        };
        op.results.iter().find(lives).copied()
    }

    fn parts(&self, function: &Function, placed: &Placed, before: Tick) -> Vec<Asked> {
        let Def::Result(op, _) = function.values[placed.value].def else {
            return Vec::new();
        };
        let operands = function.ops[op].operands.iter();
        operands
            .filter_map(|&value| Some(Asked::new(self.code.number_in(placed, value)?, 0, before)))
            .collect()
    }

    /// Adds a step, unless nobody knows the value or it was told.
    fn tell(
        &self,
        told: &mut Told,
        was: Was,
        (op, value, note): (&str, Value, Option<String>),
        (name, defined, lane): (&Option<Arc<str>>, &Defined<'_>, usize),
        by: Option<(&Op, &Origin)>,
    ) {
        let from_outside = by.is_some_and(|(op, _)| {
            matches!(
                op.code,
                OpCode::GetProgramId | OpCode::GetNumPrograms | OpCode::Load
            ) || op.code.info().family == Family::Atomic
        });
        // The addresses of tensors are of no interest, only those that were computed.
        let is_base = by.is_none() && was.tensor != 0;
        if is_base || (name.is_none() && !from_outside) {
            return;
        }
        let shape = shape_of(defined.function, defined.placed.value);
        let label = name.as_ref().map(|name| match shape.is_empty() {
            true => name.to_string(),
            false => format!("{name}{:?}", unravel(lane, &shape)),
        });
        if !told
            .names
            .insert((label.clone(), label.is_none().then_some(was.by.position)))
        {
            return;
        }
        // Where the author named it; else where it was computed.
        let own = defined.origin_of_name();
        let location = own
            .as_ref()
            .filter(|_| name.is_some())
            .or(by.map(|(_, origin)| origin))
            .and_then(|origin| place(self.code.module, origin));
        let points_at = self.points_at(was, defined);
        told.steps.insert((was.by.tick, told.chains.len()));
        told.chains.push(Chain {
            location,
            op: op.to_string(),
            value,
            name: label,
            note: points_at.or(note),
        });
    }

    /// The element that a pointer points at.
    fn points_at(&self, was: Was, defined: &Defined<'_>) -> Option<String> {
        let elem = defined.function.ty(defined.placed.value).elem()?;
        if Kind::of(elem)? != Kind::Ptr {
            return None;
        }
        Some(
            self.pointed(was.bits, was.tensor)
                .unwrap_or_else(|| format!("{:#x}", was.bits)),
        )
    }

    /// The element of a tensor at an address.
    fn pointed(&self, address: u64, tensor: Tensor) -> Option<String> {
        let target = self.machine.context.memory.target(tensor)?;
        self.element(tensor, i128::from(address) - i128::from(target.base))
    }

    /// The element at a byte offset of a tensor's storage.
    pub fn element(&self, tensor: Tensor, offset: i128) -> Option<String> {
        let target = self.machine.context.memory.target(tensor)?;
        let element = target.view.element(offset)?;
        let tensor = self.launch.tensors.get((tensor as usize).checked_sub(1)?)?;
        Some(format!("{}{element:?}", tensor.name))
    }

    /// What a load read.
    fn loaded_from(&self, op: &Op, by: Writer, lane: usize) -> Option<String> {
        if op.code != OpCode::Load && op.code.info().family != Family::Atomic {
            return None;
        }
        let off = self
            .operand(by.position, by.tick, 1, lane)
            .is_some_and(|mask| op.code == OpCode::Load && op.operands.len() > 1 && mask.bits & 1 == 0);
        if off {
            return None;
        }
        let pointer = self.operand(by.position, by.tick, 0, lane)?;
        Some(format!("from {}", self.pointed(pointer.bits, pointer.tensor)?))
    }

    /// Where a move takes what it writes to a slot from, if the instruction is one.
    fn source_of_move(&self, op: &Op, by: Writer, slot: Slot) -> Option<Number> {
        let inst = self.code.stepping.tape.code.insts.get(by.position as usize)?;
        let is_control = op.code.info().family == Family::Control || !op.regions.is_empty();
        if !is_control || is_fold(op.code) || inst.ins.len() != inst.outs.len() {
            return None;
        }
        let index = inst.outs.iter().position(|&out| out == slot)?;
        let from = *inst.ins.get(index)?;
        let values = &self.code.stepping.values;
        let lives = |placed: &Placed| placed.slots == [from];
        Some(values.iter().position(lives)? as Number)
    }
}

/// A value and what defines it.
struct Defined<'a> {
    function: &'a Function,
    placed: &'a Placed,
}

impl Defined<'_> {
    fn op(&self) -> Option<&Op> {
        match self.function.values[self.placed.value].def {
            Def::Result(op, _) => Some(&self.function.ops[op]),
            Def::Arg(..) => None,
        }
    }

    /// The operand of an operation that only renames lanes.
    fn renamed(&self) -> Option<ValueId> {
        let op = self
            .op()
            .filter(|op| op.code.info().family == Family::Shape || op.code.info().family == Family::Cast)?;
        op.operands.first().copied()
    }

    /// The loop that the value is the counter of.
    fn counts(&self) -> Option<OpId> {
        let Def::Arg(block, 0) = self.function.values[self.placed.value].def else {
            return None;
        };
        let holds = |op: &Op| {
            let region = op.regions.first().filter(|_| op.code == OpCode::For);
            region.is_some_and(|&region| self.function.regions[region].blocks.first() == Some(&block))
        };
        self.function
            .ops
            .iter()
            .find(|(_, op)| holds(op))
            .map(|(id, _)| id)
    }

    /// Where the value is defined.
    fn origin_of_name(&self) -> Option<Origin> {
        match self.function.values[self.placed.value].def {
            Def::Result(op, _) => Some(origin(self.placed, What::Op(op))),
            Def::Arg(..) => self.counts().map(|op| origin(self.placed, What::Op(op))),
        }
    }
}

/// The origin of something in the call that a value is in.
fn origin(placed: &Placed, what: What) -> Origin {
    Origin {
        func: placed.func,
        what,
        calls: placed.calls.clone(),
    }
}

/// What was told so far.
struct Told {
    seen: HashSet<(Number, usize, Tick)>,
    names: HashSet<(Option<String>, Option<u32>)>,
    /// By the moment of their operation: index into the chains.
    steps: BTreeSet<(Tick, usize)>,
    chains: Vec<Chain>,
}
