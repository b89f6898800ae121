#!/usr/bin/env python3
"""Takes each barrier, wait and fence out of kernels that Triton emitted, one at a time, and says
which of these faults the emulator finds.

    planted.py [FOLDER ...] [--schedules N] [--out FILE.json]

FOLDER has launches as `fa-tune emulate` reads them, or folders of such, as `tutorials.py --keep`
leaves them; tests/triton where none is named. Needs neither Triton nor NumPy. The program is that
of FA_TUNE_PROGRAM, else tools/fa-tune.

What is not found may be no fault: another barrier may order the same, or nothing may need an order.
So those of a launch that are not found are also taken out together, in sets as small as can be. And
the last one before anybody reads shared memory is marked: without it something is read that others
wrote.
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

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = os.environ.get("FA_TUNE_PROGRAM", ROOT / "tools" / "fa-tune")
# What orders: barriers, waits for copies and products, fences, and the loop around an mbarrier's
# test, without which nobody waits for it.
SYNC = re.compile(
    r"^\s*(?:@!?%\w+\s+)?(bar(?:rier)?(?:\.cta|\.warp)?\.sync|"
    r"cp\.async(?:\.bulk)?\.wait_(?:group|all)|"
    r"wgmma\.(?:wait_group|fence)|mbarrier\.try_wait|fence)\b"
)
READ = re.compile(r"^\s*(?:@!?%\w+\s+)?(ld\.shared|ldmatrix|wgmma\.mma_async)\b")


def launches(folders):
    """Each launch with its name."""
    for folder in folders:
        inner = sorted(path.parent for path in folder.glob("*/*.json"))
        for place in [folder, *dict.fromkeys(inner)]:
            for launch in sorted(place.glob("*.json")):
                yield launch, launch.stem if place == folder else f"{place.name}/{launch.stem}"


def ptx_of(launch):
    return (launch.parent / json.loads(launch.read_text())["file"]).read_text().splitlines()


def sites(lines):
    """Where something that orders begins and ends, and what it is."""
    found = []
    for i, line in enumerate(lines):
        match = SYNC.match(line)
        if not match:
            continue
        end = i + 1
        if match[1] == "mbarrier.try_wait":  # the branch back goes too
            back = re.compile(r"\bbra(\.uni)?\b")
            end = next(j for j in range(i, len(lines)) if back.search(lines[j])) + 1
        found.append((i, end, match[1]))
    return found


def before_first_read(lines, all_sites):
    """The number of the last site before an instruction reads shared memory, or none."""
    read = next((i for i, line in enumerate(lines) if READ.match(line)), -1)
    return max((n for n, (_, end, _) in enumerate(all_sites) if end <= read), default=None)


def without(lines, removed):
    gone = {i for begin, end, _ in removed for i in range(begin, end)}
    return [line for i, line in enumerate(lines) if i not in gone]


def run(launch, ptx, schedules):
    """The finding in one line, empty if there is none; stops where the launch cannot be run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in launch.parent.glob(f"{launch.stem}.*"):  # the launch and its data
            shutil.copy(file, folder)
        (folder / json.loads(launch.read_text())["file"]).write_text("\n".join(ptx) + "\n")
        words = [str(PROGRAM), "emulate", str(folder / launch.name), f"--schedules={schedules}"]
        done = subprocess.run(words, capture_output=True, text=True)
    said = done.stderr.strip().removeprefix("fa-tune: ")
    if done.returncode not in (0, 1) or said.startswith("unknown_instruction"):
        raise OSError(said)
    return said if done.returncode == 1 else ""


def found_together(launch, lines, missed, schedules):
    """Of sites that are not found alone: sets of them, each as small as can be, that are found."""

    def found(removed):
        return bool(run(launch, without(lines, removed), schedules))

    left, sets = list(missed), []
    while left and found(left):
        small = list(left)
        for site in left:
            rest = [other for other in small if other != site]
            if rest and found(rest):
                small = rest
        sets.append(small)
        left.remove(small[0])
    return sets


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="*", default=[ROOT / "tests" / "triton"])
    parser.add_argument("--schedules", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    twins, rows, refused = [], [], []
    for launch, name in launches(given.folders):
        ptx = ptx_of(launch)
        try:
            finding = run(launch, ptx, given.schedules)
        except OSError as failure:
            refused.append({"launch": name, "why": str(failure)})
            print(f"{name:<40} cannot be run: {failure}")
            continue
        twins.append({"launch": name, "accused": finding != "", "finding": finding})
        said = "ACCUSED " + finding if finding else "clean"
        print(f"{name:<40} right twin: {said}", flush=True)
        if finding:  # what is found without a barrier may be what is found with it
            continue
        all_sites = sites(ptx)
        first = before_first_read(ptx, all_sites)
        own = {}
        for number, site in enumerate(all_sites):
            finding = run(launch, without(ptx, [site]), given.schedules)
            own[site] = {"launch": name, "line": site[0] + 1, "without": site[2],
                         "before_first_read": number == first,
                         "found": finding.split(":")[0] or None, "finding": finding}  # fmt: skip
        missed = [site for site, row in own.items() if not row["found"]]
        for together in found_together(launch, ptx, missed, given.schedules):
            for site in together:
                others = [other[0] + 1 for other in together if other != site]
                own[site].setdefault("found_with", others)
        rows += own.values()
        for row in own.values():
            together = f"with {row['found_with']}" if "found_with" in row else "NOT FOUND"
            what = row["found"] or together
            print(f"    without line {row['line']:<5} {row['without']:<24} {what}", flush=True)
    found = sum(row["found"] is not None for row in rows)
    first = [row for row in rows if row["before_first_read"]]
    accused = sum(twin["accused"] for twin in twins)
    together = sum("found_with" in row for row in rows)
    first_found = sum(row["found"] is not None for row in first)
    print(
        f"{found} of {len(rows)} found, {together} more together with others;\n"
        f"of those before the first read {first_found} of {len(first)};\n"
        f"{accused} of {len(twins)} right twins accused, {len(refused)} not run"
    )
    if given.out:
        about = {"device": "emulator", "date": str(datetime.date.today())}
        about |= {"schedules": given.schedules, "not_run": refused}
        about |= {"right_twins": twins, "planted": rows}
        given.out.write_text(json.dumps(about, indent=1) + "\n")
    return 0 if accused == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
