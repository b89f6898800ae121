#!/usr/bin/env python3
"""Draws predicted against measured times as SVG, with nothing but Python.

    tools/bench/emulator/clock/plot.py OUT.svg predicted_train_512.json predicted_test_512.json ...

Both axes are logarithmic, in microseconds. Files of one shape share a panel; the word 'train' in a
file's name makes its points hollow.
"""
import json
import math
import sys

SIZE = 360  # of a panel, in pixels
MARGIN = 52
COLORS = {"mma": "#1f6fb4", "scalar": "#c2452d"}


def load(path):
    with open(path) as file:
        data = json.load(file)
    points = [
        (row["median_us"], row["predicted_us"], row["config"]["template"]) for row in data["rows"] if "predicted_us" in row
    ]
    return {"shape": data["shape"], "train": "train" in path, "points": points}


def ticks(low, high):
    """1, 2 and 5 times powers of ten within the axis."""
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for digit in (1, 2, 5):
            value = digit * 10.0**power
            if low <= value <= high:
                yield value


def panel(shape, files, left):
    times = [time for file in files for point in file["points"] for time in point[:2]]
    low, high = min(times) / 1.15, max(times) * 1.15
    scale = (SIZE - 2 * MARGIN) / math.log(high / low)

    def x(value):
        return left + MARGIN + scale * math.log(value / low)

    def y(value):
        return SIZE - MARGIN - scale * math.log(value / low)

    out = [
        f'<rect x="{x(low):.1f}" y="{y(high):.1f}" width="{x(high) - x(low):.1f}" '
        f'height="{y(low) - y(high):.1f}" fill="none" stroke="#888"/>',
        f'<line x1="{x(low):.1f}" y1="{y(low):.1f}" x2="{x(high):.1f}" y2="{y(high):.1f}" '
        'stroke="#bbb"/>',
        f'<text x="{left + SIZE / 2}" y="22" text-anchor="middle" font-size="14">'
        f"B,H,L,D = {shape}</text>",
        f'<text x="{left + SIZE / 2}" y="{SIZE - 12}" text-anchor="middle">measured, us</text>',
        f'<text transform="translate({left + 14} {SIZE / 2}) rotate(-90)" text-anchor="middle">'
        "predicted, us</text>",
    ]
    for value in ticks(low, high):
        out.append(
            f'<text x="{x(value):.1f}" y="{y(low) + 14:.1f}" text-anchor="middle">{value:g}</text>'
        )
        out.append(
            f'<text x="{x(low) - 5:.1f}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
        )
    for file in sorted(files, key=lambda file: not file["train"]):
        for measured, predicted, template in file["points"]:
            color = COLORS.get(template, "#444")
            paint = (
                f'fill="none" stroke="{color}" stroke-opacity="0.6"'
                if file["train"]
                else f'fill="{color}" fill-opacity="0.65"'
            )
            out.append(f'<circle cx="{x(measured):.1f}" cy="{y(predicted):.1f}" r="2.6" {paint}/>')
    return out


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    shapes = {}
    for path in arguments[1:]:
        file = load(path)
        shapes.setdefault(file["shape"], []).append(file)
    width = SIZE * len(shapes)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{SIZE + 22}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for index, (shape, files) in enumerate(shapes.items()):
        lines += panel(shape, files, index * SIZE)
    lines.append(
        f'<text x="{MARGIN}" y="{SIZE + 12}">full: test; hollow: the variants on which constants '
        "were set; blue: mma, red: scalar</text>"
    )
    lines.append("</svg>")
    with open(arguments[0], "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
