//! Neighbouring programs that run as one stretch leave the bytes and findings that they leave one by one: whatever goes
//! wrong in one of them is found there.

use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::Source;
use tilescope_interpreter::{Control, Lowering, Options, Prepared, tape};
use tilescope_ir::VerifiedModule;
use tilescope_launch::{LaunchFile, NoFiles, Overrides, Signature};

/// `z[at] = x[at] + y[from]` of 128 lanes, under a mask.
const KERNEL: &str = "module {
tt.func public @k(%xp: !tt.ptr<f32>, %yp: !tt.ptr<f32>, %zp: !tt.ptr<f32>, %n: i32) {
  %pid = tt.get_program_id x : i32
  %row = tt.get_program_id y : i32
  %lanes = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %c100 = arith.constant 100 : i32
  %c128 = arith.constant 128 : i32
  %c200 = arith.constant 200 : i32
  %width = arith.constant WIDTH : i32
  %first = arith.muli %pid, %c128 : i32
  %start0 = arith.muli %row, %width : i32
  %start1 = START : i32
  %start = arith.addi %start0, %start1 : i32
  %starts = tt.splat %start : i32 -> tensor<128xi32>
  %at = arith.addi %starts, %lanes : tensor<128xi32>
  %from0 = FROM : i32
  %froms = tt.splat %from0 : i32 -> tensor<128xi32>
  %from1 = arith.addi %froms, %lanes : tensor<128xi32>
  %again = arith.constant dense<AGAIN> : tensor<128xi32>
  %from = arith.remsi %from1, %again : tensor<128xi32>
  %ns = tt.splat %n : i32 -> tensor<128xi32>
  %live = arith.cmpi slt, %at, %ns : tensor<128xi32>
  %xs = tt.splat %xp : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %xat = tt.addptr %xs, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %x = tt.load %xat, %live : tensor<128x!tt.ptr<f32>>
  %ys = tt.splat %yp : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %yat = tt.addptr %ys, %from : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %y = tt.load %yat, %live : tensor<128x!tt.ptr<f32>>
  %z = arith.addf %x, %y : tensor<128xf32>
  %zs = tt.splat %zp : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %zat = tt.addptr %zs, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  tt.store %zat, %z, %live : tensor<128x!tt.ptr<f32>>
  tt.return
}
}
";

/// What a case changes.
struct Case {
    grid: &'static str,
    /// Elements of each tensor, and the bound of the mask.
    len: usize,
    n: usize,
    /// Where a program of the second axis starts, one of the first axis, and where it reads `y`.
    width: usize,
    start: &'static str,
    from: &'static str,
    /// Elements of `y` that are read again and again.
    again: usize,
    /// Element of `x` that is no number.
    nan: Option<usize>,
    /// The second tensor, and whether the third is the first.
    in_place: bool,
    /// Births are to be told from the beginning.
    births: bool,
    /// Ids of what is found.
    found: &'static [&'static str],
}

const PLAIN: Case = Case {
    grid: "[40]",
    len: 5120,
    n: 5120,
    width: 0,
    start: "arith.muli %pid, %c128",
    from: "arith.muli %pid, %c128",
    again: 1 << 20,
    nan: None,
    in_place: false,
    births: false,
    found: &[],
};

