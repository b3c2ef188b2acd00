#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan run --detach`: a job that its user leaves in an instance and comes back to by attach and wait, while it runs
# and after its end.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset BANYAN_INSTANCE

verb() { run "$banyan" "$@" </dev/null; }
state() { "$banyan" ps | awk -v job="$1" '$1 == job { print $2 }'; }
has_state() { [ "$(state "$1")" = "$2" ]; }

verb run --detach true
is "$status $(wc -l <<<"$err")" "125 1" "no instance: status and one line"
like "$err" "option --detach: there is no instance" "which says so"
dir=$("$banyan" start --daemonize --virtual-nodes 2 --slots 2)
for option in "--timeout 5" --label "--json $scratch/json" "--stdin 0" "--output $scratch/out.%r" "--error $scratch/err.%r" \
    "--output-from 0" --merge --fold --timestamp; do
    # shellcheck disable=SC2086 # words
    verb run --detach $option true
    is "$status $out" "125 " "$option is refused"
    like "$err" "option ${option%% *} cannot be used with --detach" "in words"
done

# The terminal is gone: the job is not, and reads nothing.
verb run --detach --on-failure continue -n 2 sh -c "cat; echo before \$BANYAN_RANK; until [ -e '$scratch/go' ]; do sleep 0.05; done
    echo after \$BANYAN_RANK; exit 3"
is "$status $out" "0 1" "the number of a job that runs"
is "$(state 1)" running "it goes on without its client"
"$banyan" attach 1 >"$scratch/attached" 2>"$scratch/attached.err" </dev/null &
attached=$!
has_both() { [ "$(grep -c before "$scratch/attached")" = 2 ]; }
until_true 30 has_both
ok "who attaches reads what it has written" has_both
touch "$scratch/go"
wait "$attached"
is $? 3 "then its exit status"
is "$(sort "$scratch/attached" | tr '\n' ' ')" "after 0 after 1 before 0 before 1 " "and what it has written meanwhile"
verb attach 1
is "$status $(wc -l <<<"$out")" "3 4" "it can be read once more after its end"
verb wait 1
is "$status$out" 3 "and so can its exit status"

# A job that waits for slots.
verb run --detach -n 3 sh -c "until [ -e '$scratch/end' ]; do sleep 0.05; done"
is "$status $out" "0 2" "a job that has most of the slots"
verb run --detach -n 2 echo late
is "$status $out" "0 3" "the number of one that waits"
like "$err" '^banyan: job 3 waits for 2 slots' "and that it does"
is "$(state 3)" waiting "it waits without its client"
verb run --detach --no-wait -n 2 true
is "$status$out" 125 "unless it may not"
touch "$scratch/end"
verb wait 2 3
is "$status" 0 "both end"
verb attach 3
is "$status$out" "0late
late" "and what the second wrote is kept"

# Ends before all of it runs.
verb run --detach nosuchprogram
is "$status$out" 127 "a program that there is not"
like "$err" 'cannot run nosuchprogram' "is named at once"
verb run --detach sh -c 'exit 7'
is "$status" 0 "one that fails at once has run"
verb wait "$out"
is "$status" 7 "its status is kept"

# More than is kept.
verb run --detach -n 1 sh -c 'i=0; while [ $i -lt 40000 ]; do echo "line $i xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"; i=$((i + 1)); done'
number=$out
verb wait "$number"
is "$status" 0 "a job that writes more than is kept"
"$banyan" attach "$number" >"$scratch/long" 2>"$scratch/long.err" </dev/null
like "$(cat "$scratch/long.err")" "^banyan: the first [0-9]+ bytes that job $number wrote are not kept" "is said to have"
ok "no more than a MiB is kept" test "$(stat -c %s "$scratch/long")" -le 1048576
is "$(tail -n 1 "$scratch/long" | cut -d ' ' -f 1-2)" "line 39999" "which is the last of it"

verb stop
is "$status" 0 "the instance is stopped"
nothing_left_within 60 "$(basename "$dir" .0)" "nothing is left"
done_testing
