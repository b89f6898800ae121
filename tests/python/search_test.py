"""The program's commands as functions, on the emulator."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy

import fa_tune

DEVICE = "emulator:h100"
SMALL = {"sizes.rows": 16, "sizes.columns": 64}


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.db = Path(cls.folder.name) / "fa.db"
        cls.lines = []
        cls.search = fa_tune.evolve(
            "softmax",
            device=DEVICE,
            settings=SMALL,
            budget=4,
            db=cls.db,
            finals=False,
            progress=cls.lines.append,
        )

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_search_tells_what_it_found(self):
        search = self.search
        self.assertEqual(search.trials.all, 4)
        self.assertEqual(search.trials.passed, 4)
        self.assertEqual(search.best.time.kind, "predicted")
        self.assertGreater(search.best.time.median, 0)
        self.assertIn("template", search.best.config)
        self.assertTrue(any(line.startswith("[   1/4]") for line in self.lines), self.lines)

    def test_best_is_sorted_and_filtered(self):
        rows = fa_tune.best(self.db)
        self.assertEqual(len(rows), 4)
        times = [row.time.median for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertEqual(rows[0].trial, self.search.best.trial)
        self.assertEqual(fa_tune.Database(self.db).best(run=77), [])
        self.assertEqual(len(fa_tune.best(self.db, limit=2)), 2)

    def test_verify_export_and_bench(self):
        verdict = fa_tune.verify(self.search.best, device=DEVICE, suites=["quick"])
        self.assertTrue(verdict.passed)
        self.assertEqual(verdict.suites[0]["verdict"], "passed")
        self.assertGreater(verdict.suites[0]["cases"], 0)
        file = fa_tune.export(self.search.best, Path(self.folder.name) / "winner.cu")
        text = file.read_text()
        self.assertIn("__global__", text)
        rows = fa_tune.best(self.db)
        race = fa_tune.bench(rows[-1], rows[0], device=DEVICE)
        self.assertEqual(race.verdict, "faster")
        self.assertAlmostEqual(race.ratio, rows[0].time.median / rows[-1].time.median, places=6)

    def test_a_wrong_kernel_does_not_pass(self):
        file = fa_tune.export(self.search.best, Path(self.folder.name) / "wrong.cu")
        text = file.read_text()
        broken = text.replace("exp2f(", "0.5f * exp2f(").replace("__expf(", "0.5f * __expf(")
        broken = broken.replace(" / sum", " / (2.0f * sum)").replace("1.0f / ", "2.0f / ")
        self.assertNotEqual(broken, text)
        file.write_text(broken)
        self.assertFalse(fa_tune.verify(file, device=DEVICE).passed)

    def test_compile_needs_a_gpu_and_reads_the_export(self):
        kernel = self.search.best.compile()
        self.assertEqual((kernel.reads, kernel.writes), (["x"], ["y"]))
        self.assertEqual(kernel.code[:4], b"\x7fELF")
        os.environ["FA_TUNE_LIBCUDA"] = "/none/libcuda.so.1"
        fa_tune.Driver._instance = None
        try:
            with self.assertRaisesRegex(fa_tune.MachineError, "no NVIDIA driver"):
                kernel(numpy.zeros((16, 64), numpy.float16))
        finally:
            del os.environ["FA_TUNE_LIBCUDA"]

    def test_errors_have_the_programs_words_and_code(self):
        with self.assertRaisesRegex(fa_tune.InputError, "none.yaml") as caught:
            fa_tune.evolve("none.yaml", device=DEVICE, db=self.db)
        self.assertEqual(caught.exception.code, 2)
        with self.assertRaises(ValueError):
            fa_tune.evolve("softmax", device="emulator:none", db=self.db)
        with self.assertRaises(fa_tune.InputError):
            fa_tune.verify(10_000, db=self.db)
        # Words are words: nothing of them reaches a shell, and none is taken for an option.
        with self.assertRaises(fa_tune.InputError):
            fa_tune.evolve("--help; touch made", device=DEVICE, db=self.db)
        self.assertFalse(Path("made").exists())

    def test_ctrl_c_keeps_what_was_found(self):
        found = threading.Event()

        def interrupt():
            found.wait(60)
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)

        def progress(line):
            if line.startswith("["):
                found.set()

        threading.Thread(target=interrupt, daemon=True).start()
        db = Path(self.folder.name) / "stopped.db"
        with self.assertRaises(KeyboardInterrupt) as caught:
            fa_tune.evolve("softmax", device=DEVICE, budget=1000, db=db, settings=SMALL, progress=progress)
        search = caught.exception.found
        self.assertEqual(search.state, "interrupted")
        self.assertGreater(search.trials.all, 0)
        self.assertLess(search.trials.all, 1000)
        self.assertGreaterEqual(len(fa_tune.best(db)), 1)

    def test_a_terminals_ctrl_c_reaches_it_once(self):
        """A terminal sends SIGINT to the whole group, and a second one would kill the program."""
        db = Path(self.folder.name) / "group.db"
        code = (
            "import sys, fa_tune\n"
            "try:\n"
            f"    fa_tune.evolve('softmax', device={DEVICE!r}, budget=1000, db={str(db)!r}, settings={SMALL!r},\n"
            "                   progress=lambda line: print(line, flush=True))\n"
            "except KeyboardInterrupt as stopped:\n"
            "    print('found', stopped.found.state)\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        lines = []
        for line in child.stdout:
            if line.startswith("[") and not any(each.startswith("[") for each in lines):
                os.killpg(child.pid, signal.SIGINT)
            lines.append(line)
        child.stdout.close()
        self.assertEqual(child.wait(), 0)
        self.assertEqual(lines[-1], "found interrupted\n")

    def test_a_progress_function_that_fails_stops_nothing(self):
        def fails(line):
            raise RuntimeError("mine")

        db = Path(self.folder.name) / "progress.db"
        search = fa_tune.evolve(
            "softmax", device=DEVICE, settings=SMALL, budget=1, db=db, finals=False, progress=fails
        )
        self.assertEqual(search.trials.all, 1)


if __name__ == "__main__":
    unittest.main()
