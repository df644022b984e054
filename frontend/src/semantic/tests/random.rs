//! Random operations on random values: what is not refused must verify.

use tilescope_ir::attrs::{PropagateNan, ReduceKind, Rounding};
use tilescope_ir::{OpCode, Shape};

use super::build;
use crate::ast::{BinaryOp, BoolOp, CompareOp, UnaryOp};
use crate::cx::{Cx, Result};
use crate::semantic::arith::{Division, Extremum};
use crate::semantic::atomic::{AtomicOp, Order};
use crate::semantic::dot::{DotOptions, Scaled};
use crate::semantic::hint::Hint;
use crate::semantic::memory::Access;
use crate::types::{Dtype, Elem, PtrTy, Ty};
use crate::value::{Tensor, Value};

/// A linear congruential generator: the same cases every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

fn params(r: &mut Random) -> Vec<Ty> {
    let shapes: [&[u64]; 8] = [
        &[4],
        &[4, 1],
        &[1, 4],
        &[4, 4],
        &[2, 4, 4],
        &[4, 2],
        &[16, 32],
        &[32, 16],
    ];
    (0..10)
        .map(|_| {
            let dtype = r.of(&Dtype::ALL);
            let is_const = r.below(8) == 0;
            let pointer = PtrTy {
                is_const,
                levels: 1 + u8::from(r.below(6) == 0),
                to: dtype,
            };
            let elem = if r.below(3) == 0 {
                Elem::Ptr(pointer)
            } else {
                Elem::Num(dtype)
            };
            let shape = Shape::new(r.of(&shapes)).unwrap();
            match r.below(3) {
                0 => Ty::Scalar(elem),
                _ => Ty::Block(shape, elem),
            }
        })
        .collect()
}

fn constant(r: &mut Random) -> Value {
    let constants = [
        Value::None,
        Value::Bool(true),
        Value::int(0),
        Value::int(1),
        Value::int(-3),
        Value::int(300),
        Value::int(1i64 << 40),
        Value::int(u64::MAX),
        Value::Float(0.5),
        Value::Float(1e300),
        Value::Float(f64::NAN),
        Value::str("x"),
    ];
    r.of(&constants)
}

