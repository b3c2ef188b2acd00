#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --trace: the file of a run has the phases of the root and of each node and the times of each rank, set by one clock.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

type -P python3 >/dev/null || skip_all "needs python3"

# check FILE NODES PER_NODE WORDS...: what is wrong with a complete file, a line each; words: begun (a new instance), pmi,
# cut (it may have ended before all was started).
cat >"$scratch/check.py" <<'PY'
import json
import sys

events = json.load(open(sys.argv[1]))
nodes, per_node, words = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
errors = {e["pid"]: e["args"]["clock_error_us"] for e in events
          if e["name"] == "process_labels" and "clock_error_us" in e["args"]}
spans = [e for e in events if e["ph"] == "X"]
wanted = {"banyan run", "root"} | {"v%d" % (i + 1) for i in range(nodes)}
if set(names.values()) != wanted or len(names) != len(wanted):
    print("processes are", sorted(names.values()))
by_name = {name: pid for pid, name in names.items()}


def find(pid, name):
    found = [e for e in spans if e["pid"] == pid and e["name"] == name]
    if len(found) != 1:
        print(names[pid], "has", len(found), "times", name)
        sys.exit()
    return found[0]


for e in spans:
    if e["ts"] < 0 or e["dur"] < 0:
        print("times of", e)
for pid in names:
    for tid in {e["tid"] for e in spans if e["pid"] == pid}:
        mine = sorted((e for e in spans if (e["pid"], e["tid"]) == (pid, tid)),
                      key=lambda e: (e["ts"], -e["dur"]))
        open_ends = []
        for e in mine:
            while open_ends and open_ends[-1] <= e["ts"] + 0.01:
                open_ends.pop()
            if open_ends and e["ts"] + e["dur"] > open_ends[-1] + 0.01:
                print("not nested:", names[pid], e)
            open_ends.append(e["ts"] + e["dur"])
root = by_name["root"]
launch = find(root, "job")["ts"]
if "cut" not in words:
    find(root, "run")
find(by_name["banyan run"], "run" if "begun" in words else "job")
ranks = set()
for number in range(nodes):
    pid = by_name["v%d" % (number + 1)]
    job = find(pid, "job")
    for name in ["start processes", "run", "send last output"] + \
            (["join", "wait for the launch"] if "begun" in words else []):
        find(pid, name)
    if errors[pid] is not None and job["ts"] < launch - errors[pid] - 0.01:
        print(names[pid], "got the launch at", job["ts"], "and the root sent it at", launch)
    if errors[pid] is not None and errors[pid] <= 0:
        print(names[pid], "cannot be that right")
    mine = {e["name"]: e for e in spans if e["pid"] == pid and e["name"].startswith("rank ")}
    if len(mine) != per_node:
        print(names[pid], "has", sorted(mine))
    for name, e in mine.items():
        if threads.get((pid, e["tid"])) != name:
            print("no thread of", name)
        if e["ts"] < job["ts"] or e["ts"] + e["dur"] > job["ts"] + job["dur"] + 0.01:
            print(name, "runs outside the job of", names[pid])
    ranks |= set(mine)
    if "pmi" in words:
        find(pid, "barrier or fence (PMI-1, PMI-2)")
if ranks != {"rank %d" % i for i in range(nodes * per_node)}:
    print("ranks are", sorted(ranks))
total = [e["args"] for e in events if "clock_error_max_us" in e.get("args", {})]
if len(total) != 1 or total[0]["nodes"] != nodes:
    print("in all", total)
PY
check() {
    local name=$1
    shift
    is "$(python3 "$scratch/check.py" "$@" 2>&1)" "" "$name"
}

run "$banyan" run --trace "$scratch/t" --virtual-nodes 4 --radix 2 --per-node 2 sleep 0.5 </dev/null
is "$status$out$err" 0 "a run with --trace"
check "all nodes and ranks are there, in order" "$scratch/t" 4 2 begun

