#!/usr/bin/env bash
# tools/bench/emulator/limiters: its cases are ones of the shipped spaces; on profiles whose limits are known it tells agreement
# from disagreement; a kernel that fails, or never ends, is listed as such.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
export PYTHONDONTWRITEBYTECODE=1 FA_TUNE=$program
limiters=$repository/tools/bench/emulator/limiters

cat >cases.py <<'E2'
import json, os, sys

sys.path[:0] = [os.path.join(sys.argv[1], folder) for folder in ("emulator", "lib")]
from limiter_kernels import CASES, chosen, narrowed, run, with_preset, with_younger_genes

assert sum(case.kernels for case in CASES) == 30
for number, case in enumerate(CASES):
    settings = [word for name, value in case.settings.items() for word in ("--set", f"{name}={value}")]
    space = narrowed(case, str(number))
    assert "\npresets:" not in open(space).read(), space
    for line in run("space", "sample", space, *settings, "-n", "20").splitlines():
        config = json.loads(line)
        assert config.get("template", case.template) == case.template, (case.name(), config)
        assert case.space != "decode" or config["SPLITS"] == 1, config
    # A config that is older than a gene gets the gene's first value, and keeps its own.
    if case.space == "h100_mma":
        older = {name: value for name, value in config.items() if name != "SCHEDULE"}
        assert with_younger_genes(space, older) == {**older, "SCHEDULE": "by_rows"}, older
    assert with_younger_genes(space, config) == config, config
    # A recorded config comes back as a preset.
    run("space", "sample", with_preset(space, config), *settings, "-n", "1")
families = {case.family for case in CASES}
shipped = {entry.name for entry in os.scandir(sys.argv[2]) if entry.is_dir() and entry.name != "include"}
assert shipped <= families, shipped - families
trials = [{"trial": number} for number in (5, 2, 9)]
pair, single = (next(case for case in CASES if case.kernels == kernels) for kernels in (2, 1))
assert [trial["trial"] for trial, _ in chosen(pair, trials)] == [5, 9]
assert [trial["trial"] for trial, _ in chosen(single, trials)] == [2]
E2
try python3 cases.py "$repository/tools/bench" "$repository/kernel_templates"
check 'the cases are of the shipped spaces and of all families' equal "$status$(tail -n 1 "$err")" 0

# A program in fa-tune's place. What it says of a kernel depends on the kernel's name and the device.
cat >fake <<'E2'
#!/usr/bin/env python3
import json, os, subprocess, sys, time

words = sys.argv[1:]
if words == ["--version"]:
    print("9.9")
    sys.exit()
