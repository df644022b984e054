//! Expressions.

use std::rc::Rc;

use num_bigint::BigInt;
use ruff_python_ast as ruff;
use ruff_python_ast::{FStringPart, InterpolatedStringElement, InterpolatedStringElements};
use ruff_text_size::Ranged;

use super::{Converter, span};
use crate::ast::{
    BinaryOp, BoolOp, Call, CompareOp, Comprehension, ComprehensionKind, ComprehensionLoop, Expr, ExprKind,
    FormatPart, Lambda, Param, Params, UnaryOp,
};
use crate::limits;

/// The name of what is nested beyond [`limits::MAX_DEPTH`].
const TOO_DEEP: ExprKind = ExprKind::Other("an expression nested this deeply");

impl Converter {
    pub(super) fn expr(&mut self, expr: &ruff::Expr) -> Expr {
        Expr {
            span: span(expr.range()),
            kind: self.nested(|c| c.expr_kind(expr), || TOO_DEEP),
        }
    }

    pub(super) fn boxed(&mut self, expr: &ruff::Expr) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    pub(super) fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e ruff::Expr>) -> Vec<Expr> {
        exprs.into_iter().map(|e| self.expr(e)).collect()
    }

    pub(super) fn option(&mut self, expr: Option<&ruff::Expr>) -> Option<Expr> {
        expr.map(|e| self.expr(e))
    }

    fn boxed_option(&mut self, expr: Option<&ruff::Expr>) -> Option<Box<Expr>> {
        expr.map(|e| self.boxed(e))
    }

    fn expr_kind(&mut self, expr: &ruff::Expr) -> ExprKind {
        match expr {
            ruff::Expr::NoneLiteral(_) => ExprKind::None,
            ruff::Expr::BooleanLiteral(e) => ExprKind::Bool(e.value),
            ruff::Expr::NumberLiteral(e) => number(&e.value),
            ruff::Expr::StringLiteral(e) => ExprKind::Str(e.value.to_str().into()),
            ruff::Expr::BytesLiteral(_) => ExprKind::Other("a bytes literal"),
            ruff::Expr::EllipsisLiteral(_) => ExprKind::Ellipsis,
            ruff::Expr::FString(e) => self.f_string(&e.value),
            ruff::Expr::TString(_) => ExprKind::Other("a template string"),
            ruff::Expr::Name(e) => ExprKind::Name(self.name(e.id.as_str())),
            ruff::Expr::Attribute(e) => ExprKind::Attribute(self.boxed(&e.value), self.ident(&e.attr)),
            ruff::Expr::Subscript(e) => ExprKind::Subscript(self.boxed(&e.value), self.boxed(&e.slice)),
            ruff::Expr::Slice(e) => ExprKind::Slice(
                self.boxed_option(e.lower.as_deref()),
                self.boxed_option(e.upper.as_deref()),
                self.boxed_option(e.step.as_deref()),
            ),
            ruff::Expr::Call(e) => ExprKind::Call(Box::new(Call {
                function: self.expr(&e.func),
                args: self.exprs(&e.arguments.args),
                keywords: self.keywords(&e.arguments.keywords),
            })),
            ruff::Expr::UnaryOp(e) => ExprKind::Unary(unary(e.op), self.boxed(&e.operand)),
            ruff::Expr::BinOp(e) => ExprKind::Binary(binary(e.op), self.boxed(&e.left), self.boxed(&e.right)),
            ruff::Expr::BoolOp(e) => {
                let op = match e.op {
                    ruff::BoolOp::And => BoolOp::And,
                    ruff::BoolOp::Or => BoolOp::Or,
                };
                ExprKind::Logic(op, self.exprs(&e.values))
            }
            ruff::Expr::Compare(e) => {
                let first = self.boxed(&e.left);
                let rest = e.ops.iter().zip(&e.comparators);
                ExprKind::Compare(
                    first,
                    rest.map(|(op, right)| (compare(*op), self.expr(right))).collect(),
                )
            }
            ruff::Expr::If(e) => ExprKind::IfElse {
                condition: self.boxed(&e.test),
                then: self.boxed(&e.body),
                otherwise: self.boxed(&e.orelse),
            },
            ruff::Expr::Tuple(e) => ExprKind::Tuple(self.exprs(&e.elts)),
            ruff::Expr::List(e) => ExprKind::List(self.exprs(&e.elts)),
            ruff::Expr::Set(e) => ExprKind::Set(self.exprs(&e.elts)),
            ruff::Expr::Dict(e) => {
                let items = e.items.iter();
                ExprKind::Dict(
                    items
                        .map(|i| (self.option(i.key.as_ref()), self.expr(&i.value)))
                        .collect(),
                )
            }
            ruff::Expr::Starred(e) => ExprKind::Starred(self.boxed(&e.value)),
            ruff::Expr::Named(e) => match &*e.target {
                ruff::Expr::Name(name) => {
                    let ident = crate::ast::Ident {
                        name: self.name(name.id.as_str()),
                        span: span(name.range),
                    };
                    ExprKind::Walrus(ident, self.boxed(&e.value))
                }
                _ => ExprKind::Other("`:=` to something that is not a name"),
            },
            ruff::Expr::Lambda(e) => ExprKind::Lambda(Rc::new(Lambda {
                params: e
                    .parameters
                    .as_deref()
                    .map(|p| self.params(p))
                    .unwrap_or_default(),
                body: self.expr(&e.body),
            })),
            ruff::Expr::ListComp(e) => {
                self.comprehension(ComprehensionKind::List, &e.elt, None, &e.generators)
            }
            ruff::Expr::SetComp(e) => self.comprehension(ComprehensionKind::Set, &e.elt, None, &e.generators),
            ruff::Expr::Generator(e) => {
                self.comprehension(ComprehensionKind::Generator, &e.elt, None, &e.generators)
            }
            ruff::Expr::DictComp(e) => match &e.key {
                Some(key) => self.comprehension(ComprehensionKind::Dict, key, Some(&e.value), &e.generators),
                None => ExprKind::Other("`**` in a comprehension"),
            },
            ruff::Expr::Await(_) => ExprKind::Other("await"),
            ruff::Expr::Yield(_) | ruff::Expr::YieldFrom(_) => ExprKind::Other("yield"),
            ruff::Expr::IpyEscapeCommand(_) => ExprKind::Other("a notebook command"),
        }
    }

    pub(super) fn keywords(&mut self, keywords: &[ruff::Keyword]) -> Vec<(Option<crate::ast::Ident>, Expr)> {
        let pairs = keywords.iter();
        pairs
            .map(|k| (k.arg.as_ref().map(|name| self.ident(name)), self.expr(&k.value)))
            .collect()
    }

    pub(super) fn params(&mut self, params: &ruff::Parameters) -> Params {
        let positional = params.posonlyargs.iter().chain(params.args.iter());
        Params {
            positional: positional
                .map(|p| self.param(&p.parameter, p.default.as_deref()))
                .collect(),
            vararg: params.vararg.as_deref().map(|p| self.param(p, None)),
            keyword_only: (params.kwonlyargs.iter())
                .map(|p| self.param(&p.parameter, p.default.as_deref()))
                .collect(),
            kwarg: params.kwarg.as_deref().map(|p| self.param(p, None)),
        }
    }

    fn param(&mut self, param: &ruff::Parameter, default: Option<&ruff::Expr>) -> Param {
        Param {
            ident: self.ident(&param.name),
            annotation: self.option(param.annotation.as_deref()),
            default: self.option(default),
        }
    }

    fn comprehension(
        &mut self,
        kind: ComprehensionKind,
        element: &ruff::Expr,
        value: Option<&ruff::Expr>,
        loops: &[ruff::Comprehension],
    ) -> ExprKind {
        if loops.iter().any(|l| l.is_async) {
            return ExprKind::Other("async for");
        }
        let loops = loops.iter().map(|l| ComprehensionLoop {
            target: self.expr(&l.target),
            iter: self.expr(&l.iter),
            conditions: self.exprs(&l.ifs),
        });
        let loops = loops.collect();
        ExprKind::Comprehension(Rc::new(Comprehension {
            kind,
            element: self.expr(element),
            value: self.option(value),
            loops,
        }))
    }

    fn f_string(&mut self, value: &ruff::FStringValue) -> ExprKind {
        let mut parts = Vec::new();
        for part in value {
            match part {
                FStringPart::Literal(text) => push_text(&mut parts, text.as_str()),
                FStringPart::FString(f) => self.format_parts(&f.elements, &mut parts),
            }
        }
        ExprKind::Format(parts)
    }

    fn format_parts(&mut self, elements: &InterpolatedStringElements, parts: &mut Vec<FormatPart>) {
        for element in elements {
            let hole = match element {
                InterpolatedStringElement::Literal(text) => {
                    push_text(parts, &text.value);
                    continue;
                }
                InterpolatedStringElement::Interpolation(hole) => hole,
            };
            let mut spec = Vec::new();
            if let Some(format) = &hole.format_spec {
                self.nested(|c| c.format_parts(&format.elements, &mut spec), || ());
            }
            let mut conversion = hole.conversion.to_char();
            if let Some(text) = &hole.debug_text {
                // `{x = }` is its own text and then the value's `repr`, unless a format is given.
                push_text(parts, text.as_str());
                conversion = conversion.or((hole.format_spec.is_none()).then_some('r'));
            }
            parts.push(FormatPart::Value {
                value: self.expr(&hole.expression),
                conversion,
                spec,
            });
        }
    }
}

