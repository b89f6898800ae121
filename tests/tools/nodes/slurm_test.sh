#!/usr/bin/env bash
# Searches with the nodes of a real Slurm, three slurmd on this machine: with one, two and three nodes, with nodes,
# steps, slurmd and the engine killed at random moments, and with a node that Slurm takes away. The trials are those of a
# search without nodes, and no kernel is charged. Where FA_TUNE_THOROUGH is set there are 200 trials a search, 200 kills
# of nodes and 20 of the engine.
set -euo pipefail
# shellcheck source=tests/tools/nodes/slurm.sh
. "$(dirname "${BASH_SOURCE[0]}")/slurm.sh"
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

if [ -n "${FA_TUNE_THOROUGH:-}" ]; then
  trials=200 searches=4 kills_each=50 engine_kills_each=5
else
  trials=24 searches=1 kills_each=6 engine_kills_each=1
fi
small_space small.yaml
search=(--space small.yaml --seed 1 --budget "$trials" --no-finals)
nodes=(--nodes slurm --node-device emulator:l4)
fingerprint() { "$program" db check "$1" | sed -n 's/.*fingerprint \([0-9a-f]\{64\}\)$/\1/p'; }
lanes() { sql "$1" "SELECT group_concat(lane, ' ') FROM (SELECT DISTINCT lane FROM trials WHERE lane <> '' ORDER BY 1)"; }
agents() { pgrep -f "^$program node --connect .* --name ${1:-n}" || true; } # [NODE]
# until_true SECONDS COMMAND...: waits for it.
# shellcheck disable=SC2317 # check calls it
until_true() {
  local i seconds=$1
  shift
  for ((i = 0; i < 10 * seconds; ++i)); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  return 1
}
# shellcheck disable=SC2317
no_agents() { [ -z "$(agents)" ]; }
# same_trials NAME: of the database NAME.db, as those of the search without nodes.
same_trials() {
  check "$1: the same trials" equal "$(fingerprint "$1.db")" "$expected"
  check "$1: none is lost, none counts twice" equal \
    "$(sql "$1.db" 'SELECT count(*), count(DISTINCT number), max(number) FROM trials')" "$trials|$trials|$trials"
  check "$1: no kernel is charged" equal \
    "$(sql "$1.db" "SELECT count(*) FROM trials WHERE finding IN ('crash', 'hang', 'device_lost')")" 0
  check "$1: the key is gone" is_not test -e "$1.db.key"
}

try "$program" evolve "${search[@]}" --db alone.db --device emulator:l4
check "without nodes it succeeds (its words: $(tail -n 1 "$err"))" equal "$status" 0
expected=$(fingerprint alone.db)
check 'there is a fingerprint' test -n "$expected"

start_slurm "$work/slurm" n1 n2 n3

try "$program" evolve "${search[@]}" --db x.db "${nodes[@]}"
check 'outside an allocation: refused' equal "$status" 2
check 'outside an allocation: how to get one' contains "$err" "not within a Slurm allocation (no SLURM_JOB_ID): get one, as in 'salloc"
check 'outside an allocation: in one line' equal "$(wc -l <"$err")" 1

for number in 1 2 3; do
  allocate "$number"
  try "$program" evolve "${search[@]}" --db "nodes$number.db" "${nodes[@]}"
  check "nodes$number: succeeds (its words: $(tail -n 1 "$err"))" equal "$status" 0
  same_trials "nodes$number"
  check "nodes$number: by all of them" equal "$(lanes "nodes$number.db")" \
    "$(for ((i = 1; i <= number; ++i)); do echo "n$i/emulator:l4"; done | paste -sd ' ')"
  check "nodes$number: they end with it" until_true 10 no_agents
  check "nodes$number: so do their steps" until_true 10 test -z "$(squeue --steps --noheader)"
  [ "$number" = 3 ] || give_back
done

# In the allocation of three.
try "$program" evolve "${search[@]}" --db x.db --nodes slurm
check 'no GPU: ends with 3' equal "$status" 3
for node in n1 n2 n3; do
  check "no GPU: told of $node" contains "$err" "$node: fa-tune: --device cuda:all: there is no usable GPU"
  check "no GPU: once for $node" equal "$(grep -c "^$node: fa-tune: " "$err")" 1
