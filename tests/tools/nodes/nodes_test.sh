#!/usr/bin/env bash
# A search with devices of nodes, all on this machine: by one from the start, by two that are both killed while a
# third comes, with none left for a while or for good, and with the engine killed. The trials are those of a search without nodes. Strangers on the
# port, another key, another kind of device and another build get nothing.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"
# shellcheck source=tests/tools/nodes/search_with_nodes.sh
. "$repository/tests/tools/nodes/search_with_nodes.sh"

scale_space
small_space small.yaml
devices() { sql "$1" "SELECT group_concat(lane, ' ') FROM (SELECT DISTINCT lane FROM trials WHERE lane <> '' ORDER BY 1)"; }

scale=(--space scale.yaml --seed 1 --budget 6)
try "$program" evolve "${scale[@]}" --db alone.db --device emulator:l4
check 'without nodes it succeeds' equal "$status" 0

listen one "${scale[@]}"
lend n1 --device emulator:l4
status_of "$engine"
check "one node: succeeds (its words: $(tail -n 1 one.err))" equal "$status" 0
check 'one node: the same trials, with their finals' equal "$(fingerprint one.db)" "$(fingerprint alone.db)"
check 'one node: all were there' equal "$(devices one.db)" n1/emulator:l4
check 'one node: the run is of its kind of device' equal "$(sql one.db 'SELECT device FROM devices')" emulator:l4
check 'the key is for its owner alone' equal "$(stat -c %a key)" 600
status_of "$lent"
check 'its node ends with it' equal "$status" 0
check 'and says why' contains n1.err 'the search is over'

# Long enough to be disturbed in.
small=(--space small.yaml --seed 1 --budget 24 --no-finals)
try "$program" evolve "${small[@]}" --db whole.db --device emulator:l4
check 'the longer search succeeds' equal "$status" 0
expected=$(fingerprint whole.db)

listen two "${small[@]}"
lend n1 --device emulator:l4
first=$lent
lend n2 --device emulator:l4
until_said two 'n2/emulator:l4 has come'
until_trials two.db 4
kill -KILL "$lent"
until_trials two.db 8
lend n3 --device emulator:l4
until_trials two.db 12
kill -KILL "$first"
status_of "$engine"
check "two nodes, both killed, one that comes: succeeds (its words: $(tail -n 1 two.err))" equal "$status" 0
check 'two nodes: the same trials' equal "$(fingerprint two.db)" "$expected"
check 'two nodes: no kernel is charged' equal \
  "$(sql two.db "SELECT count(*) FROM trials WHERE finding IN ('crash', 'hang', 'device_lost')")" 0
check 'two nodes: the loss is told' contains two.err 'n2/emulator:l4 is set aside: node n2 is gone'
devices two.db >"$work/devices"
check 'two nodes: who comes later is used' contains "$work/devices" n3/emulator:l4

# A node that is stopped says nothing, though its connection stands. Its trial goes to another after the silence.
listen stopped "${small[@]}"
lend n1 --device emulator:l4 --wait 1
until_trials stopped.db 4
kill -STOP "$lent"
silent=$lent
lend n2 --device emulator:l4
status_of "$engine"
kill -CONT "$silent"
check "stopped: succeeds (its words: $(tail -n 1 stopped.err))" equal "$status" 0
check 'stopped: the same trials' equal "$(fingerprint stopped.db)" "$expected"
check 'stopped: the silence is told' contains stopped.err 'n1/emulator:l4 is set aside: node n1 is gone: it says nothing for 15000 ms'
status_of "$lent"
check 'stopped: the other ends with the search' equal "$status" 0

# None left; then one comes.
listen none "${small[@]}"
lend n1 --device emulator:l4
until_trials none.db 4
kill -KILL "$lent"
while kill -0 "$engine" 2>/dev/null && ! grep -q 'no device is left' none.err; do sleep 0.05; done
check 'none left: told' contains none.err "no device is left; waits for a node at $where, at most 300 s"
lend n2 --device emulator:l4
status_of "$engine"
check "none left: succeeds (its words: $(tail -n 1 none.err))" equal "$status" 0
check 'none left: the same trials' equal "$(fingerprint none.db)" "$expected"

