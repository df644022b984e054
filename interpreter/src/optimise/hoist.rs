//! What does not depend on the program is computed once per worker.
//!
//! An instruction moves to the prologue if its step is pure, its result is written nowhere else and its
//! operands are parameters or come from the prologue themselves. A splat of a scalar disappears: uses of the
//! tile read the scalar, which is held the same way. Hints on parameters are looked at once.
//!
//! Kernels whose programs wait for each other keep everything in the program: each that waits has a frame.

use super::{Counts, relocate};
use crate::frame::Slot;
use crate::lower::Lowered;
use crate::tape::{Code, Inst, Order};

/// Most bytes of values that are kept for all programs.
const MAX_BYTES: u64 = 4 << 20;

/// Moves what is the same in all programs to the prologue.
pub fn hoist(lowered: &mut Lowered) {
    let counts = Counts::of(lowered);
    let keep = lowered.order == Order::Cooperative;
    let mut state = State {
        same: vec![false; lowered.slots.len()],
        known: vec![None; lowered.slots.len()],
        renamed: (0..lowered.slots.len() as u32).map(Slot).collect(),
        bytes: 0,
    };
    for preset in lowered
        .presets
        .iter()
        .filter(|p| counts.writes[p.slot.0 as usize] == 0)
    {
        state.same[preset.slot.0 as usize] = true;
        if preset.tensor == 0 {
            state.known[preset.slot.0 as usize] = Some(preset.bits);
        }
    }
    let insts = std::mem::take(&mut lowered.code.insts);
    let mut new = Vec::with_capacity(insts.len() + 1);
    for mut inst in insts {
        new.push(lowered.code.insts.len() as u32);
        inst.ins
            .iter_mut()
            .for_each(|slot| *slot = state.renamed[slot.0 as usize]);
        if inst.step.is_for_first() {
            lowered.first.push(inst);
        } else if keep {
            lowered.code.insts.push(inst);
        } else if is_splat(&inst, lowered, &counts) {
            state.renamed[inst.outs[0].0 as usize] = inst.ins[0];
        } else if state.is_same(&inst, lowered, &counts) {
            lowered.kept.extend(&inst.outs);
            lowered.prologue.push(inst);
        } else {
            lowered.code.insts.push(inst);
        }
    }
    new.push(lowered.code.insts.len() as u32);
    rename(&mut lowered.code, &state.renamed);
    relocate(&mut lowered.code, &mut lowered.loops, &new);
}

struct State {
    /// Slots that hold the same in all programs.
    same: Vec<bool>,
    /// Bits of scalars, where they are known.
    known: Vec<Option<u64>>,
    /// The scalar that stands for a splat.
    renamed: Vec<Slot>,
    /// Bytes of kept values.
    bytes: u64,
}

impl State {
    /// True if an instruction gives the same in all programs, which is noted then.
    fn is_same(&mut self, inst: &Inst, lowered: &Lowered, counts: &Counts) -> bool {
        let known: Vec<Option<u64>> = inst.ins.iter().map(|s| self.known[s.0 as usize]).collect();
        let bytes: u64 = inst
            .outs
            .iter()
            .map(|slot| {
                let (kind, lanes) = lowered.slots[slot.0 as usize];
                kind.bytes() as u64 * u64::from(lanes)
            })
            .sum();
        let moves = inst.step.is_pure(&known)
            && !inst.outs.is_empty()
            && inst.outs.iter().all(|&slot| counts.is_written_once(slot))
            && inst.ins.iter().all(|slot| self.same[slot.0 as usize])
            && self.bytes + bytes <= MAX_BYTES;
        if moves {
            self.bytes += bytes;
            inst.outs
                .iter()
                .for_each(|slot| self.same[slot.0 as usize] = true);
            if let Some(bits) = inst.step.known() {
                self.known[inst.outs[0].0 as usize] = Some(bits);
            }
        }
        moves
    }
}

/// True for a splat that can be done without: neither slot is ever written again.
fn is_splat(inst: &Inst, lowered: &Lowered, counts: &Counts) -> bool {
    if !inst.step.is_splat() {
        return false;
    }
    let (from, out) = (inst.ins[0], inst.outs[0]);
    let is_preset = || lowered.presets.iter().any(|p| p.slot == from);
    let source = counts.is_written_once(from) || (counts.writes[from.0 as usize] == 0 && is_preset());
    lowered.slots[from.0 as usize].1 == 1 && source && counts.is_written_once(out)
}

fn rename(code: &mut Code, to: &[Slot]) {
    let map = |slot: &mut Slot| *slot = to[slot.0 as usize];
    code.results.iter_mut().for_each(map);
    for inst in &mut code.insts {
        inst.ins.iter_mut().for_each(map);
        if let Some(nested) = inst.step.nested_mut() {
            rename(nested, to);
        }
    }
}
