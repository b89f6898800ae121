#!/usr/bin/env python3
"""A search on all GPUs of a Ray cluster, to be started on one of its machines:

    python3 ray_nodes.py --space h100.yaml --db fa.db

What it is given goes to `fa-tune evolve`. Each machine has the same fa-tune on its PATH.
"""

import secrets
import subprocess
import sys
import tempfile

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

PORT = 7440


def run_with_key(key, *words):
    """Starts fa-tune with the key in a file that its owner alone may read, and waits for its end."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(key)
        file.flush()
        return subprocess.call(["fa-tune", *words, "--key", file.name])


@ray.remote(max_retries=-1)  # started again where Ray loses it
def lend(address, key):
    return run_with_key(key, "node", "--connect", address, "--wait", "600")


ray.init(address="auto")
address = f"{ray.util.get_node_ip_address()}:{PORT}"
key = secrets.token_hex(32) + "\n"
for machine in ray.nodes():
    gpus = machine["Resources"].get("GPU", 0)
    if machine["Alive"] and gpus:
        there = NodeAffinitySchedulingStrategy(machine["NodeID"], soft=False)
        lend.options(num_gpus=gpus, scheduling_strategy=there).remote(address, key)
sys.exit(run_with_key(key, "evolve", "--listen", address, *sys.argv[1:]))
