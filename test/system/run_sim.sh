#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan sim`: its options, what it refuses, its JSON and its trace, and that a seed repeats a
# world exactly.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# ---- words ----
for words in 'help sim' 'sim --help' 'sim -N 3 -h'; do
    run "$banyan" $words
    like "$status $out" '^0 Usage: banyan sim .*--random-faults' "banyan $words"
done
# Each line of the help can be read alone.
unlike "$out" '(so many|and per byte|and to receive|What is told)' "no line refers to the one above"

# refused REGEX ARGUMENT...: 125 and one line.
refused() {
    local regex=$1
    shift
    run "$banyan" sim "$@"
    is "$status $(printf '%s\n' "$err" | wc -l)" "125 1" "refused: sim ${*:0:80}"
    like "$err" "^banyan: .*$regex" "which says why"
}
refused 'needs an operation'
refused "'frobnicate' is not an operation" frobnicate
refused 'start can only be the first' barrier start
refused 'end can only be the last' end barrier
refused 'barrier takes no value' barrier=3
refused "'many' is not a size" broadcast=many
refused 'is not a size below' exchange=65G
refused 'at least one of the [0-9]* nodes must survive' -N 3 heal=3
refused 'at least one of the [0-9]* nodes must survive' -N 3 grow heal shrink=3
refused 'is not a number of nodes' grow=few
refused "unknown option '--node': did you mean '--nodes'" --node 3 barrier
refused 'option --nodes: must be a whole number from 1 to [0-9]+, not .0.' --nodes 0 barrier
refused 'option --latency: .5 parsecs. is not a time' --latency '5 parsecs' barrier
refused 'option --latency: .*1000h' --latency 1000h barrier
refused 'option --cores: .*-1' --cores -1 barrier
refused 'option --sizes' --sizes odd exchange
refused 'option --shuffle: it needs --fabric-model' --shuffle barrier
refused 'option --oversubscription: .0. is not a list' --fabric-model fat-tree:2x2 --oversubscription 0 barrier
refused 'option --oversubscription: .4,. is not a list' --fabric-model fat-tree:2x2 --oversubscription 4, barrier
refused 'option --link-latency: .far. is not a time' --fabric-model fat-tree:2x2 --link-latency far barrier
refused 'option --nodes: the fabric has only 4 nodes, not 5' -N 5 --fabric-model fat-tree:2x2 barrier
refused 'cannot be used with --fabric-model' --switch 2 --fabric-model fat-tree:2x2 barrier
refused 'cannot read .*/no-model' --fabric-model "$scratch/no-model" barrier
refused 'option --fabric-model' --fabric-model fat-tree:0x1 barrier
refused 'option --set' -N 5 --set 3-9 barrier
refused 'option --set' --set 3, barrier
refused 'option --timeout' --timeout 0 barrier
refused 'option --pause' --pause long barrier
refused 'option --radix' --radix 1 barrier
refused 'option --trace records one world' --seeds 2 --trace "$scratch/t" barrier
refused 'cannot write /nonexistent/t: No such file' --trace /nonexistent/t barrier
refused 'cannot read profile /nonexistent/p: No such file' --profile /nonexistent/p barrier
refused 'cannot read profile .*: Is a directory' --profile "$scratch" barrier
refused 'option -N: options come before the operations' barrier -N 8
refused 'option --per-node: 4096 processes on each of 100000 nodes are more' -N 100000 \
    --per-node 4096 launch
for fault in melt kill=0 kill=99 kill=x kill=1/2 root=1 partition=odd slow=1/0 delay=1/x kill@x \
    kill@1ms:0 stop=1:x "kill=$(printf '%080d' 1)"; do
    refused 'option --fault' -N 8 --fault "$fault" barrier
done

