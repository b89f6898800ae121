"""Small kernels of this project's own, which Triton compiles for the tests (remake.py)."""

import triton
import triton.language as tl


@triton.jit
def scale_add(x, y, out, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, a * tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def row_softmax(x, out, columns, BLOCK: tl.constexpr):
    """A block to a row: its maximum and its sum go through shared memory."""
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def gemm(a, b, c, n, k, TILE: tl.constexpr, STEP: tl.constexpr):
    """c = a b in f16: copies ahead of the products, one tile a block."""
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inner = tl.arange(0, STEP)
    from_a = a + rows[:, None] * k + inner[None, :]
    from_b = b + inner[:, None] * n + columns[None, :]
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for _ in range(0, k, STEP):
        total = tl.dot(tl.load(from_a), tl.load(from_b), total)
        from_a += STEP
        from_b += STEP * n
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@triton.jit
def described_gemm(a, b, c, n, k, TILE: tl.constexpr, STEP: tl.constexpr):
    """The same through tensor descriptors, which Hopper copies itself."""
    row, column = tl.program_id(0) * TILE, tl.program_id(1) * TILE
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for i in range(0, k, STEP):
        total = tl.dot(a.load([row, i]), b.load([i, column]), total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def locked_sum(x, total, lock, BLOCK: tl.constexpr):
    """Blocks add their rows to one, each while it holds a lock."""
    i = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * BLOCK + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total + i, tl.load(total + i) + value)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def running_sum(x, out, ends, BLOCK: tl.constexpr):
    """A scan over a block, and how many of its elements are below zero."""
    i = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * BLOCK + i)
    tl.store(out + tl.program_id(0) * BLOCK + i, tl.cumsum(value, axis=0))
    tl.atomic_add(ends, tl.sum((value < 0).to(tl.int32), axis=0))


@triton.jit
def transpose(x, out, SIZE: tl.constexpr):
    """Through shared memory, so that loads and stores are both of whole lines."""
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    tl.store(out + i * SIZE + j, tl.trans(tl.load(x + i * SIZE + j)))
