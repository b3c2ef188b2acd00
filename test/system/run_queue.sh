#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Jobs of an instance that wait for slots which others have: in which order they start, how waiting ends otherwise,
# and what is refused instead.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

verb() { run "$banyan" "$@" </dev/null; }
# submit NAME ARGUMENT...: a run in the instance; sets pid.  Its processes run until the file NAME.go is there.
submit() {
    local name=$1
    shift
    "$banyan" run "$@" sh -c "echo up; until [ -e '$scratch/$name.go' ]; do sleep 0.05; done" \
        </dev/null >"$scratch/$name.out" 2>"$scratch/$name.err" &
    pid=$!
}
# is_up NAME LINES: its processes have begun.
is_up() { [ "$(grep -c up "$scratch/$1.out")" = "$2" ]; }
waits() { grep -q ' waits for ' "$scratch/$1.err"; }
state() { "$banyan" ps | awk -v job="$1" '$1 == job { print $2 }'; }
is_in() { [ "$(state "$1")" = "$2" ]; }

BANYAN_INSTANCE=$("$banyan" start --daemonize --virtual-nodes 2 --slots 2)
export BANYAN_INSTANCE

submit first -n 3
first=$pid
until_true 30 is_up first 3
submit second -n 4
second=$pid
until_true 30 waits second
is "$(cat "$scratch/second.err")" \
    "banyan: job 2 waits for 4 slots; other jobs have 3 of the instance's 4" "a job that does not fit waits, and says so"
submit third -n 2
third=$pid
until_true 30 waits third
is "$(cat "$scratch/third.err")" \
    "banyan: job 3 waits for 2 slots; other jobs have 3 of the instance's 4, and 1 waits before it" "likewise the next"
is "$(state 2) $(state 3)" "waiting waiting" "ps shows them"
verb status
like "$out" 'jobs +3, 3 processes, 2 waiting' "and status"
verb run -n 1 echo fits
is "$status$out$err" 0fits "what fits runs before them"
verb run --no-wait -n 2 true
is "$status $(wc -l <<<"$err")" "125 1" "--no-wait: status and one line"
like "$err" "other jobs of this instance have 3 of its 4 slots" "which says why"
verb run -n 5 true
is "$status $(wc -l <<<"$err")" "125 1" "what never fits: status and one line"
like "$err" "5 processes requested, but there are 4 slots" "likewise"

# Waiting ends without a start: a signal, kill of the job, kill -9 of its client, the time-out.
submit interrupted -n 4
until_true 30 waits interrupted
kill -TERM "$pid"
wait "$pid"
is $? 143 "a signal to its client withdraws a job that waits"
submit killed -n 4
until_true 30 waits killed
number=$(sed -n 's/^banyan: job \([0-9]*\) waits.*/\1/p' "$scratch/killed.err")
verb kill "$number"
is "$status$out$err" 0 "so does banyan kill"
wait "$pid"
is $? 143 "whose client has the status of one that was ended"
submit gone -n 4
until_true 30 waits gone
number=$(sed -n 's/^banyan: job \([0-9]*\) waits.*/\1/p' "$scratch/gone.err")
kill -9 "$pid"
wait "$pid" 2>/dev/null
is_none() { [ -z "$(state "$1")" ]; }
until_true 30 is_none "$number"
ok "and a client that vanishes" is_none "$number"
verb run --timeout 1 -n 4 true
is "$status" 124 "and the time-out"

# What has been given back starts the first, then the second.
touch "$scratch/first.go"
wait "$first"
is $? 0 "a job ends"
until_true 30 is_up second 4
is "$(state 3)" waiting "the first that waits has its slots"
touch "$scratch/third.go" "$scratch/second.go"
wait "$second"
is $? 0 "and ends well"
wait "$third"
is "$? $(grep -c up "$scratch/third.out")" "0 2" "then the second"

# An instance that ends withdraws what waits.
submit last -n 4
last=$pid
until_true 30 is_up last 4
submit never -n 1
never=$pid
until_true 30 waits never
verb stop
is "$status" 0 "an instance is ended"
wait "$last"
wait "$never"
is $? 143 "a job that waits ends with it"
like "$(cat "$scratch/never.err")" 'the instance was stopped' "and its user hears why"
nothing_left_within 30 "$(basename "$BANYAN_INSTANCE" .0)" "nothing is left"
done_testing
