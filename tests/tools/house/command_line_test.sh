#!/usr/bin/env bash
# What is made of the program's list of commands: help by purpose, "did you mean", completion in each shell that is
# there, and the manual page.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
mkdir bin
ln -s "$program" bin/fa-tune
PATH=$PWD/bin:$PATH
touch winner.cu

try "$program" --help
for group in 'Find a fast kernel' 'See what was found' 'Understand a kernel' 'Use a kernel' 'Keep house'; do
  check "the help has: $group" contains "$out" "$group:"
done
check 'and no command without a group' lacks "$out" 'Subcommands:'
check 'nor what is not for people' is_not grep -qE '^  (worker|profiled) ' "$out"

# meant WORD... -- MEANT: what is said of a slip.
meant() {
  local -a words=()
  while [ "$1" != -- ]; do
    words+=("$1")
    shift
  done
  try "$program" "${words[@]}"
  check "a slip is refused: ${words[*]}" equal "$status$(wc -l <"$err")" 21
  if [ -n "$2" ]; then
    check "and '$2' meant: ${words[*]}" contains "$err" "did you mean '$2'?"
  else
    check "and nothing like it known: ${words[*]}" lacks "$err" 'did you mean'
  fi
}
meant evlove --space l4.yaml -- evolve
meant lineag 3 -- lineage
meant db migarte fa.db -- migrate
meant evolve --spce l4.yaml -- --space
meant evolve --bugdet=3 -- --budget
meant best --fromat json -- --format
meant best --log-levl debug -- --log-level
meant best --qiet -- --quiet
meant frobnicate -- ''
meant best --frobnicate -- ''
meant workr -- ''

# bash: what it offers for a line whose last word is begun.
"$program" completion bash >completion.bash
check 'the script for bash is one' bash -n completion.bash
offers_bash() { # LINE
  bash --norc -c '
    source ./completion.bash
    COMP_LINE=$1 COMP_POINT=${#1}
    _fa_tune
    printf "%s\n" "${COMPREPLY[@]}"' _ "$1" 2>/dev/null | sort | tr '\n' ' '
}
offered() { check "$1 offers for '$2'" equal "$3" "$4"; }
offered bash 'fa-tune ev' "$(offers_bash 'fa-tune ev')" 'evolve '
offered bash 'fa-tune db ' "$(offers_bash 'fa-tune db ')" "$("$program" db --help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort | tr '\n' ' ')"
offered bash 'evolve --st' "$(offers_bash 'fa-tune evolve --st')" '--strategy '
offered bash 'evolve --strategy ge' "$(offers_bash 'fa-tune evolve --strategy ge')" 'genetic '
offered bash 'best --format=j' "$(offers_bash 'fa-tune best --format=j')" 'json '
offered bash 'best --format ' "$(offers_bash 'fa-tune best --format ')" 'csv json table '
offered bash 'evolve --space l4' "$(offers_bash 'fa-tune evolve --space l4')" 'l4 '
offered bash 'evolve --device emulator:h2' "$(offers_bash 'fa-tune evolve --device emulator:h2')" 'h200 '
offered bash 'verify w' "$(offers_bash 'fa-tune verify w')" 'winner.cu '
offered bash 'export --out w' "$(offers_bash 'fa-tune export --out w')" 'winner.cu '
offered bash 'evolve --out best --no-' "$(offers_bash 'fa-tune evolve --db best --no-')" '--no-finals '
offered bash '-v ev' "$(offers_bash 'fa-tune -v ev')" 'evolve '
offered bash 'evolve --seed 1' "$(offers_bash 'fa-tune evolve --seed 1')" ' '
offered bash 'completion f' "$(offers_bash 'fa-tune completion f')" 'fish '
check 'bash is offered each option of each command' python3 - "$program" <<'PY'
import re, subprocess, sys

program = sys.argv[1]
script = open("completion.bash").read()


def ask(*words):
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][\w-]*", "\n".join(line.split("  ")[0] for line in re.findall(r"^  (-.*)$", text, re.M))))


def look(*path):
    text = ask(*path)
    line = re.search(rf"^      '{' '.join(path)}'\) options='([^']*)'; words='([^']*)'", script, re.M)
    assert line, path
    assert options(text) - {"--version"} <= set(line[1].split()) or not path, (path, options(text) - set(line[1].split()))
    inner = [each for each in re.findall(r"^  ([a-z]+)  ", text, re.M)]
    assert set(inner) <= set(line[2].split()), (path, inner)
    return 1 + sum(look(*path, each) for each in inner if "SUBCOMMAND" in text)


assert look() > 25
PY

