"""The wheel's files beside those that they must agree with, and the `fa-tune` that it puts on PATH."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fa_tune import _program

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tools" / "python"


class Package(unittest.TestCase):
    def test_nvidias_wheels_are_those_of_the_set_up(self):
        pinned = dict(
            re.findall(r"^  (nvidia-[\w-]+)==([\d.]+)$", (ROOT / "tools/lib/nvrtc.sh").read_text(), re.M)
        )
        wanted = dict(
            re.findall(r'"(nvidia-[\w-]+)==([\d.]+)\.\*"', (PACKAGE / "pyproject.toml").read_text())
        )
        self.assertEqual(len(pinned), 4)
        self.assertEqual(wanted, {name: ".".join(v.split(".")[:2]) for name, v in pinned.items()})

    def test_the_version_is_the_programs(self):
        sys.path.insert(0, str(PACKAGE / "build_backend"))
        import checkout_version

        said = subprocess.run([os.environ["FA_TUNE_PROGRAM"], "--version"], capture_output=True, text=True)
        self.assertEqual(checkout_version.dynamic_metadata("version", {}), said.stdout.strip())

    def test_what_a_source_distribution_carries_is_there(self):
        text = (PACKAGE / "build_backend" / "checkout.py").read_text()
        parts = re.findall(r'^    "([^"]+)",$', text, re.M)
        self.assertIn("engine", parts)
        for part in parts:
            self.assertTrue((ROOT / part).exists(), part)
        needed = re.findall(r"^add_subdirectory\((\w+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
        self.assertLessEqual(set(needed), {p.split("/")[0] for p in parts})

    def test_the_command_becomes_the_program(self):
        words = [sys.executable, "-c", "import sys; from fa_tune._program import main; sys.exit(main())"]
        done = subprocess.run([*words, "--version"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.count(".")), (0, 2), done.stderr)
        done = subprocess.run([*words, "evolve", "--space=none.yaml"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        missing = {**os.environ, "FA_TUNE_PROGRAM": "/none/fa-tune"}
        done = subprocess.run([*words, "doctor"], capture_output=True, text=True, env=missing)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "^fa-tune: .*/none/fa-tune")

    def test_the_command_does_not_wait_for_numpy(self):
        code = "import sys, fa_tune._program; print('numpy' in sys.modules, fa_tune.__all__ == dir(fa_tune))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.stdout, "False True\n", done.stderr)
        import fa_tune

        for name in fa_tune.__all__:
            self.assertIsNotNone(getattr(fa_tune, name), name)
        with self.assertRaises(AttributeError):
            fa_tune.none

    def test_a_wheels_data_and_nvrtc_are_told_to_the_program(self):
        with tempfile.TemporaryDirectory() as name:
            data, wheels = Path(name) / "data", Path(name) / "site"
            (data / "search_spaces").mkdir(parents=True)
            library = wheels / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
            library.parent.mkdir(parents=True)
            library.touch()
            before, _program.PACKED = _program.PACKED, data
            sys.path.insert(0, str(wheels))
            kept = {k: os.environ.pop(k) for k in ("FA_TUNE_ROOT", "FA_TUNE_NVRTC") if k in os.environ}
            try:
                found = _program.environment()
                self.assertEqual(found["FA_TUNE_ROOT"], str(data))
                self.assertEqual(found["FA_TUNE_NVRTC"], str(library))
                os.environ["FA_TUNE_NVRTC"] = "/mine/libnvrtc.so"
                self.assertEqual(_program.environment()["FA_TUNE_NVRTC"], "/mine/libnvrtc.so")
            finally:
                os.environ.pop("FA_TUNE_NVRTC", None)
                os.environ.update(kept)
                sys.path.remove(str(wheels))
                _program.PACKED = before


if __name__ == "__main__":
    unittest.main()
