"""A proposer that misbehaves on purpose: scripted.py MODE [FILE]. The space is that of arm_test.cpp,
three numbers from 0 to 19; `good` proposes the configs (i, i, i + 1) in order, but those that it was
told of, and writes what it hears to FILE."""
import json
import os
import sys
import time

mode = sys.argv[1]
heard = open(sys.argv[2], "a") if len(sys.argv) > 2 else None
count = 0
told = []


def write(text):
    sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode())
    sys.stdout.flush()


def say(**message):
    write(json.dumps(message) + "\n")


def good(n):
    global count
    items = []
    while len(items) < n:
        genome = {"C": (count + 1) % 20, "B": count, "A": count}
        if genome not in told:
            items.append({"genome": genome})
        count += 1
    return items


def lie(n, id):
    """Every kind of item that is no good, and one that is."""
    fine = {"A": 7, "B": 7, "C": 3}
    say(type="propose", id=id, time=1, items=[
        {"genome": {"A": 1, "B": 2, "C": 3}},            # breaks the constraint
        {"genome": {"A": 99, "B": 0, "C": 3}},           # no such value
        {"genome": {"A": "7", "B": 7, "C": 3}},          # text for a number
        {"genome": {"A": 7, "B": 7}},                    # one is missing
        {"genome": {"A": 7, "B": 7, "C": 3, "D": 1}},    # one too many
        {"genome": {"A": 19, "B": 0, "C": 19}},          # the preset
        {"genome": fine, "parents": [999]},              # a parent that is none
        {"genome": None}, 7, None, [], "x",
        {"genome": fine, "time": 0.001, "status": "passed", "verdict": {"ok": True}},
        {"genome": dict(reversed(fine.items()))},        # the same again
    ])


for line in sys.stdin:
    message = json.loads(line)
    if heard:
        heard.write(line)
        heard.flush()
    if message["type"] == "hello":
        say(type="ready", name=mode)
    if message["type"] == "tell":
        told.append(message["genome"])
    if message["type"] != "ask":
        continue
    n, id = message["n"], message["id"]
    if mode == "good":
        say(type="propose", id=id, items=good(n))
    elif mode == "short":
        say(type="propose", id=id, items=good(1))
    elif mode == "spares":
        say(type="propose", id=id, items=good(n + 3))
    elif mode == "liar":
        lie(n, id)
    elif mode == "silent":
        pass
    elif mode == "slow":
        time.sleep(1000)
    elif mode == "late":  # the answer to the ask before, and to one that nobody put
        say(type="propose", id=id - 1, items=good(n))
        say(type="propose", id=id + 100, items=good(n))
    elif mode == "dies":
        if id == 2:
            print("out of ideas", file=sys.stderr)
            os._exit(7)
        say(type="propose", id=id, items=good(n))
    elif mode == "dies_in_a_word":
        write('{"type":"propose","id":')
        os._exit(1)
    elif mode == "floods":
        while True:
            write("y\n" * 10000)
    elif mode == "one_line":
        write("y" * 3000000)
        os._exit(0)
    elif mode == "binary":
        write(bytes(range(256)) * 50 + b"\n")
        write(b"\x00\xff\n\n\r\n")
        say(type="propose", id=id, items=good(n))
    elif mode == "huge":
        write(json.dumps({"type": "propose", "id": id, "items": [], "note": "x" * 3000000}) + "\n")
        say(type="propose", id=id, items=good(n))
    elif mode == "many_keys":
        write('{"type":"propose","id":%d,"items":[],%s"z":0}\n' % (
            id, "".join('"k%d":0,' % i for i in range(80000))))
    elif mode == "deaf":
        os.close(1)
        time.sleep(1000)
