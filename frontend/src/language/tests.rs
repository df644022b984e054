//! Functions of the tables called with values: what IR comes out, and how mistakes read.

use std::sync::Arc;

use tilescope_diagnostics::Source;
use tilescope_ir::{Module, text, verify};

use super::{attribute, method, names, rows};
use crate::Options;
use crate::ast::Span;
use crate::cx::{Args, Cx, Result};
use crate::source::{Files, Program};
use crate::types::{Dtype, Elem, PtrTy, Ty};
use crate::value::{Tensor, Value};

#[derive(Debug)]
struct OneFile;

impl Files for OneFile {
    fn read(&self, path: &str) -> std::result::Result<Option<Arc<Source>>, String> {
        Ok((path == "k.py").then(|| Source::new("k.py", "first + second + third\n")))
    }
}

/// Builds a function with the body; its IR, verified and printed.
fn build(body: impl FnOnce(&mut Cx<'_>) -> Result<()>) -> Result<String> {
    let files = OneFile;
    let program = Program::new(&files, Vec::new());
    let module = program.load("k.py").unwrap();
    let options = Options {
        capability: 90,
        num_warps: 4,
        num_stages: 3,
    };
    let mut cx = Cx::new(&program, &options, module);
    cx.place.span = Span { start: 0, end: 5 };
    body(&mut cx)?;
    cx.b.return_(&[]);
    let mut module = Module::default();
    module.funcs.push(cx.b.finish().unwrap());
    if let Err(errors) = verify(&module) {
        panic!("{}\n{}", errors[0], text::print(&module));
    }
    Ok(text::print(&module))
}

/// What is wrong with a body, with the words under the caret.
fn refused(body: impl FnOnce(&mut Cx<'_>) -> Result<()>) -> String {
    match build(body) {
        Ok(text) => panic!("accepted:\n{text}"),
        Err(error) => {
            format!("{error} {}", error.notes.join("; "))
        }
    }
}

fn function(path: &str) -> Value {
    let (module, name) = path.rsplit_once('.').unwrap();
    let module = module.replacen("tl", "triton.language", 1);
    attribute(&module, name).unwrap_or_else(|| panic!("no {path}"))
}

/// Calls `path` with positional and keyword arguments.
fn call(cx: &mut Cx<'_>, path: &str, args: &[Value], keywords: &[(&str, Value)]) -> Result<Value> {
    let span = Span { start: 6, end: 12 };
    let mut given = Args::of(args.to_vec(), span);
    for (name, value) in keywords {
        given
            .keywords
            .push((Arc::<str>::from(*name).to_string().into(), value.clone(), span));
    }
    match function(path) {
        Value::Builtin(row) => cx.call_builtin(row, given),
        other => panic!("{path} is {}", other.describe()),
    }
}

fn block(cx: &mut Cx<'_>, dims: &[i64], dtype: Dtype) -> Value {
    let dims = Value::tuple(dims.iter().map(|&d| Value::int(d)).collect());
    let shape = cx.shape_of(&dims).unwrap();
    let ty = Ty::Block(shape, Elem::Num(dtype));
    let value = cx.b.param("x", ty.ir().unwrap(), None);
    Value::Tensor(Tensor { value, ty })
}

fn scalar(cx: &mut Cx<'_>, elem: Elem) -> Value {
    let ty = Ty::Scalar(elem);
    let value = cx.b.param("s", ty.ir().unwrap(), None);
    Value::Tensor(Tensor { value, ty })
}

fn ty_of(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => tensor.ty.to_string(),
        other => other.describe(),
    }
}

#[test]
fn every_public_name_of_triton_is_there() {
    // `__all__` of `triton.language` in the versions 3.2 to 3.9, and what stands in `triton.language.math`.
    let public = "PropagateNan TRITON_MAX_TENSOR_NUMEL load_tensor_descriptor store_tensor_descriptor \
        make_tensor_descriptor tensor_descriptor abs add arange argmax argmin associative_scan assume atomic_add \
        atomic_and atomic_cas atomic_load atomic_max atomic_min atomic_or atomic_poll atomic_store atomic_xchg \
        atomic_xor bfloat16 bitonic_merge block_type broadcast broadcast_to cat cast cdiv ceil clamp condition const \
        constexpr constexpr_type cos cumprod cumsum debug_barrier device_assert device_print div_rn dot dot_scaled \
        dtype erf exp exp2 expand_dims extra fdiv flip float16 float32 float64 float8e4b15 float8e4nv float8e4b8 \
        float8e5 float8e5b16 floor fma full gather histogram inline_asm_elementwise interleave int1 int16 int32 int64 \
        int8 join load log log2 make_block_ptr map_elementwise math max max_constancy max_contiguous maximum min \
        minimum mul multiple_of num_programs pair_uniform_to_normal permute philox philox_impl pi32_t pointer_type \
        program_id rand rand4x randint randint4x randn randn4x range ravel reduce reduce_or reshape rsqrt slice \
        sigmoid sin softmax sort split sqrt sqrt_rn squeeze static_assert static_print static_range store sub sum \
        swizzle2d target_info tensor topk to_tensor trans tuple uint16 uint32 uint64 uint8 expect_zero \
        uint_to_uniform_float umulhi unsqueeze view void where xor_sum zeros zeros_like advance \
        _experimental_descriptor_load _experimental_descriptor_store _experimental_make_tensor_descriptor \
        aggregate_replace tuple_type tensor_descriptor_type";
    for name in public.split_whitespace() {
        assert!(attribute("triton.language", name).is_some(), "tl.{name}");
    }
    for name in [
        "exp",
        "fast_expf",
        "tanh",
        "erf",
        "round",
        "umulhi",
        "fdiv",
        "log1p",
        "pow",
    ] {
        assert!(
            attribute("triton.language.math", name).is_some(),
            "tl.math.{name}"
        );
    }
    let methods = "broadcast_to trans permute split view reshape expand_dims cast store atomic_cas atomic_xchg \
        atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor exp log cos sin sqrt rsqrt abs reduce \
        associative_scan gather histogram cdiv sigmoid softmax ravel max argmax min argmin sum xor_sum cumsum cumprod \
        sort flip to item logical_and logical_or __add__ __lshift__ advance";
    for name in methods.split_whitespace() {
        assert!(method(name).is_some(), ".{name}()");
    }
    assert!(names("triton.language").contains(&"float8e4nv"));
}

#[test]
fn arguments_bind_by_position_and_name() {
    let text = build(|cx| {
        let x = block(cx, &[4, 8], Dtype::Fp16);
        let by_position = call(cx, "tl.sum", &[x.clone(), Value::int(1)], &[])?;
        assert_eq!(ty_of(&by_position), "<[4], fp16>");
        let by_name = call(
            cx,
            "tl.sum",
            &[],
            &[
                ("axis", Value::int(-2)),
                ("input", x),
                ("keep_dims", Value::Bool(true)),
            ],
        )?;
        assert_eq!(ty_of(&by_name), "<[1, 8], fp16>");
        Ok(())
    });
    let text = text.unwrap();
    assert!(
        text.contains("axis = 0 : i32") && text.contains("axis = 1 : i32"),
        "{text}"
    );
}

#[test]
fn arguments_that_do_not_bind_are_named() {
    let said = refused(|cx| call(cx, "tl.exp", &[], &[]).map(drop));
    assert!(said.contains("`tl.math.exp` needs an argument `x`"), "{said}");
    let said = refused(|cx| {
        call(
            cx,
            "tl.arange",
            &[Value::int(0), Value::int(4), Value::int(1)],
            &[],
        )
        .map(drop)
    });
    assert!(
        said.contains("takes 2 positional arguments but 3 were given: one too many"),
        "{said}"
    );
    let said = refused(|cx| {
        let x = block(cx, &[4], Dtype::Fp32);
        call(cx, "tl.sum", &[x], &[("axes", Value::int(0))]).map(drop)
    });
    assert!(
        said.contains("`tl.sum` has no parameter `axes`: did you mean `axis`?"),
        "{said}"
    );
    assert!(said.contains("tl.sum(input, axis=None"), "{said}");
    let said = refused(|cx| {
        let x = block(cx, &[4], Dtype::Fp32);
        call(cx, "tl.sum", std::slice::from_ref(&x), &[("input", x.clone())]).map(drop)
    });
    assert!(
        said.contains("`tl.sum` gets its argument `input` twice"),
        "{said}"
    );
}

#[test]
fn an_argument_of_the_wrong_kind_says_what_it_was() {
    let said = refused(|cx| {
        let x = block(cx, &[4], Dtype::Fp32);
        let axis = scalar(cx, Elem::Num(Dtype::Int32));
        call(cx, "tl.sum", &[x, axis], &[]).map(drop)
    });
    assert!(
        said.contains("argument `axis` of `tl.sum` must be a compile-time integer: this is a run-time value of type `int32`"),
        "{said}"
    );
    assert!(said.contains("tl.constexpr"), "{said}");
    let said = refused(|cx| call(cx, "tl.static_range", &[Value::Float(1.5)], &[]).map(drop));
    assert!(
        said.contains(
            "argument `arg1` of `tl.static_range` must be a compile-time integer: this is the float 1.5"
        ),
        "{said}"
    );
    let said = refused(|cx| {
        let x = block(cx, &[4], Dtype::Fp32);
        call(
            cx,
            "tl.max",
            std::slice::from_ref(&x),
            &[("axis", Value::str("rows"))],
        )
        .map(drop)
    });
    assert!(said.contains("this is the string 'rows'"), "{said}");
    let said = refused(|cx| {
        let x = block(cx, &[4], Dtype::Fp32);
        call(cx, "tl.cast", &[x, Value::str("float16")], &[]).map(drop)
    });
    assert!(
        said.contains("argument `dtype` of `tl.cast` must be a type"),
        "{said}"
    );
}

#[test]
fn misspelt_names_are_answered_with_the_nearest() {
    let said = refused(|cx| {
        let tl = attribute("triton", "language").unwrap();
        cx.attribute(&tl, "zeroes").map(drop)
    });
    assert!(
        said.contains("module `triton.language` has no attribute `zeroes`")
            && said.contains("did you mean `zeros`?"),
        "{said}"
    );
    let said = refused(|cx| {
        let x = block(cx, &[4], Dtype::Fp32);
        cx.attribute(&x, "shpae").map(drop)
    });
    assert!(said.contains("did you mean `shape`?"), "{said}");
    let said = refused(|cx| {
        let x = Value::Type(Ty::num(Dtype::Fp32));
        cx.attribute(&x, "is_float").map(drop)
    });
    assert!(
        said.contains("the type `fp32` has no attribute `is_float`"),
        "{said}"
    );
}

#[test]
fn types_answer_as_in_triton() {
    build(|cx| {
        let ask = |cx: &mut Cx<'_>, ty: &Ty, name: &str| -> Result<String> {
            let value = cx.attribute(&Value::Type(ty.clone()), name)?;
            let value = match &value {
                Value::Method(method) => match &method.1 {
                    Value::Builtin(row) => {
                        cx.call_builtin(row, Args::of(vec![method.0.clone()], Span::default()))?
                    }
                    other => other.clone(),
                },
                other => other.clone(),
            };
            Ok(crate::konst::str(&value))
        };
        let fp8 = Ty::num(Dtype::Fp8e4nv);
        let pointer = Ty::Scalar(Elem::Ptr(PtrTy {
            to: Dtype::Fp16,
            levels: 2,
            is_const: false,
        }));
        let x = block(cx, &[4, 8], Dtype::Int1);
        let Value::Tensor(x) = x else { unreachable!() };
        for (ty, name, answer) in [
            (&fp8, "is_fp8", "True"),
            (&fp8, "is_fp8e4nv", "True"),
            (&fp8, "is_fp8e5", "False"),
            (&fp8, "is_standard_floating", "False"),
            (&fp8, "primitive_bitwidth", "8"),
            (&fp8, "name", "fp8e4nv"),
            (&fp8, "codegen_name", "float8e4nv"),
            (&Ty::num(Dtype::Int1), "is_int_signed", "False"),
            (&Ty::num(Dtype::Int1), "is_int_unsigned", "True"),
            (&Ty::num(Dtype::Int16), "get_int_min_value", "-32768"),
            (&Ty::num(Dtype::Uint8), "get_int_max_value", "255"),
            (&Ty::num(Dtype::Bf16), "fp_mantissa_width", "7"),
            (&Ty::num(Dtype::Int64), "itemsize", "8"),
            (&pointer, "is_ptr", "True"),
            (&pointer, "element_ty", "pointer<fp16>"),
            (&pointer, "scalar", "pointer<pointer<fp16>>"),
            (&x.ty, "is_block", "True"),
            (&x.ty, "is_int", "False"),
            (&x.ty, "scalar", "int1"),
            (&x.ty, "numel", "32"),
            (&x.ty, "shape", "(4, 8)"),
        ] {
            assert_eq!(ask(cx, ty, name)?, answer, "{ty}.{name}");
        }
        assert_eq!(ask(cx, &pointer, "is_int")?, "False");
        let signed = cx.attribute(&Value::Type(Ty::num(Dtype::Int8)), "int_signedness")?;
        assert_eq!(signed.describe(), "`tl.dtype.SIGNEDNESS.SIGNED`");
        Ok(())
    })
    .unwrap();
}

