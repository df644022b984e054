//! Scans that go from memory to memory, those of neighbouring programs side by side, leave the bytes and findings of a
//! load, a scan and a store of one program after the other.

use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::Source;
use tilescope_interpreter::simd::{Cpu, CpuLevel};
use tilescope_interpreter::{Control, Lowering, Options, Prepared, tape};
use tilescope_ir::VerifiedModule;
use tilescope_launch::{LaunchFile, NoFiles, Overrides, Signature};

/// `y[to..] = scan(x[from..])` of 64 lanes a program, under masks.
const KERNEL: &str = "module {
tt.func public @k(%xp: !tt.ptr<ELEM>, %yp: !tt.ptr<ELEM>, %n: i32, %m: i32) {
  %pid = tt.get_program_id x : i32
  %row = tt.get_program_id y : i32
  %zero = arith.constant dense<OTHER> : tensor<64xELEM>
  %lanes = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %from_step = arith.constant FROM : i32
  %to_step = arith.constant TO : i32
  %width = arith.constant 512 : i32
  %start = arith.muli %row, %width : i32
  %from0 = arith.muli %pid, %from_step : i32
  %from = arith.addi %start, %from0 : i32
  %to0 = arith.muli %pid, %to_step : i32
  %to = arith.addi %start, %to0 : i32
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %read = arith.cmpi slt, %lanes, %ns : tensor<64xi32>
  %ms = tt.splat %m : i32 -> tensor<64xi32>
  %write = arith.cmpi slt, %lanes, %ms : tensor<64xi32>
  %x0 = tt.addptr %xp, %from : !tt.ptr<ELEM>, i32
  %xs = tt.splat %x0 : !tt.ptr<ELEM> -> tensor<64x!tt.ptr<ELEM>>
  %xat = tt.addptr %xs, %lanes : tensor<64x!tt.ptr<ELEM>>, tensor<64xi32>
  %x = tt.load %xat, %read, %zero : tensor<64x!tt.ptr<ELEM>>
  %y = \"tt.scan\"(%x) <{axis = 0 : i32, reverse = REVERSE}> ({
  ^bb0(%a: ELEM, %b: ELEM):
    %r = arith.OPERATION %a, %b : ELEM
    tt.scan.return %r : ELEM
  }) : (tensor<64xELEM>) -> tensor<64xELEM>
  %y0 = tt.addptr %yp, %to : !tt.ptr<ELEM>, i32
  %ys = tt.splat %y0 : !tt.ptr<ELEM> -> tensor<64x!tt.ptr<ELEM>>
  %yat = tt.addptr %ys, %lanes : tensor<64x!tt.ptr<ELEM>>, tensor<64xi32>
  tt.store %yat, %y, %write : tensor<64x!tt.ptr<ELEM>>
  tt.return
}
}
";

/// What a case changes.
#[derive(Clone, Copy)]
struct Case {
    elem: &'static str,
    operation: &'static str,
    reverse: bool,
    grid: &'static str,
    /// Elements of each tensor.
    len: usize,
    /// Lanes that are read, and written.
    lanes: (usize, usize),
    /// Elements from one program to the next, where it reads and where it writes.
    steps: (usize, usize),
    /// Elements that are no finite number: a NaN with bits of its own, or an infinity.
    special: &'static [(usize, bool)],
    /// The second tensor is the first.
    in_place: bool,
    /// It goes from memory to memory, if it is not in doubt.
    joins: bool,
    /// Ids of what is found.
    found: &'static [&'static str],
    /// Births are to be told from the beginning.
    births: bool,
}

const PLAIN: Case = Case {
    elem: "f32",
    operation: "addf",
    reverse: false,
    grid: "[40]",
    len: 40 * 64,
    lanes: (64, 64),
    steps: (64, 64),
    special: &[],
    in_place: false,
    joins: true,
    found: &[],
    births: false,
};

