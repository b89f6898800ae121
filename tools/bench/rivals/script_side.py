"""Runs one of Kernel Tuner's example scripts in this process, and records what each of its searches came to;
`kernel_tuner_scripts` starts it, once with Kernel Tuner and once with fa_tune.

  script_side.py SCRIPT '{"side": "fa_tune", "record": ..., "evaluations": ..., "seconds": ..., "strategy": ..., "theirs": ...,
                          "seed": ...}'
"""

import importlib.util
import inspect
import json
import os
import random
import runpy
import sys
import time

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python")


def config_of(row, params):
    return tuple(row[name] for name in params)


def plain(value):
    return value.item() if hasattr(value, "item") else value


def told(kernel, params, results, seconds):
    """What one search came to. Times are us."""
    timed = [row for row in results if isinstance(row.get("time"), float) and "__error__" not in row]
    best = min(timed, key=lambda row: row["time"], default=None)
    return {"kernel": str(kernel), "evaluated": len({str(config_of(row, params)) for row in results}), "seconds": seconds,
            "config": best and {name: plain(best[name]) for name in params}, "us": best and best["time"] * 1000}  # fmt: skip


def bounded(bound, **most):
    """The script's own options, where it has some, come before `most`."""
    return {**most, **(bound.get("strategy_options") or {})}


def with_kernel_tuner(asked, record):
    import kernel_tuner
    from kernel_tuner.searchspace import Searchspace

    from t1_in_kernel_tuner import backend

    original, run_kernel = kernel_tuner.tune_kernel, kernel_tuner.run_kernel

    def tune_kernel(*given, **named):
        bound = inspect.signature(original).bind(*given, **named).arguments
        params = bound["tune_params"]
        if not bound.get("lang"):
            bound["lang"] = backend()
        names = {"block_size_names": bound["block_size_names"]} if bound.get("block_size_names") else {}
        whole = Searchspace(params, bound.get("restrictions"), 1024, **names).size <= asked["evaluations"]
        if not bound.get("strategy"):
            bound["strategy"] = "brute_force" if whole else asked["strategy"]
        if bound["strategy"] != "brute_force":  # which takes no options
            bound["strategy_options"] = bounded(bound, max_fevals=asked["evaluations"], time_limit=asked["seconds"])
        if bound.get("parallel") and importlib.util.find_spec("ray") is None:
            del bound["parallel"]  # there is one GPU
        began = time.monotonic()
        results, environment = original(**bound)
        record({**told(bound["kernel_name"], params, results, time.monotonic() - began), "whole": whole})
        return results, environment

    kernel_tuner.tune_kernel = tune_kernel
    kernel_tuner.run_kernel = lambda *given, **named: run_kernel(*given, **{"lang": backend(), **named})


def with_fa_tune(asked, record):
    sys.path.insert(0, PACKAGE)
    import fa_tune

    original = fa_tune.tune_kernel
    with open(asked["theirs"]) as file:
        rivals = json.load(file)

    def race(bound, configs):
        """Their times in us, from finals that have nobody else."""
        params = {name: list(dict.fromkeys(config[name] for config in configs)) for name in bound["tune_params"]}
        wanted = [config_of(config, params) for config in configs]
        held = {**bound, "tune_params": params, "restrictions": lambda p: tuple(p[name] for name in params) in wanted,
                "strategy": "brute_force", "strategy_options": {}, "quiet": True}  # fmt: skip
        if bound.get("verify") or bound.get("observers"):  # which decide in the place of a comparison
            held.pop("answer", None)
        for name in ("cache", "verify", "observers", "metrics", "objective", "objective_higher_is_better"):
            held.pop(name, None)
        times = {config_of(row, params): row["time"] * 1000 for row in original(**held)[0]}
        return [times.get(each) for each in wanted]

    def tune_kernel(*given, **named):
        bound = inspect.signature(original).bind(*given, **named).arguments
        rival = rivals.pop(0) if rivals else {}
        if not bound.get("strategy"):
            bound["strategy"] = "evolve"
        limit = {} if rival.get("whole") else {"time_limit": max(rival.get("seconds") or 0, asked["seconds"])}
        bound["strategy_options"] = bounded(bound, max_fevals=asked["evaluations"], finals=asked["finals"], **limit)
        bound.setdefault("seed", asked["seed"])
        began = time.monotonic()
        results, environment = original(**bound)
        row = told(bound["kernel_name"], bound["tune_params"], results, time.monotonic() - began)
        if row["config"] and rival.get("config"):
            if row["config"] == rival["config"]:
                row["theirs_here_us"] = row["us"]
            else:
                record(row, done=False)
                began = time.monotonic()
                row["us"], row["theirs_here_us"] = race(bound, [row["config"], rival["config"]])
                row["race_seconds"] = time.monotonic() - began
        record(row)
        return results, environment

    fa_tune.tune_kernel = tune_kernel


def main():
    script, asked = sys.argv[1], json.loads(sys.argv[2])
    rows = []

    def record(row, done=True):
        with open(asked["record"], "w") as file:
            json.dump([*rows, row], file)
        if done:
            rows.append(row)

    {"kernel_tuner": with_kernel_tuner, "fa_tune": with_fa_tune}[asked["side"]](asked, record)
    if not hasattr(time, "clock"):
        time.clock = time.perf_counter  # gone since Python 3.8; a script of that age runs with either side
    if asked["seed"] is not None:  # Kernel Tuner draws from these, whatever its argument `seed` says
        import numpy

        random.seed(asked["seed"])
        numpy.random.seed(asked["seed"])
    sys.argv = [script]
    sys.path.insert(0, os.path.dirname(script))  # as for any script: one may import another
    if os.path.basename(script).startswith("test_"):
        import pytest

        return int(pytest.main(["-q", "-p", "no:cacheprovider", script]))
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
