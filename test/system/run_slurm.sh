#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan run` in a real Slurm of 16 nodes on this machine (contrib/testbed/with-slurm.sh): in jobs of
# any shape it uses the nodes and the slots that Slurm gave, and leaves nothing behind. What Slurm
# gave is asked of Slurm: a step of the job that prints where its tasks are, and scontrol.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

if [ -z "${SLURM_TESTBED:-}" ]; then
    again_in_slurm run_slurm.sh 16 400
fi

export TMPDIR=$scratch
cd "$scratch" || exit 1

# What a job's script does: says where the tasks of a step are, where banyan's ranks are, and keeps
# what banyan said.
cat >job.sh <<'J'
#!/bin/bash
srun --overlap hostname | sort >$OUT.srun
"$banyan" run --json $OUT.json "$@" hostname >$OUT.ranks 2>$OUT.err </dev/null
echo $? >$OUT.status
sort -o $OUT.ranks $OUT.ranks
"$banyan" alloc --json >$OUT.alloc
echo "$SLURM_JOB_ID" >$OUT.id
scontrol show job "$SLURM_JOB_ID" >$OUT.job
J
chmod +x job.sh
export banyan

no_daemon() {
    ! pgrep -x banyand >/dev/null
}

# same NAME: banyan's ranks are where Slurm's tasks are.
same() {
    is "$(cat "$OUT.status")" 0 "$1: it runs"
    is "$(uniq -c <"$OUT.ranks" | xargs)" "$(uniq -c <"$OUT.srun" | xargs)" \
        "$1: the ranks are where Slurm's tasks are"
    is "$(without_stalls <"$OUT.err")" "" "$1: not a word about it"
    like "$(cat "$OUT.json")" '"starter": "srun"' "$1: srun has started the daemons"
    ok "$1: no daemon is left" until_true 10 no_daemon
}

# seen NAME: `banyan alloc` shows the job as scontrol does: its nodes in order, as many tasks.
seen() {
    local nodes
    nodes=$(sed -n 's/^ *NodeList=//p' "$OUT.job")
    is "$(scontrol show hostnames "$(sed -n 's/^  "names": "\(.*\)",*$/\1/p' "$OUT.alloc")" | xargs)" \
        "$(scontrol show hostnames "$nodes" | xargs)" "$1: banyan alloc has scontrol's nodes"
    is "$(sed -n 's/^  "slots": \(.*\),$/\1/p' "$OUT.alloc")" "$(wc -l <"$OUT.srun")" \
        "$1: and as many slots as there are tasks"
    like "$(cat "$OUT.alloc")" "\"job\": \"$(cat "$OUT.id")\"" "$1: and the job's id"
}

# job NAME OPTION...: salloc with the options.
job() {
    export OUT=$scratch/$1
    shift
    timeout 300 salloc -Q "$@" ./job.sh 2>"$OUT.salloc" || diag "$(cat "$OUT.salloc")"
}

job even -N4 -n8
same "four nodes with two tasks each"
seen "four nodes with two tasks each"
job uneven -N4 -n7
same "seven tasks on four nodes"
seen "seven tasks on four nodes"
job listed -w 'sim[3,5,9-11]' -n 9
same "nodes by name"
seen "nodes by name"
is "$(sort -u "$OUT.ranks" | xargs)" \
    "$(scontrol show hostnames 'sim[3,5,9-11]' | sort | xargs)" "and none but these"
job all -N16 --ntasks-per-node=4
same "all of the cluster"
job cpus -N2 -n3 -c 2
same "tasks of two CPUs"
seen "tasks of two CPUs"

export OUT=$scratch/batch
timeout 300 sbatch -Q --wait -N3 -n5 -o "$OUT.out" job.sh
same "sbatch"
seen "sbatch"

# Slurm's step of two components prints all tasks; components are two jobs with nodes of their own.
cat >het.sh <<'J'
#!/bin/bash
srun --overlap --het-group=0 hostname >$OUT.0
srun --overlap --het-group=1 hostname >$OUT.1
sort $OUT.0 $OUT.1 >$OUT.srun
"$banyan" run --json $OUT.json "$@" hostname >$OUT.ranks 2>$OUT.err </dev/null
echo $? >$OUT.status
sort -o $OUT.ranks $OUT.ranks
J
chmod +x het.sh
export OUT=$scratch/het
timeout 300 salloc -Q -N2 -n5 : -N3 -n3 ./het.sh 2>"$OUT.salloc" || diag "$(cat "$OUT.salloc")"
same "a heterogeneous job"

# ---- A living instance takes the rest of its job ----

