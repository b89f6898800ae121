#!/usr/bin/env bash
# A search on the emulator from the command line to the exported winner: what each command prints, that
# it is what the database holds, and that a seed gives the same search again.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

small_space small.yaml
# The first 16 have no parents; tools_report has the same search of 24.
if [ -n "${FA_TUNE_THOROUGH:-}" ]; then trials=36; else trials=24; fi
search=(evolve --space small.yaml --db fa.db --device emulator:l4 --budget "$trials" --seed 3
  --warm off)  # a run that learned from the other would not be its twin

try "$program" "${search[@]}"
check 'a search succeeds' equal "$status" 0
check 'no working file of SQLite is left' equal "$(ls)" "$(printf 'fa.db\nsmall.yaml')"
check 'its last words lead on' contains "$out" ' --db fa.db --out winner.cu'
check 'times are called predictions' contains "$err" 'times are predictions by the model of NVIDIA L4'
check 'nothing is called measured' lacks "$out" measured
check 'all trials are there' equal "$(sql fa.db 'SELECT count(*) FROM trials WHERE run = 1')" "$trials"
check 'some passed' test "$(sql fa.db "SELECT count(*) FROM trials WHERE outcome = 'passed'")" -gt 4
check 'one of them is final' equal "$(sql fa.db "SELECT count(*) FROM trials WHERE stage = 'final'")" 1
check 'the run is done' equal "$(sql fa.db 'SELECT state FROM runs')" 'done'

# best: three forms of the same, each against the database.
try "$program" best --db fa.db
check 'a table' equal "$status" 0
check 'with its kind of time' contains "$out" 'predicted us'
"$program" best --db fa.db --format json --limit 100 >best.json
"$program" best --db fa.db --format csv --limit 100 >best.csv
cat >forms.py <<'E2'
import csv, json, sqlite3

best = json.load(open("best.json"))
rows = list(csv.reader(open("best.csv", newline="")))
db = sqlite3.connect("fa.db")
keys = "trial space device arch config time_us verdict source_hash run seed final plain_us prediction".split()
assert best, "an empty list"
for entry in best:
    assert list(entry) == keys, list(entry)
    assert list(entry["time_us"]) == ["median", "low", "high", "kind"], entry["time_us"]
    time = entry["time_us"]
    assert time["low"] <= time["median"] <= time["high"] and time["kind"] == "predicted", time
    assert (entry["space"], entry["device"], entry["arch"]) == ("small", "emulator:l4", "sm_89")
    assert (entry["verdict"], entry["run"], entry["seed"]) == ("passed", 1, 3)
    config, source, us = db.execute(
        "SELECT config, source_hash, time_us FROM trials WHERE id = ?", [entry["trial"]]).fetchone()
    assert (entry["config"], entry["source_hash"]) == (json.loads(config), source)
    assert time["median"] == us, (time, us)
passed = db.execute("SELECT count(*) FROM trials WHERE outcome = 'passed'").fetchone()[0]
assert len(best) == passed, (len(best), passed)
screened = [entry["time_us"]["median"] for entry in best[1:]]
assert screened == sorted(screened), "not the fastest first"

header, *rest = rows
assert header == ("trial space device arch config time_us_median time_us_low time_us_high time_kind "
                  "verdict source_hash run seed").split(), header
assert len(rest) == len(best)
for row, entry in zip(rest, best):
    assert len(row) == len(header), row
    entry["config"] = json.dumps(entry["config"], separators=(",", ":"))
    time = entry.pop("time_us")
    flat = {**entry, **{"time_us_" + key: time[key] for key in ("median", "low", "high")},
            "time_kind": time["kind"]}
    for name, cell in zip(header, row):
        wanted = flat[name]
        assert (float(cell) == wanted if isinstance(wanted, float) else cell == str(wanted)), (name, row)
E2
try python3 forms.py
check "best as JSON and CSV is the database's" equal "$status$(tail -n 1 "$err")" 0
check 'another space has none' equal \
  "$("$program" best --db fa.db --space other --format json 2>/dev/null || echo "exit $?")" \
  "$(printf '[]\nexit 1')"

# insights: of the run, and as they were kept when it ended.
try "$program" insights --db fa.db
check 'insights succeed' equal "$status" 0
check 'they name the run' contains "$out" "Insights of run 1, $trials trials"
check 'effects have an interval and their kind of time' contains "$out" 'predicted'
check 'nothing of them is called measured' lacks "$out" measured
"$program" insights --db fa.db --format json >insights.json
cat >insights.py <<'E2'
import json, sqlite3

