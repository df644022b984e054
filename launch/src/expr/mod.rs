//! Expressions: one parser for launch files, formulas and breakpoint conditions.
//!
//! The syntax and precedence are Python's, cut to what such texts need: numbers, strings, names,
//! `True False None` (also in small letters), arithmetic, bitwise and comparison operators (chains
//! too), `and or not`, `a if c else b`, tuples, calls with keywords, attributes, and subscripts with
//! slices, `None` and `...`. No lists, dicts, lambdas, comprehensions or assignments.
//!
//! [`Expression::parse`] gives a tree whose spans point into the text that the expression stands in,
//! so that an error inside a launch file points into that file. [`Scope::evaluate`] gives scalars a
//! value; formulas over tensors are evaluated by the crate `oracle` from the same tree.
//!
//! Bounds: a text of at most [`MAX_LENGTH`] bytes and a tree of at most [`MAX_DEPTH`] levels.

mod evaluate;
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

pub use evaluate::{Scope, Value};

use std::ops::Range;
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source};

/// Longest expression text, in bytes.
pub const MAX_LENGTH: usize = 1 << 16;

/// Deepest tree; also bounds the parser's and the evaluators' recursion.
pub const MAX_DEPTH: usize = 100;

/// A parsed expression and the text it stands in.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// The text that the spans point into: a whole launch file, or the expression alone.
    pub source: Arc<Source>,
    /// The tree.
    pub root: Node,
}

/// A node of the tree: what it is and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Byte range in the source's text.
    pub span: Range<usize>,
    /// What it is.
    pub kind: NodeKind,
}

/// The kinds of node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// `12`, `0xff`, `1_000`.
    Int(i128),
    /// `1.5`, `1e-5`.
    Float(f64),
    /// `'text'`, escapes resolved.
    Str(String),
    /// `True`, `true`, `False`, `false`.
    Bool(bool),
    /// `None`, `none`.
    None,
    /// A name.
    Name(String),
    /// `-x`, `+x`, `~x`, `not x`.
    Unary(UnaryOp, Box<Node>),
    /// `a + b` and so on.
    Binary(BinaryOp, Box<Node>, Box<Node>),
    /// `a < b <= c`: true when every neighbouring pair compares true; at least one pair.
    Compare(Box<Node>, Vec<(CompareOp, Node)>),
    /// `a and b`: `a` when that is false, else `b`.
    And(Box<Node>, Box<Node>),
    /// `a or b`: `a` when that is true, else `b`.
    Or(Box<Node>, Box<Node>),
    /// `then if condition else otherwise`.
    Conditional {
        /// The value when the condition is true.
        then: Box<Node>,
        /// Evaluated first.
        condition: Box<Node>,
        /// The value when the condition is false.
        otherwise: Box<Node>,
    },
    /// `f(a, axis=1)`.
    Call {
        /// Usually a name.
        function: Box<Node>,
        /// Positional arguments.
        args: Vec<Node>,
        /// Keyword arguments, in order; no name twice.
        keywords: Vec<Keyword>,
    },
    /// `x.T`.
    Attribute(Box<Node>, String),
    /// `x[0, 1:, None]`.
    Subscript(Box<Node>, Vec<Index>),
    /// `(a, b)`, `()`, `[a, b]`, or `a, b` at the top.
    Tuple(Vec<Node>),
}

/// `name=value` in a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyword {
    /// Byte range of the name.
    pub span: Range<usize>,
    /// The name.
    pub name: String,
    /// The value.
    pub value: Node,
}

/// One entry of a subscript.
#[derive(Debug, Clone, PartialEq)]
pub enum Index {
    /// A position, or `None` for a new dimension.
    Item(Node),
    /// `start:stop:step`, each optional.
    Slice {
        /// Byte range of the whole slice.
        span: Range<usize>,
        /// First position.
        start: Option<Node>,
        /// End position, exclusive.
        stop: Option<Node>,
        /// Step.
        step: Option<Node>,
    },
    /// `...`, with its byte range.
    Ellipsis(Range<usize>),
}

/// Operators before their operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `+x`
    Pos,
    /// `~x`
    Invert,
    /// `not x`
    Not,
}

