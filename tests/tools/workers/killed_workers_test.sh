#!/usr/bin/env bash
# Workers that somebody else kills, as a system does that is short of memory: 30 of them, or 200 where
# FA_TUNE_THOROUGH is set, every 0.1 s and at random moments; and workers that are stopped and left so. No kernel
# is charged with it, and the trials are those of an undisturbed search.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

# Compilers are to be hit too.
export FA_TUNE_CACHE=$work/cache
small_space small.yaml
scale_space
fingerprint() { "$program" db check "$1" | sed -n 's/.*fingerprint \([0-9a-f]\{64\}\)$/\1/p'; }

# kill_one ENGINE: any of its workers.
kills=0
kill_one() {
  local workers
  mapfile -t workers < <(pgrep --parent "$1" || true)
  if [ ${#workers[@]} -eq 0 ]; then return; fi
  if kill -KILL "${workers[RANDOM % ${#workers[@]}]}" 2>/dev/null; then kills=$((kills + 1)); fi
}

# disturbed DB PAUSE UNTIL SEARCH...: as long as it goes on and there have been fewer kills than UNTIL.
disturbed() {
  local db=$1 pause=$2 until=$3 engine
  shift 3
  rm -rf "$FA_TUNE_CACHE"
  "$program" evolve "$@" --db "$db" >"$work/out" 2>"$work/err" &
  engine=$!
  while kill -0 "$engine" 2>/dev/null; do
    if [ "$pause" = random ]; then sleep "0.$((RANDOM % 3))$((RANDOM % 10))"; else sleep "$pause"; fi
    if [ "$kills" -lt "$until" ]; then kill_one "$engine"; fi
  done
  status=0
  wait "$engine" || status=$?
}

# hold NAME PAUSE KILLS SEARCH...: searches until so many workers have been killed.
hold() {
  local name=$1 pause=$2 until=$((kills + $3)) round=0 expected
  shift 3
  try "$program" evolve "$@" --db "$name.db"
  check "$name: left alone it succeeds" equal "$status" 0
  expected=$(fingerprint "$name.db")
  while [ "$kills" -lt "$until" ] && [ "$round" -lt 40 ]; do
    round=$((round + 1))
    disturbed "$name$round.db" "$pause" "$until" "$@"
    check "$name, round $round: succeeds (its words: $(tail -n 1 "$work/err"))" equal "$status" 0
    check "$name, round $round: the same trials" equal "$(fingerprint "$name$round.db")" "$expected"
    check "$name, round $round: no kernel is charged" equal \
      "$(sql "$name$round.db" "SELECT count(*) FROM trials WHERE finding IN ('crash', 'hang')")" 0
  done
  check "$name: there is a fingerprint" test -n "$expected"
  check "$name: as many kills as were wanted" equal "$kills" "$until"
  echo "$name: $round searches"
}

RANDOM=7
# The kills of a usual run end long before finals would begin.
if [ -n "${FA_TUNE_THOROUGH:-}" ]; then kills_each=100 trials=60 finals=(); else kills_each=15 trials=12 finals=(--no-finals); fi
search=(--space small.yaml --seed 1 --budget "$trials" "${finals[@]}" --device 'emulator:l4*2')
hold regular 0.1 "$kills_each" "${search[@]}"
hold random random "$kills_each" --space scale.yaml --seed 1 --budget 12 --device emulator:l4
echo "$kills workers were killed"

# All workers that there are, once: none would answer before its deadline of half an hour.
regular=$(fingerprint regular.db)
rm -rf "$FA_TUNE_CACHE"
"$program" evolve "${search[@]}" --db stopped.db >"$work/out" 2>"$work/err" &
engine=$!
for ((i = 0; i < 600; ++i)); do
  [ "$(trials_in stopped.db)" -gt 3 ] && break
  sleep 0.1
done
mapfile -t workers < <(pgrep --parent "$engine")
kill -STOP "${workers[@]}"
status=0
wait "$engine" || status=$?
check "stopped: succeeds (its words: $(tail -n 1 "$work/err"))" equal "$status" 0
check 'stopped: said' contains "$work/err" 'a worker was stopped by a signal, and not by fa-tune'
check 'stopped: the same trials' equal "$(fingerprint stopped.db)" "$regular"
check 'stopped: none is left' equal "$(for each in "${workers[@]}"; do [ ! -e "/proc/$each" ] || echo "$each"; done)" ''
finish