#[test]
fn sums_and_extrema_widen_as_in_triton() {
    build(|cx| {
        for (function, dtype, result) in [
            ("tl.sum", Dtype::Int8, "<[4], int32>"),
            ("tl.sum", Dtype::Uint16, "<[4], uint32>"),
            ("tl.sum", Dtype::Int1, "<[4], uint32>"),
            ("tl.sum", Dtype::Bf16, "<[4], bf16>"),
            ("tl.max", Dtype::Fp16, "<[4], fp32>"),
            ("tl.min", Dtype::Int8, "<[4], int32>"),
            ("tl.xor_sum", Dtype::Int8, "<[4], int8>"),
            ("tl.argmax", Dtype::Fp16, "<[4], int32>"),
        ] {
            let x = block(cx, &[4, 8], dtype);
            let out = call(cx, function, &[x, Value::int(1)], &[])?;
            assert_eq!(ty_of(&out), result, "{function} of {dtype}");
        }
        let x = block(cx, &[4, 8], Dtype::Fp16);
        let out = call(
            cx,
            "tl.max",
            &[x.clone(), Value::int(0)],
            &[("return_indices", Value::Bool(true))],
        )?;
        let Value::Tuple(pair) = &out else {
            panic!("{out:?}")
        };
        assert_eq!(
            (ty_of(&pair.items[0]), ty_of(&pair.items[1])),
            ("<[8], fp16>".into(), "<[8], int32>".into())
        );
        let out = call(
            cx,
            "tl.sum",
            std::slice::from_ref(&x),
            &[("dtype", Value::Type(Ty::num(Dtype::Fp32)))],
        )?;
        assert_eq!(ty_of(&out), "fp32");
        let out = call(
            cx,
            "tl.cumsum",
            &[x, Value::int(1)],
            &[("reverse", Value::Bool(true))],
        )?;
        assert_eq!(ty_of(&out), "<[4, 8], fp16>");
        Ok(())
    })
    .unwrap();
    let said = refused(|cx| {
        let x = block(cx, &[4], Dtype::Fp32);
        call(cx, "tl.xor_sum", &[x], &[]).map(drop)
    });
    assert!(said.contains("`tl.xor_sum` combines integers"), "{said}");
}

