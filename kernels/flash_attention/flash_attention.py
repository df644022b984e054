"""Causal attention, forward: softmax(scale * Q @ K^T) @ V without ever holding the T x T scores.

Each program keeps BLOCK_M queries and walks over the keys up to its last query, with the online softmax in base 2.
Tensors are [batch, head, time, HEAD_DIM] with any strides but a contiguous last axis, the same for all four.
Also writes the base-2 logarithm of each row's sum, [batch, head, time], that a backward pass needs.
"""
import triton
import triton.language as tl


@triton.jit
def flash_attention_kernel(q_ptr, k_ptr, v_ptr, output_ptr, lse_ptr, scale, n_heads, n_ctx,
                           stride_batch, stride_head, stride_time,
                           HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                           INPUT_PRECISION: tl.constexpr):
    first_query = tl.program_id(axis=0) * BLOCK_M
    batch_head = tl.program_id(axis=1)
    base = (batch_head // n_heads).to(tl.int64) * stride_batch + (batch_head % n_heads).to(tl.int64) * stride_head
    queries = first_query + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, HEAD_DIM)
    q_offsets = base + queries[:, None] * stride_time + dims[None, :]
    q = tl.load(q_ptr + q_offsets, mask=queries[:, None] < n_ctx, other=0.0)

    row_max = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    row_sum = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    scale_log2 = scale * 1.4426950408889634  # log2(e): exp(x) == exp2(x * log2(e))
    for first_key in range(0, tl.minimum(first_query + BLOCK_M, n_ctx), BLOCK_N):
        keys = first_key + tl.arange(0, BLOCK_N)
        kv_offsets = base + keys[:, None] * stride_time + dims[None, :]
        k = tl.load(k_ptr + kv_offsets, mask=keys[:, None] < n_ctx, other=0.0)
        v = tl.load(v_ptr + kv_offsets, mask=keys[:, None] < n_ctx, other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision=INPUT_PRECISION) * scale_log2
        # Key 0 is visible to every query, so row_max is finite after the first step. Keys past n_ctx are later than
        # every query that is stored.
        scores = tl.where(keys[None, :] <= queries[:, None], scores, -float("inf"))
        new_max = tl.maximum(row_max, tl.max(scores, axis=1))
        p = tl.exp2(scores - new_max[:, None])
        shrink = tl.exp2(row_max - new_max)
        row_sum = row_sum * shrink + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * shrink[:, None], input_precision=INPUT_PRECISION)
        row_max = new_max

    tl.store(output_ptr + q_offsets, acc / row_sum[:, None], mask=queries[:, None] < n_ctx)
    tl.store(lse_ptr + batch_head * n_ctx + queries, row_max + tl.log2(row_sum), mask=queries < n_ctx)
