"""A template's kernel on a GPU, launched from Python in the context that PyTorch made.

The expressions of a manifest are Python's too, so its launch and its tensor maps are evaluated here as they
stand. Needs PyTorch, PyYAML, nvcc and a GPU.
"""

import ctypes
import os
import re
import subprocess
import tempfile
import types

import torch
import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

CUDA = ctypes.CDLL("libcuda.so.1")
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
MAP_TYPES = {torch.float8_e4m3fn: 0, torch.float16: 6, torch.bfloat16: 9}  # CUtensorMapDataType
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # CUtensorMapSwizzle
L2_PROMOTION = 2  # CU_TENSOR_MAP_L2_PROMOTION_L2_128B


def check(code, what):
    if code != 0:
        raise RuntimeError(f"{what} failed with {code}")


def target_facts(target):
    """What a manifest calls device.*, from the profile."""
    with open(f"{ROOT}/search_spaces/devices/{target}.yaml") as file:
        facts = yaml.safe_load(file)
    return facts | {"compute_capability": int(re.sub(r"\D", "", facts["arch"]))}


class Scope:
    """The names a manifest's expressions may use for one config at one shape."""

    def __init__(self, manifest, config, shape, device):
        self.names = {
            "ceil_div": lambda a, b: -(-a // b),
            "problem": types.SimpleNamespace(**shape),
            "device": types.SimpleNamespace(**device),
            "true": True,
            "false": False,
            **manifest.get("optional", {}),
            **config,
        }
        for name, expression in manifest.get("derived", {}).items():
            self.names[name] = self.value(expression)

    def value(self, expression):
        # Written by this project's own manifests; min, max and abs are builtins.
        return eval(str(expression), {"min": min, "max": max, "abs": abs}, self.names)


def plain_attention(shape):
    """A shape with what manifests ask of attention's features, all of them off."""
    off = {"group": 1, "layout": "BHSD", "lse": False, "window_left": -1, "window_right": -1}
    off |= {"capped": False, "alibi": False, "causal": False, "dtype": "fp16", "scale_rows": 0}
    return {**off, **shape}


# The same for a source.
PLAIN_DEFINES = {"KV_GROUP": 1} | dict.fromkeys(
    ("LAYOUT_BSHD", "WITH_LSE", "WINDOW_LEFT", "WINDOW_RIGHT", "SOFTCAP", "ALIBI", "DTYPE_E4M3", "SCALE_ROWS"), 0
)


def own_arch(manifest):
    """The architecture that a template is for alone (sm_90a). Others are compiled for the GPU that is here."""
    arch = manifest.get("arch", "")
    return arch if arch.endswith("a") else None


def compile_cubin(source, defines=(), folders=(), arch=None):
    """(machine code, what ptxas says). `source` is a path."""
    major, minor = torch.cuda.get_device_capability()
    arch = arch or f"sm_{major}{minor}"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as out:
        command = ["nvcc", f"-gencode=arch={arch.replace('sm', 'compute')},code={arch}", "-cubin"]
        command += ["-std=c++17", "-Xptxas", "-v", "-o", out.name]
        command += [f"-D{name}={text}" for name, text in defines] + [f"-I{folder}" for folder in folders]
        done = subprocess.run(command + [source], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return open(out.name, "rb").read(), done.stderr


def spilled_bytes(log):
    return int(re.search(r"(\d+) bytes spill stores", log).group(1))


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint32 * 16)]


class _LaunchConfig(ctypes.Structure):
    _fields_ = [("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p)]
    _fields_ += [("attributes", ctypes.POINTER(_Attribute)), ("count", ctypes.c_uint)]


class _Map(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


def tensor_map(tensor, box, swizzle):
    """The parameter through which the copy engine sees a tensor of any strides."""
    rank = tensor.dim()
    sizes = (ctypes.c_uint64 * rank)(*reversed(tensor.shape))
    size = tensor.element_size()
    strides = (ctypes.c_uint64 * (rank - 1))(*[s * size for s in reversed(tensor.stride()[:-1])])
    room = ctypes.create_string_buffer(192)  # the map must lie at a multiple of 64
    place = (ctypes.addressof(room) + 63) & ~63
    code = CUDA.cuTensorMapEncodeTiled(
        ctypes.c_void_p(place), MAP_TYPES[tensor.dtype], rank, ctypes.c_void_p(tensor.data_ptr()), sizes,
        strides, (ctypes.c_uint32 * rank)(*box), (ctypes.c_uint32 * rank)(*[1] * rank), 0,
        SWIZZLES[swizzle], L2_PROMOTION, 0,
    )  # fmt: skip
    check(code, "cuTensorMapEncodeTiled")
    result = _Map()
    ctypes.memmove(ctypes.byref(result), place, 128)
    return result


class Kernel:
    """A compiled kernel with the manifest that says how it is launched."""

    def __init__(self, manifest, cubin, config, target):
        self.manifest = manifest
        self.config = config
        self.device = target_facts(target)
        torch.empty(1, device="cuda")  # makes the context, if nothing has
        module = ctypes.c_void_p()
        self.function = ctypes.c_void_p()
        check(CUDA.cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
        name = manifest["kernel"].encode()
        check(CUDA.cuModuleGetFunction(ctypes.byref(self.function), module, name), "cuModuleGetFunction")

    def bind(self, tensors, scalars, shape):
        """A function that launches it on these tensors (by name) in PyTorch's current stream."""
        scope = Scope(self.manifest, self.config, shape, self.device)
        launch = self.manifest["launch"]

        def three(name):
            sizes = [int(scope.value(e)) for e in launch.get(name, [])]
            return sizes + [1] * (3 - len(sizes))

        grid, block, cluster = three("grid"), three("block"), three("cluster")
        shared = int(scope.value(launch.get("shared", 0)))
        check(CUDA.cuFuncSetAttribute(self.function, MAX_DYNAMIC_SHARED, shared), "cuFuncSetAttribute")
        maps = self.manifest.get("maps", {})
        values = []
        for entry in self.manifest["arguments"]:
            name = entry["name"] if isinstance(entry, dict) else entry
            if isinstance(entry, dict) and not scope.value(entry["when"]):
                continue
            if name in maps:
                box = [int(scope.value(e)) for e in maps[name]["box"]]
                values.append(tensor_map(tensors[maps[name]["tensor"]], box, maps[name].get("swizzle", 0)))
            elif name in tensors:
                values.append(ctypes.c_uint64(tensors[name].data_ptr()))
            else:
                values.append(scalars[name])
        pointers = [ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values]
        arguments = (ctypes.c_void_p * len(pointers))(*pointers)
        attribute = _Attribute(CLUSTER_DIMENSION)
        attribute.value[:3] = cluster
        count = 1 if cluster != [1, 1, 1] else 0

        def call():
            config = _LaunchConfig()
            config.sizes[:] = grid + block + [shared]
            config.stream = torch.cuda.current_stream().cuda_stream
            config.attributes = ctypes.pointer(attribute)
            config.count = count
            code = CUDA.cuLaunchKernelEx(ctypes.byref(config), self.function, arguments, None)
            check(code, "cuLaunchKernelEx")

        call.keep = (values, tensors)  # what the launch points to
        return call
