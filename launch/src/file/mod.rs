//! Launch files as written: parsed, with places, nothing evaluated yet.
//!
//! [`LaunchFile::parse`] reads both kinds of file: a `NAME.launch.toml` is a sequence of one launch, a
//! `NAME.pipeline.toml` of several over shared `[tensors]`. [`LaunchFile::bind`](crate::LaunchFile::bind)
//! evaluates it against the kernels' parameters.

mod patch;
mod read;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source};

use crate::expr::Expression;
use crate::{AskedOptions, Dtype, Role};

/// A parsed launch or pipeline file.
#[derive(Debug, Clone)]
pub struct LaunchFile {
    pub(crate) source: Arc<Source>,
    pub(crate) pipeline: bool,
    pub(crate) seed: u64,
    pub(crate) seed_span: Option<Range<usize>>,
    pub(crate) vars: Vec<Var>,
    pub(crate) tensors: Vec<Entry>,
    pub(crate) launches: Vec<LaunchSpec>,
    pub(crate) expect: Vec<Expect>,
}

impl LaunchFile {
    /// Reads a launch file or, where it has `[[launch]]` tables or the name ends in `.pipeline.toml`, a
    /// pipeline. Nothing is evaluated and no other file is read.
    ///
    /// # Errors
    ///
    /// What is not TOML, unknown keys, values of the wrong form and ill-formed expressions, each with its
    /// place in the text.
    pub fn parse(source: Arc<Source>) -> Result<LaunchFile> {
        read::file(source)
    }

    /// The text it was read from; its name is the launch's name in reports.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The launches in order: exactly one unless a pipeline.
    pub fn launches(&self) -> &[LaunchSpec] {
        &self.launches
    }

    /// The text of a launch's kernel, read as UTF-8.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or is no text, with the place where the launch file names it.
    pub fn read_kernel(&self, launch: usize, files: &dyn crate::Files) -> Result<Arc<Source>> {
        const MAX_BYTES: u64 = 256 << 20;
        let Some(spec) = self.launches.get(launch) else {
            return Err(Error::input(format!(
                "{} has no launch {launch}",
                self.source.name
            )));
        };
        let KernelRef { path, span, .. } = &spec.kernel;
        let bytes = files
            .read(path, MAX_BYTES)
            .map_err(|e| e.at(&self.source, span.clone(), "the kernel"))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source::new(path, text)),
            Err(_) => Err(self.error(span, format!("`{path}` is no text"), "the kernel")),
        }
    }

    /// The variables of `[vars]`, with the ranges that case generators draw from.
    pub fn vars(&self) -> &[Var] {
        &self.vars
    }

    /// Tensors of the arguments and of `[tensors]` that the file gives a float type, with that, in its order.
    pub fn float_tensors(&self) -> Vec<(&str, Dtype)> {
        let entries = self.launches.iter().flat_map(|launch| &launch.args);
        let floats = entries
            .chain(&self.tensors)
            .filter_map(|entry| match &entry.kind {
                EntryKind::Tensor(spec) => {
                    let dtype = spec.dtype.filter(|dtype| dtype.is_float())?;
                    Some((entry.name.as_str(), dtype))
                }
                _ => None,
            });
        floats.collect()
    }

    /// Float tensors of the arguments and of `[tensors]` for which the file gives no data, by name: case generators may.
    pub fn open_fills(&self) -> Vec<&str> {
        let entries = self.launches.iter().flat_map(|launch| &launch.args);
        let open = entries.chain(&self.tensors).filter(|entry| match &entry.kind {
            EntryKind::Tensor(spec) => {
                matches!(spec.origin, Origin::Default)
                    && spec.role != Some(Role::Out)
                    && spec.dtype.is_some_and(Dtype::is_float)
            }
            _ => false,
        });
        open.map(|entry| entry.name.as_str()).collect()
    }

    /// The entries of `[expect]`.
    pub fn expect(&self) -> &[Expect] {
        &self.expect
    }
}

/// A variable of `[vars]`.
#[derive(Debug, Clone)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// Place of the name.
    pub span: Range<usize>,
    /// Its value, which may use the variables before it.
    pub value: Expression,
    /// Smallest and largest value that case generators may give it; none when it is fixed.
    pub range: Option<(i64, i64)>,
}

