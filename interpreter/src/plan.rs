//! Slot planning: virtual slots to as few physical ones as their lifetimes allow.
//!
//! A virtual slot lives from its first to its last mention on the tape; one that is alive when a loop
//! begins and is mentioned inside, or lives into it, lives to the loop's end. Slots of nested code all live exactly at their
//! instruction. A result never takes over an operand's slot of the same instruction. Parameters and what the
//! prologue makes keep their slots for good. With `reuse` off
//! (for the debugger) every value keeps a slot of its own.

use crate::frame::Slot;
use crate::kind::Kind;
use crate::lower::Lowered;
use crate::steps::running::Neighbours;
use crate::steps::strip::Round;
use crate::stretch::Stretch;
use crate::tape::{Code, Inst, Tape};
use std::collections::BTreeMap;

/// Gives every virtual slot a physical one and makes the tape.
pub fn plan(mut lowered: Lowered, reuse: bool) -> Tape {
    let mentions = mentions(&lowered);
    let lives = lifetimes(&lowered, &mentions);
    if reuse {
        mark_kills(&mut lowered.code.insts, &lives, &mentions);
    }
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
    let mut prologue = straight(lowered.prologue);
    let mut first = straight(lowered.first);
    for code in [&mut lowered.code, &mut prologue, &mut first] {
        rename(code, &physical);
    }
    for preset in &mut lowered.presets {
        preset.slot = physical[preset.slot.0 as usize];
    }
    if reuse {
        Round::mark(&mut lowered.code);
    }
    Tape {
        stretch: Stretch::of(&lowered.code.insts).filter(|_| reuse),
        neighbours: Neighbours::of(&lowered.code.insts).filter(|_| reuse),
        code: lowered.code,
        prologue,
        first,
        origins: lowered.origins,
        presets: lowered.presets,
        slots: count,
        frame_bytes: sizes.iter().map(|s| s.next_multiple_of(64)).sum(),
        order: lowered.order,
        unwritten: lowered.unwritten,
        rereads: lowered.rereads,
        touched: lowered.touched,
        shapes,
    }
}

/// Instructions without jumps.
fn straight(insts: Vec<Inst>) -> Code {
    Code {
        insts,
        ..Code::default()
    }
}

/// First and last mention of each virtual slot; `None` if it is never mentioned.
type Lives = Vec<Option<(u32, u32)>>;

/// The instructions that mention each virtual slot, in rising order.
type Mentions = Vec<Vec<u32>>;

fn mentions(lowered: &Lowered) -> Mentions {
    let mut mentions: Mentions = vec![Vec::new(); lowered.slots.len()];
    for (pc, inst) in lowered.code.insts.iter().enumerate() {
        mention(inst, &mut |slot| {
            let list = &mut mentions[slot.0 as usize];
            if list.last() != Some(&(pc as u32)) {
                list.push(pc as u32);
            }
        });
    }
    mentions
}

fn lifetimes(lowered: &Lowered, mentions: &Mentions) -> Lives {
    let ends = |list: &Vec<u32>| Some((*list.first()?, *list.last()?));
    let mut lives: Lives = mentions.iter().map(ends).collect();
    // From the shortest up one pass is enough where loops nest. Those of a graph of blocks may also overlap
    // (an outer loop jumps back from between the blocks of an inner one): hence until nothing changes.
    let mut loops = lowered.loops.clone();
    loops.sort_by_key(|&(start, end)| end - start);
    for (life, mentions) in lives.iter_mut().zip(mentions) {
        let Some((first, last)) = life else { continue };
        while extend(*first, last, mentions, &loops) {}
    }
    let presets = lowered.presets.iter().map(|preset| preset.slot);
    for slot in presets.chain(lowered.kept.iter().copied()) {
        lives[slot.0 as usize] = Some((0, u32::MAX));
    }
    // What the prologue makes and nothing uses must not lie where something else does.
    for inst in lowered.prologue.iter().chain(&lowered.first) {
        mention(inst, &mut |slot| {
            lives[slot.0 as usize].get_or_insert((0, u32::MAX));
        });
    }
    lives
}

/// Lets a slot live to the end of each loop that it lives into; true if that changed anything.
fn extend(first: u32, last: &mut u32, mentions: &[u32], loops: &[(u32, u32)]) -> bool {
    let before = *last;
    for &(start, end) in loops {
        let inside = |pc: u32| (start..=end).contains(&pc);
        let next = mentions.partition_point(|&pc| pc < start);
        let used_inside = mentions.get(next).is_some_and(|&pc| inside(pc)) || inside(*last);
        if first < start && used_inside {
            *last = (*last).max(end);
        }
    }
    *last > before
}

