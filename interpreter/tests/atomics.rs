//! Atomics: each kind against a model, and programs that wait for each other.

mod harness;

use bytemuck::Pod;
use harness::Bench;
use tilescope_diagnostics::Check;
use tilescope_interpreter::num::{Bf16, F16, StoredFloat};
use tilescope_launch::{Dtype, Role};

/// Offsets and values of the lanes of one program in the tests of single kinds: cells repeat, and every
/// fourth lane is masked off.
const LANES: usize = 16;

fn cell(lane: usize) -> usize {
    lane * 5 % 3
}

fn active(lane: usize) -> bool {
    lane % 4 != 3
}

/// One program applies `kind` to three cells, cell by `offsets`, and stores the old values.
fn one_kind<T: Pod>(kind: &str, ty: &str, dtype: Dtype, cells: &[T], operands: &[T]) -> (Vec<T>, Vec<T>) {
    let body = format!(
        "%r = tt.make_range {{end = 16 : i32, start = 0 : i32}} : tensor<16xi32>
         %ps = tt.splat %offsets : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
         %pa = tt.addptr %ps, %r : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
         %o = tt.load %pa : tensor<16x!tt.ptr<i32>>
         %vs = tt.splat %operands : !tt.ptr<{ty}> -> tensor<16x!tt.ptr<{ty}>>
         %va = tt.addptr %vs, %r : tensor<16x!tt.ptr<{ty}>>, tensor<16xi32>
         %v = tt.load %va : tensor<16x!tt.ptr<{ty}>>
         %c3 = arith.constant dense<3> : tensor<16xi32>
         %c4 = arith.constant dense<4> : tensor<16xi32>
         %m4 = arith.remsi %r, %c4 : tensor<16xi32>
         %m = arith.cmpi ne, %m4, %c3 : tensor<16xi32>
         %cs = tt.splat %cells : !tt.ptr<{ty}> -> tensor<16x!tt.ptr<{ty}>>
         %ca = tt.addptr %cs, %o : tensor<16x!tt.ptr<{ty}>>, tensor<16xi32>
         %old = tt.atomic_rmw {kind}, acq_rel, gpu, %ca, %v, %m : (tensor<16x!tt.ptr<{ty}>>, tensor<16x{ty}>, tensor<16xi1>) -> tensor<16x{ty}>
         %os = tt.splat %out : !tt.ptr<{ty}> -> tensor<16x!tt.ptr<{ty}>>
         %oa = tt.addptr %os, %r : tensor<16x!tt.ptr<{ty}>>, tensor<16xi32>
         tt.store %oa, %old : tensor<16x!tt.ptr<{ty}>>"
    );
    let parameters = format!(
        "%offsets: !tt.ptr<i32>, %operands: !tt.ptr<{ty}>, %cells: !tt.ptr<{ty}>, %out: !tt.ptr<{ty}>"
    );
    let offsets: Vec<i32> = (0..LANES).map(|lane| cell(lane) as i32).collect();
    let ran = Bench::new(&parameters, &body, 1)
        .tensor("offsets", Dtype::I32, &offsets)
        .tensor("operands", dtype, operands)
        .tensor("cells", dtype, cells)
        .tensor("out", dtype, operands)
        .run()
        .clean();
    (ran.read(2), ran.read(3))
}

/// The same by hand.
fn model<T: Copy>(zero: T, cells: &[T], operands: &[T], new: impl Fn(T, T) -> T) -> (Vec<T>, Vec<T>) {
    let mut cells = cells.to_vec();
    let mut old = vec![zero; LANES];
    for lane in (0..LANES).filter(|&lane| active(lane)) {
        let element = &mut cells[cell(lane)];
        old[lane] = *element;
        *element = new(*element, operands[lane]);
    }
    (cells, old)
}

macro_rules! integer_kinds {
    ($unsigned:ty, $signed:ty, $ty:literal, $dtype:expr) => {{
        type Kind = (&'static str, fn($unsigned, $unsigned) -> $unsigned);
        let kinds: [Kind; 9] = [
            ("and", |a, b| a & b),
            ("or", |a, b| a | b),
            ("xor", |a, b| a ^ b),
            ("add", |a, b| a.wrapping_add(b)),
            ("max", |a, b| (a as $signed).max(b as $signed) as $unsigned),
            ("min", |a, b| (a as $signed).min(b as $signed) as $unsigned),
            ("umax", |a, b| a.max(b)),
            ("umin", |a, b| a.min(b)),
            ("exch", |_, b| b),
        ];
        // Wraps around, with both signs.
        let operands: Vec<$unsigned> = (0..LANES as u64)
            .map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(i as u32) as $unsigned)
            .collect();
        let cells: [$unsigned; 3] = [7, <$unsigned>::MAX - 3, <$signed>::MAX as $unsigned - 1];
        for (kind, new) in kinds {
            let got = one_kind(kind, $ty, $dtype, &cells, &operands);
            assert_eq!(got, model(0, &cells, &operands, new), "{kind} {}", $ty);
        }
    }};
}

