#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# A slow mapper, written from doc/placement.rst and nothing else. It reads cases with banyan's answers
# (test/place_cases.c), one JSON object a line, deals every process by hand and tells the first case
# that differs.
import json
import sys


class Refused(Exception):
    pass


WIDE = ("l1cache", "l2cache", "l3cache", "numa", "package")


class Node:
    """A node's usable threads, objects and units."""

    def __init__(self, number, description, in_threads):
        machine = description["machine"]
        self.number = number
        self.slots = description["slots"]
        self.takes_part = self.slots > 0 and not description["excluded"]
        self.machine = machine
        allowed = set(machine["allowed"])
        self.threads = [t for t in range(len(machine["os"])) if machine["os"][t] in allowed]
        self.units = self.list_units(in_threads)
        self.taken = [0] * len(self.units)
        self.used_slots = 0
        self.used_units = 0
        self.is_overloaded = False
        self.seats = []

    def object_of(self, level, thread):
        """Number in hwloc's order, -1 if the thread is in none."""
        if level == "node":
            return 0
        if level == "hwthread":
            return thread
        return self.machine[level][thread]

    def objects(self, level):
        return sorted({self.object_of(level, t) for t in self.threads} - {-1})

    def list_units(self, in_threads):
        """Each unit is the list of its threads."""
        cores = [[t for t in self.threads if self.machine["core"][t] == core]
                 for core in self.objects("core")]
        if not in_threads:
            return cores
        units = []
        for turn in range(max(len(core) for core in cores)):
            units += [[core[turn]] for core in cores if turn < len(core)]
        return units

    def units_of(self, level, number):
        return [u for u in range(len(self.units))
                if self.object_of(level, self.units[u][0]) == number]


def parse_map(rule):
    words = rule["map"].split(":")
    if words[0] == "ppr":
        return "ppr", words[2], int(words[1])
    if words[0] in ("slot", "node", "list"):
        return words[0], "node", rule["per_node"]
    return "object", words[0], rule["per_node"]


def wants_topology(rule):
    kind, level, _ = parse_map(rule)
    return (kind == "object" or (kind == "ppr" and level != "node") or rule["pe"] > 0
            or rule["bind"] not in ("default", "none"))


def bind_level(rule):
    """The level, or None."""
    kind, level, _ = parse_map(rule)
    if rule["bind"] == "none":
        return None
    if rule["bind"] != "default":
        return rule["bind"]
    if rule["pe"] > 0:
        return "unit"
    if kind in ("object", "ppr") and level != "node":
        return level
    return None


