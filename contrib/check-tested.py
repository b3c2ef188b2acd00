#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check-tested.py [ROOT]: every source of the product is named by a test, or stands in a list with its reason.

A test in C (of test/unit, test/trace, test/soak or test/fuzz) names a source if it is called like it
(test/unit/ROOM/x.c for ROOM/x.c), includes its header, or says its path in a comment; x_y.c without a
header of its own is part of x.c. The list is contrib/check-tested.txt, one line each: FILE REASON. It may only shrink: a line that nothing needs any
more fails, and so does any number of lines but its `limit`. Prints TAP.
"""
import os
import re
import sys

PRODUCT = ["base", "alloc", "overlay", "fabric", "pmix", "launch"]
TESTS = ["test/unit", "test/trace", "test/soak", "test/fuzz"]
REASON_WORDS_MIN = 3


def sources_in(folders, endings):
    return sorted(os.path.join(folder, name) for top in folders
                  for folder, _, names in os.walk(top) for name in names if name.endswith(endings))


def named_by_tests():
    """Stems with their room as tests are called, and paths of sources and headers that they say."""
    stems, paths = set(), set()
    for test in sources_in(TESTS, (".c", ".h")):
        room = os.path.basename(os.path.dirname(test))
        stem = re.sub(r"^fuzz_", "", os.path.basename(test)[:-2])
        stems.add((room, stem))
        with open(test, encoding="utf-8") as file:
            paths.update(re.findall(r"\b((?:%s)/[\w/]+\.[ch])\b" % "|".join(PRODUCT), file.read()))
    return stems, paths


def module_of(source):
    """The source, or that of which it is a part: the longest x.c with a header x.h."""
    folder, name = os.path.split(source)
    words = name[:-2].split("_")
    for count in range(len(words), 0, -1):
        stem = os.path.join(folder, "_".join(words[:count]))
        if os.path.exists(stem + ".h"):
            return stem + ".c"
    return source


def is_named(source, stems, paths):
    for path in (source, module_of(source)):
        folder, name = os.path.split(path)
        if path in paths or path[:-2] + ".h" in paths or \
                any((room, name[:-2]) in stems for room in folder.split("/")):
            return True
    return False


def read_list(path):
    rows, limit = {}, 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split(maxsplit=1)
            if not words or words[0].startswith("#"):
                continue
            if words[0] == "limit":
                limit = int(words[1])
            else:
                rows[words[0]] = words[1].strip() if len(words) > 1 else ""
    return rows, limit


def verdict(number, lines, text):
    for line in lines:
        print("#", line)
    print("not ok" if lines else "ok", number, "-", text)
    return bool(lines)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else
             os.environ.get("srcdir", os.path.dirname(here)))
    sources = sources_in(PRODUCT, ".c")
    if not sources:
        print("Bail out! no source file here")
        return 1
    stems, paths = named_by_tests()
    unnamed = [source for source in sources if not is_named(source, stems, paths)]
    rows, limit = read_list("contrib/check-tested.txt")
    print("1..3")
    failed = [
        verdict(1, [f"{source}: no test names it" for source in unnamed if source not in rows],
                f"each of {len(sources)} sources is named by a test or has its reason"),
        verdict(2, [f"{path}: {'no reason' if path in unnamed else 'a test names it, or it is no source'}"
                    for path, reason in rows.items()
                    if path not in unnamed or len(reason.split()) < REASON_WORDS_MIN],
                "the list has reasons, and no line too many"),
        verdict(3, [] if len(rows) == limit else
                [f"{len(rows)} lines, the limit is {limit}: it is to be their number, and only to be "
                 "lowered"], "the list has become no longer"),
    ]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
