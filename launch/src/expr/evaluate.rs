//! Scalar values of expressions, by Python's rules on 128-bit integers and f64.
//!
//! Integer overflow is an error, never a wrap. Power functions are `libm`'s, so that every machine
//! computes the same. Left out: strings' and tuples' operators, `@`, attributes and subscripts
//! (those of formulas belong to the crate `oracle`), and complex numbers.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use tilescope_diagnostics::{Error, Result, closest};

use super::{BinaryOp, CompareOp, Expression, Node, NodeKind, UnaryOp};

/// A scalar, or what a constexpr may be besides.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A truth value; counts as 0 or 1 in arithmetic.
    Bool(bool),
    /// A string.
    Str(String),
    /// `None`.
    None,
    /// A dotted name such as `tl.float16`, kept as written.
    Symbol(String),
    /// A tuple.
    Tuple(Vec<Value>),
}

impl Value {
    /// The word for its type in messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Bool(_) => "a truth value",
            Value::Str(_) => "a string",
            Value::None => "none",
            Value::Symbol(_) => "a name",
            Value::Tuple(_) => "a tuple",
        }
    }

    /// Python's truth: false are 0, 0.0, false, none, the empty string and the empty tuple.
    pub fn is_true(&self) -> bool {
        match self {
            Value::Int(v) => *v != 0,
            Value::Float(v) => *v != 0.0,
            Value::Bool(v) => *v,
            Value::Str(v) => !v.is_empty(),
            Value::None => false,
            Value::Symbol(_) => true,
            Value::Tuple(v) => !v.is_empty(),
        }
    }

    /// The number as a float; none for what is no number.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(v) => Some(*v),
            _ => self.as_int().map(|v| v as f64),
        }
    }

    /// Integers and truth values as an integer; none for anything else, floats included.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Value::Int(v) => Some(*v),
            Value::Bool(v) => Some(i128::from(*v)),
            _ => None,
        }
    }
}

/// As an expression would spell it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(v) => write!(f, "{v}"),
            Value::Float(v) if v.is_nan() => f.write_str("nan"),
            Value::Float(v) => write!(f, "{v:?}"),
            Value::Bool(v) => write!(f, "{v}"),
            Value::Str(v) => {
                f.write_str("'")?;
                for c in v.chars() {
                    match c {
                        '\\' | '\'' => write!(f, "\\{c}")?,
                        '\n' => f.write_str("\\n")?,
                        '\t' => f.write_str("\\t")?,
                        '\r' => f.write_str("\\r")?,
                        '\0' => f.write_str("\\0")?,
                        c => f.write_char(c)?,
                    }
                }
                f.write_str("'")
            }
            Value::None => f.write_str("none"),
            Value::Symbol(v) => f.write_str(v),
            Value::Tuple(items) => {
                f.write_str("(")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}

/// The functions of scalar expressions.
const FUNCTIONS: [&str; 7] = [
    "min",
    "max",
    "abs",
    "cdiv",
    "next_power_of_2",
    "prev_power_of_2",
    "align",
];

/// Names and their values; also the evaluator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    values: BTreeMap<String, Value>,
    symbols: bool,
}

impl Scope {
    /// An empty scope: only literals, `inf` and `nan` are known.
    pub fn new() -> Scope {
        Scope::default()
    }

    /// The same names, and dotted names of Triton's language (`tl.float16`) as [`Value::Symbol`]s.
    pub fn with_symbols(&self) -> Scope {
        Scope {
            symbols: true,
            ..self.clone()
        }
    }

    /// Gives a name a value, instead of the one it had.
    pub fn insert(&mut self, name: impl Into<String>, value: Value) {
        self.values.insert(name.into(), value);
    }

