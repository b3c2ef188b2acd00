#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What happens to a job when one of its ranks cannot be started, and when one fails: by its policy the others are ended,
# or go on (--on-failure).
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# A rank that says so when it has been ended in order, and otherwise goes on until the file is there.
export GO=$scratch/go
cat >"$scratch/worker" <<'SH'
#!/bin/bash
exec 2>/dev/null
trap 'echo "$BANYAN_RANK ended" >>"$GO.ended"; exit 0' TERM
echo "$BANYAN_RANK" >>"$GO.started"
until [ -e "$GO" ]; do sleep 0.05; done
echo "rank $BANYAN_RANK done"
SH
# Fails when the others have started.
cat >"$scratch/failing" <<'SH'
#!/bin/bash
until [ "$(wc -l <"$GO.started")" -ge 3 ]; do sleep 0.05; done 2>/dev/null
exit 9
SH
chmod +x "$scratch/worker" "$scratch/failing"

# policy POLICY PROGRAM: three ranks on nodes of their own, and one of the program on a fourth.
policy() {
    rm -f "$GO"
    run "$banyan" run --timeout 240 --virtual-nodes 4 --per-node 1 --kill-grace 30 --on-failure "$1" -x GO \
        -n 3 "$scratch/worker" : -n 1 "$2" </dev/null
}
all_done=$(printf 'rank %d done\n' 0 1 2)

# Those that had been started by then are ended; how many that are is not known.
rm -f "$GO".*
policy abort /no/such/program
is "$status:$out" 127: "launch, abort: the job ends, no rank goes on"
like "$err" '^banyan: cannot run /no/such/program on v4 \(rank 3\): No such file or directory$' "and the reason is one line"

rm -f "$GO".*
policy abort "$scratch/failing"
is "$status:$out" 9: "run, abort: the job ends with the status of the rank that failed"
is "$(sort "$GO.ended" 2>/dev/null)" "$(printf '%d ended\n' 0 1 2)" "all others were ended by SIGTERM"
is "$err" "banyan: rank 3 on v4 exited with status 9" "and the reason is one line"

# With this policy they go on: the file comes when all have started.
all_started() { [ "$(cat "$GO.started" 2>/dev/null | wc -l)" -ge 3 ]; }
goes_on() {
    rm -f "$GO".*
    (
        until_true 240 all_started
        touch "$GO"
    ) &
    policy continue "$1"
    wait
}
goes_on /no/such/program
is "$status:$(sort <<<"$out")" "127:$all_done" "launch, continue: all others go on to their end"
like "$err" 'cannot run /no/such/program on v4 \(rank 3\): No such file or directory' "what could not be started is reported"
[ ! -e "$GO.ended" ]
is $? 0 "and none of them was ended"

goes_on "$scratch/failing"
is "$status:$(sort <<<"$out")" "9:$all_done" "run, continue: all others go on to their end"
like "$err" 'rank 3 on v4 exited with status 9; the job goes on' "which is said at once"
[ ! -e "$GO.ended" ]
is $? 0 "and none of them was ended"

nothing_left_within 30 none "nothing is left"
done_testing
