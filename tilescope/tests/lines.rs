//! Every operation stands on a line of the author's, whatever it is made of; the text form keeps it all.

use tilescope::{Builder, F16, F32, I8, Kernel, Tile, ir};

/// One of everything that is made of several operations.
fn everything() -> Kernel {
    Kernel::new("everything", |k| {
        let (p, q) = (k.ptr::<f32>("p"), k.ptr::<i32>("q"));
        let n = k.scalar::<u32>("n");
        let lanes = k.arange(0, 64);
        let x = k.load(p + lanes.reshape([8, 8]), n.gt(3), -1).named("x");
        let y = x.sigmoid() + x.clamp(0, 1).pow(x.abs()).mul_add(x, 0.5) - x.to(F16) % 3;
        let parts = (y.sum(0), y.max(1), y.min(0), y.to(I8).cumsum(1), y.cumprod(0));
        let found = y.argmax(0) + y.argmin(1) * n.cdiv(8);
        let (a, b) = x.join(-x).split();
        let total = k.for_range(0, n, 2, parts.0, |i, total| {
            total + (!i).to(F32) + a.sum(0) * b.max(1)
        });
        let total = k.if_else(n.eq(1), || total, || total * 2);
        let end = k.while_(total, |t| t.sum(0).lt(9), |t| t + parts.1);
        let both = k.dot(
            a.broadcast_to([16, 8, 8]),
            b.broadcast_to([16, 8, 8]),
            k.zeros([16, 8, 8], F32),
        );
        k.assert(end.gt(0), "positive");
        k.assume(n.gt(0));
        k.print("parts", &[parts.2, both.flatten().sum(0)]);
        k.store(
            p + (k.program_id(2) - k.num_programs(1)),
            k.where_(true, 1, n),
            n.ne(2),
        );
        k.atomic_add(p - found, parts.4.sum(1), parts.3.sum(0).ne(0));
        k.atomic_cas(q, 0, lanes.gather(lanes, 0).permute([0]).trans_once().sum(0));
    })
}

/// A function of the author's that stands for its caller.
trait TransOnce {
    fn trans_once(self) -> Self;
}

impl TransOnce for Tile<'_> {
    #[track_caller]
    fn trans_once(self) -> Self {
        self.row().trans().flatten() + self.row().flatten()
    }
}

#[test]
fn no_operation_stands_in_the_library() {
    let kernel = everything();
    let module = kernel.build().unwrap();
    let mut lines = std::collections::BTreeSet::new();
    let (_, function) = module.kernels().next().unwrap();
    for (_, op) in function.ops.iter() {
        let frames = module.locs.frames(op.loc);
        let [(file, line, _)] = &frames[..] else {
            panic!("{}: {frames:?}", op.code)
        };
        assert_eq!(&**file, "tilescope/tests/lines.rs", "{} at line {line}", op.code);
        lines.insert(*line);
    }
    // All inside `everything`: what `trans_once` does stands at its call.
    let here: Vec<&str> = include_str!("lines.rs").lines().collect();
    let end = here.iter().position(|line| line.starts_with("trait")).unwrap();
    assert!(
        *lines.last().unwrap() < end as u32 && lines.len() > 20,
        "{lines:?}"
    );
}

#[test]
fn the_text_is_the_kernel() {
    let kernel = everything();
    let text = kernel.ttir().unwrap();
    let again = ir::text::parse(&tilescope::diagnostics::Source::new("printed", text.clone())).unwrap();
    ir::verify(&again).unwrap();
    assert_eq!(ir::text::same(kernel.build().unwrap(), &again), Ok(()), "{text}");
    assert!(
        text.contains("tt.func public @everything(%p: !tt.ptr<f32>"),
        "{text}"
    );
    assert!(text.contains("%x = tt.load"), "{text}");
}

#[test]
fn a_kernel_may_be_a_function() {
    fn body(k: &Builder) {
        k.store(k.ptr::<i32>("p"), k.program_id(0), None);
    }
    let kernel = Kernel::new("body", body);
    assert_eq!(format!("{kernel:?}"), "Kernel(body: p ptr<i32>)");
    let mut p = vec![1];
    tilescope::check(&kernel, 1, (&mut p,)).unwrap();
    assert_eq!(p, [0]);
}
