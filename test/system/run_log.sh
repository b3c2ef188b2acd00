#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --log DIR: a log of each daemon, for its user only, without arguments, environments or secrets, of which the last lines
# are printed when the daemon dies.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset BANYAN_INSTANCE
logs=$scratch/logs
mkdir "$logs"

# of NODE: its log.
of() { cat "$logs"/banyan-*-"$1.log"; }

export HIDDEN=xyzzy-variable
run "$banyan" run --virtual-nodes 3 --log "$logs" -n 3 sh -c 'exit 0' xyzzy-argument </dev/null
is "$status $out $err" "0  " "a run with logs says nothing else"
is "$(find "$logs" -name 'banyan-*-*.log' -perm 0600 | wc -l)" 4 "each daemon has one, which others cannot read"
is "$(of v2 | sed -n 's/.*Z debug: \(job.*\)/\1/p' | head -n 2)" \
    $'job 1: rank 1 started\njob 1: rank 1 exited with status 0' "it says what the processes of the node did"
like "$(of root)" 'all places have joined' "and that of the root when all were there"
like "$(of v1 | tail -n 1)" 'Z debug: this daemon exits$' "its last line is the end of the daemon"
is "$(cat "$logs"/* | grep -Ec 'xyzzy|[0-9a-f]{32}')" 0 "no argument, no variable, no key is in them"

rm "$logs"/*
run "$banyan" run --virtual-nodes 3 --per-node 1 --log "$logs" sh -c '
    [ "$BANYAN_RANK" != 1 ] || kill -9 "$(sed -n "s/^PPid:[^0-9]*//p" "/proc/$PPID/status")"
    exec sleep 1000' </dev/null
is "$status" 125 "a daemon is killed"
is "$(grep -c '^banyan: log of v2: ' <<<"$err")" "$(of v2 | tail -n 5 | wc -l)" "its last lines are printed"
is "$(sed -n 's/^banyan: log of v2: //p' <<<"$err")" "$(of v2 | tail -n 5)" "as they are in its log"
is "$(grep -c 'log of v[13]' <<<"$err")" 0 "of no other daemon"
like "$(tail -n 1 <<<"$err")" 'lost node v2' "then comes the reason"

# Where the log of a node cannot be read.
rm "$logs"/*
run "$banyan" run --virtual-nodes 2 --per-node 1 --log "$logs" sh -c '
    if [ "$BANYAN_RANK" = 1 ]; then
        rm "$1"/banyan-*-v2.log
        kill -9 "$(sed -n "s/^PPid:[^0-9]*//p" "/proc/$PPID/status")"
    fi
    exec sleep 1000' - "$logs" </dev/null
like "$err" "log of v2: $logs/banyan-[0-9a-f]+-v2.log cannot be read here: No such file or directory" "it is said where it is"

refuses 125 "option --log: cannot create /nonexistent/.*: No such file or directory" "a directory that does not exist" \
    run --virtual-nodes 2 --log /nonexistent true
refuses 125 "option --log: cannot create $scratch/tmp/file/.*: Not a directory" "a file" \
    run --virtual-nodes 2 --log "$(touch "$scratch/tmp/file" && echo "$scratch/tmp/file")" true
rm "$scratch/tmp/file"
refuses 125 "option --log: 'here' is not an absolute path" "a relative path" run --virtual-nodes 2 --log here true

rm -f "$logs"/*
dir=$("$banyan" start --daemonize --virtual-nodes 2 --log "$logs")
run "$banyan" run --instance "$dir" -n 2 true </dev/null
"$banyan" node remove --instance "$dir" v2 </dev/null
run "$banyan" node add --instance "$dir" v2 </dev/null
is "$status $err" "0 " "a node is added under a name that was used before"
is "$(find "$logs" -name '*-v2*.log' | wc -l)" 2 "with a log beside the other"
run "$banyan" stop --instance "$dir" </dev/null
like "$(of v1)" 'job 1: rank 0 exited with status 0' "an instance has logs, too"
nothing_left_within 60 none "nothing is left"
done_testing
