# shellcheck shell=bash
# Configures and builds one preset, one call at a time. Sourced by the scripts of tools/; needs talk.sh
# and root, the folder of the checkout.
: "${root:?}"

# Files whose change means that the release binary is stale. Folders count too, so that a removed file
# is seen. Kernel templates and spaces are read at run time; benchmark results are written by runs.
is_stale() { # MARK
  [ -e "$1" ] || return 0
  local newer
  newer=$(cd "$root" && find engine db tools CMakeLists.txt CMakePresets.json \
    -path tools/bench -prune -o -newer "$1" -print -quit 2>/dev/null)
  [ -n "$newer" ]
}

# A checkout that was moved leaves a cache that names its old place: begin anew then.
configure_preset() { # PRESET
  (cd "$root" && cmake --preset "$1") && return 0
  [ -e "$root/build/$1/CMakeCache.txt" ] || return 1
  (cd "$root" && cmake --fresh --preset "$1")
}

build_preset() { # PRESET [OPTION OF CMAKE]...
  (cd "$root" && cmake --build --preset "$@")
}

# targets_of_tests PRESET OPTION...: prints, on one line, the programs of the preset that the tests which
# ctest chooses by these options run or are given. CTestTestfile.cmake is read, as ctest itself does not tell the
# command of a test that is not built yet.
targets_of_tests() {
  local folder=$root/build/$1
  shift
  ctest --test-dir "$folder" -N "$@" | sed -n 's/^ *Test *#[0-9]*: //p' >"$folder/.chosen-tests"
  find "$folder" -name CTestTestfile.cmake -exec cat {} + |
    awk -v folder="$folder/" '
      FNR == NR { chosen[$0] = 1; next }
      sub(/^add_test\(\[=*\[/, "") {
        name = $0
        sub(/\]=*\].*/, "", name)
        if (!(name in chosen)) next
        count = split($0, quoted, "\"")
        for (i = 2; i <= count; i += 2) {
          if (index(quoted[i], folder) != 1) continue
          sub(".*/", "", quoted[i])
          print quoted[i]
        }
      }' "$folder/.chosen-tests" - | sort -u >"$folder/.wanted-targets"
  # A test is also given folders of the build, which are no targets.
  ninja -C "$folder" -t targets all 2>/dev/null | sed -n 's/^\([^/]*\): phony$/\1/p' | sort -u |
    comm -12 - "$folder/.wanted-targets" | tr '\n' ' '
}

# watch_build LOG: shows how far ninja is ('[12/80]') on one line of a terminal until it is killed or the
# script is gone.
watch_build() {
  local step
  while kill -0 $$ 2>/dev/null; do
    step=$(tail -n 1 "$1" 2>/dev/null | grep -o '^\[[0-9]*/[0-9]*\]' || true)
    if [ -n "$step" ]; then printf '\rfa-tune: building %s  ' "$step" >&2; fi
    sleep 0.5
  done
}

# quiet_build PRESET: builds with all output in build/PRESET.log, shown only if it fails. Leaves the
# mark build/PRESET/.built with the time at which the build began, so that what was edited during it
# counts as newer.
quiet_build() {
  local preset=$1 log=$root/build/$1.log mark=$root/build/$1/.built watcher='' status=0
  mkdir -p "$root/build/$preset"
  touch "$mark.begun"
  say "building (preset $preset; log: $log)"
  : >"$log"
  # The watcher and not the build goes to the background: Ctrl-C must reach the build.
  if [ -t 2 ]; then
    watch_build "$log" &
    watcher=$!
  fi
  { configure_preset "$preset" && build_preset "$preset"; } >>"$log" 2>&1 || status=$?
  if [ -n "$watcher" ]; then
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    printf '\r%-40s\r' '' >&2
  fi
  if [ "$status" -ne 0 ]; then
    show_log "$log"
    say "the build failed; the whole log: $log"
    return 1
  fi
  mv "$mark.begun" "$mark"
}
