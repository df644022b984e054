//! Whole launch files, bound to small signatures: what comes out, and every message.

use std::collections::BTreeMap;

use tilescope_diagnostics::{Error, Result, Source};
use tilescope_ir::{Elem, Pointer, Scalar, Shape, Type};

use crate::expr::Value;
use crate::*;

/// `x_ptr: *f32, n: i32, d: desc 4x8 f16`; a name of `_` is none.
fn signature(text: &str) -> Signature {
    let parameter = |text: &str| {
        let (name, ty) = text.trim().split_once(": ").unwrap();
        let scalar = |name: &str| Scalar::from_name(name.trim()).unwrap();
        let ty = ty.trim();
        let ty = if let Some(pointee) = ty.strip_prefix("**") {
            Type::Scalar(Elem::Ptr(Pointer {
                levels: 2,
                ..Pointer::to(scalar(pointee))
            }))
        } else if let Some(pointee) = ty.strip_prefix('*') {
            Type::Scalar(Elem::Ptr(Pointer::to(scalar(pointee))))
        } else if let Some(rest) = ty.strip_prefix("desc ") {
            let (block, elem) = rest.split_once(' ').unwrap();
            let block: Vec<u64> = block.split('x').map(|d| d.parse().unwrap()).collect();
            Type::Descriptor {
                block: Shape::new(&block).unwrap(),
                elem: scalar(elem),
                signed: None,
            }
        } else {
            Type::scalar(scalar(ty))
        };
        Parameter {
            name: (name != "_").then(|| name.to_string()),
            ty,
        }
    };
    let parameters = text
        .split(',')
        .filter(|p| !p.trim().is_empty())
        .map(parameter)
        .collect();
    Signature {
        name: "kernel".into(),
        parameters,
        ..Signature::default()
    }
}

fn bind_with(parameters: &str, text: &str, overrides: &Overrides) -> Result<Bound> {
    let file = LaunchFile::parse(Source::new("a.launch.toml", text))?;
    let signatures = vec![signature(parameters); file.launches().len()];
    file.bind(&signatures, overrides)
}

fn bind(parameters: &str, text: &str) -> Result<Bound> {
    bind_with(parameters, text, &Overrides::default())
}

/// A file with the usual head.
fn with_head(rest: &str) -> String {
    format!("kernel = \"k.ttir\"\ngrid = [1]\n{rest}")
}

const SOFTMAX: &str = r#"
kernel = "softmax.py::softmax_kernel"
grid   = ["n_rows"]
seed   = 0

[vars]
n_rows = { value = 1823, range = [1, 4096] }
n_cols = { value = 781,  range = [1, 2048] }
pad    = 3

[args]
output_ptr        = { dtype = "f32", shape = ["n_rows", "n_cols"], fill = "uninit", role = "out" }
input_ptr         = { dtype = "f32", shape = ["n_rows", "n_cols"], strides = ["n_cols + pad", 1], fill = "randn", role = "in" }
input_row_stride  = "n_cols + pad"
output_row_stride = "n_cols"
eps               = { dtype = "f32", value = 1e-5 }
n_cols            = "n_cols"

[constexprs]
BLOCK_SIZE = "next_power_of_2(n_cols)"
ACTIVATION = "'gelu'"
BLOCK_M = { value = 64, choices = [32, 64, 128] }
DTYPE = "tl.float16"
FN = "fn:helper"
NOTHING = "none"
FLAG = true
PAIR = [1, "n_cols"]

[options]
num_warps = 4
num_stages = 2

[expect]
output_ptr = { reference = "softmax", args = ["input_ptr"] }
"#;

const SOFTMAX_PARAMETERS: &str =
    "output_ptr: *f32, input_ptr: *f32, input_row_stride: i32, output_row_stride: i32, eps: f32, n_cols: i32";

