//! The state of a compilation: one kernel with all the functions that it calls.
//!
//! Each layer adds its methods to [`Cx`] in its own files: [`semantic`](crate::semantic) what Triton's operations do
//! with run-time values, [`language`](crate::language) the functions that a kernel can name, [`eval`](crate::eval)
//! statements and expressions. A layer calls only those before it, and [`Cx::call`] (for combine functions).

use tilescope_diagnostics::Error;
use tilescope_ir::build::FunctionBuilder;
use tilescope_ir::{Function, LocId, Locs};

use crate::ast::{Name, Span};
use crate::source::{ModuleId, Program};
use crate::value::Value;
use crate::{Options, limits};

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
    /// Calls that we are inside of, the kernel first.
    pub frames: Vec<Frame>,
    /// Errors met so far; the evaluation went on where it could.
    pub errors: Vec<Box<Error>>,
    /// What the author should know: text of `static_print`, warnings, chosen configurations.
    pub notes: Vec<String>,
    /// Evaluation steps left, see [`crate::limits`].
    pub fuel: u64,
    /// How deep host code is in calls and imports, see [`crate::limits::MAX_CALLS`].
    pub host_depth: usize,
}

impl<'p> Cx<'p> {
    /// A compilation that has not begun: an empty function, the place the beginning of `module`.
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
            frames: Vec::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            fuel: limits::MAX_STEPS,
            host_depth: 0,
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
        for frame in self.frames.iter().rev() {
            if let Some(place) = frame.called_at {
                let source = self.program.source(place.module);
                error = error.at(
                    &source,
                    place.span.range(),
                    format!("in this call of `{}`", frame.function),
                );
            }
        }
        error
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
            None => Err(self.error("the kernel takes too many steps to compile").help(
                "is there a loop at compile time (`tl.static_range`, a host function) that does not end?",
            )),
        }
    }
}

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
