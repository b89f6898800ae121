# shellcheck shell=bash
# Which Debian packages the build needs, which of them are missing, and how to get them.
# Sourced by tools/setup; needs talk.sh.

# One line a package: name, then the command, the header or the Python module that shows that it is
# there. What counts is that the thing is there: one built by hand or brought by another distribution
# is as good.
# shellcheck disable=SC2034 # read by tools/setup
build_needs='
g++                    command g++
cmake                  command cmake
ninja-build            command ninja
ccache                 command ccache
git                    command git
python3                command python3
sqlite3                command sqlite3
libyaml-cpp-dev        header yaml-cpp/yaml.h
libspdlog-dev          header spdlog/spdlog.h
libfmt-dev             header fmt/core.h
doctest-dev            header doctest/doctest.h
nlohmann-json3-dev     header nlohmann/json.hpp
libcli11-dev           header CLI/CLI.hpp
libsqlite3-dev         header sqlite3.h
libsqlitecpp-dev       header SQLiteCpp/SQLiteCpp.h
libssl-dev             header openssl/evp.h
libseccomp-dev         header seccomp.h
zlib1g-dev             header zlib.h
libboost-math-dev      header boost/math/distributions/students_t.hpp
'

# Not worth refusing to test anything: the tests that want them are skipped without.
# shellcheck disable=SC2034 # read by tools/setup
test_needs='
python3-numpy          module numpy
python3-jsonschema     module jsonschema
python3-yaml           module yaml
iproute2               command ip
slurmctld              command slurmctld
slurmd                 command slurmd
slurm-client           command srun
'

# clang-tidy 19 and not Debian 12's default 14: the older ones cannot parse GCC 12's std::expected.
# clang-format stays the default one, so that all who format agree.
# shellcheck disable=SC2034 # read by tools/setup
lint_needs='
clang-format           command clang-format
clang-tidy-19          command clang-tidy-19
codespell              command codespell
shellcheck             command shellcheck
'

header_folders=(/usr/include /usr/local/include)
# Which a user need not have on PATH.
daemon_folders=(/usr/sbin /sbin)
# A distribution's packages are for its own Python, which need not be the first on PATH.
pythons=(python3 /usr/bin/python3)

is_there() { # command|header|module NAME
  local folder each
  case "$1" in
    command)
      for each in "${daemon_folders[@]}"; do
        if [ -x "$each/$2" ]; then return 0; fi
      done
      command -v "$2" >/dev/null
      return
      ;;
    module)
      for each in "${pythons[@]}"; do
        if "$each" -c "import $2" 2>/dev/null; then return 0; fi
      done
      return 1
      ;;
  esac
  for folder in "${header_folders[@]}"; do
    if [ -e "$folder/$2" ]; then return 0; fi
  done
  return 1
}

# missing_packages NEEDS: prints the names of those that are not there, on one line.
missing_packages() {
  local package kind name missing=''
  while read -r package kind name; do
    if [ -n "$package" ] && ! is_there "$kind" "$name"; then missing+=" $package"; fi
  done <<<"$1"
  printf '%s\n' "${missing# }"
}

# Puts the words that run a command as root into as_root. False if this user cannot.
find_root() {
  as_root=()
  if [ "$(id -u)" -eq 0 ]; then return 0; fi
  if ! command -v sudo >/dev/null; then return 1; fi
  as_root=(sudo -n)
  if sudo -n true 2>/dev/null; then return 0; fi
  # sudo asks for the password on the terminal, whatever standard input is.
  as_root=(sudo)
  [ -t 2 ]
}

# install_packages LOG NAME...: false, with a line that says what to do, if that cannot be done here.
install_packages() {
  local log=$1 as_root
  shift
  if ! command -v apt-get >/dev/null; then
    say "missing: $* (Debian's names). This machine has no apt-get: install them its own way, then retry"
    return 1
  fi
  if ! find_root; then
    say "missing: $*. Neither root nor sudo here: ask for 'apt-get install $*', then retry"
    return 1
  fi
  say "installing $* (log: $log)"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y
    -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  # Lists that cannot be refreshed may still do; installing says whether they did.
  "${apt[@]}" update >"$log" 2>&1 || say 'apt-get update failed; trying with the lists at hand'
  if ! "${apt[@]}" install --no-install-recommends "$@" >>"$log" 2>&1; then
    show_log "$log"
    say "apt-get could not install $*: mend what it says above, then retry"
    return 1
  fi
}

# The sources use std::expected, which g++ has since version 12.
check_compiler() {
  local compiler=${CXX:-g++} version
  version=$("$compiler" -dumpversion 2>/dev/null) || version=0
  version=${version%%.*}
  if "$compiler" --version 2>/dev/null | grep -q clang || [ "$version" -ge 12 ]; then return 0; fi
  say "$compiler is version $version; g++ 12 or newer is needed: install one and set CXX to it"
  return 1
}
