#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# with-slurm.sh NODES CPUS COMMAND [ARGUMENT...]: runs a command in a Slurm cluster of its own: munged,
# slurmctld and NODES slurmd, each with a name (sim1 ...), an address and a host name of its own.
# Root and the packages slurm-wlm and munge are needed. Exits with the command's status, 77 if the
# cluster cannot be had here (the reason is on stderr).
#
# All of it lives in name spaces of its own: processes (what is left ends with the script, also when
# that is killed), network (ports are free, and nothing is reached from outside), mounts (/etc/hosts)
# and host name. SLURM_CONF tells the command where the cluster is; $SLURM_TESTBED is its directory.
# SLURM_PLUGSTACK is the text of its plugstack.conf, SLURM_TREE that of its topology.conf, if there shall be one.
set -eu
if [ $# -lt 3 ]; then
    echo "usage: with-slurm.sh NODES CPUS COMMAND [ARGUMENT...]" >&2
    exit 2
fi
nodes=$1
cpus=$2
patience_s=150
shift 2

skip() {
    echo "with-slurm.sh: $1" >&2
    exit 77
}

[ "$(id -u)" -eq 0 ] || skip "only root can start a cluster"
for program in munged slurmctld slurmd srun scontrol sinfo; do
    command -v "$program" >/dev/null || skip "$program is missing: packages slurm-wlm and munge"
done

if [ -z "${SLURM_TESTBED:-}" ]; then
    unshare --pid --mount --net --uts true 2>/dev/null ||
        skip "this machine lets nobody make name spaces"
    SLURM_TESTBED=$(mktemp -d "${TMPDIR:-/tmp}/slurm.XXXXXX")
    export SLURM_TESTBED
    trap 'rm -rf "$SLURM_TESTBED"' EXIT
    status=0
    unshare --pid --fork --kill-child --mount --mount-proc --net --uts \
        "$0" "$nodes" "$cpus" "$@" || status=$?
    exit "$status"
fi

dir=$SLURM_TESTBED
chmod 755 "$dir"
mkdir "$dir"/{etc,state,spool,log,run,munge}
ip link set lo up
# A name is only looked up for IPv4 (AI_ADDRCONFIG) where there is an address besides 127.0.0.1.
ip address add 198.51.100.1/32 dev lo
hostname simhost
{
    echo "127.0.0.1 localhost simhost"
    for i in $(seq "$nodes"); do
        echo "127.$((20 + i / 250)).0.$((1 + i % 250)) sim$i"
    done
} >"$dir/etc/hosts"
mount --bind "$dir/etc/hosts" /etc/hosts

head -c 1024 /dev/urandom >"$dir/munge/key"
chmod 600 "$dir/munge/key"
munged --force --key-file="$dir/munge/key" --socket="$dir/munge/sock" --pid-file="$dir/munge/pid" \
    --log-file="$dir/log/munged.log" --seed-file="$dir/munge/seed" --num-threads=2

cat >"$dir/etc/slurm.conf" <<END
ClusterName=sim
SlurmctldHost=simhost(127.0.0.1)
SlurmctldPort=17000
SlurmUser=root
SlurmdUser=root
${SLURM_PLUGSTACK:+PlugStackConfig=$dir/etc/plugstack.conf}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge/sock
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
${SLURM_TREE:+TopologyPlugin=topology/tree}
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
MessageTimeout=60
SlurmdTimeout=0
InactiveLimit=0
KillWait=20
MinJobAge=300
PropagateResourceLimits=NONE
NodeName=DEFAULT CPUs=$cpus RealMemory=64 State=UNKNOWN
$(for i in $(seq "$nodes"); do
    echo "NodeName=sim$i NodeHostname=simhost NodeAddr=sim$i Port=$((17000 + i))" \
        "Feature=$([ "$i" -le $((nodes / 2)) ] && echo first || echo second,late)"
done)
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO PreemptMode=OFF
# Jobs of the two first give way to those of the third.
PartitionName=cancelled Nodes=ALL PriorityTier=1 PreemptMode=CANCEL GraceTime=20
PartitionName=requeued Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE GraceTime=20
PartitionName=urgent Nodes=ALL PriorityTier=9 PreemptMode=OFF
END
printf '%s\n' "${SLURM_PLUGSTACK:-}" >"$dir/etc/plugstack.conf"
[ -z "${SLURM_TREE:-}" ] || printf '%s\n' "$SLURM_TREE" >"$dir/etc/topology.conf"
export SLURM_CONF=$dir/etc/slurm.conf
slurmctld -f "$SLURM_CONF" -c
# A host name each, so that what runs there says where it runs.
for i in $(seq "$nodes"); do
    mkdir -p "$dir/spool/sim$i"
    unshare --uts sh -c "hostname sim$i; exec slurmd -f '$SLURM_CONF' -N sim$i"
done

idle=0
until [ "$idle" -ge "$nodes" ] || [ "$SECONDS" -ge "$patience_s" ]; do
    sleep 0.1
    idle=$(timeout 5 sinfo -h -N -p all -t idle -o %N 2>/dev/null | wc -l)
done
if [ "$idle" -lt "$nodes" ]; then
    tail -n 5 "$dir"/log/*.log >&2
    skip "only $idle of $nodes nodes came up within $patience_s s"
fi
# Not exec: the last process of a name space takes the others with it when the command has ended.
status=0
"$@" || status=$?
exit "$status"
