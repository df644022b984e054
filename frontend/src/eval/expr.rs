//! Expressions: names, attributes, subscripts, operators, displays.
//!
//! One dispatcher serves kernels and host code ([`Mode`]). Constants are computed as Python computes them
//! ([`konst`]); whatever has a run-time operand becomes IR ([`semantic`](crate::semantic)). An operand that is in
//! error makes the result one, without another message.

use std::rc::Rc;

use tilescope_diagnostics::closest;

use crate::ast::{BinaryOp, Expr, ExprKind, FormatPart, Name, Span, UnaryOp};
use crate::cx::{Cx, Mode, Result};
use crate::konst;
use crate::language::python::IN_KERNELS;
use crate::limits::{MAX_ITEMS, MAX_NESTING};
use crate::source::NOT_FOUND;
use crate::value::{Closure, Module, Value};

/// How a refusal of something that is not known begins.
pub(super) const NOT_KNOWN: &str = "this is not known at compile time: ";

/// Stack that one level of nesting may need, in bytes, and what is added when less is left.
const STACK_LEFT: usize = 128 << 10;
const STACK_MORE: usize = 1 << 20;

/// What to do where the reason is a file that is not there.
fn not_found(error: Box<tilescope_diagnostics::Error>, why: &str) -> Box<tilescope_diagnostics::Error> {
    if !why.ends_with(" is not found") && !why.ends_with(NOT_FOUND) {
        return error;
    }
    error.help(match why.starts_with("the module `.") {
        // No Python path leads there.
        true => "it is looked up in the file's own package: name the file where it stands there, not a copy",
        false => "add the folder that holds it to the Python path (`--python-path`)",
    })
}

