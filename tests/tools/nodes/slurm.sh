# shellcheck shell=bash
# For the tests with a real Slurm: slurmctld and a slurmd for each node, all on this machine. To be sourced before all
# else: the test then runs as root of namespaces of its own (processes, network, host name). So its ports are free, nobody
# else reaches a Slurm that believes everybody, and all of it ends with the test, however that ends.

if [ -z "${FA_TUNE_OWN_MACHINE:-}" ]; then
  PATH=$PATH:/usr/sbin:/sbin
  for each in slurmctld slurmd srun ip unshare setpriv; do
    type -P "$each" >/dev/null || { echo "SKIPPED: there is no $each here" && exit 77; }
  done
  namespaces=(--pid --fork --kill-child --mount-proc --net --uts)
  unshare "${namespaces[@]}" true 2>/dev/null || { echo 'SKIPPED: unshare may make no namespaces here' && exit 77; }
  machine_folder=$(mktemp -d)
  trap 'kill -KILL "${machine:-}" 2>/dev/null || true; wait; rm -rf "$machine_folder"' EXIT
  trap 'exit 130' INT TERM HUP
  FA_TUNE_OWN_MACHINE=1 TMPDIR=$machine_folder setpriv --pdeathsig KILL unshare "${namespaces[@]}" bash "$0" "$@" &
  machine=$!
  status=0
  wait "$machine" || status=$?
  exit "$status"
fi

# start_slurm FOLDER NODE...: a cluster of these nodes, which have two processors each.
start_slurm() {
  local i node folder=$1
  shift
  hostname localhost
  ip link set lo up
  # Slurm looks for addresses only where there is one that is not a loopback's; this is one of documents (RFC 5737).
  ip address add 192.0.2.1/32 dev lo
  mkdir -p "$folder/state"
  {
    printf '%s\n' ClusterName=test 'SlurmctldHost=localhost(127.0.0.1)' SlurmctldPort=6817 \
      AuthType=auth/none CredType=cred/none SlurmUser=root SlurmdUser=root \
      "StateSaveLocation=$folder/state" "SlurmdSpoolDir=$folder/spool.%n" \
      "SlurmctldPidFile=$folder/slurmctld.pid" "SlurmdPidFile=$folder/slurmd.%n.pid" \
      ProctrackType=proctrack/linuxproc TaskPlugin=task/none JobAcctGatherType=jobacct_gather/none \
      AccountingStorageType=accounting_storage/none SelectType=select/cons_tres SelectTypeParameters=CR_CPU \
      SlurmdTimeout=30 SlurmctldTimeout=30 ReturnToService=2 MpiDefault=none SwitchType=switch/none \
      SlurmdParameters=config_overrides MailProg=/bin/true KillWait=2
    i=0
    for node; do
      i=$((i + 1))
      echo "NodeName=$node NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((17000 + i)) CPUs=2 RealMemory=1000"
    done
    echo "PartitionName=all Nodes=$(IFS=, && echo "$*") Default=YES MaxTime=INFINITE State=UP"
  } >"$folder/slurm.conf"
  echo CgroupPlugin=cgroup/v1 >"$folder/cgroup.conf"
  export SLURM_CONF=$folder/slurm.conf
  slurmctld -D >"$folder/slurmctld.log" 2>&1 &
  declare -gA slurmd_of=()
  for node; do start_slurmd "$node"; done
  for ((i = 0; i < 300; ++i)); do
    [ "$(sinfo --noheader --format='%t %D' 2>/dev/null)" != "idle $#" ] || return 0
    sleep 0.1
  done
  tail -n 5 "$folder"/*.log
  echo 'FAILED: Slurm did not start'
  return 1
}
start_slurmd() { # NODE
  slurmd -D -N "$1" >>"${SLURM_CONF%/*}/slurmd.$1.log" 2>&1 &
  # shellcheck disable=SC2034 # the tests read it
  slurmd_of[$1]=$!
}

# allocate NUMBER: so many nodes; SLURM_JOB_ID is then the allocation.
allocate() {
  unset SLURM_JOB_ID
  SLURM_JOB_ID=$(salloc --no-kill --nodes="$1" --no-shell 2>&1 | sed -n 's/.*Granted job allocation //p')
  export SLURM_JOB_ID
}
give_back() {
  scancel "$SLURM_JOB_ID"
  unset SLURM_JOB_ID
  while [ -n "$(squeue --noheader)" ]; do sleep 0.1; done
}
