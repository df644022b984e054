//! What the twin's bounds must allow, and what they must not say anything of: each kernel is written for one rule.

use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{CheckSet, Source};
use tilescope_difftest::twin::{Bounded, Prepared as Ready, Twin};
use tilescope_interpreter::{Control, Options, Prepared};
use tilescope_ir::{FuncId, VerifiedModule};
use tilescope_launch::{Bound, Launch, LaunchFile, Memory, NoFiles, Overrides, Signature};

fn module(body: &str) -> (VerifiedModule, FuncId) {
    let text = format!("module {{\n{body}\n}}\n");
    let parsed = tilescope_ir::text::parse(&Source::new("kernel.ttir".to_string(), text)).unwrap();
    let module = VerifiedModule::new(parsed).unwrap();
    let (kernel, _) = module.kernels().next().unwrap();
    (module, kernel)
}

fn bind(launch: &str, (module, kernel): (&VerifiedModule, FuncId)) -> Bound {
    let text = format!("kernel = \"kernel.ttir\"\n{launch}");
    let file = LaunchFile::parse(Source::new("kernel.launch.toml".to_string(), text)).unwrap();
    let signature = Signature::of(module, kernel);
    file.bind(&[signature], &Overrides::default()).unwrap()
}

fn run(twin: &Twin, launch: &Launch, memory: &mut Memory) {
    let control = Control {
        cancel: &AtomicBool::new(false),
        progress: &|_| (),
    };
    let options = Options {
        checks: CheckSet::NONE,
        ..Options::default()
    };
    Prepared::new(twin.module(), twin.kernel(), launch, options)
        .unwrap_or_else(|e| panic!("{e}"))
        .run(memory, &control)
        .unwrap();
}

fn ran(body: &str, launch: &str) -> (Ready, Twin) {
    let (module, kernel) = module(body);
    let bound = bind(launch, (&module, kernel));
    let memory = bound.allocate(&NoFiles, u64::MAX).unwrap();
    let twin = Twin::of(&module, kernel).unwrap_or_else(|e| panic!("{e}"));
    let mut ready = twin.prepare(&bound.launches[0], &memory).unwrap();
    run(&twin, &ready.launch, &mut ready.memory);
    (ready, twin)
}

/// The output `y` of one launch.
fn output(body: &str, launch: &str) -> Bounded {
    let outputs = ran(body, launch).0.outputs();
    outputs.into_iter().find(|o| o.tensor.name == "y").unwrap()
}

fn args(n: usize, fill: &str, rest: &str) -> String {
    format!(
        "grid = [1]\n[args]\nx = {{ dtype = \"f32\", shape = [{n}], role = \"in\", fill = \"{fill}\" }}\n{rest}"
    )
}

fn loaded(n: usize) -> String {
    format!(
        "%r = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32>
         %xs = tt.splat %x : !tt.ptr<f32> -> tensor<{n}x!tt.ptr<f32>>
         %xp = tt.addptr %xs, %r : tensor<{n}x!tt.ptr<f32>>, tensor<{n}xi32>
         %v = tt.load %xp : tensor<{n}x!tt.ptr<f32>>
         %ys = tt.splat %y : !tt.ptr<f32> -> tensor<{n}x!tt.ptr<f32>>
         %yp = tt.addptr %ys, %r : tensor<{n}x!tt.ptr<f32>>, tensor<{n}xi32>"
    )
}

fn combined(n: usize, code: &str, result: &str, end: &str) -> String {
    format!(
        "%s = \"{code}\"(%v) <{{axis = 0 : i32{}}}> ({{
         ^bb0(%a: f32, %b: f32):
           %c = arith.addf %a, %b : f32
           {end} %c : f32
         }}) : (tensor<{n}xf32>) -> {result}",
        if code == "tt.scan" {
            ", reverse = false"
        } else {
            ""
        }
    )
}

/// The sum of all lanes, as `%s`.
fn sum(n: usize) -> String {
    loaded(n) + "\n" + &combined(n, "tt.reduce", "f32", "tt.reduce.return")
}

fn function(params: &str, body: &str) -> String {
    format!("tt.func public @k({params}) {{\n{body}\ntt.return\n}}")
}

