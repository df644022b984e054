//! Chains that run strip by strip give the bits of the same operations one after the other: for every number that a
//! float can be, any part of a tile, every type they read and write, and on every level of vector instructions.

use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::{Error, Result, Source};
use tilescope_interpreter::simd::{Cpu, CpuLevel};
use tilescope_interpreter::{Control, Lowering, Options, Prepared};
use tilescope_ir::VerifiedModule;
use tilescope_launch::{Files, LaunchFile, Memory, Overrides, Signature};

/// No file is read.
struct Nothing;

impl Files for Nothing {
    fn read(&self, path: &str, _: u64) -> Result<Vec<u8>> {
        Err(Error::input(path.to_string()))
    }
}

/// A kernel on rows of `LANES` lanes, of which the launch says how many are there: BODY has `%x` and `%w` of f32, the
/// mask `%live`, the numbers `%s` and `%zero`; it gives `%y` and `%z` of f32, which are stored, and the scalar `%r`.
const KERNEL: &str = "module {
tt.func public @k(%xp: !tt.ptr<DT>, %wp: !tt.ptr<f32>, %yp: !tt.ptr<DT>, %zp: !tt.ptr<f32>, %rp: !tt.ptr<f32>,
                  %n: i32, %s0: f32) {
  %pid = tt.get_program_id x : i32
  %cols = tt.make_range {end = LANES : i32, start = 0 : i32} : tensor<LANESxi32>
  %width = tt.splat %n : i32 -> tensor<LANESxi32>
  %live = arith.cmpi slt, %cols, %width : tensor<LANESxi32>
  %row = arith.muli %pid, %n : i32
  %rows = tt.splat %row : i32 -> tensor<LANESxi32>
  %at = arith.addi %rows, %cols : tensor<LANESxi32>
  %zero = arith.constant dense<0.000000e+00> : tensor<LANESxf32>
  %other = arith.constant dense<OTHER> : tensor<LANESxDT>
  %s = tt.splat %s0 : f32 -> tensor<LANESxf32>
  %xps = tt.splat %xp : !tt.ptr<DT> -> tensor<LANESx!tt.ptr<DT>>
  %xat = tt.addptr %xps, %at : tensor<LANESx!tt.ptr<DT>>, tensor<LANESxi32>
  %xn = tt.load %xat, %live, %other : tensor<LANESx!tt.ptr<DT>>
  %x = WIDEN
  %wps = tt.splat %wp : !tt.ptr<f32> -> tensor<LANESx!tt.ptr<f32>>
  %wat = tt.addptr %wps, %cols : tensor<LANESx!tt.ptr<f32>>, tensor<LANESxi32>
  %w = tt.load %wat, %live, %zero : tensor<LANESx!tt.ptr<f32>>
BODY
  %yn = NARROW
  %yps = tt.splat %yp : !tt.ptr<DT> -> tensor<LANESx!tt.ptr<DT>>
  %yat = tt.addptr %yps, %at : tensor<LANESx!tt.ptr<DT>>, tensor<LANESxi32>
  tt.store %yat, %yn, %live : tensor<LANESx!tt.ptr<DT>>
  %zps = tt.splat %zp : !tt.ptr<f32> -> tensor<LANESx!tt.ptr<f32>>
  %zat = tt.addptr %zps, %at : tensor<LANESx!tt.ptr<f32>>, tensor<LANESxi32>
  tt.store %zat, %z, %live : tensor<LANESx!tt.ptr<f32>>
  %rat = tt.addptr %rp, %pid : !tt.ptr<f32>, i32
  tt.store %rat, %r : !tt.ptr<f32>
  tt.return
}
}
";

/// Combines the lanes of `%of` to `%to`.
fn reduce(of: &str, to: &str, with: &str) -> String {
    format!(
        "  {to} = \"tt.reduce\"({of}) <{{axis = 0 : i32}}> ({{
  ^bb0(%a: f32, %b: f32):
    %c = arith.{with} %a, %b : f32
    tt.reduce.return %c : f32
  }}) : (tensor<LANESxf32>) -> f32\n"
    )
}

