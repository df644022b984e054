//! The kernels that are written in Rust, too: the same bits as their Triton twins, on the data of their launch files.

#[path = "../dropout/dropout.rs"]
mod dropout;
#[path = "../matmul/matmul.rs"]
mod matmul;
#[path = "../softmax/softmax.rs"]
mod softmax;
#[path = "../vector_add/vector_add.rs"]
mod vector_add;

use std::sync::atomic::AtomicBool;

use ndarray::{ArrayD, IxDyn, Slice};
use tilescope::{Arg, Element, InputPrecision, Kernel, bf16, check, f16, out};
use tilescope_interpreter::{Control, Options, Prepared};
use tilescope_ir::{Scalar, Type, VerifiedModule};
use tilescope_launch::expr::Value;
use tilescope_launch::{Argument, Bound, LaunchFile, Memory, NoFiles, Overrides, Role, Signature, Tensor};

/// A launch of the folder, run from Triton's TTIR.
struct Twin {
    bound: Bound,
    before: Memory,
    after: Memory,
    /// For each parameter, whether it is an `f32`.
    floats: Vec<bool>,
}

impl Twin {
    fn run(folder: &str, name: &str) -> Twin {
        Twin::run_with(folder, name, &Overrides::default())
    }

    fn run_with(folder: &str, name: &str, overrides: &Overrides) -> Twin {
        let read = |kind: &str| {
            let path = format!("{}/{folder}/{name}.{kind}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
            tilescope_diagnostics::Source::new(path, text)
        };
        let module = VerifiedModule::new(tilescope_ir::text::parse(&read("ttir")).unwrap()).unwrap();
        let (function, _) = module.kernels().next().unwrap();
        let file = LaunchFile::parse(read("launch.toml")).unwrap();
        let bound = file.bind(&[Signature::of(&module, function)], overrides).unwrap();
        let before = bound.allocate(&NoFiles, u64::MAX).unwrap();
        let mut after = bound.allocate(&NoFiles, u64::MAX).unwrap();
        let control = Control {
            cancel: &AtomicBool::new(false),
            progress: &|_| (),
        };
        let prepared = Prepared::new(&module, function, &bound.launches[0], Options::default()).unwrap();
        let outcome = prepared.run(&mut after, &control).unwrap();
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        let parameters = &Signature::of(&module, function).parameters;
        let floats = parameters
            .iter()
            .map(|p| p.ty == Type::scalar(Scalar::F32))
            .collect();
        Twin {
            bound,
            before,
            after,
            floats,
        }
    }

    /// Runs the Rust kernel on the same arguments and compares every output, bit by bit.
    fn equals<T: Element>(&self, kernel: &Kernel) {
        let launch = &self.bound.launches[0];
        let tensors = launch.arguments.iter().map(|argument| match argument {
            Argument::Tensor(id) => Some(&launch.tensors[id.0 as usize]),
            _ => None,
        });
        let mut arrays: Vec<Option<(&Tensor, ArrayD<T>)>> = tensors
            .map(|tensor| tensor.map(|t| (t, array(t, &self.before))))
            .collect();
        let mut args: Vec<Arg<'_>> = Vec::new();
        for ((array, argument), is_float) in arrays.iter_mut().zip(&launch.arguments).zip(&self.floats) {
            args.push(match (array, argument) {
                (Some((tensor, array)), _) => match tensor.role {
                    Role::Out => out(array),
                    _ => Arg::from(&*array),
                },
                (None, Argument::Scalar { bits }) if *is_float => Arg::from(f32::from_bits(*bits as u32)),
                (None, Argument::Scalar { bits }) => Arg::from(*bits as i32),
                (None, other) => panic!("{other:?}"),
            });
        }
        let report = check(kernel, launch.grid.map(|n| n as i64), args).unwrap();
        assert!(report.findings().is_empty(), "{report}");
        let mut outputs = 0;
        for (tensor, array) in arrays.iter().flatten().filter(|(t, _)| t.role == Role::Out) {
            let mut bytes = Vec::new();
            array.iter().for_each(|element| element.push_bytes(&mut bytes));
            assert!(
                bytes == self.after.gather(tensor, 0, tensor.elements()),
                "{}",
                tensor.name
            );
            outputs += 1;
        }
        assert_eq!(outputs, 1);
    }
}

/// A tensor of a launch as an array with the same shape and strides.
fn array<T: Element>(tensor: &Tensor, memory: &Memory) -> ArrayD<T> {
    let packed = memory.gather(tensor, 0, tensor.elements());
    let shape: Vec<usize> = tensor.shape.iter().map(|&n| n as usize).collect();
    // Rows may be padded.
    let mut storage = shape.clone();
    if let [_, columns] = &mut storage[..] {
        *columns = tensor.strides[0] as usize;
    }
    let mut array = ArrayD::from_elem(IxDyn(&storage), T::from_bytes(&[]));
    array.slice_each_axis_inplace(|axis| Slice::from(..shape[axis.axis.index()]));
    let elements = packed.chunks_exact(T::DTYPE.bytes()).map(T::from_bytes);
    array
        .iter_mut()
        .zip(elements)
        .for_each(|(place, element)| *place = element);
    assert_eq!(
        array.strides().iter().map(|&s| s as i64).collect::<Vec<_>>(),
        tensor.strides
    );
    array
}

#[test]
fn vector_add_is_its_twin() {
    Twin::run("vector_add", "vector_add").equals::<f32>(&vector_add::vector_add::<f32, 1024>());
    Twin::run("vector_add", "vector_add-f16").equals::<f16>(&vector_add::vector_add::<f16, 1024>());
    Twin::run("vector_add", "vector_add-bf16").equals::<bf16>(&vector_add::vector_add::<bf16, 1024>());
}

#[test]
fn softmax_is_its_twin() {
    // Fewer rows than in the launch file: exponentials are slow without optimisation.
    let rows = Overrides {
        vars: vec![("n_rows".into(), Value::Int(100))],
        ..Overrides::default()
    };
    let twin = |name| Twin::run_with("softmax", name, &rows);
    twin("softmax").equals::<f32>(&softmax::softmax::<f32, 1024>());
    twin("softmax-f16").equals::<f16>(&softmax::softmax::<f16, 1024>());
    twin("softmax-bf16").equals::<bf16>(&softmax::softmax::<bf16, 1024>());
}

#[test]
fn matmul_is_its_twin() {
    let blocks = matmul::Blocks {
        m: 64,
        n: 64,
        k: 32,
        group_m: 4,
    };
    let full = InputPrecision::Ieee;
    Twin::run("matmul", "matmul").equals::<f32>(&matmul::matmul::<f32>(blocks, full));
    Twin::run("matmul", "matmul-tf32").equals::<f32>(&matmul::matmul::<f32>(blocks, InputPrecision::Tf32));
    Twin::run("matmul", "matmul-f16").equals::<f16>(&matmul::matmul::<f16>(blocks, full));
    Twin::run("matmul", "matmul-bf16").equals::<bf16>(&matmul::matmul::<bf16>(blocks, full));
}

#[test]
fn dropout_is_its_twin() {
    Twin::run("dropout", "dropout").equals::<f32>(&dropout::dropout::<f32, 1024>());
    Twin::run("dropout", "dropout-f16").equals::<f16>(&dropout::dropout::<f16, 1024>());
    Twin::run("dropout", "dropout-bf16").equals::<bf16>(&dropout::dropout::<bf16, 1024>());
}
