#!/usr/bin/env python3
"""Runs the commands that the READMEs under a folder print: readme_commands.py ROOT PREPARED SCRATCH.

A code block is commands, each of them run by bash as it is printed, or known to be something else. Those of one document
run one after the other in a copy of the folder PREPARED, which README.md's own leave to the documents after it. What is
neither run nor known here is a mistake, and so is a command that fails; the exit code is then 1.
"""

import os
import re
import shutil
import subprocess
import sys

# How a command begins, and why it is not run here.
NOT_RUN = {
    "tools/test": "this test is part of it; tools_test_command tries it",
    "nvcc ": "needs nvcc; tools_templates_compile has every template wherever there is one",
    "bench_conformance cuda:0": "needs a GPU",
    "bench_clock ": "a program of its own, and 260 kernels are too many for a test",
    "tools/bench/emulator/clock/interval": "predicts a thousand kernels, and builds the program that does",
    "fa-tune export 7 --any-size": "wants a trial of a custom problem; tools_any_size",
    "pip install ": "compiles the program, or needs a wheel; tools/python/check_wheel",
    "python -m build": "compiles the program",
    "fa-tune evolve --space softmax.yaml --listen ": "waits for nodes; tools_nodes",
    "fa-tune evolve --space h100.yaml --listen ": "waits for nodes; tools_nodes",
    "fa-tune node --connect login1": "needs a search that listens; tools_nodes",
    "salloc ": "needs Slurm; tools_slurm",
    "fa-tune evolve --space h100.yaml --nodes slurm": "needs Slurm; tools_slurm",
    "tools/fa-tune emulate racy.cu": "is printed shortened; tools_emulate shows a race",
}

# What is run in place of a command that takes too long.
INSTEAD = {
    "fa-tune evolve --space softmax.yaml --device emulator:h100 --budget 20":
        "fa-tune evolve --space softmax.yaml --set sizes.rows=16 --set sizes.columns=64 --device emulator:h100 --budget 4",
    "fa-tune evolve --space h100.yaml --set shape.L=4096 --set causal=true":
        "fa-tune evolve --space h100.yaml --set shape.L=64 --set causal=true --budget 2 --no-finals",
}

# The first lines of what is no command.
NOT_COMMANDS = {
    "space l4: ": "what a search prints",
    "space: scale_add": "a space; readme_commands_test.sh searches it",
    "template <int PER, typename T>": "its kernel",
    "__global__ void plain": "and the plain one",
    "from winners import attention": "Python; export_torch_test.sh",
    '#include "winner.hpp"': "C++; tests/engine/export",
    "import fa_tune": "Python; tests/python",
    "with fa_tune.record_triton": "Python; tests/triton/remake.py, where Triton is",
    "us = fixed_us + step_us * the longest queue + shared_step_us * the busiest SM, in steps": "what portfolio --dispatch learns; tools_dispatch",
    "attention/  ": "folders",
}

PROGRAMS = ("fa-tune", "tools/", "bench_", "build/", "sqlite3", "nvcc", "cmake", "ctest", "ninja", "python3", "pip", "python -m", "apt-get",
            "salloc")
NOT_OURS = {".git", ".venv", "build", "node_modules"}
MOST_SECONDS = 600


def documents(root):
    """README.md first: it makes the database that the others read."""
    found = []
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(each for each in inner if each not in NOT_OURS)
        if "README.md" in files:
            found.append(os.path.relpath(os.path.join(folder, "README.md"), root))
    return sorted(found, key=lambda path: (path != "README.md", path))


def blocks(text):
    """The language and the lines of each code block; a blank line ends an indented one."""
    text = re.sub(r"<!-- options: made by .*?<!-- end of options -->", "", text, flags=re.S)  # from --help itself
    language, lines, listed, blank = None, [], False, True
    for line in [*text.splitlines(), ""]:
        if language is not None:
            if line.startswith("```"):
                yield language, lines
                language, lines = None, []
            else:
                lines.append(line)
            continue
        if re.match(r" *(- |\d+\. )", line):
            listed = True
        elif line and not line.startswith(" "):
            listed = False
        # After a line of text, indented text goes on with it.
        starts = blank and (not listed or is_command(line.strip()))
        blank = not line
        if line.startswith("    ") and (lines or starts):
            lines.append(line[4:])
            continue
        if lines:
            yield "", lines
            lines = []
        if line.startswith("```"):
            language = line[3:].strip()


def is_command(line):
    return re.sub(r"^(\$ )?([A-Z_]+=\S* )*", "", line).startswith(PROGRAMS)


def commands(text):
    """What is to be run, and complaints of lines that are nothing known."""
    for language, lines in blocks(text):
        if language == "yaml":
            yield from ((line.split("run: ")[1], None) for line in lines if "run: " in line)
        elif not is_command(lines[0]):
            if not lines[0].startswith(tuple(NOT_COMMANDS)):
                yield None, f"neither a command nor in NOT_COMMANDS: {lines[0]}"
        elif lines[0].startswith("$ "):
            yield from ((line[2:], None) for line in lines if line.startswith("$ "))
        else:
            for line in lines:
                yield (line, None) if is_command(line) else (None, f"no command: {line}")


def run(command, folder):
    """What went wrong, or nothing."""
    try:
        ran = subprocess.run(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"took longer than {MOST_SECONDS} s"
    if ran.returncode:
        return f"exit code {ran.returncode}: {(ran.stderr or ran.stdout)[-400:].strip()}"
    return None


def main(root, prepared, scratch):
    faults = 0
    done = set()  # by README.md, whose folder the others begin with
    for number, path in enumerate(documents(root)):
        with open(os.path.join(root, path)) as file:
            found = list(commands(file.read()))
        if not found:
            continue
        folder = os.path.join(scratch, str(number))
        shutil.copytree(prepared, folder, symlinks=True)
        for line, fault in found:
            if line:
                command = re.sub(r"\s+#.*$", "", line).strip()
                reason = next((why for start, why in NOT_RUN.items() if command.startswith(start)), None)
                if reason:
                    print(f"{path}: NOT RUN: {command}: {reason}")
                    continue
                if path != "README.md" and command in done:
                    print(f"{path}: ran in README.md: {command}")
                    continue
                command = INSTEAD.get(command, command)
                fault = run(command, folder)
                print(f"{path}: {'FAILED' if fault else 'ran'}: {command}")
                if path == "README.md":
                    done.add(command)
            if fault:
                faults += 1
                print(f"{path}: FAULT: {fault}")
        if path == "README.md":
            prepared = folder
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
