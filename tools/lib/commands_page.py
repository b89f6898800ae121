#!/usr/bin/env python3
"""Prints tools/README.md with its list of options made anew from what the program says of itself.

  tools/lib/commands_page.py PROGRAM > page.md      mv page.md tools/README.md, if it differs

What stands outside of the two marks is kept as it is.
"""

import os
import re
import subprocess
import sys
import textwrap

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "README.md")
BEGIN = "<!-- options: made by tools/lib/commands_page.py -->\n"
END = "<!-- end of options -->\n"


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], check=True, capture_output=True, text=True).stdout


def sections(text):
    """What is said first, the line of usage, and by title rows of name and meaning."""
    said, usage, rows, current = [], "", {}, None
    for line in text.splitlines():
        title = re.fullmatch(r"(\w.*):", line)
        if title:
            current = rows.setdefault(title[1], [])
        elif line.startswith("Usage: "):
            usage = line.removeprefix("Usage: ")
        elif current is None:
            said.append(line)
        elif line.startswith("   "):  # the meaning of a name that is too long for its column
            current[-1][1] += " " + line.strip() if current[-1][1] else line.strip()
        elif line.strip():
            name, _, meaning = line.strip().partition("  ")
            current.append([name, meaning.strip()])
    return " ".join(said).strip(), usage, rows


def commands(rows):
    """Those that a help lists, which may be in groups."""
    return [each for title, listed in rows.items() if title not in ("Positionals", "Options") for each in listed]


def row(name, meaning):
    # A default that is this machine's would be wrong on the next one.
    name = re.sub(r"^(--jobs .*)=\d+$", r"\1", name)
    return "| " + " | ".join([f"`{name}`".replace("|", r"\|"), meaning.replace("|", r"\|")]) + " |"


def described(program, *command):
    said, usage, rows = sections(help_of(program, *command))
    sentence = said[0].upper() + said[1:] + ("" if said.endswith("?") else ".")
    out = [f"### {' '.join(command)}", "", *textwrap.wrap(sentence, 100), "", f"    {usage}", ""]
    shown = rows.get("Positionals", []) + rows.get("Options", [])
    shown = [each for each in shown if not each[0].startswith("-h,--help")]
    if shown:
        out += ["| argument | means |", "| --- | --- |", *(row(*each) for each in shown), ""]
    inner = [name for name, _ in commands(rows)]
    return out if not inner else [line for name in inner for line in described(program, *command, name)]


def page(program, old):
    before, _, rest = old.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        sys.exit(f"{PAGE}: the marks are missing")
    _, _, rows = sections(help_of(program))
    out = ["| argument of every command | means |", "| --- | --- |"]
    out += [row(*each) for each in rows["Options"] if not each[0].startswith("--version")] + [""]
    for name, _ in commands(rows):
        out += described(program, name)
    return before + BEGIN + "\n" + "\n".join(out) + END + after


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(PAGE) as file:
        sys.stdout.write(page(sys.argv[1], file.read()))
