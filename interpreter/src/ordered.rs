//! Races in launches whose programs synchronise, found while they run.
//!
//! Programs that wait for each other run on one worker in one interleaving ([`crate::schedule`]). Every program has
//! a vector clock; an atomic that releases leaves its clock at its address, one that acquires takes what it finds
//! there. Two accesses race if neither happens before the other by these clocks (the method of FastTrack, by
//! Flanagan and Freund, with all unordered accesses of a byte kept, not only the last). A relaxed
//! read-modify-write leaves what was released in place and takes nothing. Atomics whose scope is one program
//! order nothing and count as plain accesses.
//!
//! What is found holds for this interleaving: another order of the programs may show other races.

use crate::access::{Access, Piece};
use crate::machine::Machine;
use crate::races::{Found, Race, Touch, Who, keep_first};
use std::collections::{BTreeMap, HashMap};
use tilescope_ir::attrs::{Scope, Semantic};

/// What an atomic orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orders {
    /// It takes what was released at its address.
    pub acquire: bool,
    /// It releases all that its program did before.
    pub release: bool,
    /// How others see it.
    pub touch: Touch,
}

impl Orders {
    /// By the memory order and scope of the operation; `writes` if it does.
    pub fn new(semantic: Semantic, scope: Scope, writes: bool) -> Orders {
        let between = scope != Scope::Cta;
        Orders {
            acquire: between && matches!(semantic, Semantic::Acquire | Semantic::AcquireRelease),
            release: between && writes && matches!(semantic, Semantic::Release | Semantic::AcquireRelease),
            touch: match (between, writes) {
                (true, _) => Touch::Atomic,
                (false, true) => Touch::Write,
                (false, false) => Touch::Read,
            },
        }
    }

    /// Orders nothing between programs.
    pub const RELAXED: Orders = Orders {
        acquire: false,
        release: false,
        touch: Touch::Atomic,
    };
}

/// Per program, the number of its last release that is known.
type Clock = Vec<u32>;

/// Address: allocation and byte offset.
type Address = (u32, u64);

/// An access: program, its epoch, and which instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ref {
    program: u32,
    epoch: u32,
    who: u32,
}

/// Accesses of the bytes up to `end` that nothing has ordered yet.
#[derive(Debug, Clone)]
struct Cell {
    end: u64,
    refs: Vec<Ref>,
}

#[derive(Debug, Default)]
struct Program {
    clock: Clock,
    /// What was taken last at an address: nothing new, nothing to take.
    seen: HashMap<Address, u64>,
}

#[derive(Debug, Default)]
struct Released {
    clock: Clock,
    version: u64,
}

/// The state of the detector.
#[derive(Debug, Default)]
pub struct Ordered {
    programs: HashMap<u32, Program>,
    released: HashMap<Address, Released>,
    shadow: HashMap<u32, BTreeMap<u64, Cell>>,
    who: Vec<Who>,
    /// Races of two instructions, with the bytes.
    races: BTreeMap<(u32, u32), (Race, Pieces)>,
}

/// Ends of pieces of an allocation by their starts.
type Pieces = BTreeMap<u64, u64>;

