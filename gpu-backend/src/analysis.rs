//! What is known of values before code is made: which neighbours are consecutive, equal or multiples of a power of two, and between
//! which bounds a number lies. Decides how wide memory accesses are and where integer arithmetic cannot overflow.
//!
//! Facts are true of the launch's real values: arguments are constants where kernels are specialised on them, addresses are
//! as aligned as they are, program numbers lie within the grid. Nothing is believed because a hint says it.
//! Loops are followed until nothing changes any more, from the optimistic side.

use std::collections::HashMap;

use tilescope_ir::attrs::{Axis, IntPredicate};
use tilescope_ir::{Attrs, BlockId, Constant, Elem, Function, Op, OpCode, OpId, Scalar, Type, ValueId};
use tilescope_launch::{Argument, Launch};

/// Alignment that allocations have on every device, in bytes.
pub const ALLOCATION_ALIGNMENT: u64 = 256;

/// Stands for "divisible by anything": zero is.
const EVERYTHING: u64 = 1 << 40;

/// Rounds around a loop before its values count as unknown.
const MAX_ROUNDS: usize = 8;

/// What is known of a value. Vectors have an entry per dimension (one for a scalar); all entries are powers of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Aligned groups of this many neighbours are consecutive: each one more than the last (pointers: one element more).
    pub contiguous: Vec<u64>,
    /// The first of each such group is a multiple of this (pointers: in bytes).
    pub divisible: Vec<u64>,
    /// Aligned groups of this many neighbours are equal.
    pub constant: Vec<u64>,
    /// Least and greatest value, as signed numbers; none where not known.
    pub range: Option<(i64, i64)>,
}

/// The largest power of two that divides a number.
fn power_of_two_in(value: i64) -> u64 {
    match value {
        0 => EVERYTHING,
        _ => (1u64 << value.trailing_zeros()).min(EVERYTHING),
    }
}

/// Alignment of an address at this distance from the start of an allocation.
pub fn aligned(offset: i64) -> u64 {
    power_of_two_in(offset).min(ALLOCATION_ALIGNMENT)
}

fn dims(ty: Type) -> Vec<u64> {
    match ty.shape() {
        Some(shape) if shape.rank() > 0 => shape.dims().map(|d| d as u64).collect(),
        _ => vec![1],
    }
}

impl Facts {
    /// Nothing.
    pub fn unknown(ty: Type) -> Facts {
        let ones = vec![1; dims(ty).len()];
        Facts {
            contiguous: ones.clone(),
            divisible: ones.clone(),
            constant: ones,
            range: None,
        }
    }

    /// A number.
    pub fn number(ty: Type, value: i64) -> Facts {
        Facts::uniform(ty, power_of_two_in(value), Some((value, value)))
    }

    fn uniform(ty: Type, divisible: u64, range: Option<(i64, i64)>) -> Facts {
        let dims = dims(ty);
        Facts {
            contiguous: vec![1; dims.len()],
            divisible: vec![divisible; dims.len()],
            constant: dims,
            range,
        }
    }

    /// The only value that there can be.
    pub fn value(&self) -> Option<i64> {
        self.range.filter(|(low, high)| low == high).map(|(low, _)| low)
    }

    /// Divisibility of every element at a multiple of `group` along a dimension.
    fn divisible_at(&self, axis: usize, group: u64) -> u64 {
        match group >= self.contiguous[axis] {
            true => self.divisible[axis],
            false => self.divisible[axis].min(group),
        }
    }

    /// What is true of both.
    fn join(&self, other: &Facts) -> Facts {
        let least = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(&a, &b)| a.min(b)).collect::<Vec<u64>>();
        let contiguous = least(&self.contiguous, &other.contiguous);
        let divisible = (0..contiguous.len()).map(|axis| {
            let group = contiguous[axis];
            self.divisible_at(axis, group)
                .min(other.divisible_at(axis, group))
        });
        Facts {
            divisible: divisible.collect(),
            constant: least(&self.constant, &other.constant),
            range: match (self.range, other.range) {
                (Some(a), Some(b)) if a == b => Some(a),
                _ => None,
            },
            contiguous,
        }
    }
}

