//! How far outputs may be apart, beyond what the twin's own bound says: overflow that has no reason, expected values, two runs.

use tilescope_ir::{Elem, OpCode, Type, VerifiedModule};
use tilescope_launch::{Dtype, Memory};
use tilescope_oracle::Numbers;

use crate::judge::Subject;
use crate::twin::Bounded;

/// Inputs up to this size must not overflow on the way to a result that is finite.
const MODERATE: f64 = 1024.0;

/// What an overflow on the way may change, of the largest element of the output, where inputs are moderate.
const LOST: f64 = 0.05;

/// Of an expected value: what its own computation in float64 may have lost.
const ORACLE_ROUNDING: f64 = 1.0 / (1u64 << 40) as f64;

/// What the floats are like that a kernel is given.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(crate) enum Given {
    /// At most [`MODERATE`].
    Moderate,
    Finite,
    /// Some are NaN or infinite.
    Special,
}

pub(crate) fn given(subject: &Subject, memory: &Memory) -> Given {
    let tensors = subject.bound.tensors().iter();
    let floats = tensors.filter(|t| t.dtype.is_float() && !t.uninit);
    let mut largest = 0.0f64;
    for tensor in floats {
        let numbers = Numbers::of(tensor, memory, usize::MAX).map(Numbers::into_f64);
        for number in numbers.iter().flatten() {
            largest = if number.is_nan() {
                f64::INFINITY
            } else {
                largest.max(number.abs())
            };
        }
    }
    match largest {
        ..=MODERATE => Given::Moderate,
        f64::INFINITY => Given::Special,
        _ => Given::Finite,
    }
}

/// A bound, made as wide as was asked for; one that says nothing stays so.
pub(crate) fn widened(bound: f64, asked: f64) -> f64 {
    match bound.is_nan() {
        true => bound,
        false => bound.max(asked),
    }
}

/// How far a result may be off that was summed in f32, and rounded to 16 bits so many times.
pub(crate) fn as_wide_sums(bounded: &Bounded, i: usize, largest: f64, roundings: f64) -> f64 {
    let unit = match bounded.tensor.dtype {
        Dtype::F16 => 1.0 / 2048.0,
        Dtype::BF16 => 1.0 / 256.0,
        _ => 0.0,
    };
    // Where numbers are subnormal in float16, nobody looks.
    1.01 * roundings * unit * bounded.wide[i].abs() + 1e-5 * largest + unit * 1e-3
}

/// Of kernels that add up floats of 16 bits, in a loop or by a reduction: how often else they round to so few, at the most.
pub(crate) fn adds_narrowly<'m>(modules: impl Iterator<Item = &'m VerifiedModule>) -> Option<f64> {
    let narrow = |ty: Type| {
        let number = ty.elem().and_then(Elem::scalar);
        number.is_some_and(|number| number.is_float() && number.bits() == 16)
    };
    let (mut sums, mut others) = (false, 0);
    for (_, f) in modules.flat_map(|module| module.funcs.iter()) {
        for (_, op) in f
            .ops
            .iter()
            .filter(|(_, op)| op.results.iter().any(|&v| narrow(f.ty(v))))
        {
            let adds = || {
                let blocks = op.regions.iter().flat_map(|&region| &f.regions[region].blocks);
                let mut ops = blocks.flat_map(|&block| &f.blocks[block].ops);
                ops.any(|&op| matches!(f.ops[op].code, OpCode::AddF | OpCode::Dot))
            };
            let carries = matches!(op.code, OpCode::For | OpCode::Reduce | OpCode::Scan);
            sums |= carries && adds();
            let is_sum = matches!(op.code, OpCode::AddF | OpCode::SubF);
            others += u32::from(op.code.info().class.is_some_and(|class| class.is_float()) && !is_sum);
        }
    }
    // One at the end.
    sums.then(|| f64::from(1 + others.min(7)))
}

/// How far an output may be from its twin. Where a kernel's numbers overflow on the way, nothing is known of what
/// follows; but moderate inputs have no reason to, unless it makes no difference (the sigmoid of a large number).
pub(crate) fn twin_bound(bounded: &Bounded, i: usize, given: Given, largest: f64) -> f64 {
    if overflows(bounded, i, bounded.wide[i], given) {
        return 0.0;
    }
    let lost = given == Given::Moderate && bounded.error[i] == f64::INFINITY;
    match lost && bounded.got[i].is_finite() && bounded.wide[i].is_finite() {
        true => LOST * bounded.wide[i].abs().max(largest) + slight(bounded.tensor.dtype),
        false => bounded.error[i],
    }
}

/// What is as good as zero where infinities on the way make zero.
fn slight(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 | Dtype::F32 => 1e-30,
        _ => 1e-3,
    }
}

/// The largest finite magnitude that an output should have.
pub(crate) fn largest(bounded: &Bounded) -> f64 {
    let numbers = bounded.wide.iter().filter(|x| x.is_finite());
    numbers.fold(0.0f64, |most, x| most.max(x.abs()))
}

/// The same from what is expected. What a kernel makes of NaN and infinities in its data is its own affair: there only
/// elements are judged that are numbers both for the twin and for what is expected.
pub(crate) fn expected_bound(bounded: &Bounded, i: usize, wanted: f64, given: Given) -> f64 {
    if overflows(bounded, i, wanted, given) {
        return 0.0;
    }
    match given == Given::Special && (bounded.wide[i].is_finite() != wanted.is_finite()) {
        true => f64::INFINITY,
        false => bounded.error[i] + wanted.abs() * ORACLE_ROUNDING,
    }
}

/// How far two runs may be apart that each have their bound. Both may overflow; that one does alone has no reason where the data
/// are moderate.
pub(crate) fn between(mine: &Bounded, their: &Bounded, i: usize, given: Given) -> f64 {
    let (here, there) = (mine.got[i], their.got[i]);
    let alone = match (here.is_finite(), there.is_finite()) {
        (false, true) => representable(mine, there),
        (true, false) => representable(their, here),
        _ => false,
    };
    match alone && given == Given::Moderate {
        true => 0.0,
        false => mine.error[i] + their.error[i],
    }
}

/// How far an engine may be from the twin.
pub(crate) fn engine_bound(bounded: &Bounded, got: f64, i: usize, given: Given) -> f64 {
    let right = bounded.wide[i];
    let overflows = given == Given::Moderate && !got.is_finite() && right.is_finite();
    match overflows && bounded.got[i].is_finite() && representable(bounded, right) {
        true => 0.0,
        false => bounded.error[i],
    }
}

fn overflows(bounded: &Bounded, i: usize, right: f64, given: Given) -> bool {
    let overflows = given == Given::Moderate && !bounded.got[i].is_finite() && right.is_finite();
    overflows && representable(bounded, right)
}

/// True for a number well within the output's type.
fn representable(bounded: &Bounded, number: f64) -> bool {
    let dtype = bounded.tensor.dtype;
    dtype.is_float() && dtype.decode_float(dtype.encode_float(2.0 * number)).is_finite()
}
