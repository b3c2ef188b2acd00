#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Who goes where, written from doc/placement.rst alone: slow, obvious, one process at a time. It is what
banyan is compared with (test/system/placement.sh), and shares nothing with alloc/ but that text.

It reads a line of JSON for each case with banyan's answer (test/tool/place_cases) and tells the first
cases whose answer is another one.
"""
import collections
import json
import sys

CACHES = ("l1cache", "l2cache", "l3cache")
INNER = CACHES + ("numa", "package")  # a process by one of these is given an object


class Refused(Exception):
    """Nothing is started; the text is the reason in the words of the documentation."""


class Machine:
    """A node: its threads in the order of hwloc, of each the objects that it belongs to."""

    def __init__(self, described):
        self.described = described
        self.os = described["os"]
        allowed = set(described["allowed"])
        self.allowed = [thread for thread in range(len(self.os)) if self.os[thread] in allowed]

    def number(self, level, thread):
        """The number of the thread's object of this level, -1 if there is none."""
        if level == "node":
            return 0
        return thread if level == "hwthread" else self.described[level][thread]

    def objects(self, level):
        """The usable objects of the level in order, each as the list of its allowed threads."""
        found = {}
        for thread in self.allowed:
            number = self.number(level, thread)
            if number >= 0:
                found.setdefault(number, []).append(thread)
        return [found[number] for number in sorted(found)]

    def units(self, threads_are_units):
        """All units in the order in which they are taken, each as the set of its threads."""
        cores = self.objects("core")
        if not threads_are_units:
            return [frozenset(core) for core in cores]
        units = []
        for turn in range(max((len(core) for core in cores), default=0)):
            units += [frozenset([core[turn]]) for core in cores if turn < len(core)]
        return units

    def with_objects_of(self, level, threads):
        """The allowed threads of all objects of the level that hold one of these threads."""
        return {t for thing in self.objects(level) if threads & set(thing) for t in thing}

    def near(self, device):
        """The NUMA nodes (as threads) in the order of their distance from a device."""
        numas = self.objects("numa")
        return sorted(range(len(numas)),
                      key=lambda k: (min(self.distance(device, t) for t in numas[k]), k))

    def distance(self, device, thread):
        """0 for a thread of what the device hangs on, 1 on the same package, 2 elsewhere."""
        packages = {self.number("package", t) for t in device["near"]}
        near = set(device["near"]) & set(self.allowed)
        if not near:
            return 0 if self.number("package", thread) in packages else 2
        if thread in near:
            return 0
        return 1 if self.number("package", thread) in packages else 2


class Node:
    """A node that takes part, and what has been taken of it."""

    def __init__(self, number, described, threads_are_units):
        self.number = number
        self.machine = Machine(described["machine"])
        self.slots = described["slots"]
        self.units = self.machine.units(threads_are_units)
        self.slots_left = self.slots
        self.units_left = len(self.units)
        self.taken = collections.Counter()  # unit -> how many processes have it
        self.gpus_given = collections.Counter()
        self.networks_given = collections.Counter()
        self.devices_left = collections.Counter()  # class -> how many were counted as taken
        self.seated = []

    def overloaded(self):
        return any(count > 1 for count in self.taken.values())


class Process:
    def __init__(self, app, node, turn):
        self.app = app
        self.node = node
        self.turn = turn  # among those of its application on its node, as they were dealt
        self.object_number = 0
        self.units = []
        self.gpus = []
        self.near = set()
        self.bound = set()


class Application:
    def __init__(self, number, described):
        self.number = number
        self.n = described["n"]
        self.pe = described["pe"]
        self.cpus = described.get("cpus", 0)  # by the scheduler
        self.span = described["span"]
        self.oversubscribe = described["oversubscribe"]
        self.rank_by = described["rank_by"]
        self.bind = described["bind"]
        self.overload = described["overload"]
        self.gpus = described["gpus"]
        self.memory = described["memory"]
        self.list = described.get("list")
        self.list_cores = described.get("cores")
        self.ppr = 0
        words = described["map"].split(":")
        self.level = words[0]
        if words[0] == "ppr":
            self.ppr, self.level = int(words[1]), words[2]
            self.ppr_level = self.level
        elif described["per_node"]:
            self.ppr, self.ppr_level = described["per_node"], "node"
        self.device = words[1] if words[0] == "dist" else None
        self.pe_list = []
        self.ordered = words[-1] == "ordered"
        self.device_class = None
        if self.level.startswith("device="):
            self.device_class = self.level[len("device="):]
            self.shared = "shared" in words[1:]
            self.level = "device"
            self.devices = self.gpus or 1 if self.device_class == "gpu" else 1
        if self.level.startswith("pe-list="):
            for part in self.level[len("pe-list="):].split(","):
                first, _, last = part.partition("-")
                self.pe_list += range(int(first), int(last or first) + 1)
            self.level = "pe-list"
        self.by_objects = words[0] == "ppr"  # ppr:N:object gives the objects in order

    def needs(self):
        """How many units a process takes."""
        return self.pe or 1

    def deals_to(self):
        """The level whose objects span and --rank-by span count."""
        return "node" if self.level in ("slot", "dist", "list", "pe-list", "device") else self.level

    def default_binding(self):
        if self.pe:
            return "units"
        if self.level == "dist":
            return "numa"
        if self.level == "device":
            return "near"
        if self.level == "pe-list":
            return "units" if self.ordered else "pe-list"
        return "none" if self.level in ("slot", "node", "list") else self.level

    def by_thread(self):
        return "hwthread" in (self.level, self.bind)


