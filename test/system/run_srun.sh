#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# srun starts all daemons with one call, whose options follow its version. It is a stand-in here that starts each daemon on
# a virtual node of its own (fakessh) and gives it what the real one gives (run_slurm.sh has a real Slurm).
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

export FAKESSH=$top_builddir/contrib/testbed/fakessh FAKESSH_BASE=$TMPDIR/nodes
export FAKESSH_KEEP=SLURMD_NODENAME
export SEEN=$scratch/seen
mkdir "$scratch/bin" "$SEEN"
for host in n1 n2 n3; do mkdir -p "$FAKESSH_BASE/$host"; done
files_before=$(left_files)

cat >"$scratch/bin/srun" <<'S'
#!/bin/bash
if [ "$*" = --version ]; then
    [ -n "$VERSION" ] || { echo "srun: fatal: no configuration" >&2; exit 1; }
    echo "$VERSION"
    exit
fi
printf '%s\n' "$@" >"$SEEN/arguments"
env | grep -E '^(SLURM|SRUN)_' | sort >"$SEEN/environment"
trap 'kill -TERM $(jobs -p) 2>/dev/null' TERM INT
while [[ $1 = -* ]]; do
    [[ $1 != --nodelist=* ]] || list=${1#*=}
    shift
done
case $list in
'n[1-3]') hosts="n1 n2 n3" ;;
n1) hosts=n1 ;;
'n[2-3]') hosts="n2 n3" ;;
*) echo "srun: which nodes are $list?" >&2; exit 99 ;;
esac
input=$SEEN/input.$$
cat >"$input"
number=0
for host in $hosts; do
    SLURMD_NODENAME=$host "$FAKESSH" $host "$@" <"$input" > >(sed -u "s/^/$number: /") 2>&1 &
    number=$((number + 1))
done
status=0
while [ -n "$(jobs -pr)" ]; do wait || status=$?; done
exit $status
S
chmod +x "$scratch/bin/srun"
export PATH=$scratch/bin:$PATH

# in_job VERSION VARIABLE=VALUE... -- COMMAND...: a run in a Slurm job, by an srun of this version.
in_job() {
    local variables=("VERSION=$1" SLURM_JOB_ID=7 'SLURM_JOB_NODELIST=n[1-3]' 'SLURM_TASKS_PER_NODE=1(x3)')
    shift
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    new_mark
    rm -f "$SEEN"/*
    run env "${variables[@]}" "$banyan" run --net lo --banyand "$BANYAN_DAEMON" --timeout 240 \
        -x BT_MARK="$mark" "$@" </dev/null
}

while IFS='|' read -r version options; do
    in_job "$version" -- hostname
    is "$status:$err:$(sort <<<"$out" | xargs)" "0::n1 n2 n3" "${version:-no version}: it runs on all nodes of the job"
    is "$(grep -xE -e '--(overlap|external-launcher)' "$SEEN/arguments" | xargs)" "$options" \
        "${version:-no version}: ${options:-no option} for a step that takes nothing"
    like "$(xargs <"$SEEN/arguments")" '--cpu-bind=none' "${version:-no version}: and binds no task"
    nothing_left "${version:-no version}: nothing is left"
done <<'V'
slurm 23.11.4|--external-launcher
slurm-wlm 22.05.8|--overlap
slurm 19.05.3|
|--overlap
what is this|--overlap
V

# In a step: what that has is not what the daemons' own shall have.
in_job "slurm 23.11.4" SLURM_STEP_ID=0 'SLURM_STEP_NODELIST=n[1-3]' SLURM_STEP_NUM_NODES=3 'SLURM_STEP_TASKS_PER_NODE=1(x3)' \
    SLURM_CPU_BIND=mask_cpu:0x1 SLURM_CPU_BIND_TYPE=mask_cpu: SLURM_EXACT=1 SLURM_CPUS_PER_TASK=1 SRUN_CPUS_PER_TASK=1 \
    SLURM_OVERLAP=1 SLURM_TRES_PER_TASK=cpu=1 SLURM_DISTRIBUTION=cyclic SLURM_NTASKS=1 -- hostname
is "$status:$err:$(sort <<<"$out" | xargs)" "0::n1 n2 n3" "in a step: it runs on all its nodes"
is "$(grep -vE '^SLURM_JOB_(ID|NODELIST)=|^SLURMD' "$SEEN/environment" | cut -d = -f 1 | xargs)" "" \
    "in a step: none of its options becomes one of the daemons' step"
nothing_left "in a step: nothing is left"

# A living instance grows by a second step, also when the job has been extended since.
cat >"$scratch/bin/scontrol" <<'S'
#!/bin/sh
printf 'JobId=7\n   NodeList=n[1-3]\n     Nodes=n1 CPU_IDs=0 Mem=0 GRES=\n     Nodes=n[2-3] CPU_IDs=0-1 Mem=0 GRES=\n'
S
chmod +x "$scratch/bin/scontrol"
new_mark
export VERSION="slurm 23.11.4" SLURM_JOB_ID=7
dir=$(SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=1 "$banyan" start --daemonize --net lo --banyand "$BANYAN_DAEMON" \
    --start-timeout 120 </dev/null)
run "$banyan" node add --instance "$dir" --from-scheduler </dev/null
is "$status$err" 0 "the nodes by which the job was extended are added"
is "$(grep -xE -e '--(nodes|ntasks|nodelist)=.*' "$SEEN/arguments" | xargs)" "--nodes=2 --ntasks=2 --nodelist=n[2-3]" \
    "by one step on these"
run "$banyan" run --instance "$dir" -x BT_MARK="$mark" hostname </dev/null
is "$status:$err:$(sort <<<"$out" | xargs)" "0::n1 n2 n2 n3 n3" "and run jobs"
run "$banyan" node add --instance "$dir" n9 </dev/null
is "$status" 125 "a node outside the job"
like "$err" '^banyan: cannot start the daemon on n9: srun exited 99: .*which nodes are n9' "is an error in srun's words"
run "$banyan" stop --instance "$dir"
is "$status$err" 0 "the instance ends"
nothing_left "an instance that has grown: nothing is left"
done_testing
