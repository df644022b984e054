//! What each operation of a line ([`super::strip`]) does, found when the line is made: [`super::straight`] runs it.

use super::strip::{Arith, Fold, Held, Op, Source, Transcendental};
use crate::lanes::Loop;

/// Most steps of a line.
pub(super) const STEPS: usize = 48;

/// Where a number comes from: what the last step left, or lanes in memory that are held so.
pub(super) type From = Option<Held>;

/// What a step does with the strip that the last one left. Those that whole tensors go through have an operand of one kind each: to
/// tell them apart strip by strip costs as much as they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Code {
    TakeF32,
    TakeF16,
    TakeBf16,
    AddF32,
    AddF16,
    AddBf16,
    SubF32,
    SubF16,
    SubBf16,
    MulF32,
    MulF16,
    MulBf16,
    DivF32,
    /// Any operation with any operand.
    Arith,
    Square,
    /// Divided by one of [`super::strip::divisors`].
    DivideBy,
    Exp,
    Exp2,
    Erf,
    /// Lanes in a range from here, others from where the next step says.
    Choose,
    Else,
    /// Keeps an operand of [`Code::Apply`].
    Argument,
    Apply,
    Canonical,
    /// Keeps it as it is.
    Put,
    /// Writes it to a tensor.
    StoreF32,
    StoreF16,
    StoreBf16,
    Stream,
    /// The sum that is kept in a register from strip to strip.
    Sum,
    /// Two steps at once, of which the first begins with this: what comes next costs as much as a vector or two.
    F32Add,
    F16Add,
    Bf16Add,
    F32Sub,
    F16Sub,
    Bf16Sub,
    F32Mul,
    F16Mul,
    Bf16Mul,
    F32Sum,
    F16Sum,
    Bf16Sum,
    SquareSum,
    PutSum,
    F32Div,
    F32Max,
    Max,
    Min,
    /// Any other fold.
    Fold,
}

/// An operation on what was left and this.
fn code_of(arith: Arith, from: From) -> Code {
    match (arith, from) {
        (Arith::Add, Some(Held::F32)) => Code::AddF32,
        (Arith::Add, Some(Held::F16)) => Code::AddF16,
        (Arith::Add, Some(Held::Bf16)) => Code::AddBf16,
        (Arith::Sub, Some(Held::F32)) => Code::SubF32,
        (Arith::Sub, Some(Held::F16)) => Code::SubF16,
        (Arith::Sub, Some(Held::Bf16)) => Code::SubBf16,
        (Arith::Mul, Some(Held::F32)) => Code::MulF32,
        (Arith::Mul, Some(Held::F16)) => Code::MulF16,
        (Arith::Mul, Some(Held::Bf16)) => Code::MulBf16,
        (Arith::Div, Some(Held::F32)) => Code::DivF32,
        (Arith::Mul, None) => Code::Square,
        _ => Code::Arith,
    }
}

/// Two steps as one.
fn both(first: Code, second: Code) -> Option<Code> {
    Some(match (first, second) {
        (Code::TakeF32, Code::AddF32) => Code::F32Add,
        (Code::TakeF16, Code::AddF32) => Code::F16Add,
        (Code::TakeBf16, Code::AddF32) => Code::Bf16Add,
        (Code::TakeF32, Code::SubF32) => Code::F32Sub,
        (Code::TakeF16, Code::SubF32) => Code::F16Sub,
        (Code::TakeBf16, Code::SubF32) => Code::Bf16Sub,
        (Code::TakeF32, Code::MulF32) => Code::F32Mul,
        (Code::TakeF16, Code::MulF32) => Code::F16Mul,
        (Code::TakeBf16, Code::MulF32) => Code::Bf16Mul,
        (Code::TakeF32, Code::Sum) => Code::F32Sum,
        (Code::TakeF16, Code::Sum) => Code::F16Sum,
        (Code::TakeBf16, Code::Sum) => Code::Bf16Sum,
        (Code::Square, Code::Sum) => Code::SquareSum,
        (Code::Put, Code::Sum) => Code::PutSum,
        (Code::TakeF32, Code::DivF32) => Code::F32Div,
        (Code::TakeF32, Code::Max) => Code::F32Max,
        _ => return None,
    })
}

