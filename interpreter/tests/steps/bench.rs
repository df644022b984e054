//! A kernel of one program around a few operations: tiles in, tiles out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::{Check, Error, Finding, Source};
use tilescope_interpreter::{Control, Options, Prepared};
use tilescope_launch::{
    Allocation, AllocationId, Argument, Bytes, CompileOptions, Dtype, FIRST_ADDRESS, Launch, Memory, Role,
    Tensor, TensorId,
};

/// A tile: element type as TTIR spells it, shape (none for a scalar), lanes as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile {
    pub elem: &'static str,
    pub shape: Option<Vec<usize>>,
    pub bits: Vec<u64>,
}

impl Tile {
    pub fn new(elem: &'static str, shape: &[usize], bits: impl IntoIterator<Item = u64>) -> Tile {
        let bits: Vec<u64> = bits.into_iter().collect();
        assert_eq!(bits.len(), shape.iter().product::<usize>(), "lanes of {shape:?}");
        Tile {
            elem,
            shape: Some(shape.to_vec()),
            bits,
        }
    }

    pub fn f32(shape: &[usize], values: impl IntoIterator<Item = f32>) -> Tile {
        Tile::new("f32", shape, values.into_iter().map(|x| u64::from(x.to_bits())))
    }

    pub fn i32(shape: &[usize], values: impl IntoIterator<Item = i32>) -> Tile {
        Tile::new("i32", shape, values.into_iter().map(|x| u64::from(x as u32)))
    }

    pub fn as_f32(&self) -> Vec<f32> {
        self.bits.iter().map(|&b| f32::from_bits(b as u32)).collect()
    }
}

/// What is wanted of a result: element type and shape (none for a scalar).
pub type Wanted<'a> = (&'static str, Option<&'a [usize]>);

/// What a run gave.
#[derive(Debug)]
pub struct Ran {
    pub outs: Vec<Tile>,
    pub findings: Vec<Finding>,
}

/// The text of a type.
pub fn ty(elem: &str, shape: Option<&[usize]>) -> String {
    match shape {
        None => elem.to_string(),
        Some(shape) => {
            let dims: String = shape.iter().map(|d| format!("{d}x")).collect();
            format!("tensor<{dims}{elem}>")
        }
    }
}

fn dtype(elem: &str) -> Dtype {
    match elem {
        "i1" => Dtype::I1,
        "i8" => Dtype::I8,
        "i16" => Dtype::I16,
        "i32" => Dtype::I32,
        "i64" => Dtype::I64,
        "f16" => Dtype::F16,
        "bf16" => Dtype::BF16,
        "f32" => Dtype::F32,
        "f64" => Dtype::F64,
        "f8E4M3FN" => Dtype::F8E4M3,
        "f8E5M2" => Dtype::F8E5M2,
        _ => Dtype::U8,
    }
}