/// Facts of the values of one function, for one set of arguments.
#[derive(Debug, Default)]
pub struct Known {
    facts: HashMap<ValueId, Facts>,
    grid: [u64; 3],
}

impl Known {
    /// What is known of a kernel's values in a launch.
    pub fn of_kernel(function: &Function, launch: &Launch, specialize: bool) -> Known {
        let arguments = function
            .params()
            .iter()
            .zip(&launch.arguments)
            .map(|(&param, argument)| {
                let ty = function.ty(param);
                match argument {
                    Argument::Tensor(id) => {
                        let tensor = launch.tensors.get(id.0 as usize);
                        let offset = tensor.map_or(1, |t| t.offset.wrapping_mul(t.dtype.bytes() as i64));
                        Facts::uniform(ty, aligned(offset), None)
                    }
                    Argument::Scalar { bits } if specialize => match integer(ty, *bits) {
                        Some(value) => Facts::number(ty, value),
                        None => Facts::unknown(ty),
                    },
                    Argument::Scalar { .. } | Argument::Descriptor { .. } => Facts::unknown(ty),
                    Argument::Null => Facts::uniform(ty, EVERYTHING, None),
                }
            });
        Known::of_function(function, arguments.collect(), launch.grid)
    }

    /// What is known of a function's values where this is known of its parameters.
    pub fn of_function(function: &Function, parameters: Vec<Facts>, grid: [u64; 3]) -> Known {
        let mut known = Known {
            facts: function.params().iter().copied().zip(parameters).collect(),
            grid,
        };
        for &block in &function.regions[function.body].blocks {
            known.block(function, block);
        }
        known
    }

    /// What is known of a value.
    pub fn get(&self, function: &Function, value: ValueId) -> Facts {
        self.facts
            .get(&value)
            .cloned()
            .unwrap_or_else(|| Facts::unknown(function.ty(value)))
    }

    fn set(&mut self, value: ValueId, facts: Facts) {
        self.facts.insert(value, facts);
    }

    fn block(&mut self, function: &Function, block: BlockId) {
        for &op in &function.blocks[block].ops {
            self.operation(function, op);
        }
    }

    fn operation(&mut self, function: &Function, id: OpId) {
        let op = &function.ops[id];
        match op.code {
            OpCode::For => return self.counted_loop(function, op),
            OpCode::While => {
                // Values that go round are unknown; what is inside is still worth knowing.
                for &region in &op.regions {
                    function.regions[region]
                        .blocks
                        .iter()
                        .for_each(|&b| self.block(function, b));
                }
                return;
            }
            OpCode::If => {
                for &region in &op.regions {
                    function.regions[region]
                        .blocks
                        .iter()
                        .for_each(|&b| self.block(function, b));
                }
                let yields: Vec<Vec<ValueId>> = op.regions.iter().map(|&r| yielded(function, r)).collect();
                for (i, &result) in op.results.iter().enumerate() {
                    let branches = yields.iter().filter_map(|values| values.get(i));
                    let facts = branches.map(|&v| self.get(function, v)).reduce(|a, b| a.join(&b));
                    if let Some(facts) = facts {
                        self.set(result, facts);
                    }
                }
                return;
            }
            _ => {}
        }
        for &region in &op.regions {
            function.regions[region]
                .blocks
                .iter()
                .for_each(|&b| self.block(function, b));
        }
        if let [result] = op.results[..]
            && is_integer_or_pointer(function.ty(result))
        {
            let facts = self.result(function, op, function.ty(result));
            self.set(result, facts);
        }
    }

