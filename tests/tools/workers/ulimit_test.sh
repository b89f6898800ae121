#!/usr/bin/env bash
# Limits that a user has set (ulimit) lead to one clear line and exit code 3, or to nothing at all; never to a signal.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

scale_space
printf '// %060000d\n' 0 >>mine.cu  # an export of it is larger than 40 KiB
search=("$program" evolve --space scale.yaml --seed 1 --budget 2 --no-finals --device emulator:l4)
# limited OPTION... -- COMMAND: ulimit OPTION..., then the command, as `try` does. What it says goes through pipes,
# which have no size.
limited() {
  local options=()
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  status=0
  { (ulimit "${options[@]}" && exec "$@") 2>&1 || status=$?; } > >(cat >said)
  wait $!
}
refused() { # NAME WORDS
  check "$1: exit code 3 ($(tail -n 1 said))" equal "$status" 3
  check "$1: its words" contains said "$2"
  check "$1: in one line" equal "$(wc -l <said)" 1
}

# Files.
limited -f unlimited -- "${search[@]}" --db good.db
check 'without limits it succeeds' equal "$status" 0
limited -f 40 -- "${search[@]}" --db small.db
refused 'no room for the window' 'files are limited (ulimit -f) to less'
limited -f 80000 -- "${search[@]}" --db enough.db
check 'room enough' equal "$status" 0
for size in 1 40; do
  limited -f "$size" -- "$program" db backup good.db copy.db
  refused "a copy of a database in $size KiB" 'what was being written was not kept'
  check "no half of it in $size KiB" test ! -e copy.db
  # A search that goes on in a database that has no room any more.
  cp good.db full.db
  limited -f "$size" -- "$program" insights --run 1 --db full.db
  check "insights in $size KiB: no signal ($(tail -n 1 said))" test "$status" -lt 4
done
limited -f 40 -- "$program" export --db good.db --out winner.cu
refused 'an export in 40 KiB' 'winner.cu: cannot be written: File too large'
check 'no half of an export' test ! -e winner.cu

# Stacks: the soft limit is raised, the hard one is told.
for stack in 64 512; do
  limited -S -s "$stack" -- "${search[@]}" --db "soft$stack.db"
  check "a soft limit of $stack KiB ($(tail -n 1 said))" equal "$status" 0
  limited -s "$stack" -- "${search[@]}" --db "hard$stack.db"
  refused "a hard limit of $stack KiB" "gives a program $stack KiB of stack (ulimit -s), and fa-tune needs 1024"
done
limited -s 1024 -- "${search[@]}" --db least.db
check "the least stack ($(tail -n 1 said))" equal "$status" 0
limited -s unlimited -- "${search[@]}" --db most.db
check "any stack ($(tail -n 1 said))" equal "$status" 0
finish
