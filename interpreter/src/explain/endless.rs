//! What is to be seen of a program that does not end, and of accesses through descriptors: what only the tape knows.

use tilescope_diagnostics::Chain;
use tilescope_ir::ValueId;

use super::record::Tick;
use super::sources::{shape_of, unravel};
use super::walk::Moment;
use super::{Seen, place};
use crate::frame::Tensor;
use crate::kind::Kind;
use crate::optimise::place::Plain;
use crate::print;
use crate::stepping::lane_of;

impl Moment<'_, '_, '_> {
    /// What a loop carries, when it has just gone round; the first lane of tiles.
    pub(super) fn round(&self, position: u32, most: usize) -> Option<Seen> {
        let insts = &self.code.stepping.tape.code.insts;
        let at = insts.get(position as usize)?.at;
        // Several instructions are the loop's: the last one jumps back.
        if insts.iter().rposition(|inst| inst.at == at)? != position as usize {
            return None;
        }
        let (function, op, origin) = self.code.op(position)?;
        let body = op
            .regions
            .first()
            .and_then(|&region| function.regions[region].blocks.first());
        let carried: &[ValueId] = match body {
            Some(&block) => &function.blocks[block].args,
            None => &op.operands,
        };
        let told = carried.iter().enumerate().filter_map(|(index, &value)| {
            let number = self.code.number(origin, value)?;
            let (slot, kind, lanes) = self.code.slot(number)?;
            let name = match self.code.name(number) {
                Some(name) => name.to_string(),
                None => format!("carried {index}"),
            };
            let shape = shape_of(function, value);
            let bits = lane_of(&self.machine.frame, slot, kind, lanes, 0);
            Some(Chain {
                location: place(self.code.module, origin),
                op: op.code.info().mnemonic.to_string(),
                value: print::number(bits, kind),
                name: Some(match shape.is_empty() {
                    true => name,
                    false => format!("{name}{:?}", unravel(0, &shape)),
                }),
                note: None,
            })
        });
        let mut chain: Vec<Chain> = told.take(most.div_ceil(super::ROUNDS as usize)).collect();
        if let Some(first) = chain.first_mut() {
            first.note = Some(format!("after {} operations", self.machine.steps));
        }
        Some(Seen {
            chain,
            ..Seen::default()
        })
    }

    /// What a program that waits has just read, and what it expects, of the first lane.
    pub(super) fn wait(&self, position: u32, now: Tick, most: usize) -> Option<Seen> {
        let (_, op, origin) = self.code.op(position)?;
        let number = self.code.number(origin, *op.results.first()?)?;
        let (slot, kind, lanes) = self.code.slot(number)?;
        let inst = self.code.stepping.tape.code.insts.get(position as usize)?;
        if !inst.outs.contains(&slot) {
            return None;
        }
        let bits = lane_of(&self.machine.frame, slot, kind, lanes, 0);
        let read = self.waits_by(op, position, now);
        let operands: Vec<(usize, usize)> = (0..op.operands.len()).map(|operand| (operand, 0)).collect();
        let mut chain = self.chain(position, now, &operands, most.saturating_sub(1));
        chain.extend((most > 0).then(|| Chain {
            location: place(self.code.module, origin),
            op: op.code.info().mnemonic.to_string(),
            value: print::number(bits, kind),
            name: read,
            note: Some(String::from("what it waits by, as it was read last")),
        }));
        Some(Seen {
            chain,
            ..Seen::default()
        })
    }

    /// The element that an access reads by its first lane.
    fn waits_by(&self, op: &tilescope_ir::Op, position: u32, now: Tick) -> Option<String> {
        op.operands.first()?;
        let pointer = self.operand(position, now, 0, 0)?;
        let base = self.machine.context.memory.target(pointer.tensor)?.base;
        self.element(pointer.tensor, i128::from(pointer.bits) - i128::from(base))
    }

    /// The first active lane of an access through a descriptor or block pointer whose element has a byte of a tensor's storage.
    pub(super) fn touching_by_block(
        &self,
        position: u32,
        tensor: Tensor,
        base: u64,
        (offset, elem): (u64, u32),
    ) -> Option<usize> {
        let inst = self.code.stepping.tape.code.insts.get(position as usize)?;
        let mask = match inst.step.access()? {
            Plain::Load(..) => inst.ins.get(1),
            Plain::Store(_, masked) => inst.ins.get(1).filter(|_| masked),
        };
        let frame = &self.machine.frame;
        let pointers = *inst.ins.first()?;
        let lanes = inst.lanes.max(1) as usize;
        (0..lanes).find(|&lane| {
            let is_on = mask.is_none_or(|&mask| lane_of(frame, mask, Kind::Bool, lanes, lane) & 1 != 0);
            let start = lane_of(frame, pointers, Kind::Ptr, lanes, lane).wrapping_sub(base);
            let holds = (start..start.saturating_add(u64::from(elem))).contains(&offset);
            is_on && holds && frame.provenance(pointers).lane(lane) == tensor
        })
    }
}
