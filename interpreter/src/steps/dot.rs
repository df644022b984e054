//! `tt.dot`: matrix products, of matrices or of a batch of them.
//!
//! Every output is accumulated by fused multiply-adds in rising k, starting from the accumulator
//! ([`crate::num::dot`]). Operands narrower than f32 (f16, bf16, every fp8) are widened, which is exact. In
//! `tf32` precision f32 operands are cut to TF32 first; `ieee` takes them whole, and so do `tf32x3`,
//! `bf16x3` and `bf16x6`, which emulate that. An accumulator narrower than f32 is f32 inside one product and
//! rounded at its end. i8 is signed, with wrapping i32 sums. `maxNumImpreciseAcc` has no effect.

use crate::frame::{Frame, Slot, Tile};
use crate::kind::{Kind, Lane};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::num::dot::{DotShape, cut_tf32, dot_f32, dot_f64, dot_i8, pairs};
use crate::num::float::{Bf16, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16, StoredFloat};
use crate::simd::Cpu;
use crate::taint::{Birth, Births};
use crate::tape::{Effect, Inst, Step};
use tilescope_diagnostics::Result;
use tilescope_ir::attrs::InputPrecision;
use tilescope_ir::{Attrs, Function, OpId, Shape};

/// A batch of products: every a is m by k, every b k by n, every c m by n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Products.
    pub count: usize,
    /// Their sizes.
    pub shape: DotShape,
}

impl Batch {
    /// The batch of these operands, if they fit. `k` is given where a or b holds several elements per lane.
    pub fn of(a: Shape, b: Shape, c: Shape) -> Option<Batch> {
        let rank = a.rank();
        if !(2..=3).contains(&rank) || b.rank() != rank || c.rank() != rank {
            return None;
        }
        let [ma, ka] = [a.dim(rank - 2), a.dim(rank - 1)];
        let [kb, nb] = [b.dim(rank - 2), b.dim(rank - 1)];
        let [mc, nc] = [c.dim(rank - 2), c.dim(rank - 1)];
        let batches = [a, b, c].map(|s| if rank == 3 { s.dim(0) } else { 1 });
        let fits = ma == mc && nb == nc && ka == kb && batches.iter().all(|&n| n == batches[0]);
        fits.then_some(Batch {
            count: batches[0],
            shape: DotShape { m: ma, n: nb, k: ka },
        })
    }

    /// Lanes of all a, b and c.
    pub fn lanes(self) -> [usize; 3] {
        let DotShape { m, n, k } = self.shape;
        [m * k, k * n, m * n].map(|lanes| lanes * self.count)
    }

    /// Runs one product after the other.
    fn each<A, B, C>(
        self,
        a: &[A],
        b: &[B],
        c: &mut [C],
        mut product: impl FnMut(&[A], &[B], &mut [C], DotShape),
    ) {
        let DotShape { m, n, k } = self.shape;
        let operands = a.chunks_exact(m * k).zip(b.chunks_exact(k * n));
        for ((a, b), c) in operands.zip(c.chunks_exact_mut(m * n)) {
            product(a, b, c, self.shape);
        }
    }

    /// Births of the outputs: of the accumulator, else of the first undefined element of the row or column.
    pub fn births(self, a: Option<&Births>, b: Option<&Births>, c: Option<&Births>) -> Option<Births> {
        if a.is_none() && b.is_none() && c.is_none() {
            return None;
        }
        let DotShape { m, n, k } = self.shape;
        let first = |births: Option<&Births>, lanes: &mut dyn Iterator<Item = usize>| -> Birth {
            births.map_or(0, |b| {
                lanes.map(|lane| b.lane(lane)).find(|&b| b != 0).unwrap_or(0)
            })
        };
        let rows: Vec<Birth> = (0..self.count * m)
            .map(|row| first(a, &mut (row * k..(row + 1) * k)))
            .collect();
        let columns: Vec<Birth> = (0..self.count * n)
            .map(|column| first(b, &mut (0..k).map(|i| column / n * k * n + i * n + column % n)))
            .collect();
        let lane = |lane: usize| {
            let (row, column) = (lane / n, lane / (m * n) * n + lane % n);
            let of = [c.map_or(0, |c| c.lane(lane)), rows[row], columns[column]];
            of.into_iter().find(|&b| b != 0).unwrap_or(0)
        };
        Some(Births::Dense((0..self.count * m * n).map(lane).collect()))
    }
}

