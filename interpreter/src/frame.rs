//! The values of one running program: slots, planned once per launch.
//!
//! A slot holds a tile in one of a few forms. [`Form::Uniform`] is one value for all lanes (scalars,
//! splats) and takes no buffer; [`Form::Dense`] is one lane after the other, row-major. Every step reads
//! these two. The symbolic forms of [`crate::forms`] are read only by steps that say so; for all others
//! the machine writes their operands' lanes out first ([`Frame::flatten`]), beside the form, which stays.
//! Buffers grow on first use and stay: running a program allocates nothing once the worker is warm.
//!
//! While a chain of operations runs block by block, slots from outside it are seen through a window
//! ([`Frame::window`]): as dense lanes that begin at the block.

use crate::ahead::Ahead;
use crate::forms::{Box as MaskBox, Mask, Sum};
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
    /// Integers or addresses by formula, of lanes of so many bytes; a vector, if the sum has one, is in
    /// the buffer as 64-bit integers.
    Sum(Sum, u8),
    /// Truth values: a box of true lanes.
    Box(MaskBox),
    /// Truth values: an interval per row of `len` lanes, as pairs of 32-bit integers in the buffer.
    Ragged {
        /// Lanes of a row.
        len: u32,
        /// Rows.
        rows: u32,
    },
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
    /// The lanes of a symbolic slot are in `beside`.
    flat: bool,
    /// Only the lanes from `start` on are seen.
    windowed: bool,
    /// In lines of the buffer.
    start: u32,
    /// Lanes from this number on are all the same, if it is dense.
    alike: u32,
    buffer: Vec<Line>,
    /// Lanes of a symbolic slot, beside its form.
    beside: Vec<Line>,
    provenance: Provenance,
}

impl SlotData {
    const EMPTY: SlotData = SlotData {
        form: Form::Uniform(0),
        flat: false,
        windowed: false,
        start: 0,
        alike: u32::MAX,
        buffer: Vec::new(),
        beside: Vec::new(),
        provenance: Provenance::NONE,
    };

    /// The lines that lanes are in, from the first that is seen. A call, because hundreds of loops ask.
    #[inline(never)]
    fn lanes(&self) -> &[Line] {
        let lines = match self.form {
            Form::Dense => &self.buffer,
            _ if self.flat => &self.beside,
            // The machine flattens the operands of every step that does not read forms itself.
            _ => panic!("internal error: a symbolic tile was read as lanes"),
        };
        &lines[self.start as usize..]
    }
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
    /// What is the same in all programs is there.
    pub prepared: bool,
    /// Memory that will be read soon.
    pub ahead: Ahead,
}

