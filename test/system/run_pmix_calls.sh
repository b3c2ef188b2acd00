#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Calls of the PMIx standard by a real client of libpmix (test/tool/pmix_calls.c), on one node and on four:
# each does what the standard says, or refuses at once with its code; none hangs, and whatever a call
# has done to libpmix, the ranks fence after it and end.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_calls
[ -x "$program" ] || skip_all "pmix_calls is not built"

one=(-n 2)
four=(--virtual-nodes 4 --per-node 2 -n 8)

# calls STATUS LINES NAME OPTION... -- CALL...: the ranks make the calls. LINES is what they say, each
# line once, in any order, without how long it took.
calls() {
    local expected=$1 lines=$2 name=$3
    shift 3
    run_client "$@"
    is "$status:$(sed 's/ after .*//' <<<"$out" | sort -u | xargs)" \
        "$expected:$(xargs -n 1 <<<"$lines" | sort -u | xargs)" "$name"
    [ -z "$err" ] || diag "$err"
}

# ---- Connect and disconnect ----

for nodes in one four; do
    declare -n options=$nodes
    calls 0 "connect=SUCCESS disconnect=SUCCESS fence=SUCCESS" "on $nodes: connect, and leave again" \
        "${options[@]}" -- connect fence disconnect fence
    calls 0 "apart=SUCCESS connect=SUCCESS fence=SUCCESS" "on $nodes: sets of their own" \
        "${options[@]}" -- apart connect fence apart fence
done
calls 0 "disconnect=INVALID-OPERATION fence=SUCCESS" "who has not connected cannot leave" \
    "${four[@]}" -- disconnect fence
calls 0 "connect=SUCCESS disconnect=INVALID-OPERATION disconnect=SUCCESS fence=SUCCESS" \
    "nor leave twice" "${four[@]}" -- connect disconnect disconnect fence
pair=(--virtual-nodes 2 --per-node 1 -n 2)
calls 0 "connect:9=SUCCESS connect=SUCCESS disconnect=SUCCESS fence=SUCCESS \
r0:sleep:2500=SUCCESS" "a connect in time" "${pair[@]}" -- connect:9 disconnect r0:sleep:2500 connect fence
run "$banyan" run --timeout 240 --mpi pmix "${pair[@]}" "$program" r0:sleep:3000 connect:1 fence \
    connect:9 fence disconnect sleep:1500 fence </dev/null
is "$status:$(grep -c '^connect:1=TIMEOUT' <<<"$out"):$(grep -c '=SUCCESS' <<<"$out")" "0:2:13" \
    "a connect whose time is over is over for all, and the next one works"
like "$out" 'connect:1=TIMEOUT after [1-9][0-9]*\.[0-9] s' "it ends in its time"

# libpmix 4.2.2 sets its timer once for each process of a node.
calls 0 "connect:5=SUCCESS sleep:5500=SUCCESS fence=SUCCESS connect:9=SUCCESS disconnect=SUCCESS" \
    "processes of one node connect with a time limit, and all goes on when it is over" \
    "${one[@]}" -- fence connect:5 sleep:5500 fence connect:9 disconnect fence
calls 0 "connect:5=SUCCESS sleep:5500=SUCCESS fence=SUCCESS connect:9=SUCCESS disconnect=SUCCESS" \
    "so do those of several nodes" "${four[@]}" -- fence connect:5 sleep:5500 fence connect:9 disconnect fence
calls 0 "r0:sleep:3000=SUCCESS connect:1=TIMEOUT fence=SUCCESS connect:9=SUCCESS" \
    "a limit that is over for some of a node" --virtual-nodes 1 --per-node 4 -n 4 -- \
    r0:sleep:3000 connect:1 fence connect:9 fence

# A rank that dies: the others are told, and so is the user.
run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" "$program" r5:exit connect </dev/null
ok "a rank that does not come to a connect ends the job ($status)" [ "$status" != 0 ]
[ "$status" != 124 ] || diag "it hung"

# ---- Data of other ranks ----

calls 0 "put:a=SUCCESS fence=SUCCESS r1:sleep:700=SUCCESS r1:put:b=SUCCESS r0:get:1:b:60=SUCCESS=1" \
    "a key that comes later is waited for, though the rank has committed others" \
    "${pair[@]}" -- put:a fence r1:sleep:700 r1:put:b r0:get:1:b:60
calls 0 "put:a=SUCCESS fence=SUCCESS r0:get:1:never=NOT-FOUND" "one that never comes is not" \
    "${pair[@]}" -- put:a fence r0:get:1:never fence
run "$banyan" run --timeout 240 --mpi pmix "${pair[@]}" "$program" r1:sleep:4000 r0:get:1:x:1 \
    put:a fence r0:get:1:y:1 fence </dev/null
is "$status" 0 "gets with a time limit"
like "$out" 'r0:get:1:x:1=TIMEOUT after [1-9][0-9]*\.[0-9] s' "of a rank that has committed nothing: in time"
like "$out" 'r0:get:1:y:1=TIMEOUT after [1-9][0-9]*\.[0-9] s' "of one that has committed something else: in time"

# Rank 0 has ended when seven nodes ask for what it has committed, all at once.
wait_then_get=()
for rank in 1 2 3 4 5 6 7; do
    wait_then_get+=("r$rank:sleep:500" "r$rank:get:0:a")
done
lines="put:a=SUCCESS fence=SUCCESS"
for rank in 1 2 3 4 5 6 7; do
    lines+=" r$rank:sleep:500=SUCCESS r$rank:get:0:a=SUCCESS=0"