#[test]
fn integer_kinds_agree_with_a_model() {
    integer_kinds!(u8, i8, "i8", Dtype::I8);
    integer_kinds!(u16, i16, "i16", Dtype::I16);
    integer_kinds!(u32, i32, "i32", Dtype::I32);
    integer_kinds!(u64, i64, "i64", Dtype::I64);
}

#[test]
fn float_additions_round_once_in_their_own_type() {
    let operands: Vec<f32> = (0..LANES).map(|i| 0.1 + 3f32 * (1 << (2 * i)) as f32).collect();
    let cells = [1.5f32, -3e4, 1e-3];
    assert_eq!(
        one_kind("fadd", "f32", Dtype::F32, &cells, &operands),
        model(0.0, &cells, &operands, |a, b| a + b)
    );
    let wide: Vec<f64> = operands.iter().map(|&x| f64::from(x) / 3.0).collect();
    let wide_cells = cells.map(f64::from);
    assert_eq!(
        one_kind("fadd", "f64", Dtype::F64, &wide_cells, &wide),
        model(0.0, &wide_cells, &wide, |a, b| a + b)
    );
    let half: Vec<F16> = operands.iter().map(|&x| F16::from_f32(x)).collect();
    let half_cells = cells.map(F16::from_f32);
    assert_eq!(
        one_kind("fadd", "f16", Dtype::F16, &half_cells, &half),
        model(F16(0), &half_cells, &half, |a, b| F16::from_f32(
            a.to_f32() + b.to_f32()
        ))
    );
    let brain: Vec<Bf16> = operands.iter().map(|&x| Bf16::from_f32(x)).collect();
    let brain_cells = cells.map(Bf16::from_f32);
    assert_eq!(
        one_kind("fadd", "bf16", Dtype::BF16, &brain_cells, &brain),
        model(Bf16(0), &brain_cells, &brain, |a, b| Bf16::from_f32(
            a.to_f32() + b.to_f32()
        ))
    );
}

#[test]
fn a_float_addition_keeps_subnormals_and_gives_the_canonical_nan() {
    let subnormal = f32::from_bits(3);
    let cells = [subnormal, f32::INFINITY, 1.0];
    let mut operands = [0.0f32; LANES];
    for lane in 0..LANES {
        operands[lane] = [subnormal, f32::NEG_INFINITY, -1.0][cell(lane)];
    }
    let (cells, _) = one_kind("fadd", "f32", Dtype::F32, &cells, &operands);
    assert_eq!(
        cells[0].to_bits(),
        3 + 3 * (0..LANES).filter(|&l| active(l) && cell(l) == 0).count() as u32
    );
    assert_eq!(cells[1].to_bits(), 0x7fff_ffff);
}

#[test]
fn a_float_exchange_moves_bits() {
    let cells = [1.0f32, 2.0, 3.0];
    let operands: [f32; LANES] = std::array::from_fn(|i| f32::from_bits(0xffc0_0000 + i as u32));
    let (got, _) = one_kind("exch", "f32", Dtype::F32, &cells, &operands);
    let bits: Vec<u32> = got.iter().map(|x| x.to_bits()).collect();
    let want = (0..3).map(|c| {
        let last = (0..LANES).rfind(|&lane| active(lane) && cell(lane) == c);
        0xffc0_0000 + last.unwrap() as u32
    });
    assert_eq!(bits, want.collect::<Vec<_>>());
}

#[test]
fn what_is_not_run_is_refused_by_name() {
    let body = "%v = tt.load %p : !tt.ptr<i1>
         %m = arith.constant true
         %o = tt.atomic_rmw exch, acq_rel, gpu, %p, %v, %m : (!tt.ptr<i1>, i1, i1) -> i1";
    let bench = Bench::new("%p: !tt.ptr<i1>", body, 1).tensor("p", Dtype::I1, &[0u8]);
    let error = bench.try_run(1).err().expect("refused");
    assert!(error.to_string().contains("tt.atomic_rmw"), "{error}");
}

