#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check-rooms.py [ROOT]: which room may know what, as code (doc/architecture.rst, "The rooms").

Prints TAP, one line per rule; every line that breaks a rule stands before it. What breaks a rule and
cannot be mended yet stands in contrib/check-rooms.txt, one line each: RULE FILE WHAT. That table may
only shrink: a line that nothing needs any more fails, and so does a line more than its `limit` says.
With --list the offenders are printed as lines of that table.
"""
import os
import re
import sys

FLOORS = ["base", "alloc", "overlay", "fabric", "pmix"]
TREE = ["overlay/endpoint_types.h", "overlay/tree.h"]
BELOW_CLI = FLOORS + ["fabric/banyan"] + ["launch/" + room for room in
                      ("proto", "job", "exec", "start", "rank", "doctor", "sim")]

# What a room may include beside base and itself: folders, or single headers. A room stands below
# those that it names.
MAY_INCLUDE = {
    "launch/proto": ["alloc", "pmix/pmi.h", "pmix/pmi_names.h"] + TREE,
    "launch/job": ["alloc", "launch/proto"] + TREE,
    "launch/core": ["alloc", "launch/proto", "launch/job", "overlay/endpoint.h"] + TREE,
    "launch/exec": ["alloc", "fabric", "fabric/banyan", "launch/proto", "pmix/host.h", "pmix/fence_client.h"],
    "launch/start": ["alloc", "fabric", "launch/proto", "launch/exec"] + TREE,
    "launch/rank": ["alloc", "fabric", "fabric/topology", "pmix", "launch/proto", "launch/job", "launch/exec"],
    "launch/doctor": ["fabric", "launch/proto", "launch/exec"],
    "launch/daemon": FLOORS + ["launch/proto", "launch/job", "launch/core", "launch/exec", "launch/start",
                               "launch/rank", "launch/doctor", "fabric/topology"],
    "launch/sim": ["alloc", "overlay", "fabric/virtual_network.h", "launch/proto", "launch/job",
                   "launch/core"],
    "launch/cli/option": ["alloc/site.h"],
    "launch/cli/request": BELOW_CLI + ["launch/cli/option", "fabric/topology"],
    "launch/cli/client": BELOW_CLI + ["launch/cli/option", "launch/cli/request",
                                      "launch/daemon/root.h"],
    "launch/cli/remote": BELOW_CLI + ["launch/cli/option", "launch/cli/request"],
    "launch/cli/sim": BELOW_CLI + ["launch/cli/option", "launch/cli/request", "fabric/topology"],
    "launch/cli/verb": BELOW_CLI + ["launch/cli/option", "launch/cli/request", "launch/cli/client",
                                    "launch/cli/remote", "launch/cli/sim", "fabric/topology"],
}

# Rooms without clock, file, socket, thread, process or environment: all that they take from the system,
# and zstd, which works from memory to memory.
SEALED = ["launch/proto", "launch/job", "launch/core"]
PURE = set("assert.h ctype.h endian.h errno.h inttypes.h limits.h stdalign.h stdarg.h stdbool.h "
           "stddef.h stdint.h stdio.h stdlib.h string.h strings.h zstd.h".split())

# The ways into a folder for who stands above it.
DOORS = {
    "overlay": ["overlay/endpoint.h"] + TREE,
    "pmix": ["pmix/pmi.h", "pmix/host.h", "pmix/fence_client.h", "pmix/pmi_control.h", "pmix/pmi_fabric.h", "pmix/pmi_names.h",
             "pmix/pmi_notice.h", "pmix/pmi_pull.h", "pmix/pmi_push.h", "pmix/pmi_query.h", "pmix/pmi_spawn.h"],
}
# Names that stay in one room.
HOME_OF = {"struct daemon": "launch/daemon"}
OWN_ROOM_ONLY = re.compile(r"_(internal|private|state)\.h$|/job_engine\.h$")
# Headers inside of a room that declare what several of its files define.
COLLECTIONS = ["overlay/core.h"]
OWN_SUFFIX = re.compile(r"_(internal|private|state|engine|wire)$")

ONCE = {
    re.compile(r"^#define\s+\w*NS_PER_(?:US|MS|S)\b"): "base/time.h",
    re.compile(r"^#define\s+\w*STATUS_(?:FAILED|TIMED_OUT|TIMEOUT|SIGNAL\w*)\b"):
        "launch/proto/exit_status.h",
}

KNOT_FILES_MAX = 5
KNOTS_ALLOWED = ["overlay"]  # its files are one machine of states

RULES = {
    "table": "each room includes the rooms above it only",
    "cycle": "no room includes another that includes it, by whatever way",
    "private": "what is internal to a room is included from that room only",
    "door": "who stands above overlay and pmix enters by their doors; struct daemon stays at home",
    "sealed": "launch/proto, job and core touch neither clock, file, socket, thread nor process",
    "knot": "no more than 5 files of a room call each other in a circle",
    "declared": "what X.h declares X.c or X_*.c defines",
    "name": "external names begin with the stem of their file or header",
    "wire": "messages are packed and unpacked in *_wire.c only",
    "once": "units of time and exit statuses are defined once; no file name is on two floors",
    "exception": "the table of exceptions has no line too many",
}


def code_of(text):
    """Without comments and the contents of strings; lines stay where they are."""
    def blank(match):
        found = match.group(0)
        if found.startswith('"'):
            return '""'
        return "\n" * found.count("\n")
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


class Source:
    """One file: its room, its includes, the functions that it declares or defines."""

    def __init__(self, path):
        self.path = path
        self.room = os.path.dirname(path)
        self.stem = os.path.basename(path)[:-2]
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.project = re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+/[^"]+)"', self.text, re.M)
        self.system = re.findall(r"^[ \t]*#[ \t]*include[ \t]*<([^>]+)>", self.text, re.M)
        self.code = code_of(self.text)

    def declared(self):
        pattern = r"^(?!static|typedef|extern|return|else)[a-z][\w \t*]*?\b(\w+)\([^;{}]*\)[^;{}]*;"
        return re.findall(pattern, self.code, re.M) if self.path.endswith(".h") else []

    def defined(self):
        pattern = r"^(?!static|typedef|return|else)[a-z][\w \t*\n]*?\b(\w+)\([^;{}]*\)\s*^\{"
        return re.findall(pattern, self.code, re.M) if self.path.endswith(".c") else []


def is_below(room, header):
    allowed = MAY_INCLUDE[room]
    return os.path.dirname(header) in allowed + ["base", room] or header in allowed


def check_includes(source, found):
    for header in source.project:
        there = os.path.dirname(header)
        if source.room in MAY_INCLUDE and not is_below(source.room, header):
            found.add(("table", source.path, header))
        if OWN_ROOM_ONLY.search(header) and there != source.room:
            found.add(("private", source.path, header))
        if there in DOORS and source.room.startswith("launch/") and header not in DOORS[there]:
            found.add(("door", source.path, header))
    if source.room in SEALED:
        for header in source.system:
            if header not in PURE:
                found.add(("sealed", source.path, header))


def check_words(source, found):
    for name, home in HOME_OF.items():
        if source.room != home and re.search(r"\b%s\b" % name, source.code):
            found.add(("door", source.path, name.replace(" ", "_")))
    for pattern, home in ONCE.items():
        if source.path != home and any(map(pattern.match, source.code.split("\n"))):
            found.add(("once", source.path, home))
    if source.room != "base" and not source.stem.endswith("_wire") and \
            re.search(r"\bwire_(put|get)_\w+\(", source.code):
        found.add(("wire", source.path, "wire_"))


def begins(text, stem):
    return (text + "_").startswith(stem + "_")


def stems_of(source, headers):
    """How names of a file may begin: x_y_z for x_y_z.c, x_y where there is an x_y.h, and x likewise."""
    words = source.stem.split("_")
    shorter = ("_".join(words[:count]) for count in range(1, len(words)))
    return [source.stem] + [stem for stem in shorter if f"{source.room}/{stem}.h" in headers]


def check_names(sources, found):
    headers = {source.path for source in sources if source.path.endswith(".h")}
    definers, rooms_of = {}, {}
    for source in sources:
        for name in source.defined():
            definers.setdefault((source.room, name), []).append(source)
            rooms_of.setdefault(name, set()).add(source.room)
    for header in sources:
        if "/banyan/" in header.path:
            continue
        own = OWN_SUFFIX.sub("", header.stem)
        is_collection = own != header.stem or header.path in COLLECTIONS
        for name in header.declared():
            files = definers.get((header.room, name), [])
            stems = [own] + [stem for source in files for stem in stems_of(source, headers)]
            if not any(begins(name, stem) for stem in stems):
                found.add(("name", header.path, name))
            elsewhere = name in rooms_of and header.room not in rooms_of[name]
            if elsewhere or not is_collection and any(not begins(source.stem, own) for source in files):
                found.add(("declared", header.path, name))


def check_file_names(sources, found):
    rooms_of = {}
    for source in sources:
        if "/banyan/" not in source.path:
            rooms_of.setdefault(source.stem, set()).add(source.room)
    for stem, rooms in rooms_of.items():
        if len(rooms) > 1:
            found.add(("once", "+".join(sorted(rooms)), stem))


def check_cycles(sources, found):
    """A room that reaches itself by includes of others, whatever the tables say."""
    includes = {}
    for source in sources:
        for header in source.project:
            there = os.path.dirname(header)
            if there != source.room:
                includes.setdefault(source.room, set()).add(there)
    for room in includes:
        # overlay/endpoint.c is the one staircase down to fabric, which knows nothing of overlay.
        seen, todo = set(), list(includes[room])
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += includes.get(at, ())
        if room in seen:
            found.add(("cycle", room, room))


def check_knots(sources, found):
    """Files of a room that reach each other by calls of what is external."""
    files = [source for source in sources
             if source.path.endswith(".c") and source.room not in KNOTS_ALLOWED]
    home = {(source.room, name): source.path for source in files for name in source.defined()}
    calls = {}
    for source in files:
        names = re.findall(r"\b(\w+)\(", source.code)
        calls[source.path] = {home[source.room, name] for name in names if (source.room, name) in home}
    reached = {}
    for path in calls:
        seen, todo = set(), list(calls[path])
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += calls[at]
        reached[path] = seen
    for path, seen in reached.items():
        circle = sorted(other for other in seen if path in reached[other])
        if len(circle) > KNOT_FILES_MAX and path == circle[0]:
            found.add(("knot", path, str(len(circle))))


def read_exceptions(path):
    rows, limits = [], {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if not words or words[0].startswith("#"):
                    continue
                if words[0] == "limit":
                    limits[words[1]] = int(words[2])
                else:
                    rows.append(tuple(words[:3]))
    return rows, limits


def judge(found, rows, limits):
    """For each rule the lines that break it."""
    broken = {rule: [] for rule in RULES}
    for rule, path, what in sorted(found - set(rows)):
        broken[rule].append(f"{path}: {what}")
    for row in rows:
        if row not in found:
            broken["exception"].append("nothing needs any more: " + " ".join(row))
        if rows.count(row) > 1:
            broken["exception"].append("twice: " + " ".join(row))
    for rule in RULES:
        count = sum(1 for row in rows if row[0] == rule)
        if count != limits.get(rule, 0):
            broken["exception"].append(
                f"{count} lines for {rule}, the limit is {limits.get(rule, 0)}: it is to be their "
                "number, and only to be lowered")
    return broken


def main():
    arguments = [word for word in sys.argv[1:] if word != "--list"]
    here = os.path.dirname(os.path.abspath(__file__))
    os.chdir(arguments[0] if arguments else os.environ.get("srcdir", os.path.dirname(here)))
    paths = sorted(os.path.join(folder, name) for floor in FLOORS + ["launch"]
                   for folder, _, names in os.walk(floor) for name in names
                   if name.endswith((".c", ".h")))
    if not paths:
        print("Bail out! no source file here")
        return 1
    sources = [Source(path) for path in paths]
    found = set()
    for source in sources:
        if source.room.startswith("launch") and source.room not in MAY_INCLUDE:
            found.add(("table", source.path, "no-such-room"))
        check_includes(source, found)
        check_words(source, found)
    check_names(sources, found)
    check_file_names(sources, found)
    check_cycles(sources, found)
    check_knots(sources, found)
    rows, limits = read_exceptions("contrib/check-rooms.txt")
    if "--list" in sys.argv:
        print("".join(f"{' '.join(row)}\n" for row in sorted(found)), end="")
        return 0
    broken = judge(found, rows, limits)
    print(f"1..{len(RULES)}")
    for number, (rule, text) in enumerate(RULES.items(), 1):
        for line in broken[rule]:
            print("#", line)
        print("not ok" if broken[rule] else "ok", number, "-", text)
    return 1 if any(broken.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
