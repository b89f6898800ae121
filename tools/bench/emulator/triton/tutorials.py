#!/usr/bin/env python3
"""Runs the kernels of Triton's tutorials on the emulator, and compares them with NumPy.

    tutorials.py FOLDER [--arch sm_80 ...] [--case NAME ...] [--out FILE.json]

FOLDER has your own copies of Triton's python/tutorials. Needs Triton and NumPy, and no GPU.
"""

import argparse
import datetime
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3] / "python")]

import fa_tune  # noqa: E402
import triton  # noqa: E402
from cases import CASES, grouped_gemm  # noqa: E402
from kernels import load  # noqa: E402


def attempt(case, module, arch, folder, options=()):
    begin = time.monotonic()
    with fa_tune.record_triton(folder, arch, options=options) as launches:
        grouped_gemm.launches = launches
        error, allowed = case(module, arch)
    return {"error": error, "allowed": allowed, "right": bool(error <= allowed), "launches": len(launches.files),
            "seconds": round(time.monotonic() - begin, 2)}  # fmt: skip


def run(case, module, arch, folder):
    row = {"case": case.__name__, "arch": arch, "finding": None, "right": False}
    try:
        try:
            row.update(attempt(case, module, arch, folder))
        except fa_tune.KernelFault as fault:  # its numbers may be right on the emulator all the same
            row["finding"] = str(fault).splitlines()[0]
            row.update(attempt(case, module, arch, folder / "unchecked", ["--check=none"]))
    except Exception as failure:  # what one kernel meets says nothing of the others
        row["message"] = f"{type(failure).__name__}: {str(failure).splitlines()[0]}"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", nargs="+", default=["sm_80", "sm_89", "sm_90"])
    parser.add_argument("--case", nargs="+", help="the names of some cases alone")
    parser.add_argument("--keep", type=Path, help="a folder for the launches")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for tutorial, cases in CASES.items():
        wanted = [case for case in cases if not given.case or case.__name__ in given.case]
        file = given.folder / f"{tutorial}.py"
        if not wanted or not file.exists():
            if wanted:
                print(f"{file}: is not there", file=sys.stderr)
            continue
        module = load(file)
        for case in wanted:
            for arch in given.arch:
                with tempfile.TemporaryDirectory() as folder:
                    kept = given.keep / f"{case.__name__}-{arch}" if given.keep else Path(folder)
                    row = run(case, module, arch, kept)
                rows.append({"tutorial": tutorial, **row})
                what = row.get("message") or f"error {row['error']:.2g}, allowed {row['allowed']:.2g}"
                verdict = "right" if row["right"] else "WRONG"
                found = f"\n    {row['finding']}" if row["finding"] else ""
                print(f"{case.__name__:<30} {arch}  {verdict}  {what}{found}", flush=True)
    if given.out:
        about = {"device": "emulator", "triton": triton.__version__, "date": str(datetime.date.today())}
        given.out.write_text(json.dumps({**about, "cases": rows}, indent=1) + "\n")
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