/// 64 programs of 64 lanes each add `x` to cells `i % 7`.
fn scatter(ty: &str, kind: &str) -> String {
    format!(
        "%pid = tt.get_program_id x : i32
         %c64 = arith.constant 64 : i32
         %base = arith.muli %pid, %c64 : i32
         %r = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32>
         %bs = tt.splat %base : i32 -> tensor<64xi32>
         %i = arith.addi %bs, %r : tensor<64xi32>
         %xs = tt.splat %x : !tt.ptr<{ty}> -> tensor<64x!tt.ptr<{ty}>>
         %xa = tt.addptr %xs, %i : tensor<64x!tt.ptr<{ty}>>, tensor<64xi32>
         %v = tt.load %xa : tensor<64x!tt.ptr<{ty}>>
         %c7 = arith.constant dense<7> : tensor<64xi32>
         %c = arith.remsi %i, %c7 : tensor<64xi32>
         %ys = tt.splat %y : !tt.ptr<{ty}> -> tensor<64x!tt.ptr<{ty}>>
         %ya = tt.addptr %ys, %c : tensor<64x!tt.ptr<{ty}>>, tensor<64xi32>
         %t = arith.constant dense<true> : tensor<64xi1>
         %o = tt.atomic_rmw {kind}, relaxed, gpu, %ya, %v, %t : (tensor<64x!tt.ptr<{ty}>>, tensor<64x{ty}>, tensor<64xi1>) -> tensor<64x{ty}>"
    )
}

#[test]
fn float_additions_are_in_program_order_for_any_number_of_threads() {
    let x: Vec<f32> = (0..4096)
        .map(|i| (i % 37 - 18) as f32 * [1e-6, 1e-3, 1.0, 1e3, 1e6][i as usize % 5] / 3.0)
        .collect();
    let bench = Bench::new("%x: !tt.ptr<f32>, %y: !tt.ptr<f32>", &scatter("f32", "fadd"), 64)
        .tensor_as("x", Dtype::F32, Role::In, &[4096], &x)
        .tensor("y", Dtype::F32, &[0f32; 7]);
    let mut want = [0f32; 7];
    for (i, x) in x.iter().enumerate() {
        want[i % 7] += x;
    }
    for threads in [1, 2, 8] {
        assert_eq!(
            bench.run_on(threads).clean().read::<f32>(1),
            want,
            "{threads} threads"
        );
    }
}

/// Float additions are written down by parallel programs only if nothing else touches their tensor.
#[test]
fn updates_are_logged_where_nothing_else_touches_their_tensor() {
    let order = |body: &str| {
        let bench = Bench::new("%x: !tt.ptr<f32>, %y: !tt.ptr<f32>", body, 64)
            .tensor_as("x", Dtype::F32, Role::In, &[4096], &[1f32; 4096])
            .tensor("y", Dtype::F32, &[0f32; 7]);
        let listing = bench.listing();
        let order = listing.lines().find_map(|line| line.strip_prefix("order: "));
        (
            order.expect("an order").to_string(),
            // Plain accesses of what others update race, and are told.
            bench.run().read::<f32>(1),
        )
    };
    let alone = scatter("f32", "fadd");
    let (logged, sums) = order(&alone);
    assert_eq!(logged, "Logged");
    let read = format!("{alone}\n%z = tt.load %y : !tt.ptr<f32>\ntt.store %y, %z : !tt.ptr<f32>");
    assert_eq!(order(&read), (String::from("Sequential"), sums));
    let unknown = format!(
        "{alone}\n%a = tt.ptr_to_int %y : !tt.ptr<f32> -> i64
         %p = tt.int_to_ptr %a : i64 -> !tt.ptr<f32>
         %z = tt.load %p : !tt.ptr<f32>
         tt.store %p, %z : !tt.ptr<f32>"
    );
    assert_eq!(order(&unknown).0, "Sequential");
}

/// What a worker has gathered is in memory before its program looks.
#[test]
fn a_program_sees_its_own_updates() {
    let body = "%c1 = arith.constant 1 : i32
         %t = arith.constant true
         %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
         %c7 = arith.constant dense<7> : tensor<64xi32>
         %i = arith.remsi %r, %c7 : tensor<64xi32>
         %ps = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
         %pa = tt.addptr %ps, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
         %ones = arith.constant dense<1> : tensor<64xi32>
         %ts = arith.constant dense<true> : tensor<64xi1>
         %o = tt.atomic_rmw add, relaxed, gpu, %pa, %ones, %ts : (tensor<64x!tt.ptr<i32>>, tensor<64xi32>, tensor<64xi1>) -> tensor<64xi32>
         %v = tt.load %p : !tt.ptr<i32>
         tt.store %q, %v : !tt.ptr<i32>
         %o2 = tt.atomic_rmw max, relaxed, gpu, %q, %c1, %t : (!tt.ptr<i32>, i32, i1) -> i32";
    let bench = Bench::new("%p: !tt.ptr<i32>, %q: !tt.ptr<i32>", body, 1)
        .tensor("p", Dtype::I32, &[100i32; 7])
        .tensor("q", Dtype::I32, &[0i32]);
    let ran = bench.run().clean();
    assert_eq!(ran.read::<i32>(0), [110, 109, 109, 109, 109, 109, 109]);
    assert_eq!(ran.read::<i32>(1), [110]);
}