if command -v zsh >/dev/null; then
  mkdir functions
  "$program" completion zsh >functions/_fa-tune
  check 'the script for zsh is one' zsh -n functions/_fa-tune
  # A zsh in a terminal of its own, for which a tab is typed.
  cat >ask.zsh <<'ZSH'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1= ; fpath=($PWD/functions \$fpath); autoload -U compinit; compinit -u -D; zstyle ':completion:*' list-prompt ''; setopt nobeep; print be''gun"
zpty -r z said '*begun*'
sleep 0.5
zpty -w -n z "$1"$'\t\t'
sleep 1
all=
while zpty -r -t z said; do all+=$said; done
zpty -d z
print -r -- "$all"
ZSH
  offers_zsh() { zsh -f ask.zsh "$1" 2>/dev/null | sed -E 's/\x1b\[[0-9;?]*[A-Za-z]//g'; }
  check 'zsh completes a command' test "$(offers_zsh 'fa-tune evol' | grep -c 'fa-tune evolve')" -ge 1
  check 'zsh completes an option' test "$(offers_zsh 'fa-tune evolve --strat' | grep -c -- '--strategy')" -ge 1
  check 'zsh completes a value' test "$(offers_zsh 'fa-tune best --format js' | grep -c -- 'json')" -ge 1
else
  echo 'SKIPPED: no zsh, its completion was not tried'
fi

if command -v fish >/dev/null; then
  "$program" completion fish >completion.fish
  check 'the script for fish is one' fish --no-execute completion.fish
  # shellcheck disable=SC2016 # fish expands it
  offers_fish() {
    fish --no-config -c 'source completion.fish; complete -C $argv[1]' -- "$1" | cut -f 1 | sort | tr '\n' ' '
  }
  offered fish 'fa-tune ev' "$(offers_fish 'fa-tune ev')" 'evolve '
  offered fish 'db ch' "$(offers_fish 'fa-tune db ch')" 'check '
  offered fish 'evolve --strat' "$(offers_fish 'fa-tune evolve --strat')" '--strategy '
  offered fish 'best --format j' "$(offers_fish 'fa-tune best --format j')" 'json '
  offered fish 'evolve --space l4' "$(offers_fish 'fa-tune evolve --space l4')" 'l4 '
  offered fish 'verify w' "$(offers_fish 'fa-tune verify w')" 'winner.cu '
else
  echo 'SKIPPED: no fish, its completion was not tried'
fi
try "$program" completion tcsh
check 'another shell is refused' equal "$status" 2

# The manual page.
try "$program" manual
check 'there is a manual page' equal "$status" 0
cp "$out" fa-tune.1
for part in '.TH FA' '.SH NAME' '.SH SYNOPSIS' '.SH COMMANDS' '.SH EXIT STATUS'; do
  check "it has: $part" contains fa-tune.1 "$part"
done
check 'it has each command' test "$(grep -c '^\.SS ' fa-tune.1)" -ge 25
check 'each .TP has a tag and a text' awk '
  /^\.TP$/ { getline tag; getline text; if (tag == "" || text == "" || (tag ~ /^\./ && tag !~ /^\.B /) || text ~ /^\./) bad = 1 }
  END { exit bad }' fa-tune.1
if command -v groff >/dev/null; then
  check 'groff has nothing to say of it' equal "$(groff -man -ww -Tascii -P-cbou fa-tune.1 2>&1 >page)" ''
  check 'groff shows options' grep -q -e '--budget' page
else
  echo 'SKIPPED: no groff, the manual page was looked at by its structure alone'
fi

# The commands that are printed to be typed are those that the user has.
try fa-tune doctor
scale_space
next_line() { sed -n 's/^  \(.*\) best --run 1 --db .*/\1/p' "$out"; }
search=(evolve --space scale.yaml --device emulator:l4 --budget 1 --no-finals)
try fa-tune "${search[@]}"
check 'on the PATH: by its name' equal "$(next_line)" fa-tune
try "$PWD/bin/fa-tune" "${search[@]}"
check 'the one on the PATH, by its path: by its name' equal "$(sed -n 's/^  \(.*\) best --run 2 .*/\1/p' "$out")" fa-tune
PATH=${PATH#*:}
mkdir 'my tools'
ln -s "$program" 'my tools/fa-tune'
try 'my tools/fa-tune' "${search[@]}" --db 'my base.db'
check 'elsewhere: as it was typed, in quotes where need be' equal "$(next_line)" "'my tools/fa-tune'"
check 'the database too' contains "$out" "best --run 1 --db 'my base.db'"
sed -n 's/^  \(.* best .*\)/\1/p' "$out" >typed
try bash typed
check 'so that it can be typed' equal "$status" 0
finish
