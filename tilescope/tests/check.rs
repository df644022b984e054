//! Kernels written in Rust: what they compute, what is found in them, what a mistake says.

use ndarray::Array1;
use tilescope::diagnostics::{Check, Severity};
use tilescope::{Failure, Kernel, Launcher, check, out, run};

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
    assert!(text.contains("computed: k.program_id = 1"), "{text}");
    assert!(
        text.contains("`k.store(ptr, value, offsets.lt(size))`") && !text.contains("tl."),
        "{text}"
    );
    assert_eq!(failure.report().unwrap().findings().len(), 3);
    // What was in bounds was written all the same.
    assert!(sum.iter().all(|&x| x == 2.0), "{sum}");
}

#[test]
fn without_checks_there_are_only_outputs() {
    let x = Array1::from_elem(100, 1f32);
    let mut sum = Array1::<f32>::zeros(100);
    let report = run(&add(false), 2, (&x, &x, &mut sum, 100)).unwrap();
    assert!(report.findings().is_empty() && sum.iter().all(|&x| x == 2.0));
}

/// Copies `n` elements, with a place for a bug.
fn copy() -> Kernel {
    Kernel::new("copy", |k| {
        let (x_ptr, y_ptr) = (k.ptr::<i32>("x_ptr"), k.ptr::<i32>("y_ptr"));
        let n = k.scalar::<i32>("n");
        let lanes = k.arange(0, 64);
        k.store(y_ptr + lanes, k.load(x_ptr + lanes, lanes.lt(n), 0), lanes.lt(n));
    })
}

fn checks(failure: &Failure) -> Vec<Check> {
    let report = failure.report().unwrap_or_else(|| panic!("{failure}"));
    report.findings().iter().map(|f| f.check).collect()
}

#[test]
fn references_say_what_a_kernel_may_do() {
    let (x, y) = (vec![7; 50], vec![0; 50]);
    let failure = check(&copy(), 1, (&x, &y, 50)).unwrap_err();
    assert_eq!(checks(&failure), [Check::StoreToInput]);
    assert_eq!(y, [0; 50]);

    let mut y = vec![3; 50];
    check(&copy(), 1, (&x, &mut y, 40)).unwrap();
    assert_eq!((y[39], y[40]), (7, 3));

    // Of `out` all elements are to be written.
    let report = check(&copy(), 1, (&x, out(&mut y), 40)).unwrap();
    assert_eq!(report.findings()[0].check, Check::UnwrittenOutput);
    assert_eq!(report.findings()[0].severity, Severity::Warning);
    let failure = Launcher::new()
        .deny_warnings()
        .check(&copy(), 1, (&x, out(&mut y), 40))
        .unwrap_err();
    assert_eq!(checks(&failure), [Check::UnwrittenOutput]);
    assert_eq!((y[39], y[40]), (7, 0));
}

#[test]
fn an_endless_loop_ends() {
    let endless = Kernel::new("endless", |k| {
        k.while_(k.constant(0), |n| n.ge(0), |n| n);
    });
    let failure = Launcher::new()
        .max_steps(1000)
        .check(&endless, 2, ())
        .unwrap_err();
    assert_eq!(checks(&failure), [Check::StepLimit]);
}

#[test]
fn an_error_beyond_those_shown_fails() {
    let x = Array1::from_elem(100, 1f32);
    let mut sum = Array1::<f32>::zeros(100);
    let launcher = Launcher::new().max_findings(1);
    let failure = launcher
        .check(&add(false), 2, (&x, &x, out(&mut sum), 100))
        .unwrap_err();
    let text = failure.to_string();
    assert!(
        text.ends_with(
            "add: 1 error and more (see Launcher::max_findings) (2 programs of add, grid [2, 1, 1])\n"
        ),
        "{text}"
    );
}

#[test]
fn reports_do_not_depend_on_threads() {
    let x = Array1::from_elem(1000, 1f32);
    let text = |threads| {
        let mut sum = Array1::<f32>::zeros(900);
        let args = (&x, &x, out(&mut sum), 900);
        Launcher::new()
            .threads(threads)
            .check(&add(false), 16, args)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(text(1), text(4));
}

#[test]
fn what_is_printed_is_in_the_report() {
    let kernel = Kernel::new("hello", |k| k.print("pid", &[k.program_id(0)]));
    let report = check(&kernel, 2, ()).unwrap();
    assert_eq!(report.prints().len(), 2);
    assert!(
        report.to_string().starts_with("program (0, 0, 0): pid"),
        "{report}"
    );
}

#[test]
fn a_failed_assertion_names_the_tile() {
    let kernel = Kernel::new("positive", |k| {
        let x = k.load(k.ptr::<i32>("x") + k.arange(0, 4), None, None).named("x");
        k.assert(x.gt(0), "x is positive");
    });
    let failure = check(&kernel, 1, (&vec![1, 2, -3, 4],)).unwrap_err();
    assert_eq!(checks(&failure), [Check::AssertFailed]);
    let text = failure.to_string();
    assert!(
        text.contains("x is positive") && text.contains("lane [2]"),
        "{text}"
    );
    assert!(text.contains("k.assert(x.gt(0), \"x is positive\");"), "{text}");
}

#[test]
fn an_empty_grid_runs_nothing() {
    let mut y = vec![3; 50];
    check(&copy(), 0, (&vec![7; 50], &mut y, 50)).unwrap();
    assert_eq!(y, [3; 50]);
}
