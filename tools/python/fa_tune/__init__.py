"""fa-tune from Python: searches for fast CUDA kernels, and proves that they are right.

The functions call the program, and read its JSON. `tune_kernel` and `run_kernel` take what Kernel
Tuner's do. README.md beside the package has examples.
"""

from . import accuracy, file_utils, kernelbuilder, kt, observers, strategies, util
from ._driver import Driver
from .api import Counts, Database, Race, Search, Verdict, bench, best, evolve, export, verify
from .compiled import CompiledKernel
from .errors import FaTuneError, InputError, Interrupted, MachineError, NothingPassed
from .kt.interface import run_kernel, tune_kernel
from .winner import Time, Winner

__all__ = [
    "CompiledKernel",
    "Counts",
    "Database",
    "Driver",
    "FaTuneError",
    "InputError",
    "Interrupted",
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
    "run_kernel",
    "strategies",
    "tune_kernel",
    "util",
    "verify",
]
