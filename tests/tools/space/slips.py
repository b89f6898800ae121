"""Plants slips in a user's own space and kernels, one at a time, and looks at what the program says of each.
Called by slips_test.sh.

    slips.py PROGRAM FOLDER    FOLDER is empty

Each must be one line, with the place of the slip and what to do. Prints what was wrong; exit code 1 if anything was.
"""

import os
import re
import subprocess
import sys

program, folder = sys.argv[1:3]
os.chdir(folder)

MINE_CU = """#include "parts/index.cuh"
template <int PER, typename T>
__global__ void scale(const T* x, T* y, T a, int n) {
  for (int k = 0; k < PER; ++k) {
    const int i = first_index(PER) + k * BLOCK;
    if (i < n) y[i] = a * x[i];
  }
}
"""
INDEX_CUH = """#pragma once
__device__ inline int first_index(int per) {
  return blockIdx.x * BLOCK * per + threadIdx.x;
}
"""
PLAIN_CU = """__global__ void plain(const float* x, float* y, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
"""
SPACE = """space: scale
target: l4
problem:
  kind: custom
  sizes: [{n: 4000}, {n: 300}]
  arguments:
    - {name: x, type: f32, shape: [n]}
    - {name: y, type: f32, shape: [n], role: output}
    - {name: a, type: f32, value: 2.5}
    - {name: n, type: i32, value: n}
  reference: {source: plain.cu, kernel: plain, launch: {grid: ["ceil_div(problem.n, 256)"], block: [256]}}
templates:
  mine:
    source: mine.cu
    kernel: "scale<PER, float>"
    launch: {grid: ["ceil_div(problem.n, BLOCK * PER)"], block: [BLOCK]}
    options: ["--maxrregcount=REGS"]
parameters:
  BLOCK: [64, 128, 256]
  PER: [1, 2]
  REGS: [32, 64]
constraints:
  - BLOCK * PER <= 512
"""
FILES = {"mine.yaml": SPACE, "mine.cu": MINE_CU, "parts/index.cuh": INDEX_CUH, "plain.cu": PLAIN_CU}
Y, M, P, I = "mine.yaml", "mine.cu", "plain.cu", "parts/index.cuh"

