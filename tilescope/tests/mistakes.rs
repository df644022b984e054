//! What a mistake in a kernel, or an argument that does not fit, says: the message, the Rust code that it points at,
//! and what else it points at.

use tilescope::{Builder, F16, F32, I32, Kernel, Refused, check, null, out};

/// The errors of a kernel, each as: message `@` what is underlined, then labelled places and help.
fn said(refused: &Refused) -> Vec<String> {
    let said = refused.errors().iter().map(|error| {
        let mut line = error.message.clone();
        for label in &error.labels {
            let text = &label.source.text[label.range.clone()];
            line += &format!(" @ {text}");
            if !label.text.is_empty() {
                line += &format!(" ({})", label.text);
            }
        }
        if let Some(help) = &error.help {
            line += &format!(" help: {help}");
        }
        line
    });
    said.collect()
}

#[track_caller]
fn mistakes(body: impl FnOnce(&Builder), expected: &[&str]) {
    let refused = Kernel::new("wrong", body).build().unwrap_err();
    assert_eq!(said(&refused), expected);
}

#[test]
fn shapes_that_do_not_meet() {
    mistakes(
        |k| {
            let x = k.arange(0, 8);
            let y = k.arange(0, 16);
            let sum = x + y;
            // What comes of a mistake says nothing more.
            let _ = (sum * 2).to(F32).exp().sum(0);
        },
        &["`+` of shapes [8] and [16], which do not broadcast @ x @ arange(0, 16) (this one is `i32[16]`)"],
    );
    mistakes(
        |k| {
            let x = k.arange(0, 8);
            let _ = k.arange(0, 100);
            let _ = x.reshape([3, 3]);
            let _ = x.reshape([2, 2]);
            let _ = x.broadcast_to([16]);
            let _ = x.expand_dims(2);
            let _ = x.trans();
            let _ = x.sum(1);
            let _ = k.constant(1).sum(0);
        },
        &[
            "`arange` of 100 numbers @ arange(0, 100) help: the number of elements of a range is a power of two; mask the ones that are too many",
            "[3, 3] is no shape: dimensions are powers of two @ reshape([3, 3])",
            "`reshape` of `i32[8]` to [2, 2], of another number of elements @ reshape([2, 2])",
            "the shape [8] does not broadcast to [16] @ broadcast_to([16])",
            "axis 2 does not fit 2 dimensions @ expand_dims(2)",
            "`trans` takes two dimensions or more, this is `i32[8]` @ trans()",
            "axis 1 does not fit 1 dimensions @ sum(1)",
            "a reduction of one `i32`: it takes a tile @ sum(0)",
        ],
    );
}

#[test]
fn tiles_that_are_too_large() {
    mistakes(
        |k| {
            let _ = k.arange(0, 1 << 21);
            let _ = k.zeros([2048, 1024], F32);
            let x = k.arange(0, 1 << 20);
            let _ = x.col() + k.arange(0, 2).row();
            let _ = x.join(x);
        },
        &[
            "a tile of shape [2097152] has 2097152 elements, 1048576 are the most @ arange(0, 1 << 21)",
            "a tile of shape [2048, 1024] has 2097152 elements, 1048576 are the most @ zeros([2048, 1024], F32)",
            "a tile of shape [1048576, 2] has 2097152 elements, 1048576 are the most @ x.col()",
            "a tile of shape [1048576, 2] has 2097152 elements, 1048576 are the most @ join(x)",
        ],
    );
}

#[test]
fn types_that_do_not_fit() {
    mistakes(
        |k| {
            let x = k.arange(0, 8);
            let _ = x.exp();
            let _ = x.to(F32) & 1;
            let _ = !x.to(F32);
            let _ = x + 5_000_000_000i64;
            let _ = k.full([8], 0.5, I32);
            let _ = k.where_(x, 1, 0);
            let _ = k.scalar::<u32>("n") / x;
        },
        &[
            "`exp` takes `f32` or `f64`, this is `i32[8]` @ exp() @ arange(0, 8) (it was made here) help: convert it first: `.cast::<f32>()`",
            "`&` of `f32[8]` and `1`: it takes integers @ x.to(F32)",
            "`!` takes truth values or integers, this is `f32[8]` @ !",
            "`5000000000` is no i32 @ x help: i32 holds -2147483648 to 2147483647",
            "`0.5` is no i32 @ full([8], 0.5, I32)",
            "a condition or mask of type `i32[8]` @ where_(x, 1, 0) help: compare it, for example with `.ne(0)`: conditions and masks are truth values (`i1`)",
            "`u32` and `i32` differ in sign, which division and remainder do not take @ k.scalar",
        ],
    );
}