#[test]
fn sorting_networks_verify() {
    build(|cx| {
        let x = block(cx, &[4, 16], Dtype::Fp16);
        let sorted = call(cx, "tl.sort", std::slice::from_ref(&x), &[])?;
        assert_eq!(ty_of(&sorted), "<[4, 16], fp16>");
        let top = call(cx, "tl.topk", &[x.clone(), Value::int(4)], &[])?;
        assert_eq!(ty_of(&top), "<[4, 4], fp32>");
        let flipped = call(cx, "tl.flip", &[x.clone(), Value::int(0)], &[])?;
        assert_eq!(ty_of(&flipped), "<[4, 16], fp16>");
        let merged = call(cx, "tl.bitonic_merge", &[x], &[("descending", Value::Bool(true))])?;
        assert_eq!(ty_of(&merged), "<[4, 16], fp16>");
        Ok(())
    })
    .unwrap();
    let said = refused(|cx| {
        let x = block(cx, &[4, 16], Dtype::Fp16);
        call(cx, "tl.sort", &[x, Value::int(0)], &[]).map(drop)
    });
    assert!(said.contains("only the last dimension can be sorted"), "{said}");
    let said = refused(|cx| {
        let x = block(cx, &[16], Dtype::Fp16);
        call(cx, "tl.topk", &[x, Value::int(3)], &[]).map(drop)
    });
    assert!(said.contains("power of two from 1 to 16"), "{said}");
}

