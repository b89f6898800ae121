# shellcheck shell=bash
# The few words that the shell tests are written in, and a checkout to try the scripts on: a copy of
# the scripts in a folder of its own, with fake programs in front of the real ones. Sourced.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# What the machine or the caller sets must not reach the scripts under test.
unset FA_TUNE_ROOT FA_TUNE_NVRTC FA_TUNE_HIDE_TOOLKIT FA_TUNE_SKIP_SETUP CUDA_HOME CUDA_PATH \
  LD_LIBRARY_PATH CXX

# check WHAT COMMAND...: the command must be true.
check() {
  local what=$1
  shift
  if "$@"; then return 0; fi
  printf 'FAILED: %s\n  (%s)\n' "$what" "$*"
  failures=$((failures + 1))
}

equal() {
  if [ "$1" = "$2" ]; then return 0; fi
  printf '  got      "%s"\n  expected "%s"\n' "$1" "$2"
  return 1
}
contains() { # FILE TEXT
  if grep -qF -- "$2" "$1"; then return 0; fi
  sed 's/^/  | /' "$1"
  return 1
}
lacks() { ! grep -F -- "$2" "$1"; } # FILE TEXT
is_not() { ! "$@"; }

# try COMMAND...: runs it; status, out and err say what came of it.
# shellcheck disable=SC2034 # the tests read them
try() {
  status=0
  "$@" >"$work/out" 2>"$work/err" || status=$?
  out=$work/out err=$work/err
}

# new_checkout: checkout is a fresh copy of the scripts, fake an empty folder for fake programs.
new_checkout() {
  checkout=$(mktemp -d "$work/checkout.XXXXXX") fake=$(mktemp -d "$work/fake.XXXXXX")
  mkdir -p "$checkout"/{engine,db,kernel_templates,tools}
  # Python writes its caches there while other tests run.
  tar -C "$repository/tools" --exclude=__pycache__ -c setup test fa-tune portable lib | tar -C "$checkout/tools" -x
  touch "$checkout/CMakeLists.txt" "$checkout/CMakePresets.json"
}

# fake_program NAME: a program in the fake folder with the body given on stdin. It can read $work.
fake_program() {
  { printf '#!/bin/bash\nwork=%q\n' "$work" && cat; } >"$fake/$1"
  chmod +x "$fake/$1"
}

# only_these PROGRAM...: from now on PATH holds the fakes and, of the real ones, only those named.
only_these() {
  local name # type -P: not the builtins of the same names
  mkdir -p "$work/real"
  for name in "$@"; do ln -sf "$(PATH=$PATH:/usr/sbin:/sbin type -P "$name")" "$work/real"; done
  PATH=$fake:$work/real
}

# skip WHY: this cannot be tried here; ctest shows it as skipped.
skip() {
  echo "SKIPPED: $1"
  exit 77
}

# python_with MODULE...: python is one that has them.
python_with() {
  for python in "${FA_TUNE_PYTHON:-}" python3 /usr/bin/python3 "$repository/.venv/bin/python"; do
    if [ -n "$python" ] && "$python" -c "import ${*/%/,} sys" 2>/dev/null; then return; fi
  done
  skip "no Python with $*; FA_TUNE_PYTHON names one"
}

finish() {
  if [ "$failures" -eq 0 ]; then
    echo "all passed: $0"
    exit 0
  fi
  echo "$failures failed: $0"
  exit 1
}