#[test]
fn pointers_and_memory() {
    mistakes(
        |k| {
            let (p, q) = (k.ptr::<f32>("p"), k.ptr::<f32>("q"));
            let lanes = k.arange(0, 8);
            let _ = p + q;
            let _ = p * 2;
            let _ = p + 0.5;
            let _ = k.load(lanes, None, None);
            let _ = k.load(p + lanes, None, 0.0);
            let _ = k.load(p + lanes, k.arange(0, 16).lt(3), None);
            k.store(p, lanes.to(F32), None);
            let _ = k.ptr::<f32>("p");
            let _ = k.ptr::<f32>("p ");
            let _ = k.atomic_max(p, 1, None);
        },
        &[
            "`+` of `ptr<f32>` and `ptr<f32>` @ p help: pointers take `+` and `-` with an integer: the number of elements to move by",
            "`*` of `ptr<f32>` and `2` @ p help: pointers take `+` and `-` with an integer: the number of elements to move by",
            "a pointer moved by `f32`: offsets are integers @ p",
            "`load` takes pointers, this is `i32[8]` @ load(lanes, None, None) @ arange(0, 8) (it was made here)",
            "`load` with a value for masked-off lanes, but without a mask @ load(p + lanes, None, 0.0)",
            "a mask of type `i1[16]` for pointers of type `ptr<f32>[8]` @ load(p + lanes, k.arange(0, 16).lt(3), None) @ lt(3) (it was made here) help: its shape broadcasts to that of the pointers",
            "a value of type `f32[8]` for pointers of type `ptr<f32>` @ store(p, lanes.to(F32), None) @ to(F32) (it was made here) help: its shape broadcasts to that of the pointers",
            "a second parameter called `p` @ ptr",
            "`p ` is no name for a parameter: letters, digits and `_` only @ ptr",
            "`atomic_max` of `f32`, which has no such operation @ atomic_max(p, 1, None)",
        ],
    );
}

#[test]
fn loops_and_branches() {
    mistakes(
        |k| {
            let start = k.zeros([8], F32);
            let _ = k.for_range(0, 4, 1, start, |_, sum| sum.to(F16));
            let (a, _) = k.for_range(0, 4, 1, (start, start), |_, (a, b)| (a, b.sum(0)));
            let _ = a + 1;
            let _ = k.for_range(0, 4, 0, start, |_, sum| sum);
            let _ = k.for_range(0, 0.5, 1, start, |_, sum| sum);
            let _ = k.if_else(start.gt(0), || start, || start);
            let _ = k.if_else(k.program_id(0).eq(0), || start, || k.zeros([8], F16));
            let _ = k.while_(k.constant(0), |n| n, |n| n + 1);
            let _ = k.reduce(start, 0, |a, b| a.lt(b));
        },
        &[
            "the loop starts with `f32[8]` and goes on with `f16[8]` @ for_range(0, 4, 1, start, |_, sum| sum.to(F16)) @ to(F16) (`f16[8]` is made here) help: the type stays the same: convert or broadcast one of them",
            "the loop starts with `f32[8]` (number 2) and goes on with `f32` @ for_range(0, 4, 1, (start, start), |_, (a, b)| (a, b.sum(0))) @ sum(0) (`f32` is made here) help: the type stays the same: convert or broadcast one of them",
            "a loop in steps of 0: the step is positive @ for_range(0, 4, 0, start, |_, sum| sum)",
            "`0.5` as a loop's start, end or step: it takes one integer @ for_range(0, 0.5, 1, start, |_, sum| sum)",
            "a condition of type `i1[8]`: a branch or loop takes one truth value @ if_else(start.gt(0), || start, || start) help: choose lane by lane with `where_`, or reduce the tile to one number first",
            "one branch gives `f32[8]`, the other `f16[8]` @ if_else(k.program_id(0).eq(0), || start, || k.zeros([8], F16)) @ zeros([8], F16) (`f16[8]` is made here) help: the type stays the same: convert or broadcast one of them",
            "a condition or mask of type `i32` @ while_(k.constant(0), |n| n, |n| n + 1) help: compare it, for example with `.ne(0)`: conditions and masks are truth values (`i1`)",
            "a combination of two `f32` gives `i1` @ reduce(start, 0, |a, b| a.lt(b)) @ lt(b) (`i1` is made here) help: the type stays the same: convert or broadcast one of them",
        ],
    );
}

#[test]
fn a_tile_does_not_leave_its_loop() {
    mistakes(
        |k| {
            let mut last = k.constant(0);
            k.for_range(0, 4, 1, (), |i, ()| last = i * 2);
            let _ = last + 1;
        },
        &[
            "this `i32` was made inside a loop, branch or combination that has ended @ last @ i (it was made here) help: give it back from the closure: what the loop or branch returns can be used after it",
        ],
    );
}

