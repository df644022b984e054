//! Evaluates a parsed file: names get values, tensors get layouts, the grid gets sizes.
//!
//! Order: vars, scalar arguments, constexprs, tensors, grid; each may use what comes before. A name
//! means the constexpr of that name, else the var, else the scalar argument.
//!
//! Allocations are made in the order of the file: arguments first, then `[tensors]` (in a pipeline,
//! `[tensors]` first, as they are shared). Views own none.

mod contents;
mod names;

use std::collections::BTreeSet;
use std::ops::Range;

use tilescope_diagnostics::{Result, closest};

use self::contents::{contents, dimensions, integer, optional};
use self::names::{Scalars, scalars, unknown_overrides, vars};
use crate::expr::{Expression, NodeKind, Scope, Value};
use crate::file::{Entry, EntryKind, LaunchFile, LaunchSpec, Origin, Overrides, Spelled, TensorSpec};
use crate::fill::Contents;
use crate::layout::{Layout, LayoutFault, TOO_LARGE};
use crate::memory::Plan;
use crate::{AllocationId, Dtype, Role, Tensor, TensorId};

/// Programs along one dimension of the grid.
pub(crate) const MAX_GRID: i128 = (1 << 31) - 1;

/// An evaluated file; the grids are left, which may use constants that a kernel is compiled with: see [`grid()`].
#[derive(Debug)]
pub(crate) struct Resolved {
    pub tensors: Vec<Tensor>,
    pub plan: Plan,
    pub launches: Vec<ResolvedLaunch>,
}

#[derive(Debug)]
pub(crate) struct ResolvedLaunch {
    /// In file order.
    pub args: Vec<ResolvedArg>,
    /// The names that formulas may use, with their values.
    pub scope: Scope,
    /// In file order.
    pub constexprs: Vec<(String, Value)>,
}

#[derive(Debug, Clone)]
pub(crate) struct ResolvedArg {
    pub name: String,
    /// Place of the value.
    pub span: Range<usize>,
    pub kind: ArgKind,
}

#[derive(Debug, Clone)]
pub(crate) enum ArgKind {
    Tensor(TensorId),
    Scalar { dtype: Option<Dtype>, value: Value },
    Descriptor { tensor: TensorId, block_shape: Vec<i64> },
    Null,
}

pub(crate) fn resolve(file: &LaunchFile, overrides: &Overrides) -> Result<Resolved> {
    let vars = vars(file, overrides)?;
    let mut scopes = Vec::new();
    for spec in &file.launches {
        scopes.push(scalars(file, spec, vars.clone(), overrides)?);
    }
    unknown_overrides(file, overrides)?;
    let mut resolver = Resolver {
        file,
        overrides,
        tensors: Vec::new(),
        plan: Plan::new(file.source.clone(), seed(file, overrides)),
    };
    resolver.declare();
    resolver.owners(&vars, &scopes)?;
    resolver.views(&vars, &scopes)?;
    resolver.pointers()?;
    let mut launches = Vec::new();
    for (index, (spec, scalars)) in file.launches.iter().zip(scopes).enumerate() {
        launches.push(resolver.launch(index, spec, scalars)?);
    }
    let tensors = resolver
        .tensors
        .into_iter()
        .filter_map(|slot| slot.tensor)
        .collect();
    Ok(Resolved {
        tensors,
        plan: resolver.plan,
        launches,
    })
}

/// The sizes of a launch's grid.
pub(crate) fn grid(spec: &LaunchSpec, scope: &Scope) -> Result<[u64; 3]> {
    let mut grid = [1; 3];
    for (size, e) in grid.iter_mut().zip(&spec.grid) {
        let value = integer(scope, e, "a grid size")?;
        *size = match value {
            0..=MAX_GRID => value as u64,
            ..0 => return Err(e.error(&e.root, "a grid size must not be negative", format!("{value}"))),
            _ => {
                let label = format!("{value}; the limit is 2^31 - 1 = {MAX_GRID}");
                return Err(e.error(&e.root, format!("grid {TOO_LARGE}"), label));
            }
        };
    }
    Ok(grid)
}

/// What an override gives a tensor.
fn given<T: Copy>(overrides: &[(String, T)], name: &str) -> Option<T> {
    let found = overrides.iter().find(|(of, _)| of == name);
    found.map(|&(_, value)| value)
}

fn seed(file: &LaunchFile, overrides: &Overrides) -> u64 {
    overrides.seed.unwrap_or(file.seed)
}

/// A tensor entry on its way to a [`Tensor`].
struct Slot<'a> {
    entry: &'a Entry,
    spec: &'a TensorSpec,
    /// Launch whose argument it is; none for `[tensors]`.
    launch: Option<usize>,
    tensor: Option<Tensor>,
}

