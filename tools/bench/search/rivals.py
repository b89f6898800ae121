#!/usr/bin/env python3
"""Runs Kernel Tuner's own strategies on recorded tables and writes what they did as traces.

The strategies, the search space, the cost function and the simulation runner are Kernel Tuner's, as
installed from PyPI; this script only loads a table and builds its search space once and then starts
a strategy per seed, which costs milliseconds instead of the seconds of tune_kernel(). A strategy
sees exactly the recorded configs, those that failed among them.

    python3 -m venv rivals && rivals/bin/pip install -r tools/bench/search/requirements.txt
    rivals/bin/python tools/bench/search/rivals.py TABLE.json.gz ... --out TRACES [--seeds 100]

What differs from a plain tune_kernel(simulation_mode=True):
 - The budget is the time budget of the community's methodology in recorded time (compiling +
   verification + benchmark of every config visited for the first time; Kernel Tuner's runner charges
   nothing at repeats). The strategy's own computing is not charged, which favours slow strategies.
 - A run goes on until it has both used up that time and seen 200 configs, or until the max_fevals
   that it was told. --fevals says how max_fevals is set: "1.3" is 1.3 times the evaluations that the
   budget was computed from, "all" the size of the space. Some strategies plan with it.
 - hybrid_vndx finds its nearest neighbors with numpy instead of a sorted list; its traces do not
   change (--slow-knn has its own way).
 - A strategy that asks 20,000 times in a row for what it has already seen is stopped: there is no
   real clock that would.

A trace is a CSV (gzip), one a table and tuner: tuner, table, seed, evaluation (unique configs, from
1), key (of the cachefile), time_ms (empty: failed), elapsed_ms (charged up to and with it).
"""

import argparse
import collections
import contextlib
import csv
import gzip
import importlib.metadata
import io
import json
import math
import multiprocessing
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time
import warnings

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy  # noqa: E402
from kernel_tuner import util  # noqa: E402
from kernel_tuner.interface import Options, strategy_map  # noqa: E402
from kernel_tuner.runners.simulation import SimulationRunner  # noqa: E402
from kernel_tuner.searchspace import Searchspace, supported_neighbor_methods  # noqa: E402
from kernel_tuner.strategies import gen_hybrid_vndx  # noqa: E402

# The share of the way from the median to the optimum that the budget is computed for.
CUTOFF = 0.95
# Runs go on a little longer than the budget, so that a scorer never falls off their end.
MARGIN = 1.02
FIRST_EVALUATIONS = 200
REPEATS_ALLOWED = 20_000
# More iterations than any budget holds.
ENDLESS = 1_000_000

# Name in the traces: Kernel Tuner's name, options. Its defaults unless said; "_on" goes on where the
# default number of iterations ends before the budget.
TUNERS = {
    "random_sample": ("random_sample", {}),
    "genetic_algorithm": ("genetic_algorithm", {}),
    "genetic_algorithm_on": ("genetic_algorithm", {"maxiter": ENDLESS}),
    "diff_evo": ("diff_evo", {}),
    "dual_annealing": ("dual_annealing", {}),
    "simulated_annealing": ("simulated_annealing", {}),
    "greedy_ils": ("greedy_ils", {}),
    "greedy_mls": ("greedy_mls", {}),
    "ordered_greedy_mls": ("ordered_greedy_mls", {}),
    "mls": ("mls", {}),
    "pso": ("pso", {}),
    "pso_on": ("pso", {"maxiter": ENDLESS}),
    "firefly_algorithm": ("firefly_algorithm", {}),
    "firefly_algorithm_on": ("firefly_algorithm", {"maxiter": ENDLESS}),
    "basinhopping": ("basinhopping", {}),
    "minimize": ("minimize", {}),
    "bayes_opt": ("bayes_opt", {}),
    # Its default refits the model when evaluations take long; recorded ones take no time.
    "bayes_opt_multi_fast": ("bayes_opt", {"method": "multi-fast"}),
    "hybrid_vndx": ("hybrid_vndx", {}),
    "hybrid_vndx_on": ("hybrid_vndx", {"budget": ENDLESS}),
    "adaptive_tabu_greywolf": ("adaptive_tabu_greywolf", {}),
    # It cools down over this budget, so that an endless one would change what it does.
    "adaptive_tabu_greywolf_on": ("adaptive_tabu_greywolf", {"budget": 20_000}),
    "nsga2": ("nsga2", {}),
    "skopt_rf": ("skopt", {"learner": "RF"}),
    "skopt_gp": ("skopt", {"learner": "GP"}),
}


