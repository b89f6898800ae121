#!/usr/bin/env python3
"""Makes the page of what grid.py measured: a section a file, with tables cell by cell and a drawing.

  tools/bench/attention/page.py                          (all of results/attention_grid; the page lies beside them)
  tools/bench/attention/page.py GRID.json ... --out FOLDER

Writes cells.md and for each GRID.json a GRID.svg. Every figure is of the file; what is made of others here (a ratio whose
blocks were not kept) is marked as such. Needs nothing but Python.
"""

import argparse
import glob
import json
import os
import sys
import textwrap

from shapes import flop, geomean
from drawing import drawing

RESULTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "results", "attention_grid")
WIDTH = 100
OURS = "fa-tune"
# Dense TFLOP/s of the tensor cores by NVIDIA's data sheets, SXM: 132 SMs x 4096 flop a clock (e4m3: 8192) x 1.83 GHz.
PEAK = {"fp16": 989, "bf16": 989, "e4m3": 1979}
PEAK_OF = ("NVIDIA H100 80GB HBM3", "NVIDIA H200")

HEAD = """\
# Attention, cell by cell

Made by `tools/bench/attention/page.py` from the JSON files beside it; not to be edited. A section is a file: one run of
`grid.py` beside that, which says how it measures; `README.md` here says where each file's candidates come from.

- A cell is (B, H, L, D), or (B, H, Lq x L, D) where queries are fewer than keys. `us` are microseconds a launch, medians of
  a race with 95% bootstrap intervals.
- TFLOP/s count 4 B H Lq L D operations, of a causal cell half. The peak is 989 dense fp16 TFLOP/s (e4m3: 1979), an H100
  SXM's at its boost clock of 1.83 GHz. Under long loads its clock is lower, under short ones up to 1.98 GHz.
- Ratios are times over fa-tune's: above 1 fa-tune is faster. `x best` is against the fastest of the cell's backends, `x FA2`
  against FlashAttention-2 (`sdpa flash`), `x FA4` against FlashAttention-4, `x flex` against FlexAttention. They are
  medians over blocks of the race, with 95% bootstrap intervals; `~`: the blocks were not kept, so it is a quotient of
  medians, and its interval is what the ends of theirs allow. `sustained`: each alone for seconds, a quotient without an
  interval, against the fastest of those that ran so.
- `of limit`: the longest of what the tensor cores (4096 flop a clock and SM, e4m3 8192), the exponentials (16 a clock and
  SM) and the memory (each tensor once, as fast as a copy in the same process) would take alone, over the sustained time,
  at the clock (`MHz`) that the GPU had then.
- In e4m3 the backends have the same values in fp16, and the best of them may be fa-tune's own fp16 kernel, which races too.
- `best found`: a template, and a number that stands for the genes in the list below the tables.
"""


def refuse(text):
    print(f"page.py: {text}", file=sys.stderr)
    sys.exit(2)


def load(path):
    """A race of grid.py; None for other files of the folder: candidates, searches."""
    try:
        with open(path) as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        refuse(f"{path}: {error}; expected what grid.py writes")
    rows = data.get("rows") if isinstance(data, dict) else None
    if not rows or not all("us_interval" in row for row in rows):
        return None
    return {"dtype": "fp16"} | data | {"rows": [{"Lq": row["L"]} | row for row in rows]}


def cell_name(row):
    lengths = row["L"] if row["Lq"] == row["L"] else f"{row['Lq']} x {row['L']}"
    return f"{row['B']}, {row['H']}, {lengths}, {row['D']}{' causal' if row['causal'] else ''}"


def ratio(row, rival):
    """(times of the rival over ours, low, high, whether it was taken block by block); None if it did not race"""
    if rival not in row["us"]:
        return None
    for figure, of in (("speedup", row["best_backend"]), ("speedup_flash", "sdpa flash"), ("speedup_flex", "flex"), ("speedup_fa4", "fa4")):
        if of == rival and figure in row:
            return (row[figure], *row[f"{figure}_interval"], True)
    (low, high), (own_low, own_high) = row["us_interval"][rival], row["us_interval"][OURS]
    return (row["us"][rival] / row["us"][OURS], low / own_high, high / own_low, False)


