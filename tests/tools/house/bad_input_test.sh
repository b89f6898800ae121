#!/usr/bin/env bash
# What the program says to wrong input: one line on stderr, the right exit code, and nothing made,
# changed or left behind.
set -euo pipefail
# shellcheck source=tests/tools/cli.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli.sh"

# The folder's files with their contents, to be the same before and after. Who only reads a database
# cannot take away SQLite's working files again: an index, and a log that stays empty.
contents() {
  find . -type f -not -name '*.db-shm' -not '(' -name '*.db-wal' -empty ')' -exec sha256sum '{}' + |
    sort -k 2
}

cases=0
# refused CODE TEXT ARGUMENT...: exits with CODE, says one line with TEXT in it, leaves the folder alone.
refused() {
  local code=$1 text=$2 before
  shift 2
  before=$(contents)
  try "$program" "$@" </dev/null
  cases=$((cases + 1))
  check "exit code $code: $*" equal "$status" "$code"
  check "one line: $*" equal "$(wc -l <"$err")" 1
  check "that starts with the program's name: $*" equal "$(head -c 9 "$err")" 'fa-tune: '
  check "what is wrong: $*" contains "$err" "$text"
  check "nothing on stdout: $*" equal "$(cat "$out")" ''
  check "nothing left or changed: $*" equal "$(contents)" "$before"
}

small_space small.yaml
evolve=(evolve --db new.db --device emulator:l4)
small=(--space small.yaml)

# A good database, from a run that was interrupted as soon as it had a trial.
stop_early TERM good.db "${small[@]}" --device emulator:l4 --budget 1h
check 'a run to begin with' equal "$stopped" 130
check 'is closed tidily' equal "$(ls)" "$(printf 'good.db\nsmall.yaml')"
"$program" export --db good.db --out good.cu 2>/dev/null

# The command line itself.
refused 2 'fa-tune --help'
refused 2 "'frobnicate'" frobnicate
refused 2 "'--frobnicate'" best --frobnicate
refused 2 'fa-tune best --help' best --format xml
refused 2 '--limit' best --limit 0
refused 2 "'extra'" best extra
refused 2 'trial is required' show
refused 2 'trial' show first
refused 2 "'look'" space look small.yaml
refused 2 '--jobs' "${evolve[@]}" "${small[@]}" --jobs 0
refused 2 '--db' evolve --db
refused 2 'needs --space' "${evolve[@]}"
for seed in -1 1.5 one 18446744073709551616 ''; do
  refused 2 '--seed' "${evolve[@]}" "${small[@]}" --seed "$seed"
done
refused 2 '--seed' space sample small.yaml --seed -1
refused 2 '--seed' verify good.cu --seed -1
for budget in 0 -5 many 10d 1.5h 99999999999 ''; do
  refused 2 '--budget' "${evolve[@]}" "${small[@]}" --budget "$budget"
done
refused 2 'annealing' "${evolve[@]}" "${small[@]}" --strategy annealing

# Spaces. A slip is shown with its place.
# slip TEXT SED: the small space with an edit.
slip() {
  sed "$2" small.yaml >wrong.yaml
  check "the edit $2 changes the space" is_not cmp -s small.yaml wrong.yaml
  refused 2 "$1" "${evolve[@]}" --space wrong.yaml
  refused 2 'wrong.yaml:' space check wrong.yaml
}
slip "unknown key 'tagret', did you mean 'target'" 's/^target:/tagret:/'
slip "'dtyp'" 's/dtype:/dtyp:/'
slip "'BLOCK_N'" 's/^  BLOCK_N:/  BLOK_N:/'
slip "'WARPS_X'" 's/WARPS_M \* WARPS_N <= 8/WARPS_X * WARPS_N <= 8/'
slip 'no config is valid' 's/WARPS_M \* WARPS_N <= 8/WARPS_M > 8/'
slip 'there is no kernel_templates/attention/nma.yaml' 's,mma.yaml,nma.yaml,'
slip "no device profile 'l5'" 's/^target: l4/target: l5/'
slip 'the swizzle changes places' 's/LAYOUT: padded/LAYOUT: swizzled/'
slip 'expected an integer' 's/trials: 24/trials: none/'
slip 'not valid YAML' 's/^target:.*/target: [l4/'
rm wrong.yaml
refused 2 "'nowhere.yaml'" "${evolve[@]}" --space nowhere.yaml
refused 2 "'.'" "${evolve[@]}" --space .
refused 2 'nowhere.yaml' space count nowhere.yaml
: >empty.yaml
refused 2 'found nothing' "${evolve[@]}" --space empty.yaml
refused 2 'zero byte' "${evolve[@]}" --space good.db

# Templates that went missing.
mkdir -p bare/kernel_templates
cp -r "$repository/search_spaces" bare
FA_TUNE_ROOT=bare refused 2 'there is no kernel_templates/' "${evolve[@]}" "${small[@]}"
FA_TUNE_ROOT=bare refused 2 'there is no kernel_templates/' export --db good.db --out new.cu

