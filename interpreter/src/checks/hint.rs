//! `hint-violated`: promises to the compiler (`tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`,
//! `tt.divisibility` of a parameter) that the real values break.
//!
//! As Triton documents them: a dimension is split into groups of C lanes, C the stated contiguity or
//! else the maximal run of +1. Each group is consecutive (contiguity), each group's first element is a
//! multiple (divisibility; of bytes for pointers), each group of the stated constancy is equal.

use crate::frame::Slot;
use crate::kind::Kind;
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::print;
use crate::report::Reporter;
use crate::sink::{Detail, Entry, Key};
use crate::tape::{Inst, Step, What};
use tilescope_diagnostics::{Check, Finding, Severity, Value};
use tilescope_ir::{AttrList, AttrValue, Constant, Elem, Function, OpCode, OpId, Shape, Type, ValueId};

/// Promises about a value, per dimension (one for a scalar); 1 promises nothing.
#[derive(Debug, Clone)]
struct Promises {
    divisibility: Vec<u64>,
    contiguity: Vec<u64>,
    constancy: Vec<u64>,
}

#[derive(Debug)]
struct Hint {
    kind: Kind,
    /// Bytes per unit of contiguity: the pointee for pointers, 1 for integers.
    unit: i64,
    shape: Vec<usize>,
    promises: Promises,
    /// Of a parameter, whose value is the same in every program.
    first_only: bool,
}

/// A broken promise: in words, and the first lane and value that break it.
struct Broken {
    promise: String,
    lane: usize,
    value: i64,
    lanes: u64,
    /// Only contiguity is broken, and only at multiples of 8 lanes along the dimension.
    mild: bool,
}

impl Hint {
    fn value(&self, machine: &Machine<'_>, slot: Slot, lane: usize) -> i64 {
        let lanes = self.shape.iter().product();
        let bits = print::bits(&machine.frame, slot, self.kind, lanes, lane);
        match self.kind {
            Kind::I8 => i64::from(bits as i8),
            Kind::I16 => i64::from(bits as i16),
            Kind::I32 => i64::from(bits as i32),
            _ => bits as i64,
        }
    }