    fn counted_loop(&mut self, function: &Function, op: &Op) {
        let Some(&body) = op
            .regions
            .first()
            .and_then(|&r| function.regions[r].blocks.first())
        else {
            return;
        };
        let [low, high, step] = [0, 1, 2].map(|i| op.operands.get(i).map(|&v| self.get(function, v)));
        let (Some(low), Some(high), Some(step)) = (low, high, step) else {
            return;
        };
        let args = &function.blocks[body].args;
        let Some((&counter, carried)) = args.split_first() else {
            return;
        };
        let range = match (low.range, high.range) {
            (Some((least, _)), Some((_, most))) if most > least => Some((least, most - 1)),
            _ => None,
        };
        let divisible = low.divisible[0].min(step.divisible[0]);
        self.set(counter, Facts::uniform(function.ty(counter), divisible, range));
        for (&arg, &init) in carried.iter().zip(op.operands.iter().skip(3)) {
            let facts = self.get(function, init);
            self.set(arg, facts);
        }
        for round in 0..=MAX_ROUNDS {
            self.block(function, body);
            let yields = op
                .regions
                .first()
                .map(|&r| yielded(function, r))
                .unwrap_or_default();
            let mut changed = false;
            for (&arg, &next) in carried.iter().zip(&yields) {
                let old = self.get(function, arg);
                let new = match round {
                    MAX_ROUNDS => Facts::unknown(function.ty(arg)),
                    _ => old.join(&self.get(function, next)),
                };
                changed |= new != old;
                self.set(arg, new);
            }
            if !changed {
                break;
            }
        }
        self.block(function, body);
        for (&result, &arg) in op.results.iter().zip(carried) {
            let facts = self.get(function, arg);
            self.set(result, facts);
        }
    }

