//! Named references: what the outputs of the example kernels should be, in float64.
//!
//! Each is written from the definition, not from the kernel: no blocks, no running maxima, no padding. Rows are the
//! lanes of the last axis; leading axes are free unless a function says otherwise. Wrong operands are an error in
//! words; no operand makes one panic.

use ndarray::{Array1, ArrayD, ArrayView1, ArrayView2, Axis, Ix1, Ix2, IxDyn};
use tilescope_oracle::Operand::{self, Array, Scalar};
use tilescope_oracle::Reference;

use crate::philox;

/// Every named reference. The operands of each are in its function's doc comment, in order.
pub static REFERENCES: &[(&str, Reference)] = &[
    ("bias_gelu_erf", bias_gelu_erf),
    ("bias_gelu_tanh", bias_gelu_tanh),
    ("causal_attention", causal_attention),
    ("causal_attention_lse2", causal_attention_lse2),
    ("cross_entropy", cross_entropy),
    ("cumsum", cumsum),
    ("dropout", dropout),
    ("histogram", histogram),
    ("layer_norm", layer_norm),
    ("matmul", matmul),
    ("matmul_tf32", matmul_tf32),
    ("rms_norm", rms_norm),
    ("softmax", softmax),
];

/// The reference of that name, if there is one.
pub fn reference(name: &str) -> Option<Reference> {
    REFERENCES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|&(_, function)| function)
}

type Expected = Result<ArrayD<f64>, String>;

/// `x`: exp(x) over its sum, along rows.
fn softmax(operands: &[Operand]) -> Expected {
    let [Array(x)] = operands else {
        return Err("softmax takes an array".into());
    };
    map_rows(x, |row| shares(&row))
}

/// `x`, `weight`, `bias` (one row each), `eps`: (x - mean) / sqrt(variance + eps) * weight + bias, along rows.
fn layer_norm(operands: &[Operand]) -> Expected {
    let [Array(x), Array(weight), Array(bias), Scalar(eps)] = operands else {
        return Err("layer_norm takes three arrays (x, weight, bias) and a number (eps)".into());
    };
    let (weight, bias) = (row_like(x, weight, "weight")?, row_like(x, bias, "bias")?);
    map_rows(x, |row| {
        let deviation = &row - row.sum() / row.len() as f64;
        let variance = deviation.mapv(|d| d * d).sum() / row.len() as f64;
        deviation / (variance + eps).sqrt() * weight + bias
    })
}

/// `x`, `weight` (one row), `eps`: x / sqrt(mean of x^2 + eps) * weight, along rows.
fn rms_norm(operands: &[Operand]) -> Expected {
    let [Array(x), Array(weight), Scalar(eps)] = operands else {
        return Err("rms_norm takes two arrays (x, weight) and a number (eps)".into());
    };
    let weight = row_like(x, weight, "weight")?;
    map_rows(x, |row| {
        let mean_square = row.mapv(|x| x * x).sum() / row.len() as f64;
        row.to_owned() / (mean_square + eps).sqrt() * weight
    })
}

/// `x`, `bias` (one row), `scale`: scale * gelu(x + bias), with the Gaussian distribution itself.
fn bias_gelu_erf(operands: &[Operand]) -> Expected {
    bias_gelu(operands, |x| {
        0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))
    })
}

/// `x`, `bias` (one row), `scale`: scale * gelu(x + bias), with the usual approximation by tanh.
fn bias_gelu_tanh(operands: &[Operand]) -> Expected {
    let sqrt_2_over_pi = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
    bias_gelu(operands, |x| {
        0.5 * x * (1.0 + (sqrt_2_over_pi * (x + 0.044715 * x.powi(3))).tanh())
    })
}

fn bias_gelu(operands: &[Operand], gelu: impl Fn(f64) -> f64) -> Expected {
    let [Array(x), Array(bias), Scalar(scale)] = operands else {
        return Err("bias_gelu takes two arrays (x, bias) and a number (scale)".into());
    };
    let bias = row_like(x, bias, "bias")?;
    map_rows(x, |row| (&row + &bias).mapv(|x| scale * gelu(x)))
}

/// `a` of shape (M, K), `b` of shape (K, N): their product.
fn matmul(operands: &[Operand]) -> Expected {
    let [Array(a), Array(b)] = operands else {
        return Err("matmul takes two arrays (a, b)".into());
    };
    let (a, b) = (matrix(a, "a")?, matrix(b, "b")?);
    if a.ncols() != b.nrows() {
        return Err(format!("a has {} columns, b has {} rows", a.ncols(), b.nrows()));
    }
    Ok(a.dot(&b).into_dyn())
}

