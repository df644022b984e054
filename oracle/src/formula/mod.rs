//! Formulas: an expected output in one line, evaluated by NumPy's rules.
//!
//! Floats are float64 (narrower inputs are widened exactly). Integers, inputs and literals, are exact
//! up to 128 bits and never wrap; `cast(x, "i32")` wraps. Integers meet floats in float64, where they
//! are exact up to 2^53. Truth values are a kind of their own, as in NumPy.
//!
//! Beyond NumPy: chained comparisons of arrays are element-wise `and`, `softmax` takes the last axis
//! unless told otherwise, and `cast` rounds to a dtype but keeps computing in float64. Left out: see
//! [`index`] for subscripts; attributes other than `.T` and `.shape`; functions beyond the table in
//! [`functions`].
//!
//! Bounds: the expression's depth is the parser's, array sizes and matrix products are those of
//! [`Limits`].

mod elementwise;
mod functions;
mod index;
mod matmul;
mod reduce;
mod shape;
#[cfg(test)]
mod tests;
mod value;

pub use value::Limits;

use std::collections::BTreeMap;
use std::ops::Range;

use tilescope_diagnostics::{Error, Result, closest};
use tilescope_launch::expr::{BinaryOp, CompareOp, Expression, Index, Keyword, Node, NodeKind};

use crate::{Inputs, Numbers};
use functions::{Arguments, FUNCTIONS, Function};
use value::{Fault, Value};

/// The value of a formula; `inputs` gives the values of names.
///
/// `inf`, `nan` and `pi` are known unless an input has that name.
///
/// # Errors
/// Points at the node at fault and says why: unknown names and functions, operands of the wrong
/// kind, shapes that do not broadcast, integer overflow, arrays beyond the limits.
pub fn evaluate(formula: &Expression, inputs: &dyn Inputs, limits: Limits) -> Result<Numbers> {
    let mut evaluator = Evaluator {
        formula,
        inputs,
        limits,
        names: BTreeMap::new(),
    };
    let value = evaluator.node(&formula.root)?;
    let description = value.describe();
    match value.into_numbers() {
        Some(numbers) => Ok(numbers),
        None => Err(formula.error(
            &formula.root,
            "a formula gives an array or a number",
            format!("this is {description}"),
        )),
    }
}

struct Evaluator<'a> {
    formula: &'a Expression,
    inputs: &'a dyn Inputs,
    limits: Limits,
    /// Inputs read so far: each is asked for once.
    names: BTreeMap<String, Value>,
}

