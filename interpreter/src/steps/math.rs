//! `tt.extern_elementwise` (libdevice by symbol name) and `tt.elementwise_inline_asm` (a part of PTX).
//!
//! Both are the same on every lane. Which functions and instructions there are is in
//! [`crate::num::libdevice`] and [`crate::ptx`]; anything else is refused by name when the kernel is
//! lowered.

use crate::frame::{Frame, Slot, Tile};
use crate::kind::{Kind, Lane};
use crate::lanes::{map1_plain, map2, map3};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::num::libdevice::{self, Eval, LibFunction, SliceFunction};
use crate::ptx::{Program, Registers};
use crate::simd::Cpu;
use crate::taint::{self, Births};
use crate::tape::{Inst, Step};
use crate::with_width;
use tilescope_diagnostics::{Result, closest};
use tilescope_ir::attrs::InlineAsm;
use tilescope_ir::{Attrs, Function, OpId, ValueId};

/// A function of libdevice.
#[derive(Debug)]
struct Library {
    eval: Eval,
    slices: Option<SliceFunction>,
    cpu: Cpu,
}

impl Step for Library {
    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn is_lanewise(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let lanes = inst.lanes(machine);
        let frame = &mut machine.frame;
        match (self.slices, frame.uniform(inst.ins[0])) {
            (Some(function), None) => {
                let mut buffer = frame.take::<f32>(inst.outs[0], lanes);
                if let Tile::Dense(x) = frame.tile::<f32>(inst.ins[0], lanes) {
                    function(self.cpu, x, buffer.lanes(lanes));
                }
                frame.put(inst.outs[0], buffer);
            }
            _ => evaluate(self.eval, frame, &inst.ins, inst.outs[0], lanes),
        }
        Ok(Flow::Next)
    }
}

/// The type that lanes of an argument or result are stored as, between it and the function's type.
trait Stored {
    type As: Lane;
    fn read(lane: Self::As) -> Self;
    fn write(self) -> Self::As;
}

macro_rules! stored {
    ($($t:ty as $lane:ty;)*) => {$(
        impl Stored for $t {
            type As = $lane;
            #[inline(always)]
            fn read(lane: $lane) -> $t { lane as $t }
            #[inline(always)]
            fn write(self) -> $lane { self as $lane }
        }
    )*};
}

stored! {
    i32 as u32;
    i64 as u64;
    f32 as f32;
    f64 as f64;
}

fn one<A: Stored, R: Stored>(frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize, f: fn(A) -> R) {
    map1_plain(frame, ins[0], out, lanes, |a: A::As| -> R::As {
        f(A::read(a)).write()
    });
}

fn two<A: Stored, B: Stored, R: Stored>(
    frame: &mut Frame,
    ins: &[Slot],
    out: Slot,
    lanes: usize,
    f: fn(A, B) -> R,
) {
    map2(
        Cpu::SCALAR,
        frame,
        [ins[0], ins[1]],
        out,
        lanes,
        |a: A::As, b: B::As| -> R::As { f(A::read(a), B::read(b)).write() },
    );
}

fn three<A: Stored>(frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize, f: fn(A, A, A) -> A) {
    let f = |a: A::As, b: A::As, c: A::As| -> A::As { f(A::read(a), A::read(b), A::read(c)).write() };
    map3(Cpu::SCALAR, frame, [ins[0], ins[1], ins[2]], out, lanes, f);
}

fn four<A: Stored>(frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize, f: fn(A, A, A, A) -> A) {
    let uniform = ins.iter().all(|&slot| frame.uniform(slot).is_some());
    frame.fill::<A::As>(out, if uniform { 1 } else { lanes }, |frame, i| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| A::read(frame.tile::<A::As>(ins[k], lanes).lane(i)));
        f(a, b, c, d).write()
    });
}