insights = json.load(open("insights.json"))
assert list(insights) == "run time_kind trials passed effects interactions failures operators profiles".split()
assert insights["profiles"] == []
assert insights["time_kind"] == "predicted"
assert insights["operators"] and sum(each["trials"] for each in insights["operators"]) == insights["trials"]
for effect in insights["effects"]:
    ratio = effect["ratio"]
    assert 0 < ratio["low"] <= ratio["estimate"] <= min(1, ratio["high"]), effect
    assert effect["seen"] == (effect["p"] < 0.05 and ratio["high"] < 1), effect
kinds = {"effects": "effect", "interactions": "interaction", "failures": "failure", "operators": "operator"}
db = sqlite3.connect("fa.db")
for key, kind in kinds.items():
    kept = db.execute("SELECT insight FROM insights WHERE run = 1 AND kind = ? ORDER BY place", [kind])
    assert [json.loads(row[0]) for row in kept] == insights[key], key
E2
try python3 insights.py
check "insights as JSON are the database's" equal "$status$(tail -n 1 "$err")" 0
try "$program" insights --db fa.db --run 7
check 'a run that is not there' equal "$status" 2

# show and lineage, of the winner and of a child.
winner=$(python3 -c 'import json; print(json.load(open("best.json"))[0]["trial"])')
try "$program" show "$winner" --db fa.db
check 'show succeeds' equal "$status" 0
for fact in "Trial $winner:" emulator:l4 'Time, predicted' final registers "$(sql fa.db \
  "SELECT source_hash FROM trials WHERE id = $winner")"; do
  check "show tells $fact" contains "$out" "$fact"
done
child=$(sql fa.db 'SELECT max(trial) FROM lineage_edges')
parent=$(sql fa.db "SELECT parent FROM lineage_edges WHERE trial = $child AND ordinal = 0")
gene=$(sql fa.db "SELECT key FROM lineage_edges, json_each(genes) WHERE trial = $child LIMIT 1")
check 'the search has a child' test -n "$child"
try "$program" lineage "$child" --db fa.db
check 'lineage succeeds' equal "$status" 0
check 'lineage tells the child' contains "$out" "Lineage of trial $child, run 1"
check 'lineage tells its parent' grep -Eq "^ +$parent " "$out"
check 'lineage tells what changed' contains "$out" "$gene"

# export and verify: gated anew from the file alone, and an edit is seen.
try "$program" export --db fa.db --out winner.cu
check 'export succeeds' equal "$status" 0
check 'the export names the trial' contains winner.cu "// trial      $winner:"
mkdir alone
mv winner.cu alone
cd alone
try "$program" verify winner.cu --device emulator:l4 --suite quick --suite ragged
check 'the export passes' equal "$status" 0
check 'on each suite asked for' equal "$(grep -c ' passed$' "$out")" 2
check 'and is known as unedited' lacks "$err" edited
sed 's/kLog2E = 1.4426950408889634f/kLog2E = 1.40f/' winner.cu >edited.cu
check 'the edit changes the file' is_not cmp -s winner.cu edited.cu
try "$program" verify edited.cu --device emulator:l4 --suite quick
check 'an edited kernel is gated as it is' equal "$status" 1
check 'with a warning' contains "$err" 'edited.cu: the kernel'"'"'s text was edited'
check 'and its fault' contains "$out" 'wrong: '
if command -v nvcc >/dev/null; then
  try nvcc -arch=sm_89 -c winner.cu -o winner.o
  check 'nvcc takes the export' equal "$status$(cat "$err")" 0
else
  echo 'SKIPPED: no nvcc, the export was not compiled with it'
fi
cd ..
try "$program" verify --db fa.db --trial "$winner" --device emulator:l4 --suite quick
check 'verify --trial succeeds' equal "$status" 0

# The same seed again, in the same file.
try "$program" "${search[@]}"
check 'the second search is run 2' contains "$out" 'of run 2'
second=$(sed -n 's/^best: trial \([0-9]*\) of run 2,.*/\1/p' "$out")
check 'what to do next is with its trial' contains "$out" "fa-tune export $second --db fa.db"
check 'and its run' contains "$out" "fa-tune best --run 2 --db fa.db"
check 'with as many trials' equal "$(sql fa.db 'SELECT count(*) FROM trials WHERE run = 2')" "$trials"
rows='SELECT number, config, operation, stage, outcome, finding, source_hash, code_hash, screen_us,
  final_us, worst_ratio FROM trials WHERE run ='
