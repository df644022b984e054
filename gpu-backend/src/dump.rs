//! What chosen operations of one program gave, as the host reads it from the buffer of a build that dumps (`emit/dump.rs`).
//!
//! The buffer has a fixed size and keeps what came first; that something was lost is told. Operations come as the program executed them,
//! so the n-th line of one place is its n-th execution.

use std::collections::BTreeSet;

use tilescope_ir::{Elem, FuncId, Module, OpId};
use tilescope_launch::Memory;
use tilescope_launch::fault::Line;

use crate::Generated;
use crate::checked::PlaceKind;
use crate::prints::operands;

/// What shall be dumped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dump {
    /// The program's number, x fastest.
    pub program: u64,
    /// Operations whose results are asked for.
    pub ops: BTreeSet<(FuncId, OpId)>,
}

/// Bytes of a device's buffer.
pub const BUFFER_BYTES: usize = 64 << 20;

/// Bytes before the first line: how much was asked for, how much there is, and the program's number.
const HEAD: usize = 24;

/// Bytes of a line before its lanes: place and size.
const LINE: usize = 8;

/// An empty buffer of so many bytes for a program.
pub fn buffer(program: u64, bytes: usize) -> Vec<u8> {
    let room = bytes.saturating_sub(HEAD) / 8 * 8;
    let mut buffer = [0, room as u64, program].map(u64::to_le_bytes).concat();
    buffer.resize(HEAD + room, 0);
    buffer
}

/// The lines in a buffer that came back, in the order of the program, with the lanes of each result; none of a result that is not to
/// be had. True if some were lost. `address` makes addresses of the launch's memory of those of the device.
pub fn lines(
    buffer: &[u8],
    module: &Module,
    kernel: &Generated,
    address: &dyn Fn(u64) -> u64,
) -> (Vec<Line>, bool) {
    let wide = |at: usize| -> u64 {
        let bytes = buffer.get(at..at + 8).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    };
    let (asked, room, program) = (wide(0), wide(8), wide(16));
    let end = HEAD + asked.min(room) as usize;
    let mut found = Vec::new();
    let mut at = HEAD;
    while at + LINE <= end {
        let word = wide(at);
        let (place, bytes) = (word as u32 as usize, (word >> 32) as usize);
        let start = at + LINE;
        // What did not fit left nothing; nothing is behind it.
        let (Some(rest), Some(place), true) = (
            buffer.get(start..start + bytes),
            kernel.places.get(place),
            bytes > 0 && start + bytes <= end,
        ) else {
            break;
        };
        let PlaceKind::Dump { held } = place.kind else {
            break;
        };
        let function = &module.funcs[place.spot.function];
        let results = function.ops[place.spot.op].results.iter().enumerate();
        let results = results.map(|(i, &value)| (i < 32 && held >> i & 1 == 1).then_some(value));
        let mut lanes = operands(rest, function, results);
        for (lanes, &value) in lanes.iter_mut().zip(&function.ops[place.spot.op].results) {
            if matches!(function.ty(value).elem(), Some(Elem::Ptr(_))) {
                lanes.iter_mut().for_each(|lane| *lane = address(*lane));
            }
        }
        found.push(Line {
            spot: place.spot.clone(),
            program,
            operands: lanes,
        });
        at = start + bytes;
    }
    (found, asked > room)
}

/// A device's address as the launch's memory has it, where allocation `i` begins at `bases[i]` there; 0 outside of all of them.
pub fn synthetic(address: u64, memory: &Memory, bases: &[u64]) -> u64 {
    let mut allocations = memory.allocations.iter().zip(bases);
    let holds = |length: usize, base: u64| address.checked_sub(base).filter(|&at| at <= length as u64);
    let found = allocations.find_map(|(a, &base)| Some((a.base, holds(a.bytes.len(), base)?)));
    found.map_or(0, |(base, at)| base.wrapping_add(at))
}
