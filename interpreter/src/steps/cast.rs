//! Conversions between element types.

use crate::exact;
use crate::frame::{Frame, Provenance, Slot, Tile};
use crate::kind::{Bool, Kind, Lane};
use crate::lanes::map1_plain;
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::num::float::{
    Bf16, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16, RoundTowardZero, StoredFloat,
};
use crate::num::int::{FromFloat, ToFloat};
use crate::optimise::formula::Rule;
use crate::simd::Cpu;
use crate::steps::arith::bear;
use crate::steps::strip::{self, Link};
use crate::steps::symbolic;
use crate::taint::{self, BirthDetail};
use crate::tape::{Inst, Step};
use tilescope_diagnostics::{Check, Result};
use tilescope_ir::attrs::Rounding;
use tilescope_ir::{Attrs, Function, OpCode, OpId};

type Apply = fn(Cpu, &mut Frame, Slot, Slot, usize);

/// Calls a macro with the machine type of an integer kind, unsigned and signed.
macro_rules! int_types {
    ($kind:expr, $then:ident, $otherwise:expr) => {
        match $kind {
            Kind::I8 => $then!(u8, i8),
            Kind::I16 => $then!(u16, i16),
            Kind::I32 => $then!(u32, i32),
            Kind::I64 => $then!(u64, i64),
            _ => $otherwise,
        }
    };
}

/// Calls a macro with the type of a float kind other than f64.
macro_rules! float_types {
    ($kind:expr, $then:ident, $otherwise:expr) => {
        match $kind {
            Kind::F8E4M3 => $then!(F8E4M3),
            Kind::F8E5M2 => $then!(F8E5M2),
            Kind::F8E4M3B11Fnuz => $then!(F8E4M3B11Fnuz),
            Kind::F8E4M3Fnuz => $then!(F8E4M3Fnuz),
            Kind::F8E5M2Fnuz => $then!(F8E5M2Fnuz),
            Kind::F16 => $then!(F16),
            Kind::Bf16 => $then!(Bf16),
            Kind::F32 => $then!(f32),
            _ => $otherwise,
        }
    };
}

#[derive(Debug)]
struct Convert {
    apply: Apply,
    /// The narrow float kind that it widens to f32, if that is what it does.
    widens: Option<Kind>,
    /// The kind that it rounds f32 to, to nearest even, if that is what it does.
    narrows: Option<Kind>,
}

impl Step for Convert {
    fn link(&self) -> Option<Link> {
        self.narrows.map(Link::Narrow)
    }

    fn widens(&self) -> Option<Kind> {
        self.widens
    }

    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn is_lanewise(&self) -> bool {
        true
    }

    #[inline]
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let lanes = inst.lanes(machine);
        (self.apply)(
            machine.context.cpu,
            &mut machine.frame,
            inst.ins[0],
            inst.outs[0],
            lanes,
        );
        Ok(Flow::Next)
    }
}

/// Float to integer: lanes that have no value there are undefined.
#[derive(Debug)]
struct ToInteger {
    apply: Apply,
    from: Kind,
    to: Kind,
    signed: bool,
}

