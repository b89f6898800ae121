#!/usr/bin/env python3
"""Joins the traces of rivals.py, one file a table, and leaves out what brings no new best.

    tools/bench/search/thin_traces.py --out tools/bench/results/search/traces RUNS_FOLDER ...

What is left of a run is every new best and its last evaluation: all that a score needs, in a
hundredth of the space. Of a tuner that is in several folders the last one counts.
"""

import argparse
import csv
import gzip
import io
import pathlib


def thinned(rows):
    """Rows of one file, in runs: those with a new best, and the last of each run."""
    best, held, run = None, None, None
    for row in rows:
        if row["seed"] != run:
            if held:
                yield held
            best, held, run = None, None, row["seed"]
        time = float(row["time_ms"]) if row["time_ms"] else None
        if time is not None and (best is None or time < best):
            best, held = time, None
            yield row
        else:
            held = row
    if held:
        yield held


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    files = {}
    for folder in arguments.folders:
        for file in sorted(folder.glob("*.csv.gz")):
            table, tuner = file.name.removesuffix(".csv.gz").rsplit(".", 1)
            files.setdefault(table, {})[tuner] = file
    for table, tuners in files.items():
        text = io.StringIO()
        out = None
        for tuner in sorted(tuners):
            with gzip.open(tuners[tuner], "rt", newline="") as packed:
                reader = csv.DictReader(packed)
                if out is None:
                    out = csv.DictWriter(text, reader.fieldnames, lineterminator="\n")
                    out.writeheader()
                out.writerows(thinned(reader))
        # Without a time of day in it, so that the same traces make the same file.
        with open(arguments.out / f"{table}.csv.gz", "wb") as plain:
            with gzip.GzipFile(filename="", mode="wb", fileobj=plain, compresslevel=9, mtime=0) as packed:
                packed.write(text.getvalue().encode())


if __name__ == "__main__":
    main()
