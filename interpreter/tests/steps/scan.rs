//! `tt.scan`, `tt.map_elementwise` and `tt.histogram` against plain loops.

use crate::bench::{Tile, noise, numbers, run, try_run, ty};

const SHAPES: [(&[usize], usize); 8] = [
    (&[1], 0),
    (&[16], 0),
    (&[64], 0),
    (&[4, 32], 1),
    (&[32, 4], 0),
    (&[2, 8, 4], 1),
    (&[4, 1], 1),
    (&[2, 4, 8], 2),
];

fn text(elem: &str, shape: &[usize], axis: usize, reverse: bool, body: &str) -> String {
    let whole = ty(elem, Some(shape));
    format!(
        "%out0 = \"tt.scan\"(%in0) <{{axis = {axis} : i32, reverse = {reverse}}}> ({{
         ^bb0(%a: {elem}, %b: {elem}):
           {body}
           tt.scan.return %r : {elem}
         }}) : ({whole}) -> {whole}"
    )
}

/// A running combination along an axis.
fn model<T: Copy>(lanes: &[T], shape: &[usize], axis: usize, reverse: bool, f: impl Fn(T, T) -> T) -> Vec<T> {
    let inner: usize = shape[axis + 1..].iter().product();
    let n = shape[axis];
    let mut out = lanes.to_vec();
    for lane in 0..lanes.len() {
        if !(lane / inner).is_multiple_of(n) {
            continue;
        }
        let at = |i: usize| lane + if reverse { n - 1 - i } else { i } * inner;
        for i in 1..n {
            out[at(i)] = f(out[at(i - 1)], lanes[at(i)]);
        }
    }
    out
}

#[test]
fn scans_run_along_any_axis_both_ways() {
    for (shape, axis) in SHAPES {
        for reverse in [false, true] {
            let x = Tile::f32(shape, numbers(5, shape.iter().product()));
            let wanted = [("f32", Some(shape))];
            let sum = run(
                std::slice::from_ref(&x),
                &wanted,
                &text("f32", shape, axis, reverse, "%r = arith.addf %a, %b : f32"),
            );
            let expected = model(&x.as_f32(), shape, axis, reverse, |a, b| a + b);
            assert_eq!(sum[0].as_f32(), expected, "{shape:?} {axis} {reverse}");
            // Not commutative, so it shows which argument is the running one.
            let body = "%h = arith.constant 5.000000e-01 : f32
                %s = arith.mulf %a, %h : f32
                %r = arith.subf %s, %b : f32";
            let other = run(
                std::slice::from_ref(&x),
                &wanted,
                &text("f32", shape, axis, reverse, body),
            );
            let expected = model(&x.as_f32(), shape, axis, reverse, |a, b| a * 0.5 - b);
            assert_eq!(other[0].as_f32(), expected, "{shape:?} {axis} {reverse}");
        }
    }
}

#[test]
fn loops_of_one_operation_have_the_bits_of_the_general_form() {
    for (elem, op) in [
        ("f32", "arith.addf"),
        ("f16", "arith.addf"),
        ("bf16", "arith.mulf"),
        ("f32", "arith.maxnumf"),
        ("f64", "arith.minimumf"),
        ("i32", "arith.muli"),
        ("i8", "arith.maxsi"),
        ("i1", "arith.ori"),
    ] {
        for (shape, axis) in SHAPES {
            for reverse in [false, true] {
                let mask = match elem {
                    "i1" => 1,
                    "i8" => 0xff,
                    "f16" | "bf16" => 0xffff,
                    "f32" | "i32" => 0xffff_ffff,
                    _ => u64::MAX,
                };
                let bits = noise(17, shape.iter().product()).into_iter().map(|b| b & mask);
                let x = [Tile::new(elem, shape, bits)];
                let single = format!("%r = {op} %a, %b : {elem}");
                let quick = run(
                    &x,
                    &[(elem, Some(shape))],
                    &text(elem, shape, axis, reverse, &single),
                );
                let two = format!("{single}\n%u = {op} %a, %a : {elem}");
                let general = run(
                    &x,
                    &[(elem, Some(shape))],
                    &text(elem, shape, axis, reverse, &two),
                );
                assert_eq!(quick, general, "{op} {elem} {shape:?} {axis} {reverse}");
            }
        }
    }
}

