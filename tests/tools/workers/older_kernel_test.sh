#!/usr/bin/env bash
# Where the kernel lacks what workers are limited by, a search goes on, and its first lines and `doctor` say so.
set -euo pipefail
older_kernel=$(readlink -f "$3")
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

small_space small.yaml
common=(evolve --space small.yaml --budget 2 --seed 1 --device emulator:l4)

hold() { # NAME TEXT CALL...
  local name=$1 text=$2
  shift 2
  try "$older_kernel" "$@" -- "$program" "${common[@]}" --db "$name.db"
  check "$name: the search ends as ever" equal "$status" 0
  check "$name: it is said" contains "$err" "workers are not held to all of their limits: $text"
  check "$name: once" equal "$(grep -c "$text" "$err")" 1
  check "$name: among the first lines" equal "$(head -n 3 "$err" | grep -c "$text")" 1
  try "$older_kernel" "$@" -- "$program" doctor
  check "$name: doctor knows it" grep -q "^sandbox *missing *$text" "$out"
}
hold landlock 'no Landlock' landlock_create_ruleset
hold seccomp 'no seccomp filters' seccomp

try "$program" "${common[@]}" --db whole.db
check 'here nothing is said' lacks "$err" 'held to all'
finish