    /// The value of a name.
    pub fn lookup(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The expression's value.
    ///
    /// # Errors
    ///
    /// Points at the innermost node at fault: an unknown name or function, operands of the wrong
    /// type, integer overflow (128 bits), division by zero, a function's domain.
    pub fn evaluate(&self, expression: &Expression) -> Result<Value> {
        Evaluator {
            scope: self,
            expression,
        }
        .node(&expression.root)
    }
}

struct Evaluator<'a> {
    scope: &'a Scope,
    expression: &'a Expression,
}

/// Why an operation on numbers has no result.
type Arithmetic<T> = Result<T, &'static str>;

const OVERFLOW: &str = "integer overflow";

impl Evaluator<'_> {
    fn error(&self, node: &Node, message: impl Into<String>, label: impl Into<String>) -> Box<Error> {
        self.expression.error(node, message, label)
    }

    // Depth is bounded by the parser.
    fn node(&self, node: &Node) -> Result<Value> {
        Ok(match &node.kind {
            NodeKind::Int(v) => Value::Int(*v),
            NodeKind::Float(v) => Value::Float(*v),
            NodeKind::Str(v) => Value::Str(v.clone()),
            NodeKind::Bool(v) => Value::Bool(*v),
            NodeKind::None => Value::None,
            NodeKind::Name(name) => return self.name(node, name),
            NodeKind::Unary(op, operand) => return self.unary(node, *op, operand),
            NodeKind::Binary(op, a, b) => return self.binary(node, *op, a, b),
            NodeKind::Compare(first, rest) => return self.compare(first, rest),
            NodeKind::And(a, b) => {
                let left = self.node(a)?;
                if left.is_true() { self.node(b)? } else { left }
            }
            NodeKind::Or(a, b) => {
                let left = self.node(a)?;
                if left.is_true() { left } else { self.node(b)? }
            }
            NodeKind::Conditional {
                then,
                condition,
                otherwise,
            } => self.node(if self.node(condition)?.is_true() {
                then
            } else {
                otherwise
            })?,
            NodeKind::Call { .. } => return self.call(node),
            NodeKind::Tuple(items) => {
                Value::Tuple(items.iter().map(|n| self.node(n)).collect::<Result<_>>()?)
            }
            NodeKind::Attribute(..) => return self.symbol(node),
            NodeKind::Subscript(..) => {
                return Err(self.error(
                    node,
                    "subscripts are not known here",
                    "expected a scalar expression",
                ));
            }
        })
    }

    fn name(&self, node: &Node, name: &str) -> Result<Value> {
        if let Some(value) = self.scope.lookup(name) {
            return Ok(value.clone());
        }
        match name {
            "inf" => return Ok(Value::Float(f64::INFINITY)),
            "nan" => return Ok(Value::Float(f64::NAN)),
            _ => {}
        }
        let error = self.error(
            node,
            format!("unknown name `{name}`"),
            "not defined before this place",
        );
        Err(match closest(name, self.scope.names()) {
            Some(known) => error.help(format!("did you mean `{known}`?")),
            None if self.scope.values.is_empty() => error.note("no names are defined before this place"),
            None => error.note(format!(
                "known here: {}",
                self.scope.names().collect::<Vec<_>>().join(", ")
            )),
        })
    }

    fn symbol(&self, node: &Node) -> Result<Value> {
        let text = self
            .expression
            .source
            .text
            .get(node.span.clone())
            .unwrap_or_default();
        let rooted = ["tl.", "triton.", "torch.", "core."]
            .iter()
            .any(|p| text.starts_with(p));
        if self.scope.symbols
            && rooted
            && text
                .bytes()
                .all(|b| b == b'.' || b == b'_' || b.is_ascii_alphanumeric())
        {
            return Ok(Value::Symbol(text.to_string()));
        }
        let label = if self.scope.symbols {
            "known are names like `tl.float16`"
        } else {
            "expected a scalar expression"
        };
        Err(self.error(node, "attributes are not known here", label))
    }

    fn unary(&self, node: &Node, op: UnaryOp, operand: &Node) -> Result<Value> {
        let value = self.node(operand)?;
        match (op, &value, value.as_int()) {
            (UnaryOp::Not, _, _) => Ok(Value::Bool(!value.is_true())),
            (UnaryOp::Neg, _, Some(v)) => match v.checked_neg() {
                Some(v) => Ok(Value::Int(v)),
                None => Err(self.error(node, OVERFLOW, "")),
            },
            (UnaryOp::Pos, _, Some(v)) => Ok(Value::Int(v)),
            (UnaryOp::Invert, _, Some(v)) => Ok(Value::Int(!v)),
            (UnaryOp::Neg, Value::Float(v), _) => Ok(Value::Float(-v)),
            (UnaryOp::Pos, Value::Float(v), _) => Ok(Value::Float(*v)),
            (UnaryOp::Invert, Value::Float(_), _) => {
                Err(self.error(operand, "`~` needs an integer", "a float"))
            }
            _ => Err(self.not_a_number(operand, &value)),
        }
    }

    fn not_a_number(&self, node: &Node, value: &Value) -> Box<Error> {
        self.error(
            node,
            "expected a number",
            format!("this is {}", value.type_name()),
        )
    }

    fn binary(&self, node: &Node, op: BinaryOp, left: &Node, right: &Node) -> Result<Value> {
        let (a, b) = (self.node(left)?, self.node(right)?);
        let result = match (a.as_int(), b.as_int()) {
            (Some(x), Some(y)) => integer_op(op, x, y),
            _ => match (a.as_float(), b.as_float()) {
                (Some(x), Some(y)) => float_op(op, x, y).map(Value::Float),
                (None, _) => return Err(self.not_a_number(left, &a)),
                (_, None) => return Err(self.not_a_number(right, &b)),
            },
        };
        result.map_err(|why| self.error(node, why, format!("{a} {} {b}", op.as_str())))
    }

    fn compare(&self, first: &Node, rest: &[(CompareOp, Node)]) -> Result<Value> {
        let (mut left, mut left_node) = (self.node(first)?, first);
        for (op, right_node) in rest {
            let right = self.node(right_node)?;
            let holds = match compare_values(*op, &left, &right) {
                Some(holds) => holds,
                None if left.as_float().is_none() => return Err(self.not_a_number(left_node, &left)),
                None => return Err(self.not_a_number(right_node, &right)),
            };
            if !holds {
                return Ok(Value::Bool(false));
            }
            (left, left_node) = (right, right_node);
        }
        Ok(Value::Bool(true))
    }

    fn call(&self, node: &Node) -> Result<Value> {
        let NodeKind::Call {
            function,
            args,
            keywords,
        } = &node.kind
        else {
            return Err(self.error(node, "expected a call", ""));
        };
        let NodeKind::Name(name) = &function.kind else {
            let error = self.error(
                function,
                "only functions can be called",
                "expected a function's name",
            );
            return Err(match &function.kind {
                // `triton.cdiv(n, B)`
                NodeKind::Attribute(_, name) if FUNCTIONS.contains(&name.as_str()) => {
                    error.help(format!("write `{name}(…)`"))
                }
                _ => error,
            });
        };
        if !FUNCTIONS.contains(&name.as_str()) {
            let error = self.error(function, format!("unknown function `{name}`"), "");
            return Err(match closest(name, FUNCTIONS) {
                Some(known) => error.help(format!("did you mean `{known}`?")),
                None => error.note(format!("known here: {}", FUNCTIONS.join(", "))),
            });
        }
        if let Some(keyword) = keywords.first() {
            return Err(Error::input(format!("`{name}` has no keyword arguments")).at(
                &self.expression.source,
                keyword.span.clone(),
                "pass it by position",
            ));
        }
        let values = args.iter().map(|n| self.node(n)).collect::<Result<Vec<_>>>()?;
        if name == "min" || name == "max" {
            return self.extremum(node, args, values, name == "max");
        }
        let wanted = if matches!(name.as_str(), "cdiv" | "align") {
            2
        } else {
            1
        };
        if values.len() != wanted {
            let message = format!(
                "`{name}` takes {wanted} argument{}",
                if wanted == 1 { "" } else { "s" }
            );
            return Err(self.error(node, message, format!("{} given", values.len())));
        }
        if let ("abs", Some(Value::Float(v))) = (name.as_str(), values.first()) {
            return Ok(Value::Float(v.abs()));
        }
        let mut integers = [0i128; 2];
        for ((slot, value), arg) in integers.iter_mut().zip(&values).zip(args) {
            *slot = match value.as_int() {
                Some(v) => v,
                None if value.as_float().is_some() => {
                    return Err(self
                        .error(arg, format!("`{name}` needs integers"), "a float")
                        .help("`//` divides integers"));
                }
                None => return Err(self.not_a_number(arg, value)),
            };
        }
        let [x, y] = integers;
        integer_function(name, x, y)
            .map(Value::Int)
            .map_err(|why| self.error(node, format!("{name}: {why}"), ""))
    }

    fn extremum(&self, node: &Node, args: &[Node], values: Vec<Value>, largest: bool) -> Result<Value> {
        // As in Python: one tuple, or several numbers.
        let values = match <[Value; 1]>::try_from(values) {
            Ok([Value::Tuple(items)]) => items,
            Ok([only]) => {
                return Err(self.error(node, "min and max take two or more numbers", only.type_name()));
            }
            Err(values) => values,
        };
        let op = if largest { CompareOp::Gt } else { CompareOp::Lt };
        let mut best: Option<Value> = None;
        for (i, value) in values.into_iter().enumerate() {
            let node = args.get(i).unwrap_or(node);
            if value.as_float().is_none() {
                return Err(self.not_a_number(node, &value));
            }
            if best
                .as_ref()
                .is_none_or(|b| compare_values(op, &value, b) == Some(true))
            {
                best = Some(value);
            }
        }
        best.ok_or_else(|| self.error(node, "min and max of nothing", ""))
    }
}

