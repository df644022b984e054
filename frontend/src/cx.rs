//! The state of a compilation: one kernel with all the functions that it calls.
//!
//! Each layer adds its methods to [`Cx`] in its own files: [`semantic`](crate::semantic) what Triton's operations do
//! with run-time values, [`language`](crate::language) the functions that a kernel can name, [`eval`](crate::eval)
//! statements and expressions. A layer calls only those before it, and [`Cx::call`] (for combine functions).

use std::collections::HashMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use tilescope_diagnostics::Error;
use tilescope_ir::build::FunctionBuilder;
use tilescope_ir::{Function, LocId, Locs};

use crate::Options;
use crate::ast::{Name, Span};
use crate::eval::{LineIndex, Outlined, Returned, Unreached};
use crate::language::{Builtin, Signature};
use crate::limits::{self, MAX_STEPS};
use crate::source::{EVERYTHING, ModuleId, Program};
use crate::value::Value;

/// `Result` with a located error.
pub type Result<T, E = Box<Error>> = std::result::Result<T, E>;

/// A place in a Python file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub module: ModuleId,
    /// The bytes.
    pub span: Span,
}

/// A function that is being evaluated.
#[derive(Debug)]
pub struct Frame {
    /// Its name, for call chains.
    pub function: Name,
    /// Where it was called; none for the kernel.
    pub called_at: Option<Place>,
    /// The IR location of the call, the `caller` of locations inside it.
    pub call_loc: LocId,
    /// What tells calls apart that would evaluate the same: the function and the types and constants of its
    /// arguments. A call with the key of one that it is inside of never ends.
    pub key: String,
}

/// How a function is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As Triton's code generator does it: assigned numbers become tensors, run-time control flow becomes IR.
    Jit,
    /// As Python does it, on compile-time values: module level, heuristics, `@triton.constexpr_function`.
    Host,
}

/// What happens to `return` in a function of [`Mode::Jit`].
#[derive(Debug)]
pub(crate) enum Returns {
    /// The body is evaluated at its call: one return is reached at most.
    Inline(Vec<Returned>),
    /// The body is a function of its own: several blocks may end in a return.
    Function(Vec<Returned>),
}

/// Variables with their values, in the order in which they were first assigned: that of loop-carried values.
#[derive(Debug, Clone, Default)]
pub struct Locals {
    items: Vec<Local>,
}

/// A variable.
#[derive(Debug, Clone)]
pub struct Local {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Value,
    /// Where it got this value.
    pub at: Option<Span>,
}

impl Locals {
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.find(name).map(|local| &local.value)
    }

    /// A variable.
    pub fn find(&self, name: &str) -> Option<&Local> {
        self.items.iter().find(|local| &*local.name == name)
    }

    /// Assigns a variable.
    pub fn set(&mut self, name: &Name, value: Value) {
        self.assign(name, value, None);
    }

    /// Assigns a variable, and notes where.
    pub fn assign(&mut self, name: &Name, value: Value, at: Option<Span>) {
        let value = if crate::konst::too_deep(&value) {
            Value::Opaque("it is nested too deeply".into())
        } else {
            value
        };
        match self.items.iter_mut().find(|local| local.name == *name) {
            Some(local) => {
                local.value = value;
                local.at = at.or(local.at);
            }
            None => self.items.push(Local {
                name: name.clone(),
                value,
                at,
            }),
        }
    }

    /// Forgets a variable; its value, if it had one.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let index = self.items.iter().position(|local| &*local.name == name)?;
        Some(self.items.remove(index).value)
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = &Local> {
        self.items.iter()
    }

    /// All names, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|local| &*local.name)
    }
}

