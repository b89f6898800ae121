#!/usr/bin/env bash
# Kernels with the types that CUDA kernels have, from YAML alone: searched, gated again, exported.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

# typed NAME PARAMETERS BODY ARGUMENT...: NAME.yaml, whose kernel and plain kernel do BODY with element i.
typed() {
  local name=$1 parameters=$2 body=$3 kernel
  shift 3
  for kernel in plain mine; do
    printf '#include <cuComplex.h>\nstruct Range { float least; bool open; long long last; };\n' >"$name-$kernel.cu"
    printf 'extern "C" __global__ void %s(%s, size_t n) {\n  size_t i = blockIdx.x * blockDim.x + threadIdx.x;\n' \
      "$kernel" "$parameters" >>"$name-$kernel.cu"
    printf '  if (i < n) { %s }\n}\n' "$body" >>"$name-$kernel.cu"
  done
  {
    printf 'space: %s\ntarget: l4\nproblem:\n  kind: custom\n  sizes: [{n: 1500}, {n: 1}, {n: 77}]\n  arguments:\n' "$name"
    printf '    - %s\n' "$@" '{name: n, type: size_t, value: n}'
    printf '  reference: {source: %s-plain.cu, kernel: plain, launch: {grid: [8], block: [256]}}\n' "$name"
    printf 'templates:\n  mine: {source: %s-mine.cu, kernel: mine, ' "$name"
    printf 'launch: {grid: ["ceil_div(problem.n, BLOCK)"], block: [BLOCK]}}\n'
    printf 'parameters: {BLOCK: [64, 128, 256]}\n'
  } >"$name.yaml"
}

typed histogram 'const unsigned char* x, unsigned* bins' 'atomicAdd(&bins[x[i]], 1u);' \
  '{name: x, type: u8, shape: [n], fill: {integers: [0, 255]}}' \
  '{name: bins, type: u32, shape: [256], role: inout, fill: {value: 0}}'
typed gather 'const float* x, const long long* at, float* y' 'y[i] = x[at[i]];' \
  '{name: x, type: f32, shape: [n]}' '{name: at, type: int64_t, shape: [n], fill: {integers: [0, n - 1]}}' \
  '{name: y, type: f32, shape: [n], role: output}'
typed mask 'const float4* x, bool* inside, Range range' \
  'inside[i] = x[i].x + x[i].w > range.least && (range.open || i < range.last);' \
  '{name: x, type: float4, shape: [n]}' '{name: inside, type: bool, shape: [n], role: output}' \
  '{name: range, type: {struct: [{least: f32}, {open: bool}, {last: i64}]}, value: {least: 0.25, open: false, last: n - 1}}'
typed product 'const cuComplex* x, const cuComplex* y, cuComplex* z' 'z[i] = cuCmulf(x[i], y[i]);' \
  '{name: x, type: complex64, shape: [n]}' '{name: y, type: complex64, shape: [n]}' \
  '{name: z, type: complex64, shape: [n], role: output}'

# wrong NAME FROM TO WORDS: with this change no kernel of NAME passes, and it is told why.
wrong() {
  sed "s/$2/$3/" "$1-mine.cu" >changed && ! cmp -s changed "$1-mine.cu" && mv changed "$1-mine.cu"
  try "$program" evolve --space "$1.yaml" --db "wrong-$1.db" --device emulator:l4 --budget 3 --warm off --no-finals
  check "a wrong $1 is refused" equal "$(sql "wrong-$1.db" "SELECT count(*) FROM trials WHERE outcome = 'passed'")" 0
  check "and told" contains <(sql "wrong-$1.db" 'SELECT message FROM trials') "$4"
}

