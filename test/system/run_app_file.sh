#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs of one job from a file, one per line, each with its own options.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

cat >"$scratch/apps" <<'END'
# a leader, and two that follow
-n 1 -x ROLE=lead sh -c 'echo "$BANYAN_RANK/$BANYAN_SIZE $ROLE $COMMON"'

-n 2 --umask 077 sh -c 'echo "$BANYAN_RANK/$BANYAN_SIZE $ROLE $COMMON $(umask)"'
END
run "$banyan" run --timeout 240 --virtual-nodes 2 --oversubscribe --mpi none -x COMMON=all --umask 022 -x ROLE=none \
    --app-file "$scratch/apps" </dev/null
[ $status -eq 0 ] || diag "$err"
is "$(sort <<<"$out")" "$(printf '%s\n' '0/3 lead all' '1/3 none all 0077' '2/3 none all 0077')" \
    "each line is an application, with the options of the command line and its own"
run "$banyan" map --virtual-nodes 3 --slots 1 --app-file "$scratch/apps" </dev/null
is "$status $(grep -c v3 <<<"$out")" "0 1" "banyan map reads it, too"
printf -- '-n 1 true\n-n 1 sh -c "exit 7"\n' >"$scratch/fails"
refuses 7 "rank 1 on .* exited with status 7" "the job has one end" \
    run --timeout 240 --virtual-nodes 1 --mpi none --app-file "$scratch/fails"
refuses 125 "option --app-file: cannot read $scratch/none: No such file" "a file that is not there" \
    run --app-file "$scratch/none"
printf 'true\n\n--host n1 true\n' >"$scratch/bad"
refuses 125 "$scratch/bad:3: option --host is for the whole job: give it on the command line" \
    "an option of the job in a line" run --app-file "$scratch/bad"
printf "true 'x\n" >"$scratch/bad"
refuses 125 "option --app-file: $scratch/bad:1: a quote or backslash has nothing after it" "an open quote" \
    run --app-file "$scratch/bad"
refuses 125 "option --app-file: the programs are in $scratch/apps: remove 'true'" "a program beside it" \
    run --app-file "$scratch/apps" true
nothing_left_within 60 none "nothing is left"
done_testing
