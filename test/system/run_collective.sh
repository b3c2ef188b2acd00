#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan bench --simulate`: plans of exchanges from shared objects, those of contrib/collectives and wrong ones.
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
refuses 125 "option --collective: needs --simulate" "not in an instance" bench --collective "$scratch/ring.so"
refuses 125 "option --simulate: there is no tree of 0 places" "no places" bench --simulate 0
refuses 125 "option --simulate: simulates exchanges and needs no instance" "no other operations" \
    bench --simulate 8 --operation barrier
nothing_left_within 30 none "nothing is left"
done_testing