fn join(into: &mut Clock, from: &Clock) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Ordered {
    /// What was found. Reads of what several programs write have their cause there, and are left out.
    pub fn found(self) -> Found {
        let races = self.races.into_values();
        let (writes, reads): (Vec<_>, Vec<_>) = races.partition(|(race, _)| race.is_write_write());
        let is_written = |allocation: u32, start: u64, end: u64| {
            let same = writes
                .iter()
                .filter(|(race, _)| race.later.allocation == allocation);
            same.flat_map(|(_, pieces)| pieces)
                .any(|(&from, &to)| from < end && start < to)
        };
        let is_own = |(race, pieces): &(Race, Pieces)| {
            let mut pieces = pieces.iter();
            pieces.any(|(&start, &end)| !is_written(race.later.allocation, start, end))
        };
        let reads: Vec<Race> = reads.into_iter().filter(is_own).map(|(race, _)| race).collect();
        let mut races: Vec<Race> = writes.into_iter().map(|(race, _)| race).collect();
        races.extend(reads);
        Found {
            races,
            ..Found::default()
        }
    }

    /// A program has ended: nobody asks for its clock any more.
    pub fn end(&mut self, program: u64) {
        self.programs.remove(&number(program));
    }

    fn clock(&mut self, program: u32) -> &mut Program {
        self.programs.entry(program).or_insert_with(|| {
            let mut clock = vec![0; program as usize + 1];
            clock[program as usize] = 1;
            Program {
                clock,
                seen: HashMap::new(),
            }
        })
    }

    fn acquire(&mut self, program: u32, address: Address) {
        self.clock(program);
        if let (Some(released), Some(own)) = (self.released.get(&address), self.programs.get_mut(&program))
            && own.seen.insert(address, released.version) != Some(released.version)
        {
            join(&mut own.clock, &released.clock);
        }
    }

    /// `joins` if what was released there before stays: by a read-modify-write.
    fn release(&mut self, program: u32, address: Address, joins: bool) {
        let own = self.clock(program);
        let clock = own.clock.clone();
        own.clock[program as usize] += 1;
        let released = self.released.entry(address).or_default();
        if !joins {
            released.clock.clear();
        }
        join(&mut released.clock, &clock);
        released.version += 1;
    }

    /// A program touches a piece of an allocation.
    fn touch(&mut self, program: u32, who: Who, start: u64, end: u64) {
        let index = self
            .who
            .iter()
            .position(|known| *known == who)
            .unwrap_or_else(|| {
                self.who.push(who);
                self.who.len() - 1
            });
        let clock = std::mem::take(&mut self.clock(program).clock);
        let own = Ref {
            program,
            epoch: clock[program as usize],
            who: index as u32,
        };
        let (whos, races) = (&self.who, &mut self.races);
        let cells = self.shadow.entry(who.allocation).or_default();
        split(cells, start);
        split(cells, end);
        let mut at = start;
        while at < end {
            let next = cells.range(at..end).next().map(|(&start, _)| start);
            match next {
                Some(next) if next == at => {}
                gap => {
                    let stop = gap.unwrap_or(end);
                    cells.insert(
                        at,
                        Cell {
                            end: stop,
                            refs: Vec::new(),
                        },
                    );
                }
            }
            let Some(cell) = cells.get_mut(&at) else { break };
            if !cell.refs.contains(&own) {
                for other in &cell.refs {
                    let theirs = whos[other.who as usize];
                    let before = clock.get(other.program as usize).copied().unwrap_or(0) >= other.epoch;
                    if other.program != program && !before && theirs.touch.conflicts(who.touch) {
                        let mut race = race((program, who), (other.program, theirs), at, cell.end);
                        let pair = (own.who.min(other.who), own.who.max(other.who));
                        let start = (Race { bytes: 0, ..race }, Pieces::new());
                        let (known, pieces) = races.entry(pair).or_insert(start);
                        if pieces.insert(at, cell.end).is_some() {
                            race.bytes = 0;
                        }
                        keep_first(known, race);
                    }
                }
                // What happens before this access can be forgotten where this one stands for it.
                cell.refs.retain(|other| {
                    let theirs = whos[other.who as usize];
                    let before = other.program == program
                        || clock.get(other.program as usize).copied().unwrap_or(0) >= other.epoch;
                    let stands_for = who.touch == Touch::Write || who.touch == theirs.touch;
                    !(before && stands_for) && who.touch != Touch::Write
                });
                cell.refs.push(own);
            }
            at = cell.end;
        }
        self.clock(program).clock = clock;
    }
}

/// The race of two programs' accesses.
fn race(own: (u32, Who), other: (u32, Who), start: u64, end: u64) -> Race {
    let (later, earlier) = if own.0 > other.0 {
        (own, other)
    } else {
        (other, own)
    };
    Race {
        later: later.1,
        earlier: earlier.1,
        programs: (later.0, earlier.0),
        offset: start,
        bytes: end - start,
    }
}

/// Cuts the cell around an offset in two.
fn split(cells: &mut BTreeMap<u64, Cell>, at: u64) {
    if let Some((&start, cell)) = cells.range_mut(..at).next_back()
        && cell.end > at
        && start < at
    {
        let rest = cell.clone();
        cell.end = at;
        cells.insert(at, rest);
    }
}

fn number(program: u64) -> u32 {
    u32::try_from(program).unwrap_or(u32::MAX - 1)
}

