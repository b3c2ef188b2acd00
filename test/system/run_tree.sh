#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan tree`: the tree that a run would have, in each of its forms, and what it says of wrong
# commands.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

run "$banyan" tree --nodes 'n[1-9]' --radix 3
is "$status-$out$err" "0-(root)
|- n1
|  \`- n[2-3]
|- n4
|  \`- n[5-6]
\`- n7
   \`- n[8-9]
9 nodes, radix 3, 2 levels below the root" "nodes that need not exist"
run "$banyan" tree --virtual-nodes 4
like "$status $out" '^0 .*v\[1-4\].*4 nodes, radix 6, 1 level below' "the nodes of a run"
printf 'a\nb\nc\n' >"$scratch/hosts"
run "$banyan" tree --hostfile "$scratch/hosts" --levels 1
is "$status-$out" "0-(root) +3
3 nodes, radix 6, 1 level below the root" "of a host file, with fewer levels"

if command -v python3 >/dev/null; then
    "$banyan" tree --nodes 'n[1-1000]' --svg >"$scratch/tree.svg"
    is "$(python3 -c 'import sys, xml.dom.minidom as d
texts = d.parse(sys.argv[1]).getElementsByTagName("text")
print(len(texts), texts[1].firstChild.data)' "$scratch/tree.svg")" "$("$banyan" tree --nodes 'n[1-1000]' | grep -vc below) n1" \
        "a drawing: XML with the same rows"
    is "$("$banyan" tree --nodes 'n[1-20]' --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
def count(node): return 1 + sum(count(c) for c in node["children"])
print(d["nodes"], d["radix"], d["depth"], d["tree"]["below"], count(d["tree"]))')" "20 6 2 20 13" "JSON"
else
    skip "no python3 to read the drawing"
    skip "no python3 to read JSON"
fi
is "$("$banyan" tree --nodes 'n[1-20]' --dot | grep -c -- '->')" 20 "a graph has an edge for each node"

# A living one: what is lost is not in it.
instance=$("$banyan" start --virtual-nodes 7 --radix 2 --slots 1 --daemonize 2>"$scratch/start.err" </dev/null)
like "$instance" '^/.*banyan-' "an instance is there"
run "$banyan" tree
is "$status-$out" "0-(root)
|- v1
|  |- v2
|  |  \`- v3
|  \`- v4
\`- v5
   \`- v[6-7]
7 nodes, radix 2, 3 levels below the root" "its tree"
run "$banyan" node remove v2
run "$banyan" tree --instance "$instance"
is "$status-$out" "0-(root)
|- v1
|  \`- v[3-4]
\`- v5
   \`- v[6-7]
6 nodes, radix 2, 3 levels below the root" "without a node that was removed"
run "$banyan" tree --nodes 'n[1-2]'
like "$out" '2 nodes, radix 6' "with nodes a plan is shown nevertheless"
run "$banyan" tree --instance "$instance" --radix 3
is "$status $err" "125 banyan: option --instance: its tree stands; give no option of a run" "not both"
run "$banyan" stop
is "$status" 0 "the instance ends"
run "$banyan" tree --instance "$instance"
like "$status $err" "^125 banyan: .*$instance" "an instance that has ended"

# wrong REGEX NAME OPTION...
wrong() {
    local regex=$1 name=$2
    shift 2
    run "$banyan" tree "$@"
    like "$status $out$err" "^125 banyan: $regex" "$name"
    is "$(wc -l <<<"$err")" 1 "$name: one line"
}

wrong 'give only one of --dot, --svg and --json' "two forms" --dot --svg
wrong 'option --levels: must be a whole number from 1 to 27' "no levels" --levels 0
wrong "unknown argument './a.out': banyan tree starts nothing" "a program" ./a.out
wrong 'option --radix: .* the number of nodes \(3\), not .7.' "a radix that is too large" --radix 7 --nodes 'n[1-3]'
wrong 'option --nodes: .*column 2' "a list that cannot be read" --nodes 'n[1-'
wrong 'option --hostfile: cannot read .*/no-such-file: No such file' "a missing host file" --hostfile "$scratch/no-such-file"
run "$banyan" tree --help
like "$status $out" '^0 Usage: banyan tree .*--svg' "its help"
done_testing