#[test]
fn two_operands_one_of_them_uniform() {
    // A linear recurrence h = a h + x: pairs (a, x) combine to (a1 a2, a2 x1 + x2).
    let x = Tile::f32(&[4, 16], numbers(2, 64));
    let body = "%c = arith.constant 5.000000e-01 : f32
        %t = tt.splat %c : f32 -> tensor<4x16xf32>
        %out0, %out1 = \"tt.scan\"(%t, %in0) <{axis = 1 : i32, reverse = false}> ({
        ^bb0(%a1: f32, %x1: f32, %a2: f32, %x2: f32):
          %a = arith.mulf %a1, %a2 : f32
          %m = arith.mulf %a2, %x1 : f32
          %x = arith.addf %m, %x2 : f32
          tt.scan.return %a, %x : f32, f32
        }) : (tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>)";
    let outs = run(
        std::slice::from_ref(&x),
        &[("f32", Some(&[4, 16])), ("f32", Some(&[4, 16]))],
        body,
    );
    let pairs: Vec<(f32, f32)> = x.as_f32().into_iter().map(|x| (0.5, x)).collect();
    let expected = model(&pairs, &[4, 16], 1, false, |a, b| (a.0 * b.0, b.0 * a.1 + b.1));
    let got: Vec<(f32, f32)> = outs[0].as_f32().into_iter().zip(outs[1].as_f32()).collect();
    assert_eq!(got, expected);
}

#[test]
fn an_undefined_lane_reaches_all_after_it() {
    let x = Tile::i32(&[16], 1..17);
    let mut divisors = vec![1; 16];
    divisors[6] = 0;
    let y = Tile::i32(&[16], divisors);
    for (region, reverse) in [
        ("%r = arith.addi %a, %b : i32", false),
        ("%n = arith.subi %a, %b : i32\n%r = arith.addi %n, %b : i32", true),
    ] {
        for (bound, found) in [(6, usize::from(reverse)), (7, 1)] {
            let scan = text("i32", &[16], 0, reverse, region)
                .replace("%in0", "%q")
                .replace("%out0", "%sum");
            let body = format!(
                "%q = arith.divsi %in0, %in1 : tensor<16xi32>
                 {scan}
                 %i = tt.make_range {{end = 16 : i32, start = 0 : i32}} : tensor<16xi32>
                 %k = arith.constant dense<{bound}> : tensor<16xi32>
                 %z = arith.constant dense<0> : tensor<16xi32>
                 %first = arith.cmpi slt, %i, %k : tensor<16xi32>
                 %out0 = arith.select %first, %sum, %z : tensor<16xi1>, tensor<16xi32>"
            );
            let ran = try_run(&[x.clone(), y.clone()], &[("i32", Some(&[16]))], &body)
                .unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(ran.findings.len(), found, "{region} {bound}");
        }
    }
}

#[test]
fn maps_take_several_lanes_at_once() {
    let x = Tile::i32(&[4, 8], noise(1, 32).into_iter().map(|b| (b % 50) as i32));
    let y = Tile::i32(&[4, 8], 0..32);
    let body = "%out0, %out1 = \"tt.map_elementwise\"(%in0, %in1) <{pack = 2 : i32}> ({
        ^bb0(%x0: i32, %x1: i32, %y0: i32, %y1: i32):
          %s = arith.addi %x0, %x1 : i32
          %d = arith.subi %y0, %x1 : i32
          tt.map_elementwise.return %s, %d, %y1, %s : i32, i32, i32, i32
        }) : (tensor<4x8xi32>, tensor<4x8xi32>) -> (tensor<4x8xi32>, tensor<4x8xi32>)";
    let outs = run(
        &[x.clone(), y.clone()],
        &[("i32", Some(&[4, 8])), ("i32", Some(&[4, 8]))],
        body,
    );
    for i in (0..32).step_by(2) {
        let [x0, x1, y0, y1] = [x.bits[i], x.bits[i + 1], y.bits[i], y.bits[i + 1]].map(|b| b as u32);
        let got = [
            outs[0].bits[i],
            outs[0].bits[i + 1],
            outs[1].bits[i],
            outs[1].bits[i + 1],
        ]
        .map(|b| b as u32);
        assert_eq!(
            got,
            [x0.wrapping_add(x1), y0.wrapping_sub(x1), y1, x0.wrapping_add(x1)]
        );
    }
}

