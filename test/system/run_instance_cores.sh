#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Bound jobs that share an instance: each process has cores to which no other job's are bound, as the
# kernel shows them; what does not fit is refused in one line, or starts unbound with --oversubscribe.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
cores=$(lscpu -p=CORE | grep -vc '^#')
[ "$cores" -ge 2 ] && [ "$(nproc)" = "$cores" ] || skip_all "needs two cores that may all be used"
[ "$(lscpu -p=CORE | grep -v '^#' | sort -u | wc -l)" = "$cores" ] ||
    skip_all "needs cores of one thread"

"$banyan" start --virtual-nodes 1 --slots "$cores" >"$scratch/dir" 2>/dev/null &
starter=$!
until_true 20 test -s "$scratch/dir"
dir=$(cat "$scratch/dir")

# hold NAME OPTION...: a job that writes what it is bound to and runs until NAME.go is there.
hold() {
    local name=$1
    shift
    "$banyan" run --instance "$dir" "$@" sh -c "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status >>'$scratch/$name'
        until [ -e '$scratch/$name.go' ]; do sleep 0.1; done" 2>"$scratch/$name.err" &
    eval "$name=\$!"
}

hold first --map-by core -n 1
until_true 20 test -s "$scratch/first"
hold second --map-by core -n 1
until_true 20 test -s "$scratch/second"
ok "two bound jobs are bound to one core each" \
    test "$(cat "$scratch/first" "$scratch/second" | grep -c '^[0-9]*$')" = 2
ok "and not to the same one" test "$(cat "$scratch/first")" != "$(cat "$scratch/second")"

"$banyan" run --instance "$dir" --no-wait --map-by core -n "$((cores - 1))" true 2>"$scratch/refused"
is $? 125 "a bound job that needs a core of theirs is refused"
like "$(cat "$scratch/refused")" "are bound to 2 of the $cores cores there" "which says why"

"$banyan" run --instance "$dir" --map-by core --oversubscribe -n "$cores" \
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status >"$scratch/over" 2>&1
is $? 0 "with --oversubscribe it starts"
is "$(sort -u "$scratch/over")" "$allowed" "and is bound to nothing"

touch "$scratch/first.go"
wait "$first"
hold third --map-by core -n 1
until_true 20 test -s "$scratch/third"
is "$(cat "$scratch/third")" "$(cat "$scratch/first")" "the core of a job that has ended is free again"
touch "$scratch/second.go" "$scratch/third.go"
wait "$second" && wait "$third"
is $? 0 "all end well"
kill "$starter"
wait "$starter" 2>/dev/null
done_testing
