#!/usr/bin/env bash
# A search that is killed again and again, without a chance to tidy up, comes to the very trials that
# it comes to when left alone. It is killed six times, or 200 times where FA_TUNE_THOROUGH is set.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

if [ -n "${FA_TUNE_THOROUGH:-}" ]; then wanted_kills=200; else wanted_kills=6; fi
trials=$((6 * wanted_kills))
# No kill lets the search get on by more trials than this and what it does between two looks, so that
# all kills land before it is done, also on a machine that is faster than this test knows.
most_a_kill=4
seed=5
small_space small.yaml
# One compiler thread and a cache of its own: compiling makes the search slow enough to be hit, also
# while it writes to the cache.
export FA_TUNE_CACHE=$work/cache
common=(--device emulator:l4 --budget "$trials" --jobs 1)

ask() { sql killed.db "$1" 2>/dev/null || true; }
# What was under way at a kill is tried once more; a second death in it would count as the kernel's.
died_twice() {
  ask 'SELECT count(*) FROM attempts a WHERE attempt > 1 AND NOT EXISTS
    (SELECT 1 FROM trials t WHERE t.run = a.run AND t.number = a.number)'
}

# Pauses in steps of 20 ms, the same each time; where they hit depends on the machine. Every other kill
# comes only when the search has got on, or all would hit its first trials.
RANDOM=$seed
kills=0 rounds=0 moments=
while [ "$kills" -lt "$wanted_kills" ] && [ "$rounds" -lt $((10 * wanted_kills)) ]; do
  rounds=$((rounds + 1))
  if [ -z "$(ask 'SELECT id FROM runs')" ]; then
    how=(--space small.yaml --seed "$seed")
  else
    how=(--resume 1)
  fi
  pause=$((5 + RANDOM % 45))
  before=$(trials_in killed.db)
  "$program" evolve --db killed.db "${how[@]}" "${common[@]}" >"$work/log" 2>&1 &
  search=$!
  goal=$((kills % 2 == 0 ? 0 : before + 2))
  while [ "$(died_twice)" = 1 ] || { [ "$rounds" -gt 1 ] && [ -z "$(ask 'SELECT id FROM runs')" ]; } ||
    [ "$(trials_in killed.db)" -lt "$goal" ]; do
    kill -0 "$search" 2>/dev/null || break
    sleep 0.02
  done
  while [ "$pause" -gt 0 ] && [ "$(trials_in killed.db)" -lt $((before + most_a_kill)) ]; do
    pause=$((pause - 1))
    sleep 0.02
  done
  kill -KILL "$search" 2>/dev/null || true
  died=0
  wait "$search" 2>/dev/null || died=$?
  if [ "$died" = 0 ]; then break; fi # it was done before
  check 'it ends by the kill and nothing else' equal "$died$(grep '^fa-tune: ' "$work/log")" 137
  if [ -n "$(ask 'SELECT id FROM runs')" ]; then
    kills=$((kills + 1))
    moments+=" $(trials_in killed.db)"
    check 'the run is still called running' equal "$(ask 'SELECT state FROM runs')" running
    check 'and told to be killed' test "$("$program" db check killed.db | awk '$1 == "run" { print $3 }')" = killed
    check 'the file is sound' equal "$(ask 'PRAGMA integrity_check')" ok
  fi
done
check 'as many kills landed as were wanted' equal "$kills" "$wanted_kills"

# Ctrl-C, which lets it tidy up.
stop_early INT killed.db --resume 1 "${common[@]}"
check 'nothing but the database is left' equal "$(ls)" "$(printf 'killed.db\nsmall.yaml')"
check 'an interrupt exits with 130' equal "$stopped" 130
check 'the run is called interrupted' equal "$(ask 'SELECT state FROM runs')" interrupted
check 'before it is done' test "$(trials_in killed.db)" -lt "$trials"
check 'and the way on is told' contains "$work/words" \
  'fa-tune evolve --db killed.db --device emulator:l4 --resume 1'

try "$program" evolve --db killed.db --resume 1 "${common[@]}"
check 'then it comes to its end' equal "$status" 0
check 'the run is done' equal "$(ask 'SELECT state FROM runs')" 'done'
check 'there is one run' equal "$(ask 'SELECT count(*) FROM runs')" 1
check 'the file is sound at the end' equal "$(ask 'PRAGMA integrity_check')" ok
check 'and its references hold' equal "$(ask 'PRAGMA foreign_key_check')" ''
check 'numbers run from 1 without a gap' equal \
  "$(ask 'SELECT count(*), min(number), max(number), count(DISTINCT number) FROM trials')" \
  "$trials|1|$trials|$trials"
twice=$(ask 'SELECT count(*) - count(DISTINCT config) FROM trials')
check 'no config is tried twice' equal "$twice" 0
# An entry is a line, the digest of the rest, and the rest; one that a kill left has another name.
cut_entries() {
  local entry
  find "$work/cache" -type f -regextype posix-extended -regex '.*/[0-9a-f]{2}/[0-9a-f]{62}' >"$work/entries"
  while read -r entry; do
    [ "$(tail -n +2 "$entry" | head -c 64)" = "$(tail -n +2 "$entry" | tail -c +65 | sha256sum | head -c 64)" ] ||
      echo "$entry"
  done <"$work/entries"
}
check 'no cache entry is half written' equal "$(cut_entries)" ''
check 'and there are entries' test -s "$work/entries"

# Left alone, with the cache that the killed search left behind.
try "$program" evolve --space small.yaml --seed "$seed" --db whole.db --device emulator:l4 \
  --budget "$trials"
check 'the search left alone succeeds' equal "$status" 0
columns='number, config, operation, stage, outcome, finding, message, source_hash, code_hash, screen_us,
  final_us, worst_ratio, (SELECT p.number FROM NAME.lineage_edges e JOIN NAME.trials p ON p.id = e.parent
  WHERE e.trial = t.id AND ordinal = 0)'
rows() { echo "SELECT ${columns//NAME/$1} FROM $1.trials t"; }
lost=$(ask "ATTACH 'whole.db' AS whole; $(rows whole) EXCEPT $(rows main)")
gained=$(ask "ATTACH 'whole.db' AS whole; $(rows main) EXCEPT $(rows whole)")
check 'nothing is missing' equal "$lost" ''
check 'nothing is there besides' equal "$gained" ''
check 'the comparison compares something' equal \
  "$(ask "ATTACH 'whole.db' AS whole; SELECT count(*) FROM ($(rows whole) INTERSECT $(rows main))")" \
  "$trials"

echo "killed with$moments trials recorded"
echo "$kills kills, $trials trials, $(grep -c . <<<"$lost" || true) lost, $twice twice"
finish
