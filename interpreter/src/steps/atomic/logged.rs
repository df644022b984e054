//! Updates that are written down while programs run in parallel, and applied in program order afterwards.
//!
//! Only for tensors that nothing else touches in the launch, by updates whose old values nobody uses
//! ([`super::order`]): then it makes no difference that memory changes late. Checks are made, and faults
//! reported, when an update is noted.

use super::log;
use crate::access::{Access, Memory};
use crate::frame::{Slot, Tile};
use crate::kind::Lane;
use crate::machine::Machine;

/// Applies a run: to memory, which elements, their operands.
type Apply = fn(&Memory<'_>, Run, &[u64]);

/// Updates of some programs, in the order that they were noted.
#[derive(Debug, Default)]
pub struct Log {
    runs: Vec<(Run, Apply)>,
    /// Operands as wide as their type, each run's from a multiple of 8 bytes on.
    operands: Vec<u64>,
}

/// Neighbouring elements.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// The program that noted it.
    linear: u64,
    allocation: usize,
    /// First element, in bytes.
    offset: usize,
    /// Elements.
    count: usize,
    /// Words of operands.
    words: usize,
}

impl Run {
    /// Replaces each element by `new(element, operand)`.
    #[inline(always)]
    pub fn apply<T: Lane>(self, memory: &Memory<'_>, operands: &[u64], new: impl Fn(T, T) -> T) {
        let operands: &[T] = bytemuck::cast_slice(operands);
        for (i, &operand) in operands[..self.count].iter().enumerate() {
            let offset = self.offset + i * size_of::<T>();
            let mut element = [T::from_bits(0)];
            memory.shared.read(self.allocation, offset, &mut element);
            memory
                .shared
                .write(self.allocation, offset, &[new(element[0], operand)]);
        }
    }
}

impl Log {
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.runs[..]) + size_of_val(&self.operands[..])
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.operands.clear();
    }

    /// Applies everything in order, up to the program `last`.
    pub fn apply(&self, memory: &Memory<'_>, last: u64) {
        let mut rest = &self.operands[..];
        for &(run, apply) in self.runs.iter().take_while(|(run, _)| run.linear <= last) {
            let (own, others) = rest.split_at(run.words);
            apply(memory, run, own);
            rest = others;
        }
    }
}

/// Checks an update and writes it down.
pub fn note<T: Lane>(machine: &mut Machine<'_>, access: Access, operand: Slot, apply: Apply) {
    let mut written = std::mem::take(&mut machine.sink.written);
    let mut noted = std::mem::take(&mut machine.log);
    let (tile, linear) = (machine.frame.tile::<T>(operand, access.lanes), machine.linear);
    let faults = access.checked(machine, |_, piece| {
        let words = (piece.count * size_of::<T>()).div_ceil(8);
        let run = Run {
            linear,
            allocation: piece.allocation,
            offset: piece.offset,
            count: piece.count,
            words,
        };
        noted.runs.push((run, apply));
        let first = noted.operands.len();
        noted.operands.resize(first + words, 0);
        let own: &mut [T] = bytemuck::cast_slice_mut(&mut noted.operands[first..]);
        match tile {
            Tile::Uniform(value) => own[..piece.count].fill(value),
            Tile::Dense(lanes) => own[..piece.count].copy_from_slice(&lanes[piece.lane..][..piece.count]),
        }
        log(&mut written, piece, size_of::<T>());
    });
    machine.log = noted;
    machine.sink.written = written;
    access.report(machine, faults);
}
