#!/usr/bin/env bash
# tools/fa-tune with a fake cmake that 'builds' a fake program: what the launcher passes on, when it
# builds, and what it says where.
set -euo pipefail
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
export FA_TUNE_SKIP_SETUP=1

# Prints its arguments one a line, then what it was given; exits as told.
# shellcheck disable=SC2016 # the program expands these
program='#!/bin/bash
printf "<%s>\n" "$@"
echo "root=$FA_TUNE_ROOT"
echo "nvrtc=${FA_TUNE_NVRTC:-}"
echo "here=$PWD"
cat
exit "${WANTED:-0}"'

# Notes every build, and a second one that starts while one is under way.
with_fake_cmake() {
  fake_program cmake <<'E2'
case "$*" in
  "--preset release") exit 0 ;;
  "--build --preset release") ;;
  *) echo "unexpected: $*"; exit 9 ;;
esac
echo build >>"$work/builds"
mkdir "$work/under-way" || echo overlap >>"$work/builds"
sleep 0.2
rmdir "$work/under-way"
if [ -e "$work/broken" ]; then
  echo "kernel.cpp:1: error: no"
  exit 1
fi
mkdir -p build/release/tools
cp "$work/program" build/release/tools/fa-tune
E2
  rm -f "$work/builds" "$work/broken"
  touch "$work/builds"
  printf '%s\n' "$program" >"$work/program"
  chmod +x "$work/program"
  PATH=$fake:$PATH
}
builds() { wc -l <"$work/builds"; }

new_checkout
with_fake_cmake

try "$checkout/tools/fa-tune" best --space 'two words' '' "a'b*" </dev/null
check 'the first call succeeds' equal "$status" 0
check 'the first call builds' equal "$(builds)" 1
check 'arguments arrive as given' equal "$(head -n 5 "$out" | tr -d '\n')" \
  "<best><--space><two words><><a'b*>"
check 'the program learns the root' contains "$out" "root=$checkout"
check "the program keeps the user's folder" contains "$out" "here=$PWD"
check 'stdout holds nothing but what the program says' lacks "$out" fa-tune:
check 'stderr says that a build goes on' contains "$err" 'building (preset release'

try "$checkout/tools/fa-tune" </dev/null
check 'the second call does not build' equal "$(builds)" 1
check 'the second call says nothing' equal "$(cat "$err")" ''

for wanted in 1 2 3 130; do
  WANTED=$wanted try "$checkout/tools/fa-tune" </dev/null
  check "exit code $wanted passes through" equal "$status" "$wanted"
done

try "$checkout/tools/fa-tune" <<<'from stdin'
check "stdin is the program's" contains "$out" 'from stdin'

mkdir "$work/elsewhere"
ln -s "$checkout/tools/fa-tune" "$work/elsewhere/link"
ln -s link "$work/elsewhere/link-to-link"
cd "$work/elsewhere"
try ./link-to-link </dev/null
check 'a link to a link finds the root' contains "$out" "root=$checkout"
check 'and keeps the folder' contains "$out" "here=$work/elsewhere"
cd "$work"

# Each of these must be seen as a change; a mark in the past keeps clock granularity out of it.
stale_after() { # WHAT COMMAND...
  local what=$1 before
  shift
  touch -d '1 minute ago' "$checkout/build/release/.built"
  find "$checkout" -path '*/build' -prune -o -exec touch -d '2 minutes ago' '{}' +
  try "$checkout/tools/fa-tune" </dev/null
  before=$(builds)
  "$@"
  try "$checkout/tools/fa-tune" </dev/null
  check "builds after $what" equal "$(builds)" "$((before + 1))"
}
stale_after 'a new source' touch "$checkout/engine/new.cpp"
stale_after 'a changed source' touch "$checkout/engine/new.cpp"
stale_after 'a removed source' rm "$checkout/engine/new.cpp"
stale_after 'a changed CMakeLists.txt' touch "$checkout/CMakeLists.txt"
stale_after 'a lost binary' rm "$checkout/build/release/tools/fa-tune"

before=$(builds)
mkdir -p "$checkout/tools/bench/results"
touch -d '2 minutes ago' "$checkout/tools" "$checkout/build/release/.built.x"
touch "$checkout/tools/bench/results/new.json"
try "$checkout/tools/fa-tune" </dev/null
check 'benchmark results are no sources' equal "$(builds)" "$before"
touch "$checkout/kernel_templates/a.cu"
try "$checkout/tools/fa-tune" </dev/null
check 'templates are read at run time' equal "$(builds)" "$before"

touch "$work/broken" "$checkout/engine/worse.cpp"
try "$checkout/tools/fa-tune" </dev/null
check 'a failed build exits with 3' equal "$status" 3
check 'and shows why on stderr' contains "$err" 'kernel.cpp:1: error: no'
check 'and nothing on stdout' equal "$(cat "$out")" ''
before=$(builds)
try "$checkout/tools/fa-tune" </dev/null
check 'a failed build is tried again' equal "$(builds)" "$((before + 1))"
rm "$work/broken"

new_checkout
with_fake_cmake
for _ in 1 2 3 4; do "$checkout/tools/fa-tune" </dev/null >>"$work/parallel" 2>&1 & done
wait
check 'four calls at once build once' equal "$(cat "$work/builds")" build
check 'and all four run the program' equal "$(grep -c "^root=$checkout$" "$work/parallel")" 4

touch "$work/libnvrtc.so.13"
printf 'key\n%s\n' "$work/libnvrtc.so.13" >"$checkout/build/.setup-build"
try "$checkout/tools/fa-tune" </dev/null
check "the program is given set-up's NVRTC" contains "$out" "nvrtc=$work/libnvrtc.so.13"
FA_TUNE_NVRTC=/mine try "$checkout/tools/fa-tune" </dev/null
check "but the user's own wins" contains "$out" 'nvrtc=/mine'

# It is told how it was called, which it names in the commands that it prints.
cp "$(command -v bash)" "$checkout/build/release/tools/fa-tune"
cd "$checkout"
# shellcheck disable=SC2016 # the program expands it
try tools/fa-tune -c 'echo "$0"' </dev/null
check 'the program learns by which name it was called' equal "$(cat "$out")" tools/fa-tune
cd "$work"

unset FA_TUNE_SKIP_SETUP
printf '#!/bin/bash\necho no >&2; exit 3\n' >"$checkout/tools/setup"
try "$checkout/tools/fa-tune" </dev/null
check 'a failed set-up exits with 3' equal "$status" 3
check 'and does not start the program' equal "$(cat "$out")" ''

finish
