//! C = A @ B for any M, N, K and any strides: one program per tile of C, sums in `f32`. `matmul.py` in Rust.

use tilescope::{Element, F32, InputPrecision, Kernel, Tile};

/// What a kernel is made for: plain values, where Triton has `tl.constexpr`.
#[derive(Debug, Clone, Copy)]
pub struct Blocks {
    /// Rows of a tile of C.
    pub m: i32,
    /// Columns of a tile of C.
    pub n: i32,
    /// Columns of A that are multiplied at once.
    pub k: i32,
    /// Tiles below each other that run together.
    pub group_m: i32,
}

/// Row and column of program `pid`'s tile: down `group_m` tiles, then to the next column, so that programs that run
/// together share rows of A and columns of B in the L2 cache.
fn tile_of<'k>(pid: Tile<'k>, tiles_m: Tile<'k>, tiles_n: Tile<'k>, group_m: i32) -> (Tile<'k>, Tile<'k>) {
    let tiles_per_group = group_m * tiles_n;
    let first_m = pid / tiles_per_group * group_m;
    let group_m = (tiles_m - first_m).minimum(group_m);
    let pid_in_group = pid % tiles_per_group;
    (first_m + pid_in_group % group_m, pid_in_group / group_m)
}

/// The matrix product.
pub fn matmul<T: Element>(blocks: Blocks, precision: InputPrecision) -> Kernel {
    Kernel::new("matmul_kernel", |k| {
        let (a_ptr, b_ptr, c_ptr) = (k.ptr::<T>("a_ptr"), k.ptr::<T>("b_ptr"), k.ptr::<T>("c_ptr"));
        let [m, n, depth] = ["M", "N", "K"].map(|name| k.scalar::<i32>(name));
        let [stride_am, stride_ak] = ["stride_am", "stride_ak"].map(|name| k.scalar::<i32>(name));
        let [stride_bk, stride_bn] = ["stride_bk", "stride_bn"].map(|name| k.scalar::<i32>(name));
        let [stride_cm, stride_cn] = ["stride_cm", "stride_cn"].map(|name| k.scalar::<i32>(name));

        let (tiles_m, tiles_n) = (m.cdiv(blocks.m), n.cdiv(blocks.n));
        let (tile_m, tile_n) = tile_of(k.program_id(0), tiles_m, tiles_n, blocks.group_m);
        let rows = (tile_m * blocks.m + k.arange(0, blocks.m)).col();
        let cols = (tile_n * blocks.n + k.arange(0, blocks.n)).row();
        let ks = k.arange(0, blocks.k);
        let a_ptrs = a_ptr + rows * stride_am + ks.row() * stride_ak;
        let b_ptrs = b_ptr + ks.col() * stride_bk + cols * stride_bn;

        let acc = k.zeros([blocks.m, blocks.n], F32);
        let carried = (a_ptrs, b_ptrs, acc);
        let (_, _, acc) = k.for_range(0, depth, blocks.k, carried, |first, (a_ptrs, b_ptrs, acc)| {
            let left = depth - first;
            let a = k.load(a_ptrs, rows.lt(m) & ks.row().lt(left), 0);
            let b = k.load(b_ptrs, ks.col().lt(left) & cols.lt(n), 0);
            let acc = k.dot_with(a, b, acc, precision);
            (a_ptrs + blocks.k * stride_ak, b_ptrs + blocks.k * stride_bk, acc)
        });

        let c_ptrs = c_ptr + rows * stride_cm + cols * stride_cn;
        k.store(c_ptrs, acc, rows.lt(m) & cols.lt(n));
    })
}
