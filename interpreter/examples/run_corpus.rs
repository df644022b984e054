//! Lowers every kernel below the given folders and runs some programs of it on made-up arguments.
//!
//! `cargo run --release -p tilescope-interpreter --example run_corpus -- FOLDER… [--steps N]`
//!
//! Prints how many kernels run, and what stopped the others: an operation that is refused, by name, or a
//! panic, which is a bug. The arguments mean nothing (64 for every integer, tensors of small numbers), so
//! kernels go out of bounds or round long loops; each program is stopped after N operations (default
//! 1000). What they compute is not looked at.
#![allow(clippy::print_stdout, reason = "a tool for people")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::Source;
use tilescope_interpreter::{Control, Options, Prepared};
use tilescope_ir::{Elem, FuncId, Module, Scalar, Type};
use tilescope_launch::{
    ALIGNMENT, Allocation, AllocationId, Argument, Bytes, CompileOptions, Dtype, FIRST_ADDRESS, Launch,
    Memory, Role, Tensor, TensorId,
};

/// Elements of the tensor behind a pointer.
const ELEMENTS: i64 = 1 << 16;

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.map(|e| e.path()).collect();
        entries.sort();
        entries.iter().for_each(|e| collect(e, files));
    } else if path.extension().is_some_and(|e| e == "ttir") {
        files.push(path.to_path_buf());
    }
}

fn dtype(scalar: Scalar) -> Dtype {
    match scalar {
        Scalar::I1 => Dtype::I1,
        Scalar::I16 => Dtype::I16,
        Scalar::I32 => Dtype::I32,
        Scalar::I64 | Scalar::Index => Dtype::I64,
        Scalar::F8E4M3FN => Dtype::F8E4M3,
        Scalar::F8E5M2 => Dtype::F8E5M2,
        Scalar::F16 => Dtype::F16,
        Scalar::BF16 => Dtype::BF16,
        Scalar::F32 => Dtype::F32,
        Scalar::F64 => Dtype::F64,
        _ => Dtype::I8,
    }
}

/// The bits of 0, 1, 2 or 3, or of floats from 1 to below 2.
fn element(dtype: Dtype, index: u64) -> u64 {
    let small = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62;
    match dtype {
        Dtype::I1 => small & 1,
        Dtype::F8E4M3 | Dtype::F8E5M2 => 0x3c + (small & 1),
        Dtype::F16 => 0x3c00 + (small << 8),
        Dtype::BF16 => 0x3f80 + (small << 5),
        Dtype::F32 => 0x3f80_0000 + (small << 21),
        Dtype::F64 => 0x3ff0_0000_0000_0000 + (small << 50),
        _ => small,
    }
}

/// Arguments in the making.
struct Arguments {
    launch: Launch,
    memory: Memory,
    next: u64,
}

impl Arguments {
    fn tensor(&mut self, dtype: Dtype, shape: Vec<i64>) -> Option<TensorId> {
        let mut strides = vec![1i64; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis];
        }
        let elements = shape.iter().product::<i64>() as usize;
        let mut bytes = Bytes::zeroed(elements * dtype.bytes())?;
        for (i, to) in bytes.chunks_exact_mut(dtype.bytes()).enumerate() {
            to.copy_from_slice(&element(dtype, i as u64).to_le_bytes()[..dtype.bytes()]);
        }
        let index = self.launch.tensors.len() as u32;
        self.launch.tensors.push(Tensor {
            name: format!("tensor {index}"),
            dtype,
            shape,
            strides,
            offset: 0,
            role: Role::InOut,
            allocation: AllocationId(index),
            uninit: false,
            pointers: Vec::new(),
        });
        let base = self.next;
        self.next = (base + bytes.len() as u64).next_multiple_of(ALIGNMENT);
        self.memory.allocations.push(Allocation {
            name: format!("tensor {index}"),
            base,
            bytes,
            deferred: None,
            written: Vec::new(),
        });
        Some(TensorId(index))
    }

    fn argument(&mut self, ty: Type) -> Option<Argument> {
        Some(match ty {
            Type::Scalar(Elem::Ptr(pointer)) => {
                let dtype = match pointer.target() {
                    Elem::Scalar(scalar) => dtype(scalar),
                    Elem::Ptr(_) => Dtype::U64,
                };
                Argument::Tensor(self.tensor(dtype, vec![ELEMENTS])?)
            }
            Type::Scalar(Elem::Scalar(Scalar::I1)) => Argument::Scalar { bits: 1 },
            Type::Scalar(Elem::Scalar(scalar)) => Argument::Scalar {
                bits: if scalar.is_float() {
                    element(dtype(scalar), 0)
                } else {
                    64
                },
            },
            Type::Descriptor { block, elem, .. } => {
                let shape = block.dims().map(|d| (2 * d as i64 - 1).min(256)).collect();
                let tensor = self.tensor(dtype(elem), shape)?;
                let block_shape = block.dims().map(|d| d as i64).collect();
                Argument::Descriptor { tensor, block_shape }
            }
            _ => return None,
        })
    }
}

