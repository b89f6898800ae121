# shellcheck shell=bash
# Talk goes to stderr, one line a step: stdout belongs to the program that is started in the end.
# Sourced by the scripts of tools/.

say() { printf 'fa-tune: %s\n' "$*" >&2; }

# 3 is the exit code for 'the machine lacks something', as in the fa-tune command itself.
fail() {
  say "$*"
  exit 3
}

# show_log FILE: the end of a log, indented, so that a failure explains itself.
show_log() {
  [ -s "$1" ] || return 0
  say "the end of $1:"
  tail -n 40 "$1" | sed 's/^/  | /' >&2
}