    fn result(&self, function: &Function, op: &Op, ty: Type) -> Facts {
        let operand = |i: usize| {
            op.operands
                .get(i)
                .map(|&v| (self.get(function, v), function.ty(v)))
        };
        let one = operand(0);
        let two = one.clone().zip(operand(1));
        let facts = match op.code {
            OpCode::Constant => match &op.attrs {
                Attrs::Constant(Constant::Splat(bits)) => integer(ty, *bits).map(|v| Facts::number(ty, v)),
                _ => None,
            },
            OpCode::MakeRange => match op.attrs {
                Attrs::Range { start, end } => Some(Facts {
                    contiguous: vec![dims(ty)[0]],
                    divisible: vec![power_of_two_in(i64::from(start))],
                    constant: vec![1],
                    range: Some((i64::from(start), i64::from(end) - 1)),
                }),
                _ => None,
            },
            OpCode::GetProgramId => match op.attrs {
                Attrs::Grid(axis) => {
                    let last = i64::try_from(self.grid[axis_index(axis)]).unwrap_or(i64::MAX) - 1;
                    Some(Facts::uniform(ty, 1, Some((0, last.max(0)))))
                }
                _ => None,
            },
            OpCode::GetNumPrograms => match op.attrs {
                Attrs::Grid(axis) => i64::try_from(self.grid[axis_index(axis)])
                    .ok()
                    .map(|n| Facts::number(ty, n)),
                _ => None,
            },
            OpCode::Splat => one.map(|(x, _)| Facts::uniform(ty, x.divisible[0], x.range)),
            OpCode::Unsplat => {
                one.map(|(x, _)| Facts::uniform(ty, x.divisible.iter().copied().min().unwrap_or(1), x.range))
            }
            OpCode::ExpandDims => one.map(|(x, from)| expand(&x, from, ty, &op.attrs)),
            OpCode::Broadcast => one.map(|(x, from)| broadcast(&x, from, ty)),
            OpCode::Trans => match &op.attrs {
                Attrs::Order(order) => one.map(|(x, _)| {
                    let pick = |of: &[u64]| {
                        order
                            .iter()
                            .map(|&d| of.get(d as usize).copied().unwrap_or(1))
                            .collect()
                    };
                    Facts {
                        contiguous: pick(&x.contiguous),
                        divisible: pick(&x.divisible),
                        constant: pick(&x.constant),
                        range: x.range,
                    }
                }),
                _ => None,
            },
            // A truth value is 0 or 1 here, and 0 or -1 to what reads it as a signed number.
            OpCode::ExtSI if one.as_ref().is_some_and(|(_, from)| bits(*from) == 1) => one.map(|(x, _)| {
                let range = x.range.map(|(low, high)| (-high, -low));
                match range {
                    Some((low, high)) if low == high => Facts::number(ty, low),
                    _ => Facts {
                        range,
                        ..pointwise(&[x])
                    },
                }
            }),
            OpCode::ExtSI => one.map(|(x, _)| x),
            OpCode::IndexCast
                if one
                    .as_ref()
                    .is_some_and(|(_, x)| (2..=bits(ty)).contains(&bits(*x))) =>
            {
                one.map(|(x, _)| x)
            }
            OpCode::ExtUI | OpCode::TruncI | OpCode::IndexCast | OpCode::IndexCastUi => {
                one.and_then(|(x, from)| {
                    let limit = width_range(ty);
                    let signed = matches!(op.code, OpCode::TruncI | OpCode::IndexCast);
                    let fits = x.range.is_some_and(|(low, high)| {
                        // Without a sign, wider numbers hold what is not negative.
                        low >= limit.0 && high <= limit.1 && bits(from) > 1 && (signed || low >= 0)
                    });
                    fits.then_some(x)
                })
            }
            OpCode::AddI | OpCode::AddPtr => two.map(|((a, _), (b, _))| {
                let scale = match ty.elem() {
                    Some(Elem::Ptr(pointer)) => pointer.target().bytes() as u64,
                    _ => 1,
                };
                add(&a, &b, scale, ty)
            }),
            OpCode::SubI => two.map(|((a, _), (b, _))| subtract(&a, &b, ty)),
            OpCode::MulI => two.map(|((a, _), (b, _))| multiply(&a, &b, ty)),
            OpCode::DivSI | OpCode::RemSI if bits(ty) == 1 => two.map(|((a, _), (b, _))| pointwise(&[a, b])),
            OpCode::DivSI | OpCode::DivUI => two.map(|((a, _), (b, _))| divide(&a, &b)),
            OpCode::RemSI | OpCode::RemUI => two.map(|((a, _), (b, _))| remainder(&a, &b)),
            OpCode::CmpI => match op.attrs {
                Attrs::CmpI(predicate) => two.map(|((a, from), (b, _))| match bits(from) {
                    1 => compare(&a, &b, of_truth_values(predicate)),
                    _ => compare(&a, &b, predicate),
                }),
                _ => None,
            },
            OpCode::MinSI | OpCode::MaxSI if bits(ty) == 1 => two.map(|((a, _), (b, _))| pointwise(&[a, b])),
            OpCode::MinSI => two.map(|((a, _), (b, _))| Facts {
                range: a.range.zip(b.range).map(|(a, b)| (a.0.min(b.0), a.1.min(b.1))),
                ..pointwise(&[a, b])
            }),
            OpCode::MaxSI => two.map(|((a, _), (b, _))| Facts {
                range: a.range.zip(b.range).map(|(a, b)| (a.0.max(b.0), a.1.max(b.1))),
                ..pointwise(&[a, b])
            }),
            OpCode::Select => operand(0)
                .zip(operand(1))
                .zip(operand(2))
                .map(|(((c, _), (a, _)), (b, _))| {
                    let mut facts = pointwise(&[a.clone(), b.clone()]);
                    for axis in 0..facts.constant.len() {
                        let group = c.constant.get(axis).or(c.constant.first()).copied().unwrap_or(1);
                        let group = if c.constant.len() == facts.constant.len() {
                            group
                        } else {
                            EVERYTHING
                        };
                        facts.contiguous[axis] = a.contiguous[axis].min(b.contiguous[axis]).min(group);
                        facts.divisible[axis] = a
                            .divisible_at(axis, facts.contiguous[axis])
                            .min(b.divisible_at(axis, facts.contiguous[axis]));
                        facts.constant[axis] = facts.constant[axis].min(group);
                    }
                    facts.range = a.range.zip(b.range).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
                    facts
                }),
            OpCode::Bitcast => one
                .filter(|(_, from)| *from == ty || is_pointer(*from))
                .map(|(x, from)| {
                    match is_pointer(ty) && is_pointer(from) && from.elem() != ty.elem() {
                        // Elements of another size are not as contiguous.
                        true => Facts {
                            contiguous: vec![1; x.contiguous.len()],
                            ..every(&x)
                        },
                        false => x,
                    }
                }),
            code if code.info().class.is_some() => {
                let operands: Vec<Facts> = (0..op.operands.len())
                    .filter_map(|i| operand(i).map(|o| o.0))
                    .collect();
                Some(pointwise(&operands))
            }
            _ => None,
        };
        facts
            .filter(|f| f.constant.len() == dims(ty).len())
            .unwrap_or_else(|| Facts::unknown(ty))
    }
}