/// An operation on tiles.
fn op(text: &str) -> String {
    format!("  {text} : tensor<LANESxf32>\n")
}

fn bodies() -> Vec<String> {
    let splat = |from: &str, to: &str| format!("  {to} = tt.splat {from} : f32 -> tensor<LANESxf32>\n");
    let mut bodies = vec![
        // Norms: what is loaded is summed, what is left of it squared under a mask, and used again.
        op("%x0 = arith.addf %zero, %x")
            + &reduce("%x0", "%sum", "addf")
            + &splat("%sum", "%sums")
            + &op("%d0 = arith.subf %x, %sums")
            + "  %d = arith.select %live, %d0, %s : tensor<LANESxi1>, tensor<LANESxf32>\n"
            + &op("%d2 = arith.mulf %d, %d")
            + &reduce("%d2", "%r", "addf")
            + &op("%e = arith.mulf %d, %w")
            + &op("%y = arith.addf %e, %x")
            + &op("%z = arith.divf %s, %y"),
        // Softmax.
        reduce("%x", "%most", "maxnumf")
            + &splat("%most", "%mosts")
            + &op("%d = arith.subf %x, %mosts")
            + &op("%e = math.exp %d")
            + &reduce("%e", "%r", "addf")
            + &splat("%r", "%sums")
            + &op("%y = arith.divf %e, %sums")
            + &op("%z = arith.subf %s, %e"),
        // Signs of NaN, values that are kept past others, operands on both sides.
        op("%a0 = arith.mulf %x, %w")
            + &op("%b0 = arith.negf %a0")
            + &op("%c0 = math.absf %b0")
            + &op("%d0 = arith.subf %w, %c0")
            + &op("%e0 = arith.addf %a0, %a0")
            + &op("%f0 = arith.maxnumf %d0, %e0")
            + &op("%y = arith.addf %f0, %b0")
            + "  %z = arith.select %live, %y, %a0 : tensor<LANESxi1>, tensor<LANESxf32>\n"
            + &reduce("%z", "%r", "addf"),
        // Functions, of each other and beside what they were made of.
        op("%a0 = math.erf %x")
            + &op("%b0 = math.exp2 %a0")
            + &op("%c0 = math.exp %w")
            + &op("%d0 = math.erf %c0")
            + &op("%y = arith.mulf %b0, %d0")
            + &reduce("%y", "%r", "addf")
            + &op("%z = arith.addf %a0, %y"),
        // Nothing but copies.
        op("%y = arith.addf %x, %s") + &op("%z = arith.mulf %y, %s") + &reduce("%w", "%r", "minnumf"),
    ];
    for with in ["maxnumf", "minnumf", "maximumf", "minimumf"] {
        bodies.push(op("%y = arith.addf %x, %w") + &reduce("%y", "%r", with) + &op("%z = arith.mulf %y, %w"));
    }
    bodies
}

fn kernel(dtype: &str, lanes: usize, other: &str, body: &str) -> String {
    let (widen, narrow) = match dtype {
        "f32" => (
            "arith.addf %xn, %zero : tensor<LANESxf32>",
            "arith.addf %y, %zero : tensor<LANESxf32>",
        ),
        _ => (
            "arith.extf %xn : tensor<LANESxDT> to tensor<LANESxf32>",
            "arith.truncf %y : tensor<LANESxf32> to tensor<LANESxDT>",
        ),
    };
    KERNEL
        .replace("BODY", body)
        .replace("WIDEN", widen)
        .replace("NARROW", narrow)
        .replace("OTHER", other)
        .replace("LANES", &lanes.to_string())
        .replace("DT", dtype)
}

