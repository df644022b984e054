//! Element-wise sum of two vectors: one program per block of `BLOCK` elements. `vector_add.py` in Rust.

use tilescope::{Element, Kernel};

/// `output = x + y` for vectors of `n_elements`.
pub fn vector_add<T: Element, const BLOCK: i32>() -> Kernel {
    Kernel::new("vector_add_kernel", |k| {
        let (x_ptr, y_ptr, output_ptr) = (k.ptr::<T>("x_ptr"), k.ptr::<T>("y_ptr"), k.ptr::<T>("output_ptr"));
        let n_elements = k.scalar::<i32>("n_elements");

        let offsets = k.program_id(0) * BLOCK + k.arange(0, BLOCK);
        let mask = offsets.lt(n_elements);
        let x = k.load(x_ptr + offsets, mask, None);
        let y = k.load(y_ptr + offsets, mask, None);
        k.store(output_ptr + offsets, x + y, mask);
    })
}