/// The facts with contiguity given up: divisibility is that of every element.
fn every(x: &Facts) -> Facts {
    Facts {
        divisible: (0..x.divisible.len())
            .map(|axis| x.divisible_at(axis, 1))
            .collect(),
        ..x.clone()
    }
}

fn axis_index(axis: Axis) -> usize {
    match axis {
        Axis::X => 0,
        Axis::Y => 1,
        Axis::Z => 2,
    }
}

fn is_pointer(ty: Type) -> bool {
    matches!(ty.elem(), Some(Elem::Ptr(_)))
}

fn is_integer_or_pointer(ty: Type) -> bool {
    match ty.elem() {
        Some(Elem::Scalar(scalar)) => scalar.is_int(),
        Some(Elem::Ptr(_)) => true,
        None => false,
    }
}

fn bits(ty: Type) -> u32 {
    ty.elem().map_or(64, |elem| match elem {
        Elem::Scalar(scalar) => scalar.bits(),
        Elem::Ptr(_) => 64,
    })
}

/// Least and greatest signed number of the type.
fn width_range(ty: Type) -> (i64, i64) {
    match bits(ty) {
        n @ 2..=63 => (-(1i64 << (n - 1)), (1i64 << (n - 1)) - 1),
        1 => (0, 1),
        _ => (i64::MIN, i64::MAX),
    }
}

/// The signed number that some bits are; a truth value is 0 or 1.
fn integer(ty: Type, value: u64) -> Option<i64> {
    let scalar = ty.elem()?.scalar().filter(|s| s.is_int())?;
    match scalar {
        Scalar::I1 => Some((value & 1) as i64),
        Scalar::I128 => None,
        _ => {
            let shift = 64 - scalar.bits();
            Some((value << shift) as i64 >> shift)
        }
    }
}

/// Bounds that stay within the type, or none: the operation may wrap around.
fn within(ty: Type, bounds: Option<(i128, i128)>) -> Option<(i64, i64)> {
    let (low, high) = bounds?;
    let limit = width_range(ty);
    (low >= i128::from(limit.0) && high <= i128::from(limit.1)).then_some((low as i64, high as i64))
}

fn wide(range: Option<(i64, i64)>) -> Option<(i128, i128)> {
    range.map(|(low, high)| (i128::from(low), i128::from(high)))
}

/// Of any operation that treats lanes alike: equal operands give equal results.
fn pointwise(operands: &[Facts]) -> Facts {
    let rank = operands.iter().map(|f| f.constant.len()).max().unwrap_or(1);
    let constant = (0..rank).map(|axis| {
        let of_each = operands
            .iter()
            .map(|f| f.constant.get(axis).copied().unwrap_or(1));
        of_each.min().unwrap_or(1)
    });
    Facts {
        contiguous: vec![1; rank],
        divisible: vec![1; rank],
        constant: constant.collect(),
        range: None,
    }
}

fn add(a: &Facts, b: &Facts, scale: u64, ty: Type) -> Facts {
    let mut facts = pointwise(&[a.clone(), b.clone()]);
    for axis in 0..facts.constant.len() {
        let group = a.contiguous[axis]
            .min(b.constant[axis])
            .max(a.constant[axis].min(b.contiguous[axis]));
        facts.contiguous[axis] = group;
        let offset = b.divisible_at(axis, group).saturating_mul(scale);
        // Within a group of a pointer, neighbours are `scale` bytes apart.
        let base = match group >= a.contiguous[axis] {
            true => a.divisible[axis],
            false => a.divisible[axis].min(group.saturating_mul(scale)),
        };
        facts.divisible[axis] = base.min(offset).min(EVERYTHING);
    }
    facts.range = within(
        ty,
        wide(a.range)
            .zip(wide(b.range))
            .map(|(a, b)| (a.0 + b.0, a.1 + b.1)),
    )
    .filter(|_| !is_pointer(ty));
    facts
}

