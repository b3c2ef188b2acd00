#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Processes that wait for a debugger (test/tool/pmix_debug.c): before their first instruction, in PMIx_Init, where the
# program waits; by an option of banyan run, with a tool as the debugger, and spawned by a process that is one.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
stalls_matter=yes
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_debug
tool=$top_builddir/test/tool/pmix_tool
[ -x "$program" ] && [ -x "$tool" ] || skip_all "pmix_debug is not built"
unset "${!PMIX_@}"
export TMPDIR=$scratch

four=(--virtual-nodes 4 --per-node 2 --slots 4)

# states FILE...: how the processes with these ids are, each letter once.
states() {
    awk '/^State:/ { print $2 }' $(sed 's,.*,/proc/&/status,' "$@") 2>/dev/null | sort -u | xargs
}

said() {
    grep -q "wait for a debugger" "$scratch/err"
}

# ---- by an option ----

# start STOP OPTION...: the program, and waits for the line that says that it waits.
start() {
    local stop=$1
    shift
    : >"$scratch/err" # not what the last one has said
    "$banyan" run --timeout 240 --stop "$stop" "$@" "$program" </dev/null >"$scratch/out" 2>"$scratch/err" &
    job=$!
    until_true 60 said
}

# Of this test.
ids() {
    pgrep -x pmix_debug | while read -r id; do
        ! grep -qzF "$scratch" "/proc/$id/environ" 2>/dev/null || echo "$id"
    done >"$scratch/ids"
    wc -l <"$scratch/ids"
}

all_stopped() {
    [ "$(ids)" = "$1" ] && [ "$(states "$scratch/ids")" = T ]
}

start exec "${four[@]}" -n 8
like "$(cat "$scratch/err")" "all 8 processes of job 1 wait for a debugger before their first instruction, until SIGCONT" \
    "exec: a line says that all wait"
ok "exec: they are stopped" until_true 10 all_stopped 8
is "$(while read -r id; do [ "/proc/$id/exe" -ef "$program" ] && echo yes; done <"$scratch/ids" | wc -l)" 8 "exec: in the program"
is "$(xargs -I@ sed -n 's/^TracerPid:\t//p' /proc/@/status <"$scratch/ids" | sort -u)" 0 "exec: nobody else traces them"
is "$(xargs -I@ cat /proc/@/maps <"$scratch/ids" | grep -c libpmix)" 0 "exec: before their libraries are loaded"
is "$(cat "$scratch/out")" "" "exec: nothing has run"
xargs kill -CONT <"$scratch/ids"
wait "$job"
is "$?:$(sort "$scratch/out" | uniq -c | wc -l)" 0:8 "exec: SIGCONT lets them go on"