class Table:
    """A recorded table as Kernel Tuner reads it, its search space, and its budget."""

    def __init__(self, path):
        self.name = path.name.removesuffix(".gz").removesuffix(".json")
        opened = gzip.open if path.suffix == ".gz" else open
        with tempfile.NamedTemporaryFile("w", suffix=".json") as plain:
            with opened(path, "rt") as packed:
                plain.write(packed.read())
            plain.flush()
            recorded = util.read_cache(plain.name, open_cache=False)
        self.cache = recorded["cache"]
        self.tune_params = recorded["tune_params"]
        self.device = recorded["device_name"]
        self.kernel = recorded["kernel_name"]
        names = recorded["tune_params_keys"]
        members = {tuple(entry[name] for name in names) for entry in self.cache.values()}
        in_table = util.FunctionConstraint(lambda *values: values in members)
        self.space = Searchspace(self.tune_params, [in_table], 1_000_000_000)
        if self.space.size != len(self.cache):
            raise SystemExit(f"{path}: {self.space.size} configs built of {len(self.cache)} recorded")
        self.evaluations, self.budget_ms = self.budget()

    def cost(self, key):
        entry = self.cache[key]
        return entry["compile_time"] + entry["verification_time"] + entry["benchmark_time"]

    def time(self, key):
        entry = self.cache[key]
        return None if "__error__" in entry or entry["time"] >= 1e20 else entry["time"]

    def budget(self):
        """Evaluations that random search needs to the cutoff, and their time in ms at the median cost."""
        times = sorted((t for t in map(self.time, self.cache) if t is not None), reverse=True)
        target = times[-1] + (statistics.median(times) - times[-1]) * (1 - CUTOFF)
        worse = next(i for i, value in enumerate(times, 1) if value <= target)
        evaluations = math.ceil(worse / (len(times) + 1 - worse))
        return evaluations, MARGIN * evaluations * statistics.median(map(self.cost, self.cache))


def forget(space):
    """Makes a search space as one just built: it remembers the neighbors of every config that a run
    stood at, and a later run on the same one would step to where earlier ones have been."""
    caches = {"neighbor_cache": dict, "neighbor_partial_cache": lambda: collections.defaultdict(list)}
    for name, empty in caches.items():
        attribute = f"_Searchspace__{name}"
        if not hasattr(space, attribute):
            raise SystemExit(f"Searchspace has no {name}: another Kernel Tuner than requirements.txt names")
        setattr(space, attribute, {method: empty() for method in supported_neighbor_methods})


class NoClock:
    """A strategy's own computing is free."""

    def get(self):
        return 0.0


class Budget(util.TuningBudget):
    """Ends a run when both the time and the first evaluations are used, or all evaluations."""

    def __init__(self, time_ms, max_fevals):
        super().__init__(time_ms / 1000, max_fevals)
        self.start_timer = NoClock()
        self.asked_since = (0, 0)

    def is_done(self):
        fevals, asked = self.asked_since
        self.asked_since = (self.num_fevals, asked + 1 if fevals == self.num_fevals else 0)
        if asked > REPEATS_ALLOWED or self.num_fevals >= self.max_fevals:
            return True
        return self.get_time_spent() > self.time_limit and self.num_fevals >= FIRST_EVALUATIONS

    def raise_exception_if_done(self):
        if self.is_done():
            raise util.StopCriterionReached("budget used up")


def fast_knn(optimizer, config, history):
    """HybridVNDX.knn_predict with numpy: the same neighbors in the same order, the same sum, many
    times as fast. With --slow-knn traces are the same, byte for byte."""
    if getattr(optimizer, "encoded_history", None) is not history:
        optimizer.encoded_history = history
        optimizer.codes = [{} for _ in config]
        optimizer.columns = numpy.empty((len(config), 0), numpy.uint8)
        optimizer.filled = 0
    encode = lambda values: [codes.setdefault(v, len(codes)) for codes, v in zip(optimizer.codes, values)]
    for values, _ in history[optimizer.filled:]:
        if optimizer.filled == optimizer.columns.shape[1]:
            room = numpy.empty((len(config), 1024), numpy.uint8)
            optimizer.columns = numpy.concatenate([optimizer.columns, room], axis=1)
        optimizer.columns[:, optimizer.filled] = encode(values)
        optimizer.filled += 1
    apart = numpy.zeros(optimizer.filled, numpy.int8)
    for column, code in zip(optimizer.columns, encode(config)):
        apart += column[:optimizer.filled] != code
    nearest = numpy.argsort(apart, kind="stable")[:optimizer.k]
    return sum(history[i][1] for i in nearest) / len(nearest)


