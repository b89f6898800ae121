#!/usr/bin/env python3
"""Makes a table in which most configs fail: a recorded one whose space's constraints are not known.

    tools/bench/search/hide_constraints.py TABLE.json.gz ... --out FOLDER

A recorded brute force holds the configs that satisfy the constraints of its space. Here every other
combination of the same values is added as a config that fails, which is what it would do: tiles that
do not fit in shared memory or in registers, warps without rows. It is charged the median time of
compiling one. Nothing else changes; the table's name ends in `_hidden`.
"""

import argparse
import gzip
import itertools
import json
import pathlib
import statistics


def hide(recorded, name):
    names = recorded["tune_params_keys"]
    cache = recorded["cache"]
    compile_ms = statistics.median(entry["compile_time"] for entry in cache.values())
    failed = {
        "time": "InvalidConfig",
        "compile_time": compile_ms,
        "verification_time": 0,
        "benchmark_time": 0,
        "strategy_time": 0,
        "framework_time": 0,
        "timestamp": recorded["started_at"],
    }
    for values in itertools.product(*(recorded["tune_params"][key] for key in names)):
        key = ",".join(str(value) for value in values)
        if key not in cache:
            cache[key] = dict(zip(names, values)) | failed
    return recorded | {"space": name}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for path in options.tables:
        name = path.name.removesuffix(".json.gz") + "_hidden"
        with gzip.open(path, "rt") as packed:
            table = hide(json.load(packed), name)
        failing = sum(not isinstance(entry["time"], float) for entry in table["cache"].values())
        with gzip.GzipFile(options.out / f"{name}.json.gz", "wb", mtime=0) as packed:
            packed.write(json.dumps(table).encode())
        print(f"{name}: {len(table['cache'])} configs, {failing} fail")


main()
