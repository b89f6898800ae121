#!/usr/bin/env bash
# tools/bench/emulator/clock/published: its committed results are of its sources, and its tables of the results; what
# rates, ratios, intervals and left-out calls are is held to figures that are made up here.
set -euo pipefail
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
cd "$work"
export PYTHONDONTWRITEBYTECODE=1
published=$repository/tools/bench/emulator/clock/published
results=$repository/tools/bench/results/clock

cat >fits.py <<'E2'
import importlib.machinery, importlib.util, json, sys
from pathlib import Path

loader = importlib.machinery.SourceFileLoader("published", sys.argv[1])
published = importlib.util.module_from_spec(importlib.util.spec_from_loader("published", loader))
loader.exec_module(published)
kept = json.loads(Path(sys.argv[2]).read_text())["sources"]
sources = published.sources()
assert [source["id"] for source in sources] == [source["id"] for source in kept]
for source, result in zip(sources, kept):
    assert source["url"].startswith("https://") and source["title"] and source["chip"] in ("a100", "l4")
    rows = source.pop("rows")
    assert {key: value for key, value in result.items() if key != "rows"} == source, source["id"]
    assert len(rows) == len(result["rows"]), source["id"]
    for row, kept_row in zip(rows, result["rows"]):
        assert row == {key: kept_row[key] for key in row}, (source["id"], row)
        assert abs(kept_row["published_us"] - published.published_us(source, row)) < 0.001, (source["id"], row)
        assert kept_row["low_us"] <= kept_row["predicted_us"] <= kept_row["high_us"], (source["id"], row)

flop = published.attention_flop
assert flop("2,3,512,64") == 4 * 2 * 3 * 512 * 512 * 64
assert flop("2,3,512,64,causal") == flop("2,3,512,64") / 2
bottom_right = sum(1024 - 256 + i + 0.5 for i in range(256))  # keys that each query sees
assert flop("1,1,256,64,causal,shape.Lk=1024,causal_alignment=bottom_right") == 4 * 64 * bottom_right
E2
try python3 fits.py "$published" "$results/published.json"
check 'the committed results are of the sources' equal "$status$(tail -n 1 "$err")" 0

mkdir copy
cp "$results/published.json" copy
try "$published" --table --results copy
check 'the table needs no program' equal "$status" 0
check 'the page is what the results say' cmp -s copy/published.md "$results/published.md"
missing=$(grep -Fvxf "$results/README.md" "$out" || true)
check 'the README has every line of the summary' equal "$missing" ''
check 'no line of the summary is wider than a page' equal "$(awk 'length > 100' "$out")" ''

mkdir own
cat >own/published.json <<'E2'
{"date": "2000-01-01", "sources": [{"id": "s", "label": "products", "chip": "l4", "kind": "gemm fp16", "kernel": "k",
 "space": "gemm.yaml", "unit": "TFLOP/s", "calls": true, "title": "A title", "url": "https://a.b", "note": "", "rows": [
 {"shape": "sizes.m=1,sizes.n=1,sizes.k=1", "config": {"template": "mma"}, "figure": 1, "published_us": 10,
  "predicted_us": 1, "low_us": 0.5, "high_us": 2, "bound_by": "l2"},
 {"shape": "sizes.m=2,sizes.n=2,sizes.k=2", "config": {"template": "mma"}, "figure": 1, "published_us": 20,
  "predicted_us": 30, "low_us": 15, "high_us": 40, "bound_by": "l2"},
 {"shape": "sizes.m=3,sizes.n=3,sizes.k=3", "config": {"template": "mma"}, "figure": 1, "published_us": 50,
  "predicted_us": 25, "low_us": 20, "high_us": 49, "bound_by": "dram"}]}]}
E2
try "$published" --table --results own
check 'the summary leaves out what may be a call' contains "$out" \
  '| L4 | products | 2, 1 calls | 1.00 | 0.50 to 1.50 | 1 |  |'
check 'the page has it, marked' contains own/published.md \
  '| m=1, n=1, k=1 * | 1 | 10.0 | 1.0 [0.5, 2.0] | 0.10 | l2 |'
check 'and the others' contains own/published.md '| m=3, n=3, k=3 | 1 | 50.0 | 25.0 [20.0, 49.0] | 0.50 | dram |'

cat >clock.sh <<'E2'
#!/usr/bin/env bash
# bench_clock predict ASKED DEVICE SAID: a time for each figure, and after twenty an error, once.
if [ -e calls ] && [ ! -e stopped ] && [ "$(wc -l <calls)" -ge 20 ]; then
  touch stopped
  echo 'no more' >&2
  exit 3
fi
echo "$2" >>calls
echo "{\"rows\": [{\"predicted_us\": $((RANDOM + 1)), \"detail\": {\"bound_by\": \"l2\",
  \"interval\": {\"low_us\": 1, \"high_us\": 40000}}}]}" >"$4"
E2
chmod +x clock.sh
again() { BENCH_CLOCK=./clock.sh try "$published" --results again --kept kept; }
kept() { find kept -name '*.json' | wc -l; }
again
check 'a run whose program fails ends' equal "$status" 1
check 'in the line that the program said' contains "$err" 'no more'
check 'and writes no results' equal "$(ls again 2>/dev/null)" ''
before=$(wc -l <calls)
check 'but keeps what it has' equal "$(kept)" "$before"
again
check 'the next one goes on' equal "$status" 0
check 'and asks for nothing twice' equal "$(wc -l <calls)" "$(kept)"
cp again/published.json first.json
again
check 'one after it asks for nothing and says the same' equal \
  "$(wc -l <calls)$(cmp again/published.json first.json)" "$(kept)"
echo '# another program' >>clock.sh
again
check 'another program predicts all anew' equal "$(wc -l <calls)" "$(kept)"
check 'beside what is kept' test "$(kept)" -gt "$(grep -c figure first.json)"

try "$published" --table --results nowhere
check 'results that are not there are refused' equal "$status" 2
check 'in a line that says what to do' contains "$err" 'run it without --table first'
BENCH_CLOCK=nowhere/bench_clock try "$published" --results own
check 'so is a program that is not there' equal "$status" 2
check 'in a line that says how to build it' contains "$err" 'ninja -C build/dev bench_clock'
finish
