#!/usr/bin/env bash
# What kernels do that is not in every textbook: they read shared memory that nobody wrote and throw
# away what comes of it, let the whole grid sync, and fetch through textures.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

# habit NAME SIZES ARGUMENT TEMPLATE: NAME.yaml, beside NAME-plain.cu and NAME.cu.
habit() {
  {
    printf 'space: %s\ntarget: l4\nproblem:\n  kind: custom\n  sizes: [%s]\n  arguments:\n' "$1" "$2"
    printf '    - %s\n' "$3" '{name: y, type: f32, shape: [n], role: output}' '{name: n, type: i32, value: n}'
    printf '  reference: {source: %s-plain.cu, kernel: plain, launch: {grid: [8], block: [256]}}\n' "$1"
    printf 'templates:\n  mine: {source: %s.cu, kernel: mine, %s}\nparameters: {BLOCK: [32, 64]}\n' "$1" "$4"
  } >"$1.yaml"
}
search() { # NAME [DATABASE]: both of its kernels; into a DATABASE of another name, in a usual run, only one
  local kernels=2
  if [ $# -gt 1 ] && [ -z "${FA_TUNE_THOROUGH:-}" ]; then kernels=1; fi
  try "$program" evolve --space "$1.yaml" --db "${2:-$1}.db" --device emulator:l4 --budget "$kernels" \
    --warm off --no-finals
}
outcomes() { sql "$1.db" 'SELECT outcome, stage, finding FROM trials' | sort -u; }
messages() { sql "$1.db" 'SELECT message FROM trials'; }

# 1. The last tile is read to its end, and written as far as there is something.
habit halo '{n: 1500}, {n: 1}, {n: 77}' '{name: x, type: f32, shape: [n + 2]}' \
  'launch: {grid: ["ceil_div(problem.n, BLOCK)"], block: [BLOCK]}'
cat >halo-plain.cu <<'CU'
extern "C" __global__ void plain(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 8 * 256) y[i] = x[i] + x[i + 1] + x[i + 2];
}
CU
cat >halo.cu <<'CU'
extern "C" __global__ void mine(const float* x, float* y, int n) {
  __shared__ float tile[BLOCK + 2];
  int first = blockIdx.x * BLOCK;
  for (int k = threadIdx.x; k < BLOCK + 2; k += BLOCK)
    if (first + k < n + 2) tile[k] = x[first + k];
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 3; ++k) sum += tile[threadIdx.x + k];
  if (first + threadIdx.x < n) y[first + threadIdx.x] = sum;
}
CU
search halo
check 'elements that nobody wrote and nobody needs are no fault' equal "$(outcomes halo)" 'passed|screen|passed'
try "$program" show 1 --db halo.db
check 'they are told' contains "$out" 'which nobody has written'
check 'and what they are' contains "$out" 'nothing that the kernel decides or stores depends on it'
try "$program" emulate halo.cu --kernel mine --block 32 --define BLOCK=32 --arg 'f32[9]=normal:7' --arg 'out:f32[7]' --arg i32=7
check 'emulate tells them too' contains "$err" 'nothing that the kernel decides or stores depends on it'
sed 's/first + k < n + 2/first + k < n + 1/' halo.cu >changed && mv changed halo.cu
search halo wrong
check 'where somebody needs one it is a fault' equal "$(outcomes wrong)" 'failed|gate|fault'
check 'of its name' contains <(messages wrong) 'uninitialized: '
check 'in the same words' contains <(messages wrong) 'bytes at shared address'

# A race that only the timed size has blocks enough for: a trial's gate runs that without the sanitizers.
habit late '{n: 100000}, {n: 1}, {n: 77}' '{name: x, type: f32, shape: [n]}' \
  'launch: {grid: ["ceil_div(problem.n, BLOCK)"], block: [BLOCK]}'
sed 's/ + x\[i + 1\] + x\[i + 2\]//' halo-plain.cu >late-plain.cu
cat >late.cu <<'CU'
extern "C" __global__ void mine(const float* x, float* y, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = x[i] + (blockIdx.x > 99 && y[i - BLOCK] == 0.12345f);
}
CU
search late
check 'it goes well by chance' equal "$(outcomes late)" 'passed|screen|passed'
try "$program" verify --trial 1 --db late.db --device emulator:l4 --format json
check 'verify looks for races at the timed size too' equal "$status" 1
check 'and finds it there' contains "$out" '"message": "race: mine'
check 'it says that it looked at all sizes' contains "$out" '"not_sanitized": []'