# bad_profile REGEX TEXT
bad_profile() {
    printf '%s' "$2" >"$scratch/profile"
    refused "$1" --profile "$scratch/profile" barrier
}
bad_profile 'profile:1:.*' '{"version": 1'
bad_profile 'is not a profile' '[]'
bad_profile 'is not a profile' '{"version": 2}'
bad_profile "'speed' is not a field" '{"version": 1, "speed": "1us"}'
bad_profile 'profile: latency: .fast. is not a time' '{"version": 1, "latency": "fast"}'
bad_profile 'latency is neither' '{"version": 1, "latency": [1]}'
bad_profile 'duplicate' '{"version": 1, "latency": "1us", "latency": "2us"}'
head -c 70000 /dev/zero | tr '\0' ' ' >"$scratch/profile"
refused 'more than 65536 bytes' --profile "$scratch/profile" barrier

# ---- figures ----
# took OPERATION: of the last JSON, in ns.
took() {
    python3 -c '
import json, sys
for row in json.load(open(sys.argv[1]))[0]["operations"]:
    if row["operation"] == sys.argv[2]:
        print(row["took_ns"])' "$scratch/json" "$1"
}
sim() {
    "$banyan" sim --json "$@" >"$scratch/json"
}
free='--send-byte 0 --receive-byte 0 --cpu-send 0 --cpu-receive 0'
sim -N 8 --radix 8 $free --latency 50us barrier
is "$(took barrier)" 100000 "a barrier under one root takes there and back"
sim -N 8 --radix 8 $free --latency 50us --set 1,2 barrier
is "$(took barrier)" 100000 "so it does for two of its children"
sim -N 6 --radix 2 $free --latency 10us barrier
is "$(took barrier)" 40000 "one of two levels takes two hops each way"
sim -N 8 --radix 8 $free --latency 50us --send-byte 1ns broadcast=1M
short=$(took broadcast=1048576)
ok "a broadcast takes its bytes ($short ns)" test "$short" -gt 1048576
# at_most OPERATION NS: the last of that name took no longer.
at_most() {
    local took
    took=$(took "$1" | tail -n 1)
    ok "$1 takes $took ns, at most $2" test "${took:-$2$2}" -le "$2"
}
sim -N 1000 exchange=64 exchange=64 barrier
at_most exchange=64 450000
at_most barrier 340000
sim -N 1024 exchange=8192 exchange=8192
at_most exchange=8192 1800000
if [ -z "${BANYAN_SANITIZERS:-}" ]; then
    sim -N 4096 exchange=1024 exchange=1024
    at_most exchange=1024 1400000
fi
# What a choice by the initial costs takes on networks that are far from them, when links are open:
# 16.9, 13.5 and 14.1 ms; 8.3, 5.5 and 53.0; 23.5 and 65.6.  Daemons measure, and do better.
measured='-N 256 --pause 4s'
slow='--send-byte 10ns --receive-byte 10ns'
sim $measured --latency 1ms exchange=1K exchange=1K exchange=1K
at_most exchange=1024 11000000
sim $measured --latency 1ms broadcast=256K broadcast=256K
at_most broadcast=262144 7500000
sim $measured --latency 1ms broadcast=4M broadcast=4M
at_most broadcast=4194304 9500000
sim $measured $slow exchange=1K exchange=1K exchange=1K
at_most exchange=1024 7500000
sim $measured $slow broadcast=256K broadcast=256K
at_most broadcast=262144 4500000
sim $measured $slow broadcast=4M broadcast=4M
at_most broadcast=4194304 48000000
sim $measured --latency 1ms $slow exchange=1K exchange=1K exchange=1K
at_most exchange=1024 23500000
sim $measured --latency 1ms $slow broadcast=4M broadcast=4M
at_most broadcast=4194304 60000000
printf '{"version": 1, "comment": "mine", "latency": "70us", "cores": 2}' >"$scratch/profile"
sim -N 8 --radix 8 $free --profile "$scratch/profile" barrier
is "$(took barrier)" 140000 "a profile says what things cost"
sim -N 8 --radix 8 $free --profile "$scratch/profile" --latency 50us barrier
is "$(took barrier)" 100000 "an option goes before it"
sim -N 8 --radix 8 $free --latency 0 --cpu-receive 10us barrier
one=$(took barrier)
sim -N 8 --radix 8 $free --latency 0 --cpu-receive 10us --cores 1 barrier
ok "fewer cores take longer ($one, $(took barrier) ns)" test "$(took barrier)" -gt "$one"
sim -N 40 -r 4 --per-node 3 launch barrier broadcast=10K exchange=1K heal=2 end
is "$(python3 -c '
import json, sys
world = json.load(open(sys.argv[1]))[0]
print([row["operation"] for row in world["operations"]], world["failure"], world["nodes"])' \
    "$scratch/json")" \
    "['start', 'launch', 'barrier', 'broadcast=10240', 'exchange=1024', 'heal=2', 'end'] None 40" \
    "all operations end"