/// One operation; new tensors go into the pool.
fn step(cx: &mut Cx<'_>, r: &mut Random, pool: &mut Vec<Value>) -> Result<()> {
    let any = |r: &mut Random, pool: &[Value]| match r.below(4) {
        0 => constant(r),
        _ => r.of(pool),
    };
    let (a, b, c) = (any(r, pool), any(r, pool), any(r, pool));
    let tensor = |cx: &mut Cx<'_>, v: &Value| cx.to_tensor(v);
    let access = Access::default();
    let made: Vec<Value> = match r.below(32) {
        0..=3 => {
            use BinaryOp::*;
            let op = r.of(&[Add, Sub, Mul, Div, FloorDiv, Mod, Shl, Shr, And, Or, Xor]);
            vec![cx.binary(op, &a, &b)?]
        }
        4 => {
            use CompareOp::*;
            let op = r.of(&[Eq, Ne, Lt, Le, Gt, Ge]);
            vec![cx.compare(op, &a, &b)?]
        }
        5 => {
            let x = tensor(cx, &a)?;
            vec![cx.unary(r.of(&[UnaryOp::Neg, UnaryOp::Not, UnaryOp::Invert]), &x)?]
        }
        6 => vec![cx.logic(r.of(&[BoolOp::And, BoolOp::Or]), &a, &b)?],
        7 => vec![cx.where_(&a, &b, &c)?.into()],
        8 => vec![cx.clamp(&a, &b, &c, PropagateNan::All)?.into()],
        9 => vec![
            cx.extremum(
                r.of(&[Extremum::Minimum, Extremum::Maximum]),
                &a,
                &b,
                PropagateNan::None,
            )?
            .into(),
        ],
        10 => vec![
            cx.divide(&a, &b, r.of(&[Division::Plain, Division::Ieee, Division::Approx]))?
                .into(),
        ],
        11 | 12 => {
            let x = tensor(cx, &a)?;
            let dtype = r.of(&Dtype::ALL);
            let to = r.of(&[Elem::Num(dtype), Elem::Num(dtype), Elem::Ptr(PtrTy::to(dtype))]);
            let made = match r.below(3) {
                0 => cx.bitcast(&x, to)?,
                1 => cx.cast(&x, to, Some(Rounding::Rtz))?,
                _ => cx.cast(&x, to, None)?,
            };
            vec![made.into()]
        }
        13 | 14 => vec![cx.load(&a, &b, &c, &access)?.into()],
        15 => {
            cx.store(&a, &b, &c, &access)?;
            Vec::new()
        }
        16 | 17 => {
            use AtomicOp::*;
            let op = r.of(&[Add, Max, Min, And, Or, Xor, Xchg]);
            vec![cx.atomic_rmw(op, &a, &b, &c, &Order::default())?.into()]
        }
        18 => {
            cx.atomic_store(&a, &b, &c, &Order::default())?;
            vec![
                cx.atomic_load(&a, &c, &Order::default())?.into(),
                cx.atomic_cas(&a, &b, &b, &Order::default())?.into(),
                cx.atomic_poll(&a, &b, &c, &Order::default())?.into(),
            ]
        }
        19 => {
            let inputs = [tensor(cx, &a)?];
            let axis = r.of(&[None, Some(0), Some(-1), Some(1)]);
            let keep = r.below(2) == 0;
            let add =
                &mut |cx: &mut Cx<'_>, v: Vec<Value>| Ok(vec![cx.binary(BinaryOp::Add, &v[0], &v[1])?]);
            let reduced = cx.reduce(&inputs, axis, keep, add)?;
            let scanned = cx.associative_scan(&inputs, axis.unwrap_or(0), keep, add)?;
            reduced.into_iter().chain(scanned).map(Value::from).collect()
        }
        20 => {
            let inputs = [tensor(cx, &a)?, tensor(cx, &b)?];
            let same = &mut |_: &mut Cx<'_>, v: Vec<Value>| Ok(v);
            let mapped = cx.map_elementwise(&inputs, 1 + r.below(3) as u32, same)?;
            mapped.into_iter().map(Value::from).collect()
        }
        21 => {
            let (x, i) = (tensor(cx, &a)?, tensor(cx, &b)?);
            vec![cx.gather(&x, &i, r.below(3) as i64 - 1)?.into()]
        }
        22 => {
            let x = tensor(cx, &a)?;
            vec![cx.histogram(&x, 1 << r.below(5), &b)?.into()]
        }
        23 | 24 => {
            let (x, y) = (tensor(cx, &a)?, tensor(cx, &b)?);
            let other = r.of(&Dtype::ALL);
            let options = DotOptions {
                out_dtype: r.of(&[None, Some(Dtype::Fp16), Some(Dtype::Fp32), Some(other)]),
                ..DotOptions::default()
            };
            vec![cx.dot(&x, &y, &c, &options)?.into()]
        }
        25 => {
            let (x, y) = (tensor(cx, &a)?, tensor(cx, &b)?);
            let formats = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"];
            let side = |tile, format, k_pack| Scaled {
                tile,
                scale: &Value::None,
                format,
                k_pack,
            };
            let (left, right) = (r.of(&formats), r.of(&formats));
            let left = side(&x, left, r.below(3) > 0);
            let right = side(&y, right, r.below(3) > 0);
            vec![
                cx.dot_scaled(&left, &right, &Value::None, false, Dtype::Fp32)?
                    .into(),
            ]
        }
        26 => {
            let (x, y) = (tensor(cx, &a)?, tensor(cx, &b)?);
            let joined = cx.join(&x, &y)?;
            let (left, _) = cx.split(&joined)?;
            let cat = cx.cat(&x, &y, r.below(2) == 0, r.below(3) as i64 - 1)?;
            vec![joined.into(), left.into(), cat.into()]
        }
        27 => {
            let x = tensor(cx, &a)?;
            let order = r.of(&[vec![], vec![1, 0], vec![2, 0, 1], vec![0]]);
            let flat = Shape::new(&[x.shape().elements() as u64]).unwrap();
            let reordered = r.below(2) == 0;
            vec![
                cx.expand_dims(&x, &[r.below(4) as i64 - 2])?.into(),
                cx.reshape(&x, flat, reordered)?.into(),
                cx.permute(&x, &order)?.into(),
            ]
        }
        28 => {
            let types = [Elem::Num(r.of(&Dtype::ALL)), Elem::Num(Dtype::Int32)];
            let asm = cx.inline_asm("nop;", "=r,=r,r,r", &[a, b], &types, true, 1)?;
            asm.into_iter().map(Value::from).collect()
        }
        29 => {
            cx.device_print("x", &[a.clone(), b.clone()], false)?;
            cx.hint(Hint::Divisibility, &a, &[16])?;
            cx.device_assert(&a, "x", &b)?;
            cx.assume(&b)?;
            Vec::new()
        }
        30 => {
            let block = Shape::new(&[16]).unwrap();
            let one = [Value::int(1)];
            let made = cx.make_block_ptr(&a, &[b], &one, &[c], block, &[0])?;
            let access = Access {
                boundary_check: vec![0],
                padding_option: r.of(&["", "zero", "nan"]).into(),
                ..Access::default()
            };
            let block = made.into();
            let loaded: Value = cx.load(&block, &Value::None, &Value::None, &access)?.into();
            cx.store(&block, &loaded, &Value::None, &Access::default())?;
            vec![cx.advance(&block, &one)?.into(), loaded]
        }
        _ => {
            let block = Shape::new(&[1, 64]).unwrap();
            let (shape, strides) = ([Value::int(4), b], [Value::int(64), Value::int(1)]);
            let Value::Descriptor(d) = cx.make_tensor_descriptor(&a, &shape, &strides, block, "zero")? else {
                return Ok(());
            };
            let at = [Value::int(0), c];
            let loaded: Value = cx.descriptor_load(&d, &at, &access)?.into();
            cx.descriptor_store(&d, &at, &loaded)?;
            let kind = r.of(ReduceKind::ALL);
            cx.descriptor_reduce(kind, &d, &at, &loaded)?;
            vec![loaded]
        }
    };
    let doubled = made.iter().filter_map(|v| match v {
        Value::Tensor(Tensor { ty, .. }) if ty.dtype() == Some(Dtype::Fp32) => Some(v.clone()),
        _ => None,
    });
    for x in doubled {
        cx.math1("exp", OpCode::Exp, &x, &[Dtype::Fp32])?;
        cx.fma(&x, &x, &Value::int(1))?;
    }
    pool.extend(made);
    Ok(())
}

#[test]
fn what_is_not_refused_verifies() {
    let (mut built, mut refused) = (0, 0);
    for seed in 0..400 {
        let mut r = Random(seed * 7_919 + 1);
        let params = params(&mut r);
        let text = build(&params, |cx, args| {
            let mut pool = args.to_vec();
            for _ in 0..80 {
                match step(cx, &mut r, &mut pool) {
                    Ok(()) => built += 1,
                    Err(_) => refused += 1,
                }
            }
            Ok(())
        });
        if let Err(message) = text {
            panic!("seed {seed}: {message}");
        }
    }
    assert!(
        built > 2_000 && refused > 2_000,
        "{built} built, {refused} refused"
    );
}
