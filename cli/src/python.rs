//! A kernel of Python source, compiled for the arguments of its launch.
//!
//! The launch file says what is passed, the kernel's declaration what it expects; both are brought together here,
//! and mistakes point into the launch file. Everything else is the crate `frontend`'s.

use std::sync::Arc;

use tilescope_diagnostics::{Error, ErrorKind, closest};
use tilescope_frontend::outline;
use tilescope_frontend::request::{ArgSpec, Compiled, Request};
use tilescope_frontend::source::{KernelInfo, KernelParam, ModuleId, Program};
use tilescope_frontend::specialize::{Given, Rules, specialize};
use tilescope_frontend::types::Dtype;
use tilescope_frontend::value::Value;
use tilescope_frontend::{language, request};
use tilescope_interpreter::target::Target;
use tilescope_ir::{FuncId, Shape, VerifiedModule};
use tilescope_launch::expr::Value as LaunchValue;
use tilescope_launch::{
    CompileOptions, Dtype as LaunchDtype, Evaluated, GivenArg, GivenValue, LaunchFile, LaunchSpec, Signature,
};

use crate::engine::Refused;
use crate::files::Files;

/// The machine that kernels are compiled for unless another is named: an H100 or H200.
const CAPABILITY: u32 = 90;

/// Deepest nesting of tuples in a launch file.
const MAX_TUPLE_DEPTH: usize = 8;

type Result<T, E = Refused> = std::result::Result<T, E>;

/// A kernel, compiled.
#[derive(Debug)]
pub struct Kernel {
    /// Its module.
    pub module: Arc<VerifiedModule>,
    /// The function to launch.
    pub function: FuncId,
    /// What the launch must match.
    pub signature: Signature,
    /// What the author should know: choices of autotune and heuristics.
    pub notes: Vec<String>,
}

/// Compiles the kernel of a launch for its arguments and the GPU that it is meant for.
///
/// # Errors
/// A kernel or parameters that do not fit the launch, at their place in the launch file; else everything that is wrong
/// in the Python source.
pub fn compile(
    program: &Program<'_>,
    file: &LaunchFile,
    evaluated: &Evaluated<'_>,
    launch: usize,
    files: &Files,
    target: Option<&Target>,
) -> Result<Kernel> {
    let spec = &file.launches()[launch];
    if let Some(missing) = files.missing(&spec.kernel.path) {
        return Err(missing
            .at(file.source(), spec.kernel.span.clone(), "the kernel")
            .into());
    }
    let module = program.load(&spec.kernel.path).map_err(|error| {
        // Only what is not in the file itself needs the place where it is named.
        match error.labels.is_empty() {
            true => error.at(file.source(), spec.kernel.span.clone(), "the kernel"),
            false => error,
        }
    })?;
    let kernel = find(program, module, file, spec)?;
    let launching = Launching {
        file,
        spec,
        kernel: &kernel,
        args: evaluated.args(launch).collect(),
    };
    let (args, host) = launching.arguments(evaluated, launch)?;
    let request = Request {
        kernel: kernel.name.to_string(),
        args,
        host,
        capability: target.map_or(CAPABILITY, |target| target.capability),
        num_warps: spec.options.num_warps,
        num_stages: spec.options.num_stages,
    };
    let compiled = request::compile(program, module, &request)?;
    finish(compiled, &request)
}

/// Verifies what was compiled, and describes it to the launch.
fn finish(mut compiled: Compiled, request: &Request) -> Result<Kernel> {
    compiled.module.name_values();
    let module = VerifiedModule::new(compiled.module)
        .map_err(|errors| errors.into_iter().map(ours).collect::<Vec<_>>())?;
    let function = module.kernels().next().map(|(id, _)| id);
    let function = function
        .ok_or_else(|| Error::unsupported(format!("`{}` compiles to no public function", request.kernel)))?;
    let mut constants: Vec<(String, LaunchValue)> = Vec::new();
    for (name, value) in &compiled.constants {
        constants.push((name.clone(), launch_value(name, value)));
    }
    for (name, spec) in &request.args {
        if let ArgSpec::Tuple(items) = spec {
            compiled_in(name, items, &mut constants);
        }
    }
    let mut defaults = Vec::new();
    for (name, value) in &compiled.defaults {
        pass(name, value, &mut defaults);
    }
    let signature = Signature {
        constants,
        defaults,
        options: Some(CompileOptions {
            num_warps: compiled.options.num_warps,
            num_stages: compiled.options.num_stages,
        }),
        ..Signature::of(&module, function)
    };
    Ok(Kernel {
        module: Arc::new(module),
        function,
        signature,
        notes: compiled.notes,
    })
}

