#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Spare nodes (--spares): they are kept unused until a node is lost or does not start, and run the ranks of lost nodes that
# are to be restarted.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

verb() { run "$banyan" "$@" </dev/null; }
lists() { "$banyan" node list 2>&1 | awk 'NR > 1 { printf "%s %s %s/%s %s\n", $5, $2, $4, $3, $6 }'; }
listed() { [ "$(lists)" = "$1" ]; }
# lists_are LIST NAME: the list in short becomes that.
lists_are() {
    until_true 60 listed "$1"
    is "$(lists)" "$1" "$2"
}
# Prints the number of the daemon that has started it.
cat >"$scratch/daemon" <<'P'
#!/bin/sh
helper=$(sed -n 's/^PPid:[^0-9]*//p' /proc/$$/status)
echo "$BANYAN_NODE $(sed -n 's/^PPid:[^0-9]*//p' "/proc/$helper/status")"
P
chmod +x "$scratch/daemon"

# ---- What the options say ----

for n in 2 3; do
    verb run --virtual-nodes 2 --spares $n true
    is "$status" 125 "--spares $n of 2 nodes is refused"
    like "$err" 'option --spares: there are only 2 nodes, and a job needs one that is not a spare' "with the reason"
done
verb run --virtual-nodes 3 --slots 1 --spares 1 -n 3 true
is "$status" 125 "a job that needs the spare is refused"
like "$err" 'the last 1 of 3 nodes are kept as spares' "with the reason"
verb run --virtual-nodes 3 --slots 2 --spares 1 sh -c 'echo "$BANYAN_NODE"'
is "$status $(sort <<<"$out" | uniq -c | awk '{ printf "%s:%s ", $2, $1 }')" "0 v1:2 v2:2 " \
    "without -n the processes are those of the others"

# ---- An instance that loses nodes ----

dir=$("$banyan" start --daemonize --virtual-nodes 4 --slots 1 --spares 2)
session=$(basename "$dir" | cut -d . -f 1)
lists_are "v[1-2] up 0/1 -
v[3-4] spare 0/1 -" "the last two nodes are spares"
verb status
like "$out" 'nodes +4: v\[1-4\], 2 spare' "the status counts them"
verb tree
like "$out" '4 nodes, ' "they are in the tree"
verb run --instance "$dir" --no-wait -n 3 true
is "$status" 125 "a job has no room there"
verb run --instance "$dir" -n 2 "$scratch/daemon"
victim=$(sed -n 's/^v2 //p' <<<"$out")
is "$(cat "/proc/$victim/comm")" banyand "the daemon of a node"
kill -9 "$victim"
lists_are "v[1,3] up 0/1 -
v2 lost 0/1 -
v4 spare 0/1 -" "when it is lost a spare takes its place"
verb run --instance "$dir" -n 2 sh -c 'echo "$BANYAN_NODE"'
is "$status $(sort <<<"$out" | paste -sd' ')" "0 v1 v3" "where the next job runs"
verb stop
is "$status" 0 "the instance ends"
nothing_left_within 30 "$session" "nothing is left"

# ---- A node that does not start ----

export FAKESSH_BASE=$scratch/nodes
export FAKESSH_ISOLATE=no
mkdir -p "$FAKESSH_BASE"
cat >"$scratch/agent" <<A
#!/bin/sh
for word; do case \$word in n[0-9]*) host=\$word; break ;; esac; done
case " \$REFUSED " in
*" \$host "*)
    echo "ssh: connect to host \$host port 22: Connection refused" >&2
    exit 255
    ;;
esac
exec "$top_builddir/contrib/testbed/fakessh" "\$@"
A
chmod +x "$scratch/agent"
starts() {
    run env REFUSED="$1" "$banyan" run --ssh-agent "$scratch/agent" --banyand "$BANYAN_DAEMON" --net lo --host 'n[1-4]' \
        --start-retries 0 --start-timeout 240 --spares 1 sh -c 'echo "${TMPDIR##*/}"' </dev/null
}
starts n2
is "$status $(sort <<<"$out" | paste -sd' ')" "0 n1 n3 n4" "a spare is used instead of a node that does not start"
like "$err" 'cannot start the daemon on n2: .*Connection refused' "the reason is told"
like "$err" 'spare node n4 takes the place of n2, which has not started; 0 left' "and the spare is named"
starts n4
is "$status $(sort <<<"$out" | paste -sd' ')" "0 n1 n2 n3" "a spare that does not start is not needed"
starts "n1 n3"
is "$status $out" "125 " "more than the spares: nothing runs"
like "$err" 'at most 2 of 4 nodes can be used; --spares is 1' "with the reason"

# ---- Ranks of a lost node ----

# When it is let go it runs its arguments.
cat >"$scratch/rank" <<P
#!/bin/sh
helper=\$(sed -n 's/^PPid:[^0-9]*//p' /proc/\$\$/status)
echo "rank \$BANYAN_RANK (\$BANYAN_LOCAL_RANK) on \$BANYAN_NODE, restart \$BANYAN_RESTART" \
    "\$(sed -n 's/^PPid:[^0-9]*//p' "/proc/\$helper/status")"