/// `a`, `b`: their product, of what tensor cores see of f32 in `tf32`: the low 13 bits of each element dropped.
fn matmul_tf32(operands: &[Operand]) -> Expected {
    let [Array(a), Array(b)] = operands else {
        return Err("matmul_tf32 takes two arrays (a, b)".into());
    };
    let cut = |x: f64| match x.is_finite() {
        true => f64::from(f32::from_bits((x as f32).to_bits() & !0x1fff)),
        false => x,
    };
    matmul(&[Array(a.mapv(cut)), Array(b.mapv(cut))])
}

/// `q`, `k`, `v` of one shape (..., T, D), `scale`: softmax(scale * q k^T) v, where query t sees keys 0 to t.
fn causal_attention(operands: &[Operand]) -> Expected {
    let [Array(q), Array(k), Array(v), Scalar(scale)] = operands else {
        return Err("causal_attention takes three arrays (q, k, v) and a number (scale)".into());
    };
    if q.shape() != k.shape() || q.shape() != v.shape() {
        return Err(format!(
            "q, k, v differ in shape: {:?}, {:?}, {:?}",
            q.shape(),
            k.shape(),
            v.shape()
        ));
    }
    let heads = matrices(q)?.into_iter().zip(matrices(k)?).zip(matrices(v)?);
    let mut output = Vec::with_capacity(q.len());
    for ((q, k), v) in heads {
        for (t, query) in q.rows().into_iter().enumerate() {
            let scores = visible_scores(query, k, t, *scale);
            let weights = shares(&scores.view());
            output.extend(weights.dot(&v.slice(ndarray::s![..=t, ..])));
        }
    }
    shaped(q.shape(), output)
}

/// `q`, `k` of one shape (..., T, D), `scale`: log2 of the sum of exp(scale * q k^T) over the keys that query t sees;
/// of shape (..., T).
fn causal_attention_lse2(operands: &[Operand]) -> Expected {
    let [Array(q), Array(k), Scalar(scale)] = operands else {
        return Err("causal_attention_lse2 takes two arrays (q, k) and a number (scale)".into());
    };
    if q.shape() != k.shape() {
        return Err(format!(
            "q and k differ in shape: {:?}, {:?}",
            q.shape(),
            k.shape()
        ));
    }
    let mut output = Vec::new();
    for (q, k) in matrices(q)?.into_iter().zip(matrices(k)?) {
        for (t, query) in q.rows().into_iter().enumerate() {
            let scores = visible_scores(query, k, t, *scale);
            output.push(log_sum_exp(scores.iter().copied()) * std::f64::consts::LOG2_E);
        }
    }
    shaped(&q.shape()[..q.ndim() - 1], output)
}

/// Scores of query `t` with keys 0 to `t`.
fn visible_scores(
    query: ArrayView1<'_, f64>,
    keys: ArrayView2<'_, f64>,
    t: usize,
    scale: f64,
) -> Array1<f64> {
    keys.slice(ndarray::s![..=t, ..]).dot(&query) * scale
}

/// `logits` (rows, classes), `targets` (rows): `logsumexp(row) - row[target]`.
fn cross_entropy(operands: &[Operand]) -> Expected {
    let [Array(logits), Array(targets)] = operands else {
        return Err("cross_entropy takes two arrays (logits, targets)".into());
    };
    let logits = matrix(logits, "logits")?;
    if targets.shape() != [logits.nrows()] {
        return Err(format!(
            "targets have shape {:?}, logits {:?}",
            targets.shape(),
            logits.shape()
        ));
    }
    let loss = |(row, &target): (ArrayView1<'_, f64>, &f64)| {
        let logit = index(target).and_then(|class| row.get(class));
        let logit = logit.ok_or_else(|| format!("target {target} is no class of {}", row.len()))?;
        Ok(log_sum_exp(row.iter().copied()) - logit)
    };
    let losses: Result<Array1<f64>, String> = logits.rows().into_iter().zip(targets).map(loss).collect();
    Ok(losses?.into_dyn())
}

/// `x`: sums of each element and those before it, along rows.
fn cumsum(operands: &[Operand]) -> Expected {
    let [Array(x)] = operands else {
        return Err("cumsum takes an array".into());
    };
    map_rows(x, |row| {
        let mut sum = 0.0;
        row.mapv(|x| {
            sum += x;
            sum
        })
    })
}

