"""tune_kernel's arguments as a space in a folder of its own, which the program then searches."""

from __future__ import annotations

import json
import random
import re
from functools import partial
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ..errors import InputError
from . import arguments as args
from . import configs, source
from .launch import Geometry

MOST_SOURCES = 500
_RESERVED = ("template", "problem", "device")
_CONVENTIONAL = ["kernel_tuner"] + [f"{what}_size_{x}" for what in ("block", "grid") for x in "xyz"]


class Request(NamedTuple):
    """What a kernel is, and with what it is called."""

    kernel: str
    source: Any
    arguments: Sequence[Any]
    params: configs.Params
    geometry: Geometry
    constants: Dict[str, Any]
    options: Sequence[str]
    defines: Optional[Mapping[str, Any]]


def check_params(params: Any) -> Dict[str, List[Any]]:
    """Names and values that the program can take, in plain Python's types."""
    if not isinstance(params, Mapping) or not params:
        raise InputError("tune_params: expected a dict with a list of values for each parameter")
    found: Dict[str, List[Any]] = {}
    for name, values in params.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise InputError(f"tune_params: {name!r} is no name for a #define")
        if name in _RESERVED:
            raise InputError(
                f"tune_params: '{name}' has a meaning of its own: give it another name"
            )
        if name.startswith("nvml_"):
            raise InputError(f"tune_params: '{name}' sets clocks or power, which is not done here")
        try:
            listed = [value.item() if hasattr(value, "item") else value for value in values]
        except TypeError:
            raise InputError(f"tune_params: expected a list of values for '{name}'") from None
        for value in listed:
            if not isinstance(value, (bool, int, str)):
                raise InputError(
                    f"tune_params: '{name}' has {value!r}: values are whole numbers, truths and "
                    f"texts; a real number goes as a text"
                )
        if not listed or isinstance(values, str):
            raise InputError(f"tune_params: '{name}' has no list of values")
        found[name] = list(dict.fromkeys(listed))
    return found


class Sources:
    """The source, or those that a function writes, each with the condition under which it is meant."""

    def __init__(self, request: Request, allowed: Sequence[str], most: Optional[int]) -> None:
        self.by_template: Dict[str, source.Source] = {}
        self.conditions: List[str] = []
        params, given = request.params, request.source
        first = {name: values[0] for name, values in params.items()}
        if not callable(given) or isinstance(given, Path):
            self.by_template["kernel"] = source.read(given, first, request.options)
            return
        passes = configs.passes(allowed)
        written: Dict[source.Source, List[Any]] = {}
        if configs.count(params) > configs.MOST_CONFIGS:
            raise InputError(
                "kernel_source: too many configs to ask a function for the code of each"
            )
        meant = [config for config in configs.product(params) if passes(config)]
        if most is not None and most < len(meant) and len(meant) > MOST_SOURCES:
            meant = random.Random(1).sample(meant, min(most, MOST_SOURCES))
            self.conditions.append(
                configs.members(list(params), [tuple(c.values()) for c in meant])
            )
        for config in meant:
            made = source.read(given, config, request.options)
            key = made._replace(files=tuple(sorted(made.files.items())))  # type: ignore[arg-type]
            written.setdefault(key, []).append(tuple(config.values()))
            if len(written) > MOST_SOURCES:
                break
        if not written:
            raise InputError("restrictions: no config is left")
        if len(written) > MOST_SOURCES:
            raise InputError(
                f"kernel_source: the function writes more than {MOST_SOURCES} different sources; let "
                f"#define lines decide what they can, or give a max_fevals below that"
            )
        for i, (key, listed) in enumerate(written.items()):
            name = "kernel" if len(written) == 1 else f"kernel_{i}"
            self.by_template[name] = key._replace(files=dict(key.files))
            if len(written) > 1:
                condition = configs.members(list(params), listed)
                self.conditions.append(f"template != '{name}' or {condition}")

    @property
    def any(self) -> source.Source:
        return next(iter(self.by_template.values()))


