//! Binds the evaluated arguments to a kernel's parameters.
//!
//! By name; where the kernel's text gives its parameters no names (old TTIR), by position in the order of
//! the file. Triton removes a parameter whose argument it specialised on: integers equal to 1, and none.
//! Only such arguments may be without a parameter.

use std::ops::Range;

use tilescope_diagnostics::{Error, Result, closest};
use tilescope_ir::{Elem, FuncId, Loc, LocId, Locs, Module, Scalar, Type};

use crate::evaluated::Evaluated;
use crate::expr::{Scope, Value};
use crate::file::{Expect, LaunchFile, Overrides};
use crate::memory::Plan;
use crate::resolve::{ArgKind, Resolved, ResolvedArg, ResolvedLaunch, grid};
use crate::{Argument, CompileOptions, Dtype, Files, Launch, Memory, Role, Tensor, TensorId};

/// A run-time parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the author's source, where the kernel's text keeps it.
    pub name: Option<String>,
    /// Its type.
    pub ty: Type,
}

/// What a launch must match: a kernel's name and parameters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Signature {
    /// The function's name.
    pub name: String,
    /// In the function's order.
    pub parameters: Vec<Parameter>,
    /// Of a kernel that was compiled for this launch: parameters that are compiled in. Grids may use their values, and
    /// a launch may give arguments of these names.
    pub constants: Vec<(String, Value)>,
    /// Of a kernel that was compiled for this launch: values of parameters for which the launch gives none.
    pub defaults: Vec<(String, Value)>,
    /// The options that it was compiled with, where they are not those of the launch.
    pub options: Option<CompileOptions>,
}

impl Signature {
    /// The signature of a function of a module.
    pub fn of(module: &Module, function: FuncId) -> Signature {
        let function = &module.funcs[function];
        let parameters = function.params().iter().map(|&value| {
            let name = parameter_name(&module.locs, function.values[value].loc);
            // `arg0` and so on are what MLIR calls values without a name.
            let name = name
                .or(function.value_name(&module.locs, value))
                .filter(|name| !is_numbered(name));
            Parameter {
                name: name.map(Into::into),
                ty: function.ty(value),
            }
        });
        Signature {
            name: function.name.to_string(),
            parameters: parameters.collect(),
            ..Signature::default()
        }
    }
}

/// The innermost name around a place: Triton puts the name of each further variable that the parameter is
/// assigned to (`high = n`) around the parameter's own.
fn parameter_name(locs: &Locs, mut place: LocId) -> Option<&str> {
    const MAX_NAMES: usize = 256;
    let mut innermost = None;
    for _ in 0..MAX_NAMES {
        let Loc::Name { name, child } = locs.get(place) else {
            break;
        };
        innermost = Some(&**name);
        place = *child;
    }
    innermost
}