for name in histogram gather mask product; do
  try "$program" space check "$name.yaml"
  check "$name: the space is good" equal "$status" 0
  try "$program" evolve --space "$name.yaml" --db "$name.db" --device emulator:l4 --budget 3 --warm off --seed 1
  check "$name: a search ends" equal "$status" 0
  check "$name: all of its kernels pass" equal "$(sql "$name.db" "SELECT count(*) FROM trials WHERE outcome = 'passed'")" 3
  "$program" export 1 --db "$name.db" --out "$name.cu" 2>/dev/null
  try "$program" verify "$name.cu" --device emulator:l4
  check "$name: what is exported passes" equal "$status" 0
  for form in torch header ptx; do
    try "$program" export 1 --db "$name.db" --as "$form" --out "$name.$form"
    check "$name: is exported as $form" equal "$status" 0
  done
  check "$name: the module is Python" python3 -c "compile(open('$name.torch').read(), 'm', 'exec')"
done
try "$program" show 1 --db mask.db
check 'a trial is shown' equal "$status" 0
check 'the source says what it takes' contains mask.cu 'pointer to f32x4 [1500], read'
check 'a struct too' contains mask.cu 'struct {least: f32, open: bool, last: i64}, 0.25 0 n - 1'
check 'a header takes bools' contains mask.header 'bool* inside'

# A sum in two kernels: the second is told numbers that rest on a parameter, of whatever type.
cat >sum.cu <<'E'
#include <cuda_fp8.h>
__global__ void first(const float* x, double* parts, long long n) {
  double sum = 0;
  for (long long i = (long long)blockIdx.x * PER; i < n && i < (blockIdx.x + 1LL) * PER; ++i) sum += x[i];
  parts[blockIdx.x] = sum;
}
__global__ void last(const double* parts, float* y, unsigned short count, bool twice, double scale, __nv_fp8_e4m3 two) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += parts[i];
  *y = sum * scale * (twice ? 1 : 0) * (float)two / 2;
}
E
cat >sum-plain.cu <<'E'
__global__ void plain(const float* x, float* y, long long n) {
  double sum = 0;
  for (long long i = 0; i < n; ++i) sum += x[i];
  *y = sum;
}
E
cat >sum.yaml <<'E'
space: sum
target: l4
problem:
  kind: custom
  sizes: [{n: 2000}, {n: 1}, {n: 700}]
  arguments:
    - {name: x, type: f32, shape: [n]}
    - {name: y, type: f32, shape: [1], role: output}
    - {name: n, type: i64, value: n}
  reference: {source: sum-plain.cu, kernel: plain, launch: {grid: [1], block: [1]}}
  tolerance: {relative: 1e-6, absolute: 1e-5}
templates:
  mine:
    source: sum.cu
    workspaces: {parts: {type: double, shape: ["ceil_div(problem.n, PER)"]}}
    scalars:
      count: {type: uint16, value: "ceil_div(problem.n, PER)"}
      twice: {type: bool, value: PER > 1}
      scale: {type: f64, value: 1.0}
      two: {type: e4m3, value: 2}
    steps:
      - {kernel: first, launch: {grid: ["ceil_div(problem.n, PER)"], block: [1]}, arguments: [x, parts, n]}
      - {kernel: last, launch: {grid: [1], block: [1]}, arguments: [parts, y, count, twice, scale, two]}
parameters: {PER: [100, 500]}
E
try "$program" space check sum.yaml
check 'sum: the space is good' equal "$status" 0
# An L4 has so little of an f64 unit that this has no time there.
try "$program" evolve --space sum.yaml --db sum.db --device emulator:h100 --budget 2 --warm off --seed 1
check 'sum: a search ends' equal "$status" 0
check 'sum: all of its kernels pass' equal "$(sql sum.db "SELECT count(*) FROM trials WHERE outcome = 'passed'")" 2
"$program" export 1 --db sum.db --out sum-1.cu 2>/dev/null
try "$program" verify sum-1.cu --device emulator:l4
check 'sum: what is exported passes' equal "$status" 0
check 'sum: the source says what it is told' contains sum-1.cu 'count: u16, '
for form in header ptx; do
  try "$program" export 1 --db sum.db --as "$form" --out "sum.$form"
  check "sum: is exported as $form" equal "$status" 0