/// The function that is being evaluated: its variables and where it is.
#[derive(Debug)]
pub struct Scope {
    /// Where its globals are.
    pub module: ModuleId,
    /// How it is evaluated.
    pub mode: Mode,
    /// Its variables.
    pub locals: Locals,
    /// Variables of enclosing functions (of host code), looked up after its own.
    pub captured: Vec<(Name, Value)>,
    /// Names that are no longer defined, and why, for messages: assigned in one branch of an `if`, or in a loop.
    pub lost: Vec<(Name, Rc<str>)>,
    /// Names declared by a bare annotation (`x: tl.constexpr`), with it, until they are assigned.
    pub(crate) pending: Vec<(Name, Value)>,
    /// Loops and branches of structured control flow that we are inside of.
    pub(crate) regions: u32,
    /// Run-time loops that we are inside of.
    pub(crate) loops: u32,
    /// What `return` does.
    pub(crate) returns: Returns,
    /// Set while code is evaluated that nothing reaches.
    pub(crate) unreached: Option<Unreached>,
    /// Whether the branch that is being evaluated is itself in such code.
    pub(crate) in_unreached: bool,
    /// The variable that is being assigned: locations of operations are named after it.
    pub(crate) target: Option<Name>,
    /// At the top level of a file: the entry of its index that is being run, which sees those before it.
    pub(crate) before: u32,
}

impl Scope {
    /// A scope without variables.
    pub fn new(module: ModuleId, mode: Mode) -> Scope {
        Scope {
            module,
            mode,
            locals: Locals::default(),
            captured: Vec::new(),
            lost: Vec::new(),
            pending: Vec::new(),
            regions: 0,
            loops: 0,
            returns: Returns::Inline(Vec::new()),
            unreached: None,
            in_unreached: false,
            target: None,
            before: EVERYTHING,
        }
    }
}

/// The state of a compilation.
#[derive(Debug)]
pub struct Cx<'p> {
    /// The files.
    pub program: &'p Program<'p>,
    /// What to compile for.
    pub options: &'p Options,
    /// The function being built.
    pub b: FunctionBuilder,
    /// Locations of the module being built.
    pub locs: Locs,
    /// Finished functions: those that could not be inlined.
    pub functions: Vec<Function>,
    /// Where we are: errors point here, operations get it as their location.
    pub place: Place,
    /// The function being evaluated.
    pub scope: Scope,
    /// Calls that we are inside of, the kernel first.
    pub frames: Vec<Frame>,
    /// Errors met so far; the evaluation went on where it could.
    pub errors: Vec<Box<Error>>,
    /// What the author should know: text of `static_print`, warnings, chosen configurations.
    pub notes: Vec<String>,
    /// Notes of helpers that were compiled during a visit that is thrown away: the helpers are kept.
    pub(crate) kept_notes: Vec<String>,
    /// Evaluation steps left, see [`crate::limits`].
    pub fuel: u64,
    /// How deep host code is in calls and imports, see [`crate::limits::MAX_CALLS`].
    pub host_depth: usize,
    /// Containers put into others by changing these, see [`crate::limits::MAX_NESTED_CHANGES`].
    pub(crate) nested_changes: usize,
    /// Expressions and statements that we are inside of, through all calls.
    pub(crate) depth: u32,
    /// Visits of loop bodies that we are inside of whose IR will be thrown away.
    pub(crate) dry: u32,
    /// Set when going on makes no sense: out of steps, too many errors.
    pub(crate) stopped: bool,
    /// Helpers compiled to functions of their own, by [`Frame::key`].
    pub(crate) helpers: HashMap<String, Outlined>,
    /// Line starts of files, for locations.
    pub(crate) lines: HashMap<ModuleId, LineIndex>,
    /// Locations of bytes of files: asked for at every expression that is evaluated, unrolled loops included.
    pub(crate) file_locations: FxHashMap<(ModuleId, u32), LocId>,
    /// Signatures of the rows called so far, by their address: rows are static.
    pub(crate) signatures: FxHashMap<*const Builtin, Rc<Signature>>,
}