/// None where the values have no order; equality is known for all.
fn compare_values(op: CompareOp, a: &Value, b: &Value) -> Option<bool> {
    let order = match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) => Some(x.cmp(&y)),
        _ => match (a.as_float(), b.as_float()) {
            (Some(x), Some(y)) => match x.partial_cmp(&y) {
                Some(order) => Some(order),
                None => return Some(op == CompareOp::Ne),
            },
            _ => None,
        },
    };
    match (op, order) {
        (CompareOp::Eq, Some(o)) => Some(o.is_eq()),
        (CompareOp::Ne, Some(o)) => Some(o.is_ne()),
        (CompareOp::Eq, None) => Some(a == b),
        (CompareOp::Ne, None) => Some(a != b),
        (CompareOp::Lt, o) => o.map(|o| o.is_lt()),
        (CompareOp::Le, o) => o.map(|o| o.is_le()),
        (CompareOp::Gt, o) => o.map(|o| o.is_gt()),
        (CompareOp::Ge, o) => o.map(|o| o.is_ge()),
    }
}

fn integer_op(op: BinaryOp, x: i128, y: i128) -> Arithmetic<Value> {
    let divisor = || if y == 0 { Err("division by zero") } else { Ok(y) };
    let shift = || match u32::try_from(y) {
        Ok(n) if n < 127 => Ok(n),
        _ => Err("shift amount outside 0 to 126"),
    };
    let result = match op {
        BinaryOp::Add => x.checked_add(y),
        BinaryOp::Sub => x.checked_sub(y),
        BinaryOp::Mul => x.checked_mul(y),
        BinaryOp::Div => return Ok(Value::Float(x as f64 / divisor()? as f64)),
        BinaryOp::FloorDiv => floor_div(x, divisor()?),
        // `rem_euclid` and friends differ for negative divisors: Python's result has the divisor's sign.
        BinaryOp::Mod => divisor()?.checked_abs().and_then(|_| {
            let r = x.checked_rem(y)?;
            Some(if r != 0 && (r < 0) != (y < 0) { r + y } else { r })
        }),
        BinaryOp::Pow => return integer_pow(x, y),
        BinaryOp::BitAnd => Some(x & y),
        BinaryOp::BitOr => Some(x | y),
        BinaryOp::BitXor => Some(x ^ y),
        BinaryOp::Shl => x.checked_mul(1i128 << shift()?),
        BinaryOp::Shr => Some(x >> shift()?),
        BinaryOp::MatMul => return Err("`@` is not known here"),
    };
    result.map(Value::Int).ok_or(OVERFLOW)
}