/// Calls a function with every slot that an instruction mentions, nested ones included.
pub fn mention(inst: &Inst, each: &mut dyn FnMut(Slot)) {
    inst.ins.iter().chain(&inst.outs).for_each(|&slot| each(slot));
    if let Some(code) = inst.step.nested() {
        code.args.iter().chain(&code.results).for_each(|&slot| each(slot));
        code.insts.iter().for_each(|inner| mention(inner, each));
    }
}

/// Marks operands that are not read again: mentioned for the last time, or written next, with no jump
/// between (what a loop carries, after its last use in the body).
fn mark_kills(insts: &mut [Inst], lives: &Lives, mentions: &Mentions) {
    let mut jumps_before = vec![0u32; insts.len() + 1];
    for (pc, inst) in insts.iter().enumerate() {
        jumps_before[pc + 1] = jumps_before[pc] + u32::from(inst.step.jumps());
    }
    let written_next = |insts: &[Inst], slot: Slot, pc: usize| {
        let list = &mentions[slot.0 as usize];
        let next = list.get(list.partition_point(|&at| at as usize <= pc));
        next.is_some_and(|&next| {
            let next = next as usize;
            let inst = &insts[next];
            let writes =
                inst.outs.contains(&slot) && !inst.ins.contains(&slot) && inst.step.nested().is_none();
            writes && jumps_before[next] == jumps_before[pc]
        })
    };
    for pc in 0..insts.len() {
        let inst = &insts[pc];
        let mut kills = 0;
        for (i, slot) in inst.ins.iter().enumerate().take(64) {
            let last = lives[slot.0 as usize].is_some_and(|life| life.1 == pc as u32);
            let again = inst.ins[i + 1..].contains(slot) || inst.outs.contains(slot);
            if !again && (last || written_next(insts, *slot, pc)) {
                kills |= 1 << i;
            }
        }
        insts[pc].kills = kills;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::lower::lower;
    use crate::simd::Cpu;
    use tilescope_diagnostics::{CheckSet, Source};
    use tilescope_launch::{CompileOptions, Launch};

    /// The tape of a kernel without parameters.
    fn planned(body: &str) -> Tape {
        let text = format!("module {{\ntt.func public @k() {{\n{body}\ntt.return\n}}\n}}\n");
        let module = tilescope_ir::text::parse(&Source::new("k.ttir", text)).expect("text");
        let launch = Launch {
            name: String::new(),
            kernel: "k".into(),
            grid: [1, 1, 1],
            arguments: Vec::new(),
            tensors: Vec::new(),
            options: CompileOptions {
                num_warps: 4,
                num_stages: 1,
            },
        };
        let kernel = module.find("k").expect("kernel");
        let options = Options {
            checks: CheckSet::NONE,
            cpu: Cpu::SCALAR,
            ..Options::default()
        };
        plan(lower(&module, kernel, &launch, options).expect("lowered"), true)
    }

    /// The instruction of the only dot.
    fn dot(tape: &Tape) -> &Inst {
        let is_dot = |inst: &&Inst| format!("{:?}", inst.step).starts_with("Dot");
        tape.code.insts.iter().find(is_dot).expect("a dot")
    }

    const LOOP: &str = "%z = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
        %a = arith.constant 0 : i32
        %b = arith.constant 4 : i32
        %c = arith.constant 1 : i32
        %r = scf.for %i = %a to %b step %c iter_args(%acc = %z) -> (tensor<16x16xf32>) : i32 {
          %d = tt.dot %z, %z, %acc, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
          MORE
          scf.yield %d : tensor<16x16xf32>
        }
        tt.print \" r: \" {hex = false, isSigned = array<i32: 0>} : %r : tensor<16x16xf32>";

    #[test]
    fn what_a_loop_carries_ends_at_its_last_use_in_the_body() {
        assert!(dot(&planned(&LOOP.replace("MORE", ""))).kills(2));
        let print = "tt.print \" a: \" {hex = false, isSigned = array<i32: 0>} : %acc : tensor<16x16xf32>";
        assert!(!dot(&planned(&LOOP.replace("MORE", print))).kills(2));
        // A jump may lead past the yield's write to where the value is read.
        let branch = "%k = arith.cmpi eq, %i, %a : i32
            scf.if %k {
            }";
        assert!(!dot(&planned(&LOOP.replace("MORE", branch))).kills(2));
        assert!(!dot(&planned(&LOOP.replace("MORE", ""))).kills(0));
    }
}
