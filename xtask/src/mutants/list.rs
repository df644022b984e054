//! The planted faults: what to change in a kernel of `kernels/`, and what kind of mistake that is.
//!
//! Each is a mistake that people make, and none leaves the kernel right for every launch in the ranges of its file: a
//! change that only looks wrong (a stride of one forgotten, a mask that another one implies) proves nothing. Kinds name
//! the mistake, so that the score can be read by kind.

use super::Mutant;
use super::Place::{Kernel, Launch};

/// A change in the text of the kernel.
const fn kernel(launch: &'static str, kind: &'static str, find: &'static str, put: &'static str) -> Mutant {
    Mutant {
        launch,
        kind,
        place: Kernel,
        nth: 1,
        find,
        put,
    }
}

/// A change where the text occurs for the `nth` time.
const fn nth(mutant: Mutant, nth: usize) -> Mutant {
    Mutant { nth, ..mutant }
}

/// A change in the launch file: what the host computes.
const fn launch(launch: &'static str, kind: &'static str, find: &'static str, put: &'static str) -> Mutant {
    Mutant {
        launch,
        kind,
        place: Launch,
        nth: 1,
        find,
        put,
    }
}

const MASK: &str = "mask dropped";
const BOUND: &str = "comparison off by one";
const STRIDE: &str = "wrong stride";
const MAX: &str = "maximum not subtracted";
const TYPE: &str = "wrong accumulator type";
const OTHER: &str = "wrong padding value";
const TAIL: &str = "last block of a loop missing";
const GRID: &str = "wrong number of programs";
const AXES: &str = "axes swapped";
const SCALE: &str = "factor or term lost";
const CARRY: &str = "loop carries the wrong value";
const OPERAND: &str = "wrong operand";
const SYNC: &str = "atomic lost";
const BLOCK: &str = "block too small";

