#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# banyan by the names of other launchers: their options are translated, and what is not known is refused in
# one line. As srun it makes room for the scheduler's when a daemon has called it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

mkdir "$scratch/bin"
for name in mpiexec mpirun srun; do
    ln -s "$top_builddir/banyan" "$scratch/bin/$name"
done
mark=BANYAN_TEST_MARK=$scratch # of this script's processes (run_lib.sh)

# as NAME ARGUMENT...: the sorted output of a run.
as() {
    local name=$1
    shift
    run env "$mark" "$scratch/bin/$name" --timeout=240 "$@" </dev/null
    out=$(sort <<<"$out")
    [ $status -eq 0 ] || diag "$err"
}
# declines NAME REGEX ARGUMENT...
declines() {
    local name=$1 regex=$2
    shift 2
    run env "$mark" "$scratch/bin/$name" "$@" </dev/null
    like "$status $err" "^125 banyan: $regex" "$name $*"
}

as mpirun --allow-run-as-root -np 2 --mpi none --host localhost:2 --mca btl self -x ONE=1 sh -c \
    'echo "$BANYAN_RANK $OMPI_MCA_btl $ONE"' : -n 1 --oversubscribe -x ONE=2 sh -c 'echo "$BANYAN_RANK $ONE"'
is "$out" "$(printf '0 self 1\n1 self 1\n2 2')" "mpirun, two programs"
as mpiexec -n 2 --virtual-nodes 1 --mpi none -genv ONE 1 -l -wdir "$scratch" sh -c 'echo "$ONE $PWD"'
is "$out" "$(printf '%s\n' "[0] 1 $scratch" "[1] 1 $scratch")" "mpiexec"
as srun -ln2 --virtual-nodes=1 --mpi=none --export=ALL,ONE=1 -D "$scratch" sh -c 'echo "$ONE $PWD"'
is "$out" "$(printf '%s\n' "[0] 1 $scratch" "[1] 1 $scratch")" "srun"
run env "$mark" "$scratch/bin/mpirun" --virtual-nodes 1 -n 1 --mpi none sh -c 'exit 7' </dev/null
is "$status" 7 "the status is the program's"

# Nodes of a job, through a stand-in for ssh.
if [ -x "$top_builddir/contrib/testbed/fakessh" ]; then
    export BANYAN_SSH_AGENT=$top_builddir/contrib/testbed/fakessh
    export SLURM_JOB_ID=7 SLURM_JOB_NODELIST='v[1-4]' SLURM_NODELIST='v[1-4]' SLURM_TASKS_PER_NODE='2(x4)' \
        SLURM_JOB_CPUS_PER_NODE='2(x4)' SLURM_JOB_NUM_NODES=4
    as srun --starter ssh --mpi none -N 2 -n 3 sh -c 'echo "$BANYAN_RANK $BANYAN_NODE"'
    is "$out" "$(printf '0 v1\n1 v1\n2 v2')" "srun -N uses the first nodes of the job"
    as srun --starter ssh --mpi none -N 3 sh -c 'echo "$BANYAN_RANK $BANYAN_NODE"'
    is "$out" "$(printf '0 v1\n1 v2\n2 v3')" "without -n a process on each"
    unset BANYAN_SSH_AGENT "${!SLURM_@}"
else
    skip "contrib/testbed/fakessh is not built"
    skip "contrib/testbed/fakessh is not built"
fi

declines srun "srun: unknown option '-p': an option of the scheduler" -p debug true
declines srun "srun: option '-t': 'soon' is not a time" -t soon true
declines srun "unknown option '--labl': did you mean '--label'" --labl true
declines mpirun "unknown option '--tune': not supported" --tune x true
declines mpirun "unknown option '-rankfile': use --map-by rankfile:FILE" -rankfile f true
declines mpiexec "mpiexec: option '-genv' needs a name and a value" -genv x
declines mpiexec "no program given" -n 2
for name in mpiexec mpirun srun; do
    run env "$mark" "$scratch/bin/$name" --version </dev/null
    like "$status $out" "^0 banyan [0-9]" "$name --version"
    run env "$mark" "$scratch/bin/$name" --help </dev/null
    like "$status $out" "^0 Usage: $name .*--np" "$name --help"
done

# What a daemon calls srun is the scheduler's.
mkdir "$scratch/scheduler"
printf '#!/bin/sh\necho "the other: $*"\n' >"$scratch/scheduler/srun"
chmod +x "$scratch/scheduler/srun"
run env "$mark" BANYAN_HELPER=7.0 PATH="$scratch/bin:$scratch/scheduler:$PATH" srun -N 2 x </dev/null
is "$status $out" "0 the other: -N 2 x" "a daemon gets the scheduler's srun"
run env "$mark" BANYAN_HELPER=7.1 PATH="$scratch/bin:$scratch/scheduler:$PATH" srun --virtual-nodes 1 -n 1 --mpi none echo own </dev/null
is "$status $out" "0 own" "a process of a job gets this one"
nothing_left_within 60 none "nothing is left"
done_testing