impl Evaluator<'_> {
    fn error(&self, span: &Range<usize>, fault: Fault) -> Box<Error> {
        let error = Error::input(fault.message).at(&self.formula.source, span.clone(), "");
        match fault.help {
            Some(help) => error.help(help),
            None => error,
        }
    }

    /// An error of an operator, with what its operands are.
    fn operand_error(&self, node: &Node, operands: &[(&Node, &Value)], fault: Fault) -> Box<Error> {
        operands
            .iter()
            .fold(self.error(&node.span, fault), |error, (operand, value)| {
                error.at(&self.formula.source, operand.span.clone(), value.describe())
            })
    }

    fn node(&mut self, node: &Node) -> Result<Value> {
        match &node.kind {
            NodeKind::Int(v) => Ok(Value::from(*v)),
            NodeKind::Float(v) => Ok(Value::from(*v)),
            NodeKind::Bool(v) => Ok(Value::from(*v)),
            NodeKind::Str(v) => Ok(Value::Text(v.clone())),
            NodeKind::None => Ok(Value::None),
            NodeKind::Name(name) => self.name(node, name),
            NodeKind::Tuple(items) => {
                let items: Result<Vec<Value>> = items.iter().map(|item| self.node(item)).collect();
                Ok(Value::Tuple(items?))
            }
            NodeKind::Unary(op, operand) => {
                let value = self.node(operand)?;
                elementwise::unary(*op, &value).map_err(|f| self.error(&node.span, f))
            }
            NodeKind::Binary(op, left, right) => {
                let (a, b) = (self.node(left)?, self.node(right)?);
                let result = match op {
                    BinaryOp::MatMul => matmul::matmul(&a, &b, self.limits),
                    _ => elementwise::binary(*op, &a, &b, self.limits),
                };
                result.map_err(|f| self.operand_error(node, &[(left, &a), (right, &b)], f))
            }
            NodeKind::Compare(first, rest) => self.comparison(node, first, rest),
            NodeKind::And(left, right) => {
                let a = self.node(left)?;
                if self.truth(left, &a)? {
                    self.node(right)
                } else {
                    Ok(a)
                }
            }
            NodeKind::Or(left, right) => {
                let a = self.node(left)?;
                if self.truth(left, &a)? {
                    Ok(a)
                } else {
                    self.node(right)
                }
            }
            NodeKind::Conditional {
                then,
                condition,
                otherwise,
            } => {
                let chosen = self.node(condition)?;
                if self.truth(condition, &chosen)? {
                    self.node(then)
                } else {
                    self.node(otherwise)
                }
            }
            NodeKind::Attribute(value, name) => self.attribute(node, value, name),
            NodeKind::Subscript(value, indices) => self.subscript(node, value, indices),
            NodeKind::Call {
                function,
                args,
                keywords,
            } => self.call(node, function, args, keywords),
        }
    }

    fn truth(&self, node: &Node, value: &Value) -> Result<bool> {
        value.truth().map_err(|f| self.error(&node.span, f))
    }

    fn name(&mut self, node: &Node, name: &str) -> Result<Value> {
        if let Some(value) = self.names.get(name) {
            return Ok(value.clone());
        }
        let value = match self.inputs.value(name) {
            Ok(Some(numbers)) => {
                self.limits
                    .check(numbers.shape())
                    .map_err(|f| self.error(&node.span, f))?;
                Value::from(numbers)
            }
            Ok(None) => match name {
                "inf" => Value::from(f64::INFINITY),
                "nan" => Value::from(f64::NAN),
                "pi" => Value::from(std::f64::consts::PI),
                _ => return Err(self.unknown_name(node, name)),
            },
            Err(reason) => {
                return Err(self
                    .formula
                    .error(node, format!("`{name}` cannot be read"), reason));
            }
        };
        self.names.insert(name.to_string(), value.clone());
        Ok(value)
    }

    fn unknown_name(&self, node: &Node, name: &str) -> Box<Error> {
        let error = self.formula.error(
            node,
            format!("unknown name `{name}`"),
            "no argument is called that",
        );
        if FUNCTIONS.iter().any(|f| f.name == name) {
            return error.help(format!("`{name}` is a function: write `{name}(...)`"));
        }
        let known = self.inputs.names();
        match closest(name, known.iter().map(String::as_str)) {
            Some(known) => error.help(format!("did you mean `{known}`?")),
            None => error.note(format!("known here: {}", known.join(", "))),
        }
    }

    fn comparison(&mut self, node: &Node, first: &Node, rest: &[(CompareOp, Node)]) -> Result<Value> {
        let (mut left, mut a) = (first, self.node(first)?);
        let mut all: Option<Value> = None;
        for (op, right) in rest {
            let b = self.node(right)?;
            let pair = elementwise::compare(*op, &a, &b, self.limits)
                .map_err(|f| self.operand_error(node, &[(left, &a), (right, &b)], f))?;
            let pair = Value::Bool(pair);
            all = Some(match all {
                None => pair,
                Some(before) => elementwise::binary(BinaryOp::BitAnd, &before, &pair, self.limits)
                    .map_err(|f| self.error(&node.span, f))?,
            });
            (left, a) = (right, b);
        }
        Ok(all.unwrap_or(a))
    }

    fn attribute(&mut self, node: &Node, operand: &Node, name: &str) -> Result<Value> {
        let value = self.node(operand)?;
        match (name, value.shape()) {
            ("T", Some(_)) => shape::transpose(&value, None).map_err(|f| self.error(&node.span, f)),
            ("shape", Some(shape)) => Ok(Value::Tuple(
                shape.iter().map(|&size| Value::from(size as i128)).collect(),
            )),
            ("T" | "shape", None) => Err(self.formula.error(
                operand,
                format!("`.{name}` needs an array"),
                format!("this is {}", value.describe()),
            )),
            _ => {
                let error = self
                    .formula
                    .error(node, format!("unknown attribute `.{name}`"), "");
                Err(error.help("arrays have `.T` and `.shape`; functions are written `f(x)`"))
            }
        }
    }

    fn subscript(&mut self, node: &Node, operand: &Node, indices: &[Index]) -> Result<Value> {
        let value = self.node(operand)?;
        let mut entries = Vec::with_capacity(indices.len());
        for index in indices {
            entries.push(match index {
                Index::Ellipsis(_) => index::Entry::Ellipsis,
                Index::Item(item) => {
                    let at = self.node(item)?;
                    index::Entry::from_value(&at).map_err(|f| self.error(&item.span, f))?
                }
                Index::Slice {
                    start, stop, step, ..
                } => index::Entry::Slice {
                    start: self.bound(start.as_ref())?,
                    stop: self.bound(stop.as_ref())?,
                    step: self.bound(step.as_ref())?.unwrap_or(1),
                },
            });
        }
        if let Value::Tuple(items) = &value {
            return self.tuple_item(node, items, &entries);
        }
        index::subscript(&value, entries, self.limits)
            .map_err(|f| self.operand_error(node, &[(operand, &value)], f))
    }

    /// `x.shape[0]`
    fn tuple_item(&self, node: &Node, items: &[Value], entries: &[index::Entry]) -> Result<Value> {
        let found = match entries {
            [index::Entry::At(at)] => {
                let at = if *at < 0 {
                    at.saturating_add(items.len() as i128)
                } else {
                    *at
                };
                usize::try_from(at).ok().and_then(|at| items.get(at))
            }
            _ => None,
        };
        match found {
            Some(item) => Ok(item.clone()),
            None => {
                let label = format!("this tuple has {} items", items.len());
                Err(self
                    .formula
                    .error(node, "a tuple takes one position in its range", label))
            }
        }
    }

    fn bound(&mut self, node: Option<&Node>) -> Result<Option<i128>> {
        let Some(node) = node else { return Ok(None) };
        match self.node(node)? {
            Value::None => Ok(None),
            value => value
                .single_int()
                .map(Some)
                .map_err(|f| self.error(&node.span, f)),
        }
    }

    fn call(&mut self, node: &Node, function: &Node, args: &[Node], keywords: &[Keyword]) -> Result<Value> {
        let NodeKind::Name(name) = &function.kind else {
            return Err(self.not_by_name(function, args));
        };
        let Some(row) = FUNCTIONS.iter().find(|f| f.name == name) else {
            let error = self.formula.error(
                function,
                format!("unknown function `{name}`"),
                "formulas do not have it",
            );
            return Err(match closest(name, FUNCTIONS.iter().map(|f| f.name)) {
                Some(known) => error.help(format!("did you mean `{known}`?")),
                None => {
                    let all: Vec<&str> = FUNCTIONS.iter().map(|f| f.name).collect();
                    error.help(format!("there are {}", all.join(" ")))
                }
            });
        };
        let nodes = self.bind(row, node, args, keywords)?;
        let mut values = Vec::with_capacity(nodes.len());
        for argument in &nodes {
            values.push(match argument {
                Some(argument) => Some(self.node(argument)?),
                None => None,
            });
        }
        let arguments = Arguments { values };
        (row.call)(&arguments, self.limits).map_err(|f| {
            if let Some(Some(at)) = f.parameter.and_then(|p| nodes.get(p)) {
                return self.error(&at.span, f);
            }
            let given: Vec<(&Node, &Value)> = nodes
                .iter()
                .zip(&arguments.values)
                .filter_map(|(node, value)| Some(((*node)?, value.as_ref()?)))
                .collect();
            self.operand_error(node, &given, f)
        })
    }

    /// `np.exp(x)` and `x.sum()` are not how formulas call functions.
    fn not_by_name(&self, function: &Node, args: &[Node]) -> Box<Error> {
        let error = self
            .formula
            .error(function, "only functions by name can be called", "not a name");
        let NodeKind::Attribute(of, name) = &function.kind else {
            return error;
        };
        if !FUNCTIONS.iter().any(|f| f.name == name) {
            return error;
        }
        let text = |node: &Node| {
            self.formula
                .source
                .text
                .get(node.span.clone())
                .unwrap_or_default()
        };
        let library = ["np", "numpy", "torch", "math", "tl", "F"].contains(&text(of));
        let first = (!library).then_some(&**of);
        let given: Vec<&str> = first.into_iter().chain(args).map(text).collect();
        error.help(format!("write `{name}({})`", given.join(", ")))
    }

    /// The node of each parameter.
    fn bind<'n>(
        &self,
        row: &Function,
        call: &Node,
        args: &'n [Node],
        keywords: &'n [Keyword],
    ) -> Result<Vec<Option<&'n Node>>> {
        let signature = format!("{}({})", row.name, row.parameters.join(", "));
        let mut bound: Vec<Option<&Node>> = vec![None; row.parameters.len()];
        for (position, arg) in args.iter().enumerate() {
            match bound.get_mut(position) {
                Some(slot) => *slot = Some(arg),
                None => {
                    let message = format!("`{}` takes {} arguments at most", row.name, row.parameters.len());
                    return Err(self.formula.error(arg, message, "one too many").help(signature));
                }
            }
        }
        for keyword in keywords {
            let position = row.parameters.iter().position(|p| *p == keyword.name);
            match position.and_then(|p| bound.get_mut(p)) {
                Some(slot @ None) => *slot = Some(&keyword.value),
                slot => {
                    let reason = if slot.is_some() {
                        "given twice"
                    } else {
                        "not a parameter"
                    };
                    let message = format!("`{}` of `{}`: {reason}", keyword.name, row.name);
                    let error = Error::input(message).at(&self.formula.source, keyword.span.clone(), "");
                    return Err(error.help(signature));
                }
            }
        }
        if let Some(missing) = bound.iter().take(row.required).position(Option::is_none) {
            let name = row.parameters.get(missing).copied().unwrap_or_default();
            let message = format!("`{}` needs its argument `{name}`", row.name);
            return Err(self.formula.error(call, message, "").help(signature));
        }
        Ok(bound)
    }
}
