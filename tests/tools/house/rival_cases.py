"""rival_cases.py REPOSITORY VALID: the cases of rival_test.sh, in a folder with mma.yaml and mma.db.

VALID is how many configs fa-tune counts. Kernel Tuner and Ray are modules made here, with what rival.py takes of them.
"""

import datetime
import itertools
import json
import sqlite3
import shutil
import subprocess
import sys
import time
import types
import unittest

import numpy as np
import rival
import yaml

repository, valid = sys.argv.pop(1), int(sys.argv.pop(1))


def read(path):
    with open(path) as file:
        return yaml.safe_load(file)


PARAMETERS, RULES, SHARED = rival.search_space(
    read(f"{repository}/kernel_templates/attention/mma.yaml"), read("mma.yaml"),
    read(f"{repository}/search_spaces/devices/l4.yaml"))


def module(name, **content):
    made = types.ModuleType(name)
    vars(made).update(content)
    sys.modules[name] = made
    return made


class Space(unittest.TestCase):
    def test_holds_as_many_configs_as_fa_tune_counts(self):
        about_blocks = [rule for rule in RULES if "block_size_x" in rule]
        self.assertEqual(len(about_blocks), 1)
        threads = compile(about_blocks[0].removeprefix("block_size_x == "), "threads", "eval")
        others = [f"({rule})" for rule in RULES if rule not in about_blocks]
        holds = compile(" and ".join(others), "rules", "eval")
        names = [name for name in PARAMETERS if name != "block_size_x"]
        count = 0
        for values in itertools.product(*(PARAMETERS[name] for name in names)):
            config = dict(zip(names, values))
            count += bool(eval(holds, config)) and eval(threads, config) in PARAMETERS["block_size_x"]
        self.assertEqual(count, valid)

    def test_shared_memory_is_what_fa_tune_launched_with(self):
        rows = sqlite3.connect("mma.db").execute("SELECT config, dynamic_shared_bytes FROM trials").fetchall()
        self.assertEqual(len(rows), 2)
        for config, shared in rows:
            self.assertEqual(eval(SHARED, json.loads(config)), shared)


class Kernel(unittest.TestCase):
    def test_is_a_whole_text_that_leaves_the_parameters_to_kernel_tuner(self):
        text = rival.kernel_source("mma.db", PARAMETERS)
        self.assertIn("attention_mma(", text)
        self.assertIn("\n#define KV_ORDER forwards\n", text)
        for name in PARAMETERS:
            self.assertNotIn(f"#define {name} ", text)

    def test_one_that_is_missing_is_told(self):
        empty = sqlite3.connect("empty.db")
        empty.execute("CREATE TABLE kernels (hash, text)")
        with self.assertRaisesRegex(SystemExit, "empty.db has no kernel"):
            rival.kernel_source("empty.db", PARAMETERS)

    def test_answer_weighs_values_by_softmax(self):
        q, k, v = np.zeros((1, 1, 1, 2)), np.zeros((1, 1, 2, 2)), np.array([[[[1.0, 2.0], [3.0, 6.0]]]])
        np.testing.assert_allclose(rival.attention(q, k, v, 1), [[[[2, 4]]]])
        q[0, 0, 0, 0], k[0, 0, 1, 0] = 2, np.log(3)
        np.testing.assert_allclose(rival.attention(q, k, v, 0.5), [[[[2.5, 5]]]])


BEGAN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def after(seconds):
    return BEGAN + datetime.timedelta(seconds=seconds)


class Report(unittest.TestCase):
    def test_counts_outcomes_and_adds_times_up(self):
        class CompilationFailedConfig:
            pass

        results = [{"timestamp": after(3).isoformat(), "compile_time": 1500, "benchmark_time": 20, "time": 0.1},
                   {"timestamp": str(after(2)), "compile_time": 500, "verification_time": 250, "time": 0.2},
                   {"timestamp": str(after(4)), "compile_time": None, "__error__": CompilationFailedConfig()}]
        told = rival.report(results, {"device_name": "H100", "workers": [{}, {}]}, BEGAN, after(6))
        self.assertEqual(told["outcomes"], {"passed": 2, "CompilationFailedConfig": 1})
        self.assertEqual([told[key] for key in ("device", "workers", "evaluations", "wall_s", "first_after_s")],
                         ["H100", 2, 3, 6, 2])
        self.assertEqual([told[key] for key in ("evaluations_per_s", "compile_s", "verify_s", "benchmark_s")],
                         [0.5, 2, 0.25, 0.02])

    def test_a_run_without_results_is_one_too(self):
        told = rival.report([], {"device_name": "H100"}, BEGAN, after(6))
        self.assertEqual([told[key] for key in ("workers", "evaluations", "first_after_s")], [1, 0, 6])