/// Notes an access of a program that may be ordered with others.
pub fn note(machine: &mut Machine<'_>, access: Access, touch: Touch) {
    let Some(mut ordered) = machine.ordered.take() else {
        return;
    };
    let (at, program) = (machine.at, number(machine.linear));
    let _ = access.checked(machine, |memory, piece| {
        if memory.races.watched.contains(piece.allocation) {
            let end = (piece.offset + piece.count * access.elem) as u64;
            ordered.touch(program, who(access, piece, at, touch), piece.offset as u64, end);
        }
    });
    machine.ordered = Some(ordered);
}

fn who(access: Access, piece: Piece, at: crate::tape::At, touch: Touch) -> Who {
    Who {
        allocation: piece.allocation as u32,
        tensor: piece.tensor,
        at,
        touch,
        elem: access.elem as u32,
    }
}

/// Before an atomic acts: takes what was released at the addresses of its lanes.
pub fn acquire(machine: &mut Machine<'_>, access: Access, orders: Orders) {
    if !orders.acquire {
        return;
    }
    each_address(machine, access, |_| true, Ordered::acquire);
}

/// After an atomic acted in some lanes: releases at their addresses.
pub fn release(
    machine: &mut Machine<'_>,
    access: Access,
    orders: Orders,
    joins: bool,
    acted: impl Fn(usize) -> bool,
) {
    if orders.release {
        each_address(machine, access, acted, |ordered, program, address| {
            ordered.release(program, address, joins);
        });
    } else if !joins && machine.ordered.is_some() {
        // A plain write, even if atomic, ends what was released there.
        each_address(machine, access, acted, |ordered, _, address| {
            if let Some(released) = ordered.released.get_mut(&address) {
                released.clock.clear();
                released.version += 1;
            }
        });
    }
}

fn each_address(
    machine: &mut Machine<'_>,
    access: Access,
    acted: impl Fn(usize) -> bool,
    mut each: impl FnMut(&mut Ordered, u32, Address),
) {
    let Some(mut ordered) = machine.ordered.take() else {
        return;
    };
    let program = number(machine.linear);
    let _ = access.checked(machine, |_, piece| {
        for i in (0..piece.count).filter(|i| acted(piece.lane + i)) {
            let address = (piece.allocation as u32, (piece.offset + i * access.elem) as u64);
            each(&mut ordered, program, address);
        }
    });
    machine.ordered = Some(ordered);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::At;

    fn who(at: u32, touch: Touch) -> Who {
        Who {
            allocation: 0,
            tensor: 1,
            at: At(at),
            touch,
            elem: 4,
        }
    }

    #[test]
    fn a_release_and_an_acquire_order_and_a_relaxed_update_does_not() {
        let flag = (1, 0);
        for (acquires, races) in [(true, 0), (false, 1)] {
            let mut ordered = Ordered::default();
            ordered.touch(0, who(1, Touch::Write), 0, 64);
            ordered.release(0, flag, true);
            if acquires {
                ordered.acquire(1, flag);
            }
            ordered.touch(1, who(2, Touch::Read), 32, 40);
            let found = ordered.found();
            assert_eq!(found.races.len(), races);
            assert!(
                found
                    .races
                    .iter()
                    .all(|r| (r.programs, r.offset, r.bytes) == ((1, 0), 32, 8))
            );
        }
    }

    #[test]
    fn what_is_done_after_the_release_is_not_ordered() {
        let flag = (1, 0);
        let mut ordered = Ordered::default();
        ordered.release(3, flag, true);
        ordered.touch(3, who(1, Touch::Write), 0, 4);
        ordered.acquire(1, flag);
        ordered.touch(1, who(2, Touch::Write), 0, 4);
        let races = ordered.found().races;
        assert_eq!(races.len(), 1);
        // The program that is later in linear order comes first, whenever it ran.
        assert_eq!((races[0].programs, races[0].later.at), ((3, 1), At(1)));
    }

    #[test]
    fn all_unordered_updates_are_kept_not_only_the_last() {
        let flag = (1, 0);
        let mut ordered = Ordered::default();
        ordered.touch(0, who(1, Touch::Atomic), 0, 4);
        ordered.touch(1, who(1, Touch::Atomic), 0, 4);
        ordered.release(1, flag, true);
        ordered.acquire(2, flag);
        // Ordered after program 1's update, but not after program 0's.
        ordered.touch(2, who(2, Touch::Read), 0, 4);
        let races = ordered.found().races;
        assert_eq!(races.iter().map(|r| r.programs).collect::<Vec<_>>(), [(2, 0)]);
    }
}
