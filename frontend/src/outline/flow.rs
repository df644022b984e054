//! Where the values of a kernel come from: which parameter an address is into, what it is indexed by, what bounds
//! the index.
//!
//! One pass over the statements in the order of the text, both branches of an `if` one after the other, loops once,
//! helpers of the same file followed at each call. Sound in nothing; bounded in everything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::walk;
use crate::ast::{BinaryOp, Call, CompareOp, Expr, ExprKind, FunctionDef, Name, Span, Stmt, StmtKind};

/// Expressions that are looked at in one kernel, at most: a guess may be incomplete.
const MAX_STEPS: u32 = 50_000;

/// Deepest chain of helpers.
const MAX_DEPTH: u32 = 6;

/// What an index is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Index {
    /// Variables that it is written with.
    pub names: BTreeSet<Name>,
    /// Axes of the grid, a bit each.
    pub axes: u8,
    /// Axes multiplied by a block's size.
    pub scaled: BTreeSet<(u8, Name)>,
    /// Ends of `tl.arange`.
    pub ranges: BTreeSet<Name>,
    /// It changes in a loop.
    pub looped: bool,
    /// It is a remainder of division by this parameter.
    pub modulus: Option<Name>,
}

/// What is known of a value.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    /// The parameter that it is, or is an address into: the leftmost of a sum.
    pub base: Option<Name>,
    /// Parameters that it depends on, not through memory.
    pub mentions: BTreeSet<Name>,
    /// As an index.
    pub index: Index,
    /// Parts of a sum that are multiplied by a parameter.
    pub strides: BTreeMap<Name, Index>,
    /// Parts of a sum that are not.
    pub units: Vec<Index>,
    /// Parameters from whose memory it was loaded.
    pub data: BTreeSet<Name>,
    /// The type that it was just converted to, as the language names it.
    pub converted: Option<Name>,
}

/// What is done to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Does {
    Load,
    Store,
    Atomic,
}

/// An access through a parameter.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub does: Does,
    pub address: Flow,
    /// A tensor descriptor's method.
    pub described: bool,
    /// Where the kernel itself does it, or calls the helper that does.
    pub span: Span,
}

/// A comparison of an index.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    pub index: Index,
    /// The parameter that it is compared with.
    pub size: Name,
    /// With nothing but that parameter.
    pub alone: bool,
}

/// What a kernel does, as far as its text shows.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// By parameter.
    pub accesses: BTreeMap<Name, Vec<Access>>,
    /// What indices are compared with.
    pub bounds: Vec<Bound>,
    /// Axes that a program asks for.
    pub axes: u8,
    /// Axes multiplied by a block's size.
    pub scaled: BTreeSet<(u8, Name)>,
    /// Parameters that sizes and addresses are computed from.
    pub integers: BTreeSet<Name>,
    /// Parameters in whose memory there are integers.
    pub integer_data: BTreeSet<Name>,
    /// Parameters that sizes of blocks are computed from.
    pub blocks: BTreeSet<Name>,
    /// Parameters tested as they are.
    pub tested: BTreeSet<Name>,
    /// Parameters compared with a constant.
    pub compared: BTreeMap<Name, Expr>,
    /// Parameters used as a type.
    pub types: BTreeSet<Name>,
    /// Parameters given to a keyword argument that takes a few strings.
    pub words: BTreeMap<Name, &'static str>,
    /// Compile-time parameters that are sizes or strides, as run-time parameters mostly are.
    pub sizes: BTreeSet<Name>,
    /// Parameters that the kernel mentions.
    pub used: BTreeSet<Name>,
    /// The types that values are converted to where they are stored, by parameter.
    pub stored: BTreeMap<Name, Name>,
    /// It multiplies matrices.
    pub multiplies: bool,
}

/// Follows the values of a kernel.
///
/// Twice where sizes or strides are compile-time parameters: which of these are no blocks shows only at the end of the
/// text, and decides what everything that they multiply and bound is.
pub(super) fn follow(def: &FunctionDef, functions: &[Rc<FunctionDef>], constexprs: BTreeSet<Name>) -> Facts {
    let first = follow_once(def, functions, &constexprs);
    let sizes: BTreeSet<Name> = constexprs
        .iter()
        .filter(|name| {
            let is_stride = name.to_lowercase().contains("stride");
            let is_size = first.sizes.contains(*name) && !first.blocks.contains(*name);
            (is_stride || is_size) && !named_like_a_block(name)
        })
        .cloned()
        .collect();
    if sizes.is_empty() {
        return Facts { sizes, ..first };
    }
    let others = constexprs.difference(&sizes).cloned().collect();
    let second = follow_once(def, functions, &others);
    Facts { sizes, ..second }
}

