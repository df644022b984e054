//! The values of one running program: slots, planned once per launch.
//!
//! A slot holds a tile in one of a few forms. [`Form::Uniform`] is one value for all lanes (scalars,
//! splats) and takes no buffer; [`Form::Dense`] is one lane after the other, row-major. Every reader
//! takes either, so a further form needs a place here and nowhere else. Buffers grow on first use and
//! stay: running a program allocates nothing once the worker is warm.

use crate::kind::Lane;
use bytemuck::{Pod, Zeroable};

/// A slot of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A cache line: the unit of buffers, so that every buffer suits every vector width.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Line([u8; 64]);

/// How a slot holds its tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The same bits in every lane.
    Uniform(u64),
    /// One lane after the other in the slot's buffer.
    Dense,
}

/// The tensor that a pointer derives from: index into the launch's tensors plus one; 0 is none.
pub type Tensor = u32;

/// Provenance of the pointers in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    /// The same tensor for all lanes.
    Uniform(Tensor),
    /// One per lane.
    Dense(Vec<Tensor>),
}

impl Provenance {
    /// Derives from no tensor.
    pub const NONE: Provenance = Provenance::Uniform(0);

    /// The tensor of one lane.
    pub fn lane(&self, lane: usize) -> Tensor {
        match self {
            Provenance::Uniform(tensor) => *tensor,
            Provenance::Dense(lanes) => lanes.get(lane).copied().unwrap_or(0),
        }
    }
}

#[derive(Debug, Clone)]
struct SlotData {
    form: Form,
    buffer: Vec<Line>,
    provenance: Provenance,
}

/// The lanes of a slot, to read.
#[derive(Debug, Clone, Copy)]
pub enum Tile<'a, T> {
    /// The same value in every lane.
    Uniform(T),
    /// One per lane.
    Dense(&'a [T]),
}

impl<T: Copy> Tile<'_, T> {
    /// The value of one lane.
    #[inline(always)]
    pub fn lane(&self, lane: usize) -> T {
        match self {
            Tile::Uniform(value) => *value,
            Tile::Dense(lanes) => lanes[lane],
        }
    }
}

/// A buffer taken out of its slot to be written; give it back with [`Frame::put`].
#[derive(Debug)]
pub struct Taken(Vec<Line>);

impl Taken {
    /// The first `lanes` lanes.
    #[inline]
    pub fn lanes<T: Lane>(&mut self, lanes: usize) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.0)[..lanes]
    }
}

/// All slots of a program.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    slots: Vec<SlotData>,
}

impl Frame {
    /// A frame of `slots` slots, all zero.
    pub fn new(slots: usize) -> Frame {
        let empty = SlotData {
            form: Form::Uniform(0),
            buffer: Vec::new(),
            provenance: Provenance::NONE,
        };
        Frame {
            slots: vec![empty; slots],
        }
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True without slots.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes held by buffers.
    pub fn bytes(&self) -> usize {
        self.slots
            .iter()
            .map(|s| s.buffer.len() * size_of::<Line>())
            .sum()
    }

    /// The form of a slot.
    #[inline]
    pub fn form(&self, slot: Slot) -> Form {
        self.slots[slot.index()].form
    }

    /// The bits of a slot that is uniform.
    #[inline]
    pub fn uniform(&self, slot: Slot) -> Option<u64> {
        match self.form(slot) {
            Form::Uniform(bits) => Some(bits),
            Form::Dense => None,
        }
    }

    /// The bits of a scalar slot; lane 0 of a tile.
    #[inline]
    pub fn scalar<T: Lane>(&self, slot: Slot) -> T {
        self.tile::<T>(slot, 1).lane(0)
    }

    /// The lanes of a slot.
    #[inline]
    pub fn tile<T: Lane>(&self, slot: Slot, lanes: usize) -> Tile<'_, T> {
        let data = &self.slots[slot.index()];
        match data.form {
            Form::Uniform(bits) => Tile::Uniform(T::from_bits(bits)),
            Form::Dense => Tile::Dense(&bytemuck::cast_slice(&data.buffer)[..lanes]),
        }
    }

