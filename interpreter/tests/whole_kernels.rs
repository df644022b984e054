//! Small whole kernels: control flow, stores of what they store through, and what findings count.

mod harness;

use harness::Bench;
use tilescope_diagnostics::{Check, Severity};
use tilescope_launch::{Dtype, Role};

/// `%p`: addresses of `lanes` elements of type `ty` from `%out` on.
fn addresses(out: &str, ty: &str, lanes: usize) -> String {
    format!(
        "%r = tt.make_range {{end = {lanes} : i32, start = 0 : i32}} : tensor<{lanes}xi32>
         %s = tt.splat {out} : !tt.ptr<{ty}> -> tensor<{lanes}x!tt.ptr<{ty}>>
         %p = tt.addptr %s, %r : tensor<{lanes}x!tt.ptr<{ty}>>, tensor<{lanes}xi32>"
    )
}

/// The outer loop (`^h1`) jumps back from `^l1`, which stands before the block that closes the inner one
/// (`^h2`), so neither range of instructions holds the other. `%v` is read at the outer loop's head only.
#[test]
fn a_value_lives_through_loops_that_overlap() {
    let pads: String = (0..40)
        .map(|i| format!("%pad{i} = arith.addi %i, %c1 : i32\n"))
        .collect();
    let body = format!(
        "%c0 = arith.constant 0 : i32
         %c1 = arith.constant 1 : i32
         %c2 = arith.constant 2 : i32
         %v = arith.addi %n, %n : i32
         cf.br ^h1(%c0, %c0 : i32, i32)
       ^h1(%i: i32, %sum: i32):
         %use = arith.addi %sum, %v : i32
         {pads}
         cf.br ^h2(%c0 : i32)
       ^h2(%j: i32):
         %done = arith.cmpi sge, %j, %c2 : i32
         cf.cond_br %done, ^l1, ^l2
       ^l1:
         %i1 = arith.addi %i, %c1 : i32
         %more = arith.cmpi slt, %i1, %c2 : i32
         cf.cond_br %more, ^h1(%i1, %use : i32, i32), ^exit
       ^l2:
         %w = arith.addi %j, %c1 : i32
         %w2 = arith.muli %w, %c2 : i32
         %w3 = arith.muli %w2, %c2 : i32
         %w4 = arith.muli %w3, %c2 : i32
         %t1 = arith.subi %w4, %w3 : i32
         %t2 = arith.subi %t1, %w2 : i32
         %t3 = arith.subi %t2, %w : i32
         %t4 = arith.addi %t3, %w : i32
         %t5 = arith.subi %t4, %t3 : i32
         cf.br ^h2(%t5 : i32)
       ^exit:
         tt.store %out, %use : !tt.ptr<i32>"
    );
    let bench = Bench::new("%out: !tt.ptr<i32>, %n: i32", &body, 1);
    let ran = bench.tensor("out", Dtype::I32, &[0i32]).scalar(10).run().clean();
    assert_eq!(ran.read::<i32>(0), [40]);
}

#[test]
fn an_unsigned_loop_compares_without_sign() {
    let body = "%c0 = arith.constant 0 : i32
         %lo = arith.constant 2147483646 : i32
         %hi = arith.constant -2147483646 : i32
         %c1 = arith.constant 1 : i32
         %n = scf.for ORDER %i = %lo to %hi step %c1 iter_args(%a = %c0) -> (i32) : i32 {
           %b = arith.addi %a, %c1 : i32
           scf.yield %b : i32
         }
         tt.store %out, %n : !tt.ptr<i32>";
    for (order, trips) in [("unsigned", 4), ("", 0)] {
        let bench = Bench::new("%out: !tt.ptr<i32>", &body.replace("ORDER", order), 1);
        let ran = bench.tensor("out", Dtype::I32, &[-1i32]).run().clean();
        assert_eq!(ran.read::<i32>(0), [trips]);
    }
}

