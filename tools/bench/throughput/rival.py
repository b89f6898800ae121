#!/usr/bin/env python3
"""Kernel Tuner on fa-tune's own kernel source, constraints and shape, for so many seconds.

    rival.py DATABASE MANIFEST SPACE PROFILE OUT [--seconds 120] [--strategy random_sample]
             [--parallel GPUS [--kill AFTER]]

DATABASE is of a search of SPACE (one trial is enough): the CUDA text of one of its kernels is
tuned, less the lines that define the template's parameters, as Kernel Tuner writes its own.
MANIFEST is the template's, SPACE a space file with that template alone, PROFILE the device profile
whose limits hold. Each evaluation compiles by NVRTC, runs once, is compared with the float64
answer, and is timed seven times, as Kernel Tuner does by default. OUT gets JSON: how many
evaluations, of what outcome, and where the time went, summed over the GPUs. With --parallel it
evaluates on so many GPUs by its Ray runner. With --kill one of Ray's worker processes is killed, so
many seconds after the first was there, and OUT says what came of the run.

Needs: kernel_tuner 1.5.0, cuda-python (the backend `nvcuda`), numpy, pyyaml; ray for --parallel.
"""

import argparse
import copy
import datetime
import json
import os
import pathlib
import platform
import re
import signal
import sqlite3
import sys
import tempfile
import threading

import numpy as np
import yaml


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def written_out(text, derived, scope):
    """An expression of parameters alone: derived values stand as what they are derived from, facts
    as numbers. A `/` there is one of integers that leaves nothing."""
    text = re.sub(r"(?<!/)/(?!/)", "//", str(text))
    text = re.sub(r"\b(problem|device)\.(\w+)", lambda fact: repr(scope[fact[1]][fact[2]]), text)
    names = "|".join(derived) or "(?!)"
    return re.sub(rf"\b({names})\b", lambda name: f"({derived[name[0]]})", text)


def attention(q, k, v, scale):
    """In float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.einsum("bhid,bhjd->bhij", q, k) * scale
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhij,bhjd->bhid", weights / weights.sum(-1, keepdims=True), v)


def let_take_all_shared_memory():
    """The backend launches with more than 48 KB of shared memory without asking for it, which fails
    on every GPU; with this it asks, so that the same configs run here as in fa-tune."""
    from kernel_tuner.backends import nvcuda

    plain = nvcuda.CudaFunctions.copy_shared_memory_args

    def asking(self, smem_args):
        plain(self, smem_args)
        attributes = nvcuda.driver.CUfunction_attribute
        nvcuda.driver.cuFuncSetAttribute(
            self.func, attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            int(smem_args["size"]))

    nvcuda.CudaFunctions.copy_shared_memory_args = asking


def mend_ray_runner():
    """Release 1.5.0 takes one GPU however many are asked for, since it looks for a strategy in a
    list of names, and ends with a TypeError at its first result, since it looks an error up by the
    list of objectives."""
    from kernel_tuner import interface
    from kernel_tuner.runners.parallel import ParallelRunner

    names = interface._STRATEGY_PARALLEL
    interface._STRATEGY_PARALLEL = [interface.strategy_map[name] for name in names]
    plain = ParallelRunner.run

    def finding_errors(self, parameter_space, options):
        options = copy.copy(options)
        options.objective = "__error__"
        return plain(self, parameter_space, options)

    ParallelRunner.run = finding_errors


def start_ray(gpus):
    """A Ray of this run's own, in whose workers too kernels have all shared memory."""
    import ray

    ray.init(address="local", num_gpus=gpus, include_dashboard=False, log_to_driver=False,
             runtime_env={"worker_process_setup_hook": let_take_all_shared_memory})


