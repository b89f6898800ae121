"""Rows, as Kernel Tuner gives them and keeps them in its cache files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import InputError
from . import configs

Row = Dict[str, Any]

TIMINGS = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")
_FAILED = 1e20


def is_right(row: Mapping[str, Any]) -> bool:
    time = row.get("time")
    return isinstance(time, (int, float)) and not isinstance(time, bool) and time < _FAILED


def key_of(row: Mapping[str, Any], params: configs.Params) -> Tuple[Any, ...]:
    return tuple(row[name] for name in params)


def read_table(text: str, params: configs.Params, what: str) -> Tuple[Dict[str, Any], List[Row]]:
    """A cache file, whole or cut short, as what it says of itself and its rows."""
    document: Any = None
    for end in ("", "}}", "\n}}"):
        try:
            document = json.loads(text.rstrip().rstrip(",") + end if end else text)
            break
        except json.JSONDecodeError:
            continue
    if not isinstance(document, dict) or not isinstance(document.get("cache"), dict):
        raise InputError(f"{what}: is no cache file of Kernel Tuner")
    rows = []
    for row in document.pop("cache").values():
        if not isinstance(row, dict) or not all(name in row for name in params):
            raise InputError(f"{what}: has a row without all of {', '.join(params)}")
        rows.append({name: value for name, value in row.items() if name != "template"})
    return document, rows


def with_own_values(rows: Sequence[Row], params: configs.Params) -> None:
    """Puts the values of tune_params in the place of what JSON made of them."""
    known = {
        name: {json.dumps(value): value for value in values} for name, values in params.items()
    }
    for row in rows:
        for name in params:
            row[name] = known[name].get(json.dumps(row[name]), row[name])


def add_metrics(rows: Sequence[Row], metrics: Optional[Mapping[str, Any]]) -> None:
    if metrics is None:
        return
    if not isinstance(metrics, Mapping):
        raise InputError("metrics: expected a dict of texts and functions")
    for name, given in metrics.items():
        if isinstance(given, str):
            function: Callable[[Row], Any] = configs.of_text(given, f"metrics[{name!r}]")
        elif callable(given):
            function = given
        else:
            raise InputError(f"metrics[{name!r}]: expected a text or a function")
        for row in rows:
            try:
                row[name] = function(row)
            except (KeyError, NameError) as error:
                raise InputError(
                    f"metrics[{name!r}]: asks for {error}, which no row has; there are "
                    f"{', '.join(row)}"
                ) from None


def path_of_cache(given: Any) -> Path:
    text = os.fspath(given)
    return Path(text if text.endswith(".json") else text + ".json")


def load_cache(path: Path, kernel: str, params: configs.Params) -> List[Row]:
    """The rows of an earlier search of the same kernel. None yet: no file."""
    if not path.is_file():
        return []
    said, rows = read_table(path.read_text(encoding="utf-8"), params, f"cache: {path}")
    keys = said.get("tune_params_keys")
    if said.get("kernel_name") != kernel or (keys and set(keys) != set(params)):
        raise InputError(
            f"cache: {path} is of {said.get('kernel_name')} with {', '.join(keys or [])}, and this is "
            f"{kernel} with {', '.join(params)}; name another file"
        )
    with_own_values(rows, params)
    return rows


def write_cache(
    path: Path,
    device: str,
    kernel: str,
    problem_size: Any,
    params: configs.Params,
    objective: str,
    rows: Sequence[Row],
) -> None:
    """Whole or not at all: a reader never sees half a file."""
    head = {
        "device_name": device,
        "kernel_name": kernel,
        "problem_size": (
            problem_size if isinstance(problem_size, (int, str, list)) else str(problem_size)
        ),
        "tune_params_keys": list(params),
        "tune_params": dict(params),
        "objective": objective,
    }
    lines = []
    for row in rows:
        key = ",".join(str(value) for value in key_of(row, params))
        lines.append(f"{json.dumps(key)}: {json.dumps(row, default=str)}")
    text = json.dumps(head)[:-1] + ',\n"cache": {\n' + ",\n".join(lines) + "}}\n"
    made = path.with_name(path.name + f".{os.getpid()}")
    made.write_text(text, encoding="utf-8")
    os.replace(made, path)


def best_of(rows: Sequence[Row], objective: str, higher: bool) -> Row:
    chosen = max if higher else min
    for row in rows:
        if not isinstance(row.get(objective), (int, float)):
            raise InputError(f"objective: {objective!r} is no number of each row: {', '.join(row)}")
    return chosen(rows, key=lambda row: float(row[objective]))


def plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return value


def objective_of(objective: Any, higher: Optional[bool]) -> Tuple[str, bool]:
    """The number that rows are compared by, and whether more of it is better."""
    if isinstance(objective, (list, tuple)):
        if len(objective) != 1:
            raise InputError("objective: a search has one objective")
        objective = objective[0]
        higher = higher[0] if isinstance(higher, (list, tuple)) else higher
    known_higher = {"GFLOP/s": True, "TFLOP/s": True, "GB/s": True, "TB/s": True, "GFLOPS/W": True}
    wanted = "time" if objective is None else str(objective)
    if higher is None and wanted not in ("time", *known_higher):
        raise InputError("objective_higher_is_better: say which way is better for " + wanted)
    return wanted, known_higher.get(wanted, False) if higher is None else bool(higher)


def report(
    rows: Sequence[Row],
    params: configs.Params,
    objective: str,
    env: Mapping[str, Any],
    metrics: Optional[Mapping[str, Any]],
) -> None:
    """Prints the best row in a line."""
    if not rows:
        print("no results to report")
        return
    best = env["best_config"]
    kind = " (predicted)" if env["time_kind"] == "predicted" else ""
    shown = [f"{name}={best[name]}" for name in params if name in best]
    for name in dict.fromkeys([objective, "time", *(metrics or {})]):
        unit = " ms" if name == "time" else ""
        value = best[name]
        shown.append(f"{name}={value:.6g}{unit}" if isinstance(value, float) else f"{name}={value}")
    print(f"best of {len(rows)} by {objective}{kind}: {', '.join(shown)}")
