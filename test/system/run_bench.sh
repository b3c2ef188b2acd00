#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan bench`: the daemons measure their tree, in an instance that is there and in one that is started for it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# An instance for the measurement.
run "$banyan" bench --virtual-nodes 6 --radix 2 -r 5 --warm-up 1 --size 0,4K </dev/null
is "$status-$err" "0-" "an instance is started for it"
like "$out" '^OPERATION +NODES +BYTES +TIMES +MIN us ' "a table"
is "$(sed '/^$/,$d' <<<"$out" | sed 1d | awk '{print $1, $3, $4}' | tr '\n' ',')" \
    "barrier 0 5,broadcast 0 5,broadcast 4096 5,gather 0 5,gather 4096 5,exchange 0 5,exchange 4096 5,links 0 5,links 4096 5," \
    "of all operations and sizes"
is "$(grep -c ', by level of the tree:$' <<<"$out")" 5 "levels of each operation"
like "$out" 'slowest links: v[1-6] to (v[1-6]|\(root\)) [0-9.]+ us, ' "links by the names of their nodes"
nothing_left_within 30 none "it ends with the measurement"

# However it ends, so does the instance that it has started.
for signal in KILL TERM; do
    "$banyan" bench --virtual-nodes 3 -r 100000 --operation barrier >/dev/null 2>"$scratch/ended.err" </dev/null &
    bench=$!
    ours_many() { [ "$(ours | wc -l)" -gt 5 ]; }
    until_true 60 ours_many || fail "it is under way"
    kill -"$signal" "$bench"
    wait "$bench" 2>/dev/null
    is "$?" $((128 + $(kill -l "$signal"))) "SIG$signal ends it"
    nothing_left_within 60 none "and the instance"
done

# Over several numbers of nodes, drawn; and against a run that was a thousand times as fast, or as slow.
run "$banyan" bench --virtual-nodes 5 -r 9 --operation barrier,gather --size 64,4K --node-counts 2..4,9 --json \
    --plot "$scratch/plots" </dev/null
is "$status" 0 "several numbers of nodes"
is "$(sed -n 's/^ *"nodes": \([0-9]*\),.*/\1/p' <<<"$out" | tr '\n' ' ')" "5 2 4 5 2 2 4 4 5 5 " "the first nodes take part"
ok "there is a script for gnuplot" grep -q 'nodes.svg' "$scratch/plots/bench.gp"
if command -v gnuplot >/dev/null; then
    is "$err" "" "gnuplot has nothing to say"
    for name in time bandwidth nodes; do
        ok "$name.svg" grep -q '</svg>' "$scratch/plots/$name.svg"
    done
else
    like "$err" 'there is no gnuplot in PATH; it would draw what is in .*/bench.gp$' "one line without gnuplot"
    for name in time bandwidth nodes; do skip "$name.svg"; done
fi
scaled() { # FACTOR: the last run with other times
    sed -E 's/("median(_low|_high)?_ns": )([0-9]+)/\1\3'"$1"'/' <<<"$out" >"$scratch/scaled.json"
}
scaled 000
run "$banyan" bench --virtual-nodes 5 -r 9 --operation barrier,gather --size 64 --compare "$scratch/scaled.json" </dev/null
is "$status-$(grep -cE ' 0\.[0-9]+  faster$' <<<"$out")" 0-2 "faster than before"
sed -E 's/("median(_low|_high)?_ns": )([0-9]+)/\11/' "$scratch/scaled.json" >"$scratch/fast.json"
run "$banyan" bench --virtual-nodes 5 -r 9 --operation barrier,gather --size 64,128 --compare "$scratch/fast.json" </dev/null
is "$status-$(sed -n 's/.*  \(new\|same\|faster\|slower\)$/\1/p' <<<"$out" | tr '\n' ' ')" "1-slower slower new " "slower is a status"
refuses 125 "option --compare: cannot read /none: No such file or directory" "no such file" bench --compare /none
echo '{"rows": [{"operation": "barrier"}]}' >"$scratch/other.json"
refuses 125 "option --compare: .*/other.json is not what 'banyan bench --json' has written" "another file" \
    bench --compare "$scratch/other.json"
refuses 125 "options --csv and --json cannot be used together" "one form" bench --csv --json
run "$(type -P env)" PATH=/nowhere "$top_builddir/banyan" bench --virtual-nodes 2 -r 1 --size 8 --operation gather \
    --plot "$scratch/none" </dev/null
like "$status $err" '^0 banyan: option --plot: there is no gnuplot in PATH; ' "without gnuplot one line"

