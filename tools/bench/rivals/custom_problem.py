"""A custom problem of an exported kernel, in PyTorch's tensors: what gpu_kernel.Kernel is bound to.

The expressions of a space are Python's too. Needs PyTorch, PyYAML, nvcc and a GPU.
"""

import ctypes
import json
import re

import torch
import yaml

from gpu_kernel import Kernel, Scope, compile_cubin, target_facts

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i32": torch.int32}
SCALARS = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float, "f64": ctypes.c_double}


def read_export(path):
    """The JSON block of an exported file."""
    text = open(path).read()
    block = re.search(r"// fa-tune export \d+ begin\n(.*?)// fa-tune export \d+ end", text, re.S)
    return json.loads("".join(line[2:].strip() for line in block.group(1).splitlines()))


class Problem:
    """What a space says of its problem, at one map of sizes: tensors with data, and scalars, by name."""

    def __init__(self, export, device="cuda"):
        self.spec = yaml.safe_load(export["settings"]["space"])["problem"]
        self.sizes = export["shape"]
        self.tensors, self.scalars = {}, {}
        scope = Scope({}, self.sizes, self.sizes, {})
        for argument in self.spec["arguments"]:
            if argument.get("constant"):
                raise SystemExit(f"{argument['name']}: this script fills no __constant__ variables")
            if "shape" in argument:
                shape = [int(scope.value(size)) for size in argument["shape"]]
                self.tensors[argument["name"]] = filled(argument, shape, device)
            else:
                value = argument["value"]
                value = value if isinstance(value, (int, float)) else scope.value(value)
                self.scalars[argument["name"]] = SCALARS[argument["type"]](value)
        outputs = [argument["name"] for argument in self.spec["arguments"] if argument.get("role") == "output"]
        self.output = self.tensors[outputs[0]]

    def names(self):
        return [argument["name"] for argument in self.spec["arguments"]]


def filled(argument, shape, device):
    """As `Inputs::normal` fills it; what nobody fills holds NaN, so that a result not written shows."""
    dtype = DTYPES[argument["type"]]
    if argument.get("role") in ("output", "workspace"):
        nothing = 0 if dtype == torch.int32 else float("nan")
        return torch.full(shape, nothing, dtype=dtype, device=device)
    fill = argument.get("fill", "normal")
    (kind, how), *_ = ({"normal": [0, 1]} if fill == "normal" else fill).items()
    if kind == "value":
        return torch.full(shape, how, dtype=dtype, device=device)
    if kind == "integers":
        return torch.randint(how[0], how[1] + 1, shape, device=device).to(dtype)
    if kind == "uniform":
        return (torch.rand(shape, device=device) * (how[1] - how[0]) + how[0]).to(dtype)
    return (torch.randn(shape, device=device) * how[1] + how[0]).to(dtype)


def mangled(names, plain, path):
    """The one of these names that is the kernel `plain` (Itanium C++ ABI)."""
    found = [name for name in names if name == plain or name.startswith(f"_Z{len(plain)}{plain}")]
    if len(found) != 1:
        raise SystemExit(f"{path}: expected one kernel {plain}, found {', '.join(names)}")
    return found[0]


def bound_kernel(path, export, problem):
    """A function that launches the exported kernel, or its kernels in their order, on the problem's tensors."""
    manifest = yaml.safe_load("\n".join(export["manifest"]))
    if manifest.get("options"):
        raise SystemExit(f"{path}: this script passes no compiler options on")
    cubin, log = compile_cubin(path, arch=manifest.get("arch"))
    names = re.findall(r"Compiling entry function '(\w+)'", log)
    scope = Scope(manifest, export["config"], problem.sizes, target_facts(export["target"]))
    tensors = problem.tensors | {
        name: torch.empty([int(scope.value(size)) for size in entry["shape"]], dtype=DTYPES[entry["type"]], device="cuda")
        for name, entry in manifest.get("workspaces", {}).items()
    }
    scalars = problem.scalars | {
        name: SCALARS[entry["type"]](scope.value(entry["value"])) for name, entry in manifest.get("scalars", {}).items()
    }
    calls = []
    for step in manifest.get("steps", [manifest]):
        if "kernel" not in step or "when" in step:
            raise SystemExit(f"{path}: this script launches kernels only, and each of them")
        one = manifest | step | {"kernel": mangled(names, step["kernel"], path)}
        one.setdefault("arguments", problem.names())
        kernel = Kernel(one, cubin, export["config"], export["target"])
        calls.append(kernel.bind(tensors, scalars, problem.sizes))
    if len(calls) == 1:
        return calls[0]

    def call():
        for each in calls:
            each()

    return call
