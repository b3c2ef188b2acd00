#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan node add`: a living instance grows, by the starter that it was started with; all nodes that are asked for come
# up, or none does and each reason is a line.
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
lists() { "$banyan" node list 2>&1 | awk 'NR > 1 { printf "%s %s %s/%s %s\n", $5, $2, $4, $3, $6 }'; }
listed() { [ "$(lists)" = "$1" ]; }
# lists_are LIST NAME: the list in short becomes that; slots of a job that has ended are free in a moment.
lists_are() {
    until_true 60 listed "$1"
    is "$(lists)" "$1" "$2"
}
version() { "$banyan" node list --json | sed -n 's/.*"roster_version": \([0-9]*\).*/\1/p'; }
# runs JOB: all its processes run.
runs() { "$banyan" ps | grep -q "^ *$1  running"; }
# daemons COUNT: so many daemons of the instance live, the root not among them.
daemons() { [ "$(for process in $(ours); do cat "/proc/$process/comm" 2>/dev/null; done | grep -cx banyand)" = "$1" ]; }

# ---- nodes of this machine ----

dir=$("$banyan" start --daemonize --virtual-nodes 2 --slots 1)
session=$(basename "$dir" | cut -d . -f 1)
verb node add v3:2 'v[4-5]'
is "$status$out$err" 0 "three nodes are added"
lists_are "v[1-2,4-5] up 0/1 -
v3 up 0/2 -" "they are up, with their slots"
is "$(version)" 2 "the roster has another version"
is "$(nodes_of)" "v1:1 v2:1 v3:2 v4:1 v5:1 " "a job uses all nodes"
verb status
like "$out" '
nodes +5: v\[1-5\]
slots +6' "status counts them"
verb tree
like "$out" '
5 nodes, radix 6' "the tree has them"

# A job that waits starts when there are more slots.
"$banyan" run --instance "$dir" -n 5 sh -c "until [ -e '$scratch/go' ]; do sleep 0.1; done" </dev/null &
first=$!
until_true 60 runs 2
"$banyan" run --instance "$dir" -n 2 sh -c "echo \$BANYAN_NODE; until [ -e '$scratch/go' ]; do sleep 0.1; done" \
    </dev/null >"$scratch/second" 2>"$scratch/second.err" &
second=$!
until_true 60 test -s "$scratch/second.err"
like "$(cat "$scratch/second.err")" 'job 3 waits for 2 slots' "a job waits"
verb node add v6
is "$status" 0 "a node is added"
until_true 60 runs 3
verb ps
like "$out" ' 3  running +2 +v\[5-6\] ' "it runs there"
touch "$scratch/go"
wait "$first" && wait "$second"
is $? 0 "both jobs end well"
is "$(sort "$scratch/second" | tr '\n' ' ')" "v5 v6 " "on the nodes that ps names"
lists_are "v[1-2,4-6] up 0/1 -
v3 up 0/2 -" "then nothing is used"

# What is removed can be added again.
verb node remove v2,v6
is "$status" 0 "an old node and a new one are removed"
until_true 60 daemons 4
ok "their daemons have ended" daemons 4
verb node add v2:3
is "$status$err" 0 "one of them comes back"
lists_are "v[1,4-5] up 0/1 -
v3 up 0/2 -
v2 up 0/3 -" "with other slots"
is "$(nodes_of)" "v1:1 v2:3 v3:2 v4:1 v5:1 " "jobs use it"
printf '%s\n' '# more' v7 'v8 slots=2' >"$scratch/hosts"
verb node add --hostfile "$scratch/hosts"
is "$status$err" 0 "nodes of a file"
until_true 60 daemons 7
is "$(nodes_of --per-node 1)" "v1:1 v2:1 v3:1 v4:1 v5:1 v7:1 v8:1 " "are used likewise"
before=$(lists)

# Words that are wrong change nothing.
verb node add v9,v4
fails "a node that is there" 'node v4 is part of the instance already'
verb node add 'v['
fails "what is no list" 'list of nodes: column 2'
verb node add
fails "no node" 'expected: banyan node add'
verb node add user@v9
fails "another user" 'user@: new nodes have the user'
verb node add v9 --hostfile "$scratch/hosts"
fails "two sources" 'give nodes, --hostfile or --from-scheduler, not more than one'
verb node add --from-scheduler
fails "no job of Slurm" 'SLURM_JOB_ID is not set here; name the nodes'
verb node add --hostfile "$scratch/none"
fails "no file" 'option --hostfile: cannot read .*/none: No such file'
is "$(lists)" "$before" "then nothing is added"

# A daemon that was added dies.
victim=$("$banyan" run --instance "$dir" --per-node 1 sh -c \
    '[ "$BANYAN_NODE" != v8 ] || { h=$(sed -n "s/^PPid:[^0-9]*//p" /proc/$$/status); sed -n "s/^PPid:[^0-9]*//p" "/proc/$h/status"; }' </dev/null)
