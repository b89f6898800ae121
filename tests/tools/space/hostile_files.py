"""Gives the program files that a stranger could send, and looks at what it says, how long it takes and what memory.
Called by hostile_files_test.sh.

    hostile_files.py PROGRAM FOLDER CORPUS [-v]    as hostile_file_kinds.py says, which makes the files

Each file is read by one of the commands that read such files. Wanted of each: the exit code of tools/README.md for
wrong input (of `db check`, which is asked what is wrong, 1 with a table), one line on standard error, no control
characters, less than 10 seconds and less than a gigabyte.
"""

import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time

from hostile_file_kinds import KINDS, files, folder, program, read

verbose = "-v" in sys.argv
# All of them take most of a minute; usually every third is tried.
STEP = 1 if os.environ.get("FA_TUNE_THOROUGH") else 3
# Seconds of a processor: others may be at work on this machine. Who waits for ever uses none.
MOST_SECONDS, MOST_WAIT, MOST_KIB = 10, 60, 1 << 20

# A config that cannot be launched is a kernel that does not pass; so is a kernel that ends in a finding. Some sources
# are right, and only slow to look at. What is shown is shown, without what a terminal would act on.
OTHER_CODES = {"export: a long config": {1}, "ptx": {1, 2}, "space: its source, many": {0, 2}, "database: shown": {0},
               "database: other": {0, 1, 2}}
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def attempt(item):
    name, kind, file, command = item
    with tempfile.TemporaryDirectory(dir=folder) as place:
        ending = KINDS[kind][0]
        file.make(os.path.join(place, "x." + ending))
        words = [program, "--log-level", "error"] + command(place, "x." + ending)
        with open(os.path.join(place, "err"), "wb") as err, open(os.path.join(place, "out"), "wb") as out:
            begin = time.monotonic()
            child = subprocess.Popen(words, cwd=place, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            code, peak = None, 0
            while code is None and time.monotonic() - begin < MOST_WAIT:
                done, status, usage = os.wait4(child.pid, os.WNOHANG)
                if done:
                    code, peak = os.waitstatus_to_exitcode(status), usage.ru_maxrss
                    seconds = usage.ru_utime + usage.ru_stime
                else:
                    time.sleep(0.005)
            if code is None:
                child.kill()
                os.wait4(child.pid, 0)
                seconds = time.monotonic() - begin
            child.returncode = code if code is not None else -9
        said, told = read(place, "err").decode(errors="replace"), read(place, "out").decode(errors="replace")
        html = os.path.join(place, "new.html")
        page = read(html).decode(errors="replace") if os.path.exists(html) else ""
    wrong = []
    asked = words[3:5] == ["db", "check"] and code == 1
    if told.startswith("DEFECT"):
        said += told
    codes = next((codes for begin, codes in OTHER_CODES.items() if name.startswith(begin)), {1} if asked else {2})
    if code not in codes:
        wrong.append(f"exit code {code}")
    lines = [line for line in said.splitlines() if line.strip()]
    if code in (2, 3) and (len(lines) != 1 or not lines[0].startswith("fa-tune: ")):
        wrong.append(f"{len(lines)} lines on standard error")
    if CONTROL.search(said) or CONTROL.search(told) or CONTROL.search(page):
        wrong.append("control characters")
    if len(said) > 4100:
        wrong.append(f"{len(said)} characters")
    if any(len(each) > 70 for each in re.findall(r"(?<!\w)'([^']*)'(?!\w)", said)):
        wrong.append("a long quote")
    if seconds > MOST_SECONDS:
        wrong.append(f"{seconds:.1f} s")
    if peak > MOST_KIB:
        wrong.append(f"{peak >> 10} MiB")
    return name, wrong, seconds, peak, (lines or [""])[-1], words[3]


failed, slowest, largest, count = 0, (0, ""), (0, ""), 0
THREADS = max(2, os.cpu_count() or 2)
with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
    # A child's memory counts from that of this process: no more files are held than are tried.
    waiting, left = [], itertools.islice(files(), 0, None, STEP)
    while True:
        waiting += [pool.submit(attempt, item) for item in itertools.islice(left, 2 * THREADS - len(waiting))]
        if not waiting:
            break
        name, wrong, seconds, peak, line, command = waiting.pop(0).result()
        count += 1
        if wrong or verbose:
            print(f"{'WRONG' if wrong else 'good'}: {name} [{command}] {seconds:.2f} s {peak >> 10} MiB: {'; '.join(wrong)} | {line[:230]}")
        failed += bool(wrong)
        slowest, largest = max(slowest, (seconds, name)), max(largest, (peak, name))
print(f"{count} hostile files, {failed} wrong; slowest {slowest[0]:.2f} s ({slowest[1]}), largest {largest[0] >> 10} MiB ({largest[1]})")
sys.exit(failed > 0)