struct Resolver<'a> {
    file: &'a LaunchFile,
    overrides: &'a Overrides,
    tensors: Vec<Slot<'a>>,
    plan: Plan,
}

impl<'a> Resolver<'a> {
    /// Lists every tensor entry in the order of allocation.
    fn declare(&mut self) {
        let shared = self.file.tensors.iter().map(|e| (e, None));
        let args = self
            .file
            .launches
            .iter()
            .enumerate()
            .flat_map(|(i, l)| l.args.iter().map(move |e| (e, Some(i))));
        let entries: Vec<_> = if self.file.pipeline {
            shared.chain(args).collect()
        } else {
            args.chain(shared).collect()
        };
        for (entry, launch) in entries {
            if let EntryKind::Tensor(spec) = &entry.kind {
                self.tensors.push(Slot {
                    entry,
                    spec,
                    launch,
                    tensor: None,
                });
            }
        }
    }

    fn find(&self, launch: Option<usize>, name: &str) -> Option<TensorId> {
        let own = |slot: &&Slot| launch.is_some() && slot.launch == launch && slot.entry.name == name;
        // A plain launch's [tensors] may point to its arguments.
        let wider = |slot: &Slot| slot.entry.name == name && (slot.launch.is_none() || !self.file.pipeline);
        let index = match self.tensors.iter().position(|slot| own(&slot)) {
            Some(index) => index,
            None => self.tensors.iter().position(wider)?,
        };
        Some(TensorId(index as u32))
    }

