//! Loads and stores themselves: runs are copied, what is at fault is left out, and what the checks follow is kept.

use super::{Access, Verdict};
use crate::analysis::pointees::Storages;
use crate::checks::duplicate;
use crate::frame::{Form, Slot, Tile};
use crate::kind::Lane;
use crate::machine::Machine;
use crate::ordered;
use crate::races::Touch;
use crate::sink::AccessKind;
use crate::steps::atomic;
use tilescope_diagnostics::Check;

/// Loads into `out`; masked-off lanes take `other`, or 0.
pub fn load<T: Lane>(machine: &mut Machine<'_>, access: Access, other: Option<Slot>, out: Slot) {
    atomic::flush_before(machine, access);
    let lanes = access.lanes;
    let form = (
        machine.frame.uniform(access.pointers),
        access.mask.map(|m| machine.frame.uniform(m)),
    );
    if let (Some(_), None | Some(Some(1))) = form {
        // One address, all lanes active: one element for all.
        let mut value = T::from_bits(0);
        let single = Access { lanes: 1, ..access };
        let faults = single.checked(machine, |memory, piece| {
            memory
                .shared
                .read(piece.allocation, piece.offset, std::slice::from_mut(&mut value));
        });
        // A fault is one of each lane, so it is left to what follows.
        if faults.is_empty() {
            machine.frame.set_uniform(out, value.to_bits());
            return;
        }
    }
    if let Some(Some(0)) = form.1 {
        match other {
            Some(other) => machine.frame.copy(other, out, lanes * size_of::<T>()),
            None => machine.frame.set_uniform(out, 0),
        }
        return;
    }
    let all_active = matches!(form.1, None | Some(Some(1)));
    let mut buffer = machine.frame.take::<T>(out, lanes);
    let result = buffer.lanes::<T>(lanes);
    // Active lanes are all written below, faulty ones too.
    let inactive = match access.mask.map(|mask| machine.frame.form(mask)) {
        _ if all_active => [0..0, 0..0],
        Some(Form::Box(mask)) if mask.rows == 1 => [0..mask.lo as usize, mask.hi as usize..lanes],
        _ => [0..lanes, 0..0],
    };
    for part in inactive {
        match other.map(|other| machine.frame.tile::<T>(other, lanes)) {
            Some(Tile::Uniform(value)) => result[part].fill(value),
            Some(Tile::Dense(values)) => result[part.clone()].copy_from_slice(&values[part]),
            None => result[part].fill(T::from_bits(0)),
        }
    }
    let (scattered, strided) = match all_active {
        true => (access.scattered(machine), access.strided(machine)),
        false => (None, None),
    };
    let memory = &machine.context.memory;
    if let Some((target, sum, vector)) = strided {
        let (row, stride) = sum.innermost();
        for (i, row_lanes) in result.chunks_exact_mut(row).enumerate() {
            let mut address = sum.at(i * row, vector);
            for lane in row_lanes {
                let offset = (address as u64 - target.base) as usize;
                memory
                    .shared
                    .read(target.allocation, offset, std::slice::from_mut(lane));
                address += stride;
            }
        }
    } else if let Some((target, pointers)) = scattered {
        for (lane, pointer) in result.iter_mut().zip(pointers) {
            let offset = (pointer - target.base) as usize;
            memory
                .shared
                .read(target.allocation, offset, std::slice::from_mut(lane));
        }
    } else {
        let doubtful = access.pieces(machine, |memory, piece| {
            memory.shared.read(
                piece.allocation,
                piece.offset,
                &mut result[piece.lane..piece.lane + piece.count],
            );
        });
        if doubtful {
            clear_faulty(machine, access, result);
        }
    }
    let bits = result[0].to_bits();
    machine.frame.put(out, buffer);
    if lanes == 1 {
        machine.frame.set_uniform(out, bits);
    }
}

/// Sets active lanes that must not be read to 0.
fn clear_faulty<T: Lane>(machine: &Machine<'_>, access: Access, result: &mut [T]) {
    let memory = &machine.context.memory;
    access.runs(machine, |run| {
        for i in 0..run.count {
            let address = run.address.wrapping_add((access.elem * i) as u64);
            if let Verdict::Fault(_) = memory.judge(run.tensor, access.kind, address, access.elem as u64) {
                result[run.lane + i] = T::from_bits(0);
            }
        }
    });
}