fn kernel(ins: &[Tile], outs: &[Wanted<'_>], body: &str) -> String {
    let mut params: Vec<String> = Vec::new();
    let mut before = String::new();
    for (i, tile) in ins.iter().enumerate() {
        let elem = tile.elem;
        params.push(format!("%p{i}: !tt.ptr<{elem}>"));
        match &tile.shape {
            None => before += &format!("%in{i} = tt.load %p{i} : !tt.ptr<{elem}>\n"),
            Some(shape) => {
                let (n, to) = (tile.bits.len(), ty(elem, Some(shape)));
                before += &format!(
                    "%r{i} = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32>
                     %s{i} = tt.splat %p{i} : !tt.ptr<{elem}> -> tensor<{n}x!tt.ptr<{elem}>>
                     %a{i} = tt.addptr %s{i}, %r{i} : tensor<{n}x!tt.ptr<{elem}>>, tensor<{n}xi32>
                     %l{i} = tt.load %a{i} : tensor<{n}x!tt.ptr<{elem}>>
                     %in{i} = tt.reshape %l{i} : tensor<{n}x{elem}> -> {to}\n"
                );
            }
        }
    }
    let mut after = String::new();
    for (i, (elem, shape)) in outs.iter().enumerate() {
        params.push(format!("%q{i}: !tt.ptr<{elem}>"));
        match shape {
            None => after += &format!("tt.store %q{i}, %out{i} : !tt.ptr<{elem}>\n"),
            Some(shape) => {
                let (n, from): (usize, _) = (shape.iter().product(), ty(elem, Some(shape)));
                after += &format!(
                    "%qr{i} = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32>
                     %qs{i} = tt.splat %q{i} : !tt.ptr<{elem}> -> tensor<{n}x!tt.ptr<{elem}>>
                     %qa{i} = tt.addptr %qs{i}, %qr{i} : tensor<{n}x!tt.ptr<{elem}>>, tensor<{n}xi32>
                     %ql{i} = tt.reshape %out{i} : {from} -> tensor<{n}x{elem}>
                     tt.store %qa{i}, %ql{i} : tensor<{n}x!tt.ptr<{elem}>>\n"
                );
            }
        }
    }
    let params = params.join(", ");
    format!("module {{\ntt.func public @k({params}) {{\n{before}{body}\n{after}tt.return\n}}\n}}\n")
}

/// Runs operations on `%in0`, `%in1`, …; they define `%out0`, `%out1`, ….
pub fn try_run(ins: &[Tile], outs: &[Wanted<'_>], body: &str) -> Result<Ran, Box<Error>> {
    try_run_with(ins, outs, body, "")
}

/// As [`try_run`], with functions beside the kernel.
pub fn try_run_with(
    ins: &[Tile],
    outs: &[Wanted<'_>],
    body: &str,
    functions: &str,
) -> Result<Ran, Box<Error>> {
    let text = kernel(ins, outs, body).replacen("module {", &format!("module {{\n{functions}"), 1);
    let source = Arc::new(Source::new("k.ttir", text));
    let module = tilescope_ir::text::parse(&source)?;
    if let Err(errors) = tilescope_ir::verify(&module) {
        panic!("{errors:?}\n{}", source.text);
    }
    let mut tensors = Vec::new();
    let mut memory = Memory::default();
    let sizes = ins.iter().map(|tile| (tile.elem, tile.bits.len(), Role::In));
    let wanted = outs
        .iter()
        .map(|(elem, shape)| (*elem, shape.map_or(1, |s| s.iter().product()), Role::Out));
    for (i, (elem, lanes, role)) in sizes.chain(wanted).enumerate() {
        let width = dtype(elem).bytes();
        let mut bytes = Bytes::zeroed(lanes * width).expect("memory");
        if let Some(tile) = ins.get(i) {
            for (to, bits) in bytes.chunks_exact_mut(width).zip(&tile.bits) {
                to.copy_from_slice(&bits.to_le_bytes()[..width]);
            }
        }
        memory.allocations.push(Allocation {
            name: format!("t{i}"),
            base: FIRST_ADDRESS + i as u64 * (1 << 24),
            bytes,
            deferred: None,
            written: Vec::new(),
        });
        tensors.push(Tensor {
            name: format!("t{i}"),
            dtype: dtype(elem),
            shape: vec![lanes as i64],
            strides: vec![1],
            offset: 0,
            role,
            allocation: AllocationId(i as u32),
            uninit: false,
            pointers: Vec::new(),
        });
    }
    let launch = Launch {
        name: "bench".into(),
        kernel: "k".into(),
        grid: [1, 1, 1],
        arguments: (0..tensors.len())
            .map(|i| Argument::Tensor(TensorId(i as u32)))
            .collect(),
        tensors,
        options: CompileOptions {
            num_warps: 4,
            num_stages: 2,
        },
    };
    let kernel = module.find("k").expect("the kernel");
    let options = Options {
        threads: Some(1),
        ..Options::default()
    };
    let prepared = Prepared::new(&module, kernel, &launch, options)?;
    let control = Control {
        cancel: &AtomicBool::new(false),
        progress: &|_| {},
    };
    let outcome = prepared.run(&mut memory, &control)?;
    let results = outs
        .iter()
        .zip(&memory.allocations[ins.len()..])
        .map(|((elem, shape), allocation)| {
            let width = dtype(elem).bytes();
            let bits = allocation.bytes.chunks_exact(width).map(|lane| {
                let mut bytes = [0; 8];
                bytes[..width].copy_from_slice(lane);
                u64::from_le_bytes(bytes)
            });
            Tile {
                elem,
                shape: shape.map(<[usize]>::to_vec),
                bits: bits.collect(),
            }
        });
    Ok(Ran {
        outs: results.collect(),
        findings: outcome.findings,
    })
}

/// As [`try_run`], where nothing must be wrong; NaN and infinities are among what is asked for.
pub fn run(ins: &[Tile], outs: &[Wanted<'_>], body: &str) -> Vec<Tile> {
    let ran = try_run(ins, outs, body).unwrap_or_else(|error| panic!("{error:?}"));
    let is_number = |finding: &&Finding| matches!(finding.check, Check::NanBorn | Check::InfBorn);
    let wrong: Vec<_> = ran.findings.iter().filter(|f| !is_number(f)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    ran.outs
}

/// A simple generator of well-mixed bits.
pub fn noise(seed: u64, lanes: usize) -> Vec<u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    (0..lanes).map(|_| next()).collect()
}

/// Numbers between -4 and 4, as f32.
pub fn numbers(seed: u64, lanes: usize) -> Vec<f32> {
    noise(seed, lanes)
        .into_iter()
        .map(|b| (b >> 40) as f32 / (1 << 21) as f32 - 4.0)
        .collect()
}
