//! `duplicate-store`: two active lanes of one store write to one address. The highest lane in row-major order
//! stays here; on the card any may.
//!
//! Looked for only where the addresses of a store do not rise from lane to lane and do not plainly differ; then
//! all of them are compared, so nothing is missed.

use crate::access::Access;
use crate::forms::Sum;
use crate::frame::{Form, Slot};
use crate::kind::Lane;
use crate::machine::Machine;
use crate::report::Reporter;
use crate::sink::{Detail, Entry, Key};
use tilescope_diagnostics::{Check, Finding, Severity, Value};

/// Looks at a store whose addresses do not rise.
pub fn look<T: Lane>(machine: &mut Machine<'_>, access: Access, value: Slot) {
    if let Form::Sum(sum, _) = machine.frame.form(access.pointers)
        && are_apart(&sum, access.elem as i64)
    {
        return;
    }
    let tile = machine.frame.tile::<T>(value, access.lanes);
    let mut lanes: Vec<(usize, usize, u32, u32)> = Vec::with_capacity(access.lanes);
    let _ = access.checked(machine, |_, piece| {
        for i in 0..piece.count {
            let offset = piece.offset + i * access.elem;
            lanes.push((piece.allocation, offset, (piece.lane + i) as u32, piece.tensor));
        }
    });
    lanes.sort_unstable();
    // Lanes that are overwritten, and of those the ones by another value.
    let (mut count, mut other) = (0, 0);
    let mut first: Option<(bool, u32, u32, usize, usize, u32)> = None;
    let same_place = |a: &(usize, usize, u32, u32), b: &(usize, usize, u32, u32)| (a.0, a.1) == (b.0, b.1);
    for group in lanes.chunk_by(same_place).filter(|group| group.len() > 1) {
        let (allocation, offset, last, tensor) = group[group.len() - 1];
        let kept = tile.lane(last as usize).to_bits();
        for &(_, _, lane, _) in &group[..group.len() - 1] {
            let differs = tile.lane(lane as usize).to_bits() != kept;
            count += 1;
            other += u64::from(differs);
            let found = (!differs, lane, last, allocation, offset, tensor);
            if first.is_none_or(|first| found < first) {
                first = Some(found);
            }
        }
    }
    let Some((equal, lane, by, allocation, offset, tensor)) = first else {
        return;
    };
    let key = Key {
        check: Check::DuplicateStore,
        at: machine.at,
        tensor,
    };
    let values = (
        tile.lane(lane as usize).to_bits(),
        tile.lane(by as usize).to_bits(),
    );
    let address = machine.context.memory.spans[allocation].0 + offset as u64;
    let lanes = if equal { count } else { other };
    machine.sink.report(key, lanes, || Detail::Duplicate {
        lane,
        by,
        address,
        values,
    });
    if !equal {
        machine.sink.worsen(key);
    }
}

/// True if no two lanes have one address: each stride reaches over all that is inside it.
fn are_apart(sum: &Sum, elem: i64) -> bool {
    let mut dims: Vec<(u64, u64)> = Vec::new();
    for dim in sum.dims() {
        if dim.vector {
            return false;
        }
        dims.push((dim.stride.unsigned_abs(), 1 << dim.log2));
    }
    dims.sort_unstable();
    let mut span = elem.unsigned_abs();
    dims.iter().all(|&(stride, size)| {
        let apart = size == 1 || stride >= span;
        span = span.saturating_add(stride.saturating_mul(size - 1));
        apart
    })
}

/// The finding of a store that overwrites its own lanes.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    lanes: (u32, u32),
    address: u64,
    values: (u64, u64),
) -> Finding {
    let name = reporter.tensor_name(key.tensor);
    let (lane, by) = lanes;
    let index = |lane| match reporter.lane_index(key.at, lane) {
        Some(index) => format!("{index:?}"),
        None => lane.to_string(),
    };
    let what = match values.0 == values.1 {
        true => "the same value",
        false => "different values",
    };
    let message = format!(
        "lanes {} and {} of one store write {what} to one element of {name}",
        index(lane),
        index(by)
    );
    let mut finding = reporter.start(key, entry, message);
    if entry.severe.is_none() {
        finding.severity = Severity::Note;
    }
    finding.lane = reporter.lane_index(key.at, lane);
    if let Some(target) = reporter.memory.target(key.tensor) {
        let offset = i128::from(address) - i128::from(target.base);
        finding.byte_offset = Some(offset);
        finding.element = target.view.element(offset);
    }
    finding.operands = vec![("address".into(), Value::Int(i128::from(address)))];
    finding.help = Some(
        "let each address be written by one lane: mask the others, combine them first, or use an atomic"
            .into(),
    );
    finding
}
