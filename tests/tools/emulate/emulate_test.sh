#!/usr/bin/env bash
# fa-tune emulate: kernels of the user's own, run, checked, counted and dumped; wrong input and wrong
# kernels told apart by the exit code.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

cat >double.cu <<'CU'
#include "factor.cuh"
extern "C" __global__ void twice(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = FACTOR * in[i + SHIFT];
}
extern "C" __global__ void stuck() { while (true) {} }
CU
echo '#define FACTOR 2' >factor.cuh
run=("$program" emulate double.cu --kernel twice --grid 4 --block 64)
good=(--arg 'f32[256]=iota' --arg 'out:f32[256]' --arg i32=256 --define SHIFT=0)

try "${run[@]}" "${good[@]}"
check 'runs' equal "$status" 0
check 'says what came out' contains "$out" 'argument 1  out:f32[256]'
check 'smallest, largest and mean' contains "$out" 'min 0  max 510  mean 255'
check 'nothing else' equal "$(wc -l <"$out")$(cat "$err")" 1

try "${run[@]}" "${good[@]}" --device l4 --schedules 3 --check init,sync
check 'other devices and schedules' equal "$status" 0

try "${run[@]}" "${good[@]}" --counters
check 'counts' equal "$status" 0
check 'and predicts' contains "$out" 'predicted for h100: '
check 'and says what bounds it' contains "$out" 'bound by: '

try "${run[@]}" "${good[@]}" --dump out.npy
check 'dumps' equal "$status" 0
check 'as .npy' equal "$(tail -c 8 out.npy | od -An -f | tr -s ' ')" ' 508 510'
try "${run[@]}" --arg 'f32[256]=file:out.npy' --arg 'out:f32[256]' --arg i32=256 --define SHIFT=0
check 'which can be read again' contains "$out" 'max 1020'
"${run[@]}" "${good[@]}" --dump - >piped.npy
check 'and piped' cmp out.npy piped.npy

try "${run[@]}" "${good[@]}" --dump first.npy --dump 1:second.npy
check 'dumps twice' equal "$status" 0
check 'the first output, which is argument 1' cmp first.npy second.npy
# A wrong kernel: exit code 1 and its report on stderr.
try "${run[@]}" "${good[@]:0:6}" --define SHIFT=1
check 'a finding is exit code 1' equal "$status" 1
check 'names its kind' contains "$err" 'fa-tune: out_of_bounds: twice'
check 'the block and the thread' contains "$err" 'block (3,0,0), thread (63,0,0)'
check 'the line of PTX' contains "$err" 'twice, PTX line'
check 'nothing on stdout' equal "$(cat "$out")" ''

try "${run[@]}" "${good[@]:0:6}" --define SHIFT=1 --line-info
check 'with line information that of the source' contains "$err" 'twice, double.cu:4 (PTX line'

# A source that ends its compiler does not end the program: it is compiled in a worker.
{
  printf 'extern "C" __global__ void deep(int* x) { *x = '
  printf '%*s' 300000 '' | tr ' ' '('
  printf '1'
  printf '%*s' 300000 '' | tr ' ' ')'
  printf '; }\n'
} >deep.cu
try "$program" emulate deep.cu --kernel deep --block 1 --arg 'out:i32[1]'
check 'a source that ends its compiler is the source'"'"'s fault' equal "$status" 2
check 'and is told in a line' contains "$err" 'the compiler ended over it, twice: signal 11'

# A launch has a budget, however small its blocks.
echo 'extern "C" __global__ void nothing() {}' >nothing.cu
try timeout 60 "$program" emulate nothing.cu --kernel nothing --grid 2147483647,65535,65535 --block 32 --check none
check 'a grid without end is a finding' equal "$status" 1
check 'that says so' contains "$err" 'fa-tune: timeout: nothing: its 9223090559730712575 blocks have executed more'

