"""The kernels that are timed on a GPU, by this tool and by Triton: memory-bound work in its usual form."""
import triton
import triton.language as tl


@triton.jit
def softmax_rows(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    m = c < n
    x = tl.load(x_ptr + row * stride + c, mask=m, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, axis=0)
    e = tl.exp(x)
    y = e / tl.sum(e, axis=0)
    tl.store(y_ptr + row * stride + c, y.to(y_ptr.dtype.element_ty), mask=m)


@triton.jit
def softmax_loop(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Two passes over the row in blocks: running max and rescaled sum per lane, then the result (second read hits L2)."""
    row = tl.program_id(0).to(tl.int64)
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        c = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=-60000.0).to(tl.float32)
        nm = tl.maximum(m, x)
        s = s * tl.exp(m - nm) + tl.exp(x - nm)
        m = nm
    top = tl.max(m, axis=0)
    inv = 1.0 / tl.sum(s * tl.exp(m - top), axis=0)
    for k in range(0, n, BLOCK):
        c = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0, eviction_policy="evict_first").to(tl.float32)
        tl.store(y_ptr + row * n + c, (tl.exp(x - top) * inv).to(y_ptr.dtype.element_ty), mask=c < n)


@triton.jit
def layernorm_rows(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    m = c < n
    x = tl.load(x_ptr + row * n + c, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(m, x - mean, 0.0)
    var = tl.sum(d * d, axis=0) / n
    r = tl.rsqrt(var + eps)
    w = tl.load(w_ptr + c, mask=m, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + c, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * n + c, (d * r * w + b).to(y_ptr.dtype.element_ty), mask=m)


@triton.jit
def rmsnorm_rows(x_ptr, w_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    m = c < n
    x = tl.load(x_ptr + row * n + c, mask=m, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(x * x, axis=0) / n + eps)
    w = tl.load(w_ptr + c, mask=m, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * n + c, (x * r * w).to(y_ptr.dtype.element_ty), mask=m)


@triton.jit
def bias_gelu_scale(x_ptr, b_ptr, y_ptr, n, scale, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = c < n
    x = tl.load(x_ptr + row * n + c, mask=m, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + c, mask=m, other=0.0).to(tl.float32)
    v = x + b
    g = 0.5 * v * (1.0 + tl.math.erf(v * 0.7071067811865476))
    tl.store(y_ptr + row * n + c, (g * scale).to(y_ptr.dtype.element_ty), mask=m)


@triton.jit
def vector_add(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(c_ptr + i, tl.load(a_ptr + i, mask=m) + tl.load(b_ptr + i, mask=m), mask=m)


@triton.jit
def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        c = k + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(acc, axis=0))


@triton.jit
def col_sum_part(x_ptr, part_ptr, rows, n, per, BM: tl.constexpr, BN: tl.constexpr):
    """Each program sums `per` rows of BN columns into one row of part."""
    cb = tl.program_id(0)
    rb = tl.program_id(1)
    c = cb * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    r0 = rb * per
    for k in range(0, per, BM):
        r = r0 + k + tl.arange(0, BM)
        p = x_ptr + r.to(tl.int64)[:, None] * n + c[None, :]
        acc += tl.load(p, mask=(r < rows)[:, None] & (c < n)[None, :], other=0.0)
    tl.store(part_ptr + rb * n + c, tl.sum(acc, axis=0), mask=c < n)


@triton.jit
def cross_entropy_rows(x_ptr, t_ptr, loss_ptr, n, BLOCK: tl.constexpr):
    """Running max and rescaled sum, one pass over the row."""
    row = tl.program_id(0).to(tl.int64)
    t = tl.load(t_ptr + row)
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        c = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=-60000.0).to(tl.float32)
        nm = tl.maximum(m, x)
        s = s * tl.exp(m - nm) + tl.exp(x - nm)
        m = nm
    top = tl.max(m, axis=0)
    tot = tl.sum(s * tl.exp(m - top), axis=0)
    xt = tl.load(x_ptr + row * n + t).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(tot) + top - xt)


@triton.jit
def cross_entropy_whole(x_ptr, t_ptr, loss_ptr, n, BLOCK: tl.constexpr):
    """The whole row in registers: one exponential per element."""
    row = tl.program_id(0).to(tl.int64)
    t = tl.load(t_ptr + row)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=-float("inf")).to(tl.float32)
    top = tl.max(x, axis=0)
    tot = tl.sum(tl.exp(x - top), axis=0)
    xt = tl.load(x_ptr + row * n + t).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(tot) + top - xt)


@triton.jit
def cumsum_rows(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row * n + c, tl.cumsum(x, axis=0), mask=c < n)


@triton.jit
def dropout_philox(x_ptr, y_ptr, n, p, scale, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m)
    keep = tl.rand(seed, i) > p
    tl.store(y_ptr + i, tl.where(keep, x * scale, 0.0), mask=m)


@triton.jit
def dropout_philox4(x_ptr, y_ptr, n, p, scale, seed, BLOCK: tl.constexpr):
    """One philox call gives four words: each program covers 4*BLOCK elements."""
    pid = tl.program_id(0)
    j = pid * BLOCK + tl.arange(0, BLOCK)
    r0, r1, r2, r3 = tl.rand4x(seed, j)
    base = pid * (4 * BLOCK) + tl.arange(0, BLOCK)
    i0 = base
    i1 = base + BLOCK
    i2 = base + 2 * BLOCK
    i3 = base + 3 * BLOCK
    x0 = tl.load(x_ptr + i0, mask=i0 < n)
    x1 = tl.load(x_ptr + i1, mask=i1 < n)
    x2 = tl.load(x_ptr + i2, mask=i2 < n)
    x3 = tl.load(x_ptr + i3, mask=i3 < n)
    tl.store(y_ptr + i0, tl.where(r0 > p, x0 * scale, 0.0), mask=i0 < n)
    tl.store(y_ptr + i1, tl.where(r1 > p, x1 * scale, 0.0), mask=i1 < n)
    tl.store(y_ptr + i2, tl.where(r2 > p, x2 * scale, 0.0), mask=i2 < n)
    tl.store(y_ptr + i3, tl.where(r3 > p, x3 * scale, 0.0), mask=i3 < n)


@triton.jit
def transpose_copy(x_ptr, y_ptr, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    m = (r < rows)[:, None] & (c < cols)[None, :]
    x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=m)
    tl.store(y_ptr + c[:, None] * rows + r[None, :], tl.trans(x), mask=tl.trans(m))


@triton.jit
def rope_half(x_ptr, cos_ptr, sin_ptr, y_ptr, seq, D: tl.constexpr, BN: tl.constexpr):
    """x[bh, n, D]: out_lo = lo*cos - hi*sin, out_hi = hi*cos + lo*sin (rotate-half layout)."""
    bh = tl.program_id(1).to(tl.int64)
    r = tl.program_id(0) * BN + tl.arange(0, BN)
    h = tl.arange(0, D // 2)
    m = (r < seq)[:, None]
    off = bh * seq * D + r[:, None] * D + h[None, :]
    lo = tl.load(x_ptr + off, mask=m).to(tl.float32)
    hi = tl.load(x_ptr + off + D // 2, mask=m).to(tl.float32)
    co = r[:, None] * (D // 2) + h[None, :]
    cs = tl.load(cos_ptr + co, mask=m)
    sn = tl.load(sin_ptr + co, mask=m)
    tl.store(y_ptr + off, (lo * cs - hi * sn).to(y_ptr.dtype.element_ty), mask=m)
    tl.store(y_ptr + off + D // 2, (hi * cs + lo * sn).to(y_ptr.dtype.element_ty), mask=m)