const FLOATS: &str = "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>";

fn is_within(output: &Bounded) -> bool {
    let mut lanes = output.got.iter().zip(&output.wide).zip(&output.error);
    lanes.all(|((got, wide), error)| (got - wide).abs() <= *error)
}

fn is_unknown(output: &Bounded) -> bool {
    output.error.iter().all(|error| error.is_nan())
}

/// 0.1 is rounded the same way again and again: the sum drifts by a whole unit for each addition.
#[test]
fn sums_may_drift_by_a_rounding_for_each_addition() {
    let n = 1024;
    let scan = loaded(n)
        + "\n"
        + &combined(n, "tt.scan", &format!("tensor<{n}xf32>"), "tt.scan.return")
        + &format!("\ntt.store %yp, %s : tensor<{n}x!tt.ptr<f32>>");
    let y = format!("y = {{ dtype = \"f32\", shape = [{n}], role = \"out\" }}");
    assert!(is_within(&output(
        &function(FLOATS, &scan),
        &args(n, "value(0.1)", &y)
    )));

    let n = 16384;
    let reduce = sum(n) + "\ntt.store %y, %s : !tt.ptr<f32>";
    let y = "y = { dtype = \"f32\", shape = [1], role = \"out\" }";
    let reduced = output(&function(FLOATS, &reduce), &args(n, "value(0.1)", y));
    assert!(is_within(&reduced));
    assert!(reduced.error[0] < 1e-3 * reduced.wide[0], "{reduced:?}");
}

#[test]
fn what_exact_operands_make_nan_is_nan_on_every_path() {
    let n = 16;
    let t = format!("tensor<{n}xf32>");
    let body = |made: &str| {
        function(
            FLOATS,
            &format!(
                "{}\n{made}\ntt.store %yp, %w : tensor<{n}x!tt.ptr<f32>>",
                loaded(n)
            ),
        )
    };
    let y = format!("y = {{ dtype = \"f32\", shape = [{n}], role = \"out\" }}");
    let run = |made: &str, fill: &str| output(&body(made), &args(n, fill, &y));
    let sure = |made: &str, fill: &str| {
        let output = run(made, fill);
        assert!(output.wide.iter().any(|w| w.is_nan()), "{made}: {output:?}");
        let mut lanes = output.wide.iter().zip(&output.error);
        lanes.all(|(w, e)| !w.is_nan() || *e == 0.0)
    };
    for made in [
        format!("%w = arith.addf %v, %v : {t}"),
        format!("%w = arith.mulf %v, %v : {t}"),
        format!("%w = arith.divf %v, %v : {t}"),
        format!("%w = math.exp %v : {t}"),
        format!("%w = math.fma %v, %v, %v : {t}"),
        format!(
            "{}\n%w = tt.splat %s : f32 -> {t}",
            combined(n, "tt.reduce", "f32", "tt.reduce.return")
        ),
    ] {
        assert!(sure(&made, "one_nan"), "{made}");
    }
    // -1 has no logarithm and no root; the difference of infinities is none.
    for made in [
        format!("%w = math.log %v : {t}"),
        format!("%w = math.sqrt %v : {t}"),
        format!("%i = math.log %z : {t}\n%w = arith.subf %i, %i : {t}"),
    ] {
        let made = format!("%z = arith.subf %v, %v : {t}\n{made}");
        assert!(sure(&made, "value(-1)"), "{made}");
    }
    // NaN times what is only nearly known is NaN too; whether what is nearly zero has a logarithm, each path decides.
    let near = format!("%tenth = arith.constant dense<0.1> : {t}\n%near = arith.mulf %tenth, %tenth : {t}");
    assert!(sure(
        &format!("{near}\n%w = arith.mulf %near, %v : {t}"),
        "one_nan"
    ));
    let open = [
        format!("%d = arith.subf %p, %q : {t}\n%w = math.log %d : {t}"),
        format!(
            "%d = arith.subf %p, %q : {t}\n%zero = arith.subf %p, %p : {t}\n%w = arith.divf %zero, %d : {t}"
        ),
    ];
    for made in open {
        // (0.1 + x) - x, and 0.1.
        let near = format!(
            "%p = arith.constant dense<0.1> : {t}\n%sum = arith.addf %p, %v : {t}\n%q = arith.subf %sum, %v : {t}"
        );
        let output = run(&format!("{near}\n{made}"), "value(1)");
        assert!(output.error.iter().all(|e| !e.is_finite()), "{made}: {output:?}");
    }
}

