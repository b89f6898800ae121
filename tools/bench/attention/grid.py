#!/usr/bin/env python3
"""Times configs of an attention template against every backend of PyTorch's SDPA, over suites of shapes.

A file of candidates gives configs, each for the head dimension and causality it is meant for. In each cell all
that fit are checked against a float64 truth on small ragged shapes and screened; the fastest then races all
backends: graphs of launches that last equally long, replayed in randomized blocks with each contestant once, so that clock,
temperature and power meet all alike. The race is timed anew, apart from the screening. Then the winner and its nearest
rivals run alone for --sustain seconds each, in turn, and the second half of that counts; the clock there gives what the
tensor cores, the exponentials and the memory would take alone.

  tools/bench/attention/grid.py candidates.json --suite grid --out results.json  (needs PyTorch, nvcc, a GPU)

With --dtype e4m3 the candidates take Q, K and V in e4m3, with a scale for every --scale-rows rows. They race the backends on
the same values in fp16, and the fastest of --against, a file of candidates for fp16. The result has the errors against
float64 of a few heads: of the winner, of the fp16 one, and of the same steps done by PyTorch (P rounded to e4m3, sums in
float32).

With --fa4 FlashAttention-4 is one more backend, where its wheels are. With --flex FlexAttention races too, but
`best_backend` and `speedup` are as without it; `speedup_flex`, `speedup_fa4` and `speedup_flash` (SDPA's FlashAttention-2)
stand beside them.

A candidate: {"template": "wgmma", "D": [64], "causal": [false], "config": {...}}; "L": [...] where it is for some
lengths only.
"""

import argparse
import concurrent.futures
import ctypes
import datetime
import json
import math
import os
import random
import statistics
import sys

import torch
import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from gpu_kernel import PLAIN_DEFINES, ROOT, Kernel, Scope, compile_cubin, own_arch, plain_attention, spilled_bytes, target_facts
from racing import BACKENDS, REPLAY_US, Graph, SmClock, backend_call, copy_bandwidth, fa4_call, flex_call, interval, race
from racing import relative_error, software
from shapes import flop, geomean, name_of, suites

RAGGED = [(2, 3, 333, 257), (1, 2, 129, 700), (1, 1, 1, 1), (3, 2, 192, 256)]  # B, H, Lq, Lk
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn}
WORST = {"fp16": 1e-3, "bf16": 8e-3, "e4m3": 6e-2}  # relative RMS error that is accepted


def exact(q, k, v, causal):
    """In float64, the causal diagonal from the top left."""
    scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, -1) @ v.double()


def quantized(values, rows, powers_of_two=False):
    """(e4m3, scales): a block's largest value becomes 448, or by a factor of its own as little as a quarter of that; an
    eighth where scales are powers of two."""
    B, H, L, D = values.shape
    blocks = torch.nn.functional.pad(values.float(), (0, 0, 0, -L % rows)).view(B, H, -1, rows * D)
    scales = blocks.abs().amax(-1) / 448 * torch.exp2(2 * torch.rand(blocks.shape[:3], device="cuda"))
    if powers_of_two:
        scales = torch.exp2(torch.ceil(torch.log2(scales)))
    return (values.float() / by_row(scales, L, rows)).to(torch.float8_e4m3fn), scales


def by_row(scales, length, rows):
    return scales.repeat_interleave(rows, -1)[..., :length, None]


def as_e4m3_kernels_do(q, k, v, causal):
    """In float32 but for P, 2^8 times which is rounded to e4m3."""
    scores = q.float() @ k.float().transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores.masked_fill_(~torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(), float("-inf"))
    p = torch.exp(scores - scores.amax(-1, keepdim=True)) * 256
    return (p.to(torch.float8_e4m3fn).float() @ v.float()) / p.sum(-1, keepdim=True)