# Large contributions go over both trees.
run "$banyan" bench --virtual-nodes 5 --radix 3 -r 2 --warm-up 0 --operation exchange,broadcast --size 1M --csv </dev/null
is "$status-$err" "0-" "large ones"
is "$(cut -d , -f 1-4 <<<"$out" | tr '\n' ' ')" \
    "operation,nodes,bytes,times exchange,5,1048576,2 broadcast,5,1048576,2 " "CSV"

# Jobs, as their user sees them.
run "$banyan" bench --virtual-nodes 3 -r 2 --warm-up 0 --operation launch,io --size 100K --csv </dev/null
is "$status-$err" "0-" "jobs"
is "$(cut -d , -f 1-4 <<<"$out" | tail -n +2 | tr '\n' ' ')" "launch,3,0,2 io,3,102400,2 " "launch and io"
run "$banyan" bench --virtual-nodes 3 --node-counts 2 -r 1 --operation io --size 33M </dev/null
like "$status $err" '^125 banyan: cannot measure io of 34603008 bytes: all nodes together would write more than 64M' "too much"

# All pairs of nodes: the median of their latencies, then of a transfer of each size, and the slowest ones.
run "$banyan" bench --virtual-nodes 5 -r 7 --operation pairs --size 1,4K </dev/null
is "$status-$err" "0-" "all pairs"
is "$(sed '/^$/,$d' <<<"$out" | sed 1d | awk '{print $1, $2, $3, $4}' | tr '\n' ',')" \
    "pairs_latency 5 8 7,pairs_transfer 5 1 5,pairs_transfer 5 4096 5," "their latency and transfers"
is "$(grep -cE '^  slowest pairs: v[1-5] to v[1-5] [0-9.]+ us, ' <<<"$out")" 2 "the slowest of the last ones"
run "$banyan" bench --virtual-nodes 3 -r 2 --operation pairs --size 8,1K --node-counts 2,3 --csv --plot "$scratch/maps" </dev/null
is "$status" 0 "of some of them"
is "$(cut -d , -f 1-4 <<<"$out" | tail -n +2 | tr '\n' ' ')" \
    "pairs_latency,2,8,2 pairs_transfer,2,8,2 pairs_transfer,2,1024,2 pairs_latency,3,8,2 pairs_transfer,3,8,2 pairs_transfer,3,1024,2 " \
    "the first nodes take part"
is "$(cut -d , -f 12,13 <<<"$out" | tail -n +2 | grep -cE '^v[1-3],v[1-3]$')" 6 "CSV names the slowest pair"
ok "a script of maps" grep -q 'pairs_1024.svg' "$scratch/maps/bench.gp"
if command -v gnuplot >/dev/null; then
    is "$err" "" "gnuplot draws them"
    for name in pairs_latency pairs_8 pairs_1024; do
        ok "$name.svg" grep -q '</svg>' "$scratch/maps/$name.svg"
    done
else
    like "$err" 'there is no gnuplot in PATH; it would draw what is in .*/bench.gp$' "one line without gnuplot"
    for name in pairs_latency pairs_8 pairs_1024; do skip "$name.svg"; done
fi
nothing_left_within 30 none "nothing is left of pairs"
refuses 125 "option --size: pairs cannot transfer 0 bytes" "nothing to transfer" bench --operation pairs --size 0,8
refuses 125 "option --node-counts: there are no pairs of 1 node" "no pairs" bench --operation pairs --node-counts 1..4
run "$banyan" bench --virtual-nodes 1 --operation pairs </dev/null
like "$status $err" '^125 banyan: cannot measure pairs: the instance at .* has one node only$' "one node"

# Several instances, one after the other: all combinations of what they differ in.
run "$banyan" bench --virtual-nodes 5 -r 5 --warm-up 1 --operation barrier,exchange,links --size 64K --radix 2,4 \
    --trees 1,2 --plot "$scratch/variants" </dev/null
is "$status" 0 "several variants"
is "$(sed '/^$/,$d' <<<"$out" | sed 1d | awk '{print $1, $10, $11}' | tr '\n' ',')" \
    "$(for radix in 2 4; do for trees in 1 2; do for operation in barrier exchange links; do
        printf '%s radix=%s trees=%s,' $operation $radix $trees
    done; done; done)" "a row of each"
is "$(grep -cE '^(barrier|exchange|links) of [0-9]+ bytes, 5 nodes, radix=[24] trees=[12], by level of the tree:$' <<<"$out")" \
    12 "with its levels"
is "$(sed -n '/^FASTEST/,$p' <<<"$out" | grep -cE '^(barrier|exchange|links) .* radix=[24] trees=[12](, not clearly.*)?$')" 3 \
    "which is the fastest"