/// The sum times ten as an integer, a whole number or well between two.
fn place(more: f32) -> String {
    format!(
        "%ten = arith.constant 10.0 : f32
         %more = arith.constant {more:?} : f32
         %t = arith.mulf %s, %ten : f32
         %u = arith.addf %t, %more : f32
         %i = arith.fptosi %u : f32 to i32"
    )
}

const Y: &str = "y = { dtype = \"f32\", shape = [400], role = \"inout\", fill = \"zeros\" }";

#[test]
fn nothing_is_judged_where_another_path_stores_elsewhere() {
    let stores = [
        "%p = tt.addptr %y, %i : !tt.ptr<f32>, i32
         %one = arith.constant 1.0 : f32
         tt.store %p, %one : !tt.ptr<f32>",
        "%p = tt.addptr %y, %i : !tt.ptr<f32>, i32
         %one = arith.constant 1.0 : f32
         %on = arith.constant true
         %old = tt.atomic_rmw fadd, relaxed, gpu, %p, %one, %on : (!tt.ptr<f32>, f32, i1) -> f32",
        "%hundred = arith.constant 100 : i32
         %on = arith.cmpi sge, %i, %hundred : i32
         %one = arith.constant 1.0 : f32
         %old = tt.atomic_rmw fadd, relaxed, gpu, %y, %one, %on : (!tt.ptr<f32>, f32, i1) -> f32",
        "%hundred = arith.constant 100 : i32
         %on = arith.cmpi sge, %i, %hundred : i32
         %one = arith.constant 1.0 : f32
         scf.if %on {
           tt.store %y, %one : !tt.ptr<f32>
         }",
        "%zero = arith.constant 0 : i32
         %by = arith.constant 1 : i32
         %one = arith.constant 1.0 : f32
         scf.for %j = %zero to %i step %by : i32 {
           %p = tt.addptr %y, %j : !tt.ptr<f32>, i32
           tt.store %p, %one : !tt.ptr<f32>
         }",
        "%hundred = arith.constant 100 : i32
         %on = arith.cmpi sge, %i, %hundred : i32
         scf.if %on {
           tt.call @put(%y) : (!tt.ptr<f32>) -> ()
         }",
        "tt.call @put_at(%y, %i) : (!tt.ptr<f32>, i32) -> ()",
    ];
    let callees = "tt.func private @put(%p: !tt.ptr<f32>) {
           %one = arith.constant 1.0 : f32
           tt.store %p, %one : !tt.ptr<f32>
           tt.return
         }
         tt.func private @put_at(%p: !tt.ptr<f32>, %i: i32) {
           %q = tt.addptr %p, %i : !tt.ptr<f32>, i32
           %one = arith.constant 1.0 : f32
           tt.store %q, %one : !tt.ptr<f32>
           tt.return
         }\n";
    for store in stores {
        let text = |more: f32| {
            let body = format!("{}\n{}\n{store}", sum(128), place(more));
            format!("{callees}{}", function(FLOATS, &body))
        };
        // 128 times 0.1 ten times is a whole number, or half of one more.
        let launch = args(128, "value(0.1)", Y);
        let (near, twin) = ran(&text(0.0), &launch);
        assert!(near.is_elsewhere(), "{store}");
        assert!(near.outputs().iter().all(is_unknown), "{store}");
        let told = twin
            .notes()
            .iter()
            .any(|note| note.contains("no output is judged"));
        assert!(told, "{store}: {:?}", twin.notes());
        let (far, _) = ran(&text(0.5), &launch);
        assert!(!far.is_elsewhere(), "{store}");
        let y = &far.outputs()[0];
        assert!(y.error.iter().all(|e| e.is_finite()), "{store}: {y:?}");
        assert!(y.got.contains(&1.0), "{store}");
    }
}

