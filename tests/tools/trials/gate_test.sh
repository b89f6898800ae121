#!/usr/bin/env bash
# `gate selftest` and `bench` from the outside.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

selftest=(gate selftest --space l4 --device emulator:l4 --variants 1)
try "$program" "${selftest[@]}" --faults 2
check 'faults are killed' equal "$status" 0
check 'and counted' contains "$out" 'killed 2 of 2 ('
check 'correct kernels pass' contains "$out" 'failed 0 of '
try "$program" "${selftest[@]}" --faults 1 --format json
check 'as JSON' equal "$(python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["passed"], d["variants"])' <"$out")" \
  "True {'count': 1, 'passed': 1}"

try "$program" gate selftest --space h100_fp8 --device emulator:h100 --variants 0
check 'a space with one length, where the faults have two' contains "$out" 'killed 2 of 2 ('
try "$program" gate selftest --space h100_gqa --device emulator:h100 --variants 0 --faults 3
check 'a space with heads in groups, where the faults have two' contains "$out" 'killed 3 of 3 ('

# A root whose one fault is none: it survives, and that is told.
mkdir other
cp -r "$repository/kernel_templates" "$repository/search_spaces" other/
cat >other/kernel_templates/attention/faults/scalar.yaml <<'EOF'
problem: {shape: {B: 1, H: 1, Lq: 32, Lk: 32}, causal: false, dtype: fp16}
base: {BLOCK_M: 8, BLOCK_N: 32, WARPS: 4}
faults:
  - {name: a change of nothing, kind: none, change: [{from: "constexpr int kRows = ", to: "constexpr int kRows = 0 + "}]}
EOF
rm other/kernel_templates/attention/faults/mma.yaml
FA_TUNE_ROOT=$PWD/other try "$program" gate selftest --space l4 --device emulator:l4 --variants 0
check 'a fault that survives' equal "$status" 1
check 'is named' contains "$out" 'SURVIVED  scalar'
check 'and counted as such' contains "$out" 'killed 0 of 1 (0 of 1 planted faults'
sed -i 's/kRows = "/kRows == "/' other/kernel_templates/attention/faults/scalar.yaml
FA_TUNE_ROOT=$PWD/other try "$program" gate selftest --space l4 --device emulator:l4 --variants 0
check 'a fault whose place has moved' equal "$status" 2
check 'is told with its line' contains "$err" 'scalar.yaml:4:5: '

small_space small.yaml
try "$program" bench fa2 fa2 --space small.yaml --device emulator:l4 --seed 3
check 'the same kernel twice' equal "$status" 0
check 'ties' contains "$out" 'preset fa2 against preset fa2: tie, 1.0000'
check 'as a prediction' contains "$out" 'nothing was measured'
try "$program" bench fa2 nothing --space small.yaml --device emulator:l4
check 'what names no kernel' equal "$status" 2
check 'is answered with what does' contains "$err" 'a preset of the space: fa2'
finish
