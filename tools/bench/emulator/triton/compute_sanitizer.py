#!/usr/bin/env python3
"""What compute-sanitizer finds of the faults that planted.py plants: on a GPU, with all of its tools.

    compute_sanitizer.py [FOLDER ...] [--first-reads] [--out FILE.json] [--jobs N]

FOLDERs as for planted.py. A fault counts as found where a tool reports something that it does not report
of the right twin, or the kernel never ends. Launches that cannot be run without it are left out, by name.
"""

import argparse
import datetime
import json
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import planted

LAUNCH = [sys.executable, str(Path(__file__).with_name("launch.py"))]
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
LONGEST_S = 60


def run_alone(launch):
    """Why it cannot be run; empty if it can."""
    try:
        done = subprocess.run([*LAUNCH, str(launch)], capture_output=True, text=True, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        return "hangs"
    return (done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1] if done.returncode else ""


def reported(launch, ptx, tool):
    """The kinds of findings, or that it hangs."""
    with tempfile.TemporaryDirectory() as name:
        for file in launch.parent.glob(f"{launch.stem}.*"):  # the launch and its data
            shutil.copy(file, name)
        (Path(name) / json.loads(launch.read_text())["file"]).write_text("\n".join(ptx) + "\n")
        words = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *LAUNCH]
        if tool == "racecheck":
            words[3:3] = ["--racecheck-report", "all"]
        try:
            done = subprocess.run([*words, str(Path(name) / launch.name)], capture_output=True, text=True, timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            return ["hangs"]
    if done.returncode == 0:
        return []
    lines = re.findall(r"^========= (?:Error: |Warning: )?((?!COMPUTE|  |ERROR SUMMARY|RACECHECK SUMMARY).+)$", done.stdout, re.M)
    return sorted({re.sub(r"0x[0-9a-f]+|\d+", "N", line)[:80] for line in lines})[:4] or [done.stderr.strip()[-120:]]


def cases_of(launch, first_reads):
    """What is taken out, its line, and the PTX without it: first nothing, which is the right twin."""
    ptx = planted.ptx_of(launch)
    sites = planted.sites(ptx)
    first = planted.before_first_read(ptx, sites)
    yield None, 0, ptx
    for number, site in enumerate(sites):
        if number == first or not first_reads:
            yield site[2], site[0] + 1, planted.without(ptx, [site])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="*", default=[planted.ROOT / "tests" / "triton"])
    parser.add_argument("--first-reads", action="store_true", help="only those before the first read of shared memory")
    parser.add_argument("--jobs", type=int, default=8, help="kernels under way at a time")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    left_out, twins, rows = {}, [], []
    with ThreadPoolExecutor(given.jobs) as pool:
        named = [(name, launch, pool.submit(run_alone, launch)) for launch, name in planted.launches(given.folders)]
        asked = []
        for name, launch, alone in named:
            if alone.result():
                left_out[name] = alone.result()
                print(f"{name:<40} left out: {left_out[name]}", flush=True)
                continue
            for what, line, ptx in cases_of(launch, given.first_reads):
                asked.append((name, what, line, {tool: pool.submit(reported, launch, ptx, tool) for tool in TOOLS}))
        for name, what, line, futures in asked:
            said = {tool: future.result() for tool, future in futures.items()}
            if what is None:
                twins.append({"launch": name, "accused": any(said.values()), "reported": said})
                print(f"{name:<40} right twin: {f'ACCUSED {said}' if twins[-1]['accused'] else 'clean'}", flush=True)
                continue
            new = {tool: kinds for tool, kinds in said.items() if kinds and kinds != twins[-1]["reported"][tool]}
            rows.append({"launch": name, "line": line, "without": what, "found": sorted(new), "reported": new})
            print(f"    without line {line:<5} {what:<24} {' '.join(new) or 'NOT FOUND'}", flush=True)
    found, accused = sum(bool(row["found"]) for row in rows), sum(twin["accused"] for twin in twins)
    print(f"{found} of {len(rows)} found, {accused} of {len(twins)} right twins accused; left out: {list(left_out)}")
    if given.out:
        version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout.split("\n")
        about = {"program": next((line for line in version if "ersion" in line), ""), "date": str(datetime.date.today())}
        about["device"] = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                                         capture_output=True, text=True).stdout.strip()  # fmt: skip
        given.out.write_text(json.dumps({**about, "left_out": left_out, "right_twins": twins, "planted": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
