//! `tt.extern_elementwise` and `tt.elementwise_inline_asm`.

use crate::bench::{Tile, Wanted, noise, numbers, run, try_run, ty};
use tilescope_interpreter::num::{Bf16, F8E4M3, F16, StoredFloat, libdevice};

fn library(symbol: &str, types: &[&str], to: &str) -> String {
    let n = |elem: &str| ty(elem, Some(&[64]));
    let operands: Vec<String> = (0..types.len()).map(|i| format!("%in{i}")).collect();
    let from: Vec<String> = types.iter().map(|t| n(t)).collect();
    format!(
        "%out0 = tt.extern_elementwise {} {{libname = \"\", libpath = \"\", pure = true, symbol = \"{symbol}\"}} : ({}) -> {}",
        operands.join(", "),
        from.join(", "),
        n(to)
    )
}

fn operand(elem: &'static str, seed: u64) -> Tile {
    let values = numbers(seed, 64);
    Tile::new(
        elem,
        &[64],
        values.into_iter().zip(noise(seed, 64)).map(|(x, b)| match elem {
            "f32" => u64::from(x.to_bits()),
            "f64" => f64::from(x).to_bits(),
            "i32" => b % 7,
            _ => b,
        }),
    )
}

#[test]
fn every_library_function_runs_lane_by_lane() {
    let elem = |kind: libdevice::Kind| match kind {
        libdevice::Kind::I32 => "i32",
        libdevice::Kind::I64 => "i64",
        libdevice::Kind::F32 => "f32",
        libdevice::Kind::F64 => "f64",
    };
    for function in libdevice::functions() {
        let types: Vec<&'static str> = function.args.iter().map(|&k| elem(k)).collect();
        let ins: Vec<Tile> = types.iter().zip(0..).map(|(t, i)| operand(t, i + 3)).collect();
        let to = elem(function.result);
        let tile = run(&ins, &[(to, Some(&[64]))], &library(function.symbol, &types, to));
        // The same lane alone, as a scalar: the loop over slices must not differ from the lane function.
        for lane in [0, 17, 63] {
            let scalars: Vec<Tile> = ins
                .iter()
                .map(|t| Tile {
                    elem: t.elem,
                    shape: None,
                    bits: vec![t.bits[lane]],
                })
                .collect();
            let text = library(function.symbol, &types, to)
                .replace("tensor<64x", "")
                .replace('>', "")
                .replace("-", "->");
            let one = run(&scalars, &[(to, None)], &text);
            assert_eq!(one[0].bits[0], tile[0].bits[lane], "{} {lane}", function.symbol);
        }
    }
}

#[test]
fn library_results_are_the_functions() {
    let x = operand("f32", 1);
    let out = run(
        std::slice::from_ref(&x),
        &[("f32", Some(&[64]))],
        &library("__nv_tanhf", &["f32"], "f32"),
    );
    for (x, y) in x.as_f32().into_iter().zip(out[0].as_f32()) {
        assert!((x.tanh() - y).abs() < 1e-6, "tanh({x}) = {y}");
    }
    let n = operand("i32", 2);
    let out = run(
        &[x.clone(), n.clone()],
        &[("f32", Some(&[64]))],
        &library("__nv_ldexpf", &["f32", "i32"], "f32"),
    );
    for ((x, n), y) in x.as_f32().into_iter().zip(&n.bits).zip(out[0].as_f32()) {
        assert_eq!(x * (1u32 << n) as f32, y);
    }
}

#[test]
fn unknown_functions_are_refused_with_the_nearest_known() {
    let body = library("__nv_tanhff", &["f32"], "f32");
    let error = try_run(&[operand("f32", 1)], &[("f32", Some(&[64]))], &body).expect_err("unknown");
    let text = format!("{error:?}");
    assert!(
        text.contains("__nv_tanhff is not run") && text.contains("there is __nv_tanhf"),
        "{text}"
    );
    assert_eq!(error.kind.exit_status(), 3);
}