#[test]
fn maps_may_branch_and_loop() {
    // The Collatz steps of each lane: a loop whose length depends on the lane, with early exits.
    let x = Tile::i32(&[16], 1..17);
    let body = "%one = arith.constant 1 : i32
        %out0 = \"tt.map_elementwise\"(%in0) <{pack = 1 : i32}> ({
        ^bb0(%x: i32):
          %zero = arith.constant 0 : i32
          %three = arith.constant 3 : i32
          cf.br ^bb1(%x, %zero : i32, i32)
        ^bb1(%n: i32, %steps: i32):
          %done = arith.cmpi eq, %n, %one : i32
          cf.cond_br %done, ^bb4(%steps : i32), ^bb2
        ^bb2:
          %odd = arith.andi %n, %one : i32
          %is_odd = arith.cmpi eq, %odd, %one : i32
          %more = arith.addi %steps, %one : i32
          %half = arith.shrsi %n, %one : i32
          cf.cond_br %is_odd, ^bb3, ^bb1(%half, %more : i32, i32)
        ^bb3:
          %tripled = arith.muli %n, %three : i32
          %next = arith.addi %tripled, %one : i32
          cf.br ^bb1(%next, %more : i32, i32)
        ^bb4(%r: i32):
          tt.map_elementwise.return %r : i32
        }) : (tensor<16xi32>) -> tensor<16xi32>";
    let outs = run(&[x], &[("i32", Some(&[16]))], body);
    let collatz = |mut n: u64| {
        let mut steps = 0;
        while n != 1 {
            n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
            steps += 1;
        }
        steps
    };
    assert_eq!(outs[0].bits, (1..17).map(collatz).collect::<Vec<u64>>());
}

#[test]
fn histograms_count_what_is_in_range_and_unmasked() {
    let values = [0, 1, 1, 3, -1, 4, 100, 3, 2, 3, 0, 0, 7, 3, 1, i32::MIN];
    let x = Tile::i32(&[16], values);
    let outs = run(
        std::slice::from_ref(&x),
        &[("i32", Some(&[4]))],
        "%out0 = tt.histogram %in0 : tensor<16xi32> -> tensor<4xi32>",
    );
    assert_eq!(outs[0].bits, [3, 3, 1, 4]);
    let mask = Tile::new("i1", &[16], (0..16).map(|i| u64::from(i < 8)));
    let body = "%out0 = tt.histogram %in0, %in1 : tensor<16xi32> -> tensor<4xi32>";
    let outs = run(&[x, mask], &[("i32", Some(&[4]))], body);
    assert_eq!(outs[0].bits, [1, 2, 0, 2]);
}

#[test]
fn an_undefined_value_may_be_counted_in_any_bin() {
    let x = Tile::i32(&[4], 1..5);
    let y = Tile::i32(&[4], [1, 0, 1, 1]);
    let text = |mask: &str| {
        format!(
            "%q = arith.remsi %in0, %in1 : tensor<4xi32>
             %m = arith.constant dense<{mask}> : tensor<4xi1>
             %out0 = tt.histogram %q, %m : tensor<4xi32> -> tensor<8xi32>"
        )
    };
    for (mask, found) in [("[true, true, true, true]", 1), ("[true, false, true, true]", 0)] {
        let ran = try_run(&[x.clone(), y.clone()], &[("i32", Some(&[8]))], &text(mask))
            .unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(ran.findings.len(), found, "{mask}");
    }
}
