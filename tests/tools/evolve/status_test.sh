#!/usr/bin/env bash
# `fa-tune status` of a search while it runs with nodes, after one of them was killed, after the search itself was, and
# when it is over. It is asked all the time, which disturbs nothing.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

small_space small.yaml
fingerprint() { "$program" db check "$1" | sed -n 's/.*fingerprint \([0-9a-f]\{64\}\)$/\1/p'; }
all=()
trap 'kill -KILL "${all[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

try "$program" status --db none.db
check 'no database: refused' equal "$status" 2
small=(--space small.yaml --seed 1 --budget 24 --no-finals)
try "$program" evolve "${small[@]}" --db whole.db --device emulator:l4
check 'a search succeeds' equal "$status" 0
try "$program" status --db whole.db --run 7
check 'no such run: refused' equal "$status" 2
check 'no such run: told' contains "$err" 'there is no run 7'
try "$program" status --db whole.db --format xml
check 'no such format: refused' equal "$status" 2
try "$program" status --db whole.db
check 'of one that is over' equal "$status" 0
check 'it is done, as far as it was to go' contains "$out" '24 of 24: 24 passed, 0 failed, 0 duplicate'
check 'its device is released' contains "$out" 'emulator:l4  released      24'

# A search that lasts until it is killed, with two nodes.
"$program" evolve --space small.yaml --seed 1 --budget 1h --no-finals --db fa.db --listen 127.0.0.1:0 --key key \
  >fa.out 2>fa.err &
engine=$!
all+=("$engine")
where=
for ((i = 0; i < 400; ++i)); do
  where=$(sed -n 's/.*--connect \([0-9.:]*\) .*/\1/p' fa.err 2>/dev/null || true)
  [ -z "$where" ] || break
  sleep 0.05
done
for name in n1 n2; do
  "$program" node --connect "$where" --key key --name "$name" --device emulator:l4 --wait 1 >"$name.out" 2>"$name.err" &
  all+=($!)
done
second=${all[-1]}

# until_status TEXT: while the search goes on, at most a minute.
until_status() {
  local i
  for ((i = 0; i < 600; ++i)); do
    kill -0 "$engine" 2>/dev/null || return 0
    try "$program" status --db fa.db
    if grep -qF -- "$1" "$out"; then return 0; fi
    sleep 0.1
  done
}
until_status '2 on 2 nodes'
check 'both nodes are told' contains "$out" '2 on 2 nodes'
check 'and who works on it' contains "$out" "running (process $engine)"
while [ "$(trials_in fa.db)" -lt 12 ]; do sleep 0.1; done
kill -KILL "$second"
until_status '1 lost'
check 'the lost one is told' contains "$out" '1 on 1 node:'
check 'with the reason' contains "$out" 'ago: node n2 is gone'
check 'a page is as wide as a page' equal "$(awk 'length > 100' "$out")" ''
check 'the time that is left is told' contains "$out" 'of the search'
try "$program" status --db fa.db --format json
cat >look.py <<'E2'
import json, sys
status = json.load(open(sys.argv[1]))
assert list(status) == ("run standing phase waits_for step budget trials search_s per_second per_second_recently "
                        "left_s best devices").split(), list(status)
assert status["phase"] == "search" and status["budget"] == {"trials": None, "seconds": 3600}, status
assert 0 < status["left_s"] < 3600 and status["trials"]["all"] >= 12 and status["best"]["time_us"] > 0, status
assert status["per_second"] > 0 and status["per_second_recently"] > 0, status
devices = {device["device"]: device for device in status["devices"]}
assert sorted(devices) == ["n1/emulator:l4", "n2/emulator:l4"], devices
assert devices["n2/emulator:l4"]["state"] == "lost" and "gone" in devices["n2/emulator:l4"]["why"], devices
assert devices["n1/emulator:l4"]["state"] in ("working", "idle") and devices["n1/emulator:l4"]["trials"] > 0, devices
E2
check 'the same as JSON' python3 look.py "$out"

# Killed: what it wrote last is what it was at.
while :; do
  try "$program" status --db fa.db
  if grep -q 'n1/emulator:l4 *working' "$out" || ! kill -0 "$engine" 2>/dev/null; then break; fi
done
kill -KILL "$engine"
wait "$engine" || true
try "$program" status --db fa.db
check 'a search that was killed says so' contains "$out" 'killed: the process that worked on it ended without a word'
check 'and how it goes on' contains "$out" 'evolve --db fa.db --resume 1 --listen HOST:PORT --key FILE'
check 'and what was lost before' contains "$out" 'node n2 is gone'
check 'it waits for nothing any more' lacks "$out" 'waits for'
try "$program" status --db fa.db --format json
check 'the same as JSON' contains "$out" '"standing": "killed"'

# Asked all the time, a search goes on as if nobody asked.
"$program" evolve "${small[@]}" --db asked.db --device emulator:l4*2 >asked.out 2>asked.err &
engine=$!
all+=("$engine")
asked=0
while kill -0 "$engine" 2>/dev/null; do
  try "$program" status --db asked.db
  # The file is there a moment before its schema is.
  [ "$status" -ne 0 ] || asked=$((asked + 1))
done
status=0
wait "$engine" || status=$?
check "asked all the time: succeeds (its words: $(tail -n 1 asked.err))" equal "$status" 0
check 'asked all the time: it was' test "$asked" -ge 5
check 'asked all the time: the same trials' equal "$(fingerprint asked.db)" "$(fingerprint whole.db)"
finish
