#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan node`: the nodes of an instance are listed, drained and resumed; drained and lost ones get no new
# processes, and jobs that count slots count those that can be used.
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
    sort <<<"$out" | uniq -c | awk '{ printf "%s:%s ", $2, $1 }'
}
# has STATE: the list has a line of that state.
has() { "$banyan" node list | awk 'NR > 1 { print $2 }' | grep -qx "$1"; }
listed() { [ "$(lists)" = "$1" ]; }
# lists_are LIST NAME: the list in short becomes that; slots of a job that has ended are free in a moment.
lists_are() {
    until_true 60 listed "$1"
    is "$(lists)" "$1" "$2"
}
lists() { "$banyan" node list | awk 'NR > 1 { printf "%s %s %s/%s %s\n", $5, $2, $4, $3, $6 }'; }
# wait_for JOB: all its processes run.
wait_for() { until_true 60 sh -c "'$banyan' ps | grep -q '^ *$1  running'"; }

dir=$("$banyan" start --daemonize --virtual-nodes 4 --slots 2 --verbose 2>"$scratch/start.err")
verb node list
is "$out" "  NODES  STATE      SLOTS  IN USE  NAMES             JOBS
      4  up             2       0  v[1-4]            -" "all nodes are up"
verb node
like "$out" ' 4  up ' "the verb alone lists"

"$banyan" run --instance "$dir" -n 3 sh -c "until [ -e '$scratch/go' ]; do sleep 0.1; done" </dev/null &
first=$!
wait_for 1
lists_are "v1 up 2/2 1
v2 up 1/2 1
v[3-4] up 0/2 -" "a job uses some"

verb node drain --force v2
like "$status $err" "^125 banyan: option --force is one of 'banyan node remove'" "what only a removal can have"
verb node drain 'v[2-3]'
is "$status$out" 0 "two are drained"
is "$err" "banyan: v2 still has processes of job 1, which may end normally" "one of which is still used"
lists_are "v1 up 2/2 1
v2 draining 1/2 1
v3 drained 0/2 -
v4 up 0/2 -" "the list says so"
verb node list v3 v4 --json
is "$(python3 -c '
import json, sys
got = json.load(sys.stdin)
print(got["roster_version"], [(n["names"], n["nodes"], n["state"], n["slots"], n["slots_in_use"], n["jobs"]) for n in got["nodes"]])' \
    <<<"$out")" "1 [('v3', 1, 'drained', 2, 0, []), ('v4', 1, 'up', 2, 0, [])]" "and JSON of some nodes"
verb status
like "$out" '
nodes +4: v\[1-4\], 1 draining, 1 drained
slots +8, 3 in use' "status counts them"
is "$(nodes_of -n 2)" "v4:2 " "a new job gets the other nodes"
verb run --instance "$dir" --no-wait -n 3 true
fails "one that would need a drained node" 'slots'
"$banyan" run --instance "$dir" -n 3 true </dev/null 2>"$scratch/waits.err" &
waits=$!
until_true 60 sh -c "'$banyan' ps | grep -q ' waiting '"
verb node resume v3
wait "$waits"
is $? 0 "or it waits, and starts when a node is resumed"
verb node drain v3

touch "$scratch/go"
wait "$first"
is $? 0 "what runs on a drained node ends normally"
until_true 60 has drained
lists_are "v[1,4] up 0/2 -
v[2-3] drained 0/2 -" "then it is drained"
verb node drain v2
is "$status$out$err" 0 "draining again says nothing"
is "$(nodes_of)" "v1:2 v4:2 " "without -n a job has the slots that can be used"
is "$(nodes_of --per-node 1)" "v1:1 v4:1 " "likewise with --per-node"
verb run --instance "$dir" -n 5 true
fails "more than these" '5 processes requested, but there are 4 slots'
is "$(nodes_of --oversubscribe --map-by node -n 6)" "v1:3 v4:3 " "nor does --oversubscribe use them"

verb node resume v3
is "$status$out$err" 0 "one is resumed"
is "$(nodes_of)" "v1:2 v3:2 v4:2 " "and used again"

# Words that are wrong change nothing.
verb node drain v1,v9
fails "a node that there is not" 'no such node: v9'
verb node drain 'v['
fails "what is no list" 'list of nodes: column 2'
verb node drain
fails "no node" 'expected: banyan node drain \[OPTIONS\] NODES'
verb node drian v1
fails "no such word" "unknown command 'node drian': did you mean 'node drain'"
lists_are "v[1,3-4] up 0/2 -
v2 drained 0/2 -" "then nothing is done"

# A daemon dies: its node counts for nothing any more.
cat >"$scratch/daemon" <<'P'
#!/bin/sh
# On v3: the process of its daemon, the parent of the helper that has started this.
parent() { sed -n 's/^PPid:[^0-9]*//p' "/proc/$1/status"; }
if [ "$BANYAN_NODE" = v3 ]; then
    parent "$(parent $$)"
fi
P
chmod +x "$scratch/daemon"
victim=$("$banyan" run --instance "$dir" --map-by node -n 3 "$scratch/daemon" </dev/null)
is "$(cat "/proc/$victim/comm")" banyand "a daemon"
kill -9 "$victim"
until_true 60 has lost
lists_are "v[1,4] up 0/2 -
v2 drained 0/2 -
v3 lost 0/2 -" "one is lost"
is "$(nodes_of)" "v1:2 v4:2 " "its slots are not counted"
verb node resume v3
fails "a lost node" 'node v3 is lost: it cannot be resumed'
verb node resume v2
is "$(nodes_of --per-node 1)" "v1:1 v2:1 v4:1 " "one that is drained can be resumed beside it"

verb stop
is $status 0 "the instance ends"
verb node list
fails "then there are no nodes" 'no instance of yours runs'
nothing_left_within 30 "$(basename "$dir" | cut -d . -f 1)" "nothing is left"
done_testing
