//! Matrix products by NumPy's rules: vectors on either side, leading dimensions broadcast.
//!
//! Float products are ndarray's blocked ones. Integer products are exact: through float64 where no
//! sum can leave the exact range, else in 128 bits.

use ndarray::{ArrayView2, ArrayViewD, Axis, Ix2, IxDyn};

use super::elementwise::common_shape;
use super::value::{Fault, Limits, Outcome, Pair, Shared, Value, fault, promote, share};

/// `a @ b`.
pub(super) fn matmul(a: &Value, b: &Value, limits: Limits) -> Outcome {
    match promote(a, b)? {
        Pair::Float(a, b) => Ok(Value::Float(product(&a, &b, limits, |a, b| Ok(a.dot(b)))?)),
        Pair::Int(a, b) => integers(&a, &b, limits),
        Pair::Bool(a, b) => {
            let counts = integers(&Value::Bool(a).as_int()?, &Value::Bool(b).as_int()?, limits)?;
            Ok(Value::Bool(counts.as_bool()?))
        }
    }
}

fn integers(a: &Shared<i128>, b: &Shared<i128>, limits: Limits) -> Outcome {
    let largest = |x: &Shared<i128>| x.iter().map(|v| v.unsigned_abs()).max().unwrap_or(0) as f64;
    let inner = a.shape().last().copied().unwrap_or(0) as f64;
    if largest(a) * largest(b) * inner < 2f64.powi(52) {
        let (a, b) = (
            a.mapv(|v| v as f64).into_shared(),
            b.mapv(|v| v as f64).into_shared(),
        );
        let exact = product(&a, &b, limits, |a, b| Ok(a.dot(b)))?;
        return Ok(Value::Int(share(exact.mapv(|v| v as i128))));
    }
    Ok(Value::Int(product(a, b, limits, |a, b| {
        let mut overflow = false;
        let c = ndarray::Array2::from_shape_fn((a.nrows(), b.ncols()), |(i, j)| {
            let sum = a
                .row(i)
                .iter()
                .zip(b.column(j))
                .try_fold(0i128, |sum, (&x, &y)| sum.checked_add(x.checked_mul(y)?));
            overflow |= sum.is_none();
            sum.unwrap_or(0)
        });
        if overflow {
            fault("an integer matrix product is beyond 128 bits")
        } else {
            Ok(c)
        }
    })?))
}

/// The product, with `multiply` for each pair of matrices.
fn product<T: Clone + Default>(
    a: &Shared<T>,
    b: &Shared<T>,
    limits: Limits,
    multiply: impl Fn(&ArrayView2<T>, &ArrayView2<T>) -> Outcome<ndarray::Array2<T>>,
) -> Outcome<Shared<T>> {
    let mismatch = || {
        fault(format!(
            "shapes {:?} and {:?} do not fit a matrix product",
            a.shape(),
            b.shape()
        ))
        .map_err(|f: Fault| f.with_help("the last size of the left must equal the second-last of the right"))
    };
    if a.ndim() == 0 || b.ndim() == 0 {
        return mismatch();
    }
    // A vector on the left is a row, on the right a column; its dimension is dropped again below.
    let left = if a.ndim() == 1 {
        a.view().insert_axis(Axis(0))
    } else {
        a.view()
    };
    let right = if b.ndim() == 1 {
        b.view().insert_axis(Axis(1))
    } else {
        b.view()
    };
    let (Some((batch_a, [m, k])), Some((batch_b, [k2, n]))) = (
        left.shape().split_last_chunk::<2>(),
        right.shape().split_last_chunk::<2>(),
    ) else {
        return mismatch();
    };
    let (m, k, n) = (*m, *k, *n);
    if k != *k2 {
        return mismatch();
    }
    let batch = common_shape(batch_a, batch_b, limits)?;
    let full: Vec<usize> = batch.iter().copied().chain([m, n]).collect();
    let count = limits.check(&full)?;
    if (count as u64).saturating_mul(k as u64) > limits.multiplications {
        return fault(format!(
            "a matrix product of {} multiplications is too large for a formula",
            count as u128 * k as u128
        ));
    }
    let with = |inner: [usize; 2]| -> Vec<usize> { batch.iter().copied().chain(inner).collect() };
    let (Some(left), Some(right)) = (left.broadcast(with([m, k])), right.broadcast(with([k, n]))) else {
        return mismatch();
    };
    let mut result = ndarray::ArrayD::from_elem(IxDyn(&full), T::default());
    for_each_matrix(left, right, result.view_mut(), &multiply)?;
    if b.ndim() == 1 {
        result = result.index_axis_move(Axis(batch.len() + 1), 0);
    }
    if a.ndim() == 1 {
        result = result.index_axis_move(Axis(batch.len()), 0);
    }
    Ok(share(result))
}

fn for_each_matrix<T: Clone>(
    a: ArrayViewD<T>,
    b: ArrayViewD<T>,
    mut c: ndarray::ArrayViewMutD<T>,
    multiply: &impl Fn(&ArrayView2<T>, &ArrayView2<T>) -> Outcome<ndarray::Array2<T>>,
) -> Outcome<()> {
    if a.ndim() > 2 {
        for ((a, b), c) in a.outer_iter().zip(b.outer_iter()).zip(c.outer_iter_mut()) {
            for_each_matrix(a, b, c, multiply)?;
        }
        return Ok(());
    }
    match (a.into_dimensionality::<Ix2>(), b.into_dimensionality::<Ix2>()) {
        (Ok(a), Ok(b)) => {
            let product = multiply(&a, &b)?;
            c.assign(&product.into_dyn());
            Ok(())
        }
        _ => fault("a matrix has two dimensions"),
    }
}