impl ToInteger {
    /// Lanes and values without a value in the integer type: fractions are cut off first.
    fn faulty(&self, inst: &Inst, machine: &Machine<'_>) -> Vec<(u32, f64)> {
        let bits = 8 * self.to.bytes() as u32;
        // Powers of two are exact.
        let power = |exponent: u32| (1u128 << exponent) as f64;
        let (low, high) = match self.signed {
            // For 64 bits the lower bound itself is the least value; -1 more is lost in rounding.
            true if bits == 64 => (f64::from_bits((-power(63)).to_bits() + 1), power(63)),
            true => (-power(bits - 1) - 1.0, power(bits - 1)),
            false => (-1.0, power(bits)),
        };
        macro_rules! lanes_of {
            ($T:ty) => {{
                let lanes = inst.lanes(machine);
                let is_fine = |x: f64| x > low && x < high;
                match machine.frame.tile::<$T>(inst.ins[0], lanes) {
                    Tile::Uniform(x) => {
                        let x = f64::from(x.to_f32());
                        (!is_fine(x)).then_some((0, x)).into_iter().collect()
                    }
                    Tile::Dense(values) => {
                        let (low, high) = (low as f32, high as f32);
                        // The bounds are exact in f32 but for one more than 24 bits below, which rounds to
                        // the least value itself: looked at again below.
                        if values.iter().fold(true, |fine, x| {
                            let x = x.to_f32();
                            fine & (x > low) & (x < high)
                        }) {
                            return Vec::new();
                        }
                        let values = values.iter().map(|x| f64::from(x.to_f32())).enumerate();
                        let faulty = values.filter(|&(_, x)| !is_fine(x));
                        faulty.map(|(lane, x)| (lane as u32, x)).collect()
                    }
                }
            }};
        }
        if self.from == Kind::F64 {
            let lanes = inst.lanes(machine);
            let tile = machine.frame.tile::<f64>(inst.ins[0], lanes);
            let all = if let Tile::Uniform(_) = tile { 1 } else { lanes };
            let values = (0..all).map(|lane| (lane as u32, tile.lane(lane)));
            return values.filter(|&(_, x)| !(x > low && x < high)).collect();
        }
        float_types!(self.from, lanes_of, Vec::new())
    }
}

impl Step for ToInteger {
    fn is_lanewise(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let lanes = inst.lanes(machine);
        let faulty = self.faulty(inst, machine);
        (self.apply)(
            machine.context.cpu,
            &mut machine.frame,
            inst.ins[0],
            inst.outs[0],
            lanes,
        );
        if !faulty.is_empty() {
            machine.taint.activate();
        }
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        taint::lanewise(inst, machine);
        let faulty = self.faulty(inst, machine);
        let detail = |&(lane, value): &(u32, f64)| BirthDetail::Conversion(lane, value);
        bear(inst, machine, Check::FloatToIntRange, &faulty, |f| f.0, detail);
    }
}

/// Integer to integer: a formula stays one where its values fit.
#[derive(Debug)]
struct Widen {
    from: Kind,
    to: Kind,
    signed: bool,
    apply: Apply,
}

impl Step for Widen {
    fn rule(&self) -> Option<Rule<'_>> {
        let is_number = self.from != Kind::Bool && self.to != Kind::Bool;
        is_number.then_some(Rule::Convert(self.to, self.signed))
    }

    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn is_lanewise(&self) -> bool {
        true
    }

    fn may_give_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if !symbolic::convert(self.from, self.to, self.signed, inst, machine) {
            symbolic::flatten(inst, machine);
            let lanes = inst.lanes(machine);
            (self.apply)(
                machine.context.cpu,
                &mut machine.frame,
                inst.ins[0],
                inst.outs[0],
                lanes,
            );
        }
        Ok(Flow::Next)
    }

    fn reads_forms(&self) -> bool {
        true
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        match self.signed && self.from.bytes() <= self.to.bytes() {
            true => exact::copied(inst, machine, |_| false),
            false => exact::forget(inst, machine),
        }
    }
}

/// `tt.int_to_ptr`: the tensor is the one that contains the address now.
#[derive(Debug)]
struct IntToPtr;

impl Step for IntToPtr {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let lanes = inst.lanes(machine);
        let (from, out) = (inst.ins[0], inst.outs[0]);
        machine.frame.copy(from, out, lanes * 8);
        let provenance = owners(machine, out, lanes);
        machine.frame.set_provenance(out, provenance);
        Ok(Flow::Next)
    }
}

/// The tensors that the addresses in a slot belong to.
pub fn owners(machine: &Machine<'_>, slot: Slot, lanes: usize) -> Provenance {
    let memory = &machine.context.memory;
    match machine.frame.tile::<u64>(slot, lanes) {
        Tile::Uniform(address) => Provenance::Uniform(memory.owner(address)),
        Tile::Dense(addresses) => {
            let lanes: Vec<u32> = addresses.iter().map(|&a| memory.owner(a)).collect();
            match lanes.iter().all(|&t| t == lanes[0]) {
                true => Provenance::Uniform(lanes[0]),
                false => Provenance::Dense(lanes),
            }
        }
    }
}

