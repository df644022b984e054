//! A kernel: its parameters from what the launch says, its function, the module.

use std::rc::Rc;

use tilescope_diagnostics::{Error, closest};
use tilescope_ir::attrs::AttrValue;
use tilescope_ir::{Arena, FunctionBuilder, LocId, Module, Type};

use crate::Options;
use crate::ast::{Name, Param};
use crate::cx::Mode;
use crate::cx::{Cx, Frame, Locals, Place, Result, Returns, Scope};
use crate::request::{ArgSpec, Compiled, Request};
use crate::source::{KernelInfo, ModuleId, Program};
use crate::specialize::{Given, Rules, specialize};
use crate::types::{Dtype, Ty};
use crate::value::{Descriptor, Function, FunctionKind, Tensor, Value};

/// Deepest nesting of tuples among arguments.
const MAX_TUPLES: usize = 8;

/// What is compiled for each parameter, in order.
struct Arguments {
    specs: Vec<(Name, ArgSpec)>,
    /// Run-time parameters with their defaults.
    defaults: Vec<(String, Value)>,
}

#[allow(
    clippy::vec_box,
    reason = "errors travel boxed, see `tilescope_diagnostics::Result`"
)]
pub(crate) fn compile(
    program: &Program<'_>,
    module: ModuleId,
    request: &Request,
) -> Result<Compiled, Vec<Box<Error>>> {
    let mut options = Options {
        capability: request.capability,
        num_warps: request.num_warps.unwrap_or(4),
        num_stages: request.num_stages.unwrap_or(3),
    };
    let chosen = {
        let mut cx = Cx::new(program, &options, module);
        let kernel = cx.kernel(module, &request.kernel).map_err(|error| vec![error])?;
        let chosen = cx.choose(&kernel, request).map_err(|error| vec![error])?;
        (kernel, chosen, std::mem::take(&mut cx.notes))
    };
    let (kernel, chosen, notes) = chosen;
    options.num_warps = request.num_warps.or(chosen.num_warps).unwrap_or(4);
    options.num_stages = request.num_stages.or(chosen.num_stages).unwrap_or(3);
    let mut cx = Cx::new(program, &options, module);
    cx.notes = notes;
    let made = cx.compile_kernel(&kernel, request, chosen.values);
    match made {
        Ok((module, arguments, constants)) if cx.errors.is_empty() => Ok(Compiled {
            module,
            notes: [std::mem::take(&mut cx.notes), std::mem::take(&mut cx.kept_notes)].concat(),
            constants,
            defaults: arguments.defaults,
            options: options.clone(),
        }),
        Ok(_) => Err(cx.errors),
        Err(error) => {
            cx.report(error);
            Err(cx.errors)
        }
    }
}

/// Parameters that are constants, with their values.
type Constants = Vec<(String, Value)>;

/// A kernel with its description.
pub(super) struct Kernel {
    pub function: Rc<Function>,
    pub info: KernelInfo,
}

/// What heuristics and configurations chose.
#[derive(Default)]
pub(super) struct Chosen {
    pub values: Vec<(Name, Value)>,
    pub num_warps: Option<u32>,
    pub num_stages: Option<u32>,
}