    /// Makes a slot uniform.
    #[inline]
    pub fn set_uniform(&mut self, slot: Slot, bits: u64) {
        self.slots[slot.index()].form = Form::Uniform(bits);
    }

    /// Takes a slot's buffer out, large enough for `lanes` lanes, to write all of them.
    ///
    /// The slot must be none of those read while it is out.
    #[inline]
    pub fn take<T: Lane>(&mut self, slot: Slot, lanes: usize) -> Taken {
        let mut buffer = std::mem::take(&mut self.slots[slot.index()].buffer);
        let lines = (lanes * size_of::<T>()).div_ceil(size_of::<Line>());
        if buffer.len() < lines {
            buffer.resize(lines, Line([0; 64]));
        }
        Taken(buffer)
    }

    /// Gives a written buffer back: the slot is dense.
    #[inline]
    pub fn put(&mut self, slot: Slot, buffer: Taken) {
        let data = &mut self.slots[slot.index()];
        data.buffer = buffer.0;
        data.form = Form::Dense;
    }

    /// Writes `lanes` lanes given by a function of the lane; uniform if there is one lane.
    #[inline]
    pub fn fill<T: Lane>(&mut self, slot: Slot, lanes: usize, lane: impl Fn(&Frame, usize) -> T) {
        if lanes == 1 {
            let value = lane(self, 0);
            self.set_uniform(slot, value.to_bits());
            return;
        }
        let mut buffer = self.take::<T>(slot, lanes);
        for (i, out) in buffer.lanes::<T>(lanes).iter_mut().enumerate() {
            *out = lane(self, i);
        }
        self.put(slot, buffer);
    }

    /// Makes a uniform slot dense, so that its lanes can be written one by one.
    pub fn densify<T: Lane>(&mut self, slot: Slot, lanes: usize) {
        if let Form::Uniform(bits) = self.form(slot) {
            let mut buffer = self.take::<T>(slot, lanes);
            buffer.lanes::<T>(lanes).fill(T::from_bits(bits));
            self.put(slot, buffer);
        }
    }

    /// Provenance of a pointer slot.
    #[inline]
    pub fn provenance(&self, slot: Slot) -> &Provenance {
        &self.slots[slot.index()].provenance
    }

    /// Sets the provenance of a pointer slot.
    #[inline]
    pub fn set_provenance(&mut self, slot: Slot, provenance: Provenance) {
        self.slots[slot.index()].provenance = provenance;
    }

    /// Exchanges two slots, buffers and all.
    #[inline]
    pub fn swap(&mut self, a: Slot, b: Slot) {
        self.slots.swap(a.index(), b.index());
    }

    /// Copies a slot with `bytes` bytes of dense lanes.
    pub fn copy(&mut self, from: Slot, to: Slot, bytes: usize) {
        if from == to {
            return;
        }
        match self.form(from) {
            Form::Uniform(bits) => self.set_uniform(to, bits),
            Form::Dense => {
                let mut buffer = self.take::<u8>(to, bytes);
                if let Tile::Dense(lanes) = self.tile::<u8>(from, bytes) {
                    buffer.lanes::<u8>(bytes).copy_from_slice(lanes);
                }
                self.put(to, buffer);
            }
        }
        if self.provenance(to) != self.provenance(from) {
            let provenance = self.provenance(from).clone();
            self.set_provenance(to, provenance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_uniform_until_written_densely() {
        let mut frame = Frame::new(2);
        frame.set_uniform(Slot(0), 7);
        assert_eq!(frame.tile::<u32>(Slot(0), 4).lane(3), 7);
        frame.fill::<u32>(Slot(1), 4, |f, i| f.tile::<u32>(Slot(0), 4).lane(i) + i as u32);
        assert_eq!(frame.uniform(Slot(1)), None);
        assert_eq!(frame.tile::<u32>(Slot(1), 4).lane(3), 10);
        frame.copy(Slot(1), Slot(0), 16);
        assert_eq!(frame.tile::<u32>(Slot(0), 4).lane(2), 9);
        frame.set_uniform(Slot(1), 1);
        frame.swap(Slot(0), Slot(1));
        assert_eq!(
            (frame.uniform(Slot(0)), frame.tile::<u32>(Slot(1), 4).lane(1)),
            (Some(1), 8)
        );
    }
}
