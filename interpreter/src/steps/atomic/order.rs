//! In what order programs may run for the sake of a kernel's atomics, so that results depend on no thread.
//!
//! - An atomic that waits, compares, or whose old value is used: programs see one another, so they run in
//!   one fixed interleaving.
//! - A float addition, an exchange, or updates of one tensor that do not commute (an addition and a
//!   maximum, say): in program order. Where nothing but such updates touches their tensors, programs run in
//!   parallel and write the updates down, to be applied in order ([`super::logged`]); else one after the other.
//! - Integer updates that commute: any order.
//!
//! Updates of different arguments never meet, as far as their pointers can be followed to arguments; where
//! they cannot, they count as meeting.

use crate::lower::Lower;
use crate::tape::Order;
use std::collections::{HashMap, HashSet};
use tilescope_ir::attrs::RmwKind;
use tilescope_ir::{Attrs, Def, Effect, Elem, FuncId, Function, OpCode, OpId, Type, ValueId};
use tilescope_launch::{AllocationId, Argument};

/// Longest chain of operations from a pointer back to its argument that is followed.
const MAX_CHAIN: usize = 256;

/// Updates that commute with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commuting {
    /// Integer addition.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Signed maximum.
    Max,
    /// Signed minimum.
    Min,
    /// Unsigned maximum.
    Umax,
    /// Unsigned minimum.
    Umin,
    /// Float maximum: a signed maximum of bits without, an unsigned minimum of bits with the sign.
    FloatMax,
    /// Float minimum: a signed minimum of bits without, an unsigned maximum of bits with the sign.
    FloatMin,
}

/// What is known of a kernel's atomics so far.
#[derive(Debug, Default)]
pub struct Seen {
    live: HashMap<FuncId, HashSet<ValueId>>,
    /// Storage (none if unknown) and kind of updates.
    updates: Vec<(Option<AllocationId>, Commuting)>,
    /// Storage of updates that need program order, and of everything else that touches memory.
    ordered: HashSet<Option<AllocationId>>,
    touched: HashSet<Option<AllocationId>>,
}

impl Seen {
    /// True if updates that need program order can be applied later: nothing else touches their storage.
    pub fn can_be_logged(&self) -> bool {
        let unknown = self.ordered.contains(&None) || self.touched.contains(&None);
        !unknown && !self.ordered.is_empty() && self.ordered.is_disjoint(&self.touched)
    }
}

/// Notes the storage that an operation with an effect touches, unless it is an update of memory.
pub fn touch(lower: &mut Lower<'_>, function: &Function, op: OpId) {
    let data = &function.ops[op];
    let updates = matches!(data.code, OpCode::AtomicRmw | OpCode::DescriptorReduce);
    if updates || data.code.info().effect == Effect::Pure {
        return;
    }
    for &operand in &data.operands {
        let points = match function.ty(operand) {
            Type::Descriptor { .. } | Type::BlockPtr(..) => true,
            ty => ty.elem().and_then(Elem::pointer).is_some(),
        };
        if points {
            let storage = storage(lower, function, operand);
            lower.atomics.touched.insert(storage);
        }
    }
}

/// Asks for program order, for an update of what the first operand points to.
pub fn need_order(lower: &mut Lower<'_>, function: &Function, op: OpId) {
    let pointer = function.ops[op].operands.first();
    let storage = pointer.and_then(|&p| storage(lower, function, p));
    lower.atomics.ordered.insert(storage);
    lower.need(Order::Sequential);
}

/// The kind of commuting updates that an operation makes; none if its updates do not commute.
fn commuting(function: &Function, op: OpId) -> Option<Commuting> {
    let data = &function.ops[op];
    let Attrs::Rmw(kind, ..) = data.attrs else {
        return None;
    };
    let of_float = data.operands.get(1).is_some_and(|&v| is_float_bits(function, v));
    Some(match kind {
        RmwKind::Add => Commuting::Add,
        RmwKind::And => Commuting::And,
        RmwKind::Or => Commuting::Or,
        RmwKind::Xor => Commuting::Xor,
        RmwKind::Max | RmwKind::Umin if of_float => Commuting::FloatMax,
        RmwKind::Min | RmwKind::Umax if of_float => Commuting::FloatMin,
        RmwKind::Max => Commuting::Max,
        RmwKind::Min => Commuting::Min,
        RmwKind::Umax => Commuting::Umax,
        RmwKind::Umin => Commuting::Umin,
        RmwKind::Fadd | RmwKind::Xchg => return None,
    })
}