impl Cx<'_> {
    /// Evaluates an expression in the current scope.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn expr(&mut self, expr: &Expr) -> Result<Value> {
        self.step()?;
        match &expr.kind {
            ExprKind::None => Ok(Value::None),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Int(value) => Ok(Value::Int(value.clone())),
            ExprKind::Float(value) => Ok(Value::Float(*value)),
            ExprKind::Str(value) => Ok(Value::Str(value.clone())),
            ExprKind::Ellipsis => Ok(Value::Ellipsis),
            ExprKind::Name(name) => {
                let span = std::mem::replace(&mut self.place.span, expr.span);
                let value = self.name(name);
                self.place.span = span;
                value
            }
            _ => self.deeper_in(expr.span, |cx| cx.composite(expr)),
        }
    }

    /// Evaluates something at a place, one level deeper.
    pub(crate) fn deeper_in<T>(
        &mut self,
        span: Span,
        inner: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let entered = self.enter(span);
        let result = if self.depth >= MAX_NESTING {
            self.stopped = true;
            Err(self.error("the kernel nests too deeply to compile"))
        } else {
            self.depth += 1;
            // Bounded by the depth, but more than a thread may have: the caller's stack is not ours to size.
            let result = stacker::maybe_grow(STACK_LEFT, STACK_MORE, || inner(self));
            self.depth -= 1;
            result
        };
        self.leave(entered);
        result
    }

    fn composite(&mut self, expr: &Expr) -> Result<Value> {
        match &expr.kind {
            ExprKind::Attribute(of, name) => {
                let of = self.expr(of)?;
                let value = self.attribute_of(&of, &name.name, name.span)?;
                match of {
                    Value::Module(Module::File(_)) | Value::Class(_) | Value::Instance(_) => {
                        self.known(&name.name, value)
                    }
                    _ => Ok(value),
                }
            }
            ExprKind::Subscript(of, index) => self.subscript_expr(of, index),
            ExprKind::Slice(lower, upper, step) => {
                let mut part =
                    |part: &Option<Box<Expr>>| part.as_ref().map_or(Ok(Value::None), |e| self.expr(e));
                let parts = [part(lower)?, part(upper)?, part(step)?];
                Ok(Value::Slice(Rc::new(parts)))
            }
            ExprKind::Call(call) => self.call_expr(call, expr.span),
            ExprKind::Unary(op, of) => {
                let of = self.expr(of)?;
                self.unary_op(*op, &of)
            }
            ExprKind::Binary(op, l, r) => {
                let l = self.expr(l)?;
                let r = self.expr(r)?;
                self.binary_op(*op, &l, &r)
            }
            ExprKind::Logic(op, operands) => self.logic_expr(*op, operands),
            ExprKind::Compare(first, rest) => self.compare_expr(first, rest),
            ExprKind::IfElse {
                condition,
                then,
                otherwise,
            } => self.if_else(condition, then, otherwise),
            ExprKind::Tuple(items) => Ok(Value::tuple(self.items(items)?)),
            // A list in a kernel is a tuple, as in Triton.
            ExprKind::List(items) => {
                let items = self.items(items)?;
                Ok(match self.scope.mode {
                    Mode::Jit => Value::tuple(items),
                    Mode::Host => konst::list(items),
                })
            }
            ExprKind::Format(parts) => Ok(Value::str(&self.format(parts)?)),
            ExprKind::Walrus(name, value) => {
                let value = self.assigned_value(&name.name, value)?;
                self.scope
                    .locals
                    .assign(&name.name, value.clone(), Some(name.span));
                Ok(value)
            }
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
            ExprKind::Lambda(lambda) if self.scope.mode == Mode::Host => {
                let locals = self
                    .scope
                    .locals
                    .iter()
                    .map(|l| (l.name.clone(), l.value.clone()));
                let captured = locals.chain(self.scope.captured.iter().cloned()).collect();
                Ok(Value::Lambda(Rc::new(Closure {
                    lambda: lambda.clone(),
                    module: self.scope.module,
                    captured,
                })))
            }
            ExprKind::Lambda(_) => Err(self
                .error("a kernel cannot define a `lambda`")
                .help("write a function with `@triton.jit` at the top level of the file")),
            ExprKind::Dict(entries) if self.scope.mode == Mode::Host => self.dict(entries),
            ExprKind::Set(items) if self.scope.mode == Mode::Host => {
                let items = self.items(items)?;
                konst::set(items).map_err(|why| self.error(why))
            }
            ExprKind::Dict(_) => Err(self.error("a kernel cannot make a dictionary")),
            ExprKind::Set(_) => Err(self.error("a kernel cannot make a set")),
            ExprKind::Starred(_) => Err(self.error("`*` stands only in the arguments of a call")),
            ExprKind::Other(what) => Err(self.error(format!("`{what}` cannot be used in a kernel"))),
            _ => Ok(Value::None),
        }
    }

    /// The value of a name: a variable, else a name at the top level of the file, else one of Python's own.
    pub(crate) fn name(&mut self, name: &Name) -> Result<Value> {
        if let Some(value) = self.scope.locals.get(name) {
            return Ok(value.clone());
        }
        if let Some((_, value)) = self.scope.captured.iter().find(|(n, _)| n == name) {
            return self.known(name, value.clone());
        }
        if let Some(global) = self.global(self.scope.module, name)? {
            if let Value::Opaque(_) = global.value {
                return self.known(name, global.value);
            }
            if self.scope.mode == Mode::Host || global.kernels_may_read() {
                return Ok(global.value);
            }
            if self.python(name).is_none() {
                return Err(self.unreadable_global(name, &global.value));
            }
        }
        if let Some(value) = self.python(name) {
            return Ok(value);
        }
        Err(self.undefined(name))
    }

    /// A kernel that names something that is not known is refused there, where it can be said what it is.
    fn known(&self, name: &Name, value: Value) -> Result<Value> {
        match &value {
            Value::Opaque(why) if self.scope.mode == Mode::Jit => {
                let error = self.unsupported(format!("`{name}` is not known at compile time"));
                Err(not_found(error.note(why.to_string()), why))
            }
            _ => Ok(value),
        }
    }

    /// A name of Python's own; kernels have only some of them.
    fn python(&self, name: &str) -> Option<Value> {
        let known = self.scope.mode == Mode::Host || IN_KERNELS.contains(&name);
        known
            .then(|| crate::language::attribute("builtins", name))
            .flatten()
    }

    fn unreadable_global(&self, name: &Name, value: &Value) -> Box<tilescope_diagnostics::Error> {
        let message = format!("a kernel cannot read the global variable `{name}`");
        let error = self.error(message);
        match value {
            Value::Function(_) => error.note("it is a function without `@triton.jit`").help(format!(
                "decorate `{name}` with `@triton.jit`, or with `@triton.constexpr_function`"
            )),
            _ => error
                .note("Triton's kernels see only globals that are compile-time constants")
                .help(format!(
                    "write `{name} = tl.constexpr(…)` where it is defined, or pass it as an argument"
                )),
        }
    }

    fn undefined(&mut self, name: &Name) -> Box<tilescope_diagnostics::Error> {
        let error = self.error(format!("`{name}` is not defined"));
        if let Some((_, why)) = self.scope.lost.iter().rev().find(|(n, _)| n == name) {
            return error.note(why.to_string());
        }
        if let Some((line, dotted)) = self.program.missing_star(self.scope.module) {
            let error = self.unsupported(format!("`{name}` is not defined in this file"));
            return not_found(
                error.note(format!(
                    "it may come from `from {dotted} import *` in line {line}: that module is not found"
                )),
                &format!("the module `{dotted}` is not found"),
            );
        }
        let globals = self.program.names(self.scope.module);
        let known = self.scope.locals.names().chain(globals.iter().map(|n| &**n));
        match (
            closest(name, known),
            crate::language::slips::of_the_language(name),
        ) {
            (Some(near), _) => error.help(format!("did you mean `{near}`?")),
            (None, Some(write)) => error.help(write),
            (None, None) => error,
        }
    }

    /// `of.name`.
    pub(crate) fn attribute_of(&mut self, of: &Value, name: &Name, span: Span) -> Result<Value> {
        match of {
            Value::Error => Ok(Value::Error),
            Value::Module(module @ Module::File(id)) => {
                if let Some(global) = self.module_attribute(module, name)? {
                    return Ok(global.value);
                }
                let names = self.program.names(*id);
                let path = self.program.path(*id);
                let error = self.error_at(span, format!("{path} has no `{name}` at its top level"), "");
                Err(match closest(name, names.iter().map(|n| &**n)) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                })
            }
            Value::Instance(_) | Value::Class(_) => match self.member(of, name) {
                Some(Value::Method(method)) if is_property(&method.1) => {
                    self.call(&Value::Method(method), crate::cx::Args::default())
                }
                Some(value) => Ok(value),
                None => Err(self.no_member(of, name, span)),
            },
            Value::Tuple(tuple) if tuple.class.is_some() => match self.member(of, name) {
                Some(value) => Ok(value),
                None => self.attribute(of, name),
            },
            _ if &**name == "value" && !of.is_runtime() => Ok(of.clone()),
            _ => match konst::attribute::attribute(of, name) {
                Some(value) => Ok(value),
                None => self.attribute(of, name),
            },
        }
    }

    fn subscript_expr(&mut self, of: &Expr, index: &Expr) -> Result<Value> {
        let of = self.expr(of)?;
        let index = self.expr(index)?;
        self.subscript_value(&of, &index)
    }

    /// `of[index]`.
    pub(crate) fn subscript_value(&mut self, of: &Value, index: &Value) -> Result<Value> {
        if of.has_error() || index.has_error() {
            return Ok(Value::Error);
        }
        match of {
            Value::Tensor(tensor) => self.subscript(tensor, index),
            _ if index.is_runtime() && matches!(of, Value::Tuple(_) | Value::List(_)) => Err(self
                .error(format!("{} is indexed by {}", of.describe(), index.describe()))
                .note("which element of a tuple is meant must be known at compile time")
                .help("loop with `tl.static_range` to index it with the loop's variable")),
            Value::Instance(_) => match self.member(of, &Name::from("__getitem__")) {
                Some(method) => {
                    let span = self.place.span;
                    self.call(&method, crate::cx::Args::of(vec![index.clone()], span))
                }
                None => Err(self.error(format!("{} cannot be indexed", of.describe()))),
            },
            Value::Opaque(why) if self.scope.mode == Mode::Jit => Err(self.opaque(why)),
            // `kernel[grid]`, `List[int]`: of no consequence for what is compiled.
            Value::Function(_) | Value::Builtin(_) | Value::Type(_) if self.scope.mode == Mode::Host => {
                Ok(Value::Opaque("it is a subscript of a function or a type".into()))
            }
            _ => konst::index::subscript(of, index).map_err(|why| self.error(why)),
        }
    }

    /// The refusal of something that is not known.
    pub(crate) fn opaque(&self, why: &str) -> Box<tilescope_diagnostics::Error> {
        not_found(self.unsupported(format!("{NOT_KNOWN}{why}")), why)
    }

    pub(crate) fn unary_op(&mut self, op: UnaryOp, of: &Value) -> Result<Value> {
        match of {
            Value::Error => Ok(Value::Error),
            Value::Tensor(tensor) => self.unary(op, tensor),
            Value::Instance(_) => {
                let method = match op {
                    UnaryOp::Neg => "__neg__",
                    UnaryOp::Pos => "__pos__",
                    UnaryOp::Not => "__not__",
                    UnaryOp::Invert => "__invert__",
                };
                match self.member(of, &Name::from(method)) {
                    Some(method) => self.call(&method, crate::cx::Args::default()),
                    None => konst::unary(op, of).map_err(|why| self.error(why)),
                }
            }
            Value::Opaque(why) => Err(self.opaque(why)),
            _ => konst::unary(op, of).map_err(|why| self.error(why)),
        }
    }

    pub(crate) fn binary_op(&mut self, op: BinaryOp, l: &Value, r: &Value) -> Result<Value> {
        match (l, r) {
            (Value::Error, _) | (_, Value::Error) => Ok(Value::Error),
            (Value::Instance(_), _) | (_, Value::Instance(_)) => self.operator_method(op, l, r),
            (Value::Opaque(why), _) | (_, Value::Opaque(why)) if self.scope.mode == Mode::Jit => {
                Err(self.opaque(why))
            }
            (Value::Tensor(_), _) | (_, Value::Tensor(_)) => self.binary(op, l, r),
            _ => {
                let value = konst::binary(op, l, r).map_err(|why| self.error(why))?;
                self.pay(&value)?;
                Ok(value)
            }
        }
    }

    /// An operator of an aggregate: its method, or the reflected one of the right side.
    fn operator_method(&mut self, op: BinaryOp, l: &Value, r: &Value) -> Result<Value> {
        let word = match op {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::Div => "truediv",
            BinaryOp::FloorDiv => "floordiv",
            BinaryOp::Mod => "mod",
            BinaryOp::Pow => "pow",
            BinaryOp::Shl => "lshift",
            BinaryOp::Shr => "rshift",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Xor => "xor",
            BinaryOp::MatMul => "matmul",
        };
        let span = self.place.span;
        let sides = [(l, r, format!("__{word}__")), (r, l, format!("__r{word}__"))];
        for (owner, other, method) in sides {
            if let Some(method) = self.member(owner, &Name::from(method.as_str())) {
                return self.call(&method, crate::cx::Args::of(vec![other.clone()], span));
            }
        }
        konst::binary(op, l, r).map_err(|why| self.error(why))
    }

    /// The items of a display; `*x` is spread.
    pub(crate) fn items(&mut self, exprs: &[Expr]) -> Result<Vec<Value>> {
        let mut items = Vec::with_capacity(exprs.len());
        for expr in exprs {
            match &expr.kind {
                ExprKind::Starred(inner) => {
                    let value = self.expr(inner)?;
                    items.extend(self.spread(&value)?);
                }
                _ => items.push(self.expr(expr)?),
            }
            if items.len() > MAX_ITEMS {
                return Err(self.error("the tuple is too long"));
            }
        }
        Ok(items)
    }

    /// The elements of a tuple, for `*x` and unpacking.
    pub(crate) fn spread(&mut self, value: &Value) -> Result<Vec<Value>> {
        match value {
            Value::Tuple(tuple) => Ok(tuple.items.to_vec()),
            Value::Error => Ok(vec![Value::Error]),
            _ if value.is_runtime() => Err(self
                .error(format!("{} is no tuple", value.describe()))
                .note("the elements of a run-time value cannot be taken apart")),
            Value::Opaque(why) => Err(self.opaque(why)),
            _ => konst::index::iterate(value).map_err(|why| self.error(why)),
        }
    }

    fn dict(&mut self, entries: &[(Option<Expr>, Expr)]) -> Result<Value> {
        let mut made = Vec::new();
        for (key, value) in entries {
            let value = self.expr(value)?;
            match key {
                Some(key) => {
                    let key = self.expr(key)?;
                    konst::index::insert(&mut made, key, value).map_err(|why| self.error(why))?;
                }
                None => {
                    let Value::Dict(others) = value else {
                        return Err(self.error("`**` takes a dictionary"));
                    };
                    for (key, value) in others.borrow().iter() {
                        konst::index::insert(&mut made, key.clone(), value.clone())
                            .map_err(|why| self.error(why))?;
                    }
                }
            }
        }
        Ok(konst::dict(made))
    }

    fn format(&mut self, parts: &[FormatPart]) -> Result<String> {
        let mut text = String::new();
        for part in parts {
            match part {
                FormatPart::Text(piece) => text.push_str(piece),
                FormatPart::Value {
                    value,
                    conversion,
                    spec,
                } => {
                    let span = value.span;
                    let value = self.expr(value)?;
                    if value.is_runtime() {
                        return Err(self
                            .error_at(span, "an f-string holds a run-time value", &value.describe())
                            .note("the text of an f-string is made at compile time")
                            .help("`tl.device_print(\"text\", value)` prints run-time values"));
                    }
                    let spec = self.deeper_in(span, |cx| cx.format(spec))?;
                    let piece = konst::format::convert(&value, *conversion, &spec)
                        .map_err(|why| self.error_at(span, why, ""))?;
                    text.push_str(&piece);
                }
            }
            if text.len() > MAX_ITEMS {
                return Err(self.error("the text is too long"));
            }
        }
        Ok(text)
    }
}

/// Whether a method is called by being named.
fn is_property(method: &Value) -> bool {
    matches!(method, Value::Function(f) if super::class::decorated(f, "property"))
}