ok "each is a curve" grep -q "title 'exchange radix=2 trees=1'.*title 'exchange radix=4 trees=2'" "$scratch/variants/bench.gp"
nothing_left_within 30 none "nothing is left of them"
if [ -e "${BANYAN_PKGLIBDIR:-}/fabric_ofi.so" ]; then
run "$banyan" bench --virtual-nodes 4 -r 2 --operation pairs,barrier --size 8 --fabric "tcp,ofi:tcp;ofi_rxm" --json \
    --plot "$scratch/fabrics" </dev/null
is "$status" 0 "several fabrics"
is "$(sed -n 's/^ *"\(operation\|variant\)": "\(.*\)",\?$/\2/p' <<<"$out" | tr '\n' ' ')" "pairs_latency fabric=tcp \
pairs_transfer fabric=tcp barrier fabric=tcp pairs_latency fabric=ofi:tcp;ofi_rxm pairs_transfer fabric=ofi:tcp;ofi_rxm \
barrier fabric=ofi:tcp;ofi_rxm " "also of pairs"
ok "a map of each" grep -q 'pairs_8_fabric_ofi_tcp_ofi_rxm.svg' "$scratch/fabrics/bench.gp"
echo "$out" >"$scratch/fabrics.json"
run "$banyan" bench --virtual-nodes 4 -r 2 --operation barrier --fabric tcp,auto --compare "$scratch/fabrics.json" </dev/null
like "$out" '  (same|faster|slower) +fabric=tcp
.*  new +fabric=auto' "compared with the same variant"
run "$banyan" bench --virtual-nodes 3 -r 2 --operation barrier --fabric tcp,ofi:nosuch --json </dev/null
is "$status-$(grep -c '"variant": "fabric=tcp"' <<<"$out")" 125-1 "what was measured before one failed is printed"
like "$err" 'libfabric has no reliable datagrams of nosuch.*
banyan: fabric=ofi:nosuch was not measured$' "and which one failed"
else
    skip "libfabric: fabric_ofi.so is not built"
fi
printf 'SwitchName=s1 Nodes=v[1,3,5]\nSwitchName=s2 Nodes=v[2,4,6]\nSwitchName=top Switches=s[1-2]\n' >"$scratch/topology"
run "$banyan" bench --virtual-nodes 6 -r 2 --operation barrier --shape off,on --fabric-topology "$scratch/topology" \
    --csv </dev/null
is "$status-$(cut -d , -f 14 <<<"$out" | tr '\n' ' ')" "0-variant shape=off shape=on " "shaped or not"
refuses 125 "option --radix: 6 is more than the number of nodes, 5" "a radix for more nodes" \
    bench --virtual-nodes 5 --operation barrier --radix 2,6
refuses 125 "option --trees: must be a list of 1, 2 and auto, not '3'" "three trees" bench --virtual-nodes 2 --trees 1,3
refuses 125 "options --instance and --shape cannot be used together" "no variants of what is there" \
    bench --instance /nowhere --shape on
refuses 125 "options --simulate and --radix cannot be used together: it simulates exchanges and needs no instance" \
    "nor of none" bench --simulate 8 --radix 3

# One that is there.
instance=$("$banyan" start --virtual-nodes 4 --slots 2 --daemonize 2>"$scratch/start.err" </dev/null)
like "$instance" '^/.*banyan-' "an instance is there"
run "$banyan" bench -r 3 --operation barrier,links --size 8 --json </dev/null
is "$status-$err" "0-" "it is measured"
if command -v python3 >/dev/null; then
    echo "$out" >"$scratch/bench.json"
    is "$(python3 - "$scratch/bench.json" "$instance" <<'E2'
import json, sys
d = json.load(open(sys.argv[1]))
barrier, links = d["rows"]
print(d["instance"] == sys.argv[2], d["nodes"], barrier["operation"], barrier["times"],
      barrier["min_ns"] <= barrier["median_ns"] <= barrier["max_ns"],
      barrier["median_low_ns"] <= barrier["median_ns"] <= barrier["median_high_ns"],
      sum(level["places"] for level in barrier["levels"]), len(links["slowest_links"]),
      links["slowest_links"][0]["parent"])
E2
)" "True 4 barrier 3 True True 5 4 (root)" "JSON"
else
    skip "no python3 to read JSON"
fi
run "$banyan" bench -r 3 --operation pairs --size 64 --json </dev/null
is "$status-$err" "0-" "all its pairs"
echo "$out" >"$scratch/pairs.json"
if command -v python3 >/dev/null; then
    is "$(python3 - "$scratch/pairs.json" <<'E3'
