#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a call of PMIx ends with at the survivors when a process that takes part has ended, or its node is lost, before
# it or meanwhile, in a job that goes on (--on-failure continue): the table in doc/pmix.rst, a test for each cell.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_events
[ -x "$program" ] || skip_all "pmix_events is not built"

# Rank 3 is the one that ends; on v4, whose daemon is the parent of its parent, it is alone.
alone=(--virtual-nodes 4 --per-node 1 -n 4)
together=(--virtual-nodes 2 --per-node 2 -n 4)
cat >"$scratch/lose" <<'SH'
[ "$PMIX_RANK" = 3 ] || exec "$@"
sleep 1
kill -KILL "$(awk '/^PPid:/ { print $2 }' "/proc/$PPID/status")"
SH

# survivors LINES NAME OPTION... -- PROGRAM ARGUMENT...: these lines, of calls that have failed, in any order.
survivors() {
    local lines=$1 name=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run "$banyan" run --timeout 60 --mpi pmix --on-failure continue "${options[@]}" "$@" </dev/null
    is "$(sort <<<"$out")" "$lines" "$name"
    [ "$status" != 124 ] || diag "it hung: $err"
}

# all CALL STATUS: ranks 0 to 2.
all() {
    printf "rank %d: $1=$2\n" 0 1 2
}

# ---- A process ends ----

for where in alone together; do
    declare -n options=$where
    for call in fence connect; do
        survivors "" "$where: $call with a rank that has ended: the others meet" \
            "${options[@]}" -- "$program" fence r3:exit:7 sleep:200 $call
        survivors "" "$where: $call with a rank that ends meanwhile: likewise" \
            "${options[@]}" -- "$program" fence r3:sleep:400 r3:exit:7 $call
    done
    survivors "" "$where: what a rank that has ended had committed is there" \
        "${options[@]}" -- "$program" r3:put:a r0-2:fence:0,1,2 r3:exit:7 sleep:200 r0:get:3:a
done
lost="rank 0: r0:get:3:a=LOST-CONNECTION"
survivors "$lost" "a get from a rank of another node that has ended without" \
    "${alone[@]}" -- "$program" r0-2:fence:0,1,2 r3:exit:7 sleep:200 r0:get:3:a
survivors "$lost" "and from one that ends meanwhile" \
    "${alone[@]}" -- "$program" r0-2:fence:0,1,2 r3:sleep:400 r3:exit:7 r0:get:3:a

# ---- A node is lost ----

for call in fence connect; do
    survivors "$(all $call LOST-CONNECTION)" "$call: a node is lost meanwhile" \
        "${alone[@]}" -- sh "$scratch/lose" "$program" $call
    survivors "$(all $call LOST-CONNECTION)" "$call: a node has been lost" \
        "${alone[@]}" -- sh "$scratch/lose" "$program" sleep:1700 $call
done
survivors "$lost" "a get: its node is lost meanwhile" "${alone[@]}" -- sh "$scratch/lose" "$program" r0:get:3:a
survivors "$lost" "a get: its node has been lost" \
    "${alone[@]}" -- sh "$scratch/lose" "$program" sleep:1700 r0:get:3:a

done_testing
