//! Statements of host code.

use std::collections::HashSet;
use std::rc::Rc;

use super::CONSTRUCTOR;
use crate::ast::{Alias, Expr, ExprKind, FunctionDef, Ident, Name, Stmt, StmtKind};
use crate::cx::{Cx, Result};
use crate::konst;
use crate::source::{EVERYTHING, Found};
use crate::value::{Function, Instance, Module, Value};

/// How a statement ends.
#[derive(Debug)]
pub(crate) enum Flow {
    /// The next one follows.
    Next,
    Break,
    Continue,
    Return(Value),
}

impl Cx<'_> {
    /// Runs statements one after the other.
    pub(crate) fn host_block(&mut self, body: &[Stmt]) -> Result<Flow> {
        for stmt in body {
            let span = std::mem::replace(&mut self.place.span, stmt.span);
            let flow = self
                .step()
                .and_then(|()| self.deeper_in(stmt.span, |cx| cx.host_stmt(stmt)));
            self.place.span = span;
            match flow? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn host_stmt(&mut self, stmt: &Stmt) -> Result<Flow> {
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                // A docstring says nothing.
                if !matches!(expr.kind, ExprKind::Str(_)) {
                    self.expr(expr)?;
                }
            }
            StmtKind::Assign { targets, value } => {
                let value = self.expr(value)?;
                for target in targets {
                    self.host_assign(target, value.clone())?;
                }
            }
            StmtKind::AugAssign { target, op, value } => {
                let value = self.expr(value)?;
                let old = self.expr(target)?;
                let new = match (&old, op) {
                    (Value::List(items), crate::ast::BinaryOp::Add) => {
                        let more = konst::index::iterate(&value).map_err(|why| self.error(why))?;
                        konst::bounded_len(items.borrow().len() + more.len())
                            .map_err(|why| self.error(why))?;
                        items.borrow_mut().extend(more);
                        old.clone()
                    }
                    _ => konst::binary(*op, &old, &value).map_err(|why| self.error(why))?,
                };
                self.host_assign(target, new)?;
            }
            StmtKind::AnnAssign { target, value, .. } => {
                if let Some(value) = value {
                    let value = self.expr(value)?;
                    self.host_assign(target, value)?;
                }
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                let branch = if self.host_truth(condition)? {
                    then
                } else {
                    otherwise
                };
                return self.host_block(branch);
            }
            StmtKind::For {
                target,
                iter,
                body,
                otherwise,
            } => return self.host_for(target, iter, body, otherwise),
            StmtKind::While {
                condition,
                body,
                otherwise,
            } => return self.host_while(condition, body, otherwise),
            StmtKind::With { items, body } => {
                for (_, name) in items {
                    if let Some(target) = name {
                        self.host_assign(target, Value::Opaque("it is what a `with` gives".into()))?;
                    }
                }
                return self.host_block(body);
            }
            StmtKind::Return(value) => {
                return Ok(Flow::Return(match value {
                    Some(value) => self.expr(value)?,
                    None => Value::None,
                }));
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Try {
                body,
                handlers,
                otherwise,
                finally,
            } => return self.host_try(body, handlers, otherwise, finally),
            _ => self.host_simple(stmt)?,
        }
        Ok(Flow::Next)
    }

    /// Statements that only go on.
    fn host_simple(&mut self, stmt: &Stmt) -> Result<()> {
        match &stmt.kind {
            StmtKind::Pass => {}
            StmtKind::Assert { condition, message } => {
                let value = self.expr(condition)?;
                // What cannot be said is taken to hold, as when Python runs with `-O`.
                if matches!(konst::truth(&value), Ok(false)) {
                    let message = match message {
                        Some(message) => {
                            let message = self.expr(message)?;
                            format!("an assertion fails: {}", konst::str(&message))
                        }
                        None => "an assertion fails".to_string(),
                    };
                    return Err(self.error_at(condition.span, message, ""));
                }
            }
            StmtKind::Raise(value) => {
                let text = match value {
                    Some(value) => self.exception_text(value),
                    None => "an exception".to_string(),
                };
                return Err(self.error(text));
            }
            StmtKind::Delete(targets) => {
                for target in targets {
                    self.host_delete(target)?;
                }
            }
            StmtKind::Function(def) => {
                let value = self.nested_function(def);
                self.scope.locals.set(&def.ident.name, value);
            }
            StmtKind::Class(class) => {
                let module = self.scope.module;
                let value = self.class_value(module, class, self.scope.before);
                self.scope.locals.set(&class.ident.name, value);
            }
            StmtKind::Import(aliases) => {
                for alias in aliases {
                    self.host_import(alias)?;
                }
            }
            StmtKind::ImportFrom { module, level, names } => {
                for alias in names {
                    let here = self.scope.module;
                    let value = self.imported(here, module, *level, &alias.name.name)?.value;
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.scope.locals.set(&name.name, value);
                }
            }
            StmtKind::Global(names) => {
                let names: Vec<&str> = names.iter().map(|n| &*n.name).collect();
                return Err(self.unsupported(format!("`global {}` at compile time", names.join(", "))));
            }
            StmtKind::Other(what) => {
                return Err(self.unsupported(format!("`{what}` at compile time")));
            }
            _ => {}
        }
        Ok(())
    }

    /// What an exception says, by the text of `raise X("…")`.
    fn exception_text(&mut self, value: &Expr) -> String {
        let (name, args) = match &value.kind {
            ExprKind::Call(call) => (&call.function, call.args.as_slice()),
            _ => (value, &[][..]),
        };
        let name = match &name.kind {
            ExprKind::Name(name) => name.to_string(),
            ExprKind::Attribute(_, name) => name.name.to_string(),
            _ => "an exception".to_string(),
        };
        match args.first().map(|text| self.expr(text)) {
            Some(Ok(text)) => format!("{name}: {}", konst::str(&text)),
            _ => name,
        }
    }

    fn host_truth(&mut self, condition: &Expr) -> Result<bool> {
        let value = self.expr(condition)?;
        konst::truth(&value)
            .map_err(|why| self.error_at(condition.span, format!("this is not known: {why}"), ""))
    }

    fn host_for(&mut self, target: &Expr, iter: &Expr, body: &[Stmt], otherwise: &[Stmt]) -> Result<Flow> {
        let items = self.expr(iter)?;
        let items = konst::index::iterate(&items).map_err(|why| self.error_at(iter.span, why, ""))?;
        for item in items {
            self.step()?;
            self.host_assign(target, item)?;
            match self.host_block(body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                flow @ Flow::Return(_) => return Ok(flow),
            }
        }
        self.host_block(otherwise)
    }

    fn host_while(&mut self, condition: &Expr, body: &[Stmt], otherwise: &[Stmt]) -> Result<Flow> {
        while self.host_truth(condition)? {
            self.step()?;
            match self.host_block(body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                flow @ Flow::Return(_) => return Ok(flow),
            }
        }
        self.host_block(otherwise)
    }

    /// The first handler stands for all: the exceptions' classes are not kept.
    fn host_try(
        &mut self,
        body: &[Stmt],
        handlers: &[Vec<Stmt>],
        otherwise: &[Stmt],
        finally: &[Stmt],
    ) -> Result<Flow> {
        let errors = self.errors.len();
        let flow = match (self.host_block(body), handlers.first()) {
            (Ok(Flow::Next), _) => self.host_block(otherwise),
            (Err(_), Some(handler)) if !self.stopped => {
                self.errors.truncate(errors);
                self.host_block(handler)
            }
            (flow, _) => flow,
        };
        match self.host_block(finally)? {
            Flow::Next => flow,
            ended => Ok(ended),
        }
    }

    /// Assigns to a name, a tuple of targets, an item or an attribute.
    pub(super) fn host_assign(&mut self, target: &Expr, value: Value) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => self.scope.locals.set(name, value),
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                self.host_unpack(target, targets, &value)?
            }
            ExprKind::Starred(inner) => self.host_assign(inner, value)?,
            ExprKind::Subscript(of, index) => {
                let of = self.expr(of)?;
                let index = self.expr(index)?;
                self.nest([&value])?;
                konst::index::assign(&of, &index, value)
                    .map_err(|why| self.error_at(target.span, why, ""))?;
            }
            ExprKind::Attribute(of, name) => self.host_assign_attribute(of, name, value)?,
            _ => return Err(self.error_at(target.span, "this cannot be assigned", "")),
        }
        Ok(())
    }

    fn host_unpack(&mut self, whole: &Expr, targets: &[Expr], value: &Value) -> Result<()> {
        let items = konst::index::iterate(value).map_err(|why| self.error_at(whole.span, why, ""))?;
        let star = targets
            .iter()
            .position(|t| matches!(t.kind, ExprKind::Starred(_)));
        let fits = match star {
            Some(_) => items.len() + 1 >= targets.len(),
            None => items.len() == targets.len(),
        };
        if !fits {
            let message = format!("{} values for {} names", items.len(), targets.len());
            return Err(self.error_at(whole.span, message, ""));
        }
        let taken = (items.len() + 1).saturating_sub(targets.len());
        let mut items = items.into_iter();
        for (at, target) in targets.iter().enumerate() {
            let value = if Some(at) == star {
                konst::list(items.by_ref().take(taken).collect())
            } else {
                items.next().unwrap_or(Value::None)
            };
            self.host_assign(target, value)?;
        }
        Ok(())
    }

    /// Objects are values here: an attribute is set by making the object anew, which only a constructor may do.
    fn host_assign_attribute(&mut self, of: &Expr, name: &Ident, value: Value) -> Result<()> {
        let object = self.expr(of)?;
        let Value::Instance(instance) = object else {
            // Libraries and functions have attributes that nothing here depends on.
            return match object {
                Value::Opaque(_) | Value::Module(_) | Value::Function(_) | Value::Builtin(_) => Ok(()),
                other => Err(self.error_at(
                    name.span,
                    format!(
                        "an attribute of a value of type {} cannot be assigned",
                        konst::type_name(&other)
                    ),
                    "",
                )),
            };
        };
        let ExprKind::Name(variable) = &of.kind else {
            return Err(self.unsupported("assigning an attribute of an attribute at compile time"));
        };
        if self.frames.last().is_some_and(|frame| frame.key != CONSTRUCTOR) {
            return Err(self.unsupported(format!(
                "assigning `{variable}.{}` outside of its class's constructor",
                name.name
            )));
        }
        let mut fields = instance.fields.clone();
        match fields.iter_mut().find(|(field, _)| *field == name.name) {
            Some((_, field)) => *field = value,
            None => fields.push((name.name.clone(), value)),
        }
        let changed = Value::Instance(Rc::new(Instance {
            class: instance.class.clone(),
            fields,
        }));
        self.scope.locals.set(variable, changed);
        Ok(())
    }

    fn host_delete(&mut self, target: &Expr) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                if self.scope.locals.remove(name).is_none() {
                    return Err(self.error_at(target.span, format!("`{name}` is not defined"), ""));
                }
                Ok(())
            }
            ExprKind::Subscript(of, index) => {
                let of = self.expr(of)?;
                let index = self.expr(index)?;
                konst::index::delete(&of, &index).map_err(|why| self.error_at(target.span, why, ""))
            }
            _ => Err(self.error_at(target.span, "this cannot be deleted", "")),
        }
    }

    /// A function defined inside of another one, with the variables that it can see.
    fn nested_function(&mut self, def: &Rc<FunctionDef>) -> Value {
        let module = self.scope.module;
        let kind = match self.program.function_kind(module, def) {
            Ok(kind) => kind,
            Err(decorator) => return Value::Opaque(format!("`@{decorator}` is not supported").into()),
        };
        Value::Function(Rc::new(Function {
            def: def.clone(),
            module,
            kind,
            class: None,
            captured: self.visible_to(def),
        }))
    }

    /// The variables that a function defined here sees beyond the file's: those whose names stand in its text.
    pub(crate) fn visible_to(&self, def: &FunctionDef) -> Vec<(Name, Value)> {
        let source = self.program.source(self.scope.module);
        let text = source.text.get(def.span.range()).unwrap_or_default();
        let words: HashSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        // At the top level, names are looked up in the file.
        let at_top = self.frames.is_empty() && self.scope.before != EVERYTHING;
        let own = self.scope.locals.iter().filter(|_| !at_top);
        let own = own.map(|local| (local.name.clone(), local.value.clone()));
        let all = own.chain(self.scope.captured.iter().cloned());
        all.filter(|(name, _)| words.contains(&**name)).collect()
    }

    fn host_import(&mut self, alias: &Alias) -> Result<()> {
        let (name, dotted): (Name, &str) = match &alias.asname {
            Some(name) => (name.name.clone(), &alias.name.name),
            None => {
                let first = alias.name.name.split('.').next().unwrap_or_default();
                (first.into(), first)
            }
        };
        let value = match self.program.find_module(self.scope.module, dotted, 0)? {
            Found::Library(library) => Value::Module(Module::Known(library)),
            Found::File(id) => Value::Module(Module::File(id)),
            Found::Missing => return Err(self.error(format!("the module `{dotted}` is not found"))),
        };
        self.scope.locals.set(&name, value);
        Ok(())
    }
}
