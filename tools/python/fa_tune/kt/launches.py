"""Launches configs of a finished search again, with the machine code that was gated and timed."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import numpy

from .. import _run, winner
from .._driver import Driver
from ..errors import InputError, MachineError
from . import arguments as args
from . import execute, problem
from .devices import Device


class Buffer:
    """Device memory with the contents of a host array, as CuPy's arrays show theirs."""

    def __init__(self, driver: Driver, number: int, host: Any) -> None:
        self.driver, self.host, self.device = driver, host, SimpleNamespace(id=number)
        self.address = driver.allocate(host.nbytes)
        self.fill()

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        return {
            "shape": self.host.shape,
            "typestr": self.host.dtype.str,
            "data": (self.address, False),
            "version": 3,
        }

    def fill(self) -> None:
        self.driver.to_device(self.address, self.host.ctypes.data, self.host.nbytes)

    def read(self) -> Any:
        result = numpy.empty_like(self.host)
        self.driver.to_host(result.ctypes.data, self.address, result.nbytes)
        return result


class Launches:
    """What the search of `request` left in `database`, config by config.

    On a GPU the inputs are copied there once, and only what the kernel writes is made fresh before
    a launch. Close it, or use it in a `with`, to free them.
    """

    def __init__(
        self,
        request: problem.Request,
        arguments: Sequence[args.Argument],
        device: Device,
        database: Path,
    ) -> None:
        self._request, self._arguments, self.device = request, arguments, device
        self._database = database
        self._trials = _trials(database, list(request.params))
        self.arrays = [each.is_array for each in arguments]
        self._there: Dict[str, Buffer] = {}
        self._trial = 0
        self._kernel: Any = None

    def __enter__(self) -> "Launches":
        return self

    def __exit__(self, *_: Any) -> None:
        for buffer in self._there.values():
            buffer.driver.free(buffer.address)
        self._there = {}

    def outputs(self, config: Mapping[str, Any], wanted: Sequence[bool]) -> List[Any]:
        """The wanted arguments as one launch leaves them; None in the place of all others."""
        trial = self._trials[execute.key_of(config, self._request.params)]
        if self.device.is_emulator:
            found = self._emulate(trial)
        else:
            self.start(config)
            self.wait()
            found = {
                each.name: self._there[each.name].read().reshape(each.value.shape)
                for each, asked in zip(self._arguments, wanted)
                if asked and each.is_array
            }
        return [
            found.get(each.name, each.value) if asked else None
            for each, asked in zip(self._arguments, wanted)
        ]

    def start(self, config: Mapping[str, Any]) -> None:
        """Launches it on the GPU with its inputs made fresh, and does not wait for its end."""
        trial = self._trials[execute.key_of(config, self._request.params)]
        if trial != self._trial:
            with tempfile.TemporaryDirectory(prefix="fa-tune-") as name:
                module = self.write_module(config, Path(name) / "kernel.py")
                self._trial, self._kernel = trial, winner.compiled(module)
        self._fill()
        self.again()

    def write_module(self, config: Mapping[str, Any], file: Path) -> Path:
        """A config's machine code, as `winner.compiled` reads it."""
        self._export("torch", self._trials[execute.key_of(config, self._request.params)], file)
        return file

    def inputs(self) -> Dict[str, Any]:
        """What a launch begins with: every array by the name that kernels know it by."""
        held = {each.name: each.value for each in self._arguments if each.is_array}
        for name, value in self._request.constants.items():
            held[name] = args.on_host(value, "cmem_args")
        held[args.KEPT] = numpy.zeros(1, numpy.int32)
        return {n: numpy.ascontiguousarray(each).reshape(-1) for n, each in held.items()}

    def again(self) -> None:
        """Launches the same once more, on what it left."""
        known = self._kernel.tensors
        self._kernel(**{name: each for name, each in self._there.items() if name in known})

    def running(self) -> bool:
        return not Driver.get().is_done(0)

    def wait(self) -> None:
        Driver.get().synchronize(0)

    def _export(self, form: str, trial: int, file: Path) -> None:
        words = ["export", f"--as={form}", f"--db={self._database}", f"--trial={trial}"]
        _run.checked([*words, f"--out={file}"])

    def _fill(self) -> None:
        driver, number = Driver.get(), int(self.device.name.split(":")[1])
        driver.enter(number)
        written = {each.name for each in self._arguments if each.written}
        if not self._there:
            self._there = {n: Buffer(driver, number, each) for n, each in self.inputs().items()}
            return
        for name in written & set(self._there):
            self._there[name].fill()

    def _emulate(self, trial: int) -> Dict[str, Any]:
        if self._request.constants:
            raise InputError("cmem_args: the emulator runs a single kernel without them")
        with tempfile.TemporaryDirectory(prefix="fa-tune-") as name:
            folder = Path(name)
            file = folder / "kernel.ptx"
            self._export("ptx", trial, file)
            told = _launch_of(file.read_text(encoding="utf-8"))
            words = [f"--kernel={told['entry']}", f"--shared={told['shared']}"]
            words += [f"--{what}={','.join(map(str, told[what]))}" for what in ("grid", "block")]
            return execute.emulated(file, words, self._arguments, folder, self.device)


def _trials(database: Path, params: Sequence[str]) -> Dict[Tuple[str, ...], int]:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        rows = connection.execute(
            "SELECT coalesce(duplicate_of, id), config FROM trials"
        ).fetchall()
    return {execute.key_of(json.loads(config), params): trial for trial, config in rows}


def _launch_of(ptx: str) -> Dict[str, Any]:
    """How an exported kernel is launched: JSON in its first comment."""
    lines = ptx.split("\n")
    begin, end = lines.index("// launch begin"), lines.index("// launch end")
    told: Dict[str, Any] = json.loads("\n".join(line[3:] for line in lines[begin + 1 : end]))
    if "steps" in told:
        raise MachineError("the kernel is of several steps, which is not run again here")
    return told
