//! The verifier: what every producer of IR must keep to, and every consumer relies on.
//!
//! [`verify`] proves, for each function:
//! - the arenas are consistent: ids are in range, an operation stands in one block, a block in one
//!   region, a region below one operation, and regions nest at most [`MAX_DEPTH`](crate::text::MAX_DEPTH) deep;
//! - every block ends in a terminator of its place, and regions have the blocks and arguments that
//!   their operation needs;
//! - every use is dominated by its definition;
//! - operands, results and attributes of every operation have the types its row asks for;
//! - tiles have at most 2^20 elements;
//! - calls name a function of the module with their signature, and do not recurse.
//!
//! The result is a proof, [`Verified`] or [`VerifiedModule`]: who takes one does not check again.
//! What is legal but not run (4-bit and 128-bit integers) is the consumer's to refuse.

mod calls;
mod control;
mod dominance;
mod memory;
mod structure;
mod types;

use crate::entities::{OpId, ValueId};
use crate::module::{Function, Module};
use crate::ops::{OpCode, OpVisitor};
use crate::types::Type;
use std::ops::Deref;
use tilescope_diagnostics::{Error, ErrorKind};

/// What is wrong with a module, in the order of the text.
#[allow(clippy::vec_box, reason = "errors travel boxed everywhere else")]
pub type Errors = Vec<Box<Error>>;

/// Most errors that are reported at once.
const MAX_ERRORS: usize = 20;

/// A module that was verified, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct Verified<'m>(&'m Module);

impl Deref for Verified<'_> {
    type Target = Module;
    fn deref(&self) -> &Module {
        self.0
    }
}

/// A module that was verified, owned; it can no longer be changed.
#[derive(Debug, Clone)]
pub struct VerifiedModule(Module);

impl VerifiedModule {
    /// Verifies a module.
    ///
    /// # Errors
    /// The same as [`verify`]'s.
    pub fn new(module: Module) -> Result<VerifiedModule, Errors> {
        verify(&module)?;
        Ok(VerifiedModule(module))
    }

    /// The proof, borrowed.
    pub fn verified(&self) -> Verified<'_> {
        Verified(&self.0)
    }

    /// Gives the module back, to be changed and verified again.
    pub fn into_module(self) -> Module {
        self.0
    }
}

impl Deref for VerifiedModule {
    type Target = Module;
    fn deref(&self) -> &Module {
        &self.0
    }
}

/// Verifies a module.
///
/// # Errors
/// What is wrong, at most 20 errors, in the order of the text. Each names the operation and the
/// operand and points into the module's text, or names the source line where there is no text.
pub fn verify(module: &Module) -> Result<Verified<'_>, Errors> {
    let mut errors = Vec::new();
    let mut calls = Vec::new();
    for (_, f) in module.funcs.iter() {
        match structure::check(f) {
            Ok(placement) => {
                Checker {
                    module,
                    f,
                    placement: &placement,
                }
                .run(&mut errors);
                calls.push(
                    placement
                        .order
                        .into_iter()
                        .filter(|&op| f.ops[op].code == OpCode::Call)
                        .collect(),
                );
            }
            Err(problem) => errors.push(problem.into_error(module, f)),
        }
        if errors.len() >= MAX_ERRORS {
            errors.truncate(MAX_ERRORS);
            break;
        }
    }
    if errors.is_empty() {
        calls::check(module, &calls, &mut errors);
    }
    if errors.is_empty() {
        Ok(Verified(module))
    } else {
        Err(errors)
    }
}

/// Something wrong with one operation (or a function, when none is named).
#[derive(Debug)]
struct Problem {
    kind: ErrorKind,
    op: Option<OpId>,
    message: String,
    help: Option<String>,
}

impl Problem {
    fn at(op: OpId, message: impl Into<String>) -> Problem {
        Problem {
            kind: ErrorKind::Input,
            op: Some(op),
            message: message.into(),
            help: None,
        }
    }