#[test]
fn addresses_are_stored_where_they_point() {
    let body = format!(
        "{}
         %q = tt.ptr_to_int %p : tensor<64x!tt.ptr<i64>> -> tensor<64xi64>
         tt.store %p, %q : tensor<64x!tt.ptr<i64>>",
        addresses("%out", "i64", 64)
    );
    let mut bench = Bench::new("%out: !tt.ptr<i64>", &body, 1).tensor("out", Dtype::I64, &[0i64; 64]);
    let base = bench.base(tilescope_launch::TensorId(0));
    let want: Vec<u64> = (0..64).map(|i| base + 8 * i).collect();
    bench.launch().tensors[0].role = Role::Out;
    assert_eq!(bench.run().clean().read::<u64>(0), want);
}

#[test]
fn a_mask_is_stored_under_itself() {
    let body = format!(
        "{}
         %x = tt.load %p : tensor<8x!tt.ptr<i1>>
         tt.store %p, %x, %x : tensor<8x!tt.ptr<i1>>",
        addresses("%out", "i1", 8)
    );
    let data = [1u8, 0, 5, 0, 0, 1, 1, 0];
    let ran = Bench::new("%out: !tt.ptr<i1>", &body, 1)
        .tensor("out", Dtype::I1, &data)
        .run()
        .clean();
    assert_eq!(ran.read::<u8>(0), [1, 0, 1, 0, 0, 1, 1, 0]);
}

/// Functions that call the one before twice: 2^40 calls, none of which needs an instruction.
#[test]
fn a_text_that_asks_for_too_many_calls_is_refused() {
    let mut text = String::from("module {\ntt.func private @f0() {\ntt.return\n}\n");
    for i in 1..40 {
        let call = format!("tt.call @f{}() : () -> ()\n", i - 1);
        text.push_str(&format!(
            "tt.func private @f{i}() {{\n{call}{call}tt.return\n}}\n"
        ));
    }
    text.push_str("tt.func public @k() {\ntt.call @f39() : () -> ()\ntt.return\n}\n}\n");
    let error = Bench::of_text(text, 1).try_run(1).err().expect("refused");
    assert!(error.to_string().contains("too large"), "{error}");
}

/// Program 7 goes round for ever; how many later ones have loaded by then depends on threads.
#[test]
fn what_is_counted_before_a_step_limit_does_not_depend_on_threads() {
    let body = "%pid = tt.get_program_id x : i32
         %c0 = arith.constant 0 : i32
         %c1 = arith.constant 1 : i32
         %c7 = arith.constant 7 : i32
         %far = arith.constant 1000000 : i32
         %q = tt.addptr %x, %far : !tt.ptr<i32>, i32
         %v = tt.load %q : !tt.ptr<i32>
         %p = tt.addptr %out, %pid : !tt.ptr<i32>, i32
         tt.store %p, %v : !tt.ptr<i32>
         %is = arith.cmpi eq, %pid, %c7 : i32
         %ub = arith.select %is, %far, %c1 : i32
         scf.for %i = %c0 to %ub step %c1 : i32 {
         }";
    let mut bench = Bench::new("%x: !tt.ptr<i32>, %out: !tt.ptr<i32>", body, 500)
        .tensor("x", Dtype::I32, &[0i32; 4])
        .tensor_as("out", Dtype::I32, Role::Out, &[600], &[0i32; 600]);
    bench.options.max_steps = 100_000;
    for threads in [1, 4] {
        let ran = bench.run_on(threads);
        // Nor is the output judged, of programs that were cut short.
        assert_eq!(ran.checks(), [(Check::OobLoad, 1), (Check::StepLimit, 1)]);
        let at_least: Vec<bool> = ran.outcome.findings.iter().map(|f| f.count_at_least).collect();
        assert_eq!(at_least, [true, false]);
    }
}