#[test]
fn the_note_says_where_something_is_stored() {
    let body = format!(
        "{}\n{}\n%p = tt.addptr %y, %i : !tt.ptr<f32>, i32\ntt.store %p, %s : !tt.ptr<f32>",
        sum(128),
        place(0.0)
    );
    let (_, twin) = ran(&function(FLOATS, &body), &args(128, "value(0.1)", Y));
    assert!(
        twin.notes().iter().any(|note| note.contains("in `y`")),
        "{:?}",
        twin.notes()
    );
}

/// Integers are not judged either, though no float is stored: the branch may not be taken.
#[test]
fn integers_stored_in_a_branch_that_floats_decide() {
    let body = |more: f32| {
        let store = "%hundred = arith.constant 128 : i32
             %on = arith.cmpi sge, %i, %hundred : i32
             scf.if %on {
               tt.store %z, %hundred : !tt.ptr<i32>
             }";
        function(
            "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<i32>",
            &format!("{}\n{}\n{store}", sum(128), place(more)),
        )
    };
    let z = format!("{Y}\nz = {{ dtype = \"i32\", shape = [1], role = \"inout\", fill = \"zeros\" }}");
    let judged = |more: f32| {
        let outputs = ran(&body(more), &args(128, "value(0.1)", &z)).0.outputs();
        let z = outputs.into_iter().find(|o| o.tensor.name == "z").unwrap();
        z.error[0]
    };
    assert!(judged(0.0).is_nan());
    assert_eq!(judged(0.5), 0.0);
}

/// What one launch leaves in doubt is in doubt for the next.
#[test]
fn doubt_goes_on_to_the_next_launch() {
    let body = format!(
        "{}\n{}\n%p = tt.addptr %y, %i : !tt.ptr<f32>, i32\ntt.store %p, %s : !tt.ptr<f32>",
        sum(128),
        place(0.0)
    );
    let launch = args(128, "value(0.1)", Y);
    let (ready, _) = ran(&function(FLOATS, &body), &launch);
    let add = "%r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
         %ys = tt.splat %y : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
         %yp = tt.addptr %ys, %r : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
         %v = tt.load %yp : tensor<128x!tt.ptr<f32>>
         %w = arith.addf %v, %v : tensor<128xf32>
         tt.store %yp, %w : tensor<128x!tt.ptr<f32>>";
    let (module, kernel) = module(&function(FLOATS, add));
    let bound = bind(&launch, (&module, kernel));
    let twin = Twin::of(&module, kernel).unwrap();
    let mut ready = twin.prepare_after(&bound.launches[0], ready).unwrap();
    run(&twin, &ready.launch, &mut ready.memory);
    assert!(!ready.is_elsewhere());
    let outputs = ready.outputs();
    let y = outputs.iter().find(|o| o.tensor.name == "y").unwrap();
    assert!(is_unknown(y), "{y:?}");
}

