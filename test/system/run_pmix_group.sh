#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Groups of PMIx by a real client of libpmix (test/tool/pmix_group.c), on one node and over four: what their members get,
# several at once, what is refused, members that do not come, two jobs; and the sessions of Open MPI 5, which make groups.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_group
[ -x "$program" ] || skip_all "pmix_group is not built"

one=(--virtual-nodes 1 --per-node 8 -n 8)
four=(--virtual-nodes 4 --per-node 2 -n 8)

# group LINES NAME OPTION... -- CALL...: how often each line comes, without the rank that says it, and with N for the
# number of a context.
group() {
    local lines=$1 name=$2
    shift 2
    run_client "$@"
    is "$(sed 's/^rank [0-9]*: //; s/context=[0-9]*/context=N/' <<<"$out" | sort | uniq -c | sed 's/^ *//')" "$lines" "$name"
    [ -z "$err" ] || diag "$err"
}

# contexts NAME: those that the members of this group have got, each once.
contexts() {
    sed -n "s/^rank [0-9]*: construct $1=SUCCESS context=//p" <<<"$out" | sort -u
}

version=$("$program" version)
# In version 5 a group's name stands for its members only in a get.
fence_g=(fence:g) fence_h=(r0:fence:h r3:fence:h r5:fence:h) fenced="8 fence g=SUCCESS
3 fence h=SUCCESS
"
fence_a=(fence:a) fenced_a="
4 fence a=SUCCESS"
# Nor does it know a group of invited processes by its name.
use_i=(r0:fence:i r2-3:fence:i r5:fence:i r0:destruct:i r2-3:destruct:i r5:destruct:i)
used_i="4 destruct i=SUCCESS
4 fence i=SUCCESS
"
[ "$version" -lt 5 ] || fence_g=(fence) fence_h=() fenced= fence_a=() fenced_a= use_i=() used_i=

for nodes in one four; do
    declare -n options=$nodes
    group "8 construct g=SUCCESS context=N
3 construct h=SUCCESS context=N
8 destruct g=SUCCESS
${fenced}8 get k=5" "on $nodes: two groups, one within the other" "${options[@]}" -- put:k construct:g:all:c "${fence_g[@]}" get:5:k \
        r0:construct:h:5,0,3:c r3:construct:h:5,0,3:c r5:construct:h:5,0,3:c "${fence_h[@]}" destruct:g
    is "$(contexts g | wc -l):$(contexts h | wc -l)" 1:1 "on $nodes: all members get the same context"
    is "$([ "$(contexts g)" != "$(contexts h)" ]; echo $?)" 0 "on $nodes: another than that of another group"
    group "8 construct a=SUCCESS context=N
8 construct b=SUCCESS context=N
8 destruct a=SUCCESS
8 destruct b=SUCCESS" "on $nodes: two at once, in either order" "${options[@]}" -- r0-3:both:a:b r4-7:both:b:a destruct:b destruct:a
    is "$(contexts a | wc -l):$(contexts b | wc -l)" 1:1 "on $nodes: each has one context"
    group "8 construct a=SUCCESS
8 construct a=SUCCESS context=N
16 destruct a=SUCCESS" "on $nodes: one of the same name after it, and no context where none is wanted" \
        "${options[@]}" -- construct:a:all destruct:a construct:a:all:c destruct:a
    group "8 construct a=NOT-SUPPORTED" "on $nodes: a required directive that is not known" \
        "${options[@]}" -- construct:a:all:c:x fence
    group "4 construct a=SUCCESS context=N
4 construct b=SUCCESS context=N
4 got k=3
4 got k=6" "on $nodes: data for a group, by its context" "${options[@]}" -- r0-3:construct:a:0,1,2,3:c:ik \
        r4-7:construct:b:4,5,6,7:c:ik r0-3:got:3:k r4-7:got:6:k fence
    group "5 construct a=SUCCESS
5 destruct a=SUCCESS" "on $nodes: some processes, without a context" "${options[@]}" -- r1-5:construct:a:5,4,3,2,1 r1-5:destruct:a
    group "${used_i}1 invite i=SUCCESS
3 joined i" "on $nodes: processes that are invited, and join" "${options[@]}" -- \
        r2-5:accept fence r0:invite:i:0,2,3,5 r2-3:joined r5:joined "${use_i[@]}"
    group "1 ask i=SUCCESS
1 refused by 3" "on $nodes: one that declines" "${options[@]}" -- r0:accept r2:accept r3:decline fence r0:ask:i:0,2,3 r0:refused fence
    # libpmix 4.2.2 shows how it is answered with the first group of a node.  Version 5 answers those on the node of the
    # missing process only if the members are on one node, or all of the job, and no context is wanted; and then for good.
    if [ "$version" -lt 5 ]; then
        group "7 construct a=TIMEOUT