sim -N 40 -r 4 barrier grow=20 barrier exchange=10K shrink=15 barrier grow=3 heal=2 end
is "$(python3 -c '
import json, sys
world = json.load(open(sys.argv[1]))[0]
print([(row["operation"], row["places"]) for row in world["operations"]][2:7], world["failure"])' \
    "$scratch/json")" \
    "[('grow=20', 20), ('barrier', 61), ('exchange=10240', 61), ('shrink=15', 15), ('barrier', 46)] None" \
    "it grows and shrinks, and who is new takes part"
for rule in equal single skewed; do
    ok "exchange of $rule sizes" sim -N 100 --sizes $rule exchange=3K
done

if [ -z "${BANYAN_SANITIZERS:-}" ]; then
    sim -N 16384 start launch barrier
    kb=$(sed -n 's/^ *"memory_mb": \([0-9]*\).*/\1/p' "$scratch/json")
    kb=$((kb * 1024 / 16385))
    ok "a node takes less than 8 KB, so that a million fit into 8 GB ($kb KB)" test $kb -lt 8
fi

# ---- faults ----
for fault in kill kill=1@10us stop=2 stop=1@1us:2s stop=0@1us:3s restart=3@0:1s root root@15us break=1 \
    delay=1/30ms:1s slow=1/1000 partition=even partition=random@1us:2s partition=one/4:1s \
    partition=oneway truncate=1 mutate=1 twin=3 secret=3; do
    run "$banyan" sim -N 30 -r 3 --fault "$fault" barrier exchange=100K barrier
    is "$status $err" "0 " "nobody waits for ever: $fault"
done
run "$banyan" sim -N 300 --pause 80s --fault stop=0@1ms:70s barrier barrier barrier
is "$status $(grep -c '^barrier.* 301 ' <<<"$out")" "0 3" "a root that was stopped loses nobody"
run "$banyan" sim -N 300 -r 4 --pause 90s --fault stop=2@1ms:45s --fault kill=1@2ms barrier barrier barrier
is "$(grep -c '^barrier.* 300 ' <<<"$out")" 2 "a death with an heir that is stopped loses only the dead"
run "$banyan" sim -N 300 -r 4 --pause 9s --fault kill=2@1ms --fault kill=1@1ms barrier barrier barrier
is "$(grep -c '^barrier.* 299 ' <<<"$out")" 2 "a death with its heir loses the two, within seconds"
run "$banyan" sim -N 30 -r 3 --fault secret=3 --fault twin=5 barrier barrier
ok "who claims a place disturbs nobody" test "$(grep -c 'ended with:' <<<"$out")" = 0
run "$banyan" sim -N 60 --radix 4 --seeds 30 --random-faults 4 barrier exchange=5K barrier
is "$status $out" "0 30 worlds from seed 1, 0 failed" "thirty worlds with faults"
# 0.80 ms via the meeting point; up and down two trees it took 1.02.
run "$banyan" sim -N 1000 exchange=1K exchange=1K
took=$(awk '/^exchange/ {last = $3} END {print last}' <<<"$out")
ok "1 MB are exchanged by 1,000 nodes in $took ms" awk "BEGIN {exit !($took < 0.9)}"
# A contribution or release that one daemon spoils is told again: each of these hung.
for seed in 14 73 76; do
    run "$banyan" sim --seed $seed -N 30 --radix 3 --jitter 50us --random-faults 3 --fault mutate \
        barrier exchange=20K broadcast=30K barrier heal=2
    is "$status $err" "0 " "nobody waits for ever for a spoiled message (seed $seed)"