# What is planted (file, text, another text in its place), where it is found, and what is said.
ERRORS = [
    # Files.
    (Y, "source: mine.cu", "source: mime.cu", "mine.yaml:14:13: ", "there is no file"),
    (Y, "source: plain.cu", "source: plane.cu", "mine.yaml:11:23: ", "there is no file"),
    (M, "parts/index.cuh", "part/index.cuh", "mine.yaml:14:13: ",
     "mine.cu:1: #include 'part/index.cuh' is found neither"),
    (M, '"parts/index.cuh"', '"/etc/passwd"', "mine.yaml:14:13: ", "mine.cu:1: #include '/etc/passwd' is absolute"),
    (I, "#pragma once", '#include "more.cuh"', "mine.yaml:14:13: ",
     "index.cuh:1: #include 'more.cuh' is found neither"),
    (Y, "shape: [n]}\n    - {name: y", "shape: [n], fill: {file: x.npy}}\n    - {name: y", "mine.yaml:7:53: ",
     "there is no file"),
    # Names of kernels.
    (Y, '"scale<PER', '"scal<PER', "mine.yaml:15:14: ",
     "is called 'scal': it has scale (mine.cu:3), did you mean 'scale'?"),
    (Y, "kernel: plain", "kernel: plain2", "mine.yaml:11:41: ",
     "is called 'plain2': it has plain (plain.cu:1), did you mean 'plain'?"),
    (M, "__global__ void scale", "__device__ void scale", "mine.yaml:15:14: ", "is called 'scale': it has none"),
    (P, "__global__ ", "", "mine.yaml:11:41: ", "of plain.cu is called 'plain': it has none"),
    (Y, '"scale<PER, float>"', "scale", "mine.yaml:15:13: ",
     'scale (mine.cu:3) is a template: name an instance of it, as in "scale<'),
    (Y, "kernel: plain", 'kernel: "plain<float>"', "mine.yaml:11:42: ", "plain (plain.cu:1) is no template"),
    (Y, '"scale<PER, float>"', '"scale<PER, float"', "mine.yaml:15:13: ", "the name of a function, or of a template's"),
    # Arguments.
    (M, ", int n)", ")", "mine.yaml:15:14: ",
     "4 arguments (x, y, a, n) where scale (mine.cu:3) has 3 parameters (const T* x, T* y, T a): make the two lists"),
    (P, "float a, int n)", "float a, float b, int n)", "mine.yaml:11:41: ",
     "4 arguments (x, y, a, n) where plain (plain.cu:1) has 5 parameters"),
    (Y, "    - {name: a, type: f32, value: 2.5}\n", "", "mine.yaml:14:14: ", "3 arguments (x, y, n) where scale"),
    (Y, "    options: [", "    arguments: [x, y, b, n]\n    options: [", "mine.yaml:17:23: ", "'b'"),
    (Y, "{name: a, type", "{name: x, type", "mine.yaml:9:7: ", "'x' is there twice"),
    # Parameters.
    (Y, '"scale<PER, float>"', '"scale<2, float>"', "mine.yaml:15:14: ",
     "PER is a template parameter at mine.cu:2, which the #define of that name would change"),
    (M, "  for (int", "#if PER > 1\n#endif\n  for (int", "mine.yaml:15:14: ",
     "PER is a template parameter at mine.cu:2, so it is not #defined, and mine.cu:4 asks for it with an #if"),
    (Y, "  PER: [1, 2]\n", "", "mine.yaml:16:50: ", "'PER' has no value here"),
    (Y, "  PER: [1, 2]", "  PER: [1, 1]", "mine.yaml:20:3: ", "1"),
    (Y, "  PER: [1, 2]", "  PER: 2", "mine.yaml:20:8: ", "expected a list"),
    (Y, "  PER: [1, 2]", "  PE R: [1, 2]", "mine.yaml:20:3: ", "expected a name"),
    (Y, "  PER: [1, 2]", "  PER: [1, two]", "mine.yaml:20:3: ", "PER"),
    # Options.
    (Y, "=REGS", "=REG", "mine.yaml:17:15: ",
     "options: 'REG' is neither a value nor a parameter, did you mean 'REGS'?"),
    (Y, "--maxrregcount=", "--maxregcount=", "mine.yaml:17:15: ", "expected one of"),
    (Y, "REGS: [32, 64]", "REGS: [32, 64000]", "mine.yaml:17:16: ", "'--maxrregcount=64000' is not among"),
    (Y, "--maxrregcount=REGS", "--include-path=/etc", "mine.yaml:17:15: ", "expected one of"),
    # Launches and expressions.
    (Y, "BLOCK * PER)\"]", "BLOK * PER)\"]", "mine.yaml:16:42: ", "did you mean 'BLOCK'"),
    (Y, "problem.n, BLOCK", "problem.m, BLOCK", "mine.yaml:16:31: ", "'problem.m' has no value here"),
    (Y, "block: [BLOCK]", "block: [BLOCK * 32]", "mine.yaml:16:66: ", "none of 12 valid configs can be launched"),
    (Y, "block: [BLOCK]", "block: [BLOCK, 1, 65]", "mine.yaml:16:76: ", "none of 12 valid configs can be launched"),
    (Y, "block: [BLOCK]", "block: [BLOCK], shared: 200000", "mine.yaml:15:14: ", "shared is 200000 bytes"),
    (Y, "block: [256]", "block: [2048]", "mine.yaml:11:101: ", "block.x is 2048"),
    (Y, "block: [BLOCK]", "blocks: [BLOCK]", "mine.yaml:16:58: ", "did you mean 'block'"),
    (Y, "BLOCK * PER <= 512", "BLOCK * PER <= 5", "mine.yaml:", "no config is valid"),
    (Y, "BLOCK * PER <= 512", "BLOCK * PER = 512", "mine.yaml:23:", "write '=='"),
    # Arguments of the problem.
    (Y, "role: output", "role: outputs", "mine.yaml:8:46: ", "expected one of"),
    (Y, "type: f32, value", "type: fp32, value", "mine.yaml:9:", "expected one of"),
    (Y, "value: n}", "value: m}", "mine.yaml:10:", "'m'"),
]

WARNINGS = [
    (Y, "block: [BLOCK]", "block: [BLOCK * 8]", "mine.yaml:16:66: ",
     "4 of 12 valid configs cannot be launched: a constraint can leave them out"),
    (Y, "block: [BLOCK]", "block: [BLOCK], shared: BLOCK * 400", "mine.yaml:15:14: ",
     "4 of 12 valid configs cannot be launched"),
    (Y, "  REGS: [32, 64]", "  REGS: [32, 64]\n  WIDTH: [1, 2]", "mine.yaml:22:3: ",
     "parameter WIDTH reaches no kernel of template 'mine': neither its source nor its launch names it; use it"),
    (I, "#pragma once", "#define BLOCK 64", "mine.yaml:15:14: ", "BLOCK is #defined at parts/index.cuh:1 too"),
    (M, "__global__ void scale", "#define KERNEL __global__ void\nKERNEL scale", "mine.yaml:15:14: ",
     "is called 'scale': it has none, and macros that may make it"),
]

# Where the toolkit's headers are: a parameter that one of them uses as a name.
WITH_HEADERS = (M, "template <int PER", "#include <cub/block/block_reduce.cuh>\ntemplate <int PER",
                "; the parameter A is also a name in ")