class Problem:
    """Tensors of one shape, and what a kernel needs besides. `real`: what Q, K and V say, with their scales."""

    def __init__(self, B, H, Lq, Lk, D, causal, dtype, scale_rows=128, v_scales="any", of=None):
        drawn_as = torch.float16 if dtype == "e4m3" else DTYPES[dtype]
        self.real = of or [torch.randn(B, H, n, D, device="cuda", dtype=drawn_as) for n in (Lq, Lk, Lk)]
        self.tensors = dict(zip("QKV", self.real))
        shape = {"B": B, "H": H, "Lq": Lq, "Lk": Lk, "D": D, "dtype": dtype}
        if dtype == "e4m3":
            shape["scale_rows"] = scale_rows
            for i, name in enumerate("QKV"):
                powers_of_two = name == "V" and v_scales == "powers_of_two"
                self.tensors[name], scales = quantized(self.real[i], scale_rows, powers_of_two)
                self.tensors[f"{name}_scale"] = scales
                rows = by_row(scales, self.real[i].shape[2], scale_rows)
                self.real[i] = self.tensors[name].float() * rows
        self.o = torch.full((B, H, Lq, D), float("nan"), device="cuda")
        self.o = self.o.to(torch.bfloat16 if dtype == "e4m3" else DTYPES[dtype])
        self.causal = causal
        self.shape = plain_attention(shape)

    def bind(self, kernel):
        scalars = {name: ctypes.c_int(self.shape[name]) for name in ("B", "H", "Lq", "Lk")}
        scalars["scale"] = ctypes.c_float(1 / math.sqrt(self.shape["D"]))
        return kernel.bind({**self.tensors, "O": self.o}, scalars, self.shape)

    def head(self, batch, head):
        return [tensor[batch, head][None, None] for tensor in self.real]


class Candidate:
    """One config compiled for one head dimension and causality. `root`: whose templates."""

    def __init__(self, entry, D, causal, dtype, scale_rows=128, v_scales="any", root=ROOT):
        self.folder = f"{root}/kernel_templates"
        self.entry, self.D, self.causal, self.dtype = entry, D, causal, dtype
        self.scale_rows, self.v_scales = (scale_rows, v_scales) if dtype == "e4m3" else (0, "any")
        path = f"{self.folder}/attention/{entry['template']}.yaml"
        with open(path) as file:
            self.manifest = yaml.safe_load(file)
        self.refusal = self.cubin = self.kernel = None

    def fits(self, c):
        return (self.D, self.causal) == (c["D"], c["causal"]) and c["L"] in self.entry.get("L", [c["L"]])

    def compile(self, target):
        shape = {"B": 1, "H": 1, "Lq": 512, "Lk": 512, "D": self.D, "causal": self.causal, "dtype": self.dtype, "scale_rows": self.scale_rows}
        shape = plain_attention(shape)
        scope = Scope(self.manifest, self.entry["config"], shape, target_facts(target))
        for requirement in self.manifest.get("requires", []):
            if not scope.value(requirement["expr"]):
                self.refusal = requirement["because"]
                return
        defines = {"HEAD_DIM": self.D, "CAUSAL": int(self.causal), "CAUSAL_BOTTOM_RIGHT": 0}
        defines["DTYPE_BF16"] = int(self.dtype != "fp16")
        defines |= PLAIN_DEFINES
        defines |= {"DTYPE_E4M3": int(self.dtype == "e4m3"), "SCALE_ROWS": self.scale_rows}
        defines["V_POWERS_OF_TWO"] = int(self.v_scales == "powers_of_two")
        config = self.manifest.get("optional", {}) | self.entry["config"]
        for name in [*self.manifest["parameters"], *self.manifest.get("optional", {})]:
            value = config[name]
            defines[name] = int(value) if isinstance(value, bool) else value
        folder = self.folder
        try:
            self.cubin, log = compile_cubin(
                f"{folder}/attention/{self.manifest['source']}", defines.items(),
                [f"{folder}/include", f"{folder}/attention"], own_arch(self.manifest),
            )  # fmt: skip
        except RuntimeError as error:
            self.refusal = str(error)
            return
        self.spilled = spilled_bytes(log)
        if "(C75" in log:
            self.refusal = "ptxas gave up on its products: " + log[log.index("(C75") :].splitlines()[0]

    def check(self, target):
        """Loads it and tries it on ragged shapes."""
        self.kernel = Kernel(self.manifest, self.cubin, self.entry["config"], target)
        for B, H, Lq, Lk in RAGGED:
            problem = Problem(B, H, Lq, Lk, self.D, self.causal, self.dtype, self.scale_rows, self.v_scales)
            problem.bind(self.kernel)()
            torch.cuda.synchronize()
            error = relative_error(problem.o, exact(*problem.real, self.causal))
            if not error < WORST[self.dtype]:
                self.refusal = f"error {error:.2e} at {problem.shape}"
                return


