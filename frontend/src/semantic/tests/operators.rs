//! Operators, casts and functions on all number types, against what Triton 3.9 makes of them.
//!
//! `operators.txt` and `functions.txt` are records of the real Triton: a line of operations (sorted, values without names; last, after
//! `~`, the type of the result) or `refused`, then the cases that give it, indented: `int32 + fp16`, `int8 % 3`,
//! `cast fp16 int32`, `bitcast int8 fp8e5`, `- int8`, `clamp fp16 int32 2.5`. Constants are Python's literals.

use tilescope_ir::OpCode;
use tilescope_ir::attrs::PropagateNan;

use super::{build, operations};
use crate::ast::{BinaryOp, CompareOp, UnaryOp};
use crate::cx::{Cx, Result};
use crate::semantic::arith::{Division, Extremum};
use crate::types::{Dtype, Elem, Ty};
use crate::value::Value;

fn dtype(name: &str) -> Option<Dtype> {
    Dtype::ALL.into_iter().find(|d| d.name() == name)
}

fn constant(text: &str) -> Value {
    match text {
        "True" => Value::Bool(true),
        _ => match text.parse::<i64>() {
            Ok(i) => Value::int(i),
            Err(_) => Value::Float(text.parse().unwrap()),
        },
    }
}

fn operator(cx: &mut Cx<'_>, symbol: &str, l: &Value, r: &Value) -> Result<Value> {
    use BinaryOp::*;
    for op in [Add, Sub, Mul, Div, FloorDiv, Mod, Shl, Shr, And, Or, Xor] {
        if op.symbol() == symbol {
            return cx.binary(op, l, r);
        }
    }
    use CompareOp::*;
    let op = [Eq, Ne, Lt, Le, Gt, Ge]
        .into_iter()
        .find(|op| op.symbol() == symbol);
    cx.compare(op.unwrap(), l, r)
}

/// The words that name types are parameters in order, the others constants.
fn operands(words: &[&str], args: &[Value]) -> Vec<Value> {
    let mut args = args.iter().cloned();
    let operand = |w: &&str| match dtype(w) {
        Some(_) => args.next().unwrap(),
        None => constant(w),
    };
    words.iter().map(operand).collect()
}

const FUNCTIONS: [&str; 13] = [
    "exp",
    "floor",
    "sqrt_rn",
    "abs",
    "maximum",
    "minimum_all",
    "where",
    "fdiv",
    "div_rn",
    "umulhi",
    "full",
    "fma",
    "clamp",
];

fn function(cx: &mut Cx<'_>, name: &str, words: &[&str], args: &[Value]) -> Result<Value> {
    let singles = [Dtype::Fp32, Dtype::Fp64];
    let none = PropagateNan::None;
    let v = operands(words, args);
    let result = match (name, &v[..]) {
        ("exp", [x]) => cx.math1(name, OpCode::Exp, x, &singles)?,
        ("floor", [x]) => cx.math1(name, OpCode::Floor, x, &singles)?,
        ("sqrt_rn", [x]) => cx.math1(name, OpCode::PreciseSqrt, x, &singles[..1])?,
        ("abs", [x]) => cx.abs(x)?,
        ("maximum", [a, b]) => cx.extremum(Extremum::Maximum, a, b, none)?,
        ("minimum_all", [a, b]) => cx.extremum(Extremum::Minimum, a, b, PropagateNan::All)?,
        ("where", [a, b]) => cx.where_(a, a, b)?,
        ("fdiv", [a, b]) => cx.divide(a, b, Division::Plain)?,
        ("div_rn", [a, b]) => {
            cx.check_dtype(name, a, &singles[..1])?;
            cx.check_dtype(name, b, &singles[..1])?;
            cx.divide(a, b, Division::Ieee)?
        }
        ("umulhi", [a, b]) => cx.umulhi(a, b)?,
        ("full", [a, b]) => {
            let Value::Tensor(a) = a else { unreachable!() };
            cx.full(tilescope_ir::Shape::default(), b, a.ty.elem().unwrap())?
        }
        ("fma", [a, b, c]) => cx.fma(a, b, c)?,
        ("clamp", [a, b, c]) => cx.clamp(a, b, c, none)?,
        _ => panic!("{name}"),
    };
    Ok(result.into())
}

/// What a case gives: operations, or `refused` with our message.
fn outcome(case: &str) -> (String, String) {
    let words: Vec<&str> = case.split(' ').collect();
    let types: Vec<Ty> = words.iter().filter_map(|w| dtype(w)).map(Ty::num).collect();
    let params = if words[0].ends_with("cast") {
        &types[..1]
    } else {
        &types[..]
    };
    let built = build(params, |cx, args| {
        let result = match words[..] {
            ["cast" | "bitcast", _, to] => {
                let (Value::Tensor(x), to) = (&args[0], Elem::Num(dtype(to).unwrap())) else {
                    unreachable!()
                };
                match words[0] {
                    "cast" => cx.cast(x, to, None)?.into(),
                    _ => cx.bitcast(x, to)?.into(),
                }
            }
            [name, ..] if FUNCTIONS.contains(&name) => function(cx, name, &words[1..], args)?,
            [op, _] => {
                let op = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::Invert]
                    .into_iter()
                    .find(|o| o.symbol() == op);
                let Value::Tensor(x) = &args[0] else {
                    unreachable!()
                };
                cx.unary(op.unwrap(), x)?
            }
            [l, op, r] => match &operands(&[l, r], args)[..] {
                [l, r] => operator(cx, op, l, r)?,
                _ => unreachable!(),
            },
            _ => panic!("{case}"),
        };
        cx.device_print("r", &[result], false)
    });
    match built {
        Ok(text) => {
            let mut ops = operations(&text);
            for op in &mut ops {
                if let Some((print, ty)) = op.strip_prefix("tt.print ").and_then(|p| p.rsplit_once(' ')) {
                    let signed = if print.contains("<i32: 1>") {
                        "signed"
                    } else {
                        "unsigned"
                    };
                    *op = format!("~ {ty} {signed}");
                }
            }
            ops.sort();
            (ops.join("; "), String::new())
        }
        Err(message) if message.starts_with("not valid") => (message, String::new()),
        Err(message) => ("refused".into(), message),
    }
}

#[test]
fn operators_and_casts_give_the_operations_that_triton_gives() {
    agrees(include_str!("operators.txt"), 7_686);
}

#[test]
fn functions_give_the_operations_that_triton_gives() {
    agrees(include_str!("functions.txt"), 6_531);
}

fn agrees(record: &str, all: usize) {
    let (mut wanted, mut cases, mut wrong) = ("", 0, Vec::new());
    for line in record.lines() {
        let Some(row) = line.strip_prefix("  ") else {
            wanted = line;
            continue;
        };
        for case in row.trim_end_matches(',').split(", ") {
            cases += 1;
            let (found, why) = outcome(case);
            if found != wanted {
                wrong.push(format!("{case}\n  triton {wanted}\n  ours   {found} {why}"));
            }
        }
    }
    assert_eq!(cases, all);
    assert!(
        wrong.is_empty(),
        "{} of {cases}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}
