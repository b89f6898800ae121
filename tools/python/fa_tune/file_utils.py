"""Files of results, as the tuning community exchanges them (T4)."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any, Dict, Mapping, Sequence, Union

from . import _run
from .kt.results import TIMINGS

PathLike = Union[str, "os.PathLike[str]"]


def _path(name: PathLike) -> Path:
    text = os.fspath(name)
    return Path(text if text.endswith(".json") else text + ".json")


def store_output_file(
    output_filename: PathLike,
    results: Sequence[Mapping[str, Any]],
    tune_params: Mapping[str, Any],
    objective: str = "time",
) -> None:
    """Writes the rows of a search as a T4 file."""
    rows = []
    for row in results:
        times = {name.replace("_time", ""): row.get(name, 0) for name in TIMINGS}
        times["runtimes"] = row.get("times", [])
        measured = [n for n in row if n not in (*tune_params, *TIMINGS, "times", "timestamp")]
        rows.append(
            {
                "timestamp": str(row.get("timestamp", "")),
                "configuration": {name: row[name] for name in tune_params},
                "times": times,
                "invalidity": "correct",
                "correctness": 1,
                "measurements": [
                    {"name": n, "value": row[n], "unit": "ms" if n == "time" else ""}
                    for n in measured
                ],
                "objectives": [objective],
            }
        )
    document = {"schema_version": "1.0.0", "results": rows}
    _path(output_filename).write_text(json.dumps(document, indent=1, default=str), encoding="utf-8")


def store_metadata_file(metadata_filename: PathLike) -> None:
    """Writes what a search ran on, as `doctor` tells it."""
    said = _run.run(["doctor"]).output.splitlines()
    found: Dict[str, Any] = {"hardware": {"host": platform.uname()._asdict()}}
    found["environment"] = {"python": platform.python_version(), "doctor": said}
    document = {"metadata": found}
    _path(metadata_filename).write_text(json.dumps(document, indent=1), encoding="utf-8")
