//! Statements, assignments, and going on after errors.
//!
//! A statement in error is reported, the names that it would have assigned become [`Value::Error`], and the next
//! statement follows: one run shows several errors, and none of them twice.

use tilescope_diagnostics::Error;

use crate::ast::{BinaryOp, Expr, ExprKind, Name, Span, Stmt, StmtKind};
use crate::cx::{Args, Cx, Mode, Result};
use crate::limits::{MAX_ERRORS, MAX_OPS};
use crate::value::{Instance, Tuple, Value};

/// How a statement ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next statement follows.
    Next,
    /// The function has returned on every path that leads here.
    Return,
    /// The function returns under a run-time condition: it cannot be evaluated at its call.
    Outline,
    /// There is no point in going on.
    Stop,
}

impl Cx<'_> {
    /// Evaluates statements in order.
    pub(crate) fn block(&mut self, body: &[Stmt]) -> Flow {
        let mut returned = false;
        for stmt in body {
            if returned {
                self.begin_unreached();
            }
            match self.stmt(stmt) {
                Ok(Flow::Next) => {}
                // Only a `return` itself ends its block: see [`super::returns`].
                Ok(Flow::Return) if !matches!(stmt.kind, StmtKind::Return(_)) => returned = true,
                Ok(flow) => return flow,
                Err(error) => {
                    self.report(error);
                    if let StmtKind::Return(_) = stmt.kind {
                        self.record_return(Value::Error);
                        return Flow::Return;
                    }
                    self.poison(stmt);
                }
            }
            if self.stopped {
                return Flow::Stop;
            }
        }
        if returned { Flow::Return } else { Flow::Next }
    }

    /// Keeps an error, unless the same was reported before.
    pub(crate) fn report(&mut self, error: Box<Error>) {
        let again = |e: &Error| e.message == error.message && e.labels.first() == error.labels.first();
        if !self.errors.iter().any(|e| again(e)) {
            self.errors.push(error);
        }
        if self.errors.len() >= MAX_ERRORS {
            self.stopped = true;
        }
    }

    /// Marks the names that a statement in error would have assigned.
    pub(crate) fn poison(&mut self, stmt: &Stmt) {
        let mut names = Vec::new();
        assigned_by(stmt, &mut names);
        for name in names {
            self.scope.locals.assign(&name, Value::Error, Some(stmt.span));
        }
    }

    pub(crate) fn stmt(&mut self, stmt: &Stmt) -> Result<Flow> {
        self.step()?;
        self.bound_ops()?;
        self.deeper_in(stmt.span, |cx| cx.stmt_at(stmt))
    }

    /// Refuses to go on when there are too many operations.
    fn bound_ops(&mut self) -> Result<()> {
        if self.b.op_count() <= MAX_OPS {
            return Ok(());
        }
        self.stopped = true;
        Err(self
            .error(format!("the kernel makes more than {MAX_OPS} operations"))
            .help("is there a loop at compile time (`tl.static_range`) that could be `tl.range`?"))
    }

    fn stmt_at(&mut self, stmt: &Stmt) -> Result<Flow> {
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                self.expr(expr)?;
            }
            StmtKind::Assign { targets, value } => match targets.as_slice() {
                [target] => self.assign(target, value)?,
                _ => {
                    return Err(self
                        .error("a kernel cannot assign to several targets at once")
                        .help("write one assignment per target"));
                }
            },
            StmtKind::AugAssign { target, op, value } => self.aug_assign(target, *op, value)?,
            StmtKind::AnnAssign {
                target,
                annotation,
                value,
            } => self.ann_assign(target, annotation, value.as_ref())?,
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => return self.if_stmt(condition, then, otherwise),
            StmtKind::For {
                target,
                iter,
                body,
                otherwise,
            } => return self.for_stmt(target, iter, body, otherwise),
            StmtKind::While {
                condition,
                body,
                otherwise,
            } => return self.while_stmt(condition, body, otherwise),
            StmtKind::With { items, body } => return self.with_stmt(items, body),
            StmtKind::Return(value) => return self.return_stmt(value.as_ref()),
            StmtKind::Pass => {}
            StmtKind::Assert { condition, message } => self.assert_stmt(condition, message.as_ref())?,
            _ => return Err(self.refused(stmt)),
        }
        Ok(Flow::Next)
    }

    /// Statements of Python that Triton's kernels do not have.
    fn refused(&self, stmt: &Stmt) -> Box<Error> {
        let (what, help) = match &stmt.kind {
            StmtKind::Break => (
                "`break`",
                "a `while` loop with the condition in its head ends early; a mask makes the last rounds idle",
            ),
            StmtKind::Continue => ("`continue`", "put the rest of the loop's body under an `if`"),
            StmtKind::Raise(_) => (
                "`raise`",
                "`tl.static_assert` checks at compile time, `tl.device_assert` at run time",
            ),
            StmtKind::Delete(_) => ("`del`", "a name that is not used costs nothing"),
            StmtKind::Global(_) => (
                "`global`",
                "kernels have no global variables; pass pointers to memory",
            ),
            StmtKind::Function(_) => (
                "a function in a function",
                "move it to the top level of the file, with `@triton.jit`",
            ),
            StmtKind::Class(_) => ("a class", "move it to the top level of the file"),
            StmtKind::Import(_) | StmtKind::ImportFrom { .. } => {
                ("`import`", "move it to the top level of the file")
            }
            StmtKind::Try { .. } => ("`try`", "kernels have no exceptions"),
            StmtKind::Other(what) => {
                return self.error(format!("a kernel cannot use `{what}`"));
            }
            _ => (
                "this statement",
                "see Triton's documentation for what kernels may use",
            ),
        };
        self.error(format!("a kernel cannot use {what}")).help(help)
    }

    fn assign(&mut self, target: &Expr, value: &Expr) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                let value = self.assigned_value(name, value)?;
                self.scope.locals.assign(name, value, Some(target.span));
                Ok(())
            }
            _ => {
                let value = self.expr(value)?;
                self.assign_value(target, value)
            }
        }
    }

    /// The value of `name = expr`: operations made for it are named after it.
    pub(crate) fn assigned_value(&mut self, name: &Name, value: &Expr) -> Result<Value> {
        self.named(name, |cx| {
            let value = cx.expr(value)?;
            cx.variable_value(Some(name), value)
        })
    }

    /// Runs something whose operations are named after a variable.
    pub(crate) fn named<T>(&mut self, name: &Name, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = self.scope.target.replace(name.clone());
        let span = self.place.span;
        let entered = self.enter(span);
        let result = inner(self);
        self.leave(entered);
        self.scope.target = outer;
        result
    }

    /// What a variable holds after it was assigned `value`: in kernels numbers become tensors, unless the name was
    /// declared a `tl.constexpr`.
    pub(crate) fn variable_value(&mut self, name: Option<&Name>, value: Value) -> Result<Value> {
        if self.scope.mode == Mode::Host {
            return Ok(value);
        }
        if let Some(name) = name
            && let Some(index) = self.scope.pending.iter().position(|(n, _)| n == name)
        {
            self.scope.pending.remove(index);
            return Ok(value);
        }
        match value {
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => Ok(Value::Tensor(self.to_tensor(&value)?)),
            Value::Tuple(tuple) => {
                let mut items = Vec::with_capacity(tuple.items.len());
                for item in tuple.items.iter() {
                    self.bound_ops()?;
                    items.push(self.variable_value(None, item.clone())?);
                }
                Ok(Value::Tuple(Tuple {
                    items: items.into(),
                    class: tuple.class,
                }))
            }
            Value::Str(_) | Value::Function(_) | Value::Lambda(_) | Value::Builtin(_) | Value::Module(_) => {
                Err(self
                    .error(format!("a variable of a kernel cannot hold {}", value.describe()))
                    .help("declare it: `name: tl.constexpr = …`"))
            }
            other => Ok(other),
        }
    }

    /// Assigns a value that is already made.
    pub(crate) fn assign_value(&mut self, target: &Expr, value: Value) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                let value = self.variable_value(Some(name), value)?;
                self.scope.locals.assign(name, value, Some(target.span));
                Ok(())
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => self.unpack(targets, &value, target.span),
            ExprKind::Attribute(of, name) => self.assign_field(of, &name.name, value),
            ExprKind::Subscript(..) => Err(self
                .error_at(target.span, "an element cannot be assigned", "")
                .note("values of a kernel do not change: blocks live in registers, tuples are constant")
                .help("`tl.where` makes a block with some elements replaced; `tl.store` writes to memory")),
            ExprKind::Starred(_) => {
                Err(self.error_at(target.span, "a kernel cannot assign to a starred target", ""))
            }
            _ => Err(self.error_at(target.span, "this cannot be assigned", "")),
        }
    }

    fn unpack(&mut self, targets: &[Expr], value: &Value, span: Span) -> Result<()> {
        if let Some(starred) = targets.iter().find(|t| matches!(t.kind, ExprKind::Starred(_)))
            && self.scope.mode == Mode::Jit
        {
            return Err(self.error_at(starred.span, "a kernel cannot assign to a starred target", ""));
        }
        if value.has_error() && !matches!(value, Value::Tuple(_)) {
            for target in targets {
                self.assign_value(target, Value::Error)?;
            }
            return Ok(());
        }
        let is_tuple = matches!(value, Value::Tuple(_)) || self.scope.mode == Mode::Host;
        if !is_tuple {
            return Err(self
                .error_at(span, "this cannot be unpacked", &value.describe())
                .note(format!("{} values are assigned, from a tuple", targets.len())));
        }
        let items = self.spread(value)?;
        if items.len() != targets.len() {
            let what = if items.len() > targets.len() {
                "too many"
            } else {
                "not enough"
            };
            let under = format!("{} names for {} values", targets.len(), items.len());
            return Err(self.error_at(span, format!("{what} values to unpack"), &under));
        }
        for (target, item) in targets.iter().zip(items) {
            self.assign_value(target, item)?;
        }
        Ok(())
    }

    /// `self.field = value` while an instance is made.
    fn assign_field(&mut self, of: &Expr, field: &Name, value: Value) -> Result<()> {
        let under_construction = match (&of.kind, self.scope.mode) {
            (ExprKind::Name(name), Mode::Host) => match self.scope.locals.get(name) {
                Some(Value::Instance(instance)) => Some((name.clone(), instance.clone())),
                _ => None,
            },
            _ => None,
        };
        let Some((name, instance)) = under_construction else {
            return Err(self
                .error("an attribute cannot be assigned")
                .note("values of a kernel do not change once they are made"));
        };
        let mut fields = instance.fields.clone();
        match fields.iter_mut().find(|(n, _)| n == field) {
            Some((_, slot)) => *slot = value,
            None => fields.push((field.clone(), value)),
        }
        let instance = Instance {
            class: instance.class.clone(),
            fields,
        };
        self.scope.locals.set(&name, Value::Instance(instance.into()));
        Ok(())
    }

    fn aug_assign(&mut self, target: &Expr, op: BinaryOp, value: &Expr) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                let result = self.named(name, |cx| {
                    let old = cx.expr(target)?;
                    let value = cx.expr(value)?;
                    let result = cx.binary_op(op, &old, &value)?;
                    cx.variable_value(Some(name), result)
                })?;
                self.scope.locals.assign(name, result, Some(target.span));
                Ok(())
            }
            _ => {
                let old = self.expr(target)?;
                let value = self.expr(value)?;
                let result = self.binary_op(op, &old, &value)?;
                self.assign_value(target, result)
            }
        }
    }

    fn ann_assign(&mut self, target: &Expr, annotation: &Expr, value: Option<&Expr>) -> Result<()> {
        let is_constexpr = self.program.is_constexpr(self.scope.module, annotation);
        let ExprKind::Name(name) = &target.kind else {
            return match value {
                Some(value) => self.assign(target, value),
                None => Ok(()),
            };
        };
        match value {
            None if is_constexpr => {
                self.scope.pending.retain(|(n, _)| n != name);
                self.scope.pending.push((name.clone(), Value::None));
                Ok(())
            }
            None => Ok(()),
            Some(value) if is_constexpr => {
                if let Some(local) = self.scope.locals.find(name) {
                    let error = self.error(format!(
                        "`{name}` is already defined: a constexpr is assigned once"
                    ));
                    return Err(match local.at {
                        Some(at) => error.at(
                            &self.program.source(self.place.module),
                            at.range(),
                            "it is defined here",
                        ),
                        None => error,
                    });
                }
                let span = value.span;
                let value = self.expr(value)?;
                if let Value::Tensor(_) | Value::Descriptor(_) = value
                    && self.dry == 0
                {
                    let line = self.line_of(span);
                    self.notes.push(format!(
                        "line {line}: `{name}` is declared `tl.constexpr`, but holds a run-time value"
                    ));
                }
                self.scope.locals.assign(name, value, Some(target.span));
                Ok(())
            }
            Some(value) => self.assign(target, value),
        }
    }

    /// `with`: contexts that only annotate (warp-specialised tasks, profiler scopes) leave the body as it is.
    fn with_stmt(&mut self, items: &[(Expr, Option<Expr>)], body: &[Stmt]) -> Result<Flow> {
        for (context, _) in items {
            let callee = match &context.kind {
                ExprKind::Call(call) => &call.function,
                _ => context,
            };
            let name = match &callee.kind {
                ExprKind::Attribute(_, name) => &*name.name,
                ExprKind::Name(name) => &**name,
                _ => "",
            };
            if !matches!(name, "async_task" | "async_tasks" | "scope") {
                return Err(self.unsupported(format!("`with {name}(…)` is not supported")));
            }
        }
        if super::branch::returns(body) {
            return Err(self.error("a kernel cannot `return` inside of a `with`"));
        }
        Ok(self.block(body))
    }

    fn assert_stmt(&mut self, condition: &Expr, message: Option<&Expr>) -> Result<()> {
        let value = self.expr(condition)?;
        let text = match message {
            Some(message) => self.expr(message)?,
            None => Value::str(""),
        };
        if value.has_error() || text.has_error() {
            return Ok(());
        }
        let Some(function) = crate::language::attribute("triton.language", "device_assert") else {
            return Err(self.unsupported("`assert` is not supported"));
        };
        let args = Args {
            positional: vec![
                (value, condition.span),
                (text, message.map_or(condition.span, |m| m.span)),
            ],
            keywords: Vec::new(),
        };
        self.call(&function, args).map(|_| ())
    }
}

/// The variables that a statement assigns, on any path.
pub(super) fn assigned_by(stmt: &Stmt, names: &mut Vec<Name>) {
    let all = |bodies: &[&[Stmt]], names: &mut Vec<Name>| {
        bodies
            .iter()
            .flat_map(|b| b.iter())
            .for_each(|s| assigned_by(s, names));
    };
    match &stmt.kind {
        StmtKind::Assign { targets, .. } => targets.iter().for_each(|t| target_names(t, names)),
        StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } => {
            target_names(target, names)
        }
        StmtKind::If { then, otherwise, .. } => all(&[then, otherwise], names),
        StmtKind::For {
            target,
            body,
            otherwise,
            ..
        } => {
            target_names(target, names);
            all(&[body, otherwise], names);
        }
        StmtKind::While { body, otherwise, .. } => all(&[body, otherwise], names),
        StmtKind::With { body, .. } => all(&[body], names),
        _ => {}
    }
}

fn target_names(target: &Expr, names: &mut Vec<Name>) {
    match &target.kind {
        ExprKind::Name(name) => names.push(name.clone()),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|t| target_names(t, names)),
        ExprKind::Starred(inner) => target_names(inner, names),
        _ => {}
    }
}
