#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# placement-peers.py BANYAN [CASES [SEED]]: random placements by banyan map, Open MPI's orterun
# (--display-map --do-not-launch) and MPICH's hydra, side by side. Every case that differs is printed
# with its reason; doc/placement.rst, "Beside others", says why. Ends with 1 if one has no reason.
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "data", "gpus.xml")
LEVELS = {"core": 4, "socket": 2, "numa": 2, "hwthread": 4}  # objects of a node of DATA


def banyan(command, case):
    run = subprocess.run([command, "map", "--nodes", case["hosts"], "--topology", DATA, "--json",
                          *case["banyan"]], capture_output=True, text=True, timeout=20, check=False)
    if run.returncode != 0:
        return None
    nodes = json.loads(run.stdout)["nodes"]
    return {n["node"]: sorted(p["rank"] for p in n["processes"]) for n in nodes if n["processes"]}


def orterun(case, hostfile):
    run = subprocess.run(["orterun", "--allow-run-as-root", "--hostfile", hostfile, "-mca", "plm",
                          "rsh", "-mca", "hwloc_base_topo_file", DATA, "--display-map",
                          "--do-not-launch", *case["orterun"], "hostname"],
                         capture_output=True, text=True, timeout=20, check=False,
                         stdin=subprocess.DEVNULL)
    result, node = {}, None
    for line in run.stdout.splitlines():
        found = re.search(r"Data for node: (\S+)", line)
        if found:
            node = found.group(1)
        found = re.search(r"Process rank: (\d+)", line)
        if found:
            result.setdefault(node, []).append(int(found.group(1)))
    return {n: sorted(r) for n, r in result.items()} or None


def hydra(case, hostfile):
    """Its proxies' shares; it would wait for its launcher for ever, so it is ended then."""
    run = subprocess.Popen(["stdbuf", "-oL", "mpiexec.hydra", "-f", hostfile, "-launcher", "ssh",
                            "-launcher-exec", "/bin/false", "-verbose", *case["hydra"],
                            "hostname"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           stdin=subprocess.DEVNULL, text=True)
    counts, node, total = {}, None, 0
    patience = threading.Timer(3, run.kill)
    patience.start()
    for line in run.stdout:
        found = re.search(r"proxy: (\S+)", line)
        if found:
            node = found.group(1)
        found = re.search(r"Exec list: .*\((\d+) processes\)", line)
        if found:
            counts[node] = counts.get(node, 0) + int(found.group(1))
            total += int(found.group(1))
        if total >= case["n"]:
            break
    patience.cancel()
    run.kill()
    run.wait()
    return counts


def make_case(seed, peer):
    rng = random.Random(seed)
    slots = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    n = rng.randint(1, sum(slots) + (2 if rng.random() < 0.2 else 0))
    case = {"slots": slots, "n": n, "hosts": ",".join(f"n{i}:{s}" for i, s in enumerate(slots))}
    over = rng.random() < 0.3
    case["over"] = over
    flags = ["--oversubscribe"] if over else []
    if peer == "hydra":
        case["kind"] = "slot"
        case["banyan"], case["hydra"] = ["-n", str(n), *flags], ["-n", str(n)]
        return case
    kind = rng.choice(["slot", "node", "core", "socket", "numa", "span", "ppr", "npernode"])
    case["kind"] = kind
    ours = theirs = ["--map-by", kind]
    if kind == "span":
        ours = theirs = ["--map-by", rng.choice(["socket", "numa"]) + ":span"]
    if kind == "ppr":
        ours = theirs = ["--map-by", f"ppr:{rng.randint(1, 2)}:{rng.choice(['node', 'socket'])}"]
    if kind == "npernode":
        k = str(rng.randint(1, 3))
        ours, theirs = ["-N", k], ["-npernode", k]
    case["banyan"] = ["-n", str(n), *ours, *flags]
    case["orterun"] = ["-n", str(n), *theirs, *flags]
    return case


def counts_of(placement):
    return placement and {node: len(ranks) for node, ranks in placement.items()}


def reason_orterun(case, ours, theirs):
    if theirs is None and ours is not None:
        return "orterun refuses what fits" if case["n"] <= sum(case["slots"]) else None
    if ours is None:
        return "banyan refuses more than slots" if case["kind"] in ("ppr", "npernode") else \
            "orterun places more than there are slots" if case["n"] > sum(case["slots"]) else None
    over = case["n"] > sum(case["slots"])
    if counts_of(ours) == counts_of(theirs):
        return "numbering of span" if case["kind"] == "span" else \
            "numbering when oversubscribed" if over else \
            "numbering of ppr" if case["kind"] in ("ppr", "npernode") else None
    if over:
        return "who gets the surplus when oversubscribed"
    if case["kind"] == "span":
        return "span balances nodes, not objects"
    if case["kind"] == "node":
        return "by node: the rest after a node is full"
    return None


def reason_hydra(case, ours, theirs):
    if ours is None and case["n"] > sum(case["slots"]):
        return "hydra oversubscribes without being asked"
    if case["n"] > sum(case["slots"]):
        return "who gets the surplus when oversubscribed"
    return None


def compare(command, peer, case, tally):
    mark = ":" if peer == "hydra" else " slots="
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
        hosts.writelines(f"n{i}{mark}{s}\n" for i, s in enumerate(case["slots"]))
        hosts.flush()
        ours = banyan(command, case)
        theirs = orterun(case, hosts.name) if peer == "orterun" else hydra(case, hosts.name)
    if (ours if peer == "orterun" else counts_of(ours)) == theirs:
        tally[peer, "the same"] += 1
        return True
    why = (reason_orterun if peer == "orterun" else reason_hydra)(case, ours, theirs)
    tally[peer, why or "UNEXPLAINED"] += 1
    print(f"{peer}: {why or 'UNEXPLAINED'}: {case['hosts']} {' '.join(case['banyan'])}: "
          f"banyan {ours}, {peer} {theirs}")
    return why is not None


def main():
    command = sys.argv[1]
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    tally = collections.Counter()
    all_right = True
    for i in range(cases):
        peer = "hydra" if i % 5 == 4 else "orterun"
        all_right &= compare(command, peer, make_case(seed * 1000003 + i, peer), tally)
    for (peer, what), count in sorted(tally.items()):
        print(f"# {peer}: {what}: {count}")
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
