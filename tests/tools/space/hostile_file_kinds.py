"""The files that a stranger could send, of each kind that a command reads: files() yields them for hostile_files.py.

It is imported by a script with arguments PROGRAM FOLDER CORPUS. FOLDER has scale.yaml with its sources, good.cu and
good.db made of them, a table and a baseline; CORPUS is tests/fuzz/corpus. The largest files are sparse.
"""

import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import sys

program, folder, corpus = sys.argv[1:4]
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
EMULATOR = ["--device", "emulator:l4"]
ESCAPES = "\x1b[31m\x07\x7f\u009b31m\u202e\u2066"


def read(*name):
    with open(os.path.join(*name), "rb") as file:
        return file.read()


SPACE, EXPORT, DATABASE = read(folder, "scale.yaml"), read(folder, "good.cu"), read(folder, "good.db")
TABLE, BASELINE = read(corpus, "table", "cachefile.json"), read(folder, "baseline.json")
T1 = json.dumps({
    "General": {"BenchmarkName": "b"},
    "ConfigurationSpace": {"TuningParameters": [{"Name": "X", "Type": "int", "Values": "[1, 2, 4]", "Default": 1}],
                           "Conditions": [{"Parameters": ["X"], "Expression": "X < 4"}]},
    "KernelSpecification": {"Language": "CUDA", "KernelName": "k", "KernelFile": "k.cu", "GlobalSize": {"X": "64"},
                            "LocalSize": {"X": "X"}, "Arguments": []}}).encode()
PROFILE = read(os.environ["FA_TUNE_ROOT"], "search_spaces", "devices", "l4.yaml")
ABLATION = json.dumps({"trial": 1, "device": "d", "time_kind": "predicted", "seed": 1, "baseline": "b", "trial_config": {},
                       "baseline_config": {}, "time_us": None, "rows": []}).encode()
PORTFOLIO = json.dumps({"shapes": [{"shape": {"n": 4000}, "trial": 1}]}).encode()
NPY = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (4000,), }".ljust(117) + b"\n" + bytes(16000)
PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x) { ret; }\n"


def with_array(name):
    return SPACE.replace(b"{name: x, type: f32, shape: [n]}", b"{name: x, type: f32, shape: [n], fill: {file: %s}}" % name)


def array_command(place, name):
    for source in ("plain.cu", "mine.cu"):
        shutil.copy(os.path.join(folder, source), place)
    with open(os.path.join(place, "x.yaml"), "wb") as file:
        file.write(with_array(name.encode()))
    return ["evolve", "--space", "x.yaml", "--budget", "1", "--db", "new.db", "--no-finals"] + EMULATOR


def space_command(place, name):
    for source in ("plain.cu", "mine.cu"):
        if not os.path.lexists(os.path.join(place, source)):
            shutil.copy(os.path.join(folder, source), place)
    return ["space", "check", name]


