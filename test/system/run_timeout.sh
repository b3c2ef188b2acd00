#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# When the time of a job is over (--timeout) the user reads what its ranks were doing: in which state, in what they wait,
# how far they are with PMI; equal ranks in one line; and which nodes did not answer.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
. "$srcdir/test/support/timeout_lib.sh"

here='touch "$MARKS/$BANYAN_RANK"'

timeout_options=(--per-node 1)

expected=('banyan: ranks 0-3 on v\[1-4\]: sleeping \(S\)( in [^ ,]+)?, not using PMI')
times_out "equal ranks are one line" 4 --virtual-nodes 4 sh -c "$here; exec sleep 1000"
is "$(tail -n 1 <<<"$err")" "banyan: timed out after $(sed -n 's/.*timed out after \([0-9]*\) s$/\1/p' <<<"$err") s" \
    "then comes the reason, without more"
is "$(grep -c . <<<"$err")" 2 "and nothing else"

expected=('banyan: rank 0 on v1: sleeping \(S\)' 'banyan: rank 1 on v2: stopped \(T\)'
    'banyan: rank 2 on v3: (running \(R\)|sleeping \(S\)), not' 'banyan: rank 3 on v4: ended, or not started yet')
times_out "others" 4 --virtual-nodes 4 sh -c "$here"'
    case $BANYAN_RANK in
    1) kill -STOP $$ ;;
    2) while :; do :; done ;;
    3) exit 0 ;;
    esac
    exec sleep 1000'

# Rank 1 comes to no barrier, which the others wait in.
cat >"$scratch/pmi1" <<'SH'
#!/bin/bash
say() {
    printf '%s\n' "$1" >&"$PMI_FD"
    read -r answer <&"$PMI_FD"
}
say 'cmd=init pmi_version=1 pmi_subversion=1'
if [ "$BANYAN_RANK" = 3 ]; then
    say 'cmd=finalize'
    touch "$MARKS/$BANYAN_RANK"
    exec sleep 1000
fi
touch "$MARKS/$BANYAN_RANK"
[ "$BANYAN_RANK" != 1 ] || exec sleep 1000
say 'cmd=barrier_in'
SH
chmod +x "$scratch/pmi1"
expected=('banyan: ranks 0,2 on v\[1,3\]: .*, waiting in a fence or barrier'
    'banyan: rank 1 on v2: .*, connected by PMI' 'banyan: rank 3 on v4: .*, has finalized PMI')
times_out "PMI" 4 --virtual-nodes 4 --mpi pmi1 "$scratch/pmi1"

# A daemon that is stopped does not answer; it goes on when the report of the others is there.
cat >"$scratch/stopper" <<'SH'
#!/bin/bash
if [ "$BANYAN_RANK" = 2 ]; then
    daemon=$(awk '/^PPid:/ { print $2 }' /proc/$PPID/status)
    kill -STOP "$daemon"
    touch "$MARKS/2"
    until grep -q 'no answer' "$MARKS/../said" 2>/dev/null; do sleep 0.05; done
    kill -CONT "$daemon"
else
    touch "$MARKS/$BANYAN_RANK"
fi
exec sleep 1000
SH
chmod +x "$scratch/stopper"
until_stopped() {
    local seconds
    for seconds in 4 30 120; do
        rm -f "$MARKS"/*
        timeout 300 "$banyan" run --timeout $seconds --per-node 1 --virtual-nodes 4 --patience 600 -x MARKS \
            "$scratch/stopper" </dev/null >"$scratch/out" 2>"$scratch/said"
        status=$?
        err=$(cat "$scratch/said")
        if [ "$(find "$MARKS" -type f | wc -l)" -ge 4 ] && all_said; then break; fi
    done
}
expected=('banyan: no answer within 2.5 s from v3' 'banyan: ranks 0-1,3 on v\[1-2,4\]: sleeping')
until_stopped
is $status 124 "a node that does not answer: the time is over for it, too"
like "$err" "${expected[0]}" "it is named"
like "$err" "${expected[1]}" "the others are reported"

expected=('banyan: ranks 0-23 on v\[1-24\]: sleeping')
times_out "many nodes" 24 --virtual-nodes 24 sh -c "$here; exec sleep 1000"
is "$(grep -c . <<<"$err")" 2 "as many lines as states, not nodes"

nothing_left_within 30 none "nothing is left"
done_testing
