//! Softmax along rows that fit in one block: each program reads its row once and writes it once. `softmax.py` in Rust.

use tilescope::{Element, Kernel};

/// Softmax of each row of at most `BLOCK` columns.
pub fn softmax<T: Element, const BLOCK: i32>() -> Kernel {
    Kernel::new("softmax_kernel", |k| {
        let (output_ptr, input_ptr) = (k.ptr::<T>("output_ptr"), k.ptr::<T>("input_ptr"));
        let output_row_stride = k.scalar::<i32>("output_row_stride");
        let input_row_stride = k.scalar::<i32>("input_row_stride");
        let n_cols = k.scalar::<i32>("n_cols");

        let row = k.program_id(0);
        let cols = k.arange(0, BLOCK);
        let mask = cols.lt(n_cols);
        // -inf in the padding: exp turns it into 0, so the sum does not see it.
        let x = k.load(input_ptr + row * input_row_stride + cols, mask, f32::NEG_INFINITY);
        let x = x.cast::<f32>();
        let numerator = (x - x.max(0)).exp();
        let y = numerator / numerator.sum(0);
        k.store(output_ptr + row * output_row_stride + cols, y, mask);
    })
}
