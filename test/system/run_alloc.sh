#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan alloc`: what it shows of nodes named by hand, of schedulers' environments and of this
# machine, in a table, as JSON and explained; and what it refuses. run_slurm.sh has a real scheduler.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

cd "$scratch" || exit 1
for variable in $(env | sed -n 's/^\(\(SLURM\|PBS\|LSB\|OAR\|FLUX\|PJM\|PALS\|COBALT\)_[A-Z_]*\)=.*/\1/p'); do
    unset "$variable"
done

# alloc NAME EXPECTED ARGUMENT...: the table, without the line about where it is from.
alloc() {
    local name=$1 expected=$2
    shift 2
    run "$banyan" alloc "$@"
    is "$(sed '/^from /d; /^$/d; s/  FACTS$//; s/  mem=.*os=linux$//' <<<"$out" | tr -s ' \n' ' ' | sed 's/ $//')" "$expected" "$name"
    [ -z "$err" ] || diag "$err"
}
refuses() {
    local name=$1 regex=$2
    shift 2
    run "$banyan" alloc "$@"
    is "$status:$out" "125:" "$name: refused"
    like "$err" "^banyan: $regex" "$name: in one line"
    is "$(wc -l <"$scratch/.err")" 1 "$name: one"
}

alloc "equal nodes are one line" "8 nodes, 14 slots NODES SLOTS NAMES 6 1 a,n[01-05] 2 4 b,c" \
    --host 'a,b:4,n[01-05],c:4'
printf '# cluster\na slots=2\nb:3\n^a\nme@n[1-4] slots=8\n' >hosts
alloc "100 names from a number on" "101 nodes, 201 slots NODES SLOTS NAMES 100 2 q[512-611] 1 1 x" \
    --host '512+100/q[0-1024]:2,x'
printf '8+2/q[0-9]-ib slots=3\n' >cut
alloc "in a host file" "2 nodes, 6 slots NODES SLOTS NAMES 2 3 q[8-9]-ib" --hostfile cut
refuses "more names than there are" "option --host: column 3: 9 names starting at number 2 are requested, but there are only 8" \
    --host 'a,2+9/q[0-9]'
refuses "a number that no name has" "option --host: column 1: no name has the number 10" \
    --host '10+1/q[0-9]'
refuses "no names" "option --host: column 1: 0 names requested" --host '1+0/q[0-9]'
refuses "half of the form" "option --host: column 2: '\+' is not allowed in a node name" --host '1+2'
run "$banyan" run --ssh-agent "$top_builddir/contrib/testbed/fakessh" --net lo \
    --banyand "$BANYAN_DAEMON" --host '7+2/q[0-9]:2' sh -c 'echo $BANYAN_NODE' </dev/null
is "$status:$(sort <<<"$out" | xargs)" "0:q7 q7 q8 q8" "and a run uses them"
run "$banyan" alloc --virtual-nodes 3 --facts 'v[2-3]:mem=64G,feature=ib|fast' --facts v3:gpus=2
like "$out" " v1  mem=.*,arch=.*,os=linux" "facts of this machine are known"
like "$out" " v2  mem=64G,arch=.*,os=linux,feature=fast\|ib
" "those that are given count first"
like "$out" " v3  mem=64G,arch=.*,os=linux,feature=fast\|ib,gpus=2" "and add up"
run "$banyan" alloc --host 'n[1-2]' --facts n2:mem=1G,feature=a --json
like "$(tr -d ' \n' <<<"$out")" '"facts":\[\{"names":"n2","mem_mib":1024,"features":\["a"\]\}\]' \
    "in JSON, too; of others nothing is known"
refuses "facts of no node" "option --facts: no such node: n9" --host 'n[1-2]' --facts n9:mem=1G
refuses "facts of a wrong word" "option --facts: column 5: '1Q' cannot be a value of mem" \
    --host 'n[1-2]' --facts n1:mem=1Q
alloc "a host file" "5 nodes, 35 slots NODES SLOTS NAMES 1 3 b 4 8 n[1-4]" --hostfile hosts
run "$banyan" alloc --hostfile hosts --explain
like "$out" "hosts:2: 2 slots each: a" "explained: file and line"
like "$out" "hosts:4 \(excluded\): 0 slots each: a" "what is excluded"
like "$out" "hosts:5: 8 slots each: n\[1-4\]" "a range"
like "$out" "ssh -l me" "and how it is started, as whom"

run "$banyan" alloc --explain
like "$out" "hwloc: the cores of this machine.*: $(nproc) slots? each: $(hostname)" \
    "this machine: hwloc counts"
like "$out" "the CPUs $(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)" "within these CPUs"
like "$(taskset -c 0 "$banyan" alloc)" "1 node, 1 slot" "a binding counts"

export SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[1-3],x' SLURM_TASKS_PER_NODE='4(x2),2,4'
alloc "Slurm" "Slurm job 7: 4 nodes, 14 slots NODES SLOTS NAMES 3 4 n[1-2],x 1 2 n3"
run "$banyan" alloc --explain
like "$out" "SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE: 2 slots each: n3" "explained: the variables"
run "$banyan" alloc --json --explain
like "$out" '"source": "slurm".*"job": "7".*"nodes": 4.*"slots": 14' "JSON"
like "$out" '"names": "n\[1-2\]".*"slots": 4.*"names": "n3".*"slots": 2' "in the order of nodes"
like "$out" '"place": "SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE"' "with the places"
alloc "some of the job" "Slurm job 7: 2 nodes, 6 slots NODES SLOTS NAMES 1 2 n3 1 4 x" \
    --host '^n[1-2]'
alloc "by number" "Slurm job 7: 2 nodes, 5 slots NODES SLOTS NAMES 1 4 x 1 1 n1" --host +n3,+n0:1
alloc "not the job" "2 nodes, 2 slots NODES SLOTS NAMES 2 1 v[1-2]" --virtual-nodes 2 --slots 1
like "$("$banyan" alloc --source local)" "1 node, " "--source local"
SLURM_TASKS_PER_NODE='4(x2' refuses "a broken variable" \
    "Slurm job 7: SLURM_TASKS_PER_NODE: column 5: '\)' is missing"
refuses "a source that is not there" "PBS: PBS_NODEFILE is not set" --source pbs
refuses "an unknown source" "option --source: unknown scheduler \"moab\"; known are flux" --source moab
refuses "a node that is not there" "option --host: .*\^y: no node has that name" --host ^y
refuses "a program" "unknown cluster 'hostname': the configuration describes none" hostname
refuses "two of them" "give only one of --host, --hostfile and" --host a --hostfile b
unset "${!SLURM_@}"

printf 'n1\nn2\nn1\n' >nodes
PBS_JOBID=5.srv PBS_NODEFILE=$scratch/nodes run "$banyan" alloc --explain
like "$out" "PBS job 5.srv: 2 nodes, 3 slots" "PBS"
like "$out" "$scratch/nodes:3: 1 slot each: n1" "explained: the line of the file"
mkfifo pipe
PBS_JOBID=5.srv PBS_NODEFILE=$scratch/pipe refuses "a pipe for a file" \
    "PBS job 5.srv: PBS_NODEFILE: cannot read $scratch/pipe: not a regular file"
PBS_JOBID=5.srv PBS_NODEFILE=/dev/zero refuses "a device for a file" \
    "PBS job 5.srv: PBS_NODEFILE: cannot read /dev/zero: not a regular file"
printf 'n1.cluster.org\nn1\nn2\n' >nodes
PBS_JOBID=5.srv PBS_NODEFILE=$scratch/nodes alloc "short and full names of one machine" \
    "PBS job 5.srv: 2 nodes, 3 slots NODES SLOTS NAMES 1 2 n1.cluster.org 1 1 n2"
printf 'n1 slots=2\n' >nodes
KUBERNETES_SERVICE_HOST=10.0.0.1 OMPI_MCA_orte_default_hostfile=$scratch/nodes \
    alloc "a host file in a pod" "MPI operator: 1 node, 2 slots NODES SLOTS NAMES 1 2 n1"
printf 'localhost 0\nlocalhost 1\n' >affinity
lsf=(LSB_JOBID=5 LSB_MCPU_HOSTS="localhost 2" LSB_AFFINITY_HOSTFILE="$scratch/affinity")
run env "${lsf[@]}" "$banyan" run true
is "$status-$(grep -c 'LSB_AFFINITY_HOSTFILE) are ignored' <<<"$err")-$(wc -l <<<"$err")" "0-1-1" \
    "who has LSF's affinity is told once that it is not used"
run env "${lsf[@]}" "$banyan" map --explain
like "$out" '# the CPUs that LSF assigned .*are ignored' "map says it, too"
run env "${lsf[@]}" "$banyan" alloc
like "$out" 'the CPUs that LSF assigned .*are ignored' "and alloc"
: >affinity
run env "${lsf[@]}" "$banyan" run true
is "$status-$err" "0-" "an empty file is no affinity"
printf 'n1\nn2\n' >nodes
COBALT_JOBID=9 COBALT_NODEFILE=$scratch/nodes alloc "who tells no slots" \
    "Cobalt job 9: 2 nodes, 2 slots (no count given: one per node) NODES SLOTS NAMES 2 1 n[1-2]"

run "$banyan" help alloc
like "$out" "^Usage: banyan alloc" "there is help"
done_testing
