#!/usr/bin/env bash
# The documents, held to the tree and to the program: README and HACKING are short, links lead somewhere, files and
# options that are named exist, and what is generated is what its generator prints.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
export PYTHONDONTWRITEBYTECODE=1

# Of what is in the repository; a user's own files may lie beside it.
if git -C "$repository" rev-parse >"$work/git" 2>&1; then
  top=$(git -C "$repository" ls-files | cut -d/ -f1 | grep -v '^\.' | LC_ALL=C sort -u | tr '\n' ' ')
  check 'the top level has nothing but the house' equal "$top" \
    'CMakeLists.txt CMakePresets.json HACKING.md LICENSE README.md db engine kernel_templates search_spaces tests tools '
fi

# look.py ROOT PROGRAM: a line for each mistake in the documents under ROOT.
cat >"$work/look.py" <<'PY'
import os, re, subprocess, sys

root, program = sys.argv[1:]
MOST_LINES = {"README.md": 150, "HACKING.md": 200}
TOP = ("engine", "db", "kernel_templates", "search_spaces", "tools", "tests")
NOT_OURS = {".git", ".venv", "build", "node_modules"}


def documents():
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(each for each in inner if each not in NOT_OURS)
        for name in sorted(files):
            if name in MOST_LINES:
                yield os.path.relpath(os.path.join(folder, name), root)


def read(path):
    with open(os.path.join(root, path)) as file:
        return file.read()


def parts(text):
    """Number, line and whether it is code, of each line."""
    fenced = listed = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
            yield number, line, True
            continue
        if re.match(r"- |\d+\. ", line):
            listed = True
        elif line and not line.startswith(" "):
            listed = False
        yield number, line, fenced or (line.startswith("    ") and not listed)


def anchors(text):
    """As GitHub makes them of headings."""
    found = set()
    for _, line, code in parts(text):
        if not code and line.startswith("#"):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            count = sum(each == words or re.fullmatch(re.escape(words) + r"-\d+", each) is not None for each in found)
            found.add(words if not count else f"{words}-{count}")
    return found


def links(text):
    prose = "\n".join("" if code else line for _, line, code in parts(text))
    prose = re.sub(r"`[^`]*`", "", prose)
    yield from re.findall(r"\]\(([^)\s]+)\)", prose)
    yield from re.findall(r'(?:src|srcset|href)="([^"]+)"', prose)


