#!/usr/bin/env bash
# What limits a kernel, from the command line: on the emulator, and what is said where a GPU is asked for.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
unset FA_TUNE_NCU

small_space small.yaml
try "$program" evolve --space small.yaml --db fa.db --device emulator:l4 --budget 12 --seed 3 --no-finals
check 'a search succeeds' equal "$status" 0
winner=$("$program" best --db fa.db --format csv -n 1 | tail -n 1 | cut -d, -f1)

try "$program" profile "$winner" --db fa.db --device emulator:l4 --seed 1
check 'profile succeeds' equal "$status" 0
check 'the table names the trial and the model' contains "$out" \
  "Profile of trial $winner, by the emulator's model of l4 (emulated NVIDIA L4), predicted"
check 'and a limit' contains "$out" 'limited by   '
check 'and what to try' contains "$out" 'to try'
check 'nothing is called measured' lacks "$out" measured
check 'what is said beside the data is not in it' lacks "$out" seed
check 'no line is wider than a page' equal "$(awk 'length > 100' "$out" | wc -l)" 0

try "$program" profile "$winner" --db fa.db --with emulator --seed 1 --format json
check 'as JSON, by the emulator of the target' equal "$status" 0
cp "$out" profile.json
cat >look.py <<'E2'
import json, sqlite3

found = json.load(open("profile.json"))
assert found["source"] == "emulator" and found["time_kind"] == "predicted", found
assert found["shares"] == dict(sorted(found["shares"].items(), key=lambda each: -each[1])), found["shares"]
db = sqlite3.connect("fa.db")
rows = db.execute("SELECT source, limited_by, profile, at FROM profiles WHERE trial = ?", [found["trial"]]).fetchall()
assert len(rows) == 2, rows
assert rows[1][1] == found["limit"]
assert json.loads(rows[1][2])["counters"] == found["counters"]
config = json.loads(db.execute("SELECT config FROM trials WHERE id = ?", [found["trial"]]).fetchone()[0])
tried = {row[0] for row in db.execute("SELECT config FROM trials")}
for move in found["next"]:
    assert config[move["gene"]] == move["value"], move
    for option in move["options"]:
        assert option["value"] != move["value"]
        assert (json.dumps(option["config"], separators=(",", ":")) in tried) == (option["trial"] is not None), option
E2
try python3 look.py
check 'the JSON is what is kept, and says what was tried' equal "$status$(tail -n 1 "$err")" 0
try "$program" db check fa.db
check 'the database is sound' equal "$status" 0

try "$program" show "$winner" --db fa.db
check 'show has the profile' contains "$out" "Profile by the emulator's model of l4"
try "$program" insights --db fa.db
check 'and so have insights' contains "$out" 'What limits trials that were profiled'
try "$program" report 1 --db fa.db --out page.html
check 'and the page' contains page.html 'What limits it'

try "$program" export --trial "$winner" --db fa.db --out winner.cu
try "$program" profile winner.cu --device emulator:l4
check 'an exported file is profiled too' equal "$status" 0
check 'and not kept' equal "$(sql fa.db 'SELECT count(*) FROM profiles')" 2
check 'the file says what its genes move' lacks "$out" 'does not say'
sed 's/^#define HEAD_DIM 16$/#define HEAD_DIM 32/' winner.cu >wrong.cu
check 'a fault is planted' is_not cmp -s winner.cu wrong.cu
try "$program" profile wrong.cu --device emulator:l4
check 'a kernel that is wrong is not profiled' equal "$status" 2
check 'and that is said' contains "$err" 'is not correct'

# What is asked for and is not there.
try "$program" profile 999 --db fa.db --device emulator:l4
check 'a trial that is not there is the user'"'"'s slip' equal "$status" 2
try "$program" profile nonsense --db fa.db --device emulator:l4
check 'so is what names no kernel' equal "$status" 2
try "$program" profile "$winner" --db fa.db --device emulator:l4 --with ncu
check 'ncu sees no emulator' equal "$status" 2
check 'and that is said' contains "$err" 'is no GPU'
try "$program" profile "$winner" --db fa.db --device cuda:0 --with emulator
check 'nor is a GPU an emulator' equal "$status" 2
if ! "$program" doctor | grep -q '^gpu *ok'; then
  try "$program" profile "$winner" --db fa.db --with ncu
  check 'without a GPU ncu is not asked' equal "$status" 3
  check 'one line says so' equal "$(grep -c 'no usable GPU; ' "$err")" 1
fi

# What ncu would start over this program launches its kernel and says nothing.
try "$program" profiled --file winner.cu --compiled nowhere --compiler 'NVRTC 0' --device emulator:l4 \
  --root "$repository" --seed 1 --launches 2 --seconds 60
check 'a kernel that was not compiled is not run' equal "$status" 3
check 'and that is said' contains "$err" 'not among those that were compiled'

finish