# A race in a template, made by taking out the barrier before a buffer is filled again, is reported at
# its line of the template, and at that of the read it meets.
templates=$repository/kernel_templates
sed 's/copies\.await_v(tile);/wait_copies<2 * (STAGES - 1)>();/' "$templates/attention/mma.cu" >racy.cu
check 'a barrier was taken out' is_not cmp -s racy.cu "$templates/attention/mma.cu"
config='BLOCK_M=32 BLOCK_N=32 WARPS_M=2 WARPS_N=1 STAGES=2 LAYOUT=padded Q_PLACE=in_shared RESCALE=voted
  EPILOGUE=direct MIN_BLOCKS=0 KV_ORDER=forwards SCHEDULE=by_rows L2_HINT=none
  TENSOR_COPY=0 K_PARTS=1 MASKED_TILES=among
  HEAD_DIM=32 CAUSAL=0 CAUSAL_BOTTOM_RIGHT=0 DTYPE_BF16=0 KV_GROUP=1
  LAYOUT_BSHD=0 WITH_LSE=0 WINDOW_LEFT=0 WINDOW_RIGHT=0 SOFTCAP=0 ALIBI=0'
attention=(--kernel attention_mma --grid 2 --block 64 --shared 12800 --device l4 --line-info
  -I "$templates/include" -I "$templates/attention"
  --arg 'f16[64x32]=normal:1' --arg 'f16[128x32]=normal:2' --arg 'f16[128x32]=normal:3'
  --arg 'out:f16[64x32]' --arg i32=64 --arg i32=128 --arg i32=1 --arg f32=0.17)
for setting in $config; do attention+=(--define "$setting"); done
line=$(grep -n 'copies.begin_k(tile + STAGES)' racy.cu | cut -d: -f1)
try "$program" emulate racy.cu "${attention[@]}"
check 'a race is exit code 1' equal "$status" 1
check 'is called so' contains "$err" 'fa-tune: race: attention_mma'
check 'and stands at its line' contains "$err" "in racy.cu:$line (PTX line"
check 'with that of the read' contains "$err" 'read it in ldmatrix.sync.aligned.m8n8.x4.shared.b16 (mma.cuh:'
try "$program" emulate "$templates/attention/mma.cu" "${attention[@]}"
check 'the template itself is clean' equal "$status$(cat "$err")" 0

# Wrong input: exit code 2 and one line.
refused() {
  local text=$1
  shift
  try "$@"
  check "exit code 2: $*" equal "$status" 2
  check "one line: $*" equal "$(wc -l <"$err")" 1
  check "what is wrong: $*" contains "$err" "$text"
}
refused "'f31' is no type" "${run[@]}" --arg 'f31[2]=zeros'
refused "content, such as" "${run[@]}" --arg 'f32[2]'
refused "'normal' takes 1 numbers" "${run[@]}" --arg 'f32[2]=normal'
refused "does not fit" "${run[@]}" --arg u8=256
refused "needs 'box='" "${run[@]}" --arg 'tmap:f16[8x8]=zeros'
refused '1 arguments where the kernel has 3' "${run[@]}" --define SHIFT=0 --arg i32=1
refused "no kernel 'thrice'" "$program" emulate double.cu --kernel thrice --block 1 --define SHIFT=0
refused 'SHIFT' "${run[@]}" "${good[@]:0:6}"
refused "is no check" "${run[@]}" "${good[@]}" --check memory
refused 'nowhere.cu' "$program" emulate nowhere.cu --kernel k --block 1
refused 'neither a .cu nor a .ptx' "$program" emulate factor.cuh --kernel k --block 1
refused "'gtx'" "${run[@]}" "${good[@]}" --device gtx
refused '--block' "$program" emulate double.cu --kernel twice
refused 'dump' "${run[@]}" --arg 'f32[2]=zeros' --dump x.npy
echo 'nonsense' >bad.ptx
refused 'PTX line 1' "$program" emulate bad.ptx --kernel k --block 1
finish