done
# What says something else than before costs a place, not the operation.
run "$banyan" sim --seeds 200 -N 30 --radix 3 --jitter 50us --fault mutate=any@0.05ms \
    --fault mutate=any@0.6ms --fault mutate=any@1ms --fault mutate=any@2.1ms --fault mutate=any@3.1ms \
    exchange=200K broadcast=200K exchange=200K
is "$status $out" "0 200 worlds from seed 1, 0 failed" "nor in streams"
# Lateral links idle out while a stream begins, or are lost to somebody who joins anew.
for pause in 9997.60ms 9997.65ms 9997.70ms 9997.75ms; do
    run "$banyan" sim -N 14 --radix 4 --latency 100us --pause $pause broadcast=200K broadcast=200K
    is "$status $err" "0 " "a broadcast as links grow idle, after $pause"
done
run "$banyan" sim -N 14 --radix 4 --latency 100us --sizes single --pause 9994.35ms \
    exchange=400K exchange=400K
is "$status $err" "0 " "an exchange as links grow idle"
for at in 11590us 11594us 11598us; do
    run "$banyan" sim -N 14 --radix 4 --fault kill=5@$at broadcast=200K broadcast=200K barrier
    is "$status $err" "0 " "a broadcast while a relay dies at $at"
done
run "$banyan" sim --seed 1 -N 5 --radix 3 --pause 5s --fault stop=2@1ms:30s barrier barrier heal=2
is "$status $err" "0 " "only the living are chosen to die"
# 10 ms after all have joined, long before a heartbeat; heads die with children of theirs.
sim -N 10000 heal=100
ok "a head and its heir that die together are missed within seconds ($(took heal=100) ns)" \
    test "$(took heal=100)" -lt 5000000000
run "$banyan" sim -N 30 --seeds 2 --latency 20ms --timeout 39ms barrier
is "$status" 1 "what is not over in time is wrong"
like "$err" 'again: banyan sim --seed 2 -N 30 --latency 20ms --timeout 39ms barrier' \
    "and the command that does it again is told"

# ---- the same again ----
worlds=$(for i in 1 2; do
    "$banyan" sim -N 200 --seed 9 --jitter 30us --random-faults 5 --json launch barrier exchange |
        grep -v '"seconds"\|"memory_mb"' | md5sum
done | sort -u | wc -l)
is "$worlds" 1 "a seed makes the same world every time"

# ---- a trace ----
"$banyan" sim -N 100 --trace "$scratch/trace" --trace-places 5 --fault mutate=2 barrier >/dev/null
ok "a trace is what Perfetto reads" python3 -c '
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {event["name"] for event in events if event["ph"] == "X" and event["pid"] == 1}
assert names == {"start", "barrier"}, names
messages = [event for event in events if event["ph"] == "X" and event["pid"] == 2]
assert messages and all(event["tid"] < 5 and event["ts"] >= 0 for event in messages)
assert {event["ph"] for event in events} == {"M", "X", "i"}' "$scratch/trace"

# ---- a recording of real daemons ----
mkdir "$scratch/records"
run "$banyan" run --virtual-nodes 5 --radix 2 --record "$scratch/records" -n 5 true </dev/null
is "$status $err $(ls "$scratch/records" | wc -l)" "0  6" "each daemon records"
like "$(stat -c %a "$scratch/records/"*-3.record)" '^600$' "for the user only"
for place in 0 1 2 3 4 5; do
    run "$banyan" sim --replay "$scratch/records/"*-$place.record
    like "$status $out" "^0 place $place of 6: [0-9]+ steps .*all steps match" \
        "place $place does the same again"
