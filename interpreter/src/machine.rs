//! The machine: one program at a time, stepped along the tape.

use crate::access::Memory;
use crate::ahead::Strides;
use crate::exact::Exact;
use crate::frame::{Frame, Provenance, Slot};
use crate::hunt::{self, Hunt};
use crate::initialised::Own;
use crate::kind::Lane;
use crate::ordered::Ordered;
use crate::reread::Reread;
use crate::simd::strip::Scratch;
use crate::sink::Sink;
use crate::steps::atomic::Gathered;
use crate::steps::atomic::logged::Log;
use crate::taint::Taint;
use crate::tape::{At, Code, Inst, Label, Preset, Tape};
use std::sync::Arc;

/// What follows an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The next instruction.
    Next,
    /// The instruction of a label.
    Jump(Label),
    /// The end of the program.
    Done,
}

/// Why a program stops before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It executed more operations than the limit; in which loop.
    StepLimit(At),
    /// The launch was interrupted.
    Interrupted,
}

/// How a program came to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// It ended.
    Done,
    /// It went round a loop that synchronises; others may run before it goes on at this position.
    Yielded(u32),
}

/// What follows one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advance {
    /// The instruction at this position.
    Next(u32),
    /// One further up: a loop goes round; others may run first if it `yields`.
    Back {
        /// The position.
        to: u32,
        /// It synchronises, and may wait for others.
        yields: bool,
    },
    /// The end of the program.
    Done,
}

/// Everything that holds for all programs of a launch.
#[derive(Debug)]
pub struct Context<'r> {
    /// The kernel.
    pub tape: &'r Tape,
    /// Parameters with the addresses of this run.
    pub presets: Vec<Preset>,
    /// Grid.
    pub grid: [u64; 3],
    /// The tensors.
    pub memory: Memory<'r>,
    /// Operations that one program may execute.
    pub max_steps: u64,
    /// Vector instructions of flat loops.
    pub cpu: crate::simd::Cpu,
    /// Programs give way where they spin.
    pub cooperative: bool,
}

impl<'r> Context<'r> {
    /// A context; parameters get the addresses of this memory.
    pub fn new(
        tape: &'r Tape,
        grid: [u64; 3],
        memory: Memory<'r>,
        max_steps: u64,
        cpu: crate::simd::Cpu,
    ) -> Context<'r> {
        let mut presets = tape.presets.clone();
        for preset in &mut presets {
            if let Some(target) = memory.target(preset.tensor) {
                preset.bits = target.origin;
            }
        }
        Context {
            tape,
            presets,
            grid,
            memory,
            max_steps,
            cpu,
            cooperative: tape.order == crate::tape::Order::Cooperative,
        }
    }
}

/// One worker: runs programs one after the other on one frame.
#[derive(Debug)]
pub struct Machine<'r> {
    /// What holds for all programs.
    pub context: &'r Context<'r>,
    /// Values of the program.
    pub frame: Frame,
    /// Program id.
    pub program: [u32; 3],
    /// Linear program number, x + gx (y + gy z).
    pub linear: u64,
    /// Lanes of instructions in the region of a reduce, or of the block of a chain.
    pub batch: usize,
    /// First lane of the block of a chain.
    pub first: usize,
    /// Operations executed by the program.
    pub steps: u64,
    /// An atomic or volatile access was executed since the last jump back.
    pub synced: bool,
    /// Memory may have changed since the program was resumed.
    pub wrote: bool,
    /// The last atomic or volatile access that it may wait by.
    pub synced_at: At,
    /// The first program has begun here.
    began: bool,
    /// The instruction being executed.
    pub at: At,
    /// Updates that memory does not have yet.
    pub gathered: Gathered,
    /// Updates to be applied in program order.
    pub log: Log,
    /// What orders programs, where they synchronise and races are looked for.
    pub ordered: Option<Box<Ordered>>,
    /// Births of NaN and infinities are looked for.
    pub hunt: Option<Arc<Hunt>>,
    /// What was found.
    pub sink: Sink,
    /// Undefined lanes of the program.
    pub taint: Taint,
    /// What wrapped around in the program.
    pub exact: Exact,
    /// What the program stored since its last barrier.
    pub reread: Reread,
    /// What the program wrote of storage that held nothing.
    pub own: Own,
    /// Where loads read last.
    pub strides: Strides,
    /// Room for strips of lanes.
    pub strip: Option<Box<Scratch>>,
}