fn is_numbered(name: &str) -> bool {
    let digits = name.strip_prefix("arg").unwrap_or(name);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Launches bound to their kernels, and how to make their data.
///
/// All launches of a pipeline share one list of tensors and one memory.
#[derive(Debug, Clone)]
pub struct Bound {
    /// In order; one unless from a pipeline.
    pub launches: Vec<Launch>,
    /// What the user may want to know about the binding.
    pub notes: Vec<String>,
    /// Per launch, the values of variables, scalar arguments and constexprs, for formulas.
    pub scopes: Vec<Scope>,
    /// Per launch, the compile-time parameters in the order of the file.
    pub constexprs: Vec<Vec<(String, Value)>>,
    /// What outputs should be.
    pub expect: Vec<Expect>,
    pub(crate) plan: Plan,
    pub(crate) tensors: Vec<Tensor>,
}

impl Bound {
    /// Makes the memory, filled with the data as they are before the first launch: the same bytes at
    /// each call. `limit` bounds what is allocated, in bytes (the memory that the machine has to
    /// spare); storage that is mapped lazily counts only as far as it is filled.
    ///
    /// # Errors
    ///
    /// Too little memory, before anything is allocated; data files that are missing, ill-formed or not
    /// as declared. Each points at the tensor's place in the launch file.
    pub fn allocate(&self, files: &dyn Files, limit: u64) -> Result<Memory> {
        self.plan.allocate(&self.tensors, files, limit)
    }

    /// All tensors of all launches.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }
}

impl LaunchFile {
    /// The function that a launch of this file names, or the module's only public one.
    ///
    /// # Errors
    ///
    /// No such function, none at all, or several of which none is named; also a number of a launch
    /// that the file does not have.
    pub fn find_kernel(&self, launch: usize, module: &Module) -> Result<FuncId> {
        let Some(spec) = self.launches.get(launch) else {
            return Err(Error::input(format!(
                "{} has no launch {launch}",
                self.source.name
            )));
        };
        let kernel = &spec.kernel;
        let names: Vec<&str> = module.kernels().map(|(_, f)| &*f.name).collect();
        let Some(name) = &kernel.function else {
            let mut kernels = module.kernels();
            return match (kernels.next(), kernels.next()) {
                (Some((id, _)), None) => Ok(id),
                (None, _) => Err(self.error(
                    &kernel.span,
                    format!("`{}` has no public function", kernel.path),
                    "",
                )),
                (Some(_), Some(_)) => {
                    let error = self.error(
                        &kernel.span,
                        format!("`{}` has several kernels", kernel.path),
                        "which one?",
                    );
                    Err(error.help(format!(
                        "write \"{}::NAME\" with one of {}",
                        kernel.path,
                        names.join(", ")
                    )))
                }
            };
        };
        module
            .kernels()
            .find(|(_, f)| *f.name == **name)
            .map(|(id, _)| id)
            .ok_or_else(|| {
                let error = self.error(
                    &kernel.span,
                    format!("`{}` has no kernel `{name}`", kernel.path),
                    "",
                );
                match closest(name, names.iter().copied()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.note(format!("it has: {}", names.join(", "))),
                }
            })
    }

    /// Evaluates the file and binds each launch to its kernel's signature (one per launch, in order).
    ///
    /// # Errors
    ///
    /// As [`LaunchFile::evaluate`] and [`Evaluated::bind`].
    pub fn bind(&self, signatures: &[Signature], overrides: &Overrides) -> Result<Bound> {
        self.evaluate(overrides)?.bind(signatures)
    }

    /// In a pipeline, what a launch does not reach has no role in it.
    fn tensors_of(&self, tensors: &[Tensor], arguments: &[Argument]) -> Vec<Tensor> {
        let mut own = tensors.to_vec();
        if !self.pipeline {
            return own;
        }
        let mut reached = vec![false; own.len()];
        let mut queue: Vec<TensorId> = arguments
            .iter()
            .filter_map(|argument| match argument {
                Argument::Tensor(id) | Argument::Descriptor { tensor: id, .. } => Some(*id),
                Argument::Scalar { .. } | Argument::Null => None,
            })
            .collect();
        while let Some(id) = queue.pop() {
            if let (Some(seen), Some(tensor)) = (reached.get_mut(id.0 as usize), tensors.get(id.0 as usize))
                && !std::mem::replace(seen, true)
            {
                queue.extend(&tensor.pointers);
            }
        }
        for (tensor, _) in own.iter_mut().zip(reached).filter(|(_, reached)| !reached) {
            tensor.role = Role::InOut;
        }
        own
    }
}

impl Evaluated<'_> {
    /// Binds each launch to its kernel's signature (one per launch, in order).
    ///
    /// # Errors
    ///
    /// Missing, unknown and mismatched arguments; a wrong number of signatures.
    pub fn bind(self, signatures: &[Signature]) -> Result<Bound> {
        let Evaluated { file, resolved } = self;
        if signatures.len() != file.launches.len() {
            let message = format!(
                "{} launches, but {} kernels given",
                file.launches.len(),
                signatures.len()
            );
            return Err(Error::input(message));
        }
        let Resolved {
            tensors,
            plan,
            launches,
        } = resolved;
        let mut bound = Bound {
            launches: Vec::new(),
            notes: Vec::new(),
            scopes: Vec::new(),
            constexprs: Vec::new(),
            expect: file.expect.clone(),
            plan,
            tensors,
        };
        for (index, (mut launch, signature)) in launches.into_iter().zip(signatures).enumerate() {
            for (name, value) in &signature.constants {
                if launch.scope.lookup(name).is_none() {
                    launch.scope.insert(name, value.clone());
                }
            }
            let grid = grid(&file.launches[index], &launch.scope)?;
            let binder = Binder {
                file,
                index,
                signature,
                tensors: &bound.tensors,
            };
            let (arguments, notes) = binder.arguments(&launch)?;
            bound.notes.extend(notes);
            let tensors = file.tensors_of(&bound.tensors, &arguments);
            let name = match file.launches.len() {
                1 => file.source.name.clone(),
                _ => format!("{} #{}", file.source.name, index + 1),
            };
            let asked = file.launches[index].options;
            bound.launches.push(Launch {
                name,
                kernel: signature.name.clone(),
                grid,
                arguments,
                tensors,
                options: signature.options.unwrap_or(asked.or_default()),
            });
            bound.scopes.push(launch.scope);
            bound.constexprs.push(launch.constexprs);
        }
        crate::resolve::expectations(file, &bound.tensors)?;
        Ok(bound)
    }
}