is "$(cat "/proc/$victim/comm")" banyand "the daemon of one"
kill -9 "$victim"
has_lost() { lists | grep -qx 'v8 lost 0/2 -'; }
until_true 60 has_lost
ok "it is lost" has_lost
is "$(nodes_of --per-node 1)" "v1:1 v2:1 v3:1 v4:1 v5:1 v7:1 " "the others run jobs"
verb stop
is $status 0 "the instance ends"
nothing_left_within 30 "$session" "nothing is left"

# ---- nodes that an agent reaches ----

export FAKESSH_BASE=$scratch/nodes
export FAKESSH_ISOLATE=no
mkdir -p "$FAKESSH_BASE" "$scratch/refused" "$scratch/hung"
cat >"$scratch/agent" <<A
#!/bin/sh
for word; do case \$word in n[0-9]*) host=\$word; break ;; esac; done
if [ -e "$scratch/refused/\$host" ]; then
    echo "ssh: connect to host \$host port 22: Connection refused" >&2
    exit 255
fi
[ ! -e "$scratch/hung/\$host" ] || { : >"$scratch/hung/\$host.called"; exec sleep 100000; }
exec "$top_builddir/contrib/testbed/fakessh" "\$@"
A
chmod +x "$scratch/agent"
# reached COUNT: so many daemons live that the agent has started.
reached() {
    [ "$(for process in $(grep -lzs "^FAKESSH_BASE=$FAKESSH_BASE\$" /proc/[0-9]*/environ | cut -d / -f 3); do
        cat "/proc/$process/comm" 2>/dev/null
    done | grep -cx banyand)" = "$1" ]
}
dir=$("$banyan" start --daemonize --ssh-agent "$scratch/agent" --banyand "$BANYAN_DAEMON" --net lo --host 'n[1-2]' \
    --start-retries 0)
session=$(basename "$dir" | cut -d . -f 1)
: >"$scratch/refused/n4"
: >"$scratch/refused/n5"
verb node add 'n[3-5]:2'
is "$status" 125 "two nodes of three do not come up"
is "$err" "banyan: cannot start daemons on n[4-5] (2 nodes): agent exited 255: ssh: connect to host n4 port 22: Connection refused (reported by n4)
banyan: no node was added, also not the other 1" "each reason is a line"
lists_are "n[1-2] up 0/1 -" "the instance is as before"
until_true 60 reached 2
ok "and no daemon is left" reached 2
is "$(nodes_of)" "n1:1 n2:1 " "it runs jobs"
rm "$scratch/refused/n4"
verb node add 'n[3-4]:2'
is "$status$err" 0 "later they come up"
lists_are "n[1-2] up 0/1 -
n[3-4] up 0/2 -" "and are used"
is "$(nodes_of)" "n1:1 n2:1 n3:2 n4:2 " "by jobs"

# Who adds goes away: no longer waited for, and nothing is added.
: >"$scratch/hung/n7"
"$banyan" node add 'n[6-7]' </dev/null 2>"$scratch/hung.err" &
adds=$!
until_true 60 test -e "$scratch/hung/n7.called"
kill "$adds"
wait "$adds"
is "$(lists)" "n[1-2] up 0/1 -
n[3-4] up 0/2 -" "a node that hangs is not waited for"
verb node add n8
is "$status$err" 0 "another addition is carried out"
is "$(nodes_of --per-node 1)" "n1:1 n2:1 n3:1 n4:1 n8:1 " "and used"
verb stop
is $status 0 "the instance ends"
until_true 60 reached 0
ok "so do its daemons" reached 0
nothing_left_within 30 "$session" "nothing is left"

# ---- nodes of a job of Slurm that was extended ----

mkdir "$scratch/slurm"
cat >"$scratch/slurm/scontrol" <<'S'
#!/bin/sh
[ "$*" = "--details show job 77" ] || { echo "scontrol: what is $*?" >&2; exit 1; }
printf 'JobId=77\n   NodeList=n[1-4]\n     Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=\n'
printf '     Nodes=n[3-4] CPU_IDs=0-2 Mem=0 GRES=\n'
S
chmod +x "$scratch/slurm/scontrol"
in_slurm() { run env PATH="$scratch/slurm:$PATH" SLURM_JOB_ID="$1" "$banyan" node add --from-scheduler </dev/null; }
dir=$("$banyan" start --daemonize --ssh-agent "$scratch/agent" --banyand "$BANYAN_DAEMON" --net lo --host 'n[1-2]')
session=$(basename "$dir" | cut -d . -f 1)
in_slurm 78
fails "another job" 'option --from-scheduler: .*scontrol: what is'
in_slurm 77
is "$status$err" 0 "those that are new"
lists_are "n[1-2] up 0/1 -
n[3-4] up 0/3 -" "are added, with their CPUs"
in_slurm 77
is "$status:$err" "0:banyan: the instance has all nodes of the scheduler's job" "once"
verb stop
until_true 60 reached 0
nothing_left_within 30 "$session" "nothing is left"

# ---- where no node can be added ----

verb node add
fails "no node and no instance: the node is named" 'expected: banyan node add'

dir=$("$banyan" start --daemonize)
session=$(basename "$dir" | cut -d . -f 1)
verb node add n9
fails "an instance of this machine" 'has only the machine that it was started on'
verb stop
nothing_left_within 30 "$session" "nothing is left"
done_testing
