"""tools/bench/rivals/kernel_tuner_scripts on the emulator, beside a Kernel Tuner that is made here and has tried
what it says at once."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "bench" / "rivals" / "kernel_tuner_scripts"

KERNEL_TUNER = """
def run_kernel(*given, lang): return [lang]
def tune_kernel(kernel_name, kernel_source, problem_size, arguments, tune_params, restrictions=None, answer=None,
                lang=None, strategy=None, strategy_options=None, parallel=False):
    print(lang, strategy, strategy_options, parallel)
    size = arguments[3].item()
    if size < 0: raise RuntimeError("too small")
    if size == 7: print("failed: nvcc fatal   : Unsupported gpu architecture 'sm_52'")
    if size == 7: raise OSError("a program failed")
    return [{"block_size_x": 32, "time": 1.0}, {"block_size_x": 512, "time": 2.0}, {"block_size_x": 64, "__error__": 1}], {}
"""
SEARCHSPACE = """
class Searchspace:
    def __init__(self, params, restrictions, threads): self.size = len(params["block_size_x"])
"""
SEARCH = '''
import numpy
from kernel_tuner import tune_kernel
source = """__global__ void add(float *c, float *a, float *b, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}"""
for size in SIZES:
    a = numpy.ones(abs(size), numpy.float32)
    tune_kernel("add", source, abs(size), [a * 0, a, a, numpy.int32(size)], {"block_size_x": VALUES}, answer=[2 * a, None, None, None], parallel=True)
'''
HOST = """
import numpy
from kernel_tuner import tune_kernel
source = "float f(float *out, float *a, float *b, int n) { *out += n; return (block_size_x == 64 ? 1 : 3) / 4.0f; }"
zero = numpy.zeros(1, numpy.float32)
tune_kernel("f", source, 1, [zero, zero, zero, numpy.int32(SIZE)], {"block_size_x": [32, 64, 512]}, lang="C",
            answer=[zero + SIZE, None, None, None])
