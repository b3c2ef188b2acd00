#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Real MPI programs on virtual nodes: each rank once, all in one world, and nothing left behind.
# RUNS=n repeats the hellos n times (20 for the figure of the issue).
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

runs=${RUNS:-2}
# Sanitizers make a daemon's start of libpmix ten times dearer.
nodes=${NODES:-16}
[ -z "${BANYAN_SANITIZERS:-}" ] || nodes=4
per_node=4
ranks=$((nodes * per_node))

# world OUTPUT: every rank of a world of $ranks once. A world of size 1 fails here.
world() {
    [ "$(grep -c "^rank [0-9]* of $ranks on " <<<"$1")" -eq $ranks ] &&
        [ "$(sed -n 's/^rank \([0-9]*\) of .*/\1/p' <<<"$1" | sort -u | wc -l)" -eq $ranks ]
}

# hello NAME COMPILER [OPTION...]
hello() {
    local name=$1 compiler=$2 good=0 i
    shift 2
    if ! command -v "$compiler" >/dev/null; then
        skip "$name: $compiler is not installed"
        return
    fi
    if ! "$compiler" -O1 -o "$scratch/hello_$name" "$srcdir/test/tool/mpi/hello.c"; then
        fail "$name: hello compiles"
        return
    fi
    new_mark
    for ((i = 0; i < runs; i++)); do
        run "$banyan" run --virtual-nodes $nodes -n $ranks --per-node $per_node --oversubscribe \
            --timeout 240 -x BT_MARK="$mark" "$@" "$scratch/hello_$name" </dev/null
        if [ $status -eq 0 ] && world "$out"; then
            good=$((good + 1))
        else
            diag "run $i: status $status, $(grep -c '^rank' <<<"$out") ranks: $err"
        fi
    done
    is "$good of $runs" "$runs of $runs" "$name: $ranks ranks on $nodes nodes, $runs times"
    nothing_left "$name: nothing is left behind"
}

# hello_on NODES RANKS NAME: another shape of the world.
shape() {
    local program=$scratch/hello_$3
    [ -x "$program" ] || return
    run "$banyan" run --virtual-nodes "$1" -n "$2" --oversubscribe --map-by "$4" --timeout 240 \
        "$program" </dev/null
    is "$status $(grep -c "^rank [0-9]* of $2 on " <<<"$out")" "0 $2" \
        "$3: $2 ranks on $1 nodes by $4"
}

hello openmpi mpicc.openmpi
hello mpich mpicc.mpich
for name in openmpi mpich; do
    shape 1 4 $name slot
    shape 3 7 $name node
    shape 3 7 $name slot
done

if python3 -c 'import mpi4py' 2>/dev/null || /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
    cat >"$scratch/sum.py" <<'PYTHON'
from mpi4py import MPI
world = MPI.COMM_WORLD
print("sum", world.allreduce(world.rank), "of", world.size)
PYTHON
    run "$banyan" run --virtual-nodes 4 -n 8 --oversubscribe --timeout 240 \
        /usr/bin/python3 "$scratch/sum.py" </dev/null
    is "$status $(grep -c '^sum 28 of 8$' <<<"$out")" "0 8" "mpi4py: 8 ranks on 4 nodes"
else
    skip "mpi4py is not installed"
fi

# abort: MPI_Abort of one rank ends all, with its status.
cat >"$scratch/abort.c" <<'C'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    pause();
    return 0;
}
C
for name in openmpi mpich; do
    command -v mpicc.$name >/dev/null || continue
    mpicc.$name -o "$scratch/abort_$name" "$scratch/abort.c" || continue
    new_mark
    run "$banyan" run --virtual-nodes 3 -n 6 --oversubscribe --timeout 240 -x BT_MARK="$mark" \
        "$scratch/abort_$name" </dev/null
    is $status 7 "$name: the status of MPI_Abort is the run's"
    like "$err" 'banyan: rank 1 on v[0-9]* ' "$name: the line names the rank and its node"
    nothing_left "$name: MPI_Abort leaves nothing"
done

# MPI_Abort with status 0 ends the job as well, with status 0 and without a text that says nothing.
sed 's/MPI_Abort(MPI_COMM_WORLD, 7)/MPI_Abort(MPI_COMM_WORLD, 0)/' "$scratch/abort.c" >"$scratch/abort0.c"
if command -v mpicc.openmpi >/dev/null && mpicc.openmpi -o "$scratch/abort0" "$scratch/abort0.c"; then
    run "$banyan" run --virtual-nodes 3 -n 6 --oversubscribe --timeout 240 "$scratch/abort0" </dev/null
    is $status 0 "MPI_Abort with status 0"
    like "$err" 'banyan: rank 1 on v[0-9]* called abort with status 0$' "and nothing else to say"
fi
done_testing
