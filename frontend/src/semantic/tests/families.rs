//! Memory, shapes, reductions and the rest: the operations that come out, and what is refused.
//!
//! The operations expected are those that Triton 3.9 makes of the same calls.

use tilescope_ir::Shape;
use tilescope_ir::attrs::{PropagateNan, ReduceKind};

use super::{build, operations};
use crate::ast::BinaryOp;
use crate::cx::{Cx, Result};
use crate::semantic::arith::{Division, Extremum};
use crate::semantic::atomic::{AtomicOp, Order};
use crate::semantic::dot::{DotOptions, Scaled};
use crate::semantic::hint::Hint;
use crate::semantic::memory::Access;
use crate::types::{Dtype, Elem, PtrTy, Ty};
use crate::value::{Tensor, Value};

fn pointer(to: Dtype) -> Ty {
    Ty::Scalar(Elem::Ptr(PtrTy::to(to)))
}

fn shape(dims: &[u64]) -> Shape {
    Shape::new(dims).unwrap()
}

fn block(dims: &[u64], dtype: Dtype) -> Ty {
    Ty::Block(shape(dims), Elem::Num(dtype))
}

fn pointers(dims: &[u64], to: Dtype) -> Ty {
    Ty::Block(shape(dims), Elem::Ptr(PtrTy::to(to)))
}

fn tensor(value: &Value) -> &Tensor {
    match value {
        Value::Tensor(tensor) => tensor,
        other => panic!("{other:?}"),
    }
}

