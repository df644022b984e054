//! What a kernel printed, as the host reads it from the buffer.
//!
//! The buffer has a fixed size: lines that came when it was full are lost, which is told. Lines are in the order of programs, then as
//! each program printed them.

use tilescope_ir::{Function, Module, ValueId};
use tilescope_launch::fault::Line;

use crate::Generated;

/// Bytes of the buffer.
pub const BUFFER_BYTES: usize = 16 << 20;

/// Bytes before the first line: how much was asked for, and how much there is.
const HEAD: usize = 16;

/// Bytes of a line before its operands: program, number, place and size.
const LINE: usize = 24;

/// Bytes that an operand takes in a line, its lanes, and bytes of one.
pub(crate) fn operand_bytes(function: &Function, value: ValueId) -> (usize, usize, usize) {
    let lanes = function.ty(value).shape().map_or(1, |shape| shape.elements());
    let size = function.ty(value).elem().map_or(8, |elem| elem.bytes());
    ((lanes * size).next_multiple_of(8), lanes, size)
}

/// The lanes of values that lie one behind the other; none of those that are not there.
pub(crate) fn operands(
    mut bytes: &[u8],
    function: &Function,
    values: impl Iterator<Item = Option<ValueId>>,
) -> Vec<Vec<u64>> {
    let mut found = Vec::new();
    for value in values {
        let Some(value) = value else {
            found.push(Vec::new());
            continue;
        };
        let (whole, lanes, size) = operand_bytes(function, value);
        let (own, after) = bytes.split_at_checked(whole).unwrap_or((bytes, &[]));
        let lane = |b: &[u8]| b.iter().rev().fold(0u64, |n, &byte| n << 8 | u64::from(byte));
        found.push(own.chunks_exact(size.max(1)).take(lanes).map(lane).collect());
        bytes = after;
    }
    found
}

/// An empty buffer.
pub fn buffer() -> Vec<u8> {
    let mut bytes = vec![0u8; BUFFER_BYTES];
    bytes[8..HEAD].copy_from_slice(&((BUFFER_BYTES - HEAD) as u64).to_le_bytes());
    bytes
}

/// The lines in a buffer that came back; true if some were lost.
pub fn lines(buffer: &[u8], module: &Module, kernel: &Generated) -> (Vec<Line>, bool) {
    let wide = |at: usize| -> u64 {
        let bytes = buffer.get(at..at + 8).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    };
    let (asked, room) = (wide(0), wide(8));
    let end = HEAD + asked.min(room) as usize;
    let mut found: Vec<(u64, Line)> = Vec::new();
    let mut at = HEAD;
    while at + LINE <= end {
        let (program, number, word) = (wide(at), wide(at + 8), wide(at + 16));
        let (place, bytes) = (word as u32 as usize, (word >> 32) as usize);
        let start = at + LINE;
        // What did not fit left nothing; nothing is behind it.
        let (Some(rest), Some(place), true) = (
            buffer.get(start..start + bytes),
            kernel.places.get(place),
            bytes > 0,
        ) else {
            break;
        };
        let function = &module.funcs[place.spot.function];
        let values = function.ops[place.spot.op].operands.iter().copied().map(Some);
        let operands = operands(rest, function, values);
        let spot = place.spot.clone();
        found.push((
            number,
            Line {
                spot,
                program,
                operands,
            },
        ));
        at = start + bytes;
    }
    found.sort_by_key(|(number, line)| (line.program, *number));
    (found.into_iter().map(|(_, line)| line).collect(), asked > room)
}
