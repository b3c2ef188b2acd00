#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a call of PMIx ends with at the survivors when a process that takes part has ended, or its node is lost, before
# it or meanwhile, in a job that goes on (--on-failure continue): the tables in doc/pmix.rst, a test for each cell.
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
    run "$banyan" run --timeout 240 --mpi pmix --on-failure continue "${options[@]}" "$@" </dev/null
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

# ---- A lookup that waits ----

# Rank 3 ends, or its daemon is ended, by "ends"; "gone": when that has happened.
cat >"$scratch/await" <<'SH'
until [ -s "$1" ]; do sleep 0.05; done
while kill -0 "$(cat "$1")" 2>/dev/null; do sleep 0.05; done
SH
cat >"$scratch/end_node" <<'SH'
kill -KILL "$(awk '/^PPid:/ { print $2 }' "/proc/$(awk '/^PPid:/ { print $2 }' "/proc/$1/status")/status")"
SH
# What rank 3 prints may be lost with its daemon.
cat >"$scratch/quiet" <<'SH'
[ "$PMIX_RANK" != 3 ] || exec >/dev/null
exec "$@"
SH
names=$top_builddir/test/tool/pmix_names
gone="run:sh $scratch/await $scratch/pid"
says="r3:run:echo \$PPID >$scratch/pid"
for how in process node; do
    [ $how = process ] && ends="kill -KILL \$PPID" || ends="sh $scratch/end_node \$PPID"
    for where in alone together; do
        declare -n options=$where
        text="$where: a lookup that waits: the $how of"
        rm -f "$scratch/pid"
        survivors "$(printf '%s\n' "look:k:wait SUCCESS k=x@1" "pub:k:x SUCCESS")" "$text who has not published is lost" \
            "${options[@]}" -- "$names" "$says" "r3:run:$ends" r3:look:never:wait r0:look:k:wait "r1:$gone" r1:pub:k:x
        rm -f "$scratch/pid"
        survivors "look:k:wait SUCCESS k=x@3" "$text who has published is lost" \
            "${options[@]}" -- sh "$scratch/quiet" "$names" r3:pub:k:x "$says" "r3:run:$ends" r3:look:never:wait "r0:$gone" r0:look:k:wait
        rm -f "$scratch/pid"
        survivors "$(printf '%s\n' "look:k SUCCESS k=x@0" "pub:k:x SUCCESS")" "$text who waits is lost" \
            "${options[@]}" -- "$names" "$says" "r3:run:(sleep 1; $ends) &" r3:look:k:wait "r0:$gone" r0:pub:k:x r0:look:k
    done
done

# ---- A spawn, of which one process is not started before something has happened ----

# Rank 0, on v1, spawns a process for another node and one for v2, where rank 1 has stopped the process that starts
# others, until "go" is there.
cat >"$scratch/parent" <<'SH'
until [ -e "$SPAWN/held" ]; do sleep 0.05; done
echo $$ >"$SPAWN/rank"
awk '/^PPid:/ { print $2 }' "/proc/$PPID/status" >"$SPAWN/daemon"
exec "$@"
SH
cat >"$scratch/hold" <<'SH'
[ "$BANYAN_NODE" = v2 ] || exit 99
kill -STOP $PPID
touch "$SPAWN/held"
until [ -e "$SPAWN/go" ]; do sleep 0.05; done
kill -CONT $PPID
SH

# spawning STATUS LINES NAME POLICY NODE COMMAND [COMMAND-ON-V2 [THEN]]: the first process runs COMMAND on NODE; when the
# call has ended rank 0 says how, and runs THEN.
spawning() {
    local expected=$1 lines=$2 name=$3 policy=$4 node=$5 command=$6 other=${7:-echo second} then=()
    [ $# -lt 8 ] || then=(sh -c "\"\$@\"; $8" sh)
    rm -rf "$scratch/spawn"
    mkdir "$scratch/spawn"
    run timeout 300 "$banyan" run --mpi pmix --on-failure "$policy" --kill-grace 0 --virtual-nodes 4 --per-node 1 \
        --oversubscribe -x SPAWN="$scratch/spawn" -n 1 sh "$scratch/parent" "${then[@]}" \
        "$top_builddir/test/tool/pmix_spawn" start 1 host="$node" -- sh -c "$command" + 1 host=v2 -- sh -c "$other" end \
        : -n 1 sh "$scratch/hold" </dev/null
    is "$status:$(sort <<<"$out" | paste -sd ';')" "$expected:$lines" "$name"
    [ -z "$err" ] || diag "$err"
}
forever="sleep 1000"
end_rank='kill -KILL $(cat "$SPAWN/rank"); touch "$SPAWN/go"'
end_node='kill -KILL $(cat "$SPAWN/daemon"); touch "$SPAWN/go"'
end_own='kill -KILL $(awk "/^PPid:/ { print \$2 }" "/proc/$PPID/status")'

spawning 137 "first;second" "spawn: the caller ends meanwhile, and its job goes on: so does the new one" \
    continue v3 "$end_rank; echo first"
spawning 137 "" "spawn: the caller ends meanwhile, and its job with it: the new one is ended" \
    abort v3 "$end_rank; $forever" "$forever"
spawning 0 "second;start=SUCCESS" "spawn: a process of the new job ends well meanwhile" \
    continue v3 'touch "$SPAWN/go"'
spawning 3 "start=JOB-CANCELED" "spawn: a process of the new job fails meanwhile, and the job is ended" \
    continue v3 "exit 3" "$forever" 'touch "$SPAWN/go"'
spawning 0 "start=JOB-CANCELED" "spawn: a node of the new job is lost meanwhile" \
    continue v3 "$end_own; $forever" "$forever" 'touch "$SPAWN/go"'
spawning 137 "first;second" "spawn: the node of the caller is lost meanwhile, and its job goes on" \
    continue v3 "$end_node; echo first"
nothing_left_within 20 none "nothing is left of them"

done_testing
