//! Loads of floats narrower than f32 that only a conversion to f32, or a matrix product, uses widen them at once.

use super::{Counts, relocate};
use crate::frame::Slot;
use crate::kind::Kind;
use crate::lower::Lowered;
use crate::steps::cast;
use crate::steps::memory::placed::PlacedLoad;
use crate::steps::memory::wide::{WideLoad, is_narrow};
use crate::tape::{Code, Inst};
use std::collections::{HashMap, HashSet};

/// Mentions of a placed load's result that only one other instruction uses: there, in its plain form, and once more.
const MENTIONS: u32 = 3;

/// Joins such loads and conversions.
pub fn widen(lowered: &mut Lowered) {
    let loads = loads(lowered);
    let counts = Counts::of(lowered);
    let insts = std::mem::take(&mut lowered.code.insts);
    let mut new = Vec::with_capacity(insts.len() + 1);
    let mut kept: Vec<Inst> = Vec::with_capacity(insts.len());
    // Where those that were met are now.
    let mut met: HashMap<Slot, usize> = HashMap::new();
    for mut inst in insts {
        new.push(kept.len() as u32);
        if let Some(&out) = inst.outs.first()
            && loads.contains(&out)
            && inst.step.placed_load().is_some()
        {
            met.insert(out, kept.len());
        }
        let is_conversion = inst.step.widens().is_some_and(is_narrow);
        if is_conversion
            && counts.is_written_once(inst.outs[0])
            && let Some(load) = met.remove(&inst.ins[0])
        {
            join(&mut kept[load], inst, false);
            continue;
        }
        widen_operands(&mut inst, &mut kept, &mut met, lowered);
        kept.push(inst);
    }
    new.push(kept.len() as u32);
    lowered.code.insts = kept;
    relocate(&mut lowered.code, &mut lowered.loops, &new);
}

/// Results of loads that may be widened: one other instruction mentions them.
fn loads(lowered: &Lowered) -> HashSet<Slot> {
    let counts = Counts::of(lowered);
    let is_alone =
        |slot: &Slot| counts.is_written_once(*slot) && counts.mentions[slot.0 as usize] == MENTIONS;
    let insts = lowered.code.insts.iter();
    let narrow = insts.filter(|inst| {
        let load = inst.step.placed_load();
        inst.lanes > 1 && load.is_some_and(|load| is_narrow(load.kind))
    });
    narrow.map(|inst| inst.outs[0]).filter(is_alone).collect()
}

/// Lets a product take operands in f32.
fn widen_operands(inst: &mut Inst, kept: &mut [Inst], met: &mut HashMap<Slot, usize>, lowered: &mut Lowered) {
    let at = inst.at;
    let Some(kinds) = inst.step.widened() else {
        return;
    };
    for (kind, operand) in kinds.into_iter().zip(&mut inst.ins) {
        let convert = cast::widening(*kind);
        if let (Some(convert), Some(load)) = (convert, met.remove(operand)) {
            let lanes = kept[load].lanes;
            let wide = lowered.temp(Kind::F32, lanes);
            join(
                &mut kept[load],
                Inst::new(convert, vec![*operand], vec![wide], lanes, at),
                true,
            );
            (*kind, *operand) = (Kind::F32, wide);
        }
    }
}

/// Makes a load one with the conversion of what it gives.
fn join(load: &mut Inst, convert: Inst, any_nan: bool) {
    let Some(placed) = load.step.placed_load() else {
        return;
    };
    let step = WideLoad {
        load: PlacedLoad {
            kind: placed.kind,
            place: placed.place.clone(),
            other: placed.other,
            quiet: placed.quiet,
            plain: Code::default(),
        },
        code: Code::default(),
        any_nan,
    };
    let (ins, outs) = (load.ins.to_vec(), convert.outs.to_vec());
    let joined = Inst::new(step, ins, outs, load.lanes, load.at);
    let narrow = std::mem::replace(load, joined);
    if let Some(code) = load.step.nested_mut() {
        code.insts = vec![narrow, convert];
    }
}