impl<'r> Machine<'r> {
    /// A machine at no program yet.
    pub fn new(context: &'r Context<'r>) -> Machine<'r> {
        Machine {
            context,
            frame: Frame::new(context.tape.slots as usize),
            program: [0; 3],
            linear: 0,
            batch: 1,
            first: 0,
            steps: 0,
            synced: false,
            wrote: false,
            synced_at: At(0),
            began: false,
            at: At(0),
            gathered: Gathered::default(),
            log: Log::default(),
            hunt: None,
            ordered: (context.cooperative && !context.memory.races.watched.is_empty()).then(Box::default),
            sink: Sink::new(&context.memory),
            taint: Taint::default(),
            exact: Exact::default(),
            reread: Reread::default(),
            own: Own::default(),
            strides: Strides::default(),
            strip: None,
        }
    }

    /// Goes to the start of a program.
    pub fn start(&mut self, linear: u64) {
        self.program = self.place(linear);
        self.linear = linear;
        self.steps = 0;
        self.synced = false;
        self.taint.clear();
        self.exact.begin();
        self.reread.clear();
        self.own.clear();
        self.sink.begin(linear);
        if !self.frame.prepared {
            self.prepare();
        }
        if linear == 0 && !std::mem::replace(&mut self.began, true) {
            self.run_aside(&self.context.tape.first);
        }
    }

    /// Goes on to a later program of the same row of the grid, which begins as this one did, with nothing that goes along
    /// with lanes.
    #[inline]
    pub fn follow(&mut self, by: u64) {
        self.program[0] += by as u32;
        self.linear += by;
        self.sink.begin(self.linear);
    }

    /// The program id of a linear number; without divisions if it follows the last one.
    #[inline]
    fn place(&self, linear: u64) -> [u32; 3] {
        let [gx, gy, _] = self.context.grid;
        let [x, y, z] = self.program;
        if linear == self.linear + 1 && u64::from(x) + 1 < gx {
            return [x + 1, y, z];
        }
        [
            (linear % gx) as u32,
            (linear / gx % gy) as u32,
            (linear / gx / gy) as u32,
        ]
    }

    /// Gives a new frame what is the same in all programs.
    #[cold]
    fn prepare(&mut self) {
        for preset in &self.context.presets {
            self.frame.set_uniform(preset.slot, preset.bits);
            self.frame
                .set_provenance(preset.slot, Provenance::Uniform(preset.tensor));
        }
        self.run_aside(&self.context.tape.prologue);
        self.exact.keep();
        self.frame.prepared = true;
    }

    /// Runs straight code that counts for no program.
    fn run_aside(&mut self, code: &Code) {
        // Without jumps nothing stops it.
        let _ = self.run_nested(code);
        self.steps = 0;
    }

    /// Runs the program from a tape position on until it ends or gives way.
    pub fn resume(&mut self, position: u32) -> Result<Rest, Stop> {
        self.wrote = false;
        let context = self.context;
        let code = &context.tape.code;
        let mut pc = position as usize;
        while let Some(inst) = code.insts.get(pc) {
            self.steps += 1;
            let flow = self.step(inst)?;
            self.taint.rest();
            match flow {
                Flow::Next => pc += 1,
                Flow::Done => break,
                Flow::Jump(label) => {
                    let target = code.labels[label.0 as usize] as usize;
                    if target <= pc {
                        self.taint.collect();
                        if self.turn_back(inst.at)? {
                            return Ok(Rest::Yielded(target as u32));
                        }
                    }
                    pc = target;
                }
            }
        }
        Ok(Rest::Done)
    }

    /// Runs one instruction.
    pub fn advance(&mut self, position: u32) -> Result<Advance, Stop> {
        let code = &self.context.tape.code;
        let Some(inst) = code.insts.get(position as usize) else {
            return Ok(Advance::Done);
        };
        self.steps += 1;
        let flow = self.step(inst)?;
        self.taint.rest();
        Ok(match flow {
            Flow::Next => Advance::Next(position + 1),
            Flow::Done => Advance::Done,
            Flow::Jump(label) => {
                let target = code.labels[label.0 as usize];
                if target > position {
                    return Ok(Advance::Next(target));
                }
                self.taint.collect();
                let yields = self.turn_back(inst.at)?;
                Advance::Back { to: target, yields }
            }
        })
    }

    /// Runs nested code to its end, on `self.batch` lanes.
    pub fn run_nested(&mut self, code: &Code) -> Result<(), Stop> {
        let mut pc = 0;
        while let Some(inst) = code.insts.get(pc) {
            self.steps += 1;
            match self.step(inst)? {
                Flow::Next => pc += 1,
                Flow::Done => break,
                Flow::Jump(label) => {
                    let target = code.labels[label.0 as usize] as usize;
                    if target <= pc {
                        self.turn_back(inst.at)?;
                    }
                    pc = target;
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn step(&mut self, inst: &Inst) -> Result<Flow, Stop> {
        self.at = inst.at;
        if !inst.reads_forms {
            inst.ins.iter().for_each(|&slot| self.frame.flatten(slot));
        }
        let flow = inst.step.run(inst, self)?;
        if self.taint.is_active() {
            inst.ins.iter().for_each(|&slot| self.frame.flatten(slot));
            inst.step.taint(inst, self);
            self.forget_dead(inst);
        }
        if self.hunt.is_some() {
            inst.outs.iter().for_each(|&slot| self.frame.flatten(slot));
            inst.ins.iter().for_each(|&slot| self.frame.flatten(slot));
            hunt::look(self, inst);
        }
        if self.exact.is_active() {
            self.carry_exact(inst);
        }
        Ok(flow)
    }

    /// Carries what integers would be without wrap-around.
    #[cold]
    fn carry_exact(&mut self, inst: &Inst) {
        let slots = inst.ins.iter().chain(&inst.outs);
        slots.for_each(|&slot| self.frame.flatten(slot));
        inst.step.exact(inst, self);
    }

    /// Operands that are not read again hold no undefined lanes.
    #[cold]
    fn forget_dead(&mut self, inst: &Inst) {
        for (i, &slot) in inst.ins.iter().enumerate() {
            if inst.kills(i) && !inst.outs.contains(&slot) {
                self.taint.set(slot, None);
            }
        }
    }

    /// Notes that an instruction reads these bytes, which are neighbours: it may go on by the same distance.
    #[inline]
    pub fn expect(&mut self, at: At, allocation: usize, offset: usize, bytes: usize) {
        let place = (allocation, offset, bytes);
        let shared = &self.context.memory.shared;
        self.strides
            .expect(at.0 as usize, shared, place, &mut self.frame.ahead);
    }

    /// Notes that the current instruction may wait for others.
    #[inline]
    pub fn sync(&mut self) {
        self.synced = true;
        self.synced_at = self.at;
    }

    /// At a jump back: enforces the limits; true if the program gives way here.
    fn turn_back(&mut self, at: At) -> Result<bool, Stop> {
        if self.steps > self.context.max_steps {
            return Err(Stop::StepLimit(at));
        }
        if self.context.memory.interrupted() {
            return Err(Stop::Interrupted);
        }
        let synced = std::mem::take(&mut self.synced);
        Ok(synced && self.context.cooperative)
    }

    /// The bits of a scalar operand.
    #[inline(always)]
    pub fn scalar<T: Lane>(&self, slot: Slot) -> T {
        self.frame.scalar(slot)
    }

    /// A scalar truth value.
    #[inline(always)]
    pub fn is_true(&self, slot: Slot) -> bool {
        self.frame.scalar::<crate::kind::Bool>(slot).0 != 0
    }
}
