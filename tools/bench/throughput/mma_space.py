"""The space of the throughput scripts: l4.yaml without its scalar family. As a program it prints it."""

import os
import re

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
UNWANTED = (r"^  scalar: attention.*\n", r"^  WARPS: .*\n", r"^  plain:.*\n", r"^.*template != 'scalar'.*\n")


def mma_space():
    with open(os.path.join(ROOT, "search_spaces", "l4.yaml")) as file:
        text = file.read()
    for pattern in UNWANTED:
        text, found = re.subn(pattern, "", text, flags=re.M)
        assert found, f"l4.yaml has no line like {pattern}"
    return text


if __name__ == "__main__":
    print(mma_space(), end="")