/// The operations of a function with these parameters, without names.
#[track_caller]
fn made(params: &[Ty], body: impl FnOnce(&mut Cx<'_>, &[Value]) -> Result<()>) -> Vec<String> {
    match build(params, body) {
        Ok(text) => operations(&text),
        Err(message) => panic!("{message}"),
    }
}

/// The message of what must not build, and not because the verifier found it.
#[track_caller]
fn refused(params: &[Ty], body: impl FnOnce(&mut Cx<'_>, &[Value]) -> Result<()>) -> String {
    let message = build(params, body).expect_err("must be refused");
    assert!(!message.starts_with("not valid"), "{message}");
    message
}

#[track_caller]
fn has(ops: &[String], wanted: &[&str]) {
    for op in wanted {
        assert!(ops.iter().any(|o| o == op), "no `{op}` in\n{}", ops.join("\n"));
    }
}

const NONE: Value = Value::None;

#[test]
fn loads_and_stores_broadcast_and_convert() {
    let params = [pointers(&[16], Dtype::Fp16), block(&[16], Dtype::Int1)];
    let ops = made(&params, |cx, p| {
        let access = Access {
            cache_modifier: ".cg".into(),
            eviction_policy: "evict_first".into(),
            ..Access::default()
        };
        let x = cx.load(&p[0], &p[1], &Value::int(0), &access)?;
        let x = cx.cast(&x, Elem::Num(Dtype::Fp32), None)?;
        cx.store(&p[0], &x.into(), &Value::Bool(true), &Access::default())
    });
    has(
        &ops,
        &[
            "arith.sitofp % : tensor<16xi32> to tensor<16xf16>",
            "arith.truncf % : tensor<16xf32> to tensor<16xf16>",
            "tt.load %, %, % {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_first>} : tensor<16x!tt.ptr<f16>>",
            "tt.store %, %, % : tensor<16x!tt.ptr<f16>>",
        ],
    );
}

#[test]
fn truth_values_in_memory_are_bytes() {
    let ops = made(
        &[pointers(&[16], Dtype::Int1), block(&[16], Dtype::Int1)],
        |cx, p| {
            let x = cx.load(&p[0], &p[1], &Value::Bool(true), &Access::default())?;
            assert_eq!(x.dtype(), Some(Dtype::Int1));
            cx.store(&p[0], &x.into(), &NONE, &Access::default())
        },
    );
    has(
        &ops,
        &[
            "tt.bitcast % : tensor<16x!tt.ptr<i1>> -> tensor<16x!tt.ptr<i8>>",
            "tt.load %, %, % : tensor<16x!tt.ptr<i8>>",
            "arith.cmpi ne, %, % : tensor<16xi8>",
            "arith.extui % : tensor<16xi1> to tensor<16xi8>",
            "tt.store %, % : tensor<16x!tt.ptr<i8>>",
        ],
    );
}

#[test]
fn accesses_that_do_not_fit_are_refused_in_words() {
    let access = Access::default();
    let p = [
        pointer(Dtype::Fp32),
        block(&[16], Dtype::Int32),
        pointers(&[8], Dtype::Fp32),
        Ty::num(Dtype::Int32),
    ];
    let say =
        |what: fn(&mut Cx<'_>, &[Value], &Access) -> Result<()>| refused(&p, |cx, p| what(cx, p, &access));
    let message = say(|cx, p, a| cx.load(&p[3], &NONE, &NONE, a).map(|_| ()));
    assert!(
        message.contains("`load` through a run-time value of type `int32`"),
        "{message}"
    );
    let message = say(|cx, p, a| cx.load(&p[0], &NONE, &Value::int(0), a).map(|_| ()));
    assert!(message.contains("without `mask`"), "{message}");
    let message = say(|cx, p, a| cx.store(&p[0], &p[1], &NONE, a));
    assert!(message.contains("the value is a block"), "{message}");
    let message = say(|cx, p, a| cx.store(&p[2], &p[1], &NONE, a));
    assert!(message.contains("the shape [8], the value has [16]"), "{message}");
    let message = say(|cx, p, a| cx.load(&p[2], &p[3], &NONE, a).map(|_| ()));
    assert!(message.contains("truth values (int1) are needed"), "{message}");
    let constant = Ty::Scalar(Elem::Ptr(PtrTy {
        is_const: true,
        ..PtrTy::to(Dtype::Fp32)
    }));
    let message = refused(&[constant], |cx, p| {
        cx.store(&p[0], &Value::int(1), &NONE, &access)
    });
    assert!(message.contains("constant pointer"), "{message}");
}

#[test]
fn offsets_of_pointers() {
    let ops = made(&[pointer(Dtype::Fp32), Ty::num(Dtype::Uint32)], |cx, p| {
        let back = cx.binary(BinaryOp::Sub, &p[0], &p[1])?;
        let there = cx.binary(BinaryOp::Add, &Value::int(3), &back)?;
        cx.store(&there, &Value::int(1), &NONE, &Access::default())
    });
    has(
        &ops,
        &[
            "arith.subi %, % : i32",
            "arith.extui % : i32 to i64",
            "tt.addptr %, % : !tt.ptr<f32>, i64",
            "tt.addptr %, % : !tt.ptr<f32>, i32",
        ],
    );
    let pair = [pointer(Dtype::Fp32), Ty::num(Dtype::Fp32)];
    let message = refused(&pair, |cx, p| cx.binary(BinaryOp::Add, &p[0], &p[1]).map(|_| ()));
    assert!(message.contains("pointer<fp32> and fp32"), "{message}");
    let message = refused(&pair, |cx, p| cx.binary(BinaryOp::Add, &p[0], &p[0]).map(|_| ()));
    assert!(message.contains("both are pointers"), "{message}");
}

#[test]
fn block_pointers() {
    let params = [pointer(Dtype::Int1), Ty::num(Dtype::Int32), Ty::num(Dtype::Int64)];
    let ops = made(&params, |cx, p| {
        let at = [p[1].clone(), Value::int(0)];
        let size = [p[1].clone(), Value::int(64)];
        let steps = [p[2].clone(), Value::int(1)];
        let block = cx.make_block_ptr(&p[0], &size, &steps, &at, shape(&[16, 32]), &[1, 0])?;
        let block = cx.advance(&block.into(), &at)?;
        let access = Access {
            boundary_check: vec![1, 0],
            padding_option: "zero".into(),
            ..Access::default()
        };
        let x = cx.load(&block.clone().into(), &NONE, &NONE, &access)?;
        assert_eq!(x.dtype(), Some(Dtype::Int8));
        cx.store(&block.into(), &x.into(), &NONE, &Access::default())
    });
    has(
        &ops,
        &[
            "tt.make_tensor_ptr %, [%, %], [%, %], [%, %] {order = array<i32: 1, 0>} : <tensor<16x32xi8>>",
            "tt.advance %, [%, %] : <tensor<16x32xi8>>",
            "tt.load % {boundaryCheck = array<i32: 0, 1>, padding = 1 : i32} : !tt.ptr<tensor<16x32xi8>>",
        ],
    );
    let message = refused(&params, |cx, p| {
        let one = [p[2].clone()];
        cx.make_block_ptr(&p[0], &one, &one, &one, shape(&[16]), &[0])
            .map(|_| ())
    });
    assert!(message.contains("an offset is of type int64"), "{message}");
}

#[test]
fn descriptors() {
    let params = [pointer(Dtype::Fp16), Ty::num(Dtype::Int32)];
    let describe = |cx: &mut Cx<'_>, p: &[Value], last: Value, dims: &[u64]| {
        let size = [p[1].clone(), Value::int(64)];
        let made = cx.make_tensor_descriptor(&p[0], &size, &[Value::int(64), last], shape(dims), "zero")?;
        match made {
            Value::Descriptor(d) => Ok(d),
            other => panic!("{other:?}"),
        }
    };
    let ops = made(&params, |cx, p| {
        let d = describe(cx, p, Value::int(1), &[16, 64])?;
        let at = [p[1].clone(), Value::int(0)];
        let x = cx.descriptor_load(&d, &at, &Access::default())?;
        let wide = cx.cast(&x, Elem::Num(Dtype::Fp32), None)?;
        cx.descriptor_store(&d, &at, &wide.into())?;
        cx.descriptor_reduce(ReduceKind::Add, &d, &at, &x.into())?;
        let rows = describe(cx, p, Value::int(1), &[1, 64])?;
        let index = cx.arange(&Value::int(0), &Value::int(8))?.into();
        let picked = cx.descriptor_gather(&rows, &index, &p[1])?;
        cx.descriptor_scatter(&rows, &picked.into(), &index, &Value::int(0))
    });
    has(
        &ops,
        &[
            "tt.descriptor_load %[%, %] : !tt.tensordesc<16x64xf16> -> tensor<16x64xf16>",
            "tt.descriptor_reduce add, %[%, %], % : !tt.tensordesc<16x64xf16>, tensor<16x64xf16>",
            "tt.descriptor_store %[%, %], % : !tt.tensordesc<16x64xf16>, tensor<16x64xf16>",
            "tt.descriptor_gather %[%, %] : (!tt.tensordesc<1x64xf16>, tensor<8xi32>, i32) -> tensor<8x64xf16>",
            "tt.descriptor_scatter %[%, %], % : !tt.tensordesc<1x64xf16>, tensor<8xi32>, i32, tensor<8x64xf16>",
        ],
    );
    let message = refused(&params, |cx, p| {
        describe(cx, p, p[1].clone(), &[16, 64]).map(|_| ())
    });
    assert!(message.contains("the last stride"), "{message}");
    let message = refused(&params, |cx, p| {
        describe(cx, p, Value::int(1), &[16, 4]).map(|_| ())
    });
    assert!(message.contains("at least 16 bytes"), "{message}");
}

#[test]
fn atomics() {
    let params = [
        pointer(Dtype::Fp16),
        Ty::num(Dtype::Int32),
        pointers(&[16], Dtype::Fp32),
        block(&[16], Dtype::Int1),
        pointer(Dtype::Int32),
    ];
    let ops = made(&params, |cx, p| {
        cx.atomic_rmw(AtomicOp::Add, &p[0], &p[1], &NONE, &Order::default())?;
        let order = Order {
            sem: Some("relaxed".into()),
            scope: Some("cta".into()),
        };
        let old = cx.atomic_rmw(AtomicOp::Max, &p[2], &Value::Float(2.0), &p[3], &order)?;
        assert_eq!(old.ty, block(&[16], Dtype::Fp32));
        cx.atomic_cas(&p[4], &Value::int(0), &p[1], &Order::default())
            .map(|_| ())
    });
    has(
        &ops,
        &[
            "arith.sitofp % : i32 to f16",
            "tt.atomic_rmw fadd, acq_rel, gpu, %, %, % : (!tt.ptr<f16>, f16, i1) -> f16",
            "arith.shrui %, % : tensor<16xi32>",
            "tt.atomic_rmw max, relaxed, cta, %, %, % : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>, tensor<16xi1>) -> tensor<16xi32>",
            "tt.atomic_rmw umin, relaxed, cta, %, %, % : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>, tensor<16xi1>) -> tensor<16xi32>",
            "arith.select %, %, % : tensor<16xi1>, tensor<16xi32>",
            "tt.atomic_cas acq_rel, gpu, %, %, % : (!tt.ptr<i32>, i32, i32) -> i32",
        ],
    );
    let rmw = |op: AtomicOp, at: usize| {
        refused(&params, |cx, p| {
            cx.atomic_rmw(op, &p[at], &Value::int(1), &NONE, &Order::default())
                .map(|_| ())
        })
    };
    assert!(rmw(AtomicOp::Max, 0).contains("`atomic_max` does not take fp16"));
    assert!(rmw(AtomicOp::And, 2).contains("`atomic_and` does not take fp32"));
    let message = refused(&params, |cx, p| {
        cx.atomic_cas(&p[4], &Value::Float(0.0), &p[1], &Order::default())
            .map(|_| ())
    });
    assert!(message.contains("cast it with"), "{message}");
}

fn add(cx: &mut Cx<'_>, values: Vec<Value>) -> Result<Vec<Value>> {
    let half = values.len() / 2;
    (0..half)
        .map(|i| cx.binary(BinaryOp::Add, &values[i], &values[i + half]))
        .collect()
}

#[test]
fn reductions_scans_and_maps() {
    let params = [block(&[8, 16], Dtype::Fp32), block(&[8, 16], Dtype::Int32)];
    let ops = made(&params, |cx, p| {
        let (x, i) = (tensor(&p[0]).clone(), tensor(&p[1]).clone());
        let row = cx.reduce(&[x.clone(), i], Some(-1), true, &mut add)?;
        assert_eq!(row[0].ty, block(&[8, 1], Dtype::Fp32));
        let all = cx.reduce(std::slice::from_ref(&x), None, false, &mut add)?;
        assert_eq!(all[0].ty, Ty::num(Dtype::Fp32));
        let all = cx.reduce(std::slice::from_ref(&x), None, true, &mut add)?;
        assert_eq!(all[0].ty, block(&[1, 1], Dtype::Fp32));
        let (_, at) = cx.reduce_with_indices(&x, Some(0), false, &mut add)?;
        assert_eq!(at.ty, block(&[16], Dtype::Int32));
        cx.associative_scan(std::slice::from_ref(&x), 0, true, &mut add)?;
        let mapped = cx.map_elementwise(&[x], 2, &mut |_, v| Ok(v))?;
        assert_eq!(mapped[0].ty, block(&[8, 16], Dtype::Fp32));
        Ok(())
    });
    has(
        &ops,
        &[
            "\"tt.scan\"(%) <{axis = 0 : i32, reverse = true}> ({",
            "\"tt.map_elementwise\"(%) <{pack = 2 : i32}> ({",
            "tt.reduce.return %, % : f32, i32",
            "tt.reshape % allow_reorder : tensor<8x16xf32> -> tensor<128xf32>",
        ],
    );
    let message = refused(&params, |cx, p| {
        let compare = &mut |cx: &mut Cx<'_>, v: Vec<Value>| {
            Ok(vec![cx.compare(crate::ast::CompareOp::Lt, &v[0], &v[1])?])
        };
        cx.reduce(&[tensor(&p[0]).clone()], Some(0), false, compare)
            .map(|_| ())
    });
    assert!(message.contains("gives (int1), (fp32) is needed"), "{message}");
    let message = refused(&params, |cx, p| {
        cx.reduce(&[tensor(&p[0]).clone()], Some(2), false, &mut add)
            .map(|_| ())
    });
    assert!(message.contains("axis 2 does not fit 2 dimensions"), "{message}");
}

#[test]
fn shapes() {
    let params = [block(&[16], Dtype::Fp32), block(&[4, 2], Dtype::Fp32)];
    let ops = made(&params, |cx, p| {
        let (x, y) = (tensor(&p[0]), tensor(&p[1]));
        let all = || Value::Slice([NONE, NONE, NONE].into());
        let column = cx.subscript(x, &Value::tuple(vec![all(), NONE]))?;
        assert_eq!(tensor(&column).ty, block(&[16, 1], Dtype::Fp32));
        let square = cx.binary(BinaryOp::Mul, &column, &p[0])?;
        assert_eq!(tensor(&square).ty, block(&[16, 16], Dtype::Fp32));
        let number = cx.to_tensor(&Value::int(7))?;
        let one = cx.subscript(&number, &Value::tuple(vec![all(), NONE]))?;
        assert_eq!(tensor(&one).ty, block(&[1], Dtype::Int32));
        let joined = cx.join(x, x)?;
        let (left, _) = cx.split(&joined)?;
        assert_eq!(left.ty, x.ty);
        assert_eq!(cx.cat(x, x, false, 0)?.ty, block(&[32], Dtype::Fp32));
        assert_eq!(cx.cat(x, x, true, 0)?.ty, block(&[32], Dtype::Fp32));
        assert_eq!(cx.permute(y, &[])?.ty, block(&[2, 4], Dtype::Fp32));
        assert_eq!(cx.expand_dims(y, &[0, -1])?.ty, block(&[1, 4, 2, 1], Dtype::Fp32));
        let pair = cx.reshape(x, shape(&[8, 2]), false)?;
        let one = cx.full(shape(&[1]), &Value::Float(1.5), Elem::Num(Dtype::Fp8e5))?;
        let scalar = cx.unsplat(&one)?;
        assert_eq!(scalar.ty, Ty::num(Dtype::Fp8e5));
        let (a, b) = (cx.to_tensor(&Value::int(1))?, cx.to_tensor(&Value::int(2))?);
        let both = cx.join(&a, &b)?;
        assert_eq!(cx.split(&both)?.1.ty, Ty::num(Dtype::Int32));
        cx.split(&pair).map(|_| ())
    });
    has(
        &ops,
        &[
            "tt.expand_dims % {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>",
            "tt.broadcast % : tensor<1x16xf32> -> tensor<16x16xf32>",
            "tt.cat %, % : tensor<16xf32> -> tensor<32xf32>",
            "tt.trans % {order = array<i32: 1, 0>} : tensor<16x2xf32> -> tensor<2x16xf32>",
            "arith.truncf % : f32 to f8E5M2",
            "tt.unsplat % : tensor<1xf8E5M2>",
        ],
    );
    let message = refused(&params, |cx, p| {
        cx.subscript(tensor(&p[0]), &Value::int(0)).map(|_| ())
    });
    assert!(message.contains("indexed with the integer 0"), "{message}");
    let message = refused(&params, |cx, p| {
        cx.reshape(tensor(&p[0]), shape(&[8]), false).map(|_| ())
    });
    assert!(
        message.contains("16 elements") && message.contains("8 elements"),
        "{message}"
    );
    let message = refused(&params, |cx, p| {
        cx.binary(BinaryOp::Add, &p[0], &p[1]).map(|_| ())
    });
    assert!(message.contains("[16] and [4, 2] do not broadcast"), "{message}");
}

#[test]
fn nothing_but_powers_of_two() {
    let message = refused(&[], |cx, _| {
        cx.arange(&Value::int(0), &Value::int(100)).map(|_| ())
    });
    assert!(message.contains("100 elements, not a power of two"), "{message}");
    let message = refused(&[], |cx, _| {
        cx.shape_of(&Value::tuple(vec![Value::int(4), Value::int(3)]))
            .map(|_| ())
    });
    assert!(
        message.contains("dimension 1 of the shape is the integer 3"),
        "{message}"
    );
    let message = refused(&[], |cx, _| cx.shape_of(&Value::int(1 << 21)).map(|_| ()));
    assert!(message.contains("more than 1048576 elements"), "{message}");
    let message = refused(&[Ty::num(Dtype::Int32)], |cx, p| {
        cx.arange(&Value::int(0), &p[0]).map(|_| ())
    });
    assert!(message.contains("known only at run time"), "{message}");
}

#[test]
fn products() {
    let params = [
        block(&[16, 32], Dtype::Fp16),
        block(&[32, 16], Dtype::Fp16),
        block(&[16, 16], Dtype::Fp32),
        block(&[16, 32], Dtype::Fp32),
        block(&[2, 2, 16, 32], Dtype::Int8),
        block(&[2, 2, 32, 16], Dtype::Int8),
    ];
    let dot = |cx: &mut Cx<'_>, p: &[Value], a: usize, b: usize, acc: &Value, o: &DotOptions| {
        cx.dot(tensor(&p[a]), tensor(&p[b]), acc, o)
    };
    let ops = made(&params, |cx, p| {
        let plain = DotOptions::default();
        assert_eq!(dot(cx, p, 0, 1, &NONE, &plain)?.ty, block(&[16, 16], Dtype::Fp32));
        let ieee = DotOptions {
            allow_tf32: Some(false),
            ..DotOptions::default()
        };
        dot(cx, p, 0, 1, &p[2], &ieee)?;
        let half = DotOptions {
            out_dtype: Some(Dtype::Fp16),
            ..DotOptions::default()
        };
        assert_eq!(dot(cx, p, 0, 1, &NONE, &half)?.dtype(), Some(Dtype::Fp16));
        assert_eq!(
            dot(cx, p, 4, 5, &NONE, &plain)?.ty,
            block(&[2, 2, 16, 16], Dtype::Int32)
        );
        Ok(())
    });
    has(
        &ops,
        &[
            "tt.dot %, %, %, inputPrecision = tf32 : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>",
            "tt.dot %, %, % : tensor<16x32xf16> * tensor<32x16xf16> -> tensor<16x16xf32>",
            "tt.reshape % : tensor<4x16x16xi32> -> tensor<2x2x16x16xi32>",
        ],
    );
    let no = |a: usize, b: usize, acc: usize| {
        refused(&params, |cx, p| {
            let acc = p.get(acc).cloned().unwrap_or(NONE);
            dot(cx, p, a, b, &acc, &DotOptions::default()).map(|_| ())
        })
    };
    assert!(no(0, 0, 9).contains("32 columns do not fit 16 rows"));
    assert!(no(3, 1, 9).contains("types fp32 and fp16: they must be the same"));
    assert!(no(0, 1, 0).contains("the accumulator is of type"));
}

