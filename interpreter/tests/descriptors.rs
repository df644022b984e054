//! Block pointers and tensor descriptors: boxes that reach past the tensor, rows picked by number, and
//! reductions into memory.

mod harness;

use harness::Bench;
use tilescope_diagnostics::Check;
use tilescope_interpreter::num::{F16, StoredFloat};
use tilescope_launch::{Argument, Dtype, Role};

/// Stores the tile `value` of `lanes` lanes to `%out`.
fn dump(value: &str, ty: &str, elem: &str, lanes: usize) -> String {
    format!(
        "%flat = tt.reshape {value} : {ty} -> tensor<{lanes}x{elem}>
         %lane = tt.make_range {{end = {lanes} : i32, start = 0 : i32}} : tensor<{lanes}xi32>
         %outs = tt.splat %out : !tt.ptr<{elem}> -> tensor<{lanes}x!tt.ptr<{elem}>>
         %outa = tt.addptr %outs, %lane : tensor<{lanes}x!tt.ptr<{elem}>>, tensor<{lanes}xi32>
         tt.store %outa, %flat : tensor<{lanes}x!tt.ptr<{elem}>>"
    )
}

/// `%d`, the 5 x 6 matrix `%p` in blocks of the given shape.
fn matrix(block: &str, elem: &str, padding: &str) -> String {
    format!(
        "%c5 = arith.constant 5 : i32
         %c6 = arith.constant 6 : i32
         %s0 = arith.constant 6 : i64
         %s1 = arith.constant 1 : i64
         %d = tt.make_tensor_descriptor %p, [%c5, %c6], [%s0, %s1] {padding} : <{elem}>, <{block}x{elem}>"
    )
}

/// 0, 1, … 29 as elements of a 5 x 6 matrix; none outside.
fn element(row: i64, column: i64) -> Option<f32> {
    ((0..5).contains(&row) && (0..6).contains(&column)).then_some((row * 6 + column) as f32)
}

fn elements() -> Vec<f32> {
    (0..30).map(|i| i as f32).collect()
}

const P_OUT: &str = "%p: !tt.ptr<f32>, %out: !tt.ptr<f32>";

fn bench(body: &str, lanes: usize) -> Bench {
    Bench::new(P_OUT, body, 1)
        .tensor_as("p", Dtype::F32, Role::InOut, &[5, 6], &elements())
        .tensor("out", Dtype::F32, &vec![-1f32; lanes])
}

#[test]
fn lanes_outside_the_tensor_read_the_padding() {
    for (padding, outside) in [("", 0), ("{padding = 2 : i32}", 0x7fff_ffff)] {
        for (row, column) in [(0, 0), (3, 2), (-2, -3), (4, -7), (9, 0)] {
            let body = format!(
                "{}
                 %row = arith.constant {row} : i32
                 %column = arith.constant {column} : i32
                 %t = tt.descriptor_load %d[%row, %column] : !tt.tensordesc<4x8xf32> -> tensor<4x8xf32>
                 {}",
                matrix("4x8", "f32", padding),
                dump("%t", "tensor<4x8xf32>", "f32", 32)
            );
            let got = bench(&body, 32).run().clean().read::<f32>(1);
            for (lane, got) in got.iter().enumerate() {
                let want = element(row + lane as i64 / 8, column + lane as i64 % 8);
                let want = want.map_or(outside, f32::to_bits);
                assert_eq!(got.to_bits(), want, "{padding} [{row}, {column}] lane {lane}");
            }
        }
    }
}

#[test]
fn the_padding_goes_round_a_loop_with_its_descriptor() {
    let body = format!(
        "{}
         %zero = arith.constant 0 : i32
         %one = arith.constant 1 : i32
         %two = arith.constant 2 : i32
         %e = scf.for %i = %zero to %two step %one iter_args(%c = %d) -> (!tt.tensordesc<4x8xf32>) : i32 {{
           scf.yield %c : !tt.tensordesc<4x8xf32>
         }}
         %t = tt.descriptor_load %e[%c5, %c6] : !tt.tensordesc<4x8xf32> -> tensor<4x8xf32>
         {}",
        matrix("4x8", "f32", "{padding = 2 : i32}"),
        dump("%t", "tensor<4x8xf32>", "f32", 32)
    );
    let got = bench(&body, 32).run().clean().read::<f32>(1);
    assert!(got.iter().all(|x| x.is_nan()), "{got:?}");
}

