"""What is looked at beside the time: on the emulator, and on a GPU that is not there."""

import ctypes
import json
import os
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy
from fake_cuda import FakeCuda

import fa_tune
from fa_tune import _run, tune_kernel
from fa_tune._driver import Driver
from fa_tune.accuracy import AccuracyObserver, TunablePrecision, error_metric_from_name
from fa_tune.kt import interface, launches, observe, packed_launches, problem, search
from fa_tune.kt.devices import Device
from fa_tune.observers import BenchmarkObserver, OutputObserver
from fa_tune.observers.ncu import NCUObserver
from fa_tune.observers.nvml import NVMLObserver

os.environ["FA_TUNE_DEVICE"] = "emulator:h100"

ADD = """
#include <cuda_fp16.h>
using half = __half;
template <typename T> __global__ void add(const T *a, const T *b, T *c, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
SCALE = """
__global__ void scale(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
"""

# Answers as Nsight Compute does: a row for each config, the metrics 1,234.5, 2,234.5, ...
NCU = """
import json, os, sys
words, way = sys.argv[1:], os.environ.get("FAKE_NCU_WAY", "")
open(os.environ["FAKE_NCU_LOG"], "w").write(json.dumps(words))
metrics = words[words.index("--metrics") + 1].split(",")
count = json.load(open(words[-2] + "/launches.json"))["configs"]
print("==PROF== Connected to process 1")
if way == "unknown": sys.exit("==ERROR== Failed to find metric a.sum")
if way == "rights": sys.exit("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission")
if way == "fails": print("==ERROR== so it is"); sys.exit(3)
if way == "nothing": sys.exit(0)
heads = [name + "x" for name in metrics] if way == "other" else metrics
print('"ID","Kernel Name","' + '","'.join(heads) + '"')
print('"","","' + '","'.join("byte" for _ in metrics) + '"')
for i in range(1 if way == "short" else count):
    value = "n/a" if way == "n/a" else f"{i + 1},234.5"
    print(f'"{i}","scale(float, float)","' + '","'.join(value for _ in metrics) + '"')
    print("what the program says")
print("==PROF== Disconnected")
"""


class Output(OutputObserver):
    def __init__(self):
        self.seen = []

    def process_output(self, answer, output):
        self.seen.append((answer, output))

    def get_results(self):
        return {"looks": len(self.seen)}


class Calls(BenchmarkObserver):
    def __init__(self):
        self.seen = []

    def register_device(self, dev):
        self.seen.append(dev.env["pci_bus_id"])

    def register_configuration(self, params):
        self.seen.append(params["block_size_x"])

    def before_start(self):
        self.seen.append("before")

    def after_start(self):
        self.seen.append("started")

    def during(self):
        self.seen.append("during")

    def after_finish(self):
        self.seen.append("finished")

    def get_results(self):
        return {"calls": len(self.seen)}


class OnEmulator(unittest.TestCase):
    def setUp(self):
        drawn = numpy.random.default_rng(1)
        self.a, self.b = (drawn.uniform(1, 2, 500) for _ in range(2))
        self.params = {"block_size_x": [64, 128], "float_type": ["float", "half", "double"]}
        self.answer = [None, None, self.a + self.b, None]

    def tune(self, **options):
        arrays = [self.a, self.b, numpy.zeros(500)]
        arguments = [TunablePrecision("float_type", each) for each in arrays] + [numpy.int32(500)]
        named = {"answer": self.answer, "quiet": True, **options}
        return tune_kernel("add<float_type>", ADD, 500, arguments, self.params, **named)[0]

    def test_accuracy_of_each_type(self):
        watched = [AccuracyObserver("RMSE", "rmse"), AccuracyObserver("max rel", "worst")]
        rows = self.tune(observers=watched)
        self.assertEqual(len(rows), 6)
        for row in rows:
            low, high = {"double": (0, 1e-15), "float": (1e-9, 2e-7), "half": (1e-5, 2e-3)}[row["float_type"]]
            for name in ("rmse", "worst"):
                self.assertTrue(low <= row[name] <= high, (name, row))

    def test_an_output_is_looked_at_in_the_place_of_a_comparison(self):
        self.answer[2] = self.answer[2] + 1
        output = Output()
        self.params["float_type"] = ["double"]
        self.assertEqual(self.tune(), [])
        rows = self.tune(observers=[lambda: output])
        self.assertEqual([row["looks"] for row in rows], [1, 2])
        for answer, found in output.seen:
            numpy.testing.assert_array_equal(answer[2], self.answer[2])
            numpy.testing.assert_allclose(found[2], self.a + self.b)
            self.assertEqual([each is None for each in found], [True, True, False, True])

    def test_a_config_with_the_kernel_of_another_is_looked_at_too(self):
        output = Output()
        self.params = {"block_size_x": [64], "float_type": ["float"], "unused": [1, 2, 3]}
        rows = self.tune(observers=[output])
        self.assertEqual([(row["unused"], row["looks"]) for row in rows], [(1, 1), (2, 2), (3, 3)])

    def test_a_function_of_ones_own_may_refuse_what_was_looked_at(self):
        self.params["float_type"] = ["float"]
        rows = self.tune(observers=[Output()], verify=lambda answer, found: False)
        self.assertEqual(rows, [])

    def test_what_cannot_be_looked_at_is_said(self):
        with self.assertRaisesRegex(fa_tune.InputError, "^observers: .* compares with `answer`"):
            self.tune(observers=[Output()], answer=None)
        with self.assertRaisesRegex(fa_tune.InputError, "^observers: .* the emulator"):
            self.tune(observers=[Calls()])
        for wrong in (lambda: AccuracyObserver("magic"), lambda: NVMLObserver(["volts"])):
            self.assertRaisesRegex(fa_tune.InputError, "^observers: ", wrong)


class Metrics(unittest.TestCase):
    def test_by_their_names(self):
        a, b = numpy.array([1.0, -2.0, 4.0]), numpy.array([1.5, -2.0, 2.0], numpy.float32)
        for name, expected in [
            ("mse", 4.25 / 3),
            ("Root-mean_square Error", (4.25 / 3) ** 0.5),
            ("normalized root mean squared", (4.25 / 21) ** 0.5),
            ("RMSRE", (0.5 / 3) ** 0.5),
            ("avg abs error", 2.5 / 3),
            ("MRE", 1 / 3),
            ("max", 2),
            ("maximum relative", 0.5),
        ]:
            self.assertAlmostEqual(error_metric_from_name(name)(a, b), expected, msg=name)
        a, b = numpy.array([1.0, 10.0]), numpy.array([10.0, 1000.0])
        self.assertAlmostEqual(error_metric_from_name("MALE")(a, b), 1.5)
        self.assertAlmostEqual(error_metric_from_name("RMSLE")(a, b), 2.5**0.5)
        self.assertEqual(error_metric_from_name("MRE", 0.5)(numpy.zeros(1), numpy.ones(1)), 2)


class OnGpu(unittest.TestCase):
    """The search is the emulator's; its machine code goes to a libcuda that keeps what it is asked."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name)
        self.x, self.y = numpy.arange(8, dtype=numpy.float32), numpy.full(8, 7, numpy.float32)
        request = interface._request(
            "scale", SCALE, 8, [self.x, self.y, numpy.float32(2.5), numpy.int32(8)],
            {"block_size_x": [4, 8]}, (None,) * 3, None, None, None, None, None, True,
        )  # fmt: skip
        space = problem.write(request, path, "h100")
        words = ["evolve", f"--space={space.path}", f"--db={path / 'run.db'}", "--no-finals"]
        _run.checked([*words, "--device=emulator:h100", "--strategy=exhaustive", "--budget=2"])
        self.device = Device("cuda:1", "h100")
        self.cuda = FakeCuda()
        self.addCleanup(setattr, Driver, "_instance", Driver._instance)
        Driver._instance = Driver(self.cuda)
        self.launches = launches.Launches(request, space.arguments, self.device, path / "run.db")

    def test_inputs_are_copied_once_and_results_made_fresh(self):
        with self.launches as held:
            for size in (4, 8, 4):
                self.cuda.calls.clear()
                found = held.outputs({"block_size_x": size}, [False, True, False, True])
                numpy.testing.assert_array_equal(found[1], 2.5 * self.x)
                self.assertEqual([found[0], found[2], int(found[3])], [None, None, 8])
                self.assertEqual(self.cuda.launch[0], [8 // size, 1, 1, size, 1, 1, 0])
                self.assertEqual(self.cuda.entered, 1)
            copied = self.cuda.calls.count("cuMemcpyHtoD_v2")
            self.assertEqual((copied, self.cuda.calls.count("cuMemcpyDtoH_v2")), (1, 1))
            self.assertNotEqual(self.cuda.memory, {})
        self.assertEqual(self.cuda.memory, {})
        numpy.testing.assert_array_equal(self.y, 7)

    def test_an_observer_hears_of_each_launch(self):
        calls = Calls()
        watched = observe.Observers([calls], iterations=2)
        row = {"time": 1.0}
        with self.launches as held:
            watched.begin(self.device)
            self.cuda.busy = 2
            watched.look_at_launches(row, {"block_size_x": 8}, held)
        launched = ["before", "started", "during", "during", "finished", "before", "started", "finished"]
        self.assertEqual(calls.seen, ["0000:1B:00.0", 8, *launched])
        self.assertEqual(row["calls"], 10)

    def test_power_is_read_while_a_config_is_launched_again_and_again(self):
        watts = iter([100.0, 300.0] + [200.0] * 100_000)
        nvml = types.SimpleNamespace(
            NVMLError=RuntimeError,
            NVML_TEMPERATURE_GPU=0,
            nvmlInit=lambda: None,
            nvmlDeviceGetHandleByPciBusId=lambda name: name,
            nvmlDeviceGetTemperature=lambda handle, sensor: 61,
            nvmlDeviceGetPowerUsage=lambda handle: 1000 * next(watts),
        )
        self.addCleanup(sys.modules.pop, "pynvml", None)
        sys.modules["pynvml"] = nvml
        watched = observe.Observers(
            [NVMLObserver(["nvml_energy", "power_readings", "temperature"], continuous_duration=0.05)],
            iterations=3,
        )
        row = {"time": 2.0}
        with self.launches as held:
            watched.begin(self.device)
            watched.look_at_launches(row, {"block_size_x": 8}, held)
        self.assertEqual((row["temperature"], row["nvml_energy"]), (61, 0.4))
        self.assertGreater(len(row["power_readings"]), 2)
        self.assertGreater(self.cuda.calls.count("cuLaunchKernelEx"), 4)

    def test_what_is_packed_is_launched_in_its_order_on_fresh_inputs(self):
        configs = [{"block_size_x": size} for size in (8, 4)]
        with tempfile.TemporaryDirectory() as folder:
            with self.launches as held:
                packed_launches.pack(held, configs, Path(folder))
            self.assertNotIn("cuLaunchKernelEx", self.cuda.calls)
            launched = []
            launch = self.cuda.do_cuLaunchKernelEx

            def watched(config, function, parameters, extra):
                y = ctypes.cast(parameters[1], ctypes.POINTER(ctypes.c_uint64))[0]
                before = ctypes.c_float.from_address(y).value
                launched.append((config._obj.sizes[0], config._obj.sizes[3], before))
                return launch(config, function, parameters, extra)

            self.cuda.do_cuLaunchKernelEx = watched
            packed_launches.launch_all(folder, 1)
        self.assertEqual(launched, [(1, 8, 7), (2, 4, 7)])
        self.assertEqual(self.cuda.entered, 1)

    def counters(self, metrics, rows=2, **environment):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program, log = Path(folder.name) / "ncu", Path(folder.name) / "log"
        program.write_text(f"#!{sys.executable}\n{NCU}")
        program.chmod(0o755)
        environment = {"FA_TUNE_NCU": str(program), "FAKE_NCU_LOG": str(log), **environment}
        with mock.patch.dict(os.environ, environment):
            watched = observe.Observers([lambda: NCUObserver(metrics)], iterations=7)
            watched.check(self.device, None)
            found = [{"block_size_x": 8 - 4 * i, "time": 2.0} for i in range(rows)]
            with self.launches as held:
                search._look(held, None, None, 0, watched, found, {"block_size_x": [4, 8]}, False)
        return found, json.loads(log.read_text())

    def test_counters_come_from_one_run_of_nsight_compute(self):
        rows, words = self.counters(["dram__bytes.sum", "smsp__inst_executed.sum"])
        self.assertEqual([row["dram__bytes.sum"] for row in rows], [1234.5, 2234.5])
        self.assertEqual([row["smsp__inst_executed.sum"] for row in rows], [1234.5, 2234.5])
        self.assertEqual(words[words.index("--metrics") + 1], "dram__bytes.sum,smsp__inst_executed.sum")
        self.assertEqual((words[-6], words[-1]), (sys.executable, "1"))
        self.assertLessEqual({"--csv", "raw", "base", "--clock-control", "--cache-control"}, set(words))

    def test_counters_that_cannot_be_read_are_said(self):
        for metrics in (None, [], "dram__bytes.sum", ["a,b"], ["a b"]):
            with self.assertRaisesRegex(fa_tune.InputError, "^observers: NCUObserver expects a list"):
                NCUObserver(metrics)
        for how, error, message in [
            ("unknown", fa_tune.InputError, "Failed to find metric a.sum"),
            ("rights", fa_tune.MachineError, r"no performance counters \(ERR_NVGPUCTRPERM\)"),
            ("fails", fa_tune.MachineError, "ends with 3: ==ERROR== so it is"),
            ("nothing", fa_tune.MachineError, "has profiled nothing"),
            ("short", fa_tune.MachineError, "has profiled 1 launches of 2"),
            ("other", fa_tune.InputError, "tells no a.sum"),
            ("n/a", fa_tune.MachineError, "no number for a.sum: 'n/a'"),
        ]:
            with self.assertRaisesRegex(error, f"^observers: .*{message}"):
                self.counters(["a.sum"], FAKE_NCU_WAY=how)
        with self.assertRaisesRegex(fa_tune.MachineError, "^observers: .* no program /no/ncu: install it"):
            self.counters(["a.sum"], FA_TUNE_NCU="/no/ncu")


if __name__ == "__main__":
    unittest.main()