fn subtract(a: &Facts, b: &Facts, ty: Type) -> Facts {
    let mut facts = pointwise(&[a.clone(), b.clone()]);
    for axis in 0..facts.constant.len() {
        let group = a.contiguous[axis].min(b.constant[axis]);
        facts.contiguous[axis] = group;
        facts.divisible[axis] = a.divisible_at(axis, group).min(b.divisible_at(axis, 1));
    }
    facts.range = within(
        ty,
        wide(a.range)
            .zip(wide(b.range))
            .map(|(a, b)| (a.0 - b.1, a.1 - b.0)),
    );
    facts
}

fn multiply(a: &Facts, b: &Facts, ty: Type) -> Facts {
    if b.value() == Some(1) {
        return a.clone();
    }
    if a.value() == Some(1) {
        return b.clone();
    }
    let mut facts = pointwise(&[a.clone(), b.clone()]);
    for axis in 0..facts.constant.len() {
        let product = a.divisible_at(axis, 1).saturating_mul(b.divisible_at(axis, 1));
        facts.divisible[axis] = product.min(EVERYTHING);
    }
    let corners = wide(a.range).zip(wide(b.range)).map(|(a, b)| {
        let all = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
        all.iter()
            .fold((all[0], all[0]), |(low, high), &x| (low.min(x), high.max(x)))
    });
    facts.range = within(ty, corners);
    // A product that wraps around is still divisible, but by no more than its own width shows.
    facts
}

fn divide(a: &Facts, b: &Facts) -> Facts {
    let Some(by) = b.value().filter(|&by| by > 0) else {
        return pointwise(&[a.clone(), b.clone()]);
    };
    if by == 1 {
        return a.clone();
    }
    let mut facts = pointwise(&[a.clone(), b.clone()]);
    for axis in 0..facts.constant.len() {
        let group = power_of_two_in(by);
        if a.range.is_some_and(|(low, _)| low >= 0) && a.contiguous[axis] > 1 {
            let group = group.min(a.contiguous[axis]).min(a.divisible[axis]);
            facts.constant[axis] = facts.constant[axis].max(group);
        }
        if by.count_ones() == 1 {
            facts.divisible[axis] = (a.divisible_at(axis, 1) / power_of_two_in(by)).max(1);
        }
    }
    facts.range = a
        .range
        .filter(|(low, _)| *low >= 0)
        .map(|(low, high)| (low / by, high / by));
    facts
}

fn remainder(a: &Facts, b: &Facts) -> Facts {
    let mut facts = pointwise(&[a.clone(), b.clone()]);
    let Some(by) = b.value().filter(|&by| by > 0) else {
        return facts;
    };
    if a.range.is_none_or(|(low, _)| low < 0) {
        return facts;
    }
    for axis in 0..facts.constant.len() {
        let group = a.contiguous[axis].min(a.divisible[axis]).min(power_of_two_in(by));
        facts.contiguous[axis] = group;
        facts.divisible[axis] = a.divisible_at(axis, group).min(power_of_two_in(by));
    }
    facts.range = a.range.map(|(_, high)| (0, high.min(by - 1)));
    facts
}