for stop in init app; do
    start $stop "${four[@]}" -n 8
    [ $stop = init ] && where=" in PMIx_Init" || where=
    like "$(cat "$scratch/err")" "all 8 processes of job 1 wait for a debugger$where, until it raises PMIX_DEBUGGER_RELEASE" \
        "$stop: a line says that all wait"
    is "$(cat "$scratch/out")" "" "$stop: nothing has run"
    file=$(find "$scratch" -name "pmix.*.tool.*-1" | head -n 1)
    is "$(timeout 300 "$tool" "file:$file" "release:${file##*.tool.}" 2>/dev/null)" "release: SUCCESS" "$stop: a tool lets them go on"
    wait "$job"
    is "$?:$(grep -c 'of 8 goes on' "$scratch/out")" 0:8 "$stop: all do"
done

# One that has ended without PMIx_Init, alone on its node: its job waits for the debugger.
"$banyan" run --timeout 240 --stop init --virtual-nodes 4 --per-node 1 -n 4 \
    sh -c '[ "$BANYAN_RANK" -ne 3 ] || exit 0; exec "$1"' sh "$program" </dev/null >"$scratch/out" 2>"$scratch/one" &
job=$!
: >>"$scratch/one"
ok "init: it is said who does not stop" until_true 60 grep -qxF \
    "banyan: the stop of job 1 for a debugger: waiting for rank 3 on v4 (has ended); 3 arrived" "$scratch/one"
file=$(find "$scratch" -name "pmix.*.tool.*-1" | head -n 1)
is "$(timeout 300 "$tool" "file:$file" "release:${file##*.tool.}" 2>/dev/null)" "release: SUCCESS" "init: the others go on"
wait "$job"
is "$?:$(grep -c 'of 4 goes on' "$scratch/out")" 0:3 "init: to their end"

start exec -n 2
kill -TERM "$job"
wait "$job"
is "$?:$(ids)" 143:0 "what is stopped can be ended"
run "$banyan" run --stop exec -n 1 "$scratch/none"
is "$status:$(grep -c "No such file" <<<"$err")" 127:1 "a program that does not exist"
run "$banyan" run --stop never -n 1 true
is "$status:$err" "125:banyan: option --stop: 'never' is not exec, init or app" "a word that is none"
run "$banyan" run --stop init --mpi pmi1 -n 1 true
is "$status" 125 "without PMIx nothing stops in PMIx_Init"

# ---- spawned ----

# spawn STOP: the lines that remain of the debugger's and its processes' without their ranks.
spawn() {
    rm -f "$scratch/ready"
    run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" -n 8 --slots 8 "$program" "$@" "$scratch/ready" </dev/null
    sed 's/^rank [0-9]* of/rank of/' <<<"$out" | sort | uniq -c | sed 's/^ *//'
}

is "$(spawn exec 5)" "1 end: yes, 1 times ready
5 rank of 5 goes on
1 ready: exec all" "spawned: stopped on exec"
is "$(spawn init 5)" "1 end: yes, 1 times ready
5 rank of 5 goes on
1 ready: pmix-init all" "spawned: in PMIx_Init"
is "$(spawn app 5)" "1 end: yes, 1 times ready
5 rank of 5 goes on
1 ready: app all" "spawned: in the program"
is "$(spawn false 5)" "1 end: yes, 0 times ready
5 rank of 5 goes on" "spawned: a directive that is false stops nobody"
is "$(spawn rank 5)" "1 spawn: NOT-SUPPORTED" "spawned: of some ranks only it is refused"
is "$(spawn both 5)" "1 spawn: NOT-SUPPORTED" "spawned: in two places, too"

# By a tool, through a job that waits for it.
start init --mpi pmix "${four[@]}" -n 1
file=$(find "$scratch" -name "pmix.*.tool.*-1" | head -n 1)
is "$(timeout 300 "$tool" "file:$file" name=my-debugger "stopped:5:$program" "release:${file##*.tool.}" 2>/dev/null | sort | xargs)" \
    "end: 0 ready: pmix-init release: SUCCESS release: SUCCESS spawn: SUCCESS" "spawned by a tool: it hears that they wait"
wait "$job"
is "$?:$(grep -c 'of 5 goes on' "$scratch/out")" 0:5 "and lets them go on"

# ---- debugger daemons ----

# beside OPTION... -- ARGUMENT...: what the daemons say, and who has spawned them, sorted; v1 has 2 ranks, v2 and v3 one.
beside() {
    run "$banyan" run --timeout 240 --mpi pmix --virtual-nodes 4 --slots 2 -n 4 --map-by seq:"$scratch/nodes" \
        "$program" daemons "$@" </dev/null
    sort <<<"$out"
}
printf '%s\n' v1 v1 v2 v3 >"$scratch/nodes"

is "$(beside 1 0)" "daemon 0 of 3 on v1 watches 2 of all
daemon 1 of 3 on v2 watches 1 of all
daemon 2 of 3 on v3 watches 1 of all
end: yes
spawn: SUCCESS" "daemons: one on each node of what they debug, although there are no free slots"
is "$(beside 0 2 | cut -d ' ' -f 1,4-)" "daemon 8 on v1 watches 2 of all
daemon 8 on v1 watches 2 of all
daemon 8 on v1 watches 2 of all
daemon 8 on v1 watches 2 of all
daemon 8 on v2 watches 1 of all
daemon 8 on v2 watches 1 of all
daemon 8 on v3 watches 1 of all
daemon 8 on v3 watches 1 of all
end:
spawn:" "daemons: two for each process"
is "$(beside 1 0 '' 2)" "daemon 0 of 1 on v2 watches 1 of 2
end: yes
spawn: SUCCESS" "daemons: of one process"
is "$(beside 1 0 '' 9)" "spawn: BAD-PARAM" "daemons: of a rank that does not exist"
is "$(beside 1 0 banyan-none-1)" "spawn: BAD-PARAM" "daemons: of a job that does not exist"
is "$(beside 0 0)" "spawn: BAD-PARAM" "daemons: no number of any kind"

done_testing
