#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --port-range with ten runs at once, in a network of its own: if there is a port for each daemon all
# of them run; if there are too few, each runs or says which range is used up.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/net_lib.sh"

runs=10
first=20000

# A run has two listeners on this machine, its root and its daemon.  The program of run $1 comes up, and
# ends when all are released; so all hold their ports at the same time.
start_run() {
    local status=0
    timeout 300 "$banyan" run --tmpdir "$scratch" --host localhost --port-range "$2" \
        sh -c "touch $scratch/up.$1; until [ -e $scratch/release ]; do sleep 0.02; done" \
        >"$scratch/said.$1" 2>&1 </dev/null || status=$?
    echo $status >"$scratch/status.$1"
}

all_decided() {
    local i
    for ((i = 1; i <= runs; i++)); do
        [ -e "$scratch/up.$i" ] || [ -s "$scratch/status.$i" ] || return 1
    done
}

# at_once RANGE: sets $good, $refused and $other, how many of the runs ended how.
at_once() {
    local i
    rm -f "$scratch"/up.* "$scratch"/status.* "$scratch/release"
    for ((i = 1; i <= runs; i++)); do
        start_run "$i" "$1" &
    done
    until_true 100 all_decided
    touch "$scratch/release"
    wait
    good=0 refused=0 other=0
    for ((i = 1; i <= runs; i++)); do
        case "$(cat "$scratch/status.$i") $(cat "$scratch/said.$i")" in
        "0 ") good=$((good + 1)) ;;
        125\ banyan:\ *"no free port in $1"*)
            if [ "$(wc -l <"$scratch/said.$i")" -eq 1 ]; then
                refused=$((refused + 1))
                continue
            fi
            ;;&
        *)
            other=$((other + 1))
            diag "run $i: $(cat "$scratch/status.$i" "$scratch/said.$i")"
            ;;
        esac
    done
}

for round in 1 2 3; do
    at_once "$first-$((first + 2 * runs - 1))"
    is "$good $refused $other" "$runs 0 0" "a port for each daemon, round $round: all run"
done
for round in 1 2 3; do
    at_once "$first-$((first + runs))"
    is "$((good + refused)) $other" "$runs 0" "too few, round $round: each runs or says so"
    ok "and who can, does: $good of $runs" test $good -ge 1
done

done_testing