#[test]
fn random_numbers_are_ten_rounds_of_philox() {
    let text = build(|cx| {
        let seed = scalar(cx, Elem::Num(Dtype::Int32));
        let offset = block(cx, &[64], Dtype::Int32);
        let out = call(cx, "tl.rand", &[seed.clone(), offset.clone()], &[])?;
        assert_eq!(ty_of(&out), "<[64], fp32>");
        let out = call(
            cx,
            "tl.randint4x",
            &[seed.clone(), offset.clone()],
            &[("n_rounds", Value::int(7))],
        )?;
        let Value::Tuple(four) = &out else {
            panic!("{out:?}")
        };
        assert_eq!(ty_of(&four.items[3]), "<[64], uint32>");
        let wide = block(cx, &[64], Dtype::Int64);
        let out = call(cx, "tl.randn", &[seed, wide], &[])?;
        assert_eq!(ty_of(&out), "<[64], fp32>");
        Ok(())
    });
    assert_eq!(text.unwrap().matches("tt.mulhiui").count(), 2 * (10 + 7 + 10));
}

#[test]
fn functions_of_libdevice_are_chosen_by_type() {
    let text = build(|cx| {
        let x = block(cx, &[8], Dtype::Fp32);
        let y = block(cx, &[8], Dtype::Fp64);
        let n = block(cx, &[8], Dtype::Int32);
        let out = call(cx, "tl.extra.cuda.libdevice.tanh", std::slice::from_ref(&x), &[])?;
        assert_eq!(ty_of(&out), "<[8], fp32>");
        call(cx, "tl.extra.libdevice.tanh", &[y], &[])?;
        call(cx, "tl.math.pow", &[x.clone(), n], &[])?;
        let out = call(cx, "tl.extra.hip.libdevice.isnan", std::slice::from_ref(&x), &[])?;
        assert_eq!(ty_of(&out), "<[8], int1>");
        Ok(())
    })
    .unwrap();
    for symbol in [
        "\"__nv_tanhf\"",
        "\"__nv_tanh\"",
        "\"__nv_powif\"",
        "\"__nv_isnanf\"",
    ] {
        assert!(text.contains(symbol), "{symbol}\n{text}");
    }
    let said = refused(|cx| {
        let x = block(cx, &[8], Dtype::Fp16);
        call(cx, "tl.extra.libdevice.tanh", &[x], &[]).map(drop)
    });
    assert!(said.contains("tanh") && said.contains("fp16"), "{said}");
}