fn run(case: &Case, options: Options) -> (bool, Vec<String>, Vec<u8>) {
    let text = KERNEL
        .replace("WIDTH", &case.width.to_string())
        .replace("START", case.start)
        .replace("FROM", case.from)
        .replace("AGAIN", &case.again.to_string());
    let z = match case.in_place {
        true => "zp = { view_of = \"xp\", role = \"inout\" }".to_string(),
        false => format!(
            "zp = {{ dtype = \"f32\", shape = [{}], role = \"out\" }}",
            case.len
        ),
    };
    let role = if case.in_place { "inout" } else { "in" };
    let launch = format!(
        "kernel = \"k.ttir\"\ngrid = {}\n[args]\n\
         xp = {{ dtype = \"f32\", shape = [{len}], role = \"{role}\" }}\n\
         yp = {{ dtype = \"f32\", shape = [{len}], role = \"in\" }}\n{z}\nn = {}\n",
        case.grid,
        case.n,
        len = case.len
    );
    let module = tilescope_ir::text::parse(&Source::new("k.ttir", text)).expect("TTIR");
    let module = VerifiedModule::new(module).expect("verified");
    let file = LaunchFile::parse(Source::new("k.launch.toml", launch)).expect("a launch file");
    let function = file.find_kernel(0, &module).expect("a kernel");
    let bound = file
        .bind(&[Signature::of(&module, function)], &Overrides::default())
        .expect("bound");
    let mut memory = bound.allocate(&NoFiles, u64::MAX).expect("allocated");
    for (i, allocation) in memory.allocations.iter_mut().take(2).enumerate() {
        for (j, bytes) in allocation.bytes.chunks_exact_mut(4).enumerate() {
            let number = match case.nan {
                Some(at) if i == 0 && j == at => f32::INFINITY,
                Some(at) if i == 1 && j == at => f32::NEG_INFINITY,
                _ => (j * (i + 3) % 97) as f32,
            };
            bytes.copy_from_slice(&number.to_le_bytes());
        }
    }
    let stretches = tape(&module, function, &bound.launches[0], options)
        .expect("a tape")
        .stretch
        .is_some();
    let prepared = Prepared::new(&module, function, &bound.launches[0], options).expect("prepared");
    let cancel = AtomicBool::new(false);
    let control = Control {
        cancel: &cancel,
        progress: &|_| {},
    };
    let outcome = prepared.run(&mut memory, &control).expect("run");
    let found = outcome.findings.iter().map(|f| format!("{f:?}")).collect();
    let ids: Vec<&str> = outcome.findings.iter().map(|f| f.check.id()).collect();
    assert_eq!(ids, case.found, "{:?}", outcome.findings);
    assert_eq!(outcome.asks_for_births(), case.births);
    let bytes = memory.allocations.iter().flat_map(|a| a.bytes.to_vec()).collect();
    (stretches, found, bytes)
}

#[test]
fn what_one_program_does_wrong_is_found_in_it() {
    let cases = [
        PLAIN,
        Case {
            n: 5000,
            len: 5000,
            ..PLAIN
        },
        Case {
            nan: Some(17 * 128 + 5),
            found: &["nan-born"],
            ..PLAIN
        },
        Case {
            in_place: true,
            ..PLAIN
        },
        Case {
            in_place: true,
            nan: Some(17 * 128 + 5),
            births: true,
            ..PLAIN
        },
        // Enough of them for several workers, the last cut off.
        Case {
            grid: "[1200]",
            len: 153500,
            n: 153500,
            nan: Some(1117 * 128 + 5),
            found: &["nan-born"],
            ..PLAIN
        },
        // All read the same row of `y`, or one that goes the other way.
        Case {
            from: "arith.addi %row, %row",
            ..PLAIN
        },
        Case {
            from: "arith.subi %n, %first",
            n: 4992,
            found: &["unwritten-output"],
            ..PLAIN
        },
        // Rows of four, and of five blocks, which all programs read.
        Case { again: 512, ..PLAIN },
        Case { again: 640, ..PLAIN },
        // The last programs are outside.
        Case {
            n: 5120,
            len: 5000,
            found: &["oob-load", "oob-load", "oob-store"],
            ..PLAIN
        },
        // Neighbours have lanes in common, or leave some out.
        Case {
            start: "arith.muli %pid, %c100",
            found: &["race-write-write", "unwritten-output"],
            ..PLAIN
        },
        Case {
            start: "arith.muli %pid, %c200",
            len: 8000,
            n: 8000,
            found: &["unwritten-output"],
            ..PLAIN
        },
        // Rows of programs, apart and not.
        Case {
            grid: "[8, 5]",
            width: 1024,
            ..PLAIN
        },
        Case {
            grid: "[8, 5]",
            width: 960,
            found: &["race-write-write", "unwritten-output"],
            ..PLAIN
        },
    ];
    for (i, case) in cases.into_iter().enumerate() {
        for threads in [1, 3] {
            let options = Options {
                threads: Some(threads),
                ..Options::default()
            };
            let (fast, found, bytes) = run(&case, options);
            assert!(fast, "{i}: no stretch");
            let stepping = Options {
                lowering: Lowering::Stepping,
                ..options
            };
            let (slow, want, want_bytes) = run(&case, stepping);
            assert!(!slow && found == want, "{i}: {found:#?}\n{want:#?}");
            // What programs that race leave is any one's.
            let races = case.found.contains(&"race-write-write");
            assert!(bytes == want_bytes || races && threads > 1, "{i} on {threads}");
        }
    }
}
