#!/usr/bin/env bash
# A portfolio for sizes that nobody tuned: what its kernels take, as text, as JSON, in a header and in a module; which
# of them leave their place to others; and the script that holds shapes out.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

scale_space
search=(evolve --device emulator:l4 --warm off --no-finals)
for n in 64 4000 100000; do
  "$program" "${search[@]}" --space scale.yaml --db scale.db --budget 5 --seed 3 --set sizes.n=$n >log 2>&1
done
choose=(portfolio --db scale.db --dispatch --seed 1 --within 0)
try "$program" "${choose[@]}"
check 'it is learned' equal "$status" 0
check 'it says where it was learned' contains "$out" 'Outside of n 64..100000 it is trial'
check 'and what it costs' contains "$out" 'shapes that it knows'
cp "$out" first
try "$program" "${choose[@]}"
check 'again it is the same' equal "$(sed -n '/^For other/,$p' "$out")" "$(sed -n '/^For other/,$p' first)"
try "$program" "${choose[@]}" --draw 5 --choose-at sizes.n=70 --choose-at sizes.n=90000 --out scale.json
check 'shapes are drawn' contains "$err" 'timed at 8 of 8 shapes'
check 'on one device' contains "$err" 'are timed on emulator:l4 ('
check 'it says what it would choose' contains "$out" 'n=90000: trial'
cat >look.py <<'E2'
import json

told = json.load(open("scale.json"))
dispatch = told["dispatch"]
trials = {kernel["trial"] for kernel in dispatch["kernels"]}
assert trials == set(dispatch["robust"]) == {cost["choice"] for cost in dispatch["costs"]} and dispatch["outside"] in trials
assert dispatch["ranges"]["n"] == [64, 100000]
assert all(cost["fixed_us"] >= 0 and cost["step_us"] >= 0 and cost["fixed_us"] + cost["step_us"] > 0 for cost in dispatch["costs"])
assert dispatch["costs"][0]["queues"][0]["steps"].startswith("ceil_div(n, ")
assert 1 <= dispatch["regret"]["median"] <= dispatch["regret"]["p95"] <= dispatch["regret"]["worst"]
assert 1 <= dispatch["left_out"]["median"] <= dispatch["left_out"]["worst"]
assert [each["shape"]["n"] for each in dispatch["chosen"]] == [70, 90000]
assert all(set(each["trials"]) == trials for each in dispatch["chosen"])
drawn = [shape["n"] for shape in told["drawn"]]
assert len(drawn) == 5 and all(64 < n < 100000 for n in drawn) and len(told["shapes"]) == 3
assert all(len(kernel["time_us"]) == 8 for kernel in told["times"])
E2
check 'JSON has it' python3 look.py
cp "$out" one
try "$program" "${choose[@]}" --draw 5 --choose-at sizes.n=70 --choose-at sizes.n=90000 --time-on 'emulator:l4*2'
check 'several devices: they share the work' contains "$err" 'are timed on emulator:l4, emulator:l4 ('
check 'several devices: and come to the same' cmp -s "$out" one
try "$program" "${choose[@]}" --draw 5 --choose-at sizes.n=70 --choose-at sizes.n=90000 --times-of scale.json
check 'known times: nothing is timed' lacks "$err" 'timed at'
check 'known times: and it comes to the same' equal "$(sed -n '/^For other/,$p' "$out")" "$(sed -n '/^For other/,$p' one)"
try "$program" "${choose[@]}" --draw 6 --times-of scale.json
check 'known times: what is missing is timed' contains "$err" 'timed at 9 of 9 shapes'
try "$program" "${choose[@]}" --draw 5 --times-of look.py
check 'known times: another file is refused' equal "$status" 2
sed 's/"times"/"tides"/' scale.json >tides.json
try "$program" "${choose[@]}" --draw 5 --times-of tides.json
check 'known times: one without them too' contains "$err" 'expected what '"'fa-tune portfolio --out'"' writes'
sed 's/"device": "[^"]*"/"device": "a toaster"/' scale.json >toaster.json
try "$program" "${choose[@]}" --draw 5 --times-of toaster.json
check 'known times: of another device are refused' contains "$err" 'its times are of a toaster'
try "$program" "${choose[@]}" --draw 5 --time-on emulator:h100
check 'another device is refused' contains "$err" 'run this where the others were timed'
for form in header torch; do
  try "$program" "${choose[@]}" --as $form --gate-on emulator:l4 --out scale.$form
  check "$form: it is written" equal "$status" 0
  check "$form: its kernels were gated at other sizes" contains "$err" 'passed on emulator:l4 at n='
