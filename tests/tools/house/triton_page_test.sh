#!/usr/bin/env bash
# tools/bench/emulator/triton: its page is what the results say, and what is not found has a reason; what
# planted.py takes out, alone and in sets, with a program in fa-tune's place.
set -euo pipefail
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
cd "$work"
export PYTHONDONTWRITEBYTECODE=1
scripts=$repository/tools/bench/emulator/triton
results=$repository/tools/bench/results/triton

try python3 "$scripts/page.py"
check 'the page needs no program' equal "$status" 0
missing=$(grep -Fvxf "$results/README.md" "$out" || true)
check 'the page has each line of its tables' equal "$missing" ''

mkdir copy
cp "$results"/*.json copy
sed -i '$!d; s/.*/[]/' copy/not_found.json
try python3 "$scripts/page.py" --results copy
check 'what is not found needs a reason' equal "$status" 1
check 'and is named' contains "$err" "('gemm_sm_80', 60)"

# What needs an order: the read, the barrier `a` before it; then `b`, or the loop's wait beside it.
cat >fake <<'E2'
#!/usr/bin/env python3
import json, os, sys
from pathlib import Path

launch = Path(sys.argv[2])
ptx = (launch.parent / json.loads(launch.read_text())["file"]).read_text()
if not (launch.parent / f"{launch.stem}.in.npy").exists():
    sys.exit(5)
if "bra wait" in ptx and "try_wait" not in ptx:
    sys.exit(6)
if "no file" in ptx:
    print("fa-tune: no such file", file=sys.stderr)
    sys.exit(2)
if "unheard" in ptx:
    print("fa-tune: unknown_instruction: unheard", file=sys.stderr)
    sys.exit(1)
if "wrong" in ptx or "bar.sync 1" not in ptx or not ("bar.sync 2" in ptx or "try_wait" in ptx):
    print("fa-tune: race: two of them", file=sys.stderr)
    sys.exit(1)
E2
chmod +x fake
export FA_TUNE_PROGRAM=$work/fake
mkdir -p all/right all/others
cat >all/right/k.ptx <<'E2'
st.shared.b32 [%r1], %r2;
bar.sync 0;
@%p1 bar.sync 1;
ld.shared.b32 %r2, [%r1];
bar.sync 2;
wait:
mbarrier.try_wait.parity.shared.b64 %p1, [%r3], %r4;
@!%p1 bra wait;
fence.proxy.async;
bar.warp.sync -1;
ret;
E2
echo wrong >all/others/wrong.ptx
echo unheard >all/others/unheard.ptx
echo no file >all/others/without.ptx
printf 'bar.sync 0;\n' | tee -a all/others/*.ptx >/dev/null
for name in others/wrong others/unheard others/without right/k; do
  echo "{\"file\": \"${name#*/}.ptx\"}" >"all/$name.json"
  touch "all/$name.in.npy"
done
try python3 "$scripts/planted.py" all/right --out right.json
check 'a correct kernel that nobody accuses' equal "$status" 0
cat >rows.py <<'E2'
import json, sys

told = json.load(open("right.json"))
rows = {row["line"]: row for row in told["planted"]}
assert [twin["accused"] for twin in told["right_twins"]] == [False]
assert list(rows) == [2, 3, 5, 7, 9, 10], list(rows)
assert [line for line, row in rows.items() if row["found"] == "race"] == [3], rows
together = {line: row["found_with"] for line, row in rows.items() if "found_with" in row}
assert together == {5: [7], 7: [5]}, together
assert [line for line, row in rows.items() if row["before_first_read"]] == [3], rows
assert rows[7]["without"] == "mbarrier.try_wait"
E2
try python3 rows.py
check 'found alone, found together and neither' equal "$status$(tail -n 1 "$err")" 0
try python3 "$scripts/planted.py" all --out all.json
check 'an accused twin fails it' equal "$status" 1
check 'launches in folders are found, one that cannot be run is told' contains "$out" \
  'cannot be run: unknown_instruction: unheard'
check 'with the reason, whatever it is' contains "$out" 'cannot be run: no such file'
check 'nothing is taken out of an accused one' contains "$out" \
  '1 of 6 found, 2 more together with others;'
check 'the totals' contains "$out" '1 of 2 right twins accused, 2 not run'
finish
