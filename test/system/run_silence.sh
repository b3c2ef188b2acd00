#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The two silences: a machine that does not answer is lost within seconds and called so; a daemon that
# is stopped, the root, or everyone, is waited for, and a line says who was silent.  All at once, as
# that takes most of a minute.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
stalls_matter=yes
. "$srcdir/test/support/net_lib.sh"
. "$srcdir/test/support/leftovers.sh"

STOPPED_S=45
ALL_STOPPED_S=30

# titled PID TITLE: it and those of its descendants with that title, in order of age.
titled() {
    local pid
    for pid in "$1" $(descendants "$1"); do
        [ "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | sed 's/ *$//')" = "$2" ] && echo "$pid"
    done
}

declare -A run_of
# begin NAME RUN-ARGUMENT...: a job of which each rank says that it is up and lives on for a while.
begin() {
    local name=$1
    shift
    "$@" sh -c 'echo up; sleep 50; echo over' >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null &
    run_of[$name]=$!
    until_true 30 is_up "$name" || diag "$name is not up: $(cat "$scratch/$name.err")"
}
is_up() {
    [ "$(grep -c up "$scratch/$1.out")" = 3 ]
}
finish() {
    wait "${run_of[$1]}"
    is "$? $(grep -c over "$scratch/$1.out")" "0 3" "$2"
}

bridge good
number=0
for name in front n1 n2 n3; do
    node $name
    wire $name eth0 good 10.1.0.$((number + 1))/24
    number=$((number + 1))
done

virtual="$banyan run --tmpdir $TMPDIR --virtual-nodes 3 -n 3"
begin vanished at front "$banyan" run --ssh-agent "$agent" --tmpdir "$TMPDIR" --host 'n[1-3]' -n 3
begin daemon $virtual
begin root $virtual
begin all $virtual

stopped_daemon=$(titled "${run_of[daemon]}" banyand | head -1)
stopped_root=$(titled "${run_of[root]}" banyan-root)
stopped_all="${run_of[all]} $(descendants "${run_of[all]}")"
ok "processes are found" test -n "$stopped_daemon" -a -n "$stopped_root" -a -n "$stopped_all"

# The third wire is that of n2.
ip link set w3 down
gone_s=$SECONDS
kill -STOP $stopped_daemon $stopped_root $stopped_all

wait "${run_of[vanished]}"
is $? 125 "a node whose cable is pulled ends the job"
took_s=$((SECONDS - gone_s))
ok "within some seconds ($took_s)" test $took_s -le 40
like "$(cat "$scratch/vanished.err")" 'lost node n2: its machine does not respond' "and it is said why"

sleep $((gone_s + ALL_STOPPED_S - SECONDS))
kill -CONT $stopped_all
sleep $((gone_s + STOPPED_S - SECONDS))
kill -CONT $stopped_daemon $stopped_root

finish all "a job that was stopped as a whole goes on"
like "$(cat "$scratch/all.err")" '^banyan: .*root was itself stopped.* for (29|[3-9][0-9]|[1-9][0-9]{2})\.[0-9] s' \
    "and one line says so"
is "$(wc -l <"$scratch/all.err")" 1 "one"
finish root "a job whose root was stopped goes on"
like "$(cat "$scratch/root.err")" '^banyan: .*root was itself stopped.* for (4[4-9]|[5-9][0-9]|[1-9][0-9]{2})\.[0-9] s' \
    "and one line says so"
is "$(wc -l <"$scratch/root.err")" 1 "one"
finish daemon "a job of which a daemon was stopped goes on"
like "$(cat "$scratch/daemon.err")" '^banyan: v[1-3] has not responded for 1[0-9] s \(stopped\)' \
    "and a line names it and its state"
is "$(grep -c 'is responding again' "$scratch/daemon.err")" 1 "and another says when it is back"

done_testing
