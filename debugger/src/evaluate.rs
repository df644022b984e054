//! Expressions over the values of a program: `print` and conditions.
//!
//! Numbers are exact integers and doubles; tiles are row-major and broadcast as in Python. Names are the author's
//! variables at this place, then values' names in the kernel's text.

use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Value, closest};
use tilescope_interpreter::stepping::Values;
use tilescope_launch::expr::{BinaryOp, CompareOp, Expression, Index, Node, NodeKind, UnaryOp};

use crate::code::Code;
use crate::session::Session;
use crate::values::{Lane, LaneState, TileWindow, ValueKey, Window, as_f64, number};

/// Most lanes of an intermediate tile.
const MAX_LANES: usize = 1 << 22;

/// A program at a place.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    pub code: &'a Code,
    pub values: Values<'a>,
    pub position: u32,
    /// The level of calls that is seen; beyond the last one, that of the operation.
    pub level: u32,
}

/// A number or a tile of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Shape; empty for a number.
    pub shape: Vec<usize>,
    /// Row-major.
    pub lanes: Vec<Lane>,
    /// Element type, where the array is a variable or a part of one.
    pub dtype: Option<String>,
}

impl Array {
    fn scalar(value: Value) -> Array {
        Array {
            shape: Vec::new(),
            lanes: vec![fine(value)],
            dtype: None,
        }
    }
}

fn fine(value: Value) -> Lane {
    Lane {
        value,
        state: LaneState::Fine,
    }
}

impl Scene<'_> {
    /// The value that a name means here: assigned last, in the calls around this place.
    pub fn lookup(&self, name: &str) -> Option<ValueKey> {
        let here = self.code.stack(self.position).map_or(&[][..], |stack| stack);
        let callers = &here[..here.len().saturating_sub(1).min(self.level as usize)];
        let passed = self
            .code
            .passed(self.position, self.level.min(self.code.depth(self.position)));
        let passed: Vec<ValueKey> = passed
            .into_iter()
            .filter(|(parameter, _)| **parameter == *name)
            .map(|(_, key)| key)
            .collect();
        let rank = |key: ValueKey| {
            let placed = self.code.placed(key)?;
            let slot = *placed.slots.first()?;
            let written = self.values.written(slot);
            // A parameter has its value from the start; an operation that only renames has it when it is passed.
            let is_there = written > 0 && placed.position <= self.values.reached();
            if !is_there && !self.code.is_preset(slot) {
                return None;
            }
            let stack = &self.code.named(key)?.stack;
            let outer = &stack[..stack.len().saturating_sub(1)];
            let closeness = match outer {
                _ if passed.contains(&key) => u32::MAX,
                _ if outer == callers => u32::MAX,
                _ if callers.starts_with(outer) => outer.len() as u32 + 1,
                _ => 0,
            };
            Some((closeness, written, key.0))
        };
        let ranked = self
            .code
            .values_named(name)
            .chain(passed.iter().copied())
            .filter_map(|key| Some((rank(key)?, key)));
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, key)| key)
    }

    /// One lane of a value.
    pub fn lane(&self, key: ValueKey, lane: usize) -> Option<Lane> {
        let (slot, kind, lanes) = self.code.slot(key)?;
        let bits = self.values.lane(slot, kind, lanes, lane);
        Some(Lane {
            value: number(bits, kind),
            state: self.state(key, lane),
        })
    }

    /// The state of one lane: undefined, or masked off by the load that made it.
    pub fn state(&self, key: ValueKey, lane: usize) -> LaneState {
        let Some((slot, ..)) = self.code.slot(key) else {
            return LaneState::Fine;
        };
        // A lane that a load left out without `other` is both; that it was left out says why.
        let is_off = |mask| {
            self.lane(mask, lane)
                .is_some_and(|m| m.value == Value::Bool(false))
        };
        match self.code.mask_of(key) {
            Some(mask) if is_off(mask) => LaneState::Masked,
            _ if self.values.is_undefined(slot, lane) => LaneState::Undefined,
            _ => LaneState::Fine,
        }
    }

    /// All lanes of a value.
    fn array(&self, key: ValueKey) -> Option<Array> {
        let ty = self.code.ty(key)?;
        let (_, _, lanes) = self.code.slot(key)?;
        let shape = ty.shape().map_or(Vec::new(), |shape| shape.dims().collect());
        let lanes = (0..lanes).filter_map(|lane| self.lane(key, lane)).collect();
        Some(Array {
            shape,
            lanes,
            dtype: ty.elem().map(crate::inspect::dtype),
        })
    }
}

