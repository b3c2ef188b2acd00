#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The verbs that people use beside `banyan run` in an instance: status, ps, wait, attach, kill, signal, stop, and how
# the instance is found.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

verb() { run "$banyan" "$@" </dev/null; }
# fails NAME REGEX: status 125 and one line.
fails() {
    is "$status $(wc -l <<<"$err")" "125 1" "$1: status and one line"
    like "$err" "$2" "$1: what is wrong"
}
# in_background NAME ARGUMENT...: a run in the instance; sets pid.
in_background() {
    local name=$1
    shift
    "$banyan" run --instance "$dir" "$@" </dev/null >"$scratch/$name.out" 2>"$scratch/$name.err" &
    pid=$!
}
# is_up NAME LINES JOB: the run has printed so many lines, and the root knows that all its processes run.
is_up() { [ "$(grep -c up "$scratch/$1.out")" -ge "$2" ] && "$banyan" ps | grep -q "^ *$3  running"; }

verb ps
fails "no instance" 'no instance of yours runs on this machine \(in .*\); start one with'
verb ps --instance "$scratch/none"
fails "a directory that is none" "no instance at $scratch/none"

dir=$("$banyan" start --daemonize --virtual-nodes 4 --slots 2)
verb status
like "$out" "^instance +$dir
root +process [0-9]+, since 20..-..-..T..:..:.*
nodes +4: v\[1-4\]
slots +8
jobs +0$" "status of the only instance"
verb ps
is "$(wc -l <<<"$out")" 1 "no jobs: a line of titles"

in_background loop -n 5 sh -c 'echo up; while :; do sleep 0.1; echo "beat $BANYAN_RANK"; done'
loop=$pid
until_true 20 is_up loop 5 1
verb ps
like "$out" '    1  running           5  v\[1-3\] +sh -c echo up; while' "ps lists the job"
verb ps 1 --json
is "$(python3 -c '
import json, os, sys
rows = json.load(sys.stdin)
print([(r["rank"], r["node"], r["state"], os.path.exists("/proc/%d" % r["pid"]), r["memory_kib"] > 0) for r in rows])' \
    <<<"$out")" \
    "[(0, 'v1', 'running', True, True), (1, 'v1', 'running', True, True), (2, 'v2', 'running', True, True), (3, 'v2', 'running', True, True), (4, 'v3', 'running', True, True)]" \
    "the job's processes, with an option after the word"
verb ps 1:0,3
is "$(awk 'NR > 1 { printf "%s ", $2 }' <<<"$out")" "0 3 " "some ranks"
verb ps -p
is "$(awk 'NR > 1 { printf "%s ", $2 }' <<<"$out")" "0 1 2 3 4 " "the processes of all jobs"
verb ps 7
fails "a job that there is not" 'no job 7 is running'
verb ps 1:9
fails "a rank that there is not" 'no job 1 is running that has these ranks'
verb ps x
fails "no job" "'x' is no job: expected JOB or JOB:RANKS"

# The first of two that print: what it has seen is what the job's own client has.
timeout -s INT 5 "$banyan" attach 1 >"$scratch/attached" 2>"$scratch/attached.err" </dev/null &
attached=$!
until_true 20 grep -q 'beat 4' "$scratch/attached"
kill -INT "$attached"
wait "$attached" 2>/dev/null
verb ps
like "$out" '    1  running' "the job goes on when one who has attached leaves"