/// An error of the verifier about what the front end made.
fn ours(mut error: Box<Error>) -> Box<Error> {
    if error.kind == ErrorKind::Input {
        error.kind = ErrorKind::Internal;
    }
    error.note("the front end made this: it is a bug in tilescope, not in the kernel")
}

/// The elements of a tuple that are constants, by the names that launch files give them.
fn compiled_in(name: &str, items: &[ArgSpec], constants: &mut Vec<(String, LaunchValue)>) {
    for (i, item) in items.iter().enumerate() {
        let name = format!("{name}.{i}");
        match item {
            ArgSpec::Constant(value) => constants.push((name.clone(), launch_value(&name, value))),
            ArgSpec::Tuple(items) => compiled_in(&name, items, constants),
            _ => {}
        }
    }
}

/// A default as the arguments that it is passed as.
fn pass(name: &str, value: &Value, defaults: &mut Vec<(String, LaunchValue)>) {
    match value {
        Value::Tuple(tuple) => {
            for (i, item) in tuple.items.iter().enumerate() {
                pass(&format!("{name}.{i}"), item, defaults);
            }
        }
        value => defaults.push((name.to_string(), launch_value(name, value))),
    }
}

/// The kernel that a launch names; where it names none, the file's only one.
fn find(
    program: &Program<'_>,
    module: ModuleId,
    file: &LaunchFile,
    spec: &LaunchSpec,
) -> Result<KernelInfo, Box<Error>> {
    let path = &spec.kernel.path;
    let kernels = program.kernels(module);
    let error = |message: String, label: &str| file.error(&spec.kernel.span, message, label);
    let listed = |kernels: &mut dyn Iterator<Item = &KernelInfo>| -> String {
        kernels.map(|k| &*k.name).collect::<Vec<_>>().join(", ")
    };
    let none =
        || error(format!("`{path}` has no kernel"), "").help("a kernel is a function with `@triton.jit`");
    let Some(name) = &spec.kernel.function else {
        if kernels.is_empty() {
            return Err(none());
        }
        let helpers = outline::helpers(program, module);
        let mut alone = kernels.iter().filter(|k| !helpers.contains(&k.name));
        return match (alone.clone().count(), kernels.len()) {
            (1, _) => Ok(alone.next().unwrap_or(&kernels[0]).clone()),
            (_, 1) => Ok(kernels[0].clone()),
            (0, _) => {
                let names = listed(&mut kernels.iter());
                Err(error(format!("`{path}` has several kernels"), "which one?")
                    .help(format!("write \"{path}::NAME\" with one of {names}")))
            }
            _ => Err(
                error(format!("`{path}` has several kernels"), "which one?").help(format!(
                    "write \"{path}::NAME\" with one of {}",
                    listed(&mut alone)
                )),
            ),
        };
    };
    if let Some(kernel) = program.kernel(module, name) {
        return Ok(kernel);
    }
    let functions = program.functions(module);
    if let Some(def) = functions.iter().find(|def| *def.ident.name == **name) {
        return Err(error(format!("`{name}` is no kernel"), "").at(
            &program.source(module),
            def.ident.span.range(),
            "it lacks `@triton.jit`",
        ));
    }
    if kernels.is_empty() {
        return Err(none());
    }
    let missing = error(format!("`{path}` has no kernel `{name}`"), "");
    Err(match closest(name, kernels.iter().map(|k| &*k.name)) {
        Some(near) => missing.help(format!("did you mean `{near}`?")),
        None => missing.note(format!("it has: {}", listed(&mut kernels.iter()))),
    })
}

/// A launch and the kernel that it is for.
struct Launching<'a> {
    file: &'a LaunchFile,
    spec: &'a LaunchSpec,
    kernel: &'a KernelInfo,
    args: Vec<GivenArg<'a>>,
}

