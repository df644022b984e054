//! Linear layouts: which element of a tile each register of each thread holds.
//!
//! All sizes are powers of two, so an element of a tile is the bits of its row-major index, and a layout is a linear map over
//! GF(2) from the bits of the register number and the bits of the thread number to the bits of that index: one basis
//! vector per input bit, combined by exclusive or (Zhou et al., "Linear Layouts", 2025). Shape operations are linear maps
//! on index bits ([`IndexMap`]), so reading an operand through a `broadcast` or `trans` is a composition, and whether a thread
//! already holds what it wants is a small system of equations ([`Layout::registers_for`]).
//!
//! Left out: distributing one tile over several blocks.

mod blocked;
mod map;
mod picture;

pub use blocked::{Blocked, blocked, coordinate, drop_dimension, slice};
pub use map::{IndexMap, dimension_base};
pub use picture::picture;

/// Threads of a warp, as a power of two.
pub const LANE_BITS: usize = 5;

/// A linear map from registers and threads to elements.
///
/// `regs[i]` is the row-major index that bit i of the register number adds (by exclusive or), `threads[i]` the same for
/// bit i of the thread number: five bits of the lane, then those of the warp. A thread bit of zero means that threads
/// hold the same elements.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Layout {
    /// Per bit of the register number.
    pub regs: Vec<u32>,
    /// Per bit of the thread number.
    pub threads: Vec<u32>,
}

/// What a loop over registers reads: a layout with an offset, after any shape operations.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// The map; registers may repeat elements.
    pub layout: Layout,
    /// Combined into every index by exclusive or.
    pub offset: u32,
}

/// Register numbers as a function of other register numbers: one vector per bit, and an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterMap {
    /// Per bit of the register number asked for.
    pub bits: Vec<u32>,
    /// Combined into each by exclusive or.
    pub offset: u32,
}

impl Layout {
    /// Registers per thread.
    pub fn registers(&self) -> usize {
        1 << self.regs.len()
    }

    /// Threads.
    pub fn thread_count(&self) -> usize {
        1 << self.threads.len()
    }

    /// The element that a register of a thread holds.
    pub fn element(&self, register: u32, thread: u32) -> u32 {
        combine(&self.regs, register) ^ combine(&self.threads, thread)
    }

    /// Thread bits that change nothing: threads that differ only there hold the same elements.
    pub fn idle_threads(&self) -> u32 {
        let idle = self.threads.iter().enumerate().filter(|(_, basis)| **basis == 0);
        idle.fold(0, |mask, (bit, _)| mask | 1 << bit)
    }

    /// True when every one of `elements` elements is held somewhere.
    pub fn covers(&self, elements: usize) -> bool {
        let mut space = Space::default();
        for &basis in self.regs.iter().chain(&self.threads) {
            space.insert(basis);
        }
        elements.is_power_of_two() && space.dimension() == elements.trailing_zeros() as usize
    }

    /// The access that reads every register in order.
    pub fn identity(&self) -> Access {
        Access {
            layout: self.clone(),
            offset: 0,
        }
    }

    /// The registers of this layout that hold, in the same thread, what `access` asks for; none if some
    /// thread would need another thread's element.
    pub fn registers_for(&self, access: &Access) -> Option<RegisterMap> {
        if self.threads != access.layout.threads {
            return None;
        }
        let mut space = Space::default();
        for &basis in &self.regs {
            space.insert(basis);
        }
        let bits = access.layout.regs.iter().map(|&wanted| space.solve(wanted));
        Some(RegisterMap {
            bits: bits.collect::<Option<Vec<u32>>>()?,
            offset: space.solve(access.offset)?,
        })
    }
}

impl Access {
    /// The access of the operand, where this one is of the result of a shape operation.
    pub fn through(&self, map: &IndexMap) -> Access {
        let each = |bases: &[u32]| bases.iter().map(|&basis| map.apply(basis)).collect();
        Access {
            layout: Layout {
                regs: each(&self.layout.regs),
                threads: each(&self.layout.threads),
            },
            offset: map.apply(self.offset) ^ map.offset(),
        }
    }

    /// The element that a register of a thread asks for.
    pub fn element(&self, register: u32, thread: u32) -> u32 {
        self.layout.element(register, thread) ^ self.offset
    }
}

impl RegisterMap {
    /// The register asked for.
    pub fn apply(&self, register: u32) -> u32 {
        combine(&self.bits, register) ^ self.offset
    }
}

fn combine(bases: &[u32], number: u32) -> u32 {
    let set = bases.iter().enumerate().filter(|(bit, _)| number >> bit & 1 == 1);
    set.fold(0, |sum, (_, basis)| sum ^ basis)
}

/// A space over GF(2) in echelon form, each row with the combination of inserted vectors that makes it.
#[derive(Debug, Default)]
struct Space {
    rows: Vec<(u32, u32)>,
    inserted: u32,
}

impl Space {
    fn insert(&mut self, vector: u32) {
        let (rest, combination) = self.reduce(vector);
        let combination = combination ^ 1u32.checked_shl(self.inserted).unwrap_or(0);
        self.inserted += 1;
        if rest != 0 {
            self.rows.push((rest, combination));
            self.rows.sort_unstable_by_key(|row| std::cmp::Reverse(row.0));
        }
    }

    fn reduce(&self, vector: u32) -> (u32, u32) {
        self.rows
            .iter()
            .fold((vector, 0), |(rest, sum), &(row, combination)| {
                let leading = 31 - row.leading_zeros();
                match rest >> leading & 1 {
                    1 => (rest ^ row, sum ^ combination),
                    _ => (rest, sum),
                }
            })
    }

    /// Which inserted vectors add up to this one, as bits; none if it lies outside.
    fn solve(&self, vector: u32) -> Option<u32> {
        let (rest, combination) = self.reduce(vector);
        (rest == 0).then_some(combination)
    }

    fn dimension(&self) -> usize {
        self.rows.len()
    }
}

#[cfg(test)]
mod tests;