# How a kind of file is read: its ending, one that is good, and the commands, in turns.
KINDS = {
    "space": ("yaml", SPACE, [space_command, lambda place, name: ["evolve", "--space", name, "--budget", "1", "--db", "new.db"]]),
    "t1": ("json", T1, [lambda place, name: ["space", "check", name], lambda place, name: ["space", "count", name]]),
    "export": ("cu", EXPORT, [lambda place, name: ["verify", name] + EMULATOR,
                              lambda place, name: ["bench", name, name] + EMULATOR,
                              lambda place, name: ["export", name, "--as", "ptx", "--out", "new.ptx"],
                              lambda place, name: ["check", "--write", "--baseline", "new.json", name] + EMULATOR]),
    "database": ("db", DATABASE, [lambda place, name: ["best", "--db", name],
                                  lambda place, name: ["show", "1", "--db", name],
                                  lambda place, name: ["lineage", "1", "--db", name],
                                  lambda place, name: ["insights", "--db", name],
                                  lambda place, name: ["report", "1", "--db", name, "--out", "new.html"],
                                  lambda place, name: ["export", "--db", name, "--out", "new.cu"],
                                  lambda place, name: ["verify", "--trial", "1", "--db", name] + EMULATOR,
                                  lambda place, name: ["evolve", "--resume", "1", "--db", name] + EMULATOR,
                                  lambda place, name: ["db", "check", name],
                                  lambda place, name: ["db", "migrate", name],
                                  lambda place, name: ["portfolio", "--db", name]]),
    "table": ("json", TABLE, [lambda place, name: ["replay", name, "--strategy", "random", "--seeds", "1"]]),
    "baseline": ("json", BASELINE, [lambda place, name: ["check", "--baseline", name] + EMULATOR]),
    "ablation": ("json", ABLATION, [lambda place, name: ["report", "1", "--db", os.path.join(folder, "good.db"), "--out",
                                                         "new.html", "--ablation", name]]),
    "rivals": ("json", b"{}", [lambda place, name: ["report", "1", "--db", os.path.join(folder, "good.db"), "--out",
                                                    "new.html", "--beside", name]]),
    "portfolio": ("json", PORTFOLIO, [lambda place, name: ["export", "--portfolio", name, "--db",
                                                           os.path.join(folder, "good.db"), "--as", "header", "--out", "new.hpp"]]),
    "array": ("npy", NPY, [array_command]),
    "profile": ("yaml", PROFILE, [lambda place, name: ["evolve", "--space", os.path.join(folder, "scale.yaml"), "--budget", "1",
                                                       "--db", "new.db", "--device", "emulator:./" + name]]),
    "ptx": ("ptx", PTX, [lambda place, name: ["emulate", name, "--kernel", "k", "--grid", "1", "--block", "32", "--device", "l4"]]),
}
JSONS = {"t1", "table", "baseline", "ablation", "rivals", "portfolio"}


class Kept:
    """A file by its bytes."""

    def __init__(self, data):
        self.data = data

    def make(self, path):
        with open(path, "wb") as file:
            file.write(self.data)


class Made:
    """A file that is no plain one, or too large to be kept: `how` makes it."""

    def __init__(self, how):
        self.make = how


def sparse(size, begin=b""):
    def make(path):
        with open(path, "wb") as file:
            file.write(begin)
            file.truncate(size)
    return Made(make)


def changed(change, base=DATABASE):
    """A database after some statements."""
    def make(path):
        with open(path, "wb") as file:
            file.write(base)
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA ignore_check_constraints = ON")
            change(db)
        db.close()
    return Made(make)


def schema(sql):
    def change(db):
        db.execute("PRAGMA writable_schema = ON")
        db.executescript(sql)
    return change


def column(table, name, value):
    return lambda db: db.execute(f"UPDATE {table} SET {name} = ? WHERE id = 1", (value,))


FORMS = {
    "pipe": Made(os.mkfifo),
    "device without an end": Made(lambda path: os.symlink("/dev/zero", path)),
    "random device": Made(lambda path: os.symlink("/dev/urandom", path)),
    "terminal": Made(lambda path: os.symlink("/dev/tty", path)),
    "kernel's log": Made(lambda path: os.symlink("/proc/kmsg", path)),
    "folder": Made(os.mkdir),
    "link to itself": Made(lambda path: os.symlink(os.path.basename(path), path)),
    "link to nothing": Made(lambda path: os.symlink("nowhere", path)),
    "empty": Kept(b""),
    "five gigabytes": sparse(5 * GIB),
    "random": Kept(random.Random(1).randbytes(5000)),
    "zeros": Kept(bytes(5000)),
    "UTF-16": Kept("space: scale\n".encode("utf-16")),
    "escapes": Kept((ESCAPES * 20 + "\n").encode()),
}


def deep(depth, inner=b"1"):
    return b"[" * depth + inner + b"]" * depth


