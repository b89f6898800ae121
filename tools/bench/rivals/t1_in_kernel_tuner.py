#!/usr/bin/env python3
"""Tunes the kernel of a T1 file with Kernel Tuner, and prints what it found as JSON; `kernel_tuner` asks it.

Kernel Tuner has a reader of T1 files of its own, which takes floats and int32 alone and wants a ProblemSize, a
Device and a Search in the file. This one takes what the community's files have, by the same conventions.

A space that has no more configs than --evaluations is gone through whole. A config counts once, however often the
strategy comes back to it, and also where it does not compile, does not start or computes something else than
`--answer`'s. (As it is, Kernel Tuner ends the whole search there, but where a kernel needs too much shared memory.)

  tools/bench/rivals/t1_in_kernel_tuner.py vector_T1.json --evaluations 40 --answer '{"block_size_x": 64}'

Needs Kernel Tuner 1.5, CuPy (or cuda-python) and a GPU. `--dry` stops before the GPU is needed.
"""

import argparse
import json
import math
import os
import random
import re
import sys
import time

import numpy

SCALARS = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "uint": "uint32", "char": "int8", "byte": "int8",
           "long": "int64", "bool": "bool"}  # fmt: skip
AXES = "XYZ"
MOST_CONFIGS = 1e9  # with or without restrictions


class Names(dict):
    """A config with what expressions of a T1 file may use beside it."""

    def __init__(self, *parts):
        super().__init__(max=max, min=min, range=range, list=list)
        for part in parts:
            self.update(part)


def evaluated(expression, *names):
    return eval(str(expression), {"__builtins__": {}}, Names(*names))


def numpy_type(name):
    """The type of a number, and how many make up an element: float3 is 3 float32."""
    name = name.rstrip("* ")
    lanes = 1
    if match := re.fullmatch(r"(float|double|int|uint|char|uchar)([234])", name):
        name, lanes = match[1], int(match[2])
    return numpy.dtype(SCALARS.get(name, name)), lanes


class T1:
    def __init__(self, path):
        with open(path) as file:
            self.file = json.load(file)
        self.folder = os.path.dirname(os.path.abspath(path))
        self.kernel = self.file["KernelSpecification"]
        space = self.file["ConfigurationSpace"]
        self.parameters = {p["Name"]: p["Values"] if isinstance(p["Values"], list) else evaluated(p["Values"]) for p in space["TuningParameters"]}
        self.conditions = [c["Expression"] if isinstance(c, dict) else c for c in space.get("Conditions") or []]
        config = self.file.get("BenchmarkConfig") or {}
        self.constants = {name: value for name, value in config.items() if isinstance(value, int)}
        with open(self.source()) as file:
            self.text = file.read()  # Kernel Tuner knows files by a few endings alone
        self.words = set(re.findall(r"\w+", self.text))
        size = self.kernel.get("ProblemSize")
        self.problem_size = size if size is None or isinstance(size, list) else [size]

    def source(self):
        return os.path.join(self.folder, self.kernel["KernelFile"])

    def blocks(self):
        """The names of the parameters that are a block's sizes. One that is a number becomes a parameter with one value."""
        names = []
        for axis, default in zip(AXES, ("block_size_x", "block_size_y", "block_size_z")):
            size = str((self.kernel.get("LocalSize") or {}).get(axis, default))
            if size not in self.parameters:
                if size.isdigit() and int(size) > (1 if axis != "X" else 0):
                    self.parameters[default] = [int(size)]
                size = default
            names.append(size)
        return names

    def launch(self, blocks):
        if self.problem_size:
            return self.problem_size, [self.kernel.get("GridDiv" + axis) or None for axis in AXES]
        sizes, in_threads = self.kernel["GlobalSize"], self.kernel.get("GlobalSizeType") == "OpenCL"

        def grid(config):
            counts = [int(evaluated(sizes.get(axis, 1), config, self.constants)) for axis in AXES]
            if in_threads:
                counts = [math.ceil(count / config.get(name, 1)) for count, name in zip(counts, blocks)]
            return counts

        return grid, [[], [], []]

    def arguments(self, seed):
        """As `fa-tune` fills them: Random is uniform below FillValue."""
        draw = numpy.random.default_rng(seed)
        given, constant = [], {}
        for argument in self.kernel["Arguments"]:
            kind, lanes = numpy_type(argument["Type"])
            value = argument.get("FillValue")
            value = evaluated(value) if isinstance(value, str) else value
            if argument["MemoryType"] == "Scalar":
                given.append(kind.type(value))
                continue
            count = int(evaluated(argument["Size"], {"ProblemSize": self.problem_size}, self.parameters)) * lanes
            if argument.get("FillType") == "Constant":
                data = numpy.full(count, value or 0).astype(kind)
            elif kind.kind in "iu":
                data = draw.integers(0, max(int(value or 1), 2), count).astype(kind)
            else:
                data = (draw.random(count, dtype=numpy.float32) * (value or 1)).astype(kind)
            given.append(data)
            if argument.get("MemType") == "Constant":
                constant[argument["Name"]] = data
        return given, constant

    def options(self):
        kept = [option for option in self.kernel.get("CompilerOptions") or [] if "fast_math" in option or "fmad" in option]
        defined = [f"-D{name}={value}" for name, value in self.constants.items() if name in self.words - set(self.parameters)]
        return ["--std=c++17", "-I" + os.path.dirname(self.source()), *kept, *defined]

    def written(self):
        return [a["MemoryType"] == "Vector" and a.get("AccessType", "ReadWrite") != "ReadOnly" for a in self.kernel["Arguments"]]

    def shared(self):
        size = self.kernel.get("SharedMemory")
        return {"size": lambda config: int(evaluated(size, config))} if size else None


