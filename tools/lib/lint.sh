# shellcheck shell=bash
# Formatting and static checks over the tracked sources. Sourced by tools/test; needs talk.sh and root.
: "${root:?}"

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

# tidy_one DATABASE FILE: silent if clean. One write a file, so that parallel ones do not mix.
tidy_one() {
  local output
  # 2>/dev/null: stderr holds the counts of warnings in the headers of others.
  output=$(clang-tidy-19 --quiet -p "$1" --header-filter='/(engine|db|tools|tests)/.*\.hpp$' "$2" \
    2>/dev/null) && return 0
  printf '%s\n' "${output:-clang-tidy failed on $2}"
  return 1
}

# check_tidy BUILD: every source that its compile database knows, on all cores.
check_tidy() {
  local files
  mapfile -t files < <(our_sources cpp | while read -r file; do
    if grep -qF "\"file\": \"$root/$file\"" "$1/compile_commands.json"; then echo "$root/$file"; fi
  done)
  export -f tidy_one
  # shellcheck disable=SC2016 # the inner shell expands these
  if printf '%s\0' "${files[@]}" |
    xargs -0 -P "$(nproc)" -I '{}' bash -c 'tidy_one "$1" "$2"' _ "$1" '{}'; then
    say "tidy: ${#files[@]} files are clean"
  else
    say 'tidy: the checks above are errors; .clang-tidy says which ones count and why'
    return 1
  fi
}
