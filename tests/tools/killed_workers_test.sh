#!/usr/bin/env bash
# Workers that somebody else kills, as a system does that is short of memory: 200 of them, every 0.1 s and at
# random. No kernel is charged with it, and the run's trials are those of an undisturbed one.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/cli.sh"

small_space small.yaml
scale_space
fingerprint() { "$program" db check "$1" | sed -n 's/.*run 1.* \([0-9a-f]\{64\}\).*/\1/p'; }

kills=0
# Kills one of the workers of process $1, any of them, if there is one.
kill_one() {
  local workers
  mapfile -t workers < <(pgrep --parent "$1" || true)
  if [ ${#workers[@]} -eq 0 ]; then return; fi
  if kill -9 "${workers[RANDOM % ${#workers[@]}]}" 2>/dev/null; then kills=$((kills + 1)); fi
}

# disturbed DB UNTIL SPACE...: a search whose workers are killed until there have been UNTIL kills.
disturbed() {
  local db=$1 until=$2 engine
  shift 2
  "$program" evolve "$@" --db "$db" >"$db.out" 2>"$db.err" &
  engine=$!
  while kill -0 "$engine" 2>/dev/null; do
    if [ "$kills" -lt "$until" ]; then
      sleep "$pause"
      if [ "$pause" != 0.1 ]; then pause=0.$((RANDOM % 25 + 1)); fi
      kill_one "$engine"
    else
      sleep 0.1
    fi
  done
  wait "$engine" && status=0 || status=$?
}

hold() { # NAME PAUSE UNTIL SEARCH...
  local name=$1
  pause=$2
  local until=$3 round=0
  shift 3
  "$program" evolve "$@" --db "$name.db" >"$name.out" 2>"$name.err"
  local expected
  expected=$(fingerprint "$name.db")
  check "$name: a fingerprint" is_not equal "$expected" ''
  while [ "$kills" -lt "$until" ] && [ "$round" -lt 20 ]; do
    round=$((round + 1))
    disturbed "$name$round.db" "$until" "$@"
    check "$name: round $round ends as ever" equal "$status" 0
    check "$name: round $round, the same trials" equal "$(fingerprint "$name$round.db")" "$expected"
    check "$name: round $round, nothing is charged" is_not grep -qE 'crash|killed' "$name$round.out"
  done
}
