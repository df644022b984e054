//! Turns of a loop that are done at once, and programs of several passes that are, leave the bytes and findings that they
//! leave one by one: whatever goes wrong in one of them is found there.

use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::Source;
use tilescope_interpreter::simd::{Cpu, CpuLevel};
use tilescope_interpreter::{Control, Lowering, Options, Prepared, tape};
use tilescope_ir::VerifiedModule;
use tilescope_launch::{LaunchFile, NoFiles, Overrides, Signature};

/// Rows of `x` to rows of `y`, of which `n` lanes are there: LOOP begins a loop over `%row`, or gives it.
const KERNEL: &str = "module {
tt.func public @k(%xp: !tt.ptr<f32>, %yp: !tt.ptr<f32>, %rows: i32, %n: i32, %stride: i32, %shift: i32) {
  %pid = tt.get_program_id x : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c100 = arith.constant 100 : i32
  %count = tt.get_num_programs x : i32
  %first = arith.muli %pid, %c100 : i32
  %end = arith.addi %first, %c100 : i32
  %lanes = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %width = tt.splat %n : i32 -> tensor<256xi32>
  %least = arith.constant dense<0xFF800000> : tensor<256xf32>
  LOOP
    %start = arith.muli %row, %stride : i32
    %starts = tt.splat %start : i32 -> tensor<256xi32>
    %at = arith.addi %starts, %lanes : tensor<256xi32>
    %to0 = tt.splat %shift : i32 -> tensor<256xi32>
    %to = arith.addi %at, %to0 : tensor<256xi32>
    %live = arith.cmpi slt, LIVE, %width : tensor<256xi32>
    %xs = tt.splat %xp : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %xat = tt.addptr %xs, %at : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    %x = tt.load %xat, %live, %least : tensor<256x!tt.ptr<f32>>
BODY
    %ys = tt.splat %yp : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %yat = tt.addptr %ys, %to : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    tt.store %yat, %y, %live : tensor<256x!tt.ptr<f32>>
  CLOSE
  tt.return
}
}
";

/// Whole rows of whole tiles, as one.
const SCALE: &str = "    %y = arith.mulf %x, %x : tensor<256xf32>\n";

/// Three passes, with numbers between them.
const SOFTMAX: &str = "    %most = \"tt.reduce\"(%x) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<256xf32>) -> f32
    %mosts = tt.splat %most : f32 -> tensor<256xf32>
    %d = arith.subf %x, %mosts : tensor<256xf32>
    %e = math.exp %d : tensor<256xf32>
    %sum = \"tt.reduce\"(%e) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<256xf32>) -> f32
    %sums = tt.splat %sum : f32 -> tensor<256xf32>
    %y = arith.divf %e, %sums : tensor<256xf32>\n";

/// What a case changes.
struct Case {
    body: &'static str,
    grid: usize,
    /// The loop: from, to, step; none for one row per program.
    range: Option<[&'static str; 3]>,
    /// What is below `n` in lanes that are there.
    live: &'static str,
    /// Rows there are, and rows there are to do.
    rows: usize,
    todo: usize,
    /// Lanes that are there, from row to row, and from what is read to what is written.
    n: usize,
    stride: usize,
    shift: usize,
    in_place: bool,
    /// An element that is no number.
    nan: Option<usize>,
    max_steps: u64,
    /// What is done at once.
    at_once: AtOnce,
    /// Ids of what is found.
    found: &'static [&'static str],
}

