//! A Pratt parser: one loop with binding powers, Python's table.

use std::ops::Range;
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source};

use super::lexer::{Token, tokens};
use super::{BinaryOp, CompareOp, Index, Keyword, MAX_DEPTH, Node, NodeKind, UnaryOp};

/// Binding powers, weakest first, as in the table at the end of the Python reference's chapter
/// "Expressions". `**` binds tighter than a sign on its left and weaker than one on its right.
mod power {
    pub const CONDITIONAL: u8 = 1;
    pub const OR: u8 = 2;
    pub const AND: u8 = 3;
    pub const NOT: u8 = 4;
    pub const COMPARE: u8 = 5;
    pub const BIT_OR: u8 = 6;
    pub const BIT_XOR: u8 = 7;
    pub const BIT_AND: u8 = 8;
    pub const SHIFT: u8 = 9;
    pub const SUM: u8 = 10;
    pub const PRODUCT: u8 = 11;
    pub const SIGN: u8 = 12;
    pub const POW: u8 = 13;
    pub const POSTFIX: u8 = 14;
}

pub(super) fn parse(source: &Arc<Source>, range: Range<usize>) -> Result<Node> {
    let tokens = tokens(source, range.clone())?;
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        level: 0,
    };
    if *parser.peek() == Token::End {
        return Err(Error::input("empty expression").at(source, range, "expected a value"));
    }
    let first = parser.expression(power::CONDITIONAL)?;
    let root = if parser.at_symbol(",") {
        parser.tuple_rest(first.span.start, first, None)?
    } else {
        first
    };
    match parser.peek() {
        Token::End => Ok(root.node),
        Token::Symbol("=") => Err(parser.unexpected("an operator").help("write `==` to compare")),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// A node with the depth of its tree, which bounds every later recursion over it.
struct Tree {
    node: Node,
    depth: usize,
    /// Brackets included, unlike the node's own.
    span: Range<usize>,
}

struct Parser<'a> {
    source: &'a Arc<Source>,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    level: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Range<usize> {
        match self.tokens.get(self.at).or(self.tokens.last()) {
            Some((_, span)) => span.clone(),
            None => 0..0,
        }
    }

    /// End of the token before this one.
    fn last_end(&self) -> usize {
        self.at
            .checked_sub(1)
            .and_then(|i| self.tokens.get(i))
            .map_or(0, |(_, span)| span.end)
    }

    fn at_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(s) if *s == symbol)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str, what: &str) -> Result<()> {
        if self.accept(symbol) {
            Ok(())
        } else {
            Err(self.unexpected(what))
        }
    }

    fn unexpected(&self, expected: &str) -> Box<Error> {
        let span = self.span();
        let message = match self.peek() {
            Token::End => "the expression ends too early".to_string(),
            _ => format!(
                "unexpected `{}`",
                self.source.text.get(span.clone()).unwrap_or_default()
            ),
        };
        Error::input(message).at(self.source, span, format!("expected {expected}"))
    }

    fn too_deep(&self, span: Range<usize>) -> Box<Error> {
        Error::input("expression nested too deeply").at(
            self.source,
            span,
            format!("the limit is {MAX_DEPTH} levels"),
        )
    }

    fn tree(&self, start: usize, kind: NodeKind, below: usize) -> Result<Tree> {
        let span = start..self.last_end();
        if below + 1 > MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        Ok(Tree {
            node: Node {
                span: span.clone(),
                kind,
            },
            depth: below + 1,
            span,
        })
    }

    /// Parses operators that bind at least as strongly as `least`.
    fn expression(&mut self, least: u8) -> Result<Tree> {
        if self.level >= MAX_DEPTH {
            return Err(self.too_deep(self.span()));
        }
        self.level += 1;
        let result = self.operators(least);
        self.level -= 1;
        result
    }

    fn operators(&mut self, least: u8) -> Result<Tree> {
        let mut left = self.prefix(least)?;
        loop {
            let Token::Symbol(symbol) = *self.peek() else {
                return Ok(left);
            };
            let Some(strength) = infix_power(symbol) else {
                return Ok(left);
            };
            if strength < least {
                return Ok(left);
            }
            left = match strength {
                power::POSTFIX => self.postfix(left)?,
                power::CONDITIONAL => self.conditional(left)?,
                power::COMPARE => self.comparison(left)?,
                power::OR | power::AND => self.logic(left, strength)?,
                _ => self.binary(left, symbol, strength)?,
            };
        }
    }

    fn prefix(&mut self, least: u8) -> Result<Tree> {
        let start = self.span().start;
        let unary = match self.peek() {
            Token::Symbol("-") => Some((UnaryOp::Neg, power::SIGN)),
            Token::Symbol("+") => Some((UnaryOp::Pos, power::SIGN)),
            Token::Symbol("~") => Some((UnaryOp::Invert, power::SIGN)),
            // `a == not b` is an error in Python too.
            Token::Symbol("not") if least <= power::NOT => Some((UnaryOp::Not, power::NOT)),
            _ => None,
        };
        if let Some((op, strength)) = unary {
            self.at += 1;
            let operand = self.expression(strength)?;
            return self.tree(start, NodeKind::Unary(op, Box::new(operand.node)), operand.depth);
        }
        let kind = match self.peek().clone() {
            Token::Int(value) => NodeKind::Int(value),
            Token::Float(value) => NodeKind::Float(value),
            Token::Str(value) => NodeKind::Str(value),
            Token::Name(name) => match name.as_str() {
                "True" | "true" => NodeKind::Bool(true),
                "False" | "false" => NodeKind::Bool(false),
                "None" | "none" => NodeKind::None,
                _ => NodeKind::Name(name),
            },
            Token::Symbol("(") => return self.parenthesis(),
            Token::Symbol("not") => return Err(self.unexpected("a value; put `not …` in parentheses")),
            Token::Symbol("[") => return self.list(),
            Token::Symbol(_) | Token::End => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        self.tree(start, kind, 0)
    }

    fn parenthesis(&mut self) -> Result<Tree> {
        let start = self.span().start;
        self.at += 1;
        if self.accept(")") {
            return self.tree(start, NodeKind::Tuple(Vec::new()), 0);
        }
        let first = self.expression(power::CONDITIONAL)?;
        if self.at_symbol(",") {
            return self.tuple_rest(start, first, Some(")"));
        }
        self.expect(")", "an operator, `,` or `)`")?;
        let span = start..self.last_end();
        Ok(Tree { span, ..first })
    }

    /// `[a, b]`: a sequence, as a tuple is.
    fn list(&mut self) -> Result<Tree> {
        let start = self.span().start;
        self.at += 1;
        if self.accept("]") {
            return self.tree(start, NodeKind::Tuple(Vec::new()), 0);
        }
        let first = self.expression(power::CONDITIONAL)?;
        if self.at_symbol(",") {
            return self.tuple_rest(start, first, Some("]"));
        }
        self.expect("]", "an operator, `,` or `]`")?;
        self.tree(start, NodeKind::Tuple(vec![first.node]), first.depth)
    }

    /// The rest of a tuple from its first comma on; `close` is its closing bracket, if it has one.
    fn tuple_rest(&mut self, start: usize, first: Tree, close: Option<&'static str>) -> Result<Tree> {
        let mut depth = first.depth;
        let mut items = vec![first.node];
        while self.accept(",") {
            let done = match close {
                Some(close) => self.at_symbol(close),
                None => *self.peek() == Token::End,
            };
            if done {
                break;
            }
            let item = self.expression(power::CONDITIONAL)?;
            depth = depth.max(item.depth);
            items.push(item.node);
        }
        if let Some(close) = close {
            self.expect(close, &format!("an operator, `,` or `{close}`"))?;
        }
        self.tree(start, NodeKind::Tuple(items), depth)
    }

    fn binary(&mut self, left: Tree, symbol: &str, strength: u8) -> Result<Tree> {
        let Some(op) = binary_op(symbol) else {
            return Err(self.unexpected("an operator"));
        };
        self.at += 1;
        // `**` groups to the right and takes a sign on its right: 2 ** -1.
        let right = self.expression(if op == BinaryOp::Pow {
            power::SIGN
        } else {
            strength + 1
        })?;
        let depth = left.depth.max(right.depth);
        self.tree(
            left.span.start,
            NodeKind::Binary(op, Box::new(left.node), Box::new(right.node)),
            depth,
        )
    }

    fn logic(&mut self, left: Tree, strength: u8) -> Result<Tree> {
        self.at += 1;
        let right = self.expression(strength + 1)?;
        let depth = left.depth.max(right.depth);
        let make = if strength == power::AND {
            NodeKind::And
        } else {
            NodeKind::Or
        };
        self.tree(
            left.span.start,
            make(Box::new(left.node), Box::new(right.node)),
            depth,
        )
    }

    fn comparison(&mut self, left: Tree) -> Result<Tree> {
        let start = left.span.start;
        let mut depth = left.depth;
        let mut rest = Vec::new();
        loop {
            let op = match self.peek() {
                Token::Symbol("==") => CompareOp::Eq,
                Token::Symbol("!=") => CompareOp::Ne,
                Token::Symbol("<") => CompareOp::Lt,
                Token::Symbol("<=") => CompareOp::Le,
                Token::Symbol(">") => CompareOp::Gt,
                Token::Symbol(">=") => CompareOp::Ge,
                _ => break,
            };
            self.at += 1;
            let right = self.expression(power::COMPARE + 1)?;
            depth = depth.max(right.depth);
            rest.push((op, right.node));
        }
        self.tree(start, NodeKind::Compare(Box::new(left.node), rest), depth)
    }

    fn conditional(&mut self, then: Tree) -> Result<Tree> {
        self.at += 1;
        let condition = self.expression(power::OR)?;
        self.expect("else", "an operator or `else`")?;
        let otherwise = self.expression(power::CONDITIONAL)?;
        let depth = then.depth.max(condition.depth).max(otherwise.depth);
        let start = then.span.start;
        let kind = NodeKind::Conditional {
            then: Box::new(then.node),
            condition: Box::new(condition.node),
            otherwise: Box::new(otherwise.node),
        };
        self.tree(start, kind, depth)
    }

    fn postfix(&mut self, value: Tree) -> Result<Tree> {
        if self.accept(".") {
            let Token::Name(name) = self.peek().clone() else {
                return Err(self.unexpected("an attribute's name"));
            };
            self.at += 1;
            return self.tree(
                value.span.start,
                NodeKind::Attribute(Box::new(value.node), name),
                value.depth,
            );
        }
        if self.accept("(") {
            self.call(value)
        } else {
            self.subscript(value)
        }
    }

    fn call(&mut self, function: Tree) -> Result<Tree> {
        let mut depth = function.depth;
        let mut args = Vec::new();
        let mut keywords: Vec<Keyword> = Vec::new();
        while !self.at_symbol(")") {
            let start = self.at;
            let value = self.expression(power::CONDITIONAL)?;
            let name = match value.node.kind {
                NodeKind::Name(ref name) if self.at == start + 1 => Some(name.clone()),
                _ => None,
            };
            match name {
                Some(name) if self.accept("=") => {
                    if keywords.iter().any(|k| k.name == name) {
                        let message = format!("keyword argument `{name}` given twice");
                        return Err(Error::input(message).at(self.source, value.span, "again here"));
                    }
                    let span = value.span;
                    let value = self.expression(power::CONDITIONAL)?;
                    depth = depth.max(value.depth);
                    keywords.push(Keyword {
                        span,
                        name,
                        value: value.node,
                    });
                }
                _ if !keywords.is_empty() => {
                    return Err(
                        Error::input("a positional argument follows a keyword argument").at(
                            self.source,
                            value.span,
                            "move it to the front",
                        ),
                    );
                }
                _ => {
                    depth = depth.max(value.depth);
                    args.push(value.node);
                }
            }
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")", "an operator, `,` or `)`")?;
        let start = function.span.start;
        self.tree(
            start,
            NodeKind::Call {
                function: Box::new(function.node),
                args,
                keywords,
            },
            depth,
        )
    }

    fn subscript(&mut self, value: Tree) -> Result<Tree> {
        self.expect("[", "`[`")?;
        let mut depth = value.depth;
        let mut indices = Vec::new();
        loop {
            indices.push(self.index(&mut depth)?);
            if !self.accept(",") || self.at_symbol("]") {
                break;
            }
        }
        self.expect("]", "an operator, `:`, `,` or `]`")?;
        self.tree(
            value.span.start,
            NodeKind::Subscript(Box::new(value.node), indices),
            depth,
        )
    }

    fn index(&mut self, depth: &mut usize) -> Result<Index> {
        let start = self.span().start;
        if self.accept("...") {
            return Ok(Index::Ellipsis(start..self.last_end()));
        }
        let mut parts = [None, None, None];
        let mut colons = 0;
        loop {
            if !(self.at_symbol(":") || self.at_symbol(",") || self.at_symbol("]")) {
                let part = self.expression(power::CONDITIONAL)?;
                *depth = (*depth).max(part.depth);
                parts[colons] = Some(part.node);
            }
            if colons == 2 || !self.accept(":") {
                break;
            }
            colons += 1;
        }
        let [start_part, stop, step] = parts;
        match (colons, start_part) {
            (0, Some(item)) => Ok(Index::Item(item)),
            (0, None) => Err(self.unexpected("an index")),
            (_, first) => Ok(Index::Slice {
                span: start..self.last_end(),
                start: first,
                stop,
                step,
            }),
        }
    }
}

fn infix_power(symbol: &str) -> Option<u8> {
    Some(match symbol {
        "if" => power::CONDITIONAL,
        "or" => power::OR,
        "and" => power::AND,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => power::COMPARE,
        "|" => power::BIT_OR,
        "^" => power::BIT_XOR,
        "&" => power::BIT_AND,
        "<<" | ">>" => power::SHIFT,
        "+" | "-" => power::SUM,
        "*" | "/" | "//" | "%" | "@" => power::PRODUCT,
        "**" => power::POW,
        "(" | "[" | "." => power::POSTFIX,
        _ => return None,
    })
}

fn binary_op(symbol: &str) -> Option<BinaryOp> {
    Some(match symbol {
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        "//" => BinaryOp::FloorDiv,
        "%" => BinaryOp::Mod,
        "**" => BinaryOp::Pow,
        "@" => BinaryOp::MatMul,
        "&" => BinaryOp::BitAnd,
        "|" => BinaryOp::BitOr,
        "^" => BinaryOp::BitXor,
        "<<" => BinaryOp::Shl,
        ">>" => BinaryOp::Shr,
        _ => return None,
    })
}
