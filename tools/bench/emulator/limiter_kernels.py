"""The kernels that `limiters` looks at: of all families of templates, fast and slow ones."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

from fa_tune_program import PROGRAM, ROOT

SPACES = os.path.join(ROOT, "search_spaces")
TRIES = 6  # configs of a case, drawn at random


class Case:
    """Configs of one template of a space, at one size. Of two kernels one is the fastest by its predicted
    time and one the slowest; a single one is the first that was drawn, whatever its time."""

    def __init__(self, family, space, template, settings, kernels=2, only=None):
        self.family, self.space, self.template, self.kernels = family, space, template, kernels
        self.settings = settings
        # No other template where the space has several, and what else must hold.
        self.constraints = [f"template == '{template}'"] if "/" not in space else []
        self.constraints += [only] if only else []

    def name(self):
        return f"{os.path.basename(self.space)}-{self.template}"


def attention(batch, heads, length, dimension, **more):
    shape = {"B": batch, "H": heads, "L": length, "D": dimension}
    return {f"shape.{name}": value for name, value in shape.items()} | more


def sizes(**named):
    return {f"sizes.{name}": value for name, value in named.items()}


CAUSAL = {"causal": "true"}
# What is bound by memory takes 64 MiB or more, which no L2 of these GPUs holds.
CASES = [
    Case("attention", "h100_mma", "mma", attention(1, 8, 512, 64)),
    Case("attention", "h100_mma", "mma", attention(1, 16, 4096, 128, **CAUSAL), kernels=1),
    Case("attention", "h100", "wgmma", attention(2, 16, 4096, 128)),
    Case("attention", "h100", "wgmma", attention(1, 16, 8192, 64, **CAUSAL), kernels=1),
    Case("attention", "h100_fp8", "wgmma", attention(1, 16, 4096, 128), kernels=1),
    # Unsplit, as a kernel that joins parts would be a second launch.
    Case("attention", "decode", "decode", {"shape.B": 16, "shape.Lk": 2048}, only="SPLITS == 1"),
    Case("attention", "ladder", "tiled", attention(1, 8, 512, 64), kernels=1),
    Case("attention", "ladder", "wmma", attention(4, 16, 1024, 64), kernels=1),
    Case("gemm", "gemm", "tile", sizes(m=2048, n=2048, k=512), kernels=1),
    Case("gemm", "gemm", "mma", sizes(m=2048, n=2048, k=512), kernels=1),
    Case("gemm", "gemm", "wgmma", sizes(m=2048, n=2048, k=512), kernels=1),
    Case("gemm", "gemm_split_k", "mma", sizes(m=512, n=512, k=8192), kernels=1),
    Case("softmax", "softmax", "block", sizes(rows=8192, columns=4096), kernels=1),
    Case("softmax", "softmax", "kept", sizes(rows=8192, columns=4096), kernels=1),
    Case("rmsnorm", "rmsnorm", "kept", sizes(rows=8192, columns=4096), kernels=1),
    Case("reduction", "reduction", "block", sizes(n=1 << 25), kernels=1),
    Case("reduction", "reduction", "grid", sizes(n=1 << 25), kernels=1),
    Case("histogram", "histogram", "block", sizes(n=1 << 22), kernels=1),
    Case("histogram", "examples/histogram", "copies", sizes(n=1 << 26), kernels=1),
    Case("scan", "scan", "block", sizes(n=1 << 22), kernels=1),
    Case("convolution", "convolution", "tile", sizes(width=2048, height=2048)),
    Case("nbody", "nbody", "tile", sizes(n=32768)),
    Case("transpose", "examples/transpose", "tiled", sizes(rows=8192, columns=4096)),
    Case("stencil", "examples/stencil", "tiled", sizes(rows=8192, columns=4096), kernels=1),
]


def run(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"fa-tune {shlex.join(words)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def narrowed(case, folder):
    """A copy of the case's space without presets, which are tried before anything is drawn, and with the
    case's constraints besides."""
    if "/" in case.space:  # an example, whose kernels lie beside it
        source = os.path.join(SPACES, case.space, "space.yaml")
        shutil.copytree(os.path.dirname(source), folder, dirs_exist_ok=True)
    else:
        source = os.path.join(SPACES, case.space + ".yaml")
        os.makedirs(folder, exist_ok=True)
    constraints = [f"  - {json.dumps(each)}" for each in case.constraints]
    lines, section = [], ""
    with open(source) as file:
        for line in file.read().splitlines():
            if line[:1].isalpha():
                section = line.split(":")[0]
            if section in ("presets", "known_best", "budget"):
                continue
            lines.append(line)
            if line == "constraints:":
                lines += constraints
    if "constraints:" not in lines and constraints:
        lines += ["constraints:", *constraints]
    path = os.path.join(folder, "narrowed.yaml")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return path


