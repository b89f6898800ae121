#!/usr/bin/env bash
# fa-tune emulate on PTX that somebody else emitted, and on launches that a file describes: those of
# Triton's kernels in tests/triton, their faults, and what is refused.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

mkdir triton
cp "$repository"/tests/triton/*.json "$repository"/tests/triton/*.ptx triton
try "$program" emulate triton
check 'every launch of a folder runs' equal "$status$(cat "$err")" 0
check 'and leaves what NumPy has (if not: tests/triton/remake.py)' cmp "$out" "$repository/tests/triton/expected.txt"
check 'outputs are saved beside them' equal "$(tail -c 4 triton/out.npy | od -An -f | tr -d ' ')" -1

# Each barrier and wait taken out: what is not found is doubled by a barrier next to it, and found
# where both go, or needs an order of the blocks, or orders nothing (not_found.json).
FA_TUNE_PROGRAM=$program python3 "$repository/tools/bench/emulator/triton/planted.py" >planted.txt
check 'faults planted in Triton'"'"'s PTX are found' contains planted.txt \
  '25 of 43 found, 14 more together with others;'
check 'all without which something is read too early' contains planted.txt \
  'of those before the first read 6 of 6;'
check 'and the correct twins are clean' contains planted.txt \
  '0 of 7 right twins accused, 0 not run'
sed -i '/mbarrier.init/d' triton/described_gemm_sm_90.ptx
try "$program" emulate triton/described_gemm_sm_90.json
check 'a fault is exit code 1' equal "$status" 1
check 'and one line' equal "$(wc -l <"$err")" 1

# A barrier that only a block needs which met another at the lock: in an order that mixes blocks.
sed -i '0,/bar.sync/{/bar.sync/d}' triton/locked_sum_sm_90.ptx
try "$program" emulate triton/locked_sum_sm_90.json
check 'what needs an order is not found in the plain one' equal "$status" 0
try "$program" emulate triton/locked_sum_sm_90.json --schedules 20
check 'but in a drawn one' equal "$status" 1
check 'which is named, with the fewest blocks' contains "$err" '3 of its 6 blocks alone: --schedule 16 --only 3,4,5'
try "$program" emulate triton/locked_sum_sm_90.json --schedule 16 --only 3,4,5
check 'and shows it again' equal "$status" 1

# A file of one kernel that says how many threads it has needs neither --kernel nor --block.
triad=("$program" emulate triton/scale_add_sm_80.ptx --device a100 --grid 4)
arguments=(--arg 'f32[1000]=ones' --arg 'f32[1000]=iota' --arg 'out:f32[1000]' --arg f32=2 --arg i32=1000)
arguments+=(--arg u64=0 --arg u64=0)
try "${triad[@]}" "${arguments[@]}"
check 'PTX with .reqntid' contains "$out" 'min 2  max 1001'

# What a launch file may say beyond the command line.
cat >sum.ptx <<'PTX'
.version 7.8
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 table, .param .u64 out, .param .align 4 .b8 pair[8]) {
  .reg .b32 %r<9>;
  .reg .b64 %d<9>;
  ld.param.b64 %d1, [table];
  ld.param.b64 %d2, [out];
  ld.global.b64 %d3, [%d1 + 8];
  ld.global.b32 {%r1}, [%d3];
  ld.param.b32 %r2, [pair + 4];
  add.s32 %r3, %r1, %r2;
  st.global.b32 [%d2], {%r3};
  ret;
}
PTX
printf '%s\n' '{"file": "sum.ptx", "block": [1], "buffers": {
  "x": {"dtype": "i32", "shape": [4, 2], "fill": "iota"},
  "table": {"dtype": "u64", "shape": [2], "fill": "zeros", "addresses": [{"element": 1, "buffer": "x", "offset": 20}]},
  "out": {"dtype": "i32", "shape": [2], "fill": "zeros", "save": "sum.npy"}},
 "args": [{"buffer": "table"}, {"buffer": "out", "offset": 4}, "struct:i32[2]=value:30"]}' >sum.json
try "$program" emulate sum.json
check 'addresses in buffers, offsets, structures' contains "$out" 'min 0  max 35'
check 'one line for each output' equal "$status$(wc -l <"$out")" 01
"$program" emulate sum.json --check none --schedules 2 --device h100 >/dev/null
check 'the file is written where it says' equal "$(tail -c 8 sum.npy | od -An -i | tr -s ' ')" ' 0 35'

refused() {
  local text=$1
  shift
  try "$program" emulate "$@"
  check "exit code 2: $text" equal "$status" 2
  check "one line: $text" equal "$(wc -l <"$err")" 1
  check "what is wrong: $text" contains "$err" "$text"
}
wrong() {
  sed "$2" sum.json >wrong.json
  refused "$1" wrong.json
}
wrong "a file in the folder of the launch file" 's/"sum.ptx"/"..\/sum.ptx"/'
wrong "a file in the folder of the launch file" 's/"sum.npy"/"\/tmp\/sum.npy"/'
ln -s /tmp elsewhere
wrong "a file in the folder of the launch file" 's/"sum.npy"/"elsewhere\/sum.npy"/'
wrong "is no file in the folder" 's/"fill": "iota"/"fill": "file:elsewhere\/x.npy"/'
wrong "a .npy file that is no link" 's/"sum.npy"/"sum.sh"/'
wrong "is no file in the folder" 's/"fill": "iota"/"fill": "file:..\/x.npy"/'
wrong "there is no buffer 'y'" 's/"buffer": "out"/"buffer": "y"/'
wrong "addresses are held by buffers of i64 and u64" 's/"u64"/"u32"/'
wrong "did you mean 'block'" 's/"block"/"blok"/'
wrong "needs 'block'" 's/"block": \[1\],//'
wrong "2 arguments where the kernel has 3" 's/, "struct.*"\]/]/'
wrong "is no content" 's/"iota"/"noise"/'
refused 'a launch file says all' sum.json --grid 2
refused 'holds no launch' "$repository/tests/tools/lone"
cat sum.ptx >two.ptx
sed -e '/^\.version/d;/^\.target/d;/^\.address_size/d;s/ sum(/ sum2(/' sum.ptx >>two.ptx
refused "which of its kernels is run: 'sum, sum2'" two.ptx --block 1
refused '--block says' sum.ptx
printf '%s\n' '.version 8.8' '.target sm_100a' '.address_size 64' '.visible .entry k() {' \
  'tcgen05.wait::ld.sync.aligned;' 'ret;' '}' >newer.ptx
refused "PTX line 5: the emulator does not know 'tcgen05.wait::ld.sync.aligned'" newer.ptx --block 32
finish
