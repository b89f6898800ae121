#!/usr/bin/env python3
"""The table of tools/bench/emulator/clock/fresh, and its data without what the model says of each kernel.

    tools/bench/emulator/clock/fresh_table.py FOLDER OUT.json.gz    # FOLDER: with predicted_NAME.json
    tools/bench/emulator/clock/fresh_table.py OUT.json.gz           # the table again
    tools/bench/emulator/clock/fresh_table.py summary OUT.json.gz... # a line for each seed and family
    tools/bench/emulator/clock/fresh_table.py chance OUT.json.gz...  # how likely a near predicted best is, by the errors' spread
    tools/bench/emulator/clock/fresh_table.py BEFORE.json.gz AFTER.json.gz GENE    # how much faster the same kernels became, by a gene
"""
import glob
import gzip
import json
import math
import os
import random
import statistics
import sys

KEPT = ("config", "median_us", "interval_us", "sm_mhz", "predicted_us", "not_modelled")
# Families in this order, shapes as in the script.
FAMILIES = ("mma", "wgmma", "l4", "a100")


def row_of(row):
    kept = {name: row[name] for name in KEPT if name in row}
    interval = row.get("detail", {}).get("interval", {})
    return {**kept, "low_us": interval.get("low_us"), "high_us": interval.get("high_us")}


def collect(folder):
    sets = {}
    for path in glob.glob(os.path.join(folder, "predicted_*.json")):
        with open(path) as file:
            data = json.load(file)
        name = os.path.basename(path)[len("predicted_"):-len(".json")]
        rows = [row_of(row) for row in data["rows"]]
        about = {key: data[key] for key in ("space", "shape", "seed", "template", "genes", "sms", "drawn", "skipped", "device", "driver", "compiler", "date")}
        sets[name] = {**about, "rows": rows}
    return dict(sorted(sets.items(), key=lambda each: (FAMILIES.index(each[0].split("_")[0]), -len(each[1]["rows"]), each[0])))


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0] * len(values)
    for rank, index in enumerate(order):
        result[index] = rank
    return result


def spearman(a, b):
    if len(a) < 3:
        return float("nan")
    x, y = ranks(a), ranks(b)
    return statistics.correlation(x, y)


