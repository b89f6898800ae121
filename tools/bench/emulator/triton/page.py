#!/usr/bin/env python3
"""Prints the tables of the page beside the results on Triton's kernels.

    page.py [--results FOLDER]

Each barrier that is not found, not even with others, must have its reason in not_found.json.
"""

import argparse
import json
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "results" / "triton"
ARCHS = ("sm_80", "sm_89", "sm_90")


def table(titles, rows):
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def of(part, rows):
    return f"{part} of {len(rows)}"


def told(row):
    if row is None:
        return ""
    if "message" in row:
        return "not run"
    found = row["finding"].split(": ")[1] if row["finding"] else ""
    return ", ".join(word for word in ("right" if row["right"] else "wrong", found) if word)


def tutorials(runs):
    cells = [{(row["case"], row["arch"]): row for row in run["cases"]} for run in runs]
    titles = ["case", "largest difference", "allowed"]
    for run in runs:
        titles += [f"{run['triton']}: {ARCHS[0]}", *ARCHS[1:]]
    rows = []
    for case in dict.fromkeys(row["case"] for row in runs[0]["cases"]):
        here = [row for run in runs for row in run["cases"] if row["case"] == case]
        worst = max((row for row in here if "error" in row), key=lambda row: row["error"])
        said = [told(of_run.get((case, arch))) for of_run in cells for arch in ARCHS]
        rows.append([case, f"{worst['error']:.2g}", f"{worst['allowed']:.2g}", *said])
    lines = [table(titles, rows)]
    for run in runs:
        right = sum(row["right"] for row in run["cases"])
        found = sum(bool(row["finding"]) for row in run["cases"])
        lines.append(
            f"Triton {run['triton']}, {run['date']}: {of(right, run['cases'])} right; "
            f"in {found} a finding."
        )
    return lines


def counts(rows):
    """How many are found alone, and how many more with others."""
    return sum(bool(row["found"]) for row in rows), sum("found_with" in row for row in rows)


def totals(run):
    rows = run["planted"]
    found, together = counts(rows)
    first = [row for row in rows if row["before_first_read"]]
    first_found = sum(bool(row["found"]) for row in first)
    accused = sum(twin["accused"] for twin in run["right_twins"])
    return [
        f"Emulator, {run['date']}, schedules: {run['schedules']}. Found alone {of(found, rows)}, "
        f"{together} more with others.",
        f"Of those before the first read of shared memory: found {of(first_found, first)}.",
        f"Right twins accused: {of(accused, run['right_twins'])}; launches that could not be run: "
        f"{len(run['not_run'])}.",
    ]


def of_sanitizer(run, other):
    """What compute-sanitizer finds of the same faults."""
    asked = {(row["launch"], row["line"]) for row in other["planted"]}
    same = [row for row in run["planted"] if (row["launch"], row["line"]) in asked]
    theirs_found = sum(bool(row["found"]) for row in other["planted"])
    accused = sum(twin["accused"] for twin in other["right_twins"])
    return [
        f"Of the {len(same)} that compute-sanitizer was asked about it finds {theirs_found}, "
        f"the emulator {counts(same)[0]}.",
        f"compute-sanitizer: {other['device']}, {other['date']}.",
        f"Right twins that it accuses: {of(accused, other['right_twins'])}; launches left out: "
        f"{len(other['left_out'])}.",
    ]


def on_gpu(run):
    """What kernels left on a GPU, beside the emulator."""
    rows = []
    for arch in ARCHS:
        here = [row for row in run["launches"] if row["launch"].split("/")[0].endswith(arch)]
        same = sum(row["largest_difference"] == 0 for row in here)
        worst = max(here, key=lambda row: row["largest_difference"])
        apart = "{largest_difference:.2g} of {largest_value:.2g}".format(**worst) if same < len(here) else "0"
        rows.append([arch, of(same, here), apart])
    titles = ["compiled for", "launches with the same bits", "largest difference, of the largest value"]
    return [table(titles, rows), f"{run['device']}, {run['date']}."]


def first_reads(run, other):
    """Those before the first read of shared memory, by what is taken out."""
    rows = []
    for what in dict.fromkeys(row["without"] for row in other["planted"]):
        ours = [row for row in run["planted"] if row["before_first_read"] and row["without"] == what]
        theirs = [row for row in other["planted"] if row["without"] == what]
        found = [sum(bool(row["found"]) for row in each) for each in (ours, theirs)]
        rows.append([what, of(found[0], ours), of(found[1], theirs)])
    titles = ["before the first read", "emulator", "compute-sanitizer"]
    return [table(titles, rows), *of_sanitizer(run, other)]


def planted_tutorials(run):
    cells = {}
    for row in run["planted"]:
        case, arch = row["launch"].split("/")[0].rsplit("-", 1)
        cells.setdefault(case, {}).setdefault(arch, []).append(row)
    rows = []
    for case, by_arch in cells.items():
        said = []
        for arch in ARCHS:
            here = by_arch.get(arch)
            said.append("{} + {} of {}".format(*counts(here), len(here)) if here else "")
        rows.append([case, *said])
    return [table(["case", *ARCHS], rows), *totals(run)]


def planted_small(run, other):
    rows = []
    for launch in dict.fromkeys(row["launch"] for row in run["planted"]):
        here = [row for row in run["planted"] if row["launch"] == launch]
        theirs = [row for row in other["planted"] if row["launch"] == launch]
        theirs_found = sum(bool(row["found"]) for row in theirs)
        beside = of(theirs_found, theirs) if theirs else ""
        rows.append([launch, len(here), *counts(here), beside])
    titles = ["kernel", "taken out", "found alone", "more with others", "compute-sanitizer"]
    return [table(titles, rows), *totals(run), *of_sanitizer(run, other)]


def not_found(runs, reasons):
    missed = {
        (row["launch"], row["line"])
        for run in runs
        for row in run["planted"]
        if not row["found"] and "found_with" not in row
    }
    places = [place for each in reasons for place in each["where"].items()]
    given = [(launch, line) for launch, lines in places for line in lines]
    if sorted(given) != sorted(missed):
        odd = sorted(set(given) ^ missed) or "what is there twice"
        raise SystemExit(f"not_found.json: each that is not found has one reason; look at {odd}")
    rows = []
    for each in reasons:
        kernels = dict.fromkeys(launch.split("/")[0].rsplit("-", 1)[0] for launch in each["where"])
        number = sum(len(lines) for lines in each["where"].values())
        rows.append([number, "yes" if each["fault"] else "no", each["why"], ", ".join(kernels)])
    return [table(["not found", "a fault", "why", "kernels"], rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    folder = parser.parse_args().results

    def read(name):
        return json.loads((folder / f"{name}.json").read_text())

    small, large = read("planted"), read("planted_tutorials")
    parts = tutorials([read("tutorials"), read("tutorials_3_5")])
    parts += on_gpu(read("outputs"))
    parts += planted_tutorials(large)
    parts += first_reads(large, read("compute_sanitizer_tutorials"))
    parts += planted_small(small, read("compute_sanitizer"))
    parts += not_found([small, large], read("not_found"))
    print("\n\n".join(parts))


if __name__ == "__main__":
    sys.exit(main())