/// All of them.
#[rustfmt::skip]
pub const MUTANTS: &[Mutant] = &[
    kernel("vector_add", MASK, "x + y, mask=mask)", "x + y)"),
    kernel("vector_add", MASK, "y = tl.load(y_ptr + offsets, mask=mask)", "y = tl.load(y_ptr + offsets)"),
    kernel("vector_add", BOUND, "offsets < n_elements", "offsets <= n_elements"),
    kernel("vector_add-f16", BOUND, "offsets < n_elements", "offsets < n_elements - 1"),
    kernel("vector_add", OPERAND, "x + y", "x + x"),
    kernel("vector_add-bf16", STRIDE, "pid * BLOCK_SIZE", "pid * (BLOCK_SIZE - 1)"),
    launch("vector_add", GRID, "cdiv(n_elements, BLOCK_SIZE)", "n_elements // BLOCK_SIZE"),

    kernel("softmax", MAX, "tl.exp(x - tl.max(x, axis=0))", "tl.exp(x)"),
    kernel("softmax", OTHER, "other=-float(\"inf\")", "other=0.0"),
    kernel("softmax", BOUND, "cols < n_cols", "cols <= n_cols"),
    kernel("softmax", STRIDE, "row * output_row_stride", "row * input_row_stride"),
    kernel("softmax-f16", STRIDE, "row * input_row_stride", "row * output_row_stride"),
    kernel("softmax", MASK, ", mask=mask, other=-float(\"inf\"))", ")"),
    kernel("softmax-bf16", MASK, "y, mask=mask)", "y)"),
    // Without the first `.to(tl.float32)` nothing changes: `tl.max` gives float32 anyway, and all that follows is computed in it.
    kernel("softmax-f16", TYPE, "tl.exp(x - tl.max(x, axis=0))", "tl.exp(x - tl.max(x, axis=0)).to(tl.float16)"),
    kernel("softmax", OPERAND, "tl.sum(numerator, axis=0)", "tl.max(numerator, axis=0)"),
    launch("softmax", BLOCK, "BLOCK_SIZE = 1024", "BLOCK_SIZE = 512"),
    launch("softmax", GRID, "grid   = [\"n_rows\"]", "grid   = [\"n_rows - 1\"]"),

    kernel("softmax_looped", CARRY, "row_sum * tl.exp(row_max - new_max) + ", "row_sum + "),
    kernel("softmax_looped", OTHER, "mask=cols < n_cols, other=-float(\"inf\")", "mask=cols < n_cols, other=0.0"),
    kernel("softmax_looped", TAIL, "range(0, n_cols, BLOCK_SIZE)", "range(0, n_cols - BLOCK_SIZE + 1, BLOCK_SIZE)"),
    nth(kernel("softmax_looped", TAIL, "range(0, n_cols, BLOCK_SIZE)", "range(0, n_cols - BLOCK_SIZE + 1, BLOCK_SIZE)"), 2),
    kernel("softmax_looped", MAX, "tl.maximum(row_max, tl.max(x, axis=0))", "tl.max(x, axis=0)"),
    kernel("softmax_looped-f16", MAX, "tl.exp(x - row_max) / row_sum", "tl.exp(x) / row_sum"),
    kernel("softmax_looped-bf16", CARRY, "        row_max = new_max\n", ""),

    kernel("cross_entropy", OTHER, "other=-float(\"inf\")", "other=0.0"),
    kernel("cross_entropy", SCALE, "row_max + tl.log(row_sum)", "tl.log(row_sum)"),
    kernel("cross_entropy", CARRY, "row_sum * tl.exp(row_max - new_max) + ", "row_sum + "),
    kernel("cross_entropy-f16", STRIDE, "tl.load(targets_ptr + row)", "tl.load(targets_ptr)"),
    kernel("cross_entropy", TAIL, "range(0, n_cols, BLOCK_SIZE)", "range(0, n_cols // BLOCK_SIZE * BLOCK_SIZE, BLOCK_SIZE)"),
    kernel("cross_entropy-bf16", MASK, ", mask=cols < n_cols, other=-float(\"inf\")", ""),

    kernel("cumsum", CARRY, "carry + tl.cumsum", "tl.cumsum"),
    kernel("cumsum", CARRY, "carry += tl.sum", "carry = tl.sum"),
    kernel("cumsum", BOUND, "cols < n_cols", "cols <= n_cols"),
    kernel("cumsum-f16", STRIDE, "y_ptr + row * row_stride", "y_ptr + row * BLOCK_SIZE"),
    kernel("cumsum-bf16", TYPE, ".to(tl.float32)", ""),
    kernel("cumsum", OPERAND, "tl.cumsum(x, axis=0)", "tl.cumsum(x, axis=0, reverse=True)"),

    kernel("layer_norm", MASK, "tl.where(mask, x - mean, 0.0)", "x - mean"),
    kernel("layer_norm", SCALE, "tl.sum(total, axis=0) / n_cols", "tl.sum(total, axis=0) / BLOCK_SIZE"),
    kernel("layer_norm", SCALE, " + eps)", ")"),
    kernel("layer_norm", SCALE, " + bias, mask", ", mask"),
    kernel("layer_norm", AXES, "tl.store(mean_ptr + row, mean)\n    tl.store(rstd_ptr + row, rstd)", "tl.store(mean_ptr + row, rstd)\n    tl.store(rstd_ptr + row, mean)"),
    kernel("layer_norm-f16", MASK, "tl.load(x_row + cols, mask=cols < n_cols, other=0.0)", "tl.load(x_row + cols)"),
    kernel("layer_norm-f16", TYPE, "dtype=tl.float32)\n    for start in range(0, n_cols, BLOCK_SIZE):\n        cols = start + tl.arange(0, BLOCK_SIZE)\n        total += tl.load(x_row + cols, mask=cols < n_cols, other=0.0).to(tl.float32)", "dtype=tl.float16)\n    for start in range(0, n_cols, BLOCK_SIZE):\n        cols = start + tl.arange(0, BLOCK_SIZE)\n        total += tl.load(x_row + cols, mask=cols < n_cols, other=0.0)"),
    nth(kernel("layer_norm-bf16", TAIL, "range(0, n_cols, BLOCK_SIZE)", "range(0, n_cols - BLOCK_SIZE + 1, BLOCK_SIZE)"), 3),
    kernel("layer_norm", OPERAND, "squares += deviation * deviation", "squares += tl.abs(deviation)"),

    kernel("matmul", MASK, "(rows[:, None] < M) & (ks[None, :] < K - k)", "rows[:, None] < M"),
    kernel("matmul-f16", MASK, "(ks[:, None] < K - k) & (cols[None, :] < N)", "cols[None, :] < N"),
    kernel("matmul", BOUND, "ks[None, :] < K - k", "ks[None, :] <= K - k"),
    kernel("matmul", STRIDE, "rows[:, None] * stride_am", "rows[:, None] * stride_cm"),
    kernel("matmul", STRIDE, "b_ptrs += BLOCK_K * stride_bk", "b_ptrs += BLOCK_K * stride_ak"),
    kernel("matmul-f16", TYPE, "acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)", "acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float16)"),
    kernel("matmul", TAIL, "range(0, K, BLOCK_K)", "range(0, K - BLOCK_K + 1, BLOCK_K)"),
    kernel("matmul", GRID, "min(tiles_m - first_m, GROUP_M)", "GROUP_M"),
    kernel("matmul-bf16", AXES, "first_m + pid_in_group % group_m, pid_in_group // group_m", "first_m + pid_in_group // group_m, pid_in_group % group_m"),
    kernel("matmul", AXES, "mask=(rows[:, None] < M) & (cols[None, :] < N)", "mask=(rows[:, None] < N) & (cols[None, :] < M)"),
    kernel("matmul", GRID, "tl.cdiv(N, BLOCK_N)", "N // BLOCK_N"),
    kernel("matmul-tf32", CARRY, "acc = tl.dot(a, b, acc, ", "acc = tl.dot(a, b, "),
    launch("matmul", GRID, "cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)", "cdiv(M * N, BLOCK_M * BLOCK_N)"),

    kernel("transpose", STRIDE, "rows[:, None] * n_cols", "rows[:, None] * n_rows"),
    kernel("transpose", AXES, "(cols[:, None] < n_cols) & (rows[None, :] < n_rows)", "(cols[:, None] < n_rows) & (rows[None, :] < n_cols)"),
    kernel("transpose-f16", AXES, "tl.program_id(axis=0) * BLOCK_M", "tl.program_id(axis=1) * BLOCK_M"),
    kernel("transpose-bf16", MASK, ",\n                mask=(rows[:, None] < n_rows) & (cols[None, :] < n_cols))", ")"),

    kernel("rms_norm", OTHER, "cols, mask=mask, other=0.0).to(tl.float32)\n    weight", "cols, mask=mask).to(tl.float32)\n    weight"),
    kernel("rms_norm", SCALE, "/ n_cols", "/ BLOCK_SIZE"),
    kernel("rms_norm", SCALE, "mean_square + eps", "mean_square"),
    kernel("rms_norm-f16", TYPE, "x = tl.load(x_ptr + row * row_stride + cols, mask=mask, other=0.0).to(tl.float32)", "x = tl.load(x_ptr + row * row_stride + cols, mask=mask, other=0.0)"),
    kernel("rms_norm", OTHER, "cols, mask=mask, other=0.0).to(tl.float32)\n    weight", "cols, mask=mask, other=1.0).to(tl.float32)\n    weight"),

    kernel("dropout", SCALE, "x / (1 - p)", "x"),
    kernel("dropout", OPERAND, "tl.rand(seed, offsets)", "tl.rand(seed, tl.arange(0, BLOCK_SIZE))"),
    kernel("dropout-f16", MASK, "0.0), mask=mask)", "0.0))"),
    kernel("dropout", OPERAND, "> p", "< p"),

    kernel("histogram", OTHER, "other=-1", "other=0"),
    kernel("histogram", MASK, "(bins >= 0) & (bins < n_bins)", "bins < n_bins"),
    kernel("histogram", BOUND, "bins < n_bins", "bins <= n_bins"),
    kernel("histogram", SYNC, "tl.atomic_add(counts_ptr + bins, 1, mask=(bins >= 0) & (bins < n_bins), sem=\"relaxed\")", "known = (bins >= 0) & (bins < n_bins)\n    tl.store(counts_ptr + bins, tl.load(counts_ptr + bins, mask=known, other=0) + 1, mask=known)"),

    kernel("flash_attention", BOUND, "keys[None, :] <= queries[:, None]", "keys[None, :] < queries[:, None]"),
    kernel("flash_attention", MASK, "tl.where(keys[None, :] <= queries[:, None], scores, -float(\"inf\"))", "scores"),
    kernel("flash_attention", MASK, "v = tl.load(v_ptr + kv_offsets, mask=keys[:, None] < n_ctx, other=0.0)", "v = tl.load(v_ptr + kv_offsets)"),
    kernel("flash_attention", SCALE, "scale * 1.4426950408889634", "1.4426950408889634"),
    kernel("flash_attention-f16", CARRY, "acc * shrink[:, None]", "acc"),
    kernel("flash_attention", CARRY, "row_sum * shrink + ", "row_sum + "),
    kernel("flash_attention", TAIL, "tl.minimum(first_query + BLOCK_M, n_ctx)", "tl.minimum(first_query + BLOCK_M, n_ctx - BLOCK_N + 1)"),
    kernel("flash_attention", STRIDE, "(batch_head // n_heads).to(tl.int64) * stride_batch + (batch_head % n_heads)", "(batch_head % n_heads).to(tl.int64) * stride_batch + (batch_head // n_heads)"),
    kernel("flash_attention", OPERAND, "tl.log2(row_sum)", "tl.log(row_sum)"),
    kernel("flash_attention-bf16", MAX, "scores - new_max[:, None]", "scores"),

    kernel("bias_gelu", STRIDE, "offsets % n_cols", "offsets % BLOCK_SIZE"),
    kernel("bias_gelu", SCALE, "scale * y", "y"),
    kernel("bias_gelu-tanh", SCALE, "0.044715 * x * x * x", "0.044715 * x * x"),
    kernel("bias_gelu-f16", MASK, "tl.load(bias_ptr + offsets % n_cols, mask=mask)", "tl.load(bias_ptr + offsets)"),
    launch("bias_gelu", OPERAND, "TANH       = \"false\"", "TANH       = \"true\""),
    kernel("bias_gelu-tanh-bf16", BOUND, "offsets < n_elements", "offsets <= n_elements"),
];
