#!/usr/bin/env python3
"""Are the shipped presets of the attention spaces clean under compute-sanitizer's four tools on a GPU?

  tools/bench/attention/presets_sanitized.py --out results/sanitizers/presets.json       (needs compute-sanitizer, PyTorch, nvcc)

Each preset of each space, full and causal, at every head dimension it is for, compiled for this GPU and launched on two ragged
shapes (those of h100_gqa, for grouped heads, as that space has them, on one of its own); a process for each tool does them all,
so an error is charged to what was launched last.
"""

import argparse
import datetime
import json
import os
import pickle
import subprocess
import sys
import tempfile
import types
from concurrent.futures import ThreadPoolExecutor

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

SPACES = ("ladder", "l4", "a100", "h100_mma", "h100", "h100_short", "h100_fp8")
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
GROUPED = "h100_gqa"
FEW = {"B": 2, "Lq": 50, "Lk": 333}  # of its sizes
SHAPES = [(1, 2, 200, 333), (2, 1, 129, 64)]  # B, H, Lq, Lk
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CLEAN = ("ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards")


def described_by(space):
    with open(f"{ROOT}/search_spaces/{space}.yaml") as file:
        return yaml.safe_load(file)


def presets(spaces):
    """(name, entry, D, causal, dtype, target) of all."""
    from gpu_kernel import plain_attention

    for space in spaces:
        described = described_by(space)
        dtype = described["problem"].get("dtype", "fp16")
        for name, preset in described["presets"].items():
            # One that does not say which head dimensions it is for is made for the space's own.
            dimensions = (64, 128, 256) if "problem.D" in str(preset.get("when")) else (described["problem"]["shape"]["D"],)
            for D in dimensions:
                for causal in (False, True):
                    problem = types.SimpleNamespace(**plain_attention({"D": D, "causal": causal, "dtype": dtype}))
                    if not eval(str(preset.get("when", True)).replace("true", "True"), {"problem": problem}):
                        continue
                    config = {k: v for k, v in preset.items() if k not in ("when", "template")}
                    template = preset.get("template") or next(iter(described["templates"]))
                    entry = {"template": template, "config": config}
                    yield f"{space}: {name} D={D} {'causal' if causal else 'full'}", entry, D, causal, dtype, described["target"]


def compiled(preset):
    from grid import Candidate

    name, entry, D, causal, dtype, target = preset
    candidate = Candidate(entry, D, causal, dtype, 128)
    candidate.compile(target)
    return {"name": name, "manifest": candidate.manifest, "cubin": candidate.cubin, "refusal": candidate.refusal,
            "config": entry["config"], "D": D, "causal": causal, "dtype": dtype, "target": target}  # fmt: skip


def compiled_for_groups():
    from features import Case, compiled

    described = described_by(GROUPED)
    problem = described["problem"]
    given = problem["shape"] | {"layout": problem["layout"], "lse": problem["lse"], "causal": problem["causal_alignment"]} | FEW
    for name, preset in described["presets"].items():
        config = {k: v for k, v in preset.items() if k != "template"}
        manifest, config, cubin = compiled(Case(given, problem["dtype"]), preset["template"], config, described["target"])
        yield {"name": f"{GROUPED}: {name}", "manifest": manifest, "cubin": cubin, "refusal": None, "config": config, "given": given,
               "dtype": problem["dtype"], "target": described["target"]}  # fmt: skip


def launch_all(path):
    """Under a tool."""
    import torch
    from features import Case
    from grid import Problem
    from gpu_kernel import Kernel

    with open(path, "rb") as file:
        kernels = pickle.load(file)
    for one in kernels:
        print(one["name"], flush=True)
        kernel = Kernel(one["manifest"], one["cubin"], one["config"], one["target"])
        if "given" in one:
            case = Case(one["given"], one["dtype"])
            case.draw()
            case.bind(kernel)()
            torch.cuda.synchronize()
            continue
        for B, H, Lq, Lk in SHAPES:
            Problem(B, H, Lq, Lk, one["D"], one["causal"], one["dtype"], 128).bind(kernel)()
            torch.cuda.synchronize()


def under(tool, path, timeout):
    words = ["compute-sanitizer", "--tool", tool, "--print-limit", "20", sys.executable, __file__, "--launch", path]
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, env=environment)
        text = done.stdout
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode() + f"\ngave up after {timeout} s"
    lines = text.splitlines()
    summary = [line for line in lines if "SUMMARY" in line]
    clean = bool(summary) and all(any(words in line for words in CLEAN) for line in summary)
    return {"tool": tool, "clean": clean, "summary": summary, "last": lines[-1:], "reports": [] if clean else lines[:200]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", help="where the JSON goes")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for each tool")
    parser.add_argument("--space", action="append", choices=(*SPACES, GROUPED), help="may be given again; all if not given")
    parser.add_argument("--launch", help="what a tool is started on")
    args = parser.parse_args()
    if args.launch:
        return launch_all(args.launch)
    import torch
    from racing import software

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        kernels = list(pool.map(compiled, presets([space for space in args.space or SPACES if space != GROUPED])))
    if GROUPED in (args.space or [GROUPED]):
        kernels += compiled_for_groups()
    refused = [f"{one['name']}: {one['refusal']}" for one in kernels if one["refusal"]]
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        pickle.dump([one for one in kernels if not one["refusal"]], file)
        file.flush()
        with ThreadPoolExecutor(len(TOOLS)) as pool:
            tools = list(pool.map(lambda tool: under(tool, file.name, args.timeout), TOOLS))
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout.strip().splitlines()[-1]
    result = {"device": torch.cuda.get_device_name(), "software": f"{software()}, compute-sanitizer {version}",
              "date": datetime.date.today().isoformat(), "launched": [one["name"] for one in kernels if not one["refusal"]],
              "left_out": refused, "tools": tools}  # fmt: skip
    with open(args.out, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print(f"{len(result['launched'])} kernels, {len(refused)} left out")
    for tool in tools:
        print(f"  {tool['tool']:<10} {'clean' if tool['clean'] else 'NOT CLEAN'}  {' '.join(tool['summary'][-1:] or tool['last'])}")
    sys.exit(0 if all(tool["clean"] for tool in tools) else 1)


if __name__ == "__main__":
    main()
