//! Loads and stores get their place beforehand, and what only made addresses and masks goes.

use crate::forms::Sum;
use crate::frame::Slot;
use crate::kind::Kind;
use crate::lower::Lowered;
use crate::optimise::formula::{Formula, Formulas, Known, Rule};
use crate::optimise::relocate;
use crate::plan::mention;
use crate::steps::memory::placed::{Below, Place, PlacedLoad, PlacedStore, Remainder, Value};
use crate::steps::memory::{Load, Store};
use crate::tape::{Code, Inst, Order};

/// Gives accesses their places, where they have one.
pub fn place(lowered: &mut Lowered, grid: [u64; 3]) {
    if lowered.order == Order::Cooperative {
        return;
    }
    let formulas = Formulas::of(lowered, grid);
    let mut any = false;
    for i in 0..lowered.code.insts.len() {
        if let Some(placed) = placed(lowered, &formulas, i) {
            lowered.code.insts[i] = placed;
            any = true;
        }
    }
    if any {
        sweep(lowered, &formulas);
    }
}

/// A plain access as a placed one.
fn placed(lowered: &mut Lowered, formulas: &Formulas, position: usize) -> Option<Inst> {
    let inst = lowered.code.insts.get(position)?;
    let (kind, load, mask, value) = match inst.step.access()? {
        Plain::Load(kind, quiet) => (
            kind,
            Some(quiet),
            inst.ins.get(1).copied(),
            inst.ins.get(2).copied(),
        ),
        Plain::Store(kind, masked) => {
            let mask = masked.then(|| inst.ins[1]);
            (kind, None, mask, inst.ins.last().copied())
        }
    };
    let is_load = load.is_some();
    let lanes = inst.lanes;
    if matches!(kind, Kind::Bool | Kind::Ptr) || !lanes.is_power_of_two() {
        return None;
    }
    let log2 = lanes.trailing_zeros() as u8;
    let Some(Known::Integer(address)) = formulas.get(inst.ins[0]) else {
        return None;
    };
    let address = address.over(log2).filter(|address| address.tensor > 0)?;
    let masks: Vec<Formula> = match mask.map(|mask| formulas.get(mask)) {
        None => Vec::new(),
        Some(Some(Known::Mask(masks))) => masks
            .iter()
            .filter(|mask| mask.range.1 >= 0)
            .map(|mask| mask.over(log2))
            .collect::<Option<_>>()?,
        Some(_) => return None,
    };
    // With no mask left nothing takes the other value.
    let value = value.filter(|_| !is_load || !masks.is_empty());
    let mut ins: Vec<Slot> = value.into_iter().collect();
    let shape = Shape::of(&address.lanes, kind.bytes())?;
    if shape.turned && !is_load {
        return None;
    }
    let place = Place {
        tensor: address.tensor,
        value: spell(&address, lowered, &mut ins),
        lanes: address.lanes,
        rows: shape.rows,
        columns: shape.columns,
        stride: shape.stride,
        turned: shape.turned,
        masks: masks
            .iter()
            .map(|mask| below(mask, &shape, lowered, &mut ins))
            .collect::<Option<_>>()?,
    };
    let (at, outs) = (inst.at, inst.outs.to_vec());
    let mut plain_ins = vec![lowered.temp(Kind::Ptr, lanes)];
    if !place.masks.is_empty() {
        plain_ins.push(lowered.temp(Kind::Bool, lanes));
    }
    plain_ins.extend(value);
    let masked = !place.masks.is_empty();
    let code = |plain: Inst| Code {
        insts: vec![plain],
        ..Code::default()
    };
    Some(if let Some(quiet) = load {
        let load = Load {
            kind,
            volatile: false,
            quiet,
        };
        let step = PlacedLoad {
            kind,
            place,
            other: value.is_some(),
            quiet,
            plain: code(Inst::new(load, plain_ins, outs.clone(), lanes, at)),
        };
        Inst::new(step, ins, outs, lanes, at)
    } else {
        let plain = code(Inst::new(
            Store { kind, masked },
            plain_ins,
            outs.clone(),
            lanes,
            at,
        ));
        Inst::new(PlacedStore { kind, place, plain }, ins, outs, lanes, at)
    })
}

/// A plain access.
pub enum Plain {
    /// A load that is not volatile, of elements of a kind; whether masked-off lanes have a value or never matter.
    Load(Kind, bool),
    /// A store, and whether it has a mask.
    Store(Kind, bool),
}

/// The number that a formula gives without the lane; its scalars join the operands.
fn spell(formula: &Formula, lowered: &Lowered, ins: &mut Vec<Slot>) -> Value {
    let rest = formula.rest.as_ref().map(|rest| Remainder {
        of: spell_sum(rest.base, &rest.terms, lowered, ins),
        divisor: rest.divisor,
        times: rest.times,
    });
    Value {
        rest: rest.map(Box::new),
        ..spell_sum(formula.base, &formula.terms, lowered, ins)
    }
}