/// Whether a condition holds.
///
/// # Errors
/// It cannot be evaluated here.
pub fn is_true(scene: &Scene<'_>, condition: &Expression) -> Result<bool> {
    let array = evaluate(scene, condition)?;
    Ok(array.lanes.iter().all(|lane| truth(lane.value)) && !array.lanes.is_empty())
}

/// What expressions can call.
const FUNCTIONS: &[&str] = &["any", "all", "isnan", "isinf", "min", "max", "sum", "abs", "mean"];

/// The error at the name of a function that there is not.
fn unknown_function(expression: &Expression, at: &Node, name: &str) -> Box<Error> {
    let error = expression.error(at, format!("there is no function `{name}`"), "");
    match closest(name, FUNCTIONS.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.note(format!("there are {}", FUNCTIONS.join(", "))),
    }
}

/// The value of an expression.
///
/// # Errors
/// Unknown names, shapes that do not fit, indices out of range: with their place.
pub fn evaluate(scene: &Scene<'_>, expression: &Expression) -> Result<Array> {
    Evaluator { scene, expression }.node(&expression.root)
}

fn truth(value: Value) -> bool {
    match value {
        Value::Bool(b) => b,
        Value::Int(i) => i != 0,
        Value::Float(f) => f != 0.0,
    }
}

struct Evaluator<'a> {
    scene: &'a Scene<'a>,
    expression: &'a Expression,
}