/// A loop from a conversion of one lane, compiled once for any CPU: there are hundreds.
macro_rules! by {
    ($a:ident: $from:ty => $to:ty, $e:expr) => {
        Some(
            (|_, frame, from, out, lanes| map1_plain(frame, from, out, lanes, |$a: $from| -> $to { $e }))
                as Apply,
        )
    };
}

/// Integer to integer; `signed` extends the sign.
fn int_to_int(from: Kind, to: Kind, signed: bool) -> Option<Apply> {
    macro_rules! to_bool {
        ($u:ty, $i:ty) => {
            by!(x: $u => Bool, Bool(x as u8 & 1))
        };
    }
    if to == Kind::Bool {
        return match from {
            Kind::Bool => by!(x: Bool => Bool, x),
            _ => int_types!(from, to_bool, None),
        };
    }
    macro_rules! to_int {
        ($to:ty, $signed_to:ty) => {{
            macro_rules! from_int {
                ($u:ty, $i:ty) => {
                    if signed { by!(x: $u => $to, x as $i as $to) } else { by!(x: $u => $to, x as $to) }
                };
            }
            match from {
                Kind::Bool if signed => by!(x: Bool => $to, (0 as $to).wrapping_sub(<$to>::from(x.0))),
                Kind::Bool => by!(x: Bool => $to, <$to>::from(x.0)),
                _ => int_types!(from, from_int, None),
            }
        }};
    }
    int_types!(to, to_int, None)
}

fn int_to_float(from: Kind, to: Kind, signed: bool) -> Option<Apply> {
    if to == Kind::F64 {
        macro_rules! from_int {
            ($u:ty, $i:ty) => {
                if signed {
                    by!(x: $u => f64, ToFloat::to_f64(x as $i))
                } else {
                    by!(x: $u => f64, ToFloat::to_f64(x))
                }
            };
        }
        return match from {
            // -0.0 is not what a false lane converts to.
            Kind::Bool if signed => by!(x: Bool => f64, 0.0 - f64::from(x.0)),
            Kind::Bool => by!(x: Bool => f64, f64::from(x.0)),
            _ => int_types!(from, from_int, None),
        };
    }
    macro_rules! to_float {
        ($to:ty) => {{
            macro_rules! from_int {
                ($u:ty, $i:ty) => {
                    if signed {
                        by!(x: $u => $to, ToFloat::to_stored::<$to>(x as $i))
                    } else {
                        by!(x: $u => $to, ToFloat::to_stored::<$to>(x))
                    }
                };
            }
            match from {
                Kind::Bool if signed => by!(x: Bool => $to, <$to>::from_f32(0.0 - f32::from(x.0))),
                Kind::Bool => by!(x: Bool => $to, <$to>::from_f32(f32::from(x.0))),
                _ => int_types!(from, from_int, None),
            }
        }};
    }
    float_types!(to, to_float, None)
}

fn float_to_int(from: Kind, to: Kind, signed: bool) -> Option<Apply> {
    macro_rules! to_int {
        ($u:ty, $i:ty) => {{
            macro_rules! from_float {
                ($from:ty) => {
                    if signed {
                        by!(x: $from => $u, <$i as FromFloat>::from_f32(x.to_f32()) as $u)
                    } else {
                        by!(x: $from => $u, <$u as FromFloat>::from_f32(x.to_f32()))
                    }
                };
            }
            match from {
                Kind::F64 if signed => by!(x: f64 => $u, <$i as FromFloat>::from_f64(x) as $u),
                Kind::F64 => by!(x: f64 => $u, <$u as FromFloat>::from_f64(x)),
                _ => float_types!(from, from_float, None),
            }
        }};
    }
    macro_rules! to_bool {
        ($from:ty) => {
            by!(x: $from => Bool, Bool::from(x.to_f32() != 0.0))
        };
    }
    match (from, to) {
        (Kind::F64, Kind::Bool) => by!(x: f64 => Bool, Bool::from(x != 0.0)),
        (_, Kind::Bool) => float_types!(from, to_bool, None),
        _ => int_types!(to, to_int, None),
    }
}

