//! Values worked by hand, naive twins of the array code, and formulas that mean nothing.

use std::collections::BTreeMap;

use ndarray::{ArrayD, Dimension, IxDyn};
use proptest::prelude::*;
use tilescope_launch::expr::Expression;

use super::*;

fn inputs() -> BTreeMap<String, Numbers> {
    let float = |shape: &[usize], values: &[f64]| {
        Numbers::Float(ArrayD::from_shape_vec(IxDyn(shape), values.to_vec()).unwrap())
    };
    let int = |shape: &[usize], values: &[i128]| {
        Numbers::Int(ArrayD::from_shape_vec(IxDyn(shape), values.to_vec()).unwrap())
    };
    BTreeMap::from([
        ("x".to_string(), float(&[2, 3], &[1.0, -2.0, 3.0, 4.0, 0.5, -6.0])),
        ("v".to_string(), float(&[3], &[1.0, 2.0, 4.0])),
        ("i".to_string(), int(&[4], &[3, -1, 0, 2])),
        (
            "big".to_string(),
            int(&[2], &[i128::from(u64::MAX), (1 << 53) + 1]),
        ),
        ("n".to_string(), int(&[], &[7])),
        (
            "w".to_string(),
            float(&[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        ),
        ("empty".to_string(), float(&[0, 3], &[])),
    ])
}

fn run_within(text: &str, limits: Limits) -> Result<Numbers> {
    evaluate(&Expression::parse_text("formula", text)?, &inputs(), limits)
}

fn run(text: &str) -> Numbers {
    match run_within(text, Limits::default()) {
        Ok(numbers) => numbers,
        Err(error) => panic!("{text}: {error}"),
    }
}

fn refused(text: &str) -> String {
    match run_within(text, Limits::default()) {
        Ok(numbers) => panic!("{text} gave {numbers:?}"),
        Err(error) => error.to_string(),
    }
}

/// The formula gives these floats, up to the last bits.
#[track_caller]
fn floats(text: &str, shape: &[usize], values: &[f64]) {
    let Numbers::Float(got) = run(text) else {
        panic!("{text} gives no floats")
    };
    assert_eq!(got.shape(), shape, "{text}");
    for (&g, &e) in got.iter().zip(values) {
        let same = (g.is_nan() && e.is_nan()) || g == e || (g - e).abs() <= 1e-14 * e.abs();
        assert!(same, "{text}: got {got:?}, expected {values:?}");
    }
    assert_eq!(got.len(), values.len(), "{text}");
}

/// The formula gives these integers or truth values, exactly.
#[track_caller]
fn ints(text: &str, shape: &[usize], values: &[i128]) {
    let Numbers::Int(got) = run(text) else {
        panic!("{text} gives no integers")
    };
    assert_eq!(
        (got.shape(), got.iter().copied().collect::<Vec<_>>()),
        (shape, values.to_vec()),
        "{text}"
    );
}

#[test]
fn arithmetic_keeps_integers_exact_and_divides_to_floats() {
    ints("n + 1", &[], &[8]);
    ints("big + 1", &[2], &[1 << 64, (1 << 53) + 2]);
    ints("big - big", &[2], &[0, 0]);
    floats("n / 2", &[], &[3.5]);
    ints("i // 2", &[4], &[1, -1, 0, 1]);
    ints("i % 2", &[4], &[1, 1, 0, 0]);
    ints("i % -2", &[4], &[-1, -1, 0, 0]);
    ints("-7 // 2", &[], &[-4]);
}

#[test]
fn division_rounds_down_and_by_zero_is_numpys() {
    ints("i // 0", &[4], &[0, 0, 0, 0]);
    ints("i % 0", &[4], &[0, 0, 0, 0]);
    floats("v / 0", &[3], &[f64::INFINITY; 3]);
    floats("v // 0.0", &[3], &[f64::INFINITY; 3]);
    floats("v % 0.0", &[3], &[f64::NAN; 3]);
    floats("-7.5 // 2", &[], &[-4.0]);
    floats("-7.5 % 2", &[], &[0.5]);
    floats("7.5 % -2", &[], &[-0.5]);
    floats("0.3 // 0.1", &[], &[2.0]);
}

#[test]
fn powers() {
    ints("2 ** 100", &[], &[1 << 100]);
    ints("(-1) ** 1000000000000", &[], &[1]);
    ints("i ** 2", &[4], &[9, 1, 0, 4]);
    floats("2.0 ** -1", &[], &[0.5]);
    floats("v ** 0.5", &[3], &[1.0, 2f64.sqrt(), 2.0]);
    assert!(refused("2 ** -1").contains("negative integer powers"));
    assert!(refused("2 ** 1000").contains("beyond 128 bits"));
}

#[test]
fn truth_values_are_a_kind_of_their_own() {
    ints("x > 0", &[2, 3], &[1, 0, 1, 1, 1, 0]);
    ints("(x > 0) + (x > 0)", &[2, 3], &[1, 0, 1, 1, 1, 0]);
    ints("(x > 0) * (x > 2)", &[2, 3], &[0, 0, 1, 1, 0, 0]);
    ints("(x > 0) + 1", &[2, 3], &[2, 1, 2, 2, 2, 1]);
    ints("~(x > 0)", &[2, 3], &[0, 1, 0, 0, 0, 1]);
    ints("(x > 0) & (x < 2) | (x == -6)", &[2, 3], &[1, 0, 0, 0, 1, 1]);
    ints("0 < x <= 3", &[2, 3], &[1, 0, 1, 0, 1, 0]);
    ints("sum(x > 0)", &[], &[4]);
    assert!(refused("(x > 0) - (x > 1)").contains("truth values cannot be subtracted"));
    assert!(refused("-(x > 0)").contains("`-` needs numbers"));
}

#[test]
fn bits_and_shifts() {
    ints("~i", &[4], &[-4, 0, -1, -3]);
    ints("(i & 3) ^ 1", &[4], &[2, 2, 1, 3]);
    ints("i << 2", &[4], &[12, -4, 0, 8]);
    ints("i >> 1", &[4], &[1, -1, 0, 1]);
    assert!(refused("1 << 200").contains("0 to 127 bits"));
    assert!(refused("x & 1").contains("`&` needs integers or truth values"));
}

#[test]
fn logic_and_conditions_take_single_values() {
    ints("n > 3 and n < 9", &[], &[1]);
    ints("0 or n", &[], &[7]);
    ints("not n", &[], &[0]);
    floats("v if n == 7 else x", &[3], &[1.0, 2.0, 4.0]);
    let ambiguous = refused("x and v");
    assert!(
        ambiguous.contains("the truth of a float array of shape [2, 3] is ambiguous"),
        "{ambiguous}"
    );
}

#[test]
fn functions_of_one_number() {
    floats("exp(0.0)", &[], &[1.0]);
    floats(
        "log(v)",
        &[3],
        &[0.0, std::f64::consts::LN_2, 2.0 * std::f64::consts::LN_2],
    );
    floats("log2(v)", &[3], &[0.0, 1.0, 2.0]);
    floats("sqrt(v)", &[3], &[1.0, std::f64::consts::SQRT_2, 2.0]);
    floats("rsqrt(v)", &[3], &[1.0, std::f64::consts::FRAC_1_SQRT_2, 0.5]);
    floats("tanh(0.5)", &[], &[0.462_117_157_260_009_76]);
    floats("erf(1)", &[], &[0.842_700_792_949_714_9]);
    floats("sigmoid(v * 0)", &[3], &[0.5; 3]);
    floats("sigmoid(-1000)", &[], &[0.0]);
    floats("sin(pi / 2)", &[], &[1.0]);
}

#[test]
fn rounding_functions() {
    floats("cos(0)", &[], &[1.0]);
    floats("abs(x)", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 0.5, 6.0]);
    ints("abs(i)", &[4], &[3, 1, 0, 2]);
    floats("floor(x / 4)", &[2, 3], &[0.0, -1.0, 0.0, 1.0, 0.0, -2.0]);
    floats("round(v / 2 + 0.5)", &[3], &[1.0, 2.0, 2.0]);
    ints("round(n)", &[], &[7]);
}

#[test]
fn choices() {
    floats("where(x > 0, x, 0)", &[2, 3], &[1.0, 0.0, 3.0, 4.0, 0.5, 0.0]);
    floats(
        "where(v > 1, -inf, nan)",
        &[3],
        &[f64::NAN, f64::NEG_INFINITY, f64::NEG_INFINITY],
    );
    ints("where(i > 0, i, 10 * i)", &[4], &[3, -10, 0, 2]);
    floats("maximum(x, v)", &[2, 3], &[1.0, 2.0, 4.0, 4.0, 2.0, 4.0]);
    floats("minimum(v, nan)", &[3], &[f64::NAN; 3]);
    ints("minimum(i, 1)", &[4], &[1, -1, 0, 1]);
    floats("clip(x, -1, 2)", &[2, 3], &[1.0, -1.0, 2.0, 2.0, 0.5, -1.0]);
    ints("clip(i, None, max=1)", &[4], &[1, -1, 0, 1]);
}

#[test]
fn reductions() {
    floats("sum(x)", &[], &[0.5]);
    floats("sum(x, 0)", &[3], &[5.0, -1.5, -3.0]);
    floats("sum(x, axis=-1, keepdims=True)", &[2, 1], &[2.0, -1.5]);
    floats("sum(w, (0, 2))", &[2], &[14.0, 22.0]);
    ints("sum(big)", &[], &[i128::from(u64::MAX) + (1 << 53) + 1]);
    floats("mean(x, 1)", &[2], &[2.0 / 3.0, -0.5]);
    floats("mean(i)", &[], &[1.0]);
    floats("max(x, 1)", &[2], &[3.0, 4.0]);
    floats("min(x, 0, keepdims=true)", &[1, 3], &[1.0, -2.0, -6.0]);
    ints("max(i)", &[], &[3]);
    floats("max(where(v == 2, nan, v))", &[], &[f64::NAN]);
    ints("argmax(x, 1)", &[2], &[2, 0]);
    ints("argmax(x)", &[], &[3]);
    ints("argmax(zeros(4))", &[], &[0]);
    ints("argmax(where(v == 2, nan, v))", &[], &[1]);
    floats("sum(empty, 0)", &[3], &[0.0; 3]);
    ints("max(n, 0, keepdims=True)", &[], &[7]);
    assert!(refused("max(empty, 0)").contains("an empty array has no largest"));
    assert!(refused("sum(x, 2)").contains("axis 2 is out of range for an array of 2 dimensions"));
    assert!(refused("sum(x, (0, -2))").contains("an axis is named twice"));
}

#[test]
fn scans_and_softmax() {
    floats("cumsum(x, 1)", &[2, 3], &[1.0, -1.0, 2.0, 4.0, 4.5, -1.5]);
    floats("cumsum(x, axis=0)", &[2, 3], &[1.0, -2.0, 3.0, 5.0, -1.5, -3.0]);
    floats("cumsum(x)", &[6], &[1.0, -1.0, 2.0, 6.0, 6.5, 0.5]);
    ints("cumsum(i)", &[4], &[3, 2, 2, 4]);
    floats("softmax(zeros((2, 4)))", &[2, 4], &[0.25; 8]);
    floats("softmax(log(v))", &[3], &[1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0]);
    floats("softmax(zeros(4) + 1e4)", &[4], &[0.25; 4]);
    floats("softmax(zeros((2, 4)), 0)", &[2, 4], &[0.5; 8]);
    floats("softmax(v * -inf)", &[3], &[f64::NAN; 3]);
}

#[test]
fn matrix_products() {
    floats("x @ v", &[2], &[9.0, -19.0]);
    floats("v @ x.T", &[2], &[9.0, -19.0]);
    floats("v @ v", &[], &[21.0]);
    floats("x @ x.T", &[2, 2], &[14.0, -15.0, -15.0, 52.25]);
    floats(
        "w @ w",
        &[2, 2, 2],
        &[7.0, 10.0, 15.0, 22.0, 67.0, 78.0, 91.0, 106.0],
    );
    floats("matmul(w, ones(2))", &[2, 2], &[3.0, 7.0, 11.0, 15.0]);
    floats("ones(2) @ w", &[2, 2], &[4.0, 6.0, 12.0, 14.0]);
    floats(
        "w @ w[0]",
        &[2, 2, 2],
        &[7.0, 10.0, 15.0, 22.0, 23.0, 34.0, 31.0, 46.0],
    );
    ints("i @ i", &[], &[14]);
    let (a, b) = (i128::from(u64::MAX / 2), 1i128 << 52);
    ints("(big // 2) @ (big // 2)", &[], &[a * a + b * b]);
}

#[test]
fn integer_products_beyond_128_bits_are_refused() {
    assert!(refused("(big << 30) @ (big << 30)").contains("beyond 128 bits"));
    assert!(refused("x @ x").contains("shapes [2, 3] and [2, 3] do not fit a matrix product"));
}

#[test]
fn shapes() {
    floats("x.T", &[3, 2], &[1.0, 4.0, -2.0, 0.5, 3.0, -6.0]);
    floats(
        "transpose(w, (0, 2, 1))",
        &[2, 2, 2],
        &[1.0, 3.0, 2.0, 4.0, 5.0, 7.0, 6.0, 8.0],
    );
    floats("reshape(x, (3, -1))", &[3, 2], &[1.0, -2.0, 3.0, 4.0, 0.5, -6.0]);
    floats("reshape(x.T, 6)", &[6], &[1.0, 4.0, -2.0, 0.5, 3.0, -6.0]);
    floats(
        "broadcast_to(v, (2, 3))",
        &[2, 3],
        &[1.0, 2.0, 4.0, 1.0, 2.0, 4.0],
    );
    floats("concatenate((v, i))", &[7], &[1.0, 2.0, 4.0, 3.0, -1.0, 0.0, 2.0]);
    floats(
        "concatenate((x, x), axis=1)",
        &[2, 6],
        &[1.0, -2.0, 3.0, 1.0, -2.0, 3.0, 4.0, 0.5, -6.0, 4.0, 0.5, -6.0],
    );
    ints("concatenate((i, i[:1]), None)", &[5], &[3, -1, 0, 2, 3]);
    ints("arange(4)", &[4], &[0, 1, 2, 3]);
    ints("arange(5, -1, -2)", &[3], &[5, 3, 1]);
    floats("arange(0, 1, 0.25)", &[4], &[0.0, 0.25, 0.5, 0.75]);
    floats("zeros((1, 2)) + ones(2)", &[1, 2], &[1.0, 1.0]);
    ints("x.shape[1]", &[], &[3]);
    floats("zeros(x.shape)", &[2, 3], &[0.0; 6]);
    assert!(refused("reshape(x, (4, -1))").contains("has 6 elements"));
    assert!(refused("transpose(x, (0, 0))").contains("do not name each of 2 dimensions"));
    assert!(refused("broadcast_to(v, (3, 2))").contains("does not broadcast to shape [3, 2]"));
    assert!(refused("concatenate((x, v))").contains("do not fit along axis 0"));
}

#[test]
fn subscripts() {
    floats("x[1]", &[3], &[4.0, 0.5, -6.0]);
    floats("x[-1, 0]", &[], &[4.0]);
    floats("x[:, 1]", &[2], &[-2.0, 0.5]);
    floats("v[:, None]", &[3, 1], &[1.0, 2.0, 4.0]);
    floats("v[None]", &[1, 3], &[1.0, 2.0, 4.0]);
    floats("x[..., 0]", &[2], &[1.0, 4.0]);
    floats("x[::-1, ::2]", &[2, 2], &[4.0, -6.0, 1.0, 3.0]);
    ints("i[1:3]", &[2], &[-1, 0]);
    ints("i[-2:]", &[2], &[0, 2]);
    ints("i[::-1]", &[4], &[2, 0, -1, 3]);
    ints("i[2::-2]", &[2], &[0, 3]);
    ints("i[:-100:-3]", &[2], &[2, 3]);
    ints("i[10:]", &[0], &[]);
    ints("i[3:1]", &[0], &[]);
    ints("i[:n - 5]", &[2], &[3, -1]);
    assert!(refused("x[2]").contains("index 2 is out of range for a dimension of size 2"));
    assert!(refused("v[0, 0]").contains("2 indices for an array of 1 dimensions"));
    assert!(refused("x[x > 0]").contains("truth values as an index are not supported"));
    assert!(refused("i[::0]").contains("step of 0"));
}

#[test]
fn integer_arrays_pick_elements() {
    floats("v[arange(2)]", &[2], &[1.0, 2.0]);
    floats("x[arange(2), (i % 3)[:2]]", &[2], &[1.0, -6.0]);
    floats(
        "x[:, arange(3)[::-1]]",
        &[2, 3],
        &[3.0, -2.0, 1.0, -6.0, 0.5, 4.0],
    );
    floats(
        "x[arange(2)[:, None], arange(2)]",
        &[2, 2],
        &[1.0, -2.0, 4.0, 0.5],
    );
    floats("x[0, arange(2)]", &[2], &[1.0, -2.0]);
    assert!(refused("w[arange(2), :, arange(2)]").contains("separated by slices"));
    assert!(refused("v[i]").contains("index 3 is out of range"));
}

#[test]
fn casts() {
    floats("cast(0.1, 'f16')", &[], &[0.0999755859375]);
    floats(
        "cast(v / 3, \"bf16\")",
        &[3],
        &[0.333984375, 0.66796875, 1.3359375],
    );
    ints("cast(x, 'i32')", &[2, 3], &[1, -2, 3, 4, 0, -6]);
    ints("cast(i, 'u8')", &[4], &[3, 255, 0, 2]);
    ints("cast(big, 'i64')", &[2], &[-1, (1 << 53) + 1]);
    ints("cast(v, 'i1')", &[3], &[1, 1, 1]);
    assert!(refused("cast(v, 'f17')").starts_with("formula:1:9: no dtype is called 'f17'"));
}

#[test]
fn the_softmax_of_the_documentation() {
    floats(
        "exp(x - max(x, 1, keepdims=True)) / sum(exp(x - max(x, 1, keepdims=True)), 1, keepdims=True)",
        &[2, 3],
        &match run("softmax(x, 1)") {
            Numbers::Float(a) => a.iter().copied().collect::<Vec<_>>(),
            Numbers::Int(_) => Vec::new(),
        },
    );
}

#[test]
fn errors_point_at_the_part_at_fault() {
    let shapes = run_within("1 + (x * i)", Limits::default()).unwrap_err();
    assert_eq!(shapes.message, "shapes [2, 3] and [4] do not broadcast");
    assert_eq!(shapes.labels[0].range, 5..10);
    assert_eq!(
        (shapes.labels[1].range.clone(), shapes.labels[1].text.as_str()),
        (5..6, "a float array of shape [2, 3]")
    );
    assert_eq!(
        (shapes.labels[2].range.clone(), shapes.labels[2].text.as_str()),
        (9..10, "an integer array of shape [4]")
    );
    assert_eq!(
        refused("vv + 1"),
        "formula:1:1: unknown name `vv`: no argument is called that (help: did you mean `v`?)"
    );
    assert_eq!(
        refused("1 + softmx(x)"),
        "formula:1:5: unknown function `softmx`: formulas do not have it (help: did you mean `softmax`?)"
    );
    assert!(refused("exp + 1").contains("write `exp(...)`"));
    assert_eq!(
        refused("sum(x, dim=1)"),
        "formula:1:8: `dim` of `sum`: not a parameter (help: sum(x, axis, keepdims))"
    );
    assert!(refused("sum(x, 1, axis=1)").contains("`axis` of `sum`: given twice"));
    assert!(refused("where(x)").contains("`where` needs its argument `x`"));
    assert!(refused("exp(x, v)").contains("takes 1 arguments at most"));
    assert!(refused("max(x, v)").starts_with("formula:1:8: expected one integer"));
    assert!(refused("x.mean(1)").contains("only functions by name"));
    assert!(refused("x.mean(1)").contains("write `mean(x, 1)`"));
    assert!(refused("np.exp(x)").contains("write `exp(x)`"));
    assert!(refused("qq + 1").contains("unknown name `qq`"));
    assert!(refused("x.S").contains("unknown attribute `.S`"));
    assert!(refused("(x, v)").contains("a formula gives an array or a number: this is a tuple"));
    assert!(refused("'a' + 1").contains("expected numbers, this is a string"));
}

#[test]
fn large_arrays_are_refused_before_they_are_made() {
    for text in [
        "zeros((100000, 100000))",
        "ones(1 << 60)",
        "arange(1 << 100)",
        "arange(0, 1, 1e-300)",
        "broadcast_to(1, (1 << 40,))",
        "arange(100000)[:, None] * arange(100000)",
        "ones((100000, 1)) @ ones((1, 100000))",
        "zeros((0, 1 << 62, 1 << 62))",
        "ones(10000)[zeros((10000, 10000), )]",
    ] {
        let message = refused(text);
        assert!(
            message.contains("too large for a formula") || message.contains("an index is"),
            "{text}: {message}"
        );
    }
    let few = Limits {
        elements: 100,
        multiplications: 1000,
    };
    assert!(run_within("ones((10, 10)) @ ones((10, 10))", few).is_ok());
    assert!(run_within("ones((10, 11)) @ ones((11, 10))", few).is_err());
}

#[test]
fn a_product_of_a_thousand_cubed_is_right() {
    let sums = run("sum((ones((1000, 1000)) * 2) @ (ones((1000, 1000)) * 3), 1)");
    let Numbers::Float(sums) = sums else {
        panic!("floats")
    };
    assert!(sums.iter().all(|&v| v == 6000.0 * 1000.0));
}

/// Shapes of up to four dimensions of size 0 to 3.
fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0usize..4, 0..4)
}

