//! Constants and element-wise arithmetic.

use crate::exact;
use crate::frame::Tile;
use crate::kind::{Bool, Kind, Lane};
use crate::lanes::{Elementwise, Signless, apply_and_fetch, elementwise as lane_loop};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::optimise::formula::Rule;
use crate::simd::strip::{Arith, Transcendental};
use crate::steps::strip::Link;
use crate::steps::symbolic;
use crate::taint::{self, BirthDetail, Births};
use crate::tape::{Inst, Step};
use crate::with_width;
use std::sync::Arc;
use tilescope_diagnostics::{Check, Result};
use tilescope_ir::{Attrs, Class, Constant, Function, OpCode, OpId};

/// Any element-wise operation.
#[derive(Debug)]
struct Lanewise {
    code: OpCode,
    apply: Elementwise,
    /// Lines of memory to ask for beside some hundred lanes.
    lines: usize,
}

impl Step for Lanewise {
    fn link(&self) -> Option<Link> {
        let Elementwise::F32(each) = self.apply else {
            return None;
        };
        Some(match self.code {
            OpCode::AddF => Link::Arith(Arith::Add),
            OpCode::SubF => Link::Arith(Arith::Sub),
            OpCode::MulF => Link::Arith(Arith::Mul),
            OpCode::DivF | OpCode::ApproxDivF | OpCode::PreciseDivF => Link::Arith(Arith::Div),
            OpCode::Exp => Link::Transcendental(Transcendental::Exp, each),
            OpCode::Exp2 => Link::Transcendental(Transcendental::Exp2, each),
            OpCode::Erf => Link::Transcendental(Transcendental::Erf, each),
            code => {
                let keeps = matches!(code, OpCode::NegF | OpCode::AbsF | OpCode::CopySign);
                Link::Each(each, keeps)
            }
        })
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
        let (cpu, frame) = (machine.context.cpu, &mut machine.frame);
        match self.apply {
            Elementwise::F32(each) if lanes > 1 => {
                apply_and_fetch(each, self.lines, cpu, frame, &inst.ins, inst.outs[0], lanes);
            }
            apply => apply.apply(cpu, frame, &inst.ins, inst.outs[0], lanes),
        }
        Ok(Flow::Next)
    }
}

/// How many lines come from memory while some hundred lanes are computed, about.
fn lines_beside(code: OpCode) -> usize {
    match code {
        OpCode::AddF | OpCode::SubF | OpCode::MulF | OpCode::MaxNumF | OpCode::MinNumF => 8,
        OpCode::MaximumF | OpCode::MinimumF | OpCode::Fma | OpCode::NegF | OpCode::AbsF => 8,
        _ => 32,
    }
}

/// Integer arithmetic that offsets are made of: by formula where the operands have one.
#[derive(Debug)]
struct Offsets {
    code: OpCode,
    kind: Kind,
    apply: Elementwise,
    /// An address may be made of it: wrap-around is looked for.
    addresses: bool,
}

impl Step for Offsets {
    fn rule(&self) -> Option<Rule<'_>> {
        Some(Rule::Integer(self.code, self.kind))
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

    #[inline]
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if !symbolic::arithmetic(self.code, self.kind, inst, machine) {
            symbolic::flatten(inst, machine);
            let lanes = inst.lanes(machine);
            self.apply.apply(
                machine.context.cpu,
                &mut machine.frame,
                &inst.ins,
                inst.outs[0],
                lanes,
            );
        } else if inst.ins.iter().any(|&slot| machine.frame.uniform(slot).is_none()) {
            // Formulas are exact.
            return Ok(Flow::Next);
        }
        if self.addresses && exact::wraps(self.code, self.kind, inst, machine) {
            machine.exact.activate();
        }
        Ok(Flow::Next)
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        match self.addresses {
            true => exact::arithmetic(self.code, self.kind, inst, machine),
            false => exact::forget(inst, machine),
        }
    }

    fn reads_forms(&self) -> bool {
        true
    }
}