/// Numbers of all kinds: zeros, infinities and NaN of both signs, the smallest and largest, and others.
fn fill(memory: &mut Memory, seed: u64) {
    let mut state = seed;
    for (i, allocation) in memory.allocations.iter_mut().enumerate() {
        let narrow = allocation.name == "xp" && allocation.bytes.len().is_multiple_of(6);
        for bytes in allocation.bytes.chunks_exact_mut(4) {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407 + i as u64);
            let drawn = (state >> 33) as u32;
            let ordinary = ((drawn >> 8) as f32 / (1 << 22) as f32 - 2.0).to_bits();
            let wide = match drawn % 41 {
                0 => 0,
                1 => 0x8000_0000,
                2 => 0x7f80_0000,
                3 => 0xff80_0000,
                4 => 0x7fc0_0001 | drawn & 0xff00,
                5 => 0xff80_0100,
                6 => drawn & 0x807f_ffff,
                7 => 0x7f7f_ffff,
                _ => ordinary,
            };
            let bits = if narrow { drawn ^ wide } else { wide };
            bytes.copy_from_slice(&bits.to_le_bytes());
        }
    }
}

fn run(text: &str, launch: &str, seed: u64, options: Options) -> Vec<String> {
    run_on(text, launch, options, &|memory| fill(memory, seed))
}

fn run_on(text: &str, launch: &str, options: Options, fill: &dyn Fn(&mut Memory)) -> Vec<String> {
    let module = tilescope_ir::text::parse(&Source::new("k.ttir", text)).expect("TTIR");
    let module = VerifiedModule::new(module).expect("verified");
    let file = LaunchFile::parse(Source::new("k.launch.toml", launch)).expect("a launch file");
    let function = file.find_kernel(0, &module).expect("a kernel");
    let evaluated = file.evaluate(&Overrides::default()).expect("evaluated");
    let bound = evaluated
        .bind(&[Signature::of(&module, function)])
        .expect("bound");
    let mut memory = bound.allocate(&Nothing, u64::MAX).expect("allocated");
    fill(&mut memory);
    let prepared = Prepared::new(&module, function, &bound.launches[0], options).expect("prepared");
    if options.lowering == Lowering::Fast {
        let listing = prepared.listing();
        let strips = options.cpu.level() > CpuLevel::Scalar;
        assert_eq!(listing.contains("strip by strip"), strips, "{text}\n{listing}");
    }
    let cancel = AtomicBool::new(false);
    let control = Control {
        cancel: &cancel,
        progress: &|_| {},
    };
    let outcome = prepared.run(&mut memory, &control).expect("run");
    let mut left: Vec<String> = outcome
        .findings
        .iter()
        .map(|finding| format!("{finding:?}"))
        .collect();
    left.extend(
        memory
            .allocations
            .iter()
            .map(|a| format!("{} {:x?}", a.name, &a.bytes[..])),
    );
    left
}

#[test]
fn strips_give_the_bits_of_single_operations() {
    for (i, body) in bodies().iter().enumerate() {
        for (j, (lanes, columns)) in [
            (128, 128),
            (256, 200),
            (512, 97),
            (1024, 1000),
            (256, 1),
            (1024, 781),
        ]
        .into_iter()
        .enumerate()
        {
            for (dtype, other) in [("f32", "0xFF800000"), ("f16", "-1.0"), ("bf16", "0.0")] {
                let text = kernel(dtype, lanes, other, body);
                let launch = format!(
                    "kernel = \"k.ttir\"\ngrid = [3]\n[args]\n\
                     xp = {{ dtype = \"{dtype}\", shape = [3, {columns}], role = \"in\" }}\n\
                     wp = {{ dtype = \"f32\", shape = [{columns}], role = \"in\" }}\n\
                     yp = {{ dtype = \"{dtype}\", shape = [3, {columns}], role = \"out\" }}\n\
                     zp = {{ dtype = \"f32\", shape = [3, {columns}], role = \"out\" }}\n\
                     rp = {{ dtype = \"f32\", shape = [3], role = \"out\" }}\n\
                     n = {columns}\ns0 = 1.5\n"
                );
                let seed = (i * 10 + j) as u64;
                let options = Options {
                    threads: Some(1),
                    ..Options::default()
                };
                let stepping = Options {
                    lowering: Lowering::Stepping,
                    cpu: Cpu::SCALAR,
                    ..options
                };
                let want = run(&text, &launch, seed, stepping);
                for cpu in CpuLevel::ALL.into_iter().filter_map(Cpu::at) {
                    let got = run(&text, &launch, seed, Options { cpu, ..options });
                    assert!(got == want, "{text}\n{launch}\non {}", cpu.level());
                }
            }
        }
    }
}

