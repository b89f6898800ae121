#!/usr/bin/env python3
"""What compute-sanitizer finds of the faults that planted.py plants: on a GPU, with all of its tools.

    compute_sanitizer.py [FOLDER] [--out FILE.json] [--jobs N]

FOLDER as for planted.py. A fault counts as found where a tool reports something that it does not report
of the right twin, or the kernel never ends. Launches with tensor maps are left out, by name.
"""

import argparse
import array
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

sys.path.insert(0, str(planted.ROOT / "tools" / "python"))
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SIZES = {"f16": 2, "u16": 2, "f32": 4, "i32": 4}
LONGEST_S = 60


def launch_on_gpu(file):
    """Runs the launch once. What numbers its inputs hold decides nothing here: they are small ones."""
    import ctypes

    from fa_tune._driver import Driver

    told = json.loads(file.read_text())
    driver = Driver.get()
    driver.enter(0)
    ptx = (file.parent / told["file"]).read_bytes() + b"\0"
    _, kernel = driver.load(ptx, told["kernel"])
    threads = [int(n) for n in re.search(rb"\.reqntid\s+([\d, ]+)", ptx)[1].split(b",")]
    buffers = {}
    for name, buffer in told["buffers"].items():
        count, size = buffer["shape"][0], SIZES[buffer["dtype"]]
        buffers[name] = driver.allocate(count * size)
        if "fill" in buffer:
            one = {"f16": 0x3C00, "f32": 1.0}.get(buffer["dtype"], 0)
            content = array.array({2: "H", 4: "f" if buffer["dtype"] == "f32" else "i"}[size])
            content.extend([0 if buffer["fill"] == "zeros" else one] * count)
            driver.to_device(buffers[name], content.buffer_info()[0], count * size)
    c_types = {"i32": ctypes.c_int32, "u64": ctypes.c_uint64, "i64": ctypes.c_int64, "f32": ctypes.c_float}
    values = []
    for each in told["args"]:
        if isinstance(each, dict):
            values.append(ctypes.c_uint64(buffers[each["buffer"]] + each["offset"]))
        else:
            kind, number = each.split("=")
            values.append(c_types[kind](float(number) if kind == "f32" else int(number)))
    pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    sizes = [*told.get("grid", [1, 1, 1]), *(threads + [1, 1])[:3]]
    driver.call("cuLaunchKernel", kernel, *sizes, told.get("shared", 0), None, pointers, None)
    driver.synchronize(0)


def reported(launch, ptx, tool):
    """The kinds of findings, or that it hangs."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(launch, name)
        (Path(name) / json.loads(launch.read_text())["file"]).write_text("\n".join(ptx) + "\n")
        words = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", sys.executable, __file__, "--launch"]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=planted.ROOT / "tests" / "triton")
    parser.add_argument("--jobs", type=int, default=8, help="kernels under way at a time")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--launch", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.launch:
        return launch_on_gpu(given.launch)
    cases, left_out = [], []
    for launch in sorted(given.folder.glob("*.json")):
        if '"map"' in launch.read_text():
            left_out.append(launch.stem)
            continue
        ptx = (given.folder / json.loads(launch.read_text())["file"]).read_text().splitlines()
        cases.append((launch, "right twin", 0, ptx))
        for begin, end, what in planted.sites(ptx):
            cases.append((launch, what, begin + 1, ptx[:begin] + ptx[end:]))
    with ThreadPoolExecutor(given.jobs) as pool:
        futures = [[pool.submit(reported, case[0], case[3], tool) for tool in TOOLS] for case in cases]
        said = [{tool: future.result() for tool, future in zip(TOOLS, each)} for each in futures]
    of_twin = {case[0].stem: each for case, each in zip(cases, said) if case[1] == "right twin"}
    twins = [{"launch": name, "accused": any(each.values()), "reported": each} for name, each in of_twin.items()]
    rows = []
    for (launch, what, line, _), each in zip(cases, said):
        if what == "right twin":
            continue
        new = {tool: kinds for tool, kinds in each.items() if kinds and kinds != of_twin[launch.stem][tool]}
        rows.append({"launch": launch.stem, "line": line, "without": what, "found": sorted(new), "reported": new})
        print(f"{launch.stem:<24} without line {line:<4} {what:<24} {' '.join(new) or 'NOT FOUND'}")
    found, accused = sum(bool(row["found"]) for row in rows), sum(twin["accused"] for twin in twins)
    for twin in twins:
        print(f"{twin['launch']:<24} right twin: {'ACCUSED ' + str(twin['reported']) if twin['accused'] else 'clean'}")
    print(f"{found} of {len(rows)} found, {accused} of {len(twins)} right twins accused; left out: {left_out}")
    if given.out:
        version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout.split("\n")
        about = {"program": next((line for line in version if "ersion" in line), ""), "date": str(datetime.date.today())}
        about["device"] = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                                         capture_output=True, text=True).stdout.strip()  # fmt: skip
        given.out.write_text(json.dumps({**about, "left_out": left_out, "right_twins": twins, "planted": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
