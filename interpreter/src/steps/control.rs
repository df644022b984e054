//! The grid, control flow, calls, asserts, prints and barriers.

use crate::exact;
use crate::frame::{Slot, sign_extend};
use crate::kind::{Bool, Kind};
use crate::lanes::Signless;
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::optimise::formula::Rule;
use crate::sink::{Detail, Key};
use crate::taint::{self, Use};
use crate::tape::{Inst, Label, Step};
use tilescope_diagnostics::{Check, Result};
use tilescope_ir::attrs::Axis;
use tilescope_ir::{Attrs, Function, OpId};

/// `tt.get_program_id` or, if `size`, `tt.get_num_programs`.
#[derive(Debug)]
struct Grid {
    axis: usize,
    size: bool,
}

impl Step for Grid {
    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        self.size
    }

    fn rule(&self) -> Option<Rule<'_>> {
        Some(match self.size {
            true => Rule::Programs(self.axis),
            false => Rule::Program(self.axis),
        })
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let bits = match self.size {
            true => machine.context.grid[self.axis],
            false => u64::from(machine.program[self.axis]),
        };
        machine.frame.set_uniform(inst.outs[0], bits);
        Ok(Flow::Next)
    }
}

fn grid(lower: &mut Lower<'_>, function: &Function, op: OpId, size: bool) -> Result<()> {
    let axis = match function.ops[op].attrs {
        Attrs::Grid(Axis::X) => 0,
        Attrs::Grid(Axis::Y) => 1,
        Attrs::Grid(Axis::Z) => 2,
        _ => return Err(lower.unsupported(function, op, "a program id without axis")),
    };
    let out = lower.result(function, op)?;
    lower.emit(Grid { axis, size }, vec![], vec![out], 1);
    Ok(())
}

/// `tt.get_program_id`.
pub fn program_id(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    grid(lower, function, op, false)
}

/// `tt.get_num_programs`.
pub fn num_programs(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    grid(lower, function, op, true)
}

/// Operand i becomes result i; where the operand is not read again, by exchange.
#[derive(Debug)]
pub struct Move {
    /// Bytes of each value when dense; in the region of a reduce, of one lane.
    pub bytes: Vec<u32>,
}

impl Step for Move {
    fn rule(&self) -> Option<Rule<'_>> {
        Some(Rule::Move)
    }

    fn keep_pairs(&mut self, used: &[bool]) {
        let mut used = used.iter();
        self.bytes.retain(|_| used.next().is_some_and(|&used| used));
    }

    fn may_give_forms(&self) -> bool {
        true
    }

    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let lanes = inst.lanes(machine);
        for (i, (&from, &to)) in inst.ins.iter().zip(&inst.outs).enumerate() {
            if inst.kills(i) {
                machine.frame.swap(from, to);
            } else {
                machine.frame.copy_form(from, to, self.bytes[i] as usize * lanes);
            }
        }
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        for (i, (&from, &to)) in inst.ins.iter().zip(&inst.outs).enumerate() {
            let births = machine.taint.get(from).cloned();
            machine.taint.set(to, births);
            if inst.kills(i) {
                machine.taint.set(from, None);
            }
        }
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        exact::copied(inst, machine, |i| inst.kills(i));
    }
}

/// An unconditional jump.
#[derive(Debug)]
struct Jump {
    to: Label,
}

impl Step for Jump {
    fn run(&self, _: &Inst, _: &mut Machine<'_>) -> Result<Flow, Stop> {
        Ok(Flow::Jump(self.to))
    }

    fn jumps(&self) -> bool {
        true
    }
}

/// Jumps if its operand is false.
#[derive(Debug)]
struct Unless {
    to: Label,
}

impl Step for Unless {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        Ok(if machine.is_true(inst.ins[0]) {
            Flow::Next
        } else {
            Flow::Jump(self.to)
        })
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        taint::use_lanes(machine, inst.ins[0], 1, Use::Condition, |_, _| true);
    }

    fn jumps(&self) -> bool {
        true
    }
}

/// Begins a counted loop: jumps past it unless counter < bound.
#[derive(Debug)]
struct Enter {
    order: Order,
    past: Label,
}

/// Goes on in a counted loop: counter += step, jumps back if it is below the bound.
#[derive(Debug)]
struct Again {
    order: Order,
    body: Label,
}

/// How counters compare.
#[derive(Debug, Clone, Copy)]
struct Order {
    /// 64 bits, not 32.
    wide: bool,
    unsigned: bool,
}

