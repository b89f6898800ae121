#!/usr/bin/env bash
# What a second tuning names: the pick of the first, unless something better is known.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
export FA_TUNE=$program
bench=$repository/tools/bench/portfolio/picks
key='reduction n=1048576'
tune() { try "$bench" tune "$@" --device emulator:h100 --trials 4 --out out --only "$key"; }
held() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["keys"][sys.argv[2]][sys.argv[3]]["trial"])' "out/$1.json" "$key" "$2"; }

tune first --seed 1 --limit 0.001
check 'what would not end in time is not begun' equal "$status$(grep -c 'the time is over' "$err")" 01
tune first --seed 1
check 'the same words go on' equal "$status$(grep -c tunes "$err")" 01
tune first --seed 1
check 'nothing is tuned twice' equal "$status$(grep -c tunes "$err")" 00
tune first --seed 2
check 'a name is of one set of words' equal "$status$(grep -c 'is of other words' "$err")" 11
tune second --seed 2 --onto first
check 'a second tuning goes on from the first' contains "$err" 'tunes reduction'
try "$bench" race first second --device emulator:h100 --out out
check 'the race tells' equal "$status" 0
check 'of each key' contains out/races.txt 'second beside first, 1 keys:'
check 'what the runs alone name is told' equal "$(grep -c 'the runs alone name the same kernel for [01]$' out/races.txt)" 1
check 'what ties is not named anew' contains out/races.txt ' 0 slower, 0 a tie'
# The first one's pick is among the second run's trials, whatever the seed asks for.
pick=$(held first held)
config=$(sql out/second.db "SELECT config FROM trials WHERE id = $pick")
check 'the pick is tried again' equal \
  "$(sql out/second.db "SELECT count(*) FROM trials WHERE run = 2 AND config = '$config'")" 1
try "$program" best --db out/second.db --stable --run 1 --format json
check 'a run has a pick of its own' contains "$out" "\"trial\": $pick,"
try "$bench" tune one two
check 'one at a time is tuned' equal "$status$(grep -c 'tune takes one name' "$err")" 21
try "$bench" tune first --only nothing
check 'an unknown key is named, and what there is' equal "$status$(grep -c "'nothing'.*argmax" "$err")" 11

# Two databases of which neither knows the other.
tune alone --seed 5
try "$bench" race first alone --device emulator:h100 --out out
check 'databases are joined for a race' equal "$status" 0
check 'both races are kept' equal "$(grep -c ' beside first, 1 keys' out/races.txt)" 2
finish
