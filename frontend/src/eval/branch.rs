//! `if`: pruned on constants, `scf.if` on run-time conditions, blocks of a control-flow graph where a branch
//! returns.

use std::rc::Rc;

use tilescope_ir::{Attrs, BlockId, OpCode, Type, ValueId};

use super::outline::flatten_types;
use super::stmt::Flow;
use crate::ast::{Expr, Name, Span, Stmt, StmtKind};
use crate::cx::{Cx, Local, Locals, Result, Returns};
use crate::value::{Tensor, Value};

/// Whether statements contain a `return`.
pub(super) fn returns(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::If { then, otherwise, .. } => returns(then) || returns(otherwise),
        StmtKind::For { body, otherwise, .. } | StmtKind::While { body, otherwise, .. } => {
            returns(body) || returns(otherwise)
        }
        StmtKind::With { body, .. } => returns(body),
        _ => false,
    })
}

/// A variable that the branches leave with different values.
struct Merged {
    name: Name,
    then: Value,
    otherwise: Value,
    at: Option<Span>,
}

impl Merged {
    fn handles(merged: &[Merged], side: fn(&Merged) -> &Value) -> Vec<ValueId> {
        let mut handles = Vec::new();
        merged.iter().for_each(|m| side(m).flatten(&mut handles));
        handles
    }
}