impl Order {
    fn is_below(self, machine: &Machine<'_>, a: Slot, b: Slot) -> bool {
        fn compare<T: Signless>(machine: &Machine<'_>, unsigned: bool, a: Slot, b: Slot) -> bool {
            let (a, b) = (machine.scalar::<T>(a), machine.scalar::<T>(b));
            match unsigned {
                true => a.less_unsigned(b),
                false => a.less_signed(b),
            }
        }
        match self.wide {
            true => compare::<u64>(machine, self.unsigned, a, b),
            false => compare::<u32>(machine, self.unsigned, a, b),
        }
    }
}

/// A jump of a counted loop.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// Where it goes.
    pub label: Label,
    order: Order,
}

impl Counted {
    /// True if the loop with these bits goes round exactly once.
    pub fn goes_once(&self, start: u64, step: u64, bound: u64) -> bool {
        let bytes = if self.order.wide { 8 } else { 4 };
        let is_below = |a: u64, b: u64| match self.order.unsigned {
            true => a << (64 - 8 * bytes) < b << (64 - 8 * bytes),
            false => sign_extend(a, bytes) < sign_extend(b, bytes),
        };
        is_below(start, bound) && !is_below(start.wrapping_add(step), bound)
    }

    /// The step of the loop with these bits, and how often more it goes round: where its counter goes up and signs count, else
    /// not at all.
    pub fn turns_left(&self, counter: u64, step: u64, bound: u64) -> (i64, u64) {
        let bytes = if self.order.wide { 8 } else { 4 };
        let [counter, step, bound] = [counter, step, bound].map(|bits| i128::from(sign_extend(bits, bytes)));
        match step > 0 && counter < bound && !self.order.unsigned {
            true => (step as i64, ((bound - 1 - counter) / step) as u64),
            false => (0, 0),
        }
    }

    /// The counter after so many turns.
    pub fn after(&self, counter: u64, step: u64, turns: u64) -> u64 {
        let next = counter.wrapping_add(step.wrapping_mul(turns));
        match self.order.wide {
            true => next,
            false => u64::from(next as u32),
        }
    }
}

impl Step for Enter {
    fn counted(&self) -> Option<Counted> {
        let (label, order) = (self.past, self.order);
        Some(Counted { label, order })
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let enters = self.order.is_below(machine, inst.ins[0], inst.ins[1]);
        Ok(if enters { Flow::Next } else { Flow::Jump(self.past) })
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        for &slot in &inst.ins {
            taint::use_lanes(machine, slot, 1, Use::Condition, |_, _| true);
        }
    }

    fn jumps(&self) -> bool {
        true
    }
}

impl Step for Again {
    fn counted(&self) -> Option<Counted> {
        let (label, order) = (self.body, self.order);
        Some(Counted { label, order })
    }

    fn rule(&self) -> Option<Rule<'_>> {
        (!self.order.unsigned).then_some(Rule::Again)
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let [counter, step, bound] = [inst.ins[0], inst.ins[1], inst.ins[2]];
        let next = match self.order.wide {
            true => machine
                .scalar::<u64>(counter)
                .wrapping_add(machine.scalar::<u64>(step)),
            false => u64::from(
                machine
                    .scalar::<u32>(counter)
                    .wrapping_add(machine.scalar::<u32>(step)),
            ),
        };
        machine.frame.set_uniform(counter, next);
        let again = self.order.is_below(machine, counter, bound);
        Ok(if again { Flow::Jump(self.body) } else { Flow::Next })
    }

    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}

    fn jumps(&self) -> bool {
        true
    }
}

/// Ends the program.
#[derive(Debug)]
struct End;

impl Step for End {
    fn ends(&self) -> bool {
        true
    }

    fn run(&self, _: &Inst, _: &mut Machine<'_>) -> Result<Flow, Stop> {
        Ok(Flow::Done)
    }

    fn jumps(&self) -> bool {
        true
    }
}

/// Goes to a label.
pub fn jump(lower: &mut Lower<'_>, to: Label) {
    lower.emit(Jump { to }, vec![], vec![], 1);
    lower.jumps_to(to);
}

fn unless(lower: &mut Lower<'_>, condition: Slot, to: Label) {
    lower.emit(Unless { to }, vec![condition], vec![], 1);
    lower.jumps_to(to);
}

/// All slots of some values, one after the other.
fn flat(lower: &Lower<'_>, values: &[tilescope_ir::ValueId]) -> Vec<Slot> {
    values
        .iter()
        .flat_map(|&v| lower.slots(v).iter().copied())
        .collect()
}

/// New slots for some values, one after the other.
fn define_all(
    lower: &mut Lower<'_>,
    function: &Function,
    values: &[tilescope_ir::ValueId],
) -> Result<Vec<Slot>> {
    let mut slots = Vec::new();
    for &value in values {
        slots.extend(lower.define(function, value)?);
    }
    Ok(slots)
}