/// What a kernel is lowered to.
fn listing(text: &str, launch: &str) -> String {
    let module = tilescope_ir::text::parse(&Source::new("k.ttir", text)).expect("TTIR");
    let module = VerifiedModule::new(module).expect("verified");
    let file = LaunchFile::parse(Source::new("k.launch.toml", launch)).expect("a launch file");
    let function = file.find_kernel(0, &module).expect("a kernel");
    let signature = [Signature::of(&module, function)];
    let bound = file.bind(&signature, &Overrides::default()).expect("bound");
    let prepared = Prepared::new(&module, function, &bound.launches[0], Options::default());
    prepared.expect("prepared").listing()
}

/// Rows that are normalised where they are: what is stored in one pass was read in those before. A pass that reads it again behind
/// a store, or more than a line has room for, makes lines of its own.
#[test]
fn passes_over_a_row_give_the_bits_of_single_operations() {
    let splat = |from: &str, to: &str| format!("  {to} = tt.splat {from} : f32 -> tensor<LANESxf32>\n");
    let softmax = reduce("%x", "%most", "maximumf")
        + &splat("%most", "%mosts")
        + &op("%d = arith.subf %x, %mosts")
        + &op("%e = math.exp %d")
        + &reduce("%e", "%r", "addf")
        + &splat("%r", "%sums")
        + &op("%y = arith.divf %e, %sums");
    // Five folds and as many passes: one more than there is room for.
    let mut many = splat("%s0", "%t0");
    for i in 0..5 {
        let next = i + 1;
        many += &op(&format!("%v{i} = arith.subf %x, %t{i}"));
        many += &reduce(&format!("%v{i}"), &format!("%f{i}"), ["addf", "maxnumf"][i % 2]);
        many += &splat(&format!("%f{i}"), &format!("%t{next}"));
    }
    many += &op("%y = arith.addf %v1, %t5");
    many += "  %r = arith.addf %f3, %f4 : f32\n";
    let cases = [
        (softmax.clone() + &op("%z = arith.mulf %y, %w"), "in 3 passes"),
        // What is stored last was read and used before: from the tensor, and as a tile.
        (softmax + &op("%z = arith.subf %e, %x"), "in 3 passes"),
        (many + &op("%z = arith.mulf %v0, %w"), "passes"),
    ];
    for (i, (body, passes)) in cases.iter().enumerate() {
        for (j, (lanes, columns)) in [(128, 128), (1024, 781), (256, 3), (512, 300)]
            .into_iter()
            .enumerate()
        {
            for in_place in [false, true] {
                for dtype in ["f32", "f16"] {
                    let mut text = kernel(dtype, lanes, "0xFF800000", body).replace(
                        "0xFF800000>",
                        match dtype {
                            "f32" => "0xFF800000>",
                            _ => "0xFC00>",
                        },
                    );
                    if in_place {
                        text = text.replace("tt.splat %yp :", "tt.splat %xp :");
                    }
                    let (of_x, of_y) = if in_place { ("inout", "in") } else { ("in", "out") };
                    let launch = format!(
                        "kernel = \"k.ttir\"\ngrid = [3]\n[args]\n\
                         xp = {{ dtype = \"{dtype}\", shape = [3, {columns}], role = \"{of_x}\" }}\n\
                         wp = {{ dtype = \"f32\", shape = [{columns}], role = \"in\" }}\n\
                         yp = {{ dtype = \"{dtype}\", shape = [3, {columns}], role = \"{of_y}\" }}\n\
                         zp = {{ dtype = \"f32\", shape = [3, {columns}], role = \"out\" }}\n\
                         rp = {{ dtype = \"f32\", shape = [3], role = \"out\" }}\n\
                         n = {columns}\ns0 = 1.5\n"
                    );
                    let options = Options {
                        threads: Some(1),
                        ..Options::default()
                    };
                    let stepping = Options {
                        lowering: Lowering::Stepping,
                        cpu: Cpu::SCALAR,
                        ..options
                    };
                    if Cpu::detect().level() > CpuLevel::Scalar {
                        let listing = listing(&text, &launch);
                        assert!(listing.contains(passes), "{text}\n{listing}");
                    }
                    let seed = (i * 10 + j) as u64;
                    let want = run(&text, &launch, seed, stepping);
                    for cpu in CpuLevel::ALL.into_iter().filter_map(Cpu::at) {
                        let got = run(&text, &launch, seed, Options { cpu, ..options });
                        assert!(got == want, "{text}\n{launch}\non {}", cpu.level());
                    }
                }
            }
        }
    }
}