assert words[0] == "profile", words
name, device = words[1].split("/")[-1].removesuffix(".cu"), words[words.index("--device") + 1]
gpu = not device.startswith("emulator")
if name == "hangs":
    sleeper = subprocess.Popen(["sleep", "300"], preexec_fn=os.setpgrp, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    open("sleeper", "w").write(str(sleeper.pid))
    time.sleep(600)
if name == "fails" and gpu:
    open(words[words.index("--ncu-output") + 1], "w").write("==ERROR== no counters\n")
    print("fa-tune: Nsight Compute failed", file=sys.stderr)
    sys.exit(3)

# limit, shares, SMs at work, stalls: Nsight Compute's, the model's
SAID = {
    "part": (("dram", {"dram": 81, "l2": 40}, 100, {"long_scoreboard": 90}),
             ("dram", {"dram": 71, "l2": 30}, 100, {"global memory": 50})),
    "waits": (("latency", {"issue": 20}, 100, {"long_scoreboard": 30, "lg_throttle": 25, "barrier": 45}),
              ("latency", {"issue": 30}, 100, {"async copies": 60, "barriers": 40})),
    "other_waits": (("latency", {"issue": 20}, 100, {"wait": 55, "no_instruction": 45}),
                    ("latency", {"issue": 30}, 100, {"async copies": 60, "arithmetic": 40})),
    "other_part": (("tensor", {"tensor": 81, "l2": 40}, 100, {"gmma": 90}),
                   ("l2", {"l2": 75, "tensor": 50}, 100, {"tensor cores": 50})),
    "threshold": (("latency", {"tensor": 56}, 100, {"gmma": 90}),
                  ("tensor", {"tensor": 62}, 100, {"tensor cores": 50})),
    "far_from_it": (("latency", {"tensor": 54}, 100, {"gmma": 90}),
                    ("tensor", {"tensor": 66}, 100, {"tensor cores": 50})),
    "two_parts": (("tensor", {"tensor": 81, "l2": 77}, 100, {"gmma": 90}),
                  ("l2", {"l2": 90, "tensor": 70}, 100, {"tensor cores": 50})),
    # What an SM has to do is no limit where SMs stand idle.
    "idle": (("parallelism", {"issue": 80, "l2": 10}, 7, {"wait": 90}),
             ("issue", {"issue": 80, "l2": 10}, 98, {"arithmetic": 50})),
    "fails": (None, ("dram", {"dram": 71}, 100, {"global memory": 50})),
}
limit, shares, active, stalls = SAID[name][0 if gpu else 1]
print(json.dumps({"kernel": words[1], "limit": limit, "time_us": 10,
                  "clock_us": {"part": 8, "waits": 20}.get(name) if gpu else None, "launch": None, "sms_active": active,
                  "counters": {} if gpu else {"global_sectors_read": 900000, "global_sectors_written": 100000,
                                              "bulk_bytes": 8000000},
                  "shares": shares, "stalls": [{"reason": reason, "percent": percent} for reason, percent in stalls.items()]}))
E2
chmod +x fake
export FA_TUNE=$PWD/fake

list() { # FOLDER NAME...
  local folder=$1
  shift
  mkdir "$folder"
  python3 -c 'import json, sys
print(json.dumps({"kernels": [{"file": name + ".cu", "family": "f"} for name in sys.argv[1:]]}))' "$@" \
    >"$folder/kernels.json"
}
list kernels part waits other_waits fails other_part threshold far_from_it two_parts idle
try "$limiters" measure kernels measured.json --timeout 600
check 'a kernel that fails is told by the exit code' equal "$status" 1
check 'with its reason' contains "$err" 'fails.cu: failed: exit code 3: fa-tune: Nsight Compute failed'
check 'and what ncu printed' contains "$err" 'ncu: ==ERROR== no counters'
check 'the others are profiled all the same' equal "$(grep -c '"profile": {' measured.json)" 8
try "$limiters" predict kernels predicted.json --timeout 600
check 'the model has all' equal "$status" 0
check 'no profile tells the folder' lacks predicted.json "kernels/"

try "$limiters" table measured.json predicted.json
check 'a table' equal "$status" 0
check 'counts agreement alone' contains "$out" 'names for 2 of 9 kernels;'
check 'and the others by their kind' contains "$out" '2 near ties, 4 differ, 1 failed.'
sed 's/  */ /g' "$out" >table
row() { check "$1" contains table "$2"; }
row 'the same part' '| part | dram 81% | 71% | dram 71% | 81% | 1.25 | agree |'
row 'the same group, whatever the reasons are called' \
  '| waits | latency: memory 55% | 60% | latency: memory 60% | 55% | 0.50 | agree |'
row 'another group' '| other_waits | latency: issue 55% | 40% | latency: memory 60% | | | differ |'
row 'another part' '| other_part | tensor 81% | 50% | l2 75% | 40% | | differ |'
row 'on either side of 60%, one of them near it' \
  '| threshold | latency: math 90% | 50% | tensor 62% | 56% | | near |'
row 'on either side, both far' '| far_from_it | latency: math 90% | 50% | tensor 66% | 54% | | differ |'
row 'two parts that one of them hardly tells apart' \
  '| two_parts | tensor 81% | 70% | l2 90% | 77% | | near |'
row 'idle SMs' '| idle | parallelism 7% | 98% | issue 80% | 80% | | differ |'
row 'what L2 serves, 40 MB in 10 us at 40% of its peak' '| part | 81% | 40% | 4000 | 10000 |'
check 'and no row where its share is small' lacks table '| idle | 0% | 10%'
row 'a kernel without a profile' '| fails | failed | | dram 71% | | | failed |'
check 'how far off times are' contains table 'off by a factor of 1.62 in the median, 0.50 to 1.25'
row 'how far apart shares are' '| dram | 1 | 10 | -10 | -10 |'
row 'and groups of stalls' '| barriers | 1 | 5 | -5 | -5 |'
check 'no line is wider than a page' equal "$(awk 'length > 100' "$out")" ''
check 'why it failed is said beside the table' contains "$err" 'measured.json: fails.cu failed: exit code 3'

# Times of kernels without tensor cores, where both have the kernel.
cat >times.py <<'E2'
import json

def kernel(name, us, clock=None, tensor=0):
    counters = {"tensor": tensor}
    profile = {"time_us": us, "clock_us": clock, "counters": counters}
    return {"file": name, "space": "s", "settings": {"sizes.n": 4}, "config": {"A": 1}, "profile": profile}

names = ["one.cu", "products.cu", "unmeasured.cu"]
json.dump({"device": "cuda:0", "kernels": [kernel(name, 1, 20 + i) for i, name in enumerate(names[:2])]},
          open("measured_times.json", "w"))
json.dump({"device": "emulator:h100", "date": "2026-11-27",
           "kernels": [kernel(name, 10, tensor=name == "products.cu") for name in names]},
          open("predicted_times.json", "w"))
E2
python3 times.py
try "$limiters" times times.json measured_times.json predicted_times.json
check 'times' equal "$status" 0
check 'are those of one kernel here' equal "$(python3 -c 'import json
data = json.load(open("times.json"))
print(data["model"], [(row["file"], row["shape"], row["median_us"], row["predicted_us"]) for row in data["rows"]])')" \
  "emulator:h100 [('one.cu', 's sizes.n=4', 20, 10)]"
try "$limiters" times both.json {measured,predicted}_times.json {measured,predicted}_times.json
check 'and of several pairs' equal "$(python3 -c 'import json; print(len(json.load(open("both.json"))["rows"]))')" 2
try "$limiters" times both.json measured_times.json
check 'half a pair is refused' equal "$status" 2

list hanging hangs
try "$limiters" predict hanging hanging.json --timeout 3
check 'one that does not end is given up' contains "$err" 'hangs.cu: failed: it did not end within 3 s'
sleeper=$(cat sleeper)
# Also where nobody asks for its exit code.
lives() { grep -qs 'State:.[^ZX]' "/proc/$sleeper/status"; }
for ((tries = 0; tries < 100; ++tries)); do
  lives || break
  sleep 0.1
done
check 'with all that it started' is_not lives
kill -9 "$sleeper" 2>/dev/null || true

python3 -c 'import json
data = json.load(open("predicted.json"))
del data["kernels"][1:]
json.dump(data, open("some.json", "w"))'
try "$limiters" table measured.json some.json
check 'of some kernels there is a table too' contains "$out" 'of 1 kernels'
try "$limiters" table measured.json hanging.json
check 'files of other kernels are refused' equal "$status" 2
check 'in a line' contains "$err" 'profile the same folder with both'
try "$limiters" measure nowhere out.json
check 'a folder without kernels is refused' equal "$status" 2
check 'in a line that says what was expected' contains "$err" 'nowhere/kernels.json: expected what'
finish
