#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The PMIx server of a node is a process of its own. A job that has no PMIx client does not start it.
# kill -9 of it while it starts, while ranks wait in a fence, and while nobody asks it for anything ends
# the job that it serves, with one line that names the node and says what to do; the daemons end in
# order, and nothing is left. The same where ranks may not start before it (many of a node).
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

program=$top_builddir/test/tool/pmix_calls
[ -x "$program" ] || skip_all "pmix_calls is not built"

# servers: the pids of the servers of this run.
servers() {
    local file pid
    for file in $(grep -lzx "BT_MARK=$mark" /proc/[0-9]*/environ 2>/dev/null); do
        pid=${file//[!0-9]/}
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != banyan-pmix ] || echo "$pid"
    done
}

gone() {
    [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

some_server() {
    server=$(servers | head -n 1)
    [ -n "$server" ] || gone "$front"
}

# said COUNT WORD: so many lines of the output have it, or the run is over.
said() {
    [ "$(grep -c "$2" "$scratch/out")" -ge "$1" ] || gone "$front"
}

nothing() {
    [ -z "$(marked_pids)$(left_files)" ]
}

# begin OPTION... -- CALL...
begin() {
    local -a options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    new_mark
    : >"$scratch/out"
    BT_MARK=$mark "$banyan" run --timeout 240 --mpi pmix "${options[@]}" "$program" "$@" \
        >"$scratch/out" 2>"$scratch/err" </dev/null &
    front=$!
}

# ended NAME: status and what is said, and nobody is left.
ended() {
    local status=0 ours
    wait "$front" || status=$?
    ours=$(grep '^banyan: ' "$scratch/err")
    ok "$1: the job fails ($status)" [ "$status" != 0 ]
    like "$ours" '^banyan: cannot serve the ranks on v[12]: the PMIx server process died; run the job again, .* log of v[12] \(out of memory\?\)$' \
        "$1: the user is told what died, where, and what to do"
    is "$(wc -l <<<"$ours")" 1 "$1: in one line"
    [ "$(wc -l <<<"$ours")" = 1 ] || diag "$(cat "$scratch/err")"
    ok "$1: no server is left" until_true 60 eval '[ -z "$(servers)" ]'
    ok "$1: nothing is left" until_true 9 nothing
}

two="--virtual-nodes 2 --per-node 2"

# serving: each rank prints how many servers there are of this run; those of other tests beside it do not count.
cat >"$scratch/serving" <<'SH'
for file in $(grep -lzx "BT_MARK=$BT_MARK" /proc/[0-9]*/environ 2>/dev/null); do
    cat "${file%/environ}/comm" 2>/dev/null
done | grep -c banyan-pmix
SH
new_mark
# shellcheck disable=SC2086
BT_MARK=$mark run "$banyan" run --timeout 240 $two sh "$scratch/serving" </dev/null
is "$(sort -u <<<"$out")" 0 "a job without PMI clients starts no server"
# shellcheck disable=SC2086
run "$banyan" run --timeout 240 --mpi pmix $two "$program" put:a fence get:0:a </dev/null
is "$status:$err" "0:" "a job with them is served"

# shellcheck disable=SC2086
begin $two -- put:a fence sleep:40000
until_true 20 said 4 fence=SUCCESS
some_server
kill -9 "$server"
ended "idle"

# shellcheck disable=SC2086
begin $two -- put:a r0:sleep:40000 fence
until_true 20 said 4 put:a=SUCCESS
some_server
kill -9 "$server"
ended "in a fence"

for delay in 0 0.003 0.01; do
    # shellcheck disable=SC2086
    begin $two -- put:a fence sleep:40000
    until_true 20 some_server
    sleep $delay
    kill -9 "$server"
    ended "$delay s after its start"
done

begin --virtual-nodes 2 --per-node 66 --oversubscribe -- put:a fence sleep:40000
until_true 20 some_server
kill -9 "$server"
ended "before the first of many ranks"
done_testing
