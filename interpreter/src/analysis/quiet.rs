//! Masked loads that leave no lane undefined that matters, as far as that is plain to see.
//!
//! A load without `other` leaves its masked-off lanes undefined. Most kernels then compute lane by lane and
//! store under the same mask, which drops those lanes. This module follows what is loaded: as long as every
//! operation keeps lanes apart, and every store, address and selection takes only lanes whose mask implies
//! the load's, nothing can be reported, and the interpreter need not follow the lanes at run time.
//!
//! Masks are compared by what computes them (value numbering), so a mask that is written twice is one mask.
//! Values that go round a loop, or through anything that mixes lanes, count as used.

use std::collections::{HashMap, HashSet};
use tilescope_ir::{Def, Effect, EntityId, Family, Function, Op, OpCode, OpId, Type, ValueId};

/// Operations that a mask or an undefined lane is followed through.
const MOST: usize = 4096;

/// Deepest expression that is numbered.
const DEEPEST: usize = 64;

/// The loads of a function that need not be watched.
pub fn quiet_loads(function: &Function) -> HashSet<OpId> {
    let is_doubtful = |op: &Op| op.code == OpCode::Load && op.operands.len() == 2;
    let loads: Vec<OpId> = function
        .ops
        .iter()
        .filter(|(_, op)| is_doubtful(op))
        .map(|(id, _)| id)
        .collect();
    if loads.is_empty() {
        return HashSet::new();
    }
    let mut walk = Walk::new(function);
    loads.into_iter().filter(|&load| walk.is_quiet(load)).collect()
}

/// A value by what computes it: equal numbers are equal values.
type Number = u32;

/// What computes a value: operation, its attributes and type in words, and its operands.
type Key = (OpCode, String, Vec<Number>);

struct Walk<'f> {
    function: &'f Function,
    /// Operations and positions that use each value; none as the position for what cannot be followed.
    uses: Vec<Vec<(OpId, Option<u32>)>>,
    /// The `scf.if` that an `scf.yield` belongs to.
    branches: HashMap<OpId, OpId>,
    numbers: HashMap<ValueId, Number>,
    known: HashMap<Key, Number>,
    keys: Vec<Option<Key>>,
}

/// What becomes of lanes that a value has undefined, where it is used.
enum Fate {
    /// They are dropped.
    Dropped,
    /// A result has them: outside this mask.
    Passed(ValueId, Number),
    /// They may matter.
    Used,
}

