//! What the slots of one program held at any moment of its run, as far as it fits.
//!
//! On the tape for stepping every value keeps its slot, so most of what a program computed is still in its frame when
//! something goes wrong. Only what a loop writes again is copied before, oldest forgotten first.

use std::cell::Cell;
use std::collections::VecDeque;

use crate::frame::{Form, Frame, Provenance, Slot, Tensor};
use crate::kind::Kind;
use crate::machine::{Advance, Machine, Rest, Stop};
use crate::stepping::lane_of;
use crate::steps::atomic;
use crate::tape::{Inst, Tape};

/// Bytes of old values that are kept.
const MOST_BYTES: usize = 64 << 20;

/// A moment of a program: operations executed before the one in question began, plus one; 0 is before all.
pub type Tick = u64;

/// Who wrote a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Writer {
    /// When it was executed; 0 for what the slot had from the start.
    pub tick: Tick,
    /// Its position on the tape.
    pub position: u32,
    /// How often it had been executed before.
    pub nth: u32,
}

#[derive(Debug)]
enum Lanes {
    Uniform(u64),
    Dense(Vec<u64>),
}

/// What a slot held before it was written again.
#[derive(Debug)]
struct Old {
    by: Writer,
    /// When it was written again.
    until: Tick,
    lanes: Lanes,
    provenance: Provenance,
}

impl Old {
    fn bytes(&self) -> usize {
        let dense = match &self.lanes {
            Lanes::Uniform(_) => 0,
            Lanes::Dense(lanes) => 8 * lanes.len(),
        };
        dense + size_of::<Old>()
    }
}

/// One lane of a slot as it was.
#[derive(Debug, Clone, Copy)]
pub struct Was {
    /// Its bits.
    pub bits: u64,
    /// Who wrote it.
    pub by: Writer,
    /// The tensor it points into, plus one.
    pub tensor: Tensor,
    /// When it was written again; the largest number if it was not.
    pub until: Tick,
}

/// Records a program.
#[derive(Debug)]
pub struct Recorder<'t> {
    tape: &'t Tape,
    written: Vec<Writer>,
    /// By position, how often it was executed.
    executed: Vec<u32>,
    old: Vec<VecDeque<Old>>,
    /// Slots of what is in `old`, oldest first.
    order: VecDeque<Slot>,
    bytes: usize,
    /// Slots of which something was forgotten.
    cut: Vec<bool>,
    /// Something was asked for that was forgotten.
    pub missed: Cell<bool>,
    /// Lanes of instructions executed so far.
    pub work: u64,
}

impl<'t> Recorder<'t> {
    /// Nothing recorded.
    pub fn new(tape: &'t Tape) -> Recorder<'t> {
        Recorder {
            tape,
            written: vec![Writer::default(); tape.slots as usize],
            executed: vec![0; tape.code.insts.len()],
            old: (0..tape.slots).map(|_| VecDeque::new()).collect(),
            order: VecDeque::new(),
            bytes: 0,
            cut: vec![false; tape.slots as usize],
            missed: Cell::new(false),
            work: 0,
        }
    }

    fn shape(&self, slot: Slot) -> (Kind, usize) {
        let shape = self.tape.shapes.get(slot.0 as usize);
        shape.map_or((Kind::I64, 1), |&(kind, lanes)| (kind, lanes.max(1) as usize))
    }

    /// Keeps what an instruction is about to write over.
    fn before(&mut self, inst: &Inst, frame: &mut Frame, now: Tick) {
        for &slot in &inst.outs {
            let Some(&by) = self.written.get(slot.0 as usize).filter(|by| by.tick > 0) else {
                continue;
            };
            let (kind, lanes) = self.shape(slot);
            let kept = match frame.form(slot) {
                Form::Uniform(bits) => Lanes::Uniform(bits),
                _ => Lanes::Dense((0..lanes).map(|i| lane_of(frame, slot, kind, lanes, i)).collect()),
            };
            let old = Old {
                by,
                until: now,
                lanes: kept,
                provenance: frame.provenance(slot).clone(),
            };
            self.bytes += old.bytes();
            self.old[slot.0 as usize].push_back(old);
            self.order.push_back(slot);
        }
        while self.bytes > MOST_BYTES
            && let Some(slot) = self.order.pop_front()
        {
            let gone = self.old[slot.0 as usize].pop_front();
            self.bytes -= gone.map_or(0, |old| old.bytes());
            self.cut[slot.0 as usize] = true;
        }
    }

    /// A lane of a slot at a moment: what was written last before `before`. None where that is forgotten, or nothing was.
    pub fn lane(&self, frame: &Frame, slot: Slot, lane: usize, before: Tick) -> Option<Was> {
        let (kind, lanes) = self.shape(slot);
        let by = *self.written.get(slot.0 as usize)?;
        if by.tick < before {
            return Some(Was {
                bits: lane_of(frame, slot, kind, lanes, lane),
                by,
                tensor: frame.provenance(slot).lane(lane),
                until: Tick::MAX,
            });
        }
        let mut kept = self.old.get(slot.0 as usize)?.iter().rev();
        let Some(old) = kept.find(|old| old.by.tick < before && before <= old.until) else {
            let is_cut = self.cut.get(slot.0 as usize).copied().unwrap_or(false);
            self.missed.set(self.missed.get() | is_cut);
            return None;
        };
        let bits = match &old.lanes {
            Lanes::Uniform(bits) => *bits,
            Lanes::Dense(lanes) => *lanes.get(lane)?,
        };
        Some(Was {
            bits,
            by: old.by,
            tensor: old.provenance.lane(lane),
            until: old.until,
        })
    }

    /// Runs a program from a position on until it ends, gives way, or was looked at enough; `look` is called after each
    /// instruction with its position and when it was executed, and says whether to go on.
    ///
    /// # Errors
    /// Why the program was stopped.
    pub fn drive(
        &mut self,
        machine: &mut Machine<'_>,
        position: u32,
        look: &mut dyn FnMut(&Recorder<'_>, &mut Machine<'_>, u32, Tick) -> bool,
    ) -> Result<Option<Rest>, Stop> {
        let tape = self.tape;
        let mut position = position;
        machine.wrote = false;
        while let Some(inst) = tape.code.insts.get(position as usize) {
            let now = machine.steps + 1;
            self.before(inst, &mut machine.frame, now);
            let advance = machine.advance(position)?;
            // Updates that a run would gather are seen at once.
            atomic::flush(machine);
            let log = std::mem::take(&mut machine.log);
            log.apply(&machine.context.memory, u64::MAX);
            let executed = self.executed.get_mut(position as usize);
            let nth = executed.map_or(0, |count| std::mem::replace(count, count.saturating_add(1)));
            for &slot in &inst.outs {
                if let Some(written) = self.written.get_mut(slot.0 as usize) {
                    *written = Writer {
                        tick: now,
                        position,
                        nth,
                    };
                }
            }
            self.work += 64 + u64::from(inst.lanes);
            if !look(self, machine, position, now) {
                return Ok(None);
            }
            match advance {
                Advance::Next(next) => position = next,
                Advance::Back { to, yields: true } => return Ok(Some(Rest::Yielded(to))),
                Advance::Back { to, .. } => position = to,
                Advance::Done => break,
            }
        }
        Ok(Some(Rest::Done))
    }
}
