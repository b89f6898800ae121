#!/usr/bin/env bash
# tools/bench/attention/page.py: the page that is kept is made of the data that are kept, and on data of known ratios
# its figures are right.
set -euo pipefail
# shellcheck source=tests/tools/check.sh
. "$(dirname "${BASH_SOURCE[0]}")/../check.sh"
page=$repository/tools/bench/attention/page.py kept=$repository/tools/bench/results/attention_grid
cd "$work"
export PYTHONDONTWRITEBYTECODE=1

mkdir all
try "$page" --out all
check 'all data at once' equal "$status" 0
for file in all/*; do
  check "$(basename "$file") is made of the data (if not: $page)" cmp "$file" "$kept/$(basename "$file")"
done
check 'no drawing is left from data that are gone' \
  equal "$(cd "$kept" && ls ./*.svg cells.md)" "$(cd all && ls ./*.svg cells.md)"
check 'no table is wider than 100 columns' equal "$(grep '^|' all/cells.md | awk 'length > 100')" ''

# Two cells of 8 and 4 GFLOP in 10 us: 800 and 400 TFLOP/s. FlexAttention did not compile for the second, and the blocks of
# FlashAttention-2 were kept for the first alone.
python3 - <<'PY'
import json
config = {"template": "mma", "BLOCK_M": 64, "BLOCK_N": 32, "FAST": True}
own = {"fa-tune": [9.5, 10.5], "sdpa cudnn": [19, 21], "sdpa flash": [28, 32]}
full = {"B": 1, "H": 1, "L": 31250, "Lq": 1000, "D": 64, "causal": False, "best_backend": "sdpa cudnn", "config": config,
        "us": {"fa-tune": 10, "sdpa cudnn": 20, "sdpa flash": 30, "flex": 50},
        "us_interval": own | {"flex": [49, 51]}, "speedup": 2.01, "speedup_interval": [1.99, 2.02],
        "speedup_flash": 3.01, "speedup_flash_interval": [2.99, 3.02], "speedup_flex": 5.01, "speedup_flex_interval": [4.99, 5.02],
        "sustained_us": {"sdpa cudnn": 24, "fa-tune": 10}}
causal = {key: value for key, value in full.items() if "flash" not in key and "flex" not in key and key != "sustained_us"}
causal |= {"causal": True, "speedup": 8.04, "config": config | {"BLOCK_N": 64},
           "us": {"fa-tune": 10, "sdpa cudnn": 20, "sdpa flash": 30}, "us_interval": own}
grid = {"device": "NVIDIA H100 80GB HBM3", "software": "PyTorch 9", "date": "2026-01-02", "method": "m", "suite": "s",
        "dtype": "fp16", "rows": [full, causal]}
json.dump(grid, open("known.json", "w"))
json.dump(grid | {"device": "NVIDIA L4"}, open("other.json", "w"))
json.dump([{"template": "mma"}], open("candidates.json", "w"))
PY
try "$page" known.json other.json --out .
check 'known data' equal "$status" 0
squeezed() { sed '/^## other/,$d; s/  */ /g' cells.md; }
squeezed >known.md
row() { check "$1" contains known.md "$2"; }
row 'where from' 'NVIDIA H100 80GB HBM3, PyTorch 9, 2026-01-02. fp16, suite'
row 'time, speed and share of the peak' '| 1, 1, 1000 x 31250, 64 | mma 1 | 10.00 [9.50, 10.50] | 800 | 80.9% |'
row 'a causal cell has half the operations' '| 1, 1, 1000 x 31250, 64 causal | mma 2 | 10.00 [9.50, 10.50] | 400 | 40.4% |'
row 'ratios by blocks' '| 1, 1, 1000 x 31250, 64 | cudnn | 2.010 [1.990, 2.020] | 2.400 | 3.010 [2.990, 3.020] |'
row 'FlexAttention in a table of its own, for the width' '| 1, 1, 1000 x 31250, 64 | 5.010 [4.990, 5.020] |'
row 'a ratio without blocks is marked, its interval from the ends' '| cudnn | 8.040 [1.990, 2.020] | | ~3.000 [2.667, 3.368] |'
row 'what did not race is empty' '| 1, 1, 1000 x 31250, 64 causal | 10.00 | 20.00 | 30.00 | |'
row 'the geometric mean of 2.01 and 8.04' '| best | 2 | 4.020 | 2.010 | 8.040 |'
row 'over the cells that raced' '| flex | 1 | 5.010 | 5.010 | 5.010 |'
row 'genes of all once' 'mma, all: BLOCK_M 64 FAST true'
row 'and those that differ' 'mma 2: BLOCK_N 64'
check 'no share of a peak that is not known' lacks <(sed '1,/^## other/d' cells.md) 'of peak'
cat >look.py <<'PY'
import math, re, xml.etree.ElementTree as tree

root = tree.parse("known.svg").getroot()
named = {tag: root.find("{*}" + tag).text for tag in ("title", "desc")}
assert "NVIDIA H100" in named["title"] and "64 causal: 8.040" in named["desc"], named
lines = [line for line in root.findall(".//{*}line") if line.get("stroke") == "#333"]
dots = {dot.find("{*}title").text: float(dot.get("cx")) for dot in root.findall(".//{*}circle")}
at = lambda words: next(x for text, x in dots.items() if text.startswith("1, 1, 1000 x 31250, 64" + words))
one, two, eight = float(lines[0].get("x1")), at(", the best"), at(" causal, the best")
assert len(lines) == 1 and abs((eight - one) / (two - one) - math.log(8.04) / math.log(2.01)) < 0.01, dots
assert sum("Flex" in text and "[" in text for text in dots) == 1, dots
whiskers = [path.get("d") for path in root.findall(".//{*}path")]
low, high = map(float, re.match(r"M([\d.]+) [\d.]+H([\d.]+)", whiskers[0]).groups())
scale = (two - one) / math.log(2.01)
assert abs(low - one - scale * math.log(1.99)) < 0.2 and abs(high - one - scale * math.log(2.02)) < 0.2, whiskers[0]
assert len(whiskers) == 5, whiskers
PY
check 'the drawing: names, the line at 1, dots and whiskers in their places' python3 look.py

for bad in candidates.json missing.json; do
  try "$page" "$bad" --out .
  check "$bad is refused" equal "$status" 2
  check 'in a line that says what was expected' contains "$err" 'expected what grid.py writes'
done
finish
