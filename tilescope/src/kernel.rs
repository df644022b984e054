//! A kernel written in Rust, and what can be wrong with it.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use tilescope_diagnostics::Error;
use tilescope_diagnostics::render::{Paint, Sources, text};
use tilescope_ir::{FuncId, Module, VerifiedModule};

use crate::builder::{Builder, Core, Mistake, Parameter, Place};
use crate::sources::RustFiles;

/// A kernel: a name, parameters and what one program does.
///
/// ```
/// use tilescope::Kernel;
///
/// fn scale<const BLOCK: i32>(factor: f64) -> Kernel {
///     Kernel::new("scale", |k| {
///         let x_ptr = k.ptr::<f32>("x_ptr");
///         let n = k.scalar::<i32>("n");
///         let offsets = k.program_id(0) * BLOCK + k.arange(0, BLOCK);
///         let mask = offsets.lt(n);
///         let x = k.load(x_ptr + offsets, mask, None);
///         k.store(x_ptr + offsets, x * factor, mask);
///     })
/// }
///
/// scale::<1024>(0.5).build().unwrap();
/// ```
#[derive(Clone)]
pub struct Kernel {
    name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) place: Place,
    built: Result<Built, Vec<Mistake>>,
}

#[derive(Debug, Clone)]
struct Built {
    module: Arc<VerifiedModule>,
    function: FuncId,
}

/// Why something is not run: mistakes in a kernel, or arguments that do not fit it.
#[derive(Clone)]
pub struct Refused {
    #[allow(clippy::vec_box, reason = "errors travel boxed everywhere else")]
    errors: Vec<Box<Error>>,
}

impl Kernel {
    /// Writes a kernel: the closure is run once, and what it does with tiles is what each program will do.
    #[track_caller]
    pub fn new(name: &str, body: impl FnOnce(&Builder)) -> Kernel {
        let at = Location::caller();
        let builder = Builder::new(name, at);
        body(&builder);
        let mut core = builder.into_core();
        core.end(at);
        let parameters = std::mem::take(&mut core.parameters);
        Kernel {
            name: name.to_string(),
            parameters,
            place: at.into(),
            built: built(core, at),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel as verified IR.
    ///
    /// # Errors
    /// All mistakes that were made in its closure (at most 20), each with its Rust line.
    pub fn build(&self) -> Result<&VerifiedModule, Refused> {
        match &self.built {
            Ok(built) => Ok(&built.module),
            Err(mistakes) => Err(Refused::of_mistakes(mistakes)),
        }
    }

    /// The kernel's function in [`Kernel::build`]'s module.
    pub(crate) fn function(&self) -> Option<FuncId> {
        self.built.as_ref().ok().map(|built| built.function)
    }

    /// The kernel as TTIR text, which Triton and `tilescope check` read.
    ///
    /// # Errors
    /// As [`Kernel::build`].
    pub fn ttir(&self) -> Result<String, Refused> {
        self.build().map(|module| tilescope_ir::text::print(module))
    }
}

fn built(core: Core, at: &Location<'_>) -> Result<Built, Vec<Mistake>> {
    if !core.mistakes.is_empty() {
        return Err(core.mistakes);
    }
    let place = Place::from(at);
    let internal = |message: String| {
        vec![Mistake {
            message,
            place: place.clone(),
            also: None,
            help: None,
        }]
    };
    let mut module = Module {
        locs: core.locs,
        ..Module::default()
    };
    let function = core.b.finish().map_err(|error| internal(error.to_string()))?;
    let function = module.funcs.push(function);
    match VerifiedModule::new(module) {
        Ok(module) => Ok(Built {
            module: Arc::new(module),
            function,
        }),
        Err(errors) => Err(errors
            .iter()
            .flat_map(|error| internal(error.to_string()))
            .collect()),
    }
}

/// Its name and parameters.
impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({}", self.name)?;
        for (i, parameter) in self.parameters.iter().enumerate() {
            let before = if i == 0 { ": " } else { ", " };
            write!(f, "{before}{} {}", parameter.name, parameter.ty)?;
        }
        f.write_str(")")
    }
}

impl Refused {
    fn of_mistakes(mistakes: &[Mistake]) -> Refused {
        let files = RustFiles::default();
        let errors = mistakes.iter().map(|mistake| {
            let mut error = at_place(Error::input(&mistake.message), &mistake.place, "", &files);
            if let Some((place, label)) = &mistake.also {
                error = at_place(error, place, label, &files);
            }
            match &mistake.help {
                Some(help) => error.help(help),
                None => error,
            }
        });
        Refused {
            errors: errors.collect(),
        }
    }

    /// One error at a place in a Rust file.
    pub(crate) fn at(error: Box<Error>, place: &Place, label: &str) -> Refused {
        Refused::from(at_place(error, place, label, &RustFiles::default()))
    }

    /// The errors, with their places.
    pub fn errors(&self) -> &[Box<Error>] {
        &self.errors
    }
}

impl From<Box<Error>> for Refused {
    fn from(error: Box<Error>) -> Refused {
        Refused { errors: vec![error] }
    }
}

/// The error with a place in a Rust file: its line, or its name and number where the file is not at hand.
fn at_place(error: Box<Error>, place: &Place, label: &str, files: &RustFiles) -> Box<Error> {
    let (line, column) = (place.line as usize, place.column as usize);
    let source = files.text(&place.file);
    let found = source.as_ref().and_then(|source| {
        let line_text = source.line(line)?;
        let start = line_text.as_ptr() as usize - source.text.as_ptr() as usize;
        let range = text::expression_at(line_text, column);
        Some((source, start + range.start..start + range.end))
    });
    match found {
        Some((source, range)) => error.at(source, range, label),
        None => {
            let label = if label.is_empty() { "at" } else { label };
            error.note(format!("{label}: {}:{line}:{column}", place.file))
        }
    }
}

/// All errors in the look of rustc, without colours.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for error in &self.errors {
            f.write_str(&text::error(error, Paint::Plain))?;
        }
        Ok(())
    }
}

/// As it is displayed, so that `unwrap` in a test reads well.
impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Refused {}
