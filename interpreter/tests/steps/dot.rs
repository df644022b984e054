//! `tt.dot` and `tt.dot_scaled` against naive loops of fused multiply-adds in rising k.

use crate::bench::{Tile, Wanted, noise, numbers, run, try_run, ty};
use tilescope_interpreter::num::{Bf16, F8E4M3, F8E5M2, F16, StoredFloat};

/// Lanes as f32 numbers.
fn widened(tile: &Tile) -> Vec<f32> {
    let lane = |&bits: &u64| match tile.elem {
        "f16" => F16(bits as u16).to_f32(),
        "bf16" => Bf16(bits as u16).to_f32(),
        "f8E4M3FN" => F8E4M3(bits as u8).to_f32(),
        "f8E5M2" => F8E5M2(bits as u8).to_f32(),
        _ => f32::from_bits(bits as u32),
    };
    tile.bits.iter().map(lane).collect()
}

fn narrowed(elem: &str, x: f32) -> u64 {
    match elem {
        "f16" => u64::from(F16::from_f32(x).0),
        "bf16" => u64::from(Bf16::from_f32(x).0),
        "f8E4M3FN" => u64::from(F8E4M3::from_f32(x).0),
        "f8E5M2" => u64::from(F8E5M2::from_f32(x).0),
        _ => u64::from(x.to_bits()),
    }
}

fn tile(elem: &'static str, shape: &[usize], seed: u64) -> Tile {
    let lanes = shape.iter().product();
    Tile::new(
        elem,
        shape,
        numbers(seed, lanes).into_iter().map(|x| narrowed(elem, x)),
    )
}

/// c + a b, one fused multiply-add after the other; sizes are (batch, m, n, k).
fn model(a: &[f32], b: &[f32], c: &[f32], [batch, m, n, k]: [usize; 4]) -> Vec<f32> {
    let mut out = c.to_vec();
    for t in 0..batch {
        for i in 0..m {
            for j in 0..n {
                let sum = &mut out[(t * m + i) * n + j];
                for l in 0..k {
                    *sum = a[(t * m + i) * k + l].mul_add(b[(t * k + l) * n + j], *sum);
                }
            }
        }
    }
    out
}

fn shapes(sizes: [usize; 4]) -> [Vec<usize>; 3] {
    let [batch, m, n, k] = sizes;
    let lead = if batch > 1 { vec![batch] } else { vec![] };
    [[m, k], [k, n], [m, n]].map(|dims| [&lead[..], &dims].concat())
}

fn text(elems: [&str; 3], shapes: &[Vec<usize>; 3], precision: &str) -> String {
    let [a, b, c] = [0, 1, 2].map(|i| ty(elems[i], Some(&shapes[i])));
    format!("tt.dot %in0, %in1, %in2, inputPrecision = {precision} : {a} * {b} -> {c}")
}

