#!/usr/bin/env bash
# Winners leave: as a module for PyTorch, a header, PTX; and the few that serve several shapes. What the module does
# is tried where Python has PyTorch (tests/engine/export says how without a GPU), a header where there is cuda.h.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/cli.sh"

small_space small.yaml
search=(evolve --space small.yaml --db fa.db --device emulator:l4 --seed 3 --warm off)
"$program" "${search[@]}" --budget 2 >log 2>&1
"$program" "${search[@]}" --budget 1 --set layout=BSHD >log 2>&1

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

try "$program" export --db fa.db --run 1 --as header --out winner.hpp
check 'a header is written' equal "$status" 0
check 'with its launch' contains winner.hpp 'inline CUresult launch(const Sizes& sizes, const __half* Q'
try "$program" export --db fa.db --as header --out winner.hpp
check 'pointers of two layouts are told apart' equal "$status" 2
check 'and named' contains "$err" 'differ in layout'
try "$program" export 1 --db fa.db --as ptx --out winner.ptx
check 'PTX is written' contains winner.ptx '.visible .entry attention_mma'
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
try "$program" "${choose[@]}" --within 1000% --candidates 2 --out few.json
check 'a portfolio is chosen' equal "$status" 0
check 'one kernel is enough where much is allowed' contains "$out" '1 of '
check 'and that is the fewest' contains "$out" 'and no fewer do'
cat >look.py <<'E2'
import json, sys

few = json.load(open(sys.argv[1]))
assert few["fewest"] and few["at_least"] == len(few["kernels"]), few
assert len(few["shapes"]) == 2 and few["kind"] == "predicted" and few["timed_now"] >= 0, few
chosen = {kernel["trial"] for kernel in few["kernels"]}
for shape in few["shapes"]:
    assert shape["trial"] in chosen
    assert shape["best_us"] <= shape["time_us"] <= shape["best_us"] * (1 + few["within"]), shape
E2
check 'the choice holds what it says' python3 look.py few.json
"$program" "${choose[@]}" --within 0 --candidates 1 --out best.json >/dev/null 2>&1
check 'so does one that allows nothing' python3 look.py best.json
check 'which is no smaller' test "$(grep -c '"config"' best.json)" -ge "$(grep -c '"config"' few.json)"
try "$program" export --db fa.db --portfolio few.json --as torch --out few.py
check 'it is exported' equal "$status" 0
check 'for all shapes' contains "$err" 'for 2 shapes'
try "$program" "${choose[@]}" --within many
check 'a share that is none' equal "$status" 2
try "$program" export --db fa.db --portfolio small.yaml --as torch --out none.py
check 'a portfolio that is none' contains "$err" 'portfolio --out'

# Without a GPU, beside PyTorch.
if command -v cc >/dev/null && [ -n "${FA_TUNE_CUDA_INCLUDE:-}" ]; then
  folder=$repository/tests/engine/export
  cc -shared -fPIC -isystem "$FA_TUNE_CUDA_INCLUDE" "$folder/fake_cuda.c" -o fake.so
  sed -e 's/^space: .*/space: maps/' -e 's/Lq: 512, Lk: 512/Lq: 64, Lk: 64/' -e 's/H: 8/H: 2/' \
    -e '/^  fa2/d' "$repository/search_spaces/h100.yaml" >maps.yaml
  status=0
  python3 "$folder/torch_module_test.py" --probe >/dev/null 2>&1 || status=$?
  if [ "$status" = 77 ]; then
    echo 'skipped: no PyTorch to try the modules with'
  else
    "$program" evolve --space maps.yaml --db maps.db --device emulator:h100 --budget 1 --seed 1 >log 2>&1
    "$program" export --db maps.db --as torch --out maps.py 2>/dev/null
    "$program" evolve --space softmax.yaml --set sizes.rows=16 --set sizes.columns=64 --db custom.db \
      --device emulator:h100 --budget 1 --seed 1 >log 2>&1
    "$program" export --db custom.db --as torch --out custom.py 2>/dev/null
    # Capability and layout alone decide there, so kernels for an L4 do as well.
    try python3 "$folder/torch_module_test.py" ./fake.so winners.py maps.py custom.py
    check 'the modules hold beside PyTorch' equal "$status" 0
  fi
else
  echo 'skipped: no cuda.h to make a libcuda of the tests with'
fi
finish
