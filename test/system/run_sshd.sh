#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The starter over a real sshd, on loopback: login shell, quoting, forwarding of the environment,
# the server's own words when it refuses, and what is left when it is over.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

sshd=$(command -v sshd || echo /usr/sbin/sshd)
[ -x "$sshd" ] || skip_all "sshd is not installed (package openssh-server)"
command -v ssh >/dev/null || skip_all "ssh is not installed (package openssh-client)"
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd

keys=$scratch/keys
mkdir -m 700 "$keys"
ssh-keygen -q -t ed25519 -N '' -f "$keys/host"
ssh-keygen -q -t ed25519 -N '' -f "$keys/user"
cp "$keys/user.pub" "$keys/authorized"

# serve: starts it on a port that is free; fails if it is not.
serve() {
    port=$((20000 + RANDOM % 10000))
    cat >"$scratch/sshd_config" <<CONFIG
ListenAddress 127.0.0.1
Port $port
HostKey $keys/host
AuthorizedKeysFile $keys/authorized
PidFile $scratch/sshd.pid
UsePAM no
StrictModes no
PasswordAuthentication no
MaxStartups 100
CONFIG
    "$sshd" -f "$scratch/sshd_config" -E "$scratch/sshd.log" && until_true 5 [ -s "$scratch/sshd.pid" ]
}
until_true 20 serve || skip_all "sshd does not start: $(tail -n 1 "$scratch/sshd.log")"
clean_up() {
    kill "$(cat "$scratch/sshd.pid" 2>/dev/null)" 2>/dev/null
}

cat >"$scratch/ssh_config" <<CONFIG
Host s*
    HostName 127.0.0.1
    Port $port
    IdentityFile $keys/user
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
CONFIG

# over_ssh OPTION...
over_ssh() {
    new_mark
    run timeout 300 "$banyan" run --ssh-agent "ssh -F $scratch/ssh_config" --banyand "$BANYAN_DAEMON" \
        --net lo --tmpdir "$TMPDIR" --timeout 240 --start-timeout 60 -x BT_MARK="$mark" "$@" </dev/null
}

over_ssh --host 's[1-3]' --per-node 1 sh -c 'echo "$BANYAN_NODE $BANYAN_RANK of $BANYAN_SIZE"'
is "$status $(sort <<<"$out" | tr '\n' ';')" "0 s1 0 of 3;s2 1 of 3;s3 2 of 3;" "three nodes by ssh"
diag "$err"
nothing_left "three nodes by ssh: nothing is left"

over_ssh --host 's[1-5]' --radix 2 --per-node 1 sh -c 'exit 3'
is $status 3 "a tree by ssh: the status is the program's"
like "$err" '^banyan: rank [0-9] on s[0-9] exited with status 3$' "a tree by ssh: one line"
nothing_left "a tree by ssh: nothing is left"

value='a "quoted" $HOME `id` \ and
a second line'
over_ssh --host s1 -n 1 -x VALUE="$value" sh -c 'printf %s "$VALUE|$1"' x "it's \$0"
is "$status $out" "0 $value|it's \$0" "nothing on the way reads the arguments or the environment"

mv "$keys/authorized" "$keys/locked"
over_ssh --host 's[1-3]' --per-node 1 true
is $status 125 "a server that refuses: exit status 125"
like "$err" '^banyan: cannot start daemons on s\[1-3\] \(3 nodes\): ssh exited 255: .*Permission denied' \
    "a server that refuses: its words, once, with all nodes"
nothing_left "a server that refuses: nothing is left"
mv "$keys/locked" "$keys/authorized"

kill "$(cat "$scratch/sshd.pid")"
until_true 5 [ ! -s "$scratch/sshd.pid" ]
over_ssh --host 's[1-2]' --per-node 1 true
is $status 125 "no server: exit status 125"
like "$err" 'cannot start daemons on s\[1-2\] \(2 nodes\): ssh exited 255: .*Connection refused' \
    "no server: ssh's words"
nothing_left "no server: nothing is left"
done_testing