def say(text):
    """At once: a kernel that hangs must not take its name with it."""
    print(text, flush=True)


def candidates_of(paths, dtype, cells, args):
    """Those for these cells, compiled, and of them those that are right."""
    entries = []
    for path in paths:
        with open(path) as file:
            entries += json.load(file)
    wanted = {(c["D"], c["causal"]) for c in cells}
    candidates = [
        Candidate(entry, D, causal, dtype, args.scale_rows, args.v_scales)
        for entry in entries
        for D in entry["D"]
        for causal in entry["causal"]
        if (D, causal) in wanted
    ]
    say(f"{', '.join(paths)}: compiling {len(candidates)}")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda candidate: candidate.compile(args.target), candidates))
    for i, candidate in enumerate(candidates):
        if candidate.refusal is None:
            say(f"checking {i + 1} of {len(candidates)}: {candidate.entry['config']}")
            candidate.check(args.target)
        if candidate.refusal is not None:
            say(f"refused: {candidate.entry['config']}: {candidate.refusal}")
    return [candidate for candidate in candidates if candidate.refusal is None]


def fastest(problem, c, candidates, args, rng):
    """(graph of the fastest for the cell, its entry, the ten fastest with their times)"""
    fitting = [k for k in candidates if k.fits(c)]
    trials = {i: Graph(problem.bind(k.kernel)) for i, k in enumerate(fitting)}
    screened = {i: statistics.median(times) for i, times in race(trials, args.screen, rng, warm_up=1).items()}
    ranking = sorted(screened, key=screened.get)
    best = ranking[0]
    return trials[best], fitting[best].entry, [[screened[i], fitting[i].entry["config"]] for i in ranking[:10]]


def errors_at(problem, outputs):
    """Relative RMS errors over the first and the last head."""
    B, H = problem.shape["B"], problem.shape["H"]
    results = {name: [] for name in [*outputs, "P in e4m3, PyTorch"]}
    for batch, head in ((0, 0), (B - 1, H - 1)):
        parts = problem.head(batch, head)
        truth = exact(*parts, problem.causal)
        for name, output in outputs.items():
            results[name].append(relative_error(output[batch, head], truth[0, 0]))
        results["P in e4m3, PyTorch"].append(relative_error(as_e4m3_kernels_do(*parts, problem.causal), truth))
    return results


def optional_graph(name, make_call, problem, c, flash, limit):
    """FlexAttention and FlashAttention-4 race if they compile, and if they give what SDPA's `flash` does."""
    try:
        graph = Graph(make_call(*problem.real, c["causal"]))
        for each in (graph, flash):
            each.time_us()  # a result is there once its graph has run
        error = relative_error(graph.result, flash.result.double())
        if error < limit:
            return graph
        reason = f"it is {error:.2e} off SDPA's"
    except Exception as error:  # a compiler's failures have no one type
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    say(f"no {name} at {name_of(c)}: {reason}")
    return None


def limits_us(c, dtype, mhz, copy):
    """What the tensor cores, the special function units and the memory of a Hopper GPU would take alone: 4096 flop of the
    tensor cores (e4m3: 8192) and 16 exponentials a clock and SM, each tensor moved once at the speed of a copy."""
    clocks = torch.cuda.get_device_properties(0).multi_processor_count * mhz  # a microsecond
    exponentials = flop(c) / (4 * c["D"])
    size = 1 if dtype == "e4m3" else 2
    moved = c["B"] * c["H"] * c["D"] * (c["Lq"] * (size + 2) + 2 * c["L"] * size)
    return {
        "tensor": flop(c) / (4096 * 2 / size * clocks),
        "exponentials": exponentials / (16 * clocks),
        "memory": moved / copy * 1e6,
    }


