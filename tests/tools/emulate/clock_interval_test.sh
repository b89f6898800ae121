#!/usr/bin/env bash
# The errors that predictions are shown with, computed by bench_clock from rows that are made up here, against the same
# in Python: quantiles, shapes and genes left out, kernels that are held out or not modelled.
#   clock_interval_test.sh BENCH_CLOCK
set -euo pipefail
program=$(readlink -f "$1")
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
cd "$work"

cat >rows.py <<'E2'
import json, math

def row(shape, error, us, gene, kind="mma.sync"):
    return {"shape": shape, "config": {"template": "mma", "GENE": gene}, "median_us": us * math.exp(error),
            "predicted_us": us, "detail": {"interval": {"kind": kind}}}

# One shape has a wider spread than the other, and gene 2 is off in one direction.
rows = [row("a", (i % 11 - 5) / 50 + 0.03 * (i % 3), 10 + i, i % 3) for i in range(25)]
rows += [row("b", (i % 7 - 3) / 100 + 0.03 * (i % 3), 100 + i, i % 3) for i in range(25)]
rows.append({"shape": "a", "config": {"template": "mma"}, "median_us": 1, "not_modelled": "why"})
others = [row("c", error, 5, 0) for error in (-0.5, 0, 0.01, 0.5)]
others += [row("c", error, 5, 0, "no tensor cores") for error in (0, 1)]
json.dump({"model": "emulator:h100", "rows": rows}, open("rows.json", "w"))
json.dump({"model": "emulator:h100", "rows": others}, open("others.json", "w"))
json.dump({"model": "emulator:l4", "rows": rows}, open("l4.json", "w"))
E2
python3 rows.py
try "$program" interval rows.json --held-out others.json --table table.inc --data data.json
check 'it succeeds' equal "$status" 0
check 'the table has a row for each kind' equal "$(grep -c '^    {' table.inc)" 4
check 'nothing is known of what was not timed' grep -q '^    {},  // wgmma$' table.inc

cat >look.py <<'E2'
import json, math

rows = [each for each in json.load(open("rows.json"))["rows"] if "predicted_us" in each]
others = json.load(open("others.json"))["rows"]
data = json.load(open("data.json"))
mma = data["kinds"]["mma.sync"]
error = lambda each: math.log(each["median_us"] / each["predicted_us"])

def quantile(values, p):
    values = sorted(values)
    place = p * (len(values) + 1) - 1
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)

def middle(some):
    errors = [error(each) for each in some]
    return quantile(errors, 0.05), quantile(errors, 0.95)

def inside(limits, some):
    return {"good": sum(limits[0] <= error(each) <= limits[1] for each in some), "of": len(some)}

def near(a, b):
    assert abs(a - b) < 1e-9, (a, b)

assert (mma["kernels"], mma["shapes"], data["not_modelled"]) == (50, 2, 1), mma
near(mma["low"], middle(rows)[0])
near(mma["high"], middle(rows)[1])
pairs = [abs(error(a) - error(b)) for i, a in enumerate(rows) for b in rows[:i] if a["shape"] == b["shape"]]
assert len(pairs) == 600
near(mma["apart"], quantile(pairs, 0.8))
for shape in "ab":
    wanted = inside(middle([each for each in rows if each["shape"] != shape]),
                    [each for each in rows if each["shape"] == shape])
    assert mma["shape_left_out"]["shapes"][shape] == wanted, (shape, wanted, mma["shape_left_out"])
# What has the wider spread is not inside of what the other one gives.
assert mma["shape_left_out"]["shapes"]["a"]["good"] < 23
assert mma["shape_left_out"]["shapes"]["b"]["good"] == 25
assert list(mma["gene_left_out"]) == ["GENE"], mma["gene_left_out"]
for gene in range(3):
    wanted = inside(middle([each for each in rows if each["config"]["GENE"] != gene]),
                    [each for each in rows if each["config"]["GENE"] == gene])
    assert mma["gene_left_out"]["GENE"][str(gene)] == wanted, (gene, wanted)
assert mma["held_out"] == {"good": 2, "of": 4}, mma["held_out"]
assert data["kinds"]["no tensor cores"]["held_out"]["of"] == 2
print("{50, 2, %.4f, %.4f, %.4f},  // mma.sync" % (mma["low"], mma["high"], mma["apart"]))
E2
try python3 look.py
check 'it is what Python makes of the rows' equal "$status$(tail -n 1 "$err")" 0
check 'and is what the program is built with' contains table.inc "$(cat "$out")"

try "$program" interval l4.json --table table.inc --data data.json
check 'errors beside another model are refused' equal "$status" 3
check 'in a line' contains "$err" 'l4.json: predicted by emulator:l4; expected emulator:h100'
finish
