#!/usr/bin/env bash
# Files of other tools from the command line: T1 spaces, recorded tables replayed and scored, and a run
# exported as a table and read back.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

cat >demo_T1.json <<'T1'
{"General": {"BenchmarkName": "demo"},
 "ConfigurationSpace": {
  "TuningParameters": [
   {"Name": "x", "Type": "int", "Values": "[2**i for i in range(6)]", "Default": 8},
   {"Name": "y", "Type": "int", "Values": "list(range(1, 5))", "Default": 2}],
  "Conditions": [{"Expression": "4 <= x * y <= 64", "Parameters": ["x", "y"]}]}}
T1
try "$program" space count demo_T1.json
check 'a T1 space is counted' equal "$status $(cat "$out")" '0 18'
try "$program" space check demo_T1.json
check 'and checked' contains "$out" 'good, a T1 file'
try "$program" space sample -n 3 demo_T1.json
check 'and sampled' equal "$(grep -c '^{"x":' "$out")" 3
try "$program" evolve --space demo_T1.json
check 'but its kernel is not run without a reference' equal "$status" 2
check 'which is said' contains "$err" 'is a T1 file'
sed 's/x \* y/x.y/' demo_T1.json >bad_T1.json
try "$program" space count bad_T1.json
check 'a condition that is no expression' equal "$status" 2
check 'is named with its place' contains "$err" 'bad_T1.json:6:'

cat >kernel_T1.json <<'T1'
{"ConfigurationSpace": {"TuningParameters": [{"Name": "block_size_x", "Type": "int", "Values": "[32, 64]"}]},
 "KernelSpecification": {"Language": "CUDA", "KernelName": "twice", "KernelFile": "twice.cu", "ProblemSize": [1000],
  "Arguments": [{"Name": "y", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": 1000},
                {"Name": "x", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly", "Size": 1000}]}}
T1
try "$program" space check kernel_T1.json
check 'a T1 file without its kernel is checked' equal "$status" 0
check 'and what it is good for is said' contains "$out" 'twice.cu, which is not there'
echo '__global__ void twice(float* y) { y[threadIdx.x] = 2; }' >twice.cu
try "$program" space check kernel_T1.json
check 'a kernel beside it is checked too' equal "$status" 2
check 'as one of a space' contains "$err" '2 arguments (y, x) where twice'

# A table of 400 configs around a valley, written as Kernel Tuner writes it.
python3 - <<'PY'
import gzip, json
cache = {}
for x in range(20):
    for y in range(20):
        entry = {"x": x, "y": y, "time": 1 + 0.1 * (abs(x - 13) + abs(y - 4)), "compile_time": 100.0,
                 "verification_time": 0, "benchmark_time": 10.0 + x}
        if (x + y) % 9 == 5:
            entry["time"] = "CompilationFailedConfig"
        cache[f"{x},{y}"] = entry
table = {"device_name": "D", "kernel_name": "K", "problem_size": [1], "tune_params_keys": ["x", "y"],
         "tune_params": {"x": list(range(20)), "y": list(range(20))}, "objective": "time", "cache": cache}
text = json.dumps(table)
open("valley.json", "w").write(text)
gzip.open("packed.json.gz", "wt").write(text)
open("cut.json", "w").write(text[: text.index('"19,19"')] .rstrip().rstrip(",") + ",")
PY
try "$program" replay valley.json --strategy random --seeds 8 --format json
check 'a table is replayed' equal "$status" 0
cp "$out" one.json
try "$program" replay packed.json.gz --strategy random --seeds 8 --format json --jobs 3 --curve curve.csv
sed 's/packed/valley/' "$out" >packed.json
check 'packed or not, and with any threads, the same' cmp one.json packed.json
check 'a curve is written' equal "$(wc -l <curve.csv)" 201
try "$program" replay cut.json --strategy random --seeds 2
check 'a table that ends early is used' equal "$status" 0
check 'and that is said' contains "$err" '399 configs that are whole'
check 'the form that scripts read' python3 - <<'PY'
import json
answer = json.load(open("one.json"))
assert set(answer["score"]) == {"mean", "low", "high"}, answer
assert set(answer["evaluations_to"]) == {"10", "5", "2", "1"}, answer
assert answer["score"]["low"] <= answer["score"]["mean"] <= answer["score"]["high"]
table = answer["tuners"][0]["tables"][0]
assert table["optimum_ms"] == 1
shares = table["share_within_after"]
assert set(shares) == {"10", "5", "2", "1"} and set(shares["5"]) == {"25", "50", "100", "200"}, shares
assert 0 < shares["10"]["25"] <= shares["10"]["200"] <= 1, shares
PY
try "$program" replay valley.json --strategy evolve --seeds 2 --batch 1 --ahead 15
cp "$out" ahead.txt
try "$program" replay valley.json --strategy evolve --seeds 2 --under-way 16
check 'trials under way are batches of one' cmp ahead.txt "$out"
try "$program" replay valley.json --strategy evolve --seeds 2 --under-way 16 --batch 4
check 'and are said in one way' equal "$status" 2
printf 'tuner,table,seed,evaluation,key,time_ms,elapsed_ms\nlucky,valley,0,1,"13,4",1,1\n' >trace.csv
try "$program" replay valley.json --trace trace.csv
check 'the trace of another tuner is scored' contains "$out" 'lucky'
check 'and was at the optimum nearly from the start' contains "$out" '1.000'
try "$program" replay demo_T1.json --strategy random
check 'what is no table is refused' equal "$status" 2
try "$program" replay valley.json --strategy no_such
check 'as is a strategy that nobody knows' equal "$status" 2

small_space small.yaml
sed -i '/^  window: /d' small.yaml # all keys at every shape of the finals
try "$program" evolve --space small.yaml --db fa.db --device emulator:l4 --budget 6 --seed 3
check 'a search' equal "$status" 0
for form in t4 cachefile; do
  try "$program" export --db fa.db --run 1 --as "$form" --out "run_$form.json.gz"
  check "it is exported as $form" equal "$status" 0
  try "$program" replay "run_$form.json.gz" --strategy exhaustive --seeds 1 --format json
  check "and $form is read back" equal "$status" 0
  sed "s/run_$form/run/" "$out" >"$form.answer"
done
check 'as the same table' cmp t4.answer cachefile.answer
fastest=$(sql fa.db "SELECT min(time_us) / 1000 FROM trials WHERE outcome = 'passed'")
check 'with the time of the fastest' python3 -c "
import json
found = json.load(open('t4.answer'))['tuners'][0]['tables'][0]['optimum_ms']
assert abs(found / $fastest - 1) < 1e-9, (found, $fastest)"
try "$program" export --db fa.db --as t4 --out x.json
check 'a table without a run is refused' equal "$status" 2

finish
