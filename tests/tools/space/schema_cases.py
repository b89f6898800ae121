#!/usr/bin/env python3
"""Holds the JSON Schema of spaces and their reader together: schema_cases.py PROGRAM SPACES SCRATCH [CASES].

Every space of the folder SPACES must pass both. Of each some hundred broken ones are made: a key misspelt or left out, a
value of another type. What the schema refuses the reader must refuse; what the reader refuses for its form (a key, a
type) the schema must refuse. What only the reader can know is counted by kind. Exit code 1 tells of a difference, 77 that
Python's jsonschema or yaml is not there.
"""

import collections
import copy
import glob
import json
import os
import random
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)


class Loader(yaml.SafeLoader):
    """Plain words are what YAML 1.2 and the reader take them for: `yes` is a text, 1e-6 a number."""


Loader.yaml_implicit_resolvers = {}
for tag, pattern, first in (
        ("bool", r"true|false", "tf"),
        ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
        ("float", r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", "-+.0123456789"),
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""])):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))

# How an argument's value looks depends on its type.
OF_TYPE = re.compile(r": value: expected")
# What an expression comes to is told with its text.
OF_EXPRESSION = re.compile(r"expected .*, found .* in '")
# What the reader alone can know, by how it says so.
KNOWN_TO_READER_ALONE = {
    "expressions and names in them": r"has no value|is no size|is unknown|unknown name|is not known|expected an? (expression|operand|value|name)"
                                     r"|neither an argument|is no parameter|is no derived|rests on|is there twice|no argument of|of its arguments|identifier|in '|names? of",
    "numbers that go together": r"expected at least one buffer|must be among|needs a `fill`|between|needs either|one map|divisor|stands for both|'shape\.|elements"
                                r"|'[a-z_.]+' is -?[0-9]|integers? from|the same names|deviation|bound above|expected 1 to|beyond|overflow|too (many|large)|at most|above 0",
    "what goes with a type or a role": r"is of |goes with|nobody fills|can only read|as it has|a bool is|expected \d+ numbers|a value for each|struct|need a `tolerance`|has (a|no) (value|wider)",
    "names of types, limits, options": r"type: expected|expected one of f16|expected one of|is no limit|is no option|options",
    "files and devices": r"no file|no such|larger than|lies outside|path of|no profile|not under `files`|target|kernel_templates|manifest",
    "a value of its argument's type": OF_TYPE.pattern,
    "values of a space": r"no valid|preset|known best|parameter|constraint|template|values",
    "kernels and their sources": r"kernel|__global__|launch|grid|block|arguments",
}
# Of form, whatever else they say.
FORM = re.compile(r"unknown key|is missing here|: expected (a list|a map|a name|an integer|a number|true or false|some text|text)")


class Dumper(yaml.SafeDumper):
    """Quotes what the loader would take for something else."""


Dumper.yaml_implicit_resolvers = Loader.yaml_implicit_resolvers


def load(path):
    with open(path, encoding="utf-8") as file:
        return yaml.load(file, Loader)


def places(node, path=()):
    """Every map's key and list's item below a node."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield path + (key,)
        yield from places(value, path + (key,))


def parent(root, path):
    for step in path[:-1]:
        root = root[step]
    return root


def broken(space, draw):
    """One change to a copy: what it is and the copy."""
    changed = copy.deepcopy(space)
    path = draw.choice(list(places(space)))
    holder = parent(changed, path)
    how = draw.choice(("misspelt", "left out", "other"))
    if how == "misspelt" and isinstance(holder, dict):
        items = [(f"{key}x" if key == path[-1] else key, value) for key, value in holder.items()]
        holder.clear()
        holder.update(items)
    elif how == "left out":
        del holder[path[-1]]
    else:
        kinds = [each for each in (7, -7, 0.5, True, "two words", [], ["a", "b"], {}, {"a": 1}, None)
                 if type(each) is not type(holder[path[-1]])]
        value = draw.choice(kinds)
        how = f"{value!r} in place of"
        holder[path[-1]] = value
    return f"{how} {'.'.join(map(str, path))}", changed


def main():
    program, spaces, scratch = sys.argv[1:4]
    cases = int(sys.argv[4]) if len(sys.argv) > 4 else 240
    schema = json.loads(subprocess.run([program, "space", "schema"], check=True, capture_output=True, text=True).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    failures = []
    known = {os.path.relpath(path, spaces): load(path)
             for path in sorted(glob.glob(os.path.join(spaces, "*.yaml")) + glob.glob(os.path.join(spaces, "examples", "*", "*.yaml")))}
    for name, space in known.items():
        for error in validator.iter_errors(space):
            failures.append(f"{name}: the schema refuses {list(error.path)}: {error.message[:200]}")
    draw = random.Random(7)
    counts, alone = collections.Counter(), collections.Counter()
    for number in range(cases):
        name = draw.choice(list(known))
        what, changed = broken(known[name], draw)
        place = os.path.join(scratch, os.path.dirname(name), "broken.yaml")
        with open(place, "w", encoding="utf-8") as file:
            yaml.dump(changed, file, Dumper=Dumper, sort_keys=False, width=10000)
        read = subprocess.run([program, "space", "sample", place], capture_output=True, text=True, check=False)
        by_schema = not validator.is_valid(changed)
        by_reader = read.returncode != 0
        said = read.stderr.strip().splitlines()[-1] if read.stderr.strip() else ""
        counts[by_schema, by_reader] += 1
        if by_schema and not by_reader:
            reason = jsonschema.exceptions.best_match(validator.iter_errors(changed)).message
            failures.append(f"{name}, {what}: the schema alone refuses it: {reason[:200]}")
        if by_reader and not by_schema:
            kind = next((kind for kind, words in KNOWN_TO_READER_ALONE.items() if re.search(words, said)), None)
            if kind is None or (FORM.search(said) and not (OF_TYPE.search(said) or OF_EXPRESSION.search(said))):
                failures.append(f"{name}, {what}: the reader alone refuses it: {said[:300]}")
            else:
                alone[kind] += 1
    refused = counts[True, True]
    print(f"{len(known)} spaces pass; of {cases} broken ones both refuse {refused}, the reader alone {sum(alone.values())}, "
          f"both take {counts[False, False]}")
    for kind, count in sorted(alone.items()):
        print(f"  {count:4} {kind}")
    if refused < cases // 3:
        failures.append(f"too few are refused by both: {refused}")
    for line in failures:
        print("FAILED:", line)
    return 1 if failures else 0


sys.exit(main())
