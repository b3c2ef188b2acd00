#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that exit at once, in any number: every run ends, with all output and without leftovers.
# RUNS=200 is the figure of the issue.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

runs=${RUNS:-10}

# many NAME RANKS EXPECTED_LINES COMMAND...: $runs times on one node.
many() {
    local name=$1 ranks=$2 lines=$3 good=0 i
    shift 3
    new_mark
    for ((i = 0; i < runs; i++)); do
        run timeout 300 "$banyan" run -n "$ranks" --oversubscribe -x BT_MARK="$mark" "$@" </dev/null
        if [ $status -eq 0 ] && [ "$(grep -c . <<<"$out")" -eq "$lines" ]; then
            good=$((good + 1))
        else
            diag "run $i: status $status, $(grep -c . <<<"$out") lines: $err"
        fi
    done
    is "$good of $runs" "$runs of $runs" "$name: $runs runs of $ranks ranks end well"
    nothing_left "$name: nothing is left"
}

many "true" 256 0 true
many "a line each" 256 256 sh -c 'echo "$BANYAN_RANK"'
many "a few" 2 2 echo here

# Each rank's lines in order and complete, though all write at once.
new_mark
run timeout 300 "$banyan" run -n 64 --oversubscribe --label -x BT_MARK="$mark" \
    sh -c 'i=0; while [ $i -lt 200 ]; do echo "line $i of $BANYAN_RANK"; i=$((i+1)); done' </dev/null
wrong=$(awk '{ rank = substr($1, 2) + 0; if ($3 != next_line[rank] || $5 != rank) bad++; next_line[rank] = $3 + 1 }
    END { for (r = 0; r < 64; r++) if (next_line[r] != 200) bad++; print bad + 0 }' <<<"$out")
is "$status $wrong" "0 0" "64 ranks x 200 lines: complete, whole and in order"
nothing_left "64 ranks x 200 lines: nothing is left"

# More than are started in the time that a daemon may say nothing: its loop goes on meanwhile.
many_runs=$runs
runs=$((runs / 10))
thousands=5000
[ -z "${BANYAN_SANITIZERS:-}" ] || thousands=1000
many "thousands" "$thousands" 0 true
runs=$many_runs

# With few descriptors a run goes well or says so; it never hangs. A rank takes two or three while it
# runs.
new_mark
run bash -c 'ulimit -n 1024; exec timeout 300 "$@"' - "$banyan" run -n 256 --oversubscribe \
    -x BT_MARK="$mark" true </dev/null
is "$status:$err" "0:" "256 ranks within 1024 descriptors"
for mpi in pmix,pmi1 none; do
    run bash -c 'ulimit -n 256; exec timeout 300 "$@"' - "$banyan" run -n 200 --oversubscribe \
        --mpi "$mpi" -x BT_MARK="$mark" true </dev/null
    is "$status:$err" "0:" "200 ranks that end at once within 256 descriptors ($mpi)"
    run bash -c 'ulimit -n 256; exec timeout 300 "$@"' - "$banyan" run -n 200 --oversubscribe \
        --mpi "$mpi" -x BT_MARK="$mark" sleep 100 </dev/null
    is "$status:$(grep -c . <<<"$err")" 125:1 "200 that go on are refused"
    like "$err" "^banyan: cannot start sleep on .*Too many open files; .*raise ulimit -n" "with the reason"
done
nothing_left "few descriptors: nothing is left"
wrong=
for limit in 5 6 7 8 10 12 14 16 20 24 28 32 36 39; do
    run bash -c "ulimit -n $limit; exec timeout 300 \"\$@\"" - "${banyan[@]}" run -n 1 true </dev/null
    [ "$status $err" = "125 banyan: too few descriptors: ulimit -n is $limit, at least 40 are needed" ] ||
        wrong="$wrong $limit: $status $err"
done
is "$wrong" "" "too few for anything: one line"
run bash -c 'ulimit -n 40; exec timeout 300 "$@"' - "${banyan[@]}" run -n 1 true </dev/null
is "$status $err" "0 " "that line is right"

# The system allows no more processes.
mkdir "$scratch/free" && chmod 711 "$scratch" && chmod 777 "$scratch/free"
as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups env "TMPDIR=$scratch/free")
if [ "$(id -u)" != 0 ] || ! "${as_nobody[@]}" "$banyan" version >/dev/null 2>&1; then
    skip "only root can become somebody with few processes"
else
    run "${as_nobody[@]}" bash -c 'ulimit -u 100; exec timeout 300 "$@"' - "$banyan" run -n 200 \
        --oversubscribe -x BT_MARK="$mark" sleep 100 </dev/null
    is "$status:$(grep -c . <<<"$err")" 125:1 "no more processes than the system allows"
    like "$err" "^banyan: cannot start sleep on .*fork: Resource temporarily unavailable; .*ulimit -u" \
        "with the reason"
    nothing_left "no more processes: nothing is left"
fi
done_testing
