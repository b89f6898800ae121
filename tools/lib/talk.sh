# shellcheck shell=bash
# Talk goes to stderr, one line a step: stdout belongs to the program that is started in the end.
# Sourced by the scripts of tools/.

say() { printf 'fa-tune: %s\n' "$*" >&2; }

# 3 is the exit code for 'the machine lacks something', as in the fa-tune command itself.
fail() {
  say "$*"
  exit 3
}

# show_log FILE: what in a log says why a step failed, indented: the lines that name an error, as in
# 'file.cpp:1: error:', 'CMake Error', 'E: ' (apt-get), 'ERROR: ' (pip); without any, the log's end.
show_log() {
  local lines
  [ -s "$1" ] || return 0
  lines=$(grep -E -A 1 '(^|[: ])error: |^FAILED|CMake Error|^E: |^ERROR: ' "$1" | head -n 24 || true)
  say "from $1:"
  printf '%s\n' "${lines:-$(tail -n 24 "$1")}" | cut -c -200 | sed 's/^/  | /' >&2
}
