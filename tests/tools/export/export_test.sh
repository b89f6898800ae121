#!/usr/bin/env bash
# Winners leave: as a module for PyTorch, a header, PTX; and the few that serve several shapes. What other
# programs make of them: export_nvcc_test.sh, export_torch_test.sh.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

scale_space
# What is compiled for its sizes fits no case of the others: that is said, and does not pass.
sed 's/^  arguments:/  defines: {N: n}\n  arguments:/' scale.yaml >sized.yaml
"$program" evolve --space sized.yaml --db sized.db --device emulator:l4 --warm off --budget 1 --seed 3 >log 2>&1
"$program" export 1 --db sized.db --out sized.cu 2>/dev/null
try "$program" verify sized.cu --device emulator:l4 --suite quick
check 'a suite without a case is an error' equal "$status" 2
check 'and says so' contains "$err" "suite 'quick' has no case"
try "$program" verify sized.cu --device emulator:l4
check 'beside others it is told' contains "$out" 'none'
check 'which decide' equal "$status" 0

search=(evolve --space scale.yaml --db fa.db --device emulator:l4 --warm off)
"$program" "${search[@]}" --budget 3 --seed 3 >log 2>&1
"$program" "${search[@]}" --budget 2 --seed 4 --set sizes.n=900 >log 2>&1

try "$program" export --db fa.db --as torch --out winners.py
check 'a module is written' equal "$status" 0
check 'with a kernel for each shape' contains "$err" 'for 2 shapes, in winners.py'
check 'it is Python' python3 -m py_compile winners.py
"$program" export 1 2>/dev/null --db fa.db --out winner.cu
try "$program" export winner.cu --as torch --out from_cu.py
check 'so is that of an exported file' python3 -m py_compile from_cu.py
code() { python3 -c 'import sys; exec(open(sys.argv[1]).read().split("import base64")[0]); print(_KERNELS[0]["code"])' "$1"; }
"$program" export 1 --db fa.db --as torch --out one.py 2>/dev/null
check 'with the same machine code' equal "$(code from_cu.py)" "$(code one.py)"

try "$program" export --db fa.db --as header --out winner.hpp
check 'a header is written' equal "$status" 0
check 'with its launch' contains winner.hpp 'inline CUresult launch(const Sizes& sizes, const float* x, float* y,'
try "$program" export 1 --db fa.db --as ptx --out winner.ptx
check 'PTX is written' contains winner.ptx '.visible .entry scale'
check 'with its launch' contains winner.ptx '// launch begin'
try "$program" export 1 2 --db fa.db --as torch --out two.py
check 'two kernels for one shape are one too many' equal "$status" 2
try "$program" export 77 --db fa.db --as torch --out none.py
check 'a trial that is not there' equal "$status" 2
try "$program" export hello --db fa.db --as torch --out none.py
check 'what is no trial' contains "$err" 'names no kernel'
check 'leaves no file' is_not test -e none.py

# The portfolio: pairs that no run timed are timed now, and the choice can be exported.
choose=(portfolio --db fa.db --seed 1)
try "$program" "${choose[@]}" --within 1000% --also sizes.n=77 --out few.json
check 'a portfolio is chosen' equal "$status" 0
check 'one kernel is enough where much is allowed' contains "$out" '1 of '
check 'and that is the fewest' contains "$out" 'and no fewer do'
cat >look.py <<'E2'
import json, sys

few = json.load(open(sys.argv[1]))
assert few["fewest"] and few["at_least"] == len(few["kernels"]), few
assert len(few["shapes"]) == int(sys.argv[2]) and few["kind"] == "predicted" and few["timed_now"] > 0, few
chosen = {kernel["trial"] for kernel in few["kernels"]}
for shape in few["shapes"]:
    assert shape["trial"] in chosen
    assert shape["best_us"] <= shape["time_us"] <= shape["best_us"] * (1 + few["within"]), shape
E2
check 'the choice holds what it says' python3 look.py few.json 3
"$program" "${choose[@]}" --within 0 --out best.json >/dev/null 2>&1
check 'so does one that allows nothing' python3 look.py best.json 2
try "$program" export --db fa.db --portfolio few.json --as torch --out few.py
check 'it is exported' equal "$status" 0
check 'for all shapes' contains "$err" 'for 3 shapes'
try "$program" "${choose[@]}" --within many
check 'a share that is none' equal "$status" 2
try "$program" export --db fa.db --portfolio scale.yaml --as torch --out none.py
check 'a portfolio that is none' contains "$err" 'portfolio --out'

finish
