#!/usr/bin/env python3
"""Kernel Tuner on fa-tune's own kernel source, constraints and shape, for so many seconds.

    rival.py SOURCE MANIFEST SPACE PROFILE OUT [--seconds 120] [--strategy random_sample] [--parallel GPUS] [--kill AFTER]

SOURCE is the flattened CUDA text of one trial (fa-tune's table `sources`), MANIFEST the template's,
SPACE a space file with that template alone, PROFILE the device profile whose limits hold. The lines
of SOURCE that define the template's parameters are left out: Kernel Tuner writes its own. Each
evaluation compiles by NVRTC, runs once, is compared with the float64 answer, and is timed seven
times, as Kernel Tuner does by default. OUT gets JSON: how many evaluations, of what outcome, and
where the time went. With --parallel it evaluates on so many GPUs by its Ray runner; --kill ends one of Ray's worker
processes after so many seconds, and OUT says what came of the run.

Needs: kernel_tuner, cuda-python (the backend `nvcuda`), numpy, pyyaml.
"""

import argparse
import json
import os
import platform
import re
import signal
import threading
import time

import numpy as np
import yaml


def written_out(text, derived, scope):
    """An expression of parameters alone: derived values stand as what they are derived from, facts as
    numbers. A `/` there is one of integers that leaves nothing."""
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
        attribute = nvcuda.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        nvcuda.driver.cuFuncSetAttribute(self.func, attribute, int(smem_args["size"]))

    nvcuda.CudaFunctions.copy_shared_memory_args = asking


def start_ray(gpus):
    """In its workers too kernels are to have all shared memory."""
    import ray
    ray.init(num_gpus=gpus, include_dashboard=False, log_to_driver=False,
             runtime_env={"worker_process_setup_hook": let_take_all_shared_memory})


def kill_a_worker(after_s):
    """Of those that evaluate, the first one found."""
    time.sleep(after_s)
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline") as file:
                if "WorkerActor" in file.read():
                    os.kill(int(process), signal.SIGKILL)
                    return
        except OSError:
            continue


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("source", "manifest", "space", "profile", "out"):
        parser.add_argument(name)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--strategy", default="random_sample")
    parser.add_argument("--parallel", type=int, help="GPUs, by the Ray runner")
    parser.add_argument("--kill", type=float, metavar="AFTER", help="seconds after which one worker process is killed")
    parser.add_argument("--count", action="store_true", help="print how many configs are valid, and stop")
    return parser.parse_args()


def search_space(manifest, space, profile):
    """Parameters, restrictions and the shared memory's size as Kernel Tuner takes them. The threads of
    a block are a parameter of their own there, and every config has the one template."""
    shape = {"lse": False, "causal": False, "window_left": -1, "window_right": -1, "capped": False,
             "alibi": False, "dtype": space["problem"]["dtype"], **space["problem"]["shape"]}
    scope = {"problem": shape, "device": {**profile, "compute_capability": int(profile["arch"].removeprefix("sm_"))}}
    # What the space does not name has its default, in the source too.
    derived = {name: repr(value) for name, value in manifest.get("optional", {}).items() if name not in space["parameters"]}
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
    return parameters, [rule for rule in rules if about_configs.search(rule)], derived["SHARED_BYTES"]


def main():
    arguments = read_arguments()
    manifest, space, profile = (
        yaml.safe_load(open(path)) for path in (arguments.manifest, arguments.space, arguments.profile))
    parameters, restrictions, shared = search_space(manifest, space, profile)
    if arguments.count:
        from kernel_tuner.searchspace import Searchspace
        print(Searchspace(parameters, restrictions, 1024).size)
        return
    source = re.sub(r"#define (%s) .*\n" % "|".join(parameters), "", open(arguments.source).read())

    import kernel_tuner
    let_take_all_shared_memory()
    given = space["problem"]["shape"]
    random = np.random.default_rng(1)
    size_q, size_k = ([given[name] for name in ("B", "H", length, "D")] for length in ("Lq", "Lk"))
    q, k, v = (random.standard_normal(size).astype(np.float16) for size in (size_q, size_k, size_k))
    scale = np.float32(given["D"] ** -0.5)
    inputs = [q, k, v, np.zeros(size_q, np.float16), np.int32(given["Lq"]), np.int32(given["Lk"]), scale]
    answer = [None, None, None, attention(q, k, v, scale).astype(np.float16), None, None, None]
    options = {"time_limit": arguments.seconds, "max_fevals": 10_000_000}
    if arguments.parallel:
        start_ray(arguments.parallel)
    if arguments.kill:
        threading.Thread(target=kill_a_worker, args=(arguments.kill,), daemon=True).start()
    if arguments.strategy == "random_sample":
        options["fraction"] = 1
    started = time.perf_counter()
    try:
        results, env = kernel_tuner.tune_kernel(
            manifest["kernel"], source, (given["Lq"], given["H"], given["B"]), inputs, parameters,
            grid_div_x=["BLOCK_M"], grid_div_y=[], grid_div_z=[], lang="nvcuda", restrictions=restrictions,
            smem_args={"size": lambda config: int(eval(shared, {}, dict(config)))}, answer=answer, atol=2e-3,
            compiler_options=["-std=c++17", "-default-device"], strategy=arguments.strategy, strategy_options=options,
            quiet=True, parallel=arguments.parallel)
    except Exception as error:
        if not arguments.kill:
            raise
        json.dump({"killed_after_s": arguments.kill, "ended_after_s": time.perf_counter() - started,
                   "error": f"{type(error).__name__}: {error}"[:2000], "results": None}, open(arguments.out, "w"), indent=1)
        return
    report(arguments, results, env, time.perf_counter() - started)


def report(arguments, results, env, wall_s):
    outcome = lambda each: each["__error__"].__class__.__name__ if "__error__" in each else "right"
    outcomes = {}
    for each in results:
        outcomes[outcome(each)] = outcomes.get(outcome(each), 0) + 1
    total = lambda key: sum(each.get(key) or 0 for each in results) / 1000
    import kernel_tuner
    json.dump({"tuner": "kernel_tuner " + kernel_tuner.__version__, "backend": "nvcuda (NVRTC)",
               "python": platform.python_version(), "device": env.get("device_name"),
               "strategy": arguments.strategy, "budget_s": arguments.seconds, "parallel": arguments.parallel,
               "killed_after_s": arguments.kill,
               "evaluations": len(results), "outcomes": outcomes, "wall_s": wall_s,
               "evaluations_per_s": len(results) / wall_s, "compile_s": total("compile_time"),
               "verify_s": total("verification_time"), "benchmark_s": total("benchmark_time"),
               "strategy_s": total("strategy_time"), "framework_s": total("framework_time")},
              open(arguments.out, "w"), indent=1)


if __name__ == "__main__":
    main()