def sustained(row):
    times = row.get("sustained_us")
    return times and min(us for name, us in times.items() if name != OURS) / times[OURS]


def limit_text(row):
    """The nearest physical limit, and how much of the sustained time it is."""
    limits = row.get("limits_us")
    if not limits:
        return None
    name = max(limits, key=limits.get)
    return f"{limits[name] / row['sustained_us'][OURS]:.0%} {name}"


def us_text(us):
    return f"{us:.2f}" if us < 100 else f"{us:.1f}"


def ratio_text(found):
    return found and "{}{:.3f} [{:.3f}, {:.3f}]".format("" if found[3] else "~", *found[:3])


def short(name):
    return name.removeprefix("sdpa ")


def numbered(rows):
    """Each row's label, `wgmma 3`, and by label the genes it stands for."""
    labels, configs, seen = [], {}, {}
    for row in rows:
        config = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in row["config"].items()}
        template, key = config.pop("template"), json.dumps(row["config"], sort_keys=True)
        if key not in seen:
            seen[key] = f"{template} {1 + sum(label.startswith(template + ' ') for label in configs)}"
            configs[seen[key]] = config
        labels.append(seen[key])
    return labels, configs


def listed(configs):
    """What the labels stand for; genes that all configs of a template share are said once."""
    lines = []
    for template in {label.split()[0]: None for label in configs}:
        own = {label: config for label, config in configs.items() if label.split()[0] == template}
        first = next(iter(own.values()))
        shared = [gene for gene in first if len(own) > 1 and all(config.get(gene) == first[gene] for config in own.values())]
        if shared:
            lines.append((f"{template}, all", {gene: first[gene] for gene in shared}))
        lines += [(label, {gene: config[gene] for gene in config if gene not in shared}) for label, config in own.items()]
    wrapped = []
    for label, config in lines:
        text = f"{label}: " + " ".join(f"{gene}\xa0{value}" for gene, value in config.items())  # kept on one line
        wrapped += textwrap.wrap(text, WIDTH, subsequent_indent="    ")
    return ["```", *(line.replace("\xa0", " ") for line in wrapped), "```", ""]


def table(columns):
    """Markdown of (title, cells) columns, the first of which names the row: as many tables as the width asks for."""
    columns = [(title, ["" if cell is None else str(cell) for cell in cells]) for title, cells in columns]
    columns = [column for column in columns if any(column[1])]
    widths = [max(map(len, [title, *cells])) for title, cells in columns]
    parts, room = [], 0
    for i in range(1, len(columns)):
        if room < widths[i] + 3:
            parts.append([0])
            room = WIDTH - 4 - widths[0]
        parts[-1].append(i)
        room -= widths[i] + 3
    lines = []
    for part in parts:
        for r in range(-2, len(columns[0][1])):
            text = [columns[i][0] if r == -2 else "-" * widths[i] if r == -1 else columns[i][1][r] for i in part]
            lines.append("| " + " | ".join(word.ljust(widths[i]) for word, i in zip(text, part)) + " |")
        lines.append("")
    return lines


def summary(rows, rivals):
    """Geometric means over the cells where there is such a figure."""
    figures = {"best": [row["speedup"] for row in rows], "best, sustained": [sustained(row) for row in rows]}
    for rival in rivals:
        figures[short(rival)] = [found and found[0] for found in (ratio(row, rival) for row in rows)]
    kept = {name: [value for value in values if value] for name, values in figures.items()}
    kept = {name: values for name, values in kept.items() if values}
    return table([
        ("ratio to", list(kept)),
        ("cells", [len(values) for values in kept.values()]),
        ("geomean", [f"{geomean(values):.3f}" for values in kept.values()]),
        ("least", [f"{min(values):.3f}" for values in kept.values()]),
        ("most", [f"{max(values):.3f}" for values in kept.values()]),
    ])  # fmt: skip