def ratio_row(name, rival, own, rng):
    """Times of a rival over our own, block by block."""
    ratios = [theirs / ours for theirs, ours in zip(rival, own)]
    return {name: statistics.median(ratios), f"{name}_interval": interval(ratios, rng, 500)}


def run_cell(c, candidates, rivals, args, rng):
    sizes = (c["B"], c["H"], c["Lq"], c["L"], c["D"], c["causal"])
    problem = Problem(*sizes, args.dtype, args.scale_rows, args.v_scales)
    e4m3 = args.dtype == "e4m3"
    plain = Problem(*sizes, "fp16", of=[t.half() for t in problem.real]) if e4m3 else problem
    graphs, results = {}, {}
    for name, backend in BACKENDS.items():
        if name == "sdpa math" and c["B"] * c["H"] * c["Lq"] * c["L"] > 2**30:
            continue  # its scores would not fit
        try:
            graphs[name] = Graph(backend_call(backend, *plain.real, c["causal"]))
            results[name] = graphs[name].result
        except RuntimeError:
            continue
    for name, make_call, wanted in (("flex", flex_call, args.flex), ("fa4", fa4_call, args.fa4)):
        if wanted:
            graph = optional_graph(name, make_call, plain, c, graphs["sdpa flash"], WORST["fp16" if e4m3 else args.dtype])
            graphs |= {name: graph} if graph else {}
    graphs["fa-tune"], entry, screened = fastest(problem, c, candidates, args, rng)
    if rivals:
        graphs["fa-tune fp16"], rival, _ = fastest(plain, c, rivals, args, rng)
    samples = race(graphs, args.blocks, rng, warm_up=3)
    problem.o.fill_(float("nan"))
    graphs["fa-tune"].time_us()
    reference = results["sdpa flash"].double()
    row = {
        **c,
        "config": {"template": entry["template"], **entry["config"]},
        "screened": screened,
        "difference_from_flash": relative_error(problem.o, reference),
        "us": {name: statistics.median(times) for name, times in samples.items()},
        "us_interval": {name: interval(times, rng, 500) for name, times in samples.items()},
    }
    if e4m3:
        row["relative_error"] = errors_at(problem, {"fa-tune": problem.o, "fa-tune fp16": plain.o} if rivals else {"fa-tune": problem.o})
    if rivals:
        row["config_fp16"] = {"template": rival["template"], **rival["config"]}
    backends = {name: us for name, us in row["us"].items() if name not in ("fa-tune", "flex")}
    row["best_backend"] = min(backends, key=backends.get)
    figures = {"speedup": row["best_backend"], "speedup_flash": "sdpa flash", "speedup_flex": "flex", "speedup_fa4": "fa4"}
    for figure, rival in figures.items():
        if rival in samples:
            row |= ratio_row(figure, samples[rival], samples["fa-tune"], rng)
    if args.sustain:
        rivals_again = {name: graphs[name] for name in (row["best_backend"], "sdpa cudnn", "fa4") if name in graphs}
        row["sustained_us"] = {name: graph.sustained(args.sustain)[0] for name, graph in rivals_again.items()}
        row["sustained_us"]["fa-tune"], row["sm_mhz"] = graphs["fa-tune"].sustained(args.sustain, args.clock)
        row["limits_us"] = limits_us(c, args.dtype, row["sm_mhz"], args.copy)
    row["tflops"] = {name: flop(c) / us / 1e6 for name, us in row["us"].items()}
    return row


def sustained_ratio(row):
    """Of the fastest rival there."""
    times = row["sustained_us"]
    return min(us for name, us in times.items() if name != "fa-tune") / times["fa-tune"]


def line_of(row):
    best, own = row["best_backend"], row["tflops"]
    line = f"D={row['D']:<4}Lq={row['Lq']:<6}L={row['L']:<6}{'causal' if row['causal'] else 'full':<7}"
    line += f"{best:<12}{own[best]:6.0f} TFLOP/s  fa-tune {own['fa-tune']:6.0f}  {row['speedup']:.3f}x"
    line += " [{:.3f}, {:.3f}]".format(*row["speedup_interval"])
    line += "".join(f"  {name} {row[f'speedup_{name}']:.3f}x" for name in ("flash", "flex", "fa4") if f"speedup_{name}" in row)
    if "fa-tune fp16" in own:
        line += f"  in fp16 {own['fa-tune fp16']:.0f}, {own['fa-tune'] / own['fa-tune fp16']:.3f}x"
    if "relative_error" in row:
        line += "  errors " + ", ".join(f"{name} {max(e):.2%}" for name, e in row["relative_error"].items())
    if "sustained_us" in row:
        limit = max(row["limits_us"], key=row["limits_us"].get)
        line += f"  sustained {sustained_ratio(row):.3f}x, {row['limits_us'][limit] / row['sustained_us']['fa-tune']:.0%} of {limit}"
    return line