#[test]
fn products_are_fused_in_rising_k_for_every_operand_type() {
    let cases = [
        (["f32", "f32", "f32"], "ieee"),
        (["f32", "f32", "f32"], "tf32x3"),
        (["f16", "f16", "f32"], "tf32"),
        (["bf16", "bf16", "f32"], "tf32"),
        (["f16", "f16", "f16"], "tf32"),
        (["bf16", "bf16", "bf16"], "tf32"),
        (["f8E4M3FN", "f8E5M2", "f32"], "tf32"),
        (["f8E5M2", "f8E5M2", "f16"], "tf32"),
    ];
    for (elems, precision) in cases {
        for sizes in [
            [1, 16, 16, 16],
            [1, 4, 64, 32],
            [1, 1, 1, 8],
            [1, 2, 1, 1],
            [4, 8, 16, 8],
        ] {
            let dims = shapes(sizes);
            let ins: Vec<Tile> = (0..3).map(|i| tile(elems[i], &dims[i], i as u64 + 1)).collect();
            let wide: Vec<Vec<f32>> = ins.iter().map(widened).collect();
            let expected = model(&wide[0], &wide[1], &wide[2], sizes)
                .into_iter()
                .map(|x| narrowed(elems[2], x));
            let expected: Vec<u64> = expected.collect();
            let dot = text(elems, &dims, precision);
            // The accumulator's last use, and not its last use.
            let last = run(&ins, &[(elems[2], Some(&dims[2]))], &format!("%out0 = {dot}"));
            assert_eq!(last[0].bits, expected, "{elems:?} {precision} {sizes:?}");
            let c = ty(elems[2], Some(&dims[2]));
            let kept = format!("%out0 = {dot}\n%out1 = arith.addf %in2, %in2 : {c}");
            let wanted: [Wanted<'_>; 2] = [(elems[2], Some(&dims[2])); 2];
            let kept = run(&ins, &wanted, &kept);
            assert_eq!(kept[0].bits, expected, "{elems:?} {precision} {sizes:?}");
            let twice: Vec<u64> = wide[2].iter().map(|x| narrowed(elems[2], x + x)).collect();
            assert_eq!(kept[1].bits, twice);
        }
    }
}

#[test]
fn tf32_cuts_both_operands() {
    let sizes = [1, 8, 16, 32];
    let dims = shapes(sizes);
    let ins: Vec<Tile> = (0..3).map(|i| tile("f32", &dims[i], i as u64 + 5)).collect();
    let cut = |t: &Tile| -> Vec<f32> {
        t.bits
            .iter()
            .map(|&b| f32::from_bits(b as u32 & !0x1fff))
            .collect()
    };
    let expected = model(&cut(&ins[0]), &cut(&ins[1]), &ins[2].as_f32(), sizes);
    let body = format!("%out0 = {}", text(["f32"; 3], &dims, "tf32"));
    assert_eq!(run(&ins, &[("f32", Some(&dims[2]))], &body)[0].as_f32(), expected);
}

#[test]
fn wide_and_integer_products() {
    let sizes = [2, 4, 8, 16];
    let dims = shapes(sizes);
    let f64s = |i: usize| {
        numbers(i as u64 + 3, dims[i].iter().product())
            .into_iter()
            .map(f64::from)
    };
    let ins: Vec<Tile> = (0..3)
        .map(|i| Tile::new("f64", &dims[i], f64s(i).map(f64::to_bits)))
        .collect();
    let x: Vec<Vec<f64>> = (0..3).map(|i| f64s(i).collect()).collect();
    let [_, m, n, k] = sizes;
    let expected = (0..2 * m * n).map(|lane| {
        let (t, i, j) = (lane / (m * n), lane / n % m, lane % n);
        (0..k)
            .fold(x[2][lane], |sum, l| {
                x[0][(t * m + i) * k + l].mul_add(x[1][(t * k + l) * n + j], sum)
            })
            .to_bits()
    });
    let expected: Vec<u64> = expected.collect();
    let body = format!("%out0 = {}", text(["f64"; 3], &dims, "ieee"));
    assert_eq!(run(&ins, &[("f64", Some(&dims[2]))], &body)[0].bits, expected);

    let bytes = |i: usize| {
        noise(i as u64, dims[i].iter().product())
            .into_iter()
            .map(|b| b & 0xff)
    };
    let a = Tile::new("i8", &dims[0], bytes(0));
    let b = Tile::new("i8", &dims[1], bytes(1));
    let c = Tile::new(
        "i32",
        &dims[2],
        noise(9, 2 * m * n).into_iter().map(|b| b & 0xffff_ffff),
    );
    let expected = (0..2 * m * n).map(|lane| {
        let (t, i, j) = (lane / (m * n), lane / n % m, lane % n);
        let product =
            |l| i32::from(a.bits[(t * m + i) * k + l] as i8) * i32::from(b.bits[(t * k + l) * n + j] as i8);
        u64::from((0..k).fold(c.bits[lane] as i32, |sum, l| sum.wrapping_add(product(l))) as u32)
    });
    let expected: Vec<u64> = expected.collect();
    let body = format!("%out0 = {}", text(["i8", "i8", "i32"], &dims, "tf32"));
    assert_eq!(
        run(&[a, b, c], &[("i32", Some(&dims[2]))], &body)[0].bits,
        expected
    );
}

#[test]
fn one_value_may_be_all_operands_and_constants_are_spread() {
    let x = tile("f32", &[16, 16], 4);
    let body = "%out0 = tt.dot %in0, %in0, %in0, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
        %h = arith.constant dense<5.000000e-01> : tensor<16x16xf32>
        %out1 = tt.dot %h, %in0, %h, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>";
    let body = body.lines().rev().collect::<Vec<_>>();
    let body = format!("{}\n{}\n{}", body[1], body[0], body[2]);
    let wanted: [Wanted<'_>; 2] = [("f32", Some(&[16, 16])); 2];
    let outs = run(std::slice::from_ref(&x), &wanted, &body);
    let v = x.as_f32();
    assert_eq!(outs[0].as_f32(), model(&v, &v, &v, [1, 16, 16, 16]));
    assert_eq!(
        outs[1].as_f32(),
        model(&[0.5; 256], &v, &[0.5; 256], [1, 16, 16, 16])
    );
}

#[test]
fn undefined_lanes_reach_their_row_or_column() {
    // a (4x8) has an undefined element in row 2; b is defined.
    let x = Tile::i32(&[4, 8], 1..33);
    let mut divisors = vec![1; 32];
    divisors[2 * 8 + 5] = 0;
    let y = Tile::i32(&[4, 8], divisors);
    for (stored, found) in [("ne", 0), ("eq", 1)] {
        let body = format!(
            "%q = arith.divsi %in0, %in1 : tensor<4x8xi32>
             %a = arith.sitofp %q : tensor<4x8xi32> to tensor<4x8xf32>
             %b = arith.constant dense<1.000000e+00> : tensor<8x4xf32>
             %c = arith.constant dense<0.000000e+00> : tensor<4x4xf32>
             %d = tt.dot %a, %b, %c, inputPrecision = ieee : tensor<4x8xf32> * tensor<8x4xf32> -> tensor<4x4xf32>
             %r = tt.make_range {{end = 4 : i32, start = 0 : i32}} : tensor<4xi32>
             %two = arith.constant dense<2> : tensor<4xi32>
             %k = arith.cmpi {stored}, %r, %two : tensor<4xi32>
             %k1 = tt.expand_dims %k {{axis = 1 : i32}} : tensor<4xi1> -> tensor<4x1xi1>
             %k2 = tt.broadcast %k1 : tensor<4x1xi1> -> tensor<4x4xi1>
             %out0 = arith.select %k2, %d, %c : tensor<4x4xi1>, tensor<4x4xf32>"
        );
        let ran = try_run(&[x.clone(), y.clone()], &[("f32", Some(&[4, 4]))], &body)
            .unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(ran.findings.len(), found, "{stored}");
    }
}

/// The value of an element by the formats' definition.
fn element(format: &str, bits: u64) -> f32 {
    match format {
        "e2m1" => {
            let (exponent, mantissa) = ((bits >> 1) & 3, (bits & 1) as f32);
            let magnitude = match exponent {
                0 => mantissa / 2.0,
                e => (1.0 + mantissa / 2.0) * ((1u32 << e) / 2) as f32,
            };
            if bits & 8 == 0 { magnitude } else { -magnitude }
        }
        "e4m3" => F8E4M3(bits as u8).to_f32(),
        "e5m2" => F8E5M2(bits as u8).to_f32(),
        _ => Bf16(bits as u16).to_f32(),
    }
}

#[test]
fn scaled_products_scale_groups_of_k() {
    let (m, n, k) = (8, 16, 64);
    for (a_format, b_format) in [
        ("e4m3", "e5m2"),
        ("e2m1", "e2m1"),
        ("e2m1", "e4m3"),
        ("bf16", "e2m1"),
    ] {
        let bits = |format: &str, seed: u64, lanes: usize| -> Vec<u64> {
            let raw = noise(seed, lanes);
            match format {
                "e2m1" => raw.into_iter().map(|b| b & 15).collect(),
                "e4m3" | "e5m2" => raw.into_iter().map(|b| b & 0xbb).collect(),
                _ => numbers(seed, lanes)
                    .into_iter()
                    .map(|x| narrowed("bf16", x))
                    .collect(),
            }
        };
        let (a, b) = (bits(a_format, 1, m * k), bits(b_format, 2, k * n));
        let a_scale: Vec<u64> = noise(3, m * k / 32).into_iter().map(|s| 120 + s % 14).collect();
        let mut b_scale: Vec<u64> = noise(4, n * k / 32).into_iter().map(|s| 120 + s % 14).collect();
        b_scale[3] = 0;
        let value = |scale: u64| {
            if scale == 0 {
                2f32.powi(-127)
            } else {
                f32::from_bits((scale as u32) << 23)
            }
        };
        let has_scale = |format| format != "bf16";
        let wide_a: Vec<f32> = (0..m * k)
            .map(|i| {
                element(a_format, a[i])
                    * if has_scale(a_format) {
                        value(a_scale[i / 32])
                    } else {
                        1.0
                    }
            })
            .collect();
        let wide_b: Vec<f32> = (0..k * n)
            .map(|i| element(b_format, b[i]) * value(b_scale[i % n * (k / 32) + i / n / 32]))
            .collect();
        let c = tile("f32", &[m, n], 8);
        let expected = model(&wide_a, &wide_b, &c.as_f32(), [1, m, n, k]);

        let stored = |format: &str| match format {
            "e4m3" => "f8E4M3FN",
            "e5m2" => "f8E5M2",
            "e2m1" => "i8",
            _ => "bf16",
        };
        // Two neighbours along k in a byte, the first in its lower half.
        let a_tile = match a_format {
            "e2m1" => Tile::new("i8", &[m, k / 2], a.chunks(2).map(|p| p[0] | p[1] << 4)),
            format => Tile::new(stored(format), &[m, k], a),
        };
        for k_pack in [true, false] {
            let b_tile = match (b_format, k_pack) {
                ("e2m1", true) => {
                    let pair = |i: usize| b[i / n * 2 * n + i % n] | b[(i / n * 2 + 1) * n + i % n] << 4;
                    Tile::new("i8", &[k / 2, n], (0..k / 2 * n).map(pair))
                }
                ("e2m1", false) => Tile::new("i8", &[k, n / 2], b.chunks(2).map(|p| p[0] | p[1] << 4)),
                (format, _) => Tile::new(stored(format), &[k, n], b.clone()),
            };
            let mut ins = vec![a_tile.clone(), b_tile.clone(), c.clone()];
            let b_scales = Tile::new("i8", &[n, k / 32], b_scale.clone());
            let a_scales = Tile::new("i8", &[m, k / 32], a_scale.clone());
            let types = |t: &Tile| ty(t.elem, t.shape.as_deref());
            let (of_a, scales) = match has_scale(a_format) {
                true => {
                    ins.extend([a_scales.clone(), b_scales.clone()]);
                    (" scale %in3", "%in4")
                }
                false => {
                    ins.push(b_scales.clone());
                    ("", "%in3")
                }
            };
            let a_type = match has_scale(a_format) {
                true => format!("{}, {}", types(&a_tile), types(&a_scales)),
                false => types(&a_tile),
            };
            let body = format!(
                "%out0 = tt.dot_scaled %in0{of_a}, %in1 scale {scales}, %in2 lhs = {a_format} rhs = {b_format} \
                 {{fastMath = false, rhs_k_pack = {k_pack}}} : {a_type} * {}, {} -> tensor<{m}x{n}xf32>",
                types(&b_tile),
                types(&b_scales),
            );
            let outs = run(&ins, &[("f32", Some(&[m, n]))], &body);
            assert_eq!(outs[0].as_f32(), expected, "{a_format} {b_format} {k_pack}");
        }
    }
}

#[test]
fn a_scale_of_all_ones_is_nan() {
    let ins = [
        Tile::new("i8", &[4, 32], noise(1, 128).into_iter().map(|b| b & 0x3f)),
        Tile::new("bf16", &[32, 4], vec![0x3f80; 128]),
        Tile::f32(&[4, 4], vec![0.0; 16]),
        Tile::new("i8", &[4, 1], [127, 255, 127, 127]),
    ];
    let body = "%out0 = tt.dot_scaled %in0 scale %in3, %in1, %in2 lhs = e4m3 rhs = bf16 {fastMath = false} : \
        tensor<4x32xi8>, tensor<4x1xi8> * tensor<32x4xbf16> -> tensor<4x4xf32>";
    let out = run(&ins, &[("f32", Some(&[4, 4]))], body)[0].as_f32();
    for (lane, x) in out.iter().enumerate() {
        assert_eq!(x.is_nan(), lane / 4 == 1, "lane {lane}: {x}");
    }
}

#[test]
fn what_is_not_run_is_refused_by_name() {
    let ins = [
        Tile::new("i8", &[4, 32], vec![0; 128]),
        Tile::new("bf16", &[32, 4], vec![0; 128]),
        Tile::f32(&[4, 4], vec![0.0; 16]),
        Tile::new("i8", &[4, 1], [127; 4]),
    ];
    let body = "%out0 = tt.dot_scaled %in0 scale %in3, %in1, %in2 lhs = e3m2 rhs = bf16 {fastMath = false} : \
        tensor<4x32xi8>, tensor<4x1xi8> * tensor<32x4xbf16> -> tensor<4x4xf32>";
    let error = try_run(&ins, &[("f32", Some(&[4, 4]))], body).expect_err("e3m2");
    assert!(
        format!("{error:?}").contains("e3m2 elements is not run"),
        "{error:?}"
    );
}
