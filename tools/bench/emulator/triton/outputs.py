#!/usr/bin/env python3
"""Do kernels of Triton leave on a GPU what they left on the emulator?

    outputs.py FOLDER [...] [--out FILE.json]

FOLDERs as for planted.py, of launches that tutorials.py --keep left. Needs a GPU and its driver alone.
"""

import argparse
import ctypes
import datetime
import json
import math
import struct
import subprocess
import sys
from pathlib import Path

import launch
import planted

# Of struct. What is of another type is no result: tensor maps and addresses.
FORMS = {"f16": "e", "f32": "f", "i32": "i"}


def difference(a, b):
    return 0.0 if a == b or (a != a and b != b) else abs(a - b)


def compare(file):
    """The largest difference and the largest value, of all outputs."""
    told = json.loads(file.read_text())
    driver, buffers = launch.run(file)
    worst, largest = 0.0, 0.0
    for name, buffer in told["buffers"].items():
        if "save" not in buffer or buffer["dtype"] not in FORMS:
            continue
        ours = launch.npy_data(file.parent / buffer["save"])
        theirs = ctypes.create_string_buffer(len(ours))
        driver.to_host(ctypes.addressof(theirs), buffers[name], len(ours))
        form = FORMS[buffer["dtype"]]
        for (a,), (b,) in zip(struct.iter_unpack(form, ours), struct.iter_unpack(form, theirs.raw)):
            apart = difference(a, b)
            worst = math.inf if apart != apart else max(worst, apart)
            largest = max(largest, abs(a)) if a == a else largest
    return {"largest_difference": worst, "largest_value": largest}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for file, name in planted.launches(given.folders):
        try:
            rows.append({"launch": name, **compare(file)})
            text = "largest difference {largest_difference:.3g} beside values up to {largest_value:.3g}"
            print(f"{name:<52} {text.format(**rows[-1])}", flush=True)
        except Exception as failure:  # what one kernel meets says nothing of the others
            rows.append({"launch": name, "failed": str(failure)})
            print(f"{name:<52} FAILED {failure}", flush=True)
    if given.out:
        device = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
        about = {"device": device.stdout.strip(), "date": str(datetime.date.today())}
        given.out.write_text(json.dumps({**about, "launches": rows}, indent=1) + "\n")
    return 1 if any("failed" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