def report(rows):
    print(f"geomean {geomean([row['speedup'] for row in rows]):.3f}x, least {min(r['speedup'] for r in rows):.3f}x")
    for name in ("flash", "flex", "fa4"):
        ratios = [row[f"speedup_{name}"] for row in rows if f"speedup_{name}" in row]
        if ratios:
            print(f"{name}: geomean {geomean(ratios):.3f}x, least {min(ratios):.3f}x of {len(ratios)} cells")
    if all("sustained_us" in row for row in rows):
        ratios = [sustained_ratio(row) for row in rows]
        print(f"sustained: geomean {geomean(ratios):.3f}x, least {min(ratios):.3f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("candidates", nargs="+", help="JSON lists of configs")
    parser.add_argument("--suite", default="grid", choices=suites())
    parser.add_argument("--dtype", default="fp16", choices=list(DTYPES))
    parser.add_argument("--scale-rows", type=int, default=128, help="e4m3: rows that share a scale")
    parser.add_argument("--v-scales", default="any", choices=("any", "powers_of_two"), help="e4m3: as a space has it")
    parser.add_argument("--against", help="e4m3: a JSON list of configs for fp16, which race too")
    parser.add_argument("--target", default="h100", help="device profile, for what manifests call device.*")
    parser.add_argument("--screen", type=int, default=5, help="blocks of the screening")
    parser.add_argument("--blocks", type=int, default=30, help="blocks of the race")
    parser.add_argument("--sustain", type=float, default=0, help="seconds alone, for the winner and its nearest rivals")
    parser.add_argument("--flex", action="store_true", help="FlexAttention races too; compiling it takes seconds a cell")
    parser.add_argument("--fa4", action="store_true", help="FlashAttention-4 races too, as one of the rivals; README.md names its wheels")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True, help="where the JSON goes")
    args = parser.parse_args()
    args.clock, args.copy = (SmClock(), copy_bandwidth()) if args.sustain else (None, None)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    candidates = candidates_of(args.candidates, args.dtype, suites()[args.suite], args)
    cells = [c for c in suites()[args.suite] if any(k.fits(c) for k in candidates)]
    for c in suites()[args.suite]:
        if c not in cells:
            say(f"no candidate is right for D={c['D']} L={c['L']} {'causal' if c['causal'] else 'full'}: left out")
    rivals = candidates_of([args.against], "fp16", cells, args) if args.against else []
    result = {
        "device": torch.cuda.get_device_name(),
        "software": software(),
        "date": datetime.date.today().isoformat(),
        "method": f"winner of {args.screen} screening blocks, then {args.blocks} randomized blocks with each contestant "
        f"once; medians, 95% bootstrap intervals; replays of about {REPLAY_US / 1000:g} ms each; "
        "speedup: block by block against the best backend of the cell"
        + ("; flex: FlexAttention as torch.compile makes it by default" if args.flex else ""),
        "suite": args.suite,
        "dtype": args.dtype,
        "scale_rows": args.scale_rows if args.dtype == "e4m3" else 0,
        "v_scales": args.v_scales,
        "sustain_seconds": args.sustain,
        "copy_bytes_a_second": args.copy,
        "rows": [],
    }
    for c in cells:
        result["rows"].append(run_cell(c, candidates, rivals, args, rng))
        say(line_of(result["rows"][-1]))
        torch.cuda.empty_cache()
        with open(args.out, "w") as out:  # after each cell: a lost machine costs one
            json.dump(result, out, indent=1)
            out.write("\n")
    report(result["rows"])


if __name__ == "__main__":
    main()
