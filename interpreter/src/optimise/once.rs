//! Loops that go round once are no loops: what they carry gets slots of its own, and copies of what is written once
//! disappear.
//!
//! The blocks of a row that one tile holds are such a loop. Without it, chains of operations reach over what was its
//! end, and what its counter decided is the same in all programs.

use super::{Counts, relocate};
use crate::frame::Slot;
use crate::lower::Lowered;
use crate::optimise::formula::Rule;
use crate::tape::{Code, Inst, Order};
use std::collections::HashMap;

/// The label of a jump that is gone.
const NOWHERE: u32 = u32::MAX;

/// Straightens such loops.
pub fn once(lowered: &mut Lowered) {
    if lowered.order == Order::Cooperative {
        return;
    }
    let mut counts = Counts::of(lowered);
    let known = known(lowered, &counts);
    let mut any = false;
    for end in 0..lowered.code.insts.len() {
        if let Some(found) = found(lowered, &counts, &known, end) {
            straighten(lowered, &found);
            counts = Counts::of(lowered);
            any = true;
        }
    }
    if any {
        drop_jumps(lowered);
        drop_copies(lowered);
    }
}

/// A loop that goes round once.
struct Found {
    /// The first of the moves before it.
    moves: usize,
    /// The jump past it.
    enter: usize,
    /// The move of what it carries, if it carries anything.
    carry: Option<usize>,
    /// The jump back.
    again: usize,
    /// What is written before it and in it: its counter and what it carries.
    carried: Vec<Slot>,
}

fn is_move(inst: &Inst) -> bool {
    matches!(inst.step.rule(), Some(Rule::Move))
}

fn found(lowered: &Lowered, counts: &Counts, known: &HashMap<Slot, u64>, again: usize) -> Option<Found> {
    let insts = &lowered.code.insts;
    let back = insts[again].step.counted()?;
    let enter = (lowered.code.labels[back.label.0 as usize] as usize).checked_sub(1)?;
    let forth = insts.get(enter)?.step.counted()?;
    let past = lowered.code.labels[forth.label.0 as usize] as usize;
    if past != again + 1 || enter >= again || insts[enter].ins.len() != 2 || insts[again].ins.len() != 3 {
        return None;
    }
    let [counter, step, bound] = [0, 1, 2].map(|i| insts[again].ins[i]);
    let moves = insts[..enter]
        .iter()
        .rposition(|inst| !is_move(inst))
        .map_or(0, |i| i + 1);
    let start = insts[moves..enter].iter().find_map(|inst| {
        let place = inst.outs.iter().position(|&out| out == counter)?;
        inst.ins.get(place).copied()
    })?;
    let [start, step, bound] = [known.get(&start)?, known.get(&step)?, known.get(&bound)?];
    if !back.goes_once(*start, *step, *bound) {
        return None;
    }
    let carry = (again - 1 > enter && is_move(&insts[again - 1])).then_some(again - 1);
    let mut carried = vec![counter];
    carried.extend(carry.iter().flat_map(|&at| insts[at].outs.iter()));
    let written = |slot: &Slot| {
        let before = insts[moves..enter].iter().flat_map(|inst| inst.outs.iter());
        before.filter(|out| *out == slot).count() == 1 && counts.writes[slot.0 as usize] == 2
    };
    carried.iter().all(written).then_some(Found {
        moves,
        enter,
        carry,
        again,
        carried,
    })
}

/// The bits of what is known beforehand.
fn known(lowered: &Lowered, counts: &Counts) -> HashMap<Slot, u64> {
    let presets = lowered.presets.iter();
    let never_written =
        presets.filter(|preset| preset.tensor == 0 && counts.writes[preset.slot.0 as usize] == 0);
    let mut known: HashMap<Slot, u64> = never_written.map(|preset| (preset.slot, preset.bits)).collect();
    for inst in &lowered.code.insts {
        if let (Some(bits), [out]) = (inst.step.known(), &inst.outs[..])
            && counts.is_written_once(*out)
        {
            known.insert(*out, bits);
        }
    }
    known
}