# Right as they are.
GOOD = [
    (M, "int n)", "int n /* , int m */)"),
    (M, "(const T* x", "(\n#if PERHAPS\n  int m,\n#endif\n  const T* x"),
    (I, "#pragma once", "#ifndef BLOCK\n#define BLOCK 64\n#endif"),
    (M, "PER; ++k", "(PER); ++k"),
]

# What the compiler finds: said by a search.
COMPILED = [
    (M, "a * x[i];", "a * z[i];", 'mine.cu(6): error: identifier "z" is undefined'),
    (I, "threadIdx.x;", "threadIdx.x", 'parts/index.cuh(4): error: expected a ";"'),
    (M, "const int i =", "int BLOCK = 1; const int i =",
     "BLOCK is #defined for the space's parameter or define of that name: rename one of the two"),
    (M, "if (i < n)", "T::none(); if (i < n)", "mine.cu(6): error: "),
    (I, "BLOCK * per", "PER * BLOCK", 'parts/index.cuh(3): error: identifier "PER" is undefined; it is a parameter'),
    (P, "a * x[i];", "a * z[i];", 'plain.cu(3): error: identifier "z" is undefined'),
    (M, "  for (int", "  __shared__ T much[16000]; much[n] = a; __syncthreads(); y[0] = much[a > 0];\n  for (int",
     "64000 bytes of static shared memory, more than 49152 a block"),
    (P, "  if (i", "  __shared__ float much[16000]; much[n] = a; __syncthreads(); y[0] = much[n + 1];\n  if (i",
     "64000 bytes of static shared memory, more than 49152 a block"),
]

faults = 0


def fault(slip, what, said):
    global faults
    faults += 1
    print(f"{slip}\n  {what}: {said.strip() or 'nothing'}")


def plant(name, text, other):
    os.makedirs("parts", exist_ok=True)
    for each, whole in FILES.items():
        if each == name and whole.count(text) != 1:
            fault((name, text), "is there", f"{whole.count(text)} times")
        with open(each, "w") as file:
            file.write(whole.replace(text, other) if each == name else whole)


def run(*words):
    return subprocess.run([program, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)


def look(slip, ran, code, place, text):
    said = ran.stderr
    if ran.returncode != code:
        fault(slip, f"exit code {ran.returncode}, expected {code}", said)
    elif said.count("\n") != (1 if place else 0):
        fault(slip, "expected one line", said)
    elif place and not re.match(r"(fa-tune: )?mine\.yaml:\d+:\d+: ", said):
        fault(slip, "expected a place", said)
    elif place not in said or text not in said:
        fault(slip, f"expected {place}... {text}", said)


for slip in ERRORS:
    plant(*slip[:3])
    look(slip[:3], run("space", "check", Y), 2, *slip[3:])
for slip in WARNINGS:
    plant(*slip[:3])
    look(slip[:3], run("space", "check", Y), 0, *slip[3:])
for slip in [(I, "per) {", "per) {"), *GOOD]:  # the first as it is
    plant(*slip)
    look(slip, run("space", "check", Y), 0, "", "")
if re.search(r"^headers +ok", run("doctor").stdout, re.M):
    COMPILED.append(WITH_HEADERS)
for name, text, other, said in COMPILED:
    plant(name, text, other)
    if (name, text, other, said) == WITH_HEADERS:
        with open(Y, "w") as file:
            file.write(SPACE.replace("REGS", "A"))
    ran = run("evolve", "--space", Y, "--device", "emulator:l4", "--budget", "1", "--db", "slips.db", "--no-finals")
    told = ran.stderr + run("failures", "--db", "slips.db").stdout if name != P else ran.stderr
    if said not in re.sub(r"\s+", " ", told):
        fault((name, text, other), f"expected {said}", told)
    if os.path.exists("slips.db"):
        os.remove("slips.db")

# Of an exported file, the line in it.
plant(I, "per) {", "per) {")
run("evolve", "--space", Y, "--device", "emulator:l4", "--budget", "1", "--db", "slips.db", "--no-finals")
run("export", "--db", "slips.db", "--out", "winner.cu")
with open("winner.cu") as file:
    head, tail = file.read().rsplit("a * x[i]", 1)  # the comments before the kernel have its text too
with open("winner.cu", "w") as file:
    file.write(head + "a * z[i]" + tail)
line = 1 + head.count("\n")
told = run("verify", "winner.cu", "--device", "emulator:l4")
if f'winner.cu({line}): error: identifier "z" is undefined' not in re.sub(r"\s+", " ", told.stdout + told.stderr):
    fault("winner.cu", f"expected line {line}", told.stdout + told.stderr)

print(f"{len(ERRORS)} errors, {len(WARNINGS)} warnings, {len(COMPILED)} that are compiled: {faults} faults")
sys.exit(1 if faults else 0)
