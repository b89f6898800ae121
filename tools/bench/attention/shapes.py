"""The shapes that attention is measured at, cell by cell, and what figures of cells are made of."""

import math


def cell(B, H, L, D, causal, Lq=None):
    """`Lq`: queries, where they are fewer than the L keys."""
    return {"B": B, "H": H, "L": L, "D": D, "causal": causal, "Lq": Lq or L}


def suites():
    """`grid`: 16k keys in all, 2048 columns; `seven` and `mission`: as the engine's suites; `tiny`: to try a script out."""
    lengths = (512, 1024, 2048, 4096, 8192, 16384)
    return {
        "grid": [cell(16384 // L, 2048 // D, L, D, c) for D in (64, 128) for c in (False, True) for L in lengths],
        "wide": [cell(16384 // L, 8, L, 256, c) for c in (False, True) for L in lengths],
        "seven": [cell(1, 8, 128, 64, False), cell(2, 8, 256, 64, False), cell(2, 8, 512, 64, False)]
        + [cell(4, 8, 1024, 64, False), cell(1, 8, 2048, 64, False), cell(2, 8, 512, 64, True)]
        + [cell(1, 8, 32, 64, True)],
        "two": [cell(16384 // L, 16, L, 128, c) for L in (4096, 16384) for c in (False, True)],
        "long": [cell(16384 // L, 2048 // D, L, D, c) for D in (64, 128) for c in (False, True) for L in lengths[3:]],
        # Too few rows of queries to keep a GPU busy: blocks have to share keys.
        "few": [cell(1, H, L, D, False, Lq) for D, H in ((64, 16), (128, 8)) for Lq in (16, 128) for L in (2048, 16384)],
        "mission": [cell(1, 8, 512, 64, False), cell(1, 8, 512, 64, True)],
        "tiny": [cell(1, 1, 64, 64, c) for c in (False, True)],
    }


def flop(c):
    return 4 * c["B"] * c["H"] * c["Lq"] * c["L"] * c["D"] / (2 if c["causal"] else 1)


def name_of(c):
    """Fit for a file's name."""
    queries = "" if c["Lq"] == c["L"] else f"-Lq{c['Lq']}"
    return f"D{c['D']}-{'causal' if c['causal'] else 'full'}-L{c['L']}{queries}-B{c['B']}-H{c['H']}"


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))