impl Frame {
    /// A frame of `slots` slots, all zero.
    pub fn new(slots: usize) -> Frame {
        Frame {
            slots: std::iter::repeat_with(|| SlotData::EMPTY).take(slots).collect(),
            prepared: false,
            ahead: Ahead::default(),
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

    /// Bytes held, by slots and their buffers.
    pub fn bytes(&self) -> usize {
        let slot = |s: &SlotData| {
            let tensors = match &s.provenance {
                Provenance::Uniform(_) => 0,
                Provenance::Dense(lanes) => lanes.len() * size_of::<Tensor>(),
            };
            size_of::<SlotData>() + (s.buffer.len() + s.beside.len()) * size_of::<Line>() + tensors
        };
        self.slots.iter().map(slot).sum()
    }

    /// The form of a slot.
    #[inline]
    pub fn form(&self, slot: Slot) -> Form {
        let data = &self.slots[slot.index()];
        match data.form {
            Form::Uniform(bits) => Form::Uniform(bits),
            _ if data.windowed => Form::Dense,
            form => form,
        }
    }

    /// The bits of a slot that is uniform.
    #[inline]
    pub fn uniform(&self, slot: Slot) -> Option<u64> {
        match self.slots[slot.index()].form {
            Form::Uniform(bits) => Some(bits),
            _ => None,
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
            _ => Tile::Dense(&bytemuck::cast_slice(data.lanes())[..lanes]),
        }
    }

    /// The number from which on all lanes of a slot are known to be the same.
    #[inline]
    pub fn alike_from(&self, slot: Slot) -> usize {
        let data = &self.slots[slot.index()];
        match data.form {
            Form::Uniform(_) => 0,
            Form::Dense if !data.windowed => data.alike as usize,
            _ => usize::MAX,
        }
    }

    /// Notes that all lanes of a dense slot are the same from a number on, until it is written again.
    #[inline]
    pub fn set_alike_from(&mut self, slot: Slot, lane: usize) {
        self.slots[slot.index()].alike = u32::try_from(lane).unwrap_or(u32::MAX);
    }

    /// True for a slot that is neither uniform nor dense.
    #[inline]
    pub fn is_symbolic(&self, slot: Slot) -> bool {
        let data = &self.slots[slot.index()];
        !matches!(data.form, Form::Uniform(_) | Form::Dense) && !data.windowed
    }

    /// Writes the lanes of a symbolic slot out, so that it can be read as dense.
    #[inline]
    pub fn flatten(&mut self, slot: Slot) {
        if self.is_symbolic(slot) && !self.slots[slot.index()].flat {
            self.flatten_form(slot);
        }
    }

    /// From now on only the lanes from number `first` on are seen, of `bytes` bytes each; a multiple of 64
    /// bytes in all. Symbolic slots must be flat.
    #[inline]
    pub fn window(&mut self, slot: Slot, first: usize, bytes: usize) {
        let data = &mut self.slots[slot.index()];
        data.windowed = true;
        data.start = (first * bytes / size_of::<Line>()) as u32;
    }

    /// All lanes of the slot are seen again.
    #[inline]
    pub fn unwindow(&mut self, slot: Slot) {
        let data = &mut self.slots[slot.index()];
        data.windowed = false;
        data.start = 0;
    }

    /// Copies a block of lanes, of `bytes` bytes each, into a slot that has `lanes` of them in all: they are
    /// those from number `first` on. The slot is dense.
    pub fn deposit(&mut self, from: Slot, to: Slot, bytes: usize, first: usize, block: usize, lanes: usize) {
        let mut buffer = self.take::<u8>(to, lanes * bytes);
        let out = &mut buffer.lanes::<u8>(lanes * bytes)[first * bytes..(first + block) * bytes];
        let data = &self.slots[from.index()];
        match data.form {
            Form::Uniform(bits) => match bytes {
                1 => out.fill(bits as u8),
                2 => bytemuck::cast_slice_mut::<u8, u16>(out).fill(bits as u16),
                4 => bytemuck::cast_slice_mut::<u8, u32>(out).fill(bits as u32),
                _ => bytemuck::cast_slice_mut::<u8, u64>(out).fill(bits),
            },
            _ => out.copy_from_slice(&bytemuck::cast_slice(data.lanes())[..block * bytes]),
        }
        self.put(to, buffer);
    }

    fn flatten_form(&mut self, slot: Slot) {
        let form = self.form(slot);
        let lanes = match form {
            Form::Sum(sum, _) => 1usize << sum.log2(),
            Form::Box(mask) => mask.lanes(),
            Form::Ragged { len, rows } => len as usize * rows as usize,
            Form::Uniform(_) | Form::Dense => return,
        };
        let bytes = if let Form::Sum(_, bytes) = form {
            bytes as usize
        } else {
            1
        };
        let lines = (lanes * bytes).div_ceil(size_of::<Line>());
        let mut out = std::mem::take(&mut self.slots[slot.index()].beside);
        if out.len() < lines {
            out.resize(lines, Line([0; 64]));
        }
        match form {
            Form::Sum(sum, 1) => write_sum(
                &sum,
                self.vector(slot),
                &mut bytemuck::cast_slice_mut(&mut out)[..lanes],
                |x| x as u8,
            ),
            Form::Sum(sum, 2) => write_sum(
                &sum,
                self.vector(slot),
                &mut bytemuck::cast_slice_mut(&mut out)[..lanes],
                |x| x as u16,
            ),
            Form::Sum(sum, 4) => write_sum(
                &sum,
                self.vector(slot),
                &mut bytemuck::cast_slice_mut(&mut out)[..lanes],
                |x| x as u32,
            ),
            Form::Sum(sum, _) => write_sum(
                &sum,
                self.vector(slot),
                &mut bytemuck::cast_slice_mut(&mut out)[..lanes],
                |x| x as u64,
            ),
            Form::Box(mask) => {
                let bits: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut out)[..lanes];
                bits.fill(0);
                for row in bits
                    .chunks_exact_mut(mask.len as usize)
                    .take(mask.last as usize)
                    .skip(mask.first as usize)
                {
                    if mask.lo < mask.hi {
                        row[mask.lo as usize..mask.hi as usize].fill(1);
                    }
                }
            }
            _ => {
                let bits: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut out)[..lanes];
                bits.fill(0);
                let (len, intervals) = self.intervals(slot);
                for (row, &[lo, hi]) in bits.chunks_exact_mut(len as usize).zip(intervals) {
                    if lo < hi {
                        row[lo as usize..hi as usize].fill(1);
                    }
                }
            }
        }
        let data = &mut self.slots[slot.index()];
        data.beside = out;
        data.flat = true;
    }

