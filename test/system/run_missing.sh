#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Who hangs is told who is waited for: fences of PMIx and barriers of PMI-1 that a rank does not join,
# because it sleeps, is stopped, or has ended. A fence with a time-out ends for all.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
stalls_matter=yes
. "$srcdir/test/support/run_lib.sh"

client=$top_builddir/test/tool/pmix_client
cat >"$scratch/pmix" <<SH
#!/bin/sh
export TEST_SIZE=\$BANYAN_SIZE TEST_LOCAL_SIZE=\$BANYAN_LOCAL_SIZE
export TEST_RANK=\$BANYAN_RANK TEST_LOCAL_RANK=\$BANYAN_LOCAL_RANK
exec $client "\$@"
SH

# pmi1 RANK SECONDS: speaks PMI-1, but for RANK, which ends without a word after SECONDS.
cat >"$scratch/pmi1" <<'SH'
#!/bin/bash
if [ "$BANYAN_RANK" = "$1" ]; then
    sleep "$2"
    exit 0
fi
say() {
    printf '%s\n' "$1" >&"$PMI_FD"
    read -r answer <&"$PMI_FD"
}
say 'cmd=init pmi_version=1 pmi_subversion=1'
say 'cmd=barrier_in'
say 'cmd=barrier_in'
[ "$answer" = 'cmd=barrier_out rc=0' ] || echo "rank $BANYAN_RANK: $answer"
say 'cmd=finalize'
SH
chmod +x "$scratch/pmix" "$scratch/pmi1"

# starts in the background, for each takes seconds: hangs NAME ARGUMENT...
hangs() {
    {
        from=$(date +%s%N)
        status=0
        "$banyan" run --virtual-nodes 4 --radix 2 --per-node 1 "${@:2}" </dev/null \
            >"$scratch/$1.out" 2>"$scratch/$1.err" || status=$?
        echo $((($(date +%s%N) - from) / 1000000)) >"$scratch/$1.ms"
        exit $status
    } &
    pids[$1]=$!
}
declare -A pids

# ends NAME: sets $status, $out, $err, and how long it took ($ms).
ends() {
    status=0
    wait "${pids[$1]}" || status=$?
    out=$(cat "$scratch/$1.out")
    err=$(cat "$scratch/$1.err")
    ms=$(cat "$scratch/$1.ms")
}

if [ -x "$client" ]; then
    hangs away --timeout 15 "$scratch/pmix" away 2
    hangs unput --timeout 15 "$scratch/pmix" unput 3
    hangs stopped --timeout 15 "$scratch/pmix" stopped 1
    hangs timed --timeout 240 "$scratch/pmix" late 2
    hangs quit --timeout 240 --on-failure continue "$scratch/pmix" quit
fi
# On every node the second rank comes late: no node has a barrier that it could contribute to.
cat >"$scratch/second" <<'SH'
#!/bin/bash
[ "$BANYAN_LOCAL_RANK" = 0 ] || exec "${0%/*}/pmi1" "$BANYAN_RANK" 14
exec "${0%/*}/pmi1" none 0
SH
chmod +x "$scratch/second"
hangs second --per-node 2 --timeout 240 "$scratch/second"
hangs lonely --virtual-nodes 1 --per-node 2 --timeout 240 "$scratch/second"
hangs ended --timeout 240 "$scratch/pmi1" 3 0
hangs late --timeout 240 "$scratch/pmi1" 0 14
hangs without --timeout 240 --on-failure continue "$scratch/pmi1" 3 0
# All ranks end, the job with its last process later.
cat >"$scratch/outlived" <<'SH'
#!/bin/sh
[ "$BANYAN_RANK" != 0 ] || sleep 2 &
exec "${0%/*}/pmi1" none 0
SH
chmod +x "$scratch/outlived"
hangs outlived --timeout 240 --on-failure continue "$scratch/outlived"
hangs silent --timeout 240 --on-failure continue sh -c '[ "$BANYAN_RANK" != 0 ] || sleep 2 &'

if [ -x "$client" ]; then
    ends away
    is $status 124 "a fence that a rank does not join: the time is over"
    like "$err" 'banyan: fence 1 of job 1: waiting for rank 2 on v3 \(alive\); 3 arrived' \
        "after a while it is said who is missing"
    like "$err" 'timed out after 15 s; fence 1 of job 1: waiting for rank 2 on v3' \
        "and again with the end"
    like "$err" 'banyan: rank 2 on v3: ' "what each rank is doing then is reported"
    is "$(printf '%s\n' "$err" | grep -c 'fence 1')" 2 "and that is all of the fence"
    ends unput
    is $status 124 "a value that a rank does not put: the time is over"
    like "$err" 'others wait for data that rank 3 on v4 has not committed \(alive, stopped in state T\)' \
        "who does not put it is said"
    ends stopped
    is $status 124 "a fence that a rank that is stopped does not join: the time is over"
    like "$err" 'waiting for rank 1 on v2 \(alive, stopped in state T\); 3 arrived' \
        "that it is stopped is said"
    ends timed
    is $status 0 "a fence that times out at one rank does at all, also at one that comes later"
    is "$(printf '%s\n' "$out" | sort)" "$(printf 'rank %s: through\n' 0 1 2 3)" \
        "then all fence again"
    is "$err" "" "and nothing is said of it"
    ends quit
    is $status 1 "a job that goes on fences without a rank that has ended, and fails in the end"
    like "$err" 'rank 0 on v1 exited with status 0 but without' "as is said"
    is "$(grep -c 'waiting for' <<<"$err")" 0 "and it does not wait to be asked ($ms ms)"
else
    skip "test/tool/pmix_client is not built"
fi

ends second
is $status 0 "one rank of each node is late, and ends, so its node goes on without it"
like "$err" 'barrier 1 of job 1: waiting for ranks 1,3,5,7 on v\[1-4\] \(alive, has not initialised\); 4 arrived' \
    "until then it is said which"
is "$(grep -c 'waiting for' <<<"$err")" 1 "and once"
ends lonely
is $status 0 "on a single node, too"
like "$err" 'barrier 1 of job 1: waiting for rank 1 on .*alive, has not initialised\); 1 arrived' "likewise"

ends ended
is $status 1 "a barrier that a rank can not join any more ends the job"
like "$err" 'rank 3 on v4 ended without joining barrier 1 of job 1, in which other ranks are waiting' \
    "it is said who has ended"
ends late
is $status 1 "also if it ends later"
like "$err" 'waiting for rank 0 on v1 \(alive, has not initialised\); 3 arrived' \
    "until then it is said that it lives"
ends without
is $status 1 "a job that goes on does so without it, and fails in the end"
like "$err" 'rank 3 on v4 ended without joining' "as is said"
is "$out" "" "all barriers of the others end well"
is "$(grep 'waiting for' <<<"$err" | grep -vc 'waiting for rank 3 on v4 (has ended)')" 0 "and nobody else is waited for ($ms ms)"
ends outlived
is "$status:$err" 0: "nodes whose ranks have finalized do not meet in a barrier that nobody has called"
ends silent
is "$status:$err" 0: "nor do those whose ranks have used no PMI"
nothing_left_within 30 none "nothing is left"
done_testing