type Arguments = (Vec<(String, ArgSpec)>, Vec<(String, Value)>);

impl Launching<'_> {
    /// What is compiled for each parameter that the launch gives, and what heuristics see of the values.
    fn arguments(&self, evaluated: &Evaluated<'_>, launch: usize) -> Result<Arguments> {
        let (mut args, mut host) = (Vec::new(), Vec::new());
        let mut errors = self.unknown_arguments();
        let mut missing = Vec::new();
        let constexprs: Vec<_> = evaluated.constexprs(launch).collect();
        for constexpr in &constexprs {
            let param = self.param(constexpr.name);
            match param {
                Some(param) if !param.constexpr && !self.may_be_constant(param) => {
                    errors.push(self.run_time_constexpr(constexpr.name, constexpr.span));
                }
                Some(_) => match constant(constexpr.value) {
                    Ok(spec) => {
                        host.push((constexpr.name.to_string(), host_value(&spec)));
                        args.push((constexpr.name.to_string(), spec));
                    }
                    Err(why) => errors.push(self.file.error(constexpr.span, why, "")),
                },
                None => errors.push(self.unknown(constexpr.name, constexpr.span)),
            }
        }
        for param in &self.kernel.params {
            if args.iter().any(|(name, _)| **name == *param.name) {
                continue;
            }
            match self.given(param) {
                Ok(Some(given)) => {
                    let span = self.span_of(&param.name);
                    match specialize(&given, Rules::of(param)) {
                        Ok(spec) => args.push((param.name.to_string(), spec)),
                        Err(why) => errors.push(self.file.error(
                            &span,
                            format!("argument `{}`: {why}", param.name),
                            "",
                        )),
                    }
                    host.push((param.name.to_string(), given.host()));
                }
                Ok(None) if self.is_missing(param) => missing.push(self.missing(param)),
                Ok(None) => {}
                Err(error) => errors.push(error),
            }
        }
        // A value that is missing may be one of those that are misspelt or misplaced.
        if errors.is_empty() {
            errors = missing;
        }
        match errors.is_empty() {
            true => Ok((args, host)),
            false => Err(errors.into()),
        }
    }

    fn param(&self, name: &str) -> Option<&KernelParam> {
        self.kernel.params.iter().find(|param| *param.name == *name)
    }

    /// Heuristics and configurations give parameters that need no annotation.
    fn may_be_constant(&self, _param: &KernelParam) -> bool {
        self.kernel.configs.is_some() || !self.kernel.heuristics.is_empty()
    }

    /// Arguments that are no run-time parameters.
    fn unknown_arguments(&self) -> Vec<Box<Error>> {
        let mut errors = Vec::new();
        for arg in &self.args {
            let name = arg.name.split('.').next().unwrap_or(arg.name);
            match self.param(name) {
                None => errors.push(self.unknown(name, arg.span)),
                Some(param) if param.constexpr => {
                    let kernel = &self.kernel.name;
                    let message = format!("`{name}` of `{kernel}` is a `tl.constexpr` parameter");
                    errors.push(
                        self.file
                            .error(arg.span, message, "given as an argument")
                            .help(format!("give `{name}` in [constexprs]")),
                    );
                }
                Some(_) => {}
            }
        }
        errors
    }

    fn run_time_constexpr(&self, name: &str, span: &std::ops::Range<usize>) -> Box<Error> {
        let kernel = &self.kernel.name;
        let message = format!("`{name}` of `{kernel}` is no `tl.constexpr` parameter");
        self.file
            .error(span, message, "given as a constant")
            .help(format!("give `{name}` in [args]"))
    }

    fn unknown(&self, name: &str, span: &std::ops::Range<usize>) -> Box<Error> {
        let kernel = &self.kernel.name;
        let error = self.file.error(
            span,
            format!("`{kernel}` has no parameter `{name}`"),
            "no such parameter",
        );
        let names = self.kernel.params.iter().map(|p| &*p.name);
        match closest(name, names.clone()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.note(format!(
                "its parameters: {}",
                names.collect::<Vec<_>>().join(", ")
            )),
        }
    }

    /// Nothing gives it a value; where configurations or heuristics may, only evaluating them will tell.
    fn is_missing(&self, param: &KernelParam) -> bool {
        param.default.is_none() && self.kernel.configs.is_none() && self.kernel.heuristics.is_empty()
    }

    fn missing(&self, param: &KernelParam) -> Box<Error> {
        let (kernel, name) = (&self.kernel.name, &param.name);
        let place = match param.constexpr {
            true => self.spec.constexprs_span(),
            false => self.spec.args_span(),
        };
        let error = self.file.error(
            place,
            format!("no value for parameter `{name}` of `{kernel}`"),
            "missing here",
        );
        let is_var = self.file.vars().iter().any(|var| *var.name == **name);
        match (param.constexpr, is_var) {
            (true, _) => error.help(format!("add `{name} = VALUE` to [constexprs]")),
            (false, true) => error.help(format!("add `{name} = \"{name}\"` to [args]")),
            (false, false) => error.help(format!(
                "add `{name} = {{ dtype = \"f32\", shape = [ … ] }}` for a tensor, or `{name} = VALUE`, to [args]"
            )),
        }
    }

    /// The place of the argument for a parameter.
    fn span_of(&self, name: &str) -> std::ops::Range<usize> {
        let of = |arg: &&GivenArg<'_>| arg.name.split('.').next() == Some(name);
        let found = self.args.iter().find(of).map(|arg| arg.value_span.clone());
        found.unwrap_or_else(|| self.spec.args_span().clone())
    }

    /// What the launch gives a parameter, if anything.
    fn given(&self, param: &KernelParam) -> Result<Option<Given>, Box<Error>> {
        self.named(&param.name, 0)
    }

    /// The argument of this name, or the tuple of the arguments `NAME.0`, `NAME.1`, ….
    fn named(&self, name: &str, depth: usize) -> Result<Option<Given>, Box<Error>> {
        if let Some(arg) = self.args.iter().find(|arg| arg.name == name) {
            return self.fact(arg).map(Some);
        }
        let element = |arg: &GivenArg<'_>| -> Option<usize> {
            let rest = arg.name.strip_prefix(name)?.strip_prefix('.')?;
            Some(rest.split('.').next()?.parse().unwrap_or(usize::MAX))
        };
        let elements: Vec<_> = self
            .args
            .iter()
            .filter_map(|arg| Some((element(arg)?, arg)))
            .collect();
        let Some((last, arg)) = elements.iter().max_by_key(|(place, _)| *place) else {
            return Ok(None);
        };
        if depth >= MAX_TUPLE_DEPTH {
            let message = format!("tuples nested more than {MAX_TUPLE_DEPTH} deep");
            return Err(Error::unsupported(message).at(self.file.source(), arg.span.clone(), ""));
        }
        let mut items = Vec::new();
        for place in 0..=(*last).min(elements.len()) {
            match self.named(&format!("{name}.{place}"), depth + 1)? {
                Some(given) => items.push(given),
                None => {
                    let message = format!("no value for element {place} of the tuple `{name}`");
                    return Err(self.file.error(arg.span, message, "a later element is given"));
                }
            }
        }
        Ok(Some(Given::Tuple(items)))
    }

    fn fact(&self, arg: &GivenArg<'_>) -> Result<Given, Box<Error>> {
        Ok(match &arg.value {
            GivenValue::Null => Given::None,
            GivenValue::Tensor { dtype, address } => Given::Pointer {
                to: dtype_of(*dtype),
                address: *address,
            },
            GivenValue::Descriptor { dtype, block_shape } => {
                let dims: Vec<u64> = block_shape.iter().map(|&d| d.max(0) as u64).collect();
                let block = Shape::new(&dims).ok_or_else(|| {
                    let message = format!("a block of shape {dims:?}");
                    Error::unsupported(message).at(self.file.source(), arg.value_span.clone(), "")
                })?;
                Given::Descriptor {
                    block,
                    elem: dtype_of(*dtype),
                }
            }
            GivenValue::Scalar { dtype, value } => match (value, dtype.map(dtype_of)) {
                (LaunchValue::Bool(value), None) => Given::Bool(*value),
                (LaunchValue::Float(value), dtype) => Given::Float { value: *value, dtype },
                (value, dtype) => Given::Int {
                    value: value.as_int().unwrap_or_default(),
                    dtype,
                },
            },
        })
    }
}