#[test]
fn integer_additions_in_parallel_lose_nothing() {
    let x: Vec<i32> = (0..4096).map(|i| i * 31 % 1001 - 500).collect();
    let bench = Bench::new("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>", &scatter("i32", "add"), 64)
        .tensor_as("x", Dtype::I32, Role::In, &[4096], &x)
        .tensor("y", Dtype::I32, &[0i32; 7]);
    let mut want = [0i32; 7];
    for (i, x) in x.iter().enumerate() {
        want[i % 7] += x;
    }
    for _ in 0..20 {
        assert_eq!(bench.run_on(8).clean().read::<i32>(1), want);
    }
}

#[test]
fn lanes_of_one_element_merge_and_faulty_ones_do_not() {
    // 5 elements below 64 lanes of 64 programs; lanes whose `i % 7` is 5 or 6 are out of bounds.
    type Kind = (&'static str, i32, fn(i32, i32) -> i32);
    let kinds: [Kind; 8] = [
        ("add", 3, |a, b| a.wrapping_add(b)),
        ("and", -1, |a, b| a & b),
        ("or", 0, |a, b| a | b),
        ("xor", 9, |a, b| a ^ b),
        ("max", -1000, i32::max),
        ("min", 1000, i32::min),
        ("umax", 1, |a, b| (a as u32).max(b as u32) as i32),
        ("umin", -1, |a, b| (a as u32).min(b as u32) as i32),
    ];
    let x = |i: i32| (i * 31 % 1001 - 500) | 1 << (i % 13);
    // Of both signs, or of one.
    let signs: [fn(i32) -> i32; 3] = [|x| x, |x| x | i32::MIN, |x| x & i32::MAX];
    for ((kind, before, new), sign) in kinds.into_iter().flat_map(|kind| signs.map(|sign| (kind, sign))) {
        let x: Vec<i32> = (0..4096).map(x).map(sign).collect();
        let ran = Bench::new("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>", &scatter("i32", kind), 64)
            .tensor_as("x", Dtype::I32, Role::In, &[4096], &x)
            .tensor("y", Dtype::I32, &[before; 5])
            .run_on(8);
        let mut want = [before; 5];
        for (i, &x) in x.iter().enumerate().filter(|(i, _)| i % 7 < 5) {
            want[i % 7] = new(want[i % 7], x);
        }
        assert_eq!(ran.read::<i32>(1), want, "{kind}");
        let outside = (0..4096).filter(|i| i % 7 >= 5).count() as u64;
        assert_eq!(ran.checks(), [(Check::OobAtomic, outside)], "{kind}");
        assert_eq!(ran.finding().lane.as_deref(), Some(&[5u32][..]));
    }
}

#[test]
fn exchanges_end_with_the_last_programs_values() {
    let x: Vec<i32> = (0..4096).collect();
    let bench = Bench::new("%x: !tt.ptr<i32>, %y: !tt.ptr<i32>", &scatter("i32", "exch"), 64)
        .tensor_as("x", Dtype::I32, Role::In, &[4096], &x)
        .tensor("y", Dtype::I32, &[0i32; 7]);
    let want: Vec<i32> = (0..7).map(|c| (0..4096).rfind(|i| i % 7 == c).unwrap()).collect();
    for _ in 0..5 {
        assert_eq!(bench.run_on(8).clean().read::<i32>(1), want);
    }
}

#[test]
fn updates_that_do_not_commute_are_in_program_order() {
    // An addition and a maximum on one cell: the result depends on their order.
    let body = "%pid = tt.get_program_id x : i32
         %m = arith.constant true
         %a = tt.atomic_rmw add, relaxed, gpu, %p, %pid, %m : (!tt.ptr<i32>, i32, i1) -> i32
         %c = arith.constant 100 : i32
         %l = arith.subi %c, %pid : i32
         %b = tt.atomic_rmw max, relaxed, gpu, %p, %l, %m : (!tt.ptr<i32>, i32, i1) -> i32";
    let bench = Bench::new("%p: !tt.ptr<i32>", body, 500).tensor("p", Dtype::I32, &[0i32]);
    let want = (0..500).fold(0, |p, i| (p + i).max(100 - i));
    for _ in 0..5 {
        assert_eq!(bench.run_on(8).clean().read::<i32>(0), [want]);
    }
}

const LOCK: &str = "%c0 = arith.constant 0 : i32
     %c1 = arith.constant 1 : i32
     %m = arith.constant true
     scf.while : () -> () {
       %o = tt.atomic_cas acq_rel, gpu, %lock, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32
       %held = arith.cmpi eq, %o, %c1 : i32
       scf.condition(%held)
     } do {
       scf.yield
     }";

#[test]
fn a_spin_lock_is_taken_by_all_programs() {
    let body = format!(
        "{LOCK}
         %pid = tt.get_program_id x : i32
         %s = tt.load %sum : !tt.ptr<i32>
         %t = arith.addi %s, %pid : i32
         tt.store %sum, %t : !tt.ptr<i32>
         %o = tt.atomic_rmw exch, acq_rel, gpu, %lock, %c0, %m : (!tt.ptr<i32>, i32, i1) -> i32"
    );
    let bench = Bench::new("%lock: !tt.ptr<i32>, %sum: !tt.ptr<i32>", &body, 300)
        .tensor("lock", Dtype::I32, &[0i32])
        .tensor("sum", Dtype::I32, &[0i32]);
    for threads in [1, 8] {
        let ran = bench.run_on(threads).clean();
        assert_eq!(
            (ran.read::<i32>(0), ran.read::<i32>(1)),
            (vec![0], vec![300 * 299 / 2])
        );
    }
}

#[test]
fn a_lock_that_nobody_releases_is_a_deadlock() {
    let bench = Bench::new("%lock: !tt.ptr<i32>", LOCK, 3).tensor("lock", Dtype::I32, &[1i32]);
    let ran = bench.run();
    assert_eq!((ran.finding().check, ran.finding().count), (Check::Deadlock, 3));
}

#[test]
fn many_programs_that_wait_in_vain_end_soon() {
    // Together they would execute 400 times the limit.
    let mut bench = Bench::new("%lock: !tt.ptr<i32>", LOCK, 400).tensor("lock", Dtype::I32, &[1i32]);
    bench.options.max_steps = 1_000_000;
    let ran = bench.run();
    assert_eq!((ran.finding().check, ran.finding().count), (Check::Deadlock, 400));
    assert_eq!(ran.finding().program, Some([0, 0, 0]));
}

#[test]
fn who_waits_long_without_writing_still_gets_there() {
    // All but the last program wait for the flag that it sets after 20,000 looks of its own.
    let body = "%pid = tt.get_program_id x : i32
         %c0 = arith.constant 0 : i32
         %c1 = arith.constant 1 : i32
         %c199 = arith.constant 199 : i32
         %many = arith.constant 20000 : i32
         %m = arith.constant true
         %last = arith.cmpi eq, %pid, %c199 : i32
         scf.if %last {
           scf.for %i = %c0 to %many step %c1 : i32 {
             %look = tt.atomic_load relaxed, gpu, %flag, %m : (!tt.ptr<i32>, i1) -> i32
           }
           %set = tt.atomic_rmw exch, release, gpu, %flag, %c1, %m : (!tt.ptr<i32>, i32, i1) -> i32
         } else {
           %hit = tt.atomic_poll acquire, gpu, %flag, %c1 : !tt.ptr<i32>, i32 -> i1
         }
         %n = tt.atomic_rmw add, relaxed, gpu, %done, %c1, %m : (!tt.ptr<i32>, i32, i1) -> i32";
    let ran = Bench::new("%flag: !tt.ptr<i32>, %done: !tt.ptr<i32>", body, 200)
        .tensor("flag", Dtype::I32, &[0i32])
        .tensor("done", Dtype::I32, &[0i32])
        .run()
        .clean();
    assert_eq!(ran.read::<i32>(1), [200]);
}

#[test]
fn tickets_are_handed_out_once_each() {
    let body = "%c1 = arith.constant 1 : i32
         %m = arith.constant true
         %pid = tt.get_program_id x : i32
         %t = tt.atomic_rmw add, acq_rel, gpu, %counter, %c1, %m : (!tt.ptr<i32>, i32, i1) -> i32
         %a = tt.addptr %owner, %t : !tt.ptr<i32>, i32
         tt.store %a, %pid : !tt.ptr<i32>";
    let bench = Bench::new("%counter: !tt.ptr<i32>, %owner: !tt.ptr<i32>", body, 200)
        .tensor("counter", Dtype::I32, &[0i32])
        .tensor_as("owner", Dtype::I32, Role::Out, &[200], &[-1i32; 200]);
    for threads in [1, 8] {
        let ran = bench.run_on(threads).clean();
        assert_eq!(ran.read::<i32>(0), [200]);
        assert_eq!(ran.read::<i32>(1), (0..200).collect::<Vec<i32>>());
    }
}

#[test]
fn a_program_waits_for_a_later_ones_flag() {
    // Program i waits until program i + 1 has set its flag, so all but the last start in vain.
    let body = "%pid = tt.get_program_id x : i32
         %c0 = arith.constant 0 : i32
         %c1 = arith.constant 1 : i32
         %c99 = arith.constant 99 : i32
         %m = arith.constant true
         %next = arith.addi %pid, %c1 : i32
         %nf = tt.addptr %flags, %next : !tt.ptr<i32>, i32
         %waits = arith.cmpi slt, %pid, %c99 : i32
         scf.if %waits {
           scf.while : () -> () {
             %f = tt.atomic_rmw add, acq_rel, gpu, %nf, %c0, %m : (!tt.ptr<i32>, i32, i1) -> i32
             %unset = arith.cmpi eq, %f, %c0 : i32
             scf.condition(%unset)
           } do {
             scf.yield
           }
         }
         %na = tt.addptr %totals, %next : !tt.ptr<i32>, i32
         %t = tt.load %na : !tt.ptr<i32>
         %u = arith.addi %t, %next : i32
         %ta = tt.addptr %totals, %pid : !tt.ptr<i32>, i32
         tt.store %ta, %u : !tt.ptr<i32>
         %fa = tt.addptr %flags, %pid : !tt.ptr<i32>, i32
         %x = tt.atomic_rmw exch, acq_rel, gpu, %fa, %c1, %m : (!tt.ptr<i32>, i32, i1) -> i32";
    let ran = Bench::new("%flags: !tt.ptr<i32>, %totals: !tt.ptr<i32>", body, 100)
        .tensor("flags", Dtype::I32, &[0i32; 101])
        .tensor("totals", Dtype::I32, &[0i32; 101])
        .run()
        .clean();
    let want: Vec<i32> = (0..=100).map(|i| (i + 1..=100).sum()).collect();
    assert_eq!(ran.read::<i32>(1), want);
}

/// 64 programs meet at a barrier, waiting as `wait` says; then each reads what its neighbour wrote.
fn barrier(wait: &str) {
    let body = format!(
        "%pid = tt.get_program_id x : i32
         %c0 = arith.constant 0 : i32
         %c1 = arith.constant 1 : i32
         %c64 = arith.constant 64 : i32
         %m = arith.constant true
         %xa = tt.addptr %x, %pid : !tt.ptr<i32>, i32
         tt.store %xa, %pid : !tt.ptr<i32>
         %arrive = tt.atomic_rmw add, acq_rel, gpu, %count, %c1, %m : (!tt.ptr<i32>, i32, i1) -> i32
         {wait}
         %next = arith.addi %pid, %c1 : i32
         %n = arith.remsi %next, %c64 : i32
         %na = tt.addptr %x, %n : !tt.ptr<i32>, i32
         %v = tt.load %na : !tt.ptr<i32>
         %ya = tt.addptr %y, %pid : !tt.ptr<i32>, i32
         tt.store %ya, %v : !tt.ptr<i32>"
    );
    let parameters = "%count: !tt.ptr<i32>, %x: !tt.ptr<i32>, %y: !tt.ptr<i32>";
    let bench = Bench::new(parameters, &body, 64)
        .tensor("count", Dtype::I32, &[0i32])
        .tensor("x", Dtype::I32, &[-1i32; 64])
        .tensor("y", Dtype::I32, &[-1i32; 64]);
    for threads in [1, 8] {
        let ran = bench.run_on(threads).clean();
        let want: Vec<i32> = (0..64).map(|i| (i + 1) % 64).collect();
        assert_eq!(ran.read::<i32>(2), want);
    }
}

#[test]
fn programs_meet_at_a_spin_barrier() {
    barrier(
        "scf.while : () -> () {
           %k = tt.atomic_load acquire, gpu, %count, %m : (!tt.ptr<i32>, i1) -> i32
           %wait = arith.cmpi slt, %k, %c64 : i32
           scf.condition(%wait)
         } do {
           scf.yield
         }",
    );
}

