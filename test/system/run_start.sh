#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A daemon that cannot be started: one line with the node's name and the starter's own words,
# everything that was started is ended, exit status 125.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

fakessh=$top_builddir/contrib/testbed/fakessh
export FAKESSH_BASE=$scratch/nodes
mkdir -p "$FAKESSH_BASE"

# agent NAME: a script that behaves badly for node n3 and starts the others; the body is on stdin
# and finds the host in $host and the command in "$@".
agent() {
    {
        echo '#!/bin/bash'
        echo 'all=("$@"); while [ "${1#-}" != "$1" ]; do case $1 in -o|-p|-l) shift;; esac; shift; done'
        echo 'host=$1; shift'
        echo 'if [ "$host" = n3 ]; then'
        cat
        echo 'fi'
        echo "exec $fakessh \"\${all[@]}\""
    } >"$scratch/$1"
    chmod +x "$scratch/$1"
}

# start AGENT [OPTION...]: `true` on n1..n5; n4 and n5 are below others with radix 2.
start() {
    local agent=$1
    shift
    new_mark
    run "$banyan" run --ssh-agent "$agent" --banyand "$BANYAN_DAEMON" --net lo --radix 2 \
        --host 'n[1-5]' --per-node 1 --timeout 240 -x BT_MARK="$mark" "$@" sleep 30 </dev/null
}

# fails NAME REGEX: what every case must show.
fails() {
    is $status 125 "$1: exit status 125"
    is "$(grep -c '^banyan: ' <<<"$err")" 1 "$1: one line"
    like "$err" "$2" "$1: it says what"
    [ "$status" = 125 ] || diag "$err"
    nothing_left "$1: nothing is left"
}

start "$scratch/no-such-agent"
fails "agent not found" "cannot start (the daemon|daemons) on n.*\"$scratch/no-such-agent\": No such file"

agent refused <<'A'
echo "ssh: connect to host n3 port 22: Connection refused" >&2; exit 255
A
start "$scratch/refused"
fails "agent exits 255" 'cannot start the daemon on n3: .*255.*Connection refused'

# The second call succeeds: nobody has to know.
agent overloaded <<'A'
if mkdir "$FAKESSH_BASE/was.called" 2>/dev/null; then
    echo "kex_exchange_identification: Connection closed by remote host" >&2; exit 255
fi
A
new_mark
run "$banyan" run --ssh-agent "$scratch/overloaded" --banyand "$BANYAN_DAEMON" --net lo --radix 2 --start-timeout 120 \
    --host 'n[1-5]' --per-node 1 --timeout 240 -x BT_MARK="$mark" echo here </dev/null
is "$status $(grep -c '^here$' <<<"$out") $err" "0 5 " "an agent that fails once is called again"
rmdir "$FAKESSH_BASE/was.called"
start "$scratch/overloaded" --start-retries 0
fails "agent fails once, and is called once" 'cannot start the daemon on n3: .*Connection closed by remote host'

agent hangs <<'A'
exec sleep 1000
A
begin=$SECONDS
start "$scratch/hangs" --start-timeout 10
fails "agent hangs" 'cannot start the daemon on n3: .*10 s.*--start-timeout'
ok "agent hangs: the time-out is kept" [ $((SECONDS - begin)) -lt 100 ]

# The first node, which the root itself starts, answers while the root stands still, for longer than the daemon has:
# that says nothing about the node.
agent late <<'A'
root=$(awk '$1 == "PPid:" { print $2 }' /proc/$PPID/status)
kill -STOP $root
(sleep 8; kill -CONT $root) </dev/null >/dev/null 2>&1 &
A
new_mark
run "$banyan" run --ssh-agent "$scratch/late" --banyand "$BANYAN_DAEMON" --net lo --radix 2 --start-timeout 5 \
    --host n3,n1,n2 --per-node 1 --timeout 240 -x BT_MARK="$mark" echo here </dev/null
is "$status $(grep -c '^here$' <<<"$out") $err" "0 3 " "a root that stands still gives daemons their time"

agent noisy <<'A'
echo "Welcome to n3! You have mail."; echo "BANYAN is great"; echo "module: loaded" >&2
A
new_mark
run "$banyan" run --ssh-agent "$scratch/noisy" --banyand "$BANYAN_DAEMON" --net lo \
    --host 'n[1-5]' --per-node 1 --timeout 240 -x BT_MARK="$mark" echo here </dev/null