/// Inline assembly on tiles of 64 lanes.
fn assembly(
    text: &str,
    constraints: &str,
    packed: usize,
    ins: &[Tile],
    outs: &[&'static str],
) -> Result<Vec<Tile>, String> {
    let shape: &[usize] = &[64];
    let wanted: Vec<Wanted<'_>> = outs.iter().map(|&elem| (elem, Some(shape))).collect();
    let names = |what: &str, n: usize| {
        (0..n)
            .map(|i| format!("%{what}{i}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let types = |elems: &mut dyn Iterator<Item = &'static str>| {
        elems
            .map(|elem| ty(elem, Some(shape)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let body = format!(
        "{} = tt.elementwise_inline_asm \"{}\" {{constraints = \"{constraints}\", packed_element = {packed} : i32, \
         pure = true}} {} : {} -> {}",
        names("out", outs.len()),
        text.replace('\n', "\\0A"),
        names("in", ins.len()),
        types(&mut ins.iter().map(|t| t.elem)),
        types(&mut outs.iter().copied()),
    );
    match try_run(ins, &wanted, &body) {
        Ok(ran) => Ok(ran.outs),
        Err(error) => {
            assert_eq!(error.kind.exit_status(), 3, "{error:?}");
            Err(format!("{error:?}"))
        }
    }
}

fn words(seed: u64) -> Tile {
    Tile::new("i32", &[64], noise(seed, 64).into_iter().map(|b| b & 0xffff_ffff))
}

/// A text of two 32-bit operands against a function.
fn check(text: &str, f: impl Fn(u32, u32) -> u32) {
    let (a, b) = (words(1), words(2));
    let out = assembly(text, "=r,r,r", 1, &[a.clone(), b.clone()], &["i32"])
        .unwrap_or_else(|e| panic!("{text}: {e}"));
    for ((&a, &b), &r) in a.bits.iter().zip(&b.bits).zip(&out[0].bits) {
        assert_eq!(r as u32, f(a as u32, b as u32), "{text} of {a:#x}, {b:#x}");
    }
}

#[test]
fn integer_and_bit_instructions() {
    check("add.u32 $0, $1, $2;", u32::wrapping_add);
    check("sub.s32 $0, $1, $2;", u32::wrapping_sub);
    check("mul.lo.u32 $0, $1, $2;", u32::wrapping_mul);
    check("mul.hi.u32 $0, $1, $2;", |a, b| {
        ((u64::from(a) * u64::from(b)) >> 32) as u32
    });
    check("mul.hi.s32 $0, $1, $2;", |a, b| {
        ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
    });
    check("mad.lo.s32 $0, $1, $2, 7;", |a, b| {
        a.wrapping_mul(b).wrapping_add(7)
    });
    check("max.s32 $0, $1, $2;", |a, b| (a as i32).max(b as i32) as u32);
    check("min.u32 $0, $1, $2;", u32::min);
    check("div.s32 $0, $1, $2;", |a, b| {
        (a as i32).wrapping_div(b as i32) as u32
    });
    check("rem.u32 $0, $1, $2;", |a, b| a % b);
    check("and.b32 $0, $1, 0xff00ff;", |a, _| a & 0xff00ff);
    check("xor.b32 $0, $1, $2;", |a, b| a ^ b);
    check("not.b32 $0, $1;\n/* $2 */", |a, _| !a);
    check("shl.b32 $0, $1, 5;", |a, _| a << 5);
    check("shr.u32 $0, $1, 5;", |a, _| a >> 5);
    check("shr.s32 $0, $1, 40;", |a, _| ((a as i32) >> 31) as u32);
    check("shl.b32 $0, $1, 32;", |_, _| 0);
    check("shf.l.wrap.b32 $0, $1, $2, 7;", |a, b| b << 7 | a >> 25);
    check("shf.r.wrap.b32 $0, $1, $2, 7;", |a, b| a >> 7 | b << 25);
    check("lop3.b32 $0, $1, 0x80008000, $2, 0xf8;", |a, b| {
        a | (0x80008000 & b)
    });
    check("lop3.b32 $0, $1, $2, $1, 0x3c;", |a, b| a ^ b);
    check("prmt.b32 $0, $1, $2, 0x5410;", |a, b| a & 0xffff | b << 16);
    check("prmt.b32 $0, $1, $2, 0xb765;", |a, b| {
        let byte = |n: u32| (((u64::from(b) << 32) | u64::from(a)) >> (8 * n)) as u32 & 0xff;
        byte(5) | byte(6) << 8 | byte(7) << 16 | (if byte(3) >= 128 { 0xff00_0000 } else { 0 })
    });
    check("bfe.u32 $0, $1, 4, 9;", |a, _| a >> 4 & 0x1ff);
    check("bfe.s32 $0, $1, 28, 9;", |a, _| ((a as i32) >> 28) as u32);
    check("bfi.b32 $0, $1, $2, 8, 8;", |a, b| b & !0xff00 | (a & 0xff) << 8);
    check("popc.b32 $0, $1;", |a, _| a.count_ones());
    check("clz.b32 $0, $1;", |a, _| a.leading_zeros());
    check("brev.b32 $0, $1;", |a, _| a.reverse_bits());
    check(
        "{ .reg .pred p; setp.lt.s32 p, $1, $2; selp.b32 $0, $1, $2, p; }",
        |a, b| (a as i32).min(b as i32) as u32,
    );
    check(
        "{ .reg .b32 t<2>; .reg .pred %q; mov.b32 t0, $1; setp.hi.u32 %q, $1, $2; @!%q mov.u32 t0, $2; mov.b32 $0, t0; }",
        u32::max,
    );
    check(
        "{ .reg .b16 l, h; mov.b32 {l, h}, $1; mov.b32 $0, {h, l}; }",
        |a, _| a.rotate_left(16),
    );
    check(
        "{ .reg .b8 x, y, z, w; mov.b32 {x, y, z, w}, $1; mov.b32 $0, {w, z, y, x}; }",
        |a, _| a.swap_bytes(),
    );
    check(
        "{ .reg .u64 w; mul.wide.u32 w, $1, $2; shr.u64 w, w, 32; cvt.u32.u64 $0, w; }",
        |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32,
    );
    check("cvt.s32.s8 $0, $1;", |a, _| a as i8 as i32 as u32);
    check("cvt.sat.u32.s32 $0, $1;", |a, _| (a as i32).max(0) as u32);
    check(
        "bar.sync 0; griddepcontrol.wait; // dummy $0\nmov.b32 $0, $1;",
        |a, _| a,
    );
}

/// A text of one or two f32 operands against a function.
fn check_f32(text: &str, f: impl Fn(f32, f32) -> f32) {
    let mut a = numbers(1, 64);
    a[..4].copy_from_slice(&[0.0, -0.0, f32::INFINITY, 1e-40]);
    let b = numbers(2, 64);
    let ins = [Tile::f32(&[64], a.clone()), Tile::f32(&[64], b.clone())];
    let out = assembly(text, "=f,f,f", 1, &ins, &["f32"]).unwrap_or_else(|e| panic!("{text}: {e}"));
    for ((a, b), r) in a.into_iter().zip(b).zip(out[0].as_f32()) {
        let expected = f(a, b);
        let near = (r - expected).abs() <= 2e-7 * expected.abs();
        assert!(
            r.to_bits() == expected.to_bits() || near || r.is_nan() && expected.is_nan(),
            "{text} of {a}, {b}: {r}, not {expected}"
        );
    }
}

#[test]
fn float_instructions() {
    check_f32("add.f32 $0, $1, $2;", |a, b| a + b);
    check_f32("add.rn.ftz.f32 $0, $1, 1.5;", |a, _| {
        if a == 1e-40 { 1.5 } else { a + 1.5 }
    });
    check_f32("mul.f32 $0, $1, 0f3FB8AA3B;", |a, _| a * std::f32::consts::LOG2_E);
    check_f32(
        "mul.ftz.f32 $0, $1, 1.0;",
        |a, _| if a == 1e-40 { 0.0 } else { a },
    );
    check_f32("fma.rn.f32 $0, $1, $2, $2;", |a, b| a.mul_add(b, b));
    check_f32("div.full.f32 $0, $1, $2;", |a, b| a / b);
    check_f32("max.f32 $0, $1, $2;", f32::max);
    check_f32("min.NaN.f32 $0, $1, $2;", |a, b| if a < b { a } else { b });
    check_f32("{ max.NaN.xorsign.abs.f32 $0, $1, $2; }", |a, b| {
        a.abs()
            .max(b.abs())
            .copysign(if a.is_sign_negative() != b.is_sign_negative() {
                -1.0
            } else {
                1.0
            })
    });
    check_f32("add.sat.f32 $0, $1, $2;", |a, b| (a + b).clamp(0.0, 1.0));
    check_f32("rcp.approx.ftz.f32 $0, $2;", |_, b| 1.0 / b);
    check_f32("ex2.approx.ftz.f32 $0, $2;", |_, b| b.exp2());
    check_f32("lg2.approx.f32 $0, $1;", |a, _| a.log2());
    check_f32("tanh.approx.f32 $0, $2;", |_, b| b.tanh());
    check_f32("sin.approx.f32 $0, $2;", |_, b| f64::from(b).sin() as f32);
    check_f32("sqrt.rn.f32 $0, $1;", |a, _| a.sqrt());
    check_f32("{ add.f32 $1, $1, $2; rsqrt.approx.f32 $0, $1; }", |a, b| {
        (1.0 / f64::from(a + b).sqrt()) as f32
    });
    check_f32("cvt.rpi.f32.f32 $0, $1;", |a, _| a.ceil());
    check_f32(
        "{ .reg .s32 i; cvt.rzi.s32.f32 i, $2; cvt.rn.f32.s32 $0, i; }",
        |_, b| b.trunc() + 0.0,
    );
    check_f32("cvt.rna.tf32.f32 $0, $2;", |_, b| {
        f32::from_bits((b.to_bits() + 0x1000) & !0x1fff)
    });
    check_f32(
        "{ .reg .f16 h; cvt.rn.f16.f32 h, $2; cvt.f32.f16 $0, h; }",
        |_, b| F16::from_f32(b).to_f32(),
    );
    check_f32(
        "{ .reg .f64 d; cvt.f64.f32 d, $2; add.f64 d, d, 0d3FF0000000000000; cvt.rn.f32.f64 $0, d; }",
        |_, b| (f64::from(b) + 1.0) as f32,
    );
}

#[test]
fn softplus_as_kernels_write_it() {
    let text = "{ .reg .pred p; setp.gt.f32 p, $1, 2.; @p mov.f32 $0, $1; @!p mul.f32 $0, $1, 1.4426950408889634; \
        @!p ex2.approx.ftz.f32 $0, $0; @!p add.f32 $0, $0, 1.0; @!p lg2.approx.ftz.f32 $0, $0; \
        @!p mul.f32 $0, $0, 0.6931471805599453; } ";
    let x = Tile::f32(&[64], numbers(4, 64));
    let out = assembly(text, "=r,r", 1, std::slice::from_ref(&x), &["f32"]).unwrap_or_else(|e| panic!("{e}"));
    for (x, y) in x.as_f32().into_iter().zip(out[0].as_f32()) {
        let expected = if x > 2.0 {
            x
        } else {
            (f64::from(x).exp() + 1.0).ln() as f32
        };
        assert!(
            (y - expected).abs() < 1e-6 * expected.abs().max(1.0),
            "{x}: {y}, not {expected}"
        );
    }
}

#[test]
fn packs_share_registers() {
    // Two f32 to two fp8 in one 16-bit register: the first source is the upper half.
    let x = Tile::f32(&[64], numbers(6, 64));
    let text = "cvt.rn.satfinite.e4m3x2.f32 $0, $2, $1;";
    let out = assembly(text, "=h,r,r", 2, std::slice::from_ref(&x), &["f8E4M3FN"])
        .unwrap_or_else(|e| panic!("{e}"));
    let expected: Vec<u64> = x
        .as_f32()
        .into_iter()
        .map(|x| F8E4M3::from_f32(x).0.into())
        .collect();
    assert_eq!(out[0].bits, expected);
    // Four pairs of f32 to four bytes of two e2m1 each.
    let (a, b) = (Tile::f32(&[64], numbers(7, 64)), Tile::f32(&[64], numbers(8, 64)));
    let text = "
        {
        .reg .b8 byte0, byte1, byte2, byte3;
        cvt.rn.satfinite.e2m1x2.f32 byte0, $5, $1;
        cvt.rn.satfinite.e2m1x2.f32 byte1, $6, $2;
        cvt.rn.satfinite.e2m1x2.f32 byte2, $7, $3;
        cvt.rn.satfinite.e2m1x2.f32 byte3, $8, $4;
        mov.b32 $0, {byte0, byte1, byte2, byte3};
        }";
    let out = assembly(text, "=r,r,r,r,r,r,r,r,r", 4, &[a.clone(), b.clone()], &["i8"])
        .unwrap_or_else(|e| panic!("{e}"));
    let values = [0.0f32, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let nearest = |x: f32| {
        let far = |i: usize| (values[i] - x.abs()).abs();
        // Ties go to the even code.
        let code = (0..8)
            .min_by(|&i, &j| far(i).total_cmp(&far(j)).then((i % 2).cmp(&(j % 2))))
            .unwrap_or(0);
        code as u64 | u64::from(x < 0.0) << 3
    };
    for ((a, b), byte) in a.as_f32().into_iter().zip(b.as_f32()).zip(&out[0].bits) {
        assert_eq!(*byte, nearest(a) | nearest(b) << 4, "{a} {b}");
    }
    // bf16 pairs in a 32-bit register, with a fused multiply-add on both halves.
    let h = Tile::new(
        "bf16",
        &[64],
        numbers(9, 64).into_iter().map(|x| Bf16::from_f32(x).0.into()),
    );
    let out = assembly(
        "fma.rn.bf16x2 $0, $1, $1, $1;",
        "=r,r",
        2,
        std::slice::from_ref(&h),
        &["bf16"],
    )
    .unwrap_or_else(|e| panic!("{e}"));
    let square = |&bits: &u64| {
        let x = f64::from(Bf16(bits as u16).to_f32());
        u64::from(Bf16::from_f64(x * x + x).0)
    };
    assert_eq!(out[0].bits, h.bits.iter().map(square).collect::<Vec<u64>>());
}

#[test]
fn int4_weights_unpacked_to_bf16() {
    // As mixed-precision kernels do it: bytes of two e2m1 codes to four registers of bf16 pairs is too long a
    // text to repeat; this is its core, one byte pair at a time, with two results.
    let bytes = Tile::new("i8", &[64], noise(3, 64).into_iter().map(|b| b & 0xff));
    let text = "{ .reg .b32 t, u; prmt.b32 t, $2, 0, 0x4140; and.b32 u, t, 0x000f000f; or.b32 $0, u, 0x43004300; \
        shr.u32 u, t, 4; and.b32 u, u, 0x000f000f; or.b32 $1, u, 0x43004300; }";
    let out = assembly(
        text,
        "=r,=r,r",
        2,
        std::slice::from_ref(&bytes),
        &["bf16", "bf16"],
    )
    .unwrap_or_else(|e| panic!("{e}"));
    for (lane, &byte) in bytes.bits.iter().enumerate() {
        let value = |tile: &Tile| Bf16(tile.bits[lane] as u16).to_f32() - 128.0;
        assert_eq!(
            (value(&out[0]), value(&out[1])),
            ((byte & 15) as f32, (byte >> 4) as f32)
        );
    }
}

#[test]
fn what_is_not_covered_is_refused_by_name() {
    for (text, why) in [
        ("mov.u32 $0, %smid;", "special register `%smid` is not run"),
        ("mov.u64 $0, %globaltimer;", "special register `%globaltimer`"),
        ("ld.global.u32 $0, [$1];", "`ld.global.u32` is not run"),
        ("add.rz.f32 $0, $1, $2;", "`add.rz.f32` is not run"),
        ("max.s32 $0, $1, 1e-05;", "`1e-05` is not a constant"),
        ("again: add.u32 $0, $1, $2;", "label `again`"),
        (
            "{ .reg .pred %p0; setp.ne.s32 %p0, $1, 1; @%p0 bra end; end: }",
            "`bra` is not run",
        ),
        ("{ mov.b32 $0, $1; end: }", "label `end`"),
        ("{ mov.b32 $0, $1 }", "`;` is missing"),
        ("@p bra again;", "`p` is not a register"),
        ("add.u32 $0, $1, $7;", "no operand `$7`"),
        ("add.u32 $0, $1;", "takes 2 sources, not 1"),
        ("add.u32 $0, $1, $2", "`;` is missing"),
        ("s_memrealtime $0;", "`s_memrealtime` is not run"),
        ("cvt.f16x2 $0, $1;", "`cvt.f16x2` is not run"),
        ("mov.b32 {$0, $1}, {$1, $0};", "parts is not run"),
        (".reg .b32 a<99999>;", "more than 4096 registers"),
    ] {
        let error = assembly(text, "=r,r,r", 1, &[words(1), words(2)], &["i32"]).expect_err(text);
        assert!(error.contains(why), "{text}: {error}");
        assert!(error.contains("its text: "), "{error}");
    }
    let error = assembly("mov.b32 $0, $1;", "=r,m", 1, &[words(1)], &["i32"]).expect_err("memory operand");
    assert!(error.contains("constraints `=r,m`"), "{error}");
}

#[test]
fn a_pack_is_undefined_where_one_lane_is() {
    let x = Tile::i32(&[64], 1..65);
    let mut divisors = vec![1; 64];
    divisors[9] = 0;
    let y = Tile::i32(&[64], divisors);
    for (kept, found) in [(8, 1), (10, 0)] {
        let body = format!(
            "%q = arith.divsi %in0, %in1 : tensor<64xi32>
             %h = arith.trunci %q : tensor<64xi32> to tensor<64xi16>
             %p = tt.elementwise_inline_asm \"mov.b32 $0, $1;\" {{constraints = \"=r,r\", packed_element = 2 : i32, \
             pure = true}} %h : tensor<64xi16> -> tensor<64xi16>
             %i = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32>
             %k = arith.constant dense<{kept}> : tensor<64xi32>
             %z = arith.constant dense<0> : tensor<64xi16>
             %m = arith.cmpi eq, %i, %k : tensor<64xi32>
             %out0 = arith.select %m, %p, %z : tensor<64xi1>, tensor<64xi16>"
        );
        let ran = try_run(&[x.clone(), y.clone()], &[("i16", Some(&[64]))], &body)
            .unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(ran.findings.len(), found, "{kept}");
    }
}