    fn need(&self, launch: Option<usize>, name: &Spelled) -> Result<TensorId> {
        self.find(launch, &name.text).ok_or_else(|| {
            let error = self
                .file
                .error(&name.span, format!("no tensor is called `{}`", name.text), "");
            match closest(&name.text, self.tensors.iter().map(|s| s.entry.name.as_str())) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error,
            }
        })
    }

    fn scope_of<'s>(&self, slot: &Slot<'_>, vars: &'s Scope, scopes: &'s [Scalars]) -> &'s Scope {
        let index = match slot.launch {
            Some(index) => Some(index),
            None if self.file.pipeline => None,
            None => Some(0),
        };
        index.and_then(|i| scopes.get(i)).map_or(vars, |s| &s.scope)
    }

    fn owners(&mut self, vars: &Scope, scopes: &[Scalars]) -> Result<()> {
        for index in 0..self.tensors.len() {
            let slot = &self.tensors[index];
            if matches!(slot.spec.origin, Origin::ViewOf(_)) {
                continue;
            }
            let scope = self.scope_of(slot, vars, scopes);
            let spec = slot.spec;
            let name = &slot.entry.name;
            let dtype = given(&self.overrides.dtypes, name)
                .or(spec.dtype)
                .unwrap_or(Dtype::U64);
            let shape = match (&spec.shape, &spec.origin) {
                (Some(shape), _) => dimensions(scope, shape, true)?,
                (None, Origin::Pointers(names)) => vec![names.len() as i64],
                (None, _) => Vec::new(),
            };
            let strides = spec
                .strides
                .as_ref()
                .map(|s| dimensions(scope, s, false))
                .transpose()?;
            let offset = optional(scope, &spec.offset)?;
            let mut layout = self.layout(slot, shape, strides, offset)?;
            let slack = self.overrides.slack.iter().find(|(of, ..)| of == name);
            let (before, behind) =
                slack.map_or((0, 0), |&(_, before, behind)| (before.max(0), behind.max(0)));
            if before > 0 {
                let offset = layout.offset.saturating_add(before);
                layout = self.layout(slot, layout.shape, Some(layout.strides), Some(offset))?;
            }
            let storage = match optional(scope, &spec.storage)?.map(|n| n.saturating_add(before)) {
                None => layout.end.saturating_add(behind),
                Some(storage) if storage >= layout.end => storage,
                Some(storage) => {
                    let span = spec
                        .storage
                        .as_ref()
                        .map_or(slot.entry.span.clone(), |e| e.root.span.clone());
                    return Err(self.file.error(
                        &span,
                        format!("`{}` does not fit its storage", slot.entry.name),
                        format!("{storage} elements, the view needs {}", layout.end),
                    ));
                }
            };
            let role = spec.role.unwrap_or(Role::InOut);
            let contents = contents(
                self.file,
                slot,
                scope,
                dtype,
                role,
                &layout,
                given(&self.overrides.fills, name),
            )?;
            let allocation = AllocationId(self.plan.owners.len() as u32);
            let tensor = Tensor {
                name: slot.entry.name.clone(),
                dtype,
                shape: layout.shape,
                strides: layout.strides,
                offset: layout.offset,
                role,
                allocation,
                uninit: matches!(contents, Contents::Uninit),
                pointers: Vec::new(),
            };
            let span = slot.entry.span.clone();
            self.plan
                .add(TensorId(index as u32), span, storage, &tensor, contents)?;
            self.tensors[index].tensor = Some(tensor);
        }
        Ok(())
    }

    fn views(&mut self, vars: &Scope, scopes: &[Scalars]) -> Result<()> {
        for index in 0..self.tensors.len() {
            let slot = &self.tensors[index];
            let Origin::ViewOf(target) = &slot.spec.origin else {
                continue;
            };
            let owner = self.owner_of(slot, target)?;
            let scope = self.scope_of(slot, vars, scopes);
            let spec = slot.spec;
            let dtype = spec.dtype.unwrap_or(owner.dtype);
            let strides = spec
                .strides
                .as_ref()
                .map(|s| dimensions(scope, s, false))
                .transpose()?;
            let offset = optional(scope, &spec.offset)?;
            let (shape, strides, offset) = match &spec.shape {
                Some(shape) => (dimensions(scope, shape, true)?, strides, offset),
                // A view that gives no shape is its storage's own view, but for what it gives.
                None if dtype.bytes() == owner.dtype.bytes() => {
                    if strides.as_ref().is_some_and(|s| s.len() != owner.shape.len()) {
                        let label = format!("`{}` has {} dimensions", owner.name, owner.shape.len());
                        return Err(self.file.error(
                            &slot.entry.span,
                            "`strides` must have an entry per dimension",
                            label,
                        ));
                    }
                    let plain = strides.is_none();
                    let offset = offset.or(plain.then_some(owner.offset));
                    (
                        owner.shape.clone(),
                        strides.or(plain.then(|| owner.strides.clone())),
                        offset,
                    )
                }
                None => {
                    return Err(self.file.error(
                        &slot.entry.span,
                        "a view with another element size needs its own `shape`",
                        format!("{} over {}", dtype.name(), owner.dtype.name()),
                    ));
                }
            };
            let layout = self.layout(slot, shape, strides, offset)?;
            let size = self
                .plan
                .owners
                .get(owner.allocation.0 as usize)
                .map_or(0, |o| o.bytes);
            if i128::from(layout.end) * dtype.bytes() as i128 > i128::from(size) {
                let message = format!(
                    "view `{}` reaches past the storage of `{}`",
                    slot.entry.name, target.text
                );
                let label = format!(
                    "it needs {} elements, there are {}",
                    layout.end,
                    size / dtype.bytes() as u64
                );
                let error = self.file.error(&slot.entry.span, message, label);
                return Err(error.help(format!("give `{}` a larger `storage`", target.text)));
            }
            let tensor = Tensor {
                name: slot.entry.name.clone(),
                dtype,
                shape: layout.shape,
                strides: layout.strides,
                offset: layout.offset,
                role: spec.role.unwrap_or(Role::InOut),
                allocation: owner.allocation,
                uninit: owner.uninit,
                pointers: Vec::new(),
            };
            self.tensors[index].tensor = Some(tensor);
        }
        Ok(())
    }

    /// Follows views of views to the tensor that owns the storage.
    fn owner_of(&self, view: &Slot<'_>, target: &Spelled) -> Result<Tensor> {
        let (mut launch, mut name) = (view.launch, target);
        let mut seen = BTreeSet::new();
        loop {
            let id = self.need(launch, name)?;
            let slot = &self.tensors[id.0 as usize];
            match (&slot.spec.origin, &slot.tensor) {
                (Origin::ViewOf(next), _) if seen.insert(id) => (launch, name) = (slot.launch, next),
                (Origin::ViewOf(_), _) | (_, None) => {
                    let message = format!("`{}` is a view of itself", view.entry.name);
                    return Err(self
                        .file
                        .error(&target.span, message, "the chain of views ends nowhere"));
                }
                (_, Some(tensor)) => return Ok(tensor.clone()),
            }
        }
    }

    fn pointers(&mut self) -> Result<()> {
        for index in 0..self.tensors.len() {
            let slot = &self.tensors[index];
            let Origin::Pointers(names) = &slot.spec.origin else {
                continue;
            };
            let ids = names
                .iter()
                .map(|name| self.need(slot.launch, name))
                .collect::<Result<Vec<_>>>()?;
            let elements = slot.tensor.as_ref().map_or(0, Tensor::elements);
            if elements != ids.len() as u64 {
                let message = format!(
                    "`{}` has {elements} elements, but {} pointers",
                    slot.entry.name,
                    ids.len()
                );
                return Err(self.file.error(&slot.entry.span, message, ""));
            }
            let addresses = ids.iter().map(|id| {
                let tensor = self.tensors[id.0 as usize].tensor.as_ref()?;
                let owner = self.plan.owners.get(tensor.allocation.0 as usize)?;
                Some(
                    owner
                        .base
                        .wrapping_add_signed(tensor.offset * tensor.dtype.bytes() as i64),
                )
            });
            let addresses: Vec<u64> = addresses.map(Option::unwrap_or_default).collect();
            if let Some(tensor) = &mut self.tensors[index].tensor {
                tensor.pointers = ids;
                if let Some(owner) = self.plan.owners.get_mut(tensor.allocation.0 as usize) {
                    owner.contents = Contents::Addresses(addresses);
                }
            }
        }
        Ok(())
    }

    fn layout(
        &self,
        slot: &Slot<'_>,
        shape: Vec<i64>,
        strides: Option<Vec<i64>>,
        offset: Option<i64>,
    ) -> Result<Layout> {
        Layout::new(shape, strides, offset).map_err(|fault| {
            let place = |e: &Option<Expression>| e.as_ref().map(|e| e.root.span.clone());
            let (message, span) = match fault {
                LayoutFault::TooLarge => (format!("`{}` is {TOO_LARGE}", slot.entry.name), None),
                LayoutFault::BeforeStorage(_) => (
                    format!("`{}` starts before its storage", slot.entry.name),
                    place(&slot.spec.offset),
                ),
            };
            let label = match fault {
                LayoutFault::TooLarge => "beyond 2^62 elements".to_string(),
                LayoutFault::BeforeStorage(first) => format!("its first element lies at {first}"),
            };
            self.file
                .error(&span.unwrap_or(slot.entry.span.clone()), message, label)
        })
    }

    fn launch(&self, index: usize, spec: &LaunchSpec, scalars: Scalars) -> Result<ResolvedLaunch> {
        let mut args = Vec::new();
        for entry in &spec.args {
            let kind = match &entry.kind {
                EntryKind::Tensor(_) => match self.find(Some(index), &entry.name) {
                    Some(id) => ArgKind::Tensor(id),
                    None => return Err(self.file.error(&entry.span, "tensor not resolved", "")),
                },
                EntryKind::Null => ArgKind::Null,
                EntryKind::Descriptor { of, block_shape } => {
                    self.descriptor(index, &scalars.scope, of, block_shape)?
                }
                EntryKind::Scalar { dtype, value } => match (scalars.args.get(&entry.name), &value.root.kind)
                {
                    (Some(value), _) => ArgKind::Scalar {
                        dtype: *dtype,
                        value: value.clone(),
                    },
                    (None, NodeKind::Name(name)) => {
                        let name = Spelled {
                            text: name.clone(),
                            span: entry.span.clone(),
                        };
                        ArgKind::Tensor(self.need(None, &name)?)
                    }
                    (None, _) => return Err(self.file.error(&entry.span, "argument not resolved", "")),
                },
            };
            args.push(ResolvedArg {
                name: entry.name.clone(),
                span: entry.span.clone(),
                kind,
            });
        }
        Ok(ResolvedLaunch {
            args,
            scope: scalars.scope,
            constexprs: scalars.constexprs,
        })
    }

    fn descriptor(
        &self,
        launch: usize,
        scope: &Scope,
        of: &Spelled,
        block: &[Expression],
    ) -> Result<ArgKind> {
        let tensor = self.need(Some(launch), of)?;
        let rank = self.tensors[tensor.0 as usize]
            .tensor
            .as_ref()
            .map_or(0, |t| t.shape.len());
        let block_shape = dimensions(scope, block, true)?;
        if block_shape.len() != rank {
            let message = format!(
                "`block_shape` has {} entries, `{}` has {rank} dimensions",
                block_shape.len(),
                of.text
            );
            return Err(self.file.error(&of.span, message, ""));
        }
        if let Some((e, size)) = block
            .iter()
            .zip(&block_shape)
            .find(|(_, size)| !(**size as u64).is_power_of_two())
        {
            return Err(e.error(
                &e.root,
                "a block dimension must be a power of two",
                format!("{size}"),
            ));
        }
        Ok(ArgKind::Descriptor { tensor, block_shape })
    }
}

/// Refuses expectations of what is no tensor. Arguments that the kernel does not have are told first: one of these may
/// be the tensor, misspelt.
pub(crate) fn expectations(file: &LaunchFile, tensors: &[Tensor]) -> Result<()> {
    let names = || tensors.iter().map(|tensor| tensor.name.as_str());
    let Some(expect) = file
        .expect
        .iter()
        .find(|expect| names().all(|name| name != expect.output))
    else {
        return Ok(());
    };
    let message = format!("[expect] names `{}`, which is no tensor", expect.output);
    let error = file.error(&expect.span, message, "");
    Err(match closest(&expect.output, names()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.note(format!("the tensors: {}", names().collect::<Vec<_>>().join(", "))),
    })
}
