//! Calls: arguments, binding, and functions evaluated where they are called.
//!
//! A `@triton.jit` helper is evaluated at its call, its operations located inside of the call. One that returns under
//! a run-time condition, or is `noinline`, becomes a private function of the module ([`super::outline`]).

use std::rc::Rc;

use tilescope_diagnostics::{Error, closest};
use tilescope_ir::LocId;

use super::stmt::Flow;
use crate::ast::{Call, Expr, ExprKind, Name, Param, Params, Span};
use crate::cx::{Args, Cx, Frame, Locals, Mode, Place, Result, Returns, Scope};
use crate::konst;
use crate::language::{Builtin, Kind};
use crate::limits::MAX_CALLS;
use crate::source::UNKNOWN_NAME;
use crate::types::Ty;
use crate::value::{Closure, Function, FunctionKind, Value};

impl Cx<'_> {
    pub(super) fn call_expr(&mut self, call: &Call, _span: Span) -> Result<Value> {
        let function = match &call.function.kind {
            ExprKind::Attribute(of, name) => {
                let of = self.expr(of)?;
                if konst::methods::has(&of, &name.name) {
                    return self.call_method_of_constant(&of, &name.name, call);
                }
                self.deeper_in(call.function.span, |cx| {
                    cx.attribute_of(&of, &name.name, name.span)
                })?
            }
            _ => self.expr(&call.function)?,
        };
        if let Value::Builtin(builtin) = &function
            && builtin.name == "static_assert"
            && let [condition, _] = call.args.as_slice()
        {
            // The message is made only where the assertion fails.
            let truth = self.expr(condition)?;
            if let Value::Bool(true) | Value::Error = truth {
                return Ok(Value::None);
            }
        }
        let args = self.arguments(call)?;
        if function.has_error() || args.has_error() {
            return Ok(Value::Error);
        }
        self.call(&function, args)
    }

    /// `"a,b".split(",")`: a method of a string, a list, a dictionary, a number.
    fn call_method_of_constant(&mut self, of: &Value, name: &Name, call: &Call) -> Result<Value> {
        let args = self.arguments(call)?;
        if args.has_error() {
            return Ok(Value::Error);
        }
        let keywords: Vec<(Name, Value)> = args.keywords.into_iter().map(|(n, v, _)| (n, v)).collect();
        let args: Vec<Value> = args.positional.into_iter().map(|(v, _)| v).collect();
        self.nest(&args)?;
        let given = konst::methods::Given {
            args: &args,
            keywords: &keywords,
        };
        let value = konst::methods::call(of, name, &given).map_err(|why| self.error(why))?;
        self.pay(&value)?;
        Ok(value)
    }

    /// The arguments of a call; in kernels, as Triton does it, keyword arguments are evaluated first.
    fn arguments(&mut self, call: &Call) -> Result<Args> {
        let mut args = Args::default();
        if self.scope.mode == Mode::Jit {
            self.keyword_arguments(call, &mut args)?;
            self.positional_arguments(call, &mut args)?;
        } else {
            self.positional_arguments(call, &mut args)?;
            self.keyword_arguments(call, &mut args)?;
        }
        Ok(args)
    }

    fn positional_arguments(&mut self, call: &Call, args: &mut Args) -> Result<()> {
        for arg in &call.args {
            match &arg.kind {
                ExprKind::Starred(inner) => {
                    let value = self.expr(inner)?;
                    let items = self.spread(&value)?;
                    args.positional.extend(items.into_iter().map(|v| (v, arg.span)));
                }
                _ => {
                    let value = self.expr(arg)?;
                    args.positional.push((value, arg.span));
                }
            }
        }
        Ok(())
    }

    fn keyword_arguments(&mut self, call: &Call, args: &mut Args) -> Result<()> {
        for (name, expr) in &call.keywords {
            let value = self.expr(expr)?;
            match (name, value) {
                (Some(name), value) => args.keywords.push((name.name.clone(), value, expr.span)),
                (None, Value::Dict(entries)) => {
                    for (key, value) in entries.borrow().iter() {
                        let Value::Str(key) = key else {
                            return Err(self.error_at(expr.span, "the keys after `**` must be strings", ""));
                        };
                        args.keywords.push((key.clone(), value.clone(), expr.span));
                    }
                }
                (None, Value::Error) => args.keywords.push((Name::from("**"), Value::Error, expr.span)),
                (None, other) => {
                    return Err(self.error_at(expr.span, "`**` takes a dictionary", &other.describe()));
                }
            }
        }
        Ok(())
    }

    /// Calls a function, a method, a builtin, a class with values.
    ///
    /// # Errors
    /// Arguments that do not bind, and what is wrong inside.
    pub fn call(&mut self, function: &Value, args: Args) -> Result<Value> {
        self.step()?;
        if args.has_error() {
            return Ok(Value::Error);
        }
        match function {
            Value::Builtin(builtin) if builtin.kind == Kind::Host && self.scope.mode == Mode::Host => {
                self.call_decorator(builtin, args)
            }
            Value::Builtin(builtin) => self.call_builtin(builtin, args),
            Value::Function(function) => match function.kind {
                FunctionKind::Jit { noinline } => self.call_jit(function, noinline, args),
                FunctionKind::Constexpr | FunctionKind::Host => self.call_host(function, args),
            },
            Value::Method(method) => {
                let mut args = args;
                args.positional.insert(0, (method.0.clone(), self.place.span));
                self.call(&method.1, args)
            }
            Value::Lambda(closure) => self.call_lambda(closure, args),
            Value::Class(class) => self.construct(class, args),
            Value::Type(Ty::Constexpr) => match args.positional.into_iter().next() {
                Some((value, _)) => Ok(value),
                None => Err(self.error("`tl.constexpr` takes a value")),
            },
            // What host code calls of unknown libraries is mostly of no consequence.
            Value::Opaque(_) if self.scope.mode == Mode::Host => Ok(function.clone()),
            Value::Opaque(why) => Err(match of_host_library(why) {
                Some((library, name)) => {
                    let error = self.error(format!("a kernel cannot call `{library}.{name}`"));
                    let error = error.note("its values are not tensors of the host, but blocks of their elements");
                    match crate::language::slips::instead(name) {
                        Some(write) => error.help(write),
                        None => error,
                    }
                }
                None => self.opaque(why),
            }),
            Value::Error => Ok(Value::Error),
            Value::Type(_) => Err(self
                .error(format!("{} cannot be called", function.describe()))
                .help("`x.to(dtype)` and `tl.cast(x, dtype)` convert; `tl.full((), value, dtype)` makes a constant")),
            other => Err(self.error(format!("{} cannot be called", other.describe()))),
        }
    }

    /// Decorators that host code calls as functions: `kernel = triton.jit(kernel)`, `triton.heuristics(…)(kernel)`.
    fn call_decorator(&mut self, builtin: &'static Builtin, args: Args) -> Result<Value> {
        let kind = match (builtin.module, builtin.name) {
            ("triton", "jit") => FunctionKind::Jit { noinline: false },
            ("triton", "constexpr_function") => FunctionKind::Constexpr,
            ("triton", "autotune" | "heuristics") => {
                let itself = crate::language::attribute("triton.language.core", "_unwrap_if_constexpr");
                return Ok(itself.unwrap_or(Value::None));
            }
            _ => return self.call_builtin(builtin, args),
        };
        match args.positional.first() {
            Some((Value::Function(function), _)) => Ok(Value::Function(Rc::new(Function {
                def: function.def.clone(),
                module: function.module,
                kind,
                class: function.class.clone(),
                captured: function.captured.clone(),
            }))),
            Some((other, _)) => Ok(other.clone()),
            // `triton.jit(noinline=True)` is the decorator.
            None => Ok(Value::Builtin(builtin)),
        }
    }

    fn call_lambda(&mut self, closure: &Rc<Closure>, args: Args) -> Result<Value> {
        let name = Name::from("lambda");
        let values = self.bind_params(&name, &closure.lambda.params, closure.module, args, None)?;
        let mut scope = Scope::new(closure.module, self.scope.mode);
        scope.captured.clone_from(&closure.captured);
        scope.locals = values;
        let body = &closure.lambda.body;
        let frame = self.frame(name, String::new());
        self.in_function(scope, frame, |cx| cx.expr(body))
    }

    fn frame(&mut self, function: Name, key: String) -> Frame {
        let call_loc = if self.scope.mode == Mode::Jit {
            self.location()
        } else {
            LocId::unknown()
        };
        Frame {
            function,
            called_at: Some(self.place),
            call_loc,
            key,
        }
    }

    /// Runs something in the scope of a function that is called here.
    pub(super) fn in_function<T>(
        &mut self,
        scope: Scope,
        frame: Frame,
        inner: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.frames.len() >= MAX_CALLS {
            self.stopped = true;
            return Err(self.error(format!(
                "calls nest more than {MAX_CALLS} deep: does `{}` call itself?",
                frame.function
            )));
        }
        let module = scope.module;
        let outer = std::mem::replace(&mut self.scope, scope);
        let (place, loc) = (self.place, self.b.location());
        self.place = Place {
            module,
            span: Span::default(),
        };
        self.frames.push(frame);
        let result = inner(self);
        self.frames.pop();
        self.place = place;
        self.b.at(loc);
        self.scope = outer;
        result
    }

    fn call_jit(&mut self, function: &Rc<Function>, noinline: bool, args: Args) -> Result<Value> {
        let name = function.def.ident.name.clone();
        let locals = self.bind_params(&name, &function.def.params, function.module, args, Some(function))?;
        if locals.iter().any(|local| local.value.has_error()) {
            return Ok(Value::Error);
        }
        let key = key(function, &locals);
        if let Some(frame) = self.frames.iter().position(|frame| frame.key == key) {
            return Err(self.recursion(&name, frame));
        }
        if noinline {
            for local in locals.iter() {
                if let Value::Tensor(tensor) = &local.value
                    && let Ty::Block(shape, _) = &tensor.ty
                    && shape.elements() != 1
                {
                    return Err(self
                        .error(format!(
                            "`{name}` is `noinline`, but its argument `{}` is a block",
                            local.name
                        ))
                        .note("Triton passes only scalars to functions that are not inlined"));
                }
            }
            return self.call_outlined(function, key, noinline, locals);
        }
        if self.helpers.contains_key(&key) {
            return self.call_outlined(function, key, noinline, locals);
        }
        match self.call_inline(function, &key, locals.clone())? {
            Some(value) => Ok(value),
            None => self.call_outlined(function, key, noinline, locals),
        }
    }

    fn recursion(&self, name: &Name, first: usize) -> Box<Error> {
        let chain: Vec<&str> = self.frames.iter().skip(first).map(|f| &*f.function).collect();
        let error = self.error(format!("`{name}` calls itself"));
        let error = match chain.as_slice() {
            [_] | [] => error,
            several => error.note(format!("through {}", several.join(", "))),
        };
        error
            .note("kernels have no recursion: a call with the same types and constants would never end")
            .help("write a loop, or pass a `tl.constexpr` depth that gets smaller, with the call in the `else` of its test")
    }

    /// Evaluates a function where it is called; none if it returns under a run-time condition.
    fn call_inline(&mut self, function: &Rc<Function>, key: &str, locals: Locals) -> Result<Option<Value>> {
        let checkpoint = self.b.checkpoint();
        let (errors, notes, functions) = (self.errors.len(), self.notes.len(), self.functions.len());
        let scope = scope_of(function, locals, Returns::Inline(Vec::new()));
        let frame = self.frame(function.def.ident.name.clone(), key.to_string());
        for local in scope.locals.iter() {
            if let Value::Tensor(tensor) = &local.value {
                self.b.pass(&*local.name, tensor.value, frame.call_loc);
            }
        }
        let (flow, value) = self.in_function(scope, frame, |cx| {
            let flow = cx.block(&function.def.body);
            cx.end_unreached();
            let value = match flow {
                Flow::Return if cx.errors.len() == errors => Some(cx.inline_result(function)?),
                _ => None,
            };
            Ok((flow, value))
        })?;
        if flow == Flow::Outline {
            self.b.rollback(&checkpoint);
            self.errors.truncate(errors);
            self.notes.truncate(notes);
            debug_assert!(self.functions.len() >= functions);
            return Ok(None);
        }
        let failed = self.errors.len() > errors || flow == Flow::Stop;
        Ok(Some(match value {
            Some(value) => value,
            None if failed => Value::Error,
            None => Value::None,
        }))
    }

    /// The value of the return that is reached.
    fn inline_result(&mut self, function: &Function) -> Result<Value> {
        let returns = self.take_returns();
        if returns.iter().any(|r| r.value.has_error()) {
            return Ok(Value::Error);
        }
        let form = self.common_form(function, &returns)?;
        let (Some(form), Some(reached)) = (form, returns.iter().find(|r| r.block.is_some())) else {
            return Ok(Value::None);
        };
        self.place = reached.place;
        let loc = self.location();
        self.b.at(loc);
        self.in_form(&reached.value, &form)
    }

    /// Binds arguments to parameters by Python's rules. `function` is whose defaults are host code of its module.
    ///
    /// # Errors
    /// Too many, missing, unknown or repeated arguments.
    pub(crate) fn bind_params(
        &mut self,
        name: &Name,
        params: &Params,
        module: crate::source::ModuleId,
        args: Args,
        function: Option<&Rc<Function>>,
    ) -> Result<Locals> {
        let count = params.positional.len();
        let all: Vec<&Param> = params.positional.iter().chain(&params.keyword_only).collect();
        let mut slots: Vec<Option<Value>> = vec![None; all.len()];
        let mut rest = Vec::new();
        let given = args.positional.len();
        for (index, (value, span)) in args.positional.into_iter().enumerate() {
            if index < count {
                if let Some(slot) = slots.get_mut(index) {
                    *slot = Some(value);
                }
            } else if params.vararg.is_some() {
                rest.push(value);
            } else {
                let s = if count == 1 { "" } else { "s" };
                let message = format!("`{name}` takes {count} positional argument{s}, {given} are given");
                return Err(self.declared(self.error_at(span, message, "one too many"), function));
            }
        }
        let mut extra = Vec::new();
        for (keyword, value, span) in args.keywords {
            let index = all.iter().position(|p| p.ident.name == keyword);
            match index.and_then(|i| slots.get_mut(i)) {
                Some(slot @ None) => *slot = Some(value),
                Some(Some(_)) => {
                    let message = format!("`{name}` gets its argument `{keyword}` twice");
                    return Err(self.declared(self.error_at(span, message, ""), function));
                }
                None if params.kwarg.is_some() => extra.push((Value::Str(keyword), value)),
                None => {
                    let error = self.error_at(span, format!("`{name}` has no parameter `{keyword}`"), "");
                    let error = self.declared(error, function);
                    return Err(match closest(&keyword, all.iter().map(|p| &*p.ident.name)) {
                        Some(near) => error.help(format!("did you mean `{near}`?")),
                        None => error,
                    });
                }
            }
        }
        let mut locals = Locals::default();
        for (index, (param, slot)) in all.iter().zip(slots).enumerate() {
            if index == count {
                self.bind_rest(&mut locals, params, &mut rest);
            }
            let value = match (slot, &param.default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.default_value(module, function, default)?,
                (None, None) => {
                    let message = format!("`{name}` needs an argument `{}`", param.ident.name);
                    return Err(self.declared(self.error(message), function));
                }
            };
            locals.assign(&param.ident.name, value, Some(param.ident.span));
        }
        if all.len() == count {
            self.bind_rest(&mut locals, params, &mut rest);
        }
        if let Some(kwarg) = &params.kwarg {
            locals.set(&kwarg.ident.name, konst::dict(extra));
        }
        Ok(locals)
    }

    fn bind_rest(&self, locals: &mut Locals, params: &Params, rest: &mut Vec<Value>) {
        if let Some(vararg) = &params.vararg {
            locals.set(&vararg.ident.name, Value::tuple(std::mem::take(rest)));
        }
    }

    /// The value of a parameter's default, in the scope of the module that defines the function.
    pub(crate) fn default_value(
        &mut self,
        module: crate::source::ModuleId,
        function: Option<&Rc<Function>>,
        default: &Expr,
    ) -> Result<Value> {
        let mut scope = Scope::new(module, Mode::Host);
        if let Some(function) = function {
            scope.captured.clone_from(&function.captured);
        }
        let outer = std::mem::replace(&mut self.scope, scope);
        let place = self.place;
        self.place.module = module;
        let value = self.expr(default);
        self.place = place;
        self.scope = outer;
        value
    }

    /// Adds where a function is defined to an error about a call of it.
    fn declared(&self, error: Box<Error>, function: Option<&Rc<Function>>) -> Box<Error> {
        match function {
            Some(function) => {
                let source = self.program.source(function.module);
                error.at(&source, function.def.ident.span.range(), "it is defined here")
            }
            None => error,
        }
    }
}