/// A kernel compiled for the launch may have fewer parameters than it has arguments, and others of their default.
#[test]
fn a_kernel_compiled_for_the_launch() {
    let text = "kernel = 'k.py'\ngrid = ['BLOCK']\n[args]\nstride = 4\nn = 3\n[options]\nnum_warps = 8\n";
    let compiled = Signature {
        constants: vec![("stride".into(), Value::Int(4)), ("BLOCK".into(), Value::Int(64))],
        defaults: vec![("eps".into(), Value::Float(0.5)), ("n".into(), Value::Int(9))],
        ..signature("n: i32, eps: f32")
    };
    let file = LaunchFile::parse(Source::new("a.launch.toml", text)).unwrap();
    let bound = file
        .bind(std::slice::from_ref(&compiled), &Overrides::default())
        .unwrap();
    let bits = u64::from(0.5f32.to_bits());
    assert_eq!(
        bound.launches[0].arguments,
        [Argument::Scalar { bits: 3 }, Argument::Scalar { bits }]
    );
    assert_eq!(bound.notes, [] as [String; 0]);
    assert_eq!(bound.launches[0].grid, [64, 1, 1]);
    let options = CompileOptions {
        num_warps: 8,
        num_stages: 3,
    };
    assert_eq!(bound.launches[0].options, options);
    // What is compiled in need not be given, what is left must be.
    let other = Signature {
        defaults: Vec::new(),
        ..compiled
    };
    let error = file.bind(&[other], &Overrides::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no argument for parameter `eps` of `kernel`"),
        "{error}"
    );
}

#[test]
fn the_example_of_the_format() {
    let bound = bind(SOFTMAX_PARAMETERS, SOFTMAX).unwrap();
    let launch = &bound.launches[0];
    assert_eq!(
        (launch.grid, launch.kernel.as_str(), launch.name.as_str()),
        ([1823, 1, 1], "kernel", "a.launch.toml")
    );
    assert_eq!(
        launch.options,
        CompileOptions {
            num_warps: 4,
            num_stages: 2
        }
    );
    assert_eq!(
        launch.arguments,
        [
            Argument::Tensor(TensorId(0)),
            Argument::Tensor(TensorId(1)),
            Argument::Scalar { bits: 784 },
            Argument::Scalar { bits: 781 },
            Argument::Scalar {
                bits: 1e-5f32.to_bits().into()
            },
            Argument::Scalar { bits: 781 },
        ]
    );
    let [output, input] = launch.tensors.as_slice() else {
        panic!("{launch:?}")
    };
    assert_eq!(
        (output.role, output.uninit, &output.strides[..]),
        (Role::Out, true, &[781, 1][..])
    );
    assert_eq!(
        (input.role, input.uninit, &input.strides[..]),
        (Role::In, false, &[784, 1][..])
    );
    assert_eq!(
        bound.constexprs[0],
        [
            ("BLOCK_SIZE".to_string(), Value::Int(1024)),
            ("ACTIVATION".into(), Value::Str("gelu".into())),
            ("BLOCK_M".into(), Value::Int(64)),
            ("DTYPE".into(), Value::Symbol("tl.float16".into())),
            ("FN".into(), Value::Str("fn:helper".into())),
            ("NOTHING".into(), Value::None),
            ("FLAG".into(), Value::Bool(true)),
            ("PAIR".into(), Value::Tuple(vec![Value::Int(1), Value::Int(781)])),
        ]
    );
    assert!(bound.notes.is_empty());
    let memory = bound.allocate(&NoFiles, 1 << 30).unwrap();
    assert_eq!(
        memory
            .allocations
            .iter()
            .map(|a| a.bytes.len())
            .collect::<Vec<_>>(),
        [1823 * 781 * 4, (1822 * 784 + 781) * 4]
    );
    assert_eq!(memory.allocations[0].base, FIRST_ADDRESS);
    assert_eq!(
        memory.allocations[1].base,
        (FIRST_ADDRESS + 1823 * 781 * 4).next_multiple_of(512)
    );
    assert!(memory.allocations[0].bytes.iter().all(|&b| b == 0));
    let padding = &memory.allocations[1].bytes[781 * 4..784 * 4];
    assert_eq!(padding, [0; 12], "only the view's elements are filled");
    let row = memory.gather(input, 781 * 5, 2);
    assert_eq!(row, memory.allocations[1].bytes[784 * 5 * 4..784 * 5 * 4 + 8]);
    assert_ne!(row, [0; 8]);
}

