"""Tries to make the program open a file, or quote it, by the texts of strangers: spellings of an include,
and names of files in spaces, exported kernels and databases. Called by named_files_test.sh.

    named_files.py PROGRAM FOLDER    FOLDER has scale.yaml with its sources, good.cu and good.db made of them

A file is known to be opened by inotify, and by strace where that is installed, which sees too who asks
whether it is there. Prints what was wrong; exit code 1 if anything was.
"""

import concurrent.futures
import ctypes
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

program, folder = sys.argv[1:3]
# Else each spelling of an include stands in a space or in an export, in turns, and not in both.
THOROUGH = "FA_TUNE_THOROUGH" in os.environ
WORDS = b"hunter2_password"
secret = os.path.join(tempfile.mkdtemp(dir=folder), "canary.txt")
with open(secret, "wb") as file:
    file.write(WORDS + b"\n")
S = secret.encode()
UP = b"../" * 12 + S[1:]  # from wherever the toolkit's headers are
# What quotes a whole file in a message.
QUOTE = b"#define STR(...) #__VA_ARGS__\n#define X(...) STR(__VA_ARGS__)\nstatic_assert(false, X(\n%s\n));\n"
ASK = b"#if %s\n#error hunter2_password\n#endif\n"

includes = {
    "plainly": b'#include "%s"' % S,
    "in angles": b"#include <%s>" % S,
    "form feed": b'#include\f"%s"' % S,
    "vertical tab": b'#include\v"%s"' % S,
    "carriage return": b'#include\r"%s"' % S,
    "tab": b'#include\t"%s"' % S,
    "no blank": b'#include"%s"' % S,
    "form feed before": b'\f#\finclude "%s"' % S,
    "all blanks": b'\t \v\f\r#\t\v\f include\r\f\v\t "%s"' % S,
    "no-break space": b'#include\xc2\xa0"%s"' % S,
    "line separator": b'#include\xe2\x80\xa8"%s"' % S,
    "after a byte order mark": b'\xef\xbb\xbf#include "%s"' % S,
    "control character": b'#\x01include "%s"' % S,
    "delete": b'#\x7finclude "%s"' % S,
    "after a carriage return": b'int a;\r#include "%s"' % S,
    "digraph": b'%%:include "%s"' % S,
    "digraph and blanks": b'%%:\f include\v"%s"' % S,
    "trigraph": b'?\?=include "%s"'.replace(b"\\", b"") % S,
    "trigraph of a splice": b'#in??/\n' b'clude "%s"' % S,
    "splice": b'#in\\\n' b'clude "%s"' % S,
    "splice with blanks": b'#in\\ \t\n' b'clude "%s"' % S,
    "splice of DOS": b'#in\\\r\n' b'clude "%s"' % S,
    "splice after the mark": b'#\\\ninclude \\\n"%s"' % S,
    "splice in the name": b'#include "%s\\\n%s"' % (S[:5], S[5:]),
    "comments": b'#/**/include/**/"%s"' % S,
    "comment over lines": b'# /* a\n b */ include /* c\n d */ "%s"' % S,
    "comment in a comment": b'# /* a /* b */ include /* c /* d */ "%s"' % S,
    "after a comment": b'/* a\n */ #include "%s"' % S,
    "after a line comment in a comment": b'/*\n// */ #include "%s"' % S,
    "macro": b'#define P "%s"\n#include P' % S,
    "macro after a form feed": b'#define P "%s"\n#include\fP' % S,
    "macro behind nested comments": b'#define P "%s"\n# /* a /* b */ include P' % S,
    "macro by a digraph": b'#define P "%s"\n%%: include P' % S,
    "macro in angles": b"#define P <%s>\n#include P" % S,
    "macro of a string": b"#define T(x) #x\n#include T(%s)" % S,
    "macro that is pasted": b'#define C(a, b) a##b\n#define PQ "%s"\n#include C(P, Q)' % S,
    "macro of another alphabet": '#define ä "%s"\n#include ä'.encode() % S,
    "escape in the word": b'#incl\\u0075de "%s"' % S,
    "escape in the macro": b'#define P "%s"\n#include \\u0050' % S,
    "include_next": b'#include_next "%s"' % S,
    "include_next in angles": b"#include_next\f<%s>" % S,
    "import": b'#import "%s"' % S,
    "import of a module": b'import "%s";' % S,
    "export import": b"export import <%s>;" % S,
    "embed": b"const unsigned char z[] = {\n#embed \"%s\"\n};" % S,
    "two slashes": b'#include "/%s"' % S,
    "two slashes in angles": b"#include </%s>" % S,
    "by /proc": b'#include "/proc/self/root%s"' % S,
    "dots": b'#include "%s"' % UP,
    "dots in angles": b"#include <%s>" % UP,
    "dots in a library's folder": b"#include <cub/../%s>" % UP,
    "after #line": b'#line 1 "%s/a.cu"\n#include "canary.txt"' % os.path.dirname(S),
    "after a line marker": b'# 1 "%s/a.cu"\n#include "canary.txt"' % os.path.dirname(S),
    "beside": b'#include "canary.txt"',
    "beside in angles": b"#include <./canary.txt>",
    "home": b'#include "~/../%s"' % UP,
    "backslash": b'#include "\\%s"' % S,
    "pragma": b'#pragma include_alias("cuda_fp16.h", "%s")\n#include "cuda_fp16.h"' % S,
    "_Pragma": b'_Pragma("GCC dependency \\"%s\\"")' % S,
    "assembler's include": b'__global__ void other() { asm(".include \\"%s\\""); }' % S,
    "assembler's incbin": b'__global__ void other() { asm(".incbin \\"%s\\""); }' % S,
    "assembler's file": b'__global__ void other() { asm(".file 1 \\"%s\\""); }' % S,
}
asked = {
    "__has_include": b'__has_include("%s")' % S,
    "__has_include in angles": b"__has_include(<%s>)" % S,
    "__has_include and form feeds": b'__has_include\f(\f"%s"\f)' % S,
    "__has_include of dots": b"__has_include(<%s>)" % UP,
    "__has_include_next": b'__has_include_next("%s")' % S,
    "__has_embed": b'__has_embed("%s")' % S,
    "defined and __has_include": b'defined(__has_include) && __has_include("%s")' % S,
}
asked_by_macro = {
    "a macro's operand": b'#define P "%s"\n' % S + ASK % b"__has_include(P)",
    "by another name": b"#define H __has_include\n" + ASK % b'H("%s")' % S,
    "by a function": b"#define H(x) __has_include(x)\n" + ASK % b'H("%s")' % S,
    "pasted": b"#define C(a, b) a##b\n" + ASK % b'C(__has_, include)("%s")' % S,
    "pasted by a digraph": b"%%:define C(a, b) a%%:%%:b\n" + ASK % b'C(__has_, include)("%s")' % S,
    "pasted in a macro": b'#define C(a, b) a##b\n#define Q C(__has_, include)("%s")\n' % S + ASK % b"Q",
    "pasted, both": b'#define AB "%s"\n#define C(a, b) a##b\n' % S + ASK % b"C(__has_, include)(C(A, B))",
    "pasted by a header": b"#include <cuda/std/version>\n" + ASK % b'_CCCL_PP_CAT(__has_, include)("%s")' % S,
    "elif": b"#if 0\n#elif __has_include(\"%s\")\n#error hunter2_password\n#endif\n" % S,
}
sources = {}
for name, text in includes.items():
    sources[f"include, {name}"] = text + b"\n"
