"""Observers: of what Kernel Tuner's look at, the program records registers."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any, List, Optional, Sequence

from ..errors import InputError
from . import configs
from .results import Row


class BenchmarkObserver:
    """What others' observers derive from. Only those of this package are carried out."""


class RegisterObserver(BenchmarkObserver):
    """Adds `num_regs`, the registers of a thread, to each row."""


def wanted(given: Optional[Sequence[Any]]) -> List[str]:
    """The names of those that are known. All others are refused: nothing here would call them."""
    names: List[str] = []
    for each in given or []:
        if callable(each) and not isinstance(each, type):
            each = each()
        name = type(each).__name__
        if name != "RegisterObserver":
            raise InputError(
                f"observers: a {name} is not carried out here; there is RegisterObserver. Energy "
                f"and power of a run are in `fa-tune show`, counters in `fa-tune profile`"
            )
        names.append(name)
    return names


def add_registers(database: Path, rows: Sequence[Row], params: configs.Params) -> None:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        found = {}
        for config, registers in connection.execute("SELECT config, registers FROM trials"):
            values = json.loads(config)
            found[tuple(json.dumps(values.get(name)) for name in params)] = registers
    for row in rows:
        row["num_regs"] = found.get(tuple(json.dumps(row[name]) for name in params))