/// Ones and a large number, added to one element by one program in the order of its lanes: had the large one come first, all
/// others would be lost.
#[test]
fn atomic_sums_are_bounded_in_any_order() {
    let n = 1024;
    let summands = format!(
        "%r = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32>
         %last = arith.constant dense<{}> : tensor<{n}xi32>
         %is = arith.cmpi eq, %r, %last : tensor<{n}xi32>
         %large = arith.constant dense<16777216.0> : tensor<{n}xf32>
         %one = arith.constant dense<1.0> : tensor<{n}xf32>
         %on = arith.constant dense<true> : tensor<{n}xi1>
         %v = arith.select %is, %large, %one : tensor<{n}xi1>, tensor<{n}xf32>
         %ys = tt.splat %y : !tt.ptr<f32> -> tensor<{n}x!tt.ptr<f32>>",
        n - 1
    );
    let add = |place: &str| {
        format!(
            "%old = tt.atomic_rmw fadd, relaxed, gpu, {place}, %v, %on : (tensor<{n}x!tt.ptr<f32>>, tensor<{n}xf32>, tensor<{n}xi1>) -> tensor<{n}xf32>"
        )
    };
    let launch = |count: usize| {
        args(
            1,
            "zeros",
            &format!("y = {{ dtype = \"f32\", shape = [{count}], role = \"inout\", fill = \"zeros\" }}"),
        )
    };
    let all = output(
        &function(FLOATS, &format!("{summands}\n{}", add("%ys"))),
        &launch(1),
    );
    assert!((1023.0..4096.0).contains(&all.error[0]), "{all:?}");

    // Each to an element of its own: rounded once.
    let apart = format!(
        "{summands}\n%yp = tt.addptr %ys, %r : tensor<{n}x!tt.ptr<f32>>, tensor<{n}xi32>\n{}",
        add("%yp")
    );
    let apart = output(&function(FLOATS, &apart), &launch(n));
    assert!(
        apart.error[0] > 0.0 && apart.error[0] < 4e-7,
        "{}",
        apart.error[0]
    );

    // What is loaded afterwards has the bound of the sum, and so has what another launch makes of it.
    let after = format!(
        "{summands}\n{}\n%s = tt.load %y : !tt.ptr<f32>\n%q = tt.addptr %y, %c : !tt.ptr<f32>, i32\ntt.store %q, %s : !tt.ptr<f32>",
        add("%ys")
    );
    let after = function(FLOATS, &format!("%c = arith.constant 1 : i32\n{after}"));
    let (ready, _) = ran(&after, &launch(2));
    let y = &ready.outputs()[0];
    assert!((1023.0..4096.0).contains(&y.error[1]), "{y:?}");
    let twice = "%v = tt.load %y : !tt.ptr<f32>
         %w = arith.addf %v, %v : f32
         tt.store %y, %w : !tt.ptr<f32>";
    let (module, kernel) = module(&function(FLOATS, twice));
    let bound = bind(&launch(2), (&module, kernel));
    let twin = Twin::of(&module, kernel).unwrap();
    let mut ready = twin.prepare_after(&bound.launches[0], ready).unwrap();
    run(&twin, &ready.launch, &mut ready.memory);
    let y = &ready.outputs()[0];
    assert!((2046.0..8192.0).contains(&y.error[0]), "{y:?}");
}

