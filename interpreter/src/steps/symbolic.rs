//! Integer and mask operations on symbolic tiles ([`crate::forms`]).
//!
//! Each function tries the operation by formula and says whether it did; if not, the step makes its
//! operands dense and goes lane by lane.

use crate::forms::{Mask, Sum, Vectors};
use crate::frame::{Form, Frame, Slot};
use crate::kind::Kind;
use crate::machine::Machine;
use crate::tape::Inst;
use tilescope_ir::OpCode;
use tilescope_ir::attrs::IntPredicate;

/// Logarithm of an instruction's lanes; none in the region of a reduce and for single lanes.
fn log2(inst: &Inst) -> Option<u8> {
    (inst.lanes > 1).then(|| inst.lanes.trailing_zeros() as u8)
}

/// True if an operand is symbolic, so that trying a form is worthwhile.
fn any_symbolic(inst: &Inst, frame: &Frame) -> bool {
    inst.ins.iter().any(|&slot| frame.is_symbolic(slot))
}

/// Makes all operands dense.
pub fn flatten(inst: &Inst, machine: &mut Machine<'_>) {
    inst.ins.iter().for_each(|&slot| machine.frame.flatten(slot));
}

/// Integer arithmetic.
pub fn arithmetic(code: OpCode, kind: Kind, inst: &Inst, machine: &mut Machine<'_>) -> bool {
    let frame = &mut machine.frame;
    if let [a, b] = inst.ins[..]
        && let (Some(x), Some(y)) = (frame.uniform(a), frame.uniform(b))
    {
        return uniform_arithmetic(code, kind, x, y, inst.outs[0], frame);
    }
    if !any_symbolic(inst, frame) {
        return false;
    }
    arithmetic_by_form(code, kind, inst, frame).is_some()
}

/// Sums, differences and products of single values, which most programs begin with.
fn uniform_arithmetic(code: OpCode, kind: Kind, x: u64, y: u64, out: Slot, frame: &mut Frame) -> bool {
    let bits = match code {
        OpCode::AddI => x.wrapping_add(y),
        OpCode::SubI => x.wrapping_sub(y),
        OpCode::MulI => x.wrapping_mul(y),
        _ => return false,
    };
    frame.set_uniform(out, bits & (u64::MAX >> (64 - 8 * kind.bytes())));
    true
}

fn arithmetic_by_form(code: OpCode, kind: Kind, inst: &Inst, frame: &mut Frame) -> Option<()> {
    let (bytes, log2) = (kind.bytes(), log2(inst)?);
    let [a, b] = [*inst.ins.first()?, *inst.ins.get(1)?];
    let (x, y) = (frame.sum(a, bytes, log2)?, frame.sum(b, bytes, log2)?);
    let (sum, vectors, factor) = match code {
        OpCode::AddI => x.add(&y).map(|(sum, vectors)| (sum, vectors, 1))?,
        OpCode::SubI => x.sub(&y).map(|(sum, vectors)| (sum, vectors, 1))?,
        OpCode::MulI => match (x.constant(), y.constant()) {
            (_, Some(factor)) => (x.scale(factor)?, one_vector(&x, Vectors::First), factor),
            (Some(factor), _) => (y.scale(factor)?, one_vector(&y, Vectors::Second), factor),
            _ => return None,
        },
        OpCode::ShlI => {
            let amount = u32::try_from(y.constant()?)
                .ok()
                .filter(|&n| n < 8 * bytes as u32 && n < 62)?;
            (x.scale(1 << amount)?, one_vector(&x, Vectors::First), 1 << amount)
        }
        OpCode::RemSI | OpCode::DivSI | OpCode::RemUI | OpCode::DivUI => {
            return divide(code, x, y, bytes, inst, frame);
        }
        OpCode::MinSI | OpCode::MaxSI => {
            let ((low, high), other) = (x.bounds()?, y.bounds()?);
            let first = if high <= other.0 {
                code == OpCode::MinSI
            } else if low >= other.1 {
                code == OpCode::MaxSI
            } else {
                return None;
            };
            if first {
                (x, one_vector(&x, Vectors::First), 1)
            } else {
                (y, one_vector(&y, Vectors::Second), 1)
            }
        }
        _ => return None,
    };
    if !sum.fits(8 * bytes as u32) {
        return None;
    }
    store(frame, inst.outs[0], sum, bytes, [a, b], vectors, factor);
    Some(())
}

fn one_vector(sum: &Sum, whose: Vectors) -> Vectors {
    if sum.vector_len().is_some() {
        whose
    } else {
        Vectors::None
    }
}