"$banyan" wait 1 >"$scratch/wait.out" 2>"$scratch/wait.err" </dev/null &
waits=$!
"$banyan" attach 1 >"$scratch/attached" 2>"$scratch/attached.err" </dev/null &
attached=$!
until_true 20 test -s "$scratch/attached"
verb signal 0 1
fails "a signal that is none" "'0' is no signal"
verb signal USR1 1:9
fails "a rank that there is not" 'no job 1 is running that has these ranks'
verb signal SIGUSR1 1:4
is "$status$out$err" 0 "a signal to a rank"
wait "$loop"
is $? 138 "ends the job: the status at its own client"
wait "$waits"
is $? 138 "at one who waits"
like "$(cat "$scratch/wait.err")" '^banyan: job 1: rank 4 on v3 was killed by signal 10' "who reads why"
wait "$attached"
is $? 138 "and at one who has attached"
verb wait 1
is "$status" 138 "a job that has ended: its status is kept"
like "$err" '^banyan: job 1: rank 4 on v3 was killed by signal 10' "with the reason"
verb wait 99
fails "a job that there never was" 'no job 99 is running'
BANYAN_INSTANCE=$scratch/none verb ps
fails "a variable that names none" '^banyan: .BANYAN_INSTANCE: no instance at'
BANYAN_INSTANCE=$scratch/none verb run -n 1 true
fails "likewise banyan run" '^banyan: .BANYAN_INSTANCE: no instance at'

in_background two -n 2 sh -c 'echo up; exec sleep 1000'
two=$pid
until_true 20 is_up two 2 2
in_background three -n 2 sh -c 'trap "" TERM; echo up; while :; do sleep 0.1; done'
three=$pid
until_true 20 is_up three 2 3
verb kill 2 99
fails "one job of two that there is not" 'no job 99 is running'
wait "$two"
is $? 143 "the other is ended"
like "$(cat "$scratch/two.err")" '^banyan: terminated by the user' "whose client reads why"
in_background slow -n 1 sh -c 'trap "" TERM; printf "up\n"; while :; do sleep 0.1; done' 'two
lines'
slow=$pid
until_true 20 is_up slow 1 4
verb ps
like "$out" '    4  running .* two lines$' "a command of several lines is shown in one"
"$banyan" wait 99 4 2>"$scratch/wait.err" </dev/null &
waits=$!
until_true 20 grep -q 'no job 99' "$scratch/wait.err"
verb kill --now 3:1
is $status 0 "a rank that ignores SIGTERM is killed at once"
wait "$three"
is $? 137 "which ends its job"
verb kill --now 4
wait "$slow"
is $? 137 "a job that ignores SIGTERM is killed at once"
wait "$waits"
is "$? $(wc -l <"$scratch/wait.err")" "125 2" "who waits for it and for one that does not run waits for it"
verb kill
fails "nothing to kill" 'expected: banyan kill \[OPTIONS\] JOB\[:RANKS\]...; see'

# A second instance: which is meant must be said.
other=$("$banyan" start --daemonize --virtual-nodes 1)
verb ps
fails "two instances" "2 instances run; choose one with --instance DIR: .*(${dir##*/}|${other##*/}), "
BANYAN_INSTANCE=$other verb status --json
is "$(python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["instance"], d["nodes"], d["jobs"])' <<<"$out")" \
    "$other 1 []" "BANYAN_INSTANCE says it"
BANYAN_INSTANCE=$other verb run -v -n 1 sh -c 'echo "$BANYAN_NODE $BANYAN_JOB"'
is "$status $out" "0 v1 1" "also to banyan run"
like "$err" "^banyan: in the instance $other \(.BANYAN_INSTANCE\)" "which reports it"
BANYAN_INSTANCE=$other verb run --virtual-nodes 2 --per-node 1 sh -c 'echo "$BANYAN_NODE"'
is "$status $(sort <<<"$out" | tr '\n' ' ')" "0 v1 v2 " "unless it names nodes"
verb stop --instance "$other"
is "$status$err" 0 "the second is stopped"
ok "its directory is gone" test ! -e "$other"

in_background last -n 1 sh -c 'trap "" TERM; echo up; while :; do sleep 0.1; done'
last=$pid
until_true 20 is_up last 1 5
verb stop
is "$status$err" 0 "the first, which is the only one again, is stopped with its job"
wait "$last"
is $? 143 "the job is ended"
like "$(cat "$scratch/last.err")" 'the instance was stopped' "its client reads why"
nothing_left_within 30 none "nothing is left"
verb stop
fails "no instance to stop" 'no instance of yours runs on this machine'
done_testing
