#!/usr/bin/env bash
# Winners for any sizes: gated at others first, or refused with the reason; what each form says of them.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

scale_space
search() { # NAME: searches NAME.yaml
  try "$program" evolve --space "$1.yaml" --db "$1.db" --device emulator:l4 --budget 1 --warm off --no-finals --seed 1
  check "$1: a search ends" equal "$status" 0
}
any() { # NAME FORM: exports its trial
  try "$program" export 1 --db "$1.db" --as "$2" --any-size --gate-on emulator:l4 --out "$1.$2"
}

search scale
for form in cu header ptx torch; do
  any scale $form
  check "$form: it is written" equal "$status" 0
  check "$form: it says at which sizes it was gated" contains scale.$form gated
done
check 'the source says how it is launched' contains scale.cu '//   launch   grid [ceil_div(n, '
check 'and what must be told' contains scale.cu '//   scalar   n = n'
check 'so does the PTX, as JSON' contains scale.ptx '"grid": ["ceil_div(n, '
check 'the header computes it' contains scale.header 'ceil_div(of.n, '
check 'the module too' contains scale.torch '_ceil_div(s["n"], '
try "$program" verify scale.cu --device emulator:l4
check 'the source is gated again' equal "$status" 0
try "$program" export 1 --db scale.db --as header --out one.hpp
check 'without the option it is for the tuned size' lacks one.hpp 'ceil_div'
try "$program" export scale.cu --as header --any-size --out two.hpp
check 'a file is refused' contains "$err" 'name the trial'

# refused NAME FROM TO WORDS: the space with this change gives no kernel for any sizes, and it is told why.
refused() {
  sed -e "s/^space: scale/space: $1/" -e "$2" scale.yaml >"$1.yaml"
  check "$1: there is a change" is_not cmp -s scale.yaml "$1.yaml"
  search "$1"
  any "$1" cu
  check "$1: it is refused" equal "$status" 2
  check "$1: with the reason" contains "$err" "$3"
  check "$1: nothing is written" test ! -e "$1.cu"
}
refused baked 's/^  reference:/  defines: {SIZE: n}\n  reference:/' 'defines: SIZE rests on sizes'
refused conditional 's/launch: {grid: \["ceil_div(problem.n, BLOCK \* PER)"\]/arguments: [x, y, a, {name: n, when: problem.n > 0}], &/' \
  'when: which kernels or arguments there are rests on sizes'

# A condition of the space's holds at the call; sizes that it refuses are not gated.
sed -e 's/^space: scale/space: fours/' -e 's/sizes: .*/sizes: [{n: 4000}, {n: 400}]/' scale.yaml >fours.yaml
echo 'constraints: ["problem.n % 4 == 0", "BLOCK * PER <= problem.n"]' >>fours.yaml
search fours
any fours header
check 'fours: it is written' equal "$status" 0
check 'fours: what must hold does' contains fours.header 'all.require(of.n % 4 == 0,'
check 'fours: so does what rests on parameters too' contains fours.header ' <= of.n,'

# A kernel that is right at the sizes of its space alone.
sed 's/if (i < n) y\[i\] = a/if (i < n) y[i] = (n == 4000 || n == 300 || n == 1 ? a : 0)/' mine.cu >luck.cu
sed -e 's/^space: scale/space: luck/' -e 's/source: mine.cu/source: luck.cu/' scale.yaml >luck.yaml
search luck
any luck header
check 'luck: it is refused' equal "$status" 2
check 'luck: since it fails elsewhere' contains "$err" 'does not pass at other sizes'
check 'luck: nothing is written' test ! -e luck.header

small_space small.yaml
search small
for form in cu header torch; do
  any small $form
  check "attention: it is written as $form" equal "$status" 0
done
check 'attention: the header computes its grid' contains small.header 'ceil_div(of.Lq, '
check 'attention: and fixes what is compiled in' contains small.header 'of.D == 16'
check 'attention: the module too' contains small.torch '_ceil_div(s["Lq"], '
check 'attention: it is Python' python3 -m py_compile small.torch
finish