/// True for the bits of a float: Triton makes a float maximum of integer ones on them.
fn is_float_bits(function: &Function, value: ValueId) -> bool {
    let Def::Result(op, _) = function.values[value].def else {
        return false;
    };
    let data = &function.ops[op];
    let from = data.operands.first().and_then(|&v| function.ty(v).elem());
    data.code == OpCode::Bitcast && matches!(from, Some(Elem::Scalar(s)) if s.is_float())
}

/// Asks for the order that a read-modify-write needs; true if its old value is used.
pub fn need_for_update(lower: &mut Lower<'_>, function: &Function, op: OpId) -> bool {
    if let Some(result) = function.result(op)
        && is_live(lower, function, result)
    {
        lower.need(Order::Cooperative);
        return true;
    }
    match commuting(function, op) {
        Some(kind) => need_to_commute(lower, function, op, kind),
        None => need_order(lower, function, op),
    }
    false
}

/// Asks for program order if updates of this kind meet updates of another kind.
pub fn need_to_commute(lower: &mut Lower<'_>, function: &Function, op: OpId, kind: Commuting) {
    let pointer = function.ops[op].operands.first();
    let storage = pointer.and_then(|&p| storage(lower, function, p));
    let update = (storage, kind);
    if lower.atomics.updates.contains(&update) {
        return;
    }
    let meets = |&(other, other_kind): &(Option<AllocationId>, Commuting)| {
        other_kind != kind && (other == storage || other.is_none() || storage.is_none())
    };
    if lower.atomics.updates.iter().any(meets) {
        need_order(lower, function, op);
    }
    lower.atomics.updates.push(update);
}

/// The storage of the argument that a pointer or descriptor is made of.
fn storage(lower: &Lower<'_>, function: &Function, mut value: ValueId) -> Option<AllocationId> {
    for _ in 0..MAX_CHAIN {
        match function.values[value].def {
            Def::Result(op, _) => {
                let data = &function.ops[op];
                match data.code {
                    OpCode::AddPtr
                    | OpCode::Splat
                    | OpCode::Broadcast
                    | OpCode::ExpandDims
                    | OpCode::Reshape
                    | OpCode::Trans
                    | OpCode::Bitcast
                    | OpCode::MakeTensorDescriptor => value = *data.operands.first()?,
                    _ => return None,
                }
            }
            Def::Arg(block, index) if block == function.entry() && !lower.is_inlined() => {
                let launch = lower.launch();
                return match launch.arguments.get(index as usize)? {
                    Argument::Tensor(tensor) | Argument::Descriptor { tensor, .. } => {
                        Some(launch.tensors.get(tensor.0 as usize)?.allocation)
                    }
                    _ => None,
                };
            }
            Def::Arg(..) => return None,
        }
    }
    None
}

/// True if something that is visible outside the function depends on the value.
fn is_live(lower: &mut Lower<'_>, function: &Function, value: ValueId) -> bool {
    let func = lower.func();
    let live = lower
        .atomics
        .live
        .entry(func)
        .or_insert_with(|| live_values(function));
    live.contains(&value)
}

/// All values that an operation with an effect depends on. Triton leaves dead selects of float maxima in
/// the text, so operands of pure operations count only where these count.
fn live_values(function: &Function) -> HashSet<ValueId> {
    let mut live = HashSet::new();
    let mut seen: HashSet<OpId> = HashSet::new();
    let mut waiting: Vec<OpId> = Vec::new();
    for (id, op) in function.ops.iter() {
        if op.code.info().effect != Effect::Pure {
            seen.insert(id);
            waiting.push(id);
        }
    }
    while let Some(id) = waiting.pop() {
        let op = &function.ops[id];
        let passed = op.successors.iter().flat_map(|s| &s.args);
        for &value in op.operands.iter().chain(passed) {
            if live.insert(value)
                && let Def::Result(def, _) = function.values[value].def
                && seen.insert(def)
            {
                waiting.push(def);
            }
        }
    }
    live
}
