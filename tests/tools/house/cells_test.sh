#!/usr/bin/env bash
# tools/bench/attention/cells with a program in fa-tune's place: what it is asked, what is kept, what is not done again.
set -euo pipefail
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
cd "$work"

# Finds nothing for causal cells with seed 2; of others the time is 10 us less the seed.
cat >fake <<'E2'
#!/usr/bin/env python3
import json, sqlite3, sys

words = sys.argv[1:]
with open("asked", "a") as log:
    log.write(" ".join(words) + "\n")
given = dict(zip(words, words[1:]))
if words[0] == "export":
    open(given["--out"], "w").write("kernel\n")
    sys.exit()
seed = int(given["--seed"])
db = sqlite3.connect(given["--db"])
db.execute("CREATE TABLE trials (run, outcome, at_ms, config, detail, screen_us)")
fast, slow = json.dumps({"kilocycles": 30}), json.dumps({"kilocycles": 40})
configs = [json.dumps({"template": "mma", "BLOCK_M": size}) for size in (16, 32, 64)]
rows = [(1, "failed", 100, configs[0], None, None), (1, "passed", 1500, configs[1], slow, 20), (1, "passed", 2000, configs[2], fast, 21)]
db.executemany("INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?)", rows)
db.commit()
if seed == 2 and "causal=true" in words:
    print("no variant passed", file=sys.stderr)
    sys.exit(1)
time = {"median": 10.0 - seed, "low": 1, "high": 20, "kind": "measured"}
best = {"trial": 7, "config": {"template": "mma", "BLOCK_M": 16 * seed}, "stage": "final", "time_us": time}
print(json.dumps({"run": 1, "trials": {"all": 30}, "seconds": 15.0, "best": best, "baseline_us": 20, "breakdown": {}}))
E2
chmod +x fake
export FA_TUNE=$work/fake

try "$repository/tools/bench/attention/cells" --suite tiny --seconds 5 --seeds 1,2 --out found --device cuda:0
check 'a cell without a winner is told' equal "$status" 1
check 'with the reason' contains "$err" 'nothing found (exit code 1): no variant passed'
check 'all are searched' equal "$(grep -c ^evolve asked)" 4
check 'for their own shape' contains asked '--set shape.B=1 --set shape.H=1 --set shape.L=64 --set shape.D=64 --set causal=true'
check 'for so long' contains asked '--budget 5s'
check 'winners are exported' equal "$(find found -name '*.cu' | wc -l)" 3
cat >look.py <<'E2'
import json

rows = json.load(open("found/cells.json"))["rows"]
assert len(rows) == 4 and sum("config" in row for row in rows) == 3
row = rows[0]
assert row["first_right_s"] == 1.5 and row["trials_per_s"] == 2 and row["trial"] == 7, row
assert abs(row["tflops"] - 4 * 64 * 64 * 64 / 9.0 / 1e6) < 1e-9
full, causal = json.load(open("found/candidates.json"))
assert full == {"template": "mma", "D": [64], "causal": [False], "L": [64], "config": {"BLOCK_M": 32}}, full
assert causal["config"] == {"BLOCK_M": 16}, causal
E2
check 'the best seed of each cell is a candidate' python3 look.py

rm found/D64-full-L64-B1-H1-seed1.json
try "$repository/tools/bench/attention/cells" --suite tiny --seconds 5 --seeds 1,2 --out found --device cuda:0
check 'what is there is not searched again' equal "$(grep -c ^evolve asked)" 5
check 'and is told as before' python3 look.py

try "$repository/tools/bench/attention/cells" --suite tiny --only full --seconds 5 --out screened --screened 1 --warm --jobs 3 --set scale_rows=64 --device cuda:0
check 'searches without finals' contains asked '--warm auto --db screened/cells.db --format json --jobs 3 --no-finals'
check 'with a setting of all cells' contains asked '--set scale_rows=64 --budget 5s'
check 'which the result has' contains screened/cells.json '"scale_rows=64"'
check 'their candidates are the best by cycles' contains screened/candidates.json '"BLOCK_M": 64'
check 'so many of them' equal "$(grep -c BLOCK_M screened/candidates.json)" 1
finish
