#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Events of PMIx by a real client of libpmix (test/tool/pmix_events.c), on one node and on four: who gets them, how
# often, in which handlers, what late handlers get, and what survivors are told of ranks that end.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_events
[ -x "$program" ] || skip_all "pmix_events is not built"

one=(--virtual-nodes 1 --per-node 8 -n 8)
four=(--virtual-nodes 4 --per-node 2 -n 8)

# ranks "LIST" TEXT: the line of each rank.
ranks() {
    local rank
    for rank in $1; do
        echo "rank $rank: $2"
    done
}

# events LINES NAME OPTION... -- CALL...: exactly these lines, in any order.
events() {
    local lines=$1 name=$2
    shift 2
    run_client "$@"
    is "$(sort <<<"$out")" "$(sort <<<"$lines")" "$name"
    [ -z "$err" ] || diag "$err"
}

all="0 1 2 3 4 5 6 7"
for nodes in one four; do
    declare -n options=$nodes
    for range in namespace session global; do
        events "$(ranks "$all" "h -3001 from 3 text-3 x1")" "on $nodes: the range $range, each rank once" \
            "${options[@]}" -- on:h:-3001 fence r3:notify:-3001:$range await:1 fence sleep:100
    done
    events "$(ranks "1 2 5" "h -3001 from 0 text-0 x1")" "on $nodes: a list of ranks" \
        "${options[@]}" -- on:h:-3001 fence r0:notify:-3001:custom:2,5,1 r1-2:await:1 r5:await:1 fence sleep:100
    events "$(ranks 4 "h -3001 from 4 text-4 x1")" "on $nodes: only the process itself" \
        "${options[@]}" -- on:h:-3001 fence r4:notify:-3001:proc fence sleep:100
    # A default handler of a process that has registered no code gets nothing in libpmix 4.2.2.
    events "$(ranks "$all" "a -3001 from 0 text-0 x1
b -3001 from 0 text-0 x1
d -3001 from 0 text-0 x1" | sed 's/^\([bd] \)/RANK: \1/' |
        awk '/^rank/ { rank = $1 " " $2 } { sub(/^RANK:/, rank); print }')" \
        "on $nodes: a chain of handlers, the default one last" \
        "${options[@]}" -- on:a:-3001 on:b:-3002,-3001 on:d fence r0:notify:-3001:session await:3 fence sleep:100
    events "$(ranks "$all" "a -3001 from 0 text-0 x1
b -3001 from 0 text-0 x1" | awk '/^rank/ { rank = $1 " " $2 } /^b/ { $0 = rank " " $0 } { print }')" \
        "on $nodes: a handler that ends the chain, and one that is gone" \
        "${options[@]}" -- on:g:-3001 on:a:-3001 stop:b:-3002,-3001 on:d off:g fence r0:notify:-3001:session \
        await:2 fence sleep:100
    events "$(ranks "$all" "a -3001 from 0 text-0 x1")" "on $nodes: an event that is not for default handlers" \
        "${options[@]}" -- on:a:-3001 on:d fence r0:special:-3001:session await:1 fence sleep:100
    events "$(ranks "1 2 3 4 5 6 7" "h -3001 from 0 text-0 x1")" "on $nodes: a handler that comes late" \
        "${options[@]}" -- fence r0:notify:-3001:namespace sleep:200 fence r1-7:on:h:-3001 r1-7:await:1 fence
    events "$(ranks 0 "h -3001 from 0 text-0 x1")" "on $nodes: an event that is not kept for it" \
        "${options[@]}" -- r0:on:h:-3001 fence r0:late:-3001:namespace sleep:200 fence r1-7:on:h:-3001 sleep:300
    events "$(for i in $all; do ranks "$all" "h -3001 from $i text-$i x3"; done)" \
        "on $nodes: many events, each once" "${options[@]}" -- on:h:-3001 fence notify:-3001:session \
        notify:-3001:session notify:-3001:session await:24 fence sleep:100
done
events "$(ranks "2 3" "h -3001 from 2 text-2 x1")" "the node alone" \
    "${four[@]}" -- on:h:-3001 fence r2:notify:-3001:local r2-3:await:1 fence sleep:100

events "$(ranks "$all" "a -3001 from 2 text-2 x3000")
accepted 3000" "3000 events of one process, without a pause" \
    "${four[@]}" -- on:a:-3001 fence r2:flood:-3001:3000 await:3000 fence sleep:100

