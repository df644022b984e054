//! Programs stepped instruction by instruction, for the debugger.
//!
//! [`Stepping`] is a kernel lowered so that every value keeps a slot of its own and nothing is fused or taken
//! over: what an operation gave can be looked at until it runs again. [`Program`] is the state of one program
//! between two instructions, plain data that can be cloned (a snapshot), kept and resumed. A [`Walker`] runs
//! one on a context. What a slot holds is read lane by lane with [`Values::lane`], whatever its form.
//!
//! Left out: values in the region of a reduce, scan or map, whose lanes are of no single element.

use crate::Options;
use crate::exact::Exact;
use crate::frame::{Form, Frame, Provenance, Slot, Tensor};
use crate::kind::Kind;
use crate::lower;
use crate::machine::{Advance, Context, Machine, Stop};
use crate::plan::plan;
use crate::print;
use crate::reread::Reread;
use crate::schedule;
use crate::sink::Sink;
use crate::steps::atomic;
use crate::taint::{Births, Taint};
use crate::tape::Tape;
use std::sync::Arc;
use tilescope_diagnostics::Result;
use tilescope_ir::{FuncId, LocId, Module, ValueId};
use tilescope_launch::Launch;

/// A value of a function, or of one inlined call of it, and its slots.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The function.
    pub func: FuncId,
    /// The value.
    pub value: ValueId,
    /// Calls that led here, innermost first: the same `Arc` for all values of one call.
    pub calls: Arc<[LocId]>,
    /// Its slots: one, but for descriptors and block pointers.
    pub slots: Vec<Slot>,
    /// Instructions on the tape when it was defined.
    pub position: u32,
}

/// A kernel lowered for stepping.
#[derive(Debug)]
pub struct Stepping {
    /// The instructions.
    pub tape: Tape,
    /// Where values are, in the order of the tape.
    pub values: Vec<Placed>,
}

impl Stepping {
    /// Lowers a kernel for a launch.
    ///
    /// # Errors
    /// Unsupported operations, by name and place.
    pub fn new(module: &Module, kernel: FuncId, launch: &Launch, options: Options) -> Result<Stepping> {
        let mut lowered = lower::lower_noting(module, kernel, launch, options, true)?;
        let values = std::mem::take(&mut lowered.values);
        Ok(Stepping {
            tape: plan(lowered, false),
            values,
        })
    }
}

/// One program between two instructions.
#[derive(Debug, Clone)]
pub struct Program {
    /// Linear program number.
    pub linear: u64,
    /// The instruction to be executed next.
    pub position: u32,
    /// One past the furthest instruction executed.
    pub reached: u32,
    /// Instructions executed, those nested in others not counted.
    pub ticks: u64,
    /// Nothing is left to execute.
    pub ended: bool,
    /// The instruction executed last.
    pub last: Option<u32>,
    /// It jumped back: a loop goes round.
    pub went_back: bool,
    /// What was found so far in this program.
    pub sink: Sink,
    steps: u64,
    synced: bool,
    frame: Frame,
    taint: Taint,
    exact: Exact,
    reread: Reread,
    /// Per slot, the number of ticks after the instruction that wrote it last; 0 if none has.
    written: Vec<u64>,
}

impl Program {
    /// A program before its first instruction.
    pub fn new(context: &Context<'_>, linear: u64) -> Program {
        let mut walker = Walker::new(context);
        walker.machine.start(linear);
        walker.unload()
    }

    /// Bytes of its values.
    pub fn bytes(&self) -> usize {
        self.frame.bytes() + self.written.len() * 8
    }

    /// Its values, to read.
    pub fn values(&self) -> Values<'_> {
        Values {
            frame: &self.frame,
            taint: &self.taint,
            written: &self.written,
            reached: self.reached,
        }
    }
}

/// The values of a program, to read.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    frame: &'a Frame,
    taint: &'a Taint,
    written: &'a [u64],
    reached: u32,
}