import json, sys
latency, transfer = json.load(open(sys.argv[1]))["rows"]
square = transfer["pairs"]["ns"]
times = sorted(square[i][j] for i in range(4) for j in range(4) if i != j)
names = transfer["pairs"]["nodes"]
slowest = transfer["slowest_pairs"][0]
print(",".join(names), times[0] == transfer["min_ns"], times[-1] == transfer["max_ns"] == slowest["ns"],
      times[5] == transfer["median_ns"], square[names.index(slowest["from"])][names.index(slowest["to"])] == slowest["ns"],
      latency["pairs"]["ns"][0][1] == latency["pairs"]["ns"][1][0], [square[i][i] for i in range(4)])
E3
)" "v1,v2,v3,v4 True True True True True [0, 0, 0, 0]" "the matrix has what the row says"
else
    skip "no python3 to read JSON"
fi
sed -E 's/("median(_low|_high)?_ns": )([0-9]+)/\1\3000/' "$scratch/pairs.json" >"$scratch/slow-pairs.json"
run "$banyan" bench -r 3 --operation pairs --size 64 --compare "$scratch/slow-pairs.json" </dev/null
is "$status-$(grep -c '  faster$' <<<"$out")" 0-2 "pairs are compared"

# Killed meanwhile, it leaves no job there.
"$banyan" bench -r 100000 --operation pairs --size 64M >/dev/null 2>&1 </dev/null &
bench=$!
ours_of_pairs() { # banyan run and the processes on the nodes
    local process
    for process in $(ours); do
        grep -qzx -- --pair-worker "/proc/$process/cmdline" 2>/dev/null && echo "$process"
    done
}
working() { [ "$(ours_of_pairs | wc -l)" -ge 5 ]; }
not_working() { [ -z "$(ours_of_pairs)" ]; }
until_true 60 working || fail "pairs are under way"
kill -9 "$bench"
wait "$bench" 2>/dev/null
until_true 60 not_working && pass "its job ends with it" || fail "its job ends with it"
refuses 125 "options --instance and --radix cannot be used together" "an instance has its tree" bench --instance "$instance" --radix 2
refuses 125 "cannot measure gather of 67108864 bytes: of all nodes that is too much" "too much for the root" \
    bench -r 1 --operation gather --size 64M

# One waits for the other, which takes until it is killed.
"$banyan" bench -r 100000 --operation exchange --size 64K >"$scratch/long.out" 2>&1 </dev/null &
long=$!
connected() { ls -l "/proc/$1/fd" 2>/dev/null | grep -q socket; }
until_true 60 connected "$long" || fail "it begins"
"$banyan" bench -r 1 --operation barrier --csv >"$scratch/second.out" 2>&1 </dev/null &
second=$!
until_true 60 connected "$second" && pass "another one begins" || fail "another one begins"
kill -9 "$long"
wait "$long" 2>/dev/null
wait "$second"
is "$?-$(sed -n 's/\(barrier,4\).*/\1/p' "$scratch/second.out")" "0-barrier,4" "it is measured after the first"
run "$banyan" run --timeout 240 -N 1 -n 4 sh -c 'echo $BANYAN_RANK' </dev/null
is "$status-$(sort <<<"$out" | tr '\n' ' ')" "0-0 1 2 3 " "jobs run after it"

# A node is lost meanwhile.
"$banyan" bench -r 100000 --operation exchange --size 64K >"$scratch/lost.out" 2>"$scratch/lost.err" </dev/null &
long=$!
until_true 60 connected "$long" || fail "it begins"
daemon_of() { # PLACE: the pid of the daemon whose session directory that is
    local process
    for process in $(descendants "$("$banyan" status --instance "$instance" | sed -n 's/^root *process \([0-9]*\).*/\1/p')"); do
        case $(tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null) in
        banyand*) ls -l "/proc/$process/fd" 2>/dev/null | grep -q "\.$1\$" && echo "$process" && return ;;
        esac
    done
}
victim=$(daemon_of 4)
ok "the daemon of v4 is found" test -n "$victim"
[ -z "$victim" ] || kill -9 "$victim"
wait "$long"
is "$?" 125 "a node is lost"
like "$(cat "$scratch/lost.err")" "cannot measure exchange: a node of the instance at $instance was lost meanwhile\$" "says so"
run "$banyan" bench -r 2 --operation barrier --csv </dev/null
like "$status-$out" "barrier,3,0,2," "the others are measured"
run "$banyan" stop --instance "$instance" </dev/null
nothing_left_within 60 none "nothing is left"

refuses 125 "option --operation: 'scatter' is not one of barrier," "no such operation" bench --operation scatter
refuses 125 "option --size: must be a list of sizes up to 64M, or of FIRST..LAST, not '65M'" "too large" bench --size 65M
refuses 125 "unknown argument 'x'; see 'banyan help bench'" "no words" bench x
refuses 125 "option --radix" "what an instance refuses" bench --virtual-nodes 2 --radix 9
done_testing