def chosen(case, trials):
    """Some of the trials, which come fastest first, each with what it is of them."""
    if case.kernels == 1:
        return [(min(trials, key=lambda trial: trial["trial"]), "the first drawn")]
    return [(trials[0], f"fastest of {len(trials)}"), (trials[-1], f"slowest of {len(trials)}")]


def with_younger_genes(space, config):
    """The config with the first value of each gene that the space has without a condition and it has not: kernels
    that are older than the gene did that."""
    with open(space) as file:
        parameters = re.search(r"^parameters:\n((?: .*\n|\n)*)", file.read(), re.MULTILINE)
    first = {}
    for name, value in re.findall(r"^  (\w+): \[([^,\]]+)", parameters.group(1) if parameters else "", re.MULTILINE):
        first[name] = json.loads(value) if re.fullmatch(r"-?\d+|true|false", value) else value
    return config | {name: value for name, value in first.items() if name not in config}


def with_preset(space, config):
    """Adds a config to a narrowed space, as the one that is tried first."""
    with open(space, "a") as file:
        file.write(f"presets:\n  like: {json.dumps(config)}\n")
    return space


def passed(case, space, seed, tries):
    """The trials of a case that passed, fastest first, and their database."""
    db = os.path.join(os.path.dirname(space), "trials.db")
    settings = [word for name, value in case.settings.items() for word in ("--set", f"{name}={value}")]
    run("evolve", "--space", space, *settings, "--device", "emulator:h100", "--strategy", "random",
        "--budget", str(tries), "--seed", str(seed), "--no-finals", "--db", db)
    return json.loads(run("best", "--db", db, "--format", "json", "-n", str(tries))), db


def write_list(out, listed):
    with open(os.path.join(out, "kernels.json"), "w") as file:
        json.dump(listed, file, indent=1)
        file.write("\n")


def make_kernels(out, seed, work, say):
    """Exports all kernels into a folder, and kernels.json, which says what each of them is."""
    made = []
    for number, case in enumerate(CASES):
        trials, db = passed(case, narrowed(case, os.path.join(work, str(number))), seed, TRIES)
        if len(trials) < case.kernels:
            sys.exit(f"{case.name()}: {len(trials)} of {TRIES} drawn configs passed, "
                     f"{case.kernels} are wanted; try another --seed")
        for trial, what in chosen(case, trials):
            file = f"{len(made) + 1:02}-{case.name()}.cu"
            run("export", str(trial["trial"]), "--db", db, "--out", os.path.join(out, file))
            made.append({"file": file, "family": case.family, "space": case.space,
                         "settings": case.settings, "chosen": what, "config": trial["config"]})
            say(f"{file}: {what}, {trial['time_us']['median']:.1f} us predicted for an H100")
    write_list(out, {"seed": seed, "tries": TRIES, "kernels": made})


def make_kernels_like(recorded, out, work, say):
    """The same of the kernels that a file of measured or predicted ones lists, with their configs."""
    cases = [case for case in CASES for _ in range(case.kernels)]
    kept = ("file", "family", "space", "settings", "chosen", "config")
    made = [{key: kernel[key] for key in kept} for kernel in recorded["kernels"]]
    for kernel in made:
        case = cases[int(kernel["file"].split("-")[0]) - 1]
        if (case.space, case.settings) != (kernel["space"], kernel["settings"]):
            sys.exit(f"{kernel['file']}: expected a kernel of {case.name()} at {case.settings}")
        space = narrowed(case, os.path.join(work, kernel["file"]))
        kernel["config"] = with_younger_genes(space, kernel["config"])
        trials, db = passed(case, with_preset(space, kernel["config"]), 1, 1)
        if [trial["config"] for trial in trials] != [kernel["config"]]:
            sys.exit(f"{kernel['file']}: its config is not to be had any more")
        run("export", str(trials[0]["trial"]), "--db", db, "--out", os.path.join(out, kernel["file"]))
        say(kernel["file"])
    write_list(out, {"kernels": made})
