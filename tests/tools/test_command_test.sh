#!/usr/bin/env bash
# tools/test with fake cmake and ctest: which preset is built, which tests are chosen, what is said of
# those left out, and whose exit code comes back.
set -euo pipefail
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/check.sh"
export FA_TUNE_SKIP_SETUP=1

new_checkout
fake_program cmake <<'E2'
echo "cmake $*" >>"$work/done"
if [ "$1" = --build ]; then exit "$(cat "$work/build-status")"; fi
E2
fake_program ctest <<'E2'
case " $* " in
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
PATH=$fake:$PATH
run_test() {
  rm -f "$work/done"
  echo "${build_status:-0}" >"$work/build-status"
  echo "${test_status:-0}" >"$work/test-status"
  try "$checkout/tools/test" "$@"
}

run_test
check 'all passed: 0' equal "$status" 0
check 'dev is built' contains "$work/done" 'cmake --build --preset dev'
check 'gpu is left out' contains "$work/done" "ctest --test-dir build/dev -LE ^gpu$"
check 'no tests at all would be an error' contains "$work/done" --no-tests=error
check 'what is left out is said' contains "$err" 'NOT RUN: 2 tests that need an NVIDIA GPU'
check 'by name' contains "$err" 'cuda_device cuda_bench'
check 'ctest has the last word' equal "$(tail -n 1 "$out")" \
  '100% tests passed, 0 tests failed out of 3'

run_test gate 'space|store'
check 'patterns reach ctest' contains "$work/done" '-R gate|space|store'
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
run_test --help
check '--help tells the options' contains "$out" 'tools/test --sanitize'
check 'and no code' lacks "$out" 'set -e'

finish
