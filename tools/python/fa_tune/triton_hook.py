"""Records the launches of a Triton program, and runs them on the emulator where there is no GPU.

Triton compiles for a GPU that is not there; what would have gone to its driver is written to a
folder, and run by `fa-tune emulate`. Written against Triton 3.5, 3.6 and 3.9.
"""

from __future__ import annotations

import contextlib
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

import numpy

from ._arrays import is_numpy, is_torch
from .errors import InputError
from .launch_folder import Launch, Memory, emulate

# A profile of the program for each architecture that Triton compiles for.
_DEVICES = {75: "t4", 80: "a100", 86: "a10", 89: "l4", 90: "h100"}
# Triton's types of scalars, as the program calls them.
_SCALARS = {"u1": "u8", "i1": "u8", "fp16": "f16", "bf16": "bf16", "fp32": "f32", "f32": "f32"}
_SCALARS.update({"fp64": "f64", **{f"{s}{n}": f"{s}{n}" for s in "iu" for n in (8, 16, 32, 64)}})
_MAP_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


class _Type(str):
    """The name of a type, as Triton asks for it."""

    itemsize: int


class Array:
    """A NumPy array as an argument of a Triton kernel: with an address, and a type of Triton's.

    NumPy has no bfloat16 and no 8-bit floats: `Array(x, "bfloat16")` shows 16-bit numbers as such.
    """

    def __init__(self, array: Any, dtype: Optional[str] = None) -> None:
        self.array = array
        self.dtype = _Type(dtype or array.dtype)
        self.dtype.itemsize = int(array.itemsize)
        self.shape = array.shape

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def stride(self, axis: Optional[int] = None) -> Any:
        strides = tuple(stride // self.array.itemsize for stride in self.array.strides)
        return strides if axis is None else strides[axis]

    def numel(self) -> int:
        return int(self.array.size)

    def element_size(self) -> int:
        return int(self.array.itemsize)


@dataclass(frozen=True)
class _Device:
    """What kernels ask of a device before they are launched."""

    type: str = "cpu"
    index: int = 0


class _Driver:
    """What Triton asks of a driver before a launch. There is nothing behind it."""

    def __init__(self, capability: int) -> None:
        from triton.backends.compiler import GPUTarget

        self.capability = capability
        self.target = GPUTarget("cuda", capability, 32)

    # A number for each architecture: Triton keeps what it compiled by this.
    def get_current_device(self) -> int:
        return self.capability

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: Any = None) -> int:
        return 0

    def get_current_target(self) -> Any:
        return self.target

    def get_active_torch_device(self) -> Any:
        torch = sys.modules.get("torch")
        return torch.device("cpu") if torch is not None else _Device()

    def get_device_capability(self, device: Any = None) -> Any:
        return divmod(self.capability, 10)

    # The first config of an autotuner is as good as any where nothing can be timed.
    def get_benchmarker(self) -> Any:
        return lambda call, quantiles=None, **_: [1.0] * len(quantiles or [0])

    def get_empty_cache_for_benchmark(self) -> Any:
        return None

    def clear_cache(self, cache: Any) -> None:
        pass


def _numpy_memory(array: Any) -> Memory:
    """All of the array that `array` is a view of."""
    root = array
    while is_numpy(root.base) and hasattr(root.base, "ctypes"):
        root = root.base
    flat = root.ravel(order="K")
    if root.size and not numpy.shares_memory(flat, root):
        raise InputError("an array has gaps, and is no view of one without")
    return Memory(int(root.ctypes.data), flat.copy(), lambda left: numpy.copyto(flat, left))


