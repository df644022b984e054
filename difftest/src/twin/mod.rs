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
//! Where it is unsure where something is stored, or whether, nothing is known of any output.
//!
//! Bounds hold to first and second order as computed in f64; the rounding of bounds themselves, 1e-16 of them, is not
//! counted. Sums count one rounding for each addition, in whatever order. Integers that atomics make are taken to be the
//! same on all paths.
//!
//! What is added to an element atomically is counted, and its sizes are added up, beside its bound; the bound of the sum is
//! made of these when all is added, or loaded. A block pointer or descriptor that loads it in the same launch sees the
//! bound without the roundings of these additions.
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

use std::collections::HashMap;

use tilescope_diagnostics::{Error, Result};
use tilescope_ir::{FuncId, Module, ValueId, VerifiedModule};

use depends::Depends;
use shadow::{Form, Kind};

pub(crate) use fold::is_sum;
pub use outputs::{Bounded, Prepared};
pub(crate) use rounding::unit;

/// What a value of the twin is, that stands for one of the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// The kernel's function and value.
    pub of: (FuncId, ValueId),
    /// For a float, the values that hold it in f64, and its bound.
    pub wide: Option<(ValueId, ValueId)>,
}

/// A kernel and its float64 twin in one.
#[derive(Debug, Clone)]
pub struct Twin {
    module: VerifiedModule,
    kernel: FuncId,
    /// What each parameter of the first kernel became.
    params: Vec<Kind>,
    /// It has one more: the address of a flag that it sets where another path may store elsewhere.
    flagged: bool,
    /// It adds floats atomically, and has one more if `measured`: how far beside its bound lies what was added to an element.
    sums: bool,
    measured: bool,
    /// By function and value of the twin, where that is the kernel's own.
    beside: HashMap<(FuncId, ValueId), Beside>,
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
        let mut beside = HashMap::new();
        for id in module.funcs.ids() {
            if module.funcs[id].public && id != kernel {
                continue;
            }
            let rewritten = rewrite::function(module, id, &depends)?;
            let new = rewritten.notes.into_iter().filter(|note| !notes.contains(note));
            notes.extend(new.collect::<Vec<_>>());
            let twin_id = twin.funcs.push(rewritten.function);
            for value in module.funcs[id].values.ids() {
                let Some(shadow) = rewritten.shadows.get(&value) else {
                    continue;
                };
                beside.entry((twin_id, shadow.value)).or_insert(Beside {
                    of: (id, value),
                    wide: (shadow.kind == Kind::Float).then_some((shadow.wide, shadow.error)),
                });
            }
        }
        let (flagged, measured) = (depends.flagged(kernel), depends.measured(kernel));
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
            flagged,
            sums: depends.sums,
            measured,
            beside,
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

    /// What a value of a function of the twin stands for; none for what the twin computes beside the kernel's values.
    pub fn beside(&self, function: FuncId, value: ValueId) -> Option<Beside> {
        self.beside.get(&(function, value)).copied()
    }

    /// What the bounds do not cover, for the reader of a report.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}
