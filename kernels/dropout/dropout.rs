//! Dropout: each element is zeroed with probability p, the others are scaled by 1/(1-p). `dropout.py` in Rust.

use tilescope::{Element, Kernel};

/// Dropout of `n_elements`; which are kept depends only on the seed and the element's index.
pub fn dropout<T: Element, const BLOCK: i32>() -> Kernel {
    Kernel::new("dropout_kernel", |k| {
        let (x_ptr, y_ptr) = (k.ptr::<T>("x_ptr"), k.ptr::<T>("y_ptr"));
        let (n_elements, p) = (k.scalar::<i32>("n_elements"), k.scalar::<f32>("p"));
        let seed = k.scalar::<i32>("seed");

        let offsets = k.program_id(0) * BLOCK + k.arange(0, BLOCK);
        let mask = offsets.lt(n_elements);
        let x = k.load(x_ptr + offsets, mask, None);
        let keep = k.rand(seed, offsets).gt(p);
        k.store(y_ptr + offsets, k.where_(keep, x / (1 - p), 0.0), mask);
    })
}
