//! What makes a tape fast: the same values and findings from fewer, larger instructions.
//!
//! [`once`] straightens loops that go round once; [`hoist`] takes what is the same in all programs out of them; [`place`] gives loads and stores that go by
//! [`formula`] their addresses without tiles of pointers and masks; [`widen`] lets those of narrow floats give f32
//! where that is wanted; [`running`] joins scans of a row with their load and store; [`fuse`] joins element-wise operations to
//! chains that run block by block. All work on a lowered kernel before its slots are planned. A tape for the
//! debugger goes without either, so that every value can be looked at; results have the same bits and findings
//! are the same (`tests/lowerings.rs` holds them to it).

pub mod formula;
pub mod fuse;
pub mod hoist;
pub mod once;
pub mod place;
pub mod running;
pub mod widen;

use crate::frame::Slot;
use crate::lower::Lowered;
use crate::plan::mention;
use crate::poison::Poison;
use crate::simd::Cpu;
use crate::tape::{Code, Inst};

/// Improves a lowered kernel. Only plain loads know of a poison other than zero.
pub fn optimise(lowered: &mut Lowered, grid: [u64; 3], poison: Poison, cpu: Cpu) {
    once::once(lowered);
    hoist::hoist(lowered);
    if poison == Poison::Zero {
        place::place(lowered, grid);
        widen::widen(lowered);
        running::join(lowered);
    }
    fuse::fuse(lowered, cpu);
}

/// How often each slot is mentioned, and how often it is written.
struct Counts {
    mentions: Vec<u32>,
    writes: Vec<u32>,
}

impl Counts {
    fn of(lowered: &Lowered) -> Counts {
        let mut counts = Counts {
            mentions: vec![0; lowered.slots.len()],
            writes: vec![0; lowered.slots.len()],
        };
        for inst in &lowered.code.insts {
            mention(inst, &mut |slot| counts.mentions[slot.0 as usize] += 1);
            counts.add_writes(inst);
        }
        counts
    }

    fn add_writes(&mut self, inst: &Inst) {
        inst.outs
            .iter()
            .for_each(|slot| self.writes[slot.0 as usize] += 1);
        // The plain form of an access writes the same.
        if let Some(code) = inst.step.nested().filter(|_| !inst.step.is_access()) {
            code.args
                .iter()
                .for_each(|slot| self.writes[slot.0 as usize] += 1);
            code.insts.iter().for_each(|inner| self.add_writes(inner));
        }
    }

    fn is_written_once(&self, slot: Slot) -> bool {
        self.writes[slot.0 as usize] == 1
    }
}

/// Gives labels and loops their places after instructions were taken out or moved: `new[i]` is the place of
/// the old instruction i, exact for the first and last of a block, and of the end.
fn relocate(code: &mut Code, loops: &mut [(u32, u32)], new: &[u32]) {
    let place = |at: &mut u32| {
        if let Some(&new) = new.get(*at as usize) {
            *at = new;
        }
    };
    code.labels.iter_mut().for_each(place);
    loops.iter_mut().for_each(|(start, end)| {
        place(start);
        place(end);
    });
}