done
check 'header: it chooses' contains scale.header 'inline int dispatch(const Sizes& sizes) {'
check 'header: and knows where it learned' contains scale.header 'sizes.n < 64 || sizes.n > 100000'
check 'torch: it chooses' contains scale.torch 'def _dispatch(s):'
check 'torch: it is Python' python3 -m py_compile scale.torch
try "$program" portfolio --db scale.db --as header --out none.hpp
check 'without a dispatch there is no such file' equal "$status" 2
try "$program" portfolio --db scale.db --seed 1
check 'a portfolio without one is as it was' lacks "$out" 'For other sizes'
try "$program" portfolio --db scale.db --draw 3
check 'shapes are drawn for a dispatch alone' equal "$status" 2

# The fastest kernels, since the others are made to wait, are right at the sizes of their space alone: they leave
# their place to others, and that is said.
sed -e 's/if (i < n) y\[i\] = a/if (i < n) y[i] = (BLOCK != 64 || n == 4000 || n == 300 || n == 1 ? a : 0)/' \
  -e 's/^#pragma unroll PER/  for (int k = 0; BLOCK != 64 \&\& k < 100; ++k) __syncthreads();\n&/' mine.cu >luck.cu
sed -e 's/^space: scale/space: luck/' -e 's/source: mine.cu/source: luck.cu/' scale.yaml >luck.yaml
"$program" "${search[@]}" --space luck.yaml --db luck.db --budget 6 --seed 3 >log 2>&1
check 'luck: one of them is chosen' equal "$("$program" best --db luck.db --format json -n 1 | grep -c '"BLOCK": 64')" 1
try "$program" portfolio --db luck.db --candidates 10 --within 0 --dispatch --seed 1 --as header --gate-on emulator:l4 --out luck.hpp
check 'luck: others serve' equal "$status" 0
check 'luck: it is told' contains "$out" 'does not serve other sizes: it does not pass at other sizes'
check 'luck: none of them is in the header' lacks luck.hpp 'BLOCK=64'

# Sizes that are compiled in are refused, with the reason.
sed -e 's/^space: scale/space: baked/' -e 's/^  reference:/  defines: {SIZE: n}\n  reference:/' scale.yaml >baked.yaml
"$program" "${search[@]}" --space baked.yaml --db baked.db --budget 2 --seed 3 >log 2>&1
try "$program" portfolio --db baked.db --dispatch
check 'baked: it is refused' equal "$status" 2
check 'baked: with the reason' contains "$err" 'defines: SIZE rests on sizes'

# Attention, of which D and the mask are compiled in.
small_space window.yaml
sed '/^  window:/d' window.yaml >small.yaml
for set in shape.L=64 shape.L=160 causal=true; do
  "$program" "${search[@]}" --space small.yaml --db small.db --budget 4 --seed 1 --set $set >log 2>&1
done
try "$program" portfolio --db small.db --dispatch --seed 1 --within 0 --as header --gate-on emulator:l4 --out small.hpp
check 'attention: it is written' equal "$status" 0
check 'attention: with kernels for both masks' contains small.hpp 'sizes.causal == true'
check 'attention: and without one' contains small.hpp 'sizes.causal == false'

# The script goes on where it ended.
export FA_TUNE=$program
held=("$repository/tools/bench/portfolio/dispatch" --device emulator:h100 --trials 3 --held-out 1 --draw 1 --out out --name a
  --shape '1,1,64,64,64,full' --shape '1,1,128,128,64,full')
try "${held[@]}" --limit 1
check 'held out: the time is over at once' contains "$err" 'the same words go on'
try "${held[@]}"
check 'held out: it ends well' equal "$status" 0
check 'held out: it goes on' contains "$out" 'at 1 of 1 held-out shapes: median'
check 'held out: what it has is kept' contains out/a.json '"held_out"'
try "${held[@]}"
check 'held out: nothing is done twice' lacks "$err" 'learns'
check 'held out: one database is left' equal "$(echo out/*.db)" out/a.db
try "${held[@]}" --choose-again
check 'held out: it is chosen again' contains "$err" 'learns the dispatch'
check 'held out: and nothing is timed for that' contains out/a.json '"timed_now": 0'
check 'held out: but raced' contains "$err" 'races at'
finish
