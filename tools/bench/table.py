#!/usr/bin/env python3
"""Prints tables of the pages in these folders from the data under tools/bench/results, so that no figure is typed by hand.

  tools/bench/table.py
"""

import glob
import json
import os

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")


def load(pattern):
    return [json.load(open(path)) for path in sorted(glob.glob(os.path.join(RESULTS, pattern)))]


def mission(folder):
    runs = load(f"{folder}/sdpa-*.json")
    if not runs:
        return
    first = runs[0]
    print(f"{first['device']}, {first['software']}, {first['date']}; {first['method']}.\n")
    print("| " + " | ".join(["", *(f"seed {i + 1}: us [95%]" for i in range(len(runs))), "x fa-tune"]) + " |")
    print("| " + " | ".join(["---"] * (len(runs) + 2)) + " |")
    for name in [row["name"] for row in first["rows"]]:
        rows = [next(row for row in run["rows"] if row["name"] == name) for run in runs]
        cells = ["{:.2f} [{:.2f}, {:.2f}]".format(row["us"], *row["us_interval"]) for row in rows]
        ratios = [row["times_fa_tune"] for row in rows]
        ratio = f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else f"{ratios[0]:.2f}"
        print("| " + " | ".join([name, *cells, "" if name == "fa-tune" else ratio]) + " |")
    print()
    for i, run in enumerate(runs):
        config = " ".join(f"{name} {value}" for name, value in run["configs"]["fa-tune"].items())
        print(f"Seed {i + 1}: {config}\n")


def agreement():
    """The runs of each pair of devices together; a run has its own seed."""
    pairs = {}
    for run in load("agree/*.json"):
        pairs.setdefault(tuple(run["devices"]), []).append(run)
    for devices, runs in pairs.items():
        total = {key: sum(run[key] for run in runs) for key in ("variants", "same_verdict", "elements")}
        identical = sum(run["identical_share"] * run["elements"] for run in runs) / total["elements"]
        worst = max(run["worst_difference_over_bound"] for run in runs)
        print(
            f"{devices[0]} and {devices[1]}: same verdict for {total['same_verdict']} of "
            f"{total['variants']} random variants, {100 * identical:.2f}% of {total['elements']} "
            f"output elements identical, largest difference {worst:.2f} of what the gate allows.\n"
        )


def minutes(seconds):
    return f"{seconds // 60}:{seconds % 60:02}"


def fresh_clone():
    runs = load("fresh_clone/*.json")
    if not runs:
        return
    print("| cores | compiler | to the first trial | `tools/test` | of that tests | date |")
    print("| --- | --- | --- | --- | --- | --- |")
    for run in runs:
        cells = [str(run["cores"]), run["compiler"], minutes(run["to_first_trial_s"]), minutes(run["test_s"])]
        cells += [f"{minutes(run['of_that_ctest_s'])} ({run['tests']})", run["date"]]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    for folder in ("mission", "mission/causal"):
        mission(folder)
    agreement()
    fresh_clone()