#[test]
fn overrides_replace_vars_constexprs_and_the_seed() {
    let overrides = Overrides {
        vars: vec![
            ("n_rows".into(), Value::Int(17)),
            ("n_cols".into(), Value::Int(8)),
        ],
        constexprs: vec![("BLOCK_M".into(), Value::Int(32))],
        seed: Some(9),
        ..Overrides::default()
    };
    let bound = bind_with(SOFTMAX_PARAMETERS, SOFTMAX, &overrides).unwrap();
    assert_eq!(bound.launches[0].grid, [17, 1, 1]);
    assert_eq!(bound.launches[0].tensors[1].shape, [17, 8]);
    assert_eq!(bound.constexprs[0][2].1, Value::Int(32));
    let plain = bind_with(
        SOFTMAX_PARAMETERS,
        SOFTMAX,
        &Overrides {
            seed: None,
            ..overrides.clone()
        },
    )
    .unwrap();
    let bytes = |b: &Bound| {
        b.allocate(&NoFiles, 1 << 30).unwrap().allocations[1]
            .bytes
            .to_vec()
    };
    assert_ne!(bytes(&bound), bytes(&plain));
    assert_eq!(bytes(&bound), bytes(&bound));
    let unknown = Overrides {
        vars: vec![("n_row".into(), Value::Int(1))],
        ..Overrides::default()
    };
    let error = bind_with(SOFTMAX_PARAMETERS, SOFTMAX, &unknown).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.launch.toml has no variable `n_row` (help: did you mean `n_rows`?)"
    );
}

#[test]
fn names_mean_constexpr_then_var_then_argument() {
    let text = r#"
        kernel = "k.ttir"
        grid = ["n", "B", "m"]
        [vars]
        n = 5
        B = 1
        [args]
        n = "n + 1"
        m = "n * 10"
        [constexprs]
        B = "B * 4"
    "#;
    let bound = bind("n: i32, m: i32", text).unwrap();
    assert_eq!(bound.launches[0].grid, [5, 4, 50]);
    assert_eq!(
        bound.launches[0].arguments,
        [Argument::Scalar { bits: 6 }, Argument::Scalar { bits: 50 }]
    );
}

#[test]
fn layouts_views_pointers_and_descriptors() {
    let text = with_head(
        r#"
        [args]
        rev   = { dtype = "i32", shape = [4], strides = [-2], fill = "arange" }
        wide  = { dtype = "f16", shape = [4, 8], storage = 100, offset = 10, fill = "ones" }
        half  = { view_of = "wide", shape = [2, 8], strides = [16, 1], offset = 10, role = "in" }
        same  = { view_of = "wide" }
        bits  = { view_of = "half", dtype = "u16", shape = [100] }
        ptrs  = { dtype = "u64", pointers = ["rev", "slab"] }
        desc  = { descriptor_of = "wide", block_shape = [4, 8] }
        empty = { dtype = "f32", shape = [0, 3] }
        none  = "none"
        [tensors]
        slab  = { dtype = "u8", shape = [3], fill = "value(7)" }
    "#,
    );
    let parameters = "rev: *i32, wide: *f16, half: *f16, same: *f16, bits: *i16, ptrs: **i32, desc: desc 4x8 f16, \
                      empty: *f32, none: *f32";
    let bound = bind(parameters, &text).unwrap();
    let launch = &bound.launches[0];
    let by_name: BTreeMap<&str, &Tensor> = launch.tensors.iter().map(|t| (t.name.as_str(), t)).collect();
    assert_eq!(by_name["rev"].offset, 6);
    assert_eq!(
        (by_name["half"].allocation, by_name["half"].offset),
        (by_name["wide"].allocation, 10)
    );
    assert_eq!(
        (&by_name["same"].shape, by_name["same"].offset),
        (&by_name["wide"].shape, 10)
    );
    assert_eq!(by_name["bits"].allocation, by_name["wide"].allocation);
    assert_eq!(
        by_name["ptrs"]
            .pointers
            .iter()
            .map(|p| launch.tensors[p.0 as usize].name.as_str())
            .collect::<Vec<_>>(),
        ["rev", "slab"]
    );
    assert!(
        matches!(&launch.arguments[6], Argument::Descriptor { block_shape, .. } if *block_shape == [4, 8])
    );
    assert_eq!(launch.arguments[8], Argument::Null);

    let memory = bound.allocate(&NoFiles, 1 << 20).unwrap();
    let names: Vec<_> = memory
        .allocations
        .iter()
        .map(|a| (a.name.as_str(), a.bytes.len(), (a.base - FIRST_ADDRESS) / 512))
        .collect();
    assert_eq!(
        names,
        [
            ("rev", 28, 0),
            ("wide", 200, 1),
            ("ptrs", 16, 2),
            ("empty", 0, 3),
            ("slab", 3, 4)
        ]
    );
    let rev: Vec<u8> = memory.allocations[0].bytes.iter().copied().step_by(4).collect();
    assert_eq!(rev, [3, 0, 2, 0, 1, 0, 0]);
    assert_eq!(
        memory.gather(by_name["rev"], 1, 99),
        [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]
    );
    let addresses = memory.allocations[2].bytes.as_chunks::<8>().0;
    assert_eq!(u64::from_le_bytes(addresses[0]), memory.allocations[0].base + 24);
    assert_eq!(u64::from_le_bytes(addresses[1]), memory.allocations[4].base);
    assert_eq!(memory.allocations[4].bytes[..], [7, 7, 7]);
}

