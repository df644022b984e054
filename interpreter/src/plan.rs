//! Slot planning: virtual slots to as few physical ones as their lifetimes allow.
//!
//! A virtual slot lives from its first to its last mention on the tape; one that is alive when a loop
//! begins and is mentioned inside lives to the loop's end. Slots of nested code all live exactly at their
//! instruction. A result never takes over an operand's slot of the same instruction. With `reuse` off
//! (for the debugger) every value keeps a slot of its own.

use crate::frame::Slot;
use crate::kind::Kind;
use crate::lower::Lowered;
use crate::tape::{Code, Inst, Tape};
use std::collections::BTreeMap;

/// Gives every virtual slot a physical one and makes the tape.
pub fn plan(mut lowered: Lowered, reuse: bool) -> Tape {
    let lives = lifetimes(&lowered);
    mark_kills(&mut lowered.code.insts, &lives);
    let bytes: Vec<u64> = lowered
        .slots
        .iter()
        .map(|&(kind, lanes)| kind.bytes() as u64 * u64::from(lanes))
        .collect();
    let physical = if reuse {
        assign(&lives, &bytes)
    } else {
        (0..lives.len() as u32).map(Slot).collect()
    };
    let count = physical.iter().map(|s| s.0 + 1).max().unwrap_or(0);
    let mut sizes = vec![0u64; count as usize];
    let mut shapes = vec![(Kind::Bool, 0u32); count as usize];
    for (i, slot) in physical.iter().enumerate() {
        let size = &mut sizes[slot.0 as usize];
        *size = (*size).max(if lowered.slots[i].1 > 1 { bytes[i] } else { 0 });
        shapes[slot.0 as usize] = lowered.slots[i];
    }
    rename(&mut lowered.code, &physical);
    for preset in &mut lowered.presets {
        preset.slot = physical[preset.slot.0 as usize];
    }
    Tape {
        code: lowered.code,
        origins: lowered.origins,
        presets: lowered.presets,
        slots: count,
        frame_bytes: sizes.iter().map(|s| s.next_multiple_of(64)).sum(),
        order: lowered.order,
        shapes,
    }
}

/// First and last mention of each virtual slot; `None` if it is never mentioned.
type Lives = Vec<Option<(u32, u32)>>;

fn lifetimes(lowered: &Lowered) -> Lives {
    let mut lives: Lives = vec![None; lowered.slots.len()];
    let mut mentions: Vec<Vec<u32>> = vec![Vec::new(); lowered.slots.len()];
    // Parameters are there before the first instruction.
    for preset in &lowered.presets {
        lives[preset.slot.0 as usize] = Some((0, 0));
    }
    for (pc, inst) in lowered.code.insts.iter().enumerate() {
        mention(inst, &mut |slot| {
            let life = lives[slot.0 as usize].get_or_insert((pc as u32, pc as u32));
            life.1 = pc as u32;
            let list = &mut mentions[slot.0 as usize];
            if list.last() != Some(&(pc as u32)) {
                list.push(pc as u32);
            }
        });
    }
    // Inner loops are noted before outer ones, so one pass from the shortest up is enough.
    let mut loops = lowered.loops.clone();
    loops.sort_by_key(|&(start, end)| end - start);
    for (life, mentions) in lives.iter_mut().zip(&mentions) {
        let Some((first, last)) = life else { continue };
        for &(start, end) in &loops {
            let inside = |pc: u32| (start..=end).contains(&pc);
            let next = mentions.partition_point(|&pc| pc < start);
            let used_inside = mentions.get(next).is_some_and(|&pc| inside(pc)) || inside(*last);
            if *first < start && used_inside {
                *last = (*last).max(end);
            }
        }
    }
    lives
}

fn mention(inst: &Inst, each: &mut dyn FnMut(Slot)) {
    inst.ins.iter().chain(&inst.outs).for_each(|&slot| each(slot));
    if let Some(code) = inst.step.nested() {
        code.args.iter().chain(&code.results).for_each(|&slot| each(slot));
        code.insts.iter().for_each(|inner| mention(inner, each));
    }
}

/// Marks operands that are mentioned for the last time.
fn mark_kills(insts: &mut [Inst], lives: &Lives) {
    for (pc, inst) in insts.iter_mut().enumerate() {
        let mut kills = 0;
        for (i, slot) in inst.ins.iter().enumerate().take(64) {
            let last = lives[slot.0 as usize].is_some_and(|life| life.1 == pc as u32);
            let again = inst.ins[i + 1..].contains(slot) || inst.outs.contains(slot);
            if last && !again {
                kills |= 1 << i;
            }
        }
        inst.kills = kills;
    }
}

/// Linear scan: a slot whose life is over goes to the next value of the same size.
fn assign(lives: &Lives, bytes: &[u64]) -> Vec<Slot> {
    let mut births: Vec<usize> = (0..lives.len()).filter(|&v| lives[v].is_some()).collect();
    births.sort_by_key(|&v| (lives[v], v));
    let mut free: BTreeMap<u64, Vec<Slot>> = BTreeMap::new();
    let mut alive: std::collections::BinaryHeap<std::cmp::Reverse<(u32, Slot, u64)>> = Default::default();
    let mut slots = vec![Slot(0); lives.len()];
    let mut count = 0;
    for v in births {
        let Some((first, last)) = lives[v] else { continue };
        while let Some(&std::cmp::Reverse((end, slot, lines))) = alive.peek() {
            if end >= first {
                break;
            }
            alive.pop();
            free.entry(lines).or_default().push(slot);
        }
        let lines = bytes[v].div_ceil(64);
        let slot = free.get_mut(&lines).and_then(Vec::pop).unwrap_or_else(|| {
            count += 1;
            Slot(count - 1)
        });
        slots[v] = slot;
        alive.push(std::cmp::Reverse((last, slot, lines)));
    }
    slots
}

fn rename(code: &mut Code, physical: &[Slot]) {
    let map = |slot: &mut Slot| *slot = physical[slot.0 as usize];
    code.args.iter_mut().chain(&mut code.results).for_each(map);
    for inst in &mut code.insts {
        inst.ins.iter_mut().chain(&mut inst.outs).for_each(map);
        if let Some(nested) = inst.step.nested_mut() {
            rename(nested, physical);
        }
    }
}
