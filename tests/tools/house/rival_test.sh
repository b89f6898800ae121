#!/usr/bin/env bash
# tools/bench/throughput/rival.py without Kernel Tuner, Ray and a GPU: its space is fa-tune's, it finds the text of a
# kernel, and it tells what came of a run, also of one whose worker was killed (rival_cases.py).
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
throughput=$repository/tools/bench/throughput
python_with numpy yaml
export PYTHONPATH=$throughput PYTHONDONTWRITEBYTECODE=1

# The space of the bench with a shape that the emulator is done with in milliseconds.
"$python" "$throughput/mma_space.py" | sed 's/H: 8, Lq: 512, Lk: 512/H: 2, Lq: 64, Lk: 64/' >mma.yaml
valid=$("$program" space count mma.yaml 2>/dev/null)
check 'two kernels' "$program" evolve -q --space mma.yaml --db mma.db --device emulator:l4 --strategy random \
  --budget 2 --no-finals
check 'what rival.py does' "$python" "$repository/tests/tools/house/rival_cases.py" "$repository" "$valid"

rival=("$python" "$throughput/rival.py" mma.db mma.yaml mma.yaml mma.yaml out.json)
try "${rival[@]}" --kill 5
check 'a worker to kill needs Ray' equal "$status" 2
check 'which is said' contains "$err" 'needs --parallel'
finish
