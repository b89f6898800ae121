"""Performance counters of single configs, read by Nsight Compute."""

from __future__ import annotations

import csv
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Sequence

from ..errors import InputError, MachineError
from ..kt.launches import Launches
from ..kt.observe import ProfilingObserver
from ..kt.packed_launches import PACKAGES, START, pack
from ..kt.results import Row

PROFILE_SECONDS = 1800.0
_PLACES = (
    "/usr/local/cuda/bin/ncu",
    "/usr/local/cuda-*/bin/ncu",
    "/opt/nvidia/nsight-compute/*/ncu",
)


def program() -> str:
    """Nsight Compute: that of FA_TUNE_NCU, else `ncu` in PATH, else where installers put it."""
    named = os.environ.get("FA_TUNE_NCU")
    home = os.environ.get("CUDA_HOME")
    places = [f"{home}/bin/ncu"] if home else []
    for place in _PLACES:
        places += sorted(glob.glob(place), reverse=True)
    for each in [named] if named else ["ncu", *places]:
        found = shutil.which(each)
        if found:
            return found
    raise MachineError(
        f"observers: NCUObserver needs Nsight Compute, and there is no program {named or 'ncu'}: "
        f"install it (it comes with the CUDA toolkit), or name it with FA_TUNE_NCU"
    )


class NCUObserver(ProfilingObserver):
    """Adds to each row the `metrics`, as `ncu --query-metrics` names them, in their base units.

    Every config is launched once more, under Nsight Compute, when the search is over; clocks and
    caches are left as they are. That is on the search's own GPU: `device` is taken for the sake of
    Kernel Tuner's scripts.
    """

    def __init__(self, metrics: Sequence[str], device: int = 0) -> None:
        listed = [] if isinstance(metrics, str) or metrics is None else list(metrics)
        if not listed or not all(re.fullmatch(r"[\w.:]+", str(each)) for each in listed):
            raise InputError(
                f"observers: NCUObserver expects a list of metrics' names, not {metrics!r}"
            )
        self.metrics = [str(each) for each in listed]

    def require(self) -> None:
        program()

    def profile(self, rows: Sequence[Row], configs: Sequence[Any], launches: Launches) -> None:
        with tempfile.TemporaryDirectory(prefix="fa-tune-") as name:
            pack(launches, configs, Path(name))
            number = launches.device.name.split(":")[1]
            said = _profiled(self.metrics, [sys.executable, "-c", START, PACKAGES, name, number])
        measured = table(said, self.metrics)
        if len(measured) != len(rows):
            raise MachineError(
                f"observers: Nsight Compute has profiled {len(measured)} launches of {len(rows)}"
            )
        for row, values in zip(rows, measured):
            row.update(values)


def _profiled(metrics: Sequence[str], launcher: Sequence[str]) -> str:
    words = [program(), "--config-file", "off", "--target-processes", "all"]
    words += ["--cache-control", "none", "--clock-control", "none", "--print-units", "base"]
    words += ["--csv", "--page", "raw", "--metrics", ",".join(metrics), *launcher]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "LC_ALL": "C"},
            timeout=PROFILE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise MachineError(
            f"observers: Nsight Compute takes more than {PROFILE_SECONDS:.0f} s"
        ) from None
    said = done.stdout.decode(errors="replace")
    told = said + done.stderr.decode(errors="replace")
    if "ERR_NVGPUCTRPERM" in told:
        raise MachineError(
            "observers: the driver lets this user read no performance counters "
            "(ERR_NVGPUCTRPERM): run as root, or give a container the capability SYS_ADMIN"
        )
    unknown = re.search(r"Failed to find metric[^\n]*", told)
    if unknown:
        raise InputError(f"observers: NCUObserver: Nsight Compute: {unknown.group()}")
    if done.returncode != 0:
        lines = [line for line in told.splitlines() if line.strip()] or ["it says nothing"]
        wrong = [line for line in lines if line.startswith("==ERROR==")]
        raise MachineError(
            f"observers: Nsight Compute ends with {done.returncode}: {(wrong or lines)[-1][:300]}"
        )
    return said


def table(said: str, metrics: Sequence[str]) -> List[Dict[str, float]]:
    """The metrics of each launch, from what `ncu --csv --page raw` prints: a row of heads, a row of
    units, and a row for each launch."""
    lines = said.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), len(lines))
    rows = list(csv.reader(line for line in lines[first:] if line.startswith('"')))
    if not rows:
        raise MachineError("observers: Nsight Compute has profiled nothing")
    heads = rows[0]
    for name in metrics:
        if name not in heads:
            raise InputError(f"observers: NCUObserver: Nsight Compute tells no {name} of this GPU")
    return [
        {name: _number(row[heads.index(name)], name) for name in metrics}
        for row in rows[1:]
        if row[0] and len(row) == len(heads)
    ]


def _number(text: str, name: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise MachineError(
            f"observers: Nsight Compute has no number for {name}: {text!r}"
        ) from None