#[test]
fn default_fills_go_by_role_and_dtype() {
    let text = with_head(
        r#"
        [args]
        a = { dtype = "f32", shape = [8] }
        b = { dtype = "i32", shape = [8] }
        c = { dtype = "f32", shape = [8], role = "out" }
        d = { dtype = "f32", shape = [8], role = "out", fill = "ones" }
    "#,
    );
    let bound = bind("a: *f32, b: *i32, c: *f32, d: *f32", &text).unwrap();
    assert_eq!(
        bound.tensors().iter().map(|t| t.uninit).collect::<Vec<_>>(),
        [false, false, true, false]
    );
    let memory = bound.allocate(&NoFiles, 1 << 20).unwrap();
    assert!(
        memory.allocations[0]
            .bytes
            .as_chunks::<4>()
            .0
            .iter()
            .all(|b| f32::from_le_bytes(*b) != 0.0)
    );
    assert!(memory.allocations[1].bytes.iter().all(|&b| b == 0));
}

#[test]
fn scalars_take_the_parameters_type() {
    let text = with_head(
        "[args]\na = -1\nb = \"1 / 3\"\nc = true\nd = 4294967295\ne = 3\nf = { dtype = \"f16\", value = 1.5 }\n",
    );
    let bound = bind("a: i64, b: f64, c: i1, d: i32, e: f32, f: f16", &text).unwrap();
    let bits: Vec<u64> = bound.launches[0]
        .arguments
        .iter()
        .map(|a| match a {
            Argument::Scalar { bits } => *bits,
            _ => panic!("{a:?}"),
        })
        .collect();
    assert_eq!(
        bits,
        [
            u64::MAX,
            (1.0f64 / 3.0).to_bits(),
            1,
            0xffff_ffff,
            3f32.to_bits().into(),
            0x3e00
        ]
    );
}

#[test]
fn specialised_and_unnamed_parameters() {
    let text =
        with_head("[args]\nx = { dtype = \"f32\", shape = [4] }\nstride = 1\nbias = \"none\"\nn = 4\n");
    let bound = bind("x: *f32, n: i32", &text).unwrap();
    assert_eq!(
        bound.notes,
        [
            "`stride` is no parameter of `kernel`: Triton specialised it away",
            "`bias` is no parameter of `kernel`: Triton specialised it away"
        ]
    );
    let bound = bind("_: *f32, _: i32", &text).unwrap();
    assert_eq!(
        bound.launches[0].arguments,
        [Argument::Tensor(TensorId(0)), Argument::Scalar { bits: 4 }]
    );
    assert_eq!(bound.notes.len(), 3);
    let text = with_head("[args]\nx = { dtype = \"u16\", shape = [4] }\n");
    let bound = bind("x: *bf16", &text).unwrap();
    assert_eq!(
        bound.notes,
        ["`x` points to bf16, `x` holds u16: its bytes are taken as they are"]
    );
}

