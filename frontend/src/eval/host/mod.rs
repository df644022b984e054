//! Python that runs at compile time: what stands at the top level of files, heuristics, configurations, functions
//! without `@triton.jit`.
//!
//! Statements run as in Python: loops are executed, one branch is taken, `return` may stand anywhere. Expressions
//! are those of [`expr`](super) in a scope of [`Mode::Host`]. What is left out is refused by name: `global`,
//! generators, classes inside of functions whose bodies do more than assign, changing an object's attributes outside
//! of its constructor.

mod statements;

use std::collections::HashMap;
use std::rc::Rc;

use tilescope_ir::LocId;

use crate::ast::{Expr, Name, Stmt, StmtKind};
use crate::cx::{Args, Cx, Frame, Mode, Result, Scope};
use crate::limits;
use crate::source::{Global, ModuleId, bound_by};
use crate::value::{Function, Value};

use statements::Flow;

/// The key of a frame in which an object's attributes may be assigned.
pub(super) const CONSTRUCTOR: &str = "__init__";

/// Most steps that one statement at the top level of a file, or one call of host code from a kernel, may take.
const MAX_HOST_STEPS: u64 = 300_000;

impl Cx<'_> {
    /// Calls a function of host code (undecorated, or `@triton.constexpr_function`).
    ///
    /// # Errors
    /// Arguments that do not bind, what is wrong inside, exceptions that it raises.
    pub(crate) fn call_host(&mut self, function: &Rc<Function>, args: Args) -> Result<Value> {
        let def = &function.def;
        let locals = self.bind_params(
            &def.ident.name,
            &def.params,
            function.module,
            args,
            Some(function),
        )?;
        let mut scope = Scope::new(function.module, Mode::Host);
        scope.captured.clone_from(&function.captured);
        scope.locals = locals;
        self.in_host_frame(&def.ident.name, scope, |cx| {
            Ok(match cx.host_block(&def.body)? {
                Flow::Return(value) => value,
                _ => Value::None,
            })
        })
    }

    /// Runs the inside of a call.
    fn in_host_frame<T>(
        &mut self,
        name: &Name,
        scope: Scope,
        inner: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let module = scope.module;
        self.frames.push(Frame {
            function: name.clone(),
            called_at: Some(self.place),
            call_loc: LocId::unknown(),
            // Host code may call itself; the depth of calls is bounded.
            key: String::new(),
        });
        let place = self.place;
        self.place.module = module;
        let scope = std::mem::replace(&mut self.scope, scope);
        let fuel = self.fuel;
        let spared = match scope.mode {
            Mode::Jit => fuel.saturating_sub(MAX_HOST_STEPS),
            Mode::Host => 0,
        };
        self.fuel = fuel - spared;
        let result = match self.deeper(inner) {
            Some(result) => result,
            None => Err(self.error(format!(
                "`{name}` calls itself more than {} times",
                limits::MAX_CALLS
            ))),
        };
        self.fuel += spared;
        self.scope = scope;
        self.place = place;
        self.frames.pop();
        result
    }

    /// Runs something at the top level of a file, where the entries before `index` have run.
    pub(crate) fn at_top_level<T>(
        &mut self,
        module: ModuleId,
        index: u32,
        inner: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut scope = Scope::new(module, Mode::Host);
        scope.before = index;
        let scope = std::mem::replace(&mut self.scope, scope);
        let frames = std::mem::take(&mut self.frames);
        let place = self.place;
        self.place.module = module;
        let (fuel, depth) = (self.fuel, self.depth);
        self.fuel = fuel.min(MAX_HOST_STEPS);
        let started = self.fuel;
        self.depth = 0;
        let stopped = self.stopped;
        let result = inner(self);
        self.stopped = stopped;
        self.fuel = fuel - (started - self.fuel);
        self.depth = depth;
        self.place = place;
        self.frames = frames;
        self.scope = scope;
        result
    }

    /// Runs a statement at the top level of a file; gives the names that it binds. What goes wrong makes them
    /// opaque.
    pub(crate) fn run_entry(
        &mut self,
        module: ModuleId,
        index: u32,
        stmt: &Stmt,
    ) -> Result<HashMap<Name, Global>> {
        let mut names = Vec::new();
        bound_by(stmt, &mut names);
        let constexpr = match &stmt.kind {
            StmtKind::Assign { value, .. } => self.makes_constexpr(module, index, value),
            StmtKind::AnnAssign { annotation, .. } => self.program.is_constexpr(module, annotation),
            _ => false,
        };
        let errors = self.errors.len();
        let mut values = Vec::new();
        let result = self.at_top_level(module, index, |cx| {
            let flow = cx.host_block(std::slice::from_ref(stmt));
            values = names
                .iter()
                .map(|name| cx.scope.locals.get(name).cloned())
                .collect();
            flow
        });
        let why = self.errors.get(errors).map(|error| error.message.clone());
        self.errors.truncate(errors);
        let mut bound = HashMap::new();
        for (name, value) in names.into_iter().zip(values) {
            let value = match (value, &result) {
                (Some(Value::Error), Ok(_)) => opaque(why.as_deref().unwrap_or("it is in error")),
                (Some(value), Ok(_)) => value,
                // A method or an assignment to a part: the object is what it was, changed in place.
                (None, _) => match self.global_before(module, &name, index)? {
                    Some(before) => {
                        bound.insert(name, before);
                        continue;
                    }
                    None => match &result {
                        Err(why) => opaque(&why.message),
                        Ok(_) => continue,
                    },
                },
                (Some(_), Err(why)) => opaque(&why.message),
            };
            bound.insert(name, Global { value, constexpr });
        }
        Ok(bound)
    }

    /// Evaluates an expression at the top level of a file, seeing what stands before entry `index`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn expr_at(&mut self, module: ModuleId, index: u32, expr: &Expr) -> Result<Value> {
        let errors = self.errors.len();
        let value = self.at_top_level(module, index, |cx| cx.expr(expr));
        self.errors.truncate(errors);
        value
    }

    /// Evaluates an expression that stands at a function, as its decorators do.
    pub(crate) fn expr_around(&mut self, function: &Function, expr: &Expr) -> Result<Value> {
        let index = self.program.position(function.module, &function.def, expr);
        let errors = self.errors.len();
        let value = self.at_top_level(function.module, index, |cx| {
            cx.scope.captured.clone_from(&function.captured);
            cx.expr(expr)
        });
        self.errors.truncate(errors);
        value
    }

    /// Evaluates an expression in the body of a class in which `values` are assigned so far.
    pub(crate) fn expr_in_class(
        &mut self,
        module: ModuleId,
        index: u32,
        values: &[(Name, Value)],
        expr: &Expr,
    ) -> Result<Value> {
        let errors = self.errors.len();
        let value = self.at_top_level(module, index, |cx| {
            values
                .iter()
                .for_each(|(name, value)| cx.scope.locals.set(name, value.clone()));
            cx.expr(expr)
        });
        self.errors.truncate(errors);
        value
    }

    /// Runs a statement there; gives what it leaves in `names`.
    pub(crate) fn stmt_in_class(
        &mut self,
        module: ModuleId,
        index: u32,
        values: &[(Name, Value)],
        stmt: &Stmt,
        names: Vec<Name>,
    ) -> Vec<(Name, Value)> {
        let errors = self.errors.len();
        let mut left = Vec::new();
        let result = self.at_top_level(module, index, |cx| {
            values
                .iter()
                .for_each(|(name, value)| cx.scope.locals.set(name, value.clone()));
            let flow = cx.host_block(std::slice::from_ref(stmt));
            left = names
                .iter()
                .map(|name| cx.scope.locals.get(name).cloned())
                .collect();
            flow
        });
        self.errors.truncate(errors);
        let value = |value: Option<Value>| match (value, &result) {
            (Some(value), Ok(_)) => Some(value),
            (None, Ok(_)) => None,
            (_, Err(error)) => Some(opaque(&error.message)),
        };
        let pairs = names.into_iter().zip(left);
        pairs
            .filter_map(|(name, left)| value(left).map(|value| (name, value)))
            .collect()
    }

    /// Whether a condition at the top level holds; an error says why that is not known.
    pub(crate) fn condition_at(
        &mut self,
        module: ModuleId,
        index: u32,
        condition: &Expr,
    ) -> Result<bool, Rc<str>> {
        let value = match self.expr_at(module, index, condition) {
            Ok(value) => crate::konst::truth(&value),
            Err(error) => Err(error.message.clone()),
        };
        value.map_err(|why| reason(&why).into())
    }
}

fn opaque(why: &str) -> Value {
    Value::Opaque(reason(why).into())
}

/// The reason that something is not known, without the words that say that it is not.
fn reason(message: &str) -> &str {
    let mut why = message;
    while let Some(rest) = why.strip_prefix(super::expr::NOT_KNOWN) {
        why = rest;
    }
    why
}
