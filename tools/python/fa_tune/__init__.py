"""fa-tune from Python: searches for fast CUDA kernels, and proves that they are right.

The functions call the program, and read its JSON. `tune_kernel` and `run_kernel` take what Kernel
Tuner's do. README.md beside the package has examples.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from . import accuracy, file_utils, kernelbuilder, kt, observers, strategies, util
    from ._driver import Driver
    from .api import Counts, Database, Race, Search, Verdict, bench, best, evolve, export, verify
    from .compiled import CompiledKernel
    from .errors import FaTuneError, InputError, Interrupted, KernelFault, MachineError
    from .errors import NothingPassed
    from .kt.interface import run_kernel, tune_kernel
    from .triton_hook import Array, record_triton
    from .winner import Time, Winner

# Each is imported when it is asked for: the command `fa-tune` goes through this file too, and is not
# to wait for NumPy.
_FOUND_IN = {
    "_driver": ["Driver"],
    "api": ["Counts", "Database", "Race", "Search", "Verdict"]
    + ["bench", "best", "evolve", "export", "verify"],
    "compiled": ["CompiledKernel"],
    "errors": ["FaTuneError", "InputError", "Interrupted", "KernelFault", "MachineError"]
    + ["NothingPassed"],
    "kt.interface": ["run_kernel", "tune_kernel"],
    "triton_hook": ["Array", "record_triton"],
    "winner": ["Time", "Winner"],
}
_MODULES = ["accuracy", "file_utils", "kernelbuilder", "kt", "observers", "strategies", "util"]

__all__ = [
    "Array",
    "CompiledKernel",
    "Counts",
    "Database",
    "Driver",
    "FaTuneError",
    "InputError",
    "Interrupted",
    "KernelFault",
    "MachineError",
    "NothingPassed",
    "Race",
    "Search",
    "Time",
    "Verdict",
    "Winner",
    "accuracy",
    "bench",
    "best",
    "evolve",
    "export",
    "file_utils",
    "kernelbuilder",
    "kt",
    "observers",
    "record_triton",
    "run_kernel",
    "strategies",
    "tune_kernel",
    "util",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    for module, names in _FOUND_IN.items():
        if name in names:
            return getattr(importlib.import_module("." + module, __name__), name)
    raise AttributeError(f"module 'fa_tune' has no attribute {name!r}")


def __dir__() -> List[str]:
    return __all__
