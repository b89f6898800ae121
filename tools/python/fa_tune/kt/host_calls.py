"""Calls host code in a process of its own, with arguments in memory that both processes see."""

from __future__ import annotations

import json
import math
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, BinaryIO, Dict, List, Optional, Sequence, Tuple

import numpy

from ..errors import InputError, MachineError
from .host_process import SCALARS

CALL_SECONDS = 60.0  # a call that takes longer hangs
START_SECONDS = 120.0
# Libraries are never unloaded, so that a process gets only so many.
MOST_LIBRARIES = 64

_MAIN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from fa_tune.kt.host_process import main; "
    "main(*map(int, sys.argv[2:]))"
)
_PACKAGES = str(Path(__file__).resolve().parents[2])


class Failed(Exception):
    """A config that cannot be used, and why."""


def check(given: Sequence[Any]) -> None:
    """Whether host code can be called with these: NumPy's arrays and scalars alone."""
    for i, value in enumerate(given):
        if isinstance(value, numpy.ndarray):
            if value.dtype.kind not in "biufc":
                raise InputError(f"arguments[{i}]: an array of {value.dtype} is not known here")
        elif not isinstance(value, numpy.generic):
            raise InputError(
                f"arguments[{i}]: host code takes NumPy arrays and scalars, not "
                f"{type(value).__module__}.{type(value).__name__}"
            )
        elif str(value.dtype) not in SCALARS:
            raise InputError(f"arguments[{i}]: a scalar of {value.dtype} is not known here")


class _Shared:
    """The arguments' arrays one after the other, each on pages of its own."""

    def __init__(self, given: Sequence[Any]) -> None:
        self.given = list(given)
        self.starts: List[Optional[int]] = []
        self._places: List[Tuple[int, int]] = []
        self.size = 0
        for value in given:
            is_array = isinstance(value, numpy.ndarray)
            self.starts.append(self.size if is_array else None)
            if is_array:
                pages = max(1, -(-value.nbytes // mmap.PAGESIZE))
                self._places.append((self.size, pages * mmap.PAGESIZE))
                self.size += pages * mmap.PAGESIZE
        self.size = max(self.size, mmap.PAGESIZE)
        self.file = os.memfd_create("fa-tune")
        try:
            os.ftruncate(self.file, self.size)
            self._map = mmap.mmap(self.file, self.size)
        except (OSError, ValueError) as error:
            raise MachineError(f"arguments: no memory for {self.size} bytes: {error}") from None
        self.arrays = [
            None if start is None else self._array(value, start)
            for value, start in zip(given, self.starts)
        ]

    def _array(self, value: Any, start: int) -> Any:
        order: Any = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return numpy.ndarray(value.shape, value.dtype, self._map, start, order=order)

    def fill(self) -> None:
        for value, array in zip(self.given, self.arrays):
            if array is not None:
                array[...] = value

    def setup(self, gpu: int) -> Dict[str, Any]:
        """What the process is told of them."""
        arguments: List[Dict[str, Any]] = [
            {"type": str(value.dtype), "value": value.item()} if start is None else {"start": start}
            for value, start in zip(self.given, self.starts)
        ]
        return {"size": self.size, "arguments": arguments, "places": self._places, "gpu": gpu}

    def close(self) -> None:
        os.close(self.file)


class Caller:
    """Calls the functions of libraries, one after the other. Use it in a `with`.

    `gpu` is the device's number. What the called code prints goes to no terminal: its last line is
    told where it fails.
    """

    def __init__(self, arguments: Sequence[Any], gpu: int) -> None:
        self._shared = _Shared(arguments)
        self._gpu = gpu
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._orders: Optional[BinaryIO] = None
        self._answers = -1
        self._heard = b""
        self._libraries = 0
        self._said = tempfile.TemporaryFile("a+b")
        self.complaint = ""  # why a kernel cannot use the arrays where they are

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *_: Any) -> None:
        self._end()
        self._shared.close()
        self._said.close()

    def load(self, library: Path, names: Sequence[str]) -> None:
        """The function that is called from now on: the first of these names that there is."""
        if self._libraries >= MOST_LIBRARIES:
            self._end()
        if self._process is None:
            self._start()
        os.ftruncate(self._said.fileno(), 0)
        self._libraries += 1
        answer = self._ask({"library": str(library), "names": list(names)}, CALL_SECONDS)
        if "failed" in answer:
            raise Failed(answer["failed"])

    def fill(self) -> None:
        """Gives every argument the value that the caller gave it."""
        self._shared.fill()

    def call(self) -> float:
        """The milliseconds that the function returns. Raises Failed."""
        answer = self._ask({}, CALL_SECONDS)
        if "broken" in answer:
            self._end()
            raise Failed(answer["broken"])
        took = float(answer["ms"])
        if math.isnan(took) or took < 0:
            raise Failed(f"returns {took:g} for its time{self._last_words()}")
        return took

    def outputs(self, wanted: Sequence[bool]) -> List[Any]:
        """Copies of the wanted arguments as the last call left them; None for all others."""
        return [
            (value if array is None else array.copy(order="K")) if asked else None
            for value, array, asked in zip(self._shared.given, self._shared.arrays, wanted)
        ]

    def _start(self) -> None:
        orders, to_child = os.pipe()
        from_child, answers = os.pipe()
        handed = (orders, answers, self._shared.file)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, _PACKAGES, *map(str, handed)],
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                pass_fds=handed,
                start_new_session=True,
            )
        finally:
            os.close(orders)
            os.close(answers)
            self._orders, self._answers = os.fdopen(to_child, "wb"), from_child
        self._libraries, self._heard = 0, b""
        try:
            self.complaint = self._ask(self._shared.setup(self._gpu), START_SECONDS)["complaint"]
        except Failed as error:
            raise MachineError(f"the process that calls host code {error}") from None

    def _ask(self, order: Dict[str, Any], seconds: float) -> Dict[str, Any]:
        assert self._orders is not None
        try:
            self._orders.write(json.dumps(order).encode() + b"\n")
            self._orders.flush()
        except BrokenPipeError:
            pass  # it has ended: so says its answer
        until = time.monotonic() + seconds
        while b"\n" not in self._heard:
            ready, _, _ = select.select([self._answers], [], [], max(0, until - time.monotonic()))
            if not ready:
                self._end()
                raise Failed(f"does not end within {seconds:g} s")
            piece = os.read(self._answers, 65536)
            if not piece:
                raise Failed(self._ending())
            self._heard += piece
        line, _, self._heard = self._heard.partition(b"\n")
        answer: Dict[str, Any] = json.loads(line)
        return answer

    def _ending(self) -> str:
        assert self._process is not None
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:
            code = 0
        self._end()
        if code >= 0:
            return f"ends the process with exit code {code}{self._last_words()}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"crashes ({name}){self._last_words()}"

    def _last_words(self) -> str:
        size = os.fstat(self._said.fileno()).st_size
        tail = os.pread(self._said.fileno(), 4096, max(0, size - 4096))
        lines = tail.decode(errors="replace").strip().splitlines()
        return f": {lines[-1].strip()[:200]}" if lines else ""

    def _end(self) -> None:
        """Kills it with all that it has started."""
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        if self._orders is not None:
            try:
                self._orders.close()
            except BrokenPipeError:
                pass
        os.close(self._answers)
        self._process = self._orders = None