#[test]
fn a_division_counts_its_lanes_also_where_all_are_the_same() {
    for dividend in [
        "arith.constant dense<7> : tensor<64xi32>",
        "arith.addi %r, %zs : tensor<64xi32>",
    ] {
        let body = format!(
            "{}
             %zs = tt.splat %z : i32 -> tensor<64xi32>
             %d = {dividend}
             %q = arith.divsi %d, %zs : tensor<64xi32>
             tt.store %p, %q : tensor<64x!tt.ptr<i32>>",
            addresses("%out", "i32", 64)
        );
        let bench = Bench::new("%out: !tt.ptr<i32>, %z: i32", &body, 2);
        let ran = bench.tensor("out", Dtype::I32, &[1i32; 64]).scalar(0).run();
        // Both programs store to the same 64 elements.
        let expected = [(Check::DivByZero, 128), (Check::BenignRace, 64)];
        assert_eq!(ran.checks(), expected, "{dividend}");
    }
}

#[test]
fn a_parameter_breaks_its_hint_once() {
    let parameters = "%out: !tt.ptr<i32>, %n: i32 {tt.divisibility = 16 : i32}";
    let bench = Bench::new(parameters, "tt.store %out, %n : !tt.ptr<i32>", 3);
    let ran = bench.tensor("out", Dtype::I32, &[0i32]).scalar(10).run();
    // All three programs store the same.
    assert_eq!(ran.checks(), [(Check::HintViolated, 1), (Check::BenignRace, 1)]);
}

/// Contiguity that breaks at lane 8, and perhaps elsewhere.
#[test]
fn a_hint_broken_at_multiples_of_eight_only_is_a_note() {
    let severity = |lanes: &str| {
        let body = format!(
            "{}
             %l = arith.constant dense<[{lanes}]> : tensor<16xi32>
             %z = tt.splat %n : i32 -> tensor<16xi32>
             %h = arith.addi %l, %z {{tt.contiguity = dense<16> : tensor<1xi32>}} : tensor<16xi32>
             tt.store %p, %h : tensor<16x!tt.ptr<i32>>",
            addresses("%out", "i32", 16)
        );
        let bench = Bench::new("%out: !tt.ptr<i32>, %n: i32", &body, 1);
        let ran = bench.tensor("out", Dtype::I32, &[0i32; 16]).scalar(0).run();
        let finding = ran.finding();
        (finding.severity, finding.count)
    };
    assert_eq!(severity("0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7"), (Severity::Note, 1));
    assert_eq!(severity("0,1,2,3,4,5,6,7,0,1,2,3,3,4,5,6"), (Severity::Error, 2));
    assert_eq!(
        severity("0,1,2,3,3,4,5,6,7,8,9,10,11,12,13,14"),
        (Severity::Error, 1)
    );
}

/// Lanes 4 and 5 are in nobody's view, lanes 6 and 7 in `b`'s.
#[test]
fn a_load_is_as_bad_as_its_worst_lane() {
    let body = format!(
        "{}
         %v = tt.load %p : tensor<8x!tt.ptr<f32>>
         %so = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
         %o = tt.addptr %so, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
         tt.store %o, %v : tensor<8x!tt.ptr<f32>>",
        addresses("%a", "f32", 8)
    );
    let severity = |with_b: bool| {
        let mut bench = Bench::new("%a: !tt.ptr<f32>, %out: !tt.ptr<f32>", &body, 1)
            .tensor("a", Dtype::F32, &[0f32; 8])
            .tensor("out", Dtype::F32, &[0f32; 8]);
        let mut b = bench.launch().tensors[0].clone();
        bench.launch().tensors[0].shape = vec![4];
        b.name = "b".into();
        b.shape = vec![2];
        b.offset = 6;
        if with_b {
            bench.launch().tensors.push(b);
        }
        let ran = bench.run();
        let finding = ran.finding();
        assert_eq!((finding.check, finding.count), (Check::OutsideView, 4));
        finding.severity
    };
    assert_eq!(
        (severity(false), severity(true)),
        (Severity::Warning, Severity::Error)
    );
}