/// Operators between two operands, comparisons and `and`/`or` apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, true division
    Div,
    /// `//`, rounds down
    FloorDiv,
    /// `%`, sign of the divisor
    Mod,
    /// `**`
    Pow,
    /// `@`
    MatMul,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
}

impl BinaryOp {
    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Mod => "%",
            BinaryOp::Pow => "**",
            BinaryOp::MatMul => "@",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
        }
    }
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Expression {
    /// Parses the text in `range` of `source`; spans are offsets in the source's whole text.
    ///
    /// # Errors
    ///
    /// Anything but one whole expression, with the place and what was expected there; a text or
    /// tree beyond the bounds; a range that is not one of the text.
    pub fn parse(source: &Arc<Source>, range: Range<usize>) -> Result<Expression> {
        if source.text.get(range.clone()).is_none() {
            return Err(Error::input("an expression's place is not in its text"));
        }
        if range.len() > MAX_LENGTH {
            return Err(Error::input("expression too long").at(
                source,
                range,
                format!("the limit is {MAX_LENGTH} bytes"),
            ));
        }
        let root = parser::parse(source, range)?;
        Ok(Expression {
            source: source.clone(),
            root,
        })
    }

    /// Parses a text of its own; `name` is how errors call it, for example `"condition"`.
    ///
    /// # Errors
    ///
    /// As [`Expression::parse`].
    pub fn parse_text(name: &str, text: &str) -> Result<Expression> {
        let source = Source::new(name, text);
        let range = 0..source.text.len();
        Expression::parse(&source, range)
    }

    /// The text of the expression as written.
    pub fn text(&self) -> &str {
        self.source.text.get(self.root.span.clone()).unwrap_or_default()
    }

    /// An input error that points at a node of this expression.
    pub fn error(&self, node: &Node, message: impl Into<String>, label: impl Into<String>) -> Box<Error> {
        Error::input(message).at(&self.source, node.span.clone(), label)
    }

    /// Every name that the expression reads, functions called by name apart, in order of appearance.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        walk(&self.root, &mut |node| {
            if let NodeKind::Name(name) = &node.kind
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        });
        names
    }

    /// The calls of functions by their names, as they stand in the text: the node of the name, and the name.
    pub fn functions(&self) -> Vec<(&Node, &str)> {
        let mut functions = Vec::new();
        walk(&self.root, &mut |node| {
            if let NodeKind::Call { function, .. } = &node.kind
                && let NodeKind::Name(name) = &function.kind
            {
                functions.push((&**function, name.as_str()));
            }
        });
        functions
    }
}

/// All nodes but the names of functions, each before its parts.
fn walk<'a>(node: &'a Node, each: &mut dyn FnMut(&'a Node)) {
    each(node);
    match &node.kind {
        NodeKind::Name(_)
        | NodeKind::Int(_)
        | NodeKind::Float(_)
        | NodeKind::Str(_)
        | NodeKind::Bool(_)
        | NodeKind::None => {}
        NodeKind::Unary(_, a) | NodeKind::Attribute(a, _) => walk(a, each),
        NodeKind::Binary(_, a, b) | NodeKind::And(a, b) | NodeKind::Or(a, b) => {
            walk(a, each);
            walk(b, each);
        }
        NodeKind::Compare(first, rest) => {
            walk(first, each);
            rest.iter().for_each(|(_, n)| walk(n, each));
        }
        NodeKind::Conditional {
            then,
            condition,
            otherwise,
        } => {
            [then, condition, otherwise]
                .into_iter()
                .for_each(|n| walk(n, each));
        }
        NodeKind::Call {
            function,
            args,
            keywords,
        } => {
            if !matches!(function.kind, NodeKind::Name(_)) {
                walk(function, each);
            }
            args.iter().for_each(|n| walk(n, each));
            keywords.iter().for_each(|k| walk(&k.value, each));
        }
        NodeKind::Subscript(value, indices) => {
            walk(value, each);
            for index in indices {
                match index {
                    Index::Item(n) => walk(n, each),
                    Index::Slice {
                        start, stop, step, ..
                    } => {
                        [start, stop, step]
                            .into_iter()
                            .flatten()
                            .for_each(|n| walk(n, each));
                    }
                    Index::Ellipsis(_) => {}
                }
            }
        }
        NodeKind::Tuple(items) => items.iter().for_each(|n| walk(n, each)),
    }
}
