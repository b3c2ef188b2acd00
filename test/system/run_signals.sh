#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How a run of `banyan run` is ended: signals, stubborn ranks, killed parts; what is left after it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

ready='echo "ready $BANYAN_SESSION"'

# signalled NAME SIGNAL STATUS REGEX SECONDS ARGUMENT...: one signal ends the run in time.
signalled() {
    local name=$1 signal=$2 expected=$3 regex=$4 seconds=$5
    shift 5
    start "$@"
    began=$(now)
    kill -"$signal" "$pid"
    finish
    is "$status" "$expected" "$name: status"
    like "$err" "^banyan: $regex" "$name: message"
    ok "$name: in less than $seconds s ($took)" less "$took" "$seconds"
    nothing_left_within 30 "$session" "$name: nothing is left"
}
# Started by a job-control-less shell's "&", a command ignores SIGINT.
set -m
signalled "Ctrl-C" INT 130 "interrupted" 30 -n 4 --oversubscribe sh -c "$ready; exec sleep 100"
signalled "SIGTERM" TERM 143 "terminated" 30 -n 4 --oversubscribe sh -c "$ready; exec sleep 100"
signalled "SIGHUP" HUP 129 "hung up" 30 -n 4 --oversubscribe sh -c "$ready; exec sleep 100"
signalled "ranks that ignore signals" INT 130 "interrupted" 30 -n 4 --oversubscribe \
    sh -c "trap '' INT TERM HUP; $ready; while :; do sleep 1; done"
signalled "children of a wrapper" INT 130 "interrupted" 30 -n 2 --oversubscribe \
    sh -c "sleep 1000 & sleep 1001 & $ready; wait"
signalled "a child in a session of its own" INT 130 "interrupted" 30 -n 2 --oversubscribe \
    sh -c "setsid sh -c 'trap \"\" TERM HUP; sleep 1000; :' & $ready; wait"
signalled "virtual nodes" INT 130 "interrupted" 30 --virtual-nodes 4 -n 8 \
    sh -c "$ready; exec sleep 100"

# The second signal does not wait for the grace.
start --kill-grace 60 -n 2 --oversubscribe sh -c "trap '' INT TERM; $ready; while :; do sleep 1; done"
began=$(now)
while kill -INT "$pid" 2>/dev/null; do # two at once are one
    sleep 0.2
done
finish
is "$status" 130 "a second Ctrl-C: status"
ok "a second Ctrl-C: before that ($took s)" less "$took" 50
nothing_left_within 30 "$session" "a second Ctrl-C: nothing is left"

# Forwarded signals.
start -n 2 --oversubscribe sh -c "trap 'echo got it; exit 0' USR1; $ready; while :; do sleep 0.1; done"
until_true 10 sh -c "[ \$(grep -c ready '$scratch/.out') = 2 ]"
kill -USR1 "$pid"
began=$(now)
finish
is "$status $(grep -c 'got it' "$scratch/.out")" "0 2" "SIGUSR1 reaches all ranks"

# killed NAME STATUS FUNCTION: SIGKILL to what the function prints; all is gone within 30 s.
killed() {
    local name=$1 expected=$2 target
    start --virtual-nodes 3 --radix 2 -n 6 \
        sh -c "trap '' TERM; setsid sleep 1000 & $ready; while :; do sleep 1; done"
    target=$($3)
    if [ -z "$target" ]; then
        fail "$name: is there"
        kill -INT "$pid"
    fi
    began=$(now)
    kill -KILL ${target:-$pid}
    finish 2>/dev/null
    is "$status" "$expected" "$name killed: status"
    nothing_left_within 30 "$session" "$name killed: nothing is left"
    ok "$name killed: in less than 30 s ($(elapsed "$began"))" less "$(elapsed "$began")" 30
}
# named NAME: processes of that name, as ps shows it.
named() {
    for process in $(ours "$session"); do
        if [ "$(cat "/proc/$process/comm" 2>/dev/null)" = "$1" ]; then
            echo "$process"
        fi
    done
}
the_command() {
    echo "$pid"
}
the_root() {
    named banyan-root
}
a_daemon() {
    named banyand | tail -n 1
}
a_helper() {
    named banyan-helper | tail -n 1
}
killed "banyan" 137 the_command
killed "the root" 125 the_root
killed "a daemon" 125 a_daemon
killed "a helper" 125 a_helper

# An interrupted run does not wait for who does not read.
mkfifo "$scratch/fifo"
"$banyan" run -n 1 yes >"$scratch/fifo" 2>"$scratch/.err" &
pid=$!
exec 9<"$scratch/fifo"
until_true 10 read -r -t 1 -u 9 line
began=$(now)
kill -INT "$pid"
finish
exec 9<&-
is "$status" 130 "a reader that stands still: status"
ok "a reader that stands still: in less than 30 s ($took)" less "$took" 30

# A run in the background of a terminal is not stopped by wanting its input.
if command -v script >/dev/null; then
    rm -f "$scratch/typescript"
    timeout 300 script -qec "bash -ic '\"$banyan\" run -n 1 echo from behind & wait'" \
        "$scratch/typescript" </dev/null >/dev/null 2>&1
    like "$(cat "$scratch/typescript")" "from behind" "a run in a terminal's background"
else
    skip "script(1) is not installed"
fi
is "$(left_files)" "" "nothing is left in TMPDIR"
done_testing