def _torch_memory(tensor: Any) -> Memory:
    import torch

    storage = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
    size = tensor.element_size()
    content = storage.cpu().numpy()[: storage.numel() // size * size]
    kind = (
        f"f{size}" if tensor.is_floating_point() and tensor.dtype != torch.bfloat16 else f"i{size}"
    )
    content = content.view(kind if size > 1 else "u1").copy()

    def give_back(left: Any) -> None:
        if not tensor.is_cuda:  # else the GPU's own results stand
            storage[: left.nbytes].copy_(torch.from_numpy(left.view("u1")))

    return Memory(int(storage.data_ptr()), content, give_back)


def memory_of(argument: Any) -> Memory:
    while not is_numpy(argument) and not is_torch(argument):
        inner = getattr(argument, "array", getattr(argument, "base", None))  # Array; Triton's own
        if inner is None:
            raise InputError(f"{type(argument).__name__} is no array of NumPy or PyTorch")
        argument = inner
    return _torch_memory(argument) if is_torch(argument) else _numpy_memory(argument)


class Launches:
    """What `record_triton` yields: the folder and what became of each launch."""

    def __init__(
        self,
        folder: Path,
        capability: Optional[int],
        run: bool,
        unwritten: Sequence[str],
        reachable: Sequence[Any],
        options: Sequence[str],
    ) -> None:
        self.folder, self.capability, self.run = folder, capability, run
        self.unwritten, self.options = set(unwritten), list(options)
        self.reachable: List[Any] = list(reachable)
        self.files: List[Path] = []
        self.outputs: List[str] = []
        self.last: Optional[Launch] = None

    def record(self, kernel: Any, grid: Sequence[int], args: Sequence[Any]) -> None:
        capability = self.capability or int(kernel.metadata.target.arch)
        if capability not in _DEVICES:
            raise InputError(f"there is no emulated GPU for sm_{capability}")
        launch = Launch(kernel.metadata.name, kernel.asm["ptx"], _DEVICES[capability])
        meta = kernel.metadata
        launch.cluster = tuple(getattr(meta, "cluster_dims", (meta.num_ctas, 1, 1)))  # 3.6 has none
        launch.grid = tuple(int(n) * c for n, c in zip(grid, launch.cluster))
        # Triton makes mbarriers known to copies by bar.sync alone, which the ISA does not promise.
        launch.accept = ["unfenced_mbarriers"] if "mbarrier.init" in launch.ptx else []
        launch.shared, launch.cooperative = meta.shared, bool(meta.launch_cooperative_grid)
        launch.programmatic = bool(getattr(meta, "launch_pdl", False))
        if 0 in launch.grid:
            return
        _Arguments(self, launch, meta).add_all(kernel.src.signature, args)
        self.last = launch
        number = len(self.files)
        self.files.append(launch.write(self.folder, number))
        if self.run:
            self.outputs.append(emulate(self.files[-1], self.options))
            launch.take_results(self.folder, number)


class _Arguments:
    """Lays out what a kernel takes as Triton's launcher does: constants are left out, tuples flat,
    and scratch memory comes last."""

    def __init__(self, launches: Launches, launch: Launch, meta: Any) -> None:
        self.launches, self.launch, self.meta = launches, launch, meta
        self.maps = list(getattr(meta, "tensordesc_meta", None) or [])

    def add_all(self, signature: Dict[str, Any], args: Sequence[Any]) -> None:
        # What others point to stands before them.
        for i, array in enumerate(self.launches.reachable):
            memory = memory_of(array)
            self.launch.place(f"reachable{i}", memory, memory.address)
        for (name, kind), arg in zip(signature.items(), args):
            self.add(str(name), kind, arg)
        blocks = math.prod(self.launch.grid)
        for name in ("global_scratch", "profile_scratch"):
            size = int(getattr(self.meta, name + "_size", 0)) * blocks
            if size:
                memory = Memory(-size, numpy.zeros(size, "u1"), lambda left: None)
                self.launch.unwritten[name] = True
                self.launch.args.append(self.launch.place(name, memory, -size))
            else:
                self.launch.args.append("u64=0")

    def add(self, name: str, kind: Any, arg: Any) -> None:
        if isinstance(kind, (tuple, list)):
            for i, (each, value) in enumerate(zip(kind, arg)):
                self.add(f"{name}_{i}", each, value)
        elif kind == "constexpr":
            return
        elif kind.startswith("tensordesc"):
            self.descriptor(name, arg)
        elif kind.startswith("*"):
            self.pointer(name, arg)
        elif kind in _SCALARS:
            self.scalar(_SCALARS[kind], arg)
        else:
            raise InputError(f"{name}: no argument of type {kind} can be recorded")

    def scalar(self, dtype: str, value: Any) -> None:
        if dtype[0] in "fb":
            self.launch.args.append(f"{dtype}={float(value)!r}")
        elif dtype[0] == "u":
            self.launch.args.append(f"{dtype}={int(value) % 2 ** int(dtype[1:])}")
        else:
            self.launch.args.append(f"{dtype}={int(value)}")

    def pointer(self, name: str, arg: Any) -> None:
        if arg is None or isinstance(arg, int):
            self.launch.args.append(f"u64={arg or 0}")
            return
        memory = memory_of(arg)
        address = int(arg.data_ptr() if hasattr(arg, "data_ptr") else arg.ctypes.data)
        place = self.launch.place(name, memory, address)
        self.launch.args.append(place)
        if name in self.launches.unwritten:
            self.launch.unwritten[place["buffer"]] = True
        self.stored_addresses(place["buffer"], memory)

    def stored_addresses(self, buffer: str, memory: Memory) -> None:
        content = memory.content
        if (
            content.dtype.kind not in "iu"
            or content.itemsize != 8
            or buffer in self.launch.addresses
        ):
            return
        found = []
        for i, value in enumerate(content.tolist()):
            for known, other in self.launch.memories.items():
                if known != buffer and other.address <= value < other.end:
                    offset = value - other.address
                    found.append({"element": i, "buffer": known, "offset": offset})
        self.launch.addresses[buffer] = found

    def descriptor(self, name: str, arg: Any) -> None:
        meta = self.maps.pop(0) if self.maps else None
        shape, strides = list(arg.shape), list(arg.strides)
        padding = getattr(arg, "padding", "zero") == "nan"
        if meta is None:  # older GPUs: taken apart, with shape and strides twice
            self.pointer(name, arg.base)
            self.launch.args += [f"i64={n}" for n in shape + strides] + [f"u8={int(padding)}"]
        else:
            self.map(name, arg, meta, padding)
        self.launch.args += [f"i32={n}" for n in shape] + [f"i64={n}" for n in strides]

    def map(self, name: str, arg: Any, meta: Any, padding: bool) -> None:
        dense = [math.prod(arg.shape[i + 1 :]) for i in range(len(arg.shape))]
        if list(arg.strides) != dense or meta["fp4_padded"]:
            raise InputError(f"{name}: a tensor descriptor of rows with gaps, or of fp4")
        memory = memory_of(arg.base)
        place = self.launch.place(name, memory, int(arg.base.data_ptr()))
        sizes = "x".join(str(n) for n in arg.shape)
        box = "x".join(str(n) for n in meta["block_size"])
        swizzle = ["none", "32", "64", "128"][meta["swizzle"]]
        text = f"{_MAP_TYPES[meta['elem_size']]}[{sizes}]=zeros,box={box},swizzle={swizzle}"
        self.launch.args.append({**place, "map": text + (",nan" if padding else "")})


def _wrapped(value: Any) -> Any:
    return Array(value) if is_numpy(value) and hasattr(value, "ctypes") and value.ndim else value


@contextlib.contextmanager
def record_triton(
    folder: Union[str, Path],
    arch: Optional[str] = None,
    run: bool = True,
    unwritten: Sequence[str] = (),
    reachable: Sequence[Any] = (),
    options: Sequence[str] = (),
) -> Iterator[Launches]:
    """Records what is launched inside of `with` to `folder`, for `fa-tune emulate FOLDER`.

    With an `arch` ("sm_80", "sm_89", "sm_90") no GPU is needed, and none is used: Triton compiles
    for that one, arguments are NumPy arrays or PyTorch's on the CPU, and the emulator runs each
    launch and writes to them, unless `run` is False. A finding raises KernelFault. Without `arch`
    the GPU runs all as ever, and the launches are recorded beside that.

    `unwritten` names parameters whose arrays nobody has written, so that a kernel which reads them
    is found. `reachable` are arrays whose addresses kernels find in others. `options` are those of
    `fa-tune emulate`.
    """
    import triton
    from triton.compiler import CompiledKernel
    from triton.runtime.jit import JITFunction

    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    capability = int(arch.split("_")[-1].rstrip("a")) if arch else None
    launches = Launches(path, capability, run and arch is not None, unwritten, reachable, options)
    driver = triton.runtime.driver
    jit_run, compiled_run = JITFunction.run, CompiledKernel.run
    handles, active = CompiledKernel._init_handles, driver._active

    def run_jit(self: Any, *args: Any, **kwargs: Any) -> Any:
        named = {name: _wrapped(value) for name, value in kwargs.items()}
        return jit_run(self, *[_wrapped(value) for value in args], **named)

    def runner(self: Any) -> Any:
        def launch(x: int, y: int, z: int, *rest: Any) -> None:
            launches.record(self, (x, y, z), rest[6:])  # behind stream, function, metadata, hooks
            if arch is None:
                compiled_run.fget(self)(x, y, z, *rest)

        return launch

    try:
        JITFunction.run, CompiledKernel.run = run_jit, property(runner)
        if capability is not None:
            CompiledKernel._init_handles = lambda self: None
            driver.set_active(_Driver(capability))
        yield launches
    finally:
        JITFunction.run, CompiledKernel.run = jit_run, compiled_run
        CompiledKernel._init_handles, driver._active = handles, active