/// `tt.call`: inlined.
pub fn call(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let callee = match &function.ops[op].attrs {
        Attrs::Callee(name) => lower.find(name),
        _ => None,
    };
    match callee {
        Some(callee) => lower.inline(function, op, callee),
        None => Err(lower.unsupported(function, op, "a call of a function that is not in the module")),
    }
}

/// `tt.return`.
pub fn return_(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    match lower.after() {
        None => lower.emit(End, vec![], vec![], 1),
        Some((after, results)) => {
            let values = flat(lower, &function.ops[op].operands);
            lower.moves(&values, &results);
            jump(lower, after);
        }
    }
    Ok(())
}

/// `scf.for`: lower bound, upper bound, step, then the initial carried values.
pub fn for_(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Some((block, body, last)) = lower.region(function, op, 0) else {
        return Err(lower.unsupported(function, op, "a loop without body"));
    };
    let at = lower.place_of();
    let [start, bound, step] = [data.operands[0], data.operands[1], data.operands[2]].map(|v| lower.slot(v));
    let wide = match lower.kind(function, data.operands[0]) {
        Kind::I32 => false,
        Kind::I64 => true,
        _ => {
            let ty = function.ty(data.operands[0]);
            return Err(lower.unsupported(function, op, format!("a loop counter of type {ty} is not run")));
        }
    };
    let order = Order {
        wide,
        unsigned: data.attrs == Attrs::For { unsigned: true },
    };
    let args = &function.blocks[block].args;
    let initial = flat(lower, &data.operands[3..]);
    let counter = lower.define(function, args[0])?;
    let carried = define_all(lower, function, &args[1..])?;
    lower.moves(&[start], &counter);
    lower.moves(&initial, &carried);
    let (again, past) = (lower.label(), lower.label());
    lower.emit(Enter { order, past }, vec![counter[0], bound], vec![], 1);
    lower.jumps_to(past);
    lower.place(again);
    lower.operations(function, body)?;
    lower.attribute(at);
    let yielded = flat(lower, &function.ops[last].operands);
    lower.moves(&yielded, &carried);
    lower.emit(
        Again { order, body: again },
        vec![counter[0], step, bound],
        vec![counter[0]],
        1,
    );
    lower.jumps_to(again);
    lower.place(past);
    let mut rest = &carried[..];
    for &result in &data.results {
        let count = slot_count(function, result);
        let (own, others) = rest.split_at(count.min(rest.len()));
        lower.alias(result, own.to_vec());
        rest = others;
    }
    Ok(())
}

/// Slots that a value takes.
fn slot_count(function: &Function, value: tilescope_ir::ValueId) -> usize {
    match function.ty(value) {
        tilescope_ir::Type::Descriptor { block, .. } => 2 + 2 * block.rank(),
        tilescope_ir::Type::BlockPtr(block, _) => 1 + 3 * block.rank(),
        _ => 1,
    }
}

/// `scf.if`.
pub fn if_(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let condition = lower.slot(data.operands[0]);
    let results = define_all(lower, function, &data.results)?;
    let (otherwise, past) = (lower.label(), lower.label());
    unless(lower, condition, otherwise);
    for (index, label) in [(0, Some(otherwise)), (1, None)] {
        if let Some((_, body, last)) = lower.region(function, op, index) {
            lower.operations(function, body)?;
            let yielded = flat(lower, &function.ops[last].operands);
            lower.moves(&yielded, &results);
        }
        if let Some(label) = label {
            if data.regions.len() > 1 {
                jump(lower, past);
            }
            lower.place(label);
        }
    }
    lower.place(past);
    Ok(())
}

/// `scf.while`: a region that ends in `scf.condition`, and a region for the body.
pub fn while_(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some((before, test, condition)), Some((after, body, last))) =
        (lower.region(function, op, 0), lower.region(function, op, 1))
    else {
        return Err(lower.unsupported(function, op, "a while loop without its regions"));
    };
    let at = lower.place_of();
    let initial = flat(lower, &data.operands);
    let carried = define_all(lower, function, &function.blocks[before].args)?;
    lower.moves(&initial, &carried);
    let (again, past) = (lower.label(), lower.label());
    lower.place(again);
    lower.operations(function, test)?;
    let operands = &function.ops[condition].operands;
    let holds = lower.slot(operands[0]);
    let passed = flat(lower, &operands[1..]);
    // The results and the body's arguments are the same values; the body's slots serve both.
    let inner = define_all(lower, function, &function.blocks[after].args)?;
    lower.moves(&passed, &inner);
    unless(lower, holds, past);
    lower.operations(function, body)?;
    lower.attribute(at);
    let yielded = flat(lower, &function.ops[last].operands);
    lower.moves(&yielded, &carried);
    jump(lower, again);
    lower.place(past);
    let mut rest = &inner[..];
    for &result in &data.results {
        let (own, others) = rest.split_at(slot_count(function, result).min(rest.len()));
        lower.alias(result, own.to_vec());
        rest = others;
    }
    Ok(())
}