/// By way of f32, which holds every value of the narrow kinds, in blocks that stay in the cache: so each
/// kind needs two loops, not one for each other kind.
fn via_f32<A: Lane + StoredFloat, B: Lane + StoredFloat>(
    cpu: Cpu,
    frame: &mut Frame,
    from: Slot,
    out: Slot,
    lanes: usize,
) {
    const BLOCK: usize = 512;
    let Tile::Dense(_) = frame.tile::<A>(from, lanes) else {
        let value = B::from_f32(frame.scalar::<A>(from).to_f32());
        frame.set_uniform(out, value.to_bits());
        return;
    };
    let mut buffer = frame.take::<B>(out, lanes);
    if let Tile::Dense(x) = frame.tile::<A>(from, lanes) {
        let mut wide = [0.0f32; BLOCK];
        for (x, y) in x.chunks(BLOCK).zip(buffer.lanes::<B>(lanes).chunks_mut(BLOCK)) {
            A::widen_slice(cpu, x, &mut wide[..x.len()]);
            B::narrow_slice(cpu, &wide[..x.len()], y);
        }
    }
    frame.put(out, buffer);
}

/// To f32.
fn to_f32<A: Lane + StoredFloat>(cpu: Cpu, frame: &mut Frame, from: Slot, out: Slot, lanes: usize) {
    let Tile::Dense(_) = frame.tile::<A>(from, lanes) else {
        let value = frame.scalar::<A>(from).to_f32();
        frame.set_uniform(out, u64::from(value.to_bits()));
        return;
    };
    let mut buffer = frame.take::<f32>(out, lanes);
    if let Tile::Dense(x) = frame.tile::<A>(from, lanes) {
        A::widen_slice(cpu, x, buffer.lanes::<f32>(lanes));
    }
    frame.put(out, buffer);
}

/// From f32.
fn from_f32<B: Lane + StoredFloat>(cpu: Cpu, frame: &mut Frame, from: Slot, out: Slot, lanes: usize) {
    let Tile::Dense(_) = frame.tile::<f32>(from, lanes) else {
        let value = B::from_f32(frame.scalar::<f32>(from));
        frame.set_uniform(out, value.to_bits());
        return;
    };
    let mut buffer = frame.take::<B>(out, lanes);
    if let Tile::Dense(x) = frame.tile::<f32>(from, lanes) {
        B::narrow_slice(cpu, x, buffer.lanes::<B>(lanes));
    }
    frame.put(out, buffer);
}

/// The conversion of a float kind narrower than f32 to that.
pub fn widening(from: Kind) -> Option<impl Step + 'static> {
    let apply = float_to_float(from, Kind::F32).filter(|_| from.is_float() && from.bytes() < 4)?;
    let widens = Some(from);
    Some(Convert {
        apply,
        widens,
        narrows: None,
    })
}

fn float_to_float(from: Kind, to: Kind) -> Option<Apply> {
    macro_rules! to_f32 {
        ($from:ty) => {
            Some(to_f32::<$from> as Apply)
        };
    }
    macro_rules! from_f32 {
        ($to:ty) => {
            Some(from_f32::<$to> as Apply)
        };
    }
    macro_rules! widen {
        ($from:ty) => {
            by!(x: $from => f64, f64::from(x.to_f32()))
        };
    }
    macro_rules! to_float {
        ($to:ty) => {{
            macro_rules! from_float {
                ($from:ty) => {
                    Some(via_f32::<$from, $to> as Apply)
                };
            }
            match from {
                Kind::F64 => by!(x: f64 => $to, <$to as StoredFloat>::from_f64(x)),
                _ => float_types!(from, from_float, None),
            }
        }};
    }
    match (from, to) {
        (Kind::F64, Kind::F64) => by!(x: f64 => f64, x),
        (Kind::F32, Kind::F64) => by!(x: f32 => f64, f64::from(x)),
        (Kind::F64, Kind::F32) => to_float!(f32),
        (_, Kind::F32) => float_types!(from, to_f32, None),
        (Kind::F32, _) => float_types!(to, from_f32, None),
        (_, Kind::F64) => float_types!(from, widen, None),
        _ => float_types!(to, to_float, None),
    }
}