fn numbered(shape: &[usize], start: f64) -> ArrayD<f64> {
    let count = shape.iter().product::<usize>();
    ArrayD::from_shape_vec(
        IxDyn(shape),
        (0..count).map(|k| start + (k * k % 17) as f64).collect(),
    )
    .unwrap()
}

fn evaluate_with(text: &str, arrays: &[(&str, &ArrayD<f64>)]) -> Result<Numbers> {
    let inputs: BTreeMap<String, Numbers> = arrays
        .iter()
        .map(|(name, a)| (name.to_string(), Numbers::Float((*a).clone())))
        .collect();
    evaluate(&Expression::parse_text("f", text)?, &inputs, Limits::default())
}

proptest! {
    /// Against an indexer that wraps each index into the operand's own sizes.
    #[test]
    fn broadcasting_is_numpys(a in shape(), b in shape()) {
        let (x, y) = (numbered(&a, 1.0), numbered(&b, 100.0));
        let dims = a.len().max(b.len());
        let pad = |s: &[usize]| [vec![1; dims - s.len()], s.to_vec()].concat();
        let (pa, pb) = (pad(&a), pad(&b));
        let fits = pa.iter().zip(&pb).all(|(m, n)| m == n || *m == 1 || *n == 1);
        let result = evaluate_with("x - y", &[("x", &x), ("y", &y)]);
        prop_assert_eq!(result.is_ok(), fits);
        if let Ok(Numbers::Float(got)) = result {
            let full: Vec<usize> = pa.iter().zip(&pb).map(|(&m, &n)| if m == 1 { n } else { m }).collect();
            prop_assert_eq!(got.shape(), &full[..]);
            for (index, &value) in got.indexed_iter() {
                let at = |shape: &[usize]| -> Vec<usize> {
                    let tail = &index.slice()[dims - shape.len()..];
                    tail.iter().zip(shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect()
                };
                prop_assert_eq!(value, x[&at(&a)[..]] - y[&at(&b)[..]]);
            }
        }
    }

    /// Summing over axes one by one, or all at once, is the sum over the elements.
    #[test]
    fn sums_over_axes_agree(a in prop::collection::vec(1usize..4, 3), axis in 0usize..3, other in 0usize..3) {
        let x = numbered(&a, 1.0);
        let Ok(Numbers::Float(once)) = evaluate_with(&format!("sum(x, {axis})"), &[("x", &x)]) else {
            return Err(TestCaseError::fail("no sum"));
        };
        for (index, &value) in once.indexed_iter() {
            let mut full = index.slice().to_vec();
            full.insert(axis, 0);
            let naive: f64 = (0..a[axis]).map(|k| { full[axis] = k; x[&full[..]] }).sum();
            prop_assert_eq!(value, naive);
        }
        if axis != other {
            let both = evaluate_with(&format!("sum(x, ({axis}, {other}))"), &[("x", &x)]);
            let nested = evaluate_with(
                &format!("sum(sum(x, {axis}, keepdims=True), {other}, keepdims=True)[..., 0] * 0 + sum(x, ({axis}, {other}), keepdims=True)[..., 0]"),
                &[("x", &x)],
            );
            prop_assert!(both.is_ok() && nested.is_ok());
        }
    }

    /// Slices against Python's definition: the positions `range(*slice.indices(n))`.
    #[test]
    fn slices_are_pythons(n in 0usize..7, start in -9i64..9, stop in -9i64..9, step in -4i64..5) {
        prop_assume!(step != 0);
        let x = ArrayD::from_shape_vec(IxDyn(&[n]), (0..n).map(|k| k as f64).collect()).unwrap();
        let result = evaluate_with(&format!("x[{start}:{stop}:{step}]"), &[("x", &x)]);
        let size = n as i64;
        let (least, most) = if step > 0 { (0, size) } else { (-1, size - 1) };
        let bound = |v: i64| if v < 0 { (v + size).clamp(least, most) } else { v.clamp(least, most) };
        let mut expected = Vec::new();
        let mut at = bound(start);
        while (step > 0 && at < bound(stop)) || (step < 0 && at > bound(stop)) {
            expected.push(at as f64);
            at += step;
        }
        let Ok(Numbers::Float(got)) = result else { return Err(TestCaseError::fail("no slice")) };
        prop_assert_eq!(got.iter().copied().collect::<Vec<_>>(), expected);
    }

    /// Formulas put together at random either evaluate or are refused.
    #[test]
    fn no_formula_panics(text in formula_text()) {
        let _ = run_within(&text, Limits { elements: 4096, multiplications: 1 << 20 });
    }

    #[test]
    fn no_text_panics(text in "[a-z0-9 ()\\[\\],.:+*/@%<>=&|^~'-]{0,40}") {
        let _ = run_within(&text, Limits { elements: 4096, multiplications: 1 << 20 });
    }
}

fn formula_text() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "x",
        "v",
        "i",
        "n",
        "w",
        "big",
        "empty",
        "0",
        "1",
        "-1",
        "2.5",
        "None",
        "True",
        "nan",
        "inf",
        "'f16'",
        "'i8'",
        "170141183460469231731687303715884105727",
        "(2, 3)",
        "(0, 1)",
        "()",
        "1e300",
    ])
    .prop_map(str::to_string);
    leaf.prop_recursive(5, 40, 4, |inner| {
        let names: Vec<&'static str> = FUNCTIONS.iter().map(|f| f.name).collect();
        let operators = vec![
            "+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "<", "==", "and", "or", ",",
        ];
        prop_oneof![
            (inner.clone(), prop::sample::select(operators), inner.clone())
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (
                prop::sample::select(names),
                prop::collection::vec(inner.clone(), 1..4)
            )
                .prop_map(|(name, args)| format!("{name}({})", args.join(", "))),
            (prop::sample::select(vec!["-", "~", "not ", "+"]), inner.clone())
                .prop_map(|(op, a)| format!("({op}{a})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("{a}[{b}:{c}]")),
            (inner.clone(), prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(a, items)| format!("{a}[{}]", items.join(", "))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}[..., {b}, ::-1]")),
            inner.clone().prop_map(|a| format!("{a}.T")),
            inner.clone().prop_map(|a| format!("{a}.shape")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("sum({a}, axis={b}, keepdims=True)")),
        ]
    })
}
