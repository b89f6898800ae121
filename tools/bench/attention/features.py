#!/usr/bin/env python3
"""How far from float64 are the templates with what users need of attention, beside PyTorch on the same data?

  tools/bench/attention/features.py --out results/gate/features_h200.json        (needs PyTorch, nvcc, a GPU)
  tools/bench/attention/features.py --table FILE.json

Each feature alone and all together, in fp16 and bf16, for both families. PyTorch's side: SDPA as it chooses its backend, with a
mask where it has no word for what is wanted; a cap of scores, which it lacks, in eager steps of the same type. An error is the RMS
of the difference over that of the truth; of LSE, the largest difference (SDPA's flash backend gives one too). What the gate decides
by is its own bound, element by element (tests/kernel_templates/features_test.cpp, on this GPU and on the emulator).
"""

import argparse
import ctypes
import datetime
import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

TYPES = ("fp16", "bf16")
CONFIGS = {
    "mma": "mma BLOCK_M 64 BLOCK_N 64 WARPS_M 4 WARPS_N 1 STAGES 2 LAYOUT swizzled Q_PLACE in_registers RESCALE voted EPILOGUE staged "
    "MIN_BLOCKS 0",
    "mma, copy engine": "mma BLOCK_M 32 BLOCK_N 128 WARPS_M 2 WARPS_N 2 STAGES 2 LAYOUT swizzled Q_PLACE in_registers RESCALE threshold "
    "EPILOGUE direct MIN_BLOCKS 0 TENSOR_COPY 1 K_PARTS 2 MASKED_TILES apart",
    "wgmma": "wgmma CONSUMERS 2 BLOCK_N 64 STAGES 2 OVERLAP ahead PV_PARTS 1 PING_PONG 1 RESCALE always EXP_POLYNOMIAL 0 Q_PLACE in_shared "
    "Q_STAGES 1 CARRY 0 O_PLACE over_q HEAD_GROUP 1 CLUSTER 1 BLOCKS 1 PERSISTENT 1",
}
PLAIN = {"B": 2, "H": 8, "Hkv": 8, "Lq": 512, "Lk": 512, "D": 64}
FEATURES = {
    "plain": {},
    "D = 128": {"D": 128},
    "causal": {"causal": "top_left"},
    "any lengths": {"Lq": 333, "Lk": 257},
    "few queries, many keys": {"Lq": 5, "Lk": 1999},
    "causal from the bottom right": {"Lq": 200, "Lk": 456, "causal": "bottom_right"},
    "GQA, 4 heads share one": {"Hkv": 2},
    "MQA": {"Hkv": 1},
    "BSHD": {"layout": "BSHD"},
    "LSE": {"lse": True},
    "window of 100 before, 20 after": {"window": (100, 20)},
    "cap of 20": {"softcap": 20.0},
    "ALiBi": {"alibi": True},
    "all but a cap together": {"Lq": 333, "Lk": 457, "Hkv": 2, "layout": "BSHD", "lse": True, "causal": "bottom_right", "window": (100, -1),
                               "alibi": True},
}  # fmt: skip


def config_of(words):
    template, *rest = words.split()
    return template, {k: int(v) if v.isdigit() else v for k, v in zip(rest[::2], rest[1::2])}