check 'the first holds nothing else' equal "$(sql fa.db "$rows 1 EXCEPT $rows 2")" ''
check 'nor does the second' equal "$(sql fa.db "$rows 2 EXCEPT $rows 1")" ''
stop_early TERM other.db --space small.yaml --device emulator:l4 --budget 1h --seed 4
stop_early TERM other.db --device emulator:l4 --resume 1
check 'another seed is another search' is_not test \
  "$(sql other.db 'SELECT config FROM trials WHERE number = 2')" = \
  "$(sql fa.db 'SELECT config FROM trials WHERE id = 2')"

# The views, as a person would ask them.
for view in best failures lineage runs_summary sample_values; do
  try sqlite3 fa.db "SELECT * FROM $view"
  check "view $view answers" equal "$status$(cat "$err")" 0
done
check 'view best has the winner first' equal \
  "$(sql fa.db 'SELECT trial, measured_us IS NULL FROM best WHERE place = 1 LIMIT 1')" "$winner|1"
check 'view lineage has the child' equal \
  "$(sql fa.db "SELECT parent FROM lineage WHERE trial = $child AND ordinal = 0")" "$parent"
check 'view failures adds up' equal "$(sql fa.db 'SELECT total(count) FROM failures')" \
  "$(sql fa.db "SELECT total(1) FROM trials WHERE outcome = 'failed'")"

# Of two problems in one file none is the best: what is exported must be said.
cp fa.db two.db
try "$program" evolve --db two.db --space small.yaml --set shape.Lq=32 --device emulator:l4 --budget 1 \
  --no-finals
check 'a search of another shape' equal "$status" 0
for form in cu ptx; do
  try "$program" export --db two.db --as "$form" --out both.out
  check "export --as $form does not choose between problems" equal "$status" 2
  check 'it says how to' contains "$err" 'Name the trial, or say which with --run, --space'
  check 'and writes nothing' is_not test -e both.out
done
try "$program" export "$second" --db two.db --out one.cu
check 'one that is named is exported' equal "$status$(grep -c "trial *$second" one.cu)" 01
try "$program" export --run 3 --db two.db --out one.cu
check 'so is the best of one run' equal "$status" 0

# Two databases in one: nothing is lost, and what belongs together stays together.
try "$program" merge fa.db two.db --out both.db --format json
check 'two databases are merged' equal "$status" 0
check 'the merged one is sound' "$program" db check both.db
for table in runs trials lineage_edges samples attempts sessions insights; do
  check "all $table of both" equal "$(sql both.db "SELECT count(*) FROM $table")" \
    "$(($(sql fa.db "SELECT count(*) FROM $table") + $(sql two.db "SELECT count(*) FROM $table")))"
done
check 'a run is the same under its new number' equal \
  "$("$program" db check both.db | awk '$1 == "run" { print $NF }' | sort)" \
  "$(for db in fa.db two.db; do "$program" db check "$db" | awk '$1 == "run" { print $NF }'; done | sort)"
try "$program" merge fa.db two.db --out both.db
check 'a file that is there is not written over' equal "$status$(grep -c 'is there already' "$err")" 21
try "$program" best --db fa.db --stable --format json
check 'the stable pick is one' equal "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))))' "$out")" 1
try "$program" best --db two.db --stable
check 'of several problems there is none' equal "$status" 2

# A space of six configs, two of which are wrong: why they failed is said, and that no config is left.
scale_space
sed -i 's/if (i < n)/if (i < n \&\& BLOCK != 64)/' mine.cu
try "$program" evolve --db six.db --space scale.yaml --device emulator:l4 --budget 10
check 'a space is gone through' equal "$status" 0
check 'which is said' contains "$out" 'All 6 valid configs of the space were tried.'
check 'so are the reasons of failures' contains "$out" '2 of 6 trials failed:'
check 'in words' contains "$out" '2 at gate  not_finite, as trial '
try "$program" failures --db six.db
check 'failures lists them' equal "$status$(grep -c '^ *2  gate   not_finite ' "$out")" 01
try "$program" failures --db six.db --format json
check 'as JSON too' equal "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["failed"])' "$out")" 2
sed -i 's/BLOCK != 64/nothing/' mine.cu
try "$program" evolve --db none.db --space scale.yaml --device emulator:l4 --budget 2
check 'nothing passed' equal "$status" 1
check 'for one reason' contains "$out" 'error: identifier "nothing" is undefined'
check 'and the command that tells more is named' contains "$err" 'fa-tune failures --run 1 --db none.db'

echo "$(sql fa.db 'SELECT count(*) FROM trials') trials in 2 runs of one seed, 0 differences"
finish