/// `arith.andi` and `arith.ori`: a defined 0 (or all ones) decides whatever the other lane is.
#[derive(Debug)]
struct Bitwise {
    apply: Elementwise,
    kind: Kind,
    and: bool,
}

impl Step for Bitwise {
    fn rule(&self) -> Option<Rule<'_>> {
        (self.and && self.kind == Kind::Bool).then_some(Rule::And)
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

    fn reads_forms(&self) -> bool {
        true
    }

    #[inline]
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if self.and && self.kind == Kind::Bool && symbolic::and(inst, machine) {
            return Ok(Flow::Next);
        }
        symbolic::flatten(inst, machine);
        let lanes = inst.lanes(machine);
        self.apply.apply(
            machine.context.cpu,
            &mut machine.frame,
            &inst.ins,
            inst.outs[0],
            lanes,
        );
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let lanes = inst.lanes(machine);
        let Some(births) = taint::combine(&inst.ins, machine, lanes) else {
            machine.taint.set(inst.outs[0], None);
            return;
        };
        let decided = |operand: usize, lane: usize| {
            if machine
                .taint
                .get(inst.ins[operand])
                .is_some_and(|b| b.lane(lane) != 0)
            {
                return false;
            }
            let slot = inst.ins[operand];
            let (bits, ones) = match self.kind {
                Kind::Bool => (machine.frame.tile::<Bool>(slot, lanes).lane(lane).to_bits(), 1),
                kind => with_width!(kind, T => {
                    let bits = machine.frame.tile::<T>(slot, lanes).lane(lane).to_bits();
                    #[allow(clippy::unnecessary_cast, reason = "T is u64 for one of the widths")]
                    let ones = T::MAX as u64;
                    (bits, ones)
                }),
            };
            bits == if self.and { 0 } else { ones }
        };
        let lane = |i| {
            if decided(0, i) || decided(1, i) {
                0
            } else {
                births.lane(i)
            }
        };
        let dense = Births::Dense((0..lanes).map(lane).collect());
        machine.taint.set(inst.outs[0], Some(dense));
    }
}

/// Integer division and remainder: lanes without a result are undefined.
#[derive(Debug)]
struct Division {
    code: OpCode,
    apply: Elementwise,
    kind: Kind,
    signed: bool,
    /// Lanes without a result are looked for.
    watched: bool,
}

impl Division {
    /// (lane, dividend, divisor) of the lanes without a result.
    fn faulty<T: Signless>(
        &self,
        inst: &Inst,
        machine: &Machine<'_>,
        sign: fn(T) -> i64,
    ) -> Vec<(u32, i64, i64)> {
        let lanes = inst.lanes(machine);
        let frame = &machine.frame;
        let (a, b) = (
            frame.tile::<T>(inst.ins[0], lanes),
            frame.tile::<T>(inst.ins[1], lanes),
        );
        let zero = T::from_bits(0);
        let is_faulty = |a: T, b: T| {
            if self.signed {
                a.is_faulty_signed(b)
            } else {
                b == zero
            }
        };
        if let Tile::Uniform(b) = b {
            let harmless = b != zero && !(self.signed && sign(b) == -1);
            if harmless {
                return Vec::new();
            }
        }
        let all = if let (Tile::Uniform(_), Tile::Uniform(_)) = (a, b) {
            1
        } else {
            lanes
        };
        (0..all)
            .filter(|&i| is_faulty(a.lane(i), b.lane(i)))
            .map(|i| (i as u32, sign(a.lane(i)), sign(b.lane(i))))
            .collect()
    }