impl Evaluator<'_> {
    fn error(&self, node: &Node, message: impl Into<String>) -> Box<Error> {
        self.expression.error(node, message, "")
    }

    fn node(&self, node: &Node) -> Result<Array> {
        Ok(match &node.kind {
            NodeKind::Int(value) => Array::scalar(Value::Int(*value)),
            NodeKind::Float(value) => Array::scalar(Value::Float(*value)),
            NodeKind::Bool(value) => Array::scalar(Value::Bool(*value)),
            NodeKind::Name(name) => self.name(node, name)?,
            NodeKind::Unary(op, inner) => {
                let inner = self.node(inner)?;
                self.unary(*op, inner)
            }
            NodeKind::Binary(op, a, b) => {
                let (x, y) = (self.node(a)?, self.node(b)?);
                if *op == BinaryOp::MatMul {
                    return Err(self.error(node, "`@` is not computed here"));
                }
                self.map2(node, &x, &y, |x, y| binary(*op, x, y))?
            }
            NodeKind::Compare(first, rest) => {
                let mut left = self.node(first)?;
                let mut all: Option<Array> = None;
                for (op, right) in rest {
                    let right = self.node(right)?;
                    let pair =
                        self.map2(node, &left, &right, |x, y| Some(Value::Bool(compare(*op, x, y))))?;
                    all = Some(match all {
                        None => pair,
                        Some(all) => {
                            self.map2(node, &all, &pair, |x, y| Some(Value::Bool(truth(x) && truth(y))))?
                        }
                    });
                    left = right;
                }
                all.unwrap_or(left)
            }
            NodeKind::And(a, b) => {
                let a_value = self.node(a)?;
                if !self.one_truth(a, &a_value)? {
                    a_value
                } else {
                    self.node(b)?
                }
            }
            NodeKind::Or(a, b) => {
                let a_value = self.node(a)?;
                if self.one_truth(a, &a_value)? {
                    a_value
                } else {
                    self.node(b)?
                }
            }
            NodeKind::Conditional {
                then,
                condition,
                otherwise,
            } => {
                let holds = self.node(condition)?;
                self.node(if self.one_truth(condition, &holds)? {
                    then
                } else {
                    otherwise
                })?
            }
            NodeKind::Call {
                function,
                args,
                keywords,
            } => self.call(node, function, args, keywords)?,
            NodeKind::Subscript(value, indices) => {
                let value = self.node(value)?;
                self.subscript(node, value, indices)?
            }
            NodeKind::Attribute(value, name) if name == "T" => {
                let value = self.node(value)?;
                transposed(value)
            }
            NodeKind::Attribute(_, name) => return Err(self.error(node, format!("values have no `.{name}`"))),
            NodeKind::Str(_) | NodeKind::None | NodeKind::Tuple(_) => {
                return Err(self.error(node, "this is no number"));
            }
        })
    }

    fn name(&self, node: &Node, name: &str) -> Result<Array> {
        let Some(key) = self.scene.lookup(name) else {
            if self.scene.code.values_named(name).next().is_some() {
                return Err(self.error(node, format!("`{name}` has not been assigned yet")));
            }
            if self.scene.code.is_parameter_of_helper(name) {
                return Err(self.error(
                    node,
                    format!("`{name}` is a parameter of a helper that is not running"),
                ));
            }
            let known = self.scene.code.names().map(|name| &**name);
            let error = self.error(node, format!("there is no variable `{name}`"));
            return Err(match closest(name, known) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help("`locals` lists the variables"),
            });
        };
        match self.scene.array(key) {
            Some(array) => Ok(array),
            None => Err(self.error(
                node,
                format!("`{name}` is a descriptor or block pointer: it has no lanes"),
            )),
        }
    }

    fn unary(&self, op: UnaryOp, mut array: Array) -> Array {
        for lane in &mut array.lanes {
            lane.value = match (op, lane.value) {
                (UnaryOp::Neg, Value::Int(i)) => Value::Int(i.saturating_neg()),
                (UnaryOp::Neg, Value::Float(f)) => Value::Float(-f),
                (UnaryOp::Neg, Value::Bool(b)) => Value::Int(-i128::from(b)),
                (UnaryOp::Pos, value) => value,
                (UnaryOp::Invert, Value::Bool(b)) => Value::Bool(!b),
                (UnaryOp::Invert, Value::Int(i)) => Value::Int(!i),
                (UnaryOp::Invert, Value::Float(_)) => Value::Float(f64::NAN),
                (UnaryOp::Not, value) => Value::Bool(!truth(value)),
            };
        }
        if op == UnaryOp::Not {
            array.dtype = None;
        }
        array
    }

    fn one_truth(&self, node: &Node, array: &Array) -> Result<bool> {
        match &array.lanes[..] {
            [lane] => Ok(truth(lane.value)),
            _ => Err(self
                .error(node, "a tile is neither true nor false")
                .help("write any(…) or all(…)")),
        }
    }

    fn map2(
        &self,
        node: &Node,
        a: &Array,
        b: &Array,
        f: impl Fn(Value, Value) -> Option<Value>,
    ) -> Result<Array> {
        let rank = a.shape.len().max(b.shape.len());
        let padded = |array: &Array| {
            let mut shape = vec![1; rank - array.shape.len()];
            shape.extend(&array.shape);
            shape
        };
        let (x, y) = (padded(a), padded(b));
        let mut shape = Vec::with_capacity(rank);
        for (&m, &n) in x.iter().zip(&y) {
            if m != n && m != 1 && n != 1 {
                let message = format!("shapes {:?} and {:?} do not fit", a.shape, b.shape);
                return Err(self.error(node, message));
            }
            shape.push(m.max(n));
        }
        let total: usize = shape.iter().product();
        if total > MAX_LANES {
            return Err(self.error(
                node,
                format!("a tile of {total} lanes is too large to compute here"),
            ));
        }
        let mut lanes = Vec::with_capacity(total);
        for lane in 0..total {
            let (i, j) = (position(lane, &shape, &x), position(lane, &shape, &y));
            let (p, q) = (a.lanes[i], b.lanes[j]);
            let Some(value) = f(p.value, q.value) else {
                return Err(self.error(node, "an integer is divided by zero, or too large"));
            };
            let state = if p.state == LaneState::Fine {
                q.state
            } else {
                p.state
            };
            lanes.push(Lane { value, state });
        }
        Ok(Array {
            shape,
            lanes,
            dtype: None,
        })
    }

    fn call(
        &self,
        node: &Node,
        function: &Node,
        args: &[Node],
        keywords: &[tilescope_launch::expr::Keyword],
    ) -> Result<Array> {
        let NodeKind::Name(name) = &function.kind else {
            return Err(self.error(function, "only functions can be called"));
        };
        if !FUNCTIONS.contains(&name.as_str()) {
            return Err(unknown_function(self.expression, function, name));
        }
        let mut axis = None;
        let mut args = args;
        if let Some(keyword) = keywords.first() {
            if keyword.name != "axis" || keywords.len() > 1 {
                return Err(self.error(node, format!("`{name}` takes no argument but `axis`")));
            }
            axis = Some(self.integer(&keyword.value)?);
        } else if let [first, second] = args {
            axis = Some(self.integer(second)?);
            args = std::slice::from_ref(first);
        }
        let [argument] = args else {
            return Err(self.error(node, format!("`{name}` takes one value")));
        };
        let value = self.node(argument)?;
        let each = |f: &dyn Fn(Value) -> Value| Array {
            lanes: value
                .lanes
                .iter()
                .map(|lane| Lane {
                    value: f(lane.value),
                    ..*lane
                })
                .collect(),
            shape: value.shape.clone(),
            dtype: None,
        };
        Ok(match name.as_str() {
            "isnan" => each(&|v| Value::Bool(as_f64(v).is_nan())),
            "isinf" => each(&|v| Value::Bool(as_f64(v).is_infinite())),
            "abs" => each(&|v| match v {
                Value::Int(i) => Value::Int(i.saturating_abs()),
                Value::Float(f) => Value::Float(f.abs()),
                Value::Bool(b) => Value::Int(i128::from(b)),
            }),
            _ => match axis {
                None => Array::scalar(fold(name, value.lanes.iter().map(|lane| lane.value))),
                Some(axis) => self.along(node, name, &value, axis)?,
            },
        })
    }

    fn along(&self, node: &Node, name: &str, value: &Array, axis: i64) -> Result<Array> {
        let rank = value.shape.len() as i64;
        let axis = if axis < 0 { axis + rank } else { axis };
        if !(0..rank).contains(&axis) {
            return Err(self.error(node, format!("there is no axis {axis}: the value has {rank}")));
        }
        let axis = axis as usize;
        let inner: usize = value.shape[axis + 1..].iter().product();
        let size = value.shape[axis];
        let outer: usize = value.shape[..axis].iter().product();
        let mut lanes = Vec::with_capacity(outer * inner);
        for o in 0..outer {
            for i in 0..inner {
                let along = (0..size).map(|k| value.lanes[(o * size + k) * inner + i].value);
                lanes.push(fine(fold(name, along)));
            }
        }
        let mut shape = value.shape.clone();
        shape.remove(axis);
        Ok(Array {
            shape,
            lanes,
            dtype: None,
        })
    }

    fn integer(&self, node: &Node) -> Result<i64> {
        let value = self.node(node)?;
        match &value.lanes[..] {
            [
                Lane {
                    value: Value::Int(i), ..
                },
            ] => i64::try_from(*i).map_err(|_| self.error(node, "this integer is too large")),
            _ => Err(self.error(node, "an integer is needed here")),
        }
    }

    fn subscript(&self, node: &Node, value: Array, indices: &[Index]) -> Result<Array> {
        let given = indices
            .iter()
            .filter(|index| !matches!(index, Index::Ellipsis(_)))
            .count();
        if given > value.shape.len() {
            let rank = value.shape.len();
            return Err(self.error(node, format!("too many indices: the value has {rank} dimensions")));
        }
        // Per dimension: first, count, step, and whether it stays.
        let mut picks: Vec<(usize, usize, i64, bool)> = Vec::new();
        for index in indices {
            let size = value.shape.get(picks.len()).copied().unwrap_or(1);
            match index {
                Index::Ellipsis(_) => {
                    let rest = value.shape.len() - given;
                    for _ in 0..rest {
                        let size = value.shape[picks.len()];
                        picks.push((0, size, 1, true));
                    }
                }
                Index::Item(item) => {
                    let at = self.integer(item)?;
                    let from_start = if at < 0 { at + size as i64 } else { at };
                    if from_start < 0 || from_start >= size as i64 {
                        let axis = picks.len();
                        let message = format!("index {at} is out of range: dimension {axis} has {size}");
                        return Err(self.error(item, message));
                    }
                    picks.push((from_start as usize, 1, 1, false));
                }
                Index::Slice {
                    start, stop, step, ..
                } => {
                    let step = step.as_ref().map_or(Ok(1), |step| self.integer(step))?;
                    if step < 1 {
                        return Err(self.error(node, "the step of a range must be positive"));
                    }
                    let bound = |node: &Option<Node>, default: usize| -> Result<usize> {
                        let Some(node) = node else { return Ok(default) };
                        let at = self.integer(node)?;
                        let at = if at < 0 { at + size as i64 } else { at };
                        Ok(at.clamp(0, size as i64) as usize)
                    };
                    let (first, end) = (bound(start, 0)?, bound(stop, size)?);
                    let count = end.saturating_sub(first).div_ceil(step as usize);
                    picks.push((first, count, step, true));
                }
            }
        }
        while picks.len() < value.shape.len() {
            picks.push((0, value.shape[picks.len()], 1, true));
        }
        let counts: Vec<usize> = picks.iter().map(|pick| pick.1).collect();
        let total: usize = counts.iter().product();
        let mut lanes = Vec::with_capacity(total);
        for lane in 0..total {
            let (mut rest, mut at, mut stride) = (lane, 0, 1);
            for (axis, &(first, count, step, _)) in picks.iter().enumerate().rev() {
                at += (first + rest % count * step as usize) * stride;
                rest /= count;
                stride *= value.shape[axis];
            }
            lanes.push(value.lanes[at]);
        }
        let shape = picks.iter().filter(|pick| pick.3).map(|pick| pick.1).collect();
        Ok(Array {
            shape,
            lanes,
            dtype: value.dtype,
        })
    }
}

