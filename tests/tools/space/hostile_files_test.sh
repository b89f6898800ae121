#!/usr/bin/env bash
# What the program says to files of strangers, how long that takes and in what memory: hostile_files.py.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

command -v python3 >/dev/null || skip 'there is no python3'
scale_space
emulator=(--device emulator:l4 --log-level error)
check 'a run to begin with' "$program" evolve --space scale.yaml --budget 2 --no-finals --db good.db "${emulator[@]}" \
  >/dev/null 2>&1
check 'an export to begin with' "$program" export --db good.db --out good.cu --log-level error
check 'a baseline to begin with' "$program" check --write --baseline baseline.json good.cu --processes 2 "${emulator[@]}" \
  >/dev/null
check 'files of strangers' python3 "$repository/tests/tools/space/hostile_files.py" "$program" "$PWD" \
  "$repository/tests/fuzz/corpus"

# Where there is less memory than what a file may take.
python3 -c 'import gzip, sys
sys.stdout.buffer.write(gzip.compress(b" " * (1 << 20)) * 200)' >large.json.gz
# shellcheck disable=SC2317 # try calls it
little() { (ulimit -v 300000 && "$program" replay large.json.gz --strategy random --seeds 1); }
try little
check 'too little memory is the machine'"'"'s fault' equal "$status" 3
check 'in one line' equal "$(wc -l <"$err")" 1
check 'that says so' contains "$err" 'out of memory'
finish