done
check 'sum: the PTX says so too' contains sum.ptx '"scalar": "count", "type": "u16", "value": '
sed 's/value: "ceil_div(problem.n, PER)"}/value: PER + 99999}/' sum.yaml >wide.yaml
try "$program" space check wide.yaml
check 'sum: a number that its type cannot hold' contains "$err" "wide.yaml:17:36: 'count' is 100"
sed 's/count: {type: uint16/n: {type: uint16/' sum.yaml >same.yaml
try "$program" space check same.yaml
check 'sum: a name that the problem has' contains "$err" "same.yaml:17:7: scalars: 'n' is an argument"

# Parameters whose values stand in namespaces: one goes into the kernel's name, one is defined.
cat >named.cu <<'E'
namespace ops {
struct Twice { static __device__ float of(float x) { return x + x; } };
namespace slow {
struct Twice { static __device__ float of(float x) { return 2 * x; } };
}
enum Guard { checked = 1, early };
}
template <typename Op>
__global__ void mine(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (GUARD == ops::early && i >= n) return;
  if (i < n) y[i] = Op::of(x[i]);
}
E
cat >named-plain.cu <<'E'
__global__ void plain(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += 32) y[i] = 2 * x[i];
}
E
cat >named.yaml <<'E'
space: named
target: l4
problem:
  kind: custom
  sizes: [{n: 1500}, {n: 1}]
  arguments:
    - {name: x, type: f32, shape: [n]}
    - {name: y, type: f32, shape: [n], role: output}
    - {name: n, type: i32, value: n}
  reference: {source: named-plain.cu, kernel: plain, launch: {grid: [1], block: [32]}}
templates:
  mine: {source: named.cu, kernel: "mine<OP>", launch: {grid: ["ceil_div(problem.n, BLOCK)"], block: [BLOCK]}}
parameters:
  BLOCK: [64, 128]
  OP: [ops::Twice, ops::slow::Twice]
  GUARD: ["ops::checked", "ops::early"]
constraints: ["OP == 'ops::Twice' or GUARD == 'ops::early'"]
presets: {slow: {template: mine, BLOCK: 64, OP: ops::slow::Twice, GUARD: ops::early}}
E
try "$program" space count named.yaml
check 'named: a constraint compares with a name' contains "$out" '6'
try "$program" evolve --space named.yaml --db named.db --device emulator:l4 --budget 2 --warm off --seed 1 --no-finals
check 'named: all of its kernels pass' equal "$(sql named.db "SELECT count(*) FROM trials WHERE outcome = 'passed'")" 2
check 'named: configs keep the names' \
  equal "$(sql named.db "SELECT json_extract(config, '\$.OP') FROM trials WHERE id = 1")" 'ops::slow::Twice'
"$program" export 1 --db named.db --out named-1.cu 2>/dev/null
try "$program" verify named-1.cu --device emulator:l4
check 'named: what is exported passes' equal "$status" 0
for value in 'ops:Twice' 'ops::' '::Twice' 'ops:::Twice' 'ops::2'; do
  sed "s/^  OP: .*/  OP: ['$value']/" named.yaml >nameless.yaml
  try "$program" space check nameless.yaml
  check "named: $value is none" contains "$err" "nameless.yaml:15:8: OP: expected an integer, true, false or a name"
done

wrong histogram 'bins\[x' 'bins[1 ^ x' 'bins['
wrong gather 'x\[at\[i\]\]' 'x[at[i] == n - 1 ? 0 : at[i]]' 'y['
wrong mask 'range.open ||' '!range.open ||' 'inside['
wrong product 'cuCmulf(x\[i\], y\[i\])' 'cuCmulf(x[i], cuConjf(y[i]))' 'z['
finish