# Rank 1 starts late: its node keeps the event until it connects.
run "$banyan" run --timeout 240 --mpi pmix --virtual-nodes 2 --per-node 1 -n 2 sh -c \
    '[ "$PMIX_RANK" = 0 ] || sleep 1; exec "$@"' - "$program" r0:notify:-3001:namespace r1:on:h:-3001 r1:await:1 \
    sleep:100 </dev/null
is "$out" "rank 1: h -3001 from 0 text-0 x1" "a process that starts after the event"

# ---- Ranks that end ----

# -402: killed by a signal, -404: exit status, -200: without finalize.
survivors="0 1 2 4 7"
ends=(on:a:-402,-404,-200 on:d fence r3:exit:7 r5:raise:9 r6:exit:0 await:3)
lines="$(ranks "$survivors" "a -404 from host about 3 status 7 x1")
$(ranks "$survivors" "a -402 from host about 5 status 9 x1")
$(ranks "$survivors" "a -200 from host about 6 status 0 x1")"
for nodes in one four; do
    declare -n options=$nodes
    events "$lines" "on $nodes: the survivors learn how ranks have ended" --on-failure continue "${options[@]}" \
        -- "${ends[@]}" sleep:300
done

# -231: a node is lost. Ranks 4 and 5 are on v3, whose daemon is the parent of their parent.
cat >"$scratch/lose" <<'SH'
case $PMIX_RANK in
4) sleep 1 && kill -KILL "$(awk '/^PPid:/ { print $2 }' "/proc/$PPID/status")" ;;
5) sleep 60 ;;
*) exec "$@" ;;
esac
SH
run "$banyan" run --timeout 240 --mpi pmix --on-failure continue "${four[@]}" sh "$scratch/lose" "$program" \
    on:a:-231 fence:0,1,2,3,6,7 await:1 fence:0,1,2,3,6,7 sleep:100 </dev/null
is "$(sort <<<"$out")" "$(ranks "0 1 2 3 6 7" "a -231 from host about 4 5 on v3 x1")" "a node that is lost"
# Where a failure ends the job there is no event.
events "" "a job that ends with its first failure" "${four[@]}" -- on:a:-404 fence r3:exit:7 sleep:20000

# -145: the end of a spawned job, to the process that has spawned it.
for nodes in 1 4; do
    run "$banyan" run --timeout 240 --mpi pmix --virtual-nodes $nodes --per-node 4 -n 2 --map-by node "$program" \
        on:a:-145 on:d fence r1:spawn:"sleep 0.3; exit 3" r1:spawn:true r1:await:2 fence sleep:100 </dev/null
    is "$(sort <<<"$out")" "rank 1: a -145 from host about all status 0 x1
rank 1: a -145 from host about all status 3 x1" "$nodes nodes: a spawned job that ends"
done

# ---- Abort of some ranks ----

# -400: another process has asked for it. One by one, as ranks that end together are told together.
for nodes in one four; do
    declare -n options=$nodes
    events "$(for rank in 3 5 6; do ranks "0 1 2 4 7" "a -400 from host about $rank status 9 x1"; done)" \
        "on $nodes: some ranks are aborted, the others learn of it" --on-failure continue "${options[@]}" -- \
        on:a:-400 fence r3:sleep:50000 r5-6:sleep:50000 r0:abort:9:3 await:1 r0:abort:9:5 await:2 r0:abort:9:6 await:3 \
        sleep:100
    like "$err" 'rank 0 on v1 called abort with status 9 for rank 3: enough' "on $nodes: and so does the user"
done
run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" "$program" fence r0:abort:9:3,5 sleep:50000 </dev/null
is "$status" 143 "without that policy the job ends as with any rank that is killed"
like "$err" 'rank 0 on v1 called abort with status 9 for ranks 3,5: enough' "and it is said who wanted that"

# The caller is answered when the rank has ended: it ignores SIGTERM.
run "$banyan" run --timeout 240 --mpi pmix --on-failure continue --kill-grace 1 --virtual-nodes 2 --per-node 1 -n 2 sh -c \
    'trap "" TERM; echo $$ >"$0/pid$PMIX_RANK"; exec "$@"' "$scratch" "$program" fence r0:abort:9:1 \
    r0:gone:"$scratch/pid1" r1:sleep:50000 </dev/null
is "$status:$out" "137:" "a rank that ignores SIGTERM is killed before the call returns"

done_testing
