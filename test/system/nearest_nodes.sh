#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# contrib/scheduler/nearest.c, a plugin of another scheduler: which free nodes it chooses by the costs of
# libbanyan-fabric, beside the best choice of all, and after the network has changed.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

sanitizers=${BANYAN_SANITIZERS:-}
export LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
compile() {
    # shellcheck disable=SC2086
    ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror $sanitizers -I"$srcdir/contrib/scheduler" "$@" \
        >"$scratch/build.log" 2>&1 || { diag "$(cat "$scratch/build.log")"; return 1; }
}
ok "the plugin is built" compile -shared -fPIC -I"$srcdir/fabric" -o "$scratch/nearest.so" \
    "$srcdir/contrib/scheduler/nearest.c" -L"$top_builddir/.libs" -lbanyan-fabric -pthread
ok "and a scheduler" compile -I"$top_builddir" -o "$scratch/select_nodes" \
    "$srcdir/test/tool/select_nodes.c" -ldl
topology=$scratch/topology.conf

# describe NODES_OF_S1: as another file that is renamed.
describe() {
    printf 'SwitchName=s1 Nodes=%s\nSwitchName=s2 Nodes=n[7-12]\nSwitchName=s3 Nodes=n[13-18]\n' "$1" \
        >"$topology.new"
    printf 'SwitchName=pod Switches=s[1-2]\nSwitchName=top Switches=pod,s3\n' >>"$topology.new"
    mv "$topology.new" "$topology"
}

# chooses REQUEST ANSWER NAME
chooses() {
    is "$(echo "$1" | "$scratch/select_nodes" "$scratch/nearest.so" "$topology" 2>&1)" "$2" "$3"
}

describe 'n[1-6]'
chooses "3 n1 n2 n7 n8 n9" "n7 n8 n9" "one switch that has enough"
chooses "3 n1 n2 n13 n14 n7" "n1 n2 n7" "else a neighbour below the same pod"
chooses "1 n9 n1" "n9" "the first of equals"
chooses "2 n9 n1" "n9 n1" "all, in their order"
chooses "0 n9 n1" "" "none"
chooses "3 n9 n1" "error: 3 nodes were asked for, 2 are free" "too many"
chooses "1 n1 n19" "error: node n19 is not in the fabric" "an unknown node"
chooses "" "" "no request"
echo 'SwitchName=s1 Nodes=n[' >"$topology"
run "$scratch/select_nodes" "$scratch/nearest.so" "$topology" </dev/null
like "$status $err" "^1 nearest: $topology: line 1: " "a wrong description"
run "$scratch/select_nodes" "$scratch/none.so" "$topology" </dev/null
like "$status $err" "^2 select_nodes: .*none.so" "a plugin that does not exist"

# ---- After a change ----

describe 'n[1-6]'
mkfifo "$scratch/requests" "$scratch/answers"
"$scratch/select_nodes" "$scratch/nearest.so" "$topology" <"$scratch/requests" >"$scratch/answers" &
pid=$!
exec 7>"$scratch/requests" 8<"$scratch/answers"
# answers REQUEST ANSWER
answers() {
    local answer
    echo "$1" >&7
    IFS= read -r -t 60 answer <&8 || return 2
    [ "$answer" = "$2" ]
}
ok "a scheduler that stays" answers "2 n1 n7 n2" "n1 n2"
describe 'n[1,3-6,20-90]'
ok "learns of nodes that are added" until_true 60 answers "2 n20 n7 n90" "n20 n90"
ok "and of one that is removed" answers "1 n1 n2" "error: node n2 is not in the fabric"
exec 7>&- 8<&-
wait "$pid"
is $? 0 "and ends well"

# ---- The best of all ----

cat >"$scratch/compare.py" <<'END'
import itertools
import random
import subprocess
import sys

banyan, select, plugin, path = sys.argv[1:]
rng = random.Random(14)
worst, equal, cases = 1.0, 0, 0


def describe():
    """A tree of pods, switches and nodes, of any sizes."""
    lines, names, switch = [], [], 0
    pods = rng.randint(1, 3)
    for pod in range(pods):
        below = []
        for _ in range(rng.randint(1, 3)):
            count = rng.randint(1, 5)
            nodes = [f"n{len(names) + i + 1}" for i in range(count)]
            names += nodes
            lines.append(f"SwitchName=s{switch} Nodes={','.join(nodes)}")
            below.append(f"s{switch}")
            switch += 1
        lines.append(f"SwitchName=p{pod} Switches={','.join(below)}")
    lines.append(f"SwitchName=top Switches=p[0-{pods - 1}]")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    return names


def costs():
    text = subprocess.run([banyan, "fabric", "--topology", path, "--matrix"], check=True,
                          capture_output=True, text=True).stdout.split("\n")
    names = text[0].split(",")[1:]
    return {(row.split(",")[0], name): int(cost) for row in text[1:] if row
            for name, cost in zip(names, row.split(",")[1:])}


for _ in range(12):
    names, requests = describe(), []
    cost = costs()
    for _ in range(6):
        free = rng.sample(names, min(len(names), rng.randint(1, 10)))
        requests.append((rng.randint(1, len(free)), free))
    lines = "".join(f"{count} {' '.join(free)}\n" for count, free in requests)
    answers = subprocess.run([select, plugin, path], input=lines, check=True, capture_output=True,
                             text=True).stdout.split("\n")
    for (count, free), answer in zip(requests, answers):
        chosen = answer.split()
        total = {nodes: sum(cost[pair] for pair in itertools.permutations(nodes, 2))
                 for nodes in itertools.combinations(free, count)}
        assert len(chosen) == count == len(set(chosen)) and set(chosen) <= set(free), answer
        best, own = min(total.values()), total[tuple(chosen)]
        assert own < 2 * best or own == best, (free, answer, own, best)
        equal += own == best
        cases += 1
print(cases, "cases,", "most" if equal * 4 >= cases * 3 else f"only {equal}", "are the best")
END
if command -v python3 >/dev/null; then
    is "$(python3 "$scratch/compare.py" "$banyan" "$scratch/select_nodes" "$scratch/nearest.so" "$topology" 2>&1)" \
        "72 cases, most are the best" "no choice is twice as dear as the best one"
else
    skip "no python3"
fi
done_testing
