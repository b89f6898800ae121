#!/usr/bin/env python3
"""A proposer that climbs: one step from the best trial so far, to configs that nobody tried.

    fa-tune evolve --space l4.yaml --proposer 'python3 tools/proposers/hill_climb.py'

It learns from every trial that it is told of, not only from its own. When all around the best was
tried it steps from the next best one. README.md beside it describes the protocol.
"""
import json
import random
import sys


def say(**message):
    print(json.dumps(message), flush=True)


def key(genome):
    return json.dumps(genome, sort_keys=True)


class Climber:
    def __init__(self, hello):
        self.values = {p["name"]: p["values"] for p in hello["space"]["parameters"]}
        self.draw = random.Random(hello["seed"])
        self.tried = set()  # and what was refused
        self.found = []  # (time, trial, genome) of those that passed
        self.asked = {}  # idx in the last answer: key of the genome

    def steps(self, genome):
        """All genomes that differ in one value, the nearest values of each parameter first."""
        steps = []
        for name, value in genome.items():
            values = self.values[name]
            at = values.index(value)
            for to, other in enumerate(values):
                if to != at:
                    steps.append((abs(to - at), self.draw.random(), {**genome, name: other}))
        return [step for *_, step in sorted(steps, key=lambda each: each[:2])]

    def propose(self, ask):
        # With spares, as some will break a constraint.
        most, items = 4 * ask["n"], []
        self.asked = {}
        for _, trial, genome in sorted(self.found, key=lambda each: each[:2]):
            for step in self.steps(genome):
                if len(items) == most:
                    break
                if key(step) not in self.tried and key(step) not in self.asked.values():
                    self.asked[len(items)] = key(step)
                    items.append({"genome": step, "parents": [trial]})
        say(type="propose", id=ask["id"], items=items)

    def tell(self, tell):
        self.tried.add(key(tell["genome"]))
        if tell["status"] == "passed":
            self.found.append((tell["time"], tell["trial"], tell["genome"]))

    def refused(self, refused):
        if refused["idx"] is not None:
            self.tried.add(self.asked[refused["idx"]])


climber = None
for line in sys.stdin:
    message = json.loads(line)
    kind = message["type"]
    if kind == "hello":
        climber = Climber(message)
        say(type="ready", name="hill_climb")
    elif kind == "ask":
        climber.propose(message)
    elif kind == "tell":
        climber.tell(message)
    elif kind == "refused":
        climber.refused(message)
    elif kind == "bye":
        break
