//! Kernels written in Rust: what they compute, what is found in them, what a mistake says.

use ndarray::Array1;
use tilescope::{Kernel, check, out};

const BLOCK: i32 = 64;

fn add(guarded: bool) -> Kernel {
    Kernel::new("add", |k| {
        let x_ptr = k.ptr::<f32>("x_ptr");
        let y_ptr = k.ptr::<f32>("y_ptr");
        let out_ptr = k.ptr::<f32>("out_ptr");
        let n = k.scalar::<i32>("n");
        let offsets = k.program_id(0) * BLOCK + k.arange(0, BLOCK);
        let mask = if guarded { offsets.lt(n) } else { offsets.ge(0) };
        let x = k.load(x_ptr + offsets, mask, None);
        let y = k.load(y_ptr + offsets, mask, 0.0);
        k.store(out_ptr + offsets, x + y, mask);
    })
}

#[test]
fn vectors_are_added() {
    let (x, y) = (
        Array1::from_iter((0..100).map(|i| i as f32)),
        Array1::from_elem(100, 0.5f32),
    );
    let mut sum = Array1::<f32>::zeros(100);
    let report = check(&add(true), 2, (&x, &y, out(&mut sum), 100)).unwrap();
    assert_eq!(sum, &x + &y);
    assert_eq!(
        report.to_string(),
        "add: ok (2 programs of add, grid [2, 1, 1])\n"
    );
}

#[test]
fn a_finding_shows_the_rust_line() {
    let x = Array1::from_elem(100, 1f32);
    let mut sum = Array1::<f32>::zeros(100);
    let failure = check(&add(false), 2, (&x, &x, out(&mut sum), 100)).unwrap_err();
    let text = failure.to_string();
    let line = "        k.store(out_ptr + offsets, x + y, mask);";
    assert!(
        text.contains("error[oob-store]: store 1 byte past the end of the storage of out_ptr"),
        "{text}"
    );
    assert!(
        text.contains("--> tilescope/tests/check.rs:") && text.contains(line),
        "{text}"
    );
    assert!(text.contains("program (1, 0, 0), lane [36]"), "{text}");
    assert!(
        text.contains("`k.store(ptr, value, offsets.lt(size))`") && !text.contains("tl."),
        "{text}"
    );
    assert_eq!(failure.report().unwrap().findings().len(), 3);
    // What was in bounds was written all the same.
    assert!(sum.iter().all(|&x| x == 2.0), "{sum}");
}