class Watched(dict):
    """A cache that notes the order in which configs were first served."""

    def __init__(self, cache):
        super().__init__(cache)
        self.served = {}

    def __getitem__(self, key):
        self.served.setdefault(key)
        return super().__getitem__(key)


def run(table, tuner, fevals, seed):
    """The keys of the configs that one run evaluated, in order; what stopped it, if not its budget."""
    strategy, extra = TUNERS[tuner]
    max_fevals = table.space.size
    if fevals != "all":
        max_fevals = min(max_fevals, math.ceil(float(fevals) * table.evaluations))
        max_fevals = max(max_fevals, min(FIRST_EVALUATIONS, table.space.size))
    random.seed(seed)
    numpy.random.seed(seed)
    forget(table.space)
    cache = Watched(table.cache)
    options = Options(
        tune_params=table.tune_params, restrictions=table.space._modified_restrictions,
        restrictions_unmodified=table.space.original_restrictions, cache=cache, cachefile=None,
        objective=["time"], objective_higher_is_better=[False], metrics=None, verbose=False, verify=None,
        simulation_mode=True, simulated_time=0, seed=seed, strategy=strategy, max_fevals=max_fevals,
        strategy_options=Options(max_fevals=max_fevals, **extra),
        budget=Budget(table.budget_ms, max_fevals))
    kernel = Options(kernel_name=table.kernel, problem_size=(1,))
    runner = SimulationRunner(None, kernel, Options(quiet=True), 7, None)
    failure = None
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            strategy_map[strategy].tune(table.space, runner, options)
        except util.StopCriterionReached:
            pass
        except Exception as error:  # a strategy's own failure ends its run; what it found counts
            failure = f"{type(error).__name__}: {error}"
    return [key for key in cache.served], failure


def rows(table, tuner, seed, keys):
    elapsed = 0.0
    for number, key in enumerate(keys, 1):
        elapsed += table.cost(key)
        found = table.time(key)
        yield [tuner, table.name, seed, number, key, "" if found is None else repr(found), f"{elapsed:.3f}"]


def job(arguments):
    table, tuner, fevals, seed = arguments
    began = time.process_time()
    keys, failure = run(TABLES[table], tuner, fevals, seed)
    return table, tuner, seed, keys, failure, time.process_time() - began


TABLES = {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--tuners", default=",".join(TUNERS))
    parser.add_argument("--fevals", default="1.3")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--slow-knn", action="store_true", help="hybrid_vndx with its own k-NN")
    arguments = parser.parse_args()
    if not arguments.slow_knn:
        gen_hybrid_vndx.HybridVNDX.knn_predict = fast_knn
    arguments.out.mkdir(parents=True, exist_ok=True)
    for path in arguments.tables:
        table = Table(path)
        TABLES[table.name] = table
        print(f"{table.name}: {table.space.size} configs, {table.evaluations} evaluations, "
              f"{table.budget_ms / 1000:.1f} s", file=sys.stderr)
    packages = ("kernel_tuner", "numpy", "scipy", "scikit-learn", "scikit-optimize", "pymoo")
    versions = {name: importlib.metadata.version(name) for name in packages}
    (arguments.out / "versions.json").write_text(json.dumps({"python": sys.version.split()[0], **versions}, indent=1))
    with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool:
        for tuner in arguments.tuners.split(","):
            for name, table in TABLES.items():
                work = [(name, tuner, arguments.fevals, seed) for seed in range(arguments.seeds)]
                file = arguments.out / f"{name}.{tuner}.csv.gz"
                evaluations, seconds, failures, short = [], 0.0, [], 0
                with gzip.open(file.with_suffix(".part"), "wt", newline="") as packed:
                    out = csv.writer(packed)
                    out.writerow(["tuner", "table", "seed", "evaluation", "key", "time_ms", "elapsed_ms"])
                    for _, _, seed, keys, failure, spent in pool.imap(job, work):
                        last = None
                        for last in rows(table, tuner, seed, keys):
                            out.writerow(last)
                        evaluations.append(len(keys))
                        short += last is None or float(last[-1]) < table.budget_ms
                        seconds += spent
                        failures += [failure] if failure else []
                file.with_suffix(".part").rename(file)
                print(f"{tuner:24} {name:28} {arguments.seeds} runs, {statistics.median(evaluations):.0f} evaluations, "
                      f"{short} ended before the budget, {seconds / arguments.seeds:.2f} s a run"
                      + (f", {len(failures)} failed: {failures[0]}" if failures else ""), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