/// Division and remainder by one number, where all lanes have the same quotient.
fn divide(code: OpCode, x: Sum, y: Sum, bytes: usize, inst: &Inst, frame: &mut Frame) -> Option<()> {
    let divisor = y.constant().filter(|&d| d > 0)?;
    let (low, high) = x.bounds().filter(|b| b.0 >= 0)?;
    let quotient = low / divisor;
    if high / divisor != quotient {
        return None;
    }
    match code {
        OpCode::DivSI | OpCode::DivUI => frame.set_uniform(inst.outs[0], quotient as u64),
        _ => {
            let mut sum = x;
            sum.base = sum.base.checked_sub(quotient.checked_mul(divisor)?)?;
            store(
                frame,
                inst.outs[0],
                sum,
                bytes,
                [inst.ins[0]; 2],
                one_vector(&x, Vectors::First),
                1,
            );
        }
    }
    Some(())
}

/// Writes a sum with the vector of its operands, each element times `factor`.
fn store(
    frame: &mut Frame,
    out: Slot,
    sum: Sum,
    bytes: usize,
    [a, b]: [Slot; 2],
    vectors: Vectors,
    factor: i64,
) {
    frame.set_sum(out, sum, bytes, |frame, vector| {
        let from = frame.vector(if vectors == Vectors::Second { b } else { a });
        for (v, x) in vector.iter_mut().zip(from) {
            *v = x.wrapping_mul(factor);
        }
        if vectors == Vectors::Both {
            for (v, y) in vector.iter_mut().zip(frame.vector(b)) {
                *v = v.wrapping_add(*y);
            }
        }
    });
}

/// Pointer plus offset times `bytes`.
pub fn add_ptr(offset: Kind, bytes: u64, inst: &Inst, machine: &mut Machine<'_>) -> bool {
    let frame = &mut machine.frame;
    let [a, b] = [inst.ins[0], inst.ins[1]];
    // One tensor, offsets by formula.
    if let (Form::Uniform(pointer), Form::Sum(offset, _)) = (frame.form(a), frame.form(b))
        && let Ok(factor) = i64::try_from(bytes)
        && factor > 0
        && let Some(sum) = offset.scale_and_add(factor, pointer as i64)
    {
        frame.set_sum(inst.outs[0], sum, 8, |_, _| {});
        return true;
    }
    let by_form = |frame: &mut Frame| -> Option<()> {
        let log2 = log2(inst)?;
        if !any_symbolic(inst, frame) {
            return None;
        }
        let (pointer, offset) = (frame.sum(a, 8, log2)?, frame.sum(b, offset.bytes(), log2)?);
        let factor = i64::try_from(bytes).ok()?;
        let (sum, vectors) = pointer.add(&offset.scale(factor)?)?;
        sum.bounds()?;
        frame.set_sum(inst.outs[0], sum, 8, |frame, vector| {
            let (x, y) = (frame.vector(a), frame.vector(b));
            for (i, v) in vector.iter_mut().enumerate() {
                let first = if vectors == Vectors::Second { 0 } else { x[i] };
                let second = if vectors == Vectors::First {
                    0
                } else {
                    y[i].wrapping_mul(factor)
                };
                *v = first.wrapping_add(second);
            }
        });
        Some(())
    };
    by_form(frame).is_some()
}

/// Integer to integer of another width: the values stay the same where they fit.
pub fn convert(from: Kind, to: Kind, signed: bool, inst: &Inst, machine: &mut Machine<'_>) -> bool {
    let frame = &mut machine.frame;
    let slot = inst.ins[0];
    if from == Kind::Bool || to == Kind::Bool || inst.lanes <= 1 {
        return false;
    }
    let Form::Sum(sum, _) = frame.form(slot) else {
        return false;
    };
    let stays = sum.fits(8 * to.bytes() as u32) && (signed || sum.bounds().is_some_and(|b| b.0 >= 0));
    if stays {
        store(
            frame,
            inst.outs[0],
            sum,
            to.bytes(),
            [slot, slot],
            one_vector(&sum, Vectors::First),
            1,
        );
    }
    stays
}

/// Integer comparison, to a mask.
pub fn compare(predicate: IntPredicate, kind: Kind, inst: &Inst, machine: &mut Machine<'_>) -> bool {
    let frame = &mut machine.frame;
    if !any_symbolic(inst, frame) {
        return false;
    }
    compare_by_form(predicate, kind, inst, frame).is_some()
}