#[test]
fn constants_are_computed_at_compile_time() {
    build(|cx| {
        let value = call(cx, "tl.cdiv", &[Value::int(10), Value::int(4)], &[])?;
        assert_eq!(value.describe(), "the integer 3");
        let n = scalar(cx, Elem::Num(Dtype::Int32));
        let value = call(cx, "tl.cdiv", &[n, Value::int(4)], &[])?;
        assert_eq!(ty_of(&value), "int32");
        let row = function("triton.next_power_of_2");
        let Value::Builtin(row) = row else { unreachable!() };
        let value = cx.call_builtin(row, Args::of(vec![Value::int(1000)], Span::default()))?;
        assert_eq!(value.describe(), "the integer 1024");
        for (path, args, answer) in [
            ("tl.standard._log2", vec![Value::int(64)], "the integer 6"),
            ("tl.standard._is_power_of_two", vec![Value::int(12)], "`False`"),
            (
                "tl.core.get_int_dtype",
                vec![Value::int(16), Value::Bool(false)],
                "the type `uint16`",
            ),
            (
                "tl.target_info.cuda_capability_geq",
                vec![Value::int(9)],
                "`True`",
            ),
            (
                "tl.target_info.cuda_capability_geq",
                vec![Value::int(10)],
                "`False`",
            ),
            ("tl.target_info.is_hip", vec![], "`False`"),
            ("tl.extra.cuda.num_warps", vec![], "the integer 4"),
            ("tl.dtype", vec![Value::str("bf16")], "the type `bf16`"),
            (
                "tl.pointer_type",
                vec![Value::Type(Ty::num(Dtype::Int8))],
                "the type `pointer<int8>`",
            ),
        ] {
            assert_eq!(call(cx, path, &args, &[])?.describe(), answer, "{path}");
        }
        let target = call(cx, "tl.target_info.current_target", &[], &[])?;
        assert_eq!(cx.attribute(&target, "arch")?.describe(), "the integer 90");
        Ok(())
    })
    .unwrap();
    let said = refused(|cx| {
        call(
            cx,
            "tl.static_assert",
            &[Value::Bool(false), Value::str("too big")],
            &[],
        )
        .map(drop)
    });
    assert!(said.contains("static assertion failed: too big"), "{said}");
    let said = refused(|cx| {
        let x = scalar(cx, Elem::Num(Dtype::Int1));
        call(cx, "tl.static_assert", &[x], &[]).map(drop)
    });
    assert!(
        said.contains("argument `cond` of `tl.static_assert` must be a compile-time truth value"),
        "{said}"
    );
}