for name in ("form feed", "vertical tab", "carriage return", "plainly", "macro after a form feed"):
    sources[f"include that is quoted, {name}"] = QUOTE % includes[name]
for name, text in asked.items():
    sources[f"asked, {name}"] = ASK % text
for name, text in asked_by_macro.items():
    sources[f"asked, {name}"] = text


def read(name):
    with open(os.path.join(folder, name), "rb") as good:
        return good.read()


def write(place, name, data):
    path = os.path.join(place, name)
    with open(path, "wb") as made:
        made.write(data)
    return path


SPACE, MINE, EXPORT = read("scale.yaml"), read("mine.cu"), read("good.cu")
EMULATOR = ["--device", "emulator:l4"]


def by_space(place, text):
    """A space with the text ahead of its kernel; or the whole space."""
    shutil.copy(os.path.join(folder, "plain.cu"), place)
    write(place, "mine.cu", text + MINE)
    write(place, "scale.yaml", SPACE)
    return ["evolve", "--space", "scale.yaml", "--budget", "1", "--no-finals", "--db", "x.db"] + EMULATOR


def by_export(place, text):
    head, body = EXPORT.split(b"// fa-tune export 1 end\n", 1)
    write(place, "x.cu", head + b"// fa-tune export 1 end\n" + text + body)
    return ["verify", "x.cu", "--suite", "quick"] + EMULATOR


