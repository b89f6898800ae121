#!/usr/bin/env python3
"""The Python package on a GPU: prints a line for each check, and ends with 1 if one fails.

  tools/python/gpu_check.py [DEVICE]     77 where there is no GPU

PyTorch and CuPy are used where they are installed. FA_TUNE_PROGRAM names the program, if it is not
that of the installed wheel.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, List

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy  # noqa: E402

import fa_tune  # noqa: E402
from fa_tune.accuracy import AccuracyObserver  # noqa: E402
from fa_tune.observers.ncu import NCUObserver  # noqa: E402
from fa_tune.observers.nvml import NVMLObserver  # noqa: E402

SOURCE = """
__global__ void scale_add(float *c, const float *a, const float *b, int n) {
    for (int k = 0; k < per; ++k) {
        const int i = (blockIdx.x * per + k) * block_size_x + threadIdx.x;
        if (i < n) c[i] = 2.0f * a[i] + b[i];
    }
}
"""
# Its kernel reads and writes the arrays where they are, in the host's memory.
HOST = """
#include <cstdio>
__global__ void scale_add(float *c, const float *a, int n) {
    const int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) c[i] = 2.0f * a[i] + c[i];
}
float launch(float *c, const float *a, int n) {
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin);
    scale_add<<<grid_size_x, block_size_x>>>(c, a, n);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = -1;
    cudaEventElapsedTime(&ms, begin, end);
    if (const cudaError_t error = cudaGetLastError()) fprintf(stderr, "%s\\n", cudaGetErrorString(error));
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return ms;
}
"""
failures: List[str] = []


def check(what: str, function: Callable[[], Any]) -> None:
    began = time.perf_counter()
    try:
        said = function()
        print(f"ok      {what} ({time.perf_counter() - began:.1f} s) {said or ''}", flush=True)
    except Exception as error:  # every check runs
        failures.append(what)
        print(f"FAILED  {what}: {type(error).__name__}: {error}", flush=True)


def same(a: Any, b: Any, tolerance: float = 1e-6) -> None:
    if not numpy.allclose(a, b, atol=tolerance):
        raise AssertionError(f"differs by {numpy.max(numpy.abs(a - b))}")


def softmax_of(x: Any) -> Any:
    wide = x.astype(numpy.float64)
    powers = numpy.exp(wide - wide.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def winners(folder: Path, device: str) -> None:
    search = fa_tune.evolve("softmax", device=device, budget=24, db=folder / "fa.db", seed=1)
    print(f"        softmax: {search.best.time.median:.2f} us, {search.best.config}")
    kernel = search.best.compile()
    dims = kernel.tensors["x"]["dims"]
    x = numpy.random.default_rng(1).standard_normal(dims).astype(numpy.float16)
    expected = softmax_of(x)
    check("a winner takes NumPy", lambda: same(kernel(x).astype(float), expected, 2e-3))
    check("verify", lambda: _true(fa_tune.verify(search.best, device=device).passed))
    rows = fa_tune.best(folder / "fa.db")
    check("bench", lambda: fa_tune.bench(rows[-1], rows[0], device=device).verdict)
    try:
        import torch
    except ImportError:
        print("        no PyTorch here")
    else:
        on_gpu = torch.from_numpy(x).cuda()
        check(
            "a winner takes PyTorch",
            lambda: same(kernel(on_gpu).float().cpu().numpy(), expected, 2e-3),
        )
        check("on PyTorch's stream", lambda: _streams(torch, kernel, on_gpu, expected))
        check(
            "it is as fast as measured",
            lambda: _speed(torch, kernel, on_gpu, search.best.time.median),
        )
        check("a wrong dtype is refused", lambda: _refused(lambda: kernel(on_gpu.float())))
    try:
        import cupy
    except ImportError:
        print("        no CuPy here")
    else:
        check(
            "a winner takes CuPy",
            lambda: same(kernel(cupy.asarray(x)).get().astype(float), expected, 2e-3),
        )


def _true(value: bool) -> None:
    if not value:
        raise AssertionError("is false")


def _refused(function: Callable[[], Any]) -> None:
    try:
        function()
    except TypeError:
        return
    raise AssertionError("was taken")


def _streams(torch: Any, kernel: Any, x: Any, expected: Any) -> None:
    stream = torch.cuda.Stream()
    y = torch.empty_like(x)
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late = x + 0  # on this stream, after the sleep
        kernel(late, y=y)
    stream.synchronize()
    same(y.float().cpu().numpy(), expected, 2e-3)


def _speed(torch: Any, kernel: Any, x: Any, us: float) -> str:
    y = torch.empty_like(x)
    for _ in range(20):
        kernel(x, y=y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            kernel(x, y=y)
    graph.replay()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(10):
        graph.replay()
    end.record()
    end.synchronize()
    found = begin.elapsed_time(end)
    if found > 1.5 * us + 2:
        raise AssertionError(f"{found:.2f} us a launch in a graph, {us:.2f} us measured")
    return f"{found:.2f} us a launch in a graph, {us:.2f} us measured"


def kernel_tuners_way(device: str) -> None:
    drawn = numpy.random.default_rng(2)
    size = 1_000_000
    a, b = (drawn.standard_normal(size).astype(numpy.float32) for _ in range(2))
    c, n = numpy.zeros_like(a), numpy.int32(size)
    given = ("scale_add", SOURCE, size, [c, a, b, n])
    params = {"block_size_x": [64, 128, 256, 512], "per": [1, 2, 4]}
    options = {"grid_div_x": ["block_size_x", "per"], "device": device, "quiet": True}
    expected = 2 * a + b

    def tuned() -> str:
        rows, env = fa_tune.tune_kernel(
            *given, params, answer=[expected, None, None, None], **options
        )
        _true(len(rows) == 12 and env["time_kind"] == "measured")
        return f"{env['best_config']['time']:.5f} ms, {env['device_name']}"

    def checked() -> None:
        rows, _ = fa_tune.tune_kernel(
            *given,
            params,
            strategy="random_sample",
            strategy_options={"max_fevals": 3},
            answer=[expected, None, None, None],
            verify=lambda x, y, atol: numpy.allclose(x[0], y[0], atol=atol),
            **options,
        )
        _true(len(rows) == 3)

    def observed() -> str:
        rows, _ = fa_tune.tune_kernel(
            *given,
            {"block_size_x": [128, 256], "per": [2]},
            strategy_options={"finals": False},
            answer=[expected, None, None, None],
            observers=[AccuracyObserver("max"), NVMLObserver(["nvml_power", "temperature"])],
            **options,
        )
        _true(len(rows) == 2 and all(row["error"] < 1e-6 and row["nvml_power"] > 0 for row in rows))
        return f"{rows[0]['nvml_power']:.0f} W, {rows[0]['temperature']:.0f} degrees"

    check("tune_kernel", tuned)
    check("tune_kernel with observers", observed)
    check("tune_kernel with verify", checked)
    after = lambda: fa_tune.run_kernel(*given, {"block_size_x": 128, "per": 2}, **options)[
        0
    ]  # noqa: E731
    check("run_kernel", lambda: same(after(), expected))


def host_code(device: str) -> str:
    size = 1_000_000
    a = numpy.random.default_rng(3).standard_normal(size).astype(numpy.float32)
    rows, env = fa_tune.tune_kernel(
        "launch",
        HOST,
        size,
        [numpy.ones_like(a), a, numpy.int32(size)],
        {"block_size_x": [64, 128, 256]},
        lang="C",
        compiler_options=["-arch=sm_52"],
        answer=[2 * a + 1, None, None],
        device=device,
        verbose=True,
    )
    _true(len(rows) == 3 and env["time_kind"] == "measured")
    return f"{env['best_config']['time']:.4f} ms, {env['device_name']}"


def counters(device: str) -> str:
    a = numpy.ones(1_000_000, numpy.float32)
    rows, _ = fa_tune.tune_kernel(
        "scale_add",
        SOURCE,
        a.size,
        [a * 0, a, a, numpy.int32(a.size)],
        {"block_size_x": [128, 256], "per": [1]},
        strategy_options={"finals": False},
        observers=[NCUObserver(["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"])],
        device=device,
        quiet=True,
    )
    counted = [row["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] for row in rows]
    _true(counted == [a.size, a.size])
    return f"{counted[0]:.0f} instructions"


def main() -> int:
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda:0"
    try:
        _true(fa_tune.Driver.get().count() > 0)
    except (fa_tune.MachineError, AssertionError) as error:
        print(f"SKIPPED: {error}")
        return 77
    with tempfile.TemporaryDirectory() as name:
        check("searches", lambda: winners(Path(name), device))
    kernel_tuners_way(device)
    check("host code", lambda: host_code(device))
    if shutil.which("ncu") or os.environ.get("FA_TUNE_NCU"):
        check("counters of each config", lambda: counters(device))
    else:
        print("        no Nsight Compute here")
    print(f"{len(failures)} failed" if failures else "all passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