fn floor_div(x: i128, y: i128) -> Option<i128> {
    let quotient = x.checked_div(y)?;
    Some(if x % y != 0 && (x < 0) != (y < 0) {
        quotient - 1
    } else {
        quotient
    })
}

fn integer_pow(x: i128, y: i128) -> Arithmetic<Value> {
    if y < 0 {
        return float_op(BinaryOp::Pow, x as f64, y as f64).map(Value::Float);
    }
    let value = match (x, u32::try_from(y)) {
        (0 | 1, _) => Some(if y == 0 { 1 } else { x }),
        (-1, _) => Some(if y % 2 == 0 { 1 } else { -1 }),
        (_, Ok(y)) => x.checked_pow(y),
        (_, Err(_)) => None,
    };
    value.map(Value::Int).ok_or(OVERFLOW)
}

fn float_op(op: BinaryOp, x: f64, y: f64) -> Arithmetic<f64> {
    let divisor = || if y == 0.0 { Err("division by zero") } else { Ok(y) };
    Ok(match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / divisor()?,
        BinaryOp::FloorDiv => ((x - float_mod(x, divisor()?)) / y).round(),
        BinaryOp::Mod => float_mod(x, divisor()?),
        BinaryOp::Pow if x == 0.0 && y < 0.0 => return Err("division by zero"),
        BinaryOp::Pow if x < 0.0 && x.is_finite() && y.is_finite() && y.fract() != 0.0 => {
            return Err("a negative number to a fractional power is complex");
        }
        BinaryOp::Pow => libm::pow(x, y),
        BinaryOp::MatMul => return Err("`@` is not known here"),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::Shl | BinaryOp::Shr => {
            return Err("bitwise operators need integers");
        }
    })
}

