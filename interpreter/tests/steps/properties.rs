//! Any shape, axis and data: quick loops against the general form, and products against naive ones.

use crate::bench::{Tile, Wanted, noise, run, ty};
use proptest::prelude::*;
use tilescope_interpreter::ptx::Program;

const FLOATS: [&str; 4] = ["f16", "bf16", "f32", "f64"];
const INTEGERS: [&str; 5] = ["i1", "i8", "i16", "i32", "i64"];

/// An element type and an operation on it that a reduce or scan has a loop for.
fn operation() -> impl Strategy<Value = (&'static str, &'static str)> {
    let floats = prop::sample::select(vec![
        "arith.addf",
        "arith.mulf",
        "arith.maxnumf",
        "arith.minnumf",
        "arith.maximumf",
        "arith.minimumf",
    ]);
    let integers = prop::sample::select(vec![
        "arith.addi",
        "arith.muli",
        "arith.maxsi",
        "arith.minsi",
        "arith.maxui",
        "arith.minui",
        "arith.andi",
        "arith.ori",
        "arith.xori",
    ]);
    prop_oneof![
        (prop::sample::select(&FLOATS[..]), floats),
        (prop::sample::select(&INTEGERS[..]), integers),
    ]
}

/// A shape of up to four dimensions, and one of them.
fn shape_and_axis() -> impl Strategy<Value = (Vec<usize>, usize)> {
    prop::collection::vec(0u32..5, 1..5).prop_flat_map(|log2| {
        let shape: Vec<usize> = log2.iter().map(|&e| 1 << e).collect();
        let rank = shape.len();
        (Just(shape), 0..rank)
    })
}

fn bits(elem: &str, seed: u64, lanes: usize) -> Vec<u64> {
    let mask = match elem {
        "i1" => 1,
        "i8" => 0xff,
        "i16" | "f16" | "bf16" => 0xffff,
        "i32" | "f32" => 0xffff_ffff,
        _ => u64::MAX,
    };
    noise(seed, lanes).into_iter().map(|b| b & mask).collect()
}

/// Pieces of assembly texts, right and wrong.
const NAMES: &str = "add|sub|mul|mad|fma|div|rem|min|max|abs|neg|cvt|mov|selp|setp|prmt|lop3|shl|shr|shf|bfe|bfi|\
    popc|clz|brev|ex2|rcp|tanh";
const MODIFIERS: &str = ".lo|.hi|.wide|.rn|.rz|.rzi|.sat|.satfinite|.ftz|.approx|.l|.wrap|.lt|.s8|.u16|.s32|.b32|\
    .u64|.f16|.f32|.f64|.bf16x2|.e4m3x2|.e2m1x2|.tf32|.pred";
const OPERANDS: &str = "$0|$1|$2|-7|0x40|31|1.5|64|255|{$0, $1}|a|a1";
const OTHERS: &str = " |;|,|{|}| .reg .b32 a<2>;|@p |@!a0 |end:|//|/*|*/";

