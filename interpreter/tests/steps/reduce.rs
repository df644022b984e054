//! `tt.reduce` against a scalar model of its order.

use crate::bench::{Tile, Wanted, noise, numbers, run, try_run, try_run_with, ty};

/// The order that is promised: 16 partials in rising order, then halves.
fn model<T: Clone>(row: &[T], combine: &dyn Fn(&T, &T) -> T) -> T {
    let count = row.len().min(16);
    let mut partials = row[..count].to_vec();
    for (i, element) in row.iter().enumerate().skip(count) {
        partials[i % 16] = combine(&partials[i % 16], element);
    }
    while partials.len() > 1 {
        let half = partials.len() / 2;
        let (low, high) = partials.split_at(half);
        partials = low.iter().zip(high).map(|(a, b)| combine(a, b)).collect();
    }
    partials.remove(0)
}

/// Rows along an axis, outer-major.
fn rows<T: Clone>(lanes: &[T], shape: &[usize], axis: usize) -> Vec<Vec<T>> {
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let mut rows = Vec::new();
    for o in 0..outer {
        for i in 0..inner {
            rows.push(
                (0..shape[axis])
                    .map(|k| lanes[(o * shape[axis] + k) * inner + i].clone())
                    .collect(),
            );
        }
    }
    rows
}

fn without(shape: &[usize], axis: usize) -> Option<Vec<usize>> {
    let mut rest = shape.to_vec();
    rest.remove(axis);
    (!rest.is_empty()).then_some(rest)
}

/// A reduce of `%in0` along an axis.
fn text(elem: &str, shape: &[usize], axis: usize, body: &str) -> String {
    let (from, to) = (ty(elem, Some(shape)), ty(elem, without(shape, axis).as_deref()));
    format!(
        "%out0 = \"tt.reduce\"(%in0) <{{axis = {axis} : i32}}> ({{
         ^bb0(%a: {elem}, %b: {elem}):
           {body}
           tt.reduce.return %r : {elem}
         }}) : ({from}) -> {to}"
    )
}

const SHAPES: [(&[usize], usize); 12] = [
    (&[1], 0),
    (&[2], 0),
    (&[8], 0),
    (&[16], 0),
    (&[128], 0),
    (&[4, 64], 1),
    (&[64, 4], 0),
    (&[2, 8, 4], 1),
    (&[2, 64, 4], 1),
    (&[1, 32], 1),
    (&[8, 1], 1),
    (&[2, 4, 32], 2),
];

/// Bits that are sometimes NaN, zeros of both signs and infinities.
fn special_f32(seed: u64, lanes: usize) -> Vec<u64> {
    let specials = [
        0x7fc0_0001u32,
        0xffc0_0000,
        0,
        0x8000_0000,
        0x7f80_0000,
        0xff80_0000,
        1,
    ];
    numbers(seed, lanes)
        .into_iter()
        .zip(noise(seed + 1, lanes))
        .map(|(x, n)| match n % 11 {
            0 => u64::from(specials[(n >> 32) as usize % specials.len()]),
            _ => u64::from(x.to_bits()),
        })
        .collect()
}

