"""Arguments as Kernel Tuner takes them, as the program's, with .npy files for what arrays hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import numpy

from ..errors import InputError
from . import source

TYPES = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "uint16": "u16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "bool": "bool",
    "complex64": "complex64",
    "complex128": "complex128",
}
# An output that the kernel is not given: a problem has one at least, and all others may be unchecked.
KEPT = "fa_tune_kept"


class Argument(NamedTuple):
    name: str
    type: str
    value: Any  # a NumPy array, or a scalar
    written: bool

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, numpy.ndarray)


def on_host(value: Any, what: str) -> Any:
    """As NumPy has it: of CuPy and PyTorch a copy."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return value.detach().cpu().numpy()
    if type(value).__module__.split(".")[0] == "cupy":
        return value.get()
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return value
    if type(value).__name__ in ("TunablePrecision", "Tunable"):
        raise InputError(
            f"{what}: a {type(value).__name__}, whose type a parameter chooses, is not known here"
        )
    raise InputError(f"{what}: expected a NumPy array or scalar, not {type(value).__name__}")


def read(
    given: Sequence[Any], text: str, kernel: str, constants: Optional[Dict[str, Any]]
) -> List[Argument]:
    declared = source.parameters(text, kernel)
    if declared is not None and len(declared) != len(given):
        raise InputError(
            f"arguments: {len(given)} are given, and {kernel} has {len(declared)} parameters: "
            f"{', '.join(each.name for each in declared)}"
        )
    found: List[Argument] = []
    taken = set(constants or {})
    for i, value in enumerate(given):
        host = on_host(value, f"arguments[{i}]")
        kind = TYPES.get(str(host.dtype))
        if kind is None:
            raise InputError(f"arguments[{i}]: the type {host.dtype} is not known here")
        if host.shape and host.size == 0:  # a buffer has an element, here one that nobody may read
            host = numpy.zeros(1, host.dtype)
        name = declared[i].name if declared else f"argument_{i}"
        if not name.isidentifier() or name in taken or name.startswith("fa_tune_"):
            name = f"argument_{i}"
        taken.add(name)
        found.append(Argument(name, kind, host, declared[i].written if declared else True))
    return found


def _save(array: Any, path: Path) -> None:
    numpy.save(path, numpy.ascontiguousarray(array).reshape(-1), allow_pickle=False)


def buffer(folder: Path, name: str, kind: str, array: Any, **more: Any) -> Dict[str, Any]:
    _save(array, folder / f"{name}.npy")
    fill = {"file": f"{name}.npy"}
    return {"name": name, "type": kind, "shape": [int(array.size)], "fill": fill, **more}


def scalar(argument: Argument) -> Dict[str, Any]:
    value = argument.value.item()
    if isinstance(value, complex):
        value = [value.real, value.imag]
    elif isinstance(value, float) and value != value or value in (float("inf"), float("-inf")):
        raise InputError(f"arguments: '{argument.name}' is {value}, which no search can be told")
    return {"name": argument.name, "type": argument.type, "value": value}


def answers(given: Optional[Sequence[Any]], arguments: Sequence[Argument]) -> List[Any]:
    """The expected values, argument by argument; None where nothing is said."""
    if given is None:
        return [None] * len(arguments)
    if len(given) != len(arguments):
        raise InputError(
            f"answer: has {len(given)} elements, and there are {len(arguments)} arguments"
        )
    found: List[Any] = []
    for i, (value, argument) in enumerate(zip(given, arguments)):
        if value is None:
            found.append(None)
            continue
        host = numpy.asarray(
            value.item() if isinstance(value, numpy.generic) else on_host(value, f"answer[{i}]")
        )
        found.append(host if host.size > 0 else None)
    return found


def check_answers(found: Sequence[Any], arguments: Sequence[Argument]) -> None:
    """Of those that are compared element by element."""
    for i, (expected, argument) in enumerate(zip(found, arguments)):
        if expected is None:
            continue
        if not argument.is_array:
            raise InputError(f"answer[{i}]: is for '{argument.name}', which is a scalar")
        if expected.size != argument.value.size:
            raise InputError(
                f"answer[{i}]: has {expected.size} elements, and '{argument.name}' has {argument.value.size}"
            )


def described(
    folder: Path, arguments: Sequence[Argument], expected: Sequence[Any], constants: Dict[str, Any]
) -> Dict[str, Any]:
    """The members `arguments` and `expected` of the problem; writes the files that they name."""
    listed: List[Dict[str, Any]] = []
    results: Dict[str, str] = {}
    for argument, answer in zip(arguments, expected):
        if not argument.is_array:
            listed.append(scalar(argument))
            continue
        role = "inout" if answer is not None else "unchecked" if argument.written else "input"
        listed.append(buffer(folder, argument.name, argument.type, argument.value, role=role))
        if answer is not None:
            results[argument.name] = f"{argument.name}.expected.npy"
            _save(answer.astype(argument.value.dtype), folder / results[argument.name])
    for name, value in constants.items():
        host = numpy.atleast_1d(on_host(value, f"cmem_args[{name!r}]"))
        listed.append(buffer(folder, name, TYPES[str(host.dtype)], host, constant=True))
    if not results:
        listed.append(
            {"name": KEPT, "type": "i32", "shape": [1], "role": "inout", "fill": {"value": 0}}
        )
        results[KEPT] = f"{KEPT}.npy"
        _save(numpy.zeros(1, numpy.int32), folder / results[KEPT])
    return {"arguments": listed, "expected": results}
