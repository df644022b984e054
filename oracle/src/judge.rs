//! From `[expect]` to findings: expected values are computed before the run, compared after it.
//!
//! Before the run, because oracles read the arguments as they were before the launch, and because a mistake
//! in a formula should be reported before anything runs.

use tilescope_diagnostics::{Error, Finding, Result, TensorRef, closest};
use tilescope_launch::expr::{Scope, Value};
use tilescope_launch::{
    Bound, DataArray, Dtype, Expect, Files, Launch, LaunchFile, Memory, Oracle, Tensor, read_data,
};

use crate::{Accumulation, Inputs, Limits, Numbers, Operand, Reference, Rule, compare, evaluate};

/// Named references.
pub type References<'a> = &'a [(&'a str, Reference)];

/// What one output must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// The output.
    pub tensor: Tensor,
    /// Its expected elements; without dimensions, one value for all.
    pub values: Numbers,
    /// Relative tolerance of the launch file.
    pub rtol: Option<f64>,
    /// Absolute tolerance of the launch file.
    pub atol: Option<f64>,
}

/// The expected values of all outputs that `file` names, from `memory` as it is before the first launch.
///
/// # Errors
/// Points at the entry, or into its formula: unknown names and references, operands that do not fit, data
/// files that cannot be read, expected values of another shape than the output's.
pub fn expectations(
    file: &LaunchFile,
    bound: &Bound,
    memory: &Memory,
    files: &dyn Files,
    references: References<'_>,
) -> Result<Vec<Expectation>> {
    let limits = Limits::default();
    let inputs = Before {
        tensors: bound.tensors(),
        memory,
        scopes: &bound.scopes,
        limits,
    };
    let mut expectations = Vec::new();
    for expect in &bound.expect {
        let tensor = bound.tensors().iter().find(|t| t.name == expect.output);
        let tensor =
            tensor.ok_or_else(|| file.error(&expect.span, "unknown tensor", "no argument has this name"))?;
        let values = values(file, expect, tensor, &inputs, files, references)?;
        let shape: Vec<usize> = tensor.shape.iter().map(|&d| d.max(0) as usize).collect();
        if !values.shape().is_empty() && values.shape() != shape {
            let label = format!(
                "expected values have shape {:?}, the output {shape:?}",
                values.shape()
            );
            return Err(file.error(&expect.span, "the expected values do not fit the output", label));
        }
        expectations.push(Expectation {
            tensor: tensor.clone(),
            values,
            rtol: expect.rtol,
            atol: expect.atol,
        });
    }
    Ok(expectations)
}

fn values(
    file: &LaunchFile,
    expect: &Expect,
    tensor: &Tensor,
    inputs: &Before<'_>,
    files: &dyn Files,
    references: References<'_>,
) -> Result<Numbers> {
    match &expect.oracle {
        Oracle::Formula(formula) => evaluate(formula, inputs, inputs.limits),
        Oracle::File { path, span, key } => {
            let place = |error: Box<Error>| error.at(file.source(), span.clone(), "expected values");
            let data = read_any(files, path, key.as_deref(), tensor.dtype).map_err(place)?;
            Numbers::of_data(&data).map_err(|why| file.error(span, "the expected values cannot be used", why))
        }
        Oracle::Reference { name, span, args } => {
            let known = || references.iter().map(|(known, _)| *known);
            let Some((_, reference)) = references.iter().find(|(known, _)| known == name) else {
                let error = file.error(
                    span,
                    format!("unknown reference `{name}`"),
                    "no reference has this name",
                );
                return Err(match closest(name, known()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.note(format!("there are: {}", known().collect::<Vec<_>>().join(", "))),
                });
            };
            let operands: Result<Vec<Operand>> = args
                .iter()
                .map(|arg| Ok(evaluate(arg, inputs, inputs.limits)?.into_operand()))
                .collect();
            match reference(&operands?) {
                Ok(values) => Ok(Numbers::Float(values)),
                Err(why) => Err(file.error(span, format!("the reference `{name}` cannot be computed"), why)),
            }
        }
    }
}

/// A data file of the output's type, or of another one of its kind: expected values are often float64.
fn read_any(files: &dyn Files, path: &str, key: Option<&str>, dtype: Dtype) -> Result<DataArray> {
    let first = match read_data(files, path, key, dtype) {
        Ok(data) => return Ok(data),
        Err(error) => error,
    };
    let others: &[Dtype] = if dtype.is_float() {
        &[Dtype::F64, Dtype::F32]
    } else {
        &[Dtype::I64, Dtype::U64, Dtype::I32]
    };
    let found = others
        .iter()
        .find_map(|&dtype| read_data(files, path, key, dtype).ok());
    found.ok_or(first)
}

/// Arguments by name, with their values before the launch.
struct Before<'a> {
    tensors: &'a [Tensor],
    memory: &'a Memory,
    /// One per launch; the first that knows a name gives its value.
    scopes: &'a [Scope],
    limits: Limits,
}

