#!/usr/bin/env bash
# A winner taken apart from the command line, on the emulator.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

small_space small.yaml
try "$program" evolve --space small.yaml --db fa.db --device emulator:l4 --budget 20 --seed 3 --no-finals
check 'a search succeeds' equal "$status" 0
winner=$("$program" best --db fa.db --format csv -n 1 | tail -n 1 | cut -d, -f1)

try "$program" ablate "$winner" --db fa.db --device emulator:l4 --seed 1
check 'ablate succeeds' equal "$status" 0
check 'the table names the trial and the preset' contains "$out" "Ablation of trial $winner"
check 'and its baseline' contains "$out" 'preset fa2'
check 'times are called predicted' contains "$out" 'predicted us'
check 'nothing has an interval' lacks "$out" ' interval  '
check 'steps are told beside the data' contains "$err" 'genes differ'
check 'and not in it' lacks "$out" 'genes differ'

try "$program" ablate "$winner" --db fa.db --device emulator:l4 --seed 1 --genes all --format json
check 'as JSON' equal "$status" 0
cp "$out" ablation.json
cat >look.py <<'E2'
import json, sqlite3

found = json.load(open("ablation.json"))
keys = "trial run space shape device time_kind seed baseline baseline_trial trial_config baseline_config time_us rows"
assert list(found) == keys.split(), list(found)
db = sqlite3.connect("fa.db")
config = db.execute("SELECT config FROM trials WHERE id = ?", [found["trial"]]).fetchone()[0]
assert found["trial_config"] == json.loads(config)
row_keys = ("kind wanted also because config outcome finding message time_us ratio verdict blocks product "
            "interaction")
differing = [gene for gene, value in found["trial_config"].items() if found["baseline_config"][gene] != value]
backs = []
for row in found["rows"]:
    assert list(row) == row_keys.split(), list(row)
    if row["ratio"]:
        assert row["ratio"]["low"] is None, "a prediction has no interval"
        beside = found["time_us"]
        if row["kind"] != "forward":
            assert abs(row["ratio"]["median"] - row["time_us"] / beside) < 1e-9, row
    if row["kind"] == "back":
        backs.append(row["wanted"][0]["gene"])
        changed = {each["gene"]: each["to"] for each in row["wanted"] + row["also"]}
        for gene, value in row["config"].items():
            assert value == changed.get(gene, found["trial_config"][gene]), (gene, row)
assert sorted(backs) == sorted(differing), (backs, differing)
E2
try python3 look.py
check 'each differing gene goes back once, and the rest is the trial' equal "$status$(tail -n 1 "$err")" 0

try "$program" ablate "$winner" --db fa.db --device emulator:l4 --baseline nobody
check 'an unknown preset is the user'"'"'s slip' equal "$status" 2
check 'and the known ones are named' contains "$err" fa2
try "$program" ablate 999 --db fa.db --device emulator:l4
check 'so is a trial that is not there' equal "$status" 2

finish