def table(sets):
    print("| kernels, shape (B, H, L, D), SMs | variants | Spearman | of the fastest tenth | error, median | predicted, of measured"
          " | inside the interval | regret of the predicted best |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, each in sets.items():
        rows = [row for row in each["rows"] if "predicted_us" in row]
        if not rows:
            continue
        measured = [row["median_us"] for row in rows]
        predicted = [row["predicted_us"] for row in rows]
        errors = [math.log(p / m) for p, m in zip(predicted, measured)]
        fastest = sorted(rows, key=lambda row: row["median_us"])[:max(3, len(rows) // 10)]
        inside = [row["low_us"] <= row["median_us"] <= row["high_us"] for row in rows if row["low_us"] is not None]
        pick = min(rows, key=lambda row: row["predicted_us"])
        print(f"| {name.split('_')[0]}: {each['shape'].replace(',', ', ')}, {each['sms']} | {len(rows)} of {len(each['rows'])} "
              f"| {spearman(measured, predicted):.3f} "
              f"| {spearman([row['median_us'] for row in fastest], [row['predicted_us'] for row in fastest]):.2f} of {len(fastest)} "
              f"| {100 * statistics.median(map(abs, errors)):.1f}% | {math.exp(statistics.median(errors)):.2f} "
              f"| {100 * sum(inside) / max(len(inside), 1):.0f}% | {100 * (pick['median_us'] / min(measured) - 1):.1f}% |")


def read(path):
    with gzip.open(path) as file:
        return json.load(file)


def key(row):
    return json.dumps(row["config"], sort_keys=True)


def compare(before, after, gene):
    values = sorted({row["config"][gene] for each in after.values() for row in each["rows"]})
    print(f"| shape | {' | '.join(f'`{value}`' for value in values)} | fastest of all, us |")
    print("| --- " * (len(values) + 2) + "|")
    for name, each in after.items():
        old = {key(row): row["median_us"] for row in before[name]["rows"]}
        cells = []
        for value in values:
            gains = [100 * (old[key(row)] / row["median_us"] - 1) for row in each["rows"]
                     if row["config"][gene] == value and key(row) in old]
            cells.append(f"{statistics.median(gains):.1f}%, {max(gains):.1f}% of {len(gains)}" if gains else "")
        fastest = min(old.values()), min(row["median_us"] for row in each["rows"])
        print(f"| {each['shape'].replace(',', ', ')} | {' | '.join(cells)} | {fastest[0]:.1f}, {fastest[1]:.1f} |")


TRIES = 300
NEAR = 1.05  # the predicted best takes at most so many times as long as the measured one


def summary_cell(sets, family):
    """How many predicted bests are near the measured ones, of how many sets; Spearman, the lowest; the spread of errors."""
    of_sets = [[row for row in each["rows"] if "predicted_us" in row] for name, each in sets.items() if name.split("_")[0] == family]
    of_sets = [rows for rows in of_sets if rows]  # some files have what was timed alone
    if not of_sets:
        return ""
    times = [([row["median_us"] for row in rows], [row["predicted_us"] for row in rows]) for rows in of_sets]
    picks = [measured[predicted.index(min(predicted))] / min(measured) for measured, predicted in times]
    lowest = min(spearman(measured, predicted) for measured, predicted in times)
    spreads = [statistics.pstdev(math.log(p / m) for m, p in zip(measured, predicted)) for measured, predicted in times]
    return (f"{sum(pick <= NEAR for pick in picks)} of {len(picks)}, {100 * (max(picks) - 1):.1f}% | {lowest:.3f} | "
            f"{100 * statistics.median(spreads):.1f}%")


def summary(paths):
    print("| seed | mma: best within 5%, farthest | Spearman, lowest | spread | wgmma: best within 5%, farthest | Spearman, lowest | spread |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for path in paths:
        sets = read(path)
        cells = [summary_cell(sets, family) or " | | " for family in ("mma", "wgmma")]
        if any(cell.strip(" |") for cell in cells):
            print(f"| {next(iter(sets.values()))['seed']} | {cells[0]} | {cells[1]} |")


def chance(paths):
    times = [[row["median_us"] for row in each["rows"]] for path in paths for name, each in read(path).items() if name.split("_")[0] in ("mma", "wgmma")]
    draws = random.Random(1)
    print(f"| independent errors of | predicted best within 5%, of {len(times)} sets | of all sets of 18 |")
    print("| --- | --- | --- |")
    for percent in (5, 4, 3, 2):
        near = []
        for measured in times:
            picks = [min(measured, key=lambda us: us * math.exp(draws.gauss(0, percent / 100))) for _ in range(TRIES)]
            near.append(sum(pick <= NEAR * min(measured) for pick in picks) / TRIES)
        print(f"| {percent}% | {100 * statistics.mean(near):.0f}% | {100 * math.exp(18 * statistics.mean(map(math.log, near))):.0f}% |")


def main():
    by_name = {"summary": summary, "chance": chance}
    if len(sys.argv) > 2 and sys.argv[1] in by_name:
        by_name[sys.argv[1]](sys.argv[2:])
        return
    if len(sys.argv) == 4:
        compare(read(sys.argv[1]), read(sys.argv[2]), sys.argv[3])
        return
    if len(sys.argv) == 3:
        sets = collect(sys.argv[1])
        # Without a time in the header, so that the same data make the same file.
        with open(sys.argv[2], "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            packed.write(json.dumps(sets).encode())
    elif len(sys.argv) == 2:
        sets = read(sys.argv[1])
    else:
        sys.exit(__doc__)
    table(sets)


if __name__ == "__main__":
    main()