#[test]
fn stores_leave_out_the_lanes_outside() {
    let body = format!(
        "{}
         %row = arith.constant 3 : i32
         %column = arith.constant -2 : i32
         %t = arith.constant dense<77.0> : tensor<4x8xf32>
         tt.descriptor_store %d[%row, %column], %t : !tt.tensordesc<4x8xf32>, tensor<4x8xf32>",
        matrix("4x8", "f32", "")
    );
    let got = bench(&body, 1).run().clean().read::<f32>(0);
    for (i, got) in got.iter().enumerate() {
        let want = if i >= 18 { 77.0 } else { i as f32 };
        assert_eq!(*got, want, "{i}");
    }
}

#[test]
fn three_dimensions() {
    // A 3 x 2 x 5 tensor in blocks of 2 x 2 x 4, from [2, -1, 2] on.
    let body = format!(
        "%n0 = arith.constant 3 : i32
         %n1 = arith.constant 2 : i32
         %n2 = arith.constant 5 : i32
         %s0 = arith.constant 10 : i64
         %s1 = arith.constant 5 : i64
         %s2 = arith.constant 1 : i64
         %d = tt.make_tensor_descriptor %p, [%n0, %n1, %n2], [%s0, %s1, %s2] : <f32>, <2x2x4xf32>
         %m = arith.constant -1 : i32
         %t = tt.descriptor_load %d[%n1, %m, %n1] : !tt.tensordesc<2x2x4xf32> -> tensor<2x2x4xf32>
         {}",
        dump("%t", "tensor<2x2x4xf32>", "f32", 16)
    );
    let got = bench(&body, 16).run().clean().read::<f32>(1);
    let mut want = [0f32; 16];
    want[4..7].copy_from_slice(&[22.0, 23.0, 24.0]);
    assert_eq!(got, want);
}

