#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Row S8: the fabric that --fabric-topology describes, asked for by a real client of libpmix (test/tool/pmix_fabric.c):
# PMIx_Fabric_register, _update and _deregister, and queries, wherever the client runs; as the file and the nodes change.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_fabric
[ -x "$program" ] || skip_all "pmix_fabric is not built"

# said EXPECTED NAME OPTION... -- STEP...: the ranks make the steps; EXPECTED is what is printed.
said() {
    local expected=$1 name=$2
    shift 2
    run_client "$@"
    is "$status:$out" "0:$expected" "$name"
    [ -z "$err" ] || diag "$err"
}

# costs NODES: the matrix that `banyan fabric` prints, without the names.
costs() { "$banyan" fabric --topology "$scratch/fabric.json" --matrix --nodes "$1" | tail -n +2 | cut -d , -f 2-; }
# answer NODES NICS: what a registration of the fabric of these nodes answers.
answer() { printf 'pmix.fab.idx: 0\npmix.fab.nverts: %s\npmix.fab.cm:\n%s' "$2" "$(costs "$1")"; }

# describe COST: v3 has two NICs, ways to v1 and v2 cost less than those back, and v9 is not of the instance.
describe() {
    cat >"$scratch/next.json" <<END
{"switches": [{"name": "top"},
              {"name": "s1", "parent": "top", "up": $1, "down": 3, "across": 1}, {"name": "s2", "parent": "top"}],
 "nics": [{"nodes": "v[1-2]", "switch": "s1", "up": 1, "down": 4}, {"nodes": "v9", "switch": "s2"},
          {"name": "v3:a", "node": "v3", "switch": "s2"}, {"name": "v3:b", "node": "v3", "switch": "s2"}]}
END
    mv "$scratch/next.json" "$scratch/fabric.json"
}
describe 2

three=(--virtual-nodes 3 --per-node 1 -n 3 --fabric-topology "$scratch/fabric.json")

# ---- Register, update, deregister ----

like "$(costs 'v[1-3]' | head -n 1)" '^0,6,5,5$' "what is expected is not all the same"
[ "$(costs 'v[1-3]' | head -n 1 | cut -d , -f 3)" != "$(costs 'v[1-3]' | sed -n 3p | cut -d , -f 1)" ]
is $? 0 "and not symmetric"
said "register: SUCCESS
$(answer 'v[1-3]' 4)
update: SUCCESS
$(answer 'v[1-3]' 4)
deregister: SUCCESS" "a rank that is not on the first node has the matrix of banyan fabric" \
    "${three[@]}" -- r2:register r2:update r2:deregister fence
said "register: SUCCESS
$(answer 'v[1-3]' 4)
register: SUCCESS
$(answer 'v[1-3]' 4)
deregister: SUCCESS" "it may be registered twice" "${three[@]}" -- r1:register r1:register r1:deregister fence
said "register: SUCCESS
$(answer 'v[1-2]' 2)
register: SUCCESS
$(answer 'v[1-2]' 2)" "two ranks of one node each have it" \
    --virtual-nodes 2 --per-node 2 -n 4 --fabric-topology "$scratch/fabric.json" -- \
    fence r0:register fence r1:register fence
# The client of libpmix 4.2.2 reports success of whatever registration; the answer has nothing then.
said "register: SUCCESS
update: NOT-SUPPORTED
deregister: SUCCESS
ask: NOT-SUPPORTED" "without a description there is no fabric" --virtual-nodes 1 -n 1 -- register update deregister \
    ask:pmix.fab.nverts

# ---- Queries ----

said "pmix.fab.nverts: 4
ask: SUCCESS
pmix.fab.dims: 3
ask: SUCCESS
pmix.fab.idx: 0
ask: SUCCESS
pmix.fab.plane: ''
ask: SUCCESS
pmix.fab.cm:
$(costs 'v[1-3]')
ask: SUCCESS" "the numbers and the matrix" "${three[@]}" -- r1:ask:pmix.fab.nverts r1:ask:pmix.fab.dims r1:ask:pmix.fab.idx r1:ask:pmix.fab.plane \
    r1:ask:pmix.fab.cm fence