#[test]
fn sums_follow_the_order_with_a_loop_and_with_any_region() {
    for (shape, axis) in SHAPES {
        let x = Tile::f32(shape, numbers(7, shape.iter().product()));
        let rest = without(shape, axis);
        let wanted: [Wanted<'_>; 1] = [("f32", rest.as_deref())];
        let expected: Vec<f32> = rows(&x.as_f32(), shape, axis)
            .iter()
            .map(|row| model(row, &|a, b| a + b))
            .collect();
        let loops = run(
            std::slice::from_ref(&x),
            &wanted,
            &text("f32", shape, axis, "%r = arith.addf %a, %b : f32"),
        );
        assert_eq!(loops[0].as_f32(), expected, "{shape:?} {axis}");
        // The negation keeps it from being a single operation.
        let body = "%n = arith.negf %b : f32\n%r = arith.subf %a, %n : f32";
        let general = run(&[x], &wanted, &text("f32", shape, axis, body));
        assert_eq!(general[0], loops[0], "{shape:?} {axis}");
    }
}

#[test]
fn loops_of_one_operation_have_the_bits_of_the_general_form() {
    let of = |elem: &'static str, ops: &[&'static str]| ops.iter().map(|&op| (elem, op)).collect::<Vec<_>>();
    let floats = [
        "arith.addf",
        "arith.mulf",
        "arith.maxnumf",
        "arith.minnumf",
        "arith.maximumf",
        "arith.minimumf",
    ];
    let integers = [
        "arith.addi",
        "arith.muli",
        "arith.maxsi",
        "arith.minsi",
        "arith.maxui",
        "arith.minui",
        "arith.andi",
        "arith.ori",
        "arith.xori",
    ];
    let mut cases = Vec::new();
    for elem in ["f16", "bf16", "f32", "f64"] {
        cases.extend(of(elem, &floats));
    }
    for elem in ["i1", "i8", "i16", "i32", "i64"] {
        cases.extend(of(elem, &integers));
    }
    for (case, (elem, op)) in cases.into_iter().enumerate() {
        for (shape, axis) in SHAPES {
            let lanes = shape.iter().product();
            let bits = match elem {
                "i1" => noise(case as u64, lanes).iter().map(|b| b & 1).collect(),
                "i8" => noise(case as u64, lanes).iter().map(|b| b & 0xff).collect(),
                "i16" | "f16" | "bf16" => noise(case as u64, lanes).iter().map(|b| b & 0xffff).collect(),
                "f32" => special_f32(case as u64, lanes),
                "i32" => noise(case as u64, lanes)
                    .iter()
                    .map(|b| b & 0xffff_ffff)
                    .collect(),
                _ => noise(case as u64, lanes),
            };
            let x = [Tile::new(elem, shape, bits)];
            let rest = without(shape, axis);
            let wanted: [Wanted<'_>; 1] = [(elem, rest.as_deref())];
            let quick = run(
                &x,
                &wanted,
                &text(elem, shape, axis, &format!("%r = {op} %a, %b : {elem}")),
            );
            let both = format!("%r = {op} %a, %b : {elem}\n%unused = {op} %a, %a : {elem}");
            let general = run(&x, &wanted, &text(elem, shape, axis, &both));
            assert_eq!(quick, general, "{op} {elem} {shape:?} {axis}");
        }
    }
}

#[test]
fn uniform_operands_count_as_often_as_they_are_there() {
    for body in [
        "%r = arith.addf %a, %b : f32",
        "%r = arith.addf %b, %a : f32\n%u = arith.negf %a : f32",
    ] {
        let splat = "%c = arith.constant 0x3DCCCCCD : f32
            %t = tt.splat %c : f32 -> tensor<4x64xf32>\n";
        let reduce = text("f32", &[4, 64], 1, body).replace("%in0", "%t");
        let outs = run(&[], &[("f32", Some(&[4]))], &(splat.to_string() + &reduce));
        assert_eq!(outs[0].as_f32(), [model(&[0.1f32; 64], &|a, b| a + b); 4]);
    }
}

#[test]
fn several_operands_and_uneven_results() {
    // Argmax with ties to the left: value and index, one operand uniform on purpose in a third place.
    for (shape, axis) in SHAPES {
        let lanes: usize = shape.iter().product();
        let x = Tile::i32(shape, noise(3, lanes).into_iter().map(|b| (b % 5) as i32));
        let index = Tile::i32(shape, 0..lanes as i32);
        let rest = without(shape, axis);
        let (from, to) = (ty("i32", Some(shape)), ty("i32", rest.as_deref()));
        let body = format!(
            "%one = arith.constant 1 : i32
             %t = tt.splat %one : i32 -> {from}
             %out0, %out1, %out2 = \"tt.reduce\"(%in0, %in1, %t) <{{axis = {axis} : i32}}> ({{
             ^bb0(%a: i32, %ai: i32, %ac: i32, %b: i32, %bi: i32, %bc: i32):
               %gt = arith.cmpi sgt, %a, %b : i32
               %eq = arith.cmpi eq, %a, %b : i32
               %lt = arith.cmpi slt, %ai, %bi : i32
               %tie = arith.andi %eq, %lt : i1
               %take = arith.ori %gt, %tie : i1
               %v = arith.select %take, %a, %b : i32
               %i = arith.select %take, %ai, %bi : i32
               %c = arith.addi %ac, %bc : i32
               tt.reduce.return %v, %i, %c : i32, i32, i32
             }}) : ({from}, {from}, {from}) -> ({to}, {to}, {to})"
        );
        let wanted: [Wanted<'_>; 3] = [("i32", rest.as_deref()); 3];
        let outs = run(&[x.clone(), index.clone()], &wanted, &body);
        let pairs: Vec<(i32, i32)> = x
            .bits
            .iter()
            .zip(&index.bits)
            .map(|(&a, &b)| (a as i32, b as i32))
            .collect();
        for (row, i) in rows(&pairs, shape, axis).iter().zip(0..) {
            let best = row
                .iter()
                .copied()
                .fold(row[0], |m, e| if e.0 > m.0 { e } else { m });
            let got = (
                outs[0].bits[i] as i32,
                outs[1].bits[i] as i32,
                outs[2].bits[i] as usize,
            );
            assert_eq!(got, (best.0, best.1, shape[axis]), "{shape:?} {axis}");
        }
    }
}