impl Inputs for Before<'_> {
    fn value(&self, name: &str) -> Result<Option<Numbers>, String> {
        if let Some(tensor) = self.tensors.iter().find(|t| t.name == name) {
            return Numbers::of(tensor, self.memory, self.limits.elements).map(Some);
        }
        let scalar = |value: f64| Numbers::Float(ndarray::arr0(value).into_dyn());
        match self.scopes.iter().find_map(|scope| scope.lookup(name)) {
            None => Ok(None),
            Some(Value::Int(i)) => Ok(Some(Numbers::Int(ndarray::arr0(*i).into_dyn()))),
            Some(value) => match value.as_float() {
                Some(f) => Ok(Some(scalar(f))),
                None => Err(format!("it is {}, not a number", value.type_name())),
            },
        }
    }

    fn names(&self) -> Vec<String> {
        let tensors = self.tensors.iter().map(|t| t.name.clone());
        tensors
            .chain(self.scopes.iter().flat_map(Scope::names).map(String::from))
            .collect()
    }
}

/// Compares the outputs in `memory`, as the launch left them; one finding for each that differs.
///
/// # Errors
/// Says which output is too large to be compared.
pub fn judge(
    expectations: &[Expectation],
    launch: &Launch,
    memory: &Memory,
    accumulation: Accumulation,
) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for expectation in expectations {
        let tensor = &expectation.tensor;
        let got = Numbers::of(tensor, memory, Limits::default().elements)?;
        let rule = Rule {
            dtype: tensor.dtype,
            accumulation,
            rtol: expectation.rtol,
            atol: expectation.atol,
        };
        if let Some(mismatch) = compare(&got, &expectation.values, rule)? {
            let about = TensorRef {
                name: tensor.name.clone(),
                dtype: tensor.dtype.name().to_string(),
                shape: tensor.shape.clone(),
                strides: tensor.strides.clone(),
            };
            findings.push(mismatch.into_finding(&launch.kernel, about));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use tilescope_diagnostics::{Check, Source};
    use tilescope_ir::{Elem, Pointer, Scalar, Type};
    use tilescope_launch::{NoFiles, Overrides, Parameter, Signature, write_npy};

    use super::*;

    /// The expectations of a launch of `x_ptr` (0, 1, 2, 3) and `y_ptr`, and its memory.
    fn prepared(expect: &str) -> Result<(Vec<Expectation>, Bound, Memory)> {
        let text = format!(
            "kernel = 'k.ttir'\ngrid = [1]\n[args]\n\
             x_ptr = {{ dtype = 'i32', shape = [4], fill = 'arange' }}\n\
             y_ptr = {{ dtype = 'i32', shape = [4], role = 'out' }}\nn = 3\n[expect]\ny_ptr = {expect}\n"
        );
        let file = LaunchFile::parse(Source::new("a.launch.toml", text))?;
        let pointer = Type::Scalar(Elem::Ptr(Pointer::to(Scalar::I32)));
        let parameter = |name: &str, ty| Parameter {
            name: Some(name.to_string()),
            ty,
        };
        let parameters = vec![
            parameter("x_ptr", pointer),
            parameter("y_ptr", pointer),
            parameter("n", Type::scalar(Scalar::I32)),
        ];
        let signature = Signature {
            name: "k".to_string(),
            parameters,
            ..Signature::default()
        };
        let bound = file.bind(&[signature], &Overrides::default())?;
        let memory = bound.allocate(&NoFiles, u64::MAX)?;
        let double: Reference = |operands| match operands {
            [Operand::Array(x)] => Ok(x * 2.0),
            _ => Err("double takes an array".to_string()),
        };
        let references = [("double", double)];
        let expected = expectations(&file, &bound, &memory, &NoFiles, &references)?;
        Ok((expected, bound, memory))
    }

    #[test]
    fn formulas_and_references_read_the_arguments_before_the_launch() {
        for expect in [
            "{ formula = 'x_ptr * 2' }",
            "{ reference = 'double', args = ['x_ptr'] }",
        ] {
            let (expected, bound, mut memory) = prepared(expect).unwrap();
            let launch = &bound.launches[0];
            let y = &bound.tensors()[1];
            let bytes = &mut memory.allocations[y.allocation.0 as usize].bytes;
            for (i, value) in [0_i32, 2, 4, 7].into_iter().enumerate() {
                bytes[4 * i..4 * i + 4].copy_from_slice(&value.to_le_bytes());
            }
            let found = judge(&expected, launch, &memory, Accumulation::None).unwrap();
            assert_eq!(found.len(), 1, "{expect}");
            assert_eq!((found[0].check, found[0].count), (Check::OutputMismatch, 1));
            assert_eq!(found[0].element.as_deref(), Some(&[3][..]));
            bytes_at_end(&mut memory, y, 6);
            assert_eq!(judge(&expected, launch, &memory, Accumulation::None).unwrap(), []);
        }
    }

    fn bytes_at_end(memory: &mut Memory, tensor: &Tensor, value: i32) {
        memory.allocations[tensor.allocation.0 as usize].bytes[12..16].copy_from_slice(&value.to_le_bytes());
    }

    /// One file, `y.npy`: four int64.
    struct Disk;

    impl Files for Disk {
        fn read(&self, path: &str, _max_bytes: u64) -> Result<Vec<u8>> {
            if path != "y.npy" {
                return Err(Error::input(format!("`{path}` does not exist")));
            }
            let bytes = [0i64, 2, 4, 6].iter().flat_map(|v| v.to_le_bytes()).collect();
            Ok(write_npy(&DataArray {
                dtype: Dtype::I64,
                shape: vec![4],
                bytes,
            }))
        }
    }

    #[test]
    fn a_file_may_hold_a_wider_type_of_the_same_kind() {
        let read = |dtype| read_any(&Disk, "y.npy", None, dtype);
        let expected = Numbers::Int(ndarray::arr1(&[0, 2, 4, 6]).into_dyn());
        assert_eq!(Numbers::of_data(&read(Dtype::I32).unwrap()), Ok(expected));
        // Of another kind: the error is about the type that was wanted.
        let error = read(Dtype::F32).unwrap_err();
        assert!(error.message.contains("f32 wants"), "{error}");
    }

    #[test]
    fn mistakes_are_reported_at_their_place_before_the_run() {
        for (expect, message) in [
            ("{ formula = 'z_ptr' }", "z_ptr"),
            ("{ formula = 'concatenate((x_ptr, x_ptr))' }", "do not fit"),
            (
                "{ reference = 'triple', args = ['x_ptr'] }",
                "unknown reference `triple`",
            ),
            (
                "{ reference = 'duble', args = ['x_ptr'] }",
                "did you mean `double`?",
            ),
            ("{ reference = 'double', args = ['n'] }", "double takes an array"),
            ("{ file = 'gone.npy' }", "gone.npy"),
        ] {
            let error = prepared(expect).unwrap_err();
            assert!(error.to_string().contains(message), "{expect}: {error}");
            assert!(!error.labels.is_empty(), "{expect}: {error}");
        }
    }
}