fn transposed(value: Array) -> Array {
    let &[rows, columns] = &value.shape[..] else {
        return value;
    };
    let lanes = (0..rows * columns)
        .map(|i| value.lanes[i % rows * columns + i / rows])
        .collect();
    Array {
        shape: vec![columns, rows],
        lanes,
        dtype: value.dtype,
    }
}

/// Where a lane of the broadcast shape is in an array of shape `own`, padded to the same rank.
fn position(lane: usize, shape: &[usize], own: &[usize]) -> usize {
    let (mut rest, mut at, mut stride) = (lane, 0, 1);
    for (&size, &mine) in shape.iter().zip(own).rev() {
        let index = rest % size;
        rest /= size;
        if mine > 1 {
            at += index * stride;
        }
        stride *= mine;
    }
    at
}

fn fold(name: &str, values: impl Iterator<Item = Value>) -> Value {
    let values: Vec<Value> = values.collect();
    let ints = values.iter().all(|v| !matches!(v, Value::Float(_)));
    let floats = || values.iter().map(|&v| as_f64(v));
    let int = |v: &Value| match *v {
        Value::Int(i) => i,
        Value::Bool(b) => i128::from(b),
        Value::Float(f) => f as i128,
    };
    match name {
        "any" => Value::Bool(values.iter().any(|&v| truth(v))),
        "all" => Value::Bool(values.iter().all(|&v| truth(v))),
        "sum" if ints => Value::Int(values.iter().map(int).fold(0, i128::saturating_add)),
        "sum" => Value::Float(floats().sum()),
        "mean" => Value::Float(floats().sum::<f64>() / values.len() as f64),
        "min" if ints => values
            .iter()
            .map(int)
            .min()
            .map_or(Value::Float(f64::NAN), Value::Int),
        "max" if ints => values
            .iter()
            .map(int)
            .max()
            .map_or(Value::Float(f64::NAN), Value::Int),
        // A NaN is the result, wherever it stands.
        "min" => Value::Float(floats().fold(f64::INFINITY, |a, b| {
            if a.is_nan() || b < a || b.is_nan() {
                if a.is_nan() { a } else { b }
            } else {
                a
            }
        })),
        _ => Value::Float(floats().fold(f64::NEG_INFINITY, |a, b| {
            if a.is_nan() {
                a
            } else if b.is_nan() || b > a {
                b
            } else {
                a
            }
        })),
    }
}