    fn faulty_lanes(&self, inst: &Inst, machine: &Machine<'_>) -> Vec<(u32, i64, i64)> {
        match self.kind {
            Kind::Bool => self.faulty::<Bool>(inst, machine, |x| -i64::from(x.0)),
            Kind::I8 => self.faulty::<u8>(inst, machine, |x| i64::from(x as i8)),
            Kind::I16 => self.faulty::<u16>(inst, machine, |x| i64::from(x as i16)),
            Kind::I32 => self.faulty::<u32>(inst, machine, |x| i64::from(x as i32)),
            _ => self.faulty::<u64>(inst, machine, |x| x as i64),
        }
    }
}

impl Step for Division {
    fn rule(&self) -> Option<Rule<'_>> {
        Some(Rule::Integer(self.code, self.kind))
    }

    /// By a known divisor every lane has a result, but by 0 and (maybe) by -1.
    fn is_pure(&self, operands: &[Option<u64>]) -> bool {
        let ones = u64::MAX >> (64 - 8 * self.kind.bytes());
        matches!(operands, [_, Some(divisor)] if *divisor != 0 && divisor & ones != ones)
    }

    fn may_give_forms(&self) -> bool {
        true
    }

    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if symbolic::arithmetic(self.code, self.kind, inst, machine) {
            return Ok(Flow::Next);
        }
        symbolic::flatten(inst, machine);
        let lanes = inst.lanes(machine);
        let faulty = match self.watched {
            true => self.faulty_lanes(inst, machine),
            false => Vec::new(),
        };
        self.apply.apply(
            machine.context.cpu,
            &mut machine.frame,
            &inst.ins,
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
        if !self.watched {
            return;
        }
        let faulty = self.faulty_lanes(inst, machine);
        let detail =
            |&(lane, dividend, divisor): &(u32, i64, i64)| BirthDetail::Division(lane, dividend, divisor);
        bear(inst, machine, Check::DivByZero, &faulty, |f| f.0, detail);
    }
}

/// Shifts: lanes shifted by a negative amount, or by the width or more, are undefined.
#[derive(Debug)]
struct Shift {
    code: OpCode,
    apply: Elementwise,
    kind: Kind,
    /// An address may be made of it: wrap-around is looked for.
    addresses: bool,
    /// Amounts out of range are looked for.
    watched: bool,
}

/// A faulty lane of a shift: lane, value, amount.
type BadShift = (u32, i64, i64);

impl Shift {
    /// Wrap-around is looked for: shifts right start again from the real value.
    fn follows(&self) -> bool {
        self.addresses && self.code == OpCode::ShlI
    }

    fn width(&self) -> u64 {
        match self.kind {
            Kind::Bool => 1,
            kind => 8 * kind.bytes() as u64,
        }
    }

    fn faulty<T: Signless>(&self, inst: &Inst, machine: &Machine<'_>, sign: fn(T) -> i64) -> Vec<BadShift> {
        let (lanes, width) = (inst.lanes(machine), self.width());
        let amounts = machine.frame.tile::<T>(inst.ins[1], lanes);
        let is_fine = |amount: T| amount.to_bits() < width;
        let fine = match amounts {
            Tile::Uniform(amount) => is_fine(amount),
            Tile::Dense(amounts) => amounts.iter().all(|&amount| is_fine(amount)),
        };
        if fine {
            return Vec::new();
        }
        let values = machine.frame.tile::<T>(inst.ins[0], lanes);
        let all = match (values, amounts) {
            (Tile::Uniform(_), Tile::Uniform(_)) => 1,
            _ => lanes,
        };
        (0..all)
            .filter(|&i| !is_fine(amounts.lane(i)))
            .map(|i| (i as u32, sign(values.lane(i)), sign(amounts.lane(i))))
            .collect()
    }

    fn faulty_lanes(&self, inst: &Inst, machine: &Machine<'_>) -> Vec<BadShift> {
        match self.kind {
            Kind::Bool => self.faulty::<Bool>(inst, machine, |x| i64::from(x.0)),
            Kind::I8 => self.faulty::<u8>(inst, machine, |x| i64::from(x as i8)),
            Kind::I16 => self.faulty::<u16>(inst, machine, |x| i64::from(x as i16)),
            Kind::I32 => self.faulty::<u32>(inst, machine, |x| i64::from(x as i32)),
            _ => self.faulty::<u64>(inst, machine, |x| x as i64),
        }
    }
}

