#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Instances in trouble: two that start at once, one whose root died or whose machine was rebooted, a TMPDIR that is
# full; one clear line each.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset BANYAN_INSTANCE

verb() { run "$banyan" "$@" </dev/null; }
# fails NAME REGEX: status 125 and one line.
fails() {
    is "$status $(wc -l <<<"$err")" "125 1" "$1: status and one line"
    like "$err" "$2" "$1: what is wrong"
}

# Two at once.
for i in 1 2; do
    "$banyan" start --daemonize --virtual-nodes "$i" >"$scratch/start.$i" 2>"$scratch/start.err.$i" </dev/null &
    starts[i]=$!
done
wait "${starts[1]}"
is $? 0 "two starts at once: the first"
wait "${starts[2]}"
is $? 0 "and the second"
one=$(cat "$scratch/start.1")
two=$(cat "$scratch/start.2")
isnt_same() { [ -n "$one" ] && [ -n "$two" ] && [ "$one" != "$two" ]; }
ok "they are two instances" isnt_same
verb run --instance "$two" --per-node 1 sh -c 'echo "$BANYAN_NODE"'
is "$status $(sort <<<"$out" | tr '\n' ' ')" "0 v1 v2 " "each with its nodes"
verb status
fails "which one is meant" '2 instances run; choose one with --instance DIR: '
verb stop --instance "$one"
is "$status" 0 "one is stopped"
verb stop
is "$status" 0 "then the other is the only one"

# After a reboot: the directory is there, and no process.
user=$TMPDIR/banyan-$(id -u)
stale=$user/0123456789abcdef.0
mkdir -p -m 700 "$user" "$stale"
printf 'version 0.0 (control 1)\n' >"$stale/about"
python3 -c '
import socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.bind(sys.argv[1])' "$stale/control"
verb ps
fails "ps after a reboot" "no instance of yours runs on this machine; the root of that at $stale has died: 'banyan clean'"
verb run --instance "$stale" true
fails "run there" "no instance runs at $stale: its root has died; 'banyan clean' removes what it left"
BANYAN_INSTANCE=$stale verb run true
fails "likewise by the variable" "BANYAN_INSTANCE: no instance runs at $stale: its root has died"
verb run -v -n 1 echo alone
is "$status $out" "0 alone" "a run that names none does not need it"
like "$err" "not in the instance $stale: its root has died" "and says so with -v"
next=$("$banyan" start --daemonize --virtual-nodes 1)
verb status
is "$status" 0 "nor does another instance"
verb stop
ok "which has ended" test ! -e "$next"
ok "what the dead one left is left for banyan clean" test -e "$stale/control" # run_clean.sh
rm -r "$stale"

# A root that is killed takes its daemons along, and its directory is removed by its helper.
dir=$("$banyan" start --daemonize --virtual-nodes 2)
root=$("$banyan" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["root"])')
"$banyan" run --instance "$dir" -n 1 sh -c 'echo up; exec sleep 1000' >"$scratch/job" 2>"$scratch/job.err" </dev/null &
client=$!
until_true 30 test -s "$scratch/job"
kill -9 "$root"
wait "$client"
is "$? $(wc -l <"$scratch/job.err")" "125 1" "the root is killed: its client has one line"
like "$(cat "$scratch/job.err")" 'the root of the instance went away; the job ends with it' "which says so"
verb run --instance "$dir" true
fails "no run afterwards" "no instance (runs )?at $dir: "
nothing_left_within 60 "$(basename "$dir" .0)" "nothing is left"

# A TMPDIR that is full, in a name space of mounts.
if unshare -m sh -c 'mount -t tmpfs -o size=64k none /mnt' 2>/dev/null; then
    run unshare -m sh -c 'mount -t tmpfs -o size=64k none /mnt && TMPDIR=/mnt exec "$@"' - "$banyan" start --daemonize \
        --virtual-nodes 1 </dev/null
    fails "a TMPDIR that is full" 'not enough space in /mnt: [0-9]+ KiB free, 1024 needed'
else
    skip "tmpfs cannot be mounted here"
fi
done_testing
