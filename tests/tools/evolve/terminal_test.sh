#!/usr/bin/env bash
# What a search shows on a terminal: one line that is drawn again in its place, never wider than the terminal, and gone
# or whole when the search is over. terminal.py is the terminal.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
command -v python3 >/dev/null || skip 'there is no python3'
export TERM=xterm-256color
unset NO_COLOR
scale_space
search=(evolve --space scale.yaml --device emulator:l4 --budget 4 --no-finals)

# on_terminal WIDTHS ARGUMENT...: the screen at the end is $work/screen, what was written $work/bytes.
on_terminal() {
  local widths=$1
  shift
  try python3 "$repository/tests/tools/evolve/terminal.py" "$widths" "$work/screen" "$work/bytes" "$@"
}
lines_like() { grep -cE -- "$1" "$work/screen" || true; }
# What was drawn as the live line, one drawing a line, without colors.
drawings() {
  tr '\r' '\n' <"$work/bytes" | sed -E 's/\x1b\[[0-9;]*m//g' | sed -nE 's/\x1b\[J$//p' | grep -E '[0-9]/[0-9]' || true
}
widest() { drawings | awk '{ if (length > most) most = length } END { print most + 0 }'; }

for columns in 40 80 100; do
  on_terminal "$columns" "$program" "${search[@]}" --db "$columns.db"
  check "$columns columns: the search succeeds" equal "$status" 0
  check "$columns columns: the first line is still there" equal "$(lines_like '^space scale: 6 valid')" 1
  check "$columns columns: many drawings" test "$(drawings | wc -l)" -ge 4
  check "$columns columns: none is as wide as the terminal" test "$(widest)" -lt "$columns"
  check "$columns columns: one line is left of them" equal "$(lines_like '[0-9]/4')" 1
  check "$columns columns: it is the last one" equal "$(lines_like '4/4')" 1
  check "$columns columns: the result follows" equal "$(lines_like '^best: trial')" 1
  check "$columns columns: nothing of it stands behind the line" equal "$(grep -c '4/4.*[^ -~]' "$work/screen" || true)" 0
done
check 'on a wide one there is a bar, and what is best' test "$(drawings | grep -c '\[#*-*\].*best .* us')" -ge 1
check 'what is waited for is said' test "$(drawings | grep -cE 'waits for (the device|compilers|the plain kernel)')" -ge 1
check 'and there are colors' contains "$work/bytes" $'\x1b[32m'

# A terminal that becomes narrower in the midst, and wraps what it shows.
on_terminal 100,50 "$program" "${search[@]}" --db narrower.db
check 'narrower: the search succeeds' equal "$status" 0
check 'narrower: one line is left' equal "$(lines_like '[0-9]/4')" 1
check 'narrower: no half of a bar is' equal "$(lines_like '^\[?[#-]{3,}[^/]*$')" 0
on_terminal 50,100 "$program" "${search[@]}" --db wider.db
check 'wider: one line is left' equal "$(lines_like '[0-9]/4')" 1

# Without colors, and without a terminal's arts.
NO_COLOR=1 on_terminal 80 "$program" "${search[@]}" --db plain.db
check 'NO_COLOR: the search succeeds' equal "$status" 0
check 'NO_COLOR: no colors' equal "$(grep -cE $'\x1b\\[[0-9;]*m' "$work/bytes" || true)" 0
check 'NO_COLOR: one line all the same' equal "$(lines_like '[0-9]/4')" 1
TERM=dumb on_terminal 80 "$program" "${search[@]}" --db dumb.db
check 'a dumb terminal gets no sequence' equal "$(grep -c $'\x1b' "$work/bytes" || true)" 0
check 'but lines' test "$(lines_like '^\[ *[0-9]+/4\] passed')" -ge 1
try "$program" "${search[@]}" --db pipe.db
check 'a pipe gets lines' test "$(grep -cE '^\[ +[0-9]+/4\] passed [0-9]+  failed 0  duplicate 0  best ' "$err")" -ge 1
check 'and no sequence' lacks "$err" $'\x1b'
check 'nor a carriage return' lacks "$err" $'\r'

# -q: errors and the result.
on_terminal 80 "$program" -q "${search[@]}" --db quiet.db
check 'quiet: the search succeeds' equal "$status" 0
check 'quiet: the result is the first thing said' equal "$(grep -m 1 . "$work/screen" | cut -c 1-12)" 'best: trial '
check 'quiet: and no advice' equal "$(lines_like 'next:|--db')" 0
try "$program" "${search[@]}" --quiet --db quiet.db
check 'quiet: nothing on standard error' equal "$(cat "$err")" ''
check 'quiet: the result on standard output' contains "$out" 'best: trial'
try "$program" "${search[@]}" --quiet --db /nowhere/quiet.db
check 'quiet: errors are told' contains "$err" 'fa-tune: '
try "$program" "${search[@]}" -q -v
check 'quiet and verbose is refused' equal "$status" 2

# Ctrl-C in the search and in the finals: one line, the way on, 130, and all trials are kept.
small_space small.yaml
long=(evolve --space small.yaml --device emulator:l4 --seed 4)
on_terminal 80 -i 'passed' "$program" "${long[@]}" --budget 1h --db stopped.db
check 'Ctrl-C in the search: 130' equal "$status" 130
check 'Ctrl-C in the search: one line tells' equal "$(lines_like '^stopping: ')" 1
check 'Ctrl-C in the search: the way on is told' test "$(lines_like 'Go on with')" -eq 1
check 'Ctrl-C in the search: trials are kept' test "$(trials_in stopped.db)" -ge 1
sed -i 's/  window: .*//' small.yaml # its finals take seconds then
on_terminal 80 -i 'finals: gate' "$program" "${long[@]}" --budget 2 --db finals.db
check 'Ctrl-C in the finals: 130' equal "$status" 130
check 'Ctrl-C in the finals: one line tells' equal "$(lines_like '^stopping: ')" 1
check 'Ctrl-C in the finals: the search is kept' equal "$(trials_in finals.db)" 2
check 'Ctrl-C in the finals: to be resumed' equal "$(sql finals.db 'SELECT state FROM runs')" interrupted
try "$program" evolve --db finals.db --device emulator:l4 --resume 1
check 'which holds them' equal "$status$(sql finals.db "SELECT count(*) FROM trials WHERE stage = 'final'")" 01
finish