/// The constant that a value of `[constexprs]` is.
fn constant(value: &LaunchValue) -> Result<ArgSpec, String> {
    Ok(ArgSpec::Constant(match value {
        LaunchValue::None => Value::None,
        LaunchValue::Bool(value) => Value::Bool(*value),
        LaunchValue::Int(value) => Value::int(*value),
        LaunchValue::Float(value) => Value::Float(*value),
        LaunchValue::Str(text) => match text.strip_prefix("fn:") {
            Some(name) => return Ok(ArgSpec::Global(name.into())),
            None => Value::str(text),
        },
        LaunchValue::Symbol(name) => symbol(name)?,
        LaunchValue::Tuple(items) => {
            let items = items.iter().map(constant).collect::<Result<Vec<_>, _>>()?;
            let values = items.iter().map(|item| match item {
                ArgSpec::Constant(value) => Some(value.clone()),
                _ => None,
            });
            match values.collect::<Option<Vec<_>>>() {
                Some(values) => Value::tuple(values),
                None => return Ok(ArgSpec::Tuple(items)),
            }
        }
    }))
}

/// `tl.float16` and other names of the language.
fn symbol(name: &str) -> Result<Value, String> {
    let unknown = || format!("`{name}` is nothing of Triton's language");
    let path = name.strip_prefix("tl.").ok_or_else(unknown)?;
    let (module, last) = match path.rsplit_once('.') {
        Some((inner, last)) => (format!("triton.language.{inner}"), last),
        None => (String::from("triton.language"), path),
    };
    language::attribute(&module, last).ok_or_else(unknown)
}