def is_close(answer, result, atol=None):
    """Whether all that `answer` has is in `result`: exactly, or within a thousandth of the largest number."""
    for right, found in zip(answer, result):
        if right is None:
            continue
        if right.dtype.kind in "iu" and not numpy.array_equal(right, found):
            return False
        if right.dtype.kind == "f" and not numpy.allclose(right, found, rtol=1e-3, atol=1e-3 * float(numpy.abs(right).max())):
            return False
    return True


def forgive_configs():
    from kernel_tuner import core, util

    benchmark = core.DeviceInterface.compile_and_benchmark

    def compile_and_benchmark(self, *given, **named):
        try:
            return benchmark(self, *given, **named)
        except Exception as error:
            print(f"a config failed: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
            return {"__error__": util.RuntimeFailedConfig(), "compile_time": 0, "verification_time": 0, "benchmark_time": 0}

    core.DeviceInterface.compile_and_benchmark = compile_and_benchmark


def backend():
    try:
        import cupy  # noqa: F401

        return "cupy"
    except ImportError:
        return "nvcuda"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=60, help="the search ends by then, whatever it has tried")
    parser.add_argument("--strategy", default="genetic_algorithm")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--answer", help="a config whose results are right")
    parser.add_argument("--dry", action="store_true", help="say what would be tuned")
    asked = parser.parse_args()
    t1 = T1(asked.file)
    blocks = t1.blocks()
    size, divisors = t1.launch(blocks)
    arguments, constant = t1.arguments(asked.seed)
    if asked.dry:
        first = {name: values[0] for name, values in t1.parameters.items()}
        told = {"source": t1.source(), "blocks": blocks, "size": size(first) if callable(size) else size, "divisors": divisors,
                "arguments": [f"{a.dtype}[{a.size}]" if a.shape else f"{a.dtype}={a}" for a in arguments], "options": t1.options()}  # fmt: skip
        return print(json.dumps(told))

    configs = math.prod(len(values) for values in t1.parameters.values())
    if configs > MOST_CONFIGS:
        sys.exit(f"Kernel Tuner lists all configs before it begins, and {configs:.2g} are too many")
    import kernel_tuner
    from kernel_tuner.searchspace import Searchspace

    forgive_configs()
    random.seed(asked.seed)
    numpy.random.seed(asked.seed)
    common = {"grid_div_x": divisors[0], "grid_div_y": divisors[1], "grid_div_z": divisors[2], "block_size_names": blocks,
              "cmem_args": constant or None, "smem_args": t1.shared(), "compiler_options": t1.options(), "lang": backend(),
              "quiet": True}  # fmt: skip
    answer = None
    if asked.answer:
        right = {name: value for name, value in json.loads(asked.answer).items() if name in t1.parameters}
        results = kernel_tuner.run_kernel(t1.kernel["KernelName"], t1.text, size, arguments, right, **common)
        answer = [found if written else None for found, written in zip(results, t1.written())]
    whole = Searchspace(t1.parameters, t1.conditions or None, 1024, blocks).size <= asked.evaluations
    began = time.monotonic()
    results, environment = kernel_tuner.tune_kernel(
        t1.kernel["KernelName"], t1.text, size, arguments, t1.parameters, restrictions=t1.conditions or None,
        strategy="brute_force" if whole else asked.strategy,
        strategy_options={} if whole else {"max_fevals": asked.evaluations, "time_limit": asked.seconds},
        iterations=7, answer=answer, verify=is_close if answer else None, **common)  # fmt: skip
    timed = [result for result in results if isinstance(result.get("time"), float) and "__error__" not in result]
    best = min(timed, key=lambda result: result["time"], default=None)
    print(json.dumps({
        "tuner": "Kernel Tuner " + kernel_tuner.__version__ if hasattr(kernel_tuner, "__version__") else "Kernel Tuner",
        "backend": backend(), "device": environment.get("device_name"),
        "evaluated": len({tuple(result[name] for name in t1.parameters) for result in results}), "timed": len(timed),
        "seconds": time.monotonic() - began, "us": best and best["time"] * 1000,
        "config": best and {name: best[name] for name in t1.parameters},
    }, default=lambda number: number.item()))  # fmt: skip
    return 0 if best else 1


if __name__ == "__main__":
    sys.exit(main())