impl Cx<'_> {
    pub(super) fn if_stmt(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt]) -> Result<Flow> {
        let span = condition.span;
        let stmt = self.place.span;
        match self.expr(condition)? {
            Value::Error => {
                // Errors in the branches are worth telling; what they assign is unknown.
                for branch in [then, otherwise] {
                    for stmt in branch {
                        self.poison(stmt);
                    }
                }
                Ok(Flow::Next)
            }
            Value::Tensor(tensor) => {
                let entered = self.enter(span);
                let condition = self.to_condition(&tensor);
                self.leave(entered);
                let condition = condition?;
                if !returns(then) && !returns(otherwise) {
                    return self.structured_if(&condition, then, otherwise, stmt);
                }
                if self.scope.regions > 0 {
                    return Err(self
                        .error("a kernel cannot `return` inside of a run-time loop")
                        .help("keep a result in a variable and return it after the loop"));
                }
                match self.scope.returns {
                    // What nothing reaches is thrown away: blocks do not hurt there.
                    Returns::Inline(_) if !self.is_unreached() => Ok(Flow::Outline),
                    _ => self.branching_if((&condition, span), then, otherwise, stmt),
                }
            }
            condition => {
                let taken = self.constant_condition(&condition, span)?;
                Ok(self.block(if taken { then } else { otherwise }))
            }
        }
    }

    fn structured_if(
        &mut self,
        condition: &Tensor,
        then: &[Stmt],
        otherwise: &[Stmt],
        stmt: Span,
    ) -> Result<Flow> {
        let before = self.scope.locals.clone();
        let pending = self.scope.pending.clone();
        let outer = self.b.cursor();
        self.scope.regions += 1;
        let (then_region, _) = self.b.open_region(&[]);
        let then_block = self.b.cursor();
        let then_flow = self.block(then);
        let after_then = std::mem::replace(&mut self.scope.locals, before.clone());
        self.scope.pending.clone_from(&pending);
        self.b.move_to(outer);
        let (else_region, _) = self.b.open_region(&[]);
        let else_block = self.b.cursor();
        let else_flow = match then_flow {
            Flow::Next => self.block(otherwise),
            _ => then_flow,
        };
        let after_else = std::mem::replace(&mut self.scope.locals, before.clone());
        self.scope.regions -= 1;
        self.scope.pending = pending;
        self.b.move_to(outer);
        if else_flow != Flow::Next {
            return Ok(else_flow);
        }
        let merged = self.merge(&before, &after_then, &after_else, stmt);
        let then_handles = Merged::handles(&merged, |m| &m.then);
        let else_handles = Merged::handles(&merged, |m| &m.otherwise);
        let results: Vec<Type> = then_handles.iter().map(|&v| self.b.ty(v)).collect();
        self.b.move_to(then_block);
        let then_region = self.b.close_region(then_region, OpCode::Yield, then_handles);
        self.b.move_to(else_block);
        let else_region = self.b.close_region(else_region, OpCode::Yield, else_handles);
        self.b.move_to(outer);
        let made = self.b.op_with_regions(
            OpCode::If,
            &[condition.value],
            Attrs::None,
            &results,
            vec![then_region, else_region],
        );
        self.take_merged(&merged, &made);
        Ok(Flow::Next)
    }

    /// Gives merged variables the values that both branches lead to.
    fn take_merged(&mut self, merged: &[Merged], values: &[ValueId]) {
        let mut values = values.iter().copied();
        for m in merged {
            let value = m.then.rebuild(&mut values);
            self.name_values(&m.name, &value);
            self.scope.locals.assign(&m.name, value, m.at);
        }
    }

    /// Names IR values after a variable, where an operation gives several.
    pub(super) fn name_values(&mut self, name: &Name, value: &Value) {
        let mut handles = Vec::new();
        value.flatten(&mut handles);
        for handle in handles {
            self.b.name(handle, name);
        }
    }

    fn branching_if(
        &mut self,
        (condition, at): (&Tensor, Span),
        then: &[Stmt],
        otherwise: &[Stmt],
        stmt: Span,
    ) -> Result<Flow> {
        let before = self.scope.locals.clone();
        let pending = self.scope.pending.clone();
        let then_block = self.b.add_block();
        let else_block = self.b.add_block();
        // Triton gives the branch the place of its condition.
        let entered = self.enter(at);
        self.b.cond_br(condition.value, then_block, else_block);
        self.leave(entered);

        // Each branch may return, and then go on unreached; what is around it may be so already.
        let outer = self.scope.in_unreached;
        self.scope.in_unreached = self.is_unreached();
        let unreached = self.scope.unreached.take();
        self.b.move_to(then_block);
        let then_flow = self.block(then);
        self.end_unreached();
        let then_end = self.b.cursor();
        if matches!(then_flow, Flow::Stop | Flow::Outline) {
            return Ok(then_flow);
        }
        let after_then = std::mem::replace(&mut self.scope.locals, before.clone());
        self.scope.pending = pending;

        self.b.move_to(else_block);
        let else_flow = self.block(otherwise);
        self.end_unreached();
        let else_end = self.b.cursor();
        self.scope.unreached = unreached;
        self.scope.in_unreached = outer;
        if matches!(else_flow, Flow::Stop | Flow::Outline) {
            return Ok(else_flow);
        }
        let after_else = std::mem::replace(&mut self.scope.locals, before.clone());
        // Triton joins the variables of both branches, whether they return or not.
        let merged = self.merge(&before, &after_then, &after_else, stmt);
        Ok(match (then_flow, else_flow) {
            (Flow::Return, Flow::Return) => {
                self.begin_unreached();
                for m in &merged {
                    let value = self.placeholder(&m.then);
                    self.scope.locals.assign(&m.name, value, m.at);
                }
                Flow::Return
            }
            // What follows continues the branch that goes on.
            (Flow::Return, _) => {
                for m in merged {
                    self.scope.locals.assign(&m.name, m.otherwise, m.at);
                }
                Flow::Next
            }
            (_, Flow::Return) => {
                for m in merged {
                    self.scope.locals.assign(&m.name, m.then, m.at);
                }
                self.b.move_to(then_end);
                Flow::Next
            }
            _ => {
                self.join_blocks((then_end, else_end), &merged);
                Flow::Next
            }
        })
    }

    /// A value of the same type, made of nothing.
    fn placeholder(&mut self, value: &Value) -> Value {
        let mut types = Vec::new();
        flatten_types(value, &mut types);
        let values: Vec<ValueId> = types
            .into_iter()
            .map(|ty| self.b.value(OpCode::Poison, &[], Attrs::None, ty))
            .collect();
        value.rebuild(&mut values.into_iter())
    }

    /// Ends two blocks in a third one, whose arguments are what they leave in variables.
    fn join_blocks(&mut self, (then_end, else_end): (BlockId, BlockId), merged: &[Merged]) {
        let then_handles = Merged::handles(merged, |m| &m.then);
        let else_handles = Merged::handles(merged, |m| &m.otherwise);
        let join = self.b.add_block();
        let args: Vec<ValueId> = then_handles
            .iter()
            .map(|&v| {
                let ty = self.b.ty(v);
                self.b.block_arg(join, ty)
            })
            .collect();
        self.b.move_to(then_end);
        self.b.br(join, &then_handles);
        self.b.move_to(else_end);
        self.b.br(join, &else_handles);
        self.b.move_to(join);
        self.take_merged(merged, &args);
    }

    /// The variables after both branches of an `if`: the scope gets those that need no operation; the others are
    /// returned.
    fn merge(&mut self, before: &Locals, then: &Locals, otherwise: &Locals, stmt: Span) -> Vec<Merged> {
        let mut merged = Vec::new();
        let errors = self.errors.len();
        for old in before.iter() {
            let (Some(a), Some(b)) = (then.find(&old.name), otherwise.find(&old.name)) else {
                continue;
            };
            if a.value.same(&old.value) && b.value.same(&old.value) {
                continue;
            }
            self.merge_old(&mut merged, old, a, b, stmt);
        }
        for a in then.iter().filter(|a| before.find(&a.name).is_none()) {
            match otherwise.find(&a.name) {
                Some(b) => self.merge_new(&mut merged, a, b, stmt),
                None => self.lose(&a.name, "one branch", stmt),
            }
        }
        for b in otherwise.iter() {
            if before.find(&b.name).is_none() && then.find(&b.name).is_none() {
                self.lose(&b.name, "one branch", stmt);
            }
        }
        if self.errors.len() > errors {
            // Nothing of this function will be used; operations need not be right.
            merged.clear();
        }
        merged
    }

    fn lose(&mut self, name: &Name, branches: &str, stmt: Span) {
        let line = self.line_of(stmt);
        let why = format!("it is assigned in {branches} of the run-time `if` on line {line} only");
        self.scope.lost.push((name.clone(), Rc::from(why)));
    }

    /// A variable that there was before the `if`.
    fn merge_old(&mut self, merged: &mut Vec<Merged>, old: &Local, a: &Local, b: &Local, stmt: Span) {
        if a.value.has_error() || b.value.has_error() || old.value.has_error() {
            self.scope.locals.set(&old.name, Value::Error);
            return;
        }
        if !a.value.is_runtime() && !b.value.is_runtime() {
            // Constants that the branches set are dropped, unless both set the same one.
            if a.value.same(&b.value) {
                self.scope.locals.assign(&old.name, a.value.clone(), a.at);
            }
            return;
        }
        // Only `None` and types are no values of Triton's, and give way to run-time ones.
        let gives_way = matches!(old.value, Value::None | Value::Type(_) | Value::Opaque(_));
        if a.value.same_type(&b.value) && (a.value.same_type(&old.value) || gives_way) {
            merged.push(Merged {
                name: old.name.clone(),
                then: a.value.clone(),
                otherwise: b.value.clone(),
                at: a.at,
            });
            return;
        }
        // As Triton: what a branch assigns to a variable that was `None` does not leave the branch.
        if matches!(old.value, Value::None) && (a.value.same(&old.value) || b.value.same(&old.value)) {
            let line = self.line_of(stmt);
            if self.dry == 0 {
                self.notes.push(format!(
                    "line {line}: `{}` is `None` before this `if`, and stays so: what its branch assigns is dropped, as Triton does",
                    old.name
                ));
            }
            return;
        }
        self.scope.locals.set(&old.name, Value::Error);
        let (changed, branch) = if a.value.same_type(&old.value) {
            (b, "else")
        } else {
            (a, "then")
        };
        let message = format!(
            "`{}` changes its type in the {branch} branch of a run-time `if`",
            old.name
        );
        let error = self.type_change(message, stmt, old, changed);
        self.report(error);
    }

    /// The error of a variable whose type changes where it must not.
    pub(super) fn type_change(
        &self,
        message: String,
        stmt: Span,
        before: &Local,
        after: &Local,
    ) -> Box<tilescope_diagnostics::Error> {
        let source = self.program.source(self.place.module);
        let mut error = self.error_at(
            after.at.unwrap_or(stmt),
            message,
            &format!("now {}", after.value.type_text()),
        );
        if let Some(at) = before.at {
            error = error.at(
                &source,
                at.range(),
                format!("before, {}", before.value.type_text()),
            );
        } else {
            error = error.note(format!("before, it is {}", before.value.type_text()));
        }
        if before.value.is_runtime() && after.value.is_runtime() {
            error.help("convert one of them with `.to(…)`, or start with the type that it has later")
        } else if before.value.is_runtime() {
            error
        } else {
            error.note("a compile-time constant cannot change at run time")
        }
    }

    /// A variable that both branches assign for the first time.
    fn merge_new(&mut self, merged: &mut Vec<Merged>, a: &Local, b: &Local, stmt: Span) {
        let name = &a.name;
        if a.value.has_error() || b.value.has_error() {
            self.scope.locals.set(name, Value::Error);
        } else if a.value.same_type(&b.value) {
            merged.push(Merged {
                name: name.clone(),
                then: a.value.clone(),
                otherwise: b.value.clone(),
                at: a.at,
            });
        } else if a.value.is_runtime() && b.value.is_runtime() {
            self.scope.locals.set(name, Value::Error);
            let message = format!("`{name}` has different types after the branches of a run-time `if`");
            let source = self.program.source(self.place.module);
            let mut error = self.error_at(a.at.unwrap_or(stmt), message, &a.value.type_text());
            if let Some(at) = b.at {
                error = error.at(&source, at.range(), b.value.type_text());
            }
            self.report(error.help("convert one of them with `.to(…)`"));
        } else {
            let line = self.line_of(stmt);
            let why =
                format!("the branches of the run-time `if` on line {line} leave different constants in it");
            self.scope.lost.push((name.clone(), Rc::from(why)));
        }
    }
}
