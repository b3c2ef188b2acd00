#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan fabric --measure`: ways between virtual nodes, two of which are made slow (test/tool/slow_sends.c), and what
# becomes of the measured description.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset SLURM_CONF

command -v python3 >/dev/null || skip_all "python3 reads the descriptions"

# ways FILE: "FROM TO COST", a line each, the most expensive first.
ways() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
names = [n["node"] for n in d["nics"]]
ways = [(d["costs"][i][j], names[i], names[j]) for i in range(len(names)) for j in range(len(names)) if i != j]
for cost, a, b in sorted(ways, reverse=True):
    print(a, b, cost)' "$1"
}

run "$banyan" fabric --measure --size 1000 --repeat 3 -- --virtual-nodes 5 --timeout 240
is "$status-$err" "0-" "an odd number of nodes"
echo "$out" >"$scratch/five"
is "$(ways "$scratch/five" | wc -l)" 20 "all ways are in the description"
run "$banyan" fabric --topology "$scratch/five"
like "$status-$out" "^0-5 NICs on 5 nodes.*costs are measured: 10 to .*slowest: v[1-5] -> v[1-5]: " "which banyan reads"
run "$banyan" fabric --topology "$scratch/five" --matrix
is "$status-$(head -n 1 <<<"$out")-$(wc -l <<<"$out")" "0-from,v1,v2,v3,v4,v5-6" "also as a matrix"
nothing_left_within 30 none "nothing is left"

over_libfabric() {
    local fabric
    for fabric in "ofi:tcp;ofi_rxm" ofi; do
        run "$banyan" fabric --measure --fabric "$fabric" --size 100000 --repeat 3 -- --virtual-nodes 5 --timeout 240
        is "$status-$err" "0-" "$fabric: five nodes"
        echo "$out" >"$scratch/ofi"
        is "$(ways "$scratch/ofi" | wc -l)" 20 "$fabric: all ways"
        like "$out" "\"fabric\": \"$fabric\"" "$fabric: which the description names"
    done
    run "$banyan" fabric --measure --fabric ofi:nosuch -- --virtual-nodes 2
    like "$status-$err" "^125-banyan: libfabric has no reliable datagrams of nosuch here .* or use --fabric tcp" \
        "a provider that is not here"
}
if [ -e "$BANYAN_PKGLIBDIR/fabric_ofi.so" ]; then
    over_libfabric
else
    skip "libfabric: fabric_ofi.so is not built"
fi
refuses 125 "option --fabric: 'udp' is not one of tcp, ofi, ofi:PROVIDER" "what is no network" fabric --measure --fabric udp
refuses 125 "option --fabric: it needs --measure" "a network alone" fabric --fabric ofi
nothing_left_within 30 none "nothing is left"

# Between the nodes of an instance.
dir=$("$banyan" start --daemonize --virtual-nodes 3 </dev/null)
run "$banyan" fabric --measure -- --instance "$dir"
is "$status-$err-$(grep -c '"node"' <<<"$out")" "0--3" "the nodes of an instance"
run "$banyan" stop --instance "$dir"

# Two slow nodes of 64 (the sanitizers' libraries must be the first to be loaded: there without slow nodes).
if [ -n "${BANYAN_SANITIZERS:-}" ] || ! ${CC:-cc} -shared -fPIC -I"$top_builddir" -o "$scratch/slow.so" "$srcdir/test/tool/slow_sends.c" -ldl; then
    skip "no slow nodes here"
else
    run "$banyan" fabric --measure --repeat 4 -- --virtual-nodes 64 --timeout 400 -x LD_PRELOAD="$scratch/slow.so" \
        -x SLOW_ADDRESSES="127.1.0.7=40,127.1.0.40=10"
    is "$status-$err" "0-" "64 nodes, of which two are slow"
    echo "$out" >"$scratch/slow"
    ways "$scratch/slow" >"$scratch/ranked"
    # A busy machine may delay single ways: 126 are those of v7, then 124 those of v40.
    of_slowest=$(head -n 126 "$scratch/ranked" | grep -cE '^v7 | v7 ')
    ok "the ways of the slowest node are the slowest ($of_slowest of 126)" [ "$of_slowest" -ge 113 ]
    of_next=$(sed -n 127,250p "$scratch/ranked" | grep -cE '^v40 | v40 ')
    ok "then those of the next ($of_next of 124)" [ "$of_next" -ge 93 ]
    is "$(awk '{ cost[$1] = cost[$1] " " $3; n[$1]++ } END { for (node in cost) print node, cost[node] }' "$scratch/ranked" |
        python3 -c 'import statistics, sys
rows = [line.split() for line in sys.stdin]
print(*[row[0] for row in sorted(rows, key=lambda row: -statistics.median(map(int, row[1:])))[:2]])')" \
        "v7 v40" "the medians of nodes rank them"
    like "$("$banyan" fabric --topology "$scratch/slow")" "slowest: .*v7" "banyan fabric names it"
    nothing_left_within 30 none "nothing is left"
fi

refuses 125 "cannot measure paths: there are fewer than two nodes" "one node" fabric --measure -- --virtual-nodes 1
refuses 125 "unknown option '--bogus'" "an option that banyan run does not have" fabric --measure -- --bogus
refuses 125 "'true' is no option of banyan run" "a program" fabric --measure -- true
refuses 125 "option --measure: " "together with --topology" fabric --measure --topology fat-tree:2x2
refuses 125 "options --measure and --instance cannot be used together: .* after --measure --" "nor is that ignored" \
    fabric --measure --instance "$scratch/none"
refuses 125 "option --size: it needs --measure" "a size alone" fabric --size 8
refuses 125 '.*costs\[1\] must be a list of 2 numbers' "a matrix that is not square" fabric --topology <(printf '%s' \
    '{"switches": [{"name": "s"}], "nics": [{"nodes": "n[1-2]", "switch": "s"}], "costs": [[0, 1], [1]]}')
done_testing
