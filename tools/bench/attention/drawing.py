"""Draws ratios of times cell by cell as SVG: a dot each with its interval as whiskers, and a line at 1."""

import math
from xml.sax.saxutils import escape

ROW, LEFT, RIGHT, TOP, BOTTOM, PLOT = 18, 178, 16, 44, 42, 526  # pixels
TICKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)
COLORS = ("#1f6fb4", "#c2452d", "#5b8c3e", "#8a5fb0")  # of the series; the first is filled


def ticks(x):
    """As many as have room beside each other; 1 always."""
    kept = [1]
    for tick in sorted(TICKS, key=lambda tick: abs(math.log(tick))):
        if 0 <= x(tick) - LEFT <= PLOT and all(abs(x(tick) - x(other)) >= 30 for other in kept):
            kept.append(tick)
    return sorted(kept)


def text(x, y, words, anchor="start", size=11):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'


def mark(x, y, color, filled, words):
    fill = color if filled else "none"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{fill}" stroke="{color}"><title>{escape(words)}</title></circle>'


def drawing(title, cells, series):
    """`series`: by name one (ratio, low, high, ...) a cell, or None where there is none. The axis is logarithmic."""
    series = {name: found for name, found in series.items() if any(found)}
    ends = [1.0] + [end for found in series.values() for each in found if each for end in each[:3]]
    low, high = math.log(min(ends)) - 0.03, math.log(max(ends)) + 0.03
    width, height = LEFT + PLOT + RIGHT, TOP + ROW * len(cells) + BOTTOM

    def x(value):
        return LEFT + PLOT * (math.log(value) - low) / (high - low)

    bottom = TOP + ROW * len(cells)
    alone = next(iter(series.values()))
    told = "; ".join(f"{cell}: {found[0]:.3f}" for cell, found in zip(cells, alone) if found)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title told" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="told">{escape(told)}</desc>',
        '<rect width="100%" height="100%" fill="white"/>',
        text(LEFT - 10, TOP - 6, "B, H, L, D", "end"),
        text(LEFT + PLOT / 2, height - 8, "time over fa-tune's (a ratio, no unit; logarithmic; above 1 fa-tune is faster)", "middle"),
    ]
    for tick in ticks(x):
        out.append(f'<line x1="{x(tick):.1f}" y1="{TOP}" x2="{x(tick):.1f}" y2="{bottom}" stroke="{"#333" if tick == 1 else "#ddd"}"/>')
        out.append(text(x(tick), bottom + 15, f"{tick:g}", "middle"))
    for i, (name, color) in enumerate(zip(series, COLORS)):
        out.append(mark(LEFT + 8 + 150 * i, 18, color, i == 0, name) + text(LEFT + 16 + 150 * i, 22, name))
    for row, cell in enumerate(cells):
        middle = TOP + ROW * (row + 0.5)
        out.append(text(LEFT - 10, middle + 4, cell, "end"))
        for i, ((name, found), color) in enumerate(zip(series.items(), COLORS)):
            if found[row] is None:
                continue
            value, least, most = found[row][:3]
            out.append(f'<path d="M{x(least):.1f} {middle}H{x(most):.1f}M{x(least):.1f} {middle - 3}v6M{x(most):.1f} {middle - 3}v6" stroke="{color}"/>')
            out.append(mark(x(value), middle, color, i == 0, f"{cell}, {name}: {value:.3f} [{least:.3f}, {most:.3f}]"))
    return "\n".join([*out, "</svg>"]) + "\n"