"""
SLEEP = """
import subprocess, sys, kernel_tuner
open("FILE", "a").write("%d\\n" % subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True).pid)
import time; time.sleep(600)
"""


def is_alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.scripts = self.folder / "scripts"
        for path, text in [("kernel_tuner/__init__.py", KERNEL_TUNER), ("kernel_tuner/searchspace.py", SEARCHSPACE)]:
            file = self.folder / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        self.scripts.mkdir()

    def script(self, name, text):
        (self.scripts / f"{name}.py").write_text(text)

    def run_tool(self, *words):
        out = self.folder / "out"
        path = f"{self.folder}:{os.environ['PYTHONPATH']}"
        environment = {**os.environ, "PYTHONPATH": path, "FA_TUNE_DEVICE": "emulator:h100"}
        done = subprocess.run(
            [sys.executable, TOOL, *words, "--out", out, self.scripts], env=environment, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads((out / "results.json").read_text())["rows"]
        table = (out / "summary.txt").read_text().splitlines()
        self.assertEqual(len(table), 2 + len(rows))
        said = {name.name: name.read_text() for name in out.iterdir()}
        self.assertEqual(said.get("seeds.txt", ""), done.stdout)
        return sorted(rows, key=lambda row: row["script"]), said

    def test_each_search_is_a_row_and_different_configs_race(self):
        self.script("a_whole", SEARCH.replace("SIZES", "[100_000, 200_000]").replace("VALUES", "[32, 64, 512]"))
        self.script("b_part", SEARCH.replace("SIZES", "[100_000]").replace("VALUES", "[32, 64, 128, 256, 512, 1024]"))
        self.script("c_refused", SEARCH.replace("SIZES", "[-64]").replace("VALUES", "[32]"))
        self.script("d_none", "import kernel_tuner\nkernel_tuner.run_kernel\n")
        names = ["a_whole", "a_whole", "b_part", "c_refused", "d_none"]
        if importlib.util.find_spec("pytest"):
            self.script("test_none", "def test_it(): pass\n")
            names.append("test_none")
        rows, said = self.run_tool("--gpus", "0,1", "--evaluations", "5", "--seconds", "60", "--limit", "500")
        self.assertEqual([row["script"] for row in rows], names)
        for row in rows[:3]:
            own, rival = row["fa_tune"], row["kernel_tuner"]
            self.assertEqual((rival["config"], rival["us"], rival["evaluated"]), ({"block_size_x": 32}, 1000, 3))
            self.assertEqual(own["evaluated"], 3 if rival["whole"] else 5)
            self.assertNotEqual(own["config"], rival["config"])
            self.assertGreater(own["race_seconds"], 0)
            self.assertAlmostEqual(row["ratio"], own["us"] / own["theirs_here_us"])
            self.assertEqual(row["verdict"], "faster")
        self.assertIsNone(rows[3]["fa_tune"]["config"])
        self.assertTrue(rows[3]["verdict"].startswith("Kernel Tuner: RuntimeError: too small"), rows[3])
        self.assertEqual({row["verdict"] for row in rows[4:]}, {"no search, and both run"})
        self.assertRegex(said["a_whole.kernel_tuner.txt"], r"^\w+ brute_force None False")
        self.assertRegex(said["b_part.kernel_tuner.txt"], r"random_sample {'max_fevals': 5, 'time_limit': 60.0} False")

    def test_seeds_are_runs_of_their_own_with_a_line_over_all(self):
        draws = "import numpy\nprint('drawn', numpy.random.randint(10**9))\n"
        values = "[32, 64, 128, 256, 512, 1024]"
        self.script("seeded", draws + SEARCH.replace("SIZES", "[100_000]").replace("VALUES", values))
        rows, said = self.run_tool("--seeds", "3,4", "--evaluations", "3", "--seconds", "60", "--limit", "500")
        self.assertEqual(sorted(row["seed"] for row in rows), [3, 4])
        drawn = [
            re.findall(r"drawn \d+", said[f"seeded.{seed}.{side}.txt"])
            for seed in (3, 4)
            for side in ("kernel_tuner", "fa_tune")
        ]
        self.assertEqual((drawn[0], drawn[2]), (drawn[1], drawn[3]))
        self.assertNotEqual(drawn[0], drawn[2])
        self.assertRegex(said["summary.txt"], r"\| seeded, seed 3 \|")
        ratios = sorted(row["ratio"] for row in rows if "ratio" in row)
        self.assertEqual(len(ratios), 2)
        self.assertIn(f"least {ratios[0]:.3f}, most {ratios[1]:.3f}; slower by more than 2% in 0", said["seeds.txt"])

    def test_host_code_is_called_again_where_configs_differ(self):
        self.script("a_both", HOST.replace("SIZE", "5"))
        self.script("b_new", HOST.replace("SIZE", "7"))
        self.script("c_imports", "import a_both\n")
        rows, said = self.run_tool("--finals")
        self.assertEqual(len(rows), 3)
        for row in (rows[0], rows[2]):
            own, rival = row["fa_tune"], row["kernel_tuner"]
            self.assertEqual((own["config"], rival["config"]), ({"block_size_x": 64}, {"block_size_x": 32}))
            self.assertEqual((own["us"], own["theirs_here_us"], row["verdict"]), (250, 750, "faster"))
        self.assertEqual(rows[1]["fa_tune"]["us"], 250)
        self.assertEqual(rows[1]["verdict"], "Kernel Tuner: nvcc fatal   : Unsupported gpu architecture 'sm_52'")
        self.assertRegex(said["a_both.kernel_tuner.txt"], "^C brute_force")

    def test_a_script_that_does_not_end_is_ended_with_all_that_it_began(self):
        pids = self.folder / "pids"
        self.script("sleeps", SLEEP.replace("FILE", str(pids)))
        began = time.monotonic()
        rows, _ = self.run_tool("--limit", "5")
        self.assertLess(time.monotonic() - began, 500)
        self.assertIn("more than 5 s", rows[0]["verdict"])
        listed = pids.read_text().split() if pids.exists() else []
        deadline = time.monotonic() + 60
        while any(map(is_alive, listed)) and time.monotonic() < deadline:
            time.sleep(0.05)
        left = [each for each in listed if is_alive(each)]
        for each in left:
            os.kill(int(each), signal.SIGKILL)
        self.assertEqual(left, [])

    def test_nothing_is_begun_when_the_time_is_over(self):
        self.script("any", "import kernel_tuner\n")
        self.assertEqual(self.run_tool("--total", "0")[0], [])


if __name__ == "__main__":
    unittest.main()