fn evaluate(eval: Eval, frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
    match eval {
        Eval::I32ToI32(f) => one(frame, ins, out, lanes, f),
        Eval::I64ToI64(f) => one(frame, ins, out, lanes, f),
        Eval::I64ToI32(f) => one(frame, ins, out, lanes, f),
        Eval::I32ToF32(f) => one(frame, ins, out, lanes, f),
        Eval::I32ToF64(f) => one(frame, ins, out, lanes, f),
        Eval::I64ToF32(f) => one(frame, ins, out, lanes, f),
        Eval::I64ToF64(f) => one(frame, ins, out, lanes, f),
        Eval::F32ToI32(f) => one(frame, ins, out, lanes, f),
        Eval::F32ToI64(f) => one(frame, ins, out, lanes, f),
        Eval::F64ToI32(f) => one(frame, ins, out, lanes, f),
        Eval::F64ToI64(f) => one(frame, ins, out, lanes, f),
        Eval::F64ToF32(f) => one(frame, ins, out, lanes, f),
        Eval::F32ToF32(f) => one(frame, ins, out, lanes, f),
        Eval::F64ToF64(f) => one(frame, ins, out, lanes, f),
        Eval::I32I32ToI32(f) => two(frame, ins, out, lanes, f),
        Eval::I64I64ToI64(f) => two(frame, ins, out, lanes, f),
        Eval::I32I32ToF64(f) => two(frame, ins, out, lanes, f),
        Eval::F32F32ToF32(f) => two(frame, ins, out, lanes, f),
        Eval::F64F64ToF64(f) => two(frame, ins, out, lanes, f),
        Eval::F32I32ToF32(f) => two(frame, ins, out, lanes, f),
        Eval::F64I32ToF64(f) => two(frame, ins, out, lanes, f),
        Eval::I32I32I32ToI32(f) => three(frame, ins, out, lanes, f),
        Eval::F32F32F32ToF32(f) => three(frame, ins, out, lanes, f),
        Eval::F64F64F64ToF64(f) => three(frame, ins, out, lanes, f),
        Eval::F32F32F32F32ToF32(f) => four(frame, ins, out, lanes, f),
        Eval::F64F64F64F64ToF64(f) => four(frame, ins, out, lanes, f),
    }
}

fn stored_kind(kind: libdevice::Kind) -> Kind {
    match kind {
        libdevice::Kind::I32 => Kind::I32,
        libdevice::Kind::I64 => Kind::I64,
        libdevice::Kind::F32 => Kind::F32,
        libdevice::Kind::F64 => Kind::F64,
    }
}

/// `tt.extern_elementwise`.
pub fn extern_elementwise(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::Extern(named) = &data.attrs else {
        return Err(lower.wrong(function, op, "a library function without its name"));
    };
    let Some(called) = libdevice::lookup(&named.symbol) else {
        let error = lower.unsupported(
            function,
            op,
            format!("the library function {} is not run", named.symbol),
        );
        let near = closest(&named.symbol, libdevice::functions().map(|f| f.symbol));
        return Err(match near {
            Some(near) => error.help(format!("there is {near}")),
            None => error,
        });
    };
    let LibFunction { eval, f32_slice, .. } = *called;
    let kinds = |values: &[ValueId]| {
        values
            .iter()
            .map(|&v| lower.kind(function, v))
            .collect::<Vec<_>>()
    };
    let (from, to) = (kinds(&data.operands), kinds(&data.results));
    let args: Vec<Kind> = eval.args().iter().map(|&kind| stored_kind(kind)).collect();
    if from != args || to != [stored_kind(eval.result())] {
        let types: Vec<String> = data
            .operands
            .iter()
            .map(|&v| function.ty(v).to_string())
            .collect();
        let what = format!("{} is not called with ({})", called.symbol, types.join(", "));
        return Err(lower.wrong(function, op, what));
    }
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    let cpu = lower.cpu();
    lower.emit(
        Library {
            eval,
            slices: f32_slice,
            cpu,
        },
        ins,
        vec![out],
        lanes,
    );
    Ok(())
}

