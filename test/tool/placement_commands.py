#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Random commands of `banyan map`, written as a user writes them, against placement_reference.py:

    placement_commands.py BANYAN CASES [SEED]

Here the options, the files and the output are compared, too: --host and --slots, modifiers behind the
mapping and options beside it, rank files, seq, several applications, nodes with topologies of their
own, in hwloc's words or as a file of which not all threads may be used.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

import placement_reference

# hwloc's words: packages, cores of a package, threads of a core.
SHAPES = [(1, 2, 1), (1, 4, 2), (2, 2, 1), (2, 2, 2), (2, 3, 1), (3, 2, 2)]
LEVELS = ["core", "hwthread", "package", "numa"]


def machine(shape, allowed=None):
    packages, cores, threads = shape
    count = packages * cores * threads
    none = [-1] * count
    package = [thread // (cores * threads) for thread in range(count)]
    return {"os": list(range(count)), "package": package, "numa": [0] * count,
            "l3cache": none, "l2cache": none, "l1cache": none,
            "core": [thread // threads for thread in range(count)],
            "numa_os": [0], "allowed": allowed or list(range(count)), "devices": []}


def write_xml(path, cores, allowed):
    """A package of cores with one thread; what is not allowed is there, but not for us."""
    whole = f"0x{(1 << cores) - 1:08x}"
    some = f"0x{sum(1 << thread for thread in allowed):08x}"
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<topology version="2.0">',
             f'<object type="Machine" os_index="0" cpuset="{whole}" complete_cpuset="{whole}" '
             f'allowed_cpuset="{some}" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" '
             'gp_index="1">',
             f'<object type="NUMANode" os_index="0" cpuset="{whole}" complete_cpuset="{whole}" '
             'nodeset="0x1" complete_nodeset="0x1" gp_index="2" local_memory="1073741824"/>',
             f'<object type="Package" os_index="0" cpuset="{whole}" complete_cpuset="{whole}" '
             'nodeset="0x1" complete_nodeset="0x1" gp_index="3">']
    for thread in range(cores):
        place = f'os_index="{thread}" cpuset="0x{1 << thread:08x}" ' \
                f'complete_cpuset="0x{1 << thread:08x}" nodeset="0x1" complete_nodeset="0x1"'
        lines.append(f'<object type="Core" {place} gp_index="{10 + thread}">'
                     f'<object type="PU" {place} gp_index="{50 + thread}"/></object>')
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines + ["</object></object></topology>", ""]))


def make_machines(dice, nodes, directory):
    """A machine for each node, and what --topology says of them."""
    machines, words, first = [], [], 0
    while first < nodes:
        count = dice.randint(1, nodes - first) if dice.random() < 0.6 else nodes - first
        if dice.random() < 0.3:
            cores = dice.randint(2, 8)
            allowed = sorted(dice.sample(range(cores), dice.randint(1, cores)))
            path = os.path.join(directory, f"m{first}.xml")
            write_xml(path, cores, allowed)
            described, text = machine((1, cores, 1), allowed), path
        else:
            shape = dice.choice(SHAPES)
            described, text = machine(shape), "package:%d core:%d pu:%d" % shape
        machines += [described] * count
        first += count
        last = first == nodes and dice.random() < 0.5
        words.append(text if last else f"n[{first - count + 1}-{first}]={text}")
    return machines, ";".join(words)


def make_list(dice, app, nodes, directory, number):
    """A rank file, in any order, or the nodes of seq."""
    app.update(map="list", list=[dice.randrange(nodes) for _ in range(dice.randint(1, 8))], n=0)
    lines = []
    is_rankfile = dice.random() < 0.6
    if is_rankfile and dice.random() < 0.5:
        app["cores"] = [sorted({dice.randrange(4) for _ in range(2)}) for _ in app["list"]]
    for rank, node in enumerate(app["list"]):
        name = f"+n{node}" if dice.random() < 0.3 else f"n{node + 1}"
        slots = " slot=" + ",".join(map(str, app["cores"][rank])) if "cores" in app else ""
        lines.append(f"rank {rank}={name}{slots}" if is_rankfile else f"{name} # {rank}")
    if is_rankfile:
        dice.shuffle(lines)
    path = os.path.join(directory, f"list{number}")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    return f"rankfile:{path}" if is_rankfile else f"seq:{path}"


