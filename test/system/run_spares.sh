#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Spare nodes (--spares): they are kept unused until a node is lost or does not start.
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

nothing_left_within 30 none "nothing is left"
done_testing