#[test]
fn forks_and_the_host_side_are_refused_by_name() {
    for (module, name, said) in [
        ("triton.language.extra", "deeplink", "DeepLink"),
        ("triton.language.extra.cann.extension", "extract_slice", "Ascend"),
        ("triton.language", "insert_slice", "Ascend"),
        ("triton.language", "async_task", "Meta"),
        ("triton.experimental.tle.language.gpu", "alloc", "FlagTree"),
        ("triton.runtime", "cache", "host side"),
    ] {
        match attribute(module, name) {
            Some(Value::Opaque(why)) => assert!(why.contains(said) && why.contains(name), "{why}"),
            other => panic!("{module}.{name}: {other:?}"),
        }
    }
}

#[test]
fn rows_take_junk_without_panic() {
    let junk = |cx: &mut Cx<'_>| {
        vec![
            Value::None,
            Value::int(-1),
            Value::Int(num_bigint::BigInt::from(1) << 200),
            Value::Float(f64::NAN),
            Value::str("x"),
            Value::tuple(vec![Value::None, Value::int(3)]),
            Value::tuple(Vec::new()),
            Value::Type(Ty::num(Dtype::Fp8e5)),
            block(cx, &[2, 2], Dtype::Fp32),
            block(cx, &[4], Dtype::Int1),
            scalar(
                cx,
                Elem::Ptr(PtrTy {
                    to: Dtype::Fp16,
                    levels: 1,
                    is_const: true,
                }),
            ),
            function("tl.sum"),
            attribute("triton", "language").unwrap(),
        ]
    };
    for row in rows() {
        for first in 0..13 {
            build_unverified(|cx| {
                let values = junk(cx);
                for count in 0..=super::args::parameters(row.params).min(7) {
                    let args = (0..count)
                        .map(|i| values[(first + i * (first + 1)) % values.len()].clone())
                        .collect();
                    let _ = cx.call_builtin(row, Args::of(args, Span::default()));
                }
            });
        }
    }
}

