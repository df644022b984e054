//! Any text as a formula: it parses and evaluates, or is refused with a place inside the text.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use ndarray::ArrayD;
use tilescope_launch::expr::Expression;
use tilescope_oracle::{Limits, Numbers, evaluate};

fuzz_target!(|text: &str| {
    let expression = match Expression::parse_text("formula", text) {
        Ok(expression) => expression,
        Err(error) => return assert!(error.labels.iter().all(|label| label.range.end <= text.len())),
    };
    let numbered = |shape: &[usize]| {
        let count = shape.iter().product::<usize>();
        ArrayD::from_shape_vec(shape, (0..count).map(|k| k as f64 - 2.5).collect()).expect("as many as the shape has")
    };
    let integers = numbered(&[4]).mapv(|v| v as i128 * 3);
    let inputs = BTreeMap::from([
        ("x".to_string(), Numbers::Float(numbered(&[2, 3]))),
        ("v".to_string(), Numbers::Float(numbered(&[3]))),
        ("w".to_string(), Numbers::Float(numbered(&[2, 1, 4]))),
        ("empty".to_string(), Numbers::Float(numbered(&[0, 3]))),
        ("i".to_string(), Numbers::Int(integers)),
        ("n".to_string(), Numbers::Int(ndarray::arr0(7).into_dyn())),
    ]);
    // Small limits: the search is for panics, not for the patience of the machine.
    let limits = Limits { elements: 1 << 12, multiplications: 1 << 16 };
    if let Err(error) = evaluate(&expression, &inputs, limits) {
        assert!(!error.labels.is_empty());
        assert!(error.labels.iter().all(|label| label.range.end <= text.len()));
    }
});