impl Step for Shift {
    fn is_pure(&self, operands: &[Option<u64>]) -> bool {
        matches!(operands, [_, Some(amount)] if *amount < self.width())
    }

    fn is_lanewise(&self) -> bool {
        true
    }

    fn may_give_forms(&self) -> bool {
        true
    }

    fn reads_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let in_range = machine
            .frame
            .uniform(inst.ins[1])
            .is_some_and(|amount| amount < self.width());
        if in_range && symbolic::arithmetic(self.code, self.kind, inst, machine) {
            return Ok(Flow::Next);
        }
        symbolic::flatten(inst, machine);
        let lanes = inst.lanes(machine);
        let faulty = match self.watched && !in_range {
            true => self.faulty_lanes(inst, machine),
            false => Vec::new(),
        };
        self.apply.apply(
            machine.context.cpu,
            &mut machine.frame,
            &inst.ins,
            inst.outs[0],
            lanes,
        );
        if !faulty.is_empty() {
            machine.taint.activate();
        } else if self.follows() && exact::wraps(self.code, self.kind, inst, machine) {
            machine.exact.activate();
        }
        Ok(Flow::Next)
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        match self.follows() {
            true => exact::arithmetic(self.code, self.kind, inst, machine),
            false => exact::forget(inst, machine),
        }
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        taint::lanewise(inst, machine);
        if !self.watched {
            return;
        }
        let faulty = self.faulty_lanes(inst, machine);
        let width = self.width() as u32;
        let detail = |&(lane, value, amount): &BadShift| BirthDetail::Shift(lane, value, amount, width);
        bear(inst, machine, Check::ShiftOutOfRange, &faulty, |f| f.0, detail);
    }
}

/// Gives birth in faulty lanes; a single one of a result that is uniform stands for all.
pub fn bear<F>(
    inst: &Inst,
    machine: &mut Machine<'_>,
    check: Check,
    faulty: &[F],
    lane: impl Fn(&F) -> u32,
    detail: impl Fn(&F) -> BirthDetail,
) {
    let lanes = inst.lanes(machine);
    match faulty {
        [] => {}
        [one] if machine.frame.uniform(inst.outs[0]).is_some() => {
            let born = (0..lanes as u32).map(|lane| (lane, detail(one)));
            taint::bear_lanes(machine, inst.outs[0], lanes, check, born);
        }
        _ => {
            let born = faulty.iter().map(|f| (lane(f), detail(f)));
            taint::bear_lanes(machine, inst.outs[0], lanes, check, born);
        }
    }
}

/// A value without meaning.
#[derive(Debug)]
struct Meaningless {
    kind: Kind,
}

impl Step for Meaningless {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let poison = machine.context.memory.poison;
        let bits = poison.bits(self.kind, machine.linear, machine.at, 0);
        machine.frame.set_uniform(inst.outs[0], bits);
        machine
            .frame
            .set_provenance(inst.outs[0], crate::frame::Provenance::NONE);
        machine.taint.activate();
        Ok(Flow::Next)
    }

    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let birth = machine.taint.bear(
            Check::UndefinedLane,
            machine.at,
            BirthDetail::Masked(0),
            machine.steps,
        );
        machine.taint.set(inst.outs[0], Some(Births::Uniform(birth)));
    }
}