said "pmix.fab.cm:
$(costs 'v[1-3]' | sed -n 4p)
ask: SUCCESS
ask: BAD-PARAM" "a row of it, and none beyond the last" "${three[@]}" -- "r1:ask:pmix.fab.cm;pmix.fabdev.idx=3" \
    "r1:ask:pmix.fab.cm;pmix.fabdev.idx=4" fence
said "pmix.fab.cm:
$(costs 'v[1-3]' | sed -n 3,4p | paste -s -d ,)
ask: SUCCESS" "the rows of a node" "${three[@]}" -- "r1:ask:pmix.fab.cm;pmix.hname=v3" fence
said "pmix.fab.devs: 4
pmix.fabdev: v1 v1 0 v1 s1  at:0.0.0
pmix.fabdev: v2 v2 1 v2 s1  at:0.0.1
pmix.fabdev: v3:a v3:a 2 v3 s2  at:0.1.0
pmix.fabdev: v3:b v3:b 3 v3 s2  at:0.1.1
ask: SUCCESS
pmix.fabdev: v3:b v3:b 3 v3 s2  at:0.1.1
ask: SUCCESS
pmix.fabdev: v2 v2 1 v2 s1  at:0.0.1
ask: SUCCESS
ask: NOT-FOUND
ask: BAD-PARAM" "the devices, one by its name and by its number, none that there is not, not all as one" "${three[@]}" -- \
    r0:ask:pmix.fab.devs "r0:ask:pmix.fabdev;pmix.fabdev.nm=v3:b" "r0:ask:pmix.fabdev;pmix.fabdev.idx=1" \
    "r0:ask:pmix.fabdev;pmix.fabdev.nm=v9" r0:ask:pmix.fabdev fence

# ---- Planes ----

cat >"$scratch/planes.json" <<'END'
{"switches": [{"name": "a"}, {"name": "b"}],
 "nics": [{"name": "a1", "node": "v1", "switch": "a", "plane": "A"}, {"name": "a2", "node": "v2", "switch": "a", "plane": "A", "up": 7},
          {"name": "b1", "node": "v1", "switch": "b", "plane": "B"}, {"name": "b2", "node": "v2", "switch": "b", "plane": "B", "down": 5}]}
END
said "register: SUCCESS
pmix.fab.idx: 0
pmix.fab.nverts: 2
pmix.fab.plane: A
pmix.fab.cm:
0,2
8,0
pmix.fab.plane: 'A' 'B'
ask: SUCCESS
pmix.fab.cm:
0,6
2,0
ask: SUCCESS
pmix.fab.idx: 1
ask: SUCCESS
ask: NOT-FOUND" "of two planes the first is registered, and both can be asked for" \
    --virtual-nodes 2 -n 1 --fabric-topology "$scratch/planes.json" -- register ask:pmix.fab.plane \
    "ask:pmix.fab.cm;pmix.fab.plane=B" "ask:pmix.fab.idx;pmix.fab.plane=B" "ask:pmix.fab.cm;pmix.fab.plane=C"

# ---- More than is given at once ----

{
    printf '{"switches": [{"name": "top"}], "nics": [{"nodes": "v1", "switch": "top"}'
    printf ', {"name": "x%d", "node": "v1", "switch": "top"}' $(seq 2100)
    printf ']}\n'
} >"$scratch/large.json"
said "register: SUCCESS
pmix.fab.idx: 0
pmix.fab.nverts: 2101
ask: OUT-OF-RESOURCE
2101" "2,101 devices come without the matrix, but with rows of it" \
    --virtual-nodes 1 -n 1 --fabric-topology "$scratch/large.json" -- register ask:pmix.fab.cm \
    "count:pmix.fab.cm;pmix.fabdev.idx=2100"

# ---- The file changes ----

"$banyan" run --timeout 240 --mpi pmix "${three[@]}" "$program" r1:events r1:register "r1:touch:$scratch/asked" \
    r1:updated r1:update "r1:touch:$scratch/again" "r1:await:$scratch/broken" r1:update fence \
    </dev/null >"$scratch/out" 2>"$scratch/err" &
