#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan start` and the jobs of `banyan run --instance`: several at once, each with its own streams, end
# and status; what one does touches no other.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# start_instance OPTION...: sets starter (its pid) and dir.
start_instance() {
    : >"$scratch/dir"
    "$banyan" start "$@" >"$scratch/dir" 2>"$scratch/start.err" &
    starter=$!
    until_true 20 test -s "$scratch/dir"
    dir=$(cat "$scratch/dir")
}
in_instance() {
    "$banyan" run --instance "$dir" "$@"
}
one_line_in() {
    [ "$(wc -l <"$1")" = 1 ]
}

start_instance --virtual-nodes 8 --slots 2
ok "an instance is ready and says where" test -S "$dir/control"
is "$(stat -c %a "$dir")" 700 "its directory is its user's only"

out=$(in_instance -n 3 sh -c 'echo "$BANYAN_NODE"' | sort | tr '\n' ' ')
is "$out" "v1 v1 v2 " "a job runs on its nodes"
is "$(echo hello | in_instance -n 1 cat)" hello "input comes through"
like "$(in_instance -v -n 1 true 2>&1 </dev/null)" 'job ended$' "-v: the end of the job is the last phase: the daemons stay"

# A client whose first message is refused, and whose next cannot be one, in the same packet.
python3 - "$dir/control" <<'P'
import contextlib, socket, struct, sys
for _ in range(20):
    with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(ConnectionError):
        client.connect(sys.argv[1])
        client.sendall(struct.pack("<IBIB", 0, 1, 0xffffffff, 0))
        while client.recv(4096):
            pass
P
is "$(in_instance -n 1 echo here)" here "clients that break the protocol twice at once do no harm"

# Eight at once, each with a status of its own.
pids=
for i in 1 2 3 4 5 6 7 8; do
    "$banyan" run --instance "$dir" -n 1 sh -c "echo out of $i; sleep 0.2; exit $i" >"$scratch/out.$i" 2>/dev/null &
    pids="$pids $!"
done
statuses=
for p in $pids; do
    wait "$p"
    statuses="$statuses $?"
done
is "$statuses" " 1 2 3 4 5 6 7 8" "eight jobs at once: each client gets its job's status"
is "$(cat "$scratch"/out.[1-8] | tr '\n' ' ')" \
    "out of 1 out of 2 out of 3 out of 4 out of 5 out of 6 out of 7 out of 8 " "and its output"

# A client that is killed ends its job and no other.
"$banyan" run --instance "$dir" -n 2 sh -c "echo \$\$ >>'$scratch/killed'; exec sleep 1000" &
victim=$!
"$banyan" run --instance "$dir" -n 1 sh -c "until [ -e '$scratch/go' ]; do sleep 0.1; done; exit 7" &
survivor=$!
until_true 10 sh -c "[ \"\$(wc -l <'$scratch/killed' 2>/dev/null)\" = 2 ]"
kill -9 "$victim"
wait "$victim" 2>/dev/null
gone() {
    for process in $(cat "$scratch/killed"); do
        kill -0 "$process" 2>/dev/null && return 1
    done
    return 0
}
until_true 10 gone
ok "kill -9 of a client ends its job" gone
touch "$scratch/go"
wait "$survivor"
is $? 7 "and not the job beside it"

# One whose reader stands still holds nobody up, whatever it writes.
mkfifo "$scratch/pipe"
"$banyan" run --instance "$dir" -n 2 sh -c 'while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done' \
    >"$scratch/pipe" 2>/dev/null &
flood=$!
exec 7<"$scratch/pipe"
for i in 1 2 3 4 5; do
    is "$(in_instance -n 1 echo "answer $i")" "answer $i" "a job beside one that floods answers ($i)"
done
kill -TERM "$flood"
wait "$flood"
is $? 143 "the one that floods is ended by its user"
exec 7<&-

# What does not fit and may not wait is refused in one line, and takes nothing from others.
"$banyan" run --instance "$dir" -n 15 sh -c "echo >>'$scratch/large'; exec sleep 1000" 2>/dev/null &
large=$!
until_true 10 sh -c "[ \"\$(wc -l <'$scratch/large' 2>/dev/null)\" = 15 ]"
in_instance --no-wait -n 2 true 2>"$scratch/full"
is $? 125 "a job that does not fit: status"
ok "a job that does not fit is refused in one line" one_line_in "$scratch/full"
like "$(cat "$scratch/full")" "other jobs of this instance have 15 of its 16 slots" "which says why"
in_instance -n 1 true
is $? 0 "one that fits beside it is not"
kill -TERM "$large"
wait "$large"

# Wrong words, each in one line.
"$banyan" run --instance "$dir" --virtual-nodes 2 true 2>"$scratch/err"
is $? 125 "nodes are given to the start: status"
ok "and one line" one_line_in "$scratch/err"
"$banyan" run --instance "$scratch/none" true 2>"$scratch/err"
is $? 125 "no such instance: status"
like "$(cat "$scratch/err")" "no instance at $scratch/none" "no such instance: message"
mkdir -m 755 "$scratch/foreign"
"$banyan" run --instance "$scratch/foreign" true 2>"$scratch/err"
is $? 125 "a directory that others can enter: status"
like "$(cat "$scratch/err")" "not the session directory" "and message"

# SIGTERM ends all jobs and the instance.
"$banyan" run --instance "$dir" -n 1 sh -c "touch '$scratch/last'; exec sleep 1000" 2>"$scratch/err" &
last=$!
until_true 10 test -e "$scratch/last"
kill -TERM "$starter"
wait "$starter"
is $? 0 "SIGTERM ends the instance in order"
wait "$last"
is $? 143 "and its jobs"
like "$(cat "$scratch/err")" "the instance was ended" "who are told why"
"$banyan" run --instance "$dir" true 2>"$scratch/err"
is $? 125 "an instance that has ended: status"
ok "an instance that has ended: one line" one_line_in "$scratch/err"

# --daemonize: the instance is on its own.
dir=$("$banyan" start --virtual-nodes 2 --daemonize --verbose 2>"$scratch/err")
is $? 0 "an instance in the background"
is "$(in_instance -n 2 sh -c 'echo "$BANYAN_RANK"' | sort | tr '\n' ' ')" "0 1 " "runs jobs"
root=$(sed -n 's/.*the root is process //p' "$scratch/err")
kill -TERM "$root"
# Whoever adopted it need not have reaped it.
ended() {
    ! grep -qs '^State:.[^Z]' "/proc/$root/status" && [ ! -e "$dir" ]
}
until_true 15 ended
ok "SIGTERM to its root ends it" ended

# Who reads all that it writes gets the end of it, as ssh does.
dir=$(timeout 60 bash -c '"$0" start --virtual-nodes 2 --daemonize 2>&1' "$banyan")
is "$?-$(in_instance -n 1 echo there)" "0-there" "nobody waits for the end of one in the background"
"$banyan" stop --instance "$dir"

# A start that fails says so in one line.
"$banyan" start --host nosuchhost.invalid --start-timeout 5 >"$scratch/dir" 2>"$scratch/err"
is $? 125 "a start that fails: status"
ok "and nothing on standard output" test ! -s "$scratch/dir"
like "$(cat "$scratch/err")" "cannot start the daemon on nosuchhost.invalid" "and message"
done_testing