/// Slots of a product: operands, accumulator, result, and room for what has to be widened.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// The accumulator.
    pub c: Slot,
    /// It is not read again.
    pub c_ends: bool,
    /// The result.
    pub out: Slot,
    /// Room for an accumulator in f32.
    pub wide: Slot,
}

impl Places {
    /// Of an instruction with a, b, c as first operands, and the result and room for c, a, b as results.
    pub fn of(inst: &Inst) -> Places {
        let c = inst.ins[2];
        Places {
            c,
            c_ends: inst.kills(2) && !inst.ins[..2].contains(&c),
            out: inst.outs[0],
            wide: inst.outs[1],
        }
    }
}

/// Moves the accumulator to the result's slot, dense: by exchange where it is not read again.
fn move_accumulator<T: Lane>(frame: &mut Frame, cpu: Cpu, places: Places, lanes: usize) {
    if let Some(bits) = frame.uniform(places.c) {
        let mut buffer = frame.take::<T>(places.out, lanes);
        cpu.update(buffer.lanes(lanes), |_| T::from_bits(bits));
        frame.put(places.out, buffer);
        return;
    }
    // What is known by a formula keeps its lanes beside it: they are copied.
    if places.c_ends && !frame.is_symbolic(places.c) {
        frame.swap(places.c, places.out);
    } else {
        frame.copy(places.c, places.out, lanes * size_of::<T>());
    }
    frame.densify::<T>(places.out, lanes);
}

/// Adds the products of two dense f32 slots to the accumulator.
pub fn accumulate_f32(
    frame: &mut Frame,
    cpu: Cpu,
    batch: Batch,
    kind: Kind,
    [a, b]: [Slot; 2],
    places: Places,
) {
    let [a_lanes, b_lanes, lanes] = batch.lanes();
    let product = |frame: &Frame, c: &mut [f32]| {
        if let (Tile::Dense(a), Tile::Dense(b)) =
            (frame.tile::<f32>(a, a_lanes), frame.tile::<f32>(b, b_lanes))
        {
            batch.each(a, b, c, |a, b, c, shape| dot_f32(cpu, a, b, c, shape));
        }
    };
    if kind == Kind::F32 {
        move_accumulator::<f32>(frame, cpu, places, lanes);
        let mut buffer = frame.take::<f32>(places.out, lanes);
        product(frame, buffer.lanes(lanes));
        frame.put(places.out, buffer);
    } else {
        widen(frame, cpu, kind, places.c, places.wide, lanes, |x| x);
        let mut buffer = frame.take::<f32>(places.wide, lanes);
        product(frame, buffer.lanes(lanes));
        frame.put(places.wide, buffer);
        match kind {
            Kind::F16 => narrow::<F16>(frame, cpu, places.wide, places.out, lanes),
            _ => narrow::<Bf16>(frame, cpu, places.wide, places.out, lanes),
        }
    }
    if lanes == 1 {
        let bits = match kind {
            Kind::F32 => frame.scalar::<f32>(places.out).to_bits() as u64,
            _ => frame.scalar::<u16>(places.out).into(),
        };
        frame.set_uniform(places.out, bits);
    }
}

fn narrow<T: Lane + StoredFloat>(frame: &mut Frame, cpu: Cpu, from: Slot, to: Slot, lanes: usize) {
    let mut buffer = frame.take::<T>(to, lanes);
    if let Tile::Dense(from) = frame.tile::<f32>(from, lanes) {
        T::narrow_slice(cpu, from, buffer.lanes(lanes));
    }
    frame.put(to, buffer);
}