fn compare(op: CompareOp, a: Value, b: Value) -> bool {
    let exact = |v: Value| match v {
        Value::Int(i) => Some(i),
        Value::Bool(b) => Some(i128::from(b)),
        Value::Float(_) => None,
    };
    let order = match (exact(a), exact(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => as_f64(a).partial_cmp(&as_f64(b)),
    };
    match op {
        CompareOp::Eq => order.is_some_and(|o| o.is_eq()),
        CompareOp::Ne => !order.is_some_and(|o| o.is_eq()),
        CompareOp::Lt => order.is_some_and(|o| o.is_lt()),
        CompareOp::Le => order.is_some_and(|o| o.is_le()),
        CompareOp::Gt => order.is_some_and(|o| o.is_gt()),
        CompareOp::Ge => order.is_some_and(|o| o.is_ge()),
    }
}

/// Python's arithmetic; none for an integer division by zero or an integer that is too large.
fn binary(op: BinaryOp, a: Value, b: Value) -> Option<Value> {
    if let (Value::Bool(x), Value::Bool(y)) = (a, b) {
        match op {
            BinaryOp::BitAnd => return Some(Value::Bool(x && y)),
            BinaryOp::BitOr => return Some(Value::Bool(x || y)),
            BinaryOp::BitXor => return Some(Value::Bool(x != y)),
            _ => {}
        }
    }
    let int = |v: Value| match v {
        Value::Int(i) => Some(i),
        Value::Bool(b) => Some(i128::from(b)),
        Value::Float(_) => None,
    };
    if let (Some(x), Some(y)) = (int(a), int(b)) {
        return Some(Value::Int(match op {
            BinaryOp::Add => x.checked_add(y)?,
            BinaryOp::Sub => x.checked_sub(y)?,
            BinaryOp::Mul => x.checked_mul(y)?,
            BinaryOp::Div => return (y != 0).then(|| Value::Float(x as f64 / y as f64)),
            BinaryOp::FloorDiv => {
                let quotient = x.checked_div(y)?;
                quotient - i128::from(x % y != 0 && (x < 0) != (y < 0))
            }
            BinaryOp::Mod => {
                let rest = x.checked_rem(y)?;
                if rest != 0 && (rest < 0) != (y < 0) {
                    rest + y
                } else {
                    rest
                }
            }
            BinaryOp::Pow => match u32::try_from(y) {
                Ok(y) => x.checked_pow(y)?,
                Err(_) => return Some(Value::Float((x as f64).powf(y as f64))),
            },
            BinaryOp::BitAnd => x & y,
            BinaryOp::BitOr => x | y,
            BinaryOp::BitXor => x ^ y,
            BinaryOp::Shl => x.checked_mul(1i128.checked_shl(u32::try_from(y).ok()?)?)?,
            BinaryOp::Shr => x.checked_shr(u32::try_from(y).ok()?)?,
            BinaryOp::MatMul => return None,
        }));
    }
    let (x, y) = (as_f64(a), as_f64(b));
    Some(Value::Float(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::FloorDiv => (x / y).floor(),
        BinaryOp::Mod => x - (x / y).floor() * y,
        BinaryOp::Pow => x.powf(y),
        _ => return None,
    }))
}