/// What heuristics see of a constant.
fn host_value(spec: &ArgSpec) -> Value {
    match spec {
        ArgSpec::Constant(value) => value.clone(),
        ArgSpec::Tuple(items) => Value::tuple(items.iter().map(host_value).collect()),
        _ => Value::Opaque("a function of the launch".into()),
    }
}

/// A value of the front end as launch files know it, for grids; what they have no form for is just a name.
fn launch_value(name: &str, value: &Value) -> LaunchValue {
    match value {
        Value::None => LaunchValue::None,
        Value::Bool(value) => LaunchValue::Bool(*value),
        Value::Int(value) => match i128::try_from(value.clone()) {
            Ok(value) => LaunchValue::Int(value),
            Err(_) => LaunchValue::Symbol(name.to_string()),
        },
        Value::Float(value) => LaunchValue::Float(*value),
        Value::Str(text) => LaunchValue::Str(text.to_string()),
        Value::Tuple(tuple) => {
            LaunchValue::Tuple(tuple.items.iter().map(|v| launch_value(name, v)).collect())
        }
        _ => LaunchValue::Symbol(name.to_string()),
    }
}

fn dtype_of(dtype: LaunchDtype) -> Dtype {
    match dtype {
        LaunchDtype::I1 => Dtype::Int1,
        LaunchDtype::I8 => Dtype::Int8,
        LaunchDtype::I16 => Dtype::Int16,
        LaunchDtype::I32 => Dtype::Int32,
        LaunchDtype::I64 => Dtype::Int64,
        LaunchDtype::U8 => Dtype::Uint8,
        LaunchDtype::U16 => Dtype::Uint16,
        LaunchDtype::U32 => Dtype::Uint32,
        LaunchDtype::U64 => Dtype::Uint64,
        LaunchDtype::F8E4M3 => Dtype::Fp8e4nv,
        LaunchDtype::F8E5M2 => Dtype::Fp8e5,
        LaunchDtype::F16 => Dtype::Fp16,
        LaunchDtype::BF16 => Dtype::Bf16,
        LaunchDtype::F32 => Dtype::Fp32,
        LaunchDtype::F64 => Dtype::Fp64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Status;

    /// A kernel cannot be to blame for IR that does not verify; what the verifier does not support it says itself.
    #[test]
    fn what_the_front_end_makes_wrong_is_a_bug() {
        assert_eq!(
            Status::of(&ours(Error::input("operands differ"))),
            Status::Internal
        );
        assert_eq!(
            Status::of(&ours(Error::unsupported("a call"))),
            Status::Unsupported
        );
    }
}
