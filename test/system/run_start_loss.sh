#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# 300 nodes whose agents fail (2 %) or hang (1 %), chosen by a seed: with --min-nodes the others run, and exactly those
# that do not are named, each with its reason.  Which nodes are slow on a busy machine is not for us to say: what is
# judged is that each node either runs or is named.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

fakessh=$top_builddir/contrib/testbed/fakessh
export FAKESSH_BASE=$scratch/nodes
export FAKESSH_ISOLATE=no
mkdir -p "$FAKESSH_BASE" "$scratch/refused" "$scratch/hung"
seed=${BT_SEED:-$RANDOM}
echo "# seed $seed (BT_SEED=$seed repeats it)"
RANDOM=$seed

# choose NODES PER_MILLE DIRECTORY: a file for each node that is chosen and was not before.
choose() {
    local i
    for i in $(seq "$1"); do
        [ $((RANDOM % 1000)) -ge "$2" ] || [ -e "$scratch/refused/n$i" ] || : >"$3/n$i"
    done
}

cat >"$scratch/agent" <<A
#!/bin/sh
for word; do case \$word in n[0-9]*) host=\$word; break ;; esac; done
if [ -e "$scratch/refused/\$host" ]; then
    echo "ssh: connect to host \$host port 22: Connection refused" >&2
    exit 255
fi
[ ! -e "$scratch/hung/\$host" ] || exec sleep 100000
exec "$fakessh" "\$@"
A
chmod +x "$scratch/agent"

# start HOSTS MINIMUM [OPTION...]: each node that runs prints its name.
start() {
    local hosts=$1 minimum=$2
    shift 2
    new_mark
    run "$banyan" run --ssh-agent "$scratch/agent" --banyand "$BANYAN_DAEMON" --net lo --host "$hosts" \
        --min-nodes "$minimum" --timeout 500 -x BT_MARK="$mark" "$@" sh -c 'echo "${TMPDIR##*/}"' </dev/null
}

# The nodes of the lines of $err that match a pattern, one per line, sorted as text.
named() {
    grep -E "$1" <<<"$err" | sed -E 's/^banyan: cannot start (the daemon|daemons) on ([^ :]*)[ :].*/\2/' |
        while read -r list; do
            list=${list#n}
            list=${list//[\[\]]/}
            for range in ${list//,/ }; do
                seq -f 'n%g' "${range%-*}" "${range#*-}"
            done
        done | sort
}

chosen() {
    (cd "$1" && find . -type f | sed 's,^\./,,' | sort)
}

# subset FIRST SECOND WHAT: each line of the first list is in the second one.
subset() {
    is "$(comm -23 <(echo "$1") <(echo "$2"))" "" "$3"
}

# judge NODES WHAT: who runs and who is named are all, and nobody is both; the reasons are the true ones.  Where a busy
# machine has made others late, those below them may not have been tried.
judge() {
    local all ran lost refused late chosen_refused chosen_hung
    all=$(seq -f 'n%g' "$1" | sort)
    ran=$(sort <<<"$out")
    lost=$(named '^banyan: cannot start')
    refused=$(named '^banyan: cannot start.*exited 255: .*Connection refused')
    late=$(named '^banyan: cannot start.*(no answer|has not joined) within')
    chosen_refused=$(chosen "$scratch/refused")
    chosen_hung=$(chosen "$scratch/hung")
    is "$status" 0 "$2: the others run"
    is "$(printf '%s\n' $ran $lost | sort)" "$all" "$2: each node either runs or is named, once"
    subset "$refused" "$chosen_refused" "$2: agents of no others have failed"
    subset "$chosen_refused" "$lost" "$2: those whose agents fail are named"
    subset "$chosen_hung" "$late" "$2: and those whose agents hang"
    [ "$late" = "$chosen_hung" ] || diag "late: " $late
    [ "$late" != "$chosen_hung" ] || is "$refused" "$chosen_refused" "$2: each with its reason"
    is "$(grep -cE 'cannot start.*Connection refused' <<<"$err")" 1 "$2: equal reasons are one line"
    like "$err" "continuing with $(wc -w <<<"$ran") of $1 nodes \(--min-nodes" "$2: it is said with how many it goes on"
    nothing_left "$2: nothing is left"
    [ "$tap_failed" = 0 ] || diag "$err"
}

choose 300 20 "$scratch/refused"
choose 300 10 "$scratch/hung"
: >"$scratch/refused/n1" # the head of a range, and one after it
rm -f "$scratch/hung/n1" "$scratch/refused/n2"
: >"$scratch/hung/n2"
start 'n[1-300]' 20 --start-timeout 30
judge 300 "300 nodes"

rm -f "$scratch"/refused/* "$scratch"/hung/*
: >"$scratch/refused/n3"
: >"$scratch/refused/n4"
start 'n[1-8]:2' 6 --radix 2 --start-timeout 240 --per-node 2
is "$status $(sort <<<"$out" | uniq -c | awk '{ print $1 $2 }' | paste -sd' ')" "0 2n1 2n2 2n5 2n6 2n7 2n8" \
    "--per-node counts the nodes that can be used"
like "$err" 'cannot start daemons on n\[3-4\] \(2 nodes\): .*Connection refused' "and the others are named"

start 'n[1-8]' 7 --radix 2 --start-timeout 240
is "$status" 125 "fewer than --min-nodes: it does not run"
like "$err" 'cannot start daemons on n\[3-4\] \(2 nodes\): .*Connection refused' "it says why"
like "$err" 'at most 6 of 8 nodes can be used; --min-nodes is 7' "and what was wanted"
nothing_left "nothing is left"

start 'n[1-8]' 7 -n 9
is "$status" 125 "more processes than slots are refused at once"
run "$banyan" run --host 'n[1-8]' --min-nodes 9 true
is "$status" 125 "more than all nodes are refused"
like "$err" 'option --min-nodes: there are only 8 nodes, not 9' "with the reason"

new_mark
"$banyan" start --ssh-agent "$scratch/agent" --banyand "$BANYAN_DAEMON" --net lo --host 'n[1-8]' --min-nodes 6 \
    --start-timeout 240 --radix 2 -v >"$scratch/dir" 2>"$scratch/err" </dev/null &
starter=$!
ok 'the instance is ready' until_true 120 test -s "$scratch/dir"
like "$(cat "$scratch/err")" 'cannot start daemons on n\[3-4\] \(2 nodes\)' "start names them, too"
run "$banyan" run --instance "$(cat "$scratch/dir")" -x BT_MARK="$mark" sh -c 'echo "${TMPDIR##*/}"' </dev/null
is "$status $(sort <<<"$out" | paste -sd' ')" "0 n1 n2 n5 n6 n7 n8" "slots of nodes that are left out do not count"
kill -TERM $starter
wait $starter
nothing_left "nothing is left"

done_testing
