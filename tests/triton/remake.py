#!/usr/bin/env python3
"""Makes the launches beside this file anew: what Triton emits for kernels.py, held against NumPy.

    FA_TUNE_PROGRAM=build/dev/tools/fa-tune python3 tests/triton/remake.py

Needs Triton 3.5 and NumPy. The usual tests need neither: they run the launches, whose buffers are
filled from seeds, and compare what `fa-tune emulate` prints with expected.txt.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # half of the text
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools" / "python")]

import kernels  # noqa: E402
import numpy as np  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

import fa_tune  # noqa: E402
from fa_tune import _run  # noqa: E402


def integers(shape, dtype="f4", low=-3, high=3):
    """Whole numbers, whose sums have one result in every order."""
    array = np.empty(shape, dtype)
    fills[id(array)] = f"integers:{len(fills)}:{low}:{high}"
    return array


def scale_add():
    n = 1000
    x, y, out = integers(n), integers(n), np.empty(n, "f4")
    yield lambda: kernels.scale_add[(4,)](x, y, out, 2.5, n, BLOCK=256)
    yield out, np.float32(2.5) * x + y


def row_softmax():
    x, out = integers((3, 500)), np.empty((3, 500), "f4")
    yield lambda: kernels.row_softmax[(3,)](x, out, 500, BLOCK=512)
    e = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    yield out, e / e.sum(axis=1, keepdims=True)


def gemm(tile=32, step=32, n=64, k=160, warps=4, described=False):
    a, b, c = integers((n, k), "f2"), integers((k, n), "f2"), np.empty((n, n), "f2")
    kernel, given = kernels.gemm, [a, b, c]
    if described:
        kernel = kernels.described_gemm
        given = [
            TensorDescriptor(fa_tune.Array(t), list(t.shape), [t.shape[1], 1], box)
            for t, box in zip(given, ([tile, step], [step, tile], [tile, tile]))
        ]
    grid = (n // tile, n // tile)
    yield lambda: kernel[grid](*given, n, k, TILE=tile, STEP=step, num_warps=warps, num_stages=3)
    yield c, a.astype("f8") @ b.astype("f8")


def described_gemm():
    return gemm(tile=64, step=32, n=64, k=128, described=True)


def locked_sum():
    x, total, lock = integers((6, 256)), np.zeros(256, "f4"), np.zeros(1, "i4")
    yield lambda: kernels.locked_sum[(6,)](x, total, lock, BLOCK=256)
    yield total, x.sum(axis=0)


def running_sum():
    x, out, below = integers((2, 512)), np.empty((2, 512), "f4"), np.zeros(1, "i4")
    yield lambda: kernels.running_sum[(2,)](x, out, below, BLOCK=512)
    yield out, np.cumsum(x, axis=1)
    yield below, (x < 0).sum()


def transpose():
    x, out = integers((32, 32)), np.empty((32, 32), "f4")
    yield lambda: kernels.transpose[(1,)](x, out, SIZE=32)
    yield out, x.T


LAUNCHES = [
    (scale_add, "sm_80"),
    (row_softmax, "sm_80"),
    (gemm, "sm_80"),
    (transpose, "sm_89"),
    (running_sum, "sm_89"),
    (locked_sum, "sm_90"),
    (described_gemm, "sm_90"),
]
fills = {}


def bytes_of(dtype, shape, fill):
    """What the program fills a buffer with."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "none.ptx").write_text(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n"
        )
        buffer = {"dtype": dtype, "shape": shape, "fill": fill, "save": "x.npy"}
        launch = {"file": "none.ptx", "block": [1], "buffers": {"x": buffer}, "args": [{"buffer": "x"}]}
        (folder / "fill.json").write_text(json.dumps(launch))
        _run.checked(["emulate", folder / "fill.json"])
        return np.load(folder / "x.npy")


def small(launch, record, arrays):
    """The launch with its buffers filled from seeds, and without what it says by default."""
    for name, buffer in launch["buffers"].items():
        fill = next((f for a, f in arrays if a.ctypes.data == record.memories[name].address), None)
        buffer.pop("save")
        buffer.pop("fill", None)
        if fill is None:
            buffer["save"] = f"{name}.npy"
        if fill is not None or name in ("total", "lock", "ends"):
            buffer["fill"] = fill or "zeros"
    return {key: value for key, value in launch.items() if value not in ([1, 1, 1], 0, False, [])}


def make(name, arch, folder):
    fills.clear()
    made = name()
    start = next(made)
    frame = made.gi_frame.f_locals
    arrays = [(a, fills[id(a)]) for a in frame.values() if isinstance(a, np.ndarray) and id(a) in fills]
    for array, fill in arrays:
        array[...] = bytes_of({"f4": "f32", "f2": "f16"}[array.dtype.str[1:]], list(array.shape), fill)
    with fa_tune.record_triton(folder, arch) as launches:
        start()
    for got, want in made:
        np.testing.assert_allclose(got, want, rtol=1e-5)
    stem = f"{name.__name__}_{arch}"
    launch = json.loads(launches.files[0].read_text())
    ptx = (folder / launch["file"]).read_text()
    ptx = re.sub(r"^\s*(//.*)?\n", "", re.sub(r"\s*//.*", "", ptx), flags=re.M)
    (HERE / f"{stem}.ptx").write_text(ptx)
    launch["file"] = f"{stem}.ptx"
    launch = small(launch, launches.last, arrays)
    text = json.dumps(launch)
    (HERE / f"{stem}.json").write_text(re.sub(r'(, )("(?:grid|buffers|args)")', r",\n \2", text) + "\n")


def main():
    for name, arch in LAUNCHES:
        with tempfile.TemporaryDirectory() as folder:
            make(name, arch, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        for file in [*HERE.glob("*.json"), *HERE.glob("*.ptx")]:
            (Path(folder) / file.name).write_bytes(file.read_bytes())
        (HERE / "expected.txt").write_text(_run.checked(["emulate", folder]))


if __name__ == "__main__":
    main()
