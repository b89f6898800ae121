"""The process that loads host code and calls it, so that a crash, an exit or a hang ends no script.

It reads a line of JSON for each thing that it is to do, and answers with one.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
from typing import Any, BinaryIO, Dict, List, Optional, Sequence

from .._driver import Driver
from ..errors import MachineError

SCALARS: Dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


class _Memory:
    """The arrays of the caller, at addresses that a kernel on the GPU may use too."""

    def __init__(self, file: int, size: int, places: Sequence[Sequence[int]], gpu: int) -> None:
        self._map = mmap.mmap(file, size)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.driver: Optional[Driver] = None
        self.complaint = ""
        try:
            driver = Driver.get()
            driver.enter(gpu)
            self.driver = driver
            for start, length in places:
                driver.register_host(self.base + start, length)
        except MachineError as error:  # host code that uses no GPU runs without
            self.complaint = str(error)


def _function(library: str, names: Sequence[str]) -> Any:
    loaded = ctypes.CDLL(library)
    for name in names:
        function = getattr(loaded, name, None)
        if function is not None:
            function.restype = ctypes.c_float
            return function
    raise AttributeError(
        f'has no function {names[0]}: declare it as extern "C" float {names[0]}(...)'
    )


def _values(arguments: Sequence[Dict[str, Any]], memory: _Memory) -> List[Any]:
    return [
        (
            ctypes.c_void_p(memory.base + each["start"])
            if "start" in each
            else SCALARS[each["type"]](each["value"])
        )
        for each in arguments
    ]


def _call(function: Any, values: Sequence[Any], memory: _Memory) -> Dict[str, Any]:
    took = function(*values)
    if memory.driver is not None:
        try:
            memory.driver.synchronize(0)
        except MachineError as error:  # of a kernel: nothing runs in this process from now on
            return {"broken": f"leaves the GPU with an error: {error}"}
    return {"ms": took}


def serve(orders: BinaryIO, answers: BinaryIO, file: int) -> None:
    """Until `orders` ends. `file` is the memory that holds the arrays."""

    def answer(said: Dict[str, Any]) -> None:
        answers.write(json.dumps(said).encode() + b"\n")
        answers.flush()

    # A terminal's Ctrl-C reaches the script, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    setup = json.loads(orders.readline())
    memory = _Memory(file, setup["size"], setup["places"], setup["gpu"])
    values = _values(setup["arguments"], memory)
    answer({"complaint": memory.complaint})
    function: Any = None
    for line in orders:
        order = json.loads(line)
        if "library" in order:
            try:
                # It stays loaded: what has started threads must not be unloaded.
                function = _function(order["library"], order["names"])
                answer({})
            except (OSError, AttributeError) as error:
                answer({"failed": str(error)})
        else:
            answer(_call(function, values, memory))


def main(orders: int, answers: int, file: int) -> None:
    """The three are descriptors. Ends without the exit handlers of what was loaded."""
    with os.fdopen(orders, "rb") as told, os.fdopen(answers, "wb") as said:
        serve(told, said, file)
        os._exit(0)