impl Cx<'_> {
    fn kernel(&mut self, module: ModuleId, name: &str) -> Result<Kernel> {
        let file = self.program.path(module);
        let found = match self.global(module, name)? {
            Some(global) => Some(global.value),
            None => self.nested_kernel(module, name).map(Value::Function),
        };
        let function = match found {
            Some(value) => match value {
                Value::Function(function) => function,
                Value::Opaque(why) => return Err(Error::unsupported(format!("`{name}` of {file}: {why}"))),
                other => {
                    return Err(Error::input(format!(
                        "`{name}` of {file} is no kernel: it is {}",
                        other.describe()
                    )));
                }
            },
            None => {
                let kernels = self.program.kernels(module);
                let error = Error::input(format!("{file} has no kernel `{name}`"));
                let names: Vec<String> = kernels.iter().map(|k| k.name.to_string()).collect();
                return Err(match closest(name, names.iter().map(String::as_str)) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None if names.is_empty() => error.note("it has no function with `@triton.jit`"),
                    None => error.note(format!("its kernels: {}", names.join(", "))),
                });
            }
        };
        // What calls at the top level put around the function, else its decorators.
        let info = self.program.kernel(module, name);
        let info = info
            .filter(|info| Rc::ptr_eq(&info.def, &function.def))
            .or_else(|| self.program.kernel_info(function.module, &function.def));
        match (function.kind, info) {
            (FunctionKind::Jit { .. }, Some(info)) => Ok(Kernel { function, info }),
            (FunctionKind::Jit { .. }, None) => {
                let info = self.program.undecorated_info(function.module, &function.def);
                Ok(Kernel { function, info })
            }
            _ => {
                let source = self.program.source(function.module);
                Err(Error::input(format!("`{name}` is no kernel"))
                    .at(
                        &source,
                        function.def.ident.span.range(),
                        "it has no `@triton.jit`",
                    )
                    .help("decorate it with `@triton.jit`"))
            }
        }
    }

    fn compile_kernel(
        &mut self,
        kernel: &Kernel,
        request: &Request,
        chosen: Vec<(Name, Value)>,
    ) -> Result<(Module, Arguments, Constants)> {
        let function = &kernel.function;
        self.place = Place {
            module: function.module,
            span: function.def.ident.span,
        };
        let arguments = self.resolve(kernel, request, chosen)?;
        self.scope = Scope::new(function.module, Mode::Jit);
        self.scope.captured.clone_from(&function.captured);
        self.scope.returns = Returns::Function(Vec::new());
        self.b = FunctionBuilder::new(&*function.def.ident.name);
        let loc = self.definition(function);
        self.b.defined_at(loc);
        self.b.attribute("noinline", AttrValue::Bool(false));
        let mut params = Locals::default();
        let mut constants = Vec::new();
        for (name, spec) in &arguments.specs {
            let value = self.parameter(name, spec, loc, 0)?;
            if !value.is_runtime() {
                constants.push((name.to_string(), value.clone()));
            }
            let all = function
                .def
                .params
                .positional
                .iter()
                .chain(&function.def.params.keyword_only);
            let at = all.filter(|p| p.ident.name == *name).map(|p| p.ident.span).next();
            params.assign(name, value, at);
        }
        self.b.at(loc);
        self.frames.push(Frame {
            function: function.def.ident.name.clone(),
            called_at: None,
            call_loc: LocId::unknown(),
            key: super::call::key(function, &params),
        });
        self.scope.locals = params;
        let body = self.function_body(function);
        self.frames.clear();
        let mut module = Module::default();
        if body.is_none() {
            return Ok((module, arguments, constants));
        }
        let builder = std::mem::replace(&mut self.b, FunctionBuilder::new("done"));
        let main = builder.finish().map_err(|error| self.error(error.message))?;
        let mut funcs = Arena::new();
        funcs.push(main);
        for function in std::mem::take(&mut self.functions) {
            funcs.push(function);
        }
        module.funcs = funcs;
        module.locs = std::mem::take(&mut self.locs);
        module.loc = Some(loc);
        Ok((module, arguments, constants))
    }

    /// What each parameter gets: from the request, else from what was chosen, else its default.
    fn resolve(
        &mut self,
        kernel: &Kernel,
        request: &Request,
        chosen: Vec<(Name, Value)>,
    ) -> Result<Arguments> {
        let function = &kernel.function;
        let params = &function.def.params;
        if let Some(param) = params.vararg.as_ref().or(params.kwarg.as_ref()) {
            return Err(self.located_param(param, "a kernel cannot take a variable number of arguments"));
        }
        let all: Vec<&Param> = params.positional.iter().chain(&params.keyword_only).collect();
        for (name, _) in &request.args {
            if all.iter().all(|p| &*p.ident.name != name.as_str()) {
                let error = self.error(format!("`{}` has no parameter `{name}`", function.def.ident.name));
                return Err(match closest(name, all.iter().map(|p| &*p.ident.name)) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
        let mut arguments = Arguments {
            specs: Vec::new(),
            defaults: Vec::new(),
        };
        for (param, info) in all.iter().zip(&kernel.info.params) {
            let name = &param.ident.name;
            if let Some((_, spec)) = request.args.iter().find(|(n, _)| n.as_str() == &**name) {
                arguments.specs.push((name.clone(), spec.clone()));
            } else if let Some((_, value)) = chosen.iter().find(|(n, _)| n == name) {
                arguments
                    .specs
                    .push((name.clone(), ArgSpec::Constant(value.clone())));
            } else if let Some(default) = &param.default {
                let value = self.default_value(function.module, Some(function), default)?;
                let spec = if info.constexpr {
                    ArgSpec::Constant(value)
                } else {
                    self.default_spec(param, Rules::of(info), value, &mut arguments)?
                };
                arguments.specs.push((name.clone(), spec));
            } else {
                let what = if info.constexpr {
                    "a compile-time value"
                } else {
                    "an argument"
                };
                let message = format!("`{}` needs {what} for `{name}`", function.def.ident.name);
                let error = self.located_param(param, message);
                // Why configurations or heuristics give none.
                return Err(self
                    .notes
                    .iter()
                    .fold(error, |error, note| error.note(note.as_str())));
            }
        }
        Ok(arguments)
    }

    fn default_spec(
        &mut self,
        param: &Param,
        rules: Rules,
        value: Value,
        arguments: &mut Arguments,
    ) -> Result<ArgSpec> {
        let Some(given) = Given::of(&value) else {
            let message = format!(
                "the default of `{}` cannot be passed to a kernel",
                param.ident.name
            );
            return Err(self
                .located_param(param, message)
                .note(format!("it is {}", value.describe())));
        };
        let spec = specialize(&given, rules).map_err(|why| self.located_param(param, why))?;
        if !matches!(spec, ArgSpec::Constant(_)) {
            arguments.defaults.push((param.ident.name.to_string(), value));
        }
        Ok(spec)
    }

    fn located_param(&self, param: &Param, message: impl Into<String>) -> Box<Error> {
        self.error_at(param.ident.span, message, "")
    }

    /// The value of a parameter, with the function's parameters that it consists of.
    fn parameter(&mut self, name: &Name, spec: &ArgSpec, loc: LocId, depth: usize) -> Result<Value> {
        match spec {
            ArgSpec::Constant(value) => Ok(value.clone()),
            ArgSpec::Global(global) => match self.global(self.place.module, global)? {
                Some(global) => Ok(global.value),
                None => Err(self.error(format!("there is no `{global}` at the top level of the file"))),
            },
            ArgSpec::Scalar(elem, known) => {
                let ty = Ty::Scalar(*elem);
                Ok(Value::Tensor(self.param(name, ty, known.divisible_by_16, loc)))
            }
            ArgSpec::Descriptor(block, elem) => {
                let ty = Type::Descriptor {
                    block: *block,
                    elem: elem.scalar(),
                    signed: None,
                };
                let named = self.name_location(name, loc);
                self.b.at(named);
                let value = self.b.param(name, ty, None);
                let mut scalars = |what: &str, dtype: Dtype| -> Vec<Tensor> {
                    let name = |i: usize| Name::from(format!("{name}.{what}.{i}"));
                    (0..block.rank())
                        .map(|i| self.param(&name(i), Ty::num(dtype), false, loc))
                        .collect()
                };
                let shape = scalars("shape", Dtype::Int32);
                let strides = scalars("stride", Dtype::Int64);
                Ok(Value::Descriptor(Rc::new(Descriptor {
                    value,
                    shape,
                    strides,
                    block: *block,
                    elem: *elem,
                })))
            }
            ArgSpec::Tuple(items) => {
                if depth >= MAX_TUPLES {
                    return Err(self.error(format!("the argument `{name}` nests too deeply")));
                }
                let mut values = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let name = Name::from(format!("{name}.{index}"));
                    values.push(self.parameter(&name, item, loc, depth + 1)?);
                }
                Ok(Value::tuple(values))
            }
        }
    }

    fn param(&mut self, name: &Name, ty: Ty, divisible: bool, loc: LocId) -> Tensor {
        let named = self.name_location(name, loc);
        self.b.at(named);
        let ir = ty.ir().unwrap_or(Type::BOOL);
        let value = self.b.param(name, ir, divisible.then_some(16));
        Tensor { value, ty }
    }
}
