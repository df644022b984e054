//! Comparison, selection and clamp.

use crate::frame::{Frame, Provenance, Slot};
use crate::kind::{Bool, Kind, Lane};
use crate::lanes::{Signless, map2, map3};
use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::num::float::{Bf16, F8E4M3, F8E5M2, F16, StoredFloat};
use crate::num::math::Arithmetic;
use crate::optimise::formula::Rule;
use crate::simd::Cpu;
use crate::steps::strip::Link;
use crate::steps::symbolic;
use crate::taint::{self, Births};
use crate::tape::{Inst, Step};
use crate::with_width;
use tilescope_diagnostics::Result;
use tilescope_ir::attrs::{FloatPredicate, IntPredicate, PropagateNan};
use tilescope_ir::{Attrs, Function, OpId};

type Apply = fn(Cpu, &mut Frame, &[Slot], Slot, usize);

#[derive(Debug)]
struct Compare {
    apply: Apply,
}

impl Step for Compare {
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
            &inst.ins,
            inst.outs[0],
            lanes,
        );
        Ok(Flow::Next)
    }
}

/// `arith.cmpi`: of formulas, a mask by formula.
#[derive(Debug)]
struct CompareInt {
    predicate: IntPredicate,
    kind: Kind,
    apply: Apply,
}

impl Step for CompareInt {
    fn rule(&self) -> Option<Rule<'_>> {
        Some(Rule::Compare(self.predicate, self.kind))
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
        if self.kind == Kind::Bool || !symbolic::compare(self.predicate, self.kind, inst, machine) {
            symbolic::flatten(inst, machine);
            let lanes = inst.lanes(machine);
            (self.apply)(
                machine.context.cpu,
                &mut machine.frame,
                &inst.ins,
                inst.outs[0],
                lanes,
            );
        }
        Ok(Flow::Next)
    }

    fn reads_forms(&self) -> bool {
        true
    }
}

fn int_loop<T: Signless>(predicate: IntPredicate) -> Apply {
    macro_rules! with {
        (|$a:ident, $b:ident| $e:expr) => {
            |cpu, frame, ins, out, lanes| {
                map2(cpu, frame, [ins[0], ins[1]], out, lanes, |$a: T, $b: T| {
                    Bool::from($e)
                });
            }
        };
    }
    match predicate {
        IntPredicate::Eq => with!(|a, b| a == b),
        IntPredicate::Ne => with!(|a, b| a != b),
        IntPredicate::Slt => with!(|a, b| a.less_signed(b)),
        IntPredicate::Sle => with!(|a, b| !b.less_signed(a)),
        IntPredicate::Sgt => with!(|a, b| b.less_signed(a)),
        IntPredicate::Sge => with!(|a, b| !a.less_signed(b)),
        IntPredicate::Ult => with!(|a, b| a.less_unsigned(b)),
        IntPredicate::Ule => with!(|a, b| !b.less_unsigned(a)),
        IntPredicate::Ugt => with!(|a, b| b.less_unsigned(a)),
        IntPredicate::Uge => with!(|a, b| !a.less_unsigned(b)),
    }
}

/// Floats as something that compares: f32 for the narrow formats, f64 for itself.
trait Ordered: Lane {
    type Wide: PartialOrd + Copy;
    fn wide(self) -> Self::Wide;
}

