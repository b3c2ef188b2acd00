#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan node remove`: the tree of a living instance shrinks; jobs that use nodes are waited for, or lose them.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

verb() { run "$banyan" "$@" </dev/null; }
# fails NAME REGEX: status 125 and one line.
fails() {
    is "$status $(wc -l <<<"$err")" "125 1" "$1: status and one line"
    like "$err" "$2" "$1: what is wrong"
}
# nodes_of ARGUMENT...: how many processes of `banyan run ARGUMENT...` each node has had.
nodes_of() {
    verb run --instance "$dir" "$@" sh -c 'echo "$BANYAN_NODE"'
    sort -V <<<"$out" | uniq -c | awk '{ printf "%s:%s ", $2, $1 }'
}
listed() { [ "$(lists)" = "$1" ]; }
# lists_are LIST NAME: the list in short becomes that; slots of a job that has ended are free in a moment.
lists_are() {
    until_true 60 listed "$1"
    is "$(lists)" "$1" "$2"
}
lists() { "$banyan" node list | awk 'NR > 1 { printf "%s %s %s/%s %s\n", $5, $2, $4, $3, $6 }'; }
# in_background ARGUMENT...: a job that runs until $scratch/go is there; sets pid.
in_background() {
    "$banyan" run --instance "$dir" "$@" sh -c "until [ -e '$scratch/go' ]; do sleep 0.1; done" \
        </dev/null >/dev/null 2>"$scratch/err" &
    pid=$!
}
# idle: no job uses any node.
idle() { ! "$banyan" node list | awk 'NR > 1 { print $6 }' | grep -qv '^-$'; }
# runs JOB: all its processes run.
runs() { "$banyan" ps | grep -q "^ *$1  running"; }
# daemons COUNT: so many daemons of the instance live, the root not among them.
daemons() { [ "$(for process in $(ours); do cat "/proc/$process/comm" 2>/dev/null; done | grep -cx banyand)" = "$1" ]; }

# Inner nodes have daemons below them, which have been started by theirs.
dir=$("$banyan" start --daemonize --virtual-nodes 9 --slots 2 --radix 2)
session=$(basename "$dir" | cut -d . -f 1)
lists_are "v[1-9] up 0/2 -" "nine nodes"
until_true 60 daemons 9
ok "and as many daemons" daemons 9

until_true 60 idle
verb node remove v1
is "$status$out$err" 0 "an inner node is removed"
lists_are "v[2-9] up 0/2 -" "it is not listed any more"
until_true 60 daemons 8
ok "its daemon has ended" daemons 8
is "$(nodes_of --per-node 1)" "v2:1 v3:1 v4:1 v5:1 v6:1 v7:1 v8:1 v9:1 " "the others run jobs"
verb status
like "$out" '
nodes +8: v\[2-9\]
slots +16
jobs +0$' "status does not count it"

in_background -n 3
until_true 60 runs 2
verb node remove v9,v2
fails "a node that a job uses" 'job 2 uses these nodes; --wait removes them when no job does, --force ends'
lists_are "v2 up 2/2 2
v3 up 1/2 2
v[4-9] up 0/2 -" "then none is removed"
verb node remove v1
fails "one that was removed" 'no such node: v1'
verb node remove --wait --force v2
fails "two ways" 'options --wait and --force cannot be used together'

"$banyan" node remove --wait 'v[2-3]' </dev/null 2>"$scratch/wait.err" &
waits=$!
until_true 60 test -s "$scratch/wait.err"
like "$(cat "$scratch/wait.err")" '^banyan: v\[2-3\] still have processes of job 2, which may end normally$' \
    "--wait says for what it waits"
lists_are "v2 draining 2/2 2
v3 draining 1/2 2
v[4-9] up 0/2 -" "meanwhile they are drained"
is "$(nodes_of -n 3)" "v4:2 v5:1 " "and another job does not get them"
touch "$scratch/go"
wait "$pid"
is $? 0 "the job ends normally"
wait "$waits"
is $? 0 "and --wait returns"
lists_are "v[4-9] up 0/2 -" "when they are removed"
rm "$scratch/go"

in_background --per-node 1
until_true 60 runs 4
verb node remove --force v4
is "$status$out$err" 0 "--force does not wait"
wait "$pid"
is $? 125 "the job has lost a node"
like "$(cat "$scratch/err")" '^banyan: lost node v4: it was removed from the instance' "which it is told"
is "$(nodes_of)" "v5:2 v6:2 v7:2 v8:2 v9:2 " "the next one has the slots of the others"

until_true 60 idle
verb node drain v9
verb node remove 'v[5-6],v9'
is "$status$err" 0 "several are removed, of which one is drained"
until_true 60 daemons 2
ok "two daemons are left" daemons 2
is "$(nodes_of --per-node 2)" "v7:2 v8:2 " "two nodes are left"
until_true 60 idle
verb node remove 'v[7-8]'
is "$status$err" 0 "all are removed"
verb run --instance "$dir" -n 1 true
fails "no node is left" 'no process fits: there are 0 slots'
until_true 60 daemons 0
ok "nor a daemon" daemons 0
verb stop
is $status 0 "the instance ends"
nothing_left_within 30 "$session" "nothing is left"
done_testing