#[test]
fn programs_meet_at_a_volatile_spin_barrier() {
    barrier(
        "scf.while : () -> () {
           %k = tt.load %count {isVolatile = true} : !tt.ptr<i32>
           %wait = arith.cmpi slt, %k, %c64 : i32
           scf.condition(%wait)
         } do {
           scf.yield
         }
         %seen = tt.atomic_rmw add, acquire, gpu, %count, %c0, %m : (!tt.ptr<i32>, i32, i1) -> i32",
    );
}

#[test]
fn programs_meet_by_polling() {
    barrier("%done = tt.atomic_poll acquire, gpu, %count, %c64 : !tt.ptr<i32>, i32 -> i1");
}

/// One program polls four cells, of which the last never comes to hold what is expected.
fn poll(limit: &str, cells: [i64; 4]) -> Bench {
    let body = format!(
        "%r = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
         %ps = tt.splat %p : !tt.ptr<i64> -> tensor<4x!tt.ptr<i64>>
         %pa = tt.addptr %ps, %r : tensor<4x!tt.ptr<i64>>, tensor<4xi32>
         %e = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
         %t = arith.constant 50000 : i64
         %hit = tt.atomic_poll acquire, gpu, %pa, %e {limit} : tensor<4x!tt.ptr<i64>>, tensor<4xi64> -> tensor<4xi1>
         %h = arith.extui %hit : tensor<4xi1> to tensor<4xi32>
         %os = tt.splat %out : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
         %oa = tt.addptr %os, %r : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
         tt.store %oa, %h : tensor<4x!tt.ptr<i32>>"
    );
    let mut bench = Bench::new("%p: !tt.ptr<i64>, %out: !tt.ptr<i32>", &body, 1)
        .tensor_as("p", Dtype::I64, Role::In, &[4], &cells)
        .tensor("out", Dtype::I32, &[7i32; 4]);
    bench.options.max_steps = 1000;
    bench
}

