#!/usr/bin/env python3
"""How long does it take to have the valid configs of a T1 file, beside Kernel Tuner, on one core?

    construct.py PROGRAM T1... [--repeats 7] [--out construct.json]

PROGRAM is fa-tune. Its time is that of the whole process `fa-tune space count FILE`: start, reading the
file, building the space, counting. Kernel Tuner's (kernel-tuner 1.5, `pip install kernel-tuner`) is that of
its Searchspace alone, without Python's start, its imports and the file. Both are pinned to one core. Wall
times grow with what else runs there (`load` in the data says how much did); the CPU times, in steps of
10 ms and so given as a mean, do not.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings

from kernel_tuner.searchspace import Searchspace


def cpu_name():
    with open("/proc/cpuinfo", encoding="ascii") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return names[0] if names else platform.processor()


def read_t1(path):
    """Parameters and restrictions as Kernel Tuner's own tune_kernel_T1 makes them."""
    with open(path, encoding="utf-8") as file:
        space = json.load(file)["ConfigurationSpace"]
    values = {each["Name"]: list(eval(each["Values"])) for each in space["TuningParameters"]}
    return values, [each["Expression"] for each in space["Conditions"]]


def cpu_seconds():
    """Of this process and of those that it started."""
    return sum(os.times()[:4])


def timed(action, repeats):
    seconds, cpu = [], []
    for _ in range(repeats):
        start, cpu_start = time.perf_counter(), cpu_seconds()
        result = action()
        seconds.append(time.perf_counter() - start)
        cpu.append(cpu_seconds() - cpu_start)
    return result, {"least_s": min(seconds), "median_s": statistics.median(seconds),
                    "mean_cpu_s": statistics.mean(cpu), "repeats": repeats}


def describe(times):
    return f"{1000 * times['median_s']:.1f} ms ({1000 * times['mean_cpu_s']:.1f} ms of CPU)"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")

    def count(path):
        return int(subprocess.check_output([arguments.program, "space", "count", path]))

    rows = []
    for path in arguments.files:
        values, restrictions = read_t1(path)
        ours, our_time = timed(lambda: count(path), arguments.repeats)
        theirs, their_time = timed(lambda: Searchspace(values, restrictions, 1024).size, arguments.repeats)
        rows.append({"file": os.path.basename(path), "fa_tune": {"count": ours, **our_time},
                     "kernel_tuner": {"count": int(theirs), **their_time}})
        print(f"{os.path.basename(path):24} {ours:8} configs in {describe(our_time)}, "
              f"Kernel Tuner {theirs:8} in {describe(their_time)}", flush=True)
    data = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "cpu": cpu_name(), "load": os.getloadavg()[0],
            "kernel_tuner": importlib.metadata.version("kernel_tuner"), "python": platform.python_version(),
            "rows": rows}
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            file.write(json.dumps(data, indent=1) + "\n")
    return 0 if all(row["fa_tune"]["count"] == row["kernel_tuner"]["count"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
