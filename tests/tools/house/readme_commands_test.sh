#!/usr/bin/env bash
# Every command that a README prints runs as it is printed (what README.md has, once), and README's space of one's own
# finds a winner. The l4.yaml that they name is here a small one, which the emulator runs in milliseconds: a file in the
# working folder comes before the one of search_spaces.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

# from_readme FIRST: the lines of README's code block that begins so.
from_readme() {
  awk -v first="    $1" '
    index($0, first) == 1 { inside = 1 }
    inside && !/^    / { exit }
    inside { print substr($0, 5) }' "$repository/README.md"
}

# What the documents name, and the reader has: programs, a space, a kernel, a T1 file with its plain kernel.
mkdir -p prepared/tools bin
ln -s "$program" bin/fa-tune
ln -s "$program" prepared/tools/fa-tune
PATH=$work/here/bin:$PATH
small_space prepared/l4.yaml
sed -i 's/^budget:.*/budget: {trials: 6}/' prepared/l4.yaml
echo 'extern "C" __global__ void NAME() {}' >prepared/FILE.cu
from_readme 'template <int PER, typename T>' >prepared/mine.cu
# The T1 file is a shipped one of few elements, and where all configs are tried, of few configs.
t1=$repository/search_spaces/examples/t1_file
cp "$t1"/*.cu prepared
sed 's/100003/1003/' "$t1/vector_add_T1.json" >prepared/vector_add_T1.json
sed 's/"\[1, 2, 4, 8\]"/"[1]"/' prepared/vector_add_T1.json >prepared/vector_T1.json

run_commands() { # ROOT
  rm -rf scratch
  mkdir scratch
  try python3 "$repository/tests/tools/house/readme_commands.py" "$1" prepared scratch
}

run_commands "$repository"
cat "$out"
check 'every command of the READMEs runs, or is listed with the reason why not' equal "$status" 0
check 'there are many' test "$(grep -c ': ran: ' "$out")" -ge 25

# Each mistake is found where there is one, and what is right beside it is none.
mkdir bad
cat >bad/README.md <<'BAD'
    fa-tune space count l4.yaml   # right
    fa-tune space count l4.yaml --wrong
    fa-tune space count gone.yaml

    frobnicate the kernel

```yaml
run: fa-tune nothing
```
BAD
run_commands bad
check 'a README with mistakes is refused' equal "$status" 1
for mistake in 'FAILED: fa-tune space count l4.yaml --wrong' 'FAILED: fa-tune space count gone.yaml' \
  'neither a command nor in NOT_COMMANDS: frobnicate' 'FAILED: fa-tune nothing'; do
  check "finds: $mistake" contains "$out" "$mistake"
done
check 'and nothing else' equal "$(grep -c 'FAULT: ' "$out")" 4

# The kernel of one's own: the space and both kernels as README has them. Then without C++ templates.
mkdir own
cd own
from_readme 'space: scale_add' >mine.yaml
from_readme 'template <int PER, typename T>' >mine.cu
from_readme '__global__ void plain' >plain.cu
try fa-tune space check mine.yaml
check "README's space is good" equal "$status" 0
check 'with no word more' equal "$(cat "$err")" ''
few=(--set sizes.n=20000) # of a million, which is much for an emulator
try fa-tune evolve --space mine.yaml "${few[@]}" --budget 4 --device emulator:h100
check 'a search of it ends well' equal "$status" 0
check 'and has a winner' contains "$out" 'best: trial'
try sqlite3 fa.db "SELECT count(DISTINCT source_hash), sum(outcome = 'passed') FROM trials"
check 'of four kernels' equal "$(cat "$out")" '4|4'
sed -i 's/kernel: "scale_add<PER, float>"/kernel: scale_add/' mine.yaml
cat >mine.cu <<'CUDA'
__global__ void scale_add(const float* x, float* y, float a, int n) {
  for (int k = 0; k < PER; ++k) {
    int i = (blockIdx.x * PER + k) * BLOCK + threadIdx.x;
    if (i < n) y[i] += a * x[i];
  }
}
CUDA
try fa-tune evolve --space mine.yaml "${few[@]}" --budget 2 --device emulator:h100 --db plain.db
check 'so has one that knows its parameters by #define alone' contains "$out" 'best: trial'
finish