# 2. All blocks meet in the midst of the kernel.
cooperative='cooperative: true'
grid() {
  habit grid "$1" '{name: x, type: f32, shape: [n]}' \
    "launch: {grid: [\"ceil_div(problem.n, BLOCK)\"], block: [BLOCK]${cooperative:+, $cooperative}}, arguments: [x, y, part, n], workspaces: {part: {type: f32, shape: [problem.n]}}"
}
cat >grid-plain.cu <<'CU'
extern "C" __global__ void plain(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 8 * 256) y[i] = 2 * x[n - 1 - i];
}
CU
cat >grid.cu <<'CU'
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void mine(const float* x, float* y, float* part, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  if (i < n) part[i] = 2 * x[i];
  grid.sync();
  if (i < n) y[i] = part[n - 1 - i];
}
CU
grid '{n: 1500}, {n: 1}, {n: 77}'
try "$program" space check grid.yaml
check 'a space with a cooperative launch is good' equal "$status" 0
check 'nothing is said of it' lacks "$err" cooperative
search grid
check 'a grid that syncs passes, checked for races' equal "$(outcomes grid)" 'passed|screen|passed'
try "$program" export 1 --db grid.db --out winner.cu
check 'it is exported' equal "$status" 0
check 'with how it is launched' contains winner.cu 'cuLaunchCooperativeKernel'
try "$program" verify winner.cu --device emulator:l4
check 'what is exported passes' equal "$status" 0
for form in torch header; do
  try "$program" export 1 --db grid.db --as "$form" --out "winner.$form"
  check "as $form it is exported" equal "$status" 0
done
check 'the module launches it so' contains winner.torch '"cooperative": True'
check 'the module is Python' python3 -c "compile(open('winner.torch').read(), 'm', 'exec')"
check 'the header launches it so' contains winner.header 'CU_LAUNCH_ATTRIBUTE_COOPERATIVE'
try "$program" emulate grid.cu --kernel mine --block 32 --grid 4 --define BLOCK=32 --cooperative \
  --arg 'f32[128]=normal:7' --arg 'out:f32[128]' --arg 'out:f32[128]' --arg i32=128
check 'it is emulated by itself' equal "$status" 0
cp grid.cu kept.cu
sed 's/grid.sync();/cg::this_thread_block().sync();/' kept.cu >grid.cu
search grid race
check 'without the barrier it is a fault' contains <(messages race) 'race: '
cp kept.cu grid.cu
grid '{n: 60000}'
search grid large
check 'a grid that the device cannot hold is refused at its launch' contains <(outcomes large) 'failed|launch|'
check 'with the figures' contains <(messages large) 'a cooperative grid of 1875 blocks; the device holds 1392 of them at once'
cooperative=''
grid '{n: 1500}, {n: 77}'
try "$program" space check grid.yaml
# shellcheck disable=SC2016 # the words are the message's
check 'a grid that syncs is asked for its launch' contains "$err" \
  'grid.cu:4:7: grid_group: if the whole grid syncs here, write `cooperative: true` into the launch'
search grid alone
check 'without it the kernel stops itself' contains <(messages alone) 'and this is no cooperative launch'

# 3. Textures.
cat >>halo.cu <<'CU'
// A texture would be tex2D<float>(t, x, y).
__device__ float fetch(cudaTextureObject_t t, float x) { return tex1D<float>(t, x); }
CU
for how in 'space check' 'evolve --db texture.db --device emulator:l4 --space'; do
  # shellcheck disable=SC2086 # words
  try "$program" $how halo.yaml
  check "${how%% *}: a texture is refused" equal "$status" 2
  check "${how%% *}: by its place, with what to do" contains "$err" \
    'halo.cu:13:24: cudaTextureObject_t: textures and surfaces are not supported: take a pointer instead'
done

# 4. What a kernel leaves behind that no other has to agree upon: sums of as many parts as it has blocks. It is given
# again for each launch, and nobody compares it.
habit parts '{n: 1000}' '{name: partial, type: f32, shape: [n], role: unchecked, fill: {value: 1}}' \
  'launch: {grid: ["ceil_div(problem.n, BLOCK)"], block: [BLOCK]}'
cat >parts-plain.cu <<'CU'
extern "C" __global__ void plain(float* partial, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 8 * 256) y[i] = 2;
}
CU
cat >parts.cu <<'CU'
extern "C" __global__ void mine(float* partial, float* y, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = partial[i] + 1;
  if (i < n) partial[i] = BLOCK * (i + 1);
}
CU
search parts
check 'what is unchecked may be anything' equal "$(outcomes parts)" 'passed|screen|passed'
sed 's/role: unchecked/role: inout/' parts.yaml >changed && mv changed parts.yaml
search parts compared
check 'and if compared it is wrong' equal "$(outcomes compared)" 'failed|gate|wrong'
sed 's/role: inout/role: unchecked/' parts.yaml >changed && mv changed parts.yaml
sed 's/partial\[i\] = BLOCK/partial[i + 1] = BLOCK/' parts.cu >changed && mv changed parts.cu
search parts outside
check 'but it has bounds' equal "$(outcomes outside)" 'failed|gate|fault'
finish