fn push_text(parts: &mut Vec<FormatPart>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(FormatPart::Text(before)) => *before = format!("{before}{text}").into(),
        _ => parts.push(FormatPart::Text(text.into())),
    }
}

fn number(number: &ruff::Number) -> ExprKind {
    match number {
        ruff::Number::Int(int) => match int.as_u64() {
            Some(small) => ExprKind::Int(small.into()),
            None => big_int(&int.to_string()).map_or(ExprKind::Other("an integer this big"), ExprKind::Int),
        },
        ruff::Number::Float(value) => ExprKind::Float(*value),
        ruff::Number::Complex { .. } => ExprKind::Other("a complex number"),
    }
}

/// The value of an integer literal with its prefix, unless it is wider than [`limits::MAX_INT_BITS`].
fn big_int(text: &str) -> Option<BigInt> {
    let text: String = text.chars().filter(|c| *c != '_').collect();
    let radix = match text.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => 10,
    };
    let digits = if radix == 10 {
        text.as_str()
    } else {
        text.get(2..)?
    };
    let digits = digits.trim_start_matches('0');
    // A digit is at least log2(radix) bits, rounded down.
    if digits.len() as u64 * u64::from(u32::ilog2(radix)) > limits::MAX_INT_BITS {
        return None;
    }
    let value = BigInt::parse_bytes(digits.as_bytes(), radix)?;
    (value.bits() <= limits::MAX_INT_BITS).then_some(value)
}

