#!/usr/bin/env python3
"""Does Kernel Tuner read what `fa-tune export --as cachefile` writes, and simulate on it?

    round_trip.py CACHEFILE [CACHEFILE...] [--strategy genetic_algorithm]

For each plain cachefile: Kernel Tuner (kernel-tuner 1.5) opens it with its own reader, runs a brute-force
search in simulation mode over exactly the recorded configs, and one of its strategies. The brute force must
come to every config, with the times of the file, and to its best. Prints a line a file; exit code 1 if not.
"""

import argparse
import contextlib
import importlib.metadata
import io
import json
import sys
import tempfile
import warnings

import kernel_tuner
from constraint import FunctionConstraint


def simulate(path, cache, strategy, options):
    names = cache["tune_params_keys"]

    def recorded(*values):
        return ",".join(str(value) for value in values) in cache["cache"]

    with contextlib.redirect_stdout(io.StringIO()):
        results, _ = kernel_tuner.tune_kernel(
            cache["kernel_name"], f"__global__ void {cache['kernel_name']}() {{}}",
            tuple(cache["problem_size"]), [], cache["tune_params"], simulation_mode=True, cache=path,
            strategy=strategy, strategy_options=options, restrictions=[FunctionConstraint(recorded, names)],
            lang="CUDA", grid_div_x=[], grid_div_y=[], verbose=False)
    return results


def check(path, strategy):
    with open(path, encoding="utf-8") as file:
        cache = json.load(file)
    times = [entry["time"] for entry in cache["cache"].values() if not isinstance(entry["time"], str)]
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/cache.json"
        with open(copy, "w", encoding="utf-8") as file:
            json.dump(cache, file)
        everything = simulate(copy, cache, "brute_force", {})
        searched = simulate(copy, cache, strategy, {"max_fevals": max(2, len(cache["cache"]) // 2)})
    found = sorted(result["time"] for result in everything if isinstance(result["time"], float))
    same = len(everything) == len(cache["cache"]) and found == sorted(times)
    best = min((result["time"] for result in searched if isinstance(result["time"], float)), default=None)
    print(f"{path}: {len(everything)} of {len(cache['cache'])} configs simulated, {len(found)} with a time, "
          f"{'the same times' if same else 'OTHER TIMES'}; best {min(found):.6g} ms; {strategy} found {best:.6g} ms")
    return same and min(found) == min(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cachefiles", nargs="+")
    parser.add_argument("--strategy", default="genetic_algorithm")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"Kernel Tuner {importlib.metadata.version('kernel_tuner')}")
    return 0 if all([check(path, arguments.strategy) for path in arguments.cachefiles]) else 1


if __name__ == "__main__":
    sys.exit(main())
