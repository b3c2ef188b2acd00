#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Processes publish names, then the daemons of two nodes are killed at once that are not neighbours in the ring of the
# name service: all that was published is found, and who has waited gets what comes later.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

program=$top_builddir/test/tool/pmix_names
[ -x "$program" ] || skip_all "pmix_names is not built"

# Rank N is on node N + 1. In a ring of seven the nodes stand in the order 1, 5, 2, 6, 3, 7, 4: 2 and 3 are not neighbours.
# published: all ranks have published their keys.
published() {
    [ "$(grep -c 'SUCCESS$' "$scratch/loss.out")" -eq 7 ]
}

calls=()
for rank in 0 1 2 3 4 5 6; do
    calls+=("r$rank:pub:a$rank,b$rank,c$rank,d$rank,e$rank,f$rank,g$rank,h$rank:v$rank:forever")
    [ "$rank" = 1 ] || [ "$rank" = 2 ] ||
        lookups+=("r$rank:look:a0,a1,a2,a3,a4,a5,a6,b0,b1,b2,b3,b4,b5,b6" "r$rank:look:c0,c1,c2,c3,c4,c5,c6,d0,d1,d2,d3,d4,d5,d6"
            "r$rank:look:e0,e1,e2,e3,e4,e5,e6,f0,f1,f2,f3,f4,f5,f6" "r$rank:look:g0,g1,g2,g3,g4,g5,g6,h0,h1,h2,h3,h4,h5,h6")
done
new_mark
"$banyan" run --timeout 240 --mpi pmix --on-failure continue --virtual-nodes 7 --per-node 1 -x BT_MARK="$mark" \
    "$program" "${calls[@]}" r4:look:late:wait "await:$scratch/go" "${lookups[@]}" r6:sleep:300 r6:pub:late:x \
    >"$scratch/loss.out" 2>"$scratch/loss.err" </dev/null &
front=$!
until_true 30 published || diag "$(cat "$scratch/loss.out" "$scratch/loss.err")"
for rank in 1 2; do
    find_daemon "$rank" && victims+=("$daemon")
done
kill -9 "${victims[@]}"
until_true 30 grep -Eq 'without rank(s 1-2| 2)' "$scratch/loss.err"
touch "$scratch/go"
wait "$front"
is "$(grep -c 'look:[a-h].* SUCCESS' "$scratch/loss.out"):$(grep -o '=v[0-6]@[0-6]' "$scratch/loss.out" | wc -l)" \
    "20:280" "two of seven daemons are killed at once, and the others find every name"
like "$(cat "$scratch/loss.out")" 'look:late:wait SUCCESS late=x@6' "who has waited since before gets what comes after"

done_testing