#[test]
fn scaled_products() {
    let params = [
        block(&[16, 32], Dtype::Uint8),
        block(&[64, 16], Dtype::Uint8),
        block(&[16, 2], Dtype::Uint8),
    ];
    let product = |cx: &mut Cx<'_>, p: &[Value], scale: &Value| {
        let a = Scaled {
            tile: tensor(&p[0]),
            scale,
            format: "e2m1",
            k_pack: true,
        };
        let b = Scaled {
            tile: tensor(&p[1]),
            scale: &NONE,
            format: "e4m3",
            k_pack: true,
        };
        cx.dot_scaled(&a, &b, &NONE, false, Dtype::Fp32)
    };
    let ops = made(&params, |cx, p| {
        assert_eq!(product(cx, p, &p[2])?.ty, block(&[16, 16], Dtype::Fp32));
        Ok(())
    });
    has(
        &ops,
        &["tt.bitcast % : tensor<64x16xi8> -> tensor<64x16xf8E4M3FN>"],
    );
    let message = refused(&params, |cx, p| product(cx, p, &p[0]).map(|_| ()));
    assert!(message.contains("the scale of the left operand"), "{message}");
}

#[test]
fn arithmetic_functions() {
    let params = [
        Ty::num(Dtype::Fp32),
        Ty::num(Dtype::Int32),
        Ty::num(Dtype::Uint32),
    ];
    let ops = made(&params, |cx, p| {
        let (x, n) = (&p[0], &p[1]);
        cx.clamp(x, &Value::int(0), &Value::Float(6.5), PropagateNan::None)?;
        cx.clamp(n, &Value::int(1), &Value::int(5), PropagateNan::None)?;
        cx.extremum(Extremum::Maximum, x, n, PropagateNan::All)?;
        cx.fma(x, &Value::int(2), n)?;
        cx.divide(x, &Value::Float(3.0), Division::Ieee)?;
        cx.umulhi(n, &Value::int(7))?;
        cx.abs(n)?;
        assert_eq!(cx.abs(&p[2])?.value, tensor(&p[2]).value);
        cx.math1("exp", tilescope_ir::OpCode::Exp, x, &[Dtype::Fp32, Dtype::Fp64])?;
        cx.where_(n, &Value::int(2), &Value::Float(3.5)).map(|_| ())
    });
    has(
        &ops,
        &[
            "tt.clampf %, %, %, propagateNan = none : f32",
            "arith.maxsi %, % : i32",
            "arith.minsi %, % : i32",
            "arith.maximumf %, % : f32",
            "math.fma %, %, % : f32",
            "tt.precise_divf %, % : f32",
            "tt.mulhiui %, % : i32",
            "math.absi % : i32",
            "math.exp % : f32",
            "arith.cmpi ne, %, % : i32",
            "arith.select %, %, % : f32",
        ],
    );
    let message = refused(&[Ty::num(Dtype::Fp16)], |cx, p| {
        cx.math1(
            "exp",
            tilescope_ir::OpCode::Exp,
            &p[0],
            &[Dtype::Fp32, Dtype::Fp64],
        )
        .map(|_| ())
    });
    assert!(
        message.contains("`exp` of a value of type fp16: it takes fp32, fp64"),
        "{message}"
    );
}

