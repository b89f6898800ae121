#!/usr/bin/env bash
# tools/setup with fake apt-get, sudo and python3 on a machine where nothing is: what it decides to
# install, from where it takes NVRTC, and what it says when it cannot.
set -euo pipefail
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
all_programs=$PATH

# A machine of its own: headers under $work/include, toolkits under $work/local, and of programs only
# what every Debian has.
bare_machine() {
  rm -rf "$work"/{include,local,sbin,done,no-ensurepip,no-pip,pip-fails,apt-fails,uid}
  mkdir -p "$work"/{include,local,sbin,done}
  PATH=$all_programs
  new_checkout
  printf 'header_folders=(%q)\npythons=(python3)\ndaemon_folders=(%q)\n' "$work/include" "$work/sbin" >>"$checkout/tools/lib/packages.sh"
  sed -i "s,/usr/local/cuda,$work/local/cuda,g" "$checkout/tools/lib/nvrtc.sh"
  echo 0 >"$work/uid"
  # shellcheck disable=SC2016 # the fake expands it
  fake_program id <<<'cat "$work/uid"'
  fake_program ldconfig <<<'exit 0'
  fake_program apt-get <<'E2'
echo "$*" >>"$work/done/apt"
if [ -e "$work/apt-fails" ]; then echo 'E: no such thing'; exit 100; fi
# Brings the thing by which set-up knows the package, into the fakes or the headers.
fake=$(dirname "$0")
for package in "$@"; do
  case "$package" in
    g++) printf '#!/bin/bash\necho 12\n' >"$fake/g++" && chmod +x "$fake/g++" ;;
    cmake | ccache | git | sqlite3) ln -sf /bin/true "$fake/$package" ;;
    ninja-build) ln -sf /bin/true "$fake/ninja" ;;
    python3-venv) rm -f "$work/no-ensurepip" ;;
    slurmctld | slurmd) ln -sf /bin/true "$work/sbin/$package" ;;
    slurm-client) ln -sf /bin/true "$fake/srun" ;;
    iproute2) ln -sf /bin/true "$fake/ip" ;;
    clang-format | clang-tidy-19 | codespell | shellcheck) ln -sf /bin/true "$fake/$package" ;;
  esac
  for header in yaml-cpp/yaml.h spdlog/spdlog.h fmt/core.h doctest/doctest.h nlohmann/json.hpp \
    CLI/CLI.hpp sqlite3.h SQLiteCpp/SQLiteCpp.h openssl/evp.h seccomp.h zlib.h \
    boost/math/distributions/students_t.hpp; do
    mkdir -p "$work/include/$(dirname $header)"
    case "$package" in *lib*-dev | doctest-dev | nlohmann-*) touch "$work/include/$header" ;; esac
  done
done
E2
  fake_program python3 <<'E2'
echo "$*" >>"$work/done/python"
wheels() { # SITE
  mkdir -p "$1/nvidia/cu13/lib" "$1/nvidia/cu13/include"
  echo library >"$1/nvidia/cu13/lib/libnvrtc.so.13"
  touch "$1/nvidia/cu13/include/cuda_fp16.h"
}
case "$*" in
  '-c import ensurepip'*) [ ! -e "$work/no-ensurepip" ] ;;
  '-c import sys'*) echo python3.11 ;;
  '-c import '*) grep -q "python3-${2#import }" "$work/done/apt" 2>/dev/null ;;
  '-m pip --version') [ ! -e "$work/no-pip" ] ;;
  '-m venv '*) mkdir -p "$3/bin" "$3/lib/python3.11/site-packages" && cp "$0" "$3/bin/python" ;;
  '-m pip install '*)
    if [ -e "$work/pip-fails" ]; then echo 'ERROR: no matching distribution'; exit 1; fi
    if [ "$4" = --target ]; then wheels "$5"; else wheels "$(dirname "$0")/../lib/python3.11/site-packages"; fi
    ;;
esac
E2
  only_these bash cat sha256sum cut readlink dirname mkdir flock rm tail sed awk env grep cp chmod ln \
    touch ls wc true
}
toolkit() { # VERSION
  mkdir -p "$work/local/cuda/lib64"
  echo library >"$work/local/cuda/lib64/libnvrtc.so.$1"
}
# Everything is there but NVRTC.
ready_machine() {
  bare_machine
  "$fake/apt-get" install g++ cmake ccache git sqlite3 ninja-build libany-dev
  rm -rf "$work/done" && mkdir "$work/done"
}

bare_machine
toolkit 13
try "$checkout/tools/setup"
check 'a bare machine is set up' equal "$status" 0
check 'the lists are refreshed first' equal "$(sed -n 1p "$work/done/apt" | grep -c ' update$')" 1
for package in g++ cmake ninja-build ccache libyaml-cpp-dev libspdlog-dev libfmt-dev doctest-dev \
  nlohmann-json3-dev libcli11-dev libsqlite3-dev sqlite3 libsqlitecpp-dev libssl-dev libseccomp-dev zlib1g-dev \
  libboost-math-dev git; do
  check "$package is asked for" equal "$(grep -c -- " $package\( \|$\)" "$work/done/apt")" 1
done
check 'python3 is there and not asked for' lacks "$work/done/apt" python3
check 'nor is what only lint needs' lacks "$work/done/apt" clang
check 'the toolkit is used' contains "$err" "NVRTC: $work/local/cuda/lib64/libnvrtc.so.13"
check 'and pip left alone' is_not test -e "$work/done/python"
check 'stdout stays clean' equal "$(cat "$out")" ''

rm -rf "$work/done" && mkdir "$work/done"
try "$checkout/tools/setup"
check 'the second call says nothing' equal "$status$(cat "$err")" 0
check 'and installs nothing' equal "$(ls "$work/done")" ''
try "$checkout/tools/setup" --lint
check 'lint brings its four tools and no more' contains "$work/done/apt" \
  '--no-install-recommends clang-format clang-tidy-19 codespell shellcheck'