cat >"$scratch/pmi1" <<'SH'
#!/bin/bash
say() {
    printf '%s\n' "$1" >&"$PMI_FD"
    read -r answer <&"$PMI_FD"
}
say 'cmd=init pmi_version=1 pmi_subversion=1'
say 'cmd=barrier_in'
say 'cmd=finalize'
SH
chmod +x "$scratch/pmi1"
run "$banyan" run --trace "$scratch/t" --virtual-nodes 3 --per-node 1 --mpi pmi1 "$scratch/pmi1" </dev/null
is "$status" 0 "one with a barrier"
check "the barrier is there" "$scratch/t" 3 1 begun pmi

run "$banyan" run --trace "$scratch/t" --virtual-nodes 2 --per-node 2 --on-failure continue \
    sh -c 'sleep 0.3; exit $((BANYAN_RANK % 2 * 3))' </dev/null
is "$status" 3 "one that fails"
check "has one, too" "$scratch/t" 2 2 begun
ok "which says how a rank ended" grep -q '"exited with status 3"' "$scratch/t"

run "$banyan" run --trace "$scratch/t" --virtual-nodes 1 --per-node 80 true </dev/null
is "$status $(grep -c '"ph":"X".*"rank ' "$scratch/t") $(grep -c '"ranks_left_out":16' "$scratch/t")" "0 64 1" \
    "of a node with many ranks some are left out, and counted"

# Interrupted, and killed.
"$banyan" run --trace "$scratch/t" --virtual-nodes 2 --per-node 1 sh -c 'touch "$0.$BANYAN_RANK"; exec sleep 1000' \
    "$scratch/mark" </dev/null >"$scratch/out" 2>&1 &
pid=$!
for _ in {1..600}; do
    [ -e "$scratch/mark.0" ] && [ -e "$scratch/mark.1" ] && break
    sleep 0.1
done
kill -TERM $pid
wait $pid
is $? 143 "a run that is interrupted"
check "leaves a complete file" "$scratch/t" 2 1 begun cut
rm -f "$scratch"/mark.*
"$banyan" run --trace "$scratch/t" --virtual-nodes 2 --per-node 1 sh -c 'touch "$0.$BANYAN_RANK"; exec sleep 1000' \
    "$scratch/mark" </dev/null >"$scratch/out" 2>&1 &
pid=$!
for _ in {1..600}; do
    [ -e "$scratch/mark.0" ] && [ -e "$scratch/mark.1" ] && break
    sleep 0.1
done
kill -KILL $pid
wait $pid 2>/dev/null
ok "one that is killed leaves whole events" python3 -c 'import json, sys
json.loads(open(sys.argv[1]).read() + "]")' "$scratch/t"

# A job of an instance.
dir=$("$banyan" start --virtual-nodes 2 --slots 2 --daemonize 2>/dev/null)
run "$banyan" run --instance "$dir" true </dev/null
run "$banyan" run --instance "$dir" --trace "$scratch/t" --per-node 1 sleep 0.3 </dev/null
is "$status$err" 0 "a job of an instance"
check "has no start of nodes" "$scratch/t" 2 1
run "$banyan" stop --instance "$dir" </dev/null

refuses 125 "option --trace: cannot write /nonexistent/t: No such file" "a file that cannot be" \
    run --trace /nonexistent/t --virtual-nodes 1 touch "$scratch/started"
ok "nothing was started" test ! -e "$scratch/started"
refuses 125 "option --trace cannot be used with --detach" "detached" run --detach --trace "$scratch/t" true
refuses 125 "option --trace cannot be used with --no-daemons" "without daemons" \
    run --no-daemons --trace "$scratch/t" -H localhost true

nothing_left_within 30 none "nothing is left"
# Where the tree goes by the switches the parent is another node.
printf '%s\n' 'SwitchName=a Nodes=v[1,3]' 'SwitchName=b Nodes=v[2,4]' 'SwitchName=t Switches=a,b' >"$scratch/topology.conf"
run "$banyan" run --virtual-nodes 4 --radix 2 --fabric-topology "$scratch/topology.conf" -N 1 --trace "$scratch/shaped.json" \
    true </dev/null
is "$status-$(python3 "$scratch/check.py" "$scratch/shaped.json" 4 1 begun)" "0-" "of a tree that follows switches, too"
done_testing
