"""Writes launches of kernels as `fa-tune emulate` reads them, runs them, and brings back the results.

A folder has a .json for each launch, its PTX, and a .npy for each array (tools/lone/launch_file.hpp
describes the form).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy

from . import _run
from .errors import InputError, KernelFault, error_of

# The program's names of types by their sizes and NumPy's kinds.
_NAMES = {"f": "f", "i": "i", "u": "u", "b": "u", "V": "u"}


class Memory(NamedTuple):
    """Memory that arrays lie in: its bytes on the host, and how they are given back."""

    address: int
    content: Any  # a flat NumPy array
    give_back: Callable[[Any], None]

    @property
    def end(self) -> int:
        return self.address + int(self.content.nbytes)


def dtype_name(array: Any) -> str:
    """What the program calls its elements; bytes that NumPy has no type for are unsigned numbers."""
    return f"{_NAMES.get(array.dtype.kind, 'u')}{8 * array.dtype.itemsize}"


class Launch:
    """One launch, made up argument by argument."""

    def __init__(self, kernel: str, ptx: str, device: str) -> None:
        self.kernel, self.ptx, self.device = kernel, ptx, device
        self.grid: Tuple[int, ...] = (1,)
        self.cluster: Tuple[int, ...] = (1,)
        self.shared = 0
        self.cooperative = False
        self.programmatic = False
        self.accept: List[str] = []
        self.args: List[Any] = []
        self.memories: Dict[str, Memory] = {}
        self.unwritten: Dict[str, bool] = {}
        self.addresses: Dict[str, List[Dict[str, Any]]] = {}

    def place(self, name: str, memory: Memory, address: int) -> Dict[str, Any]:
        """The buffer and the offset of an address; the buffer is called `name` if it is new."""
        for known, other in self.memories.items():
            if other.address == memory.address and other.end == memory.end:
                return {"buffer": known, "offset": address - other.address}
            if other.address < memory.end and memory.address < other.end:
                raise InputError(f"{name}: its memory is a part of that of {known}")
        while name in self.memories:
            name += "_"
        self.memories[name] = memory
        return {"buffer": name, "offset": address - memory.address}

    def write(self, folder: Path, number: int) -> Path:
        stem = f"{number:04}-{self.kernel}"
        ptx = folder / f"{self.kernel}-{hashlib.sha256(self.ptx.encode()).hexdigest()[:12]}.ptx"
        if not ptx.exists():
            ptx.write_text(self.ptx)
        buffers: Dict[str, Any] = {}
        for name, memory in self.memories.items():
            content = memory.content
            buffers[name] = {"dtype": dtype_name(content), "shape": [max(content.size, 1)]}
            if content.size == 0:
                continue
            if not self.unwritten.get(name):
                numpy.save(folder / f"{stem}.{name}.npy", _plain(content))
                buffers[name]["fill"] = f"file:{stem}.{name}.npy"
            buffers[name]["save"] = f"{stem}.{name}.after.npy"
            if self.addresses.get(name):
                buffers[name]["addresses"] = self.addresses[name]
        launch = {
            "file": ptx.name,
            "kernel": self.kernel,
            "device": self.device,
            "accept": self.accept,
            "grid": list(self.grid),
            "cluster": list(self.cluster),
            "shared": self.shared,
            "cooperative": self.cooperative,
            "programmatic": self.programmatic,
            "buffers": buffers,
            "args": self.args,
        }
        path = folder / f"{stem}.json"
        path.write_text(json.dumps(launch, indent=1) + "\n")
        return path

    def take_results(self, folder: Path, number: int) -> None:
        """What a run has left in the buffers goes where their contents came from."""
        stem = f"{number:04}-{self.kernel}"
        for name, memory in self.memories.items():
            if memory.content.size == 0:
                continue
            left = numpy.load(folder / f"{stem}.{name}.after.npy").view(memory.content.dtype)
            for each in self.addresses.get(name, []):  # those of the emulator mean nothing here
                left[each["element"]] = memory.content[each["element"]]
            memory.give_back(left)


def _plain(content: Any) -> Any:
    """As the program reads it: bool and what NumPy has no type for as unsigned numbers."""
    kind = content.dtype.kind
    return content if kind in "fiu" else content.view(f"u{content.dtype.itemsize}")


def emulate(path: Path, options: Optional[List[str]] = None) -> str:
    """Runs a launch or a folder of them. Raises KernelFault for a finding, InputError and others."""
    done = _run.run(["emulate", path, *(options or [])])
    if done.code == 1:
        raise KernelFault(f"{path.name}: {done.message}", 1)
    if done.code != 0:
        raise error_of(done.code, f"{path.name}: {done.message}")
    return done.output
