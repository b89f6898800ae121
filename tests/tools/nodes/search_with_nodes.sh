# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # the tests read what it sets, and cli.sh sets what it reads
# For tests of searches with nodes, after cli.sh. `all` are the processes that are ended in the end.

all=()
trap 'kill -KILL "${all[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

fingerprint() { "$program" db check "$1" | sed -n 's/.*fingerprint \([0-9a-f]\{64\}\)$/\1/p'; }

# listen NAME ARGUMENT...: a search in the background, its database NAME.db, where=HOST:PORT.
listen() {
  local name=$1 i
  shift
  rm -f "$name.err" # of an earlier part of the run, with its address
  "$program" evolve --db "$name.db" --listen 127.0.0.1:0 --key key "$@" >"$name.out" 2>"$name.err" &
  engine=$!
  all+=("$engine")
  where=
  for ((i = 0; i < 200; ++i)); do
    where=$(sed -n 's/.*--connect \([0-9.:]*\) .*/\1/p' "$name.err" 2>/dev/null || true)
    [ -z "$where" ] || return 0
    sleep 0.05
  done
}
# lend NAME ARGUMENT...: a node of that name; lent is its process.
lend() {
  local name=$1
  shift
  "$program" node --connect "$where" --key key --name "$name" "$@" >"$name.out" 2>"$name.err" &
  lent=$!
  all+=("$lent")
}
# until_trials DB COUNT, until_said NAME TEXT: while the search goes on.
until_trials() {
  while kill -0 "$engine" 2>/dev/null && [ "$(trials_in "$1")" -lt "$2" ]; do sleep 0.05; done
}
until_said() {
  while kill -0 "$engine" 2>/dev/null && ! grep -qF -- "$2" "$1.err"; do sleep 0.05; done
}
status_of() {
  status=0
  wait "$1" || status=$?
}
