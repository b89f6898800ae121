"""Launches of many configs from a folder, by a process of its own that a profiler can watch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping, Sequence

import numpy

from .. import winner
from .._driver import Driver
from .launches import Buffer, Launches

# What a Python is to run: with PACKAGES, the folder and the GPU's number.
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from fa_tune.kt.packed_launches import launch_all; launch_all(sys.argv[2], int(sys.argv[3]))"
)
PACKAGES = str(Path(__file__).resolve().parents[2])


def pack(launches: Launches, configs: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Writes the configs' machine code and their inputs."""
    for i, config in enumerate(configs):
        launches.write_module(config, folder / f"{i}.py")
    arrays = launches.inputs()
    for i, array in enumerate(arrays.values()):
        numpy.save(folder / f"{i}.npy", array, allow_pickle=False)
    listed = {"configs": len(configs), "arrays": list(arrays)}
    (folder / "launches.json").write_text(json.dumps(listed), encoding="utf-8")


def launch_all(name: str, number: int) -> None:
    """Launches each config of the folder once, in their order, and nothing else; `number` is the
    GPU's."""
    folder, driver = Path(name), Driver.get()
    listed = json.loads((folder / "launches.json").read_text(encoding="utf-8"))
    driver.enter(number)
    there = {
        array: Buffer(driver, number, numpy.load(folder / f"{i}.npy", allow_pickle=False))
        for i, array in enumerate(listed["arrays"])
    }
    for i in range(listed["configs"]):
        kernel = winner.compiled(folder / f"{i}.py")
        for buffer in there.values() if i else []:
            buffer.fill()
        kernel(**{each: buffer for each, buffer in there.items() if each in kernel.tensors})
        driver.synchronize(0)
