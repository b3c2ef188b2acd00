#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A process whose heartbeats end, or that no longer writes to its file (test/tool/pmix_monitor.c): all others of its job are
# alerted once, on its node and on others, and not while it is at work.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_monitor
[ -x "$program" ] || skip_all "pmix_monitor is not built"
unset "${!PMIX_@}"

# watch NAME OPTION... -- WORD...: all at once.
watch() {
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    "$banyan" run --timeout 240 --mpi pmix "${options[@]}" "$program" "$@" </dev/null >"$scratch/$name.out" 2>"$scratch/$name.err" &
    pids[$name]=$!
}
declare -A pids

watch one-node -n 4 --oversubscribe -- heartbeat
watch two-nodes --virtual-nodes 2 --per-node 2 -n 4 -- heartbeat
watch four-nodes --virtual-nodes 4 --per-node 1 -n 4 -- heartbeat
watch file --virtual-nodes 4 --per-node 1 -n 4 -- file "$scratch/progress"
for name in one-node two-nodes four-nodes file; do
    status=0
    wait "${pids[$name]}" || status=$?
    # Held up, it may have been alerted of more than once.
    grep -q "was held up" "$scratch/$name.out" && unique=-u || unique=
    is "$status:$(sed 's/, and was.*//' "$scratch/$name.out" | sort $unique | paste -sd ';')" \
        "0:rank 0 rests;rank 1 is alerted of 0;rank 2 is alerted of 0;rank 3 is alerted of 0" "$name: all are alerted, once"
    is "$(cat "$scratch/$name.err")" "" "$name: nothing else is said"
    if grep -q "was held up" "$scratch/$name.out"; then
        skip "$name: not before it rests: it was held up"
    else
        is "$(head -n 1 "$scratch/$name.out")" "rank 0 rests" "$name: not before it rests"
    fi
done
nothing_left_within 10 none "nothing is left"
done_testing