/// `scf.yield` where its parent does not take its values itself.
pub fn yield_(_: &mut Lower<'_>, _: &Function, _: OpId) -> Result<()> {
    Ok(())
}

/// `scf.condition` is taken by its `scf.while`.
pub fn condition(_: &mut Lower<'_>, _: &Function, _: OpId) -> Result<()> {
    Ok(())
}

/// Passes values to a block and goes there.
fn branch(lower: &mut Lower<'_>, function: &Function, successor: &tilescope_ir::Successor) {
    let values = flat(lower, &successor.args);
    let args = flat(lower, &function.blocks[successor.block].args);
    lower.moves(&values, &args);
    let label = lower.block_label(successor.block);
    jump(lower, label);
}

/// `cf.br`.
pub fn br(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    if let [target] = &function.ops[op].successors[..] {
        branch(lower, function, target);
    }
    Ok(())
}

/// `cf.cond_br`.
pub fn cond_br(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    if let [then, otherwise] = &data.successors[..] {
        let label = lower.label();
        let condition = lower.slot(data.operands[0]);
        unless(lower, condition, label);
        branch(lower, function, then);
        lower.place(label);
        branch(lower, function, otherwise);
    }
    Ok(())
}

/// `tt.assert`, `cf.assert` and `llvm.intr.assume`: reports false lanes.
#[derive(Debug)]
struct MustHold {
    check: Check,
    /// The check is on; undefined lanes are used here all the same.
    judged: bool,
}

impl Step for MustHold {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if !self.judged {
            return Ok(Flow::Next);
        }
        let lanes = inst.lanes(machine);
        let tile = machine.frame.tile::<Bool>(inst.ins[0], lanes);
        let count = (0..lanes).filter(|&i| tile.lane(i).0 == 0).count();
        if count > 0 {
            let lane = (0..lanes).position(|i| tile.lane(i).0 == 0).unwrap_or(0) as u32;
            let key = Key {
                check: self.check,
                at: machine.at,
                tensor: 0,
            };
            machine
                .sink
                .report(key, count as u64, || Detail::Condition { lane });
        }
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let lanes = inst.lanes(machine);
        taint::use_lanes(machine, inst.ins[0], lanes, Use::Asserted, |_, _| true);
    }
}

fn must_hold(lower: &mut Lower<'_>, function: &Function, op: OpId, check: Check) -> Result<()> {
    let data = &function.ops[op];
    let ins = vec![lower.slot(data.operands[0])];
    let lanes = lower.lanes(function, data.operands[0]);
    let judged = lower.checks(check);
    lower.emit(MustHold { check, judged }, ins, vec![], lanes);
    Ok(())
}

/// `tt.assert`, `cf.assert`.
pub fn assert(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    must_hold(lower, function, op, Check::AssertFailed)
}

/// `llvm.intr.assume`.
pub fn assume(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    must_hold(lower, function, op, Check::AssumeViolated)
}

/// `tt.print`.
#[derive(Debug)]
struct Print {
    prefix: String,
    hex: bool,
    /// Kind, shape and signedness of each operand.
    operands: Vec<(Kind, Vec<usize>, bool)>,
}

impl Step for Print {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let mut text = self.prefix.trim().to_string();
        for (&slot, (kind, shape, signed)) in inst.ins.iter().zip(&self.operands) {
            let tile = crate::print::tile(&machine.frame, slot, *kind, shape, *signed, self.hex);
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&tile);
        }
        machine.sink.print(machine.at, text);
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        for (&slot, (_, shape, _)) in inst.ins.iter().zip(&self.operands) {
            taint::use_lanes(machine, slot, shape.iter().product(), Use::Printed, |_, _| true);
        }
    }
}

/// `tt.print`.
pub fn print(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::Print(attrs) = &data.attrs else {
        return Err(lower.unsupported(function, op, "a print without attributes"));
    };
    let operands = data.operands.iter().enumerate().map(|(i, &v)| {
        let shape = function.ty(v).shape().map_or(Vec::new(), |s| s.dims().collect());
        (
            lower.kind(function, v),
            shape,
            attrs.signed.get(i).copied().unwrap_or(true),
        )
    });
    let step = Print {
        prefix: attrs.prefix.to_string(),
        hex: attrs.hex,
        operands: operands.collect(),
    };
    let ins = lower.operands(data);
    lower.emit(step, ins, vec![], 1);
    Ok(())
}

/// Barriers and grid dependencies: a program is one thread here, and a launch has no other beside it.
pub fn nothing(_: &mut Lower<'_>, _: &Function, _: OpId) -> Result<()> {
    Ok(())
}