    /// Gives a slot a symbolic form, whose lanes are written nowhere yet.
    #[inline]
    fn set_form(&mut self, slot: Slot, form: Form) {
        let data = &mut self.slots[slot.index()];
        data.form = form;
        data.flat = false;
    }

    /// The vector of a slot that is a sum; empty if it has none.
    pub fn vector(&self, slot: Slot) -> &[i64] {
        let data = &self.slots[slot.index()];
        match data.form {
            Form::Sum(sum, _) => match sum.vector_len() {
                Some(len) => &bytemuck::cast_slice(&data.buffer)[..len],
                None => &[],
            },
            _ => &[],
        }
    }

    /// Row length and intervals of a ragged mask.
    pub fn intervals(&self, slot: Slot) -> (u32, &[[u32; 2]]) {
        let data = &self.slots[slot.index()];
        match data.form {
            Form::Ragged { len, rows } => (len, &bytemuck::cast_slice(&data.buffer)[..rows as usize]),
            _ => (1, &[]),
        }
    }

    /// The integers of a slot as a sum of 2^`log2` lanes, read as signed numbers of `bytes` bytes.
    pub fn sum(&self, slot: Slot, bytes: usize, log2: u8) -> Option<Sum> {
        match self.form(slot) {
            Form::Uniform(bits) => Some(Sum::uniform(sign_extend(bits, bytes), log2)),
            Form::Sum(sum, _) => Some(sum),
            _ => None,
        }
    }

    /// Makes a slot a sum; `vector` fills its vector, given the frame. Uniform if all lanes are equal.
    pub fn set_sum(&mut self, slot: Slot, sum: Sum, bytes: usize, vector: impl FnOnce(&Frame, &mut [i64])) {
        if let Some(value) = sum.constant() {
            let bits = value as u64;
            self.set_uniform(
                slot,
                if bytes < 8 {
                    bits & ((1 << (8 * bytes)) - 1)
                } else {
                    bits
                },
            );
            return;
        }
        if let Some(len) = sum.vector_len() {
            let mut buffer = self.take::<u64>(slot, len);
            vector(self, bytemuck::cast_slice_mut(buffer.lanes::<u64>(len)));
            self.put(slot, buffer);
        }
        self.set_form(slot, Form::Sum(sum, bytes as u8));
    }

    /// Makes a slot a mask; uniform if all lanes are equal.
    pub fn set_mask(&mut self, slot: Slot, mask: Mask) {
        match mask {
            Mask::Box(mask) => match mask.constant() {
                Some(value) => self.set_uniform(slot, u64::from(value)),
                None => self.set_form(slot, Form::Box(mask)),
            },
            Mask::Ragged { len, intervals } => {
                let mut buffer = self.take::<u64>(slot, intervals.len());
                for (pair, (lo, hi)) in buffer.lanes::<u64>(intervals.len()).iter_mut().zip(&intervals) {
                    *pair = bytemuck::cast([*lo, *hi]);
                }
                self.put(slot, buffer);
                self.set_form(
                    slot,
                    Form::Ragged {
                        len,
                        rows: intervals.len() as u32,
                    },
                );
            }
        }
    }