export OUT=$scratch/grow
cat >grow.sh <<'J'
#!/bin/bash
scontrol show hostnames "$SLURM_JOB_NODELIST" | sort >$OUT.want
dir=$("$banyan" start --daemonize --start-timeout 120 --host "$(head -n 1 $OUT.want)" </dev/null 2>$OUT.err)
{
    "$banyan" node add --instance "$dir" --from-scheduler
    echo $?
    "$banyan" run --instance "$dir" --per-node 1 hostname </dev/null | sort >$OUT.ranks
    "$banyan" stop --instance "$dir"
} >>$OUT.err 2>&1
J
chmod +x grow.sh
timeout 300 salloc -Q -N3 -n6 ./grow.sh 2>"$OUT.salloc" || diag "$(cat "$OUT.salloc")"
is "$(cat "$OUT.err")" 0 "an instance of one node of a job takes the other nodes by srun"
is "$(cat "$OUT.ranks")" "$(cat "$OUT.want")" "and jobs run there"

# ---- Fewer than all ----

export OUT=$scratch/some
cat >some.sh <<'J'
#!/bin/bash
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
echo ${nodes[1]} ${nodes[3]} >$OUT.want
"$banyan" run --json $OUT.json --host "${nodes[3]}:1,${nodes[1]}:1" hostname >$OUT.ranks 2>$OUT.err </dev/null
"$banyan" run --no-daemons --host "${nodes[3]}:1,${nodes[1]}:1" sh -c 'echo $BANYAN_RANK $(hostname)' >$OUT.direct 2>$OUT.direct_err </dev/null
"$banyan" run --source local --slots 2 hostname >$OUT.local 2>&1 </dev/null
srun --overlap -N1 -n1 -w "${nodes[2]}" "$banyan" run hostname >$OUT.step 2>&1 </dev/null
echo ${nodes[2]} >$OUT.step_node
mask='grep Cpus_allowed_list: /proc/self/status'
$mask >$OUT.mask_want
taskset -c "$(taskset -cp $$ | sed 's/.*[^0-9]//')" "$banyan" run -N 1 $mask 2>&1 </dev/null | sort -u >$OUT.mask
SLURM_TASKS_PER_NODE='2(x3' "$banyan" run touch $OUT.never >$OUT.broken 2>&1 </dev/null
echo $? >>$OUT.broken
env -u SLURM_JOB_NODELIST -u SLURM_NODELIST "$banyan" run touch $OUT.never >$OUT.missing 2>&1 </dev/null
echo $? >>$OUT.missing
"$banyan" run --banyand /nowhere/banyand touch $OUT.never >$OUT.absent 2>&1 </dev/null
echo $? >>$OUT.absent
J
chmod +x some.sh
timeout 300 salloc -Q -N4 -n4 ./some.sh 2>"$OUT.salloc" || diag "$(cat "$OUT.salloc")"
is "$(sort "$OUT.ranks" | xargs)" "$(cat "$OUT.want")" "--host takes some nodes of the job"
like "$(cat "$OUT.json")" '"starter": "srun"' "srun starts there, too"
is "$(sort "$OUT.direct" | xargs)" "$(xargs -n 1 <"$OUT.want" | awk '{ order[NR] = $1 } END { print 0, order[2], 1, order[1] }')" \
    "without daemons srun starts each rank on its node"
is "$(xargs <"$OUT.local")" "simhost simhost" "--source local is this machine"
is "$(cat "$OUT.step")" "$(cat "$OUT.step_node")" "in a step of one node it is that node"
is "$(cat "$OUT.mask")" "$(cat "$OUT.mask_want")" "the ranks may use all CPUs, even if banyan itself may not"
like "$(cat "$OUT.broken")" "^banyan: Slurm job [0-9]+: SLURM_TASKS_PER_NODE: column 5: .*125$" \
    "a variable that cannot be read ends it"
like "$(cat "$OUT.missing")" "^banyan: Slurm job [0-9]+: neither SLURM_JOB_NODELIST nor SLURM_NODELIST is set.*125$" \
    "so does one that is missing"
like "$(cat "$OUT.absent")" "cannot start .*daemon.*sim.*/nowhere/banyand.*125$" \
    "so does a daemon that is not installed"
is "$(grep -c ^banyan: "$OUT.absent")" 1 "in one line for all nodes"
diag "$(cat "$OUT.absent")"
ok "nothing ran on this machine instead" test ! -e "$OUT.never"
ok "no daemon is left" until_true 10 no_daemon

# ---- Boot records that do not go over stdin ----

export OUT=$scratch/boot
mkdir "$scratch/shared"
cat >boot.sh <<'J'
#!/bin/bash
munge=$(scontrol show config | sed -n 's/^AuthInfo.*socket=\([^,]*\).*/\1/p')
try() {
    "$banyan" run --boot "$2" hostname >$OUT.$1 2>$OUT.$1.err </dev/null
    echo $? >$OUT.$1.status
    sort -o $OUT.$1 $OUT.$1
}
BANYAN_MUNGE_SOCKET=$munge try munge munge
try file "file:$scratch/shared"
try directory file:/no/such/directory
try word nonsense
BANYAN_MUNGE_SOCKET=/no/such/socket try socket munge
scontrol show hostnames "$SLURM_JOB_NODELIST" | sort >$OUT.want
J
chmod +x boot.sh
export scratch
timeout 300 salloc -Q -N3 -n3 ./boot.sh 2>"$OUT.salloc" || diag "$(cat "$OUT.salloc")"
for way in munge file; do
    if [ $way = munge ] && grep -q 'built without MUNGE' "$OUT.$way.err"; then
        skip "--boot munge: this banyan is built without it"
        continue
    fi
    is "$(cat "$OUT.$way.status" "$OUT.$way" "$OUT.$way.err" | xargs)" "0 $(xargs <"$OUT.want")" \
        "--boot $way: it runs on all nodes"
