"""The kernels of `cargo xtask bench`, timed on our interpreter and on Triton's own.

Plain tile programs of the usual kinds: streaming, row reductions, transcendental functions, tensor products,
atomics, scans, random numbers. `python kernels/compile.py xtask/bench` makes the TTIR beside them.
"""
import triton
import triton.language as tl


@triton.jit
def vadd_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = idx < n
    x = tl.load(x_ptr + idx, mask=live)
    y = tl.load(y_ptr + idx, mask=live)
    tl.store(out_ptr + idx, x + y, mask=live)


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK: tl.constexpr):
    first = tl.program_id(0)
    step = tl.num_programs(0)
    cols = tl.arange(0, BLOCK)
    live = cols < n_cols
    for row in tl.range(first, n_rows, step, num_stages=2):
        x = tl.load(in_ptr + row * in_stride + cols, mask=live, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + cols, e / tl.sum(e, axis=0), mask=live)


@triton.jit
def layernorm_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_row + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        d = tl.where(cols < n_cols, x - mean, 0.0)
        squares += d * d
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        live = cols < n_cols
        w = tl.load(w_ptr + cols, mask=live)
        b = tl.load(b_ptr + cols, mask=live)
        x = tl.load(x_row + cols, mask=live, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * stride + cols, (x - mean) * rstd * w + b, mask=live)


@triton.jit
def gelu_tanh_kernel(x_ptr, b_ptr, y_ptr, scale, n, n_cols, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = idx < n
    x = tl.load(x_ptr + idx, mask=live) + tl.load(b_ptr + idx % n_cols, mask=live)
    # 0.5 * (1 + tanh(u)) is the logistic function of 2 u.
    twice = 1.5957691216057308 * (x + 0.044715 * x * x * x)
    tl.store(y_ptr + idx, x / (1.0 + tl.exp(-twice)) * scale, mask=live)


@triton.jit
def gelu_erf_kernel(x_ptr, b_ptr, y_ptr, scale, n, n_cols, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = idx < n
    x = tl.load(x_ptr + idx, mask=live) + tl.load(b_ptr + idx % n_cols, mask=live)
    y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(y_ptr + idx, y * scale, mask=live)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # yapf: disable
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    # Groups of GROUP rows of tiles share the columns they read.
    first_m = pid // (GROUP * tiles_n) * GROUP
    rows = min(tiles_m - first_m, GROUP)
    tile_m = first_m + pid % (GROUP * tiles_n) % rows
    tile_n = pid % (GROUP * tiles_n) // rows
    rm = (tile_m * BM + tl.arange(0, BM)) % M
    rn = (tile_n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a_tile = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_tile = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = K - k * BK
        a = tl.load(a_tile, mask=rk[None, :] < left, other=0.0)
        b = tl.load(b_tile, mask=rk[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_tile += BK * stride_ak
        b_tile += BK * stride_bk
    om = tile_m * BM + tl.arange(0, BM)
    on = tile_n * BN + tl.arange(0, BN)
    live = (om[:, None] < M) & (on[None, :] < N)
    tl.store(c_ptr + om[:, None] * stride_cm + on[None, :] * stride_cn, acc.to(tl.float16), mask=live)


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, H, T, stride_z, stride_h, stride_t, stride_d,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # yapf: disable
    block = tl.program_id(0)
    zh = tl.program_id(1)
    base = (zh // H).to(tl.int64) * stride_z + (zh % H).to(tl.int64) * stride_h
    om = block * BM + tl.arange(0, BM)
    od = tl.arange(0, D)
    q = tl.load(q_ptr + base + om[:, None] * stride_t + od[None, :] * stride_d, mask=om[:, None] < T, other=0.0)
    m = tl.full([BM], -float("inf"), dtype=tl.float32)
    l = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    scale_log2 = scale * 1.4426950408889634
    end = T
    if CAUSAL:
        end = tl.minimum(T, (block + 1) * BM)
    for n0 in range(0, end, BN):
        on = n0 + tl.arange(0, BN)
        k = tl.load(k_ptr + base + on[None, :] * stride_t + od[:, None] * stride_d, mask=on[None, :] < T, other=0.0)
        s = tl.dot(q, k) * scale_log2
        seen = on[None, :] < T
        if CAUSAL:
            seen = seen & (on[None, :] <= om[:, None])
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        shrink = tl.exp2(m - m_new)
        l = l * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + base + on[:, None] * stride_t + od[None, :] * stride_d, mask=on[:, None] < T, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        m = m_new
    tl.store(lse_ptr + zh * T + om, m + tl.log2(l), mask=om < T)
    o = (acc / l[:, None]).to(tl.float16)
    tl.store(o_ptr + base + om[:, None] * stride_t + od[None, :] * stride_d, o, mask=om[:, None] < T)


@triton.jit
def hist_atomic_kernel(x_ptr, bins_ptr, n, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = idx < n
    x = tl.load(x_ptr + idx, mask=live, other=0)
    tl.atomic_add(bins_ptr + x, 1, mask=live)


@triton.jit
def hist_block_kernel(x_ptr, bins_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + idx)
    tl.atomic_add(bins_ptr + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def scan_assoc_kernel(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    live = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=live, other=0.0)
    tl.store(y_ptr + row * stride + cols, tl.associative_scan(x, 0, plus), mask=live)


@triton.jit
def scan_cumsum_kernel(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    live = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=live, other=0.0)
    tl.store(y_ptr + row * stride + cols, tl.cumsum(x, 0), mask=live)


@triton.jit
def dropout_kernel(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = idx < n
    x = tl.load(x_ptr + idx, mask=live)
    keep = tl.rand(seed, idx) > p
    tl.store(y_ptr + idx, tl.where(keep, x / (1 - p), 0.0), mask=live)


@triton.jit
def one_element_kernel(x_ptr, y_ptr):
    i = tl.program_id(0)
    tl.store(y_ptr + i, tl.load(x_ptr + i) + 1.0)