8 construct b=SUCCESS context=N
8 construct z=SUCCESS context=N
8 destruct b=SUCCESS" "on $nodes: a time limit, and what comes after it" "${options[@]}" -- \
            construct:z:all:c r0-6:construct:a:all:c:t2 fence construct:b:all:c:t30 destruct:b:t30
    else
        group "7 construct a=TIMEOUT
8 construct b=SUCCESS context=N
8 destruct b=SUCCESS" "on $nodes: a time limit, and what comes after it" "${options[@]}" -- \
            r0-6:construct:a:all:t2 fence construct:b:all:c:t30 destruct:b:t30
    fi
done
group "6 construct a=TIMEOUT
8 construct b=SUCCESS context=N" "a time limit where no process of a node comes" "${four[@]}" -- \
    r0-5:construct:a:all:c:t2 fence construct:b:all:c

# Misuse: a process constructs the same group twice at once.
list=0,1,2,3
group "3 construct a=SUCCESS$fenced_a" "two of the same group at once by one process" --virtual-nodes 4 --per-node 1 -n 4 -- \
    r0:begin:a:$list r0:begin:a:$list r1-3:construct:a:$list fence "${fence_a[@]}"
group "2 construct a=SUCCESS" "on a node of several, where the second counts for another" --virtual-nodes 2 --per-node 2 -n 4 -- \
    r0:begin:a:$list r0:begin:a:$list r0:sleep:300 fence r2-3:construct:a:$list fence
# Rank 0 has counted twice, also for rank 2, and is forgotten when it dies: rank 2 makes the node complete again, and libpmix
# calls its host for an operation that is open.
group "3 construct a=SUCCESS" "it dies, and the last of its node comes" --on-failure continue --virtual-nodes 2 --per-node 3 -n 4 -- \
    r0:begin:a:$list r0:begin:a:$list r0:sleep:300 r1:sleep:100 r1:construct:a:$list r0:exit:7 r2:sleep:1000 r2:construct:a:$list \
    r3:sleep:2000 r3:construct:a:$list

# The others meet without a process that has ended, as in a fence.
group "3 construct a=SUCCESS context=N" "a member that has ended" --on-failure continue --virtual-nodes 4 --per-node 1 -n 4 -- \
    fence r3:exit:7 construct:a:all:c
# Its node is lost; the job goes on.
cat >"$scratch/lose" <<'SH'
case $PMIX_RANK in
3) sleep 1 && kill -KILL "$(awk '/^PPid:/ { print $2 }' "/proc/$PPID/status")" ;;
*) exec "$@" ;;
esac
SH
group "3 construct a=LOST-CONNECTION" "a member whose node is lost" --on-failure continue --virtual-nodes 4 --per-node 1 -n 4 \
    sh "$scratch/lose" -- construct:a:all:c

# ---- Two jobs ----

# jobs LINES NAME CALL...: likewise, of two jobs of an instance of two nodes, with a rank of each on each.
jobs() {
    local lines=$1 name=$2 meet starter job one two
    shift 2
    meet=$(mktemp "$scratch/meet.XXXXXX")
    "$banyan" start --virtual-nodes 2 --slots 2 >"$meet.dir" 2>"$meet.err" &
    starter=$!
    until_true 20 test -s "$meet.dir"
    for job in one two; do
        "$banyan" run --instance "$(cat "$meet.dir")" --timeout 240 --mpi pmix -n 2 --per-node 1 \
            "$program" meet:"$meet":4 "$@" </dev/null >"$meet.$job" 2>&1 &
        declare "$job=$!"
    done
    wait "$one" "$two"
    kill "$starter" && wait "$starter"
    is "$(cat "$meet.one" "$meet.two" | sed 's/^rank [0-9]*: //; s/context=[0-9]*/context=N/' | sort | uniq -c | sed 's/^ *//')" \
        "$lines" "$name"
}
jobs "4 construct a=SUCCESS context=N
4 destruct a=SUCCESS
8 get k=1" "of two jobs" put:k construct:a:1.all,2.all:c get:1.1:k get:2.1:k destruct:a
jobs "4 construct a=NOT-SUPPORTED" "of two jobs, with data for the group" construct:a:1.0,1.1,2.0,2.1:c:ik

# ---- Open MPI ----

if ! command -v mpicc.openmpi >/dev/null; then
    skip "mpicc.openmpi is not installed"
elif ! mpicc.openmpi -O1 -o "$scratch/sessions" "$srcdir/test/tool/mpi/sessions.c"; then
    fail "sessions.c compiles"
elif grep -aq "no sessions" "$scratch/sessions"; then
    skip "this Open MPI has no sessions"
else
    run "$banyan" run --timeout 240 "${four[@]}" "$scratch/sessions" </dev/null
    is "$status:$(sort <<<"$out" | uniq -c | xargs)" "0:4 sums 28 8, even 12 4 sums 28 8, odd 16" \
        "communicators of sessions, over four nodes"
    [ -z "$err" ] || diag "$err"
fi

done_testing