def section(name, data):
    rows = data["rows"]
    rivals = [rival for rival in {rival: None for row in rows for rival in row["us"]} if rival != OURS]
    labels, configs = numbered(rows)
    cells = ("B, H, L, D", [cell_name(row) for row in rows])
    speed = [flop(row) / row["us"][OURS] / 1e6 for row in rows]
    peak = PEAK[data["dtype"]] if data["device"] in PEAK_OF else None
    origin = f"{data['device']}, {data['software']}, {data['date']}. {data['dtype']}, suite `{data['suite']}`: {data['method']}."
    lines = [f"## {name}.json", "", *textwrap.wrap(origin, WIDTH), "", f"![times over fa-tune's, cell by cell]({name}.svg)", ""]
    lines += table([
        cells,
        ("best found", labels),
        ("us [95%]", [f"{us_text(row['us'][OURS])} [{', '.join(map(us_text, row['us_interval'][OURS]))}]" for row in rows]),
        ("TFLOP/s", [f"{value:.{0 if value >= 100 else 1}f}" for value in speed]),
        ("of peak", [peak and f"{value / peak:.1%}" for value in speed]),
        ("of limit", [limit_text(row) for row in rows]),
        ("MHz", [row.get("sm_mhz") for row in rows]),
    ])  # fmt: skip
    lines += table([
        cells,
        ("best", [short(row["best_backend"]) for row in rows]),
        ("x best [95%]", [ratio_text(ratio(row, row["best_backend"])) for row in rows]),
        ("sustained", [sustained(row) and f"{sustained(row):.3f}" for row in rows]),
        ("x FA4 [95%]", [ratio_text(ratio(row, "fa4")) for row in rows]),
        ("x FA2 [95%]", [ratio_text(ratio(row, "sdpa flash")) for row in rows]),
        ("x flex [95%]", [ratio_text(ratio(row, "flex")) for row in rows]),
    ])  # fmt: skip
    lines += ["Microseconds of all that raced:", ""]
    lines += table([cells] + [(short(n), [n in row["us"] and us_text(row["us"][n]) or "" for row in rows]) for n in [OURS, *rivals]])
    return [*lines, "Over the cells:", "", *summary(rows, rivals), "The genes of the best found:", "", *listed(configs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("grids", nargs="*", help="what grid.py wrote; if none, all in results/attention_grid")
    parser.add_argument("--out", default=RESULTS, help="folder of the page")
    args = parser.parse_args()
    paths = args.grids or sorted(glob.glob(os.path.join(RESULTS, "*.json")))
    races = {os.path.basename(path).removesuffix(".json"): load(path) for path in paths}
    for name in [name for name, data in races.items() if data is None and args.grids]:
        refuse(f"{name}.json holds no race; expected what grid.py writes")
    if args.grids and len(races) < len(paths):
        refuse("two files of one name; rename one, its drawing is called after it")
    races = {name: data for name, data in races.items() if data}
    lines = HEAD.splitlines() + [""]
    for name, data in races.items():
        lines += section(name, data)
        rows = data["rows"]
        ratios = {
            "the best": [ratio(row, row["best_backend"]) for row in rows],
            "FlashAttention-4": [ratio(row, "fa4") for row in rows],
            "FlashAttention-2": [ratio(row, "sdpa flash") for row in rows],
            "FlexAttention": [ratio(row, "flex") for row in rows],
        }
        title = f"{data['device']}, {data['dtype']}, {data['date']}: times of the cells' best backends over fa-tune's"
        with open(os.path.join(args.out, f"{name}.svg"), "w") as file:
            file.write(drawing(title, [cell_name(row) for row in rows], ratios))
    with open(os.path.join(args.out, "cells.md"), "w") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    print(f"{os.path.join(args.out, 'cells.md')}: {len(races)} files, {sum(len(data['rows']) for data in races.values())} cells")


if __name__ == "__main__":
    main()