/// One of the pieces.
fn piece(pieces: &'static str) -> impl Strategy<Value = &'static str> {
    prop::sample::select(pieces.split('|').collect::<Vec<_>>())
}

/// Texts of which many parse.
fn assembly() -> impl Strategy<Value = String> {
    let any = prop_oneof![piece(NAMES), piece(MODIFIERS), piece(OPERANDS), piece(OTHERS)];
    let pieces = prop::collection::vec(any, 0..24).prop_map(|pieces| pieces.concat());
    let modifiers = prop::collection::vec(piece(MODIFIERS), 0..4).prop_map(|pieces| pieces.concat());
    let operands = prop::collection::vec(piece(OPERANDS), 1..5).prop_map(|pieces| pieces.join(", "));
    let instruction = (piece(NAMES), modifiers, operands)
        .prop_map(|(name, modifiers, operands)| format!("{name}{modifiers} $0, {operands};"));
    prop_oneof![pieces, instruction]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_assembly_is_run_or_refused(text in assembly(), noise_seed: u64) {
        if let Ok(program) = Program::parse(&text, 3) {
            let mut registers = program.registers();
            for register in 0..3 {
                for (value, bits) in registers.values(register).into_iter().flatten().zip(noise(noise_seed, 64)) {
                    *value = bits >> (register * 16);
                }
            }
            program.run(&mut registers, Program::BLOCK);
        }
    }

    #[test]
    fn any_text_is_no_reason_to_panic(text in ".{0,80}") {
        let _ = Program::parse(&text, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reduce_and_scan_loops_are_the_general_form(
        (elem, op) in operation(),
        (shape, axis) in shape_and_axis(),
        reverse: bool,
        seed: u64,
    ) {
        let x = [Tile::new(elem, &shape, bits(elem, seed, shape.iter().product()))];
        let whole = ty(elem, Some(&shape));
        let mut rest = shape.clone();
        rest.remove(axis);
        let rest = (!rest.is_empty()).then_some(rest);
        let reduced = ty(elem, rest.as_deref());
        // An operation more, without use, keeps a region from being a single one.
        let body = |more: &str| format!(
            "%out0 = \"tt.reduce\"(%in0) <{{axis = {axis} : i32}}> ({{
             ^bb0(%a: {elem}, %b: {elem}):
               %r = {op} %a, %b : {elem}
               {more}
               tt.reduce.return %r : {elem}
             }}) : ({whole}) -> {reduced}
             %out1 = \"tt.scan\"(%in0) <{{axis = {axis} : i32, reverse = {reverse}}}> ({{
             ^bb0(%a: {elem}, %b: {elem}):
               %r = {op} %a, %b : {elem}
               {more}
               tt.scan.return %r : {elem}
             }}) : ({whole}) -> {whole}"
        );
        let wanted: [Wanted<'_>; 2] = [(elem, rest.as_deref()), (elem, Some(&shape))];
        let quick = run(&x, &wanted, &body(""));
        let general = run(&x, &wanted, &body(&format!("%u = {op} %a, %a : {elem}")));
        prop_assert_eq!(quick, general);
    }

    #[test]
    fn products_are_naive_loops_in_rising_k(
        log2 in prop::array::uniform4(0u32..6),
        seed: u64,
    ) {
        let [batch, m, n, k] = log2.map(|e| 1usize << e);
        let batch = batch.min(4);
        let shapes = [[batch, m, k], [batch, k, n], [batch, m, n]];
        // Any bits but NaN: infinities and subnormals are there, and sums that overflow.
        let tile = |i: usize| {
            let numbers = bits("f32", seed.wrapping_add(i as u64), shapes[i].iter().product());
            let numbers = numbers.into_iter().map(|b| if b & 0x7f80_0000 == 0x7f80_0000 { b & 0xff80_0000 } else { b });
            Tile::new("f32", &shapes[i], numbers)
        };
        let ins = [tile(0), tile(1), tile(2)];
        let [a, b, c] = [0, 1, 2].map(|i| ty("f32", Some(&shapes[i])));
        let body = format!("%out0 = tt.dot %in0, %in1, %in2, inputPrecision = ieee : {a} * {b} -> {c}");
        let out = run(&ins, &[("f32", Some(&shapes[2]))], &body)[0].as_f32();
        let [a, b, c] = [0, 1, 2].map(|i| ins[i].as_f32());
        for (lane, got) in out.into_iter().enumerate() {
            let (t, i, j) = (lane / (m * n), lane / n % m, lane % n);
            let sum = (0..k).fold(c[lane], |sum, l| a[(t * m + i) * k + l].mul_add(b[(t * k + l) * n + j], sum));
            // Every NaN is the canonical one.
            let expected = if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() };
            prop_assert_eq!(got.to_bits(), expected, "lane {}", lane);
        }
    }
}
