#!/usr/bin/env bash
# What the program says on standard error beside errors: as much as it is asked for, and never on
# standard output.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

try "$program" doctor --fault-points
check 'by itself a command does not talk of itself' equal "$(cat "$err")" ''
plain=$(cat "$out")
for words in '-v doctor --fault-points' 'doctor -v --fault-points' 'doctor --fault-points --verbose' \
  'doctor --fault-points --log-level debug' '--log-level=DEBUG doctor --fault-points'; do
  # shellcheck disable=SC2086 # words
  try "$program" $words
  check "it is taken: $words" equal "$status" 0
  check "and says more: $words" contains "$err" 'command: '
  check "on standard error alone: $words" equal "$(cat "$out")" "$plain"
done
try "$program" space -v check "$repository/search_spaces/softmax.yaml"
check 'commands of commands take it too' contains "$err" 'command: space -v check'
try "$program" doctor --log-level loud
check 'a level that is none is refused' equal "$status" 2
check 'by its name' contains "$err" '--log-level'
try "$program" doctor -v --log-level info
check 'and so are two' equal "$status" 2

# What a search says for a person is left out from warning on.
small_space small.yaml
search=(evolve --space small.yaml --db fa.db --device emulator:l4 --budget 2 --seed 3 --no-finals)
try "$program" "${search[@]}"
check 'a search talks' test -s "$err"
talk=$(wc -l <"$err")
try "$program" "${search[@]}" --log-level warning
check 'a search succeeds in silence' equal "$status" 0
check 'and says less' test "$(wc -l <"$err")" -lt "$talk"
finish