def by_database(place, change):
    """The stored text of the space, changed."""
    path = os.path.join(place, "x.db")
    shutil.copy(os.path.join(folder, "good.db"), path)
    with sqlite3.connect(path) as db:
        old = db.execute("SELECT text FROM spaces").fetchone()[0]
        db.execute("UPDATE spaces SET text = ?", (change(old),))
    db.close()
    return ["verify", "--trial", "1", "--db", "x.db", "--suite", "quick"] + EMULATOR


def in_stored_source(text):
    line = "    " + text.decode(errors="replace").replace("\n", "\n    ").rstrip(" ")
    return lambda old: old.replace('"mine.cu": |2+\n', '"mine.cu": |2+\n' + line, 1)


def changed_space(*changes):
    def make(place):
        text = SPACE
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        os.symlink(secret, os.path.join(place, "link.cu"))
        os.symlink(os.path.dirname(secret), os.path.join(place, "folder"))
        command = by_space(place, b"")
        write(place, "scale.yaml", text)
        return command
    return make


def changed_export(*changes):
    def make(place):
        text = EXPORT
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        write(place, "x.cu", text)
        return ["verify", "x.cu", "--suite", "quick"] + EMULATOR
    return make


def changed_database(*changes):
    def change(text):
        for old, new in changes:
            assert old.decode() in text, old
            text = text.replace(old.decode(), new.decode())
        return text
    return lambda place: by_database(place, change)


MINE_NAME, TARGET, TEMPLATES = b"source: mine.cu", b"target: l4", b"templates:\n"
FILL = b"{name: x, type: f32, shape: [n]}"
DOTS = b"../" * 12 + S[1:]
FILLED = b"{name: x, type: f32, shape: [n], fill: {file: %s}}"
names = {}
for what, path in {"absolute": S, "dots": DOTS, "link": b"link.cu", "linked folder": b"folder/canary.txt"}.items():
    quoted = b'"%s"' % path
    names[f"space, source, {what}"] = changed_space((MINE_NAME, b"source: " + quoted))
    names[f"space, reference, {what}"] = changed_space((b"source: plain.cu", b"source: " + quoted))
    names[f"space, array, {what}"] = changed_space((FILL, FILLED % quoted))
    names[f"space, manifest, {what}"] = changed_space((TEMPLATES, TEMPLATES + b"  other: " + quoted + b"\n"))
    names[f"space, target, {what}"] = changed_space((TARGET, b"target: " + quoted))
    names[f"export, target, {what}"] = changed_export((b'"target": "l4"', b'"target": ' + quoted))
    names[f"database, target, {what}"] = changed_database((TARGET, b"target: " + quoted))
    names[f"database, manifest, {what}"] = changed_database(
        (TEMPLATES, TEMPLATES + b"  other: " + quoted + b"\n"))
for what, kernel in {
    "line end": b'scale\\n#include \\"%s\\"\\n' % S,
    "line end and angles": b"scale\\n#include <%s>\\n" % S,
    "splice": b'scale\\\\\\n\\n#include \\"%s\\"' % S,
    "carriage return": b'scale\\r\\n#\\finclude \\"%s\\"\\n' % S,
    "expression": b"scale); static_assert(sizeof(#include <%s>" % S,
}.items():
    names[f"export, kernel, {what}"] = changed_export((b'"kernel": "scale"', b'"kernel": "%s"' % kernel))
    if b"\\" in kernel:
        yaml = b'kernel: "%s"' % kernel
        names[f"space, kernel, {what}"] = changed_space((b"kernel: scale,", yaml + b","))