/// The bits of one lane of a slot, whatever its form.
pub fn lane_of(frame: &Frame, slot: Slot, kind: Kind, lanes: usize, lane: usize) -> u64 {
    let low = |value: i64| match kind.bytes() {
        8 => value as u64,
        bytes => value as u64 & ((1 << (8 * bytes)) - 1),
    };
    match frame.form(slot) {
        Form::Uniform(bits) => bits,
        Form::Dense => print::bits(frame, slot, kind, lanes, lane),
        Form::Sum(sum, _) => low(sum.at(lane, frame.vector(slot))),
        Form::Box(mask) => {
            let (row, column) = (lane as u32 / mask.len.max(1), lane as u32 % mask.len.max(1));
            let rows = mask.first..mask.last;
            u64::from(rows.contains(&row) && (mask.lo..mask.hi).contains(&column))
        }
        Form::Ragged { .. } => {
            let (len, intervals) = frame.intervals(slot);
            let (row, column) = (lane / len.max(1) as usize, lane as u32 % len.max(1));
            u64::from(
                intervals
                    .get(row)
                    .is_some_and(|&[lo, hi]| (lo..hi).contains(&column)),
            )
        }
    }
}

impl<'a> Values<'a> {
    /// One past the furthest instruction that the program has executed.
    pub fn reached(&self) -> u32 {
        self.reached
    }

    /// When a slot was written last: ticks after the instruction; 0 if it was not.
    pub fn written(&self, slot: Slot) -> u64 {
        self.written.get(slot.0 as usize).copied().unwrap_or(0)
    }

    /// The bits of one lane of a slot.
    pub fn lane(&self, slot: Slot, kind: Kind, lanes: usize, lane: usize) -> u64 {
        lane_of(self.frame, slot, kind, lanes, lane)
    }

    /// True if all lanes of a slot are known to be equal.
    pub fn is_uniform(&self, slot: Slot) -> bool {
        self.frame.uniform(slot).is_some()
    }

    /// The tensor (index plus one; 0 for none) that a lane of a slot of pointers derives from.
    pub fn tensor(&self, slot: Slot, lane: usize) -> Tensor {
        self.frame.provenance(slot).lane(lane)
    }

    /// The one tensor that all lanes of a slot of pointers derive from.
    pub fn only_tensor(&self, slot: Slot) -> Option<Tensor> {
        match self.frame.provenance(slot) {
            Provenance::Uniform(tensor) => Some(*tensor),
            Provenance::Dense(_) => None,
        }
    }

    /// True if the lane holds no meaning, as the result of a division by zero.
    pub fn is_undefined(&self, slot: Slot, lane: usize) -> bool {
        self.taint.get(slot).is_some_and(|births| births.lane(lane) != 0)
    }

    /// True if a lane of the slot may be undefined.
    pub fn has_undefined(&self, slot: Slot) -> bool {
        self.taint.get(slot).is_some_and(|births| match births {
            Births::Uniform(birth) => *birth != 0,
            Births::Dense(_) => true,
        })
    }
}

/// How one instruction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stepped {
    /// Others may follow; `yields` if the program may wait for others.
    On {
        /// It went round a loop that synchronises.
        yields: bool,
    },
    /// The program has ended.
    Ended,
    /// The program was stopped: it went over a limit, or the launch was interrupted.
    Stopped(Stop),
}

/// Runs programs, one at a time.
#[derive(Debug)]
pub struct Walker<'r> {
    machine: Machine<'r>,
    position: u32,
    reached: u32,
    ticks: u64,
    ended: bool,
    last: Option<u32>,
    went_back: bool,
    written: Vec<u64>,
}

