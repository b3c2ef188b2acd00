#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan bench --collective`: plans of exchanges from shared objects, those of contrib/collectives and wrong ones,
# simulated and carried out by the daemons of an instance.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

cc=${CC:-cc}
command -v "${cc%% *}" >/dev/null || skip_all "no C compiler"
make_plan() { # NAME FILE OPTION...
    local name=$1 file=$2
    shift 2
    $cc -Wall -Wextra -Werror -O1 -shared -fPIC -I"$srcdir/fabric" "$@" -o "$scratch/$name.so" "$file"
}
for name in bruck ring recursive_doubling two_trees; do
    ok "$name is built" make_plan "$name" "$srcdir/contrib/collectives/$name.c"
done
all=()
for name in bruck ring two_trees; do all+=(--collective "$scratch/$name.so"); done

run "$banyan" bench --simulate 1,2,3,5,6,7,8,12,13,31..124,64 --size 8 "${all[@]}" --csv
is "$status-$err" "0-" "right for any number of places"
is "$(grep -cE '^(banyan|bruck|ring|two_trees),' <<<"$out")" 52 "a row for each, and for banyan's own"
run "$banyan" bench --simulate 2..256 --size 8 --collective "$scratch/recursive_doubling.so" --csv
is "$status-$err" "0-" "powers of two"
refuses 125 "recursive_doubling has no plan for 6 places: Invalid argument" "and no others" \
    bench --simulate 6 --collective "$scratch/recursive_doubling.so"

# With 64 places: 20 us a step of a message, which bruck has 6 of and a ring 63; the same bytes, but not the same largest.
run "$banyan" bench --simulate 64 --size 8 "${all[@]}" --plot "$scratch/plots"
is "$(sed '/^$/,$d' <<<"$out" | awk '/^(bruck|ring) / {print $1, $5}' | tr '\n' ' ')" "bruck 120.0 ring 1260.0 " "times"
is "$(sed -n '/^PLAN/,$p' <<<"$out" | awk '{print $1, $4, $5, $6, $7}' | sed -n '2,3p' | tr '\n' ',')" \
    "bruck 6 384 32256 504,ring 63 4032 32256 504," "steps, messages and bytes"
ok "the plans are drawn" grep -q "title 'two_trees'" "$scratch/plots/bench.gp"
run "$banyan" bench --simulate 64 --size 8 "${all[@]}" --json
echo "$out" >"$scratch/before.json"
run "$banyan" bench --simulate 64 --size 8 "${all[@]}" --compare "$scratch/before.json"
is "$status-$(grep -c ' same$' <<<"$out")" "0-4" "simulated again they take the same time"

# A plan whose place 3 forgets to receive in step 1, and what is no plan.
sed 's|    move.kind = BANYAN_COLLECTIVE_RECEIVE;|    if (place == 3 \&\& step == 1) return 1;\n&|' \
    "$srcdir/contrib/collectives/bruck.c" >"$scratch/wrong.c"
ok "a wrong plan is built" make_plan wrong "$scratch/wrong.c"
refuses 125 "bruck, step 1: place 5 sends 2 blocks from 5 on to place 3, which does not receive them" "and refused" \
    bench --simulate 8 --collective "$scratch/wrong.so"
echo 'int x;' >"$scratch/none.c"
ok "a shared object without a plan is built" make_plan none "$scratch/none.c"
refuses 125 "option --collective: .*none.so is not a collective of interface 1" "and refused" \
    bench --simulate 8 --collective "$scratch/none.so"
refuses 125 "option --collective: cannot open the collective: .*/gone.so" "no file" bench --simulate 8 --collective "$scratch/gone.so"
refuses 125 "option --simulate: there is no tree of 0 places" "no places" bench --simulate 0
refuses 125 "options --simulate and --operation cannot be used together: it simulates exchanges and needs no instance" "no other operations" \
    bench --simulate 8 --operation barrier

# In an instance: 8 places with the root.  The daemons see that all blocks have come, with their content.
all+=(--collective "$scratch/recursive_doubling.so")
run "$banyan" bench --virtual-nodes 7 --radix 2 -r 5 --warm-up 2 --size 0,5K "${all[@]}" --csv --plot "$scratch/live" </dev/null
is "$status" 0 "an instance carries them out"
is "$(cut -d , -f 1-4 <<<"$out" | tail -n +2 | tr '\n' ' ')" "exchange,7,0,5 exchange,7,5120,5 bruck,7,0,5 bruck,7,5120,5 \
ring,7,0,5 ring,7,5120,5 two_trees,7,0,5 two_trees,7,5120,5 recursive_doubling,7,0,5 recursive_doubling,7,5120,5 " \
    "beside banyan's own"