def ray_workers():
    """Ids of the processes that evaluate for this one."""
    parents, commands = {}, {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/status") as status, open(f"/proc/{pid}/cmdline") as command:
                parents[pid] = int(re.search(r"^PPid:\s*(\d+)", status.read(), re.M)[1])
                commands[pid] = command.read()
        except OSError:  # It has ended.
            continue

    def is_ours(pid):
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [pid for pid, command in commands.items()
            if command.startswith("ray::WorkerActor") and is_ours(pid)]


class Killer(threading.Thread):
    """Kills one worker so many seconds after there is one, unless `over` is set before. `killed_at`
    says when, None if it did not."""

    def __init__(self, after_s):
        super().__init__(daemon=True)
        self.after_s, self.killed_at, self.over = after_s, None, threading.Event()

    def run(self):
        while not ray_workers():
            if self.over.wait(0.2):
                return
        if not self.over.wait(self.after_s):
            at = now()
            os.kill(ray_workers()[0], signal.SIGKILL)
            self.killed_at = at


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("database", "manifest", "space", "profile", "out"):
        parser.add_argument(name)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--strategy", default="random_sample")
    parser.add_argument("--parallel", type=int, metavar="GPUS", help="GPUs, by the Ray runner")
    parser.add_argument("--kill", type=float, metavar="AFTER",
                        help="seconds after which one worker process is killed")
    parser.add_argument("--count", action="store_true",
                        help="print how many configs are valid, and stop")
    arguments = parser.parse_args()
    if arguments.kill is not None and not arguments.parallel:
        parser.error("--kill is for a worker of Ray's: it needs --parallel GPUS")
    return arguments


def kernel_source(database, parameters):
    """The text of one kernel, without the lines that define the parameters."""
    connection = sqlite3.connect(pathlib.Path(database).resolve().as_uri() + "?mode=ro", uri=True)
    row = connection.execute("SELECT text FROM kernels LIMIT 1").fetchone()
    if not row:
        sys.exit(f"{database} has no kernel: a search with --budget 1 would leave one")
    return re.sub(rf"^#define ({'|'.join(parameters)}) .*\n", "", row[0], flags=re.M)


def search_space(manifest, space, profile):
    """Parameters, restrictions and the shared memory's size as Kernel Tuner takes them. The threads
    of a block are a parameter of their own there, and every config has the one template."""
    shape = {"lse": False, "causal": False, "window_left": -1, "window_right": -1, "capped": False,
             "alibi": False, "dtype": space["problem"]["dtype"], **space["problem"]["shape"]}
    capability = int(profile["arch"].removeprefix("sm_"))
    scope = {"problem": shape, "device": {**profile, "compute_capability": capability}}
    # What the space does not name has its default, in the source too.
    derived = {name: repr(value) for name, value in manifest.get("optional", {}).items()
               if name not in space["parameters"]}
    for name, text in manifest["derived"].items():
        derived[name] = written_out(text, derived, scope)
    rules = [written_out(rule["expr"], derived, scope)
             for rule in manifest["requires"] + space.get("constraints", [])]
    parameters = {name: each["values"] if isinstance(each, dict) else each
                  for name, each in space["parameters"].items() if name in manifest["parameters"]}
    parameters["block_size_x"] = list(range(32, profile["max_threads_per_block"] + 1, 32))
    rules.append(f"block_size_x == {derived['THREADS']}")
    # It takes no rule that is about facts alone.
    about_configs = re.compile(rf"\b({'|'.join(parameters)})\b")
    assert all(about_configs.search(rule) or eval(rule) for rule in rules), "no config is valid"
    rules = [rule for rule in rules if about_configs.search(rule)]
    return parameters, rules, derived["SHARED_BYTES"]


def tune(arguments, manifest, problem, kernel_space, cache=None):
    """Kernel Tuner's results and environment. `cache` is a file that keeps results."""
    import kernel_tuner

    parameters, restrictions, shared = kernel_space
    random = np.random.default_rng(1)
    size_q, size_k = ([problem[name] for name in ("B", "H", length, "D")]
                      for length in ("Lq", "Lk"))
    q, k, v = (random.standard_normal(size).astype(np.float16) for size in (size_q, size_k, size_k))
    scale = np.float32(problem["D"] ** -0.5)
    given = {"Q": q, "K": k, "V": v, "O": np.zeros(size_q, np.float16), "scale": scale}
    given |= {name: np.int32(problem[name]) for name in ("B", "H", "Lq", "Lk")}
    # Others are of features that are off, and of the copy engine.
    said = [each["name"] if isinstance(each, dict) else each for each in manifest["arguments"]]
    names = [name for name in said if name in given]
    inputs = [given[name] for name in names]
    expected = attention(q, k, v, scale).astype(np.float16)
    answer = [expected if name == "O" else None for name in names]
    options = {"time_limit": arguments.seconds, "max_fevals": 10_000_000}
    if arguments.strategy == "random_sample":
        options["fraction"] = 1
    return kernel_tuner.tune_kernel(
        manifest["kernel"], kernel_source(arguments.database, parameters),
        (problem["Lq"], problem["H"], problem["B"]), inputs, parameters,
        grid_div_x=["BLOCK_M"], grid_div_y=[], grid_div_z=[], lang="nvcuda",
        restrictions=restrictions,
        smem_args={"size": lambda config: int(eval(shared, {}, dict(config)))},
        answer=answer, atol=2e-3, compiler_options=["-std=c++17", "-default-device"],
        strategy=arguments.strategy, strategy_options=options, quiet=True,
        parallel=arguments.parallel, cache=cache)


def tune_with_a_kill(arguments, *task):
    """What comes of a run one of whose workers is killed. It has a cache file: what that holds at
    the end is what a later run could go on with."""
    from kernel_tuner.util import read_cache

    killer = Killer(arguments.kill)
    killer.start()
    began = now()
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(folder, "cache.json")
        try:
            outcome = report(*tune(arguments, *task, cache), began, now())
        except Exception as error:
            said = str(error).partition("\n")[0]
            outcome = {"wall_s": (now() - began).total_seconds(), "results": None,
                       "error": f"{type(error).__name__}: {said}"}
        killer.over.set()
        killer.join()
        kept = read_cache(cache, open_cache=False)["cache"] if os.path.exists(cache) else {}
    if killer.killed_at is None:
        sys.exit("no worker was killed: the run ended before")
    return {"killed_after_s": (killer.killed_at - began).total_seconds(), **outcome,
            "kept_in_cache": len(kept)}


def report(results, env, began, ended):
    """Times in seconds; `first_after_s` is how long it took until there was a result."""
    outcomes = {}
    for each in results:
        outcome = type(each["__error__"]).__name__ if "__error__" in each else "passed"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    wall_s = (ended - began).total_seconds()
    first = min((datetime.datetime.fromisoformat(each["timestamp"]) for each in results),
                default=ended)

    def total(key):
        return sum(each.get(key) or 0 for each in results) / 1000

    return {"device": env.get("device_name"), "workers": len(env.get("workers", [env])),
            "evaluations": len(results), "outcomes": outcomes, "wall_s": wall_s,
            "first_after_s": (first - began).total_seconds(),
            "evaluations_per_s": len(results) / wall_s, "compile_s": total("compile_time"),
            "verify_s": total("verification_time"), "benchmark_s": total("benchmark_time"),
            "strategy_s": total("strategy_time"), "framework_s": total("framework_time")}


def main():
    arguments = read_arguments()
    manifest, space, profile = (yaml.safe_load(open(path)) for path in
                                (arguments.manifest, arguments.space, arguments.profile))
    kernel_space = search_space(manifest, space, profile)
    if arguments.count:
        from kernel_tuner.searchspace import Searchspace

        parameters, restrictions, _ = kernel_space
        print(Searchspace(parameters, restrictions, profile["max_threads_per_block"]).size)
        return

    import kernel_tuner

    let_take_all_shared_memory()
    if arguments.parallel:
        mend_ray_runner()
        start_ray(arguments.parallel)
    task = (manifest, space["problem"]["shape"], kernel_space)
    if arguments.kill is None:
        began = now()
        outcome = report(*tune(arguments, *task), began, now())
    else:
        outcome = tune_with_a_kill(arguments, *task)
    with open(arguments.out, "w") as out:
        json.dump({"tuner": "kernel_tuner " + kernel_tuner.__version__,
                   "backend": "nvcuda (NVRTC)", "python": platform.python_version(),
                   "strategy": arguments.strategy, "budget_s": arguments.seconds,
                   "gpus": arguments.parallel or 1, **outcome}, out, indent=1)


if __name__ == "__main__":
    main()