/// Whether a parameter is the size of a block, by its name.
pub(super) fn named_like_a_block(name: &str) -> bool {
    let name = name.to_lowercase();
    ["block", "tile", "chunk", "group"]
        .iter()
        .any(|word| name.contains(word))
}

fn follow_once(def: &FunctionDef, functions: &[Rc<FunctionDef>], constexprs: &BTreeSet<Name>) -> Facts {
    let params = def.params.positional.iter().chain(&def.params.keyword_only);
    let params: BTreeSet<Name> = params.map(|param| param.ident.name.clone()).collect();
    let mut used = BTreeSet::new();
    walk::statements(&def.body, &mut |expr| {
        if let ExprKind::Name(name) = &expr.kind {
            used.insert(name.clone());
        }
    });
    let mut pass = Pass {
        functions,
        params: &params,
        constexprs,
        facts: Facts::default(),
        steps: MAX_STEPS,
        depth: 0,
        call: None,
    };
    let mut scope = HashMap::new();
    for name in &params {
        scope.insert(name.clone(), Flow::of(name));
    }
    pass.body(&def.body, &mut scope, &mut Flow::default());
    Facts { used, ..pass.facts }
}

type Scope = HashMap<Name, Flow>;

struct Pass<'a> {
    functions: &'a [Rc<FunctionDef>],
    params: &'a BTreeSet<Name>,
    constexprs: &'a BTreeSet<Name>,
    facts: Facts,
    steps: u32,
    depth: u32,
    /// The kernel's own call that we are inside of.
    call: Option<Span>,
}

/// A parameter that is still what it was.
fn is_itself(name: &Name, scope: &Scope) -> bool {
    let flow = scope.get(name);
    flow.is_some_and(|flow| flow.alone() == Some(name))
}

impl Flow {
    /// A parameter.
    fn of(name: &Name) -> Flow {
        Flow {
            base: Some(name.clone()),
            mentions: BTreeSet::from([name.clone()]),
            ..Flow::default()
        }
    }

    /// All that either has; no address.
    fn with(mut self, other: Flow) -> Flow {
        self.base = None;
        self.converted = None;
        self.mentions.extend(other.mentions);
        self.index = self.index.with(other.index);
        self.strides.extend(other.strides);
        self.units.extend(other.units);
        self.data.extend(other.data);
        self
    }

    /// Itself, if it is no sum of indices and strides: the one part of it.
    fn parts(self) -> Flow {
        if self.base.is_none() && self.strides.is_empty() && self.units.is_empty() && !self.index.is_empty() {
            let units = vec![self.index.clone()];
            return Flow { units, ..self };
        }
        self
    }

    fn alone(&self) -> Option<&Name> {
        self.base.as_ref().filter(|_| self.mentions.len() == 1)
    }
}

impl Index {
    fn with(mut self, other: Index) -> Index {
        if self.is_empty() {
            return other;
        }
        if self.modulus != other.modulus && !other.is_empty() {
            self.modulus = None;
        }
        self.names.extend(other.names);
        self.axes |= other.axes;
        self.scaled.extend(other.scaled);
        self.ranges.extend(other.ranges);
        self.looped |= other.looped;
        self
    }

    fn is_empty(&self) -> bool {
        *self == Index::default()
    }
}

