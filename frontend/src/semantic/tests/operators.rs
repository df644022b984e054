//! Operators and casts on every pair of number types, against what Triton 3.9 makes of them.
//!
//! `operators.txt` is a record of the real Triton: a line of operations (sorted, values without names; last, after
//! `~`, the type of the result) or `refused`, then the cases that give it, indented: `int32 + fp16`, `int8 % 3`,
//! `cast fp16 int32`, `bitcast int8 fp8e5`, `- int8`. Constants are Python's literals.

use super::{build, operations};
use crate::ast::{BinaryOp, CompareOp, UnaryOp};
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, Ty};
use crate::value::Value;

const RECORD: &str = include_str!("operators.txt");

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
            [op, _] => {
                let op = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::Invert]
                    .into_iter()
                    .find(|o| o.symbol() == op);
                let Value::Tensor(x) = &args[0] else {
                    unreachable!()
                };
                cx.unary(op.unwrap(), x)?
            }
            [l, op, r] => {
                let mut args = args.iter().cloned();
                let mut side = |w| match dtype(w) {
                    Some(_) => args.next().unwrap(),
                    None => constant(w),
                };
                let (l, r) = (side(l), side(r));
                operator(cx, op, &l, &r)?
            }
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
    let (mut wanted, mut cases, mut wrong) = ("", 0, Vec::new());
    for line in RECORD.lines() {
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
    assert!(cases > 7_500, "{cases}");
    assert!(
        wrong.is_empty(),
        "{} of {cases}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}