/// Programs take numbers from a counter that no float decides, beside integers that floats do: their places are known.
#[test]
fn numbers_of_a_counter_are_not_in_doubt() {
    let body = "%one = arith.constant 1 : i32
         %on = arith.constant true
         %c0 = arith.constant 0.5 : f32
         %v = tt.load %x : !tt.ptr<f32>
         %h = arith.mulf %v, %c0 : f32
         %i = arith.fptosi %h : f32 to i32
         tt.store %z, %i : !tt.ptr<i32>
         %at = tt.atomic_rmw add, relaxed, gpu, %n, %one, %on : (!tt.ptr<i32>, i32, i1) -> i32
         %p = tt.addptr %y, %at : !tt.ptr<f32>, i32
         tt.store %p, %v : !tt.ptr<f32>";
    let body = function(
        "%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<i32>, %n: !tt.ptr<i32>",
        body,
    );
    let rest = "z = { dtype = \"i32\", shape = [1], role = \"out\" }
n = { dtype = \"i32\", shape = [1], role = \"inout\", fill = \"zeros\" }";
    let (ready, _) = ran(&body, &args(1, "value(3)", &format!("{Y}\n{rest}")));
    assert!(!ready.is_elsewhere());
    assert!(ready.outputs().iter().all(|o| o.error.iter().all(|e| *e == 0.0)));
}

/// On a card, most functions of f32 take subnormal numbers for zero, and those of bf16 are computed in f32.
#[test]
fn functions_of_subnormals_may_be_zero() {
    let n = 64;
    for (number, code) in [("f32", "erf"), ("f32", "sin"), ("bf16", "erf"), ("bf16", "sin")] {
        let of_f32 = loaded(n)
            + &format!(
                "\n%w = math.{code} %v : tensor<{n}xf32>\ntt.store %yp, %w : tensor<{n}x!tt.ptr<f32>>"
            );
        let body = function(FLOATS, &of_f32).replace("f32", number);
        let y = format!("y = {{ dtype = \"f32\", shape = [{n}], role = \"out\" }}");
        let launch = args(n, "subnormal", &y).replace("f32", number);
        let output = output(&body, &launch);
        let mut lanes = output.wide.iter().zip(&output.error);
        assert!(lanes.all(|(wide, error)| wide.abs() <= *error), "{number} {code}");
    }
}

#[test]
fn powers_and_angles_of_subnormals_are_unknown() {
    let n = 64;
    for (code, operands) in [("pow", "%v, %h"), ("atan2", "%v, %h"), ("atan2", "%h, %v")] {
        let of = |fill: &str| {
            let body = loaded(n)
                + &format!(
                    "\n%h = arith.constant dense<1.5> : tensor<{n}xf32>
                     %w = tt.extern_elementwise {operands} {{libname = \"\", libpath = \"\", pure = true, symbol = \"__nv_{code}f\"}} : (tensor<{n}xf32>, tensor<{n}xf32>) -> tensor<{n}xf32>
                     tt.store %yp, %w : tensor<{n}x!tt.ptr<f32>>"
                );
            let y = format!("y = {{ dtype = \"f32\", shape = [{n}], role = \"out\" }}");
            output(&function(FLOATS, &body), &args(n, fill, &y))
        };
        assert!(is_unknown(&of("subnormal")), "{code} {operands}");
        assert!(!of("value(0.5)").error[0].is_nan(), "{code} {operands}");
        assert!(!of("value(0)").error[0].is_nan(), "{code} {operands}");
    }
}

/// What Triton's compiler makes of `x % z` in f32.
fn remainder_of_triton(x: f32, z: f32) -> f32 {
    let integer = f64::from((x / z).trunc());
    match z.is_infinite() {
        true => x,
        // The product is exact, and so is its sum in f64 where it matters.
        false => (f64::from(x) - integer * f64::from(z)) as f32,
    }
}

#[test]
fn remainders_may_have_another_integer() {
    let body = loaded(1)
        + "\n%zs = tt.splat %z : !tt.ptr<f32> -> tensor<1x!tt.ptr<f32>>
           %zv = tt.load %zs : tensor<1x!tt.ptr<f32>>
           %w = arith.remf %v, %zv : tensor<1xf32>
           tt.store %yp, %w : tensor<1x!tt.ptr<f32>>";
    let body = function("%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>", &body);
    let bounded = |x: f32, z: f32| {
        let rest = "y = { dtype = \"f32\", shape = [1], role = \"out\" }\nz = { dtype = \"f32\", shape = [1], role = \"in\", fill = ";
        let rest = format!("{rest}\"value({z:e})\" }}");
        output(&body, &args(1, &format!("value({x:e})"), &rest))
    };
    let mut apart = 0;
    let sizes = [1e-39_f32, 1.5e-8, 0.1, 0.3, 1.0, 4.7, 1e3, 1.5e6, 3.3e9, 2e30];
    for (x, z) in sizes.iter().flat_map(|&x| sizes.map(|z| (3.0 * x, z))) {
        for x in [x, -x] {
            let (got, output) = (f64::from(remainder_of_triton(x, z)), bounded(x, z));
            let distance = (got - output.wide[0]).abs();
            let error = output.error[0];
            assert!(
                distance <= error || !error.is_finite(),
                "{x:e} % {z:e}: {got:e}, {output:?}"
            );
            assert!(
                is_within(&output) || !error.is_finite(),
                "{x:e} % {z:e}: {output:?}"
            );
            apart += u32::from(got != output.wide[0]);
        }
    }
    assert!(apart > 30, "{apart}");
    // Where the quotient is no integer, nearly, the result is as exact as ever.
    assert!(bounded(7.5, 2.0).error[0] < 1e-6);
    // Zero times zero may be what the divisor is.
    let underflow = body.replace(
        "%w = arith.remf %v, %zv",
        "%m = arith.mulf %v, %v : tensor<1xf32>\n%w = arith.remf %zv, %m",
    );
    let rest = "y = { dtype = \"f32\", shape = [1], role = \"out\" }\nz = { dtype = \"f32\", shape = [1], role = \"in\", fill = \"value(1)\" }";
    assert!(is_unknown(&output(&underflow, &args(1, "value(1e-40)", rest))));
}
