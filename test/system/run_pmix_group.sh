#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Groups of PMIx by a real client of libpmix (test/tool/pmix_group.c), on one node and over four: what their members get,
# several at once, what is refused, and members that do not come.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_group
[ -x "$program" ] || skip_all "pmix_group is not built"

one=(--virtual-nodes 1 --per-node 8 -n 8)
four=(--virtual-nodes 4 --per-node 2 -n 8)

# group LINES NAME OPTION... -- CALL...: how often each line comes, without the rank that says it, and with N for the
# number of a context.
group() {
    local lines=$1 name=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run "$banyan" run --timeout 60 --mpi pmix "${options[@]}" "$program" "$@" </dev/null
    is "$(sed 's/^rank [0-9]*: //; s/context=[0-9]*/context=N/' <<<"$out" | sort | uniq -c | sed 's/^ *//')" "$lines" "$name"
    [ -z "$err" ] || diag "$err"
}

# contexts NAME: those that the members of this group have got, each once.
contexts() {
    sed -n "s/^rank [0-9]*: construct $1=SUCCESS context=//p" <<<"$out" | sort -u
}

# Version 5 takes other answers, which the host does not give.
if [ "$("$program" version)" -ge 5 ]; then
    for nodes in one four; do
        declare -n options=$nodes
        group "8 construct a=NOT-SUPPORTED" "on $nodes: all members of a group are refused" "${options[@]}" -- construct:a:all fence
        group "8 construct a=NOT-SUPPORTED" "on $nodes: with a time limit, too, and nothing comes later" \
            "${options[@]}" -- construct:a:all:t1 sleep:1500 fence
    done
    done_testing
    exit 0
fi

for nodes in one four; do
    declare -n options=$nodes
    group "8 construct g=SUCCESS context=N
3 construct h=SUCCESS context=N
8 destruct g=SUCCESS
8 fence g=SUCCESS
3 fence h=SUCCESS
8 get k=5" "on $nodes: two groups, one within the other" "${options[@]}" -- put:k construct:g:all:c fence:g get:5:k \
        r0:construct:h:5,0,3:c r3:construct:h:5,0,3:c r5:construct:h:5,0,3:c r0:fence:h r3:fence:h r5:fence:h destruct:g
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
    # libpmix 4.2.2 shows how it is answered with the first group of a node.
    group "7 construct a=TIMEOUT
8 construct b=SUCCESS context=N
8 construct z=SUCCESS context=N
8 destruct b=SUCCESS" "on $nodes: a time limit, and what comes after it" "${options[@]}" -- \
        construct:z:all:c r0-6:construct:a:all:c:t2 fence construct:b:all:c:t30 destruct:b:t30
done

# Misuse: a process constructs the same group twice at once.
list=0,1,2,3
group "3 construct a=SUCCESS
4 fence a=SUCCESS" "two of the same group at once by one process" --virtual-nodes 4 --per-node 1 -n 4 -- \
    r0:begin:a:$list r0:begin:a:$list r1-3:construct:a:$list fence fence:a
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

done_testing