fn arguments(module: &Module, kernel: FuncId) -> Result<(Launch, Memory), String> {
    let function = &module.funcs[kernel];
    let mut made = Arguments {
        launch: Launch {
            name: "corpus".into(),
            kernel: function.name.to_string(),
            grid: [3, 1, 1],
            arguments: Vec::new(),
            tensors: Vec::new(),
            options: CompileOptions {
                num_warps: 4,
                num_stages: 1,
            },
        },
        memory: Memory::default(),
        next: FIRST_ADDRESS,
    };
    for &parameter in function.params() {
        let ty = function.ty(parameter);
        let argument = made
            .argument(ty)
            .ok_or_else(|| format!("no argument for a parameter of type {ty}"))?;
        made.launch.arguments.push(argument);
    }
    Ok((made.launch, made.memory))
}

/// Runs the first kernel of a file; what stopped it.
fn check(file: &Path, steps: u64) -> Result<(), String> {
    let content = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let source = Source::new(file.display().to_string(), content);
    let module = tilescope_ir::text::parse(&source).map_err(|error| error.to_string())?;
    if let Err(errors) = tilescope_ir::verify(&module) {
        return Err(errors.first().map_or(String::new(), ToString::to_string));
    }
    let Some((kernel, _)) = module.kernels().next() else {
        return Err("no kernel".into());
    };
    let (launch, mut memory) = arguments(&module, kernel)?;
    let options = Options {
        threads: Some(1),
        max_steps: steps,
        ..Options::default()
    };
    let prepared = Prepared::new(&module, kernel, &launch, options).map_err(|error| error.to_string())?;
    let cancel = AtomicBool::new(false);
    let control = Control {
        cancel: &cancel,
        progress: &|_| (),
    };
    let ran = prepared.run(&mut memory, &control);
    ran.map(|_| ()).map_err(|error| error.to_string())
}

fn main() {
    let (mut files, mut steps) = (Vec::new(), 1000);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match &word[..] {
            "--steps" => steps = words.next().and_then(|n| n.parse().ok()).unwrap_or(steps),
            folder => collect(Path::new(folder), &mut files),
        }
    }
    let mut ran = 0;
    let mut stopped: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in &files {
        let result = catch_unwind(AssertUnwindSafe(|| check(file, steps)));
        match result.unwrap_or_else(|_| Err("PANIC".into())) {
            Ok(()) => ran += 1,
            Err(why) => {
                let first = why.lines().next().unwrap_or_default();
                let place = format!("{}:", file.display());
                let what = first.strip_prefix(&place).unwrap_or(first);
                let what = what.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
                stopped
                    .entry(what.trim().to_string())
                    .or_default()
                    .push(file.clone());
            }
        }
    }
    println!("{ran} of {} kernels ran", files.len());
    for (why, files) in stopped {
        println!("{:6} {why}\n       {}", files.len(), files[0].display());
    }
}