fn run(case: &Case, options: Options) -> (bool, Vec<String>, Vec<u8>) {
    let Case { elem, len, .. } = *case;
    let text = KERNEL
        .replace("OPERATION", case.operation)
        .replace("REVERSE", &case.reverse.to_string())
        .replace("FROM", &case.steps.0.to_string())
        .replace("TO", &case.steps.1.to_string())
        .replace("OTHER", "5.000000e-01")
        .replace("ELEM", elem);
    let y = match case.in_place {
        true => "yp = { view_of = \"xp\", role = \"inout\" }".to_string(),
        false => format!("yp = {{ dtype = \"{elem}\", shape = [{len}], role = \"out\" }}"),
    };
    let role = if case.in_place { "inout" } else { "in" };
    let launch = format!(
        "kernel = \"k.ttir\"\ngrid = {}\n[args]\n\
         xp = {{ dtype = \"{elem}\", shape = [{len}], role = \"{role}\" }}\n{y}\nn = {}\nm = {}\n",
        case.grid, case.lanes.0, case.lanes.1,
    );
    let module = tilescope_ir::text::parse(&Source::new("k.ttir", text)).expect("TTIR");
    let module = VerifiedModule::new(module).expect("verified");
    let file = LaunchFile::parse(Source::new("k.launch.toml", launch)).expect("a launch file");
    let function = file.find_kernel(0, &module).expect("a kernel");
    let bound = file
        .bind(&[Signature::of(&module, function)], &Overrides::default())
        .expect("bound");
    let mut memory = bound.allocate(&NoFiles, u64::MAX).expect("allocated");
    let special = |i: usize| case.special.iter().find(|special| special.0 == i);
    let bytes = &mut memory.allocations[0].bytes;
    for i in 0..len {
        // Sums that round differently in another order.
        let number = 1.0 / (i % 97 + 3) as f64 + (i % 5) as f64;
        if elem == "f32" {
            let bits = match special(i) {
                None => (number as f32).to_bits(),
                Some((_, true)) => 0xffc1_2345,
                Some((_, false)) => f32::INFINITY.to_bits(),
            };
            bytes[4 * i..][..4].copy_from_slice(&bits.to_le_bytes());
        } else {
            let bits = match special(i) {
                None => number.to_bits(),
                Some((_, true)) => 0xfff8_1234 << 32,
                Some((_, false)) => f64::INFINITY.to_bits(),
            };
            bytes[8 * i..][..8].copy_from_slice(&bits.to_le_bytes());
        }
    }
    let joins = tape(&module, function, &bound.launches[0], options)
        .expect("a tape")
        .neighbours
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
    (joins, found, bytes)
}

#[test]
fn scans_from_memory_to_memory_are_scans() {
    let cases = [
        PLAIN,
        Case {
            operation: "mulf",
            ..PLAIN
        },
        Case {
            elem: "f64",
            special: &[(70, true), (640, false)],
            found: &["nan-born", "inf-born"],
            ..PLAIN
        },
        Case {
            elem: "f64",
            operation: "mulf",
            ..PLAIN
        },
        // Others have no such loop.
        Case {
            operation: "maximumf",
            joins: false,
            ..PLAIN
        },
        Case {
            reverse: true,
            joins: false,
            ..PLAIN
        },
        // Fewer lanes; more written than read; none.
        Case {
            lanes: (50, 41),
            found: &["unwritten-output"],
            ..PLAIN
        },
        Case {
            lanes: (41, 64),
            ..PLAIN
        },
        Case {
            lanes: (64, 0),
            found: &["unwritten-output"],
            ..PLAIN
        },
        // A NaN that is the first of a row keeps its bits, another becomes the canonical one; what is not stored is not
        // looked at.
        Case {
            special: &[(64, true), (5 * 64 + 7, true), (9 * 64 + 63, true)],
            found: &["nan-born"],
            ..PLAIN
        },
        Case {
            special: &[(5 * 64 + 7, false), (39 * 64, false)],
            found: &["inf-born"],
            ..PLAIN
        },
        Case {
            special: &[(5 * 64 + 50, false)],
            lanes: (64, 50),
            found: &["unwritten-output"],
            ..PLAIN
        },
        Case {
            operation: "mulf",
            special: &[(5 * 64 + 7, false)],
            found: &["inf-born"],
            ..PLAIN
        },
        Case {
            in_place: true,
            ..PLAIN
        },
        Case {
            in_place: true,
            special: &[(5 * 64 + 7, false)],
            births: true,
            ..PLAIN
        },
        // Programs that read what others write, or write the same.
        Case {
            in_place: true,
            steps: (64, 60),
            found: &["race-write-write", "race-read-write"],
            ..PLAIN
        },
        Case {
            steps: (64, 32),
            found: &["race-write-write", "unwritten-output"],
            ..PLAIN
        },
        Case {
            steps: (0, 64),
            ..PLAIN
        },
        // The last programs are outside; rows of programs.
        Case {
            len: 37 * 64 + 9,
            found: &["oob-load", "oob-store"],
            ..PLAIN
        },
        Case {
            grid: "[7, 5]",
            found: &["unwritten-output"],
            ..PLAIN
        },
    ];
    for (i, case) in cases.into_iter().enumerate() {
        for threads in [1, 3] {
            let stepping = Options {
                threads: Some(threads),
                lowering: Lowering::Stepping,
                ..Options::default()
            };
            let (joins, want, want_bytes) = run(&case, stepping);
            assert!(!joins, "{i}");
            for cpu in CpuLevel::ALL.into_iter().filter_map(Cpu::at) {
                let fast = Options {
                    lowering: Lowering::Fast,
                    cpu,
                    ..stepping
                };
                let (joins, found, bytes) = run(&case, fast);
                assert!(joins == case.joins && found == want, "{i}: {found:#?}\n{want:#?}");
                // What programs that race leave is any one's.
                let races = case.found.iter().any(|id| id.starts_with("race"));
                assert!(bytes == want_bytes || races && threads > 1, "{i} on {threads}");
            }
        }
    }
}
