#!/usr/bin/env python3
"""Races the same configs of two or more trees' attention templates: what a change of a template did.

  git worktree add ../before HEAD~1
  tools/bench/attention/template_ab.py candidates.json --tree before=../before --tree after=. --suite seven  (needs PyTorch, nvcc, a GPU)

In each cell all that fit are checked against a float64 truth on small ragged shapes, and race with SDPA's FlashAttention-2 and cuDNN: graphs
that last equally long, in randomized blocks. A tree whose manifest does not know a gene of a config sits that one out. Candidates as in
grid.py.
"""

import argparse
import concurrent.futures
import json
import os
import random
import statistics
import sys

import torch
import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from grid import Candidate, Problem
from racing import BACKENDS, Graph, backend_call, race
from shapes import flop, name_of, suites


def genes_of(root, template):
    with open(f"{root}/kernel_templates/attention/{template}.yaml") as file:
        manifest = yaml.safe_load(file)
    return {*manifest["parameters"], *manifest.get("optional", {})}


def entrants(entries, trees, cells, args):
    """Those that compile and are right, by (tree, index of the entry, D, causal)."""
    wanted = {(c["D"], c["causal"]) for c in cells}
    found = {
        (tree, i, D, causal): Candidate(entry, D, causal, args.dtype, root=root)
        for tree, root in trees.items()
        for i, entry in enumerate(entries)
        if set(entry["config"]) <= genes_of(root, entry["template"])
        for D, causal in wanted
        if D in entry["D"] and causal in entry["causal"]
    }
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda candidate: candidate.compile(args.target), found.values()))
    for key, candidate in found.items():
        if candidate.refusal is None:
            candidate.check(args.target)
        if candidate.refusal is not None:
            print(f"refused: {key[0]}, {candidate.entry['config']}: {candidate.refusal}", flush=True)
    return {key: candidate for key, candidate in found.items() if candidate.refusal is None}


def run_cell(c, found, entries, args, rng):
    problem = Problem(c["B"], c["H"], c["Lq"], c["L"], c["D"], c["causal"], args.dtype)
    graphs = {
        name: Graph(backend_call(BACKENDS[name], *problem.real, c["causal"])) for name in ("sdpa flash", "sdpa cudnn")
    }
    fitting = {key: k for key, k in found.items() if k.fits(c)}
    graphs |= {key: Graph(problem.bind(candidate.kernel)) for key, candidate in fitting.items()}
    us = {key: statistics.median(times) for key, times in race(graphs, args.blocks, rng, warm_up=3).items()}
    rivals = {name: us[name] for name in ("sdpa flash", "sdpa cudnn")}
    print(f"{name_of(c)}: " + ", ".join(f"{name} {rival:.3f} us" for name, rival in rivals.items()))
    rows = []
    for i, entry in enumerate(entries):
        times = {key[0]: us[key] for key in fitting if key[1] == i}
        if not times:
            continue
        best = min(times.values())
        spills = {key[0]: fitting[key].spilled for key in fitting if key[1] == i}
        rows.append({**c, "config": entry["config"], "us": times, "spilled": spills, "rivals_us": rivals})
        print(
            f"  {'  '.join(f'{tree} {t:9.3f}' for tree, t in times.items())}  {flop(c) / best / 1e6:4.0f} TFLOP/s, "
            + ", ".join(f"{name.split()[1]} {rival / best:.3f}x" for name, rival in rivals.items())
            + f"  spilled {list(spills.values())}  {' '.join(map(str, entry['config'].values()))}",
            flush=True,
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("candidates", help="a JSON list of configs")
    parser.add_argument("--tree", action="append", required=True, help="NAME=FOLDER, a checkout; as often as there are trees")
    parser.add_argument("--suite", default="grid", choices=suites())
    parser.add_argument("--only", action="append", help="cells whose names have this; more may be given")
    parser.add_argument("--dtype", default="fp16", choices=["fp16", "bf16"])
    parser.add_argument("--target", default="h100", help="device profile, for what manifests call device.*")
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="where a JSON goes")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    trees = dict(tree.split("=", 1) for tree in args.tree)
    with open(args.candidates) as file:
        entries = json.load(file)
    cells = [c for c in suites()[args.suite] if not args.only or any(only in name_of(c) for only in args.only)]
    found = entrants(entries, trees, cells, args)
    rng = random.Random(args.seed)
    rows = [row for c in cells for row in run_cell(c, found, entries, args, rng)]
    if args.out:
        with open(args.out, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