impl Pass<'_> {
    fn body(&mut self, body: &[Stmt], scope: &mut Scope, returned: &mut Flow) {
        for stmt in body {
            self.statement(stmt, scope, returned);
        }
    }

    fn statement(&mut self, stmt: &Stmt, scope: &mut Scope, returned: &mut Flow) {
        match &stmt.kind {
            StmtKind::Expr(value) => drop(self.value(value, scope)),
            StmtKind::Assign { targets, value } => {
                for target in targets {
                    self.assign(target, value, scope);
                }
            }
            StmtKind::AnnAssign {
                target,
                value: Some(value),
                ..
            } => self.assign(target, value, scope),
            StmtKind::AugAssign { target, op, value } => {
                let left = self.value(target, scope);
                let right = self.value(value, scope);
                let flow = self.binary(*op, left, right);
                bind(target, flow, scope);
            }
            StmtKind::If { condition, .. } | StmtKind::While { condition, .. } => {
                self.condition(condition, scope)
            }
            StmtKind::For { target, iter, .. } => {
                let mut flow = self.value(iter, scope);
                flow.base = None;
                flow.index.looped = true;
                bind(target, flow, scope);
                if let (ExprKind::Name(name), ExprKind::Call(call)) = (&target.kind, &iter.kind) {
                    self.loop_bound(name, call, scope);
                }
            }
            StmtKind::Return(Some(value)) => {
                let flow = self.value(value, scope);
                let base = returned.base.take().or(flow.base.clone());
                *returned = std::mem::take(returned).with(flow);
                returned.base = base;
            }
            StmtKind::Assert { condition, .. } => self.condition(condition, scope),
            _ => {}
        }
        let branches = matches!(stmt.kind, StmtKind::If { .. });
        let before: Vec<Name> = match branches {
            true => self
                .params
                .iter()
                .filter(|name| is_itself(name, scope))
                .cloned()
                .collect(),
            false => Vec::new(),
        };
        for block in walk::blocks(stmt) {
            self.body(block, scope, returned);
        }
        // Of a pointer that a branch makes another one (`if in_place: out_ptr = x_ptr`), both are stored through: what follows
        // shows what the parameter itself is.
        for name in before {
            let base = scope.get(&name).and_then(|flow| flow.base.as_ref());
            if base.is_some_and(|base| *base != name && self.params.contains(base)) {
                scope.insert(name.clone(), Flow::of(&name));
            }
        }
    }

    fn assign(&mut self, target: &Expr, value: &Expr, scope: &mut Scope) {
        match (&target.kind, &value.kind) {
            (ExprKind::Tuple(targets), ExprKind::Tuple(values)) if targets.len() == values.len() => {
                let flows: Vec<Flow> = values.iter().map(|value| self.value(value, scope)).collect();
                for (target, flow) in targets.iter().zip(flows) {
                    bind(target, flow, scope);
                }
            }
            _ => {
                let flow = self.value(value, scope);
                bind(target, flow, scope);
            }
        }
    }

    fn condition(&mut self, condition: &Expr, scope: &mut Scope) {
        let mut tested = BTreeSet::new();
        tests(condition, &mut tested);
        self.facts
            .tested
            .extend(tested.into_iter().filter(|name| self.params.contains(name)));
        self.value(condition, scope);
    }

    /// `for name in range(…, n, …)`: `n` bounds `name`.
    fn loop_bound(&mut self, name: &Name, call: &Call, scope: &mut Scope) {
        let end = match call.args.as_slice() {
            [end] => end,
            [_, end, ..] => end,
            [] => return,
        };
        let flow = self.value(end, scope);
        self.facts.integers.extend(flow.mentions.iter().cloned());
        if let Some(size) = self.size(&flow) {
            let index = Index {
                names: BTreeSet::from([name.clone()]),
                looped: true,
                ..Index::default()
            };
            self.facts.bounds.push(Bound {
                index,
                size,
                alone: flow.alone().is_some(),
            });
        }
    }

    /// Notes the compile-time parameter that an index is bounded by, if it is the only one.
    fn note_size(&mut self, bound: &Flow) {
        let sizes = bound.mentions.iter().filter(|name| {
            self.constexprs.contains(*name) && !self.facts.blocks.contains(*name) && !named_like_a_block(name)
        });
        let sizes: Vec<Name> = sizes.cloned().collect();
        if let [size] = sizes.as_slice() {
            self.facts.sizes.insert(size.clone());
        }
    }

    /// The run-time parameter that a bound is made of.
    fn size(&self, flow: &Flow) -> Option<Name> {
        let run_time = |name: &&Name| self.params.contains(*name) && !self.constexprs.contains(*name);
        match flow.alone().filter(run_time) {
            Some(name) => Some(name.clone()),
            None => flow.mentions.iter().find(run_time).cloned(),
        }
    }

    fn value(&mut self, expr: &Expr, scope: &mut Scope) -> Flow {
        let Some(left) = self.steps.checked_sub(1) else {
            return Flow::default();
        };
        self.steps = left;
        match &expr.kind {
            ExprKind::Name(name) => variable(name, scope),
            ExprKind::Binary(op, left, right) => {
                let left = self.value(left, scope);
                let right = self.value(right, scope);
                self.binary(*op, left, right)
            }
            ExprKind::Compare(first, rest) => self.comparison(first, rest, scope),
            ExprKind::Subscript(of, _) => self.value(of, scope),
            ExprKind::IfElse {
                condition,
                then,
                otherwise,
            } => {
                self.condition(condition, scope);
                let then = self.value(then, scope);
                let otherwise = self.value(otherwise, scope);
                let base = then.base.clone().or(otherwise.base.clone());
                Flow {
                    base,
                    ..then.with(otherwise)
                }
            }
            ExprKind::Call(call) => self.call(call, expr.span, scope),
            ExprKind::Attribute(..) | ExprKind::Lambda(_) => Flow::default(),
            _ => {
                let mut all = Flow::default();
                walk::children(expr, &mut |child| {
                    let flow = self.value(child, scope);
                    all = std::mem::take(&mut all).with(flow);
                });
                all
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: Flow, right: Flow) -> Flow {
        match op {
            BinaryOp::Add | BinaryOp::Sub => {
                let (left, right) = (left.parts(), right.parts());
                let base = left.base.clone().or(right.base.clone());
                Flow {
                    base,
                    ..left.with(right)
                }
            }
            BinaryOp::Mul => self.product(left, right),
            BinaryOp::Mod => {
                if !left.index.ranges.is_empty() {
                    self.note_size(&right);
                }
                let size = self.size(&right).filter(|_| right.alone().is_some());
                let mut all = flat(left.with(right));
                if let Some(size) = size {
                    self.facts.integers.insert(size.clone());
                    all.index.modulus = Some(size);
                }
                all
            }
            BinaryOp::FloorDiv
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::Shr => {
                let all = flat(left.with(right));
                self.facts.integers.extend(all.mentions.iter().cloned());
                self.facts.integer_data.extend(all.data.iter().cloned());
                all
            }
            _ => flat(left.with(right)),
        }
    }

    fn product(&mut self, left: Flow, right: Flow) -> Flow {
        let factor = |flow: &Flow, constexpr: bool| -> Option<Name> {
            let name = flow.alone()?;
            (self.constexprs.contains(name) == constexpr).then(|| name.clone())
        };
        for (one, other) in [(&left, &right), (&right, &left)] {
            if let Some(block) = factor(one, true)
                && other.index.axes != 0
                && other.index.ranges.is_empty()
            {
                let scaled: BTreeSet<(u8, Name)> = (0..3)
                    .filter(|axis| other.index.axes & (1 << axis) != 0)
                    .map(|axis| (axis, block.clone()))
                    .collect();
                self.facts.scaled.extend(scaled.iter().cloned());
                let mut all = flat(left.clone().with(right.clone()));
                all.index.scaled = scaled;
                return all;
            }
            if let Some(stride) = factor(one, false)
                && !other.index.is_empty()
            {
                let strides = BTreeMap::from([(stride, other.index.clone())]);
                return Flow {
                    strides,
                    units: Vec::new(),
                    ..left.clone().with(right.clone())
                };
            }
        }
        flat(left.with(right))
    }

    fn comparison(&mut self, first: &Expr, rest: &[(CompareOp, Expr)], scope: &mut Scope) -> Flow {
        let mut all = self.value(first, scope);
        let (mut left_expr, mut left) = (first, all.clone());
        for (_, right_expr) in rest {
            let right = self.value(right_expr, scope);
            for (index, bound) in [(&left, &right), (&right, &left)] {
                let plain = bound.index.ranges.is_empty()
                    && (bound.index.is_empty() || !index.index.ranges.is_empty());
                if plain && !index.index.ranges.is_empty() {
                    self.note_size(bound);
                }
                let size = self.size(bound).filter(|_| plain);
                if let Some(size) = size.filter(|_| !index.index.is_empty()) {
                    self.facts.integers.insert(size.clone());
                    self.facts.bounds.push(Bound {
                        index: index.index.clone(),
                        size,
                        alone: bound.alone().is_some(),
                    });
                }
            }
            for (one, other) in [(left_expr, right_expr), (right_expr, left_expr)] {
                let literal = matches!(other.kind, ExprKind::Str(_) | ExprKind::Int(_) | ExprKind::None);
                if let (ExprKind::Name(name), true) = (&one.kind, literal)
                    && self.params.contains(name)
                {
                    self.facts
                        .compared
                        .entry(name.clone())
                        .or_insert_with(|| other.clone());
                }
            }
            all = all.with(right.clone());
            (left_expr, left) = (right_expr, right);
        }
        // A truth value, whatever was compared.
        Flow {
            index: all.index,
            ..Flow::default()
        }
    }

    fn call(&mut self, call: &Call, span: Span, scope: &mut Scope) -> Flow {
        let mut args: Vec<Flow> = call.args.iter().map(|arg| self.value(arg, scope)).collect();
        let mut keywords: Vec<(Name, Flow)> = Vec::new();
        for (name, value) in &call.keywords {
            let flow = self.value(value, scope);
            if let Some(name) = name {
                self.keyword(&name.name, value);
                keywords.push((name.name.clone(), flow));
            }
        }
        let function = match &call.function.kind {
            ExprKind::Name(name) => {
                if let Some(def) = self.functions.iter().find(|def| def.ident.name == *name) {
                    return self.helper(&def.clone(), args, keywords, span);
                }
                name.clone()
            }
            ExprKind::Attribute(of, name) => {
                // A method of a value, or a function of a module.
                let object = match &of.kind {
                    ExprKind::Name(module) if !scope.contains_key(module) => None,
                    ExprKind::Attribute(..) => None,
                    _ => Some(self.value(of, scope)),
                };
                if let Some(object) = object {
                    if let (true, Some(ExprKind::Attribute(_, ty))) =
                        (&*name.name == "to", call.args.first().map(|a| &a.kind))
                    {
                        return Flow {
                            converted: Some(ty.name.clone()),
                            ..object
                        };
                    }
                    if let (true, Some(ExprKind::Name(ty))) =
                        (&*name.name == "to", call.args.first().map(|a| &a.kind))
                    {
                        self.facts.types.extend(self.params.get(ty).cloned());
                    }
                    return self.method(object, &name.name, args, span);
                }
                name.name.clone()
            }
            _ => return args.into_iter().fold(Flow::default(), Flow::with),
        };
        let named = |keywords: &mut Vec<(Name, Flow)>, name: &str| {
            let place = keywords.iter().position(|(keyword, _)| **keyword == *name)?;
            Some(keywords.swap_remove(place).1)
        };
        let first = match args.is_empty() {
            true => ["pointer", "base", "input", "axis", "ptr"]
                .iter()
                .find_map(|name| named(&mut keywords, name)),
            false => Some(args.remove(0)),
        };
        let rest = args.into_iter().chain(keywords.into_iter().map(|(_, flow)| flow));
        self.builtin(&function, first.unwrap_or_default(), rest.collect(), call, span)
    }

    fn builtin(&mut self, function: &str, first: Flow, rest: Vec<Flow>, call: &Call, span: Span) -> Flow {
        let does = match function {
            "load" => Some(Does::Load),
            "store" => Some(Does::Store),
            name if name.starts_with("atomic_") => Some(Does::Atomic),
            _ => None,
        };
        if let Some(does) = does {
            let converted = rest.first().and_then(|value| value.converted.clone());
            if let (Does::Store, Some(base), Some(ty)) = (does, &first.base, converted) {
                self.facts.stored.insert(base.clone(), ty);
            }
            return self.access(does, first, false, span);
        }
        self.facts.multiplies |= matches!(function, "dot" | "dot_scaled");
        let all = rest.into_iter().fold(Flow::default(), Flow::with);
        match function {
            "program_id" => {
                let axis = match call
                    .args
                    .first()
                    .or(call.keywords.first().map(|(_, v)| v))
                    .map(|e| &e.kind)
                {
                    Some(ExprKind::Int(axis)) => u8::try_from(axis.clone()).unwrap_or(0).min(2),
                    _ => 0,
                };
                self.facts.axes |= 1 << axis;
                let index = Index {
                    axes: 1 << axis,
                    ..Index::default()
                };
                Flow {
                    index,
                    ..Flow::default()
                }
            }
            "arange" => {
                let ranges: BTreeSet<Name> = all.mentions.union(&first.mentions).cloned().collect();
                self.facts.blocks.extend(ranges.iter().cloned());
                let mut flow = flat(first.with(all));
                flow.index.ranges.extend(ranges);
                flow
            }
            "zeros" | "full" | "ones" => {
                self.facts.blocks.extend(first.mentions.iter().cloned());
                Flow::default()
            }
            "cdiv" | "range" | "static_range" | "num_programs" => {
                self.facts.integers.extend(first.mentions.iter().cloned());
                flat(first.with(all))
            }
            "make_block_ptr"
            | "make_tensor_descriptor"
            | "multiple_of"
            | "max_contiguous"
            | "max_constancy"
            | "cast"
            | "advance"
            | "broadcast_to"
            | "expand_dims"
            | "reshape"
            | "view"
            | "assume" => {
                let base = first.base.clone();
                Flow {
                    base,
                    ..first.with(all)
                }
            }
            "min" | "max" | "minimum" | "maximum" | "abs" | "where" | "swizzle2d" => flat(first.with(all)),
            // What comes out of anything else is no index.
            _ => Flow {
                index: Index::default(),
                ..flat(first.with(all))
            },
        }
    }

    fn method(&mut self, object: Flow, name: &str, args: Vec<Flow>, span: Span) -> Flow {
        match name {
            "load" | "gather" => self.access(Does::Load, object, true, span),
            "store" | "scatter" => self.access(Does::Store, object, true, span),
            "atomic_add" | "atomic_max" | "atomic_min" => self.access(Does::Atomic, object, true, span),
            // Keeps the value: `.to(tl.int64)`, `.reshape(…)`.
            _ => match args.iter().all(|arg| arg.index.is_empty()) {
                true => object,
                false => args.into_iter().fold(object, Flow::with),
            },
        }
    }

    fn access(&mut self, does: Does, address: Flow, described: bool, span: Span) -> Flow {
        let mut read = Flow::default();
        if let Some(base) = address.base.clone() {
            let others = address.mentions.iter().filter(|name| **name != base);
            self.facts.integers.extend(others.cloned());
            read.data.insert(base.clone());
            let own = self.call.unwrap_or(span);
            let access = Access {
                does,
                address,
                described,
                span: own,
            };
            self.facts.accesses.entry(base).or_default().push(access);
        }
        read
    }

    fn helper(
        &mut self,
        def: &Rc<FunctionDef>,
        args: Vec<Flow>,
        keywords: Vec<(Name, Flow)>,
        span: Span,
    ) -> Flow {
        if self.depth >= MAX_DEPTH {
            return Flow::default();
        }
        let mut scope = Scope::new();
        let params = def.params.positional.iter().chain(&def.params.keyword_only);
        for (param, flow) in params.clone().zip(args) {
            scope.insert(param.ident.name.clone(), flow);
        }
        scope.extend(keywords);
        let outer = self.call;
        self.call = outer.or(Some(span));
        self.depth += 1;
        let mut returned = Flow::default();
        self.body(&def.body, &mut scope, &mut returned);
        self.depth -= 1;
        self.call = outer;
        returned
    }

    fn keyword(&mut self, keyword: &str, value: &Expr) {
        let ExprKind::Name(name) = &value.kind else { return };
        let Some(param) = self.params.get(name) else {
            return;
        };
        match keyword {
            "dtype" | "out_dtype" => drop(self.facts.types.insert(param.clone())),
            "input_precision" => drop(self.facts.words.insert(param.clone(), "'ieee'")),
            "cache_modifier" | "eviction_policy" => drop(self.facts.words.insert(param.clone(), "''")),
            _ => {}
        }
    }
}

/// What a variable holds; where that is an index, it is one part from here on, called by this name.
fn variable(name: &Name, scope: &Scope) -> Flow {
    let mut flow = scope.get(name).cloned().unwrap_or_default();
    if flow.index.is_empty() && flow.base.is_some() {
        return flow;
    }
    flow.index.names = BTreeSet::from([name.clone()]);
    if flow.base.is_none() && flow.strides.is_empty() {
        flow.units = vec![flow.index.clone()];
    }
    flow
}

/// No address and no sum any more.
fn flat(flow: Flow) -> Flow {
    Flow {
        base: None,
        strides: BTreeMap::new(),
        units: Vec::new(),
        ..flow
    }
}

fn bind(target: &Expr, flow: Flow, scope: &mut Scope) {
    match &target.kind {
        ExprKind::Name(name) => drop(scope.insert(name.clone(), flow)),
        ExprKind::Tuple(items) | ExprKind::List(items) => {
            for item in items {
                bind(item, flow.clone(), scope);
            }
        }
        _ => {}
    }
}

/// Names that a condition tests as they are: `A`, `not A`, `A and B`.
fn tests(condition: &Expr, names: &mut BTreeSet<Name>) {
    match &condition.kind {
        ExprKind::Name(name) => drop(names.insert(name.clone())),
        ExprKind::Unary(_, of) => tests(of, names),
        ExprKind::Logic(_, items) => items.iter().for_each(|item| tests(item, names)),
        _ => {}
    }
}