def definitions(request: Request, text: str) -> Dict[str, Any]:
    """#define lines that the text needs beside those of parameters: `lines`, and `derived` values
    that follow from a config."""
    lines = list(source.options_of(request.options)["defines"])
    derived: Dict[str, str] = {}
    if request.defines is None:
        for name in _CONVENTIONAL:
            if name in request.params or not re.search(rf"\b{name}\b", text):
                continue
            if re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b", text, re.M):
                continue  # the text has its own, for when nobody defines it
            if name == "kernel_tuner":
                lines.append("#define kernel_tuner 1")
                continue
            axis = "xyz".index(name[-1])
            size = request.geometry.block if name.startswith("block") else request.geometry.grid
            derived[name] = configs.number(partial(size, axis), request.params, name)
        return {"lines": lines, "derived": derived}
    for name, value in request.defines.items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise InputError(f"defines: {name!r} is no name for a #define")
        if name in request.params:
            continue  # every parameter is defined
        if callable(value):
            derived[name] = configs.number(value, request.params, f"defines[{name!r}]")
        elif re.search(r"[\r\n]", str(value)):
            raise InputError(f"defines: {name!r} has more than a line")
        else:
            lines.append(f"#define {name} {value}")
    return {"lines": lines, "derived": derived}


class Space(NamedTuple):
    path: Path
    arguments: List[args.Argument]


def write(
    request: Request,
    folder: Path,
    target: str,
    restrictions: Sequence[str] = (),
    answer: Optional[Sequence[Any]] = None,
    compared: bool = True,
    atol: float = 1e-6,
    excluded: Sequence[Any] = (),
    most: Optional[int] = None,
) -> Space:
    """Writes the space and all that it names. `excluded` are configs that are not to be tried; no more
    than `most` will be."""
    allowed = list(restrictions)
    if excluded:
        allowed.append(f"not {configs.members(list(request.params), excluded)}")
    sources = Sources(request, allowed, most)
    arguments = args.read(request.arguments, sources.any.text, request.kernel, request.constants)
    expected = args.answers(answer, arguments)
    if compared:
        args.check_answers(expected, arguments)
    else:
        expected = [None] * len(arguments)
    problem = args.described(folder, arguments, expected, request.constants)
    launch = request.geometry.texts(request.params)
    templates = {}
    for name, each in sources.by_template.items():
        templates[name] = _template(request, folder, name, each, launch, arguments)
    document: Dict[str, Any] = {
        "space": re.sub(r"\W+", "_", request.kernel).strip("_") or "kernel",
        "target": target,
        "problem": {
            "kind": "custom",
            "sizes": {"problem_size": 1},
            **problem,
            "tolerance": {"absolute": float(atol or 0), "relative": 1e-5},
        },
        "templates": templates,
        "parameters": dict(request.params),
    }
    constraints = allowed + sources.conditions
    if constraints:
        document["constraints"] = [{"python": text} for text in constraints]
    path = folder / "space.yaml"
    # A block of keys, so that the program can add to it the files that it carries.
    lines = [f"{name}: {json.dumps(value)}\n" for name, value in document.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return Space(path, arguments)


def _template(
    request: Request,
    folder: Path,
    name: str,
    each: source.Source,
    launch: Mapping[str, Any],
    arguments: Sequence[args.Argument],
) -> Dict[str, Any]:
    own = definitions(request, each.text)
    lines = "".join(line + "\n" for line in own["lines"])
    (folder / f"{name}.cu").write_text(
        f"{lines}#line 1\n{each.text}" if lines else each.text, encoding="utf-8"
    )
    for file, text in each.files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    manifest: Dict[str, Any] = {
        "source": f"{name}.cu",
        "kernel": request.kernel,
        "launch": launch,
        "arguments": [argument.name for argument in arguments],
    }
    if own["derived"]:
        manifest["derived"] = own["derived"]
        manifest["defines"] = list(own["derived"])
    kept = source.options_of(request.options)["kept"]
    return {**manifest, "options": kept} if kept else manifest