class Case:
    """PLAIN with what is `given` besides, in a type. `sizes` are those that manifests know as problem.*"""

    def __init__(self, given, dtype):
        self.given = PLAIN | given
        self.causal = self.given.get("causal")
        self.window = self.given.get("window", (-1, -1))
        self.softcap = self.given.get("softcap", 0.0)
        self.inside = self.given.get("layout") == "BSHD"
        sizes = {name: self.given[name] for name in PLAIN} | {"group": self.given["H"] // self.given["Hkv"], "dtype": dtype}
        sizes |= {"layout": self.given.get("layout", "BHSD"), "lse": self.given.get("lse", False), "alibi": self.given.get("alibi", False)}
        sizes |= {"window_left": self.window[0], "window_right": self.window[1], "capped": self.softcap > 0, "causal": bool(self.causal)}
        self.sizes = sizes | {"scale_rows": 0}
        self.dtype = dtype

    def defines(self):
        s = self.sizes
        limits = {"WINDOW_LEFT": s["window_left"] >= 0, "WINDOW_RIGHT": s["window_right"] >= 0 and not self.causal}
        flags = {"CAUSAL": s["causal"], "CAUSAL_BOTTOM_RIGHT": self.causal == "bottom_right", "LAYOUT_BSHD": self.inside}
        flags |= {"WITH_LSE": s["lse"], "SOFTCAP": s["capped"], "ALIBI": s["alibi"]}
        flags |= {"DTYPE_BF16": self.dtype == "bf16", "DTYPE_E4M3": False}
        flags = {name: int(value) for name, value in (flags | limits).items()}
        return flags | {"HEAD_DIM": s["D"], "KV_GROUP": s["group"], "SCALE_ROWS": 0}

    def draw(self):
        import torch

        torch.manual_seed(1)
        s = self.sizes
        kind = {"fp16": torch.float16, "bf16": torch.bfloat16}[self.dtype]

        def tensor(heads, length):
            made = torch.randn(s["B"], heads, length, s["D"], device="cuda", dtype=kind)
            return made.transpose(1, 2).contiguous().transpose(1, 2) if self.inside else made

        self.q, self.k, self.v = tensor(s["H"], s["Lq"]), tensor(s["Hkv"], s["Lk"]), tensor(s["Hkv"], s["Lk"])
        self.o = torch.full_like(self.q, float("nan"))
        self.lse = torch.full((s["B"], s["H"], s["Lq"]), float("nan"), device="cuda")
        self.slopes = torch.exp2(-8 * (torch.arange(s["H"], device="cuda") + 1.0) / s["H"])

    def seen(self):
        """[Lq, Lk]: what a query may see."""
        import torch

        Lq, Lk = self.sizes["Lq"], self.sizes["Lk"]
        at = torch.arange(Lq, device="cuda")[:, None] + (Lk - Lq if self.causal == "bottom_right" else 0)
        key = torch.arange(Lk, device="cuda")[None]
        seen = torch.ones(Lq, Lk, dtype=torch.bool, device="cuda")
        if self.causal:
            seen &= key <= at
        if self.window[0] >= 0:
            seen &= key >= at - self.window[0]
        if self.window[1] >= 0 and not self.causal:
            seen &= key <= at + self.window[1]
        return seen

    def bias(self):
        """ALiBi's, [H, Lq, Lk]."""
        import torch

        Lq, Lk = self.sizes["Lq"], self.sizes["Lk"]
        at = torch.arange(Lq, device="cuda")[:, None] + Lk - Lq
        return -self.slopes[:, None, None] * (at - torch.arange(Lk, device="cuda")[None]).abs()

    def steps(self, kind):
        """(output, LSE) of the definition, step by step in a type."""
        import torch

        group = self.sizes["group"]
        q, k, v = self.q.to(kind), self.k.to(kind).repeat_interleave(group, 1), self.v.to(kind).repeat_interleave(group, 1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.sizes["D"])
        if self.softcap:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if self.sizes["alibi"]:
            scores = scores + self.bias().to(kind)
        scores = scores.masked_fill(~self.seen(), float("-inf"))
        return torch.softmax(scores, -1).nan_to_num(0) @ v, torch.logsumexp(scores, -1)

    def pytorch(self):
        """(output, LSE or None) as a user of PyTorch gets them."""
        import torch

        if self.softcap:
            return self.steps(self.q.dtype)[0], None
        if self.sizes["lse"] and not self.causal:
            o, lse, *_ = torch.ops.aten._scaled_dot_product_flash_attention(self.q, self.k, self.v)
            return o, lse
        mask = None
        if self.sizes["alibi"]:
            mask = self.bias().masked_fill(~self.seen(), float("-inf")).to(self.q.dtype)[None]
        elif self.causal == "bottom_right" or max(self.window) >= 0:
            mask = self.seen()
        plainly = bool(self.causal) and mask is None
        sdpa = torch.nn.functional.scaled_dot_product_attention
        return sdpa(self.q, self.k, self.v, attn_mask=mask, is_causal=plainly, enable_gqa=self.sizes["group"] > 1), None

    def bind(self, kernel):
        scalars = {name: ctypes.c_int(self.sizes[name]) for name in ("B", "H", "Lq", "Lk", "window_left", "window_right")}
        scalars |= {"scale": ctypes.c_float(1 / math.sqrt(self.sizes["D"])), "softcap": ctypes.c_float(self.softcap)}
        tensors = {"Q": self.q, "K": self.k, "V": self.v, "O": self.o, "LSE": self.lse, "alibi_slopes": self.slopes}
        return kernel.bind(tensors, scalars, self.sizes)


def compiled(case, template, config, target):
    """(manifest, config, machine code)"""
    import yaml
    from gpu_kernel import ROOT, Scope, compile_cubin, own_arch, target_facts

    folder = f"{ROOT}/kernel_templates"
    with open(f"{folder}/attention/{template}.yaml") as file:
        manifest = yaml.safe_load(file)
    scope = Scope(manifest, config, case.sizes, target_facts(target))
    for requirement in manifest.get("requires", []):
        if not scope.value(requirement["expr"]):
            sys.exit(f"{template} {config}: {requirement['because']}")
    genes = manifest.get("optional", {}) | config
    defines = case.defines() | {name: int(value) if isinstance(value, bool) else value for name, value in genes.items()}
    folders = [f"{folder}/include", f"{folder}/attention"]
    cubin, _ = compile_cubin(f"{folder}/attention/{manifest['source']}", defines.items(), folders, own_arch(manifest))
    return manifest, config, cubin


def measured(case, kernels):
    import torch
    from gpu_kernel import Kernel
    from racing import relative_error

    case.draw()
    truth, truth_lse = case.steps(torch.float64)
    theirs, their_lse = case.pytorch()
    errors, lse_errors = {"PyTorch": relative_error(theirs, truth)}, {}
    some = torch.isfinite(truth_lse)
    if their_lse is not None:
        lse_errors["PyTorch"] = (their_lse.double() - truth_lse)[some].abs().max().item()
    for name, (manifest, config, cubin) in kernels.items():
        case.o.fill_(float("nan"))
        case.bind(Kernel(manifest, cubin, config, "h100"))()
        torch.cuda.synchronize()
        errors[name] = relative_error(case.o, truth)
        if case.sizes["lse"]:
            lse_errors[name] = (case.lse.double() - truth_lse)[some].abs().max().item()
    return {"error": errors, "lse_error": lse_errors}


def line(cells):
    return f"| {' | '.join(cells)} |"


def print_table(result):
    names = ["PyTorch", *CONFIGS]
    print(line(["feature", "type", *names, "LSE"]))
    print(line(["---"] * (len(names) + 3)))
    for row in result["rows"]:
        lse = ", ".join(f"{name} {error:.1e}" for name, error in row["lse_error"].items())
        print(line([row["feature"], row["dtype"], *[f"{row['error'][name]:.2e}" for name in names], lse]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", help="where the JSON goes")
    parser.add_argument("--table", help="print a result's table and nothing else")
    args = parser.parse_args()
    if args.table:
        with open(args.table) as file:
            return print_table(json.load(file))
    import torch
    from racing import software

    cases = [(feature, Case(given, dtype)) for feature, given in FEATURES.items() for dtype in TYPES]
    jobs = [(case, words) for _, case in cases for words in CONFIGS.values()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = iter(list(pool.map(lambda job: compiled(job[0], *config_of(job[1]), "h100"), jobs)))
    rows = [{"feature": f, "dtype": case.dtype, **measured(case, {name: next(made) for name in CONFIGS})} for f, case in cases]
    result = {"device": torch.cuda.get_device_name(), "software": software(), "date": datetime.date.today().isoformat()}
    result |= {"configs": CONFIGS, "rows": rows}
    if args.out:
        with open(args.out, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    print_table(result)
    # More than that is no rounding.
    all_of_them = [(row["feature"], row["dtype"], name, row["error"][name] / row["error"]["PyTorch"]) for row in rows for name in CONFIGS]
    bad = [each for each in all_of_them if not each[-1] <= 2]
    print(f"{len(all_of_them) - len(bad)} of {len(all_of_them)} within twice PyTorch's error")
    for feature, dtype, name, ratio in bad:
        print(f"  {feature}, {dtype}, {name}: {ratio:.2f} times")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