done
check 'no GPU: the key is gone' is_not test -e x.db.key
try "$program" evolve "${search[@]}" --db x.db --nodes 'slurm:--nodes=2'
check 'options that are not for srun: refused' equal "$status" 2
try "$program" evolve "${search[@]}" --db x.db --nodes 'slurm:--no-such-option'
check 'what srun refuses: ends with 3' equal "$status" 3
check "what srun refuses: srun's words" contains "$err" "n1: srun: unrecognized option '--no-such-option'"

# begin NAME ARGUMENT...: a search in the background, or the rest of it if NAME.db has its run.
begin() {
  local name=$1 how=("${search[@]}")
  shift
  if [ -n "$(sql "$name.db" 'SELECT id FROM runs' 2>/dev/null)" ]; then how=(--resume 1 --no-finals); fi
  "$program" evolve --db "$name.db" "${how[@]}" "${nodes[@]}" "$@" >"$name.out" 2>>"$name.err" &
  engine=$!
}
# Slow enough to be disturbed: it has all to compile, by one compiler.
begin_slow() { FA_TUNE_CACHE=$work/cache begin "$@" --jobs 1 --node-jobs 0; }
goes_on() { kill -0 "$engine" 2>/dev/null; }
ended() {
  status=0
  wait "$engine" || status=$?
}
# shellcheck disable=SC2317
has_trials() { [ "$(trials_in "$1")" -ge "$2" ]; } # DB COUNT
at_least() { ! goes_on || [ "$(trials_in "$1")" -ge "$2" ]; } # DB COUNT

give_back

# The example of a batch script, whose time is over once.
batch() {
  FA_TUNE=$program sbatch --parsable --nodes=3 --gpus-per-node=0 --cpus-per-task=2 --output=batch.log --open-mode=append \
    "$repository/tools/nodes/slurm.sbatch" --db batch.db --node-device emulator:l4 "$@"
}
# shellcheck disable=SC2317
no_jobs() { [ -z "$(squeue --noheader)" ]; }
job=$(FA_TUNE_CACHE=$work/cache batch "${search[@]}" --jobs 1)
check 'batch: it gets on' until_true 60 has_trials batch.db 2
check 'batch: the key is for its owner alone' equal "$(stat -c %a batch.db.key)" 600
scancel --signal=INT --batch "$job"
check 'batch: it ends in time' until_true 60 no_jobs
check 'batch: as an interrupted search' equal "$(sql batch.db 'SELECT state FROM runs')" interrupted
check 'batch: before it is done' test "$(trials_in batch.db)" -lt "$trials"
batch --resume 1 --no-finals >/dev/null
check 'batch: resumed, it ends' until_true 600 no_jobs
same_trials batch

# A node that Slurm takes away, with all that runs there.
allocate 3
rm -rf "$work/cache"
begin_slow taken
check 'taken: it gets on' until_true 60 at_least taken.db 2
scontrol update nodename=n3 state=down reason=test
ended
check "taken: succeeds (its words: $(tail -n 1 taken.err))" equal "$status" 0
same_trials taken
check 'taken: told' contains taken.err 'n3: is given up: Slurm has taken it out of the allocation'
give_back
# It may be back by itself.
scontrol update nodename=n3 state=resume 2>/dev/null || true

# The engine is killed and resumed: nodes that live on serve the new one, and so end with it, not after a minute of waiting.
allocate 3
rm -rf "$work/cache"
begin_slow resumed
check 'resumed: it gets on' until_true 60 at_least resumed.db 2
kill -KILL "$engine"
ended
check 'resumed: the engine ends by the kill' equal "$status" 137
before=$(agents)
check 'resumed: nodes live on' equal "$(wc -w <<<"$before")" 3
begin resumed
ended
check "resumed: succeeds (its words: $(tail -n 1 resumed.err))" equal "$status" 0
same_trials resumed
check 'resumed: the nodes end with it' until_true 25 no_agents
give_back