def deal(rule, nodes):
    """How many processes each node gets: a list beside nodes."""
    kind, level, per = parse_map(rule)
    exact = per > 0
    whole, free, width = [], [], []
    for node in nodes:
        there = len(node.objects(level))
        slots_left = max(0, node.slots - node.used_slots)
        units_left = max(0, len(node.units) - node.used_units)
        if exact:
            w = per * there if kind == "ppr" else per
            f = w
        elif rule["pe"] > 0:
            w = min(node.slots, len(node.units) // rule["pe"])
            f = min(slots_left, units_left // rule["pe"])
        else:
            w, f = node.slots, slots_left
        whole.append(w)
        free.append(f if w > 0 else 0)
        if kind == "node":
            width.append(1)
        elif rule["span"]:
            width.append(there if kind == "object" else 1)
        else:
            width.append(w)
    wanted = rule["n"] or sum(free)
    if wanted == 0 or sum(whole) == 0:
        raise Refused("nothing to place")
    if wanted > sum(free) and (exact or not rule["oversubscribe"]):
        raise Refused("too many")
    counts = [0] * len(nodes)
    left = wanted
    while left > 0 and any(counts[i] < free[i] for i in range(len(nodes))):
        for i in range(len(nodes)):
            more = min(width[i], free[i] - counts[i], left)
            counts[i] += more
            left -= more
    while left > 0:
        for i in range(len(nodes)):
            more = min(width[i], left) if whole[i] > 0 else 0
            counts[i] += more
            left -= more
    if exact and not rule["oversubscribe"]:
        for node, count in zip(nodes, counts):
            if count > max(0, node.slots - node.used_slots):
                raise Refused("more than slots")
    return counts


def deal_list(rule, nodes):
    if rule["n"] not in (0, len(rule["list"])):
        raise Refused("another number")
    counts = [rule["list"].count(node.number) for node in nodes]
    if sum(counts) != len(rule["list"]):
        raise Refused("a node that takes no part")
    for node, count in zip(nodes, counts):
        if count > max(0, node.slots - node.used_slots) and not rule["oversubscribe"]:
            raise Refused("more than slots")
    return counts


def seat(rule, node, count):
    """The (object, units) of an application's processes on a node, as they are dealt."""
    kind, level, per = parse_map(rule)
    if kind == "ppr":
        cycle = level
    else:
        cycle = level if level in WIDE else "node"
    objects = node.objects(cycle)
    wanted = rule["pe"] or 1
    units = {o: node.units_of(cycle, o) for o in objects}
    position = 0
    seats = []
    for dealt in range(count):
        if kind == "ppr":
            own = objects[dealt // per]
        else:
            turn = objects[position:] + objects[:position]
            fits = [o for o in turn if sum(node.taken[u] == 0 for u in units[o]) >= wanted]
            own = fits[0] if fits else turn[0]
            position = (objects.index(own) + 1) % len(objects)
        if len(units[own]) < wanted:
            raise Refused("an object with too few units")
        chosen = sorted(units[own], key=lambda u: (node.taken[u], u))[:wanted]
        for unit in chosen:
            node.is_overloaded |= node.taken[unit] > 0
            node.taken[unit] += 1
        seats.append((objects.index(own), chosen))
    return seats


def number(rule, nodes, counts, seats):
    """The (node, seat) of each process of the application, by rank."""
    kind, level, _ = parse_map(rule)
    by = rule["rank_by"]
    if by == "default":
        by = "node" if kind == "node" else "span" if rule["span"] else "slot"
    if kind == "list":
        position = {node.number: 0 for node in nodes}
        order = []
        for name in rule["list"]:
            index = [n.number for n in nodes].index(name)
            order.append((index, position[name]))
            position[name] += 1
        return order
    if by in ("slot", "fill"):
        order = []
        for i in range(len(nodes)):
            own = list(range(counts[i]))
            if by == "fill":
                own.sort(key=lambda s: seats[i][s][0])
            order += [(i, s) for s in own]
        return order
    order = []
    done = [0] * len(nodes)
    while len(order) < sum(counts):
        for i, node in enumerate(nodes):
            at_a_time = 1
            if by == "span" and kind in ("object", "ppr"):
                at_a_time = len(node.objects(level))
            for _ in range(min(at_a_time, counts[i] - done[i])):
                order.append((i, done[i]))
                done[i] += 1
    return order


def bind(rule, node, units, in_threads, job_wants):
    level = bind_level(rule)
    if not job_wants or level is None:
        return []
    if node.is_overloaded and rule["bind"] in ("default",):
        return []
    if level == "unit":
        level = "hwthread" if in_threads_of(rule) else "core"
    bound = set()
    for unit in units:
        for home in node.units[unit]:
            own = node.object_of(level, home)
            bound |= {t for t in node.threads if node.object_of(level, t) == own}
    return sorted(node.machine["os"][t] for t in bound)


def in_threads_of(rule):
    kind, level, _ = parse_map(rule)
    return level == "hwthread" or rule["bind"] == "hwthread"


def place(case):
    rules = case["apps"]
    in_threads = any(in_threads_of(rule) for rule in rules)
    job_wants = any(wants_topology(rule) for rule in rules)
    nodes = [Node(i, d, in_threads) for i, d in enumerate(case["nodes"])]
    nodes = [node for node in nodes if node.takes_part]
    orders = []
    for rule in rules:
        kind, level, _ = parse_map(rule)
        if kind != "list":
            for node in nodes:
                bound = bind_level(rule)
                if bound == "unit" or bound is None:
                    bound = "node"
                if not node.objects(level) or not node.objects(bound):
                    raise Refused("no such object")
        counts = deal_list(rule, nodes) if kind == "list" else deal(rule, nodes)
        seats = []
        for node, count in zip(nodes, counts):
            seats.append(seat(rule, node, count) if job_wants else [(0, [])] * count)
            node.used_slots += count
            node.used_units += count * (rule["pe"] or 1)
        orders.append((rule, counts, seats, number(rule, nodes, counts, seats)))
    check_overload(rules, nodes, orders, in_threads)
    result = []
    for app, (rule, _, seats, order) in enumerate(orders):
        for index, position in order:
            node = nodes[index]
            cpus = bind(rule, node, seats[index][position][1], in_threads, job_wants)
            result.append([node.number, app, cpus])
    return result


def check_overload(rules, nodes, orders, in_threads):
    for rule, counts, _, _ in orders:
        for node, count in zip(nodes, counts):
            if count == 0 or not node.is_overloaded or rule["overload"]:
                continue
            if rule["bind"] not in ("default", "none"):
                raise Refused("overloaded")
            if rule["pe"] > 0 and rule["bind"] == "default" and not rule["oversubscribe"]:
                raise Refused("overloaded with pe")


def main():
    checked = placed = 0
    for line in sys.stdin:
        record = json.loads(line)
        try:
            expected = place(record["case"])
        except Refused as why:
            expected = None
            reason = str(why)
        if expected != record["result"]:
            print("case:", json.dumps(record["case"]))
            print("reference:", json.dumps(expected) if expected is not None else reason)
            print("banyan:   ", json.dumps(record["result"]))
            return 1
        checked += 1
        placed += expected is not None
    print(f"{checked} cases agree, {placed} of them placed")
    return 0 if placed > checked // 4 else 1


if __name__ == "__main__":
    sys.exit(main())