/// Gives what the loop carries other slots before its end. Its jumps stay, without a meaning.
fn straighten(lowered: &mut Lowered, found: &Found) {
    let fresh: HashMap<Slot, Slot> = found
        .carried
        .iter()
        .map(|&slot| {
            let (kind, lanes) = lowered.slots[slot.0 as usize];
            (slot, lowered.temp(kind, lanes))
        })
        .collect();
    let to = |slot: &mut Slot| *slot = fresh.get(slot).copied().unwrap_or(*slot);
    for at in found.moves..=found.again {
        let is_carry = found.carry == Some(at);
        let inst = &mut lowered.code.insts[at];
        inst.ins.iter_mut().for_each(to);
        if !is_carry {
            inst.outs.iter_mut().for_each(to);
        }
        if let Some(nested) = inst.step.nested_mut() {
            rename(nested, &to);
        }
    }
    for at in [found.enter, found.again] {
        if let Some(counted) = lowered.code.insts[at].step.counted() {
            lowered.code.labels[counted.label.0 as usize] = NOWHERE;
        }
    }
    let own = (found.enter as u32 + 1, found.again as u32);
    lowered.loops.retain(|&range| range != own);
}

fn rename(code: &mut Code, to: &impl Fn(&mut Slot)) {
    code.args.iter_mut().for_each(to);
    code.results.iter_mut().for_each(to);
    for inst in &mut code.insts {
        inst.ins.iter_mut().chain(&mut inst.outs).for_each(to);
        if let Some(nested) = inst.step.nested_mut() {
            rename(nested, to);
        }
    }
}

/// Takes jumps out that have no label any more.
fn drop_jumps(lowered: &mut Lowered) {
    let labels = lowered.code.labels.clone();
    take_out(lowered, |inst| {
        let counted = inst.step.counted();
        counted.is_none_or(|counted| labels[counted.label.0 as usize] != NOWHERE)
    });
}

/// Lets what reads a copy read what was copied, where both are written once.
fn drop_copies(lowered: &mut Lowered) {
    let counts = Counts::of(lowered);
    let is_preset = |slot: Slot| lowered.presets.iter().any(|preset| preset.slot == slot);
    let stays = |slot: Slot| match counts.writes[slot.0 as usize] {
        0 => is_preset(slot),
        writes => writes == 1,
    };
    let mut of: HashMap<Slot, Slot> = HashMap::new();
    for inst in lowered.code.insts.iter().filter(|inst| is_move(inst)) {
        for (&from, &to) in inst.ins.iter().zip(&inst.outs) {
            if stays(from) && counts.is_written_once(to) {
                let from = of.get(&from).copied().unwrap_or(from);
                of.insert(to, from);
            }
        }
    }
    let map = |slot: &mut Slot| {
        while let Some(&from) = of.get(slot) {
            *slot = from;
        }
    };
    for inst in &mut lowered.code.insts {
        if is_move(inst) {
            let used: Vec<bool> = inst.outs.iter().map(|out| !of.contains_key(out)).collect();
            inst.keep_pairs(&used);
        }
        inst.ins.iter_mut().for_each(map);
        if let Some(nested) = inst.step.nested_mut() {
            rename(nested, &map);
        }
    }
    take_out(lowered, |inst| !(is_move(inst) && inst.outs.is_empty()));
}

/// Leaves out instructions that do not stay.
fn take_out(lowered: &mut Lowered, stays: impl Fn(&Inst) -> bool) {
    let insts = std::mem::take(&mut lowered.code.insts);
    let mut new = Vec::with_capacity(insts.len() + 1);
    for inst in insts {
        new.push(lowered.code.insts.len() as u32);
        if stays(&inst) {
            lowered.code.insts.push(inst);
        }
    }
    new.push(lowered.code.insts.len() as u32);
    relocate(&mut lowered.code, &mut lowered.loops, &new);
}