done
for round in 1 2 3; do
    calls 0 "$lines" "a rank that has ended still gives what it has committed ($round)" \
        --virtual-nodes 8 --per-node 1 -n 8 -- put:a fence "${wait_then_get[@]}"
done

# ---- Abort ----

calls 0 "fence=SUCCESS r0:abort:3:9=SUCCESS" "ranks that the job does not have are not aborted" \
    "${four[@]}" -- r0:abort:3:9 fence
is "$err" "banyan: rank 0 on v1 called abort for ranks that its job does not have; none is ended" \
    "and the user is told"
run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" "$program" r5:abort:0 fence </dev/null
is "$status" 0 "an abort with 0 ends with 0"
run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" "$program" fence r5:abort:17 fence </dev/null
is "$status:$err" "17:banyan: rank 5 on v3 called abort with status 17" "an abort ends all"
is "$(grep -c abort <<<"$out")" 0 "who aborts does not go on"

# ---- Log ----

# logged CALL STATUS TEXT NAME: what the call ends with, and what the user reads.
logged() {
    run "$banyan" run --timeout 240 --mpi pmix "${pair[@]}" "$program" "r1:$1" fence </dev/null
    is "$status:$(sed -n 's/^r1:.*=//p' <<<"$out"):$(paste -sd , <<<"$err")" "0:$2:$3" "$4"
}
logged log:stderr SUCCESS "banyan: text for stderr" "a text for the user"
logged 'log:!stderr:!once' SUCCESS "banyan: text for !stderr" "with a channel and a directive that are required"
logged log:jrec,stderr SUCCESS "banyan: text for jrec,banyan: text for stderr" "other channels end there, too"
logged log:jrec,stderr:once SUCCESS "banyan: text for jrec" "but a text that is logged once comes once"
logged 'log:stderr,!jrec' NOT-SUPPORTED "" "unless such a channel is required"
logged 'log:stderr:!syspri' NOT-SUPPORTED "" "or a directive"
logged log:stderr:syspri SUCCESS "banyan: text for stderr" "which is ignored if it is not"

# ---- What is not served ----

# The directives of PMIx_Allocation_request by their numbers: new, extend, release and reacquire; others, and vendors', are
# no request.
refused() {
    calls 0 "r1:allocate:$1=NOT-SUPPORTED fence=SUCCESS" "PMIx_Allocation_request is refused: $3" "${four[@]}" -- "r1:allocate:$1" fence
    is "$err" "${2:+banyan: PMIx_Allocation_request on v1: cannot $2: the nodes of a running banyan do not change: start it with all nodes that are needed}" \
        "which the user reads: $3"
}
refused 1 "get a new allocation" new
refused 2 "extend the allocation" extend
refused 3 "release a part of the allocation" release
refused 4 "reacquire a part of the allocation" reacquire
refused 0 "" "no directive"
refused 128 "" "a directive of a vendor"

# ---- Directives that are not known ----

calls 0 "fence:x=SUCCESS connect:0:x=SUCCESS disconnect:0:x=SUCCESS fence:!x=NOT-SUPPORTED connect:0:!x=NOT-SUPPORTED \
connect=SUCCESS disconnect:0:!x=NOT-SUPPORTED disconnect=SUCCESS fence=SUCCESS" "they are ignored, unless they are required" "${four[@]}" -- \
    fence:x connect:0:x disconnect:0:x 'fence:!x' 'connect:0:!x' connect 'disconnect:0:!x' disconnect fence
# libpmix asks the host for events of the system only, and has a code of its own for what the host refuses.
calls 0 "register:-231=SUCCESS register:-231:x=SUCCESS register:-231:!x=SERVER-FAILED-REQUEST register:-231=SUCCESS fence=SUCCESS" \
    "a handler of events is registered likewise" "${four[@]}" -- register:-231 register:-231:x 'register:-231:!x' register:-231 fence
# 49.7 days are 2^32 ms.
calls 0 "connect:4294968=SUCCESS disconnect=SUCCESS r0:sleep:1500=SUCCESS r0:put:k=SUCCESS r7:get:0:k:4294968=SUCCESS=0" \
    "a time limit of 50 days is none of a second" "${four[@]}" -- r0:sleep:1500 connect:4294968 disconnect r0:sleep:1500 r0:put:k \
    r7:get:0:k:4294968

# ---- Data in the fence, and data that stays ----

client=$top_builddir/test/tool/pmix_client
cat >"$scratch/client" <<SH
#!/bin/sh
export TEST_SIZE=\$BANYAN_SIZE TEST_LOCAL_SIZE=\$BANYAN_LOCAL_SIZE
export TEST_RANK=\$BANYAN_RANK TEST_LOCAL_RANK=\$BANYAN_LOCAL_RANK
exec $client "\$@"
SH
chmod +x "$scratch/client"
for modex in full lazy; do
    for mode in "fence 3" "direct 2" "replace 4" "grow 12" "open 3"; do
        for nodes in 1 4; do
            run "$banyan" run --timeout 240 --modex $modex --virtual-nodes $nodes --per-node 4 --oversubscribe \
                "$scratch/client" $mode </dev/null
            is "$status:$out$err" "0:" "modex $modex, $nodes nodes: $mode"
        done
    done
done
# As the processes of small jobs get it, and through shared memory.
for module in hash ds21,shmem2,hash; do
    run "$banyan" run --timeout 240 --modex full --virtual-nodes 4 --per-node 4 --oversubscribe \
        env PMIX_GDS_MODULE=$module "$scratch/client" near 16 </dev/null
    is "$status:$out$err" "0:" "what earlier fences have brought is at all nodes ($module)"
done
done_testing