impl<'p> Cx<'p> {
    /// A compilation that has not begun: an empty function, the place the beginning of `module`, the scope that of
    /// host code at its top level.
    pub fn new(program: &'p Program<'p>, options: &'p Options, module: ModuleId) -> Cx<'p> {
        Cx {
            program,
            options,
            b: FunctionBuilder::new("host"),
            locs: Locs::default(),
            functions: Vec::new(),
            place: Place {
                module,
                span: Span::default(),
            },
            scope: Scope::new(module, Mode::Host),
            frames: Vec::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            kept_notes: Vec::new(),
            fuel: MAX_STEPS,
            host_depth: 0,
            nested_changes: 0,
            depth: 0,
            dry: 0,
            stopped: false,
            helpers: HashMap::new(),
            lines: HashMap::new(),
            file_locations: FxHashMap::default(),
            signatures: FxHashMap::default(),
        }
    }
}

impl Cx<'_> {
    /// An error at the current place, with the chain of calls that led there.
    pub fn error(&self, message: impl Into<String>) -> Box<Error> {
        self.located(Error::input(message), self.place.span, "")
    }

    /// An error at another span of the current file, with a word under the caret.
    pub fn error_at(&self, span: Span, message: impl Into<String>, under: &str) -> Box<Error> {
        self.located(Error::input(message), span, under)
    }

    /// A refusal, at the current place, of something that this version does not do (exit status 3).
    pub fn unsupported(&self, message: impl Into<String>) -> Box<Error> {
        self.located(Error::unsupported(message), self.place.span, "")
    }

    fn located(&self, error: Box<Error>, span: Span, under: &str) -> Box<Error> {
        let mut error = error.at(&self.program.source(self.place.module), span.range(), under);
        let calls = self
            .frames
            .iter()
            .rev()
            .filter_map(|f| f.called_at.map(|at| (f, at)));
        let count = calls.clone().count();
        for (index, (frame, place)) in calls.enumerate() {
            // Of a long chain both ends.
            if index >= CHAIN && index + CHAIN < count {
                continue;
            }
            let source = self.program.source(place.module);
            let text = format!("in this call of `{}`", frame.function);
            error = error.at(&source, place.span.range(), text);
        }
        if count > 2 * CHAIN {
            error = error.note(format!("{} calls in between are not shown", count - 2 * CHAIN));
        }
        error
    }

    /// Notes that `values` are put into a container by changing it; each may make some container one level deeper.
    ///
    /// # Errors
    /// More than [`limits::MAX_NESTED_CHANGES`].
    pub(crate) fn nest<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) -> Result<()> {
        if values.into_iter().any(crate::konst::holds_containers) {
            self.nested_changes += 1;
            if self.nested_changes > limits::MAX_NESTED_CHANGES {
                return Err(self.unsupported("so many lists put into lists at compile time"));
            }
        }
        Ok(())
    }

    /// Uses up as many steps as a value that was just made at compile time has items.
    ///
    /// # Errors
    /// When there are none left.
    pub(crate) fn pay(&mut self, value: &Value) -> Result<()> {
        let items = match value {
            Value::Str(text) => text.len() / 8,
            Value::Tuple(tuple) => tuple.items.len(),
            Value::List(items) | Value::Set(items) => items.borrow().len(),
            Value::Dict(entries) => entries.borrow().len(),
            _ => 0,
        };
        self.fuel = self.fuel.saturating_sub(items as u64);
        self.step()
    }

    /// Uses up one step of evaluation.
    ///
    /// # Errors
    /// When there are none left: an endless loop at compile time.
    pub fn step(&mut self) -> Result<()> {
        match self.fuel.checked_sub(1) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => {
                self.stopped = true;
                Err(self.error("the kernel takes too many steps to compile").help(
                    "is there a loop at compile time (`tl.static_range`, a host function) that does not end?",
                ))
            }
        }
    }
}

/// Calls shown at each end of the chain that leads to an error.
const CHAIN: usize = 4;

/// Arguments of a call, evaluated.
#[derive(Debug, Clone, Default)]
pub struct Args {
    /// Positional ones with their places.
    pub positional: Vec<(Value, Span)>,
    /// Keyword arguments with their places.
    pub keywords: Vec<(Name, Value, Span)>,
}

impl Args {
    /// Positional arguments that all stand at the same place.
    pub fn of(values: Vec<Value>, span: Span) -> Args {
        Args {
            positional: values.into_iter().map(|v| (v, span)).collect(),
            keywords: Vec::new(),
        }
    }
}