# None left, and none comes: it can be resumed, with nodes or without.
listen over "${small[@]}" --grace 1
lend n1 --device emulator:l4
until_trials over.db 4
kill -KILL "$lent"
status_of "$engine"
check 'none comes: ends with 3' equal "$status" 3
check 'none comes: the way on is told' contains over.err '--resume 1 --listen 127.0.0.1:0 --key key'
try "$program" evolve --db over.db --resume 1 --device emulator:l4 --no-finals
check 'none comes: resumed without nodes it succeeds' equal "$status" 0
check 'none comes: the same trials' equal "$(fingerprint over.db)" "$expected"

# The engine killed: its nodes wait for it as long as they are told to. One that is resumed takes others, and those that
# still wait.
listen killed "${small[@]}"
lend n1 --device emulator:l4 --wait 1
short=$lent
lend n2 --device emulator:l4 --wait 100
long=$lent
for each in n1 n2; do until_said killed "$each/emulator:l4 has come"; done
until_trials killed.db 6
kill -KILL "$engine"
wait "$engine" || true
status_of "$short"
check 'engine killed: a node ends when it has waited' equal "$status" 3
check 'engine killed: and says so' contains n1.err "the engine at $where is gone"
check 'engine killed: another waits' kill -0 "$long"
"$program" evolve --db killed.db --resume 1 --no-finals --listen "$where" --key key >resumed.out 2>resumed.err &
engine=$!
all+=("$engine")
until_said resumed 'n2/emulator:l4 has come'
lend n3 --device emulator:l4
status_of "$engine"
check "engine killed: resumed with nodes it succeeds (its words: $(tail -n 1 resumed.err))" equal "$status" 0
check 'engine killed: the same trials' equal "$(fingerprint killed.db)" "$expected"
for each in "$long" "$lent"; do
  status_of "$each"
  check 'engine killed: both nodes end with the resumed one' equal "$status" 0
done

# Nodes that the search starts itself.
try "$program" evolve "${small[@]}" --db started.db --listen 127.0.0.1:0 --key key \
  --nodes "'$program' node --device emulator:l4*2 --name s1-$$"
check "started: succeeds (its words: $(tail -n 1 "$err"))" equal "$status" 0
check 'started: the same trials' equal "$(fingerprint started.db)" "$expected"
check 'started: by both devices' equal "$(devices started.db)" "s1-$$/emulator:l4 s1-$$/emulator:l4#2"
check 'started: what they say is told' contains "$err" ": node s1-$$ serves the engine at 127.0.0.1:"
check 'started: none is left' is_not pgrep -f -- "node --device emulator:l4.2 --name s1-$$"
# The command of a node as words, and as text for a shell.
try "$program" evolve "${small[@]}" --db words.db --listen 127.0.0.1:0 --key 'a key' --node-device emulator:l4 \
  --nodes 'env {} --name s2'
check "words for {}: succeeds (its words: $(tail -n 1 "$err"))" equal "$status" 0
check 'words for {}: by its device' equal "$(devices words.db)" s2/emulator:l4
try "$program" evolve "${small[@]}" --db text.db --listen 127.0.0.1:0 --key 'a key' --node-device 'emulator:l4*2' \
  --nodes "sh -c 'exec {} --name s3'"
check "text for {}: succeeds (its words: $(tail -n 1 "$err"))" equal "$status" 0
check 'text for {}: by its devices' equal "$(devices text.db)" 's3/emulator:l4 s3/emulator:l4#2'
try "$program" evolve "${small[@]}" --db x.db --listen 127.0.0.1:0 --key key --node-device emulator:l4
check '--node-device without --nodes: refused' equal "$status" 2

# Ended before a node has come: so is what was to start it.
listen ended "${small[@]}" --nodes "sh -c 'sleep 1234.$$'"
for ((i = 0; i < 600; ++i)); do ! pgrep -f "^sleep 1234.$$" >/dev/null || break; sleep 0.1; done
check 'ended: it waits' test -n "$(pgrep -f "^sleep 1234.$$")"
kill -TERM "$engine"
status_of "$engine"
check 'ended: ends with 130' equal "$status" 130
check 'ended: none is left' is_not pgrep -f "^sleep 1234.$$"
check 'ended: and no database' is_not test -e ended.db

