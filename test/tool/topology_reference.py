#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
What a machine has, read from hwloc's XML (version 2) by the text of doc/placement.rst alone, and
compared with what `banyan map --show-topology --json` says of the same file. It shares nothing with
fabric/topology_read.c, and asks no hwloc.

    topology_reference.py BANYAN MACHINE...

A machine is a file of XML; or a directory with a copy of /sys and /proc, which lstopo turns into XML
for this script, while banyan reads the copy itself. Prints what differs; ends with `N machines, N differ`.
"""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

LEVELS = {"package": ("Package", "Socket"), "l3cache": ("L3Cache",), "l2cache": ("L2Cache",),
          "l1cache": ("L1Cache",), "core": ("Core",), "hwthread": ("PU",)}
VENDORS = {"10de": "nvidia", "1002": "amd", "8086": "intel"}
DISPLAY = "03"  # the class of a PCI device that is a GPU
NETWORKS = ("2", "3")  # types of what the system calls a device: network, OpenFabrics
LSTOPO = "lstopo-no-graphics"


class NotForUs(Exception):
    """What the script cannot read; the text says why."""


def cpus_of(text):
    """hwloc's masks: words of 32 bits, the highest first, "" for 0 and 0xf...f for what never ends."""
    if text is None or "0xf...f" in text:
        return None
    value = 0
    for word in text.split(","):
        value = value << 32 | int(word or "0", 16)
    return frozenset(bit for bit in range(value.bit_length()) if value >> bit & 1)


def listed(numbers):
    """1-3,7"""
    words = []
    for number in sorted(numbers):
        if words and words[-1][1] == number - 1:
            words[-1][1] = number
        else:
            words.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in words)


class Machine:
    def __init__(self, text):
        root = xml.etree.ElementTree.fromstring(text)
        if not root.get("version", "1").startswith("2"):
            raise NotForUs("not in version 2 of hwloc's XML")
        machine = root.find("object")
        self.cpus = cpus_of(machine.get("cpuset"))
        allowed = cpus_of(machine.get("allowed_cpuset"))
        self.allowed = self.cpus if allowed is None else self.cpus & allowed
        nodes = cpus_of(machine.get("allowed_nodeset"))
        self.allowed_nodes = cpus_of(machine.get("nodeset")) if nodes is None else nodes
        self.objects = []  # type, CPUs, what it hangs on, element; as in the file
        self.walk(machine, self.cpus)

    def walk(self, element, around):
        cpus = cpus_of(element.get("cpuset"))
        self.objects.append((element.get("type"), cpus, around, element))
        for child in element.findall("object"):
            self.walk(child, around if cpus is None else cpus)

    def of_type(self, *types):
        return [item for item in self.objects if item[0] in types]

    def usable(self, *types):
        return [item for item in self.of_type(*types) if item[1] & self.allowed]

    def levels(self):
        counts = {level: len(self.usable(*types)) for level, types in LEVELS.items()}
        # A thread that is in no core is one.
        in_cores = frozenset().union(*(item[1] for item in self.of_type("Core")))
        counts["core"] += len(self.allowed - in_cores)
        return counts

    def numas(self):
        """(threads, memories): each thread belongs to the narrowest set, the first of equal ones."""
        nodes = [(cpus, int(element.get("os_index")))
                 for _, cpus, _, element in self.of_type("NUMANode") if cpus]
        home = {}
        for cpu in self.allowed:
            around = [node for node in nodes if cpu in node[0]]
            if around:
                home[cpu] = min(around, key=lambda node: len(node[0]))[0]
        found = []
        for cpus, _ in nodes:
            mine = [cpu for cpu in home if home[cpu] == cpus]
            if mine and (mine, cpus) not in [(a, b) for a, b, _ in found]:
                found.append((mine, cpus, [os for others, os in nodes
                                           if others == cpus and os in self.allowed_nodes]))
        return [(listed(mine), listed(memory)) for mine, _, memory in found]

    def near(self, around, numas):
        """Of a device: its threads; or, if none is usable, those of its packages."""
        cpus = around & self.allowed
        if not cpus:
            for _, package, _, _ in self.of_type(*LEVELS["package"]):
                cpus |= package & self.allowed if package & around else frozenset()
        return listed(cpus), listed(n for n, (mine, _) in enumerate(numas)
                                    if set(unlisted(mine)) & cpus)

    def second_names(self):
        """Of each card all names but one: the first OpenFabrics device's, or else the first."""
        second = []
        for _, _, _, card in self.of_type("PCIDev"):
            names = [name for name in card.findall("object[@type='OSDev']")
                     if name.get("osdev_type") in NETWORKS]
            names.sort(key=lambda name: name.get("osdev_type"), reverse=True)
            second += names[1:]
        return second

    def devices(self, numas):
        found, counts, gpus = [], {}, []
        for _, _, around, element in self.of_type("PCIDev"):
            words = re.match(r"(..).. \[(....):", element.get("pci_type"))
            if words[1] == DISPLAY and words[2] in VENDORS:
                gpus.append((pci_place(element.get("pci_busid")), VENDORS[words[2]], around))
        vendors = [vendor for _, vendor, _ in gpus]
        chosen = max(VENDORS.values(), key=vendors.count)  # the first of equal ones
        for _, vendor, around in sorted(gpus, key=lambda gpu: gpu[0]):
            counts[vendor] = counts.get(vendor, -1) + 1
            name = ("gpu" if vendor == chosen else vendor) + str(counts[vendor])
            found.append((name, vendor) + self.near(around, numas))
        second = self.second_names()
        for _, _, around, element in self.of_type("OSDev"):
            if element.get("osdev_type") in NETWORKS:
                found.append((element.get("name"), "other" if element in second else "network") +
                             self.near(around, numas))
        return found