class Ray(unittest.TestCase):
    def worker(self, command):
        """A process of that name that lasts."""
        process = subprocess.Popen([command, "600"], executable=shutil.which("sleep"))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        # The name is there a moment after the start, and gone when rival.py has killed the process.
        while process.poll() is None:
            with open(f"/proc/{process.pid}/cmdline", encoding="utf-8") as file:
                if file.read().startswith(command):
                    break
            time.sleep(0.01)
        return process

    def test_workers_are_those_of_this_process_that_evaluate(self):
        self.worker("ray::IDLE")
        pids = [self.worker("ray::WorkerActor.run").pid, self.worker("ray::WorkerActor").pid]
        self.assertEqual(sorted(rival.ray_workers()), sorted(pids))
        others = subprocess.run([sys.executable, "-c", "import rival; print(rival.ray_workers())"],
                                capture_output=True, text=True)
        self.assertEqual(others.stdout, "[]\n")

    def killed(self, tune, after_s):
        module("kernel_tuner")
        module("kernel_tuner.util", read_cache=lambda path, open_cache: json.load(open(path)))
        plain = rival.tune
        self.addCleanup(setattr, rival, "tune", plain)
        rival.tune = tune
        return rival.tune_with_a_kill(types.SimpleNamespace(kill=after_s))

    def test_a_killed_worker_ends_the_run_and_the_cache_stays(self):
        def tune(arguments, cache):
            with open(cache, "w") as file:
                json.dump({"cache": {"16,32": {}, "32,32": {}}}, file)
            code = self.worker("ray::WorkerActor.run").wait(timeout=300)
            raise RuntimeError(f"ended by {code}\nmore")

        told = self.killed(tune, 0.5)
        self.assertEqual(told["error"], "RuntimeError: ended by -9")
        self.assertEqual((told["results"], told["kept_in_cache"]), (None, 2))
        self.assertLess(0.5, told["killed_after_s"])
        self.assertLessEqual(told["killed_after_s"], told["wall_s"])

    def test_a_run_that_outlives_its_worker_is_reported(self):
        def tune(arguments, cache):
            self.worker("ray::WorkerActor").wait(timeout=300)
            return [{"timestamp": str(rival.now())}], {"device_name": "H100", "workers": [{}]}

        told = self.killed(tune, 0)
        self.assertEqual((told["evaluations"], told["kept_in_cache"]), (1, 0))

    def test_a_run_without_a_kill_is_no_answer(self):
        with self.assertRaisesRegex(SystemExit, "no worker was killed"):
            self.killed(lambda arguments, cache: ([], {}), 0)

    def test_the_released_runner_is_mended(self):
        class Runner:
            def run(self, parameter_space, options):
                return [each.get(options.objective) for each in parameter_space]

        strategies = {"random_sample": object(), "mls": object()}
        interface = module("kernel_tuner.interface", _STRATEGY_PARALLEL=["random_sample"], strategy_map=strategies)
        module("kernel_tuner", interface=interface)
        module("kernel_tuner.runners")
        module("kernel_tuner.runners.parallel", ParallelRunner=Runner)
        rival.mend_ray_runner()
        self.assertIn(strategies["random_sample"], interface._STRATEGY_PARALLEL)
        self.assertNotIn(strategies["mls"], interface._STRATEGY_PARALLEL)
        options = types.SimpleNamespace(objective=["time"])
        self.assertEqual(Runner().run([{"time": 1}, {"__error__": "a"}], options), [None, "a"])
        self.assertEqual(options.objective, ["time"])


if __name__ == "__main__":
    unittest.main()