def check_links(path, text):
    for link in links(text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        at = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(os.path.join(root, at)):
            yield f"link to {link}: there is no {at}"
        elif anchor and anchor not in anchors(read(at)):
            yield f"link to {link}: {at} has no such heading"


def check_paths(text):
    spans = re.findall(r"`([^`\n]+)`", "\n".join("" if code else line for _, line, code in parts(text)))
    for span in spans:
        path = span.split()[0].rstrip("/,:")
        if path.split("/")[0] not in TOP or "/" not in path or re.search(r"[*{<\[]|\.\.\.|/[A-Z]+\b(?!\.)", path):
            continue
        if not any(os.path.exists(os.path.join(root, path + end)) for end in ("", ".cpp", ".hpp")):
            yield f"`{path}` does not exist"


options = {}


def options_of(command):
    """What a command takes, itself or as one of all; None if there is no such command."""
    if command not in options:
        ran = subprocess.run([program, *command, "--help"], capture_output=True, text=True)
        names = [line.split("  ")[0] for line in re.findall(r"^  (-.*)$", ran.stdout, re.M)]
        options[command] = {each for name in names for each in re.findall(r"(?<![\w-])--?[\w-]+", name)}
        if f"Usage: {' '.join(('fa-tune', *command))} " not in ran.stdout:
            options[command] = None
    return options[command]


def check_commands(text):
    for number, line, code in parts(text):
        said = [line] if code or line.startswith("    ") else [span for span in re.findall(r"`([^`]+)`", line) if " --" in span]
        for words in said:
            for found in re.finditer(r"(?<![\w.-])fa-tune ((?:[a-z]+ ?)+)?(?: *)([^#|;]*)", words):
                named = (found[1] or "").split()
                rest = found[2]
                command = tuple(named[:1])
                if not command:
                    continue
                if named[1:] and options_of(tuple(named[:2])):
                    command = tuple(named[:2])
                known = options_of(command)
                if known is None:
                    yield f"line {number}: there is no command {' '.join(command)}"
                    continue
                rest = re.sub(r"'[^']*'|\"[^\"]*\"", "", rest)
                for option in re.findall(r"(?<!\S)\[?(--[a-z][\w-]*|-[a-zA-Z]\b)", rest):
                    if option not in known | options_of(()):
                        yield f"line {number}: {' '.join(command)} has no {option}"


def check_size(path, text):
    most = MOST_LINES[path] if path in MOST_LINES else None
    if most and len(text.splitlines()) > most:
        yield f"has {len(text.splitlines())} lines, more than {most}"
    for number, line, code in parts(text):
        if len(line) > 100 and not code and not line.lstrip().startswith("|"):
            yield f"line {number} has {len(line)} columns, more than 100"


for path in documents():
    text = read(path)
    faults = [*check_links(path, text), *check_commands(text)]
    if "/results/" not in path:  # those tell of a day, with the names of that day
        faults += [*check_size(path, text), *check_paths(text)]
    for fault in faults:
        print(f"{path}: {fault}")
PY

try python3 "$work/look.py" "$repository" "$program"
check 'the documents can be read' equal "$status" 0
check 'the documents have no mistakes' equal "$(cat "$out")" ''
check 'there are documents' test -s "$repository/README.md" -a -s "$repository/HACKING.md"

# Each mistake is found where there is one.
mkdir -p "$work/bad/engine"
touch "$work/bad/engine/here.cpp"
{
  cat <<'BAD'
# Bad
[good](engine/here.cpp) [good](#bad) [gone](engine/gone.cpp) [none](#none)
<img src="gone.svg">
`engine/here` `engine/gone.hpp` `fa-tune best --nothing`

    fa-tune best --space x -n 3 --log-level debug   # good
    fa-tune best --no-finals -k
    fa-tune nothing
    fa-tune space sample x --strategy y -n 2
BAD
  printf '\n' && printf 'x%.0s' {1..101}
  printf '\n%.0s' {1..141}
} >"$work/bad/README.md"
printf '\n%.0s' {1..201} >"$work/bad/HACKING.md"
try python3 "$work/look.py" "$work/bad" "$program"
finds() { check "finds: $1" contains "$out" "$1"; }
finds 'README.md: has 151 lines, more than 150'
finds 'HACKING.md: has 201 lines, more than 200'
finds 'link to engine/gone.cpp: there is no engine/gone.cpp'
finds 'link to #none: README.md has no such heading'
finds 'link to gone.svg: there is no gone.svg'
finds 'line 11 has 101 columns, more than 100'
finds 'engine/gone.hpp` does not exist'
finds 'line 4: best has no --nothing'
finds 'line 7: best has no --no-finals'
finds 'line 7: best has no -k'
finds 'line 8: there is no command nothing'
finds 'line 9: space sample has no --strategy'
check 'and nothing else' equal "$(wc -l <"$out")" 12

generator=$repository/tools/lib/commands_page.py
try "$generator" "$program"
check 'the page of commands can be made' equal "$status" 0
check "tools/README.md is what the program says of itself (if not: $generator PROGRAM)" \
  diff "$repository/tools/README.md" "$out"

# Figures and drawings are made of the data that are kept.
mkdir drawn
"$repository/tools/bench/overview.py" --out drawn
for theme in light dark; do
  check "README's picture, $theme (if not: tools/bench/overview.py)" \
    cmp "drawn/$theme.svg" "$repository/tools/bench/results/overview/$theme.svg"
done
cat "$repository"/tools/bench/README.md "$repository"/tools/bench/*/README.md | grep '^|' >rows_of_pages
"$repository/tools/bench/table.py" | grep '^|' >rows
while read -r row; do
  check 'a row of tools/bench/table.py stands in a page of results' contains rows_of_pages "$row"
done <rows
finish