struct Binder<'a> {
    file: &'a LaunchFile,
    index: usize,
    signature: &'a Signature,
    tensors: &'a [Tensor],
}

impl Binder<'_> {
    fn error(&self, span: &Range<usize>, message: impl Into<String>, label: impl Into<String>) -> Box<Error> {
        self.file.error(span, message, label)
    }

    fn arguments(&self, launch: &ResolvedLaunch) -> Result<(Vec<Argument>, Vec<String>)> {
        let slots = slots(&self.signature.parameters);
        let pairs = self.signature.parameters.iter().zip(&slots);
        let own: Vec<&Parameter> = pairs
            .filter(|(_, slot)| **slot == Slot::Given)
            .map(|(p, _)| p)
            .collect();
        let mut notes = Vec::new();
        let args = self.with_defaults(&launch.args);
        let chosen = if own.iter().all(|p| p.name.is_some()) {
            self.by_name(&own, &args, &mut notes)?
        } else {
            self.by_position(own.len(), &args, &mut notes)?
        };
        let mut chosen = chosen.into_iter();
        let mut arguments: Vec<Argument> = Vec::new();
        for (index, (parameter, slot)) in self.signature.parameters.iter().zip(slots).enumerate() {
            let name = parameter.name.clone().unwrap_or_else(|| format!("%arg{index}"));
            let argument = match (slot, chosen.as_slice().first()) {
                (Slot::Size { descriptor, axis }, _) => self.extent(&arguments, descriptor, axis, true)?,
                (Slot::Stride { descriptor, axis }, _) => self.extent(&arguments, descriptor, axis, false)?,
                (Slot::Given, Some(arg)) => {
                    let argument = self.argument(&name, parameter.ty, arg, &mut notes)?;
                    chosen.next();
                    argument
                }
                (Slot::Given, None) => return Err(self.missing(&name, parameter.ty)),
            };
            arguments.push(argument);
        }
        Ok((arguments, notes))
    }

    /// The launch's arguments without those that are compiled in, and the defaults of those that it leaves out.
    fn with_defaults(&self, args: &[ResolvedArg]) -> Vec<ResolvedArg> {
        let Signature {
            constants, defaults, ..
        } = self.signature;
        let given = |name: &String| args.iter().any(|arg| arg.name == *name);
        let missing = defaults.iter().filter(|(name, _)| !given(name));
        let missing = missing.map(|(name, value)| ResolvedArg {
            name: name.clone(),
            span: self.args_span(),
            kind: match value {
                Value::None => ArgKind::Null,
                value => ArgKind::Scalar {
                    dtype: None,
                    value: value.clone(),
                },
            },
        });
        let compiled_in = |arg: &ResolvedArg| constants.iter().any(|(name, _)| *name == arg.name);
        let passed = args.iter().filter(|arg| !compiled_in(arg));
        passed.cloned().chain(missing).collect()
    }

    /// The place to name when something is missing.
    fn args_span(&self) -> Range<usize> {
        let launch = self.file.launches.get(self.index);
        launch.map_or(0..0, |l| l.args_span.clone())
    }

    /// The size or stride that Triton passes after a descriptor.
    fn extent(&self, arguments: &[Argument], descriptor: usize, axis: usize, size: bool) -> Result<Argument> {
        let tensor = match arguments.get(descriptor) {
            Some(Argument::Descriptor { tensor, .. }) => self.tensors.get(tensor.0 as usize),
            _ => None,
        };
        let value = tensor.and_then(|t| {
            if size {
                t.shape.get(axis)
            } else {
                t.strides.get(axis)
            }
        });
        let value = value.copied().unwrap_or_default();
        match (size, i32::try_from(value)) {
            (true, Ok(value)) => Ok(Argument::Scalar {
                bits: u64::from(value as u32),
            }),
            (false, _) => Ok(Argument::Scalar { bits: value as u64 }),
            (true, Err(_)) => {
                let name = tensor.map_or("", |t| t.name.as_str());
                Err(Error::input(format!(
                    "the descriptor of `{name}`: dimension {axis} of {value} does not fit 32 bits"
                )))
            }
        }
    }

    fn by_name<'a>(
        &self,
        parameters: &[&Parameter],
        args: &'a [ResolvedArg],
        notes: &mut Vec<String>,
    ) -> Result<Vec<&'a ResolvedArg>> {
        let names: Vec<&str> = parameters.iter().filter_map(|p| p.name.as_deref()).collect();
        let kernel = &self.signature.name;
        for arg in args.iter().filter(|arg| !names.contains(&arg.name.as_str())) {
            let free = names
                .iter()
                .copied()
                .filter(|name| !args.iter().any(|a| a.name == *name));
            if let (true, None) = (specialised_away(arg), closest(&arg.name, free.clone())) {
                notes.push(format!(
                    "`{}` is no parameter of `{kernel}`: Triton specialised it away",
                    arg.name
                ));
                continue;
            }
            let error = self.error(
                &arg.span,
                format!("`{kernel}` has no parameter `{}`", arg.name),
                "no such parameter",
            );
            return Err(match closest(&arg.name, free) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None if matches!(arg.kind, ArgKind::Scalar { .. }) => error
                    .note("Triton removes the parameters of integers equal to 1 and of none, but of no other argument")
                    .note(format!("its parameters: {}", names.join(", "))),
                None => error.note(format!("its parameters: {}", names.join(", "))),
            });
        }
        let find = |parameter: &&Parameter| {
            let name = parameter.name.as_deref().unwrap_or_default();
            args.iter()
                .find(|arg| arg.name == name)
                .ok_or_else(|| self.missing(name, parameter.ty))
        };
        parameters.iter().map(find).collect()
    }

    fn missing(&self, name: &str, ty: Type) -> Box<Error> {
        // An element of a tuple, `pair.1`: without quotes TOML would read a table.
        let key = if name.contains('.') {
            format!("\"{name}\"")
        } else {
            name.to_string()
        };
        let (example, what) = match ty {
            Type::Scalar(Elem::Ptr(p)) => {
                let dtype = p
                    .target()
                    .scalar()
                    .and_then(Dtype::of_scalar)
                    .map_or("u64", Dtype::name);
                (
                    format!("{key} = {{ dtype = \"{dtype}\", shape = [ … ] }}"),
                    "a pointer",
                )
            }
            Type::Descriptor { .. } => (
                format!("{key} = {{ descriptor_of = \"TENSOR\", block_shape = [ … ] }}"),
                "a tensor descriptor",
            ),
            _ if self.file.vars.iter().any(|v| v.name == name) => {
                (format!("{name} = \"{name}\""), "a number")
            }
            _ => (format!("{key} = VALUE"), "a number"),
        };
        self.error(
            &self.args_span(),
            format!("no argument for parameter `{name}` of `{}`", self.signature.name),
            "missing here",
        )
        .note(format!("it is {what} of type {ty}"))
        .help(format!("add `{example}` to [args]"))
    }

    fn by_position<'a>(
        &self,
        wanted: usize,
        args: &'a [ResolvedArg],
        notes: &mut Vec<String>,
    ) -> Result<Vec<&'a ResolvedArg>> {
        let kernel = &self.signature.name;
        let mut chosen: Vec<&ResolvedArg> = args.iter().collect();
        if chosen.len() > wanted {
            chosen.retain(|arg| !specialised_away(arg));
        }
        if chosen.len() != wanted {
            let message = format!(
                "`{kernel}` has {wanted} parameters, {} arguments are given",
                args.len()
            );
            let error = self.error(&self.args_span(), message, "");
            return Err(error.note(
                "its text gives the parameters no names, so arguments are bound in the order of the file",
            ));
        }
        if wanted > 0 {
            notes.push(format!(
                "the parameters of `{kernel}` have no names: arguments are bound in the order of the file"
            ));
        }
        for arg in args
            .iter()
            .filter(|arg| !chosen.iter().any(|c| std::ptr::eq(*c, *arg)))
        {
            notes.push(format!(
                "`{}` is taken to have been specialised away by Triton",
                arg.name
            ));
        }
        Ok(chosen)
    }

    fn argument(&self, name: &str, ty: Type, arg: &ResolvedArg, notes: &mut Vec<String>) -> Result<Argument> {
        match (ty, &arg.kind) {
            (Type::Scalar(Elem::Ptr(pointer)), ArgKind::Tensor(id)) => {
                self.pointee(name, pointer.target(), *id, arg, notes)?;
                Ok(Argument::Tensor(*id))
            }
            (Type::Scalar(Elem::Ptr(_)), ArgKind::Null) => Ok(Argument::Null),
            (Type::Scalar(Elem::Scalar(scalar)), ArgKind::Scalar { dtype, value }) => {
                let bits = self.scalar(name, scalar, *dtype, value, arg)?;
                Ok(Argument::Scalar { bits })
            }
            (Type::Descriptor { block, elem, .. }, ArgKind::Descriptor { tensor, block_shape }) => {
                let expected: Vec<i64> = block.dims().map(|d| d as i64).collect();
                if expected != *block_shape {
                    let message = format!("parameter `{name}` describes blocks of {expected:?}");
                    return Err(self.error(&arg.span, message, format!("`block_shape` is {block_shape:?}")));
                }
                self.pointee(name, Elem::Scalar(elem), *tensor, arg, notes)?;
                Ok(Argument::Descriptor {
                    tensor: *tensor,
                    block_shape: block_shape.clone(),
                })
            }
            (Type::Tile(..) | Type::BlockPtr(..), _) => {
                let message = format!("parameter `{name}` has type {ty}, which no launch can pass");
                Err(Error::unsupported(message).at(&self.file.source, arg.span.clone(), ""))
            }
            (_, given) => {
                let wanted = match ty {
                    Type::Scalar(Elem::Ptr(_)) => "a tensor",
                    Type::Descriptor { .. } => "a tensor descriptor",
                    _ => "a number",
                };
                let given = match given {
                    ArgKind::Tensor(_) => "a tensor",
                    ArgKind::Scalar { .. } => "a number",
                    ArgKind::Descriptor { .. } => "a tensor descriptor",
                    ArgKind::Null => "none",
                };
                let message = format!("parameter `{name}` of type {ty} takes {wanted}");
                Err(self.error(&arg.span, message, format!("this is {given}")))
            }
        }
    }

    /// Sizes must agree; another kind of number of the same size is worth a note.
    fn pointee(
        &self,
        name: &str,
        pointee: Elem,
        id: TensorId,
        arg: &ResolvedArg,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let Some(tensor) = self.tensors.get(id.0 as usize) else {
            return Ok(());
        };
        let dtype = tensor.dtype;
        if pointee.bytes() != dtype.bytes() {
            let message = format!(
                "parameter `{name}` points to {pointee}, `{}` holds {}",
                tensor.name,
                dtype.name()
            );
            let label = format!("{} and {} bytes per element", pointee.bytes(), dtype.bytes());
            return Err(self.error(&arg.span, message, label));
        }
        let same = match pointee {
            Elem::Ptr(_) => !dtype.is_float(),
            Elem::Scalar(scalar) if scalar.is_float() || dtype.is_float() => {
                Dtype::of_scalar(scalar) == Some(dtype)
            }
            Elem::Scalar(_) => true,
        };
        if !same {
            notes.push(format!(
                "`{name}` points to {pointee}, `{}` holds {}: its bytes are taken as they are",
                tensor.name,
                dtype.name()
            ));
        }
        Ok(())
    }

    fn scalar(
        &self,
        name: &str,
        scalar: Scalar,
        dtype: Option<Dtype>,
        value: &Value,
        arg: &ResolvedArg,
    ) -> Result<u64> {
        if let Some(dtype) = dtype {
            let bits = if dtype == Dtype::I1 {
                1
            } else {
                8 * dtype.bytes() as u32
            };
            if bits != scalar.bits() || dtype.is_float() != scalar.is_float() {
                let message = format!("parameter `{name}` is {scalar}");
                return Err(self.error(&arg.span, message, format!("given as {}", dtype.name())));
            }
        }
        if scalar.is_float() {
            let dtype = Dtype::of_scalar(scalar);
            return match (dtype, value.as_float()) {
                (Some(dtype), Some(value)) => Ok(dtype.encode_float(value)),
                (None, _) => {
                    let message = format!("parameter `{name}`: numbers of type {scalar} cannot be passed");
                    Err(Error::unsupported(message).at(&self.file.source, arg.span.clone(), ""))
                }
                (_, None) => Err(self.error(
                    &arg.span,
                    format!("parameter `{name}` is {scalar}"),
                    value.type_name(),
                )),
            };
        }
        if !matches!(
            scalar,
            Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64
        ) {
            let message = format!("parameter `{name}`: numbers of type {scalar} cannot be passed");
            return Err(Error::unsupported(message).at(&self.file.source, arg.span.clone(), ""));
        }
        let Some(number) = value.as_int() else {
            let error = self.error(
                &arg.span,
                format!("parameter `{name}` is {scalar}, an integer"),
                format!("this is {value}"),
            );
            return Err(error.help("`//` divides integers"));
        };
        // Types carry no sign here: both readings of the bits are accepted.
        let bits = scalar.bits();
        let (least, most) = (-(1i128 << (bits - 1)), (1i128 << bits) - 1);
        if !(least..=most).contains(&number) {
            let message = format!("parameter `{name}` is {scalar}, which cannot hold {number}");
            return Err(self.error(&arg.span, message, format!("{least} to {most}")));
        }
        Ok(number as u64 & (u64::MAX >> (64 - bits)))
    }
}