impl Session {
    /// Where expressions are evaluated now.
    pub(crate) fn scene(&self) -> Option<Scene<'_>> {
        let program = self.program()?;
        Some(Scene {
            code: &self.code,
            values: program.values(),
            // At the end, names mean what they meant at the last instruction.
            position: if program.ended {
                program.last.unwrap_or(0)
            } else {
                program.position
            },
            level: if program.ended { u32::MAX } else { self.level() },
        })
    }

    /// Why there is no scene: the program was run as a whole, and kept nothing.
    pub(crate) fn no_scene(&self) -> Box<Error> {
        match self.state.done.contains(self.state.current) {
            true => Error::input("the program has ended, and its values are gone")
                .help("`rstep` and `rstepi` go back into it"),
            false => Error::input("there is no program to look at"),
        }
    }

    /// The error for a name that no variable has.
    pub(crate) fn unknown_name(&self, name: &str) -> Box<Error> {
        if self.code.is_parameter_of_helper(name) {
            return Error::input(format!("`{name}` is a parameter of a helper")).help(
                "it means something only inside of the helper; `watch` takes the variable that is passed",
            );
        }
        let names = self.code.names().map(|name| &**name);
        let error = Error::input(format!("there is no variable `{name}`"));
        match closest(name, names) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("`locals` lists the variables"),
        }
    }

    /// Refuses an expression with names that no variable has.
    pub(crate) fn check_names(&self, expression: &Expression) -> Result<()> {
        let unknown = |(_, name): &(&Node, &str)| !FUNCTIONS.contains(name);
        if let Some((at, name)) = expression.functions().into_iter().find(unknown) {
            return Err(unknown_function(expression, at, name));
        }
        for name in expression.names() {
            if !self.code.knows(name) {
                let known: Vec<&Arc<str>> = self.code.names().collect();
                let error = Error::input(format!("there is no variable `{name}`"));
                let start = expression.source.text[expression.root.span.clone()]
                    .find(name)
                    .unwrap_or(0);
                let at = expression.root.span.start + start;
                let error = error.at(&expression.source, at..at + name.len(), "");
                return Err(match closest(name, known.iter().map(|name| &***name)) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
        Ok(())
    }

    pub(crate) fn print(&self, expression: &Expression) -> Result<crate::reply::Reply> {
        let scene = self.scene().ok_or_else(|| self.no_scene())?;
        let array = evaluate(&scene, expression)?;
        let window = whole(&array.shape);
        let dtype = array.dtype.unwrap_or_else(|| {
            String::from(match array.lanes.first().map(|lane| lane.value) {
                Some(Value::Bool(_)) => "bool",
                Some(Value::Float(_)) => "float",
                _ => "int",
            })
        });
        Ok(crate::reply::Reply::Value {
            text: expression.text().to_string(),
            window: TileWindow {
                dtype,
                window,
                lanes: array.lanes,
                shape: array.shape,
            },
        })
    }
}

/// All of a tile: outer dimensions are rows too.
fn whole(shape: &[usize]) -> Window {
    let dims: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    let mut window = Window::last_axes(dims.len(), u64::MAX, u64::MAX).cut(&dims);
    let columns = dims.last().copied().unwrap_or(1);
    let total: u64 = dims.iter().product();
    window.rows = (0, total.checked_div(columns).unwrap_or(0));
    window
}