fn spell_sum(base: i64, sum: &[(Slot, i64)], lowered: &Lowered, ins: &mut Vec<Slot>) -> Value {
    let mut terms = Vec::new();
    for &(slot, factor) in sum {
        let operand = ins.iter().position(|&own| own == slot).unwrap_or_else(|| {
            ins.push(slot);
            ins.len() - 1
        });
        let bytes = lowered.slots[slot.0 as usize].0.bytes() as u8;
        terms.push((operand, bytes, factor));
    }
    Value {
        base,
        terms,
        rest: None,
    }
}

fn below(mask: &Formula, shape: &Shape, lowered: &Lowered, ins: &mut Vec<Slot>) -> Option<Below> {
    Some(Below {
        value: spell(mask, lowered, ins),
        lanes: mask.lanes,
        reach: mask.lanes.bounds()?.1,
        steps: shape.steps(&mask.lanes),
    })
}

/// Lanes as rows of neighbours in memory.
struct Shape {
    rows: usize,
    columns: usize,
    stride: usize,
    turned: bool,
}

impl Shape {
    fn of(lanes: &Sum, elem: usize) -> Option<Shape> {
        let dims: Vec<(usize, i64)> = lanes.dims().iter().map(|d| (1 << d.log2, d.stride)).collect();
        let elem = elem as i64;
        let stride = |stride: i64| usize::try_from(stride).ok().filter(|_| stride % elem == 0);
        let (rows, columns, step, turned) = match dims[..] {
            [] => (1, 1, 0, false),
            [(columns, step)] if step == elem => (1, columns, 0, false),
            [(rows, step), (columns, inner)] if inner == elem => (rows, columns, stride(step)?, false),
            [(columns, outer), (rows, step)] if outer == elem => (rows, columns, stride(step)?, true),
            _ => return None,
        };
        // The span of all rows fits in 62 bits.
        step.checked_mul(rows).filter(|&span| span < 1 << 62)?;
        Some(Shape {
            rows,
            columns,
            stride: step,
            turned,
        })
    }

    /// What the next row and the next column in memory add to a sum over the lanes, where that is all there is to it.
    fn steps(&self, lanes: &Sum) -> Option<(i64, i64)> {
        let (outer, inner) = match self.turned {
            true => (self.columns, self.rows),
            false => (self.rows, self.columns),
        };
        let at = |lane: usize| lanes.at(lane, &[]);
        let zero = at(0);
        let outer_step = if outer > 1 { at(inner) - zero } else { 0 };
        let inner_step = if inner > 1 { at(1) - zero } else { 0 };
        let log2 = |n: usize| n.trailing_zeros() as u8;
        let sum = Sum::affine(0, &[(log2(outer), outer_step), (log2(inner), inner_step)])?;
        let same = sum == *lanes || (sum.constant().is_some() && lanes.constant().is_some());
        let (rows, columns) = match self.turned {
            true => (inner_step, outer_step),
            false => (outer_step, inner_step),
        };
        same.then_some((rows, columns))
    }
}

/// Removes what gives nothing that is used.
fn sweep(lowered: &mut Lowered, formulas: &Formulas) {
    let mut needed = vec![false; lowered.slots.len()];
    let removable = |inst: &Inst| match inst.step.rule() {
        None | Some(Rule::Again) => false,
        // A division may be undefined, unless its result was found.
        Some(Rule::Integer(..)) => {
            inst.outs.iter().all(|&out| formulas.get(out).is_some()) || inst.step.is_pure(&[])
        }
        Some(_) => true,
    };
    loop {
        let mut changed = false;
        let mut need = |needed: &mut Vec<bool>, slot: Slot| {
            changed |= !std::mem::replace(&mut needed[slot.0 as usize], true);
        };
        for inst in lowered.prologue.iter().chain(&lowered.code.insts).rev() {
            if let Some(Rule::Move) = inst.step.rule() {
                for (&from, &to) in inst.ins.iter().zip(&inst.outs) {
                    if needed[to.0 as usize] {
                        need(&mut needed, from);
                    }
                }
            } else if !removable(inst) || inst.outs.iter().any(|out| needed[out.0 as usize]) {
                mention(inst, &mut |slot| {
                    if !inst.outs.contains(&slot) || inst.ins.contains(&slot) {
                        need(&mut needed, slot);
                    }
                });
            }
        }
        if !changed {
            break;
        }
    }
    let is_used = |inst: &Inst| !removable(inst) || inst.outs.iter().any(|out| needed[out.0 as usize]);
    lowered.prologue.retain(is_used);
    lowered.kept.retain(|slot| needed[slot.0 as usize]);
    let mut new = Vec::with_capacity(lowered.code.insts.len() + 1);
    let mut kept = Vec::with_capacity(lowered.code.insts.len());
    for mut inst in std::mem::take(&mut lowered.code.insts) {
        new.push(kept.len() as u32);
        if !is_used(&inst) {
            continue;
        }
        if let Some(Rule::Move) = inst.step.rule() {
            let used: Vec<bool> = inst.outs.iter().map(|out| needed[out.0 as usize]).collect();
            inst.keep_pairs(&used);
        }
        kept.push(inst);
    }
    new.push(kept.len() as u32);
    lowered.code.insts = kept;
    relocate(&mut lowered.code, &mut lowered.loops, &new);
}
