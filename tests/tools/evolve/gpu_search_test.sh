#!/usr/bin/env bash
# What only a GPU can show of a search: a kernel that the emulator cannot run wins all the same, and inputs
# larger than what is kept on the device between trials work.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

device=${FA_TUNE_TEST_DEVICE:-cuda:0}
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
  skip 'there is no NVIDIA GPU'
fi

# A sum of integers by vadd, a form that the emulator does not know.
cat >plain.cu <<'CUDA'
__global__ void plain(const int* x, const int* y, int* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
CUDA
cat >video.cu <<'CUDA'
extern "C" __global__ void video(const int* x, const int* y, int* z, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  int sum;
  asm("vadd.s32.s32.s32 %0, %1, %2;" : "=r"(sum) : "r"(x[i]), "r"(y[i]));
  z[i] = sum;
}
CUDA
cat >video.yaml <<'YAML'
space: video
target: h100
problem:
  kind: custom
  sizes: [{n: 1000000}, {n: 1}, {n: 1001}]
  arguments:
    - {name: x, type: i32, shape: [n], fill: {integers: [-1000, 1000]}}
    - {name: y, type: i32, shape: [n], fill: {integers: [-1000, 1000]}}
    - {name: z, type: i32, shape: [n], role: output}
    - {name: n, type: i32, value: n}
  reference: {source: plain.cu, kernel: plain, launch: {grid: ["ceil_div(problem.n, 256)"], block: [256]}}
templates:
  video: {source: video.cu, kernel: video, launch: {grid: ["ceil_div(problem.n, BLOCK)"], block: [BLOCK]}}
parameters:
  BLOCK: [64, 128, 256]
YAML
try "$program" evolve --space video.yaml --strategy exhaustive --budget 3 --seed 1 --db video.db --device "$device" \
  --format json
check 'a search of kernels that the emulator does not know' equal "$status" 0
check 'all three passed' contains "$out" '"passed": 3'
check 'one of them won the finals' contains "$out" '"stage": "final"'
check 'it is said that none was checked' contains "$err" 'not checked'

# Two inputs of 2 GiB each, with measured bounds and finals: some five minutes, and 66 GiB of memory.
cat >add.cu <<'CUDA'
__global__ void add(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
CUDA
cat >strided.cu <<'CUDA'
extern "C" __global__ void strided(const float* x, const float* y, float* z, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) z[i] = x[i] + y[i];
}
CUDA
cat >large.yaml <<'YAML'
space: large
target: h100
problem:
  kind: custom
  sizes: [{n: 536870912}, {n: 1}, {n: 1001}]
  arguments:
    - {name: x, type: f32, shape: [n]}
    - {name: y, type: f32, shape: [n]}
    - {name: z, type: f32, shape: [n], role: output}
    - {name: n, type: i32, value: n}
  reference: {source: add.cu, kernel: add, launch: {grid: ["ceil_div(problem.n, 256)"], block: [256]}}
templates:
  strided: {source: strided.cu, kernel: strided, launch: {grid: [BLOCKS], block: [512]}}
parameters:
  BLOCKS: [528, 1056]
YAML
try "$program" evolve --space large.yaml --strategy exhaustive --budget 2 --seed 1 --db large.db --device "$device" \
  --format json
check 'a search with two inputs of 2 GiB' equal "$status" 0
check 'both kernels passed' contains "$out" '"passed": 2'
check 'the best of them went through the finals' contains "$out" '"stage": "final"'
finish
