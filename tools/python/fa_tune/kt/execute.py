"""Runs one config once, and hands back what it left in its arguments."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

import numpy

from .. import _run, winner
from .._driver import Driver
from ..errors import InputError
from . import arguments as args
from . import problem, source
from .devices import Device


def run(request: problem.Request, config: Mapping[str, Any], device: Device) -> List[Any]:
    """All arguments after one launch: arrays are new ones."""
    single = request._replace(params={name: [value] for name, value in config.items()})
    with tempfile.TemporaryDirectory(prefix="fa-tune-") as name:
        folder = Path(name)
        if device.is_emulator:
            return _emulate(single, config, folder, device)
        return _launch(single, config, folder, device)


def _outputs(arguments: Sequence[args.Argument], results: Mapping[str, Any]) -> List[Any]:
    return [results.get(each.name, each.value) for each in arguments]


def _launch(
    request: problem.Request, config: Mapping[str, Any], folder: Path, device: Device
) -> List[Any]:
    """On a GPU: the program compiles and tries it, and its machine code is launched here."""
    space = problem.write(request, folder, device.target)
    database = folder / "run.db"
    words = ["evolve", "--format=json", f"--space={space.path}", f"--device={device.name}"]
    done = _run.run([*words, f"--db={database}", "--budget=1", "--no-finals", "--warm=off"])
    if done.code != 0:
        raise InputError(f"the kernel does not run: {reasons(database) or done.message}")
    module = folder / "kernel.py"
    _run.checked(["export", "--as=torch", f"--db={database}", f"--out={module}"])
    kernel = winner.compiled(module)
    number = int(device.name.split(":")[1])
    Driver.get().enter(number)
    arrays = {each.name: each.value.reshape(-1).copy() for each in space.arguments if each.is_array}
    for name, value in request.constants.items():
        arrays[name] = numpy.ascontiguousarray(args.on_host(value, "cmem_args")).reshape(-1)
    kernel.on(number)(**{n: a for n, a in arrays.items() if n in kernel.tensors}, **_kept(kernel))
    shaped = {e.name: arrays[e.name].reshape(e.value.shape) for e in space.arguments if e.is_array}
    return _outputs(space.arguments, shaped)


def _kept(kernel: Any) -> Mapping[str, Any]:
    return {args.KEPT: numpy.zeros(1, numpy.int32)} if args.KEPT in kernel.tensors else {}


def reasons(database: Path) -> str:
    """Why the trials of a run failed, in a line."""
    if not database.is_file():
        return ""
    done = _run.run(["failures", "--format=json", f"--db={database}"])
    if done.code != 0:
        return ""
    found = _run.json_of(done.output)["reasons"]
    parts = [f"{each['count']} {each['finding']}: {each['message'][:200]}" for each in found[:3]]
    return "; ".join(parts)


def _with_c_name(text: str, kernel: str) -> str:
    """The emulator finds a kernel by its name in C."""
    if re.search(r'extern\s*"C"', text):
        return text
    pattern = rf"(__global__[^;{{}}()]*?(?:__launch_bounds__\s*\([^)]*\)[^;{{}}()]*?)?\b{re.escape(kernel)}\s*\()"
    return re.sub(pattern, r'extern "C" \1', text)


def _emulate(
    request: problem.Request, config: Mapping[str, Any], folder: Path, device: Device
) -> List[Any]:
    if request.constants:
        raise InputError("cmem_args: the emulator runs a single kernel without them")
    if "<" in request.kernel:
        raise InputError(
            f"kernel_name: the emulator runs no {request.kernel} by itself: it is a template's"
        )
    read = source.read(request.source, config, request.options)
    arguments = args.read(request.arguments, read.text, request.kernel, None)
    own = problem.definitions(request, read.text)
    file = folder / "kernel.cu"
    file.write_text(
        "\n".join([*own["lines"], _with_c_name(read.text, request.kernel)]), encoding="utf-8"
    )
    for name, text in read.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    grid, block, shared = request.geometry.of(config)
    words = [f"--kernel={request.kernel}", f"--shared={shared}", f"--include={folder}"]
    words += [f"--grid={','.join(map(str, grid))}", f"--block={','.join(map(str, block))}"]
    for name, value in {**config, **own["derived"]}.items():
        words.append(f"--define={name}={int(value) if isinstance(value, bool) else value}")
    return _outputs(arguments, emulated(file, words, arguments, folder, device))


def emulated(
    file: Path,
    words: Sequence[str],
    arguments: Sequence[args.Argument],
    folder: Path,
    device: Device,
) -> Dict[str, Any]:
    """The arrays after one launch of a kernel's file on the emulator, by name. `words` say which
    kernel, and with how many blocks and threads."""
    words = ["emulate", str(file), f"--device={device.target}", "--check=none", *words]
    dumps = []
    for i, each in enumerate(arguments):
        if not each.is_array:
            words.append(f"--arg={each.type}={_number(each)}")
            continue
        args._save(each.value, folder / f"in{i}.npy")
        kind = "u8" if each.type == "bool" else each.type
        words.append(f"--arg=inout:{kind}[{each.value.size}]=file:{folder / f'in{i}.npy'}")
        dumps.append(f"--dump={i}:{folder / f'out{i}.npy'}")
    _run.checked([*words, *dumps])
    results = {}
    for i, each in enumerate(arguments):
        if each.is_array:
            made = numpy.load(folder / f"out{i}.npy", allow_pickle=False)
            results[each.name] = made.astype(each.value.dtype).reshape(each.value.shape)
    return results


def key_of(config: Mapping[str, Any], names: Iterable[str]) -> Tuple[str, ...]:
    """A config as the database and a row have it alike."""
    return tuple(json.dumps(config.get(name)) for name in names)


def _number(argument: args.Argument) -> str:
    value = argument.value.item()
    return repr(value) if isinstance(value, float) else str(int(value))