#[test]
fn sizes_and_strides_after_a_descriptor_are_the_tensors() {
    let text = with_head(
        "[args]\nx = { descriptor_of = \"t\", block_shape = [2, 4] }\nn = 7\n[tensors]\nt = { dtype = \"f16\", shape = [5, 6], strides = [8, 1] }\n",
    );
    let modern = "x: desc 2x4 f16, x.shape.0: i32, x.shape.1: i32, x.stride.0: i64, x.stride.1: i64, n: i32";
    let older = "x: desc 2x4 f16, x: i32, x: i32, x: i64, x: i64, n: i32";
    let unnamed = "_: desc 2x4 f16, _: i32, _: i32, _: i64, _: i64, _: i32";
    for parameters in [modern, older, unnamed] {
        let bound = bind(parameters, &text).unwrap();
        let bits: Vec<u64> = bound.launches[0]
            .arguments
            .iter()
            .filter_map(|a| match a {
                Argument::Scalar { bits } => Some(*bits),
                _ => None,
            })
            .collect();
        assert_eq!(bits, [5, 6, 8, 1, 7], "{parameters}");
    }
    let bound = bind("x: desc 2x4 f16, n: i32", &text).unwrap();
    assert_eq!(bound.launches[0].arguments.len(), 2);
}

#[test]
fn a_grid_of_zero_is_a_grid() {
    let text = "kernel = \"k.ttir\"\ngrid = [\"n\", 2]\n[vars]\nn = 0\n";
    assert_eq!(bind("", text).unwrap().launches[0].grid, [0, 2, 1]);
}

const PIPELINE: &str = r#"
[vars]
n = 100
[tensors]
x   = { dtype = "f32", shape = ["n"], role = "in" }
tmp = { dtype = "f32", shape = ["n"], role = "out" }
[[launch]]
kernel = "a.ttir"
grid = ["cdiv(n, B)"]
args = { x = "x", y = "tmp", n = "n" }
constexprs = { B = 64 }
[[launch]]
kernel = "b.ttir"
grid = [1]
args = { x = "tmp", y = { dtype = "f32", shape = ["n"], role = "out" }, n = "n" }
[expect]
tmp = { formula = "x * 2" }
"#;

#[test]
fn pipelines_share_tensors() {
    let bound = bind("x: *f32, y: *f32, n: i32", PIPELINE).unwrap();
    let [first, second] = bound.launches.as_slice() else {
        panic!()
    };
    assert_eq!((first.grid, second.grid), ([2, 1, 1], [1, 1, 1]));
    assert_eq!(
        (first.name.as_str(), second.name.as_str()),
        ("a.launch.toml #1", "a.launch.toml #2")
    );
    assert_eq!(
        first.arguments[..2],
        [Argument::Tensor(TensorId(0)), Argument::Tensor(TensorId(1))]
    );
    assert_eq!(
        second.arguments[..2],
        [Argument::Tensor(TensorId(1)), Argument::Tensor(TensorId(2))]
    );
    let roles = |l: &Launch| l.tensors.iter().map(|t| t.role).collect::<Vec<_>>();
    assert_eq!(roles(first), [Role::In, Role::Out, Role::InOut]);
    assert_eq!(roles(second), [Role::InOut, Role::Out, Role::Out]);
    assert_eq!(bound.allocate(&NoFiles, 1 << 20).unwrap().allocations.len(), 3);
}