macro_rules! ordered {
    ($($t:ty)*) => {$(
        impl Ordered for $t {
            type Wide = f32;
            #[inline(always)]
            fn wide(self) -> f32 { StoredFloat::to_f32(self) }
        }
    )*};
}
ordered!(F8E4M3 F8E5M2 F16 Bf16 f32);
impl Ordered for f64 {
    type Wide = f64;
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

// `!(a < b)` is not `a >= b` for NaN: the unordered predicates are the negated ordered opposites.
#[allow(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::eq_op,
    clippy::nonminimal_bool,
    clippy::double_comparisons
)]
fn float_loop<T: Ordered>(predicate: FloatPredicate) -> Apply {
    macro_rules! with {
        (|$a:ident, $b:ident| $e:expr) => {
            |cpu, frame, ins, out, lanes| {
                map2(cpu, frame, [ins[0], ins[1]], out, lanes, |a: T, b: T| {
                    let ($a, $b) = (a.wide(), b.wide());
                    Bool::from($e)
                });
            }
        };
    }
    match predicate {
        FloatPredicate::False => with!(|_a, _b| false),
        FloatPredicate::Oeq => with!(|a, b| a == b),
        FloatPredicate::Ogt => with!(|a, b| a > b),
        FloatPredicate::Oge => with!(|a, b| a >= b),
        FloatPredicate::Olt => with!(|a, b| a < b),
        FloatPredicate::Ole => with!(|a, b| a <= b),
        FloatPredicate::One => with!(|a, b| a < b || a > b),
        FloatPredicate::Ord => with!(|a, b| a == a && b == b),
        FloatPredicate::Ueq => with!(|a, b| !(a < b || a > b)),
        FloatPredicate::Ugt => with!(|a, b| !(a <= b)),
        FloatPredicate::Uge => with!(|a, b| !(a < b)),
        FloatPredicate::Ult => with!(|a, b| !(a >= b)),
        FloatPredicate::Ule => with!(|a, b| !(a > b)),
        FloatPredicate::Une => with!(|a, b| !(a == b)),
        FloatPredicate::Uno => with!(|a, b| a != a || b != b),
        FloatPredicate::True => with!(|_a, _b| true),
    }
}

/// `arith.cmpi`.
pub fn cmp_int(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::CmpI(predicate) = data.attrs else {
        return Err(lower.unsupported(function, op, "a comparison without predicate"));
    };
    let kind = lower.kind(function, data.operands[0]);
    let apply = match kind {
        Kind::Bool => int_loop::<Bool>(predicate),
        Kind::I8 => int_loop::<u8>(predicate),
        Kind::I16 => int_loop::<u16>(predicate),
        Kind::I32 => int_loop::<u32>(predicate),
        _ => int_loop::<u64>(predicate),
    };
    emit(
        lower,
        function,
        op,
        CompareInt {
            predicate,
            kind,
            apply,
        },
    )
}

/// `arith.cmpf`.
pub fn cmp_float(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::CmpF(predicate) = data.attrs else {
        return Err(lower.unsupported(function, op, "a comparison without predicate"));
    };
    let apply = match lower.kind(function, data.operands[0]) {
        Kind::F8E4M3 => float_loop::<F8E4M3>(predicate),
        Kind::F8E5M2 => float_loop::<F8E5M2>(predicate),
        Kind::F16 => float_loop::<F16>(predicate),
        Kind::Bf16 => float_loop::<Bf16>(predicate),
        Kind::F32 => float_loop::<f32>(predicate),
        Kind::F64 => float_loop::<f64>(predicate),
        _ => {
            let ty = function.ty(data.operands[0]);
            return Err(lower.unsupported(function, op, format!("comparison of {ty} is not run")));
        }
    };
    emit(lower, function, op, Compare { apply })
}

fn emit(lower: &mut Lower<'_>, function: &Function, op: OpId, step: impl Step + 'static) -> Result<()> {
    let data = &function.ops[op];
    let ins = lower.operands(data);
    let out = lower.result(function, op)?;
    let lanes = lower.lanes(function, data.results[0]);
    lower.emit(step, ins, vec![out], lanes);
    Ok(())
}

#[derive(Debug)]
struct Select {
    kind: Kind,
}

impl Step for Select {
    fn link(&self) -> Option<Link> {
        (self.kind == Kind::F32).then_some(Link::Select)
    }

    fn is_pure(&self, _: &[Option<u64>]) -> bool {
        true
    }

    fn is_lanewise(&self) -> bool {
        self.kind != Kind::Ptr
    }

