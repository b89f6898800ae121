#!/usr/bin/env python3
"""A proposer that draws each value at random: the least that one has to do.

    fa-tune evolve --space l4.yaml --proposer 'python3 tools/proposers/uniform.py'

The engine checks every constraint and says what it refuses, so that a proposer may simply guess; a
better one reads the constraints in hello's space. README.md beside it describes the protocol.
"""
import json
import random
import sys


def say(**message):
    print(json.dumps(message), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        parameters = message["space"]["parameters"]
        draw = random.Random(message["seed"])
        say(type="ready", name="random")
    elif message["type"] == "ask":
        # With spares, as some will break a constraint.
        items = [{"genome": {p["name"]: draw.choice(p["values"]) for p in parameters}}
                 for _ in range(10 * message["n"])]
        say(type="propose", id=message["id"], items=items)
    elif message["type"] == "bye":
        break
