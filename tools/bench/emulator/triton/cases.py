"""Launches of the tutorials' kernels on small arrays, and what NumPy says of the same.

Each case is called with the module of its kernels and the architecture, inside of
fa_tune.record_triton, and returns the largest error beside the one that is allowed.
"""

import numpy as np

from fa_tune import Array


def _error(got, want, allowed):
    return float(np.max(np.abs(got.astype("f8") - want.astype("f8")))), allowed


def _random(shape, dtype="f4", seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def vector_add(kernels, arch):
    n = 3000
    x, y, out = _random(n), _random(n, seed=2), np.empty(n, "f4")
    kernels.add_kernel[lambda meta: (-(-n // meta["BLOCK_SIZE"]),)](x, y, out, n, BLOCK_SIZE=1024)
    return _error(out, x + y, 0)


def softmax(kernels, arch):
    rows, columns = 23, 781
    x, out = _random((rows, columns)), np.empty((rows, columns), "f4")
    kernels.softmax_kernel[(8,)](
        out, x, columns, columns, rows, columns, BLOCK_SIZE=1024, num_stages=4, num_warps=8
    )
    e = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    return _error(out, e / e.sum(axis=1, keepdims=True), 1e-6)


def matmul(kernels, arch, m=128, n=128, k=160, dtype="f2", **config):
    a, b = _random((m, k), dtype), _random((k, n), dtype, seed=2)
    c = np.empty((m, n), "f2")
    config = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, **config}
    grid = (-(-m // config["BLOCK_SIZE_M"]) * -(-n // config["BLOCK_SIZE_N"]),)
    config = {"GROUP_SIZE_M": 8, "num_stages": 3, "num_warps": 4, "ACTIVATION": "", **config}
    kernels.matmul_kernel[grid](a, b, c, m, n, k, k, 1, n, 1, n, 1, **config)
    want = a.astype("f8") @ b.astype("f8")
    if config["ACTIVATION"] == "leaky_relu":
        want = np.where(want >= 0, want, 0.01 * want)
    return _error(c, want, 0.04)


def matmul_edges(kernels, arch):
    return matmul(kernels, arch, m=100, n=90, k=70, ACTIVATION="leaky_relu", num_warps=2)


def matmul_wide(kernels, arch):
    return matmul(kernels, arch, m=128, n=256, k=128, BLOCK_SIZE_M=128, BLOCK_SIZE_N=256,
                  BLOCK_SIZE_K=64, num_warps=8)  # fmt: skip


def matmul_f32(kernels, arch):
    return matmul(kernels, arch, m=64, n=64, k=64, dtype="f4")


def dropout(kernels, arch):
    n, p = 1000, 0.5
    x, out = _random(n), np.empty(n, "f4")
    keep = (_random(n, seed=2) > 0).astype("i4")
    kernels._dropout[(1,)](x, keep, out, n, p, BLOCK_SIZE=1024)
    return _error(out, np.where(keep, x / (1 - p), 0), 0)


def _philox(seed, offsets):
    """Triton's tl.rand: Philox4x32-10 (Salmon and others, 2011), the first word as [0, 1)."""
    c = [offsets.astype("u8"), *np.zeros((3, len(offsets)), "u8")]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xCD9E8D57) * c[2], np.uint64(0xD2511F53) * c[0]
        c = [a >> np.uint64(32) ^ c[1] ^ key[0], a & low, b >> np.uint64(32) ^ c[3] ^ key[1], b & low]
        key = [(key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low]
    word = c[0].astype("u4").view("i4").astype("i8")
    return np.where(word < 0, -word - 1, word).astype("f4") * np.float32(4.6566127342e-10)


def seeded_dropout(kernels, arch):
    n, p, seed = 1000, 0.5, 123
    x, out = _random(n), np.empty(n, "f4")
    kernels._seeded_dropout[(1,)](x, out, n, p, seed, BLOCK_SIZE=1024)
    keep = _philox(seed, np.arange(n)) > p
    return _error(out, np.where(keep, x / (1 - p), 0), 0)


def layer_norm(kernels, arch):
    """Forward, backward, and the sum of the partial gradients."""
    m, n, groups = 12, 300, 4
    x, dy = (_random((m, n), "f2") * 0.5 - 2.3).astype("f2"), (0.1 * _random((m, n), seed=2)).astype("f2")
    w, b = _random(n, "f2", seed=3), _random(n, "f2", seed=4)
    y, mean, rstd = np.empty((m, n), "f2"), np.empty(m, "f4"), np.empty(m, "f4")
    kernels._layer_norm_fwd_fused[(m,)](
        x, y, w, b, mean, rstd, n, n, 1e-5, BLOCK_SIZE=512, num_warps=2, num_ctas=1
    )
    x8, w8, dy8 = x.astype("f8"), w.astype("f8"), dy.astype("f8")
    center = x8 - x8.mean(axis=1, keepdims=True)
    deviation = np.sqrt((center**2).mean(axis=1, keepdims=True) + 1e-5)
    hat = center / deviation
    worst = _error(y, hat * w8 + b.astype("f8"), 0.01)[0]
    dx, locks = np.empty((m, n), "f2"), np.zeros(2 * groups, "i4")
    dw, db = np.zeros((groups, n), "f2"), np.zeros((groups, n), "f2")
    final_dw, final_db = np.empty(n, "f2"), np.empty(n, "f2")
    kernels._layer_norm_bwd_dx_fused[(m,)](
        dx, dy, dw, db, x, w, mean, rstd, locks, n, n, BLOCK_SIZE_N=512, GROUP_SIZE_M=groups, num_warps=2
    )
    kernels._layer_norm_bwd_dwdb[(-(-n // 128),)](
        dw, db, final_dw, final_db, groups, n, BLOCK_SIZE_M=32, BLOCK_SIZE_N=128, num_ctas=1
    )
    wdy = w8 * dy8
    c1, c2 = (hat * wdy).mean(axis=1, keepdims=True), wdy.mean(axis=1, keepdims=True)
    for got, want in ((dx, (wdy - (hat * c1 + c2)) / deviation), (final_db, dy8.sum(axis=0)),
                      (final_dw, (dy8 * hat).sum(axis=0))):  # fmt: skip
        worst = max(worst, _error(got, want, 0)[0])
    return worst, 0.01


def _attention(kernels, arch, causal, described, head=64):
    """`described`: tensor descriptors made by the host, as the tutorial has them from Hopper on."""
    z, h, length, block_m, block_n = 1, 2, 128, 64, 32
    shape = (z * h * length, head)
    q, k, v = (_random(shape, "f2", seed) for seed in (1, 2, 3))
    out, m = np.empty(shape, "f2"), np.empty((z * h, length), "f4")
    tensors = [q, k, v, out]
    if described:
        boxes = [block_m, block_n, block_n, block_m]
        tensors = [
            kernels.TensorDescriptor(Array(t), list(shape), [head, 1], [box, head])
            for t, box in zip(tensors, boxes)
        ]
    kernels._attn_fwd[(length // block_m, z * h, 1)](
        0.5, m, z, h, *tensors, length, HEAD_DIM=head, BLOCK_M=block_m, BLOCK_N=block_n, FP8_OUTPUT=False,
        STAGE=3 if causal else 1, warp_specialize=False, IS_HOPPER=arch == "sm_90", num_stages=3, num_warps=4,
    )  # fmt: skip
    q8, k8, v8 = (t.astype("f8").reshape(z * h, length, head) for t in (q, k, v))
    scores = 0.5 * q8 @ k8.transpose(0, 2, 1)
    if causal:
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    return _error(out.reshape(z * h, length, head), p / p.sum(axis=2, keepdims=True) @ v8, 0.01)


def attention(kernels, arch):
    return _attention(kernels, arch, False, arch == "sm_90")


def attention_causal(kernels, arch):
    return _attention(kernels, arch, True, arch == "sm_90")


def attention_device_descriptors(kernels, arch):
    return _attention(kernels, arch, True, False)


def grouped_gemm(kernels, arch):
    sizes = [(128, 64, 64), (64, 128, 96), (64, 64, 32)]
    a = [_random((m, k), "f2", i) for i, (m, n, k) in enumerate(sizes)]
    b = [_random((k, n), "f2", 10 + i) for i, (m, n, k) in enumerate(sizes)]
    c = [np.empty((m, n), "f2") for m, n, k in sizes]
    grouped_gemm.launches.reachable = [*a, *b, *c]
    addresses = [np.array([t.ctypes.data for t in group], "i8") for group in (a, b, c)]
    gemm_sizes = np.array(sizes, "i4").ravel()
    lds = np.array([(k, n, n) for m, n, k in sizes], "i4").ravel()
    kernels.grouped_matmul_kernel[(4,)](
        *addresses, gemm_sizes, lds, len(sizes), NUM_SM=4, BLOCK_SIZE_M=64, BLOCK_SIZE_N=64, BLOCK_SIZE_K=32
    )
    errors = [_error(z, x.astype("f8") @ y.astype("f8"), 0)[0] for x, y, z in zip(a, b, c)]
    return max(errors), 0.04


# The file of the tutorial, and what is launched of it.
CASES = {
    "01-vector-add": [vector_add],
    "02-fused-softmax": [softmax],
    "03-matrix-multiplication": [matmul, matmul_edges, matmul_wide, matmul_f32],
    "04-low-memory-dropout": [dropout, seeded_dropout],
    "05-layer-norm": [layer_norm],
    "06-fused-attention": [attention, attention_causal, attention_device_descriptors],
    "08-grouped-gemm": [grouped_gemm],
}
