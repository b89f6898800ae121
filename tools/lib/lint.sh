# shellcheck shell=bash
# What tools/test --style, --lint and --lint-changed do: checks that run nothing of ours. Sourced by
# tools/test; needs talk.sh, build.sh and root.
: "${root:?}"

# What --lint-changed looks at, at most: a file takes clang-tidy 5 to 30 s, and CI is to stay quick.
most_changed=8

# The C++ sources that git knows, or in a tree without git those that are there; ours alone, so that
# nothing under build/ or .venv is looked at.
our_sources() { # SUFFIX...
  local patterns=() suffix folder
  if git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    for folder in engine db tools tests; do
      for suffix in "$@"; do patterns+=("$folder/*.$suffix"); done
    done
    git -C "$root" ls-files -- "${patterns[@]}"
  else
    for suffix in "$@"; do patterns+=(-o -name "*.$suffix"); done
    (cd "$root" && find engine db tools tests -type f \( "${patterns[@]:1}" \))
  fi
}

check_format() {
  local files
  mapfile -t files < <(our_sources cpp hpp)
  if (cd "$root" && clang-format --dry-run --Werror "${files[@]}"); then
    say "format: ${#files[@]} files are as .clang-format wants them"
  else
    say 'format: mend with clang-format -i FILE'
    return 1
  fi
}

# .codespellrc says what is left out, and which words are right.
check_spelling() {
  if (cd "$root" && codespell .ci db engine kernel_templates search_spaces tests tools ./*.md \
    CMakeLists.txt); then
    say 'spelling: codespell knows every word'
  else
    say 'spelling: mend the above, or add the word to .codespellrc if it is right'
    return 1
  fi
}

# our_scripts: the shell scripts, by their first lines.
our_scripts() {
  (cd "$root" && find .ci tools tests -type f -exec awk 'FNR == 1 && /^#!.*[ \/](ba)?sh$|^# shellcheck shell=/ {
    print FILENAME } { nextfile }' {} +)
}

check_scripts() {
  local scripts
  mapfile -t scripts < <(our_scripts)
  if (cd "$root" && shellcheck -x "${scripts[@]}"); then
    say "scripts: ${#scripts[@]} are clean under shellcheck"
  else
    say 'scripts: shellcheck says above what it wants'
    return 1
  fi
}

# All three are tried, so that one call tells everything.
lint_style() {
  local failed=0
  check_format || failed=1
  check_spelling || failed=1
  check_scripts || failed=1
  return "$failed"
}

# The whole tree as preset dev compiles it, many sources in one unit: a third of the time that every
# source by itself takes.
lint_lint() {
  local units
  lint_style
  configure_preset dev >/dev/null
  mapfile -t units < <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' "$root/build/dev/compile_commands.json" |
    sort -u)
  run_tidy dev "${units[@]}"
}

# lint_base [BASE]: prints the commit to compare with; false, with the reason, if there is none.
lint_base() {
  local base
  if [ $# -gt 0 ]; then
    git -C "$root" rev-parse --quiet --verify "$1^{commit}" && return 0
    say "there is no commit $1"
    return 1
  fi
  base=$(git -C "$root" merge-base HEAD origin/main 2>/dev/null) || base=''
  if [ -z "$base" ] || [ "$base" = "$(git -C "$root" rev-parse HEAD 2>/dev/null)" ]; then
    base=$(git -C "$root" rev-parse --quiet --verify 'HEAD~1^{commit}') || base=''
  fi
  if [ -z "$base" ]; then
    say 'no git here, or a clone without the commit before this one'
    return 1
  fi
  printf '%s\n' "$base"
}

# changed_sources BASE: the .cpp files that differ from BASE, then those that include a header which does;
# among each the smallest first.
changed_sources() {
  local changed sources=() headers=() file
  mapfile -t changed < <(git -C "$root" diff --name-only --diff-filter=d "$1" -- \
    {engine,db,tools,tests}/'*'.{cpp,hpp})
  for file in "${changed[@]}"; do
    case "$file" in
      *.cpp) sources+=("$file") ;;
      *.hpp) headers+=(-e "#include \"$file\"") ;;
    esac
  done
  {
    printf '%s\n' "${sources[@]}" | by_size
    if [ ${#headers[@]} -gt 0 ]; then
      # No file at all includes it: no failure.
      our_sources cpp | (cd "$root" && { xargs grep -lF "${headers[@]}" || true; }) | by_size
    fi
  } | awk '!seen[$0]++'
}

# by_size: the files named on standard input, the smallest first.
by_size() { (cd "$root" && xargs -r stat -c '%s %n') | sort -n | cut -d ' ' -f 2-; }

lint_lint_changed() {
  local base files beyond
  if ! base=$(lint_base "$@"); then
    # A base that was asked for must be there.
    if [ $# -gt 0 ]; then return 2; fi
    say 'tidy: NOT RUN, since nothing tells what changed; tools/test --lint looks at every source'
    return 0
  fi
  mapfile -t files < <(changed_sources "$base")
  beyond=("${files[@]:most_changed}")
  if [ ${#beyond[@]} -gt 0 ]; then
    say "tidy: of ${#files[@]} sources that changed or include a header that did, the first" \
      "$most_changed are looked at, NOT ${beyond[*]:0:20}$( ((${#beyond[@]} <= 20)) ||
        printf ' and %s more' $((${#beyond[@]} - 20))); tools/test --lint looks at all"
  fi
  if [ ${#files[@]} -eq 0 ]; then
    say "tidy: no source changed since ${base:0:12}"
    return 0
  fi
  check_tidy "${files[@]:0:most_changed}"
}

# tidy_one DATABASE FILE: silent if clean. One write a file, so that parallel ones do not mix.
tidy_one() {
  local output
  # 2>/dev/null: stderr holds the counts of warnings in the headers of others. A unit includes sources.
  # A tree that was built holds precompiled headers of g++, which clang reads as text.
  output=$(clang-tidy-19 --quiet -p "$1" --header-filter='/(engine|db|tools|tests)/.*\.[ch]pp$' \
    --extra-arg=-Wno-ignored-gch --checks=-bugprone-suspicious-include "$2" 2>/dev/null) && return 0
  printf '%s\n' "${output:-clang-tidy failed on $2}"
  return 1
}

# run_tidy PRESET FILE...: on all cores.
run_tidy() {
  local preset=$1
  shift
  export -f tidy_one
  # shellcheck disable=SC2016 # the inner shell expands these
  if printf '%s\0' "$@" |
    xargs -0 -P "$(nproc)" -I '{}' bash -c 'tidy_one "$1" "$2"' _ "$root/build/$preset" '{}'; then
    say "tidy: $# files are clean"
  else
    say 'tidy: the checks above are errors; .clang-tidy says which ones count and why'
    return 1
  fi
}

# check_tidy FILE...: those that the compile database of preset lint knows, which has every source by
# itself.
check_tidy() {
  local database=$root/build/lint/compile_commands.json files=() file
  configure_preset lint >/dev/null
  for file in "$@"; do
    # What is built elsewhere only (tools/fuzz) is not in it.
    if grep -qF "\"file\": \"$root/$file\"" "$database"; then files+=("$root/$file"); fi
  done
  if [ ${#files[@]} -eq 0 ]; then
    say 'tidy: none of these is in the compile database'
    return 0
  fi
  run_tidy lint "${files[@]}"
}
