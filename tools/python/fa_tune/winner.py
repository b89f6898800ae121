"""A kernel that a search found, and how it becomes something to call."""

from __future__ import annotations

import ast
import base64
import gzip
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _run
from .compiled import CompiledKernel
from .errors import InputError


@dataclass(frozen=True)
class Time:
    """Microseconds, with an interval: of 95% where `kind` is measured, of 90% where the emulator has
    predicted them, which may lie beside the median."""

    median: float
    low: float
    high: float
    kind: str

    @classmethod
    def of(cls, interval: Mapping[str, Any]) -> "Time":
        low, high = interval.get("low"), interval.get("high")
        median = float(interval["median"])
        return cls(
            median,
            median if low is None else float(low),
            median if high is None else float(high),
            str(interval.get("kind", "measured")),
        )


@dataclass(frozen=True)
class Winner:
    """A trial that passed."""

    trial: int
    run: int
    config: Mapping[str, Any]
    time: Time
    db: Path
    stage: str = ""
    space: str = ""
    device: str = ""
    raw: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @classmethod
    def of_row(cls, row: Mapping[str, Any], db: Any) -> "Winner":
        return cls(
            trial=int(row["trial"]),
            run=int(row["run"]),
            config=dict(row["config"]),
            time=Time.of(row["time_us"]),
            db=Path(db),
            stage="final" if row.get("final") else "screen",
            space=str(row["space"]),
            device=str(row["device"]),
            raw=row,
        )

    def compile(self) -> CompiledKernel:
        """Its machine code as a function of PyTorch, CuPy and NumPy arrays, for the sizes tuned.

        Needs the GPU that it was compiled for. Nothing is built: the code is that which was gated.
        """
        with tempfile.TemporaryDirectory(prefix="fa-tune-") as folder:
            module = Path(folder) / "winner.py"
            _run.checked(
                [
                    "export",
                    "--as=torch",
                    f"--db={self.db}",
                    f"--trial={self.trial}",
                    f"--out={module}",
                ]
            )
            return compiled(module)


def compiled(module: Union[str, Path]) -> CompiledKernel:
    """The kernel of a file that `export --as torch` wrote. The file is read, not run."""
    tables = tables_of(Path(module).read_text(encoding="utf-8"))
    if len(tables["_CALLS"]) != 1:
        raise InputError(f"{module}: holds kernels for several sizes; export one trial")
    call = tables["_CALLS"][0]
    kernel = tables["_KERNELS"][call["kernel"]]
    if len(call["steps"]) != 1:
        raise InputError(
            f"{module}: is of several kernels, which compile() does not take so far; the file is a module for PyTorch"
        )
    step = call["steps"][0]
    return CompiledKernel(
        step["entry"], gzip.decompress(base64.b64decode(kernel["code"])), {**call, **step}
    )


def tables_of(text: str) -> Dict[str, List[Dict[str, Any]]]:
    """The two lists of an exported module, which are literals of Python."""
    found: Dict[str, List[Dict[str, Any]]] = {}
    for node in ast.parse(text).body:
        name = _assigned(node)
        if name is not None:
            found[name[0]] = ast.literal_eval(name[1])
    if len(found) != 2:
        raise InputError("no exported module: it has no _KERNELS and _CALLS")
    return found


def _assigned(node: ast.stmt) -> Optional[Tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        if node.targets[0].id in ("_KERNELS", "_CALLS"):
            return node.targets[0].id, node.value
    return None
