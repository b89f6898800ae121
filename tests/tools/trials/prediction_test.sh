#!/usr/bin/env bash
# How far off a predicted time may be: evolve, best, show, the page, JSON and the database say it, and
# what the model does not tell apart. What it does not cover ranks nothing.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

small_space small.yaml
search=(evolve --space small.yaml --device emulator:l4 --budget 24 --seed 3 --warm off --no-finals)
try "$program" "${search[@]}" --db fa.db
check 'a search succeeds' equal "$status" 0
# Lines are broken anywhere between words.
joined() { tr -s ' \n' ' ' <"$1" >"$1.joined" && echo "$1.joined"; } # FILE
last_words=$(joined "$out")
check 'the last words have an interval' \
  grep -Eq 'best: trial [0-9]+ of run 1, [0-9.]+ us predicted for NVIDIA L4 \(no GPU was used\) \[[0-9.]+, [0-9.]+\]' "$last_words"
check 'what it rests on' grep -Eq \
  '90% interval: on an H100 kernels of its kind \(mma\.sync; [0-9]+ of them, [0-9]+ shapes\) took [0-9.]+ to [0-9.]+ times as long as predicted; and the profile.s constants for NVIDIA L4 have ranges' "$last_words"

# The database's own figures, and what follows from them.
cat >wanted.py <<'E2'
import json, sqlite3, sys

rows = sqlite3.connect(sys.argv[1]).execute(
    "SELECT id, screen_us, screen_low_us, screen_high_us, detail FROM trials "
    "WHERE outcome = 'passed' ORDER BY screen_us, id").fetchall()
assert len(rows) > 4, rows
for trial, us, low, high, detail in rows:
    interval = json.loads(detail)["interval"]
    assert 0 < low < high and (low, high) == (interval["low_us"], interval["high_us"]), trial
    fast, slow = interval["constants_us"]
    assert fast < us < slow, (trial, fast, us, slow)
    error = interval["error"]
    assert abs(low - fast * error[0]) < 1e-9 * us and abs(high - slow * error[1]) < 1e-9 * us, trial
best = rows[0]
apart = json.loads(best[4])["interval"]["apart"]
tied = [row[0] for row in rows[1:] if row[1] / best[1] < apart]
print(best[0], "%.2f" % best[1], "%.2f" % best[2], "%.2f" % best[3], "%.2f" % apart, len(tied), json.dumps(tied))
E2
read -r trial us low high apart count tied < <(python3 wanted.py fa.db)
check 'each trial has the interval that its detail has' test -n "$tied"
check 'the figures are those of the database' contains "$last_words" "$us us predicted for NVIDIA L4 (no GPU was used) [$low, $high]"
if [ "$count" -gt 0 ]; then
  told="$count more within $apart times its time: the model does not tell them apart (trial"
else
  told="no other within $apart times its time"
fi
check 'how many are not told apart' contains "$last_words" "$told"

try "$program" best --db fa.db
table=$(joined "$out")
check 'best has intervals' contains "$out" "$low .. $high"
check 'what they rest on' contains "$table" '90% interval: on an H100 kernels of its kind (mma.sync; '
check 'and ties' contains "$table" "trial $trial: $told"
try "$program" best --db fa.db --format json
cat >best.py <<'E2'
import json, sys

best = json.load(open("best.json"))
first, second = best[0], best[1]
assert first["trial"] == int(sys.argv[1])
assert first["time_us"]["low"] < first["time_us"]["high"], first
assert first["prediction"]["not_told_apart"] == json.loads(sys.argv[2]), first["prediction"]
assert first["prediction"]["rests_on"].startswith("90% interval: "), first
assert second["prediction"]["rests_on"] and second["prediction"]["told_apart_from"] is None, second
E2
cp "$out" best.json
try python3 best.py "$trial" "$tied"
check 'best as JSON has all of it' equal "$status$(tail -n 1 "$err")" 0
try "$program" best --db fa.db --format csv -n 1
check 'as CSV the ends' grep -Eq ',[0-9.]+,[0-9.]+,[0-9.]+,predicted,' "$out"

try "$program" show "$trial" --db fa.db
check 'show has the interval' contains "$out" "$us us, interval $low .. $high"
check 'and what it rests on' contains "$(joined "$out")" '90% interval: on an H100'
try "$program" report 1 --db fa.db --out run.html
check 'the page has it' contains run.html "predicted, not measured, [$low, $high]"
check 'with its sentence' contains run.html '90% interval: on an H100'
check 'the database is sound' "$program" db check fa.db

try "$program" "${search[@]}" --db other.db --format json
cat >evolve.py <<'E2'
import json, sys

best = json.load(open(sys.argv[1]))["best"]
assert best["time_us"]["kind"] == "predicted" and best["time_us"]["low"] < best["time_us"]["high"], best
assert len(best["prediction"]["not_told_apart"]) == int(sys.argv[2]), best
E2
cp "$out" evolve.json
try python3 evolve.py evolve.json "$count"
check "evolve's JSON has it" equal "$status$(tail -n 1 "$err")" 0

# A kernel of one's own, on the GPU whose constants were measured.
echo 'extern "C" __global__ void nothing() {}' >nothing.cu
try "$program" emulate nothing.cu --kernel nothing --block 32 --counters --device h100
check 'emulate tells it' grep -Eq '^interval: [0-9.]+ to [0-9.]+ us$' "$out"
check 'and for an H100 names no ranges' lacks "$(joined "$out")" 'have ranges'

# What is not modelled: on an L4 an f64 instruction is a 64th as fast as one in f32, which the model does
# not know.
cat >slow.cu <<'E2'
extern "C" __global__ void slow(double* y) {
  double sum = threadIdx.x;
  for (int i = 0; i < 4000; ++i) sum = sum * 0.999 + i;
  y[threadIdx.x] = sum;
}
E2
slow=(emulate slow.cu --kernel slow --block 32 --arg 'out:f64[32]' --counters)
try "$program" "${slow[@]}" --device l4
check 'a kernel that is not modelled is no failure' equal "$status" 0
check 'it has no time' lacks "$out" predicted
check 'and it is said why' contains "$out" 'not modelled, so there is no time: slow: arithmetic in f64'

scale_space
sed -i 's/y\[i\] = a \* x\[i\]/{ double s = x[i]; for (int j = 0; j < 500; ++j) s = s * 0.5 + x[i]; y[i] = a * x[i] + (s < -1e9); }/' mine.cu
try "$program" evolve --space scale.yaml --device emulator:l4 --seed 1 --budget 3 --no-finals --db none.db
check 'such trials fail at the screen' equal \
  "$(sql none.db "SELECT DISTINCT stage || ' ' || outcome || ' ' || finding FROM trials WHERE outcome <> 'duplicate'")" \
  'screen failed not_modelled'
check 'and rank nothing' equal "$(sql none.db 'SELECT count(*) FROM best')" 0
try "$program" failures --db none.db
check 'their reason is one line' contains "$out" not_modelled
finish