/// A tile on its way to or from the registers of an assembly text.
#[derive(Debug, Clone, Copy)]
struct Packed {
    kind: Kind,
    /// Its first register.
    first: usize,
    /// Lanes per register, the first in its lowest bits.
    per_register: usize,
}

impl Packed {
    /// Register and shift of lane `i` of a pack.
    fn place(self, i: usize) -> (usize, usize) {
        (
            self.first + i / self.per_register,
            i % self.per_register * self.kind.bytes() * 8,
        )
    }
}

/// `tt.elementwise_inline_asm`: the text runs once for every `packed` neighbouring lanes.
#[derive(Debug)]
struct Assembly {
    program: Program,
    packed: usize,
    ins: Vec<Packed>,
    outs: Vec<Packed>,
}

impl Assembly {
    /// Puts the lanes of some runs, from `first` on, into the registers.
    fn read(
        &self,
        inst: &Inst,
        frame: &Frame,
        lanes: usize,
        runs: std::ops::Range<usize>,
        to: &mut Registers,
    ) {
        for (&slot, packed) in inst.ins.iter().zip(&self.ins) {
            for i in 0..self.packed {
                let (register, shift) = packed.place(i);
                let Some(values) = to.values(register) else {
                    continue;
                };
                with_width!(packed.kind, T => {
                    let tile = frame.tile::<T>(slot, lanes);
                    for (value, run) in values.iter_mut().zip(runs.clone()) {
                        let bits = tile.lane(run * self.packed + i).to_bits() << shift;
                        *value = if shift == 0 { bits } else { *value | bits };
                    }
                });
            }
        }
    }
}

impl Step for Assembly {
    fn is_lanewise(&self) -> bool {
        self.packed == 1
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let lanes = inst.lanes(machine);
        let frame = &mut machine.frame;
        let uniform = self.packed == 1 && inst.ins.iter().all(|&slot| frame.uniform(slot).is_some());
        let computed = if uniform { 1 } else { lanes };
        let mut results: Vec<Vec<u64>> = vec![vec![0; computed]; self.outs.len()];
        let runs = computed / self.packed;
        for start in (0..runs).step_by(Program::BLOCK) {
            let end = (start + Program::BLOCK).min(runs);
            let mut registers = self.program.registers();
            self.read(inst, frame, lanes, start..end, &mut registers);
            self.program.run(&mut registers, end - start);
            for (lanes, packed) in results.iter_mut().zip(&self.outs) {
                for (i, lane) in lanes[start * self.packed..end * self.packed]
                    .iter_mut()
                    .enumerate()
                {
                    let (register, shift) = packed.place(i % self.packed);
                    *lane = registers.bits(register, i / self.packed) >> shift;
                }
            }
        }
        for ((&out, lanes), packed) in inst.outs.iter().zip(&results).zip(&self.outs) {
            match packed.kind {
                Kind::Bool => frame.fill::<u8>(out, computed, |_, i| lanes[i] as u8 & 1),
                kind => with_width!(kind, T => frame.fill::<T>(out, computed, |_, i| T::from_bits(lanes[i]))),
            }
        }
        Ok(Flow::Next)
    }

    /// All lanes of a pack are undefined where one is.
    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let lanes = inst.lanes(machine);
        let births = taint::combine(&inst.ins, machine, lanes).map(|births| {
            let of_pack = |pack: usize| {
                let lanes = pack * self.packed..(pack + 1) * self.packed;
                lanes
                    .map(|lane| births.lane(lane))
                    .find(|&birth| birth != 0)
                    .unwrap_or(0)
            };
            Births::Dense((0..lanes).map(|lane| of_pack(lane / self.packed)).collect())
        });
        for &out in &inst.outs {
            machine.taint.set(out, births.clone());
        }
    }
}

