#!/usr/bin/env python3
"""Times an exported attention kernel and every backend of PyTorch's SDPA in one process.

All are captured as CUDA graphs of the same number of launches and replayed in randomized blocks, each
with every contestant once, so that drift of clock or temperature meets all alike. A sample is a replay's
time divided by its launches. Inputs are N(0, 1), warm in L2 where they fit.

  tools/bench/sdpa.py winner.cu --out results.json        (needs PyTorch, nvcc and a GPU)
"""

import argparse
import ctypes
import datetime
import json
import math
import random
import re
import statistics
import subprocess
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

LAUNCHES = 100
BLOCKS = 200
BACKENDS = {
    "sdpa flash": SDPBackend.FLASH_ATTENTION,
    "sdpa cudnn": SDPBackend.CUDNN_ATTENTION,
    "sdpa efficient": SDPBackend.EFFICIENT_ATTENTION,
    "sdpa math": SDPBackend.MATH,
}


def read_export(path):
    """The JSON block of an exported file."""
    text = open(path).read()
    block = re.search(r"// fa-tune export 1 begin\n(.*?)// fa-tune export 1 end", text, re.S)
    lines = [line[2:].strip() for line in block.group(1).splitlines()]
    return json.loads("".join(lines))


class Driver:
    """The few driver calls a launch takes, in the context PyTorch made."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def check(self, code, what):
        if code != 0:
            raise RuntimeError(f"{what} failed with {code}")

    def function(self, cubin, name, shared):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.cuda.cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
        self.check(
            self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()),
            "cuModuleGetFunction",
        )
        # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.check(self.cuda.cuFuncSetAttribute(function, 8, shared), "cuFuncSetAttribute")
        return function

    def launch(self, function, grid, block, shared, arguments):
        pointers = (ctypes.c_void_p * len(arguments))(
            *[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in arguments]
        )
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(
            self.cuda.cuLaunchKernel(function, *grid, *block, shared, stream, pointers, None),
            "cuLaunchKernel",
        )


def compile_cubin(path):
    major, minor = torch.cuda.get_device_capability()
    with tempfile.NamedTemporaryFile(suffix=".cubin") as out:
        subprocess.run(
            ["nvcc", f"-arch=sm_{major}{minor}", "-cubin", "-std=c++17", "-o", out.name, path], check=True
        )
        return open(out.name, "rb").read()


def own_kernel(export, path, q, k, v, o):
    """A function that launches the exported kernel on these tensors."""
    driver = Driver()
    launch = export["launch"]
    function = driver.function(compile_cubin(path), export["kernel"], launch["dynamic_shared_bytes"])
    shape = export["shape"]
    values = {
        "Q": ctypes.c_uint64(q.data_ptr()),
        "K": ctypes.c_uint64(k.data_ptr()),
        "V": ctypes.c_uint64(v.data_ptr()),
        "O": ctypes.c_uint64(o.data_ptr()),
        "scale": ctypes.c_float(1 / math.sqrt(shape["D"])),
    }
    for name in ("B", "H", "Lq", "Lk"):
        values[name] = ctypes.c_int(shape[name])
    manifest = "\n".join(export["manifest"])
    names = re.search(r"^arguments: *\[(.*)\]", manifest, re.M).group(1).split(",")
    arguments = [values[name.strip()] for name in names]
    return lambda: driver.launch(
        function, launch["grid"], launch["block"], launch["dynamic_shared_bytes"], arguments
    )


def exact(q, k, v, causal):
    scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, -1) @ v.double()


def capture(call):
    """A graph of LAUNCHES calls, and what one call gave."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(LAUNCHES):
                result = call()
    return graph, stream, result


def replay(graph, stream):
    with torch.cuda.stream(stream):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record(stream)
        graph.replay()
        end.record(stream)
        end.synchronize()
    return begin.elapsed_time(end) * 1000 / LAUNCHES


def interval(samples, rng, resamples=2000):
    medians = sorted(
        statistics.median(rng.choices(samples, k=len(samples))) for _ in range(resamples)
    )
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kernel", help="a file made by fa-tune export")
    parser.add_argument("--out", required=True, help="where the JSON goes")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    export = read_export(args.kernel)
    shape = export["shape"]
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[shape["dtype"]]
    causal = bool(shape["causal"])
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)

    def tensor(length):
        return torch.randn(shape["B"], shape["H"], length, shape["D"], device="cuda", dtype=dtype)

    q, k, v = tensor(shape["Lq"]), tensor(shape["Lk"]), tensor(shape["Lk"])
    o = torch.full_like(q, float("nan"))
    truth = exact(q, k, v, causal)
    own = own_kernel(export, args.kernel, q, k, v, o)

    contestants, errors = {}, {}
    graph, stream, _ = capture(own)
    contestants["fa-tune"] = (graph, stream)
    graph.replay()
    torch.cuda.synchronize()
    errors["fa-tune"] = ((o.double() - truth).norm() / truth.norm()).item()
    for name, backend in BACKENDS.items():
        def call(backend=backend):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        try:
            graph, stream, result = capture(call)
        except RuntimeError as error:
            print(f"{name}: not available here: {str(error).splitlines()[0]}")
            continue
        graph.replay()
        torch.cuda.synchronize()
        contestants[name] = (graph, stream)
        errors[name] = ((result.double() - truth).norm() / truth.norm()).item()

    samples = {name: [] for name in contestants}
    names = list(contestants)
    for block in range(BLOCKS + 10):
        rng.shuffle(names)
        for name in names:
            time = replay(*contestants[name])
            if block >= 10:  # the first blocks warm up
                samples[name].append(time)

    rows = []
    for name, times in samples.items():
        low, high = interval(times, rng)
        ratios = [t / own_time for t, own_time in zip(times, samples["fa-tune"])]
        r_low, r_high = interval(ratios, rng)
        rows.append(
            {
                "name": name,
                "us": statistics.median(times),
                "us_low": low,
                "us_high": high,
                "times_fa_tune": statistics.median(ratios),
                "times_fa_tune_low": r_low,
                "times_fa_tune_high": r_high,
                "relative_rms_error": errors[name],
                "samples_us": [round(t, 4) for t in times],
            }
        )
    rows.sort(key=lambda row: row["us"])
    result = {
        "device": torch.cuda.get_device_name(),
        "software": f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, "
        f"cuDNN {torch.backends.cudnn.version()}",
        "date": datetime.date.today().isoformat(),
        "method": f"graphs of {LAUNCHES} launches, {BLOCKS} randomized blocks with each contestant once, "
        "median and 95% bootstrap interval; ratios are taken block by block",
        "shape": shape,
        "config": export["config"],
        "rows": rows,
    }
    with open(args.out, "w") as out:
        json.dump(result, out, indent=1)
        out.write("\n")
    print(f"{'':<16}{'us':>8}  {'95% interval':<18}{'x fa-tune':>10}  {'rel. RMS error':>14}")
    for row in rows:
        print(
            f"{row['name']:<16}{row['us']:>8.2f}  [{row['us_low']:.2f}, {row['us_high']:.2f}]    "
            f"{row['times_fa_tune']:>10.2f}  {row['relative_rms_error']:>14.2e}"
        )


if __name__ == "__main__":
    main()
