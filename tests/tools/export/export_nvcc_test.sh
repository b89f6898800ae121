#!/usr/bin/env bash
# nvcc takes an exported kernel's source. Where there is no nvcc it ends with 77, which is 'skipped'.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || skip "there is no nvcc"

scale_space
"$program" evolve --space scale.yaml --db fa.db --device emulator:l4 --warm off --budget 1 --seed 3 >log 2>&1
"$program" export 1 2>/dev/null --db fa.db --out winner.cu
try "$nvcc" -Werror all-warnings -arch=sm_89 -cubin winner.cu -o winner.cubin
check 'nvcc takes its source, and the factor of its loop' equal "$status$(cat "$err")" 0
finish