fn compare_by_form(predicate: IntPredicate, kind: Kind, inst: &Inst, frame: &mut Frame) -> Option<()> {
    use IntPredicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
    let (bytes, log2) = (kind.bytes(), log2(inst)?);
    let [a, b] = [inst.ins[0], inst.ins[1]];
    let (x, y) = (frame.sum(a, bytes, log2)?, frame.sum(b, bytes, log2)?);
    if matches!(predicate, Ult | Ule | Ugt | Uge) && (x.bounds()?.0 < 0 || y.bounds()?.0 < 0) {
        return None;
    }
    // Everything becomes left - right < bound.
    let (left, right, bound) = match predicate {
        Slt | Ult => ((x, a), (y, b), 0),
        Sle | Ule => ((x, a), (y, b), 1),
        Sgt | Ugt => ((y, b), (x, a), 0),
        Sge | Uge => ((y, b), (x, a), 1),
        Eq | Ne => return None,
    };
    let mask = match (left.0.vector_len(), right.0.vector_len()) {
        (_, None) => left.0.sub(&right.0)?.0.below(bound, frame.vector(left.1))?,
        // l - r < bound with the vector on the right: compare -(r - l) instead.
        (None, Some(_)) => {
            let difference = right.0.sub(&left.0)?.0.scale(-1)?;
            let negated: Vec<i64> = frame.vector(right.1).iter().map(|v| v.wrapping_neg()).collect();
            difference.below(bound, &negated)?
        }
        (Some(_), Some(_)) => return None,
    };
    frame.set_mask(inst.outs[0], mask);
    Some(())
}

/// `and` of masks.
pub fn and(inst: &Inst, machine: &mut Machine<'_>) -> bool {
    let frame = &mut machine.frame;
    if inst.lanes <= 1 || !any_symbolic(inst, frame) {
        return false;
    }
    let [a, b] = [inst.ins[0], inst.ins[1]];
    let constant = match (frame.uniform(a), frame.uniform(b)) {
        (Some(bits), _) => Some((bits, b)),
        (_, Some(bits)) => Some((bits, a)),
        _ => None,
    };
    if let Some((bits, other)) = constant {
        match bits {
            0 => frame.set_uniform(inst.outs[0], 0),
            _ => frame.copy_form(other, inst.outs[0], inst.lanes as usize),
        }
        return true;
    }
    let mask = match (frame.form(a), frame.form(b)) {
        (Form::Box(x), Form::Box(y)) => x.and(&y).map(Mask::Box),
        _ => None,
    };
    match mask.or_else(|| and_rows(frame, a, b)) {
        Some(mask) => {
            frame.set_mask(inst.outs[0], mask);
            true
        }
        None => false,
    }
}

fn and_rows(frame: &Frame, a: Slot, b: Slot) -> Option<Mask> {
    let len = |slot| match frame.form(slot) {
        Form::Box(mask) => Some(mask.len),
        Form::Ragged { len, .. } => Some(len),
        _ => None,
    };
    let len = len(a)?.min(len(b)?);
    let (x, y) = (frame.ragged(a, len)?, frame.ragged(b, len)?);
    let intervals = x
        .iter()
        .zip(&y)
        .map(|(x, y)| (x.0.max(y.0), x.1.min(y.1).max(x.0.max(y.0))))
        .collect();
    Some(Mask::Ragged { len, intervals })
}

/// Dimensions repeated; `keep` as in [`Sum::broadcast`].
pub fn broadcast(keep: &[(u8, bool)], kind: Kind, inst: &Inst, machine: &mut Machine<'_>) -> bool {
    let frame = &mut machine.frame;
    let (from, out) = (inst.ins[0], inst.outs[0]);
    match frame.form(from) {
        Form::Sum(sum, bytes) => match sum.broadcast(keep) {
            Some(wide) => {
                store(
                    frame,
                    out,
                    wide,
                    bytes as usize,
                    [from, from],
                    one_vector(&sum, Vectors::First),
                    1,
                );
                true
            }
            None => false,
        },
        Form::Box(mask) => match mask.broadcast(keep) {
            Some(wide) => {
                frame.set_mask(out, Mask::Box(wide));
                true
            }
            None => false,
        },
        Form::Dense if matches!(kind, Kind::I32 | Kind::I64 | Kind::Ptr) => {
            vector(keep, kind, from, out, frame).is_some()
        }
        _ => false,
    }
}

/// A short dense tile of integers repeated: its lanes become the vector of a sum.
fn vector(keep: &[(u8, bool)], kind: Kind, from: Slot, out: Slot, frame: &mut Frame) -> Option<()> {
    let log2: u8 = keep.iter().filter(|k| k.1).map(|k| k.0).sum();
    let lanes = 1usize << log2;
    let read = |frame: &Frame, i: usize| match kind {
        Kind::I32 => i64::from(frame.tile::<u32>(from, lanes).lane(i) as i32),
        _ => frame.tile::<u64>(from, lanes).lane(i) as i64,
    };
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for i in 0..lanes {
        let value = read(frame, i);
        (low, high) = (low.min(value), high.max(value));
    }
    let sum = Sum::of_vector(log2, (low, high))?.broadcast(keep)?;
    frame.set_sum(out, sum, kind.bytes(), |frame, vector| {
        for (i, v) in vector.iter_mut().enumerate() {
            *v = read(frame, i);
        }
    });
    Some(())
}