until [ -e "$scratch/go" ]; do sleep 0.1; done
exec "\$@"
P
# PMI-1: meets the others in a barrier, once or before it waits, too.
cat >"$scratch/pmi1" <<P
#!/bin/bash
say() {
    printf '%s\n' "\$1" >&"\$PMI_FD"
    read -r answer <&"\$PMI_FD"
}
say 'cmd=init pmi_version=1 pmi_subversion=1'
say 'cmd=barrier_in'
echo "rank \$BANYAN_RANK: \$answer"
[ -z "\$1" ] || exec "\$@"
say 'cmd=finalize'
P
chmod +x "$scratch/rank" "$scratch/pmi1"
started() { [ "$(grep -c '^rank [0-9]* (' "$scratch/.out")" = "$1" ]; }
# begin COUNT ARGUMENT...: a run with a policy of restarts, as soon as it has as many ranks.
begin() {
    local count=$1
    shift
    rm -f "$scratch/go"
    "$banyan" run --timeout 240 --kill-grace 5 "$@" </dev/null >"$scratch/.out" 2>"$scratch/.err" &
    pid=$!
    until_true 60 started "$count"
}
# kill_node NODE: its daemon, as a rank there has printed it.
kill_node() {
    local victim
    victim=$(sed -n "s/^rank .* on $1, .* //p" "$scratch/.out" | tail -1)
    is "$(cat "/proc/$victim/comm")" banyand "the daemon of $1"
    kill -9 "$victim"
}
# finish: sets $status, $out without numbers of processes, sorted, and $err.
finish() {
    status=0
    wait $pid || status=$?
    out=$(sed -E 's/( restart [0-9]+) [0-9]+$/\1/' "$scratch/.out" | sort)
    err=$(grep -Ev "$stall_lines" "$scratch/.err")
}

begin 8 --virtual-nodes 5 --slots 2 --spares 1 --on-failure restart "$scratch/rank" sh -c 'echo "rank $BANYAN_RANK ends"'
kill_node v2
until_true 60 started 10
: >"$scratch/go"
finish
is "$status" 0 "ranks of a lost node are started on the spare; all end well"
is "$(grep -E '^rank [23] ' <<<"$out")" "rank 2 (0) on v2, restart 0
rank 2 (0) on v5, restart 1
rank 2 ends
rank 3 (1) on v2, restart 0
rank 3 (1) on v5, restart 1
rank 3 ends" "each as it was, with its output and the number of its restart"
is "$(grep -c ends <<<"$out")" 8 "the others have gone on"
is "$(grep -c restart\ 1 <<<"$out")" 2 "where they were"
like "$err" 'spare node v5 takes the place of v2, which is lost; 0 left' "the spare is named"
like "$err" 'lost node v2: .*; ranks 2-3 there: restart 1 of 3 on the spare v5 in 1 s' "and the ranks"

begin 3 --virtual-nodes 4 --slots 1 --spares 1 --on-failure restart "$scratch/rank" true
kill_node v3
until_true 60 started 4
kill_node v4
finish
is "$status" 125 "another node is lost: no spare is left"
like "$err" 'banyan: lost node v4: .*; no spare is left; the job was ended' "which one line says"
begin 3 --virtual-nodes 5 --slots 1 --spares 2 --on-failure restart:1 "$scratch/rank" true
kill_node v1
until_true 60 started 4
kill_node v4
finish
is "$status" 125 "the spare is lost, too: at the limit of restarts the job ends"
like "$err" 'lost node v4: .*; its ranks have been restarted as often as they may be; the job was ended' "which is said"
begin 3 --virtual-nodes 5 --slots 1 --spares 2 --on-failure restart "$scratch/rank" true
kill_node v1
until_true 60 started 4
kill_node v4
until_true 60 started 5
: >"$scratch/go"
finish
is "$status $(tail -1 <<<"$(grep 'rank 0' <<<"$out")")" "0 rank 0 (0) on v5, restart 2" \
    "before that its ranks go on to the next spare"

begin 2 --virtual-nodes 3 --slots 1 --spares 1 --on-failure restart "$scratch/rank" true
kill_node v2
until_true 60 grep -q 'restart 1 of 3' "$scratch/.err"
kill -TERM $pid
finish
is $status 143 "a job can be ended while its ranks wait for the spare"

# ---- PMI ----

for node in v1 v2; do
    begin 3 --virtual-nodes 4 --slots 1 --spares 1 --on-failure restart "$scratch/rank" "$scratch/pmi1"
    kill_node $node
    until_true 60 started 4
    : >"$scratch/go"
    finish
    is "$status:$(grep cmd <<<"$out")" "0:$(printf 'rank %d: cmd=barrier_out rc=0\n' 0 1 2)" \
        "PMI-1: the ranks of $node, which are on the spare now, meet the others in a barrier"
done
begin 3 --virtual-nodes 4 --slots 1 --spares 1 --on-failure restart "$scratch/pmi1" "$scratch/rank" true
kill_node v2
finish
is "$status" 125 "ranks that had connected to PMI are not restarted"
like "$err" 'lost node v2: .*; ranks had connected to PMI, so none is restarted on a spare; the job was ended' "which is said"

program=$top_builddir/test/tool/pmix_events
if [ -x "$program" ]; then
    begin 4 --mpi pmix --virtual-nodes 3 --slots 2 --spares 1 --on-failure restart "$scratch/rank" "$program" \
        fence r3:put:a fence r0:get:3:a
    kill_node v2
    until_true 60 started 6
    : >"$scratch/go"
    finish
    is "$status:$(grep -v '^rank' <<<"$out")" "0:" "PMIx: ranks on the spare fence with the others, who get their data"
else
    skip "pmix_events is not built"
fi

nothing_left_within 30 none "nothing is left"
done_testing
