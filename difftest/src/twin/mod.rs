//! The float64 twin of a kernel, with bounds.
//!
//! [`Twin::of`] makes a kernel that does what the first one does and, beside each float, computes two f64: `wide`, the
//! float as if every operation were exact to f64, and `error`, a bound on how far a correct path may be from `wide`. A
//! path is correct if each of its operations rounds as `rounding` says: the interpreter does, a GPU does, with sums in
//! any order, with or without fused multiply-add. So two correct paths differ by at most twice the bound, and a path
//! that is farther from `wide` than the bound is wrong, or the kernel's result depends on more than rounding.
//!
//! Every value keeps the kernel's own copy too, and all decisions are the kernel's: loops, branches, masks and
//! addresses are those of the interpreter's run. Where another path may decide otherwise (a comparison of floats that
//! are nearer to each other than their bounds), what follows is marked `unsure`, and its bound is infinite.
//!
//! Bounds hold to first and second order as computed in f64; the rounding of bounds themselves, 1e-16 of them, is not
//! counted. Sums count one rounding for each of 64 elements and one for each level of a tree above. Integers that
//! atomics make are taken to be the same on all paths.
//!
//! Refused by name: pointers to pointers to floats, float bits read through pointers of another type, scaled dots, maps
//! by a region, inline assembly on floats, library functions without a row in the op table.

mod arith;
mod depends;
mod float;
mod fold;
mod memory;
mod outputs;
mod rewrite;
mod rounding;
mod shadow;
mod visit;

use tilescope_diagnostics::{Error, Result};
use tilescope_ir::{FuncId, Module, VerifiedModule};

use depends::Depends;
use shadow::{Form, Kind};

pub use outputs::{Bounded, Prepared};

/// A kernel and its float64 twin in one.
#[derive(Debug, Clone)]
pub struct Twin {
    module: VerifiedModule,
    kernel: FuncId,
    /// What each parameter of the first kernel became.
    params: Vec<Kind>,
    notes: Vec<String>,
}

impl Twin {
    /// The twin of a kernel of a verified module.
    ///
    /// # Errors
    /// Operations that have no twin, by name and place.
    pub fn of(module: &VerifiedModule, kernel: FuncId) -> Result<Twin> {
        let depends = Depends::of(module);
        let mut twin = Module {
            locs: module.locs.clone(),
            ..Module::default()
        };
        let mut notes: Vec<String> = Vec::new();
        for id in module.funcs.ids() {
            if module.funcs[id].public && id != kernel {
                continue;
            }
            let (function, new) = rewrite::function(module, id, &depends)?;
            notes.extend(
                new.into_iter()
                    .filter(|note| !notes.contains(note))
                    .collect::<Vec<_>>(),
            );
            twin.funcs.push(function);
        }
        let f = &module.funcs[kernel];
        let forms = f
            .params()
            .iter()
            .map(|&p| Form::of(f.ty(p), depends.has(kernel, p), depends.int_memory).map(|form| form.kind));
        let params = forms.collect::<Option<_>>();
        let params = params.ok_or_else(|| Error::unsupported("a twin of pointers to pointers to floats"))?;
        let name = f.name.clone();
        let module = VerifiedModule::new(twin).map_err(|errors| {
            // A defect of this crate: what it builds is well typed.
            let first = errors.into_iter().next().map(|error| error.to_string());
            Error::unsupported("the float64 twin of this kernel does not verify")
                .note(first.unwrap_or_default())
        })?;
        let kernel = module.find(&name);
        let kernel = kernel.ok_or_else(|| Error::unsupported("a twin of a function that there is not"))?;
        Ok(Twin {
            module,
            kernel,
            params,
            notes,
        })
    }

    /// The module that holds the twin.
    pub fn module(&self) -> &VerifiedModule {
        &self.module
    }

    /// The twin in its module.
    pub fn kernel(&self) -> FuncId {
        self.kernel
    }

    /// What the bounds do not cover, for the reader of a report.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}