names["export, profile by path"] = changed_export((b'"target": "l4"', b'"target": "%s.yaml"' % S))
names["export, arch"] = changed_export((b'"arch": "sm_89"', b'"arch": "sm_89 --pre-include=%s"' % S))
names["export, array"] = changed_export(
    (FILL, FILLED % b"canary.txt"), (b"\\nfiles:\\n", b"\\narrays: {canary.txt: {at: %s, sha256: x}}\\nfiles:\\n" % S))
names["database, array"] = changed_database(
    (FILL, FILLED % b"canary.txt"), (b"\nfiles:\n", b"\narrays: {canary.txt: {at: %s, sha256: x}}\nfiles:\n" % S))
names["space, include folder"] = changed_space(
    (MINE_NAME, MINE_NAME + b", include: [%s]" % os.path.dirname(S)))

tries = {}
for number, (name, text) in enumerate(sources.items()):
    if THOROUGH or number % 2 == 0:
        tries[f"space: {name}"] = lambda place, text=text: by_space(place, text)
    if THOROUGH or number % 2 == 1:
        tries[f"export: {name}"] = lambda place, text=text: by_export(place, text)
for name in list(sources)[::6]:
    tries[f"database: {name}"] = lambda place, text=sources[name]: by_database(place, in_stored_source(text))
tries.update(names)

libc = ctypes.CDLL(None, use_errno=True)
IN_ACCESS, IN_OPEN = 0x1, 0x20
watch = libc.inotify_init1(os.O_NONBLOCK)
if watch < 0 or libc.inotify_add_watch(watch, S, IN_ACCESS | IN_OPEN) < 0:
    sys.exit("no inotify here")


def was_opened():
    try:
        return len(os.read(watch, 4096)) >= struct.calcsize("iIII")
    except BlockingIOError:
        return False


# It must be seen, or nothing is shown.
with open(secret, "rb"):
    pass
assert was_opened(), "inotify tells nothing"

strace = shutil.which("strace")
TRACED = ["strace", "-f", "-qq", "-s", "4096", "-e", "trace=%file"]
# Where the compiler looks for a header of that name is no file of the user's.
OUTSIDE = re.compile(rb'"[^"]*' + re.escape(S) + rb'[^"]*"|"(?:[^"]*/)?canary\.txt"')
HEADERS = re.compile(rb'"/[^"]*/include/(?:[a-z_/]*/)?(?:\./)?canary\.txt"')


def attempt(item):
    name, make = item
    wrong = []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        command = [program] + make(place)
        log = os.path.join(place, "trace")
        if strace:
            command = TRACED + ["-o", log] + command
        done = subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, timeout=100,
                              check=False)
        said = done.stdout + done.stderr
        if WORDS in said:
            wrong.append("it is quoted")
        if done.returncode not in (0, 1, 2):
            wrong.append(f"exit code {done.returncode}")
        if os.path.exists(os.path.join(place, "x.db")):
            with sqlite3.connect(os.path.join(place, "x.db")) as db:
                kept = db.execute("SELECT group_concat(message) FROM trials").fetchone()[0] or ""
            db.close()
            if WORDS.decode() in kept:
                wrong.append("it is kept in the database")
        if strace:
            with open(log, "rb") as trace:
                named = [line for line in trace if OUTSIDE.search(line) and not HEADERS.search(line)
                         and b"exec" not in line and b"readlink" not in line]
            # A path of a space is looked at, to say where it leads; nothing of a source is.
            if not name.startswith(("export: ", "database: ")):
                named = [line for line in named if b"open" in line and b"ENOENT" not in line]
            if named:
                wrong.append("strace: " + named[0].decode(errors="replace").strip())
        last = said.strip().splitlines()[-1] if said.strip() else b""
    return name, wrong, last


failed = 0
with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
    for name, wrong, last in pool.map(attempt, tries.items()):
        if wrong or "-v" in sys.argv:
            print(f"{'WRONG' if wrong else 'good'}: {name}: {'; '.join(wrong)} | {last[:200].decode(errors='replace')}")
        failed += bool(wrong)
if was_opened():
    print("WRONG: somebody has opened the file")
    failed += 1
print(f"{len(sources)} spellings in sources, {len(names)} names of files, {len(tries)} tries, {failed} wrong;"
      f" watched by inotify{' and strace' if strace else ''}")
sys.exit(failed > 0)