impl<'r> Walker<'r> {
    /// A walker without a program.
    pub fn new(context: &'r Context<'r>) -> Walker<'r> {
        Walker {
            machine: Machine::new(context),
            position: 0,
            reached: 0,
            ticks: 0,
            ended: context.tape.code.insts.is_empty(),
            last: None,
            went_back: false,
            written: vec![0; context.tape.slots as usize],
        }
    }

    /// Takes a program up.
    pub fn load(&mut self, program: Program) {
        let sink = program.sink;
        self.machine.start(program.linear);
        self.machine.frame = program.frame;
        self.machine.taint = program.taint;
        self.machine.exact = program.exact;
        self.machine.reread = program.reread;
        self.machine.sink = sink;
        self.machine.steps = program.steps;
        self.machine.synced = program.synced;
        self.position = program.position;
        self.reached = program.reached;
        self.ticks = program.ticks;
        self.ended = program.ended;
        self.last = program.last;
        self.went_back = program.went_back;
        self.written = program.written;
    }

    /// Lays the program down.
    pub fn unload(self) -> Program {
        Program {
            linear: self.machine.linear,
            position: self.position,
            reached: self.reached,
            ticks: self.ticks,
            ended: self.ended,
            last: self.last,
            went_back: self.went_back,
            steps: self.machine.steps,
            synced: self.machine.synced,
            frame: self.machine.frame,
            taint: self.machine.taint,
            exact: self.machine.exact,
            reread: self.machine.reread,
            sink: self.machine.sink,
            written: self.written,
        }
    }

    /// The program's values, to read.
    pub fn values(&self) -> Values<'_> {
        Values {
            frame: &self.machine.frame,
            taint: &self.machine.taint,
            written: &self.written,
            reached: self.reached,
        }
    }

    /// A copy of the program as it is.
    pub fn snapshot(&self) -> Program {
        Program {
            linear: self.machine.linear,
            position: self.position,
            reached: self.reached,
            ticks: self.ticks,
            ended: self.ended,
            last: self.last,
            went_back: self.went_back,
            steps: self.machine.steps,
            synced: self.machine.synced,
            frame: self.machine.frame.clone(),
            taint: self.machine.taint.clone(),
            exact: self.machine.exact.clone(),
            reread: self.machine.reread.clone(),
            sink: self.machine.sink.clone(),
            written: self.written.clone(),
        }
    }

    /// The instruction to be executed next.
    pub fn position(&self) -> u32 {
        self.position
    }

    /// Instructions executed.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// True if nothing is left to execute.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// What was found so far in this program.
    pub fn sink(&self) -> &Sink {
        &self.machine.sink
    }

    /// Linear number of the program.
    pub fn linear(&self) -> u64 {
        self.machine.linear
    }

    /// The instruction executed last.
    pub fn last(&self) -> Option<u32> {
        self.last
    }

    /// True if it jumped back.
    pub fn went_back(&self) -> bool {
        self.went_back
    }

    /// Executes one instruction. The launch must not be interrupted by its flag: that would end the program.
    pub fn step(&mut self) -> Stepped {
        if self.ended {
            return Stepped::Ended;
        }
        let position = self.position;
        let advance = match self.machine.advance(position) {
            Ok(advance) => advance,
            Err(stop) => {
                if let Stop::StepLimit(at) = stop {
                    schedule::step_limit(&mut self.machine, at);
                }
                self.ended = true;
                return Stepped::Stopped(stop);
            }
        };
        // Updates that a run would gather or write down are seen at once here.
        atomic::flush(&mut self.machine);
        let log = std::mem::take(&mut self.machine.log);
        log.apply(&self.machine.context.memory, u64::MAX);
        self.ticks += 1;
        self.last = Some(position);
        self.went_back = matches!(advance, Advance::Back { .. });
        self.reached = self.reached.max(position + 1);
        if let Some(inst) = self.machine.context.tape.code.insts.get(position as usize) {
            for slot in &inst.outs {
                if let Some(written) = self.written.get_mut(slot.0 as usize) {
                    *written = self.ticks;
                }
            }
        }
        match advance {
            Advance::Next(next) => self.position = next,
            Advance::Back { to, yields } => {
                self.position = to;
                return Stepped::On { yields };
            }
            Advance::Done => self.ended = true,
        }
        if self.position as usize >= self.machine.context.tape.code.insts.len() {
            self.ended = true;
        }
        if self.ended {
            Stepped::Ended
        } else {
            Stepped::On { yields: false }
        }
    }
}