/// The remainder with the divisor's sign; `y` is not zero.
fn float_mod(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r == 0.0 {
        0f64.copysign(y)
    } else if (r < 0.0) != (y < 0.0) {
        r + y
    } else {
        r
    }
}

fn integer_function(name: &str, x: i128, y: i128) -> Arithmetic<i128> {
    match name {
        "abs" => x.checked_abs().ok_or(OVERFLOW),
        "cdiv" if y <= 0 => Err("the divisor must be positive"),
        "cdiv" => Ok(x.div_euclid(y) + i128::from(x.rem_euclid(y) != 0)),
        "align" if y <= 0 => Err("the multiple must be positive"),
        "align" => (x.div_euclid(y) + i128::from(x.rem_euclid(y) != 0))
            .checked_mul(y)
            .ok_or(OVERFLOW),
        // Triton's own gives 0 for 0.
        "next_power_of_2" if x < 0 => Err("the argument must not be negative"),
        "next_power_of_2" if x == 0 => Ok(0),
        "next_power_of_2" if x > 1 << 126 => Err(OVERFLOW),
        "next_power_of_2" => u128::try_from(x)
            .map(|x| x.next_power_of_two() as i128)
            .map_err(|_| OVERFLOW),
        "prev_power_of_2" if x <= 0 => Err("the argument must be positive"),
        "prev_power_of_2" => Ok(1 << x.ilog2()),
        _ => Err("unknown function"),
    }
}