fn unary(op: ruff::UnaryOp) -> UnaryOp {
    match op {
        ruff::UnaryOp::USub => UnaryOp::Neg,
        ruff::UnaryOp::UAdd => UnaryOp::Pos,
        ruff::UnaryOp::Not => UnaryOp::Not,
        ruff::UnaryOp::Invert => UnaryOp::Invert,
    }
}

pub(super) fn binary(op: ruff::Operator) -> BinaryOp {
    match op {
        ruff::Operator::Add => BinaryOp::Add,
        ruff::Operator::Sub => BinaryOp::Sub,
        ruff::Operator::Mult => BinaryOp::Mul,
        ruff::Operator::MatMult => BinaryOp::MatMul,
        ruff::Operator::Div => BinaryOp::Div,
        ruff::Operator::Mod => BinaryOp::Mod,
        ruff::Operator::Pow => BinaryOp::Pow,
        ruff::Operator::LShift => BinaryOp::Shl,
        ruff::Operator::RShift => BinaryOp::Shr,
        ruff::Operator::BitOr => BinaryOp::Or,
        ruff::Operator::BitXor => BinaryOp::Xor,
        ruff::Operator::BitAnd => BinaryOp::And,
        ruff::Operator::FloorDiv => BinaryOp::FloorDiv,
    }
}

fn compare(op: ruff::CmpOp) -> CompareOp {
    match op {
        ruff::CmpOp::Eq => CompareOp::Eq,
        ruff::CmpOp::NotEq => CompareOp::Ne,
        ruff::CmpOp::Lt => CompareOp::Lt,
        ruff::CmpOp::LtE => CompareOp::Le,
        ruff::CmpOp::Gt => CompareOp::Gt,
        ruff::CmpOp::GtE => CompareOp::Ge,
        ruff::CmpOp::Is => CompareOp::Is,
        ruff::CmpOp::IsNot => CompareOp::IsNot,
        ruff::CmpOp::In => CompareOp::In,
        ruff::CmpOp::NotIn => CompareOp::NotIn,
    }
}