/// Registers of some tiles, from `first` on, and the register after them. Lanes narrower than 32 bits share
/// a register as far as a pack has them.
fn registers(kinds: &[Kind], packed: usize, mut first: usize) -> (Vec<Packed>, usize) {
    let mut tiles = Vec::with_capacity(kinds.len());
    for &kind in kinds {
        let per_register = (4 / kind.bytes()).clamp(1, packed);
        tiles.push(Packed {
            kind,
            first,
            per_register,
        });
        first += packed / per_register;
    }
    (tiles, first)
}

/// Operands that a constraint string names: outputs, inputs. Clobbers do not count.
fn constraints(text: &str) -> Option<(usize, usize)> {
    let (mut outputs, mut inputs) = (0, 0);
    for constraint in text
        .split(',')
        .map(str::trim)
        .filter(|c| !c.is_empty() && !c.starts_with('~'))
    {
        match constraint.strip_prefix('=') {
            Some(class) if is_class(class.trim_start_matches('&')) => outputs += 1,
            None if is_class(constraint) => inputs += 1,
            _ => return None,
        }
    }
    Some((outputs, inputs))
}

fn is_class(class: &str) -> bool {
    matches!(class, "r" | "f" | "h" | "l" | "d" | "c" | "b")
}

/// `tt.elementwise_inline_asm`.
pub fn inline_asm(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::InlineAsm(asm) = &data.attrs else {
        return Err(lower.wrong(function, op, "inline assembly without text"));
    };
    match assembly(lower, function, op, asm) {
        Ok(step) => {
            let ins = lower.operands(data);
            let mut outs = Vec::new();
            for &result in &data.results {
                outs.extend(lower.define(function, result)?);
            }
            let any = data.results.first().or(data.operands.first());
            let lanes = any.map_or(1, |&v| lower.lanes(function, v));
            lower.emit(step, ins, outs, lanes);
            Ok(())
        }
        Err(why) => {
            let error = lower.unsupported(function, op, format!("this inline assembly is not run: {why}"));
            let error = error.note(format!("its text: {}", one_line(&asm.text)));
            Err(error.help("docs/inline-assembly.md lists the instructions that are run"))
        }
    }
}

/// A text without line breaks, cut where it is long.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// The step of an assembly text, or why there is none.
fn assembly(lower: &Lower<'_>, function: &Function, op: OpId, asm: &InlineAsm) -> Result<Assembly, String> {
    let data = &function.ops[op];
    let packed = asm.packed as usize;
    let any = data.results.first().or(data.operands.first());
    let lanes = any.map_or(0, |&v| function.ty(v).lanes());
    let alike = data
        .operands
        .iter()
        .chain(&data.results)
        .all(|&v| function.ty(v).lanes() == lanes);
    if packed == 0 || !alike || !lanes.is_multiple_of(packed) || (packed > 1 && lower.in_region()) {
        return Err(format!("packs of {packed} do not fit its operands"));
    }
    let kinds = |values: &[ValueId]| {
        values
            .iter()
            .map(|&v| lower.kind(function, v))
            .collect::<Vec<_>>()
    };
    let (from, to) = (kinds(&data.operands), kinds(&data.results));
    let held = |&kind: &Kind| kind != Kind::Ptr && (kind != Kind::Bool || packed == 1);
    if !from.iter().chain(&to).all(held) {
        return Err("it takes or gives pointers, or packs of truth values".into());
    }
    let odd = |kind: &Kind| !packed.is_multiple_of((4 / kind.bytes()).clamp(1, packed));
    if from.iter().chain(&to).any(odd) {
        return Err(format!("packs of {packed} do not fill registers"));
    }
    let (outs, outputs) = registers(&to, packed, 0);
    let (ins, all) = registers(&from, packed, outputs);
    match constraints(&asm.constraints) {
        Some(counts) if counts == (outputs, all - outputs) => {}
        _ => {
            let (inputs, text) = (all - outputs, &asm.constraints);
            return Err(format!(
                "constraints `{text}` do not name {outputs} outputs and {inputs} inputs"
            ));
        }
    }
    let program = Program::parse(&asm.text, all)?;
    Ok(Assembly {
        program,
        packed,
        ins,
        outs,
    })
}
