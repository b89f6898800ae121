#!/usr/bin/env python3
"""Takes each barrier and each wait out of kernels that Triton emitted, one at a time, and says which
of these faults the emulator finds.

    planted.py [FOLDER] [--out FILE.json]

FOLDER has launches as `fa-tune emulate` reads them; tests/triton where none is named. Needs neither
Triton nor NumPy. The program is that of FA_TUNE_PROGRAM, else tools/fa-tune.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("FA_TUNE_PROGRAM", ROOT / "tools" / "fa-tune")
# What orders: barriers, waits for copies and products, fences, and the loop around an mbarrier's
# test, without which nobody waits for it.
SYNC = re.compile(
    r"^\s*(?:@!?%\w+\s+)?(bar(?:rier)?(?:\.cta)?\.sync|cp\.async(?:\.bulk)?\.wait_(?:group|all)|"
    r"wgmma\.(?:wait_group|fence)|mbarrier\.try_wait|fence)\b"
)


def sites(lines):
    """Where something that orders begins and ends, and what it is."""
    found = []
    for i, line in enumerate(lines):
        match = SYNC.match(line)
        if not match:
            continue
        end = i + 1
        if match[1] == "mbarrier.try_wait":  # the branch back goes too
            end = next(j for j in range(i, len(lines)) if re.search(r"\bbra(\.uni)?\b", lines[j])) + 1
        found.append((i, end, match[1]))
    return found


def run(launch, ptx, schedules):
    """The exit code, and the finding in one line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in launch.parent.glob(f"{launch.stem}.*"):  # the launch and its inputs
            shutil.copy(file, folder)
        (folder / json.loads(launch.read_text())["file"]).write_text("\n".join(ptx) + "\n")
        words = [str(PROGRAM), "emulate", str(folder / launch.name), f"--schedules={schedules}"]
        done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stderr.strip().removeprefix("fa-tune: ")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "tests" / "triton")
    parser.add_argument("--schedules", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    twins, rows = [], []
    for launch in sorted(given.folder.glob("*.json")):
        ptx = (given.folder / json.loads(launch.read_text())["file"]).read_text().splitlines()
        code, finding = run(launch, ptx, given.schedules)
        twins.append({"launch": launch.stem, "accused": code != 0, "finding": finding})
        print(f"{launch.stem:<24} right twin: {'ACCUSED ' + finding if code else 'clean'}")
        for begin, end, what in sites(ptx):
            code, finding = run(launch, ptx[:begin] + ptx[end:], given.schedules)
            kind = finding.split(":")[0] if code else None
            rows.append({"launch": launch.stem, "line": begin + 1, "without": what, "found": kind, "finding": finding})
            print(f"    without line {begin + 1:<4} {what:<24} {kind or 'NOT FOUND'}")
    found = sum(row["found"] is not None for row in rows)
    accused = sum(twin["accused"] for twin in twins)
    print(f"{found} of {len(rows)} found, {accused} of {len(twins)} right twins accused")
    if given.out:
        about = {"device": "emulator", "date": str(datetime.date.today()), "schedules": given.schedules}
        given.out.write_text(json.dumps({**about, "right_twins": twins, "planted": rows}, indent=1) + "\n")
    return 0 if accused == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