    fn broken(&self, values: &[i64]) -> Option<Broken> {
        let dims = self.shape.len().max(1);
        for d in 0..dims {
            let n = self.shape.get(d).copied().unwrap_or(1);
            let inner: usize = self.shape.iter().skip(d + 1).product();
            let get = |list: &[u64]| list.get(d).copied().unwrap_or(1).max(1);
            let (divisor, run, equal) = (
                get(&self.promises.divisibility),
                get(&self.promises.contiguity),
                get(&self.promises.constancy),
            );
            let mut found: Option<Broken> = None;
            for row in 0..values.len() / n {
                let at = |i: usize| (row / inner * n + i) * inner + row % inner;
                let follows = |i: usize| values[at(i)] == values[at(i - 1)].wrapping_add(self.unit);
                for i in 0..n {
                    let starts = match run {
                        1 => i == 0 || !follows(i),
                        run => (i as u64).is_multiple_of(run),
                    };
                    let is_gap = run > 1 && !starts && !follows(i);
                    let promise = if is_gap {
                        format!("contiguous in groups of {run} along dimension {d}")
                    } else if starts && divisor > 1 && i128::from(values[at(i)]) % i128::from(divisor) != 0 {
                        format!(
                            "multiples of {divisor}{}",
                            if self.kind == Kind::Ptr { " bytes" } else { "" }
                        )
                    } else if equal > 1
                        && !(i as u64).is_multiple_of(equal)
                        && values[at(i)] != values[at(i - 1)]
                    {
                        format!("equal in groups of {equal} along dimension {d}")
                    } else {
                        continue;
                    };
                    let mild = is_gap && i.is_multiple_of(8);
                    match &mut found {
                        Some(broken) => {
                            broken.lanes += 1;
                            broken.mild &= mild;
                        }
                        None => {
                            found = Some(Broken {
                                promise,
                                lane: at(i),
                                value: values[at(i)],
                                lanes: 1,
                                mild,
                            })
                        }
                    }
                }
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

impl Step for Hint {
    fn is_for_first(&self) -> bool {
        self.first_only
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if self.first_only && machine.linear > 0 {
            return Ok(Flow::Next);
        }
        let lanes: usize = self.shape.iter().product();
        let values: Vec<i64> = (0..lanes).map(|i| self.value(machine, inst.ins[0], i)).collect();
        if let Some(broken) = self.broken(&values) {
            let key = Key {
                check: Check::HintViolated,
                at: machine.at,
                tensor: 0,
            };
            let Broken {
                promise,
                lane,
                value,
                lanes,
                mild,
            } = broken;
            machine.sink.report(key, lanes, || Detail::Hint {
                promise,
                lane: lane as u32,
                value,
            });
            if !mild {
                machine.sink.worsen(key);
            }
        }
        Ok(Flow::Next)
    }

    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}
}

fn numbers(attrs: &AttrList, name: &str) -> Vec<u64> {
    match attrs.iter().find(|(n, _)| &**n == name).map(|(_, v)| v) {
        Some(AttrValue::Int(n, _)) => vec![u64::try_from(*n).unwrap_or(1)],
        Some(AttrValue::Dense(Constant::Splat(bits), dims, _)) => {
            vec![*bits; dims.iter().product::<u64>().min(64) as usize]
        }
        Some(AttrValue::Dense(Constant::Dense(bits), ..)) => bits.to_vec(),
        Some(AttrValue::DenseArray(_, items)) => {
            items.iter().map(|&n| u64::try_from(n).unwrap_or(1)).collect()
        }
        _ => Vec::new(),
    }
}

fn promises(attrs: &AttrList) -> Option<Promises> {
    let promises = Promises {
        divisibility: numbers(attrs, "tt.divisibility"),
        contiguity: numbers(attrs, "tt.contiguity"),
        constancy: numbers(attrs, "tt.constancy"),
    };
    let all = [&promises.divisibility, &promises.contiguity, &promises.constancy];
    let any = all.iter().any(|list| list.iter().any(|&n| n > 1));
    any.then_some(promises)
}

fn check(lower: &mut Lower<'_>, function: &Function, value: ValueId, attrs: &AttrList, first_only: bool) {
    let Some(promises) = promises(attrs) else { return };
    let (shape, elem) = match function.ty(value) {
        Type::Scalar(elem) => (Shape::default(), elem),
        Type::Tile(shape, elem) => (shape, elem),
        _ => return,
    };
    let unit = match elem {
        Elem::Ptr(pointer) => pointer.target().bytes() as i64,
        Elem::Scalar(scalar) if scalar.is_int() => 1,
        Elem::Scalar(_) => return,
    };
    let kind = lower.kind(function, value);
    let step = Hint {
        kind,
        unit,
        shape: shape.dims().collect(),
        promises,
        first_only,
    };
    let slot = lower.slot(value);
    lower.emit(step, vec![slot], vec![], shape.elements() as u32);
}

/// Checks the hints that hang on an operation, if any, against its result.
pub fn operation(lower: &mut Lower<'_>, function: &Function, op: OpId) {
    let data = &function.ops[op];
    if data.extra.is_empty() || lower.in_region() {
        return;
    }
    if let [result] = data.results[..] {
        check(lower, function, result, &data.extra, false);
    }
}

/// Checks the hints of the kernel's parameters.
///
/// The values are the same in every program, so only the first one checks them.
pub fn parameters(lower: &mut Lower<'_>, function: &Function) {
    let hinted = function.params().iter().zip(&function.param_attrs).enumerate();
    for (index, (&param, attrs)) in hinted {
        if promises(attrs).is_some() {
            lower.attribute_to_parameter(index as u32);
            check(lower, function, param, attrs, true);
        }
    }
}

/// The finding of a broken promise.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    promise: &str,
    lane: u32,
    value: i64,
) -> Finding {
    let whose = reporter
        .value_name(key.at)
        .map_or("the value".to_string(), |name| format!("`{name}`"));
    let message = format!(
        "{whose} was promised to be {promise}, but a lane is {value}: a GPU compiler may miscompile this"
    );
    let mut finding = reporter.start(key, entry, message);
    finding.lane = reporter.lane_index(key.at, lane);
    finding.operands = vec![("value".into(), Value::Int(i128::from(value)))];
    let help = match wraps(reporter, key) {
        true => {
            "untrue where `%` wraps around: harmless only if those lanes are masked off when they are stored and \
             the divisor is a multiple of what one access takes (16 bytes at most); else remove the hint, or mask \
             the loads instead of wrapping"
        }
        false => "remove the hint (tl.multiple_of, tl.max_contiguous, tl.max_constancy), or make it true",
    };
    finding.help = Some(help.into());
    if entry.severe.is_none() {
        finding.severity = Severity::Note;
    }
    finding
}

/// Whether the hint stands on a remainder: `tl.max_contiguous(tl.multiple_of(offs % n, B), B)` is how matrix products
/// stay inside of a matrix without a mask.
fn wraps(reporter: &Reporter<'_>, key: &Key) -> bool {
    let origin = reporter.origin(key.at);
    let What::Op(op) = origin.what else { return false };
    let code = reporter.module.funcs[origin.func].ops[op].code;
    matches!(code, OpCode::RemSI | OpCode::RemUI)
}