fn build_unverified(body: impl FnOnce(&mut Cx<'_>)) {
    let files = OneFile;
    let program = Program::new(&files, Vec::new());
    let module = program.load("k.py").unwrap();
    let options = Options {
        capability: 90,
        num_warps: 4,
        num_stages: 3,
    };
    let mut cx = Cx::new(&program, &options, module);
    body(&mut cx);
}

#[test]
fn attributes_of_tensors() {
    let text = build(|cx| {
        let x = block(cx, &[4, 8], Dtype::Fp16);
        assert_eq!(cx.attribute(&x, "dtype")?.describe(), "the type `fp16`");
        assert_eq!(cx.attribute(&x, "type")?.describe(), "the type `<[4, 8], fp16>`");
        assert_eq!(crate::konst::str(&cx.attribute(&x, "shape")?), "(4, 8)");
        assert_eq!(cx.attribute(&x, "numel")?.describe(), "the integer 32");
        assert_eq!(ty_of(&cx.attribute(&x, "T")?), "<[8, 4], fp16>");
        assert_eq!(cx.attribute(&Value::int(3), "value")?.describe(), "the integer 3");
        let Value::Method(method) = cx.attribute(&x, "to")? else {
            panic!()
        };
        let Value::Builtin(row) = method.1 else { panic!() };
        let args = vec![method.0.clone(), Value::Type(Ty::num(Dtype::Fp32))];
        assert_eq!(
            ty_of(&cx.call_builtin(row, Args::of(args, Span::default()))?),
            "<[4, 8], fp32>"
        );
        Ok(())
    });
    let text = text.unwrap();
    assert!(text.contains("tt.trans"), "{text}");
}

/// `tl.x` and `libdevice.x` as module and name.
fn dotted(path: &str) -> (String, &str) {
    let (module, name) = path.rsplit_once('.').unwrap();
    let module = match module {
        "tl" => "triton.language".to_string(),
        "libdevice" => "triton.language.extra.libdevice".to_string(),
        other => other.replacen("tl.", "triton.language.", 1),
    };
    (module, name)
}

#[test]
fn names_that_real_kernels_use_are_there_or_refused_by_name() {
    // From the kernels of 58 packages.
    let supported = "libdevice.add_rn libdevice.asin libdevice.ceil libdevice.copysign libdevice.div_rn libdevice.erf \
        libdevice.exp libdevice.fast_cosf libdevice.fast_dividef libdevice.fast_powf libdevice.fast_sinf \
        libdevice.ffs libdevice.finitef libdevice.float2int_rd libdevice.float_as_int libdevice.floor \
        libdevice.fma libdevice.ilogb libdevice.int2float_rn libdevice.isfinited libdevice.isinf \
        libdevice.isnan libdevice.llrint libdevice.log libdevice.log1p libdevice.log2 libdevice.mul_rn \
        libdevice.nearbyint libdevice.popc libdevice.pow libdevice.rint libdevice.round \
        libdevice.rsqrt libdevice.sqrt libdevice.tanh tl.PropagateNan tl.PropagateNan.ALL \
        tl._experimental_descriptor_load tl._experimental_descriptor_store tl.standard._log2 tl.core._unwrap_if_constexpr \
        tl.abs tl.add tl.advance tl.arange tl.argmax tl.argmin tl.associative_scan tl.assume tl.atomic_add \
        tl.atomic_and tl.atomic_cas tl.atomic_max tl.atomic_min tl.atomic_or tl.atomic_xchg tl.atomic_xor \
        tl.bitonic_merge tl.broadcast tl.broadcast_to tl.cast tl.cat tl.cdiv tl.ceil tl.clamp tl.condition \
        tl.constexpr_type tl.cos tl.cumprod tl.cumsum tl.debug_barrier tl.device_assert tl.device_print \
        tl.div_rn tl.dot tl.dot_scaled tl.erf tl.exp tl.exp2 tl.expand_dims tl.expect_zero \
        tl.extra.cuda.gdc_launch_dependents tl.extra.cuda.gdc_wait tl.extra.cuda.globaltimer \
        tl.extra.cuda.num_threads tl.extra.cuda.num_warps tl.extra.cuda.smid tl.fdiv tl.flip tl.floor tl.fma \
        tl.full tl.gather tl.core.get_int_dtype tl.histogram tl.inline_asm_elementwise tl.interleave tl.join \
        tl.load tl.load_tensor_descriptor tl.log tl.log2 tl.make_block_ptr tl.make_tensor_descriptor \
        tl.map_elementwise tl.math.ceil tl.math.div_rn tl.math.erf tl.math.exp tl.math.exp2 \
        tl.math.fast_dividef tl.math.fast_expf tl.math.fdiv tl.math.floor tl.math.fma tl.math.log \
        tl.math.log1p tl.math.log2 tl.math.round tl.math.rsqrt tl.math.sin tl.math.sqrt tl.math.tanh \
        tl.math.umulhi tl.max tl.max_constancy tl.max_contiguous tl.maximum tl.min tl.minimum tl.mul \
        tl.multiple_of tl.num_programs tl.permute tl.philox tl.program_id tl.rand tl.randint tl.randint4x \
        tl.randn tl.range tl.ravel tl.reduce tl.reduce_or tl.reshape tl.rsqrt tl.sigmoid tl.sin tl.softmax \
        tl.sort tl.split tl.sqrt tl.sqrt_rn tl.squeeze tl.static_assert tl.static_print tl.static_range \
        tl.store tl.store_tensor_descriptor tl.sub tl.sum tl.swizzle2d tl.target_info.cuda_capability_geq \
        tl.target_info.is_cuda tl.target_info.is_hip_cdna3 tl.target_info.is_hip_cdna4 tl.tensor_descriptor \
        tl.topk tl.trans tl.uint_to_uniform_float tl.umulhi tl.unsqueeze tl.view tl.where tl.xor_sum \
        tl.zeros tl.zeros_like triton.next_power_of_2 triton.tools.ragged_tma.load_ragged \
        triton.tools.ragged_tma.store_ragged";
    for path in supported.split_whitespace() {
        let (module, name) = dotted(path);
        match attribute(&module, name) {
            None | Some(Value::Opaque(_)) => panic!("{path} is not supported"),
            Some(_) => {}
        }
    }
    let refused = "tl.extra.cann.extension.extract_slice tl.extra.cann.extension.insert_slice \
        tl.extra.deeplink.SyncFlag.C2V tl.extra.deeplink.SyncFlag.V2C tl.extra.deeplink.async_task \
        tl.extra.deeplink.async_task.cube tl.extra.deeplink.async_task.vector tl.extra.deeplink.compile_hint \
        tl.extra.deeplink.extract_slice tl.extra.deeplink.parallel tl.extra.deeplink.set_cross_flag \
        tl.extra.deeplink.wait_cross_flag triton.experimental.tle.language.cumsum \
        triton.experimental.tle.language.distributed_barrier triton.experimental.tle.language.gpu.alloc \
        triton.experimental.tle.language.gpu.local_ptr triton.experimental.tle.language.gpu.smem \
        triton.experimental.tle.language.remote triton.experimental.tle.language.shard_id tl.async_task \
        tl.empty tl.empty_like tl.extra.cpu.vnni_decode tl.extract_slice tl.insert_slice tl.masked_select \
        tl.FUNC_STR";
    for path in refused.split_whitespace() {
        let (module, name) = dotted(path);
        assert!(
            matches!(attribute(&module, name), Some(Value::Opaque(_))),
            "{path}"
        );
    }
    let methods = "__lshift__ __rshift__ abs advance argmax atomic_add atomic_max atomic_min broadcast_to cast cumsum \
        expand_dims floor gather histogram item load log2 max min permute ravel reshape scatter split store \
        sum to trans view";
    for name in methods.split_whitespace() {
        let of_descriptors = rows().any(|row| row.kind == super::Kind::DescriptorMethod && row.name == name);
        assert!(method(name).is_some() || of_descriptors, ".{name}()");
    }
}