fn compare(a: &Facts, b: &Facts, predicate: IntPredicate) -> Facts {
    let mut facts = pointwise(&[a.clone(), b.clone()]);
    let ordered = matches!(
        predicate,
        IntPredicate::Slt | IntPredicate::Sge | IntPredicate::Ult | IntPredicate::Uge
    );
    let flipped = matches!(
        predicate,
        IntPredicate::Sgt | IntPredicate::Sle | IntPredicate::Ugt | IntPredicate::Ule
    );
    // `x < n` cannot change inside a group of x that starts at a multiple of its size, if n is one too.
    let groups = |x: &Facts, n: &Facts, axis: usize| {
        let group = x.contiguous[axis].min(n.constant[axis]);
        group
            .min(x.divisible_at(axis, group))
            .min(n.divisible_at(axis, 1))
    };
    for axis in 0..facts.constant.len() {
        if ordered {
            facts.constant[axis] = facts.constant[axis].max(groups(a, b, axis));
        } else if flipped {
            facts.constant[axis] = facts.constant[axis].max(groups(b, a, axis));
        }
    }
    facts.range = decided(a.range, b.range, predicate).or(Some((0, 1)));
    facts
}

/// The comparison of 0 and 1 that a signed comparison of truth values is: true, as a signed number, is -1.
fn of_truth_values(predicate: IntPredicate) -> IntPredicate {
    match predicate {
        IntPredicate::Slt => IntPredicate::Ugt,
        IntPredicate::Sle => IntPredicate::Uge,
        IntPredicate::Sgt => IntPredicate::Ult,
        IntPredicate::Sge => IntPredicate::Ule,
        other => other,
    }
}

/// The outcome of a comparison that bounds decide.
fn decided(a: Option<(i64, i64)>, b: Option<(i64, i64)>, predicate: IntPredicate) -> Option<(i64, i64)> {
    let ((a_low, a_high), (b_low, b_high)) = a.zip(b)?;
    let unsigned_alike = a_low >= 0 && b_low >= 0;
    let less = (a_high < b_low, a_low >= b_high);
    let less_equal = (a_high <= b_low, a_low > b_high);
    let outcome = match predicate {
        IntPredicate::Slt => less,
        IntPredicate::Ult if unsigned_alike => less,
        IntPredicate::Sle => less_equal,
        IntPredicate::Ule if unsigned_alike => less_equal,
        IntPredicate::Sgt => (a_low > b_high, a_high <= b_low),
        IntPredicate::Ugt if unsigned_alike => (a_low > b_high, a_high <= b_low),
        IntPredicate::Sge => (a_low >= b_high, a_high < b_low),
        IntPredicate::Uge if unsigned_alike => (a_low >= b_high, a_high < b_low),
        _ => (false, false),
    };
    match outcome {
        (true, _) => Some((1, 1)),
        (_, true) => Some((0, 0)),
        _ => None,
    }
}

fn expand(x: &Facts, from: Type, ty: Type, attrs: &Attrs) -> Facts {
    let Attrs::Axis(axis) = *attrs else {
        return Facts::unknown(ty);
    };
    let mut facts = x.clone();
    if from.shape().is_none_or(|s| s.rank() == 0) {
        return Facts::uniform(ty, x.divisible[0], x.range);
    }
    let at = (axis as usize).min(facts.constant.len());
    let every = (0..x.divisible.len())
        .map(|axis| x.divisible_at(axis, 1))
        .max()
        .unwrap_or(1);
    facts.contiguous.insert(at, 1);
    facts.divisible.insert(at, every);
    facts.constant.insert(at, 1);
    facts
}

fn broadcast(x: &Facts, from: Type, ty: Type) -> Facts {
    let (Some(from), Some(to)) = (from.shape(), ty.shape()) else {
        return Facts::unknown(ty);
    };
    let mut facts = x.clone();
    for axis in 0..to.rank().min(facts.constant.len()) {
        if from.dim(axis) == 1 && to.dim(axis) > 1 {
            facts.divisible[axis] = facts.divisible_at(axis, 1);
            facts.contiguous[axis] = 1;
            facts.constant[axis] = to.dim(axis) as u64;
        }
    }
    facts
}

/// The values that a region's only block ends with.
fn yielded(function: &Function, region: tilescope_ir::RegionId) -> Vec<ValueId> {
    let block = function.regions[region].blocks.first();
    let last = block.and_then(|&block| function.blocks[block].ops.last());
    last.map(|&op| function.ops[op].operands.to_vec())
        .unwrap_or_default()
}