    fn function(message: impl Into<String>) -> Problem {
        Problem {
            kind: ErrorKind::Input,
            op: None,
            message: message.into(),
            help: None,
        }
    }

    fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    fn into_error(self, module: &Module, f: &Function) -> Box<Error> {
        let new = match self.kind {
            ErrorKind::Input | ErrorKind::Internal => Error::input,
            ErrorKind::Unsupported => Error::unsupported,
        };
        let Some(op) = self.op.and_then(|id| f.ops.get(id)) else {
            return new(format!("function `@{}`: {}", f.name, self.message));
        };
        let mut error = new(format!("`{}`: {}", op.code, self.message));
        if let Some(source) = &module.source
            && op.offset > 0
        {
            let start = op.offset as usize;
            let quoted = usize::from(source.text.as_bytes().get(start) == Some(&b'"'));
            let end = start + op.code.info().mnemonic.len() + 2 * quoted;
            error = error.at(source, start..end, "");
        }
        if let Some((file, line, column)) = module.locs.frames(op.loc).first() {
            error = error.note(format!("from {file}:{line}:{column}"));
        }
        if op.offset == 0 {
            error = error.note(format!("in function `@{}`", f.name));
        }
        match self.help {
            Some(help) => error.help(help),
            None => error,
        }
    }
}

/// What one operation's check gives.
type Check = Result<(), Problem>;

/// Checks one function whose arenas are consistent.
struct Checker<'m> {
    module: &'m Module,
    f: &'m Function,
    placement: &'m structure::Placement,
}

impl Checker<'_> {
    fn run(&mut self, errors: &mut Errors) {
        let mut problems = Vec::new();
        problems.extend(self.signature().err());
        for &op in &self.placement.order {
            let check = self.sizes(op).and_then(|()| self.visit(self.f, op));
            problems.extend(check.err());
            if problems.len() >= MAX_ERRORS {
                break;
            }
        }
        if problems.is_empty() {
            problems.extend(control::blocks(self.f, self.placement).err());
        }
        if problems.is_empty() {
            problems.extend(dominance::check(self.f, self.placement).err());
        }
        errors.extend(problems.into_iter().map(|p| p.into_error(self.module, self.f)));
    }

    /// The function's own types and attribute lists.
    fn signature(&self) -> Check {
        let f = self.f;
        let lists = [
            (f.param_attrs.len(), f.params().len()),
            (f.result_attrs.len(), f.results.len()),
        ];
        if lists.iter().any(|&(attrs, values)| attrs > values) {
            return Err(Problem::function(
                "more attribute lists than parameters or results",
            ));
        }
        let large = f
            .params()
            .iter()
            .map(|&v| f.ty(v))
            .chain(f.results.iter().copied())
            .find(|&ty| too_large(ty));
        match large {
            Some(ty) => Err(Problem::function(format!("`{ty}` has more than 2^20 elements"))),
            None => Ok(()),
        }
    }

    /// Tiles have at most 2^20 elements.
    fn sizes(&self, id: OpId) -> Check {
        let op = &self.f.ops[id];
        let blocks = op.regions.iter().flat_map(|&r| &self.f.regions[r].blocks);
        let args = blocks.flat_map(|&b| &self.f.blocks[b].args);
        let large = op
            .results
            .iter()
            .chain(args)
            .map(|&v| self.f.ty(v))
            .find(|&ty| too_large(ty));
        match large {
            Some(ty) => Err(Problem::at(id, format!("`{ty}` has more than 2^20 elements"))
                .help("Triton refuses tiles of this size too; use smaller blocks")),
            None => Ok(()),
        }
    }

    fn ty(&self, value: ValueId) -> Type {
        self.f.values[value].ty
    }
}

fn too_large(ty: Type) -> bool {
    let shape = match ty {
        Type::Tile(shape, _) | Type::BlockPtr(shape, _) | Type::Descriptor { block: shape, .. } => shape,
        Type::Scalar(_) => return false,
    };
    shape.log2_elements() > crate::types::MAX_TILE_ELEMENTS.trailing_zeros()
}