    /// The lanes of a mask slot as intervals of rows of `len` lanes; none if it is dense.
    pub fn ragged(&self, slot: Slot, len: u32) -> Option<Vec<(u32, u32)>> {
        match self.form(slot) {
            Form::Box(mask) => mask.ragged(len),
            Form::Ragged { len: own, .. } if own == len => {
                Some(self.intervals(slot).1.iter().map(|&[lo, hi]| (lo, hi)).collect())
            }
            _ => None,
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
        let data = &mut self.slots[slot.index()];
        data.alike = u32::MAX;
        let mut buffer = std::mem::take(&mut data.buffer);
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

    /// A number that equal values share, and different ones hardly ever: of forms and buffers.
    pub fn fingerprint(&self) -> u64 {
        let mut print = 0u64;
        let mut mix = |word: u64| {
            print = (print.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        };
        for slot in &self.slots {
            match slot.form {
                Form::Uniform(bits) => mix(bits),
                Form::Sum(sum, _) => mix(sum.base as u64),
                Form::Box(mask) => [mask.first, mask.last, mask.lo, mask.hi]
                    .iter()
                    .for_each(|&n| mix(u64::from(n))),
                Form::Dense | Form::Ragged { .. } => mix(1),
            }
            bytemuck::cast_slice::<Line, u64>(&slot.buffer)
                .iter()
                .for_each(|&word| mix(word));
        }
        print
    }

    /// Exchanges two slots, buffers and all.
    #[inline]
    pub fn swap(&mut self, a: Slot, b: Slot) {
        self.slots.swap(a.index(), b.index());
    }

    /// Copies the first bytes of a slot's buffer; the copy is dense.
    fn copy_buffer(&mut self, from: Slot, to: Slot, bytes: usize) {
        let mut buffer = self.take::<u8>(to, bytes);
        let data = &self.slots[from.index()];
        let lines = match self.form(from) {
            Form::Dense => data.lanes(),
            _ => &data.buffer,
        };
        let source: &[u8] = bytemuck::cast_slice(lines);
        buffer.lanes::<u8>(bytes).copy_from_slice(&source[..bytes]);
        self.put(to, buffer);
    }

    /// Copies a slot with `bytes` bytes of dense lanes; of a symbolic one that is flat, the lanes.
    pub fn copy(&mut self, from: Slot, to: Slot, bytes: usize) {
        if from != to && self.is_symbolic(from) && self.slots[from.index()].flat {
            let mut buffer = self.take::<u8>(to, bytes);
            let lanes: &[u8] = bytemuck::cast_slice(self.slots[from.index()].lanes());
            buffer.lanes::<u8>(bytes).copy_from_slice(&lanes[..bytes]);
            self.put(to, buffer);
            self.copy_provenance(from, to);
            return;
        }
        self.copy_form(from, to, bytes);
    }

    /// Copies a slot with `bytes` bytes of dense lanes, by form if it is symbolic.
    pub fn copy_form(&mut self, from: Slot, to: Slot, bytes: usize) {
        if from == to {
            return;
        }
        match self.form(from) {
            Form::Uniform(bits) => self.set_uniform(to, bits),
            Form::Dense => self.copy_buffer(from, to, bytes),
            Form::Sum(sum, _) => {
                if let Some(len) = sum.vector_len() {
                    self.copy_buffer(from, to, len * 8);
                }
                self.set_form(to, self.form(from));
            }
            Form::Box(_) => self.set_form(to, self.form(from)),
            Form::Ragged { rows, .. } => {
                self.copy_buffer(from, to, rows as usize * 8);
                self.set_form(to, self.form(from));
            }
        }
        self.copy_provenance(from, to);
    }

    fn copy_provenance(&mut self, from: Slot, to: Slot) {
        if self.provenance(to) != self.provenance(from) {
            let provenance = self.provenance(from).clone();
            self.set_provenance(to, provenance);
        }
    }
}

/// The lowest `bytes` bytes as a signed number.
pub fn sign_extend(bits: u64, bytes: usize) -> i64 {
    let unused = 64 - 8 * bytes as u32;
    ((bits << unused) as i64) >> unused
}

fn write_sum<T: Copy>(sum: &Sum, vector: &[i64], out: &mut [T], narrow: impl Fn(i64) -> T) {
    let (len, stride) = sum.innermost();
    for (i, row) in out.chunks_exact_mut(len).enumerate() {
        let start = sum.at(i * len, vector);
        for (j, lane) in row.iter_mut().enumerate() {
            *lane = narrow(start.wrapping_add(stride.wrapping_mul(j as i64)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_alike_until_they_are_written() {
        let mut frame = Frame::new(2);
        assert_eq!(frame.alike_from(Slot(0)), 0);
        frame.fill::<u32>(Slot(0), 64, |_, lane| lane.min(10) as u32);
        assert_eq!(frame.alike_from(Slot(0)), usize::MAX >> 32);
        frame.set_alike_from(Slot(0), 10);
        frame.swap(Slot(0), Slot(1));
        assert_eq!(frame.alike_from(Slot(1)), 10);
        frame.copy(Slot(1), Slot(0), 256);
        assert!(frame.alike_from(Slot(0)) > 64);
        frame.window(Slot(1), 16, 4);
        assert!(frame.alike_from(Slot(1)) > 64);
        frame.unwindow(Slot(1));
        frame.set_uniform(Slot(1), 3);
        frame.densify::<u32>(Slot(1), 64);
        assert!(frame.alike_from(Slot(1)) > 64);
    }

    #[test]
    fn a_slot_is_uniform_until_written_densely() {
        let mut frame = Frame::new(2);
        frame.set_uniform(Slot(0), 7);
        assert_eq!(frame.tile::<u32>(Slot(0), 4).lane(3), 7);
        frame.fill::<u32>(Slot(1), 4, |f, i| f.tile::<u32>(Slot(0), 4).lane(i) + i as u32);
        assert_eq!(frame.uniform(Slot(1)), None);
        assert_eq!(frame.tile::<u32>(Slot(1), 4).lane(3), 10);
        assert_eq!(frame.bytes(), 2 * size_of::<SlotData>() + size_of::<Line>());
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
