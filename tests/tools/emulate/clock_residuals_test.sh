#!/usr/bin/env bash
# What the H200's residuals were fitted to is what its emulator says today: who changes the model is told to fit them again.
#   clock_residuals_test.sh BENCH_CLOCK
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
clock=$root/tools/bench/emulator/clock
program=$(readlink -f "$1")
# shellcheck source=tests/tools/check.sh
. "$root/tests/tools/check.sh"

# Two kernels of each family from the latest draw that they were fitted to. Those of by_sum have changed since.
python3 - "$root/tools/bench/results/clock/fresh_20261217.json.gz" "$work" <<'E2'
import gzip, json, sys

for name, each in json.load(gzip.open(sys.argv[1])).items():
    if not name.endswith("mma_512_d64"):
        continue
    rows = [row for row in each["rows"] if row["config"]["RESCALE"] != "by_sum"]
    each["rows"] = sorted(rows, key=lambda row: row["median_us"])[:2]
    kept = ("config", "median_us", "interval_us", "sm_mhz")
    each["rows"] = [{key: row[key] for key in kept} for row in each["rows"]]
    json.dump(each, open(f"{sys.argv[2]}/measured_{name}.json", "w"))
E2
predict() { BENCH_CLOCK=$program CLOCK_CACHE=$work/cache try "$clock/fresh" predict "$work"; }
residuals() { try python3 "$clock/residuals" check "$root/search_spaces/devices/h200_residuals.json" "$work"; }

predict
check 'kernels are predicted' equal "$status" 0
residuals
check 'they are as the file has them' equal "$(cat "$out")" \
  "4 kernels are in $root/search_spaces/devices/h200_residuals.json as they are now"

# Another model: one of its results is another.
python3 - "$work" <<'E2'
import json, sys

path = f"{sys.argv[1]}/predicted_mma_512_d64.json"
data = json.load(open(path))
data["rows"][0]["detail"]["simulated_us"] *= 1.01
json.dump(data, open(path, "w"))
E2
residuals
check 'a kernel that takes longer now is found' equal "$status" 1
check 'and what to do is said' contains "$err" 'run `fresh predict` and `residuals fit` again'
finish