try "$checkout/tools/setup" --test
check 'tests bring the modules of Python and the programs that they want' contains "$work/done/apt" \
  '--no-install-recommends python3-numpy python3-jsonschema python3-yaml iproute2 slurmctld slurmd slurm-client'
check 'which are there then' equal "$status" 0

rm "$fake/ninja"
try "$checkout/tools/setup"
check 'a program lost since is brought back' test -x "$fake/ninja"
rm -r "$work/local/cuda"
toolkit 12
try "$checkout/tools/setup"
check 'a toolkit replaced since is found' contains "$err" libnvrtc.so.12
echo '# changed' >>"$checkout/tools/lib/packages.sh"
try "$checkout/tools/setup"
check 'a changed script looks again' contains "$err" 'set up'

ready_machine
toolkit 13
try "$checkout/tools/setup"
check 'nothing missing: apt-get is not called' is_not test -e "$work/done/apt"
FA_TUNE_HIDE_TOOLKIT=1 try "$checkout/tools/setup"
check 'a hidden toolkit is not used' contains "$err" "NVRTC: $checkout/.venv/"
check 'the wheels are pinned' contains "$work/done/python" 'nvidia-cuda-nvrtc==13.0.'
check 'and no index is named' equal "$(grep -c -e --index -e http "$work/done/python")" 0
FA_TUNE_NVRTC=$work/local/cuda/lib64/libnvrtc.so.13 try "$checkout/tools/setup"
check 'FA_TUNE_NVRTC decides' contains "$err" "NVRTC: $work/local/cuda/lib64/libnvrtc.so.13"
FA_TUNE_NVRTC=$work/none try "$checkout/tools/setup"
check 'FA_TUNE_NVRTC without a file is refused' equal "$status" 3
check 'with its name' contains "$err" "there is no file $work/none"

ready_machine
LD_LIBRARY_PATH=$work/local/cuda/lib64: try "$checkout/tools/setup"
check 'no toolkit: wheels' contains "$err" "NVRTC: $checkout/.venv/"
before=$(wc -l <"$work/done/python")
rm "$checkout"/build/.setup*
try "$checkout/tools/setup"
check 'a finished .venv is used again' equal "$(wc -l <"$work/done/python")" "$before"
rm "$checkout/.venv/nvrtc-wheels" "$checkout"/build/.setup*
touch "$checkout/.venv/mine"
try "$checkout/tools/setup"
check 'a .venv with a pip that works is finished, not thrown away' test -e "$checkout/.venv/mine"
check 'and used' test -e "$checkout/.venv/nvrtc-wheels"
rm "$checkout/.venv/bin/python" "$checkout/.venv/nvrtc-wheels" "$checkout"/build/.setup*
try "$checkout/tools/setup"
check 'a broken .venv is remade' is_not test -e "$checkout/.venv/mine"
check 'and used again' equal "$status" 0
rm "$checkout"/.venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13
try "$checkout/tools/setup"
check 'a .venv that lost its library is mended' equal "$status" 0
rm "$checkout"/build/.setup*
: >"$checkout/.venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"
try "$checkout/tools/setup"
check 'and one that was cut short too' test -s \
  "$checkout/.venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"

ready_machine
touch "$work/no-ensurepip" "$work/no-pip"
try "$checkout/tools/setup"
check 'without ensurepip and pip, python3-venv is installed' contains "$work/done/apt" python3-venv
check 'and then used' equal "$status" 0
ready_machine
touch "$work/no-ensurepip"
echo 1000 >"$work/uid"
try "$checkout/tools/setup"
check 'without ensurepip and root, pip puts the wheels into a folder' contains \
  "$work/done/python" "--target $checkout/.venv/lib/python3.11/site-packages"
check 'which is as good' equal "$status" 0

ready_machine
touch "$work/pip-fails"
try "$checkout/tools/setup"
check 'no wheels: 3' equal "$status" 3
check "pip's reason is shown" contains "$err" 'no matching distribution'
check 'and the last line says what to do' equal "$(tail -n 1 "$err" | grep -c FA_TUNE_NVRTC)" 1
check 'no stamp is left' is_not test -e "$checkout/build/.setup-build"

bare_machine
toolkit 13
touch "$work/apt-fails"
try "$checkout/tools/setup"
check 'apt-get fails: 3' equal "$status" 3
check "apt-get's reason is shown" contains "$err" 'E: no such thing'

bare_machine
toolkit 13
echo 1000 >"$work/uid"
try "$checkout/tools/setup"
check 'neither root nor sudo: 3' equal "$status" 3
check 'and what to ask for' contains "$err" "ask for 'apt-get install g++ cmake"
fake_program sudo <<'E2'
echo "$*" >>"$work/done/sudo"
if [ "$1" = -n ]; then shift; fi
exec "$@"
E2
try "$checkout/tools/setup"
check 'sudo is used where there is one' equal "$status" 0
check 'for apt-get' contains "$work/done/sudo" 'apt-get -y'

bare_machine
toolkit 13
rm "$fake/apt-get"
try "$checkout/tools/setup"
check 'no apt-get: 3' equal "$status" 3
check 'and what is missing' contains "$err" 'missing: g++ cmake'

ready_machine
toolkit 13
printf '#!/bin/bash\necho 11\n' >"$fake/g++"
try "$checkout/tools/setup"
check 'an old compiler: 3' equal "$status" 3
check 'and which is needed' contains "$err" 'g++ 12 or newer'

try "$checkout/tools/setup" --wrong
check 'a wrong argument: 2' equal "$status" 2

finish