#[test]
fn regions_may_return_arguments_constants_and_one_value_twice() {
    for (shape, axis) in SHAPES {
        let lanes: usize = shape.iter().product();
        let x = Tile::i32(shape, 0..lanes as i32);
        let rest = without(shape, axis);
        let (from, to) = (ty("i32", Some(shape)), ty("i32", rest.as_deref()));
        let body = format!(
            "%k = arith.constant 5 : i32
             %out0, %out1, %out2, %out3 = \"tt.reduce\"(%in0, %in0, %in0, %in0) <{{axis = {axis} : i32}}> ({{
             ^bb0(%a: i32, %b: i32, %c: i32, %d: i32, %e: i32, %f: i32, %g: i32, %h: i32):
               %s = arith.addi %c, %g : i32
               tt.reduce.return %a, %s, %s, %f : i32, i32, i32, i32
             }}) : ({from}, {from}, {from}, {from}) -> ({to}, {to}, {to}, {to})"
        );
        let wanted: [Wanted<'_>; 4] = [("i32", rest.as_deref()); 4];
        let outs = run(std::slice::from_ref(&x), &wanted, &body);
        for (i, row) in rows(&x.bits, shape, axis).iter().enumerate() {
            // (a, b, c, d) of the sum and (e, f, g, h) of the element: first, sum, sum, second's element.
            let four: Vec<[u64; 4]> = row.iter().map(|&x| [x; 4]).collect();
            let end = model(&four, &|a, b| [a[0], a[2] + b[2], a[2] + b[2], b[1]]);
            let got: Vec<u64> = outs.iter().map(|t| t.bits[i]).collect();
            assert_eq!(got, end, "{shape:?} {axis}");
        }
        // A constant from outside the region.
        let constant =
            text("i32", shape, axis, "%r = arith.addi %k, %k : i32").replace("return %r", "return %k");
        let body = format!("%k = arith.constant 5 : i32\n{constant}");
        let outs = run(std::slice::from_ref(&x), &[("i32", rest.as_deref())], &body);
        let expected = rows(&x.bits, shape, axis)
            .iter()
            .map(|row| model(row, &|_, _| 5))
            .collect::<Vec<_>>();
        assert_eq!(outs[0].bits, expected);
    }
}

#[test]
fn branches_in_a_region_run_lane_by_lane() {
    for (shape, axis) in SHAPES {
        let lanes = shape.iter().product();
        let x = Tile::i32(shape, noise(9, lanes).into_iter().map(|b| (b % 100) as i32));
        let rest = without(shape, axis);
        let body = "%c = arith.cmpi slt, %a, %b : i32
            %r = scf.if %c -> (i32) {
              %x = arith.addi %a, %b : i32
              scf.yield %x : i32
            } else {
              %y = arith.subi %a, %b : i32
              scf.yield %y : i32
            }";
        let outs = run(
            std::slice::from_ref(&x),
            &[("i32", rest.as_deref())],
            &text("i32", shape, axis, body),
        );
        let expected: Vec<u64> = rows(&x.bits, shape, axis)
            .iter()
            .map(|row| {
                let row: Vec<i32> = row.iter().map(|&b| b as i32).collect();
                u64::from(model(&row, &|&a, &b| if a < b { a + b } else { a - b }) as u32)
            })
            .collect();
        assert_eq!(outs[0].bits, expected, "{shape:?} {axis}");
    }
}

/// Rows of 32 divided by a row with one zero in it, summed: only the zero's row is undefined.
fn undefined_rows(region: &str, axis: usize, stored: &str) -> usize {
    let x = Tile::i32(&[4, 32], 1..129);
    let mut divisors = vec![3; 128];
    divisors[2 * 32 + 17] = 0;
    let y = Tile::i32(&[4, 32], divisors);
    let reduced = text("i32", &[4, 32], axis, region)
        .replace("%in0", "%q")
        .replace("%out0", "%sum");
    let n = if axis == 1 { 4 } else { 32 };
    let body = format!(
        "%q = arith.divsi %in0, %in1 : tensor<4x32xi32>
         {reduced}
         %r = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32>
         %zero = arith.constant dense<0> : tensor<{n}xi32>
         {stored}
         %out0 = arith.select %keep, %sum, %zero : tensor<{n}xi1>, tensor<{n}xi32>"
    );
    let ran = try_run(&[x, y], &[("i32", Some(&[n]))], &body).unwrap_or_else(|error| panic!("{error:?}"));
    ran.findings.len()
}