#[test]
fn a_descriptor_of_the_host_knows_its_tensor() {
    let body = format!(
        "%row = arith.constant 4 : i32
         %column = arith.constant 4 : i32
         %t = tt.descriptor_load %d[%row, %column] : !tt.tensordesc<2x4xf32> -> tensor<2x4xf32>
         {}",
        dump("%t", "tensor<2x4xf32>", "f32", 8)
    );
    let mut bench = Bench::new("%d: !tt.tensordesc<2x4xf32>, %out: !tt.ptr<f32>", &body, 1);
    let tensor = bench.storage("p", Dtype::F32, Role::In, &[5, 6], &elements());
    let block_shape = vec![2, 4];
    let ran = bench
        .argument(Argument::Descriptor { tensor, block_shape })
        .tensor("out", Dtype::F32, &[-1f32; 8])
        .run()
        .clean();
    assert_eq!(ran.read::<f32>(1), [28.0, 29.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

const ROWS: [i64; 8] = [4, 0, -1, 2, 5, 2, 1, i32::MIN as i64];

#[test]
fn gather_reads_rows_in_any_order() {
    for (kind, last) in [("i32", i64::from(i32::MIN)), ("i16", i64::from(i16::MIN))] {
        let body = format!(
            "{}
             %rows = arith.constant dense<[4, 0, -1, 2, 5, 2, 1, {last}]> : tensor<8x{kind}>
             %column = arith.constant 2 : i32
             %t = tt.descriptor_gather %d[%rows, %column] : (!tt.tensordesc<1x8xf32>, tensor<8x{kind}>, i32) -> tensor<8x8xf32>
             {}",
            matrix("1x8", "f32", ""),
            dump("%t", "tensor<8x8xf32>", "f32", 64)
        );
        let got = bench(&body, 64).run().clean().read::<f32>(1);
        for (lane, got) in got.iter().enumerate() {
            let want = element(ROWS[lane / 8], 2 + lane as i64 % 8).unwrap_or(0.0);
            assert_eq!(*got, want, "{kind} lane {lane}");
        }
    }
}

#[test]
fn scatter_writes_rows_and_the_last_of_equal_ones_stays() {
    let body = format!(
        "{}
         %rows = arith.constant dense<[4, 0, -1, 2, 5, 2, 1, -2147483648]> : tensor<8xi32>
         %column = arith.constant -3 : i32
         %r = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32>
         %f = arith.sitofp %r : tensor<64xi32> to tensor<64xf32>
         %t = tt.reshape %f : tensor<64xf32> -> tensor<8x8xf32>
         tt.descriptor_scatter %d[%rows, %column], %t : !tt.tensordesc<1x8xf32>, tensor<8xi32>, i32, tensor<8x8xf32>",
        matrix("1x8", "f32", "")
    );
    let ran = bench(&body, 1).run();
    // Row 2 is written twice, in columns 0 to 4.
    assert_eq!(ran.checks(), [(Check::DuplicateStore, 5)]);
    let got = ran.read::<f32>(0);
    let mut want = elements();
    for (i, &row) in ROWS.iter().enumerate() {
        for c in 0..8i64 {
            if element(row, c - 3).is_some() {
                want[(row * 6 + c - 3) as usize] = (i as i64 * 8 + c) as f32;
            }
        }
    }
    assert_eq!(got, want);
}

/// Reduces `value` (text of a constant) into the 5 x 6 matrix at [3, 4] with blocks of 4 x 4.
fn reduce(kind: &str, elem: &str, value: &str) -> String {
    let scalar = elem.trim_start_matches(['s', 'u']);
    format!(
        "%n0 = arith.constant 5 : i32
         %n1 = arith.constant 6 : i32
         %s0 = arith.constant 6 : i64
         %s1 = arith.constant 1 : i64
         %d = tt.make_tensor_descriptor %p, [%n0, %n1], [%s0, %s1] : <{scalar}>, <4x4x{elem}>
         %row = arith.constant 3 : i32
         %column = arith.constant 4 : i32
         %t = arith.constant dense<{value}> : tensor<4x4x{scalar}>
         tt.descriptor_reduce {kind}, %d[%row, %column], %t : !tt.tensordesc<4x4x{elem}>, tensor<4x4x{scalar}>"
    )
}

#[test]
fn reductions_of_integers() {
    type Kind = (&'static str, &'static str, fn(i32, i32) -> i32);
    let kinds: [Kind; 10] = [
        ("add", "i32", |a, b| a.wrapping_add(b)),
        ("min", "si32", |a, b| a.min(b)),
        ("max", "si32", |a, b| a.max(b)),
        ("min", "ui32", |a, b| (a as u32).min(b as u32) as i32),
        ("max", "ui32", |a, b| (a as u32).max(b as u32) as i32),
        ("and", "i32", |a, b| a & b),
        ("or", "i32", |a, b| a | b),
        ("xor", "i32", |a, b| a ^ b),
        (
            "inc",
            "ui32",
            |a, b| if (a as u32) < b as u32 { a + 1 } else { 0 },
        ),
        ("dec", "ui32", |a, b| {
            if a == 0 || a as u32 > b as u32 { b } else { a - 1 }
        }),
    ];
    let before: Vec<i32> = (0..30).map(|i| (i - 26) * 3).collect();
    for (kind, elem, new) in kinds {
        for value in [-7, 5, 0] {
            let ran = Bench::new("%p: !tt.ptr<i32>", &reduce(kind, elem, &value.to_string()), 1)
                .tensor_as("p", Dtype::I32, Role::InOut, &[5, 6], &before)
                .run()
                .clean();
            let mut want = before.clone();
            for i in [22, 23, 28, 29] {
                want[i] = new(want[i], value);
            }
            assert_eq!(ran.read::<i32>(0), want, "{kind} {elem} {value}");
        }
    }
}

#[test]
fn reductions_of_floats() {
    let before: Vec<F16> = (0..30).map(|i| F16::from_f32(i as f32 - 25.0)).collect();
    type Kind = (&'static str, fn(f32, f32) -> f32);
    let kinds: [Kind; 3] = [("add", |a, b| a + b), ("min", f32::min), ("max", f32::max)];
    for (kind, new) in kinds {
        let ran = Bench::new("%p: !tt.ptr<f16>", &reduce(kind, "f16", "2.5"), 1)
            .tensor_as("p", Dtype::F16, Role::InOut, &[5, 6], &before)
            .run()
            .clean();
        let mut want = before.clone();
        for i in [22, 23, 28, 29] {
            want[i] = F16::from_f32(new(want[i].to_f32(), 2.5));
        }
        assert_eq!(ran.read::<F16>(0), want, "{kind}");
    }
    // In program order, whatever the number of threads.
    let bench = Bench::new("%p: !tt.ptr<f32>", &reduce("add", "f32", "0.1"), 100).tensor_as(
        "p",
        Dtype::F32,
        Role::InOut,
        &[5, 6],
        &elements(),
    );
    let want = (0..100).fold(29.0f32, |sum, _| sum + 0.1);
    for threads in [1, 8] {
        assert_eq!(bench.run_on(threads).clean().read::<f32>(0)[29], want);
    }
}

#[test]
fn a_box_wider_than_the_storage_is_out_of_bounds() {
    // The descriptor says 8 rows of 6; the tensor has 5.
    let body = format!(
        "%n0 = arith.constant 8 : i32
         %n1 = arith.constant 6 : i32
         %s0 = arith.constant 6 : i64
         %s1 = arith.constant 1 : i64
         %d = tt.make_tensor_descriptor %p, [%n0, %n1], [%s0, %s1] : <f32>, <4x4xf32>
         %row = arith.constant 3 : i32
         %column = arith.constant 3 : i32
         %t = tt.descriptor_load %d[%row, %column] : !tt.tensordesc<4x4xf32> -> tensor<4x4xf32>
         tt.descriptor_reduce add, %d[%row, %column], %t : !tt.tensordesc<4x4xf32>, tensor<4x4xf32>
         {}",
        dump("%t", "tensor<4x4xf32>", "f32", 16)
    );
    let ran = bench(&body, 16).run();
    assert_eq!(ran.checks(), [(Check::OobLoad, 6), (Check::OobAtomic, 6)]);
    for finding in &ran.outcome.findings {
        assert_eq!(finding.lane.as_deref(), Some(&[2u32, 0][..]));
        assert_eq!(finding.element.as_deref(), Some(&[5i64, 3][..]));
    }
    let row = [21.0, 22.0, 23.0, 0.0, 27.0, 28.0, 29.0];
    assert_eq!(ran.read::<f32>(1)[..7], row);
    assert_eq!(ran.read::<f32>(0)[27..], [54.0, 56.0, 58.0]);
}

#[test]
fn a_scatter_out_of_bounds_names_its_lane() {
    let body = "%n0 = arith.constant 9 : i32
         %n1 = arith.constant 6 : i32
         %s0 = arith.constant 6 : i64
         %s1 = arith.constant 1 : i64
         %d = tt.make_tensor_descriptor %p, [%n0, %n1], [%s0, %s1] : <f32>, <1x8xf32>
         %rows = arith.constant dense<[4, 0, -1, 7, 1, 1, 1, 1]> : tensor<8xi32>
         %column = arith.constant 2 : i32
         %t = arith.constant dense<1.0> : tensor<8x8xf32>
         tt.descriptor_scatter %d[%rows, %column], %t : !tt.tensordesc<1x8xf32>, tensor<8xi32>, i32, tensor<8x8xf32>";
    let ran = bench(body, 1).run();
    // Row 1 is written four times, in columns 2 to 5.
    assert_eq!(ran.checks(), [(Check::OobStore, 4), (Check::DuplicateStore, 12)]);
    assert_eq!(ran.outcome.findings[0].lane.as_deref(), Some(&[3u32, 0][..]));
}

/// A load and a store of a 4 x 8 block pointer at [3, 2] of the 5 x 6 matrix.
fn block_pointer(check: &str) -> harness::Ran {
    let body = format!(
        "%n0 = arith.constant 5 : i64
         %n1 = arith.constant 6 : i64
         %s1 = arith.constant 1 : i64
         %zero = arith.constant 0 : i32
         %b0 = tt.make_tensor_ptr %p, [%n0, %n1], [%n1, %s1], [%zero, %zero] {{order = array<i32: 1, 0>}} : <tensor<4x8xf32>>
         %three = arith.constant 3 : i32
         %two = arith.constant 2 : i32
         %b = tt.advance %b0, [%three, %two] : <tensor<4x8xf32>>
         %t = tt.load %b {{{check}, padding = 2 : i32}} : !tt.ptr<tensor<4x8xf32>>
         {}",
        dump("%t", "tensor<4x8xf32>", "f32", 32)
    );
    bench(&body, 32).run()
}

#[test]
fn block_pointers_check_the_dimensions_they_say() {
    let got = block_pointer("boundaryCheck = array<i32: 0, 1>")
        .clean()
        .read::<f32>(1);
    for (lane, got) in got.iter().enumerate() {
        let want = element(3 + lane as i64 / 8, 2 + lane as i64 % 8);
        let want = want.map_or(0x7fff_ffff, f32::to_bits);
        assert_eq!(got.to_bits(), want, "lane {lane}");
    }
    // Rows 5 and 6 are not in the storage; columns go on into the next row.
    let ran = block_pointer("boundaryCheck = array<i32: 1>");
    assert_eq!(ran.checks(), [(Check::OobLoad, 8)]);
    assert_eq!(ran.finding().lane.as_deref(), Some(&[2u32, 0][..]));
    let ran = block_pointer("boundaryCheck = array<i32: 0>");
    assert_eq!(ran.checks(), [(Check::OobLoad, 4)]);
    assert_eq!(ran.finding().lane.as_deref(), Some(&[1u32, 4][..]));
}