# Counts

def class_of(app, node):
    """The devices of the class of --map-by device: network devices, or GPUs as --gpus-per-rank has them."""
    devices = node.machine.described["devices"]
    if app.device_class == "network":
        return [device for device in devices if device["kind"] == "network"]
    return max(([device for device in devices if device["kind"] == vendor]
                for vendor in ("nvidia", "amd", "intel")), key=len)


def things_dealt(app, node):
    """What span counts."""
    if app.device_class:
        return len(class_of(app, node)) // app.devices
    return len(node.machine.objects(app.deals_to()))


def whole_of(app, node):
    if app.ppr:
        return app.ppr * len(node.machine.objects(app.ppr_level))
    if app.pe_list:
        return min(node.slots, len(app.pe_list))
    if app.device_class and not app.shared:
        whole = min(node.slots, len(class_of(app, node)) // app.devices)
        return min(whole, len(node.units) // app.pe) if app.pe else whole
    return min(node.slots, len(node.units) // app.pe) if app.pe else node.slots


def free_of(app, node):
    if app.ppr:
        return whole_of(app, node)
    left = min(node.slots_left, node.units_left // app.pe) if app.pe else node.slots_left
    if app.pe_list:
        left = min(left, len(app.pe_list))
    if app.device_class and not app.shared:
        given = node.devices_left[app.device_class]
        left = min(left, max(len(class_of(app, node)) - given, 0) // app.devices)
    return max(left, 0)


def width_of(app, node):
    if app.level == "node" and not app.by_objects:
        return 1
    return things_dealt(app, node) if app.span else whole_of(app, node)


def deal(app, nodes):
    """The nodes of the processes of an application, in the order in which they are dealt."""
    nodes = [node for node in nodes if whole_of(app, node) > 0]
    free = {node: free_of(app, node) for node in nodes}
    n = app.n or sum(free.values())
    if n > sum(free.values()) and (app.ppr or not app.oversubscribe):
        raise Refused("more processes than slots")
    if n == 0 or not nodes:
        raise Refused("no process")
    if app.pe_list and app.ppr > len(app.pe_list) and not app.oversubscribe:
        raise Refused("more processes on a node than cores of pe-list")
    dealt = []
    while len(dealt) < n:
        surplus = sum(free.values()) == 0
        for node in nodes:
            share = width_of(app, node)
            share = min(share if surplus else min(share, free[node]), n - len(dealt))
            dealt += [node] * share
            free[node] -= 0 if surplus else share
    if app.ppr and not app.oversubscribe:
        for node in nodes:
            if dealt.count(node) > max(node.slots_left, 0):
                raise Refused("ppr has more processes than slots")
    return dealt


def deal_list(app, all_nodes):
    """Those of a list: it says the nodes, which must have slots for them."""
    dealt = []
    if app.n not in (0, len(app.list)):
        raise Refused("-n is another number than the list's")
    if app.pe and app.list_cores:
        raise Refused("pe contradicts the rank file")
    for number in app.list:
        if all_nodes.get(number) is None:
            raise Refused("the list names a node that takes no part")
        dealt.append(all_nodes[number])
    if not dealt:
        raise Refused("no process")
    for node in dealt:
        if dealt.count(node) > max(node.slots_left, 0) and not app.oversubscribe:
            raise Refused("more processes than slots")
    return dealt


# Ranks

def rank_order(app, processes):
    """The processes of one application in the order of their ranks."""
    if app.list is not None:
        return processes
    nodes = sorted({process.node.number for process in processes})
    of_node = {n: [p for p in processes if p.node.number == n] for n in nodes}
    how = app.rank_by
    if how == "default":
        how = "span" if app.span else "node" if app.level == "node" and not app.by_objects else "slot"
    if how == "fill":
        for n in nodes:
            of_node[n].sort(key=lambda process: process.object_number)
    if how in ("slot", "fill"):
        return [process for n in nodes for process in of_node[n]]
    ordered = []
    while any(of_node.values()):
        for n in nodes:
            chunk = 1
            if how == "span" and of_node[n]:
                chunk = things_dealt(app, of_node[n][0].node)
            ordered += of_node[n][:chunk]
            del of_node[n][:chunk]
    return ordered


# Cores

def object_for(app, node, process, cycle):
    """The threads of the object of a process."""
    machine = node.machine
    if app.by_objects:
        process.object_number = process.turn // app.ppr
        return machine.objects(app.level)[process.turn // app.ppr]
    if app.pe_list:
        return threads_of_list(app, machine)
    if app.device_class:
        return give_devices(app, node, process)
    if app.level not in INNER and app.level != "dist":
        return machine.allowed
    things = machine.objects("numa" if app.level == "dist" else app.level)

    def has_room(number):
        inside = [unit for unit in node.units if unit <= set(things[number])]
        return sum(node.taken[unit] == 0 for unit in inside) >= app.needs()

    if app.level == "dist":
        order = machine.near(find_device(machine, app.device))
    else:
        first = cycle[node]
        order = [(first + k) % len(things) for k in range(len(things))]
    chosen = next((number for number in order if has_room(number)), order[0])
    if app.level != "dist":
        cycle[node] = chosen + 1
    process.object_number = chosen
    return things[chosen]


def find_device(machine, name):
    for device in machine.described["devices"]:
        if device["name"] == name:
            return device
    raise Refused("there is no such device")


def seat(app, node, process, threads):
    """The units of its object that fewest have taken, and of those the first."""
    inside = [unit for unit in node.units if unit <= set(threads)]
    if len(inside) < app.needs() and app.pe:
        raise Refused("an object has fewer units than pe")
    inside.sort(key=lambda unit: node.taken[unit])  # stable: the order in which they are taken
    process.units = inside[:app.needs()]
    for unit in process.units:
        node.taken[unit] += 1


def threads_of_list(app, machine):
    """The allowed threads of the cores of pe-list, all of which must be usable."""
    threads = [t for t in machine.allowed if machine.number("core", t) in app.pe_list]
    if len({machine.number("core", t) for t in threads}) < len(app.pe_list):
        raise Refused("a core of pe-list cannot be used")
    return threads


def seat_listed(node, process, cores):
    """A rank file's slots: cores of the node as hwloc counts them, usable or not."""
    usable = {node.machine.number("core", thread) for thread in node.machine.allowed}
    if not set(cores) <= usable:
        raise Refused("a core of the rank file cannot be used")
    process.units = [unit for unit in node.units
                     if {node.machine.number("core", thread) for thread in unit} <= set(cores)]
    for unit in process.units:
        node.taken[unit] += 1


def give_devices(app, node, process):
    """Of the class those that fewest have, of these the first; returns the threads near to them."""
    things = class_of(app, node)
    given = node.gpus_given if app.device_class == "gpu" else node.networks_given
    taken = []
    for _ in range(app.devices):
        chosen = min((k for k in range(len(things)) if k not in taken), key=lambda k: (given[k], k))
        if given[chosen] > 0 and not app.oversubscribe and not app.shared:
            raise Refused("too few devices")
        given[chosen] += 1
        taken.append(chosen)
        near = {t for t in node.machine.allowed if node.machine.distance(things[chosen], t) == 0}
        process.near |= near or set(node.machine.allowed)
    process.object_number = min(taken)
    if app.device_class == "gpu":
        process.gpus = sorted(taken)
    return process.near


def give_gpus(app, node, process):
    devices = node.machine.described["devices"]
    of_vendors = [[device for device in devices if device["kind"] == vendor]
                  for vendor in ("nvidia", "amd", "intel")]
    vendor = max(of_vendors, key=len)  # the first of equal ones
    if app.gpus > len(vendor):
        raise Refused("too few GPUs")
    order = {unit: place for place, unit in enumerate(node.units)}
    first = min(min(process.units, key=order.get))
    for _ in range(app.gpus):
        chosen = min((k for k in range(len(vendor)) if k not in process.gpus),
                     key=lambda k: (node.gpus_given[k], node.machine.distance(vendor[k], first), k))
        if node.gpus_given[chosen] > 0 and not app.oversubscribe:
            raise Refused("too few GPUs")
        node.gpus_given[chosen] += 1
        process.gpus.append(chosen)
    process.gpus.sort()


# Binding

def bind(app, process):
    node, how = process.node, app.bind
    threads = {thread for unit in process.units for thread in unit}
    if app.list_cores and how == "default":
        how = "units"
    elif app.pe_list and how == "default":
        how = app.default_binding()
    elif how == "default" and node.overloaded():
        if app.pe and not app.oversubscribe and not app.cpus:
            raise Refused("with pe a node is overloaded")
        how = "none"
    elif how == "default":
        how = app.default_binding()
    elif how != "none" and node.overloaded() and not app.overload:
        raise Refused("a node is overloaded")
    if how == "units":
        process.bound = threads
    elif how == "near":
        process.bound = process.near
    elif how == "pe-list":
        process.bound = set(threads_of_list(app, node.machine))
    elif how != "none":
        process.bound = node.machine.with_objects_of(how, threads)


def settle_cpus(app, apps, nodes):
    """CPUs of each process that a scheduler has told become pe, where they fit on all nodes."""
    if not app.cpus or app.oversubscribe or any(other.by_thread() for other in apps):
        return
    cores_of_process = app.cpus
    if any(node.slots * app.cpus > len(node.machine.objects("core")) for node in nodes):
        cores_of_process = max(-(-app.cpus * len(node.machine.objects("core")) //
                                 len(node.machine.allowed)) for node in nodes)
    level = "numa" if app.level == "dist" else app.level
    if level not in INNER and not app.by_objects:
        level = "node"
    for node in nodes:
        cores = [set(core) for core in node.machine.objects("core")]
        smallest = min((sum(core <= set(thing) for core in cores)
                        for thing in node.machine.objects(level)), default=cores_of_process)
        if (node.slots * cores_of_process > len(cores) or
                (app.ppr if app.by_objects else 1) * cores_of_process > smallest):
            return
    app.pe = cores_of_process


def check_levels(app, nodes):
    """A node that has no object of a level that is named is refused."""
    named = [app.level if app.level not in ("slot", "list", "dist", "pe-list", "device") else "node", app.bind]
    for node in nodes:
        if app.device_class and len(class_of(app, node)) < app.devices:
            raise Refused("a node has no such device")
        for level in named:
            if level not in ("default", "none") and not node.machine.objects(level):
                raise Refused("a node has no such level")


def place(case):
    """The processes in the order of their ranks; raises Refused."""
    apps = [Application(number, described) for number, described in enumerate(case["apps"])]
    threads_are_units = any(app.by_thread() for app in apps)
    nodes = [Node(number, described, threads_are_units)
             for number, described in enumerate(case["nodes"])
             if described["slots"] > 0 and not described["excluded"]]
    ranks = []
    for app in apps:
        settle_cpus(app, apps, nodes)
    for app in apps:
        if app.list is not None:
            dealt = deal_list(app, {node.number: node for node in nodes})
            check_levels(app, dealt)
        else:
            check_levels(app, nodes)
            dealt = deal(app, nodes)
        turns = collections.Counter()
        processes = []
        for node in dealt:
            processes.append(Process(app, node, turns[node]))
            turns[node] += 1
        for node, count in turns.items():
            node.slots_left -= count
            node.units_left -= count * app.needs()
            if app.device_class:
                node.devices_left[app.device_class] += count * app.devices
            if app.device_class != "gpu":
                node.devices_left["gpu"] += count * app.gpus
        cycle = collections.Counter()
        for place_in_list, process in enumerate(processes):
            if app.list_cores:
                seat_listed(process.node, process, app.list_cores[place_in_list])
            elif app.ordered:
                threads_of_list(app, process.node.machine)
                core = app.pe_list[process.turn % len(app.pe_list)]
                seat_listed(process.node, process, [core])
            else:
                seat(app, process.node, process, object_for(app, process.node, process, cycle))
            if app.gpus and app.device_class != "gpu":
                give_gpus(app, process.node, process)
        ranks += rank_order(app, processes)
    for process in ranks:
        bind(process.app, process)
    return ranks


def answer(case):
    """[node, application, cpus] of each rank as the lines of test/tool/place_cases have it, or None."""
    try:
        ranks = place(case)
    except Refused as refused:
        return None, str(refused)
    result = []
    for process in ranks:
        machine = process.node.machine
        cpus = sorted(machine.os[thread] for thread in process.bound)
        memory = sorted({number for thread in process.bound if process.app.memory
                         for number in machine.described["memory"][machine.number("numa", thread)]})
        result.append([process.node.number, process.app.number, cpus, memory, process.gpus])
    return result, None


def main():
    cases = refused = wrong = 0
    for line in sys.stdin:
        both = json.loads(line)
        expected, reason = answer(both["case"])
        cases += 1
        refused += expected is None
        if expected != both["result"]:
            wrong += 1
            if wrong <= 3:
                print("case", json.dumps(both["case"]))
                print("  banyan   ", both["result"])
                print("  reference", expected, reason or "")
    print(f"{cases} cases, {refused} of them refused, {wrong} differ")
    return 1 if wrong or refused > 3 * cases // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