#[test]
fn undefined_lanes_pass_through_to_their_row_alone() {
    let keep = |n: usize, row: usize, compare: &str| {
        format!(
            "%row = arith.constant dense<{row}> : tensor<{n}xi32>
             %keep = arith.cmpi {compare}, %r, %row : tensor<{n}xi32>"
        )
    };
    let branch = "%c = arith.cmpi slt, %a, %a : i32
        %r = scf.if %c -> (i32) {
          scf.yield %a : i32
        } else {
          %s = arith.addi %a, %b : i32
          scf.yield %s : i32
        }";
    for region in [
        "%r = arith.addi %a, %b : i32",
        "%s = arith.subi %a, %b : i32\n%r = arith.addi %s, %b : i32",
    ] {
        for (axis, n, row) in [(1, 4, 2), (0, 32, 17)] {
            assert_eq!(
                undefined_rows(region, axis, &keep(n, row, "eq")),
                1,
                "{region} {axis}"
            );
            assert_eq!(
                undefined_rows(region, axis, &keep(n, row, "ne")),
                0,
                "{region} {axis}"
            );
        }
    }
    // A branch on an undefined lane is a use of its own, reported once and defined from then on.
    assert_eq!(undefined_rows(branch, 1, &keep(4, 2, "ne")), 1);
}

#[test]
fn an_undefined_value_from_outside_reaches_every_row() {
    let x = Tile::i32(&[4, 32], 0..128);
    let zero = Tile {
        elem: "i32",
        shape: None,
        bits: vec![0],
    };
    let region = "%s = arith.addi %a, %b : i32\n%r = arith.addi %s, %sum : i32";
    let reduce = text("i32", &[4, 32], 1, region).replace("%out0", "%all");
    // The value from outside is undefined in its only lane, by both of its operands.
    let body = format!(
        "%d = arith.divsi %in1, %in1 : i32
         %sum = arith.addi %d, %d : i32
         {reduce}
         %i = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
         %three = arith.constant dense<3> : tensor<4xi32>
         %keep = arith.cmpi eq, %i, %three : tensor<4xi32>
         %out0 = arith.select %keep, %all, %three : tensor<4xi1>, tensor<4xi32>"
    );
    let ran = try_run(&[x, zero], &[("i32", Some(&[4]))], &body).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(ran.findings.len(), 1);
}

#[test]
fn a_region_may_call_a_function() {
    let functions = "tt.func private @less(%a: i32, %b: i32) -> i32 {
          %r = arith.subi %a, %b : i32
          tt.return %r : i32
        }
        tt.func private @sign(%a: i32) -> i32 {
          %zero = arith.constant 0 : i32
          %c = arith.cmpi slt, %a, %zero : i32
          cf.cond_br %c, ^bb1, ^bb2
        ^bb1:
          tt.return %zero : i32
        ^bb2:
          tt.return %a : i32
        }";
    for (shape, axis) in SHAPES {
        let lanes = shape.iter().product();
        let x = Tile::i32(shape, noise(4, lanes).into_iter().map(|b| (b % 100) as i32));
        let row = |f: &dyn Fn(&i32, &i32) -> i32| -> Vec<u64> {
            let lanes: Vec<i32> = x.bits.iter().map(|&b| b as i32).collect();
            rows(&lanes, shape, axis)
                .iter()
                .map(|row| u64::from(model(row, f) as u32))
                .collect()
        };
        let rest = without(shape, axis);
        let wanted: [Wanted<'_>; 1] = [("i32", rest.as_deref())];
        let plain = "%r = tt.call @less(%a, %b) : (i32, i32) -> i32";
        let branching = "%d = tt.call @less(%a, %b) : (i32, i32) -> i32
            %r = tt.call @sign(%d) : (i32) -> i32";
        for (body, f) in [
            (plain, &(|a: &i32, b: &i32| a - b) as &dyn Fn(&i32, &i32) -> i32),
            (branching, &|a, b| (a - b).max(0)),
        ] {
            let ran = try_run_with(
                std::slice::from_ref(&x),
                &wanted,
                &text("i32", shape, axis, body),
                functions,
            );
            let ran = ran.unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(ran.outs[0].bits, row(f), "{body} {shape:?} {axis}");
        }
    }
}