/// `x` (integers, any shape), `n_bins`: how often each of 0 .. n_bins occurs; other values are not counted.
fn histogram(operands: &[Operand]) -> Expected {
    let [Array(x), Scalar(n_bins)] = operands else {
        return Err("histogram takes an array (x) and a number (n_bins)".into());
    };
    let n_bins = index(*n_bins)
        .filter(|&n| n <= 1 << 31)
        .ok_or_else(|| format!("{n_bins} bins"))?;
    let mut counts = Array1::zeros(n_bins);
    for bin in x.iter().filter_map(|&x| index(x)) {
        if let Some(count) = counts.get_mut(bin) {
            *count += 1.0;
        }
    }
    Ok(counts.into_dyn())
}

/// `x` (any shape), `p`, `seed`: x / (1 - p) where `tl.rand(seed, k) > p` for the row-major index k (32 bits), else 0.
///
/// The comparison is the kernel's own, in float32; which elements are kept is exact.
fn dropout(operands: &[Operand]) -> Expected {
    let [Array(x), Scalar(p), Scalar(seed)] = operands else {
        return Err("dropout takes an array (x) and two numbers (p, seed)".into());
    };
    let seed = *seed as i64 as u64; // a negative seed is sign-extended, as Triton does
    let p = *p as f32;
    let mut y = x.as_standard_layout().into_owned();
    for (k, y) in y.iter_mut().enumerate() {
        let keep = philox::rand(seed, k as u32) > p;
        *y = if keep { *y / (1.0 - f64::from(p)) } else { 0.0 };
    }
    Ok(y)
}

/// log(sum(exp(x))), from the largest down so that nothing overflows. -inf for no elements.
fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if max.is_infinite() {
        return max;
    }
    max + values.map(|x| (x - max).exp()).sum::<f64>().ln()
}

/// exp(x) / sum(exp(x)). By the largest and not by [`log_sum_exp`], whose logarithm is lost beside numbers near 1e17;
/// NaN where the largest is infinite, as NumPy and PyTorch have it.
fn shares(row: &ArrayView1<'_, f64>) -> Array1<f64> {
    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let terms = row.mapv(|x| (x - max).exp());
    let sum = terms.sum();
    terms / sum
}

/// Applies `f` to each lane of the last axis; what it returns has the lane's length.
fn map_rows(x: &ArrayD<f64>, mut f: impl FnMut(ArrayView1<'_, f64>) -> Array1<f64>) -> Expected {
    let axis = x.ndim().checked_sub(1).map(Axis).ok_or("x has no axis")?;
    let mut y = x.clone();
    for mut row in y.lanes_mut(axis) {
        let result = f(row.view());
        row.assign(&result);
    }
    Ok(y)
}

/// `v` as a vector as long as the rows of `x`.
fn row_like<'a>(x: &ArrayD<f64>, v: &'a ArrayD<f64>, name: &str) -> Result<ArrayView1<'a, f64>, String> {
    let vector = v.view().into_dimensionality::<Ix1>().ok();
    vector
        .filter(|v| Some(&v.len()) == x.shape().last())
        .ok_or_else(|| {
            format!(
                "{name} has shape {:?}, which is no row of {:?}",
                v.shape(),
                x.shape()
            )
        })
}

fn matrix<'a>(x: &'a ArrayD<f64>, name: &str) -> Result<ArrayView2<'a, f64>, String> {
    let matrix = x.view().into_dimensionality::<Ix2>();
    matrix.map_err(|_| format!("{name} has shape {:?}, not two dimensions", x.shape()))
}

/// The matrices of the last two axes, in row-major order of the others.
fn matrices(x: &ArrayD<f64>) -> Result<Vec<ArrayView2<'_, f64>>, String> {
    let mut views = vec![x.view()];
    if x.ndim() < 2 {
        return Err(format!("an array of shape {:?} holds no matrices", x.shape()));
    }
    for _ in 2..x.ndim() {
        views = views
            .iter()
            .flat_map(|v| (0..v.len_of(Axis(0))).map(|i| v.clone().index_axis_move(Axis(0), i)))
            .collect();
    }
    views
        .into_iter()
        .map(|v| v.into_dimensionality::<Ix2>().map_err(|e| e.to_string()))
        .collect()
}

fn shaped(shape: &[usize], values: Vec<f64>) -> Expected {
    ArrayD::from_shape_vec(IxDyn(shape), values).map_err(|e| e.to_string())
}