/// Where a parameter's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// An argument of the launch.
    Given,
    /// A dimension of the tensor that parameter `descriptor` describes.
    Size { descriptor: usize, axis: usize },
    /// A stride of that tensor.
    Stride { descriptor: usize, axis: usize },
}

/// After a tensor descriptor Triton passes the tensor's sizes (i32 each) and its strides (i64 each), named
/// `desc.shape.0`, `desc.stride.0` and so on, or in older versions like the descriptor itself.
fn slots(parameters: &[Parameter]) -> Vec<Slot> {
    let mut slots = vec![Slot::Given; parameters.len()];
    for (descriptor, parameter) in parameters.iter().enumerate() {
        let Type::Descriptor { block, .. } = parameter.ty else {
            continue;
        };
        let rank = block.rank();
        let follows = |p: &Parameter, scalar| {
            let name = match (&p.name, &parameter.name) {
                (Some(name), Some(of)) => name
                    .strip_prefix(of.as_str())
                    .is_some_and(|r| r.is_empty() || r.starts_with('.')),
                (None, None) => true,
                _ => false,
            };
            name && p.ty == Type::scalar(scalar)
        };
        let first = descriptor + 1;
        let (Some(sizes), Some(strides)) = (
            parameters.get(first..first + rank),
            parameters.get(first + rank..first + 2 * rank),
        ) else {
            continue;
        };
        if sizes.iter().all(|p| follows(p, Scalar::I32)) && strides.iter().all(|p| follows(p, Scalar::I64)) {
            for axis in 0..rank {
                slots[first + axis] = Slot::Size { descriptor, axis };
                slots[first + rank + axis] = Slot::Stride { descriptor, axis };
            }
        }
    }
    slots
}

/// What Triton compiles into the kernel instead of passing it.
fn specialised_away(arg: &ResolvedArg) -> bool {
    match &arg.kind {
        ArgKind::Null => true,
        ArgKind::Scalar {
            value: Value::Int(1), ..
        } => true,
        ArgKind::Scalar { .. } | ArgKind::Tensor(_) | ArgKind::Descriptor { .. } => false,
    }
}
