#!/usr/bin/env bash
# What the system says of the workers of a search, and of the search itself: their rights, what they get of the
# environment, who is ended first when memory is short, and that none outlives the engine.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

small_space small.yaml
export AWS_SECRET_ACCESS_KEY=hunter2 HTTPS_PROXY=http://somewhere
# Root's processes are closed to those with fewer privileges anyhow: so neither they nor who looks has any.
runs_plain=()
if [ "$(id -u)" = 0 ]; then runs_plain=(setpriv --bounding-set -all --inh-caps -all); fi
"${runs_plain[@]}" "$program" evolve --space small.yaml --seed 3 --budget 4000 --db db.db --device emulator:l4 >"$work/out" 2>"$work/err" &
engine=$!
for ((i = 0; i < 600; ++i)); do
  [ "$(trials_in db.db)" -gt 3 ] && break
  sleep 0.1
done
kill -STOP "$engine"

mapfile -t workers < <(pgrep --parent "$engine")
check 'there are workers' test "${#workers[@]}" -ge 2
said() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; } # PROCESS FIELD
kinds=
for worker in "${workers[@]}"; do
  words=$(tr '\0' ' ' <"/proc/$worker/cmdline")
  case $words in *--compile*) kind=compiler ;; *--device*) kind=emulator ;; *) kind=other ;; esac
  kinds+=" $kind"
  check "$kind: a filter of calls" equal "$(said "$worker" Seccomp)" 2
  check "$kind: no new privileges" equal "$(said "$worker" NoNewPrivs)" 1
  check "$kind: no capabilities" equal "$(said "$worker" CapEff)" 0000000000000000
  check "$kind: none to be had" equal "$(said "$worker" CapPrm)" 0000000000000000
  check "$kind: it is ended first" equal "$(cat "/proc/$worker/oom_score_adj")" 1000
  check "$kind: no core" grep -q '^Max core file size *0 ' "/proc/$worker/limits"
  check "$kind: it makes no file longer" grep -q '^Max file size *0 ' "/proc/$worker/limits"
  check "$kind: its memory is limited" grep -q '^Max data size *[0-9]' "/proc/$worker/limits"
  tr '\0' '\n' <"/proc/$worker/environ" >variables
  check "$kind: no secrets" lacks variables hunter2
  check "$kind: no other variables" lacks variables HTTPS_PROXY
  check "$kind: but where the project lies" contains variables "FA_TUNE_ROOT=$repository"
done
check 'compilers are among them' grep -q compiler <<<"$kinds"
check 'and an emulator' grep -q emulator <<<"$kinds"

# As another process of this user sees them.
for process in "$engine" "${workers[0]}"; do
  check 'its memory is closed' is_not "${runs_plain[@]}" head -c 0 "/proc/$process/mem"
  check 'its variables too' is_not "${runs_plain[@]}" head -c 0 "/proc/$process/environ"
done

# They cannot see that nobody asks any more: only the system can end them.
kill -STOP "${workers[@]}"
kill -KILL "$engine"
wait "$engine" 2>/dev/null || true
alive() { for each in "${workers[@]}"; do [ ! -e "/proc/$each" ] || [ "$(said "$each" State)" = 'Z (zombie)' ] || echo "$each"; done; }
for ((i = 0; i < 20; ++i)); do
  [ -z "$(alive)" ] && break
  sleep 0.1
done
check 'no worker outlives the engine' equal "$(alive)" ''
finish