job=$!
before=$(answer 'v[1-3]' 4)
until_true 60 test -e "$scratch/asked"
describe 20
after=$(answer 'v[1-3]' 4)
until_true 60 test -e "$scratch/again"
echo '{"switches": [' >"$scratch/next.json"
mv "$scratch/next.json" "$scratch/fabric.json"
until_true 60 grep -q 'the fabric stays as it was' "$scratch/err"
touch "$scratch/broken"
wait "$job"
is "$?:$(cat "$scratch/out")" "0:register: SUCCESS
$before
event: PENDING
event: UPDATED
update: SUCCESS
$after
update: SUCCESS
$after" "an update has the costs of the new file, and those of before if it cannot be read"
like "$(cat "$scratch/err")" 'fabric.json: line [0-9]+: .*: the fabric stays as it was' "which is a warning"
describe 2

# ---- A tool ----

TMPDIR=$scratch "$banyan" run --timeout 240 --mpi pmix "${three[@]}" "$program" "r0:touch:$scratch/there" \
    "r0:await:$scratch/gone" fence </dev/null >"$scratch/out" 2>"$scratch/err" &
job=$!
until_true 60 test -e "$scratch/there"
file=$(find "$scratch" -path '*/v2/*' -name 'pmix.*.tool.*-1' 2>/dev/null | head -n 1)
is "$(unset "${!PMIX_@}"; timeout 300 "$program" "tool:$file" register update \
    "ask:pmix.fabdev;pmix.fabdev.nm=v3:b" deregister 2>/dev/null)" "register: SUCCESS
$(answer 'v[1-3]' 4)
update: SUCCESS
$(answer 'v[1-3]' 4)
pmix.fabdev: v3:b v3:b 3 v3 s2  at:0.1.1
ask: SUCCESS
deregister: SUCCESS" "a tool has what the processes have"
touch "$scratch/gone"
wait "$job"
is $? 0 "and disturbs nobody"

# ---- Nodes come and go ----

dir=$("$banyan" start --daemonize --virtual-nodes 2 --slots 1 --fabric-topology "$scratch/fabric.json")
session=$(basename "$dir" | cut -d . -f 1)
# has NODES NICS NAME: a job of the instance is answered that.
has() {
    run "$banyan" run --instance "$dir" --timeout 240 --mpi pmix -n 1 "$program" register </dev/null
    is "$status:$out" "0:register: SUCCESS
$(answer "$1" "$2")" "$3"
    is "$("$banyan" fabric --instance "$dir" --matrix)" \
        "$("$banyan" fabric --topology "$scratch/fabric.json" --matrix --nodes "$1")" "$3: banyan fabric, too"
}
has 'v[1-2]' 2 "two nodes"
run "$banyan" node add v3 </dev/null
is "$status" 0 "one is added"
has 'v[1-3]' 4 "three nodes"
run "$banyan" node remove v2 </dev/null
is "$status" 0 "one is removed"
has 'v[1,3]' 3 "the others"
run "$banyan" stop </dev/null
nothing_left_within 30 "$session" "nothing is left"
run "$banyan" fabric --instance "$dir" --matrix </dev/null
is "$status" 125 "an instance that is no more has no fabric"

# ---- What starts nothing ----

# refused OPTIONS REGEX NAME
refused() {
    run "$banyan" run --virtual-nodes 2 -n 1 $1 true </dev/null
    is "$status $(wc -l <<<"$err")" "125 1" "$3: one line"
    like "$err" "$2" "$3"
}
refused "--fabric-topology $scratch/none" "option --fabric-topology: cannot read $scratch/none: No such file" "no file"
refused "--fabric-topology fat-tree:2x2" "describes none of the nodes: v1" "a fabric of other nodes"
refused "--fabric-topology fat-tree:0x2" "option --fabric-topology: " "a shape that there is not"
refused "--no-daemons --fabric-topology $scratch/fabric.json" "cannot be used with --no-daemons" "without daemons"
done_testing