/// Writes a slot's lanes, widened to f32 and changed by `each`, densely to another. Which NaN they hold does not
/// matter: that of a product is canonical.
fn widen(
    frame: &mut Frame,
    cpu: Cpu,
    kind: Kind,
    from: Slot,
    to: Slot,
    lanes: usize,
    each: impl Fn(f32) -> f32 + Copy,
) {
    macro_rules! widen_as {
        ($t:ty) => {{
            let mut buffer = frame.take::<f32>(to, lanes);
            let out = buffer.lanes::<f32>(lanes);
            match frame.tile::<$t>(from, lanes) {
                Tile::Uniform(value) => out.fill(each(value.to_f32())),
                Tile::Dense(from) => {
                    <$t>::widen_operands(cpu, from, out);
                    cpu.update(out, each);
                }
            }
            frame.put(to, buffer);
        }};
    }
    match kind {
        Kind::F8E4M3 => widen_as!(F8E4M3),
        Kind::F8E5M2 => widen_as!(F8E5M2),
        Kind::F8E4M3B11Fnuz => widen_as!(F8E4M3B11Fnuz),
        Kind::F8E4M3Fnuz => widen_as!(F8E4M3Fnuz),
        Kind::F8E5M2Fnuz => widen_as!(F8E5M2Fnuz),
        Kind::F16 => widen_as!(F16),
        Kind::Bf16 => widen_as!(Bf16),
        _ => widen_as!(f32),
    }
}

/// What a product computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    /// f32, of operands of these kinds, cut to TF32 or not, with an accumulator of this kind.
    F32 { a: Kind, b: Kind, c: Kind, tf32: bool },
    /// f64.
    F64,
    /// i32, of signed bytes.
    I32,
}

/// `tt.dot`.
#[derive(Debug)]
struct Dot {
    batch: Batch,
    arithmetic: Arithmetic,
    cpu: Cpu,
}

impl Step for Dot {
    fn widened(&mut self) -> Option<[&mut Kind; 2]> {
        match &mut self.arithmetic {
            Arithmetic::F32 {
                a, b, tf32: false, ..
            } => Some([a, b]),
            _ => None,
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let places = Places::of(inst);
        let frame = &mut machine.frame;
        let [a_lanes, b_lanes, lanes] = self.batch.lanes();
        let operands = [
            (inst.ins[0], inst.outs[2], a_lanes),
            (inst.ins[1], inst.outs[3], b_lanes),
        ];
        match self.arithmetic {
            Arithmetic::F32 { a, b, c, tf32 } => {
                let [of_a, of_b] = operands;
                let mut ready = |(from, room, lanes): (Slot, Slot, usize), kind: Kind| {
                    if kind == Kind::F32 && !tf32 && frame.uniform(from).is_none() {
                        return from;
                    }
                    if kind == Kind::F32 && tf32 {
                        widen(frame, self.cpu, kind, from, room, lanes, cut_tf32);
                    } else {
                        widen(frame, self.cpu, kind, from, room, lanes, |x| x);
                    }
                    room
                };
                let ready = [ready(of_a, a), ready(of_b, b)];
                accumulate_f32(frame, self.cpu, self.batch, c, ready, places);
            }
            Arithmetic::F64 => {
                let [a, b] = operands.map(|(from, room, lanes)| dense::<f64>(frame, from, room, lanes));
                move_accumulator::<f64>(frame, self.cpu, places, lanes);
                let mut buffer = frame.take::<f64>(places.out, lanes);
                if let (Tile::Dense(a), Tile::Dense(b)) = (frame.tile(a, a_lanes), frame.tile(b, b_lanes)) {
                    let cpu = self.cpu;
                    let product = |a: &[f64], b: &[f64], c: &mut [f64], shape| dot_f64(cpu, a, b, c, shape);
                    self.batch.each(a, b, buffer.lanes(lanes), product);
                }
                frame.put(places.out, buffer);
                scalar_is_uniform::<f64>(frame, places.out, lanes);
            }
            Arithmetic::I32 => {
                let [a, b] = operands.map(|(from, room, lanes)| dense::<u8>(frame, from, room, lanes));
                move_accumulator::<u32>(frame, self.cpu, places, lanes);
                let [a_pairs, b_pairs] = pairs(self.batch.shape);
                let mut a_room = frame.take::<u32>(inst.outs[4], a_pairs);
                let mut b_room = frame.take::<u32>(inst.outs[5], b_pairs);
                let mut buffer = frame.take::<u32>(places.out, lanes);
                if let (Tile::Dense(a), Tile::Dense(b)) =
                    (frame.tile::<u8>(a, a_lanes), frame.tile::<u8>(b, b_lanes))
                {
                    let (a, b): (&[i8], &[i8]) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b));
                    let c: &mut [i32] = bytemuck::cast_slice_mut(buffer.lanes::<u32>(lanes));
                    let mut room = [a_room.lanes::<u32>(a_pairs), b_room.lanes::<u32>(b_pairs)];
                    let cpu = self.cpu;
                    self.batch
                        .each(a, b, c, |a, b, c, shape| dot_i8(cpu, a, b, c, &mut room, shape));
                }
                frame.put(inst.outs[4], a_room);
                frame.put(inst.outs[5], b_room);
                frame.put(places.out, buffer);
                scalar_is_uniform::<u32>(frame, places.out, lanes);
            }
        }
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let [a, b, c] = [0, 1, 2].map(|i| machine.taint.get(inst.ins[i]));
        let births = self.batch.births(a, b, c);
        machine.taint.set(inst.outs[0], births);
    }
}

