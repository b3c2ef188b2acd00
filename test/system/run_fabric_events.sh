#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Row S4 on a living instance: when nodes are added, removed or lost, and when the description changes, a scheduler that
# follows the instance's fabric by libbanyan-fabric (test/tool/fabric_follow.c) and processes that have registered for
# the events of PMIx (test/tool/pmix_fabric.c) are told before and after, and then have the new costs.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

follow=$top_builddir/test/tool/fabric_follow
program=$top_builddir/test/tool/pmix_fabric
[ -x "$follow" ] || skip_all "fabric_follow is not built"

# describe COST: a file that another one has been renamed to; COST is that of the links between switches.
describe() {
    cat >"$scratch/next.json" <<END
{"switches": [{"name": "top"}, {"name": "s1", "parent": "top", "up": $1, "down": $1},
              {"name": "s2", "parent": "top", "up": $1, "down": $1}],
 "nics": [{"nodes": "v[1-2]", "switch": "s1"}, {"nodes": "v[3-4]", "switch": "s2"}]}
END
    mv "$scratch/next.json" "$scratch/fabric.json"
}
said() { [ "$(wc -l <"$scratch/followed")" -ge "$1" ]; }
# follows LINES EXPECTED NAME: what the scheduler has said since; so many lines in all.
seen=0
follows() {
    until_true 60 said "$1"
    is "$(tail -n +$((seen + 1)) "$scratch/followed")" "$2" "$3"
    seen=$1
}

# ---- A scheduler ----

describe 1
dir=$("$banyan" start --daemonize --virtual-nodes 2 --slots 1 --fabric-topology "$scratch/fabric.json")
session=$(basename "$dir" | cut -d . -f 1)
is "$(stat -c %a "$dir/fabric.json")" 600 "the instance has a description of its fabric, for its user alone"
mkfifo "$scratch/until"
"$follow" "$dir/fabric.json" <"$scratch/until" >"$scratch/followed" 2>&1 &
follower=$!
exec 9>"$scratch/until"
follows 1 "2: v1 v2 2" "it has the NICs of the living nodes"
run "$banyan" node add v3 </dev/null
is "$status" 0 "a node is added"
follows 3 "PENDING
3: v1 v2 v3 4" "which is an update"
run "$banyan" node remove v1 </dev/null
is "$status" 0 "one is removed"
follows 5 "PENDING
2: v2 v3 4" "so is that"
describe 5
follows 7 "PENDING
2: v2 v3 12" "and that ways cost more now"
echo nonsense >"$scratch/next.json"
mv "$scratch/next.json" "$scratch/fabric.json"
run "$banyan" node add v4 </dev/null
is "$status" 0 "another is added while the description cannot be read"
follows 9 "PENDING
3: v2 v3 v4 12" "the rest of it stands"
describe 5
# ---- Processes ----

if [ -x "$program" ]; then
    "$banyan" run --instance "$dir" --timeout 240 --mpi pmix -n 1 "$program" events register "touch:$scratch/there" \
        updated update "touch:$scratch/more" updated update </dev/null >"$scratch/out" 2>"$scratch/err" &
    job=$!
    until_true 60 test -e "$scratch/there"
    describe 2
    follows 11 "PENDING
3: v2 v3 v4 6" "the scheduler hears of costs"
    until_true 60 test -e "$scratch/more"
    run "$banyan" node add v1 </dev/null
    wait "$job"
    is "$?:$(cat "$scratch/out")" "0:register: SUCCESS
pmix.fab.idx: 0
pmix.fab.nverts: 3
pmix.fab.cm:
0,12,12
12,0,2
12,2,0
event: PENDING
event: UPDATED
update: SUCCESS
pmix.fab.idx: 0
pmix.fab.nverts: 3
pmix.fab.cm:
0,6,6
6,0,2
6,2,0
event: PENDING
event: UPDATED
update: SUCCESS
pmix.fab.idx: 0
pmix.fab.nverts: 4
pmix.fab.cm:
0,2,6,6
2,0,6,6
6,6,0,2
6,6,2,0" "so does a process, and of a node, and updates what it has"
    follows 13 "PENDING
4: v1 v2 v3 v4 6" "as the scheduler does"
    last=6
else
    skip "pmix_fabric is not built"
    run "$banyan" node add v1 </dev/null
    follows 11 "PENDING
4: v1 v2 v3 v4 12" "a node comes back"
    last=12
fi

# ---- A node that is lost ----

victim=$("$banyan" run --instance "$dir" --per-node 1 sh -c \
    '[ "$BANYAN_NODE" != v3 ] || { h=$(sed -n "s/^PPid:[^0-9]*//p" /proc/$$/status); sed -n "s/^PPid:[^0-9]*//p" "/proc/$h/status"; }' </dev/null)
is "$(cat "/proc/$victim/comm")" banyand "a daemon"
kill -9 "$victim"
follows $((seen + 2)) "PENDING
3: v1 v2 v4 $last" "its node is no longer in the fabric"

# ---- The end ----

run "$banyan" stop </dev/null
until_true 60 grep -q '^report: ' "$scratch/followed"
is "$(grep -c '^report: the fabric stays as it was: cannot read .*/fabric.json: No such file' "$scratch/followed")" 1 \
    "the end of the instance is reported once"
exec 9>&-
wait "$follower"
is $? 0 "the scheduler goes on, until it ends"
nothing_left_within 30 "$session" "nothing is left"
done_testing
