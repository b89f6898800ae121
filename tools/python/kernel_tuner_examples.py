#!/usr/bin/env python3
"""Runs Kernel Tuner's own examples for CUDA with their import changed, and prints a table.

  tools/python/kernel_tuner_examples.py FOLDER [--full] [--fevals N] [NAME...]

FOLDER has the .py and .cu files of Kernel Tuner's examples/cuda; they are not part of this project.
Each runs in a copy. Without --full sizes are made small enough for the emulator, in the script and
in the CUDA file alike, and FA_TUNE_MAX_FEVALS bounds each search.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, Tuple

HERE = Path(__file__).resolve().parent

# Of scripts and of the CUDA files that have the sizes too.
SMALL: Dict[str, List[Tuple[str, str]]] = {
    "": [(r"\b(8|1|10)_?000_?000_?0?\b", "10000"), (r"\b80000000\b", "10000")],
    "reduction": [(r"\b800000000\b", "100000")],
    "pnpoly": [(r"\b2e7\b", "2e4")],
    "convolution": [(r"\b4096\b", "128")],
    "sepconv": [(r"\b4096\b", "128")],
    "matmul": [(r"\b4096\b", "256"), (r"\(512, 512\)", "(256, 256)")],
    "stencil": [
        (r"\b4096\b", "256"),
        (r"\b2048\b", "128"),
        (r"\b4095\b", "255"),
        (r"\b2047\b", "127"),
    ],
    "spmv": [(r"128\*1024", "2*1024"), (r"0\.001", "0.01")],
    "zeromean": [(r"\b4391\b", "191"), (r"\b3539\b", "139")],
    "expdist": [(r"\b3000\b", "300"), (r"\b2000\b", "200")],
    "texture": [(r"\b1024\b", "128")],
}
# `time.clock` is gone since Python 3.8, and one of the scripts asks for it.
STARTER = """
import runpy, sys, time
if not hasattr(time, "clock"):
    time.clock = time.perf_counter
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
MODULES = ("pandas", "cupy", "pycuda", "jinja2", "pytest", "matplotlib")


def changed(text: str) -> str:
    """The import alone."""
    text = re.sub(
        r"^(\s*)import kernel_tuner$", r"\1import fa_tune as kernel_tuner", text, flags=re.M
    )
    text = re.sub(r"^(\s*)from kernel_tuner\b", r"\1from fa_tune", text, flags=re.M)
    return re.sub(r"^(\s*)import kernel_tuner\.", r"\1import fa_tune.", text, flags=re.M)


def shrunk(text: str, name: str) -> str:
    for start, rules in SMALL.items():
        if name.startswith(start):
            for pattern, small in rules:
                text = re.sub(pattern, small, text)
    return text


def end(child: subprocess.Popen) -> None:
    """Kills it and all that it has started: searches run in sessions of their own."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8") as file:
            parents[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
    found = [child.pid]
    for parent in found:  # grows as it goes
        found += [process for process, of in parents.items() if of == parent]
    for process in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    child.wait()


def run(script: Path, source: Path, arguments: argparse.Namespace) -> Tuple[str, str, float]:
    """The outcome, what it says, and how long it took."""
    work = source.parent / script.stem
    work.mkdir()
    for file in [*script.parent.glob("*.cu"), *script.parent.glob("*.py")]:
        text = changed(file.read_text(encoding="utf-8"))
        small = shrunk(shrunk(text, file.stem), script.stem)
        (work / file.name).write_text(text if arguments.full else small)
    environment = {**os.environ, "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}"}
    if arguments.fevals:
        environment["FA_TUNE_MAX_FEVALS"] = str(arguments.fevals)
    words = [sys.executable, "-c", STARTER, script.name]
    if script.name.startswith("test_"):
        words = [sys.executable, "-m", "pytest", "-q", script.name]
    began = time.perf_counter()
    pipe = subprocess.PIPE
    child = subprocess.Popen(words, cwd=work, env=environment, stdout=pipe, stderr=pipe, text=True)
    try:
        said, told = child.communicate(timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        end(child)
        return "timeout", f"more than {arguments.timeout} s", arguments.timeout
    seconds = time.perf_counter() - began
    (work / "log").write_text(said + told)
    if child.returncode == 0:
        best = [line for line in said.splitlines() if line.startswith("best of")]
        empty = "no results to report" in said
        return ("no result" if empty else "runs"), best[-1] if best else "", seconds
    last = (told.strip().splitlines() or said.strip().splitlines() or [""])[-1]
    missing = re.search(r"No module named '(\w+)", told + said)
    if missing and missing.group(1) in MODULES:
        return "needs a module", missing.group(1), seconds
    return "refused" if "InputError" in last else "fails", last, seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--full", action="store_true", help="the sizes that the scripts have")
    parser.add_argument("--fevals", type=int, default=6)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--keep", type=Path, help="a new folder for what they write")
    arguments = parser.parse_intermixed_args()
    scripts = sorted(arguments.folder.glob("*.py"))
    if arguments.names:
        scripts = [script for script in scripts if script.stem in arguments.names]
    counts: Dict[str, int] = {}
    print("| example | outcome | s | best, or why not |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "run"
        place.mkdir()
        for script in scripts:
            outcome, said, seconds = run(script, place / "source", arguments)
            counts[outcome] = counts.get(outcome, 0) + 1
            print(
                f"| {script.stem} | {outcome} | {seconds:.1f} | {said.replace('|', '/')[:200]} |",
                flush=True,
            )
        if arguments.keep:
            shutil.copytree(place, arguments.keep)
    print(f"\n{counts.get('runs', 0)} of {len(scripts)} run with their import changed: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
