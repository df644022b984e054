//! Kernels that calls at the top level make: `kernel = triton.jit(kernel)`, and around it, as decorators would stand,
//! `kernel = triton.heuristics({…})(kernel)`.
//!
//! Read from the text: of several bindings of a name the last one counts, conditions are not evaluated, and the
//! function must be defined in the same file.

use std::rc::Rc;

use super::kernels::{Decorator, argument};
use super::{EVERYTHING, EntryKind, KernelInfo, ModuleId, Path, Program};
use crate::ast::{Call, Expr, ExprKind, FunctionDef, StmtKind};

/// Longest chain of calls and names that is followed.
const MAX_CALLS: usize = 32;

/// A function, and what calls made of it so far.
struct Made {
    info: KernelInfo,
    is_kernel: bool,
}

impl Program<'_> {
    /// The names to which the file's top level assigns what a call makes of a function.
    pub(super) fn made_by_calls(&self, module: ModuleId) -> Vec<KernelInfo> {
        let Some(file) = self.file(module) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        // By where they are bound: the table has no order.
        let mut names: Vec<_> = file.index.names.iter().collect();
        names.sort_by_key(|(name, entries)| (entries.last().copied(), (*name).clone()));
        for (name, entries) in names {
            let last = entries.last().and_then(|at| file.index.entries.get(*at as usize));
            if let Some(EntryKind::Run(stmt)) = last.map(|entry| &entry.kind)
                && let StmtKind::Assign { value, .. } = &stmt.kind
                && matches!(value.kind, ExprKind::Call(_))
            {
                found.extend(self.made_by_call(module, name));
            }
        }
        found
    }

    /// The kernel that the file's top level calls `name`, also where it is but another name.
    pub(super) fn made_by_call(&self, module: ModuleId, name: &str) -> Option<KernelInfo> {
        let made = self.made_as(module, name, EVERYTHING, MAX_CALLS)?;
        made.is_kernel.then(|| KernelInfo {
            name: name.into(),
            ..made.info
        })
    }

    /// What `name` is before the entry `limit` of the file.
    fn made_as(&self, module: ModuleId, name: &str, limit: u32, hops: usize) -> Option<Made> {
        let hops = hops.checked_sub(1)?;
        let file = self.file(module)?;
        let index = *file.index.names.get(name)?.iter().rev().find(|at| **at < limit)?;
        match &file.index.entries.get(index as usize)?.kind {
            EntryKind::Function(def) => Some(self.defined(module, def)),
            EntryKind::Run(stmt) => match &stmt.kind {
                StmtKind::Assign { targets, value } if matches!(targets.as_slice(), [target] if matches!(target.kind, ExprKind::Name(_))) => {
                    self.made_of(module, value, index, hops)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn defined(&self, module: ModuleId, def: &Rc<FunctionDef>) -> Made {
        match self.kernel_info(module, def) {
            Some(info) => Made {
                info,
                is_kernel: true,
            },
            None => Made {
                info: self.undecorated_info(module, def),
                is_kernel: false,
            },
        }
    }

    fn made_of(&self, module: ModuleId, value: &Expr, limit: u32, hops: usize) -> Option<Made> {
        let hops = hops.checked_sub(1)?;
        let call = match &value.kind {
            ExprKind::Name(name) => return self.made_as(module, name, limit, hops),
            ExprKind::Call(call) => call,
            _ => return None,
        };
        // `triton.jit(f, noinline=True)`; what stands around it is written `triton.jit(noinline=True)(f)`.
        let plain = matches!(self.path_of(module, &call.function), Some(Path::Library(name)) if &*name == "triton.jit");
        let function = match plain {
            true => argument(call, 0, "fn")?,
            false => call.args.first()?,
        };
        let mut made = self.made_of(module, function, limit, hops)?;
        match (plain, &call.function.kind) {
            (true, _) => made.make_kernel(Some(call)),
            (false, ExprKind::Call(_)) => match self.decorator(module, &call.function) {
                Decorator::Jit(options) => made.make_kernel(options),
                Decorator::Autotune(call) => made.info.configs = argument(call, 0, "configs").cloned(),
                Decorator::Heuristics(call) => {
                    let outermost = argument(call, 0, "values").cloned();
                    made.info.heuristics.splice(0..0, outermost);
                }
                _ => return None,
            },
            _ => return None,
        }
        Some(made)
    }
}

impl Made {
    fn make_kernel(&mut self, jit: Option<&Call>) {
        self.is_kernel = true;
        self.info.take_options(jit);
    }
}
