"""For scripts that ask the program again and again, each time in a new process."""

import datetime
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
RESULTS = os.path.join(ROOT, "tools", "bench", "results")
PROGRAM = os.environ.get("FA_TUNE") or os.path.join(ROOT, "tools", "fa-tune")


def ask(*words):
    """What the program prints for these words, read as JSON. What it says itself is passed on if it fails."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"fa-tune {' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def tell(*words):
    """Runs the program for what it does; what it says goes to the terminal."""
    done = subprocess.run([PROGRAM, *words], stdout=sys.stderr)
    if done.returncode != 0:
        sys.exit(f"fa-tune {' '.join(words)}: exit code {done.returncode}")


def summary(found, device):
    """What every results file begins with; `found` is any answer that names the device."""
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout.strip()
    return {
        "device": found["device"],
        "device_id": device,
        "kind": found["kind"],
        "program": version,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    }


def save(name, device, data, folder=None):
    folder = folder or os.path.join(RESULTS, name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, device.replace(":", "_") + ".json")
    with open(path, "w") as file:
        json.dump(data, file, indent=1)
        file.write("\n")
    return os.path.relpath(path)