def make_app(dice, nodes, slots, directory, number):
    """The application as the reference takes it, and its options."""
    app = {"map": "slot", "n": 0, "pe": 0, "span": 0, "per_node": 0, "oversubscribe": 0,
           "overload": 0, "rank_by": "default", "bind": "default", "gpus": 0, "memory": 0}
    options, modifiers = [], []
    kind = dice.random()
    is_cpus = kind > 0.9
    if is_cpus:
        parts = dice.sample(["0", "1", "2-3", "4", "5"], dice.randint(1, 3))
        mapping = "pe-list=" + ",".join(parts)
        app["map"] = mapping
        if dice.random() < 0.5:
            app["map"] += ":ordered"
            modifiers.append("ordered")
    elif kind < 0.15:
        mapping = make_list(dice, app, nodes, directory, number)
    elif kind < 0.3:
        mapping = app["map"] = f"ppr:{dice.randint(1, 2)}:{dice.choice(LEVELS + ['node'])}"
    else:
        mapping = app["map"] = dice.choice(LEVELS + ["slot", "node"])
    plain = app["map"] != "list" and not app["map"].startswith("ppr")
    if app["map"] != "list" and dice.random() < 0.7:
        app["n"] = dice.randint(1, max(1, slots))
        options += [dice.choice(["-n", "--np"]), str(app["n"])]
    if plain and dice.random() < 0.15:
        app["per_node"] = dice.randint(1, 3)
        options += ["-N", str(app["per_node"])]
    elif plain and not is_cpus and dice.random() < 0.3:
        app["span"] = 1
        modifiers.append("span")
    if app["map"] != "list" and not is_cpus and dice.random() < 0.2:
        app["pe"] = dice.randint(1, 3)
        modifiers.append(f"pe={app['pe']}") if dice.random() < 0.5 else \
            options.extend(["--cpus-per-rank", str(app["pe"])])
    if dice.random() < 0.4:
        app["oversubscribe"] = 1
        modifiers.append("oversubscribe") if app["map"] != "list" and dice.random() < 0.5 else \
            options.append("--oversubscribe")
    if mapping != "slot" or modifiers or dice.random() < 0.5:
        dice.shuffle(modifiers)
        options += ["--map-by", mapping + (":" + ",".join(modifiers) if modifiers else "")]
    if app["map"] != "list" and dice.random() < 0.3:
        app["rank_by"] = dice.choice(["slot", "node", "span", "fill"])
        options += ["--rank-by", app["rank_by"]]
    if dice.random() < 0.4:
        app["bind"] = dice.choice(LEVELS + ["none"])
        app["overload"] = int(app["bind"] != "none" and dice.random() < 0.5)
        options += ["--bind-to", app["bind"] + (":overload-allowed" if app["overload"] else "")]
    return app, options


def make_case(dice, directory):
    nodes = dice.randint(1, 6)
    machines, words = make_machines(dice, nodes, directory)
    command = ["--topology", words]
    if dice.random() < 0.5:
        slots = [dice.randint(1, 5) for _ in range(nodes)]
        command += ["--host", ",".join(f"n{k + 1}:{count}" for k, count in enumerate(slots))]
    elif dice.random() < 0.5:
        slots = [dice.randint(1, 5)] * nodes
        command += ["--nodes", f"n[1-{nodes}]", "--slots", str(slots[0])]
    else:
        slots = [len(set(described["core"])) for described in machines]
        command += ["--nodes", f"n[1-{nodes}]"]
    case = {"nodes": [{"slots": slots[k], "excluded": 0, "machine": machines[k]}
                      for k in range(nodes)], "apps": []}
    app, options = make_app(dice, nodes, sum(slots), directory, 0)
    case["apps"].append(app)
    command += options
    if dice.random() < 0.15:  # inherits what it does not say, but for -n and -N
        other = dict(app, n=dice.randint(1, 3), per_node=0)
        if app["map"] != "list" and not app["map"].startswith("ppr"):
            case["apps"].append(other)
            command += ["true", ":", "-n", str(other["n"])]
    return case, command + ["true"]


def ask(banyan, command):
    """What banyan answers, in the reference's form; None if it refuses."""
    run = subprocess.run([banyan, "map", "--json", *command], capture_output=True, text=True,
                         timeout=60, check=False, stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        if run.returncode != 125 or not run.stderr.startswith("banyan: "):
            raise RuntimeError(f"{command}: {run.returncode}: {run.stderr}")
        return None, run.stderr.strip()
    ranks = {}
    for node in json.loads(run.stdout)["nodes"]:
        for process in node["processes"]:
            cpus = []
            for part in process.get("cpus", "").split(","):
                first, _, last = part.partition("-")
                cpus += range(int(first), int(last or first) + 1) if part else []
            ranks[process["rank"]] = [int(node["node"][1:]) - 1, process["application"], cpus, [], []]
    return [ranks[rank] for rank in range(len(ranks))], None


def main():
    banyan, cases = sys.argv[1], int(sys.argv[2])
    dice = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    refused = wrong = 0
    for _ in range(cases):
        with tempfile.TemporaryDirectory() as directory:
            case, command = make_case(dice, directory)
            expected, reason = placement_reference.answer(case)
            got, words = ask(banyan, command)
        refused += expected is None
        if got != expected:
            wrong += 1
            if wrong <= 5:
                print("command", " ".join(f"'{word}'" for word in command))
                print("  banyan   ", words or got)
                print("  reference", reason or expected)
    print(f"{cases} commands, {refused} of them refused, {wrong} differ")
    return 1 if wrong or refused > 3 * cases // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
