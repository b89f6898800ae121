#!/usr/bin/env bash
# `fa-tune check` from the command line, on the emulator: what it passes, and what it finds worse.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

"$program" evolve --space softmax --set sizes.rows=16 --set sizes.columns=512 --db fa.db --device emulator:h100 \
  --budget 2 >search.txt 2>&1
mkdir kernels
"$program" export --db fa.db --trial 2 --out kernels/softmax.cu 2>/dev/null
"$program" export --db fa.db --trial 1 --out slow.cu 2>/dev/null

try "$program" check --write --baseline kernels/base.json kernels/softmax.cu --device emulator:h100
check 'a baseline is written' equal "$status" 0
check 'and nothing is data' equal "$(wc -c <"$out")" 0

try "$program" check --baseline kernels/base.json --device emulator:h100
check 'a kernel passes beside itself' equal "$status" 0
check 'and is told so' contains "$out" 'softmax.cu: ok'
check 'its time is called predicted' contains "$out" 'us predicted'

cp kernels/softmax.cu right.cu
cp slow.cu kernels/softmax.cu
try "$program" check --baseline kernels/base.json --device emulator:h100 --format json
check 'a slower one does not' equal "$status" 1
cp "$out" found.json
cat >look.py <<'E2'
import json

found = json.load(open("found.json"))
assert list(found) == "baseline device kind seed allow_percent passed kernels".split(), list(found)
(row,) = found["kernels"]
keys = "file regressions time_us baseline_us baseline_us_then ratio registers registers_then spill_bytes spill_bytes_then"
assert list(row) == keys.split(), list(row)
assert not found["passed"] and row["file"] == "softmax.cu"
assert row["regressions"][0]["what"] == "time", row
assert abs(row["ratio"]["median"] - row["time_us"]["median"] / row["baseline_us"]["median"]) < 1e-9
assert row["baseline_us"]["median"] == row["baseline_us_then"]["median"], "predictions do not change"
E2
try python3 look.py
check 'the JSON says why' equal "$status$(tail -n 1 "$err")" 0
try "$program" check --baseline kernels/base.json --device emulator:h100 --allow 900
check 'unless so much is allowed' lacks "$out" 'of the baseline'"'"'s time'

sed 's/factor = 1 \/ sum_over_row(sum)/factor = 1.01f \/ sum_over_row(sum)/' right.cu >kernels/softmax.cu
check 'the kernel is edited' is_not cmp -s right.cu kernels/softmax.cu
try "$program" check --baseline kernels/base.json --device emulator:h100
check 'neither does a wrong one' equal "$status" 1
check 'and the gate says what is wrong' contains "$out" 'REGRESSED: kernels/softmax.cu is not correct: wrong'

# More registers than the baseline tells of.
cp right.cu kernels/softmax.cu
sed 's/"registers": [0-9]*/"registers": 8/' kernels/base.json >kernels/lean.json
try "$program" check --baseline kernels/lean.json --device emulator:h100
check 'more registers count too' equal "$status" 1
check 'and are told' contains "$out" 'the baseline 8'

try "$program" check --write --baseline kernels/base.json --device emulator:h100
check 'a baseline is written anew of its own files' equal "$status" 0
try "$program" check --baseline kernels/base.json --device emulator:a100
check 'another machine is the user'"'"'s slip' equal "$status" 2
check 'and both are named' contains "$err" 'was measured on emulated NVIDIA H100'
echo '{}' >broken.json
try "$program" check --baseline broken.json --device emulator:h100
check 'so is what is no baseline' equal "$status" 2
check 'and how to make one is told' contains "$err" 'check --write --baseline broken.json'

finish
