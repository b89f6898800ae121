#!/usr/bin/env python3
"""Draws README's picture: what `evolve` found beside the fastest of PyTorch's backends and FlashAttention-4, by shape.

  tools/bench/overview.py [--out FOLDER]    writes light.svg and dark.svg; results/overview if not given

The data are kept races of tools/bench/attention/grid.py; nothing is measured here.
"""

import argparse
import json
import os
from xml.sax.saxutils import escape

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
GRID = os.path.join(RESULTS, "attention_grid")
THEMES = {
    "light": {"paper": "#ffffff", "ink": "#1f2328", "faint": "#d1d9e0", "full": "#1f6fb4", "causal": "#c2452d"},
    "dark": {"paper": "#0d1117", "ink": "#e6edf3", "faint": "#3d444d", "full": "#6cb2f2", "causal": "#f08a6f"},
}
BAR, GAP, LEFT, TOP, PLOT, BOTTOM, BETWEEN = 23, 3, 46, 74, 220, 62, 26  # pixels
MOST = 2.7  # the axis' end


def rows(name):
    with open(os.path.join(GRID, name)) as file:
        race = json.load(file)
    return race, race["rows"]


def panels():
    """Title and cells of each panel, and where the data come from."""
    race, grid = rows("h200_fp16_evolved.json")
    mission, small = rows("h200_mission_evolved.json")
    seven, more = rows("h200_seven_evolved.json")
    small = small + more
    race = {**race, "date": ", ".join(sorted({each["date"] for each in (race, mission, seven)}))}
    small.sort(key=lambda row: (row["L"], row["B"], row["causal"]))
    found = [("8 heads, D = 64, without FA4", small, lambda row: f"{row['B']} x {row['L']}")]
    for depth in (64, 128):
        cells = sorted((row for row in grid if row["D"] == depth), key=lambda row: (row["L"], row["causal"]))
        title = f"16k keys in all, D = {depth}"
        found.append((title, cells, lambda row: str(row["L"]) if row["L"] < 1024 else f"{row['L'] // 1024}k"))
    return race, found


def text(x, y, words, color, anchor="middle", size=11, more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{color}"{more}>'
            f"{escape(words)}</text>")


def picture(theme):
    race, found = panels()
    bars = sum(len(cells) for _, cells, _ in found)
    width = LEFT + bars * (BAR + GAP) + BETWEEN * (len(found) - 1) + 10
    height = TOP + PLOT + BOTTOM
    bottom = TOP + PLOT

    def y(ratio):
        return bottom - PLOT * ratio / MOST

    told = []
    end = width - 10
    out = [text(LEFT, 20, "Attention forward, fp16: how many times as fast as the fastest of PyTorch's backends and FlashAttention-4",
                theme["ink"], "start", 14, ' font-weight="bold"'),
           text(LEFT, 38, f"{race['device']}, {race['software']}, {race['date']}", theme["ink"], "start")]
    for i, kind in enumerate(("full", "causal")):
        out.append(f'<rect x="{end - 120 + 60 * i}" y="29" width="10" height="10" fill="{theme[kind]}"/>')
        out.append(text(end - 106 + 60 * i, 38, kind, theme["ink"], "start"))
    for tick in (0.5, 1, 1.5, 2, 2.5):
        out.append(f'<line x1="{LEFT}" y1="{y(tick):.1f}" x2="{end}" y2="{y(tick):.1f}" stroke="{theme["faint"]}"/>')
        out.append(text(LEFT - 6, y(tick) + 4, f"{tick:g}x", theme["ink"], "end"))
    x = LEFT + GAP
    for title, cells, name in found:
        begin = x
        for row in cells:
            kind = "causal" if row["causal"] else "full"
            ratio, top = row["speedup"], y(row["speedup"])
            middle = x + BAR / 2
            cell = f"B {row['B']}, H {row['H']}, L {row['L']}, D {row['D']}{', causal' if row['causal'] else ''}"
            interval = "[{:.3f}, {:.3f}]".format(*row["speedup_interval"])
            told.append(f"{cell}: {ratio:.3f}")
            hint = f"{cell}: {ratio:.3f} {interval} times as fast as {row['best_backend']}"
            out.append(f'<rect x="{x}" y="{top:.1f}" width="{BAR}" height="{bottom - top:.1f}" fill="{theme[kind]}">'
                       f"<title>{escape(hint)}</title></rect>")
            out.append(text(middle, top - 4, f"{ratio:.2f}", theme["ink"], size=9.5))
            out.append(text(middle + 4, bottom + 12, name(row), theme["ink"], "end", 10,
                            f' transform="rotate(-45 {middle + 4:.1f} {bottom + 12})"'))
            x += BAR + GAP
        out.append(text((begin + x) / 2, TOP - 14, title, theme["ink"], size=12))
        x += BETWEEN
    out.append(f'<line x1="{LEFT}" y1="{y(1):.1f}" x2="{end}" y2="{y(1):.1f}" stroke="{theme["ink"]}" stroke-dasharray="4 3"/>')
    out.append(text(end, height - 8, "below the bars: batch x length at the left, else length (batch x length is 16k, heads x D is 2048)", theme["ink"], "end"))
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title told" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif">',
        '<title id="title">The kernels found beside the fastest of PyTorch and FlashAttention-4</title>',
        f'<desc id="told">{escape("; ".join(told))}</desc>',
        f'<rect width="100%" height="100%" fill="{theme["paper"]}"/>',
    ]
    return "\n".join([*head, *out, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(RESULTS, "overview"))
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for name, theme in THEMES.items():
        with open(os.path.join(args.out, f"{name}.svg"), "w") as file:
            file.write(picture(theme))


if __name__ == "__main__":
    main()
