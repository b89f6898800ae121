#!/usr/bin/env bash
# tools/test with fake cmake and ctest: which preset is built, which tests are chosen, what is said of
# those left out, whose exit code comes back, and what --lint-changed looks at.
set -euo pipefail
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
export FA_TUNE_SKIP_SETUP=1

new_checkout
fake_program cmake <<'E2'
echo "cmake $*" >>"$work/done"
if [ "$1" = --build ]; then exit "$(cat "$work/build-status")"; fi
E2
# Of the tests gate alone is chosen by a pattern; it is given a program and a folder of the build.
fake_program ctest <<'E2'
case " $* " in
  *' -N '*' -R nothing '*) exit 0 ;;
  *' -N '*' -R '*)
    echo '  Test #2: gate'
    exit 0
    ;;
  *' -N '*)
    echo '  Test #7: cuda_device'
    echo '  Test #8: cuda_bench'
    exit 0
    ;;
esac
echo "ctest $*" >>"$work/done"
echo '100% tests passed, 0 tests failed out of 3'
exit "$(cat "$work/test-status")"
E2
fake_program ninja <<<'printf "%s: phony\n" all fa-tune test_gate test_space'
for preset in dev asan-ubsan; do
  mkdir -p "$checkout/build/$preset/tests"
  for name in gate space; do
    folder=$checkout/build/$preset
    echo "add_test([=[$name]=] \"$folder/tests/test_$name\" \"$folder/tools/fa-tune\" \"$folder/cache\" \"-x\")"
  done >"$checkout/build/$preset/tests/CTestTestfile.cmake"
done
PATH=$fake:$PATH
run_test() {
  rm -f "$work/done"
  echo "${build_status:-0}" >"$work/build-status"
  echo "${test_status:-0}" >"$work/test-status"
  try "$checkout/tools/test" "$@"
}

run_test
check 'all passed: 0' equal "$status" 0
check 'dev is built, all of it' equal "$(grep -xc 'cmake --build --preset dev' "$work/done")" 1
check 'gpu is left out' contains "$work/done" "-LE ^gpu$"
check 'no tests at all would be an error' contains "$work/done" --no-tests=error
check 'what is left out is said' contains "$err" 'NOT RUN: 2 tests that need an NVIDIA GPU'
check 'by name' contains "$err" 'cuda_device cuda_bench'
check 'ctest has the last word' equal "$(tail -n 1 "$out")" \
  '100% tests passed, 0 tests failed out of 3'

run_test gate 'space|store'
check 'patterns reach ctest' contains "$work/done" '-R gate|space|store'
check 'and what the chosen tests need is built, no more' equal "$(grep -e --build "$work/done")" \
  'cmake --build --preset dev --target fa-tune test_gate'
run_test nothing
check 'for tests that need none nothing is built' lacks "$work/done" --build
check 'and they run' contains "$work/done" '-R nothing'
run_test --sanitize gate
check '--sanitize builds asan-ubsan' contains "$work/done" 'cmake --build --preset asan-ubsan'
check 'and tests it' contains "$work/done" 'ctest --test-dir build/asan-ubsan'
check 'and takes patterns' contains "$work/done" '-R gate'
run_test --tsan
check '--tsan builds tsan' contains "$work/done" 'cmake --build --preset tsan'
run_test --gpu
check '--gpu runs gpu alone' contains "$work/done" "-L ^gpu$"

test_status=8 run_test
check "ctest's exit code comes back" equal "$status" 8
build_status=4 run_test
check "the build's exit code comes back" equal "$status" 4
check 'and no test runs' lacks "$work/done" ctest

run_test --wrong
check 'a wrong option: 2' equal "$status" 2
run_test --lint extra
check 'lint takes no arguments' equal "$status" 2
run_test --style extra
check 'nor does style' equal "$status" 2
run_test --help
check '--help tells the options' contains "$out" 'tools/test --sanitize'
check 'and no code' lacks "$out" 'set -e'

# --lint-changed in a repository of its own, whose clang-tidy dislikes the word bad.
fake_program cmake <<'E2'
mkdir -p build/lint
find "$PWD" -name '*.cpp' -printf '"file": "%p"\n' >build/lint/compile_commands.json
E2
fake_program clang-tidy-19 <<'E2'
for file in "$@"; do :; done
echo "$file" >>"$work/looked-at"
! grep bad "$file"
E2
cd "$checkout"
for name in one two three far; do echo "// $name" >"engine/$name.cpp"; done
echo '// header' >engine/one.hpp
echo '#include "engine/one.hpp"' >>engine/two.cpp
changed() { # EXPECTED [BASE]: the names of what is looked at
  : >"$work/looked-at"
  try tools/test --lint-changed "${@:2}"
  check "--lint-changed ${*:2}" equal "$(xargs -r -n 1 basename <"$work/looked-at" | sort | xargs)" "$1"
}
changed ''
check 'without git nothing is looked at, which is no failure' equal "$status" 0
check 'and said' contains "$err" 'NOT RUN'
commit() {
  git add -A engine
  git -c user.name=n -c user.email=e commit -qm "$1"
}
git init -q -b main
commit first
changed ''
check 'nor with a single commit' contains "$err" 'NOT RUN'
echo '// more' | tee -a engine/one.hpp >>engine/three.cpp
commit second
changed 'three.cpp two.cpp'
check 'what is clean: 0' equal "$status" 0
git update-ref refs/remotes/origin/main HEAD
echo bad >>engine/far.cpp
changed 'far.cpp three.cpp two.cpp'
check 'what is not: 1' equal "$status" 1
commit third
changed 'far.cpp'
echo '// even more' >>engine/one.hpp
commit fourth
changed 'two.cpp' HEAD~1
git reset -q --hard HEAD~1
echo '// text' >>CMakeLists.txt
git add -f CMakeLists.txt
git -c user.name=n -c user.email=e commit -qm fourth
changed '' HEAD~1
check 'no source changed: 0' equal "$status" 0
git reset -q --hard HEAD~1
changed 'far.cpp three.cpp two.cpp' HEAD~2
changed '' gone
check 'a base that is not there: 2' equal "$status" 2
sed -i 's/^most_changed=.*/most_changed=1/' tools/lib/lint.sh
changed 'far.cpp' HEAD~2
check 'what is beyond the most is named' contains "$err" 'NOT engine/three.cpp engine/two.cpp'

finish