#[test]
fn memory_is_limited_before_it_is_taken() {
    let huge = r#"
        [args]
        a = { dtype = "f16", shape = [8589934592], role = "out" }
        b = { dtype = "f32", shape = [2, 16], strides = [4294967296, 1] }
    "#;
    let memory = bind("a: *f16, b: *f32", &with_head(huge))
        .unwrap()
        .allocate(&NoFiles, 1 << 20)
        .unwrap();
    assert_eq!(memory.allocations[0].bytes.len(), 1 << 34);
    let row = (1usize << 32) * 4;
    assert!(
        memory.allocations[1].bytes[row..row + 64]
            .as_chunks::<4>()
            .0
            .iter()
            .all(|b| *b != [0; 4])
    );
    for (text, message) in [
        (
            "[args]\na = { dtype = \"f16\", shape = [1000, 1000] }\n",
            "a.launch.toml:4:5: not enough memory: `a` wants 2.0 MB: all tensors want 2.0 MB, 1.0 MB may be used (help: make the tensor smaller)",
        ),
        (
            "[args]\na = { dtype = \"f16\", shape = [65536, 131072], strides = [1, 65536] }\n",
            "a.launch.toml:4:5: not enough memory: `a` wants 17.2 GB: all tensors want 17.2 GB, 1.0 MB may be used \
             (help: large storage costs only the pages that the kernel touches when it is generated row by row, \
             \"uninit\" or \"zeros\")",
        ),
    ] {
        let error = bind("a: *f16", &with_head(text))
            .unwrap()
            .allocate(&NoFiles, 1_000_000)
            .unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn overlapping_views_take_no_time() {
    let text = with_head("[args]\na = { dtype = \"f16\", shape = [1099511627776, 3], strides = [0, 1] }\n");
    assert_eq!(
        bind("a: *f16", &text)
            .unwrap()
            .allocate(&NoFiles, 1 << 20)
            .unwrap()
            .allocations[0]
            .bytes
            .len(),
        6
    );
    let text = with_head("[args]\na = { dtype = \"f16\", shape = [65536, 65536], strides = [1, 1] }\n");
    let error = bind("a: *f16", &text)
        .unwrap()
        .allocate(&NoFiles, 1 << 20)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.launch.toml:4:5: `a` overlaps itself too much to be filled: 4294967296 elements in 131071 places"
    );
}

#[test]
fn huge_random_data_are_made_where_they_are_touched() {
    let huge = with_head("[args]\na = { dtype = \"f16\", shape = [8589934592] }\n");
    let small = with_head("[args]\na = { dtype = \"f16\", shape = [20000] }\n");
    let bound = bind("a: *f16", &huge).unwrap();
    let mut memory = bound.allocate(&NoFiles, 1 << 20).unwrap();
    let expected = bind("a: *f16", &small)
        .unwrap()
        .allocate(&NoFiles, 1 << 20)
        .unwrap();
    let tensor = &bound.tensors()[0];
    assert_eq!(
        memory.gather(tensor, 7000, 5000),
        expected.allocations[0].bytes[14_000..24_000]
    );
    let last = memory.gather(tensor, (1 << 33) - 2, 9);
    assert!(last.len() == 4 && last != [0; 4]);
    let allocation = &mut memory.allocations[0];
    let (bytes, deferred) = (&mut allocation.bytes, allocation.deferred.as_ref().unwrap());
    deferred.prepare(16_382..16_386, |at, made| {
        bytes[at..at + made.len()].copy_from_slice(made)
    });
    assert_eq!(bytes[..1 << 15], expected.allocations[0].bytes[..1 << 15]);
    bytes[0..2].copy_from_slice(&[1, 2]);
    assert_eq!(memory.gather(tensor, 0, 1), [1, 2]);
}

struct OneFile(Vec<u8>);

impl Files for OneFile {
    fn read(&self, path: &str, _max_bytes: u64) -> Result<Vec<u8>> {
        match path {
            "x.npy" | "x.safetensors" => Ok(self.0.clone()),
            _ => Err(Error::input(format!("no file `{path}`"))),
        }
    }
}

#[test]
fn data_files_must_be_as_declared() {
    let array = DataArray {
        dtype: Dtype::F32,
        shape: vec![2, 3],
        bytes: (0..24).collect(),
    };
    let npy = OneFile(write_npy(&array));
    let tensors = OneFile(write_safetensors(&[("w".into(), array.clone())]).unwrap());
    let load = |files: &OneFile, tensor: &str| {
        let text = with_head(&format!("[args]\nx = {{ {tensor} }}\n"));
        let memory = bind("x: *f32", &text)?.allocate(files, 1 << 20)?;
        Ok::<_, Box<Error>>(memory.allocations[0].bytes.to_vec())
    };
    let head = "dtype = \"f32\", shape = [2, 3], file =";
    assert_eq!(load(&npy, &format!("{head} \"x.npy\"")).unwrap(), array.bytes);
    assert_eq!(
        load(&tensors, &format!("{head} \"x.safetensors\", key = \"w\"")).unwrap(),
        array.bytes
    );
    let strided = load(&npy, &format!("{head} \"x.npy\", strides = [1, 2]")).unwrap();
    assert_eq!(strided[..8], [0, 1, 2, 3, 12, 13, 14, 15]);
    for (files, tensor, message) in [
        (
            &npy,
            "dtype = \"f32\", shape = [3, 2], file = \"x.npy\"",
            "a.launch.toml:4:45: `x.npy` has shape [2, 3], declared is [3, 2]: for `x`",
        ),
        (
            &npy,
            "dtype = \"i32\", shape = [2, 3], file = \"x.npy\"",
            "a.launch.toml:4:45: `x.npy`: elements are `<f4`, i32 wants `<i4`: for `x`",
        ),
        (
            &npy,
            "dtype = \"f32\", shape = [2, 3], file = \"y.npy\"",
            "a.launch.toml:4:45: no file `y.npy`: for `x`",
        ),
        (
            &tensors,
            "dtype = \"f32\", shape = [2, 3], file = \"x.safetensors\", key = \"v\"",
            "a.launch.toml:4:45: `x.safetensors`: no tensor `v`: for `x`",
        ),
        (
            &tensors,
            "dtype = \"i32\", shape = [2, 3], file = \"x.safetensors\", key = \"w\"",
            "a.launch.toml:4:45: `x.safetensors`: elements of `w` are F32, declared is i32: for `x`",
        ),
        (
            &npy,
            "dtype = \"f32\", shape = [2, 3], file = \"x.npy\", key = \"w\"",
            "a.launch.toml:4:45: a .npy file has no `key`: it holds one array",
        ),
        (
            &npy,
            "dtype = \"f32\", shape = [2, 3], file = \"x.safetensors\"",
            "a.launch.toml:4:45: a .safetensors file needs `key`, the tensor's name in it",
        ),
        (
            &npy,
            "dtype = \"f32\", shape = [2, 3], file = \"x.txt\"",
            "a.launch.toml:4:45: data files are .npy or .safetensors, not `x.txt`",
        ),
    ] {
        assert_eq!(load(files, tensor).unwrap_err().to_string(), message, "{tensor}");
    }
}

#[test]
fn every_kernel_example_parses() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels");
    let mut count = 0;
    for folder in std::fs::read_dir(root)
        .unwrap()
        .filter_map(|e| std::fs::read_dir(e.unwrap().path()).ok())
    {
        for path in folder
            .map(|e| e.unwrap().path())
            .filter(|p| p.to_string_lossy().ends_with(".toml"))
        {
            if path.file_name().is_some_and(|n| n == "Cargo.toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let file = LaunchFile::parse(Source::new(path.to_string_lossy(), text)).unwrap();
            assert!(!file.expect().is_empty() && file.vars().iter().any(|v| v.range.is_some()));
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

/// Places are of the TOML text; the head of `with_head` takes lines 1 and 2.
#[test]
fn messages() {
    let mut wrong = Vec::new();
    for (text, message) in include!("messages.in") {
        let found = match bind("x: *f32, n: i32", text) {
            Ok(_) => "no error".to_string(),
            Err(error) => error.to_string(),
        };
        if found != message {
            wrong.push((text, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = bind("x: *f32, n: i32", &text);
    }

    #[test]
    fn no_mutation_panics(
        which in 0..2usize,
        edits in proptest::collection::vec((0..2000usize, 0..12usize, "[0-9a-z_.,\"'=\\[\\]{}()*/+-]{0,6}"), 1..5),
    ) {
        let (text, parameters) = [(SOFTMAX, SOFTMAX_PARAMETERS), (PIPELINE, "x: *f32, y: *f32, n: i32")][which];
        let mut text = text.to_string();
        for (at, remove, insert) in edits {
            let start = text.floor_char_boundary(at % (text.len() + 1));
            let end = text.floor_char_boundary((start + remove).min(text.len()));
            text.replace_range(start..end.max(start), &insert);
        }
        if let Ok(bound) = bind(parameters, &text) {
            let _ = bound.allocate(&NoFiles, 1 << 24);
        }
    }
}