/// The kernel of a launch: `path`, or `path::function`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelRef {
    /// Path relative to the launch file.
    pub path: String,
    /// The function's name, where the file has several.
    pub function: Option<String>,
    /// Place of the whole string.
    pub span: Range<usize>,
}

/// One launch as written.
#[derive(Debug, Clone)]
pub struct LaunchSpec {
    /// What to run.
    pub kernel: KernelRef,
    /// Compile options that the file asks for.
    pub options: AskedOptions,
    /// Place of the table that holds it (the whole file unless a pipeline).
    pub span: Range<usize>,
    pub(crate) grid: Vec<Expression>,
    pub(crate) args: Vec<Entry>,
    /// Place to name when arguments are missing.
    pub(crate) args_span: Range<usize>,
    /// Place of the section of compile-time parameters, if there is one.
    pub(crate) constexprs_span: Option<Range<usize>>,
    pub(crate) constexprs: Vec<Constexpr>,
}

impl LaunchSpec {
    /// The compile-time parameters.
    pub fn constexprs(&self) -> &[Constexpr] {
        &self.constexprs
    }

    /// The place to name when an argument is missing.
    pub fn args_span(&self) -> &Range<usize> {
        &self.args_span
    }

    /// The place to name when a compile-time parameter is missing.
    pub fn constexprs_span(&self) -> &Range<usize> {
        self.constexprs_span.as_ref().unwrap_or(&self.args_span)
    }
}

/// A compile-time parameter of `[constexprs]`.
#[derive(Debug, Clone)]
pub struct Constexpr {
    /// Its name.
    pub name: String,
    /// Place of the name.
    pub span: Range<usize>,
    /// Its value; a Python function is the string `fn:NAME`.
    pub value: ConstexprValue,
    /// Values worth trying in its place, when it is tunable.
    pub choices: Vec<Expression>,
}

/// The value of a compile-time parameter.
#[derive(Debug, Clone)]
pub enum ConstexprValue {
    /// A number, string, truth value, `none`, `tl.` name or tuple.
    Expression(Expression),
    /// `"fn:name"`: a function of the kernel's file.
    Function(String),
    /// A TOML array: a tuple.
    Tuple(Vec<ConstexprValue>),
}

/// An entry of `[args]` or `[tensors]`.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub name: String,
    /// Place of the name.
    pub key_span: Range<usize>,
    /// Place of the value.
    pub span: Range<usize>,
    pub kind: EntryKind,
}

#[derive(Debug, Clone)]
pub(crate) enum EntryKind {
    Tensor(Box<TensorSpec>),
    /// A number; `dtype` where the file gives one. In a pipeline a lone name may be a tensor's.
    Scalar {
        dtype: Option<Dtype>,
        value: Expression,
    },
    Descriptor {
        of: Spelled,
        block_shape: Vec<Expression>,
    },
    Null,
}

/// A word with its place.
#[derive(Debug, Clone)]
pub(crate) struct Spelled {
    pub text: String,
    pub span: Range<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct TensorSpec {
    /// None only for views, which then take their storage's.
    pub dtype: Option<Dtype>,
    pub dtype_span: Option<Range<usize>>,
    /// None only for views.
    pub shape: Option<Vec<Expression>>,
    pub strides: Option<Vec<Expression>>,
    pub offset: Option<Expression>,
    pub storage: Option<Expression>,
    pub role: Option<Role>,
    pub origin: Origin,
}

/// Where a tensor's bytes come from.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// By dtype and role.
    Default,
    Fill(FillSpec),
    File {
        path: Spelled,
        key: Option<Spelled>,
    },
    ViewOf(Spelled),
    Pointers(Vec<Spelled>),
}

/// A fill with its bounds not yet evaluated, and the place of the string.
#[derive(Debug, Clone)]
pub(crate) struct FillSpec {
    pub span: Range<usize>,
    pub kind: FillKind,
}

#[derive(Debug, Clone)]
pub(crate) enum FillKind {
    Uninit,
    Zeros,
    Ones,
    Nan,
    Arange,
    Randn,
    Uniform(Expression, Expression),
    Randint(Expression, Expression),
    Value(Expression),
    Eye,
    Extreme,
    /// What only floats have.
    Case(CaseFill),
}

