#!/usr/bin/env bash
# Each profile that ships can be searched for: small spaces evolve on the emulator with it. And `target: auto` is the
# device that a search is on.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

for space in softmax reduction; do
  sed 's/^target: .*/target: auto/' "$repository/search_spaces/$space.yaml" >"$space.yaml"
done
sizes() { case $1 in softmax) echo sizes.rows=8 sizes.columns=256 ;; reduction) echo sizes.n=20000 ;; esac }
profiles=$(basename -s .yaml "$repository"/search_spaces/devices/*.yaml)
check 'there are profiles' test "$(wc -w <<<"$profiles")" -ge 10
for profile in $profiles; do
  # A usual run has both spaces for the oldest and the newest chip alone.
  spaces=reduction
  case $profile in t4 | b200) spaces='softmax reduction' ;; esac
  if [ -n "${FA_TUNE_THOROUGH:-}" ]; then spaces='softmax reduction'; fi
  searched=0
  for space in $spaces; do
    set=()
    for size in $(sizes "$space"); do set+=(--set "$size"); done
    try "$program" evolve --space "$space.yaml" "${set[@]}" --device "emulator:$profile" --budget 4 --no-finals --db "$profile.db"
    searched=$((searched + 1))
    check "$space evolves for $profile" equal "$status" 0
    check "$space for $profile: most pass" test \
      "$(sql "$profile.db" "SELECT sum(outcome = 'passed') FROM trials WHERE run = (SELECT max(id) FROM runs)")" -ge 3
  done
  check "$profile: the target is the device's" equal "$(sql "$profile.db" 'SELECT DISTINCT target FROM runs')" "$profile"
  check "$profile: it is kept with the run" equal \
    "$(sql "$profile.db" "SELECT count(*) FROM spaces WHERE text LIKE '%target: $profile%'")" "$searched"
done
try "$program" evolve --db l4.db --device emulator:l4 --resume 1 --budget 5 --no-finals
check 'a run with target auto goes on' equal "$status" 0
try "$program" evolve --space softmax.yaml --device emulator:rtx409
check 'a profile that is none' equal "$status" 2
check 'is answered with the nearest' contains "$err" "did you mean 'rtx4090'?"
try "$program" space check softmax.yaml --device emulator:t4
check 'space check takes the device too' contains "$out" 'NVIDIA T4 (sm_75)'
if ! "$program" doctor | grep -q '^gpu *ok'; then
  try "$program" evolve --space softmax.yaml
  check 'without a GPU auto is no device' equal "$status" 2
  check 'which is said, with the way out' contains "$err" 'softmax.yaml:4:9: target: auto takes the GPU that is there, and there is none'
fi
# What a chip lacks is told by its profile.
check 'the T4 has no cp.async' contains "$repository/search_spaces/devices/t4.yaml" 'neither cp.async nor'
check 'the B200 has no wgmma' contains "$repository/search_spaces/devices/b200.yaml" 'Not covered: wgmma'
finish