#[test]
fn a_poll_ends_when_all_match_or_time_is_up_or_by_the_step_limit() {
    let ran = poll("", [1, 2, 3, 4]).run().clean();
    assert_eq!(ran.read::<i32>(1), [1, 1, 1, 1]);
    let ran = poll("timeout %t", [1, 2, 3, 5]).run().clean();
    assert_eq!(ran.read::<i32>(1), [1, 1, 1, 0]);
    let ran = poll("", [1, 2, 3, 5]).run();
    assert_eq!(ran.finding().check, Check::StepLimit);
}

#[test]
fn a_poll_outside_the_tensor_is_reported_once_and_does_not_wait() {
    let short = Bench::new(
        "%p: !tt.ptr<i64>, %out: !tt.ptr<i32>",
        "%c1 = arith.constant 1 : i32
         %e = arith.constant 9 : i64
         %q = tt.addptr %p, %c1 : !tt.ptr<i64>, i32
         %hit = tt.atomic_poll acquire, gpu, %q, %e : !tt.ptr<i64>, i64 -> i1
         %h = arith.extui %hit : i1 to i32
         tt.store %out, %h : !tt.ptr<i32>",
        1,
    )
    .tensor("p", Dtype::I64, &[9i64])
    .tensor("out", Dtype::I32, &[7i32]);
    let ran = short.run();
    assert_eq!(ran.checks(), [(Check::OobAtomic, 1)]);
    assert_eq!(ran.read::<i32>(1), [0]);
}

