//! What the decorators of a function say: `@triton.jit` and what stands around it.

use std::rc::Rc;

use super::{ModuleId, Path, Program};
use crate::ast::{Call, Expr, ExprKind, FunctionDef, Name, Params};
use crate::value::FunctionKind;

/// A kernel as its text describes it; nothing is evaluated.
#[derive(Debug, Clone)]
pub struct KernelInfo {
    /// The file.
    pub module: ModuleId,
    /// What launches call it: the function's name, or the one that the file gives to what a call made of the function.
    pub name: Name,
    /// The function.
    pub def: Rc<FunctionDef>,
    /// Its parameters, in order.
    pub params: Vec<KernelParam>,
    /// `configs=` of `@triton.autotune`.
    pub configs: Option<Expr>,
    /// The argument of `@triton.heuristics`, outermost first.
    pub heuristics: Vec<Expr>,
    /// Decorators that are neither Triton's nor known: they are taken to only wrap the function.
    pub wrappers: Vec<Expr>,
}

/// A parameter of a kernel.
#[derive(Debug, Clone)]
pub struct KernelParam {
    /// Its name.
    pub name: Name,
    /// Annotated `tl.constexpr`.
    pub constexpr: bool,
    /// Its annotation.
    pub annotation: Option<Expr>,
    /// Its default.
    pub default: Option<Expr>,
    /// Listed in `do_not_specialize`: no constant 1, no divisibility.
    pub do_not_specialize: bool,
    /// Listed in `do_not_specialize_on_alignment`: no divisibility.
    pub do_not_specialize_on_alignment: bool,
}

impl KernelInfo {
    fn of(module: ModuleId, def: &Rc<FunctionDef>) -> KernelInfo {
        KernelInfo {
            module,
            name: def.ident.name.clone(),
            def: def.clone(),
            params: Vec::new(),
            configs: None,
            heuristics: Vec::new(),
            wrappers: Vec::new(),
        }
    }

    /// Takes what the call of `triton.jit` says of parameters.
    pub(super) fn take_options(&mut self, jit: Option<&Call>) {
        let listed = |name| jit.and_then(|call| argument(call, usize::MAX, name));
        for (index, param) in self.params.iter_mut().enumerate() {
            param.do_not_specialize = contains(listed("do_not_specialize"), index, &param.name);
            param.do_not_specialize_on_alignment =
                contains(listed("do_not_specialize_on_alignment"), index, &param.name);
        }
    }
}

