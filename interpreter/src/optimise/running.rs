//! A scan of a row between a load and a store of it goes from memory to memory.

use super::{Counts, relocate};
use crate::lower::Lowered;
use crate::steps::running::Running;
use crate::tape::Inst;

/// Mentions of the result of a load, or of a scan, that only the next instruction uses: there, in its own plain form or
/// in that of the next one, and once more.
const MENTIONS: u32 = 3;

/// Joins such instructions.
pub fn join(lowered: &mut Lowered) {
    let counts = Counts::of(lowered);
    let is_passed_on = |from: &Inst, to: &Inst| match from.outs[..] {
        [slot] => {
            let alone = counts.is_written_once(slot) && counts.mentions[slot.0 as usize] == MENTIONS;
            alone && to.ins.first() == Some(&slot)
        }
        _ => false,
    };
    let labels = lowered.code.labels.clone();
    let mut kept: Vec<Inst> = Vec::with_capacity(lowered.code.insts.len());
    let mut new = Vec::with_capacity(lowered.code.insts.len() + 1);
    for (pc, inst) in std::mem::take(&mut lowered.code.insts).into_iter().enumerate() {
        new.push(kept.len() as u32);
        kept.push(inst);
        let [.., load, scan, store] = &kept[..] else {
            continue;
        };
        let jumps_between = || {
            labels
                .iter()
                .any(|&to| to as usize == pc || to as usize + 1 == pc)
        };
        if is_passed_on(load, scan)
            && is_passed_on(scan, store)
            && !jumps_between()
            && let Some(mut step) = Running::of(load, scan, store)
        {
            let (at, lanes) = (scan.at, scan.lanes);
            let ins = load.ins.iter().chain(&store.ins[1..]).copied().collect();
            step.code.insts = kept.split_off(kept.len() - 3);
            kept.push(Inst::new(step, ins, Vec::new(), lanes, at));
        }
    }
    new.push(kept.len() as u32);
    lowered.code.insts = kept;
    relocate(&mut lowered.code, &mut lowered.loops, &new);
}
