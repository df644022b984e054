//! A launch file with everything in it evaluated, before the parameters of its kernels are known.
//!
//! A kernel of Python source is compiled for its arguments: their types, and what is known of their values and
//! addresses. [`Evaluated::args`] gives these facts; [`Evaluated::bind`] then matches the same arguments with
//! the parameters that compilation left.

use std::ops::Range;

use tilescope_diagnostics::Result;

use crate::expr::Value;
use crate::file::{LaunchFile, Overrides};
use crate::resolve::{ArgKind, Resolved, resolve};
use crate::{Dtype, TensorId};

/// An evaluated launch file.
#[derive(Debug)]
pub struct Evaluated<'a> {
    pub(crate) file: &'a LaunchFile,
    pub(crate) resolved: Resolved,
}

/// An argument of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenArg<'a> {
    /// The parameter's name; `pair.1` is an element of a tuple.
    pub name: &'a str,
    /// Place of the name in the launch file.
    pub span: &'a Range<usize>,
    /// Place of the value.
    pub value_span: &'a Range<usize>,
    /// Its value.
    pub value: GivenValue<'a>,
}

/// What an argument is.
#[derive(Debug, Clone, PartialEq)]
pub enum GivenValue<'a> {
    /// A number, with its type where the file says one.
    Scalar {
        /// The type that the file says.
        dtype: Option<Dtype>,
        /// An integer, float or truth value.
        value: &'a Value,
    },
    /// A tensor.
    Tensor {
        /// Its elements.
        dtype: Dtype,
        /// Address of element (0, …, 0), in bytes.
        address: u64,
    },
    /// A tensor descriptor.
    Descriptor {
        /// Elements of the tensor that it describes.
        dtype: Dtype,
        /// Elements per dimension of a block.
        block_shape: &'a [i64],
    },
    /// `"none"`.
    Null,
}

/// A compile-time parameter of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenConstexpr<'a> {
    /// Its name.
    pub name: &'a str,
    /// Place of the name in the launch file.
    pub span: &'a Range<usize>,
    /// Its value; a function of the kernel's file is the string `fn:NAME`.
    pub value: &'a Value,
}

impl LaunchFile {
    /// Gives every name its value, and tensors their layout and address. The grid is left to
    /// [`Evaluated::bind`]: it may use constants that a kernel brings itself.
    ///
    /// # Errors
    ///
    /// What cannot be evaluated; layouts that do not fit; overrides of names that the file does not have.
    pub fn evaluate(&self, overrides: &Overrides) -> Result<Evaluated<'_>> {
        Ok(Evaluated {
            file: self,
            resolved: resolve(self, overrides)?,
        })
    }
}

impl Evaluated<'_> {
    /// The arguments of a launch, in the order of the file; none for a launch that there is not.
    pub fn args(&self, launch: usize) -> impl Iterator<Item = GivenArg<'_>> {
        let entries = self.file.launches.get(launch).map(|l| l.args.as_slice());
        let resolved = self.resolved.launches.get(launch).map(|l| l.args.as_slice());
        let pairs = entries
            .unwrap_or_default()
            .iter()
            .zip(resolved.unwrap_or_default());
        pairs.map(|(entry, arg)| GivenArg {
            name: &arg.name,
            span: &entry.key_span,
            value_span: &arg.span,
            value: match &arg.kind {
                ArgKind::Scalar { dtype, value } => GivenValue::Scalar { dtype: *dtype, value },
                ArgKind::Tensor(id) => GivenValue::Tensor {
                    dtype: self.dtype(*id),
                    address: self.address(*id),
                },
                ArgKind::Descriptor { tensor, block_shape } => GivenValue::Descriptor {
                    dtype: self.dtype(*tensor),
                    block_shape,
                },
                ArgKind::Null => GivenValue::Null,
            },
        })
    }

    /// The compile-time parameters of a launch, in the order of the file.
    pub fn constexprs(&self, launch: usize) -> impl Iterator<Item = GivenConstexpr<'_>> {
        let written = self.file.launches.get(launch).map(|l| l.constexprs.as_slice());
        let values = self
            .resolved
            .launches
            .get(launch)
            .map(|l| l.constexprs.as_slice());
        let pairs = written.unwrap_or_default().iter().zip(values.unwrap_or_default());
        pairs.map(|(written, (_, value))| GivenConstexpr {
            name: &written.name,
            span: &written.span,
            value,
        })
    }

    /// Elements of all tensors together.
    pub fn elements(&self) -> u64 {
        let tensors = self.resolved.tensors.iter();
        tensors.fold(0, |sum: u64, tensor| sum.saturating_add(tensor.elements()))
    }

    fn dtype(&self, id: TensorId) -> Dtype {
        let tensor = self.resolved.tensors.get(id.0 as usize);
        tensor.map_or(Dtype::U64, |tensor| tensor.dtype)
    }

    fn address(&self, id: TensorId) -> u64 {
        let tensor = self.resolved.tensors.get(id.0 as usize);
        let owner = tensor.and_then(|t| self.resolved.plan.owners.get(t.allocation.0 as usize));
        match (tensor, owner) {
            (Some(tensor), Some(owner)) => owner
                .base
                .wrapping_add_signed(tensor.offset.wrapping_mul(tensor.dtype.bytes() as i64)),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use tilescope_diagnostics::Source;

    use super::*;

    #[test]
    fn everything_that_a_kernel_is_compiled_for() {
        let text = r#"
kernel = "k.py::k"
grid = [1]
[vars]
n = 7
[args]
x = { dtype = "f16", shape = ["n", 3] }
y = { view_of = "x", offset = 5, shape = [2] }
n = "n"
eps = { dtype = "f64", value = 1e-5 }
flag = "n > 3"
bias = "none"
d = { descriptor_of = "x", block_shape = [4, 2] }
"pair.0" = { dtype = "u64", pointers = ["x"] }
[constexprs]
BLOCK = "next_power_of_2(n)"
OUT = "tl.float16"
ACT = "fn:relu"
MODE = ["'a'", 2, "none"]
"#;
        let file = LaunchFile::parse(Source::new("a.launch.toml", text)).unwrap();
        let evaluated = file.evaluate(&Overrides::default()).unwrap();
        let shown: Vec<String> = evaluated
            .args(0)
            .map(|arg| {
                assert!(text[arg.span.clone()].contains(arg.name));
                let value = match arg.value {
                    GivenValue::Scalar { dtype, value } => {
                        format!("{value}{}", dtype.map_or("", Dtype::name))
                    }
                    GivenValue::Tensor { dtype, address } => format!("{} at {}", dtype.name(), address % 512),
                    GivenValue::Descriptor { dtype, block_shape } => {
                        format!("{} {block_shape:?}", dtype.name())
                    }
                    GivenValue::Null => "none".into(),
                };
                format!("{} = {value}", arg.name)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "x = f16 at 0",
                "y = f16 at 10",
                "n = 7",
                "eps = 1e-5f64",
                "flag = true",
                "bias = none",
                "d = f16 [4, 2]",
                "pair.0 = u64 at 0"
            ]
        );
        let constexprs: Vec<String> = evaluated
            .constexprs(0)
            .map(|c| format!("{} = {}", c.name, c.value))
            .collect();
        assert_eq!(
            constexprs,
            [
                "BLOCK = 8",
                "OUT = tl.float16",
                "ACT = 'fn:relu'",
                "MODE = ('a', 2, none)"
            ]
        );
        assert_eq!(
            (evaluated.args(1).count(), evaluated.constexprs(1).count()),
            (0, 0)
        );
    }
}
