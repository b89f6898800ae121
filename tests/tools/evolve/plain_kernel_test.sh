#!/usr/bin/env bash
# The plain kernel of a problem of one's own is timed once a run, and told beside the winner; without presets
# `ablate` goes back to the run's first trial.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

scale_space
# Slower than any of the space's, to the same bits.
sed 's/y\[i\] = a \* x\[i\]/{ float none = 0; for (int k = 1; k < 40; ++k) none += x[(i + 97 * k) % n] * 0; y[i] = a * x[i] + none; }/' \
  -i plain.cu
emulator=(--device emulator:l4 --seed 1 --no-finals)
plain() { sql "$1" 'SELECT run, us, message FROM plain_kernels'; } # DB

try "$program" evolve --space scale.yaml --budget 4 --db scale.db "${emulator[@]}"
check 'a search succeeds' equal "$status" 0
check 'it is told when it is timed' contains "$err" 'the plain kernel takes '
check 'and beside the winner' contains "$out" '  against the plain kernel '
check 'progress counts by it where there is no preset' grep -q 'best .* us predicted ([0-9.]*x)' "$err"
before=$(plain scale.db)
check 'once a run, with a time' grep -qx '1|[0-9.]*|' <<<"$before"
# The figures are those of the screens.
wanted=$(sql scale.db "SELECT printf('%.2fx', p.us / min(t.screen_us)) FROM plain_kernels p, trials t WHERE t.outcome = 'passed'")
check 'which is that of a slow kernel' test "${wanted%%.*}" -ge 2
check 'the ratio is that of the screens' grep -q "against the plain kernel .* $wanted\$" "$out"
trial=$("$program" best --db scale.db --format csv -n 1 | tail -n 1 | cut -d, -f1)
try "$program" best --db scale.db
check 'best tells it' grep -q "^trial $trial: $wanted the plain kernel, which takes .* us predicted\$" "$out"
try "$program" best --db scale.db --format json
check 'as JSON too' contains "$out" '"plain_us": {'
try "$program" show "$trial" --db scale.db
check 'show tells it' grep -q "beside .*$wanted the plain kernel, which takes .* us predicted" "$out"
try "$program" report 1 --db scale.db --out run.html
check 'the page has it' contains run.html '<span>the speed of the plain kernel, predicted</span>'
check 'with a bar' contains run.html 'the plain kernel</text>'

try "$program" evolve --resume 1 --budget 6 --db scale.db "${emulator[@]:0:2}" --no-finals --format json
check 'resumed' equal "$status" 0
check 'it is not timed again' lacks "$err" 'the plain kernel takes'
check 'and stays as it was' equal "$(plain scale.db)" "$before"
check 'the JSON has it' grep -q '"plain_us": [0-9.]*,' "$out"
check 'the database is sound' "$program" db check scale.db

# Where there is no preset.
first=$(sql scale.db "SELECT min(id) FROM trials WHERE outcome = 'passed'")
last=$(sql scale.db "SELECT max(id) FROM trials WHERE outcome = 'passed'")
try "$program" ablate "$last" --db scale.db "${emulator[@]:0:4}"
check 'ablate succeeds without a preset' equal "$status" 0
tr '\n' ' ' <"$out" >joined
check 'it says what it goes back to' contains joined "beside trial $first, the run's first that passed"
try "$program" ablate "$last" --db scale.db "${emulator[@]:0:4}" --format json
check 'as JSON' contains "$out" "\"baseline_trial\": $first"
cp "$out" ablation.json
try "$program" report 1 --db scale.db --out run.html --ablation ablation.json
check 'the page says so' contains run.html "beside trial $first, the run"
try "$program" ablate "$first" --db scale.db "${emulator[@]:0:4}"
check 'the first one has nothing to go back to' equal "$status" 2
check 'and that is said' contains "$err" "has no preset of the template mine to compare the trial with"
try "$program" ablate "$last" --db scale.db "${emulator[@]:0:4}" --baseline x
check 'a preset that is not there' equal "$status" 2

# One that cannot be timed: results are right, but it keeps something for the next launch.
sed -e 's/^extern/__device__ int kept;\nextern/' -e 's/^}/  if (i == 0) kept = n;\n}/' -i plain.cu
try "$program" evolve --space scale.yaml --budget 2 --db kept.db "${emulator[@]}"
check 'the search succeeds all the same' equal "$status" 0
check 'it is said once' equal "$(grep -c 'the plain kernel was not timed: ' "$err")" 1
check 'and at the end' grep -q '^  the plain kernel was not timed: .*kept' "$out"
check 'kept as such' grep -q '^1||.*kept' <<<"$(plain kept.db)"
try "$program" report 1 --db kept.db --out run.html
check 'the page says so too' contains run.html 'the plain kernel was not timed: '

# A shipped space with presets: what times are compared with stays the first of these.
try "$program" evolve --space "$repository/search_spaces/softmax.yaml" --set sizes.rows=64 --budget 3 --db softmax.db \
  --device emulator:h100 "${emulator[@]:2}"
check 'softmax succeeds' equal "$status" 0
check 'its presets are told' contains "$out" '  against preset '
check 'and the plain kernel' contains "$out" '  against the plain kernel '
# Attention has no plain kernel.
small_space small.yaml
try "$program" evolve --space small.yaml --budget 2 --db small.db "${emulator[@]}"
check 'no plain kernel, no words' lacks "$out" 'plain kernel'
check 'nor a row' equal "$(plain small.db)" ''
finish
