//! `tt.histogram`: counts of small integers.

use crate::kind::{Bool, Kind, Lane};
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

impl Histogram {
    fn count(&self, inst: &Inst, machine: &Machine<'_>) -> Vec<u64> {
        let lanes = self.values.1;
        let mut counts = vec![0u64; inst.lanes as usize];
        let mask = inst
            .ins
            .get(1)
            .map(|&mask| machine.frame.tile::<Bool>(mask, lanes));
        with_width!(self.values.0, T => {
            let tile = machine.frame.tile::<T>(inst.ins[0], lanes);
            for lane in 0..lanes {
                if mask.is_none_or(|mask| mask.lane(lane).0 != 0) {
                    // A negative number is large without its sign.
                    let bin = usize::try_from(tile.lane(lane).to_bits()).unwrap_or(usize::MAX);
                    if let Some(count) = counts.get_mut(bin) {
                        *count += 1;
                    }
                }
            }
        });
        counts
    }
}

impl Step for Histogram {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let counts = self.count(inst, machine);
        with_width!(self.counts, T => {
            machine.frame.fill::<T>(inst.outs[0], counts.len(), |_, i| T::from_bits(counts[i]));
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