done
is "$(find "$scratch/shared" -mindepth 1)" "" "--boot file: the record is gone"
# ends_with WHICH REGEX NAME: status 125 and one line.
ends_with() {
    is "$(cat "$OUT.$1.status") $(wc -l <"$OUT.$1.err")" "125 1" "$3: status 125 and one line"
    like "$(cat "$OUT.$1.err")" "$2" "$3: which says why"
}
ends_with directory 'cannot start .*daemon.* on sim.*/no/such/directory/' "a directory that is not there"
ends_with word "option --boot: 'nonsense' is neither munge nor file:DIR" "a word of no kind"
if ! grep -q 'built without MUNGE' "$OUT.socket.err"; then
    ends_with socket 'cannot start .*daemon.* on sim.*MUNGE' "a munged that is not there"
fi
ok "no daemon is left" until_true 10 no_daemon

# ---- Features ----

export OUT=$scratch/require
cat >require.sh <<'J'
#!/bin/bash
"$banyan" alloc >$OUT.alloc
"$banyan" run --require feature=late hostname >$OUT.late 2>&1 </dev/null
"$banyan" run --require 'feature=first,os=linux' hostname >$OUT.first 2>&1 </dev/null
"$banyan" run -n 1 --require feature=late hostname : -n 2 --require 'feature!=late' hostname \
    >$OUT.each 2>&1 </dev/null
"$banyan" run --require 'mem>=1G' touch $OUT.never >$OUT.refused 2>&1 </dev/null
echo $? >>$OUT.refused
"$banyan" map --explain -n 4 --require feature=late >$OUT.map 2>&1
J
chmod +x require.sh
timeout 300 salloc -Q -w 'sim[7-10]' -n 4 ./require.sh 2>"$OUT.salloc" || diag "$(cat "$OUT.salloc")"
like "$(cat "$OUT.alloc")" "2      1  sim\[7-8\]  mem=64M,feature=first
 *2      1  sim\[9-10\]  mem=64M,feature=late\|second" "banyan alloc has Slurm's features and memory"
is "$(sort "$OUT.late" | xargs)" "sim10 sim9" "--require takes the nodes with the feature"
is "$(sort "$OUT.first" | xargs)" "sim7 sim8" "what Slurm knows and what the nodes know"
is "$(sort "$OUT.each" | xargs)" "sim7 sim8 sim9" "each application has its own"
is "$(cat "$OUT.refused")" "banyan: no node satisfies --require: mem>=1G excludes \
sim[7-10] (64M)
125" "if no node has it nothing starts"
ok "nothing" test ! -e "$OUT.never"
is "$(cat "$OUT.map")" "banyan: 4 processes requested, but there are 4 slots on 4 nodes (from Slurm, \
SLURM_TASKS_PER_NODE), of which 2 are free on the remaining nodes; use -n 2 or fewer, or \
--oversubscribe; --require: feature=late excludes sim[7-8]; it works with -n 2; it works with \
--oversubscribe; it works without feature=late" "banyan map explains"

# ---- Ends ----

no_sleep() {
    ! pgrep -f "sleep 7531" >/dev/null
}
running() {
    [ "$(pgrep -cf "^sleep 7531")" -ge "$1" ]
}

timeout 300 salloc -Q -N3 -n3 "$banyan" run sleep 7531 >"$scratch/cancel" 2>&1 </dev/null &
pid=$!
ok "a job runs" until_true 30 running 3
scancel -u root
wait "$pid"
ok "after scancel no process is left" until_true 20 no_sleep
ok "and no daemon" until_true 20 no_daemon

cat >killed.sh <<'J'
#!/bin/bash
"$banyan" run sleep 7531 </dev/null &
front=$!
until [ "$(pgrep -cf '^sleep 7531')" -ge 3 ]; do sleep 0.1; done
kill -KILL $front
for _ in $(seq 200); do
    pgrep -x banyand >/dev/null || pgrep -f '^sleep 7531' >/dev/null || exit 0
    sleep 0.1
done
exit 1
J
chmod +x killed.sh
ok "after SIGKILL of the front end everything ends" timeout 300 salloc -Q -N3 -n3 ./killed.sh
ok "no process is left" until_true 10 no_sleep
ok "and no daemon" until_true 10 no_daemon
is "$(find "$scratch" -name 'banyan*' -o -name 'b-*' | grep -v '^$' | xargs)" "" "no file is left"

done_testing