# Devices.
anywhere=(evolve --db new.db "${small[@]}" --budget 1)
for device in gpu:1 cuda: cuda:-1 cuda:x emulator: emulator:none ''; do
  case $device in emulator:none) named="'none'" ;; *) named="'$device'" ;; esac
  refused 2 "$named" "${anywhere[@]}" --device "$device"
  refused 2 "$named" verify --db good.db --trial 1 --device "$device"
done
refused 3 '' "${anywhere[@]}" --device cuda:7
refused 3 '' verify --db good.db --trial 1 --device cuda:7
refused 3 '' verify good.cu --device cuda:7
FA_TUNE_NVRTC=$PWD/nowhere.so refused 3 'nowhere.so' "${evolve[@]}" "${small[@]}"

# Databases.
reading_commands() { # TEXT DB
  refused 2 "$1" best --db "$2"
  refused 2 "$1" export --db "$2" --out new.cu
  refused 2 "$1" show 1 --db "$2"
  refused 2 "$1" lineage 1 --db "$2"
  refused 2 "$1" verify --trial 1 --db "$2"
  refused 2 "$1" evolve --resume 1 --db "$2" --device emulator:l4
}
every_command() { # TEXT DB
  reading_commands "$@"
  refused 2 "$1" evolve "${small[@]}" --device emulator:l4 --db "$2"
}
echo 'not a database' >text.db
every_command 'is not a database' text.db
cp good.db newer.db
sqlite3 newer.db 'PRAGMA user_version = 99'
every_command 'newer fa-tune (schema 99' newer.db
sqlite3 other.db 'CREATE TABLE mine (x); INSERT INTO mine VALUES (1)'
every_command 'another program' other.db
head -c 20000 good.db >short.db
reading_commands short.db short.db
every_command 'is a folder' .
reading_commands 'no such database' nowhere.db
: >empty.db
reading_commands 'no run was recorded' empty.db
for way in check migrate 'backup'; do
  copy=()
  [ "$way" != backup ] || copy=(copy.db)
  refused 2 'is not a database' db "$way" text.db "${copy[@]}"
  refused 2 'newer fa-tune (schema 99' db "$way" newer.db "${copy[@]}"
  refused 2 'another program' db "$way" other.db "${copy[@]}"
  refused 2 short.db db "$way" short.db "${copy[@]}"
  refused 2 'no such database' db "$way" nowhere.db "${copy[@]}"
  refused 2 'no run was recorded' db "$way" empty.db "${copy[@]}"
done
refused 2 'is there already' db backup good.db small.yaml
refused 2 'cannot be written' db backup good.db nowhere/copy.db
refused 2 'copy is required' db backup good.db
refused 2 'fa-tune db --help' db

# What a run has for good is not said again when it is resumed.
resume=(evolve --resume 1 --db good.db --device emulator:l4)
refused 2 '--space is kept with the run' "${resume[@]}" "${small[@]}"
refused 2 '--seed is kept with the run' "${resume[@]}" --seed 1
refused 2 '--strategy is kept with the run' "${resume[@]}" --strategy evolve
refused 2 '--warm is kept with the run' "${resume[@]}" --warm off

# Places to die at.
for spec in nowhere trial_written:0 trial_written:x trial_written: ''; do
  [ -z "$spec" ] || FA_TUNE_FAULT=$spec refused 2 'fault point' best --db good.db
done
refused 2 'the folder' evolve "${small[@]}" --device emulator:l4 --db nowhere/new.db

# What a good database does not hold.
refused 2 'no such trial' show 99 --db good.db
refused 2 'no such trial' lineage 99 --db good.db
refused 2 'no such trial' export --trial 99 --db good.db --out new.cu
refused 2 "trial: expected a number, found 'abc'" show abc
refused 2 'no trial 99' verify --trial 99 --db good.db
refused 2 "expected auto, off, or runs of the database as in 3,5, not '3x'" "${anywhere[@]}" --warm 3x
refused 2 'no run 99 to learn from' evolve "${small[@]}" --budget 1 --db good.db --warm 99
refused 2 'no run 99' evolve --resume 99 --db good.db --device emulator:l4
refused 2 'no kernel that passed matches' export --space none --db good.db --out new.cu
for shape in Lq64 '{Lq' '[1]' Lq= =64; do
  refused 2 shape best --db good.db --shape "$shape"
  refused 2 shape export --db good.db --out new.cu --shape "$shape"
done

# Exported files.
refused 2 'cannot be written' export --db good.db --out nowhere/new.cu
refused 2 'cannot be written' export --db good.db --out .
refused 2 "'slow'" verify --trial 1 --db good.db --device emulator:l4 --suite slow
refused 2 "'slow'" verify good.cu --device emulator:l4 --suite quick --suite slow
refused 2 'either' verify
refused 2 'either' verify good.cu --trial 1
refused 2 'nowhere.cu' verify nowhere.cu
refused 2 "that 'fa-tune export' made" verify small.yaml
for size in 10 800 2000 4000; do
  head -c "$size" good.cu >cut.cu
  refused 2 cut.cu: verify cut.cu
done
sed 's/^\(\/\/  "body_sha256\)/\1x/' good.cu >cut.cu
refused 2 body_sha256x verify cut.cu
sed 's/export 1 begin/export 2 begin/' good.cu >cut.cu
refused 2 'another format' verify cut.cu

echo "$cases slips: one line each, nothing left behind"
finish
