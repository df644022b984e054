//! `tt.atomic_poll`: rounds that look at memory until all lanes have seen what they wait for.

use super::{access, begin, use_operands};
use crate::kind::{Bool, Kind, Lane};
use crate::machine::{Flow, Machine, Stop};
use crate::ordered::Orders;
use crate::sink::AccessKind;
use crate::taint::{self, Use};
use crate::tape::{Inst, Label, Step};
use crate::with_width;

/// Nanoseconds that one round of a poll stands for, where it has a time limit: all other programs that
/// wait have a turn between two rounds. There is no clock, so that runs repeat.
const ROUND_NS: u64 = 1000;

/// Begins a poll: all lanes wait, none has matched, no round is over.
#[derive(Debug)]
pub(super) struct BeginPoll;

impl Step for BeginPoll {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        for (&slot, bits) in inst.outs.iter().zip([1, 0, 0]) {
            machine.frame.set_uniform(slot, bits);
        }
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        for &out in &inst.outs {
            machine.taint.set(out, None);
        }
    }
}

/// One round of `tt.atomic_poll`: operands are the pointers, the expected values, which lanes wait, which
/// have matched, the rounds so far, maybe the time limit. The next three are results as well.
///
/// A lane that has matched stays so whatever memory holds later; a faulty lane never does. While a lane
/// waits and there is time the round is run again, others first.
#[derive(Debug)]
pub(super) struct Poll {
    pub elem: Kind,
    pub again: Label,
    pub orders: Orders,
}

impl Poll {
    /// Looks at the lanes that wait; true if some go on waiting.
    fn round<T: Lane>(&self, inst: &Inst, machine: &mut Machine<'_>) -> bool {
        let lanes = inst.lanes(machine);
        let [waiting, matched, rounds] = [inst.ins[2], inst.ins[3], inst.ins[4]];
        let access = access(inst, machine, AccessKind::AtomicLoad, Some(waiting), self.elem);
        begin(machine, access, self.orders);
        let expected = machine.frame.tile::<T>(inst.ins[1], lanes);
        let before = machine.frame.tile::<Bool>(matched, lanes);
        let mut hits: Vec<Bool> = (0..lanes).map(|lane| before.lane(lane)).collect();
        // Lanes that cannot be looked at are not in here.
        let mut misses = vec![Bool(0); lanes];
        let faults = access.checked(machine, |memory, piece| {
            for i in 0..piece.count {
                let (lane, offset) = (piece.lane + i, piece.offset + i * size_of::<T>());
                let mut element = [T::from_bits(0)];
                memory.shared.read(piece.allocation, offset, &mut element);
                let hit = element[0] == expected.lane(lane);
                (hits[lane], misses[lane]) = (Bool::from(hit), Bool::from(!hit));
            }
        });
        machine.frame.fill(matched, lanes, |_, lane| hits[lane]);
        machine.frame.fill(waiting, lanes, |_, lane| misses[lane]);
        // The lanes that wait are the same ones in each round, so their faults are known after the first.
        if machine.scalar::<u64>(rounds) == 0 {
            access.report(machine, faults);
        }
        misses.contains(&Bool(1))
    }
}

impl Step for Poll {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine.sync();
        let waits = with_width!(self.elem, T => self.round::<T>(inst, machine));
        let before = machine.scalar::<u64>(inst.ins[4]);
        // Without a limit only the first round is told apart, so that waiting in vain looks like it.
        let (rounds, in_time) = match inst.ins.get(5) {
            None => (1, true),
            Some(&limit) => {
                let rounds = before.saturating_add(1);
                (rounds, rounds.saturating_mul(ROUND_NS) < machine.scalar(limit))
            }
        };
        machine.frame.set_uniform(inst.ins[4], rounds);
        Ok(if waits && in_time {
            Flow::Jump(self.again)
        } else {
            Flow::Next
        })
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        use_operands(inst, machine, &inst.ins[..2], None, self.elem);
        if let Some(&limit) = inst.ins.get(5) {
            taint::use_lanes(machine, limit, 1, Use::Condition, |_, _| true);
        }
    }

    fn jumps(&self) -> bool {
        true
    }
}