#[test]
fn hints_asserts_and_assembly() {
    let params = [
        block(&[16], Dtype::Int32),
        block(&[16], Dtype::Fp32),
        Ty::num(Dtype::Int1),
    ];
    let ops = made(&params, |cx, p| {
        let sum = cx.binary(BinaryOp::Add, &p[0], &Value::int(1))?;
        cx.hint(Hint::Contiguity, &sum, &[16])?;
        cx.hint(Hint::Divisibility, &sum, &[8])?;
        cx.hint(Hint::Divisibility, &p[0], &[16])?;
        cx.assume(&p[2])?;
        cx.device_assert(&p[2], "always", &NONE)?;
        cx.debug_barrier();
        cx.device_print("x", &[p[0].clone()], true)?;
        let args = [p[1].clone(), Value::int(1)];
        let types = [Elem::Num(Dtype::Int32), Elem::Num(Dtype::Fp32)];
        let results = cx.inline_asm("nop;", "=r,=r,r,r", &args, &types, false, 1)?;
        assert_eq!(results[1].ty, block(&[16], Dtype::Fp32));
        Ok(())
    });
    has(
        &ops,
        &[
            "arith.addi %, % {tt.contiguity = dense<16> : tensor<1xi32>, tt.divisibility = dense<8> : tensor<1xi32>} : tensor<16xi32>",
            "llvm.intr.assume % : i1",
            "tt.assert %, \"always\" : i1",
            "ttg.barrier all",
            "tt.print \" x: \" {hex = true, isSigned = array<i32: 1>} : % : tensor<16xi32>",
            "tt.elementwise_inline_asm \"nop;\" {constraints = \"=r,=r,r,r\", packed_element = 1 : i32, pure = false} %, % : tensor<16xf32>, tensor<16xi32> -> tensor<16xi32>, tensor<16xf32>",
        ],
    );
    let message = refused(&params, |cx, p| {
        cx.hint(Hint::Contiguity, &p[0], &[1, 1]).map(|_| ())
    });
    assert!(
        message.contains("2 values of a value of 1 dimensions"),
        "{message}"
    );
}
