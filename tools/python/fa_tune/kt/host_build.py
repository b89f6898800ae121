"""Host code as a shared library for each config: its source, its #define lines, its compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import InputError, MachineError
from . import problem, source

COMPILE_SECONDS = 600.0
MOST_THREADS = 1024  # of a block: no GPU takes more

_CUDA = re.compile(
    r"__global__|<<<|\bthreadIdx\b|__syncthreads\b|\bcuda(Mem|Malloc|Event|Stream|Device)\w*"
    r"|#[ \t]*include[ \t]*[<\"]cuda"
)
_TARGET = re.compile(
    r"--?(arch|code|gencode|gpu-architecture|gpu-code|generate-code)(=.*|[ \t].*)?"
)


class Code(NamedTuple):
    """What is the same for all configs."""

    request: problem.Request
    first: Any  # a text, a file or a function
    others: Sequence[Path]
    compiler: str
    options: Sequence[str]
    left: Sequence[str]  # options that are not passed on
    is_cuda: bool


class Built(NamedTuple):
    library: Optional[Path]  # None: the compiler refused it
    symbols: Sequence[str]  # names that the function may have in it
    reason: str
    ms: float


def _files(given: Any) -> List[Any]:
    files = list(given) if isinstance(given, (list, tuple)) else [given]
    if not files:
        raise InputError("kernel_source: the list is empty")
    for other in files[1:]:
        if not isinstance(other, (str, Path)) or not Path(other).is_file():
            raise InputError(f"kernel_source: {other!r} is no file; the first includes all others")
    return files


def _nvcc() -> str:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    places = [f"{home}/bin/nvcc"] if home else []
    for name in ["nvcc", *places, "/usr/local/cuda/bin/nvcc"]:
        found = shutil.which(name)
        if found:
            return found
    raise MachineError(
        "compiler: the host code is CUDA, and there is no nvcc in PATH, $CUDA_HOME/bin or "
        "/usr/local/cuda/bin: install the CUDA toolkit, or name one"
    )


def _named(compiler: Any) -> str:
    if not isinstance(compiler, (str, Path)) or not str(compiler).strip():
        raise InputError(f"compiler: expected a program's name or path, not {compiler!r}")
    found = shutil.which(str(compiler))
    if found is None:
        raise InputError(f"compiler: there is no program {str(compiler)!r}")
    return found


def prepare(request: problem.Request, compiler: Any) -> Code:
    """Reads what the request names, and chooses a compiler unless one is given: nvcc for CUDA, else
    $CXX or g++."""
    first, *others = _files(request.source)
    config = {name: values[0] for name, values in request.params.items()}
    code = source.read(first, config, request.options)
    texts = [code.text, *code.files.values()]
    is_cuda = code.suffix == ".cu" or any(
        _CUDA.search(source.blank_comments(each)) for each in texts
    )
    if compiler is not None:
        program = _named(compiler)
    else:
        program = _nvcc() if is_cuda else shutil.which(os.environ.get("CXX", "")) or _named("g++")
    options, left = _options(request.options, _is_nvcc(program))
    return Code(request, first, [Path(o) for o in others], program, options, left, is_cuda)


def _is_nvcc(program: str) -> bool:
    return Path(program).name.startswith("nvcc")


def _options(given: Sequence[str], is_nvcc: bool) -> Tuple[List[str], List[str]]:
    """Those that are passed on, and those that are not: nvcc compiles for the GPU that is there,
    since no other one runs the code."""
    if not is_nvcc:
        return ["-fPIC", *given], []
    kept: List[str] = []
    left: List[str] = []
    pending = list(given)
    while pending:
        option = pending.pop(0)
        found = _TARGET.fullmatch(option.strip())
        if found is None:
            kept.append(option)
            continue
        left.append(option)
        if found.group(2) is None and pending:  # its value is the next word
            left.append(pending.pop(0))
    return ["-Xcompiler=-fPIC", "-arch=native", *kept], left


def definitions(request: problem.Request, config: Mapping[str, Any]) -> Dict[str, Any]:
    """Name and value of each #define of a config."""
    defined: Dict[str, Any] = {}
    if request.defines is None:
        grid, block, _ = request.geometry.of(config)
        defined.update(zip(("grid_size_x", "grid_size_y", "grid_size_z"), grid))
        defined.update(zip(request.geometry.block_names, block))
        defined["kernel_tuner"] = 1
    for name, value in (request.defines or {}).items():
        if not isinstance(name, str) or not name.isidentifier():
            raise InputError(f"defines: {name!r} is no name for a #define")
        defined[name] = value(dict(config)) if callable(value) else value
        if re.search(r"[\r\n]", str(defined[name])):
            raise InputError(f"defines: {name!r} has more than a line")
    defined.update(config)
    return {n: int(v) if isinstance(v, bool) else v for n, v in defined.items()}


def fits(code: Code, config: Mapping[str, Any]) -> bool:
    """False for a block of threads that no GPU takes."""
    if not code.is_cuda:
        return True
    x, y, z = (int(code.request.geometry.block(axis, config)) for axis in range(3))
    return x * y * z <= MOST_THREADS


def build(code: Code, config: Mapping[str, Any], folder: Path) -> Built:
    """Compiles a config's library in `folder`, which it has for itself."""
    began = time.perf_counter()
    request = code.request
    read = source.read(code.first, config, request.options)
    lines = [f"#define {name} {value}" for name, value in definitions(request, config).items()]
    named = str(read.file or "kernel_source")
    text = "\n".join([*lines, f'#line 1 "{named}"', read.text, ""])
    suffix = read.suffix if read.suffix.startswith(".c") else ".cc"
    if _is_nvcc(code.compiler):
        suffix = ".cu"
    file, library = folder / f"host{suffix}", folder / "host.so"
    file.write_text(text, encoding="utf-8")
    places = dict.fromkeys([read.folder, *(other.parent for other in code.others), Path(".")])
    words = [code.compiler, str(file), "-shared", "-o", str(library)]
    words += [f"-I{place}" for place in places] + list(code.options)
    if any("CL/cl.h" in each for each in (read.text, *read.files.values())):
        words.append("-lOpenCL")
    reason = _refusal(words)
    ms = 1000 * (time.perf_counter() - began)
    if reason:
        return Built(None, (), reason, ms)
    return Built(library, _symbols(library, request.kernel), "", ms)


def _refusal(words: Sequence[str]) -> str:
    """Empty where the compiler has made its file."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMPILE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"the compiler takes more than {COMPILE_SECONDS:.0f} s"
    if done.returncode == 0:
        return ""
    said = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
    wrong = [line for line in said if re.search(r"\berror\b|undefined reference", line)]
    return (wrong or said or [f"the compiler ends with {done.returncode}"])[0].strip()


def _symbols(library: Path, function: str) -> List[str]:
    """The function's own name, and what C++ makes of it where it is not `extern "C"`."""
    mangled = rf"\0(_Z{len(function)}{re.escape(function)}\w*)(?=\0)"
    found = re.findall(mangled.encode(), library.read_bytes())
    return [function, *dict.fromkeys(name.decode() for name in found)]
