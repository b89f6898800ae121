# shellcheck shell=bash
# For the tests of the built program: cli_test.sh PROGRAM CACHE. CACHE is shared between them, so that
# a kernel is compiled once. Sourced; the test then stands in an empty folder of its own.

program=$(readlink -f "$1")
compiled=$(readlink -m "$2")
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/check.sh"
export FA_TUNE_ROOT=$repository FA_TUNE_CACHE=$compiled
unset XDG_CACHE_HOME
mkdir "$work/here"
cd "$work/here" || exit

# small_space FILE: a space like the shipped one whose kernels the emulator runs in milliseconds, and NVRTC compiles
# sooner: short sequences, small tiles, the smallest head dimension, and a window, as the finals' suites have sequences
# of 2048: with all of their keys the finals take four fifths of a search. tools_tables holds some without a window.
small_space() {
  sed -e 's/^space: l4/space: small/' -e 's/H: 8, Lq: 512, Lk: 512, D: 64/H: 2, Lq: 64, Lk: 64, D: 16/' \
    -e 's/^  causal: false/&\n  window: [32, 32]/' -e '/^  scalar:/d' -e '/ WARPS: /d' -e "/'scalar'/d" -e '/^  plain:/d' \
    -e 's/^  BLOCK_M:.*/  BLOCK_M: [16, 32, 64]/' -e 's/^  BLOCK_N:.*/  BLOCK_N: [32, 48, 64]/' \
    -e 's/, by_sum\]/]/' -e 's/\(BLOCK_[MN]\): 128/\1: 64/g' -e 's/LAYOUT: swizzled/LAYOUT: padded/' -e 's/^budget:.*/budget: {trials: 24}/' \
    "$repository/search_spaces/l4.yaml" >"$1"
}

# scale_space: scale.yaml, a space of a user's with the two files of its kernels; the factor of a loop is one of
# its parameters.
scale_space() {
cat >plain.cu <<'E2'
extern "C" __global__ void plain(const float* x, float* y, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
E2
cat >mine.cu <<'E2'
extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
#pragma unroll PER
  for (int k = 0; k < PER; ++k) {
    const int i = blockIdx.x * BLOCK * PER + threadIdx.x + k * BLOCK;
    if (i < n) y[i] = a * x[i];
  }
}
E2
cat >scale.yaml <<'E2'
space: scale
target: l4
problem:
  kind: custom
  sizes: [{n: 4000}, {n: 1}, {n: 300}]
  arguments:
    - {name: x, type: f32, shape: [n]}
    - {name: y, type: f32, shape: [n], role: output}
    - {name: a, type: f32, value: 2.5}
    - {name: n, type: i32, value: n}
  reference: {source: plain.cu, kernel: plain, launch: {grid: ["ceil_div(problem.n, 256)"], block: [256]}}
templates:
  mine: {source: mine.cu, kernel: scale, launch: {grid: ["ceil_div(problem.n, BLOCK * PER)"], block: [BLOCK]}}
parameters:
  BLOCK: [64, 128, 256]
  PER: [1, 2]
E2
}

# Reading only, so that a log left by a kill is there for the program to take up.
sql() { sqlite3 -readonly -batch -noheader -cmd '.timeout 5000' "$@"; }
trials_in() { sql "$1" 'SELECT count(*) FROM trials' 2>/dev/null || echo 0; } # DB

# stop_early SIGNAL DB ARGUMENT...: a search that gets the signal once DB has more trials than before;
# stopped is its exit code, $work/words what it said on stderr.
stop_early() {
  local signal=$1 db=$2 before search
  shift 2
  before=$(trials_in "$db")
  "$program" evolve --db "$db" "$@" >"$work/log" 2>"$work/words" &
  search=$!
  while [ "$(trials_in "$db")" -le "$before" ] && kill -0 "$search" 2>/dev/null; do sleep 0.05; done
  kill "-$signal" "$search" || true
  stopped=0
  # shellcheck disable=SC2034 # the tests read it
  wait "$search" || stopped=$?
}