/// Lowers any element-wise operation.
pub fn elementwise(lower: &mut Lower<'_>, function: &Function, op: OpId, _: Class) -> Result<()> {
    let data = &function.ops[op];
    let kind = lower.kind(function, data.operands[0]);
    let Some(apply) = lane_loop(data.code, kind) else {
        let ty = function.ty(data.operands[0]);
        return Err(lower.unsupported(function, op, format!("{} is not run on {ty}", data.code)));
    };
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    let outs = vec![out];
    let code = data.code;
    let addresses = lower.is_address(function, data.results[0]);
    let watched = lower.checks(Check::DivByZero);
    match code {
        OpCode::AddI | OpCode::SubI | OpCode::MulI | OpCode::MinSI | OpCode::MaxSI if kind != Kind::Bool => {
            let step = Offsets {
                code,
                kind,
                apply,
                addresses,
            };
            lower.emit(step, ins, outs, lanes);
        }
        OpCode::ShlI | OpCode::ShrSI | OpCode::ShrUI => {
            let step = Shift {
                code,
                apply,
                kind,
                addresses,
                watched: lower.checks(Check::ShiftOutOfRange),
            };
            lower.emit(step, ins, outs, lanes);
        }
        OpCode::DivSI | OpCode::RemSI | OpCode::CeilDivSI | OpCode::FloorDivSI => {
            lower.emit(
                Division {
                    code,
                    apply,
                    kind,
                    signed: true,
                    watched,
                },
                ins,
                outs,
                lanes,
            );
        }
        OpCode::DivUI | OpCode::RemUI | OpCode::CeilDivUI => {
            lower.emit(
                Division {
                    code,
                    apply,
                    kind,
                    signed: false,
                    watched,
                },
                ins,
                outs,
                lanes,
            );
        }
        OpCode::AndI => lower.emit(
            Bitwise {
                apply,
                kind,
                and: true,
            },
            ins,
            outs,
            lanes,
        ),
        OpCode::OrI => lower.emit(
            Bitwise {
                apply,
                kind,
                and: false,
            },
            ins,
            outs,
            lanes,
        ),
        _ => lower.emit(
            Lanewise {
                code,
                apply,
                lines: lines_beside(code),
            },
            ins,
            outs,
            lanes,
        ),
    }
    Ok(())
}

/// A splat constant, or any other value known when lowering.
#[derive(Debug)]
struct Known {
    bits: u64,
}

impl Step for Known {
    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn known(&self) -> Option<u64> {
        Some(self.bits)
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        machine.frame.set_uniform(inst.outs[0], self.bits);
        machine
            .frame
            .set_provenance(inst.outs[0], crate::frame::Provenance::NONE);
        Ok(Flow::Next)
    }
}

/// A constant with a value per lane.
#[derive(Debug)]
struct Listed {
    lanes: Arc<[u64]>,
    kind: Kind,
}

impl Step for Listed {
    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        with_width!(self.kind, T => {
            machine.frame.fill::<T>(inst.outs[0], self.lanes.len(), |_, i| T::from_bits(self.lanes[i]));
        });
        Ok(Flow::Next)
    }
}

/// `arith.constant`.
pub fn constant(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let out = lower.result(function, op)?;
    let kind = lower.kind(function, function.ops[op].results[0]);
    match &function.ops[op].attrs {
        Attrs::Constant(Constant::Splat(bits)) => lower.emit(Known { bits: *bits }, vec![], vec![out], 1),
        Attrs::Constant(Constant::Dense(lanes)) => {
            lower.emit(
                Listed {
                    lanes: lanes.clone(),
                    kind,
                },
                vec![],
                vec![out],
                lanes.len() as u32,
            );
        }
        _ => return Err(lower.unsupported(function, op, "a constant without a value")),
    }
    Ok(())
}

/// `ub.poison`: zero unless another poison is asked for, and undefined.
pub fn poison(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let value = function.ops[op].results[0];
    let kind = lower.kind(function, value);
    for out in lower.define(function, value)? {
        match lower.checks(Check::UndefinedLane) {
            true => lower.emit(Meaningless { kind }, vec![], vec![out], 1),
            false => lower.emit(Known { bits: 0 }, vec![], vec![out], 1),
        }
    }
    Ok(())
}