dead_slurmd=()
# kill_one KIND NODE: false if there is no such process.
kill_one() {
  local victims=() step
  case "$1:${dead_slurmd[*]}" in slurmd:*"$2"* | node:*"$2"*) return 1 ;; esac
  case "$1" in
    agent) mapfile -t victims < <(agents "$2") ;;
    step) mapfile -t victims < <(pgrep -f '^slurmstepd: \[' | shuf -n 1 --random-source=<(yes "$RANDOM")) ;;
    srun) mapfile -t victims < <(pgrep -x srun | shuf -n 1 --random-source=<(yes "$RANDOM")) ;;
    slurmd) victims=("${slurmd_of[$2]}") ;;
    # slurmd, the step and what it runs, as if the machine were gone.
    node)
      mapfile -t victims < <(agents "$2")
      [ ${#victims[@]} -gt 0 ] || return 1
      read -r step < <(ps -o ppid= -p "${victims[0]}") || return 1
      victims+=("${slurmd_of[$2]}")
      [ "$step" = 1 ] || victims+=("$step")
      ;;
  esac
  [ ${#victims[@]} -gt 0 ] || return 1
  kill -KILL "${victims[@]}" 2>/dev/null || return 1
  case "$1" in slurmd | node) dead_slurmd+=("$2") ;; esac
}
revive_slurmd() {
  local node
  for node in "${dead_slurmd[@]}"; do
    wait "${slurmd_of[$node]}" 2>/dev/null || true
    start_slurmd "$node"
  done
  dead_slurmd=()
}
# What was under way when the engine was killed is tried once more; a second death in it would count as the kernel's.
died_twice() {
  [ -n "$(sql "$1.db" 'SELECT 1 FROM attempts a WHERE attempt > 1 AND NOT EXISTS
    (SELECT 1 FROM trials t WHERE t.run = a.run AND t.number = a.number)' 2>/dev/null)" ]
}

# pause NAME: of random length, but shorter where the search gets on by more trials than there are for each kill.
pause() {
  local i before
  before=$(trials_in "$1.db")
  for ((i = RANDOM % 20; i > 0; --i)); do
    if at_least "$1.db" $((before + trials / (kills_each + engine_kills_each + 1))); then return 0; fi
    sleep 0.1
  done
}
# kill_some: one process of a random kind that there is; slurmd there is always, once it is started again.
kill_some() {
  local kind
  until kind=${kinds[RANDOM % ${#kinds[@]}]} && kill_one "$kind" "n$((RANDOM % 3 + 1))"; do
    if [ ${#dead_slurmd[@]} -gt 0 ]; then revive_slurmd; fi
  done
  count_kill "$kind"
}
count_kill() {
  kills=$((kills + 1))
  killed[$1]=$((${killed[$1]:-0} + 1))
}

RANDOM=11
kinds=(agent agent agent step srun srun slurmd node)
declare -A killed=()
for ((round = 1; round <= searches; ++round)); do
  name=disturbed$round kills=0 engine_kills=0
  rm -rf "$work/cache"
  allocate 3
  begin_slow "$name"
  check "$name: it gets on" until_true 60 at_least "$name.db" 1
  # All at once: there is no way on but by new ones. No other kill before that is told: an engine that is killed while it
  # waits to start them has not.
  for node in n1 n2 n3; do
    if kill_one agent "$node"; then count_kill agent; fi
  done
  check "$name: killed nodes are started again" until_true 60 grep -q ': is started again' "$name.err"
  while goes_on; do
    pause "$name"
    if [ "$kills" -ge $((kills_each * (engine_kills + 1) / (engine_kills_each + 1))) ] &&
      [ "$engine_kills" -lt "$engine_kills_each" ] && ! died_twice "$name"; then
      kill -KILL "$engine" 2>/dev/null || break
      ended
      check "$name: the engine ends by the kill" equal "$status" 137
      engine_kills=$((engine_kills + 1))
      begin_slow "$name"
    elif [ "$kills" -lt "$kills_each" ]; then
      kill_some
    fi
    if [ $((RANDOM % 3)) = 0 ]; then revive_slurmd; fi
  done
  ended
  check "$name: succeeds (its words: $(tail -n 1 "$name.err"))" equal "$status" 0
  same_trials "$name"
  check "$name: as many kills as were wanted" equal "$kills $engine_kills" "$kills_each $engine_kills_each"
  killed[engine]=$((${killed[engine]:-0} + engine_kills))
  revive_slurmd
  give_back
  check "$name: no node is left" until_true 100 no_agents
done
check 'no worker of a node is left' equal "$(pgrep -f '^/proc/self/exe worker ' || true)" ''
for kind in "${!killed[@]}"; do echo "killed: $kind ${killed[$kind]}"; done
finish