def files():
    """All of them: a name, the kind, the file, and the command that reads it."""
    for kind, (_, good, commands) in KINDS.items():
        for form, file in FORMS.items():
            for i, command in enumerate(commands if kind != "database" else commands[:1] + commands[8:9]):
                if i > 0 and form not in ("pipe", "device without an end"):
                    continue
                yield f"{kind}: {form}" + (f" {i}" if i else ""), kind, file, command
        yield f"{kind}: cut", kind, Kept(good[:len(good) // 2]), commands[0]
        if kind in JSONS:
            for what, text in {
                "deep": deep(200_000), "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
                "deep and open": b"[" * 400_000, "long key": b'{"' + b"k" * (900 * KIB) + b'": 1}',
                "escaped key": json.dumps({ESCAPES: 1}).encode(), "many keys": json.dumps({str(i): i for i in range(50_000)}).encode(),
                "long word": b"x" * (900 * KIB), "a number": b"1", "null": b"null", "NaN": b"NaN",
            }.items():
                yield f"{kind}: {what}", kind, Kept(text), commands[0]
    yield from spaces()
    yield from exports()
    yield from databases()
    yield from others()


def spaces():
    command = KINDS["space"][2][0]
    a200k = b"a" * (200 * KIB)
    for what, text in {
        "laughs": b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
            b"%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n" % ((c, c) + (c - 1,) * 9) for c in range(ord("b"), ord("j"))),
        "a long text and many aliases": b"a: &a " + a200k + b"\nb: [" + b"*a, " * 50_000 + b"]\n",
        "nested anchors": b"".join(b"&a%d [" % i for i in range(60)) + b"0," * 150_000 + b"]" * 60,
        "an alias of itself": b"a: &a [*a]\n", "deep": deep(60_000), "deep maps": b"{a: " * 60_000,
        "deep lines": b"- " * 60_000 + b"a\n", "a tag": b"a: !!python/object:os.system x\n", "two documents": b"a: 1\n---\nb: 2\n",
        "a zero byte": SPACE.replace(b"scale", b"sc\0ale"), "no UTF-8": SPACE.replace(b"scale", b"sc\xffale"),
        "a long name": SPACE.replace(b"BLOCK", b"B" * (100 * KIB)), "a long target": SPACE.replace(b"target: l4", b"target: " + a200k),
        "a name of escapes": SPACE.replace(b"space: scale", f'space: "{ESCAPES}"'.encode("unicode_escape").replace(b"\\x7f", b"\\x7F")),
        "a long expression": SPACE.replace(b"BLOCK * PER", b"(" * 20_000 + b"BLOCK" + b")" * 20_000),
        "a long sum": SPACE.replace(b"BLOCK * PER", b"BLOCK" + b" + BLOCK" * 50_000),
        "a size too large": SPACE.replace(b"n: 4000", b"n: 9223372036854775807"),
        "a number too large": SPACE.replace(b"n: 4000", b"n: 99999999999999999999999"),
        "a list for a name": SPACE.replace(b"target: l4", b"target: [l4]"),
        "many parameters": SPACE.replace(b"  PER: [1, 2]", b"  PER: [1, 2]\n" + b"".join(b"  P%d: [1, 2]\n" % i for i in range(3000))),
        "many values": SPACE.replace(b"PER: [1, 2]", b"PER: [" + b", ".join(b"%d" % i for i in range(1, 100_000)) + b"]"),
        "one key twice": SPACE + SPACE, "a key of a map": b"{{a: b}: c}\n", "tabs": SPACE.replace(b"  ", b"\t"),
        "a comment alone": b"# nothing\n", "a megabyte of blanks": b" " * MIB, "a megabyte and more": b"# " + b"x" * MIB,
        "a block without an end": b"a: |\n" + b" x\n" * 300_000, "a quote without an end": b'a: "' + b"x" * (900 * KIB),
    }.items():
        yield f"space: {what}", "space", Kept(text), command

    def with_source(how):
        def make(path):
            with open(path, "wb") as file:
                file.write(SPACE.replace(b"mine.cu", b"other.cu"))
            how(os.path.join(os.path.dirname(path), "other.cu"))
        return Made(make)
    for form in ("pipe", "device without an end", "folder", "link to itself", "five gigabytes", "random"):
        yield f"space: its source, {form}", "space", with_source(FORMS[form].make), command
    for what, text in {
        "many comments' ends": b"*/#" * (80 * KIB), "many marks": b"#" * (250 * KIB), "many includes": b"include<" * (30 * KIB),
        "many comments": b"#include/*" * (25 * KIB), "many conditions": b"#define A B\n" * 5000 + b"#if A\n" * 20_000,
        "includes itself": b'#include "other.cu"\n' * 1000 + b"#error\n#include <../x>\n",
    }.items():
        yield f"space: its source, {what}", "space", with_source(Kept(text).make), command


def block(**changes):
    """An export with other values in its block."""
    begin, end = EXPORT.index(b"// fa-tune export 1 begin\n"), EXPORT.index(b"// fa-tune export 1 end\n")
    head = EXPORT[:begin] + b"// fa-tune export 1 begin\n"
    lines = EXPORT[len(head):end].decode().splitlines()
    values = json.loads("".join(line[3:] for line in lines))
    raw = {}
    for key, value in changes.items():
        raw[key] = value if isinstance(value, bytes) else json.dumps(value).encode()
    text = b",\n".join(b"// " + json.dumps(key).encode() + b": " + raw.get(key, json.dumps(value).encode())
                       for key, value in values.items())
    return head + b"// {\n" + text + b"\n// }\n" + EXPORT[end:]


def exports():
    commands = KINDS["export"][2]
    space = re.search(rb'"space": "((?:[^"\\]|\\.)*)"', EXPORT).group(1).decode().encode().decode("unicode_escape")
    filled = space.replace("{name: x, type: f32, shape: [n]}", "{name: x, type: f32, shape: [n], fill: {file: x.npy}}")

    def with_arrays(at):
        return block(settings={"space": filled.replace("\nfiles:\n", f"\narrays: {{x.npy: {{at: {json.dumps(at)}, sha256: x}}}}\nfiles:\n")})
    tries = {}
    for key in ("settings", "config", "shape", "launch", "manifest", "template", "kernel"):
        tries[f"deep {key}"] = block(**{key: deep(200_000)})
        tries[f"deep object as {key}"] = block(**{key: b'{"a":' * 65 + b"1" + b"}" * 65})
        tries[f"a number as {key}"] = block(**{key: 7}) if key != "launch" else block(arch=7)
        tries[f"escapes as {key}"] = block(**{key: ESCAPES}) if key != "launch" else block(arch=ESCAPES)
    tries.update({
        "a long config": block(config={"template": "mine", "BLOCK": "x" * MIB}), "many settings": block(
            config={str(i): i for i in range(20_000)}),
        "a profile by path": block(target="/etc/passwd"), "a profile above": block(target="../l4"),
        "a long target": block(target="l" * MIB), "a kernel of two lines": block(kernel='k\n#include "/etc/passwd"\n'),
        "an empty kernel": block(kernel=""), "an architecture": block(arch="sm_89 -I/"), "no block": EXPORT.replace(b"export 1 begin", b""),
        "a block without an end": EXPORT.replace(b"// fa-tune export 1 end\n", b""), "nine megabytes": EXPORT + b"\n" * (9 * MIB),
        "a space in it that is none": block(settings={"space": "[" * 50_000}),
        "a space in it of aliases": block(settings={"space": "a: &a " + "a" * 200_000 + "\nb: [" + "*a, " * 50_000 + "]\n"}),
        "a manifest of aliases": block(manifest=["a: &a " + "a" * 200_000, "b: [" + "*a, " * 50_000 + "]"]),
        "an array of a device": with_arrays("/dev/zero"), "an array of noise": with_arrays("/dev/urandom"),
        "an array that is none": with_arrays("/etc/passwd"), "an array that is not there": with_arrays("/nowhere/x.npy"),
    })
    for i, (what, text) in enumerate(tries.items()):
        yield f"export: {what}", "export", Kept(text), commands[i % len(commands)]
    for what, how in {"pipe": os.mkfifo, "device without an end": lambda path: os.symlink("/dev/zero", path),
                      "a gigabyte": sparse(GIB).make}.items():
        def make(path, how=how):
            array = os.path.join(os.path.dirname(path), "x.npy")
            how(array)
            with open(path, "wb") as file:
                file.write(with_arrays(array))
        yield f"export: an array, {what}", "export", Made(make), commands[0]


def databases():
    commands = KINDS["database"][2]
    checks = 8
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id"
    columns = [row[1] for row in sqlite3.connect(os.path.join(folder, "good.db")).execute("PRAGMA table_info(trials)")]
    view = endless + "".join(f", i AS {name}" for name in columns if name != "id") + " FROM n"
    tries = {
        "a trigger": changed(lambda db: db.execute("CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM runs; END")),
        "an index": changed(lambda db: db.execute("CREATE INDEX mine ON trials (abs(number))")),
        "a view for a table": changed(lambda db: db.executescript(
            f"PRAGMA foreign_keys = OFF; ALTER TABLE trials RENAME TO kept; CREATE VIEW trials AS {view};")),
        "a table without a column": changed(lambda db: db.execute("ALTER TABLE trials RENAME COLUMN message TO text")),
        "a table less": changed(lambda db: db.executescript("PRAGMA foreign_keys = OFF; DROP TABLE samples;")),
        "a schema that never was": changed(lambda db: db.execute("PRAGMA user_version = -5")),
        "a schema to come": changed(lambda db: db.execute("PRAGMA user_version = 99")),
        "another program's": changed(lambda db: db.execute("PRAGMA application_id = 7")),
    }
    for what, file in tries.items():
        for i, command in enumerate(commands):
            # The first two are looked at by all of them.
            if what in ("a trigger", "a view for a table") or i in (0, checks):
                yield f"database: {what} {i}", "database", file, command
    deep_json = deep(200_000).decode()
    for where, value, wanted in (
            ("runs shape", '{"n": ' + deep_json + "}", (0, 1, 2, 3, 4, 5, 6)),
            ("runs options", '{"n": ' + deep_json + "}", (1, 4, 7)),
            ("trials config", '{"n": ' + deep_json + "}", (0, 1, 2, 3, 4, 5, 6)),
            ("trials detail", '{"n": ' + deep_json + "}", (1, 4)),
            ("samples us", deep_json, (1,)),
            ("spaces text", "a: &a " + "a" * 200_000 + "\nb: [" + "*a, " * 50_000 + "]\n", (6, 7)),
            ("spaces text", "[" * 60_000, (6,)),
            ("trials outcome", ESCAPES, (1,)),
            ("runs seed", "x", (7,)),
    ):
        table, name = where.split()
        for i in wanted:
            yield f"database: {where}, {value[:4]} {len(value)} {i}", "database", changed(column(table, name, value)), commands[i]
    kinds = {"a number": 7, "a word": "x", "a list": [1], "an object": {"n": "x"}, "nothing": None}
    for number, (where, key) in enumerate([
            ("runs options", key) for key in ("trials", "seconds", "generation", "ahead", "proposer", "earlier", "warm")] + [
            ("trials detail", key) for key in ("bound", "sm_mhz", "counters")] + [
            ("trials config", key) for key in ("template", "BLOCK", "PER")] + [("runs shape", "n")]):
        table, name = where.split()
        for i, (what, value) in enumerate(kinds.items()):
            for command in (commands[7], commands[4]) if table == "runs" else (commands[1], commands[4], commands[6]):
                yield (f"database: other, {where}, {key} is {what} {number}", "database",
                       changed(column(table, name, json.dumps({key: value}))), command)
    # Made by SQLite: what this process holds, its children begin with.
    yield "database: a message of 200 MiB", "database", changed(
        lambda db: db.execute(f"UPDATE trials SET message = hex(zeroblob({100 * MIB})) WHERE id = 1")), commands[1]
    shown = list(enumerate(commands[:5])) + [(i, lambda place, name, words=words: words + ["--db", name]) for i, words in enumerate(
        (["best", "--format", "json"], ["best", "--format", "csv"], ["show", "1"], ["insights", "--format", "json"]), 20)]
    for where in ("spaces name", "devices name", "runs strategy", "runs compiler", "trials operation", "trials message"):
        table, name = where.split()
        for i, command in shown:
            yield f"database: shown, {where} {i}", "database", changed(column(table, name, ESCAPES + "\n" + ESCAPES)), command
    for size in (MIB, 20 * MIB):
        for letter in "x ":
            yield f"database: shown, a message of {size} '{letter}'", "database", changed(
                column("trials", "message", (letter + "y") * (size // 2))), commands[1]
    for number, size in enumerate((100, 4096, 6000, len(DATABASE) // 2)):
        yield f"database: cut at {size}", "database", Kept(DATABASE[:size]), commands[number]
    rng = random.Random(2)
    header = bytearray(DATABASE)
    for i in range(16, 100):
        header[i] = rng.randrange(256)
    yield "database: another header", "database", Kept(bytes(header)), commands[0]


def others():
    replay = KINDS["table"][2][0]

    def packed(size, filler=b" "):
        return Kept(gzip.compress(filler * MIB) * (size // MIB))
    entries = b'{"results": [' + b'{"configuration":{}},' * (10 * MIB // 21)
    for what, file in {
        "a gigabyte packed": packed(GIB), "zeros packed": packed(400 * MIB, b"\0"), "brackets packed": packed(64 * MIB, b"["),
        "cut in its packing": Kept(gzip.compress(TABLE * 50)[:60]), "packed wrongly": Kept(b"\x1f\x8b" + bytes(500)),
        "packed twice": Kept(gzip.compress(gzip.compress(TABLE))), "no configs": Kept(b'{"cache": {}}'),
        "many empty configs": Kept(gzip.compress(entries)), "values for configs": Kept(
            b'{"cache": {' + b", ".join(b'"%d": 1' % i for i in range(60_000)) + b"}}"),
        "a config of many keys": Kept(b'{"results": [{"configuration": ' + json.dumps({str(i): i for i in range(50_000)}).encode() + b"}]}"),
        "deep configs": Kept(b'{"results": [{"configuration": {"x": ' + deep(100_000) + b"}}]}"),
        "escapes": Kept(json.dumps({"results": [{"configuration": {ESCAPES: ESCAPES}}]}, ensure_ascii=False).encode()),
        "an unknown unit": Kept(json.dumps({"metadata": {"timeunit": ESCAPES * 50}, "results": [
            {"configuration": {"x": 1}, "invalidity": "correct", "measurements": [{"name": "time", "value": 1}]}]}).encode()),
    }.items():
        yield f"table: {what}", "table", file, replay
    array = KINDS["array"][2][0]
    for what, data in {
        "a large header": NPY[:8] + b"\xff\xff" + NPY[10:], "other elements": NPY.replace(b"<f4", b"|O8"),
        "other order": NPY.replace(b"False", b"True "), "another shape": NPY.replace(b"(4000,)", b"(4001,)"),
        "a shape too large": NPY.replace(b"(4000,)", b"(9999999999999999999,)"), "more data": NPY + bytes(100),
    }.items():
        yield f"array: {what}", "array", Kept(data), array
    for what, text in {
        "a field of a list": PROFILE.replace(b"sms:", b"sms: [") + b"]", "a negative": re.sub(rb"sms: \d+", b"sms: -1", PROFILE),
        "an unknown key": PROFILE + b"\nmore: 1\n", "aliases": b"a: &a " + b"a" * 200_000 + b"\nb: [" + b"*a, " * 50_000 + b"]\n",
    }.items():
        yield f"profile: {what}", "profile", Kept(text), KINDS["profile"][2][0]
    for part, kind in (("space", "space"), ("export", "export"), ("table", "table")):
        for name in sorted(os.listdir(os.path.join(corpus, part))):
            data = read(corpus, part, name)
            for cut in (len(data) // 3, 2 * len(data) // 3):
                yield f"{kind}: corpus, {name}, {cut} bytes", kind, Kept(data[:cut]), KINDS[kind][2][0]
    for name in sorted(os.listdir(os.path.join(corpus, "ptx"))):
        data = read(corpus, "ptx", name)
        yield f"ptx: corpus, {name}", "ptx", Kept(data[:len(data) // 2]), KINDS["ptx"][2][0]
    for what, text in {"a long name": PTX.replace(b"entry k", b"entry " + b"k" * MIB), "deep": PTX.replace(b"ret;", b"{" * 100_000),
                       "a large array": PTX.replace(b"ret;", b".local .b8 a[9999999999999]; ret;")}.items():
        yield f"ptx: {what}", "ptx", Kept(text), KINDS["ptx"][2][0]