ok "they are drawn" grep -q "title 'two_trees'" "$scratch/live/bench.gp"
run "$banyan" bench --virtual-nodes 7 -r 3 --warm-up 0 --size 8 --node-counts 1,3..6 --operation barrier \
    --collective "$scratch/ring.so" --json </dev/null
is "$status-$err" "0-" "among the first nodes"
is "$(sed -n 's/^ *"\(operation\|nodes\)": "*\([a-z0-9]*\).*/\2/p' <<<"$out" | tr '\n' ' ')" \
    "7 barrier 1 barrier 3 barrier 6 ring 1 ring 3 ring 6 " "with the operations that are asked for"
cat >"$scratch/model.json" <<'END'
{"switches": [{"name": "top"}, {"name": "s1", "parent": "top"}, {"name": "s2", "parent": "top"}],
 "nics": [{"nodes": "v[1,3,5,7]", "switch": "s1"}, {"nodes": "v[2,4,6]", "switch": "s2"}]}
END
run "$banyan" bench --virtual-nodes 7 --fabric-topology "$scratch/model.json" --radix 2 -r 3 --size 1K "${all[@]:0:6}" --csv </dev/null
is "$status-$(grep -c ',1024,3,' <<<"$out")" "0-4" "in a tree that does not go by the allocation"

# What is wrong is refused before anything is sent.
export BANYAN_CONFIG=none
instance=$("$banyan" start --virtual-nodes 7 --daemonize 2>"$scratch/start.err" </dev/null)
like "$instance" '^/.*banyan-' "an instance is there"
refuses 125 "bruck, step 1: place 5 sends 2 blocks from 5 on to place 3, which does not receive them" \
    "a wrong plan is refused before the measurement" bench -r 3 --size 8 --collective "$scratch/wrong.so"
refuses 125 "recursive_doubling has no plan for 7 places" "as is one that there is not for the nodes" \
    bench -r 3 --size 8 --node-counts 6 "${all[@]}"
refuses 125 "cannot measure ring of 16777216 bytes: of all nodes that is too much" "and one of too much" \
    bench -r 1 --size 16M --operation barrier --collective "$scratch/ring.so" --json
refuses 125 "option --collective: .*none.so is not a collective" "and what is no plan" bench --collective "$scratch/none.so"

# A node is lost, and a client is killed, in the middle of it; the next one is measured.
"$banyan" bench -r 5000 --size 1M --collective "$scratch/ring.so" --operation barrier --csv \
    >"$scratch/killed.out" 2>"$scratch/killed.err" </dev/null &
bench=$!
under_way() { grep -qs '^barrier,' "$scratch/killed.out"; }
until_true 120 under_way && pass "one is under way" || fail "one is under way"
kill -9 "$bench"
wait "$bench" 2>/dev/null
rm "$scratch/killed.out"
run "$banyan" bench -r 2 --size 8 --collective "$scratch/ring.so" --csv </dev/null
is "$status-$err-$(grep -c '^ring,7,8,2,' <<<"$out")" "0--1" "after one whose client was killed"
"$banyan" bench -r 5000 --size 1M --collective "$scratch/ring.so" --operation barrier --csv \
    >"$scratch/killed.out" 2>"$scratch/killed.err" </dev/null &
bench=$!
until_true 120 under_way && pass "another one is under way" || fail "another one is under way"
"$banyan" node remove --force v7 >"$scratch/remove.out" 2>&1 </dev/null
wait "$bench"
is "$?" 125 "a node leaves"
like "$(cat "$scratch/killed.err")" '^banyan: cannot measure ring: (a node of the instance at /.* was lost meanwhile|the instance at /.* has got or lost nodes since.*)$' "one line"
run "$banyan" bench -r 2 --size 8 --collective "$scratch/ring.so" --csv </dev/null
is "$status-$err-$(grep -c '^ring,6,8,2,' <<<"$out")" "0--1" "the others go on"
"$banyan" stop >/dev/null 2>&1 </dev/null
nothing_left_within 60 none "nothing is left"
done_testing