/// Where an operand is, or a result goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Nowhere,
    Saved(usize),
    Operand(usize),
    Window(usize),
    Result(usize),
    Fold(usize),
}

/// A step of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) code: Code,
    pub(super) from: From,
    pub(super) place: Place,
    pub(super) arith: Arith,
    pub(super) fold: Fold,
    pub(super) each: Option<Loop<f32>>,
    /// Which argument, or how many; which range.
    pub(super) number: usize,
}

/// The steps of some operations, whose windows hold these.
///
/// # Panics
/// If there is no such window.
pub(super) fn plan(ops: &[Op], held: &[Held]) -> Vec<Plan> {
    let mut plans: Vec<Plan> = Vec::new();
    let step = |code, place, from| Plan {
        code,
        from,
        place,
        arith: Arith::Add,
        fold: Fold::Sum,
        each: None,
        number: 0,
    };
    let of = |code, source: Source| match source {
        Source::Last => step(code, Place::Nowhere, None),
        Source::Saved(i) => step(code, Place::Saved(i), Some(Held::F32)),
        Source::Operand(i) => step(code, Place::Operand(i), Some(Held::F32)),
        Source::Memory(i) => step(code, Place::Window(i), Some(held[i])),
    };
    let alone = |code, place| step(code, place, None);
    // One sum is kept in a register.
    let sum = ops.iter().position(|op| matches!(op, Op::Fold(_, Fold::Sum)));
    for (i, op) in ops.iter().enumerate() {
        let plan = match *op {
            Op::Take(Source::Last) => continue,
            Op::Take(source) => {
                let step = of(Code::TakeF32, source);
                Plan {
                    code: match step.from {
                        Some(Held::F16) => Code::TakeF16,
                        Some(Held::Bf16) => Code::TakeBf16,
                        _ => Code::TakeF32,
                    },
                    ..step
                }
            }
            Op::Arith(arith, source) => {
                let step = of(Code::Arith, source);
                Plan {
                    code: code_of(arith, step.from),
                    arith,
                    ..step
                }
            }
            Op::Transcendental(function, each) => {
                let code = match function {
                    Transcendental::Exp => Code::Exp,
                    Transcendental::Exp2 => Code::Exp2,
                    Transcendental::Erf => Code::Erf,
                };
                Plan {
                    each: Some(each),
                    number: 1,
                    ..alone(code, Place::Nowhere)
                }
            }
            Op::Choose(range, yes, no) => {
                plans.push(Plan {
                    number: range,
                    ..of(Code::Choose, yes)
                });
                of(Code::Else, no)
            }
            Op::Argument(number, source) => Plan {
                number,
                ..of(Code::Argument, source)
            },
            Op::Apply(each, count) => Plan {
                each: Some(each),
                number: count,
                ..alone(Code::Apply, Place::Nowhere)
            },
            // A store does that itself.
            Op::Canonical if matches!(ops.get(i + 1), Some(Op::Store(_))) => continue,
            Op::Canonical => alone(Code::Canonical, Place::Nowhere),
            Op::Save(i) => alone(Code::Put, Place::Saved(i)),
            Op::Result(i) => alone(Code::Put, Place::Result(i)),
            Op::Store(i) => {
                let code = match held[i] {
                    Held::F32 => Code::StoreF32,
                    Held::F16 => Code::StoreF16,
                    Held::Bf16 => Code::StoreBf16,
                };
                step(code, Place::Window(i), Some(held[i]))
            }
            Op::Fold(to, fold) => {
                let code = match fold {
                    Fold::Sum if sum == Some(i) => Code::Sum,
                    Fold::Max => Code::Max,
                    Fold::Min => Code::Min,
                    _ => Code::Fold,
                };
                Plan {
                    fold,
                    ..alone(code, Place::Fold(to))
                }
            }
        };
        plans.push(plan);
    }
    let mut i = 0;
    while let Some([first, second]) = plans.get(i..i + 2) {
        match both(first.code, second.code) {
            Some(code) => {
                plans[i].code = code;
                i += 2;
            }
            None => i += 1,
        }
    }
    plans
}