/// What a decorator is.
pub(super) enum Decorator<'e> {
    /// `@triton.jit`, with the arguments of a call.
    Jit(Option<&'e Call>),
    Autotune(&'e Call),
    Heuristics(&'e Call),
    ConstexprFunction,
    /// Something of Triton's that this crate does not read: `gluon.jit`.
    Unknown(Rc<str>),
    Wrapper,
}

impl Program<'_> {
    /// The kernels of a file: functions with `@triton.jit` among their decorators and what calls at the top level make
    /// of functions, those at its top level first, then those inside of other functions.
    pub fn kernels(&self, module: ModuleId) -> Vec<KernelInfo> {
        let functions = self.functions(module);
        let decorated = functions.iter().filter_map(|def| self.kernel_info(module, def));
        let made = self.made_by_calls(module);
        let replaced = |info: &KernelInfo| {
            made.iter()
                .any(|m| m.name == info.name && Rc::ptr_eq(&m.def, &info.def))
        };
        let mut kernels: Vec<KernelInfo> = decorated.filter(|info| !replaced(info)).collect();
        kernels.extend(made);
        kernels.sort_by_key(|info| info.def.ident.span.start);
        let nested = self.nested_kernels(module);
        kernels.extend(nested.iter().filter_map(|def| self.kernel_info(module, def)));
        kernels
    }

    /// The kernel that a file calls `name`: a definition (the last one), or another name for one.
    pub fn kernel(&self, module: ModuleId, name: &str) -> Option<KernelInfo> {
        let mut kernels = self.kernels(module).into_iter().rev();
        kernels
            .find(|info| *info.name == *name)
            .or_else(|| self.made_by_call(module, name))
    }

    /// The description of a function that is made a kernel in a way that the file's text does not show.
    pub(crate) fn undecorated_info(&self, module: ModuleId, def: &Rc<FunctionDef>) -> KernelInfo {
        KernelInfo {
            params: self.kernel_params(module, &def.params),
            ..KernelInfo::of(module, def)
        }
    }

    /// A kernel's description, if the function is one.
    pub fn kernel_info(&self, module: ModuleId, def: &Rc<FunctionDef>) -> Option<KernelInfo> {
        let mut info = KernelInfo::of(module, def);
        let mut jit = None;
        for decorator in &def.decorators {
            match self.decorator(module, decorator) {
                Decorator::Jit(call) => jit = Some(call),
                Decorator::Autotune(call) => {
                    info.configs = argument(call, 0, "configs").cloned();
                }
                Decorator::Heuristics(call) => info.heuristics.extend(argument(call, 0, "values").cloned()),
                Decorator::Wrapper => info.wrappers.push(decorator.clone()),
                Decorator::ConstexprFunction | Decorator::Unknown(_) => {}
            }
        }
        let jit = jit?;
        info.params = self.kernel_params(module, &def.params);
        info.take_options(jit);
        Some(info)
    }

    /// What kind of function the decorators make of `def`; an error is something of Triton's that is not supported,
    /// by its name.
    pub(crate) fn function_kind(&self, module: ModuleId, def: &FunctionDef) -> Result<FunctionKind, Rc<str>> {
        let mut kind = FunctionKind::Host;
        for decorator in &def.decorators {
            match self.decorator(module, decorator) {
                Decorator::Jit(call) => {
                    let noinline = call.and_then(|call| argument(call, usize::MAX, "noinline"));
                    kind = FunctionKind::Jit {
                        noinline: matches!(noinline.map(|e| &e.kind), Some(ExprKind::Bool(true))),
                    };
                }
                Decorator::ConstexprFunction => kind = FunctionKind::Constexpr,
                Decorator::Unknown(name) => return Err(name),
                _ => {}
            }
        }
        Ok(kind)
    }

    /// Whether an annotation is `tl.constexpr`, also as a string.
    pub fn is_constexpr(&self, module: ModuleId, annotation: &Expr) -> bool {
        if let ExprKind::Str(text) = &annotation.kind {
            return matches!(
                &**text,
                "constexpr" | "tl.constexpr" | "triton.language.constexpr"
            );
        }
        match self.path_of(module, annotation) {
            Some(Path::Library(name)) => &*name == "triton.language.constexpr",
            Some(_) => false,
            None => match &annotation.kind {
                ExprKind::Name(name) => &**name == "constexpr",
                ExprKind::Attribute(_, name) => &*name.name == "constexpr",
                _ => false,
            },
        }
    }

    fn kernel_params(&self, module: ModuleId, params: &Params) -> Vec<KernelParam> {
        let all = params.positional.iter().chain(&params.keyword_only);
        let params = all.map(|param| KernelParam {
            name: param.ident.name.clone(),
            constexpr: param
                .annotation
                .as_ref()
                .is_some_and(|a| self.is_constexpr(module, a)),
            annotation: param.annotation.clone(),
            default: param.default.clone(),
            do_not_specialize: false,
            do_not_specialize_on_alignment: false,
        });
        params.collect()
    }

    pub(super) fn decorator<'e>(&self, module: ModuleId, expr: &'e Expr) -> Decorator<'e> {
        let (callee, call) = match &expr.kind {
            ExprKind::Call(call) => (&call.function, Some(&**call)),
            _ => (expr, None),
        };
        // `@triton.jit` without `triton` imported from anywhere that can be seen is still clear.
        let path = match self.path_of(module, callee) {
            Some(Path::Library(name)) => name,
            Some(_) => return Decorator::Wrapper,
            None => spelled(callee).unwrap_or_default().into(),
        };
        match (&*path, call) {
            ("triton.jit", call) => match call.and_then(|call| call.args.first()) {
                // `@triton.jit(f)` is no decorator; `functools.partial(triton.jit, …)` is, below.
                Some(_) => Decorator::Wrapper,
                None => Decorator::Jit(call),
            },
            ("triton.autotune", Some(call)) => Decorator::Autotune(call),
            ("triton.heuristics", Some(call)) => Decorator::Heuristics(call),
            // `@tl.constexpr` makes a constant that is a function, which a kernel can call.
            (
                "triton.constexpr_function"
                | "triton.language.constexpr_function"
                | "triton.language.constexpr",
                _,
            ) => Decorator::ConstexprFunction,
            ("functools.partial", Some(call)) => match call.args.first() {
                Some(first) if matches!(self.path_of(module, first), Some(Path::Library(n)) if &*n == "triton.jit") => {
                    Decorator::Jit(Some(call))
                }
                _ => Decorator::Wrapper,
            },
            // Functions written against Triton's own builder.
            ("triton.language.extern" | "triton.language.builtin", _) => Decorator::Unknown(path.clone()),
            (name, _) if name.starts_with("triton.experimental") => Decorator::Unknown(path.clone()),
            _ => Decorator::Wrapper,
        }
    }
}

/// A chain of attributes as it is written.
fn spelled(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.to_string()),
        ExprKind::Attribute(of, name) => Some(format!("{}.{}", spelled(of)?, name.name)),
        _ => None,
    }
}

/// The argument of a call at a position or with a name.
pub(super) fn argument<'e>(call: &'e Call, position: usize, name: &str) -> Option<&'e Expr> {
    let keyword = call
        .keywords
        .iter()
        .find(|(k, _)| k.as_ref().is_some_and(|k| &*k.name == name));
    match keyword {
        Some((_, value)) => Some(value),
        None => call.args.get(position),
    }
}

/// Whether a list of names and positions contains a parameter.
fn contains(list: Option<&Expr>, index: usize, name: &str) -> bool {
    let items = match list.map(|e| &e.kind) {
        Some(ExprKind::List(items) | ExprKind::Tuple(items) | ExprKind::Set(items)) => items.as_slice(),
        Some(_) => list.map_or(&[][..], std::slice::from_ref),
        None => &[],
    };
    items.iter().any(|item| match &item.kind {
        ExprKind::Str(text) => &**text == name,
        ExprKind::Int(position) => *position == index.into(),
        _ => false,
    })
}
