#!/usr/bin/env bash
# From a kernel to its space and through a search: fa-tune init.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

cat >rows.cu <<'CU'
#ifndef PER
#define PER 2
#endif
__global__ void scale_rows(const float* __restrict__ x, const float* factor, float* y, int rows, int columns) {
  const int row = blockIdx.x;
  const float by = factor[row];
  for (int i = threadIdx.x * PER; i < columns; i += blockDim.x * PER)
    for (int k = 0; k < PER; ++k)
      if (i + k < columns) y[row * columns + i + k] = by * x[row * columns + i + k];
}
__global__ void add(const float* x, float* y, unsigned int n) {
  for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += x[i];
}
CU
try "$program" init rows.cu
check 'of several kernels one is to be chosen' equal "$status" 2
check 'they are listed' contains "$err" 'rows.cu: has 2 kernels; choose one with --kernel: scale_rows, add'
try "$program" init rows.cu --kernel add
check 'a space is printed' equal "$status" 0
check 'with what is guessed' contains "$out" '- {name: y, type: f32, shape: [n], role: inout}  # guessed: '
try "$program" init rows.cu --kernel scale_rows --out rows.yaml
check 'it is written' contains "$err" 'rows.yaml: '
check 'and says what is next' contains "$err" 'next: fa-tune space check rows.yaml'
check 'it has nothing to be mended' lacks "$err" 'to be mended'
try "$program" space check rows.yaml
check 'the space is good' equal "$status" 0
check 'as it says' contains "$out" 'rows.yaml: good'
try "$program" init rows.cu --kernel add --out rows.yaml
check 'a file that is there stays' equal "$status" 2
check 'which is said' contains "$err" 'rows.yaml: is there already; --force writes over it'
check 'and is so' contains rows.yaml 'space: scale_rows'
try "$program" init rows.cu --kernel add --out rows.yaml --force
check '--force writes over it' contains rows.yaml 'space: add'
mkdir -p elsewhere
try "$program" init rows.cu --kernel add --out elsewhere/rows.yaml
check 'a space does not lie below its kernel' contains "$err" 'a space lies beside its kernel or above it'

# What it writes can be searched as it is.
for kernel in scale_rows add; do
  "$program" init rows.cu --kernel "$kernel" --out "$kernel.yaml" --force 2>/dev/null
  sizes=(--set sizes.n=3000)
  [ "$kernel" = add ] || sizes=(--set sizes.rows=5 --set sizes.columns=70)
  try "$program" space check "$kernel.yaml" "${sizes[@]}"
  check "$kernel: checked at other sizes" contains "$out" "${sizes[1]#sizes.}"
  try "$program" evolve --space "$kernel.yaml" "${sizes[@]}" --device emulator:h100 --budget 3 --db "$kernel.db" --no-finals
  check "$kernel: a search ends well" equal "$status" 0
  check "$kernel: all pass" equal "$(sql "$kernel.db" "SELECT count(*) FROM trials WHERE outcome = 'passed'")" 3
done

try "$program" init nowhere.cu
check 'a file that is not there' contains "$err" 'nowhere.cu'
check 'is an error of the user' equal "$status" 2
finish
