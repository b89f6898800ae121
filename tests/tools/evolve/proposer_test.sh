#!/usr/bin/env bash
# A search with an outside proposer from the command line: what is kept, that a run which was stopped
# comes to the same end, and that no command is run that the user did not type.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

small_space small.yaml
random="python3 '$repository/tools/proposers/uniform.py'"
search=(evolve --space small.yaml --device emulator:l4 --budget 16 --seed 3 --no-finals
  --proposer "$random")

try "$program" "${search[@]}" --db fa.db
check 'a search with a proposer succeeds' equal "$status" 0
check 'it has half of the first generation' equal \
  "$(sql fa.db "SELECT count(*) FROM trials WHERE operation = 'proposer:random'")" 8
check 'all that it got in is in the transcript' equal "$(sql fa.db "SELECT count(*)
  FROM trials WHERE operation = 'proposer:random' AND config NOT IN
  (SELECT json_extract(value, '\$.genome') FROM proposer_messages, json_each(text, '\$.items')
  WHERE direction = 'taken')")" 0
check 'the whole talk is there' equal "$(sql fa.db "SELECT group_concat(type) FROM (SELECT
  iif(json_valid(text), text ->> 'type', NULL) AS type FROM proposer_messages
  WHERE direction IN ('sent', 'received') AND type <> 'refused' GROUP BY type ORDER BY min(seq))")" \
  hello,ask,ready,propose,tell,bye
check 'nobody is told a secret' equal "$(sql fa.db "SELECT count(*) FROM proposer_messages
  WHERE text LIKE '%proposers/uniform.py%'")" 0

# Stopped in its first generation, and once more: its proposals are not asked for again.
options=("${search[@]:1}")
stop_early TERM part.db "${options[@]}"
check 'a stopped search says so' equal "$stopped" 130
check 'and how to go on' contains "$work/words" "--resume 1 --proposer '...'"
stop_early TERM part.db --resume 1 --device emulator:l4 --proposer "$random"
try "$program" evolve --db part.db --resume 1 --device emulator:l4 --no-finals --proposer "$random"
check 'it goes on' equal "$status" 0
rows='SELECT number, config, operation, outcome, screen_us FROM trials'
check 'to the same end' equal "$(sql part.db "$rows")" "$(sql fa.db "$rows")"

try "$program" evolve --db part.db --resume 1 --device emulator:l4
check 'without its proposer it does not go on' equal "$status" 2
check 'as a command is never taken from a file' contains "$err" 'give --proposer again'

# A proposer that learns, and is told of trials that it did not see; its first is the fifth
# generation, asked for when the first was told.
climb="python3 '$repository/tools/proposers/hill_climb.py'"
try "$program" evolve --db fa.db --resume 1 --budget 24 --device emulator:l4 --no-finals --proposer "$climb"
check 'another proposer may take over' equal "$status" 0
check 'it steps from the trials it was told of' test "$(sql fa.db "SELECT count(*) FROM trials t
  JOIN lineage_edges e ON e.trial = t.id WHERE operation = 'proposer:hill_climb'")" -eq 4

try "$program" evolve --space small.yaml --db new.db --device emulator:l4 --proposer no_such_program
check 'a program that is not there is the user'"'"'s to mend' equal "$status" 2
check 'and named' contains "$err" "there is no program 'no_such_program' in PATH"
try "$program" evolve --space small.yaml --db new.db --device emulator:l4 --proposer "sh -c 'a"
check 'so is half a command' equal "$status" 2
check 'and no database is made' is_not test -e new.db
finish