/// Float to float, rounding toward zero, where the card can.
fn float_to_float_rtz(from: Kind, to: Kind) -> Option<Apply> {
    macro_rules! to_float {
        ($to:ty) => {{
            macro_rules! from_float {
                ($from:ty) => {
                    by!(x: $from => $to, <$to as RoundTowardZero>::from_f32_rtz(x.to_f32()))
                };
            }
            match from {
                Kind::F64 => by!(x: f64 => $to, <$to as RoundTowardZero>::from_f64_rtz(x)),
                _ => float_types!(from, from_float, None),
            }
        }};
    }
    match to {
        Kind::F16 => to_float!(F16),
        Kind::Bf16 => to_float!(Bf16),
        Kind::F8E5M2 => to_float!(F8E5M2),
        Kind::F32 => to_float!(f32),
        _ => None,
    }
}

/// All conversions.
pub fn cast(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (from, to) = (
        lower.kind(function, data.operands[0]),
        lower.kind(function, data.results[0]),
    );
    let apply = match data.code {
        OpCode::ArithBitcast | OpCode::Bitcast | OpCode::PtrToInt => {
            return bitcast(lower, function, op, from, to);
        }
        OpCode::IntToPtr => {
            let ins = lower.operands(data);
            let out = lower.result(function, op)?;
            let lanes = lower.lanes(function, data.results[0]);
            lower.emit(IntToPtr, ins, vec![out], lanes);
            return Ok(());
        }
        OpCode::ExtSI | OpCode::IndexCast => int_to_int(from, to, true),
        OpCode::ExtUI | OpCode::TruncI | OpCode::IndexCastUi => int_to_int(from, to, false),
        OpCode::SiToFp => int_to_float(from, to, true),
        OpCode::UiToFp => int_to_float(from, to, false),
        OpCode::FpToSi => float_to_int(from, to, true),
        OpCode::FpToUi => float_to_int(from, to, false),
        _ if data.attrs == Attrs::FpToFp(Some(Rounding::Rtz)) => float_to_float_rtz(from, to),
        _ => float_to_float(from, to),
    };
    let Some(apply) = apply else {
        let (a, b) = (function.ty(data.operands[0]), function.ty(data.results[0]));
        return Err(lower.unsupported(function, op, format!("{} from {a} to {b} is not run", data.code)));
    };
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    let signed = matches!(data.code, OpCode::ExtSI | OpCode::IndexCast | OpCode::TruncI);
    if matches!(data.code, OpCode::FpToSi | OpCode::FpToUi)
        && to != Kind::Bool
        && lower.checks(Check::FloatToIntRange)
    {
        let signed = data.code == OpCode::FpToSi;
        let step = ToInteger {
            apply,
            from,
            to,
            signed,
        };
        lower.emit(step, ins, vec![out], lanes);
    } else if from.is_float() || to.is_float() {
        let widens = (from.is_float() && to == Kind::F32).then_some(from);
        let to_nearest = data.attrs != Attrs::FpToFp(Some(Rounding::Rtz));
        let narrows =
            (from == Kind::F32 && to != Kind::F32 && to_nearest && strip::is_held(to)).then_some(to);
        let step = Convert {
            apply,
            widens,
            narrows,
        };
        lower.emit(step, ins, vec![out], lanes);
    } else {
        lower.emit(
            Widen {
                from,
                to,
                signed,
                apply,
            },
            ins,
            vec![out],
            lanes,
        );
    }
    Ok(())
}

/// Same bits, other type: the result is the operand's slot.
fn bitcast(lower: &mut Lower<'_>, function: &Function, op: OpId, from: Kind, to: Kind) -> Result<()> {
    let data = &function.ops[op];
    if from == Kind::Bool && to == Kind::I8
        || from == Kind::I8 && to == Kind::Bool
        || from.bytes() != to.bytes()
    {
        let (a, b) = (function.ty(data.operands[0]), function.ty(data.results[0]));
        return Err(lower.unsupported(function, op, format!("{} from {a} to {b} is not run", data.code)));
    }
    let slots = lower.slots(data.operands[0]).to_vec();
    lower.alias(data.results[0], slots);
    Ok(())
}