done
record=$(echo "$scratch/records/"*-1.record)
run "$banyan" sim -v --replay "$record"
like "$out" 'send 0 JOIN' "each step can be told"

# A file system that is full ends the recording, and nothing else.
if unshare -m sh -c 'mount -t tmpfs -o size=64k none /mnt' 2>/dev/null; then
    run unshare -m sh -c 'mount -t tmpfs -o size=64k none /mnt && exec "$@"' - "$banyan" run --virtual-nodes 3 \
        --per-node 20 --oversubscribe --record /mnt sh -c 'i=0; while [ $i -lt 99 ]; do echo $i; i=$((i+1)); done' </dev/null
    is "$status $(grep -c . <<<"$out")" "0 5940" "with no space left to record the job runs"
    like "$err" "cannot record to /mnt/.*: No space left on device; the recording ends here" "and it is said"
else
    skip "tmpfs cannot be mounted here"
fi
run "$banyan" run --virtual-nodes 2 --record /nonexistent -n 1 true </dev/null
like "$status $err" '^125 banyan: .*cannot create /nonexistent/' "where nothing can be recorded"
refused 'cannot read recording /nonexistent: No such file' --replay /nonexistent
refused 'option --replay cannot be combined with operations' --replay "$record" barrier
refused 'cannot read recording .*: Is a directory' --replay "$scratch"
refused 'option --json: not available with --replay' --json --replay "$record"
refused 'is not a recording of this version' --replay "$scratch/profile"
head -c 10 "$record" >"$scratch/cut"
refused 'is not a recording of this version' --replay "$scratch/cut"
head -c 30 "$record" >"$scratch/cut"
refused 'cannot decode the configuration' --replay "$scratch/cut"
head -c $(($(stat -c %s "$record") - 5)) "$record" >"$scratch/cut"
run "$banyan" sim --replay "$scratch/cut"
like "$status $out" '^0 .*up to a step that is cut short.*all steps match' \
    "one that ends in the middle is run up to there, and says so"
# Some bytes are others: the core does something else somewhere, or a step cannot be read.
size=$(stat -c %s "$record")
odd=0
for at in $((size / 3)) $((size / 2)) $((size * 2 / 3)); do
    cp "$record" "$scratch/cut"
    printf '\377\377\377\377' | dd of="$scratch/cut" bs=1 seek=$at conv=notrunc status=none
    run "$banyan" sim --replay "$scratch/cut"
    [ "$status" -ne 1 ] && [ "$status" -ne 125 ] || odd=$((odd + 1))
done
ok "a recording that was altered is noticed ($odd of 3)" test $odd -ge 1

# ---- switches ----
# The last exchange, in virtual time, in us. took OPTION...
took() {
    "$banyan" sim --fabric-model fat-tree:8x8x8 --shuffle "$@" exchange=8K exchange=8K |
        awk '$1 == "exchange=8192" { took = $3 } END { printf "%d", took * 1000 }'
}
free=$(took) contended=$(took --oversubscription 4) unshaped=$(took --oversubscription 4 --no-shape)
ok "a tree by the switches suffers less from uplinks that are shared ($free us, $contended and $unshaped)" \
    test "$free" -gt 0 -a "$contended" -ge "$free" -a "$unshaped" -gt $((contended * 2))
run "$banyan" sim --fabric-model fat-tree:4x4x4 --shuffle --no-shape --oversubscription 4,1 exchange=8K
is "$(sed '/virtual time/d' <<<"$out")" "$("$banyan" sim --fabric-model fat-tree:4x4x4 --shuffle --no-shape --oversubscription 4,1 exchange=8K |
    sed '/virtual time/d')" "a seed lists the nodes in the same order each time"
run "$banyan" sim --fabric-model fat-tree:4x4 --oversubscription 4,2 -N 7 barrier
like "$status $out" '^0 7 nodes.*fat-tree:4x4, nodes as listed there, tree by the switches, uplinks 4:1, 2:1' \
    "some of its nodes, and what is simulated"

done_testing
