#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Trees that follow the fabric: subtrees are switches, ranks and everything that users see go by their order
# of the nodes. The nodes of a switch are far from each other in that order.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

cat >"$scratch/topology.conf" <<'END'
SwitchName=s0 Nodes=v[1,5,9]
SwitchName=s1 Nodes=v[2,6,10]
SwitchName=s2 Nodes=v[3,7,11]
SwitchName=s3 Nodes=v[4,8,12]
SwitchName=t0 Switches=s[0,2]
SwitchName=t1 Switches=s[1,3]
SwitchName=top Switches=t[0-1]
END
nodes=(--virtual-nodes 12 --radix 4)
one=(--slots 1)
model=(--fabric-topology "$scratch/topology.conf")

run "$banyan" tree "${nodes[@]}" "${model[@]}"
is "$status-$out" "0-(root) [-]
|- v1 [s0]
|  \`- v[5,9] [s0, cost 2]
|- v3 [s2]
|  \`- v[7,11] [s2, cost 2]
|- v2 [s1]
|  \`- v[6,10] [s1, cost 2]
\`- v4 [s3]
   \`- v[8,12] [s3, cost 2]
12 nodes, radix 4, 2 levels below the root
LEVEL   EDGES  IN SWITCH       COST   MAX
    1       4          0          0     0
    2       8          8         16     2
  all      12          8         16     2
4 of the edges are not in the model of the fabric" "subtrees are switches"
run "$banyan" tree "${nodes[@]}" "${model[@]}" --no-shape
like "$out" '\|- v1 \[s0\] *
\|  \|- v2 \[s1, cost 6\].* all +12 +0 ' "without the shape, and what it costs"
if command -v python3 >/dev/null; then
    is "$("$banyan" tree "${nodes[@]}" "${model[@]}" --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
leaf = d["tree"]["children"][1]["children"][0]
print(leaf["nodes"], leaf["switch"], leaf["cost"], d["edges"]["cost"], d["edges"]["levels"][1]["in_switch"])')" \
        "v[7,11] s2 2 16 8" "JSON has switches and costs"
else
    skip "no python3 to read JSON"
fi
like "$("$banyan" tree "${nodes[@]}" "${model[@]}" --dot)" '"v3" -> "v11" \[label=2\].*"v11" \[label="v11\\ns2"\]' "so has a graph"
like "$("$banyan" tree "${nodes[@]}" "${model[@]}" --svg)" '>v\[7,11\] \[s2, cost 2\]</text>' "and a drawing"

# The ranks are where they would be without.
expected=$(seq 0 11 | awk '{ print $1, "v" $1 + 1 }')
for shape in "" --no-shape; do
    run "$banyan" run "${nodes[@]}" "${one[@]}" "${model[@]}" ${shape:+"$shape"} sh -c 'echo $BANYAN_RANK $BANYAN_NODE'
    is "$status-$(sort -n <<<"$out")" "0-$expected" "ranks go by the user's order ${shape:-with a shape}"
done
run "$banyan" run "${nodes[@]}" "${one[@]}" "${model[@]}" -n 5 --label sh -c 'echo $BANYAN_NODE'
is "$status-$(sort <<<"$out")" "0-[0] v1
[1] v2
[2] v3
[3] v4
[4] v5" "some of them, and their labels"
run "$banyan" run "${nodes[@]}" "${one[@]}" "${model[@]}" --timeout 60 sh -c 'test $BANYAN_RANK != 6 || exit 9; sleep 100'
like "$status $err" '^9 .*rank 6 .*v7' "a rank that fails is named with its node"

# Nodes that the model does not have.
run "$banyan" run --virtual-nodes 14 --slots 1 -v "${model[@]}" sh -c 'echo $BANYAN_RANK $BANYAN_NODE'
is "$status-$(sort -n <<<"$out" | tail -2)" "0-12 v13
13 v14" "nodes that are not in the model run, too"
like "$err" 'not in the model of the fabric, so last in the tree: v\[13-14\]' "and -v says which those are"

# An instance, whose tree is shown by a client.
instance=$("$banyan" start "${nodes[@]}" --slots 1 "${model[@]}" --log "$scratch" --daemonize 2>"$scratch/start.err" </dev/null)
like "$instance" '^/.*banyan-' "an instance"
like "$(cat "$scratch"/*v3.log)" 'place 4 of 13' "the daemons have the places of the order"
run "$banyan" tree --instance "$instance" "${model[@]}"
like "$out" '\|- v3 \[s2\] *
\|  `- v\[7,11\] \[s2, cost 2\].*12 nodes' "its tree"
run "$banyan" run --instance "$instance" sh -c 'echo $BANYAN_RANK $BANYAN_NODE'
is "$status-$(sort -n <<<"$out")" "0-$expected" "its ranks"
run "$banyan" node list
like "$status $out" '^0 .*v\[1-12\]' "its nodes in their order"
run "$banyan" node remove v3
is "$status" 0 "one of them leaves"
run "$banyan" tree
like "$out" '\|- v7
\|  `- v11
.*11 nodes' "and its heir has its place"
run "$banyan" run --instance "$instance" sh -c 'echo $BANYAN_NODE'
is "$status-$(sort -V <<<"$out" | tr '\n' ' ')" "0-v1 v2 v4 v5 v6 v7 v8 v9 v10 v11 v12 " "jobs go on without it"
run "$banyan" node add v13
is "$status" 0 "one is added"
run "$banyan" tree
like "$out" '`- v13
12 nodes' "at the end"
run "$banyan" run --instance "$instance" sh -c 'echo $BANYAN_NODE'
is "$status-$(sort -V <<<"$out" | tail -1)" "0-v13" "and runs ranks"
run "$banyan" stop
is "$status" 0 "the instance ends"

# wrong REGEX NAME OPTION...
wrong() {
    local regex=$1 name=$2
    shift 2
    run "$banyan" run "$@" true
    like "$status $out$err" "^125 banyan: $regex" "$name"
    is "$(wc -l <<<"$err")" 1 "$name: one line"
}
wrong '.*/nothing: No such file' "a model that is missing" --virtual-nodes 2 --fabric-topology "$scratch/nothing"
echo 'SwitchName=s0' >"$scratch/bad.conf"
wrong ".*bad.conf" "a model that cannot be read" --virtual-nodes 2 --fabric-topology "$scratch/bad.conf"
wrong 'option --fabric-topology: ' "a shape that is none" --virtual-nodes 2 --fabric-topology fat-tree:0x2
wrong 'option --fabric-topology cannot be used with --instance' "the shape of an instance" --instance /none --fabric-topology fat-tree:2x2
done_testing