impl<'f> Walk<'f> {
    fn new(function: &'f Function) -> Walk<'f> {
        let mut uses = vec![Vec::new(); function.values.len()];
        let mut branches = HashMap::new();
        for (id, op) in function.ops.iter() {
            for (i, value) in op.operands.iter().enumerate() {
                uses[value.index()].push((id, Some(i as u32)));
            }
            for value in op.successors.iter().flat_map(|s| &s.args) {
                uses[value.index()].push((id, None));
            }
            for &region in op.regions.iter().filter(|_| op.code == OpCode::If) {
                let blocks = &function.regions[region].blocks;
                let lasts = blocks
                    .iter()
                    .filter_map(|&block| function.blocks[block].ops.last());
                branches.extend(lasts.map(|&last| (last, id)));
            }
        }
        Walk {
            function,
            uses,
            branches,
            numbers: HashMap::new(),
            known: HashMap::new(),
            keys: Vec::new(),
        }
    }

    fn is_quiet(&mut self, load: OpId) -> bool {
        let op = &self.function.ops[load];
        let Some(result) = self.function.result(load) else {
            return false;
        };
        let mask = self.number(op.operands[1], DEEPEST);
        let mut undefined: HashMap<ValueId, Number> = HashMap::from([(result, mask)]);
        let mut waiting = vec![result];
        let mut looked = 0;
        while let Some(value) = waiting.pop() {
            let mask = undefined[&value];
            for i in 0..self.uses[value.index()].len() {
                looked += 1;
                let (user, position) = self.uses[value.index()][i];
                let fate = match position {
                    Some(position) if looked < MOST => self.fate(user, position as usize, mask),
                    _ => Fate::Used,
                };
                match fate {
                    Fate::Dropped => {}
                    Fate::Used => return false,
                    Fate::Passed(result, mask) => match undefined.insert(result, mask) {
                        None => waiting.push(result),
                        Some(before) if before == mask => {}
                        Some(_) => return false,
                    },
                }
            }
        }
        true
    }

    /// What becomes of the lanes outside `mask` of an operand.
    fn fate(&mut self, user: OpId, position: usize, mask: Number) -> Fate {
        let function = self.function;
        let op = &function.ops[user];
        let passed = |mask| match function.result(user) {
            Some(result) => Fate::Passed(result, mask),
            None => Fate::Used,
        };
        let under = |walk: &mut Self, guard: Option<&ValueId>| match guard {
            Some(&guard) => {
                let guard = walk.number(guard, DEEPEST);
                walk.implies(guard, mask, DEEPEST)
            }
            None => false,
        };
        match op.code {
            OpCode::Select if position == 1 && under(self, op.operands.first()) => Fate::Dropped,
            // What an atomic gives is its own.
            OpCode::Store | OpCode::AtomicRmw if position < 2 && under(self, op.operands.get(2)) => {
                Fate::Dropped
            }
            OpCode::Load if position == 0 && under(self, op.operands.get(1)) => Fate::Dropped,
            OpCode::Load if position == 2 => passed(mask),
            OpCode::Select | OpCode::CmpI | OpCode::CmpF | OpCode::ClampF | OpCode::AddPtr => passed(mask),
            OpCode::ExternElementwise => passed(mask),
            OpCode::ExpandDims | OpCode::Broadcast | OpCode::Splat | OpCode::Trans | OpCode::Reshape => {
                let Some(result) = function.result(user) else {
                    return Fate::Used;
                };
                let key = (
                    op.code,
                    self.words(user, bool_of(function.ty(result))),
                    vec![mask],
                );
                let number = self.intern(key);
                passed(number)
            }
            OpCode::Yield => match self
                .branches
                .get(&user)
                .map(|&branch| &function.ops[branch].results)
            {
                Some(results) if position < results.len() => Fate::Passed(results[position], mask),
                _ => Fate::Used,
            },
            code if code.info().class.is_some() || code.info().family == Family::Cast => passed(mask),
            _ => Fate::Used,
        }
    }

    /// Attributes and type of a result, in words.
    fn words(&self, op: OpId, ty: Type) -> String {
        format!("{:?} {ty}", self.function.ops[op].attrs)
    }

    fn fresh(&mut self) -> Number {
        self.keys.push(None);
        self.keys.len() as Number - 1
    }

    fn intern(&mut self, key: Key) -> Number {
        if let Some(&number) = self.known.get(&key) {
            return number;
        }
        let number = self.fresh();
        self.keys[number as usize] = Some(key.clone());
        self.known.insert(key, number);
        number
    }

    fn number(&mut self, value: ValueId, depth: usize) -> Number {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = match self.function.values[value].def {
            Def::Result(id, 0) if depth > 0 => {
                let op = &self.function.ops[id];
                let is_plain = op.code.info().effect == Effect::Pure
                    && op.regions.is_empty()
                    && op.results.len() == 1
                    && op.code != OpCode::Poison;
                match is_plain {
                    true => {
                        let operands = op.operands.iter().map(|&v| self.number(v, depth - 1)).collect();
                        let words = self.words(id, self.function.ty(value));
                        self.intern((op.code, words, operands))
                    }
                    false => self.fresh(),
                }
            }
            _ => self.fresh(),
        };
        self.numbers.insert(value, number);
        number
    }

    /// True if every lane that is true in `a` is true in `b`.
    fn implies(&self, a: Number, b: Number, depth: usize) -> bool {
        if a == b {
            return true;
        }
        if depth == 0 {
            return false;
        }
        let key = |number: Number| self.keys.get(number as usize).and_then(Option::as_ref);
        if let Some((OpCode::AndI, _, parts)) = key(b)
            && parts.iter().all(|&part| self.implies(a, part, depth - 1))
        {
            return true;
        }
        match (key(a), key(b)) {
            (Some((OpCode::AndI, _, parts)), _)
                if parts.iter().any(|&part| self.implies(part, b, depth - 1)) =>
            {
                true
            }
            (Some((code, words, x)), Some((other, same, y))) if code == other && words == same => {
                let moves = matches!(
                    code,
                    OpCode::ExpandDims | OpCode::Broadcast | OpCode::Splat | OpCode::Trans | OpCode::Reshape
                );
                moves && x.len() == 1 && y.len() == 1 && self.implies(x[0], y[0], depth - 1)
            }
            _ => false,
        }
    }
}

/// The type of a mask for values of a type.
fn bool_of(ty: Type) -> Type {
    match ty {
        Type::Tile(shape, _) => Type::tile(shape, tilescope_ir::Scalar::I1),
        _ => Type::BOOL,
    }
}