try "$program" evolve "${small[@]}" --db x.db --listen 127.0.0.1:0 --key key \
  --nodes "'$program' node --device nothing"
check 'a command that fails: ends with 3' equal "$status" 3
check 'a command that fails: its words are told' contains "$err" "nothing"
try "$program" evolve "${small[@]}" --db x.db --listen 127.0.0.1:0 --key key --nodes /no/such/program
check 'a command that there is not: refused' equal "$status" 2
try "$program" evolve "${small[@]}" --db x.db --nodes "$program node"
check '--nodes without an address: refused' equal "$status" 2

# The examples of launchers.
examples=$repository/tools/nodes
check 'the batch script is one of bash' bash -n "$examples/slurm.sbatch"
check 'the Python script is one' python3 -c 'import sys; compile(open(sys.argv[1]).read(), *sys.argv[1:], "exec")' \
  "$examples/ray_nodes.py"
if python3 -c 'import yaml' 2>/dev/null; then
  python3 -c 'import sys, yaml; print(*(each["kind"] for each in yaml.safe_load_all(open(sys.argv[1]))))' \
    "$examples/kubernetes.yaml" >kinds || true
  check 'the manifest has its parts' equal "$(cat kinds)" 'Service Job Job'
fi
for command in evolve node; do "$program" "$command" --help; done >help
grep -hv '^ *#' "$examples"/{slurm.sbatch,kubernetes.yaml,ray_nodes.py} | grep -o -- '--[a-z][a-z]*' | sort -u >options
check 'the examples have options' test "$(wc -l <options)" -gt 5
while read -r option; do check "examples: $option is an option" contains help "$option "; done <options

# Who is not to come, to a search that lasts until it is ended.
listen guarded --space small.yaml --seed 1 --budget 1h --no-finals
port=${where##*:}
exec {silent}<>"/dev/tcp/127.0.0.1/$port"
exec {loud}<>"/dev/tcp/127.0.0.1/$port"
printf 'GET / HTTP/1.1\r\n\r\n' >&"$loud"
mkdir other
"$program" evolve --db other/o.db --space scale.yaml --listen 127.0.0.1:0 --key other/key >/dev/null 2>&1 &
all+=($!)
for ((i = 0; i < 100; ++i)); do [ -s other/key ] || sleep 0.05; done
kill "${all[-1]}"
try "$program" node --connect "$where" --key other/key --device emulator:l4
check 'another key: refused' equal "$status" 2
check 'another key: told' contains "$work/err" 'no common key'
chmod 644 other/key
try "$program" node --connect "$where" --key other/key --device emulator:l4
check 'a key that others may read: refused' equal "$status" 2
lend n1 --device emulator:l4
until_trials guarded.db 1
try "$program" node --connect "$where" --key key --name n2 --device emulator:h100
check 'another kind of device: refused' equal "$status" 2
check 'another kind of device: told' contains "$work/err" 'the run has emulated NVIDIA L4'
cp "$program" another && echo >>another
try ./another node --connect "$where" --key key --name n3 --device 'emulator:l4*2'
check 'another build: refused' equal "$status" 2
check 'another build: told' contains "$work/err" 'another build of fa-tune'
check 'another build: told once, for all connections of the node' equal "$(grep -c 'node n3 is refused' guarded.err)" 1
kill -INT "$engine"
status_of "$engine"
check "guarded: goes on to its end (its words: $(tail -n 1 guarded.err))" equal "$status" 130
check 'guarded: by the one node' equal "$(devices guarded.db)" n1/emulator:l4
exec {silent}>&- {loud}>&-

try "$program" node --connect "$where" --key key --device emulator:l4 --wait 0
check 'nobody there: ends with 3' equal "$status" 3
try "$program" evolve "${small[@]}" --db x.db --listen 127.0.0.1:0
check '--listen without --key: refused' equal "$status" 2
try "$program" evolve "${small[@]}" --db x.db --listen nowhere --key key
check 'no address: refused' equal "$status" 2
check 'no address: what is expected' contains "$work/err" 'expected HOST:PORT'
try "$program" node --connect "$where" --key key --device auto
check 'a node that names no device: refused' equal "$status" 2
finish
