#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check-attributes.py [ROOT]: doc/pmix-attributes.rst has a row for each attribute of PMIx 4.1, and is right.

The attributes are listed in contrib/check-attributes.txt with their keys, which must agree with the headers of libpmix
4.2, if they are installed, and be in those of later versions, which have more. A row is a line of a table that begins with
``NAME``, or ``PREFIX*`` for all names that begin so. What pmix/host*.c names has a row that says what happens to it,
and what is served is named there. Prints TAP.
"""
import os
import re
import subprocess
import sys

DOCUMENT = "doc/pmix-attributes.rst"
LIST = "contrib/check-attributes.txt"
ANSWERS = {"served", "accepted", "passed on", "libpmix", "ignored", "refused", "not given", "not seen"}
NAMED = {"served", "accepted"}  # what the host can do only if it knows the name
UNNAMED = {"ignored", "not given", "not seen"}  # and what it does with names that it does not know
ROW = re.compile(r"``(PMIX_\w+\*?)``  +(\S.*?)  +(\S.*?)  +(\S+)$")
LISTED_VERSION = (4, 2)
HEADERS = ("pmix_common.h", "pmix_deprecated.h")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_rows():
    """(line number, name, answer, test) of each row, and the numbers of lines that look like one."""
    rows, bad = [], []
    for number, line in enumerate(read(DOCUMENT).splitlines(), 1):
        match = ROW.match(line)
        if match:
            rows.append((number, match[1], match[3], match[4]))
        elif re.match(r"``PMIX_\S*``  ", line):
            bad.append(number)
    return rows, bad


def means(pattern, name):
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def header_folder():
    """Where the headers of libpmix are, or None."""
    try:
        found = subprocess.run(["pkg-config", "--variable=includedir", "pmix"], capture_output=True, text=True,
                               check=False).stdout.split()
    except OSError:
        found = []
    folders = found + [f"/usr/lib/{triplet}/pmix2/include" for triplet in os.listdir("/usr/lib")]
    folders += ["/usr/include", "/usr/local/include"]
    for folder in folders:
        if os.path.exists(os.path.join(folder, HEADERS[0])):
            return folder
    return None


def header_attributes(folder):
    attributes = {}
    for header in HEADERS:
        path = os.path.join(folder, header)
        if os.path.exists(path):
            attributes.update(re.findall(r'^#\s*define\s+(PMIX_\w+)\s+"(pmix\.[^"]*)"', read(path), re.M))
    return attributes


def header_version(folder):
    parts = [re.search(rf"^#\s*define\s+PMIX_VERSION_{part}\s+(\d+)", read(os.path.join(folder, "pmix_version.h")), re.M)
             for part in ("MAJOR", "MINOR")]
    return tuple(int(part[1]) for part in parts if part)


def names_in_host():
    """Without comments and texts, which have the names of variables of the environment."""
    names = set()
    for path in [f"pmix/{name}" for name in os.listdir("pmix") if re.fullmatch(r"host.*\.c", name)]:
        names.update(re.findall(r"\bPMIX_\w+", re.sub(r'/\*.*?\*/|"[^"\n]*"', "", read(path), flags=re.S)))
    return names


def find_test(test):
    return any(os.path.exists(os.path.join(folder, test)) for folder in ("test/system", "test/unit"))


def row_faults(rows, bad, listed):
    faults = [f"{DOCUMENT}:{number}: a row that cannot be read" for number in bad]
    for number, name, answer, test in rows:
        where = f"{DOCUMENT}:{number}: {name}"
        if not any(means(name, known) for known in listed):
            faults.append(f"{where}: no header has it")
        if answer not in ANSWERS:
            faults.append(f"{where}: '{answer}' is no answer")
        if test != "-" and not find_test(test.strip("`")):
            faults.append(f"{where}: {test} does not exist")
    return faults


def host_faults(rows, listed):
    """A name may have rows with different answers, at different calls; one of them is what the host knows it for."""
    faults, in_host = [], names_in_host()
    keys_in_host = {listed[name] for name in in_host if name in listed}
    for name in sorted(listed):
        answers = {answer for _, pattern, answer, _ in rows if means(pattern, name)}
        if name in in_host and answers and not answers - UNNAMED:
            faults.append(f"{name}: pmix/host*.c names it, but it is {' and '.join(sorted(answers))}")
        if listed[name] not in keys_in_host and answers & NAMED:
            faults.append(f"{name}: it is {' and '.join(sorted(answers & NAMED))}, but pmix/host*.c does not name it")
    return faults


def list_faults(listed):
    """Differences between the list and the headers, or why they cannot be compared."""
    folder = header_folder()
    if folder is None:
        return [], "the headers of libpmix are not installed"
    attributes = header_attributes(folder)
    faults = [f"{LIST}: {name} {key}: not in {folder}" for name, key in sorted(listed.items())
              if attributes.get(name) != key]
    if header_version(folder) == LISTED_VERSION:
        faults += [f"{folder}: {name}: not in {LIST}" for name in sorted(attributes.keys() - listed.keys())]
    return faults, None


def verdict(number, faults, text, skipped=None):
    for fault in faults:
        print("#", fault)
    print("not ok" if faults else "ok", number, "-", text + (f" # SKIP {skipped}" if skipped else ""))
    return bool(faults)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("srcdir", os.path.dirname(here)))
    listed = dict(line.split() for line in read(LIST).splitlines() if line.startswith("PMIX_"))
    rows, bad = read_rows()
    if not listed or not rows:
        print("Bail out! no list or no table here")
        return 1
    print("1..4")
    compared, skipped = list_faults(listed)
    failed = [
        verdict(1, [f"{name}: no row" for name in sorted(listed) if not any(means(row[1], name) for row in rows)],
                f"each of {len(listed)} attributes has a row"),
        verdict(2, row_faults(rows, bad, listed), "rows name what exists"),
        verdict(3, host_faults(rows, listed), "rows agree with the host"),
        verdict(4, compared, "the list has the names of the headers", skipped),
    ]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