#[test]
fn compare_and_swap_on_a_tile_goes_lane_by_lane() {
    // All lanes on one cell: lane i swaps i for i + 1, so each finds what the one before it left.
    let body = "%r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
         %one = arith.constant dense<1> : tensor<8xi32>
         %n = arith.addi %r, %one : tensor<8xi32>
         %ps = tt.splat %p : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
         %o = tt.atomic_cas acq_rel, gpu, %ps, %r, %n : (tensor<8x!tt.ptr<i32>>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
         %os = tt.splat %out : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
         %oa = tt.addptr %os, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
         tt.store %oa, %o : tensor<8x!tt.ptr<i32>>";
    let ran = Bench::new("%p: !tt.ptr<i32>, %out: !tt.ptr<i32>", body, 1)
        .tensor("p", Dtype::I32, &[0i32])
        .tensor("out", Dtype::I32, &[-1i32; 8])
        .run()
        .clean();
    assert_eq!(ran.read::<i32>(0), [8]);
    assert_eq!(ran.read::<i32>(1), (0..8).collect::<Vec<i32>>());
}

#[test]
fn atomic_loads_and_stores_obey_the_mask() {
    let body = "%r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
         %c2 = arith.constant dense<2> : tensor<4xi32>
         %m = arith.cmpi slt, %r, %c2 : tensor<4xi32>
         %ps = tt.splat %p : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
         %pa = tt.addptr %ps, %r : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
         %v = tt.atomic_load relaxed, gpu, %pa, %m : (tensor<4x!tt.ptr<f32>>, tensor<4xi1>) -> tensor<4xf32>
         %os = tt.splat %out : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
         %oa = tt.addptr %os, %r : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
         tt.store %oa, %v : tensor<4x!tt.ptr<f32>>
         tt.atomic_store release, gpu, %pa, %v, %m : tensor<4x!tt.ptr<f32>>
         %c9 = arith.constant dense<9.0> : tensor<4xf32>
         %qs = tt.splat %q : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
         %qa = tt.addptr %qs, %r : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
         tt.atomic_store release, gpu, %qa, %c9, %m : tensor<4x!tt.ptr<f32>>";
    let ran = Bench::new("%p: !tt.ptr<f32>, %out: !tt.ptr<f32>, %q: !tt.ptr<f32>", body, 1)
        .tensor("p", Dtype::F32, &[1f32, 2.0, 3.0, 4.0])
        .tensor("out", Dtype::F32, &[7f32; 4])
        .tensor("q", Dtype::F32, &[0f32; 4])
        .run()
        .clean();
    assert_eq!(ran.read::<f32>(1), [1.0, 2.0, 0.0, 0.0]);
    assert_eq!(ran.read::<f32>(2), [9.0, 9.0, 0.0, 0.0]);
}

/// Four lanes add 1 at `p + first`, of `size` elements, and the old values are stored.
fn add_at(pointer: &str, size: usize, role: Role) -> harness::Ran {
    let body = format!(
        "%r = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
         {pointer}
         %one = arith.constant dense<1> : tensor<4xi32>
         %t = arith.constant dense<true> : tensor<4xi1>
         %o = tt.atomic_rmw add, acq_rel, gpu, %a, %one, %t : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>, tensor<4xi1>) -> tensor<4xi32>
         %os = tt.splat %out : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
         %oa = tt.addptr %os, %r : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
         tt.store %oa, %o : tensor<4x!tt.ptr<i32>>"
    );
    Bench::new("%p: !tt.ptr<i32>, %out: !tt.ptr<i32>", &body, 1)
        .tensor_as("p", Dtype::I32, role, &[size as i64], &vec![5i32; size])
        .tensor("out", Dtype::I32, &[7i32; 4])
        .run()
}