#[test]
fn products() {
    mistakes(
        |k| {
            let (a, b) = (k.zeros([16, 32], F32), k.zeros([16, 32], F32));
            let acc = k.zeros([16, 16], F32);
            let _ = k.dot(a, b, acc);
            let _ = k.dot(a, b.trans(), b);
            let _ = k.dot(a, b.trans(), acc.to(F16));
        },
        &[
            "`dot` of `f32[16, 32]` and `f32[16, 32]` @ dot(a, b, acc) help: it multiplies `[m, k]` by `[k, n]` of one number type, or batches of them",
            "`dot` of `f32[16, 32]` and `f32[32, 16]` into `f32[16, 32]` @ dot(a, b.trans(), b) @ zeros([16, 32], F32) (it was made here) help: the accumulator of these has the shape [16, 16]",
            "`dot` of `f32[16, 32]` into `f16[16, 16]`: it accumulates in f32 @ dot(a, b.trans(), acc.to(F16)) @ to(F16) (it was made here)",
        ],
    );
}

#[test]
fn mistakes_are_counted_once_and_to_an_end() {
    let many = Kernel::new("many", |k| {
        for _ in 0..50 {
            let _ = k.arange(0, 3);
        }
        for n in 0..50 {
            let _ = k.arange(0, 2 * n + 3);
        }
    });
    assert_eq!(many.build().unwrap_err().errors().len(), 20);
}

#[test]
fn a_tile_of_another_kernel() {
    let _ = Kernel::new("outer", |k| {
        let x = k.arange(0, 8);
        let inner = Kernel::new("inner", |k| k.store(k.ptr::<i32>("p") + k.arange(0, 8), x, None));
        assert_eq!(
            said(&inner.build().unwrap_err()),
            ["this tile belongs to another kernel @ store(k.ptr::<i32>(\"p\") + k.arange(0, 8), x, None)"]
        );
    });
}

#[test]
fn arguments_that_do_not_fit() {
    let kernel = Kernel::new("scale", |k| {
        let (p, n) = (k.ptr::<f32>("p"), k.scalar::<i32>("n"));
        k.store(p, n, None);
    });
    let refused = |failure: tilescope::Failure| match failure {
        tilescope::Failure::Refused(refused) => said(&refused).join("\n"),
        found => panic!("{found}"),
    };
    let (mut floats, mut doubles) = (vec![0f32; 4], vec![0f64; 4]);
    let count = refused(check(&kernel, 1, (out(&mut floats),)).unwrap_err());
    assert_eq!(
        count,
        "`scale` has 2 parameters, 1 arguments are given @ Kernel (the kernel)"
    );
    let dtype = refused(check(&kernel, 1, (out(&mut doubles), 1)).unwrap_err());
    assert_eq!(
        dtype,
        "parameter `p` of `scale` is `ptr<f32>`, the argument is an array of f64 @ ptr (the parameter)"
    );
    let range = refused(check(&kernel, 1, (out(&mut floats), 1i64 << 40)).unwrap_err());
    assert_eq!(
        range,
        "parameter `n` of `scale` is `i32`, the argument is 1099511627776 @ scalar (the parameter)"
    );
    assert!(
        refused(check(&kernel, 1, (out(&mut floats), null())).unwrap_err())
            .contains("the argument is a null")
    );
    assert!(refused(check(&kernel, -1, (out(&mut floats), 1)).unwrap_err()).contains("grid"));
    let text = format!("{:?}", check(&kernel, 1, (1.5, 1)).unwrap_err());
    assert!(
        text.contains("error: parameter `p` of `scale` is `ptr<f32>`, the argument is 1.5\n"),
        "{text}"
    );
    assert!(text.contains("  --> tilescope/tests/mistakes.rs:"), "{text}");
}

#[test]
fn descriptors() {
    mistakes(
        |k| {
            let p = k.ptr::<f32>("p");
            let x = k.descriptor(p, (8, 8), (8, 1), [4, 4]);
            let _ = x.load((0,));
            let _ = x.load((0, 0.5));
            x.store((0, 0), k.arange(0, 8));
            let _ = k.descriptor(p, (8, 8), (8, 1), [8, 2]).load([0, 0]);
        },
        &[
            "1 offsets for a descriptor of 2 dimensions @ load((0,))",
            "`0.5` among the offsets of a descriptor: they are integers @ load((0, 0.5))",
            "a value of type `f32[8]` for blocks of type `f32[4, 4]` @ store((0, 0), k.arange(0, 8))",
            "a descriptor whose blocks have rows of 8 bytes: 16 are the least @ descriptor(p, (8, 8), (8, 1), [8, 2])",
        ],
    );
}