def unlisted(text):
    for word in text.split(","):
        first, _, last = word.partition("-")
        yield from range(int(first), int(last or first) + 1)


def pci_place(busid):
    return tuple(int(word, 16) for word in re.split("[:.]", busid))


def read(path):
    if not os.path.isdir(path):
        with open(path, encoding="utf-8") as file:
            return file.read()
    made = subprocess.run([LSTOPO, "--input", path, "--if", "fsroot", "--disallowed", "--filter",
                           "io:important", "--filter", "memcache:none", "--of", "xml", "-"],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0 or not made.stdout:
        raise NotForUs("lstopo cannot read it")
    return made.stdout


def banyan_says(banyan, path):
    environment = dict(os.environ)
    words = ["--topology", path]
    if os.path.isdir(path):
        environment.update(HWLOC_FSROOT=path, HWLOC_THISSYSTEM="0",
                           HWLOC_COMPONENTS="linux,stop",
                           HWLOC_DUMPED_HWDATA_DIR="/var/run/hwloc")  # as lstopo sets it
        words = []
    answer = subprocess.run([banyan, "map", "--show-topology", "--json"] + words,
                            capture_output=True, text=True, check=False, env=environment)
    if answer.returncode != 0:
        return {"error": answer.stderr}
    machine = json.loads(answer.stdout)[0]
    machine["numa"] = [(n["cpus"], n["memory"]) for n in machine["numa"]]
    machine["devices"] = [(d["name"], d["kind"], d["cpus"], d["numa"]) for d in machine["devices"]]
    return machine


def differences(machine, said):
    numas = machine.numas()
    expected = {"levels": dict(machine.levels(), numa=len(numas)), "numa": numas,
                "devices": machine.devices(numas)}
    return [f"  {key}: banyan {said.get(key, said)}\n  {key}: here   {expected[key]}"
            for key in expected if said.get(key) != expected[key]]


def main(banyan, *paths):
    compared = wrong = 0
    for path in paths:
        try:
            machine = Machine(read(path))
        except NotForUs as reason:
            print(f"{path}: left out: {reason}")
            continue
        compared += 1
        found = differences(machine, banyan_says(banyan, path))
        if found:
            wrong += 1
            print(f"{path}:\n" + "\n".join(found))
    print(f"{compared} machines, {wrong} differ")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
