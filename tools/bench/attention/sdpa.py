#!/usr/bin/env python3
"""Times an exported attention kernel and every backend of PyTorch's SDPA in one process.

All are captured as CUDA graphs that last equally long and replayed in randomized blocks, each
with every contestant once, so that drift of clock or temperature meets all alike. A sample is a replay's
time divided by its launches. Inputs are N(0, 1), warm in L2 where they fit.

  tools/bench/attention/sdpa.py winner.cu --out results.json        (needs PyTorch, nvcc and a GPU)
"""

import argparse
import ctypes
import datetime
import json
import math
import os
import random
import re
import sys

import torch
import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from gpu_kernel import Kernel, compile_cubin, own_arch, plain_attention
from racing import BACKENDS, REPLAY_US, Graph, backend_call, compared, race, relative_error, software

BLOCKS = 200


def read_export(path):
    """The JSON block of an exported file."""
    text = open(path).read()
    block = re.search(r"// fa-tune export 1 begin\n(.*?)// fa-tune export 1 end", text, re.S)
    lines = [line[2:].strip() for line in block.group(1).splitlines()]
    return json.loads("".join(lines))


def own_kernel(export, path, q, k, v, o):
    """A function that launches the exported kernel on these tensors."""
    manifest = yaml.safe_load("\n".join(export["manifest"]))
    cubin, _ = compile_cubin(path, arch=own_arch(manifest))
    kernel = Kernel(manifest, cubin, export["config"], export["target"])
    shape = export["shape"]
    scalars = {name: ctypes.c_int(shape[name]) for name in ("B", "H", "Lq", "Lk")}
    scalars["scale"] = ctypes.c_float(1 / math.sqrt(shape["D"]))
    return kernel.bind({"Q": q, "K": k, "V": v, "O": o}, scalars, plain_attention(shape))


def exact(q, k, v, causal):
    scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, -1) @ v.double()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kernel", help="a file made by fa-tune export")
    parser.add_argument("--out", required=True, help="where the JSON goes")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    export = read_export(args.kernel)
    shape = export["shape"]
    # A shape names a feature only where it is on.
    features = {"Hkv", "layout", "lse", "window_left", "window_right", "softcap", "alibi"} & shape.keys()
    if features:
        raise SystemExit(f"SDPA is called for plain attention alone, this kernel has {', '.join(sorted(features))}")
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

    graphs, errors = {"fa-tune": Graph(own)}, {}
    for name, backend in BACKENDS.items():
        try:
            graphs[name] = Graph(backend_call(backend, q, k, v, causal))
        except RuntimeError as error:
            print(f"{name}: not available here: {str(error).splitlines()[0]}")
    for name, graph in graphs.items():
        graph.time_us()
        errors[name] = relative_error(o if name == "fa-tune" else graph.result, truth)
    samples = race(graphs, BLOCKS, rng)

    rows = [
        row | {"relative_error": errors[row["name"]], "samples_us": [round(t, 4) for t in samples[row["name"]]]}
        for row in compared(samples, rng)
    ]
    result = {
        "device": torch.cuda.get_device_name(),
        "software": software(),
        "date": datetime.date.today().isoformat(),
        "method": f"graphs of about {REPLAY_US / 1000:g} ms, {BLOCKS} randomized blocks with each contestant once, "
        "median and 95% bootstrap interval; ratios are taken block by block",
        "shape": shape,
        "configs": {"fa-tune": export["config"]},
        "rows": rows,
    }
    with open(args.out, "w") as out:
        json.dump(result, out, indent=1)
        out.write("\n")
    print(f"{'':<16}{'us':>8}  {'95% interval':<18}{'x fa-tune':>10}  {'rel. error':>14}")
    for row in rows:
        print(
            f"{row['name']:<16}{row['us']:>8.2f}  [{row['us_interval'][0]:.2f}, {row['us_interval'][1]:.2f}]    "
            f"{row['times_fa_tune']:>10.2f}  {row['relative_error']:>14.2e}"
        )


if __name__ == "__main__":
    main()
