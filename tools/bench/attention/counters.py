#!/usr/bin/env python3
"""What limits the kernels that grid.py found fastest? Nsight Compute's counters of one launch each, beside the roofline.

  tools/bench/attention/counters.py GRID.json ... --out counters.json [--cells D128-full-L16384 ...]     (needs ncu, PyTorch, nvcc)
  tools/bench/attention/counters.py --table counters.json

GRID.json is a result of grid.py; a cell is taken if its name has one of the words. Clocks and caches are left alone, and a
launch is the third of its kernel. `of roofline` is the race's TFLOP/s beside the chip's peak of dense fp16 products.
"""

import argparse
import csv
import datetime
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from shapes import flop, name_of

SECTIONS = ("SpeedOfLight", "ComputeWorkloadAnalysis", "WarpStateStats", "SchedulerStats", "Occupancy", "LaunchStats")
PEAK_TFLOPS = 989.4  # H100 SXM, dense fp16, NVIDIA's data sheet; at 1.83 GHz on 132 SMs of 4096 operations a clock
STALLS = "smsp__average_warps_issue_stalled_"
TABLE = (
    ("tensor pipe busy %", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"),
    ("issue slots used %", "smsp__issue_active.avg.pct_of_peak_sustained_active"),
    ("L2 %", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("DRAM %", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
)


def launch(grid, index):
    """Under ncu: the kernel of one row, three times."""
    import torch
    from grid import Candidate, Problem

    with open(grid) as file:
        row = json.load(file)["rows"][index]
    config = dict(row["config"])
    entry = {"template": config.pop("template"), "config": config}
    candidate = Candidate(entry, row["D"], row["causal"], "fp16", 0)
    candidate.compile("h100")
    if candidate.refusal:
        sys.exit(candidate.refusal)
    from gpu_kernel import Kernel

    kernel = Kernel(candidate.manifest, candidate.cubin, config, "h100")
    call = Problem(row["B"], row["H"], row["Lq"], row["L"], row["D"], row["causal"], "fp16").bind(kernel)
    for _ in range(3):
        call()
    torch.cuda.synchronize()


def counters(grid, index):
    """Metric -> number of the third launch, and what ncu calls itself."""
    command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--cache-control", "none"]
    command += ["--kernel-name", "regex:attention_.*", "--launch-skip", "2", "--launch-count", "1"]
    command += [word for section in SECTIONS for word in ("--section", section)]
    done = subprocess.run(command + [sys.executable, __file__, "--launch", grid, str(index)], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode != 0 or len(lines) < 3:
        raise RuntimeError(f"ncu gave no counters (exit code {done.returncode}): {(done.stdout + done.stderr)[-600:]}")
    names, _, values = list(csv.reader(lines))[:3]
    found = {}
    for name, value in zip(names, values):
        if any(part in name for part in (".min", ".max", ".sum.p", "internal")):
            continue  # the same figure again
        try:
            found[name] = float(value.replace(",", ""))
        except ValueError:
            continue
    return found


def collect(args):
    result = None
    for path in args.grid:
        with open(path) as file:
            grid = json.load(file)
        result = result or begun(grid)
        for index, row in enumerate(grid["rows"]):
            if args.cells and not any(word in name_of(row) for word in args.cells):
                continue
            tflops = flop(row) / row["us"]["fa-tune"] / 1e6
            found = counters(path, index)
            result["rows"].append({"cell": name_of(row), "config": row["config"], "tflops": tflops, "counters": found})
            print(name_of(row), f"{tflops:.0f} TFLOP/s", flush=True)
            with open(args.out, "w") as out:
                json.dump(result, out, indent=1)
                out.write("\n")


def begun(grid):
    version = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout.strip().splitlines()[-1]
    return {"device": grid["device"], "software": f"{grid['software']}, {version}", "date": datetime.date.today().isoformat(), "rows": []}


def table(path):
    with open(path) as file:
        result = json.load(file)
    print(f"{result['device']}, {result['software']}, {result['date']}\n")
    heads = ["cell", "TFLOP/s", "of peak", *(name for name, _ in TABLE), "cycles a warp waits for each instruction, and why"]
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for row in result["rows"]:
        found = row["counters"]
        stalls = {n[len(STALLS) :].split("_per_")[0]: v for n, v in found.items() if n.startswith(STALLS) and "not_issued" not in n}
        worst = sorted(stalls, key=stalls.get, reverse=True)[:3]
        figures = [found.get(metric) for _, metric in TABLE]
        cells = [row["cell"], f"{row['tflops']:.0f}", f"{row['tflops'] / PEAK_TFLOPS:.0%}"]
        cells += ["" if value is None else f"{value:.0f}" for value in figures]
        print("| " + " | ".join(cells + [", ".join(f"{name} {stalls[name]:.1f}" for name in worst)]) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("grid", nargs="*", help="what grid.py wrote, on one kind of GPU")
    parser.add_argument("--out", help="where the JSON goes")
    parser.add_argument("--cells", nargs="*", help="words of the cells' names; all if not given")
    parser.add_argument("--launch", nargs=2, metavar=("GRID", "ROW"), help="what ncu is started on")
    parser.add_argument("--table", help="a JSON of before: prints its table")
    args = parser.parse_args()
    if args.launch:
        return launch(args.launch[0], int(args.launch[1]))
    if args.table:
        return table(args.table)
    if not args.grid or not args.out:
        parser.error("GRID.json and --out are needed")
    return collect(args)


if __name__ == "__main__":
    main()
