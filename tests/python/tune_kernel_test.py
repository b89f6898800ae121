"""tune_kernel and run_kernel as Kernel Tuner's scripts call them, on the emulator."""

import contextlib
import io
import json
import math
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy

import fa_tune
from fa_tune import _run, run_kernel, tune_kernel
from fa_tune.kt import devices
from fa_tune.kt import source as kernel_source

os.environ["FA_TUNE_DEVICE"] = "emulator:h100"

VECTOR_ADD = """
__global__ void vector_add(float *c, float *a, float *b, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
"""

def vector_arguments(size=3000):
    drawn = numpy.random.default_rng(1)
    a, b = (drawn.standard_normal(size).astype(numpy.float32) for _ in range(2))
    return [numpy.zeros_like(a), a, b, numpy.int32(size)]


def tuned(name, source, size, arguments, params, **options):
    return tune_kernel(name, source, size, arguments, params, quiet=True, **options)


class VectorAdd(unittest.TestCase):
    def setUp(self):
        self.arguments = vector_arguments()
        self.params = {"block_size_x": [64, 128, 192, 256, 2048]}
        self.answer = [self.arguments[1] + self.arguments[2], None, None, None]
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def tune(self, **options):
        return tuned("vector_add", VECTOR_ADD, 3000, self.arguments, self.params, **options)

    def test_all_that_can_run_are_rows(self):
        rows, env = self.tune(answer=self.answer)
        self.assertEqual([row["block_size_x"] for row in rows], [64, 128, 192, 256])
        for row in rows:
            self.assertIsInstance(row["time"], float)
            for name in ("times", "compile_time", "verification_time", "benchmark_time", "timestamp"):
                self.assertIn(name, row)
        self.assertEqual(env["best_config"], min(rows, key=lambda row: row["time"]))
        self.assertIn("H100", env["device_name"])
        self.assertEqual(env["time_kind"], "predicted")
        json.dumps([rows, env])
        numpy.testing.assert_array_equal(self.arguments[0], 0)

    def test_a_wrong_answer_leaves_no_rows(self):
        self.answer[0] = self.answer[0] + numpy.float32(1e-3)
        rows, env = self.tune(answer=self.answer)
        self.assertEqual(rows, [])
        self.assertNotIn("best_config", env)
        rows, _ = self.tune(answer=self.answer, atol=0.01)
        self.assertEqual(len(rows), 4)

    def test_compilers_are_parallel_in_any_case(self):
        for given in ({"parallel": True}, {"parallel": 2}, {"parallel_runner": 1024}, {"parallel_runner": None}):
            self.assertEqual(len(self.tune(**given)[0]), 4)
        for name in ("parallel", "parallel_runner"):
            with self.assertRaisesRegex(fa_tune.InputError, f"^{name}: "):
                self.tune(**{name: "all"})

    def test_an_array_may_be_empty_where_no_thread_reads_it(self):
        self.arguments[2] = self.arguments[2][:0]
        read = VECTOR_ADD.replace("b[i]", "(n < 0 ? b[i] : 1)")
        answer = [self.arguments[1] + 1, None, self.arguments[2], None]
        rows, _ = tuned("vector_add", read, 3000, self.arguments, self.params, answer=answer)
        self.assertEqual(len(rows), 4)
        self.assertEqual(self.tune(answer=answer)[0], [])  # which does read it
        self.assertEqual(self.arguments[2].size, 0)

    def test_without_an_answer_nothing_is_compared(self):
        self.assertEqual(len(self.tune()[0]), 4)

    def test_what_leaves_its_buffers_or_reads_nothing_is_refused_all_the_same(self):
        for old, new in [("c[i] =", "c[i + 8] ="), ("if (i < n)", ""), ("a[i] + b[i]", "a[i] + b[i + n]")]:
            self.assertIn(old, VECTOR_ADD)
            rows, _ = tuned("vector_add", VECTOR_ADD.replace(old, new), 3000, self.arguments, self.params)
            self.assertEqual(rows, [], new)
        const = VECTOR_ADD.replace("float *a", "const float *a").replace("c[i] =", "((float*)a)[i] = c[i] =")
        rows, _ = tuned("vector_add", const, 3000, self.arguments, self.params)
        self.assertEqual(rows, [])

    def test_what_a_kernel_writes_is_found(self):
        for text, written in [
            ("c[i] = a[i] + b[i];", "c"),
            ("c[i] += a[i] == b[i];", "c"),
            ("atomicAdd(&c[a[i]], b[i]); ++a[0];", "ac"),
            ("f(b); c[i]++; float x = -a[i];", "bc"),
            ("// a[i] = 1;\n if (a[i] >= 2 && b[i] != 3) c[i] = 1;", "c"),
            ("*c = a[i]; b[0].x = 1;", "bc"),
        ]:
            source = "__global__ void k(float *a, float *b, float* c, int n) {" + text + "}"
            found = kernel_source.parameters("__global__ void k(float*);" + source, "k")
            self.assertEqual(
                "".join(each.name for each in found if each.written and each.name != "n"), written, text
            )

    def test_a_type_may_follow_from_a_parameter(self):
        source = VECTOR_ADD.replace("float *", "type *")
        source = "#include <cuda_fp16.h>\nusing half = __half;\n" + source
        exact = [numpy.array(each, numpy.float64) for each in self.arguments[:3]]
        arguments = [fa_tune.accuracy.TunablePrecision("type", each) for each in exact]
        params = {"block_size_x": [64, 128], "type": ["float", "half", "double"]}
        rows, env = tuned("vector_add", source, 3000, [*arguments, self.arguments[3]], params)
        self.assertEqual(len(rows), 6)
        self.assertEqual({row["type"] for row in rows}, {"float", "half", "double"})
        self.assertEqual(env["best_config"]["time"], min(row["time"] for row in rows))

    def test_verify_decides(self):
        asked = []

        def verify(expected, outputs, atol):
            self.assertEqual((len(expected), atol), (4, 0.5))
            self.assertIsNone(outputs[1])
            asked.append(numpy.allclose(outputs[0], self.answer[0], atol=1e-6))
            return len(asked) > 1

        rows, _ = self.tune(answer=self.answer, verify=verify, atol=0.5)
        self.assertEqual(asked, [True] * 4)
        self.assertEqual(len(rows), 3)
        self.assertEqual(len(self.tune(verify=lambda _, outputs: outputs[0].any())[0]), 4)

    def test_restrictions(self):
        for given, expected in [
            (lambda p: p["block_size_x"] % 96 != 0 and p["block_size_x"] < 200, [64, 128]),
            ("block_size_x in [64, 256]", [64, 256]),
            (["block_size_x > 64", lambda p: p["block_size_x"].bit_length() == 8], [128, 192]),
        ]:
            rows, _ = self.tune(restrictions=given)
            self.assertEqual([row["block_size_x"] for row in rows], expected)

    def test_metrics_and_objective(self):
        metrics = {
            "GFLOP/s": lambda p: 3000 / 1e9 / (p["time"] / 1e3),
            "half": "time / 2",
            "more": "half * 4",
        }
        rows, env = self.tune(metrics=metrics, objective="GFLOP/s")
        for row in rows:
            self.assertAlmostEqual(row["more"], 2 * row["time"])
        self.assertEqual(env["best_config"]["GFLOP/s"], max(row["GFLOP/s"] for row in rows))
        with self.assertRaisesRegex(fa_tune.InputError, "metrics.*'power'"):
            self.tune(metrics={"x": lambda p: p["power"]})

    def test_a_cache_is_read_and_written(self):
        cache = Path(self.folder.name) / "kept"
        first, _ = self.tune(cache=cache, restrictions=["block_size_x < 150"])
        said = json.loads(Path(f"{cache}.json").read_text())
        self.assertEqual(said["kernel_name"], "vector_add")
        self.assertEqual(list(said["cache"]), ["64", "128"])
        said["cache"]["64"]["time"] = 7.5  # it is not measured again
        Path(f"{cache}.json").write_text(json.dumps(said))
        rows, _ = self.tune(cache=cache)
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows[0]["time"], 7.5)
        kept = json.loads(Path(f"{cache}.json").read_text())["cache"]
        self.assertEqual(kept["2048"]["time"], "InvalidConfig")
        again, _ = self.tune(cache=cache)
        self.assertEqual(again, rows)
        only, _ = self.tune(cache=cache, restrictions="block_size_x == 64")
        self.assertEqual([row["time"] for row in only], [7.5])
        simulated, _ = self.tune(cache=cache, simulation_mode=True)
        self.assertEqual(simulated, rows)
        # As Kernel Tuner leaves one that it has not finished.
        Path(f"{cache}.json").write_text(json.dumps(said)[:-2] + ",")
        self.assertEqual(len(self.tune(cache=cache, simulation_mode=True)[0]), 2)
        with self.assertRaisesRegex(fa_tune.InputError, "cache: .* is of vector_add"):
            tuned("other", VECTOR_ADD, 1, self.arguments, self.params, cache=cache)

    def test_a_config_without_a_grid_is_not_launched(self):
        self.params["block_size_x"] = [16, 32, 64]
        for given in (
            "block_size_x/32",
            lambda p: p["block_size_x"] // 32,
            lambda p: math.sqrt(p["block_size_x"] - 32),
        ):
            rows, _ = self.tune(grid_div_x=given)
            self.assertNotIn(16, [row["block_size_x"] for row in rows])
            self.assertIn(64, [row["block_size_x"] for row in rows])

    def test_arrays_of_other_libraries_are_copied_to_the_host(self):
        class Array:  # as CuPy has one
            def __init__(self, array):
                self.array = array

            def get(self):
                return self.array

            def set(self, array):
                self.array = array.copy()

        Array.__module__ = "cupy._core"
        given = [Array(each) for each in self.arguments[:3]] + self.arguments[3:]
        answer = [Array(self.answer[0]), None, None, None]
        rows, _ = tuned("vector_add", VECTOR_ADD, 3000, given, self.params, answer=answer, lang="cupy")
        self.assertEqual(len(rows), 4)
        add = fa_tune.kernelbuilder.PythonKernel("vector_add", VECTOR_ADD, 3000, given, {"block_size_x": 64})
        add(*given)
        numpy.testing.assert_array_equal(given[0].array, self.answer[0])

    def test_strategies(self):
        for strategy in ("random_sample", "bayes_opt", fa_tune.strategies.minimize):
            rows, _ = self.tune(
                strategy=strategy, strategy_options={"max_fevals": 2}, restrictions="block_size_x < 1000"
            )
            self.assertEqual(len(rows), 2)

    def test_a_time_limit_ends_a_search_that_keeps_its_rows(self):
        params = {"block_size_x": list(range(32, 1024, 2)), "one": [0, 1, 2]}
        rows, _ = tuned(
            "vector_add", VECTOR_ADD, 3000, self.arguments, params, strategy_options={"time_limit": 2.5}
        )
        self.assertGreater(len(rows), 0)
        self.assertLess(len(rows), 1400)

    def test_a_source_may_be_a_file_or_a_function(self):
        file = Path(self.folder.name) / "kernel.cu"
        file.write_text('#include "own.h"\n' + VECTOR_ADD.replace("a[i] +", "a[i] PLUS"))
        (file.parent / "own.h").write_text("#define PLUS +\n")
        rows, _ = tuned("vector_add", str(file), 3000, self.arguments, self.params, answer=self.answer)
        self.assertEqual(len(rows), 4)

        def written(config):
            return VECTOR_ADD.replace("block_size_x", str(config["block_size_x"]))

        rows, _ = tuned("vector_add", written, 3000, self.arguments, self.params, answer=self.answer)
        self.assertEqual(len(rows), 4)

    def test_of_many_sources_some_are_drawn(self):
        def written(config):
            return VECTOR_ADD + f"// {config}\n"

        params = {"block_size_x": list(range(32, 96)), "other": list(range(10))}
        given = ("vector_add", written, 3000, self.arguments, params)
        rows, _ = tuned(*given, strategy="random_sample", strategy_options={"max_fevals": 3})
        self.assertEqual(len(rows), 3)
        with self.assertRaisesRegex(fa_tune.InputError, "kernel_source: .* more than 500"):
            tuned(*given)

    def test_registers_are_observed(self):
        rows, _ = self.tune(observers=[fa_tune.observers.RegisterObserver()])
        self.assertTrue(all(0 < row["num_regs"] < 256 for row in rows))

    def test_finals_are_held_on_a_gpu_unless_one_says_no(self):
        gpu = devices.Device("cuda:0", "h100")
        for options, left_out in [({}, False), ({"finals": True}, False), ({"finals": False}, True)]:
            with mock.patch.object(devices, "choose", return_value=gpu):
                with mock.patch.object(_run, "run", side_effect=InterruptedError) as run:
                    self.assertRaises(InterruptedError, self.tune, strategy_options=options)
            self.assertEqual("--no-finals" in run.call_args[0][0], left_out, options)

    def test_what_is_not_carried_out_names_its_argument(self):
        class Mine:
            pass

        for name, value in [
            ("texmem_args", {"t": self.arguments[0]}),
            ("lang", "OpenCL"),
            ("observers", [Mine()]),
            ("strategy", "magic"),
            ("strategy", Mine()),
            ("strategy_options", {"max_fevals": 0}),
            ("strategy_options", {"finals": "none"}),
            ("restrictions", ["unknown > 1"]),
            ("answer", [self.arguments[0]]),
            ("answer", [self.arguments[0][:5], None, None, None]),
            ("device", "gpu"),
            ("smem_args", {"carveout": 3}),
            ("defines", {"a b": "1"}),
            ("block_size_names", ["a"] * 4),
            ("simulation_mode", True),
            ("objective", ["time", "power"]),
            ("compiler", "gcc"),
        ]:
            with self.assertRaisesRegex(fa_tune.InputError, f"^{name}"):
                self.tune(**{name: value})
        for at, value in [(0, [1.0]), (3, 3000), (0, self.arguments[0].astype("U1"))]:
            arguments = list(self.arguments)
            arguments[at] = value
            with self.assertRaisesRegex(fa_tune.InputError, rf"^arguments\[{at}\]"):
                tuned("vector_add", VECTOR_ADD, 3000, arguments, self.params)
        with self.assertRaisesRegex(fa_tune.InputError, "3 are given, and vector_add has 4"):
            tuned("vector_add", VECTOR_ADD, 3000, self.arguments[:3], self.params)
        for params in ({}, {"a-b": [1]}, {"x": 3}, {"x": []}, {"x": [1.5]}, {"template": [1]}, [1]):
            with self.assertRaisesRegex(fa_tune.InputError, "^tune_params"):
                tuned("vector_add", VECTOR_ADD, 3000, self.arguments, params)

    def test_a_hostile_name_is_text(self):
        made = Path(self.folder.name) / "made"
        with self.assertRaises(fa_tune.FaTuneError):
            tuned(f"x; touch {made}", VECTOR_ADD, 3000, self.arguments, self.params)
        with self.assertRaises(fa_tune.FaTuneError):
            self.tune(
                compiler_options=[f"-DX=1; touch {made}", "$(touch " + str(made) + ")"], device="emulator:x"
            )
        self.assertFalse(made.exists())

    def test_it_says_what_it_does(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            tune_kernel("vector_add", VECTOR_ADD, 3000, self.arguments, self.params, verbose=True)
        self.assertRegex(out.getvalue(), r"^best of 4 by time \(predicted\): block_size_x=\d+, time=")
        self.assertRegex(err.getvalue(), "1 of 5 configs failed: 1 launch_limits: .*block.x")


class RunKernel(unittest.TestCase):
    def test_all_arguments_come_back(self):
        arguments = vector_arguments()
        after = run_kernel("vector_add", VECTOR_ADD, 3000, arguments, {"block_size_x": 128}, quiet=True)
        numpy.testing.assert_array_equal(after[0], arguments[1] + arguments[2])
        numpy.testing.assert_array_equal(after[1], arguments[1])
        self.assertEqual(after[3], 3000)
        numpy.testing.assert_array_equal(arguments[0], 0)

    def test_a_kernel_as_a_function(self):
        c, a, b, n = vector_arguments()
        add = fa_tune.kernelbuilder.PythonKernel(
            "vector_add",
            VECTOR_ADD,
            3000,
            [c, a, b, n],
            {"block_size_x": 64},
            outputs=[True, False, False, False],
        )
        numpy.testing.assert_array_equal(add(c, b, b, n), b + b)
        numpy.testing.assert_array_equal(c, b + b)


if __name__ == "__main__":
    unittest.main()