/// The greatest and the least of rows of numbers, of zeros of both signs, of infinities, and of NaN, quiet and signalling: mostly one
/// instruction per vector, which tells neither zeros apart nor rows of NaN from those of infinities.
#[test]
fn extremes_of_all_kinds_of_rows_have_the_bits_of_single_operations() {
    const QUIET: u32 = 0x7fc0_0001;
    const SIGNALLING: u32 = 0xff80_0100;
    let (zero, below) = (0u32, 0x8000_0000u32);
    let (one, minus, infinity) = (0x3f80_0000u32, 0xbf80_0000u32, 0x7f80_0000u32);
    let rows: [&[u32]; 10] = [
        &[one, minus, 0x4049_0fdb, 0xc2f6_e979],
        &[one, minus, QUIET, SIGNALLING],
        &[below, minus, SIGNALLING, minus],
        &[zero, below, minus, QUIET],
        &[zero, below, one, SIGNALLING],
        &[below],
        &[zero, below],
        &[QUIET, SIGNALLING],
        &[infinity | below, QUIET],
        &[infinity, SIGNALLING],
    ];
    for with in ["maxnumf", "minnumf", "maximumf", "minimumf"] {
        let splat = "  %rs = tt.splat %r : f32 -> tensor<LANESxf32>\n";
        let body =
            reduce("%x", "%r", with) + splat + &op("%y = arith.subf %x, %rs") + &op("%z = arith.mulf %y, %w");
        for (lanes, columns) in [(128, 128), (512, 300), (1024, 781), (256, 3)] {
            for other in ["0xFF800000", "0x7F800000", "-0.0"] {
                let text = kernel("f32", lanes, other, &body);
                let count = rows.len();
                let launch = format!(
                    "kernel = \"k.ttir\"\ngrid = [{count}]\n[args]\n\
                     xp = {{ dtype = \"f32\", shape = [{count}, {columns}], role = \"in\" }}\n\
                     wp = {{ dtype = \"f32\", shape = [{columns}], role = \"in\" }}\n\
                     yp = {{ dtype = \"f32\", shape = [{count}, {columns}], role = \"out\" }}\n\
                     zp = {{ dtype = \"f32\", shape = [{count}, {columns}], role = \"out\" }}\n\
                     rp = {{ dtype = \"f32\", shape = [{count}], role = \"out\" }}\n\
                     n = {columns}\ns0 = 1.5\n"
                );
                let fill = |memory: &mut Memory| {
                    let bytes = &mut memory.allocations[0].bytes[..];
                    for (i, element) in bytes.chunks_exact_mut(4).enumerate() {
                        let (row, column) = (i / columns, i % columns);
                        let kinds = rows[row];
                        element.copy_from_slice(&kinds[column * 7 % 11 % kinds.len()].to_le_bytes());
                    }
                };
                let options = Options {
                    threads: Some(1),
                    ..Options::default()
                };
                let stepping = Options {
                    lowering: Lowering::Stepping,
                    cpu: Cpu::SCALAR,
                    ..options
                };
                let want = run_on(&text, &launch, stepping, &fill);
                for cpu in CpuLevel::ALL.into_iter().filter_map(Cpu::at) {
                    let got = run_on(&text, &launch, Options { cpu, ..options }, &fill);
                    assert!(got == want, "{text}\n{launch}\non {}", cpu.level());
                }
            }
        }
    }
}