    fn may_give_forms(&self) -> bool {
        true
    }

    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let lanes = inst.lanes(machine);
        let [c, a, b] = [inst.ins[0], inst.ins[1], inst.ins[2]];
        let out = inst.outs[0];
        if let Some(condition) = machine.frame.uniform(c) {
            let (index, chosen) = if condition != 0 { (1, a) } else { (2, b) };
            match inst.kills(index) {
                true => machine.frame.swap(chosen, out),
                false => machine.frame.copy(chosen, out, lanes * self.kind.bytes()),
            }
            return Ok(Flow::Next);
        }
        with_width!(self.kind, T => {
            map3(machine.context.cpu, &mut machine.frame, [c, a, b], out, lanes, |c: Bool, a: T, b: T| if c.0 != 0 { a } else { b });
        });
        if self.kind == Kind::Ptr {
            let frame = &mut machine.frame;
            let provenance = match (frame.provenance(a), frame.provenance(b)) {
                (x, y) if x == y => x.clone(),
                (x, y) => {
                    let condition = frame.tile::<Bool>(c, lanes);
                    let lane = |i| {
                        if condition.lane(i).0 != 0 {
                            x.lane(i)
                        } else {
                            y.lane(i)
                        }
                    };
                    Provenance::Dense((0..lanes).map(lane).collect())
                }
            };
            frame.set_provenance(out, provenance);
        }
        Ok(Flow::Next)
    }

    /// Undefined from the chosen side, and from an undefined condition whatever the sides.
    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        let lanes = inst.lanes(machine);
        if taint::combine(&inst.ins, machine, lanes).is_none() {
            machine.taint.set(inst.outs[0], None);
            return;
        }
        let condition = machine.frame.tile::<Bool>(inst.ins[0], lanes);
        let birth = |operand: usize, lane| machine.taint.get(inst.ins[operand]).map_or(0, |b| b.lane(lane));
        let lane = |i| match birth(0, i) {
            0 => birth(if condition.lane(i).0 != 0 { 1 } else { 2 }, i),
            of_condition => of_condition,
        };
        let births = Births::Dense((0..lanes).map(lane).collect());
        machine.taint.set(inst.outs[0], Some(births));
    }

    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        crate::exact::select(inst, machine);
    }
}

/// `arith.select`.
pub fn select(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    if lower.slots(data.operands[1]).len() != 1 {
        return Err(lower.unsupported(
            function,
            op,
            "select of tensor descriptors or block pointers is not run",
        ));
    }
    let kind = lower.kind(function, data.operands[1]);
    emit(lower, function, op, Select { kind })
}

/// `tt.clampf`.
pub fn clamp(lower: &mut Lower<'_>, function: &Function, op: OpId) -> Result<()> {
    fn drops<T: Lane + Arithmetic>(cpu: Cpu, frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
        map3(
            cpu,
            frame,
            [ins[0], ins[1], ins[2]],
            out,
            lanes,
            |x: T, low: T, high: T| T::clamp(x, low, high),
        );
    }
    fn keeps<T: Lane + Arithmetic>(cpu: Cpu, frame: &mut Frame, ins: &[Slot], out: Slot, lanes: usize) {
        map3(
            cpu,
            frame,
            [ins[0], ins[1], ins[2]],
            out,
            lanes,
            |x: T, low: T, high: T| T::clamp_propagating(x, low, high),
        );
    }
    fn pick<T: Lane + Arithmetic>(propagate: bool) -> Apply {
        if propagate { keeps::<T> } else { drops::<T> }
    }
    let data = &function.ops[op];
    let propagate = data.attrs == Attrs::ClampF(PropagateNan::All);
    let apply = match lower.kind(function, data.operands[0]) {
        Kind::F16 => pick::<F16>(propagate),
        Kind::Bf16 => pick::<Bf16>(propagate),
        Kind::F32 => pick::<f32>(propagate),
        Kind::F64 => pick::<f64>(propagate),
        _ => {
            let ty = function.ty(data.operands[0]);
            return Err(lower.unsupported(function, op, format!("tt.clampf is not run on {ty}")));
        }
    };
    emit(lower, function, op, Compare { apply })
}
