//! `tt.histogram`: counts of small integers.

use crate::frame::Tile;
use crate::kind::{Bool, Kind, Lane};
use crate::lanes::Signless;
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::taint::{self, Births};
use crate::tape::{Inst, Step};
use crate::with_width;
use tilescope_diagnostics::Result;
use tilescope_ir::{Function, OpId};

/// Counts the lanes of the first operand (where the second, a mask, is true) that hold 0, 1, …; any other
/// value is ignored. Counts wrap around in the type of the result.
#[derive(Debug)]
struct Histogram {
    /// Kind and number of the values.
    values: (Kind, usize),
    /// Kind of the counts.
    counts: Kind,
}

/// Adds one to the count of each value whose lane is live; a value beyond the counts, or a negative one, which
/// is large without its sign, is ignored.
fn count<T: Lane, C: Signless>(
    values: Tile<'_, T>,
    live: Option<Tile<'_, Bool>>,
    lanes: usize,
    counts: &mut [C],
) {
    let one = C::from_bits(1);
    let mut add = |value: T| {
        let bin = usize::try_from(value.to_bits()).unwrap_or(usize::MAX);
        if let Some(count) = counts.get_mut(bin) {
            *count = Signless::add(*count, one);
        }
    };
    match (values, live) {
        (Tile::Dense(values), None | Some(Tile::Uniform(Bool(1)))) => values.iter().for_each(|&v| add(v)),
        _ => (0..lanes)
            .filter(|&lane| live.is_none_or(|live| live.lane(lane).0 != 0))
            .for_each(|lane| add(values.lane(lane))),
    }
}

impl Step for Histogram {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let (kind, lanes) = self.values;
        let bins = inst.lanes as usize;
        let frame = &mut machine.frame;
        with_width!(self.counts, C => {
            let mut buffer = frame.take::<C>(inst.outs[0], bins);
            let counts = buffer.lanes::<C>(bins);
            counts.fill(C::from_bits(0));
            let live = inst.ins.get(1).map(|&mask| frame.tile::<Bool>(mask, lanes));
            with_width!(kind, T => count(frame.tile::<T>(inst.ins[0], lanes), live, lanes, counts));
            let first = counts[0].to_bits();
            frame.put(inst.outs[0], buffer);
            if bins == 1 {
                frame.set_uniform(inst.outs[0], first);
            }
        });
        Ok(Flow::Next)
    }

    /// An undefined value that is counted may be counted anywhere, and an undefined mask lane may count.
    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let lanes = self.values.1;
        let births = taint::combine(&inst.ins, machine, lanes).and_then(|births| {
            let mask = inst.ins.get(1).copied();
            let is_active = |lane| {
                mask.is_none_or(|mask| {
                    let undefined = machine.taint.get(mask).is_some_and(|b| b.lane(lane) != 0);
                    undefined || machine.frame.tile::<Bool>(mask, lanes).lane(lane).0 != 0
                })
            };
            (0..lanes)
                .find(|&lane| births.lane(lane) != 0 && is_active(lane))
                .map(|lane| births.lane(lane))
        });
        machine.taint.set(inst.outs[0], births.map(Births::Uniform));
    }
}

/// `tt.histogram`.
pub fn histogram(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (values, counts) = (data.operands[0], data.results[0]);
    let step = Histogram {
        values: (lower.kind(function, values), function.ty(values).lanes()),
        counts: lower.kind(function, counts),
    };
    if step.values.0.is_float() || step.counts.is_float() {
        return Err(lower.unsupported(
            function,
            op,
            "a histogram of other values than integers is not run",
        ));
    }
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, counts);
    lower.emit(step, ins, vec![out], lanes);
    Ok(())
}