/// A float that holds a natural number, as an index.
fn index(x: f64) -> Option<usize> {
    (x >= 0.0 && x.fract() == 0.0 && x < 9e15).then_some(x as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    fn run(name: &str, operands: &[Operand]) -> ArrayD<f64> {
        reference(name).expect("a known name")(operands).expect("good operands")
    }

    fn assert_close(actual: &ArrayD<f64>, expected: ArrayD<f64>) {
        assert_eq!(actual.shape(), expected.shape());
        for (a, e) in actual.iter().zip(&expected) {
            assert!(
                (a - e).abs() <= 1e-12 * e.abs().max(1.0),
                "{actual} is not {expected}"
            );
        }
    }

    #[test]
    fn softmax_of_logarithms_is_their_share() {
        let x = array![[1f64.ln(), 3f64.ln()], [1000.0, 1000.0], [3e38, 3e38]].into_dyn();
        assert_close(
            &run("softmax", &[Array(x)]),
            array![[0.25, 0.75], [0.5, 0.5], [0.5, 0.5]].into_dyn(),
        );
    }

    #[test]
    fn layer_norm_by_hand() {
        // Mean 3, variance 4: (1 - 3) / 2 = -1 and (5 - 3) / 2 = 1.
        let x = array![[1.0, 5.0]].into_dyn();
        let operands = [
            Array(x),
            Array(array![10.0, 20.0].into_dyn()),
            Array(array![1.0, 2.0].into_dyn()),
            Scalar(0.0),
        ];
        assert_close(&run("layer_norm", &operands), array![[-9.0, 22.0]].into_dyn());
    }

    #[test]
    fn layer_norm_adds_eps_under_the_root() {
        let ones = Array(array![1.0, 1.0].into_dyn());
        let operands = [
            Array(array![[-1.0, 1.0]].into_dyn()),
            ones.clone(),
            Array(array![0.0, 0.0].into_dyn()),
            Scalar(3.0),
        ];
        assert_close(&run("layer_norm", &operands), array![[-0.5, 0.5]].into_dyn());
    }

    #[test]
    fn rms_norm_by_hand() {
        // Mean square of (1, 7) is 25.
        let operands = [
            Array(array![[1.0, 7.0]].into_dyn()),
            Array(array![5.0, 10.0].into_dyn()),
            Scalar(0.0),
        ];
        assert_close(&run("rms_norm", &operands), array![[1.0, 14.0]].into_dyn());
    }

    #[test]
    fn gelu_at_known_points() {
        // Normal distribution at 1: 0.841344746068543; far out gelu(x) is x or 0.
        let operands = [
            Array(array![[0.0, 0.5, -50.0, 49.0]].into_dyn()),
            Array(array![0.0, 0.5, 0.0, 1.0].into_dyn()),
            Scalar(2.0),
        ];
        let expected = array![[0.0, 2.0 * 0.841_344_746_068_542_9, 0.0, 100.0]].into_dyn();
        assert_close(&run("bias_gelu_erf", &operands), expected);
        // tanh(sqrt(2/pi) * 1.044715) = 0.6823839882...: 1 + that, halved.
        let tanh: f64 = (0.797_884_560_802_865_4_f64 * 1.044715).tanh();
        assert!((tanh - 0.682_384).abs() < 1e-6);
        let expected = array![[0.0, 1.0 + tanh, 0.0, 100.0]].into_dyn();
        assert_close(&run("bias_gelu_tanh", &operands), expected);
    }

    #[test]
    fn matmul_by_hand() {
        let a = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]].into_dyn();
        let b = array![[1.0, 0.0], [10.0, 1.0]].into_dyn();
        assert_close(
            &run("matmul", &[Array(a), Array(b)]),
            array![[21.0, 2.0], [43.0, 4.0], [65.0, 6.0]].into_dyn(),
        );
    }

    #[test]
    fn tf32_drops_the_low_bits() {
        // 1 + 2^-10 is kept, 1 + 2^-11 and the next below 2 are cut to what TF32 has below.
        let a = array![[
            1.0 + 0.5f64.powi(10),
            1.0 + 0.5f64.powi(11),
            2.0 - 0.5f64.powi(23)
        ]];
        let b = array![[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]];
        assert_close(
            &run("matmul_tf32", &[Array(a.into_dyn()), Array(b.into_dyn())]),
            array![[1.0 + 0.5f64.powi(10), 1.0, -(2.0 - 0.5f64.powi(10))]].into_dyn(),
        );
    }

    #[test]
    fn attention_sees_no_later_key() {
        // Scores of query 1 are (0, ln 3): weights 1/4 and 3/4. Query 0 sees key 0 alone.
        let q = array![[[9.0], [1.0]]].into_dyn();
        let k = array![[[0.0], [3f64.ln() / 0.5]]].into_dyn();
        let v = array![[[4.0], [8.0]]].into_dyn();
        let (q, k) = (Array(q), Array(k));
        let output = run("causal_attention", &[q.clone(), k.clone(), Array(v), Scalar(0.5)]);
        assert_close(&output, array![[[4.0], [7.0]]].into_dyn());
        assert_close(
            &run("causal_attention_lse2", &[q, k, Scalar(0.5)]),
            array![[0.0, 2.0]].into_dyn(),
        );
    }

    #[test]
    fn attention_keeps_heads_apart() {
        let heads = Array2::from_shape_vec((6, 1), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("six");
        let heads = heads.into_shape_with_order(IxDyn(&[3, 2, 1, 1])).expect("six");
        let zeros = Array(ArrayD::zeros(IxDyn(&[3, 2, 1, 1])));
        let output = run(
            "causal_attention",
            &[zeros.clone(), zeros, Array(heads.clone()), Scalar(1.0)],
        );
        assert_close(&output, heads);
    }

    #[test]
    fn cross_entropy_by_hand() {
        let logits = array![[0.0, 0.0], [3f64.ln(), 0.0]].into_dyn();
        let losses = run(
            "cross_entropy",
            &[Array(logits.clone()), Array(array![1.0, 0.0].into_dyn())],
        );
        assert_close(&losses, array![2f64.ln(), (4.0f64 / 3.0).ln()].into_dyn());
        for bad in [2.0, -1.0, 0.5, f64::NAN] {
            let targets = Array(array![0.0, bad].into_dyn());
            assert!(reference("cross_entropy").expect("known")(&[Array(logits.clone()), targets]).is_err());
        }
    }

    #[test]
    fn cumsum_restarts_in_each_row() {
        let x = array![[1.0, 2.0, 3.0], [10.0, -1.0, 0.5]].into_dyn();
        assert_close(
            &run("cumsum", &[Array(x)]),
            array![[1.0, 3.0, 6.0], [10.0, 9.0, 9.5]].into_dyn(),
        );
    }

    #[test]
    fn histogram_skips_what_has_no_bin() {
        let x = array![[0.0, 2.0, 2.0], [-1.0, 3.0, 2.0]].into_dyn();
        assert_close(
            &run("histogram", &[Array(x), Scalar(3.0)]),
            array![1.0, 0.0, 3.0].into_dyn(),
        );
    }

    #[test]
    fn dropout_keeps_what_the_card_keeps() {
        // tl.rand(42, 0..4) on a GPU: 0.7741, 0.02456, 0.3485, 0.5408.
        let operands = [
            Array(array![[1.0, 2.0], [3.0, 4.0]].into_dyn()),
            Scalar(0.5),
            Scalar(42.0),
        ];
        assert_close(
            &run("dropout", &operands),
            array![[2.0, 0.0], [0.0, 8.0]].into_dyn(),
        );
    }

    #[test]
    fn wrong_operands_are_errors_not_panics() {
        let candidates = [
            Scalar(f64::NAN),
            Scalar(-1.0),
            Scalar(1e300),
            Array(ArrayD::zeros(IxDyn(&[]))),
            Array(ArrayD::zeros(IxDyn(&[0]))),
            Array(ArrayD::zeros(IxDyn(&[3]))),
            Array(ArrayD::zeros(IxDyn(&[2, 0]))),
            Array(ArrayD::zeros(IxDyn(&[0, 3]))),
            Array(ArrayD::from_elem(IxDyn(&[2, 3]), f64::INFINITY)),
            Array(ArrayD::from_elem(IxDyn(&[1, 2, 3]), f64::NAN)),
        ];
        for (name, function) in REFERENCES {
            assert!(function(&[]).is_err(), "{name} of nothing");
            for a in &candidates {
                let _ = function(std::slice::from_ref(a));
                for b in &candidates {
                    let _ = function(&[a.clone(), b.clone()]);
                    for c in &candidates {
                        let _ = function(&[a.clone(), b.clone(), c.clone()]);
                        let _ = function(&[a.clone(), b.clone(), b.clone(), c.clone()]);
                        let _ = function(&[a.clone(), a.clone(), b.clone(), c.clone()]);
                    }
                }
            }
        }
    }
}
