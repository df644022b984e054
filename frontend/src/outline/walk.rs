//! Every expression of some statements, without meaning: for questions such as which names a function mentions.
//!
//! Recursion is as deep as the syntax, which the parser bounds ([`MAX_DEPTH`](crate::limits::MAX_DEPTH)).

use crate::ast::{Expr, ExprKind, FormatPart, Stmt, StmtKind};

/// Calls `visit` for each expression of the statements and of those inside of them, parents first.
pub(crate) fn statements<'a>(body: &'a [Stmt], visit: &mut dyn FnMut(&'a Expr)) {
    for stmt in body {
        own_expressions(stmt, &mut |expr| expression(expr, visit));
        for block in blocks(stmt) {
            statements(block, visit);
        }
    }
}

/// The statements inside of a statement; functions and classes are left out.
pub(crate) fn blocks(stmt: &Stmt) -> Vec<&[Stmt]> {
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
        StmtKind::For { body, otherwise, .. } | StmtKind::While { body, otherwise, .. } => {
            vec![body, otherwise]
        }
        StmtKind::With { body, .. } => vec![body],
        StmtKind::Try {
            body,
            handlers,
            otherwise,
            finally,
        } => {
            let mut blocks: Vec<&[Stmt]> = vec![body];
            blocks.extend(handlers.iter().map(Vec::as_slice));
            blocks.extend([otherwise.as_slice(), finally.as_slice()]);
            blocks
        }
        _ => Vec::new(),
    }
}

/// The expressions that stand directly in a statement.
fn own_expressions<'a>(stmt: &'a Stmt, visit: &mut dyn FnMut(&'a Expr)) {
    match &stmt.kind {
        StmtKind::Expr(value) => visit(value),
        StmtKind::Assign { targets, value } => {
            targets.iter().for_each(&mut *visit);
            visit(value);
        }
        StmtKind::AugAssign { target, value, .. } => {
            visit(target);
            visit(value);
        }
        StmtKind::AnnAssign { target, value, .. } => {
            visit(target);
            value.iter().for_each(visit);
        }
        StmtKind::If { condition, .. } | StmtKind::While { condition, .. } => visit(condition),
        StmtKind::For { target, iter, .. } => {
            visit(target);
            visit(iter);
        }
        StmtKind::With { items, .. } => {
            for (context, name) in items {
                visit(context);
                name.iter().for_each(&mut *visit);
            }
        }
        StmtKind::Return(value) | StmtKind::Raise(value) => value.iter().for_each(visit),
        StmtKind::Assert { condition, message } => {
            visit(condition);
            message.iter().for_each(visit);
        }
        StmtKind::Delete(items) => items.iter().for_each(visit),
        _ => {}
    }
}

/// Calls `visit` for an expression and those inside of it, parents first.
pub(crate) fn expression<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(expr);
    children(expr, &mut |child| expression(child, visit));
}

/// The expressions directly inside of an expression.
pub(crate) fn children<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Format(parts) => format_parts(parts, visit),
        ExprKind::Attribute(of, _) | ExprKind::Starred(of) | ExprKind::Unary(_, of) => visit(of),
        ExprKind::Subscript(of, index) => [of, index].into_iter().for_each(|e| visit(e)),
        ExprKind::Slice(lower, upper, step) => {
            [lower, upper, step].into_iter().flatten().for_each(|e| visit(e));
        }
        ExprKind::Call(call) => {
            visit(&call.function);
            call.args.iter().for_each(&mut *visit);
            call.keywords.iter().for_each(|(_, value)| visit(value));
        }
        ExprKind::Binary(_, left, right) => [left, right].into_iter().for_each(|e| visit(e)),
        ExprKind::Logic(_, items) | ExprKind::Tuple(items) | ExprKind::List(items) | ExprKind::Set(items) => {
            items.iter().for_each(visit);
        }
        ExprKind::Compare(first, rest) => {
            visit(first);
            rest.iter().for_each(|(_, right)| visit(right));
        }
        ExprKind::IfElse {
            condition,
            then,
            otherwise,
        } => [condition, then, otherwise].into_iter().for_each(|e| visit(e)),
        ExprKind::Dict(entries) => {
            for (key, value) in entries {
                key.iter().for_each(&mut *visit);
                visit(value);
            }
        }
        ExprKind::Walrus(_, value) => visit(value),
        ExprKind::Lambda(lambda) => visit(&lambda.body),
        ExprKind::Comprehension(all) => {
            visit(&all.element);
            all.value.iter().for_each(&mut *visit);
            for each in &all.loops {
                visit(&each.iter);
                each.conditions.iter().for_each(&mut *visit);
            }
        }
        _ => {}
    }
}

fn format_parts<'a>(parts: &'a [FormatPart], visit: &mut dyn FnMut(&'a Expr)) {
    for part in parts {
        if let FormatPart::Value { value, spec, .. } = part {
            visit(value);
            format_parts(spec, visit);
        }
    }
}
