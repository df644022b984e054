//! Statements.

use std::rc::Rc;

use ruff_python_ast as ruff;
use ruff_text_size::Ranged;

use super::expressions::binary;
use super::{Converter, span};
use crate::ast::{Alias, ClassDef, FunctionDef, Span, Stmt, StmtKind};

/// The name of what is nested beyond [`crate::limits::MAX_DEPTH`].
const TOO_DEEP: StmtKind = StmtKind::Other("a statement nested this deeply");

impl Converter {
    pub(super) fn body(&mut self, body: &[ruff::Stmt]) -> Vec<Stmt> {
        body.iter().map(|s| self.stmt(s)).collect()
    }

    fn stmt(&mut self, stmt: &ruff::Stmt) -> Stmt {
        Stmt {
            span: span(stmt.range()),
            kind: self.nested(|c| c.stmt_kind(stmt), || TOO_DEEP),
        }
    }

    fn stmt_kind(&mut self, stmt: &ruff::Stmt) -> StmtKind {
        match stmt {
            ruff::Stmt::FunctionDef(s) if s.is_async => StmtKind::Other("async def"),
            ruff::Stmt::FunctionDef(s) => StmtKind::Function(Rc::new(self.function(s))),
            ruff::Stmt::ClassDef(s) => StmtKind::Class(Rc::new(self.class(s))),
            ruff::Stmt::Return(s) => StmtKind::Return(self.option(s.value.as_deref())),
            ruff::Stmt::Delete(s) => StmtKind::Delete(self.exprs(&s.targets)),
            ruff::Stmt::TypeAlias(_) => StmtKind::Other("type"),
            ruff::Stmt::Assign(s) => StmtKind::Assign {
                targets: self.exprs(&s.targets),
                value: self.expr(&s.value),
            },
            ruff::Stmt::AugAssign(s) => StmtKind::AugAssign {
                target: self.expr(&s.target),
                op: binary(s.op),
                value: self.expr(&s.value),
            },
            ruff::Stmt::AnnAssign(s) => StmtKind::AnnAssign {
                target: self.expr(&s.target),
                annotation: self.expr(&s.annotation),
                value: self.option(s.value.as_deref()),
            },
            ruff::Stmt::For(s) if s.is_async => StmtKind::Other("async for"),
            ruff::Stmt::For(s) => StmtKind::For {
                target: self.expr(&s.target),
                iter: self.expr(&s.iter),
                body: self.body(&s.body),
                otherwise: self.body(&s.orelse),
            },
            ruff::Stmt::While(s) => StmtKind::While {
                condition: self.expr(&s.test),
                body: self.body(&s.body),
                otherwise: self.body(&s.orelse),
            },
            ruff::Stmt::If(s) => StmtKind::If {
                condition: self.expr(&s.test),
                then: self.body(&s.body),
                otherwise: self.elif(&s.elif_else_clauses),
            },
            ruff::Stmt::With(s) if s.is_async => StmtKind::Other("async with"),
            ruff::Stmt::With(s) => StmtKind::With {
                items: (s.items.iter())
                    .map(|i| {
                        (
                            self.expr(&i.context_expr),
                            self.option(i.optional_vars.as_deref()),
                        )
                    })
                    .collect(),
                body: self.body(&s.body),
            },
            ruff::Stmt::Match(_) => StmtKind::Other("match"),
            ruff::Stmt::Raise(s) => StmtKind::Raise(self.option(s.exc.as_deref())),
            ruff::Stmt::Try(s) => StmtKind::Try {
                body: self.body(&s.body),
                handlers: (s.handlers.iter())
                    .map(|ruff::ExceptHandler::ExceptHandler(h)| self.body(&h.body))
                    .collect(),
                otherwise: self.body(&s.orelse),
                finally: self.body(&s.finalbody),
            },
            ruff::Stmt::Assert(s) => StmtKind::Assert {
                condition: self.expr(&s.test),
                message: self.option(s.msg.as_deref()),
            },
            ruff::Stmt::Import(s) => StmtKind::Import(self.aliases(&s.names)),
            ruff::Stmt::ImportFrom(s) => StmtKind::ImportFrom {
                module: s.module.as_ref().map_or("", |m| m.as_str()).into(),
                level: s.level,
                names: self.aliases(&s.names),
            },
            ruff::Stmt::Global(s) => StmtKind::Global(s.names.iter().map(|n| self.ident(n)).collect()),
            ruff::Stmt::Nonlocal(s) => StmtKind::Global(s.names.iter().map(|n| self.ident(n)).collect()),
            ruff::Stmt::Expr(s) => StmtKind::Expr(self.expr(&s.value)),
            ruff::Stmt::Pass(_) => StmtKind::Pass,
            ruff::Stmt::Break(_) => StmtKind::Break,
            ruff::Stmt::Continue(_) => StmtKind::Continue,
            ruff::Stmt::IpyEscapeCommand(_) => StmtKind::Other("a notebook command"),
        }
    }

    /// `elif` and `else` clauses, each `elif` an `if` of its own.
    fn elif(&mut self, clauses: &[ruff::ElifElseClause]) -> Vec<Stmt> {
        let Some((clause, rest)) = clauses.split_first() else {
            return Vec::new();
        };
        let Some(test) = &clause.test else {
            return self.body(&clause.body);
        };
        let end = clauses.last().map_or(clause.range.end(), |last| last.range.end());
        let kind = self.nested(
            |c| StmtKind::If {
                condition: c.expr(test),
                then: c.body(&clause.body),
                otherwise: c.elif(rest),
            },
            || TOO_DEEP,
        );
        vec![Stmt {
            span: Span {
                start: clause.range.start().to_u32(),
                end: end.to_u32(),
            },
            kind,
        }]
    }

    fn aliases(&mut self, names: &[ruff::Alias]) -> Vec<Alias> {
        let aliases = names.iter().map(|a| Alias {
            name: self.ident(&a.name),
            asname: a.asname.as_ref().map(|name| self.ident(name)),
        });
        aliases.collect()
    }

    fn function(&mut self, def: &ruff::StmtFunctionDef) -> FunctionDef {
        FunctionDef {
            ident: self.ident(&def.name),
            decorators: self.exprs(def.decorator_list.iter().map(|d| &d.expression)),
            params: self.params(&def.parameters),
            returns: self.option(def.returns.as_deref()),
            body: self.body(&def.body),
            span: span(def.range),
        }
    }

    fn class(&mut self, def: &ruff::StmtClassDef) -> ClassDef {
        ClassDef {
            ident: self.ident(&def.name),
            decorators: self.exprs(def.decorator_list.iter().map(|d| &d.expression)),
            bases: self.exprs(def.bases()),
            keywords: self.keywords(def.keywords()),
            body: self.body(&def.body),
            span: span(def.range),
        }
    }
}