/// The slot itself if it is dense, else the room, filled with its value.
fn dense<T: Lane>(frame: &mut Frame, from: Slot, room: Slot, lanes: usize) -> Slot {
    match frame.uniform(from) {
        None => from,
        Some(bits) => {
            frame.set_uniform(room, bits);
            frame.densify::<T>(room, lanes);
            room
        }
    }
}

fn scalar_is_uniform<T: Lane>(frame: &mut Frame, slot: Slot, lanes: usize) {
    if lanes == 1 {
        let bits = frame.scalar::<T>(slot).to_bits();
        frame.set_uniform(slot, bits);
    }
}

/// True for what is widened to f32.
fn is_narrow(kind: Kind) -> bool {
    kind.is_float() && kind != Kind::F64
}

/// True for what a product in f32 may be added to.
pub fn is_accumulator(kind: Kind) -> bool {
    matches!(kind, Kind::F32 | Kind::F16 | Kind::Bf16)
}

/// `tt.dot`.
pub fn dot(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Attrs::Dot { precision, .. }, [a, b, c]) = (&data.attrs, &data.operands[..]) else {
        return Err(lower.wrong(function, op, "a dot needs three operands and a precision"));
    };
    let shapes = [a, b, c].map(|&v| function.ty(v).shape().unwrap_or_default());
    let Some(batch) = Batch::of(shapes[0], shapes[1], shapes[2]) else {
        let what = format!(
            "shapes {:?}, {:?} and {:?} do not fit in a dot",
            shapes[0], shapes[1], shapes[2]
        );
        return Err(lower.wrong(function, op, what));
    };
    // Narrower operands are exact in TF32 as they are.
    let tf32 = |a: Kind, b: Kind| *precision == InputPrecision::Tf32 && [a, b].contains(&Kind::F32);
    let arithmetic = match [a, b, c].map(|&v| lower.kind(function, v)) {
        [Kind::F64, Kind::F64, Kind::F64] => Arithmetic::F64,
        [Kind::I8, Kind::I8, Kind::I32] => Arithmetic::I32,
        [a, b, c] if is_narrow(a) && is_narrow(b) && is_accumulator(c) => Arithmetic::F32 {
            a,
            b,
            c,
            tf32: tf32(a, b),
        },
        _ => {
            let [a, b, c] = [a, b, c].map(|&v| function.ty(v));
            return Err(lower.unsupported(
                function,
                op,
                format!("a dot of {a} and {b} added to {c} is not run"),
            ));
        }
    };
    let room = match arithmetic {
        Arithmetic::F32 { .. } => Kind::F32,
        Arithmetic::F64 => Kind::F64,
        Arithmetic::I32 => Kind::I8,
    };
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let mut outs = with_room(lower, out, batch, room);
    if room == Kind::I8 {
        outs.extend(pairs(batch.shape).map(|lanes| lower.temp(Kind::I32, lanes as u32)));
    }
    let lanes = batch.lanes()[2] as u32;
    let cpu = lower.cpu();
    lower.emit(
        Dot {
            batch,
            arithmetic,
            cpu,
        },
        ins,
        outs,
        lanes,
    );
    Ok(())
}

/// The result, and room for c in f32 and for a and b in `kind`. A place that is never written takes no
/// memory.
pub fn with_room(lower: &mut Lower<'_>, out: Slot, batch: Batch, kind: Kind) -> Vec<Slot> {
    let [a, b, c] = batch.lanes().map(|lanes| lanes as u32);
    vec![
        out,
        lower.temp(Kind::F32, c),
        lower.temp(kind, a),
        lower.temp(kind, b),
    ]
}