/// The library and the name in it, where something is not known because it is a function of the host's tensors.
fn of_host_library(why: &str) -> Option<(&str, &str)> {
    let dotted = why.strip_prefix('`')?.strip_suffix(UNKNOWN_NAME)?;
    let library = ["torch", "numpy", "scipy", "jax"].into_iter().find(|library| {
        dotted
            .strip_prefix(library)
            .is_some_and(|rest| rest.starts_with('.'))
    })?;
    Some((library, dotted.rsplit('.').next()?))
}

impl Args {
    /// Whether an argument is in error.
    pub(crate) fn has_error(&self) -> bool {
        self.positional.iter().any(|(v, _)| v.has_error())
            || self.keywords.iter().any(|(_, v, _)| v.has_error())
    }
}

/// The scope of a function with its arguments.
pub(super) fn scope_of(function: &Function, locals: Locals, returns: Returns) -> Scope {
    let mut scope = Scope::new(function.module, Mode::Jit);
    scope.captured.clone_from(&function.captured);
    scope.locals = locals;
    scope.returns = returns;
    scope
}

/// What tells a call apart from others of the same function, see [`Frame::key`].
pub(super) fn key(function: &Function, locals: &Locals) -> String {
    let mut key = format!("{:p}", Rc::as_ptr(&function.def));
    for local in locals.iter() {
        key.push(';');
        local.value.key(&mut key);
    }
    key
}