is "$status $(grep -c '^here$' <<<"$out")" "0 5" "text before the marker harms nothing"
unlike "$out" 'Welcome' "text before the marker is not the program's"

agent closing <<'A'
exec 2>&-
A
new_mark
run "$banyan" run --ssh-agent "$scratch/closing" --banyand "$BANYAN_DAEMON" --net lo \
    --host 'n[1-5]' --per-node 1 --timeout 240 -x BT_MARK="$mark" sh -c 'echo here >&2' </dev/null
is "$status $(grep -c '^here$' <<<"$err")" "0 5" "an agent may close stderr"
nothing_left "an agent may close stderr: nothing is left"

agent password <<'A'
printf "n3's password: " >&2
if (exec </dev/tty) 2>/dev/null; then read -r answer </dev/tty; fi
echo "Permission denied (publickey,password)." >&2; exit 255
A
start "$scratch/password"
fails "agent asks for a password" 'cannot start the daemon on n3: .*Permission denied'

agent absent <<'A'
exec /bin/sh -c /nowhere/banyand
A
start "$scratch/absent"
fails "banyand absent" 'cannot start the daemon on n3: .*banyand.*not found'

agent version <<'A'
echo "BANYAN-READY 999"; exec sleep 1000
A
start "$scratch/version"
fails "banyand of another version" 'cannot start the daemon on n3: .*999'

agent resolve <<'A'
echo "ssh: Could not resolve hostname n3: Name or service not known" >&2; exit 255
A
start "$scratch/resolve"
fails "a name that does not resolve" 'cannot start the daemon on n3: .*Could not resolve hostname'

agent tmpdir_missing <<'A'
export TMPDIR=/nowhere/at/all; exec sh -c "$*"
A
start "$scratch/tmpdir_missing"
fails "TMPDIR missing" 'cannot start the daemon on n3: .*/nowhere/at/all'

mkdir -p "$scratch/long/$(printf '%0100d' 0)"
agent tmpdir_long <<A
export TMPDIR=$scratch/long/$(printf '%0100d' 0); exec sh -c "\$*"
A
start "$scratch/tmpdir_long"
fails "TMPDIR too long" 'cannot start the daemon on n3: .*000 .*too long'

if [ "$(id -u)" = 0 ]; then
    agent tmpdir_full <<A
mkdir -p $scratch/full; exec unshare -m sh -c 'mount -t tmpfs -o size=4k,nr_inodes=1 none $scratch/full && TMPDIR=$scratch/full exec sh -c "\$0"' "\$*"
A
    start "$scratch/tmpdir_full"
    fails "TMPDIR full" 'cannot start the daemon on n3: .*/full.*(No space left|KiB free)'
    agent tmpdir_readonly <<A
mkdir -p $scratch/ro; exec unshare -m sh -c 'mount -t tmpfs -o ro none $scratch/ro && TMPDIR=$scratch/ro exec sh -c "\$0"' "\$*"
A
    start "$scratch/tmpdir_readonly"
    fails "TMPDIR not writable" 'cannot start the daemon on n3: .*/ro.*(Read-only|not writable|Permission)'
else
    skip "TMPDIR full: mounts need root"
    skip "TMPDIR not writable: mounts need root"
fi

new_mark
run "$banyan" run --ssh-agent "$fakessh" --banyand "$BANYAN_DAEMON" --net lo \
    --host n1,n2,n1 -n 3 --timeout 240 -x BT_MARK="$mark" sh -c 'echo "$BANYAN_NODE"' </dev/null
is "$status $(sort <<<"$out" | tr '\n' ' ')" "0 n1 n1 n2 " "a node given twice has two slots"
nothing_left "a node given twice: nothing is left"

# The kernel shares the processors among sessions: daemons of one machine that shared one would starve
# beside busy processes and lose their leases.
own_sessions='daemon=$(ps -o ppid= -p "$PPID" | tr -d " "); echo "$(ps -o sid= -p "$daemon") $daemon"'
for nodes in "--virtual-nodes 3" \
    "--host n1,n2,n3 --net lo --ssh-agent $fakessh --banyand $BANYAN_DAEMON"; do
    # shellcheck disable=SC2086
    run "$banyan" run $nodes -n 3 --per-node 1 --timeout 240 sh -c "$own_sessions" </dev/null
    is "$status $(awk '$1 == $2' <<<"$out" | sort -u | wc -l)" "0 3" \
        "each daemon has a session of its own: ${nodes%% *}"
done
done_testing