/// What an output should be: an entry of `[expect]`, evaluated by the crate `oracle`.
#[derive(Debug, Clone)]
pub struct Expect {
    /// The tensor's name.
    pub output: String,
    /// Place of the name.
    pub span: Range<usize>,
    /// Where the expected values come from.
    pub oracle: Oracle,
    /// Relative tolerance, where the file gives one.
    pub rtol: Option<f64>,
    /// Absolute tolerance, where the file gives one.
    pub atol: Option<f64>,
}

/// Where expected values come from.
#[derive(Debug, Clone)]
pub enum Oracle {
    /// A named reference, with the names of its arguments.
    Reference {
        /// Its name.
        name: String,
        /// Place of the name.
        span: Range<usize>,
        /// Names of tensors and scalars, or numbers, with their values before the launch.
        args: Vec<Expression>,
    },
    /// A data file, relative to the launch file.
    File {
        /// `.npy` or `.safetensors`.
        path: String,
        /// Place of the path.
        span: Range<usize>,
        /// Name of the tensor in a `.safetensors` file.
        key: Option<String>,
    },
    /// A formula over the arguments' values before the launch.
    Formula(Expression),
}

/// Values to use in place of those in the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// Values of variables, by name.
    pub vars: Vec<(String, crate::expr::Value)>,
    /// Values of compile-time parameters, by name.
    pub constexprs: Vec<(String, crate::expr::Value)>,
    /// The seed of generated data.
    pub seed: Option<u64>,
    /// Data of float tensors for which the file gives none, by the tensor's name.
    pub fills: Vec<(String, CaseFill)>,
    /// Element types, by the tensor's name.
    pub dtypes: Vec<(String, Dtype)>,
    /// Elements of storage to put before a tensor and behind it, by the tensor's name.
    pub slack: Vec<(String, i64, i64)>,
}

/// Data that case generators try where a file leaves them open: what goes wrong on them seldom does on `randn`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaseFill {
    /// The type's extreme values: infinities, NaN, the largest, the smallest.
    Extreme,
    /// Few small integers, so that many are equal.
    Ties,
    /// All elements are 1.5.
    Equal,
    /// One element of 300 among some of about 0.001: exp of it overflows f32, and f64 does not.
    Spike,
    /// One NaN.
    Nan,
    /// One infinity.
    Infinity,
    /// Numbers below the smallest normal one.
    Subnormal,
    /// Zeros of both signs.
    Zeros,
}

impl CaseFill {
    /// All of them.
    pub const ALL: &[CaseFill] = &[
        CaseFill::Extreme,
        CaseFill::Ties,
        CaseFill::Equal,
        CaseFill::Spike,
        CaseFill::Nan,
        CaseFill::Infinity,
        CaseFill::Subnormal,
        CaseFill::Zeros,
    ];

    /// Its name, for reports and replays.
    pub fn name(self) -> &'static str {
        match self {
            CaseFill::Extreme => "extreme",
            CaseFill::Ties => "ties",
            CaseFill::Equal => "equal",
            CaseFill::Spike => "spike",
            CaseFill::Nan => "nan",
            CaseFill::Infinity => "infinity",
            CaseFill::Subnormal => "subnormal",
            CaseFill::Zeros => "zeros",
        }
    }

    /// The same in a launch file's words.
    pub fn spelled(self) -> &'static str {
        match self {
            CaseFill::Equal => "value(1.5)",
            CaseFill::Nan => "one_nan",
            CaseFill::Infinity => "one_inf",
            CaseFill::Zeros => "signed_zeros",
            CaseFill::Extreme | CaseFill::Ties | CaseFill::Spike | CaseFill::Subnormal => self.name(),
        }
    }

    /// The fill of that name.
    pub fn from_name(name: &str) -> Option<CaseFill> {
        CaseFill::ALL.iter().copied().find(|fill| fill.name() == name)
    }
}

impl LaunchFile {
    /// An input error at a place of this file.
    pub fn error(
        &self,
        span: &Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Box<Error> {
        Error::input(message).at(&self.source, span.clone(), label)
    }
}
