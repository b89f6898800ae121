"""Host code as Kernel Tuner's scripts tune it: functions that return a made-up time, by g++, and by an
nvcc and a libcuda that keep what they are asked."""

import contextlib
import io
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy

import fa_tune
from fa_tune import run_kernel, tune_kernel
from fa_tune._driver import Driver
from fa_tune.kt import configs, host_calls, host_code

# Its time is |parts - 3| + 1 ms; `way` chooses what goes wrong.
SUM = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#ifndef way
#define way 0
#endif
extern "C" float add(double *y, const float *x, float a, int n) {
    static int calls = 0;
    if (way == 1) _exit(5);
    if (way == 2) { fprintf(stderr, "before the end\\n"); raise(SIGSEGV); }
    if (way == 3) sleep(600);
    if (way == 4) return __builtin_nanf("");
    if (way == 5) { fprintf(stderr, "too many resources\\n"); return -1; }
    if (way == 6) y[7] += 1;
#if way == 7
    does_not_exist();
#endif
    if (way == 8 && ++calls == 3) _exit(6);
    for (int i = 0; i < n; ++i) y[i] += a * x[i];
    return (parts < 3 ? 3 - parts : parts - 3) + 1;
}
"""
BAD_WAYS = range(1, 9)
# Follows the addresses as a kernel would: says which it was told to map.
CUDA = """
#include <cstddef>
#include <cstdio>
#include <cstdlib>
static int say(const char *text, size_t a = 0, size_t b = 0) {
    FILE *file = fopen(getenv("FAKE_CUDA_LOG"), "a");
    fprintf(file, "%s %zu %zu\\n", text, a, b);
    return fclose(file);
}
extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGet(int *device, int number) { return *device = number, 0; }
int cuDeviceGetName(char *name, int size, int) { return snprintf(name, size, "A GPU"), 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *(size_t *)context = 10 + device, 0; }
int cuCtxSetCurrent(void *context) { return say("enter", (size_t)context); }
int cuMemHostRegister_v2(void *, size_t size, unsigned flags) { return say("map", size, flags); }
int cuStreamSynchronize(void *) { return getenv("FAKE_CUDA_FAILS") ? 700 : 0; }
int cuGetErrorString(int, const char **text) { return *text = "an illegal memory access", 0; }
}
"""
NVCC = """#!/bin/sh
echo "$@" >> "$FAKE_NVCC_LOG"
for word; do
  shift
  case "$word" in -arch=native) continue ;; *.cu) set -- "$@" -x c++ ;; -Xcompiler=*) word=${word#*=} ;; esac
  set -- "$@" "$word"
done
exec g++ "$@"
"""


@unittest.skipUnless(shutil.which("g++"), "needs g++")
class Searches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.y = numpy.full(50, 2.0)
        self.x = numpy.arange(50, dtype=numpy.float32)
        self.arguments = [self.y, self.x, numpy.float32(0.5), numpy.int32(50)]
        self.answer = [2 + 0.5 * self.x, None, None, None]
        self.params = {"parts": [1, 2, 3, 4]}
        self.said = ""

    def tune(self, source=SUM, name="add", **options):
        named = {"lang": "C", "quiet": True, **options}
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                return tune_kernel(name, source, 50, self.arguments, self.params, **named)
        finally:
            self.said = said.getvalue()

    def refused(self, message, **options):
        with self.assertRaisesRegex(fa_tune.InputError, message):
            self.tune(**options)


class HostCode(Searches):
    def test_the_least_time_wins(self):
        for lang in ("C", "c", "C++"):
            rows, env = self.tune(answer=self.answer, lang=lang)
            self.assertEqual([(r["parts"], r["time"]) for r in rows], [(1, 3), (2, 2), (3, 1), (4, 2)])
            self.assertEqual(env["best_config"]["parts"], 3)
        for row in rows:
            self.assertEqual(row["times"], [row["time"]] * 7)
            for name in ("compile_time", "verification_time", "benchmark_time", "timestamp"):
                self.assertTrue(row[name], name)
        self.assertEqual(env["time_kind"], "measured")
        json.dumps([rows, env])
        numpy.testing.assert_array_equal(self.y, 2.0)

    def test_the_time_is_the_mean_of_all_calls(self):
        source = "float add(double *, float *, float, int) { static float n = 0; return n += parts; }"
        rows, env = self.tune(source, iterations=3)
        self.assertEqual([row["times"] for row in rows], [[p, 2 * p, 3 * p] for p in self.params["parts"]])
        self.assertEqual([row["time"] for row in rows], [2, 4, 6, 8])
        self.assertEqual(env["iterations"], 3)

    def test_every_config_begins_with_the_callers_values(self):
        # Of the sum of all calls so far only the first can be right.
        self.answer[0] = 2 + 0.5 * self.x
        rows, _ = self.tune(answer=self.answer, iterations=5)
        self.assertEqual(len(rows), 4)
        counts = "float add(double *y, float *, float, int) { return y[0]++; }"
        for options in ({}, {"answer": [self.y + (self.x == 0), None, None, None]}):
            rows, _ = self.tune(counts, iterations=2, **options)
            self.assertEqual([row["times"] for row in rows], [[2, 3]] * 4)
        seen = []
        self.tune(verify=lambda expected, found: seen.append(found) or True)
        for found in seen:
            numpy.testing.assert_array_equal(found[0], self.answer[0])
            numpy.testing.assert_array_equal(found[1], self.x)
            self.assertIsNone(found[3])
        self.assertEqual(len(seen), 4)

    def test_what_fails_is_left_out_and_the_search_goes_on(self):
        self.params = {"parts": [2, 3], "way": [*BAD_WAYS, 0]}
        cache = self.folder / "cache.json"
        with mock.patch.object(host_calls, "CALL_SECONDS", 1):
            rows, _ = self.tune(answer=self.answer, quiet=False, verbose=True, cache=cache)
        self.assertEqual([(r["parts"], r["way"], r["time"]) for r in rows], [(2, 0, 2), (3, 0, 1)])
        self.assertIn("16 of 18 configs failed", self.said)
        kept = {r["way"]: r["time"] for r in json.loads(cache.read_text())["cache"].values()}
        self.assertEqual(kept[7], "CompilationFailedConfig")
        self.assertEqual({kept[way] for way in BAD_WAYS if way != 7}, {"RuntimeFailedConfig"})

    def test_each_failure_has_its_reason(self):
        for way, reason in [
            (1, "ends the process with exit code 5"),
            (2, r"crashes \(SIGSEGV\): before the end"),
            (3, "does not end within 1 s"),
            (4, "returns nan for its time"),
            (5, "returns -1 for its time: too many resources"),
            (6, r"element 7 of arguments\[0\] is 6.5, expected 5.5"),
            (7, "kernel_source:.*does_not_exist"),
            (8, "ends the process with exit code 6"),
        ]:
            self.params = {"parts": [3], "way": [way]}
            with mock.patch.object(host_calls, "CALL_SECONDS", 1):
                rows, env = self.tune(answer=self.answer, quiet=False)
            self.assertEqual(rows, [])
            self.assertNotIn("best_config", env)
            self.assertRegex(self.said, f"1 of 1 configs failed: 1 .*{reason}")

    def test_an_argument_without_an_answer_is_not_compared(self):
        self.params["way"] = [6]
        self.assertEqual(len(self.tune(answer=[None, self.x, None, None])[0]), 4)
        self.assertEqual(len(self.tune()[0]), 4)
        self.assertEqual(self.tune(answer=self.answer)[0], [])
        self.assertEqual(len(self.tune(answer=self.answer, atol=2)[0]), 4)
        refuse = lambda expected, found, atol: atol == 3 and found[0][0] > 1000  # noqa: E731
        self.assertEqual(self.tune(answer=self.answer, verify=refuse, atol=3)[0], [])

    def test_scalars_are_values_and_arrays_addresses(self):
        kinds = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
        names = [kind if kind.startswith("float") else f"{kind}_t" for kind in kinds]
        names = [{"bool_t": "bool", "float32": "float", "float64": "double"}.get(n, n) for n in names]
        scalars = [numpy.dtype(kind).type(1 if kind == "bool" else 100 + i) for i, kind in enumerate(kinds)]
        taken = ", ".join(f"{name} a{i}" for i, name in enumerate(names))
        stored = " ".join(f"out[{i}] = a{i};" for i in range(len(names)))
        source = f"#include <cstdint>\nfloat all(double *out, {taken}) {{ {stored} return 1; }}"
        found = run_kernel("all", source, 1, [numpy.zeros(11), *scalars], {"parts": 1}, lang="C")
        numpy.testing.assert_array_equal(found[0], [float(each) for each in scalars])
        kept = numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3))
        source = "float at(double *a, double *none) { a[1] = -1; return 1; }"
        given = [kept, numpy.zeros(0)]
        found = run_kernel("at", source, 1, given, {"parts": 1}, lang="C")[0]
        numpy.testing.assert_array_equal(found, [[0, 1, 2], [-1, 4, 5]])
        self.assertEqual(kept[1, 0], 3)

    def test_run_kernel_gives_all_arguments(self):
        found = run_kernel("add", SUM, 50, self.arguments, {"parts": 4}, lang="C")
        numpy.testing.assert_array_equal(found[0], self.answer[0])
        numpy.testing.assert_array_equal(found[1], self.x)
        self.assertEqual((found[2], found[3]), (0.5, 50))
        for way, message in [(1, "^add ends the process"), (7, "^the host code does not compile")]:
            with self.assertRaisesRegex(fa_tune.InputError, message):
                run_kernel("add", SUM, 50, self.arguments, {"parts": 4, "way": way}, lang="C")

    def test_files_include_each_other_and_see_the_definitions(self):
        inner = self.folder / "inner"
        inner.mkdir()
        included = '#include "part.h"\n#include "../beside.h"\n'
        (inner / "main.cpp").write_text(included + SUM.replace("parts", "scale"))
        (inner / "part.h").write_text("const int scale = parts * grid_size_x + block_size_y - 1;\n")
        (self.folder / "beside.h").write_text("static_assert(kernel_tuner == 1 && block_size_x == 25 && LEFT == 4);\n")
        given = [str(inner / "main.cpp"), inner / "part.h"]
        options = {"block_size_names": ["wide"], "compiler_options": ["-std=c++17", "-DLEFT=4"]}
        self.params = {"parts": [1, 2], "block_size_x": [25]}
        for source in (given, given[0], lambda config: given[0]):
            rows, _ = self.tune(source, grid_div_x="block_size_x", **options)
            self.assertEqual([row["time"] for row in rows], [2, 2])
        rows, _ = self.tune(SUM.replace("parts", "mine"), defines={"mine": lambda p: 2 * p["parts"], "way": 0})
        self.assertEqual([row["time"] for row in rows], [2, 2])
        self.refused("^kernel_source: 'none.h' is no file", source=[given[0], "none.h"])

    def test_a_function_that_writes_the_source_is_asked_for_each_config(self):
        rows, _ = self.tune(lambda config: SUM.replace("parts", str(config["parts"] + 2)))
        self.assertEqual([row["time"] for row in rows], [1, 2, 3, 4])

    def test_restrictions_strategies_and_bounds(self):
        self.params = {"parts": list(range(1, 9)), "unused": [0, 1]}
        odd = {"restrictions": ["parts % 2 == 1", lambda p: p["unused"] == 0]}
        self.assertEqual([row["parts"] for row in self.tune(**odd)[0]], [1, 3, 5, 7])
        drawn = {"strategy": "random_sample", "strategy_options": {"max_fevals": 6}, "seed": 3}
        both = [[(r["parts"], r["unused"]) for r in self.tune(**drawn)[0]] for _ in range(2)]
        self.assertEqual(both[0], both[1])
        self.assertEqual(len(set(both[0])), 6)
        self.tune(strategy="genetic_algorithm", strategy_options={"max_fevals": 2, "finals": False}, quiet=False)
        self.assertIn("configs are drawn at random, not by genetic_algorithm", self.said)
        with mock.patch.dict(os.environ, FA_TUNE_MAX_FEVALS="3"):
            self.assertEqual(len(self.tune()[0]), 3)
        few = {"strategy": "random_sample", "strategy_options": {"time_limit": 1e-9}}
        self.assertEqual(self.tune(**few)[0], [])

    def test_a_huge_space_is_drawn_from_and_not_listed(self):
        params = {f"p{i}": list(range(100)) for i in range(10)}
        order = host_code._order(params, lambda config: config["p0"] < 2, True, 1)
        seen = {tuple(config.values()) for config, _ in zip(order, range(500))}
        self.assertEqual(len(seen), 500)
        with mock.patch.object(configs, "MOST_CONFIGS", 1), mock.patch.object(host_code, "_MOST_MISSES", 500):
            order = host_code._order({"a": [1, 2, 3], "b": [1, 2]}, lambda config: config["a"] != 2, True, 1)
            drawn = list(itertools.islice(order, 9))
        self.assertEqual(sorted((each["a"], each["b"]) for each in drawn), [(1, 1), (1, 2), (3, 1), (3, 2)])
        small = list(host_code._order({"a": [1, 2, 3]}, lambda config: config["a"] != 2, True, 1))
        self.assertEqual(sorted(config["a"] for config in small), [1, 3])

    def test_cache_metrics_objective_and_simulation(self):
        cache = str(self.folder / "kept")
        more = {"cache": cache, "metrics": {"rate": "10 / time"}, "objective": "rate"}
        more["objective_higher_is_better"] = True
        _, env = self.tune(**more)
        self.assertEqual((env["best_config"]["parts"], env["best_config"]["rate"]), (3, 10))
        with mock.patch.object(host_code, "_tried", return_value=iter([])) as tried:
            rows, _ = self.tune(**more)
        self.assertEqual(len(rows), 4)
        self.assertEqual(list(tried.call_args.args[1]), [])  # nothing is left to try
        self.assertEqual(len(self.tune(simulation_mode=True, **more)[0]), 4)

    def test_a_process_takes_only_so_many_libraries(self):
        starts = []
        begin = host_calls.Caller._start
        with mock.patch.object(host_calls, "MOST_LIBRARIES", 2):
            with mock.patch.object(host_calls.Caller, "_start", lambda self: starts.append(1) or begin(self)):
                rows, _ = self.tune(answer=self.answer)
        self.assertEqual((len(rows), len(starts)), (4, 2))

    def test_what_host_code_cannot_have_is_said(self):
        self.refused("^observers: ", observers=[lambda: None])
        self.refused("^smem_args: ", smem_args={"size": 4})
        self.refused("^cmem_args: ", cmem_args={"a": self.x})
        self.refused("^texmem_args: ", texmem_args={"a": self.x})
        self.refused("^compiler: there is no program 'no_such'", compiler="no_such")
        self.refused("^compiler: expected", compiler=3)
        self.refused("^compiler_options: ", compiler_options=[3])
        self.refused("^answer: has 1 ", answer=[None])
        self.refused(r"^answer\[0\]: has 3 ", answer=[self.x[:3], None, None, None])
        self.refused(r"^answer\[3\]: ", answer=[None, None, None, 50])
        for wrong in (3, 0.5, [1.0], numpy.float16(1), numpy.array(["text"]), numpy.array([object()])):
            self.arguments[2] = wrong
            self.refused(r"^arguments\[2\]: ")

    def test_a_function_that_is_not_there_is_said(self):
        self.tune(name="other", quiet=False)
        self.assertIn('has no function other: declare it as extern "C"', self.said)


class OfCuda(Searches):
    """What nvcc and the driver are asked for; the code itself is the same."""

    def setUp(self):
        super().setUp()
        (self.folder / "nvcc").write_text(NVCC)
        (self.folder / "nvcc").chmod(0o755)
        (self.folder / "cuda.cc").write_text(CUDA)
        library = self.folder / "libcuda.so"
        subprocess.run(["g++", "-shared", "-fPIC", "-o", library, self.folder / "cuda.cc"], check=True)
        self.compiled, self.asked = self.folder / "compiled", self.folder / "asked"
        held = mock.patch.dict(
            os.environ,
            PATH=f"{self.folder}:{os.environ['PATH']}",
            FA_TUNE_LIBCUDA=str(library),
            FAKE_NVCC_LOG=str(self.compiled),
            FAKE_CUDA_LOG=str(self.asked),
        )
        held.start()
        self.addCleanup(held.stop)
        self.addCleanup(setattr, Driver, "_instance", Driver._instance)
        Driver._instance = None
        self.source = SUM + "// <<<\n#include <cuda_any.h>\n"
        (self.folder / "cuda_any.h").write_text("")
        self.options = {"compiler_options": [f"-I{self.folder}"]}

    def test_nvcc_compiles_for_the_gpu_that_is_there(self):
        for given, kept in [
            (["-arch=sm_52"], []),
            (["-O3", "--gpu-architecture", "sm_52", "-DX=1"], ["-O3", "-DX=1"]),
            (["-gencode=arch=compute_52,code=sm_52", "-gencode", "arch=compute_60,code=sm_60"], []),
            (["-Dcode=1", "-std=c++17"], ["-Dcode=1", "-std=c++17"]),
        ]:
            self.compiled.write_text("")
            options = [f"-I{self.folder}", *given]
            rows, env = self.tune(self.source, compiler_options=options, answer=self.answer, quiet=False)
            self.assertEqual((len(rows), env["device_name"]), (4, "A GPU"))
            for line in self.compiled.read_text().splitlines():
                self.assertIn("-Xcompiler=-fPIC -arch=native " + " ".join(options[:1] + kept), line)
                self.assertNotRegex(line, "sm_|compute_")
            self.assertEqual("is compiled for the one that is here" in self.said, len(kept) < len(given))

    def test_arrays_are_mapped_for_kernels(self):
        self.tune(self.source, device=1, **self.options)
        told = self.asked.read_text().splitlines()
        self.assertEqual(told, ["enter 11 0", "map 4096 3", "map 4096 3"])

    def test_an_error_that_a_kernel_leaves_is_of_one_config(self):
        with mock.patch.dict(os.environ, FAKE_CUDA_FAILS="1"):
            rows, _ = self.tune(self.source, quiet=False, **self.options)
        self.assertEqual(rows, [])
        self.assertIn("4 leaves the GPU with an error: ", self.said)
        self.assertIn("an illegal memory access", self.said)
        self.assertEqual(self.asked.read_text().count("enter"), 4)  # a new process each

    def test_a_block_that_no_gpu_takes_is_no_config(self):
        self.params["block_size_x"] = [32, 1024, 1056]
        sizes = [row["block_size_x"] for row in self.tune(self.source, **self.options)[0]]
        self.assertEqual(sizes, [32, 1024] * 4)
        self.assertEqual(len(self.tune()[0]), 12)  # a number of plain C

    def test_without_a_gpu_it_is_said(self):
        Driver._instance = None
        with mock.patch.dict(os.environ, FA_TUNE_LIBCUDA="/no/libcuda.so"):
            with self.assertRaisesRegex(fa_tune.MachineError, "^lang: .* needs a GPU"):
                self.tune(self.source, **self.options)
        with self.assertRaisesRegex(fa_tune.MachineError, "^device: .* not on emulator:h100"):
            self.tune(self.source, device="emulator:h100", **self.options)
        with mock.patch.dict(os.environ, PATH="/none", CUDA_HOME="/none"):
            if not Path("/usr/local/cuda/bin/nvcc").exists():
                with self.assertRaisesRegex(fa_tune.MachineError, "^compiler: .* no nvcc"):
                    self.tune(self.source, **self.options)


if __name__ == "__main__":
    unittest.main()