const PLAIN: &str = "%ps = tt.splat %p : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %a = tt.addptr %ps, %r : tensor<4x!tt.ptr<i32>>, tensor<4xi32>";

#[test]
fn faulty_lanes_are_reported_do_nothing_and_give_zero() {
    let ran = add_at(PLAIN, 2, Role::InOut);
    let finding = ran.finding();
    assert_eq!((finding.check, finding.count), (Check::OobAtomic, 2));
    assert_eq!(finding.lane.as_deref(), Some(&[2u32][..]));
    assert_eq!(finding.byte_offset, Some(8));
    assert_eq!(ran.read::<i32>(0), [6, 6]);
    assert_eq!(ran.read::<i32>(1), [5, 5, 0, 0]);

    let ran = add_at(PLAIN, 4, Role::In);
    assert_eq!(ran.checks(), [(Check::StoreToInput, 4)]);
    assert_eq!(ran.read::<i32>(0), [5; 4]);

    let wild = "%c = arith.constant dense<64> : tensor<4xi64>
        %a = tt.int_to_ptr %c : tensor<4xi64> -> tensor<4x!tt.ptr<i32>>";
    let ran = add_at(wild, 4, Role::InOut);
    assert_eq!(ran.checks(), [(Check::WildPointer, 4)]);

    let askew = "%b = tt.bitcast %p : !tt.ptr<i32> -> !tt.ptr<i8>
        %c1 = arith.constant 1 : i32
        %b1 = tt.addptr %b, %c1 : !tt.ptr<i8>, i32
        %q = tt.bitcast %b1 : !tt.ptr<i8> -> !tt.ptr<i32>
        %ps = tt.splat %q : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
        %a = tt.addptr %ps, %r : tensor<4x!tt.ptr<i32>>, tensor<4xi32>";
    let ran = add_at(askew, 8, Role::InOut);
    assert_eq!(ran.checks(), [(Check::Misaligned, 4)]);
    assert_eq!(ran.read::<i32>(0), [5; 8]);
}

#[test]
fn what_atomics_write_counts_as_written() {
    let ran = add_at(PLAIN, 8, Role::Out);
    let finding = ran.finding();
    assert_eq!((finding.check, finding.count), (Check::UnwrittenOutput, 4));
    assert_eq!(finding.element.as_deref(), Some(&[4i64][..]));
}

#[test]
fn an_undefined_operand_is_a_use_only_where_active() {
    // Lanes 0 and 1 divide by zero; only lane 1 takes part.
    let body = "%r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
         %d = arith.constant dense<[0, 0, 1, 2]> : tensor<4xi32>
         %v = arith.divsi %r, %d : tensor<4xi32>
         %m = arith.constant dense<[false, true, true, true]> : tensor<4xi1>
         %ps = tt.splat %p : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
         %o = tt.atomic_rmw add, acq_rel, gpu, %ps, %v, %m : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>, tensor<4xi1>) -> tensor<4xi32>";
    let ran = Bench::new("%p: !tt.ptr<i32>", body, 1)
        .tensor("p", Dtype::I32, &[0i32])
        .run();
    let finding = ran.finding();
    assert_eq!((finding.check, finding.count), (Check::DivByZero, 1));
    assert_eq!(finding.lane.as_deref(), Some(&[1u32][..]));
}

/// An atomic of one block reads what it writes, as one of the device does: what it found is not there any more when the
/// launch has ended, so births are looked for from the beginning.
#[test]
fn births_behind_an_exchange_are_looked_for_from_the_beginning() {
    for scope in ["cta", "gpu"] {
        let body = format!(
            "%m = arith.constant true
             %five = arith.constant 5.0 : f32
             %old = tt.atomic_rmw exch, relaxed, {scope}, %p, %five, %m : (!tt.ptr<f32>, f32, i1) -> f32
             %less = arith.subf %old, %five : f32
             %log = math.log %less : f32
             tt.store %y, %log : !tt.ptr<f32>"
        );
        let ran = Bench::new("%p: !tt.ptr<f32>, %y: !tt.ptr<f32>", &body, 1)
            .tensor("p", Dtype::F32, &[0f32])
            .tensor("y", Dtype::F32, &[0f32])
            .run();
        // The logarithm of 0 - 5, not that of 5 - 5: an infinity.
        assert!(ran.checks().is_empty(), "{scope}: {:?}", ran.checks());
        assert!(ran.outcome.asks_for_births(), "{scope}");
    }
}
