#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh: from a fresh clone to Open MPI and MPICH programs on 16 virtual nodes of this machine,
# 4 ranks on each. Installs the missing Debian packages as root, builds in build/ ($BANYAN_BUILD),
# runs both, and checks that every rank of 64 was there and saw 64.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BANYAN_BUILD:-build}
nodes=16
per_node=4
ranks=$((nodes * per_node))

contrib/setup.sh || exit 1
contrib/build.sh "$build" || exit 1
build=$(cd "$build" && pwd)
mkdir -p "$build/demo"
export BANYAN_PKGLIBDIR=$build/.libs
export BANYAN_DAEMON=$build/banyand

# right OUTPUT: each rank once, each of the right world, and 4 on each of the 16 nodes.
right() {
    awk -v nodes=$nodes -v per_node=$per_node -v ranks=$ranks '
        $1 == "rank" && $3 == "of" {
            if ($4 != ranks || $2 in seen) wrong = 1
            seen[$2]; count++
            sub(/,$/, "", $6); on[$6]++
            if ($7 != per_node) wrong = 1
        }
        END {
            for (host in on) { hosts++; if (on[host] != per_node) wrong = 1 }
            exit wrong || count != ranks || hosts != nodes
        }' "$1"
}

failed=0
# demo NAME COMPILER
demo() {
    local program=$build/demo/hello_$1 output=$build/demo/hello_$1.out
    echo
    echo "== $1: $ranks ranks on $nodes nodes"
    "$2" -O2 -o "$program" test/tool/mpi/hello.c || exit 1
    echo "\$ banyan run --virtual-nodes $nodes --per-node $per_node -n $ranks --oversubscribe ${program##*/}"
    "$build/banyan" run --virtual-nodes $nodes --per-node $per_node -n $ranks --oversubscribe \
        --timeout 120 "$program" </dev/null >"$output"
    status=$?
    sort -k 2n "$output" | sed -n '1,3p; $p' | sed '3s/$/\n.../'
    if [ $status -eq 0 ] && right "$output"; then
        echo "every one of $ranks ranks saw $ranks, $per_node of them on each node"
    else
        failed=1
        echo "demo.sh: $1 failed: exit status $status, $(grep -c '^rank' "$output") ranks (all of it: $output)" >&2
    fi
}
demo openmpi mpicc.openmpi
demo mpich mpicc.mpich
exit $failed