/// Lanes of a splat that are written at once.
const SPLAT: usize = 64;

/// Stores the lanes of `value`; where several lanes hit one address, the highest wins.
pub fn store<T: Lane>(machine: &mut Machine<'_>, access: Access, value: Slot) {
    let slot = value;
    atomic::flush_before(machine, access);
    machine.wrote = true;
    if machine.context.memory.compare.is_some() {
        compare::<T>(machine, access, value);
        return;
    }
    let mut written = std::mem::take(&mut machine.sink.written);
    let mut noted = std::mem::take(&mut machine.sink.noted);
    let mut watched = machine.context.memory.races.watched;
    if access.kind == AccessKind::Atomic {
        // Noted by the atomic.
        watched = Storages::NONE;
    } else if machine.ordered.is_some() {
        ordered::note(machine, access, Touch::Write);
        watched = Storages::NONE;
    }
    let (at, linear) = (machine.at, machine.linear);
    // Whether every piece begins behind the last one.
    let (mut rising, mut reach) = (true, 0);
    // Read in place: the value may be in the slot of the pointers (their addresses) or of the mask.
    let value = machine.frame.tile::<T>(value, access.lanes);
    let splat = match value {
        Tile::Uniform(value) => [value; SPLAT],
        Tile::Dense(_) => [T::from_bits(0); SPLAT],
    };
    let faults = access.checked(machine, |memory, piece| {
        match value {
            Tile::Dense(lanes) => {
                let source = &lanes[piece.lane..piece.lane + piece.count];
                memory.shared.write(piece.allocation, piece.offset, source);
            }
            Tile::Uniform(_) => {
                for done in (0..piece.count).step_by(SPLAT) {
                    let part = SPLAT.min(piece.count - done);
                    memory.shared.write(
                        piece.allocation,
                        piece.offset + done * size_of::<T>(),
                        &splat[..part],
                    );
                }
            }
        }
        let end = piece.offset + piece.count * size_of::<T>();
        if let Some(log) = &mut written[piece.allocation] {
            log.add(piece.offset as u64, end as u64);
        }
        memory
            .initialised
            .note(&machine.own, piece.allocation, piece.offset, end);
        if !watched.is_empty() {
            memory.races.note(
                memory,
                &mut noted,
                size_of::<T>(),
                piece,
                at,
                Touch::Write,
                linear,
            );
        }
        rising &= piece.offset >= reach;
        reach = end;
    });
    machine.sink.written = written;
    machine.sink.noted = noted;
    access.report(machine, faults);
    if !rising
        && access.kind == AccessKind::Store
        && machine.context.memory.checks.contains(Check::DuplicateStore)
    {
        duplicate::look::<T>(machine, access, slot);
    }
}

/// Compares what would be stored with what is there; what is at fault is reported as by a store.
fn compare<T: Lane>(machine: &mut Machine<'_>, access: Access, value: Slot) {
    let tile = machine.frame.tile::<T>(value, access.lanes);
    let size = size_of::<T>();
    let faults = access.checked(machine, |memory, piece| {
        let Some(compare) = &memory.compare else { return };
        let (allocation, first) = (piece.allocation, piece.offset);
        for bytes in compare.wanted(allocation, first..first + piece.count * size) {
            // The elements that begin there.
            let elements = (bytes.start - first).div_ceil(size)..(bytes.end - first).div_ceil(size);
            for from in elements.clone().step_by(SPLAT) {
                let mut there = [T::from_bits(0); SPLAT];
                let there = &mut there[..SPLAT.min(elements.end - from)];
                memory.shared.read(allocation, first + from * size, there);
                let would = (from..).map(|i| tile.lane(piece.lane + i).to_bits());
                if there.iter().zip(would).any(|(is, would)| is.to_bits() != would) {
                    compare.differs(allocation);
                    return;
                }
            }
        }
    });
    access.report(machine, faults);
}
