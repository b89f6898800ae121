#!/usr/bin/env bash
# A search whose kernels nodes compile, all on this machine: beside the engine, instead of it, killed in the middle, late,
# and with another NVRTC. The trials are those of a search alone. Caches are new, so that all is compiled.
set -euo pipefail
other_nvrtc=$(readlink -f "$3")
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
# shellcheck source=tests/tools/nodes/search_with_nodes.sh
. "$repository/tests/tools/nodes/search_with_nodes.sh"

small_space small.yaml
small=(--space small.yaml --seed 1 --budget 6 --no-finals)
try "$program" evolve "${small[@]}" --db alone.db --device emulator:l4
check 'alone it succeeds' equal "$status" 0
expected=$(fingerprint alone.db)

# new_cache NAME: the engine's; what is compiled there from now on.
new_cache() { export FA_TUNE_CACHE=$work/$1; }
compiled_in() { find "$work/$1" -type f 2>/dev/null | wc -l; }

new_cache beside
listen beside "${small[@]}" --jobs 1
lend c1 --device none --jobs 2
until_said beside 'node c1 has come'
lend d1 --device emulator:l4 --jobs 0
status_of "$engine"
check "beside: succeeds (its words: $(tail -n 1 beside.err))" equal "$status" 0
check 'beside: the same trials' equal "$(fingerprint beside.db)" "$expected"
check 'beside: it is told who came' contains beside.err 'node c1 has come: compiles 2 at a time, NVRTC '
check 'beside: and how many there were' contains beside.err '3 compilers: '
check 'beside: the engine keeps what they compile' test "$(compiled_in beside)" -ge 6
status_of "$lent"
check 'beside: the node ends with it' equal "$status" 0

# Nobody compiles at first; then two nodes do, of which one is killed while it is at some sources.
new_cache instead
listen instead "${small[@]}" --jobs 0
lend d1 --device emulator:l4 --jobs 0
until_said instead 'nobody compiles yet'
lend c2 --device none --jobs 1
lend c1 --device none --jobs 4
until_said instead 'node c1 has come'
until_trials instead.db 1
kill -KILL "$lent"
status_of "$engine"
check "instead: succeeds (its words: $(tail -n 1 instead.err))" equal "$status" 0
check 'instead: the same trials' equal "$(fingerprint instead.db)" "$expected"
check 'instead: the loss is told' contains instead.err 'the compilers of node c1 are gone: '
check 'instead: no kernel is charged' equal \
  "$(sql instead.db "SELECT count(*) FROM trials WHERE finding = 'compile_error'")" \
  "$(sql alone.db "SELECT count(*) FROM trials WHERE finding = 'compile_error'")"

# The last one is killed. None comes: it can be resumed, by a node again, and by the engine.
new_cache over
listen over "${small[@]}" --jobs 0 --grace 1
lend d1 --device emulator:l4 --jobs 0
lend c1 --device none --jobs 1
until_trials over.db 2
kill -KILL "$lent"
status_of "$engine"
check "none comes: ends with 3 (its words: $(tail -n 1 over.err))" equal "$status" 3
check 'none comes: told' contains over.err 'no compiler is left; waits for a node that compiles, at most 1 s'
check 'none comes: the way on is told' contains over.err '--resume 1 --listen 127.0.0.1:0 --key key --jobs 0'
listen over --resume 1 --no-finals --jobs 0
lend d1 --device emulator:l4 --jobs 1
status_of "$engine"
check "none comes: resumed it succeeds (its words: $(tail -n 1 over.err))" equal "$status" 0
check 'none comes: the same trials' equal "$(fingerprint over.db)" "$expected"

# Another NVRTC compiles nothing; the devices beside it are welcome. So are those of a node that has none.
export FA_TUNE_CACHE=$compiled
listen guarded "${small[@]}"
FA_TUNE_NVRTC=$other_nvrtc try "$program" node --connect "$where" --key key --name o1 --device none
check 'another NVRTC: refused' equal "$status" 2
check 'another NVRTC: both are named' contains "$err" 'it has NVRTC 99.1 and the search has NVRTC 1'
check 'another NVRTC: told to the engine too' contains guarded.err "node o1's compiling is refused: it has NVRTC 99.1"
FA_TUNE_NVRTC=$other_nvrtc lend o2 --device emulator:l4 --jobs 1
status_of "$engine"
check "another NVRTC: its device is used (its words: $(tail -n 1 guarded.err))" equal "$status" 0
check 'another NVRTC: the same trials' equal "$(fingerprint guarded.db)" "$expected"
check 'another NVRTC: told on the node' contains o2.err 'compiling is refused: it has NVRTC 99.1'

FA_TUNE_NVRTC=/no/such/nvrtc.so try "$program" node --connect "$where" --key key --device none --wait 0
check 'no NVRTC and no device: ends with 3' equal "$status" 3
FA_TUNE_NVRTC=/no/such/nvrtc.so try "$program" node --connect "$where" --key key --device emulator:l4 --wait 0 --jobs 1
check 'no NVRTC: told in a line' equal "$(grep -c 'this node does not compile: ' "$err")" 1
try "$program" node --connect "$where" --key key --device none --jobs 0
check 'nothing to lend: refused' equal "$status" 2
try "$program" evolve "${small[@]}" --db x.db --device emulator:l4 --jobs 0
check '--jobs 0 without nodes: refused' equal "$status" 2
check '--jobs 0 without nodes: told' contains "$err" '--jobs 0 needs --listen'
finish