const PLAIN: Case = Case {
    body: SOFTMAX,
    grid: 3,
    range: Some(["%pid", "%rows", "%count"]),
    live: "%lanes",
    rows: 500,
    todo: 500,
    n: 201,
    stride: 201,
    shift: 0,
    in_place: false,
    nan: None,
    max_steps: u64::MAX,
    at_once: AtOnce::Turns,
    found: &[],
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AtOnce {
    Turns,
    Programs,
    /// What a program reads, it may have written: with instructions that look for that between.
    Nothing,
}

struct Ran {
    listing: String,
    stretches: bool,
    found: Vec<String>,
    births: bool,
    bytes: Vec<u8>,
}

fn run(case: &Case, options: Options) -> Ran {
    let (begin, close) = match case.range {
        Some([from, to, by]) => (format!("scf.for %row = {from} to {to} step {by} : i32 {{"), "}"),
        None => ("%row = arith.addi %pid, %c0 : i32".to_string(), ""),
    };
    let text = KERNEL
        .replace("LOOP", &begin)
        .replace("LIVE", case.live)
        .replace("BODY\n", case.body)
        .replace("CLOSE", close);
    let len = case.rows * case.stride + case.shift;
    let (of_x, y) = match case.in_place {
        true => ("inout", "{ view_of = \"xp\", role = \"inout\" }".to_string()),
        false => (
            "in",
            format!("{{ dtype = \"f32\", shape = [{len}], role = \"out\" }}"),
        ),
    };
    let launch = format!(
        "kernel = \"k.ttir\"\ngrid = [{}]\n[args]\n\
         xp = {{ dtype = \"f32\", shape = [{len}], role = \"{of_x}\" }}\nyp = {y}\n\
         rows = {}\nn = {}\nstride = {}\nshift = {}\n",
        case.grid, case.todo, case.n, case.stride, case.shift
    );
    let module = tilescope_ir::text::parse(&Source::new("k.ttir", text)).expect("TTIR");
    let module = VerifiedModule::new(module).expect("verified");
    let file = LaunchFile::parse(Source::new("k.launch.toml", launch)).expect("a launch file");
    let function = file.find_kernel(0, &module).expect("a kernel");
    let bound = file
        .bind(&[Signature::of(&module, function)], &Overrides::default())
        .expect("bound");
    let mut memory = bound.allocate(&NoFiles, u64::MAX).expect("allocated");
    for (i, bytes) in memory.allocations[0].bytes.chunks_exact_mut(4).enumerate() {
        let number = match case.nan {
            Some(at) if i == at => f32::NAN,
            _ => (i * 7 % 97) as f32 / 8.0,
        };
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    let tape = tape(&module, function, &bound.launches[0], options).expect("a tape");
    let names = tape.code.insts.iter().map(|inst| inst.step.name());
    let listing = names.collect::<Vec<_>>().join("\n");
    let prepared = Prepared::new(&module, function, &bound.launches[0], options).expect("prepared");
    let cancel = AtomicBool::new(false);
    let control = Control {
        cancel: &cancel,
        progress: &|_| {},
    };
    let outcome = prepared.run(&mut memory, &control).expect("run");
    let ids: Vec<&str> = outcome.findings.iter().map(|f| f.check.id()).collect();
    assert_eq!(ids, case.found, "{:#?}", outcome.findings);
    Ran {
        listing,
        stretches: tape.stretch.is_some(),
        found: outcome.findings.iter().map(|f| format!("{f:?}")).collect(),
        births: outcome.asks_for_births(),
        bytes: memory.allocations.iter().flat_map(|a| a.bytes.to_vec()).collect(),
    }
}

#[test]
fn what_one_turn_does_wrong_is_found_in_it() {
    let whole = Case {
        body: SCALE,
        n: 256,
        stride: 256,
        ..PLAIN
    };
    let blocks = Some(["%first", "%end", "%c1"]);
    let cases = [
        PLAIN,
        Case {
            n: 256,
            stride: 256,
            ..PLAIN
        },
        Case { body: SCALE, ..PLAIN },
        // Rows that end where the next begin, of whole tiles: as one.
        Case {
            range: blocks,
            grid: 5,
            ..whole
        },
        Case {
            range: blocks,
            grid: 5,
            nan: Some(133 * 256 + 17),
            ..whole
        },
        Case {
            range: blocks,
            grid: 5,
            in_place: true,
            at_once: AtOnce::Nothing,
            ..whole
        },
        // A row of NaN among others.
        Case {
            nan: Some(301 * 201 + 5),
            ..PLAIN
        },
        Case {
            in_place: true,
            at_once: AtOnce::Nothing,
            nan: Some(301 * 201 + 5),
            ..PLAIN
        },
        // The last rows are outside.
        Case {
            todo: 503,
            found: &["oob-load", "oob-store"],
            ..PLAIN
        },
        // Neighbouring rows have lanes in common: of one program and of two.
        Case {
            stride: 150,
            rows: 501,
            found: &["race-write-write", "unwritten-output"],
            ..PLAIN
        },
        Case {
            stride: 150,
            rows: 501,
            grid: 1,
            found: &["unwritten-output"],
            ..PLAIN
        },
        // What a row leaves is what the next one takes.
        Case {
            body: SCALE,
            grid: 1,
            in_place: true,
            at_once: AtOnce::Nothing,
            shift: 201,
            ..PLAIN
        },
        Case {
            grid: 1,
            range: blocks,
            todo: 100,
            in_place: true,
            at_once: AtOnce::Nothing,
            shift: 256,
            ..whole
        },
        // The mask depends on the row: up to the end of all of them.
        Case {
            live: "%at",
            n: 500 * 201 - 60,
            found: &["race-write-write", "unwritten-output"],
            ..PLAIN
        },
        // None, one, and a limit in between.
        Case {
            todo: 0,
            found: &["unwritten-output"],
            ..PLAIN
        },
        Case {
            todo: 1,
            found: &["unwritten-output"],
            ..PLAIN
        },
        // A row per program.
        Case {
            range: None,
            grid: 500,
            at_once: AtOnce::Programs,
            ..PLAIN
        },
        Case {
            range: None,
            grid: 500,
            nan: Some(301 * 201 + 5),
            at_once: AtOnce::Programs,
            ..PLAIN
        },
        Case {
            range: None,
            grid: 503,
            at_once: AtOnce::Programs,
            found: &["oob-load", "oob-store"],
            ..PLAIN
        },
    ];
    for (i, case) in cases.into_iter().enumerate() {
        let stepping = Options {
            threads: Some(1),
            max_steps: case.max_steps,
            lowering: Lowering::Stepping,
            ..Options::default()
        };
        let want = run(&case, stepping);
        for threads in [1, 3] {
            for cpu in CpuLevel::ALL.into_iter().filter_map(Cpu::at) {
                let options = Options {
                    threads: Some(threads),
                    lowering: Lowering::Fast,
                    cpu,
                    ..stepping
                };
                let got = run(&case, options);
                if cpu.level() > CpuLevel::Scalar {
                    let turns = got.listing.contains("turns at once");
                    let at_once = match (turns, got.stretches) {
                        (true, _) => AtOnce::Turns,
                        (_, true) => AtOnce::Programs,
                        _ => AtOnce::Nothing,
                    };
                    assert_eq!(at_once, case.at_once, "{i}: {}", got.listing);
                }
                assert_eq!(got.found, want.found, "{i} on {}", cpu.level());
                assert_eq!(got.births, want.births, "{i} on {}", cpu.level());
                // What programs that race leave is any one's.
                let races = case.found.contains(&"race-write-write");
                assert!(
                    got.bytes == want.bytes || races && threads > 1,
                    "{i} on {threads}, {}",
                    cpu.level()
                );
            }
        }
    }
}

/// A limit of operations ends a program in the turn in which it would end alone.
#[test]
fn a_limit_ends_it_in_the_same_turn() {
    for max_steps in [1, 20, 100, 1000, 1003, 2000] {
        let case = Case {
            grid: 1,
            max_steps,
            found: &["step-limit"],
            ..PLAIN
        };
        let fast = Options {
            threads: Some(1),
            max_steps,
            ..Options::default()
        };
        let got = run(&case, fast);
        // The same without turns at once: a CPU without vectors has no lines.
        let want = run(
            &case,
            Options {
                cpu: Cpu::SCALAR,
                ..fast
            },
        );
        assert_eq!(got.found, want.found, "{max_steps}");
        assert!(got.bytes == want.bytes, "{max_steps}");
    }
}
