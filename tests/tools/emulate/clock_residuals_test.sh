#!/usr/bin/env bash
# What the H200's residuals were fitted to is what its emulator says today: who changes the model is told to fit them again.
#   clock_residuals_test.sh BENCH_CLOCK
set -euo pipefail
program=$(readlink -f "$1")
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
clock=$repository/tools/bench/emulator/clock
file=$repository/search_spaces/devices/h200_residuals.json
python_with numpy
export PYTHONDONTWRITEBYTECODE=1

# Two kernels of each family from the latest draw that they were fitted to.
"$python" - "$repository/tools/bench/results/clock/fresh_20261217.json.gz" "$work" <<'E2'
import gzip, json, sys

for name, each in json.load(gzip.open(sys.argv[1])).items():
    if name not in ("mma_512_d64", "wgmma_512_d64"):
        continue
    rows = sorted(each["rows"], key=lambda row: row["median_us"])[:2]
    kept = ("config", "median_us", "interval_us", "sm_mhz")
    each["rows"] = [{key: row[key] for key in kept} for row in rows]
    json.dump(each, open(f"{sys.argv[2]}/measured_{name}.json", "w"))
E2
predict() { BENCH_CLOCK=$program CLOCK_CACHE=$work/cache try "$clock/fresh" predict "$work"; }
residuals() { try "$python" "$clock/residuals" check "$file" "$work"; }

predict
check 'kernels are predicted' equal "$status" 0
residuals
check 'they are as the file has them' equal "$(cat "$out")" "4 kernels are in $file as they are now"

# Another model: one of its results is another.
"$python" - "$work" <<'E2'
import json, sys

path = f"{sys.argv[1]}/predicted_mma_512_d64.json"
data = json.load(open(path))
data["rows"][0]["detail"]["simulated_us"] *= 1.01
json.dump(data, open(path, "w"))
E2
residuals
check 'a kernel that takes longer now is found' equal "$status" 1
check 'and what to do is said' contains "$err" 'fit` again'

# A draw that they were not fitted to.
sed -i 's/"seed": *20261217/"seed": 1/' "$work"/predicted_*.json
residuals
check 'a draw that it does not know is refused' equal "$status" 1
check 'in a line' contains "$err" "was not fitted to 1 "
finish
